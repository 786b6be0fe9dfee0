"""``log=`` is the same thing in every function that takes it, and what was noticed in it goes with the result."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm import (
    Arm,
    Batch,
    LogMap,
    Outcome,
    Problem,
    Scenario,
    Unknown,
    Variable,
    algorithm,
    batch,
    evaluate,
    identify,
    load_problem,
    plan,
    read_log,
    simulate,
    table,
)
from fairarm.errors import DataError, OptionError
from fairarm.problem.pulls import Request

SCENARIO = load_problem("ad-marketplace")
PROBLEM, WORLD = SCENARIO.problem, SCENARIO.world
ROWS = 600


def columns() -> dict[str, list[Any]]:
    """Rows of the deployed arm as a system would log them."""
    assert WORLD is not None
    counts = np.zeros((3, len(PROBLEM.arms)), dtype=np.int64)
    counts[0, PROBLEM.arm_index(PROBLEM.deployed or "")] = ROWS
    pulled = WORLD.pull(Request(PROBLEM.arm_names, PROBLEM.regimes, counts), np.random.default_rng(2))
    labels = pulled.labels(PROBLEM)
    at = np.repeat(np.arange(pulled.size), pulled.count)
    return {name: [labels[name][i] for i in at] for name in PROBLEM.observed}


COLUMNS = columns()
HOLES = {**COLUMNS, PROBLEM.outcome.node: [None, *COLUMNS[PROBLEM.outcome.node][1:]]}
"""One row has no outcome."""


def records(given: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(given, values, strict=True)) for values in zip(*given.values(), strict=True)]


def forms(folder: Path) -> dict[str, Any]:
    """The same rows in every form that a log may have."""
    import pandas
    import polars
    import pyarrow

    path = folder / "log.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([tuple(COLUMNS), *zip(*COLUMNS.values(), strict=True)])
    made = batch(PROBLEM, {**COLUMNS, "arm": [PROBLEM.deployed] * ROWS})
    return {
        "path": path,
        "text": str(path),
        "pandas": pandas.DataFrame(COLUMNS),
        "polars": polars.DataFrame(COLUMNS),
        "pyarrow": pyarrow.table(COLUMNS),
        "columns": COLUMNS,
        "records": records(COLUMNS),
        "batch": made,
        "read": read_log(PROBLEM, COLUMNS),
    }


USES: dict[str, Callable[[Any], Any]] = {
    "algorithm": lambda log: algorithm("pool", PROBLEM, pulls=50, seed=3, log=log).to_json(),
    "identify": lambda log: identify(PROBLEM, WORLD, pulls=50, seed=3, log=log).verdict,
    "simulate": lambda log: [
        replace(point, seconds=0.0)
        for point in simulate(PROBLEM, WORLD, algorithms=["pool"], pulls=[20], runs=3, log=log).results
    ],
    "plan": lambda log: plan(PROBLEM, truths=8, most_pulls=32, log=log),
    "evaluate": lambda log: evaluate(PROBLEM, log),
    "read_log": lambda log: algorithm("pool", PROBLEM, pulls=50, seed=3, log=read_log(PROBLEM, log)).to_json(),
}


@pytest.mark.parametrize("use", USES)
def test_a_log_is_the_same_everywhere(use: str, tmp_path: Path) -> None:
    results = {form: USES[use](log) for form, log in forms(tmp_path).items()}
    for form, result in results.items():
        assert result == results["columns"], form


def test_something_else_is_no_log() -> None:
    for use in USES.values():
        with pytest.raises(OptionError, match="is not a log"):
            use(5)
    with pytest.raises(DataError, match="same columns"):
        algorithm("pool", PROBLEM, pulls=50, log=[*records(COLUMNS), {"sex": "female"}])


def test_how_to_read_is_said_of_what_has_to_be_read() -> None:
    read = read_log(PROBLEM, COLUMNS)
    for log in (read, read.batch):
        with pytest.raises(OptionError, match="read already"):
            algorithm("pool", PROBLEM, pulls=50, log=log, columns=LogMap())
    with pytest.raises(OptionError, match="engine= says how to read a log"):
        identify(PROBLEM, WORLD, pulls=50, engine="duckdb")


# ---- what was noticed is not lost ----


def test_findings_go_with_every_result() -> None:
    for started_from in (
        algorithm("pool", PROBLEM, pulls=50, log=HOLES).started_from,
        identify(PROBLEM, WORLD, pulls=20, log=HOLES).started_from,
        simulate(PROBLEM, WORLD, algorithms=["uniform"], pulls=[20], runs=1, log=HOLES).started_from,
        plan(PROBLEM, truths=4, most_pulls=32, log=HOLES).started_from,
        identify(PROBLEM, WORLD, pulls=20, log=read_log(PROBLEM, HOLES)).started_from,
    ):
        assert started_from is not None
        assert [finding.name for finding in started_from.findings] == ["missing-outcomes"]
        assert started_from.voided_by == () and started_from.missing is not None and started_from.missing.total == 1
    assert identify(PROBLEM, WORLD, pulls=20).started_from is None


def test_findings_of_a_log_that_was_read_before_go_with_its_evaluation_too() -> None:
    found, direct = evaluate(PROBLEM, read_log(PROBLEM, HOLES)), evaluate(PROBLEM, HOLES)
    assert [finding.name for finding in found.findings] == ["missing-outcomes"]
    assert found.certified_by == direct.certified_by and found.missing == direct.missing


def test_a_batch_is_checked_against_what_is_declared() -> None:
    """Decisions that the arm named would hardly make so often."""
    other = next(name for name in PROBLEM.arm_names if name != PROBLEM.deployed and decides(name))
    made = batch(PROBLEM, {**COLUMNS, "arm": [other] * ROWS})
    run = algorithm("pool", PROBLEM, pulls=50, log=made)
    assert "decisions-do-not-fit" in run.started_from.voided_by


def decides(name: str) -> bool:
    """Whether every logged decision is possible for this arm."""
    own = PROBLEM.arms[PROBLEM.arm_index(name)].mechanism.log_prob(
        batch(PROBLEM, {**COLUMNS, "arm": [PROBLEM.deployed] * ROWS}).columns
    )
    return bool(np.all(np.isfinite(own)))


STRANGE = {**COLUMNS, PROBLEM.sensitive: ["nobody", *COLUMNS[PROBLEM.sensitive][1:]]}
"""One row has a state that is not declared, which voids what is certified."""


@pytest.mark.parametrize("log", [STRANGE, read_log(PROBLEM, STRANGE)], ids=["columns", "read"])
def test_a_certified_answer_is_refused_where_a_finding_voids_it(log: Any) -> None:
    refused = "The log has the finding 'undeclared-states': an answer that rests on it cannot be certified"
    for use in (
        lambda **more: algorithm("pool", PROBLEM, pulls=50, log=log, confidence=0.9, **more),
        lambda **more: identify(PROBLEM, WORLD, pulls=50, log=log, confidence=0.9, **more),
        lambda **more: simulate(
            PROBLEM, WORLD, algorithms=["uniform", "pool"], pulls=[20], runs=1, log=log, confidence=0.9, **more
        ),
    ):
        with pytest.raises(DataError, match=refused):
            use()
        use(stop="bayes-stop")


# ---- problems that a log completes ----


def courses(tolerance: float = 0.3) -> Problem:
    return Problem(
        name="courses",
        variables=[Variable("sex", ("f", "m")), Variable("course", ("long", "short")), Variable("passed", ("no", "yes"))],
        graph=[("sex", "course"), ("course", "passed")],
        sensitive="sex",
        decision="course",
        outcome=Outcome("passed", values=(0, 1)),
        tolerance=tolerance,
        arms=[Arm("as it is", Unknown("course", ("sex",))), Arm("all long", table("course", [], [0.9, 0.1]))],
        deployed="as it is",
        shares=(0.5, 0.5),
    )  # fmt: skip


TAUGHT = {
    "who": ["f", "m"] * 200,
    "course": ["long", "long", "short", "long"] * 100,
    "passed": ["yes", "no", "no", "yes"] * 100,
}


def test_fitted_tables_go_where_the_log_goes() -> None:
    """The tolerance is that of the problem given with the log, not of the one it was read for."""
    where = LogMap(columns={"sex": "who"})
    read = read_log(courses(), TAUGHT, columns=where)
    assert [note.arm for note in read.fitted] == ["as it is"] and not read.problem.unknown_arms
    strict = algorithm("pool", courses(0.01), pulls=50, log=read)
    assert strict.problem.gap_tolerance == 0.01 and not strict.problem.unknown_arms
    direct = algorithm("pool", courses(0.01), pulls=50, log=TAUGHT, columns=where)
    assert direct.to_json() == strict.to_json()
    again = algorithm("pool", courses(0.01), pulls=50, log=read.batch)
    assert again.to_json() == strict.to_json() and again.started_from.fitted == read.fitted


def test_a_scenario_brings_its_columns() -> None:
    scenario = Scenario(courses(), None, LogMap(columns={"sex": "who"}))
    run = algorithm("pool", scenario, pulls=50, log=TAUGHT)
    assert run.log_rows == 400
    assert plan(scenario, truths=4, most_pulls=32, log=TAUGHT).log_rows == 400
    with pytest.raises(DataError, match="no column 'sex'"):
        algorithm("pool", courses(), pulls=50, log=TAUGHT)


def test_a_log_that_was_read_is_not_taken_for_another_problem() -> None:
    """Rows are codes by then: with the arms in another order they would be those of other arms, and with other shares or
    another rule the checks that void a certificate would not have been made."""
    read = read_log(PROBLEM, COLUMNS)
    turned = PROBLEM.with_arms([*reversed(PROBLEM.arm_names)])
    known = PROBLEM.shares or (0.5, 0.5)
    others = [turned, replace(PROBLEM, shares=(known[0] * 0.5, 1 - known[0] * 0.5))]
    for other in others:
        for use in (
            lambda p: evaluate(p, read),
            lambda p: algorithm("pool", p, pulls=50, log=read),
            lambda p: read_log(p, read),
        ):
            with pytest.raises(DataError, match="Read it again"):
                use(other)
    same = replace(PROBLEM, tolerance=2 * PROBLEM.gap_tolerance, budget=None)
    assert evaluate(same, read).used == evaluate(PROBLEM, COLUMNS).used


def test_what_was_left_out_is_said_of_a_log_that_was_read_before() -> None:
    marked = {**COLUMNS, "src": ["bot" if i % 3 == 0 else "web" for i in range(len(next(iter(COLUMNS.values()))))]}
    where = LogMap(drop={"src": ["bot"]})
    direct, read = evaluate(PROBLEM, marked, columns=where), read_log(PROBLEM, marked, columns=where)
    later = evaluate(PROBLEM, read)
    assert (later.rows, later.used, later.dropped) == (direct.rows, direct.used, direct.dropped)
    assert later.assumptions == direct.assumptions and direct.dropped


def test_a_node_may_be_called_as_a_column_of_a_batch() -> None:
    """A decision called "arm" whose states are the names of the arms: rows are those of the arm that made them."""
    problem = Problem(
        name="named-arm",
        variables=[Variable("S", ("a", "b")), Variable("arm", ("x", "y")), Variable("count", ("0", "1"))],
        graph=[("S", "arm"), ("arm", "count")],
        sensitive="S",
        decision="arm",
        outcome=Outcome("count", values=(0, 1)),
        tolerance=0.5,
        arms=[Arm("x", table("arm", ["S"], [[0.5, 0.5]] * 2)), Arm("y", table("arm", ["S"], [[0.2, 0.8]] * 2))],
        deployed="x",
    )
    rng = np.random.default_rng(0)
    made = np.repeat([0, 1], [180, 20])
    columns = {"S": rng.integers(0, 2, 200), "arm": rng.integers(0, 2, 200), "count": rng.integers(0, 2, 200)}
    found = evaluate(problem, Batch(made, np.zeros_like(made), columns, np.ones_like(made)))
    assert [arm.rows for arm in found.arms] == [180, 20]
