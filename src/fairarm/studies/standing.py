"""What is known of a study by settled cohorts: verdict, arms, findings, monitors, exposure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from fairarm.algorithms.cohort import AT_RANDOM, WORST
from fairarm.algorithms.exposure import exposure
from fairarm.algorithms.live import UNFAIR
from fairarm.algorithms.verdict import ArmReport, Verdict, verdict
from fairarm.beliefs.assumptions import Assumption, Statement, assumptions
from fairarm.beliefs.beliefs import believe
from fairarm.beliefs.certified import certify_counts
from fairarm.beliefs.findings import Finding, Level
from fairarm.beliefs.standing import Proof
from fairarm.beliefs.status import REASONS
from fairarm.core.answer import Code
from fairarm.core.entry import VOID, Coverage
from fairarm.core.proof.guard import ALPHA as GUARD_ALPHA
from fairarm.core.proof.guard import STAKES
from fairarm.core.proof.law_test import LOG_VOID
from fairarm.core.proof.monitors import LOG_ALARM
from fairarm.core.proof.region import Intervals
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.answer import Status
from fairarm.studies import schema
from fairarm.studies.answers import ArmStanding, ExposureReport, Monitor, RowStanding, StudyState, StudyVerdict
from fairarm.studies.cohorts import CUT, DROPPED, by_hand, unsettled
from fairarm.studies.events import events_of, state_of
from fairarm.studies.moving import SKIPPED, is_held
from fairarm.studies.options import moment
from fairarm.studies.progress import Progress
from fairarm.studies.running import Running
from fairarm.studies.summaries import cohorts_of, people_by_group, settled_counts

CLOCK_HELD = (
    "The clock may be wrong: it is behind what was stored, or ahead of the last tick by more than one cohort, or it was moved while the service "
    "ran. New people are outside the study, and nothing opens or settles. Check the clock. If it is right, also after a service was down for "
    "long, say so: fairarm study confirm-clock --reason '…'."
)
AFTER = (
    "{count} outcomes came after their cohort was settled or left out: they are kept and do not count. Tell outcomes sooner, or use a longer "
    "window. If they came within their window, the clock was wrong when the cohort was settled."
)
CONFLICTS = (
    "{count} of {people} people were assigned again with another group or input; the first values hold. Give every person one unit, and "
    "the same group and inputs in every call."
)
MOST_CONFLICTS = 0.01
"""The share of a study's people above which `CONFLICTS` is said."""
OPENS_LATE = (
    "Cohort {number} was not opened: nobody ticked at its start, and people who enter later are not spread over the whole cycle. Keep ticks "
    "going (fairarm study run, or fairarm serve); the next chance is at {chance}."
)
PEOPLE_UNSERVED = (
    "{share:.1%} of the people were never served, or were erased. The estimates and the probabilities leave them out, and are wrong if these "
    "people differ from the others. "
)
COUNTED_AS = {
    WORST: "The certificate counts each of them as the worst case, so it holds, but it may never be reached. Find out why people are not served.",
    AT_RANDOM: "The study states that who is not served does not depend on the outcome, so the certificate leaves unserved people out too.",
}
MOST_UNSERVED = 0.02
"""The share of people who were not served, or were erased, above which it is said."""

DRAWS = 200
"""Of what is believed, for the outcome given up."""


