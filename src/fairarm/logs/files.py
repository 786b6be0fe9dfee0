"""Logs in files: Parquet, CSV and JSON lines, read by DuckDB here or by Dask on a cluster.

CSV is read as text, so that "01" stays "01"; the first line names the columns and says which sign parts them. Nothing
else is guessed: a line with more or fewer entries is an error. Text in JSON stays text, times too.
"""

from __future__ import annotations

import csv
import glob
import gzip
import json
import os
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from weakref import finalize

from fairarm.errors import ReadError, one_line
from fairarm.logs.engines import Dask, DuckDB, Engine
from fairarm.logs.trouble import speaking
from fairarm.optional import require

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
"""Formats by ending; all but Parquet also with ``.gz`` behind it."""

MEMORY, CORE_MEMORY = 350, 100
"""Megabytes that DuckDB may take, in all or for each core if that is more; then it goes on on disk."""

PERFECT_HASH_BITS = 16
"""Keys of so many bits in all are counted in a plain array: DuckDB's 12 are too few for five small columns."""

SECONDS = 10
"""How long a server may take to answer."""

BLOCK = 64 << 20
"""Bytes of text that a Dask task reads."""

SAMPLE = 20_000
"""Rows from which Dask takes the types of JSON."""

_SIGNS = ",;\t|"
_HEADER = 1 << 20


@dataclass(frozen=True)
class Files:
    """Files of one format; ``name`` is what the user called them."""

    name: str
    paths: tuple[str, ...]
    format: str

    @property
    def exact(self) -> list[str]:
        """The paths for readers that take them as patterns."""
        return [glob.escape(path) for path in self.paths]

    @property
    def packed(self) -> bool:
        return any(path.lower().endswith(".gz") for path in self.paths)


def find_files(given: Sequence[str | os.PathLike[str]]) -> Files:
    """The files that paths, patterns and folders stand for."""
    name = ", ".join(str(each) for each in given[:3]) + (", …" if len(given) > 3 else "")
    paths = [path for each in given for path in _expanded(str(each))]
    formats = {path: _format(path) for path in paths}
    if not paths:
        raise ReadError("No file of a log was named.")
    unknown = next((path for path, kind in formats.items() if kind is None), None)
    if unknown is not None:
        text = (
            f"{unknown}: its ending is not that of a log. Known: {', '.join(FORMATS)}, and .gz behind the text formats."
        )
        raise ReadError(one_line(text))
    if len(set(formats.values())) > 1:
        raise ReadError(one_line(f"{name}: files of different formats. Open one format at a time."))
    return Files(name, tuple(paths), str(formats[paths[0]]))


def _expanded(given: str) -> list[str]:
    path = Path(given).expanduser()
    try:
        if path.is_dir():
            inside = sorted(str(p) for p in path.rglob("*") if p.is_file() and not p.name.startswith(("_", ".")))
            found = [each for each in inside if _format(each) is not None]
            trouble = "a folder without Parquet, CSV or JSON files"
        elif path.is_file():
            return [str(path)]
        else:
            found = sorted(each for each in glob.glob(str(path), recursive=True) if Path(each).is_file())
            trouble = "no file matches" if glob.has_magic(str(path)) else "no such file"
    except (OSError, ValueError) as error:
        found, trouble = [], str(error)
    if not found:
        raise ReadError(one_line(f"{given}: {trouble}. Check the path and the folder it starts from."))
    return found


def _format(path: str) -> str | None:
    stem, ending = os.path.splitext(path.lower())
    packed = ending == ".gz"
    kind = FORMATS.get(os.path.splitext(stem)[1] if packed else ending)
    return None if packed and kind == "parquet" else kind


# ---- CSV ----


@dataclass(frozen=True)
class _Header:
    names: tuple[str, ...]
    sign: str


def _header(files: Files) -> _Header:
    """The first line, which must be the same in every file."""
    first = _first_line(files.paths[0])
    for path in files.paths[1:]:
        if (other := _first_line(path)) != first:
            text = f"{path}: its first line is {','.join(other.names)!r}, that of {files.paths[0]} is {','.join(first.names)!r}. "
            raise ReadError(one_line(text + "Files read together need the same columns in the same order."))
    return first


def _first_line(path: str) -> _Header:
    opened = gzip.open if path.lower().endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
            line = stream.readline(_HEADER)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ReadError(one_line(f"{path}: cannot be read: {error}. Save it as UTF-8 text.")) from None
    bare = Counter(_outside_quotes(line))
    sign = max(_SIGNS, key=lambda each: bare[each])
    names = tuple(next(csv.reader([line], delimiter=sign), ()))
    twice = [name for name, times in Counter(names).items() if times > 1]
    if not any(names) or "" in names or twice:
        trouble = f"the name '{twice[0]}' is there twice" if twice else "a column has no name"
        raise ReadError(one_line(f"{path}:1: {trouble}. The first line must name the columns, each once."))
    return _Header(names, sign)


def _outside_quotes(line: str) -> str:
    """The line without what stands in quotes."""
    return "".join(line.split('"')[::2])


# ---- DuckDB ----


