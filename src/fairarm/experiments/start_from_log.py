"""What ``log=`` is, wherever a function takes it: a path, a URL, a data frame, columns by name, a list of records, a batch,
or what `read_log` made of one of them. And a log as the start of a run: its rows count as pulls already made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairarm.algorithms import Algorithm, Guarantee, make_procedure
from fairarm.algorithms import algorithm as start
from fairarm.algorithms.notes import Note, RunNote
from fairarm.algorithms.procedure import Procedure
from fairarm.algorithms.saved import fingerprint
from fairarm.beliefs.evidence import RunEvidence
from fairarm.beliefs.findings import MOST_DISCARDED, Finding, Level
from fairarm.beliefs.from_log import earlier_evidence
from fairarm.core.types import IntArray
from fairarm.errors import DataError, OptionError
from fairarm.problem.constraint import Constraint
from fairarm.problem.log_map import LogMap, WithColumns, problem_and_columns
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, check_batch, groups_of

if TYPE_CHECKING:  # a run without a log does not load what reads one
    from fairarm.beliefs.assumptions import Statement
    from fairarm.experiments.evidence_from_log import LogEvidence
    from fairarm.logs.reading import Dropped, LogReader
    from fairarm.logs.usable import LogSource
    from fairarm.problem.fitting import FittedNote


@dataclass(frozen=True)
class LoggedPulls:
    """The usable rows of a log as a batch, for a run that starts from them, and what was noticed in reading it."""

    problem: Problem
    """With the mechanisms that were fitted."""
    batch: Batch
    findings: tuple[Finding, ...]
    dropped: tuple[Dropped, ...] = ()
    """Rows left out on purpose, by value."""
    fitted: tuple[FittedNote, ...] = ()
    source: LogSource | None = None
    """What was read; None of a batch, which needed no reading."""
    left_out: tuple[Statement, ...] = ()
    """What leaving rows out on purpose rests on."""
    missing: Batch | None = None
    """Rows that lack their outcome and nothing else; the outcome's column holds a stand-in."""

    @property
    def missing_rows(self) -> IntArray | None:
        """Those by regime, arm, group and cell, (R, K, G, X)."""
        from fairarm.beliefs.missing_rows import MissingRows

        return None if self.missing is None else MissingRows.of(self.problem, self.missing).counts

    @property
    def voided_by(self) -> tuple[str, ...]:
        """Findings with which nothing is certified, whatever the numbers say."""
        return tuple(finding.name for finding in self.findings if finding.blocks_certification)

    def evidence(self) -> RunEvidence | None:
        """The rows as a run counts them; None where there is none."""
        return earlier_evidence(self.problem, self.batch)

    def of(self, problem: Problem) -> LoggedPulls:
        """For a problem that may differ in what no row tells (constraints, costs, budget): with the tables fitted here.

        Rows are codes by now, and were checked against what was declared: for any other problem they are read again.
        """
        fitted = {arm.name: arm for arm in self.problem.arms if arm.name in problem.unknown_arms}
        known = problem.with_arms([fitted.get(arm.name, arm) for arm in problem.arms]) if fitted else problem
        if not _read_alike(self.problem, known):
            raise DataError(
                f"This log was read for a problem that differs from '{problem.name}' in more than constraints, costs and budget: its "
                f"rows may mean something else there. Read it again: read_log(problem, log)."
            )
        return replace(self, problem=known)

    def carried(self, found: LogEvidence) -> LogEvidence:
        """What these rows say, with what was noticed and left out when they were read."""
        names = {finding.name for finding in found.findings}
        found = found.with_findings(finding for finding in self.findings if finding.name not in names)
        *said, last = found.assumptions
        source = found.source if self.source is None else self.source
        return replace(found, source=source, assumptions=(*said, *self.left_out, last))


def _read_alike(first: Problem, second: Problem) -> bool:
    """Whether a row of a log is the same to both, and is checked against the same: what is asked of the arms does not matter."""
    one = (Constraint(tolerance=first.outcome.width),)
    plain = [replace(p, name="log", constraints=one, costs=(), budget=None) for p in (first, second)]
    code = [
        [m for m in (*(arm.mechanism for arm in p.arms), *p.mechanisms.values()) if not hasattr(m, "probabilities")]
        for p in plain
    ]
    return fingerprint(plain[0]) == fingerprint(plain[1]) and code[0] == code[1]


