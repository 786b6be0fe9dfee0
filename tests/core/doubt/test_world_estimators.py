"""Estimators of the means of worlds: loops over rows, exact laws, and errors against simulated logs."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.core.doubt.world_estimators import CellRows, WeighedWorlds

CONTEXT = np.array([0, 0, 1, 1])
DECISION = np.array([0, 1, 0, 1])
MADE = np.array([0.3, 0.2, 0.4, 0.1])
LAW = np.array([[[0.1, 0.4, 0.2, 0.3], [0.25, 0.25, 0.25, 0.25]]])
"""One arm, two worlds, four cells: two contexts with two decisions each."""
THETA = np.array([0.2, 0.5, 0.7, 0.4])


def weighed(rows: np.ndarray, ones: np.ndarray, cut: float = 100.0) -> WeighedWorlds:
    return WeighedWorlds(CellRows(rows, ones, ones), LAW, MADE, CONTEXT, DECISION, cut)


def test_with_exact_laws_every_estimator_is_the_truth() -> None:
    rows = MADE * 1e9
    for cut in (0.5, 100.0):
        for name, found in weighed(rows, rows * THETA, cut).estimates().items():
            assert found.means == pytest.approx(LAW @ THETA, abs=1e-6), name


def test_against_loops_over_rows() -> None:
    rng = np.random.default_rng(1)
    cell = rng.choice(4, 200, p=MADE)
    y = (rng.random(200) < THETA[cell]).astype(float)
    rows, ones = np.bincount(cell, minlength=4).astype(float), np.bincount(cell, y, minlength=4)
    made = weighed(rows, ones, cut=1.5).estimates()
    by_cell, by_decision = ones / rows, np.zeros(2)
    for v in (0, 1):
        at = DECISION[cell] == v
        by_decision[v] = y[at].mean()
    for world in (0, 1):
        w = LAW[0, world, cell] / MADE[cell]
        m = by_decision[DECISION]
        expected = {
            "importance": (w * y).mean(),
            "self-normalised": (w * y).sum() / w.sum(),
            "plug-in": LAW[0, world] @ by_cell,
            "doubly robust": LAW[0, world] @ m + (w * (y - m[cell])).mean(),
            "switch": (np.where(w <= 1.5, w, 0) * y).mean()
            + sum(LAW[0, world, c] * by_cell[c] for c in range(4) if LAW[0, world, c] / MADE[c] > 1.5),
        }
        assert {name: found.means[0, world] for name, found in made.items()} == pytest.approx(expected)
        error = np.std(w * y) / np.sqrt(200)
        assert made["importance"].errors(np.eye(2), CellRows(rows, ones, ones))[0, world] == pytest.approx(error)


def test_errors_are_those_of_2000_simulated_logs() -> None:
    """Of the difference of the worlds: within 15 % of the spread over logs; cells are drawn with the decisions."""
    rng, mixes = np.random.default_rng(2), np.array([[1.0, -1.0]])
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(2000):
        rows = rng.multinomial(400, MADE).astype(float)
        ones = rng.binomial(rows.astype(int), THETA).astype(float)
        made = weighed(rows, ones, cut=1.5)
        for name, each in made.estimates().items():
            numbers = float(each.mixed(mixes)[0, 0]), float(each.errors(mixes, made.seen)[0, 0])
            found.setdefault(name, []).append(numbers)
    for name in ("importance", "self-normalised"):
        values, errors = np.array(found[name]).T
        assert np.median(errors) == pytest.approx(values.std(), rel=0.15), name


def test_the_error_of_a_difference_is_small_where_both_use_the_rows_alike() -> None:
    """The plug-in moves with each row by p/q (Y' − m): against an estimate that does the same nothing is left but the floor."""
    rows = MADE * 1000
    made = weighed(rows, rows * THETA)
    each, mixes = made.estimates()["plug-in"], np.eye(2)
    slope = LAW / MADE
    alike = each.paired_errors(mixes, slope, (rows * THETA + 0.5) / (rows + 1), made.seen)
    assert alike == pytest.approx(0.5 * each.errors(mixes, made.seen))
