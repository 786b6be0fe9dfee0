"""What certified answers are about: the rule for one problem, and claims as linear rows (docs/certified.md, part 1).

Shapes: K arms, 2 groups, C cells, Z context groups, B claims with I rows each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
    def log_threshold(self) -> float:
        """log(K/δ'), with δ' = δ, or the part of δ that the interval for P(S) leaves."""
        part = 1.0 if self.shares is not None else 1 - SHARE_OF_DELTA
        return math.log(len(self.law) / (part * self.delta))  # (C8)


@dataclass(frozen=True, eq=False)
class Claims:
    """B claims of I rows each: Σ_c a_c h_c θ_c ≥ b. ``slope`` a (B, I, C), ``level`` b (B, I).

    ``two_sided`` (B, I) marks rows that mean both a·hθ ≥ b and −a·hθ ≥ b (|ζ| ≤ E is such a row, with b = −E).
    """

    slope: FloatArray
    level: FloatArray
    two_sided: BoolArray
