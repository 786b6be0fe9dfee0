"""The status rule against an enumeration over draws in plain Python, and what must hold whatever the draws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairarm.beliefs.findings import Finding, Level
from fairarm.beliefs.standing import Standing
from fairarm.beliefs.status import REASONS, Decision, decide
from fairarm.core.answer import Code
from fairarm.core.fairness import Rows, all_unfair, losses, quantile_of_draws
from fairarm.core.types import FloatArray
from fairarm.experiments.doubt import Ends, bounded
from fairarm.problem.problem import Problem
from four_arms import chain

ASKED = Rows(np.array([[1.0, -1.0], [1.0, 0.0]]), np.zeros(2), np.array([-0.1, -math.inf]), np.array([0.1, 0.6]))
"""A gap of less than 0.1, and a first group's mean below 0.6."""


def drawn(seed: int, draws: int, spread: float, shift: float) -> tuple[FloatArray, FloatArray]:
    """Outcomes (D, 3) and values of two rows (D, 3, 2)."""
    rng = np.random.default_rng(seed)
    outcomes = np.array([0.5, 0.48, 0.4]) + spread * rng.standard_normal((draws, 3))
    gaps = shift * np.array([0.5, 1.0, 1.5]) + spread * rng.standard_normal((draws, 3))
    return outcomes, np.stack([gaps, 0.4 + shift / 2 + spread * rng.standard_normal((draws, 3))], axis=-1)


def widened(values: FloatArray, width: float, seed: int) -> tuple[FloatArray, FloatArray]:
    below, above = width * np.random.default_rng(seed).random((2, *values.shape))
    return values - below, values + above


def standing(ends: Ends, confidence: float) -> Standing:
    """As `standing_of` and `bounded` make it; the middle of the ends is what was drawn."""
    unknown = replace(
        Standing.unknown(1, 3, 2), fair=np.ones((1, 3)), best=np.ones((1, 3)), none=np.ones(1), row_holds=np.ones((1, 3, 2)),
        loss=np.zeros((1, 3)), unfair=np.ones(1), apart=np.zeros((1, 3, 3)),
    )  # fmt: skip
    return bounded(unknown, ends, ASKED, confidence)


# ---- the oracle: loops over draws, arms and conditions ----


def surely_fair(ends: Ends, d: int, k: int) -> bool:
    return all(
        ASKED.low[j] < ends.row_low[d][k][j] and ends.row_high[d][k][j] < ASKED.high[j] for j in range(len(ASKED.low))
    )


def surely_unfair(ends: Ends, d: int, k: int) -> bool:
    return any(
        ends.row_high[d][k][j] <= ASKED.low[j] or ends.row_low[d][k][j] >= ASKED.high[j] for j in range(len(ASKED.low))
    )


def loss_in(ends: Ends, d: int, arm: int) -> float:
    """Infinite where the arm need not be fair."""
    if not surely_fair(ends, d, arm):
        return math.inf
    found = 0.0
    for k in range(3):
        if k != arm and not surely_unfair(ends, d, k):
            found = max(found, float(ends.outcome_high[d][k] - ends.outcome_low[d][arm]))
    return found


def within(ends: Ends, arm: int, margin: float) -> float:
    """The share of the draws in which the arm is fair and no fair arm is better by more than the margin."""
    return sum(loss_in(ends, d, arm) <= margin for d in range(len(ends.outcome_low))) / len(ends.outcome_low)


def every_arm_on_one_side(ends: Ends) -> tuple[float, float]:
    """The share of draws in which all arms violate their end, and the least share of one arm."""
    count = len(ends.outcome_low)
    chosen, least = [], 1.0
    for k in range(3):
        best: tuple[float, list[bool]] = (-1.0, [])
        for side in ("below", "above"):
            for j in range(2):
                hit = [
                    bool(
                        ends.row_high[d][k][j] <= ASKED.low[j]
                        if side == "below"
                        else ends.row_low[d][k][j] >= ASKED.high[j]
                    )
                    for d in range(count)
                ]
                if sum(hit) / count > best[0]:
                    best = (sum(hit) / count, hit)
        chosen.append(best[1])
        least = min(least, best[0])
    return sum(all(hits) for hits in zip(*chosen, strict=True)) / count, least


@pytest.mark.parametrize("width", [0.0, 0.02, 0.2])
@pytest.mark.parametrize("seed", range(12))
def test_the_rule_is_that_of_an_enumeration_over_draws(seed: int, width: float) -> None:
    spread, shift = [(0.01, 0.0), (0.03, 0.05), (0.02, 0.5), (0.2, 0.3)][seed % 4]
    outcomes, rows = drawn(seed, 120, spread, shift)
    ends = Ends(*widened(outcomes, width, seed), *widened(rows, width, seed + 1))
    for confidence in (0.6, 0.8, 0.95):
        found = standing(ends, confidence)
        together, least = every_arm_on_one_side(ends)
        none = together >= confidence and least >= (1 + confidence) / 2
        for arm in range(3):
            assert found.fair[0, arm] == pytest.approx(np.mean([surely_fair(ends, d, arm) for d in range(120)]))
            assert found.best[0, arm] == pytest.approx(within(ends, arm, 0.0))
            for margin in (0.0, 0.01, 0.1):
                expected = arm if within(ends, arm, margin) >= confidence else Code.NONE if none else Code.UNDECIDED
                assert found.sure(np.array([arm]), confidence, margin)[0] == expected
            least_loss = min(
                (m for m in {loss_in(ends, d, arm) for d in range(120)} if within(ends, arm, m) >= confidence), default=math.inf
            )  # fmt: skip
            assert found.loss[0, arm] == pytest.approx(least_loss)


