"""Whole pulls: exact counts, never over the cost budget, and against the rule of the page written out in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fairarm.core.design.rounding import round_pulls

INF = float("inf")


# ---- the page's rule, literally ----


def plain_rule(phases: list, costs: list, budget: Fraction | None) -> list[list[int]] | None:
    """docs/decisions/0009-rounding-ties-and-no-usable-pull.md word for word, in exact fractions; None where a floor would
    have to be undone.

    ``phases`` are (shares, τ); units are in the order natural, s, s', each by arm, so ties go to the lowest position.
    """
    cheapest = min(range(len(costs)), key=lambda u: costs[u])
    C, given_out, reached, out = [Fraction(0)] * len(costs), [0] * len(costs), Fraction(0), []
    for shares, tau in phases:
        C = [c + nu * tau for c, nu in zip(C, shares, strict=True)]
        reached += tau
        allowed = None if budget is None else budget * reached
        given_out = [max(g, math.floor(c)) for g, c in zip(given_out, C, strict=True)]
        spent = sum(g * c for g, c in zip(given_out, costs, strict=True) if g)
        if sum(given_out) > math.floor(reached) or (allowed is not None and spent > allowed):
            return None
        while sum(given_out) < math.floor(reached):
            fits = [u for u in range(len(costs)) if allowed is None or spent + costs[u] <= allowed]
            unit = max(fits, key=lambda u: (C[u] - given_out[u], -u)) if fits else cheapest
            given_out[unit] += 1
            spent += costs[unit]
        out.append(list(given_out))
    return out


def ours(phases: list, costs: list, budget: Fraction | None, arms: int) -> list[list[int]]:
    """The cumulative pulls of `round_pulls` over the phases, as a run calls it."""
    paid = np.array([float(c) for c in costs]).reshape(-1, arms)
    target, done, reached, out = np.zeros(paid.shape), np.zeros(paid.shape, dtype=np.int64), 0.0, []
    for shares, tau in phases:
        target = target + np.array([float(nu) for nu in shares]).reshape(paid.shape) * float(tau)
        reached += float(tau)
        done = round_pulls(target, done, paid, None if budget is None else float(budget), reached)
        out.append(done.ravel().tolist())
    return out


# ---- random runs; dyadic numbers, so that floats are exact and ties are ties ----


@st.composite
def runs(draw, free: bool = False, closed_units: bool = True):
    arms = draw(st.integers(1, 4))
    quarters = st.integers(0 if free else 1, 12).map(lambda i: Fraction(i, 4))
    costs: list = [draw(quarters) for _ in range(3 * arms)]
    if closed_units and arms > 1 and draw(st.booleans()):
        for u in draw(st.sets(st.integers(0, 3 * arms - 1), max_size=3 * arms - 1)):
            costs[u] = INF
    usable = [u for u in range(len(costs)) if costs[u] != INF]
    cheap = min(usable, key=lambda u: costs[u])
    if free:
        costs[cheap] = Fraction(0)
    budget = draw(st.none() | st.integers(0, 64).map(lambda i: costs[cheap] + Fraction(i, 32)))
    phases = []
    for _ in range(draw(st.integers(1, 6))):
        parts = [draw(st.integers(0, 16)) if u in usable else 0 for u in range(len(costs))]
        size = 64 if sum(parts) <= 64 else 256
        shares = [Fraction(p, size) for p in parts]
        shares[cheap] += 1 - sum(shares)
        while budget is not None and sum(nu * costs[u] for u, nu in enumerate(shares) if nu) > budget:
            halve = max(shares) > Fraction(1, 2**20) and budget > costs[cheap]
            shares = [nu / 2 if halve else Fraction(0) for nu in shares]
            shares[cheap] += 1 - sum(shares)
        phases.append((shares, Fraction(draw(st.integers(0, 200)), 16)))
    return arms, costs, budget, phases


@settings(max_examples=250, deadline=None, derandomize=True)
@given(run=runs() | runs(free=True))
def test_pulls_are_exact_monotone_and_within_the_budget(run) -> None:
    arms, costs, budget, phases = run
    reached, before = Fraction(0), [0] * len(costs)
    for (_, tau), pulls in zip(phases, ours(phases, costs, budget, arms), strict=True):
        reached += tau
        assert sum(pulls) == math.floor(reached)
        assert all(now >= then for now, then in zip(pulls, before, strict=True))
        assert not any(p for p, c in zip(pulls, costs, strict=True) if c == INF)
        if budget is not None:
            spent = sum(p * c for p, c in zip(pulls, costs, strict=True) if p)
            assert spent <= budget * reached + Fraction(1, 10**6)
        before = pulls


@settings(max_examples=250, deadline=None, derandomize=True)
@given(run=runs(), unlimited=st.just(None))
def test_no_unit_is_far_from_its_share_without_a_limit(run, unlimited) -> None:
    """Without a cost limit each unit stays within one pull of some earlier or present C_u, and of C_u itself if R is stable."""
    arms, costs, _, phases = run
    stable = [(phases[0][0], tau) for _, tau in phases]
    C = [Fraction(0)] * len(costs)
    for (shares, tau), pulls in zip(stable, ours(stable, costs, unlimited, arms), strict=True):
        C = [c + nu * tau for c, nu in zip(C, shares, strict=True)]
        assert all(p - c <= 1 for p, c in zip(pulls, C, strict=True))


@settings(max_examples=250, deadline=None, derandomize=True)
@given(run=runs(free=True, closed_units=False))
def test_where_a_free_unit_exists_it_is_the_rule_of_the_page(run) -> None:
    arms, costs, budget, phases = run
    expected = plain_rule(phases, costs, budget)
    assume(expected is not None)
    assert ours(phases, costs, budget, arms) == expected


@settings(max_examples=150, deadline=None, derandomize=True)
@given(run=runs(closed_units=False))
def test_without_a_limit_it_is_the_rule_of_the_page(run) -> None:
    arms, costs, _, phases = run
    expected = plain_rule(phases, costs, None)
    assume(expected is not None)
    assert ours(phases, costs, None, arms) == expected


# ---- the corner that the page's rule can paint itself into ----

CORNER_COSTS = [Fraction(1), Fraction(1), Fraction(1), Fraction(3)]
CORNER_BUDGET = Fraction(8, 5)
CORNER_SHARES = [Fraction(7, 30)] * 3 + [Fraction(3, 10)]


def test_the_plain_rule_can_end_over_the_budget_and_ours_cannot() -> None:
    """Three units of cost 1, one of cost 3, B = 1.6, shares of average cost exactly 1.6; τ = 1.9 then 0.1.

    After 1.9 the dear unit has the largest remainder (0.57 against 0.443) and 3 ≤ 1.6 · 1.9 = 3.04, so the plain rule pulls
    it. The second pull costs at least 1: 4 > 1.6 · 2 = 3.2. Ours asks 2 ≤ 0.6 · 1.9 = 1.14, pulls a cheap one, then another.
    """
    phases = [(CORNER_SHARES, Fraction(19, 10)), (CORNER_SHARES, Fraction(1, 10))]
    assert sum(nu * c for nu, c in zip(CORNER_SHARES, CORNER_COSTS, strict=True)) == CORNER_BUDGET
    plain = plain_rule(phases, CORNER_COSTS, CORNER_BUDGET)
    assert plain is not None
    assert sum(plain[-1]) == 2
    assert sum(p * c for p, c in zip(plain[-1], CORNER_COSTS, strict=True)) == 4 > CORNER_BUDGET * 2
    made = ours(phases, CORNER_COSTS, CORNER_BUDGET, arms=4)
    assert made == [[1, 0, 0, 0], [1, 1, 0, 0]]
    assert sum(p * c for p, c in zip(made[-1], CORNER_COSTS, strict=True)) == 2


# ---- by hand ----


def test_one_phase_by_hand() -> None:
    """C = (2.5, 0.9, 1.6), ⌊5⌋ pulls: floors 2, 0, 1; the two left go to the remainders 0.9 and 0.6."""
    target = np.array([[2.5], [0.9], [1.6]])
    none = np.zeros((3, 1), dtype=np.int64)
    np.testing.assert_array_equal(round_pulls(target, none, np.ones((3, 1)), None, 5.0), [[2], [1], [2]])
    # at costs 0, 2, 1 and B·length = 3, floors cost 1: the remainder 0.9 takes the last 2, the next goes to a free pull
    costs = np.array([[0.0], [2.0], [1.0]])
    np.testing.assert_array_equal(round_pulls(target, none, costs, 0.6, 5.0), [[3], [1], [1]])


def test_ties_go_to_natural_then_s_then_s_prime_then_the_lower_arm() -> None:
    none = np.zeros((3, 2), dtype=np.int64)
    equal = np.full((3, 2), 0.5)
    expected = [[[1, 0], [0, 0], [0, 0]], [[1, 1], [0, 0], [0, 0]], [[1, 1], [1, 0], [0, 0]]]
    for length, pulls in zip((1.0, 2.0, 3.0), expected, strict=True):
        np.testing.assert_array_equal(round_pulls(equal, none, np.ones((3, 2)), None, length), pulls)


def test_a_floor_is_undone_where_earlier_hand_outs_left_no_room() -> None:
    """Two pulls are out on units whose shares stopped; the new unit's floor of 2 has room for 1 only."""
    target = np.array([[0.5, 0.5, 2.0]])
    given_out = np.array([[1, 1, 0]])
    np.testing.assert_array_equal(round_pulls(target, given_out, np.ones((1, 3)), None, 3.0), [[1, 1, 1]])


