"""Which pulls prove the leading answer soonest: a design by Frank–Wolfe on the growth of the accounts (docs/certified.md).

Nothing here is part of the proof. A batch with shares ν of the units lets the account of claim e grow by about
rate_e(ν) per pull, the divergence of the estimate from the claim under ν, whose gradient in ν is known from the bet itself.
Each account lacks some wealth D_e; the shares are moved to where rate_e/D_e is least.

Shapes: N replicates, R regimes (natural, then each group), K arms, C cells, J₁ ends of the rows of fairness, B claims over all
replicates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fairarm.core.affordable import affordable_mix
from fairarm.core.answer import Code
from fairarm.core.proof.accounts import least, log_evidence
from fairarm.core.proof.bets import Ledger, contradicted_pairs
from fairarm.core.proof.claims import Claims, Rule, gap_claims, joined, pair_claims
from fairarm.core.proof.estimate import Estimate, estimate, leader
from fairarm.core.proof.payoffs import Stake, based, best_stake, priced
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


LEAST_ROWS = 2
"""To which claims are padded: those with fewer rows are bet on together."""


@dataclass(frozen=True, eq=False)
class Goals:
    """The accounts of the leaders that lack wealth: claims against them, those with as many rows together; of all of these, in
    order, each one's replicate (B,) and missing wealth (B,)."""

    claims: tuple[Claims, ...]
    replicate: IntArray
    missing: FloatArray

    @property
    def parts(self) -> list[slice]:
        """Where the claims of each are among all."""
        ends = np.cumsum([len(part.level) for part in self.claims])
        return [slice(int(end) - len(part.level), int(end)) for part, end in zip(self.claims, ends, strict=True)]


def plan_proof(
    rule: Rule,
    ledger: Ledger,
    before: FloatArray,
    costs: FloatArray,
    average: FloatArray,
    seed: int = 0,
    replicate: IntArray | None = None,
    under_way: FloatArray | None = None,
) -> FloatArray:
    """Shares of the units in the next batch, (N, R, K), at an average cost of at most ``average`` (N,).

    ``before`` (N, R, K) are the shares that the search starts from, those of the last batch; ``costs`` (R, K). ``under_way``
    (N, R, K): pulls of which nothing is known yet, in multiples of the next batch: it is planned together with them.
    """
    known = estimate(rule, ledger.seen)
    who = np.arange(len(ledger.settled)) if replicate is None else replicate
    ahead = leader(rule, ledger.seen, known, ledger.accounts.refuted, seed, ledger.settled + 1, who).code
    shares = _soonest(rule, known, goals(rule, ledger, known, ahead), before, costs, average, under_way)
    cheap = (
        np.where(costs[0] == costs[0].min(), 1.0, 0.0) if np.isfinite(average).any() else np.isfinite(costs[0]) * 1.0
    )
    if not np.isfinite(costs[0]).any():  # no natural pull may be made
        return shares
    part = np.where(_tied(rule, ledger, known, ahead), NATURAL_IN_A_TIE, NATURAL)[:, None]
    shares = (1 - part)[:, :, None] * shares
    shares[:, 0] += part * cheap / cheap.sum()
    return shares


def goals(rule: Rule, ledger: Ledger, known: Estimate, ahead: IntArray) -> Goals:
    """What the leaders' accounts lack, of claims that the estimate contradicts."""
    accounts, refuted = ledger.accounts, ledger.accounts.refuted
    lacking = rule.answer_threshold - math.log1p(-rule.label_weight) - log_evidence(accounts)  # (N, 1 + K)
    some, b = ahead >= 0, np.maximum(ahead, 0)
    rows = np.arange(len(b))
    # the missing wealth of an account is that of the hypothesis without what the leader's accounts give it
    short = np.where(refuted, -np.inf, lacking + least(accounts)[rows, b])
    short[rows, 1 + b] = -np.inf
    broken = short.max(axis=1)[:, None] - accounts.broken[rows, b]
    broken = np.where(some[:, None] & rule.ends.kept(known.rows[rows, b]), broken, 0.0)
    beats = short[:, 1:, None] - accounts.beats[rows, b]
    beats = np.where(some[:, None, None] & contradicted_pairs(rule, known, ahead), beats, 0.0)
    unfair = rule.ends.passed(known.rows).any(axis=-1)
    fair = np.where(~some[:, None] & ~refuted[:, 1:] & unfair, lacking[:, 1:], 0.0)
    return _goals(rule, known, ahead, broken, beats, fair)


