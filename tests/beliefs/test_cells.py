"""Pooled beliefs by cell means, against enumerated laws, linear algebra and plain loops."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import oracle
from fairarm.beliefs.beliefs import believe
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.evidence import CellEvidence, Evidence, RowEvidence
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch
from fairarm.problem.variables import Variable
from fairarm.worlds import context_law
from quick import quick

SEEDS = range(60)
Z_LIMIT = 5.0
"""Draws of a moment: with fixed seeds a correct program is beyond this in fewer than 1 of 10^6 comparisons."""


def as_batch(case: oracle.Case, rows: list[oracle.Row]) -> Batch:
    codes = {name: np.array([row.codes[name] for row in rows], dtype=np.int64) for name in oracle.columns(case)}
    codes[case.sensitive] = np.array([case.groups[row.group] for row in rows], dtype=np.int64)
    arm, regime, count = (
        np.array(x, dtype=np.int64) for x in zip(*((r.arm, r.regime, r.count) for r in rows), strict=True)
    )
    return Batch(arm, regime, codes, count)


def declared(case: oracle.Case, **options: Any) -> Problem:
    """The case with its context law, where it has one."""
    problem, network = oracle.as_fairarm(case, **options)
    if "context" in oracle.features(case):
        problem = dataclasses.replace(problem, context=context_law(network, problem))
    return problem


def exact_counts(case: oracle.Case, rows: int) -> np.ndarray:
    """Natural and forced rows of every arm whose counts are the law, (1, 3, K, 2, O)."""
    law = oracle.law(case).reshape(len(case.arms), 2, -1)
    natural = law * oracle.shares(case)[:, None]
    forced = [law * np.array([[1.0], [0.0]]), law * np.array([[0.0], [1.0]])]
    return np.round(rows * np.stack([natural, *forced])[None]).astype(np.int64)


def few_rows(
    case: oracle.Case, problem: Problem, pulls: int = 4, key: int = 0
) -> tuple[list[oracle.Row], CellEvidence]:
    rng = np.random.default_rng([case.seed, key])
    plan = rng.integers(0, pulls, size=(3, len(case.arms)))
    plan[0, 0] += 1
    rows = oracle.draw_rows(case, rng, plan)
    return rows, CellEvidence.empty(problem).add(as_batch(case, rows))


def scaled_truth(case: oracle.Case) -> tuple[np.ndarray, np.ndarray]:
    outcomes, _, gaps = oracle.truth(case)
    width = case.high - case.low
    return (outcomes - case.low) / width, gaps / width


# ---- many rows ----


@pytest.mark.parametrize("known", ["all", "no law", "estimated", "mechanism missing"])
def test_many_rows_give_the_truth(known: str) -> None:
    done = {"S -> Y": 0, "three outcome states": 0, "context": 0, "V child of S": 0}
    for seed in range(120) if known == "mechanism missing" else SEEDS:
        case = oracle.random_case(seed)
        problem = declared(case) if known in ("all", "estimated") else oracle.as_fairarm(case, shares=None)[0]
        if known == "mechanism missing":
            children = sorted(oracle.relevant_children(case) - {case.outcome})
            if not children:
                continue
            problem = dataclasses.replace(problem, mechanisms={
                name: m for name, m in problem.mechanisms.items() if name != children[0]
            })  # fmt: skip
        beliefs = CellBeliefs.of(CellEvidence(problem, exact_counts(case, 10**9)), estimated=known == "estimated")
        outcomes, gaps = beliefs.draw(np.random.default_rng(seed), 20)
        expected = scaled_truth(case)
        assert outcomes.shape == gaps.shape == (1, 20, len(case.arms))
        np.testing.assert_allclose(outcomes[0].mean(axis=0), expected[0], atol=1e-3, err_msg=str(seed))
        np.testing.assert_allclose(gaps[0].mean(axis=0), expected[1], atol=1e-3, err_msg=str(seed))
        for name in done:
            done[name] += name in oracle.features(case)
    assert min(done.values()) >= 3, done


# ---- few rows, everything known but θ ----


def test_draws_are_linear_in_theta_with_the_enumerated_law() -> None:
    """With law and shares declared θ is all that is drawn: μ_k = Σ_t P(t) Σ_c p_{k,t}(c) θ_c, draw by draw."""
    for seed in SEEDS:
        case = oracle.random_case(seed)
        problem = declared(case)
        beliefs = CellBeliefs.of(few_rows(case, problem)[1])
        theta = beliefs.posterior.draw(np.random.default_rng(9), 15)[0]
        outcomes, gaps = beliefs.draw(np.random.default_rng(9), 15)
        law, shares = oracle.cell_law(case), oracle.shares(case)
        for k in range(len(case.arms)):
            by_group = [theta @ law[k, t] for t in (0, 1)]
            np.testing.assert_allclose(outcomes[0, :, k], shares[0] * by_group[0] + shares[1] * by_group[1], atol=1e-12)
            np.testing.assert_allclose(gaps[0, :, k], by_group[0] - by_group[1], atol=1e-12)


def test_the_posterior_sees_each_row_once_in_its_cell() -> None:
    """Rows by cell and outcome, pooled over arms, groups and regimes; by a loop over the rows."""
    for seed in SEEDS:
        case = oracle.random_case(seed)
        problem = declared(case)
        rows, evidence = few_rows(case, problem)
        names = oracle.columns(case)[:-1]
        sizes = [case.sizes[name] for name in names]
        cells = math.prod(sizes) * (2 if oracle.group_in_cell(case) else 1)
        expected = np.zeros((cells, case.sizes[case.outcome]), dtype=np.int64)
        for row in rows:
            x = int(np.ravel_multi_index([row.codes[name] for name in names], sizes))
            c = x + (math.prod(sizes) * row.group if oracle.group_in_cell(case) else 0)
            expected[c, row.codes[case.outcome]] += row.count
        seen = CellBeliefs.of(evidence).seen
        assert np.array_equal(seen.states[0], expected), seed
        assert np.array_equal(seen.rows[0], expected.sum(axis=1))


def test_mean_of_draws_is_the_mean_of_theta_under_the_law() -> None:
    """With θ drawn by another seed: both means are uncertain. The posterior's own mean is that to second order in b."""
    for seed in range(12):
        case = oracle.random_case(seed)
        beliefs = CellBeliefs.of(few_rows(case, declared(case))[1])
        draws = 4000
        outcomes, gaps = beliefs.draw(np.random.default_rng(seed), draws)
        theta = beliefs.posterior.draw(np.random.default_rng([seed, 1]), draws)[0]
        law, mean = oracle.cell_law(case), theta.mean(axis=0)
        assert np.all(np.abs(beliefs.posterior.mean[0] - mean) < 0.5 * theta.std(axis=0) + 0.01)
        w = np.einsum("t,ktc->kc", oracle.shares(case), law)
        for found, expected in ((outcomes[0], w @ mean), (gaps[0], (law[:, 0] - law[:, 1]) @ mean)):
            error = np.abs(found.mean(axis=0) - expected)
            assert np.all(error <= Z_LIMIT * found.std(axis=0) * math.sqrt(2 / draws) + 1e-12), seed


