"""Everything that computes, against full enumeration of random networks (tests/oracle.py shares no code with it)."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math

import numpy as np
import pytest

import oracle
from fairarm.algorithms import algorithm
from fairarm.beliefs.evidence import CellEvidence, RowEvidence
from fairarm.core.paper.estimators import dropped_mean
from fairarm.errors import OverlapError
from fairarm.problem.context import ContextSample
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch
from fairarm.worlds import NetworkWorld, context_law
from quick import quick

BLOCKS, BLOCK_SIZE = 60, 20
EXACT = 1e-12
"""Relative deviation allowed; estimates near 0 may instead be off by 1e-13."""


@dataclasses.dataclass(frozen=True)
class Sample:
    case: oracle.Case
    problem: Problem
    network: Network
    M: np.ndarray
    D: np.ndarray

    @property
    def K(self) -> int:
        return len(self.case.arms)


def build(seed: int) -> Sample:
    case = oracle.random_case(seed)
    problem, network = oracle.as_fairarm(case)
    if "context" in oracle.features(case):  # without any, h is 1 and there is nothing to declare
        problem = dataclasses.replace(problem, context=context_law(network, problem))
    return Sample(case, problem, network, *oracle.divergences(case))


@pytest.fixture(scope="module", params=quick(range(BLOCKS), 25))
def block(request: pytest.FixtureRequest) -> list[Sample]:
    """Networks number 20 b to 20 b + 19."""
    first = request.param * BLOCK_SIZE
    return [build(seed) for seed in range(first, first + BLOCK_SIZE)]


def as_batch(case: oracle.Case, rows: list[oracle.Row]) -> Batch:
    names = oracle.columns(case)
    codes = {name: np.array([row.codes[name] for row in rows], dtype=np.int64) for name in names}
    codes[case.sensitive] = np.array([case.groups[row.group] for row in rows], dtype=np.int64)
    numbers = ([row.arm for row in rows], [row.regime for row in rows], [row.count for row in rows])
    arm, regime, count = (np.array(values, dtype=np.int64) for values in numbers)
    return Batch(arm, regime, codes, count)


def as_rows(case: oracle.Case, batch: Batch) -> list[oracle.Row]:
    names = oracle.columns(case)
    return [
        oracle.Row(
            int(batch.arm[i]),
            int(batch.regime[i]),
            case.groups.index(int(batch.columns[case.sensitive][i])),
            {name: int(batch.columns[name][i]) for name in names},
            int(batch.count[i]),
        )
        for i in range(batch.size)
    ]


def estimates(problem: Problem, evidence: CellEvidence | RowEvidence, phase: int, shrink: float = 1.0) -> np.ndarray:
    """Ŷ, ζ̂^{s,s'} and ζ̂^{s',s} as successive rejection computes them, (n, 3, K); ``shrink`` multiplies M and D."""
    M, D, pulls = shrink * problem.compiled.tables.M, shrink * problem.compiled.tables.D, evidence.pulls()
    found = [dropped_mean(evidence.outcome_terms((0,)), pulls[:, 0], M, phase)]
    for direction, regime in ((0, 2), (1, 1)):
        found.append(dropped_mean(evidence.gap_terms(direction), pulls[:, regime], D[direction], phase))
    return np.stack(found, axis=1)


def expected_estimates(s: Sample, rows: list[oracle.Row], phase: int, shrink: float = 1.0) -> np.ndarray:
    """The same, (3, K), by loops over rows."""
    out = np.empty((3, s.K))
    for k in range(s.K):
        out[0, k] = oracle.dropped_outcome(s.case, rows, k, phase, shrink * s.M)
        for direction in (0, 1):
            out[1 + direction, k] = oracle.dropped_gap(s.case, rows, k, direction, phase, shrink * s.D)
    return out


# ---- the oracle itself ----


def test_random_networks_cover_every_structure() -> None:
    """Each structure that the formulas could get wrong occurs, so that a block cannot pass for want of it."""
    seen: collections.Counter[str] = collections.Counter()
    for seed in range(BLOCKS * BLOCK_SIZE):
        seen.update(oracle.features(oracle.random_case(seed)))
    assert len(seen) == 24
    assert min(seen.values()) >= 20, seen


def test_enumerated_laws_are_laws_and_their_ratios_are_those_of_likelihoods(block: list[Sample]) -> None:
    """p_{k,t}(cell, y) / p_{j,u}(cell, y) = L[k, t] / L[j, u]: this needs no belief, the joint shows it."""
    for s in block:
        p, like = oracle.law(s.case), oracle.likelihoods(s.case)
        assert oracle.worst(p.sum(axis=tuple(range(2, p.ndim))), np.ones((s.K, 2))) <= EXACT
        p, like = p.reshape(2 * s.K, -1), like.reshape(2 * s.K, -1)
        for a, b in itertools.permutations(range(2 * s.K), 2):
            assert oracle.worst(p[a] * like[b], p[b] * like[a], floor=1e-17) <= EXACT, s.case.seed


# ---- graph and law ----


def test_roles(block: list[Sample]) -> None:
    for s in block:
        case, problem = s.case, s.problem
        assert set(problem.relevant_children) == oracle.relevant_children(case), case.seed
        assert set(problem.observed) == oracle.observed(case), case.seed
        assert (*problem.cell_columns, case.outcome) == oracle.columns(case), case.seed
        assert set(problem.roles.decision_parents) == oracle.arm_parents(case), case.seed
        assert problem.roles.decision_is_child == (case.sensitive in oracle.arm_parents(case)), case.seed


def test_law_of_a_pull_and_truth(block: list[Sample]) -> None:
    for s in block:
        world = NetworkWorld(s.problem, s.network)
        law = oracle.law(s.case)
        assert oracle.worst(world.law, law.reshape(s.K, 2, -1), floor=1e-16) <= EXACT, s.case.seed
        assert oracle.worst(world.shares, oracle.shares(s.case)) == 0
        outcomes, by_group, gaps = oracle.truth(s.case)
        truth = world.truth()
        assert oracle.worst(truth.outcomes, outcomes, floor=1e-13) <= EXACT, s.case.seed
        assert oracle.worst(truth.group_outcomes, by_group, floor=1e-13) <= EXACT, s.case.seed
        assert oracle.worst(truth.gaps, gaps, floor=1e-13) <= EXACT, s.case.seed


def test_truth_names_the_best_fair_arm(block: list[Sample]) -> None:
    for s in block:
        outcomes, _, gaps = oracle.truth(s.case)
        fair = [k for k in range(s.K) if abs(gaps[k]) < s.case.tolerance]
        expected = max(fair, key=lambda k: outcomes[k]) if fair else None
        found = NetworkWorld(s.problem, s.network).truth().best_fair_arm
        assert found == expected or outcomes[found] == pytest.approx(outcomes[expected], abs=1e-13), s.case.seed


def test_likelihood_over_cells(block: list[Sample]) -> None:
    for s in block:
        like = oracle.likelihoods(s.case)
        if s.case.outcome not in oracle.relevant_children(s.case):
            like = like[..., 0]  # Y is no part of L
        found = np.exp(s.problem.compiled.tables.likelihood.log_L)
        assert oracle.worst(found, like.reshape(s.K, 2, -1)) <= EXACT, s.case.seed


# ---- divergences ----


def test_divergences_are_their_definitions(block: list[Sample]) -> None:
    for s in block:
        assert oracle.worst(s.problem.compiled.tables.M, s.M) <= EXACT, s.case.seed
        assert oracle.worst(s.problem.compiled.tables.D, s.D) <= EXACT, s.case.seed
        assert s.M.min() >= 1 - EXACT
        assert s.D.min() >= math.log(2) - EXACT


def test_overlap_error_exactly_where_no_arm_can_inform_a_gap(block: list[Sample]) -> None:
    for s in block:
        lost = [k for d, k in itertools.product((0, 1), range(s.K)) if np.isinf(s.D[d, k]).all()]
        said = overlap_error(s.problem)
        assert (said is not None) == bool(lost), s.case.seed
        assert said is None or f"'arm {lost[0]}'" in said


def overlap_error(problem: Problem) -> str | None:
    try:
        problem.compiled.tables.require_overlap()
    except OverlapError as error:
        return str(error)
    return None


# ---- estimators ----


def test_estimators_are_the_loops_over_rows(block: list[Sample]) -> None:
    """Phases 1 to 6, from each phase's own rows (V1) and from all rows so far (V2), as cells and as rows."""
    for s in block:
        rng = np.random.default_rng([s.case.seed, 1])
        cells, kept = CellEvidence.empty(s.problem), RowEvidence.empty(s.problem)
        pooled: list[oracle.Row] = []
        for phase in range(1, 7):
            rows = oracle.draw_rows(s.case, rng, rng.integers(0, 3, size=(3, s.K)), rare=phase % 2 == 0)
            pooled += rows
            before, before_rows = cells, kept
            cells, kept = cells.add(as_batch(s.case, rows)), kept.add(as_batch(s.case, rows))
            of_phase, of_all = expected_estimates(s, rows, phase), expected_estimates(s, pooled, phase)
            for evidence, expected in (
                (cells.since(before), of_phase),
                (kept.since(before_rows), of_phase),
                (cells, of_all),
                (kept, of_all),
            ):
                found = estimates(s.problem, evidence, phase)
                assert oracle.worst(found[0], expected, floor=1e-13) <= EXACT, (s.case.seed, phase)


