"""One writer: calls that wait are committed together, answered after the commit, and one call's mistake is its own."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from sqlalchemy import text

from fairarm.studies import Busy, Conflict, Studies
from fairarm.studies import writer as module
from fairarm.studies.writer import MOST_TOGETHER, MOST_WAITING, Call, Writer
from study_people import Crowd


@pytest.fixture
def writer(studies: Studies) -> Writer:
    return studies._core.writer


class Held:
    """A call that keeps the writer busy until it is let go."""

    def __init__(self, writer: Writer) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.future = writer.submit(Call(self._run, (0, 0), None, alone=True))
        assert self.begun.wait()

    def _run(self, *_: Any) -> list[Any]:
        self.begun.set()
        assert self.go.wait()
        return [None]


def test_what_waits_is_done_together(writer: Writer) -> None:
    """700 calls behind one that is slow: 512 in one transaction, then the rest; sorted by kind, in order within it."""
    seen: list[tuple[int, int]] = []

    def run(_: Any, now: int, asked: Any) -> list[int]:
        seen.append((len(asked), now))
        return [2 * each for each in asked]

    held = Held(writer)
    futures = [writer.submit(Call(run, (0, i % 2), i)) for i in range(700)]
    assert writer.waiting == 700
    held.go.set()
    assert [future.result() for future in futures] == [2 * i for i in range(700)]
    assert [count for count, _ in seen] == [256, 256, 94, 94] and MOST_TOGETHER == 512


def test_too_many_are_refused_and_nothing_is_half_taken(writer: Writer) -> None:
    held = Held(writer)
    calls = [Call(lambda *_: [1], (0, 0), None) for _ in range(MOST_WAITING)]
    writer.submit_all(calls)
    with pytest.raises(Busy, match="4096 calls wait"):
        writer.submit(Call(lambda *_: [1], (0, 0), None))
    held.go.set()
    assert held.future.result() is None
    for call in calls:
        call.future.cancel()


def test_one_call_that_fails_does_not_touch_the_others(writer: Writer, query: Callable[[str], Any]) -> None:
    def run(connection: Any, _: int, asked: Any) -> list[Any]:
        for each in asked:
            connection.execute(text(f"INSERT INTO fairarm_token VALUES ('{each}', 'viewer', NULL, '', 0, NULL)"))
        if "bad" in asked:
            raise OverflowError("too large")
        return list(asked)

    held = Held(writer)
    futures: list[Future[Any]] = [writer.submit(Call(run, (0, 0), each)) for each in ("a", "bad", "b", "a")]
    held.go.set()
    assert futures[0].result() == "a" and futures[2].result() == "b"
    with pytest.raises(OverflowError):
        futures[1].result()
    with pytest.raises(Exception, match=r"(?i)unique"):  # the same key twice: refused by the database, alone
        futures[3].result()
    assert [row[0] for row in query("SELECT digest FROM fairarm_token ORDER BY digest")] == ["a", "b"]
    assert writer.job(lambda *_: 7) == 7


def test_answers_come_after_the_commit(writer: Writer, query: Callable[[str], Any]) -> None:
    """Whoever has an answer finds it in the database by another connection."""
    for i in range(20):
        writer.job(
            lambda c, _, i=i: c.execute(text(f"INSERT INTO fairarm_token VALUES ('{i}', 'viewer', NULL, '', 0, NULL)"))
        )
        assert query(f"SELECT count(*) FROM fairarm_token WHERE digest = '{i}'") == [(1,)]


def test_another_process_in_the_way_is_waited_out(writer: Writer) -> None:
    """A unique key that is taken at first and free then: run again, at most four times."""
    from sqlalchemy.exc import IntegrityError

    tries: list[int] = []

    def run(_: Any, __: int) -> int:
        tries.append(1)
        if len(tries) < 3:
            raise IntegrityError("INSERT", {}, Exception("UNIQUE"))
        return len(tries)

    assert writer.job(run) == 3
    with pytest.raises(Busy):
        writer.job(lambda *_: (_ for _ in ()).throw(IntegrityError("INSERT", {}, Exception("UNIQUE"))))
    assert module.TRIES == 4


def test_a_mistake_is_raised_and_the_writer_goes_on(writer: Writer) -> None:
    with pytest.raises(Conflict):
        writer.job(lambda *_: (_ for _ in ()).throw(Conflict("no")))
    with pytest.raises(ZeroDivisionError):
        writer.job(lambda *_: 1 // 0)
    assert writer.job(lambda *_: 1) == 1


def test_closing_commits_what_waits_and_refuses_what_comes(crowd: Crowd, query: Callable[[str], Any]) -> None:
    futures = [crowd.study.assigning(f"c{i}", "a") for i in range(200)]
    crowd.studies.close()
    inside = sum(not future.result(0).outside for future in futures)
    assert query("SELECT count(slot), count(*) FROM fairarm_assignment") == [(inside, 200)] and inside > 30
    with pytest.raises(Busy, match="closed"):
        crowd.study.assign("late", "a")


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # the parent's connections, which here nobody closes
def test_a_forked_child_has_a_writer_of_its_own(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert writer.submit(Call(lambda *_: [1], (0, 0), None)).result() == 1
    first = writer._thread
    monkeypatch.setattr(module.os, "getpid", lambda: -1)
    assert writer.submit(Call(lambda *_: [2], (0, 0), None)).result() == 2 and writer._thread is not first
    gc.collect()


def test_who_waits_is_the_writer_where_nobody_else_is(writer: Writer) -> None:
    """No other thread is begun for it; behind a call that is slow, its turn comes with the next commit."""
    assert writer.job(lambda *_: threading.get_ident()) == threading.get_ident() and writer._thread is None
    held, found = Held(writer), []
    behind = threading.Thread(target=lambda: found.append(writer.job(lambda *_: threading.get_ident())))
    behind.start()
    behind.join(0.3)
    assert writer.waiting == 1
    held.go.set()
    behind.join()
    assert found == [writer._thread.ident if writer._thread else None]
    assert writer.job(lambda *_: threading.get_ident()) == threading.get_ident()


@pytest.fixture
def slow(writer: Writer) -> Iterator[tuple[threading.Event, list[Any]]]:
    """A thread that writes for itself until it is let go, and what came of it."""
    begun, go, done = threading.Event(), threading.Event(), []

    def run(*_: Any) -> int:
        begun.set()
        assert go.wait()
        return 5

    writing = threading.Thread(target=lambda: done.append(writer.job(run)))
    writing.start()
    assert begun.wait()
    yield go, done
    writing.join()
    assert 5 in done


def test_the_thread_waits_for_whoever_writes(writer: Writer, slow: tuple[threading.Event, list[Any]]) -> None:
    go, done = slow
    future = writer.submit(Call(lambda *_: [list(done)], (0, 0), None))
    with pytest.raises(TimeoutError):
        future.result(0.3)
    go.set()
    assert future.result() is not None


def test_closing_waits_for_whoever_writes(writer: Writer, slow: tuple[threading.Event, list[Any]]) -> None:
    go, done = slow
    closing = threading.Thread(target=lambda: (writer.close(), done.append("closed")))
    closing.start()
    closing.join(0.3)
    assert closing.is_alive() and done == []
    go.set()
    closing.join()
    assert "closed" in done


def test_a_writer_that_is_interrupted_lets_go(writer: Writer, query: Callable[[str], Any]) -> None:
    """What it had written is rolled back, and the next call is served."""

    def interrupted(connection: Any, _: int) -> None:
        connection.execute(text("INSERT INTO fairarm_token VALUES ('x', 'viewer', NULL, '', 0, NULL)"))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        writer.job(interrupted)
    assert writer.job(lambda *_: 1) == 1
    assert query("SELECT count(*) FROM fairarm_token") == [(0,)]
