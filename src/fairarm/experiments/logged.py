"""From a log to evidence: read it, fit what is not declared, check it, and bound what can be certified from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairarm.beliefs.beliefs import Beliefs, believe
from fairarm.beliefs.evidence import CellEvidence, CountedEvidence, SumEvidence
from fairarm.beliefs.logged_rows import LoggedBeliefs, NoRowsError, believe_rows
from fairarm.beliefs.robust import choose_method
from fairarm.core.proof.log_intervals import GroupCells, bound_delta, cut_sums, weighted_intervals
from fairarm.core.proof.region import Intervals, intervals, narrowed
from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.logs.checks import WeightCheck, check_cells, check_counts, check_duplicates, check_weights
from fairarm.logs.findings import Finding
from fairarm.logs.reading import Dropped, LoggedCells, LogReader, listed
from fairarm.logs.sources import open_log
from fairarm.problem.fitting import FittedNote, fit_mechanisms
from fairarm.problem.likelihood import likelihood
from fairarm.problem.log_map import LogMap, WithColumns, problem_and_columns
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, groups_of
from fairarm.problem.shared_cells import missing_children
from fairarm.problem.space import CellSpace

REGION, BERNSTEIN = "joint region of the cell means", "empirical Bernstein bounds of weighted rows"


@dataclass(frozen=True)
class Logged:
    """A log as evidence: beliefs, what is certified, and everything that has to be said of it."""

    problem: Problem
    """With the mechanisms that were fitted."""
    name: str
    engine: str
    rows: int
    used: int
    beliefs: Beliefs
    made: IntArray
    """Rows by arm and group, (K, G)."""
    natural: IntArray
    natural_sums: FloatArray
    natural_squares: FloatArray
    """Natural rows by group, their Σ Y' and Σ Y'², (G,)."""
    certified: Intervals | None
    certified_by: str | None
    not_certified: tuple[str, ...]
    uncertified_arms: tuple[int, ...]
    findings: tuple[Finding, ...]
    fitted: tuple[FittedNote, ...]
    assumptions: tuple[str, ...]
    dropped: tuple[Dropped, ...]
    """Rows left out on purpose, by value."""

    @property
    def fitted_arms(self) -> set[int]:
        return _fitted_arms(self.problem)


def read_evidence(
    problem: Problem,
    columns: LogMap,
    log: Any,
    *,
    engine: str | None,
    delta: float,
    estimated: bool,
    duplicates: bool,
    seed: int,
) -> Logged:
    """Everything that a log says; ``delta`` the error of what is certified."""
    reader = LogReader(problem, open_log(log, engine=engine), columns)
    made = _from_cells(reader, delta, estimated, seed) if reader.countable else _from_rows(reader, delta, estimated)
    extra = check_counts(
        problem if not estimated else replace(problem, shares=None), columns.planned, made.made, made.natural
    )
    extra += check_duplicates(columns.row_id, reader.table) if duplicates else []
    return replace(made, findings=(*made.findings, *extra))


# ---- finite columns: counts of cells ----


def counted_batch(reader: LogReader) -> tuple[Problem, LoggedCells, tuple[FittedNote, ...]]:
    """The usable rows as lines with counts, and the problem with the mechanisms that had to be fitted from them."""
    cells = reader.cells()
    if not cells.batch.total:
        raise DataError(_nothing(reader))
    problem, fitted = _fitted(reader.problem, cells.batch)
    possible = _possible(problem, cells.batch)
    if not possible.all():
        wrong = np.flatnonzero(~possible)
        names = (problem.decision, *(x for x in problem.relevant_children if x in cells.batch.columns))
        labels = cells.batch.take(wrong[:5]).labels(problem)
        texts = [", ".join(f"{n} = {labels[n][i]}" for n in ("arm", *names)) for i in range(len(labels["arm"]))]
        reader.leave_out("impossible-rows", int(cells.batch.count[wrong].sum()), texts)
        kept = np.flatnonzero(possible)
        cells = LoggedCells(cells.batch.take(kept), None if cells.sums is None else cells.sums[kept])
    return problem, cells, fitted


def _fitted_arms(problem: Problem) -> set[int]:
    """Arms whose table was fitted, from this log or before."""
    return {k for k, arm in enumerate(problem.arms) if arm.name in problem.fitted}


def _source(reader: LogReader) -> dict[str, Any]:
    """What was read."""
    return {
        "name": reader.table.name,
        "engine": reader.table.engine,
        "rows": reader.rows,
        "used": reader.used,
        "dropped": reader.dropped,
    }


def _nothing(reader: LogReader) -> str:
    why = "; ".join(f"{f.name}: {f.message} {', '.join(f.examples)}" for f in reader.findings()) or "it has no rows"
    return f"No row of the log {reader.table.name} can be used: {why}"


def _fitted(problem: Problem, batch: Batch) -> tuple[Problem, tuple[FittedNote, ...]]:
    if not problem.unknown_arms:
        return problem, ()
    by_arm = {}
    for k, name in enumerate(problem.arm_names):
        lines = np.flatnonzero(batch.arm == k)
        by_arm[name] = ({n: v[lines] for n, v in batch.columns.items()}, batch.count[lines])
    return fit_mechanisms(problem, by_arm)


def _possible(problem: Problem, batch: Batch) -> Any:
    """Lines that the declared mechanisms can produce, (I,)."""
    possible = np.ones(batch.size, dtype=bool)
    for k, arm in enumerate(problem.arms):
        lines = np.flatnonzero(batch.arm == k)
        if len(lines):
            own = arm.mechanism.log_prob({name: values[lines] for name, values in batch.columns.items()})
            possible[lines] &= ~np.isneginf(own)
    for x in problem.relevant_children:
        if x in problem.mechanisms and x in batch.columns:
            possible &= ~np.isneginf(problem.mechanisms[x].log_prob(batch.columns))
    return possible


def _from_cells(reader: LogReader, delta: float, estimated: bool, seed: int) -> Logged:
    problem, cells, fitted = counted_batch(reader)
    evidence: CountedEvidence = (
        CellEvidence.empty(problem).add(cells.batch)
        if cells.sums is None
        else SumEvidence.of(problem, cells.batch, cells.sums)
    )
    fitted_arms = _fitted_arms(problem)
    made = evidence.by_group()
    certified, by, why, excluded = _certify(problem, evidence, made, fitted_arms, delta, estimated)
    checks = [
        *check_cells(problem, cells.batch, estimated),
        *_too_sparse(problem, evidence),
        *_contradiction(certified),
    ]
    rows, sums = evidence.group_sums((0,))
    return Logged(
        problem=problem,
        **_source(reader),
        beliefs=believe(evidence, estimated, seed),
        made=made.made,
        natural=rows[0].sum(axis=0),
        natural_sums=sums[0].sum(axis=0),
        natural_squares=evidence.natural_squares(),
        certified=certified,
        certified_by=by,
        not_certified=why,
        uncertified_arms=excluded,
        findings=(*reader.findings(), *checks),
        fitted=fitted,
        assumptions=assumptions(problem, reader, made.made, fitted, estimated),
    )


def _too_sparse(problem: Problem, evidence: CountedEvidence) -> list[Finding]:
    """Cell means are used where they are poor: with a fitted mechanism or a summed outcome there is nothing better."""
    if not problem.fitted and not evidence.summed:
        return []
    if choose_method(problem, evidence) == "cell means":
        return []
    text = (
        "Most of what the arms would do falls into cells with fewer than 5 rows. The usual intervals then rest on cells being "
        "alike, and may be too narrow. Merge states, or use arms with fewer inputs."
    )
    return [Finding("sparse-cells", text, int(evidence.pulls().sum()), voids=False)]


def _certify(
    problem: Problem,
    evidence: CountedEvidence,
    made: GroupCells,
    fitted_arms: set[int],
    delta: float,
    estimated: bool,
) -> tuple[Intervals | None, str | None, tuple[str, ...], tuple[int, ...]]:
    """Certified intervals, how, why there are none, and the arms that they do not cover."""
    shares = None if estimated or problem.shares is None else np.array(problem.shares)
    shared = problem.shared_cells.apart()
    excluded = tuple(sorted(fitted_arms))
    logging = [problem.arm_names[k] for k in excluded if made.made[k].any()]
    declared = not missing_children(problem) and not {*problem.mechanisms} & {*problem.fitted}
    known_law = shared.law is not None and declared and not (estimated and shared.contexts > 1)
    ways: list[str] = [REGION] * known_law + [BERNSTEIN] * (not logging)
    if not ways:
        return None, None, (_made_by_a_fitted(logging[0]),), excluded
    found: list[Intervals] = []
    part = delta / len(ways)
    if known_law and shared.law is not None:
        seen = evidence.summary(shared)
        n, natural = seen.rows.astype(np.float64), seen.natural.astype(np.float64)
        found.append(intervals(n, seen.sums, shared.law_of_cells(shared.law[None])[0], part, shares, natural))
    if not logging:
        rows = evidence.group_sums((0,))[0][0].sum(axis=0).astype(np.float64)
        cut = cut_sums(law_of_cells(problem), made, bound_delta(part, len(problem.arms), shares is not None))
        found.append(weighted_intervals(cut, part, shares, rows))
    return narrowed(found), " and ".join(ways), (), excluded


def _made_by_a_fitted(arm: str) -> str:
    return f"the mechanism of '{arm}', which made rows, was fitted from them"


def _contradiction(certified: Intervals | None) -> list[Finding]:
    """Bounds that no truth meets: under the declared mechanisms that happens with probability at most δ."""
    if certified is None or not certified.empty:
        return []
    text = "No truth lies within all certified bounds: something that was declared, or that it rests on, is wrong."
    return [Finding("bounds-contradict", text)]


def law_of_cells(problem: Problem) -> FloatArray:
    """P_k(x | t) over the cells' columns, (K, G, X)."""
    space = CellSpace.of(problem.cell_columns, problem.variables)
    return np.exp(likelihood(problem, space.codes(), space.count, without_outcome=True).arms)


