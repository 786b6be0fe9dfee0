"""The commands that read a log: evaluate, init, and --log on identify, simulate and plan."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm import Request, identify, load_problem, read_log
from fairarm.cli import main
from fairarm.cli.terminal import console

ROOT = Path(__file__).parents[2]
ROWS = 4_000
HEADER = ("sex", "query", "prediction", "revenue")
DOCUMENTED = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Natural rows of the deployed rule of the ad marketplace, one per person."""
    ads = load_problem("ad-marketplace")
    counts = np.zeros((3, 6), dtype=np.int64)
    counts[0, 0] = ROWS
    pulled = ads.world.pull(Request(ads.problem.arm_names, ads.problem.regimes, counts), np.random.default_rng(1))
    rows = pulled.labels(ads.problem)
    lines = [[rows[name][i] for name in HEADER] for i in range(pulled.size) for _ in range(pulled.count[i])]
    return written(tmp_path_factory.mktemp("logs") / "decisions.csv", lines)


@pytest.fixture
def holes(tmp_path: Path) -> Path:
    """A log with a row that has no outcome, and decisions that the deployed arm would not make so often."""
    full = [["female", "fashion", "high", "sale"], ["male", "travel", "low", "none"]]
    return written(tmp_path / "holes.csv", [*full * 10, ["female", "travel", "low", ""]])


def written(path: Path, lines: Sequence[Sequence[str]], header: Sequence[str] = HEADER) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *lines])
    return path


def run(*arguments: str | Path, capsys: Any) -> tuple[int, str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fairarm", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def done(*arguments: str | Path, capsys: Any) -> Any:
    """The document of a command that works."""
    code, out, err = run(*arguments, "--json", capsys=capsys)
    assert code == 0, err
    return strict(out)


def strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def keys(document: Any) -> Iterator[str]:
    """The names of all keys of a document, at any depth, but for those of pairs of groups."""
    if isinstance(document, list):
        for item in document:
            yield from keys(item)
    elif isinstance(document, dict):
        for name, item in document.items():
            if "|" not in name:
                yield name
            yield from keys(item)


def documented(section: str) -> set[str]:
    """The words in code type of one part of docs/json.md."""
    part = re.split(r"^## ", DOCUMENTED.partition(f"\n## {section}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    return set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", part))))


def refused(*arguments: str | Path, capsys: Any) -> str:
    """The last line of the error: a command that is refused has exit code 2, says why on one line, and prints nothing."""
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, out) == (2, ""), (arguments, out, err)
    lines = err.strip().splitlines()
    assert "Traceback" not in err and [line for line in lines if line.startswith("fairarm: ")] == lines[-1:]
    return lines[-1]


# ---- evaluate ----


