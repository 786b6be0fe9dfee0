"""Which pulls prove the leading answer soonest: a design by Frank–Wolfe on the growth of the accounts (docs/certified.md).

Nothing here is part of the proof. A batch with shares ν of the units lets the account of claim e grow by about
rate_e(ν) per pull, the divergence of the estimate from the claim under ν, whose gradient in ν is known from the bet itself.
Each account lacks some wealth D_e; the shares are moved to where rate_e/D_e is least.

Shapes: N replicates, R regimes (natural, then each group), K arms, C cells, B claims over all replicates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.affordable import affordable_mix
from fairarm.core.answer import Code
from fairarm.core.fairness import is_fair
from fairarm.core.proof.accounts import BROKEN_ENDS, least, log_evidence
from fairarm.core.proof.bets import Ledger, contradicted_pairs
from fairarm.core.proof.claims import FAIR, Claims, Rule, gap_claims, pair_claims
from fairarm.core.proof.estimate import Estimate, estimate, leader
from fairarm.core.proof.payoffs import based, best_stake, priced
from fairarm.core.types import BoolArray, FloatArray, IntArray

STEPS, FIRST_STEP = 6, 0.4
"""Of Frank–Wolfe, from the shares of the last batch; the later ones are 1/(i + 2.5)."""

FIRST_NEWTON, NEWTON_STEPS, PRECISION = 4, 2, 0.02
"""For a bet that only the plan looks at: steps from no bet, and from that of the step before."""

SOFT, LEAST_MISSING = 6.0, 0.3
"""How sharply the slowest accounts are looked after, and the least wealth that counts as missing, in nats."""

EXPLORED = 0.02
"""Of the average arm in the blend that rates are computed for."""

NATURAL, NATURAL_IN_A_TIE = 0.05, 0.9
"""The part of every plan that is natural pulls, and that part while the interval for P(S) decides who is better."""


@dataclass(frozen=True, eq=False)
class Goals:
    """The accounts of the leaders that lack wealth: claims against them, each one's replicate (B,) and missing wealth (B,)."""

    claims: Claims
    replicate: IntArray
    missing: FloatArray


def plan_proof(
    rule: Rule,
    ledger: Ledger,
    before: FloatArray,
    costs: FloatArray,
    average: FloatArray,
    seed: int = 0,
    replicate: IntArray | None = None,
) -> FloatArray:
    """Shares of the units in the next batch, (N, R, K), at an average cost of at most ``average`` (N,).

    ``before`` (N, R, K) are the shares that the search starts from, those of the last batch; ``costs`` (R, K).
    """
    known = estimate(rule, ledger.seen)
    who = np.arange(len(ledger.settled)) if replicate is None else replicate
    ahead = leader(rule, ledger.seen, known, ledger.accounts.refuted, seed, ledger.settled + 1, who).code
    shares = _soonest(rule, known, goals(rule, ledger, known, ahead), before, costs, average)
    cheap = (
        np.where(costs[0] == costs[0].min(), 1.0, 0.0) if np.isfinite(average).any() else np.isfinite(costs[0]) * 1.0
    )
    part = np.where(_tied(rule, ledger, known, ahead), NATURAL_IN_A_TIE, NATURAL)[:, None]
    shares = (1 - part)[:, :, None] * shares
    shares[:, 0] += part * cheap / cheap.sum()
    return shares


def goals(rule: Rule, ledger: Ledger, known: Estimate, ahead: IntArray) -> Goals:
    """What the leaders' accounts lack, of claims that the estimate contradicts."""
    accounts, refuted = ledger.accounts, ledger.accounts.refuted
    lacking = rule.answer_threshold - log_evidence(accounts)  # (N, 1 + K)
    some, b = ahead >= 0, np.maximum(ahead, 0)
    rows = np.arange(len(b))
    # the missing wealth of an account is that of the hypothesis without what the leader's accounts give it
    short = np.where(refuted, -np.inf, lacking + least(accounts)[rows, b])
    short[rows, 1 + b] = -np.inf
    E, gap = rule.tolerance, known.gap[rows, b]
    broken = short.max(axis=1)[:, None] - accounts.broken[rows, b]
    broken = np.where(some[:, None] & np.stack([gap < E, gap > -E], axis=1), broken, 0.0)
    beats = short[:, 1:, None] - accounts.beats[rows, b]
    beats = np.where(some[:, None, None] & contradicted_pairs(rule, known, ahead), beats, 0.0)
    fair = np.where(~some[:, None] & ~refuted[:, 1:] & (np.abs(known.gap) > E), lacking[:, 1:], 0.0)
    return _joined(rule, known, ahead, broken, beats, fair)


