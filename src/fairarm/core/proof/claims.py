"""What certified answers are about: the rule for one problem, and claims as linear rows (docs/certified.md, part 1).

Shapes: K arms, 2 groups, C cells, Z context groups, B claims with I rows each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairarm.core.fairness import gap_of, two_groups
from fairarm.core.proof.region import SHARE_OF_DELTA
from fairarm.core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Rule:
    """What is known: ``law`` L[k, t](c) (K, 2, C), tolerance E, error δ, P(S) ``shares`` (2,) or None.

    The law of a cell is L[k, t](c) h(g(c)). With ``context`` None h is 1: ``law`` is then p_{k,t}, known. Else ``context``
    (C,) is g(c), one of 0 … Z−1, and h is unknown: g(c) = the context z, the cell without the decision, or the cell itself, in
    the three cases of the context law.
    """

    law: FloatArray
    tolerance: float
    delta: float
    shares: FloatArray | None = None
    context: IntArray | None = None

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
        """β (J, Z): an orthonormal basis of what Σ_c L[k,t](c) h(g(c)) = 1 tells about h, Σ_z β_z h_z = 0."""
        sums = (self.law - self.typical).reshape(-1, self.law.shape[-1]) @ self.member
        # every (k, t) says Σ_z (row of sums)_z h_z = 0; most of these rows repeat each other, and a basis says as much
        _, size, rows = np.linalg.svd(sums, full_matrices=False)
        return np.asarray(rows[size > 1e-6])

    @property
    def ends(self) -> int:
        """P: one where P(S) is known, else the two ends of its interval."""
        return 1 if self.shares is not None else 2

    @property
    def answer_threshold(self) -> float:
        """log(1/δ'), with δ' = δ, or the part of δ that the interval for P(S) leaves: an answer is refuted there."""
        part = 1.0 if self.shares is not None else 1 - SHARE_OF_DELTA
        return math.log(1 / (part * self.delta))

    @property
    def label_threshold(self) -> float:
        """log(K/δ'): a claim about one arm's gap is refuted there."""
        return math.log(len(self.law)) + self.answer_threshold


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


HIGH, LOW, FAIR = range(3)
"""Kinds of claims about one arm's gap: ζ_k ≥ E; −ζ_k ≥ E; |ζ_k| ≤ E. The first two are the ends at which fairness is broken."""


def gap_claims(rule: Rule, kind: IntArray, arm: IntArray) -> Claims:
    """The claims of these kinds about these arms, (B,) each."""
    # rows of (C2): ζ_k ≥ E; −ζ_k ≥ E; and |ζ_k| ≤ E as the one row −ζ_k ≥ −E, which is two-sided
    sign = np.array([1.0, -1.0, -1.0])[kind]
    gap = gap_of(rule.law, axis=1)
    level = np.where(kind == FAIR, -rule.tolerance, rule.tolerance)
    return Claims((sign[:, None] * gap[arm])[:, None], level[:, None], (kind == FAIR)[:, None])


def pair_claims(rule: Rule, b: IntArray, h: IntArray, share: FloatArray) -> Claims:
    """ "h is fair and μ_h ≥ μ_b" where the first group has this share, (B,) each."""
    (first, second), gap = two_groups(rule.law[h] - rule.law[b], axis=1), gap_of(rule.law, axis=1)
    outcome = share[:, None] * first + (1 - share)[:, None] * second
    level = np.broadcast_to([0.0, -rule.tolerance], (len(h), 2))
    return Claims(np.stack([outcome, -gap[h]], axis=1), level, np.broadcast_to([False, True], (len(h), 2)))
