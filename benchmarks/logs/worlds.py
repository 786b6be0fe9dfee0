"""The kinds of logs that intervals are judged on: random worlds whose truths are known exactly, one kind per difficulty."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.logs import ordinary
from benchmarks.logs.rows import classifiers, heavy_weights, row_clicks, row_money
from benchmarks.logs.tables import Logged, States, TableWorld, simplex

DECISIONS = 3


def _exchangeable(rng: np.random.Generator, m: int, floor: float, direct: bool) -> TableWorld:
    """Cells alike: independent means, m contexts; every other arm does not look at the group."""
    means = rng.beta(0.7, 0.7, (2, m, DECISIONS))
    if not direct:
        means[1] = means[0]
    laws = simplex(rng, (4, 2, m, DECISIONS), 1.0, floor)
    laws[1::2] = laws[1::2, :1]
    contexts = (simplex(rng, (2, m), 2.0),)
    arms = {f"arm-{k}": law for k, law in enumerate(laws)}
    return TableWorld(np.array([0.5, 0.5]), contexts, arms, means, States(), 0.1, direct)


def benign(rng: np.random.Generator) -> Logged:
    """Six contexts, a logging arm that gives every decision at least 10 %, 2 000 rows."""
    return _exchangeable(rng, 6, 0.1, direct=False).log(2000, rng)


def rare_cells(rng: np.random.Generator) -> Logged:
    """Twelve contexts and decisions that the logging arm makes once in 200 times: 400 rows, many cells with none."""
    return _exchangeable(rng, 12, 0.005, direct=False).log(400, rng)


def fitted(rng: np.random.Generator) -> Logged:
    """Neither the logging arm nor what S does to X is declared; S acts on Y directly too: 400 rows."""
    return _exchangeable(rng, 6, 0.1, direct=True).log(400, rng, fitted=True)


Kind = Callable[[np.random.Generator], Logged]

KINDS: dict[str, Kind] = {
    "benign": benign,
    "rare cells": rare_cells,
    "fitted mechanisms": fitted,
    "clicks of 0.5 %, 204 cells, 800 rows": partial(ordinary.clicks, rows=800),
    "clicks of 0.5 %, 204 cells, 10 000 rows": partial(ordinary.clicks, rows=10_000),
    "clicks of 0.5 %, few items shown, 10 000 rows": partial(ordinary.clicks, rows=10_000, shown="half"),
    "clicks of 0.5 %, 204 cells, 100 000 rows": partial(ordinary.clicks, rows=100_000),
    "204 cells, 800 rows": partial(ordinary.clicks, rows=800, rate=0.4),
    "204 cells, 10 000 rows": partial(ordinary.clicks, rows=10_000, rate=0.4),
    "204 cells, items that are numbers without order, 10 000 rows": partial(ordinary.clicks, rows=10_000, rate=0.4, numbers=True),
    "2 040 cells, 5 000 rows": partial(ordinary.clicks, rows=5000, rate=0.4, positions=30),
    "loans in money, 144 cells, 3 000 rows": partial(ordinary.loans, rows=3000),
    "loans in money, 144 cells, 29 000 rows": partial(ordinary.loans, rows=29_000),
    "loans in money, 144 cells, 290 000 rows": partial(ordinary.loans, rows=290_000),
    "loans in money, skewed, 3 000 rows": partial(ordinary.loans, rows=3000, skewed=True),
    "loans in money, skewed, 29 000 rows": partial(ordinary.loans, rows=29_000, skewed=True),
    "loans in money, skewed, 290 000 rows": partial(ordinary.loans, rows=290_000, skewed=True),
    "loans in money, 9 cells, 3 000 rows": partial(ordinary.loans, rows=3000, few_cells=True),
    "ordered, 20 levels, 100 rows": partial(ordinary.ordered, levels=20, rows=100),
    "ordered, 20 levels, 1 000 rows": partial(ordinary.ordered, levels=20, rows=1000),
    "ordered, 50 levels, 300 rows": partial(ordinary.ordered, levels=50, rows=300),
    "ordered, 50 levels, 1 000 rows": partial(ordinary.ordered, levels=50, rows=1000),
    "ordered, 100 levels, 1 000 rows": partial(ordinary.ordered, levels=100, rows=1000),
    "ordered, 100 levels, 5 000 rows": partial(ordinary.ordered, levels=100, rows=5000),
    "numbers without order, 50 levels, 1 000 rows": partial(ordinary.ordered, levels=50, rows=1000, smooth=False),
    "binary, 144 cells, 3 000 rows": partial(ordinary.binary, rows=3000),
    "a group of 3 %, 36 cells, 3 000 rows": partial(ordinary.small_group, rows=3000),
    "values 0, 1, 100, 36 cells, 3 000 rows": partial(ordinary.far_values, rows=3000),
    "an effect of each cell, 144 cells, 3 000 rows": partial(ordinary.cell_effects, rows=3000),
    "interaction without main effects, 3 000 rows": partial(ordinary.interaction, rows=3000),
    "bimodal, 144 cells, 3 000 rows": partial(ordinary.bimodal, rows=3000),
    "row by row: heavy weights": heavy_weights,
    "row by row: classifiers, 2 000 rows": partial(classifiers, rows=2000),
    "row by row: clicks of 0.5 %, 10 000 rows": partial(row_clicks, rows=10_000),
    "row by row: clicks of 0.5 %, heavy weights, 10 000 rows": partial(row_clicks, rows=10_000, least=0.01),
    "row by row: clicks of 0.5 %, 34 items, 10 000 rows": partial(ordinary.clicks, rows=10_000, propensity=True),
    "row by row: clicks of 0.5 %, few items shown, 10 000 rows": partial(ordinary.clicks, rows=10_000, shown="half", propensity=True),
    "row by row: money, 3 000 rows": partial(row_money, rows=3000),
    "row by row: skewed money, 3 000 rows": partial(row_money, rows=3000, skewed=True),
}  # fmt: skip
