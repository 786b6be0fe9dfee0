"""Certified answers and intervals: closed forms, independent solvers, exact enumeration, then coverage.

The claim under test is a proof, so what matters most is checked without the code's own solvers: the expected payoff
of every bet by a linear programme over all truths, and the expected wealth by enumerating every possible batch.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq, linprog, minimize
from scipy.special import beta as beta_function
from scipy.special import xlogy

from fairarm.core.answer import Code
from fairarm.core.proof import bets as certified
from fairarm.core.proof import region
from fairarm.core.proof.bets import certificate, log_payoffs, open_ledger, settle
from fairarm.core.proof.claims import Claims, Rule
from fairarm.core.proof.region import highest_in_region, intervals, mixture, share_interval, tilted
from fairarm.errors import DataError

HALF = np.array([0.5, 0.5])


def log_likelihood(n, y, theta):
    return (xlogy(y, theta) + xlogy(n - y, 1 - theta)).sum(axis=-1)


# ---- the mixture ----


def half(power: float, other: float, alpha: float, beta: float) -> float:
    """∫_0^½ θ^(power+α−1) (1−θ)^(other+β−1) dθ by Gauss–Legendre in x = log θ; the far tail below e^−60/α in closed form."""
    start = -60 - 1 / alpha
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.linspace(start, math.log(0.5), 400)
    x = (edges[:-1, None] + np.diff(edges)[:, None] * (nodes + 1) / 2).ravel()
    w = np.repeat(np.diff(edges) / 2, 40) * np.tile(weights, 399)
    tail = math.exp((power + alpha) * start) / (power + alpha)
    return float(w @ np.exp((power + alpha) * x + (other + beta - 1) * np.log1p(-np.exp(x)))) + tail


def integrated(n: float, y: float, near: float, strength: float) -> float:
    """∫ θ^y (1−θ)^(n−y) dprior, prior = ½ Beta(εs, (1−ε)s) + ½ its mirror image."""
    total = 0.0
    for alpha, beta in ((near * strength, (1 - near) * strength), ((1 - near) * strength, near * strength)):
        top = half(y, n - y, alpha, beta) + half(n - y, y, beta, alpha)
        total += 0.5 * top / (half(0, 0, alpha, beta) + half(0, 0, beta, alpha))
    return total


@pytest.mark.parametrize("y", [[0, 2, 0], [1.5, 0.25, 0]])
def test_the_mixture_is_the_integral_it_claims_to_be(y):
    n = np.array([3.0, 2.0, 0.0])
    grid = list(itertools.product(region.NEAR, region.STRENGTH))
    expected = np.mean([math.prod(integrated(a, b, *g) for a, b in zip(n, y, strict=True)) for g in grid])
    found = mixture(n[None], np.array([y], dtype=float))
    assert found.log_evidence[0] == pytest.approx(math.log(expected), abs=1e-6)


def test_the_mixtures_mean_is_its_prediction_of_the_next_outcome():
    n, y = np.array([[3.0, 5.0]]), np.array([[0.0, 4.0]])
    before = mixture(n, y)
    for c in (0, 1):
        one = np.eye(2)[c]
        after = mixture(n + one, y + one)
        assert math.exp(after.log_evidence[0] - before.log_evidence[0]) == pytest.approx(before.mean[0, c], rel=1e-10)


def test_no_rows_no_evidence():
    found = mixture(np.zeros((1, 4)), np.zeros((1, 4)))
    assert found.log_evidence[0] == pytest.approx(0, abs=1e-12)
    assert found.mean == pytest.approx(np.full((1, 4), 0.5))


@pytest.mark.parametrize(("values", "exact"), [((0.0, 1.0), True), ((0.0, 0.4, 1.0), False)])
def test_the_ratio_is_a_martingale_under_an_adaptive_choice_of_cells(values, exact):
    """E[N/L(θ)] over every outcome sequence of length 5: 1 for binary outcomes, below 1 for a three-point one."""
    theta = np.array([0.2, 0.7])
    middle = 0.0 if exact else 0.25
    law = [{0.0: 1 - t - 0.6 * middle, 0.4: middle, 1.0: t - 0.4 * middle} for t in theta]
    paths = [(1.0, np.zeros(2), np.zeros(2))]
    for _ in range(5):
        new = []
        for p, n, y in paths:
            c = int(y.sum() * 3 + n[0] > 1.5)  # what is pulled next depends on what was seen
            for value in values:
                step = np.eye(2)[c]
                new.append((p * law[c][value], n + step, y + value * step))
        paths = new
    p = np.array([x[0] for x in paths])
    n, y = np.array([x[1] for x in paths]), np.array([x[2] for x in paths])
    mean = float(p @ np.exp(mixture(n, y).log_evidence - log_likelihood(n, y, theta)))
    assert p.sum() == pytest.approx(1)
    if exact:
        assert mean == pytest.approx(1, abs=1e-10)
    else:
        assert mean < 1 - 1e-3


# ---- the region ----


@pytest.mark.parametrize("up", [0.0, 1e-9, 0.5, 3.0, 1e5])
@pytest.mark.parametrize("down", [0.0, 2e-7, 4.0])
@pytest.mark.parametrize("slope", [-1e6, -4.0, -0.3, 0.0, 1e-12, 2.0, 4.0, 1e6])
def test_the_tilted_maximum_against_a_grid(up, down, slope):
    theta, rest = (float(x) for x in tilted(np.array(up), np.array(down), np.array(slope)))
    assert 0 <= theta <= 1
    assert theta + rest == pytest.approx(1, abs=1e-9) or up + down + abs(slope) == 0
    tiny = np.geomspace(1e-13, 0.5, 4000)
    grid = np.concatenate([[0.0], tiny, 1 - tiny, [1.0]])
    found = float(region.tilted_maximum(np.array([up]), np.array([down]), np.array([slope])))
    others = xlogy(up, grid) + xlogy(down, 1 - grid) + slope * grid
    assert found >= np.max(others) - 1e-8 * max(1, up, abs(slope))


def test_one_cell_interval_in_closed_form():
    """With one cell the ends solve log N − ℓ(θ) = log(1/δ)."""
    n, y, delta = np.array([[40.0]]), np.array([[11.0]]), 0.1
    level = mixture(n, y).log_evidence[0] - math.log(1 / delta)

    def height(theta):
        return log_likelihood(n[0], y[0], np.array([theta])) - level

    low, high = brentq(height, 1e-9, 11 / 40), brentq(height, 11 / 40, 1 - 1e-9)
    found = intervals(n, y, np.ones((1, 2, 1)), delta, HALF)
    assert found.outcomes[0, 0] == pytest.approx([low, high], abs=1e-7)
    assert found.outcomes[0, 0, 0] <= low + 1e-12
    assert found.outcomes[0, 0, 1] >= high - 1e-12


def best_on_the_border(n, y, f, level):
    """sup f·θ over { ℓ(θ) ≥ level } by root finding alone: each cell's stationary point for λ, then λ for the border."""

    def point(log_lam):
        theta = []
        for u, v, s in zip(y, n - y, math.exp(log_lam) * f, strict=True):

            def slope(t, u=u, v=v, s=s):
                return u * (1 - t) - v * t + s * t * (1 - t)

            inner = np.linspace(0, 1, 2001)[1:-1]
            signs = np.sign([slope(t) for t in inner])
            change = np.nonzero((signs[:-1] > 0) & (signs[1:] <= 0))[0]
            if len(change):
                theta.append(brentq(slope, inner[change[0]], inner[change[0] + 1], xtol=1e-15))
            else:
                theta.append(1.0 if signs[0] > 0 else 0.0)
        return np.array(theta)

    log_lam = brentq(lambda x: log_likelihood(n, y, point(x)) - level, math.log(1e-3), math.log(1e4), xtol=1e-12)
    return f @ point(log_lam)


