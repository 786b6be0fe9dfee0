"""The design of pulls, against linear programmes, plain loops, least-distance programmes and a general solver."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from fairarm.core.answer import Code
from fairarm.core.design import events as design
from fairarm.core.design.events import (
    Alternatives,
    Laws,
    _Products,
    alternatives,
    plan_pulls,
)
from fairarm.core.fairness import Rows, best_fair_arm

# ---- the events ----


def evidence_gradient(counts, noise, laws, events):
    return _Products.of(laws, events).gradient(counts, noise)


def loop_events(outcomes: np.ndarray, gaps: np.ndarray, tolerance: float) -> tuple[int, list[dict[str, float]]]:
    """The answer, and for each arm what must be gained in outcome and in gap, in which direction."""
    K = len(outcomes)
    fair = [k for k in range(K) if abs(gaps[k]) < tolerance]
    best = max(fair, key=lambda k: outcomes[k]) if fair else Code.NONE
    needs = []
    for k in range(K):
        away = 1.0 if gaps[k] >= 0 else -1.0
        if k == best:
            needs.append({"outcome": -math.inf, "gap": tolerance - abs(gaps[k]), "sign": away})
        else:
            outcome = -math.inf if best == Code.NONE else outcomes[best] - outcomes[k]
            needs.append({"outcome": outcome, "gap": abs(gaps[k]) - tolerance, "sign": -away})
    return best, needs


@pytest.mark.parametrize("tolerance", [0.02, 0.3, 2.0])
def test_events_against_loops(tolerance: float) -> None:
    rng = np.random.default_rng(int(100 * tolerance))
    outcomes, gaps = rng.random((4, 5, 6)), rng.uniform(-0.6, 0.6, size=(4, 5, 6))
    gaps[0] *= 100  # no fair arm
    gaps[1, 0] = 0.0
    found = alternatives(outcomes, gaps, tolerance)
    for n, d in np.ndindex(4, 5):
        best, needs = loop_events(outcomes[n, d], gaps[n, d], tolerance)
        assert found.best[n, d] == best
        assert best_fair_arm(outcomes[n, d], gaps[n, d], tolerance) == best
        for k, need in enumerate(needs):
            for name, value in need.items():
                assert getattr(found, name)[n, d, k] == value, (n, d, k, name)
    assert set(found.best[0].tolist()) == {Code.NONE}


def test_a_gap_of_exactly_the_tolerance_is_not_fair() -> None:
    assert best_fair_arm(np.array([1.0, 0.5]), np.array([0.25, -0.2]), 0.25) == 1
    assert best_fair_arm(np.array([1.0]), np.array([-0.25]), 0.25) == Code.NONE


# ---- the evidence ----


def least_distance(rows: np.ndarray, needs: np.ndarray, counts: np.ndarray, noise: np.ndarray) -> float:
    """min ½ Σ n δ²/v subject to rows·δ ≥ needs: Lawson and Hanson's least-distance programme, by non-negative least squares."""
    kept = needs > -math.inf
    if not kept.any() or np.all(needs[kept] <= 0):
        return 0.0
    G = (rows * np.sqrt(noise / counts))[kept]
    E = np.vstack([G.T, needs[kept]])
    target = np.append(np.zeros(G.shape[1]), 1.0)
    u, _ = nnls(E, target)
    residual = E @ u - target
    if np.abs(residual).max() < 1e-9:
        return math.inf
    x = -residual[:-1] / residual[-1]
    return 0.5 * float(x @ x)


def rows_of(units: np.ndarray, best: int, k: int, sign: float) -> np.ndarray:
    """a_1 = w_k − w_b and a_2 = sign · d_k of one replicate's units (R, K, C)."""
    natural = units[0, k] - (units[0, best] if best != Code.NONE else 0.0)
    return np.stack([natural, sign * (units[1, k] - units[2, k])])


