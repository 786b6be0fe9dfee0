"""Doubly robust beliefs against truths computed without them: quadrature, exact inference, simulation.

Statistics run on fixed seeds. A right program would fail the test with 300 data sets on fewer than one seed in a
thousand, and those with fewer sets on fewer than one in fifty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import expit, ndtr

from fairarm.beliefs.evidence import CellEvidence, RowEvidence
from fairarm.beliefs.robust import Layout, RobustBeliefs, choose_method
from fairarm.catalog.bundled import load_problem
from fairarm.core.design.events import alternatives, plan_pulls
from fairarm.problem.constraint import Constraint
from fairarm.problem.context import ContextLaw
from fairarm.problem.mechanism import Arm, Code, table
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, Request, check_batch
from fairarm.problem.variables import Variable

Rows = dict[str, np.ndarray]
Simulator = Callable[[int, int | None, int, np.random.Generator], Rows]

S = Variable("S", ("a", "b"))
V = Variable("V", low=-6.0, high=6.0)
Z = Variable("Z", ("x", "y"))
X = Variable("X", ("low", "high"))
SHARE_B = 0.4
CENTRES = ((0.0, 0.3), (0.8, 1.0), (-0.5, 0.9))
"""Means of V under three arms, in group a and in group b; the variance is 1."""


def standard_errors(made: RobustBeliefs) -> tuple[np.ndarray, np.ndarray]:
    """Of outcomes and of two groups' gaps, (N, K) each, with what is unknown and what P(S) adds."""
    outcome, gap = [], []
    for fit in made.fits:
        roots = np.concatenate([fit.sampled, fit.unknown]).reshape(-1, *fit.means.shape)
        # μ_k = Σ_t P(t) μ_kt: a Beta's variance times the squared gap is what not knowing P(S) adds
        of_shares = 0.0 if made._known_shares else fit.shares.prod() / (fit.lines.natural.sum() + 2.0)
        between = (fit.means[..., 0] - fit.means[..., 1]) ** 2 * of_shares
        outcome.append(np.sqrt(((roots @ fit.shares) ** 2).sum(axis=0) + between))
        gap.append(np.sqrt(((roots[..., 0] - roots[..., 1]) ** 2).sum(axis=0)))
    return np.stack(outcome), np.stack(gap)


def normal_arm(name: str, centres: tuple[float, float], by: str | None = None, shift: float = 0.0) -> Arm:
    """V normal with variance 1 within its range, moved by ``shift`` in the second state of ``by``."""

    def log_density(c: Any) -> np.ndarray:
        centre = np.array(centres)[c["S"]] + (shift * c[by] if by else 0.0)
        return np.asarray(
            -0.5 * (c["V"] - centre) ** 2 - np.log(math.sqrt(2 * math.pi) * (ndtr(6 - centre) - ndtr(-6 - centre)))
        )

    return Arm(name, Code("V", ("S", by) if by else ("S",), log_density))


def make(variables: list[Variable], graph: list[tuple[str, str]], arms: list[Arm], **more: Any) -> Problem:
    given: dict[str, Any] = {"outcome": Outcome("Y", low=0.0, high=1.0), "shares": (1 - SHARE_B, SHARE_B), **more}
    return Problem(
        name="test", variables=variables, graph=graph, sensitive="S", decision="V", tolerance=0.1, arms=arms, **given
    )


def evidence_of(problem: Problem, simulate: Simulator, n: int, seed: int) -> RowEvidence:
    """n rows: half natural and half forced, evenly over the arms."""
    rng, parts = np.random.default_rng([7, seed]), []
    for k in range(len(problem.arms)):
        for r in range(len(problem.regimes)):
            count = n // len(problem.arms) // (2 if r == 0 else 4)
            rows = simulate(k, None if r == 0 else r - 1, count, rng)
            parts.append(batch_of(problem, k, r, rows))
    columns = {name: np.concatenate([p.columns[name] for p in parts]) for name in problem.observed}
    arm, regime, count = (np.concatenate([getattr(p, part) for p in parts]) for part in ("arm", "regime", "count"))
    return RowEvidence.empty(problem).add(Batch(arm, regime, columns, count))


def batch_of(problem: Problem, k: int, r: int, rows: Rows) -> Batch:
    """Rows given as codes and numbers."""
    n = len(rows["S"])
    made = Batch(np.full(n, k), np.full(n, r), {name: rows[name] for name in problem.observed}, np.ones(n, dtype=int))
    check_batch(problem, made)
    return made


def groups(given: int | None, n: int, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(n) < SHARE_B).astype(int) if given is None else np.full(n, given)


