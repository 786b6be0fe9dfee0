"""Certified answers and intervals about several rows and groups: programmes and plain loops beside them, and runs at the hardest truths."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import xlogy

from fairarm.core.answer import Code
from fairarm.core.fairness import Rows
from fairarm.core.proof import payoffs
from fairarm.core.proof.accounts import Accounts, log_evidence
from fairarm.core.proof.bets import Brought, Ledger, certificate, open_ledger, settle
from fairarm.core.proof.claims import Claims, Ends, Rule, gap_claims, pair_claims
from fairarm.core.proof.estimate import Seen, estimate
from fairarm.core.proof.payoffs import log_payoffs
from fairarm.core.proof.proving_plan import goals, plan_proof
from fairarm.core.proof.region import intervals
from fairarm.errors import ProblemError

SHARES = np.array([0.5, 0.3, 0.2])
INF = math.inf


def pairs(groups: int, tolerance: float) -> Rows:
    made = []
    for t, u in itertools.combinations(range(groups), 2):
        made.append([float(s == t) - float(s == u) for s in range(groups)])
    ends = np.full(len(made), tolerance)
    return Rows(np.array(made), np.zeros(len(made)), -ends, ends)


def rows_of(*given: tuple[list[float], float, float, float]) -> Rows:
    """(weights of the groups, of everybody, low, high) of each."""
    a, e, low, high = (np.array(part) for part in zip(*given, strict=True))
    return Rows(a, e, low, high)


MIXED = rows_of(
    ([1, -0.8, 0], 0, 0.05, INF), ([0, 0, 1], 0, 0.3, INF), ([1, 0, 0], -1, -0.15, 0.15), ([0.5, 0.5, -0.25], 0, 0.1, 0.6),
    ([0, 1, 0], -1, -INF, 0.1), ([1, 0, -1], 0, -0.25, 0.25),
)  # fmt: skip
"""A ratio, a floor, a group beside everybody on both sides and on one, unequal ends, and a gap."""


# ---- rows, ends and claims ----


def test_the_worked_example_of_three_groups():
    """Arm 1: μ(s) = .45, .5, .6, μ = .495. The pair a − c is −.15, c beside the mean +.105, μ(a) − .8 μ(c) = −.03."""
    law = np.array([[[0.5, 0.5], [0.4, 0.6], [0.2, 0.8]], [[0.6, 0.4], [0.6, 0.4], [0.5, 0.5]]])
    theta = np.array([0.2, 0.7])
    asked = rows_of(([1, 0, -1], 0, -0.2, 0.2), ([0, 0, 1], -1, -0.1, 0.1), ([1, 0, -0.8], 0, 0.0, INF))
    rule = Rule(law, asked, 0.05, SHARES)
    assert rule.row_law[0] @ theta == pytest.approx([-0.15, 0.105, -0.03])
    ends = rule.ends
    assert ends.row.tolist() == [0, 0, 1, 1, 2] and ends.sign.tolist() == [1, -1, 1, -1, -1]
    assert ends.level.tolist() == [0.2, 0.2, 0.1, 0.1, 0.0]
    assert ends.kept(rule.row_law[0] @ theta).tolist() == [True, True, False, True, False]
    assert (rule.met.slope.shape, rule.met.two_sided[0].tolist()) == ((2, 3, 2), [True, True, False])


def test_rows_with_other_ends_are_not_folded():
    rule = Rule(np.full((1, 3, 2), 0.5), MIXED, 0.05, SHARES)
    assert rule.met.two_sided[0].tolist() == [
        True,
        False,
        False,
        True,
        False,
        False,
        False,
    ]  # high ends, then the other low ones
    assert rule.met.level[0].tolist() == [-0.15, -0.6, -0.1, -0.25, 0.05, 0.3, 0.1]
    assert len(rule.ends) == 9


def test_an_end_that_is_just_reached_is_broken_and_the_arm_neither_kept_nor_passed():
    ends = Ends.of(pairs(2, 0.25))
    assert ends.kept(np.array([0.25])).tolist() == [False, True]
    assert not ends.passed(np.array([0.25])).any()


@pytest.mark.parametrize(("groups", "asked"), [(3, pairs(3, 0.1)), (2, rows_of(([1, 0], -1, -0.1, 0.1)))])
def test_what_cannot_do_without_the_shares_is_refused(groups, asked):
    law, n = np.full((2, groups, 3), 1 / 3), np.ones((1, 3))
    with pytest.raises(ProblemError, match="declare the shares, or use bayes-stop"):
        Rule(law, asked, 0.05)
    with pytest.raises(ProblemError, match="declare the shares, or use bayes-stop"):
        intervals(n, n, law, 0.05, None, np.ones((1, groups)), asked)
    Rule(law, asked, 0.05, np.full(groups, 1 / groups))


def test_rows_of_another_number_of_groups_are_refused():
    with pytest.raises(ProblemError, match="about 4 groups, and the law has 3"):
        Rule(np.full((2, 3, 3), 1 / 3), pairs(4, 0.1), 0.05, SHARES).rows  # noqa: B018


def test_evidence_by_a_plain_loop_over_any_number_of_ends():
    rng = np.random.default_rng(0)
    V, X, F = rng.normal(size=(3, 4, 7)), rng.normal(size=(3, 4, 4, 1)), rng.normal(size=(3, 4))
    found = log_evidence(Accounts(V, X, F, np.zeros((3, 5), dtype=bool)))
    for n in range(3):
        assert found[n, 0] == pytest.approx(sum(min(V[n, b]) for b in range(4)))
        for h in range(4):
            expected = F[n, h] + sum(min(*V[n, b], X[n, b, h, 0]) for b in range(4) if b != h)
            assert found[n, 1 + h] == pytest.approx(expected)


# ---- payoffs ----


def random_claims(
    rng: np.random.Generator, case: str
) -> tuple[Rule, Claims, list[list[tuple[np.ndarray, float]]], np.ndarray]:
    """Claims of every kind about six rows, the same as inequalities written out here, and a blend for each."""
    K, G, Z, V = 2, 3, 2, 3
    conditional = rng.dirichlet(np.ones(V) * 0.7, size=(K, G, Z)).reshape(K, G, Z * V)
    h, context = np.repeat(rng.dirichlet(np.ones(Z)), V), np.repeat(np.arange(Z), V)
    law = conditional
    if case == "known":
        law, context = conditional * h, None
    if case == "cells":
        context = np.arange(Z * V)
    rule = Rule(law, MIXED, 0.05, SHARES, context)
    everyone = np.einsum("t,ktc->kc", SHARES, law)
    sets = []
    for k in range(K):
        low, high = [], []
        for a, e, bottom, top in zip(MIXED.by_group, MIXED.everyone, MIXED.low, MIXED.high, strict=True):
            alpha = sum(a[t] * law[k, t] for t in range(G)) + e * everyone[k]
            high += [(alpha, top)] if top < INF else []
            low += [(alpha, bottom)] if bottom > -INF else []
        fair = [(-alpha, -top) for alpha, top in high] + low
        sets.append((fair, [(everyone[k] - everyone[1 - k], 0.0), *fair]))
    made = [gap_claims(rule, np.array([len(rule.ends)] * K), np.arange(K)).padded(8)]
    made.append(pair_claims(rule, np.array([1, 0]), np.arange(K), np.tile(SHARES, (K, 1))).padded(8))
    claims = Claims(*(np.concatenate([getattr(m, name) for m in made]) for name in ("slope", "level", "two_sided")))
    rows = rng.multinomial(30, np.ones(K * G) / (K * G), size=2 * K)
    blend = (rows / 30) @ law.reshape(K * G, Z * V)
    return rule, claims, [s[0] for s in sets] + [s[1] for s in sets], blend


@pytest.mark.parametrize("case", ["known", "context", "cells"])
def test_no_truth_that_meets_all_rows_gains_from_a_bet(case):
    """The expected payoff at its largest over all truths of the claim, by a linear programme in (h, hθ)."""
    rng, worst = np.random.default_rng(len(case)), []
    for _ in range(6):
        rule, claims, sets, blend = random_claims(rng, case)
        C = blend.shape[1]
        theta = np.clip(rng.beta(0.4, 0.4, size=blend.shape), 1e-3, 1 - 1e-3)
        up, down = (np.exp(x) for x in log_payoffs(rule, claims, blend, theta, np.ones_like(blend)))
        member = rule.member
        for i, rows in enumerate(sets):
            if np.ptp([*up[i], *down[i]]) < 1e-6:
                continue
            gain = np.concatenate([(blend[i] * down[i]) @ member, blend[i] * (up[i] - down[i])])
            below = np.vstack([np.hstack([-member, np.eye(C)]), *(np.concatenate([np.zeros(member.shape[1]), -a])[None] for a, _ in rows)])  # fmt: skip
            bound = np.concatenate([np.zeros(C), [-b for _, b in rows]])
            normal = np.hstack([rule.law.reshape(-1, C) @ member, np.zeros((6, C))])
            found = linprog(-gain, below, bound, normal, np.ones(6), bounds=(0, None))
            worst += [-found.fun] if found.status == 0 else []
    assert len(worst) > 6 and max(worst) <= 1 + 1e-8
    assert np.mean(np.array(worst) > 0.999) > 0.5  # and bets do not waste what they may win


def test_growth_against_all_rows_is_the_smallest_divergence(monkeypatch):
    """Six pairs of four groups: min over the truths that meet them of Σ l kl(θ̂, θ), by SLSQP."""
    monkeypatch.setattr(payoffs, "PRECISION", 1e-9)
    rng = np.random.default_rng(8)
    for _ in range(5):
        law, theta = rng.dirichlet(np.ones(7) * 0.7, size=(2, 4)), rng.uniform(0.05, 0.95, 7)
        rule, blend = Rule(law, pairs(4, 0.05), 0.05, np.full(4, 0.25)), law.mean(axis=(0, 1))
        claim = gap_claims(rule, np.array([12]), np.array([0]))
        log_up, log_down = log_payoffs(rule, claim, blend[None], theta[None], np.ones((1, 7)))
        growth = float(blend @ (theta * log_up[0] + (1 - theta) * log_down[0]))
        gaps = np.array([law[0, t] - law[0, u] for t, u in itertools.permutations(range(4), 2)])
        found = minimize(
            lambda x, q=blend, t=theta: float(q @ (xlogy(t, t / x) + xlogy(1 - t, (1 - t) / (1 - x)))), np.full(7, 0.5),
            jac=lambda x, q=blend, t=theta: q * (-t / x + (1 - t) / (1 - x)), bounds=[(1e-9, 1 - 1e-9)] * 7, method="SLSQP",
            constraints={"type": "ineq", "fun": lambda x, A=gaps: 0.05 - A @ x, "jac": lambda x, A=gaps: -A},
            options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        assert found.success and growth == pytest.approx(found.fun, abs=2e-6)


# ---- intervals ----


def test_intervals_of_rows_are_those_of_their_weights():
    """Two groups of three: the gap of these two alone. A row that is all of everybody: the outcome. A floor: a group's mean."""
    rng = np.random.default_rng(2)
    law = rng.dirichlet(np.ones(4), size=(2, 3))
    n = rng.integers(20, 400, size=(2, 4)).astype(float)
    y = n * rng.random(4)
    asked = rows_of(([1, -1, 0], 0, -1, 1), ([0, 0, 0], 1, 0, 1), ([0, 0, 1], 0, 0, 1), ([1, 0, 0], -1, -1, 1))
    found = intervals(n, y, law, 0.05, SHARES, None, asked)
    two = intervals(n, y, law[:, :2], 0.05, np.array([0.5, 0.5]))
    third = intervals(n, y, np.repeat(law[:, 2:], 2, axis=1), 0.05, np.array([0.5, 0.5]))
    assert found.rows.shape == (2, 2, 4, 2)
    assert found.rows[:, :, 0] == pytest.approx(two.gaps, abs=1e-12)
    assert found.rows[:, :, 1] == pytest.approx(found.outcomes, abs=1e-9)
    assert found.rows[:, :, 2] == pytest.approx(third.outcomes, abs=1e-9)
    mean = np.einsum("t,ktc->kc", SHARES, law)
    beside = intervals(n, y, np.stack([law[:, 0], mean], axis=1), 0.05, np.array([0.5, 0.5]))
    assert found.rows[:, :, 3] == pytest.approx(beside.gaps, abs=1e-9)
    with pytest.raises(ProblemError, match="4 rows"):
        found.gaps  # noqa: B018


