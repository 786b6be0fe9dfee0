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

Told = Callable[[str, int, int], None]
"""Which pass it is, what is done, and of how much."""


def passes_of(reader: LogReader, told: Told | None = None, what: str = "rows") -> Passes:
    """Passes over the rows of a reader, which knows afterwards what was wrong with them. Passing again counts nothing twice."""
    done = 0

    def passed(start: Callable[[], P], /) -> P:
        nonlocal done
        done += 1
        tick: Tick | None = None if told is None else partial(told, f"{what}, pass {done} of 2")
        found: Decoding = reader.gathered(partial(Decoding, reader.decoder(), start), tick)
        reader.heard(found.reader)
        inner: P = found.inner
        return inner

    return passed


@dataclass
class Decoding:
    """Raw rows of a table, coded and handed on."""

    decoder: LogReader
    start: Callable[[], Any]

    def __post_init__(self) -> None:
        self.reader, self.inner = self.decoder.decoder(), self.start()

    def add(self, raw: dict[str, NDArray[Any]], /) -> None:
        """More rows."""
        self.inner.add(self.reader.coded(raw, raw.get(DUE)))

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
