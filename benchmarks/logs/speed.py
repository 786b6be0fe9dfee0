"""Speed and memory of answers from logs, side by side with the bare work: ``python -m benchmarks.logs.speed`` writes speed.md.

Every ratio is of medians measured in turn in one run. Memory is the peak of a fresh process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from fairarm import Arm, Code, Evaluation, LogMap, Outcome, Problem, Scenario, Variable, evaluate, table

HERE = Path(__file__).parent
COLUMNS = ("S", "X", "V", "Y")
STATES = ("0", "1", "2")
REPEATS = 5


def counted_problem() -> Problem:
    """Two groups, six contexts, three decisions, six arms: 72 combinations of values."""
    rng = np.random.default_rng(1)
    laws = 0.7 * rng.dirichlet(np.ones(3), (6, 6)) + 0.1
    return Problem(
        name="counted",
        variables=[
            Variable("S", ("0", "1")), Variable("X", tuple("012345")), Variable("V", STATES), Variable("Y", ("0", "1")),
        ],
        graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.05,
        arms=[Arm("uniform", table("V", [], np.full(3, 1 / 3))), *(Arm(f"arm-{k}", table("V", ["X"], law)) for k, law in enumerate(laws))],
        deployed="uniform",
    )  # fmt: skip


def write_rows(path: Path, rows: int) -> None:
    """Random rows as DuckDB writes them: small integers, 122 880 rows a group."""
    import duckdb

    duckdb.execute("SELECT setseed(0.5)")
    duckdb.execute(
        f"COPY (SELECT (hash(i) % 2)::TINYINT AS S, (hash(i + 1e12::BIGINT) % 6)::TINYINT AS X, (hash(i + 2e12::BIGINT) % 3)::TINYINT AS V, "
        f"(hash(i + 3e12::BIGINT) % 2)::TINYINT AS Y FROM range({rows}) t(i)) TO '{path}' (FORMAT parquet)"
    )


def in_turn(calls: dict[str, Callable[[], Any]], repeats: int = REPEATS) -> dict[str, float]:
    """Median seconds of each call, all of them once a round."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            started = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in seconds.items()}


