"""What the next pulls buy: by hand, and against the plan's own curve."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from fairarm import Request, load_problem, plan
from fairarm.cli import documents
from fairarm.core.answer import Code
from fairarm.experiments.truths_from_prior import known_law
from fairarm.experiments.what_pulls_buy import NEXT, Answered, Gain, bought, outcome_used
from fairarm.problem.outcome import Outcome
from fairarm.problem.pulls import Batch
from fairarm.reports.words import bought_text
from fairarm.worlds.cells import CellWorlds


def test_a_gain_is_the_mean_difference_of_the_same_truths() -> None:
    found = Gain.of(np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0, 0.0]))
    error = math.sqrt((3 * 0.25**2 + 0.75**2) / 3 / 4)
    assert (found.before, found.after) == (0.5, 0.75)
    assert (found.low, found.high) == pytest.approx((0.25 - 1.959964 * error, 0.25 + 1.959964 * error))


def coin(theta: tuple[float, float]) -> CellWorlds:
    """Outcomes by the side of the coin; arm "even" tosses 50:50, "tilted" more often heads in group a."""
    problem = load_problem("coin").problem
    law, shares = known_law(problem)
    by_cell = np.array([[[1 - p, p] for p in theta]] * 2)
    return CellWorlds(problem, law, by_cell[None], shares)


def test_the_outcome_is_that_of_what_is_used() -> None:
    world = coin((0.2, 0.8))
    problem = world.problem
    arms = problem.outcome.unscale(world.outcomes().outcomes[0])
    for deployed, stays in ((None, math.nan), (problem.arm_names[1], arms[1])):
        known = replace(problem, deployed=deployed)
        for answer, expected in ((0, arms[0]), (1, arms[1]), (int(Code.NONE), stays), (int(Code.UNDECIDED), stays)):
            found = outcome_used(known, world, np.array([answer]))[0]
            assert found == pytest.approx(expected, nan_ok=True)


def answered(right: list[int], outcome: list[float]) -> Answered:
    return Answered(np.array(right) == 1, np.array(outcome), np.full(len(right), 7.0))


def test_truths_without_a_known_outcome_are_left_out_of_it_alone() -> None:
    found = bought(2.0, NEXT, answered([0, 1, 0], [1.0, math.nan, 2.0]), answered([1, 1, 0], [3.0, 4.0, 2.0]))
    assert (
        found.right.before == pytest.approx(1 / 3) and found.right.after == pytest.approx(2 / 3) and found.cost == 7.0
    )
    assert found.outcome is not None and (found.outcome.before, found.outcome.after) == (1.5, 2.5)
    none = bought(None, NEXT, answered([1], [math.nan]), answered([1], [1.0]))
    assert none.outcome is None and "say which arm is deployed" in bought_text(none, Outcome("Y", low=0, high=1))


def test_a_plan_from_a_log_says_what_a_hundred_pulls_buy() -> None:
    """With costs: one entry per average cost; without a pull the probability is that of the curve's first point."""
    ads = load_problem("ad-marketplace")
    counts = np.zeros((3, 6), dtype=int)
    counts[0, 0] = 400
    rows: Batch = ads.world.pull(Request(ads.problem.arm_names, ads.problem.regimes, counts), np.random.default_rng(1))
    found = plan(ads.problem, log=rows, truths=40, most_pulls=64, seed=3)
    assert [each.average_cost for each in found.buys] == [option.average_cost for option in found.options]
    for each, option in zip(found.buys, found.options, strict=True):
        start = option.curve[0]
        assert start.pulls == 0 and each.right.before == pytest.approx(1 - start.error)
        assert each.pulls == 100 and each.average_cost is not None and 0 < each.cost <= 100 * each.average_cost + 1e-6
        assert each.right.low <= each.right.after - each.right.before <= each.right.high
        assert each.outcome is not None and 2.5 < each.outcome.before < 4.5
        text = bought_text(each, found.problem.outcome)
        assert text.startswith("The next 100 pulls at ") and "expected outcome" in text and "\n" not in text
    assert sum(each.right.after - each.right.before for each in found.buys) > 0
    document = documents.experiment_plan(found)
    assert len(document["buys"]) == len(found.options) and set(document["buys"][0]["right"]) == {
        "before",
        "after",
        "low",
        "high",
    }
    assert plan(ads.problem, truths=5, most_pulls=32).buys == ()
