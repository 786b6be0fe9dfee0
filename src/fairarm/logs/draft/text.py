"""The drafted file: TOML with comments, in the order in which someone reads it for the first time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import TYPE_CHECKING

from fairarm.logs.draft.naming import key, quoted, shown
from fairarm.logs.draft.roles import Choice
from fairarm.problem.log_map import LogMap
from fairarm.problem.mechanism import Table
from fairarm.problem.problem import Problem

if TYPE_CHECKING:
    from fairarm.logs.draft.build import Described, Draft

WIDTH = 110


def file_text(draft: Draft, choice: Choice, names: Mapping[str, str], problem: Problem, where: LogMap) -> str:
    """The whole file. Whatever comes from the log goes through ``quoted`` or ``shown``."""
    lines = [
        *_head(draft),
        "format = 1",
        "",
        "[problem]",
        'name = "draft"',
        f"sensitive = {_sensitive(problem)}{_mark(choice, 'sensitive')}",
        *([f"hidden = {_listed(problem.hidden)}"] if problem.hidden else []),
        f"decision = {quoted(problem.decision)}{_mark(choice, 'decision')}",
        f"deployed = {quoted(problem.deployed or '')}  # TO CONFIRM: the rule that runs today",
        f"outcome = {_outcome(problem)}{_mark(choice, 'outcome')}",
        *_worth(problem, draft),
        *(line for few in _small(draft) for line in _wrapped_text(few)),
        "",
        *_tolerance(draft, problem),
        "",
        "# What acts on what? [cause, effect]. TO CONFIRM. In this draft the sensitive attribute may act on everything, and each",
        "# input was known before the decision: one that follows the decision makes answers wrong. Take it out, or turn its arrows.",
        "# Deleting an arrow that is not there makes answers sharper; deleting one that is there makes them wrong.",
        "edges = [",
        *(f"  {_listed(edge)},{_shared(problem, edge)}" for edge in problem.graph.edges),
        "]",
        *_unused(draft.columns),
        "",
        "[problem.states]",
        *(f"{key(v.name)} = {_listed(v.states)}" for v in problem.variables.values() if v.states is not None),
        "",
        *_ranges(problem),
        *_arms(problem),
        *_log(problem, where, choice, draft),
        "",
        "# ---- The columns of the log: their values with the number of rows, and what each was taken for ----",
        *(f"# {line}" for column in draft.columns for line in described(column)),
    ]
    return "\n".join(lines) + "\n"


def described(column: Described) -> list[str]:
    """A column in two lines: what it holds, and what it was taken for."""
    parts = [f"{shown(value)} ({rows:,})" for value, rows in column.values]
    if column.other_values:
        parts.append(f"{column.other_values:,} other values ({column.other_rows:,})")
    if column.missing:
        parts.append(f"missing ({column.missing:,})")
    ends = "" if column.low is None or column.high is None else f", from {column.low:.10g} to {column.high:.10g}"
    span = ends if column.other_values else ""
    held = f"{shown(column.name)}: {', '.join(parts) or 'nothing'}{span}"
    return [held, f"    {column.role.replace('_', ' ')}: {column.why}"]


def by_group(draft: Draft) -> str:
    """The groups' mean outcomes as they are, the gap, and the mean of all."""
    each = [
        f"{shown(g.group)} {'unknown' if g.mean is None else f'{g.mean:.4g}'} ({g.rows:,} rows)" for g in draft.groups
    ]
    mean = "unknown" if draft.mean is None else f"{draft.mean:.4g}"
    return f"{', '.join(each)}; {_gap(draft)}; mean of all {mean}"


def _gap(draft: Draft) -> str:
    """Of two groups the gap between them, of more the largest."""
    if len(draft.groups) == 2:
        return f"plain gap {'unknown' if draft.plain_gap is None else f'{draft.plain_gap:.4g}'}"
    if draft.widest is None:
        return "largest plain gap unknown"
    high, low = draft.widest
    return f"largest plain gap {(high.mean or 0.0) - (low.mean or 0.0):.4g} ({shown(high.group)} - {shown(low.group)})"


