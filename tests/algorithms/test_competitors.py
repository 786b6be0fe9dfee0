"""`mis`, `top-two` and `tf-lucb`: estimates and choices against loops, laws and hand, and budgets under any costs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairarm import load_problem
from fairarm.algorithms import Status, algorithm, make_procedure
from fairarm.algorithms.mis import BalanceHeuristic, balanced_means, group_shares
from fairarm.algorithms.procedure import Guarantee
from fairarm.algorithms.pull_by_pull import Purse, next_batch
from fairarm.algorithms.tf_lucb import Bounds, TopFeasible, leader_and_challenger, own_bounds, radius
from fairarm.algorithms.top_two import TRIES, top_two
from fairarm.algorithms.verdict import verdict
from fairarm.beliefs.evidence import CellEvidence, RowEvidence
from fairarm.core.answer import Code
from fairarm.errors import BudgetError, OptionError
from fairarm.experiments.simulate import replicate
from fairarm.problem.context import ContextSample
from fairarm.problem.likelihood import Likelihood
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds import NetworkWorld

COMPETITORS = ("mis", "top-two", "tf-lucb")
PULL_BY_PULL = ("top-two", "tf-lucb")


def random_world(seed: int, K: int = 3, S_to_Y: bool = False, order: Any = None, **changes: Any) -> NetworkWorld:
    """S → X → Y, S → V → Y, perhaps S → Y; Dirichlet tables, Y with three states. ``order`` takes the arms so."""
    rng = np.random.default_rng(seed)
    law = lambda *shape: rng.dirichlet(np.ones(shape[-1]), shape[:-1])  # noqa: E731
    inputs = ["S", "X", "V"] if S_to_Y else ["X", "V"]
    share = 0.2 + 0.6 * rng.random()
    network = Network.of(
        [Variable("S", ("a", "b")), Variable("X", ("0", "1")), Variable("V", ("0", "1", "2")), Variable("Y", ("l", "m", "h"))],
        [
            table("S", [], [share, 1 - share]),
            table("X", ["S"], law(2, 2)),
            table("V", ["S"], law(2, 3)),
            table("Y", inputs, law(*(2, 2, 3, 3)[-len(inputs) - 1 :])),
        ],
    )  # fmt: skip
    arms = [Arm(f"arm{k}", table("V", ["S"], law(2, 3))) for k in range(K)]
    parts: dict[str, Any] = {
        "name": "random",
        "variables": network.variables,
        "graph": network.edges(),
        "sensitive": "S",
        "decision": "V",
        "outcome": Outcome("Y", values=(-1, 0, 3)),
        "tolerance": 0.6,
        "arms": arms if order is None else [arms[k] for k in order],
        "mechanisms": [network.tables[name] for name in (("X", "Y") if S_to_Y else ("X",))],
        "shares": (share, 1 - share),
        **changes,
    }
    return NetworkWorld(Problem(**parts), network)


def drawn(world: NetworkWorld, pulls: Any, seed: int = 0, n: int = 1) -> CellEvidence:
    """Rows of pulls (R, K)."""
    plan = np.broadcast_to(np.asarray(pulls), (n, 3, len(world.problem.arms)))
    return CellEvidence(world.problem, world.draw(plan.astype(np.int64), np.random.default_rng(seed)))


def law_of_row(world: NetworkWorld, k: int, t: int, o: int) -> float:
    """P(X, V, Y | arm k, S = t) without what no arm or group changes: a plain product of the declared tables."""
    p = world.problem
    codes = {name: int(values[o]) for name, values in p.compiled.row_space.codes().items()}
    given: dict[str, Any] = {name: mechanism.probabilities for name, mechanism in p.mechanisms.items()}  # type: ignore[union-attr]
    arm: Any = p.arms[k].mechanism
    value = arm.probabilities[t, codes["V"]] * given["X"][t, codes["X"]]
    return float(value * (given["Y"][t, codes["X"], codes["V"], codes["Y"]] if "Y" in given else 1.0))


# ---- mis: the estimates ----


@pytest.mark.parametrize("S_to_Y", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_balanced_means_are_a_plain_loop_over_rows(seed: int, S_to_Y: bool) -> None:
    world = random_world(seed, S_to_Y=S_to_Y)
    counts = drawn(world, [[20, 5, 0], [3, 0, 7], [0, 4, 6]], seed).counts
    rows = [(j, t, o) for _, r, j, t, o in np.argwhere(counts) for _ in range(int(counts[0, r, j, t, o]))]
    N, K = len(rows), 3
    expected = np.zeros((K, 2))
    for _, _, o in rows:
        mixture = sum(law_of_row(world, j, u, o) for j, u, _ in rows) / N
        for k in range(K):
            for t in range(2):
                expected[k, t] += law_of_row(world, k, t, o) / mixture * world.problem.compiled.row_outcomes[o] / N
    np.testing.assert_allclose(balanced_means(CellEvidence(world.problem, counts))[0], expected, rtol=1e-12)


@pytest.mark.parametrize("S_to_Y", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_expected_counts_give_the_truth(seed: int, S_to_Y: bool) -> None:
    """Counts in exact proportion to each unit's law: unbiased given how many rows each arm has in each group."""
    world, rng = random_world(seed, S_to_Y=S_to_Y), np.random.default_rng(seed)
    sizes = rng.random((1, 3, 3, 2)) * 100
    sizes[:, 1, :, 1] = sizes[:, 2, :, 0] = 0
    counts = sizes[..., None] * world.law  # whatever the groups of natural rows turned out to be
    truth = world.truth()
    evidence = CellEvidence(world.problem, counts)
    means = balanced_means(evidence)[0]
    outcome = world.problem.outcome
    np.testing.assert_allclose(outcome.unscale(means), truth.group_outcomes, rtol=0, atol=1e-12)
    procedure = make_procedure("mis", world.problem, 100)
    _, shown = procedure.step(procedure.start(1), evidence, evidence, 0)
    np.testing.assert_allclose(outcome.unscale(shown.outcomes[0]), truth.outcomes, rtol=0, atol=1e-12)
    np.testing.assert_allclose(outcome.width * shown.gaps[0], [truth.gaps, -truth.gaps], rtol=0, atol=1e-12)


