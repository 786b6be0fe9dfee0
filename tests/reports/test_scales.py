"""Ticks: round numbers in the right places at any size of number, and texts that tell them apart."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from fairarm.reports.scales import Scale, fitting_ticks, log_ticks, pull_ticks, tick_texts, ticks

RANGES = (
    (0.0, 1.0),
    (0.33, 0.71),
    (-0.1, 0.32),
    (0.0, 1e-12),
    (1.0, 1.0 + 1e-12),
    (0.0, 1e12),
    (1e12, 1e12 + 1.0),
    (-1e12, 1e12),
    (-5.0, -4.999),
    (-3e-7, 2e-9),
    (0.0032, 0.0056),
    (28_000.0, 59_999.0),
    (-1e308, 1e308),
    (-1e-300, 2e-300),
)


def read(text: str) -> float:
    """What a person reads at a tick."""
    plain = text.replace(",", "").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    lead, _, power = plain.partition("·10")
    return float(f"{lead}e{power}") if power else float(lead)


@pytest.mark.parametrize("most", [3, 5, 7, 12])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_ticks_are_round_even_and_neither_few_nor_many(low: float, high: float, most: int) -> None:
    found = ticks(low, high, most)
    assert 2 <= len(found) <= most or (most == 3 and found)
    assert all(low <= x <= high for x in found)
    if most >= 5:
        assert len(found) >= most / 2.6, "a step of 2.5 times the next smaller one at most"
    resolution = max(abs(low), abs(high)) * 2**-52
    halves = {f"{b / 2 - a / 2:.1e}" for a, b in pairwise(found) if b / 2 - a / 2 > 1000 * resolution}
    assert len(halves) <= 1
    assert all(half[:3] in ("5.0", "1.0", "2.5") for half in halves), "of 1, 2 and 5"


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_what_is_written_at_a_tick_is_the_tick(low: float, high: float) -> None:
    found = ticks(low, high)
    texts = tick_texts(found)
    assert len(set(texts)) == len(found)
    step = (high - low) / 100 if math.isfinite(high - low) else 1e306
    assert [read(text) for text in texts] == pytest.approx(found, rel=0, abs=step)
    assert not any(text == "-0" or (text.startswith("-0.0") and not read(text)) for text in texts)


@pytest.mark.parametrize("x", [0.0, 3.0, -1e12, 1e-12, 0.1])
def test_one_point_is_its_own_tick(x: float) -> None:
    assert ticks(x, x) == log_ticks(x, x) == [x]
    assert read(tick_texts([x])[0]) == x
    assert Scale(x, x, 10.0, 30.0)(x) == 20.0


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.1, 0.7, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        (-0.1, 0.32, [-0.1, 0.0, 0.1, 0.2, 0.3]),
        (0.0, 1e12, [0.0, 2e11, 4e11, 6e11, 8e11, 1e12]),
    ],
)
def test_ticks_by_hand(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ([0.0, 0.5, 1.0], ["0.0", "0.5", "1.0"]),
        ([30_000.0, 35_000.0], ["30,000", "35,000"]),
        ([0.004, 0.0045], ["0.0040", "0.0045"]),
        ([0.0, 5e11, 1e12], ["0", "5.0·10¹¹", "1.0·10¹²"]),
        ([-2e-13, 0.0, 2e-13], ["-2·10⁻¹³", "0", "2·10⁻¹³"]),
        ([1.0, 2.0], ["1", "2"]),
    ],
)
def test_texts_by_hand(at: list[float], expected: list[str]) -> None:
    assert tick_texts(at) == expected


@pytest.mark.parametrize(("low", "high", "expected"), [(1, 5, [1, 2, 3, 4, 5]), (0.4, 3.6, [1, 2, 3]), (0.0, 0.5, [0])])
def test_whole_numbers_only(low: float, high: float, expected: list[int]) -> None:
    assert ticks(low, high, 7, whole=True) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (100, 1000, [100, 200, 500, 1000]),
        (50, 800, [50, 100, 200, 500]),
        (1000, 10**7, [10**3, 10**4, 10**5, 10**6, 10**7]),
        (1, 10**12, [1, 10**2, 10**4, 10**6, 10**8, 10**10, 10**12]),
        (3, 4, [3, 4]),
        (1e-12, 1e-10, [1e-12, 2e-12, 5e-12, 1e-11, 2e-11, 5e-11, 1e-10]),
    ],
)
def test_logarithmic_ticks(low: float, high: float, expected: list[float]) -> None:
    assert log_ticks(low, high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("pulls", "texts"),
    [
        ([100], ["100"]),
        ([1000, 3000, 10_000], ["1 000", "3 000", "10 000"]),
        ([100, 110, 120, 1000], ["100", "", "", "1 000"]),
    ],
)
def test_ticks_of_pulls_do_not_touch(pulls: list[int], texts: list[str]) -> None:
    at, written = pull_ticks(Scale(pulls[0] / 1.1, pulls[-1] * 1.1, 0.0, 300.0, log=True), pulls)
    assert at == pulls
    assert written == texts


def test_many_numbers_of_pulls_have_ticks_at_round_ones() -> None:
    pulls = list(range(10, 1000, 10))
    at, written = pull_ticks(Scale(9.0, 1100.0, 0.0, 600.0, log=True), pulls)
    assert at == pytest.approx([10, 20, 50, 100, 200, 500, 1000])
    assert written[0] == "10" and written[-1] == "1 000"


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("room", [80.0, 300.0, 600.0])
def test_ticks_that_have_no_room_are_left_out(low: float, high: float, room: float) -> None:
    at, texts = fitting_ticks(Scale(low, high, 0.0, room), 7)
    assert at and len(at) == len(texts)
    assert sum(6.5 * len(text.replace(",", "").replace(".", "")) for text in texts[1:-1]) < room


def test_a_scale_is_linear_or_logarithmic() -> None:
    assert Scale(0.0, 10.0, 100.0, 200.0)(2.5) == pytest.approx(125.0)
    assert Scale(0.0, 10.0, 200.0, 100.0)(2.5) == pytest.approx(175.0)
    assert Scale(1.0, 100.0, 0.0, 10.0, log=True)(10.0) == pytest.approx(5.0)
    assert Scale(-1e308, 1e308, 0.0, 10.0)(0.0) == pytest.approx(5.0)