def test_weights_beyond_the_threshold_are_dropped(block: list[Sample]) -> None:
    """A row beyond 2 l M is rare by the choice of M: divergences of an eighth, and rare cells, show what happens to it."""
    dropped = 0
    for s in block:
        rng = np.random.default_rng([s.case.seed, 4])
        rows = oracle.draw_rows(s.case, rng, rng.integers(2, 6, size=(3, s.K)), rare=True)
        cells, kept = (kind.empty(s.problem).add(as_batch(s.case, rows)) for kind in (CellEvidence, RowEvidence))
        everything = expected_estimates(s, rows, 10**9, shrink=0.13)
        for phase in (1, 2, 5):
            expected = expected_estimates(s, rows, phase, shrink=0.13)
            dropped += int(np.sum(np.abs(expected - everything) > 1e-6))
            for evidence in (cells, kept):
                found = estimates(s.problem, evidence, phase, shrink=0.13)
                assert oracle.worst(found[0], expected, floor=1e-13) <= EXACT, (s.case.seed, phase)
    assert dropped >= 50


def test_replicates_are_estimated_as_if_alone(block: list[Sample]) -> None:
    for s in block:
        rng = np.random.default_rng([s.case.seed, 2])
        alone = []
        for _ in range(3):
            rows = oracle.draw_rows(s.case, rng, rng.integers(0, 3, size=(3, s.K)))
            alone.append(CellEvidence.empty(s.problem).add(as_batch(s.case, rows)))
        together = CellEvidence(s.problem, np.concatenate([one.counts for one in alone]))
        expected = np.concatenate([estimates(s.problem, one, 2) for one in alone])
        assert oracle.worst(estimates(s.problem, together, 2), expected, floor=1e-13) <= EXACT, s.case.seed


