"""The best mixture under several rows against every mixture of a grid, against the programme solved by enumeration, and by hand."""

from __future__ import annotations

import time
from functools import cache
from itertools import combinations

import numpy as np
import pytest

from fairarm.core.fairness import Rows
from fairarm.core.posterior import mixture_programme as programme
from fairarm.core.posterior.arm_mixture import Mixture, Mixtures, best_mixture

INF = np.inf


def pairs(G: int, E: float) -> Rows:
    both = list(combinations(range(G), 2))
    a = np.array([[1.0 if t == u else -1.0 if t == v else 0.0 for t in range(G)] for u, v in both])
    return Rows(a, np.zeros(len(a)), np.full(len(a), -E), np.full(len(a), E))


def floors(G: int, least: float) -> Rows:
    return Rows(np.eye(G), np.zeros(G), np.full(G, least), np.full(G, INF))


def together(*parts: Rows) -> Rows:
    return Rows(
        np.concatenate([p.by_group for p in parts]), np.concatenate([p.everyone for p in parts]),
        np.concatenate([p.low for p in parts]), np.concatenate([p.high for p in parts]),
    )  # fmt: skip


def simplex(K: int, steps: int) -> np.ndarray:
    if K == 1:
        return np.array([[steps]])
    return np.array([[i, *rest] for i in range(steps + 1) for rest in simplex(K - 1, steps - i)])


def share_fair(x: np.ndarray, means: np.ndarray, outcomes: np.ndarray, rows: Rows) -> float:
    """Row by row and draw by draw, from the groups' means (D, K, G)."""
    mixed, outcome, good = np.einsum("k,dkt->dt", x, means), outcomes @ x, 0
    for group_means, mu in zip(mixed, outcome, strict=True):
        values = [sum(a * m for a, m in zip(row, group_means, strict=True)) for row in rows.by_group]
        values = [v + e * mu for v, e in zip(values, rows.everyone, strict=True)]
        good += all(low < v < high for low, v, high in zip(rows.low, values, rows.high, strict=True))
    return good / len(mixed)


def case(seed: int, K: int = 4, G: int = 3, D: int = 200):
    """Groups' means (D, K, G) and outcomes (D, K) of draws; half of the cases hardly vary."""
    rng = np.random.default_rng([13, seed])
    noise = (0.003, 0.02)[seed % 2]
    centre = rng.uniform(0.4, 0.7, (K, 1)) + rng.normal(0, 0.1, (K, G))
    means = centre + rng.normal(0, noise, (D, 1, G)) + rng.normal(0, noise, (D, K, G))
    return means, means @ rng.dirichlet(np.full(G, 3.0))


def found_for(means: np.ndarray, outcomes: np.ndarray, rows: Rows, delta: float = 0.05) -> Mixtures:
    return best_mixture(outcomes, rows.values(means, outcomes), rows, delta)


def shares_of(found: Mixture, K: int) -> np.ndarray:
    x = np.zeros(K)
    x[list(found.arms)] = found.weights
    return x


SEEDS = range(24)
ROWS = [pairs(3, 0.08), together(pairs(3, 0.12), floors(3, 0.45)), floors(3, 0.5)]


@pytest.mark.parametrize("seed", SEEDS)
def test_against_every_mixture_of_a_grid(seed: int) -> None:
    """What is said of it is so, its rows hold in enough draws, it is no worse than any single arm. And it is near the best of a grid
    where draws hardly vary; how near otherwise is measured below.
    """
    means, outcomes = case(seed)
    rows = ROWS[seed % len(ROWS)]
    found = found_for(means, outcomes, rows)
    alone = [k for k in range(4) if share_fair(np.eye(4)[k], means, outcomes, rows) >= 0.95]
    assert (found.single is None) == (not alone)
    if found.best is None:
        assert not alone
        return
    x = shares_of(found.best, 4)
    assert x.sum() == pytest.approx(1) and np.all(x >= 0) and len(set(found.best.arms)) == len(found.best.arms)
    assert found.best.fair == pytest.approx(share_fair(x, means, outcomes, rows)) and found.best.fair >= 0.95
    assert found.best.outcome == pytest.approx(np.mean(outcomes @ x))
    mixed = np.einsum("k,dkt->dt", x, means)
    for j, row in enumerate(found.best.rows):
        values = mixed @ rows.by_group[j]
        assert row.value == pytest.approx(values.mean())
        assert row.holds == pytest.approx(np.mean((values > rows.low[j]) & (values < rows.high[j])))
        np.testing.assert_allclose(row.interval, np.quantile(values, [0.025, 0.975]))
    if alone:
        assert found.single is not None and found.single.arms == (max(alone, key=lambda k: outcomes[:, k].mean()),)
        assert found.best.outcome >= found.single.outcome


