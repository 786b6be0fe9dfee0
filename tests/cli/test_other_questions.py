"""Attributes with causes, kept nodes and several attributes, by problem files, through the commands: numbers worked out by hand."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import worked_examples
from fairarm import Constraint, LogMap, NetworkWorld, load_problem
from fairarm.cli import main
from fairarm.problem.pulls import Request
from fairarm.readers.problem_writer import write_problem
from logs_of_worlds import WHERE, log_of
from worlds_fairarm import as_fairarm
from worlds_truth import Model

ROOT = Path(__file__).parents[2]
SIX = 5e-7
SO_MANY = 10**12
"""Rows of an exact log: a prior row in each of its cells, and chance in 4 000 draws, then move no mean by 5e-7."""


def written(path: Path, model: Model, *asked: dict[str, Any], where: LogMap | None = None, **options: Any) -> Path:
    """A problem file with its world, and where to find what in a log."""
    problem, network = as_fairarm(model, tolerance=None, constraints=[Constraint(**each) for each in asked], **options)
    write_problem(problem, path, network, columns=where)
    return path


def exact_log(path: Path, model: Model) -> Path:
    """The law of the rows that the first arm makes, as counts of so many rows."""
    made = log_of(model, SO_MANY)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(made), *zip(*made.values(), strict=True)])
    return path


def run(*arguments: str | Path, capsys: Any) -> tuple[int, str, str]:
    """Exit code, output and errors of a command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fairarm", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def document(*arguments: str | Path, capsys: Any) -> Any:
    code, out, err = run(*arguments, "--json", capsys=capsys)
    assert code == 0, err
    return json.loads(out, parse_constant=lambda constant: pytest.fail(constant))


def rows(arm: Any) -> dict[str, float]:
    return {row["name"]: row["value"] for row in arm["fairness"]}


def parts(gap: float, plain: float, direct: float, indirect: float, spurious: float) -> Any:
    found = {"gap": gap, "plain": plain, "direct": direct, "indirect": indirect, "spurious": spurious}
    return {name: pytest.approx(value, abs=SIX) for name, value in found.items()}


def test_w2_an_attribute_with_a_cause(tmp_path: Path, capsys: Any) -> None:
    found = document("inspect", written(tmp_path / "w2.toml", worked_examples.w2(), {"tolerance": 0.1}), capsys=capsys)
    (arm,) = found["arms"]
    assert rows(arm) == pytest.approx({"s0 as s1 - s0": 0.084, "s1 as s0 - s1": -0.156}, abs=SIX)
    assert [row["holds"] for row in arm["fairness"]] == [True, False] and arm["fair"] is False
    assert arm["closest"] == "s1 as s0 - s1" and arm["mu"] == pytest.approx(0.398, abs=SIX)
    assert arm["pairs"] == {
        "s1|s0": parts(0.084, 0.348, 0.084, 0.0, -0.264),
        "s0|s1": parts(-0.156, -0.348, -0.156, 0.0, 0.192),
    }
    assert found["blocks"] == [{"attributes": ["S"], "causes": ["Z"]}]
    assert (found["regimes"], found["regime_kind"]) == (["natural", "s0", "s1"], "recruited")
    assert {"node": "Z", "why": ["a cause of S"]} in found["why_observed"]
    assert found["M"] is None and found["D"] is None and found["phases"] is None and len(found["notes"]) == 1
    assert "without causes" in found["notes"][0] and arm["zeta"] is None and found["tolerance"] is None


def test_w3_what_is_kept_and_the_indirect_effect(tmp_path: Path, capsys: Any) -> None:
    asked = {"tolerance": 0.2, "keep": ("R",)}, {"tolerance": 0.2}, {"tolerance": 0.2, "effect": "indirect"}
    found = document("inspect", written(tmp_path / "w3.toml", worked_examples.w3(), *asked), capsys=capsys)
    (arm,) = found["arms"]
    expected = {
        "s0 as s1 - s0": 0.10, "s1 as s0 - s1": -0.10, "s0 - s1": -0.26,
        "s0 as s1 directly - s0 as s1": -0.16, "s1 as s0 directly - s1 as s0": 0.16,
    }  # fmt: skip
    assert rows(arm) == pytest.approx(expected, abs=SIX)
    assert arm["pairs"]["s1|s0"] == parts(0.10, 0.26, 0.10, -0.16, 0.0)
    assert [row["keep"] for row in found["fairness"]] == [["R"], ["R"], [], ["R"], ["R"]]


