"""The certified design: wealth that accounts lack by hand, the rate against the programme it stands for, and what is asked for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.special import xlogy

from fairarm.core.answer import Code
from fairarm.core.proof import proving_plan as plan
from fairarm.core.proof.accounts import Accounts
from fairarm.core.proof.bets import Ledger, open_ledger
from fairarm.core.proof.claims import Rule
from fairarm.core.proof.estimate import Seen, estimate
from fairarm.core.proof.proving_plan import goals, plan_proof

HALF = np.array([0.5, 0.5])
LAW = np.array(
    [[[0.5, 0.3, 0.2], [0.45, 0.3, 0.25]], [[0.1, 0.3, 0.6], [0.1, 0.2, 0.7]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]]
)
THETA = np.array([0.1, 0.5, 0.95])  # μ = .41, .75, .54 and ζ = −.04, −.05, −.60
EVEN = np.full((1, 3, 3), 1 / 9)
FREE = np.ones((3, 3))


def ledger_of(rule: Rule, n: float = 1e4, theta: np.ndarray = THETA, natural=(50.0, 50.0), **accounts) -> Ledger:
    counts = np.full((1, 3), n)
    seen = Seen(counts, counts * theta, np.full((1, 3, 2), n / 2), np.array([natural]))
    opened = open_ledger(rule)
    made = Accounts(**{**vars(opened.accounts), **accounts})
    return Ledger(seen, made, opened.labels, opened.settled)


def missing_of(rule: Rule, ledger: Ledger, ahead: int) -> np.ndarray:
    found = goals(rule, ledger, estimate(rule, ledger.seen), np.array([ahead]))
    return np.sort(found.missing)


def test_what_accounts_lack_by_hand():
    """Leader 1, nothing won: both ends of V and both rivals lack log 20; then with some won, and with H_0 of the arms refuted."""
    rule, full = Rule(LAW, 0.2, 0.05, HALF), np.log(20)
    assert missing_of(rule, ledger_of(rule), 1) == pytest.approx([full] * 4)
    broken, beats = np.zeros((1, 3, 2)), np.zeros((1, 3, 3, 1))
    broken[0, 1], beats[0, 1, 0], beats[0, 1, 2] = [1.0, 2.0], 1.5, -0.5
    won = ledger_of(rule, broken=broken, beats=beats)
    assert missing_of(rule, won, 1) == pytest.approx([full - 2, full - 1.5, full - 1, full + 0.5])
    fair = np.array([[1.0, 0.0, 0.0]])  # H of arm 0 has 1 from "none": its W lacks less, V still serves the others
    helped = ledger_of(rule, broken=broken, beats=beats, fair=fair)
    assert missing_of(rule, helped, 1) == pytest.approx(np.sort([full - 2, full - 1.5 - 1, full - 1, full + 0.5]))
    enough = ledger_of(rule, broken=broken, beats=beats, fair=2.5 * fair)
    assert missing_of(rule, enough, 1) == pytest.approx([full - 2, full - 1, full + 0.5])
    refuted = np.array([[True, True, False, False]])
    assert len(missing_of(rule, ledger_of(rule, refuted=refuted), 1)) == 3  # arm 0 needs no more
    assert len(missing_of(rule, ledger_of(rule, refuted=np.array([[True, True, False, True]])), 1)) == 0


def test_under_none_each_arm_lacks_its_own():
    rule = Rule(LAW, 0.02, 0.05, HALF)  # every gap is larger
    assert missing_of(rule, ledger_of(rule), int(Code.NONE)) == pytest.approx([np.log(20)] * 3)
    fair = np.array([[1.0, 5.0, 0.0]])  # the second has enough
    assert missing_of(rule, ledger_of(rule, fair=fair), int(Code.NONE)) == pytest.approx([np.log(20) - 1, np.log(20)])


def test_what_the_estimate_does_not_contradict_is_left_out():
    """θ says that arm 1 is fair and best: under leader 0 nothing speaks against "1 is fair and beats 0"."""
    rule = Rule(LAW, 0.2, 0.05, HALF)
    assert len(missing_of(rule, ledger_of(rule), 0)) == 3  # its own two ends, and arm 2, which is unfair


UNITS = np.concatenate([np.einsum("t,ktc->kc", HALF, LAW)[None], np.moveaxis(LAW, 1, 0)])
"""Rows by cell that one pull brings, (R, K, C)."""


def divergence(x: np.ndarray) -> np.ndarray:
    """kl(θ, x) of each cell."""
    return np.asarray(xlogy(THETA, THETA / x) + xlogy(1 - THETA, (1 - THETA) / (1 - x)))


def nearest_alternatives(rule: Rule, q: np.ndarray, best: int) -> list[np.ndarray]:
    """kl(θ, θ') by cell of the θ' with the least Σ q kl, by SLSQP: b unfair at either end, or another arm fair and at least as good."""
    gap, mean = rule.law[:, 0] - rule.law[:, 1], rule.law.mean(axis=1)
    sets = [[(sign * gap[best], rule.tolerance)] for sign in (1, -1)]
    for k in range(len(mean)):
        if k != best:
            sets.append([(mean[k] - mean[best], 0.0), (gap[k], -rule.tolerance), (-gap[k], -rule.tolerance)])
    found = []
    for rows_of in sets:
        A, b = np.array([r[0] for r in rows_of]), np.array([r[1] for r in rows_of])
        tries = []
        for start in (THETA, np.full(3, 0.5), 1 - THETA):
            made = minimize(
                lambda x: float(q @ divergence(x)), np.clip(start, 0.02, 0.98), bounds=[(1e-6, 1 - 1e-6)] * 3, method="SLSQP",
                constraints={"type": "ineq", "fun": lambda x, A=A, b=b: A @ x - b}, options={"maxiter": 300},
            )  # fmt: skip
            if np.all(A @ made.x >= b - 1e-6):
                tries.append((made.fun, divergence(made.x)))
        if tries:
            found.append(min(tries, key=lambda one: one[0])[1])
    return found


def slowest_rate(rule: Rule, shares: np.ndarray, best: int) -> float:
    """min over alternatives of Σ q kl(θ, θ')."""
    q = np.einsum("rk,rkc->c", shares, UNITS)
    return float(min(q @ kl for kl in nearest_alternatives(rule, q, best)))


def best_rate(rule: Rule, best: int) -> float:
    """An upper bound of the slowest rate of any mix, within 1 %: the rate is the least of functions that are linear in the mix, so
    a few alternatives and a linear programme bound it, and its solution tells which alternative to add."""
    shares, known = EVEN[0], []
    while True:
        known += nearest_alternatives(rule, np.einsum("rk,rkc->c", shares, UNITS), best)
        rates = np.array(known) @ UNITS.reshape(9, 3).T
        made = linprog(
            [0] * 9 + [-1], A_ub=np.column_stack([-rates, np.ones(len(rates))]), b_ub=np.zeros(len(rates)),
            A_eq=[[1] * 9 + [0]], b_eq=[1], bounds=[(0, None)] * 9 + [(None, None)],
        )  # fmt: skip
        shares, bound = made.x[:9].reshape(3, 3), -made.fun
        if slowest_rate(rule, shares, best) > 0.99 * bound:
            return float(bound)


def test_the_plan_is_nearly_as_quick_as_any_mix(monkeypatch):
    """From even shares, with 30 steps: the slowest account's rate is within a twentieth of the best mix's and above that of the
    even one."""
    monkeypatch.setattr(plan, "STEPS", 30)
    monkeypatch.setattr(plan, "NATURAL", 0.0)
    rule = Rule(LAW, 0.2, 0.05, HALF)
    shares = plan_proof(rule, ledger_of(rule), EVEN, FREE, np.full(1, np.inf))[0]
    assert shares.sum() == pytest.approx(1) and shares.min() >= 0
    assert slowest_rate(rule, shares, 1) >= 0.95 * best_rate(rule, 1)
    assert slowest_rate(rule, shares, 1) > slowest_rate(rule, EVEN[0], 1)


def test_plans_keep_to_the_average_cost():
    rule = Rule(LAW, 0.2, 0.05, HALF)
    costs = np.array([[0.0, 1.0, 1.0], [1.0, 2.0, 2.0], [1.0, 2.0, 2.0]])
    start = np.zeros((1, 3, 3))
    start[0, 0, 0] = 1.0
    for average in (0.05, 0.5, 1.0):
        shares = plan_proof(rule, ledger_of(rule), start, costs, np.array([average]))[0]
        assert shares.sum() == pytest.approx(1)
        assert np.sum(shares * costs) <= average + 1e-9
        assert shares[0].sum() >= 0.05 - 1e-9


def test_natural_pulls_while_the_interval_of_the_shares_holds_a_tie():
    """μ_0 − μ_1 changes its sign at P(S) = ½: with 100 natural rows the interval holds it, with 10^5 it does not."""
    law = np.array([[[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]], [[0.3, 0.7, 0.0], [0.8, 0.2, 0.0]]])
    rule, theta = Rule(law, 2.0, 0.05), np.array([0.05, 0.95, 0.5])
    start = np.full((1, 3, 2), 1 / 6)
    for natural, natural_share in (((48.0, 52.0), 0.9), ((45_000.0, 55_000.0), 0.05)):
        opened = open_ledger(rule)
        counts = np.full((1, 3), 1e4)
        seen = Seen(counts, counts * theta, np.full((1, 2, 2), 5e3), np.array([natural]))
        shares = plan_proof(
            rule,
            Ledger(seen, opened.accounts, opened.labels, opened.settled),
            start,
            np.ones((3, 2)),
            np.full(1, np.inf),
        )
        assert shares[0, 0].sum() >= natural_share - 1e-9
        assert (shares[0, 0].sum() < 0.9) == (natural_share == 0.05)