def peak_megabytes(path: Path) -> float:
    """Of a process that only evaluates, from Linux's own count: a child's ru_maxrss would start at its parent's."""
    code = (
        "from fairarm import evaluate; from benchmarks.logs.speed import counted_problem; "
        f"evaluate(counted_problem(), {str(path)!r}); print(open('/proc/self/status').read())"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return int(out.split("VmHWM:")[1].split()[0]) / 1024


def with_pandas(path: Path) -> Evaluation:
    """The same estimate with plain pandas: read everything, group, hand over the counts."""
    import pandas as pd

    counts = pd.read_parquet(path).groupby(list(COLUMNS)).size().reset_index(name="n")
    return evaluate(counted_problem(), counts, columns=LogMap(count="n"))


def _fetched(query: str) -> Any:
    import duckdb

    return duckdb.execute(query).fetchall()


def counted_lines(sizes: list[int], folder: Path) -> list[str]:
    lines = []
    for rows in sizes:
        path = folder / f"{rows}.parquet"
        write_rows(path, rows)
        sums = ", ".join(f"sum({name})" for name in COLUMNS)
        bare = partial(_fetched, f"SELECT {sums} FROM read_parquet('{path}')")
        calls: dict[str, Callable[[], Any]] = {"bare": bare, "ours": partial(evaluate, counted_problem(), path)}
        if rows <= 10**7:
            calls["pandas"] = partial(with_pandas, path)
        took = in_turn(calls)
        pandas = f"{took['pandas'] / took['ours']:.1f} × ours" if "pandas" in took else "not run"
        lines.append(
            f"| {rows:,} | {took['bare']:.2f} s | {took['ours']:.2f} s | **{took['ours'] / took['bare']:.2f}** (bar 3) | "
            f"{peak_megabytes(path):.0f} MB (bar 500) | {pandas} |"
        )
        path.unlink()
    return lines


# ---- row by row ----


def forest_arms(kind: str, rows: int) -> tuple[Scenario, dict[str, Any], Callable[[], None]]:
    """Classifiers on five real inputs and the group; and their bare predict_proba over the same parts."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(2)
    inputs = ("S", *(f"x{i}" for i in range(5)))
    features = np.column_stack([rng.integers(0, 2, rows), rng.normal(size=(rows, 5)).clip(-6, 6)])
    models = []
    for _ in range(5):
        model = (
            RandomForestClassifier(20, max_depth=6, random_state=1)
            if kind == "random forests"
            else LogisticRegression()
        )
        models.append(
            model.fit(features[:5000], rng.random(5000) < 1 / (1 + np.exp(-features[:5000] @ rng.normal(size=6))))
        )
    variables = [
        Variable("S", ("0", "1")),
        *(Variable(x, low=-6, high=6) for x in inputs[1:]),
        Variable("V", ("False", "True")),
    ]
    arms = [
        Arm.from_classifier(f"m{k}", m, learned_from=None, decision="V", inputs=inputs, variables=variables)
        for k, m in enumerate(models)
    ]
    edges = [("V", "Y"), *((x, y) for x in inputs[1:] for y in ("V", "Y")), ("S", "V"), ("S", "Y")]
    problem = Problem(
        name="streamed", variables=[*variables, Variable("Y", ("0", "1"))], graph=edges, sensitive="S", decision="V",
        outcome=Outcome("Y", values=(0, 1)), tolerance=0.05, arms=arms,
    )  # fmt: skip
    columns = {name: features[:, i] if i else features[:, 0].astype(int) for i, name in enumerate(inputs)}
    columns |= {"V": rng.random(rows) < 0.5, "Y": rng.integers(0, 2, rows), "p": np.full(rows, 0.5)}

    def bare() -> None:
        for start in range(0, rows, 1 << 16):
            for model in models:
                model.predict_proba(features[start : start + (1 << 16)])

    return Scenario(problem, columns=LogMap(propensity="p")), columns, bare


def density_arms(rows: int) -> tuple[Scenario, dict[str, Any], Callable[[], None]]:
    """Beta densities of a real decision whose shape depends on the group; and their bare log-densities."""
    from scipy import stats

    rng = np.random.default_rng(3)
    shapes = rng.uniform(1.0, 4.0, (5, 2, 2))

    def log_density(k: int, columns: Any) -> Any:
        a, b = shapes[k][columns["S"]].T
        return stats.beta.logpdf(columns["V"], a, b)

    s = rng.integers(0, 2, rows)
    v = rng.beta(*shapes[0][s].T)
    problem = Problem(
        name="densities", variables=[Variable("S", ("0", "1")), Variable("V", low=0, high=1), Variable("Y", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")], sensitive="S", decision="V", outcome=Outcome("Y", values=(0, 1)), tolerance=0.05,
        arms=[Arm(f"beta-{k}", Code("V", ("S",), partial(log_density, k))) for k in range(5)], deployed="beta-0",
    )  # fmt: skip
    columns = {"S": s, "V": v, "Y": (rng.random(rows) < v).astype(int)}

    def bare() -> None:
        for start in range(0, rows, 1 << 16):
            part = {"S": s[start : start + (1 << 16)], "V": v[start : start + (1 << 16)]}
            for k in range(5):
                log_density(k, part)

    return Scenario(problem), columns, bare


def streamed_lines(rows: int, folder: Path) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    lines = []
    kinds: dict[str, Callable[[], tuple[Scenario, dict[str, Any], Callable[[], None]]]] = {
        "five random forests, predict_proba": lambda: forest_arms("random forests", rows),
        "five logistic regressions, predict_proba": lambda: forest_arms("logistic", rows),
        "five beta densities, logpdf": lambda: density_arms(rows),
    }
    for kind, make in kinds.items():
        scenario, columns, bare = make()
        path = folder / "rows.parquet"
        pq.write_table(pa.table(columns), path)
        took = in_turn({"bare": bare, "ours": partial(evaluate, scenario, path)}, 3)
        micro = 1e6 * (took["ours"] - took["bare"]) / rows
        lines.append(
            f"| {kind} | {took['bare']:.2f} s | {took['ours']:.2f} s | {took['ours'] / took['bare']:.2f} | {micro:.1f} µs |"
        )
    return lines


# ---- other engines ----


def engine_lines(rows: int, folder: Path) -> list[str]:
    """Dask with two workers and Spark here: the time, and the largest difference from the embedded answer."""
    from dask.distributed import LocalCluster
    from pyspark.sql import SparkSession

    path = folder / "engines.parquet"
    write_rows(path, rows)
    here = numbers(evaluate(counted_problem(), path))
    lines = []
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        lines.append(_engine_line("Dask, two workers", lambda: evaluate(counted_problem(), path, engine=address), here))
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    lines.append(_engine_line("Spark, local", lambda: evaluate(counted_problem(), spark.read.parquet(str(path))), here))
    spark.stop()
    return lines


def _engine_line(name: str, call: Callable[[], Evaluation], here: np.ndarray) -> str:
    started = time.perf_counter()
    found = numbers(call())
    return f"| {name} | {time.perf_counter() - started:.1f} s | {np.abs(found - here).max():.1g} |"


def numbers(found: Evaluation) -> np.ndarray:
    """Every number of every arm."""
    flat: list[float] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for item in value.values():
                walk(item)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            flat.append(float(value))

    for arm in found.arms:
        walk(asdict(arm))
    return np.array(flat)


TEXT = """# Speed of answers from logs

Made by `python -m benchmarks.logs.speed` ({machine}). Ratios of medians measured in turn in one run.

## Finite columns: counted in the engine

Six contexts, three decisions, seven arms; a Parquet file of four small-integer columns. *Bare* is `SELECT sum(…)` over the same
columns in DuckDB. Without a row id there is no look for duplicates. *pandas* reads the file, groups it, and does the same estimate.

| rows | bare DuckDB | evaluate | ratio | peak memory | plain pandas |
|---|---|---|---|---|---|
{counted}

## Anything else: row by row

{streamed_rows:,} rows of a Parquet file, five arms, read twice in parts of 65 536 rows. *Bare* is the models alone, over arrays in memory. The
last column is what everything around the models costs a row; with models that take next to no time it is all there is.

| arms | bare | evaluate | ratio | the rest, a row |
|---|---|---|---|---|
{streamed}

## Other engines

{engine_rows:,} rows; the largest difference of any number of any arm from the embedded engine.

| engine | evaluate | largest difference |
|---|---|---|
{engines}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", type=lambda text: [int(float(part)) for part in text.split(",")], default=[10**7, 10**8]
    )
    parser.add_argument("--streamed", type=lambda text: int(float(text)), default=10**6)
    parser.add_argument("--engines", type=lambda text: int(float(text)), default=10**6)
    parser.add_argument("--out", type=Path, default=HERE / "speed.md")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        made = {
            "counted": "\n".join(counted_lines(asked.rows, Path(folder))),
            "streamed": "\n".join(streamed_lines(asked.streamed, Path(folder))),
            "engines": "\n".join(engine_lines(asked.engines, Path(folder))),
        }
    text = TEXT.format(machine="two cores", streamed_rows=asked.streamed, engine_rows=asked.engines, **made)
    asked.out.write_text(text, encoding="utf-8")
    print(json.dumps(made, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
