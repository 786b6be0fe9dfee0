"""Files as Dask frames, with the same columns, types and strictness as by DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairarm.logs.csv_files import header, parsed
from fairarm.logs.json_lines import framed, kinds_of, types_of
from fairarm.logs.schemas import Agreement, arrow_type, check_names

if TYPE_CHECKING:
    from fairarm.logs.files import Files

BLOCK, PARQUET_BLOCK = 64 << 20, 32 << 20
"""Bytes of text that a task reads, and of the values of a Parquet file, which may be many times what the file takes: by default Dask takes eight
times as much, and a log of millions of rows was read by one worker while the others looked on."""


def parquet_frame(files: Files, found: Agreement) -> Any:
    """Parquet: as it is where all files are alike, else one row group per task, its columns in the types agreed on."""
    import dask.dataframe as dd
    import pyarrow.parquet as pq

    if len(found.parts) == 1 and not found.disputed and not files.folders:
        return dd.read_parquet(files.exact, dtype_backend="pyarrow", blocksize=PARQUET_BLOCK)
    pieces: list[tuple[str, int | None]] = []
    for path in files.paths:
        with pq.ParquetFile(path) as file:
            pieces += [(path, group) for group in range(file.num_row_groups)] or [(path, None)]
    names = tuple(dict.fromkeys([*found.columns, *files.folders]))
    whole = _RowGroups(names, found.promoted, files.folders)
    return dd.from_map(whole, pieces, meta=whole((files.paths[0], None)), enforce_metadata=False)


class _RowGroups:
    """Reads a row group of a file, or none of its rows, as a pandas frame."""

    def __init__(self, names: tuple[str, ...], promoted: dict[str, str], folders: tuple[str, ...]) -> None:
        self.names, self.promoted, self.folders = names, promoted, folders

    def __call__(self, piece: tuple[str, int | None], columns: list[str] | None = None) -> Any:
        import pandas as pd
        import pyarrow as pa
        import pyarrow.parquet as pq

        from fairarm.logs.files import folder_values

        path, group = piece
        names = [name for name in self.names if columns is None or name in columns]
        stored = [name for name in names if name not in self.folders]
        with pq.ParquetFile(path) as file:
            rows = file.schema_arrow.empty_table() if group is None else file.read_row_group(group, columns=stored)
        made = {}
        for name in names:
            if name in self.folders:
                made[name] = pa.array([folder_values(path)[name]] * len(rows), pa.string())
                continue
            column = rows[name].cast(rows.schema.field(name).type)
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            kind = self.promoted.get(name)
            made[name] = (
                column if kind is None else column.cast(arrow_type(kind), safe=kind not in ("time", "zoned time"))
            )
        return pa.table(made).to_pandas(types_mapper=pd.ArrowDtype)


def csv_frame(files: Files, found: Agreement) -> Any:
    """CSV: all text, a block of lines a task."""
    import dask.dataframe as dd
    from dask.bytes.core import read_bytes
    from dask.delayed import delayed

    packed = {"compression": "gzip", "blocksize": None} if files.packed else {"blocksize": BLOCK}
    _, blocks = read_bytes(list(files.exact), delimiter=b"\n", sample=False, **packed)
    columns, parts = list(found.columns), []
    for path, of_file in zip(files.paths, blocks, strict=True):
        head = header(path)
        for i, block in enumerate(of_file):
            parts.append(delayed(_text)(block, head, columns, i == 0, path, files.folders))
    meta = _text(b"", header(files.paths[0]), columns, False, files.paths[0], files.folders)
    return dd.from_delayed(parts, meta=meta, verify_meta=False)


def _text(block: bytes, head: Any, columns: list[str], first: bool, path: str, folders: tuple[str, ...]) -> Any:
    return _with_folders(parsed(block, head, columns, first), path, folders)


def _with_folders(frame: Any, path: str, folders: tuple[str, ...]) -> Any:
    """With the columns that the folders' names hold."""
    import pandas as pd

    from fairarm.logs.files import folder_values

    values = folder_values(path) if folders else {}
    for name in folders:
        frame[name] = pd.array([values[name]] * len(frame), dtype="string[pyarrow]")
    return frame


def json_frame(files: Files, scheduler: Any) -> Any:
    """JSON lines, each part parsed on its own into types found from all rows."""
    import dask.bag as db
    import dask.dataframe as dd
    from dask.base import compute
    from dask.delayed import delayed

    by_path: list[tuple[str, Any]] = []
    for path, exact in zip(files.paths, files.exact, strict=True):
        lines = db.read_text(exact, blocksize=None if files.packed else BLOCK)
        by_path += [(path, part) for part in lines.to_delayed()]
    kinds = compute(*(delayed(kinds_of)(part) for _, part in by_path), scheduler=scheduler)
    types = types_of(kinds)
    check_names(files.name, tuple(types))
    parts = [delayed(_lines)(part, types, path, files.folders) for path, part in by_path]
    return dd.from_delayed(parts, meta=_lines([], types, files.paths[0], files.folders), verify_meta=False)


def _lines(lines: Any, types: dict[str, str], path: str, folders: tuple[str, ...]) -> Any:
    return _with_folders(framed(lines, types), path, folders)
