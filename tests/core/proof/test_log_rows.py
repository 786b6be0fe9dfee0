"""Certified intervals from weighted rows, for any rows of fairness: exact over every small log, as those of two groups, and coverage."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from fairarm.core.fairness import Rows
from fairarm.core.proof.log_bets import (
    CountedLines,
    LineBets,
    PilotScores,
    SumBets,
    bet_intervals,
    bets_on,
    cut_at,
    scoring,
)
from fairarm.core.proof.log_intervals import GroupCells, bound_delta, cut_sums, weighted_intervals
from fairarm.errors import ProblemError

SHARES = np.array([0.5, 0.3, 0.2])
LAW = np.array([[[0.9, 0.1], [0.7, 0.3], [0.4, 0.6]], [[0.2, 0.8], [0.5, 0.5], [0.6, 0.4]]])  # P_k(v | t), (K, G, V)
THETA = np.array([0.1, 0.6])
ONE_CONTEXT = np.zeros(2, dtype=np.int64)
ASKED = Rows(
    by_group=np.array([[1.0, -1.0, 0.0], [1.0, 0.0, -0.8], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
    everyone=np.array([0.0, 0.0, 0.0, -1.0]),
    low=np.array([-0.2, 0.0, 0.3, -0.1]),
    high=np.array([0.2, np.inf, np.inf, 0.1]),
)
"""A gap of two, a ratio, a floor, and a group beside everybody."""


def truths() -> tuple[np.ndarray, np.ndarray]:
    """Outcomes (K,) and the rows' values (K, J), by plain sums."""
    means = LAW @ THETA
    mean = [float(m @ SHARES) for m in means]
    values = [[m[0] - m[1], m[0] - 0.8 * m[2], m[2], m[1] - e] for m, e in zip(means, mean, strict=True)]
    return np.array(mean), np.array(values)


def pilot_scores(rng: np.random.Generator) -> PilotScores:
    return PilotScores(rng.uniform(0.2, 0.8, (2, 2, 3)), rng.uniform(0.1, 0.6, (2, 2, 3)), np.zeros((2, 2, 3)))


@pytest.mark.parametrize("signs", [(1.0, -1.0, 0.0), (1.0, -0.8, 0.5), (-0.25, 0.7, -1.0)])
def test_a_true_value_has_an_expected_wealth_of_at_most_one(signs):
    """Every log of two rows of each group that is used, made by arm 0: E[Π (1 + λ (X − M))] at the true mean of X."""
    f = np.array(signs)
    made = np.array([[2, 2, 2], [0, 0, 0]])
    scores = scoring(LAW, made, np.full((3, 2), 0.4), ONE_CONTEXT, np.full(3, 1.5))
    pilot = PilotScores(*(getattr(pilot_scores(np.random.default_rng(1)), name) for name in ("mean", "variance")), scores.least)  # fmt: skip
    used = f != 0
    which = tuple(int(v < 0) for v in f[used])
    # the mean of c Y, or of c (1 − Y), by summing over decisions: a smaller mean than the value where weights are cut
    c = np.minimum(LAW / LAW[0], 1.5)
    mean = np.array([sum(abs(f[t]) * (LAW[0, t] * c[k, t] * (THETA if f[t] > 0 else 1 - THETA)).sum() for t in range(3) if used[t]) for k in range(2)])  # fmt: skip
    group = np.repeat(np.arange(3), 2)
    expected, total = np.zeros(2), 0.0
    for places in product((0, 1), repeat=6):
        for outcomes in product((0, 1), repeat=6):
            chance = math.prod(LAW[0, t, v] * (THETA[v] if y else 1 - THETA[v]) for t, v, y in zip(group, places, outcomes, strict=True))  # fmt: skip
            if not used.all() and (any(places[4:]) or any(outcomes[4:])):
                continue  # rows of a group that is not used: one of their outcomes stands for all
            chance = chance if used.all() else chance / math.prod(LAW[0, 2, 0] * (1 - THETA[0]) for _ in range(2))
            lines = CountedLines(group, np.array(places), np.array(outcomes, dtype=float), np.ones(6))
            bets = LineBets(lines, scores.of(group, lines.place, lines.outcome), np.full(3, 2.0), pilot, 1.0)
            on = bets.among(used)
            factor = on.rows.sum() / on.rows * np.abs(f[used])
            expected += chance * np.exp(on.staked(which, factor).log_wealth(mean))
            total += chance
    assert total == pytest.approx(1)
    assert np.all(expected <= 1 + 1e-12) and np.all(expected > 0.5)


