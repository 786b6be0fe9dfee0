"""Every command at every width: no number is cut, no column dropped, no line too long, nothing of a user's obeyed."""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fairarm.cli import main
from fairarm.cli.paper import _tell
from fairarm.cli.terminal import TableColumn, console, numbers, say, table
from fairarm.errors import one_line, printable

WIDTHS = (60, 80, 120)
ENDLESS = 100_000
ROOT = Path(__file__).parents[2]
BERKELEY = ROOT / "examples" / "berkeley"
LOG = BERKELEY / "admissions.csv"

COMMANDS = {
    "problems": ("problems",),
    "algorithms": ("algorithms",),
    "inspect": ("inspect", "ad-marketplace"),
    "limit": ("inspect", "ad-marketplace", "--limit"),
    "evaluate": ("evaluate", str(BERKELEY / "problem.toml"), str(LOG)),
    "plan": ("plan", "ad-marketplace", "--truths", "5", "--target-error", "0.4", "--most-pulls", "64"),
    "pool": ("identify", "ad-marketplace", "--pulls", "500"),
    "csr-v2": ("identify", "ad-marketplace", "--algorithm", "csr-v2", "--pulls", "2000"),
    "certified": ("identify", "ad-marketplace", "--pulls", "5000", "--confidence", "0.9", "--seed", "7"),
    "simulate": ("simulate", "coin", "--runs", "5", "--limit"),
}


def cells(text: str) -> int:
    """Places that a text takes on a terminal."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) > 0 for c in text)


def tokens(text: str) -> Counter[str]:
    """Words with a digit, without the punctuation around them."""
    return Counter(word.strip(".,;:()") for word in text.split() if any(c.isdigit() for c in word))


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Callable[..., str]:
    """The output of a command on a terminal of this width."""

    def run(width: int, *arguments: str) -> str:
        monkeypatch.setattr(console, "_width", width)
        monkeypatch.setattr(sys, "argv", ["fairarm", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert not ended.value.code, err
        return str(out)

    return run


def check(at: Callable[..., str], *arguments: str) -> str:
    """All that the endless line has is at every width, on lines that fit; the narrowest output."""
    whole = tokens(at(ENDLESS, *arguments))
    for width in WIDTHS[::-1]:
        out = at(width, *arguments)
        assert not whole - tokens(out), (width, whole - tokens(out))
        assert max(cells(line) for line in out.splitlines()) <= width
    return out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_number_is_whole_at_every_width(name: str, at: Callable[..., str]) -> None:
    narrow = check(at, *COMMANDS[name])
    document = json.loads(at(80, *COMMANDS[name], "--json"))
    for arm in document.get("arms", []):
        assert arm["name"] in narrow
        assert not set(str(arm.get("reason", "")).split()) - set(narrow.split())
        if arm.get("effective_rows") is not None:
            assert f"{arm['effective_rows']:,.0f}" in tokens(narrow)
        for key in ("fair_probability", "best_probability"):
            digits = ".3f" if name == "evaluate" else ".2f"
            assert arm.get(key) is None or format(arm[key], digits) in tokens(narrow)
    for result in document.get("results", []):
        assert {str(result["pulls"]), f"{result['error']:.3f}", f"{result['pulls_per_limit']:.2f}"} <= set(
            tokens(narrow)
        )
    for option in document.get("options", []):
        assert {f"{u['pulls']:.0f}" for u in option["units"][:4]} <= set(tokens(narrow))


# ---- names that nobody expects ----

HOSTILE = "[/x]"
CJK = "漢"


def hostile(path: Path, arms: list[str], money: float = 1e6) -> str:
    """A problem with a world: a group called [/x], an outcome in money, arms with these names."""
    named = "\n".join(
        f'[[problem.arms]]\nname = {json.dumps(name, ensure_ascii=False)}\nparents = ["team"]\n'
        f"table = [[{0.3 + 0.6 * k / len(arms):.4f}, {0.7 - 0.6 * k / len(arms):.4f}], [0.3, 0.7]]\n"
        for k, name in enumerate(arms)
    )
    text = f"""
