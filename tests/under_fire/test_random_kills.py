"""SIGKILL at random moments: everything acknowledged is stored once."""

from __future__ import annotations

from pathlib import Path

from benchmarks.studies.fork_server import ForkServer
from benchmarks.studies.places import Place
from benchmarks.studies.random_kills import RandomKills

KILLS = 30
"""On each database."""


def test_what_was_acknowledged_before_a_kill_is_there_once(
    fork_server: ForkServer, place: Place, tmp_path: Path
) -> None:
    runs = RandomKills(fork_server, place, tmp_path)
    for _ in range(KILLS):
        runs.kill(longest=0.15)
    found = runs.check()
    assert found["kills"] == KILLS
    assert found["told"] > 0, "processes died before they had told anything"
