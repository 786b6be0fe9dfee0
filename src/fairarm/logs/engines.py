"""Tables where they live: each engine hands out a lazy frame, collects its result, and streams rows in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals.stable.v2 as nw

from fairarm.errors import DataError, one_line
from fairarm.logs.gathering import AT_ONCE, Tick, Work, add_table, by_dask, by_spark, sending

if TYPE_CHECKING:
    import pyarrow as pa

Frame: TypeAlias = nw.LazyFrame[Any]
Transform: TypeAlias = Callable[[Frame], Frame]


class Engine:
    """A frame that narwhals knows. What it streams is collected first; the engines below stream in bounded memory."""

    streams_here = True
    """Rows that are gathered are read by this process."""
    asked_for = AT_ONCE
    """Rows that are asked for at a time, to be gathered."""
    again: Callable[[], Any] | None = None
    """Makes the same table on a connection of its own."""

    def __init__(self, native: Any, *, disputed: Mapping[str, str] | None = None, **collecting: Any) -> None:
        self.native = native
        self.collecting = collecting
        self.disputed = disputed or {}
        """Columns that cannot be used, and why."""

    def columns(self) -> tuple[str, ...]:
        """The names of the table's columns, without reading a row."""
        return tuple(nw.from_native(self.native).lazy().collect_schema().names())

    def lazy(self, columns: Sequence[str]) -> Frame:
        """The named columns."""
        frame: Frame = nw.from_native(self.native).lazy()
        return frame.select(*columns)

    def changed(self, transform: Transform) -> Engine:
        """The table that a query makes of this one."""
        twin = copy(self)
        twin.native, twin.again = transform(nw.from_native(self.native).lazy()).to_native(), None
        return twin

    def collect(self, frame: Frame) -> pa.Table:
        """The result, here. An index that pandas adds is dropped."""
        names = frame.collect_schema().names()
        return frame.collect(**self.collecting).to_arrow().select(names)

    def stream(self, columns: Sequence[str], transform: Transform, rows: int) -> Iterator[pa.Table]:
        """All rows, in tables of at most ``rows``."""
        yield from _pieces(self.collect(transform(self.lazy(columns))), rows)

    def gathered(
        self,
        columns: Sequence[str],
        transform: Transform,
        start: Callable[[], Any],
        tick: Tick | None,
        rows: Callable[[], int],
    ) -> Any:
        """What ``start`` makes, once it has seen all rows; here they are streamed. ``rows`` says how many there are."""
        found, done, total = start(), 0, 0 if tick is None else rows()
        for table in self.stream(columns, transform, self.asked_for):
            for part in _pieces(table, AT_ONCE):
                add_table(found, part)
                done += len(part)
                if tick is not None:
                    tick(done, max(done, total))
        return found


class Arrow(Engine):
    """A pyarrow table: cut first, then transformed."""

    asked_for = 4 * AT_ONCE  # a query by narwhals costs as much on few rows as on many

    def lazy(self, columns: Sequence[str]) -> Frame:
        """The columns as a view; a table in memory has nothing to put off."""
        return self._part(columns, 0, len(self.native))

    def stream(self, columns: Sequence[str], transform: Transform, rows: int) -> Iterator[pa.Table]:
        """Slices of the table, each transformed by itself."""
        for start in range(0, len(self.native), rows):
            yield self.collect(transform(self._part(columns, start, rows)))

    def _part(self, columns: Sequence[str], start: int, rows: int) -> Frame:
        frame: Frame = nw.from_native(self._arrow(columns, start, rows)).lazy()
        return frame

    def _arrow(self, columns: Sequence[str], start: int, rows: int) -> pa.Table:
        return self.native.select(list(columns)).slice(start, rows).unify_dictionaries()


