"""Importance weights and dropped means, worked by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.paper.estimators import Terms, drop_threshold, dropped_mean, gap_weights, outcome_weights
from fairarm.problem.mechanism import Arm, Code, table
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable

LOG = np.log
NEVER = -np.inf

# Two arms; rows 0 and 1 are pulls of arm 0, row 2 of arm 1. In phase 1 the thresholds are 2, 4 / 8, 2.
DIVERGENCE = np.array([[1.0, 2.0], [4.0, 1.0]])
WEIGHT = np.array([[1.0, 2.5, 4.0], [3.0, 8.0, 2.001]])
ARM = np.array([0, 0, 1])
OUTCOME = np.array([1.0, 0.5, 1.0])
PULLS = np.array([2, 1])


def mean(phase: int = 1, **changes: object) -> np.ndarray:
    terms = dataclasses.replace(
        Terms(WEIGHT, ARM, OUTCOME), **{k: v for k, v in changes.items() if k in "weight outcome_sum"}
    )
    return dropped_mean(
        [terms], changes.get("pulls", PULLS), changes.get("divergence", DIVERGENCE), phase, changes.get("base", "2")
    )


# ---- weights ----


def test_outcome_weights() -> None:
    own = LOG(np.array([[0.5, 0.2, 0.9], [0.1, 0.3, 0.4]]))
    found = outcome_weights(own, LOG(np.array([0.25, 0.4, 0.3])))
    assert found == pytest.approx(np.array([[2.0, 0.5, 3.0], [0.4, 0.75, 4 / 3]]), rel=1e-14)


def test_gap_weights_by_hand_and_by_the_papers_product() -> None:
    """P_k/P_j = 0.3/0.6, P_s/P_s' = 0.8/0.2: (1/2)(4 − 1) = 3/2; the other way (1/2)(1/4 − 1) = −3/8."""
    to, given, pulled = LOG([[0.3 * 0.8]]), LOG([[0.3 * 0.2]]), LOG([0.6 * 0.2])
    assert gap_weights(to, given, pulled)[0, 0] == pytest.approx(1.5, rel=1e-14)
    assert gap_weights(given, to, LOG([0.6 * 0.8]))[0, 0] == pytest.approx(-0.375, rel=1e-14)


def test_gap_weights_where_the_decision_sees_the_group() -> None:
    """V ∈ ch(S): (L[k,s] − L[k,s'])/L[j,s'] = (0.7·0.8 − 0.1·0.2)/(0.5·0.2) = 5.4, not (0.1/0.5)(4 − 1)."""
    found = gap_weights(LOG([[0.7 * 0.8]]), LOG([[0.1 * 0.2]]), LOG([0.5 * 0.2]))
    assert found[0, 0] == pytest.approx(5.4, rel=1e-14)


def test_zeros_in_weights() -> None:
    """0 over anything, 0 over 0, and something over 0 (the pair is skipped by its divergence) are all 0."""
    own = np.array([[NEVER, NEVER, LOG(0.5)]])
    assert outcome_weights(own, np.array([LOG(0.5), NEVER, NEVER])).tolist() == [[0.0, 0.0, 0.0]]
    assert gap_weights(own, np.full((1, 3), LOG(0.25)), LOG([0.5, 0.5, 0.5])).tolist() == [[-0.5, -0.5, 0.5]]


def test_weights_of_tiny_likelihoods() -> None:
    found = outcome_weights(np.array([[-1000.0, -1003.0]]), np.array([-1001.0, -1001.0]))
    assert found == pytest.approx(np.array([[math.e, math.exp(-2)]]), rel=1e-13)


def test_a_gap_weight_whose_two_parts_overflow() -> None:
    """Equal likelihoods give numerator 0, hence weight 0, however small the denominator; no warning either."""
    found = gap_weights(np.array([[0.0, 0.0]]), np.array([[0.0, -1.0]]), np.array([-1000.0, -1000.0]))
    assert found[0, 0] == 0.0
    assert found[0, 1] == np.inf


# ---- the dropped mean ----


def test_worked_example() -> None:
    """k = 0: Z = 2 + 1/2; rows 0 and 2 stay (2.5 > 2 is dropped, 4 ≤ 4 stays): (1·1 + ½·4·1)/2.5 = 1.2.
    k = 1: Z = 2/4 + 1; rows 0 and 1 stay (8 ≤ 8), 2.001 > 2 is dropped: ¼(3·1 + 8·½)/1.5 = 7/6."""
    assert mean() == pytest.approx([1.2, 7 / 6], rel=1e-14)


def test_dropped_not_capped() -> None:
    """Capping row 1 at 2 would add ½·2 to the first sum, and dropping must not shrink Z."""
    assert mean()[0] != pytest.approx((1 + 0.5 * 2 + 2) / 2.5)
    assert mean()[0] != pytest.approx(3 / 1.5)


def test_the_threshold_grows_with_the_phase() -> None:
    """Phase 2: thresholds 4, 8 / 16, 4; every row stays."""
    assert mean(phase=2) == pytest.approx([(1 + 2.5 * 0.5 + 2) / 2.5, (7 / 4 + 2.001) / 1.5], rel=1e-14)


