"""Integrals over a range: nodes and weights."""

from __future__ import annotations

import numpy as np

from fairarm.core.types import FloatArray

NODES_A_PANEL = 8


def legendre_panels(low: float, high: float, panels: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of Gauss–Legendre rules of 8 nodes on equal panels."""
    x, w = np.polynomial.legendre.leggauss(NODES_A_PANEL)
    edges = np.linspace(low, high, panels + 1)
    half = np.diff(edges)[:, None] / 2
    return ((edges[:-1, None] + half) + half * x).ravel(), (half * w).ravel()
