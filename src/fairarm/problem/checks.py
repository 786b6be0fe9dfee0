"""Is a problem well posed? Each function looks at parts of the declaration and raises a ProblemError where it is not.

Names of variables, states and arms were checked when these were made; what is given in several forms is checked where it
is brought into one (`parts.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairarm.core.types import BoolArray, FloatArray
from fairarm.errors import ProblemError
from fairarm.problem.context import ContextLaw, ContextSample
from fairarm.problem.graph import Graph, Roles
from fairarm.problem.mechanism import Arm, Columns, Mechanism, Table, Unknown
from fairarm.problem.names import check_name
from fairarm.problem.outcome import Outcome
from fairarm.problem.parts import ROOT_BUDGET, Budget
from fairarm.problem.space import CellSpace, check_points
from fairarm.problem.tables import LAW_TOLERANCE
from fairarm.problem.variables import Variable, first_repeated
from fairarm.problem.worlds import Profile, group_name

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem

MAX_ARMS = 10_000


def check_arms(arms: tuple[Arm, ...], decision: str, variables: Mapping[str, Variable]) -> None:
    """There is at least one, each has its own name, and each is a mechanism of the decision."""
    if not arms:
        raise ProblemError("A problem needs at least one arm.")
    if len(arms) > MAX_ARMS:
        raise ProblemError(f"The problem has {len(arms)} arms; at most {MAX_ARMS} are compared. Leave some out.")
    if repeated := first_repeated(tuple(arm.name for arm in arms)):
        raise ProblemError(f"Two arms are called '{repeated}'. Each arm needs its own name.")
    for arm in arms:
        if arm.mechanism.node != decision:
            raise ProblemError(
                f"Arm '{arm.name}' is a mechanism of '{arm.mechanism.node}', not of the decision '{decision}'."
            )
        _check_mechanism(arm.mechanism, variables, f"Arm '{arm.name}'")


def check_budget(budget: Budget) -> None:
    """A finite number that is not negative, or the paper's rule."""
    if budget is None or budget == ROOT_BUDGET:
        return
    if isinstance(budget, str) or not math.isfinite(budget) or budget < 0:
        raise ProblemError(
            f"The budget is {budget!r}. It is an average cost per pull: a number, 0 or more, or '{ROOT_BUDGET}'."
        )


def check_names(name: str, graph: Graph, hidden: Iterable[str]) -> None:
    """The problem and its nodes have proper names, and hidden nodes are nodes."""
    check_name(name, "The name of the problem")
    for node in graph.nodes:
        check_name(node, "The name of a node")
    if unknown := [node for node in hidden if node not in graph.nodes]:
        raise ProblemError(f"'{unknown[0]}' is declared hidden but is not a node of the graph. Is it misspelt?")


def check_nodes(observed: Iterable[str], outcome: Outcome, variables: Mapping[str, Variable]) -> None:
    """Every node that must be observed has states or a range, the outcome a value for each of its states."""
    for node in observed:
        if node not in variables and node != outcome.node:
            raise ProblemError(f"Node '{node}' must be observed but has no declared states or range.")
    declared = variables.get(outcome.node)
    if outcome.values is not None and (declared is None or declared.size != len(outcome.values)):
        raise ProblemError(f"The outcome '{outcome.node}' needs one value for each of its states.")
    if outcome.values is None and declared is not None and declared.finite:
        raise ProblemError(f"The outcome '{outcome.node}' has states but no values. Give the value of each state.")


def check_mechanisms(mechanisms: Mapping[str, Mechanism], roles: Roles, variables: Mapping[str, Variable]) -> None:
    """Each is of a node of the graph and has the parents that the graph gives it; an attribute, its observed causes."""
    graph, causes = roles.graph, _causes(roles, mechanisms)
    for name, mechanism in mechanisms.items():
        if name not in graph.nodes:
            raise ProblemError(f"There is a mechanism for '{name}', which is not a node of the graph.")
        if isinstance(mechanism, Unknown):
            raise ProblemError(
                f"The mechanism of '{name}' is declared unknown. Leave it out of the mechanisms instead."
            )
        _check_mechanism(mechanism, variables, f"The mechanism of '{name}'")
        expected = causes.get(name, graph.parents(name))
        if sorted(mechanism.parents) != sorted(expected):
            raise ProblemError(
                f"The mechanism of '{name}' is given {sorted(mechanism.parents)}; the graph says {sorted(expected)}."
            )


