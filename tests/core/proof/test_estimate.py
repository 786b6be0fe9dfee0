"""What the bets go by: estimates in closed form, and leaders whose draws are each replicate's own."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.core.answer import Code
from fairarm.core.proof.claims import Rule
from fairarm.core.proof.estimate import LEADER_DRAWS, Seen, estimate, leader
from fairarm.core.proof.region import mixture, share_interval

HALF = np.array([0.5, 0.5])
LAW = np.array(
    [[[0.5, 0.3, 0.2], [0.45, 0.3, 0.25]], [[0.1, 0.3, 0.6], [0.1, 0.2, 0.7]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]]
)
THETA = np.array([0.1, 0.5, 0.95])  # μ = .41, .75, .54 and ζ = −.04, −.05, −.60


def seen_of(n: float, runs: int = 1, theta: np.ndarray = THETA) -> Seen:
    counts = np.full((runs, 3), n)
    return Seen(counts, counts * theta, np.full((runs, 3, 2), n / 2), np.tile([30.0, 12.0], (runs, 1)))


def test_estimates_are_the_mixtures_mean_through_the_law():
    known = estimate(Rule(LAW, 0.2, 0.05), seen_of(40.0))
    theta = mixture(np.full((1, 3), 40.0), 40.0 * THETA[None]).mean[0]
    assert known.theta[0] == pytest.approx(theta)
    ends = share_interval(np.array([30.0]), np.array([12.0]), 0.005)[0]
    for k in range(3):
        means = LAW[k] @ theta
        assert known.gap[0, k] == pytest.approx(means[0] - means[1])
        for p, end in enumerate(ends):
            assert known.outcome[0, p, k] == pytest.approx(end * means[0] + (1 - end) * means[1])
    assert known.expected[0] == pytest.approx([30.5 / 43, 12.5 / 43])
    assert np.all(known.h == pytest.approx(known.h[0, 0]))


def led(n: float, refuted=(), runs: int = 1, seed: int = 0, number: int = 1, replicate=None, tolerance: float = 0.2):
    rule, seen = Rule(LAW, tolerance, 0.05, HALF), seen_of(n, runs)
    gone = np.zeros((runs, 4), dtype=bool)
    gone[:, list(refuted)] = True
    who = np.arange(runs) if replicate is None else np.asarray(replicate)
    return leader(rule, seen, estimate(rule, seen), gone, seed, np.full(runs, number), who)


def test_the_leader_is_the_likeliest_answer_that_is_not_refuted():
    sure = led(2000.0)
    assert sure.code[0] == 1 and sure.share[0] == 1 and sure.sure[0]
    next_best = led(2000.0, refuted=[2])
    assert next_best.code[0] != 1 and next_best.share[0] == 0 and not next_best.sure[0]
    assert led(2000.0, tolerance=0.01).code[0] == Code.NONE
    few = led(1.0)
    assert not few.sure[0]


def test_shares_are_those_of_draws_around_the_estimate():
    """With n rows in each cell, by Monte Carlo of its own; 60 draws have a standard error of at most 0.065."""
    rule, seen = Rule(LAW, 0.045, 0.05, HALF), seen_of(60.0, 200)
    known = estimate(rule, seen)
    found = leader(rule, seen, known, np.zeros((200, 4), dtype=bool), 1, np.ones(200, dtype=int), np.arange(200))
    rng, t = np.random.default_rng(0), known.theta[0]
    drawn = rng.beta(t * 61, (1 - t) * 61, (20_000, 3))
    means = np.einsum("ktc,dc->dkt", LAW, drawn)
    gap, outcome = means[..., 0] - means[..., 1], means.mean(axis=2)
    fair = np.abs(gap) < 0.045
    best = np.where(fair.any(axis=1), np.where(fair, outcome, -1).argmax(axis=1), -1)
    shares = {k: float(np.mean(best == k)) for k in (-1, 0, 1, 2)}
    top = max(shares, key=lambda k: shares[k])
    usual = found.code == top
    assert usual.mean() > 0.5
    # the share of the leader is the largest of several, so a little above that of the likeliest
    assert abs(found.share[usual].mean() - shares[top]) < 0.05
    assert LEADER_DRAWS == 60


def test_draws_are_each_replicates_own():
    """They depend on the seed, the batch's number and the replicate's, not on who is computed together."""
    every = led(8.0, runs=6)
    alone = [led(8.0, replicate=[i]) for i in range(6)]
    assert [x.share[0] for x in alone] == every.share.tolist()
    assert len(set(every.share.tolist())) > 1
    assert led(8.0, runs=6, number=2).share.tolist() != every.share.tolist()
    assert led(8.0, runs=6, seed=1).share.tolist() != every.share.tolist()