def _joined(
    rule: Rule, known: Estimate, ahead: IntArray, broken: FloatArray, beats: FloatArray, fair: FloatArray
) -> Goals:
    """Claims with wealth missing, of all kinds, as two-row claims."""
    r1, end = np.nonzero(broken > 0)
    r2, arm = np.nonzero(fair > 0)
    r3, h, at = np.nonzero(beats > 0)
    kind = np.concatenate([end, np.full(len(r2), FAIR)])
    one = gap_claims(rule, kind, np.concatenate([ahead[r1], arm]))
    two = pair_claims(rule, ahead[r3], h, known.share[r3, at])
    # a claim of one row is one of two rows of which the other says nothing: 0 ≥ −1
    more = np.zeros_like(one.slope)
    claims = Claims(
        np.concatenate([np.concatenate([one.slope, more], axis=1), two.slope]),
        np.concatenate([np.concatenate([one.level, -np.ones_like(one.level)], axis=1), two.level]),
        np.concatenate([np.concatenate([one.two_sided, np.zeros_like(one.two_sided)], axis=1), two.two_sided]),
    )
    missing = np.concatenate([broken[r1, end], fair[r2, arm], beats[r3, h, at]])
    return Goals(claims, np.concatenate([r1, r2, r3]), np.maximum(missing, LEAST_MISSING))


def _soonest(
    rule: Rule, known: Estimate, goals: Goals, before: FloatArray, costs: FloatArray, average: FloatArray
) -> FloatArray:
    """Frank–Wolfe: the shares move toward the mix of units that gains most for the accounts that are furthest back."""
    shares, r = before, goals.replicate
    if not len(r):
        return shares
    flat = costs.ravel()
    stake, old = None, np.zeros(0)
    theta, h = known.theta[r], known.h[r]
    for step in range(STEPS):
        law = _law(rule, known, shares)
        base = based(rule, (1 - EXPLORED) * law + EXPLORED * rule.typical)[r]
        if stake is not None:
            stake = stake.moved(1 - _size(step - 1), old, base)
        newton = NEWTON_STEPS if stake else FIRST_NEWTON
        stake = best_stake(rule, goals.claims, base, theta, h, stake, PRECISION, newton)
        log_up, log_down = priced(rule, stake, base, base > 0)
        growth = h * (theta * log_up + (1 - theta) * log_down)
        direction = _direction(goals, growth, np.einsum("bc,bc->b", law[r], growth), len(shares))
        vertex = affordable_mix(_of_units(rule, known, direction).reshape(len(shares), -1), flat, average)
        size, old = _size(step), base
        shares = (1 - size) * shares + size * vertex.reshape(shares.shape)
    return shares


def _size(step: int) -> float:
    return FIRST_STEP if step == 0 else 1.0 / (step + 2.5)


def _direction(goals: Goals, growth: FloatArray, rate: FloatArray, replicates: int) -> FloatArray:
    """Σ_e w_e kl_e/D_e by replicate, (N, C): the slowest accounts weigh most."""
    r, ratio = goals.replicate, np.maximum(rate / goals.missing, 1e-300)
    slowest = np.full(replicates, np.inf)
    np.minimum.at(slowest, r, ratio)
    weight = np.exp(-SOFT * (ratio / slowest[r] - 1)) / goals.missing
    found = np.zeros((replicates, growth.shape[1]))
    np.add.at(found, r, weight[:, None] * growth)
    return found


def _law(rule: Rule, known: Estimate, shares: FloatArray) -> FloatArray:
    """q_ν (N, C): the law of a cell under shares of units (N, R, K), P̂(S) for natural pulls."""
    rows = np.moveaxis(shares[:, 1:], 1, 2) + shares[:, 0, :, None] * known.expected[:, None]
    return np.asarray(np.einsum("nkt,ktc->nc", rows, rule.law))


def _of_units(rule: Rule, known: Estimate, values: FloatArray) -> FloatArray:
    """Σ_c values(c) · law of the cell under each unit, (N, R, K)."""
    forced = np.einsum("nc,ktc->ntk", values, rule.law)
    natural = np.einsum("ntk,nt->nk", forced, known.expected)
    return np.concatenate([natural[:, None], forced], axis=1)


def _tied(rule: Rule, ledger: Ledger, known: Estimate, ahead: IntArray) -> BoolArray:
    """Whether the interval for P(S) decides if an open, seemingly fair arm is better than the leader, (N,)."""
    if rule.ends < BROKEN_ENDS:
        return np.zeros(len(ahead), dtype=np.bool_)
    worse = contradicted_pairs(rule, known, ahead)
    undecided = worse.any(axis=2) & ~worse.all(axis=2) & ~ledger.accounts.refuted[:, 1:]
    return np.asarray((undecided & is_fair(known.gap, rule.tolerance)).any(axis=1) & (ahead != Code.NONE))
