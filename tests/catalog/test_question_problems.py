"""Synthetic problems with a cause and with a kept node: what they promise, by arithmetic on the tables alone."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm import load_problem
from fairarm.catalog.questions import synthetic_causes, synthetic_kept
from fairarm.errors import OptionError
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem

SEEDS = range(6)


def by_input(problem: Problem, network: Network) -> np.ndarray:
    """E[Y | inputs] of each arm, (K, first input, second input)."""
    laws = np.stack([arm.mechanism.probabilities for arm in problem.arms])  # type: ignore[union-attr]
    assert np.allclose(laws.sum(axis=-1), 1, rtol=0, atol=1e-12) and laws.min() >= 0
    return np.asarray(laws @ network.tables["result"].probabilities[:, 1])


def causes(problem: Problem, network: Network) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes (K,), and how far the worst row lies outside of its tolerance (K,): race among people of each region, region with race following."""
    table = {node: network.tables[node].probabilities for node in ("region", "race", "income", "history")}
    means = np.einsum("kih,zi,ah->kza", by_input(problem, network), table["income"], table["history"])
    joint = table["region"][:, None] * table["race"]
    of_race = joint / joint.sum(axis=0)  # P(region | race)
    rows = [np.einsum("kz,z->k", means[:, :, 1] - means[:, :, 0], of_race[:, u]) for u in (0, 1)]
    follow = np.einsum("kza,za->kz", means, table["race"])
    beyond = [np.abs(row) - 0.08 for row in rows] + [np.abs(follow[:, 0] - follow[:, 1]) - 0.15]
    return np.einsum("kza,za->k", means, joint), np.max(beyond, axis=0)


def kept(problem: Problem, network: Network) -> tuple[np.ndarray, np.ndarray]:
    """The same of the sexes, each in the departments that its people apply to."""
    sex, of = network.tables["sex"].probabilities, network.tables["department"].probabilities
    means = by_input(problem, network)
    rows = [np.abs((means[:, 1] - means[:, 0]) @ of[u]) - 0.08 for u in (0, 1)]
    return np.einsum("ksd,sd,s->k", means, of, sex), np.max(rows, axis=0)


MADE = {"synthetic-causes": (synthetic_causes, causes), "synthetic-kept": (synthetic_kept, kept)}


@pytest.mark.parametrize("sizes", [{}, {"K": 4}, {"K": 20, "m": 3}], ids=str)
@pytest.mark.parametrize("name", MADE)
def test_every_instance_is_what_it_promises(name: str, sizes: dict[str, int]) -> None:
    make, arithmetic = MADE[name]
    for seed in SEEDS:
        problem, network = make(**sizes, seed=seed)
        outcome, beyond = arithmetic(problem, network)
        K = len(problem.arms)
        fair = np.flatnonzero(beyond < 0)
        best = fair[outcome[fair].argmax()]
        assert len(fair) == K // 2 and np.abs(beyond).min() > 0.02  # no arm is near to a tolerance
        others = np.delete(outcome, best)
        assert ((others > outcome[best] + 0.02) | (others < outcome[best] - 0.04)).all()
        assert (outcome > outcome[best]).sum() == K // 4
        assert 0 in fair and best != 0 and problem.deployed == "arm-1"


@pytest.mark.parametrize("name", MADE)
def test_the_world_knows_the_same(name: str) -> None:
    arithmetic = MADE[name][1]
    for seed in SEEDS:
        made = load_problem(f"{name}:seed={seed}")
        truth = made.world.truth()  # type: ignore[union-attr]
        outcome, beyond = arithmetic(made.problem, made.world.network)  # type: ignore[union-attr]
        assert truth is not None and np.allclose(truth.outcomes, outcome, rtol=0, atol=1e-12)
        assert np.allclose(truth.asked.beyond(truth.rows).max(axis=1), beyond, rtol=0, atol=1e-12)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", MADE)
def test_names_carry_every_parameter(name: str) -> None:
    made = load_problem(f"{name}:K=5,m=4,seed=2").problem
    assert made.name == f"{name}:K=5,m=4,seed=2" and load_problem(made.name).problem == made


@pytest.mark.parametrize("wrong", [{"K": 3}, {"m": 1}, {"m": 201}, {"seed": -1}, {"K": True}, {"K": 4.5}])
@pytest.mark.parametrize("name", MADE)
def test_sizes_outside_of_what_is_made_are_refused(name: str, wrong: dict[str, int]) -> None:
    (parameter,) = wrong
    with pytest.raises(OptionError, match=f"'{name}' got {parameter}=.*is a whole number from"):
        MADE[name][0](**wrong)
