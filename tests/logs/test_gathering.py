"""Logs with models on real engines: the answer of one machine to the bit, no row through here, and a lost worker changes nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairarm import Arm, Code, Constraint, Evaluation, LogMap, Outcome, Problem, Variable, evaluate
from fairarm.core.packed import packed
from fairarm.errors import DataError, ProblemError
from fairarm.logs import gathering
from fairarm.logs.engines import Engine
from fairarm.logs.gathering import Work
from fairarm.logs.reading import LogReader
from quick import quick

pytestmark = pytest.mark.xdist_group("servers")

GROUPS, N = ("a", "b", "c"), 2000
INPUTS = ("S", "x", "z")


def variables(groups: tuple[str, ...]) -> list[Variable]:
    return [
        Variable("S", groups), Variable("x", low=-6, high=6), Variable("z", low=-6, high=6),
        Variable("V", ("0", "1")), Variable("Y", ("0", "1")),
    ]  # fmt: skip


def models(groups: tuple[str, ...], count: int = 3) -> list[Arm]:
    from sklearn.linear_model import LogisticRegression

    rng, made = np.random.default_rng(5), []
    given = np.column_stack([rng.integers(0, len(groups), 600), rng.normal(size=(600, 2))])
    for k in range(count):
        decided = rng.random(600) < 1 / (1 + np.exp(-given @ rng.normal(size=3)))
        fitted = LogisticRegression().fit(given, decided.astype(int))
        made.append(
            Arm.from_classifier(
                f"m{k}", fitted, learned_from=None, decision="V", inputs=INPUTS, variables=variables(groups)[:4]
            )
        )
    return made


def problem_of(groups: tuple[str, ...] = GROUPS, arms: list[Arm] | None = None) -> Problem:
    rows = [Constraint.gap("a", other, 0.2) for other in groups[1:]]
    edges = [("S", "x"), ("S", "V"), ("S", "Y"), *((a, b) for a in ("x", "z") for b in ("V", "Y")), ("V", "Y")]
    return Problem(
        name="models", variables=variables(groups), graph=edges, sensitive="S", decision="V",
        outcome=Outcome("Y", values=(0, 1)), constraints=rows, shares=(0.5, 0.3, 0.2) if len(groups) == 3 else None,
        arms=models(groups) if arms is None else arms,
    )  # fmt: skip


def columns_of(n: int = N, groups: tuple[str, ...] = GROUPS) -> dict[str, Any]:
    """Rows with propensities and ids, some of which lack an outcome or hold something odd."""
    rng = np.random.default_rng(6)
    y = rng.choice(["0", "1"], n).astype(object)
    y[rng.random(n) < 0.01] = None
    s = rng.choice(groups, n).astype(object)
    s[rng.random(n) < 0.01] = "?"
    return {
        "S": s.tolist(), "x": rng.normal(size=n).clip(-6, 6), "z": rng.normal(size=n).clip(-6, 6),
        "V": rng.integers(0, 2, n), "Y": y.tolist(), "p": rng.uniform(0.2, 0.8, n), "id": np.arange(n),
        "test": rng.random(n) < 0.02,
    }  # fmt: skip


WHERE = LogMap(propensity="p", row_id="id", drop={"test": ("true",)})


def everything(found: Evaluation) -> tuple[Any, ...]:
    """All numbers as they are, and what was noticed."""
    noticed = sorted((f.name, f.message, f.rows, f.blocks_certification) for f in found.findings)
    frames = [found.to_frame(), found.to_frame(fairness=True)] if len(found.problem.rows) > 1 else [found.to_frame()]
    numbers = [frame.to_csv(float_format=float.hex) for frame in frames]
    missing = None if found.missing is None else repr(found.missing)
    return found.used, found.arm, found.certified_arm, numbers, noticed, repr(found.observed), missing


def spread(frame: Callable[[], Any], kind: str, parts: int, engine: Any) -> Any:
    """The log on an engine in so many parts."""
    if kind == "dask":
        import dask.dataframe as dd

        return dd.from_pandas(pa.table(frame()).to_pandas(), npartitions=parts)
    return engine.createDataFrame(pa.table(frame())).repartition(parts).cache()


@pytest.fixture(scope="module")
def expected() -> Evaluation:
    return evaluate(problem_of(), columns_of(), columns=WHERE)


@pytest.fixture(scope="module")
def complete() -> Evaluation:
    return evaluate(problem_of(), with_outcomes(), columns=WHERE)


def with_outcomes() -> dict[str, Any]:
    """The same rows, none of which lacks an outcome: two passes instead of six."""
    rows = columns_of()
    return {**rows, "Y": ["0" if y is None else y for y in rows["Y"]]}


@pytest.mark.parametrize(
    ("kind", "parts"),
    [("dask", 3), ("spark", 2), *(pytest.param("dask", parts, marks=pytest.mark.slow) for parts in (1, 16))],
)
def test_models_of_several_groups_give_the_same_bits(
    kind: str, parts: int, expected: Evaluation, request: pytest.FixtureRequest
) -> None:
    """Two workers; ids, dropped rows, odd values and missing outcomes at both ends: six passes over the rows."""
    with _on(kind, request) as engine:
        found = evaluate(problem_of(), spread(columns_of, kind, parts, engine), columns=WHERE)
    assert everything(found) == everything(expected)
    assert found.missing is not None and {"undeclared-states", "rows-left-out"} <= {f.name for f in found.findings}


@pytest.mark.parametrize("parts", quick([16, 1], 1))
def test_spark_gives_the_same_bits_in_any_number_of_parts(parts: int, complete: Evaluation, spark: Any) -> None:
    found = evaluate(problem_of(), spread(with_outcomes, "spark", parts, spark), columns=WHERE)
    assert everything(found) == everything(complete)


class _on:  # noqa: N801 - reads as a word
    """The session's Spark, or a client of its Dask cluster as the one that frames use."""

    def __init__(self, kind: str, request: pytest.FixtureRequest) -> None:
        self.kind, self.request = kind, request

    def __enter__(self) -> Any:
        if self.kind == "spark":
            return self.request.getfixturevalue("spark")
        from distributed import Client

        self.client = Client(self.request.getfixturevalue("dask_cluster").replace("dask://", "tcp://"))
        return self.client

    def __exit__(self, *_: object) -> None:
        if self.kind == "dask":
            self.client.close()


