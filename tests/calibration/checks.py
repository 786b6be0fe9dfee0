"""Named checks of the statistics: each returns whether it holds for the code as it is.

Exact where that is possible (every sequence of outcomes enumerated, conjugate posteriors by direct integration), by
simulation with a fixed seed where it is not.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from benchmarks.calibration import gate
from benchmarks.calibration.strata import CLEAR, CLEAR_THETA, chain, make_world, same
from scipy.special import xlogy
from scipy.stats import beta, betabinom, norm

from fairarm.algorithms import Algorithm, algorithm
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.beliefs import cells as cell_means
from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.posterior import directions, prior, states
from fairarm.core.proof import bets as certified
from fairarm.core.proof import estimate, region
from fairarm.core.proof.accounts import Accounts, log_evidence
from fairarm.core.proof.bets import Brought, open_ledger
from fairarm.core.proof.claims import Rule
from fairarm.core.proof.losses import Lost
from fairarm.experiments.simulate import replicate

HALF = np.array([0.5, 0.5])
LAW = np.array([[[0.7, 0.3], [0.25, 0.75]], [[0.4, 0.6], [0.6, 0.4]]])


# ---- the bets ----


def every_batch(law, theta, units):
    """(probability, n, y) of all that one row for each of these (arm, group) units can bring."""
    cells = law.shape[-1]
    rows = [[(c, v, law[k, t, c] * (theta[c] if v else 1 - theta[c])) for c in range(cells) for v in (0, 1)] for k, t in units]  # fmt: skip
    for brought in itertools.product(*rows):
        n, y = np.zeros(cells), np.zeros(cells)
        for c, v, _ in brought:
            n[c] += 1
            y[c] += v
        yield math.prod(p for *_, p in brought), n, y


def planned(rule, units):
    plan = np.zeros((1, *rule.law.shape[:2]))
    for unit in units:
        plan[0, *unit] += 1
    return plan


def ledgers(rule, law, theta, batches=2):
    """(probability, ledger) of every outcome of a few batches of two rows under an adaptive plan, in arrays over the paths."""
    p, total, ledger = np.ones(1), np.full(1, -1.0), open_ledger(rule)
    for _ in range(batches):
        where, chance, rows, n, y = [], [], [], [], []
        for i, sum_so_far in enumerate(total):
            units = [(0, 0), (1, 1)] if sum_so_far < 0 else [(0, 1), (0, 1)] if sum_so_far > 0.9 else [(1, 0), (0, 0)]
            for q, n_one, y_one in every_batch(law, theta, units):
                where.append(i)
                chance.append(p[i] * q)
                rows.append(planned(rule, units)[0])
                n.append(n_one)
                y.append(y_one)
        brought = Brought(np.array(rows), np.array(n), np.array(y))
        ledger = certified.settle(rule, ledger.take(np.array(where)), brought, 0, np.zeros(len(where), dtype=int))
        p, total = np.array(chance), np.maximum(total[where], 0.0) + np.array(y).sum(axis=1)
    return p, ledger


def expected_labels(rule, law, theta):
    """E[wealth] of each claim about a gap, (3, K)."""
    p, ledger = ledgers(rule, law, theta)
    return np.einsum("r,rjk->jk", p, np.exp(ledger.labels))


def true_claims_do_not_grow_rich() -> bool:
    """At a truth on the border of several claims no true claim has an expected wealth above 1; a false one has."""
    theta = np.array([0.8, 0.3])  # ζ = 0.225, −0.1; μ = 0.5375, 0.55
    rule = Rule(LAW, 0.1, 0.05, HALF)
    claims = gate.true_claims((LAW @ theta) @ HALF, (LAW[:, 0] - LAW[:, 1]) @ theta, 0.1)
    gap = expected_labels(rule, LAW, theta)
    return bool(gap[claims.gaps].max() <= 1 + 1e-9 and gap[1, 0] > 1.01)


def true_claims_do_not_grow_rich_with_contexts_unknown() -> bool:
    """Two contexts with probabilities 0.9, 0.1 that the rule does not know, an arm exactly at the tolerance."""
    given = np.array([[[0.9, 0.1, 0.2, 0.8], [0.2, 0.8, 0.6, 0.4]], [[0.5, 0.5, 0.1, 0.9], [0.5, 0.5, 0.3, 0.7]]])
    law = given * np.array([0.9, 0.9, 0.1, 0.1])
    theta = np.array([0.9, 0.2, 0.2, 0.9])
    zeta = (law[:, 0] - law[:, 1]) @ theta
    rule = Rule(given, abs(zeta[0]), 0.05, HALF, np.array([0, 0, 1, 1]))
    claims = gate.true_claims((law @ theta) @ HALF, zeta, abs(zeta[0]))
    return bool(expected_labels(rule, law, theta)[claims.gaps].max() <= 1 + 1e-9)


def always_bet():
    """For problems of a few rows: without the gate nothing would be bet on them."""
    patch = pytest.MonkeyPatch()
    patch.setattr(estimate, "GATE", 0.0)
    return patch


def true_answers_do_not_grow_rich() -> bool:
    """E[E_h] ≤ 1 of every true answer over every outcome of three batches, whoever leads, and bets are made.

    Three truths: none is fair (one arm on the border), arm 0 is the best fair arm, both are tied.
    """
    patch = always_bet()
    try:
        fair = np.array([[[0.3, 0.7], [0.35, 0.65]], [[0.7, 0.3], [0.65, 0.35]]])
        for law, theta, tolerance in ((LAW, (0.8, 0.3), 0.1), (fair, (0.3, 0.8), 0.2), (fair, (0.5, 0.5), 0.2)):
            truth, rule = np.array(theta), Rule(law, tolerance, 0.05, HALF)
            claims = gate.true_claims((law @ truth) @ HALF, (law[:, 0] - law[:, 1]) @ truth, tolerance)
            p, ledger = ledgers(rule, law, truth, batches=3)
            expected = p @ np.exp(log_evidence(ledger.accounts)[:, claims.answers])
            if expected.max() > 1 + 1e-9 or np.abs(ledger.accounts.broken).max() < 0.1:
                return False
        return True
    finally:
        patch.undo()


ONE_ARM = Rule(np.array([[[0.9, 0.1], [0.1, 0.9]]]), 0.4, 0.05, HALF)
ON_THE_BORDER = np.array([0.9, 0.4])
"""ζ = E exactly: "ζ ≥ E" and "|ζ| ≤ E" are both true."""


def two_batches(units):
    """Every pair of outcomes of two batches with these units: probabilities (N,), and each batch's n and y, (N, C)."""
    made = list(every_batch(ONE_ARM.law, ON_THE_BORDER, units))
    pairs = [(*one, *two) for one in made for two in made]
    p, n, y, q, m, x = (np.array(part) for part in zip(*pairs, strict=True))
    return p * q, n, y, m, x


