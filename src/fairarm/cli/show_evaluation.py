"""An evaluation on a terminal."""

from __future__ import annotations

from rich.markup import escape

from fairarm.cli.show import MOST_ARMS, _table, console
from fairarm.experiments.evaluate import NONE, ArmEvaluation, Estimate, Evaluation
from fairarm.reports.words import METHODS, SETTLED, no_arm, not_named, value

ROOM = 150
"""Columns of text that all of a table's columns need."""
OUTCOMES, GAPS = (0, 1, 2, 3, 8, 10), (0, 4, 5, 6, 7, 9)
"""Which columns stand in which table where there is less room."""


def evaluation(found: Evaluation) -> None:
    console.print(
        f"[bold]{escape(found.problem.name)}[/]: {found.used:,} of {found.rows:,} rows of {escape(found.log)} used. {METHODS[found.method]}"
    )
    _findings(found)
    _arms(found)
    _answer(found)
    _certified(found)
    _plain_gap(found)
    _next(found)
    for note in found.fitted:
        console.print(note.text)
    console.print("It rests on:")
    for line in found.assumptions:
        console.print(f"  - {escape(line)}")


def _findings(found: Evaluation) -> None:
    for finding in found.findings:
        mark = "[bold red]voids certification[/]" if finding.voids else "noted"
        shown = f" Examples: {escape('; '.join(finding.examples))}." if any(finding.examples) else ""
        console.print(f"{mark}  [bold]{finding.name}[/]: {escape(finding.message)}{shown}")


def _interval(estimate: Estimate) -> str:
    return f"{value(estimate.low)} … {value(estimate.high)}"


def _certified_interval(estimate: Estimate) -> str:
    return (
        "–" if estimate.certified_low is None else f"{value(estimate.certified_low)} … {value(estimate.certified_high)}"
    )


def _arms(found: Evaluation) -> None:
    """One table where there is room for all columns, else one for outcomes and one for gaps."""
    percent = f"{100 * found.confidence:g} %"
    heads = ("arm", "outcome", f"usual {percent}", f"certified {percent}", "gap", f"usual gap {percent}", f"certified gap {percent}", "P(fair)", "P(best)", "log speaks", "effective rows")  # fmt: skip
    shown = sorted(found.arms, key=lambda arm: (-arm.best_probability, -arm.fair_probability, -arm.outcome.value))
    lines = [_line(found, arm) for arm in shown[:MOST_ARMS]]
    for part in [tuple(range(len(heads)))] if console.width >= ROOM else [OUTCOMES, GAPS]:
        table = _table(*(heads[i] for i in part))
        for line in lines:
            table.add_row(*(line[i] for i in part))
        console.print(table)
    if len(shown) > MOST_ARMS:
        console.print(f"… and {len(shown) - MOST_ARMS} more; --json lists all.")


def _line(found: Evaluation, arm: ArmEvaluation) -> tuple[str, ...]:
    name = f"[bold]{escape(arm.name)}[/]" if arm.name == found.arm else escape(arm.name)
    return (
        name + (" (fitted)" if arm.fitted else ""),
        value(arm.outcome.value), _interval(arm.outcome), _certified_interval(arm.outcome),
        value(arm.gap.value), _interval(arm.gap), _certified_interval(arm.gap),
        f"{arm.fair_probability:.3f}", f"{arm.best_probability:.3f}", arm.support, f"{arm.effective_rows:,.0f}",
    )  # fmt: skip


def _answer(found: Evaluation) -> None:
    second = "no fair arm" if found.runner_up == NONE else escape(found.runner_up)
    chance = f"(probability {found.probability:.3f}; next {second}, {found.runner_up_probability:.3f})"
    if found.arm is None:
        console.print(f"{no_arm(found)} {chance}.")
    else:
        console.print(f"Best fair arm so far: [bold]{escape(found.arm)}[/] {chance}.")
    if why := not_named(found):
        console.print(escape(why))


def _certified(found: Evaluation) -> None:
    if found.not_certified and found.certified_by is None:
        console.print(f"Not certified: {escape('; '.join(found.not_certified))}.")
    elif found.certified_arm is not None:
        console.print(
            f"Certified: [bold]{escape(found.certified_arm)}[/] is the best fair arm, wrong with probability at most {1 - found.confidence:.3g} if what it rests on (below) holds."
        )
    elif found.certified_status == "NO_FAIR_ARM":
        console.print(
            f"Certified: no arm is fair, wrong with probability at most {1 - found.confidence:.3g} if what it rests on (below) holds."
        )
    else:
        fair = [arm.name for arm in found.arms if arm.certified_fair]
        unfair = [arm.name for arm in found.arms if arm.certified_fair is False]
        console.print(
            f"Not certified yet which arm is best. Certified fair: {escape(', '.join(fair) or 'none')}; unfair: {escape(', '.join(unfair) or 'none')}."
        )


def _plain_gap(found: Evaluation) -> None:
    if found.plain_gap is None:
        return
    first, second = found.observed
    console.print(
        f"In the log as it is: {escape(first.group)} {value(first.mean)} ({first.rows:,} rows), {escape(second.group)} {value(second.mean)} "
        f"({second.rows:,} rows), plain gap {value(found.plain_gap)}."
    )


def _next(found: Evaluation) -> None:
    if found.probability >= SETTLED:
        console.print("Nothing is left to learn about which arm it is.")
    elif found.next_pulls:
        lines = ", ".join(
            f"{escape(n.arm)} [{escape(n.regime)}] {n.share:.0%}".replace("[", "\\[") for n in found.next_pulls[:6]
        )
        console.print(f"To learn most, pull next: {lines}.")
