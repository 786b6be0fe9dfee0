"""An evaluation on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from fairarm.cli import show_rows
from fairarm.cli.show import MOST_ARMS, more_arms, wide_tolerance_line
from fairarm.cli.terminal import Styled, TableColumn, numbers, say, table
from fairarm.experiments.evaluate import ArmEvaluation, Estimate, Evaluation
from fairarm.problem.mechanism import NO_FAIR_ARM
from fairarm.problem.problem import Problem
from fairarm.reports.known import KnownArm, logged_arm, one_gap
from fairarm.reports.words import (
    METHODS,
    answer_text,
    between,
    certified_labels,
    certified_text,
    doubt,
    interval_digits,
    left_to_learn,
    looks_text,
    plain_gap_text,
    recommended_text,
    row_limits,
    sentence,
    smooth_text,
    value,
    why_gaps_differ,
)


def evaluation(found: Evaluation) -> None:
    """What a log says: findings first, then every arm, the answer, and what it rests on."""
    say(
        (found.problem.name, "bold"),
        f": {found.used:,} of {found.rows:,} rows of {found.log} used. {METHODS[found.method]}",
    )
    if smooth := smooth_text(found.evidence.smooth):
        say(smooth)
    wide_tolerance_line(found.problem)
    _findings(found)
    _arms(found)
    _answer(found)
    if lost := doubt.missing_text(found):
        say(lost)
    for line in (certified_text(found), certified_labels(found), looks_text(found)):
        if line is not None:
            say(line)
    _side_by_side(found)
    _hidden_cause(found)
    if tables := doubt.tables_text(found.wrong_tables, found.recommended or NO_FAIR_ARM):
        say(tables)
    _next(found)
    if plain := plain_gap_text(found):
        say(plain)
        say(why_gaps_differ(found))
    for note in found.fitted:
        say(note.text)
    say("It rests on:")
    for said in found.assumptions:
        say(f"  - {sentence(said)}", hang=4)


def _findings(found: Evaluation) -> None:
    for finding in found.findings:
        mark: Styled = (str(finding.level), "bold red") if finding.blocks_certification else str(finding.level)
        shown = f" Examples: {'; '.join(finding.examples)}." if any(finding.examples) else ""
        say(mark, "  ", (finding.name, "bold"), f": {finding.message}{shown}")


def _arms(found: Evaluation) -> None:
    shown = sorted(found.arms, key=lambda arm: (-arm.best_probability, -arm.fair_probability, -arm.outcome.value))
    if found.problem.has_one_gap:
        _gap_table(found, shown)
    else:
        _row_table(found, shown)
    more_arms(len(shown))
    show_rows.parts(found.problem, {arm.name: arm.pairs for arm in shown[:MOST_ARMS]})


def _gap_table(found: Evaluation, shown: Sequence[ArmEvaluation]) -> None:
    percent = f"{100 * found.confidence:g} %"
    columns = [
        TableColumn("arm", "name"),
        *numbers("outcome", f"usual {percent}", f"certified {percent}"),
        *numbers("gap", f"usual gap {percent}", f"certified gap {percent}", group=1),
        *numbers("P(fair)", "P(best)", "log speaks", "effective rows", group=2),
    ]
    outcome = found.problem.outcome
    digits = interval_digits(outcome, [(arm.outcome.low, arm.outcome.high) for arm in shown])
    gaps = [one_gap(arm) for arm in shown]
    signed = interval_digits(outcome, [(gap.low, gap.high) for gap in gaps], signed=True)
    lines = zip(shown[:MOST_ARMS], gaps, strict=False)
    table(columns, [_line(found, arm, digits, _cells(gap, signed)) for arm, gap in lines])


def _row_table(found: Evaluation, shown: Sequence[ArmEvaluation]) -> None:
    """The condition that comes closest to unfair in words, with its limits and the probability that it holds."""
    problem, percent = found.problem, f"{100 * found.confidence:g} %"
    columns = [
        TableColumn("arm", "name"),
        *numbers("outcome", f"usual {percent}", f"certified {percent}"),
        TableColumn("closest to unfair", "text", 1),
        *numbers("usual limits", "certified limits", "holds", group=1),
        *numbers("P(fair)", "P(best)", "log speaks", "effective rows", group=2),
    ]
    digits = interval_digits(problem.outcome, [(arm.outcome.low, arm.outcome.high) for arm in shown])
    known = [logged_arm(problem, arm) for arm in shown[:MOST_ARMS]]
    lines = zip(shown, known, strict=False)
    table(columns, [_line(found, arm, digits, _closest(problem, each)) for arm, each in lines])
    show_rows.by_row(problem, known)


def _closest(problem: Problem, known: KnownArm) -> list[str]:
    words, usual, holds = show_rows.closest_cells(problem, known, ".3f")
    row = known.closest
    proved = None if row is None else row.shown_certified
    return [words, usual, "–" if row is None or proved is None else row_limits(problem, row, proved), holds]


def _line(found: Evaluation, arm: ArmEvaluation, digits: str, fairness: Sequence[Styled]) -> list[Styled]:
    name = arm.name + (" (fitted)" if arm.fitted else "") + (" (learned from this log)" if arm.learned else "")
    return [
        (name, "bold") if arm.name == found.arm else name,
        *_cells(arm.outcome, digits),
        *fairness,
        f"{arm.fair_probability:.3f}",
        f"{arm.best_probability:.3f}",
        arm.support,
        f"{arm.effective_rows:,.0f}",
    ]


def _cells(estimate: Estimate, digits: str) -> list[str]:
    """The mean, the usual interval, the certified one."""
    low, high = estimate.certified_low, estimate.certified_high
    proved = "–" if low is None else between(low, high, digits)
    return [value(estimate.value, digits), between(estimate.low, estimate.high, digits), proved]


def _answer(found: Evaluation) -> None:
    say((answer_text(found), "yellow" if found.arm is None else "bold"))
    say(recommended_text(found))


def _side_by_side(found: Evaluation) -> None:
    """Ordinary estimators beside ours: outcomes, and the gap where that is all that is asked about."""
    if not found.side_by_side:
        return
    problem, one = found.problem, found.problem.has_one_gap
    shown = [line for line in found.side_by_side if line.arm in problem.arm_names[:MOST_ARMS]]
    digits = interval_digits(problem.outcome, [(line.outcome.low, line.outcome.high) for line in shown])
    gaps = [line.fairness[0] for line in shown]
    signed = interval_digits(problem.outcome, [(gap.low, gap.high) for gap in gaps], signed=True)
    percent = f"{100 * found.confidence:g} %"
    columns = [TableColumn("arm", "name"), TableColumn("estimator", "text"), *numbers("outcome", percent, "apart")]
    columns += numbers("gap", f"gap {percent}", "gap apart", group=1) if one else []
    lines: list[list[Styled]] = []
    for line, gap in zip(shown, gaps, strict=True):
        pairs = [(line.outcome, digits), *([(gap, signed)] if one else [])]
        cells = [
            cell for n, d in pairs for cell in (value(n.value, d), between(n.low, n.high, d), value(n.apart, ".1f"))
        ]
        lines.append([line.arm, line.estimator, *cells])
    table(columns, lines)
    say("Apart: how far an estimator is from ours, in standard errors of the difference; beyond 4 is no chance.")


def _hidden_cause(found: Evaluation) -> None:
    """Bounds with a cause that nobody recorded, and where claims tip."""
    made = found.hidden_cause
    if made is None:
        return
    say((f"With a hidden cause of at most {made.strength:g}", "bold"), f" ({100 * found.confidence:g} % intervals):")
    problem = found.problem
    digits = interval_digits(problem.outcome, [(arm.outcome.low, arm.outcome.high) for arm in made.arms])
    one = problem.has_one_gap
    gaps = [(row.low, row.high) for arm in made.arms for row in arm.fairness[:1]]
    signed = interval_digits(problem.outcome, gaps, signed=True)
    columns = [TableColumn("arm", "name"), *numbers("outcome", *(["gap"] if one else []), "P(fair) at least")]
    columns += [TableColumn("fairness", "text", 1), TableColumn("against the deployed arm", "text", 1)]
    lines: list[list[Styled]] = [
        [
            arm.name,
            between(arm.outcome.low, arm.outcome.high, digits),
            *([between(arm.fairness[0].low, arm.fairness[0].high, signed)] if one else []),
            f"{arm.fair_probability:.3f}",
            doubt.fairness_words(arm),
            doubt.better_words(arm),
        ]
        for arm in made.arms[:MOST_ARMS]
    ]
    table(columns, lines)
    for text in (doubt.hidden_text(found, made), doubt.columns_text(made), doubt.hidden_assumption(found)):
        say(text)


def _next(found: Evaluation) -> None:
    if settled := left_to_learn(found):
        say(settled)
    elif found.next_pulls:
        lines = ", ".join(f"{n.arm} [{n.regime}] {n.share:.0%}" for n in found.next_pulls[:6])
        say(f"To learn most, pull next: {lines}.")