def test_undropped_weights_have_the_truth_as_their_mean(block: list[Sample]) -> None:
    """E_j[r_kj Y'] = μ'_k and E_{j,s'}[g_kj Y'] = ζ'_k for every pair that overlaps: counts are the enumerated law."""
    for s in block:
        case, K = s.case, s.K
        law, share = oracle.law(case).reshape(K, 2, -1), oracle.shares(case)
        width = case.high - case.low
        outcomes, _, gaps = oracle.truth(case)
        want = np.stack([(outcomes - case.low) / width, gaps / width, -gaps / width])
        for j in range(K):
            counts = np.zeros((1, 3, K, 2, law.shape[2]))
            counts[0, 0, j] = law[j] * share[:, None]
            counts[0, 1, j, 0], counts[0, 2, j, 1] = law[j]
            evidence = CellEvidence(s.problem, counts)  # type: ignore[arg-type]
            pulls = evidence.pulls()
            overlap = [np.where(np.isinf(d), np.inf, 1.0) for d in (s.M, s.D[0], s.D[1])]
            terms = [evidence.outcome_terms((0,)), evidence.gap_terms(0), evidence.gap_terms(1)]
            for block_, regime, divergence, expected in zip(terms, (0, 2, 1), overlap, want, strict=True):
                found = dropped_mean(block_, pulls[:, regime], divergence, phase=10**15)[0]
                expected = np.where(np.isinf(divergence[:, j]), np.nan, expected)
                assert oracle.worst(found, expected, floor=1e-12) <= 1e-11, (case.seed, j)


