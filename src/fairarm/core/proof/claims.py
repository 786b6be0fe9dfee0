"""What certified answers are about: the rule for one problem, and claims as linear rows (docs/certified.md, part 1).

Shapes: K arms, G groups, C cells, Z context groups; J rows of fairness with J₁ ends; B claims with I rows each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairarm.core.fairness import Rows
from fairarm.core.proof.region import SHARE_OF_DELTA, known_mix, require_shares, rows_about
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import ProblemError


@dataclass(frozen=True, eq=False)
class Ends:
    """The J₁ ends of rows: end i is broken where sign_i · (value of row_i) ≥ level_i. Of each row the high one comes first."""

    row: IntArray
    sign: FloatArray
    level: FloatArray

    @classmethod
    def of(cls, rows: Rows) -> Ends:
        """Those that there are: a row may lack one."""
        both = np.stack([rows.high, -rows.low], axis=1)
        row, side = np.nonzero(np.isfinite(both))
        return cls(row, np.where(side == 0, 1.0, -1.0), both[row, side])

    def __len__(self) -> int:
        return len(self.row)

    def kept(self, values: FloatArray) -> BoolArray:
        """Which ends rows of these values do not reach, (..., J) -> (..., J₁): those that are not broken."""
        return np.asarray(self.sign * values[..., self.row] < self.level)

    def passed(self, values: FloatArray) -> BoolArray:
        """Which ends they exceed: these are broken, and not just reached."""
        return np.asarray(self.sign * values[..., self.row] > self.level)


@dataclass(frozen=True, eq=False)
class Claims:
    """B claims of I rows each: Σ_c a_c h_c θ_c ≥ b. ``slope`` a (B, I, C), ``level`` b (B, I).

    ``two_sided`` (B, I) marks rows that mean both a·hθ ≥ b and −a·hθ ≥ b (|ζ| ≤ E is such a row, with b = −E).
    """

    slope: FloatArray
    level: FloatArray
    two_sided: BoolArray

    def take(self, kept: slice | IntArray | BoolArray) -> Claims:
        """Some of the claims."""
        return Claims(self.slope[kept], self.level[kept], self.two_sided[kept])

    def padded(self, rows: int) -> Claims:
        """The same with so many rows: those that are added say nothing, 0 ≥ −1."""
        more = rows - self.level.shape[1]
        return Claims(
            np.pad(self.slope, ((0, 0), (0, more), (0, 0))),
            np.pad(self.level, ((0, 0), (0, more)), constant_values=-1.0),
            np.pad(self.two_sided, ((0, 0), (0, more))),
        )


def joined(parts: Sequence[Claims], rows: int) -> Claims:
    """All of them, padded to so many rows."""
    every = [part.padded(rows) for part in parts]
    return Claims(
        *(np.concatenate([getattr(part, name) for part in every]) for name in ("slope", "level", "two_sided"))
    )


@dataclass(frozen=True, eq=False)
class Rule:
    """What is known: ``law`` L[k, t](c) (K, G, C), what is asked of every arm, error δ, P(S) ``shares`` (G,) or None.

    ``tolerance`` are the rows of fairness with their ends; a number E stands for the one row |ζ| < E of two groups.
    The law of a cell is L[k, t](c) h(g(c)). With ``context`` None h is 1: ``law`` is then p_{k,t}, known. Else ``context``
    (C,) is g(c), one of 0 … Z−1, and h is unknown: g(c) = the context z, the cell without the decision, or the cell itself, in
    the three cases of the context law.
    """

    law: FloatArray
    tolerance: float | Rows
    delta: float
    shares: FloatArray | None = None
    context: IntArray | None = None
    worlds: FloatArray | None = None
    """Where rows are not about the groups themselves: the laws of the worlds that they are about, (K, W, C), as ``law`` is given. P(S) is
    then known, and what ``law`` has by group is by label of a row, and by kind where rows of a label are of several."""
    regimes: FloatArray | None = None
    """(R − 1, G): the groups of rows of each forced regime, as shares; None where each regime is a group."""
    label_weight: float = 0.0
    """w: the part of the evidence against an answer that comes from the labels' bets, so that an arm proved unfair is a refuted answer.
    It costs log(1/(1 − w)) nats of the other bets."""

    def __post_init__(self) -> None:
        if self.shares is None:
            require_shares(self.rows)
            if self.worlds is not None:
                raise ProblemError("Where rows are about worlds, P(label) has to be known: give the shares.")

    @cached_property
    def rows(self) -> Rows:
        """What is asked of every arm."""
        return rows_about(self.tolerance, self.asked_law.shape[1])

    @property
    def asked_law(self) -> FloatArray:
        """The laws that rows of fairness are about: the worlds', or those of the groups, (K, W, C)."""
        return self.law if self.worlds is None else self.worlds

    @cached_property
    def ends(self) -> Ends:
        """At which an arm's fairness can be broken."""
        return Ends.of(self.rows)

    @cached_property
    def row_law(self) -> FloatArray:
        """α_kj(c) with (value of row j) = Σ_c α_kj(c) h_c θ_c, (K, J, C)."""
        mix = np.zeros(self.law.shape[1]) if self.shares is None else known_mix(self.shares)
        everyone = (mix[:, None] * self.law).sum(axis=1)
        return np.ascontiguousarray(self.rows.coefficients(self.asked_law, everyone))

    @cached_property
    def met(self) -> Claims:
        """ "k is fair" of each arm: K claims, of one row for every end, or for both ends of a row where these are ∓ the same."""
        rows = self.rows
        folded = rows.low == -rows.high
        # (C3): −value ≥ −high, and value ≥ low where that is a row of its own
        high, low = np.flatnonzero(np.isfinite(rows.high)), np.flatnonzero(np.isfinite(rows.low) & ~folded)
        slope = np.concatenate([-self.row_law[:, high], self.row_law[:, low]], axis=1)
        level = np.concatenate([-rows.high[high], rows.low[low]])
        two_sided = np.concatenate([folded[high], np.zeros(len(low), dtype=np.bool_)])
        K = len(self.law)
        return Claims(slope, np.broadcast_to(level, (K, len(level))), np.broadcast_to(two_sided, (K, len(level))))

    @cached_property
    def member(self) -> FloatArray:
        """(C, Z): 1 where the cell belongs to the context group."""
        group = np.zeros(self.law.shape[-1], dtype=np.int64) if self.context is None else self.context
        return np.asarray(group[:, None] == np.arange(group.max() + 1), dtype=np.float64)

    @cached_property
    def typical(self) -> FloatArray:
        """ω_c (C,): L averaged over arms and groups; Σ_c ω_c h_c = 1."""
        return np.asarray(self.law.mean(axis=(0, 1)))

    @cached_property
    def moments(self) -> FloatArray:
        """β (M, Z): an orthonormal basis of what Σ_c L[k,t](c) h(g(c)) = 1 tells about h, Σ_z β_z h_z = 0."""
        sums = (self.law - self.typical).reshape(-1, self.law.shape[-1]) @ self.member
        # every (k, t) says Σ_z (row of sums)_z h_z = 0; most of these rows repeat each other, and a basis says as much
        _, size, rows = np.linalg.svd(sums, full_matrices=False)
        return np.asarray(rows[size > 1e-6])

    @property
    def mixes(self) -> int:
        """P: one where P(S) is known, else the two ends of its interval."""
        return 1 if self.shares is not None else 2

    @property
    def answer_threshold(self) -> float:
        """log(1/δ'), with δ' = δ, or the part of δ that the interval for P(S) leaves: an answer is refuted there."""
        part = 1.0 if self.shares is not None else 1 - SHARE_OF_DELTA
        return math.log(1 / (part * self.delta))

    @property
    def label_threshold(self) -> float:
        """log(K/δ'): a claim about one arm alone is refuted there."""
        return math.log(len(self.law)) + self.answer_threshold


