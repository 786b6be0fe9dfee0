"""Whose base a cell has: by the states of the columns that the rows tell apart, against plain loops and closed forms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from fairarm.core.posterior.directions import Directions
from fairarm.core.posterior.prior import STRENGTHS
from fairarm.core.posterior.states import StatesPosterior
from fairarm.core.posterior.tilt import Tilt
from quick import quick

VALUES = np.array([0.0, 0.3, 0.45, 0.7, 1.0])
PAIRS = ((2, 2), (1, 3), (0, 4))
"""States of the cells of three decisions: one for sure, or two."""

DECISION, COLUMN = (np.repeat(np.arange(3), 8), np.tile(np.arange(4), 6))


def drawn_counts(rng: np.random.Generator, told_by: np.ndarray, rows: int, chance: float = 0.7) -> np.ndarray:
    """Rows of each cell with the states that ``told_by`` gives it, (1, C, 5)."""
    counts = np.zeros((1, len(told_by), 5), dtype=np.int64)
    for c, kind in enumerate(told_by):
        better = rng.binomial(rows, chance)
        counts[0, c, PAIRS[kind][0]] += rows - better
        counts[0, c, PAIRS[kind][1]] += better
    return counts


def own_base(counts: np.ndarray, same: list[int]) -> np.ndarray:
    """The base of the cells ``same``, by plain loops."""
    rows = [row for row in counts if row.sum() > 0]
    pooled = (np.sum([row / row.sum() for row in rows], axis=0) + 0.2) / (len(rows) + 1)
    own = [counts[c] for c in same if counts[c].sum() > 0]
    if not own:
        return pooled
    n = sum(row.sum() for row in own)
    return n / (n + 1) * np.mean([row / row.sum() for row in own], axis=0) + pooled / (n + 1)


def own_score(counts: np.ndarray, labels: list[tuple[int, ...]]) -> float:
    """The log-probability of all rows at the best strength, less half the logarithm of all rows for each number of a base."""
    bases = [own_base(counts, [d for d, other in enumerate(labels) if other == label]) for label in labels]
    of_strength = [
        sum(
            stats.dirichlet_multinomial.logpmf(row, s * base, row.sum())
            - (math.lgamma(row.sum() + 1) - sum(math.lgamma(n + 1) for n in row))  # the rows in their order
            for row, base in zip(counts, bases, strict=True)
            if row.sum() > 0
        )
        for s in STRENGTHS
    ]
    return float(max(of_strength)) - 0.5 * 4 * len({*labels}) * math.log(counts.sum())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["decision", "column", "none"])
def test_the_columns_that_tell_states_apart_are_found(kind: str, seed: int) -> None:
    """Of all ways to divide the cells by two columns the one that the plain loops find best, with their bases."""
    rng = np.random.default_rng([seed, 5])
    told_by = {"decision": DECISION, "column": COLUMN % 3, "none": np.full(24, 1)}[kind]
    counts = drawn_counts(rng, told_by, rows=int(rng.integers(2, 30)))
    counts[0, rng.random(24) < 0.1] = 0
    columns = {"decision": DECISION, "column": COLUMN}
    ways = [way for size in range(3) for way in itertools.combinations(columns, size)]
    labels = {way: [tuple(int(columns[x][c]) for x in way) for c in range(24)] for way in ways}
    best = max(ways, key=lambda way: own_score(counts[0], labels[way]))
    assert best == (() if kind == "none" else (kind,))
    found = Tilt.of(counts, VALUES, list(columns.values())).log_base
    assert found.shape == ((5, 1, 1) if kind == "none" else (5, 1, 24))
    for c in range(24):
        same = [d for d, other in enumerate(labels[best]) if other == labels[best][c]]
        expected = own_base(counts[0], [] if kind == "none" else same)
        np.testing.assert_allclose(np.exp(found[:, 0, c if kind != "none" else 0]), expected, rtol=1e-10)


def test_two_columns_may_tell_states_apart_together() -> None:
    """A second column that matters with one decision only."""
    half = COLUMN // 2
    told_by = np.where((DECISION == 2) & (half == 0), 1, DECISION)
    counts = drawn_counts(np.random.default_rng(1), told_by, rows=40)
    base = np.exp(Tilt.of(counts, VALUES, [half, DECISION]).log_base[:, 0])
    here, there = (DECISION == 2) & (half == 0), (DECISION == 2) & (half == 1)
    assert np.all(base[[1, 3]][:, here].sum(axis=0) > 0.98) and np.all(base[[0, 4]][:, there].sum(axis=0) > 0.98)


@pytest.mark.parametrize("shift", [0.3, 1.5])
def test_a_shift_of_the_mean_is_no_other_base(shift: float) -> None:
    """Decisions that make the same states more or less likely are for the directions: one base, tilted."""
    rng = np.random.default_rng(3)
    law = np.array([0.3, 0.2, 0.2, 0.2, 0.1]) * np.exp(shift * (DECISION - 1)[:, None] * VALUES)
    counts = rng.multinomial(40, law / law.sum(axis=1, keepdims=True))[None]
    assert Tilt.of(counts, VALUES, [DECISION, COLUMN]).log_base.shape == (5, 1, 1)


def test_cells_that_are_classes_by_themselves_have_the_base_of_all() -> None:
    """One cell for each decision: what the cell itself has would be taken for the prior of it. With more cells of each it is told."""
    counts = np.array([[[13, 3, 1], [7, 10, 7], [1, 10, 21]]])
    values = np.array([0.0, 0.25, 1.0])
    assert Tilt.of(counts, values, [np.arange(3)]).log_base.shape == (3, 1, 1)
    parts = np.repeat(counts, 4, axis=1)
    assert Tilt.of(parts, values, [np.repeat(np.arange(3), 4)]).log_base.shape == (3, 1, 12)


def test_values_very_far_apart() -> None:
    """A state that is met once in a million rows and counts a million times more: u is in the hundreds, and all is finite."""
    counts = np.zeros((1, 24, 3), dtype=np.int64)
    counts[0, :, 0] = 40_000
    counts[0, DECISION == 2, 0], counts[0, DECISION == 2, 2] = 0, 3
    counts[0, 3, 1:] = 1
    tilt = Tilt.of(counts, np.array([0.0, 1e-6, 1.0]), [DECISION, COLUMN])
    assert np.isfinite(tilt.log_base).all() and np.isfinite(tilt.u).all()


def test_two_states_have_one_base_whatever_the_columns() -> None:
    counts = np.array([[[9, 0], [0, 9], [9, 0], [0, 9]]])
    plain, given = (Tilt.of(counts, np.array([0.0, 1.0]), columns) for columns in ([], [np.array([0, 1, 0, 1])]))
    np.testing.assert_array_equal(plain.log_base, given.log_base)


def test_replicates_choose_as_if_alone() -> None:
    """One that columns tell nothing, one that the decision does, one that the other column does, one without a row."""
    rng = np.random.default_rng(2)
    parts = [drawn_counts(rng, told_by, 12) for told_by in (np.full(24, 1), DECISION, COLUMN % 3)]
    counts = np.concatenate([*parts, np.zeros((1, 24, 5), dtype=np.int64)])
    together = Tilt.of(counts, VALUES, [DECISION, COLUMN]).log_base
    for n in range(4):
        alone = Tilt.of(counts[n : n + 1], VALUES, [DECISION, COLUMN]).log_base
        np.testing.assert_allclose(together[:, n], np.broadcast_to(alone[:, 0], (5, 24)), rtol=1e-12)


@pytest.mark.parametrize("rows", quick([4, 2, 8], 1))
def test_few_rows_in_a_cell_are_not_all_that_it_can_do(rows: int) -> None:
    """Cells of a noisy decision, a few rows in each: the mean of all of them is as uncertain as that of so many rows (p (1 − p) / n),
    also where other decisions have outcomes that are sure. With one base for all it is believed to be surer."""
    told_by, directions = np.repeat(np.array([0, 2]), 24), Directions.constant(1, 48)
    errors, surer = [], []
    for seed in range(12):
        counts = drawn_counts(np.random.default_rng(seed), told_by, rows)
        p = counts[0, 24:, 4].sum() / (24 * rows)
        exact = math.sqrt(p * (1 - p) / (24 * rows))
        for columns, into in (([told_by], errors), ([], surer)):
            made = StatesPosterior.of(counts, VALUES, directions, columns)
            draws = made.draw(np.random.default_rng(seed), 4000)[0, :, 24:].mean(axis=1)
            into.append(draws.std() / exact)
    assert 0.85 < np.mean(errors) < 1.25, np.mean(errors)
    assert np.mean(surer) < math.sqrt((rows - 1) / (rows + 1)) + 0.09, np.mean(surer)