def test_w4_one_attribute_causes_another(tmp_path: Path, capsys: Any) -> None:
    asked = (
        {"tolerance": 0.3},
        {"attribute": "region", "tolerance": 0.3, "others": "held"},
        {"attributes": ("region", "race"), "compare": "mean", "tolerance": 0.2},
    )
    found = document("inspect", written(tmp_path / "w4.toml", worked_examples.w4(), *asked), capsys=capsys)
    (arm,) = found["arms"]
    assert arm["mu"] == pytest.approx(0.46, abs=SIX)
    assert rows(arm) == pytest.approx(
        {
            "region: region0 - region1": -0.36,
            "race: race0 as race1 - race0": 0.40, "race: race1 as race0 - race1": -0.40,
            "region: region0 as region1 - region0": 0.20, "region: region1 as region0 - region1": -0.20,
            "everyone as region=region0,race=race0 - mean": -0.26, "everyone as region=region0,race=race1 - mean": 0.14,
            "everyone as region=region1,race=race0 - mean": -0.06, "everyone as region=region1,race=race1 - mean": 0.34,
        },
        abs=SIX,
    )  # fmt: skip
    assert arm["pairs"]["race=race1|race=race0"] == parts(0.40, 0.483333333, 0.40, 0.0, -0.083333333)
    assert arm["pairs"]["region=region1|region=region0"] == parts(0.36, 0.36, 0.20, -0.16, 0.0)
    assert found["sensitive"] == ["region", "race"] and found["groups"] == []
    assert found["blocks"][1] == {"attributes": ["race"], "causes": ["region"]}


def test_w5_is_refused_in_one_line(tmp_path: Path, capsys: Any) -> None:
    path = written(tmp_path / "w5.toml", worked_examples.w5(True), {"tolerance": 0.1}, where=WHERE)
    path.write_text(path.read_text().replace("tolerance = 0.1,", 'tolerance = 0.1, keep = ["R"],'))
    log = exact_log(tmp_path / "w5.csv", worked_examples.w5(True))
    for command in (
        ["inspect", path],
        ["evaluate", path, log],
        ["inspect", path, "--json"],
        ["evaluate", path, log, "--json"],
    ):
        code, out, err = run(*command, capsys=capsys)
        assert code == 2 and not out
        said = " ".join(err.split())
        assert said.endswith("keep = ['R']: 'X' reaches the outcome through 'R' and past it. Keep 'X' too, or not 'R'.")


def test_w6_ratios_both_ways(tmp_path: Path, capsys: Any) -> None:
    found = document("inspect", written(tmp_path / "w6.toml", worked_examples.w6(), {"ratio": 0.8}), capsys=capsys)
    (arm,) = found["arms"]
    expected = {
        "s0 as s1 / s0": 0.495 - 0.8 * 0.36, "s0 / s0 as s1": 0.36 - 0.8 * 0.495,
        "s1 as s0 / s1": 0.84 - 0.8 * 0.855, "s1 / s1 as s0": 0.855 - 0.8 * 0.84,
    }  # fmt: skip
    assert rows(arm) == pytest.approx(expected, abs=SIX) and arm["closest"] == "s0 / s0 as s1"
    assert arm["pairs"]["s1|s0"] == parts(0.135, 0.495, 0.135, 0.0, -0.36)


def test_w7_berkeley_as_it_was(tmp_path: Path, capsys: Any) -> None:
    """The counts taken for the law: what the rule did, in all and within the department, and what a rule blind to sex would do."""
    asked = {"tolerance": 0.05, "keep": ("department",)}, {"tolerance": 0.05}
    found = document("inspect", written(tmp_path / "w7.toml", worked_examples.w7(), *asked), capsys=capsys)
    was, blind = found["arms"]
    expected = {"sex0 as sex1 - sex0": -0.001088, "sex1 as sex0 - sex1": 0.070969, "sex0 - sex1": -0.141645}
    assert rows(was) == pytest.approx(expected, abs=SIX)
    assert rows(blind) == pytest.approx(dict(zip(expected, (0.0, 0.0, -0.155721), strict=True)), abs=SIX)
    assert was["pairs"]["sex0|sex1"]["plain"] == pytest.approx(-0.141645, abs=SIX)


