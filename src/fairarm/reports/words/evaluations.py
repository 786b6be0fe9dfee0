"""The answer of a log: which arm, what is proved, what is left to learn, and how it was read."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fairarm.core.fairness import interval_fairness
from fairarm.core.statistics import RESOLVED
from fairarm.experiments.pairs import compared_profiles
from fairarm.problem.mechanism import NO_FAIR_ARM
from fairarm.problem.pair import pair_of
from fairarm.problem.worlds import group_name
from fairarm.reports.words.numbers import count, interval_digits, limits, names, percent, unit_of, value
from fairarm.reports.words.statements import sentence

if TYPE_CHECKING:
    from fairarm.experiments.evaluate import ArmEvaluation, Evaluation

SETTLED = 0.999
"""With this probability of the answer nothing is left to learn about which arm it is."""
METHODS = {
    "cell means": "Every row informs every arm through the mean outcome of its cell.",
    "doubly robust": "Rows were weighted to each arm, with a regression for what weights leave open.",
    "weighted mean": "Rows were weighted to each arm.",
}
"""How a log was read."""
ADJUSTED = {
    "cell means": "from the mean outcomes of all rows alike in what the outcome depends on",
    "doubly robust": "from rows weighted by what it would decide, and a regression",
    "weighted mean": "from rows weighted by what it would decide",
}
"""How an arm's gap was made from the rows."""


def answer_text(found: Evaluation) -> str:
    """The status of a log in a sentence, and why there is no answer."""
    sure = f"with probability {found.confidence:g} or more"
    if found.arm is not None:
        better = f"by more than {found.margin:.2g}" if found.margin else "at all"
        return f"{found.arm} is the best fair arm: {sure} it is fair, and no fair arm is better {better}."
    return f"No arm is fair, {sure}." if found.status == "NO_FAIR_ARM" else f"Undecided. {found.reason_text}"


def recommended_text(found: Evaluation) -> str:
    """What is recommended, how probable that is, and what comes next."""
    following = f"; next {found.runner_up}, {found.runner_up_probability:.3f}"
    if found.recommended_probability is None:
        return f"No arm is recommended (probability of no fair arm {found.none_probability:.3f}{following})."
    return (
        f"Recommended: {found.recommended or NO_FAIR_ARM} (probability {found.recommended_probability:.3f}{following})."
    )


def certified_text(found: Evaluation) -> str:
    """What is proved from a log, and on what condition."""
    if found.not_certified and found.certified_by is None and found.certified_status == "UNDECIDED":
        return f"Nothing is certified: {'; '.join(map(sentence, found.not_certified))}."
    condition = f"wrong with probability at most {1 - found.confidence:.3g} if what it rests on (below) holds."
    if found.certified_arm is not None:
        return f"Certified: {found.certified_arm} is the best fair arm, {condition}"
    if found.certified_status == "NO_FAIR_ARM":
        return f"Certified: no arm is fair, {condition}"
    return f"Not certified at confidence {found.confidence:g} which arm is best: more than one answer is left."


def looks_text(found: Evaluation) -> str | None:
    """For how many looks at the log what is certified holds; None where nothing can be certified."""
    by_time, look = found.evidence.by_time, found.look
    if found.certified_by is None and (by_time is None or found.certified_status == "UNDECIDED"):
        return None
    if look is not None and look.changed:
        return (
            "What earlier looks rested on has changed, rows of their batches or what is declared: the answer starts anew. What is "
            "certified holds for one look at this log."
        )
    if by_time is None:
        return "What is certified holds for one look at this log."
    batches = f"batches by time: {by_time.settled}, with {count(by_time.rows, 'row')} up to {by_time.until}"
    charged = f", {count(by_time.missing, 'missing outcome')} charged with the worst" if by_time.missing else ""
    nth = "" if look is None else f" This is look {look.number}."
    return (
        f"The certified answer holds however often you look at this log as it grows ({batches}{charged}); certified intervals hold for "
        f"one look.{nth}"
    )


def certified_labels(found: Evaluation) -> str | None:
    """Which arms are proved fair or unfair, and toward whom; None where nothing can be certified."""
    if found.certified_by is None:
        return None
    fair = [arm.name for arm in found.arms if arm.certified_fair]
    unfair = [arm.name + _toward(found, arm) for arm in found.arms if arm.certified_fair is False]
    return f"Certified fair: {names(fair)}. Certified unfair: {names(unfair)}."