def late_batches_cannot_be_used() -> bool:
    """Two batches are open at once, and the first comes late unless it has a success in the second cell.

    The expected wealth of a true claim is at most 1.
    """
    units, total = [(0, 0)] * 3, 0.0
    p, n, y, m, x = two_batches(units)
    late = y[:, 1] == 0
    for which in (late, ~late):
        plan, runs = np.repeat(planned(ONE_ARM, units), which.sum(), axis=0), int(which.sum())
        one, two = Brought(plan, n[which], y[which]), Brought(plan, m[which], x[which])
        first = None if which is late else one
        ledger, left = certified.settle_ready(ONE_ARM, open_ledger(ONE_ARM, runs), [first, two])
        ledger, left = certified.settle_ready(ONE_ARM, ledger, [one if batch is None else batch for batch in left])
        total += float(p[which] @ np.exp(ledger.labels[:, 0, 0]))
    return bool(not left and total <= 1 + 1e-9)


def lost_rows_are_charged() -> bool:
    """Rows with the outcome 0 never come in the second batch, which the first has taught the bets to expect.

    The expected wealth of a true claim is at most 1; had the rows come it would be near 1.
    """
    units = [(0, 0), (0, 0), (0, 1)]
    p, n, y, m, x = two_batches(units)
    plan = np.repeat(planned(ONE_ARM, units), len(p), axis=0)
    ledger = certified.settle(ONE_ARM, open_ledger(ONE_ARM, len(p)), Brought(plan, n, y))
    lost = Lost(np.zeros_like(m), (m - x).sum(axis=1)[:, None])
    ledger = certified.settle(ONE_ARM, ledger, Brought(plan, x, x, lost=lost))
    wealth = np.einsum("r,rjk->jk", p, np.exp(ledger.labels))
    return bool(wealth[[0, 2], 0].max() <= 1 + 1e-9)


def only_whole_batches_tell_shares() -> bool:
    """Of 30 batches that were cut only rows of the first group had come; P(S) is ½, and its interval must hold it."""
    rule = Rule(LAW, 0.1, 0.05)
    ledger = open_ledger(rule)
    for _ in range(30):
        rows, natural = planned(rule, [(0, 0)] * 2), np.array([[2.0, 0.0]])
        brought = Brought(rows, np.array([[2.0, 0.0]]), np.zeros((1, 2)), natural, cut=np.array([True]))
        ledger = certified.settle(rule, ledger, brought, reserve=0.95)
    low, high = estimate.estimate(rule, ledger.seen).share[0]
    return bool(low <= 0.5 <= high)


