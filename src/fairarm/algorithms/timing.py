"""What a team chooses of a live study in time: window, cohort, cycle, and how many people enter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairarm.durations import days_of
from fairarm.errors import OptionError

MOST_PEOPLE, MOST_OUT, MOST_PULLS = 1_000_000, 1000, 10_000_000
"""In a cohort; cohorts that are out at once; people of a study."""


@dataclass(frozen=True)
class Timing:
    """What a team chooses, in days: ``people`` to enter a cohort, how long one lasts, how long an outcome counts."""

    people: int
    arrivals: float
    """Expected in a day, as declared."""
    window: float
    cohort: float = 1.0
    cycle: float = 1.0


def timings_of(
    people: int | Sequence[int], arrivals: float, window: str | float, cohort: str | float, cycle: str | float
) -> list[Timing]:
    """What is chosen, checked: one for each number of people, in order."""
    counts = [people] if isinstance(people, int) else list(dict.fromkeys(people))
    length, round_ = days_of(cohort, "cohort"), days_of(cycle, "cycle")
    if not arrivals > 0 or not math.isfinite(arrivals):
        raise OptionError(f"Arrivals are {arrivals!r:.20} a day. They are a number above 0.")
    if abs(length / round_ - round(length / round_)) > 1e-6 or length < round_ - 1e-9:
        raise OptionError(
            f"A cohort of {length:g} days is no multiple of the cycle, {round_:g} days. People must enter evenly over whole cycles: "
            f"use a cohort of one or more of them."
        )
    if (days := days_of(window, "window")) > MOST_OUT * length:
        raise OptionError(
            f"With a window of {days:g} days and cohorts of {length:g}, {days / length:.0f} cohorts would be out at once; at most {MOST_OUT} "
            f"may be. Use longer cohorts."
        )
    if max([*counts, arrivals * length]) > MOST_PEOPLE:
        raise OptionError(
            f"More than {MOST_PEOPLE} people in a cohort are too many. Use fewer people and arrivals, or shorter cohorts."
        )
    for each in counts:
        if each < 1 or each > arrivals * length * (1 + 1e-9):
            raise OptionError(
                f"{each} people are to enter a cohort in which {arrivals * length:g} arrive. Ask for 1 or more, and for no more than "
                f"arrive, or make cohorts longer."
            )
    return [Timing(int(each), float(arrivals), days, length, round_) for each in counts]
