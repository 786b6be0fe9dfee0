"""Pages of runs, simulations and inspections: they say what the terminal says, in its words, and hold every number."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from made_evaluations import certified
from made_evaluations import evaluation as made_evaluation
from rich.console import Console

from fairarm import Problem, Variable, identify, inspect, load_problem, simulate, table
from fairarm.algorithms import Guarantee
from fairarm.beliefs.beliefs import Smoothness
from fairarm.beliefs.findings import Finding, Level
from fairarm.cli import show
from fairarm.cli import terminal as terminal_of
from fairarm.cli.documents import identification
from fairarm.cli.show_evaluation import evaluation as show_evaluation
from fairarm.experiments.identify import Identification
from fairarm.problem.answer import Answer, Status
from fairarm.problem.mechanism import Arm
from fairarm.problem.outcome import Outcome
from fairarm.reports.page.write import page_text
from fairarm.reports.words import arm_reason, guarantee_of, law_text, smooth_text, why_observed
from page_tree import Element, read_page, table_rows


def page_of(result: Any) -> Element:
    return read_page(page_text(result))


def tables(page: Element) -> list[list[dict[str, str]]]:
    return [table_rows(table) for table in page.all("table")]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the terminal shows, on lines as long as they need to be."""
    shown = io.StringIO()
    monkeypatch.setattr(terminal_of, "console", Console(file=shown, width=100_000, highlight=False))
    return shown


def sentences(shown: str) -> list[str]:
    """Lines that are no row of a table."""
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    return [
        line.removeprefix("Not available: ") for line in lines if line.endswith(".") or line.startswith("most likely")
    ]


def run_of(name: str, **options: Any) -> tuple[Identification, Problem]:
    scenario = load_problem(name)
    return identify(scenario.problem, scenario.world, **{"pulls": 300, "seed": 1, **options}), scenario.problem


RUNS = (
    {"name": "coin"},
    {"name": "coin", "algorithm": "csr-v2"},
    {"name": "coin", "algorithm": "sris-v2"},
    {"name": "coin", "algorithm": "csr-v1", "pulls": 3},
    {"name": "coin", "pulls": 2000, "confidence": 0.9},
    {"name": "coin", "pulls": 20, "confidence": 0.99},
    {"name": "coin", "pulls": 2000, "confidence": 0.9, "stop": "bayes-stop"},
    {"name": "ad-marketplace"},
    {"name": "synthetic-tight-noisy:K=6,m=8,seed=2", "pulls": 200, "seed": 2},
)


@pytest.mark.parametrize("options", RUNS, ids=lambda o: " ".join(str(v) for v in o.values()))
def test_a_run_is_told_in_the_words_of_the_terminal(options: dict[str, Any], terminal: io.StringIO) -> None:
    found, problem = run_of(**options)
    teller = show.Storyteller(problem)
    for part in found.story:
        teller.phase(part)
    teller.end(found)
    said = page_of(found).text.lower()
    expected = sentences(terminal.getvalue())
    assert expected
    assert [line for line in expected if line.lower() not in said] == []


@pytest.mark.parametrize("name", ["coin", "ad-marketplace", "synthetic-tight:K=30,m=5,seed=3", "hepar2:K=3"])
def test_an_inspection_is_told_in_the_words_of_the_terminal(name: str, terminal: io.StringIO) -> None:
    scenario = load_problem(name)
    found = inspect(scenario.problem, scenario.world, limit=name != "hepar2:K=3")
    show.inspection(found)
    said = page_of(found).text
    expected = [line.removeprefix(f"{scenario.problem.name} ") for line in sentences(terminal.getvalue())]
    assert len(expected) >= 6
    assert [line for line in expected if line not in said] == []