def left_out(values: Mapping[str, int]) -> str:
    """Values and their rows."""
    return ", ".join(f"{shown(value) if value else 'missing'} ({rows:,})" for value, rows in values.items())


def unusable(draft: Draft) -> list[str]:
    """A sentence each for the decision and the outcome, where lines have none."""
    then = "evaluate leaves them out, says so, and certifies nothing while they are there."
    return [f"Lines without a usable {role}: {left_out(held)}. {then}" for role, held in draft.unusable.items()]


def _head(draft: Draft) -> list[str]:
    lines = "" if draft.lines == draft.rows else f" on {draft.lines:,} lines"
    todo = "check each line marked TO CONFIRM, and add your candidate rules."
    return [
        f"# Drafted by fairarm init from {shown(draft.log)}: {draft.used:,} of {draft.rows:,} rows{lines} can be used.",
        f"# To do: {'fill in the tolerance, ' if draft.tolerance is None else ''}{todo}",
    ]


def _mark(choice: Choice, role: str) -> str:
    return "" if role in choice.given else f"  # TO CONFIRM: {choice.why[choice.column(role) or '']}"


def _sensitive(problem: Problem) -> str:
    return quoted(problem.attributes[0]) if len(problem.attributes) == 1 else _listed(problem.attributes)


def _shared(problem: Problem, edge: tuple[str, str]) -> str:
    """What the first arrow from the hidden node says."""
    first = edge[0] in problem.hidden and edge[1] == problem.attributes[0]
    return "  # the attributes may go together. Take these out where they are independent" if first else ""


def _outcome(problem: Problem) -> str:
    outcome = problem.outcome
    if outcome.values is None:
        return f"{{ node = {quoted(outcome.node)}, range = [{outcome.low!r}, {outcome.high!r}] }}"
    states = problem.variables[outcome.node].states or ()
    worth = ", ".join(f"{key(state)} = {value!r}" for state, value in zip(states, outcome.values, strict=True))
    return f"{{ node = {quoted(outcome.node)}, values = {{ {worth} }} }}"


def _worth(problem: Problem, draft: Draft) -> list[str]:
    what = "the range that the outcome can have" if problem.outcome.values is None else "what each outcome is worth"
    doubts = [line for doubt in draft.doubts for line in _wrapped_text(f"TO CONFIRM: {doubt}.")]
    return [*doubts, f"# TO CONFIRM: {what}; more is better.", *(f"# {line}" for line in unusable(draft))]


def _small(draft: Draft) -> list[str]:
    each = ", ".join(f"{shown(group.group)} ({group.rows:,} rows)" for group in draft.small)
    return (
        [f"TO CONFIRM: groups with few rows: {each}. Merge them by log.labels, or leave them out by log.drop."]
        if each
        else []
    )


def _tolerance(draft: Draft, problem: Problem) -> list[str]:
    """The one line that is left open, with what helps to choose it."""
    many = len(draft.groups) > 2
    between = "any two groups'" if many else "the groups'"
    said = [
        f"# The largest gap between {between} mean outcomes that still counts as fair, in units of {shown(draft.outcome)}.",
        *_wrapped_text(f"In the log as it is: {by_group(draft)}."),
        *(
            ["# Other questions (against one group, against the mean, the 80 % rule, a floor): docs/fairness.md."]
            if many
            else []
        ),
    ]
    if draft.tolerance is not None:
        return [*said, f"tolerance = {draft.tolerance!r}"]
    return [*said, "# TO FILL IN, or give --tolerance to every command:", "# tolerance ="]


