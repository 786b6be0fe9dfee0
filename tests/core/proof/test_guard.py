"""The guard of gaps as served: which ends it guards, by hand, against every outcome, and how often it alarms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fairarm.core.fairness import Rows
from fairarm.core.proof.guard import STAKES, Guarded, paired

BINARY = np.array([0.0, 1.0])


def test_only_pairs_of_groups_are_guarded():
    """A pair with both ends, one with an upper end alone, a ratio, a row about everybody: of three groups."""
    rows = Rows(
        by_group=np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [1.0, -0.8, 0.0], [1.0, 0.0, 0.0]]),
        everyone=np.array([0.0, 0.0, 0.0, -1.0]),
        low=np.array([-0.1, -np.inf, 0.0, -0.1]),
        high=np.array([0.1, 0.2, np.inf, 0.1]),
    )
    found = Guarded.of(rows)
    assert found.first.tolist() == [0, 1, 1] and found.second.tolist() == [1, 0, 2]
    assert found.level == pytest.approx([0.1, 0.1, 0.2])
    nothing = Guarded.of(Rows(np.array([[1.0, -0.8]]), np.zeros(1), np.zeros(1), np.array([np.inf])))
    wealth = nothing.after(nothing.start(2, 3), np.ones((2, 3, 2, 2), dtype=int), BINARY, np.random.default_rng(0))
    assert not nothing.alarm(wealth).any()


def test_pairs_are_made_of_the_rows_there_are():
    rng = np.random.default_rng(1)
    for _ in range(50):
        first, second = rng.integers(0, 5, (2, 3))
        joint = paired(first, second, rng)
        assert joint.sum() == min(first.sum(), second.sum())
        assert np.all(joint.sum(axis=1) <= first) and np.all(joint.sum(axis=0) <= second)


def test_what_a_pair_pays_by_hand():
    """One pair, 1 beside 0, tolerance 0.25: the upper end gains 1 + λ 0.75, the lower one 1 − λ 1.25, with λ = stake / 1.25."""
    guarded = Guarded.of(Rows.gap(0.25))
    seen = np.array([[[[0, 1], [1, 0]]]])
    wealth = guarded.after(guarded.start(1, 1), seen, BINARY, np.random.default_rng(0))
    stakes = np.array(STAKES) / 1.25
    assert np.exp(wealth[0, 0, 0]) == pytest.approx(1 + stakes * 0.75)
    assert np.exp(wealth[0, 0, 1]) == pytest.approx(1 - stakes * 1.25)


def test_a_gap_within_is_not_expected_to_gain():
    """Every outcome of two pairs with a gap at the tolerance or below: the mean of each bet is at most 1."""
    guarded = Guarded.of(Rows.gap(0.2))
    for a, b in ((0.6, 0.4), (0.5, 0.5), (0.9, 0.7), (0.2, 0.4)):
        mean = np.zeros((2, len(STAKES)))
        for ys in itertools.product((0, 1), repeat=4):
            chance = math.prod(p if y else 1 - p for y, p in zip(ys, (a, a, b, b), strict=True))
            one, other = sum(ys[:2]), sum(ys[2:])
            # pairs at random: over both ways to match
            for match in ((0, 1), (1, 0)):
                joint = np.zeros((2, 2), dtype=int)
                for i, j in enumerate(match):
                    joint[ys[i], ys[2 + j]] += 1
                gains = []
                for t, level in ((1.0, 0.2), (-1.0, 0.2)):
                    difference = t * (BINARY[:, None] - BINARY)
                    gains.append([(np.log1p(s / 1.2 * (difference - level)) * joint).sum() for s in STAKES])
                mean += chance / 2 * np.exp(gains)
            assert one <= 2 and other <= 2
        assert np.all(mean <= 1 + 1e-12)
    assert len(guarded.level) == 2


def alarms(gap: float, studies: int, cohorts: int) -> float:
    rng, guarded = np.random.default_rng(2), Guarded.of(Rows.gap(0.2))
    wealth, ever = guarded.start(studies, 2), np.zeros(studies, dtype=bool)
    for _ in range(cohorts):
        good = rng.binomial(25, [0.5 + gap / 2, 0.5 - gap / 2], (studies, 2, 2))
        wealth = guarded.after(wealth, np.stack([25 - good, good], axis=-1), BINARY, rng)
        ever |= guarded.alarm(wealth).any(axis=1)
    return float(ever.mean())


def test_a_gap_beyond_is_found_and_one_at_the_tolerance_is_not():
    """200 studies at level 0.01: more than 10 alarms have probability 10⁻⁵. 0.2 beyond, all of 40 are found within 1 000 people an arm."""
    assert alarms(0.2, 200, 20) * 200 <= 10
    assert alarms(0.4, 40, 20) == 1.0
