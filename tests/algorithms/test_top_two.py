"""`top-two`: its choices against chances worked by hand and a plain loop, and what it pulls and reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dirichlet_worlds import random_world
from fairarm import load_problem
from fairarm.algorithms import make_procedure
from fairarm.algorithms.top_two import TRIES, top_two
from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.fairness import Rows
from fairarm.errors import OptionError
from fairarm.experiments.simulate import replicate

# ---- the choice ----


def answers_as_draws(best: Any, K: int) -> tuple[Any, Any]:
    """Outcomes and gaps (N, D, K) in which every arm is fair and ``best`` (N, D) is the best; −1: none is fair."""
    outcomes = (np.arange(K) == best[..., None]) * 1.0
    gaps = np.where(best[..., None] == -1, 0.5, 0.0) * np.ones(K)
    return outcomes, gaps


def test_the_chance_of_every_pull() -> None:
    """P(a) = ½ p_a + ½ Σ_{b≠a} p_b p_a / (1 − p_b), over the answers 0, 1 and "none" (which pulls arm 2, the nearest).

    40 000 pulls: 4 standard deviations are 0.01; fails by chance in fewer than 1 of 10 000 seeds.
    """
    p, rng = np.array([0.5, 0.3, 0.2]), np.random.default_rng(0)
    best = rng.choice([0, 1, -1], (40_000, 1 + 30), p=p)
    outcomes, gaps = answers_as_draws(best, 3)
    gaps[..., 2] = 0.4  # never fair, and nearest where none is
    wanted = top_two(outcomes, gaps, 0.3, 1, rng)
    other = p / (1 - p)
    expected = 0.5 * p + 0.5 * p * (other.sum() - other)
    found = np.bincount(wanted.arms[:, 0], minlength=3) / 40_000
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_two_arms_are_pulled_equally_however_sure_the_answer() -> None:
    for p in (0.5, 0.95):
        rng = np.random.default_rng(1)
        best = (rng.random((10_000, 1 + 100)) > p).astype(np.int64)
        wanted = top_two(*answers_as_draws(best, 2), 0.3, 1, rng)
        assert abs(wanted.arms.mean() - 0.5) < 0.02
        assert not wanted.regimes.any()  # both always fair: nothing to force


def test_every_pull_of_a_batch_has_its_own_first_draw() -> None:
    rng = np.random.default_rng(2)
    best = np.concatenate([np.arange(4).repeat(5), np.full(40, 4)])[None].repeat(2_000, axis=0)
    arms = top_two(*answers_as_draws(best, 5), 0.3, 20, rng).arms
    for i in range(20):
        assert set(arms[:, i].tolist()) == {i // 5, 4}
        assert abs(np.mean(arms[:, i] == 4) - 0.5) < 0.05


def plain_choice(outcomes: Any, gaps: Any, E: float, batch: int, i: int, first: bool, group: int) -> tuple[int, int]:
    """Regime and arm of pull i from draws (D, K), by the rule's words; the redraws are looked through from the i-th on."""
    K = outcomes.shape[1]

    def fair_arms(d: int) -> list[int]:
        return [k for k in range(K) if abs(gaps[d, k]) < E]

    def answer(d: int, without: int = -2) -> int:
        return max((k for k in fair_arms(d) if k != without), key=lambda k: outcomes[d, k], default=-1)

    redraws = list(range(batch, len(outcomes)))
    redraws = redraws[i % len(redraws) :] + redraws[: i % len(redraws)]
    other = next((d for d in redraws if answer(d) != answer(i)), i)
    rival = answer(other) if other != i else answer(i, without=answer(i))
    draw, arm = (i, answer(i)) if first else (other, rival)
    if arm == -1:
        arm = min(range(K), key=lambda k: abs(gaps[draw, k]))
    return (group if (arm in fair_arms(i)) != (arm in fair_arms(other)) else 0), arm


@pytest.mark.parametrize("spread", [0.02, 0.2, 1.0])
def test_choices_are_a_plain_loop_over_pulls(spread: float) -> None:
    """From nearly certain answers (often the runner-up) to none at all fair."""
    rng, N, batch = np.random.default_rng(8), 60, 7
    outcomes = rng.random((N, 1, 3)) + rng.normal(0, spread, (N, batch + 4, 3))
    gaps = rng.normal(0, 0.4, (N, 1, 3)) + rng.normal(0, spread, (N, batch + 4, 3))
    wanted = top_two(outcomes, gaps, 0.3, batch, np.random.default_rng(9))
    again = np.random.default_rng(9)
    coin, group = again.random((N, batch)) < 0.5, again.integers(1, 3, (N, batch))
    for n in range(N):
        for i in range(batch):
            expected = plain_choice(outcomes[n], gaps[n], 0.3, batch, i, bool(coin[n, i]), int(group[n, i]))
            assert (wanted.regimes[n, i], wanted.arms[n, i]) == expected


def test_without_a_rival_the_runner_up_of_the_draw_is_pulled() -> None:
    outcomes = np.tile([0.9, 0.2, 0.7, 0.8], (4_000, 1 + TRIES, 1))
    gaps = np.tile([0.0, 0.0, 0.0, 0.5], (4_000, 1 + TRIES, 1))  # the second best is unfair
    wanted = top_two(outcomes, gaps, 0.3, 1, np.random.default_rng(3))
    assert set(wanted.arms[:, 0].tolist()) == {0, 2}
    assert abs(np.mean(wanted.arms == 2) - 0.5) < 0.04
    gaps[..., 1:] = 0.5, 0.4, 0.6  # no other is fair: "none", whose arm is the one nearest to being fair: 0 itself
    assert not top_two(outcomes, gaps, 0.3, 1, np.random.default_rng(3)).arms.any()