def test_every_arm_of_a_run_with_its_reason() -> None:
    found, _ = run_of("ad-marketplace", pulls=1000, seed=7)
    page = page_of(found)
    phases, outcomes, gaps = tables(page)
    assert len(phases) == len(found.story)
    assert phases[0]["what it pulled"] == "484 x deployed (natural)"
    assert {row["arm"].removeprefix("★ "): row["why"] for row in outcomes} == {
        r.name: arm_reason(found.verdict, r) for r in found.verdict.arms
    }
    assert outcomes[0]["arm"] == "★ by-query" and gaps[0]["gap female - male, in revenue (from 0 to 10)"] == "-0.033"
    assert "Nothing is certified: the probability goes by the posterior." in page.text
    assert "Best mixture that is fair with probability 0.95" in page.text


def test_labels_are_proved_before_the_best_arm_is() -> None:
    found, _ = run_of("ad-marketplace", pulls=100, confidence=0.95)
    arms = tuple(
        replace(arm, certified=label)
        for arm, label in zip(found.verdict.arms, ["fair", "unfair", "worse", None, "fair", None], strict=True)
    )
    a, b, c, _, e, _ = (arm.name for arm in arms)
    said = page_of(replace(found, verdict=replace(found.verdict, arms=arms))).text
    assert found.verdict.status == "UNDECIDED" and "Nothing is certified" not in said
    assert (
        f"The best arm is not certified at confidence 0.95; certified fair: {a}, {e}; certified unfair: {b}; certified not to "
        f"be the best fair arm: {c}."
    ) in said
    bare = replace(found, verdict=replace(found.verdict, arms=tuple(replace(arm, certified=None) for arm in arms)))
    assert "at confidence 0.95; certified fair: none; certified unfair: none." in page_of(bare).text


def test_every_arm_of_a_rejection_with_its_phase() -> None:
    found, _ = run_of("coin", algorithm="csr-v2")
    _, rows = tables(page_of(found))
    assert [(row["arm"], row["phase"]) for row in rows] == [("even", ""), ("tilted", "7")]
    assert rows[1]["why"].startswith("unfair: gap 0.1378 > 0.1")


def test_a_run_holds_its_problem_and_needs_no_truth_for_the_tolerance() -> None:
    found, problem = run_of("coin")
    assert found.problem is problem
    for page in (page_of(found), page_of(replace(found, truth=None))):
        assert "A gap between -0.1 and 0.1 is fair." in page.text
        assert "Choose how" in page.text and "Shaded" in page.text
    assert "the truth in this world" not in page.text


def test_a_run_that_started_from_a_log_says_so() -> None:
    found, _ = run_of("coin")
    said = "The run started from 1234 rows of a log; they count neither as pulls nor as cost."
    assert said in page_of(replace(found, log_rows=1234)).text
    assert said not in page_of(found).text


def test_a_long_story_is_drawn_as_one_outline() -> None:
    found, _ = run_of("coin")
    story = tuple(replace(found.story[0], phase=k + 1) for k in range(200))
    page = page_of(replace(found, story=story))
    assert len(tables(page)[0]) == 200
    assert not [e for e in page.walk() if "phases-pulls-" in e.attributes.get("id", "")]


def test_a_run_without_a_phase() -> None:
    found, _ = run_of("coin")
    assert "No pull was made." in page_of(replace(found, story=())).text


# ---- simulations ----


@pytest.fixture(scope="module")
def simulated() -> Any:
    coin = load_problem("coin")
    return simulate(coin.problem, coin.world, algorithms=["pool", "uniform"], pulls=[50, 400], runs=20, limit=True)


def test_a_simulation_has_every_point(simulated: Any) -> None:
    page = page_of(simulated)
    (rows,) = tables(page)
    assert len(rows) == 4
    for row, point in zip(rows, simulated.results, strict=True):
        assert (row["algorithm"], row["pulls"], row["error"]) == (
            point.algorithm,
            str(point.pulls),
            f"{point.error:.3f}",
        )
        assert row["95 % limits"] == f"{point.error_low:.3f}-{point.error_high:.3f}"
        assert row["used / limit"] == f"{point.pulls_per_limit:.2f}"
    assert "coin: the best fair arm is even." in page.text
    best = min((p for p in simulated.results if p.pulls == 400), key=lambda p: p.error)
    assert f"With 400 pulls, {best.algorithm} was wrong in {best.error:.3f} of 20 runs" in page.text


