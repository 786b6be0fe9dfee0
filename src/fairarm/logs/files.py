"""Logs in files: Parquet, CSV and JSON lines, read by DuckDB here or by Dask on a cluster.

CSV is read as text, so that "01" stays "01"; the first line names the columns and says which sign parts them. Nothing
else is guessed: a line with more or fewer entries is an error. Text in JSON stays text, times too.
"""

from __future__ import annotations

import glob
import os
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from weakref import finalize

from fairarm.errors import ReadError, one_line
from fairarm.logs.csv_files import header
from fairarm.logs.engines import Dask, DuckDB, Engine
from fairarm.logs.json_lines import check_rows, types_by_duckdb
from fairarm.logs.library_errors import SECONDS, speaking
from fairarm.logs.schemas import TEXT, Agreement, Alike, agree, check_names, duckdb_type, parquet_kinds
from fairarm.logs.values import EXACT
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

PERFECT_HASH_BITS = 20
"""Keys of so many bits in all are counted in a plain array: DuckDB's 12 are too few for five small columns and batches by time."""


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
        """Whether any of the files is compressed, so that its size says little about its rows."""
        return any(path.lower().endswith(".gz") for path in self.paths)

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """Columns that the names of folders such as day=1 hold, for all files."""
        each = [folder_values(path) for path in self.paths]
        return tuple(name for name in each[0] if all(name in values for values in each))


def folder_values(path: str) -> dict[str, str | None]:
    """Columns and values, as text, in the names of a path's folders."""
    pairs = [part.split("=", 1) for part in Path(path).parent.parts if "=" in part]
    return {unquote(name): None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value) for name, value in pairs}


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
        elif path.exists():
            found, trouble = [], "not a regular file; a pipe or a device is not read twice"
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


# ---- DuckDB ----


def with_duckdb(files: Files) -> Engine:
    """The files as a DuckDB relation, with bounded memory."""
    connection = _connect()
    with speaking(files.name, ReadError):
        if files.format == "json":
            check_rows(files.name, files.paths)
            types = types_by_duckdb(connection, files.exact)
            check_names(files.name, tuple(types))
            opened: Callable[[Any], Any] = partial(_read_json, files, types)
            return DuckDB(opened(connection), lambda: opened(connection.cursor()))
        found = agreement(connection, files)
        opened = partial(_read_alike, files, found)
        return DuckDB(opened(connection), lambda: opened(connection.cursor()), disputed=found.disputed)


def agreement(connection: Any, files: Files) -> Agreement:
    """What the files have in common. Integers beside decimals must be of a size at which both are exact."""
    if files.format == "csv":
        heads = {path: header(path) for path in files.paths}
        kinds = ((path, dict.fromkeys(heads[path].names, TEXT)) for path in files.paths)
        return _some_columns(files, agree(kinds, lambda path: heads[path].sign))
    from duckdb import ColumnExpression, FunctionExpression

    found = agree(parquet_kinds(files.paths))
    too_large = {}
    for name in (name for name, kind in found.promoted.items() if kind == "double"):
        paths = found.of_kind(name, "int64") + found.of_kind(name, "whole")
        if not paths:
            continue
        whole = connection.read_parquet([glob.escape(path) for path in paths], hive_partitioning=False)
        ends = [FunctionExpression(end, ColumnExpression(name)).alias(end) for end in ("min", "max")]
        low, high = whole.aggregate(ends).fetchall()[0]
        if max(abs(low or 0), abs(high or 0)) > EXACT:
            too_large[name] = (
                f"it holds integers beyond 2^53 in {paths[0]} and numbers of another type elsewhere. Convert it to one type"
            )
    exact = replace(
        found,
        promoted={name: kind for name, kind in found.promoted.items() if name not in too_large},
        columns=tuple(name for name in found.columns if name not in too_large),
        disputed=found.disputed | too_large,
    )
    return _some_columns(files, exact)


