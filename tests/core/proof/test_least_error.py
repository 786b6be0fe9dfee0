"""The least error that would have shown: worked by hand where it can be, then found in runs that have it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from fairarm.core.proof.law_test import Given, given_parents_tests, is_void, known_law_tests
from fairarm.core.proof.least_error import NORMAL, SHOWN_IN, least_error


def log_ratio(n: int, k: int, p: float) -> float:
    """log e of k of n for two atoms."""
    kt = math.lgamma(k + 0.5) + math.lgamma(n - k + 0.5) - math.lgamma(n + 1) - math.log(math.pi)
    return kt - k * math.log(p) - (n - k) * math.log(1 - p)


@pytest.mark.parametrize(("p", "n"), [(0.5, 900), (0.2, 400), (0.05, 3000)])
def test_of_two_decisions_the_exact_chance_to_be_shown_is_as_stated(p, n):
    """By summing the binomial law: an error of the size found shows in 0.93 to 0.985, one of 0.9 of it in less."""
    log_least = math.log(1e4 * 21)
    found = least_error(np.array([[[[p, 1 - p]]]]), np.full((1, 1, 1, 1), float(n)), log_least)[0, 0, 0]
    k = np.arange(n + 1)
    over = np.array([log_ratio(n, int(i), p) >= log_least for i in k])
    shown = {size: [float(binom.pmf(k, n, q)[over].sum()) for q in (p + size, p - size) if 0 < q < 1] for size in (found, 0.9 * found)}  # fmt: skip
    assert min(shown[found]) > 0.93
    assert min(shown[found]) < 0.985
    assert min(shown[0.9 * found]) < min(shown[found]) - 0.03


def test_it_falls_as_one_over_the_root_of_the_rows():
    p = np.full((1, 1, 1, 2), 0.5)
    few, many = (least_error(p, np.full((1, 1, 1, 1), n), math.log(2e5))[0, 0, 0] for n in (1e4, 1e6))
    assert 8 < few / many < 10  # 10, but for the logarithm of what is paid to learn


def test_the_quantile_is_that_of_the_share():
    assert math.erf(NORMAL / math.sqrt(2)) == pytest.approx(2 * SHOWN_IN - 1, abs=1e-4)


def test_nothing_shows_without_rows_or_with_few():
    p = np.full((1, 2, 1, 2), 0.5)
    found = least_error(p, np.array([[[[0.0], [9.0]]]]), math.log(2e5))
    assert np.isnan(found).all()


def test_a_certain_decision_shows_its_error_by_the_first_row_that_is_another():
    p = np.array([[[[1.0, 0.0]]]])
    found = least_error(p, np.full((1, 1, 1, 1), 50.0), math.log(2e5))[0, 0, 0]
    assert found == pytest.approx(brentq(lambda d: 1 - (1 - d) ** 50 - SHOWN_IN, 0, 1))


def shown_rate(tests, true, rows, runs, seed) -> float:
    """The share of runs that are void after so many rows of the first arm and group, looked at once."""
    cells = np.zeros((runs, 1, 2, len(true)))
    cells[:, 0, 0] = np.random.default_rng(seed).multinomial(rows, true, runs)
    return float(is_void(tests.log_values(cells, np.zeros((runs, 2)))).mean())


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("decision", [0, 1, 2])
def test_an_error_of_that_size_is_found_in_runs_that_have_it(decision, sign):
    """Four decisions, 1 500 rows, 500 runs: in at least 0.93 (0.95 are stated; five standard errors are 0.05)."""
    p = np.array([0.45, 0.3, 0.2, 0.05])
    tests = known_law_tests(np.broadcast_to(p, (1, 2, 4)), np.arange(4), np.zeros(4, dtype=np.int64), None)
    size = least_error(np.broadcast_to(p, (1, 2, 1, 4)), np.full((1, 1, 2, 1), 1500.0), tests.log_least)[0, 0, 0]
    true = p.copy()
    true[decision] += sign * size
    others = np.arange(4) != decision
    true[others] *= (1 - true[decision]) / true[others].sum()
    assert shown_rate(tests, true, 1500, 500, decision) >= 0.93


def test_given_parents_an_error_spread_over_all_of_them_is_found():
    """Three contexts with laws of their own: each is off by the size that is stated."""
    h = np.array([0.5, 0.3, 0.2])
    p = np.array([[0.5, 0.3, 0.2], [0.2, 0.4, 0.4], [0.35, 0.35, 0.3]])
    value, config = np.tile(np.arange(3), 3), np.repeat(np.arange(3), 3)
    tests = given_parents_tests([Given(value, config[None], np.broadcast_to(p.ravel(), (1, 2, 9)))], None)
    rows = np.broadcast_to(2000 * h, (1, 1, 2, 3))
    size = least_error(np.broadcast_to(p, (1, 2, 3, 3)), rows, tests.log_least)[0, 0, 0]
    for decision, sign in ((0, 1), (1, 1), (2, -1)):
        true = p.copy()
        true[:, decision] += sign * size
        others = np.arange(3) != decision
        true[:, others] *= ((1 - true[:, decision]) / true[:, others].sum(axis=1))[:, None]
        assert shown_rate(tests, (h[:, None] * true).ravel(), 2000, 500, decision) >= 0.93
