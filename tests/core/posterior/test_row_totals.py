"""Sums of weighted rows: against loops, and the same to the bit in any split."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm.core.posterior.row_totals import RowTotals, Units, Weighted

Y = np.array([0.0, 0.25, 1.0])


def rows_of(seed: int, real: bool) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    psi, w = rng.normal(0, 0.01, (3, 30)), rng.exponential(1, (3, 30)) * rng.choice([1, 1e4], (3, 30), p=[0.9, 0.1])
    y = 1e-7 * rng.random(30) if real else rng.choice(Y, 30)
    return psi, w, y, rng.integers(0, 3, 30).astype(float), rng.random((3, 30))


def added(totals: RowTotals, at: np.ndarray, psi: np.ndarray, w: np.ndarray, y: np.ndarray, count: np.ndarray, unseen: np.ndarray) -> RowTotals:  # fmt: skip
    w, psi = w[:, at], psi[:, at]
    totals.add(Weighted(w, np.minimum(w, 1.2), np.minimum(w, 2.5), psi, unseen[:, at], y[at], count[at]))
    return totals


@pytest.mark.parametrize("real", [False, True])
def test_sums_agree_with_loops(real: bool) -> None:
    """Also of outcomes that are a ten-millionth of their range."""
    psi, w, y, count, unseen = rows_of(1, real)
    units = Units(None, 2.0**-7, 2.0**-24) if real else Units(Y, 2.0**-7)
    sums, cut, overlap, never = added(RowTotals(3, units), np.arange(30), psi, w, y, count, unseen).sums_of()
    every = [i for i in range(30) for _ in range(int(count[i]))]
    for k in range(3):
        c, d = np.minimum(w[k], 1.2), np.minimum(w[k], 2.5)
        loops = {
            "first": [(sums.first[k], psi[k])],
            "third": [(sums.third[k], psi[k] ** 3)],
            "second": [(sums.second[k, j], psi[k] * psi[j]) for j in range(3)],
            "cut": [(sums.cut[0, k], w[k] - c), (sums.cut[1, k], c**2), (sums.cut[2, k], c**3)],
            "plain": list(zip(sums.plain[:, k], (w[k], w[k] ** 2, w[k] * y, w[k] ** 2 * y, w[k] ** 2 * y**2), strict=True)),
            "bounds": list(zip(cut[:, k], (d, d * y, d**2, d**2 * y, d**2 * y**2), strict=True)),
            "more": [(overlap[k], np.minimum(w[k], 1)), (never[k], unseen[k])],
        }  # fmt: skip
        for name, each in loops.items():
            for found, terms in each:
                size = max(sum(abs(terms[i]) for i in every), 1e-300)
                assert abs(found - sum(terms[i] for i in every)) <= 3e-9 * size, name
        assert sums.largest[k] == max(w[k, i] for i in every)
    assert sums.rows == len(every)


@pytest.mark.parametrize("real", [False, True])
def test_cuts_that_no_weight_reaches_may_be_the_weights_themselves(real: bool) -> None:
    psi, w, y, count, unseen = rows_of(4, real)
    units = Units(None, 2.0**-7, 2.0**-24) if real else Units(Y, 2.0**-7)
    cuts = {"none": (w, w), "c": (np.minimum(w, 1.2), w), "d": (w, np.minimum(w, 2.5))}
    for name, (c, d) in cuts.items():
        for never in (None, unseen):
            shared, apart = RowTotals(3, units), RowTotals(3, units)
            shared.add(Weighted(w, c, d, psi, never, y, count))
            apart.add(Weighted(w, c.copy(), d.copy(), psi, np.zeros_like(w) if never is None else never, y, count))
            expected = apart.arrays()
            assert all(np.array_equal(held, expected[part]) for part, held in shared.arrays().items()), name


@pytest.mark.parametrize("real", [False, True])
def test_any_split_and_order_is_the_same_to_the_bit(real: bool) -> None:
    data = rows_of(2, real)
    units = Units(None, 2.0**-7, 2.0**-24) if real else Units(Y, 2.0**-7)
    whole = added(RowTotals(3, units), np.arange(30), *data).arrays()
    rng = np.random.default_rng(3)
    for parts in (2, 5, 30):
        merged = RowTotals(3, units)
        for i, at in enumerate(np.array_split(rng.permutation(30), parts)):
            part = added(RowTotals(3, units), at, *data)
            merged.merge(part) if i % 2 else merged.merge_arrays(part.arrays())
        assert all(np.array_equal(held, whole[name]) for name, held in merged.arrays().items())
