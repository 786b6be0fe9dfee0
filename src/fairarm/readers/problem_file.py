"""Problem files: TOML in, TOML out, and the JSON Schema of both, from one model.

``[problem]`` is what is known; an optional ``[world]`` is the full network, inline or in a file beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ValidationError

from fairarm.core.types import FloatArray
from fairarm.errors import FairarmError, ProblemError, ReadError
from fairarm.problem.constraint import Constraint
from fairarm.problem.context import ContextLaw
from fairarm.problem.graph import Graph
from fairarm.problem.inference import completed
from fairarm.problem.log_map import LogMap
from fairarm.problem.mechanism import Arm, Mechanism, Table, Unknown, check_size
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.profiles import named_attributes, single_names, states_by_attribute
from fairarm.problem.regimes import arm_costs, offered_regimes
from fairarm.problem.shares import JointShares
from fairarm.problem.variables import Variable, with_order
from fairarm.readers.first_error import first_error
from fairarm.readers.networks import read_network
from fairarm.readers.problem_keys import (
    ArmEntry,
    ConstraintEntry,
    ContextEntry,
    JointSharesEntry,
    LogEntry,
    MechanismEntry,
    OutcomeEntry,
    ProblemEntry,
    ProblemFile,
    WorldEntry,
)
from fairarm.readers.text import one_line, read_text
from fairarm.readers.toml import parse_toml

MAX_BYTES = 16 * 1024 * 1024

AS_WRITTEN = (
    "name", "description", "sensitive", "groups", "decision", "tolerance", "budget", "deployed", "hidden", "shares",
    "regime_kind",
)  # fmt: skip
"""Keys of ``[problem]`` that mean in a file what they mean in Python."""


def problem_schema() -> dict[str, Any]:
    """The JSON Schema of a problem file."""
    return ProblemFile.model_json_schema()


class ReadProblem(NamedTuple):
    """What a problem file says. Functions that read a log take it in place of the problem, and so use its map."""

    problem: Problem
    network: Network | None
    """Of its world, if it has one."""
    columns: LogMap
    """Its ``[log]``: where its logs keep what the problem needs."""


def read_problem(path: str | Path, tolerance: float | None = None) -> ReadProblem:
    """The problem of a file, its world's network if it has one, and its ``[log]``. Errors name the file and the line or key.

    ``tolerance`` is used instead of the file's own; a file may leave it open.
    """
    path = Path(path)
    return parse_problem(read_text(path, MAX_BYTES), str(path), path.parent, tolerance)


def parse_problem(text: str, source: str, folder: Path, tolerance: float | None = None) -> ReadProblem:
    """`read_problem` from text; ``folder`` is where a world's network file is looked for."""
    if not text.strip():
        raise ReadError(
            f"{source}: problem: the file is empty. `fairarm problems --save coin` writes one to start from."
        )
    try:
        entry = ProblemFile.model_validate(parse_toml(text, source))
    except ValidationError as error:
        raise ReadError(
            one_line(f"{source}: {first_error(error, ProblemFile, '`fairarm schema` lists the keys.', _PLACES)}")
        ) from None
    try:
        _check_roles(entry.problem)
        entry = _with_tolerance(entry, tolerance)
        network = _network(entry, folder)
        columns = _log_map(entry.log) if entry.log else LogMap()
        problem = _problem(entry.problem, network, needs_columns=columns != LogMap())
        if tolerance is not None and entry.problem.constraints:
            problem = problem.with_tolerance(tolerance)
        columns.check(problem)
        return ReadProblem(problem, network, columns)
    except ReadError:
        raise
    except FairarmError as error:
        raise ReadError(one_line(f"{source}: {error}")) from None


_PLACES: dict[str, type[BaseModel]] = {
    "problem": ProblemEntry,
    "world": WorldEntry,
    "arms": ArmEntry,
    "mechanisms": MechanismEntry,
    "outcome": OutcomeEntry,
    "constraints": ConstraintEntry,
    "context": ContextEntry,
    "joint_shares": JointSharesEntry,
    "log": LogEntry,
}
"""The keys of each table of a file."""


def _array(value: Any, shape: tuple[int, ...], where: str) -> FloatArray:
    """Nested lists as an array of exactly this shape, checked before it is allocated."""
    check_size(shape, where)
    flat: list[float] = []
    _flatten(value, shape, where, flat)
    return np.array(flat, dtype=np.float64).reshape(shape)


