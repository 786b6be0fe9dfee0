"""The page of one arm of a live study: every row of fairness against its ends, whom it served, and its probabilities."""

from __future__ import annotations

from fairarm.reports.known import KnownRow, by_question, read_ends, row_heads
from fairarm.reports.page.forest import Line, Marks, forest
from fairarm.reports.page.parts import Block, Box, Facts, Page, PageTable, Section, Text, Tone
from fairarm.reports.page.rows import Row, Words
from fairarm.reports.page.study import SeenStudy, certified_text, courses_of, history_table, probably_unfair, proof_text
from fairarm.reports.page.study_charts import Course, course_figure
from fairarm.reports.page.study_rows import RowState, row_states
from fairarm.reports.words import arm_reason, count, digits_of, limits, norm, shown_digits, unit_of, value, whole
from fairarm.studies import ArmStanding

MOST_DRAWN = 50
"""Rows in figures; the table has all."""


def arm_page(seen: SeenStudy, arm: ArmStanding) -> Page:
    """The page of one arm."""
    return Page(
        title=f"{arm.name}, in {seen.name}",
        about=[f"One of {count(len(seen.arms), 'arm')} of the study."],
        boxes=[_now(seen, arm)],
        sections=[_fairness(seen, arm), _served(seen, arm), *_courses(seen, arm)],
    )


def _now(seen: SeenStudy, arm: ArmStanding) -> Box:
    report = next(one for one in seen.verdict.verdict.arms if one.name == arm.name)
    if not seen.verdict.settled:
        return Box("Now", "Nothing is known yet: no cohort is settled.")
    digits = digits_of(seen.problem.outcome)
    reason = arm_reason(seen.verdict.verdict, report)
    lines = [
        f"Outcome {value(arm.outcome, digits)}, 95 % limits {limits(arm.interval, digits)}, certified limits "
        f"{certified_text(arm.certified, digits)}: mean {unit_of(seen.problem.outcome)}.",
        f"Best fair arm with probability {value(arm.best_probability, '.3f')}, fair with probability "
        f"{value(arm.fair_probability, '.3f')}, by the posterior. Proved: {proof_text(arm)}.",
    ]
    tone: Tone = "good" if arm.name == seen.verdict.arm else "warn" if probably_unfair(arm) else "plain"
    return Box("Now", f"{reason[0].upper()}{reason[1:]}.", lines, tone)


def _fairness(seen: SeenStudy, arm: ArmStanding) -> Section:
    title = "Every condition of fairness"
    if not seen.verdict.settled:
        return Section(title, [Text("Shown when the first cohort is settled.")])
    known = seen.rows_of(arm).known
    states, heads = row_states(known, arm.proof), row_heads(seen.problem.rows)
    drawn: list[Block] = []
    room = MOST_DRAWN
    for number, rows in enumerate(by_question(seen.problem.rows), 1):
        if room > 0:
            drawn.append(_figure(seen, [(heads[j], known.rows[j]) for j in rows[:room]], number))
        room -= len(rows)
    lines = [
        (
            head, value(row.shown, shown_digits(seen.problem, row.row)), limits(row.shown_interval, shown_digits(seen.problem, row.row)),
            certified_text(row.shown_certified, shown_digits(seen.problem, row.row)), norm(row.row).partition(": ")[2], value(row.holds, ".3f"), state,
        )
        for head, row, state in zip(heads, known.rows, states, strict=True)
    ]  # fmt: skip
    said = ", ".join(f"{states.count(state)} {state}" for state in RowState)
    cut = f" The pictures show {MOST_DRAWN} of {len(lines)}." if len(lines) > MOST_DRAWN else ""
    table = PageTable(
        f"All conditions: {said}, by what is certified. Holds: the probability that it holds, by the posterior.{cut}",
        ("condition", "value", "95 % limits", "certified limits", "asked", "holds", "state"),
        lines,
        ("asked", "state"),
    )
    return Section(title, [*drawn, table])


def _figure(seen: SeenStudy, rows: list[tuple[str, KnownRow]], number: int) -> Block:
    one = rows[0][1].row
    digits = shown_digits(seen.problem, one)
    lines = [
        Line(
            row=Row(
                head, f"{value(row.shown, digits)} ({limits(row.shown_interval, digits)})", value(row.shown, digits)
            ),
            mean=row.shown,
            usual=row.shown_interval,
            certified=row.shown_certified,
            unfair=row.inside is False,
        )
        for head, row in rows
    ]
    words = Words(
        name=f"rows-{number}",
        title=f"{one.constraint}: {count(len(rows), 'condition')}",
        description="All numbers are in the table.",
        heads=("condition", "value (95 % limits)", "value"),
        xlabel=f"in {unit_of(seen.problem.outcome)}" if one.ratio is None else "one mean as a share of another",
        caption=[f"Shaded: what is fair ({norm(one)}).", *([seen.lines] if number == 1 else [])],
    )
    return forest(words, lines, Marks(zero=one.is_gap, ends=read_ends(one)))


def _served(seen: SeenStudy, arm: ArmStanding) -> Section:
    by_group = seen.exposure.people.get(arm.name, {})
    facts = [(group or "group not known", whole(people)) for group, people in by_group.items()]
    dealt = "It is not dealt any more." if arm.paused else ""
    return Section("Whom it served", [Text(f"{whole(arm.people)} people so far. {dealt}"), Facts(facts)])


def _courses(seen: SeenStudy, arm: ArmStanding) -> list[Section]:
    if not seen.history:
        return []
    both = [
        Course(what, courses_of(seen.history, [arm.name], key)[0].points)
        for what, key in (("best fair arm", "best"), ("fair", "fair"))
    ]
    figure = course_figure(
        "course", both, "probability", f"Probabilities of {arm.name}", "The table has the numbers.",
        ["By the posterior, after each settled cohort."],
    )  # fmt: skip
    return [Section("Cohort by cohort", [figure, history_table(seen.history, arm.name)])]
