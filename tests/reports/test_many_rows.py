"""Pages where more is asked about than one gap: every row of every arm is drawn where it is, shaded by how likely it is to hold, and
written in full."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from lettering import misplaced
from rich.console import Console
from test_drawn import NEAR, SIZES, across, drawing, scale

import four_groups as lender
from fairarm import (
    Arm,
    Constraint,
    NetworkWorld,
    Outcome,
    Problem,
    Variable,
    evaluate,
    identify,
    inspect,
    load_problem,
    table,
)
from fairarm.cli import documents, show
from fairarm.cli import terminal as terminal_of
from fairarm.cli.show_evaluation import evaluation as show_evaluation
from fairarm.problem.network import Network
from fairarm.reports.known import KnownArm, by_question, logged_arm, read_ends, reported_arm, row_heads, true_arm
from fairarm.reports.page.evaluation import by_probability as most_probable
from fairarm.reports.page.identification import by_probability
from fairarm.reports.page.write import page_text
from fairarm.reports.words import asked_of_arms, row_text, shown_digits, value
from many_groups import many_groups
from page_tree import Element, read_page, table_rows

LONG = ("African American or Black", "Caucasian, not Hispanic", "漢字" * 12, "Щ" * 40)


def spelled(groups: tuple[str, ...]) -> NetworkWorld:
    """Groups with such names, an outcome in money, and three questions."""
    asked = [
        Constraint(compare="pairs", tolerance=3e6),
        Constraint(compare="mean", ratio=0.9),
        Constraint(compare="floor", at_least=1e7, name="what everybody must reach at the very least"),
    ]
    rules = [[[0.5 + 0.04 * k * t, 0.5 - 0.04 * k * t] for t in range(len(groups))] for k in range(3)]
    tables = [table("S", [], [0.25] * 4), table("V", ["S"], rules[0]), table("Y", ["V"], [[0.8, 0.2], [0.3, 0.7]])]
    variables = [Variable("S", groups), Variable("V", ("x", "y")), Variable("Y", ("little", "much"))]
    problem = Problem(
        name="spelled", variables=variables, graph=[("S", "V"), ("V", "Y")], sensitive="S", decision="V",
        outcome=Outcome("Y", values=(0, 48e6)), arms=[Arm(f"rule {k}", table("V", ["S"], rule)) for k, rule in enumerate(rules)],
        shares=[0.25] * 4, constraints=asked,
    )  # fmt: skip
    return NetworkWorld(problem, Network.of(variables, tables))


def made(folder: Path) -> dict[str, Any]:
    path = folder / "lender.toml"
    path.write_text(lender.problem_file())
    loan, groups = load_problem(path), load_problem("synthetic-groups:G=4,K=30,seed=1")
    twenty = many_groups(1, G=20, K=5, tolerance=0.2)
    long = spelled(LONG)
    return {
        "truth": inspect(loan.problem, loan.world),
        "run": identify(loan.problem, loan.world, pulls=400),
        "mis": identify(loan.problem, loan.world, pulls=400, algorithm="mis"),
        "log": evaluate(loan.problem, lender.log(3000, 1)),
        "thirty arms": identify(groups.problem, groups.world, pulls=300),
        "csr": identify(groups.problem, groups.world, pulls=3000, algorithm="csr-v2"),
        "twenty groups": inspect(twenty.problem, twenty),
        "long names": identify(long.problem, long, pulls=200),
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return made(tmp_path_factory.mktemp("made"))


@pytest.fixture(scope="module")
def pages(results: dict[str, Any]) -> dict[str, Element]:
    return {name: read_page(page_text(found)) for name, found in results.items()}


def arms_of(found: Any) -> list[KnownArm]:
    """In the order in which they are drawn."""
    problem = found.problem
    if hasattr(found, "verdict"):
        return [reported_arm(problem, report) for report in by_probability(found.verdict)]
    if hasattr(found, "M"):
        order = sorted(range(len(problem.arms)), key=lambda k: (not found.truth.fair[k], -found.truth.outcomes[k]))
        return [true_arm(problem, found.truth, k) for k in order]
    return [logged_arm(problem, arm) for arm in most_probable(found)]


NAMES = ("truth", "run", "mis", "log", "thirty arms", "csr", "twenty groups", "long names")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_every_row_of_every_arm_is_drawn_where_it_is(name: str, size: str, results: Any, pages: Any) -> None:
    found = results[name]
    questions = by_question(found.problem.rows)
    for number, rows in enumerate(questions, 1):
        svg, own = drawing(pages[name], f"fairness-{number}", size)
        at = scale(svg, own)
        for i, arm in enumerate(arms_of(found)):
            closest = arm.closest_of(rows)
            if closest is None:  # mis shows gaps alone
                assert name == "mis" and not [e for e in svg.walk() if e.attributes.get("id") == f"{own}-mean-{i}"]
                continue
            assert closest.shown is not None
            assert across(svg, f"{own}-mean-{i}")[0] == pytest.approx(at(closest.shown), abs=NEAR)
            others = [at(arm.rows[j].shown) for j in rows if arm.rows[j] is not closest]
            drawn = [e for e in svg.walk() if e.attributes.get("id") == f"{own}-others-{i}"]
            places = [float(x) for e in drawn for x in re.findall(r"M([\d.]+) ", e.attributes["d"])]
            assert places == pytest.approx(others, abs=NEAR)
            if closest.interval is not None:
                ends = [at(x) for x in closest.shown_interval or ()]
                assert across(svg, f"{own}-usual-{i}") == pytest.approx(ends, abs=NEAR)
            if closest.certified is not None and name == "log":
                cut = [min(max(at(x), across(svg, f"{own}-frame")[0]), across(svg, f"{own}-frame")[1]) for x in closest.shown_certified or ()]  # fmt: skip
                assert across(svg, f"{own}-certified-{i}") == pytest.approx(cut, abs=NEAR)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["truth", "log"])
def test_what_is_fair_is_shaded_up_to_the_ends(name: str, size: str, results: Any, pages: Any) -> None:
    rows = results[name].problem.rows
    ends = [read_ends(rows[which[0]]) for which in by_question(rows)]
    assert ends == [(-1.2, 1.2), (0.9, None), (-1.0, 1.0), (12.5, None), (-2.0, 2.0)]
    for number, (low, high) in enumerate(ends, 1):
        svg, own = drawing(pages[name], f"fairness-{number}", size)
        at, frame = scale(svg, own), across(svg, f"{own}-frame")
        expected = (
            frame[0] if low is None else max(at(low), frame[0]),
            frame[1] if high is None else min(at(high), frame[1]),
        )
        assert across(svg, f"{own}-tolerance") == pytest.approx(expected, abs=NEAR)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_the_matrix_has_a_cell_for_every_row_of_every_arm(name: str, size: str, results: Any, pages: Any) -> None:
    found, arms = results[name], arms_of(results[name])
    shown = range(len(found.problem.rows))
    svg, own = drawing(pages[name], "conditions", size)
    cells = {}
    for path in svg.all("path", class_="cells"):
        if not (own_level := re.fullmatch(rf"{own}-level-(\d)", path.attributes.get("id", ""))):
            continue
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)h", path.attributes["d"]):
            cells[float(y), float(x)] = int(own_level[1])
    if len(shown) > 36:
        assert len(cells) == 36 * len(arms) and "The 36 of 190 conditions that come closest" in pages[name].text
        broken = sum(not row.inside for arm in arms for row in arm.rows)
        assert 0 < list(cells.values()).count(3) <= broken
        return
    assert [cells[place] for place in sorted(cells)] == [level(arm.rows[j]) for arm in arms for j in shown]
    words = [e.text for e in svg.all("text")]
    assert set(words) >= {row.name for row in found.problem.rows if len(row.name) < 8}
    assert {arm.name for arm in arms} <= {text.removeprefix("★ ") for text in words}


def level(row: Any) -> int:
    """As the key says."""
    if row.value is None:
        return 4
    if row.holds is None:
        return 0 if row.inside else 3
    return 3 if row.holds <= 0.05 else 2 if row.holds < 0.5 else 1 if row.holds < 0.95 else 0


@pytest.mark.parametrize("name", NAMES)
def test_no_text_of_a_figure_leaves_it_or_meets_another(name: str, pages: Any) -> None:
    assert len(pages[name].all("svg")) >= 6
    for svg in pages[name].all("svg"):
        assert misplaced(svg) == [], svg.all("title")[0].text
        assert svg.all("desc")[0].text


@pytest.mark.parametrize("name", NAMES)
def test_the_last_table_has_every_number(name: str, results: Any, pages: Any) -> None:
    found, arms = results[name], {arm.name: arm for arm in arms_of(results[name])}
    problem = found.problem
    lines = [line for part in pages[name].all("details") for line in table_rows(part.all("table")[0])]
    assert len(lines) == len(arms) * len(problem.rows)
    heads = row_heads(problem.rows)
    for line in lines:
        row = arms[line["arm"]].rows[heads.index(line["condition"])]
        assert line["value"] == value(row.shown, shown_digits(problem, row.row))
        assert ("holds" in line) == (row.holds is not None)
        assert "holds" not in line or line["holds"] == f"{row.holds:.3f}"


def test_the_numbers_are_those_of_the_json(results: Any) -> None:
    for name, document in (("log", documents.evaluation), ("run", documents.identification)):
        found, printed = results[name], document(results[name])
        known = {arm.name: arm for arm in arms_of(found)}
        for arm in printed["arms"]:
            for own, row in zip(known[arm["name"]].rows, arm["fairness"], strict=True):
                assert (own.row.name, own.value) == (row["name"], row["value"])
                assert list(own.interval or ()) == list(row["interval"]) and own.holds == row["holds_probability"]
            closest = known[arm["name"]].closest
            assert closest is not None and closest.row.name == arm["closest"]
    truth, printed = results["truth"], documents.inspection(results["truth"])
    for arm in arms_of(truth):
        (of,) = [each for each in printed["arms"] if each["name"] == arm.name]
        assert [row.value for row in arm.rows] == [row["value"] for row in of["fairness"]]


@pytest.mark.parametrize("name", NAMES)
def test_closest_rows_and_questions_are_said(name: str, results: Any, pages: Any) -> None:
    problem, text = results[name].problem, pages[name].text
    for arm in arms_of(results[name]):
        assert arm.closest is not None and row_text(problem, arm.closest) in text
    assert all(sentence in text for sentence in asked_of_arms(problem))
    assert "An arm is fair here if all of this holds:" in text and "gap between the groups" not in text


@pytest.mark.parametrize("name", NAMES)
def test_page_and_terminal_say_the_same(name: str, results: Any, pages: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found, shown = results[name], io.StringIO()
    monkeypatch.setattr(terminal_of, "console", Console(file=shown, width=100_000, highlight=False))
    if hasattr(found, "verdict"):
        show.Storyteller(found.problem).end(found)
    else:
        show.inspection(found) if hasattr(found, "M") else show_evaluation(found)
    own = ("To learn most", "Best fair arm so far", "lender: ", "many groups", "synthetic", "lender ")
    lines = [
        " ".join(line.split()).removeprefix("Not available: ").removeprefix("- ")
        for line in shown.getvalue().splitlines()
    ]
    sentences = [line for line in lines if line.endswith(".") and not line.startswith(own) and "--json" not in line]
    assert len(sentences) >= 2
    assert [line for line in sentences if line.lower() not in pages[name].text.lower()] == []


def test_distances_of_many_pairs_are_one_map(pages: Any, results: Any) -> None:
    assert [e.attributes["id"] for e in pages["truth"].all("figure") if e.attributes["id"] in ("figure-m", "figure-d")] == ["figure-m", "figure-d"]  # fmt: skip
    found = results["truth"]
    largest = found.D.max(axis=0)
    written = [e.text for e in drawing(pages["truth"], "d", "")[0].all("text")]
    assert all(f"{x:.2f}" in written for x in largest.ravel() if x < 10)
    three = load_problem(Path(__file__).parents[1] / "three_groups.toml")
    page = read_page(page_text(inspect(three.problem, three.world)))
    assert [e.attributes["id"] for e in page.all("figure") if "-d" in e.attributes["id"]] == [f"figure-d{i}" for i in range(1, 7)]  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
def test_the_last_question_of_the_matrix_has_its_whole_name_where_there_is_room(size: str) -> None:
    """One condition about region, beside which nothing stands; its name is wider than its column."""
    causes = load_problem("synthetic-causes")
    svg, _ = drawing(read_page(page_text(inspect(causes.problem, causes.world))), "conditions", size)
    written = [e.text for e in svg.all("text")]
    assert "region: pairs within 0.15" in written and not [text for text in written if "…" in text]
    assert misplaced(svg) == []
