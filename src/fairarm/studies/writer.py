"""One writer at a time in a process: calls that wait are committed together, and answered after the commit.

A thread does what is submitted. Whoever waits for the answer anyhow, and finds nobody writing, is the writer: nothing has to be handed
over to another thread and back.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from fairarm.studies.database import Database
from fairarm.studies.errors import Busy

MOST_TOGETHER, MOST_WAITING = 512, 4096
"""Calls in one commit, and calls that may wait for theirs."""

TRIES = 4
"""Of a transaction that another process was in the way of."""

Result = TypeVar("Result")


@dataclass(eq=False)
class Call:
    """One call that waits. ``run`` does many of its ``kind`` at once."""

    run: Callable[[Connection, int, Sequence[Any]], list[Any]]
    """(connection, now, what is asked): an answer or a `StudyError` for each, in order."""
    order: tuple[int, int]
    """Calls of one transaction are made in this order, the same in all processes, so that none waits for another in a circle."""
    asked: Any
    future: Future[Any] = field(default_factory=Future)
    alone: bool = False
    """In a transaction of its own."""
    tells: tuple[int, ...] = ()
    """The study whose outcomes it tells."""


class Writer:
    """A queue, and a thread that takes from it while nobody else writes."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._waiting: deque[Call] = deque()
        self._some = threading.Condition()
        self._writing = self._ending = False
        self._thread: threading.Thread | None = None

    @property
    def waiting(self) -> int:
        """Calls whose commit has not begun."""
        return len(self._waiting)

    def submit(self, call: Call) -> Future[Any]:
        """To be done with the next commit; `Busy` where too many wait already."""
        self.submit_all([call])
        return call.future

    def submit_all(self, calls: Sequence[Call]) -> None:
        """Several, of which all are taken or none."""
        with self._admitted(len(calls)):
            self._waiting.extend(calls)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="fairarm-writer", daemon=True)
                self._thread.start()
            self._some.notify_all()

    @contextmanager
    def _admitted(self, count: int) -> Iterator[None]:
        """Under the lock, where so many more may come; else `Busy`."""
        if self._process != os.getpid():  # a child of fork has neither the thread nor the connections
            self.database.forked()
            self._begin()
        with self._some:
            if self._ending:
                raise Busy("The studies are closed in this process. Open them again.")
            if len(self._waiting) + count > MOST_WAITING:
                raise Busy(
                    f"More than {MOST_WAITING} calls wait for the database. Try again later, or send fewer at once."
                )
            yield

    def done(self, call: Call) -> Any:
        """The answer after the commit: made by this thread, where nobody writes or waits."""
        with self._admitted(1):
            mine = not self._writing and not self._waiting
            self._writing |= mine
        if not mine:
            self.submit(call)
        else:
            try:
                self._answer([call])
            finally:
                self._let_go()
        return call.future.result()

    def job(self, run: Callable[[Connection, int], Result]) -> Result:
        """A transaction of its own; run again where another process was in the way."""
        call = Call(lambda connection, now, _: [run(connection, now)], (0, 0), None, alone=True)
        return self.done(call)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Commit what waits, then stop."""
        with self._some:
            self._ending = True
            self._some.notify_all()
            while self._writing and self._process == os.getpid():
                self._some.wait()
        if self._thread is not None and self._process == os.getpid():
            self._thread.join()

    def _let_go(self) -> None:
        with self._some:
            self._writing = False
            self._some.notify_all()

    def _work(self) -> None:
        while calls := self._taken():
            self._answer(calls)
            self._let_go()

    def _taken(self) -> list[Call]:
        """What is committed together next; nothing at the end."""
        with self._some:
            while self._writing or not self._waiting:
                if self._ending and not self._waiting:
                    return []
                self._some.wait()
            self._writing = True
            taken = [self._waiting.popleft()]
            while not taken[0].alone and self._waiting and not self._waiting[0].alone and len(taken) < MOST_TOGETHER:
                taken.append(self._waiting.popleft())
            return taken

    def _answer(self, calls: list[Call]) -> None:
        """Each call gets its answer, or what went wrong."""
        try:
            answers = self._committed(calls)
        except Exception as error:  # also a mistake of ours: whoever asked hears of it, and the next calls are served
            answers = [error] * len(calls)
        for call, answer in zip(calls, answers, strict=True):
            with contextlib.suppress(Exception):  # given up by whoever waited
                if isinstance(answer, BaseException):
                    call.future.set_exception(answer)
                else:
                    call.future.set_result(answer)

    def _committed(self, calls: list[Call]) -> list[Any]:
        """Answers after the commit."""
        for left in reversed(range(TRIES)):
            try:
                with self.database.writing({study for call in calls for study in call.tells}) as (connection, now):
                    return self._answered(connection, now, calls)  # committed before it is returned
            except Busy as error:
                if not left or not _in_the_way(error.__cause__):
                    raise
        raise Busy("Another process was in the way, time and again. Try again.")

    def _answered(self, connection: Connection, now: int, calls: list[Call]) -> list[Any]:
        if len(calls) == 1:  # what fails is rolled back with its transaction
            return calls[0].run(connection, now, [calls[0].asked])
        answers: list[Any] = [None] * len(calls)
        for order in sorted({call.order for call in calls}):
            places = [i for i, call in enumerate(calls) if call.order == order]
            for i, answer in zip(places, _together(connection, now, [calls[i] for i in places]), strict=True):
                answers[i] = answer
        return answers


def _together(connection: Connection, now: int, calls: list[Call]) -> list[Any]:
    """Calls of one kind at once; where that fails, one by one: what is wrong with one is not the others' mistake."""
    try:
        with connection.begin_nested():
            return calls[0].run(connection, now, [call.asked for call in calls])
    except Exception as error:
        if len(calls) == 1 or _broken(error):
            raise
    answers: list[Any] = []
    for call in calls:
        try:
            with connection.begin_nested():
                answers += call.run(connection, now, [call.asked])
        except Exception as error:
            if _broken(error):
                raise
            answers.append(error)
    return answers


def _broken(error: Exception) -> bool:
    """Whether the transaction as a whole is lost, and not just what one call asked for."""
    return isinstance(error, OperationalError) or (isinstance(error, DBAPIError) and error.connection_invalidated)


def _in_the_way(error: BaseException | None) -> bool:
    """Whether another process did the same at the same time: a unique key, a deadlock, a snapshot that is too old."""
    if isinstance(error, IntegrityError):
        return True
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    return state in ("40P01", "40001")