format = 1
[problem]
name = "[red]money[/red]"
description = "plain \\u202e turned \\u009b31m [bold]not bold[/] \\u0007"
sensitive = "team"
decision = "[offer]"
outcome = {{ node = "earned :smile:", values = {{ little = 0, much = {money} }} }}
tolerance = {money / 10}
edges = [["team", "[offer]"], ["[offer]", "earned :smile:"]]
shares = {{ "{HOSTILE}" = 0.5, b = 0.5 }}
deployed = {json.dumps(arms[0], ensure_ascii=False)}
[problem.states]
team = ["{HOSTILE}", "b"]
"[offer]" = ["x", "y"]
"earned :smile:" = ["little", "much"]
{named}
[[world.mechanisms]]
node = "team"
table = [0.5, 0.5]
[[world.mechanisms]]
node = "[offer]"
parents = ["team"]
table = [[0.5, 0.5], [0.5, 0.5]]
[[world.mechanisms]]
node = "earned :smile:"
parents = ["[offer]"]
table = [[0.25, 0.75], [0.75, 0.25]]
"""
    path.write_text(text, encoding="utf-8")
    return str(path)


def commands(problem: str) -> Iterator[tuple[str, ...]]:
    yield ("inspect", problem)
    yield ("identify", problem, "--pulls", "300")
    yield ("identify", problem, "--pulls", "300", "--algorithm", "csr-v2")
    yield ("plan", problem, "--truths", "5", "--target-error", "0.4", "--most-pulls", "64")


@pytest.mark.parametrize("names", [[HOSTILE, "a b"], ["ä" * 200, "ö" * 200], [CJK * 60, "字" * 60], ["[bold]", "x\\"]])
def test_names_are_shown_and_not_obeyed(names: list[str], at: Callable[..., str], tmp_path: Path) -> None:
    problem = hostile(tmp_path / "money.toml", names)
    for arguments in commands(problem):
        out = check(at, *arguments)
        flat = "".join(out.split())
        for name in names:
            part = name.replace(" ", "")
            if len(set(part)) == 1:  # broken over lines: its characters are all there
                assert out.count(part[0]) >= len(part), arguments
            else:
                assert part in flat, arguments
        assert HOSTILE in flat and "😄" not in out and "\x1b" not in out
        assert not [c for c in out if not c.isprintable() and c != "\n"]


def test_descriptions_cannot_move_the_cursor(at: Callable[..., str], tmp_path: Path) -> None:
    out = at(80, "inspect", hostile(tmp_path / "money.toml", ["a", "b"]))
    assert "31m [bold]not bold[/]" in " ".join(out.split()) and all(c.isprintable() or c == "\n" for c in out)
    document = at(80, "inspect", hostile(tmp_path / "money.toml", ["a", "b"]), "--json")
    assert all(c.isprintable() or c == "\n" for c in document)


def test_forty_arms_and_more(at: Callable[..., str], tmp_path: Path) -> None:
    problem = hostile(tmp_path / "many.toml", [f"rule-{k}" for k in range(43)])
    for arguments in commands(problem):
        out = check(at, *arguments)
        assert ("… and 3 more arms" in out) == (arguments[0] != "plan"), arguments


def test_money_is_written_in_whole_numbers(at: Callable[..., str], tmp_path: Path) -> None:
    problem = hostile(tmp_path / "money.toml", ["a", "b"], money=48_000_000)
    document = json.loads(at(80, "identify", problem, "--pulls", "300", "--json"))
    out = at(80, "identify", problem, "--pulls", "300")
    assert "e+" not in out
    for arm in document["arms"]:
        for number in (arm["outcome"], *arm["outcome_interval"]):
            shown = [float(word.replace(",", "")) for word in re.findall(r"\d[\d,]{6,}", out)]
            assert min(abs(each - number) for each in shown) <= 1


# ---- the parts ----


def printed(capsys: Any, width: int, monkeypatch: pytest.MonkeyPatch, print_it: Callable[[], None]) -> list[str]:
    monkeypatch.setattr(console, "_width", width)
    print_it()
    return str(capsys.readouterr().out).splitlines()


def test_a_table_becomes_several_then_blocks(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [TableColumn("arm", "name"), *numbers("first", "second"), *numbers("third", group=1)]
    rows = [["a", "1234567890", "22", "333"], ["b", "1", "2", "3"]]

    def lines(width: int) -> list[str]:
        return printed(capsys, width, monkeypatch, lambda: table(columns, rows))

    assert lines(80) == [
        "arm       first  second  third",
        "a    1234567890      22    333",
        "b             1       2      3",
    ]
    assert lines(25) == [
        "arm       first  second",
        "a    1234567890      22",
        "b             1       2",
        "",
        "arm  third",
        "a      333",
        "b        3",
    ]
    assert [line.split() for line in lines(18)][4] == ["arm", "second", "third"]  # a group that has to be parted
    blocks = lines(12)
    assert blocks[:5] == ["a", "  first:", "1234567890", "  second: 22", "  third: 333"]


def test_a_table_without_rows_has_its_headings(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    out = printed(capsys, 80, monkeypatch, lambda: table([TableColumn("arm", "name"), *numbers("gap")], []))
    assert out == ["arm  gap"]


def test_a_sentence_is_broken_between_words(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    out = printed(capsys, 12, monkeypatch, lambda: say("one two three four five", hang=2))
    assert out == ["one two", "  three four", "  five"]


def test_init_at_every_width(at: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every word of the endless line, and every value with its count as the JSON has it; the log's names are not obeyed."""
    monkeypatch.chdir(tmp_path)
    rows = ["F,yes,1204", "M,no,88", "F,no,1204", "M,yes,310"] * 30 + ["U\x1b[31m,yes,88", "[/x],no,310"]
    Path("log.csv").write_text("\n".join(["sex,offer,income", *rows]) + "\n", encoding="utf-8")
    asked = ("init", "log.csv", "--sensitive", "sex", "--decision", "offer", "--outcome", "income")
    whole = at(ENDLESS, *asked, "--out", "0.toml").split()
    for width in WIDTHS:
        Path("0.toml").unlink()
        out = at(width, *asked, "--out", "0.toml")
        assert out.split() == whole
        assert max(cells(line) for line in out.splitlines()) <= width
        assert "\x1b" not in out
    document = json.loads(at(ENDLESS, *asked, "--out", "1.toml", "--json"))
    for column in document["columns"]:
        for value in (value for value in column["values"] if value["value"].isalnum()):
            assert f"{value['value']} ({value['rows']})" in " ".join(whole)


def test_the_tally_of_the_paper(capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = printed(
        capsys, 60, monkeypatch, lambda: _tell([], tmp_path / "a-rather-long-name-of-a-folder" / "paper", False)
    )
    assert max(map(len, out)) <= 60 and "results.csv" in "".join(line.strip() for line in out)


def test_the_tally_of_a_quick_look_says_on_each_line_that_it_is_no_verdict(
    capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("fairarm.reports.paper.page.tally", lambda sections: {"holds": 17, "does not hold": 17})
    for quick in (True, False):
        *counts, _ = printed(capsys, 90, monkeypatch, partial(_tell, [], Path("out"), quick))
        assert [line.endswith("(quick runs are too few to judge)") for line in counts] == [quick, quick]


def test_what_is_not_printed_is_escaped() -> None:
    assert printable("a\tb\nc\u00a0d") == "a b c d"
    assert (
        printable("\x1b[31m \x9b \u202e \u2028 \U000e0001 \ud800")
        == "\\x1b[31m \\x9b \\u202e \\u2028 \\U000e0001 \\ud800"
    )
    assert printable("漢字 ä é [/x] \\") == "漢字 ä é [/x] \\"
    assert len(one_line("x" * 1000)) == 400