def _flatten(value: Any, shape: tuple[int, ...], where: str, out: list[float]) -> None:
    if not shape:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ProblemError(f"{where}: {str(value)[:40]!r} is not a finite number.")
        out.append(float(value))
        return
    if not isinstance(value, list) or len(value) != shape[0]:
        arrived = f"{len(value)} entries" if isinstance(value, list) else repr(value)[:40]
        raise ProblemError(f"{where}: needs a list of {shape[0]} entries; got {arrived}.")
    for i, item in enumerate(value):
        _flatten(item, shape[1:], f"{where}[{i}]", out)


def _table(entry: MechanismEntry | ArmEntry, node: str, variables: Mapping[str, Variable], where: str) -> Table:
    for name in (*entry.parents, node):
        if name not in variables:
            raise ProblemError(f"{where}: node '{name}' has no declared states.")
    shape = tuple(variables[name].size for name in (*entry.parents, node))
    values = _array(entry.table, shape, f"{where}.table")
    try:
        return Table(node, tuple(entry.parents), values)
    except ProblemError as error:
        raise ProblemError(f"{where}.table: {error}") from None


def _arm(entry: ArmEntry, decision: str, variables: Mapping[str, Variable], where: str) -> Mechanism:
    if entry.table is not None:
        return _table(entry, decision, variables, where)
    if "parents" not in entry.model_fields_set:
        raise ProblemError(
            f"{where}.table: not given, but needed. For a rule that is to be fitted from a log give its parents instead."
        )
    return Unknown(decision, tuple(entry.parents))


def _variables(states: Mapping[str, list[str]], ranges: Mapping[str, list[float]]) -> dict[str, Variable]:
    found = {name: Variable(name, tuple(names)) for name, names in states.items()}
    for name, limits in ranges.items():
        if len(limits) != 2 or name in found:
            raise ProblemError(
                f"problem.ranges.{name}: needs [low, high], for a node that has no states; got {limits}."
            )
        found[name] = Variable(name, low=limits[0], high=limits[1])
    return found


def _check_roles(entry: ProblemEntry) -> None:
    """The mistakes whose consequences would be reported as something else further on."""
    attributes = named_attributes(entry.sensitive)
    if len({*attributes, entry.decision, entry.outcome.node}) < len(attributes) + 2:
        raise ProblemError("problem.sensitive, .decision and .outcome.node must be three different nodes.")
    states = entry.states.get(attributes[0]) if len(attributes) == 1 else None
    if states is not None and entry.groups and sorted(entry.groups) != sorted(states):
        raise ProblemError(f"problem.groups: {entry.groups} are not the states of '{attributes[0]}': {states}.")


def _with_tolerance(file: ProblemFile, tolerance: float | None) -> ProblemFile:
    """The tolerance that was given in place of the file's own; one of the two is needed, or constraints."""
    if file.problem.constraints:
        return file  # theirs is replaced in the problem that they make
    if tolerance is not None:
        return file.model_copy(update={"problem": file.problem.model_copy(update={"tolerance": tolerance})})
    if file.problem.tolerance is None:
        raise ProblemError(
            f"problem.tolerance: not given. It is the largest gap between the groups that counts as fair, in the units of "
            f"'{file.problem.outcome.node}', and yours to choose. Give it with --tolerance, or write tolerance = ... below [problem]."
        )
    return file


def _network(entry: ProblemFile, folder: Path) -> Network | None:
    world = entry.world
    if world is None:
        return None
    if world.network is not None:
        if world.mechanisms or world.states:
            raise ProblemError("world: give a network file or tables, not both.")
        return read_network(_beside(folder, world.network))
    variables = _variables({**entry.problem.states, **world.states}, {})
    tables = [_table(m, m.node, variables, f"world.mechanisms[{i}]") for i, m in enumerate(world.mechanisms)]
    return Network.of(variables.values(), tables)


def _beside(folder: Path, name: str) -> Path:
    """A file that a problem file names: beside it or below it, also after links are followed."""
    named = Path(name)
    try:
        inside = not named.is_absolute() and ".." not in named.parts
        inside = inside and (folder / named).resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError) as error:  # too long a name, a NUL, a loop of links
        raise ProblemError(f"world.network: {name[:80]!r} cannot be a file: {error}.") from None
    if not inside:
        raise ProblemError(
            f"world.network: '{name}' must be a file beside the problem file, or below it, and no link to one elsewhere."
        )
    return folder / named