def read_log(
    problem: Problem | WithColumns, log: Any, *, columns: LogMap | None = None, engine: str | None = None
) -> LoggedPulls:
    """A log as pulls already made. Lines of finite columns are counted; else rows are kept, at most a million.

    ``columns`` says where the log keeps what the problem needs; a scenario brings its own. A batch needs neither.
    """
    if isinstance(log, LoggedPulls | Batch):
        _require_no_reading(columns, engine)
        known = problem_of(problem)
        return log.of(known) if isinstance(log, LoggedPulls) else _from_batch(known, log)
    from fairarm.logs.checks import check_cells, check_counts, check_duplicates
    from fairarm.logs.unanswered import check_outcomes
    from fairarm.logs.units import check_units
    from fairarm.logs.usable import (
        LogSource,
        counted_log,
        every_row,
        joined,
        missing_of,
        require_counts,
        with_fitted_arms,
    )

    reader = log_reader(problem, log, columns=columns, engine=engine)
    if reader.map.has_propensities:
        raise DataError(
            "A run cannot start from a log with propensities: it needs to know which arm made each row. Give log.arm or "
            "log.made_by instead."
        )
    require_counts(reader)
    reader.drop_repeats()
    known, checks = reader.problem, []
    fitted: tuple[FittedNote, ...] = ()
    missing: Batch | None = None
    if reader.countable and known.outcome.values is not None:
        counted = counted_log(reader)
        known, batch, fitted, missing = counted.problem, counted.batch, counted.fitted, counted.missing
        every = counted.every_row
    else:
        batch, missing = every_row(reader), missing_of(reader)
        every = batch if missing is None else joined(batch, missing)
        known, fitted = with_fitted_arms(known, every)
    if reader.countable:
        checks = check_cells(known, every, estimated=False)
    checks += check_counts(known, reader.map.planned, *rows_by_group(known, every))
    checks += [*check_duplicates(reader.map.row_id, reader.table), *check_units(reader), *check_outcomes(reader)]
    said = tuple(_charged(finding, missing) for finding in reader.findings())
    missing = missing if any(finding.name == HOLES and not finding.blocks_certification for finding in said) else None
    source, dropped = LogSource.of(reader), reader.dropped
    return LoggedPulls(known, batch, (*said, *checks), dropped, fitted, source, reader.left_out, missing)


HOLES = "missing-outcomes"
CHARGED = (
    "What is certified counts each as it would hurt the answer most; probabilities take them as missing at random given the cell: in each "
    "cell like those that came."
)
"""What a run that starts from a log does about missing outcomes."""


def _charged(finding: Finding, missing: Batch | None) -> Finding:
    """Missing outcomes void nothing where all rows that lack one could be placed."""
    if finding.name != HOLES or missing is None or missing.total != finding.rows:
        return finding
    return replace(finding, message=f"{finding.message.partition('. ')[0]}. {CHARGED}", level=Level.WARNING)


def log_reader(
    problem: Problem | WithColumns, log: Any, *, columns: LogMap | None = None, engine: str | None = None
) -> LogReader:
    """Whatever ``log=`` may be, to be read for a problem."""
    from fairarm.logs.digests import learned_from
    from fairarm.logs.reading import LogReader
    from fairarm.logs.sources import open_log

    if not isinstance(log, LoggedPulls | Batch):
        known, columns = problem_and_columns(problem, columns)
        opened = open_log(log, engine=engine)
        return LogReader(known, opened, columns, learned=learned_from(known.arms, opened, columns.row_id))
    _require_no_reading(columns, engine)
    known = problem_of(problem)
    if isinstance(log, LoggedPulls):
        known, batches = log.of(known).problem, [log.batch, *([] if log.missing is None else [log.missing])]
    else:
        batches = [log]
    check_batch(known, batches[0])
    nodes: dict[str, list[Any]] = {}
    for i, batch in enumerate(batches):
        for name, values in batch.node_labels(known).items():
            hidden = i > 0 and name == known.outcome.node  # of these the outcome is missing
            nodes.setdefault(name, []).extend([None] * len(values) if hidden else values)
    arm, regime, count = (_free(name, nodes) for name in ("arm", "regime", "count"))
    labels: dict[str, Any] = {
        arm: [known.arm_names[i] for batch in batches for i in batch.arm],
        regime: [known.regimes[i] for batch in batches for i in batch.regime],
        count: [n for batch in batches for n in batch.count.tolist()],
    }
    return LogReader(known, open_log({**nodes, **labels}), LogMap(arm=arm, regime=regime, count=count))


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """A name that no node has."""
    while name in taken:
        name += "_"
    return name


def problem_of(given: Problem | WithColumns) -> Problem:
    """The problem itself, where its log needs no reading."""
    return given if isinstance(given, Problem) else problem_and_columns(given, None)[0]


def _require_no_reading(columns: LogMap | None, engine: str | None) -> None:
    for name, value in (("columns", columns), ("engine", engine)):
        if value is not None:
            raise OptionError(f"{name}= says how to read a log, and a batch has been read already. Leave it out.")


