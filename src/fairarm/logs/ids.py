"""Ids of rows as numbers that say nothing but which row it is: a part of the rows can be chosen by them, whatever rows hold."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.mixing import mixed

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


def tickets(ids: NDArray[Any]) -> NDArray[np.uint64] | None:
    """A number in [0, 2^64) for each id, the same however the id is held (7, 7.0, "7"); None where one is missing."""
    if ids.dtype.kind in "iub":
        return mixed(ids.astype(np.int64).view(np.uint64))
    if ids.dtype.kind == "f" and np.isfinite(ids).all() and np.all((ids == np.floor(ids)) & (np.abs(ids) < 2**53)):
        return mixed(ids.astype(np.int64).view(np.uint64))
    listed = ids.tolist()
    if any(value is None or value != value or value == "" for value in listed):
        return None
    return mixed(np.fromiter((_bits(value) for value in listed), dtype=np.uint64, count=len(listed)))


def _bits(value: Any) -> int:
    """64 bits of one id: a whole number as it is, anything else by its text."""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
    if _WHOLE.fullmatch(text):
        return int(text) % (1 << 64)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
