"""What results show at a prompt and in a notebook."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm import Arm, algorithm, evaluate, identify, inspect, load_problem, plan, simulate, table
from fairarm.errors import OptionError
from fairarm.problem.pulls import Request
from fairarm.shown import MOST_LINES

SCENARIO = load_problem("coin")


class Seen(HTMLParser):
    """Tags, and the text in cells; an error where a tag is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert not attrs
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


def batch_of(rows: int) -> Any:
    problem = SCENARIO.problem
    counts = np.zeros((3, len(problem.arms)), dtype=np.int64)
    counts[0, 0] = rows
    assert SCENARIO.world is not None
    return SCENARIO.world.pull(Request(problem.arm_names, problem.regimes, counts), np.random.default_rng(0))


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    problem, world = SCENARIO.problem, SCENARIO.world
    assert world is not None
    rng = np.random.default_rng(0)
    group, side = (rng.choice(problem.variables[name].states, 300) for name in (problem.sensitive, problem.decision))
    won = rng.choice(problem.variables[problem.outcome.node].states, 300)
    log = {problem.sensitive: group, problem.decision: side, problem.outcome.node: won}
    found = identify(problem, world, pulls=100, seed=1)
    return {
        "Problem": problem,
        "Scenario": SCENARIO,
        "Identification": found,
        "Verdict": found.verdict,
        "Simulation": simulate(problem, world, algorithms=["pool"], pulls=[50], runs=5, seed=1),
        "Inspection": inspect(problem, world),
        "ExperimentPlan": plan(problem, truths=5, target_error=0.4),
        "Evaluation": evaluate(replace(problem, deployed=problem.arm_names[0]), log),
        "Batch": batch_of(20),
    }


def test_a_repr_is_short_and_says_the_answer(results: dict[str, Any]) -> None:
    for name, result in results.items():
        text = repr(result)
        assert text.startswith(f"{name}(") and text.endswith(")") and "\n" not in text
        assert len(text) < 400 and "array(" not in text
    found = results["Identification"]
    assert repr(found).startswith(f"Identification(status='{found.verdict.status}', arm={found.verdict.arm!r}")
    assert f"probability={found.verdict.probability:.4g}" in repr(found)
    assert f"pulls={results['ExperimentPlan'].cheapest.pulls}" in repr(results["ExperimentPlan"])
    assert repr(results["Evaluation"]).startswith(f"Evaluation(status='{results['Evaluation'].status}'")
    assert repr(results["Batch"]).startswith("Batch(rows=20, ")
    assert len(repr(algorithm("pool", SCENARIO.problem, pulls=100))) < 200


def test_notebooks_get_a_small_table(results: dict[str, Any]) -> None:
    for name, result in results.items():
        seen = Seen(result._repr_html_())
        assert name in seen.cells and seen.tags <= {"strong", "table", "thead", "tbody", "tr", "th", "td", "p"}
    for name in ("Problem", "Identification", "Verdict", "Inspection", "Evaluation", "Scenario"):
        assert set(SCENARIO.problem.arm_names) <= set(Seen(results[name]._repr_html_()).cells)


def test_frames_have_the_columns_that_the_docs_list(results: dict[str, Any]) -> None:
    """And a row for each arm, point, option or line, with numbers that are not rounded."""
    page = (Path(__file__).parents[1] / "docs" / "python.md").read_text(encoding="utf-8")
    listed = {
        cells[1].strip(): re.findall(r"`(\w+)`", cells[3].partition(";")[0])
        for cells in (line.split("|") for line in page.splitlines() if line.startswith("|"))
        if len(cells) == 5
    }
    arms = list(SCENARIO.problem.arm_names)
    of = {
        "Identification": "`identify(…)`, `verdict()`", "Verdict": "`identify(…)`, `verdict()`", "Evaluation": "`evaluate(…)`",
        "Simulation": "`simulate(…)`", "Inspection": "`inspect(…)`", "ExperimentPlan": "`plan(…)`", "Batch": "a batch",
    }  # fmt: skip
    for name, called in of.items():
        nodes = list(results["Batch"].columns) if name == "Batch" else []
        assert results[name].to_frame("pyarrow").column_names == [*listed[called], *nodes], name
    for name in ("Identification", "Verdict", "Evaluation", "Inspection", "Problem", "Scenario"):
        assert results[name].to_frame()["arm"].tolist() == arms, name
    verdict, evaluation, point = results["Verdict"], results["Evaluation"], results["Simulation"].results[0]
    assert verdict.to_frame()["outcome"].tolist() == [arm.outcome for arm in verdict.arms]
    assert verdict.to_frame()["gap_high"].tolist() == [arm.gap_interval[1] for arm in verdict.arms]
    assert evaluation.to_frame()["gap_certified_low"].tolist() == [arm.gap.certified_low for arm in evaluation.arms]
    assert evaluation.to_frame()["support"].tolist() == [str(arm.support) for arm in evaluation.arms]
    assert results["Simulation"].to_frame("pyarrow").to_pylist()[0]["error_high"] == point.error_high
    plan_frame, cheapest = results["ExperimentPlan"].to_frame(), results["ExperimentPlan"].cheapest
    assert cheapest.pulls in plan_frame["pulls"].tolist() and len(plan_frame) == len(results["ExperimentPlan"].options)
    assert results["Batch"].to_frame()["count"].sum() == 20


def test_a_frame_of_an_inspection_without_truth_has_the_same_columns() -> None:
    bare, known = inspect(SCENARIO.problem), inspect(SCENARIO.problem, SCENARIO.world)
    assert bare.to_frame("pyarrow").schema == known.to_frame("pyarrow").schema
    assert bare.to_frame("pyarrow")["gap"].null_count == 2 and known.to_frame("pyarrow")["gap"].null_count == 0


def test_a_batch_with_a_node_called_as_a_column_of_its_own() -> None:
    part = batch_of(3)
    other = replace(part, columns={**part.columns, "count": part.arm})
    with pytest.raises(OptionError, match=r"'count' too\. Take the batch's columns"):
        other.to_frame()


def test_names_are_escaped_and_many_arms_are_cut() -> None:
    problem = SCENARIO.problem
    rule = table(problem.decision, [problem.sensitive], [[0.5, 0.5], [0.5, 0.5]])
    nasty = "<script>alert(1)</script>&"
    made = problem.with_arms([*problem.arms, Arm(nasty, rule), *(Arm(f"arm {i}", rule) for i in range(30))])
    page = made._repr_html_()
    assert "<script" not in page and nasty in "".join(Seen(page).cells)
    assert f"{32 + 1 - MOST_LINES} more" in page
    assert len(repr(replace(made, name="x" * 150))) < 400
