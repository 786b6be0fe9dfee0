"""Divergences: closed forms worked by hand, invariants, and the places where floating point gives out."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest

from fairarm.core.paper import divergence
from fairarm.core.paper.divergence import exponential_divergence, no_overlap
from fairarm.problem.context import ContextLaw, ContextSample
from fairarm.problem.mechanism import Arm, Code, Columns, Table, table
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable

COIN = [Variable("S", ("a", "b")), Variable("V", ("heads", "tails")), Variable("Y", ("lose", "win"))]


def coin(*arms: Table | Code, graph: tuple[tuple[str, str], ...] = (("S", "V"), ("V", "Y"))) -> Problem:
    return Problem(
        name="coin",
        variables=COIN,
        graph=graph,
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm(f"arm {k}", mechanism) for k, mechanism in enumerate(arms)],
        shares=(0.25, 0.75),
    )


def exactly(law: list[float], exponents: list[float]) -> float:
    """log Σ p exp(x) in 60 digits."""
    with decimal.localcontext() as context:
        context.prec = 60
        context.Emax, context.Emin = decimal.MAX_EMAX, decimal.MIN_EMIN
        total = sum((Decimal(p) * Decimal(x).exp() for p, x in zip(law, exponents, strict=True)), Decimal(0))
        return float(total.ln())


# ---- by hand ----


def test_two_arms_one_coin() -> None:
    """Heads with 1/2 and with 1/4: ratios 2 and 2/3 one way, 1/2 and 3/2 the other."""
    problem = coin(table("V", [], [0.5, 0.5]), table("V", [], [0.25, 0.75]), graph=(("V", "Y"), ("S", "Y")))
    problem = _with_outcome_mechanism(problem, [[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]])
    expected = [
        [1.0, math.log(0.5 * math.exp(2) + 0.5 * math.exp(2 / 3))],
        [math.log(0.25 * math.exp(1 / 2) + 0.75 * math.exp(3 / 2)), 1.0],
    ]
    np.testing.assert_allclose(problem.compiled.tables.M, np.array(expected), rtol=1e-14)
    # S changes nothing: every g is 0, and two laws sum to 2
    np.testing.assert_allclose(problem.compiled.tables.D, np.full((2, 2, 2), math.log(2)), rtol=1e-14)


def _with_outcome_mechanism(problem: Problem, rows: list[list[list[float]]]) -> Problem:
    return Problem(
        name=problem.name,
        variables=problem.variables,
        graph=problem.graph,
        sensitive="S",
        decision="V",
        outcome=problem.outcome,
        tolerance=0.1,
        arms=problem.arms,
        mechanisms=[table("Y", ["V", "S"], rows)],
        shares=problem.shares,
    )


def test_a_coin_that_sees_the_group() -> None:
    """Arm 0: heads with 0.6 in group a, 0.4 in b. Arm 1: 0.5 and 0.8. Shares 1/4 and 3/4."""
    problem = coin(table("V", ["S"], [[0.6, 0.4], [0.4, 0.6]]), table("V", ["S"], [[0.5, 0.5], [0.8, 0.2]]))
    m_01 = 0.25 * (0.6 * math.exp(1.2) + 0.4 * math.exp(0.8)) + 0.75 * (0.4 * math.exp(0.5) + 0.6 * math.exp(3.0))
    assert problem.compiled.tables.M[0] == pytest.approx([1.0, math.log(m_01)], rel=1e-14)
    # direction 0: denominators are those of group b; p_a + p_b is (1, 1) for arm 0 and (1.3, 0.7) for arm 1
    d_00 = math.log(math.exp(0.2 / 0.4) + math.exp(0.2 / 0.6))
    d_01 = math.log(math.exp(0.2 / 0.8) + math.exp(0.2 / 0.2))
    d_10 = math.log(1.3 * math.exp(0.3 / 0.4) + 0.7 * math.exp(0.3 / 0.6))
    d_11 = math.log(1.3 * math.exp(0.3 / 0.8) + 0.7 * math.exp(0.3 / 0.2))
    assert problem.compiled.tables.D[0] == pytest.approx(np.array([[d_00, d_01], [d_10, d_11]]), rel=1e-14)
    # direction 1: the same differences over group a's probabilities
    e_00 = math.log(math.exp(0.2 / 0.6) + math.exp(0.2 / 0.4))
    e_01 = math.log(math.exp(0.2 / 0.5) + math.exp(0.2 / 0.5))
    assert problem.compiled.tables.D[1, 0] == pytest.approx([e_00, e_01], rel=1e-14)


def test_a_child_of_the_sensitive_node_counts_in_gaps_and_cancels_in_outcomes() -> None:
    problem = _child_problem(ContextLaw((), np.array(1.0)), _child_table())
    np.testing.assert_allclose(problem.compiled.tables.M, np.array([[1.0]]), rtol=1e-14)
    # L differs only in x: 0.2 vs 0.6 and 0.8 vs 0.4, whatever v
    expected = math.log(0.8 * math.exp(0.4 / 0.6) + 1.2 * math.exp(0.4 / 0.4))
    assert problem.compiled.tables.D[0, 0, 0] == pytest.approx(expected, rel=1e-14)


def _child_table() -> Table:
    return table("X", ["S"], [[0.2, 0.8], [0.6, 0.4]])


def _child_problem(context: ContextLaw | ContextSample | None, child: Table | Code) -> Problem:
    """One fair-coin arm, and a child X of S beside it on the way to Y."""
    return Problem(
        name="child",
        variables=[*COIN, Variable("X", ("x0", "x1"))],
        graph=[("S", "X"), ("X", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm("fair", table("V", [], [0.5, 0.5]))],
        mechanisms=[child],
        shares=(0.5, 0.5),
        context=context,
    )


# ---- invariants ----


@pytest.mark.parametrize("seed", range(20))
def test_invariants(seed: int) -> None:
    """M_kk = 1, M ≥ 1, D ≥ log 2, and with a cell that one arm lacks: +inf in its column only."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(2), size=(4, 2))
    problem = coin(*(table("V", ["S"], row) for row in rows))
    M, D = problem.compiled.tables.M, problem.compiled.tables.D
    assert np.diag(M) == pytest.approx(np.ones(4), rel=1e-13)
    assert np.all(M >= 1 - 1e-13)
    assert D.min() >= math.log(2) - 1e-13
    rows[2, 1] = [1.0, 0.0]
    lacking = coin(*(table("V", ["S"], row) for row in rows))
    assert np.isinf(lacking.compiled.tables.M).tolist() == [[False, False, k != 2, False] for k in range(4)]
    assert np.isinf(lacking.compiled.tables.D[0]).tolist() == [[False, False, True, False]] * 4
    assert not np.isinf(lacking.compiled.tables.D[1]).any()


