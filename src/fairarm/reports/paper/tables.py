"""Results and instances as tables: CSV for people, Parquet for programs. No dates, no seconds: same results, same bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairarm.experiments.paper.instances import Instance
from fairarm.experiments.paper.run import FinishedPoint
from fairarm.files import write_whole

COMPRESSION = "zstd"
TEXT = ("experiment", "setting", "algorithm", "reading")
WHOLE = ("pulls", "instances", "runs", "errors")
"""Columns of the results by type; all others are floats."""


def write_results(evidence: Sequence[FinishedPoint], folder: Path) -> None:
    """results.csv and results.parquet, one row a point, in the plan's order."""
    rows = [found.row() for found in evidence]
    write_csv(rows, folder / "results.csv")
    _write_parquet(rows, folder / "results.parquet")


def write_instances(instances: Sequence[Instance], folder: Path) -> None:
    """One row per instance, to ``instances.csv`` in the folder."""
    write_csv([instance.row() for instance in instances], folder / "instances.csv")


def write_csv(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Floats in the shortest form that reads back as the same number; nothing where there is no value."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue(), "table")


def _write_parquet(rows: Sequence[dict[str, Any]], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = list(rows[0]) if rows else []
    kinds = {**dict.fromkeys(TEXT, pa.string()), **dict.fromkeys(WHOLE, pa.int64())}
    schema = pa.schema([pa.field(name, kinds.get(name, pa.float64()), nullable=False) for name in names])
    data = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), data, compression=COMPRESSION, version="2.6")
    write_whole(path, data.getvalue(), "table")
