"""From a log to all that an evaluation rests on: read, certified and checked, each in its own place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairarm.beliefs.assumptions import Assumption, Obstacle, Statement, assumptions
from fairarm.beliefs.beliefs import Beliefs, Smoothness, believe
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.certified import Certificate, certify_counts, certify_rows
from fairarm.beliefs.doubt import boxes_fit
from fairarm.beliefs.evidence import CountedEvidence
from fairarm.beliefs.findings import Finding, Level
from fairarm.beliefs.logged_rows import NoRowsError, believe_rows
from fairarm.beliefs.missing_rows import Completions, MissingRows, all_made
from fairarm.core.answer import Code
from fairarm.core.doubt.sketch import Sketch
from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.experiments.answer_by_time import AnswerByTime, answer_by_time
from fairarm.logs.by_time import can_be_timed, count_batches_too, rows_by_time
from fairarm.logs.checks import (
    WeightCheck,
    check_bounds,
    check_cells,
    check_counts,
    check_duplicates,
    check_rules,
    check_sparse,
    check_times,
    check_weights,
)
from fairarm.logs.outcome_sketch import outcome_sketch
from fairarm.logs.passes import Told, passes_of
from fairarm.logs.reading import LogReader
from fairarm.logs.unanswered import check_outcomes
from fairarm.logs.units import check_units
from fairarm.logs.usable import (
    LogSource,
    counted_log,
    every_row,
    leave_out_impossible,
    no_usable_row,
    require_counts,
    with_fitted_arms,
)
from fairarm.problem.answer import Answer
from fairarm.problem.fitting import FittedNote
from fairarm.problem.problem import Problem

WORST = "The rows count for who they are, and their outcomes as anything that they can be: intervals are wider by that."
AT_RANDOM = (
    "They are taken as missing at random given the cell, as was stated: in each cell they are like those that came."
)
"""What is done about missing outcomes."""

CHARGED = "missing-outcomes"
"""The finding that does not void an answer by time: a missing outcome counts as the worst that it could be."""

UNSEEN_CELLS = "unseen-cells"


@dataclass(frozen=True, eq=False)
class LogEvidence:
    """What a log says: beliefs, what is certified, and everything that has to be said of it."""

    problem: Problem
    """With the mechanisms that were fitted."""
    source: LogSource
    beliefs: Beliefs
    made: IntArray
    """Rows by arm and group, (K, G)."""
    natural: IntArray
    natural_sums: FloatArray
    natural_squares: FloatArray
    """Natural rows by group, their Σ Y' and Σ Y'², (G,)."""
    certificate: Certificate
    findings: tuple[Finding, ...]
    fitted: tuple[FittedNote, ...]
    assumptions: tuple[Statement, ...]
    by_time: AnswerByTime | None = None
    """The answer that batches by time prove, where rows have times."""
    lines: int | None = None
    """Of different rows, where they were counted."""
    counted: CountedEvidence | None = None
    """The rows themselves, where they were counted."""
    missing: MissingRows | None = None
    """Rows that lack their outcome and nothing else, where rows were counted; they count for who they are."""
    at_random: bool = False
    """Missing outcomes are stated to be missing at random given the cell."""
    sketch: Sketch | None = None
    """Of a real outcome: its values by cell, where a hidden cause is asked about."""
    randomised: tuple[int, ...] = ()
    """Arms whose logged decisions were drawn with the declared probabilities."""
    completions: Completions | None = None
    """Where rows were read one by one and outcomes are missing: beliefs with all of them lowest, and highest."""

    @property
    def voided_by(self) -> tuple[str, ...]:
        """Findings with which nothing is certified, whatever the numbers say."""
        return tuple(finding.name for finding in self.findings if finding.blocks_certification)

    @property
    def bounded_by(self) -> tuple[str, ...]:
        """Why there are only bounds, where there are."""
        missing = self.completions is not None or (self.missing is not None and not self.at_random)
        unseen = not missing or any(finding.name == UNSEEN_CELLS for finding in self.findings)
        return (UNSEEN_CELLS,) * unseen + (CHARGED,) * missing

    @cached_property
    def smooth(self) -> Smoothness | None:
        """Whether outcomes follow the order of ordered columns; None where no column is ordered."""
        return self.beliefs.diagnostics().smooth

    @property
    def proved_answer(self) -> Answer | None:
        """The answer by time, UNDECIDED where a finding blocks certification; None where certified intervals say what is proved."""
        if self.by_time is None:
            return None
        void = any(name != CHARGED for name in self.voided_by)
        return Answer.of(Code.UNDECIDED, self.problem.arm_names) if void else self.by_time.answer

    @property
    def obstacles(self) -> tuple[Statement, ...]:
        """Why nothing is certified; empty where intervals are."""
        certificate = self.certificate
        found = [Statement(Obstacle.FINDING, {"finding": name}) for name in self.voided_by]
        found += [Statement(Obstacle.FITTED_LOGGING_ARM, {"arm": arm}) for arm in certificate.fitted_logging_arms]
        found += [Statement(Obstacle.ADAPTIVE)] * certificate.adaptive
        found += [Statement(Obstacle.LAW, {"law": lack.what, "why": lack.why}) for lack in certificate.lacks]
        found += [Statement(Obstacle.MISSING)] * certificate.missing
        return (*found, *[Statement(Obstacle.SHARES)] * certificate.without_shares)

    def with_findings(self, more: Iterable[Finding]) -> LogEvidence:
        """With what else was noticed."""
        return replace(self, findings=(*self.findings, *more))


def evidence_from_log(
    reader: LogReader,
    delta: float,
    estimated: bool,
    duplicates: bool,
    seed: int,
    at_random: bool = False,
    sketched: bool = False,
    told: Told | None = None,
) -> LogEvidence:
    """Everything that a log says. ``delta``: the error of what is certified; ``estimated``: P(S) and the law of contexts from
    the log alone; ``duplicates``: look for repeated row ids; ``at_random``: what missing outcomes are stated to be; ``sketched``: read
    a real outcome once more for its values; ``told``: how far passes over the rows are."""
    require_counts(reader)
    if duplicates:
        reader.drop_repeats()
    if can_be_timed(reader) and not reader.problem.unknown_arms:
        count_batches_too(reader)
    if reader.countable:
        found = _from_cells(reader, delta, estimated, seed, at_random)
        if sketched and found.problem.outcome.values is None:
            moved = np.isin(np.arange(len(found.problem.arms)), found.randomised, invert=True)
            found = replace(found, sketch=outcome_sketch(reader, found.problem, moved))
    else:
        found = _from_rows(reader, delta, estimated, told)
    problem = replace(reader.problem, shares=None) if estimated else reader.problem
    natural = found.natural if found.missing is None else found.natural + found.missing.natural
    more = check_counts(problem, reader.map.planned, found.made, natural)
    more += check_duplicates(reader.map.row_id, reader.table) if duplicates else []
    more += check_units(reader)
    return _with_answer_by_time(reader, found.with_findings(more), delta, estimated)


def _with_answer_by_time(reader: LogReader, found: LogEvidence, delta: float, estimated: bool) -> LogEvidence:
    """With the answer by time, where rows have times and nothing but missing outcomes, which are charged, stands against it."""
    stands = {name for name in found.voided_by if name != CHARGED}
    if stands or not can_be_timed(reader) or found.problem.fitted or found.lines is None:
        return found
    if found.certificate.without_shares or found.certificate.lacks:
        return found
    rows = rows_by_time(reader, found.lines)
    if rows is None:
        return found
    by_time = answer_by_time(found.problem, rows, delta, estimated)
    return replace(found, by_time=by_time).with_findings(check_times(rows.untimed, by_time.void))


def _from_cells(reader: LogReader, delta: float, estimated: bool, seed: int, at_random: bool) -> LogEvidence:
    """Finite columns: counts of cells."""
    log = counted_log(reader)
    evidence = log.evidence()
    needs = check_outcomes(reader)
    at_random = at_random and not needs
    # where boxes are too many to be drawn nothing can be bounded: the finding stays as it is
    missing = log.rows_without_outcome() if boxes_fit(log.problem) else None
    certificate = certify_counts(evidence, delta, estimated, reader.map.adaptive, missing, at_random)
    checks = [
        *needs,
        *check_cells(log.problem, log.every_row, estimated),
        *check_sparse(evidence),
        *check_bounds(certificate.bounds),
    ]
    rows, sums = evidence.group_sums((0,))
    made = all_made(evidence, missing)
    said = _assumed(reader, log.problem, made, estimated, log.fitted)
    return LogEvidence(
        problem=log.problem,
        source=LogSource.of(reader),
        beliefs=_believed(evidence, estimated, seed, missing),
        made=made,
        natural=rows[0].sum(axis=0),
        natural_sums=sums[0].sum(axis=0),
        natural_squares=evidence.natural_squares(),
        certificate=certificate,
        findings=(*_bounded(reader.findings(), missing, at_random), *checks),
        fitted=log.fitted,
        assumptions=(Statement(Assumption.AT_RANDOM), *said) if missing is not None and at_random else said,
        lines=log.batch.size,
        counted=evidence,
        missing=missing,
        at_random=at_random,
        randomised=tuple(sorted({log.problem.arm_index(name) for name in reader.map.randomised})),
    )


def _assumed(
    reader: LogReader, problem: Problem, made: IntArray, estimated: bool, fitted: tuple[FittedNote, ...] = ()
) -> tuple[Statement, ...]:
    """Of a log that has been read; ``made``: its rows by arm and group."""
    several = bool((made.sum(axis=1) > 0).sum() > 1)
    said = assumptions(
        problem, propensities=reader.map.has_propensities, several_arms=several, fitted=fitted, estimated=estimated,
        left_out=reader.left_out,
    )  # fmt: skip
    return (Statement(Assumption.NOT_LEARNED), *said)


def _believed(evidence: CountedEvidence, estimated: bool, seed: int, missing: MissingRows | None) -> Beliefs:
    """By the prior of logs. Rows without an outcome count for who they are: where cells have means of their own, contexts and groups
    are those of all rows."""
    beliefs = believe(evidence, estimated, seed)
    if not isinstance(beliefs, CellBeliefs):
        return beliefs
    return beliefs.of_log() if missing is None else missing.counted_in(beliefs.of_log())


def _bounded(
    findings: Iterable[Finding], missing: MissingRows | Completions | None, at_random: bool
) -> Iterator[Finding]:
    """What was wrong with rows; missing outcomes void nothing where all rows that lack one could be placed."""
    for finding in findings:
        if finding.name != CHARGED or missing is None or missing.total != finding.rows:
            yield finding
            continue
        start = finding.message.partition(". ")[0]
        yield replace(finding, message=f"{start}. {AT_RANDOM if at_random else WORST}", level=Level.WARNING)


def _from_rows(reader: LogReader, delta: float, estimated: bool, told: Told | None) -> LogEvidence:
    """Anything else: row by row."""
    fitted: tuple[FittedNote, ...] = ()
    if unknown := reader.problem.unknown_arms:
        if reader.map.has_propensities:
            raise DataError(
                f"Arm '{unknown[0]}' has no mechanism, and a log with propensities does not say which rows it made. Declare it, or leave it "
                f"or log.propensity out."
            )
        reader.problem, fitted = with_fitted_arms(reader.problem, every_row(reader), modelled=True)
    problem = reader.problem
    known = replace(problem, shares=None) if estimated else problem
    try:
        found = believe_rows(known, passes_of(reader, told), delta)
    except NoRowsError:
        if reader.used:
            raise
        raise no_usable_row(reader) from None
    if found.impossible:
        leave_out_impossible(reader, found.impossible, [])
    both = _completions(reader, known, delta, told)
    certificate = certify_rows(found if both is None else both.together(), delta, reader.map.adaptive)
    mean, error, least = found.mean_weight
    weights = WeightCheck(mean, error, least, found.misfit)
    checks = [
        *check_outcomes(reader),
        *check_weights(problem, weights),
        *check_bounds(certificate.bounds),
        *check_rules(found.rules),
    ]
    return LogEvidence(
        problem=problem,
        source=LogSource.of(reader),
        beliefs=found,
        made=found.made,
        natural=found.natural,
        natural_sums=found.natural_sums,
        natural_squares=found.natural_squares,
        certificate=certificate,
        findings=(*_bounded(reader.findings(), both, False), *checks),
        fitted=fitted,
        assumptions=_assumed(reader, problem, found.made, estimated, fitted),
        completions=both,
    )


def _completions(reader: LogReader, problem: Problem, delta: float, told: Told | None) -> Completions | None:
    """The rows once more with missing outcomes at their lowest, and at their highest; None where none is missing."""
    if CHARGED not in reader.tallies:
        return None
    twins = [reader.filling(outcome) for outcome in (0.0, 1.0)]
    ends = zip(twins, ("lowest", "highest"), strict=True)
    low, high = (believe_rows(problem, passes_of(twin, told, f"missing outcomes {end}"), delta) for twin, end in ends)
    return Completions(low, high, twins[0].used - low.impossible - reader.used)
