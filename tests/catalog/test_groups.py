"""Synthetic problems with many groups: every count and gap as promised, by arithmetic on the tables alone."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fairarm import load_problem
from fairarm.catalog.groups import arm_counts, synthetic_groups
from fairarm.errors import OptionError
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem

SIZES = [
    {}, {"G": 2}, {"G": 3, "K": 4}, {"G": 6, "K": 20}, {"G": 20}, {"m": 2}, {"m": 100, "K": 5}, {"K": 60, "G": 5},
]  # fmt: skip


def means(problem: Problem, network: Network) -> np.ndarray:
    """μ_k(t) = Σ_v P_k(v | t) P(Y = 1 | v), (K, G)."""
    laws = np.stack([arm.mechanism.probabilities for arm in problem.arms])  # type: ignore[union-attr]
    assert np.allclose(laws.sum(axis=2), 1, rtol=0, atol=1e-12) and laws.min() >= 0
    return np.asarray(laws @ network.tables["Y"].probabilities[:, 1])


def broken(row: np.ndarray) -> list[tuple[int, int]]:
    return [(t, u) for t, u in combinations(range(len(row)), 2) if abs(row[t] - row[u]) >= 0.1]


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_every_instance_is_what_it_promises(sizes: dict[str, int], noisy: bool) -> None:
    for seed in range(5):
        problem, network = synthetic_groups(**sizes, seed=seed, noisy=noisy)
        G, K = len(problem.groups), len(problem.arms)
        found = means(problem, network)
        outcome = found @ network.tables["S"].probabilities
        unfair = [broken(row) for row in found]
        fair = [k for k in range(K) if not unfair[k]]
        best, second = sorted(fair, key=lambda k: -outcome[k])[:2]
        better = [k for k in range(K) if outcome[k] > outcome[best]]
        assert (len(fair), len(better), K - len(fair) - len(better)) == arm_counts(K)
        gaps = np.array([abs(row[t] - row[u]) for row in found for t, u in combinations(range(G), 2)])
        assert np.abs(gaps - 0.1).min() >= 0.02 - 1e-12  # no gap is near to the tolerance
        assert 0.04 - 1e-12 <= outcome[best] - outcome[second] <= 0.07 + 1e-12
        assert not any(outcome[second] < outcome[k] < outcome[best] for k in range(K))
        assert all(len(unfair[k]) == 1 and outcome[k] - outcome[best] >= 0.02 - 1e-12 for k in better)
        assert len({unfair[k][0] for k in better}) == min(len(better), G * (G - 1) // 2)  # the pairs take turns
        assert 0 in fair and best != 0 and problem.deployed == "arm-1"
        assert len(problem.rows) == G * (G - 1) // 2


def test_two_of_the_groups_would_mislead() -> None:
    """Comparing any one pair, some arm that is better than the best fair one seems fair."""
    for seed in range(20):
        problem, network = synthetic_groups(seed=seed)
        found = means(problem, network)
        outcome = found @ network.tables["S"].probabilities
        best = max((k for k in range(12) if not broken(found[k])), key=lambda k: outcome[k])
        for t, u in combinations(range(4), 2):
            passes = [k for k in range(12) if abs(found[k, t] - found[k, u]) < 0.1 and outcome[k] > outcome[best]]
            assert passes


def test_names_carry_every_parameter_and_no_other_is_known() -> None:
    made = load_problem("synthetic-groups:G=3,K=6,m=5,seed=2")
    assert made.problem.name == "synthetic-groups:G=3,K=6,m=5,seed=2" and made.world is not None
    assert load_problem(made.problem.name).problem == made.problem
    assert load_problem("synthetic-groups-noisy:G=5").problem.name == "synthetic-groups-noisy:G=5,K=12,m=8,seed=0"
    assert made.problem != load_problem("synthetic-groups-noisy:G=3,K=6,m=5,seed=2").problem
    with pytest.raises(OptionError, match=r"has no parameter 'noisy'.*Parameters: G, K, m, seed"):
        load_problem("synthetic-groups:noisy=1")


@pytest.mark.parametrize(
    "wrong", [{"G": 1}, {"G": 21}, {"K": 3}, {"m": 1}, {"m": 201}, {"seed": -1}, {"G": True}, {"K": 4.5}]
)
def test_sizes_outside_of_what_is_made_are_refused(wrong: dict[str, int]) -> None:
    (name,) = wrong
    with pytest.raises(OptionError, match=f"'synthetic-groups' got {name}=.*is a whole number from"):
        synthetic_groups(**wrong)


def test_another_tolerance_goes_to_the_pairs() -> None:
    loose = load_problem("synthetic-groups", tolerance=0.5).problem
    assert {row.below for row in loose.rows} == {0.5} and len(loose.rows) == 6