@pytest.mark.parametrize("seed", range(8))
def test_the_regions_ends_against_other_solvers(seed):
    """sup f·θ over the region: never below what a general solver finds, and within 1e-6 of the root finder's."""
    rng = np.random.default_rng(seed)
    C = int(rng.integers(2, 6))
    n = rng.poisson(20 * rng.random(C)).astype(float)
    y = np.round(n * rng.choice([0.0, 0.3, 1.0], size=C), 1)
    f, delta = rng.normal(size=C), 0.05
    level = mixture(n[None], y[None]).log_evidence[0] - math.log(1 / delta)
    found = highest_in_region(n[None], y[None], f[None, None], delta)[0, 0]
    result = minimize(
        lambda t: -f @ t,
        np.clip((y + 0.5) / (n + 1), 0.02, 0.98),
        jac=lambda t: -f,
        bounds=[(1e-12, 1 - 1e-12)] * C,
        constraints={
            "type": "ineq",
            "fun": lambda t: log_likelihood(n, y, t) - level,
            "jac": lambda t: y / t - (n - y) / (1 - t),
        },
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    if log_likelihood(n, y, result.x) >= level - 1e-9:
        assert -result.fun - 1e-9 <= found <= -result.fun + 1e-3
    assert found == pytest.approx(best_on_the_border(n, y, f, level), abs=1e-6)


def test_share_interval_in_closed_form():
    a, b, delta = 30.0, 12.0, 0.05
    level = math.log(beta_function(a + 0.5, b + 0.5) / beta_function(0.5, 0.5)) - math.log(1 / delta)

    def height(p):
        return a * math.log(p) + b * math.log(1 - p) - level

    expected = [brentq(height, 1e-9, a / (a + b)), brentq(height, a / (a + b), 1 - 1e-9)]
    assert share_interval(np.array([a]), np.array([b]), delta)[0] == pytest.approx(expected, abs=1e-9)
    assert share_interval(np.zeros(1), np.zeros(1), delta)[0] == pytest.approx([0, 1])
    assert share_interval(np.zeros(1), np.array([9.0]), delta)[0, 0] == 0


def test_unknown_shares_widen_only_the_outcomes():
    rng = np.random.default_rng(1)
    law = rng.dirichlet(np.ones(3), size=(2, 2))
    n = np.array([[30.0, 40.0, 50.0]])
    y = np.array([[3.0, 30.0, 25.0]])
    natural = np.array([[2000.0, 2000.0]])
    known, unknown = intervals(n, y, law, 0.045, HALF), intervals(n, y, law, 0.05, None, natural)
    assert np.array_equal(unknown.gaps, known.gaps)  # 0.9 of 0.05 is left
    assert np.all(unknown.outcomes[..., 0] < known.outcomes[..., 0])
    assert np.all(unknown.outcomes[..., 1] > known.outcomes[..., 1])
    assert np.abs(unknown.outcomes - known.outcomes).max() < 0.05
    assert np.all(intervals(n, y, law, 0.05).outcomes[..., 1] >= unknown.outcomes[..., 1])


def test_coverage_of_all_intervals_at_all_looks():
    """500 runs, 20 looks, δ = 0.2, pulls that chase the higher cell: fails at most 0.2 of runs (+ 4 standard errors)."""
    rng = np.random.default_rng(5)
    N, delta = 500, 0.2
    theta = np.array([0.05, 0.5, 0.9])
    law = np.array([[[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]], [[0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]])
    mu, zeta = (law @ theta) @ HALF, law[:, 0] @ theta - law[:, 1] @ theta
    n, y = np.zeros((N, 3)), np.zeros((N, 3))
    missed = np.zeros(N, dtype=bool)
    for _ in range(20):
        arm = (y[:, 1] * 2 > n[:, 1]).astype(int)
        cells = rng.multinomial(6, law[arm, 0])
        n, y = n + cells, y + rng.binomial(cells, theta)
        found = intervals(n, y, law, delta, HALF)
        for truth, ends in ((mu, found.outcomes), (zeta, found.gaps)):
            missed |= ((ends[..., 0] > truth) | (ends[..., 1] < truth)).any(axis=1)
    assert missed.mean() <= delta + 4 * math.sqrt(delta * (1 - delta) / N)
    assert (found.gaps[..., 1] - found.gaps[..., 0]).mean() < 0.7


# ---- bets ----


def random_problem(rng, case):
    """A small problem: rule, claims of every kind, blends, and estimates that have nothing to do with the truth."""
    K, Z, V = 3, int(rng.integers(2, 4)), int(rng.integers(2, 4))
    h = rng.dirichlet(np.ones(Z))
    conditional = rng.dirichlet(np.ones(V) * 0.7, size=(K, 2, Z))  # of V given z: case 3, and where z is x: case 2
    law = conditional.reshape(K, 2, Z * V)
    context = np.repeat(np.arange(Z), V)
    if case == "known":
        law, context = law * np.repeat(h, V), None
    if case == "tilted":  # a child of S in the context: normalisations tell something about h
        child = rng.dirichlet(np.ones(Z), size=2) / h
        child /= (child * h).sum(axis=1, keepdims=True)
        law = law * np.repeat(child, V, axis=1)
    if case == "cells":
        child = rng.dirichlet(np.ones(Z), size=2) / h
        law, context = law * np.repeat(child, V, axis=1), np.arange(Z * V)
    rule = Rule(law, 0.1, 0.05, HALF, context)
    B, C = 24, Z * V
    gap, outcome = law[:, 0] - law[:, 1], law.mean(axis=1)
    slope, level, two = np.zeros((B, 2, C)), np.full((B, 2), -1.0), np.zeros((B, 2), dtype=bool)
    for i in range(B):
        k, b = rng.choice(K, 2, replace=False)
        if i % 3 == 0:
            slope[i, 0], level[i, 0] = rng.choice([-1, 1]) * gap[k], 0.1
        elif i % 3 == 1:
            slope[i, 0], level[i, 0], two[i, 0] = gap[k], -0.1, True
        else:
            slope[i], level[i], two[i] = [outcome[k] - outcome[b], gap[k]], [0.0, -0.1], [False, True]
    rows = rng.multinomial(40, np.ones(K * 2) / (K * 2), size=B) * rng.integers(0, 2, size=(B, K * 2))
    rows[:, 0] += 1
    blend = (rows / rows.sum(axis=1, keepdims=True)) @ law.reshape(K * 2, C)
    shares = np.ones(C) if context is None else rng.dirichlet(np.ones(context.max() + 1))[context]
    theta = np.clip(rng.beta(0.4, 0.4, size=(B, C)), 1e-3, 1 - 1e-3)
    return rule, Claims(slope, level, two), blend, theta, np.broadcast_to(shares, (B, C))


def largest_expected_payoff(rule, claims, i, blend, up, down):
    """max over all truths (h, ψ = hθ) in the claim of Σ_c l_c [ψ_c S(c,1) + (h_c − ψ_c) S(c,0)]: a linear programme."""
    C = blend.size
    group = np.zeros(C, dtype=int) if rule.context is None else rule.context
    Z = group.max() + 1
    G = np.eye(Z)[group]
    objective = np.concatenate([(blend * down) @ G, blend * (up - down)])
    upper, bound = [np.hstack([-G, np.eye(C)])], [np.zeros(C)]
    for a, b, both in zip(claims.slope[i], claims.level[i], claims.two_sided[i], strict=True):
        for sign in (1, -1) if both else (1,):
            upper.append(np.concatenate([np.zeros(Z), -sign * a])[None])
            bound.append([-b])
    normal = np.hstack([rule.law.reshape(-1, C) @ G, np.zeros((rule.law[..., 0].size, C))])
    result = linprog(
        -objective, np.vstack(upper), np.concatenate(bound), normal, np.ones(len(normal)), bounds=(0, None)
    )
    return -result.fun if result.status == 0 else -np.inf  # infeasible: an empty claim


@pytest.mark.parametrize("case", ["known", "context", "tilted", "cells"])
@pytest.mark.parametrize("steps", [40, 2])
def test_no_truth_in_the_claim_gains_from_a_bet(case, steps, monkeypatch):
    """The proof's one inequality, by linear programming, whether or not the solver had time to converge."""
    monkeypatch.setattr(certified, "STEPS", steps)
    rng = np.random.default_rng(["known", "context", "tilted", "cells"].index(case))
    made, worst = 0, []
    for _ in range(3):
        rule, claims, blend, theta, h = random_problem(rng, case)
        up, down = (np.exp(x) for x in log_payoffs(rule, claims, blend, theta, h))
        for i in range(len(blend)):
            if np.ptp(np.concatenate([up[i], down[i]])) < 1e-6:
                continue
            made += 1
            worst.append(largest_expected_payoff(rule, claims, i, blend[i], up[i], down[i]))
    assert made > 30
    assert max(worst) <= 1 + 1e-8
    assert np.mean(np.array(worst) > 0.999) > 0.5  # and bets do not waste what they may win


def test_a_solver_gone_wrong_cannot_make_a_bet_invalid(monkeypatch):
    """Payoffs and multipliers at random: what comes out is still priced."""
    rng = np.random.default_rng(3)
    rule, claims, blend, theta, h = random_problem(rng, "context")
    honest = certified._best_bets

    def wild(*args):
        bets = honest(*args)
        bets.rise *= rng.lognormal(size=bets.rise.shape)
        bets.stay *= rng.lognormal(size=bets.stay.shape)
        bets.multiplier += rng.normal(size=bets.multiplier.shape) * 0.1
        return bets

    monkeypatch.setattr(certified, "_best_bets", wild)
    up, down = (np.exp(x) for x in log_payoffs(rule, claims, blend, theta, h))
    worst = [largest_expected_payoff(rule, claims, i, blend[i], up[i], down[i]) for i in range(len(blend))]
    assert max(worst) <= 1 + 1e-8


def test_one_cell_bet_in_closed_form():
    """Claim θ_0 ≥ b with every row in cell 0: the payoffs are the likelihood ratio of θ̂ against b."""
    rule = Rule(np.array([[[1.0, 0.0], [0.0, 1.0]]]), 0.1, 0.05, HALF)
    claim = Claims(np.array([[[1.0, 0.0]]]), np.array([[0.4]]), np.zeros((1, 1), dtype=bool))
    up, down = log_payoffs(rule, claim, np.array([[1.0, 0.0]]), np.array([[0.15, 0.5]]), np.ones((1, 2)))
    assert math.exp(up[0, 0]) == pytest.approx(0.15 / 0.4, rel=2e-2)
    assert math.exp(down[0, 0]) == pytest.approx(0.85 / 0.6, rel=2e-2)
    assert up[0, 1] == down[0, 1] == 0  # a cell the batch cannot reach


def test_growth_is_the_smallest_divergence_from_the_claim(monkeypatch):
    """With a known law the best bet's growth is min over the claim of Σ_c l_c kl(θ̂_c, θ_c): SLSQP on the other side."""
    monkeypatch.setattr(certified, "PRECISION", 1e-9)
    rng = np.random.default_rng(8)
    compared = 0
    for _ in range(2):
        rule, claims, blend, theta, h = random_problem(rng, "known")
        theta = np.clip(theta, 0.05, 0.95)
        log_up, log_down = log_payoffs(rule, claims, blend, theta, h)
        growth = (blend * (theta * log_up + (1 - theta) * log_down)).sum(axis=1)
        for i in range(len(blend)):
            t, q = theta[i], blend[i]
            rows = [
                (s * a, b)
                for a, b, both in zip(claims.slope[i], claims.level[i], claims.two_sided[i], strict=True)
                for s in ((1, -1) if both else (1,))
            ]
            A, b = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
            inside = linprog(-np.mean(A, axis=0), -A, -b, bounds=(0, 1))
            if inside.status != 0:
                continue
            result = minimize(
                lambda x, t=t, q=q: float(q @ (xlogy(t, t / x) + xlogy(1 - t, (1 - t) / (1 - x)))),
                np.clip(0.9 * inside.x + 0.1 * t, 0.01, 0.99),
                jac=lambda x, t=t, q=q: q * (-t / x + (1 - t) / (1 - x)),
                bounds=[(1e-9, 1 - 1e-9)] * len(t),
                constraints={"type": "ineq", "fun": lambda x, A=A, b=b: A @ x - b, "jac": lambda x, A=A: A},
                method="SLSQP",
                options={"ftol": 1e-14, "maxiter": 500},
            )
            if result.success and np.all(A @ result.x >= b - 1e-9):
                compared += 1
                assert growth[i] == pytest.approx(result.fun, abs=2e-5)
    assert compared > 30


# ---- wealth, by enumerating every batch ----

LAW = np.array([[[0.7, 0.3], [0.25, 0.75]], [[0.4, 0.6], [0.6, 0.4]]])


def expected_wealth(rule, law, theta, values, plans):
    """E[wealth] of every claim after two batches of two rows, all outcomes enumerated: (gap (3, K), pair (P, K, K)).

    ``plans`` maps the first batch's outcome sum to the second batch's two (arm, group) rows.
    """
    C = law.shape[-1]
    spread = [dict(zip(values, weights(t, values), strict=True)) for t in theta]

    def batches(units):
        cells = [[(c, v, law[k, t, c] * spread[c][v]) for c in range(C) for v in values] for k, t in units]
        for pair in itertools.product(*cells):
            n, y = np.zeros(C), np.zeros(C)
            for c, v, _ in pair:
                n[c] += 1
                y[c] += v
            yield math.prod(p for *_, p in pair), n, y

    def rows(units):
        out = np.zeros(rule.law.shape[:2])
        for unit in units:
            out[unit] += 1
        return out

    first = list(batches(plans(None)))
    p1 = np.array([x[0] for x in first])
    start = open_ledger(rule, len(first))
    n, y = np.array([x[1] for x in first]), np.array([x[2] for x in first])
    ledger = settle(rule, start, np.repeat(rows(plans(None))[None], len(first), axis=0), n, y)
    gap, pair, mass = 0.0, 0.0, 0.0
    for i, p in enumerate(p1):
        units = plans(y[i].sum())
        second = list(batches(units))
        p2 = p * np.array([x[0] for x in second])
        one = ledger.take(np.full(len(second), i))
        n2, y2 = np.array([x[1] for x in second]), np.array([x[2] for x in second])
        done = settle(rule, one, np.repeat(rows(units)[None], len(second), axis=0), n2, y2)
        gap, pair = (
            gap + np.einsum("r,rjk->jk", p2, np.exp(done.log_gap)),
            pair + np.einsum("r,rpbk->pbk", p2, np.exp(done.log_pair)),
        )
        mass += p2.sum()
    assert mass == pytest.approx(1)
    return gap, pair


def weights(mean, values):
    """Probabilities on {0, 1} or {0, ½, 1} with this mean."""
    if len(values) == 2:
        return [1 - mean, mean]
    middle = min(mean, 1 - mean)
    return [1 - middle / 2 - mean, middle, mean - middle / 2]


def adaptive(total):
    return [(0, 0), (1, 1)] if total is None else [(0, 1), (0, 1)] if total > 0.9 else [(1, 0), (0, 0)]


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.5, 1.0)])
@pytest.mark.parametrize("context", [None, "cells"])
def test_true_claims_do_not_grow_rich(values, context):
    """Over every sequence of outcomes under an adaptive plan, at a truth that lies on several claims' borders."""
    theta = np.array([0.8, 0.3])  # ζ = 0.225, −0.1; μ = 0.5375, 0.55
    rule = Rule(LAW, 0.1, 0.05, HALF, None if context is None else np.arange(2))
    gap, pair = expected_wealth(rule, LAW, theta, values, adaptive)
    true_gap = np.array([[True, False], [False, True], [False, True]])  # ζ_0 ≥ E; ζ_1 ≤ −E and |ζ_1| ≤ E
    assert gap[true_gap].max() <= 1 + 1e-9
    assert pair[0, 0, 1] <= 1 + 1e-9  # arm 1 is fair and at least as good as arm 0
    if context is None:
        assert gap[1, 0] > 1.01  # a false claim pays