@dataclass(frozen=True, eq=False)
class Known:
    """What a study's settled cohorts say, read in one snapshot."""

    connection: Connection
    study: Running
    progress: Progress
    now: int

    @property
    def answer(self) -> int:
        """An arm or a `Code`."""
        return int(self.progress.settled.state.answer[0])

    def plain_verdict(self) -> Verdict:
        """As of a run of the algorithm."""
        return verdict(self.study.rule.pool, self.progress.settled.state, self.progress.info)

    def findings(self) -> tuple[Finding, ...]:
        """Of the law, the monitors, the guard, entry, and of the estimates."""
        live = self.study.rule.findings(self.progress.settled, self.progress.coverage[None])
        names = {finding.name for finding in live}
        return (
            *live,
            *self._of_people_without_outcome(),
            *(each for each in self.plain_verdict().findings if each.name not in names),
            *self._of_the_clock(),
            *self._of_calls(),
        )

    def _of_people_without_outcome(self) -> list[Finding]:
        """The posterior leaves out people who were not served, or were erased: it may be wrong where they are many."""
        done = [each for each in cohorts_of(self.connection, self.study, self.now) if each.state == "settled"]
        gone, dealt = sum(each.unserved + (each.erased or 0) for each in done), sum(each.dealt for each in done)
        if gone <= MOST_UNSERVED * dealt:
            return []
        text = PEOPLE_UNSERVED.format(share=gone / dealt) + COUNTED_AS[self.study.options.unserved]
        return [Finding("people-unserved", text, gone, level=Level.WARNING)]

    def _of_the_clock(self) -> list[Finding]:
        """Whether the study stands still: its clock is held, or nobody ticked when a cohort was to open."""
        found = (
            [Finding("clock-held", CLOCK_HELD, level=Level.WARNING)] if is_held(self.connection, self.study.id) else []
        )
        last = events_of(self.connection, self.study.id, kinds=("opened", SKIPPED))[-1:]
        if last and last[0].kind == SKIPPED:
            number = last[0].body["cohort"]
            chance = moment(self.study.starts(number + 1)).isoformat()
            found.append(Finding("opens-late", OPENS_LATE.format(number=number, chance=chance), level=Level.WARNING))
        return found

    def _of_calls(self) -> list[Finding]:
        """Outcomes that came too late to be counted, and people who came with other values than before."""
        kept = schema.incident
        asked = select(kept.c.kind, func.count()).where(kept.c.study == self.study.id).group_by(kept.c.kind)
        count: dict[str, int] = dict(self.connection.execute(asked).all())
        after, conflicts = (count.get(kind, 0) for kind in (schema.AFTER, schema.CONFLICT))
        people = int(self._people().sum())
        found = [Finding(schema.AFTER, AFTER.format(count=after), after, level=Level.WARNING)] if after else []
        if conflicts > MOST_CONFLICTS * people:
            text = CONFLICTS.format(count=conflicts, people=people)
            found.append(Finding("inputs-conflict", text, conflicts, level=Level.WARNING))
        return found

    # ---- the answer ----

    def verdict(self) -> StudyVerdict:
        """The answer, or how far it is."""
        study, shown, found = self.study, self.plain_verdict(), self.findings()
        state, void = state_of(self.connection, study.id), bool(self.progress.settled.void[0])
        reports = cohorts_of(self.connection, study, self.now)
        done = [each for each in reports if each.settled is not None]
        out = [each for each in reports if each.settled is None]
        cut, dropped = (tuple(sorted(by_hand(self.connection, study.id, kind))) for kind in (CUT, DROPPED))
        stated = [Statement(Assumption.AT_RANDOM)] if study.options.lost == AT_RANDOM else []
        stated += [Statement(Assumption.UNSERVED)] if study.options.unserved == AT_RANDOM else []
        stated += [Statement(Assumption.DROPPED, {"cohorts": dropped})] if dropped else []
        void_by = tuple(dict.fromkeys(each.name for each in found if each.blocks_certification)) if void else ()
        reason = self._reason(shown.status, state)
        return StudyVerdict(
            study=study.name, state=state, status=str(shown.status), arm=shown.arm, reason=reason,
            reason_text=None if reason is None else REASONS[reason].format(warning=", ".join(void_by)),
            recommended=shown.recommended, recommended_status=str(shown.recommended_status),
            recommended_probability=_number(shown.recommended_probability),
            confidence=study.options.confidence, void=void,
            void_by=void_by,
            settled=len(done), out=len(out), people=sum(each.dealt for each in reports), counted=sum(each.counted or 0 for each in done),
            filled=sum(each.filled or 0 for each in done), unserved=sum(each.unserved for each in done),
            erased=sum(each.erased or 0 for each in done), lost=sum(each.lost or 0 for each in done), lost_means=study.options.lost,
            unserved_means=study.options.unserved,
            cut=cut, dropped=dropped, next_at=min((each.settles for each in out), default=None),
            closes_at=next((each.closes for each in out if each.state == "open"), None),
            none_probability=_number(shown.none_probability), findings=found, verdict=shown,
            assumed=(*assumptions(study.problem), *stated),
        )  # fmt: skip

    def _reason(self, status: Status, state: StudyState) -> str | None:
        """Why nothing is certified."""
        if status != Status.UNDECIDED:
            return None
        if self.progress.settled.void[0]:
            return "blocking-warning"
        return "not-proved" if state.over or self.answer == Code.UNDECIDED else "not-proved-yet"

    # ---- arms ----

    def arms(self) -> tuple[ArmStanding, ...]:
        """What is known of each."""
        shown, bounds = self.plain_verdict(), self._certified()
        people, counted = self._people(), self.progress.settled.so_far.pulls()[0].sum(axis=0)
        paused = self.study.rule.paused(self.progress.settled)
        return tuple(
            self._arm(k, report, bounds, int(people[k]), int(counted[k]), paused is not None and bool(paused[0, k]))
            for k, report in enumerate(shown.arms)
        )

    def _arm(
        self, k: int, report: ArmReport, bounds: Intervals | None, people: int, counted: int, paused: bool
    ) -> ArmStanding:
        problem = self.study.problem
        outcome = None if bounds is None else _pair(problem.outcome.unscale(bounds.outcomes[0, k]))
        rows = []
        for j, (row, asked) in enumerate(zip(report.fairness, problem.rows, strict=True)):
            ends = (
                None
                if bounds is None
                else [asked.in_units(problem.outcome, float(end)) for end in bounds.rows[0, k, j]]
            )
            rows.append(
                RowStanding(
                    row.name,
                    _number(row.value),
                    _pair(row.interval),
                    _pair(ends),
                    asked.above,
                    asked.below,
                    _number(row.holds_probability),
                )
            )
        return ArmStanding(
            report.name, _number(report.outcome), _pair(report.outcome_interval), outcome, tuple(rows), report.closest,
            _number(report.best_probability), _number(report.fair_probability), report.certified, paused, self._paused_by(k),
            str(report.reason), people, counted,
        )  # fmt: skip

    def _paused_by(self, k: int) -> str | None:
        now = self.progress.settled
        if Proof(int(now.proof[0, k])) in UNFAIR:
            return "proved unfair"
        return "guard" if now.watched.alarmed[0, k] else None

    def _certified(self) -> Intervals | None:
        """Intervals of all arms at once, from the counts; None where rows were lost that are not stated to be lost at random: what
        came says nothing of these."""
        now, study = self.progress.settled, self.study
        if not now.so_far.pulls().any() or bool(now.void[0]) or now.state.memory.lost.any():
            return None
        return certify_counts(now.so_far, 1 - study.options.confidence, False, adaptive=True).intervals

    def _people(self) -> IntArray:
        """Dealt so far by arm, (K,)."""
        people = self.progress.settled.state.given[0].sum(axis=0).copy()
        for each in unsettled(self.connection, self.study.id):
            people += people_by_group(self.connection, self.study, each.number).sum(axis=1)
        return np.asarray(people)

    # ---- what it rests on ----

    def monitors(self) -> tuple[Monitor, ...]:
        """In the order of docs/certified.md, part 5."""
        now, rule = self.progress.settled, self.study.rule
        books = now.state.memory
        errors = rule.pool.law_report(now.state, 0).least_errors.max(axis=1)
        least = {name: _number(error) for name, error in zip(self.study.problem.arm_names, errors, strict=True)}
        coverage, at_random = Coverage(self.progress.coverage), rule.loss.at_random
        drift, loss = float(books.drift.log_value()[0]), float(books.losses.log_value()[0])
        law = rule.pool.law_evidence(now.state, 0)
        return (
            Monitor("law", law, LOG_VOID, bool(books.voided[0] >= 0), bool(books.voided[0] >= 0), True, {"least_error": least}),
            Monitor("drift", drift, LOG_ALARM, bool(books.drift.alarm()[0]), bool(books.drift.alarm()[0]), True),
            Monitor("loss", loss, LOG_ALARM, bool(books.losses.alarm()[0]), bool(books.losses.alarm()[0]) and at_random, True),
            Monitor(
                "coverage", coverage.least, VOID, coverage.uneven, coverage.void, True, {"parts": [float(x) for x in coverage.share]}
            ),
            self._guard(),
        )  # fmt: skip

    def _guard(self) -> Monitor:
        watched, guarded = self.progress.settled.watched, self.study.rule.watch.guarded
        if not len(guarded.level):
            return Monitor("guard", 0.0, 0.0, False, False, False)
        wealth = np.logaddexp.reduce(watched.wealth[0], axis=2) - math.log(len(STAKES))
        by_arm = wealth.max(axis=1)
        names = self.study.problem.arm_names
        threshold = math.log(len(names) * len(guarded.level) / GUARD_ALPHA)
        detail: dict[str, Any] = {
            "by_arm": dict(zip(names, map(float, by_arm), strict=True)), "alarmed": [names[k] for k in np.flatnonzero(watched.alarmed[0])]
        }  # fmt: skip
        return Monitor(
            "guard", float(by_arm.max()), threshold, bool(watched.alarmed[0].any()), bool(watched.void[0]), True, detail
        )

    # ---- whom it served ----

    def exposure(self) -> ExposureReport:
        """People by arm and group, and what they were exposed to."""
        study, problem = self.study, self.study.problem
        then = {each.number: list(each.why["fair"].values()) for each in cohorts_of(self.connection, study, self.now)}
        counts = [(number, made.by_group) for number, made in settled_counts(self.connection, study)]
        out = unsettled(self.connection, study.id)
        counts += [(each.number, people_by_group(self.connection, study, each.number)) for each in out]
        people = (
            np.stack([each for _, each in counts])
            if counts
            else np.zeros((0, len(problem.arms), len(problem.groups) + 1), dtype=int)
        )
        known = np.array([[np.nan if p is None else p for p in then[number]] for number, _ in counts]).reshape(
            len(counts), -1
        )
        known = known if len(counts) else np.zeros((0, len(problem.arms)))
        reference = self._reference()
        means = self._means()
        found = exposure(people, known, self.progress.settled.fair[0], means, 0 if reference is None else reference)
        silent = reference is None or np.isnan(means).any() or self.progress.info.standing is None
        labels = (*problem.groups, "")
        return ExposureReport(
            people={
                name: {label: int(found.people[k, t]) for t, label in enumerate(labels) if label or found.people[k, t]}
                for k, name in enumerate(problem.arm_names)
            },
            total=found.total, doubted_now=found.doubted_now, doubted_then=found.doubted_then,
            given_up=None if silent else float(found.given_up * problem.outcome.width),
            against=None if reference is None else problem.arm_names[reference],
        )  # fmt: skip

    def _reference(self) -> int | None:
        """The answer, else the deployed arm."""
        deployed = self.study.options.deployed
        return self.answer if self.answer >= 0 else None if deployed is None else self.study.problem.arm_index(deployed)

    def _means(self) -> FloatArray:
        """Each arm's scaled mean by group, and of everybody last, (K, G + 1), as is believed now."""
        problem, info = self.study.problem, self.progress.info
        everybody = info.outcomes[0][:, None]
        if info.standing is None or not problem.plain:  # of worlds, groups as they are have no mean of their own
            return np.repeat(everybody, len(problem.groups) + 1, axis=1)
        beliefs = believe(self.progress.settled.so_far, False, self.study.seed)
        drawn = beliefs.draw(np.random.default_rng([self.study.seed, 9]), DRAWS)
        return np.concatenate([beliefs.values(drawn.outcomes, drawn.means).means[0], everybody], axis=1)


def _number(value: object) -> float | None:
    return None if value is None or not math.isfinite(float(value)) else float(value)  # type: ignore[arg-type]


def _pair(values: Any) -> tuple[float, float] | None:
    if values is None:
        return None
    low, high = (_number(value) for value in values)
    return None if low is None or high is None else (low, high)