def delta_is_not_overspent() -> bool:
    """One answer at exp(−threshold), or K labels, and what the interval for P(S) is seen to use, come to δ at most."""
    delta, arms = 0.05, len(LAW)
    known, unknown = Rule(LAW, 0.1, delta, HALF), Rule(LAW, 0.1, delta)
    spent = [max(math.exp(-rule.answer_threshold), arms * math.exp(-rule.label_threshold)) for rule in (known, unknown)]
    ledger = open_ledger(unknown)
    ledger.seen.natural[:] = [30.0, 12.0]
    low = estimate.estimate(unknown, ledger.seen).share[0, 0]
    ratio = beta.logpdf(low, 30.5, 12.5) - beta.logpdf(
        low, 0.5, 0.5
    )  # the likelihood over its average under Beta(½, ½)
    share = math.exp(min(ratio, 0.0))
    return bool(spent[0] <= delta * (1 + 1e-9) and spent[1] + share <= delta * (1 + 1e-6))


def both_ends_of_the_share_count() -> bool:
    """ "k beats b" is refuted only where it is at both ends of the interval for P(S)."""
    rule = Rule(LAW, 0.1, 0.05)
    accounts = Accounts.opened(rule, 1)
    accounts.broken[0, 0] = accounts.beats[0, 0, 1, 0] = rule.answer_threshold
    labels = open_ledger(rule).labels
    one = certified.refuted_now(rule, accounts, labels)[0, 2]
    accounts.beats[0, 0, 1, 1] = rule.answer_threshold
    return bool(not one and certified.refuted_now(rule, accounts, labels)[0, 2])


# ---- intervals ----


def the_ratio_is_a_martingale() -> bool:
    """E[N/L(θ)] = 1 exactly over every sequence of five outcomes in two cells chosen adaptively."""
    theta = np.array([0.2, 0.7])
    paths = [(1.0, np.zeros(2), np.zeros(2))]
    for _ in range(5):
        new = []
        for p, n, y in paths:
            step = np.eye(2)[int(y.sum() * 3 + n[0] > 1.5)]
            mean = float(step @ theta)
            new += [(p * mean, n + step, y + step), (p * (1 - mean), n + step, y)]
        paths = new
    p, n, y = (np.array([path[i] for path in paths]) for i in range(3))
    ratio = np.exp(region.mixture(n, y).log_evidence - (xlogy(y, theta) + xlogy(n - y, 1 - theta)).sum(axis=1))
    return abs(float(p @ ratio) - 1) < 1e-9


def intervals_cover() -> bool:
    """All intervals hold the truth at all looks in 1 − δ of 200 runs (gate)."""
    missed = gate.coverage(gate.COVERAGE_CASES["nearly certain outcomes"], 200, 100, 5)
    return gate.p_value(missed.intervals, missed.runs, gate.DELTA) >= gate.SIGNIFICANCE


def share_intervals_cover() -> bool:
    """The exact probability, over all sequences of 60 natural rows, that the interval ever misses P(S): at most δ."""
    share, delta = 0.3, 0.05
    alive = {0: 1.0}  # probability of each count of the first group, the truth never left so far
    for n in range(1, 61):
        after: dict[int, float] = {}
        for a, p in alive.items():
            for more, q in ((1, share), (0, 1 - share)):
                after[a + more] = after.get(a + more, 0.0) + p * q
        first = np.array(sorted(after), dtype=float)
        ends = region.share_interval(first, n - first, delta)
        inside = (ends[:, 0] <= share) & (share <= ends[:, 1])
        alive = {int(a): after[int(a)] for a in first[inside]}
    return 1 - sum(alive.values()) <= delta


# ---- the posterior ----


