"""What is known of rows: quotients from the numbers of a result, the row closest to an end, gaps in place of rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import four_groups as lender
import structural
import worked_examples
from fairarm import Constraint, NetworkWorld, Problem, Scenario, evaluate, identify, inspect, load_problem
from fairarm.errors import ProblemError
from fairarm.problem.fairness import Row
from fairarm.reports.known import (
    KnownArm,
    KnownRow,
    by_question,
    logged_arm,
    one_gap,
    read_ends,
    reported_arm,
    row_heads,
    true_arm,
)
from worlds_fairarm import as_fairarm

RATIOS = [
    Constraint(compare="pairs", ratio=0.9),
    Constraint(compare="mean", ratio=0.8),
    Constraint(compare="reference", reference="a", ratio=0.95, direction="not_above"),
]


def scenario(tmp_path: Path, **changes: Any) -> Scenario:
    path = tmp_path / "lender.toml"
    path.write_text(lender.problem_file())
    found = load_problem(path)
    if not changes:
        return found
    problem = replace(found.problem, **changes)
    return replace(found, problem=problem, world=replace(found.world, problem=problem))


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    return scenario(tmp_path_factory.mktemp("lender"))


@pytest.fixture(scope="module")
def ratios(tmp_path_factory: pytest.TempPathFactory) -> Scenario:
    return scenario(tmp_path_factory.mktemp("ratios"), constraints=RATIOS)


def quotients(problem: Problem, means: Any, everyone: float) -> list[float]:
    """By division: the means of the two that a row names."""
    of = {None: everyone} | dict(zip(problem.groups, means, strict=True))
    return [of[row.as_group] / of[row.people] for row in problem.rows]


def test_a_true_ratio_is_the_quotient_of_the_means(ratios: Scenario) -> None:
    problem = ratios.problem
    found = inspect(problem, ratios.world)
    assert found.truth is not None and {row.name for row in problem.rows} >= {"a / b", "b / a", "a / mean", "mean / d"}
    for k in range(len(problem.arms)):
        means = structural.means(lender.model(), k)
        known = true_arm(problem, found.truth, k)
        expected = quotients(problem, np.diag(means.as_of), means.everyone)
        assert [row.shown for row in known.rows] == pytest.approx(expected, abs=1e-12)
        assert [row.inside for row in known.rows] == [q > read_ends(row)[0] for q, row in zip(expected, problem.rows, strict=True)]  # type: ignore[operator]  # fmt: skip


def test_ratios_of_a_run_and_of_a_log_are_quotients_of_mean_outcomes(ratios: Scenario) -> None:
    """The means by group follow from any two floors: asked beside the ratios, they must give the same quotients."""
    floors = Constraint(compare="floor", at_least=1.0)
    problem = replace(ratios.problem, constraints=[*RATIOS, floors])
    run = identify(problem, replace(ratios.world, problem=problem), pulls=300)
    found = evaluate(problem, lender.log(2000, 3))
    G = len(problem.groups)
    for arm, known in [
        *((report, reported_arm(problem, report)) for report in run.verdict.arms),
        *((arm, logged_arm(problem, arm)) for arm in found.arms),
    ]:
        everyone = arm.outcome if isinstance(arm.outcome, float) else arm.outcome.value  # type: ignore[union-attr]
        means = [row.value for row in known.rows[-G:]]
        expected = quotients(replace(problem, constraints=RATIOS), means, everyone)
        assert [row.shown for row in known.rows[:-G]] == pytest.approx(expected, abs=1e-9)


def test_limits_of_a_quotient_reach_the_ratio_where_the_value_reaches_0(ratios: Scenario) -> None:
    row = next(row for row in ratios.problem.rows if row.name == "b / a")
    known = KnownRow(row, -0.3, (-0.6, 0.0), (-1.5, 0.75), 0.02, base=15.0)
    assert known.shown == pytest.approx(0.88) and known.inside is False
    assert known.shown_interval == pytest.approx((0.86, 0.9)) and known.shown_certified == pytest.approx((0.8, 0.95))
    assert replace(known, base=0.0).shown is None and replace(known, base=None).shown_interval is None
    assert replace(known, value=None).shown is None


def test_the_closest_row_is_the_one_of_the_json(given: Scenario) -> None:
    problem = given.problem
    found = inspect(problem, given.world)
    assert found.truth is not None
    for k in range(len(problem.arms)):
        own = true_arm(problem, found.truth, k).closest
        assert own is not None and own.row.name == found.closest(k)
        slack = {name: _slack(name, x) for name, x in lender.truths()[k].items() if name != "outcome"}
        assert own.row.name == min(slack, key=lambda name: slack[name])
    run = identify(problem, given.world, pulls=300)
    for report in run.verdict.arms:
        known = reported_arm(problem, report)
        assert known.closest is not None and known.closest.row.name == report.closest
        assert known.closest.holds == min(row.holds for row in known.rows if row.holds is not None)


def _slack(name: str, x: float) -> float:
    """How far inside of its nearer end, by the questions as they are asked."""
    if " / " in name:
        return x
    if name in lender.GROUPS:
        return x - lender.FLOOR
    return (lender.TO_MEAN if name.endswith("mean") else 2 if "0.5" in name else lender.TOLERANCE) - abs(x)


def row(name: str, above: float | None, below: float | None, constraint: str = "q") -> Row:
    return Row(constraint, name, "a", "b", (1.0, -1.0), 0.0, above, below)


def test_of_rows_that_are_as_likely_the_one_that_reaches_furthest() -> None:
    E = 0.1
    rows = [
        KnownRow(row("x", -E, E), 0.05, (0.01, 0.09), holds=1.0),
        KnownRow(row("y", -E, E), -0.06, (-0.095, -0.02), holds=1.0),
        KnownRow(row("z", -0.02, None), 0.05, (0.04, 0.06), holds=1.0),
        KnownRow(row("?", -E, E), None),
    ]
    arm = KnownArm("k", rows)
    assert arm.closest is rows[1] and arm.closest_of([0, 2]) is rows[0] and arm.closest_of([3]) is None
    assert KnownArm("k", rows, "z").closest is rows[2]
    unlikely = replace(rows[2], holds=0.9)
    assert KnownArm("k", [*rows[:2], unlikely]).closest is unlikely


def test_of_the_two_estimates_of_a_gap_the_one_that_is_nearer_to_an_end() -> None:
    """Csr rejects by either of them."""
    found = load_problem("synthetic-groups:G=3,K=4,m=6,seed=1")
    run = identify(found.problem, found.world, algorithm="csr-v2", pulls=3000)
    for report in run.verdict.arms:
        for known in reported_arm(found.problem, report).rows:
            t, u = known.row.as_group, known.row.people
            both = [report.gaps[f"{t}|{u}"], report.gaps[f"{u}|{t}"]]
            sizes = [abs(gap) for gap in both if gap is not None]
            assert sizes and known.value is not None and abs(known.value) == max(sizes)
            assert known.holds is None and known.interval is None


def test_rows_of_one_question_and_names_that_are_their_own() -> None:
    rows = [
        row("a - b", -0.1, 0.1),
        row("a - c", -0.1, 0.1),
        row("a - b", -0.05, None, "other"),
        row("c", 0.2, None, "q"),
    ]
    assert by_question(rows) == [[0, 1], [2], [3]]
    assert row_heads(rows) == ["a - b (q)", "a - c", "a - b (other)", "c"]


def test_an_arm_without_a_single_gap_says_so(given: Scenario) -> None:
    arm = evaluate(given.problem, lender.log(500, 1)).arms[0]
    with pytest.raises(ProblemError, match="'old' has no single gap"):
        one_gap(arm)


def test_ratios_of_ordered_pairs_follow_from_each_other() -> None:
    """W6 in a run: people as they are, from floors asked beside the ratios, are what one of both rows is compared with."""
    asked = [Constraint(ratio=0.8), Constraint(compare="floor", at_least=0.1)]
    problem, network = as_fairarm(worked_examples.w6(), tolerance=None, constraints=asked)
    run = identify(problem, NetworkWorld(problem, network), pulls=300)
    for known in (
        reported_arm(problem, run.verdict.arms[0]),
        true_arm(problem, NetworkWorld(problem, network).truth(), 0),
    ):
        rows = {row.row.name: row for row in known.rows}
        for name, own in (("s0 as s1 / s0", "s0"), ("s1 as s0 / s1", "s1")):
            assert rows[name].base == pytest.approx(rows[own].value, abs=1e-9)
        for t, u in (("s1", "s0"), ("s0", "s1")):
            there, back = rows[f"{u} as {t} / {u}"].shown, rows[f"{u} / {u} as {t}"].shown
            assert there is not None and back is not None and there * back == pytest.approx(1.0, abs=1e-9)


def test_one_ratio_alone_of_a_run_is_not_known_as_a_share() -> None:
    asked = [Constraint(compare="reference", reference="s0", ratio=0.8, direction="not_below")]
    problem, network = as_fairarm(worked_examples.w6(), tolerance=None, constraints=asked)
    run = identify(problem, NetworkWorld(problem, network), pulls=300)
    assert [row.shown for row in reported_arm(problem, run.verdict.arms[0]).rows] == [None, None]
    assert all(row.value is not None for row in reported_arm(problem, run.verdict.arms[0]).rows)


def test_gaps_of_a_run_are_its_rows() -> None:
    problem, network = as_fairarm(worked_examples.w2())
    (arm,) = identify(problem, NetworkWorld(problem, network), pulls=300).verdict.arms
    rows = {row.name: row.value for row in arm.fairness}
    assert arm.gaps == {"s1|s0": rows["s0 as s1 - s0"], "s0|s1": rows["s1 as s0 - s1"]}
    two, network = as_fairarm(worked_examples.w4())
    (arm,) = identify(two, NetworkWorld(two, network), pulls=300).verdict.arms
    assert arm.gaps["region=region0|region=region1"] == -(arm.gaps["region=region1|region=region0"] or 0.0)
    assert {*arm.gaps} >= {"race=race0|race=race1", "race=race1|race=race0"}


def test_what_other_rows_keep_is_not_mixed_up() -> None:
    """W3 in a run: a ratio with R kept beside the whole gap."""
    asked = [Constraint(ratio=0.5, keep=("R",)), Constraint(tolerance=0.3), Constraint(compare="floor", at_least=0.1)]
    problem, network = as_fairarm(worked_examples.w3(), tolerance=None, constraints=asked)
    run = identify(problem, NetworkWorld(problem, network), pulls=2000)
    rows = {row.row.name: row for row in reported_arm(problem, run.verdict.arms[0]).rows}
    assert rows["s0 as s1 / s0"].base == pytest.approx(rows["s0"].value, abs=1e-9)
    assert rows["s1 as s0 / s1"].base == pytest.approx(rows["s1"].value, abs=1e-9)
