"""Arms on a terminal where more is asked about than one gap: every number whole at every width, the closest row in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_widths import ENDLESS, WIDTHS, at, cells, tokens

import four_groups as lender
import structural

__all__ = ["at"]
GROUPS = "synthetic-groups:G=4,K=6,m=8,seed=1"
SAID = "conditions must hold; --json has each of every arm."


@pytest.fixture
def problem(tmp_path: Path) -> str:
    path = tmp_path / "lender.toml"
    path.write_text(lender.problem_file())
    return str(path)


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)  # a short name of the log, which is shown
    rows = lender.log(1500, 2)
    lines = [",".join(rows), *(",".join(line) for line in zip(*rows.values(), strict=True))]
    (tmp_path / "log.csv").write_text("\n".join(lines) + "\n")
    return "log.csv"


def widths(at: Callable[..., str], *arguments: str) -> tuple[str, Any]:
    """All numbers at every width, on lines that fit; the words of the narrowest in one line, and the document."""
    whole = tokens(at(ENDLESS, *arguments))
    for width in WIDTHS[::-1]:
        out = at(width, *arguments)
        assert not whole - tokens(out), (width, whole - tokens(out))
        assert max(cells(line) for line in out.splitlines()) <= width
    return at(ENDLESS, *arguments), json.loads(at(80, *arguments, "--json"))


def row_of(arm: dict[str, Any], name: str) -> dict[str, Any]:
    return next(row for row in arm["fairness"] if row["name"] == name)


@pytest.mark.parametrize("more", [("inspect",), ("identify", "--pulls", "300"), ("identify", "--pulls", "3000", "--algorithm", "csr-v2")])  # fmt: skip
def test_pairs_of_four_groups(more: tuple[str, ...], at: Callable[..., str]) -> None:
    out, document = widths(at, more[0], GROUPS, *more[1:])
    lines = out.splitlines()
    start = lines.index("Condition by condition (pairs within 0.1):")
    assert lines[start + 1].split("  ")[0] == "arm" and all(f"{t} - {u}" in lines[start + 1] for t, u in ("ab", "ac", "bd", "cd"))  # fmt: skip
    shown = {line.split()[0]: line.split()[1:] for line in lines[start + 2 : start + 8]}
    for arm in document["arms"]:
        if "csr-v2" not in more:  # of whose two estimates of a gap the larger one is shown
            assert shown[arm["name"]] == [
                f"{row['value']:+.4f}".replace("-0.0000", "+0.0000") for row in arm["fairness"]
            ]
            worst = row_of(arm, arm["closest"])["value"]
            t, u = arm["closest"].split(" - ")
            low, high = (t, u) if worst < 0 else (u, t)
            assert f"people of group {low} would get {abs(worst):.4f} more as {high} (allowed: less than 0.1)" in out
        else:
            sizes = {f"{abs(gap):.4f}" for gap in arm["gaps"].values()}
            assert {number.lstrip("+-") for number in shown[arm["name"]]} <= sizes
    assert SAID not in out


def test_five_questions_from_inspect_to_a_log(problem: str, log: str, at: Callable[..., str]) -> None:
    for arguments in (("inspect", problem), ("identify", problem, "--pulls", "300"), ("evaluate", problem, log)):
        out, document = widths(at, *arguments)
        assert f"18 {SAID}" in out and "Condition by condition" not in out
        for arm in document["arms"]:
            line = next(line for line in out.splitlines() if line.startswith(arm["name"]) and "(a" in line)
            name, worst = arm["closest"], row_of(arm, arm["closest"])
            if " - " in name and "mean" not in name:
                assert f"{abs(worst['value']):.3f} more as" in line
            if "holds_probability" in worst:
                digits = ".3f" if arguments[0] == "evaluate" else ".2f"
                assert {format(worst["holds_probability"], digits), format(arm["fair_probability"], digits)} <= set(line.split())  # fmt: skip
    assert "In the log as it is: a " in out and "Largest plain gap of 6: " in out


def test_a_condition_that_is_alone_has_no_second_table(tmp_path: Path, at: Callable[..., str]) -> None:
    asked = "[[problem.constraints]]\nweights = { a = 1, b = -0.5, c = -0.5 }\ntolerance = 2\n"
    (tmp_path / "one.toml").write_text(lender.problem_file(asked))
    out, _ = widths(at, "identify", str(tmp_path / "one.toml"), "--pulls", "200")
    assert "a - 0.5 b - 0.5 c is +" in out and "ondition" not in out.replace("conditional", "")


def test_ratios_are_shown_as_quotients(tmp_path: Path, at: Callable[..., str]) -> None:
    asked = '[[problem.constraints]]\ncompare = "reference"\nreference = "a"\nratio = 0.9\ndirection = "not_below"\n'
    (tmp_path / "ratios.toml").write_text(lender.problem_file(asked))
    out, document = widths(at, "inspect", str(tmp_path / "ratios.toml"))
    lines = out.splitlines()
    start = lines.index("Condition by condition (against a ratio 0.9, not below):")
    for k in range(len(document["arms"])):
        means = np.diag(structural.means(lender.model(), k).as_of)
        expected = [f"{mean / means[0]:.3f}" for mean in means[1:]]
        assert lines[start + 2 + k].split()[-3:] == expected
        group = "abcd"[int(np.argmin(means))]
        assert f"people of group {group} get {min(expected)} of what they would as a (asked: more than 0.9)" in out
