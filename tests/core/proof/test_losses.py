"""What lost rows, cut batches and smaller bets pay: by hand, and against every completion of a batch that lacks rows."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fairarm.core.proof.bets import Brought, open_ledger, settle, settle_ready, teach
from fairarm.core.proof.claims import Rule
from fairarm.core.proof.losses import KEPT_WITH_LOSSES, Lost, kept_payoffs, paid, with_reserve

HALF = np.array([0.5, 0.5])
LAW = np.array([[[0.7, 0.3, 0.0], [0.25, 0.75, 0.0]], [[0.0, 0.4, 0.6], [0.0, 0.6, 0.4]]])
RULE = Rule(LAW, 0.1, 0.05, HALF)


def test_no_payoff_is_below_a_fifth():
    raw = np.log(np.array([[1e-9, 1.0, 3.0]])), np.log(np.array([[2.0, 0.5, 0.0 + 1e-300]]))
    up, down = kept_payoffs(raw, np.full((1, 3), 1 / 3), np.full((1, 3), 0.5), None)
    assert np.exp(up[0]) == pytest.approx([0.2, 1.0, 2.6])
    assert np.exp(down[0]) == pytest.approx([1.8, 0.6, 0.2])


def paid_by_hand(n, y, log_up, log_down):
    return sum(b * u + (a - b) * d for a, b, u, d in zip(n, y, log_up, log_down, strict=True))


@pytest.mark.parametrize("outcome", [None, 0.0, 1.0, 0.4])
def test_a_lost_row_pays_the_least_that_it_could_have(outcome):
    """Against every completion: one row of cell 1 that may have any outcome, one of arm 0 and two of arm 1 in unknown cells, which have
    the stated outcome or any."""
    rng = np.random.default_rng(3)
    log_up, log_down = rng.normal(size=(2, 1, 3))
    n, y = np.array([[2.0, 1.0, 3.0]]), np.array([[1.0, 0.0, 2.5]])
    by_arm = np.array([[1.0, 2.0]])
    free, stated = (by_arm, None) if outcome is None else (np.array([[0.0, 0.0]]), by_arm)
    lost = Lost(np.array([[0.0, 1.0, 0.0]]), free, stated, outcome)
    found = paid(RULE, n, y, lost, np.array([0]), (log_up, log_down))[0]
    any_, means = (0.0, 1.0), (0.0, 1.0) if outcome is None else (outcome,)
    reach = {0: (0, 1), 1: (1, 2)}
    completions = []
    for cells in itertools.product((1,), reach[0], reach[1], reach[1]):
        for outcomes in itertools.product(any_, means, means, means):
            extra = sum(v * log_up[0, c] + (1 - v) * log_down[0, c] for c, v in zip(cells, outcomes, strict=True))
            completions.append(paid_by_hand(n[0], y[0], log_up[0], log_down[0]) + extra)
    assert found == pytest.approx(min(completions))
    assert lost.rows.tolist() == [4.0]


def test_the_bet_is_the_best_of_the_grid_where_rows_get_lost():
    rng = np.random.default_rng(4)
    weight, theta, other = (
        rng.dirichlet(np.ones(3), size=6),
        rng.uniform(0.2, 0.8, (6, 3)),
        rng.uniform(0.1, 0.9, (6, 3)),
    )
    raw = np.log(theta / other), np.log((1 - theta) / (1 - other))  # likelihood ratios, the payoffs of a good bet
    share = np.array([0.0, 0.001, 0.02, 0.1, 0.3, 0.9])
    up, down = kept_payoffs(raw, weight, theta, np.stack([share, np.zeros(6)], axis=1))
    chosen = []
    for i in range(6):
        growth = {}
        for f in KEPT_WITH_LOSSES:
            S1, S0 = (1 - f + f * np.exp(raw[k][i]) for k in (0, 1))
            usual = theta[i] * np.log(S1) + (1 - theta[i]) * np.log(S0)
            growth[f] = weight[i] @ ((1 - share[i]) * usual + share[i] * np.log(np.minimum(S0, S1)))
        best = 0.8 if share[i] == 0 else max(growth, key=lambda f: growth[f])
        chosen.append(best)
        assert np.exp(up[i]) == pytest.approx(1 - best + best * np.exp(raw[0][i]))
        assert np.exp(down[i]) == pytest.approx(1 - best + best * np.exp(raw[1][i]))
    assert chosen[-1] == 0.0 and len(set(chosen)) > 2


def test_a_reserve_is_never_staked():
    won = np.log(np.array([3.0, 0.5, 3.0]))
    cut = np.array([False, False, True])
    assert np.exp(with_reserve(won, 0.95, cut)) == pytest.approx([0.05 + 0.95 * 3, 0.05 + 0.95 * 0.5, 0.05])
    assert with_reserve(won, 1.0, None) is won


def batch(rng, runs=4):
    rows = np.full((runs, 2, 2), 6.0)
    n = sum(rng.multinomial(np.full(runs, 6), LAW[k, t]) for k in range(2) for t in range(2)).astype(float)
    return Brought(rows, n, rng.binomial(n.astype(int), [0.9, 0.5, 0.1]).astype(float), np.full((runs, 2), 12.0))


def test_a_cut_batch_costs_the_reserve_and_still_teaches():
    """Each account that would have been bet on loses log(1 − ρ), no other changes; groups of a cut batch tell nothing of P(S)."""
    rng = np.random.default_rng(5)
    ledger = open_ledger(RULE, 4)
    for _ in range(4):
        ledger = settle(RULE, ledger, batch(rng), reserve=0.95)
    last = batch(rng)
    whole = settle(RULE, ledger, last, reserve=0.95)
    cut = settle(RULE, ledger, Brought(last.rows, last.n, last.y, last.natural, cut=np.full(4, True)), reserve=0.95)
    for name in ("broken", "beats", "fair"):
        before, done, lost = (getattr(x.accounts, name) for x in (ledger, whole, cut))
        bet = done != before
        assert lost[bet] - before[bet] == pytest.approx(math.log(0.05))
        assert np.array_equal(lost[~bet], before[~bet])
    assert np.abs(cut.accounts.broken - ledger.accounts.broken).max() > 2.9
    assert np.array_equal(cut.seen.n, whole.seen.n)
    assert np.array_equal(cut.seen.natural, ledger.seen.natural)


def test_rows_that_only_teach_change_no_account():
    rng = np.random.default_rng(6)
    ledger = settle(RULE, open_ledger(RULE, 4), batch(rng))
    more = batch(rng)
    taught = teach(ledger, more.rows, more.n, more.y)
    assert np.array_equal(taught.accounts.broken, ledger.accounts.broken) and taught.settled.tolist() == [1] * 4
    assert np.array_equal(taught.labels, ledger.labels)
    assert np.array_equal(taught.seen.n, ledger.seen.n + more.n)
    assert np.array_equal(taught.seen.natural, ledger.seen.natural)


def test_open_batches_wait_for_those_before_them():
    """Whatever order they become complete in, the ledger is that of settling them one by one as they were opened."""
    rng = np.random.default_rng(7)
    made = [batch(rng) for _ in range(3)]
    expected = open_ledger(RULE, 4)
    for one in made:
        expected = settle(RULE, expected, one, 9)
    for order in itertools.permutations(range(3)):
        ledger, waiting, complete = open_ledger(RULE, 4), [0, 1, 2], set()
        for last in order:
            complete.add(last)
            ledger, left = settle_ready(RULE, ledger, [made[i] if i in complete else None for i in waiting], 9)
            waiting = waiting[len(waiting) - len(left) :]
            assert all(i not in complete or i > min(set(range(3)) - complete, default=3) for i in waiting)
        assert not waiting
        assert np.array_equal(ledger.labels, expected.labels)
        assert np.array_equal(ledger.accounts.beats, expected.accounts.beats)


def test_closing_when_it_looks_bad_gains_nothing_in_the_worst_case():
    """An arm on the tolerance; every batch of 12 is closed after 6 rows if these look bad. δ = 0.2, 400 runs, 30 batches.

    "ζ ≥ E" is true. Its wealth reaches 1/δ in at most 0.2 of runs (+ 4 standard errors); ignored, lost rows make it 0.3.
    """
    law, theta = np.array([[[0.9, 0.1], [0.1, 0.9]]]), np.array([0.8, 0.3])
    rule, runs = Rule(law, 0.4, 0.2, HALF), 400
    reached = {}
    for charged in (True, False):
        rng = np.random.default_rng(8)
        ledger, ever = open_ledger(rule, runs), np.zeros(runs, dtype=bool)
        for _ in range(30):
            halves = [[rng.multinomial(np.full(runs, 3), law[0, t]) for t in (0, 1)] for _ in range(2)]
            n1, n2 = (sum(half).astype(float) for half in halves)
            y1, y2 = (rng.binomial(n.astype(int), theta).astype(float) for n in (n1, n2))
            gap = y1[:, 0] / np.maximum(n1[:, 0], 1) - y1[:, 1] / np.maximum(n1[:, 1], 1)
            kept = (gap < 0.3)[:, None]  # a small gap is good for "fair": the rest is waited for
            n, y = n1 + kept * n2, y1 + kept * y2
            lost = np.where(kept, 0.0, 6.0)
            if charged:
                made = Brought(np.full((runs, 1, 2), 6.0), n, y, lost=Lost(np.zeros((runs, 2)), lost))
            else:
                made = Brought(np.where(kept[:, None], 6.0, 3.0) * np.ones((runs, 1, 2)), n, y)
            ledger = settle(rule, ledger, made)
            ever |= ledger.labels[:, 0, 0] >= math.log(1 / 0.2)
        reached[charged] = ever.mean()
    assert reached[True] <= 0.2 + 4 * math.sqrt(0.16 / runs)
    assert reached[True] < reached[False]


def test_where_not_told_means_an_outcome_the_bet_is_the_best_for_that():
    """Half of the rows are not told, and mean 0: charged as the worst nothing would be bet, by what they mean something is."""
    weight, theta, other = np.array([[0.5, 0.5]]), np.array([[0.3, 0.4]]), np.array([[0.35, 0.35]])
    raw = np.log(theta / other), np.log((1 - theta) / (1 - other))
    worst, _ = kept_payoffs(raw, weight, theta, np.array([[0.5, 0.0]]), 0.0)
    assert np.allclose(worst, 0)
    up, _ = kept_payoffs(raw, weight, theta, np.array([[0.0, 0.5]]), 0.0)
    growth = {}
    for f in KEPT_WITH_LOSSES:
        S1, S0 = (np.log(1 - f + f * np.exp(raw[k][0])) for k in (0, 1))
        growth[f] = weight[0] @ (theta[0] * S1 + (0.5 - theta[0]) * S0) + 0.5 * S0.min()
    best = max(growth, key=lambda f: growth[f])
    assert np.exp(up[0]) == pytest.approx(1 - best + best * np.exp(raw[0][0]))
