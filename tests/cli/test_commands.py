"""The command: contracts of --json, exit codes, one-line errors, the same seed the same output."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm.cli import main
from fairarm.problem.constraint import Constraint
from fairarm.readers.problem_writer import write_problem
from many_groups import many_groups


def run(*arguments: str, capsys: Any) -> tuple[int, str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fairarm", *arguments])
        try:
            main()
            code: Any = 0
        except SystemExit as end:
            code = end.code
    out, err = capsys.readouterr()
    return int(code or 0), out, err


def strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def test_hepar2_has_the_published_truths(capsys: Any) -> None:
    """μ_k = 0.057080 + 0.165594 f_k and μ_k(male) − μ_k(female) = −0.044029 + 0.007732 f_k, from the published tables."""
    code, out, _ = run("inspect", "hepar2", "--json", capsys=capsys)
    found = strict(out)
    assert code == 0
    assert sorted(found["observed_nodes"]) == sorted(["sex", "age", "PBC", "ChHepatitis", "fibrosis", "carcinoma"])
    assert found["relevant_children"] == ["PBC"]
    chances = np.random.default_rng(0).random((10, 3)) @ [0.12900, 0.05167, 0.81933]  # P(ChHepatitis)
    sign = 1 if found["groups"] == ["male", "female"] else -1
    for f, arm in zip(chances, found["arms"], strict=True):
        assert arm["mu"] == pytest.approx(0.057080 + 0.165594 * f, abs=5e-6)
        assert sign * arm["zeta"] == pytest.approx(-0.044029 + 0.007732 * f, abs=5e-6)
        assert arm["fair"] is True
    best = int(np.argmax(chances))
    assert found["best_fair_arm"] == found["arms"][best]["name"]


def test_inspect_keys(capsys: Any) -> None:
    found = strict(run("inspect", "ad-marketplace", "--pulls", "1e4", "--json", capsys=capsys)[1])
    K = len(found["arms"])
    assert np.shape(found["M"]) == (K, K)
    assert list(found["D"]) == ["female|male", "male|female"]
    assert 0 < found["v_star"] < 1
    assert found["best_fair_arm"] == "by-query"
    assert {arm["name"]: arm["fair"] for arm in found["arms"]}["by-sex"] is False


def test_inspect_without_a_world_knows_no_truth(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "coin.toml"
    assert run("problems", "--save", "coin", "--out", str(path), capsys=capsys)[0] == 0
    path.write_text(path.read_text().split("[world")[0])
    found = strict(run("inspect", str(path), "--json", capsys=capsys)[1])
    assert found["best_fair_arm"] is None and found["arms"][0]["mu"] is None and found["arms"][0]["zeta"] is None
    code, _, err = run("identify", str(path), capsys=capsys)
    assert code == 2 and "no world" in err


def test_infinite_divergence_is_the_string_inf(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "coin.toml"
    run("problems", "--save", "coin", "--out", str(path), capsys=capsys)
    text = path.read_text()
    path.write_text(text.replace("        0.75,\n        0.25,", "        1.0,\n        0.0,", 1))
    assert path.read_text() != text
    found = strict(run("inspect", str(path), "--json", capsys=capsys)[1])
    assert found["M"][0][1] == "inf"


def test_identify_is_the_same_for_the_same_seed(capsys: Any) -> None:
    arguments = ("identify", "ad-marketplace", "--pulls", "3000", "--seed", "7", "--json")
    first, second = (strict(run(*arguments, capsys=capsys)[1]) for _ in range(2))
    assert first == second
    assert first["status"] == "FOUND" and first["correct"] is True and first["pulls"] <= 3000
    assert sum(phase["pulls"] for phase in first["story"]) == first["pulls"]
    other = strict(run(*arguments[:4], "--seed", "8", "--json", capsys=capsys)[1])
    assert other["arms"] != first["arms"]


def test_simulate_contract(capsys: Any) -> None:
    code, out, _ = run(
        "simulate",
        "coin",
        "--algorithms",
        "csr-v2,uniform",
        "--pulls",
        "300,1000",
        "--runs",
        "60",
        "--json",
        capsys=capsys,
    )
    keys = [
        "algorithm",
        "pulls",
        "runs",
        "errors",
        "error",
        "error_low",
        "error_high",
        "none_rate",
        "wrong_rate",
        "undecided_rate",
        "mean_cost",
        "mean_pulls",
        "pulls_per_limit",
        "seconds",
    ]
    results = strict(out)["results"]
    assert code == 0
    assert [(r["algorithm"], r["pulls"]) for r in results] == [
        (a, p) for a in ("csr-v2", "uniform") for p in (300, 1000)
    ]
    for r in results:
        assert list(r) == keys
        assert r["error"] == r["errors"] / r["runs"] and r["error_low"] <= r["error"] <= r["error_high"]


def test_simulate_does_not_depend_on_jobs(capsys: Any) -> None:
    arguments = ("simulate", "coin", "--pulls", "30,100", "--runs", "130", "--seed", "3", "--json")
    answers = []
    for jobs in ("1", "2"):
        results = strict(run(*arguments, "--jobs", jobs, capsys=capsys)[1])["results"]
        answers.append([{k: v for k, v in r.items() if k != "seconds"} for r in results])
    assert answers[0] == answers[1]


def test_tables_and_story_are_printed(capsys: Any) -> None:
    assert "by-query" in run("identify", "ad-marketplace", "--pulls", "2000", capsys=capsys)[1]
    assert "best fair arm" in run("inspect", "coin", capsys=capsys)[1]
    assert "synthetic-tight" in run("problems", capsys=capsys)[1]
    assert (
        "uniform"
        in run("simulate", "coin", "--algorithms", "uniform", "--pulls", "100", "--runs", "5", capsys=capsys)[1]
    )
    assert "ProblemEntry" in run("schema", capsys=capsys)[1]
    assert "fairarm 0." in run("--version", capsys=capsys)[1]


def test_plot_is_the_same_for_the_same_seed(capsys: Any, tmp_path: Path) -> None:
    files = []
    for name in ("one.svg", "two.svg"):
        path = tmp_path / name
        run("simulate", "coin", "--pulls", "100,300", "--runs", "20", "--plot", str(path), capsys=capsys)
        files.append(path.read_bytes())
    assert files[0] == files[1] and files[0].startswith(b"<?xml")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("inspect", "coyn"), "Did you mean 'coin'"),
        (("inspect", ""), "is empty"),
        (("problems", "--out", "x.toml"), "--save"),
        (("inspect", "nowhere.toml"), "nowhere.toml: no such file"),
        (("inspect", "synthetic-tight:Q=3"), "no parameter 'Q'"),
        (("inspect", "synthetic-tight:K=3,K=4"), "twice"),
        (("inspect", "synthetic-tight:K=many"), "whole number"),
        (("inspect", "synthetic-tight:noisy=1"), "no parameter 'noisy'"),
        (("inspect", "coin", "--pulls", "0"), "--pulls"),
        (("inspect", "coin", "--pulls", "1.5"), "--pulls"),
        (("inspect", "coin", "--pulls", "lots"), "--pulls"),
        (("identify", "coin", "--algorithm", "csr-v3"), "no algorithm 'csr-v3'"),
        (("identify", "coin", "--algorithm", "csr-v2", "-o", "clip_base=10"), "It can be: 2, e"),
        (("identify", "coin", "-o", "clip"), "KEY=VALUE"),
        (("identify", "coin", "-o", "colour=red"), "no option 'colour'"),
        (("identify", "coin", "--algorithm", "uniform", "-o", "clip_base=e"), "'uniform' has no option"),
        (("simulate", "coin", "--plot", "figure.doc"), "A figure is saved as"),
        (("simulate", "coin", "--plot", "nowhere/figure.svg"), "does not exist"),
        (("simulate", "coin", "--algorithms", "csr-v2,"), "no algorithm ''"),
        (("problems", "--save", "coin", "--out", "/nowhere/coin.toml"), "cannot be written"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments: tuple[str, ...], expected: str, capsys: Any) -> None:
    code, out, err = run(*arguments, capsys=capsys)
    assert code == 2 and out == ""
    assert err.startswith("fairarm: ") and err.count("\n") == 1
    assert expected in err


@pytest.mark.parametrize(
    "arguments",
    [("identify",), ("simulate", "coin", "--runs", "0"), ("simulate", "coin", "--job", "2"), ("find", "coin")],
)
def test_usage_errors_are_one_line_and_exit_code_2(arguments: tuple[str, ...], capsys: Any) -> None:
    code, out, err = run(*arguments, capsys=capsys)
    assert code == 2 and out == ""
    assert err.startswith("fairarm: ") and err.count("\n") == 1 and "--help" in err


@pytest.mark.parametrize("command", ["identify", "simulate"])
@pytest.mark.parametrize(
    "key", ["pulls", "problem", "world", "seed", "log", "name", "algorithm", "algorithms", "on_phase", "on-done", "limit", "runs", "jobs", "state", ""]
)  # fmt: skip
def test_a_name_that_is_no_option_of_the_algorithm_is_one_line(command: str, key: str, capsys: Any) -> None:
    """Also where it is the name of something else that the command has."""
    code, out, err = run(command, "coin", "-o", f"{key}=3", capsys=capsys)
    assert code == 2 and not out and err.count("\n") == 1
    assert f"option '{key.replace('-', '_')}'" in err and "confidence" in err


def test_without_arguments_the_help_is_shown(capsys: Any) -> None:
    code, out, _ = run(capsys=capsys)
    assert code == 0 and "identify" in out


def command(script: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, env={**os.environ, "PATH": path})


def test_a_reader_that_leaves_is_no_error() -> None:
    done = command("set -o pipefail; fairarm inspect hepar2 --json | head -1")
    assert done.returncode == 0 and done.stderr == ""


def test_output_that_cannot_be_written_is_one_line() -> None:
    done = command("fairarm inspect coin > /dev/full")
    assert done.returncode == 2 and done.stderr.startswith("fairarm: ") and done.stderr.count("\n") == 1


def test_a_terminal_without_unicode_is_served() -> None:
    done = command("PYTHONIOENCODING=ascii fairarm inspect ad-marketplace")
    assert done.returncode == 0 and done.stderr == ""


def test_interruption_is_one_line_and_exit_code_130() -> None:
    """The signal comes in the middle of the first phase."""
    script = (
        "import os, signal, sys\n"
        "from fairarm.algorithms.pool import Pool\n"
        "from fairarm.cli import main\n"
        "step = Pool.step\n"
        "Pool.step = lambda *given: (os.kill(os.getpid(), signal.SIGINT), step(*given))[1]\n"
        "sys.argv = ['fairarm', 'simulate', 'hepar2']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "fairarm: interrupted.\n")


def test_a_pipe_gets_whole_names_and_numbers(capsys: Any) -> None:
    _, out, _ = run("inspect", "ad-marketplace", capsys=capsys)
    assert "electronics-first" in out and "…" not in out


def test_a_tolerance_that_no_phase_can_reach_is_said(capsys: Any) -> None:
    assert "can show no arm" in " ".join(run("inspect", "hepar2-binding", "--pulls", "10", capsys=capsys)[1].split())


def test_saving_never_overwrites(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("precious")
    code, _, err = run("problems", "--save", "coin", "--out", str(path), capsys=capsys)
    assert code == 2 and "exists" in err and path.read_text() == "precious"


# ---- pool, stopping, planning ----


def test_identify_runs_pool_by_default_and_says_how_sure_it_is(capsys: Any) -> None:
    code, out, _ = run("identify", "ad-marketplace", "--pulls", "400", "--seed", "7", "--json", capsys=capsys)
    found = strict(out)
    assert code == 0 and found["algorithm"] == "pool" and found["guarantee"] == "posterior"
    assert found["leader"] == found["arm"] and 0 < found["probability"] <= 1 and found["method"] == "cell means"
    total = found["none_probability"] + sum(arm["best_probability"] for arm in found["arms"])
    assert abs(total - 1) < 1e-9
    for arm in found["arms"]:
        assert arm["outcome_interval"][0] <= arm["outcome"] <= arm["outcome_interval"][1]
        assert 0 <= arm["fair_probability"] <= 1 and 0 <= arm["overlap"] <= 1 + 1e-9 and arm["effective_rows"] > 0
    mixture = found["mixture"]["best"]
    assert abs(sum(mixture["shares"].values()) - 1) < 1e-9 and mixture["fair_probability"] >= 0.95


def test_the_two_ways_to_stop_are_named_apart(capsys: Any) -> None:
    outputs = {}
    for stop in ("certified", "bayes-stop"):
        flags = ("--pulls", "20000", "--seed", "3", "--confidence", "0.9", "--stop", stop)
        code, out, _ = run("identify", "ad-marketplace", *flags, "--json", capsys=capsys)
        found = strict(out)
        assert code == 0 and found["guarantee"] == stop and found["confidence"] == 0.9
        assert found["pulls"] < 20_000
        outputs[stop] = found["pulls"]
        _, text, _ = run("identify", "ad-marketplace", *flags, capsys=capsys)
        assert ("Certified: wrong with probability at most 0.1" in text) == (stop == "certified")
        assert ("not proved" in text) == (stop == "bayes-stop")
    assert outputs["bayes-stop"] < outputs["certified"]


def test_certified_at_the_cap_is_undecided(capsys: Any) -> None:
    code, out, _ = run("identify", "ad-marketplace", "--pulls", "60", "--confidence", "0.99", "--json", capsys=capsys)
    assert code == 0 and strict(out)["status"] == "UNDECIDED"


def test_options_of_pool_are_checked(capsys: Any) -> None:
    for flags in (
        ("--confidence", "1.5"),
        ("--confidence", "0.9", "--stop", "never"),
        ("--min-fair-probability", "2"),
        ("--option", "law=guessed"),
        ("--option", "clip_base=e"),
    ):
        code, out, err = run("identify", "coin", "--pulls", "50", *flags, capsys=capsys)
        assert code == 2 and not out and err.startswith("fairarm: ") and err.count("\n") == 1, flags


def test_simulate_gives_an_option_to_the_algorithms_that_have_it(capsys: Any) -> None:
    flags = ("--pulls", "2000", "--runs", "20", "--confidence", "0.9", "--stop", "bayes-stop", "--limit", "--json")
    code, out, _ = run("simulate", "coin", "--algorithms", "pool,uniform", *flags, capsys=capsys)
    pool, uniform = strict(out)["results"]
    assert code == 0 and pool["mean_pulls"] < uniform["mean_pulls"] == 2000
    assert pool["pulls_per_limit"] < uniform["pulls_per_limit"]
    code, _, err = run("simulate", "coin", "--algorithms", "uniform", "--confidence", "0.9", capsys=capsys)
    assert code == 2 and "confidence" in err


def test_inspect_shows_the_limit(capsys: Any) -> None:
    code, out, _ = run("inspect", "ad-marketplace", "--limit", "--pulls", "1000", "--json", capsys=capsys)
    found = strict(out)
    assert code == 0 and found["limit"]["pulls"] < found["limit_with_costs"]["pulls"]
    assert found["limit"]["binding"][0]["arm"] in {arm["name"] for arm in found["arms"]}
    assert run("inspect", "ad-marketplace", "--limit", capsys=capsys)[1].count("T* =") == 2


def test_plan_prints_a_plan_and_draws_it(capsys: Any, tmp_path: Path) -> None:
    flags = ("--truths", "20", "--target-error", "0.3", "--seed", "2")
    code, out, _ = run("plan", "ad-marketplace", *flags, "--json", capsys=capsys)
    found = strict(out)
    assert code == 0 and found["options"][found["cheapest"]]["pulls"] is not None
    figure = tmp_path / "plan.svg"
    code, out, err = run("plan", "ad-marketplace", *flags, "--plot", str(figure), capsys=capsys)
    assert code == 0 and "cheapest" in out and figure.stat().st_size > 1000 and "saved" in err
    code, _, err = run("plan", "coin", "--target-error", "2", capsys=capsys)
    assert code == 2 and "target error" in err


ORDER = [
    "init",
    "evaluate",
    "inspect",
    "plan",
    "identify",
    "simulate",
    "study",
    "serve",
    "problems",
    "algorithms",
    "paper",
    "schema",
]


@pytest.mark.parametrize("width", [60, 80])
def test_help_lists_the_commands_in_the_order_of_use_and_cuts_nothing(width: int, capsys: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        texts = {name: run(*name, "--help", capsys=capsys)[1] for name in ((), *((command,) for command in ORDER))}
    listed = [line.split()[0] for line in texts[()].partition("Commands:")[2].splitlines() if line.strip()]
    assert listed == ORDER
    for text in texts.values():
        body = text.partition("\n\n")[2]
        assert "..." not in body and max(map(len, body.splitlines())) <= width
    assert "Runs per point" in texts[("simulate",)]


@pytest.mark.parametrize(
    "arguments",
    [
        ("problems",),
        ("algorithms",),
        ("inspect", "coin", "--report", "inspect.html"),
        ("identify", "coin", "--pulls", "100", "--report", "identify.html"),
        ("simulate", "coin", "--runs", "3", "--pulls", "100", "--plot", "s.svg", "--report", "simulate.html"),
        ("plan", "coin", "--truths", "5", "--target-error", "0.4", "--plot", "p.svg"),
        ("schema",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_standard_output_holds_the_document_alone(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*arguments, *(() if arguments == ("schema",) else ("--json",)), capsys=capsys)
    assert code == 0 and strict(out)
    assert err.count("saved ") == sum(flag in ("--plot", "--report") for flag in arguments)


def test_declared_numbers_are_shown_with_six_digits(tmp_path: Path, capsys: Any) -> None:
    """On the terminal and on the page."""
    asked = (Constraint(tolerance=0.123456), Constraint(compare="floor", at_least=0.234567))
    write_problem(many_groups(1, constraints=asked).problem, tmp_path / "asked.toml")
    page = tmp_path / "asked.html"
    code, out, _ = run("inspect", str(tmp_path / "asked.toml"), "--report", str(page), capsys=capsys)
    assert code == 0
    for text in (out, page.read_text(encoding="utf-8")):
        assert "0.123456" in text and "0.234567" in text
