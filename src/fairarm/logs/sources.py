"""One door for logs: a path, a URL or a frame becomes a ``LogTable``.

    open_log("log/*.parquet")                               Parquet, CSV or JSON lines, by DuckDB
    open_log("log.csv", engine="dask://scheduler:8786")     the same files on a Dask cluster
    open_log("postgresql://me@host/shop?table=decisions")   also sqlite:///file.db?table=decisions
    open_log(frame)                                         pandas, Polars, pyarrow, DuckDB, Dask, PySpark, Ibis
    open_log({"arm": arms, "y": outcomes})                  columns, also the bandit feedback of Open Bandit Pipeline
    open_log([{"arm": "a", "y": 1}, ...])                   a list of records

Databases are asked through Ibis, which narwhals knows, so that they run the same expressions as every other engine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from time import process_time
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit
from weakref import finalize

from fairarm.errors import DataError, OptionError, ReadError, one_line
from fairarm.logs.library_errors import SECONDS, speaking
from fairarm.logs.table import LogTable
from fairarm.optional import require
from fairarm.problem.pulls import columns_of_records

VIEW_SECONDS, STEPS, PAUSE = 1.5, 100_000, 0.5
"""Processor time that a question to a view of SQLite may take; how often it is looked at, in steps of SQLite; and how long
nothing must be heard of one question before the next begins."""

SCHEMES = ("sqlite", "postgresql", "postgres")
"""Databases that a URL may name."""


def open_log(source: Any, *, engine: str | None = None) -> LogTable:
    """A log as a table, from a path, pattern, folder or list of them, a database URL, a frame, a dictionary of columns or
    a list of records.

    ``engine`` says who reads files: "duckdb" (the default), "dask" (threads of this process) or "dask://host:port".
    """
    paths = _paths(source)
    if paths is not None:
        return _from_files(paths, engine)
    if engine is not None:
        text = f"The engine '{engine}' is for files: a database or a frame is read where it is. Leave the engine out."
        raise OptionError(one_line(text))
    if isinstance(source, LogTable):
        return source
    if isinstance(source, str):
        return _from_url(source)
    if isinstance(source, Mapping):
        return _from_columns(source)
    if isinstance(source, list | tuple) and source and all(isinstance(each, Mapping) for each in source):
        return _from_columns(columns_of_records(source), "a list of records")
    return _from_frame(source)


def _paths(source: Any) -> list[str | os.PathLike[str]] | None:
    """The paths that are named, or None if the source is something else."""
    if isinstance(source, list | tuple) and source and all(isinstance(each, str | os.PathLike) for each in source):
        if any("://" in str(each) for each in source):
            raise OptionError("A list may name files only. Open a URL by itself.")
        return list(source)
    if isinstance(source, os.PathLike) or (isinstance(source, str) and "://" not in source):
        return [source]
    return None


def _from_files(paths: list[str | os.PathLike[str]], engine: str | None) -> LogTable:
    from fairarm.logs.files import find_files, with_dask, with_duckdb

    kind, sign, address = ("duckdb" if engine is None else engine).partition("://")
    if kind not in ("duckdb", "dask") or (sign and (kind == "duckdb" or not address)):
        known = "duckdb, dask (threads here), dask://host:port"
        raise OptionError(
            one_line(f"There is no engine '{engine}'. Known: {known}. A Spark frame is handed over as it is.")
        )
    files = find_files(paths)
    held = with_duckdb(files) if kind == "duckdb" else with_dask(files, address or None)
    return LogTable(files.name, kind, held)


# ---- frames and columns ----


def _from_frame(frame: Any) -> LogTable:
    import narwhals.stable.v2 as nw

    from fairarm.logs.engines import KINDS, Engine

    name = f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}".lstrip("_")
    with speaking(name, DataError):
        known: Any = nw.from_native(frame, pass_through=True)
        if not isinstance(known, nw.DataFrame | nw.LazyFrame):
            text = f"A {name} is not a log. Give a path, a database URL, a dictionary of columns, a list of records, or a frame of pandas, "
            raise OptionError(one_line(text + "Polars, pyarrow, DuckDB, Dask, PySpark or Ibis."))
        kind = known.implementation.value
        if kind == "pandas" and (odd := [each for each in frame.columns if not isinstance(each, str)]):
            raise DataError(one_line(f"{name}: the column name {odd[0]!r} is not text. Rename it."))
        return LogTable(name, kind.partition("[")[0], KINDS.get(kind, Engine)(frame))


def _from_columns(given: Mapping[str, Any], what: str = "a dictionary of columns") -> LogTable:
    """Columns of equal length; arrays of two dimensions become ``name_0``, ``name_1`` and so on."""
    import pyarrow as pa

    from fairarm.logs.engines import Arrow, check_zones

    rows = given.get("n_rounds")
    feedback = rows is not None and "action" in given
    name = "bandit feedback" if feedback else what
    columns: dict[str, Any] = {}
    for key, values in given.items():
        columns |= {} if feedback and not _of_length(values, rows) else _split(str(key), values)
    lengths = {key: len(values) for key, values in columns.items()}
    if len(set(lengths.values())) != 1:
        raise DataError(one_line(f"{name}: columns need one length; got {lengths}."))
    for key, values in columns.items():
        if getattr(values, "dtype", "O") == "O" and not isinstance(values, pa.Array | pa.ChunkedArray):
            check_zones(key, values)
    with speaking(f"{name}: not a table", DataError, "Give each column values of one type."):
        return LogTable(name, "pyarrow", Arrow(pa.table(columns)))


def _of_length(values: Any, rows: Any) -> bool:
    """Whether this entry of a bandit feedback is about its rounds: not a number, None or a table of actions."""
    shape: tuple[int, ...] = getattr(values, "shape", ())
    return len(shape) in (1, 2) and shape[0] == rows


def _split(name: str, values: Any) -> dict[str, Any]:
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise DataError(one_line(f"Column '{name}' is a {type(values).__name__}; a sequence of values is needed."))
    shape: tuple[int, ...] = getattr(values, "shape", (len(values),))
    if len(shape) == 1:
        return {name: values}
    if len(shape) == 2:
        return {f"{name}_{i}": values[:, i] for i in range(shape[1])}
    raise DataError(f"Column '{name}' has {len(shape)} dimensions; 1 or 2 are read.")


# ---- databases ----


def _from_url(url: str) -> LogTable:
    try:
        parts = urlsplit(url)
        known = parts.scheme.partition("+")[0] in SCHEMES
        options = dict(parse_qsl(parts.query))
        _ = parts.port
    except ValueError:
        parts, known, options = SplitResult("", "", "", "", ""), False, {}
    if not known:
        scheme = url.partition("://")[0]
        text = f"A log at '{scheme}://' cannot be read. Known: sqlite:///file.db?table=name and "
        text += "postgresql://user:password@host:port/database?table=name. Fetch files first, and give their path."
        raise OptionError(one_line(text))
    table = options.pop("table", None)
    if parts.scheme == "sqlite":
        return _from_sqlite(parts, table, options)
    return _from_postgresql(parts, table, options)


def _from_sqlite(parts: SplitResult, table: str | None, options: dict[str, str]) -> LogTable:
    """The file is opened for reading only. Its times are text. A view may be endless: a question to it has a time limit."""
    import sqlite3

    ibis = require("ibis", "sql")
    path = Path(unquote(parts.path.removeprefix("/"))).expanduser()
    name = f"sqlite:///{path}"
    if parts.netloc or not path.name:
        raise OptionError(f"{name}: write sqlite:///file.db, or sqlite:////folder/file.db from the root.")
    if not path.is_file():
        raise ReadError(one_line(f"{name}: no such file. Check the path and the folder it starts from."))
    with speaking(name, ReadError), ExitStack() as opened:
        connection = opened.enter_context(closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)))
        found = _table(ibis.sqlite.from_connection(connection), name, table, None)
        views = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'view' AND name = ?", (found.get_name(),))
        if views.fetchone() is not None:
            _limit(connection, options.get("seconds"))
        times = [column for column, kind in found.schema().items() if kind.is_temporal()]
        text = found.mutate(**{column: found[column].cast("string") for column in times})
        return _database(f"{name}?table={found.get_name()}", text, opened)


def _limit(connection: Any, seconds: str | None) -> None:
    """Interrupt a question that takes more processor time than this."""
    try:
        most = VIEW_SECONDS if seconds is None else float(seconds)
    except ValueError:
        raise OptionError(one_line(f"seconds in the URL is '{seconds}'; a number is needed, such as 60.")) from None
    started = [process_time(), process_time()]

    def over() -> bool:
        """Called every STEPS steps: a pause between two calls is the end of a question."""
        now = process_time()
        if now - started[1] > PAUSE:
            started[0] = now
        started[1] = now
        return now - started[0] > most

    connection.set_progress_handler(over, STEPS)


def _from_postgresql(parts: SplitResult, table: str | None, options: dict[str, str]) -> LogTable:
    ibis = require("ibis", "sql")
    require("psycopg", "sql")
    database = unquote(parts.path.removeprefix("/"))
    user = unquote(parts.username or "")
    where = f"{parts.hostname or ''}" + (f":{parts.port}" if parts.port else "")
    name = f"postgresql://{user}@{where}/{database}" if user else f"postgresql://{where}/{database}"
    with speaking(name, ReadError, "Check the address, the user, the password and the database."):
        backend = ibis.postgres.connect(
            host=parts.hostname,
            port=parts.port or 5432,
            user=user or None,
            password=unquote(parts.password) if parts.password else None,
            database=database or None,
            **({"connect_timeout": str(SECONDS)} | options),
        )
    with speaking(name, ReadError), ExitStack() as opened:
        opened.callback(backend.con.close)
        backend.con.execute("SET default_transaction_read_only = on")
        schema, _, bare = (table or "").rpartition(".")
        found = _table(backend, name, bare or None, schema or None)
        return _database(f"{name}?table={table or found.get_name()}", found, opened)


def _table(backend: Any, name: str, table: str | None, schema: str | None) -> Any:
    """The named table, or the only one."""
    tables = sorted(backend.list_tables(database=schema) if schema else backend.list_tables())
    listed = f"Tables: {', '.join(tables)}." if tables else "There are none."
    if table is None and len(tables) != 1:
        raise OptionError(one_line(f"{name}: say which table, as in ?table=name. {listed}"))
    chosen = tables[0] if table is None else table
    if chosen not in tables:
        raise ReadError(one_line(f"{name}: there is no table '{chosen}'. {listed}"))
    return backend.table(chosen, database=schema) if schema else backend.table(chosen)


def _database(name: str, table: Any, opened: ExitStack) -> LogTable:
    """The table; its connection is closed when nobody uses it any more."""
    from fairarm.logs.engines import Ibis

    held = Ibis(table)
    log = LogTable(name, "ibis", held)
    finalize(held, _closed, opened.pop_all())
    return log


def _closed(opened: ExitStack) -> None:
    """A connection that is gone already, or belongs to another thread, is no one's trouble."""
    with suppress(Exception):
        opened.close()
