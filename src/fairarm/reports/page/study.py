"""The page of a live study: what is known and what comes next, people by cohort, arms, and what it all rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fairarm.beliefs.findings import Finding
from fairarm.problem.problem import Problem
from fairarm.reports.known import studied_arm
from fairarm.reports.page.conditions import ArmRows, Told, closest_cells, fairness, question_figures
from fairarm.reports.page.evaluation import PROBABLY
from fairarm.reports.page.forest import Line, forest
from fairarm.reports.page.parts import Block, Box, Card, Facts, Items, Page, PageTable, Section, Text, Tone
from fairarm.reports.page.rows import MOST_ROWS, Row, Words
from fairarm.reports.page.study_charts import Course, PeopleOfCohort, course_figure, people_figure
from fairarm.reports.page.study_rows import RowState, row_states
from fairarm.reports.words import (
    count,
    interval_digits,
    law_text,
    limits,
    question,
    sentence,
    unit_of,
    unmarked,
    value,
    whole,
)
from fairarm.reports.words.studies import (
    COHORT_STATES,
    WATCHES,
    chance_cell,
    counted_text,
    event_actor,
    event_reason,
    event_text,
    exposure_text,
    known_now,
    left_out,
    moment,
    monitor_numbers,
    monitor_state,
    next_step,
)
from fairarm.studies import (
    ArmStanding,
    CohortReport,
    Event,
    ExposureReport,
    HistoryPoint,
    Monitor,
    Study,
    StudyVerdict,
)

MOST_EVENTS, MOST_LINES = 50, 100
"""Events and cohorts that the page lists: the latest."""
THICK = "Thick line: usual 95 % limits, by the posterior."
THIN = " Thin line: certified limits, which hold for all arms at once, however often you look."
MARKS = "★ the answer. ● fair or not known to be unfair. ○ and grey: probably unfair."
NO_LIMITS = (
    "There are no certified limits of single numbers here: outcomes were lost, and such limits do not allow for what these could be. What is "
    "proved of arms does: it charges every lost outcome as it hurts most."
)


@dataclass(frozen=True)
class SeenStudy:
    """All that a page shows, read at one time. Outcomes of cohorts that are not settled are counts alone."""

    name: str
    problem: Problem
    options: Mapping[str, Any]
    now: datetime
    verdict: StudyVerdict
    findings: tuple[Finding, ...]
    exposure: ExposureReport
    cohorts: tuple[CohortReport, ...]
    events: tuple[Event, ...]
    history: tuple[HistoryPoint, ...]
    arms: tuple[ArmStanding, ...]
    monitors: tuple[Monitor, ...]
    held: bool = False
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Of the pages of arms."""

    @classmethod
    def of(cls, study: Study, now: datetime, held: bool, addresses: Mapping[str, str]) -> SeenStudy:
        """As it is now."""
        return cls(
            study.name, study.problem, study.options, now, study.verdict(), study.findings(), study.exposure(), study.cohorts(),
            study.events(), study.history(), study.arms(), study.monitors(), held, addresses,
        )  # fmt: skip

    @property
    def limited(self) -> bool:
        """Whether there are certified limits of single numbers."""
        return any(arm.certified is not None for arm in self.arms)

    @property
    def lines(self) -> str:
        """What the lines of its figures are."""
        return THICK + (THIN if self.limited else "")

    def rows_of(self, arm: ArmStanding) -> ArmRows:
        """What is known of the rows of fairness of an arm."""
        report = next(one for one in self.verdict.verdict.arms if one.name == arm.name)
        return ArmRows(
            studied_arm(self.problem, report, arm), best=arm.name == self.verdict.arm, unfair=probably_unfair(arm)
        )


def probably_unfair(arm: ArmStanding) -> bool:
    """By what is proved, else by the posterior."""
    if arm.proof is not None and arm.proof in ("fair", "unfair"):
        return arm.proof == "unfair"
    return arm.fair_probability is not None and arm.fair_probability < PROBABLY


