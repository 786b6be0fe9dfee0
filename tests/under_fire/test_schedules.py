"""Random schedules of people, crashes, clocks, hands and backups: budgets are kept and nothing is dealt into a closed cohort."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.studies.places import Place
from benchmarks.studies.run_schedules import run_schedules

SCHEDULES = {"SQLite": 120, "PostgreSQL": 30}


def test_random_schedules_break_nothing(kind: str, place_of: Callable[[], Place]) -> None:
    run_schedules(place_of, SCHEDULES[kind], steps=20, seed=17)