def test_fewer_than_one_pull_is_no_pull() -> None:
    none = np.zeros((3, 2), dtype=np.int64)
    np.testing.assert_array_equal(round_pulls(np.full((3, 2), 0.16), none, np.ones((3, 2)), 1.0, 0.96), none)


def test_a_float_just_below_a_whole_number_counts_as_whole() -> None:
    """0.1 added ten times is below 1 in floats; the run still owes one pull."""
    length = sum([0.1] * 10)
    assert length < 1
    made = round_pulls(np.array([[length, 0.0]]), np.zeros((1, 2), dtype=np.int64), np.ones((1, 2)), 1.0, length)
    np.testing.assert_array_equal(made, [[1, 0]])


@pytest.mark.parametrize("seed", range(5))
def test_a_thousand_million_pulls(seed: int) -> None:
    """T = 10^9 over 19 phases with changing shares: exactly T pulls, cost within 1e-9 of B·T, in no time."""
    rng = np.random.default_rng(seed)
    T, n, K = 10**9, 19, 30
    tau = T / np.arange(1, n + 1) / np.sum(1 / np.arange(1, n + 1))
    costs = np.ones((3, K)) * rng.choice([1.0, 2.5])
    costs[:, 0] = 0.3
    budget = 0.3 + 1 / math.sqrt(T)
    target, done = np.zeros((3, K)), np.zeros((3, K), dtype=np.int64)
    for phase in range(n):
        shares = rng.dirichlet(np.full(3 * K, 0.2)).reshape(3, K)
        dear = float(np.sum(shares[:, 1:]))
        shares[:, 1:] *= (budget - 0.3) / (costs[0, 1] - 0.3) / dear
        shares[:, 0] *= (1 - shares[:, 1:].sum()) / shares[:, 0].sum()
        target += shares * tau[phase]
        reached = float(T) if phase == n - 1 else float(tau[: phase + 1].sum())
        earlier, done = done, round_pulls(target, done, costs, budget, reached)
        assert done.sum() == math.floor(reached)
        assert np.all(done >= earlier)
        assert np.sum(done * costs) <= budget * reached * (1 + 1e-9)
    assert done.sum() == T
    assert np.sum(done[:, 1:]) > 0.9 * math.sqrt(T) / (costs[0, 1] - 0.3)  # the budget is used, not only kept


