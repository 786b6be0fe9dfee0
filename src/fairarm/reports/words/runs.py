"""The answer of a run: what it took, what is proved, how sure it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from fairarm.algorithms import ArmReason, ArmReport, BestMixture, Verdict
from fairarm.algorithms.notes import Note, RunNote
from fairarm.experiments import Identification
from fairarm.experiments.identify import PhaseStory
from fairarm.problem.outcome import Outcome
from fairarm.reports.words.numbers import Marked, between, count, interval_digits, names, value

ESTIMATED = {"cell means": "Estimated from cell means", "doubly robust": "Estimated by doubly robust regression"}


def answer_of(verdict: Verdict, pulls: int, cost: float) -> tuple[str | Marked, ...]:
    """The answer of a run and what it took, with the answer marked."""
    spent = f", after {count(pulls, 'pull')} at a cost of {cost:.6g}."
    if verdict.arm is not None:
        return Marked(verdict.arm), f" is the best {'fair ' if verdict.fairness_tested else ''}arm found{spent}"
    return Marked("no fair arm found" if verdict.status == "NO_FAIR_ARM" else "undecided"), spent


def guarantee_of(verdict: Verdict, log_rows: int = 0) -> str | None:
    """What is proved, or what the run stopped by; None where it is neither."""
    if verdict.probability is None:
        return None
    decided, confidence = verdict.status != "UNDECIDED", verdict.confidence or 0.0
    if verdict.guarantee == "certified":
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
    RunNote.NEW_BELIEFS: "The run was saved by an earlier version and went on with the beliefs of this one.",
    RunNote.NEW_ACCOUNTS: (
        "It was saved by an earlier version, which proved answers in another way: the proof of the answer started anew, what was "
        "proved of single arms stays."
    ),
    RunNote.LOST_WORST: "{rows} never came; each counts as it would hurt the answer most, so that it holds however they got lost.",
    RunNote.LOST_AT_RANDOM: "{rows} never came. What is certified holds if they were lost at random, whatever their outcome.",
    RunNote.LOST_AS_STATE: "{rows} never came, which was said to mean the outcome '{state}'.",
}


def proved(confidence: float, log_rows: int = 0) -> str:
    """What a certified run promises; with the rows of a log, on what condition."""
    condition = f", if what was declared holds of the log's {count(log_rows, 'row')}" if log_rows else ""
    return f"wrong with probability at most {1 - confidence:.3g}, whatever the truth{condition} (proved)."


def sureness(verdict: Verdict) -> Iterator[str]:
    """How sure the answer is by the posterior."""
    if verdict.probability is None:
        return
    next_probability = verdict.runner_up_probability or 0.0
    yield posterior(verdict.leader or "", verdict.probability, verdict.runner_up or "", next_probability)
    yield f"{ESTIMATED[verdict.method or '']}; fair, best: probabilities; rows: effective sample size."


def posterior(leader: str, probability: float, runner_up: str, next_probability: float) -> str:
    """How probable the answer is, and what comes next; "passed over" where that is more probable."""
    word = "passed over" if next_probability > probability else "next"
    return f"Posterior probability of {leader}: {probability:.3f}; {word}, {runner_up}: {next_probability:.3f}."


def not_most_probable(found: Verdict) -> str | None:
    """Why an arm that is likelier than the answer is not the answer; None where there is none, or no answer."""
    likelier = (found.runner_up_probability or 0.0) > (found.probability or 0.0)
    if not likelier or found.status == "UNDECIDED":
        return None
    if not found.gated:
        return (
            f"By the posterior {found.runner_up} is more likely than what is proved (probability "
            f"{found.runner_up_probability or 0.0:.3f}): the answer goes by the proof."
        )
    other = next(arm for arm in found.arms if arm.name == found.runner_up)
    gate = found.min_fair_probability or 0.0
    return passed_over(other.name, other.best_probability or 0.0, other.fair_probability or 0.0, gate)


def passed_over(name: str, probability: float, fair_probability: float, gate: float) -> str:
    """Why an arm that is likelier than the answer is not the answer."""
    return (
        f"Not the most probable answer: {name} is more likely to be the best fair arm (probability {probability:.3f}), "
        f"{below_gate(fair_probability, gate)}."
    )


def below_gate(fair_probability: float, gate: float) -> str:
    """Why a more probable arm was not named."""
    return (
        f"but it is fair only with probability {fair_probability:.3f}, and an arm is named only from {gate:g} on "
        f"(--min-fair-probability)"
    )


def arm_reason(verdict: Verdict, arm: ArmReport) -> str:
    """Why an arm is the answer or not."""
    fair, best = arm.fair_probability or 0.0, arm.best_probability
    toward = f"unfair toward {arm.unfair_toward}" if arm.unfair_toward else "unfair"
    match arm.reason:
        case ArmReason.FOUND:
            tested = verdict.fairness_tested
            return "found: best of the fair arms" if tested else "found: best of all; fairness was not tested"
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
    for note in verdict.notes:
        yield Remark(run_note(note), "warn")
    if verdict.status == "UNDECIDED":
        more = "Not sure enough" if verdict.confidence is not None else "There is no usable estimate"
        yield Remark(f"{more}. Give more pulls.")
    elif found.correct is not None:
        yield Remark(
            f"That is {'' if found.correct else 'not '}the truth in this world.", "good" if found.correct else "bad"
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
    """The best mixture of two arms; ``outcome`` says in how many digits."""
    if found.best is None:
        return f"No mixture of two arms is fair with probability {found.fair_probability:g}."
    digits = interval_digits(outcome, [found.best.outcome_interval])
    parts = " and ".join(f"{share:.0%} {name}" for name, share in found.best.shares.items())
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