DIGITS: list[tuple[str, list[dict[str, Any]], list[float], dict[str, tuple[float, ...]]]] = [
    ("w2", [{"tolerance": 0.1}], [0.084, -0.156], {"s1|s0": (0.084, 0.348, 0.084, 0.0, -0.264)}),
    (
        "w3",
        [{"tolerance": 0.2, "keep": ("R",)}, {"tolerance": 0.2}, {"tolerance": 0.2, "effect": "indirect"}],
        [0.10, -0.10, -0.26, -0.16, 0.16],
        {"s1|s0": (0.10, 0.26, 0.10, -0.16, 0.0)},
    ),
    (
        "w4",
        [
            {"tolerance": 0.3},
            {"attribute": "region", "tolerance": 0.3, "others": "held"},
            {"attributes": ("region", "race"), "compare": "mean", "tolerance": 0.2},
        ],
        [-0.36, 0.40, -0.40, 0.20, -0.20, -0.26, 0.14, -0.06, 0.34],
        {
            "race=race1|race=race0": (0.40, 0.483333333, 0.40, 0.0, -0.083333333),
            "region=region1|region=region0": (0.36, 0.36, 0.20, -0.16, 0.0),
        },
    ),
    (
        "w6",
        [{"ratio": 0.8}],
        [0.495 - 0.8 * 0.36, 0.36 - 0.8 * 0.495, 0.84 - 0.8 * 0.855, 0.855 - 0.8 * 0.84],
        {"s1|s0": (0.135, 0.495, 0.135, 0.0, -0.36)},
    ),
    (
        "w7",
        [{"tolerance": 0.05, "keep": ("department",)}, {"tolerance": 0.05}],
        [-0.001088, 0.070969, -0.141645],
        {"sex0|sex1": (0.070969, -0.141645, 0.070969, 0.2126146, 0.0)},
    ),
]


@pytest.mark.parametrize(("name", "asked", "expected", "pairs"), DIGITS, ids=[each[0] for each in DIGITS])
def test_six_digits_from_an_exact_log(
    name: str,
    asked: list[dict[str, Any]],
    expected: list[float],
    pairs: dict[str, tuple[float, ...]],
    tmp_path: Path,
    capsys: Any,
) -> None:
    """Values that `evaluate` shows are posterior means: of 10^12 rows, six digits of the truth. W5 is refused (above); of the 4 526
    applicants themselves see `test_logs_of_worlds.py`."""
    model = getattr(worked_examples, name)()
    path, log = (
        written(tmp_path / f"{name}.toml", model, *asked, where=WHERE),
        exact_log(tmp_path / f"{name}.csv", model),
    )
    found = document("evaluate", path, log, capsys=capsys)
    was = found["arms"][0]
    assert [row["value"] for row in was["fairness"]] == pytest.approx(expected, abs=SIX)
    assert {pair: was["pairs"][pair] for pair in pairs} == {pair: parts(*each) for pair, each in pairs.items()}
    assert not found["findings"]
    if name == "w7":
        assert [row["value"] for row in found["arms"][1]["fairness"]] == pytest.approx([0.0, 0.0, -0.155721], abs=SIX)


def test_a_part_that_no_rows_could_tell_is_null(tmp_path: Path, capsys: Any) -> None:
    """region acts on race, and both have a hidden cause: what race would be with another region cannot be told, only what is held."""
    chance = worked_examples.chance
    nodes = {
        "H": chance((), lambda: 0.5),
        "region": chance(("H",), lambda h: (0.3, 0.6)[h]),
        "race": chance(("H", "region"), lambda h, g: 0.2 + 0.3 * h + 0.2 * g),
        "Y": worked_examples.SAME_AS_DECISION,
    }
    arm = chance(("region", "race"), lambda g, r: 0.2 + 0.2 * g + 0.4 * r)
    model = worked_examples.model("block", "H region race V Y", nodes, [arm], "region race", hidden=frozenset({"H"}))
    path = written(tmp_path / "block.toml", model, {"attribute": "region", "tolerance": 0.3, "others": "held"})
    found = document("inspect", path, capsys=capsys)
    gaps = found["arms"][0]["pairs"]["region=region1|region=region0"]
    assert gaps["gap"] == gaps["direct"] == pytest.approx(0.2, abs=SIX)
    assert gaps["indirect"] is None and gaps["spurious"] is None and gaps["plain"] > 0.2
    assert found["blocks"] == [{"attributes": ["region", "race"], "causes": []}]
    code, out, _ = run("inspect", path, capsys=capsys)
    assert code == 0 and "region and race share a hidden cause" in out and "?" in out