def test_contexts_of_unknown_law_do_not_grow_rich_either():
    """Two contexts of unknown probability, two decisions: four cells; the rule knows only P_k(v | z, t)."""
    conditional = np.array([[[0.8, 0.2, 0.5, 0.5], [0.3, 0.7, 0.5, 0.5]], [[0.5, 0.5, 0.1, 0.9], [0.5, 0.5, 0.3, 0.7]]])
    h = np.array([0.75, 0.75, 0.25, 0.25])
    law = conditional * h
    theta = np.array([0.9, 0.2, 0.6, 0.3])
    zeta = (law[:, 0] - law[:, 1]) @ theta
    rule = Rule(conditional, abs(zeta[0]), 0.05, HALF, np.array([0, 0, 1, 1]))
    gap, _ = expected_wealth(rule, law, theta, (0.0, 1.0), adaptive)
    assert zeta[0] > 0
    assert gap[0, 0] <= 1 + 1e-9
    assert gap[2, 1] <= 1 + 1e-9
    assert gap[1, 0] > 1.001


# ---- runs ----


def run(rule, law, theta, looks, size, rng, replicates, natural=0):
    """Looks of ``size`` forced rows for each (arm, group), and ``natural`` natural rows of arm 0 with P(S) = (0.3, 0.7)."""
    K, G, _ = law.shape
    ledger = open_ledger(rule, replicates)
    for _ in range(looks):
        rows = np.full((replicates, K, G), float(size))
        seen = np.zeros((replicates, G))
        if natural:
            first = rng.binomial(natural, 0.3, size=replicates)
            seen = np.stack([first, natural - first], axis=1).astype(float)
            rows[:, 0] += seen
        n = sum(rng.multinomial(rows[:, k, t].astype(int), law[k, t]) for k in range(K) for t in range(G))
        y = rng.binomial(n, theta)
        ledger = settle(rule, ledger, rows, n.astype(float), y.astype(float), seen)
    return certificate(rule, ledger)