# ---- anything else: row by row ----


def _from_rows(reader: LogReader, delta: float, estimated: bool) -> Logged:
    problem = reader.problem
    if unknown := problem.unknown_arms:
        raise DataError(
            f"Arm '{unknown[0]}' has no mechanism, and it can be fitted from a log only where every input is finite. Declare "
            f"it (Arm.from_classifier), or leave it out and give log.propensity."
        )
    known = replace(problem, shares=None) if estimated else problem
    try:
        found: LoggedBeliefs = believe_rows(known, reader.chunks, delta)
    except NoRowsError:
        if reader.used:
            raise
        raise DataError(_nothing(reader)) from None
    if found.impossible:
        reader.leave_out("impossible-rows", found.impossible, [])
    shares = None if known.shares is None else np.array(known.shares)
    mean, error, least = found.mean_weight
    seen = WeightCheck(mean, error, least, found.misfit)
    excluded = tuple(sorted(_fitted_arms(problem)))
    logging = [problem.arm_names[k] for k in excluded if found.made[k].any()]
    certified = weighted_intervals(found.cut, delta, shares, found.natural.astype(np.float64))
    return Logged(
        problem=problem,
        **_source(reader),
        beliefs=found,
        made=found.made,
        natural=found.natural,
        natural_sums=found.natural_sums,
        natural_squares=found.natural_squares,
        certified=None if logging else certified,
        certified_by=None if logging else BERNSTEIN,
        not_certified=(_made_by_a_fitted(logging[0]),) if logging else (),
        uncertified_arms=excluded,
        findings=(*reader.findings(), *check_weights(problem, seen), *_contradiction(certified)),
        fitted=(),
        assumptions=assumptions(problem, reader, found.made, (), estimated),
    )


