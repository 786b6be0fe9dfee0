"""Laws, divergences and estimates of the paper's algorithms for any number of groups, against structural models with explicit noise.

`tests/structural_laws.py` runs every person through the functions of a model; it shares no code with what is tested.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import structural_laws as structural
from fairarm import NetworkWorld, Problem, algorithm
from fairarm.beliefs.evidence import CellEvidence, RowEvidence
from fairarm.core.paper.estimators import dropped_mean
from fairarm.errors import OverlapError
from fairarm.problem import tables as tables_module
from fairarm.problem.network import Network
from fairarm.problem.tables import Tables
from quick import quick

EXACT = 1e-12
BLOCKS, BLOCK_SIZE = 7, 20
GROUPS = (2, 3, 4)


@dataclasses.dataclass(frozen=True)
class Sample:
    model: structural.Model
    problem: Problem
    network: Network
    law: np.ndarray

    @property
    def K(self) -> int:
        return len(self.model.arms)

    def gap(self, k: int, t: int, u: int) -> float:
        """ζ_k^{t,u} on the scale of Y'."""
        return (self.model.mean(k, t, u) - self.model.mean(k, u, u)) / self.problem.outcome.width


def build(seed: int, groups: int, **options: Any) -> Sample:
    model = structural.random_model(seed, groups)
    problem, network = structural.as_fairarm(model, **options)
    return Sample(model, problem, network, model.law((*problem.cell_columns, "Y")))


@pytest.fixture(
    scope="module",
    params=quick([(b, G) for b in range(BLOCKS) for G in GROUPS], 3 * len(GROUPS)),
    ids=lambda p: f"{p[1]}-{p[0]}",
)
def block(request: pytest.FixtureRequest) -> list[Sample]:
    number, groups = request.param
    return [build(seed, groups) for seed in range(BLOCK_SIZE * number, BLOCK_SIZE * (number + 1))]


def check_divergences(s: Sample) -> None:
    arms, found = range(s.K), s.problem.compiled.tables
    M = [[structural.outcome_divergence(s.law, s.model.shares, k, j) for j in arms] for k in arms]
    D = [[[structural.gap_divergence(s.law, k, j, t, u) for j in arms] for k in arms] for t, u in s.problem.compared]
    np.testing.assert_allclose(found.M, M, rtol=EXACT)
    np.testing.assert_allclose(found.D, np.array(D), rtol=EXACT)


# ---- numbers ----


def test_the_models_cover_every_structure() -> None:
    seen: collections.Counter[str] = collections.Counter()
    for groups in GROUPS:
        for seed in range(BLOCKS * BLOCK_SIZE):
            s = build(seed, groups)
            relevant, graph = s.problem.relevant_children, s.problem.roles.graph
            tests = {
                "V child of S": s.problem.roles.decision_is_child,
                "V not child of S": not s.problem.roles.decision_is_child,
                "S -> Y": "Y" in relevant,
                "child above V": any("V" in graph.descendants(x) for x in relevant),
                "child below V": any(x in graph.descendants("V") for x in relevant if x != "Y"),
                "hidden node": len(s.problem.observed) < len(s.model.order),
                "context": s.problem.context is not None,
                "zeros": bool((s.law == 0).any()),
                "no overlap of some arms": bool(np.isinf(s.problem.compiled.tables.D).any()),
            }
            seen.update(f"{groups} {name}" for name, holds in tests.items() if holds)
    assert len(seen) == 9 * len(GROUPS) and min(seen.values()) >= 5, seen


def test_laws_and_means_are_those_of_the_people(block: list[Sample]) -> None:
    for s in block:
        world = NetworkWorld(s.problem, s.network)
        np.testing.assert_allclose(world.law, s.law, rtol=EXACT, atol=1e-15)
        truth = world.truth()
        np.testing.assert_allclose(truth.outcomes, [s.model.outcome(k) for k in range(s.K)], rtol=EXACT, atol=1e-14)
        for k, t, u in np.ndindex(
            s.K, s.model.groups, s.model.groups
        ):  # S has no causes: the same for people of any group
            assert truth.group_outcomes[k, t] == pytest.approx(s.model.mean(k, t, u), rel=EXACT, abs=1e-14)
        gaps = [[s.gap(k, t, u) for t, u in s.problem.compared] for k in range(s.K)]
        fair = np.all(np.abs(gaps) < 0.5 / s.problem.outcome.width, axis=1)
        assert truth.fair.tolist() == fair.tolist()


def test_divergences_of_every_pair(block: list[Sample]) -> None:
    for s in block:
        assert s.problem.compared == tuple(
            pair for i in range(s.model.groups) for j in range(i + 1, s.model.groups) for pair in ((i, j), (j, i))
        )
        check_divergences(s)


