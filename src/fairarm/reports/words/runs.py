"""The answer of a run: what it took, what is proved, how sure it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fairarm.algorithms import ArmReason, ArmReport, BestMixture, Verdict
from fairarm.algorithms.notes import Note, RunNote
from fairarm.problem.mechanism import NO_FAIR_ARM
from fairarm.problem.outcome import Outcome
from fairarm.reports.known import reported_arm
from fairarm.reports.words.numbers import Marked, between, count, interval_digits, names, value
from fairarm.reports.words.rows import row_text

if TYPE_CHECKING:
    from fairarm.beliefs.beliefs import Smoothness
    from fairarm.experiments.identify import Identification, PhaseStory

ESTIMATED = {"cell means": "Estimated from cell means", "doubly robust": "Estimated by doubly robust regression"}


def answer_of(verdict: Verdict, pulls: int, cost: float) -> tuple[str | Marked, ...]:
    """The answer of a run and what it took, with the answer marked."""
    spent = f", after {count(pulls, 'pull')} at a cost of {cost:.6g}."
    if verdict.arm is not None:
        return Marked(verdict.arm), f" is the best fair arm found{spent}"
    if verdict.status == "NO_FAIR_ARM":
        return Marked("no fair arm found"), spent
    named = {"FOUND": verdict.recommended, "NO_FAIR_ARM": NO_FAIR_ARM}.get(verdict.recommended_status)
    return Marked("undecided"), f"{spent} {verdict.reason_text} Recommended: {named or 'nothing'}."


def guarantee_of(verdict: Verdict, log_rows: int = 0) -> str | None:
    """What is proved, or what the run stopped by; None where it is neither."""
    if verdict.probability is None:
        return None
    decided, confidence = verdict.status != "UNDECIDED", verdict.confidence
    if verdict.guarantee == "certified":
        if any(finding.blocks_certification for finding in verdict.findings):
            return "Nothing is certified: what was declared has been seen to be wrong."
        if decided:
            return f"Certified: {proved(confidence, log_rows)}"
        return _proved_so_far(verdict, confidence)
    if verdict.guarantee == "bayes-stop" and decided:
        return f"Bayes-stop: stopped when the posterior probability reached {confidence:g} (calibrated by simulation, not proved)."
    return None


def _proved_so_far(verdict: Verdict, confidence: float) -> str:
    """What is proved of single arms where it is not proved which is best."""
    fair, unfair = ([arm.name for arm in verdict.arms if arm.certified == label] for label in ("fair", "unfair"))
    out = [arm.name for arm in verdict.arms if arm.certified in ("worse", "unfair or worse")]
    return (
        f"The best arm is not certified at confidence {confidence:g}; certified fair: {names(fair)}; certified unfair: "
        f"{names(unfair)}" + (f"; certified not to be the best fair arm: {names(out)}." if out else ".")
    )


def run_note(note: Note) -> str:
    """What else happened to a run."""
    return NOTES[note.code].format(rows=count(note.rows, "row"), state=note.state)


NOTES = {
    RunNote.LOG_WORST: "{rows} of the log lack their outcome; what is certified counts each as it would hurt most. Probabilities take it that they are missing at random given the cell.",
    RunNote.LOG_BLOCKS: "'{state}', found in the log, blocks the answer ({rows}).",
    RunNote.LOST_WORST: "{rows} never came; each counts as it would hurt the answer most, so that it holds however they got lost.",
    RunNote.LOST_AT_RANDOM: "{rows} never came. What is certified holds if they were lost at random, whatever their outcome.",
    RunNote.LOST_AS_STATE: "{rows} never came, which was said to mean the outcome '{state}'.",
}


def proved(confidence: float, log_rows: int = 0) -> str:
    """What a certified run promises; with the rows of a log, on what condition, and for how many looks at it."""
    condition = f", if it holds of the log's {count(log_rows, 'row')} too" if log_rows else ""
    text = f"wrong with probability at most {1 - confidence:.3g}, whatever the truth, given the declared law{condition} (proved)."
    return f"{text} It holds for one look at this log." if log_rows else text


def law_text(verdict: Verdict) -> str | None:
    """How far the rows have tested the declared law that a proof rests on; None where nothing is proved."""
    if (
        verdict.guarantee != "certified"
        or verdict.probability is None
        or any(f.blocks_certification for f in verdict.findings)
    ):
        return None
    errors = {arm.name: arm.law_error for arm in verdict.arms}
    shown = {name: error for name, error in errors.items() if error is not None}
    if not shown:
        return "The rows are too few to have shown an error in the declared law, however large."
    would = f"a decision's probability that is wrong by more than {_sizes(verdict.arm, shown)} would have shown by now"
    blind = [name for name in errors if name not in shown]
    return f"The declared law was tested: {would}" + (
        f"; of {_these(verdict.arm, blind)} no error would." if blind else "."
    )


def _sizes(own: str | None, shown: dict[str, float]) -> str:
    """The errors of the arm found, then of all others."""
    others = [error for name, error in shown.items() if name != own]
    said = [f"±{shown[own]:.2f} (of {own})"] if own in shown else []
    if others:
        low, high = f"±{min(others):.2f}", f"±{max(others):.2f}"
        of = count(len(others), "other arm" if said else "arm")
        said.append(f"{low if low == high else f'{low} to {high}'} (of {of})")
    return ", or ".join(said)


def _these(own: str | None, arms: list[str]) -> str:
    """The arm found by its name, others by their number."""
    if own not in arms:
        return count(len(arms), "other arm")
    return f"{own} itself" + (f" and {count(len(arms) - 1, 'other arm')}" if len(arms) > 1 else "")


def sureness(verdict: Verdict) -> Iterator[str]:
    """How sure the answer is by the posterior."""
    if verdict.probability is None:
        return
    next_probability = verdict.runner_up_probability or 0.0
    yield posterior(verdict.leader or "", verdict.probability, verdict.runner_up or "", next_probability)
    yield f"{ESTIMATED[verdict.method or '']}; fair, best: probabilities; rows: effective sample size."


def smooth_text(smooth: Smoothness | None) -> str | None:
    """Whether outcomes follow the order of the ordered columns, by the rows; None where no column is ordered."""
    if smooth is None:
        return None
    weight = float(smooth.weight[0])
    along = f"smooth along {', '.join(map(repr, smooth.columns))} (weight {weight:.2f})"
    if weight >= 0.8:
        return f"Outcomes are taken as {along}. The rows speak for it."
    if weight <= 0.2:
        return f"Outcomes are hardly taken as {along}. The rows speak against it, so every level stands for itself."
    return f"Outcomes are partly taken as {along}. The rows leave it open."


def posterior(leader: str, probability: float, runner_up: str, next_probability: float) -> str:
    """How probable the answer is, and what comes next; "passed over" where that is more probable."""
    word = "passed over" if next_probability > probability else "next"
    return f"Posterior probability of {leader}: {probability:.3f}; {word}, {runner_up}: {next_probability:.3f}."


def closest_text(verdict: Verdict, arm: ArmReport) -> str | None:
    """The row of an arm that is least likely to hold, in words; None where nothing is known of any."""
    found = reported_arm(verdict.problem, arm).closest
    return None if found is None else row_text(verdict.problem, found)


ABOUT_FAIRNESS = (ArmReason.UNFAIR, ArmReason.UNFAIR_PROVED, ArmReason.UNLIKELY_FAIR)


def arm_reason(verdict: Verdict, arm: ArmReport, row: bool = True) -> str:
    """Why an arm is the answer or not. Where more is asked about than one gap, an unfair arm's reason ends with the row that comes
    closest to being the cause, unless ``row`` is False."""
    reason = _arm_reason(verdict, arm)
    if verdict.problem.has_one_gap or not row or arm.reason not in ABOUT_FAIRNESS:
        return reason
    cause = closest_text(verdict, arm) or "nothing is known of what is asked"
    return f"{reason}: {cause}" if arm.reason == ArmReason.UNFAIR else f"{reason}; likeliest cause: {cause}"


def _arm_reason(verdict: Verdict, arm: ArmReport) -> str:
    fair, best = arm.fair_probability or 0.0, arm.best_probability
    toward = f"unfair toward {arm.unfair_toward}" if arm.unfair_toward else "unfair"
    match arm.reason:
        case ArmReason.FOUND | ArmReason.RECOMMENDED:
            tested = "best of the fair arms" if verdict.fairness_tested else "best of all; fairness was not tested"
            return f"{arm.reason}: {tested}"
        case ArmReason.UNFAIR if not verdict.problem.has_one_gap:
            return "unfair by its estimates"
        case ArmReason.UNFAIR:
            largest = max(abs(gap) for gap in arm.gaps.values() if gap is not None)
            return f"unfair: gap {largest:.4g} > {verdict.problem.gap_tolerance:.4g}"
        case ArmReason.WORSE:
            return f"worse than {'a fair' if verdict.fairness_tested else 'another'} arm"
        case ArmReason.STILL_RUNNING:
            chance = "" if best is None else f": the best fair arm with probability {best:.2g}"
            return f"still in the running{chance}"
        case ArmReason.UNFAIR_PROVED:
            return f"{toward} (proved)"
        case ArmReason.UNLIKELY_FAIR:
            return f"{toward}: fair with probability {fair:.2g}"
        case ArmReason.UNLIKELY_BEST:
            return f"worse than the arm found: the best fair arm with probability {best or 0.0:.2g}"
        case ArmReason.NOT_KNOWN:
            return f"not known well enough: fair with probability {fair:.2g}, best with {best or 0.0:.2g}"
        case _:
            return PLAIN_REASONS[arm.reason]


PLAIN_REASONS = {
    ArmReason.WORSE_PROVED: "worse than the arm found (proved)",
    ArmReason.UNFAIR_OR_WORSE_PROVED: "unfair or worse than the arm found (proved)",
    ArmReason.NO_USABLE_PULL: "not known well enough: no usable pull",
    ArmReason.LOWER_ESTIMATE: "a lower estimate than the arm found",
    ArmReason.NOT_SHOWN_FAIR: "not shown to be fair",
}
"""Those that need no number."""


@dataclass(frozen=True)
class Remark:
    """A line below the answer of a run, and how it is meant."""

    text: str
    tone: Literal["plain", "warn", "good", "bad"] = "plain"


def closing(found: Identification) -> Iterator[Remark]:
    """What is left to say of a run: that fairness was not tested, that it is undecided, or whether it is the truth."""
    verdict = found.verdict
    if not verdict.fairness_tested:
        yield Remark("This algorithm does not test fairness: the arm may be unfair.", "warn")
    for finding in verdict.findings:
        where = f" Most of it is in: {'; '.join(finding.examples)}." if finding.examples else ""
        yield Remark(f"{finding.name}: {finding.message}{where}", "bad")
    for note in verdict.notes:
        yield Remark(run_note(note), "warn")
    if verdict.reason in ("fairness-open", "arms-too-close", "not-proved"):
        yield Remark("Give more pulls.")
    if found.correct is not None:
        yield Remark(
            f"What is recommended is {'' if found.correct else 'not '}the truth in this world.",
            "good" if found.correct else "bad",
        )


def after_phase(story: PhaseStory, arms: int) -> str:
    """What was known after a phase, of so many arms."""
    if story.probability is not None:
        return f"most likely: {story.leader or ''}, probability {story.probability:.2f}"
    return (
        f"{len(story.left)} of {arms} arms left, {len(story.fair)} shown fair"
        + (f", leader {story.leader}" if story.leader else "")
        + (f"; rejected {names(story.rejected)}" if story.rejected else "")
    )


def started_from(found: Identification) -> str | None:
    """The log that a run started from; None where there was none."""
    if not found.log_rows:
        return None
    return f"The run started from {count(found.log_rows, 'row')} of a log; they count neither as pulls nor as cost."


def mixture_text(found: BestMixture, outcome: Outcome | None = None) -> str:
    """The best mixture of arms; ``outcome`` says in how many digits."""
    if found.best is None:
        return f"No arm, and no mixture of arms, was found that is fair with probability {found.fair_probability:g}."
    digits = interval_digits(outcome, [found.best.outcome_interval])
    *others, last = (f"{share:.0%} {name}" for name, share in found.best.shares.items())
    parts = " and ".join([*filter(None, [", ".join(others)]), last])
    text = (
        f"Best mixture that is fair with probability {found.fair_probability:g}: {parts}, outcome "
        f"{value(found.best.outcome, digits)} ({between(*found.best.outcome_interval, digits)})"
    )
    if found.single is not None:
        single = next(iter(found.single.shares))
        text += f"; best single arm under the same rule: {single}, {value(found.single.outcome, digits)}"
    if found.margin_cost is None:
        return f"{text}."
    return f"{text}. Being so sure of fairness costs {value(found.margin_cost, digits)}."