def posterior_is_conjugate() -> bool:
    """Six cells of 20 rows around one common mean: mean and spread of θ against integration over that mean, with scipy."""
    ones, rows = np.array([1, 18, 3, 12, 20, 5]), np.full(6, 20)
    constant = directions.Directions.constant(1, 6)
    made = states.StatesPosterior.of(np.stack([rows - ones, ones], axis=1)[None], np.array([0.0, 1.0]), constant)
    eta, evidence, first, second = np.linspace(-12, 12, 2001), 0.0, np.zeros(6), np.zeros(6)
    m = 1 / (1 + np.exp(-eta[:, None]))
    for s in prior.STRENGTHS:
        a, b = m * s, (1 - m) * s
        weight = norm.pdf(eta / states.CONSTANT) * np.prod(betabinom.pmf(ones, rows, a, b), axis=1)
        mean, variance = beta.mean(a + ones, b + rows - ones), beta.var(a + ones, b + rows - ones)
        evidence += weight.sum()
        first, second = first + weight @ mean, second + weight @ (variance + mean**2)
    mean = first / evidence
    spread = np.sqrt(second / evidence - mean**2)
    drawn = made.draw(np.random.default_rng(0), 40_000)[0]
    close = np.abs(drawn.mean(axis=0) - mean) < 0.03 * spread + 5 * spread / 200
    return bool(np.all(close) and np.all(np.abs(drawn.std(axis=0) / spread - 1) < 0.04))


def arms_overrule_the_prior() -> bool:
    """60 decisions, outcomes rising along them, an arm that takes the upper ones: 4 rows a decision from one that takes all.

    The 95 % limits of its outcome and gap hold the truth in at least 0.88 of 200 logs.
    """
    rise = np.linspace(-1, 1, 60)
    theta = 0.1 + 0.8 / (1 + np.exp(-3 * rise))
    upper = [np.exp(slope * rise) / np.exp(slope * rise).sum() for slope in (3.0, 2.0)]
    world = chain("rising", [same(np.full(60, 1 / 60)), upper], theta, 0.1)
    plan = np.zeros((200, 3, 2), dtype=int)
    plan[:, 0, 0] = 240
    counts = world.draw(plan, np.random.default_rng(0))
    drawn = cell_means.CellBeliefs.of(CellEvidence(world.problem, counts)).draw(np.random.default_rng(1), 400)
    means = np.array(upper) @ theta
    for sample, truth in zip(drawn, (means.mean(), means[0] - means[1]), strict=True):
        low, high = np.quantile(sample[:, :, 1], [0.025, 0.975], axis=1)
        if np.mean((low <= truth) & (truth <= high)) < 0.88:
            return False
    return True


def nothing_is_known_without_noise() -> bool:
    """A cell with a million equal outcomes still has the least variance that plans are made with."""
    counts, constant = np.array([[[10**6, 0]]]), directions.Directions.constant(1, 1)
    made = states.StatesPosterior.of(counts, np.array([0.0, 1.0]), constant)
    return bool(made.noise.min() >= 1e-4)


def evidence_of(world, plan, seed=0) -> CellEvidence:
    return CellEvidence(world.problem, world.draw(np.asarray(plan)[None], np.random.default_rng(seed)))


def unknown_shares_are_uncertain() -> bool:
    """θ known from many forced rows, P(S) from 20 natural ones: μ_k varies by |ζ_k| times the spread of Beta(n + ½)."""
    world = chain("shares", CLEAR, CLEAR_THETA, 0.2, shares_declared=False)
    plan = np.zeros((3, 3), dtype=int)
    plan[0, 0], plan[1:] = 20, 30_000
    beliefs = cell_means.CellBeliefs.of(evidence_of(world, plan))
    outcomes, gaps = beliefs.draw(np.random.default_rng(1), 4000)
    first, second = beliefs.seen.natural[0] + 0.5
    expected = abs(gaps[0, :, 2].mean()) * beta.std(first, second)
    return bool(abs(outcomes[0, :, 2].std() / expected - 1) < 0.1)


def only_natural_rows_tell_shares() -> bool:
    """300 natural rows with P(S) = (0.2, 0.8) and 3 000 rows forced to the first group: the share is near 0.2."""
    world = chain("forced", CLEAR, CLEAR_THETA, 0.2, shares=(0.2, 0.8), shares_declared=False)
    plan = np.zeros((3, 3), dtype=int)
    plan[0, 0], plan[1, 0] = 300, 3000
    return bool(abs(cell_means.CellBeliefs.of(evidence_of(world, plan)).shares[0, 0] - 0.2) < 0.1)


def context_world():
    """Y is the context; the law of contexts, 0.6 and 0.4, is not declared. The arms differ in V, which does not matter."""
    return make_world(
        "contexts", {"Z": 2, "V": 2, "Y": 2}, [("Z", [], [0.6, 0.4]), ("Y", ["Z", "V"], [[[1, 0], [1, 0]], [[0, 1], [0, 1]]])],
        ["Z", "S"], [[same([0.5, 0.5])] * 2, [same([0.3, 0.7])] * 2], 0.1,
    )  # fmt: skip