def gap_claims(rule: Rule, kind: IntArray, arm: IntArray) -> Claims:
    """Claims about one arm alone, (B,) each. ``kind`` below J₁: that this end is broken; J₁: that the arm is fair.

    Those of J₁ have a row for every row of fairness; the others one, padded where both are asked for at once.
    """
    ends, fair = rule.ends, kind == len(rule.ends)
    broken = np.where(fair, 0, kind)
    # (C3): sign · value ≥ level
    slope = (ends.sign[broken, None] * rule.row_law[arm, ends.row[broken]])[:, None]
    one = Claims(slope, ends.level[broken, None], np.zeros((len(kind), 1), dtype=np.bool_))
    if not fair.any():
        return one
    whole = rule.met.take(arm)
    if fair.all():
        return whole
    one = one.padded(whole.level.shape[1])
    return Claims(
        np.where(fair[:, None, None], whole.slope, one.slope),
        np.where(fair[:, None], whole.level, one.level),
        np.where(fair[:, None], whole.two_sided, one.two_sided),
    )


def pair_claims(rule: Rule, b: IntArray, h: IntArray, mix: FloatArray) -> Claims:
    """ "h is fair and μ_h ≥ μ_b" where the groups have these shares, (B, G); the others (B,) each."""
    outcome = (mix[:, :, None] * (rule.law[h] - rule.law[b])).sum(axis=1)
    better = Claims(outcome[:, None], np.zeros((len(h), 1)), np.zeros((len(h), 1), dtype=np.bool_))
    fair = rule.met.take(h)
    return Claims(
        *(
            np.concatenate([getattr(better, name), getattr(fair, name)], axis=1)
            for name in ("slope", "level", "two_sided")
        )
    )
