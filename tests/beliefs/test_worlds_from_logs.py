"""Beliefs about worlds from counted rows: exact with very many of them, and wider where more is learned."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import worked_examples as examples
import worlds_truth
from fairarm import Arm, Constraint, read_log
from fairarm.beliefs.beliefs import believe
from fairarm.beliefs.worlds import WorldBeliefs
from fairarm.experiments.pairs import pair_readings, world_pairs
from fairarm.problem.mechanism import Unknown
from fairarm.problem.problem import Problem
from logs_of_worlds import WHERE, log_of
from worlds_fairarm import as_fairarm
from worlds_truth import Model


def beliefs(model: Model, problem: Problem, rows: int) -> WorldBeliefs:
    evidence = read_log(problem, log_of(model, rows), columns=WHERE).evidence()
    assert evidence is not None
    found = believe(evidence)
    assert isinstance(found, WorldBeliefs)
    return found


def truth(model: Model, problem: Problem) -> list[float]:
    """Of the problem's worlds, by running everyone twice."""
    codes = lambda profile: {name: problem.variables[name].code(state) for name, state in profile}  # noqa: E731
    return [
        worlds_truth.mean(model, 0, worlds_truth.world(codes(w.read), codes(w.people), w.keep)) for w in problem.worlds
    ]


@pytest.mark.parametrize("make", [examples.w2, examples.w4, examples.w6])
def test_draws_close_in_on_the_truth(make: object) -> None:
    model: Model = make()  # type: ignore[operator]
    problem = as_fairarm(model)[0]
    drawn = beliefs(model, problem, 10**9).draw(np.random.default_rng(0), 500)
    np.testing.assert_allclose(drawn.means[0].mean(axis=0)[0], truth(model, problem), atol=2e-4)


def test_other_worlds_at_the_expected_laws() -> None:
    """The same worlds, drawn or at the expected laws, with few rows: within what 20 000 draws leave open and second order."""
    model = examples.w2()
    problem = replace(as_fairarm(model)[0], mechanisms=())
    found = beliefs(model, problem, 2000)
    expected = found.means_of(problem.readings)
    drawn = found.draw_of(problem.readings, np.random.default_rng(1), 20_000).means[0].mean(axis=0)
    np.testing.assert_allclose(expected, drawn, atol=2e-3)
    assert found.means_of(()).shape == (1, 0)
    readings = pair_readings(problem, world_pairs(problem).values())
    np.testing.assert_allclose(found.means_of(tuple(readings.values())), [[found.means_of((r,))[0, 0] for r in readings.values()]])


def test_what_is_learned_makes_draws_wider() -> None:
    """Kept departments: with the rule of the rows fitted, its error is in the draws; declared, Y = V leaves next to none."""
    model = examples.w3()
    known = as_fairarm(model, constraints=[Constraint(tolerance=0.1, keep=["R"])], tolerance=None)[0]
    fitted = known.with_arms([Arm("arm 0", Unknown("V", ("S", "R")))])
    spread = []
    for problem in (known, fitted):
        drawn = beliefs(model, problem, 1000).draw(np.random.default_rng(0), 2000)
        spread.append(drawn.rows(problem.compiled.rows)[0].std(axis=0).max())
    # P(V = 1 | S, R) from about 350 and 150 rows of each group: √(0.2·0.8/350) and so on, weighted
    assert spread[0] < 0.005 and 0.02 < spread[1] < 0.06