def test_rows_one_by_one_and_counted_are_the_same() -> None:
    world = random_world(1)
    plan = np.array([[9, 2, 1], [2, 3, 4], [1, 5, 2]])
    run = algorithm("mis", world.problem, pulls=10)
    part = world.pull(replace(run.ask(), counts=plan), np.random.default_rng(0))
    counted = CellEvidence.empty(world.problem).add(part)
    kept = RowEvidence.empty(world.problem).add(part)
    for regimes in ((0,), (2,), counted.every_regime):
        np.testing.assert_array_equal(counted.group_sums(regimes)[0], kept.group_sums(regimes)[0])
    np.testing.assert_allclose(balanced_means(counted), balanced_means(kept), rtol=1e-12)
    tiny = replace(kept, rows=Likelihood(kept.rows.arms - np.linspace(900, 2_000, part.size), kept.rows.children))
    np.testing.assert_allclose(balanced_means(tiny), balanced_means(kept), rtol=1e-9)  # only ratios count


def test_what_no_row_can_speak_for_is_undefined() -> None:
    """Arm 'left' never gives V = 1, arm 'right' nothing else: rows of one say nothing of the other."""
    sides = {"left": [[1.0, 0.0], [1.0, 0.0]], "right": [[0.0, 1.0], [0.0, 1.0]]}
    network = Network.of(
        [Variable(n, ("0", "1")) for n in "SVY"],
        [table("S", [], [0.5, 0.5]), table("V", ["S"], sides["left"]), table("Y", ["V"], [[0.3, 0.7], [0.8, 0.2]])],
    )
    problem = Problem(
        name="apart",
        variables=network.variables,
        graph=network.edges(),
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm(name, table("V", ["S"], rows)) for name, rows in sides.items()],
        shares=(0.5, 0.5),
    )
    means = balanced_means(drawn(NetworkWorld(problem, network), [[40, 0], [0, 0], [0, 0]]))[0]
    assert not np.isnan(means[0]).any() and np.isnan(means[1]).all()
    assert np.isnan(balanced_means(CellEvidence.empty(problem))).all()


