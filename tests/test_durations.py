"""Lengths of time as people write them."""

from __future__ import annotations

from typing import Any

import pytest

from fairarm.durations import days_of, shown_days
from fairarm.errors import OptionError


@pytest.mark.parametrize(
    ("text", "days"), [("7d", 7.0), ("12h", 0.5), ("30m", 1 / 48), ("10s", 10 / 86_400), (" 1.5 d ", 1.5), (3, 3.0), (0.5, 0.5)]
)  # fmt: skip
def test_days(text: Any, days: float) -> None:
    assert days_of(text, "window") == pytest.approx(days)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "7",
        "d",
        "-1d",
        "0d",
        "1w",
        "7 days",
        "1e3d",
        "9999999999d",
        0,
        -1,
        True,
        None,
        float("nan"),
        float("inf"),
        [1],
    ],
)
def test_what_is_none_is_refused_in_one_line(text: Any) -> None:
    with pytest.raises(OptionError, match="The window is") as refused:
        days_of(text, "window")
    assert "\n" not in str(refused.value) and "e.g. 12h or 7d" in str(refused.value)


@pytest.mark.parametrize("text", ["7d", "1d", "12h", "30m", "10s", "36h", "90s"])
def test_shown_as_it_is_read(text: str) -> None:
    assert shown_days(days_of(text, "cohort")) == text