CLEAR = np.array(
    [[[0.5, 0.3, 0.2], [0.45, 0.3, 0.25]], [[0.1, 0.3, 0.6], [0.1, 0.2, 0.7]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]]
)
THETA = np.array([0.1, 0.5, 0.95])  # μ = .41, .75, .54 and ζ = −.04, −.05, −.60


def test_a_clear_problem_is_answered():
    rng = np.random.default_rng(0)
    found = run(Rule(CLEAR, 0.2, 0.05, HALF), CLEAR, THETA, 30, 4, rng, 200)
    assert np.mean(found.answer == 1) > 0.95
    assert not np.isin(found.answer, [0, 2, Code.NONE]).any()
    assert found.unfair[:, 2].mean() > 0.95 and found.fair[:, 1].mean() > 0.95
    assert not found.unfair[:, :2].any() and not found.fair[:, 2].any()
    assert np.array_equal(found.beaten, (found.answer == 1)[:, None] & np.array([True, False, True]))


def test_no_fair_arm_is_an_answer():
    rng = np.random.default_rng(0)
    law = np.stack([CLEAR[2], CLEAR[2][::-1]])
    found = run(Rule(law, 0.2, 0.05, HALF), law, THETA, 30, 4, rng, 200)
    assert np.mean(found.answer == Code.NONE) > 0.95
    assert np.isin(found.answer, [Code.NONE, Code.UNDECIDED]).all()