def _some_columns(files: Files, found: Agreement) -> Agreement:
    """Refuse files that agree on no column, and say why."""
    if found.columns or files.folders:
        return found
    why = "; ".join(f"'{name}': {reason}" for name, reason in [*found.disputed.items()][:2])
    raise ReadError(one_line(f"{files.name}: none of the {len(found.disputed)} columns can be used. {why}."))


def _read_alike(files: Files, found: Agreement, connection: Any) -> Any:
    """Files of each kind read together, then all of them joined with the columns that they share."""
    from duckdb import ColumnExpression

    def column(name: str) -> Any:
        kind = found.promoted.get(name)
        made = ColumnExpression(name)
        return made if kind is None else made.cast(duckdb_type(kind)).alias(name)

    kept = list(dict.fromkeys([*found.columns, *files.folders]))
    read = _read_parquet if files.format == "parquet" else _read_csv
    parts = [read(files, part, connection) for part in found.parts]
    if len(parts) == 1 and not found.disputed:
        return parts[0]
    return reduce(lambda first, second: first.union(second), (part.select(*map(column, kept)) for part in parts))


def _read_parquet(files: Files, part: Alike, connection: Any) -> Any:
    return _read("read_parquet", files, part.paths, connection)


def _read_csv(files: Files, part: Alike, connection: Any) -> Any:
    first = header(part.paths[0])
    columns = _columns(dict.fromkeys(first.names, "VARCHAR"))
    signs = f"""sep = {_literal(first.sign)}, quote = '"', escape = '"'"""
    options = f"columns = {columns}, auto_detect = false, header = true, {signs}"
    return _read("read_csv", files, part.paths, connection, options)


def _read_json(files: Files, types: dict[str, str], connection: Any) -> Any:
    return _read("read_json", files, files.paths, connection, f"columns = {_columns(types)}")


def _read(reader: str, files: Files, paths: Sequence[str], connection: Any, options: str = "") -> Any:
    """Names of folders hold text, as CSV does: 01 stays 01."""
    listed = ", ".join(_literal(glob.escape(path)) for path in paths)
    folders = f"hive_partitioning = {bool(files.folders)}, hive_types_autocast = false"
    given = ", ".join(part for part in (f"[{listed}]", options, folders) if part)
    return connection.sql(f"SELECT * FROM {reader}({given})")


def _columns(types: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{_literal(name)}: '{kind}'" for name, kind in types.items()) + "}"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


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


# ---- Dask ----


def with_dask(files: Files, address: str | None) -> Engine:
    """The files as a Dask frame: on the cluster at an address, or with the threads of this process."""
    require("dask.dataframe", "dask")
    require("distributed", "dask")
    from fairarm.logs import dask_files

    client = None if address is None else _client(address)
    scheduler = "threads" if client is None else client
    try:
        with speaking(files.name, ReadError):
            if files.format == "json":
                check_rows(files.name, files.paths)
                frame, disputed = dask_files.json_frame(files, scheduler), {}
            else:
                found = agreement(_connect(), files)
                made = dask_files.parquet_frame if files.format == "parquet" else dask_files.csv_frame
                frame, disputed = made(files, found), found.disputed
    except BaseException:
        if client is not None:
            client.close()
        raise
    held = Dask(frame, disputed=disputed, scheduler=scheduler)
    if client is not None:
        finalize(held, client.close)
    return held


def _client(address: str) -> Any:
    """Of a cluster with at least one worker."""
    from distributed import Client

    out = "Start a scheduler there, or leave out the engine to read here."
    with speaking(f"No Dask scheduler answers at {address}", ReadError, out):
        client = Client(f"tcp://{address}", timeout=SECONDS, set_as_default=False)
    try:
        client.wait_for_workers(1, timeout=SECONDS)
    except Exception:
        client.close()
        text = f"The Dask scheduler at {address} has no workers, and none came within {SECONDS} s. Start one: dask worker tcp://{address}"
        raise ReadError(one_line(text)) from None
    return client