def study_page(seen: SeenStudy) -> Page:
    """The page of one study."""
    return Page(
        title=seen.name,
        about=[text for text in (seen.problem.description, unmarked(question(seen.problem))) if text],
        boxes=[_now(seen)],
        sections=[
            *_findings(seen),
            _people(seen),
            _arms(seen),
            *_courses(seen),
            _exposure(seen),
            _watched(seen),
            _events(seen),
            fairness(seen.problem),
            _made(seen),
        ],
    )


# ---- the first screen ----


def _now(seen: SeenStudy) -> Box:
    found = seen.verdict
    headline = f"{known_now(found)} {next_step(found, seen.cohorts, seen.now, seen.held)}"
    proof = "" if found.void or found.reason == "not-proved-yet" else law_text(found.verdict)
    lines = [counted_text(found), *left_out(found), *([proof] if proof else [])]
    tone: Tone = "warn" if found.void or seen.held else "good" if found.status != "UNDECIDED" else "plain"
    return Box("Now", headline, lines, tone)


def _findings(seen: SeenStudy) -> list[Section]:
    if not seen.findings:
        return []
    cards = [
        Card(
            one.name,
            f"{count(one.rows, 'row')}" if one.rows else "",
            one.message,
            one.examples,
            "Nothing is certified because of this."
            if one.blocks_certification
            else "What is certified holds all the same.",
            one.blocks_certification,
        )
        for one in sorted(seen.findings, key=lambda one: not one.blocks_certification)
    ]
    return [Section("Findings", cards)]


def _people(seen: SeenStudy) -> Section:
    if not seen.cohorts:
        return Section("People", [Text("No cohort has opened yet.")])
    bars = [
        PeopleOfCohort(one.number, one.cards, *_told_lost_waiting(one), settled=one.state == "settled")
        for one in seen.cohorts
    ]
    described = f"{count(len(seen.cohorts), 'cohort')}, {whole(seen.exposure.total)} people. The table has the numbers."
    caption = (
        "A cohort is the people who came in one stretch of time. It is settled as a whole, when the time in which outcomes count is over; "
        "until then only the number of outcomes is shown."
    )
    rows = [
        (
            str(one.number), _state(one), whole(one.cards), whole(one.dealt), whole(one.told),
            *("?" if each is None else whole(each) for each in (one.filled, one.lost)), whole(_told_lost_waiting(one)[2]), whole(one.late), moment(one.closes),
        )
        for one in reversed(seen.cohorts[-MOST_LINES:])
    ]  # fmt: skip
    cut = f" The latest {MOST_LINES} of {len(seen.cohorts)}." if len(seen.cohorts) > MOST_LINES else ""
    table = PageTable(
        f"Cohorts, the latest first. Cards: people that it can take; filled: not reported, which means an outcome here; lost: no outcome that counts.{cut}",
        ("cohort", "state", "cards", "dealt", "told", "filled", "lost", "waited for", "too late", "closes"),
        rows,
        ("state", "closes"),
        folded=True,
    )
    return Section("People", [people_figure(bars, "People by cohort", described, [caption]), table])


def _told_lost_waiting(one: CohortReport) -> tuple[int, int, int]:
    """Of the people dealt a card: whose outcome counts or is there, who is lost, who is waited for."""
    if one.lost is not None:
        return one.dealt - one.lost, one.lost, 0
    gone = one.dealt if one.state == "dropped" else min(one.unserved, one.dealt - one.told)
    told = 0 if one.state == "dropped" else one.told
    return told, gone, one.dealt - told - gone


def _state(one: CohortReport) -> str:
    text = "stopped by hand" if one.cut and one.state != "settled" else COHORT_STATES[one.state]
    text = "settled, had been stopped by hand" if one.cut and one.state == "settled" else text
    return f"{text}: {one.reason}" if one.reason else text


# ---- arms ----