@cache
def grid_best(seed: int, steps: int = 20) -> float:
    """The best outcome of all mixtures in steps of 0.05 whose rows hold in 95 % of the draws."""
    means, outcomes = case(seed)
    rows, grid = ROWS[seed % len(ROWS)], simplex(4, steps) / steps
    mixed = np.tensordot(grid, means, axes=(1, 1)) @ rows.by_group.T
    good = np.mean(np.all((mixed > rows.low) & (mixed < rows.high), axis=2), axis=1) >= 0.95
    return float((grid @ outcomes.mean(axis=0))[good].max(initial=-INF))


def test_how_near_to_the_best_of_a_grid() -> None:
    """Not exact with several rows: with draws that hardly vary it is at the best, with others near it most of the time."""
    short: dict[float, list[float]] = {0.003: [], 0.02: []}
    for seed in SEEDS:
        means, outcomes = case(seed)
        rows = ROWS[seed % len(ROWS)]
        best, found = grid_best(seed), found_for(means, outcomes, rows).best
        if best > -INF:
            short[(0.003, 0.02)[seed % 2]].append(best - (-INF if found is None else found.outcome))
    assert max(short[0.003]) < 0.003 and len(short[0.003]) >= 5
    assert np.median(short[0.02]) < 0.005 and len(short[0.02]) >= 5


@pytest.mark.parametrize("seed", range(8))
def test_what_being_sure_costs_is_against_the_best_by_means_alone(seed: int) -> None:
    """The programme without κ, by trying every vertex: as many arms as conditions that are equalities."""
    means, outcomes = case(2 * seed)
    rows = ROWS[seed % len(ROWS)]
    found = found_for(means, outcomes, rows)
    if found.best is None:
        return
    centre, mu = rows.values(means, outcomes).mean(axis=0), outcomes.mean(axis=0)
    ends = [(centre[:, j] - rows.low[j]) for j in range(len(rows)) if np.isfinite(rows.low[j])]
    ends += [(rows.high[j] - centre[:, j]) for j in range(len(rows)) if np.isfinite(rows.high[j])]
    best = -INF
    for size in range(1, 5):
        for arms in combinations(range(4), size):
            for tight in combinations(range(len(ends)), size - 1):
                A = np.vstack([np.ones(size), *[ends[e][list(arms)] for e in tight]])
                if abs(np.linalg.det(A)) < 1e-12:
                    continue
                x = np.linalg.solve(A, np.append(1.0, np.zeros(size - 1)))
                if np.all(x >= -1e-12) and all(end[list(arms)] @ x >= -1e-12 for end in ends):
                    best = max(best, float(mu[list(arms)] @ x))
    assert found.best.outcome + found.margin_cost == pytest.approx(best, abs=2e-6)


def test_by_hand() -> None:
    """Three groups, draws that do not vary. Arm 0 is the best and favours a, arm 1 b, arm 2 c, each by 0.3; any two leave a gap of 0.15
    to the third. Equal thirds are fair, whatever the tolerance: no two arms are.
    """
    means = np.array([[[0.9, 0.6, 0.6], [0.5, 0.8, 0.5], [0.5, 0.5, 0.8]]])
    outcomes = means.mean(axis=2)
    found = found_for(means, outcomes, pairs(3, 0.01)).best
    assert found is not None and sorted(found.arms) == [0, 1, 2] and found.arms[0] == 0
    # x_0 + 0.01 / 0.3 above the other two, which are equal: the gaps a − b and a − c bind
    assert dict(zip(found.arms, found.weights, strict=True)) == {
        0: pytest.approx((1 + 2 / 30) / 3, abs=1e-5), 1: pytest.approx((1 - 1 / 30) / 3, abs=1e-5),
        2: pytest.approx((1 - 1 / 30) / 3, abs=1e-5),
    }  # fmt: skip
    assert found.fair == 1 and found_for(means[:, :2], outcomes[:, :2], pairs(3, 0.01)).best is None


