"""Cells, contexts and the shared law h, against full enumeration of random networks."""

from __future__ import annotations

import collections
import dataclasses
import functools

import numpy as np
import pytest

import oracle
from fairarm.beliefs.cells import CONTEXT_ROWS, CellBeliefs
from fairarm.beliefs.evidence import CellEvidence
from fairarm.problem.context import ContextSample
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import free_columns
from fairarm.worlds import context_law

BLOCKS, BLOCK_SIZE = 6, 40
ROWS = 10**12
"""Rows a unit whose counts are its law: what is left is rounding and the one row of the prior."""


@dataclasses.dataclass(frozen=True)
class Sample:
    case: oracle.Case
    problem: Problem
    missing: frozenset[str]
    """Children whose mechanism is not declared."""

    @functools.cached_property
    def rows_law(self) -> np.ndarray:
        """P(columns and y | k, t), (K, 2, O)."""
        return oracle.law(self.case).reshape(len(self.case.arms), 2, -1)

    @functools.cached_property
    def known(self) -> np.ndarray:
        """What is declared of the likelihood of the columns, (K, 2, C)."""
        children = oracle.relevant_children(self.case)
        return oracle.cell_likelihood(self.case, children if self.missing else {self.case.outcome})


@functools.cache
def build(seed: int, missing: bool = False) -> Sample | None:
    """A problem without a context law; ``missing``: without one mechanism of a child (None where there is no child)."""
    case = oracle.random_case(seed)
    problem, _ = oracle.as_fairarm(case)
    children = sorted(oracle.relevant_children(case) - {case.outcome})
    if not missing:
        if seed % 3 == 0:  # Y's own mechanism is never needed
            kept = [m for name, m in problem.mechanisms.items() if name != case.outcome]
            problem = dataclasses.replace(problem, mechanisms=kept)
        return Sample(case, problem, frozenset())
    if not children:
        return None
    lost = children[seed % len(children)]
    kept = [m for name, m in problem.mechanisms.items() if name != lost]
    return Sample(case, dataclasses.replace(problem, mechanisms=kept), frozenset({lost}))


def samples(block: int) -> list[Sample]:
    seeds = range(block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE)
    found = [build(seed, missing) for missing in (False, True) for seed in seeds]
    return [s for s in found if s is not None]


@pytest.fixture(params=range(BLOCKS))
def block(request: pytest.FixtureRequest) -> list[Sample]:
    return samples(request.param)


def expected_columns(s: Sample) -> tuple[str, str]:
    """Which of the three cases of the context law the graph allows, and its columns joined, by the transitive closure."""
    case, columns = s.case, oracle.columns(s.case)[:-1]
    paths, V = oracle.reaches(case), case.decision
    children = oracle.relevant_children(case) - {case.outcome}
    context = [x for x in columns if x != V and x not in children]
    if not s.missing and not any((a, b) in paths for a in {V, *children} for b in context):
        return "context", " ".join(context)
    if not any((V, x) in paths for x in columns if x != V):
        return "without V", " ".join(x for x in columns if x != V)
    return "general", " ".join(columns)


# ---- structure ----


def test_every_structure_occurs() -> None:
    seen: collections.Counter[str] = collections.Counter()
    for s in (s for block in range(BLOCKS) for s in samples(block)):
        features, children = oracle.features(s.case), oracle.relevant_children(s.case) - {s.case.outcome}
        kind, columns = expected_columns(s)
        seen[f"{kind}{', mechanism missing' if s.missing else ''}"] += 1
        seen["only V in the cell"] += len(oracle.columns(s.case)) == 2
        seen["columns besides V and children"] += "context" in features
        seen["no context left"] += not columns
        paths = oracle.reaches(s.case)
        below = {b for a, b in paths if a in children} & set(oracle.columns(s.case)[:-1])
        seen["child with a descendant in the cell"] += bool(below)
        seen["child without"] += bool(children) and not below
        seen["column below V"] += any((s.case.decision, x) in paths for x in oracle.columns(s.case)[:-1])
        seen["S -> Y"] += "S -> Y" in features
        seen["V child of S"] += "V child of S" in features
    assert len(seen) == 13, seen
    assert min(seen.values()) >= 10, seen


def test_free_columns_are_those_the_graph_allows(block: list[Sample]) -> None:
    for s in block:
        assert " ".join(free_columns(s.problem)) == expected_columns(s)[1], (s.case.seed, s.missing)