def with_duckdb(files: Files) -> Engine:
    """The files as a DuckDB relation, with bounded memory."""
    connection = _connect()
    paths = files.exact
    with speaking(files.name, ReadError):
        if files.format == "parquet":
            named = all("=" in str(Path(path).parent) for path in files.paths)  # folders such as day=1 are columns
            opened = partial(_read, "read_parquet", paths, hive_partitioning=named)
        elif files.format == "csv":
            header = _header(files)
            columns = dict.fromkeys(header.names, "VARCHAR")
            signs = {"sep": header.sign, "quotechar": '"', "escapechar": '"'}
            opened = partial(_read, "read_csv", paths, columns=columns, auto_detect=False, header=True, **signs)
        else:
            opened = partial(_read, "read_json", paths, columns=_json_types(connection, files, -1))
        return DuckDB(opened(connection), lambda: opened(connection.cursor()))


def _read(reader: str, paths: Sequence[str], connection: Any, **options: Any) -> Any:
    return getattr(connection, reader)(list(paths), **options)


def _connect() -> Any:
    import duckdb

    spill = Path(tempfile.gettempdir()) / f"fairarm-{uuid.uuid4().hex}"  # DuckDB makes it when needed, and removes it
    settings: dict[str, Any] = {
        "memory_limit": f"{max(MEMORY, CORE_MEMORY * (os.cpu_count() or 1))}MB",
        "temp_directory": str(spill),
        "preserve_insertion_order": "false",
        "perfect_ht_threshold": str(PERFECT_HASH_BITS),
        "autoinstall_known_extensions": "false",
        "TimeZone": "UTC",
    }
    connection = duckdb.connect(":memory:", config=settings)
    # In a notebook, and in any Python without a script, it would draw its progress on standard output after two seconds.
    connection.execute("SET enable_progress_bar = false")
    return connection


def _json_types(connection: Any, files: Files, sample: int) -> dict[str, str]:
    """Columns and types, from so many rows (-1: all). What is written as text stays text, times and all."""
    if not any(os.path.getsize(path) for path in files.paths):
        raise ReadError(one_line(f'{files.name}: no rows. Lines such as {{"arm": 1}} are needed.'))
    found = connection.read_json(files.exact, sample_size=sample, records="true")
    kept = {"BIGINT": "BIGINT", "HUGEINT": "BIGINT", "UBIGINT": "UBIGINT", "DOUBLE": "DOUBLE", "BOOLEAN": "BOOLEAN"}
    types = {name: str(kind) for name, kind in zip(found.columns, found.types, strict=True)}
    return {name: kept.get(kind, "VARCHAR") for name, kind in types.items()}


# ---- Dask ----


def with_dask(files: Files, address: str | None) -> Engine:
    """The files as a Dask frame: on the cluster at an address, or with the threads of this process."""
    require("dask.dataframe", "dask")
    require("distributed", "dask")
    opened = {"parquet": _dask_parquet, "csv": _dask_csv, "json": _dask_json}[files.format]
    with speaking(files.name, ReadError):
        frame = opened(files)
    if address is None:
        return Dask(frame, scheduler="threads")
    client = _client(address)
    held = Dask(frame, scheduler=client)
    finalize(held, client.close)
    return held


def _client(address: str) -> Any:
    from distributed import Client

    out = "Start a scheduler there, or leave out the engine to read here."
    with speaking(f"No Dask scheduler answers at {address}", ReadError, out):
        return Client(f"tcp://{address}", timeout=SECONDS, set_as_default=False)


def _dask_parquet(files: Files) -> Any:
    import dask.dataframe as dd

    return dd.read_parquet(files.exact, dtype_backend="pyarrow")


def _dask_csv(files: Files) -> Any:
    import dask.dataframe as dd

    return dd.read_csv(
        files.exact,
        sep=_header(files).sign,
        dtype="string[pyarrow]",
        keep_default_na=False,
        na_values=[""],
        encoding="utf-8-sig",
        compression="gzip" if files.packed else None,
        blocksize=None if files.packed else BLOCK,
    )


def _dask_json(files: Files) -> Any:
    """JSON lines, each partition parsed on its own into types found in the first rows."""
    import dask.bag as db
    import dask.dataframe as dd
    from dask.delayed import delayed

    types = _json_types(_connect(), files, SAMPLE)
    names = {"BIGINT": "Int64", "UBIGINT": "UInt64", "DOUBLE": "Float64", "BOOLEAN": "boolean"}
    made = {name: names.get(kind, "string[pyarrow]") for name, kind in types.items()}
    lines = db.read_text(files.exact, blocksize=None if files.packed else BLOCK)
    parts = [delayed(_framed)(part, made) for part in lines.to_delayed()]
    return dd.from_delayed(parts, meta=_framed([], made), verify_meta=False)


def _framed(lines: Iterable[str], types: dict[str, str]) -> Any:
    import pandas as pd

    rows = [json.loads(line) for line in lines if line.strip()]
    columns = {}
    for name, kind in types.items():
        values = [row.get(name) for row in rows]
        if kind.startswith("string"):
            values = [value if value is None or isinstance(value, str) else json.dumps(value) for value in values]
        columns[name] = pd.array(values, dtype=kind)
    return pd.DataFrame(columns)
