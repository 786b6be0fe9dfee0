"""Simulated studies have the truth that was worked out by hand, their people meet what the case says, and the page judges every bar."""

from __future__ import annotations

import pytest
from benchmarks.studies.answers import BY_OUTCOME, exported, page, said_by
from benchmarks.studies.simulated import Case, Question, declared_discounts, discounts, simulated, variants

from fairarm.worlds import NetworkWorld

SHORT = {"pulls": 1_800}
"""Three cohorts."""


@pytest.mark.parametrize("question", [discounts(), declared_discounts(), variants()])
def test_the_truth_by_hand_is_that_of_the_network(question: Question) -> None:
    truth = NetworkWorld(question.problem, question.network).truth()
    first, second = truth.group_outcomes.T
    for k, (name, (outcome, gap)) in enumerate(question.truth.items()):
        assert name == question.problem.arm_names[k]
        assert (truth.outcomes[k], first[k] - second[k]) == pytest.approx((outcome, gap))
    assert question.problem.arm_names[truth.best_fair_arm or 0] == question.best


def test_people_meet_what_the_case_says() -> None:
    case = Case("", discounts, 0.1 / 0.56, BY_OUTCOME, lost=0.1, late=0.05, options=SHORT)
    with simulated(case, 1) as made:
        assert made.study.verdict().people == len(made.entered) > 1_700
        of_fate = {fate: [x.row for x in made.entered if x.fate == fate] for fate in ("unserved", "never", "late")}
        cohorts = made.study.cohorts()
    assert sum(each.unserved for each in cohorts) == len(of_fate["unserved"])
    assert {(row["sex"], row["buys"]) for row in of_fate["unserved"]} == {("woman", "no"), ("man", "yes")}
    for fate, share in (("unserved", 0.1), ("never", 0.09), ("late", 0.045)):
        assert len(of_fate[fate]) / len(made.entered) == pytest.approx(share, abs=0.03)


def test_one_study_of_each_kind_runs() -> None:
    told = said_by(Case("", discounts, options=SHORT), 2)
    assert told["certified"] + told["wrong"] + told["undecided"] == 1 and not told["false labels"]
    rows = exported(Case("", discounts, 0.1, erased=True, options=SHORT), 3)
    assert rows["exported"] == rows["people"] == rows["posterior"] and not rows["differ"] and rows["apart"] < 1e-9
    assert said_by(Case("", variants, options={"pulls": 2_000}), 4)["people"] == 2_000


def test_the_page_says_which_bars_are_missed() -> None:
    line = {"runs": 2_000, "pulls": 100.0, "wrong": 1, "undecided": 0}
    before = {"pulls": {"version": "old", "lines": dict.fromkeys(["coin", "loose"], line)}}
    dearer = {"pulls": {"version": "new", "lines": {"coin": line, "loose": {**line, "pulls": 104.0}}}}
    text = page(dearer, before)
    assert "| loose | old | 2000 | 100.0 | 1 | 0 |\n| loose | new | 2000 | 104.0 | 1 | 0 |" in text
    assert "- met: wrong" in text and "- **missed**: pulls" in text
    assert "**missed**" not in page(before, before)
