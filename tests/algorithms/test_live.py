"""Live studies from cohort to cohort, whatever is asked about: several attributes, causes, kept nodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.calibration.world_strata import attribute_above, joint_groups, kept_node, with_causes

from fairarm.algorithms.cohort import Cohort, Loss
from fairarm.algorithms.live import RESERVE, LiveRule, Settled, entry_findings, people_to_enter
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.standing import Proof
from fairarm.core.answer import Code
from fairarm.core.entry import PARTS, Coverage
from fairarm.worlds import NetworkWorld
from four_arms import chain

EVEN = np.ones((1, PARTS))

MAKERS = {
    "joint": joint_groups,
    "recruited": lambda: with_causes("recruited", "recruited"),
    "set": lambda: with_causes("set", "set"),
    "kept": kept_node,
    "above": attribute_above,
}
"""In all of them arm 0 is the best, and on an end."""


def rule_of(world: NetworkWorld, confidence: float = 0.95, pulls: int = 4000) -> LiveRule:
    pool = Pool(world.problem, pulls, PoolOptions(confidence=confidence), reserve=RESERVE, watched=False)
    return LiveRule(pool, Loss.of(world.problem, "worst"))


def live(rule: LiveRule, world: NetworkWorld, n: int, seed: int, by_outcome: tuple[float, float]) -> Settled:
    """n studies to their end: natural cohorts of 100 people, groups known at arrival; of each outcome a part is never told."""
    rng, now = np.random.default_rng(seed), rule.start(n)
    none = np.zeros_like(now.state.given)
    for number in range(60):
        if not now.state.running.any():
            break
        cards = rule.cards(now, none, 80, seed, number)
        assert not cards[:, 1:].any()
        made = world.draw(cards, rng)
        states = made.reshape(*made.shape[:-1], -1, 2)
        lost = rng.binomial(states, by_outcome).reshape(made.shape)
        rows, missing = CellEvidence(rule.pool.problem, made - lost), lost.sum(axis=(3, 4))
        by_group = made[:, 0].sum(axis=3)
        cohort = Cohort(rows, missing if missing.any() else None, rule.loss, by_group=by_group, weekday=number % 7)
        now, _ = rule.settle(now, cohort, seed, np.repeat(EVEN, n, axis=0))
    return now


@pytest.mark.parametrize("kind", MAKERS)
def test_the_right_answer_is_certified_whatever_is_asked(kind: str) -> None:
    """Fair by far: of 30 studies with one in a hundred lost, nearly all end with the best arm, none wrong, none void."""
    world = MAKERS[kind]()
    wide = replace(world, problem=world.problem.with_tolerance(2.5 * (world.problem.rows[0].below or 0.0)))
    ended = live(rule_of(wide), wide, 30, 3, (0.01, 0.01))
    assert np.isin(ended.state.answer, [0, Code.UNDECIDED]).all() and np.mean(ended.state.answer == 0) > 0.8
    assert not ended.void.any() and wide.truth().answer == 0


@pytest.mark.parametrize("kind", MAKERS)
def test_an_arm_on_an_end_is_seldom_certified_fair_though_losses_follow_outcomes(kind: str) -> None:
    """δ = 0.2, one in twenty bad outcomes is lost. Of 60 studies more than 24 wrong would be of probability 10⁻⁴ at δ."""
    world = MAKERS[kind]()
    ended = live(rule_of(world, 0.8, 2000), world, 60, 5, (0.05, 0.0))
    wrong = (ended.state.answer == 0) | (ended.proof[:, 0] == Proof.FAIR)
    assert wrong.sum() <= 24 and world.truth().answer != 0


def test_nobody_guards_where_a_fair_arm_may_serve_a_gap() -> None:
    assert len(rule_of(kept_node()).watch.guarded.level) == 0
    assert len(rule_of(joint_groups()).watch.guarded.level) == 0
    pool = Pool(chain(), 100, PoolOptions(confidence=0.95))
    assert len(LiveRule(pool, Loss.of(chain(), "worst")).watch.guarded.level) == 2


def test_alarms_pause_where_asked_and_never_all_arms() -> None:
    pool = Pool(chain(), 100, PoolOptions(confidence=0.95))
    rule = LiveRule(pool, Loss.of(chain(), "worst"))
    now = rule.start(1)
    alarmed = replace(now, watched=replace(now.watched, alarmed=np.array([[False, True, False, False]])))
    assert rule.paused(alarmed).tolist() == [[False, True, False, False]]  # type: ignore[union-attr]
    assert not replace(rule, alarm_pauses=False).paused(alarmed).any()  # type: ignore[union-attr]
    proved = replace(now, proof=np.array([[Proof.UNFAIR, 0, 0, 0]]))
    assert replace(rule, alarm_pauses=False).paused(proved).tolist() == [[True, False, False, False]]  # type: ignore[union-attr]
    every = replace(now, watched=replace(now.watched, alarmed=np.ones((1, 4), dtype=bool)))
    assert not rule.paused(every).any()  # type: ignore[union-attr]
    assert replace(rule, pauses=False).paused(every) is None


def test_a_cohort_that_is_left_out_counts_as_pulls_only() -> None:
    pool = Pool(chain(), 100, PoolOptions(confidence=0.95))
    rule = LiveRule(pool, Loss.of(chain(), "worst"))
    before = rule.start(1)
    dealt = np.zeros_like(before.state.given)
    dealt[0, 0, 2] = 7
    after = rule.left_out(before, dealt)
    assert after.state.given.sum() == 7 and after.state.memory is before.state.memory


def test_uneven_entry_is_said_and_voids_below_a_half() -> None:
    time = np.ones(PARTS)
    assert entry_findings(Coverage(time)) == ()
    time[5] = 0.7
    (said,) = entry_findings(Coverage(time))
    assert not said.voids and said.examples == ("part 6 of 24: 0.70",)
    time[5] = 0.4
    assert entry_findings(Coverage(time))[0].voids


def test_fewer_are_to_enter_where_few_cards_are_left() -> None:
    assert people_to_enter(100, np.array([125, 60, 0])).tolist() == [100, 48, 0]