# ---- what it all rests on ----


def assumptions(
    problem: Problem, reader: LogReader, made: IntArray, fitted: tuple[FittedNote, ...], estimated: bool
) -> tuple[str, ...]:
    """In plain words, for someone who has to believe them."""
    V, Y, S = problem.decision, problem.outcome.node, problem.sensitive
    said = [
        f"The causal graph is as declared. Nothing causes '{S}', and '{S}' acts on '{Y}' only along the declared arrows.",
        "Rows are different people, independent of each other, and no row was dropped because of its outcome.",
    ]
    if reader.map.has_propensities:
        said.append(f"The logged propensities are the probabilities with which each '{V}' was really drawn.")
    else:
        inputs = sorted({p for arm in problem.arms for p in arm.parents})
        said.append(
            f"The logged '{V}' was decided from {', '.join(inputs) or 'nothing'} and chance alone: nothing else that "
            f"moved it moves '{Y}' as well."
        )
    if (made.sum(axis=1) > 0).sum() > 1:
        said.append("Which arm served a person did not depend on who the person was.")
    declared = [x for x in problem.relevant_children if x in problem.mechanisms and x not in problem.fitted]
    if declared:
        said.append(f"The declared mechanisms of {', '.join(declared)} are right.")
    if problem.context is not None and not estimated:
        said.append("The declared law of what arms see is right.")
    for note in fitted:
        who = f"arm '{note.arm}'" if note.arm else f"'{note.node}'"
        said.append(
            f"The mechanism of {who} was not declared: it was fitted from {note.rows} rows, and its error is in the usual "
            f"intervals."
        )
    for x in missing_children(problem):
        said.append(f"The mechanism of '{x}' is not declared: each group's rows speak for that group alone.")
    known = not estimated and problem.shares is not None
    said.append(f"The shares of the groups are {'the declared ones' if known else 'estimated from the natural rows'}.")
    if reader.met:
        said.append(f"Rows were left out on purpose ({listed(reader.met)}): the answer is about the others alone.")
    for column in reader.unplaced:
        said.append(
            f"Rows were left out by '{column}'; this holds if '{column}' was known before the decision and did not follow from it."
        )
    said.append("People who come later are like those in the log.")
    return tuple(said)