# ---- many pulls moved at once ----


def one_by_one(target: np.ndarray, given_out: np.ndarray, costs: np.ndarray, budget: float, length: float) -> list[int]:
    """The rule with every pull moved on its own, in plain numbers: a loop over units, no level is searched for."""
    C, pulled, paid = target.ravel().tolist(), given_out.ravel().tolist(), costs.ravel().tolist()
    units, cheapest = range(len(C)), min(paid)
    extra = [c - cheapest for c in paid]
    room = (budget - cheapest) * length
    out = [max(g, math.floor(c)) for g, c in zip(pulled, C, strict=True)]
    while sum(out) > length or math.fsum(p * e for p, e in zip(out, extra, strict=True)) > room:
        crowded = sum(out) > length
        movable = [u for u in units if out[u] > pulled[u] and (crowded or extra[u] > 0)]
        out[min(movable, key=lambda u: (C[u] - out[u], -u))] -= 1
    while sum(out) < length:
        left = room - math.fsum(p * e for p, e in zip(out, extra, strict=True))
        fits = [u for u in units if extra[u] <= left and C[u] > out[u]]
        out[max(fits, key=lambda u: (C[u] - out[u], -u)) if fits else extra.index(0)] += 1
    return out


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    targets=st.lists(st.integers(0, 4000), min_size=3, max_size=9).filter(lambda xs: len(xs) % 3 == 0),
    quarters=st.lists(st.integers(0, 40), min_size=9, max_size=9),
    before=st.lists(st.integers(0, 60), min_size=9, max_size=9),
    part=st.integers(0, 64),
    pulls=st.integers(1, 2000),
)
def test_a_target_far_over_the_budget_is_cut_as_if_pull_by_pull(targets, quarters, before, part, pulls) -> None:
    """Dyadic numbers: targets of up to 500 pulls a unit, and a budget that may allow little more than what was given out."""
    size = len(targets)
    costs, given_out = np.array(quarters[:size]) / 4.0, np.array(before[:size])
    target = given_out + np.array(targets) / 8.0
    length = int(given_out.sum()) + pulls
    spent = float(given_out @ (costs - costs.min()))
    budget = costs.min() + (spent + part / 64.0 * float(target @ (costs - costs.min()))) / length
    shape = (3, size // 3)
    made = round_pulls(*(a.reshape(shape) for a in (target, given_out, costs)), budget, float(length))
    assert made.ravel().tolist() == one_by_one(target, given_out, costs, budget + 1e-12, length)


def test_a_target_of_a_million_million_pulls_over_the_budget_takes_no_time() -> None:
    costs = np.array([[0.0, 1e-3, 1e3]])
    target = np.array([[0.0, 1e12, 1e12]])
    made = round_pulls(target, np.zeros((1, 3), dtype=np.int64), costs, 1.0, 1e12)
    assert made.sum() == 10**12
    assert (made * costs).sum() <= 1e12 * (1 + 1e-9)
    assert (made * costs).sum() > 1e12 - 1e3
