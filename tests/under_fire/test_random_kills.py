"""SIGKILL at random moments: everything acknowledged is stored once."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.studies.fork_server import ForkServer
from benchmarks.studies.places import Place
from benchmarks.studies.random_kills import RandomKills

from quick import quick


@pytest.mark.parametrize("kills", quick([30, 1000], 1))
@pytest.mark.timeout(3600)
def test_what_was_acknowledged_before_a_kill_is_there_once(
    kills: int, fork_server: ForkServer, place: Place, tmp_path: Path
) -> None:
    runs = RandomKills(fork_server, place, tmp_path)
    for _ in range(kills):
        runs.kill(most=60)
    found = runs.check()
    assert found["kills"] == kills
    assert found["told"] > 0, "processes died before they had told anything"
