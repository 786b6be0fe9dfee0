"""Problem files: TOML in, TOML out, and the JSON Schema of both, from one model.

``[problem]`` is what is known; an optional ``[world]`` is the full network, inline or in a file beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fairarm.core.types import FloatArray
from fairarm.errors import FairarmError, ProblemError, ReadError
from fairarm.problem.context import ContextLaw
from fairarm.problem.graph import Graph
from fairarm.problem.inference import completed
from fairarm.problem.log_map import LogMap
from fairarm.problem.mechanism import Arm, Mechanism, Table, Unknown, check_size
from fairarm.problem.network import Network
from fairarm.problem.outcome import Constraint, Outcome
from fairarm.problem.parts import NATURAL
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable, with_order
from fairarm.readers.networks import read_network
from fairarm.readers.text import one_line, read_text
from fairarm.readers.toml import parse_toml

MAX_BYTES = 16 * 1024 * 1024

AS_WRITTEN = (
    "name", "description", "sensitive", "groups", "decision", "tolerance", "budget", "deployed", "hidden", "shares",
)  # fmt: skip
"""Keys of ``[problem]`` that mean in a file what they mean in Python."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class MechanismEntry(_Entry):
    """P(node | parents): one list a parent, outermost first; the innermost lists are probabilities of the states."""

    node: str
    parents: list[str] = []
    table: list[Any]


