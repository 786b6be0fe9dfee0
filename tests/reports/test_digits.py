"""Digits of numbers in the outcome's units: as many as the numbers are known to, the same for a whole column."""

from __future__ import annotations

import math

import pytest
from made_evaluations import problem_of

from fairarm.problem.outcome import Outcome
from fairarm.reports.words import digits_of, gap_unit_of, unit_of, value

SHARE = Outcome("click", values=(0, 1))
MONEY = Outcome("cost", low=0.0, high=100_000.0)


@pytest.mark.parametrize(
    ("outcome", "widths", "x", "expected"),
    [
        (SHARE, (), 0.50764, "0.5076"),
        (SHARE, (0.06, 0.07, 0.05), 0.55, "0.5500"),
        (SHARE, (0.0002,), 0.00431, "0.00431"),
        (SHARE, (0.0009,), 0.0043, "0.00430"),
        (SHARE, (1e-9, 0.06, 0.07), 0.55, "0.5500"),
        (SHARE, (None, math.nan, math.inf, 0.0), 0.55, "0.5500"),
        (MONEY, (1800.0,), 48_213.7, "48,214"),
        (MONEY, (), 48_213.7, "48,214"),
        (MONEY, (2.0,), 48_213.73, "48,213.7"),
        (MONEY, (1800.0,), -48_213.7, "-48,214"),
        (Outcome("points", low=0.0, high=10.0), (), 7.12345, "7.123"),
        (Outcome("year", low=2000.0, high=2001.0), (0.06,), 2000.51239, "2,000.5124"),
        (Outcome("far", low=0.0, high=1e15), (), 123456789012345.0, "123,456,789,012,345"),
        (Outcome("near", low=0.0, high=1e-12), (), 5.123456e-13, "5.12346e-13"),
        (None, (), 0.50764, "0.5076"),
        (None, (900.0,), 48_213.7, "48,214"),
        (SHARE, (), None, "?"),
        (SHARE, (), math.nan, "?"),
        (SHARE, (), math.inf, "inf"),
    ],
)
def test_digits(outcome: Outcome | None, widths: tuple[float | None, ...], x: float | None, expected: str) -> None:
    assert value(x, digits_of(outcome, widths)) == expected


@pytest.mark.parametrize(
    ("x", "expected"), [(-0.03, "-0.0300"), (0.03, "+0.0300"), (0.0, "+0.0000"), (-0.00001, "+0.0000")]
)
def test_gaps_have_a_sign_and_there_is_no_minus_nought(x: float, expected: str) -> None:
    assert value(x, digits_of(SHARE, (), signed=True)) == expected


@pytest.mark.parametrize("power", range(-9, 13))
def test_two_ends_of_an_interval_never_look_the_same(power: int) -> None:
    """Whatever the unit: an interval, and a tenth of it, has a width that is seen."""
    width = 3.7 * 10.0**power
    for outcome in (SHARE, MONEY, Outcome("y", low=0.0, high=10.0**power)):
        digits = digits_of(outcome, (width,))
        low, high = 1.23 * width, 2.23 * width
        assert len({value(x, digits) for x in (low, low + 0.1 * width, high)}) == 3


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (SHARE, "click (from 0 to 1)"),
        (MONEY, "cost (from 0 to 100,000)"),
        (Outcome("days", low=-1.5, high=1234567.0), "days (from -1.5 to 1,234,567)"),
    ],
)
def test_units(outcome: Outcome, expected: str) -> None:
    assert unit_of(outcome) == expected


def test_a_gap_says_whose_it_is_and_in_what() -> None:
    assert gap_unit_of(problem_of(("a", "b"))) == "gap woman - man, in days (from 0 to 1)"
