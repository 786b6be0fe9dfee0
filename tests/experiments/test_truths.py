"""Plans where more is asked than about groups: truths from a prior and from a log, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import worked_examples as examples
from fairarm import Arm, Constraint, ContextLaw, ContextSample, Outcome, evaluate, plan, read_log, table
from fairarm.beliefs.from_log import earlier_evidence
from fairarm.errors import ProblemError
from fairarm.experiments.start_from_log import started
from fairarm.experiments.truths import LogLabelTruths, PriorLabelTruths, truths_of
from fairarm.experiments.truths_from_log import LogTruths, evidence_for_truths
from fairarm.experiments.truths_from_prior import PriorTruths
from fairarm.problem.mechanism import Unknown
from fairarm.problem.problem import Problem
from fairarm.worlds.labels import LabelWorlds
from logs_of_worlds import WHERE, drawn, log_of
from worlds_fairarm import as_fairarm

HALF = ContextLaw(("Z",), np.array([0.5, 0.5]))


def w2(**options: Any) -> Problem:
    """With a second arm, which does not look at S: people of each group get the same as the other."""
    problem, _ = as_fairarm(examples.w2(), tolerance=0.1, **options)
    return problem.with_arms([*problem.arms, Arm("blind", table("V", [], [0.5, 0.5]))])


def rows_of(worlds: Any, problem: Problem) -> np.ndarray:
    return np.asarray(worlds.outcomes().rows(problem.compiled.rows))


def logged(problem: Problem, rows: int, seed: int = 1) -> LogLabelTruths:
    _, read = started(problem, drawn(log_of(examples.w2()), rows, seed), WHERE, None)
    assert read is not None
    before = evidence_for_truths(problem, problem, read.batch)
    assert before is not None
    return LogLabelTruths(problem, before)


def test_which_truths_are_drawn() -> None:
    plain, other = as_fairarm(examples.w3())[0], w2(context=HALF)
    made = [truths_of(p, before, 0.5, 2.0) for p, before in ((other, None), (other, logged(other, 50).earlier))]
    assert [type(each) for each in made] == [PriorLabelTruths, LogLabelTruths]
    assert plain.plain and isinstance(
        truths_of(plain, earlier_evidence(plain, None), 0.5, 2.0), PriorTruths | LogTruths
    )


@pytest.mark.parametrize("kind", ["recruited", "set"])
def test_truths_of_the_prior(kind: str) -> None:
    """θ is uniform in each of the four cells: its mean is ½, and the row of people of s0 as s1, 0.3 Σ_z P(z|s0) (θ_z1 − θ_z0), has mean 0 and
    variance 0.09 (0.8² + 0.2²) 2/12; with rows recruited or set it is the same."""
    problem = w2(context=HALF, regime_kind=kind)
    found = PriorLabelTruths.of(problem, 0.5, 2.0).draw(6000, np.random.default_rng(2))
    rows = rows_of(found, problem)
    deviation = 0.3 * np.sqrt((0.8**2 + 0.2**2) / 6)
    assert abs(rows[:, 0, 0].mean()) < 5 * deviation / np.sqrt(6000)
    assert rows[:, 0, 0].std() == pytest.approx(deviation, rel=0.05)
    assert np.abs(rows[:, 1]).max() < 1e-12  # the blind arm


def test_truths_of_a_log_are_as_uncertain_as_its_answers() -> None:
    """From 400 rows, nothing declared of S and Z: the truths' means and spreads are those that `evaluate` shows, and with 10^9 rows they
    are the world's."""
    problem = w2(mechanisms=())
    found = rows_of(logged(problem, 400).draw(4000, np.random.default_rng(3)), problem)
    shown = evaluate(problem, drawn(log_of(examples.w2()), 400, 1), columns=WHERE)
    for k, arm in enumerate(shown.arms):
        for j, row in enumerate(arm.fairness):
            assert found[:, k, j].mean() == pytest.approx(row.value, abs=0.005)
            ends = np.quantile(found[:, k, j], [0.025, 0.975])
            assert ends == pytest.approx([row.low, row.high], abs=0.01)
    sure = rows_of(logged(problem, 10**9).draw(50, np.random.default_rng(4)), problem)
    assert sure[:, 0] == pytest.approx(np.array([[0.084, -0.156]] * 50), abs=1e-3)


def test_laws_that_are_learned_are_drawn_too() -> None:
    """P(S = s1) of 400 natural rows, half of them of s1: the truths' differ by √(¼ / 400) = 0.025."""
    problem = w2(mechanisms=())
    found = logged(problem, 400).draw(2000, np.random.default_rng(5))
    law = problem.compiled.world_cells.rows_law(0, found.factors, found.h)[:, 0, 1].sum(axis=1)
    assert law.shape == (2000,) and law.std() == pytest.approx(0.025, rel=0.1)


