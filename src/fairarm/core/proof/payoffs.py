"""Payoffs that no truth in a claim can be expected to gain from: the bets of docs/certified.md, part 1, step 1.

A bet on one batch is a pair of payoffs S(c, 1), S(c, 0) for every cell. Its price is checked on the numbers that are used,
so the solver that makes it good need not be trusted.

Shapes: C cells, Z context groups, B claims with I rows each, M moments of the context law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.core.proof.claims import Claims, Rule
from fairarm.core.types import BoolArray, FloatArray, IntArray

EXPLORED = 1e-6
"""Weight of the average arm in a batch's law, so that cells which the batch cannot reach have a price too."""

PRECISION = 1e-3
"""Relative precision of a bet's expected growth. It costs pulls, never validity."""

STEPS = 40


def log_payoffs(
    rule: Rule, claims: Claims, blend: FloatArray, theta: FloatArray, h: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """log S(c, 1) and log S(c, 0), (B, C) each, for a batch with law blend · h: valid whatever θ̂ and ĥ are.

        S(c, 1) = r_c / l_c,  S(c, 0) = τ_c / l_c;    for some λ ≥ 0, κ and every context group z
        Σ_{c in z} max(τ_c, r_c + λ·a_c) ≤ l_z + λ·b ω_z + κ·β_z         (the price of the bet)

    This inequality is checked on the numbers that are used, and S divided by what it is exceeded by, so the solver
    need not be trusted. ``blend`` l (B, C), ``theta`` and ``h`` (B, C) the estimates that the bet maximises growth for.
    """
    base = based(rule, blend)
    return priced(rule, best_stake(rule, claims, base, theta, h), base, blend > 0)


def based(rule: Rule, blend: FloatArray) -> FloatArray:
    """l' of (C7): the blend (B, C) with a hair of the average arm."""
    # a cell that no arm reaches is left out of the price, and only must not divide by 0
    return np.where(rule.typical > 0, (blend + EXPLORED * rule.typical) / (1 + EXPLORED), EXPLORED)  # (C7)


@dataclass(eq=False)
class Stake:
    """A bet on each of B claims: r and τ (B, C), λ and κ (B, I+M), and the rows that they price."""

    rise: FloatArray
    stay: FloatArray
    multiplier: FloatArray
    slope: FloatArray
    budget: FloatArray

    def take(self, kept: BoolArray | IntArray) -> Stake:
        """Some of the claims."""
        return Stake(self.rise[kept], self.stay[kept], self.multiplier[kept], self.slope[kept], self.budget[kept])

    def put(self, where: IntArray, other: Stake) -> None:
        """Take over what was found for some of the claims."""
        for name in ("rise", "stay", "multiplier", "slope"):
            getattr(self, name)[where] = getattr(other, name)

    def moved(self, share: float, old: FloatArray, new: FloatArray) -> Stake:
        """``share`` of this bet and the rest not bet, for another blend: a bet too where new ≥ share · old, cell by cell."""
        rest = new - share * old
        return Stake(
            share * self.rise + rest, share * self.stay + rest, share * self.multiplier, self.slope, self.budget
        )


def no_stake(rule: Rule, claims: Claims, base: FloatArray) -> Stake:
    """Nothing bet: r = τ = l."""
    B, own, C = claims.slope.shape
    moments = rule.moments
    # κ is one more kind of multiplier: rows with no slope in the cells, whose budget β may be used with either sign
    slope = np.concatenate([claims.slope, np.zeros((B, len(moments), C))], axis=1)
    level = claims.level[:, :, None] * (rule.typical @ rule.member)
    budget = np.concatenate([level, np.broadcast_to(moments, (B, *moments.shape))], axis=1)
    return Stake(base.copy(), base.copy(), np.zeros((B, own + len(moments))), slope, budget)


def priced(rule: Rule, stake: Stake, base: FloatArray, reached: BoolArray) -> tuple[FloatArray, FloatArray]:
    """log S(c, 1) and log S(c, 0) of a stake, divided by what its price is exceeded by; 0 where a row cannot land."""
    possible = rule.typical > 0
    # the left side of (C5) less the λ and κ terms, over l_z, at its largest z: what S must be divided by to keep its price
    use = np.maximum(stake.stay, stake.rise + np.einsum("bi,bic->bc", stake.multiplier, stake.slope))
    member = rule.member[:, possible @ rule.member > 0] * possible[:, None]
    budget = stake.budget[:, :, possible @ rule.member > 0]
    excess = ((use @ member - np.einsum("bi,biz->bz", stake.multiplier, budget)) / (base @ member)).max(axis=1)
    excess = excess * (1 + EXPLORED)
    own = stake.multiplier.shape[1] - len(rule.moments)
    sound = (excess > 0) & np.isfinite(excess) & (stake.multiplier[:, :own] >= 0).all(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # (C6)
        log_S = np.log(np.stack([stake.rise, stake.stay]) / base) - np.log(excess)[:, None]
    # S = 1 is a bet too: nothing is won or lost where the numbers are not sound, or where the batch cannot land
    log_S = np.where(sound[:, None] & reached, log_S, 0.0)
    return log_S[0], log_S[1]


def best_stake(
    rule: Rule,
    claims: Claims,
    base: FloatArray,
    theta: FloatArray,
    h: FloatArray,
    start: Stake | None = None,
    precision: float | None = None,
    steps: int | None = None,
) -> Stake:
    """Newton's method for the growth Σ_c u_c log r_c + v_c log τ_c over the bets that keep their price.

    r = τ − λ·a and Σ_{c in z} τ_c = l_z + λ·b ω_z + κ·β_z. Starts from no bet (r = τ = l) unless one is given; every iterate
    is a bet.
    """
    up, down = h * base * theta, h * base * (1 - theta)
    all_bets = no_stake(rule, claims, base) if start is None else start
    more = np.zeros((len(base), len(rule.moments)), dtype=bool)
    two_sided = np.concatenate([claims.two_sided, more], axis=1)
    signed = np.arange(all_bets.multiplier.shape[1]) < claims.level.shape[1]
    bets, where = all_bets.take(np.arange(len(base))), np.arange(len(base))
    idle = ((up + down) * np.log(base)).sum(axis=1)  # (C13) without a bet; precision is relative to the gain over it
    for _ in range(STEPS if steps is None else steps):
        gain, growth = _newton(bets, rule.member, up, down, signed, two_sided)
        going = gain > (PRECISION if precision is None else precision) * (growth - idle) + 1e-12
        all_bets.put(where, bets)
        if not going.any():
            break
        # most claims need few steps and some need many: those that are done leave
        bets, where, up, down = bets.take(going), where[going], up[going], down[going]
        two_sided, idle = two_sided[going], idle[going]
    return all_bets


def _newton(
    bets: Stake, member: FloatArray, up: FloatArray, down: FloatArray, signed: BoolArray, two_sided: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """One step, in place: the predicted gain of growth (B,), and the growth reached (B,).

    τ is eliminated first (its Hessian is diagonal), then the multiplier ρ_z of each context group; what is left is a
    system in λ and κ. A row at λ_i = 0 that would go negative is held there; a two-sided row at 0 may turn around.
    """
    # Growth (C13) as a function of τ, λ, κ alone, since r = τ − λ·a: its gradient in τ is u/r + v/τ, its curvature in τ_c
    # is −1/D_c, and cells interact only through λ, κ and the budget of their context group.
    a, beta, lam = bets.slope, bets.budget, bets.multiplier
    g_rise, g_stay = up / bets.rise, down / bets.stay
    curve = g_rise / bets.rise
    D = 1 / (curve + g_stay / bets.stay)
    D_z = D @ member
    # ρ_z prices the budget: with λ and κ still, τ moves by D e, which sums to 0 over each group, so (C5) stays an equality
    rho = (D * (g_rise + g_stay)) @ member / D_z
    e = g_rise + g_stay - rho @ member.T
    # what is left for λ once τ has followed: the slope of growth along each row
    pull = np.einsum("bic,bc->bi", a, curve * D * e - g_rise)
    # |ζ| ≤ E is either of two rows, of which one can bind: at λ = 0 the row that growth asks for is taken
    turn = two_sided & (lam == 0) & (pull < 0)
    if turn.any():
        a[turn] *= -1
        pull = np.where(turn, -pull, pull)
    gradient = pull + np.einsum("biz,bz->bi", beta, rho)
    # the Schur complement: −Hessian of growth in (λ, κ) after τ and ρ have been eliminated, I + M rows instead of C cells
    M = a * curve[:, None, :]
    shift = ((M * D[:, None, :]) @ member - beta) / D_z[:, None, :]
    F = M - shift @ member.T
    H = np.einsum("bic,bjc->bij", M, a - D[:, None, :] * F) - np.einsum("biz,bjz->bij", beta, shift)
    step = _free_step(H, gradient, (lam > 0) | (gradient > 0) | ~signed, signed & (lam == 0))
    d_stay = D * (e + np.einsum("bi,bic->bc", step, F))
    d_rise = d_stay - np.einsum("bi,bic->bc", step, a)
    gain = np.einsum("bc,bc->b", g_rise, d_rise) + np.einsum("bc,bc->b", g_stay, d_stay)
    # log has a wall at 0: at most 0.95 of the way to it; and a multiplier stops at 0 exactly, where its row lets go
    size = np.minimum(1.0, 0.95 * np.minimum(_room(bets.stay, d_stay), _room(bets.rise, d_rise)))
    size = np.minimum(size, _room(np.where(signed & (lam > 0), lam, np.inf), step))
    # halve until growth rises by a part of what the slope promises: Newton's step may overshoot far from the maximum
    before = _growth(bets.rise, bets.stay, up, down)
    for _ in range(STEPS):
        rise, stay = bets.rise + size[:, None] * d_rise, bets.stay + size[:, None] * d_stay
        growth = _growth(rise, stay, up, down)
        short = growth < before + 0.05 * size * gain - 1e-13
        if not short.any():
            break
        size = np.where(short, size / 2, size)
    bets.rise, bets.stay, moved = rise, stay, lam + size[:, None] * step
    # rounding must not leave λ a hair above 0, or below it, where the bet would not be sound
    bets.multiplier = np.where(signed & (moved < 1e-14 * np.abs(lam)), 0.0, moved)
    return gain, growth


def _free_step(H: FloatArray, gradient: FloatArray, free: BoolArray, at_zero: BoolArray) -> FloatArray:
    """H⁻¹ gradient over the free rows, 0 for the others; a row at zero that would go negative is held too."""
    while True:
        A = np.where(free[:, :, None] & free[:, None, :], H, 0.0)
        diagonal = np.einsum("bii->bi", A)  # a view: what is added to it is added to A
        # rows that repeat each other leave H singular; a hair of ridge picks one of the equally good steps
        diagonal += np.where(free, 1e-12 * (1 + diagonal), 1.0)
        step: FloatArray = np.linalg.solve(A, np.where(free, gradient, 0.0)[..., None])[..., 0]
        wrong = at_zero & free & (step < 0)
        if not wrong.any():
            return step
        free = free & ~wrong


def _room(value: FloatArray, change: FloatArray) -> FloatArray:
    """The largest step that keeps value + step · change ≥ 0, (B, X) -> (B,)."""
    return np.asarray(np.min(np.where(change < 0, value / np.where(change < 0, -change, 1.0), np.inf), axis=1))


def _growth(rise: FloatArray, stay: FloatArray, up: FloatArray, down: FloatArray) -> FloatArray:
    return np.asarray((up * np.log(rise) + down * np.log(stay)).sum(axis=1))