def test_an_arm_is_fair_where_all_rows_are_inside_and_unfair_where_one_is_outside():
    asked = rows_of(([1, -1], 0, -0.1, 0.1), ([1, 0], 0, 0.4, INF))
    low = np.array([[-0.05, 0.5], [-0.05, 0.3], [0.1, 0.3], [-0.2, 0.2], [-0.1, 0.5], [-0.05, 0.4]])
    high = np.array([[0.05, 0.9], [0.05, 0.9], [0.2, 0.9], [0.2, 0.4], [0.05, 0.9], [0.05, 0.6]])
    fair, unfair = asked.of_intervals(low, high)
    assert fair.tolist() == [True, False, False, False, False, False]
    assert unfair.tolist() == [False, False, True, True, False, False]


# ---- estimates and plans ----


def seen_of(law: np.ndarray, theta: np.ndarray, rows: float) -> Seen:
    K, G, _ = law.shape
    n = rows * law.sum(axis=(0, 1))[None]
    return Seen(n, n * theta, np.full((1, K, G), rows), np.zeros((1, G)))


def test_estimates_of_rows_by_plain_sums():
    rng = np.random.default_rng(1)
    law, theta = rng.dirichlet(np.ones(4), size=(2, 3)), rng.random(4)
    known = estimate(Rule(law, MIXED, 0.05, SHARES), seen_of(law, theta, 1e6))
    for k in range(2):
        means = law[k] @ known.theta[0]
        mean = 0.5 * means[0] + 0.3 * means[1] + 0.2 * means[2]
        assert known.outcome[0, 0, k] == pytest.approx(mean)
        expected = [means[0] - 0.8 * means[1], means[2], means[0] - mean, 0.5 * means[0] + 0.5 * means[1] - 0.25 * means[2], means[1] - mean, means[0] - means[2]]  # fmt: skip
        assert known.rows[0, k] == pytest.approx(expected)


