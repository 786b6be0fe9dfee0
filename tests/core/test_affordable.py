"""The best mix of units within a cost, against linear programmes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from fairarm.core.affordable import affordable_mix


def best_mix_value(gain: np.ndarray, costs: np.ndarray, average: float) -> float:
    """The optimal value, by linear programming; an average below the cheapest cost is raised to it."""
    usable = np.isfinite(costs)
    allowed = max(average, float(costs[usable].min()))
    rows = {} if math.isinf(allowed) else {"A_ub": costs[usable][None], "b_ub": [allowed]}
    answer = linprog(-gain[usable], A_eq=np.ones((1, usable.sum())), b_eq=[1.0], bounds=(0, None), **rows)
    assert answer.status == 0
    return -float(answer.fun)


def check_mix(gain: np.ndarray, costs: np.ndarray, average: np.ndarray) -> np.ndarray:
    mix = affordable_mix(gain, costs, average)
    assert mix.shape == gain.shape
    assert mix.min() >= 0
    np.testing.assert_allclose(mix.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(mix[:, ~np.isfinite(costs)] == 0)
    assert np.all((mix > 0).sum(axis=1) <= 2)
    finite = np.where(np.isfinite(costs), costs, 0.0)
    assert np.all(mix @ finite <= np.maximum(average, costs.min()) * (1 + 1e-12) + 1e-15)
    for i in range(len(gain)):
        expected = best_mix_value(gain[i], costs, float(average[i]))
        assert float(mix[i] @ gain[i]) == pytest.approx(expected, rel=1e-7, abs=1e-9 * np.abs(gain[i]).max())
    return mix


def random_costs(rng: np.random.Generator, units: int, kind: str) -> np.ndarray:
    costs = {
        "any": rng.uniform(0, 3, size=units),
        "ties": rng.integers(0, 3, size=units).astype(float),
        "equal": np.full(units, 1.5),
        "free or one": (np.arange(units) % 7 > 0).astype(float),
        "wide": 10.0 ** rng.uniform(-2, 2, size=units),
        "infinite": np.where(rng.random(units) < 0.4, np.inf, rng.uniform(0, 3, size=units)),
    }[kind]
    if np.isinf(costs).all():
        costs[0] = 1.0
    return costs


@pytest.mark.parametrize("kind", ["any", "ties", "equal", "free or one", "wide", "infinite"])
@pytest.mark.parametrize("units", [1, 2, 5, 90])
def test_mix_against_linear_programming(kind: str, units: int) -> None:
    rng = np.random.default_rng([units, len(kind)])
    for _ in range(6):
        costs = random_costs(rng, units, kind)
        gain = rng.choice([rng.random((5, units)), rng.integers(0, 3, size=(5, units)).astype(float)])
        top = float(costs[np.isfinite(costs)].max())
        average = np.array([0.0, rng.uniform(0, top), rng.uniform(0, top), top, np.inf])
        check_mix(gain, costs, average)


def test_gain_that_grows_with_cost_needs_many_corrections() -> None:
    """A concave chain of 60 units, all on the hull: the two neighbours of the average are found."""
    costs = np.arange(60.0)
    mix = check_mix(np.sqrt(costs)[None], costs, np.array([17.25]))
    np.testing.assert_allclose(mix[0, [17, 18]], [0.75, 0.25], rtol=1e-12)


def test_where_nothing_is_affordable_the_cheapest_is_taken_alone() -> None:
    mix = affordable_mix(np.array([[1.0, 5.0, 2.0, 9.0]]), np.array([2.0, 3.0, 2.0, np.inf]), np.array([0.5]))
    assert mix.tolist() == [[0.0, 0.0, 1.0, 0.0]]
