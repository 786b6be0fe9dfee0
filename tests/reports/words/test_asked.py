"""Questions and rows in words: W1's numbers by hand, every kind of question, two groups to the letter as before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fairarm import Arm, Constraint, Outcome, Variable, inspect, load_problem, table
from fairarm.algorithms import ArmReason
from fairarm.catalog import Scenario
from fairarm.experiments.identify import identify
from fairarm.problem.problem import Problem
from fairarm.reports.known import KnownRow, true_arm
from fairarm.reports.words import (
    arm_reason,
    asked_of_arms,
    closest_text,
    not_fair_means,
    question,
    row_limits,
    row_text,
    unmarked,
    wide_tolerance,
)

TESTS = Path(__file__).parents[2]
START = "Choose how V is decided so that Y is highest, while "
MEANS = {"a": 0.45, "b": 0.5, "c": 0.6}  # of arm 1; 0.495 over everybody

QUESTIONS: list[tuple[dict[str, Any], str, dict[str, str]]] = [
    (
        {"compare": "pairs", "tolerance": 0.12},
        "changing S from one group to another (a, b, c) changes it by less than 0.12",
        {
            "a - b": "people of group a would get 0.0500 more as b (allowed: less than 0.12)",
            "a - c": "people of group a would get 0.1500 more as c (allowed: less than 0.12)",
        },
    ),
    (
        {"compare": "pairs", "ratio": 0.8},
        "people of each group of S (a, b, c) get more than 0.8 of what they would as any other",
        {
            "a / c": "people of group a get 0.750 of what they would as c (asked: more than 0.8)",
            "c / a": "people of group c get 1.333 of what they would as a (asked: more than 0.8)",
        },
    ),
    (
        {"compare": "pairs", "tolerance": 0.12, "groups": ("a", "c")},
        "changing S from one group to another (a, c) changes it by less than 0.12",
        {"a - c": "people of group a would get 0.1500 more as c (allowed: less than 0.12)"},
    ),
    (
        {"compare": "reference", "reference": "b", "tolerance": 0.05},
        "changing S from a or c to b changes it by less than 0.05",
        {"b - c": "people of group b would get 0.1000 more as c (allowed: less than 0.05)"},
    ),
    (
        {"compare": "reference", "reference": "b", "tolerance": 0.02, "direction": "not_below"},
        "people of group a or c would get less than 0.02 more as b",
        {
            "a - b": "people of group a would get 0.0500 more as b (allowed: less than 0.02 more)",
            "c - b": "people of group c would get 0.1000 less as b (allowed: less than 0.02 more)",
        },
    ),
    (
        {"compare": "reference", "reference": "b", "tolerance": 0.02, "direction": "not_above"},
        "people of group b would get less than 0.02 more as a or c",
        {
            "a - b": "people of group b would get 0.0500 less as a (allowed: less than 0.02 more)",
            "c - b": "people of group b would get 0.1000 more as c (allowed: less than 0.02 more)",
        },
    ),
    (
        {"compare": "reference", "reference": "c", "ratio": 0.8},
        "people of group a or b get more than 0.8 of what they would as c, and the other way round",
        {"a / c": "people of group a get 0.750 of what they would as c (asked: more than 0.8)"},
    ),
    (
        {"compare": "reference", "reference": "c", "ratio": 0.8, "direction": "not_below"},
        "people of group a or b get more than 0.8 of what they would as c",
        {"b / c": "people of group b get 0.833 of what they would as c (asked: more than 0.8)"},
    ),
    (
        {"compare": "reference", "reference": "c", "ratio": 0.8, "direction": "not_above"},
        "people of group c get more than 0.8 of what they would as a or b",
        {"c / b": "people of group c get 1.200 of what they would as b (asked: more than 0.8)"},
    ),
    (
        {"compare": "mean", "tolerance": 0.1},
        "what each group of S (a, b, c) gets differs from the mean over everybody by less than 0.1",
        {
            "a - mean": "group a gets 0.0450 less than the mean over everybody (allowed: less than 0.1)",
            "c - mean": "group c gets 0.1050 more than the mean over everybody (allowed: less than 0.1)",
        },
    ),
    (
        {"compare": "mean", "tolerance": 0.1, "direction": "not_below"},
        "no group of S (a, b, c) gets 0.1 or more below the mean over everybody",
        {"a - mean": "group a gets 0.0450 less than the mean over everybody (allowed: less than 0.1 less)"},
    ),
    (
        {"compare": "mean", "tolerance": 0.1, "direction": "not_above"},
        "no group of S (a, b, c) gets 0.1 or more above the mean over everybody",
        {"b - mean": "group b gets 0.0050 more than the mean over everybody (allowed: less than 0.1 more)"},
    ),
    (
        {"compare": "mean", "ratio": 0.95},
        "each group of S (a, b, c) gets more than 0.95 of the mean over everybody, and this mean is more than 0.95 of what each group gets",
        {
            "a / mean": "group a gets 0.909 of the mean over everybody (asked: more than 0.95)",
            "mean / c": "the mean over everybody is 0.825 of what group c gets (asked: more than 0.95)",
        },
    ),
    (
        {"compare": "mean", "ratio": 0.95, "direction": "not_below"},
        "each group of S (a, b, c) gets more than 0.95 of the mean over everybody",
        {"b / mean": "group b gets 1.010 of the mean over everybody (asked: more than 0.95)"},
    ),
    (
        {"compare": "mean", "ratio": 0.95, "direction": "not_above"},
        "the mean over everybody is more than 0.95 of what each group of S (a, b, c) gets",
        {"mean / a": "the mean over everybody is 1.100 of what group a gets (asked: more than 0.95)"},
    ),
    (
        {"compare": "floor", "at_least": 0.46},
        "each group of S (a, b, c) gets more than 0.46",
        {"a": "group a gets 0.4500 (asked: more than 0.46)"},
    ),
    (
        {"weights": {"a": 1, "b": 1, "c": -2}, "tolerance": 0.2},
        "the means by S, added as a + b - 2 c, give a number between -0.2 and 0.2",
        {"a + b - 2 c": "a + b - 2 c is -0.2500 (allowed: less than 0.2)"},
    ),
    (
        {"weights": {"a": 1, "b": 0.5}, "at_most": 0.8},
        "the means by S, added as a + 0.5 b, give less than 0.8",
        {"a + 0.5 b": "a + 0.5 b is +0.7000 (asked: less than 0.8)"},
    ),
    (
        {"weights": {"a": 1, "b": 0.5}, "at_least": 0.1, "at_most": 0.8},
        "the means by S, added as a + 0.5 b, give a number between 0.1 and 0.8",
        {"a + 0.5 b": "a + 0.5 b is +0.7000 (asked: a number between 0.1 and 0.8)"},
    ),
]  # fmt: skip


@pytest.fixture(scope="module")
def three() -> Scenario:
    return load_problem(TESTS / "three_groups.toml")


def asking(three: Scenario, *asked: Constraint) -> Problem:
    return replace(three.problem, constraints=asked)


@pytest.mark.parametrize(("asked", "clause", "rows"), QUESTIONS, ids=lambda given: str(given)[:60])
def test_every_question_and_its_rows(three: Scenario, asked: dict[str, Any], clause: str, rows: dict[str, str]) -> None:
    problem = asking(three, Constraint(**asked))
    assert unmarked(question(problem)) == f"{START}{clause}."
    truth = inspect(problem, replace(three.world, problem=problem)).truth
    assert truth is not None and truth.group_outcomes[0] == pytest.approx(list(MEANS.values()))
    said = {known.row.name: row_text(problem, known) for known in true_arm(problem, truth, 0).rows}
    assert {name: said[name] for name in rows} == rows


def test_several_questions_in_one_sentence_and_in_a_list(three: Scenario) -> None:
    pairs, floor = Constraint(compare="pairs", tolerance=0.1), Constraint(compare="floor", at_least=0.3, name="enough")
    problem = asking(three, pairs, floor)
    first = "hanging S from one group to another (a, b, c) changes"
    assert (
        unmarked(question(problem))
        == f"{START}c{first} it by less than 0.1; each group of S (a, b, c) gets more than 0.3."
    )
    assert asked_of_arms(problem) == [
        f"C{first} the mean Y by less than 0.1.",
        "enough: each group of S (a, b, c) gets more than 0.3.",
    ]
    many = asking(three, *(Constraint(compare="floor", at_least=0.01 * k) for k in range(1, 10)))
    assert unmarked(question(many)).endswith("; each group of S (a, b, c) gets more than 0.06; and 3 more.")


def test_the_attribute_is_marked_and_not_letters_like_it(three: Scenario) -> None:
    parts = question(three.problem)
    assert [part.text for part in parts if not isinstance(part, str)] == ["V", "Y", "S"]


def test_two_groups_read_as_they_always_did() -> None:
    coin = load_problem("coin").problem
    assert unmarked(question(coin)) == (
        "Choose how side is decided so that result is highest, while changing group (a, b) changes it by less than 0.1."
    )
    assert "The two groups may receive different decisions" in " ".join(not_fair_means(coin))


def test_ends_that_no_arm_can_miss(three: Scenario) -> None:
    wide, floor = Constraint(compare="pairs", tolerance=1.5), Constraint(compare="floor", at_least=0.3)
    assert wide_tolerance(asking(three, floor)) is None
    assert wide_tolerance(asking(three, wide)) == (
        "Every arm is fair by definition: what is asked holds whatever the means within the outcome's range (0 to 1)."
    )
    said = wide_tolerance(asking(three, wide, floor))
    assert (
        said
        == "Every arm meets 'pairs within 1.5' by definition: that holds whatever the means within the outcome's range (0 to 1)."
    )
    assert said in unmarked(question(asking(three, wide, floor)))


def test_limits_are_turned_as_the_words_are(three: Scenario) -> None:
    problem = three.problem
    row = problem.rows[0]
    assert row.name == "a - b"
    assert row_limits(problem, KnownRow(row, -0.05), (-0.08, 0.01)) == "-0.0100 to 0.0800"
    assert row_limits(problem, KnownRow(row, 0.05), (-0.01, 0.08)) == "-0.0100 to 0.0800"
    assert row_limits(problem, KnownRow(row, 0.05), None) == "? to ?"
    assert row_text(problem, KnownRow(row, None)) == "a - b is not known"
    floor = asking(three, Constraint(compare="floor", at_least=0.3))
    assert row_limits(floor, KnownRow(floor.rows[0], 0.25), (0.2, 0.35)) == "0.2000 to 0.3500"


def test_the_reason_of_an_unfair_arm_names_the_row(three: Scenario) -> None:
    run = identify(three.problem, three.world, pulls=4000, seed=1)
    arm = next(arm for arm in run.verdict.arms if arm.name == "arm 1")
    found = next(row for row in arm.fairness if row.name == "a - c")
    assert arm.closest == "a - c" and arm.reason == ArmReason.UNLIKELY_FAIR and found.value is not None
    row = f"people of group a would get {-found.value:.4f} more as c (allowed: less than 0.12)"
    assert closest_text(run.verdict, arm) == row
    start = f"unfair: fair with probability {arm.fair_probability:.2g}"
    assert arm_reason(run.verdict, arm) == f"{start}; likeliest cause: {row}"
    assert arm_reason(run.verdict, arm, row=False) == start
    proved = replace(arm, reason=ArmReason.UNFAIR_PROVED)
    assert arm_reason(run.verdict, proved) == f"unfair (proved); likeliest cause: {row}"
    other = replace(arm, reason=ArmReason.UNLIKELY_BEST)
    assert "people" not in arm_reason(run.verdict, other)
    csr = identify(three.problem, three.world, pulls=60_000, algorithm="csr-v2")
    arm = next(arm for arm in csr.verdict.arms if arm.reason == ArmReason.UNFAIR)
    largest = max(abs(gap) for gap in arm.gaps.values() if gap is not None)
    said = f"unfair by its estimates: people of group a would get {largest:.4f} more as c (allowed: less than 0.12)"
    assert arm_reason(csr.verdict, arm) == said


# ---- causes, what is kept, several attributes ----

SEVERAL: list[tuple[dict[str, Any], str, dict[str, tuple[float, str]]]] = [
    (
        {"tolerance": 0.05},
        "changing region from one group to another (north, south) changes it by less than 0.05; changing race from one group to "
        "another (a, b) changes it by less than 0.05",
        {
            "region: north - south": (-0.1, "people of group region=north would get 0.1000 more as region=south (allowed: less than 0.05)"),
            "race: a as b - a": (-0.11, "people of group race=a would get 0.1100 less as race=b (allowed: less than 0.05)"),
        },
    ),
    (
        {"attribute": "region", "tolerance": 0.05, "keep": ("X",), "others": "held"},
        "changing region from one group to another (north, south) changes it by less than 0.05, with X and the other attributes unchanged",
        {
            "region: north as south - north": (
                0.02, "people of group region=north would get 0.0200 more as region=south, with race, X unchanged (allowed: less than 0.05)",
            )
        },
    ),
    (
        {"attributes": ("region", "race"), "compare": "mean", "tolerance": 0.1},
        "what everyone would get as any group of region and race (region=north,race=a, region=north,race=b, region=south,race=a, "
        "region=south,race=b) differs from the mean over everybody by less than 0.1",
        {
            "everyone as region=north,race=b - mean": (
                -0.2, "everyone as region=north,race=b would get 0.2000 less than the mean over everybody (allowed: less than 0.1)",
            )
        },
    ),
    (
        {"attribute": "race", "ratio": 0.8},
        "people of each group of race (a, b) get more than 0.8 of what they would as any other, and would get, as any other, more than 0.8 "
        "of what they get",
        {},
    ),
    (
        {"attribute": "race", "tolerance": 0.05, "effect": "spurious"},
        "the spurious part of the gap between any two groups of race (a, b) is less than 0.05",
        {
            "race: a as b - b": (
                0.03, "people of group race=a, as race=b, would get 0.0300 more than people of group race=b get (allowed: less than 0.05)",
            )
        },
    ),
    (
        {"attribute": "race", "tolerance": 0.05, "keep": "mediators"},
        "changing race from one group to another (a, b) changes it by less than 0.05, with everything else before the decision unchanged",
        {},
    ),
]  # fmt: skip


def several(asked: dict[str, Any]) -> Problem:
    """region acts on race; both act on X, which the arm sees, and race on the outcome."""
    return Problem(
        name="several",
        variables=[
            Variable("region", ("north", "south")), Variable("race", ("a", "b")), Variable("X", ("0", "1")),
            Variable("V", ("0", "1")), Variable("Y", ("0", "1")),
        ],
        graph=[("region", "race"), ("region", "X"), ("race", "X"), ("X", "V"), ("V", "Y"), ("race", "Y"), ("region", "Y")],
        sensitive=["region", "race"],
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        arms=[Arm("one", table("V", ["X"], [[0.5, 0.5], [0.2, 0.8]]))],
        constraints=[Constraint(**asked)],
    )  # fmt: skip


@pytest.mark.parametrize(("asked", "said", "rows"), SEVERAL)
def test_questions_about_several_attributes(
    asked: dict[str, Any], said: str, rows: dict[str, tuple[float, str]]
) -> None:
    problem = several(asked)
    assert unmarked(question(problem)) == f"{START}{said}."
    known = {row.name: row for row in problem.rows}
    for name, (value, text) in rows.items():
        assert row_text(problem, KnownRow(known[name], value)) == text, list(known)


def test_ends_turn_with_the_words() -> None:
    """A loss of people of one group is told as one; what can be told either way, as a gain."""
    problem = several({"tolerance": 0.05})
    known = {row.name: KnownRow(row, -0.1) for row in problem.rows}
    for row in known.values():
        assert row_limits(problem, row, (-0.12, -0.08)) == "0.0800 to 0.1200"
