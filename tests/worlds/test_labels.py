"""Worlds by label: laws of rows and means against enumeration, and draws against their laws."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import worked_examples as examples
import worlds_models
import worlds_truth
from fairarm import Constraint
from fairarm.errors import ProblemError
from fairarm.problem.problem import Problem
from fairarm.worlds.exact_worlds import ExactWorlds
from fairarm.worlds.labels import LabelWorlds
from worlds_fairarm import as_fairarm
from worlds_truth import Model

EXACT = 1e-12


def laws(model: Model, problem: Problem, **told: Any) -> np.ndarray:
    """P_k(label, x, y) of rows by enumeration, (K, P, X, O)."""
    columns = (*problem.attributes, *problem.cell_columns, problem.outcome.node)
    joint = np.stack([worlds_truth.law(model, k, columns, **told) for k in range(len(model.arms))])
    by_label = np.stack([joint[(slice(None), *codes)] for codes in problem.compiled.profile_codes], axis=1)
    return by_label.reshape(*by_label.shape[:2], -1, model.sizes[problem.outcome.node])


def label_worlds(model: Model, problem: Problem) -> LabelWorlds:
    """One world: the model's."""
    rows = laws(model, problem)
    shares = rows[0].sum(axis=(1, 2))
    exact = ExactWorlds(problem, rows / shares[:, None, None], shares)
    by_cell = np.zeros((problem.compiled.world_cells.cells, rows.shape[3]))
    np.add.at(by_cell, problem.compiled.world_cells.cell_of, rows.sum(axis=0))
    mass = by_cell.sum(axis=1, keepdims=True)
    law = np.divide(by_cell, mass, out=np.full_like(by_cell, 1 / by_cell.shape[1]), where=mass > 0)
    return LabelWorlds(problem, law[problem.compiled.world_cells.cell_of][None], exact.factors, exact.contexts[None])


def told(problem: Problem, regime: int) -> dict[str, dict[str, int]]:
    """What a regime makes of the model: people of some states, or states that are set."""
    name = problem.regimes[regime]
    parts = [part.split("=") for part in name.split(",")] if "=" in name else [[problem.attributes[0], name]]
    given = {} if regime == 0 else {x: problem.variables[x].code(value) for x, value in parts}
    return {"do" if problem.regime_kind == "set" else "people": given}


def floor(model: Model) -> Constraint:
    return Constraint(compare="floor", attribute=model.attributes[0], at_least=min(model.values) + 0.01 * model.width)


@pytest.mark.parametrize("part", range(2))
def test_rows_of_every_regime_of_random_networks(part: int) -> None:
    """Natural, recruited and set: P(label, x) of every arm, with all children declared and with none."""
    found = Counter[str]()
    for seed in range(60 * part, 60 * (part + 1)):
        model = worlds_models.random_model(seed)
        for kind, declared in (("recruited", True), ("set", True), ("recruited", False)):
            try:
                problem, _ = as_fairarm(model, tolerance=None, constraints=[floor(model)], regime_kind=kind)
                if not declared:
                    own = {x: m for x, m in problem.mechanisms.items() if x in problem.attributes}
                    problem, _ = as_fairarm(model, tolerance=None, constraints=[floor(model)], mechanisms=own)
                if problem.plain:
                    continue
                worlds = label_worlds(model, problem)
            except ProblemError:
                continue
            cells = problem.compiled.world_cells
            for r in range(len(problem.regimes)):
                truth = laws(model, problem, **told(problem, r)).sum(axis=3)
                assert np.abs(cells.rows_law(r, worlds.factors, worlds.h)[0] - truth).max() <= EXACT, (seed, kind, r)
                found[kind if declared else "apart" if cells.apart else "none"] += 1
    assert found["recruited"] >= 80 and found["set"] >= 60 and found["apart"] >= 5


@pytest.mark.parametrize(
    ("model", "asked", "expected"),
    [
        (examples.w2(), {}, [0.084, -0.156]),
        (examples.w3(), {"keep": ("R",)}, [0.10, -0.10]),
        (examples.w4(), {"attribute": "region"}, [-0.36]),
    ],
)
def test_means_of_the_worked_examples(model: Model, asked: dict[str, Any], expected: list[float]) -> None:
    problem, _ = as_fairarm(model, tolerance=None, constraints=[Constraint(tolerance=0.1, **asked)])
    drawn = label_worlds(model, problem).outcomes()
    assert drawn.rows(problem.compiled.rows)[0, 0] == pytest.approx(expected, abs=EXACT)
    assert drawn.outcomes[0, 0] == pytest.approx(worlds_truth.mean(model, 0, worlds_truth.world()), abs=EXACT)


@pytest.mark.parametrize("kind", ["recruited", "set"])
def test_draws_follow_the_law_of_rows(kind: str) -> None:
    """10^6 rows of each regime: within 5 standard errors, 0.0025, of every probability; two worlds that differ are drawn apart."""
    model = examples.w2()
    problem, _ = as_fairarm(model, regime_kind=kind)
    one = label_worlds(model, problem)
    other = one.outcome_law[..., ::-1]
    both = LabelWorlds(problem, np.concatenate([one.outcome_law, other]), one.factors, one.h)
    pulls = np.full((2, len(problem.regimes), 1), 10**6)
    rows = both.draw(pulls, np.random.default_rng(3))
    assert (rows.sum(axis=(3, 4)) == pulls).all()
    for r in range(len(problem.regimes)):
        truth = laws(model, problem, **told(problem, r))[0]
        for n, law in enumerate((truth, truth.sum(axis=2, keepdims=True) * other[0])):
            assert np.abs(rows[n, r, 0] / 10**6 - law.reshape(len(law), -1)).max() <= 0.0025
