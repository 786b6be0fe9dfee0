"""The page of a run: the verdict, its phases, and why each arm was kept or rejected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairarm.algorithms.verdict import ArmReason, ArmReport, Verdict
from fairarm.experiments.identify import Identification
from fairarm.problem.mechanism import NO_FAIR_ARM
from fairarm.reports.known import reported_arm, true_arm
from fairarm.reports.page.charts import phase_figure
from fairarm.reports.page.conditions import (
    FAIR_TITLE,
    ArmRows,
    Told,
    asked_fact,
    closest_cells,
    cut_note,
    fairness,
    pictures,
    row_table,
)
from fairarm.reports.page.evaluation import PROBABLY
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
    plan_text,
    question,
    smooth_text,
    started_from,
    sureness,
    unit_of,
    unmarked,
    value,
    whole,
)
from fairarm.reports.words.doubt import tables_text


def identification_page(found: Identification, version: str) -> Page:
    """The page of one run."""
    verdict, problem = found.verdict, found.problem
    arms, outcome = by_probability(verdict), _outcome(found)
    if problem.has_one_gap:
        gap = _gap_measure(found)
        how_fair: list[Block] = [_forest(found, arms, gap, Marks(problem.gap_tolerance, zero=True))]
        numbers = _tables(verdict, arms, outcome, gap)
    else:
        rows = _arm_rows(found, arms)
        how_fair = pictures(problem, rows, Told(_limits_name(found), " ".join(_signs(found))))
        numbers = _row_tables(verdict, arms, rows, outcome)
    mixture = (
        []
        if found.mixture is None
        else [Section("A mixture of arms", [Text(mixture_text(found.mixture, problem.outcome))])]
    )
    return Page(
        title=f"{problem.name}: the best fair arm, by {found.algorithm}",
        about=[text for text in (problem.description, unmarked(question(problem))) if text],
        boxes=[_answer(found), *_guarantee(found)],
        sections=[
            _phases(found),
            Section("How good each arm is", [_forest(found, arms, outcome, Marks())]),
            Section("How fair each arm is", how_fair),
            Section("All numbers", numbers),
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
    lines += [line for line in (smooth_text(found.smooth), started_from(found)) if line]
    good = verdict.status == "FOUND" and verdict.fairness_tested
    if verdict.arm is None:
        headline = headline[0].upper() + headline[1:]
    return Box("Answer", headline, lines, "good" if good else "warn")


def _guarantee(found: Identification) -> list[Box]:
    verdict = found.verdict
    if words := guarantee_of(verdict, found.log_rows):
        tone: Tone = "good" if verdict.guarantee == "certified" and verdict.status != "UNDECIDED" else "plain"
        tone = "warn" if verdict.findings else tone
        lines = [text for text in (law_text(verdict), _wrong_tables(found)) if text]
        return [Box("How sure, and by what", words, lines, tone)]
    if verdict.probability is not None:
        lines = [text for text in [_wrong_tables(found)] if text]
        return [Box("Certified", "Nothing is certified: the probability goes by the posterior.", lines)]
    return [Box("How sure, and by what", "No statement of how sure: this algorithm makes a fixed number of pulls.")]


def _wrong_tables(found: Identification) -> str | None:
    return tables_text(found.wrong_tables, found.verdict.recommended or NO_FAIR_ARM)


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


def _outcome(found: Identification) -> Measure:
    truths = (
        {} if found.truth is None else dict(zip(found.problem.arm_names, found.truth.outcomes.tolist(), strict=True))
    )
    unit, digits = f"mean {unit_of(found.problem.outcome)}", _digits(found)
    return Measure("outcomes", "Outcome of each arm", digits, lambda r: r.outcome, lambda r: r.outcome_interval, truths, unit)  # fmt: skip


def _digits(found: Identification) -> str:
    """Of outcomes, as on the terminal."""
    outcome = found.problem.outcome
    if found.verdict.leader is None:
        return digits_of(outcome)
    return interval_digits(outcome, [report.outcome_interval for report in found.verdict.arms])


def _gap_measure(found: Identification) -> Measure:
    problem, truth, arms = found.problem, found.truth, found.verdict.arms
    truths = {} if truth is None else dict(zip(problem.arm_names, truth.gaps.tolist(), strict=True))
    signed = digits_of(problem.outcome, [problem.gap_tolerance], signed=True)
    if found.verdict.leader is not None:
        signed = interval_digits(problem.outcome, [report.gap_interval for report in arms], signed=True)
    name = "Gap between the groups under each arm"
    return Measure("gaps", name, signed, _gap, lambda r: r.gap_interval, truths, gap_unit_of(problem))


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
    return [" ".join(_signs(found)), *cut_note(len(found.verdict.arms))]


def _signs(found: Identification) -> list[str]:
    thick = ["Thick line: 95 % limits."] if found.verdict.leader else []
    truth = ["× the truth in this world."] if found.truth is not None else []
    star = ["★ the arm found."] if found.verdict.arm else []
    return [*thick, *star, "● fair or not shown unfair. ○ and grey: unfair by what is known.", *truth]


def _limits_name(found: Identification) -> str:
    return "95 % limits" if found.verdict.leader else ""


def _arm_rows(found: Identification, arms: Sequence[ArmReport]) -> list[ArmRows]:
    problem, truth = found.problem, found.truth
    return [
        ArmRows(
            reported_arm(problem, report),
            best=report.name == found.verdict.arm,
            unfair=_unfair(report),
            truth=None if truth is None else true_arm(problem, truth, problem.arm_index(report.name)),
        )
        for report in arms
    ]


def _row_tables(
    verdict: Verdict, arms: Sequence[ArmReport], rows: Sequence[ArmRows], outcome: Measure
) -> list[PageTable]:
    """The tables where more is asked about than one gap."""
    every = row_table(verdict.problem, rows, "95 % limits")
    if verdict.leader is None:
        return [_tested_table(verdict, arms, rows, outcome), every]
    return [_best_table(verdict, arms, outcome), _fair_table(verdict, arms, rows), every]


def _tested_table(verdict: Verdict, arms: Sequence[ArmReport], rows: Sequence[ArmRows], outcome: Measure) -> PageTable:
    lines = [
        (
            r.name, value(r.outcome, outcome.digits), str(r.rejected_in_phase or ""), arm_reason(verdict, r, row=False),
            closest_cells(verdict.problem, each.known)[0],
        )
        for r, each in zip(arms, rows, strict=True)
    ]  # fmt: skip
    columns = ("arm", outcome.xlabel, "phase", "why", "closest to unfair")
    title = "Estimates, the phase in which an arm was rejected, and why"
    return PageTable(title, columns, lines, ("why", "closest to unfair"), verdict.arm)


def _fair_table(verdict: Verdict, arms: Sequence[ArmReport], rows: Sequence[ArmRows]) -> PageTable:
    lines = [
        (r.name, value(r.fair_probability, ".2f"), r.certified or "no", *closest_cells(verdict.problem, each.known))
        for r, each in zip(arms, rows, strict=True)
    ]
    columns = ("arm", "fair", "certified", "closest to unfair", "95 % limits", "holds")
    return PageTable(FAIR_TITLE, columns, lines, ("certified", "closest to unfair"), verdict.arm)


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
    fair = [(r.name, *gap.cells(r), value(r.fair_probability, ".2f"), r.certified or "no") for r in arms]
    return [
        _best_table(verdict, arms, outcome),
        PageTable(
            "Gaps. Fair: the probability that the gap is below the tolerance.",
            ("arm", gap.xlabel, "95 % limits", "fair", "certified"), fair, ("certified",), verdict.arm,
        ),
    ]  # fmt: skip


def _best_table(verdict: Verdict, arms: Sequence[ArmReport], outcome: Measure) -> PageTable:
    rows = [
        (
            r.name, *outcome.cells(r), value(r.best_probability, ".2f"), value(r.effective_rows, ".0f"),
            arm_reason(verdict, r, row=False),
        )
        for r in arms
    ]  # fmt: skip
    return PageTable(
        "The most probable arms first. Best: the probability that this is the best fair arm; rows: effective sample size.",
        ("arm", outcome.xlabel, "95 % limits", "best", "rows", "why"), rows, ("why",), verdict.arm,
    )  # fmt: skip


def _made(found: Identification, version: str) -> Section:
    pairs = [
        ("problem", found.problem.name),
        asked_fact(found.problem),
        ("algorithm", found.algorithm),
        ("arms", whole(len(found.verdict.arms))),
        ("phases", whole(found.verdict.phases)),
        ("pulls", whole(found.pulls)),
        ("cost", f"{found.cost:.6g}"),
        *([("rows of the log it started from", whole(found.log_rows))] if found.log_rows else []),
        ("guarantee", found.verdict.guarantee),
        ("confidence", f"{found.verdict.confidence:g}"),
        *([("method", found.verdict.method)] if found.verdict.method else []),
        ("seed", str(found.seed)),
        ("fairarm", version),
    ]
    return Section("How it was made", [Facts(pairs)])