@pytest.mark.parametrize("kind", ["dask", "spark"])
def test_no_row_comes_here(
    kind: str, complete: Evaluation, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that are streamed or coded in this process: none. What is collected are counts."""
    seen = {"streamed": 0, "coded": 0, "collected": 0}
    collect, coded = Engine.collect, LogReader.coded

    def streamed(*_: Any) -> Any:
        raise AssertionError("rows were streamed here")

    def collected(self: Engine, frame: Any) -> Any:
        found = collect(self, frame)
        seen["collected"] += len(found)
        return found

    def counted(self: LogReader, raw: Any, due: Any) -> Any:
        seen["coded"] += len(next(iter(raw.values())))
        return coded(self, raw, due)

    for name in ("Engine", "Dask", "Spark"):
        monkeypatch.setattr(f"fairarm.logs.engines.{name}.stream", streamed)
    monkeypatch.setattr(Engine, "collect", collected)
    with _on(kind, request) as engine:
        log = spread(with_outcomes, kind, 3, engine)
        monkeypatch.setattr(LogReader, "coded", counted)  # of this process: workers have their own
        found = evaluate(problem_of(), log, columns=WHERE)
    assert everything(found) == everything(complete)
    assert seen["coded"] == 0 and seen["collected"] < 20


def test_files_on_a_cluster_and_threads_here(
    dask_cluster: str, expected: Evaluation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parquet by --engine, on two workers and on threads; with more row groups than are watched they are merged in a tree."""
    pq.write_table(pa.table(columns_of()), tmp_path / "log.parquet", row_group_size=250)
    monkeypatch.setattr(gathering, "WATCHED", 5)
    monkeypatch.setattr(gathering, "FAN", 2)
    for engine in (dask_cluster, "dask"):
        told: list[tuple[str, int, int]] = []
        found = evaluate(
            problem_of(),
            tmp_path / "log.parquet",
            columns=WHERE,
            engine=engine,
            on_rows=lambda what, done, total, told=told: told.append((what, done, total)),  # type: ignore[misc]
        )
        assert everything(found) == everything(expected)
        assert {what for what, _, _ in told} >= {"rows, pass 1 of 2", "missing outcomes highest, pass 2 of 2"}
        assert all(0 < done <= total for _, done, total in told)


def test_more_partitions_than_are_watched_are_merged_by_spark(
    spark: Any, complete: Evaluation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "WATCHED", 2)
    found = evaluate(problem_of(), spread(with_outcomes, "spark", 5, spark), columns=WHERE)
    assert everything(found) == everything(complete)


def hazardous(marker: Path) -> Arm:
    """An arm whose process dies the first time that many rows are asked about elsewhere."""
    home = os.getpid()

    def log_prob(columns: Any) -> Any:
        if os.getpid() != home and len(columns["V"]) > 100 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        p = 1 / (1 + np.exp(-columns["x"]))
        return np.log(np.where(columns["V"] == 1, p, 1 - p))

    return Arm("hazardous", Code("V", ("x",), log_prob))


def test_a_killed_worker_of_dask_changes_nothing(tmp_path: Path) -> None:
    """A worker process is killed in the middle of the second pass; its parts are gathered again by the others."""
    from distributed import Client, LocalCluster

    columns = {**columns_of(2000, ("a", "b")), "Y": ["0", "1"] * 1000}
    where = LogMap(propensity="p", row_id="id")
    known = problem_of(("a", "b"), [hazardous(tmp_path / "here"), *models(("a", "b"), 1)])
    expected = evaluate(known, columns, columns=where)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50)
    with cluster, Client(cluster):
        found = evaluate(known, spread(lambda: columns, "dask", 8, None), columns=where)
    assert (tmp_path / "here").exists() and everything(found) == everything(expected)


