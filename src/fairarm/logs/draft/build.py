"""From a log to a draft: the problem that its columns suggest, the groups' mean outcomes, and what was guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from fairarm.errors import DataError, OptionError, one_line
from fairarm.logs.draft.columns import Column, Numbers, States, is_unknown, survey
from fairarm.logs.draft.confirm import to_confirm
from fairarm.logs.draft.naming import plain_name, shown
from fairarm.logs.draft.roles import ROLES, Choice, choose
from fairarm.logs.draft.text import file_text
from fairarm.logs.draft.worth import doubts, worth
from fairarm.logs.findings import is_small
from fairarm.logs.reading import LogReader
from fairarm.logs.sources import open_log
from fairarm.logs.table import LogTable
from fairarm.logs.unanswered import check_outcomes
from fairarm.problem.log_map import LogMap
from fairarm.problem.mechanism import Arm, Table, Unknown
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import groups_of
from fairarm.problem.variables import Variable
from fairarm.problem.worlds import group_name

SHARED = "background"
"""What several attributes may have in common: a hidden node."""
MOST_COLUMNS = 200
MOST_SHOWN, FEW_SHOWN = 8, 3
"""Values of a column that are shown; fewer where they are only examples."""


@dataclass(frozen=True)
class GroupMean:
    """The usable rows of one group as they are, and their mean outcome."""

    group: str
    rows: int
    mean: float | None
    attribute: str = ""
    """The sensitive attribute whose group it is."""


@dataclass(frozen=True)
class Described:
    """A column of the log as it is shown: its commonest values, its role in the draft, and why."""

    name: str
    kind: str
    role: str
    why: str
    values: tuple[tuple[str, int], ...]
    """Some of them, most rows first."""
    other_values: int
    other_rows: int
    missing: int
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Draft:
    """The text of a problem file, what it is made from, and what was guessed in it."""

    text: str
    log: str
    lines: int
    """Of the log."""
    rows: int
    """What the lines stand for: the same, unless a column holds counts."""
    used: int
    """Rows that the problem can use."""
    columns: tuple[Described, ...]
    outcome: str
    unusable: Mapping[str, Mapping[str, int]]
    """"decision", "outcome" -> {value that is none: its rows}; "" is a missing one."""
    labels: Mapping[str, Mapping[str, str]]
    """Column -> {value in the log: state}."""
    drop: Mapping[str, Mapping[str, int]]
    """Column -> {value: rows that are left out}; "" is a missing one."""
    groups: tuple[GroupMean, ...]
    mean: float | None
    tolerance: float | None
    """As given; None where it is left open."""
    doubts: tuple[str, ...]
    """What speaks against the outcome as it was taken; first in ``to_confirm``."""
    to_confirm: tuple[str, ...]

    @property
    def plain_gap(self) -> float | None:
        """The difference of the groups' mean outcomes in the log as it is, first minus second; None where there are more."""
        if len(self.groups) != 2:
            return None
        first, second = (group.mean for group in self.groups)
        return None if first is None or second is None else first - second

    @property
    def widest(self) -> tuple[GroupMean, GroupMean] | None:
        """The groups of one attribute whose mean outcomes in the log as it is lie furthest apart, the higher first; None where fewer
        than two are known."""
        known = [group for group in self.groups if group.mean is not None]
        ordered = sorted(known, key=lambda group: -(group.mean or 0.0))
        each = [
            [group for group in ordered if group.attribute == name]
            for name in dict.fromkeys(g.attribute for g in known)
        ]
        pairs = [(groups[0], groups[-1]) for groups in each if len(groups) > 1]
        return max(pairs, key=lambda pair: (pair[0].mean or 0.0) - (pair[1].mean or 0.0), default=None)

    @property
    def small(self) -> tuple[GroupMean, ...]:
        """Groups of which there are few rows: what is said of them will be uncertain."""
        whole = Counter[str]()
        for group in self.groups:
            whole[group.attribute] += group.rows
        return tuple(group for group in self.groups if is_small(group.rows, whole[group.attribute]))


