"""Where a problem and the map of its log meet: the map of the call, the scenario's, or none; never one that is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairarm import (
    Arm,
    Evaluation,
    LogMap,
    Outcome,
    Problem,
    Scenario,
    Variable,
    evaluate,
    load_problem,
    read_log,
    read_problem,
    table,
    write_problem,
)
from fairarm.errors import ProblemError
from fairarm.logs.reading import LogReader
from fairarm.logs.sources import open_log
from fairarm.problem.log_map import problem_and_columns
from fairarm.readers.problem_writer import problem_text

BASE = Problem(
    name="base",
    variables=[Variable("S", ("a", "b")), Variable("V", ("no", "yes")), Variable("Y", ("0", "1"))],
    graph=[("S", "V"), ("V", "Y")],
    sensitive="S",
    decision="V",
    outcome=Outcome("Y", values=(0, 1)),
    tolerance=0.1,
    arms=[Arm("old", table("V", [], [0.5, 0.5])), Arm("new", table("V", [], [0.2, 0.8]))],
    deployed="old",
)
WHERE = LogMap(columns={"Y": "won"}, made_by="new", drop={"S": ["U"]})
ROWS = {"S": ["a", "b", "U", "b"] * 10, "V": ["no", "yes"] * 20, "won": [1, 0, 1, 1] * 10}
FORGOTTEN = r"The file of problem 'base' has a \[log\].*load_problem returned.*columns=scenario.columns"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_problem(BASE, tmp_path / "base.toml", columns=WHERE)
    return tmp_path / "base.toml"


def told(found: Evaluation) -> tuple[Any, ...]:
    return found.used, [arm.rows for arm in found.arms], [part.rows for part in found.dropped]


def test_the_map_comes_from_the_call_the_scenario_or_what_was_read(path: Path) -> None:
    scenario = load_problem(path)
    assert scenario.columns == read_problem(path).columns == WHERE
    expected = (30, [0, 30], [10])
    assert told(evaluate(BASE, ROWS, columns=WHERE)) == expected
    assert told(evaluate(scenario, ROWS)) == told(evaluate(read_problem(path), ROWS)) == expected
    assert told(evaluate(scenario.problem, ROWS, columns=scenario.columns)) == expected
    assert told(evaluate(Scenario(BASE, columns=WHERE), ROWS)) == expected
    assert told(evaluate(scenario, ROWS, columns=replace(WHERE, made_by="old"))) == (30, [30, 0], [10])
    assert read_log(scenario, ROWS).batch.total == read_log(BASE, ROWS, columns=WHERE).batch.total == 30


@pytest.mark.parametrize(
    "use",
    [
        lambda problem: evaluate(problem, ROWS),
        lambda problem: read_log(problem, ROWS),
        problem_text,
        lambda problem: evaluate(problem.with_tolerance(0.2), ROWS),
        lambda problem: evaluate(problem.with_arms(["new", "old"]), ROWS),
        lambda problem: evaluate(replace(problem, name="base", shares=None), ROWS),
    ],
)
def test_the_map_of_a_file_is_not_forgotten(path: Path, use: Callable[[Problem], Any]) -> None:
    """Without it rows that the file leaves out would count, or count as another arm's."""
    with pytest.raises(ProblemError, match=FORGOTTEN):
        use(load_problem(path).problem)


def test_a_problem_without_a_map_has_columns_of_the_nodes_names(tmp_path: Path) -> None:
    assert problem_and_columns(BASE, None) == (BASE, LogMap())
    write_problem(BASE, tmp_path / "bare.toml")
    read = read_problem(tmp_path / "bare.toml")
    assert read.columns == LogMap() and not read.problem.needs_columns
    assert evaluate(read.problem, {**ROWS, "S": ["a", "b"] * 20, "Y": ROWS["won"]}).used == 40


def test_it_is_written_back(path: Path) -> None:
    again = path.with_name("again.toml")
    write_problem(load_problem(path), again)
    assert again.read_text() == path.read_text() and read_problem(again) == read_problem(path)
    assert read_problem(again).problem == BASE  # the map is no part of the problem


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (LogMap(made_by="new"), "no arm 'new'"),
        (LogMap(arm="rule", planned={"old": 0.5, "new": 0.5}), "no arm 'new'"),
        (LogMap(arm="rule", labels={"arm": {"B": "new"}}), "labels.arm leads to 'new'"),
        (LogMap(columns={"X": "x"}), "not a node of the graph"),
    ],
)
def test_a_map_is_checked_wherever_it_meets_a_problem(where: LogMap, message: str) -> None:
    """An arm that the log has rows of may leave the problem, but not the problem that the log is read for."""
    fewer = BASE.with_arms(["old"])
    for meet in (
        lambda: evaluate(fewer, ROWS, columns=where),
        lambda: read_log(fewer, ROWS, columns=where),
        lambda: problem_text(fewer, columns=where),
        lambda: Scenario(fewer, columns=where),
        lambda: LogReader(fewer, open_log(ROWS), where),
    ):
        with pytest.raises(ProblemError, match=message):
            meet()


def test_anything_else_is_refused() -> None:
    with pytest.raises(ProblemError, match="A problem is needed, or what load_problem returns; got str"):
        evaluate("coin", ROWS)  # type: ignore[arg-type]