def test_rows_land_in_their_cell_and_context(block: list[Sample]) -> None:
    """Two rows share a context exactly where they agree in its columns (and the group, where h differs by group)."""
    for s in block:
        cells, columns = s.problem.compiled.shared_cells, oracle.columns(s.case)[:-1]
        sizes = [s.case.sizes[name] for name in columns]
        free = [columns.index(name) for name in expected_columns(s)[1].split()]
        key_of: dict[tuple[int, ...], int] = {}
        for t in (0, 1):
            for x, codes in enumerate(np.ndindex(*sizes)):
                expected = x + t * int(np.prod(sizes)) * oracle.group_in_cell(s.case)
                assert cells.cell_of[t, x] == expected
                key = tuple(codes[i] for i in free) + ((t,) if s.missing else ())
                assert key_of.setdefault(key, cells.context_of[t, x]) == cells.context_of[t, x]
        assert sorted(key_of.values()) == list(range(cells.contexts))


# ---- the law ----


def true_h(s: Sample) -> np.ndarray:
    """h at every context, (Z,): p_{k,t} / L[k, t], which must be one number over all that is dropped.

    Contexts that nobody reaches get h = 1: no law depends on it.
    """
    cells = s.problem.compiled.shared_cells
    p = s.rows_law.reshape(*s.rows_law.shape[:2], -1, s.case.sizes[s.case.outcome]).sum(axis=3)
    lowest, highest = np.full(cells.contexts, np.inf), np.zeros(cells.contexts)
    for k, t, x in np.ndindex(p.shape):
        if s.known[k, t, x] > 0:
            z, h = cells.context_of[t, x], p[k, t, x] / s.known[k, t, x]
            lowest[z], highest[z] = min(lowest[z], h), max(highest[z], h)
        else:
            assert p[k, t, x] == 0
    reached = np.isfinite(lowest)
    assert np.all(highest[reached] - lowest[reached] <= 1e-9 * highest[reached]), s.case.seed
    return np.where(reached, highest, 1.0)


def test_likelihood_times_the_true_h_is_the_enumerated_law(block: list[Sample]) -> None:
    """And h is constant over the columns that were dropped: no reading of the graph is needed to see that."""
    for s in block:
        cells, h = s.problem.compiled.shared_cells, true_h(s)
        if cells.law is not None:
            assert len(cells.law) == 1
        else:
            assert len(h) == cells.contexts
        found = cells.law_of_cells(h[None])[0]
        np.testing.assert_allclose(found, oracle.cell_law(s.case), atol=1e-12, err_msg=str(s.case.seed))


def test_declared_law_is_the_enumerated_law() -> None:
    for seed in range(120):
        case = oracle.random_case(seed)
        problem, network = oracle.as_fairarm(case)
        if "context" not in oracle.features(case):
            continue
        problem = dataclasses.replace(problem, context=context_law(network, problem))
        cells = problem.compiled.shared_cells
        assert cells.law is not None
        found = cells.law_of_cells(cells.law[None])[0]
        np.testing.assert_allclose(found, oracle.cell_law(case), atol=1e-12, err_msg=str(seed))


def test_a_declared_law_is_of_no_use_where_a_mechanism_is_missing() -> None:
    """h then differs between the groups: the shared factor alone does not give it."""
    done = 0
    for seed in range(60):
        if (s := build(seed, missing=True)) is None or "context" not in oracle.features(s.case):
            continue
        full, network = oracle.as_fairarm(s.case)
        problem = dataclasses.replace(s.problem, context=context_law(network, full))
        assert problem.compiled.shared_cells.law is None
        assert problem.compiled.shared_cells.contexts % 2 == 0
        done += 1
    assert done >= 5


def exact_rows(s: Sample, pulls: np.ndarray) -> CellEvidence:
    """Counts that are the law of ``pulls`` (3, K) times ROWS, rounded."""
    shares, law = oracle.shares(s.case), s.rows_law
    counts = np.zeros((1, 3, *law.shape), dtype=np.int64)
    for k in range(len(law)):
        for t in (0, 1):
            counts[0, 0, k, t] = np.round(pulls[0, k] * shares[t] * law[k, t])
            counts[0, 1 + t, k, t] = np.round(pulls[1 + t, k] * law[k, t])
    return CellEvidence(s.problem, counts)


