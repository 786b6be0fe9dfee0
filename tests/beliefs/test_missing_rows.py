"""Rows without an outcome: they count for who they are, and certified bounds pay for what they could be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairarm.beliefs.certified import Bound, certify_counts, decision_law
from fairarm.beliefs.counted_bets import counted_bets
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.missing_rows import MissingRows, all_made
from fairarm.core.proof.log_bets import Scoring, bet_intervals, sums_of
from fairarm.core.proof.log_intervals import GroupCells, cut_sums, mean_intervals
from fairarm.problem.pulls import Batch, Request
from four_arms import SHARE, chain, world

PROBLEM = chain(deployed="even")
EVEN = PROBLEM.arm_index("even")


def log_of(rows: int, seed: int) -> Batch:
    counts = np.zeros((3, 4), dtype=int)
    counts[0, EVEN] = rows
    return world(PROBLEM).pull(Request(PROBLEM.arm_names, PROBLEM.regimes, counts), np.random.default_rng(seed))


def parted(made: Batch, share: float, rng: np.random.Generator) -> tuple[CellEvidence, MissingRows | None]:
    """Outcomes of 1 get lost: ``share`` of all rows, so that more of them than that."""
    ones = np.asarray(made.columns["Y"]) == 1
    gone = np.where(ones, rng.binomial(made.count, min(1.0, share / 0.34)), 0)
    rest = Batch(made.arm, made.regime, made.columns, made.count - gone)
    lost = Batch(made.arm, made.regime, made.columns, gone)
    return CellEvidence.empty(PROBLEM).add(rest), MissingRows.of(PROBLEM, lost) if gone.any() else None


def test_who_they_are_counts() -> None:
    made = log_of(4000, 1)
    evidence, missing = parted(made, 0.1, np.random.default_rng(2))
    whole = CellEvidence.empty(PROBLEM).add(made)
    assert missing is not None and missing.total > 300
    cells = PROBLEM.compiled.shared_cells
    both, full = missing.whole(evidence.summary(cells), cells), whole.summary(cells)
    for part in ("by_arm", "contexts", "natural"):
        assert np.array_equal(getattr(both, part), getattr(full, part))
    assert np.array_equal(both.rows[0] + missing.by_cell(cells), full.rows[0])
    assert np.array_equal(all_made(evidence, missing), whole.by_group().made)
    assert all_made(whole, None).sum() == 4000


def test_filled_at_the_highest_state_they_are_the_log_again() -> None:
    made = log_of(500, 3)
    evidence, missing = parted(made, 0.1, np.random.default_rng(4))
    assert missing is not None
    assert np.array_equal(missing.filled(evidence, True).counts, CellEvidence.empty(PROBLEM).add(made).counts)
    low = missing.filled(evidence, False).by_group()
    assert low.sums == pytest.approx(evidence.by_group().sums) and low.rows.sum() == 500
    assert missing.completed(evidence.by_group(), 0.0).sums == pytest.approx(low.sums)


def test_a_missing_outcome_scores_the_least_of_both_scores() -> None:
    scoring = Scoring(
        np.full((1, 1, 1), 2.0), np.full((1, 1), 0.3), np.array([0.5, 0.9]).reshape(2, 1, 1, 1), np.zeros((2, 1, 1))
    )
    at = np.zeros(3, dtype=int)
    x, opposite = scoring.of(at, at, np.array([0.0, 1.0, np.nan]))[:, 0]
    assert x == pytest.approx([-0.1, 1.9, -0.1]) and opposite == pytest.approx([1.5, -0.5, -0.5])
    none = np.zeros((1, 1))
    low, high = (GroupCells(none + 3, none + ones, none + ones, np.ones((1, 1), dtype=int)) for ones in (1.0, 2.0))
    sums = sums_of(scoring, low, high)
    assert sums.total[:, 0, 0] == pytest.approx([x.sum(), opposite.sum()])
    assert sums.square[:, 0, 0] == pytest.approx([(x**2).sum(), (opposite**2).sum()])


def test_bounds_without_a_pilot_are_those_of_both_completions() -> None:
    law = np.ones((1, 1, 1))
    cells = [GroupCells(np.full((1, 1), 100.0), *(np.full((1, 1), s) for s in (ones, ones)), np.array([[100]])) for ones in (40.0, 45.0)]  # fmt: skip
    low, high = (cut_sums(law, each, 0.05) for each in cells)
    found = mean_intervals(replace(low, highest=high.sums), 0.05)[0, 0]
    assert found[0] == mean_intervals(low, 0.05)[0, 0, 0] and found[1] == mean_intervals(high, 0.05)[0, 0, 1]


def test_certified_bounds_are_wider_by_the_mean_weight_of_the_missing_rows() -> None:
    """20 000 rows, 3 % missing: each end moves by what the formula says, up to chance and the spread that the missing add."""
    made = log_of(20_000, 5)
    evidence, missing = parted(made, 0.03, np.random.default_rng(6))
    assert missing is not None
    whole = CellEvidence.empty(PROBLEM).add(made)
    shares, none = np.array([SHARE, 1 - SHARE]), np.zeros(2)
    bets = [
        counted_bets(PROBLEM, decision_law(PROBLEM), whole.by_state(), 0.01),
        counted_bets(PROBLEM, decision_law(PROBLEM), evidence.by_state(), 0.01, missing),
    ]
    full, bounded = (bet_intervals(each, shares, none, 0.05) for each in bets)
    law = np.array([[0.6, 0.2, 0.2], [0.6, 0.2, 0.2]])  # of the arm that made the rows
    arms = np.stack([np.asarray(arm.mechanism.probabilities) for arm in PROBLEM.arms])  # (K, G, V)
    weight = (missing.by_place[EVEN] * arms / law).sum(axis=(1, 2)) / 20_000
    lower = full.outcomes[0, :, 0] - bounded.outcomes[0, :, 0]
    upper = bounded.outcomes[0, :, 1] - full.outcomes[0, :, 1]
    # what got lost was 1: the lower ends fall by its weight, the upper ones stay
    assert lower == pytest.approx(weight, rel=0.2, abs=0.003) and upper == pytest.approx(0.0, abs=0.004)


def test_missing_at_random_is_for_the_region_alone() -> None:
    evidence, missing = parted(log_of(2000, 7), 0.05, np.random.default_rng(8))
    worst = certify_counts(evidence, 0.05, False, missing=missing)
    stated = certify_counts(evidence, 0.05, False, missing=missing, at_random=True)
    assert worst.by == (Bound.BETS,) and stated.by == (Bound.REGION,)
    adaptive = certify_counts(evidence, 0.05, False, adaptive=True, missing=missing)
    assert adaptive.by == () and adaptive.missing
