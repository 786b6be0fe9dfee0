"""The usable rows of a log, and the mechanisms that had to be fitted from them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.evidence import CellEvidence, CountedEvidence, SumEvidence
from fairarm.beliefs.missing_rows import MissingRows
from fairarm.core.types import BoolArray, FloatArray
from fairarm.errors import DataError
from fairarm.logs.reading import Dropped, LogReader
from fairarm.problem.fitting import FittedNote, fit_mechanisms
from fairarm.problem.problem import Problem
from fairarm.problem.propensity import fit_models
from fairarm.problem.pulls import Batch
from fairarm.problem.world_terms import needs_children

MOST_ROWS = 1_000_000
"""Rows that can be kept one by one."""

MOST_IMPOSSIBLE = 0.2
"""Above this share of rows that their arm cannot have made, they are not said to be of the right arm."""


@dataclass(frozen=True)
class LogSource:
    """What was read: the log's name, the engine that read it, and how many of its rows could be used."""

    name: str
    engine: str
    rows: int
    used: int
    dropped: tuple[Dropped, ...] = ()
    """Rows left out on purpose, by value."""

    @classmethod
    def of(cls, reader: LogReader) -> LogSource:
        """After reading."""
        return cls(reader.table.name, reader.table.engine, reader.rows, reader.used, reader.dropped)


@dataclass(frozen=True)
class CountedLog:
    """The usable rows of a log as lines with counts."""

    problem: Problem
    """With the mechanisms that were fitted from them."""
    batch: Batch
    sums: FloatArray | None
    """Of a real outcome: Σ Y', Σ (Y' − Ȳ')² and Σ (Y' − Ȳ')³ of each line, (I, 3)."""
    fitted: tuple[FittedNote, ...]
    pilot: BoolArray | None = None
    """Of a real outcome: lines of rows that are chosen by their ids, (I,), where every row has one."""
    missing: Batch | None = None
    """Rows that lack their outcome and nothing else; the outcome's column holds a stand-in."""
    missing_pilot: BoolArray | None = None

    @property
    def every_row(self) -> Batch:
        """With those that lack their outcome."""
        return self.batch if self.missing is None else joined(self.batch, self.missing)

    def rows_without_outcome(self) -> MissingRows | None:
        """Those that lack it, counted; None where no row does."""
        return None if self.missing is None else MissingRows.of(self.problem, self.missing, self.missing_pilot)

    def evidence(self) -> CountedEvidence:
        """Counts of cells, or sums by cell."""
        if self.sums is None:
            return CellEvidence.empty(self.problem).add(self.batch)
        return SumEvidence.of(self.problem, self.batch, self.sums, self.pilot)


def require_counts(reader: LogReader) -> None:
    """An error where rows would have to be read one by one, and more is asked than about the groups of one attribute without causes."""
    problem = reader.problem
    if problem.plain or reader.countable:
        return
    start = f"Problem '{problem.name}' has several attributes, causes of one, or kept nodes, and its rows are then counted by cell:"
    if reader.map.has_propensities or reader.map.fit_propensity:
        raise DataError(
            f"{start} propensities cannot be used, logged or fitted. Leave them out, and say which arm made each row (log.arm)."
        )
    if real := [name for name in problem.cell_columns if not problem.variables[name].finite]:
        raise DataError(
            f"{start} '{real[0]}' is real-valued. Leave it out if no rule looked at it, or ask about one attribute without causes."
        )
    raise DataError(
        f"{start} there are too many combinations of values to count. Merge states, or use arms with fewer inputs."
    )


def counted_log(reader: LogReader) -> CountedLog:
    """All rows of a log that is countable; those that the mechanisms cannot have made are left out."""
    cells = reader.cells()
    batch, sums = cells.batch, cells.sums
    missing, chosen = cells.missing or (None, None)
    pilots = [cells.pilot, *([] if missing is None else [chosen])]
    known = all(part is not None and not (part < 0).any() for part in pilots)
    pilot = cells.pilot == 1 if known and cells.pilot is not None else None
    if not batch.total:
        raise no_usable_row(reader)
    problem, fitted = with_fitted_arms(reader.problem, batch if missing is None else joined(batch, missing))
    possible = possible_lines(problem, batch)
    if not possible.all():
        _leave_out(reader, problem, batch, possible)
        kept = np.flatnonzero(possible)
        batch, sums = batch.take(kept), None if sums is None else sums[kept]
        pilot = None if pilot is None else pilot[kept]
    if missing is None:
        return CountedLog(problem, batch, sums, fitted, pilot)
    kept = np.flatnonzero(
        possible_lines(problem, missing)
    )  # the others void by their finding, as they are placed nowhere
    in_pilot = chosen[kept] == 1 if known and chosen is not None else None
    return CountedLog(problem, batch, sums, fitted, pilot, missing.take(kept), in_pilot)


