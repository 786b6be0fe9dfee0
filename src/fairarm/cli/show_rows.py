"""Arms on a terminal where more is asked about than one gap: the row that comes closest to unfair in words, then every row if
these are few. People read of "conditions": rows are those of a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairarm.cli.terminal import Styled, TableColumn, numbers, say, table
from fairarm.reports.known import KnownArm, KnownRow, reported_arm, row_heads, true_arm
from fairarm.reports.words import (
    all_indirect,
    arm_reason,
    digits_of,
    distance_columns,
    interval_digits,
    limits,
    parts_digits,
    parts_of,
    parts_shown,
    parts_text,
    row_limits,
    row_text,
    shown_digits,
    value,
)

if TYPE_CHECKING:
    from fairarm.algorithms import ArmReport, Verdict
    from fairarm.experiments.inspect import Inspection
    from fairarm.experiments.pairs import PairGap
    from fairarm.problem.problem import Problem

MOST_ROWS = 6
"""Rows of fairness that have a table of their own; --json has all."""
MOST_PARTS = 24
"""Lines of the table of gaps."""


def inspected(found: Inspection, most: int) -> None:
    """The truth of every arm, where it is known, and how far arms are from the deployed one."""
    problem, truth = found.problem, found.truth
    heads, distances = distance_columns(found)
    columns = [
        TableColumn("arm", "name"),
        *numbers("outcome", "fair", *heads),
        TableColumn("closest to unfair", "text", 1),
    ]
    digits = digits_of(problem.outcome)
    known: list[KnownArm] = []
    lines: list[list[Styled]] = []
    for k, name in enumerate(problem.arm_names[:most]):
        if truth is not None:
            known.append(true_arm(problem, truth, k))
        fair: Styled = "?" if truth is None else ("yes", "green") if truth.fair[k] else ("no", "red")
        lines.append(
            [
                name + (" (deployed)" if name == problem.deployed else ""),
                value(float(truth.outcomes[k]) if truth else None, digits),
                fair,
                *distances[k],
                closest_words(problem, known[-1]) if known else "?",
            ]
        )
    table(columns, lines)
    if truth is not None:
        by_row(problem, known)


def run(verdict: Verdict, most: int) -> None:
    """Every arm of a run: what is believed, the most probable first, or what was tested."""
    arms = list(verdict.arms)
    if verdict.leader:
        arms.sort(key=lambda r: -(r.best_probability or 0.0))
    arms = arms[:most]
    known = [reported_arm(verdict.problem, arm) for arm in arms]
    (_believed if verdict.leader else _tested)(verdict, arms, known)
    by_row(verdict.problem, known)


def _believed(verdict: Verdict, arms: Sequence[ArmReport], known: Sequence[KnownArm]) -> None:
    problem = verdict.problem
    columns = [
        TableColumn("arm", "name"),
        *numbers("outcome", "95 % limits"),
        *numbers("fair", "best", "rows", group=1),
        TableColumn("why", "text", 1),
        TableColumn("closest to unfair", "text", 2),
        *numbers("95 % limits", "holds", group=2),
    ]
    digits = interval_digits(problem.outcome, [report.outcome_interval for report in verdict.arms])
    lines: list[list[Styled]] = [
        [
            report.name,
            value(report.outcome, digits),
            limits(report.outcome_interval, digits),
            value(report.fair_probability, ".2f"),
            value(report.best_probability, ".2f"),
            value(report.effective_rows, ",.0f"),
            arm_reason(verdict, report, row=False),
            *closest_cells(problem, each),
        ]
        for report, each in zip(arms, known, strict=True)
    ]
    table(columns, lines)


def _tested(verdict: Verdict, arms: Sequence[ArmReport], known: Sequence[KnownArm]) -> None:
    columns = [
        TableColumn("arm", "name"),
        *numbers("outcome", "phase"),
        TableColumn("why", "text", 0),
        TableColumn("closest to unfair", "text", 1),
    ]
    digits = digits_of(verdict.problem.outcome)
    lines: list[list[Styled]] = [
        [
            report.name,
            value(report.outcome, digits),
            str(report.rejected_in_phase or ""),
            arm_reason(verdict, report, row=False),
            closest_words(verdict.problem, each),
        ]
        for report, each in zip(arms, known, strict=True)
    ]
    table(columns, lines)


def closest_words(problem: Problem, known: KnownArm) -> str:
    """The row that comes closest to unfair, with what is allowed."""
    found = known.closest
    return "?" if found is None else row_text(problem, found)


def closest_cells(problem: Problem, known: KnownArm, digits: str = ".2f") -> list[str]:
    """The same, with its limits and the probability that it holds."""
    found = known.closest
    if found is None:
        return ["?", limits(None), value(None)]
    ends = row_limits(problem, found, found.shown_interval)
    return [row_text(problem, found), ends, value(found.holds, digits)]


def by_row(problem: Problem, known: Sequence[KnownArm]) -> None:
    """What every row is, a column each, where they are few; else where to find them."""
    if len(problem.rows) > MOST_ROWS:
        say((f"{len(problem.rows)} conditions must hold; --json has each of every arm.", "dim"))
        return
    if len(problem.rows) == 1:
        return
    say(f"Condition by condition ({'; '.join(dict.fromkeys(row.constraint for row in problem.rows))}):")
    columns = [TableColumn("arm", "name"), *numbers(*row_heads(problem.rows))]
    table(columns, [[arm.name, *(_cell(problem, each) for each in arm.rows)] for arm in known])


def parts(problem: Problem, arms: Mapping[str, Mapping[str, PairGap]]) -> None:
    """The causal gap, the plain gap and its parts, per arm and pair of groups, where these are not all the same."""
    lines = parts_of(problem, arms)
    if not lines:
        if text := all_indirect(problem, arms):
            say((text, "dim"))
        return
    say("Gaps, and what they are made of:")
    if len(lines) > MOST_PARTS:
        lines = sorted(lines, key=lambda line: -abs(line[2][0] or 0.0))[:MOST_PARTS]
        say((f"The {MOST_PARTS} largest; --json has each of every arm.", "dim"))
    digits = parts_digits(problem)
    columns = [TableColumn("arm", "name"), TableColumn("t|u", "text"), *numbers(*parts_shown(problem))]
    table(columns, [[arm, pair.replace("|", " | "), *(value(x, digits) for x in found)] for arm, pair, found in lines])
    for text in parts_text(problem):
        say((text, "dim"))


def _cell(problem: Problem, known: KnownRow) -> Styled:
    text = value(known.shown, shown_digits(problem, known.row))
    return (text, "red") if known.inside is False else text