def test_every_command_answers_or_refuses_in_a_line(tmp_path: Path, capsys: Any) -> None:
    two = {"attributes": ("region", "race"), "tolerance": 0.2}
    files = [
        written(tmp_path / "w2.toml", worked_examples.w2(), {"tolerance": 0.1}),
        written(tmp_path / "w3.toml", worked_examples.w3(), {"tolerance": 0.2, "keep": ("R",)}),
        written(tmp_path / "w4.toml", worked_examples.w4(), {"tolerance": 0.3}, two),
        written(tmp_path / "w6.toml", worked_examples.w6(), {"ratio": 0.8}),
    ]
    commands = [
        ["identify", "--pulls", "200"], ["identify", "--pulls", "200", "--confidence", "0.9"],
        ["identify", "--pulls", "200", "--algorithm", "top-two"], ["identify", "--pulls", "2000", "--algorithm", "csr-v2"],
        ["identify", "--pulls", "200", "--algorithm", "mis"], ["identify", "--pulls", "200", "--algorithm", "uniform"],
        ["identify", "--pulls", "200", "--algorithm", "tf-lucb"], ["identify", "--pulls", "2000", "--algorithm", "two-stage-v2"],
        ["identify", "--pulls", "2000", "--algorithm", "sris-v2"], ["simulate", "--pulls", "100", "--runs", "2", "--algorithms", "pool"],
        ["simulate", "--pulls", "1000", "--runs", "2"], ["plan", "--truths", "3", "--pulls", "200"], ["inspect", "--limit"],
    ]  # fmt: skip
    answered = set()
    for path in files:
        for command, *options in commands:
            code, _, err = run(command, path, *options, capsys=capsys)
            if code:
                assert err.startswith("fairarm: ") and "Traceback" not in err, (path.name, command, options, err)
            else:
                answered.add((path.name, command, *options[:4]))
    for path in files:
        assert (path.name, "identify", "--pulls", "200") in answered and (path.name, "inspect", "--limit") in answered


@pytest.mark.parametrize("caused", [False, True], ids=["plain", "with a cause of S"])
def test_the_direct_effect_without_a_mediator_is_the_total(caused: bool, tmp_path: Path, capsys: Any) -> None:
    """The rows are the same, and every command answers."""
    nodes = {name: worked_examples.w3().functions[name] for name in ("S", "Y")}
    arm = worked_examples.chance(("S",), lambda s: 0.2 + 0.5 * s)
    model = worked_examples.w2() if caused else worked_examples.model("coin", "S V Y", nodes, [arm], "S")
    asked = {"tolerance": 0.2, "name": "the gap"}
    total = written(tmp_path / "total.toml", model, asked, deployed="arm 0")
    direct = written(tmp_path / "direct.toml", model, asked | {"effect": "direct"}, deployed="arm 0")
    assert load_problem(direct).problem.rows == load_problem(total).problem.rows
    log = logged(tmp_path / "log.csv", direct, 300)
    for command, *options in (
        ["inspect"], ["evaluate", log], ["identify", "--pulls", "50"],
        ["simulate", "--pulls", "50", "--runs", "1", "--algorithms", "pool"],
        ["plan", "--log", log, "--truths", "2", "--most-pulls", "32"],
    ):  # fmt: skip
        assert document(command, direct, *options, capsys=capsys)


def logged(path: Path, problem: Path, rows: int) -> Path:
    """Natural rows of the first arm, as a log."""
    given = load_problem(problem)
    world, columns = given.world, given.problem.observed
    assert isinstance(world, NetworkWorld)
    counts = np.zeros((len(given.problem.regimes), len(given.problem.arms)), dtype=np.int64)
    counts[0, 0] = rows
    batch = world.pull(Request(given.problem.arm_names, given.problem.regimes, counts), np.random.default_rng(1))
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(columns)
        states = {x: given.problem.variables[x].states or () for x in columns}
        for i, count in enumerate(batch.count):
            lines.writerows([[states[x][int(batch.columns[x][i])] for x in columns]] * int(count))
    return path