def unknown_contexts_are_uncertain() -> bool:
    """μ_k is P(z1), known from 300 rows: drawn values vary as their proportion does."""
    plan = np.zeros((3, 2), dtype=int)
    plan[0] = 150
    outcomes, _ = cell_means.CellBeliefs.of(evidence_of(context_world(), plan)).draw(np.random.default_rng(1), 4000)
    expected = math.sqrt(0.24 / 300)
    return bool(np.all(np.abs(outcomes[0].std(axis=0) / expected - 1) < 0.15))


def context_law_is_found() -> bool:
    """With a hundred thousand rows of arms that see contexts unequally the estimated law of cells is the true one."""
    world = make_world(
        "law", {"V": 2, "W": 2, "X": 2, "Y": 2},
        [("W", ["V"], [[0.9, 0.1], [0.25, 0.75]]), ("X", ["S", "W"], [[[0.8, 0.2], [0.1, 0.9]], [[0.8, 0.2], [0.5, 0.5]]]), ("Y", ["V", "X"], [[[0.7, 0.3], [0.5, 0.5]], [[0.6, 0.4], [0.1, 0.9]]])],
        [], [[0.2, 0.8], [0.6, 0.4]], 0.1, declared=["X"],
    )  # fmt: skip
    plan = np.zeros((3, 2), dtype=int)
    plan[0], plan[1] = 20_000, 80_000
    found = cell_means.CellBeliefs.of(evidence_of(world, plan)).law[0]
    true = world.law.reshape(*world.law.shape[:2], -1, 2).sum(axis=3)
    return bool(np.abs(found - true).max() < 0.02)


# ---- whole runs ----


def stopped(world, runs=60, cap=400, **options) -> np.ndarray:
    pool = Pool(world.problem, cap, PoolOptions(**options))
    return replicate(pool, world, runs, np.random.default_rng(3), 3)[0].answer


UNFAIR_ARMS = ([[0.0, 0.5, 0.5], [0.3, 0.4, 0.3]], same([0.6, 0.2, 0.2]))
"""μ = 0.62, 0.35 with θ of CLEAR_THETA: the better arm favours the first group by 0.21; reversed, the second."""


def unfair_arms_are_not_certified() -> bool:
    """The better arm is unfair, to either side in turn; wrong answers of certified runs: at most δ (gate)."""
    wrong, runs = 0, 0
    for arms in (UNFAIR_ARMS, [law[::-1] for law in UNFAIR_ARMS]):
        answers = stopped(chain("unfair", arms, CLEAR_THETA, 0.19), confidence=0.95)
        wrong, runs = wrong + int(np.isin(answers, [0, -1]).sum()), runs + len(answers)
    return gate.p_value(wrong, runs, gate.DELTA) >= gate.SIGNIFICANCE


def unfair_arms_are_not_named() -> bool:
    """The same with a fixed number of pulls: the posterior's answer is right in 0.8 of runs."""
    answers = [
        stopped(chain("unfair", arms, CLEAR_THETA, 0.15)) for arms in (UNFAIR_ARMS, [law[::-1] for law in UNFAIR_ARMS])
    ]
    return bool(np.mean(np.concatenate(answers) == 1) >= 0.8)


def outcomes_are_scaled() -> bool:
    """Values 0 and 10 with a tolerance of 1.5 are the same problem as 0 and 1 with 0.15: the same answers."""
    plain = stopped(chain("unit", UNFAIR_ARMS, CLEAR_THETA, 0.15), runs=20, cap=200)
    wide = stopped(chain("wide", UNFAIR_ARMS, CLEAR_THETA, 1.5, values=(0.0, 10.0)), runs=20, cap=200)
    return bool(np.array_equal(plain, wide))


def the_law_is_tested_by_whole_batches() -> bool:
    """Rows come lowest decision first, and the declared law is right: none of 50 runs of one batch, told in parts, is void.

    Of the first 32 rows 13 or so have that decision; where it is 17 or more, these alone would refute the law.
    """
    world = chain("in-order", (same([0.4, 0.6]),), (0.25, 0.75), 0.125)
    rng = np.random.default_rng(7)
    return not any(told_in_order(world, seed, rng).verdict().findings for seed in range(50))


def told_in_order(world, seed, rng) -> Algorithm:
    """A certified run of one batch: the rows with the lowest decision, then the others."""
    run = algorithm("pool", world.problem, pulls=32, seed=seed, confidence=0.95)
    rows = world.pull(run.ask(), rng)
    for part in (0, 1):
        run.tell(rows.take(np.flatnonzero(rows.columns["V"] == part)), id=f"{part}")
    return run