def test_shares_declared_counted_or_from_a_sample() -> None:
    world = random_world(0)
    evidence = drawn(world, [[6, 4, 0], [30, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(group_shares(evidence)[0], world.problem.shares)
    natural = evidence.counts[0, 0].sum(axis=(0, 2))
    unknown = random_world(0, shares=None).problem
    np.testing.assert_allclose(group_shares(CellEvidence(unknown, evidence.counts))[0], (natural + 0.5) / 11)
    columns = {"S": np.array([0, 1, 1]), "X": np.zeros(3, int), "V": np.zeros(3, int)}
    logged = random_world(0, shares=None, context=ContextSample("arm0", columns)).problem
    np.testing.assert_allclose(
        group_shares(CellEvidence(logged, evidence.counts))[0], (natural + np.array([1.5, 2.5])) / 14
    )


# ---- mis: the procedure ----


def test_mis_pulls_as_csr_does_over_all_arms_and_rejects_nobody() -> None:
    world = random_world(2, costs=[[0, 0, 0], [1, 1, 1], [1, 2, 1]], budget=0.3)
    mis, csr = make_procedure("mis", world.problem, 500), make_procedure("csr-v2", world.problem, 500)
    state, rival = mis.start(3), csr.start(3)
    empty = CellEvidence.empty(world.problem, 3)
    while not rival.finished:  # csr without rows rejects nobody either
        np.testing.assert_array_equal(state.plan, rival.plan)
        evidence = drawn(world, [[200, 200, 200]] * 3, n=3)
        (state, shown), (rival, _) = mis.step(state, evidence, evidence, 0), csr.step(rival, empty, empty, 0)
        assert state.memory.alive.all() and not shown.rejected.any()
    assert state.finished


def test_mis_answers_the_best_estimate_below_the_tolerance() -> None:
    world = random_world(3)
    procedure = BalanceHeuristic.of(world.problem, 200)
    state, info, _, _ = replicate(procedure, world, 40, np.random.default_rng(0), 0)
    E = world.problem.compiled.scaled_tolerance
    for i in range(40):
        fair = [k for k in range(3) if abs(info.gaps[i, 0, k]) < E]
        assert state.answer[i] == (max(fair, key=lambda k: info.outcomes[i, k]) if fair else Code.NONE)
    assert len(set(state.answer.tolist())) > 1
    np.testing.assert_array_equal(info.gaps[:, 0], -info.gaps[:, 1])


def test_mis_finds_no_fair_arm_and_the_only_arm() -> None:
    for tolerance, status in ((1e-6, Status.NO_FAIR_ARM), (4.0, Status.FOUND)):
        world = random_world(4, K=1, tolerance=tolerance)
        procedure = make_procedure("mis", world.problem, 300)
        state, info, _, _ = replicate(procedure, world, 1, np.random.default_rng(0), 0)
        assert verdict(procedure, state, info).status is status


# ---- the purse ----


def test_the_purse_by_hand() -> None:
    """Natural, s, s' of two arms: 0 and 1, 0 and 2, 1 and 1; half a coin comes in with every pull."""
    costs = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0]])
    none = np.zeros((1, 3, 2), dtype=np.int64)

    def bought(*wanted: tuple[int, int]) -> list[list[int]]:
        regimes, arms = np.array([wanted]).transpose(2, 0, 1)
        dearer = Purse(costs + 1, 1.5).buy(none, regimes, arms)
        made = Purse(costs, 0.5).buy(none, regimes, arms)
        np.testing.assert_array_equal(made, dearer)  # one more for every pull, and one more a pull to spend
        return made[0].tolist()

    assert bought((0, 1)) == [[1, 0], [0, 0], [0, 0]]  # ½ in hand: the cheapest of the regime
    assert bought((0, 0), (0, 1)) == [[1, 1], [0, 0], [0, 0]]
    assert bought((0, 0), (1, 1)) == [[1, 1], [0, 0], [0, 0]]  # 1 in hand: not forced at 2, but the arm naturally
    assert bought((0, 0), (0, 0), (0, 0), (1, 1)) == [[3, 0], [0, 1], [0, 0]]
    assert bought((1, 1)) == [[0, 0], [1, 0], [0, 0]]  # the other arm, in the regime wanted
    assert bought((2, 1)) == [[1, 0], [0, 0], [0, 0]]  # nothing of that regime either: the cheapest of all
    assert bought((0, 0), (2, 1), (2, 1), (2, 1)) == [[2, 0], [0, 0], [0, 2]]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_the_purse_keeps_the_budget_at_every_pull(seed: int, K: int, free: bool) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 4, (3, K)) * rng.choice([1.0, 0.37])
    budget = None if free else float(costs.min() + rng.choice([0.0, 0.1, 1.0]) * rng.random() * 2)
    purse, given_, N = Purse(costs, budget), np.zeros((2, 3, K), dtype=np.int64), 2
    for total in range(1, 40):
        regime, arm = rng.integers(0, 3, (N, 1)), rng.integers(0, K, (N, 1))
        before = given_.copy()
        given_ = purse.buy(given_, regime, arm)
        assert (given_.sum(axis=(1, 2)) == total).all()
        if budget is None:
            assert ((given_ - before)[np.arange(N), regime[:, 0], arm[:, 0]] == 1).all()
        else:
            assert ((given_ * costs).sum(axis=(1, 2)) <= budget * total + 1e-6).all()