def test_a_simulation_does_not_depend_on_how_long_it_took(simulated: Any) -> None:
    slower = tuple(replace(point, seconds=point.seconds + 9.0) for point in simulated.results)
    assert page_text(simulated) == page_text(replace(simulated, results=slower))


def test_a_simulation_where_no_arm_is_fair(simulated: Any) -> None:
    assert "coin: no arm is fair." in page_of(replace(simulated, best_fair_arm=None)).text


# ---- inspections ----


def test_why_a_node_must_be_observed() -> None:
    problem = Problem(
        name="p",
        variables=[Variable(name, ("a", "b")) for name in ("S", "X", "W", "Z", "V", "Y")],
        graph=[("S", "X"), ("W", "X"), ("X", "V"), ("Z", "V"), ("V", "Y"), ("X", "Y"), ("S", "V"), ("H", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[
            Arm("one", table("V", ["Z"], [[0.5, 0.5], [0.4, 0.6]])),
            Arm("two", table("V", ["S", "X"], np.full((2, 2, 2), 0.5))),
        ],
    )
    assert problem.observed == ("S", "X", "W", "V", "Z", "Y")
    assert {node: why_observed(problem, node) for node in problem.observed} == {
        "S": ["the sensitive attribute", "an input of two"],
        "X": ["an input of two", "a child of S on the way to Y, whose mechanism is not declared"],
        "W": ["a parent of X"],
        "Z": ["an input of one"],
        "V": ["the decision"],
        "Y": ["the outcome"],
    }
    page = page_of(inspect(problem))
    assert {row["node"] for row in tables(page)[0]} == set(problem.observed)
    assert "Not known: the problem has no world that knows it." in page.text
    assert [e.text for e in page.all("h2")].count("Not available") == 1


def test_divergences_are_drawn_with_their_numbers() -> None:
    scenario = load_problem("ad-marketplace")
    found = inspect(scenario.problem, scenario.world)
    page = page_of(found)
    assert found.M is not None and found.D is not None
    for name, matrix in (("m", found.M), ("d1", found.D[0]), ("d2", found.D[1])):
        for svg in page.find(f"figure-{name}").all("svg"):
            written = [e.text for e in svg.all("text")]
            assert all(written.count(f"{x:.2f}") for x in matrix.ravel() if x < 10)


def test_arms_without_overlap_are_hatched_and_named() -> None:
    scenario = load_problem("ad-marketplace")
    found = inspect(scenario.problem, scenario.world)
    assert found.M is not None
    cut = found.M.copy()
    cut[4, 0] = np.inf
    page = page_of(replace(found, M=cut))
    assert "The deployed arm's pulls say nothing about: by-sex." in page.text
    assert "Infinite for 1 of 36 pairs." in page.find("figure-m").text
    assert any(e.tag == "pattern" for e in page.find("figure-m").walk())
    assert not any(e.tag == "pattern" for e in page.find("figure-d1").walk())


def test_many_arms_are_numbered_and_the_best_fair_one_is_drawn() -> None:
    scenario = load_problem("synthetic-tight:K=70,m=20,seed=3")
    found = inspect(scenario.problem, scenario.world)
    page = page_of(found)
    assert found.truth is not None and found.truth.best_fair_arm is not None
    best = scenario.problem.arm_names[found.truth.best_fair_arm]
    for svg in page.find("figure-outcomes").all("svg"):
        drawn = [name for e in svg.all("text") if (name := e.text.removeprefix("★ ")) in scenario.problem.arm_names]
        assert len(drawn) == 60 and drawn[0] == best
        fair = [bool(found.truth.fair[scenario.problem.arm_index(name)]) for name in drawn]
        assert fair == sorted(fair, reverse=True)
    assert "The picture shows the 60 best of 70 arms; the table has all." in page.text
    assert "The first 60 of 70 arms." in page.text
    rows = tables(page)[1]
    assert [row["number"] for row in rows] == [str(k + 1) for k in range(70)]


def test_a_problem_in_which_no_arm_is_fair() -> None:
    scenario = load_problem("synthetic-tight:K=30,m=20,seed=3")
    found = inspect(scenario.problem, scenario.world)
    assert found.truth is not None
    strict = replace(found, truth=replace(found.truth, tolerance=1e-12))
    page = page_of(strict)
    assert "In this world no arm is fair; the best arm of all" in page.text
    assert "★" not in page.find("figure-outcomes").text


# ---- evaluations, and answers that are not the most probable one ----


EVALUATIONS = {
    "voided": made_evaluation(),
    "certified": certified(),
    "no arm is fair": certified(certified_status=Status.NO_FAIR_ARM, certified_arm=None),
    "not certified": certified(certified_status=Status.UNDECIDED, certified_arm=None),
    "settled": certified(certified_status=Status.UNDECIDED, certified_arm=None, probability=0.9999),
    "settled and voided": made_evaluation(probability=0.9999),
    "undecided": made_evaluation(status=Status.UNDECIDED, arm=None),
    "with an interval": made_evaluation(plain_gap_interval=(0.0381, 0.0739)),
    "smooth along an order": made_evaluation(smooth=0.97),
}  # fmt: skip


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        (None, None),
        (0.97, "Outcomes are taken as smooth along 'dose' (weight 0.97). The rows speak for it."),
        (0.5, "Outcomes are partly taken as smooth along 'dose' (weight 0.50). The rows leave it open."),
        (0.03, "Outcomes are hardly taken as smooth along 'dose' (weight 0.03). The rows speak against it, so every level stands for itself."),
    ],
)  # fmt: skip
def test_whether_outcomes_follow_an_order_is_said(weight: float | None, said: str | None) -> None:
    found = made_evaluation(smooth=weight)
    assert smooth_text(found.evidence.smooth) == said
    assert said is None or said in page_of(found).text