def test_unknown_shares_decide_the_order_of_the_arms():
    """μ_0 > μ_1 for P(S) = (0.3, 0.7), the reverse for (0.5, 0.5): natural rows must decide it."""
    law = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.8, 0.2]]])
    theta = np.array([0.05, 0.95])
    mu = law @ theta
    assert (mu @ [0.3, 0.7]).argmax() == 0 and (mu @ [0.55, 0.45]).argmax() == 1
    rng = np.random.default_rng(0)
    rule = Rule(law, 2.0, 0.05)
    found = run(rule, law, theta, 40, 2, rng, 100, natural=60)
    assert np.mean(found.answer == 0) > 0.9 and not (found.answer == 1).any()
    blind = run(rule, law, theta, 40, 20, rng, 20)
    assert (blind.answer == Code.UNDECIDED).all()


def test_error_rate_at_the_hardest_truths():
    """On the border every answer but one is wrong. 4000 runs, δ = 0.2: errors ≤ 0.2 (+ 4 standard errors).

    Arm 0 has ζ exactly E, so it is unfair, and the best outcome; arm 1 is fair. A false "0 is fair" makes an error.
    """
    law = np.array([[[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]], [[0.2, 0.1, 0.7], [0.2, 0.1, 0.7]]])
    theta = np.array([0.9, 0.5, 0.1])  # ζ = 0.1, 0
    rng = np.random.default_rng(2)
    delta = 0.2
    found = run(Rule(law, 0.1, delta, HALF), law, theta, 25, 3, rng, 4000)
    wrong = np.mean((found.answer == 0) | (found.answer == Code.NONE) | found.fair[:, 0])
    assert wrong <= delta / 2 + 4 * math.sqrt(delta / 4000)  # one claim of the K = 2 is at stake
    assert wrong > 0  # a rule that never errs here would be a rule that does nothing


