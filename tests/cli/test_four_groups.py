"""More than two groups and other questions than one gap, by problem files and logs, through the commands."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import four_groups as lender
from fairarm.cli import main

ROOT = Path(__file__).parents[2]
DOCUMENTED = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
THREE = (ROOT / "tests" / "three_groups.toml").read_text(encoding="utf-8")
PAIRS = [f"{t}|{u}" for i, first in enumerate("abcd") for second in "abcd"[i + 1 :] for t, u in ((first, second), (second, first))]  # fmt: skip


def document(*arguments: str | Path, capsys: Any) -> Any:
    """What a command prints with --json."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fairarm", *map(str, arguments), "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
    out, err = capsys.readouterr()
    assert not ended.value.code, err
    return json.loads(out, parse_constant=lambda constant: pytest.fail(constant))


def keys(found: Any) -> Iterator[str]:
    """The names of all keys, at any depth, but for those that are names of groups or of pairs of them."""
    for name, item in found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ():
        if isinstance(name, str) and "|" not in name and name not in ("natural", *lender.GROUPS, *lender.OFFER):
            yield name
        yield from keys(item)


def documented(command: str) -> set[str]:
    part = re.split(r"^## ", DOCUMENTED.partition(f"\n## {command}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", part))))


def written(path: Path, rows: dict[str, Any]) -> Path:
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(rows)
        lines.writerows(zip(*rows.values(), strict=True))
    return path


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    path = tmp_path / "lender.toml"
    path.write_text(lender.problem_file())
    return path


# ---- four groups ----


def test_200_000_logged_rows_have_the_structural_truth(problem: Path, tmp_path: Path, capsys: Any) -> None:
    rows = lender.log(200_000, 1)
    found = document("evaluate", problem, written(tmp_path / "log.csv", rows), capsys=capsys)
    errors = lender.weighted_errors(rows)
    assert {*keys(found)} <= documented("evaluate") and found["used"] == 200_000 and found["findings"] == []
    assert found["arm"] == "by race" and found["groups"] == [*lender.GROUPS]
    assert found["attributes"] == [{"name": "race", "groups": [*lender.GROUPS]}]
    assert found["tolerance"] is found["plain_gap"] is found["plain_gap_interval"] is None
    names = [row["name"] for row in found["fairness"]]
    assert list(found["plain_gaps"]) == PAIRS and len(names) == 18
    for arm, truth, error in zip(found["arms"], lender.truths(), errors, strict=True):
        assert arm["gap"] is None and list(arm["pairs"]) == PAIRS and [row["name"] for row in arm["fairness"]] == names
        closest = next(row for row in arm["fairness"] if row["name"] == arm["closest"])
        assert closest["holds_probability"] == min(row["holds_probability"] for row in arm["fairness"])
        for row in arm["fairness"]:
            off = abs(row["value"] - truth[row["name"]])
            (low, high), (least, most) = row["interval"], row["certified_interval"]
            assert off <= 4 * error[row["name"]] and off <= 4 * (high - low) / 3.92, (arm["name"], row)
            assert least <= low <= row["value"] <= high <= most and least <= truth[row["name"]] <= most
        for pair, gap in arm["pairs"].items():
            t, u = pair.split("|")
            assert gap["gap"] == gap["plain"] and abs(gap["gap"] - (truth[t] - truth[u])) < 0.1


