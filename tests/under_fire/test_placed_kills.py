"""SIGKILL at chosen writes of every transaction: nothing acknowledged is lost or doubled. `make studies-bench` has all of them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.studies.fork_server import AFTER, BEFORE, HALF, ForkServer
from benchmarks.studies.placed_kills import PlacedKills
from benchmarks.studies.places import Place
from benchmarks.studies.transactions import TRANSACTIONS

KILLS = 2
"""Of each transaction on each database: 64 in all."""


def test_a_transaction_that_is_killed_happened_once_or_not_at_all(
    fork_server: ForkServer, place: Place, tmp_path: Path
) -> None:
    runs = PlacedKills(fork_server, place, tmp_path)
    killed = acknowledged = 0
    for number, name in enumerate(TRANSACTIONS):
        writes = runs.writes(name)
        assert writes > 0, f"{name} writes nothing: the kill does not see it"
        for turn in range(KILLS):
            at = 1 + (writes - 1) * (number + turn * 7) % writes
            for kill in runs.kills(name, [at], [(BEFORE, HALF, AFTER)[(number + turn) % 3]]):
                killed += 1
                acknowledged += kill.acknowledged
    assert killed == KILLS * len(TRANSACTIONS)
    assert acknowledged == 0, "an answer came before the last write was made"