def test_batches_are_two_percent_and_end_with_the_pulls() -> None:
    assert [next_batch(made, 10_000) for made in (0, 1, 99, 100, 5_000, 9_990, 10_000)] == [1, 1, 1, 2, 100, 10, 0]


# ---- top-two: the choice ----


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


# ---- top-two: the procedure ----


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
    for gate in (0.0, 1.0):
        procedure = make_procedure("top-two", world.problem, 80, min_fair_probability=gate)
        assert procedure.options() == {"min_fair_probability": gate}
        state, info, _, _ = replicate(procedure, world, 20, np.random.default_rng(0), 0)
        belief = info.standing
        assert belief is not None
        np.testing.assert_allclose(belief.best.sum(axis=1) + belief.none, 1.0)
        votes = np.concatenate([belief.none[:, None], np.where(belief.fair >= gate, belief.best, -1)], axis=1)
        np.testing.assert_array_equal(state.answer, np.argmax(votes, axis=1) - 1)
    with pytest.raises(OptionError, match="min_fair_probability"):
        make_procedure("top-two", world.problem, 80, min_fair_probability=1.5)


# ---- tf-lucb ----


def test_bounds_on_the_coin_by_hand() -> None:
    """Two arms in two groups, δ = 0.1; even: 2 of 4 and 1 of 4 won, tilted: 9 of 16 and no row."""
    problem = load_problem("coin").problem
    rows, sums = np.array([[[4, 4], [16, 0]]]), np.array([[[2.0, 1.0], [9.0, 0.0]]])
    bounds = own_bounds(rows, sums, np.array([problem.shares]))
    U4 = math.sqrt(math.log(math.pi**2 * 4 * 16 / 0.3) / 8)
    assert abs(U4 - 0.9780) < 1e-4  # ln 2 105.5 = 7.6523, an eighth of it 0.95653
    np.testing.assert_allclose(bounds.outcome[0], [0.375, np.nan])
    np.testing.assert_allclose(bounds.gap[0], [0.25, np.nan])
    np.testing.assert_allclose(bounds.outcome_radius[0], [U4, np.inf])
    np.testing.assert_allclose(bounds.gap_radius[0], [2 * U4, np.inf])
    assert bounds.possible(0.1).all()
    np.testing.assert_array_equal(bounds.looks_fair(0.1)[0], [False, False])
    np.testing.assert_array_equal(bounds.looks_fair(0.3)[0], [True, False])