def by_probability(arms: Sequence[ArmStanding], answer: str | None) -> list[ArmStanding]:
    """The answer first, then the most probable."""
    return sorted(arms, key=lambda arm: (arm.name != answer, -(arm.best_probability or 0.0)))


def _arms(seen: SeenStudy) -> Section:
    arms = by_probability(seen.arms, seen.verdict.arm)
    if not seen.verdict.settled:
        return Section("Arms", [Text("What is known of each arm is shown when the first cohort is settled.")])
    rows = [seen.rows_of(arm) for arm in arms]
    fair = question_figures(seen.problem, rows, Told("95 % limits", seen.lines))
    none = [] if seen.limited or not seen.verdict.lost or seen.verdict.void else [Text(NO_LIMITS)]
    return Section("Arms", [_outcomes(seen, arms), *fair, _arm_table(seen, arms, rows), *none])


def _outcomes(seen: SeenStudy, arms: Sequence[ArmStanding]) -> Block:
    digits = interval_digits(seen.problem.outcome, [arm.interval for arm in arms])
    lines = [
        Line(
            row=Row(
                arm.name,
                f"{value(arm.outcome, digits)} ({limits(arm.interval, digits)})",
                value(arm.outcome, digits),
                arm.name == seen.verdict.arm,
            ),
            mean=arm.outcome,
            usual=arm.interval,
            certified=arm.certified,
            unfair=probably_unfair(arm),
        )
        for arm in arms[:MOST_ROWS]
    ]
    cut = [f"The first {MOST_ROWS} of {len(arms)} arms; the table has all."] if len(arms) > MOST_ROWS else []
    words = Words(
        name="outcomes",
        title="Outcome of each arm",
        description=f"{count(len(lines), 'arm')}. All numbers are in the table.",
        heads=("arm", "outcome (95 % limits)", "outcome"),
        xlabel=f"mean {unit_of(seen.problem.outcome)}",
        caption=[seen.lines, MARKS, *cut],
    )
    return forest(words, lines)


def _arm_table(seen: SeenStudy, arms: Sequence[ArmStanding], rows: Sequence[ArmRows]) -> PageTable:
    digits = interval_digits(seen.problem.outcome, [arm.interval for arm in arms])
    lines = []
    for arm, own in zip(arms, rows, strict=True):
        states = row_states(own.known, arm.proof)
        lines.append(
            (
                arm.name, whole(arm.people), value(arm.outcome, digits), certified_text(arm.certified, digits), chance_cell(arm.best_probability),
                chance_cell(arm.fair_probability), *(str(states.count(state)) for state in RowState), proof_text(arm),
                closest_cells(seen.problem, own.known)[0],
            )
        )  # fmt: skip
    columns = (
        "arm", "people", "outcome", "certified limits", "P(best)", "P(fair)", "met", "open", "broken", "proved", "closest to unfair",
    )  # fmt: skip
    title = (
        "Arms. P(best): of being the best fair arm, P(fair): of being fair, by the posterior. Met, open, broken: conditions of fairness that are "
        "certified to hold, not yet known, certified to be broken."
    )
    return PageTable(title, columns, lines, ("proved", "closest to unfair"), seen.verdict.arm, links={**seen.addresses})


def certified_text(ends: tuple[float, float] | None, digits: str) -> str:
    """Certified limits, where there are any."""
    return "none" if ends is None else limits(ends, digits)


def proof_text(arm: ArmStanding) -> str:
    """What is proved of it, and whether it is still dealt."""
    return f"{arm.proof or 'nothing'}{'; not dealt any more' if arm.paused else ''}"


# ---- below ----


