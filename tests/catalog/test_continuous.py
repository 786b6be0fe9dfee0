"""The problems with a real-valued decision: their worlds follow the declared densities, and their truth is right."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fairarm.beliefs.evidence import RowEvidence
from fairarm.catalog.continuous import beta_mixtures, gaussian_arms
from fairarm.errors import OptionError
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Request
from fairarm.worlds.function import FunctionWorld

MADE = [beta_mixtures(), beta_mixtures(binary=False, seed=1), gaussian_arms(), gaussian_arms(binary=False, seed=1)]


@pytest.mark.parametrize(("problem", "world"), MADE, ids=[p.name for p, _ in MADE])
def test_pulls_have_the_declared_truth(problem: Problem, world: FunctionWorld) -> None:
    """Means of 4 000 forced rows: none of 40 is further than 4.5 of its standard errors from the quadrature."""
    counts = np.zeros((3, len(problem.arms)), dtype=np.int64)
    counts[1:] = 4000
    rows = world.pull(Request(problem.arm_names, problem.regimes, counts), np.random.default_rng(0))
    RowEvidence.empty(problem).add(rows)  # every row is possible under its own arm
    truth = world.truth()
    assert truth is not None
    y = rows.columns["Y"].astype(float)
    for k in range(len(problem.arms)):
        for t in (0, 1):
            own = y[(rows.arm == k) & (rows.regime == 1 + t)]
            assert abs(own.mean() - truth.group_outcomes[k, t]) < 4.5 * own.std() / np.sqrt(len(own))


@pytest.mark.parametrize(("problem", "world"), MADE, ids=[p.name for p, _ in MADE])
def test_decisions_follow_the_declared_density(problem: Problem, world: FunctionWorld) -> None:
    """By the probability integral: 10 Kolmogorov–Smirnov tests at 1e-4."""
    rng = np.random.default_rng(1)
    low, high = problem.variables["V"].low, problem.variables["V"].high
    grid = np.linspace(low, high, 20_001)
    for k, arm in enumerate(problem.arm_names):
        rows = world.simulate(arm, "b", 2000, rng)
        columns = {"V": grid, "S": np.ones(len(grid), dtype=int)}
        v = np.asarray(rows["V"])
        if "Z" in rows:
            columns["Z"] = np.zeros(len(grid), dtype=int)
            v = v[np.asarray(rows["Z"]) == "x"]
        p = np.exp(problem.arms[k].mechanism.log_prob(columns))
        reached = np.concatenate([[0.0], np.cumsum((p[1:] + p[:-1]) / 2 * np.diff(grid))])
        assert reached[-1] == pytest.approx(1.0, abs=1e-6)
        assert stats.kstest(np.interp(v, grid, reached), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("make", [beta_mixtures, gaussian_arms])
def test_the_tolerance_splits_the_arms(make: type) -> None:
    for seed in range(4):
        problem, world = make(seed=seed, K=6)
        truth = world.truth()
        assert 2 <= truth.fair.sum() <= 4
        fair = np.sort(truth.outcomes[truth.fair])
        assert fair[-1] - fair[-2] >= 0.02 and truth.outcomes[~truth.fair].max() > fair[-1]
        assert truth.best_fair_arm != 0  # not the deployed arm, which is free
        assert np.all(problem.compiled.cost_array[:, 0] == 0) and np.all(problem.compiled.cost_array[:, 1:] == 1)
        again = make(seed=seed, K=6)[1].truth()
        np.testing.assert_array_equal(again.outcomes, truth.outcomes)


def test_sizes_are_checked() -> None:
    for make in (beta_mixtures, gaussian_arms):
        with pytest.raises(OptionError, match="needs K"):
            make(K=2)


def test_csr_has_nothing_to_go_by_with_gaussian_arms() -> None:
    problem, _ = gaussian_arms()
    assert problem.compiled.tables.M[:, 0].max() > 100