def test_the_radius_covers_every_mean_at_every_size() -> None:
    """Σ_n 2 exp(−2 n U(n)²) over all n and means is δ; and U falls."""
    n = np.arange(1, 200_000)
    U = radius(n, 6, 0.1)
    assert 6 * np.sum(2 * np.exp(-2 * n * U**2)) == pytest.approx(0.1, rel=1e-4)
    assert (np.diff(U) < 0).all()
    assert np.isinf(radius(np.array([0]), 6))


def bounded(*arms: tuple[float, float, float, float]) -> Bounds:
    outcome, outcome_radius, gap, gap_radius = (np.array([column]) for column in zip(*arms, strict=True))
    return Bounds(outcome, outcome_radius, gap, gap_radius)


def pair(bounds: Bounds, rows: list[int], tolerance: float = 0.1) -> tuple[int, int]:
    leader, challenger = leader_and_challenger(bounds, np.array([rows]), tolerance)
    return int(leader[0]), int(challenger[0])


def test_leader_and_challenger_by_hand() -> None:
    nan, inf = float("nan"), float("inf")
    best, wide, unfair = (0.6, 0.1, 0.05, 0.2), (0.4, 0.4, 0.05, 0.8), (0.9, 0.1, 0.5, 0.2)
    doubtful, unseen = (0.9, 0.1, -0.25, 0.2), (nan, inf, nan, inf)
    assert pair(bounded(best, wide, (0.5, 0.1, 0.0, 0.2)), [9, 3, 9]) == (0, 1)  # the most optimistic of the others
    assert pair(bounded(best, wide, unfair), [9, 3, 9]) == (0, 1)  # shown to be unfair: out, however good
    assert pair(bounded(best, wide, (0.9, 0.1, -0.5, 0.2)), [9, 3, 9]) == (0, 1)  # in either direction
    assert pair(bounded(best, wide, doubtful), [9, 3, 9]) == (0, 2)  # looks unfair, may be fair: a challenger
    assert pair(bounded(wide, best, unseen, unseen), [9, 3, 0, 1]) == (1, 3)  # without bounds first, begun ones first
    assert pair(bounded(wide, best, unseen, unseen), [9, 3, 0, 0]) == (1, 2)
    assert pair(bounded(doubtful, (0.1, 0.1, 0.15, 0.2), unseen), [9, 9, 0]) == (1, 2)  # none looks fair: least gap
    assert pair(bounded(unfair, (0.1, 0.1, 0.4, 0.1)), [9, 9]) == (1, 0)  # all shown to be unfair
    assert pair(bounded(best), [9]) == (0, 0)


def test_leader_and_challenger_turn_with_the_arms() -> None:
    rng, order = np.random.default_rng(0), np.array([3, 1, 4, 0, 2])
    rows = rng.integers(1, 40, (200, 5, 2))
    sums, shares = rows * rng.random(rows.shape), np.tile([0.4, 0.6], (200, 1))
    plain = leader_and_challenger(own_bounds(rows, sums, shares), rows.sum(axis=2), 0.2)
    turned = own_bounds(rows[:, order], sums[:, order], shares)
    for a, b in zip(leader_and_challenger(turned, rows[:, order].sum(axis=2), 0.2), plain, strict=True):
        np.testing.assert_array_equal(order[a], b)