def draft_problem(
    log: Any,
    *,
    sensitive: str | Sequence[str] | None = None,
    decision: str | None = None,
    outcome: str | None = None,
    tolerance: float | None = None,
) -> Draft:
    """Roles that are given are kept; the others are guessed from names and values. The tolerance is never guessed.

    ``log``: whatever `open_log` takes. ``sensitive``: one column, or several; where none is given, one is guessed.
    """
    table = open_log(log)
    first, *more = (sensitive,) if sensitive is None or isinstance(sensitive, str) else tuple(sensitive) or (None,)
    named = {"sensitive": first, "decision": decision, "outcome": outcome}
    given = {role: name for role, name in named.items() if name is not None}
    _check(table, [*given.items(), *(("sensitive", name) for name in more if name is not None)], tolerance)
    columns = survey(table)
    lines = next(iter(columns.values())).rows
    if not lines:
        raise DataError(one_line(f"The log {table.name} has no rows to draft a problem from."))
    choice = choose(table, columns, given, tuple(name for name in more if name is not None))
    names = node_names(choice)
    problem = problem_of(choice, names, 1.0 if tolerance is None else tolerance)
    where = log_map(choice, names)
    plain = replace(choice, role={n: r for n, r in choice.role.items() if r != "input" or n not in choice.real})
    reader, groups, mean = _means(problem_of(plain, node_names(plain), 1.0), log_map(plain, node_names(plain)), table)
    name = choice.column("outcome") or ""
    needs = (finding.message.rstrip(".") for finding in check_outcomes(reader))
    said = (*needs, *doubts(columns[name], choice.node("outcome"), table))
    draft = Draft(
        text="",
        log=table.name,
        lines=lines,
        rows=reader.rows,
        used=reader.used,
        columns=tuple(_described(column, choice) for column in columns.values()),
        outcome=name,
        unusable={r: m.unusable for r in ("decision", "outcome") if (m := choice.node(r)) and m.unusable},
        labels={n: made.labels for n, made in choice.nodes.items() if isinstance(made, States) and made.labels},
        drop=_left_out(choice),
        groups=groups,
        mean=mean,
        tolerance=tolerance,
        doubts=said,
        to_confirm=(),
    )
    asked = to_confirm(choice, tolerance, problem.deployed or "", (*said, *_few(draft)))
    return replace(draft, to_confirm=asked, text=file_text(draft, choice, names, problem, where))


def _few(draft: Draft) -> list[str]:
    """What is said of groups with few rows."""
    small = ", ".join(f"{shown(group.group)} ({group.rows:,})" for group in draft.small)
    return (
        [f"groups with few rows, of which little can be said: {small}. Merge them, or leave them out"] if small else []
    )


def _check(table: LogTable, given: Sequence[tuple[str, str]], tolerance: float | None) -> None:
    for role, name in given:
        if name not in table.columns:
            listed = ", ".join(shown(each) for each in table.columns[:30])
            raise OptionError(one_line(f"--{role}: the log has no column '{name}'. It has: {listed}."))
    if not table.columns or len(table.columns) > MOST_COLUMNS:
        raise DataError(
            f"The log has {len(table.columns)} columns; a draft is made of 1 to {MOST_COLUMNS}. Select some first."
        )
    if tolerance is not None and not (isfinite(tolerance) and tolerance > 0):
        raise OptionError(f"The tolerance is {tolerance}. It must be a finite number above 0, in the outcome's units.")


# ---- the problem ----


def node_names(choice: Choice) -> dict[str, str]:
    """Column -> node: its own name where that is fit to be one."""
    names: dict[str, str] = {}
    used = [*choice.attributes, *(choice.column(role) or "" for role in ROLES[1:]), *choice.inputs]
    for name in used:
        names[name] = plain_name(
            name, {*names.values(), "arm", "regime", *([SHARED] if choice.more else [])}, "unnamed column"
        )
    return names


def problem_of(choice: Choice, names: Mapping[str, str], tolerance: float) -> Problem:
    """What the draft says. The sensitive attribute may act on everything, and the deployed rule may have seen all inputs."""
    S = tuple(names[name] for name in choice.attributes)
    V, Y = (names[choice.column(role) or ""] for role in ROLES[1:])
    inputs = [names[name] for name in choice.inputs]
    made = {node: choice.nodes[name] for name, node in names.items()}
    real = [
        Variable(node, low=each.low, high=each.high)
        for node, each in made.items()
        if node in inputs and isinstance(each, Numbers)
    ]
    states = {node: tuple(each.rows) for node, each in made.items() if isinstance(each, States)}
    arms = arm_names(choice)
    return Problem(
        name="draft",
        variables=[*(Variable(node, held) for node, held in states.items()), *real],
        graph=[edge for edge in edges(S, V, Y, inputs) if edge[1] != V or not choice.variants],
        sensitive=S,
        hidden=[SHARED] if len(S) > 1 else [],
        decision=V,
        outcome=_outcome(Y, choice),
        arms=[
            Arm(a, Table(V, (), law) if choice.variants else Unknown(V, (*S, *inputs)))
            for a, law in zip(arms, np.eye(len(arms)), strict=True)
        ],
        tolerance=tolerance,
        deployed=arms[0],
    )


def edges(S: tuple[str, ...], V: str, Y: str, inputs: list[str]) -> list[tuple[str, str]]:
    """The graph of a draft: S acts on everything, the inputs on decision and outcome, the decision on the outcome.

    Several attributes may have anything hidden in common, and each input may act on those after it: the least that can be said. With one
    attribute nothing rests on arrows between inputs.
    """
    into = [edge for x in inputs for edge in ((x, V), (x, Y))]
    acts = [(attribute, x) for attribute in S for x in (*inputs, V, Y)]
    if len(S) == 1:
        return [*acts, *into, (V, Y)]
    between = [(x, later) for i, x in enumerate(inputs) for later in inputs[i + 1 :]]
    return [*((SHARED, attribute) for attribute in S), *acts, *between, *into, (V, Y)]


