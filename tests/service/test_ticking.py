"""Cohorts are looked after in the background, and an error does not end it."""

from __future__ import annotations

import io
import time
from typing import Any, cast

from fairarm.service.logs import JsonLines
from fairarm.service.metrics import Metrics
from fairarm.service.ticking import Ticker
from service_world import DAY, World


class Failing:
    """Studies whose database is away at first."""

    tick_every = 0.01

    def __init__(self) -> None:
        self.rounds = 0

    def tick(self) -> tuple[str, ...]:
        self.rounds += 1
        if self.rounds < 3:
            raise OSError("row of somebody")
        return ("coin: settled 1",) if self.rounds == 3 else ()


def test_rounds_go_on_after_an_error() -> None:
    studies, log, metrics = Failing(), io.StringIO(), Metrics()
    ticker = Ticker(cast(Any, studies), metrics, JsonLines(log))
    ticker.start()
    while studies.rounds < 5:
        time.sleep(0.01)
    ticker.stop()
    assert log.getvalue().count("tick-failed") == 2 and "row of somebody" not in log.getvalue()
    assert "coin: settled 1" in log.getvalue()
    text = metrics.text().decode()
    assert "fairarm_tick_errors_total 2.0" in text and "fairarm_tick_age_seconds" in text


def test_a_service_opens_and_settles_by_itself(world: World) -> None:
    world.coin.assign("u-1", group="a")
    world.studies.tick()
    world.clock.now += 4 * DAY
    with world.http:  # its start and stop
        while not any(cohort.settled for cohort in world.coin.cohorts()):
            time.sleep(0.02)
    assert world.coin.cohorts()[0].settled is not None
    assert [line["event"] for line in world.lines() if line["event"] in ("started", "stopped")] == [
        "started",
        "stopped",
    ]
