"""The variants of Pool that make costly pulls last: the present one is Pool, and all keep to the budget."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.costly_last import VARIANTS, CostlyLast

from fairarm import load_problem
from fairarm.algorithms.pool import Pool
from fairarm.experiments.simulate import replicate
from fairarm.worlds.network import NetworkWorld

SCENARIO = load_problem("synthetic-loose:K=5,m=6,seed=0")


def ran(procedure: Pool) -> tuple[list[int], list[int], list[float]]:
    assert isinstance(SCENARIO.world, NetworkWorld)
    found = replicate(procedure, SCENARIO.world, 4, np.random.default_rng(1), 2)
    return found.state.answer.tolist(), found.pulls.tolist(), found.costs.tolist()


def test_as_it_is_is_pool() -> None:
    phases, first = VARIANTS["as it is"]
    assert ran(CostlyLast(SCENARIO.problem, 100, phases=phases, cheap_first=first)) == ran(Pool(SCENARIO.problem, 100))


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_makes_its_pulls_within_the_budget(name: str) -> None:
    phases, first = VARIANTS[name]
    procedure = CostlyLast(SCENARIO.problem, 100, phases=phases, cheap_first=first)
    # 10 of 100 pulls may be costly: 90 must be cheap
    assert procedure.start(1).plan.sum() == max(45, int(first * 90))
    _, pulls, costs = ran(procedure)
    assert pulls == [100] * 4 and max(costs) <= 10
