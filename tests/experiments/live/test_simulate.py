"""`simulate_live`: what it counts, that workers do not matter, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.live.cases import network, problem, steady

from fairarm import load_problem
from fairarm.errors import FairarmError
from fairarm.experiments.live import simulate_live

AD = load_problem("ad-marketplace")
HOW: dict[str, Any] = {"people": 500, "arrivals": 2000, "window": "7d", "studies": 6, "seed": 3}


def test_days_and_people_beside_phases_that_wait() -> None:
    """The best fair arm is found in every study, in an eighth of the days or fewer."""
    found = simulate_live(AD.problem, AD.world, **HOW, waiting=True)
    (point,) = found.results
    assert found.best_fair_arm == "by-query" and point.errors == point.undecided == point.void == 0
    assert 8 <= point.days_low <= point.days <= point.days_high and point.under_way == 4000
    assert point.waiting is not None and point.days <= point.waiting / 8
    assert 500 * point.days * 0.8 <= point.served <= 500 * point.days * 1.1
    assert point.unfair >= point.doubted > 0 and point.given_up > 0 and point.lost == 0
    frame = found.to_frame("pyarrow")
    assert frame.num_rows == 1 and frame.column("days")[0].as_py() == point.days
    assert "LiveSimulation(problem='ad-marketplace'" in repr(found)


def test_workers_and_other_points_do_not_matter() -> None:
    asked = problem()
    how = {**HOW, "studies": 3, "pulls": 2000}
    one = simulate_live(asked, network(0.4), **{**how, "people": [250, 500]})
    two = simulate_live(asked, network(0.4), **{**how, "people": [500, 250]}, jobs=2)
    points = [{p.people: replace(p, seconds=0.0) for p in found.results} for found in (one, two)]
    assert points[0] == points[1]


def test_a_weekly_cycle_is_voided_with_cohorts_of_a_day() -> None:
    """Outcomes of everybody are higher at weekends, and the gap is the same: the drift is found in nearly all studies."""
    patterns = np.stack([network().law, network(0.75, 0.5).law])
    world = steady().with_patterns(patterns, (np.arange(168) // 24 >= 5).astype(np.int64))
    found = simulate_live(problem(), world, **{**HOW, "studies": 10}, pulls=15_000)
    assert found.results[0].void >= 9


def test_lost_outcomes_cost_days() -> None:
    asked = problem()
    none, some = (
        simulate_live(asked, network(0.45), **HOW, loss_rate=rate, cell_known=True, watched=False).results[0]
        for rate in (0.0, 0.05)
    )
    assert some.lost > 50 and some.days >= none.days and none.errors == some.errors == 0


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"people": 0}, "0 people are to enter"),
        ({"people": 2001}, "2000 arrive"),
        ({"window": "3000d"}, "3000 cohorts would be out at once"),
        ({"people": 2_000_000, "arrivals": 4e6}, "More than 1000000 people"),
        ({"window": "1w"}, "The window is '1w'"),
        ({"cohort": "36h"}, "no multiple of the cycle"),
        ({"cohort": "12h"}, "no multiple of the cycle"),
        ({"arrivals": -1}, "Arrivals are -1"),
        ({"studies": 0}, "1 or more"),
        ({"group": "never"}, "'at arrival' or 'with outcome'"),
        ({"lost": "maybe"}, "lost='worst'"),
        ({"loss_rate": 1.0}, "The loss_rate is 1.0"),
        ({"delay": "x"}, "The delay is 'x'"),
        ({"stop": "bayes-stop"}, "A live study is certified"),
        ({"group": "with outcome", "cell_known": True}, "only where the group is"),
        ({"confidence": 2.0}, "The confidence is 2.0"),
    ],
)
def test_mistakes_are_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(FairarmError) as refused:
        simulate_live(AD.problem, AD.world, **{**HOW, **changes})
    assert said in str(refused.value) and "\n" not in str(refused.value)


def test_worlds_that_do_not_fit() -> None:
    with pytest.raises(FairarmError, match="says itself when outcomes are told"):
        simulate_live(problem(), steady(), **HOW, loss_rate=0.1)
    with pytest.raises(FairarmError, match="Phases that wait"):
        simulate_live(problem(), steady(), **{**HOW, "studies": 1}, pulls=200, waiting=True)
    real = load_problem("beta-mixtures:K=3")
    with pytest.raises(FairarmError, match="simulated in the network"):
        simulate_live(real.problem, real.world, **HOW)
    assert np.isfinite(steady().group_means()).all()