def test_scaling_a_cell_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    law, own, other = rng.dirichlet(np.ones(6), size=3), rng.random((3, 6)), rng.random((2, 6))
    factor = 10.0 ** rng.uniform(-100, 100, size=6)
    plain = exponential_divergence(law, own, other)
    assert exponential_divergence(law, own * factor, other * factor) == pytest.approx(plain, rel=1e-12)


def test_the_sign_of_the_numerator_does_not_count() -> None:
    law, own, other = np.array([[0.5, 0.5]]), np.array([[0.3, -0.2]]), np.array([[0.5, 0.5]])
    expected = math.log(0.5 * math.exp(0.6) + 0.5 * math.exp(0.4))
    assert exponential_divergence(law, own, other)[0, 0] == pytest.approx(expected, rel=1e-14)


# ---- large ratios ----


@pytest.mark.parametrize("ratio", [699.0, 700.0, 701.0, 709.0, 710.0, 745.0, 5000.0, 123456.0])
@pytest.mark.parametrize("probability", [0.3, 1e-300])
def test_ratios_beyond_the_range_of_exp(ratio: float, probability: float) -> None:
    law, rest = np.array([[probability, 1 - probability]]), 0.5
    found = exponential_divergence(law, np.array([[ratio, rest]]), np.ones((1, 2)))
    assert found[0, 0] == pytest.approx(exactly([probability, 1 - probability], [ratio, rest]), rel=1e-14)


def test_large_and_small_ratios_in_one_call() -> None:
    """A pair far above 700 must not disturb its neighbours, whose peak is small."""
    law = np.array([[0.5, 0.5], [0.9, 0.1]])
    own, other = np.array([[1.0, 2.0], [3.0, 0.5]]), np.array([[1.0, 1.0], [1e-4, 1.0], [1.0, 2e-3]])
    expected = [[exactly(list(law[k]), list(own[k] / other[j])) for j in range(3)] for k in range(2)]
    assert exponential_divergence(law, own, other) == pytest.approx(np.array(expected), rel=1e-14)


def test_a_probability_of_one_in_ten_thousand() -> None:
    """0.5 where the pulled arm has 1e-4: ratio 5000, M = 5000 + log(1/2) to the last digit."""
    problem = coin(table("V", ["S"], [[0.5, 0.5]] * 2), table("V", ["S"], [[1e-4, 1 - 1e-4]] * 2))
    assert problem.compiled.tables.M[0, 1] == pytest.approx(5000 + math.log(0.5), rel=1e-13)


# ---- zeros ----


def test_zero_over_zero_is_zero() -> None:
    found = exponential_divergence(np.array([[0.5, 0.5]]), np.array([[0.0, 1.0]]), np.array([[0.0, 1.0]]))
    assert found[0, 0] == pytest.approx(math.log(0.5 + 0.5 * math.e), rel=1e-14)


