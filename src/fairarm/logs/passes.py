"""Passes over a log for one problem: raw values become codes where the rows are, and what is wrong with rows is tallied there."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.logged_rows import P, Passes
from fairarm.core.packed import Arrays, named, within
from fairarm.logs.findings import Tally
from fairarm.logs.gathering import Tick
from fairarm.logs.reading import LogReader
from fairarm.logs.values import DUE
from fairarm.problem.pulls import LoggedRows

MOST_KEPT = 128 << 20
"""Bytes: a log whose coded rows are no more is read once, and kept between the passes."""

Told = Callable[[str, int, int], None]
"""Which pass it is, what is done, and of how much."""


def passes_of(reader: LogReader, told: Told | None = None, what: str = "rows") -> Passes:
    """Passes over the rows of a reader, which knows afterwards what was wrong with them. Passing again counts nothing twice."""
    done, kept = 0, None
    most = MOST_KEPT if reader.table.streams_here else 0

    def passed(start: Callable[[], P], /) -> P:
        nonlocal done, kept
        done += 1
        tick: Tick | None = None if told is None else partial(told, f"{what}, pass {done} of 2")
        if kept is not None:
            return _again(kept, start(), tick)
        begin = partial(Decoding, reader.decoder(), start, most)
        found: Decoding = reader.table.gathered((*reader.columns, *reader.ids), begin, due=reader.due, tick=tick)
        reader.heard(found.reader)
        kept = found.kept if most else None
        inner: P = found.inner
        return inner

    return passed


def _again(kept: list[LoggedRows], found: P, tick: Tick | None) -> P:
    """Over rows that were kept from the pass before."""
    for done, part in enumerate(kept, start=1):
        found.add(part)
        if tick is not None:
            tick(done, len(kept))
    return found


@dataclass
class Decoding:
    """Raw rows of a table, coded and handed on."""

    decoder: LogReader
    start: Callable[[], Any]
    most: int = 0
    """Bytes of coded rows that may be kept for the next pass."""

    def __post_init__(self) -> None:
        self.reader, self.inner = self.decoder.decoder(), self.start()
        self.kept: list[LoggedRows] | None = []
        """All rows so far; None where they are too many."""

    def add(self, raw: dict[str, NDArray[Any]], /) -> None:
        """More rows."""
        part = self.reader.coded(raw, raw.get(DUE))
        self.inner.add(part)
        if self.kept is not None:
            self.most -= 8 * part.batch.size * (len(part.batch.columns) + 6)
            self.kept.append(part)
            if self.most <= 0:
                self.kept = None

    def arrays(self) -> Arrays:
        """What is sent: what was gathered, rows read and used, and what was wrong with others."""
        reader = self.reader
        tallies = {name: [tally.rows, tally.examples] for name, tally in reader.tallies.items()}
        text = np.frombuffer(json.dumps(tallies).encode(), dtype=np.uint8)
        return {**named("of", self.inner.arrays()), "counts": np.array([reader.rows, reader.used]), "tallies": text}

    def merge_arrays(self, sent: Arrays, /) -> None:
        """What another part has sent."""
        rows, used = sent["counts"].tolist()
        self.reader.rows += rows
        self.reader.used += used
        for name, (count, examples) in json.loads(sent["tallies"].tobytes()).items():
            self.reader.tallies.setdefault(name, Tally()).add(count, examples)
        self.inner.merge_arrays(within("of", sent))