def _goals(
    rule: Rule, known: Estimate, ahead: IntArray, broken: FloatArray, beats: FloatArray, fair: FloatArray
) -> Goals:
    """Claims with wealth missing, of all kinds."""
    r1, end = np.nonzero(broken > 0)
    r2, arm = np.nonzero(fair > 0)
    r3, h, at = np.nonzero(beats > 0)
    parts = [
        (r1, gap_claims(rule, end, ahead[r1]), broken[r1, end]),
        (r2, gap_claims(rule, np.full(len(r2), len(rule.ends)), arm), fair[r2, arm]),
        (r3, pair_claims(rule, ahead[r3], h, known.mix[r3, at]), beats[r3, h, at]),
    ]
    by_rows: dict[int, list[tuple[IntArray, Claims, FloatArray]]] = {}
    for part in parts:
        by_rows.setdefault(max(part[1].level.shape[1], LEAST_ROWS), []).append(part)
    every = [part for alike in by_rows.values() for part in alike]
    return Goals(
        claims=tuple(joined([claims for _, claims, _ in alike], rows) for rows, alike in by_rows.items()),
        replicate=np.concatenate([r for r, _, _ in every]),
        missing=np.maximum(np.concatenate([missing for _, _, missing in every]), LEAST_MISSING),
    )


def _soonest(
    rule: Rule,
    known: Estimate,
    goals: Goals,
    before: FloatArray,
    costs: FloatArray,
    average: FloatArray,
    under_way: FloatArray | None,
) -> FloatArray:
    """Frank–Wolfe: the shares move toward the mix of units that gains most for the accounts that are furthest back."""
    shares, r = before, goals.replicate
    if not len(r):
        return shares
    flat = costs.ravel()
    bets = [_Bet(claims, r[part]) for claims, part in zip(goals.claims, goals.parts, strict=True)]
    for step in range(STEPS):
        law = _law(rule, known, shares if under_way is None else _together(shares, under_way))
        base = based(rule, (1 - EXPLORED) * law + EXPLORED * rule.typical)
        growth = np.concatenate([bet.growth(rule, known, base, step) for bet in bets])
        direction = _direction(goals, growth, np.einsum("bc,bc->b", law[r], growth), len(shares))
        vertex = affordable_mix(_of_units(rule, known, direction).reshape(len(shares), -1), flat, average)
        size = _size(step)
        shares = (1 - size) * shares + size * vertex.reshape(shares.shape)
    return shares


def _together(shares: FloatArray, under_way: FloatArray) -> FloatArray:
    """The shares of a batch and of what is under way, in multiples of it, as one."""
    both = shares + under_way
    return np.asarray(both / both.sum(axis=(1, 2), keepdims=True))


@dataclass(eq=False)
class _Bet:
    """Bets against claims of one replicate each, (B,), improved from step to step."""

    claims: Claims
    replicate: IntArray
    stake: Stake | None = None
    base: FloatArray | None = None

    def growth(self, rule: Rule, known: Estimate, base: FloatArray, step: int) -> FloatArray:
        """kl_e(c), (B, C), under laws l' (N, C)."""
        r = self.replicate
        theta, h, base = known.theta[r], known.h[r], base[r]
        start = (
            None if self.stake is None or self.base is None else self.stake.moved(1 - _size(step - 1), self.base, base)
        )
        newton = FIRST_NEWTON if start is None else NEWTON_STEPS
        self.stake, self.base = best_stake(rule, self.claims, base, theta, h, start, PRECISION, newton), base
        log_up, log_down = priced(rule, self.stake, base, base > 0)
        return np.asarray(h * (theta * log_up + (1 - theta) * log_down))


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
    forced = np.moveaxis(shares[:, 1:], 1, 2)
    if rule.regimes is not None:
        forced = forced @ rule.regimes
    rows = forced + shares[:, 0, :, None] * known.expected[:, None]
    return np.asarray(np.einsum("nkt,ktc->nc", rows, rule.law))


def _of_units(rule: Rule, known: Estimate, values: FloatArray) -> FloatArray:
    """Σ_c values(c) · law of the cell under each unit, (N, R, K)."""
    forced = np.einsum("nc,ktc->ntk", values, rule.law)
    natural = np.einsum("ntk,nt->nk", forced, known.expected)
    if rule.regimes is not None:
        forced = np.einsum("rt,ntk->nrk", rule.regimes, forced)
    return np.concatenate([natural[:, None], forced], axis=1)


def _tied(rule: Rule, ledger: Ledger, known: Estimate, ahead: IntArray) -> BoolArray:
    """Whether the interval for P(S) decides if an open, seemingly fair arm is better than the leader, (N,)."""
    if rule.shares is not None:
        return np.zeros(len(ahead), dtype=np.bool_)
    worse = contradicted_pairs(rule, known, ahead)
    undecided = worse.any(axis=2) & ~worse.all(axis=2) & ~ledger.accounts.refuted[:, 1:]
    return np.asarray((undecided & rule.rows.fair(known.rows)).any(axis=1) & (ahead != Code.NONE))