def test_arms_and_groups_have_no_order():
    rng = np.random.default_rng(4)
    order = np.array([2, 0, 1])
    shares = np.array([0.3, 0.7])
    ledgers = [open_ledger(Rule(CLEAR, 0.2, 0.05, shares), 5) for _ in range(3)]
    rules = [
        Rule(CLEAR, 0.2, 0.05, shares),
        Rule(CLEAR[order], 0.2, 0.05, shares),
        Rule(CLEAR[:, ::-1], 0.2, 0.05, shares[::-1]),
    ]
    for _ in range(6):
        rows = rng.integers(0, 4, size=(5, 3, 2)).astype(float)
        n = sum(rng.multinomial(rows[:, k, t].astype(int), CLEAR[k, t]) for k in range(3) for t in range(2))
        y = rng.binomial(n, THETA)
        forms = (rows, rows[:, order], rows[:, :, ::-1])
        ledgers = [settle(r, x, f, n, y) for r, x, f in zip(rules, ledgers, forms, strict=True)]
    plain, arms, groups = ledgers
    assert np.abs(plain.log_pair).max() > 1
    assert arms.log_gap == pytest.approx(plain.log_gap[:, :, order], abs=1e-6)
    assert arms.log_pair == pytest.approx(plain.log_pair[:, :, order][:, :, :, order], abs=1e-6)
    assert groups.log_gap == pytest.approx(plain.log_gap[:, [1, 0, 2]], abs=1e-6)
    assert groups.log_pair == pytest.approx(plain.log_pair, abs=1e-6)


