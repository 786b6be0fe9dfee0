"""Live studies on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from fairarm.cli.terminal import Styled, TableColumn, numbers, say, table
from fairarm.durations import days_of
from fairarm.reports.words import digits_of, limits, sentence, value
from fairarm.reports.words.studies import (
    STATES,
    WATCHES,
    answer_text,
    counted_text,
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
from fairarm.reports.words.study_answers import study_created, verification_text, why_arm, why_person
from fairarm.studies.answers import WhyArm

if TYPE_CHECKING:
    from fairarm.studies import CohortReport, Study, Summary, Token, Verification, WhyPerson

MOST_COHORTS = 30
"""Lines of a table, the latest; --json has all."""


def created(study: Study) -> None:
    """What was agreed to."""
    weekly = days_of(study.options["cohort"], "cohort") % 7 == 0
    for line in study_created(study.name, study.options, study.under_way_at_once, weekly):
        say(line)


def summaries(found: Sequence[Summary]) -> None:
    """A line per study."""
    if not found:
        say("No studies yet: fairarm study create --config study.toml")
        return
    columns = [
        TableColumn("study", "name"), TableColumn("status", "name"), *numbers("people", "cohorts", "settled"),
        TableColumn("answer", "name"), TableColumn("created (UTC)", "name"),
    ]  # fmt: skip
    rows: list[list[Styled]] = [
        [
            (each.name, "bold"), f"{each.state}{' (held)' if each.held else ''}", str(each.people), str(each.cohorts),
            str(each.settled), answer_text(each), moment(each.created),
        ]
        for each in found
    ]  # fmt: skip
    table(columns, rows)
    if any(each.held for each in found):
        say(
            (
                "Held: the clock may be wrong; nobody enters, and nothing opens or settles, until `fairarm study confirm-clock`.",
                "yellow",
            )
        )


def study(found: Study, now: datetime, held: bool, events: bool) -> None:
    """From the one sentence down to what happened."""
    verdict, cohorts = found.verdict(), found.cohorts()
    say((found.name, "bold"), ": ", (known_now(verdict), "bold"))
    say(f"{next_step(verdict, cohorts, now, held)} It is {STATES[verdict.state]}.")
    say(counted_text(verdict))
    for line in left_out(verdict):
        say(line)
    for finding in found.findings():
        say((f"{finding.name}: {finding.message}", "yellow" if finding.blocks_certification else ""))
    _arms(found)
    _cohorts(cohorts)
    for line in exposure_text(found.exposure(), found.problem.outcome):
        say(line)
    _monitors(found)
    say((f"Assumed: {' '.join(sentence(said) for said in verdict.assumed)}", "dim"))
    if events:
        _events(found)


def _monitors(found: Study) -> None:
    columns = [
        TableColumn("watched", "name"),
        TableColumn("for", "text"),
        TableColumn("state", "text"),
        TableColumn("numbers", "text"),
    ]
    table(
        columns,
        [[each.name, WATCHES[each.name], monitor_state(each), monitor_numbers(each)] for each in found.monitors()],
    )


def _arms(found: Study) -> None:
    """What is believed, with 95 % limits, and what is proved; --json has certified limits too."""
    digits = digits_of(found.problem.outcome)
    columns = [
        TableColumn("arm", "name"), *numbers("outcome", "95 %"), TableColumn("closest row", "name"),
        *numbers("value", "95 %", group=1), *numbers("P(fair)", "P(best fair)", "people", group=2), TableColumn("proved", "name"),
    ]  # fmt: skip
    rows: list[list[Styled]] = []
    for arm in found.arms():
        row = next((each for each in arm.rows if each.name == arm.closest), None)
        rows.append([
            (arm.name, "bold"), value(arm.outcome, digits), limits(arm.interval, digits), "" if row is None else row.name,
            value(None if row is None else row.value, "+.4f"), limits(None if row is None else row.interval, "+.4f"),
            value(arm.fair_probability, ".3f"), value(arm.best_probability, ".3f"), str(arm.people),
            (arm.proof or "") + (" (paused)" if arm.paused else ""),
        ])  # fmt: skip
    table(columns, rows)


def _cohorts(all_of_them: Sequence[CohortReport]) -> None:
    columns = [
        TableColumn("cohort", "number"), TableColumn("state", "name"), TableColumn("opened (UTC)", "name"),
        TableColumn("matures (UTC)", "name"), *numbers("share", "cards", "dealt", "told", "late", "filled", "lost"),
    ]  # fmt: skip
    rows: list[list[Styled]] = [
        [
            str(each.number), f"{each.state}{', cut' if each.cut else ''}", moment(each.opened), moment(each.matures),
            f"{each.share:.3f}", str(each.cards), str(each.dealt), str(each.told), str(each.late),
            *("" if number is None else str(number) for number in (each.filled, each.lost)),
        ]
        for each in all_of_them[-MOST_COHORTS:]
    ]  # fmt: skip
    if rows:
        table(columns, rows)
    if len(all_of_them) > MOST_COHORTS:
        say(f"({len(all_of_them) - MOST_COHORTS} earlier cohorts: --json has all.)")


def _events(found: Study) -> None:
    columns = [
        TableColumn("number", "number"), TableColumn("at (UTC)", "name"), TableColumn("what", "text"), TableColumn("by", "name"),
        TableColumn("why", "text"),
    ]  # fmt: skip
    rows = [[str(e.seq), moment(e.at), event_text(e), e.actor, event_reason(e)] for e in found.events()]
    table(columns, rows)


def verifications(found: Sequence[Verification]) -> None:
    """What was checked of each study."""
    if not found:
        say("No studies to check.")
    for each in found:
        for number, line in enumerate(verification_text(each)):
            say((line, "" if each.ok else "bold red" if number == 0 else "red"))


def tokens(found: Sequence[Token]) -> None:
    """A line per token; the token itself is not kept."""
    if not found:
        say("No tokens yet: fairarm study token --role caller --label NAME")
        return
    columns = [
        TableColumn(head, "name") for head in ("label", "role", "study", "made (UTC)", "revoked (UTC)", "digest")
    ]
    rows: list[list[Styled]] = [
        [
            each.label, each.role, each.study or "(all)", moment(each.made),
            "" if each.revoked is None else moment(each.revoked), each.digest[:12],
        ]
        for each in found
    ]  # fmt: skip
    table(columns, rows)


def why(study: Study, found: WhyPerson | WhyArm) -> None:
    """Sentences about one person or one arm."""
    for line in why_arm(found, study.verdict()) if isinstance(found, WhyArm) else why_person(found):
        say(line)
