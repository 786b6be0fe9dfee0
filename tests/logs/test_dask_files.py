"""Files as Dask frames: how they are divided among workers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairarm.logs import dask_files
from fairarm.logs.files import find_files
from fairarm.logs.schemas import agree, parquet_kinds


def test_a_parquet_file_is_divided_among_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the size of its values, not of the file: by default Dask would read all of it in one task."""
    rng, path = np.random.default_rng(1), tmp_path / "log.parquet"
    rows = pa.table({"x": rng.random(400_000), "y": np.zeros(400_000)})
    pq.write_table(rows, path, row_group_size=50_000)
    files = find_files([path])
    found = agree(parquet_kinds(files.paths))
    assert dask_files.parquet_frame(files, found).npartitions == 1
    monkeypatch.setattr(dask_files, "PARQUET_BLOCK", 1 << 20)
    divided = dask_files.parquet_frame(files, found)
    assert 3 <= divided.npartitions <= 8
    assert divided["x"].compute().to_numpy().tolist() == rows["x"].to_pylist()
    assert dask_files.PARQUET_BLOCK < dask_files.BLOCK == 64 << 20