def counted(rng: np.random.Generator, rows: int) -> tuple[CountedLines, np.ndarray]:
    """Rows of each group by arm 0: lines, and counts (G, V, Y)."""
    counts = np.zeros((3, 2, 2))
    for t in range(3):
        v = rng.multinomial(rows, LAW[0, t])
        y = rng.binomial(v, THETA)
        counts[t] = np.stack([v - y, y], axis=1)
    group, place, outcome = np.nonzero(counts)
    return CountedLines(group, place, outcome.astype(float), counts[group, place, outcome]), counts


@pytest.mark.parametrize("summed", [False, True])
def test_two_of_three_groups_are_as_two_groups(summed):
    rng = np.random.default_rng(0)
    (pilot, _), (rest, counts) = counted(rng, 60), counted(rng, 400)
    made = np.stack([counts.sum(axis=(1, 2)), np.zeros(3)]).astype(np.int64)
    found = []
    for groups in (3, 2):
        scores = scoring(LAW[:, :groups], made[:, :groups], np.full((groups, 2), 0.4), ONE_CONTEXT, cut_at(np.full(groups, 400.0), 0.01))  # fmt: skip
        own, some = (_of(part, groups) for part in (rest, pilot))
        bets = bets_on(scores, some, own, math.log(100))
        if summed:
            bets = SumBets(own.sums(scores), bets.pilot, bets.log_odds)
        shares = SHARES if groups == 3 else np.array([0.5, 0.5])
        found.append(bet_intervals(bets, shares, np.zeros(groups), 0.05, ASKED if groups == 3 else None))
    assert found[0].rows.shape == (1, 2, 4, 2)
    assert found[0].rows[:, :, 0] == pytest.approx(found[1].gaps, abs=1e-9)
    assert np.ptp(found[0].rows[0, :, 0], axis=1).max() < 1.5


def _of(lines: CountedLines, groups: int) -> CountedLines:
    kept = lines.group < groups
    return CountedLines(lines.group[kept], lines.place[kept], lines.outcome[kept], lines.count[kept])


def test_nothing_is_known_of_a_row_with_a_group_that_has_no_row():
    (pilot, _), (rest, counts) = counted(np.random.default_rng(0), 60), counted(np.random.default_rng(1), 400)
    counts[2] = 0
    made = np.stack([counts.sum(axis=(1, 2)), np.zeros(3)]).astype(np.int64)
    scores = scoring(LAW, made, np.full((3, 2), 0.4), ONE_CONTEXT, np.full(3, 2.0))
    bets = bets_on(scores, _of(pilot, 2), _of(rest, 2), math.log(100))
    found = bet_intervals(bets, SHARES, np.zeros(3), 0.05, ASKED)
    assert found.outcomes.tolist() == [[[0.0, 1.0]] * 2]
    assert found.rows[0, 0, 1:].tolist() == [[-0.8, 1.0], [0.0, 1.0], pytest.approx([-0.7, 0.7])]
    assert np.ptp(found.rows[0, 0, 0]) < 1


