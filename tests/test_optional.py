"""A plain installation: what works without the extras, and what a command says that needs one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairarm import experiments
from fairarm.cli import main
from fairarm.errors import OptionError, ReadError
from fairarm.optional import require
from fairarm.readers.networks import read_network

EXTRAS = ("matplotlib", "pyagrum", "sklearn", "networkx", "pandas", "polars", "dask", "distributed", "ibis", "pyspark")

PLAIN = """
import json, sys
extras, commands = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(extras))  # whoever imports one of them gets an ImportError
from fairarm.cli import main
for command in commands:
    sys.argv = ["fairarm", *command]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise SystemExit(f"{command}: exit code {ended.code}")
"""


def test_a_plain_installation_needs_no_extra(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sides = [("a", "heads", "win"), ("a", "tails", "lose"), ("b", "heads", "lose"), ("b", "tails", "win")] * 25
    log = pa.table(dict(zip(("group", "side", "result"), zip(*sides, strict=True), strict=True)))
    pq.write_table(log, tmp_path / "log.parquet")
    (tmp_path / "log.csv").write_text("\n".join(["group,side,result", *map(",".join, sides)]) + "\n")
    commands = [
        ["problems"],
        ["algorithms"],
        ["init", "log.csv", "--sensitive", "group", "--decision", "side", "--outcome", "result"],
        ["evaluate", "coin", "log.csv", "--report", "log.html"],
        ["evaluate", "coin", "log.parquet", "--json"],
        ["inspect", "hepar2", "--limit", "--report", "inspect.html"],
        ["plan", "coin", "--truths", "10", "--log", "log.csv", "--jobs", "2"],
        ["identify", "coin", "--pulls", "100", "--seed", "7", "--report", "identify.html"],
        ["simulate", "coin", "--pulls", "20,40", "--runs", "4", "--jobs", "2", "--report", "simulate.html"],
        ["schema"],
    ]
    given = json.dumps([EXTRAS, commands])
    run = subprocess.run([sys.executable, "-c", PLAIN, given], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stderr


def test_an_extra_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ibis", None)
    with pytest.raises(
        OptionError,
        match=r"^ibis is needed and cannot be imported .*pip install 'fairarm\[sql\]', or in a copy of the repository pip install '\.\[sql\]'$",
    ):
        require("ibis", "sql")
    assert require("json", "sql") is json


@pytest.mark.parametrize(
    ("command", "module", "extra"),
    [
        ("simulate coin --pulls 100 --runs 10 --plot figure.svg", "matplotlib", "plots"),
        ("plan coin --truths 20 --plot figure.svg", "matplotlib", "plots"),
        ("paper --quick", "matplotlib", "plots"),
        ("paper --quick --backend dask", "distributed", "dask"),
    ],
)
def test_a_command_says_which_extra_it_lacks_before_it_works(
    command: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    def worked(*_: object, **__: object) -> None:
        raise AssertionError("the work began")

    for name in ("simulate", "plan"):
        monkeypatch.setattr(experiments, name, worked)
    monkeypatch.setattr("fairarm.experiments.paper.run_paper", worked)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(sys, "argv", ["fairarm", *command.split()])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    assert ended.value.code == 2 and out == "" and err.count("\n") == 1
    assert f"{module} is needed" in err and f"pip install 'fairarm[{extra}]'" in err and list(tmp_path.iterdir()) == []


def test_a_network_in_another_format_says_which_extra_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pyagrum is imported in a process apart, which finds one that cannot be imported before the true one."""
    (tmp_path / "pyagrum.py").write_text("raise ImportError(\"No module named 'pyagrum'\")\n")
    (tmp_path / "law.net").write_text("net {}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))
    with pytest.raises(
        ReadError, match=r"law\.net: pyagrum is needed .* pip install 'fairarm\[networks\]', or in a copy"
    ):
        read_network(tmp_path / "law.net")
