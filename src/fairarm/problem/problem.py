"""Problem: everything that is known before the first pull. Frozen, and validated when it is made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.problem.changes import with_arms
from fairarm.problem.context import ContextLaw, ContextSample
from fairarm.problem.graph import Graph, Roles, find_roles
from fairarm.problem.mechanism import Arm, Mechanism, Unknown
from fairarm.problem.names import check_name, clean_description
from fairarm.problem.outcome import Constraint, Outcome
from fairarm.problem.pair import require_pair
from fairarm.problem.shared_cells import SharedCells, shared_cells
from fairarm.problem.space import CellSpace
from fairarm.problem.tables import Tables, build_tables
from fairarm.problem.variables import Variable, first_repeated
from fairarm.shown import Fact, Shown

NATURAL = "natural"
MAX_COST = 1e9
MAX_ARMS = 10_000
SMALLEST_TOLERANCE = 1e-12
"""As a share of the width of the outcome's range."""
ROOT_BUDGET: Literal["1/sqrt(pulls)"] = "1/sqrt(pulls)"
Budget = float | Literal["1/sqrt(pulls)"] | None


@dataclass(frozen=True, init=False, repr=False)
class Problem(Shown):
    """A decision node with K candidate arms, a sensitive attribute, an outcome, and how far the groups may differ.

    >>> problem = Problem(
    ...     name="coin",
    ...     variables=[Variable("S", ("a", "b")), Variable("V", ("heads", "tails")), Variable("Y", ("lose", "win"))],
    ...     graph=[("S", "V"), ("V", "Y")],
    ...     sensitive="S", decision="V", outcome=Outcome("Y", values=(0, 1)), tolerance=0.1,
    ...     arms=[Arm("even", table("V", ["S"], [[0.5, 0.5], [0.5, 0.5]]))],
    ...     shares={"a": 0.5, "b": 0.5},
    ... )
    >>> problem.observed
    ('S', 'V', 'Y')
    """

    name: str
    variables: dict[str, Variable]
    graph: Graph
    sensitive: str
    decision: str
    outcome: Outcome
    arms: tuple[Arm, ...]
    groups: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    mechanisms: dict[str, Mechanism]
    costs: tuple[tuple[float, ...], ...]
    budget: Budget
    deployed: str | None
    hidden: tuple[str, ...]
    shares: tuple[float, ...] | None
    context: ContextLaw | ContextSample | None
    description: str
    needs_columns: bool = field(compare=False)

    def __init__(
        self,
        *,
        name: str,
        variables: Mapping[str, Variable] | Iterable[Variable],
        graph: Any,
        sensitive: str,
        decision: str,
        outcome: Outcome,
        arms: Iterable[Arm],
        tolerance: float | None = None,
        constraints: Iterable[Constraint] = (),
        groups: Iterable[str] = (),
        mechanisms: Mapping[str, Mechanism] | Iterable[Mechanism] = (),
        costs: Iterable[Iterable[float]] = (),
        budget: Budget = None,
        deployed: str | None = None,
        hidden: Iterable[str] = (),
        shares: Mapping[str, float] | Iterable[float] | None = None,
        context: ContextLaw | ContextSample | None = None,
        description: str = "",
        needs_columns: bool = False,
    ) -> None:
        """``graph`` is a list of edges, or anything with nodes and edges. ``groups`` orders the states of S as (s, s').

        ``tolerance`` bounds the gap between the two groups. ``costs`` has one row per arm: natural, forced s, forced s';
        1 each if not given. ``budget`` is the largest average cost of a pull (None: no limit). ``hidden`` nodes are never
        observed. ``shares`` is P(S), ``context`` the law of what arms see; both optional, but the paper's
        algorithms need them for their divergences. ``needs_columns``: a `LogMap` goes with it, as with a problem whose file
        has a ``[log]``, and its logs are not read without one.
        """
        put = partial(object.__setattr__, self)
        put("name", name)
        put("description", clean_description(description))
        put("sensitive", sensitive)
        put("decision", decision)
        put("outcome", outcome)
        put("deployed", deployed)
        put("context", context)
        put("budget", budget)
        put("needs_columns", needs_columns)
        put("variables", _named_variables(variables))
        put("graph", Graph.of(graph))
        put("arms", tuple(arms))
        put("mechanisms", _named_mechanisms(mechanisms))
        put("hidden", tuple(hidden))
        put("groups", self._checked_groups(tuple(groups)))
        put("constraints", self._checked_constraints(tuple(constraints), tolerance))
        self._check_arms()
        put("costs", self._checked_costs(tuple(tuple(float(c) for c in row) for row in costs)))
        put("shares", self._checked_shares(shares))
        self._check_budget()
        self._check_names()
        self._check_nodes()
        if isinstance(context, ContextLaw):
            self._check_context(context)
        elif context is not None:
            self._check_sample(context)

    # ---- the same problem, but for one thing ----

    def with_tolerance(self, tolerance: float) -> Problem:
        """The same problem with another tolerance, in the outcome's units."""
        return replace(self, constraints=tuple(replace(known, tolerance=tolerance) for known in self.constraints))

    def with_arms(self, arms: Iterable[Arm | str], *, costs: Mapping[str, Iterable[float]] | None = None) -> Problem:
        """The same problem with these arms, in this order; a name stands for an arm that it has.

        An arm keeps its costs by its name, also where its rule is another one. A new arm costs what all arms cost; where
        they differ, ``costs`` says what (natural, forced s, forced s'). An arm that something rests on cannot leave: the
        deployed one, one that made rows of the context sample.

            problem.with_arms([*problem.arms, Arm("new", rule)])
            problem.with_arms(["text all", "text far"])
        """
        return with_arms(self, arms, costs)

    # ---- what follows from the graph ----

    @cached_property
    def roles(self) -> Roles:
        used = [parent for arm in self.arms for parent in arm.parents]
        return find_roles(self.graph, self.sensitive, self.decision, self.outcome.node, used, self.hidden)

    @property
    def observed(self) -> tuple[str, ...]:
        """The nodes that every row must hold."""
        return self.roles.observed

    @property
    def relevant_children(self) -> tuple[str, ...]:
        return self.roles.relevant_children

    @property
    def missing_mechanisms(self) -> tuple[str, ...]:
        """Relevant children whose mechanism is not declared; the paper's algorithms need all of them."""
        return tuple(x for x in self.relevant_children if x not in self.mechanisms)

    @property
    def unknown_arms(self) -> tuple[str, ...]:
        """Arms whose mechanism is to be fitted from a log."""
        return tuple(arm.name for arm in self.arms if isinstance(arm.mechanism, Unknown))

    @property
    def fitted(self) -> tuple[str, ...]:
        """Arms and children whose table was fitted from rows: it is uncertain."""
        named = [(arm.name, arm.mechanism) for arm in self.arms]
        return tuple(name for name, m in [*named, *self.mechanisms.items()] if getattr(m, "counts", None) is not None)

    @cached_property
    def cell_columns(self) -> tuple[str, ...]:
        """The observed nodes other than S and Y: what a cell is made of."""
        return tuple(node for node in self.observed if node not in (self.sensitive, self.outcome.node))

    @cached_property
    def likelihood_columns(self) -> tuple[str, ...]:
        """What L depends on besides S: the cell, and Y too where S → Y is an edge."""
        outcome = self.outcome.node
        return (*self.cell_columns, outcome) if outcome in self.relevant_children else self.cell_columns

    @cached_property
    def row_space(self) -> CellSpace:
        """Cells with the outcome's state, last: what a row can be, besides S. All of it must be finite."""
        return CellSpace.of((*self.cell_columns, self.outcome.node), self.variables)

    @cached_property
    def row_outcomes(self) -> FloatArray:
        """Y' of each cell of the row space, (O,)."""
        return np.asarray(self.outcome.scaled_values[self.row_space.codes()[self.outcome.node]])

    @cached_property
    def finite(self) -> bool:
        """Every observed column has states: rows can be counted instead of kept."""
        return all(node in self.variables and self.variables[node].finite for node in self.observed)

    @cached_property
    def tables(self) -> Tables:
        """Likelihoods over cells and divergences, as arrays; computed once."""
        return build_tables(self)

    @cached_property
    def shared_cells(self) -> SharedCells:
        """The cells in which every arm and group informs the same mean outcome; columns other than Y must be finite."""
        return shared_cells(self)

    # ---- numbers the algorithms use ----

    @cached_property
    def arm_names(self) -> tuple[str, ...]:
        return tuple(arm.name for arm in self.arms)

    @property
    def regimes(self) -> tuple[str, ...]:
        """natural, then forced to each group."""
        return (NATURAL, *self.groups)

    @property
    def gap_tolerance(self) -> float:
        """E in the outcome's own units."""
        return self.constraints[0].tolerance

    @property
    def scaled_tolerance(self) -> float:
        """E' = E / (hi − lo)."""
        return self.gap_tolerance / self.outcome.width

    @cached_property
    def cost_array(self) -> FloatArray:
        """Costs as (R, K)."""
        return np.array(self.costs, dtype=np.float64).T.copy()

    def average_cost_budget(self, pulls: int) -> float | None:
        """B, the largest average cost a pull may have in a run of ``pulls``; None for no limit."""
        return 1.0 / math.sqrt(pulls) if isinstance(self.budget, str) else self.budget

    @cached_property
    def group_codes(self) -> tuple[int, ...]:
        """The code of each group among the states of S."""
        return tuple(self.variables[self.sensitive].code(group) for group in self.groups)

    def arm_index(self, name: str) -> int:
        if name not in self.arm_names:
            raise ProblemError(f"There is no arm '{name}'. Arms: {', '.join(self.arm_names[:12])}.")
        return self.arm_names.index(name)

    # ---- validation ----

    def _checked_groups(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        if self.sensitive not in self.variables:
            raise ProblemError(f"The sensitive attribute '{self.sensitive}' has no declared states.")
        states = self.variables[self.sensitive].states
        if states is None:
            raise ProblemError(f"The sensitive attribute '{self.sensitive}' is real-valued. It must have two states.")
        groups = groups or states
        if sorted(groups) != sorted(states):
            raise ProblemError(f"The groups {list(groups)} are not the states of '{self.sensitive}': {list(states)}.")
        require_pair(self.sensitive, groups)
        if NATURAL in groups:
            raise ProblemError(
                f"A group cannot be called '{NATURAL}': that is the name of the regime in which S is not forced."
            )
        return groups

    def _checked_constraints(
        self, constraints: tuple[Constraint, ...], tolerance: float | None
    ) -> tuple[Constraint, ...]:
        if (tolerance is None) == (not constraints):
            raise ProblemError(
                "Give the tolerance, or a list of constraints, not both and not neither. To change the tolerance of a "
                "problem: problem.with_tolerance(...)."
            )
        first, second = require_pair(self.sensitive, self.groups)
        if tolerance is not None:
            constraints = (Constraint.gap(first, second, tolerance),)
        if len(constraints) != 1 or sorted(constraints[0].weights) != sorted(((first, 1.0), (second, -1.0))):
            raise ProblemError(
                f"Only one constraint is supported so far: the gap between the two groups, weights {{{first} = 1, {second} = -1}}. "
                f"Got {[dict(c.weights) for c in constraints]}."
            )
        share = constraints[0].tolerance / self.outcome.width
        if not SMALLEST_TOLERANCE <= share <= 1 / SMALLEST_TOLERANCE:
            raise ProblemError(
                f"The tolerance is {constraints[0].tolerance:g}, {share:.3g} of the width of the outcome's range. It must be "
                f"from {SMALLEST_TOLERANCE:g} to {1 / SMALLEST_TOLERANCE:g} of it; no number of pulls tells less apart."
            )
        return constraints

    def _check_arms(self) -> None:
        if not self.arms:
            raise ProblemError("A problem needs at least one arm.")
        if len(self.arms) > MAX_ARMS:
            raise ProblemError(
                f"The problem has {len(self.arms)} arms; at most {MAX_ARMS} are compared. Leave some out."
            )
        if repeated := first_repeated(self.arm_names):
            raise ProblemError(f"Two arms are called '{repeated}'. Each arm needs its own name.")
        for arm in self.arms:
            if arm.mechanism.node != self.decision:
                raise ProblemError(
                    f"Arm '{arm.name}' is a mechanism of '{arm.mechanism.node}', not of the decision '{self.decision}'."
                )
            _named_check(arm.mechanism, self.variables, f"Arm '{arm.name}'")
        if self.deployed is not None:
            self.arm_index(self.deployed)

    def _checked_costs(self, rows: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
        width = 1 + len(self.groups)
        rows = rows or ((1.0,) * width,) * len(self.arms)
        if len(rows) != len(self.arms) or any(len(row) != width for row in rows):
            raise ProblemError(
                f"Costs need one row per arm ({len(self.arms)}) and one number per regime ({', '.join(self.regimes)})."
            )
        for arm, row in zip(self.arm_names, rows, strict=True):
            if any(not 0 <= c <= MAX_COST for c in row):
                raise ProblemError(
                    f"Arm '{arm}' has costs {list(row)}. A cost is a finite number from 0 to {MAX_COST:g}."
                )
        return rows

    def _checked_shares(self, given: Mapping[str, float] | Iterable[float] | None) -> tuple[float, ...] | None:
        if given is None:
            return None
        if isinstance(given, Mapping):
            if sorted(given) != sorted(self.groups):
                raise ProblemError(f"Group shares name {sorted(given)}; the groups are {list(self.groups)}.")
            given = tuple(given[group] for group in self.groups)
        shares = tuple(float(p) for p in given)
        valid = len(shares) == len(self.groups) and all(math.isfinite(p) and p >= 0 for p in shares)
        if not valid or abs(math.fsum(shares) - 1.0) > 1e-6:
            raise ProblemError(
                f"Group shares are {list(shares)}. They need one number from 0 to 1 a group and must sum to 1."
            )
        return shares

    def _check_budget(self) -> None:
        if self.budget is None or self.budget == ROOT_BUDGET:
            return
        if isinstance(self.budget, str) or not math.isfinite(self.budget) or self.budget < 0:
            raise ProblemError(
                f"The budget is {self.budget!r}. It is an average cost per pull: a number, 0 or more, or '{ROOT_BUDGET}'."
            )

    def _check_names(self) -> None:
        """Names of variables, states and arms were checked when these were made."""
        check_name(self.name, "The name of the problem")
        for node in self.graph.nodes:
            check_name(node, "The name of a node")
        if unknown := [name for name in self.hidden if name not in self.graph.nodes]:
            raise ProblemError(f"'{unknown[0]}' is declared hidden but is not a node of the graph. Is it misspelt?")

    def _check_nodes(self) -> None:
        for node in self.observed:
            if node not in self.variables and node != self.outcome.node:
                raise ProblemError(f"Node '{node}' must be observed but has no declared states or range.")
        outcome = self.variables.get(self.outcome.node)
        if self.outcome.values is not None and (outcome is None or outcome.size != len(self.outcome.values)):
            raise ProblemError(f"The outcome '{self.outcome.node}' needs one value for each of its states.")
        if self.outcome.values is None and outcome is not None and outcome.finite:
            raise ProblemError(
                f"The outcome '{self.outcome.node}' has states but no values. Give the value of each state."
            )
        for name, mechanism in self.mechanisms.items():
            if name not in self.graph.nodes:
                raise ProblemError(f"There is a mechanism for '{name}', which is not a node of the graph.")
            if isinstance(mechanism, Unknown):
                raise ProblemError(
                    f"The mechanism of '{name}' is declared unknown. Leave it out of the mechanisms instead."
                )
            _named_check(mechanism, self.variables, f"The mechanism of '{name}'")
            expected = self.roles.graph.parents(name)
            if sorted(mechanism.parents) != sorted(expected):
                raise ProblemError(
                    f"The mechanism of '{name}' is given {sorted(mechanism.parents)}; the graph says {sorted(expected)}."
                )

    def _check_context(self, context: ContextLaw) -> None:
        for name in context.variables:
            if name not in self.cell_columns:
                raise ProblemError(f"The context law uses '{name}'. It can use: {', '.join(self.cell_columns)}.")
        shape = tuple(self.variables[name].size for name in context.variables)
        if context.weights.shape != shape:
            raise ProblemError(
                f"The context law of {list(context.variables)} has shape {context.weights.shape}; its states ask for {shape}."
            )
        if not self.missing_mechanisms and not self.unknown_arms:
            _ = self.tables.law  # checks that every arm's law of the cells sums to 1

    def _check_sample(self, sample: ContextSample) -> None:
        self.arm_index(sample.arm)
        for name in (self.sensitive, *self.likelihood_columns):
            if name not in sample.columns:
                raise ProblemError(
                    f"The context sample has no column '{name}'. It needs: {self.sensitive}, {', '.join(self.likelihood_columns)}."
                )
            values, variable = np.asarray(sample.columns[name]), self.variables[name]
            if values.shape != (sample.size,) or not sample.size:
                raise ProblemError(
                    f"Column '{name}' of the context sample has shape {values.shape}; it needs one value for each of {sample.size} rows."
                )
            low, high = (0, variable.size - 1) if variable.finite else (variable.low, variable.high)
            if np.any(values < low) or np.any(values > high) or (variable.finite and values.dtype.kind not in "iu"):
                raise ProblemError(
                    f"Column '{name}' of the context sample must hold {'codes' if variable.finite else 'numbers'} from {low} to {high}."
                )

    def _facts(self) -> list[Fact]:
        return [
            ("name", self.name), ("decision", self.decision), ("sensitive", self.sensitive), ("outcome", self.outcome.node),
            ("tolerance", self.gap_tolerance), ("arms", len(self.arms)), ("deployed", self.deployed),
        ]  # fmt: skip

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        heads = ("arm", "sees", *(f"cost, {regime}" for regime in self.regimes))
        return heads, [
            (arm.name, ", ".join(arm.parents) or "nothing", *costs)
            for arm, costs in zip(self.arms, self.costs, strict=True)
        ]


def _named_variables(given: Mapping[str, Variable] | Iterable[Variable]) -> dict[str, Variable]:
    variables = list(given.values()) if isinstance(given, Mapping) else list(given)
    named = {variable.name: variable for variable in variables}
    if len(named) < len(variables):
        raise ProblemError("Two variables have the same name.")
    return named


def _named_mechanisms(given: Any) -> dict[str, Mechanism]:
    mechanisms: Sequence[Mechanism] = list(given.values()) if isinstance(given, Mapping) else list(given)
    named = {mechanism.node: mechanism for mechanism in mechanisms}
    if len(named) < len(mechanisms):
        raise ProblemError("Two mechanisms are given for the same node.")
    return named


def _named_check(mechanism: Mechanism, variables: Mapping[str, Variable], what: str) -> None:
    if mechanism.node not in variables:
        raise ProblemError(f"{what}: node '{mechanism.node}' has no declared states or range.")
    try:
        mechanism.check(variables)
    except ProblemError as error:
        raise ProblemError(f"{what}: {error}") from None
