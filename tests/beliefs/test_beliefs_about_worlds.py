"""Beliefs about worlds: by hand, beside the plain form where both apply, and how often their intervals hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import worked_examples
import worlds_models
from fairarm import Arm, Constraint, read_log
from fairarm.beliefs.beliefs import believe
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.worlds import WorldBeliefs
from fairarm.errors import ProblemError
from fairarm.experiments.pairs import pair_readings, world_pairs
from fairarm.problem.inference import completed
from fairarm.problem.mechanism import Unknown
from fairarm.problem.problem import Problem
from fairarm.problem.world_cells import world_cells
from fairarm.worlds.network import NetworkWorld
from logs_of_worlds import WHERE, log_of
from worlds_fairarm import as_fairarm
from worlds_truth import Model

KEPT = {"tolerance": None, "constraints": [Constraint(tolerance=0.05, keep=("R",))]}
EXAMPLES = {
    "a cause": (worked_examples.w2, {}),
    "kept": (worked_examples.w3, KEPT),
    "an attribute above another": (worked_examples.w4, {}),
    "acts on the outcome": (worked_examples.w6, {}),
}


def world_of(name: str, declared: bool = False, **options: object) -> NetworkWorld:
    """A worked example; ``declared``: with every law that the network has."""
    make, asked = EXAMPLES[name]
    problem, network = as_fairarm(make(), **{**asked, **options})
    if not declared:
        without = {x: table for x, table in problem.mechanisms.items() if x not in problem.attributes}
        problem = as_fairarm(make(), **{**asked, "shares": None, "mechanisms": without, **options})[0]
    return NetworkWorld(completed(problem, network) if declared else problem, network)


def pulled(world: NetworkWorld, rows: int, rng: np.random.Generator) -> CellEvidence:
    """So many rows of every arm in every regime."""
    counts = np.full((1, len(world.problem.regimes), len(world.problem.arms)), rows)
    return CellEvidence(world.problem, world.draw(counts, rng))


@pytest.mark.parametrize("kind", ["recruited", "set"])
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("name", list(EXAMPLES))
def test_many_rows_of_any_regime_tell_the_truth(name: str, declared: bool, kind: str) -> None:
    world = world_of(name, declared, regime_kind=kind)
    beliefs = believe(pulled(world, 10**6, np.random.default_rng(3)))
    assert isinstance(beliefs, WorldBeliefs)
    drawn = beliefs.draw(np.random.default_rng(1), 200)
    truth, asked = world.truth(), world.problem.compiled.rows
    assert drawn.outcomes.mean(axis=1)[0] == pytest.approx(truth.outcomes, abs=0.003)
    assert drawn.rows(asked).mean(axis=1)[0] == pytest.approx(truth.rows, abs=0.005)
    assert drawn.rows(asked).std(axis=1).max() < 0.01
    assert (beliefs.worlds @ beliefs.posterior.mean[0]) == pytest.approx(drawn.means.mean(axis=1), abs=0.003)


def test_a_plain_problem_has_the_same_laws_either_way() -> None:
    """Random plain problems with one attribute: labels, worlds and units of the general form are those of the plain one."""
    compared = 0
    for seed in range(0, 200, 10):  # one attribute
        model = worlds_models.random_model(seed)
        try:
            problem, network = as_fairarm(model)
        except ProblemError:
            continue
        if not problem.plain:
            continue
        world = NetworkWorld(problem, network)
        evidence = pulled(world, 300, np.random.default_rng(seed))
        plain = CellBeliefs.of(evidence)
        cells = world_cells(problem)
        natural = evidence.rows_by_cell((0,)).sum(axis=1)
        made = (evidence.rows_by_cell().sum(axis=3).astype(np.float64),)
        general = WorldBeliefs(problem, cells, evidence.summary(cells), False, natural_rows=natural, made=made)
        assert general.seen.rows == pytest.approx(plain.seen.rows)
        assert general.worlds == pytest.approx(plain.law, abs=1e-9)
        if problem.compiled.shared_cells.law is not None:
            assert general._units == pytest.approx(plain._units, abs=1e-9)
        compared += 1
    assert compared >= 3


RUNS, ROWS = 120, 60


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_intervals_hold(name: str) -> None:
    """95 % limits of every row from 60 natural rows of each arm, laws of attributes and contexts learned: with a rate of 0.93 the
    share of 120 runs falls below 0.86 once in 2 000."""
    world, rng = world_of(name), np.random.default_rng(11)
    counts = np.zeros((RUNS, len(world.problem.regimes), len(world.problem.arms)), dtype=np.int64)
    counts[:, 0] = ROWS
    beliefs = believe(CellEvidence(world.problem, world.draw(counts, rng)))
    drawn = beliefs.draw(rng, 400)
    asked, truth = world.problem.compiled.rows, world.truth()
    scaled = truth.rows / world.problem.outcome.width
    low, high = np.quantile(drawn.rows(asked), (0.025, 0.975), axis=1)
    held = (low <= scaled + 1e-12) & (scaled - 1e-12 <= high)
    assert held.mean(axis=0).min() >= 0.86, held.mean(axis=0)
    assert (high - low).mean() < 0.9


def test_a_group_without_rows_is_told_by_the_others() -> None:
    """Mechanisms are declared and no attribute acts on Y: rows of one group stand for people as if they were of the other."""
    world = world_of("a cause", declared=True)
    counts = np.zeros((1, len(world.problem.regimes), len(world.problem.arms)), dtype=np.int64)
    counts[0, 1] = 10**6  # group 0 alone
    beliefs = believe(CellEvidence(world.problem, world.draw(counts, np.random.default_rng(2))))
    drawn = beliefs.draw(np.random.default_rng(1), 100)
    assert drawn.rows(world.problem.compiled.rows).mean(axis=1)[0] == pytest.approx(world.truth().rows, abs=0.01)
    assert beliefs.diagnostics().unseen.max() == 0


def test_the_same_seed_gives_the_same_draws() -> None:
    world = world_of("a cause")
    beliefs = believe(pulled(world, 50, np.random.default_rng(5)))
    first, second = (beliefs.draw(np.random.default_rng(7), 30) for _ in range(2))
    assert np.array_equal(first.means, second.means) and np.array_equal(first.outcomes, second.outcomes)


def test_the_model_agrees_with_its_rows() -> None:
    """The self-check looks at rows of fairness of worlds too: their laws are those that the rows were made by."""
    world = world_of("a cause")
    evidence = pulled(world, 20_000, np.random.default_rng(5))
    assert believe(evidence).self_check().size.max() < 4


# ---- from a log ----


def logged(model: Model, problem: Problem, rows: int) -> WorldBeliefs:
    evidence = read_log(problem, log_of(model, rows), columns=WHERE).evidence()
    assert evidence is not None
    found = believe(evidence)
    assert isinstance(found, WorldBeliefs)
    return found


def test_other_worlds_at_the_expected_laws() -> None:
    """The same worlds, drawn or at the expected laws, with few rows: within what 20 000 draws leave open and second order."""
    model = worked_examples.w2()
    problem = replace(as_fairarm(model)[0], mechanisms=())
    found = logged(model, problem, 2000)
    expected = found.means_of(problem.readings)
    drawn = (
        found.draw_worlds(found.cells.with_worlds(problem, problem.readings), np.random.default_rng(1), 20_000)
        .means[0]
        .mean(axis=0)
    )
    np.testing.assert_allclose(expected, drawn, atol=2e-3)
    assert found.means_of(()).shape == (1, 0)
    readings = pair_readings(problem, world_pairs(problem).values())
    np.testing.assert_allclose(
        found.means_of(tuple(readings.values())), [[found.means_of((r,))[0, 0] for r in readings.values()]]
    )


def test_what_is_learned_makes_draws_wider() -> None:
    """Kept departments: with the rule of the rows fitted, its error is in the draws; declared, Y = V leaves next to none."""
    model = worked_examples.w3()
    known = as_fairarm(model, constraints=[Constraint(tolerance=0.1, keep=["R"])], tolerance=None)[0]
    fitted = known.with_arms([Arm("arm 0", Unknown("V", ("S", "R")))])
    spread = []
    for problem in (known, fitted):
        drawn = logged(model, problem, 1000).draw(np.random.default_rng(0), 2000)
        spread.append(drawn.rows(problem.compiled.rows)[0].std(axis=0).max())
    # P(V = 1 | S, R) from about 350 and 150 rows of each group: √(0.2·0.8/350) and so on, weighted
    assert spread[0] < 0.005 and 0.02 < spread[1] < 0.06