def _from_batch(problem: Problem, batch: Batch) -> LoggedPulls:
    """Rows that are codes already: nothing is left out, but they are checked against what is declared all the same."""
    check_batch(problem, batch)
    if not batch.total:
        return LoggedPulls(problem, batch, ())
    from fairarm.logs.checks import check_cells, check_counts
    from fairarm.logs.usable import with_fitted_arms

    known, fitted = with_fitted_arms(problem, batch)
    checks = check_cells(known, batch, estimated=False) if known.compiled.finite else []
    checks += check_counts(known, {}, *rows_by_group(known, batch))
    return LoggedPulls(known, batch, tuple(checks), (), fitted)


def rows_by_group(problem: Problem, batch: Batch) -> tuple[IntArray, IntArray]:
    """Rows by arm and group (K, G), and natural rows by group (G,)."""
    group = groups_of(problem, batch)
    made = np.zeros((len(problem.arms), len(problem.groups)), dtype=np.int64)
    natural = np.zeros(len(problem.groups), dtype=np.int64)
    np.add.at(made, (batch.arm, group), batch.count)
    np.add.at(natural, group, np.where(batch.regime == 0, batch.count, 0))
    return made, natural


# ---- runs that start from it ----


def started(
    problem: Problem | WithColumns, log: Any, columns: LogMap | None, engine: str | None
) -> tuple[Problem, LoggedPulls | None]:
    """The problem, with mechanisms fitted where they had to be, and the log, where there is one."""
    if log is None:
        for name, value in (("columns", columns), ("engine", engine)):
            if value is not None:
                raise OptionError(f"{name}= says how to read a log; give one with log=.")
        return problem_of(problem), None
    read = read_log(problem, log, columns=columns, engine=engine)
    return read.problem, read


def refuse_holes(read: LoggedPulls | None, procedures: Iterable[Procedure]) -> None:
    """An error where answers are to be certified in many runs at once, and the log lacks outcomes."""
    if read is None or read.missing is None:
        return
    if any(procedure.guarantee == Guarantee.CERTIFIED for procedure in procedures):
        raise DataError(
            f"The log lacks {read.missing.total} outcomes. A certified run charges them (identify); many runs at once do not. Use "
            f"stop='bayes-stop', or a log without those rows."
        )


def require_certifiable(read: LoggedPulls | None, procedures: Iterable[Procedure]) -> None:
    """An error where an answer is to be certified that rests on a log with a finding that blocks certification."""
    if any(procedure.guarantee == Guarantee.CERTIFIED for procedure in procedures):
        refuse_voided(read, "stop='bayes-stop'")


def refuse_voided(read: LoggedPulls | None, instead: str) -> None:
    """The error itself; ``instead`` is how to ask for an answer that is not certified."""
    if read is not None and read.voided_by:
        raise DataError(
            f"The log has the finding '{read.voided_by[0]}': an answer that rests on it cannot be certified. Correct the log, or "
            f"use {instead}."
        )


def _blocking(read: LoggedPulls) -> tuple[Note, ...]:
    """What of the log blocks the answer of a run that is not certified: the posterior takes outcomes as missing at random."""
    lacking = 0 if read.missing is None else read.missing.total
    found = [(finding.name, finding.rows) for finding in read.findings if finding.blocks_answer]
    found += [(HOLES, lacking)] if lacking > MOST_DISCARDED * (lacking + read.batch.total) else []
    return tuple(Note(RunNote.LOG_BLOCKS, rows, name) for name, rows in dict(found).items())


def algorithm(
    name: str,
    problem: Problem | WithColumns,
    /,
    *,
    pulls: int,
    seed: int = 0,
    log: Any = None,
    columns: LogMap | None = None,
    engine: str | None = None,
    **options: Any,
) -> Algorithm:
    """A new run of a named algorithm, to be asked and told.

    ``log`` holds rows that were made before: a path, a URL, a data frame, columns by name, a batch, or what `read_log`
    returned (which the run then has as ``started_from``, with its findings). They count in every estimate of the run, but
    neither as pulls nor as cost. Pool plans from the first pull on by what they leave open, and with a confidence it makes
    none where they are enough; the others pull as they would without them. The v1 algorithms take no log.
    """
    known, read = started(problem, log, columns, engine)
    return new_run(name, known, read, pulls, seed, options)


def new_run(
    name: str, problem: Problem, read: LoggedPulls | None, pulls: int, seed: int, options: dict[str, Any]
) -> Algorithm:
    """A run that starts from a log that has been read, or from nothing."""
    if read is None:
        return start(name, problem, pulls=pulls, seed=seed, **options)
    procedure = make_procedure(name, problem, pulls, **options)
    require_certifiable(read, [procedure])
    notes = () if procedure.guarantee == Guarantee.CERTIFIED else _blocking(read)
    run = start(
        name, problem, pulls=pulls, seed=seed, earlier=read.evidence(), missing=read.missing_rows, notes=notes, **options
    )  # fmt: skip
    run.started_from = read
    return run
