"""Every row of every question, for every arm, against structural models with explicit noise (tests/structural.py).

The rows below are written from the definition of each question, in means of people of one group as if they were of another. What the
package computes comes from tables, by `NetworkWorld` and `Rows`.
"""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import numpy as np
import pytest

import oracle
import structural
from fairarm import Constraint
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.worlds import NetworkWorld
from quick import quick

BLOCKS, BLOCK_SIZE = 12, 40
EXACT = 1e-12
Ends = tuple[float, float]
INF = np.inf


@dataclasses.dataclass(frozen=True)
class Sample:
    model: structural.Model
    case: oracle.Case
    problem: Problem
    network: Network
    names: tuple[str, ...]
    means: tuple[structural.Means, ...]
    """Of every arm."""


def asked_of(model: structural.Model) -> list[Constraint]:
    """Every kind of question, each with numbers of its own, so that no two have a row in common."""
    names = [oracle.state("S", code) for code in model.groups]
    rng, width = np.random.default_rng([model.seed, 9]), model.high - model.low
    end = lambda: float(rng.uniform(0.02, 0.6)) * width  # noqa: E731
    r = str(rng.choice(names))
    some = tuple(str(name) for name in rng.choice(names, 2, replace=False))
    weights = {name: float(w) for name, w in zip(names, rng.normal(size=len(names)), strict=True)}
    middle = sum(w * (model.low + model.high) / 2 for w in weights.values())
    kinds: list[dict[str, Any]] = [
        {"compare": "pairs", "tolerance": end()},
        {"compare": "pairs", "tolerance": end(), "groups": some},
        *({"compare": "reference", "reference": r, "tolerance": end(), "direction": d} for d in DIRECTIONS),
        *({"compare": "mean", "tolerance": end(), "direction": d} for d in DIRECTIONS),
        {"compare": "floor", "at_least": model.low + end()},
        {"compare": "weights", "weights": weights, "tolerance": end() + abs(middle)},
        {"compare": "weights", "weights": weights, "at_least": middle - end(), "at_most": middle + end()},
    ]
    if model.low >= 0:
        ratio = lambda: float(rng.uniform(0.3, 0.95))  # noqa: E731
        kinds += [
            {"compare": "pairs", "ratio": ratio()},
            *({"compare": "reference", "reference": r, "ratio": ratio(), "direction": d} for d in DIRECTIONS),
            *({"compare": "mean", "ratio": ratio(), "direction": d} for d in DIRECTIONS),
        ]
    return [Constraint(**kind, name=f"question {i}") for i, kind in enumerate(kinds)]


DIRECTIONS = ("both", "not_below", "not_above")


def expected_rows(asked: Constraint, names: tuple[str, ...], m: structural.Means) -> list[tuple[float, Ends]]:
    """Value and ends of every row of a question, of the people whose outcome it is about."""
    G = range(len(names))
    among = [i for i in G if not asked.groups or names[i] in asked.groups]
    own = [m.as_of[u, u] for u in G]
    if asked.compare == "floor":
        return [(own[u], (asked.at_least or 0.0, INF)) for u in among]
    if asked.compare == "weights":
        value = sum(dict(asked.weights)[names[t]] * m.as_group[t] for t in G)
        E = asked.tolerance
        return [(value, (-E, E) if E is not None else (asked.at_least or 0.0, asked.at_most or 0.0))]
    if asked.compare == "mean":
        compared = [(m.as_group[t], m.everyone) for t in among]
    elif asked.compare == "reference":
        r = names.index(asked.reference or "")
        compared = [(own[t], m.as_of[r, t]) for t in among if t != r]  # people of t, as they are and as if of r
    else:
        compared = [(m.as_of[t, u], own[u]) for i, t in enumerate(among) for u in among[i + 1 :]]
    low, high = asked.direction != "not_above", asked.direction != "not_below"
    found: list[tuple[float, Ends]] = []
    for one, other in compared:
        if asked.tolerance is not None:
            found.append((one - other, (-asked.tolerance if low else -INF, asked.tolerance if high else INF)))
        else:
            found += [(one - (asked.ratio or 0) * other, (0.0, INF))] * low
            found += [(other - (asked.ratio or 0) * one, (0.0, INF))] * high
    return found


def build(seed: int) -> Sample:
    model = structural.random_model(seed, 2 + seed % 3)
    case = structural.as_case(model)
    problem, network = oracle.as_fairarm(case, tolerance=None, constraints=asked_of(model))
    names = tuple(oracle.state("S", code) for code in model.groups)
    means = tuple(structural.means(model, k) for k in range(len(model.arms)))
    return Sample(model, case, problem, network, names, means)