def test_replicates_do_not_see_each_other():
    rng = np.random.default_rng(6)
    rule = Rule(CLEAR, 0.2, 0.05)
    together, alone = open_ledger(rule, 3), open_ledger(rule, 1)
    for _ in range(4):
        rows = np.full((3, 3, 2), 3.0)
        n = sum(rng.multinomial(np.full(3, 3), CLEAR[k, t]) for k in range(3) for t in range(2))
        y, natural = rng.binomial(n, THETA), rng.integers(0, 5, size=(3, 2)).astype(float)
        together = settle(rule, together, rows, n, y, natural)
        alone = settle(rule, alone, rows[:1], n[:1], y[:1], natural[:1])
    assert alone.log_gap == pytest.approx(together.take(np.array([0])).log_gap, abs=1e-9)
    assert alone.log_pair == pytest.approx(together.take(np.array([0])).log_pair, abs=1e-9)
    assert together.n.sum() == 3 * 4 * 18


def test_one_context_of_unknown_law_is_a_known_law():
    rng = np.random.default_rng(7)
    rules = [Rule(CLEAR, 0.2, 0.05, HALF), Rule(CLEAR, 0.2, 0.05, HALF, np.zeros(3, dtype=np.int64))]
    n = rng.multinomial(60, CLEAR.mean(axis=(0, 1)), size=2)
    y, rows = rng.binomial(n, THETA), np.full((2, 3, 2), 10.0)
    out = [settle(r, settle(r, open_ledger(r, 2), rows, n, y), rows, n, y) for r in rules]
    assert np.array_equal(out[0].log_gap, out[1].log_gap) and np.array_equal(out[0].log_pair, out[1].log_pair)


def test_where_the_outcome_depends_on_the_group():
    """Cells (v, s): each group reaches its own half, and one cell is reached by nobody."""
    base = np.array([[[0.5, 0.5], [0.5, 0.5]], [[0.1, 0.9], [0.1, 0.9]]])
    law = np.zeros((2, 2, 5))
    law[:, 0, :2], law[:, 1, 2:4] = base[:, 0], base[:, 1]
    theta = np.array([0.2, 0.8, 0.2, 0.8, 0.5])
    rng = np.random.default_rng(0)
    found = run(Rule(law, 0.3, 0.05, HALF), law, theta, 40, 6, rng, 50)
    assert np.mean(found.answer == 1) > 0.9 and not np.isin(found.answer, [0, Code.NONE]).any()


def test_a_tolerance_beyond_the_range_makes_every_arm_fair():
    found = run(Rule(CLEAR, 2.0, 0.05, HALF), CLEAR, THETA, 2, 3, np.random.default_rng(0), 3)
    assert found.fair.all() and not found.unfair.any()


# ---- what is certified from which claims ----


