"""An evaluation on a terminal."""

from __future__ import annotations

from fairarm.cli.show import MOST_ARMS, more_arms
from fairarm.cli.terminal import Column, Styled, numbers, say, table
from fairarm.experiments.evaluate import NONE, ArmEvaluation, Estimate, Evaluation
from fairarm.reports.words import METHODS, SETTLED, between, interval_digits, no_arm, not_named, value


def evaluation(found: Evaluation) -> None:
    say(
        (found.problem.name, "bold"),
        f": {found.used:,} of {found.rows:,} rows of {found.log} used. {METHODS[found.method]}",
    )
    _findings(found)
    _arms(found)
    _answer(found)
    _certified(found)
    _plain_gap(found)
    _next(found)
    for note in found.fitted:
        say(note.text)
    say("It rests on:")
    for line in found.assumptions:
        say(f"  - {line}", hang=4)


def _findings(found: Evaluation) -> None:
    for finding in found.findings:
        mark: Styled = ("voids certification", "bold red") if finding.voids else "noted"
        shown = f" Examples: {'; '.join(finding.examples)}." if any(finding.examples) else ""
        say(mark, "  ", (finding.name, "bold"), f": {finding.message}{shown}")


def _arms(found: Evaluation) -> None:
    percent = f"{100 * found.confidence:g} %"
    columns = [
        Column("arm", "name"),
        *numbers("outcome", f"usual {percent}", f"certified {percent}"),
        *numbers("gap", f"usual gap {percent}", f"certified gap {percent}", group=1),
        *numbers("P(fair)", "P(best)", "log speaks", "effective rows", group=2),
    ]
    shown = sorted(found.arms, key=lambda arm: (-arm.best_probability, -arm.fair_probability, -arm.outcome.value))
    outcome = found.problem.outcome
    digits = interval_digits(outcome, [(arm.outcome.low, arm.outcome.high) for arm in shown])
    signed = interval_digits(outcome, [(arm.gap.low, arm.gap.high) for arm in shown], signed=True)
    table(columns, [_line(found, arm, digits, signed) for arm in shown[:MOST_ARMS]])
    more_arms(len(shown))


def _line(found: Evaluation, arm: ArmEvaluation, digits: str, signed: str) -> list[Styled]:
    name = arm.name + (" (fitted)" if arm.fitted else "")
    return [
        (name, "bold") if arm.name == found.arm else name,
        *_cells(arm.outcome, digits),
        *_cells(arm.gap, signed),
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
    second = "no fair arm" if found.runner_up == NONE else found.runner_up
    chance = f"(probability {found.probability:.3f}; next {second}, {found.runner_up_probability:.3f})"
    if found.arm is None:
        say(f"{no_arm(found)} {chance}.")
    else:
        say("Best fair arm so far: ", (found.arm, "bold"), f" {chance}.")
    if why := not_named(found):
        say(why)


def _certified(found: Evaluation) -> None:
    if found.not_certified and found.certified_by is None:
        say(f"Not certified: {'; '.join(found.not_certified)}.")
    elif found.certified_arm is not None:
        say(
            "Certified: ",
            (found.certified_arm, "bold"),
            f" is the best fair arm, wrong with probability at most {1 - found.confidence:.3g} if what it rests on (below) holds.",
        )
    elif found.certified_status == "NO_FAIR_ARM":
        say(
            f"Certified: no arm is fair, wrong with probability at most {1 - found.confidence:.3g} if what it rests on (below) holds."
        )
    else:
        fair = [arm.name for arm in found.arms if arm.certified_fair]
        unfair = [arm.name for arm in found.arms if arm.certified_fair is False]
        say(
            f"Not certified yet which arm is best. Certified fair: {', '.join(fair) or 'none'}; unfair: {', '.join(unfair) or 'none'}."
        )


def _plain_gap(found: Evaluation) -> None:
    if found.plain_gap is None:
        return
    first, second = found.observed
    say(
        f"In the log as it is: {first.group} {value(first.mean)} ({first.rows:,} rows), {second.group} {value(second.mean)} "
        f"({second.rows:,} rows), plain gap {value(found.plain_gap)}."
    )


def _next(found: Evaluation) -> None:
    if found.probability >= SETTLED:
        say("Nothing is left to learn about which arm it is.")
    elif found.next_pulls:
        lines = ", ".join(f"{n.arm} [{n.regime}] {n.share:.0%}" for n in found.next_pulls[:6])
        say(f"To learn most, pull next: {lines}.")
