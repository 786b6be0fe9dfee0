"""Beliefs that integrate over cells that are not known, against draws from the exact posterior."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairarm.beliefs.beliefs import believe
from fairarm.beliefs.evidence import CellEvidence
from four_arms import ARMS, SHARE, chain

PEOPLE, THETA = 3_000, np.array([0.3, 0.5, 0.8])
LAW = np.array(ARMS["even"][0])
"""P(V) of arm "even", the same in both groups: it served everybody, and only "1" was reported."""


def evidence(rng: np.random.Generator, group_known: bool, problem: Any) -> tuple[CellEvidence, np.ndarray]:
    """Reported rows by cell, the others without a cell; and how many of each there are in all."""
    counts, unplaced = np.zeros((1, 3, 4, 2, 6), dtype=np.int64), np.zeros((1, 4, 3, 2), dtype=np.int64)
    total = np.zeros(4)
    for t, people in enumerate(rng.multinomial(PEOPLE, [SHARE, 1 - SHARE])):
        found = rng.multinomial(people, [*(LAW * THETA), 1 - LAW @ THETA])
        counts[0, 0, 0, t, 1::2] = found[:3]
        unplaced[0, 0, t if group_known else 2, 0] += found[3]
        total += found
    return CellEvidence(problem, counts, unplaced), total


@pytest.mark.parametrize("group_known", [True, False])
def test_draws_are_those_of_the_exact_posterior(group_known: bool) -> None:
    """P(1 in cell c) = P(c) θ_c is a Dirichlet posterior, cut at P(c): other arms' outcomes are sums over θ. A row that is put in one cell
    for good would give them half of this spread."""
    made, total = evidence(np.random.default_rng(4), group_known, chain())
    rng = np.random.default_rng(5)
    joint = rng.dirichlet(total + 0.5, 20_000)[:, :3]
    theta = joint[(joint <= LAW).all(axis=1)] / LAW
    drawn = believe(made, seed=1).draw(np.random.default_rng(6), 4_000)
    for k, arm in enumerate(ARMS):
        exact = theta @ (SHARE * np.array(ARMS[arm][0]) + (1 - SHARE) * np.array(ARMS[arm][1]))
        assert drawn.outcomes[0, :, k].mean() == pytest.approx(exact.mean(), abs=0.6 * exact.std()), arm
        assert 0.8 < drawn.outcomes[0, :, k].std() / exact.std() < 1.25, arm


def test_evidence_keeps_rows_without_a_cell() -> None:
    problem = chain()
    made, total = evidence(np.random.default_rng(4), True, problem)
    again = CellEvidence.from_json(problem, made.to_json())
    both = made.plus(again).plus(CellEvidence.empty(problem))
    assert again.unplaced is not None and np.array_equal(again.unplaced, made.unplaced)
    assert both.unplaced is not None and both.unplaced.sum() == 2 * total[3]
    assert both.of_replicates(np.array([False])).unplaced.shape[0] == 0  # type: ignore[union-attr]
