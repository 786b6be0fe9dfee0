"""Problem: everything that is known before the first pull, as it is declared. Frozen, and checked when it is made.

`parts.py` brings what is given into one form, `checks.py` refuses what is not well posed, `compiled.py` has the arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fairarm.errors import OptionError, ProblemError
from fairarm.problem import checks
from fairarm.problem.attributes import Block
from fairarm.problem.changes import with_arms
from fairarm.problem.compiled import Compiled
from fairarm.problem.constraint import Constraint
from fairarm.problem.context import ContextLaw, ContextSample
from fairarm.problem.fairness import Row, compared_pairs, rows_of
from fairarm.problem.graph import Graph, Roles, find_roles
from fairarm.problem.mechanism import Arm, Mechanism, Table, Unknown
from fairarm.problem.names import clean_description
from fairarm.problem.outcome import Outcome
from fairarm.problem.pair import pair_of
from fairarm.problem.parts import (
    Budget,
    held_constraints,
    named_mechanisms,
    named_variables,
    with_tolerance,
)
from fairarm.problem.profiles import States, labels_of, named_attributes, states_by_attribute
from fairarm.problem.questions import Scene
from fairarm.problem.regimes import NATURAL, ArmCosts, RegimeKind, held_costs, held_kind, offered_regimes
from fairarm.problem.shares import JointShares, Shares, laws_of_several, own_factor, shares_of_one, shares_of_profiles
from fairarm.problem.variables import Variable
from fairarm.problem.worlds import Reading, World
from fairarm.shown import Fact, Shown


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
    sensitive: Any
    """The name of the one sensitive attribute, or a tuple of several names: as it was given."""
    decision: str
    outcome: Outcome
    arms: tuple[Arm, ...]
    groups: tuple[str, ...]
    """The labels of rows: the states of the one attribute, or profiles of several ("region=north,race=b")."""
    constraints: tuple[Constraint, ...]
    mechanisms: dict[str, Mechanism]
    costs: tuple[tuple[float, ...], ...]
    """Of each arm, by regime: natural, then forced to each group; +inf where that is not offered."""
    forced: tuple[str, ...]
    """The regimes that pulls can be forced to: groups, or states of several attributes ("race=b")."""
    regime_kind: RegimeKind
    """Forced pulls recruit people with these states, or set the states whatever their causes are."""
    budget: Budget
    deployed: str | None
    hidden: tuple[str, ...]
    shares: tuple[float, ...] | None
    """P(label), where all of it is declared and no attribute has causes."""
    joint_shares: tuple[JointShares, ...]
    """Of several attributes: the declared laws of those without causes, one per block, those of single ones from ``shares`` included."""
    context: ContextLaw | ContextSample | None
    description: str
    needs_columns: bool = field(compare=False)
    rows: tuple[Row, ...] = field(init=False, compare=False)
    """What the constraints ask of every arm."""
    worlds: tuple[World, ...] = field(init=False, compare=False)
    """What the rows' weights go by: plainly, everybody as each of the groups."""
    readings: tuple[Reading, ...] = field(init=False, compare=False)
    """Beside the worlds: which value every edge from an attribute carries."""
    left_out: tuple[tuple[str, str, float], ...] = field(init=False, compare=False)
    """Profiles that are too rare to be compared: by constraint, with their share."""
    plain: bool = field(init=False, compare=False)
    """One attribute without causes, and nothing is kept."""
    if TYPE_CHECKING:
        tolerance: InitVar[float | None] = None  # so that a type checker knows replace(problem, tolerance=...)

    def __init__(
        self,
        *,
        name: str,
        variables: Mapping[str, Variable] | Iterable[Variable],
        graph: Any,
        sensitive: str | Iterable[str],
        decision: str,
        outcome: Outcome,
        arms: Iterable[Arm],
        tolerance: float | None = None,
        constraints: Iterable[Constraint] = (),
        groups: Iterable[str] = (),
        mechanisms: Mapping[str, Mechanism] | Iterable[Mechanism] = (),
        costs: Iterable[ArmCosts] = (),
        forced: Iterable[str] | None = None,
        regime_kind: str = "recruited",
        budget: Budget = None,
        deployed: str | None = None,
        hidden: Iterable[str] = (),
        shares: Shares | None = None,
        joint_shares: Iterable[JointShares] = (),
        context: ContextLaw | ContextSample | None = None,
        description: str = "",
        needs_columns: bool = False,
    ) -> None:
        """``graph`` is a list of edges, or anything with nodes and edges. ``groups`` orders the states of a single attribute.

        ``tolerance`` bounds the gap between every two groups; ``constraints`` ask other questions, or several. ``costs`` has
        one entry per arm: a number, numbers by regime ({"natural": 1, "forced": 2, "b": 3}), or natural and each forced regime in
        order; 1 each if not given. ``forced`` are the groups that pulls can be forced to, all if not given; with several attributes,
        names such as "race=b" and "region=north,race=b". ``budget`` is the largest average cost of a pull (None: no limit). ``hidden``
        nodes are never observed. ``shares`` is P(S), or by attribute the law of each that has no causes, ``joint_shares`` that of
        attributes with a common hidden cause; P(attribute | causes) is one of the ``mechanisms``. ``context`` is the law of what arms
        see. All are optional, but the paper's algorithms need them for their divergences. ``needs_columns``: a `LogMap` goes with
        it, as with a problem whose file has a ``[log]``, and its logs are not read without one.
        """
        attributes = named_attributes(sensitive)
        sensitive = attributes if len(attributes) > 1 else attributes[0]
        _hold(self, name=name, description=clean_description(description), sensitive=sensitive, decision=decision)
        _hold(self, outcome=outcome, deployed=deployed, context=context, budget=budget, needs_columns=needs_columns)
        _hold(self, variables=named_variables(variables), graph=Graph.of(graph), arms=tuple(arms))
        _hold(self, mechanisms=named_mechanisms(mechanisms), hidden=tuple(hidden))
        states = states_by_attribute(attributes, self.variables, groups)
        _hold(self, groups=labels_of(states))
        _hold(self, constraints=held_constraints(constraints, tolerance, states, outcome))
        checks.check_arms(self.arms, decision, self.variables)
        if deployed is not None:
            self.arm_index(deployed)
        _hold(self, forced=offered_regimes(forced, states), regime_kind=held_kind(regime_kind))
        _hold(self, costs=held_costs(costs, self.regimes[1:], self.arm_names, self.forced))
        self._hold_shares(shares, joint_shares, states)
        checks.check_budget(budget)
        checks.check_names(name, self.graph, self.hidden)
        asked = rows_of(self.constraints, Scene(states, self.roles, outcome, self.shares))
        _hold(self, **asked._asdict())
        checks.check_nodes(self.observed, outcome, self.variables)
        checks.check_mechanisms(self.mechanisms, self.roles, self.variables)
        checks.check_context(self)
        checks.check_groups(self)

    def _hold_shares(self, given: Shares | None, joint: Iterable[JointShares], states: States) -> None:
        blocks = self.roles.blocks
        if len(states) == 1:
            _hold(self, shares=shares_of_one(given, joint, states, blocks[0]), joint_shares=())
            return
        laws = laws_of_several(given, joint, states, blocks)
        _hold(self, shares=shares_of_profiles(laws, states), joint_shares=laws)

    # ---- the same problem, but for one thing ----

    def with_tolerance(self, tolerance: float) -> Problem:
        """The same problem with another tolerance, in the outcome's units."""
        return replace(self, constraints=with_tolerance(self.constraints, tolerance))

    def with_arms(self, arms: Iterable[Arm | str], *, costs: Mapping[str, ArmCosts] | None = None) -> Problem:
        """The same problem with these arms, in this order; a name stands for an arm that it has.

        An arm keeps its costs by its name, also where its rule is another one. A new arm costs what all arms cost; where
        they differ, ``costs`` says what, as `Problem` takes it. An arm that something rests on cannot leave: the
        deployed one, one that made rows of the context sample.

            problem.with_arms([*problem.arms, Arm("new", rule)])
            problem.with_arms(["text all", "text far"])
        """
        return with_arms(self, arms, costs)

    # ---- the sensitive attributes ----

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The names of all sensitive attributes, in their order."""
        return named_attributes(self.sensitive)

    @property
    def attribute(self) -> str:
        """The name of the one sensitive attribute; raises where there are several."""
        if isinstance(self.sensitive, str):
            return self.sensitive
        raise ProblemError(
            f"Problem '{self.name}' has the sensitive attributes {', '.join(self.attributes)}; this asks about one attribute. Name one of "
            f"them alone (sensitive)."
        )

    @cached_property
    def attribute_states(self) -> States:
        """The states of each attribute: of a single one the groups, in their order."""
        groups = self.groups if len(self.attributes) == 1 else ()
        return states_by_attribute(self.attributes, self.variables, groups)

    def own_factor(self, block: Block) -> Table | None:
        """P(attributes of a block | their causes), where it is declared; else it is estimated from natural rows.

        Its last axis is the states of the block's attribute, by code; of several attributes, their combinations, the first slowest.
        """
        return own_factor(self, block)

    # ---- what follows from the graph ----

    @cached_property
    def roles(self) -> Roles:
        """What each node is to the question: the graph as the arms use it, and what must be observed."""
        used = [parent for arm in self.arms for parent in arm.parents]
        return find_roles(self.graph, self.attributes, self.decision, self.outcome.node, used, self.hidden)

    @property
    def observed(self) -> tuple[str, ...]:
        """The nodes that every row must hold."""
        return self.roles.observed

    @property
    def relevant_children(self) -> tuple[str, ...]:
        """Children of S, other than the decision, on the way to the outcome: groups differ by them too."""
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
        """The observed nodes other than the attributes and Y: what a cell is made of."""
        return tuple(node for node in self.observed if node not in (*self.attributes, self.outcome.node))

    # ---- what follows from what is declared ----

    @cached_property
    def arm_names(self) -> tuple[str, ...]:
        """In the order of the arms."""
        return tuple(arm.name for arm in self.arms)

    @property
    def regimes(self) -> tuple[str, ...]:
        """natural, then forced to each group, offered or not; with several attributes, to what is offered."""
        return (NATURAL, *(self.groups if len(self.attributes) == 1 else self.forced))

    @cached_property
    def compared(self) -> tuple[tuple[int, int], ...]:
        """The ordered pairs of groups whose means are compared, by position: (s, s') and (s', s) where there are two. None where the problem
        is not plain: what is compared there are means of worlds."""
        return compared_pairs(self.rows, self.groups) if self.plain else ()

    @cached_property
    def has_one_gap(self) -> bool:
        """Two groups, and the gap between them is all that is asked about."""
        return self.plain and [(row.weights, row.is_gap) for row in self.rows] == [((1.0, -1.0), True)]

    @property
    def gap_tolerance(self) -> float:
        """E in the outcome's own units, where the gap between two groups is all that is asked about."""
        pair_of(self)
        if not self.has_one_gap or self.rows[0].below is None:
            raise ProblemError(
                f"Problem '{self.name}' asks more than one gap to be small: {', '.join(c.label for c in self.constraints)}."
            )
        return self.rows[0].below

    def average_cost_budget(self, pulls: int) -> float | None:
        """B, the largest average cost a pull may have in a run of ``pulls``; None for no limit."""
        return 1.0 / math.sqrt(pulls) if isinstance(self.budget, str) else self.budget

    def arm_index(self, name: str) -> int:
        """The position of an arm among the arms; raises where there is none of that name."""
        if name not in self.arm_names:
            raise ProblemError(f"There is no arm '{name}'. Arms: {', '.join(self.arm_names[:12])}.")
        return self.arm_names.index(name)

    # ---- what is computed from it, once ----

    @cached_property
    def compiled(self) -> Compiled:
        """The problem as arrays, for algorithms."""
        return Compiled(self)

    def _facts(self) -> list[Fact]:
        return [
            ("name", self.name), ("decision", self.decision), ("sensitive", ", ".join(self.attributes)), ("outcome", self.outcome.node),
            ("tolerance", self.gap_tolerance) if self.has_one_gap else ("fairness", "; ".join(c.label for c in self.constraints)),
            ("arms", len(self.arms)), ("deployed", self.deployed),
        ]  # fmt: skip

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        heads = ("arm", "sees", *(f"cost, {regime}" for regime in (NATURAL, *self.forced)))
        return heads, [
            (arm.name, ", ".join(arm.parents) or "nothing", *(cost for cost in costs if math.isfinite(cost)))
            for arm, costs in zip(self.arms, self.costs, strict=True)
        ]


def require_problem(given: object) -> None:
    """An error where something else was given, a scenario for instance."""
    if not isinstance(given, Problem):
        raise OptionError(f"A problem is needed; got {type(given).__name__}. Of a scenario, pass scenario.problem.")


def _hold(problem: Problem, **parts: Any) -> None:
    """Parts of a problem that is being made; afterwards it is frozen."""
    for name, part in parts.items():
        object.__setattr__(problem, name, part)
