"""The tolerance is a choice: a file may leave it open, --tolerance gives or replaces it, and without it one line says so."""

from __future__ import annotations

import html
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fairarm import load_problem
from fairarm.cli import main
from fairarm.errors import ReadError
from fairarm.readers.problem_file import read_problem

OPEN = """\
format = 1
[problem]
name = "open"
sensitive = "S"
decision = "V"
deployed = "even"
outcome = { node = "Y", values = { no = 0, yes = 1 } }
edges = [["S", "V"], ["V", "Y"]]
from_world = true
[problem.states]
S = ["a", "b"]
V = ["v0", "v1"]
Y = ["no", "yes"]
[[problem.arms]]
name = "even"
parents = ["S"]
table = [[0.5, 0.5], [0.5, 0.5]]
[[problem.arms]]
name = "tilted"
parents = ["S"]
table = [[0.2, 0.8], [0.5, 0.5]]
[[world.mechanisms]]
node = "S"
table = [0.5, 0.5]
[[world.mechanisms]]
node = "V"
parents = ["S"]
table = [[0.5, 0.5], [0.5, 0.5]]
[[world.mechanisms]]
node = "Y"
parents = ["V"]
table = [[0.9, 0.1], [0.1, 0.9]]
"""
GAP = 0.3 * 0.8
"""Of "tilted", by hand: 0.3 more of v1, each worth 0.8 more."""

ROWS = "S,V,Y\n" + "a,v0,no\na,v1,yes\nb,v0,no\nb,v1,yes\n" * 200
COMMANDS = {
    "inspect": (),
    "plan": ("--truths", "5", "--most-pulls", "64"),
    "identify": ("--pulls", "50"),
    "simulate": ("--pulls", "50", "--runs", "2", "--algorithms", "pool"),
    "evaluate": ("log.csv",),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "open.toml").write_text(OPEN)
    (tmp_path / "log.csv").write_text(ROWS)
    monkeypatch.chdir(tmp_path)


def run(*arguments: str, capsys: Any) -> tuple[int, str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fairarm", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_asks_for_it_in_one_line_and_takes_it(command: str, capsys: Any) -> None:
    code, out, err = run(command, "open.toml", *COMMANDS[command], capsys=capsys)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "open.toml: problem.tolerance: not given" in err and "--tolerance" in err and "tolerance =" in err
    code, out, err = run(
        command, "open.toml", *COMMANDS[command], "--tolerance", str(GAP - 0.01), "--json", capsys=capsys
    )
    assert code == 0, err
    assert json.loads(out).get("tolerance", GAP - 0.01) == GAP - 0.01
    for wrong in ("0", "-1", "nan", "inf"):
        code, out, err = run(command, "open.toml", *COMMANDS[command], "--tolerance", wrong, capsys=capsys)
        assert (code, out, len(err.splitlines())) == (2, "", 1) and "tolerance" in err


def test_it_decides_who_is_fair(capsys: Any) -> None:
    for tolerance, fair in ((GAP - 0.01, [True, False]), (GAP + 0.01, [True, True])):
        _, out, _ = run("inspect", "open.toml", "--tolerance", str(tolerance), "--json", capsys=capsys)
        assert [arm["fair"] for arm in json.loads(out)["arms"]] == fair


@pytest.mark.parametrize("command", ["inspect", "identify", "evaluate"])
@pytest.mark.parametrize(
    ("tolerance", "said"),
    [
        ("5", "The tolerance 5 is not smaller than the outcome's range 1: every arm is fair by definition."),
        ("1", "range 1: every arm is fair by definition, but for one whose groups lie at the two ends of it."),
        ("0.99", None),
    ],
)
def test_one_that_no_gap_exceeds_is_said(command: str, tolerance: str, said: str | None, capsys: Any) -> None:
    report = ("--report", "page.html")
    code, out, err = run(command, "open.toml", *COMMANDS[command], "--tolerance", tolerance, *report, capsys=capsys)
    assert code == 0, err
    page = html.unescape(Path("page.html").read_text(encoding="utf-8"))
    for text in (" ".join(out.split()), " ".join(page.split())):
        assert said in text if said else "by definition" not in text


def test_it_replaces_that_of_a_file_in_either_form(tmp_path: Path) -> None:
    long = OPEN.replace("[problem.states]", "constraints = [{ weights = { a = 1, b = -1 }, tolerance = 0.5 }]\n[problem.states]")  # fmt: skip
    short = OPEN.replace("[problem.states]", "tolerance = 0.5\n[problem.states]")
    for k, text in enumerate((long, short)):
        (tmp_path / f"{k}.toml").write_text(text)
        assert read_problem(tmp_path / f"{k}.toml")[0].gap_tolerance == 0.5
        assert load_problem(tmp_path / f"{k}.toml", tolerance=0.125).problem.gap_tolerance == 0.125
    with pytest.raises(ReadError, match=r"open\.toml: problem\.tolerance: not given"):
        load_problem(tmp_path / "open.toml")


@pytest.mark.parametrize("name", ["coin", "hepar2", "synthetic-tight:K=5", "beta-mixtures", "gaussian-arms"])
def test_bundled_problems_take_it_and_their_worlds_know(name: str) -> None:
    scenario = load_problem(name, tolerance=1e-9)
    assert scenario.problem.gap_tolerance == 1e-9 != load_problem(name).problem.gap_tolerance
    truth = None if scenario.world is None else scenario.world.truth()
    assert truth is None or truth.tolerance == 1e-9
