"""How many phases a run has, and how many pulls each may spend (paper, section 4.1; notation.md, "Schedule")."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.errors import BudgetError

PhaseReading = Literal["log2", "product"]


def phase_count(pulls: int, reading: PhaseReading = "log2") -> int:
    """n(T), the number of phases.

    ``log2``:     n(T) = ⌈log2(10 √T)⌉, the reading under which the proofs hold.
    ``product``:  n(T) = ⌈log 2 · log(10 √T)⌉ (natural logarithms), the line as SRIS prints it, kept for comparison.
    """
    if pulls < 1:
        raise BudgetError(f"A run needs at least 1 pull; got {pulls}. Give a larger number of pulls.")
    root = 10.0 * math.sqrt(pulls)
    # (A8)
    return math.ceil(math.log2(root) if reading == "log2" else math.log(2) * math.log(root))


def log_bar(n: int) -> float:
    """loḡ(n) = Σ_{i ≤ n} 1/i."""
    return math.fsum(1.0 / i for i in range(1, n + 1))


def phase_lengths(pulls: int, phases: int) -> FloatArray:
    """τ(l) = T / (l · loḡ(n)) for l = 1 … n, shape (n,); Σ τ(l) = T, not rounded."""
    # (A9)
    return np.asarray(pulls / (np.arange(1, phases + 1) * log_bar(phases)), dtype=np.float64)