def plans(s: Sample) -> dict[str, np.ndarray]:
    """Natural, forced and mixed pulls of every arm; one group alone where its rows reach what the other's do."""
    K = len(s.case.arms)
    every, rng = np.ones(K), np.random.default_rng(s.case.seed)
    found = {
        "natural": np.outer([ROWS, 0, 0], every),
        "forced": np.outer([0, ROWS, ROWS / 8], every),
        "mixed": ROWS * rng.uniform(0.05, 1.0, size=(3, K)),
    }
    seen = s.known[:, 0].sum(axis=0)
    if not s.missing and np.all(s.known[:, 1] <= 1000 * seen):
        found["one group"] = np.outer([0, ROWS, 0], every)
    if np.all(s.known <= 1000 * s.known[:1]):
        found["one arm"] = np.outer([ROWS, ROWS, ROWS], np.arange(K) == 0)
    return found


def test_estimated_law_converges_to_the_truth_whatever_is_pulled(block: list[Sample]) -> None:
    used: collections.Counter[str] = collections.Counter()
    for s in block:
        expected = oracle.cell_law(s.case)
        for name, pulls in plans(s).items():
            beliefs = CellBeliefs.of(exact_rows(s, pulls), estimated=True)
            np.testing.assert_allclose(beliefs.law[0], expected, atol=1e-6, err_msg=f"{s.case.seed} {name}")
            used[name] += 1
            if pulls[0].any():
                np.testing.assert_allclose(beliefs.shares[0], oracle.shares(s.case), atol=1e-6)
            else:
                np.testing.assert_allclose(beliefs.shares[0], 0.5)
    assert min(used.values()) >= 5 and len(used) == 5, used


# ---- a sample of contexts ----


def test_a_context_sample_counts_as_rows_without_an_outcome() -> None:
    """Before the first pull: shares and law of contexts from the sample, by a loop over its rows."""
    done: collections.Counter[str] = collections.Counter()
    for seed in range(240):
        case = oracle.random_case(seed, grid=8)
        rows = oracle.exact_sample(case, arm=0)
        if rows is None:
            continue
        columns = {name: np.array([row[name] for row in rows], dtype=np.int64) for name in rows[0]}
        problem, _ = oracle.as_fairarm(case, context=ContextSample("arm 0", columns), shares=None)
        s = Sample(case, problem, frozenset())
        kind, free = expected_columns(s)
        names, K = oracle.columns(case)[:-1], len(case.arms)
        contexts = collections.Counter(tuple(row[name] for name in free.split()) for row in rows)
        groups = collections.Counter(case.groups.index(row[case.sensitive]) for row in rows)
        sizes = [case.sizes[name] for name in names]
        Z = int(np.prod([case.sizes[name] for name in free.split()]))
        made = np.full((K, 2), CONTEXT_ROWS / (2 * K))
        made[0] += [groups[0], groups[1]]
        exposure: collections.Counter[tuple[int, ...]] = collections.Counter()
        where = [tuple(codes[names.index(name)] for name in free.split()) for codes in np.ndindex(*sizes)]
        for x, z in enumerate(where):
            exposure[z] += float(np.sum(made * s.known[:, :, x]))
        h = np.array([(contexts[z] + CONTEXT_ROWS / Z) / exposure[z] if exposure[z] else 0.0 for z in where])
        if not free:  # nothing is left to estimate
            h = np.ones(len(where))
        law = s.known * h
        law /= law.sum(axis=2, keepdims=True)
        beliefs = CellBeliefs.of(CellEvidence.empty(problem))
        found = beliefs.law[0]
        if oracle.group_in_cell(case):
            found = np.stack([found[:, 0, : len(where)], found[:, 1, len(where) :]], axis=1)
        np.testing.assert_allclose(found, law, atol=1e-12, err_msg=str(seed))
        share = (groups[0] + 0.5) / (len(rows) + 1)
        np.testing.assert_allclose(beliefs.shares[0], [share, 1 - share])
        done[kind] += 1
    assert min(done.values()) >= 3 and len(done) == 3, done


# ---- a point for each group ----


def test_apart_gives_every_point_a_cell_of_its_own(block: list[Sample]) -> None:
    """What certified answers use: the law is the same, summed over points that shared a cell."""
    for s in block:
        cells, apart = s.problem.compiled.shared_cells, s.problem.compiled.shared_cells.apart()
        h = true_h(s)[None]
        points = apart.law_of_cells(h)[0]
        together = np.zeros_like(cells.law_of_cells(h)[0])
        for i, c in enumerate(cells.cell):
            together[:, :, c] += points[:, :, i]
        np.testing.assert_allclose(together, oracle.cell_law(s.case), atol=1e-12)
        assert apart.cells == len(cells.cell) == points.shape[2]
        for t, x in np.ndindex(*cells.cell_of.shape):
            assert cells.cell[apart.cell_of[t, x]] == cells.cell_of[t, x]
            assert apart.context[apart.cell_of[t, x]] == cells.context_of[t, x]