# ---- a log as pulls already made ----


@dataclass(frozen=True)
class LoggedPulls:
    """The usable rows of a log as a batch, for a run that starts from them."""

    problem: Problem
    """With the mechanisms that were fitted."""
    batch: Batch
    findings: tuple[Finding, ...]
    dropped: tuple[Dropped, ...] = ()
    """Rows left out on purpose, by value."""
    fitted: tuple[FittedNote, ...] = ()


def read_log(
    problem: Problem | WithColumns, log: Any, *, columns: LogMap | None = None, engine: str | None = None
) -> LoggedPulls:
    """A log as pulls already made. Lines of finite columns are counted; else rows are kept, at most MOST_ROWS.

    ``columns`` says where the log keeps what the problem needs; a scenario brings its own.
    """
    problem, columns = problem_and_columns(problem, columns)
    if columns.has_propensities:
        raise DataError(
            "A run cannot start from a log with propensities: it needs to know which arm made each row. Give log.arm or "
            "log.made_by instead."
        )
    reader = LogReader(problem, open_log(log, engine=engine), columns)
    fitted: tuple[FittedNote, ...] = ()
    if reader.countable and problem.outcome.values is not None:
        problem, cells, fitted = counted_batch(reader)
        batch = cells.batch
        checks = check_cells(problem, batch, estimated=False)
    else:
        batch, checks = _all_rows(reader), []
    made, natural = _by_group(problem, batch)
    extra = [
        *checks,
        *check_counts(problem, columns.planned, made, natural),
        *check_duplicates(columns.row_id, reader.table),
    ]
    return LoggedPulls(problem, batch, (*reader.findings(), *extra), reader.dropped, fitted)


MOST_ROWS = 1_000_000
"""Rows that a run can start from one by one."""


def _all_rows(reader: LogReader) -> Batch:
    parts = []
    total = 0
    for part in reader.chunks():
        parts.append(part.batch)
        total += part.batch.size
        if total > MOST_ROWS:
            raise DataError(
                f"The log has more than {MOST_ROWS} usable rows that cannot be counted by cell. Start from a part of it, or declare "
                f"its columns with states."
            )
    if not total:
        raise DataError(_nothing(reader))
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in reader.problem.observed}
    arm, regime, count = (np.concatenate([getattr(part, key) for part in parts]) for key in ("arm", "regime", "count"))
    return Batch(arm, regime, columns, count)


def _by_group(problem: Problem, batch: Batch) -> tuple[IntArray, IntArray]:
    """Rows by arm and group (K, G), and natural rows by group (G,)."""
    group = groups_of(problem, batch)
    made = np.zeros((len(problem.arms), len(problem.groups)), dtype=np.int64)
    natural = np.zeros(len(problem.groups), dtype=np.int64)
    np.add.at(made, (batch.arm, group), batch.count)
    np.add.at(natural, group, np.where(batch.regime == 0, batch.count, 0))
    return made, natural
