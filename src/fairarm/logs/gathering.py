"""One pass over the rows of a log, wherever they are: each part is gathered by itself, and what comes back is merged.

On one machine the parts are those in which rows are read. A Dask or Spark cluster gathers each partition where it lies and
merges in a tree; no row comes here. What is sent back are arrays of numbers and text (`core/packed.py`), and a task that is run
again after a worker was lost sends the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fairarm import errors
from fairarm.core.packed import Arrays, packed, unpacked
from fairarm.errors import DataError, FairarmError, one_line
from fairarm.logs import values as plain

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 1 << 16
"""Rows of a part that are gathered at once."""
WATCHED = 64
"""Pieces of work of which a progress bar is told as they end, where a cluster has more partitions."""
FAN = 8
"""What is merged into one in a step of the tree."""
LOOK = 0.5
"""Seconds between two looks at how far Spark is."""
ERROR = "error"

Tick = Callable[[int, int], None]
"""What is done, and of how much."""


class Gathering(Protocol):
    """What is gathered of the rows of a table."""

    def add(self, raw: dict[str, NDArray[Any]], /) -> None:
        """More rows, by column."""

    def merge_arrays(self, sent: Arrays, /) -> None:
        """What another part has sent."""

    def arrays(self) -> Arrays:
        """What is sent of this part."""


@dataclass(frozen=True)
class Work:
    """What is done with every part. ``start`` makes what gathers its rows."""

    start: Callable[[], Any]

    def gathered(self, tables: Iterable[pa.Table]) -> bytes:
        """All rows of a part. What is wrong with them, or with a model, is sent back to be said there."""
        try:
            found = self.start()
            for table in tables:
                add_table(found, table)
            return packed(found.arrays())
        except FairarmError as error:
            return packed({ERROR: np.array([type(error).__name__, str(error)])})

    def merged(self, sent: Iterable[bytes]) -> bytes:
        """What several parts have sent, as one."""
        found = self.start()
        for each in sent:
            if ERROR in (arrays := unpacked(each)):
                return each
            found.merge_arrays(arrays)
        return packed(found.arrays())

    def here(self, sent: Iterable[bytes]) -> Any:
        """What all parts have sent."""
        found = self.start()
        for each in sent:
            arrays = unpacked(each)
            if ERROR in arrays:
                raise _said(*arrays[ERROR].tolist())
            found.merge_arrays(arrays)
        return found


def add_table(found: Gathering, table: pa.Table) -> None:
    """The rows of an Arrow table, some at a time."""
    for start in range(0, len(table), AT_ONCE):
        part = table.slice(start, AT_ONCE)
        found.add({name: plain.to_numpy(name, part[name]) for name in part.column_names})


def _said(kind: str, text: str) -> FairarmError:
    """The error of a part, of the kind that it was."""
    known = getattr(errors, kind, DataError)
    made = known if isinstance(known, type) and issubclass(known, FairarmError) else DataError
    return made(text)


@contextmanager
def sending() -> Iterator[None]:
    """What an engine says where an arm's code cannot be sent to its workers, with the way out."""
    try:
        yield
    except FairarmError:
        raise
    except Exception as error:
        said = f"{type(error).__name__} {error}".lower()
        if "pickl" not in said and "serializ" not in said:
            raise
        why = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        raise DataError(
            one_line(
                f"An arm's model or function cannot be sent to the workers ({why[0].rstrip('.')}). Make it of parts that can be pickled, without locks, "
                f"files or connections, or read the log here: leave out the engine, or hand over a frame of this process."
            )
        ) from None


# ---- Dask ----


