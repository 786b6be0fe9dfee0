"""Certified answers: the expected wealth by enumerating every possible batch, then runs on easy and on the hardest truths."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from fairarm.core.answer import Code
from fairarm.core.proof import bets, estimate
from fairarm.core.proof.accounts import log_evidence
from fairarm.core.proof.bets import Brought, certificate, open_ledger, settle
from fairarm.core.proof.claims import Rule
from fairarm.core.proof.estimate import Leader
from fairarm.errors import DataError

HALF = np.array([0.5, 0.5])


# ---- wealth, by enumerating every batch ----

LAW = np.array([[[0.7, 0.3], [0.25, 0.75]], [[0.4, 0.6], [0.6, 0.4]]])


def every_batch(law, theta, values, units):
    """(probability, n, y) of everything that one row for each of these (arm, group) units can bring."""
    C = law.shape[-1]
    spread = [dict(zip(values, weights(t, values), strict=True)) for t in theta]
    rows = [[(c, v, law[k, t, c] * spread[c][v]) for c in range(C) for v in values] for k, t in units]
    for brought in itertools.product(*rows):
        n, y = np.zeros(C), np.zeros(C)
        for c, v, _ in brought:
            n[c] += 1
            y[c] += v
        yield math.prod(p for *_, p in brought), n, y


def settled_paths(rule, law, theta, values, plans, batches=2):
    """Every sequence of outcomes of a few batches of two rows: probabilities, and the ledgers they lead to.

    ``plans`` maps the outcome sum so far (None at first) to the two (arm, group) rows of the next batch.
    """
    p, ledger, total = np.ones(1), open_ledger(rule), [None]
    for _ in range(batches):
        where, chance, rows, n, y = [], [], [], [], []
        for i, seen in enumerate(total):
            units = plans(seen)
            plan = np.zeros(rule.law.shape[:2])
            for unit in units:
                plan[unit] += 1
            for q, n_one, y_one in every_batch(law, theta, values, units):
                where.append(i), chance.append(p[i] * q), rows.append(plan), n.append(n_one), y.append(y_one)
        batch = Brought(np.array(rows), np.array(n), np.array(y))
        total = [(total[i] or 0.0) + one.sum() for i, one in zip(where, y, strict=True)]
        # every path is a replicate of the same number: its leaders are drawn alike
        ledger = settle(rule, ledger.take(np.array(where)), batch, 0, np.zeros(len(where), dtype=int))
        p = np.array(chance)
    assert p.sum() == pytest.approx(1)
    return p, ledger


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
def test_labels_of_true_claims_do_not_grow_rich(values, context):
    """Over every sequence of outcomes under an adaptive plan, at a truth that lies on several claims' borders."""
    theta = np.array([0.8, 0.3])  # ζ = 0.225, −0.1; μ = 0.5375, 0.55
    rule = Rule(LAW, 0.1, 0.05, HALF, None if context is None else np.arange(2))
    p, ledger = settled_paths(rule, LAW, theta, values, adaptive)
    gap = np.einsum("r,rjk->jk", p, np.exp(ledger.labels))
    true_gap = np.array([[True, False], [False, True], [False, True]])  # ζ_0 ≥ E; ζ_1 ≤ −E and |ζ_1| ≤ E
    assert gap[true_gap].max() <= 1 + 1e-9
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
    p, ledger = settled_paths(rule, law, theta, (0.0, 1.0), adaptive)
    gap = np.einsum("r,rjk->jk", p, np.exp(ledger.labels))
    assert zeta[0] > 0
    assert gap[0, 0] <= 1 + 1e-9
    assert gap[2, 1] <= 1 + 1e-9
    assert gap[1, 0] > 1.001


THREE = (0.0, 0.5, 1.0)