def test_a_killed_worker_of_spark_changes_nothing(spark: Any, tmp_path: Path) -> None:
    columns = {**columns_of(2000, ("a", "b")), "Y": ["0", "1"] * 1000}
    where = LogMap(propensity="p", row_id="id")
    known = problem_of(("a", "b"), [hazardous(tmp_path / "here"), *models(("a", "b"), 1)])
    expected = evaluate(known, columns, columns=where)
    found = evaluate(known, spread(lambda: columns, "spark", 4, spark), columns=where)
    assert (tmp_path / "here").exists() and everything(found) == everything(expected)


def failing(text: str) -> Arm:
    def log_prob(columns: Any) -> Any:
        raise ValueError(text)

    return Arm("failing", Code("V", ("x",), log_prob))


@pytest.mark.parametrize("kind", ["dask", "spark"])
def test_what_a_model_says_on_a_worker_is_said_here(kind: str, request: pytest.FixtureRequest) -> None:
    columns = columns_of(500, ("a", "b"))
    known = problem_of(("a", "b"), [*models(("a", "b"), 1), failing("no such feature")])
    with _on(kind, request) as engine:
        log = spread(lambda: columns, kind, 2, engine)
        with pytest.raises(ProblemError, match=r"'failing'.*no such feature") as raised:
            evaluate(known, log, columns=replace(WHERE, row_id=None))
    assert "\n" not in str(raised.value)


def locked() -> Arm:
    from threading import Lock

    lock = Lock()

    def log_prob(columns: Any) -> Any:
        with lock:
            return np.full(len(columns["V"]), np.log(0.5))

    return Arm("locked", Code("V", ("x",), log_prob))


@pytest.mark.parametrize("kind", ["dask", "spark"])
def test_code_that_cannot_be_sent_is_said_with_the_way_out(kind: str, request: pytest.FixtureRequest) -> None:
    known = problem_of(("a", "b"), [*models(("a", "b"), 1), locked()])
    with _on(kind, request) as engine:
        log = spread(lambda: columns_of(200, ("a", "b")), kind, 2, engine)
        with pytest.raises(DataError, match=r"cannot be sent to the workers.*leave out the engine") as raised:
            evaluate(known, log, columns=replace(WHERE, row_id=None))
    assert "\n" not in str(raised.value)


def test_what_is_wrong_in_a_part_is_an_error_of_its_kind() -> None:
    class Broken:
        def add(self, raw: Any) -> None:
            raise DataError("bad counts")

    work = Work(Broken)
    sent = work.gathered([pa.table({"a": [1]})])
    assert work.merged([sent]) == sent
    with pytest.raises(DataError, match="bad counts"):
        work.here([sent])
    with pytest.raises(DataError, match="gone"):
        work.here([packed({"error": np.array(["SystemExit", "gone"])})])


@pytest.mark.parametrize("kind", ["dask", "spark"])
def test_several_attributes_are_counted_there_to_the_bit(kind: str, request: pytest.FixtureRequest) -> None:
    """Several attributes are always counted; the answer is that of one machine, too."""
    from fairarm import Request, load_problem

    lender = load_problem("lender")
    counts = np.zeros((len(lender.problem.regimes), len(lender.problem.arms)), dtype=int)
    counts[0, 0] = 2000
    request_ = Request(lender.problem.arm_names, lender.problem.regimes, counts)
    pulled = lender.world.pull(request_, np.random.default_rng(1))
    labels = pulled.labels(lender.problem)
    rows = {name: np.repeat(labels[name], pulled.count).tolist() for name in lender.problem.observed}
    with _on(kind, request) as engine:
        found = evaluate(lender.problem, spread(lambda: rows, kind, 3, engine))
    here = evaluate(lender.problem, rows)
    assert found.to_frame().to_csv(float_format=float.hex) == here.to_frame().to_csv(float_format=float.hex)
