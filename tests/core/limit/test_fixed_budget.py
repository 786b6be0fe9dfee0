"""The least average error with a fixed number of pulls: against the best adaptive rule, by enumeration of all histories."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from fairarm.core.limit.fixed_budget import CellLaw, Rounds, dear_rounds, least_average_error, shown_cells
from fairarm.core.types import FloatArray

LAW = CellLaw(np.array([0.1, 0.8]), np.array([0.4, 0.6]))
# rows that do not sum to 1 and 0: with all cells alike every arm would be as good as the others, and a tie has two right answers
NATURAL = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.55], [0.1, 0.78, 0.2]])
DIFFERENCE = np.array([[0.3, -0.25, 0.1], [0.5, -0.1, -0.35], [-0.3, 0.5, -0.25]])
TOLERANCE = 0.1
UNITS = np.array([[0.7, 0.2, 0.1], [0.05, 0.35, 0.6]])


def answers_by_hand() -> list[int]:
    """The best fair arm of each truth, −1 for none, in the order of `TRUTHS`."""
    found = []
    for theta in TRUTHS:
        fair = [k for k in range(3) if abs(sum(DIFFERENCE[k] * theta)) < TOLERANCE]
        found.append(max(fair, key=lambda k: sum(NATURAL[k] * theta)) if fair else -1)
    return found


TRUTHS = list(itertools.product((0.1, 0.8), repeat=3))
PRIOR = [np.prod([0.4 if x == 0.1 else 0.6 for x in theta]) for theta in TRUTHS]
ANSWERS = answers_by_hand()


def right_at_best(weights: list[float], units: FloatArray, pulls: int) -> float:
    """The probability of a right answer under the best adaptive rule, for these joint weights of the truths."""
    if not pulls:
        return max(sum(w for w, a in zip(weights, ANSWERS, strict=True) if a == answer) for answer in set(ANSWERS))
    return max(
        sum(
            right_at_best(
                [w * law[c] * (theta[c] if y else 1 - theta[c]) for w, theta in zip(weights, TRUTHS, strict=True)],
                units,
                pulls - 1,
            )
            for c in range(3)
            for y in (0, 1)
        )
        for law in units
    )


def estimated(classes: tuple[Rounds, ...], seed: int = 0) -> tuple[float, float]:
    found = least_average_error(
        classes, LAW, NATURAL, DIFFERENCE, TOLERANCE, np.random.default_rng(seed), truths=3000, draws=1000
    )
    return found.error, found.standard_error


def test_the_case_is_no_trivial_one() -> None:
    assert len(set(ANSWERS)) == 4


@pytest.mark.parametrize("pulls", [0, 1, 3])
def test_with_one_unit_it_is_the_error_of_the_best_answer(pulls: int) -> None:
    exact = 1 - right_at_best(list(PRIOR), UNITS[:1], pulls)
    error, spread = estimated((Rounds(UNITS[:1], pulls),), seed=pulls)
    assert error == pytest.approx(exact, abs=4 * spread + 0.01)  # 1 000 draws leave a bias of less than 0.01


@pytest.mark.parametrize("pulls", [1, 2, 3])
def test_no_adaptive_rule_is_better(pulls: int) -> None:
    best = 1 - right_at_best(list(PRIOR), UNITS, pulls)
    error, spread = estimated((Rounds(UNITS, pulls),), seed=pulls)
    assert error <= best + 4 * spread
    assert error >= 0.5 * best, "it is not empty either"


def test_dear_units_are_seen_in_their_own_rounds_alone() -> None:
    """A rule that may make one pull of the second unit and two of the first, in any order."""
    best = 1 - max(
        right_in_order(list(PRIOR), [UNITS[i] for i in order]) for order in ((0, 0, 1), (0, 1, 0), (1, 0, 0))
    )
    error, spread = estimated((Rounds(UNITS[:1], 2), Rounds(UNITS[1:], 1)))
    assert error == pytest.approx(best, abs=4 * spread + 0.01)


def right_in_order(weights: list[float], laws: list[FloatArray]) -> float:
    return right_at_best(weights, np.empty((0, 3)), 0) if not laws else sum(
        right_in_order(
            [w * laws[0][c] * (theta[c] if y else 1 - theta[c]) for w, theta in zip(weights, TRUTHS, strict=True)],
            laws[1:],
        )
        for c in range(3)
        for y in (0, 1)
    )  # fmt: skip


def test_a_round_holds_a_row_of_every_unit_by_its_own_law() -> None:
    rng = np.random.default_rng(4)
    alone = shown_cells(UNITS[:1], 20_000, rng)
    assert np.all(alone.sum(axis=1) == 1)
    assert chisquare(alone.sum(axis=0), 20_000 * UNITS[0]).pvalue > 1e-4
    both = shown_cells(UNITS, 20_000, rng)
    assert set(both.sum(axis=1)) == {1, 2}
    assert np.all(both.mean(axis=0) >= UNITS.max(axis=0) - 0.015)
    assert np.all(both.mean(axis=0) <= UNITS.sum(axis=0) + 0.015)
    # the race gives both units the same cell at least as often as Σ min / Σ max, for any two laws
    assert (both.sum(axis=1) == 1).mean() >= UNITS.min(axis=0).sum() / UNITS.max(axis=0).sum() - 0.015


def test_units_with_cells_of_probability_zero_never_show_them() -> None:
    assert shown_cells(np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]), 500, np.random.default_rng(0)).sum(axis=0)[2] == 0


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=1, max_size=4),
    st.integers(1, 8),
    st.sampled_from([None, 0.0, 0.25, 0.5, 1.0, 2.0]),
)
def test_dear_pulls_by_trying_every_plan(costs: list[float], pulls: int, budget: float | None) -> None:
    if budget is not None and budget < min(costs):
        return
    plans = itertools.combinations_with_replacement(costs, pulls)
    within = [plan for plan in plans if budget is None or sum(plan) <= budget * pulls + 1e-9]
    most = max(sum(cost > min(costs) for cost in plan) for plan in within)
    found = dear_rounds(np.array(costs), budget, pulls)
    assert found == most if len(set(costs)) > 1 else found >= most