@pytest.fixture(scope="module", params=quick(range(BLOCKS), 5))
def block(request: pytest.FixtureRequest) -> list[Sample]:
    first = request.param * BLOCK_SIZE
    return [build(seed) for seed in range(first, first + BLOCK_SIZE)]


def test_models_cover_every_structure() -> None:
    seen: collections.Counter[str] = collections.Counter()
    for seed in range(BLOCKS * BLOCK_SIZE):
        model = structural.random_model(seed, 2 + seed % 3)
        features = oracle.features(structural.as_case(model))
        seen.update(features | {f"{len(model.groups)} groups", "ratio" if model.low >= 0 else "negative outcomes"})
        seen.update({f"S -> Y, {len(model.groups)} groups"} & {f"{f}, {len(model.groups)} groups" for f in features})
    for feature in (
        "S -> Y", "S -> Y, 4 groups", "hidden node", "hidden common cause of Y and observed", "child above V", "child below V",
        "child beside V", "V child of S", "V not child of S", "context", "irrelevant child", "2 groups", "3 groups", "4 groups",
        "ratio", "negative outcomes", "three outcome states",
    ):  # fmt: skip
        assert seen[feature] >= 20, (feature, seen[feature])


def test_groups_and_outcome_of_every_arm(block: list[Sample]) -> None:
    """μ(t|u) is μ(t) whoever is asked, since S is a root: shown by the model, not assumed."""
    for s in block:
        world = NetworkWorld(s.problem, s.network)
        found = world.law @ world.outcome_values
        for k, m in enumerate(s.means):
            assert np.abs(m.as_of - m.as_group[:, None]).max() <= EXACT * s.problem.outcome.width
            assert np.abs(found[k] - m.as_group).max() <= EXACT * s.problem.outcome.width, s.model.seed
            assert abs(found[k] @ world.shares - m.everyone) <= EXACT * s.problem.outcome.width, s.model.seed


def test_every_row_of_every_question(block: list[Sample]) -> None:
    """Values and ends on the scale of Y', sizes of 1: differences of at most 1e-12; and which rows hold, strictly inside the ends."""
    for s in block:
        world, outcome, rows = NetworkWorld(s.problem, s.network), s.problem.outcome, s.problem.compiled.rows
        raw = world.law @ world.outcome_values
        values = rows.values(outcome.scale(raw), outcome.scale(raw @ world.shares))
        held = rows.hold(values)
        for k, m in enumerate(s.means):
            expected = [(asked, *row) for asked in s.problem.constraints for row in expected_rows(asked, s.names, m)]
            assert len(expected) == len(s.problem.rows)
            for j, (asked, value, (low, high)) in enumerate(expected):
                row = s.problem.rows[j]
                where = (s.model.seed, asked, row.name)
                total = sum(row.weights) + row.everyone
                assert row.constraint == asked.name
                sign = _sign(asked, row.name, s.names)
                shifted = sign * value - outcome.low * total  # type: ignore[operator]
                assert abs(values[k, j] - shifted / outcome.width) <= EXACT, where
                ends = (low, high) if sign > 0 else (-high, -low)
                mine = (-INF if row.above is None else row.above, INF if row.below is None else row.below)
                assert mine == pytest.approx(ends, abs=1e-13), where
                if min(abs(value - low), abs(value - high)) > 1e-9:
                    assert held[k, j] == (low < value < high), where


def _sign(asked: Constraint, name: str, names: tuple[str, ...]) -> int:
    """A two-sided gap is the earlier group's mean minus the later one's, whichever is the reference."""
    if asked.compare != "reference" or asked.tolerance is None or asked.direction != "both":
        return 1
    first, second = name.split(" - ")
    assert names.index(first) < names.index(second)
    return 1 if second == asked.reference else -1


def test_every_arm_that_is_fair(block: list[Sample]) -> None:
    """All rows at once: what `Rows.fair` says is what every question's own rows say."""
    for s in block:
        world, outcome, rows = NetworkWorld(s.problem, s.network), s.problem.outcome, s.problem.compiled.rows
        raw = world.law @ world.outcome_values
        fair = rows.fair(rows.values(outcome.scale(raw), outcome.scale(raw @ world.shares)))
        for k, m in enumerate(s.means):
            each = [row for asked in s.problem.constraints for row in expected_rows(asked, s.names, m)]
            if all(min(abs(value - low), abs(value - high)) > 1e-9 for value, (low, high) in each):
                assert fair[k] == all(low < value < high for value, (low, high) in each), (s.model.seed, k)
