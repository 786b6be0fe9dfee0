"""Synthetic problems on S → V → Y with many groups, where the better arms are unfair between two groups only.

Each arm is made to a table of targets: first the mean outcome of every group, then laws P(V | S) that have these means. The arms that
are better than the best fair one break the tolerance for one pair of groups each and keep it for all others, and they take turns with
the pairs. Whoever compares two groups takes an arm for fair that breaks it for another pair.
"""

from __future__ import annotations

from itertools import combinations
from string import ascii_lowercase

import numpy as np

from fairarm.catalog.chain import (
    MAX_ARMS,
    MAX_SEED,
    MAX_STATES,
    chain_network,
    chain_problem,
    check_whole,
    law_with_means,
    outcome_law,
    stretched,
)
from fairarm.core.types import FloatArray
from fairarm.problem.fairness import MAX_GROUPS
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem

DESCRIPTION = "tolerance 0.1 for all pairs of G groups: of 12 arms 6 are fair, 3 are better but unfair to one pair each"
KEY = 8
"""Seeds the generator together with the caller's seed, as the keys of `synthetic` do: never reuse or change it."""

TOLERANCE, CLEAR = 0.1, 0.02
"""No gap of any arm is nearer to the tolerance than ``CLEAR``."""
BEST, SECOND_BY, BETTER_BY, WORSE_BY = (0.5, 0.55), (0.04, 0.07), (0.02, 0.12), (0.0, 0.1)
"""Outcome of the best fair arm; by how much the second is below it, better arms are above it, and others below the second."""
FAIR_SPREAD, PAIR_GAP, SPLIT_GAP = (0.03, 0.08), (0.12, 0.15), (0.16, 0.2)
"""From the lowest to the highest group: of a fair arm, of one that is unfair to one pair, between the two parts of other arms."""
LEAST_ARMS = 4


def synthetic_groups(
    *, G: int = 4, K: int = 12, m: int = 8, seed: int = 0, noisy: bool = False
) -> tuple[Problem, Network]:
    """A problem with G groups and K arms over m decisions, and the network that answers its pulls.

    No two groups may differ by 0.1. The shares of the groups fall, as G, G − 1, …, 1. Outcomes, costs and budget are those of
    `synthetic`; noisy coins are stretched to [0.05, 0.95].

    >>> problem, network = synthetic_groups(G=4, seed=3)
    >>> problem.name, problem.groups, len(problem.rows)
    ('synthetic-groups:G=4,K=12,m=8,seed=3', ('a', 'b', 'c', 'd'), 6)
    """
    sizes = {"G": (G, 2, MAX_GROUPS), "K": (K, LEAST_ARMS, MAX_ARMS), "m": (m, 2, MAX_STATES)}
    check_whole("'synthetic-groups'", **sizes, seed=(seed, 0, MAX_SEED))
    rng = np.random.default_rng([KEY, seed, G, K, m, int(noisy)])
    shares = np.arange(G, 0, -1) / (G * (G + 1) / 2)
    theta = stretched(outcome_law(rng, m, noisy)) if noisy else outcome_law(rng, m, noisy)
    arms = np.stack([law_with_means(means, theta, k == 0, rng) for k, means in enumerate(_targets(K, shares, rng))])
    name, groups = f"synthetic-groups{'-noisy' if noisy else ''}:G={G},K={K},m={m},seed={seed}", ascii_lowercase[:G]
    text = f"Synthetic, S → V → Y; tolerance {TOLERANCE} for all pairs of {G} groups; better arms are unfair to one pair each."
    problem = chain_problem(name, text, arms, groups, shares.tolist(), TOLERANCE)
    return problem, chain_network(groups, shares.tolist(), arms[0], theta)


def arm_counts(K: int) -> tuple[int, int, int]:
    """How many of K arms are fair, unfair to one pair but better than the best fair arm, and unfair but worse."""
    fair, better = K // 2, K // 4
    return fair, better, K - fair - better


def _targets(K: int, shares: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Means of the groups, (K, G): the deployed arm, which is fair and not the best, then the others in random order."""
    fair, better, worse = arm_counts(K)
    best = rng.uniform(*BEST)
    second = best - rng.uniform(*SECOND_BY)
    pairs = rng.permutation(list(combinations(range(len(shares)), 2)))
    made = [(second - rng.uniform(*WORSE_BY) * (i > 0), _fair(shares, rng)) for i in range(fair - 1)]
    made = [made[-1], *made[:-1], (best, _fair(shares, rng))]  # of two fair arms, the deployed one is the second
    made += [(best + rng.uniform(*BETTER_BY), _one_pair(shares, pairs[i % len(pairs)], rng)) for i in range(better)]
    made += [(second - rng.uniform(*WORSE_BY), _split(shares, rng)) for _ in range(worse)]
    means = np.array([outcome + apart - apart @ shares for outcome, apart in made])
    return np.asarray(means[[0, *rng.permutation(np.arange(1, K))]])


def _fair(shares: FloatArray, rng: np.random.Generator) -> FloatArray:
    """How far groups lie apart, (G,): every two by less than the tolerance, clearly."""
    apart = rng.random(len(shares))
    return np.asarray((apart - apart.min()) / np.ptp(apart) * rng.uniform(*FAIR_SPREAD))


def _one_pair(shares: FloatArray, pair: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The two of the pair lie at the ends, the others between them and clearly within the tolerance of both."""
    gap = rng.uniform(*PAIR_GAP)
    apart = rng.uniform(gap - (TOLERANCE - CLEAR), TOLERANCE - CLEAR, size=len(shares))
    apart[pair] = rng.permutation([0.0, gap])
    return apart


def _split(shares: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Two parts of the groups that differ clearly, each group near to the others of its part."""
    part = rng.permutation(np.arange(len(shares)) < rng.integers(1, len(shares)))
    return np.asarray(part * rng.uniform(*SPLIT_GAP) + rng.uniform(0.0, CLEAR, size=len(shares)))
