"""The page of a run: the verdict, its phases, and why each arm was kept or rejected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairarm.algorithms.verdict import ArmReason, ArmReport, Verdict
from fairarm.experiments.identify import Identification
from fairarm.reports.page.charts import phase_figure
from fairarm.reports.page.evaluation import PROBABLY, cut_note, fairness
from fairarm.reports.page.forest import Line, Marks, forest
from fairarm.reports.page.parts import Block, Box, Facts, Page, PageTable, Section, Text, Tone
from fairarm.reports.page.rows import MOST_ROWS, Row, Words
from fairarm.reports.words import (
    after_phase,
    answer_of,
    arm_reason,
    between,
    closing,
    count,
    digits_of,
    gap_unit_of,
    guarantee_of,
    interval_digits,
    law_text,
    mixture_text,
    not_most_probable,
    plan_text,
    question,
    started_from,
    sureness,
    unit_of,
    unmarked,
    value,
    whole,
)


def identification_page(found: Identification, version: str) -> Page:
    """The page of one run."""
    verdict, problem = found.verdict, found.problem
    arms = by_probability(verdict)
    outcome, gap = _measures(found)
    mixture = (
        []
        if found.mixture is None
        else [Section("A mixture of two arms", [Text(mixture_text(found.mixture, problem.outcome))])]
    )
    return Page(
        title=f"{problem.name}: the best fair arm, by {found.algorithm}",
        about=[text for text in (problem.description, unmarked(question(problem))) if text],
        boxes=[_answer(found), *_guarantee(found)],
        sections=[
            _phases(found),
            Section("How good each arm is", [_forest(found, arms, outcome, Marks())]),
            Section("How fair each arm is", [_forest(found, arms, gap, Marks(problem.gap_tolerance, zero=True))]),
            Section("All numbers", _tables(verdict, arms, outcome, gap)),
            *mixture,
            fairness(problem),
            _made(found, version),
        ],
    )


def by_probability(verdict: Verdict) -> list[ArmReport]:
    """The most probable first; where there are no probabilities, the arm found first and the others as declared."""
    return sorted(verdict.arms, key=lambda r: (-(r.best_probability or 0.0), r.name != verdict.arm))


# ---- the verdict ----


def _answer(found: Identification) -> Box:
    verdict = found.verdict
    headline = unmarked(answer_of(verdict, found.pulls, found.cost))
    lines = [*sureness(verdict), *(remark.text for remark in closing(found))]
    if started := started_from(found):
        lines.append(started)
    good = verdict.status == "FOUND" and verdict.fairness_tested
    if verdict.arm is None:
        headline = headline[0].upper() + headline[1:]
    headline = " ".join(text for text in (not_most_probable(verdict), headline) if text)
    return Box("Answer", headline, lines, "good" if good else "warn")


def _guarantee(found: Identification) -> list[Box]:
    verdict = found.verdict
    if words := guarantee_of(verdict, found.log_rows):
        tone: Tone = "good" if verdict.guarantee == "certified" and verdict.status != "UNDECIDED" else "plain"
        tone = "warn" if verdict.findings else tone
        return [Box("How sure, and by what", words, [text for text in [law_text(verdict)] if text], tone)]
    if verdict.probability is not None:
        return [Box("Certified", "Nothing is certified: the probability goes by the posterior.")]
    return [Box("How sure, and by what", "No statement of how sure: this algorithm makes a fixed number of pulls.")]


def _phases(found: Identification) -> Section:
    if not found.story:
        return Section("The run", [Text("No pull was made.")])
    believed = any(part.probability is not None for part in found.story)
    beside = (
        "the probability of the most likely answer after it"
        if believed
        else "how many arms were left after it, and how many were shown fair"
    )
    figure = phase_figure(
        found.story,
        len(found.verdict.arms),
        "The phases of the run",
        f"{count(len(found.story), 'phase')}, {count(found.pulls, 'pull')} in all. The table has the numbers.",
        [f"The pulls of each phase, and {beside}."],
    )
    rows = [
        (
            f"{part.phase}",
            whole(part.pulls),
            f"{part.cost:.6g}",
            plan_text(part.plan),
            after_phase(part, len(found.verdict.arms)),
        )
        for part in found.story
    ]
    table = PageTable(
        "Phase by phase", ("phase", "pulls", "cost", "what it pulled", "after it"), rows, ("what it pulled", "after it")
    )
    return Section("The run", [figure, table])


# ---- arms ----


@dataclass(frozen=True)
class Measure:
    """One of the two numbers of an arm: its mean, its interval, the truths by arm, and how it is written."""

    name: str
    title: str
    digits: str
    mean: Callable[[ArmReport], float | None]
    interval: Callable[[ArmReport], tuple[float, float] | None]
    truths: Mapping[str, float]
    xlabel: str

    def cells(self, report: ArmReport) -> tuple[str, str]:
        """The mean and its interval, as the table shows them."""
        low, high = self.interval(report) or (None, None)
        return value(self.mean(report), self.digits), between(low, high, self.digits)


def _measures(found: Identification) -> tuple[Measure, Measure]:
    truth, problem = found.truth, found.problem
    names_ = problem.arm_names
    outcomes = {} if truth is None else dict(zip(names_, truth.outcomes.tolist(), strict=True))
    gaps = {} if truth is None else dict(zip(names_, truth.gaps.tolist(), strict=True))
    digits, signed = _digits(found)
    outcome, gap = f"mean {unit_of(problem.outcome)}", gap_unit_of(problem)
    return (
        Measure("outcomes", "Outcome of each arm", digits, lambda r: r.outcome, lambda r: r.outcome_interval, outcomes, outcome),
        Measure("gaps", "Gap between the groups under each arm", signed, _gap, lambda r: r.gap_interval, gaps, gap),
    )  # fmt: skip


def _digits(found: Identification) -> tuple[str, str]:
    """Of outcomes and of gaps, as on the terminal."""
    outcome, arms = found.problem.outcome, found.verdict.arms
    if found.verdict.leader is None:
        return digits_of(outcome), digits_of(outcome, [found.problem.gap_tolerance], signed=True)
    return (
        interval_digits(outcome, [report.outcome_interval for report in arms]),
        interval_digits(outcome, [report.gap_interval for report in arms], signed=True),
    )


def _gap(report: ArmReport) -> float | None:
    return next(iter(report.gaps.values()))


def _unfair(report: ArmReport) -> bool:
    if report.fair_probability is not None:
        return report.fair_probability < PROBABLY
    return report.reason == ArmReason.UNFAIR


def _forest(found: Identification, arms: Sequence[ArmReport], measure: Measure, marks: Marks) -> Block:
    drawn = arms[:MOST_ROWS]
    lines = [
        Line(
            row=Row(report.name, _side(report, measure), measure.cells(report)[0], report.name == found.verdict.arm),
            mean=measure.mean(report),
            usual=measure.interval(report),
            truth=measure.truths.get(report.name),
            unfair=_unfair(report),
        )
        for report in drawn
    ]
    what = measure.name.removesuffix("s")
    words = Words(
        name=measure.name,
        title=measure.title,
        description=f"{count(len(drawn), 'arm')}. All numbers are in the table.",
        heads=("arm", f"{what} (95 % limits)" if found.verdict.leader else what, what),
        xlabel=measure.xlabel,
        caption=_key(found),
    )
    return forest(words, lines, marks)


def _side(report: ArmReport, measure: Measure) -> str:
    mean, limits = measure.cells(report)
    return f"{mean} ({limits})" if measure.interval(report) else mean


def _key(found: Identification) -> list[str]:
    thick = ["Thick line: 95 % limits."] if found.verdict.leader else []
    truth = ["× the truth in this world."] if found.truth is not None else []
    star = ["★ the arm found."] if found.verdict.arm else []
    signs = ["● fair or not shown unfair. ○ and grey: unfair by what is known."]
    return [" ".join([*thick, *star, *signs, *truth]), *cut_note(len(found.verdict.arms))]


def _tables(verdict: Verdict, arms: Sequence[ArmReport], outcome: Measure, gap: Measure) -> list[PageTable]:
    if verdict.leader is None:
        first, second = verdict.arms[0].gaps
        columns = ("arm", outcome.xlabel, f"gap {first}", f"gap {second}", "phase", "why")
        rows = [
            (r.name, value(r.outcome, outcome.digits), *(value(g, gap.digits) for g in r.gaps.values()), str(r.rejected_in_phase or ""), arm_reason(verdict, r))
            for r in arms
        ]  # fmt: skip
        return [
            PageTable(
                "Estimates, the phase in which an arm was rejected, and why", columns, rows, ("why",), verdict.arm
            )
        ]
    best = [
        (
            r.name,
            *outcome.cells(r),
            value(r.best_probability, ".2f"),
            value(r.effective_rows, ".0f"),
            arm_reason(verdict, r),
        )
        for r in arms
    ]
    fair = [(r.name, *gap.cells(r), value(r.fair_probability, ".2f"), r.certified or "no") for r in arms]
    return [
        PageTable(
            "The most probable arms first. Best: the probability that this is the best fair arm; rows: effective sample size.",
            ("arm", outcome.xlabel, "95 % limits", "best", "rows", "why"), best, ("why",), verdict.arm,
        ),
        PageTable(
            "Gaps. Fair: the probability that the gap is below the tolerance.",
            ("arm", gap.xlabel, "95 % limits", "fair", "certified"), fair, ("certified",), verdict.arm,
        ),
    ]  # fmt: skip


def _made(found: Identification, version: str) -> Section:
    pairs = [
        ("problem", found.problem.name),
        ("tolerance", f"{found.problem.gap_tolerance:.6g}"),
        ("algorithm", found.algorithm),
        ("arms", whole(len(found.verdict.arms))),
        ("phases", whole(found.verdict.phases)),
        ("pulls", whole(found.pulls)),
        ("cost", f"{found.cost:.6g}"),
        *([("rows of the log it started from", whole(found.log_rows))] if found.log_rows else []),
        ("guarantee", found.verdict.guarantee),
        *([("confidence", f"{found.verdict.confidence:g}")] if found.verdict.confidence is not None else []),
        *([("method", found.verdict.method)] if found.verdict.method else []),
        ("seed", str(found.seed)),
        ("fairarm", version),
    ]
    return Section("How it was made", [Facts(pairs)])
