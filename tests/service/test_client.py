"""The client beside the study: the same answers; in time whatever the service does; nothing lost, nothing twice."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairarm import Client
from fairarm.errors import OptionError
from fairarm.service.wire import Unreachable
from fairarm.studies import Conflict, Invalid, NotAllowed, NotFound, Outcome, Told
from service_world import DAY, World, create_coin, served

ROW = {"side": "heads", "result": "win"}


@pytest.fixture
def url(world: World) -> Iterator[str]:
    with served(world.guards) as address:
        yield address


def client(world: World, url: str, role: str = "caller", **options: Any) -> Client:
    return Client(url, world.tokens[role], **{"study": "coin", "timeout": 20.0, **options})


def test_the_same_as_the_study_itself(world: World, url: str) -> None:
    with client(world, url) as remote:
        found = remote.assign("u-1", group="a")
        again = world.coin.assign("u-1", group="a")
        assert (found.id, found.arm, found.cohort, found.outside) == (again.id, again.arm, again.cohort, False)
        assert (found.repeated, remote.assign("u-1", group="a").repeated) == (False, True)
        assert found.id is not None
        assert remote.tell(found.id, ROW) == Told("new")
        assert world.coin.tell(found.id, ROW) == Told("repeated")
        with pytest.raises(Conflict):
            remote.tell(found.id, {**ROW, "result": "lose"})
        with pytest.raises(NotFound):
            remote.tell("9" * 16, ROW)
        with pytest.raises(Invalid):
            remote.assign("", group="a")
        with pytest.raises(NotAllowed):
            remote.verdict()


def test_batches_of_any_size(world: World, url: str) -> None:
    with client(world, url) as remote:
        ids = [remote.assign(f"u-{i}", group="ab"[i % 2]).id or "" for i in range(4)]
        told = remote.tell_many(
            [*(Outcome(id, ROW) for id in ids[:3]), Outcome(ids[3], unserved=True), Outcome("9" * 16, ROW)]
        )
        assert told[:4] == [Told("new")] * 4 and isinstance(told[4], NotFound)
        many = remote.tell_many([Outcome(ids[0], ROW)] * 10_001)
        assert many == [Told("repeated")] * 10_001
    cohort = world.coin.cohorts()[0]
    assert (cohort.told, cohort.unserved) == (3, 1)


def test_what_is_known_comes_back_as_it_was(world: World, url: str) -> None:
    with client(world, url) as remote:
        for i in range(30):
            found = remote.assign(f"u-{i}", group="ab"[i % 2])
            remote.tell(found.id or "", {**ROW, "result": ("win", "lose")[i % 2]})
    for _ in range(3):
        world.clock.now += DAY
        world.studies.tick()
    with client(world, url, "viewer") as remote:
        study = world.coin
        assert remote.cohorts() == study.cohorts() and len(study.cohorts()) >= 2
        assert remote.events() == study.events()
        assert remote.findings() == study.findings()
        assert remote.exposure() == study.exposure()
        assert remote.history() == study.history() and len(study.history()) >= 1
        assert remote.arms() == study.arms()
        assert remote.monitors() == study.monitors()
        assert remote.summaries() == world.studies.summaries()
        assert (remote.state, remote.options) == (study.state, study.options)
        assert (remote.verdict().status, remote.verdict().counted) == (study.verdict().status, study.verdict().counted)


def test_the_hand_on_the_button(world: World, url: str, tmp_path: Path) -> None:
    with client(world, url, "admin") as remote:
        remote.pause("a fault")
        assert world.coin.state == "paused"
        remote.resume("mended")
        assert world.coin.state == "running"
        found = remote.assign("u-1", group="a")
        remote.tell(found.id or "", ROW)
        assert remote.correct(found.id or "", {**ROW, "result": "lose"}, "typed wrongly")
        assert remote.forget("u-1")
        remote.export(tmp_path / "rows.csv")
        assert (tmp_path / "rows.csv").is_file() and (tmp_path / "rows.csv.toml").is_file()
        remote.drop(0, "an outage")
        assert world.coin.verdict().dropped == (0,)
        remote.close_study("over")
        assert world.coin.state in ("draining", "closed")
        actors = {event.actor for event in world.coin.events() if event.seq > 1}
        assert "admin of tests" in actors


def test_a_token_of_one_study_names_it(world: World, url: str) -> None:
    with Client(url, world.tokens["caller of other"], timeout=20.0) as remote:
        assert remote.name == "other"
        assert not remote.assign("u-1", group="a").outside
    assert world.studies.open("other").cohorts()[0].dealt == 1
    with Client(url, world.tokens["caller"]) as remote, pytest.raises(OptionError, match="study="):
        _ = remote.name


def test_a_token_is_not_shown(world: World, url: str) -> None:
    with client(world, url) as remote:
        assert world.tokens["caller"] not in repr(remote)
    with pytest.raises(OptionError, match="token"):
        Client(url, "two words")
    with pytest.raises(OptionError, match="url"):
        Client("ftp://127.0.0.1", "t")
    with pytest.raises(OptionError, match="timeout"):
        Client(url, "t", timeout=0)


@contextmanager
def silent() -> Iterator[str]:
    """A service that takes connections and never says a word."""
    with socket.socket() as at:
        at.bind(("127.0.0.1", 0))
        at.listen(64)
        yield f"http://127.0.0.1:{at.getsockname()[1]}"


def all_are_outside(remote: Client, people: int) -> None:
    for i in range(people):
        found = remote.assign(f"u-{i}", group="a")
        assert (found.outside, found.id, found.arm) == (True, None, "even")


@pytest.mark.timeout(120)
def test_a_silent_service_serves_nobody_late() -> None:
    """More people than requests that may be under way. Without its timeout the client would wait for an hour."""
    with silent() as url, Client(url, "token", "coin", timeout=0.2, patience=3600, deployed="even", calls=2) as remote:
        all_are_outside(remote, 4)


def test_a_service_that_is_away_serves_nobody_late() -> None:
    with silent() as url:
        pass
    with Client(url, "token", "coin", timeout=1.0, patience=0.2, deployed="even") as remote:
        all_are_outside(remote, 5)
        with pytest.raises(Unreachable, match="safe"):
            remote.tell("1", ROW)


def test_what_came_too_late_is_reported_as_unserved(world: World, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service commits and answers after the client has given up; somebody who was known before is left alone."""
    slow = threading.Event()
    assigning = type(world.coin).assigning

    def slowly(self: Any, *given: Any) -> Any:
        slow.wait()
        return assigning(self, *given)

    world.coin.assign("known before", group="a")
    monkeypatch.setattr(type(world.coin), "assigning", slowly)
    with client(world, url, timeout=0.3, deployed="even") as remote:
        assert remote.assign("late", group="a").outside
        assert remote.assign("known before", group="a").outside
        slow.set()
        while world.coin.cohorts()[0].unserved == 0:
            time.sleep(0.02)
        cohort = world.coin.cohorts()[0]
        assert (cohort.dealt, cohort.unserved) == (2, 1)
        late = remote.assign("late", group="a")  # a reload: served as before, for good
        assert (late.outside, late.repeated, late.id) == (True, True, None)


def test_the_deployed_arm_is_learned(world: World, url: str) -> None:
    create_coin(world.studies, "few", people=1, arrivals=4_000, deployed="even")
    with client(world, url, study="few") as remote:
        assert remote.assign("u-1", group="a").arm == "even"
        remote.timeout = 1e-9
        assert remote.assign("u-2", group="a").arm == "even"


def test_connections_are_kept(world: World, url: str) -> None:
    with client(world, url) as remote:
        for i in range(20):
            remote.assign(f"u-{i}", group="a")
        pool = remote._wire._http._transport._pool  # type: ignore[attr-defined]
        assert len(pool.connections) <= 2
