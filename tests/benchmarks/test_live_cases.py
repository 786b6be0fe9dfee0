"""Certificates of live studies are true where people are late or lost, enter by the hour, or are stopped; careless studies are not.

100 studies of each case, an arm exactly at the tolerance, δ = 0.05. False answers: more than `most_allowed` have probability 10⁻⁴ where
the rate is δ (15 of 100). Each mutant is wrong in more than twice δ of its studies.
"""

from __future__ import annotations

import pytest
from benchmarks.live.__main__ import page
from benchmarks.live.cases import CASES, DELTA, Case
from benchmarks.live.cost import CostLine
from benchmarks.live.truth import TruthLine, most_allowed, truth_line
from benchmarks.live.watching import drift_line, guard_line, law_line, loss_line

from fairarm import load_problem
from fairarm.experiments.live import simulate_live

STUDIES = 100


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_certificates_are_true(case: Case) -> None:
    found = truth_line(case, STUDIES)
    assert found.answers <= most_allowed(STUDIES) and found.labels <= most_allowed(STUDIES)


@pytest.mark.parametrize("case", [case for case in CASES if case.mutant], ids=lambda case: case.mutant[0])
def test_a_careless_study_certifies_what_is_not_so(case: Case) -> None:
    assert truth_line(case, STUDIES, mutant=True).answers > 2 * DELTA * STUDIES


def test_the_bound_of_errors_by_hand() -> None:
    """P(more than 15 of 100 at 0.05) is below 10⁻⁴, P(more than 14) is not."""
    assert most_allowed(100) == 15


def test_monitors_find_what_is_off() -> None:
    """Small studies of each; none of 200 clean ones has an alarm (at levels of 0.01 and less: two would be rare)."""
    for line in (law_line, drift_line, loss_line, guard_line):
        assert line(0.0, 200 if line is not guard_line else 60, 10).found <= 2
    assert law_line(0.05, 40, 40).found >= 38
    assert drift_line(0.2, 40, 28).found == 40
    assert loss_line(0.05, 40, 10).found >= 38
    assert guard_line(0.2, 10, 30).found == 10


def test_the_page_has_a_line_for_each() -> None:
    scenario = load_problem("ad-marketplace")
    found = simulate_live(
        scenario.problem, scenario.world, people=150, arrivals=2000, window="7d", studies=1, pulls=300
    )
    true = TruthLine("late", "as it should be", 10, 1, 2, 23.0, 0.07)
    text = page([true], [CostLine("0 % lost", found.results[0])], [loss_line(0.05, 3, 5)], 1.0)
    assert (
        "| late | as it should be | 10 | 1 | 2 |" in text
        and "| 0 % lost | 1 |" in text
        and "| loss | one group" in text
    )