def test_more_of_a_log_leaves_less_to_be_done() -> None:
    """People of s1 would get 0.156 less as s0, and 0.14 is allowed: 50 rows leave that open, 200 000 do not."""
    problem, _ = as_fairarm(examples.w2(), tolerance=0.14, mechanisms=())
    asked: dict[str, Any] = {"truths": 40, "target_error": 0.15, "most_pulls": 1024, "columns": WHERE}
    few, many = (plan(problem, log=drawn(log_of(examples.w2()), rows, 1), **asked) for rows in (50, 200_000))
    assert few.log_rows == 50 and many.log_rows == 200_000
    assert many.cheapest is not None and many.cheapest.pulls == 0
    assert few.options[0].curve[0].error > few.options[0].curve[-1].error
    assert few.cheapest is not None and 0 < (few.cheapest.pulls or 0) <= 1024


def test_a_plan_where_attributes_are_set_and_have_causes() -> None:
    found = plan(w2(context=HALF, regime_kind="set"), truths=40, target_error=0.25, most_pulls=512)
    units = {unit.regime for option in found.options for unit in option.units}
    assert found.cheapest is not None and units <= {"natural", "s0", "s1"} and len(units) > 1
    again = plan(w2(context=HALF, regime_kind="set"), truths=40, target_error=0.25, most_pulls=512, jobs=2)
    assert again == found


def test_a_plan_of_several_attributes_and_money_from_a_log() -> None:
    """A real outcome is taken as the log's mean less and plus the sd that is given; with two attributes too."""
    model = examples.w4()
    problem, _ = as_fairarm(model, tolerance=0.5)
    money = replace(
        problem,
        variables=[v for name, v in problem.variables.items() if name != "Y"],
        outcome=Outcome("Y", low=0.0, high=100.0),
        constraints=[Constraint(tolerance=50.0)],
    )
    log = drawn(log_of(model), 300, 1)
    log["Y"] = [0.0 if y == "y0" else 40.0 for y in log["Y"]]
    found = plan(money, log=log, columns=WHERE, truths=20, target_error=0.3, most_pulls=64, sd=20.0)
    (note,) = [said for said in found.notes if said.code == "real-outcome-taken-as-two-values"]
    assert note.facts["high"] - note.facts["low"] == 40 and found.log_rows == 300


def test_an_arm_is_fitted_from_a_log_of_money() -> None:
    """As from a log of states: the run and the plan start with its table, and say so."""
    problem, _ = as_fairarm(examples.w2(), tolerance=0.5)
    money = replace(
        problem,
        variables=[v for name, v in problem.variables.items() if name != "Y"],
        outcome=Outcome("Y", low=0.0, high=10.0),
        constraints=[Constraint(tolerance=5.0)],
        mechanisms=(),
    )
    unknown = money.with_arms([Arm("arm 0", Unknown("V", ("S",)))])
    log = drawn(log_of(examples.w2()), 400, 1)
    log["Y"] = [0.0 if y == "y0" else 4.0 for y in log["Y"]]
    read = read_log(unknown, log, columns=WHERE)
    assert [note.arm for note in read.fitted] == ["arm 0"] and read.problem.fitted == ("arm 0",)
    found = plan(unknown, log=log, columns=WHERE, truths=10, target_error=0.4, most_pulls=64)
    assert "fitted-mechanism-taken-as-it-is" in [said.code for said in found.notes]


def test_a_context_sample_stands_in_for_what_is_not_declared() -> None:
    log = log_of(examples.w2(), 10_000)
    each = [(log["Z"][i], log["S"][i], log["V"][i], n) for i, n in enumerate(log["rows"])]
    columns = {x: np.repeat([int(row[j][-1]) for row in each], [row[3] for row in each]) for j, x in enumerate("ZSV")}
    problem = w2(mechanisms=(), context=ContextSample("arm 0", columns))
    sampled, known = (PriorLabelTruths.of(p, 0.5, 2.0) for p in (problem, w2(context=HALF)))
    laws = [LabelWorlds(each.problem, np.full((1, 2, 4, 2), 0.5), each.factors, each.h) for each in (sampled, known)]
    cells = [each.problem.compiled.world_cells for each in laws]
    first, second = (cell.rows_law(0, each.factors, each.h) for cell, each in zip(cells, laws, strict=True))
    assert first.reshape(second.shape) == pytest.approx(second, abs=2e-3)


def test_what_is_not_declared_is_named() -> None:
    with pytest.raises(
        ProblemError,
        match=r"needs P\(S \| Z\) and the law of what arms see|needs P\(S \| Z\) and the law of what the arms",
    ):
        plan(w2(mechanisms=()), truths=5)
    with pytest.raises(ProblemError, match="or give a log"):
        plan(w2(), truths=5)
