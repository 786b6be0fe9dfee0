"""How far off a declared table would have to be to change an answer: each of its rows by ε in total variation (docs/trust.md).

Arms: K, rows of fairness: J. Values are on the scale of Y', at the estimates; those of a certificate at its confidence bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.declared_law import DeclaredLaw
from fairarm.beliefs.evidence import Evidence
from fairarm.beliefs.known_worlds import KnownWorlds, lacking
from fairarm.beliefs.table_moves import LawFactors, TableMoves
from fairarm.beliefs.world_moves import WorldFactors
from fairarm.beliefs.worlds import WorldBeliefs
from fairarm.core.answer import Code
from fairarm.core.doubt.tipping import fair_margin, tipping, unfair_margin
from fairarm.core.proof.region import Intervals, intervals
from fairarm.core.types import FloatArray
from fairarm.problem.problem import Problem

MOST_ARMS = 64
"""With more arms than these the tables are not looked at."""


@dataclass(frozen=True)
class WrongTable:
    """One declared table: an error of each of its rows, from which on the answer may be another."""

    name: str
    """Of the arm, or of the child whose table it is."""
    of_arm: bool
    answer: float
    """inf where no error of this table changes the answer; 0 where the estimates do not have the answer at all."""
    fairness: float | None
    """Of an arm's table: from which error on the arm may be unfair, or, of an unfair one, fair."""
    shown: float | None
    """Of an arm's table: the least error of a decision's probability that the rows would have shown; None where none would have."""


@dataclass(frozen=True)
class WrongTables:
    """How far off declared tables may be before an answer tips."""

    tables: tuple[WrongTable, ...]
    together: float
    """The same for the tables of all arms at once."""
    certified: float | None
    """From which error of all arms' tables on what is certified no longer follows, at its confidence bounds; None where nothing is."""
    left_out: tuple[str, ...] = ()
    """Declared tables that are not looked at."""

    @property
    def weakest(self) -> WrongTable | None:
        """The table whose error would have to be the smallest to change the answer; None where none could."""
        found = min(self.tables, key=lambda table: table.answer, default=None)
        return found if found is not None and np.isfinite(found.answer) else None


@dataclass(frozen=True, eq=False)
class _Known:
    """Where values are known to lie, outcomes first: (K, 1 + J) each; a point at the estimates."""

    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class _Moved:
    """How far the values of each arm fall and rise, (K, 1 + J) each, and how far each outcome gains on the answer's, (K,)."""

    fall: FloatArray
    rise: FloatArray
    gain: FloatArray


Moves = Callable[[float], _Moved]


def wrong_tables(
    beliefs: object, code: int, shown: FloatArray, certificate: tuple[int, Intervals] | None
) -> WrongTables | None:
    """Of an answer ``code``, and of a certified one with its intervals; None where rows are not counted by cell, where there is no
    answer, or where no table is declared. ``shown`` (K,): the least errors that the rows would have shown, nan where none."""
    if not isinstance(beliefs, CellBeliefs) or code == Code.UNDECIDED or len(shown) > MOST_ARMS:
        return None
    problem, factors = (
        beliefs.problem,
        WorldFactors(beliefs) if isinstance(beliefs, WorldBeliefs) else LawFactors(beliefs),
    )
    if isinstance(factors, WorldFactors) and factors.too_large:
        return None
    tables, values = list(factors.tables()), factors.values()
    if not tables:
        return None
    known = _Known(values, values)
    each = tuple(_one(problem, table, known, code, shown) for table in tables)
    together = _tip(problem, known, code, _together(tables, code, values))
    return WrongTables(each, together, _certified(problem, tables, values, certificate), factors.left_out)


def _certified(
    problem: Problem, tables: list[TableMoves], values: FloatArray, certificate: tuple[int, Intervals] | None
) -> float | None:
    """The tip of what is certified; None where nothing is, or where its intervals alone do not show it."""
    if certificate is None or certificate[0] == Code.UNDECIDED:
        return None
    code, bounds = certificate
    ends = np.concatenate([bounds.outcomes[0][:, None], bounds.rows[0]], axis=1)
    found = _tip(problem, _Known(ends[..., 0], ends[..., 1]), code, _together(tables, code, values))
    return found if found > 0 else None


def shown_errors(problem: Problem, evidence: Evidence | None, estimated: bool) -> FloatArray:
    """The least error of each arm's decisions that the rows would have shown, (K,); nan where none would have."""
    if evidence is None or (not problem.plain and lacking(problem, estimated)):
        return np.full(len(problem.arms), np.nan)
    law = DeclaredLaw(problem, estimated)
    errors = law.least_errors(law.kinds.by_point(evidence)[0])
    blind = np.isnan(errors)
    return np.where(blind.all(axis=1), np.nan, np.where(blind, -1.0, errors).max(axis=1))


