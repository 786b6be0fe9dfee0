"""Random schedules of people, crashes, clocks, hands and backups: budgets are kept and nothing is dealt into a closed cohort."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from benchmarks.studies.places import Place
from benchmarks.studies.run_schedules import run_schedules

from quick import quick


@pytest.mark.parametrize("schedules", quick([10, 100], 1))
def test_random_schedules_break_nothing(schedules: int, place_of: Callable[[], Place]) -> None:
    run_schedules(place_of, schedules, steps=20, seed=17)
