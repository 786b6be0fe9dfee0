"""`plan_live`: days against people."""

from __future__ import annotations

import pytest

from fairarm import load_problem
from fairarm.errors import FairarmError
from fairarm.experiments.live import plan_live
from fairarm.experiments.live.choice import grid

COIN = load_problem("coin")


def test_numbers_of_people_to_try() -> None:
    assert grid(2000) == [125, 250, 500, 1000, 2000]
    assert grid(100) == [16, 25, 50, 100]
    assert grid(10) == [10]


def test_more_people_need_fewer_days() -> None:
    found = plan_live(COIN.problem, arrivals=800, window="3d", people=[50, 800], truths=8, pulls=4000, seed=1)
    few, many = found.points
    assert few.people == 50 and many.days <= few.days and many.served >= few.served
    assert found.truths == 8 and found.problem == COIN.problem and "LivePlan" in repr(found)


def test_what_is_not_declared_cannot_be_planned() -> None:
    with pytest.raises(FairarmError, match="no multiple of the cycle"):
        plan_live(COIN.problem, arrivals=800, window="3d", cohort="30h")
