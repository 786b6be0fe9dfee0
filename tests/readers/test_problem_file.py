"""Problem files: what is read is what was meant, what is written reads again equal, what is wrong says so."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from fairarm import Arm, Code, load_problem, table
from fairarm.catalog.hepar2 import hepar2
from fairarm.errors import ProblemError, ReadError
from fairarm.readers.problem_file import parse_problem, problem_schema, read_problem
from fairarm.readers.problem_writer import problem_text, write_problem

BASE = """\
format = 1
[problem]
name = "base"
sensitive = "S"
groups = ["b", "a"]
decision = "V"
outcome = { node = "Y", values = { no = 0, yes = 10 } }
tolerance = 1.5
edges = [["S", "X"], ["Z", "X"], ["X", "V"], ["V", "Y"], ["X", "Y"], ["H", "Y"]]
hidden = ["H"]
shares = { a = 0.25, b = 0.75 }
deployed = "one"
budget = "1/sqrt(pulls)"
[problem.states]
S = ["a", "b"]
X = ["x0", "x1"]
Z = ["z0", "z1", "z2"]
V = ["v0", "v1"]
Y = ["no", "yes"]
[problem.context]
variables = ["Z"]
table = [0.2, 0.3, 0.5]
[[problem.arms]]
name = "one"
parents = ["X"]
cost = 0
table = [[0.5, 0.5], [0.25, 0.75]]
[[problem.arms]]
name = "two"
parents = ["X"]
cost = { natural = 1, a = 2, b = 3 }
table = [[0.1, 0.9], [0.2, 0.8]]
[[problem.mechanisms]]
node = "X"
parents = ["S", "Z"]
table = [[[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]], [[0.4, 0.6], [0.5, 0.5], [0.6, 0.4]]]
[world.states]
H = ["h0", "h1"]
[[world.mechanisms]]
node = "S"
table = [0.25, 0.75]
[[world.mechanisms]]
node = "Z"
table = [0.2, 0.3, 0.5]
[[world.mechanisms]]
node = "H"
table = [0.5, 0.5]
[[world.mechanisms]]
node = "X"
parents = ["S", "Z"]
table = [[[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]], [[0.4, 0.6], [0.5, 0.5], [0.6, 0.4]]]
[[world.mechanisms]]
node = "V"
parents = ["X"]
table = [[0.5, 0.5], [0.25, 0.75]]
[[world.mechanisms]]
node = "Y"
parents = ["V", "X", "H"]
table = [[[[0.1, 0.9], [0.2, 0.8]], [[0.3, 0.7], [0.4, 0.6]]], [[[0.5, 0.5], [0.6, 0.4]], [[0.7, 0.3], [0.8, 0.2]]]]
"""


def swap(old: str, new: str) -> str:
    text = BASE.replace(old, new, 1)
    if text == BASE:
        raise AssertionError(f"the base has no {old!r}")
    return text


def first_line(key: str) -> int:
    return next(i for i, line in enumerate(BASE.split("\n"), 1) if line.startswith(key))


KNOWN = BASE.split("[world.states]")[0]
"""The problem without its world."""

BARE = (
    KNOWN.split("[[problem.mechanisms]]")[0]
    .replace('groups = ["b", "a"]\n', "")
    .replace("{ natural = 1, a = 2, b = 3 }", "1")
)
"""The same without what goes by groups, but for the shares."""

HUGE_PARENTS = ", ".join(f'"P{i}"' for i in range(33))
HUGE = KNOWN.replace('name = "two"\nparents = ["X"]', f'name = "two"\nparents = [{HUGE_PARENTS}]').replace(
    "[problem.states]", "[problem.states]\n" + "\n".join(f'P{i} = ["0", "1"]' for i in range(33))
)

MALFORMED: dict[str, tuple[str | bytes, str]] = {
    "not toml": (swap("budget =", "budget"), ":13: not valid TOML"),
    "truncated": (BASE[: BASE.index("0.9], [0.2")], ": not valid TOML"),
    "duplicate key": (swap("tolerance = 1.5", "tolerance = 1.5\ntolerance = 1.6"), ": not valid TOML"),
    "empty": ("", "problem: the file is empty"),
    "unknown key": (swap("tolerance = 1.5", "tolerence = 1.5"), "problem.tolerence"),
    "tolerance text": (swap("tolerance = 1.5", 'tolerance = "1.5"'), "problem.tolerance"),
    "tolerance nan": (swap("tolerance = 1.5", "tolerance = nan"), "problem.tolerance"),
    "tolerance zero": (swap("tolerance = 1.5", "tolerance = 0.0"), "The tolerance is 0.0"),
    "tolerance absent": (swap("tolerance = 1.5\n", ""), "problem.tolerance: not given"),
    "future format": (swap("format = 1", "format = 2"), "format"),
    "row sum": (swap("[[0.1, 0.9], [0.2, 0.8]]", "[[0.1, 0.9], [0.2, 0.7]]"), "problem.arms[1].table"),
    "negative": (swap("[[0.1, 0.9], [0.2, 0.8]]", "[[-0.1, 1.1], [0.2, 0.8]]"), "problem.arms[1].table"),
    "nan entry": (swap("[[0.1, 0.9], [0.2, 0.8]]", "[[nan, 0.9], [0.2, 0.8]]"), "problem.arms[1].table[0][0]"),
    "text entry": (swap("[[0.1, 0.9], [0.2, 0.8]]", '[["a", 0.9], [0.2, 0.8]]'), "problem.arms[1].table[0][0]"),
    "true entry": (swap("[[0.1, 0.9], [0.2, 0.8]]", "[[true, 0.0], [0.2, 0.8]]"), "problem.arms[1].table[0][0]"),
    "missing row": (swap("[[0.1, 0.9], [0.2, 0.8]]", "[[0.1, 0.9]]"), "problem.arms[1].table: needs a list of 2"),
    "extra entry": (swap("[[0.1, 0.9], [0.2, 0.8]]", "[[0.1, 0.9], [0.2, 0.3, 0.5]]"), "problem.arms[1].table[1]"),
    "flat table": (swap("[[0.1, 0.9], [0.2, 0.8]]", "[0.1, 0.9]"), "problem.arms[1].table[0]"),
    "unknown parent": (swap('name = "two"\nparents = ["X"]', 'name = "two"\nparents = ["Q"]'), "problem.arms[1]"),
    "arm uses outcome": (swap('name = "two"\nparents = ["X"]', 'name = "two"\nparents = ["Y"]'), "comes after it"),
    "two arms of one name": (swap('name = "two"', 'name = "one"'), "Two arms are called 'one'"),
    "an arm called like the answer": (swap('name = "two"', 'name = "No fair arm"'), "give it another name"),
    "no arms": (BASE.split("[[problem.arms]]")[0], "problem.arms"),
    "unknown deployed": (swap('deployed = "one"', 'deployed = "three"'), "no arm 'three'"),
    "cycle": (swap('["H", "Y"]]', '["H", "Y"], ["Y", "X"]]'), "cycle"),
    "sensitive has a hidden cause": (
        swap('["H", "Y"]]', '["H", "Y"], ["H", "S"]]'),
        "'S' and 'Y' have the hidden common cause 'H': observe it",
    ),
    "edge of one node": (swap('["H", "Y"]]', '["H"]]'), "problem.edges[5]"),
    "decision without effect": (swap('["V", "Y"], ', ""), "not an ancestor"),
    "hidden parent": (swap('hidden = ["H"]', 'hidden = ["H", "Z"]'), "Node 'Z' is declared hidden"),
    "groups not states": (
        KNOWN.replace('groups = ["b", "a"]', 'groups = ["b", "c"]').replace("{ natural = 1, a = 2, b = 3 }", "1"),
        "not the states",
    ),
    "one group": (BARE.replace('S = ["a", "b"]', 'S = ["a"]'), "1 groups. It must have from 2 to 20: merge states"),
    "21 groups": (
        BARE.replace('S = ["a", "b"]', f"S = {[f'g{i}' for i in range(21)]}"),
        "21 groups. It must have from 2 to 20: merge states",
    ),
    "shares of two of three groups": (
        KNOWN.replace('S = ["a", "b"]', 'S = ["a", "b", "c"]')
        .replace('groups = ["b", "a"]\n', "")
        .replace("{ natural = 1, a = 2, b = 3 }", "1")
        .replace("[[[0.1", "[[[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]], [[0.1"),
        "Group shares name ['a', 'b']; the groups are ['a', 'b', 'c']",
    ),
    "groups of two attributes": (
        swap('sensitive = "S"', 'sensitive = ["S", "Z"]'),
        "groups orders the states of a single attribute",
    ),
    "regime of nobody": (swap('decision = "V"', 'decision = "V"\nregimes = ["q"]'), "name 'q'"),
    "cost of a regime that is not offered": (
        swap('decision = "V"', 'decision = "V"\nregimes = ["a"]'),
        "problem.arms[1].cost: There is a cost for the regime 'b', which is not offered",
    ),
    "state twice": (swap('X = ["x0", "x1"]', 'X = ["x0", "x0"]'), "'x0' twice"),
    "undeclared node": (swap('Z = ["z0", "z1", "z2"]\n', ""), "'Z'"),
    "outcome value missing": (swap("{ no = 0, yes = 10 }", "{ yes = 10 }"), "problem.outcome.values"),
    "outcome without width": (swap("{ no = 0, yes = 10 }", "{ no = 1, yes = 1 }"), "low < high"),
    "outcome infinite": (swap("yes = 10", "yes = inf"), "problem.outcome.values"),
    "share sum": (swap("a = 0.25, b = 0.75", "a = 0.25, b = 0.25"), "Group shares"),
    "share of nobody": (swap("a = 0.25, b = 0.75", "a = 0.25, c = 0.75"), "Group shares name"),
    "context sum": (swap("table = [0.2, 0.3, 0.5]", "table = [0.2, 0.3, 0.4]"), "sums to"),
    "context of the outcome": (
        KNOWN.replace('variables = ["Z"]', 'variables = ["Y"]').replace(
            "table = [0.2, 0.3, 0.5]", "table = [0.5, 0.5]"
        ),
        "context",
    ),
    "cost negative": (swap("cost = 0", "cost = -1"), "costs"),
    "cost of unknown regime": (swap("natural = 1, a = 2", "natural = 1, q = 2"), "problem.arms[1].cost"),
    "budget word": (swap('"1/sqrt(pulls)"', '"a lot"'), "problem.budget"),
    "mechanism parents": (
        swap('node = "X"\nparents = ["S", "Z"]', 'node = "X"\nparents = ["Z", "S"]'),
        "mechanisms[0].table",
    ),
    "mechanism of nobody": (swap('[[problem.mechanisms]]\nnode = "X"', '[[problem.mechanisms]]\nnode = "Q"'), "'Q'"),
    "world without a table": (
        swap('[[world.mechanisms]]\nnode = "H"\ntable = [0.5, 0.5]\n', ""),
        "Node 'H' has no table",
    ),
    "world file missing": (
        BASE.split("[world.states]")[0] + '[world]\nnetwork = "nowhere.bif"\n',
        "nowhere.bif: no such file",
    ),
    "world file outside": (BASE.split("[world.states]")[0] + '[world]\nnetwork = "../x.bif"\n', "world.network"),
    "2^33 entries": (HUGE, "entries"),
    "not utf-8": (BASE.encode().replace(b'"base"', b'"b\xffse"'), ":3: byte 0xff is not UTF-8"),
    "nul byte": (BASE.encode().replace(b'"base"', b'"b\0se"'), ":3: a NUL byte"),
    "deep nesting": ("a = " + "[" * 5000, ""),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_problem_is_one_clear_line(case: str, tmp_path: Path) -> None:
    content, expected = MALFORMED[case]
    path = tmp_path / "problem.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ReadError) as caught:
        read_problem(path)
    message = str(caught.value)
    assert message.startswith(str(tmp_path)) and "\n" not in message
    assert expected in message


def test_malformed_files_are_refused_promptly_and_in_little_memory(tmp_path: Path) -> None:
    """All of them by the command itself, in one process: exit code 2, no traceback, at most 300 MB."""
    for i, (content, _) in enumerate(MALFORMED.values()):
        (tmp_path / f"{i}.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    script = (
        "import sys, io, contextlib\n"
        "from fairarm.cli import main\n"
        f"for i in range({len(MALFORMED)}):\n"
        "    sys.argv = ['fairarm', 'inspect', f'{i}.toml', '--json']\n"
        "    err = io.StringIO()\n"
        "    try:\n"
        "        with contextlib.redirect_stderr(err): main()\n"
        "    except SystemExit as end: code = end.code\n"
        "    text = err.getvalue()\n"
        "    if code != 2 or text.count('\\n') != 1 or not text.startswith('fairarm: '): sys.exit(f'{i}: {code} {text}')\n"
        "print(next(x for x in open('/proc/self/status') if x.startswith('VmHWM')).split()[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) * 1024 <= 300e6


def test_base_means_what_it_says(tmp_path: Path) -> None:
    problem, network, _ = parse_problem(BASE, "base", tmp_path)
    assert problem.groups == ("b", "a") and problem.shares == (0.75, 0.25)
    assert problem.costs == ((0, 0, 0), (1, 3, 2))  # natural, forced b, forced a
    assert problem.outcome.values == (0, 10) and problem.gap_tolerance == 1.5
    assert problem.observed == ("S", "X", "Z", "V", "Y")
    assert problem.relevant_children == ("X",)
    assert network is not None and network.tables["Y"].parents == ("V", "X", "H")
    assert network.tables["Y"].probabilities[1, 0, 1, 0] == 0.6


CONSTRAINED = BASE.replace("tolerance = 1.5", "constraints = [{ tolerance = 1.5, weights = { b = 1, a = -1 } }]")


def test_another_tolerance_is_put_into_the_constraint_of_the_file(tmp_path: Path) -> None:
    """One idea with `Problem.with_tolerance`."""
    known, *_ = parse_problem(CONSTRAINED, "base", tmp_path)
    changed, *_ = parse_problem(CONSTRAINED, "base", tmp_path, 0.5)
    assert changed == known.with_tolerance(0.5) and changed.gap_tolerance == 0.5
    turned = CONSTRAINED.replace("b = 1, a = -1", "a = -1, b = 1")
    assert parse_problem(turned, "base", tmp_path, 0.5)[0].constraints[0].weights == (("a", -1.0), ("b", 1.0))


ASKED = {
    "{ tolerance = 1.5, weights = { q = 1, a = -1 } }": "Constraint 'pairs within 1.5' names the group 'q'. The groups are: b, a",
    "{ tolerance = 1.5, weights = { b = 0 } }": "every weight is 0",
    "{ tolerance = 1.5, weights = { b = 1, a = -1 }, compare = 'mean' }": r"problem.constraints\[0\]: compare = 'mean' with weights",
    "{ tolerance = 1.5, weights = { b = 1, a = 1 }, groups = ['a'] }": r"constraints\[0\]: groups \['a'\] with weights",
    "{ tolerance = 1.5, compare = 'twins' }": r"problem.constraints\[0\].compare: should be 'pairs'",
    "{ tolerance = 1.5, ratio = 0.8 }": "needs tolerance, or ratio; got tolerance, ratio",
    "{ compare = 'pairs' }": "needs tolerance, or ratio; got none of them",
    "{ ratio = 1.0 }": "The ratio is 1.0. It must be above 0 and below 1",
    "{ tolerance = -1.5 }": "The tolerance is -1.5. It must be a finite number above 0",
    "{ tolerance = 1.5, reference = 'a' }": "A reference goes with compare = 'reference', which needs one",
    "{ tolerance = 1.5, compare = 'reference' }": "A reference goes with compare = 'reference', which needs one",
    "{ tolerance = 1.5, compare = 'reference', reference = 'q' }": "Constraint 'against q within 1.5' names the group 'q'",
    "{ tolerance = 1.5, direction = 'not_below' }": "compare = 'pairs' has no direction",
    "{ tolerance = 1.5, groups = ['a'] }": "Constraint 'pairs within 1.5 of a' compares a alone",
    "{ tolerance = 1.5, groups = ['a', 'a'] }": "groups names 'a' twice",
    "{ tolerance = 1.5, name = '' }, { tolerance = 2.5, name = 'pairs within 1.5' }": "Two constraints are called 'pairs within 1.5'",
    "{ compare = 'floor', at_least = 10 }": "Constraint 'floor 10' asks for b above 10: no arm can meet that while 'Y' lies between 0 and 10",
    "{ compare = 'floor', at_most = 3 }": "compare = 'floor' needs at_least; got at_most",
    "{ weights = { a = 1 }, at_least = 3, at_most = 3 }": "nothing lies between them",
    "{ tolerance = 1.5, kept = ['X'] }": r"problem.constraints\[0\].kept: there is no such key. Did you mean 'keep'",
}
"""Constraints of a file, and the line that refuses them."""


@pytest.mark.parametrize("written", ASKED)
def test_a_constraint_that_cannot_be_meant_is_one_line_that_names_it(written: str, tmp_path: Path) -> None:
    """Another tolerance hides no mistake in the constraints."""
    for tolerance in (None, 0.5):
        with pytest.raises(ReadError, match=ASKED[written]) as caught:
            parse_problem(BASE.replace("tolerance = 1.5", f"constraints = [{written}]"), "base", tmp_path, tolerance)
        assert "\n" not in str(caught.value)


def test_a_tolerance_and_constraints_are_not_given_together(tmp_path: Path) -> None:
    both = "tolerance = 1.5\nconstraints = [{ tolerance = 1.5, weights = { b = 1, a = -1 } }]"
    for tolerance in (None, 0.5):
        with pytest.raises(ReadError, match="not both and not neither"):
            parse_problem(BASE.replace("tolerance = 1.5", both), "base", tmp_path, tolerance)


EVERY_KIND = """constraints = [
    { compare = "pairs", tolerance = 1.5 },
    { compare = "pairs", ratio = 0.8, groups = ["c", "a"], name = "the 80 % rule" },
    { compare = "reference", reference = "a", tolerance = 2, direction = "not_below" },
    { compare = "reference", reference = "b", ratio = 0.7, groups = ["b", "c"] },
    { compare = "mean", tolerance = 1, direction = "not_above" },
    { compare = "mean", ratio = 0.5 },
    { compare = "floor", at_least = 2 },
    { weights = { a = 1, b = -0.5, c = -0.5 }, tolerance = 1 },
    { weights = { a = 1, c = 1 }, at_least = 1, at_most = 12 },
    { weights = { c = 1, b = -1 }, tolerance = 3 },
]"""
THREE = (
    KNOWN.replace('S = ["a", "b"]', 'S = ["a", "b", "c"]')
    .replace('groups = ["b", "a"]\n', 'groups = ["b", "c", "a"]\n')
    .replace("a = 0.25, b = 0.75", "a = 0.25, b = 0.5, c = 0.25")
    .replace("{ natural = 1, a = 2, b = 3 }", "{ natural = 1, forced = 2, b = 3 }")
    .replace("[[[0.1", "[[[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]], [[0.1")
)
"""Three groups, without a world."""


def test_every_kind_of_constraint_reads_again_equal(tmp_path: Path) -> None:
    text = THREE.replace("tolerance = 1.5", EVERY_KIND)
    assert not list(jsonschema.Draft202012Validator(problem_schema()).iter_errors(tomllib.loads(text)))
    problem, *_ = parse_problem(text, "three", tmp_path)
    labels = [
        "pairs within 1.5", "the 80 % rule", "against a within 2, not below", "against b ratio 0.7 of b, c",
        "against the mean within 1, not above", "against the mean ratio 0.5", "floor 2", "a - 0.5 b - 0.5 c within 1",
        "a + c at least 1 at most 12", "pairs within 3 of c, b",
    ]  # fmt: skip
    assert [asked.label for asked in problem.constraints] == labels
    again, *_ = parse_problem(problem_text(problem), "again", tmp_path)
    assert again == problem and again.rows == problem.rows and again.constraints == problem.constraints
    assert {row.constraint for row in problem.rows} == {*labels}


def test_a_tolerance_for_one_of_several_constraints(tmp_path: Path) -> None:
    """--tolerance goes to the one that has a tolerance; with none of them, or several, it says so."""
    one = THREE.replace("tolerance = 1.5", "constraints = [{ ratio = 0.8 }, { tolerance = 2 }]")
    assert parse_problem(one, "one", tmp_path, 0.5)[0].constraints[1].tolerance == 0.5
    for text, having in (("{ ratio = 0.8 }", "none"), ("{ tolerance = 1 }, { compare = 'mean', tolerance = 2 }", "2")):
        with pytest.raises(ReadError, match=rf"tolerance 0.5 is to replace .* but {having} of the constraints"):
            parse_problem(THREE.replace("tolerance = 1.5", f"constraints = [{text}]"), "x", tmp_path, 0.5)


def test_regimes_and_costs_by_name(tmp_path: Path) -> None:
    problem, *_ = parse_problem(THREE, "three", tmp_path)
    assert problem.groups == ("b", "c", "a") == problem.forced
    assert problem.costs == ((0, 0, 0, 0), (1, 3, 2, 2))
    fewer, *_ = parse_problem(THREE.replace('decision = "V"', 'decision = "V"\nregimes = ["b"]'), "three", tmp_path)
    assert fewer.forced == ("b",) and fewer.costs == ((0, 0, np.inf, np.inf), (1, 3, np.inf, np.inf))
    none = THREE.replace('decision = "V"', 'decision = "V"\nregimes = []').replace("forced = 2, b = 3", "forced = 2")
    natural, *_ = parse_problem(none, "three", tmp_path)
    assert natural.forced == () and natural.costs[1] == (1, np.inf, np.inf, np.inf)
    for made in (problem, fewer, natural):
        assert parse_problem(problem_text(made), "again", tmp_path)[0] == made
    assert parse_problem(THREE.replace('sensitive = "S"', 'sensitive = ["S"]'), "listed", tmp_path)[0] == problem


def test_byte_order_mark_and_windows_lines_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "problem.toml"
    path.write_bytes(b"\xef\xbb\xbf" + BASE.replace("\n", "\r\n").encode())
    assert read_problem(path) == parse_problem(BASE, "base", tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "coin",
        "ad-marketplace",
        "hepar2",
        "hepar2-binding:K=4",
        "synthetic-tight:seed=2",
        "synthetic-loose-noisy:K=12,m=8",
    ],
)
def test_written_problem_reads_again_equal(name: str, tmp_path: Path) -> None:
    scenario = load_problem(name)
    path = tmp_path / "again.toml"
    write_problem(scenario.problem, path, scenario.world.network)  # type: ignore[union-attr]
    problem, network, _ = read_problem(path)
    assert problem == scenario.problem
    assert network is not None and network.tables == scenario.world.network.tables  # type: ignore[union-attr]
    assert load_problem(path).world.truth().gaps.tolist() == scenario.world.truth().gaps.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["lender", "synthetic-groups:G=3", "synthetic-groups-noisy:K=5,G=7"])
def test_written_problem_of_many_groups_reads_again_equal(name: str, tmp_path: Path) -> None:
    scenario = load_problem(name)
    write_problem(scenario.problem, tmp_path / "again.toml", scenario.world.network)  # type: ignore[union-attr]
    problem, network, _ = read_problem(tmp_path / "again.toml")
    assert problem == scenario.problem and problem.rows == scenario.problem.rows
    assert network is not None and network.tables == scenario.world.network.tables  # type: ignore[union-attr]
    assert load_problem(tmp_path / "again.toml").world.law.tolist() == scenario.world.law.tolist()  # type: ignore[union-attr]


def test_equality_sees_a_changed_entry() -> None:
    one, _ = hepar2(seed=1)
    arms = list(one.arms)
    changed = arms[3].mechanism.probabilities.copy()  # type: ignore[union-attr]
    changed[0] = np.nextafter(changed[0, 0], 1), 1 - np.nextafter(changed[0, 0], 1)
    arms[3] = Arm(arms[3].name, table("fibrosis", ["ChHepatitis"], changed))
    assert dataclasses.replace(one, arms=arms) != one


def test_schema_accepts_the_bundled_files_and_refuses_a_wrong_key() -> None:
    validator = jsonschema.Draft202012Validator(problem_schema())
    good = tomllib.loads(BASE)
    assert not list(validator.iter_errors(good))
    for name in ("coin", "hepar2"):
        assert not list(validator.iter_errors(tomllib.loads(problem_text(load_problem(name).problem))))
    good["problem"]["tolerence"] = 1
    assert list(validator.iter_errors(good))
    json.dumps(problem_schema(), allow_nan=False)


def test_code_cannot_be_saved(tmp_path: Path) -> None:
    problem = load_problem("coin").problem
    code = Arm("mine", Code("side", (), lambda columns: np.log(np.full(len(columns["side"]), 0.5))))
    with pytest.raises(ProblemError, match="Arm 'mine' is made of code"):
        write_problem(dataclasses.replace(problem, arms=[*problem.arms, code], costs=()), tmp_path / "x.toml")


def test_what_a_file_leaves_out_can_come_from_its_world(tmp_path: Path) -> None:
    start = BASE.index("[problem.context]")
    arms = BASE[BASE.index("[[problem.arms]]") : BASE.index("[[problem.mechanisms]]")]
    world = BASE[BASE.index("[world.states]") :].replace(
        "[world.states]",
        '[world.states]\nS = ["a", "b"]\nX = ["x0", "x1"]\nZ = ["z0", "z1", "z2"]\nV = ["v0", "v1"]\nY = ["no", "yes"]',
    )
    head = BASE[:start].split("[problem.states]")[0]
    for key in ("edges", "shares"):
        head = "\n".join(line for line in head.split("\n") if not line.startswith(key))
    short, *_ = parse_problem(f"{head}from_world = true\n{arms}{world}", "short", tmp_path)
    full, *_ = parse_problem(BASE, "full", tmp_path)
    assert short.shares == full.shares and short.observed and set(short.observed) == set(full.observed)
    assert np.allclose(short.compiled.tables.D, full.compiled.tables.D, rtol=1e-12)
    assert np.allclose(short.compiled.tables.M, full.compiled.tables.M, rtol=1e-12)


# ---- the order of states ----


def with_ordered(line: str) -> str:
    return BASE.replace('deployed = "one"\n', f'deployed = "one"\n{line}\n')


def test_ordered_states_are_read_and_written() -> None:
    problem = parse_problem(with_ordered('ordered = ["Z"]'), "base", Path()).problem
    assert problem.variables["Z"].levels == (0, 1, 2)
    assert problem.variables["X"].levels is None
    again = parse_problem(problem_text(problem), "base", Path()).problem
    assert again.variables == problem.variables
    assert "ordered" not in problem_text(parse_problem(BASE, "base", Path()).problem)


def test_numbers_are_ordered_unless_that_is_denied() -> None:
    numbers = BASE.replace('"z0"', '"10"').replace('"z1"', '"9"').replace('"z2"', '"8"')
    assert parse_problem(numbers, "base", Path()).problem.variables["Z"].levels == (2, 1, 0)
    denied = numbers.replace('deployed = "one"\n', 'deployed = "one"\nordered = []\n')
    problem = parse_problem(denied, "base", Path()).problem
    assert problem.variables["Z"].levels is None
    assert parse_problem(problem_text(problem), "base", Path()).problem.variables == problem.variables


@pytest.mark.parametrize("name", ["Q", "H"])
def test_only_nodes_with_states_are_ordered(name: str) -> None:
    with pytest.raises(ReadError, match=f"problem.ordered: '{name}' is not a node with states"):
        parse_problem(with_ordered(f'ordered = ["{name}"]'), "base", Path())


# ---- several attributes, causes, what is kept ----

SEVERAL = """\
[problem]
name = "several"
sensitive = ["region", "race", "sex"]
regimes = ["race=b", "region=north,race=b"]
regime_kind = "set"
decision = "V"
outcome = { node = "Y", values = { no = 0, yes = 1 } }
shares = { region = { north = 0.4, south = 0.6 } }
joint_shares = [{ attributes = ["race", "sex"], table = [[0.2, 0.1], [0.1, 0.2], [0.1, 0.3]] }]
edges = [["region", "X"], ["race", "X"], ["X", "V"], ["sex", "V"], ["V", "Y"], ["X", "Y"], ["H", "race"], ["H", "sex"]]
hidden = ["H"]
[problem.states]
region = ["north", "south"]
race = ["a", "b", "c"]
sex = ["f", "m"]
X = ["x0", "x1"]
V = ["v0", "v1"]
Y = ["no", "yes"]
[[problem.constraints]]
name = "race, same X"
attribute = "race"
groups = ["a", "b"]
tolerance = 0.05
keep = ["X"]
[[problem.constraints]]
attributes = ["region", "sex"]
compare = "mean"
tolerance = 0.1
min_share = 0.2
[[problem.constraints]]
attribute = "region"
compare = "reference"
reference = "north"
tolerance = 0.2
effect = "direct"
others = "held"
[[problem.constraints]]
attribute = "sex"
tolerance = 0.2
keep = "mediators"
[[problem.arms]]
name = "one"
parents = ["X", "sex"]
cost = { natural = 1, forced = 2, "race=b" = 3 }
table = [[[0.5, 0.5], [0.4, 0.6]], [[0.25, 0.75], [0.1, 0.9]]]
[[problem.arms]]
name = "two"
parents = ["X"]
table = [[0.5, 0.5], [0.25, 0.75]]
"""
CAUSED = """\
[problem]
name = "caused"
sensitive = "S"
decision = "V"
outcome = { node = "Y", values = { no = 0, yes = 1 } }
tolerance = 0.1
edges = [["Z", "S"], ["S", "V"], ["V", "Y"], ["Z", "Y"]]
[problem.states]
Z = ["z0", "z1"]
S = ["a", "b"]
V = ["v0", "v1"]
Y = ["no", "yes"]
[[problem.arms]]
name = "one"
parents = ["S"]
table = [[0.7, 0.3], [0.4, 0.6]]
[[problem.mechanisms]]
node = "S"
parents = ["Z"]
table = [[0.8, 0.2], [0.2, 0.8]]
"""


def test_several_attributes_read_and_write(tmp_path: Path) -> None:
    assert not list(jsonschema.Draft202012Validator(problem_schema()).iter_errors(tomllib.loads(SEVERAL)))
    problem, *_ = parse_problem(SEVERAL, "several", tmp_path)
    assert problem.attributes == ("region", "race", "sex") and len(problem.groups) == 12
    assert problem.regimes == ("natural", "race=b", "region=north,race=b") and problem.regime_kind == "set"
    assert problem.costs == ((1, 3, 2), (1, 1, 1))
    assert problem.shares is not None
    assert problem.shares[problem.groups.index("region=south,race=c,sex=m")] == pytest.approx(0.6 * 0.3)
    kept = [(asked.about, asked.keep, asked.others, asked.effect, asked.min_share) for asked in problem.constraints]
    assert kept == [
        (("race",), ("X",), "follow", "total", 0),
        (("region", "sex"), (), "follow", "total", 0.2),
        (("region",), (), "held", "direct", 0),
        (("sex",), "mediators", "follow", "total", 0),
    ]
    written = problem_text(problem)
    again, *_ = parse_problem(written, "again", tmp_path)
    assert again == problem and again.rows == problem.rows and problem_text(again) == written
    assert not list(jsonschema.Draft202012Validator(problem_schema()).iter_errors(tomllib.loads(written)))


def test_profiles_that_are_too_rare_are_listed(tmp_path: Path) -> None:
    problem, *_ = parse_problem(SEVERAL, "several", tmp_path)
    assert [(name, round(share, 6)) for _, name, share in problem.left_out] == [("region=north,sex=f", 0.16)]


def test_an_attribute_with_causes_reads_and_writes(tmp_path: Path) -> None:
    problem, *_ = parse_problem(CAUSED, "caused", tmp_path)
    assert not problem.plain and problem.observed == ("Z", "S", "V", "Y") and problem.cell_columns == ("Z", "V")
    assert problem.own_factor(problem.roles.blocks[0]) == problem.mechanisms["S"]
    assert [row.name for row in problem.rows] == ["a as b - a", "b as a - b"]
    assert parse_problem(problem_text(problem), "again", tmp_path).problem == problem


SEVERAL_WRONG: dict[str, tuple[str, str, str]] = {
    "attribute twice": ('["region", "race", "sex"]', '["region", "race", "race"]', "'race' is named twice"),
    "no attribute": ('["region", "race", "sex"]', "[]", "Give the name of a node, or a list of such names"),
    "decision too": ('["region", "race", "sex"]', '["region", "V"]', "must be three different nodes"),
    "groups": ('decision = "V"', 'decision = "V"\ngroups = ["a", "b"]', "orders the states of a single attribute"),
    "no such regime": ('"region=north,race=b"', '"north,b"', "There is no regime 'north,b'"),
    "kind": ('"set"', '"found"', "problem.regime_kind: should be 'recruited' or 'set'; got 'found'"),
    "cost of no regime": ('"race=b" = 3', '"race=c" = 3', "problem.arms[0].cost: There is no regime 'race=c'"),
    "state": ('race = ["a", "b", "c"]', 'race = ["a", "b", "c,d"]', "'c,d' is a name of the sensitive attribute 'race'"),
    "shares flat": ("region = { north = 0.4, south = 0.6 }", "north = 0.4, south = 0.6", "shares go by attribute, then by state"),
    "joint shape": ("[0.1, 0.2], [0.1, 0.3]]", "[0.3, 0.4]]", "problem.joint_shares[0].table: needs a list of 3 entries; got 2"),
    "joint sum": ("[0.1, 0.3]]", "[0.1, 0.2]]", "problem.joint_shares[0]: The joint law of ['race', 'sex'] must hold"),
    "joint of nobody": ('attributes = ["race", "sex"]', 'attributes = ["race", "age"]', "problem.joint_shares[0]: node 'age' has no"),
    "joint of no block": ('["H", "race"], ["H", "sex"]', '["H", "race"]', "'race' shares no hidden cause with 'sex'"),
    "attribute of nobody": ('attribute = "race"', 'attribute = "age"', "is about 'age'. The sensitive attributes are: region, race, sex"),
    "kept": ('keep = ["X"]', 'keep = "everything"', "problem.constraints[0].keep: should be"),
    "effect": ('effect = "direct"', 'effect = "all"', "problem.constraints[2].effect: should be 'total'"),
}  # fmt: skip


@pytest.mark.parametrize("case", SEVERAL_WRONG)
def test_what_is_wrong_with_several_attributes_is_one_line(case: str, tmp_path: Path) -> None:
    old, new, expected = SEVERAL_WRONG[case]
    assert old in SEVERAL
    with pytest.raises(ReadError) as caught:
        parse_problem(SEVERAL.replace(old, new, 1), "several", tmp_path)
    assert expected in str(caught.value) and "\n" not in str(caught.value)


def test_a_wrong_key_is_answered_by_those_of_its_place(tmp_path: Path) -> None:
    """Not by a key of another table that looks alike."""
    wrong = BASE.replace("values = {", "low = -5, values = {", 1)
    assert wrong != BASE
    with pytest.raises(
        ReadError, match=r"problem.outcome.low: there is no such key. Keys here: node, range, values\.$"
    ):
        parse_problem(wrong, "base", tmp_path, None)


@pytest.mark.parametrize("key", ["edges = [", "decision = "])
def test_a_key_below_a_list_of_tables_is_said_to_belong_above_it(key: str, tmp_path: Path) -> None:
    """TOML puts it into the list's last table; that a required key is then missing above is not what is said."""
    text = BASE.replace("tolerance = 1.5\n", "").replace(key, f"[[problem.constraints]]\ntolerance = 1.5\n{key}", 1)
    with pytest.raises(ReadError) as caught:
        parse_problem(text, "base", tmp_path)
    name = key.split()[0]
    assert str(caught.value) == f"base: `{name}` belongs to [problem]: move it above the first [[...]]."
