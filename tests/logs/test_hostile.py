"""Logs that would take for ever, or all memory: one line, soon."""

from __future__ import annotations

import gzip
import os
import sqlite3
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairarm.errors import DataError, FairarmError, OptionError, ReadError
from fairarm.logs import files, sources
from fairarm.logs.sources import open_log


@pytest.fixture
def endless(tmp_path: Path) -> str:
    with sqlite3.connect(tmp_path / "log.db") as connection:
        connection.execute(
            "CREATE VIEW log AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
        )
        connection.execute(
            "CREATE VIEW fine AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 9) SELECT x FROM n"
        )
    connection.close()
    return f"sqlite:///{tmp_path / 'log.db'}?table="


@pytest.mark.parametrize("ask", ["rows", "counts", "batches"])
def test_an_endless_view_is_interrupted(endless: str, ask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "VIEW_SECONDS", 0.3)
    asked: dict[str, Any] = {
        "rows": lambda log: log.rows(),
        "counts": lambda log: log.counts(["x"]),
        "batches": lambda log: log.duplicates("x"),
    }
    started = time.process_time()
    with pytest.raises(DataError, match=r"took too long, and may be endless\. Allow more with &seconds=60"):
        asked[ask](open_log(endless + "log"))
    assert time.process_time() - started < 30
    with pytest.raises(OptionError, match="seconds"):
        open_log(endless + "log&seconds=soon")
    assert open_log(endless + "fine&seconds=60").rows() == 9


def test_pipes_and_devices_are_not_logs(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log.csv")
    for path in (tmp_path / "log.csv", Path("/dev/zero")):
        with pytest.raises(ReadError, match="not a regular file"):
            open_log(path)


@pytest.mark.parametrize("name", ["cut.parquet", "wide.parquet", "long.csv", "bomb.csv.gz", "wide.jsonl"])
def test_broken_and_oversized_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "cut.parquet":
        pq.write_table(pa.table({"a": list(range(1000))}), path)
        path.write_bytes(path.read_bytes()[:-100])
    elif name == "wide.parquet":
        pq.write_table(pa.table({f"c{i}": [1] for i in range(6000)}), path)
    elif name == "long.csv":
        path.write_bytes(b"a,b\n1,2\n" + b"x" * (20 << 20))
    elif name == "bomb.csv.gz":
        path.write_bytes(gzip.compress(b"a,b\n1,2\n" + b"0" * (20 << 20)))
    else:
        path.write_text("{" + ", ".join(f'"c{i}": 1' for i in range(6000)) + "}\n")
    with pytest.raises(FairarmError) as caught:
        open_log(path).counts(["a"])
    assert "\n" not in str(caught.value) and len(str(caught.value)) <= 400


@pytest.mark.xdist_group("servers")
def test_a_cluster_without_workers_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    (tmp_path / "log.csv").write_text("a\n1\n")
    monkeypatch.setattr(files, "SECONDS", 5)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0", protocol="tcp") as cluster,
        pytest.raises(ReadError, match=r"has no workers, and none came within 5 s"),
    ):
        open_log(tmp_path / "log.csv", engine=cluster.scheduler_address.replace("tcp://", "dask://"))
