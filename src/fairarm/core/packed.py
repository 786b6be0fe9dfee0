"""Arrays by name as bytes and back: what a part of a log sends is numbers and text, and nothing in it is ever run."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def packed(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays of numbers or text as the bytes of an npz file."""
    held = io.BytesIO()
    np.savez(held, allow_pickle=False, **{name: np.asarray(values) for name, values in arrays.items()})
    return held.getvalue()


def unpacked(sent: bytes) -> Arrays:
    """The arrays again. Objects are refused."""
    with np.load(io.BytesIO(sent), allow_pickle=False) as held:
        return {name: held[name] for name in held.files}


def named(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """With a prefix before each name."""
    return {f"{prefix}.{name}": values for name, values in arrays.items()}


def within(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Those with the prefix, without it."""
    return {name[len(prefix) + 1 :]: values for name, values in arrays.items() if name.startswith(f"{prefix}.")}