@pytest.mark.parametrize("hostile", [False, True])
@pytest.mark.parametrize(
    ("values", "tolerance"),
    [((0.0, 1.0), 0.1), ((0.0, 1.0), 0.15), ((0.0, 1.0), 0.09)]
    + [pytest.param(THREE, tolerance, marks=pytest.mark.slow) for tolerance in (0.1, 0.15, 0.09)],
)
def test_no_true_answer_can_be_expected_to_be_refuted(values, tolerance, hostile, monkeypatch):
    """E[M] ≤ 1 over all 4 096 sequences of three batches, and M ≥ E_h on every one of them, whoever leads and bets at once.

    M is the product of what was paid to the one true claim of each leader. ζ = 0.225, −0.1; μ = 0.5375, 0.55: none is fair at
    E = 0.1 and 0.09, and arm 1 is the answer at 0.15. Hostile leaders: arm 0 after a good batch, else "none is fair".
    """
    theta = np.array([0.8, 0.3])
    monkeypatch.setattr(estimate, "GATE", 0.0)
    if hostile:
        monkeypatch.setattr(bets, "leader", hostile_leader)
    rule = Rule(LAW, tolerance, 0.05, HALF)
    p, ledger = settled_paths(rule, LAW, theta, values, adaptive, batches=3)
    V, W, F = ledger.accounts.broken, ledger.accounts.beats[..., 0], ledger.accounts.fair
    if tolerance == 0.15:  # H_1: under leader 0 its broken end is true, under "none" that arm 1 is fair
        product, evidence = V[:, 0, 0] + F[:, 1], log_evidence(ledger.accounts)[:, 2]
    else:  # H_0: under leader 0 its high end, under leader 1 its low end
        product, evidence = V[:, 0, 0] + V[:, 1, 1], log_evidence(ledger.accounts)[:, 0]
    assert p @ np.exp(product) <= 1 + 1e-9
    assert np.all(product >= evidence - 1e-12)
    assert (np.abs(V).max() > 0.1) and (not hostile or np.abs(F).max() > 0 or tolerance == 0.15)
    assert np.abs(W).max() > 0.01


def hostile_leader(rule, seen, known, refuted, seed, number, replicate):
    good = seen.y.sum(axis=1) > 0.4 * seen.n.sum(axis=1)
    return Leader(np.where(good, 0, int(Code.NONE)), np.ones(len(good)))


def test_two_fair_arms_of_which_one_is_better():
    """H_0 true: arm 0 is fair and best. Under leader 1 the true claim is "0 is fair and beats 1", under "none" "0 is fair"."""
    law = np.array([[[0.3, 0.7], [0.35, 0.65]], [[0.7, 0.3], [0.65, 0.35]]])
    rule, theta = Rule(law, 0.2, 0.05, HALF), np.array([0.3, 0.8])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimate, "GATE", 0.0)
        p, ledger = settled_paths(rule, law, theta, (0.0, 1.0), adaptive, batches=3)
    product = ledger.accounts.beats[:, 1, 0, 0] + ledger.accounts.fair[:, 0]
    assert p @ np.exp(product) <= 1 + 1e-9
    assert np.all(product >= log_evidence(ledger.accounts)[:, 1] - 1e-12)
    assert np.abs(product).max() > 0.05
    false = ledger.accounts.beats[:, 0, 1, 0]
    assert p @ np.exp(false) > 1.001


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
        ledger = settle(rule, ledger, Brought(rows, n.astype(float), y.astype(float), seen))
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
    assert found.refuted[:, [0, 2]].mean() > 0.95 and not found.refuted[:, 1].any() and not found.void.any()


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


@pytest.mark.parametrize("runs", [1000, pytest.param(4000, marks=pytest.mark.slow)])
def test_error_rate_at_the_hardest_truths(runs):
    """On the border every answer but one is wrong. δ = 0.2: errors ≤ 0.1 (+ 4 standard errors).

    Arm 0 has ζ exactly E, so it is unfair, and the best outcome; arm 1 is fair. A false "0 is fair" makes an error.
    """
    law = np.array([[[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]], [[0.2, 0.1, 0.7], [0.2, 0.1, 0.7]]])
    theta = np.array([0.9, 0.5, 0.1])  # ζ = 0.1, 0
    rng = np.random.default_rng(2)
    delta = 0.2
    found = run(Rule(law, 0.1, delta, HALF), law, theta, 25, 3, rng, runs)
    wrong = np.mean((found.answer == 0) | (found.answer == Code.NONE) | found.fair[:, 0])
    assert wrong <= delta / 2 + 4 * math.sqrt(delta / runs)  # one claim of the K = 2 is at stake
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
        rows = rng.integers(0, 9, size=(5, 3, 2)).astype(float)
        n = sum(rng.multinomial(rows[:, k, t].astype(int), CLEAR[k, t]) for k in range(3) for t in range(2))
        y = rng.binomial(n, THETA)
        forms = (rows, rows[:, order], rows[:, :, ::-1])
        ledgers = [settle(r, x, Brought(f, n, y)) for r, x, f in zip(rules, ledgers, forms, strict=True)]
    plain, arms, groups = ledgers
    W, V = (np.stack([x.accounts.beats[..., 0] for x in ledgers]), np.stack([x.accounts.broken for x in ledgers]))
    assert np.abs(W).max() > 1
    assert arms.labels == pytest.approx(plain.labels[:, :, order], abs=1e-6)
    assert groups.labels == pytest.approx(plain.labels[:, [1, 0, 2]], abs=1e-6)
    assert W[1] == pytest.approx(W[0][:, order][:, :, order], abs=1e-6)
    assert W[2] == pytest.approx(W[0], abs=1e-6)
    assert V[1] == pytest.approx(V[0][:, order], abs=1e-6)
    assert V[2] == pytest.approx(V[0][:, :, ::-1], abs=1e-6)