def test_a_log_is_evaluated_with_the_parts_of_gaps(tmp_path: Path, capsys: Any) -> None:
    """800 rows of W2 and W4: gaps lie within 0.1 of the truth (4 standard errors are 0.08)."""
    for name, model, pair, true in (
        ("w2", worked_examples.w2(), "s1|s0", (0.084, 0.348, 0.084, 0.0, -0.264)),
        ("w4", worked_examples.w4(), "race=race1|race=race0", (0.40, 0.483, 0.40, 0.0, -0.083)),
    ):
        path = written(tmp_path / f"{name}.toml", model, {"tolerance": 0.1}, deployed="arm 0")
        log, page = logged(tmp_path / f"{name}.csv", path, 800), tmp_path / f"{name}.html"
        found = document("evaluate", path, log, capsys=capsys)["arms"][0]["pairs"][pair]
        keys = ("gap", "plain", "direct", "indirect", "spurious")
        assert [found[key] for key in keys] == pytest.approx(true, abs=0.1)
        assert found["plain"] == pytest.approx(found["direct"] - found["indirect"] - found["spurious"], abs=1e-9)
        code, out, err = run("evaluate", path, log, "--report", page, capsys=capsys)
        assert code == 0, err
        for text in (out, page.read_text()):
            said = " ".join(text.split())
            assert (
                "Gaps, and what they are made of" in said
                and "Largest plain gap" in said
                and f"{found['gap']:+.4f}" in said
            )


def test_the_page_of_an_inspection_shows_graph_and_parts(tmp_path: Path, capsys: Any) -> None:
    asked = {"tolerance": 0.2, "keep": ("R",)}, {"tolerance": 0.2}
    path, page = written(tmp_path / "w3.toml", worked_examples.w3(), *asked), tmp_path / "w3.html"
    code, out, err = run("inspect", path, "--report", page, capsys=capsys)
    assert code == 0, err
    text = " ".join(page.read_text().split())
    assert (
        "How S reaches Y, with R unchanged" in text and "Arrows that count" in text and "Grey: stays as it is." in text
    )
    assert "people of group s0 would get 0.2600 more as s1 (allowed: less than 0.2)" in text
    for part in ("+0.1000", "-0.1600", "+0.2600"):
        assert part in text and part in out
    assert max(map(len, out.splitlines())) <= 200 and "largest D" not in text


def test_a_log_about_kept_nodes_says_what_groups_get_as_they_are(capsys: Any) -> None:
    folder = ROOT / "examples" / "berkeley"
    code, out, err = run("evaluate", folder / "same_department.toml", folder / "admissions.csv", capsys=capsys)
    assert code == 0, err
    assert "Largest plain gap: male - female 0.1416" in " ".join(out.split())


def test_simulate_runs_pool_alone_where_the_algorithms_of_the_paper_do_not_apply(capsys: Any) -> None:
    found = document("simulate", "synthetic-kept:K=4,m=3", "--pulls", "64", "--runs", "2", capsys=capsys)
    assert [result["algorithm"] for result in found["results"]] == ["pool"]
    plain = document("simulate", "coin", "--pulls", "64", "--runs", "2", capsys=capsys)
    assert [result["algorithm"] for result in plain["results"]] == ["pool", "csr-v2", "two-stage-v2"]


def test_parts_of_a_plain_problem_are_shown_where_they_say_something(tmp_path: Path, capsys: Any) -> None:
    """Berkeley with the department open: one part hides the other. Where no arm looks at the attribute, one sentence says so."""
    folder, page = ROOT / "examples" / "berkeley", tmp_path / "page.html"
    code, out, err = run(
        "evaluate", folder / "problem.toml", folder / "admissions.csv", "--report", page, capsys=capsys
    )
    assert code == 0, err
    for text in (out, page.read_text()):
        said = " ".join(text.split())
        assert (
            "Gaps, and what they are made of" in said
            and "= direct - indirect" in said
            and "spurious" not in said.lower()
        )
        assert "-0.1416" in said and "+0.0687" in said and "+0.2103" in said
    code, out, _ = run("inspect", "hepar2", "--report", page, capsys=capsys)
    for text in (out, page.read_text()):
        assert "All that these gaps are made of comes through PBC: nothing of them is direct." in " ".join(text.split())
    code, out, _ = run("inspect", "coin", capsys=capsys)
    assert "made of" not in out