READINGS = [
    ("csr-v1", {}),
    ("csr-v2", {}),
    ("csr-v1", {"clip_base": "e"}),
    ("csr-v2", {"outcome_pulls": "all"}),
]


@pytest.mark.parametrize("seed", range(0, 240, 4))
@pytest.mark.parametrize(("name", "options"), READINGS, ids=["v1", "v2", "v1-base-e", "v2-all-pulls"])
def test_a_whole_run_estimates_like_the_loops(name: str, options: dict[str, str], seed: int) -> None:
    """Ask, pull, tell: after every phase the state holds the estimates of V1 or V2 from what came back."""
    s = build(seed)
    if np.isinf(s.D).all(axis=2).any():
        with pytest.raises(OverlapError):
            algorithm(name, s.problem, pulls=100)
        return
    problem = dataclasses.replace(s.problem, constraints=_strict(s.problem))  # no arm is ever in F: none is rejected
    world = NetworkWorld(problem, s.network)
    rng = np.random.default_rng([seed, 3])
    unit = math.log(2) if options.get("clip_base") == "e" else 1.0
    regimes = (0, 1, 2) if options.get("outcome_pulls") == "all" else (0,)
    run = algorithm(name, problem, pulls=150, **options)
    pooled: list[oracle.Row] = []
    phase = 0
    while not run.finished:
        phase += 1
        assert run.phase == phase
        plan = run.ask()
        if "clip_base" in options:  # the threshold shows only in rows that are rare
            rows = oracle.draw_rows(s.case, rng, plan.counts, rare=True)
            batch = as_batch(s.case, rows)
        else:
            batch = world.pull(plan, rng)
            rows = as_rows(s.case, batch)
            assert sum(row.count for row in rows) == plan.total
        pooled += rows
        run.tell(batch, id=f"phase {phase}")
        used = rows if name == "csr-v1" else pooled
        for k in range(s.K):
            outcome = oracle.dropped_outcome(s.case, used, k, phase, s.M, regimes, unit)
            gaps = [oracle.dropped_gap(s.case, used, k, d, phase, s.D, unit) for d in (0, 1)]
            assert oracle.worst(run.info.outcomes[0, k], outcome, floor=1e-13) <= EXACT
            assert oracle.worst(run.info.gaps[0, :, k], gaps, floor=1e-13) <= EXACT
    assert phase == 7  # ⌈log2(10 √150)⌉
    assert "clip_base" in options or sum(row.count for row in pooled) == 150


def _strict(problem: Problem) -> tuple[object, ...]:
    return (dataclasses.replace(problem.constraints[0], tolerance=1e-9),)