@pytest.mark.parametrize("wrong", [lambda t, u: (u, t), lambda t, u: (t, (u + 1) % 3), lambda t, u: ((t + 1) % 3, u)])
def test_another_pairs_divergence_would_be_noticed(wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Tables._divergence
    monkeypatch.setattr(Tables, "_divergence", lambda self, t, u: right(self, *wrong(t, u)))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        check_divergences(build(1, 3))


def test_undropped_weights_have_the_truth_as_their_mean(block: list[Sample]) -> None:
    """E_{j,u}[g_kj Y'] = μ'_k(t|u) − μ'_k(u|u) for every ordered pair, from pulls forced to u; E_j[r_kj Y'] = μ'_k."""
    for s in block:
        G, outcome = s.model.groups, s.problem.outcome
        for j in range(s.K):
            counts = np.zeros((1, 1 + G, s.K, G, s.law.shape[2]))
            counts[0, 0, j] = s.law[j] * s.model.shares[:, None]
            for u in range(G):
                counts[0, 1 + u, j, u] = s.law[j, u]
            evidence = CellEvidence(s.problem, counts)  # type: ignore[arg-type]
            pulls = evidence.pulls()
            found = s.problem.compiled.tables
            unit = np.where(np.isinf(found.M), np.inf, 1.0)
            means = dropped_mean(evidence.outcome_terms((0,)), pulls[:, 0], unit, phase=10**15)[0]
            for k in np.flatnonzero(np.isfinite(unit[:, j])):
                assert means[k] == pytest.approx(outcome.scale(np.array(s.model.outcome(k))), abs=1e-12)
            for p, (t, u) in enumerate(s.problem.compared):
                unit = np.where(np.isinf(found.D[p]), np.inf, 1.0)
                gaps = dropped_mean(evidence.gap_terms(p), pulls[:, 1 + u], unit, phase=10**15)[0]
                for k in np.flatnonzero(np.isfinite(unit[:, j])):
                    assert gaps[k] == pytest.approx(s.gap(k, t, u), abs=1e-12), (t, u, k, j)


def test_weights_that_are_not_kept_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    s = build(2, 4)
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 5, (1, 5, s.K, 4, s.law.shape[2]))
    first = [[terms.weight for terms in CellEvidence(s.problem, counts).gap_terms(p)] for p in range(12)]
    monkeypatch.setattr(tables_module, "KEPT_WEIGHTS", 11 * s.K * s.K * s.law.shape[2] // len(s.model.values))
    apart, _ = structural.as_fairarm(s.model)
    assert apart.compiled.tables.outcome_weights is not None and apart.compiled.tables.gap_weights is None
    second = [[terms.weight for terms in CellEvidence(apart, counts).gap_terms(p)] for p in range(12)]
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(np.concatenate(a, axis=1), np.concatenate(b, axis=1))


# ---- a run, estimated by loops ----


def dropped_gap(s: Sample, rows: list[tuple[int, int, int]], k: int, t: int, u: int, phase: int) -> float:
    """ζ̂_k^{t,u} from rows (regime, arm, cell), one after the other; nan where none is usable."""
    total = size = 0.0
    for regime, j, c in rows:
        D = structural.gap_divergence(s.law, k, j, t, u)
        if regime != 1 + u or math.isinf(D):
            continue
        size += 1 / D
        g = structural.gap_weight(s.law, k, j, t, u, c)
        y = (s.model.values[c % len(s.model.values)] - min(s.model.values)) / s.problem.outcome.width
        total += y * g / D if abs(g) <= 2 * phase * D else 0.0
    return total / size if size else math.nan


@pytest.mark.parametrize("name", ["csr-v1", "csr-v2"])
@pytest.mark.parametrize(("seed", "groups"), [(1, 3), (2, 3), (4, 3), (5, 4), (6, 4)])
def test_a_whole_run_estimates_like_the_loops(name: str, seed: int, groups: int) -> None:
    s = build(seed, groups, tolerance=1e-9)  # no arm is ever in F: none is rejected
    world, rng = NetworkWorld(s.problem, s.network), np.random.default_rng(seed)
    if np.isinf(s.problem.compiled.tables.D).all(axis=2).any():
        with pytest.raises(OverlapError):
            algorithm(name, s.problem, pulls=60)
        return
    run, pooled, phase = algorithm(name, s.problem, pulls=60), [], 0
    while not run.finished:
        phase += 1
        batch = world.pull(run.ask(), rng)
        cells = s.problem.compiled.row_space.number(batch.columns)
        rows = [
            (int(r), int(j), int(c))
            for r, j, c, n in zip(batch.regime, batch.arm, cells, batch.count, strict=True)
            for _ in range(n)
        ]
        pooled += rows
        run.tell(batch, id=str(phase))
        used = rows if name == "csr-v1" else pooled
        for k, (p, (t, u)) in ((k, pair) for k in range(s.K) for pair in enumerate(s.problem.compared)):
            expected = dropped_gap(s, used, k, t, u, phase)
            assert run.info.gaps[0, p, k] == pytest.approx(expected, rel=EXACT, abs=1e-13, nan_ok=True)


def test_rows_are_weighted_like_cells() -> None:
    s = build(3, 4)
    world = NetworkWorld(s.problem, s.network)
    run = algorithm("csr-v2", s.problem, pulls=200)
    batch = world.pull(run.ask(), np.random.default_rng(0))
    cells, rows = CellEvidence.empty(s.problem).add(batch), RowEvidence.empty(s.problem).add(batch)
    for p, (_, u) in enumerate(s.problem.compared):
        found = [
            dropped_mean(e.gap_terms(p), e.pulls()[:, 1 + u], s.problem.compiled.tables.D[p], 1) for e in (cells, rows)
        ]
        np.testing.assert_allclose(found[0], found[1], rtol=EXACT, atol=1e-15)