def certificate_of_run(beliefs: object, code: int, confidence: float | None) -> tuple[int, Intervals] | None:
    """A certified answer of a run with the intervals of the joint region, at its error; None where the law is not declared."""
    if not isinstance(beliefs, CellBeliefs) or confidence is None or beliefs.known_law is None or beliefs.cells.fitted:
        return None
    rows, seen = beliefs.problem.compiled.rows, beliefs.seen
    if isinstance(beliefs, WorldBeliefs):
        if lacking(beliefs.problem, beliefs.estimated, contexts=True):
            return None
        known, n = KnownWorlds(beliefs.problem), seen.rows.astype(np.float64)
        return code, intervals(n, seen.sums, known.law, 1.0 - confidence, known.shares, None, rows, known.worlds)
    shares = beliefs.known_shares
    if shares is None:
        return None
    return code, intervals(
        seen.rows.astype(np.float64), seen.sums, beliefs.law[0], 1.0 - confidence, shares, None, rows
    )


def _one(problem: Problem, table: TableMoves, known: _Known, code: int, shown: FloatArray) -> WrongTable:
    """One table off, all others right."""
    moves = _of_table(table, code, known.low)
    answer = _tip(problem, known, code, moves)
    if table.arm is None:
        return WrongTable(table.name, False, answer, None, None)
    k, asked = table.arm, problem.compiled.rows
    fair = bool(asked.fair(known.low[k, 1:]))
    margin = fair_margin if fair else unfair_margin

    def own(error: float) -> float:
        made = moves(error)
        return float(margin(known.low[k, 1:] - made.fall[k, 1:], known.high[k, 1:] + made.rise[k, 1:], asked))

    seen = None if np.isnan(shown[k]) else float(shown[k])
    return WrongTable(table.name, True, answer, _until(own), seen)


def _of_table(table: TableMoves, code: int, values: FloatArray) -> Moves:
    """How far values move with one table: of an arm's its own values only."""
    up, down = table.rise(), table.fall()
    if table.arm is not None:
        return lambda error: _spread(table.arm, up(error)[0], down(error)[0], code, values.shape)
    # of a child's table both arms move at once, so that what counts is how far they part
    apart = table.gain(code) if code >= 0 else None

    def moved(error: float) -> _Moved:
        rise, fall = up(error), down(error)
        return _Moved(fall, rise, np.zeros(len(rise)) if apart is None else apart(error))

    return moved


def _spread(arm: int | None, rise: FloatArray, fall: FloatArray, code: int, shape: tuple[int, ...]) -> _Moved:
    """Moves of one arm among all, (K, 1 + J)."""
    every = _Moved(np.zeros(shape), np.zeros(shape), np.zeros(shape[0]))
    every.rise[arm], every.fall[arm] = rise, fall
    every.gain[:] = every.rise[:, 0] + (every.fall[code, 0] if code >= 0 else 0.0)
    return every


def _together(tables: list[TableMoves], code: int, values: FloatArray) -> Moves:
    """The tables of all arms off at once: each moves its own arm."""
    own = [(t.arm, t.rise(), t.fall()) for t in tables if t.arm is not None]

    def moved(error: float) -> _Moved:
        rise, fall = np.zeros(values.shape), np.zeros(values.shape)
        for arm, up, down in own:
            rise[arm], fall[arm] = up(error)[0], down(error)[0]
        return _Moved(fall, rise, rise[:, 0] + (fall[code, 0] if code >= 0 else 0.0))

    return moved


def _tip(problem: Problem, known: _Known, code: int, moves: Moves) -> float:
    """The error from which on the answer may be another."""
    asked = problem.compiled.rows

    def margin(error: float) -> float:
        made = moves(error)
        low, high = known.low[:, 1:] - made.fall[:, 1:], known.high[:, 1:] + made.rise[:, 1:]
        unfair = unfair_margin(low, high, asked)
        if code == Code.NONE:
            return float(unfair.min())
        # a rival is no danger while it stays below, or stays unfair
        behind = known.low[code, 0] - known.high[:, 0] - made.gain
        others = np.delete(np.maximum(behind, unfair), code)
        return float(min(fair_margin(low[code], high[code], asked), others.min(initial=np.inf)))

    return _until(margin)


def _until(margin: Callable[[float], float]) -> float:
    """Where a margin reaches 0, between no error and a table that is wrong altogether."""
    return float(tipping(lambda errors: np.array([margin(float(errors[0]))]), 0.0, 1.0, (1,))[0])