def noisy(mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.clip(mean, 0.1, 0.9) + rng.uniform(-0.1, 0.1, len(mean))


# ---- the plain chain: S → V → Y, V real ----


def chain(**more: Any) -> Problem:
    arms = [normal_arm(f"arm {k}", c) for k, c in enumerate(CENTRES)]
    return make([S, V], [("S", "V"), ("V", "Y")], arms, **more)


def chain_mean(v: Any) -> Any:
    return 0.2 + 0.6 * expit(1.5 * v)


def simulate_chain(k: int, given: int | None, n: int, rng: np.random.Generator) -> Rows:
    s = groups(given, n, rng)
    v = np.clip(np.array(CENTRES[k])[s] + rng.standard_normal(n), -6, 6)
    return {"S": s, "V": v, "Y": noisy(chain_mean(v), rng)}


def truth_of(mean: Callable[[Any, int], Any], shift: float = 0.0) -> np.ndarray:
    """E[mean(V, t)] of V normal about each arm's centre in each group t, moved by ``shift``: (K, G), by quadrature."""
    return np.array([[_expected(mean, c + shift, t) for t, c in enumerate(row)] for row in CENTRES])


def _expected(mean: Callable[[Any, int], Any], centre: float, t: int) -> float:
    return float(quad(lambda v: math.exp(-0.5 * (v - centre) ** 2) / math.sqrt(2 * math.pi) * mean(v, t), -6, 6)[0])


def chain_truth() -> np.ndarray:
    return truth_of(lambda v, t: chain_mean(v))


def z_scores(problem: Problem, simulate: Simulator, truth: np.ndarray, sets: int, n: int) -> np.ndarray:
    """Errors over reported standard errors of every outcome and gap, (sets, 2, K)."""
    out = []
    for seed in range(sets):
        made = RobustBeliefs.of(evidence_of(problem, simulate, n, seed), seed=seed)
        outcome, gap = standard_errors(made)
        exact = truth @ np.array([1 - SHARE_B, SHARE_B])
        out.append([(made.outcomes[0] - exact) / outcome[0], (made.gaps[0] - truth[:, 0] + truth[:, 1]) / gap[0]])
    return np.array(out)


def check_scores(scores: np.ndarray, low: float = 0.85, high: float = 1.2) -> None:
    """No bias beyond 4 standard errors of the mean, and reported errors as large as the real ones."""
    assert np.abs(scores.mean(axis=0)).max() < 4 / math.sqrt(len(scores))
    spread = np.sqrt((scores**2).mean(axis=(0, 2)))
    assert np.all((low < spread) & (spread < high)), spread


def test_unbiased_with_honest_errors_on_the_chain() -> None:
    check_scores(z_scores(chain(), simulate_chain, chain_truth(), 300, 240))


def test_draws_cover_the_truth() -> None:
    """90 % intervals of draws: the share inside is 0.9 ± 4 √(0.09/150), were all arms copies of one another."""
    problem, truth, inside = chain(), chain_truth(), []
    exact = truth @ np.array([1 - SHARE_B, SHARE_B]), truth[:, 0] - truth[:, 1]
    for seed in range(150):
        made = RobustBeliefs.of(evidence_of(problem, simulate_chain, 120, seed))
        for drawn, value in zip(made.draw(np.random.default_rng(seed), 400), exact, strict=True):
            low, high = np.quantile(drawn[0], [0.05, 0.95], axis=0)
            inside.append((low < value) & (value < high))
    assert 0.9 - 4 * math.sqrt(0.09 / 150) < np.mean(inside) < 0.98


def test_unknown_shares_are_estimated_from_natural_rows_alone_and_widen_the_outcome() -> None:
    known, unknown = chain(), chain(shares=None)
    rows = evidence_of(known, simulate_chain, 1200, 1)
    a, b = RobustBeliefs.of(rows), RobustBeliefs.of(RowEvidence(unknown, rows.batch, rows.rows))
    np.testing.assert_allclose(a.means, b.means, atol=1e-12)
    natural = np.bincount(rows.batch.columns["S"][rows.batch.regime == 0], minlength=2)
    np.testing.assert_allclose(b.outcomes[0], b.means[0] @ ((natural + 0.5) / (natural.sum() + 1)))
    assert np.all(standard_errors(b)[0] > standard_errors(a)[0])
    np.testing.assert_allclose(standard_errors(b)[1], standard_errors(a)[1], atol=1e-12)
    np.testing.assert_allclose(RobustBeliefs.of(rows, estimated=True).outcomes, b.outcomes, atol=1e-12)


def test_better_than_importance_sampling_alone() -> None:
    """The balance heuristic's own (1/N) Σ w Y has several times the error where Y is nearly a function of V."""
    problem, truth = chain(), chain_truth()
    errors = []
    for seed in range(40):
        rows = evidence_of(problem, simulate_chain, 240, seed)
        lines = rows.lines()
        density = np.exp(rows.rows.log_L)
        weights = density / np.tensordot(lines.made / lines.rows, density, axes=2)
        plain = (weights * rows.batch.columns["Y"]).mean(axis=2)
        errors.append([np.mean((RobustBeliefs.of(rows).means[0] - truth) ** 2), np.mean((plain - truth) ** 2)])
    robust, plain = np.sqrt(np.mean(errors, axis=0))
    assert robust < plain / 3


def test_the_value_shown_is_the_estimate_and_the_self_check_is_that_of_weighted_rows() -> None:
    """Weights against the mixture of all pulls, by densities; means of a real outcome are shown as they are."""
    problem = chain()
    rows = evidence_of(problem, simulate_chain, 240, 3)
    made = RobustBeliefs.of(rows)
    outcomes, gaps = made.draw(np.random.default_rng(0), 50)
    for shown, own in zip(made.values(outcomes, gaps), (made.outcomes, made.gaps), strict=True):
        np.testing.assert_allclose(shown, own, rtol=1e-12)
    density = np.exp(rows.rows.log_L)
    w, y = density / np.tensordot(made.fits[0].lines.made / 240, density, axes=2), rows.batch.columns["Y"]
    found, shares = made.self_check(), np.array([1 - SHARE_B, SHARE_B])
    for what, a in enumerate((shares, np.array([1.0, -1.0]))):
        terms = np.einsum("kti,t->ki", w * (y - made.means[0][:, :, None]), a)
        expected = np.maximum(
            np.abs(terms.mean(axis=1)) - np.sqrt(12) * y.std(ddof=1) * made.fits[0].lost @ np.abs(a), 0.0
        )
        np.testing.assert_allclose(np.abs(found.difference[what, 0]), expected, atol=1e-12)
        assert np.all(found.error[what, 0] >= np.sqrt((terms**2).sum(axis=1)) / 240 * (1 - 1e-9))
    assert not found.arms.any()
    low = RobustBeliefs(problem, False, (replace(made.fits[0], means=made.means[0] - 2.0),))
    assert low.self_check().arms.all()
    np.testing.assert_allclose(low.values(outcomes, gaps)[0], made.outcomes - 2.0)


# ---- other shapes of the graph ----


def simulate_below(k: int, given: int | None, n: int, rng: np.random.Generator) -> Rows:
    """S → V → W → X ← S, X → Y ← V: observed columns come after V."""
    s = groups(given, n, rng)
    v = np.clip(np.array(CENTRES[k])[s] + rng.standard_normal(n), -6, 6)
    w = (rng.random(n) < expit(2 * v)).astype(int)
    x = (rng.random(n) < 0.2 + 0.4 * w + 0.2 * s).astype(int)
    return {"S": s, "V": v, "Z": w, "X": x, "Y": noisy(0.3 + 0.3 * x + 0.1 * np.tanh(v), rng)}


@pytest.mark.parametrize("declared", [True, False])
def test_a_column_below_the_decision(declared: bool) -> None:
    """W (here Z) has no known law given V, so V cannot be integrated out of a row: rows are reweighted whole."""
    high = np.array([[0.2, 0.6], [0.4, 0.8]])
    problem = make(
        [S, V, Z, X],
        [("S", "V"), ("V", "Z"), ("Z", "X"), ("S", "X"), ("X", "Y"), ("V", "Y")],
        [normal_arm(f"arm {k}", c) for k, c in enumerate(CENTRES)],
        mechanisms=[table("X", ["S", "Z"], np.stack([1 - high, high], axis=2))] if declared else [],
    )
    rows = evidence_of(problem, simulate_below, 240, 0)
    layout = Layout.of(problem, rows.lines())
    assert layout.nodes is None and layout.law is None
    truth = truth_of(lambda v, t: 0.3 + 0.3 * (0.2 + 0.4 * expit(2 * v) + 0.2 * t) + 0.1 * np.tanh(v))
    check_scores(z_scores(problem, simulate_below, truth, 80, 240), 0.8, 1.25)


def test_a_child_below_the_decision_is_summed_out_with_it() -> None:
    """V → X ← S with a known mechanism and nothing else observed: the law of (V, X) is known, and is used."""

    def chance(c: Any) -> np.ndarray:
        p = expit(c["V"] + 0.5 * c["S"])
        return np.log(np.where(c["X"] == 1, p, 1 - p))

    def simulate(k: int, given: int | None, n: int, rng: np.random.Generator) -> Rows:
        rows = simulate_chain(k, given, n, rng)
        x = (rng.random(n) < expit(rows["V"] + 0.5 * rows["S"])).astype(int)
        return {**rows, "X": x, "Y": noisy(0.3 + 0.3 * x + 0.1 * np.tanh(rows["V"]), rng)}

    problem = make(
        [S, V, X],
        [("S", "V"), ("V", "X"), ("S", "X"), ("X", "Y"), ("V", "Y")],
        [normal_arm(f"arm {k}", c) for k, c in enumerate(CENTRES)],
        mechanisms=[Code("X", ("S", "V"), chance)],
    )
    truth = truth_of(lambda v, t: 0.3 + 0.3 * expit(v + 0.5 * t) + 0.1 * np.tanh(v))
    assert Layout.of(problem, evidence_of(problem, simulate, 60, 0).lines()).free == ()
    check_scores(z_scores(problem, simulate, truth, 60, 240), 0.75, 1.25)


def simulate_above(k: int, given: int | None, n: int, rng: np.random.Generator) -> Rows:
    """S → X → V, X → Y: a child of S that the arms look at, with a probability of 0.2 or 0.7."""
    s = groups(given, n, rng)
    x = (rng.random(n) < np.array([0.2, 0.7])[s]).astype(int)
    v = np.clip(np.array(CENTRES[k])[s] + 0.7 * x + rng.standard_normal(n), -6, 6)
    return {"S": s, "V": v, "X": x, "Y": noisy(chain_mean(v) - 0.1 * x, rng)}


def above(declared: bool) -> tuple[Problem, np.ndarray]:
    problem = make(
        [S, V, X],
        [("S", "V"), ("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        [normal_arm(f"arm {k}", c, "X", 0.7) for k, c in enumerate(CENTRES)],
        mechanisms=[table("X", ["S"], [[0.8, 0.2], [0.3, 0.7]])] if declared else [],
    )
    chance = np.array([0.2, 0.7])
    low, high = (truth_of(lambda v, t, x=x: chain_mean(v) - 0.1 * x, 0.7 * x) for x in (0, 1))
    truth = (1 - chance) * low + chance * high
    return problem, truth


@pytest.mark.parametrize("declared", [True, False])
def test_a_child_above_the_decision_with_and_without_its_mechanism(declared: bool) -> None:
    problem, truth = above(declared)
    check_scores(z_scores(problem, simulate_above, truth, 80, 240), 0.8, 1.25)


def test_a_column_below_a_child_weights_contexts_by_the_group() -> None:
    """S → X → Z → V: X cannot be summed out of a row that holds Z, so contexts (X, Z) are weighted by P(x | t)."""

    def simulate(k: int, given: int | None, n: int, rng: np.random.Generator) -> Rows:
        s = groups(given, n, rng)
        x = (rng.random(n) < np.array([0.2, 0.7])[s]).astype(int)
        z = (rng.random(n) < np.array([0.1, 0.8])[x]).astype(int)
        v = np.clip(np.array(CENTRES[k])[s] + 1.5 * z + rng.standard_normal(n), -6, 6)
        return {"S": s, "X": x, "Z": z, "V": v, "Y": noisy(chain_mean(v) - 0.1 * x, rng)}

    problem = make(
        [S, X, Z, V],
        [("S", "X"), ("X", "Z"), ("Z", "V"), ("S", "V"), ("V", "Y"), ("X", "Y")],
        [normal_arm(f"arm {k}", c, "Z", 1.5) for k, c in enumerate(CENTRES)],
        mechanisms=[table("X", ["S"], [[0.8, 0.2], [0.3, 0.7]])],
    )
    layout = Layout.of(problem, evidence_of(problem, simulate, 60, 0).lines())
    assert layout.free == ("X", "Z") and layout.nodes is not None
    truth, high = np.zeros((3, 2)), np.array([0.2, 0.7])
    for x in (0, 1):
        for z in (0, 1):
            chance = np.array([0.1, 0.8])[x] if z else 1 - np.array([0.1, 0.8])[x]
            part = truth_of(lambda v, t, x=x: chain_mean(v) - 0.1 * x, 1.5 * z)
            truth += chance * (high if x else 1 - high) * part
    check_scores(z_scores(problem, simulate, truth, 60, 240), 0.8, 1.25)


def test_a_declared_mechanism_is_worth_rows() -> None:
    sharp, blunt = (
        standard_errors(RobustBeliefs.of(evidence_of(above(declared)[0], simulate_above, 400, 0)))[1].mean()
        for declared in (True, False)
    )
    assert sharp < 0.9 * blunt


def simulate_direct(k: int, given: int | None, n: int, rng: np.random.Generator) -> Rows:
    """S → Y too: the outcome rises with V in group a and falls in group b."""
    rows = simulate_chain(k, given, n, rng)
    sign = 1.0 - 2.0 * rows["S"]
    return {**rows, "Y": noisy(0.5 + 0.3 * np.tanh(sign * rows["V"]), rng)}


@pytest.mark.parametrize("mechanism", [True, False])
def test_the_outcome_depends_on_the_group(mechanism: bool) -> None:
    """Y's own mechanism is not used, declared or not."""
    flat = Code("Y", ("S", "V"), lambda c: np.zeros(len(c["Y"])))
    problem = make(
        [S, V, *([Variable("Y", low=0.0, high=1.0)] if mechanism else [])],
        [("S", "V"), ("V", "Y"), ("S", "Y")],
        [normal_arm(f"arm {k}", c) for k, c in enumerate(CENTRES)],
        mechanisms=[flat] if mechanism else [],
    )
    truth = truth_of(lambda v, t: 0.5 + 0.3 * np.tanh((1 - 2 * t) * v))
    fitted = RobustBeliefs.of(evidence_of(problem, simulate_direct, 240, 0)).fits[0].regression
    assert fitted is not None and fitted.pooled_variance < 0.01  # without S among its features it is 0.05
    check_scores(z_scores(problem, simulate_direct, truth, 80, 240), 0.8, 1.2)


def simulate_context(k: int, given: int | None, n: int, rng: np.random.Generator) -> Rows:
    """Z → V, Z → Y with P(Z = y) = 0.3."""
    s, z = groups(given, n, rng), (rng.random(n) < 0.3).astype(int)
    v = np.clip(np.array(CENTRES[k])[s] + 1.5 * z + rng.standard_normal(n), -6, 6)
    return {"S": s, "V": v, "Z": z, "Y": noisy(chain_mean(v) - 0.1 * z, rng)}


def with_context(context: ContextLaw | None) -> Problem:
    arms = [normal_arm(f"arm {k}", c, "Z", 1.5) for k, c in enumerate(CENTRES)]
    return make([S, V, Z], [("S", "V"), ("Z", "V"), ("Z", "Y"), ("V", "Y")], arms, context=context)


def test_a_known_context_law_is_used_and_worth_rows() -> None:
    parts = [truth_of(lambda v, t, z=z: chain_mean(v) - 0.1 * z, 1.5 * z) for z in (0, 1)]
    truth = 0.7 * parts[0] + 0.3 * parts[1]
    known, unknown = with_context(ContextLaw(("Z",), np.array([0.7, 0.3]))), with_context(None)
    errors = [
        standard_errors(RobustBeliefs.of(evidence_of(p, simulate_context, 240, 0)))[0].mean() for p in (known, unknown)
    ]
    assert errors[0] < 0.9 * errors[1]
    check_scores(z_scores(known, simulate_context, truth, 50, 240), 0.8, 1.25)
    check_scores(z_scores(unknown, simulate_context, truth, 50, 240), 0.8, 1.25)


def test_a_real_context_and_a_real_child() -> None:
    """A real child of S that the arms look at is integrated out with V; a real context is left as it is."""

    def child(c: Any) -> np.ndarray:
        return np.log(np.where(c["S"] == 1, 0.5 + c["W"], 1.5 - c["W"]))

    def simulate(k: int, given: int | None, n: int, rng: np.random.Generator) -> Rows:
        s = groups(given, n, rng)
        x = np.sqrt(0.25 + 2 * rng.random(n)) - 0.5
        w = np.where(s == 1, x, 1 - x)
        v = np.clip(np.array(CENTRES[k])[s] + w + rng.standard_normal(n), -6, 6)
        return {"S": s, "W": w, "V": v, "Y": noisy(chain_mean(v), rng)}

    W = Variable("W", low=0.0, high=1.0)
    arms = [normal_arm(f"arm {k}", c, "W", 1.0) for k, c in enumerate(CENTRES)]
    problem = make(
        [S, W, V], [("S", "W"), ("W", "V"), ("S", "V"), ("V", "Y")], arms, mechanisms=[Code("W", ("S",), child)]
    )
    rows = evidence_of(problem, simulate, 600, 0)
    layout = Layout.of(problem, rows.lines())
    assert layout.free == () and set(layout.grid) == {"W"}
    free = replace(problem, mechanisms=[], graph=[("W", "V"), ("S", "V"), ("V", "Y")])
    assert Layout.of(free, evidence_of(free, simulate, 60, 0).lines()).free == ("W",)
    w, weight = np.polynomial.legendre.leggauss(20)
    w, weight = (w + 1) / 2, weight / 2
    inner = np.stack([truth_of(lambda v, t: chain_mean(v), x) for x in w], axis=2)
    truth = (inner * np.stack([1.5 - w, 0.5 + w])) @ weight
    check_scores(z_scores(problem, simulate, truth, 40, 240), 0.65, 1.3)


def test_the_estimate_is_the_formula_row_by_row() -> None:
    """μ̂ = (1/N) Σ_i ∫ P_k(v | x_i, t) m̂(x_i, v) dv + (1/N) Σ_i min(w, τ)(Y_i − m̂(row_i)), m̂ fitted without the row's fold."""
    W = Variable("W", low=0.0, high=1.0)
    arms = [normal_arm(f"arm {k}", c, "W", 1.0) for k, c in enumerate(CENTRES)]
    problem = make([S, W, V], [("W", "V"), ("S", "V"), ("V", "Y"), ("W", "Y")], arms)

    def simulate(k: int, given: int | None, n: int, rng: np.random.Generator) -> Rows:
        s, w = groups(given, n, rng), rng.random(n)
        v = np.clip(np.array(CENTRES[k])[s] + w + rng.standard_normal(n), -6, 6)
        return {"S": s, "W": w, "V": v, "Y": noisy(chain_mean(v) - 0.2 * w, rng)}

    rows = evidence_of(problem, simulate, 60, 0)
    fit = RobustBeliefs.of(rows).fits[0]
    assert fit.regression is not None
    fold_of = dict(zip(fit.contexts.columns["W"].tolist(), fit.contexts.folds.argmax(axis=1).tolist(), strict=True))
    S_, W_, V_, Y_ = (rows.batch.columns[name] for name in ("S", "W", "V", "Y"))
    grid = np.linspace(-6, 6, 4001)
    expected = np.zeros((3, 2))

    def density(k: int, t: int, w: float, v: Any) -> Any:
        return np.exp(-0.5 * (v - CENTRES[k][t] - w) ** 2) / math.sqrt(2 * math.pi)

    for i in range(len(V_)):
        fold = fold_of[W_[i]]
        surface = fit.regression.predict({"W": np.full(len(grid), W_[i]), "V": grid})[fold]
        left = Y_[i] - fit.regression.predict({"W": W_[i : i + 1], "V": V_[i : i + 1]})[fold, 0]
        pulls = zip(rows.batch.arm.tolist(), S_.tolist(), strict=True)
        mixed = np.mean([density(j, u, W_[i], V_[i]) for j, u in pulls])
        for k in range(3):
            for t in (0, 1):
                weight = min(density(k, t, W_[i], V_[i]) / mixed, 6.0)
                expected[k, t] += (np.trapezoid(density(k, t, W_[i], grid) * surface, grid) + weight * left) / 60
    np.testing.assert_allclose(fit.means, expected, atol=2e-5)


def test_the_law_of_contexts_may_name_its_columns_in_any_order() -> None:
    law = np.array([[0.4, 0.3], [0.1, 0.2]])
    graph = [("S", "V"), ("Z", "V"), ("Z", "Y"), ("V", "Y"), ("X", "V"), ("X", "Y")]
    arms = [normal_arm(f"arm {k}", c, "Z", 1.5) for k, c in enumerate(CENTRES)]
    arms.append(normal_arm("by X", (0.0, 0.3), "X", 1.0))

    def simulate(k: int, given: int | None, n: int, rng: np.random.Generator) -> Rows:
        both = rng.choice(4, n, p=law.ravel())
        rows = simulate_chain(0, given, n, rng)
        return {**rows, "Z": both // 2, "X": both % 2}

    made = []
    for context in (ContextLaw(("Z", "X"), law), ContextLaw(("X", "Z"), law.T)):
        problem = make([S, Z, X, V], graph, arms, context=context)
        made.append(RobustBeliefs.of(evidence_of(problem, simulate, 160, 0)))
        assert made[-1].fits[0].contexts.rows is None
    same_beliefs(made[0], made[1], np.arange(4))
    np.testing.assert_allclose(made[0].design().laws.natural.sum(axis=2), made[1].design().laws.natural.sum(axis=2))


# ---- finite cells, exact inference ----


@pytest.mark.parametrize("name", ["hepar2", "ad-marketplace", "coin"])
@pytest.mark.parametrize("estimated", [False, True])
def test_agrees_with_exact_inference_on_finite_problems(name: str, estimated: bool) -> None:
    scenario = load_problem(name)
    problem, world = scenario.problem, scenario.world
    assert world is not None
    counts = np.full((len(problem.regimes), len(problem.arms)), 3000)
    rows = CellEvidence.empty(problem).add(
        world.pull(Request(problem.arm_names, problem.regimes, counts), np.random.default_rng(1))
    )
    made, truth = RobustBeliefs.of(rows, estimated=estimated), world.truth()
    outcome, gap = standard_errors(made)
    assert truth is not None
    scaled = problem.outcome.scale(truth.outcomes)
    assert np.abs((made.outcomes[0] - scaled) / outcome[0]).max() < 4
    assert np.abs((made.gaps[0] - truth.gaps / problem.outcome.width) / np.maximum(gap[0], 1e-6)).max() < 4
    assert outcome.max() < 0.03 and gap.max() < 0.06


def test_replicates_are_independent_of_their_company() -> None:
    scenario = load_problem("ad-marketplace")
    problem = scenario.problem
    rng = np.random.default_rng(0)
    shape = CellEvidence.empty(problem).counts.shape[1:]
    possible = np.repeat(
        np.isfinite(problem.compiled.tables.likelihood.log_L), len(problem.outcome.values or ()), axis=2
    )
    counts = rng.poisson(0.5, (3, *shape)) * possible
    together = RobustBeliefs.of(CellEvidence(problem, counts))
    for i in range(3):
        alone = RobustBeliefs.of(CellEvidence(problem, counts[i : i + 1]))
        np.testing.assert_allclose(alone.means[0], together.means[i], atol=1e-12)
    outcomes, gaps = together.draw(np.random.default_rng(0), 50)
    assert outcomes.shape == gaps.shape == (3, 50, len(problem.arms))
    basis = together.design()
    assert basis.counts.shape == basis.noise.shape and basis.laws.units.shape[0] == 3


def test_cells_and_rows_say_the_same() -> None:
    """The same rows as counts of cells and one by one."""
    scenario = load_problem("ad-marketplace")
    problem, world = scenario.problem, scenario.world
    assert world is not None
    counts = np.full((len(problem.regimes), len(problem.arms)), 20)
    got = world.pull(Request(problem.arm_names, problem.regimes, counts), np.random.default_rng(1))
    cells, rows = CellEvidence.empty(problem).add(got), RowEvidence.empty(problem).add(got)
    a, b = RobustBeliefs.of(cells), RobustBeliefs.of(rows)
    np.testing.assert_allclose(np.sort(cells.lines().count), np.sort(rows.lines().count))
    assert np.abs(a.means - b.means).max() < 5 * standard_errors(a)[1].max()


# ---- invariances ----


def test_counts_are_repeated_rows() -> None:
    problem = chain()
    once = evidence_of(problem, simulate_chain, 60, 0).batch
    count = np.random.default_rng(0).integers(1, 4, once.size)
    line = np.repeat(np.arange(once.size), count)
    shuffled = np.random.default_rng(1).permutation(line)
    short = RowEvidence.empty(problem).add(Batch(once.arm, once.regime, once.columns, count))
    long = RowEvidence.empty(problem).add(
        Batch(
            once.arm[shuffled],
            once.regime[shuffled],
            {n: c[shuffled] for n, c in once.columns.items()},
            np.ones(len(line), int),
        )
    )
    same_beliefs(RobustBeliefs.of(short), RobustBeliefs.of(long), np.arange(3))


def same_beliefs(a: RobustBeliefs, b: RobustBeliefs, arms: np.ndarray, sign: float = 1.0) -> None:
    np.testing.assert_allclose(a.outcomes[:, arms], b.outcomes, atol=1e-9)
    np.testing.assert_allclose(a.gaps[:, arms], sign * b.gaps, atol=1e-9)
    for x, y in zip(standard_errors(a), standard_errors(b), strict=True):
        np.testing.assert_allclose(x[:, arms], y, atol=1e-9)
    for name in ("effective", "largest_weight", "overlap", "unseen"):
        np.testing.assert_allclose(getattr(a.diagnostics(), name)[:, arms], getattr(b.diagnostics(), name), atol=1e-7)


def test_the_order_of_the_arms_plays_no_part() -> None:
    problem = with_context(None)
    rows = evidence_of(problem, simulate_context, 120, 0)
    order = np.array([2, 0, 1])
    turned = replace(problem, arms=[problem.arms[k] for k in order])
    moved = replace_batch(rows.batch, arm=np.argsort(order)[rows.batch.arm])
    same_beliefs(RobustBeliefs.of(rows), RobustBeliefs.of(RowEvidence.empty(turned).add(moved)), order)


def replace_batch(given: Batch, **parts: Any) -> Batch:
    return Batch(**{**{n: getattr(given, n) for n in ("arm", "regime", "columns", "count")}, **parts})


def test_swapping_the_groups_turns_every_gap() -> None:
    for problem, simulate in ((above(True)[0], simulate_above), (above(False)[0], simulate_above)):
        rows = evidence_of(problem, simulate, 120, 0)
        swapped = replace(
            problem, groups=("b", "a"), shares=(SHARE_B, 1 - SHARE_B), constraints=[Constraint.gap("b", "a", 0.1)]
        )
        moved = replace_batch(rows.batch, regime=np.array([0, 2, 1])[rows.batch.regime])
        same_beliefs(
            RobustBeliefs.of(rows), RobustBeliefs.of(RowEvidence.empty(swapped).add(moved)), np.arange(3), -1.0
        )


def test_an_arm_that_does_not_look_at_the_group_has_no_gap() -> None:
    """However few the rows, and wherever it goes: no draw says otherwise."""
    arms = [normal_arm("blind", (0.0, 0.0)), normal_arm("far", (4.0, 4.0)), normal_arm("seeing", (0.0, 1.0))]
    problem = make([S, V], [("S", "V"), ("V", "Y")], arms)
    for n in (3, 30, 300):
        one = simulate_chain(0, None, n, np.random.default_rng(n))
        rows = RowEvidence.empty(problem).add(batch_of(problem, 0, 0, one))
        _, gaps = RobustBeliefs.of(rows).draw(np.random.default_rng(0), 100)
        assert np.abs(gaps[..., :2]).max() < 1e-9 and gaps[..., 2].std() > 1e-3


# ---- few rows, no overlap ----


@pytest.mark.parametrize("problem", [chain(), with_context(None), above(False)[0], chain(shares=None)])
def test_before_any_row_everything_is_possible(problem: Problem) -> None:
    made = RobustBeliefs.of(RowEvidence.empty(problem))
    outcomes, gaps = made.draw(np.random.default_rng(0), 4000)
    assert stats.kstest(outcomes[0, :, 0], "uniform").statistic < 0.12
    assert gaps[0].std() > 0.1 and np.all(np.isfinite(gaps))
    shown = made.diagnostics()
    assert np.all(shown.effective == 0) and np.all(shown.unseen == 1) and np.all(shown.overlap == 0)
    basis = made.design()
    assert np.all(basis.counts > 0) and np.all(basis.noise > 0)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("group", [0, 1])
def test_a_few_rows_of_one_group(n: int, group: int) -> None:
    flat = make([S, V], [("S", "V"), ("V", "Y"), ("S", "Y")], [normal_arm("one", (0, 0)), normal_arm("two", (0, 1))])
    cases: list[tuple[Problem, Simulator]] = [
        (chain(), simulate_chain), (above(False)[0], simulate_above), (flat, simulate_direct), (with_context(None), simulate_context),
    ]  # fmt: skip
    for problem, simulate in cases:
        one = simulate(0, group, n, np.random.default_rng(0))
        rows = RowEvidence.empty(problem).add(batch_of(problem, 0, 1 + group, one))
        made = RobustBeliefs.of(rows)
        outcomes, gaps = made.draw(np.random.default_rng(0), 500)
        assert np.all(np.isfinite(outcomes)) and np.all(np.isfinite(gaps))
        assert n == 2 or outcomes.std(axis=1).min() > 0.01  # two rows may be nearly equal
        assert all(np.all(np.isfinite(x)) for x in standard_errors(made))
        design = made.design()
        assert np.all(design.counts > 0) and np.all(np.isfinite(design.laws.units))
        if problem in (flat, cases[1][0]):  # only rows of a group speak for it
            other = made.fits[0].lost[:, 1 - group]
            np.testing.assert_allclose(other, 1.0)


def test_an_arm_beyond_all_rows_is_as_uncertain_as_before() -> None:
    arms = [normal_arm("near", (-3.0, -3.0)), normal_arm("far", (4.5, 4.5))]
    problem = make([S, V], [("S", "V"), ("V", "Y")], arms)
    rng = np.random.default_rng(0)
    v = np.clip(-3 + rng.standard_normal(2000), -6, 6)
    y = noisy(0.5 + 0.3 * np.tanh(v + 3), rng)
    rows = RowEvidence.empty(problem).add(batch_of(problem, 0, 0, {"S": groups(None, 2000, rng), "V": v, "Y": y}))
    made = RobustBeliefs.of(rows)
    outcomes, _ = made.draw(np.random.default_rng(0), 1000)
    shown = made.diagnostics()
    assert outcomes[0, :, 0].std() < 0.01 and outcomes[0, :, 1].std() > 0.15
    assert shown.unseen[0, 0] < 0.01 and shown.unseen[0, 1] > 0.95 and shown.overlap[0, 1] < 0.01
    assert shown.effective[0, 0] == pytest.approx(2000)


# ---- draws, design, size ----


@pytest.mark.parametrize("shares", [(1 - SHARE_B, SHARE_B), None])
def test_draws_have_the_reported_errors(shares: tuple[float, float] | None) -> None:
    problem = replace(with_context(None), shares=shares)
    made = RobustBeliefs.of(evidence_of(problem, simulate_context, 600, 0))
    outcomes, gaps = made.draw(np.random.default_rng(0), 20_000)
    for drawn, centre, error in zip((outcomes, gaps), (made.outcomes, made.gaps), standard_errors(made), strict=True):
        np.testing.assert_allclose(drawn.mean(axis=1), centre, atol=5 * error.max() / math.sqrt(20_000))
        np.testing.assert_allclose(drawn.std(axis=1), error, rtol=0.05)


def test_the_design_puts_pulls_where_they_tell() -> None:
    """Laws are laws, expected counts are the pulls made, and the plan meets pulls and cost."""
    for problem, simulate in (
        (chain(), simulate_chain),
        (with_context(None), simulate_context),
        (above(False)[0], simulate_above),
    ):
        made = RobustBeliefs.of(evidence_of(problem, simulate, 120, 0))
        basis = made.design()
        np.testing.assert_allclose(basis.laws.units.sum(axis=3), 1.0, atol=1e-9)
        assert basis.counts.sum() == pytest.approx(made.fits[0].lines.rows + 1, rel=1e-6)
        assert basis.counts.shape[1] <= 4000 and basis.noise.min() >= 1e-4
        events = alternatives(*made.draw(np.random.default_rng(0), 6), problem.compiled.scaled_tolerance)
        costs = np.array([[0.0, 1.0, 1.0]] * 3)
        plan = plan_pulls(basis.counts, basis.noise, basis.laws, events, np.array([100.0]), costs, np.array([0.3]))
        assert plan.sum() == pytest.approx(100) and (plan * costs).sum() <= 30 + 1e-6


def test_the_design_foresees_the_error() -> None:
    """Σ_x d(x)² σ²(x)/n(x), which the design works with, is the variance that the estimate reports."""
    rows = evidence_of(chain(), simulate_chain, 4800, 0)
    most = np.flatnonzero((rows.batch.arm == 0) | (np.arange(rows.batch.size) % 20 == 0))  # few of arms 2 and 3
    kept = {name: values[most] for name, values in rows.batch.columns.items()}
    fewer = Batch(rows.batch.arm[most], rows.batch.regime[most], kept, rows.batch.count[most])
    made = RobustBeliefs.of(RowEvidence.empty(chain()).add(fewer))
    basis = made.design()
    foreseen = (basis.laws.difference**2 * basis.noise[:, None] / basis.counts[:, None]).sum(axis=2)
    np.testing.assert_allclose(np.sqrt(foreseen), standard_errors(made)[1], rtol=0.05)


def test_large_problems_use_a_part_of_the_contexts(monkeypatch: pytest.MonkeyPatch) -> None:
    from fairarm.beliefs.robust import layout

    W = Variable("W", low=0.0, high=1.0)
    arms = [normal_arm(f"arm {k}", c, "W", 1.0) for k, c in enumerate(CENTRES)]
    problem = make([S, W, V], [("W", "V"), ("S", "V"), ("V", "Y"), ("W", "Y")], arms)

    def simulate(k: int, given: int | None, n: int, rng: np.random.Generator) -> Rows:
        s, w = groups(given, n, rng), rng.random(n)
        v = np.clip(np.array(CENTRES[k])[s] + w + rng.standard_normal(n), -6, 6)
        return {"S": s, "W": w, "V": v, "Y": noisy(chain_mean(v) - 0.2 * w, rng)}

    rows = evidence_of(problem, simulate, 600, 0)
    whole = RobustBeliefs.of(rows)
    monkeypatch.setattr(layout, "MAX_KEPT", 6 * 200)
    part = RobustBeliefs.of(rows)
    assert whole.fits[0].contexts.length == 600 and part.fits[0].contexts.length == 200
    assert standard_errors(part)[0].mean() > standard_errors(whole)[0].mean()
    assert np.abs(part.means - whole.means).max() < 4 * standard_errors(part)[0].max()
    assert whole.design().counts.shape[1] <= 4000


# ---- which method ----


def sparse(m: int) -> Problem:
    variables = [S, Variable("V", tuple(str(i) for i in range(m))), Variable("Y", ("0", "1"))]
    arms = [Arm("one", table("V", [], np.full(m, 1 / m)))]
    return make(variables, [("S", "V"), ("V", "Y")], arms, outcome=Outcome("Y", values=(0, 1)))


@pytest.mark.parametrize(
    ("m", "rows", "expected"),
    [(100, 0, "cell means"), (100, 50, "cell means"), (200, 50, "doubly robust"), (200, 900, "doubly robust"), (200, 1200, "cell means")],
)  # fmt: skip
def test_cells_too_many_for_the_rows(m: int, rows: int, expected: str) -> None:
    problem = sparse(m)
    evidence = CellEvidence.empty(problem)
    evidence.counts[0, 0, 0, 0, 0] = rows
    assert choose_method(problem, evidence) == expected


def test_real_columns_are_never_cells() -> None:
    assert choose_method(chain(), RowEvidence.empty(chain())) == "doubly robust"