def _unused(columns: Iterable[Described]) -> list[str]:
    names = [
        shown(column.name) for column in columns if column.role == "unused" and (column.values or column.other_rows)
    ]
    if not names:
        return []
    return [
        *_wrapped("Not used (the reasons are at the end): ", names),
        "# If the rule saw one of them and it acts on the outcome, answers without it are wrong: add it as an input, as it is",
        "# (docs/logs.md#raw-scores). In bins it is no longer what the rule saw.",
    ]


def _wrapped_text(text: str) -> list[str]:
    return [f"# {line}" for line in wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)]


def _wrapped(start: str, names: list[str]) -> list[str]:
    lines = [f"# {start}"]
    for i, name in enumerate(names):
        word = name + (", " if i < len(names) - 1 else ".")
        lines = [*lines[:-1], lines[-1] + word] if len(lines[-1]) + len(word) <= WIDTH else [*lines, f"#   {word}"]
    return [line.rstrip() for line in lines]


def _arms(problem: Problem) -> list[str]:
    states = problem.variables[problem.decision].states or ()
    shares = [f"{1 / len(states):.6f}" for _ in states[1:]]
    even = ", ".join([*shares, f"{1 - sum(map(float, shares)):.6f}"])
    lines = [
        "# The rules. One without a table is fitted from its rows. TO CONFIRM: what each of them sees (its parents)."
    ]
    for arm in problem.arms:
        law = [f"table = {arm.mechanism.probabilities.tolist()}"] if isinstance(arm.mechanism, Table) else []
        lines += ["[[problem.arms]]", f"name = {quoted(arm.name)}", f"parents = {_listed(arm.parents)}", *law, ""]
    return [
        *lines,
        f"# A candidate: the probability of each {shown(problem.decision)} ({', '.join(map(shown, states))}). With parents, one list for",
        "# each of their states, outermost first.",
        "# [[problem.arms]]",
        '# name = "even"',
        "# parents = []",
        f"# table = [{even}]",
        "",
    ]


def _ranges(problem: Problem) -> list[str]:
    """Of real inputs."""
    real = [f"{key(v.name)} = [{v.low!r}, {v.high!r}]" for v in problem.variables.values() if not v.finite]
    return (
        [
            "[problem.ranges]  # TO CONFIRM: the numbers that each can be. Rules that look at them are fitted by a model",
            *real,
            "",
        ]
        if real
        else []
    )


def _log(problem: Problem, log: LogMap, choice: Choice, draft: Draft) -> list[str]:
    lines = [
        "[log]  # a node has the column of its name unless said otherwise; docs/logs.md lists what else can be said"
    ]
    for role in ("arm", "regime", "count", "row_id", "time"):
        if (name := getattr(log, role)) is not None:
            lines.append(f"{role} = {quoted(name)}  # TO CONFIRM: {choice.why[name]}")
    if log.missing_values:
        lines.append(f"missing_values = {_listed(log.missing_values)}  # TO CONFIRM: they mean a missing value")
    if (name := choice.column("propensity")) is not None:  # with it every arm needs a table, and the draft has none yet
        lines.append(f"# propensity = {quoted(name)}  # once every arm above has a table")
    if log.columns:
        lines += ["", "[log.columns]  # node = column"]
        lines += [f"{key(node)} = {quoted(column)}" for node, column in log.columns.items()]
    if log.labels:
        lines += ["", "[log.labels]  # value in the log = the state that it means. TO CONFIRM"]
        for node, labels in log.labels.items():
            pairs = ", ".join(f"{key(value)} = {quoted(state)}" for value, state in labels.items())
            lines.append(f"{key(node)} = {{ {pairs} }}")
    if log.drop:
        lines += ["", '[log.drop]  # rows left out on purpose, by value; "" is a missing one. TO CONFIRM']
        for node, values in log.drop.items():
            lines.append(f"{key(node)} = {_listed(values)}  # {left_out(draft.drop[log.column_of(node, problem)])}")
    return lines


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(quoted(name) for name in names)}]"
