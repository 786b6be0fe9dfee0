"""Live studies on the command line: tables, documents, figures, and what is refused."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from fairarm.cli import main

LIVE = (
    "simulate",
    "coin",
    "--live",
    "--people",
    "50,100",
    "--arrivals",
    "200",
    "--window",
    "2d",
    "--runs",
    "2",
    "--pulls",
    "600",
    "--seed",
    "1",
)
PLAN = (
    "plan",
    "coin",
    "--window",
    "2d",
    "--arrivals",
    "200",
    "--people",
    "100",
    "--truths",
    "2",
    "--most-pulls",
    "400",
)
DOCUMENTED = (
    (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8").partition("\n## Live studies\n")[2]
)
WORDS = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", DOCUMENTED.partition("\n## ")[0]))))


def run(*arguments: str, capsys: Any) -> tuple[int, str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fairarm", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.mark.parametrize("arguments", [LIVE, PLAN], ids=["simulate", "plan"])
def test_the_document_has_the_keys_that_are_listed(arguments: tuple[str, ...], capsys: Any) -> None:
    code, out, _ = run(*arguments, "--json", capsys=capsys)
    found = json.loads(out)
    assert code == 0 and {*found, *found["results"][0]} <= WORDS
    assert [point["people"] for point in found["results"]] == ([50, 100] if arguments is LIVE else [100])
    again = json.loads(run(*arguments, "--json", capsys=capsys)[1])
    for document in (found, again):
        for point in document["results"]:
            del point["seconds"]
    assert json.dumps(again) == json.dumps(found)


@pytest.mark.parametrize("arguments", [LIVE, PLAN], ids=["simulate", "plan"])
def test_the_table_and_the_figure(arguments: tuple[str, ...], capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "days.svg"
    code, shown, err = run(*arguments, "--plot", str(path), capsys=capsys)
    out = " ".join(shown.split())
    assert (
        code == 0
        and "people a cohort" in out
        and "200 people arrive in a day" in out
        and "an outcome counts for 2d" in out
    )
    assert path.read_text(encoding="utf-8").startswith("<?xml") and "saved" in err
    assert ("Phases that wait" in out) == (arguments is LIVE) and ("truths drawn from a prior" in out) == (
        arguments is PLAN
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("simulate", "coin", "--live", "--people", "50"), "needs --arrivals"),
        (("simulate", "coin", "--live", "--arrivals", "50", "--window", "2d"), "needs --people"),
        (("simulate", "coin", "--people", "50"), "--people is about live studies. Add --live"),
        (("simulate", "coin", "--loss-rate", "0.1"), "--loss-rate is about live studies"),
        ((*LIVE, "--limit"), "--limit does not go with live studies"),
        ((*LIVE, "--report", "x.html"), "--report does not go with live studies"),
        ((*LIVE, "--cohort", "1h"), "no multiple of the cycle"),
        ((*LIVE, "--lost", "gone"), "lost='worst'"),
        (("simulate", "coin", "--live", "--people", "0.5", "--arrivals", "200", "--window", "2d"), "--people must be whole numbers"),
        (("simulate", "coin", "--live", "--people", "50", "--arrivals", "nan", "--window", "2d"), "Arrivals are nan"),
        (("simulate", "coin", "--live", "--people", "50", "--arrivals", "1e300", "--window", "2d"), "are too many"),
        (("plan", "coin", "--window", "2d"), "needs --arrivals"),
        (("plan", "coin", "--people", "50"), "--people is about live studies. Add --window and --arrivals"),
        ((*PLAN, "--prior-mean", "2"), "The prior mean is 2.0"),
        ((*PLAN, "--target-error", "0.9"), "The confidence is"),
        ((*PLAN, "--gap-margin", "0.1"), "--gap-margin does not go with live studies"),
    ],
)  # fmt: skip
def test_what_is_refused_is_one_line(arguments: tuple[str, ...], said: str, capsys: Any) -> None:
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, out) == (2, "") and said in err and err.startswith("fairarm: ") and err.strip().count("\n") == 0


def test_every_outcome_that_is_not_told_may_mean_a_state(capsys: Any) -> None:
    found = json.loads(run(*LIVE, "--lost", "lose", "--loss-rate", "0.05", "--json", capsys=capsys)[1])
    assert found["results"][0]["lost"] > 0