# ---- whatever the draws ----


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.001, 0.5), st.floats(-0.5, 0.5), st.floats(0, 0.2), st.floats(0, 0.2))
def test_found_is_surely_fair_and_a_wider_box_never_finds_more(
    seed: int, spread: float, shift: float, width: float, more: float
) -> None:
    outcomes, rows = drawn(seed, 100, spread, shift)
    narrow = Ends(*widened(outcomes, width, seed), *widened(rows, width, seed))
    wide = Ends(narrow.outcome_low - more, narrow.outcome_high + more, narrow.row_low - more, narrow.row_high + more)
    for arm in range(3):
        before, after = (standing(ends, 0.9).sure(np.array([arm]), 0.9, 0.05)[0] for ends in (narrow, wide))
        if before == arm:
            assert standing(narrow, 0.9).fair[0, arm] >= 0.9
        if before == Code.UNDECIDED:
            assert after == Code.UNDECIDED


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.05, 5), st.floats(-3, 3), st.sampled_from([0.8, 0.95]))
def test_an_interval_that_contains_zero_never_gives_no_fair_arm(
    seed: int, spread: float, shift: float, confidence: float
) -> None:
    values = shift + spread * np.random.default_rng(seed).standard_normal((400, 2, 1))
    low, high = np.quantile(values, ((1 - confidence) / 2, (1 + confidence) / 2), axis=0)
    if ((low < 0) & (high > 0)).any():
        assert all_unfair(values, values, Rows.gap(0.01), confidence) < confidence


def test_one_draw_and_one_arm() -> None:
    rows = np.zeros((1, 1, 1))
    loss = losses(np.array([[0.3]]), np.array([[0.3]]), rows, rows, Rows.gap(0.1))
    assert quantile_of_draws(loss, 0.95).tolist() == [0.0]
    assert all_unfair(rows + 0.2, rows + 0.2, Rows.gap(0.1), 0.95) == 1.0


# ---- reasons ----


def decided(problem: Problem, fair: float, loss: float, findings: tuple[Finding, ...] = (), **more: object) -> Decision:
    arms = len(problem.arms)
    best = np.zeros((1, arms))
    best[0, 0] = 1.0
    made = replace(
        Standing.unknown(1, arms), best=best, none=np.zeros(1), fair=np.full((1, arms), fair), loss=np.full((1, arms), loss),
        unfair=np.zeros(1),
    )  # fmt: skip
    return decide(problem, made, np.array([0]), findings, **more)  # type: ignore[arg-type]


def test_reasons_come_in_the_order_of_the_table() -> None:
    problem = chain()
    sure, name = decided(problem, 1.0, 0.0), problem.arm_names[0]
    assert (sure.answer.arm, sure.recommended.arm, sure.reasons, sure.loss_at_most) == (name, name, (), 0.0)
    assert decided(problem, 0.9, math.inf).reasons == ("fairness-open",)
    assert decided(problem, 0.99, 0.2).reasons == ("arms-too-close",)
    assert decided(problem, 0.99, 0.2, margin=0.2 * problem.outcome.width).answer.arm == name
    first = np.arange(len(problem.arms)) == 0
    assert decided(problem, 0.9, math.inf, not_recommended={"no-support": first}).reasons == (
        "no-support",
        "fairness-open",
    )
    assert decided(problem, 0.9, math.inf, not_recommended={"no-support": ~first}).reasons == ("fairness-open",)
    blocks = tuple(Finding(each, "", level=Level.BLOCKS_ANSWER) for each in ("impossible-rows", "model-disagrees"))
    found = decided(problem, 1.0, 0.0, (*blocks, Finding("duplicate-rows", "")))
    assert (found.answer.arm, found.recommended.arm) == (None, name)
    assert found.reasons == ("blocking-warning", "impossible-rows")
    assert found.blocked_by == ("impossible-rows", "model-disagrees")
    assert list(REASONS)[1:4] == ["no-probability", "blocking-warning", "impossible-rows"]


def test_a_box_is_the_reason_where_there_would_be_an_answer_without_it() -> None:
    problem = chain()
    arms = len(problem.arms)
    best = np.eye(arms)[:1]
    free = replace(
        Standing.unknown(1, arms), best=best, none=np.zeros(1), fair=np.ones((1, arms)), loss=np.zeros((1, arms)), unfair=np.zeros(1)
    )  # fmt: skip
    bound = replace(free, best=0.4 * best, fair=np.full((1, arms), 0.5), loss=np.full((1, arms), np.inf))
    found = decide(problem, bound, np.array([0]), (), unbounded=free, bounded_by=("missing-outcomes",))
    assert found.reasons == ("missing-outcomes",) and found.loss_at_most is None
    assert (found.recommended_probability, found.recommended_probability_at_random) == (0.4, 1.0)
