"""What is drawn of several groups, and what follows from it: rows, gaps, P(all rows), against enumeration and many logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, permutations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fairarm.beliefs.beliefs import believe
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.draws import Averaged, Draws
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.robust import RobustBeliefs
from fairarm.beliefs.standing import Standing, standing_of
from fairarm.core.fairness import Rows, gap_of
from fairarm.core.posterior.directions import Directions
from fairarm.errors import ProblemError
from fairarm.problem.constraint import Constraint
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds import NetworkWorld, Truth
from many_groups import many_groups, means_by_loops

PAIRS = Constraint(compare="pairs", tolerance=0.2)
REFERENCE = Constraint(compare="reference", reference="b", tolerance=0.05, direction="not_below")
MEAN = Constraint(compare="mean", tolerance=0.1)
RATIO = Constraint(compare="pairs", ratio=0.7)
FLOOR = Constraint(compare="floor", at_least=0.4)

Plain = Callable[[np.ndarray, float], bool]
"""Whether an arm is fair, in plain words: from its means by group and its outcome."""


def within_pairs(means: np.ndarray, outcome: float) -> bool:
    return all(abs(x - y) < 0.2 for x, y in combinations(means, 2))


def not_below_b(means: np.ndarray, outcome: float) -> bool:
    return all(mean - means[1] > -0.05 for mean in means)


def near_the_mean(means: np.ndarray, outcome: float) -> bool:
    return all(abs(mean - outcome) < 0.1 for mean in means)


def seven_tenths(means: np.ndarray, outcome: float) -> bool:
    return all(x > 0.7 * y for x, y in permutations(means, 2))


def above_the_floor(means: np.ndarray, outcome: float) -> bool:
    return bool(min(means) > 0.4)


QUESTIONS: list[tuple[tuple[Constraint, ...], tuple[Plain, ...], int]] = [
    ((PAIRS,), (within_pairs,), 6),
    ((REFERENCE,), (not_below_b,), 3),
    ((MEAN,), (near_the_mean,), 4),
    ((RATIO,), (seven_tenths,), 12),
    ((FLOOR,), (above_the_floor,), 4),
    ((PAIRS, FLOOR, RATIO, MEAN), (within_pairs, above_the_floor, seven_tenths, near_the_mean), 26),
]


# ---- rows and gaps ----


def test_gaps_of_pairs_are_exactly_opposite_and_rows_are_theirs() -> None:
    rng = np.random.default_rng(0)
    drawn = Draws(rng.random((2, 5, 3)), rng.random((2, 5, 3, 4)))
    found = drawn.gaps(((0, 2), (2, 0), (3, 1)))
    assert found.shape == (2, 5, 3, 3)
    np.testing.assert_array_equal(found[:, :, 0], drawn.means[..., 0] - drawn.means[..., 2])
    np.testing.assert_array_equal(found[:, :, 1], -found[:, :, 0])
    np.testing.assert_array_equal(found[:, :, 2], -(drawn.means[..., 1] - drawn.means[..., 3]))
    assert drawn.gaps(()).shape == (2, 5, 0, 3)
    average = Averaged.of_draws(drawn)
    rows = Rows(np.array([[1.0, 0, -1, 0], [0, 1, 0, 0]]), np.array([0.0, -1.0]), np.full(2, -1.0), np.full(2, 1.0))
    np.testing.assert_allclose(average.rows(rows), drawn.rows(rows).mean(axis=1))
    np.testing.assert_array_equal(average.gaps(((0, 2),))[:, 0], found[:, :, 0].mean(axis=1))


def test_of_two_groups_they_unpack_as_outcomes_and_gaps() -> None:
    drawn = Draws(np.array([[0.5, 0.25]]), np.array([[[0.5, 0.25], [0.0, 0.5]]]))
    outcomes, gaps = drawn
    assert outcomes is drawn.outcomes and gaps.tolist() == drawn[1].tolist() == [[0.25, -0.5]]
    with pytest.raises(ProblemError, match="one pair at a time"):
        _ = Draws(np.zeros((1, 2)), np.zeros((1, 2, 3)))[0]


# ---- P(all rows), exactly ----


def enumerated(world: NetworkWorld, values: tuple[float, ...]) -> tuple[Standing, np.ndarray]:
    """What is believed where every θ_c is each of these values with the same probability, and all θ, (cases, C).

    A little more from cell to cell: no two arms have the same outcome.
    """
    problem = world.problem
    cases = np.array(list(product(values, repeat=len(problem.variables["V"].states or ()))))
    cases = cases + 0.013 * np.arange(cases.shape[1])
    beliefs = CellBeliefs.of(CellEvidence.empty(problem))
    stub = SimpleNamespace(
        draw=lambda rng, draws: cases[None, :draws], mean=cases.mean(axis=0)[None], noise=np.full((1, cases.shape[1]), 0.2),
        strength=np.ones((1, cases.shape[1])), smooth=None,
    )  # fmt: skip
    beliefs.__dict__["posterior"] = stub
    drawn = beliefs.draw(np.random.default_rng(0), len(cases))
    rows = problem.compiled.rows
    return standing_of(beliefs, drawn.outcomes, drawn.rows(rows), rows), cases


def all_rows_are_right(constraints: tuple[Constraint, ...], plain: tuple[Plain, ...], rows: int) -> bool:
    """P(fair), P(best), P(none) and P(each row) of 4 arms and 4 groups, enumerated over 4³ truths in plain words."""
    for seed in (1, 2, 3):
        world = many_groups(seed, K=4, C=3, alike=2.0, constraints=constraints)
        if len(world.problem.rows) != rows:
            return False
        found, cases = enumerated(world, (0.1, 0.4, 0.6, 0.9))
        shares, fair, best = np.array(world.problem.shares), np.zeros(4), np.zeros(5)
        for theta in cases:
            means = means_by_loops(world, theta)
            outcomes = means @ shares
            ok = [all(asked(means[k], outcomes[k]) for asked in plain) for k in range(4)]
            fair += ok
            best[1 + max((k for k in range(4) if ok[k]), key=lambda k: outcomes[k]) if any(ok) else 0] += 1
        if not np.allclose(found.fair[0], fair / len(cases), atol=1e-12):
            return False
        if not np.allclose(found.votes[0], best / len(cases), atol=1e-12):
            return False
        if np.any(found.row_holds[0].min(axis=1) < found.fair[0] - 1e-12):
            return False
    return True


@pytest.mark.parametrize(("constraints", "plain", "rows"), QUESTIONS)
def test_the_probability_that_all_rows_hold(
    constraints: tuple[Constraint, ...], plain: tuple[Plain, ...], rows: int
) -> None:
    assert all_rows_are_right(constraints, plain, rows)


def row_dropped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Rows, "values", lambda self, means, outcomes, honest=Rows.values: honest(self, means, outcomes) * (np.arange(len(self)) > 0) + 0.45 * (np.arange(len(self)) == 0) * (self.low > 0))  # fmt: skip


def end_flipped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Rows, "hold", lambda self, values: (values > self.low) & (values > self.high))


def everyone_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Rows, "_with_everyone", lambda self, found, outcomes: found)


@pytest.mark.parametrize("mutant", [row_dropped, end_flipped, everyone_forgotten])
def test_what_is_wrong_shows(mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    assert not all(all_rows_are_right(*question) for question in QUESTIONS)


def test_the_groups_order_does_not_matter() -> None:
    """The same rows under another order of the groups: the same probabilities, and rows with their signs."""
    world = many_groups(3, constraints=(PAIRS, MEAN))
    turned = replace(world.problem, groups=("c", "a", "d", "b"))
    counts = world.draw(np.full((1, 5, 3), 20), np.random.default_rng(0))
    order = [world.problem.groups.index(name) for name in turned.groups]
    other = counts[:, [0, *(1 + t for t in order)]][:, :, :, order]
    found = []
    for problem, rows in ((world.problem, counts), (turned, other)):
        beliefs, asked = CellBeliefs.of(CellEvidence(problem, rows)), problem.compiled.rows
        drawn = beliefs.draw(np.random.default_rng(1), 200)
        standing = standing_of(beliefs, drawn.outcomes, drawn.rows(asked), asked)
        names = [frozenset(row.name.split(" - ")) for row in problem.rows]
        found.append((standing.fair, standing.best, dict(zip(names, standing.row_holds[0].T, strict=True))))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=0.011)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=0.011)
    for name, holds in found[0][2].items():
        np.testing.assert_allclose(holds, found[1][2][name], atol=0.011)


# ---- the paper's scale and other units ----


def three_coins(outcome: Outcome, constraints: tuple[Constraint, ...]) -> Problem:
    """W1: S ∈ {a, b, c}, P = (.5, .3, .2), S → V → Y."""
    arms = {"1": [0.5, 0.6, 0.8], "2": [0.4, 0.4, 0.5]}
    return Problem(
        name="w1",
        variables=[Variable("S", ("a", "b", "c")), Variable("V", ("0", "1")), Variable("Y", ("lose", "win"))],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=outcome,
        arms=[Arm(name, table("V", ["S"], [[1 - p, p] for p in ps])) for name, ps in arms.items()],
        shares=(0.5, 0.3, 0.2),
        constraints=constraints,
    )


def test_rows_by_hand() -> None:
    """μ(s) = (.45, .5, .6), μ = .495. With Y = 10 + 10 Y' the ratio's row is 14.5 − .8 · 16 = 1.7, scaled .45 − .8 · .6 > −.2."""
    constraints = (Constraint(compare="pairs", tolerance=0.06), Constraint(compare="mean", tolerance=0.1), Constraint(compare="pairs", ratio=0.8))  # fmt: skip
    problem = three_coins(Outcome("Y", values=(0, 1)), constraints)
    means = np.array([[0.45, 0.5, 0.6], [0.4, 0.4, 0.45]])
    truth = Truth.of(problem, means @ [0.5, 0.3, 0.2], means)
    values = dict(zip([row.name for row in problem.rows], truth.rows[0], strict=True))
    wanted = {"a - b": -0.05, "a - c": -0.15, "b - c": -0.10, "a - mean": -0.045, "b - mean": 0.005, "c - mean": 0.105, "a / c": -0.03}  # fmt: skip
    assert {name: values[name] for name in wanted} == pytest.approx(wanted, abs=1e-12)
    assert truth.fair.tolist() == [False, True]
    shifted = three_coins(Outcome("Y", values=(10, 20)), (Constraint(compare="pairs", ratio=0.8),))
    own = Truth.of(shifted, 10 + 10 * truth.outcomes, 10 + 10 * means)
    at = [row.name for row in shifted.rows].index("a / c")
    assert own.rows[0, at] == pytest.approx(1.7) and own.fair.tolist() == [True, True]
    rows = shifted.compiled.rows
    assert rows.low[at] == pytest.approx(-0.2) and rows.values(means, truth.outcomes)[0, at] == pytest.approx(-0.03)
    assert shifted.rows[at].in_units(shifted.outcome, -0.03) == pytest.approx(1.7)


# ---- beliefs of several groups ----


def coverage(beliefs: Any, truth: Truth, problem: Problem, seed: int) -> np.ndarray:
    """How often 95 % limits hold the truth: outcomes, then each row, over replicates and arms."""
    drawn, asked = beliefs.draw(np.random.default_rng(seed), 400), problem.compiled.rows
    true = np.concatenate([truth.outcomes[:, None], truth.rows], axis=1)
    every = np.concatenate([drawn.outcomes[..., None], drawn.rows(asked)], axis=3)
    low, high = np.quantile(every, [0.025, 0.975], axis=1)
    return np.asarray(((low <= true) & (true <= high)).mean(axis=(0, 1)))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("S_to_Y", [False, True])
def test_limits_of_every_row_hold_the_truth(known: bool, S_to_Y: bool) -> None:
    """Four groups, 300 logs of 300 rows, three arms, 22 rows: each in 0.91 or more, all together in 0.93 to 0.985."""
    problem_of = {} if known else {"shares": None}
    world = many_groups(5, S_to_Y=S_to_Y, constraints=(PAIRS, MEAN, RATIO), **problem_of)
    plan = np.zeros((300, 5, 3), dtype=np.int64)
    plan[:, 0], plan[:, 1:, 0] = 60, 30
    rows = CellEvidence(world.problem, world.draw(plan, np.random.default_rng(1)))
    held = coverage(CellBeliefs.of(rows), world.truth(), world.problem, 2)
    assert held.shape == (23,) and held.min() > 0.91 and 0.93 < held.mean() < 0.985


@pytest.mark.parametrize("known", [True, False])
def test_doubly_robust_limits_of_every_row_hold_the_truth(known: bool) -> None:
    """Three groups, 60 logs of 300 rows: all in 0.9 or more."""
    world = many_groups(6, G=3, constraints=(PAIRS, MEAN), **({} if known else {"shares": None}))
    plan = np.zeros((60, 4, 3), dtype=np.int64)
    plan[:, 0], plan[:, 1:, 0] = 60, 40
    made = RobustBeliefs.of(CellEvidence(world.problem, world.draw(plan, np.random.default_rng(1))))
    held = coverage(made, world.truth(), world.problem, 2)
    assert held.shape == (7,) and held.min() > 0.9
    shown = made.values(np.zeros(0), np.zeros(0))
    np.testing.assert_allclose(
        shown.rows(world.problem.compiled.rows)[..., 0], gap_of(np.clip(made.means, 0, 1)[..., :2])
    )
    assert not made.self_check().arms.any(axis=1).mean() > 0.05 and made.self_check().size.shape == (7, 60, 3)


def test_what_not_knowing_the_shares_adds() -> None:
    """θ known from many forced rows, P(S) from 40 natural ones: Var μ_k = Σ_t P(t) (μ_k(t) − μ_k)² / (n + G/2 + 1)."""
    world = many_groups(7, shares=None, alike=0.5, constraints=(MEAN,))
    plan = np.zeros((1, 5, 3), dtype=np.int64)
    plan[0, 0, 0], plan[0, 1:] = 40, 10**7
    beliefs = CellBeliefs.of(CellEvidence(world.problem, world.draw(plan, np.random.default_rng(0))))
    drawn = beliefs.draw(np.random.default_rng(1), 20_000)
    shares, means = beliefs.shares[0], drawn.means[0].mean(axis=0)
    apart = means - (means @ shares)[:, None]
    expected = np.sqrt(apart**2 @ shares / (40 + 2 + 1))
    np.testing.assert_allclose(drawn.outcomes[0].std(axis=0), expected, rtol=0.03)
    rows = drawn.rows(world.problem.compiled.rows)[0]
    np.testing.assert_allclose(rows.std(axis=0), np.repeat(expected[:, None], 4, axis=1), rtol=0.05)


@pytest.mark.parametrize("kind", [CellBeliefs, RobustBeliefs])
def test_design_with_unknown_shares_of_several_groups(kind: type[CellBeliefs | RobustBeliefs]) -> None:
    """By finite differences: natural rows tell P(t), which moves μ_k by μ_k(t) − μ_k and each row by e_j times that."""
    world = many_groups(8, shares=None, constraints=(MEAN, PAIRS))
    plan = np.zeros((2, 5, 3), dtype=np.int64)
    plan[:, 0], plan[:, 1:, 0] = [[30], [60]], 50
    beliefs = kind.of(CellEvidence(world.problem, world.draw(plan, np.random.default_rng(0))))
    basis, asked = beliefs.design(), world.problem.compiled.rows
    natural = CellEvidence(world.problem, world.draw(plan, np.random.default_rng(0))).counts[:, 0].sum(axis=(1, 3))
    for n, rows in enumerate(natural):
        shares = (rows + 0.5) / (rows.sum() + 2.0)
        theta = beliefs.posterior.mean[n] if isinstance(beliefs, CellBeliefs) else None
        means = basis.laws.units[n, 1:, :, :-4].transpose(1, 0, 2) @ theta if theta is not None else beliefs.means[n]  # type: ignore[union-attr]
        for t in range(4):
            moved = (shares + 1e-7 * np.eye(4)[t]) / (1 + 1e-7)
            slope = (means @ moved - means @ shares) / 1e-7
            np.testing.assert_allclose(basis.laws.natural[n, :, t - 4], slope, atol=1e-6)
            np.testing.assert_allclose(
                basis.laws.coefficients()[n, :, :, t - 4], slope[:, None] * asked.everyone, atol=1e-6
            )
        assert basis.laws.units[n, 0, :, -4:].tolist() == [[1.0] * 4] * 3 and not basis.laws.units[n, 1:, :, -4:].any()
        variance = (basis.laws.natural[n, :, -4:] ** 2 * basis.noise[n, -4:] / basis.counts[n, -4:]).sum(axis=1)
        spread = (means**2 @ shares - (means @ shares) ** 2) / (rows.sum() + 2.0)
        np.testing.assert_allclose(variance, spread, rtol=1e-9)


def test_the_prior_has_a_direction_for_every_row() -> None:
    """The columns are those of each arm's outcome and of each row's coefficients, so that rows can overrule the prior."""
    world = many_groups(9, C=5, constraints=(PAIRS, MEAN), shares=None)
    rows = CellEvidence(world.problem, world.draw(np.full((1, 5, 3), 20), np.random.default_rng(0)))
    beliefs = CellBeliefs.of(rows)
    made: list[np.ndarray] = []
    honest = Directions.of
    try:
        Directions.of = classmethod(lambda cls, arms, *rest: made.append(arms) or honest(arms, *rest))  # type: ignore[assignment,method-assign,func-returns-value]
        _ = beliefs.posterior
    finally:
        Directions.of = honest  # type: ignore[method-assign]
    columns = made[0][0]
    assert columns.shape == (3 * (1 + 10), 5)
    law, shares = beliefs.law[0], beliefs.shares[0]
    for k in range(3):
        natural = np.einsum("tc,t->c", law[k], shares)
        wanted = [law[k, 0] - law[k, 1], law[k, 0] - law[k, 2], *[None] * 4, law[k, 0] - natural]
        for j, row in enumerate(wanted):
            if (
                row is not None
            ):  # columns are coefficients over one q, of one size: their ratios to each other are the rows'
                found = columns[3 + 10 * k + j] / columns[k]
                expected = row / law[k].mean(axis=0)
                np.testing.assert_allclose(found / found[0], expected / expected[0], rtol=1e-8)


def test_one_log_of_many_groups_is_believed_by_either_kind() -> None:
    world = many_groups(10, G=20, K=2, C=4, tolerance=0.3)
    rows = CellEvidence(world.problem, world.draw(np.full((1, 21, 2), 30), np.random.default_rng(0)))
    drawn = believe(rows).draw(np.random.default_rng(0), 50)
    assert len(world.problem.rows) == 190 and drawn.rows(world.problem.compiled.rows).shape == (1, 50, 2, 190)


# ---- what is too large ----


def test_sizes_are_refused_by_name() -> None:
    """21 groups, 760 rows, and 30 arms × 380 rows × 8 000 cells."""
    with pytest.raises(ProblemError, match="from 2 to 20"):
        many_groups(0, G=21)
    twice = (Constraint(compare="pairs", ratio=0.8), Constraint(compare="pairs", ratio=0.7, name="strict"))
    with pytest.raises(ProblemError, match=r"'strict' there are 760 rows .* at most 500"):
        many_groups(0, G=20, constraints=twice)
    large = many_groups(0, G=20, K=30, C=8000, constraints=twice[:1])
    with pytest.raises(ProblemError, match=r"30 arms × 380 rows × 8000 cells.*'pairs ratio 0.8' makes 380 rows"):
        _ = large.problem.compiled.shared_cells