def test_replicates_do_not_see_each_other():
    rng = np.random.default_rng(6)
    rule = Rule(CLEAR, 0.2, 0.05)
    together, alone = open_ledger(rule, 3), open_ledger(rule, 1)
    for _ in range(4):
        rows = np.full((3, 3, 2), 3.0)
        n = sum(rng.multinomial(np.full(3, 3), CLEAR[k, t]) for k in range(3) for t in range(2))
        y, natural = rng.binomial(n, THETA), rng.integers(0, 5, size=(3, 2)).astype(float)
        together = settle(rule, together, Brought(rows, n, y, natural))
        alone = settle(rule, alone, Brought(rows[:1], n[:1], y[:1], natural[:1]))
    assert alone.labels == pytest.approx(together.take(np.array([0])).labels, abs=1e-9)
    assert alone.accounts.beats == pytest.approx(together.take(np.array([0])).accounts.beats, abs=1e-9)
    assert together.seen.n.sum() == 3 * 4 * 18 and together.settled.tolist() == [4, 4, 4]


def test_one_context_of_unknown_law_is_a_known_law():
    rng = np.random.default_rng(7)
    rules = [Rule(CLEAR, 0.2, 0.05, HALF), Rule(CLEAR, 0.2, 0.05, HALF, np.zeros(3, dtype=np.int64))]
    n = rng.multinomial(60, CLEAR.mean(axis=(0, 1)), size=2)
    y, rows = rng.binomial(n, THETA), np.full((2, 3, 2), 10.0)
    batch = Brought(rows, n, y)
    out = [settle(r, settle(r, open_ledger(r, 2), batch), batch) for r in rules]
    assert np.array_equal(out[0].labels, out[1].labels)
    assert np.array_equal(out[0].accounts.beats, out[1].accounts.beats)


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


def test_rows_that_do_not_fit():
    rule = Rule(np.array([[[1.0, 0.0], [0.5, 0.5]]]), 0.1, 0.05, HALF)
    rows = np.array([[[2.0, 0.0]]])
    with pytest.raises(DataError, match="totals differ"):
        settle(rule, open_ledger(rule), Brought(rows, np.array([[1.0, 0.0]]), np.zeros((1, 2))))
    with pytest.raises(DataError, match="none of these arms"):
        settle(rule, open_ledger(rule), Brought(rows, np.array([[1.0, 1.0]]), np.zeros((1, 2))))


def test_the_side_of_an_unfair_arm_is_said_only_where_it_is_proved():
    """Refuted of three arms: |ζ| ≤ E alone; with it ζ ≥ E; with it ζ ≤ −E; of the last all three, which contradict."""
    rule = Rule(np.full((4, 2, 3), 1 / 3), tolerance=0.1, delta=0.05, shares=HALF)
    won, open_ = rule.label_threshold + 1, 0.0
    ledger = replace(
        open_ledger(rule),
        labels=np.array([[[open_, won, open_, won], [open_, open_, won, won], [won, won, won, won]]]),
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
        ledger = settle(rule, ledger, Brought(rows, n.astype(float), rng.binomial(n, theta).astype(float)))
    found = certificate(rule, ledger)
    assert found.high[:, 0].mean() > 0.9 and found.low[:, 1].mean() > 0.9
    wrong = found.low[:, 0] | found.high[:, 1] | found.high[:, 2] | found.low[:, 2]
    assert wrong.sum() <= 12
