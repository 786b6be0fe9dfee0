"""Certified answers: bets against claims about the truth, with a proof for any truth (docs/certified.md, part 1).

A *claim* is a convex set of truths given by linear rows, Σ_c a_c h_c θ_c ≥ b: "arm k is unfair toward s'", "arm k is
fair", "arm k is fair and at least as good as arm b". Against each claim a wealth of 1 is bet, before each batch of
pulls, on what the batch will show. If the claim is true the wealth cannot be expected to grow, so it reaches K/δ with
probability at most δ/K: then the claim is *refuted*. An answer is certified once every claim against it is refuted.

Shapes: N replicates, K arms, 2 groups, C cells, Z context groups, B claims with I rows each.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from fairarm.core.answer import Code
from fairarm.core.fairness import gap_of, is_fair, two_groups
from fairarm.core.proof.claims import Claims, Rule
from fairarm.core.proof.region import SHARE_OF_DELTA, mixture, share_interval
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import DataError

CONTENDERS = 3
"""Bets that an arm is beaten are made against this many arms: those that look best among the seemingly fair."""

EXPLORED = 1e-6
"""Weight of the average arm in a batch's law, so that cells which the batch cannot reach have a price too."""

PRECISION = 1e-3
"""Relative precision of a bet's expected growth. It costs pulls, never validity."""

STEPS = 40

