"""Processes against each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from benchmarks.studies.fork_server import ForkServer
from benchmarks.studies.once import Once
from benchmarks.studies.places import Place


def test_of_outcomes_that_contradict_each_other_one_is_accepted(
    fork_server: ForkServer, place: Place, tmp_path: Path
) -> None:
    found = Once(fork_server, place, tmp_path).conflicting_tells(processes=4, count=40)
    assert found["new"] == 40
    assert found["conflict"] > 0


def test_nobody_and_no_card_is_dealt_twice(fork_server: ForkServer, place: Place, tmp_path: Path) -> None:
    found = Once(fork_server, place, tmp_path).people(processes=6, count=200, together=10)
    assert found["asked"] == 1200
    assert found["repeated"] > 0


def test_an_empty_database_is_opened_by_many_at_once(
    fork_server: ForkServer, place_of: Callable[[], Place], tmp_path: Path
) -> None:
    for _ in range(2):
        place = place_of()
        Once(fork_server, place, tmp_path).opening(processes=12)
        place.drop()


def test_cohorts_open_and_settle_once_whoever_ticks(fork_server: ForkServer, place: Place, tmp_path: Path) -> None:
    assert Once(fork_server, place, tmp_path).ticking(processes=4, count=3)