def test_every_end_and_every_rival_is_a_goal_and_claims_of_any_width_are_planned_for():
    """Four groups, leader 0: all 12 ends of it, and both rivals; the shares are over 5 regimes. No rows are missing from a plan."""
    rng = np.random.default_rng(3)
    law = np.repeat(rng.dirichlet(np.ones(5), size=(3, 1)), 4, axis=1)
    theta = np.sort(rng.random(5))
    rule = Rule(law, pairs(4, 0.2), 0.05, np.full(4, 0.25))
    opened = open_ledger(rule)
    ledger = Ledger(seen_of(law, theta, 1e4), opened.accounts, opened.labels, opened.settled)
    best = int(np.argmax(law[:, 0] @ theta))
    found = goals(rule, ledger, estimate(rule, ledger.seen), np.array([best]))
    assert [part.level.shape for part in found.claims] == [(12, 2), (2, 7)]
    assert found.missing == pytest.approx(np.full(14, math.log(20)))
    shares = plan_proof(rule, ledger, np.full((1, 5, 3), 1 / 15), np.ones((5, 3)), np.full(1, INF))
    assert shares.sum() == pytest.approx(1) and shares.min() >= 0 and shares.shape == (1, 5, 3)


# ---- runs ----


def planned_runs(rule: Rule, theta: np.ndarray, runs: int, pulls: int, seed: int) -> np.ndarray:
    """First answers of runs that ask for the pulls of the plan, a look at each 1.3 times what was pulled."""
    rng = np.random.default_rng(seed)
    K, G, _ = rule.law.shape
    shares, ledger = np.full((runs, 1 + G, K), 1 / (K * (1 + G))), open_ledger(rule, runs)
    answers, made = np.full(runs, int(Code.UNDECIDED)), 0
    while made < pulls:
        size = max(30, made * 3 // 10)
        made += size
        units = rng.multinomial(size, shares.reshape(runs, -1)).reshape(runs, 1 + G, K)
        rows = rng.multinomial(units[:, 0], rule.shares) + np.moveaxis(units[:, 1:], 1, 2)
        n = sum(rng.multinomial(rows[:, k, t], rule.law[k, t]) for k in range(K) for t in range(G))
        ledger = settle(
            rule, ledger, Brought(rows.astype(float), n.astype(float), rng.binomial(n, theta).astype(float)), seed
        )
        answers = np.where(answers == Code.UNDECIDED, certificate(rule, ledger).answer, answers)
        shares = plan_proof(rule, ledger, shares, np.ones((1 + G, K)), np.full(runs, INF), seed)
        shares = np.maximum(shares, 0) / shares.sum(axis=(1, 2), keepdims=True)
    return answers


def test_error_rate_with_the_best_arm_on_the_tolerance_of_one_of_three_pairs():
    """Arm 0 is the best, and its gap a − c is exactly E; arm 1 is the right answer. 200 runs at δ = 0.2: 4 standard errors."""
    law = np.array(
        [[[0.5, 0.5, 0.0], [0.375, 0.625, 0.0], [0.25, 0.75, 0.0]], [[0.25, 0.0, 0.75]] * 3, [[0.0, 0.25, 0.75]] * 3]
    )
    theta = np.array([0.875, 0.375, 0.125])
    rule = Rule(law, pairs(3, 0.125), 0.2, SHARES)
    assert (law[0, 0] - law[0, 2]) @ theta == 0.125
    found = planned_runs(rule, theta, 200, 1500, 5)
    wrong = np.mean((found != 1) & (found != Code.UNDECIDED))
    assert (
        0 < wrong <= 0.2 + 4 * math.sqrt(0.2 * 0.8 / 200)
    )  # a rule that never errs here would be one that does nothing


@pytest.mark.parametrize("fair", [True, False])
def test_what_is_clear_is_answered(fair):
    """Best is an arm that breaks the floor of c alone, next one that breaks a ratio alone; then a fair one, or none."""
    law = np.array([[[0.0, 1.0], [0.0, 1.0], [0.1, 0.9]], [[0.4, 0.6], [0.15, 0.85], [0.3, 0.7]], [[0.5, 0.5]] * 3])
    theta = np.array([0.1, 0.9])
    floor = 0.4 if fair else 0.6
    asked = rows_of(([1, -0.85, 0], 0, 0.0, INF), ([-0.85, 1, 0], 0, 0.0, INF), ([0, 0, 1], 0, floor, INF), ([1, 0, 0], 0, floor, 0.85))  # fmt: skip
    means = law @ theta
    broken = [[m[0] <= 0.85 * m[1], m[1] <= 0.85 * m[0], m[2] <= floor, m[0] <= floor or m[0] >= 0.85] for m in means]
    assert [sum(b) for b in broken] == ([1, 1, 0] if fair else [1, 2, 2])
    found = planned_runs(Rule(law, asked, 0.05, SHARES), theta, 40, 2500, 1)
    assert np.mean(found == (2 if fair else Code.NONE)) > 0.9
    assert np.mean((found != (2 if fair else Code.NONE)) & (found != Code.UNDECIDED)) <= 0.05


def test_one_gap_among_three_groups_is_that_of_two():
    """Where the third group is never pulled and nobody asks about it, the wealth of claims about the gap is that of two groups."""
    rng = np.random.default_rng(6)
    law, theta = rng.dirichlet(np.ones(4), size=(2, 3)), rng.random(4)
    law[:, 2] = law[:, :2].mean(axis=1)  # so that the average law is the same
    one = Rows(np.array([[1.0, -1.0, 0.0]]), np.zeros(1), np.array([-0.1]), np.array([0.1]))
    rules = [Rule(law, one, 0.05, SHARES), Rule(law[:, :2], 0.1, 0.05, np.array([0.5, 0.5]))]
    ledgers = [open_ledger(rule) for rule in rules]
    for _ in range(5):
        rows = np.full((1, 2, 3), 20.0) * np.array([1, 1, 0])
        n = sum(rng.multinomial([20], law[k, t]) for k in range(2) for t in range(2)).astype(float)
        y = rng.binomial(n.astype(int), theta).astype(float)
        ledgers = [
            settle(r, x, Brought(rows[:, :, : r.law.shape[1]], n, y)) for r, x in zip(rules, ledgers, strict=True)
        ]
    assert np.abs(ledgers[0].labels).max() > 1
    assert ledgers[0].labels == pytest.approx(ledgers[1].labels, abs=1e-6)


def test_ratios_and_floors_of_two_groups_need_no_shares():
    """P(S) unknown: the order of the arms is decided at both ends of its interval; arm 1 is better but breaks the ratio."""
    law = np.array([[[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0], [0.3, 0.7]]])
    theta, rng, runs = np.array([0.2, 0.8]), np.random.default_rng(0), 30
    rule = Rule(law, rows_of(([1, -0.8], 0, 0.0, INF), ([-0.8, 1], 0, 0.0, INF)), 0.05)
    ledger = open_ledger(rule, runs)
    assert ledger.labels.shape == (runs, 3, 2) and ledger.accounts.beats.shape == (runs, 2, 2, 2)
    for size in (10, 20, 40, 80, 160, 320):
        rows = np.full((runs, 2, 2), float(size))
        natural = rng.multinomial(size, [0.3, 0.7], size=runs).astype(float)
        rows[:, 0] += natural
        n = sum(rng.multinomial(rows[:, k, t].astype(int), law[k, t]) for k in range(2) for t in range(2))
        brought = Brought(rows, n.astype(float), rng.binomial(n, theta).astype(float), natural)
        ledger = settle(rule, ledger, brought)
    found = certificate(rule, ledger)
    assert np.mean(found.answer == 0) > 0.9 and not np.isin(found.answer, [1, Code.NONE]).any()
    assert found.unfair[:, 1].mean() > 0.9 and not (found.high | found.low).any()