def test_a_run_says_whether_outcomes_follow_an_order(terminal: io.StringIO) -> None:
    found, problem = run_of("coin")
    assert found.smooth is None and identification(found)["smooth"] is None
    ordered = replace(found, smooth=Smoothness(("dose",), np.array([0.97])))
    said = "Outcomes are taken as smooth along 'dose' (weight 0.97). The rows speak for it."
    show.Storyteller(problem).end(ordered)
    assert said in terminal.getvalue() and said in page_of(ordered).text and said not in page_of(found).text
    assert identification(ordered)["smooth"] == {"columns": ["dose"], "weight": 0.97}


@pytest.mark.parametrize("kind", EVALUATIONS)
def test_an_evaluation_is_told_in_the_words_of_the_terminal(kind: str, terminal: io.StringIO) -> None:
    found = EVALUATIONS[kind]
    show_evaluation(found)
    said = page_of(found).text
    lines = [line.strip().removeprefix("- ") for line in terminal.getvalue().splitlines() if line.endswith(".")]
    own = ("ward: ", "Best fair arm so far", "To learn most", *Level)  # told by page elements
    expected = [line for line in lines if not line.startswith(own)]
    assert len(expected) >= 6
    assert [line for line in expected if line not in said] == []


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (Answer(Status.FOUND, "even"), "even is the best fair arm found, after 1 pull at a cost of 2.5."),
        (Answer(Status.NO_FAIR_ARM), "no fair arm found, after 1 pull at a cost of 2.5."),
        (
            Answer(Status.UNDECIDED),
            "undecided, after 1 pull at a cost of 2.5. The algorithm does not say how probable its answer is. Recommended: even.",
        ),
    ],
)
def test_terminal_and_page_say_the_same_sentences(status: Answer, answer: str, terminal: io.StringIO) -> None:
    found, problem = run_of("coin", algorithm="csr-v2")
    decision = replace(found.verdict.decision, answer=status)
    found = replace(found, pulls=1, cost=2.5, verdict=replace(found.verdict, decision=decision))
    show.Storyteller(problem).end(found)
    show.inspection(inspect(problem))
    asked = (
        f"Choose how {problem.decision} is decided so that {problem.outcome.node} is highest, while changing "
        f"{problem.sensitive} ({', '.join(problem.groups)}) changes it by less than 0.1."
    )
    page = page_of(found).text
    for sentence in (answer, asked):
        assert sentence in terminal.getvalue() and sentence.lower() in page.lower()  # a page starts with a capital