AT_ONCE = 4096
"""Claims whose bets are computed together."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """What the next batch needs: counts so far, and the log wealth of the bets against every claim.

    ``n``, ``y`` (N, C); ``rows`` (N, K, 2) by arm and group; ``natural`` (N, 2) group counts of natural rows;
    ``log_gap`` (N, 3, K): ζ_k ≥ E, ζ_k ≤ −E, |ζ_k| ≤ E; ``log_pair`` (N, P, K, K) [b, k]: k is fair and μ_k ≥ μ_b, for each
    of the P ends of the interval for P(S) (one where P(S) is known).
    """

    n: FloatArray
    y: FloatArray
    rows: FloatArray
    natural: FloatArray
    log_gap: FloatArray
    log_pair: FloatArray

    def take(self, kept: IntArray | BoolArray) -> Ledger:
        """Some of the replicates, for instance those that are undecided."""
        return Ledger(*(getattr(self, field.name)[kept] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class Certificate:
    """``answer`` (N,): an arm, Code.NONE or Code.UNDECIDED. ``fair``, ``unfair`` (N, K).

    ``high``, ``low`` (N, K): unfair on a proved side, ζ_k > E or ζ_k < −E. An unfair arm may be neither.
    ``beaten`` (N, K): compared with the answer, the arm is unfair or worse. A fair arm that is beaten is worse.
    """

    answer: IntArray
    fair: BoolArray
    unfair: BoolArray
    high: BoolArray
    low: BoolArray
    beaten: BoolArray


def open_ledger(rule: Rule, replicates: int = 1) -> Ledger:
    """No pulls yet: a wealth of 1 on every claim."""
    K, G, C = rule.law.shape
    ends = 2 if rule.shares is None else 1
    counts = np.zeros((replicates, C))
    return Ledger(
        n=counts,
        y=counts,
        rows=np.zeros((replicates, K, G)),
        natural=np.zeros((replicates, G)),
        log_gap=np.zeros((replicates, 3, K)),
        log_pair=np.zeros((replicates, ends, K, K)),
    )


def settle(
    rule: Rule, ledger: Ledger, rows: FloatArray, n: FloatArray, y: FloatArray, natural: FloatArray | None = None
) -> Ledger:
    """Make the bets for one batch from what was known before it, and settle them with what it showed.

    ``rows`` (N, K, 2): rows of the batch by arm and group, any regime; ``n``, ``y`` (N, C): rows and outcome sums by cell;
    ``natural`` (N, 2): group counts of its natural rows, needed where P(S) is unknown. The batch's plan may depend on
    all earlier batches, not on this one's outcomes.
    """
    # l of the lemma; by (C7) payoffs that are fair under the blend are fair for the batch's rows, whatever unit made each
    total = rows.sum(axis=(1, 2))
    blend = np.einsum("nkt,ktc->nc", rows, rule.law) / np.maximum(total, 1)[:, None]
    if np.any(total != n.sum(axis=-1)) or np.any((n > 0) & (blend <= 0)):
        raise DataError(
            "A batch's rows by cell do not fit its rows by arm and group: the totals differ, or a cell was seen that "
            "none of these arms can produce. Check the arms' mechanisms against the rows."
        )
    seen = _estimate(rule, ledger)
    log_gap, log_pair = ledger.log_gap.copy(), ledger.log_pair.copy()
    for log_wealth, find, make in ((log_gap, _gap_bets, _gap_claims), (log_pair, _pair_bets, _pair_claims)):
        bets = find(rule, ledger, seen)
        for first in range(0, len(bets[0]), AT_ONCE):
            index = tuple(part[first : first + AT_ONCE] for part in bets)
            r = index[0]
            log_up, log_down = log_payoffs(rule, make(rule, seen, index), blend[r], seen.theta[r], seen.h[r])
            # (C3), summed over the rows of each cell
            log_wealth[index] += np.einsum("bc,bc->b", y[r], log_up) + np.einsum("bc,bc->b", n[r] - y[r], log_down)
    return replace(
        ledger,
        n=ledger.n + n,
        y=ledger.y + y,
        rows=ledger.rows + rows,
        natural=ledger.natural + (0.0 if natural is None else natural),
        log_gap=log_gap,
        log_pair=log_pair,
    )


def certificate(rule: Rule, ledger: Ledger) -> Certificate:
    """What is certified by now. "k is fair and beats b" is refuted too where "k is fair" is."""
    above, below, fair = np.moveaxis(ledger.log_gap >= rule.log_threshold, 1, 0)
    # (C9); at both ends of the interval for P(S), of which one at least is a valid bet
    beaten = (ledger.log_pair >= rule.log_threshold).all(axis=1) | fair[:, None, :]
    K = beaten.shape[-1]
    beaten[:, np.arange(K), np.arange(K)] = False
    best = above & below & (beaten.sum(axis=-1) == K - 1)
    answer = np.where(best.any(axis=-1), best.argmax(axis=-1), np.where(fair.all(axis=-1), Code.NONE, Code.UNDECIDED))
    chosen = beaten[np.arange(len(answer)), np.maximum(answer, 0)] & (answer >= 0)[:, None]
    high, low = fair & below & ~above, fair & above & ~below
    return Certificate(answer.astype(np.int64), above & below, fair, high, low, chosen)


# ---- which bets to make: any choice is valid, a good one is quick ----


@dataclass(frozen=True, eq=False)
class _Estimate:
    """From earlier batches: θ̂ and ĥ (N, C); μ̂_k at the P ends of the shares (N, P, K); ζ̂_k (N, K); ends (N, P)."""

    theta: FloatArray
    h: FloatArray
    outcome: FloatArray
    gap: FloatArray
    share: FloatArray


def _estimate(rule: Rule, ledger: Ledger) -> _Estimate:
    theta = mixture(ledger.n, ledger.y).mean
    h = _context_estimate(rule, ledger)
    # (C1) at the estimates; divided by the mass, since ĥ need not give every (k, t) a law that sums to 1
    group = np.einsum("ktc,nc->nkt", rule.law, theta * h) / np.einsum("ktc,nc->nkt", rule.law, h)
    if rule.shares is None:
        share = share_interval(*two_groups(ledger.natural), SHARE_OF_DELTA * rule.delta)
    else:
        share = np.full((len(theta), 1), float(rule.shares[0]))
    first, second = two_groups(group)
    outcome = share[:, :, None] * first[:, None] + (1 - share)[:, :, None] * second[:, None]
    return _Estimate(theta, h, outcome, gap_of(group), share)


def _context_estimate(rule: Rule, ledger: Ledger) -> FloatArray:
    """ĥ = (n_z + ½) / (Σ_{j,t} n_{j,t} L[j,t](z) + ½ Z ω_z) by context group, given for each cell (N, C)."""
    # (C11)
    member = rule.member
    exposure = np.einsum("nkt,ktz->nz", ledger.rows, rule.law @ member)
    prior = 0.5 * member.shape[1] * (rule.typical @ member)
    below = np.where(prior > 0, exposure + prior, 1.0)
    return np.asarray(((ledger.n @ member + 0.5) / below) @ member.T)


def _gap_bets(rule: Rule, ledger: Ledger, seen: _Estimate) -> tuple[IntArray, ...]:
    """(replicate, kind, arm) of each gap claim that is open and that the estimate contradicts."""
    E = rule.tolerance
    doubtful = np.stack([seen.gap < E, seen.gap > -E, np.abs(seen.gap) > E], axis=1)
    return np.nonzero(doubtful & (ledger.log_gap < rule.log_threshold))


def _gap_claims(rule: Rule, seen: _Estimate, index: tuple[IntArray, ...]) -> Claims:
    _, kind, arm = index
    # rows of (C2): ζ_k ≥ E; −ζ_k ≥ E; and |ζ_k| ≤ E as the one row −ζ_k ≥ −E, which is two-sided
    sign = np.array([1.0, -1.0, -1.0])[kind]
    gap = gap_of(rule.law, axis=1)
    level = np.where(kind == 2, -rule.tolerance, rule.tolerance)
    return Claims((sign[:, None] * gap[arm])[:, None], level[:, None], (kind == 2)[:, None])


def _pair_bets(rule: Rule, ledger: Ledger, seen: _Estimate) -> tuple[IntArray, ...]:
    """(replicate, end, b, k) of each open claim "k is fair and μ_k ≥ μ_b" that the estimate contradicts, b a contender."""
    fair = is_fair(seen.gap, rule.tolerance)
    score = np.where(fair, seen.outcome.mean(axis=1), -np.inf)
    contender = fair & (np.argsort(np.argsort(-score, axis=1, kind="stable"), axis=1) < CONTENDERS)
    ahead = seen.outcome[:, :, None, :] >= seen.outcome[:, :, :, None]
    unlike = ~(ahead & fair[:, None, None, :]) & ~np.eye(fair.shape[1], dtype=bool)
    settled = ledger.log_gap[:, 2] >= rule.log_threshold
    still = (ledger.log_pair < rule.log_threshold) & ~settled[:, None, None, :] & contender[:, None, :, None]
    return np.nonzero(unlike & still)


def _pair_claims(rule: Rule, seen: _Estimate, index: tuple[IntArray, ...]) -> Claims:
    replicate, end, b, k = index
    (first, second), gap = two_groups(rule.law[k] - rule.law[b], axis=1), gap_of(rule.law, axis=1)
    share = seen.share[replicate, end][:, None]
    outcome = share * first + (1 - share) * second
    level = np.broadcast_to([0.0, -rule.tolerance], (len(k), 2))
    return Claims(np.stack([outcome, -gap[k]], axis=1), level, np.broadcast_to([False, True], (len(k), 2)))


# ---- the bets: payoffs that no truth in the claim can be expected to gain from ----


def log_payoffs(
    rule: Rule, claims: Claims, blend: FloatArray, theta: FloatArray, h: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """log S(c, 1) and log S(c, 0), (B, C) each, for a batch with law blend · h: valid whatever θ̂ and ĥ are.

        S(c, 1) = r_c / l_c,  S(c, 0) = τ_c / l_c;    for some λ ≥ 0, κ and every context group z
        Σ_{c in z} max(τ_c, r_c + λ·a_c) ≤ l_z + λ·b ω_z + κ·β_z         (the price of the bet)

    This inequality is checked on the numbers that are used, and S divided by what it is exceeded by, so the solver
    need not be trusted. ``blend`` l (B, C), ``theta`` and ``h`` (B, C) the estimates that the bet maximises growth for.
    """
    possible = rule.typical > 0
    # (C6); a cell that no arm reaches is left out of the price below, and only must not divide by 0
    base = np.where(possible, (blend + EXPLORED * rule.typical) / (1 + EXPLORED), EXPLORED)
    bet = _best_bets(rule, claims, base, h * base * theta, h * base * (1 - theta))
    # the left side of (C4) less the λ and κ terms, over l_z, at its largest z: what S must be divided by to keep its price
    use = np.maximum(bet.stay, bet.rise + np.einsum("bi,bic->bc", bet.multiplier, bet.slope))
    member = rule.member[:, possible @ rule.member > 0] * possible[:, None]
    budget = bet.budget[:, :, possible @ rule.member > 0]
    excess = ((use @ member - np.einsum("bi,biz->bz", bet.multiplier, budget)) / (base @ member)).max(axis=1)
    excess = excess * (1 + EXPLORED)
    own = claims.level.shape[1]
    sound = (excess > 0) & np.isfinite(excess) & (bet.multiplier[:, :own] >= 0).all(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # (C5)
        log_S = np.log(np.stack([bet.rise, bet.stay]) / base) - np.log(excess)[:, None]
    # S = 1 is a bet too: nothing is won or lost where the numbers are not sound, or where the batch cannot land
    log_S = np.where(sound[:, None] & (blend > 0), log_S, 0.0)
    return log_S[0], log_S[1]


@dataclass(eq=False)
class _Bets:
    """Bets under construction: r and τ (B, C), λ and κ (B, I+J), and the rows they price."""

    rise: FloatArray
    stay: FloatArray
    multiplier: FloatArray
    slope: FloatArray
    budget: FloatArray

    def take(self, kept: BoolArray) -> _Bets:
        return _Bets(self.rise[kept], self.stay[kept], self.multiplier[kept], self.slope[kept], self.budget[kept])

    def put(self, where: IntArray, other: _Bets) -> None:
        for name in ("rise", "stay", "multiplier", "slope"):
            getattr(self, name)[where] = getattr(other, name)


def _best_bets(rule: Rule, claims: Claims, base: FloatArray, up: FloatArray, down: FloatArray) -> _Bets:
    """Newton's method for the growth Σ_c u_c log r_c + v_c log τ_c over the bets that keep their price.

    r = τ − λ·a and Σ_{c in z} τ_c = l_z + λ·b ω_z + κ·β_z. Starts from no bet (r = τ = l); every iterate is a bet.
    """
    B, own, C = claims.slope.shape
    moments = rule.moments
    J = len(moments)
    # κ is one more kind of multiplier: rows with no slope in the cells, whose budget β may be used with either sign
    slope = np.concatenate([claims.slope, np.zeros((B, J, C))], axis=1)
    level = claims.level[:, :, None] * (rule.typical @ rule.member)
    budget = np.concatenate([level, np.broadcast_to(moments, (B, *moments.shape))], axis=1)
    all_bets = _Bets(base.copy(), base.copy(), np.zeros((B, own + J)), slope, budget)
    two_sided = np.concatenate([claims.two_sided, np.zeros((B, J), dtype=bool)], axis=1)
    signed = np.arange(own + J) < own
    bets, where = all_bets.take(np.ones(B, dtype=bool)), np.arange(B)
    start = (up + down) * np.log(base)  # (C12) without a bet; precision is relative to what has been gained over it
    for _ in range(STEPS):
        gain, growth = _newton(bets, rule.member, up, down, signed, two_sided)
        going = gain > PRECISION * (growth - start.sum(axis=1)) + 1e-12
        all_bets.put(where, bets)
        if not going.any():
            break
        # most claims need few steps and some need many: those that are done leave
        bets, where, up, down = bets.take(going), where[going], up[going], down[going]
        two_sided, start = two_sided[going], start[going]
    return all_bets


def _newton(
    bets: _Bets, member: FloatArray, up: FloatArray, down: FloatArray, signed: BoolArray, two_sided: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """One step, in place: the predicted gain of growth (B,), and the growth reached (B,).

    τ is eliminated first (its Hessian is diagonal), then the multiplier ρ_z of each context group; what is left is a
    system in λ and κ. A row at λ_i = 0 that would go negative is held there; a two-sided row at 0 may turn around.
    """
    # Growth (C12) as a function of τ, λ, κ alone, since r = τ − λ·a: its gradient in τ is u/r + v/τ, its curvature in τ_c
    # is −1/D_c, and cells interact only through λ, κ and the budget of their context group.
    a, beta, lam = bets.slope, bets.budget, bets.multiplier
    g_rise, g_stay = up / bets.rise, down / bets.stay
    curve = g_rise / bets.rise
    D = 1 / (curve + g_stay / bets.stay)
    D_z = D @ member
    # ρ_z prices the budget: with λ and κ still, τ moves by D e, which sums to 0 over each group, so (C4) stays an equality
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
    # the Schur complement: −Hessian of growth in (λ, κ) after τ and ρ have been eliminated, I + J rows instead of C cells
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