def loop_evidence(
    counts: np.ndarray, noise: np.ndarray, units: np.ndarray, outcomes: np.ndarray, gaps: np.ndarray, tolerance: float
) -> np.ndarray:
    """Γ (D, K) of one replicate."""
    out = np.empty(outcomes.shape)
    for d in range(len(outcomes)):
        best, needs = loop_events(outcomes[d], gaps[d], tolerance)
        for k, need in enumerate(needs):
            g = np.array([need["outcome"], need["gap"]])
            out[d, k] = least_distance(rows_of(units, best, k, need["sign"]), g, counts, noise)
    return out


def soft_least(value: np.ndarray) -> float:
    """−log Σ exp(−Γ)."""
    finite = value[np.isfinite(value)]
    return float(finite.min() - np.log(np.exp(finite.min() - finite).sum())) if finite.size else math.inf


class Instance:
    """N replicates of random laws and truths; ``shared``: one law for all."""

    def __init__(self, seed: int, K: int, C: int, N: int = 1, shared: bool = True, spread: float = 0.15) -> None:
        rng = np.random.default_rng([seed, K, C])
        laws = rng.dirichlet(np.full(C, 0.7), size=(1 if shared else N, K, 2))
        share = rng.uniform(0.2, 0.8)
        natural = share * laws[:, :, 0] + (1 - share) * laws[:, :, 1]
        self.units = np.stack([natural, laws[:, :, 0], laws[:, :, 1]], axis=1)
        centre = rng.random((N, 1, C))
        self.theta = np.clip(centre + spread * rng.standard_normal((N, 3, C)), 0, 1)
        every = np.broadcast_to(self.units, (N, *self.units.shape[1:]))
        self.outcomes = np.einsum("ndc,nkc->ndk", self.theta, every[:, 0])
        self.gaps = np.einsum("ndc,nkc->ndk", self.theta, every[:, 1] - every[:, 2])
        self.tolerance = float(np.quantile(np.abs(self.gaps), rng.choice([0.0, 0.4, 0.7]))) or 0.1
        self.counts = rng.uniform(0.5, 20, size=(N, C))
        self.noise = rng.uniform(0.005, 0.25, size=(N, C))
        self.costs = rng.choice([rng.uniform(0, 2, size=(3, K)), (np.arange(3 * K).reshape(3, K) % K > 0) * 1.0])
        self.pulls = rng.choice([5.0, 60.0, 800.0], size=N)
        self.average = np.maximum(rng.uniform(0, 1.2, size=N), self.costs.min())
        self.N, self.K, self.C, self.every = N, K, C, every

    @property
    def events(self) -> Alternatives:
        return alternatives(self.outcomes, self.gaps, self.tolerance)

    def evidence(self, i: int, counts: np.ndarray) -> np.ndarray:
        return loop_evidence(counts, self.noise[i], self.every[i], self.outcomes[i], self.gaps[i], self.tolerance)


CASES = [(seed, K, C) for seed, (K, C) in enumerate([(1, 2), (2, 2), (2, 4), (3, 3), (4, 5), (5, 8), (3, 5), (6, 4)])]


@pytest.mark.parametrize(("seed", "K", "C"), CASES)
@pytest.mark.parametrize("shared", [True, False])
def test_evidence_is_the_least_distance_and_its_gradient_the_finite_difference(
    seed: int, K: int, C: int, shared: bool
) -> None:
    case = Instance(seed, K, C, N=3, shared=shared)
    value, gradient = evidence_gradient(case.counts, case.noise, Laws(case.units), case.events)
    for i in range(case.N):
        np.testing.assert_allclose(value[i], case.evidence(i, case.counts[i]), rtol=1e-7, atol=1e-9)
        for c in range(C):
            step = 1e-4 * case.counts[i, c]
            up, down = case.counts[i].copy(), case.counts[i].copy()
            up[c] += step
            down[c] -= step
            slope = (soft_least(case.evidence(i, up)) - soft_least(case.evidence(i, down))) / (2 * step)
            assert gradient[i, c] == pytest.approx(slope, rel=1e-4, abs=1e-6 * np.abs(gradient[i]).max() + 1e-12)