def test_an_arm_is_forced_where_the_two_draws_disagree_on_its_fairness() -> None:
    """Arm 0 is best and fair in the first draw, unfair in the redraws, where arm 1 is best; arm 1 is always fair."""
    outcomes = np.tile([0.9, 0.5], (9_000, 1 + TRIES, 1))
    gaps = np.zeros_like(outcomes)
    gaps[:, 1:, 0] = 0.5
    wanted = top_two(outcomes, gaps, 0.3, 1, np.random.default_rng(4))
    pulled, regime = wanted.arms[:, 0], wanted.regimes[:, 0]
    assert not regime[pulled == 1].any()
    shares = np.bincount(regime[pulled == 0], minlength=3) / np.sum(pulled == 0)
    np.testing.assert_allclose(shares, [0, 0.5, 0.5], atol=0.04)


def test_no_fair_arm_in_the_redraws_pulls_their_nearest_arm() -> None:
    outcomes = np.tile([0.9, 0.5, 0.4], (500, 1 + TRIES, 1))
    gaps = np.tile([0.1, 0.6, 0.7], (500, 1 + TRIES, 1))
    gaps[:, 1:] = 0.9, 0.8, 0.4
    arms = top_two(outcomes, gaps, 0.3, 1, np.random.default_rng(5)).arms
    assert set(arms[:, 0].tolist()) == {0, 2}


def test_top_two_turns_with_the_arms() -> None:
    rng, order = np.random.default_rng(6), np.array([2, 0, 3, 1])
    outcomes, gaps = rng.random((50, 5 + TRIES, 4)), rng.normal(0, 0.4, (50, 5 + TRIES, 4))
    plain = top_two(outcomes, gaps, 0.3, 5, np.random.default_rng(7))
    turned = top_two(outcomes[..., order], gaps[..., order], 0.3, 5, np.random.default_rng(7))
    np.testing.assert_array_equal(order[turned.arms], plain.arms)
    np.testing.assert_array_equal(turned.regimes, plain.regimes)


# ---- the procedure ----


def test_top_two_begins_as_pool_does_and_then_pulls_costly_arms_as_they_can_be_paid() -> None:
    scenario = load_problem("synthetic-loose:seed=300")
    procedure, pool = (make_procedure(name, scenario.problem, 100) for name in ("top-two", "pool"))
    state = procedure.start(4)
    np.testing.assert_array_equal(state.plan, pool.start(4).plan)
    world, rng, costs = scenario.world, np.random.default_rng(0), scenario.problem.compiled.cost_array
    evidence = CellEvidence.empty(scenario.problem, 4)
    while not state.finished:
        fresh = CellEvidence(scenario.problem, world.draw(state.plan, rng))
        evidence = CellEvidence(scenario.problem, evidence.counts + fresh.counts)
        made, cost = state.given.sum(axis=(1, 2)), (state.given * costs).sum(axis=(1, 2))
        assert (cost <= 0.1 * made + 1e-9).all()
        state, _ = procedure.step(state, fresh, evidence, 5)
    assert (cost >= 9).all()  # of 10 costly pulls


def test_top_two_reports_its_posterior_and_keeps_the_gate() -> None:
    world = random_world(5)
    procedure = make_procedure("top-two", world.problem, 80)
    state, info, _, _ = replicate(procedure, world, 20, np.random.default_rng(0), 0)
    belief = info.standing
    assert belief is not None
    np.testing.assert_allclose(belief.best.sum(axis=1) + belief.none, 1.0)
    votes = np.concatenate([belief.none[:, None], np.where(belief.fair >= 0.8, belief.best, -1)], axis=1)
    np.testing.assert_array_equal(state.answer, np.argmax(votes, axis=1) - 1)
    with pytest.raises(OptionError, match="min_fair_probability"):
        make_procedure("top-two", world.problem, 80, min_fair_probability=0.5)


def test_groups_are_forced_at_random_and_no_fair_arm_is_the_one_that_misses_least() -> None:
    """Three groups, floors of 0.4 and one of 0.5: no arm is fair in any draw, and the second misses its worst row by 0.1."""
    asked = Rows(np.eye(3), np.zeros(3), np.array([0.4, 0.4, 0.5]), np.full(3, np.inf))
    values = np.array([[0.9, 0.9, 0.2], [0.35, 0.35, 0.4], [0.0, 0.9, 0.9]])
    drawn = np.broadcast_to(values, (1, 20, 3, 3))
    wanted = top_two(drawn.mean(axis=3), drawn, asked, 10, np.random.default_rng(0))
    assert (wanted.arms == 1).all() and (wanted.regimes == 0).all()
    doubtful = np.array(drawn)
    doubtful[:, 300 % 20 :: 2, 1] = 0.6  # fair in every other draw
    doubtful = np.tile(doubtful, (1, 20, 1, 1))
    wanted = top_two(doubtful.mean(axis=3), doubtful, asked, 300, np.random.default_rng(0))
    assert set(wanted.regimes.ravel()) == {1, 2, 3} and (wanted.arms == 1).all()