def _causes(roles: Roles, mechanisms: Mapping[str, Mechanism]) -> dict[str, tuple[str, ...]]:
    """Of each sensitive attribute; one that shares a hidden cause with another has no mechanism of its own."""
    for block in roles.blocks:
        declared = [member for member in block.members if member in mechanisms]
        if len(block.members) > 1 and declared:
            raise ProblemError(
                f"There is a mechanism for '{declared[0]}', which shares a hidden cause with other attributes: {', '.join(block.members)}. "
                f"Declare their joint law (joint_shares) where they have no other causes, or leave it to natural pulls."
            )
        if block.causes and declared and not isinstance(mechanisms[declared[0]], Table):
            raise ProblemError(
                f"The mechanism of the sensitive attribute '{declared[0]}' is made of code. It must be a table."
            )
        if len(roles.attributes) > 1 and declared and not block.causes:
            raise ProblemError(
                f"There is a mechanism for the sensitive attribute '{declared[0]}', which has no causes. Give its law in shares."
            )
    return {member: block.causes for block in roles.blocks for member in block.members}


def check_context(problem: Problem) -> None:
    """The law of what arms see, or the sample of it, is of this problem's columns; a law sums to 1 under every arm."""
    if isinstance(problem.context, ContextLaw):
        _check_law(problem, problem.context)
    elif problem.context is not None:
        _check_sample(problem, problem.context)


def _check_law(problem: Problem, context: ContextLaw) -> None:
    for name in context.variables:
        if name not in problem.cell_columns:
            raise ProblemError(f"The context law uses '{name}'. It can use: {', '.join(problem.cell_columns)}.")
    shape = tuple(problem.variables[name].size for name in context.variables)
    if context.weights.shape != shape:
        raise ProblemError(
            f"The context law of {list(context.variables)} has shape {context.weights.shape}; its states ask for {shape}."
        )
    if problem.missing_mechanisms or problem.unknown_arms:
        return
    if problem.plain:
        _ = problem.compiled.tables.law  # checks that every arm's law of the cells sums to 1
    elif all(problem.variables[name].finite for name in problem.cell_columns):
        _check_sums(problem, context)


def _check_sums(problem: Problem, context: ContextLaw) -> None:
    """Every arm's law of attributes and cells sums to 1. Own laws of attributes that are not declared can be any: alike is one."""
    total = np.zeros(len(problem.arms))
    for columns, shared in _laws_of_labels(problem, context):
        total += [float((np.exp(arm.mechanism.log_prob(columns)) * shared).sum()) for arm in problem.arms]
    worst = int(np.argmax(np.abs(total - 1.0)))
    if abs(total[worst] - 1.0) > LAW_TOLERANCE:
        raise ProblemError(
            f"Under arm '{problem.arm_names[worst]}' the law of attributes and observed columns sums to {total[worst]:.6g}. It must sum to 1: "
            f"correct the context law, which no arm and no attribute changes."
        )


def _laws_of_labels(problem: Problem, context: ContextLaw) -> Iterator[tuple[Columns, FloatArray]]:
    """Of each label the columns of all cells, and their law but for the decision's, as far as it is declared."""
    space = CellSpace.of(problem.cell_columns, problem.variables)
    check_points(problem, space.count)
    for own in problem.compiled.profile_codes:
        labels = {name: np.full(space.count, code) for name, code in zip(problem.attributes, own, strict=True)}
        columns: Columns = {**space.codes(), **labels}
        shared = context.weights[tuple(columns[name] for name in context.variables)] * _own_laws(problem, columns)
        for child in problem.relevant_children:
            if child != problem.outcome.node and child in problem.mechanisms:
                shared = shared * np.exp(problem.mechanisms[child].log_prob(columns))
        yield columns, shared


def _own_laws(problem: Problem, columns: Columns) -> FloatArray:
    """Π_B P(a_B | z_B) in all cells."""
    made = np.ones(1)
    for block in problem.roles.blocks:
        sizes = tuple(problem.variables[name].size for name in block.members)
        law = problem.own_factor(block)
        if law is None:
            made = made / math.prod(sizes)
            continue
        value = np.ravel_multi_index([columns[name] for name in block.members], sizes)
        made = made * law.probabilities[(*(columns[name] for name in law.parents), value)]
    return made