def joined(first: Batch, second: Batch) -> Batch:
    """The lines of both."""
    columns = {name: np.concatenate([values, second.columns[name]]) for name, values in first.columns.items()}
    arm, regime, count = (
        np.concatenate([getattr(first, key), getattr(second, key)]) for key in ("arm", "regime", "count")
    )
    return Batch(arm, regime, columns, count)


def with_fitted_arms(problem: Problem, batch: Batch, modelled: bool = False) -> tuple[Problem, tuple[FittedNote, ...]]:
    """The problem with a table for every arm that has none, from the arm's own rows; with children's too where nothing can be said
    without them. With a model in place of a table where an input is real-valued, or that is asked (``modelled``)."""
    children = needs_children(problem)
    if not problem.unknown_arms and not children:
        return problem, ()
    by_arm = {}
    for k, name in enumerate(problem.arm_names):
        lines = np.flatnonzero(batch.arm == k)
        by_arm[name] = ({n: v[lines] for n, v in batch.columns.items()}, batch.count[lines])
    modelled |= any(not problem.variables[name].finite for arm in problem.arms for name in arm.parents)
    if modelled and problem.variables[problem.decision].finite:
        return fit_models(problem, by_arm)
    return fit_mechanisms(problem, by_arm, children=children)


def possible_lines(problem: Problem, batch: Batch) -> BoolArray:
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


def _leave_out(reader: LogReader, problem: Problem, batch: Batch, possible: BoolArray) -> None:
    wrong = np.flatnonzero(~possible)
    names = ("arm", problem.decision, *(x for x in problem.relevant_children if x in batch.columns))
    labels = batch.take(wrong[:5]).labels(problem)
    texts = [", ".join(f"{n} = {labels[n][i]}" for n in names) for i in range(len(labels["arm"]))]
    leave_out_impossible(reader, int(batch.count[wrong].sum()), texts)


def leave_out_impossible(reader: LogReader, rows: int, examples: list[str]) -> None:
    """Rows that the declared mechanisms cannot have made; an error where they are many."""
    reader.leave_out("impossible-rows", rows, examples)
    if rows <= MOST_IMPOSSIBLE * reader.rows:
        return
    problem, log = reader.problem, reader.map
    start = f"{rows:,} of {reader.rows:,} rows have decisions that"
    if log.arm is not None or log.has_propensities:
        raise DataError(f"{start} their rules never make. Correct log.arm, or the declared mechanisms.")
    by_rule = rule_of_decision(problem)
    labels = ", and name the rule of each value in log.labels.arm" if any(a != b for a, b in by_rule.items()) else ""
    hint = f' Each decision is of one rule: log.arm = "{log.column(problem.decision)}"{labels}.' if by_rule else ""
    raise DataError(
        f"{start} rule {log.made_by or problem.deployed} never makes. Which rule made each row? Set log.arm.{hint}"
    )


def rule_of_decision(problem: Problem) -> dict[str, str]:
    """Decision -> the arm that always makes it, or that is called so; empty where decisions do not tell arms apart."""
    states = problem.variables[problem.decision].states or ()
    if {*states} <= {*problem.arm_names}:
        return {state: state for state in states}
    tables = {arm.name: getattr(arm.mechanism, "probabilities", np.zeros(1)) for arm in problem.arms}
    if any(table.shape != (len(states),) or table.max() < 1 for table in tables.values()):
        return {}
    made = {states[int(table.argmax())]: name for name, table in tables.items()}
    return made if len(made) == len(tables) else {}


def every_row(reader: LogReader) -> Batch:
    """All usable rows one by one, where they cannot be counted by cell."""
    parts = []
    total = 0
    for part in reader.chunks():
        parts.append(part.batch)
        total += part.batch.size
        if total > MOST_ROWS:
            raise DataError(
                f"The log has more than {MOST_ROWS} usable rows that cannot be counted by cell. Start from a part of it, or log "
                f"the propensity of each decision (log.propensity)."
            )
    if not total:
        raise no_usable_row(reader)
    columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in reader.problem.observed}
    arm, regime, count = (np.concatenate([getattr(part, key) for part in parts]) for key in ("arm", "regime", "count"))
    return Batch(arm, regime, columns, count)


def missing_of(reader: LogReader) -> Batch | None:
    """The rows that lack their outcome and nothing else, of a log that is read row by row and could be counted; None where there is none,
    or where their cells cannot be counted."""
    if "missing-outcomes" not in reader.tallies or not reader.countable:
        return None
    twin = copy(reader)  # what is wrong with the rows was said when they were read one by one
    twin.tallies, twin.rows, twin.used = {}, 0, 0
    found = counted_log(twin)
    return found.missing if found.problem is reader.problem else None


def no_usable_row(reader: LogReader) -> DataError:
    """With what was wrong with the rows that there are."""
    why = "; ".join(f"{f.name}: {f.message} {', '.join(f.examples)}" for f in reader.findings()) or "it has no rows"
    return DataError(f"No row of the log {reader.table.name} can be used: {why}")