def test_the_least_distance_against_a_general_solver() -> None:
    """The oracle itself, where one and where two conditions bind."""
    rng = np.random.default_rng(5)
    both = 0
    for _ in range(25):
        rows, needs = rng.normal(size=(2, 4)), rng.uniform(-0.3, 1.0, size=2)
        counts, noise = rng.uniform(1, 9, size=4), rng.uniform(0.01, 0.3, size=4)
        answer = minimize(
            lambda x, n=counts, v=noise: 0.5 * float(np.sum(n * x**2 / v)),
            np.linalg.lstsq(rows, np.maximum(needs, 0) + 0.1, rcond=None)[0],
            constraints=[{"type": "ineq", "fun": lambda x, a=rows, g=needs: a @ x - g}],
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 300},
        )
        assert least_distance(rows, needs, counts, noise) == pytest.approx(answer.fun, rel=1e-4, abs=1e-6)
        both += bool(np.all(np.abs(rows @ answer.x - needs) < 1e-5))
    assert both >= 5


def test_room_that_is_left_is_used() -> None:
    """By hand: k is fair with room 0.3 and must gain 0.2 in outcome; moving cell 0 does both, and the room is enough.

    w_k − w_b = (1, −1), d_k = (0.5, −0.5): the least move is δ = ±0.1, Γ = ½ · 10 · 2 · 0.01 / 0.1 = 1, and ζ_k moves by
    only 0.1. With room 0.05 the gap binds and no move exists: both rows point the same way.
    """
    units = np.array([[[[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [0.5, 0.5]]]])
    counts, noise = np.full((1, 2), 10.0), np.full((1, 2), 0.1)
    outcomes, gaps = np.array([[[0.5, 0.3]]]), np.array([[[0.0, 0.2]]])
    roomy, _ = evidence_gradient(counts, noise, Laws(units), alternatives(outcomes, gaps, 0.5))
    np.testing.assert_allclose(roomy[0, 0], [np.inf, 1.0])
    narrow, _ = evidence_gradient(counts, noise, Laws(units), alternatives(outcomes, gaps, 0.25))
    np.testing.assert_allclose(narrow[0, 0], [np.inf, np.inf])


def test_where_no_arm_is_fair_outcomes_do_not_matter() -> None:
    """By hand: ζ = 0.4 must fall by 0.3; d = (1, −1), Γ = 0.3² / (2 · 2 · 0.1/10), whatever w·δ then is."""
    units = np.array([[[[0.9, 0.1]], [[1.0, 0.0]], [[0.0, 1.0]]]])
    counts, noise = np.full((1, 2), 10.0), np.full((1, 2), 0.1)
    for gap in (0.4, -0.4):
        value, _ = evidence_gradient(
            counts, noise, Laws(units), alternatives(np.array([[[0.5]]]), np.array([[[gap]]]), 0.1)
        )
        np.testing.assert_allclose(value, 0.3**2 / (2 * 2 * 0.01))


# ---- the plan ----


def plan(case: Instance, **changes: Any) -> np.ndarray:
    return plan_pulls(
        case.counts, case.noise, Laws(case.units), case.events, case.pulls, case.costs, case.average, **changes
    )


def solved(case: Instance, i: int) -> tuple[float, float, np.ndarray]:
    """The objective without any pull and the best that a general solver finds, from several starts; and its pulls."""
    p, costs = case.every[i].reshape(-1, case.C), case.costs.ravel()

    def objective(x: np.ndarray) -> float:
        return -soft_least(case.evidence(i, case.counts[i] + case.pulls[i] * (np.maximum(x, 0) @ p)))

    cheapest = (np.arange(len(costs)) == int(np.argmin(costs))) * 1.0
    even = np.full(len(costs), 1 / len(costs))
    rows = [
        {"type": "eq", "fun": lambda x: x.sum() - 1},
        {"type": "ineq", "fun": lambda x: case.average[i] - costs @ x},
    ]
    best, where = math.inf, cheapest
    for start in (cheapest, even, 0.5 * (cheapest + even)):
        found = minimize(
            objective, start, bounds=[(0, 1)] * len(costs), constraints=rows, method="SLSQP", options={"ftol": 1e-9}
        )
        x = np.maximum(found.x, 0) / np.maximum(found.x, 0).sum()
        if costs @ x <= case.average[i] + 1e-6 and objective(x) < best:
            best, where = objective(x), x
    return -objective(np.zeros(len(costs))), -best, where


@pytest.mark.parametrize(
    ("seed", "K", "C"), [(0, 1, 3), (1, 2, 2), (2, 2, 3), (3, 2, 4), (4, 3, 3), (5, 3, 4), (6, 2, 3)]
)
def test_plan_gains_what_a_general_solver_gains(seed: int, K: int, C: int) -> None:
    """Of the evidence that pulls can add, at least 98 % of what the solver's best pulls add."""
    case = Instance(seed + 20, K, C, N=2, shared=seed % 2 == 0)
    x = plan(case)
    for i in range(case.N):
        without, best, _ = solved(case, i)
        rows = case.counts[i] + x[i].ravel() @ case.every[i].reshape(-1, C)
        gained = soft_least(case.evidence(i, rows)) - without
        assert gained >= 0.98 * (best - without), (i, gained, best - without)


@pytest.mark.parametrize("seed", range(8))
def test_plan_keeps_both_budgets(seed: int) -> None:
    case = Instance(seed, 4, 6, N=5, shared=seed % 2 == 0)
    x = plan(case)
    assert x.shape == (5, 3, 4)
    assert x.min() >= 0
    np.testing.assert_allclose(x.sum(axis=(1, 2)), case.pulls, rtol=1e-9)
    assert np.all((x * case.costs).sum(axis=(1, 2)) <= case.average * case.pulls * (1 + 1e-9) + 1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_replicates_are_planned_as_if_alone(shared: bool) -> None:
    case = Instance(3, 4, 5, N=4, shared=shared)
    together, events = plan(case), case.events
    for i in range(case.N):
        one = slice(i, i + 1)
        units = case.units if shared else case.units[one]
        alone = Alternatives(events.best[one], events.outcome[one], events.gap[one], events.sign[one])
        found = plan_pulls(
            case.counts[one], case.noise[one], Laws(units), alone, case.pulls[one], case.costs, case.average[one]
        )
        np.testing.assert_allclose(found[0], together[i], rtol=1e-7, atol=1e-9 * case.pulls[i])


def test_two_coins_are_pulled_by_their_deviations() -> None:
    """Two arms that each see one cell and ignore S: the variance of the difference is least at shares √v_1 : √v_2."""
    units = np.broadcast_to(np.eye(2)[None, None], (1, 3, 2, 2))
    events = alternatives(np.array([[[0.7, 0.4]]]), np.zeros((1, 1, 2)), 0.1)
    noise = np.array([[0.16, 0.01]])
    x = plan_pulls(
        np.full((1, 2), 1e-3), noise, Laws(units), events, np.array([1000.0]), np.ones((3, 2)), np.array([np.inf]), 2000
    )
    np.testing.assert_allclose(x.sum(axis=1)[0], [800.0, 200.0], atol=5)


@pytest.mark.parametrize("K", [1, 3])
def test_arms_that_ignore_the_group_can_never_be_unfair(K: int) -> None:
    """d = 0: no move makes the answer unfair, and with one arm nothing at all can overturn it. No warning either."""
    rng = np.random.default_rng(K)
    law = rng.dirichlet(np.ones(4), size=K)
    units = np.stack([law, law, law])[None]
    theta = rng.random((1, 2, 4))
    events = alternatives(theta @ law.T, np.zeros((1, 2, K)), 0.05)
    counts, noise = np.full((1, 4), 3.0), np.full((1, 4), 0.1)
    value, gradient = evidence_gradient(counts, noise, Laws(units), events)
    for d, best in enumerate(events.best[0]):
        assert value[0, d, best] == math.inf
        others = np.arange(K) != best
        assert np.isfinite(value[0, d, others]).all()
    assert np.isfinite(gradient).all()
    assert (K == 1) == bool(np.all(gradient == 0))
    costs = np.array([[2.0] * K, [1.0] * K, [1.0] * K])
    x = plan_pulls(counts, noise, Laws(units), events, np.array([50.0]), costs, np.array([1.5]))
    assert x.sum() == pytest.approx(50)
    assert (x * costs).sum() <= 75 + 1e-9


def test_an_unfair_arm_that_ignores_nothing_it_could_change() -> None:
    """A better arm whose gap cannot move (d = 0 exactly, ζ reported as 0.5): it can never become fair, and needs no pulls."""
    units = np.array([[[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]]])
    events = alternatives(np.array([[[0.3, 0.9]]]), np.array([[[0.01, 0.5]]]), 0.1)
    value, gradient = evidence_gradient(np.full((1, 2), 5.0), np.full((1, 2), 0.1), Laws(units), events)
    assert value[0, 0, 1] == math.inf
    assert np.isfinite(value[0, 0, 0])
    np.testing.assert_allclose(gradient[0, 0], gradient[0, 1])  # only the answer's own gap is left: d = (1, −1)


def test_counts_of_a_billion_and_of_almost_nothing() -> None:
    case = Instance(2, 3, 4)
    for size in (1e-6, 1e9):
        value, gradient = evidence_gradient(np.full((1, 4), size), case.noise, Laws(case.units), case.events)
        assert np.isfinite(gradient).all()
        np.testing.assert_allclose(value[0], case.evidence(0, np.full(4, size)), rtol=1e-6, atol=1e-12)


# ---- several rows ----


class Question:
    """Truths of several groups with several rows, some with one end."""

    def __init__(self, seed: int, K: int, C: int, G: int, J: int, N: int = 2, shared: bool = True) -> None:
        rng = np.random.default_rng([seed, K, C, G, J])
        laws = rng.dirichlet(np.full(C, 0.7), size=(1 if shared else N, K, G))
        self.shares = rng.dirichlet(np.full(G, 2.0))
        natural = np.einsum("nktc,t->nkc", laws, self.shares)
        self.units = np.concatenate([natural[:, None], laws.transpose(0, 2, 1, 3)], axis=1)
        self.theta = np.clip(rng.random((N, 1, C)) + 0.15 * rng.standard_normal((N, 3, C)), 0, 1)
        self.every = np.broadcast_to(self.units, (N, *self.units.shape[1:]))
        weights = rng.uniform(-1, 1, (J, G)) * (rng.random((J, G)) < 0.7)
        weights[:, 0] += 0.1
        everyone = rng.uniform(-1, 1, J) * (np.arange(J) % 2)
        self.asked = Rows(weights, everyone, np.full(J, -np.inf), np.full(J, np.inf))
        values = self.values_of(self.theta)
        low, high = (
            np.quantile(values, rng.choice([0.0, 0.1, 0.25]), axis=(0, 1, 2)),
            np.quantile(values, 0.9, axis=(0, 1, 2)),
        )
        kind = np.arange(J) % 3
        self.asked = Rows(weights, everyone, np.where(kind == 1, -np.inf, low), np.where(kind == 2, np.inf, high))
        self.outcomes = np.einsum("ndc,nkc->ndk", self.theta, self.every[:, 0])
        self.values = values
        self.counts, self.noise = rng.uniform(0.5, 20, (N, C)), rng.uniform(0.005, 0.25, (N, C))
        self.N, self.K, self.C, self.J = N, K, C, J

    def alpha(self, n: int, k: int, j: int) -> np.ndarray:
        return self.asked.by_group[j] @ self.every[n, 1:, k] + self.asked.everyone[j] * self.every[n, 0, k]

    def values_of(self, theta: np.ndarray) -> np.ndarray:
        N, D, _ = theta.shape
        K, J = self.units.shape[2], len(self.asked.low)
        return np.array(
            [
                [[[self.alpha(n, k, j) @ theta[n, d] for j in range(J)] for k in range(K)] for d in range(D)]
                for n in range(N)
            ]
        )

    @property
    def events(self) -> Alternatives:
        return alternatives(self.outcomes, self.values, self.asked)

    @property
    def laws(self) -> Laws:
        return Laws(self.units, self.asked)

    def best(self, n: int, d: int) -> int:
        low, high = self.asked.low, self.asked.high
        fair = [k for k in range(self.K) if all(low[j] < self.values[n, d, k, j] < high[j] for j in range(self.J))]
        return max(fair, key=lambda k: self.outcomes[n, d, k]) if fair else Code.NONE

    def leave(self, n: int, d: int, k: int, j: int) -> tuple[np.ndarray, float]:
        """The condition a·δ ≥ g with which row j of arm k goes beyond its nearer end."""
        value, low, high = self.values[n, d, k, j], self.asked.low[j], self.asked.high[j]
        a = self.alpha(n, k, j)
        return (a, high - value) if high - value <= value - low else (-a, value - low)

    def evidence(self, n: int, counts: np.ndarray, exact: bool = False) -> np.ndarray:
        """Γ by loops, in the order of the arms and then of the answer's other rows; ``exact``: all rows at once."""
        out = np.full((3, self.K + self.J - 1), np.inf)
        for d in range(3):
            b = self.best(n, d)
            for k in range(self.K):
                rows, needs = zip(*(self.leave(n, d, k, j) for j in range(self.J)), strict=True)
                if k == b:
                    alone = [
                        least_distance(np.array([a]), np.array([g]), counts, self.noise[n])
                        for a, g in zip(rows, needs, strict=True)
                    ]
                    out[d, k], out[d, self.K :] = alone[0], alone[1:]
                    continue
                over = (
                    []
                    if b == Code.NONE
                    else [(self.every[n, 0, k] - self.every[n, 0, b], self.outcomes[n, d, b] - self.outcomes[n, d, k])]
                )
                meet = [(-a, -g) for a, g in zip(rows, needs, strict=True)]
                groups = [meet] if exact else [[one] for one in meet]
                found = []
                for group in groups:
                    A, g = (np.array(part) for part in zip(*over, *group, strict=True))
                    found.append(least_distance(A, g, counts, self.noise[n]))
                out[d, k] = max(found)
        return out


QUESTIONS = [(0, 2, 4, 3, 3), (1, 3, 6, 4, 6), (2, 4, 5, 3, 2), (3, 1, 4, 4, 5), (4, 3, 8, 2, 3)]


def rows_are_right(question: Question) -> bool:
    """The events against loops, the evidence against the least distance, the gradient against finite differences."""
    events, N, C = question.events, question.N, question.C
    for n, d in np.ndindex(N, 3):
        if events.best[n, d] != question.best(n, d):
            return False
    value, gradient = evidence_gradient(question.counts, question.noise, question.laws, events)
    for n in range(N):
        if not np.allclose(value[n], question.evidence(n, question.counts[n]), rtol=1e-6, atol=1e-9):
            return False
        for c in range(C):
            up, down = question.counts[n].copy(), question.counts[n].copy()
            up[c], down[c] = up[c] * 1.0001, down[c] * 0.9999
            slope = (soft_least(question.evidence(n, up)) - soft_least(question.evidence(n, down))) / (up[c] - down[c])
            if abs(gradient[n, c] - slope) > 1e-3 * abs(slope) + 1e-6 * np.abs(gradient[n]).max() + 1e-12:
                return False
    return True


@pytest.mark.parametrize(("seed", "K", "C", "G", "J"), QUESTIONS)
@pytest.mark.parametrize("shared", [True, False])
def test_events_and_evidence_of_several_rows(seed: int, K: int, C: int, G: int, J: int, shared: bool) -> None:
    question = Question(seed, K, C, G, J, shared=shared)
    assert rows_are_right(question)
    value, _ = evidence_gradient(question.counts, question.noise, question.laws, question.events)
    assert value.shape == (2, 3, K - 1 + J)


def test_the_cases_cover_every_kind_of_event() -> None:
    """Answers and none, rows that are met and broken, either end the nearer one, another row than the first the hardest."""
    cases = [Question(*case) for case in QUESTIONS]
    best = np.concatenate([case.events.best.ravel() for case in cases])
    assert (best == Code.NONE).any() and (best >= 0).any()
    two_sided = [case.values[..., 0] - (case.asked.low[0] + case.asked.high[0]) / 2 for case in cases]
    sides = np.concatenate([side.ravel() for side in two_sided])
    assert (sides > 0).any() and (sides < 0).any()


@pytest.mark.parametrize(("seed", "K", "C", "G", "J"), QUESTIONS)
def test_two_rows_bound_all_rows_from_below(seed: int, K: int, C: int, G: int, J: int) -> None:
    """The exact programme has all of an arm's rows at once; what stands for it is never more, and often the same."""
    question = Question(seed, K, C, G, J)
    value, _ = evidence_gradient(question.counts, question.noise, question.laws, question.events)
    for n in range(question.N):
        exact = question.evidence(n, question.counts[n], exact=True)
        assert np.all(value[n] <= exact * (1 + 1e-6) + 1e-9)
        assert np.mean(np.isclose(value[n], exact, rtol=1e-5)) >= 0.4


def test_one_row_is_the_gap_to_the_last_bit() -> None:
    case = Instance(4, 4, 6, N=3)
    rows = Rows.gap(case.tolerance)
    a = evidence_gradient(case.counts, case.noise, Laws(case.units), case.events)
    events = alternatives(case.outcomes, case.gaps[..., None], rows)
    b = evidence_gradient(case.counts, case.noise, Laws(case.units, rows), events)
    assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("shared", [True, False])
def test_plans_of_many_rows_are_made_part_by_part(shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    question = Question(5, 3, 5, 3, 4, N=5, shared=shared)
    given = (
        question.counts,
        question.noise,
        question.laws,
        question.events,
        np.full(5, 80.0),
        np.ones((4, 3)),
        np.full(5, np.inf),
    )
    whole = plan_pulls(*given)
    monkeypatch.setattr(design, "BLOCK", 2 * 3 * 4 * 5)
    np.testing.assert_allclose(plan_pulls(*given), whole, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(whole.sum(axis=(1, 2)), 80.0)


# ---- mutants: what is wrong shows ----


def row_dropped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Rows, "fair", lambda self, values: self.hold(values)[..., :-1].all(axis=-1))


def end_flipped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Rows, "hold", lambda self, values: (values > self.low) & (values < -self.high))


def end_included(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Rows, "hold", lambda self, values: (values > self.low) | (values < self.high))


def further_end(patch: pytest.MonkeyPatch) -> None:
    honest = Rows.is_above
    ended = lambda self: np.isfinite(self.low) & np.isfinite(self.high)  # noqa: E731
    patch.setattr(Rows, "is_above", lambda self, values: honest(self, values) ^ ended(self))


def first_row_stands_for_all(patch: pytest.MonkeyPatch) -> None:
    honest = design.np.argmax
    patch.setattr(design.np, "argmax", lambda x, axis=None: honest(x, axis) * (np.ndim(x) != 4))


def easiest_row_stands_for_all(patch: pytest.MonkeyPatch) -> None:
    honest = design.np.argmax
    patch.setattr(design.np, "argmax", lambda x, axis=None: np.argmin(x, axis) if np.ndim(x) == 4 else honest(x, axis))


def one_break_for_all_rows(patch: pytest.MonkeyPatch) -> None:
    honest = design._of_events

    def one(each: np.ndarray, events: Alternatives) -> tuple[np.ndarray, np.ndarray]:
        value, weight = honest(each, events)
        value[..., each.shape[2] :] = np.inf
        return value, weight

    patch.setattr(design, "_of_events", one)


@pytest.mark.parametrize(
    "mutant",
    [row_dropped, end_flipped, end_included, further_end, first_row_stands_for_all, easiest_row_stands_for_all, one_break_for_all_rows],
)  # fmt: skip
def test_what_is_wrong_shows(mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    assert not all(rows_are_right(Question(*case)) for case in QUESTIONS)
