"""Numbers, names and sentences in plain words, as the terminal has them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from fairarm.algorithms import BestMixture, Verdict
from fairarm.core.limit.fewest_pulls import Limit
from fairarm.core.statistics import RESOLVED
from fairarm.experiments import Evaluation, Identification, Inspection
from fairarm.experiments.evaluate import ArmEvaluation
from fairarm.problem.outcome import Outcome
from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Pulls

LARGE = 1000.0
MOST_DECIMALS = 10
"""Numbers that need more are written with a power of ten."""
UNKNOWN = "?"
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
ESTIMATED = {"cell means": "Estimated from cell means", "doubly robust": "Estimated by doubly robust regression"}

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


# ---- numbers and names ----


def value(x: float | None, digits: str = ".4f") -> str:
    """0.5076, 12345.7, ? where it is not known, inf."""
    if x is None or math.isnan(x):
        return UNKNOWN
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    return format(x, digits.replace(".4f", ".6g") if digits in (".4f", "+.4f") and abs(x) >= LARGE else digits)


def digits_of(outcome: Outcome | None, lengths: Iterable[float | None] = (), signed: bool = False) -> str:
    """How `value` writes a column of numbers in the outcome's units: the same decimals for all its rows.

    They tell apart a ten-thousandth of the outcome's range, and two digits of the median of ``lengths``, the widths of the
    intervals or whatever else must be told from 0: 0.5076 for a share, 48,214 for money up to 100,000, 0.00431 for a rate
    known to 0.0002.
    """
    known = [x for x in lengths if x is not None and math.isfinite(x) and x > 0]
    steps = [*([1e-4 * outcome.width] if outcome else []), *([0.1 * median(known)] if known else [])]
    decimals = max(0, -math.floor(math.log10(min(steps, default=1e-4)) + 1e-9))
    shape = f"z,.{decimals}f" if decimals <= MOST_DECIMALS else ".6g"
    return f"+{shape}" if signed else shape


def interval_digits(
    outcome: Outcome | None, intervals: Iterable[tuple[float, float] | None], signed: bool = False
) -> str:
    """`digits_of` a column of numbers with these intervals."""
    return digits_of(outcome, [None if ends is None else ends[1] - ends[0] for ends in intervals], signed)


def unit_of(outcome: Outcome) -> str:
    """What the numbers of an outcome are: click (from 0 to 1)."""
    return f"{outcome.node} (from {value(outcome.low, ',.10g')} to {value(outcome.high, ',.10g')})"


def gap_unit_of(problem: Problem) -> str:
    """What a gap is: gap woman - man, in click (from 0 to 1)."""
    return f"gap {' - '.join(pair_of(problem))}, in {unit_of(problem.outcome)}"


def between(low: float | None, high: float | None, digits: str = ".4f") -> str:
    return f"{value(low, digits)} to {value(high, digits)}"


def limits(ends: tuple[float, float] | None, digits: str = ".4f") -> str:
    low, high = ends or (None, None)
    return between(low, high, digits)


def whole(number: float) -> str:
    """12,345."""
    return f"{number:,.0f}" if math.isfinite(number) else value(number)


def weight(number: float) -> str:
    """2.51, 810, 12,345."""
    return value(number, ".3g") if not number >= LARGE else whole(number)


def percent(share: float) -> str:
    """95 %, 97.5 %."""
    return f"{100 * share:.4g} %"


def names(given: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(given[:most])
    return (shown or "none") + (f" and {len(given) - most} more" if len(given) > most else "")


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def plan_text(plan: Sequence[Pulls], most: int = 4) -> str:
    largest = sorted(plan, key=lambda p: -p.count)
    shown = ", ".join(f"{p.count} x {p.arm} ({p.regime})" for p in largest[:most])
    return shown + (f" and {count(len(plan) - most, 'other unit')}" if len(plan) > most else "") if plan else "nothing"


def pulls_text(T: int) -> str:
    """1 000, 31 623, 10⁸, 3.3·10¹⁴."""
    if T < 10**6:
        return f"{T:,}".replace(",", " ")
    lead, _, power = f"{T:.1e}".partition("e+")
    raised = "10" + str(int(power)).translate(_RAISED)
    return raised if float(lead) == 1 else f"{lead}·{raised}"


# ---- sentences ----


@dataclass(frozen=True)
class Marked:
    """A part of a sentence that stands out where there are styles."""

    text: str


def unmarked(parts: Iterable[str | Marked]) -> str:
    """A sentence where there are no styles."""
    return "".join(part.text if isinstance(part, Marked) else part for part in parts)


def question(problem: Problem) -> tuple[str | Marked, ...]:
    """What a problem asks, with its three nodes marked."""
    s, other = pair_of(problem)
    beside = wide_tolerance(problem)
    return (
        "Choose how ", Marked(problem.decision), " is decided so that ", Marked(problem.outcome.node),
        " is highest, while changing ", Marked(problem.sensitive),
        f" ({s}, {other}) changes it by less than {problem.gap_tolerance:.6g}.{f' {beside}' if beside else ''}",
    )  # fmt: skip


def wide_tolerance(problem: Problem) -> str | None:
    """What a tolerance means that no gap can exceed; None where some gap can."""
    tolerance, width = problem.gap_tolerance, problem.outcome.width
    if tolerance < width:
        return None
    but = "" if tolerance > width else ", but for one whose groups lie at the two ends of it"
    return (
        f"The tolerance {tolerance:.6g} is not smaller than the outcome's range {width:.6g}: every arm is fair by "
        f"definition{but}."
    )


def proved(confidence: float, log_rows: int = 0) -> str:
    """What a certified run promises; with the rows of a log, on what condition."""
    condition = f", if what was declared holds of the log's {count(log_rows, 'row')}" if log_rows else ""
    return f"wrong with probability at most {1 - confidence:.3g}, whatever the truth{condition} (proved)."


def posterior(leader: str, probability: float, runner_up: str, next_probability: float) -> str:
    word = "passed over" if next_probability > probability else "next"
    return f"Posterior probability of {leader}: {probability:.3f}; {word}, {runner_up}: {next_probability:.3f}."


def passed_over(name: str, probability: float, fair_probability: float, gate: float) -> str:
    """Why an arm that is likelier than the answer is not the answer."""
    return (
        f"Not the most probable answer: {name} is more likely to be the best fair arm (probability {probability:.3f}), "
        f"{_below(fair_probability, gate)}."
    )


def _below(fair_probability: float, gate: float) -> str:
    return (
        f"but it is fair only with probability {fair_probability:.3f}, and an arm is named only from {gate:g} on "
        f"(--min-fair-probability)"
    )


def not_most_probable(found: Evaluation | Verdict) -> str | None:
    """Why an arm that is likelier than the answer is not the answer; None where there is none, or no answer."""
    if isinstance(found, Evaluation):
        return _not_named(found)
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


def _not_named(found: Evaluation) -> str | None:
    unheard = [arm for arm in found.arms if arm.support == "no"] if found.status == "UNDECIDED" else []
    arm = max(unheard or found.arms, key=lambda each: each.best_probability)
    if arm.name == found.arm or arm.best_probability <= found.probability:
        return None
    if arm.support == "no":
        return (
            f"Not the most probable answer: {arm.name} would be (probability {arm.best_probability:.3f}), but the log does not "
            f"speak for it: what it would do was hardly tried."
        )
    return passed_over(arm.name, arm.best_probability, arm.fair_probability, found.min_fair_probability)


def no_arm(found: Evaluation) -> str:
    """The answer of a log that names no arm, and why: what the answer is comes first."""
    why = _not_named(found)
    if found.status == "UNDECIDED":
        text = (
            "This log does not say which arm is best: it does not speak for one that is likelier than any it could name"
        )
        return f"{text} {chances(found)}." + (f" {why}" if why else "")
    text = "By this log, no arm is likely enough to be fair"
    if why is None:
        return f"{text} {chances(found)}."
    arm = max(found.arms, key=lambda each: each.best_probability)
    below = _below(arm.fair_probability, found.min_fair_probability)
    return f"{text}: {arm.name} is the likeliest answer (probability {arm.best_probability:.3f}), {below}."


def chances(found: Evaluation) -> str:
    """How probable the answer of a log is, and what comes next."""
    what = " of no fair arm" if found.arm is None else ""
    word = "passed over" if found.runner_up_probability > found.probability else "next"
    return f"(probability{what} {found.probability:.3f}; {word} {found.runner_up}, {found.runner_up_probability:.3f})"


def certified_text(found: Evaluation) -> str:
    """What is proved from a log, and on what condition."""
    if found.not_certified and found.certified_by is None:
        return f"Nothing is certified: {'; '.join(found.not_certified)}."
    condition = f"wrong with probability at most {1 - found.confidence:.3g} if what it rests on (below) holds."
    if found.certified_arm is not None:
        return f"Certified: {found.certified_arm} is the best fair arm, {condition}"
    if found.certified_status == "NO_FAIR_ARM":
        return f"Certified: no arm is fair, {condition}"
    return f"Not certified at confidence {found.confidence:g} which arm is best: more than one answer is left."


def certified_labels(found: Evaluation) -> str | None:
    """Which arms are proved fair or unfair, and toward whom; None where nothing can be certified."""
    if found.certified_by is None:
        return None
    fair = [arm.name for arm in found.arms if arm.certified_fair]
    unfair = [arm.name + _toward(found, arm) for arm in found.arms if arm.certified_fair is False]
    return f"Certified fair: {names(fair)}. Certified unfair: {names(unfair)}."


def _toward(found: Evaluation, arm: ArmEvaluation) -> str:
    """The group whose outcome is proved to be the lower one: the whole certified interval lies beyond one end."""
    low, high, tolerance = arm.gap.certified_low, arm.gap.certified_high, found.problem.gap_tolerance
    if low is not None and low >= tolerance:
        return f" (toward {pair_of(found.problem)[1]})"
    return f" (toward {pair_of(found.problem)[0]})" if high is not None and high <= -tolerance else ""


def left_to_learn(found: Evaluation) -> str | None:
    """What more rows could still tell, by the posterior and for a proof; None where the answer itself is open."""
    if found.certified_status != "UNDECIDED" and found.certified_arm == found.arm:
        return "Nothing is left to learn about which arm is best: it is certified."
    if found.status == "UNDECIDED" or (found.probability < SETTLED and found.next_pulls):
        return None
    settled = "By the posterior, nothing is left to learn about which arm is best."
    if found.certified_by is None:
        return f"{settled} For a certified answer, more rows are not enough: what stands against it (above) must be put right."
    return f"{settled} A certified answer needs more rows, as its intervals hold whatever the truth and are wider."


def plain_gap_text(found: Evaluation) -> str | None:
    """The log as it is, its plain gap with an interval; None where a group has no natural rows."""
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


def sureness(verdict: Verdict) -> Iterator[str]:
    """How sure the answer is by the posterior."""
    if verdict.probability is None:
        return
    next_probability = verdict.runner_up_probability or 0.0
    yield posterior(verdict.leader or "", verdict.probability, verdict.runner_up or "", next_probability)
    yield f"{ESTIMATED[verdict.method or '']}; fair, best: probabilities; rows: effective sample size."


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


def limit_text(problem: Problem, limit: Limit, what: str) -> str:
    if limit.pulls == 0 or not limit.alternatives:
        return f"Limit, {what}: no pull is needed, as no truth would give another answer (T* = 0)."
    if not limit.binding or not math.isfinite(limit.pulls):
        return f"Limit, {what}: no number of pulls is enough (T* = inf)."
    hardest = limit.binding[0]
    return (
        f"Limit, {what}: T* = {limit.pulls:.4g} ({limit.form}); a rule that errs with probability 0.05 whatever the truth needs about "
        f"{limit.pulls_needed(0.05):.4g} pulls on average. Hardest to exclude: {problem.arm_names[hardest.arm]}, {hardest.kind}."
    )


def paper_lines(found: Inspection) -> Iterator[tuple[str, bool]]:
    """What the paper's algorithms would do with a problem, and whether each sentence is a warning."""
    if found.v_star is not None:
        yield (
            f"The paper's csr with {found.pulls} pulls: {found.phases} phases; every arm is informed at a rate of at least "
            f"v* = {found.v_star:.4g} per pull. First phase: {plan_text(found.first_plan)}.",
            False,
        )
    if found.fair_from_phase is not None and found.phases is not None and found.fair_from_phase > found.phases:
        yield (
            f"The tolerance is small against the outcome's range: the paper's algorithms can show no arm to be fair before "
            f"phase {found.fair_from_phase}, and {found.pulls} pulls give {found.phases} phases. Use more pulls.",
            True,
        )
    if found.error_bound is not None and found.error_bound < 1:
        yield f"Theorem 1 bounds the error of csr-v1 by {found.error_bound:.3g} (it is very loose).", False
    if found.none_bound is not None and found.none_bound > 0:
        yield f"Theorem 2: csr says so with probability at least {found.none_bound:.3g} (it is very loose).", False


def not_fair_means(sensitive: str) -> tuple[str, ...]:
    """What "fair" does not mean; in full in docs/fairness.md."""
    return (
        "Groups, not persons. An arm can be fair and still treat some persons much better than others, as long as it evens out.",
        "Not equal decisions. The two groups may receive different decisions and have equal outcomes, or the reverse.",
        f"It rests on the declared graph. If an arrow is missing, or {sensitive} has a cause that was left out, the number no longer answers the question, and no amount of data will reveal that.",
        "The tolerance is a choice. It is in the outcome's own units, and should have been stated before the results were seen.",
        f"One attribute. An arm that is fair for {sensitive} may be unfair for another attribute, or for a combination of two.",
        "Nothing about why. A small gap does not show that the reasons are good, and a large one does not show bad intent.",
    )
