"""Live studies from cohort to cohort, whatever is asked about: several attributes, causes, kept nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.calibration.world_strata import attribute_above, joint_groups, kept_node, with_causes

from fairarm.algorithms.cohort import Cohort, Loss, Missing, of_kind
from fairarm.algorithms.live import LiveRule, Settled, entry_findings, people_to_enter
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.standing import Proof
from fairarm.core.answer import Code
from fairarm.core.entry import PARTS, Coverage
from fairarm.problem.mechanism import table
from fairarm.problem.network import Network
from fairarm.worlds import NetworkWorld
from four_arms import chain
from quick import quick

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
    pool = Pool(world.problem, pulls, PoolOptions(confidence=confidence), live=True, watched=False)
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
        rows, missing = (
            CellEvidence(rule.pool.problem, made - lost),
            of_kind(lost.sum(axis=(3, 4)), Missing.UNKNOWN),
        )
        by_group = of_kind(lost[:, 0].sum(axis=3), Missing.UNKNOWN)
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


@pytest.mark.parametrize("kind", quick(MAKERS, 2))
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


def separate_arms() -> NetworkWorld:
    """An A/B/C test: each arm has a decision of its own, so that no arm's rows say anything of another's."""
    arms = {"a": [[1, 0, 0], [1, 0, 0]], "b": [[0, 1, 0], [0, 1, 0]], "c": [[0, 0, 1], [0, 0, 1]]}
    problem = chain(arms, graph=[("S", "V"), ("S", "Y"), ("V", "Y")], tolerance=0.15, shares={"a": 0.5, "b": 0.5})
    outcomes = [[0.30, 0.28], [0.60, 0.25], [0.42, 0.40]]  # P(Y = 1) by arm and group
    tables = [
        table("S", [], [0.5, 0.5]),
        table("V", ["S"], arms["a"]),
        table("Y", ["S", "V"], [[[1 - outcomes[v][s], outcomes[v][s]] for v in range(3)] for s in range(2)]),
    ]
    return NetworkWorld(problem, Network.of(problem.variables.values(), tables))


def test_a_paused_arm_is_always_a_refuted_answer_and_no_study_waits_for_one() -> None:
    """Studies that pause, with and without losses, in every settled state: a label "unfair" implies a refuted answer (certified.md, C19).
    Without it 8 of these 40 would never end: the account of the paused arm stands still."""
    world = separate_arms()
    rule, rng = rule_of(world, pulls=9_000), np.random.default_rng(2)
    for lost in (0.0, 0.01):
        now, none = rule.start(20), np.zeros((20, 3, 3), dtype=np.int64)
        for number in range(70):
            if not now.state.running.any():
                break
            made = world.draw(rule.cards(now, none, 120, 4, number), rng)
            gone = rng.binomial(made, lost)
            missing = of_kind(gone.sum(axis=(3, 4)), Missing.UNKNOWN)
            cohort = Cohort(
                CellEvidence(rule.pool.problem, made - gone), missing if missing.any() else None, rule.loss,
                by_group=of_kind(gone[:, 0].sum(axis=3), Missing.UNKNOWN), weekday=number % 7,
            )  # fmt: skip
            now, _ = rule.settle(now, cohort, 4, np.repeat(EVEN, 20, axis=0))
            unfair = np.isin(now.proof, [Proof.UNFAIR, Proof.UNFAIR_TO_FIRST, Proof.UNFAIR_TO_SECOND])
            assert (now.state.memory.refuted[:, 1:] | ~unfair).all()
        assert np.mean(now.state.answer == 2) >= 0.9 and np.isin(now.state.answer, [2, Code.UNDECIDED]).all()
        assert unfair[:, 1].any()


def test_an_arm_that_the_guard_paused_is_not_proved_unfair_and_the_study_says_what_it_needs() -> None:
    rule = LiveRule(Pool(chain(), 100, PoolOptions(confidence=0.95), live=True), Loss.of(chain(), "worst"))
    now = rule.start(1)
    alarmed = replace(now, watched=replace(now.watched, alarmed=np.array([[False, True, False, False]])))
    found = {each.name: each for each in rule.findings(alarmed, EVEN)}
    assert found["needs-paused-arm"].examples == ("good",) and not found["needs-paused-arm"].blocks_certification
    memory = replace(now.state.memory, refuted=np.array([[False, False, True, False, False]]))
    refuted = replace(alarmed, state=alarmed.state.but(memory=memory))
    assert "needs-paused-arm" not in {each.name for each in rule.findings(refuted, EVEN)}


class Deluded(Pool):
    """A pool whose posterior takes every arm for unfair."""

    def settle(self, *given: Any) -> Any:
        state, info = super().settle(*given)
        assert info.standing is not None
        none = np.zeros_like(info.standing.fair)
        return state, replace(info, standing=replace(info.standing, fair=none, best=none, none=np.ones(len(none))))


def test_a_certificate_that_contradicts_the_posterior_blocks_the_answer() -> None:
    """Arm 0 is certified, and the posterior gives it less than 0.01: no answer, and the reason is said."""
    world = MAKERS["joint"]()
    wide = replace(world, problem=world.problem.with_tolerance(2.5 * (world.problem.rows[0].below or 0.0)))
    honest = rule_of(wide)
    pool = Deluded(wide.problem, honest.pool.pulls, honest.pool.asked, live=True, watched=False)
    ended = live(replace(honest, pool=pool), wide, 5, 3, (0.0, 0.0))
    assert ended.void.all() and (ended.state.answer == Code.UNDECIDED).all() and ended.contradicted[:, :2].all()
    finding = next(each for each in replace(honest, pool=pool).findings(ended, EVEN) if "contradicts" in each.name)
    assert (
        finding.name == "certificate-contradicts-posterior"
        and finding.blocks_certification
        and "the answer" in finding.examples
    )
    unwatched = live(replace(honest, pool=pool, watched=False), wide, 5, 3, (0.0, 0.0))
    assert (unwatched.state.answer == 0).any()  # that is what it blocks


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
    assert not said.blocks_certification and said.examples == ("part 6 of 24: 0.70",)
    time[5] = 0.4
    assert entry_findings(Coverage(time))[0].blocks_certification


def test_fewer_are_to_enter_where_few_cards_are_left() -> None:
    assert people_to_enter(100, np.array([125, 60, 0])).tolist() == [100, 48, 0]