def test_something_over_zero_is_infinite_where_the_law_is_positive() -> None:
    own, other = np.array([[1e-30, 1.0], [1e-30, 1.0]]), np.array([[0.0, 1.0], [1.0, 1.0]])
    law = np.array([[1e-9, 1 - 1e-9], [0.0, 1.0]])
    assert np.isinf(exponential_divergence(law, own, other)).tolist() == [[True, False], [False, False]]
    assert no_overlap(law, own, other).tolist() == [[True, False], [False, False]]


def test_cells_with_law_zero_do_not_count() -> None:
    law, other = np.array([[1.0, 0.0]]), np.array([[1.0, 1e-3]])
    assert exponential_divergence(law, np.array([[1.0, 1e6]]), other)[0, 0] == pytest.approx(1.0, rel=1e-14)


def test_zero_over_a_denormal_is_zero() -> None:
    """1/1e-310 overflows; 0 times that must not become nan."""
    found = exponential_divergence(np.array([[0.5, 0.5]]), np.array([[0.0, 1.0]]), np.array([[1e-310, 1.0]]))
    assert found[0, 0] == pytest.approx(math.log(0.5 + 0.5 * math.e), rel=1e-14)


def test_a_ratio_beyond_doubles_is_infinite() -> None:
    found = exponential_divergence(np.array([[0.5, 0.5]]), np.array([[1.0, 1.0]]), np.array([[1e-310, 1.0]]))
    assert found[0, 0] == np.inf


# ---- tiny likelihoods ----


def _shifted(rows: list[list[float]], shift: float) -> Callable[[Columns], np.ndarray]:
    logs = np.log(np.array(rows)) + shift
    return lambda columns: logs[columns["S"], columns["X"]]


@pytest.mark.parametrize("shift", [-1000.0, -700.0, 400.0])
def test_a_child_whose_density_is_tiny(shift: float) -> None:
    """A density in other units is any factor times the old one: log L near −1000, the same divergences."""
    S, V, X = (axis.ravel() for axis in np.meshgrid([0, 1], [0, 1], [0, 0, 0, 1, 1], indexing="ij"))
    sample = ContextSample("fair", {"S": S, "V": V, "X": X})
    rows = [[0.2, 0.8], [0.6, 0.4]]
    plain = _child_problem(sample, _child_table()).compiled.tables
    tiny = _child_problem(sample, Code("X", ("S",), _shifted(rows, shift))).compiled.tables
    assert tiny.likelihood.log_L.max() < -1000 + 0.1 or shift != -1000
    np.testing.assert_allclose(tiny.M, plain.M, rtol=1e-12)
    np.testing.assert_allclose(tiny.D, plain.D, rtol=1e-12)
    # the sample has P(x0) = 0.6 in both groups, whatever the mechanism says
    assert plain.D[0, 0, 0] == pytest.approx(math.log(1.2 * math.exp(0.4 / 0.6) + 0.8 * math.exp(0.4 / 0.4)), rel=1e-13)


def _tailed(log_heads: float) -> Code:
    """Heads with probability exp(log_heads), tiny; tails otherwise."""
    return Code("V", (), lambda columns: np.where(columns["V"] == 0, log_heads, 0.0))


def _tails(*log_heads: float) -> Problem:
    problem = coin(*(_tailed(x) for x in log_heads), graph=(("V", "Y"), ("S", "Y")))
    return _with_outcome_mechanism(problem, [[[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]])


def test_arms_with_a_tiny_probability_in_common() -> None:
    """exp(−600) against exp(−603): the ratio e^3 is exact, its weight in the mean nothing."""
    M = _tails(-600.0, -603.0).compiled.tables.M
    np.testing.assert_allclose(M, np.ones((2, 2)), rtol=1e-14)
    M = _tails(-600.0, -608.0).compiled.tables.M
    assert M[0, 1] == pytest.approx(math.exp(8.0) - 600.0, rel=1e-12)


def test_a_ratio_of_tiny_probabilities_beyond_doubles_does_not_overlap() -> None:
    M = _tails(-20.0, -1000.0).compiled.tables.M
    assert np.isinf(M).tolist() == [[False, True], [False, False]]


# ---- blocks ----


@pytest.mark.parametrize("block", [1, 7, 37, 40, 150, 1000])
def test_blocks_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    law, own, other = rng.dirichlet(np.ones(37), size=5), rng.random((5, 37)), rng.random((4, 37))
    law[2, :9] = 0
    other[1, 3] = 0
    other[2, 11] = 1e-5
    expected = np.empty((5, 4))
    for k in range(5):
        for j in range(4):
            used = [c for c in range(37) if law[k, c] > 0]
            if any(other[j, c] == 0 for c in used):
                expected[k, j] = np.inf
            else:
                expected[k, j] = exactly([law[k, c] for c in used], [own[k, c] / other[j, c] for c in used])
    monkeypatch.setattr(divergence, "BLOCK", block)
    found = exponential_divergence(law, own, other)
    assert np.array_equal(np.isinf(found), np.isinf(expected))
    assert np.isinf(expected).sum() == 4
    finite = ~np.isinf(expected)
    assert found[finite] == pytest.approx(expected[finite], rel=1e-13)