# ---- P(S) and the law of contexts, unknown ----

COIN_ARMS = {"one": [[0.9, 0.1], [0.2, 0.8]], "two": [[0.3, 0.7], [0.6, 0.4]], "three": [[0.5, 0.5], [0.5, 0.5]]}


def coin(groups: tuple[str, str] = ("a", "b"), arms: tuple[str, ...] = tuple(COIN_ARMS), **changes: Any) -> Problem:
    """S → V → Y with two states each."""
    parts: dict[str, Any] = {
        "name": "coin",
        "variables": [Variable("S", ("a", "b")), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        "graph": [("S", "V"), ("V", "Y")],
        "sensitive": "S",
        "groups": groups,
        "decision": "V",
        "outcome": Outcome("Y", values=(0, 1)),
        "tolerance": 0.1,
        "arms": [Arm(name, table("V", ["S"], COIN_ARMS[name])) for name in arms],
        **changes,
    }
    return Problem(**parts)


def coin_rows(groups: tuple[int, int] = (0, 1), arms: tuple[int, ...] = (0, 1, 2), natural: int = 1) -> np.ndarray:
    """Counts (1, 3, K, G, V × Y): θ is known as well as exactly from forced rows, P(S) from 3 + 9 natural ones."""
    counts = np.zeros((1, 3, 3, 2, 4), dtype=np.int64)
    for t in (0, 1):
        counts[0, 1 + t, :, t] = 10**10 * np.array([7, 3, 2, 8])
    counts[0, 0, 0, 0] = natural * np.array([2, 1, 0, 0])
    counts[0, 0, 1, 1] = natural * np.array([3, 1, 1, 4])
    counts = counts[:, :, list(arms)][:, :, :, list(groups)]
    return counts[:, [0, *(1 + t for t in groups)]]


def test_an_unknown_share_adds_its_variance() -> None:
    """θ = (0.3, 0.8) is known: Var(μ_k) = ζ_k² Var(P), P ~ Beta(3.5, 9.5), and the gap does not vary."""
    beliefs = CellBeliefs.of(CellEvidence(coin(), coin_rows()))
    draws = 50_000
    outcomes, gaps = (x[0] for x in beliefs.draw(np.random.default_rng(0), draws))
    p, theta = np.array([3.5, 9.5]) / 13, np.array([0.3, 0.8])
    variance = p[0] * p[1] / 14
    by_group = np.array([np.array(rows) @ theta for rows in COIN_ARMS.values()])
    zeta = by_group[:, 0] - by_group[:, 1]
    np.testing.assert_allclose(gaps.mean(axis=0), zeta, atol=1e-4)
    assert np.all(gaps.std(axis=0) < 1e-4)
    error = np.abs(outcomes.mean(axis=0) - by_group @ p)
    assert np.all(error <= Z_LIMIT * np.abs(zeta) * math.sqrt(variance / draws) + 1e-5)
    # the variance of a variance: kurtosis of a Beta near 3, so sd ≈ variance · √(2/draws)
    np.testing.assert_allclose(
        outcomes.var(axis=0), zeta**2 * variance, rtol=Z_LIMIT * math.sqrt(2.2 / draws), atol=1e-8
    )


def test_forced_rows_say_nothing_of_the_share() -> None:
    none = coin_rows(natural=0)
    np.testing.assert_allclose(CellBeliefs.of(CellEvidence(coin(), none)).shares, 0.5)
    some = CellBeliefs.of(CellEvidence(coin(), coin_rows()))
    np.testing.assert_allclose(some.shares[0], np.array([3.5, 9.5]) / 13)


def test_estimated_ignores_what_is_declared() -> None:
    problem = coin(shares={"a": 0.5, "b": 0.5})
    evidence = CellEvidence(problem, coin_rows())
    np.testing.assert_allclose(CellBeliefs.of(evidence).shares[0], 0.5)
    assert CellBeliefs.of(evidence).draw(np.random.default_rng(0), 50)[0].std(axis=1).max() < 1e-4
    estimated = believe(evidence, estimated=True)
    assert isinstance(estimated, CellBeliefs)
    np.testing.assert_allclose(estimated.shares[0], np.array([3.5, 9.5]) / 13)
    assert estimated.draw(np.random.default_rng(0), 50)[0].std(axis=1).max() > 0.01


def context_problem() -> Problem:
    """Z is seen by the arms alone; V deterministic in Z, so that μ_k is the law of Z itself where θ = V."""
    return Problem(
        name="contexts",
        variables=[Variable(n, ("0", "1")) for n in ("S", "V", "Y")] + [Variable("Z", ("0", "1", "2"))],
        graph=[("S", "Y"), ("Z", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[
            Arm("last", table("V", ["Z"], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])),
            Arm("first", table("V", ["Z"], [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])),
        ],
        shares=(0.5, 0.5),
    )


def test_an_unknown_law_of_contexts_adds_its_variance() -> None:
    """θ = V is given; the law of Z is drawn as Dirichlet((4, 6, 10) + ⅓).

    Both arms reach every context with probability 1, so nothing is reweighted, and the two arms' outcomes are the shares of
    two contexts, negatively correlated.
    """
    problem = context_problem()
    evidence = CellEvidence.empty(problem)
    space = problem.compiled.row_space
    for z, rows in enumerate((4, 6, 10)):
        v = 1 if z == 2 else 0
        cell = space.number({"Z": np.array([z]), "V": np.array([v]), "Y": np.array([v])})
        evidence.counts[0, 0, 0, 0, cell] = rows
    V = space.codes()["V"].reshape(-1, 2)[:, 0]
    theta = np.tile(V, 2).astype(float)  # S → Y: the cells of s, then those of s'
    draws = 40_000
    means = CellBeliefs.of(evidence)._group_means(
        np.broadcast_to(theta, (1, draws, len(theta))), np.random.default_rng(1)
    )[0]
    alpha = np.array([4, 6, 10]) + 1 / 3
    mean = alpha / alpha.sum()
    cov = (np.diag(mean) - np.outer(mean, mean)) / (alpha.sum() + 1)
    np.testing.assert_allclose(means[:, :, 0], means[:, :, 1], atol=1e-12)
    last, first = means[:, 0, 0], means[:, 1, 0]
    for sample, z in ((last, 2), (first, 0)):
        assert abs(sample.mean() - mean[z]) <= Z_LIMIT * math.sqrt(cov[z, z] / draws)
        assert sample.var() == pytest.approx(cov[z, z], rel=Z_LIMIT * math.sqrt(2.5 / draws))
    assert np.mean(last * first) - mean[0] * mean[2] == pytest.approx(cov[0, 2], rel=0.1)


def test_draws_of_an_unknown_law_are_centred_at_its_estimate() -> None:
    """At 40 000 rows the drawn law varies little around ĥ: means of draws against the plugged-in law."""
    done = 0
    for seed in SEEDS:
        case = oracle.random_case(seed)
        if "context" not in oracle.features(case):
            continue
        problem, _ = oracle.as_fairarm(case, shares=None)
        counts = exact_counts(case, 40_000)
        beliefs = CellBeliefs.of(CellEvidence(problem, counts))
        law = beliefs.law[0]
        w = np.einsum("t,ktc->kc", beliefs.shares[0], law)
        outcomes = beliefs.draw(np.random.default_rng(seed), 400)[0][0]
        expected = w @ beliefs.posterior.mean[0]
        assert np.all(np.abs(outcomes.mean(axis=0) - expected) <= Z_LIMIT * outcomes.std(axis=0) / 20 + 2e-3), seed
        done += 1
    assert done >= 15


def unreachable() -> oracle.Case:
    """V → P → X ← S, X → Y: P is seen and below V, so that h depends on the whole cell. No arm ever gives V = 2."""
    return oracle.Case(
        nodes=("S", "V", "P", "X", "Y"),
        sizes={"S": 2, "V": 3, "P": 2, "X": 2, "Y": 2},
        tables={
            "S": ((), np.array([0.4, 0.6])),
            "V": ((), np.array([0.2, 0.3, 0.5])),
            "P": (("V",), np.array([[0.7, 0.3], [0.4, 0.6], [0.5, 0.5]])),
            "X": (("S", "P"), np.array([[[0.9, 0.1], [0.3, 0.7]], [[0.5, 0.5], [0.2, 0.8]]])),
            "Y": (("X",), np.array([[0.8, 0.2], [0.1, 0.9]])),
        },
        arms=(((), np.array([0.6, 0.4, 0.0])), ((), np.array([0.1, 0.9, 0.0]))),
        sensitive="S",
        decision="V",
        outcome="Y",
        groups=(0, 1),
        values=(0.0, 1.0),
        low=0.0,
        high=1.0,
        seed=0,
    )


def test_cells_that_no_arm_can_reach_do_no_harm() -> None:
    """The law of the cells estimated, some cells impossible: no nan, no warning, and no mass there."""
    case = unreachable()
    problem, _ = oracle.as_fairarm(case, shares=None)
    beliefs = CellBeliefs.of(few_rows(case, problem)[1])
    outcomes, gaps = beliefs.draw(np.random.default_rng(0), 50)
    assert np.isfinite(outcomes).all()
    assert np.isfinite(gaps).all()
    assert np.all(beliefs.law[oracle.cell_law(case)[None] == 0] == 0)
    np.testing.assert_allclose(beliefs.law.sum(axis=3), 1.0)
    many = CellBeliefs.of(CellEvidence(problem, exact_counts(case, 10**9)))
    np.testing.assert_allclose(many.law[0], oracle.cell_law(case), atol=1e-6)


# ---- planning and diagnosis ----


def loop_design(case: oracle.Case, beliefs: CellBeliefs, law: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The units' laws (3, K, C) by loops."""
    K, _, C = law.shape
    out = np.zeros((3, K, C))
    for k, c in np.ndindex(K, C):
        out[0, k, c] = sum(shares[t] * law[k, t, c] for t in (0, 1))
        out[1, k, c], out[2, k, c] = law[k, 0, c], law[k, 1, c]
    return out


def test_design_with_everything_known() -> None:
    for seed in SEEDS:
        case = oracle.random_case(seed)
        problem = declared(case)
        _, evidence = few_rows(case, problem)
        beliefs = CellBeliefs.of(evidence)
        basis = beliefs.design()
        units = loop_design(case, beliefs, oracle.cell_law(case), oracle.shares(case))
        np.testing.assert_allclose(basis.laws.units[0], units, atol=1e-12)
        np.testing.assert_allclose(basis.laws.difference[0], units[1] - units[2], atol=1e-12)
        np.testing.assert_allclose(basis.counts, beliefs.seen.rows + beliefs.posterior.strength)
        np.testing.assert_allclose(basis.noise, beliefs.posterior.noise)


def test_design_with_an_unknown_share_is_the_slope_of_the_outcome() -> None:
    """Natural rows count for P(S) too: dμ_k = Σ w_k dθ + ζ_k dP, by finite differences, and one more count a natural pull."""
    counts = np.concatenate([coin_rows(), coin_rows(natural=5)])
    counts[:, 1:] //= 10**9
    beliefs = CellBeliefs.of(CellEvidence(coin(), counts))
    basis = beliefs.design()
    laws = np.array(list(COIN_ARMS.values()))
    for n, natural in enumerate((12, 60)):
        share, theta = beliefs.shares[n, 0], beliefs.posterior.mean[n]

        def outcome(p: float, theta: np.ndarray) -> np.ndarray:
            return p * laws[:, 0] @ theta + (1 - p) * laws[:, 1] @ theta

        slope = [(outcome(share, theta + 1e-6 * e) - outcome(share, theta)) / 1e-6 for e in np.eye(2)]
        slope.append((outcome(share + 1e-6, theta) - outcome(share, theta)) / 1e-6)
        np.testing.assert_allclose(basis.laws.natural[n], np.array(slope).T, atol=1e-8)
        np.testing.assert_allclose(basis.laws.difference[n, :, -1], 0)
        np.testing.assert_allclose(basis.laws.units[n, :, :, -1], [[1] * 3, [0] * 3, [0] * 3])
        assert basis.counts[n, -1] == natural + 1
        assert basis.noise[n, -1] == pytest.approx(share * (1 - share))
        np.testing.assert_allclose(basis.counts[n, :2], beliefs.seen.rows[n] + beliefs.posterior.strength[n])


def test_diagnostics_are_loops_over_rows() -> None:
    for seed in SEEDS:
        case = oracle.random_case(seed)
        problem = declared(case)
        rows, evidence = few_rows(case, problem)
        found = CellBeliefs.of(evidence).diagnostics()
        law, shares, K = oracle.cell_law(case), oracle.shares(case), len(case.arms)
        names = oracle.columns(case)[:-1]
        sizes = [case.sizes[name] for name in names]
        where = [
            int(np.ravel_multi_index([row.codes[name] for name in names], sizes))
            + (math.prod(sizes) * row.group if oracle.group_in_cell(case) else 0)
            for row in rows
        ]
        mixture = sum(row.count * law[row.arm, row.group] for row in rows) / sum(row.count for row in rows)
        for k in range(K):
            w = shares[0] * law[k, 0] + shares[1] * law[k, 1]
            weights = [w[c] / mixture[c] for c in where]
            total, square = sum(weights), sum(x * x for x in weights)
            assert found.effective[0, k] == pytest.approx(total**2 / square if square else 0.0)
            assert found.largest_weight[0, k] == pytest.approx(max(weights))
            assert found.overlap[0, k] == pytest.approx(sum(min(a, b) for a, b in zip(w, mixture, strict=True)))
            empty = [law[k, t] for t in (0, 1) if not any(row.group == t and row.count for row in rows)]
            unseen = max(1 - sum(mass[c] for c in set(where)) for mass in (w, *empty))
            assert found.unseen[0, k] == pytest.approx(unseen, abs=1e-12)


def test_diagnostics_without_rows() -> None:
    found = CellBeliefs.of(CellEvidence.empty(coin(shares=(0.5, 0.5)), 2)).diagnostics()
    assert found.effective.tolist() == found.overlap.tolist() == found.largest_weight.tolist() == [[0.0] * 3] * 2
    np.testing.assert_allclose(found.unseen, 1.0)


@pytest.mark.parametrize("known", [True, False])
def test_replicates_are_believed_as_if_alone(known: bool) -> None:
    for seed in range(0, 40, 4):
        case = oracle.random_case(seed)
        problem = declared(case) if known else oracle.as_fairarm(case, shares=None)[0]
        parts = [few_rows(case, problem, key=key)[1] for key in range(3)]
        together = CellBeliefs.of(CellEvidence(problem, np.concatenate([part.counts for part in parts])))
        for i, part in enumerate(parts):
            alone = CellBeliefs.of(part)
            for name in ("effective", "largest_weight", "overlap", "unseen"):
                expected = getattr(alone.diagnostics(), name)[0]
                np.testing.assert_allclose(getattr(together.diagnostics(), name)[i], expected, atol=1e-12)
            ours, theirs = together.design(), alone.design()
            np.testing.assert_allclose(ours.counts[i], theirs.counts[0], rtol=1e-9)
            at = i if len(ours.laws.units) > 1 else 0
            np.testing.assert_allclose(ours.laws.units[at], theirs.laws.units[0], atol=1e-12)
            np.testing.assert_allclose(ours.laws.natural[at], theirs.laws.natural[0], atol=1e-9)
        outcomes, gaps = together.draw(np.random.default_rng(1), 3000)
        again = CellBeliefs.of(parts[2]).draw(np.random.default_rng(2), 3000)
        for ours, theirs in ((outcomes[2], again[0][0]), (gaps[2], again[1][0])):
            spread = np.sqrt((ours.var(axis=0) + theirs.var(axis=0)) / 3000)
            assert np.all(np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) <= Z_LIMIT * spread + 1e-12), seed


# ---- rows kept one by one ----


def test_rows_and_cells_are_summed_alike() -> None:
    for seed in SEEDS:
        case = oracle.random_case(seed)
        problem, _ = oracle.as_fairarm(case, shares=None)
        rng = np.random.default_rng(seed)
        rows = oracle.draw_rows(case, rng, rng.integers(0, 4, size=(3, len(case.arms))) + 1, rare=True)
        batch = as_batch(case, rows)
        cells, kept = (
            kind.empty(problem).add(batch).summary(problem.compiled.shared_cells)
            for kind in (CellEvidence, RowEvidence)
        )
        for name in ("rows", "by_arm", "contexts", "natural"):
            assert np.array_equal(getattr(cells, name), getattr(kept, name)), (seed, name)
            assert getattr(kept, name).dtype == np.int64
        np.testing.assert_allclose(cells.sums, kept.sums, atol=1e-12)
        np.testing.assert_allclose(cells.within, kept.within, atol=1e-12)
        assert kept.states is None


def test_a_real_outcome_that_is_always_0_or_1_is_believed_like_two_states() -> None:
    """600 rows: the priors differ, the rows outweigh them. Both groups of both kinds of draws agree within 4 sd / 10."""
    rng = np.random.default_rng(3)
    arm, S = rng.integers(0, 3, 600), rng.integers(0, 2, 600)
    V = (rng.random(600) < np.array(list(COIN_ARMS.values()))[arm, S, 1]).astype(np.int64)
    Y = (rng.random(600) < np.where(V == 1, 0.8, 0.3)).astype(np.int64)
    ones, natural = np.ones(600, dtype=np.int64), np.zeros(600, dtype=np.int64)
    finite, parts = coin(), {"S": S, "V": V}
    real = coin(
        variables=[Variable("S", ("a", "b")), Variable("V", ("0", "1"))], outcome=Outcome("Y", low=-2.0, high=3.0)
    )
    states: Evidence = CellEvidence.empty(finite).add(Batch(arm, natural, {**parts, "Y": Y}, ones))
    values: Evidence = RowEvidence.empty(real).add(Batch(arm, natural, {**parts, "Y": 5.0 * Y - 2.0}, ones))
    ours, theirs = (CellBeliefs.of(e).draw(np.random.default_rng(0), 4000) for e in (states, values))
    for a, b in zip(ours, theirs, strict=True):
        sd = a[0].std(axis=0)
        assert np.all(np.abs(a[0].mean(axis=0) - b[0].mean(axis=0)) <= 0.4 * sd)
        np.testing.assert_allclose(b[0].std(axis=0), sd, rtol=0.2)


# ---- symmetries ----


def test_groups_swapped() -> None:
    """Outcomes stay, gaps change sign: exactly where only θ is drawn, within sampling error where P(S) is too."""
    ours = CellBeliefs.of(CellEvidence(coin(shares={"a": 0.3, "b": 0.7}), coin_rows() // 10**9 + 1))
    swapped = coin(("b", "a"), shares={"a": 0.3, "b": 0.7})
    theirs = CellBeliefs.of(CellEvidence(swapped, coin_rows(groups=(1, 0)) // 10**9 + 1))
    a, b = (beliefs.draw(np.random.default_rng(4), 100) for beliefs in (ours, theirs))
    np.testing.assert_allclose(a[0], b[0], atol=1e-12)
    np.testing.assert_allclose(a[1], -b[1], atol=1e-12)
    ours = CellBeliefs.of(CellEvidence(coin(), coin_rows()))
    theirs = CellBeliefs.of(CellEvidence(coin(("b", "a")), coin_rows(groups=(1, 0))))
    np.testing.assert_allclose(ours.shares, theirs.shares[:, ::-1])
    a, b = (beliefs.draw(np.random.default_rng(4), 4000)[0][0] for beliefs in (ours, theirs))
    assert np.all(np.abs(a.mean(axis=0) - b.mean(axis=0)) <= Z_LIMIT * a.std(axis=0) * math.sqrt(2 / 4000) + 1e-5)


def test_random_networks_with_groups_swapped() -> None:
    for seed in SEEDS:
        case = oracle.random_case(seed)
        other = dataclasses.replace(case, groups=case.groups[::-1], cache={})
        both = []
        for one in (case, other):
            beliefs = CellBeliefs.of(CellEvidence(declared(one), exact_counts(one, 1000)))
            w = beliefs.design().laws
            mean = beliefs.posterior.mean[0]
            both.append((w.natural[0] @ mean, w.difference[0] @ mean))
        np.testing.assert_allclose(both[0][0], both[1][0], atol=1e-9, err_msg=str(seed))
        np.testing.assert_allclose(both[0][1], -both[1][1], atol=1e-9, err_msg=str(seed))


@pytest.mark.parametrize("known", [True, False])
def test_arms_permuted(known: bool) -> None:
    """The same rows under other numbers: every draw is the same, in the other order."""
    names, order = tuple(COIN_ARMS), (2, 0, 1)
    options = {"shares": (0.3, 0.7)} if known else {}
    ours = CellBeliefs.of(CellEvidence(coin(**options), coin_rows() // 10**9 + 1))
    mixed = coin(arms=tuple(names[i] for i in order), **options)
    theirs = CellBeliefs.of(CellEvidence(mixed, coin_rows(arms=order) // 10**9 + 1))
    a, b = (beliefs.draw(np.random.default_rng(4), 50) for beliefs in (ours, theirs))
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(x[:, :, order], y, atol=1e-12)
    np.testing.assert_allclose(ours.diagnostics().effective[:, order], theirs.diagnostics().effective)


# ---- the arms against the prior ----


def many_cells(seed: int, direct: bool, N: int = 100) -> tuple[CellBeliefs, np.ndarray, np.ndarray, np.ndarray]:
    """S → X → V → Y, and S → Y where ``direct``, with rare outcomes: beliefs from N logs of the first arm, 4 000 rows each;
    its rows and their ones by group and cell, (N, G, X · V); and the true rates, (G, X · V)."""
    rng = np.random.default_rng(seed)
    X, V = 12, 8
    contexts, laws = rng.dirichlet(np.full(X, 2.0), 2), 0.9 * rng.dirichlet(np.ones(V), (3, 2, X)) + 0.1 / V
    rate = np.exp(-4 + 0.7 * rng.normal(size=(2, X, 1)) + 0.5 * rng.normal(size=(1, 1, V)))
    rate = np.broadcast_to(rate if direct else rate[:1], (2, X, V))
    problem = Problem(
        name="clicks",
        variables=[
            Variable("S", ("a", "b")),
            Variable("X", tuple(f"x{i}" for i in range(X))),
            Variable("V", tuple(f"v{i}" for i in range(V))),
            Variable("Y", ("0", "1")),
        ],
        graph=[("S", "X"), ("S", "V"), ("X", "V"), ("X", "Y"), ("V", "Y"), *([("S", "Y")] if direct else [])],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm(f"arm-{k}", table("V", ["S", "X"], law)) for k, law in enumerate(laws)],
        mechanisms=[table("X", ["S"], contexts)],
        shares=(0.4, 0.6),
    )
    assert problem.cell_columns in (("X", "V"), ("V", "X"))
    law = np.array([0.4, 0.6])[:, None, None] * contexts[:, :, None] * laws[0]
    made = rng.multinomial(4000, law.ravel(), N).reshape(N, 2, X, V)
    ones = rng.binomial(made, rate)
    if problem.cell_columns == ("V", "X"):
        made, ones, rate = made.swapaxes(2, 3), ones.swapaxes(2, 3), rate.swapaxes(1, 2)
    counts = np.zeros((N, 3, 3, 2, X * V * 2), dtype=np.int64)
    counts[:, 0, 0, :, 0::2], counts[:, 0, 0, :, 1::2] = (x.reshape(N, 2, -1) for x in (made - ones, ones))
    beliefs = CellBeliefs.of(CellEvidence(problem, counts))
    return beliefs, made.reshape(N, 2, -1), ones.reshape(N, 2, -1), rate.reshape(2, -1)


@pytest.mark.parametrize("direct", quick([True, False], 1), ids=["S -> Y", "shared"])
def test_the_arm_that_made_the_rows_agrees_with_its_plain_rows(direct: bool) -> None:
    """100 logs of 4 000 rows, 96 cells (192 where S → Y), a rate near 2 %. The arm's outcome is within 1 plain standard error
    of Σ p ȳ. Where each group has cells of its own, its gap's interval holds the plain gap. Where the groups share rows it need
    not: the interval is narrower than that of the plain gap, and right."""
    beliefs, made, ones, _ = many_cells(5, direct)
    outcomes, gaps = (x[:, :, 0] for x in beliefs.draw(np.random.default_rng(0), 1000))
    law = beliefs.law[0, 0]
    law = law.reshape(2, 2, -1)[[0, 1], [0, 1]] if direct else law
    rows, sums = (made, ones) if direct else (x.sum(axis=1, keepdims=True) for x in (made, ones))
    average = np.divide(sums, rows, out=np.zeros(sums.shape), where=rows > 0)
    means = (law * average).sum(axis=2)
    plain = means @ np.array([0.4, 0.6])
    rate = ones.sum(axis=(1, 2)) / made.sum(axis=(1, 2))
    error = np.sqrt(rate * (1 - rate) / made.sum(axis=(1, 2)))
    assert np.mean(np.abs(outcomes.mean(axis=1) - plain) < error) >= 0.99
    low, high = np.quantile(gaps, [0.025, 0.975], axis=1)
    group = ones.sum(axis=2) / made.sum(axis=2)
    plain_gap = group[:, 0] - group[:, 1]
    holds = np.mean((low <= plain_gap) & (plain_gap <= high))
    assert holds >= 0.99 if direct else holds < 0.99
    plain_width = 2 * 1.96 * np.sqrt((group * (1 - group) / made.sum(axis=2)).sum(axis=1))
    assert np.median((high - low) / plain_width) < (1.3 if direct else 0.8)


@pytest.mark.slow
def test_limits_hold_where_the_prior_is_wrong() -> None:
    """200 logs, rare outcomes that follow columns: 95 % limits of each arm's outcome and gap hold the truth in 0.88 at least
    (a procedure with 95 % fails this in fewer than 1 of 10^4 comparisons)."""
    beliefs, _, _, rate = many_cells(8, direct=True, N=200)
    means = beliefs.law[0] @ rate.ravel()  # the cells of the first group, then those of the second
    truth = (means @ np.array([0.4, 0.6]), means[:, 0] - means[:, 1])
    for drawn, true in zip(beliefs.draw(np.random.default_rng(1), 1000), truth, strict=True):
        low, high = np.quantile(drawn, [0.025, 0.975], axis=1)
        held = np.mean((low <= true) & (true <= high), axis=0)
        assert held.min() >= 0.88, held
        assert held.mean() >= 0.92, held


def test_an_order_is_found_in_the_rows_and_named() -> None:
    """20 doses whose outcome rises along them, 30 rows each: with names, declared; with numbers, without a word; not if it
    is denied; and an outcome that does not follow the order makes it unlikely."""
    rng = np.random.default_rng(3)
    rise, rough = 1 / (1 + np.exp(-np.linspace(-2, 2, 20))), rng.permutation(np.linspace(0.05, 0.95, 20))

    def weight(states: list[str], rate: np.ndarray, ordered: bool | None) -> tuple[tuple[str, ...], float] | None:
        dose = Variable("V", tuple(states), ordered=ordered)
        arms = [Arm("even", table("V", [], np.full(20, 0.05))), Arm("first", table("V", [], np.eye(20)[0]))]
        variables = [Variable("S", ("a", "b")), dose, Variable("Y", ("0", "1"))]
        problem = replace(coin(), variables=variables, arms=arms, graph=[("S", "Y"), ("V", "Y")])
        ones = np.random.default_rng(4).binomial(30, rate)
        counts = np.zeros((1, 3, 2, 2, 40), dtype=np.int64)
        counts[0, 0, 0, 0, 0::2], counts[0, 0, 0, 0, 1::2] = 30 - ones, ones
        smooth = CellBeliefs.of(CellEvidence(problem, counts)).diagnostics().smooth
        return None if smooth is None else (smooth.columns, float(smooth.weight[0]))

    names, numbers = [f"d{i}" for i in range(20)], [str(5 * i) for i in range(20)]
    assert weight(names, rise, None) is None
    assert weight(numbers, rise, False) is None
    for states, ordered in ((names, True), (numbers, None)):
        found = weight(states, rise, ordered)
        assert found is not None and found[0] == ("V",) and found[1] > 0.9
    mixed = rng.permutation(20)
    found = weight([numbers[i] for i in mixed], rise[mixed], None)  # states listed in no order: their numbers have one
    assert found is not None and found[1] > 0.9
    found = weight(numbers, rough, None)
    assert found is not None and found[1] < 0.5