def test_gaps_are_dropped_by_their_size() -> None:
    """−2.5 is beyond 2, −4 is not beyond 4; signs stay."""
    signs = np.array([[1, -1, -1], [-1, 1, 1]])
    assert mean(weight=WEIGHT * signs) == pytest.approx([(1 - 2) / 2.5, (-3 + 4) / 4 / 1.5], rel=1e-14)


def test_base_e() -> None:
    """2 ln 2 · M: 1.386, 2.77 / 5.55, 1.386 in phase 1. Rows with 4 and 8 go, too."""
    assert drop_threshold(DIVERGENCE, 3) == pytest.approx(6 * DIVERGENCE, rel=1e-15)
    assert drop_threshold(DIVERGENCE, 3, "e") == pytest.approx(6 * math.log(2) * DIVERGENCE, rel=1e-15)
    assert mean(base="e") == pytest.approx([1 / 2.5, 3 / 4 / 1.5], rel=1e-14)


def test_undefined_is_nan_never_zero() -> None:
    assert np.isnan(mean(pulls=np.array([0, 0]), outcome_sum=np.zeros(3))).all()
    # arm 0 learns nothing from arm 1: without pulls of its own it has no estimate
    apart = np.array([[1.0, np.inf], [4.0, 1.0]])
    found = mean(pulls=np.array([0, 1]), outcome_sum=np.array([0.0, 0.0, 1.0]), divergence=apart)
    assert np.isnan(found[0])
    assert found[1] == 0.0  # defined: its one row is dropped, which counts in Z


def test_pairs_without_overlap_are_skipped() -> None:
    """Row 2 and the pull behind it count neither in the sum nor in Z of arm 0; arm 1 is as before."""
    apart = np.array([[1.0, np.inf], [4.0, 1.0]])
    assert mean(divergence=apart) == pytest.approx([1 / 2, 7 / 6], rel=1e-14)


def test_an_infinite_weight_of_a_skipped_pair_does_no_harm() -> None:
    """L[k]/L[j] beyond 1e308 comes with a divergence of +inf: the pair is skipped, nothing is nan."""
    apart = np.array([[1.0, np.inf], [4.0, 1.0]])
    weight = WEIGHT.copy()
    weight[0, 2] = np.inf
    assert mean(divergence=apart, weight=weight) == pytest.approx([1 / 2, 7 / 6], rel=1e-14)


def test_arms_that_differ_by_more_than_doubles_hold() -> None:
    """Arm 'rare' does heads with probability e^−1000, 'often' with e^−10: tails of 'often' are still its mean."""

    def heads(log_heads: float) -> Code:
        return Code("V", (), lambda c: np.where(c["V"] == 0, log_heads, math.log1p(-math.exp(log_heads))))

    problem = Problem(
        name="tails",
        variables=[Variable("S", ("a", "b")), Variable("V", ("heads", "tails")), Variable("Y", ("lose", "win"))],
        graph=[("S", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm("often", heads(-10.0)), Arm("rare", heads(-1000.0))],
        mechanisms=[table("Y", ["V", "S"], [[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]])],
        shares=(0.5, 0.5),
    )
    counts = np.zeros((1, 3, 2, 2, 4), dtype=np.int64)
    counts[0, 0, :, 0] = [0, 0, 1, 3]  # tails: lost once, won three times, for each arm
    evidence = CellEvidence(problem, counts)
    found = dropped_mean(evidence.outcome_terms((0,)), evidence.pulls()[:, 0], problem.compiled.tables.M, 1)
    assert found[0] == pytest.approx([0.75, 0.75], rel=1e-3)


def test_parts_of_the_observations_add_up() -> None:
    parts = [Terms(WEIGHT[:, rows], ARM[rows], OUTCOME[rows]) for rows in ([0], [1, 2])]
    assert dropped_mean(parts, PULLS, DIVERGENCE, 1) == pytest.approx(mean(), rel=1e-15)


def test_leading_axes_are_a_loop() -> None:
    rng = np.random.default_rng(11)
    K, J, size = 3, 4, 50
    weight, arm = rng.normal(scale=4, size=(K, size)), rng.integers(0, J, size=size)
    sums, pulls = rng.random((2, 5, size)), rng.integers(0, 30, size=(2, 5, J))
    pulls[1, 2] = 0
    divergence = 1 + rng.exponential(size=(K, J))
    divergence[0, 1] = np.inf
    together = dropped_mean([Terms(weight, arm, sums)], pulls, divergence, 2)
    assert together.shape == (2, 5, K)
    for a, b in np.ndindex(2, 5):
        alone = dropped_mean([Terms(weight, arm, sums[a, b])], pulls[a, b], divergence, 2)
        assert together[a, b] == pytest.approx(alone, rel=1e-13, nan_ok=True)
        for k in range(K):
            rate = [0.0 if np.isinf(d) else 1 / d for d in divergence[k]]
            size_k = sum(rate[j] * int(pulls[a, b, j]) for j in range(J))
            kept = [i for i in range(size) if abs(weight[k, i]) <= 4 * divergence[k, arm[i]]]
            total = sum(rate[arm[i]] * weight[k, i] * sums[a, b, i] for i in kept)
            expected = total / size_k if size_k > 0 else math.nan
            assert together[a, b, k] == pytest.approx(expected, rel=1e-12, nan_ok=True)
