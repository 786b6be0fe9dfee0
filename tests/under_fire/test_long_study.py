"""A whole study: people, late and lost outcomes, four processes, kills. It ends with the right answer, and its export says the same."""

from __future__ import annotations

from pathlib import Path

from benchmarks.studies.fork_server import ForkServer
from benchmarks.studies.long_study import LongStudy
from benchmarks.studies.places import Place


def test_a_study_ends_with_the_right_certified_answer(fork_server: ForkServer, place: Place, tmp_path: Path) -> None:
    found = LongStudy(
        fork_server, place, tmp_path, arrivals=900, people=600, days=14, window=2.0, steps=3, lost=0.005, late=0.005
    ).run()
    assert (found.answer, found.arm) == ("FOUND", found.best)
    assert found.kills > 0
    assert found.agree, found
    assert found.lost > 0
