"""Passes over rows: what they tell of how far they are, here and on a terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm import LogMap, evaluate, load_problem
from fairarm.logs import engines, passes
from fairarm.readers.problem_writer import write_problem

ROWS, AT_ONCE = 1000, 300


def columns_of() -> dict[str, list[Any]]:
    """Rows of the ad marketplace with a propensity, which are read one by one; a few lack their outcome."""
    rng = np.random.default_rng(3)
    states = {"sex": ("female", "male"), "query": ("fashion", "travel"), "prediction": ("low", "high"), "revenue": ("none", "click", "sale")}  # fmt: skip
    found: dict[str, list[Any]] = {name: rng.choice(of, ROWS).tolist() for name, of in states.items()}
    found["revenue"][:5] = [None] * 5
    return {**found, "p": [0.5] * ROWS}


@pytest.mark.parametrize("most", [passes.MOST_KEPT, 0], ids=["kept", "read again"])
def test_each_pass_tells_how_far_it_is(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two passes over the rows, and two over them with missing outcomes at each end: each begins anew and ends at all that it has."""
    monkeypatch.setattr(engines, "AT_ONCE", AT_ONCE)
    monkeypatch.setattr(passes, "MOST_KEPT", most)
    told: dict[str, list[tuple[int, int]]] = {}
    problem = load_problem("ad-marketplace").problem
    where = LogMap(propensity="p")
    found = evaluate(
        problem, columns_of(), columns=where, on_rows=lambda what, *far: told.setdefault(what, []).append(far)
    )
    each = ("rows", "missing outcomes lowest", "missing outcomes highest")
    assert list(told) == [f"{what}, pass {n} of 2" for what in each for n in (1, 2)]
    by_rows, by_parts = [(300, ROWS), (600, ROWS), (900, ROWS), (ROWS, ROWS)], [(i, 4) for i in range(1, 5)]
    for what, far in told.items():
        assert far == (by_parts if most and what.endswith("pass 2 of 2") else by_rows), what
    assert found == evaluate(problem, columns_of(), columns=where)


def on_a_terminal(*arguments: str | Path) -> str:
    """What a command writes to standard error where that is a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "fairarm", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 1 << 16):
            shown += part
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
        code = process.wait(timeout=60)
    assert code == 0, shown
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())


def test_a_bar_on_the_terminal_names_the_pass(tmp_path: Path) -> None:
    """The last picture is that of the last pass, all of it done; in a pipe there is none."""
    lines = columns_of()
    lines["revenue"][:5] = ["none"] * 5
    rows = zip(*lines.values(), strict=True)
    log, problem = tmp_path / "log.csv", tmp_path / "ads.toml"
    log.write_text("\n".join(",".join(map(str, line)) for line in [tuple(lines), *rows]) + "\n", encoding="utf-8")
    write_problem(load_problem("ad-marketplace").problem, problem, columns=LogMap(propensity="p"))
    shown = on_a_terminal("evaluate", problem, log)
    last = [line for line in re.split(r"[\r\n]+", shown) if "reading the log" in line][-1]
    assert re.search(r"reading the log: rows, pass 2 of 2 .*100%", last), shown
    piped = subprocess.run([sys.executable, "-m", "fairarm", "evaluate", problem, log], capture_output=True, check=True)
    assert piped.stderr == b""
