"""Phases and their lengths against whole numbers and exact fractions."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

from fairarm.core.paper.schedule import log_bar, phase_count, phase_lengths
from fairarm.errors import BudgetError

getcontext().prec = 50


def count_in_whole_numbers(T: int) -> int:
    """The smallest n with 2^n ≥ 10 √T, that is 4^n ≥ 100 T; never a tie, since 25 does not divide 4^n."""
    n = 0
    while 4**n < 100 * T:
        n += 1
    return n


def test_by_hand() -> None:
    """10 √1 = 10 ≤ 16; 10 √100 = 100 ≤ 128; 10 √10^4 = 1000 ≤ 1024; 10 √10^6 = 10^4 ≤ 2^14."""
    assert [phase_count(T) for T in (1, 2, 3, 100, 10**4, 10**6)] == [4, 4, 5, 7, 10, 14]


def test_phase_count_at_every_boundary() -> None:
    for n in range(4, 25):
        last = 4**n // 100  # the largest T with n phases
        assert phase_count(last) == count_in_whole_numbers(last) == n
        assert phase_count(last + 1) == count_in_whole_numbers(last + 1) == n + 1


def test_phase_count_of_many() -> None:
    rng = np.random.default_rng(0)
    for T in [*range(1, 2000), *(int(x) for x in 10 ** rng.uniform(3, 13, 500))]:
        assert phase_count(T) == count_in_whole_numbers(T)


def test_product_reading() -> None:
    """⌈ln 2 · ln(10 √T)⌉ in 50 digits; at most 6 phases up to T = 3·10^5 (docs/decisions/0001-number-of-phases.md)."""
    for T in (1, 2, 3, 10, 100, 1000, 10**4, 10**5, 3 * 10**5, 10**6, 10**9):
        exact = Decimal(2).ln() * (Decimal(10) * Decimal(T).sqrt()).ln()
        assert phase_count(T, "product") == int(exact.to_integral_value(rounding="ROUND_CEILING"))
    assert phase_count(3 * 10**5, "product") == 6
    assert phase_count(10**6, "product") == 7
    assert phase_count(1, "product") == 2


@pytest.mark.parametrize("reading", ["log2", "product"])
@pytest.mark.parametrize("pulls", [0, -3])
def test_no_pulls_is_an_error_that_names_them(pulls: int, reading: str) -> None:
    with pytest.raises(BudgetError, match=str(pulls)):
        phase_count(pulls, reading)  # type: ignore[arg-type]


def test_log_bar_is_the_harmonic_number() -> None:
    for n in range(1, 40):
        assert log_bar(n) == pytest.approx(float(sum(Fraction(1, i) for i in range(1, n + 1))), rel=1e-15)


@pytest.mark.parametrize("T", [1, 2, 7, 1000, 10**9])
def test_lengths(T: int) -> None:
    n = count_in_whole_numbers(T)
    harmonic = sum(Fraction(1, i) for i in range(1, n + 1))
    lengths = phase_lengths(T, n)
    assert lengths.shape == (n,)
    for l, tau in enumerate(lengths, start=1):  # noqa: E741 - the page's letter
        assert float(tau) == pytest.approx(float(T / (l * harmonic)), rel=1e-14)
    assert float(lengths.sum()) == pytest.approx(T, rel=1e-14)


def test_lengths_by_hand() -> None:
    """n = 2: loḡ = 3/2, so 12 pulls are 8 and 4."""
    np.testing.assert_allclose(phase_lengths(12, 2), [8, 4], rtol=1e-15)