def check_groups(problem: Problem) -> None:
    """Nothing is asked of people of whom by the declared laws there is nobody, nor of an outcome that nobody could have: no rows tell
    either, and with the outcome's prior in their place an answer would look like one."""
    if problem.plain:
        return
    exists = _exists(problem)
    seen = exists | problem.compiled.regime_fits[1:].any(axis=0) if problem.regime_kind == "set" else exists
    if exists.all() or not exists.any():
        return
    for row in problem.rows:
        for weight, world in zip(row.weights, problem.worlds, strict=True):
            of = exists & problem.compiled.fitting(world.people)
            if weight and not of.any():
                raise ProblemError(
                    f"Constraint '{row.constraint}': by the declared laws nobody is of the group {group_name(problem.attributes, world.people)}. "
                    f"Set min_share, or leave it out (groups)."
                )
            if weight and world.read and (direct := _never_had(problem, of, seen, world.read)):
                raise ProblemError(
                    f"Constraint '{row.constraint}': group {direct[0]} has no rows and '{direct[1]}' acts on '{problem.outcome.node}' directly: "
                    f"recruit it, set min_share, or leave it out (groups)."
                )


def _exists(problem: Problem) -> BoolArray:
    """Labels that somebody can have by each declared law of attributes, and by all of them with the law of contexts, (P,)."""
    codes, found = problem.compiled.profile_codes, np.ones(len(problem.groups), dtype=np.bool_)
    for block in problem.roles.blocks:
        sizes = tuple(problem.variables[name].size for name in block.members)
        law = problem.own_factor(block)
        if law is None:
            continue
        own = {name: codes[:, j] for j, name in enumerate(problem.attributes)}
        value = np.ravel_multi_index([own[name] for name in block.members], sizes)
        for label in range(len(codes)):
            causes = tuple(own[name][label] if name in own else slice(None) for name in law.parents)
            found[label] &= bool(np.any(law.probabilities[(*causes, value[label])] > 0))
    # what has a chance by each law may have none by all: no context that gives it one is ever met
    if isinstance(problem.context, ContextLaw) and all(problem.variables[x].finite for x in problem.cell_columns):
        found &= [bool(np.any(shared > 0)) for _, shared in _laws_of_labels(problem, problem.context)]
    return found


def _never_had(problem: Problem, of: BoolArray, seen: BoolArray, read: Profile) -> tuple[str, str] | None:
    """The group and the attribute that Y reads, where people, (P,), read as ``read`` would have an outcome that no label shows."""
    parents = problem.roles.graph.parents(problem.outcome.node)
    direct = [j for j, name in enumerate(problem.attributes) if name in parents]
    codes = problem.compiled.profile_codes
    shown = {tuple(each) for each in codes[seen][:, direct].tolist()}
    for label in codes[of]:
        moved = dict(zip(problem.attributes, label.tolist(), strict=True))
        moved |= {name: problem.variables[name].code(state) for name, state in read}
        if tuple(moved[problem.attributes[j]] for j in direct) not in shown:
            named = tuple((name, (problem.variables[name].states or ())[code]) for name, code in moved.items())
            by = next((name for name, _ in read if name in parents), problem.attributes[direct[0]])
            return group_name(problem.attributes, named), by
    return None


def _check_sample(problem: Problem, sample: ContextSample) -> None:
    problem.arm_index(sample.arm)
    columns = problem.compiled.likelihood_columns
    needed = (*problem.attributes, *columns)
    for name in needed:
        if name not in sample.columns:
            raise ProblemError(f"The context sample has no column '{name}'. It needs: {', '.join(needed)}.")
        _check_sampled(name, np.asarray(sample.columns[name]), problem.variables[name], sample.size)


def _check_sampled(name: str, values: Any, variable: Variable, size: int) -> None:
    if values.shape != (size,) or not size:
        raise ProblemError(
            f"Column '{name}' of the context sample has shape {values.shape}; it needs one value for each of {size} rows."
        )
    low, high = (0, variable.size - 1) if variable.finite else (variable.low, variable.high)
    if np.any(values < low) or np.any(values > high) or (variable.finite and values.dtype.kind not in "iu"):
        raise ProblemError(
            f"Column '{name}' of the context sample must hold {'codes' if variable.finite else 'numbers'} from {low} to {high}."
        )


def _check_mechanism(mechanism: Mechanism, variables: Mapping[str, Variable], what: str) -> None:
    if mechanism.node not in variables:
        raise ProblemError(f"{what}: node '{mechanism.node}' has no declared states or range.")
    try:
        mechanism.check(variables)
    except ProblemError as error:
        raise ProblemError(f"{what}: {error}") from None
