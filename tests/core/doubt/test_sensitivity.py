"""A hidden cause of bounded strength: closed forms by hand, against linear programmes, and worlds that have one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from fairarm.core.doubt.box import Box, most_within
from fairarm.core.doubt.sensitivity import (
    Parts,
    draw_chances,
    hidden_box,
    others_of_parts,
    others_two_valued,
    strength_of_column,
)


def others_of_states(law, values, gamma):
    """Of an outcome with states, from P(Y | c) (..., C, O) and their values (O,)."""
    order = np.argsort(values, kind="stable")
    return others_of_parts(law[..., order], Parts.of_values(values[order]), gamma)


def least(weight: np.ndarray, box: Box) -> float:
    return float(Box(box.low[None], box.high[None]).least(weight[None, None])[0, 0])


def most(weight: np.ndarray, box: Box) -> float:
    return float(Box(box.low[None], box.high[None]).most(weight[None, None])[0, 0])


def test_two_values_by_hand() -> None:
    """θ = 0.5, Γ = 2: the others' mean is at least 1/4 (each 1 counts half) and at most 3/4."""
    box = others_two_valued(np.array([0.5, 0.9, 0.0, 1.0]), 2.0)
    assert box.low == pytest.approx([0.25, 0.8, 0.0, 1.0]) and box.high == pytest.approx([0.75, 0.95, 0.0, 1.0])


def test_no_hidden_cause_leaves_the_mean() -> None:
    theta = np.linspace(0, 1, 11)
    box = others_two_valued(theta, 1.0)
    assert box.low == pytest.approx(theta) and box.high == pytest.approx(theta)
    law = np.random.default_rng(0).dirichlet(np.ones(4), size=11)
    box = others_of_states(law, np.array([0.0, 0.3, 1.0, 0.5]), 1.0)
    assert box.low == pytest.approx(box.high)


def test_sorted_states_are_the_two_valued_form_where_there_are_two() -> None:
    theta = np.linspace(0, 1, 21)
    for gamma in (1.2, 2.0, 9.0):
        states = others_of_states(np.stack([theta, 1 - theta], axis=1), np.array([1.0, 0.0]), gamma)
        two = others_two_valued(theta, gamma)
        assert states.low == pytest.approx(two.low, abs=1e-15) and states.high == pytest.approx(two.high, abs=1e-15)


def test_strengths_may_differ_between_draws() -> None:
    theta = np.array([[0.5, 0.9], [0.5, 0.9]])
    both = others_two_valued(theta, np.array([[1.0], [2.0]]))
    assert both.low[0] == pytest.approx([0.5, 0.9]) and both.low[1] == pytest.approx([0.25, 0.8])


def world(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Laws of logged outcomes by cell (C, O), values, P(v | x) by cell, Γ."""
    cells, states = int(rng.integers(1, 6)), int(rng.integers(2, 6))
    values = np.sort(rng.uniform(size=states))
    values[0], values[-1] = 0.0, 1.0
    return (
        rng.dirichlet(np.ones(states), size=cells),
        values,
        rng.uniform(0.02, 0.98, size=cells),
        float(rng.uniform(1, 5)),
    )


def programme(weight: np.ndarray, row: np.ndarray, end: float, made: tuple) -> float:
    """max Σ_c w_c E[Y(v) | x] over the laws q_c of Y(v): P(v) p ≤ q, and the odds of v given Y(v) off by at most Γ."""
    law, values, chance, gamma = made
    seen, rest = chance[:, None] * law, (1 - chance)[:, None] * law
    bounds = np.stack([(seen + rest / gamma).ravel(), (seen + rest * gamma).ravel()], axis=1)
    cells = len(law)
    sums = np.kron(np.eye(cells), np.ones(len(values)))
    each = np.kron(np.eye(cells), values)
    found = linprog(-weight @ each, (row @ each)[None], [end], sums, np.ones(cells), bounds)
    return -np.inf if found.status == 2 else float(-found.fun)


def boxed(made: tuple) -> Box:
    law, values, chance, gamma = made
    theta = law @ values
    return hidden_box(chance, Box(theta, theta), others_of_states(law, values, gamma))


def test_bounds_against_linear_programmes() -> None:
    """150 problems, with a row of fairness and without."""
    rng = np.random.default_rng(11)
    for _ in range(150):
        made = world(rng)
        weight, row = rng.normal(size=(2, len(made[0])))
        box = boxed(made)
        assert most(weight, box) == pytest.approx(programme(weight, row, 1e6, made), abs=1e-7)
        assert least(weight, box) == pytest.approx(-programme(-weight, row, 1e6, made), abs=1e-7)
        end = float(row @ (made[0] @ made[1]) + rng.normal() * 0.1)
        found = float(most_within(weight, row, (-np.inf, end), box))
        assert found == pytest.approx(programme(weight, row, end, made), abs=1e-6)


def test_a_world_with_a_hidden_cause_lies_inside_at_its_strength_and_not_below() -> None:
    """U is 0 or 1, P(U) = ½; it moves decision and outcome. At the Γ of the world's own odds the truth is inside, on the end
    where outcomes are as extreme as the odds."""
    p_u = np.array([0.3, 0.7])  # P(V = 1 | U)
    mean = np.array([0.2, 0.8])  # E[Y(1) | U]
    chance, truth = p_u.mean(), mean.mean()
    theta = (p_u * mean).sum() / p_u.sum()
    odds = p_u / (1 - p_u) / (chance / (1 - chance))
    gamma = float(np.maximum(odds, 1 / odds).max())
    low, high = (
        hidden_box(
            np.array([chance]), Box(np.array([theta]), np.array([theta])), others_two_valued(np.array([theta]), g)
        )
        for g in (gamma, 1.05)
    )
    assert low.low[0] <= truth <= low.high[0] and truth < high.low[0]


def test_drawn_chances() -> None:
    drawn = draw_chances(np.array([[90, 10], [0, 0]]), 4000, np.random.default_rng(2))
    assert drawn.shape == (4000, 2, 2) and drawn.sum(axis=2) == pytest.approx(1.0)
    assert drawn.mean(axis=0) == pytest.approx(np.array([[0.9, 0.1], [0.5, 0.5]]), abs=0.02)


def test_how_strong_a_recorded_column_is_by_hand() -> None:
    """One column of two values: decision 1 in 30 of 100 rows at one, in 60 of 100 at the other; without it 90 of 200."""
    rows = np.array([[70, 30], [40, 60]])
    merged = 90.5 / 110.5
    first, second = merged / (30.5 / 70.5), (60.5 / 40.5) / merged
    assert strength_of_column(rows, np.array([0, 0])) == pytest.approx(max(first, second))
    assert strength_of_column(rows, np.array([0, 1])) == pytest.approx(
        1.0
    )  # the column tells nothing that is not known