class Pandas(Arrow):
    """A pandas frame, by way of Arrow: there a column has one type, and a null is not a NaN."""

    def _arrow(self, columns: Sequence[str], start: int, rows: int) -> pa.Table:
        import pyarrow as pa

        part = self.native[list(columns)].iloc[start : start + rows]
        for name in columns:
            if part[name].dtype == object:
                check_zones(name, part[name])
        try:
            return pa.Table.from_pandas(part, preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            reason = str(error.args[-1])
            text = f"A column holds values of more than one type ({reason}). Convert it to one, as with astype(str)."
            raise DataError(one_line(text)) from None


def check_zones(name: str, values: Iterable[Any]) -> None:
    """Arrow takes a time without a zone for one in UTC where others have one."""
    zoned = {value.tzinfo is not None for value in values if isinstance(value, datetime) and value == value}
    if len(zoned) > 1:
        text = f"Column '{name}' holds times with a zone and times without one. Give all of them a zone, or none."
        raise DataError(one_line(text))


class DuckDB(Engine):
    """A DuckDB relation. ``again`` makes one on a connection of its own: a connection has one open result at a time."""

    def __init__(
        self, native: Any, again: Callable[[], Any] | None = None, disputed: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(_known_types(native), disputed=disputed)
        self.again = again

    def stream(self, columns: Sequence[str], transform: Transform, rows: int) -> Iterator[pa.Table]:
        """Batches as the query brings them forth, on a connection of its own where there is one."""
        import pyarrow as pa

        frame = self if self.again is None else DuckDB(self.again())
        with closing(transform(frame.lazy(columns)).to_native().to_arrow_reader(rows)) as reader:
            for batch in reader:
                yield pa.Table.from_batches([batch])


def _known_types(relation: Any) -> Any:
    """Times of nanoseconds with a zone, which narwhals does not know, in microseconds."""
    from duckdb import ColumnExpression

    columns = dict(zip(relation.columns, map(str, relation.types), strict=True))
    if "TIMESTAMPTZ_NS" not in columns.values():
        return relation
    each = {name: ColumnExpression(name) for name in columns}
    return relation.select(
        *(c.cast("TIMESTAMPTZ").alias(n) if columns[n] == "TIMESTAMPTZ_NS" else c for n, c in each.items())
    )


class Polars(Engine):
    """A Polars frame, eager or lazy; the lazy one streams."""

    def stream(self, columns: Sequence[str], transform: Transform, rows: int) -> Iterator[pa.Table]:
        """Batches in whatever order they come, which lets polars read several parts at once."""
        frame = transform(self.lazy(columns)).to_native()
        for part in frame.collect_batches(chunk_size=rows, maintain_order=False):
            yield from _pieces(part.to_arrow(), rows)


class Dask(Engine):
    """A Dask frame, read one partition after another."""

    streams_here = False

    def stream(self, columns: Sequence[str], transform: Transform, rows: int) -> Iterator[pa.Table]:
        """Partition by partition: no more than one is in memory."""
        import pyarrow as pa

        frame = transform(self.lazy(columns)).to_native()
        for i in range(frame.npartitions):
            part = frame.get_partition(i).compute(**self.collecting)
            yield from _pieces(pa.Table.from_pandas(part, preserve_index=False), rows)

    def gathered(
        self,
        columns: Sequence[str],
        transform: Transform,
        start: Callable[[], Any],
        tick: Tick | None,
        rows: Callable[[], int],
    ) -> Any:
        """By the workers, partition by partition: no row comes here."""
        frame = transform(self.lazy(columns)).to_native()
        with sending():
            return by_dask(frame, Work(start), self.collecting.get("scheduler"), tick)


class Spark(Engine):
    """A Spark frame; its rows come one partition after another."""

    streams_here = False

    def lazy(self, columns: Sequence[str]) -> Frame:
        """As the others, but a name with a dot is refused: Spark takes the dot for a field of a structure."""
        if dotted := [name for name in columns if "." in name]:
            text = (
                f"Column '{dotted[0]}': Spark takes a dot for a field of a structure. Rename the column in the frame."
            )
            raise DataError(one_line(text))
        return super().lazy(columns)

    def stream(self, columns: Sequence[str], transform: Transform, rows: int) -> Iterator[pa.Table]:
        """Rows as the driver receives them, gathered into parts."""
        import pyarrow as pa
        from pyspark.sql.pandas.types import to_arrow_schema

        frame = transform(self.lazy(columns)).to_native()
        schema = to_arrow_schema(frame.schema)
        found = frame.toLocalIterator()
        while part := list(islice(found, rows)):
            yield pa.Table.from_arrays(
                [pa.array(c, f.type) for c, f in zip(zip(*part, strict=True), schema, strict=True)], schema=schema
            )

    def gathered(
        self,
        columns: Sequence[str],
        transform: Transform,
        start: Callable[[], Any],
        tick: Tick | None,
        rows: Callable[[], int],
    ) -> Any:
        """By the executors, partition by partition: no row comes here."""
        with sending():
            return by_spark(transform(self.lazy(columns)).to_native(), Work(start), tick)


class Ibis(Engine):
    """An Ibis table: a query in the database where it lives."""

    def stream(self, columns: Sequence[str], transform: Transform, rows: int) -> Iterator[pa.Table]:
        """Batches from the database, by whichever way its driver does not read everything first."""
        import pyarrow as pa

        frame = transform(self.lazy(columns)).to_native()
        backend = frame.get_backend()
        if backend.name == "sqlite":  # whose to_pyarrow_batches reads everything first
            yield from _sqlite(backend, frame, rows)
            return
        if _in_memory(frame):
            yield from _pieces(frame.to_pyarrow(), rows)
            return
        if backend.name == "duckdb":  # whose to_pyarrow_batches wants a DuckDB before 2.0
            made = backend.con.cursor().sql(backend.compile(frame)).to_arrow_reader(rows)
        else:
            made = frame.to_pyarrow_batches(chunk_size=rows)
        with closing(made) as reader:
            for batch in reader:
                yield pa.Table.from_batches([batch])


def _in_memory(frame: Any) -> bool:
    """A table made of values here: it exists in the database only while Ibis itself runs a query."""
    from ibis.expr.operations import InMemoryTable

    return bool(frame.op().find(InMemoryTable))


def _sqlite(backend: Any, frame: Any, rows: int) -> Iterator[pa.Table]:
    import pyarrow as pa

    schema = frame.schema().to_pyarrow()
    with closing(backend.raw_sql(backend.compile(frame))) as cursor:
        while part := cursor.fetchmany(rows):
            entries = zip(zip(*part, strict=True), schema, strict=True)
            yield pa.Table.from_arrays([_typed(values, field.type) for values, field in entries], names=schema.names)


def _typed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """SQLite's values in the column's type: it has no booleans, and its columns hold what they like."""
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return pa.array([None if value is None else bool(value) for value in values], kind)
    return pa.array(values, kind)


def _pieces(table: pa.Table, rows: int) -> Iterator[pa.Table]:
    for start in range(0, len(table), rows):
        yield table.slice(start, rows)


KINDS: dict[str, type[Engine]] = {
    "pyarrow": Arrow,
    "pandas": Pandas,
    "duckdb": DuckDB,
    "polars": Polars,
    "dask": Dask,
    "pyspark": Spark,
    "pyspark[connect]": Spark,
    "ibis": Ibis,
}
"""Engines by the name that narwhals gives them; others are collected."""
