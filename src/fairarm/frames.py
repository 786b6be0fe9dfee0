"""Results as data frames: of pandas, polars or pyarrow, whichever is installed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fairarm.errors import OptionError, one_line

LIBRARIES = ("pandas", "polars", "pyarrow")
"""In the order in which one is chosen."""

Column = tuple[type | None, Iterable[Any]]
"""What the values are (None: whatever they look like), so that a column without any is of the same type; and the values."""


def frame_of(columns: Mapping[str, Column], library: str | None) -> Any:
    """A data frame of the named library, or of the first that is installed; None becomes a missing value."""
    name = _installed() if library is None else library
    if name not in LIBRARIES:
        raise OptionError(f"A data frame can be of {', '.join(LIBRARIES)}; got {name!r}. Name one, or none of them.")
    try:
        import_module(name)
        pa, nw = import_module("pyarrow"), import_module("narwhals")
    except ImportError as error:
        raise OptionError(
            one_line(
                f"A data frame of {name} needs {name}, which cannot be imported ({error}). "
                f"Install it: pip install {name}. Or ask for another: to_frame() takes what is there."
            )
        ) from None
    kinds: dict[type | None, Any] = {
        str: pa.string(),
        float: pa.float64(),
        int: pa.int64(),
        bool: pa.bool_(),
        None: None,
    }
    made = pa.table({head: pa.array(list(values), type=kinds[kind]) for head, (kind, values) in columns.items()})
    return nw.from_arrow(made, backend=name).to_native()


def _installed() -> str:
    found = next((name for name in LIBRARIES if find_spec(name)), None)
    if found is None:
        raise OptionError(f"A data frame needs one of {', '.join(LIBRARIES)}. Install one: pip install {LIBRARIES[0]}")
    return found


def columns_of(items: Sequence[Any], **kinds: type) -> dict[str, Column]:
    """A column for each attribute that is named, of that kind."""
    return {name: (kind, [_plain(getattr(item, name)) for item in items]) for name, kind in kinds.items()}


def columns_of_table(heads: Sequence[str], lines: Sequence[Sequence[Any]]) -> dict[str, Column]:
    """The columns of a table that is shown, under names of lower-case letters, digits and underscores."""
    columns: dict[str, Column] = {}
    for i, head in enumerate(heads):
        name = re.sub(r"\W+", "_", head.lower()).strip("_")
        columns[name if name not in columns else f"{name}_{i + 1}"] = (None, [_plain(line[i]) for line in lines])
    return columns


def limits(name: str, intervals: Sequence[tuple[float, float] | None]) -> dict[str, Column]:
    """Two columns of the ends of intervals, some of which may not be known."""
    ends = [(None, None) if interval is None else interval for interval in intervals]
    return {f"{name}_{end}": (float, [pair[i] for pair in ends]) for i, end in enumerate(("low", "high"))}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value  # members of an enumeration are text too