def test_a_tie_goes_to_the_single_arm() -> None:
    means = np.array([[[0.5, 0.5, 0.5], [0.6, 0.5, 0.4], [0.4, 0.5, 0.6]]])
    found = found_for(means, means.mean(axis=2), pairs(3, 0.05))
    assert found.best == found.single and found.best is not None and found.best.arms == (0,)
    assert found.margin_cost == pytest.approx(0, abs=1e-9)


def test_one_row_with_one_end_is_searched_exactly() -> None:
    """μ(a) > 0.5 and nothing else: two arms at most, at the weight where enough draws are above."""
    rng = np.random.default_rng(3)
    means = np.stack([rng.normal(0.7, 0.05, 100), rng.normal(0.4, 0.05, 100)], axis=1)[:, :, None].repeat(2, axis=2)
    outcomes = np.stack([np.full(100, 0.3), np.full(100, 0.6)], axis=1)
    rows = Rows(np.array([[1.0, 0.0]]), np.zeros(1), np.array([0.5]), np.array([INF]))
    found = found_for(means, outcomes, rows, 0.1).best
    tried = np.linspace(0, 1, 20001)
    enough = [a for a in tried if np.mean(a * means[:, 1, 0] + (1 - a) * means[:, 0, 0] > 0.5) >= 0.9]
    assert found is not None and found.arms == (1, 0) and found.weights[0] == pytest.approx(max(enough), abs=1e-4)


@pytest.mark.parametrize("ends", [(-0.02, 0.1), (-INF, 0.04), (0.01, 0.2)])
def test_one_row_whose_ends_differ(ends: tuple[float, float]) -> None:
    rng = np.random.default_rng(4)
    outcomes, values = (
        rng.uniform(0.4, 0.6, (1, 5)) + rng.normal(0, 0.01, (60, 5)),
        rng.normal(0, 0.1, (1, 5)) + rng.normal(0, 0.02, (60, 5)),
    )
    rows = Rows(np.array([[1.0, -1.0]]), np.zeros(1), np.array([ends[0]]), np.array([ends[1]]))
    found, best = best_mixture(outcomes, values[:, :, None], rows, 0.1).best, -INF
    for i, j in combinations(range(5), 2):
        for a in np.linspace(0, 1, 1001):
            mixed = a * values[:, i] + (1 - a) * values[:, j]
            if np.mean((mixed > ends[0]) & (mixed < ends[1])) >= 0.9:
                best = max(best, float((a * outcomes[:, i] + (1 - a) * outcomes[:, j]).mean()))
    assert (-INF if found is None else found.outcome) == pytest.approx(best, abs=2e-4)
    assert found is None or found.outcome >= best - 1e-9


def test_few_arms_are_mixed() -> None:
    """At most one more than rows that bind."""
    for seed in range(6):
        means, outcomes = case(seed, K=20, G=3)
        found = found_for(means, outcomes, pairs(3, 0.1)).best
        assert found is not None and len(found.arms) <= 4


def dropped(values: np.ndarray, rows: Rows):
    inside, spread = ENDS(values, rows)
    return inside[:, 1:], spread[:, 1:]


def flipped(values: np.ndarray, rows: Rows):
    inside, spread = ENDS(values, rows)
    return inside * np.where(np.arange(inside.shape[1]) == 0, -1.0, 1.0), spread


ENDS = programme._ends


@pytest.mark.parametrize("wrong", [dropped, flipped])
def test_a_row_dropped_or_an_end_flipped_is_seen(wrong, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programme, "_ends", wrong)
    with pytest.raises((AssertionError, TypeError)):
        test_how_near_to_the_best_of_a_grid()


def test_a_programme_that_is_not_solved_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import scipy.optimize

    class Failed:
        status, message = 4, "numbers"

    monkeypatch.setattr(scipy.optimize, "linprog", lambda *_, **__: Failed())
    means, outcomes = case(0)
    with pytest.raises(ArithmeticError, match="4 arms and 6 ends was not solved: numbers"):
        found_for(means, outcomes, pairs(3, 0.08))


def test_thirty_arms_twelve_rows_and_two_thousand_draws_in_time() -> None:
    means, outcomes = case(1, K=30, G=4, D=2000)
    start = time.process_time()
    found_for(means, outcomes, together(pairs(4, 0.1), floors(4, 0.3)))
    assert time.process_time() - start < 20
