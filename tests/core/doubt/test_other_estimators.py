"""Ordinary estimators from counts by cell: against loops over single rows."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.core.doubt.other_estimators import Weighed, errors, paired_errors
from fairarm.core.proof.log_intervals import GroupCells

CONTEXTS, DECISIONS, ARMS = 3, 2, 3


def rows(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Laws (K, G, X), and of each row its group, cell and outcome; arm 0 made all of them."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.ones(DECISIONS) * 2, size=(ARMS, 2, CONTEXTS))
    t, x = rng.integers(0, 2, n), rng.integers(0, CONTEXTS, n)
    v = (rng.random(n) > law[0, t, x, 0]).astype(int)
    return law.reshape(ARMS, 2, -1), t, x * DECISIONS + v, rng.random(n)


def counted(t: np.ndarray, cell: np.ndarray, y: np.ndarray) -> GroupCells:
    n, s, q = np.zeros((3, 2, CONTEXTS * DECISIONS))
    for part, value in ((n, np.ones_like(y)), (s, y), (q, y**2)):
        np.add.at(part, (t, cell), value)
    made = np.zeros((ARMS, 2), dtype=int)
    made[0] = n.sum(axis=1)
    return GroupCells(n, s, q, made)


def weighed(seed: int, cut: float = 1.5) -> tuple[Weighed, tuple[np.ndarray, ...]]:
    law, t, cell, y = rows(seed)
    at = np.arange(CONTEXTS * DECISIONS)
    return Weighed(counted(t, cell, y), law, at // DECISIONS, at % DECISIONS, np.full(2, cut)), (law, t, cell, y)


@pytest.mark.parametrize("seed", range(5))
def test_every_estimator_against_a_loop_over_rows(seed: int) -> None:
    made, (law, t, cell, y) = weighed(seed)
    m = np.random.default_rng(9).random((2, CONTEXTS * DECISIONS))
    found = made.estimates(m)
    for group in (0, 1):
        own = t == group
        for k in range(ARMS):
            w = law[k, group, cell[own]] / law[0, group, cell[own]]
            x = cell[own] // DECISIONS
            table, mean = law[k, group].reshape(CONTEXTS, -1), m[group].reshape(CONTEXTS, -1)
            weight = table / law[0, group].reshape(CONTEXTS, -1)
            by_decision = made.by_decision()[group, :DECISIONS]
            direct, robust = (table * mean).sum(axis=1)[x], (table @ by_decision)[x]
            psi = {
                "importance": w * y[own],
                "doubly robust": robust + w * (y[own] - by_decision[cell[own] % DECISIONS]),
                "switch": np.where(w <= 1.5, w * y[own], 0.0) + (table * mean * (weight > 1.5)).sum(axis=1)[x],
            }
            for name, terms in psi.items():
                assert found[name].means[k, group] == pytest.approx(terms.mean())
                assert found[name].terms.variance(made.seen)[k, group] == pytest.approx(terms.var() / len(terms))
            assert found["self-normalised"].means[k, group] == pytest.approx((w * y[own]).sum() / w.sum())
            assert found["plug-in"].means[k, group] == pytest.approx(direct.mean())
            spread = direct + w * (y[own] - m[group, cell[own]])
            assert found["plug-in"].terms.variance(made.seen)[k, group] == pytest.approx(spread.var() / len(spread))


def test_the_logging_arm_is_its_plain_mean() -> None:
    made, (_, t, _, y) = weighed(7)
    found = made.estimates(np.full((2, CONTEXTS * DECISIONS), 0.5))
    for name in ("importance", "self-normalised", "switch"):
        assert found[name].means[0] == pytest.approx([y[t == 0].mean(), y[t == 1].mean()])


def test_errors_of_sums_and_of_differences() -> None:
    """A gap adds variances; against an estimate that moves with each row as the estimator does, only the least is left."""
    made, (law, t, _, _) = weighed(8)
    mixes = np.array([[0.4, 0.6], [1.0, -1.0]])
    each = made.estimates(np.full((2, CONTEXTS * DECISIONS), 0.5))["importance"]
    variance = each.terms.variance(made.seen)
    assert errors(mixes, each, made.seen)[:, 1] == pytest.approx(np.sqrt(variance.sum(axis=1)))
    n = np.array([(t == 0).sum(), (t == 1).sum()])
    slope = (mixes * n.sum() / n)[None, :, :, None] * (law / law[0])[:, None]
    same = paired_errors(mixes, each, slope, np.zeros((2, CONTEXTS * DECISIONS)), made.seen)
    assert same == pytest.approx(0.5 * errors(mixes, each, made.seen))
    other = paired_errors(mixes, each, np.zeros_like(slope), np.zeros((2, CONTEXTS * DECISIONS)), made.seen)
    assert other == pytest.approx(errors(mixes, each, made.seen))