@pytest.mark.parametrize("kind", ["lines", "sums", "bernstein"])
def test_all_intervals_hold_at_once(kind):
    """At δ = 0.2 in at least 0.8 of 150 logs of 500 rows of each group; they hold in nearly all, and gaps are not trivial."""
    rng, delta, missed, width = np.random.default_rng(3), 0.2, 0, []
    outcomes, values = truths()
    for _ in range(150):
        (pilot, _), (rest, counts) = counted(rng, 100), counted(rng, 400)
        made = np.stack([counts.sum(axis=(1, 2)), np.zeros(3)]).astype(np.int64)
        each = bound_delta(delta, 2, True, 3 if kind == "bernstein" else 1 + len(ASKED))
        if kind == "bernstein":
            y = counts[..., 1]
            cells = GroupCells(counts.sum(axis=2), y, y, made)
            found = weighted_intervals(cut_sums(LAW, cells, each), delta, SHARES, np.zeros(3), ASKED)
        else:
            scores = scoring(LAW, made, np.full((3, 2), 0.4), ONE_CONTEXT, cut_at(np.full(3, 400.0), each))
            bets = bets_on(scores, pilot, rest, math.log(1 / each))
            if kind == "sums":
                bets = SumBets(rest.sums(scores), bets.pilot, bets.log_odds)
            found = bet_intervals(bets, SHARES, np.zeros(3), delta, ASKED)
        inside = [(part[..., 0] <= truth) & (truth <= part[..., 1]) for part, truth in ((found.outcomes[0], outcomes), (found.rows[0], values))]  # fmt: skip
        missed += not all(part.all() for part in inside)
        width.append(np.ptp(found.rows[0, 0], axis=-1))
    assert missed <= 30 and np.mean(width, axis=0).max() < (1.0 if kind == "bernstein" else 0.5)


def test_the_error_of_each_bound_by_hand():
    """Two arms, three groups, four rows: 2·2·3 ends of group means, or 2·2·(1 + 4) ends of outcomes and rows."""
    assert bound_delta(0.1, 2, True, 3) == pytest.approx(0.1 / 12)
    assert bound_delta(0.1, 2, True, 5) == pytest.approx(0.1 / 20)
    assert bound_delta(0.1, 2, False, 3) == pytest.approx(0.09 / 12)


def test_a_row_is_bounded_by_the_ends_of_its_groups():
    """The bound without a pilot: μ(a) − 0.8 μ(c) lies between low(a) − 0.8 high(c) and high(a) − 0.8 low(c)."""
    _, counts = counted(np.random.default_rng(5), 4000)
    made = np.stack([counts.sum(axis=(1, 2)), np.zeros(3)]).astype(np.int64)
    y = counts[..., 1]
    seen = cut_sums(LAW, GroupCells(counts.sum(axis=2), y, y, made), 0.1 / 12)
    found = weighted_intervals(seen, 0.1, SHARES, np.zeros(3), ASKED)
    ends = []
    for t in range(3):
        alone = Rows(np.eye(3)[[t]], np.zeros(1), np.array([-np.inf]), np.array([np.inf]))
        ends.append(weighted_intervals(seen, 0.1, SHARES, np.zeros(3), alone).rows[0, :, 0])
    assert found.rows[0, :, 1, 0] == pytest.approx(ends[0][:, 0] - 0.8 * ends[2][:, 1])
    assert found.rows[0, :, 1, 1] == pytest.approx(ends[0][:, 1] - 0.8 * ends[2][:, 0])
    assert found.rows[0, :, 3, 0] == pytest.approx(0.7 * ends[1][:, 0] - 0.5 * ends[0][:, 1] - 0.2 * ends[2][:, 1])


def test_the_shares_of_three_groups_must_be_known():
    _, counts = counted(np.random.default_rng(5), 50)
    made = np.stack([counts.sum(axis=(1, 2)), np.zeros(3)]).astype(np.int64)
    seen = cut_sums(LAW, GroupCells(counts.sum(axis=2), counts[..., 1], counts[..., 1], made), 0.01)
    with pytest.raises(ProblemError, match="declare the shares, or use bayes-stop"):
        weighted_intervals(seen, 0.1, None, np.full(3, 9.0), ASKED)
