"""Outcomes in bins: nothing is lost where values are few, and bounds are never too narrow where they are many."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.core.doubt.sensitivity import Parts, others_of_parts
from fairarm.core.doubt.sketch import Sketch, edges_for


def others_of_states(law, values, gamma):
    """Of an outcome with states, from P(Y | c) (..., C, O) and their values (O,)."""
    order = np.argsort(values, kind="stable")
    return others_of_parts(law[..., order], Parts.of_values(values[order]), gamma)


def sketched(values: np.ndarray, bins: int) -> Sketch:
    """Of one cell."""
    cell, count = np.zeros(len(values), dtype=np.int64), np.ones(len(values), dtype=np.int64)
    return Sketch.empty(1, edges_for(values, bins)).add(cell, values, count)


def exact(values: np.ndarray, gamma: float) -> tuple[float, float]:
    """The rows as they are: Γ on the lowest 1/(1 + Γ) of them, 1/Γ on the others, a row at the border divided."""
    ends = []
    for sign in (1.0, -1.0):
        ordered = sign * np.sort(sign * values)
        share = len(values) / (1 + gamma)
        weight = np.clip(share - np.arange(len(values)), 0, 1) * (gamma - 1 / gamma) + 1 / gamma
        ends.append(float(weight @ ordered / len(values)))
    return ends[0], ends[1]


def test_few_values_lose_nothing() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        values, gamma = rng.choice(rng.uniform(size=6), size=40), float(rng.uniform(1, 5))
        law, parts = sketched(values, 8).drawn(1, rng)
        box = others_of_parts(law[-1], parts, gamma)
        assert (box.low[0], box.high[0]) == pytest.approx(exact(values, gamma), abs=1e-12)
        one = others_of_states(np.full((1, 40), 1 / 40), values, gamma)
        assert (one.low[0], one.high[0]) == pytest.approx(exact(values, gamma), abs=1e-12)


def test_many_values_are_never_bounded_too_narrowly_and_hardly_too_widely() -> None:
    """500 samples of three shapes, in 8 and in 64 bins."""
    rng, wider = np.random.default_rng(2), {8: [], 64: []}
    for i in range(500):
        n, gamma = int(rng.integers(5, 400)), float(rng.uniform(1.05, 5))
        values = (rng.uniform(size=n), rng.beta(0.3, 3.0, size=n), np.where(rng.random(n) < 0.9, 0.0, rng.random(n)))[
            i % 3
        ]
        low, high = exact(values, gamma)
        for bins, over in wider.items():
            law, parts = sketched(values, bins).drawn(1, rng)
            box = others_of_parts(law[-1], parts, gamma)
            assert box.low[0] <= low + 1e-12 and box.high[0] >= high - 1e-12
            over.append((box.high[0] - box.low[0]) / max(high - low, 1e-9))
    assert np.median(wider[8]) < 1.05 and np.median(wider[64]) < 1.005


def test_a_bin_of_the_bound_by_hand() -> None:
    """0, 0.2, 0.4, 1 in two bins: at Γ = 3 the lowest quarter of the weight is a row, of which only its bin is known: at least 0."""
    made = Sketch.empty(1, np.array([0.7])).add(
        np.zeros(4, dtype=int), np.array([0.0, 0.2, 0.4, 1.0]), np.ones(4, dtype=int)
    )
    law, parts = made.drawn(1, np.random.default_rng(0))
    assert law[-1].tolist() == [[0.75, 0.25]] and parts.mean[0] == pytest.approx([0.2, 1.0])
    box = others_of_parts(law[-1], parts, 3.0)
    assert box.low[0] == pytest.approx(0.4 / 3) and box.high[0] == pytest.approx(0.4 / 3 + (3 - 1 / 3) * 0.25)


def test_parts_of_a_log_can_be_counted_apart() -> None:
    rng = np.random.default_rng(3)
    cell, values = rng.integers(0, 3, 500), rng.uniform(size=500)
    ones, edges = np.ones(500, dtype=np.int64), edges_for(values, 16)
    whole = Sketch.empty(3, edges).add(cell, values, ones)
    halves = [Sketch.empty(3, edges).add(cell[i::2], values[i::2], ones[i::2]) for i in (0, 1)]
    both = halves[0].plus(halves[1])
    for name in ("rows", "sums", "least", "most"):
        assert getattr(both, name) == pytest.approx(getattr(whole, name))
    assert np.array_equal(np.bincount(cell), whole.rows.sum(axis=1))


def test_a_cell_of_few_rows_borrows_how_far_outcomes_spread() -> None:
    """One row in the second cell: by itself it would have no spread at all."""
    rng = np.random.default_rng(4)
    values = np.append(rng.uniform(size=300), 0.5)
    cell = np.append(np.zeros(300, dtype=int), 1)
    law, parts = Sketch.empty(2, edges_for(values, 32)).add(cell, values, np.ones(301, dtype=int)).drawn(4000, rng)
    box = others_of_parts(law, parts, 2.0)
    assert law[:-1].mean(axis=0) == pytest.approx(law[-1], abs=0.03) and law.sum(axis=2) == pytest.approx(1.0)
    assert np.median(box.high[:, 1] - box.low[:, 1]) > 0.1


def test_edges() -> None:
    assert edges_for(np.array([0.0, 1.0, 0.5, 0.5]), 3).tolist() == [0.25, 0.75]
    assert len(edges_for(np.linspace(0, 1, 1000), 10)) == 9 and len(edges_for(np.full(10, 0.3), 4)) == 0
