"""A model against its weighted rows: both forms by loops over rows, and what is and is not a difference."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairarm.core.fairness import Rows
from fairarm.core.posterior.disagreement import WeightedSums, of_cells, of_rows

UNIFORM = math.sqrt(1 / 12)
"""The sd of a mean that no row speaks for, of an outcome from 0 to 1."""


def test_cells_by_loops_over_rows() -> None:
    """Two arms, two groups, four cells, the last of which no row and the third no pull can reach."""
    rng = np.random.default_rng(0)
    law = rng.dirichlet(np.ones(4), (2, 2))
    shares, made = np.array([0.3, 0.7]), np.array([[30, 20], [0, 0]])
    law[0, :, 2], law[1, :, 3] = 0.0, 0.0
    law /= law.sum(axis=2, keepdims=True)
    cell = rng.integers(0, 2, 50)
    y = rng.random(50)
    model = rng.random(4), np.array([0.2, 0.001, 0.1, 0.1]), np.array([5.0, 0.001, 1.0, 1.0])
    rows, sums, squares = (np.bincount(cell, y**p, 4)[None] for p in (0, 1, 2))
    within = squares - sums**2 / np.maximum(rows, 1)
    q = np.einsum("jt,jtc->c", made / 50, law)
    found = of_cells(
        law[None], q[None], shares[None], (rows.astype(int), sums, within), *(part[None] for part in model), UNIFORM
    )
    for k in range(2):
        for what, a in enumerate((shares, (1.0, -1.0))):
            off = came = expected = largest = 0.0
            for c, outcome in zip(cell, y, strict=True):
                w = sum(a[t] * law[k, t, c] for t in (0, 1)) / q[c]
                held = max(model[2][c] / (model[2][c] + rows[0, c]), 0.25)
                off += w * (outcome - model[0][c])
                came += held * (w * (outcome - model[0][c])) ** 2
                expected += held * w**2 * model[1][c]
                largest = max(largest, abs(w))
            assert found.difference[what, 0, k] == pytest.approx(off / 50)
            assert found.error[what, 0, k] == pytest.approx(max(math.sqrt(max(came, expected)), largest) / 50)


def test_rows_by_loops() -> None:
    """Rows that are weighted to both groups, as where a row of one group speaks for the other."""
    rng = np.random.default_rng(1)
    w, y = rng.exponential(1, (3, 2, 20)), rng.random(20)
    means, shares, unseen = rng.random((3, 2)), np.array([0.4, 0.6]), np.zeros((3, 2))
    unseen[2] = [0.1, 0.3]
    second = np.stack([np.einsum("kti,kui,i->ktu", w, w, y**p) for p in (0, 1, 2)]) / 20**2
    seen = WeightedSums(np.stack([w.sum(axis=2), w @ y]) / 20, second, w.max(axis=2) / 20)
    found = of_rows(seen, 0.05, means, shares, unseen, UNIFORM)
    for k in range(3):
        for what, a in enumerate((shares, (1.0, -1.0))):
            terms = [sum(a[t] * w[k, t, i] * (y[i] - means[k, t]) for t in (0, 1)) for i in range(20)]
            mixed = [sum(a[t] * w[k, t, i] for t in (0, 1)) for i in range(20)]
            allowed = sum(abs(a[t]) * unseen[k, t] for t in (0, 1))
            assert abs(found.difference[what, 0, k]) == pytest.approx(max(abs(sum(terms)) / 20 - allowed, 0.0))
            spread = math.sqrt(max(sum(x**2 for x in terms), 0.05 * sum(x**2 for x in mixed)))
            floor = max(abs(a[t]) * w[k, t].max() for t in (0, 1))
            assert found.error[what, 0, k] == pytest.approx(max(spread, floor) / 20)


def one_cell(model: float, events: int, n: int, strength: float = 1e9) -> bool:
    """Whether a model of one cell disagrees with so many events among n rows of one arm."""
    one, rows = np.ones((1, 1, 2, 1)), np.array([[n]])
    sums = np.array([[float(events)]])
    noise = np.array([[model * (1 - model)]])
    found = of_cells(one, np.ones((1, 1)), np.array([[0.5, 0.5]]), (rows, sums, sums - sums**2 / np.maximum(rows, 1)), np.array([[model]]), noise, np.array([[strength]]), UNIFORM)  # fmt: skip
    return bool(found.arms[0, 0])


@pytest.mark.parametrize(
    ("model", "events", "n", "disagrees"),
    [
        (0.5, 500, 1000, False), (0.5, 560, 1000, False), (0.5, 565, 1000, True), (0.5, 435, 1000, True),
        (0.010, 0, 1000, False),  # 10 expected and none came: 3 standard errors of the model's own
        (0.020, 0, 1000, True),
        (0.0, 4, 1000, False),  # at least the largest weight over n: four events are four of them
        (0.0, 30, 1000, True),
    ],
)  # fmt: skip
def test_four_standard_errors_of_the_rows(model: float, events: int, n: int, disagrees: bool) -> None:
    assert one_cell(model, events, n) == disagrees


def test_a_model_that_follows_the_rows_has_less_room_to_differ() -> None:
    """A prior worth little holds back little: half the standard error is then the measure, and no less."""
    assert not one_cell(0.5, 540, 1000) and one_cell(0.5, 540, 1000, strength=1.0)
    assert not one_cell(0.5, 525, 1000, strength=1.0)


def test_every_row_of_several_groups_by_loops() -> None:
    """Three groups, a pair, a group against everybody and a floor: the first form by cells, the second by rows."""
    rng = np.random.default_rng(2)
    asked = Rows(
        np.array([[0.0, 1, -1], [1, 0, 0], [0, 0, 1]]), np.array([0.0, -1.0, 0.0]), np.full(3, -1.0), np.ones(3)
    )
    law, shares = rng.dirichlet(np.ones(4), (2, 3)), np.array([0.2, 0.3, 0.5])
    rows, mean, noise = np.array([[5, 9, 3, 8]]), rng.random((1, 4)), rng.random((1, 4)) / 4
    sums = rows * rng.random((1, 4))
    q = law.mean(axis=(0, 1))[None]
    found = of_cells(
        law[None],
        q,
        shares[None],
        (rows, sums, sums - sums**2 / np.maximum(rows, 1)),
        mean,
        noise,
        np.ones((1, 4)),
        UNIFORM,
        asked,
    )
    first = WeightedSums(rng.random((2, 2, 3)), rng.random((3, 2, 3, 3)), rng.random((2, 3)))
    means, unseen = rng.random((2, 3)), rng.random((2, 3)) / 10
    by_rows = of_rows(first, 0.1, means, shares, unseen, UNIFORM, asked)
    assert found.difference.shape == by_rows.difference.shape == (4, 1, 2)
    for what, a in enumerate((shares, [0.0, 1.0, -1.0], [1 - 0.2, -0.3, -0.5], [0.0, 0.0, 1.0])):
        for k in range(2):
            w = [sum(a[t] * law[k, t, c] for t in range(3)) / q[0, c] for c in range(4)]
            off = sum(w[c] * (sums[0, c] - rows[0, c] * mean[0, c]) for c in range(4)) / rows.sum()
            assert found.difference[what, 0, k] == pytest.approx(off)
            shift = sum(a[t] * (first.first[1, k, t] - means[k, t] * first.first[0, k, t]) for t in range(3))
            allowed = sum(abs(a[t]) * unseen[k, t] for t in range(3))
            assert abs(by_rows.difference[what, 0, k]) == pytest.approx(max(abs(shift) - allowed, 0.0))