# ---- divergences from a sample ----


def _sampled(seed: int, shares: bool) -> tuple[Problem, oracle.Case, bool] | None:
    """A problem whose context is an exact sample of arm 0, and whether its rows must be reweighted."""
    case = oracle.random_case(seed, grid=8)
    rows = oracle.exact_sample(case, arm=0)
    if rows is None:
        return None
    columns = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in rows[0]}
    context = ContextSample("arm 0", columns)
    problem, _ = oracle.as_fairarm(case, context=context, **({} if shares else {"shares": None}))
    paths, children = oracle.reaches(case), oracle.relevant_children(case)
    seen = oracle.observed(case) - {case.outcome}
    return problem, case, case.outcome in children or any((case.decision, x) in paths for x in seen)


@pytest.mark.parametrize("block_of_samples", range(10))
def test_an_exact_sample_gives_the_exact_divergences(block_of_samples: int) -> None:
    """Probabilities are multiples of 1/8, arm 0 made the rows: sums over rows are then sums over the law."""
    done = collections.Counter[bool]()
    for seed in range(40 * block_of_samples, 40 * block_of_samples + 40):
        if (sampled := _sampled(seed, shares=seed % 2 == 0)) is None:
            continue
        problem, case, reweighted = sampled
        M, D = oracle.divergences(case)
        assert oracle.worst(problem.compiled.tables.M, M) <= EXACT, seed
        assert oracle.worst(problem.compiled.tables.D, D) <= EXACT, seed
        done[reweighted] += 1
    assert min(done[False], done[True]) >= 3, done


def _half_blind_logger() -> oracle.Case:
    """V → X ← S, X → Y: rows must be reweighted. Arm 0 never does v1 in group s', arm 1 does it half the time."""
    half = np.full((2, 2), 0.5)
    return oracle.Case(
        nodes=("S", "V", "X", "Y"),
        sizes={"S": 2, "V": 2, "X": 2, "Y": 2},
        tables={
            "S": ((), np.array([0.5, 0.5])),
            "V": ((), np.array([0.5, 0.5])),
            "X": (("S", "V"), np.array([[[0.25, 0.75], [0.5, 0.5]], [[0.75, 0.25], [0.125, 0.875]]])),
            "Y": (("X",), np.array([[0.75, 0.25], [0.25, 0.75]])),
        },
        arms=((("S",), np.array([[0.5, 0.5], [1.0, 0.0]])), (("S",), half)),
        sensitive="S",
        decision="V",
        outcome="Y",
        groups=(0, 1),
        values=(0.0, 1.0),
        low=0.0,
        high=1.0,
    )


def _half_blind_tables() -> tuple[oracle.Case, np.ndarray, np.ndarray]:
    case = _half_blind_logger()
    rows = oracle.exact_sample(case, arm=0)
    assert rows is not None
    columns = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in rows[0]}
    problem, _ = oracle.as_fairarm(case, context=ContextSample("arm 0", columns))
    return case, problem.compiled.tables.M, problem.compiled.tables.D


def test_a_logging_arm_with_less_support_in_one_group_gives_no_nan() -> None:
    """Rows of group s say nothing of group s': a ratio that is infinite there must not spoil the mean."""
    case, M, D = _half_blind_tables()
    assert not np.isnan(M).any()
    assert not np.isnan(D).any()
    assert np.isinf(D).tolist() == np.isinf(oracle.divergences(case)[1]).tolist()


def test_outcome_divergences_of_a_sample_sum_over_the_decision_even_where_rows_are_reweighted() -> None:
    """M is over natural rows (S, pa(V)) with V summed under P_k, so that it sees what arm 0 never does."""
    case, M, _ = _half_blind_tables()
    assert np.isinf(M).tolist() == [[False, False], [True, False]]
    assert oracle.worst(M, oracle.divergences(case)[0]) <= EXACT