@pytest.mark.parametrize("shares", ["declared", None])
def test_tf_lucb_pulls_every_regime_it_needs_equally(shares: str | None) -> None:
    """Declared P(S): forced alone, the groups in turn; else all three regimes in turn. No cost, so nothing is replaced."""
    world = random_world(6, **({} if shares else {"shares": None}))
    procedure = TopFeasible(world.problem, 400)
    state = replicate(procedure, world, 5, np.random.default_rng(0), 0).state
    assert (np.ptp(state.given[:, 0 if shares is None else 1 :], axis=1) <= 1).all()
    assert shares is None or not state.given[:, 0].any()


def test_tf_lucb_estimates_each_arm_from_its_own_rows_alone() -> None:
    world = random_world(7)
    procedure = TopFeasible(world.problem, 60)
    evidence = drawn(world, [[30, 0, 5], [5, 8, 0], [5, 8, 9]])
    _, shown = procedure.step(procedure.start(1), evidence, evidence, 0)
    values = world.problem.compiled.row_outcomes
    for k in range(3):
        means = []
        for t in range(2):
            own = [(values[o], evidence.counts[0, r, k, t, o]) for r in range(3) for o in range(len(values))]
            means.append(sum(y * n for y, n in own) / sum(n for _, n in own))
        share = world.problem.shares or ()
        assert shown.outcomes[0, k] == pytest.approx(share[0] * means[0] + share[1] * means[1], rel=1e-12)
        assert shown.gaps[0, 0, k] == pytest.approx(means[0] - means[1], rel=1e-12)


def test_tf_lucb_finds_the_even_coin() -> None:
    """Truth: 0.5 and fair, against 0.5625 with a gap of 0.125 > 0.1: 3 000 pulls settle the gap to ± 0.02 or so."""
    coin = load_problem("coin")
    state = replicate(TopFeasible(coin.problem, 6_000), coin.world, 30, np.random.default_rng(0), 0).state
    assert np.mean(state.answer == 0) > 0.8


# ---- all three ----


@pytest.mark.parametrize("name", COMPETITORS)
@pytest.mark.parametrize("seed", range(6))
def test_budgets_under_any_costs(name: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 9])
    costs = rng.integers(0, 4, (3, 3)) * rng.choice([1.0, 0.37])
    pulls = int(rng.integers(1, 250))
    budget: Any = rng.choice([None, "1/sqrt(pulls)", 0.0, 1.0]) if seed else None
    if isinstance(budget, str):
        costs[0] = 0
    elif budget is not None:
        budget = float(costs.min() + budget * rng.random())
    world = random_world(seed, costs=costs.tolist(), budget=budget)
    limit = world.problem.average_cost_budget(pulls)
    state, _, spent, made = replicate(make_procedure(name, world.problem, pulls), world, 3, rng, seed)
    assert state.finished and (made == pulls).all()
    assert limit is None or (spent <= limit * pulls + 1e-6).all()


@pytest.mark.parametrize("name", COMPETITORS)
def test_a_budget_below_the_cheapest_pull(name: str) -> None:
    with pytest.raises(BudgetError, match="cheapest"):
        make_procedure(name, random_world(0, costs=[[2, 2, 2]] * 3, budget=1.0).problem, 50)


@pytest.mark.parametrize("name", COMPETITORS)
@pytest.mark.parametrize("pulls", [1, 2, 3, 5])
def test_very_few_pulls(name: str, pulls: int) -> None:
    world = random_world(8)
    state, _, _, made = replicate(make_procedure(name, world.problem, pulls), world, 4, np.random.default_rng(0), 0)
    assert state.finished and (made == pulls).all()


