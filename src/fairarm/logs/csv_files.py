"""CSV: all of it is text. The first line names the columns and says which sign parts them."""

from __future__ import annotations

import csv
import gzip
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairarm.errors import ReadError, one_line
from fairarm.logs.schemas import check_names

_SIGNS = ",;\t|"
_HEADER = 1 << 20


@dataclass(frozen=True)
class Header:
    """Names of the columns, and the sign between them."""

    names: tuple[str, ...]
    sign: str


def header(path: str) -> Header:
    """The first line. A column without a name, as the index that pandas writes, is called as pandas calls it."""
    opened = gzip.open if path.lower().endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
            line = stream.readline(_HEADER)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ReadError(one_line(f"{path}: cannot be read: {error}. Save it as UTF-8 text.")) from None
    if "\0" in line or len(line) >= _HEADER:
        trouble = "bytes of value 0" if "\0" in line else f"more than {_HEADER} characters"
        raise ReadError(one_line(f"{path}:1: the first line has {trouble}: this is no CSV. Save it as UTF-8 text."))
    bare = Counter(_outside_quotes(line))
    sign = max(_SIGNS, key=lambda each: bare[each])
    try:
        names = next(csv.reader([line], delimiter=sign), [])
    except csv.Error as error:
        raise ReadError(one_line(f"{path}:1: {error}. The first line must name the columns, each once.")) from None
    if not any(name.strip() for name in names):
        raise ReadError(one_line(f"{path}:1: no column has a name. The first line must name the columns, each once."))
    check_names(f"{path}:1", [name for name in names if name])
    return Header(_named(names), sign)


def _named(names: Sequence[str]) -> tuple[str, ...]:
    """With names for the columns that have none."""
    taken = {name.casefold() for name in names}
    made = []
    for i, name in enumerate(names):
        new, k = name or f"Unnamed: {i}", 0
        while not name and new.casefold() in taken:
            k += 1
            new = f"Unnamed: {i}.{k}"
        taken.add(new.casefold())
        made.append(new)
    return tuple(made)


def _outside_quotes(line: str) -> str:
    """The line without what stands in quotes."""
    return "".join(line.split('"')[::2])


def parsed(block: bytes, head: Header, columns: Sequence[str], first: bool) -> Any:
    """A block of whole lines as a pandas frame of text; the first of a file starts with the header."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    lines = block.split(b"\n", 1)[1] if first and b"\n" in block else b"" if first else block
    if not lines.strip():
        return pa.table({name: pa.array([], pa.string()) for name in columns}).to_pandas(types_mapper=pd.ArrowDtype)
    if block.count(b'"') % 2:
        raise ValueError("a quote is not closed within a block of lines; leave out the engine, to read the file as one")
    found = arrow_csv.read_csv(
        io.BytesIO(lines),
        read_options=arrow_csv.ReadOptions(column_names=list(head.names), block_size=max(len(lines), 1 << 16)),
        parse_options=arrow_csv.ParseOptions(delimiter=head.sign, newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(head.names, pa.string()),
            include_columns=list(columns),
            strings_can_be_null=True,
            null_values=[""],
        ),
    )
    return found.to_pandas(types_mapper=pd.ArrowDtype)