def test_the_rows_of_a_document(problem: Path, capsys: Any) -> None:
    """What is asked, in the outcome's own units."""
    found = document("inspect", problem, capsys=capsys)
    assert {*keys(found)} <= documented("inspect")
    rows = {(row["constraint"], row["name"]): row for row in found["fairness"]}
    assert rows["pairs within 1.2", "a - d"] == {
        "name": "a - d", "constraint": "pairs within 1.2", "attributes": ["race"], "as": "a", "people": "d", "keep": [],
        "above": -1.2, "below": 1.2,
    }  # fmt: skip
    ratio, mean, floor, weights = (rows[key] for key in (
        ("nine tenths of a", "d / a"), ("against the mean within 1", "c - mean"), ("floor 12.5", "b"),
        ("a - 0.5 b - 0.5 c within 2", "a - 0.5 b - 0.5 c"),
    ))  # fmt: skip
    assert (ratio["as"], ratio["people"], ratio["above"], ratio["below"]) == ("d", "a", 0, None)
    assert (mean["as"], mean["people"], mean["above"], mean["below"]) == ("c", None, -1, 1)
    assert (floor["as"], floor["people"], floor["above"], floor["below"]) == ("b", None, 12.5, None)
    assert (weights["as"], weights["people"], weights["above"], weights["below"]) == (None, None, -2, 2)
    for arm, truth in zip(found["arms"], lender.truths(), strict=True):
        assert {row["name"]: row["value"] for row in arm["fairness"]} == pytest.approx(
            {name: value for name, value in truth.items() if name != "outcome"}, abs=1e-9
        )
        assert [row["holds"] for row in arm["fairness"]] == [
            lender.fair(row["name"], row["value"]) for row in arm["fairness"]
        ]
        assert arm["mu"] == pytest.approx(truth["outcome"]) and arm["zeta"] is None and arm["closest"] == "a - d"
        pair = arm["pairs"]["b|d"]
        assert (pair["gap"], pair["plain"], pair["spurious"]) == pytest.approx((truth["b - d"], truth["b - d"], 0.0))
        assert pair["direct"] - pair["indirect"] == pytest.approx(pair["gap"])
    assert found["best_fair_arm"] == "by race" and list(found["D"]) == PAIRS


def test_runs_start_from_a_log(problem: Path, tmp_path: Path, capsys: Any) -> None:
    log = written(tmp_path / "log.csv", lender.log(20_000, 2))
    flags = ("--log", log, "--confidence", "0.9", "--stop", "bayes-stop", "--pulls", "4000", "--seed", "1")
    found = document("identify", problem, *flags, capsys=capsys)
    assert {*keys(found)} <= documented("identify")
    assert found["log_rows"] == 20_000 and found["arm"] == "by race" and found["tolerance"] is None
    for arm, truth in zip(found["arms"], lender.truths(), strict=True):
        assert list(arm["gaps"]) == PAIRS and arm["gap_interval"] is None and arm["closest"] in truth
        for row in arm["fairness"]:
            sd = (row["interval"][1] - row["interval"][0]) / 3.92
            assert abs(row["value"] - truth[row["name"]]) <= 4 * sd and 0 <= row["holds_probability"] <= 1
    simulated = document("simulate", problem, "--log", log, "--algorithms", "pool", "--pulls", "500", "--runs", "4", capsys=capsys)  # fmt: skip
    assert {*keys(simulated)} <= documented("simulate") and simulated["log_rows"] == 20_000
    assert simulated["best_fair_arm"] == "by race" and simulated["results"][0]["error"] <= 0.5
    asked = ("groups", "attributes", "tolerance", "fairness")
    assert [found[key] for key in asked] == [simulated[key] for key in asked]


def test_a_plan_says_what_is_asked(problem: Path, capsys: Any) -> None:
    found = document("plan", problem, "--truths", "3", "--most-pulls", "100", capsys=capsys)
    assert {*keys(found)} <= documented("plan") and len(found["fairness"]) == 18 and found["groups"] == [*lender.GROUPS]


def test_certified_where_the_shares_are_known_and_said_why_not_where_not(problem: Path, tmp_path: Path, capsys: Any) -> None:  # fmt: skip
    log = written(tmp_path / "log.csv", lender.log(3000, 2))
    problem.write_text(lender.problem_file(shares=False))
    found = document("evaluate", problem, log, capsys=capsys)
    assert [said["code"] for said in found["not_certified_codes"]] == ["shares-not-known"]
    assert "declare problem.shares" in found["not_certified"][0] and found["certified_status"] == "UNDECIDED"
    assert all(row["certified_interval"] is None for arm in found["arms"] for row in arm["fairness"])