def by_dask(frame: Any, work: Work, scheduler: Any, tick: Tick | None) -> Any:
    """Every partition of a Dask frame by itself, then merged in a tree on the workers."""
    from dask.base import compute
    from dask.delayed import delayed

    shared = delayed(work, traverse=False)  # one object that tasks name, not a copy of all models in each of them
    made = frame.map_partitions(_of_partition, shared, meta=("part", "object"), enforce_metadata=False)
    parts = made.to_delayed()
    size = -(-len(parts) // WATCHED)
    watched = [delayed(_merged)(shared, group) for group in _groups(parts, size)] if size > 1 else list(parts)
    client = _client(scheduler)
    if client is None:
        with _told(tick, watched):
            return work.here(compute(*watched, scheduler=scheduler))
    level = _completed(client, watched, tick)
    while len(level) > FAN:
        level = client.compute([delayed(_merged)(shared, group) for group in _groups(level, FAN)])
    return work.here(client.gather(level))


def _of_partition(frame: Any, work: Work) -> bytes:
    import pyarrow as pa

    return work.gathered([pa.Table.from_pandas(frame, preserve_index=False)])


def _merged(work: Work, sent: Sequence[bytes]) -> bytes:
    return work.merged(sent)


def _groups(parts: Sequence[Any], size: int) -> list[list[Any]]:
    return [list(parts[start : start + size]) for start in range(0, len(parts), size)]


def _client(scheduler: Any) -> Any:
    """The cluster that a frame is computed on, if it is one."""
    if scheduler is not None:
        return scheduler if hasattr(scheduler, "gather") else None
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


def _completed(client: Any, watched: list[Any], tick: Tick | None) -> list[Any]:
    """Futures of all of them, once they are done."""
    from distributed import as_completed

    futures = client.compute(watched)
    for done, _ in enumerate(as_completed(futures, loop=client.loop), start=1):
        if tick is not None:
            tick(done, len(futures))
    return list(futures)


def _told(tick: Tick | None, watched: list[Any]) -> Any:
    """A progress bar is told as pieces end, on the threads of this process."""
    from dask.callbacks import Callback

    keys, ended = {each.key for each in watched}, []

    def after(key: Any, *_: Any) -> None:
        if tick is not None and key in keys:
            ended.append(key)
            tick(len(ended), len(keys))

    return Callback(posttask=after)


# ---- Spark ----


def by_spark(frame: Any, work: Work, tick: Tick | None) -> Any:
    """Every partition of a Spark frame by itself; many are merged where they are before they come."""
    with warnings.catch_warnings(), _Watching(frame, tick):
        # PySpark warns of pandas 3 wherever Arrow is used; no pandas is used here
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        made = frame.mapInArrow(_Part(work), "part binary")
        if _partitions(frame) > WATCHED:
            made = made.repartition(WATCHED).mapInArrow(_Merge(work), "part binary")
        return work.here(bytes(row[0]) for row in made.collect())


def _partitions(frame: Any) -> int:
    """How many partitions a frame has; by Spark Connect, which does not say, many."""
    try:
        return int(frame.rdd.getNumPartitions())
    except Exception:
        return WATCHED + 1


@dataclass(frozen=True)
class _Part:
    """From the record batches of a partition to one line of bytes."""

    work: Work

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        yield _line(self.work.gathered(_joined(pa.Table.from_batches([batch]) for batch in batches)))


@dataclass(frozen=True)
class _Merge:
    """From lines of bytes to one."""

    work: Work

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        yield _line(self.work.merged(each.as_py() for batch in batches for each in batch.column(0)))


def _joined(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Spark hands out 10 000 rows at a time; models are asked about more of them."""
    import pyarrow as pa

    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(map(len, held)) >= AT_ONCE:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def _line(sent: bytes) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([sent], pa.binary())], names=["part"])


class _Watching:
    """Tells a progress bar how many tasks of the running stage are done, as long as Spark works."""

    def __init__(self, frame: Any, tick: Tick | None) -> None:
        self.frame, self.tick, self.ended = frame, tick, Event()

    def __enter__(self) -> None:
        if self.tick is not None:
            self.thread = Thread(target=self._look, daemon=True)
            self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        if self.tick is not None:
            self.thread.join()

    def _look(self) -> None:
        try:
            tracker = self.frame.sparkSession.sparkContext.statusTracker()
        except Exception:
            return  # Spark Connect has none; it shows its own
        while not self.ended.wait(LOOK):
            stages = [stage for i in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(i)) is not None]
            if stages and self.tick is not None:
                self.tick(sum(s.numCompletedTasks for s in stages), sum(s.numTasks for s in stages))
