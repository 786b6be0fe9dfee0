"""Names and values that come from a log cannot change what a draft says: it is that of the same log with harmless ones."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairarm.cli import main
from fairarm.errors import OptionError
from fairarm.logs.draft import draft_problem
from fairarm.logs.draft.naming import key, plain_name, quoted, shown
from fairarm.logs.sources import open_log
from fairarm.readers.problem_file import ReadProblem, parse_problem

HOSTILE = {
    "injection": 'zz\nshares = { a = 0.9, b = 0.1 } #',
    "carriage return": "zz\rtolerance = 9 #",
    "quotes": "a\"b'c\"\"\"d'''",
    "backslash": "a\\",
    "escape": "\\u0041\\n",
    "comment": "# [problem]",
    "brackets": "[problem.arms]]",
    "equals": "a = 1",
    "dot": "problem.shares",
    "control": "a\x00b\x1b[31m\x7fc\x9b",
    "bidi": "a\u202eb\u2066c",
    "line separators": "a\u2028b\u2029c\u0085d\x0b\x0ce",
    "zero width": "a\u200bb\ufeff",
    "blank": " ",
    "empty": "",
    "long": "x" * 5000,
    "long and unprintable": "\u202e" * 5000,
    "decomposed": "e\u0301" * 60,
    "emoji and tags": "\U0001f600\U000e0041",
    "tab": "\ta\t",
    "markup": "[/x][bold]",
    "role words": "arm",
    "regime": "regime",
}  # fmt: skip
REFUSED = {HOSTILE[each] for each in ("injection", "carriage return", "control", "bidi", "line separators", "zero width", "blank", "empty", "long", "long and unprintable", "emoji and tags", "tab")}  # fmt: skip
"""Names that a problem file does not take: a column called so is left unused, or refused if it was asked for."""

PLAIN = ("role_s", "role_v", "role_y", "input_x", "wide")


def columns(names: tuple[str, ...], values: tuple[str, ...] = ("p", "q")) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    n = 60
    s, v, y, x = (rng.integers(0, 2, n) for _ in range(4))
    return {
        names[0]: [("a", "b")[i] for i in s],
        names[1]: [("c", "d")[i] for i in v],
        names[2]: y,
        names[3]: [values[i] for i in x],
        names[4]: [f"{i // 2}x" for i in range(n)],
    }


def drafted(names: tuple[str, ...], held: dict[str, Any]) -> tuple[dict[str, Any], ReadProblem]:
    draft = draft_problem(open_log(held), sensitive=names[0], decision=names[1], outcome=names[2], tolerance=0.25)
    return tomllib.loads(draft.text), parse_problem(draft.text, "draft", Path("."))


def meaning(read: ReadProblem, names: tuple[str, ...]) -> dict[str, Any]:
    """What a problem says, with columns by their place and states by the log's own values."""
    problem, log = read.problem, read.columns
    places = {name: place for place, name in enumerate(names)}
    node = {each: places[log.column(each)] for each in problem.graph.nodes}
    value = {each: {state: raw for raw, state in log.labels.get(each, {}).items()} for each in node}
    return {
        "roles": [node[problem.sensitive], node[problem.decision], node[problem.outcome.node]],
        "edges": [(node[a], node[b]) for a, b in problem.graph.edges],
        "states": {node[n]: [value[n].get(s, s) for s in v.states or ()] for n, v in problem.variables.items()},
        "arms": [(arm.name, [node[parent] for parent in arm.parents]) for arm in problem.arms],
        "rest": (problem.gap_tolerance, problem.shares, problem.budget, problem.costs, problem.context, problem.hidden),
        "worth": problem.outcome.values,
        "log": (log.arm, log.regime, log.count, dict(log.drop)),
        "row_id": None if log.row_id is None else places[log.row_id],
    }


PLACES = [
    pytest.param(name, place, id=f"{what}-{PLAIN[place]}")
    for what, name in HOSTILE.items()
    for place in range(5)
    if name != "arm" or place not in (1, 3)  # that name says what the column is
]


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_names(name: str, place: int) -> None:
    names = (*PLAIN[:place], name, *PLAIN[place + 1 :])
    if name in REFUSED and place < 3:
        with pytest.raises(OptionError, match=r"^Column .* cannot be the .*: its name") as error:
            drafted(names, columns(names))
        assert str(error.value).isprintable() and len(str(error.value)) <= 400
        return
    held = columns(PLAIN)
    if name in REFUSED and place == 3:
        held[PLAIN[3]] = held[PLAIN[4]]  # like a column that can be no input
    file, read = drafted(names, columns(names))
    plain_file, plain = drafted(PLAIN, held)
    assert meaning(read, names) == meaning(plain, PLAIN)
    assert {*file} == {*plain_file} and {*file["problem"]} == {*plain_file["problem"]}
    assert {*file["log"]} - {"columns"} == {*plain_file["log"]}


@pytest.mark.parametrize("value", [text for text in HOSTILE.values() if text.strip() and len(text) <= 200])
def test_values(value: str) -> None:
    _, read = drafted(PLAIN, columns(PLAIN, ("p", value)))
    found, plain = meaning(read, PLAIN), meaning(drafted(PLAIN, columns(PLAIN))[1], PLAIN)
    assert sorted(found["states"].pop(3)) == sorted(["p", value]) and plain["states"].pop(3) == ["p", "q"]
    assert found == plain


def test_all_of_them_at_once_on_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Nothing that a terminal would act on is printed or written, and the draft evaluates."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    held = {"sex": rng.choice(["a", "b"], 80), "offer": rng.choice(["c", "d"], 80), "repaid": rng.integers(0, 2, 80)}
    named = {text: [f"{text}{i % 40}" for i in range(80)] for text in HOSTILE.values()}
    pq.write_table(pa.table({**held, **named}), "log.parquet")
    for arguments in (["init", "log.parquet"], ["evaluate", "problem.toml", "log.parquet", "--tolerance", "0.1"]):
        monkeypatch.setattr(sys, "argv", ["fairarm", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        assert not ended.value.code, err
        assert [c for c in out.replace("\n", "") if not c.isprintable()] == []
    text = (tmp_path / "problem.toml").read_text(encoding="utf-8")
    assert [c for c in text.replace("\n", "") if not c.isprintable()] == []
    assert max(len(line) for line in text.split("\n")) < 1000


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_one_function_escapes(text: str) -> None:
    assert tomllib.loads(f"a = {quoted(text)} # {quoted(text)}\nb = 1") == {"a": text, "b": 1}
    assert tomllib.loads(f"{key(text)} = 1 # {shown(text)}") == {text: 1}
    assert shown(text).isprintable() and len(shown(text)) <= 70
    assert shown(text) != quoted(text) or not text.isalnum()
    name = plain_name(text, {"arm", "regime"}, "other")
    assert name.isprintable() and 0 < len(name) <= 90 and name == name.strip()
    assert plain_name(text, {name, "arm", "regime"}, "other") != name