def _courses(seen: SeenStudy) -> list[Section]:
    if not seen.history:
        return []
    arms = [arm.name for arm in seen.arms]
    best = [*(courses_of(seen.history, arms, "best")), Course("no fair arm", _points_of_none(seen.history))]
    fair = courses_of(seen.history, arms, "fair")
    after = f"after each of {count(len(seen.history), 'settled cohort')}. The table has the numbers."
    figures: list[Block] = [
        course_figure(
            "best", best, "P(best)", "Probability of being the best fair arm", f"By cohort, {after}",
            ["The probability that an arm is the best fair one, by the posterior, after each settled cohort."],
        ),
        course_figure(
            "fair", fair, "P(fair)", "Probability of being fair", f"By cohort, {after}",
            ["The probability that an arm is fair, after each settled cohort."],
        ),
    ]  # fmt: skip
    return [Section("Cohort by cohort", [*figures, history_table(seen.history[-MOST_LINES:])])]


def courses_of(history: Sequence[HistoryPoint], arms: Sequence[str], what: str) -> list[Course]:
    """A probability of each arm, where it is known."""
    found = []
    for arm in arms:
        points = [(point.cohort, p) for point in history if (p := getattr(point, what).get(arm)) is not None]
        found.append(Course(arm, points))
    return found


def _points_of_none(history: Sequence[HistoryPoint]) -> list[tuple[int, float]]:
    return [(point.cohort, point.none) for point in history if point.none is not None]


def history_table(history: Sequence[HistoryPoint], only: str | None = None) -> PageTable:
    """P(best) and P(fair) of every arm, or of one, after every cohort."""
    lines = [
        (str(point.cohort), arm, value(best, ".3f"), value(point.fair.get(arm), ".3f"))
        for point in reversed(history)
        for arm, best in point.best.items()
        if only in (None, arm)
    ]
    return PageTable(
        "Probabilities after each cohort, the latest first.", ("cohort", "arm", "P(best)", "P(fair)"), lines, ("arm",), folded=True
    )  # fmt: skip


def _exposure(seen: SeenStudy) -> Section:
    found = seen.exposure
    groups = list(dict.fromkeys(group for by_group in found.people.values() for group in by_group))
    known = {arm.name: arm for arm in seen.arms}
    lines = [
        (
            arm, *(whole(by_group.get(group, 0)) for group in groups), whole(sum(by_group.values())),
            "yes" if arm in known and probably_unfair(known[arm]) else "no",
        )
        for arm, by_group in found.people.items()
    ]  # fmt: skip
    table = PageTable(
        "People by arm and group.",
        ("arm", *(group or "group not known" for group in groups), "all", "probably unfair"),
        lines,
        ("probably unfair",),
        seen.verdict.arm,
    )
    return Section(
        "Who was served with what", [*(Text(words) for words in exposure_text(found, seen.problem.outcome)), table]
    )


def _watched(seen: SeenStudy) -> Section:
    lines = [(one.name, WATCHES[one.name], monitor_state(one), monitor_numbers(one)) for one in seen.monitors]
    words = "They look at settled cohorts only. Each gives a false alarm in at most one study of a thousand, the guard in one of a hundred."
    columns = ("monitor", "finds", "state", "how far")
    return Section(
        "What is watched", [Text(words), PageTable("What could make the answer wrong.", columns, lines, columns[1:])]
    )


def _events(seen: SeenStudy) -> Section:
    shown = seen.events[-MOST_EVENTS:]
    lines = [
        (str(one.seq), moment(one.at), event_actor(one), event_text(one), event_reason(one)) for one in reversed(shown)
    ]
    cut = f" The latest {MOST_EVENTS} of {len(seen.events)}." if len(seen.events) > MOST_EVENTS else ""
    columns = ("number", "time (UTC)", "who", "what", "why")
    return Section("Events", [PageTable(f"The latest first.{cut}", columns, lines, columns[1:])])


def _made(seen: SeenStudy) -> Section:
    facts = [(name.replace("_", " "), str(given)) for name, given in seen.options.items() if given is not None]
    assumed = [sentence(said) for said in seen.verdict.assumed]
    return Section("How it is set up", [Facts(facts), Text("A certificate assumes:"), Items(assumed)])
