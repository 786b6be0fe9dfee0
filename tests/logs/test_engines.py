"""The same log on every engine: evaluate gives the same numbers, counted in the engine or read row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm import Arm, Code, Constraint, Evaluation, LogMap, Outcome, Problem, Scenario, Variable, evaluate, table

pytestmark = pytest.mark.xdist_group("servers")

COUNTED = Problem(
    name="engines",
    variables=[Variable("S", ("a", "b")), Variable("X", ("0", "1", "2")), Variable("V", ("no", "yes"))],
    graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
    sensitive="S",
    decision="V",
    outcome=Outcome("Y", low=0, high=5),
    tolerance=0.5,
    arms=[Arm("old", table("V", [], [0.5, 0.5])), Arm("new", table("V", ["X"], [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]))],
    deployed="old",
)


def streamed() -> Scenario:
    def arm(name: str, slope: float) -> Arm:
        def log_prob(columns: Any) -> Any:
            p = 1 / (1 + np.exp(-slope * columns["Z"]))
            return np.log(np.where(columns["V"] == 1, p, 1 - p))

        return Arm(name, Code("V", ("Z",), log_prob))

    problem = Problem(
        name="engines",
        variables=[Variable("S", ("a", "b")), Variable("Z", low=-6, high=6), Variable("V", ("no", "yes"))],
        graph=[("S", "Z"), ("Z", "V"), ("Z", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", low=0, high=5),
        tolerance=0.5,
        arms=[arm("flat", 0.0), arm("steep", 1.0)],
    )
    return Scenario(problem, columns=LogMap(propensity="p"))


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    n = 3000
    return {
        "S": rng.choice(["a", "b"], n).tolist(),
        "X": rng.integers(0, 3, n).tolist(),
        "Z": rng.normal(size=n).clip(-6, 6).tolist(),
        "V": rng.choice(["no", "yes"], n).tolist(),
        "Y": rng.uniform(0, 5, n).tolist(),
        "p": [0.5] * n,
    }


def numbers(found: Evaluation) -> np.ndarray:
    flat: list[float] = []
    for arm in found.arms:
        for value in asdict(arm).values():
            inner = value.values() if isinstance(value, dict) else [value]
            flat += [float(v) for v in inner if isinstance(v, int | float)]
    return np.array(flat)


Opened = Callable[[str], tuple[Any, str | None]]


@pytest.fixture
def opened(rows: dict[str, Any], tmp_path: Path, request: pytest.FixtureRequest) -> Opened:
    """The log in the form that an engine takes, and the engine's name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "log.parquet"
    pq.write_table(pa.table(rows), path, row_group_size=500)

    def make(kind: str) -> tuple[Any, str | None]:
        if kind == "dask cluster":
            return path, request.getfixturevalue("dask_cluster")
        if kind == "spark":
            return request.getfixturevalue("spark").read.parquet(str(path)), None
        if kind == "postgresql":
            server = request.getfixturevalue("postgres")
            request.addfinalizer(lambda: _dropped(server))
            return _in_postgres(server, rows), None
        if kind == "ibis":
            import ibis

            return ibis.memtable(pa.table(rows)), None
        import pandas as pd

        return pd.DataFrame(rows), None

    return make


def _dropped(server: Any) -> None:
    """The server is shared, and one test wants a single table in it."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE evaluated")


def _in_postgres(server: Any, rows: dict[str, Any]) -> str:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute('CREATE TABLE evaluated ("S" text, "X" int, "Z" float8, "V" text, "Y" float8, p float8)')
        with cursor.copy('COPY evaluated ("S", "X", "Z", "V", "Y", p) FROM STDIN') as copy:
            for line in zip(*rows.values(), strict=True):
                copy.write_row(line)
    return str(server.url("evaluated"))


@pytest.mark.parametrize("kind", ["dask cluster", "spark", "postgresql", "ibis", "pandas"])
@pytest.mark.parametrize("way", ["counted", "streamed"])
def test_every_engine_gives_the_embedded_answer(kind: str, way: str, opened: Opened, rows: dict[str, Any]) -> None:
    problem = COUNTED if way == "counted" else streamed()
    log, engine = opened(kind)
    found, expected = evaluate(problem, log, engine=engine), evaluate(problem, rows)
    assert found.used == expected.used == 3000 and found.method == expected.method
    assert np.abs(numbers(found) - numbers(expected)).max() <= 1e-12
    assert found.arm == expected.arm


def test_obps_dictionary_is_a_log() -> None:
    """Bandit feedback as obp gives it: actions, rewards, propensities, a context matrix. S is one of its columns."""
    rng = np.random.default_rng(2)
    n = 4000
    context = np.column_stack([rng.integers(0, 2, n), rng.normal(size=n).clip(-6, 6)])
    action = rng.integers(0, 2, n)
    feedback = {
        "n_rounds": n,
        "n_actions": 2,
        "context": context,
        "action_context": np.eye(2),
        "action": action,
        "position": None,
        "reward": (rng.random(n) < 0.2 + 0.5 * action).astype(int),
        "expected_reward": None,
        "pscore": np.full(n, 0.5),
    }
    flat = streamed().problem
    problem = replace(
        flat,
        variables={**flat.variables, "V": Variable("V", ("0", "1")), "S": Variable("S", ("0", "1"))},
        groups=("0", "1"),
        outcome=Outcome("Y", low=0, high=1),
        constraints=[Constraint.gap("0", "1", 0.1)],
    )
    where = LogMap(columns={"S": "context_0", "Z": "context_1", "V": "action", "Y": "reward"}, propensity="pscore")
    found = evaluate(problem, feedback, columns=where)
    assert found.used == n
    assert found.arms[0].outcome.low <= 0.45 <= found.arms[0].outcome.high
