"""The servers that the log tests need, one of each a session: Spark here, and a Dask cluster."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A Spark session of two threads that tries a task four times, without its web page, its progress bar and most of its log."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.fail("These tests need Java 17 for Spark: install it (Debian: openjdk-17-jre-headless).")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
        "spark.sql.codegen.wholeStage": "false",  # compiling takes longer than these few rows
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.memory": "512m",
        "spark.log.level": "ERROR",
    }
    session = SparkSession.builder.master("local[2,4]").appName("fairarm tests").config(map=settings).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def dask_cluster() -> Iterator[str]:
    """``dask://host:port`` of a Dask cluster of two worker processes."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address.replace("tcp://", "dask://")
