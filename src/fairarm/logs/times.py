"""Times of a log that are text, as numbers to be put in order.

Most logs write all times in one form. Text of one form is read in bulk, and the engine may compare it as it is written.
Anything else is read value by value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import BoolArray, IntArray
from fairarm.logs.coding import read_numbers
from fairarm.logs.values import to_numpy

if TYPE_CHECKING:
    import pyarrow as pa

MOST_DIGITS = 60
"""Characters of a plain number: no more than the pattern of numbers allows before or after the point."""

BLOCK = 64
"""Texts compared with a form at once."""


@dataclass(frozen=True)
class Numbers:
    """All of the text is plain decimals: digits, a sign, a point."""

    def read(self, texts: pa.Array) -> NDArray[Any] | None:
        """As doubles; None where some text is something else."""
        import pyarrow as pa

        start, data = _buffers(texts)
        allowed = (data >= ord("+")) & (data <= ord("9")) & (data != ord(",")) & (data != ord("/"))
        if not allowed.all() or np.diff(start).max(initial=0) > MOST_DIGITS:
            return None
        try:
            return np.asarray(texts.cast(pa.float64()).to_numpy())
        except pa.ArrowInvalid:
            return None

    def bare(self, end: Any) -> float:
        """A number of ``read`` as the value-by-value reading has it."""
        return float(end)

    def written(self, end: float) -> float:
        """What the engine compares, once it took the text for a number."""
        return end


@dataclass(frozen=True)
class Moments:
    """All of the text is times written like one: as long, with the same signs at the same places, and the same offset from UTC."""

    like: str
    offset: str

    def read(self, texts: pa.Array) -> NDArray[Any] | None:
        """As times in UTC; None where some text is something else."""
        import pyarrow as pa

        start, data = _buffers(texts)
        if not np.all(np.diff(start) == len(self.like)) or not self._alike(data):
            return None
        try:
            return np.asarray(texts.cast(pa.timestamp(self._unit, "UTC" if self.offset else None)).to_numpy())
        except pa.ArrowInvalid:
            return None

    @property
    def _unit(self) -> str:
        """Nanoseconds span 584 years only."""
        return "ns" if len(self._own) > len("2030-01-31 12:00:00.000000") else "us"

    @property
    def _own(self) -> str:
        """The text without its offset."""
        return self.like.removesuffix(self.offset)

    def _alike(self, data: NDArray[np.uint8]) -> bool:
        """Digits where the form has digits, and its own signs elsewhere; texts follow one another without a gap."""
        one, own = np.frombuffer(self.like.encode(), np.uint8), len(self._own)
        digit = (one >= ord("0")) & (one <= ord("9")) & (np.arange(len(one)) < own)
        low, high = (np.tile(np.where(digit, ord(end), one).astype(np.uint8), BLOCK) for end in "09")
        whole = len(data) // len(low) * len(low)

        def within(rows: NDArray[np.uint8]) -> bool:
            return bool(((rows >= low[: rows.shape[-1]]) & (rows <= high[: rows.shape[-1]])).all())

        return within(data[:whole].reshape(-1, len(low))) and within(data[whole:])

    def bare(self, end: Any) -> str:
        """A time of ``read`` as the value-by-value reading has it: as long as it is written, without its offset."""
        from fairarm.logs import expressions as ex

        shift = np.timedelta64(timedelta(minutes=ex.minutes(self.offset)))
        return str(end + shift)[: len(self._own)].replace("T", " ")

    def written(self, end: str) -> str:
        """The same as it stands in the log."""
        return end[:10] + self._own[10:11] + end[11:] + self.offset


Form: TypeAlias = Numbers | Moments


@dataclass(frozen=True)
class TextTimes:
    """``values``: numbers, moments, or text whose order is theirs; of no such kind where the text is neither. ``form``: that
    of all of the text, None where it has none."""

    values: NDArray[Any]
    form: Form | None = None


def read_texts(parts: Callable[[], Iterable[pa.ChunkedArray]]) -> TextTimes:
    """The times of a column of text; ``parts`` hands it out, a second time where it is not all of one form."""
    found, form = _in_bulk(parts())
    if form is not None:
        return TextTimes(found, form)
    made = [to_numpy("", part) for part in parts()]
    return TextTimes(_one_by_one(np.concatenate(made) if made else np.zeros(0)))


def _in_bulk(parts: Iterable[pa.ChunkedArray]) -> tuple[NDArray[Any], Form | None]:
    """The times, and the form of all of them; None as soon as one differs."""
    made: list[NDArray[Any]] = []
    form: Form | None = None
    for texts in _told(parts):
        form = form or _form(texts[0].as_py())
        read = None if form is None else form.read(texts)
        if read is None:
            return np.zeros(0), None
        made.append(read)
    return (np.concatenate(made) if made else np.zeros(0)), form


def _told(parts: Iterable[pa.ChunkedArray]) -> Iterator[pa.Array]:
    """Arrays of text without nulls, none of them empty."""
    import pyarrow as pa

    for part in parts:
        for chunk in part.drop_null().cast(pa.large_string()).chunks:
            if len(chunk):
                yield chunk


def _form(text: str) -> Form | None:
    """The form of one text."""
    from fairarm.logs import expressions as ex

    offset = ex.written_offset(text)
    if offset is not None:
        return Moments(text, offset)
    return Numbers() if re.fullmatch(r"-?[0-9.]+", text) else None


def _buffers(texts: pa.Array) -> tuple[IntArray, NDArray[np.uint8]]:
    """Where each text starts, and the end of the last; and the bytes of all of them."""
    _, starts, data = texts.buffers()
    start = np.frombuffer(starts, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    held = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return start, held[start[0] : start[-1]]


def _one_by_one(times: NDArray[Any]) -> NDArray[Any]:
    """Text as numbers, or as times of one offset from UTC in a form whose order is theirs; objects where it is neither."""
    from fairarm.logs import expressions as ex

    values, other = read_numbers(times)
    if not other.any():
        return values
    texts = [str(value).strip() for value in times.tolist() if value is not None]
    offsets = {ex.written_offset(text) for text in texts} - {None}
    if len(offsets) != 1:
        return np.array([], dtype=object)
    return np.array([bare for text in texts if (bare := ex.bare_moment(text)) is not None], dtype=str)


def known(times: NDArray[Any]) -> NDArray[Any]:
    """Those that there are."""
    if times.dtype.kind not in "fM":
        return times
    there: BoolArray = ~np.isnat(times) if times.dtype.kind == "M" else np.isfinite(times)
    return times if there.all() else np.asarray(times[there])
