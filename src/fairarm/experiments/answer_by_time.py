"""The certified answer of a log whose rows have times: batches by time are bet on one after the other (docs/certified.md, part 1).

Each batch is settled with what the batches before it taught. A longer log adds batches and changes none, so that it is one process,
whose answer is wrong with probability at most δ however often it is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from fairarm.algorithms.certificates import Certified, expected_loss
from fairarm.core.proof.bets import Brought, certificate, open_ledger, settle
from fairarm.core.proof.claims import Rule
from fairarm.core.proof.losses import Lost
from fairarm.core.types import FloatArray
from fairarm.logs.by_time import TimedRows
from fairarm.problem.answer import Answer
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import groups_of, scaled_outcomes
from fairarm.problem.space import CellSpace


@dataclass(frozen=True, eq=False)
class TimedBatches:
    """Whole batches in order, B of them: rows by arm and group (B, K, G), natural ones by group (B, G), and by cell (B, C) rows,
    Σ Y' and rows without an outcome."""

    rows: FloatArray
    natural: FloatArray
    n: FloatArray
    y: FloatArray
    lost: FloatArray
    ends: tuple[str, ...]

    def print_of(self, batches: int) -> str:
        """A number for the content of the first so many: another one where any of their rows was added, taken or changed."""
        made = blake2b(repr(self.ends[:batches]).encode(), digest_size=16)
        for part in (self.rows, self.natural, self.n, np.round(self.y, 9), self.lost):
            made.update(np.ascontiguousarray(part[:batches] + 0.0).tobytes())
        return made.hexdigest()


@dataclass(frozen=True, eq=False)
class AnswerByTime:
    """What the batches prove."""

    answer: Answer
    void: bool
    """Every answer is refuted: something that was declared is not so."""
    batches: TimedBatches
    rule: str
    """A number for what the rows are judged by: laws, tolerance, δ and P(S)."""

    @property
    def until(self) -> str:
        """The time with which the last of them ends."""
        return self.batches.ends[-1]

    @property
    def settled(self) -> int:
        """Batches."""
        return len(self.batches.ends)

    @property
    def rows(self) -> int:
        """Of these batches."""
        return int(self.batches.rows.sum())

    @property
    def missing(self) -> int:
        """Outcomes that are missing in them: each was charged with the worst that it could be."""
        return int(self.batches.lost.sum())


def answer_by_time(problem: Problem, rows: TimedRows, delta: float, estimated: bool) -> AnswerByTime:
    """Settle batch after batch. The draws behind the bets are those of one seed, so that every look makes the same bets."""
    proof = Certified.of(problem, delta, estimated)
    found = timed_batches(problem, proof, rows)
    ledger, lost = open_ledger(proof.rule), 0.0
    for b in range(len(found.ends)):
        missing = None if not found.lost[b].any() else Lost(found.lost[b : b + 1], np.zeros((1, len(problem.arms))))
        here = slice(b, b + 1)
        brought = Brought(found.rows[here], found.n[here], found.y[here], found.natural[here], missing)
        share = expected_loss(np.array([[lost, 0.0]]), ledger.seen.rows)
        ledger = settle(proof.rule, ledger, brought, loss_share=share)
        lost += float(found.lost[b].sum())
    proved = certificate(proof.rule, ledger)
    answer = Answer.of(int(proved.answer[0]), problem.arm_names)
    return AnswerByTime(answer, bool(proved.void[0]), found, _print_of(proof.rule))


def _print_of(rule: Rule) -> str:
    rows = rule.rows
    made = blake2b(digest_size=16)
    made.update(repr((rule.law.shape, rule.delta)).encode())
    parts = (rows.by_group, rows.everyone, rows.low, rows.high, rule.law, rule.shares, rule.context, rule.worlds)
    for part in parts:
        made.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
    return made.hexdigest()


def timed_batches(problem: Problem, proof: Certified, rows: TimedRows) -> TimedBatches:
    """Lines counted by batch."""
    batch, B, K, G = rows.batch, len(rows.ends), len(problem.arms), proof.kinds.places
    group = groups_of(problem, batch)
    place = proof.kinds.place_of[batch.regime, group]
    x = CellSpace.of(problem.cell_columns, problem.variables).number(batch.columns)
    cell = proof.cells.cell_of[group, x]
    count, told = batch.count.astype(np.float64), ~rows.missing
    y = scaled_outcomes(problem, batch) * count if rows.sums is None else rows.sums
    by_arm, natural = np.zeros((B, K, G)), np.zeros((B, G))
    n, sums, lost = (np.zeros((B, proof.cells.cells)) for _ in range(3))
    np.add.at(by_arm, (rows.part, batch.arm, place), count)
    np.add.at(natural, (rows.part, place), np.where(batch.regime == 0, count, 0.0))
    np.add.at(n, (rows.part, cell), count * told)
    np.add.at(sums, (rows.part, cell), y * told)
    np.add.at(lost, (rows.part, cell), count * rows.missing)
    return TimedBatches(by_arm, natural, n, sums, lost, rows.ends)