def test_a_certified_run_from_a_log_states_its_condition() -> None:
    verdict = run_of("coin", pulls=5000, confidence=0.9)[0].verdict
    start = "Certified: wrong with probability at most 0.1, whatever the truth, given the declared law"
    assert guarantee_of(verdict) == f"{start} (proved)."
    assert (
        guarantee_of(verdict, 400)
        == f"{start}, if it holds of the log's 400 rows too (proved). It holds for one look at this log."
    )


LAW = {
    "all": ((0.08, 0.05, 0.31), "±0.08 (of A), or ±0.05 to ±0.31 (of 2 other arms) would have shown by now."),
    "own": ((0.08, None, None), "±0.08 (of A) would have shown by now; of 2 other arms no error would."),
    "another": ((None, 0.05, 0.05), "±0.05 (of 2 arms) would have shown by now; of A itself no error would."),
    "two": (
        (None, 0.05, None),
        "±0.05 (of 1 arm) would have shown by now; of A itself and 1 other arm no error would.",
    ),
}


@pytest.mark.parametrize("case", LAW)
def test_a_certified_run_says_how_wrong_the_law_could_be(case: str, terminal: io.StringIO) -> None:
    found, problem = run_of("coin", pulls=5000, confidence=0.9)
    errors, said = LAW[case]
    arms = tuple(replace(found.verdict.arms[0], name=n, law_error=e) for n, e in zip("ABC", errors, strict=True))
    decision = replace(found.verdict.decision, answer=Answer(Status.FOUND, "A"))
    verdict = replace(found.verdict, arms=arms, decision=decision)
    text = "The declared law was tested: a decision's probability that is wrong by more than " + said
    assert law_text(verdict) == text
    show.Storyteller(problem).end(replace(found, verdict=verdict))
    assert text in terminal.getvalue()
    assert law_text(replace(verdict, guarantee=Guarantee.POSTERIOR)) is None
    none = replace(verdict, arms=tuple(replace(arm, law_error=None) for arm in arms))
    assert law_text(none) == "The rows are too few to have shown an error in the declared law, however large."


def test_a_void_run_says_why_and_promises_nothing(terminal: io.StringIO) -> None:
    found, problem = run_of("coin", pulls=20, confidence=0.99)
    text = "The decisions in the rows of arm 'x' do not follow what is declared."
    finding = Finding("rows-do-not-fit-the-law", text, 7, ("x, a", "x, b"))
    decision = replace(found.verdict.decision, reasons=("blocking-warning",), blocked_by=(finding.name,))
    found = replace(found, verdict=replace(found.verdict, findings=(finding,), decision=decision))
    show.Storyteller(problem).end(found)
    said = page_of(found).text
    for text in (terminal.getvalue(), said):
        assert "Nothing is certified: what was declared has been seen to be wrong." in text
        assert f"rows-do-not-fit-the-law: {finding.message} Most of it is in: x, a; x, b." in text
        assert not [words for words in ("Give more pulls", "The declared law was tested") if words in text]
    assert identification(found)["findings"] == [
        {
            "name": finding.name,
            "message": finding.message,
            "rows": 7,
            "examples": ("x, a", "x, b"),
            "level": finding.level,
        }
    ]
