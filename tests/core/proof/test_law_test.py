"""The test of a declared law: against scipy's laws, by enumeration of every outcome, then over runs.

What matters most is that an e-value is not expected to grow under the law that is declared, whatever plan chose the rows
and whichever of them were lost: that is enumerated. What it finds, and how soon, is simulated.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import dirichlet_multinomial, multinomial

from fairarm.core.proof.law_test import (
    LOG_VOID,
    About,
    Given,
    Margin,
    given_parents_tests,
    is_void,
    known_law_tests,
    log_average,
)

SHARES = np.array([0.4, 0.6])
DECISION, CONTEXT = np.array([0, 1, 0, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2])
H = np.array([0.5, 0.3, 0.2])


def contexts_and_decisions(seed: int, arms: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """P(v | z) of each arm and group, (K, 2, 3, 2), and the law of the six cells."""
    given_z = np.random.default_rng(seed).dirichlet([2.0, 2.0], (arms, 2, 3))
    return given_z, (H[:, None] * given_z).reshape(arms, 2, 6)


def log_ratio(n, p) -> float:
    """log of a Dirichlet(½)-multinomial over a multinomial law, by scipy; the coefficients cancel."""
    n, p = np.asarray(n), np.asarray(p)
    if not n.sum():
        return 0.0
    return float(
        dirichlet_multinomial.logpmf(n, np.full(len(n), 0.5), n.sum()) - multinomial.logpmf(n, n.sum(), p / p.sum())
    )


def value_of(tests, about: About, cells, natural=None) -> float:
    natural = np.zeros((1, 2)) if natural is None else np.asarray(natural, dtype=float)[None]
    return float(tests.log_values(np.asarray(cells, dtype=float)[None], natural)[0, tests.about.index(about)])


# ---- the numbers ----


def test_each_value_is_the_ratio_that_scipy_gives():
    _, law = contexts_and_decisions(0)
    rng = np.random.default_rng(1)
    cells, natural = rng.integers(0, 30, law.shape), [17, 5]
    tests = known_law_tests(law, DECISION, CONTEXT, SHARES)
    by_cell, by_decision = [], []
    for k, t in np.ndindex(2, 2):
        n, p = cells[k, t].reshape(3, 2), law[k, t].reshape(3, 2)
        by_cell.append(log_ratio(cells[k, t], law[k, t]))
        by_decision.append(log_ratio(n.sum(axis=0), p.sum(axis=0)))
        assert value_of(tests, About(Margin.CELL, k, t), cells) == pytest.approx(by_cell[-1])
        assert value_of(tests, About(Margin.DECISION, k, t), cells) == pytest.approx(by_decision[-1])
        assert value_of(tests, About(Margin.CONTEXT, k, t), cells) == pytest.approx(log_ratio(n.sum(axis=1), H))
    assert value_of(tests, About(Margin.CELL), cells) == pytest.approx(sum(by_cell))
    assert value_of(tests, About(Margin.DECISION), cells) == pytest.approx(sum(by_decision))
    pooled = cells.reshape(4, 3, 2).sum(axis=(0, 2))
    assert value_of(tests, About(Margin.CONTEXT), cells) == pytest.approx(log_ratio(pooled, H))
    assert value_of(tests, About(Margin.SHARES), cells, natural) == pytest.approx(log_ratio(natural, SHARES))
    assert len(tests.about) == 3 * 4 + 4


def nodes_of(given_z: np.ndarray) -> list[Given]:
    """The decision given the context, and the context as a "child" of nothing: P(z | t) = H for every arm."""
    arms = len(given_z)
    decision = Given(DECISION, np.tile(CONTEXT, (arms, 1)), given_z.reshape(arms, 2, 6))
    child = Given(CONTEXT, np.zeros((arms, 6), dtype=np.int64), np.broadcast_to(H[CONTEXT], (arms, 2, 6)))
    return [decision, child]


def test_given_their_parents_values_are_products_over_what_the_parents_are():
    given_z, law = contexts_and_decisions(3)
    cells = np.random.default_rng(4).integers(0, 20, law.shape)
    tests = given_parents_tests(nodes_of(given_z), SHARES)
    for k, t in np.ndindex(2, 2):
        n = cells[k, t].reshape(3, 2)
        expected = sum(log_ratio(n[z], given_z[k, t, z]) for z in range(3))
        assert value_of(tests, About(Margin.DECISION, k, t, 0), cells) == pytest.approx(expected)
        assert value_of(tests, About(Margin.CHILD, k, t, 1), cells) == pytest.approx(log_ratio(n.sum(axis=1), H))
    for t in (0, 1):
        pooled = cells[:, t].reshape(2, 3, 2).sum(axis=(0, 2))
        assert value_of(tests, About(Margin.CHILD, None, t, 1), cells) == pytest.approx(log_ratio(pooled, H))
    assert len(tests.about) == 4 + 4 + 2 + 1 + 1


def test_impossible_atoms_are_no_atoms_until_they_are_seen():
    law = np.array([[[0.2, 0.8, 0.0], [0.5, 0.5, 0.0]]])
    tests = known_law_tests(law, np.arange(3), np.zeros(3, dtype=np.int64), None)
    cells = np.array([[[3, 9, 0], [0, 0, 0]]])
    assert value_of(tests, About(Margin.DECISION, 0, 0), cells) == pytest.approx(log_ratio([3, 9], [0.2, 0.8]))
    cells[0, 0, 2] = 1
    assert value_of(tests, About(Margin.DECISION, 0, 0), cells) == math.inf
    assert is_void(tests.log_values(cells[None].astype(float), np.zeros((1, 2))))[0]


# ---- which tests there are ----


def test_tests_that_coincide_count_once():
    law = np.array([[[0.2, 0.3, 0.5], [0.1, 0.2, 0.7]], [[0.6, 0.2, 0.2], [0.1, 0.1, 0.8]]])
    same = known_law_tests(law, np.arange(3), np.zeros(3, dtype=np.int64), None)
    assert same.about == (*(About(Margin.DECISION, k, t) for k, t in np.ndindex(2, 2)), About(Margin.DECISION))


def test_an_arm_that_decides_by_the_context_alone_has_its_cells_tested_once():
    law = np.array([[[0.5, 0.0, 0.0, 0.5], [0.25, 0.25, 0.25, 0.25]]])  # the first group's decision is the context
    tests = known_law_tests(law, np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), None)
    assert [t.margin for t in tests.about if t.group == 0] == [Margin.DECISION]
    assert [t.margin for t in tests.about if t.group == 1] == [Margin.DECISION, Margin.CONTEXT, Margin.CELL]


def test_contexts_are_pooled_only_where_every_arm_sees_the_same():
    law = np.array([[[0.25, 0.25, 0.25, 0.25], [0.4, 0.4, 0.1, 0.1]]])
    tests = known_law_tests(law, np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), None)
    assert About(Margin.CONTEXT) not in tests.about
    assert About(Margin.CONTEXT, 0, 1) in tests.about


def test_what_is_certain_is_not_tested():
    law = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    tests = known_law_tests(law, np.arange(2), np.zeros(2, dtype=np.int64), None)
    assert tests.about == ()
    values = tests.log_values(np.ones((3, 1, 2, 2)), np.zeros((3, 2)))
    assert values.shape == (3, 0) and not is_void(values).any()


# ---- the proof ----


def every_count(rows: int, atoms: int):
    return [n for n in itertools.product(range(rows + 1), repeat=atoms) if sum(n) == rows]


probabilities = st.lists(st.floats(0.02, 1.0), min_size=6, max_size=6)


@settings(max_examples=25, deadline=None)
@given(weights=probabilities, rows=st.integers(1, 4), first=st.floats(0.05, 0.95))
def test_no_value_is_expected_to_grow(weights, rows, first):
    """Over every outcome of some rows of one arm and group, E[e] = 1 in each of its tests, known law and given parents."""
    p = np.array(weights) / sum(weights)
    z = p.reshape(3, 2).sum(axis=1)
    law = np.broadcast_to(p, (1, 2, 6))
    conditional = np.broadcast_to((p.reshape(3, 2) / z[:, None]).ravel(), (1, 2, 6))
    counts = np.array(every_count(rows, 6))
    cells = np.zeros((len(counts), 1, 2, 6))
    cells[:, 0, 0] = counts
    natural = np.array([[n, rows - n] for n in range(rows + 1)], dtype=float)
    weight = multinomial.pmf(counts, rows, p)
    shares = np.array([first, 1 - first])
    known = known_law_tests(law, DECISION, CONTEXT, shares)
    of_nodes = given_parents_tests([Given(DECISION, CONTEXT[None], conditional)], shares)
    for tests in (known, of_nodes):
        values = np.exp(tests.log_values(cells, np.zeros((len(counts), 2))))
        assert weight @ values == pytest.approx(np.ones(len(tests.about)), abs=1e-9)
        by_share = np.exp(tests.log_values(np.zeros((rows + 1, 1, 2, 6)), natural))[:, tests.about.index(About(Margin.SHARES))]  # fmt: skip
        assert multinomial.pmf(natural, rows, shares) @ by_share == pytest.approx(1.0)


def test_no_value_is_expected_to_grow_under_a_plan_that_follows_the_rows():
    """Two batches of two rows: the arm and group of the second are chosen by what the first showed."""
    law = np.array([[[0.3, 0.7], [0.6, 0.4]], [[0.9, 0.1], [0.2, 0.8]]])
    tests = known_law_tests(law, np.arange(2), np.zeros(2, dtype=np.int64), None)
    mean = 0.0
    for c in itertools.product((0, 1), repeat=4):
        k, t = (0, 1) if c[0] == c[1] else (1, 0)
        units = [(0, 0), (1, 1), (k, t), (0, 0) if c[0] else (k, t)]
        cells = np.zeros((1, 2, 2, 2))
        for unit, cell in zip(units, c, strict=True):
            cells[0, *unit, cell] += 1
        chance = math.prod(law[k, t, cell] for (k, t), cell in zip(units, c, strict=True))
        mean = mean + chance * np.exp(tests.log_values(cells, np.zeros((1, 2)))[0])
    assert mean == pytest.approx(np.ones(len(tests.about)))


@pytest.mark.parametrize("known", [True, False])
def test_lost_rows_cannot_make_a_value_grow(known):
    """Three rows of one arm and group after five; an adversary loses whichever one of them makes each value largest."""
    given_z, law = contexts_and_decisions(5, arms=1)
    tests = known_law_tests(law, DECISION, CONTEXT, None) if known else given_parents_tests(nodes_of(given_z), None)
    before = np.array([2.0, 0.0, 1.0, 0.0, 1.0, 1.0])
    lost = np.zeros((1, 3, 1), dtype=np.int64)
    lost[0, 1, 0] = 1
    start = np.zeros((1, 1, 2, 6))
    start[0, 0, 0] = before
    at_start = tests.log_values(start, np.zeros((1, 2)))[0]
    mean = 0.0
    for rows in itertools.product(range(6), repeat=3):
        best = np.full(len(tests.about), -np.inf)
        for kept in (rows, rows[1:], (rows[0], rows[2]), rows[:2]):
            cells = start.copy()
            np.add.at(cells[0, 0, 0], list(kept), 1)
            value = tests.log_values(cells, np.zeros((1, 2)))[0]
            if len(kept) < 3:
                value = value + tests.log_lost(cells, np.zeros((1, 2)), lost)[0]
            best = np.maximum(best, value - at_start)
        mean = mean + math.prod(law[0, 0, list(rows)]) * np.exp(best)
    assert np.all(mean <= 1 + 1e-9)
    assert mean.max() == pytest.approx(1.0)  # where nothing better can be done, nothing is lost


def test_a_natural_row_that_is_lost_is_charged_to_both_groups_and_to_the_shares():
    _, law = contexts_and_decisions(6)
    tests = known_law_tests(law, DECISION, CONTEXT, SHARES)
    lost = np.zeros((1, 3, 2), dtype=np.int64)
    lost[0, 0, 1] = 1
    charged = tests.log_lost(np.ones((1, *law.shape)), np.array([[3.0, 4.0]]), lost)[0]
    of = {(t.margin, t.arm, t.group) for t, c in zip(tests.about, charged, strict=True) if c < 0}
    assert {
        (Margin.DECISION, 1, 0),
        (Margin.DECISION, 1, 1),
        (Margin.SHARES, None, None),
        (Margin.CELL, None, None),
    } <= of
    assert not any(arm == 0 for _, arm, _ in of)
    share = tests.about.index(About(Margin.SHARES))
    assert charged[share] == pytest.approx(math.log(min(3.5 / (9 * 0.4), 4.5 / (9 * 0.6))))


# ---- what it finds ----


def rows_until_void(tests, true, shares, runs, most, seed, step=50) -> np.ndarray:
    """Rows of each arm and group when the run is void, looked at after every ``step`` of them; inf where it is not."""
    rng = np.random.default_rng(seed)
    cells, natural = np.zeros((runs, *true.shape)), np.zeros((runs, 2))
    found = np.full(runs, np.inf)
    for rows in range(step, most + 1, step):
        for unit in np.ndindex(true.shape[:2]):
            cells[:, *unit] += rng.multinomial(step, true[unit], runs)
        natural += rng.multinomial(step, shares, runs)
        found = np.minimum(found, np.where(is_void(tests.log_values(cells, natural)), rows, np.inf))
    return found


UNITS = np.random.default_rng(8).dirichlet([4.0, 4.0, 4.0], (5, 2))
"""Ten units of three decisions."""


def of_units(shares=SHARES):
    return known_law_tests(UNITS, np.arange(3), np.zeros(3, dtype=np.int64), shares)


def test_a_right_law_is_not_void():
    """Allowed: 1 run in 10 000. In 400 runs with 40 looks each even one would be one in 25 (seed fixed)."""
    assert not np.isfinite(rows_until_void(of_units(), UNITS, SHARES, 400, 2000, 1)).any()


def test_one_unit_of_ten_that_is_off_by_a_tenth_is_found():
    """Half of the runs by about 900 of its rows, nearly all by 1 500."""
    true = UNITS.copy()
    true[3, 1, 0] += 0.1
    true[3, 1, 1:] *= (1 - true[3, 1, 0]) / true[3, 1, 1:].sum()
    found = rows_until_void(of_units(), true, SHARES, 200, 1800, 2)
    assert 500 < np.median(found) < 1100
    assert np.mean(found <= 1600) > 0.9


def test_wrong_shares_are_found():
    found = rows_until_void(of_units(), UNITS, np.array([0.55, 0.45]), 100, 800, 3)
    assert np.isfinite(found).mean() > 0.9


def test_the_average_needs_no_more_than_one_value_and_their_number():
    values = np.full((2, 10), -50.0)
    values[0, 3], values[1, 3] = LOG_VOID + math.log(10) + 1e-9, LOG_VOID + math.log(10) - 1e-6
    assert is_void(values).tolist() == [True, False]
    assert log_average(np.zeros((1, 7)))[0] == pytest.approx(0.0)


def test_lost_rows_of_known_groups_are_charged_to_these_alone():
    """Two arms, two groups: three lost rows of arm 0, all in group 1, and none of the groups is in doubt."""
    law = np.random.default_rng(5).dirichlet(np.ones(3), (2, 2))
    tests = known_law_tests(law, np.arange(3), np.zeros(3, dtype=np.int64), np.array([0.5, 0.5]))
    cells, natural = np.full((1, 2, 2, 3), 4.0), np.full((1, 2), 24.0)
    lost = np.zeros((1, 3, 2), dtype=np.int64)
    lost[0, 0, 0] = 3
    unknown = tests.log_lost(cells, natural, lost)[0]
    known = tests.log_lost(cells, natural, lost, np.array([[[0, 3], [0, 0]]]))[0]
    for about, a, b in zip(tests.about, unknown, known, strict=True):
        if about.arm == 0 and about.group == 1:
            assert a == b < 0
        elif about.arm is not None or about.margin == Margin.SHARES:
            assert b == 0
    assert sum(known) > sum(unknown)
