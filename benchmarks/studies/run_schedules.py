"""So many random schedules, always the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from benchmarks.studies.places import Place
from benchmarks.studies.schedules import StudyMachine


def run_schedules(place_of: Callable[[], Place], count: int, steps: int = 40, *, seed: int = 0) -> None:
    """An error, with the shortest schedule that shows it, where something does not hold."""
    machine = type("Machine", (StudyMachine,), {"place_of": staticmethod(place_of)})
    how = settings(
        max_examples=count, stateful_step_count=steps, deadline=None, database=None, derandomize=False,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate], print_blob=False,
    )  # fmt: skip
    run_state_machine_as_test(_seeded(machine, seed), settings=how)


def _seeded(machine: type[StudyMachine], number: int) -> type[StudyMachine]:
    made: type[StudyMachine] = seed(number)(machine)
    return made