def test_looks_at_a_log_of_four_groups(problem: Path, tmp_path: Path, capsys: Any) -> None:
    problem.write_text(lender.problem_file(log='\n[log]\ntime = "day"\n'))
    rows = lender.log(6000, 4) | {"day": np.arange(6000)}
    looks = tmp_path / "looks.json"
    for number, until in ((1, 3000), (2, 6000)):
        log = written(tmp_path / "log.csv", {name: values[:until] for name, values in rows.items()})
        found = document("evaluate", problem, log, "--looks", looks, capsys=capsys)
        assert found["looks"] == "any" and found["look"] == {"number": number, "restarts": 0, "changed": False}
    assert found["by_time"]["rows"] > 4000


# ---- worked by hand: three groups, S -> V -> Y (tests/three_groups.toml) ----


def three_groups(tmp_path: Path, values: tuple[float, float], constraint: str) -> Path:
    text = THREE.replace("values = { no = 0, yes = 1 }", f"values = {{ no = {values[0]}, yes = {values[1]} }}")
    path = tmp_path / "three.toml"
    path.write_text(text.replace("tolerance = 0.12", constraint))
    assert "tolerance" not in path.read_text()
    return path


RATIOS = {
    # μ(a) = .45, μ(c) = .6 of arm 1; then 14.5 and 16
    (0, 1): {"a / b": 0.05, "b / a": 0.14, "a / c": -0.03, "c / a": 0.24, "b / c": 0.02, "c / b": 0.20},
    (10, 20): {"a / b": 2.5, "b / a": 3.4, "a / c": 1.7, "c / a": 4.4, "b / c": 2.2, "c / b": 4.0},
}


@pytest.mark.parametrize("values", RATIOS)
def test_a_ratio_is_one_of_outcomes_and_not_of_their_place_in_the_range(
    values: tuple[float, float], tmp_path: Path, capsys: Any
) -> None:
    """.45 is less than four fifths of .6, and 14.5 more than four fifths of 16."""
    problem, expected = three_groups(tmp_path, values, 'compare = "pairs"\nratio = 0.8'), RATIOS[values]
    found = document("inspect", problem, capsys=capsys)
    first = found["arms"][0]
    assert {row["name"]: row["value"] for row in first["fairness"]} == pytest.approx(expected, abs=1e-6)
    assert {row["name"]: row["holds"] for row in first["fairness"]} == {
        name: value > 0 for name, value in expected.items()
    }
    assert first["fair"] == (values == (10, 20)) and first["closest"] == "a / c"
    assert found["M"][1][0] == pytest.approx(1.357547, abs=1e-6)
    D = {pair: matrix[1][0] for pair, matrix in found["D"].items()}
    assert pytest.approx({"a|b": np.log(2), "b|a": np.log(2), "a|c": 1.041487, "c|a": 0.893147, "b|c": 1.041487, "c|b": 0.906504}, abs=1e-6) == D  # fmt: skip
    # a log whose shares are exactly those of arm 1 at work
    lines = [
        (s, v, y, round(1e6 * share * chance * (theta if y == "yes" else 1 - theta)))
        for s, share, high in (("a", 0.5, 0.5), ("b", 0.3, 0.6), ("c", 0.2, 0.8))
        for v, chance, theta in (("0", 1 - high, 0.2), ("1", high, 0.7))
        for y in ("no", "yes")
    ]
    problem.write_text(
        problem.read_text().replace("[problem]", '[problem]\ndeployed = "arm 1"', 1) + '\n[log]\ncount = "n"\n'
    )
    log = written(tmp_path / "log.csv", dict(zip(("S", "V", "Y", "n"), zip(*lines, strict=True), strict=True)))
    evaluated = document("evaluate", problem, log, capsys=capsys)
    assert evaluated["used"] == 1_000_000 and evaluated["findings"] == []
    width = values[1] - values[0]
    for row in evaluated["arms"][0]["fairness"]:
        assert row["value"] == pytest.approx(expected[row["name"]], abs=1e-4 * width)
        assert row["interval"][0] < expected[row["name"]] < row["interval"][1]
        assert row["certified_interval"][0] < expected[row["name"]] < row["certified_interval"][1]
        assert row["holds_probability"] == (expected[row["name"]] > 0)
    assert evaluated["arms"][0]["certified_fair"] == first["fair"]
    assert evaluated["certified_arm"] == ("arm 1" if first["fair"] else "arm 2")