def arm_names(choice: Choice) -> list[str]:
    """The arms that the log names, or the one that made all of it."""
    made = choice.node("decision" if choice.variants else "arm")
    return list(made.rows) if isinstance(made, States) else ["deployed"]


def _outcome(node: str, choice: Choice) -> Outcome:
    made = choice.node("outcome")
    if isinstance(made, Numbers):
        return Outcome(node, low=made.low, high=made.high)
    return Outcome(node, values=tuple(worth(list(made.rows) if made else [], choice.column("outcome") or "").values()))


def log_map(choice: Choice, names: Mapping[str, str]) -> LogMap:
    """Where the log keeps each node, how it spells the states, and which values are left out."""
    keys = {**names, **{name: role for name, role in choice.role.items() if role in ("arm", "regime")}}
    made = {keys[name]: each for name, each in choice.nodes.items() if name in keys}
    decision = choice.column("decision")
    if choice.variants:
        made["arm"] = choice.nodes[decision or ""]
    count = choice.column("count")
    uncounted = {count: tuple(choice.bad_counts)} if count and choice.bad_counts else {}
    used = {text for each in made.values() if isinstance(each, States) for text in (*each.rows, *each.labels)}
    unusable = [(text, role) for role in ROLES[1:] if (node := choice.node(role)) for text in node.unusable]
    missing = [text for text, role in unusable if is_unknown(text, role) and text not in used and text.strip()]
    return LogMap(
        columns={node: name for name, node in names.items() if node != name},
        labels={key: each.labels for key, each in made.items() if isinstance(each, States) and each.labels},
        drop={**{key: tuple(each.drop) for key, each in made.items() if each.drop}, **uncounted},
        arm=decision if choice.variants else choice.column("arm"),
        regime=choice.column("regime"),
        count=count,
        row_id=choice.column("row_id"),
        time=choice.column("time"),
        missing_values=tuple(dict.fromkeys(missing)),
    )


def _left_out(choice: Choice) -> dict[str, dict[str, int]]:
    """Column -> {value: lines that are left out}."""
    count = choice.column("count")
    uncounted = {count: choice.bad_counts} if count and choice.bad_counts else {}
    return {**{name: made.drop for name, made in choice.nodes.items() if made.drop}, **uncounted}


# ---- what the log says as it is ----


def _means(problem: Problem, where: LogMap, table: LogTable) -> tuple[LogReader, tuple[GroupMean, ...], float | None]:
    """Usable natural rows by group and their mean outcomes, as `evaluate` counts them; and the mean of all."""
    reader = LogReader(problem, table, where)
    cells = reader.cells()
    if not reader.used:
        why = "; ".join(f"{each.name}: {each.message}" for each in reader.findings()) or "Every count is 0."
        raise DataError(one_line(f"No row of {table.name} has a value in every column that the draft needs. {why}"))
    batch, outcome = cells.batch, problem.outcome
    group, natural = groups_of(problem, batch), batch.regime == 0
    scaled = (
        cells.sums[:, 0] if cells.sums is not None else outcome.scaled_values[batch.columns[outcome.node]] * batch.count
    )
    profiles = [((name, state),) for name, states in problem.attribute_states.items() for state in states]
    fits = [natural & problem.compiled.fitting(profile)[group] for profile in profiles]
    rows, sums = (np.array([part[here].sum() for here in (*fits, natural)]) for part in (batch.count, scaled))
    values = outcome.unscale(sums / np.maximum(rows, 1))
    means = [float(value) if count else None for value, count in zip(values, rows, strict=True)]
    names = [group_name(problem.attributes, profile) for profile in profiles]
    made = tuple(GroupMean(g, int(n), m, p[0][0]) for g, n, m, p in zip(names, rows, means, profiles, strict=False))
    return reader, made, means[-1]


# ---- what is shown ----


def _described(column: Column, choice: Choice) -> Described:
    numbers = column.kind in ("integer", "real")
    shown_values = MOST_SHOWN if column.distinct <= 6 * MOST_SHOWN else FEW_SHOWN
    listed = [*column.values[:shown_values], *column.strays[:MOST_SHOWN]]
    return Described(
        name=column.name,
        kind=column.kind,
        role=choice.role[column.name],
        why=choice.why[column.name],
        values=tuple(listed),
        other_values=max(column.distinct + len(column.strays) - len(listed), 0),
        other_rows=column.filled - sum(rows for _, rows in listed) if column.kind != "other" else 0,
        missing=column.missing,
        low=float(column.low) if numbers and column.low is not None and isfinite(column.low) else None,
        high=float(column.high) if numbers and column.high is not None and isfinite(column.high) else None,
    )