def _toward(found: Evaluation, arm: ArmEvaluation) -> str:
    """The group whose outcome is proved to be the lower one: the whole certified interval lies beyond one end. Where more is asked
    about than one gap it is not certified which row is broken."""
    low, high = (None, None) if arm.gap is None else (arm.gap.certified_low, arm.gap.certified_high)
    if low is None or high is None:
        return ""
    _, above, below = interval_fairness(np.array(low), np.array(high), found.problem.gap_tolerance)
    first, second = pair_of(found.problem)
    return f" (toward {second})" if above else f" (toward {first})" if below else ""


def left_to_learn(found: Evaluation) -> str | None:
    """What more rows could still tell, by the posterior and for a proof; None where the answer itself is open."""
    if found.certified_status != "UNDECIDED" and found.certified_arm == found.arm:
        return "Nothing is left to learn about which arm is best: it is certified."
    if found.status == "UNDECIDED" or ((found.recommended_probability or 0.0) < SETTLED and found.next_pulls):
        return None
    settled = "By the posterior, nothing is left to learn about which arm is best."
    if found.certified_by is None:
        return f"{settled} For a certified answer, more rows are not enough: what stands against it (above) must be put right."
    return f"{settled} A certified answer needs more rows, as its intervals hold whatever the truth and are wider."


def plain_gap_text(found: Evaluation) -> str | None:
    """The log as it is, its plain gap with an interval, of several the largest; None where a group has no natural rows."""
    if not found.problem.has_one_gap:
        return _plain_gaps_text(found)
    if found.plain_gap is None:
        return None
    first, second = found.observed
    outcome, ends = found.problem.outcome, found.plain_gap_interval
    digits, signed = interval_digits(outcome, [ends]), interval_digits(outcome, [ends], signed=True)
    means = ", ".join(f"{g.group} {value(g.mean, digits)} ({count(g.rows, 'row')})" for g in (first, second))
    interval = (
        f"{percent(found.confidence)} interval {limits(ends, signed)}" if ends is not None else _no_interval(found)
    )
    return f"In the log as it is: {means}. Plain gap {first.group} - {second.group}: {value(found.plain_gap, signed)} ({interval})."


def _plain_gaps_text(found: Evaluation) -> str:
    problem = found.problem
    known = {pair: gap for pair, gap in found.plain_gaps.items() if gap.value is not None and gap.value > 0}
    ends = [gap.interval for gap in known.values()]
    digits = interval_digits(problem.outcome, ends)
    means = ", ".join(f"{g.group} {value(g.mean, digits)} ({count(g.rows, 'row')})" for g in found.observed)
    text = f"In the log as it is: {means}."
    if not known:
        return text
    pair, gap = max(known.items(), key=lambda item: item[1].value or 0.0)
    t, u = (group_name(problem.attributes, profile) for profile in compared_profiles(problem)[pair][:2])
    sure = (
        "no interval"
        if gap.interval is None
        else f"{percent(found.confidence)} interval {limits(gap.interval, digits)}"
    )
    of = f" of {len(found.plain_gaps) // 2}" if len(found.plain_gaps) > 2 else ""
    return f"{text} Largest plain gap{of}: {t} - {u} {value(gap.value, digits)} ({sure})."


def _no_interval(found: Evaluation) -> str:
    if min(group.rows for group in found.observed) < 2:
        return "no interval: a group has fewer than two rows"
    least = math.sqrt(RESOLVED) * found.problem.outcome.width
    return (
        f"its interval is not known: {unit_of(found.problem.outcome)} varies by less than about {least:.2g}, if at all, which is "
        f"too little to measure in so wide a range. Declare a narrower one"
    )


def why_gaps_differ(found: Evaluation) -> str:
    """Why the plain gap is no arm's gap."""
    if not found.problem.has_one_gap:
        besides = (
            ""
            if found.problem.plain
            else " A plain gap also holds what people of two groups differ by anyway, whoever decides."
        )
        return (
            f"This is what {_makers(found)} did in these rows, chance included. An arm's numbers are what to expect if that arm "
            f"decided for everybody, {ADJUSTED[found.method]}; so the two differ, also for an arm that made the rows.{besides}"
        )
    return (
        f"The plain gap is what {_makers(found)} did in these rows, chance included. An arm's gap is what to expect if that arm "
        f"decided for everybody, {ADJUSTED[found.method]}; so the two differ, also for an arm that made the rows."
    )


def _makers(found: Evaluation) -> str:
    made = [arm.name for arm in found.arms if arm.rows]
    if not made:
        return "the rule that made the log, which need not be an arm,"
    if len(made) > 1:
        return f"the {len(made)} arms that made the log together ({names(made, 4)})"
    return (
        f"the deployed arm, {made[0]},"
        if made[0] == found.problem.deployed
        else f"the arm that made the log, {made[0]},"
    )