@pytest.mark.parametrize(("width", "tables"), [(160, 1), (120, 2), (80, 3), (60, 4)])
def test_evaluate_shows_every_arm_and_what_it_rests_on(
    width: int, tables: int, log: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one table, or in several where the terminal is narrow, and one of what gaps are made of: no name and no number is cut."""
    monkeypatch.setattr(console, "_width", width)
    code, out, err = run("evaluate", "ad-marketplace", log, capsys=capsys)
    assert (code, err) == (0, "")
    assert "4,000 of 4,000 rows" in out and "Recommended: by-query (" in " ".join(out.split()) and "It rests on:" in out
    assert len(re.findall(r"^arm  ", out, re.MULTILINE)) == tables + 1
    assert max(map(len, out.splitlines())) <= width
    for arm in done("evaluate", "ad-marketplace", log, capsys=capsys)["arms"]:
        numbers = [f"{number:.3f}" for number in arm["outcome"].values()] + [
            f"{number:+.3f}" for number in arm["gap"].values()
        ]
        lines = " ".join(re.findall(rf"^{arm['name']} .*", out, re.MULTILINE))
        assert {*numbers, arm["support"]} <= {*lines.split()}


def test_the_document_of_evaluate(log: Path, capsys: Any) -> None:
    found = done("evaluate", "ad-marketplace", log, capsys=capsys)
    ads = load_problem("ad-marketplace")
    assert set(keys(found)) <= documented("evaluate")
    assert (found["problem"], found["rows"], found["used"], found["engine"]) == ("ad-marketplace", ROWS, ROWS, "duckdb")
    assert found["findings"] == found["fitted"] == found["not_certified"] == []
    assert found["arm"] == "by-query" and found["status"] == "FOUND"
    with log.open(newline="") as file:
        rows = list(csv.DictReader(file))
    worth = {"none": 0.0, "click": 4.0, "sale": 10.0}
    means = [np.mean([worth[r["revenue"]] for r in rows if r["sex"] == group]) for group in ("female", "male")]
    assert [group["mean"] for group in found["observed"]] == pytest.approx(means)
    assert found["plain_gap"] == pytest.approx(means[0] - means[1])
    truth = ads.world.truth()
    for arm, outcome, gap in zip(found["arms"], truth.outcomes, truth.gaps, strict=True):
        for number, true in ((arm["outcome"], outcome), (arm["gap"], gap)):
            assert number["certified_low"] < number["low"] < number["value"] < number["high"] < number["certified_high"]
            assert number["certified_low"] <= true <= number["certified_high"]
    assert {arm["name"]: arm["certified_fair"] for arm in found["arms"]}["deployed"] is True


def test_a_finding_and_a_fitted_arm_are_in_the_document(tmp_path: Path, holes: Path, capsys: Any) -> None:
    found = done("evaluate", "ad-marketplace", holes, capsys=capsys)
    assert set(keys(found)) <= documented("evaluate")
    assert [(f["name"], f["rows"], f["level"]) for f in found["findings"]][:1] == [("missing-outcomes", 1, "warning")]
    assert found["missing"]["rows"] == 1 and found["missing"]["how"] == "worst"
    assert all("missing-outcomes" not in why for why in found["not_certified"])
    stated = done("evaluate", "ad-marketplace", holes, "--missing", "at-random", capsys=capsys)
    assert stated["missing"]["how"] == "at random"
    assert "'ignore'" in refused("evaluate", "ad-marketplace", holes, "--missing", "ignore", capsys=capsys)
    folder = ROOT / "examples" / "berkeley"
    found = done("evaluate", folder / "problem.toml", folder / "admissions.csv", capsys=capsys)
    assert set(keys(found)) <= documented("evaluate")
    assert [(note["arm"], note["rows"]) for note in found["fitted"]] == [("as-it-was", 4526)]
    assert found["plain_gap"] == pytest.approx(557 / 1835 - 1198 / 2691)  # Bickel, Hammel and O'Connell, table 1
    assert not (tmp_path / "problem.toml").exists()


def test_the_same_seed_gives_the_same_output(log: Path, capsys: Any) -> None:
    arguments = ("evaluate", "ad-marketplace", log, "--json", "--seed")
    first, again, other = (run(*arguments, seed, capsys=capsys)[1] for seed in ("3", "3", "4"))
    assert first == again != other


def test_every_engine_gives_the_same_numbers(log: Path, capsys: Any) -> None:
    here = done("evaluate", "ad-marketplace", log, capsys=capsys)
    there = done("evaluate", "ad-marketplace", log, "--engine", "dask", capsys=capsys)
    assert (here.pop("engine"), there.pop("engine")) == ("duckdb", "dask")
    assert here == there


def test_options_of_evaluate(log: Path, capsys: Any) -> None:
    usual, wide, own = (
        done("evaluate", "ad-marketplace", log, *more, capsys=capsys)
        for more in ((), ("--confidence", "0.99"), ("--law", "estimated"))
    )
    assert wide["confidence"] == 0.99
    for a, b in zip(usual["arms"], wide["arms"], strict=True):
        assert b["gap"]["low"] < a["gap"]["low"] and b["gap"]["certified_high"] > a["gap"]["certified_high"]
    assert "declared ones" in " ".join(usual["assumptions"]) and "declared ones" not in " ".join(own["assumptions"])


def test_row_ids_are_looked_at_unless_told_not_to(log: Path, tmp_path: Path, capsys: Any) -> None:
    assert run("problems", "--save", "ad-marketplace", "--out", tmp_path / "ads.toml", capsys=capsys)[0] == 0
    problem = tmp_path / "ads.toml"
    problem.write_text(problem.read_text() + '\n[log]\nrow_id = "id"\n')
    with log.open(newline="") as file:
        rows = [[*row, str(i // 2)] for i, row in enumerate(list(csv.reader(file))[1:])]
    twice = written(tmp_path / "twice.csv", rows, (*HEADER, "id"))
    found = done("evaluate", problem, twice, capsys=capsys)
    same = sum(a == b for a, b in zip(rows[::2], rows[1::2], strict=True))
    expected = [("repeated-rows", same), ("duplicate-rows", ROWS // 2 - same)]
    assert [(f["name"], f["rows"]) for f in found["findings"]] == expected
    assert done("evaluate", problem, twice, "--no-row-ids", capsys=capsys)["findings"] == []


def test_looks_are_remembered(log: Path, tmp_path: Path, capsys: Any) -> None:
    assert run("problems", "--save", "ad-marketplace", "--out", tmp_path / "ads.toml", capsys=capsys)[0] == 0
    problem, looks = tmp_path / "ads.toml", tmp_path / "looks.json"
    problem.write_text(problem.read_text() + '\n[log]\ntime = "t"\n')
    with log.open(newline="") as file:
        lines = list(csv.reader(file))[1:]
    order = np.random.default_rng(1).permutation(len(lines))
    timed = written(tmp_path / "timed.csv", [[*lines[i], str(n)] for n, i in enumerate(order)], (*HEADER, "t"))
    for number in (1, 2):
        document = done("evaluate", problem, timed, "--looks", looks, capsys=capsys)
        assert document["looks"] == "any" and document["look"] == {"number": number, "restarts": 0, "changed": False}
        assert document["by_time"]["missing"] == 0 and document["by_time"]["rows"] > 3000
        assert {*keys(document)} <= documented("evaluate")
    assert "however often you look" in run("evaluate", problem, timed, capsys=capsys)[1]
    assert "log.time must be given" in refused("evaluate", "ad-marketplace", log, "--looks", looks, capsys=capsys)


def test_reports(log: Path, tmp_path: Path, capsys: Any) -> None:
    code, out, err = run("evaluate", "ad-marketplace", log, "--report", tmp_path / "log.html", "--json", capsys=capsys)
    assert code == 0 and strict(out)["arm"] == "by-query" and err == f"saved {tmp_path / 'log.html'}\n"
    page = (tmp_path / "log.html").read_text(encoding="utf-8")
    assert "by-query is the best fair arm: with probability 0.95 or more" in page and "default-src 'none'" in page
    more = ("identify", "coin", "--pulls", "100", "--report", tmp_path / "run.html")
    assert run(*more, capsys=capsys)[0] == 0 and (tmp_path / "run.html").stat().st_size > 1000
    said = refused("evaluate", "ad-marketplace", log, "--report", tmp_path / "log.pdf", capsys=capsys)
    assert ".html" in said and not (tmp_path / "log.pdf").exists()


# ---- init ----


def test_init_writes_a_file_that_loads_and_evaluates(log: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "draft.toml"
    found = done("init", log, "--out", out, "--decision", "prediction", "--outcome", "revenue", capsys=capsys)
    assert set(keys(found)) <= documented("init")
    assert found["saved"] == str(out) and "sensitive = sex" in found["to_confirm"]
    problem = load_problem(out, tolerance=0.2).problem
    assert (problem.sensitive, problem.decision, problem.outcome.node) == ("sex", "prediction", "revenue")
    evaluated = done("evaluate", out, log, "--tolerance", "0.2", capsys=capsys)
    assert (evaluated["used"], evaluated["arms"][0]["fitted"]) == (ROWS, True)
    assert evaluated["plain_gap"] == pytest.approx(found["plain_gap"]) and found["tolerance"] is None
    assert "--tolerance" in refused("evaluate", out, log, capsys=capsys)


def test_init_says_what_it_guessed_and_overwrites_nothing(log: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "draft.toml"
    code, said, _ = run("init", log, "--out", out, capsys=capsys)
    assert code == 0 and said.startswith(f"saved {out}\n") and "to confirm: the tolerance" in said
    before = out.read_text()
    assert "TO CONFIRM" in before
    assert "exists" in refused("init", log, "--out", out, capsys=capsys) and out.read_text() == before
    assert "'sexe'" in refused("init", log, "--out", tmp_path / "b.toml", "--sensitive", "sexe", capsys=capsys)
    assert not (tmp_path / "b.toml").exists()


def test_init_checks_where_it_writes_before_it_reads(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = tmp_path / "nowhere.csv"
    assert "does not exist. Make it first" in refused(
        "init", nowhere, "--out", tmp_path / "no" / "p.toml", capsys=capsys
    )
    assert "it is a folder" in refused("init", nowhere, "--out", tmp_path, capsys=capsys)
    monkeypatch.chdir(tmp_path)
    assert "cannot be written" in refused("init", nowhere, "--out", "x" * 300, capsys=capsys)


def test_init_does_not_write_through_a_link_to_nothing(log: Path, tmp_path: Path, capsys: Any) -> None:
    out, target = tmp_path / "draft.toml", tmp_path / "elsewhere.toml"
    out.symlink_to(target)
    assert "is a link to a file that is not there" in refused("init", log, "--out", out, capsys=capsys)
    assert out.is_symlink() and not target.exists()


def test_init_says_decisions_that_are_none(tmp_path: Path, capsys: Any) -> None:
    rows = ["sex,offer,repaid", *["f,a,1", "m,b,0", "f,b,0", "m,a,1"] * 30, "f,?,1", "m,,0"]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    found = done("init", path, "--out", tmp_path / "a.toml", capsys=capsys)
    assert set(keys(found)) <= documented("init") and found["drop"] == []
    assert found["unusable_decisions"] == [{"value": "?", "rows": 1}, {"value": "", "rows": 1}]
    _, said, _ = run("init", path, "--out", tmp_path / "b.toml", capsys=capsys)
    assert 'Lines without a usable decision: "?" (1), missing (1).' in " ".join(said.split())


# ---- a log as the start ----


def test_identify_starts_from_a_log(log: Path, capsys: Any) -> None:
    arguments = ("identify", "ad-marketplace", "--pulls", "200", "--seed", "3")
    cold, warm = (done(*arguments, *more, capsys=capsys) for more in ((), ("--log", log)))
    assert (cold["log_rows"], warm["log_rows"], warm["pulls"]) == (0, ROWS, 200)
    assert "log_rows" in documented("identify") & documented("simulate") & documented("plan")
    assert (cold["findings"], cold["fitted"], cold["dropped"]) == (warm["findings"], [], []) == ([], [], [])
    assert warm["arms"][2]["effective_rows"] > 5 * cold["arms"][2]["effective_rows"]
    assert warm == done(*arguments, "--log", log, capsys=capsys)
    sure = done(*arguments, "--log", log, "--confidence", "0.95", "--stop", "bayes-stop", capsys=capsys)
    assert (sure["status"], sure["arm"], sure["pulls"]) == ("FOUND", "by-query", 0)


def test_what_was_noticed_in_a_log_is_in_the_document_of_every_run_from_it(holes: Path, capsys: Any) -> None:
    for command, *more in (
        ("identify", "--pulls", "20"),
        ("simulate", "--algorithms", "uniform", "--pulls", "20", "--runs", "1"),
        ("plan", "--truths", "2", "--most-pulls", "32"),
    ):
        found = json.loads(run(command, "ad-marketplace", "--log", holes, *more, "--json", capsys=capsys)[1])
        assert {"findings", "fitted", "dropped"} <= documented(command) & set(found)
        first = found["findings"][0]
        assert (first["name"], first["level"]) == ("missing-outcomes", "warning")


def test_doubts_are_in_the_document_and_on_the_terminal(log: Path, holes: Path, capsys: Any) -> None:
    found = done("evaluate", "ad-marketplace", log, "--hidden-cause", "1.2", "--compare", capsys=capsys)
    assert set(keys(found)) <= documented("evaluate")
    hidden = found["hidden_cause"]
    assert hidden["strength"] == 1.2 and [arm["name"] for arm in hidden["arms"]] == [a["name"] for a in found["arms"]]
    assert {each["column"] for each in hidden["columns"]} == {"query", "sex"} and hidden["answer"]["strength"] > 1
    assert found["wrong_tables"]["together"] > 0 and len(found["side_by_side"]) == 6 * len(found["arms"])
    assert found["missing"] is None
    code, out, _ = run("evaluate", "ad-marketplace", log, "--hidden-cause", "1.2", "--compare", capsys=capsys)
    assert code == 0 and "With a hidden cause of at most 1.2" in out and "self-normalised" in out
    said = " ".join(out.split())
    assert (
        "If it were hidden, a recorded column would have had: query" in said
        and "declared tables are off by less than" in said
    )
    assert "1 outcome is missing" in " ".join(run("evaluate", "ad-marketplace", holes, capsys=capsys)[1].split())
    assert "from 1" in refused("evaluate", "ad-marketplace", log, "--hidden-cause", "0.5", capsys=capsys)


FITTED = """
format = 1
[problem]
name = "courses"
sensitive = "sex"
decision = "course"
outcome = { node = "passed", values = { no = 0, yes = 1 } }
tolerance = 0.3
edges = [["sex", "school"], ["school", "course"], ["course", "passed"]]
[problem.states]
sex = ["f", "m"]
school = ["A", "B"]
course = ["long", "short"]
passed = ["no", "yes"]
[[problem.arms]]
name = "as it is"
parents = ["school"]
[[problem.arms]]
name = "all long"
table = [1, 0]
[log]
made_by = "as it is"
count = "rows"
[[world.mechanisms]]
node = "sex"
table = [0.5, 0.5]
[[world.mechanisms]]
node = "school"
parents = ["sex"]
table = [[0.7, 0.3], [0.4, 0.6]]
[[world.mechanisms]]
node = "course"
parents = ["school"]
table = [[0.5, 0.5], [0.5, 0.5]]
[[world.mechanisms]]
node = "passed"
parents = ["course"]
table = [[0.2, 0.8], [0.6, 0.4]]
"""
LONG = {"A": 90, "B": 20}
"""Of 100 rows of a school, those that the rule as it is sent to the long course; 8 of 10 pass it, 4 of 10 the short one."""


def fitted_problem(folder: Path) -> tuple[Path, Path]:
    """A problem whose deployed rule is to be fitted, and a log that fixes its table."""
    problem = folder / "fitted.toml"
    problem.write_text(FITTED, encoding="utf-8")
    lines = [
        [sex, school, course, passed, str(rows * (share if passed == "yes" else 10 - share))]
        for sex in ("f", "m")
        for school, long in LONG.items()
        for course, rows, share in (("long", long, 8), ("short", 100 - long, 4))
        for passed in ("no", "yes")
    ]
    return problem, written(folder / "fitted.csv", lines, ("sex", "school", "course", "passed", "rows"))


@pytest.mark.parametrize("more", [(), ("--confidence", "0.9", "--stop", "bayes-stop")])
def test_a_run_from_a_log_fits_an_arm_and_pulls_it_as_fitted(
    more: tuple[str, ...], tmp_path: Path, capsys: Any
) -> None:
    problem, log = fitted_problem(tmp_path)
    common = (problem, "--log", log, *more)
    found = done("identify", *common, "--pulls", "2000", capsys=capsys)
    assert found["log_rows"] == 4000 and found["arm"] == "all long"
    tried = done("simulate", *common, "--algorithms", "pool", "--pulls", "200", "--runs", "3", capsys=capsys)
    assert tried["best_fair_arm"] == "all long" and tried["log_rows"] == 4000
    code, out, err = run("identify", *common, capsys=capsys)
    assert code == 0 and "mechanism of arm 'as it is' is fitted from 4000 rows" in " ".join(err.split())
    assert "The run started from 4000 rows of a log" in " ".join(out.split())


def test_a_fitted_arm_decides_by_the_table_of_the_log_in_the_world_too(tmp_path: Path) -> None:
    """The gap is then (0.7 - 0.4) (0.9 - 0.2) (0.8 - 0.4) = 0.084; by the world's own table it would be 0."""
    problem, log = fitted_problem(tmp_path)
    scenario = load_problem(str(problem))
    read = read_log(scenario, str(log))
    found = identify(read.problem, scenario.world, pulls=500, log=read.batch)
    assert found.truth is not None
    assert found.truth.gaps == pytest.approx([0.084, 0.0], abs=1e-3)


def test_a_fitted_arm_is_not_certified_and_needs_a_log(tmp_path: Path, capsys: Any) -> None:
    problem, log = fitted_problem(tmp_path)
    said = refused("identify", problem, "--log", log, "--confidence", "0.9", capsys=capsys)
    assert "'as it is' was fitted from rows" in said and "Use stop=bayes-stop, or declare its table." in said
    assert "with --log" in refused("identify", problem, capsys=capsys)


def test_simulate_and_plan_start_from_a_log(log: Path, capsys: Any) -> None:
    arguments = ("simulate", "ad-marketplace", "--algorithms", "pool", "--pulls", "50", "--runs", "20")
    cold, warm = (done(*arguments, *more, capsys=capsys) for more in ((), ("--log", log)))
    assert (cold["log_rows"], warm["log_rows"]) == (0, ROWS)
    assert warm["results"][0]["errors"] == 0 < cold["results"][0]["errors"]
    planned = done("plan", "ad-marketplace", "--truths", "20", "--log", log, capsys=capsys)
    assert (planned["log_rows"], planned["options"][planned["cheapest"]]["pulls"]) == (ROWS, 0)
    assert planned["prior_mean"] is None


@pytest.mark.parametrize("asked", [("--confidence", "0.9"), ("-o", "confidence=0.9")])
@pytest.mark.parametrize("command", [("identify",), ("simulate", "--runs", "2", "--algorithms", "pool")])
def test_nothing_is_certified_from_a_log_with_a_fault(
    command: tuple[str, ...], asked: tuple[str, ...], holes: Path, capsys: Any
) -> None:
    arguments = (*command, "ad-marketplace", "--log", holes, "--pulls", "60", *asked)
    assert "decisions-do-not-fit" in refused(*arguments, capsys=capsys)
    code, out, err = run(*arguments, "--stop", "bayes-stop", "--json", capsys=capsys)
    assert code == 0 and strict(out)["log_rows"] == 20 and "missing-outcomes: 1 of 21 rows" in err


def test_missing_outcomes_are_charged_in_one_run_and_refused_in_many_at_once(
    log: Path, tmp_path: Path, capsys: Any
) -> None:
    header, *lines = csv.reader(log.read_text(encoding="utf-8").splitlines())
    at = header.index("revenue")
    gone = [[*line[:at], "" if i % 50 == 0 else line[at], *line[at + 1 :]] for i, line in enumerate(lines)]
    arguments = ("ad-marketplace", "--log", written(tmp_path / "gone.csv", gone, header), "--pulls", "60")
    code, out, err = run("identify", *arguments, "--confidence", "0.9", "--json", capsys=capsys)
    (finding,) = strict(out)["findings"]
    assert code == 0 and finding["level"] == "warning" and "would hurt the answer most" in finding["message"] in err
    many = ("simulate", *arguments, "--runs", "2", "--algorithms", "pool", "--confidence", "0.9")
    assert "many runs at once do not" in refused(*many, capsys=capsys)


def test_algorithms_for_which_a_log_counts_nothing_refuse_it(log: Path, capsys: Any) -> None:
    said = refused("identify", "ad-marketplace", "--algorithm", "csr-v1", "--log", log, capsys=capsys)
    assert "cannot start from a log" in said and "pool" in said


# ---- errors ----


@pytest.mark.parametrize("command", ["evaluate", "identify", "simulate", "plan"])
def test_a_log_that_cannot_be_read(command: str, log: Path, tmp_path: Path, capsys: Any) -> None:
    def said(path: Path, *more: str) -> str:
        given = (path,) if command == "evaluate" else ("--log", path)
        return refused(command, "ad-marketplace", *given, *more, capsys=capsys)

    assert "no such file" in said(tmp_path / "nowhere.csv")
    lacking = written(tmp_path / "lacking.csv", [["female", "travel", "low"]], HEADER[:3])
    assert "no column 'revenue'" in said(lacking)
    assert "no rows" in said(written(tmp_path / "empty.csv", []))
    assert "no engine 'spark'" in said(log, "--engine", "spark")
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 is not enough")
    assert "torn.parquet" in said(tmp_path / "torn.parquet")


@pytest.mark.parametrize("command", ["identify", "simulate", "plan"])
def test_an_engine_needs_a_log(command: str, capsys: Any) -> None:
    assert "--log" in refused(command, "coin", "--engine", "duckdb", capsys=capsys)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (("--law", "guessed"), "--law"),
        (("--confidence", "1"), "confidence"),
        (("--margin", "-1"), "margin"),
    ],
)
def test_options_that_are_wrong(given: tuple[str, ...], part: str, log: Path, capsys: Any) -> None:
    assert part in refused("evaluate", "ad-marketplace", log, *given, capsys=capsys)


