"""Exact sums against fractions, in any split and order."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairarm.core.exact_sums import ExactSum, power_of_two

WIDE = st.floats(-1e9, 1e9, allow_nan=False) | st.floats(-2, 2, allow_nan=False)
COUNTS = st.integers(0, 5) | st.integers(0, 1 << 40)


def nearest(x: float, exponent: int) -> int:
    """The multiple of 2^e next to x, ties to even: Python's own rounding of fractions."""
    return round(Fraction(x) / Fraction(2) ** exponent)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(WIDE, COUNTS), min_size=1, max_size=30), st.integers(-60, -8), st.data())
def test_sums_are_those_of_fractions_in_any_split(
    rows: list[tuple[float, int]], exponent: int, data: st.DataObject
) -> None:
    expected = sum(nearest(x, exponent) * n for x, n in rows)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    order = data.draw(st.permutations(range(len(rows))))
    parts = []
    for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        part = ExactSum((1,), exponent)
        for i in order[start:end]:
            part.add(np.array([[rows[i][0]]]), np.array([float(rows[i][1])]))
        parts.append(part)
    merged = ExactSum((1,), exponent)
    for part in data.draw(st.permutations(parts)):
        merged.merge_bytes(part.bytes) if data.draw(st.booleans()) else merged.merge(part)
    at_once = ExactSum((1,), exponent)
    at_once.add(np.array([[x for x, _ in rows]]), np.array([float(n) for _, n in rows]))
    for found in (merged, at_once):
        assert Fraction(int(found.units[0])) == expected
        assert found.value[0] == float(Fraction(expected) * Fraction(2) ** exponent)


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 4), st.integers(1, 40), st.integers(0, 2**31), st.sampled_from([1.0, 1e3, 1e8]))
def test_products_are_those_of_fractions(arms: int, n: int, seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(arms, n)) * size ** rng.random((arms, n))
    count = rng.integers(0, 4, n).astype(float) * rng.choice([1.0, 1.0, 2.0**30], n)
    found = ExactSum((arms, arms), -60)
    cut = n // 3
    for part in (slice(cut, n), slice(0, cut)):
        found.add_products(x[:, part], count[part])
    for k in range(arms):
        for j in range(arms):
            terms = (nearest(a, -30) * nearest(b, -30) * int(c) for a, b, c in zip(x[k], x[j], count, strict=True))
            assert int(found.units[k, j]) == sum(terms)


def test_many_blocks_of_shuffled_rows_are_one_number() -> None:
    """100 000 rows with heavy tails: 1, 3 and 16 shuffled parts, several columns of counts, to the bit."""
    rng = np.random.default_rng(1)
    x = rng.pareto(1.1, (3, 100_000)) * rng.choice([-1, 1], (3, 100_000))
    count = rng.integers(0, 2, (100_000, 2)).astype(float)
    results = []
    for parts in (1, 3, 16):
        whole = ExactSum((3, 2))
        for rows in np.array_split(rng.permutation(100_000), parts):
            part = ExactSum((3, 2))
            part.add(x[:, rows], count[rows])
            whole.merge(part)
        results.append(whole.value)
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()
    np.testing.assert_allclose(results[0], x @ count, rtol=1e-10)
    plain = {float(x[0][order] @ count[order, 0]) for order in (rng.permutation(100_000) for _ in range(9))}
    assert len(plain) > 1  # what floats alone would give


def test_many_small_parts_do_not_run_over() -> None:
    found = ExactSum((1,), 0)
    for _ in range(3000):
        found.add(np.array([[2.0**50]]), np.ones(1))
    assert found.value[0] == 3000 * 2.0**50


def test_numbers_that_are_not_finite_are_not_summed() -> None:
    for bad in (np.nan, np.inf):
        with pytest.raises(FloatingPointError, match="not finite"):
            ExactSum((1,)).add(np.array([[bad, 1.0]]), np.ones(2))


def test_the_power_of_two_below_a_size() -> None:
    assert [power_of_two(x) for x in (0.0, 1.0, 0.3, 5.0)] == [1.0, 1.0, 0.25, 4.0]
