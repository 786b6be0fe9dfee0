"""Every exported function that takes a path takes it as text, and every one that takes a log takes a frame too."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fairarm
from fairarm import NetworkWorld, Problem, draft_problem, evaluate, identify, load_problem, report

PATHS = ("log", "looks", "path", "source")
HELD = {
    "group": ["a", "b"] * 100,
    "side": ["heads", "tails", "tails", "heads"] * 50,
    "result": ["win", "lose", "win", "win", "lose"] * 40,
    "at": list(range(200)),
}


def calls(problem: Problem, world: NetworkWorld, log: Any) -> dict[str, Callable[[], Any]]:
    """By name; paths are text."""
    bif = str(files("fairarm") / "data" / "hepar2.bif")
    columns = fairarm.LogMap(time="at")
    return {
        "write_problem": lambda: fairarm.write_problem(problem, "saved.toml", world.network),
        "read_problem": lambda: fairarm.read_problem("saved.toml"),
        "load_problem": lambda: load_problem("./saved.toml"),
        "read_network": lambda: fairarm.read_network(bif),
        "open_log": lambda: fairarm.open_log(log),
        "draft_problem": lambda: draft_problem(log).text,
        "log_digest": lambda: fairarm.log_digest(log),
        "split_log": lambda: fairarm.split_log(log),
        "evaluate": lambda: evaluate(problem, log, columns=columns, looks="looks.json"),
        "report": lambda: report(evaluate(problem, log), "report.html"),
        "read_log": lambda: fairarm.read_log(problem, log),
        "algorithm": lambda: fairarm.algorithm("pool", problem, pulls=200, log=log),
        "identify": lambda: identify(problem, world, pulls=50, log=log),
        "simulate": lambda: fairarm.simulate(problem, world, pulls=[50], runs=1, algorithms=["uniform"], log=log),
        "plan": lambda: fairarm.plan(problem, log=log, truths=2, most_pulls=32),
    }


def test_paths_as_text_and_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = load_problem("coin")
    assert isinstance(scenario.world, NetworkWorld)
    pd.DataFrame(HELD).to_csv("log.csv", index=False)
    made = calls(scenario.problem, scenario.world, "log.csv")
    taking = {
        name
        for name in fairarm.__all__
        if inspect.isfunction(found := getattr(fairarm, name)) and {*PATHS} & {*inspect.signature(found).parameters}
    }
    assert taking | {"load_problem"} == made.keys()
    for name, call in made.items():
        assert call() is not None or name == "write_problem", name
    drafted = {draft_problem(log).text for log in (HELD, pa.table(HELD), pd.DataFrame(HELD), pl.DataFrame(HELD))}
    assert len({text.split("[problem]")[1] for text in drafted}) == 1
