"""Frozen dataclasses of arrays as plain JSON, and back bit for bit: the state, a procedure's memory, what is shown."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from fairarm.errors import OptionError

Record = TypeVar("Record")

MOST_PHASES = 1 << 20
"""More than any run has: n(T) is 29 at T = 10^15."""


def but(record: Record, **changes: Any) -> Record:
    """With these fields changed: as dataclasses.replace, in a tenth of its time, since a run does this at every step."""
    made, old = object.__new__(type(record)), record.__dict__
    fields_of = record.__dataclass_fields__  # type: ignore[attr-defined]
    made.__dict__.update({name: old[name] for name in fields_of}, **changes)  # without what was cached beside them
    return made


KINDS: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float}
"""Of arrays that can be saved, by numpy's letters."""

INFINITE = {"inf": np.inf, "-inf": -np.inf}
"""As JSON has it, which has no such numbers."""


def require_savable(record: Any, what: str) -> None:
    """An error where a record holds something that could not be saved, or not read back as it was."""
    if not is_dataclass(record) or isinstance(record, type):
        raise OptionError(f"{what} is a {type(record).__name__}. It is a frozen dataclass of arrays.")
    for f in fields(record):
        value = getattr(record, f.name)
        if is_dataclass(value):
            require_savable(value, f"{what}, its field '{f.name}',")
        elif isinstance(value, np.ndarray) and value.dtype.kind in KINDS:
            continue
        elif type(value) is not int and value is not None:
            kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
            raise OptionError(
                f"{what} has a field '{f.name}' that is {kind}, which cannot be saved. Fields are arrays of numbers or of true "
                f"and false, whole numbers, or dataclasses of these; keep a text as the position in a list."
            )


def plain(record: Any) -> Any:
    """Plain lists; nan becomes null, what is infinite a text."""
    if is_dataclass(record):
        return {f.name: plain(getattr(record, f.name)) for f in fields(record)}
    if not isinstance(record, np.ndarray):
        return record
    if record.dtype.kind == "f":
        made = record.astype(object)
        made[np.isnan(record)] = None
        for text, value in INFINITE.items():
            made[record == value] = text
        return made.tolist()
    return record.tolist()


def restored(document: Any, like: Record, what: str) -> Record:
    """The record that `plain` made ``document`` of; ``what`` names it.

    A TypeError or ValueError where a field has not the form that it has in ``like``, is missing, or is one too many.
    """
    names = [f.name for f in fields(like)]  # type: ignore[arg-type]
    for key in sorted(checked_leaf(what, document, dict).keys() ^ set(names)):
        raise ValueError(f"'{what}' has {'no' if key in names else 'a part'} '{key:.40}'")
    return type(like)(**{name: _value(name, document[name], getattr(like, name)) for name in names})


def _value(name: str, value: Any, like: Any) -> Any:
    if is_dataclass(like):
        return restored(value, like, name)
    if like is None:
        if value is not None:
            raise TypeError(f"'{name}' holds {value!r:.40}, and there is nothing to hold")
        return None
    if not isinstance(like, np.ndarray):
        if not 0 <= checked_leaf(name, value, int) < MOST_PHASES:
            raise ValueError(f"'{name}' is {value}")
        return value
    flat: list[Any] = []
    _flatten(name, value, like.shape, KINDS[like.dtype.kind], flat)
    return np.array(flat, dtype=like.dtype).reshape(like.shape)  # None becomes nan


def _flatten(name: str, value: Any, shape: tuple[int, ...], kind: type, out: list[Any]) -> None:
    if not shape:
        if kind is float and isinstance(value, str) and value in INFINITE:
            value = INFINITE[value]
        out.append(None if value is None and kind is float else checked_leaf(name, value, kind))
        return
    if not isinstance(value, list) or len(value) != shape[0]:
        raise TypeError(f"'{name}' needs a list of {shape[0]}")
    for item in value:
        _flatten(name, item, shape[1:], kind, out)


def checked_leaf(name: str, value: Any, kind: type) -> Any:
    """A JSON value of exactly this kind; whole numbers are numbers, true and false are not."""
    fits = type(value) is kind or (kind is float and type(value) is int)
    if not fits:
        raise TypeError(f"'{name}' holds {value!r:.40}, not a value of type {kind.__name__}")
    return value
