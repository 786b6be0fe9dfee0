"""The bets' one inequality, checked without the code's own solver: the expected payoff by a linear programme over all truths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import xlogy

from fairarm.core.proof import payoffs
from fairarm.core.proof.claims import Claims, Rule
from fairarm.core.proof.payoffs import log_payoffs

HALF = np.array([0.5, 0.5])


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
    monkeypatch.setattr(payoffs, "STEPS", steps)
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
    honest = payoffs.best_stake

    def wild(*args):
        bets = honest(*args)
        bets.rise *= rng.lognormal(size=bets.rise.shape)
        bets.stay *= rng.lognormal(size=bets.stay.shape)
        bets.multiplier += rng.normal(size=bets.multiplier.shape) * 0.1
        return bets

    monkeypatch.setattr(payoffs, "best_stake", wild)
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
    monkeypatch.setattr(payoffs, "PRECISION", 1e-9)
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