@pytest.mark.parametrize("name", COMPETITORS)
def test_the_same_seed_is_the_same_run(name: str) -> None:
    world = random_world(9, costs=[[0, 0, 0], [1, 1, 1], [1, 1, 1]], budget="1/sqrt(pulls)")
    procedure = make_procedure(name, world.problem, 120)
    runs = [replicate(procedure, world, 6, np.random.default_rng(1), seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0].state.given, runs[1].state.given)
    np.testing.assert_array_equal(runs[0].info.outcomes, runs[1].info.outcomes)
    np.testing.assert_array_equal(runs[0].state.answer, runs[1].state.answer)
    assert np.array_equal(runs[0].state.given, runs[2].state.given) == (name != "top-two")  # the others draw nothing


@pytest.mark.parametrize("name", ["mis", "tf-lucb"])
def test_estimates_turn_with_the_arms_and_the_groups(name: str) -> None:
    """One closed phase on the same rows, arms reordered, or the groups exchanged."""
    order = [2, 0, 1]
    world, turned = random_world(10), random_world(10, order=order)
    evidence = drawn(world, [[20, 9, 6], [5, 8, 7], [6, 5, 9]])
    swapped = random_world(10, groups=("b", "a"), shares=(world.problem.shares or ())[::-1]).problem

    def closed(problem: Problem, counts: Any) -> Any:
        procedure, told = make_procedure(name, problem, 100), CellEvidence(problem, counts)
        return procedure.step(procedure.start(1), told, told, 0)[1]

    plain = closed(world.problem, evidence.counts)
    other = closed(turned.problem, evidence.counts[:, :, order])
    np.testing.assert_allclose(other.outcomes, plain.outcomes[:, order], rtol=1e-12)
    np.testing.assert_allclose(other.gaps, plain.gaps[:, :, order], rtol=1e-10, atol=1e-12)
    exchanged = closed(swapped, evidence.counts[:, [0, 2, 1]][:, :, :, ::-1])
    np.testing.assert_allclose(exchanged.outcomes, plain.outcomes, rtol=1e-12)
    np.testing.assert_allclose(exchanged.gaps, -plain.gaps, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", PULL_BY_PULL)
def test_too_many_pulls_to_decide_one_by_one(name: str) -> None:
    problem = random_world(0).problem
    make_procedure(name, problem, 10_000)
    with pytest.raises(OptionError, match="at most 10000"):
        make_procedure(name, problem, 10_001)


@pytest.mark.parametrize("name", ["mis", "tf-lucb"])
def test_they_have_no_options(name: str) -> None:
    procedure = make_procedure(name, random_world(0).problem, 100)
    assert procedure.options() == {} and procedure.tests_fairness
    assert procedure.guarantee is Guarantee.NONE and procedure.confidence is None
    with pytest.raises(OptionError, match="no option 'phases'"):
        make_procedure(name, random_world(0).problem, 100, phases="log2")


@pytest.mark.parametrize("name", COMPETITORS)
def test_errors_fall_with_the_pulls(name: str) -> None:
    """Three arms without costs, one better by far and fair: the right answer in 2 000 pulls, and more often than in 20."""
    network = Network.of(
        [Variable("S", ("a", "b")), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        [table("S", [], [0.5, 0.5]), table("V", ["S"], [[0.5, 0.5]] * 2), table("Y", ["V"], [[0.7, 0.3], [0.3, 0.7]])],
    )
    rows = {"poor": [[0.8, 0.2], [0.8, 0.2]], "good": [[0.1, 0.9], [0.1, 0.9]], "unfair": [[0.0, 1.0], [0.9, 0.1]]}
    problem = Problem(
        name="plain",
        variables=network.variables,
        graph=network.edges(),
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.15,
        arms=[Arm(name, table("V", ["S"], arm)) for name, arm in rows.items()],
        shares=(0.5, 0.5),
    )
    world = NetworkWorld(problem, network)
    wrong = []
    for pulls in (20, 2_000):
        state, _, _, _ = replicate(make_procedure(name, problem, pulls), world, 40, np.random.default_rng(0), 0)
        wrong.append(np.mean(state.answer != 1))
    assert wrong[1] <= 0.05
    assert wrong[1] < wrong[0]