def _problem(entry: ProblemEntry, network: Network | None, needs_columns: bool) -> Problem:
    if entry.from_world and network is None:
        raise ProblemError("problem.from_world: there is no [world] to take anything from.")
    variables = _variables(entry.states, entry.ranges)
    edges = [_edge(pair, i) for i, pair in enumerate(entry.edges)]
    nodes = entry.nodes or list(dict.fromkeys(node for pair in edges for node in pair))
    if entry.from_world and network is not None:
        variables = {**network.variables, **variables}
        nodes, edges = (nodes, edges) if edges else (list(network.variables), network.edges())
    if entry.ordered is not None:
        variables = with_order(variables, entry.ordered, "problem.ordered")
    arms = [
        Arm(a.name, _arm(a, entry.decision, variables, f"problem.arms[{i}]"), a.learned_from)
        for i, a in enumerate(entry.arms)
    ]
    mechanisms = [_table(m, m.node, variables, f"problem.mechanisms[{i}]") for i, m in enumerate(entry.mechanisms)]
    problem = Problem(
        **{key: getattr(entry, key) for key in AS_WRITTEN},
        variables=variables,
        graph=Graph(tuple(nodes), tuple(edges)),
        outcome=_outcome(entry.outcome, variables),
        constraints=[_constraint(c, i) for i, c in enumerate(entry.constraints)],
        arms=arms,
        mechanisms=mechanisms,
        costs=_costs(entry, variables),
        forced=entry.regimes,
        joint_shares=[_joint_shares(joint, variables, i) for i, joint in enumerate(entry.joint_shares)],
        context=_context(entry.context, variables),
        needs_columns=needs_columns,
    )
    return completed(problem, network) if entry.from_world and network is not None else problem


def _log_map(entry: LogEntry) -> LogMap:
    lists = {"randomised": tuple(entry.randomised), "missing_values": tuple(entry.missing_values)}
    return LogMap(**{**entry.model_dump(), **lists})


def _constraint(entry: ConstraintEntry, i: int) -> Constraint:
    given = {key: value for key, value in entry.model_dump().items() if value not in (None, "", [], {})}
    try:
        return Constraint(**given)
    except ProblemError as error:
        raise ProblemError(f"problem.constraints[{i}]: {error}") from None


def _joint_shares(entry: JointSharesEntry, variables: Mapping[str, Variable], i: int) -> JointShares:
    where = f"problem.joint_shares[{i}]"
    for name in entry.attributes:
        if name not in variables:
            raise ProblemError(f"{where}: node '{name}' has no declared states.")
    shape = tuple(variables[name].size for name in entry.attributes)
    try:
        return JointShares(tuple(entry.attributes), _array(entry.table, shape, f"{where}.table"))
    except ProblemError as error:
        raise ProblemError(str(error) if str(error).startswith(where) else f"{where}: {error}") from None


def _edge(pair: list[str], i: int) -> tuple[str, str]:
    if len(pair) != 2:
        raise ProblemError(f"problem.edges[{i}]: needs [cause, effect]; got {pair}.")
    return pair[0], pair[1]


def _outcome(entry: OutcomeEntry, variables: Mapping[str, Variable]) -> Outcome:
    low, high = entry.range or (None, None)
    if entry.values is None:
        return Outcome(entry.node, low=low, high=high)
    states = variables[entry.node].states if entry.node in variables else None
    if states is None or sorted(states) != sorted(entry.values):
        raise ProblemError(
            f"problem.outcome.values: needs one value for each state of '{entry.node}': {list(states or ())}."
        )
    return Outcome(entry.node, tuple(entry.values[state] for state in states), low, high)


def _costs(entry: ProblemEntry, variables: Mapping[str, Variable]) -> list[tuple[float, ...]]:
    if all(arm.cost is None for arm in entry.arms):
        return []
    states = states_by_attribute(named_attributes(entry.sensitive), variables, entry.groups)
    forced = offered_regimes(entry.regimes, states)
    regimes = single_names(states) if len(states) == 1 else forced
    rows = []
    for i, arm in enumerate(entry.arms):
        try:
            rows.append(arm_costs(1.0 if arm.cost is None else arm.cost, regimes, forced))
        except ProblemError as error:
            raise ProblemError(f"problem.arms[{i}].cost: {error}") from None
    return rows


def _context(entry: ContextEntry | None, variables: Mapping[str, Variable]) -> ContextLaw | None:
    if entry is None:
        return None
    if missing := [name for name in entry.variables if name not in variables]:
        raise ProblemError(f"problem.context.variables: node '{missing[0]}' has no declared states.")
    shape = tuple(variables[name].size for name in entry.variables)
    return ContextLaw(tuple(entry.variables), _array(entry.table, shape, "problem.context.table"))