@pytest.mark.parametrize("margin", ["-1", "nan", "inf"])
def test_a_run_refuses_a_margin_that_is_no_distance(margin: str, capsys: Any) -> None:
    assert "margin" in refused("identify", "coin", "--pulls", "100", "--margin", margin, capsys=capsys)


def test_init_of_nothing(tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "draft.toml"
    assert "no such file" in refused("init", tmp_path / "nowhere.csv", "--out", out, capsys=capsys)
    assert "no rows" in refused("init", written(tmp_path / "empty.csv", []), "--out", out, capsys=capsys)
    assert not out.exists()


def test_an_answer_can_be_required(log: Path, capsys: Any) -> None:
    """Exit code 3 after the output where the status is UNDECIDED, 0 where it is not; without the option always 0."""
    assert run("evaluate", "ad-marketplace", log, "--require-answer", capsys=capsys)[0] == 0
    code, out, _ = run(
        "evaluate", "ad-marketplace", log, "--tolerance", "0.07", "--require-answer", "--json", capsys=capsys
    )
    found = strict(out)
    assert (code, found["status"], found["arm"], found["reason"]) == (3, "UNDECIDED", None, "fairness-open")
    assert run("evaluate", "ad-marketplace", log, "--tolerance", "0.07", capsys=capsys)[0] == 0
    for algorithm, reason in (("uniform", "no-probability"), ("pool", "arms-too-close")):
        given = ("identify", "ad-marketplace", "--pulls", "100", "--algorithm", algorithm, "--require-answer", "--json")
        code, out, _ = run(*given, capsys=capsys)
        assert (code, strict(out)["reason"], strict(out)["arm"]) == (3, reason, None)
        assert strict(out)["recommended"] is not None


def test_the_margin_is_a_part_of_the_standard_deviation_unless_given(log: Path, capsys: Any) -> None:
    with log.open(newline="") as file:
        worth = [{"none": 0.0, "click": 4.0, "sale": 10.0}[row["revenue"]] for row in csv.DictReader(file)]
    usual, exact = (done("evaluate", "ad-marketplace", log, *more, capsys=capsys) for more in ((), ("--margin", "0")))
    assert usual["margin"] == pytest.approx(0.05 * np.std(worth)) and exact["margin"] == 0
    assert usual["loss_at_most"] == exact["loss_at_most"] >= 0