def ledger_with(refuted_gap=(), refuted_pair=(), arms=3):
    rule = Rule(np.full((arms, 2, 2), 0.5), 0.1, 0.05, HALF)
    ledger = open_ledger(rule)
    for kind, k in refuted_gap:
        ledger.log_gap[0, kind, k] = rule.log_threshold
    for b, k in refuted_pair:
        ledger.log_pair[0, 0, b, k] = rule.log_threshold
    return certificate(rule, ledger)


def test_the_answer_needs_every_claim_against_it_refuted():
    both = [(0, 1), (1, 1)]
    assert ledger_with(both, [(1, 0), (1, 2)]).answer[0] == 1
    assert ledger_with(both, [(1, 0)]).answer[0] == Code.UNDECIDED
    assert ledger_with(both[:1], [(1, 0), (1, 2)]).answer[0] == Code.UNDECIDED
    assert ledger_with(both[1:], [(1, 0), (1, 2)]).answer[0] == Code.UNDECIDED
    assert ledger_with(both, [(0, 1), (2, 1)]).answer[0] == Code.UNDECIDED
    assert ledger_with([*both, (2, 2)], [(1, 0)]).answer[0] == 1  # an unfair arm need not be beaten
    assert ledger_with([(2, 0), (2, 1), (2, 2)]).answer[0] == Code.NONE
    assert ledger_with([(2, 0), (2, 1)]).answer[0] == Code.UNDECIDED


def test_one_arm_is_answered_by_its_fairness():
    assert ledger_with([(0, 0), (1, 0)], arms=1).answer[0] == 0
    assert ledger_with([(2, 0)], arms=1).answer[0] == Code.NONE
    assert ledger_with([(0, 0)], arms=1).answer[0] == Code.UNDECIDED


def test_both_ends_of_the_shares_count():
    rule = Rule(np.full((2, 2, 2), 0.5), 0.1, 0.05)
    ledger = open_ledger(rule)
    ledger.log_gap[0, :2, 0] = ledger.log_pair[0, 0, 0, 1] = rule.log_threshold
    assert certificate(rule, ledger).answer[0] == Code.UNDECIDED
    ledger.log_pair[0, 1, 0, 1] = rule.log_threshold
    assert certificate(rule, ledger).answer[0] == 0
    assert rule.log_threshold == pytest.approx(math.log(2 / 0.045))


def test_rows_that_do_not_fit():
    rule = Rule(np.array([[[1.0, 0.0], [0.5, 0.5]]]), 0.1, 0.05, HALF)
    rows = np.array([[[2.0, 0.0]]])
    with pytest.raises(DataError, match="totals differ"):
        settle(rule, open_ledger(rule), rows, np.array([[1.0, 0.0]]), np.zeros((1, 2)))
    with pytest.raises(DataError, match="none of these arms"):
        settle(rule, open_ledger(rule), rows, np.array([[1.0, 1.0]]), np.zeros((1, 2)))


def test_the_side_of_an_unfair_arm_is_said_only_where_it_is_proved():
    """Refuted of three arms: |ζ| ≤ E alone; with it ζ ≥ E; with it ζ ≤ −E; of the last all three, which contradict."""
    rule = Rule(np.full((4, 2, 3), 1 / 3), tolerance=0.1, delta=0.05, shares=HALF)
    won, open_ = rule.log_threshold + 1, 0.0
    ledger = replace(
        open_ledger(rule),
        log_gap=np.array([[[open_, won, open_, won], [open_, open_, won, won], [won, won, won, won]]]),
    )
    found = certificate(rule, ledger)
    assert found.unfair.all()
    assert found.high.tolist() == [[False, False, True, False]]
    assert found.low.tolist() == [[False, True, False, False]]


def test_a_proved_side_is_the_true_one():
    """Arm 0 favours the first group by 0.36, arm 1 the second, arm 2 none; 60 runs at δ = 0.1, wrong in at most 12."""
    law = np.array([[[0.2, 0.8], [0.8, 0.2]], [[0.8, 0.2], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]])
    theta = np.array([0.2, 0.8])
    rule = Rule(law, tolerance=0.1, delta=0.1, shares=HALF)
    rng, runs = np.random.default_rng(3), 60
    ledger = open_ledger(rule, runs)
    for _ in range(12):
        rows = np.full((runs, 3, 2), 5.0)
        n = sum(rng.multinomial(5, law[k, t], runs) for k in range(3) for t in range(2))
        ledger = settle(rule, ledger, rows, n.astype(float), rng.binomial(n, theta).astype(float))
    found = certificate(rule, ledger)
    assert found.high[:, 0].mean() > 0.9 and found.low[:, 1].mean() > 0.9
    wrong = found.low[:, 0] | found.high[:, 1] | found.high[:, 2] | found.low[:, 2]
    assert wrong.sum() <= 12