class ArmEntry(_Entry):
    """A candidate mechanism of the decision. Parents without a table: the rule is fitted from a log."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["table"]}, {"required": ["parents"]}]})

    name: str
    parents: list[str] = []
    table: list[Any] | None = Field(None, description="as of a mechanism; left out where only the inputs are known")
    cost: float | dict[str, float] | None = Field(None, description="of a pull: one number, or one a regime")


class OutcomeEntry(_Entry):
    """The outcome: the value of each state, or the range of a real outcome (or both, for a wider range)."""

    node: str
    values: dict[str, float] | None = None
    range: list[float] | None = Field(None, min_length=2, max_length=2)


class ConstraintEntry(_Entry):
    """|Σ weight · group mean| < tolerance."""

    weights: dict[str, float]
    tolerance: float


class ContextEntry(_Entry):
    """The law of what arms see: one list per variable, outermost first."""

    variables: list[str]
    table: list[Any] | float


class ProblemEntry(_Entry):
    """What is known before the first pull."""

    name: str
    description: str = ""
    sensitive: str
    groups: list[str] = Field([], description="the states of the sensitive attribute, in the order (s, s')")
    decision: str
    outcome: OutcomeEntry
    tolerance: float | None = Field(None, description="largest gap between the groups, in the outcome's units")
    constraints: list[ConstraintEntry] = []
    nodes: list[str] = Field([], description="all nodes, where the edges do not name them in the wanted order")
    edges: list[list[str]] = Field([], description="[cause, effect] pairs")
    states: dict[str, list[str]] = {}
    ranges: dict[str, list[float]] = Field({}, description="[low, high] of real-valued nodes")
    ordered: list[str] | None = Field(None, description="nodes whose states have an order; by default, numbers do")
    hidden: list[str] = []
    arms: list[ArmEntry]
    mechanisms: list[MechanismEntry] = []
    deployed: str | None = None
    budget: float | Literal["1/sqrt(pulls)"] | None = Field(None, description="largest average cost of a pull")
    shares: dict[str, float] | None = Field(None, description="P(S), by group")
    context: ContextEntry | None = None
    from_world: bool = Field(False, description="take edges, states, mechanisms, shares and context from the world")


class WorldEntry(_Entry):
    """The full network: a file beside this one, or tables."""

    network: str | None = None
    states: dict[str, list[str]] = Field({}, description="of nodes that the problem does not name")
    mechanisms: list[MechanismEntry] = []


class LogEntry(_Entry):
    """Where a log keeps what the problem needs; a node that is not named has a column of its own name."""

    columns: dict[str, str] = Field({}, description="node = column")
    labels: dict[str, dict[str, str]] = Field({}, description="node = {value in the log = state}, where they differ")
    arm: str | None = Field(None, description="the column that names the arm of each row")
    made_by: str | None = Field(None, description="the arm that made every row; the deployed one if not given")
    regime: str | None = Field(None, description="the column that says natural, or the group that S was forced to")
    propensity: str | None = Field(None, description="the column with the logged decision's probability")
    propensities: dict[str, str] = Field({}, description="state of the decision = column with its probability")
    count: str | None = Field(None, description="the column with the number of rows that a line stands for")
    row_id: str | None = Field(None, description="the column that is different in every row")
    time: str | None = Field(None, description="the column with the time of the decision")
    outcome_within: float | None = Field(None, description="outcomes arrive within this time; seconds for timestamps")
    adaptive: bool = Field(False, description="outcomes of earlier rows decided which arm later rows are of")
    planned: dict[str, float] = Field({}, description="arm = the share of rows it was planned to have")
    drop: dict[str, list[str]] = Field({}, description="node or column = values whose rows are left out on purpose")


class ProblemFile(_Entry):
    """A fairarm problem file."""

    format: Literal[1] = 1
    problem: ProblemEntry
    world: WorldEntry | None = None
    log: LogEntry | None = None


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


def read_problem(path: Path, tolerance: float | None = None) -> ReadProblem:
    """The problem of a file, its world's network if it has one, and its ``[log]``. Errors name the file and the line or key.

    ``tolerance`` is used instead of the file's own; a file may leave it open.
    """
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
        raise ReadError(one_line(f"{source}: {_first_error(error)}")) from None
    try:
        _check_roles(entry.problem)
        entry = _with_tolerance(entry, tolerance)
        network = _network(entry, folder)
        columns = LogMap(**entry.log.model_dump()) if entry.log else LogMap()
        problem = _problem(entry.problem, network, needs_columns=columns != LogMap())
        columns.check(problem)
        return ReadProblem(problem, network, columns)
    except ReadError:
        raise
    except FairarmError as error:
        raise ReadError(one_line(f"{source}: {error}")) from None


def _first_error(error: ValidationError) -> str:
    """One line: key, rule, what arrived, the way out."""
    errors = error.errors(include_url=False)
    first = errors[0]
    key = _key(first["loc"])
    if first["type"] == "missing":
        keys = ", ".join(_key(e["loc"]) for e in errors if e["type"] == "missing")
        return f"{keys}: not given, but needed."
    if first["type"] == "extra_forbidden":
        return f"{key}: there is no such key.{_nearest(str(first['loc'][-1]))}"
    rules = dict.fromkeys(e["msg"].removeprefix("Input should be ") for e in errors if _key(e["loc"]) == key)
    others = len({_key(e["loc"]) for e in errors}) - 1
    extra = f" ({others} more keys are wrong)" if others else ""
    return f"{key}: should be {', or '.join(rules)}; got {repr(first.get('input'))[:60]}.{extra}"


def _key(location: tuple[int | str, ...]) -> str:
    """problem.arms[1].table"""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location if not _is_branch(part))
    return "".join(parts).lstrip(".")


def _nearest(word: str) -> str:
    models = (
        ProblemFile,
        ProblemEntry,
        WorldEntry,
        ArmEntry,
        MechanismEntry,
        OutcomeEntry,
        ConstraintEntry,
        ContextEntry,
        LogEntry,
    )
    known = sorted({name for model in models for name in model.model_fields})
    near = get_close_matches(word, known, n=1)
    return f" Did you mean '{near[0]}'?" if near else " `fairarm schema` lists the keys."


def _is_branch(part: int | str) -> bool:
    """pydantic names the branch of a union in the location; readers of the message do not want it."""
    return isinstance(part, str) and (part in ("float", "str") or part.startswith(("literal[", "dict[", "list[")))


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
    if len({entry.sensitive, entry.decision, entry.outcome.node}) < 3:
        raise ProblemError("problem.sensitive, .decision and .outcome.node must be three different nodes.")
    states = entry.states.get(entry.sensitive)
    if states is not None and len(states) != 2:
        raise ProblemError(
            f"problem.states.{entry.sensitive}: {len(states)} groups; only two are supported so far. Merge states."
        )
    if states is not None and entry.groups and sorted(entry.groups) != sorted(states):
        raise ProblemError(f"problem.groups: {entry.groups} are not the states of '{entry.sensitive}': {states}.")


def _with_tolerance(file: ProblemFile, tolerance: float | None) -> ProblemFile:
    """The tolerance that was given in place of the file's, wherever the file has it; one of the two is needed."""
    if tolerance is not None:
        constraints = [known.model_copy(update={"tolerance": tolerance}) for known in file.problem.constraints]
        alone = tolerance if file.problem.tolerance is not None or not constraints else None
        chosen = file.problem.model_copy(update={"tolerance": alone, "constraints": constraints})
        return file.model_copy(update={"problem": chosen})
    if file.problem.tolerance is None and not file.problem.constraints:
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
    arms = [Arm(a.name, _arm(a, entry.decision, variables, f"problem.arms[{i}]")) for i, a in enumerate(entry.arms)]
    mechanisms = [_table(m, m.node, variables, f"problem.mechanisms[{i}]") for i, m in enumerate(entry.mechanisms)]
    problem = Problem(
        **{key: getattr(entry, key) for key in AS_WRITTEN},
        variables=variables,
        graph=Graph(tuple(nodes), tuple(edges)),
        outcome=_outcome(entry.outcome, variables),
        constraints=[Constraint(tuple(c.weights.items()), c.tolerance) for c in entry.constraints],
        arms=arms,
        mechanisms=mechanisms,
        costs=_costs(entry, variables),
        context=_context(entry.context, variables),
        needs_columns=needs_columns,
    )
    return completed(problem, network) if entry.from_world and network is not None else problem


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


def _costs(entry: ProblemEntry, variables: Mapping[str, Variable]) -> list[list[float]]:
    if all(arm.cost is None for arm in entry.arms):
        return []
    known = variables.get(entry.sensitive)
    regimes = (NATURAL, *(entry.groups or (known.states if known and known.states else ())))
    rows = []
    for i, arm in enumerate(entry.arms):
        cost = 1.0 if arm.cost is None else arm.cost
        if isinstance(cost, dict) and sorted(cost) != sorted(regimes):
            raise ProblemError(f"problem.arms[{i}].cost: needs one number for each regime: {', '.join(regimes)}.")
        rows.append([cost[r] if isinstance(cost, dict) else cost for r in regimes])
    return rows


def _context(entry: ContextEntry | None, variables: Mapping[str, Variable]) -> ContextLaw | None:
    if entry is None:
        return None
    if missing := [name for name in entry.variables if name not in variables]:
        raise ProblemError(f"problem.context.variables: node '{missing[0]}' has no declared states.")
    shape = tuple(variables[name].size for name in entry.variables)
    return ContextLaw(tuple(entry.variables), _array(entry.table, shape, "problem.context.table"))
