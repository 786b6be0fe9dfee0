"""Planning before the experiment: truths from the prior, margins, budgets, and what the plan says."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairarm import load_problem, plan
from fairarm.cli import documents
from fairarm.core.answer import Code
from fairarm.core.fairness import Rows
from fairarm.errors import OptionError, ProblemError
from fairarm.experiments import next_pulls
from fairarm.experiments.margins import DrawnArms, Margins, good_enough
from fairarm.experiments.plan import ExperimentPlan, PlanNote
from fairarm.experiments.start_from_log import started
from fairarm.experiments.truths_from_log import LogTruths, evidence_for_truths
from fairarm.experiments.truths_from_prior import PriorTruths, known_law
from fairarm.problem.constraint import Constraint
from fairarm.problem.context import ContextSample
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch
from fairarm.problem.variables import Variable
from fairarm.reports.words import sentence
from fairarm.worlds.cells import CellWorlds


def worlds(outcome_law: Any, count: int = 1) -> CellWorlds:
    """The coin: arm "even" tosses 50:50, "tilted" more often heads in group a."""
    problem = load_problem("coin").problem
    law, shares = known_law(problem)
    by_cell = np.broadcast_to(np.asarray(outcome_law, dtype=np.float64), (count, 2, 2, 2))
    return CellWorlds(problem, law, by_cell, shares)


def test_truths_have_the_priors_moments() -> None:
    problem = load_problem("hepar2").problem
    drawn = PriorTruths.of(problem, 0.3, 4.0).draw(4000, np.random.default_rng(1))
    theta = drawn.outcome_law @ problem.outcome.scaled_values
    # Beta(1.2, 2.8): mean 0.3, variance 0.3 · 0.7 / 5; 4 000 independent truths of a cell, 5 standard errors
    assert np.all(np.abs(theta.mean(axis=0) - 0.3) < 5 * math.sqrt(0.042 / 4000))
    assert np.all(np.abs(theta.var(axis=0) - 0.042) < 0.006)
    np.testing.assert_array_equal(theta[:, 0], theta[:, 1])  # a cell's outcome does not depend on the group


def test_worlds_outcomes_are_those_of_the_network() -> None:
    scenario = load_problem("ad-marketplace")
    world, problem = scenario.world, scenario.problem
    law, shares = known_law(problem)
    states = len(problem.outcome.values or ())
    rows = world.law.reshape(*world.law.shape[:2], -1, states).sum(axis=0)
    mass = rows.sum(axis=2, keepdims=True)
    outcome_law = np.divide(rows, mass, out=np.full(rows.shape, 1 / states), where=mass > 0)
    np.testing.assert_allclose(law, world.law.reshape(*law.shape, states).sum(axis=3), atol=1e-12)
    outcomes, gaps = CellWorlds(problem, law, outcome_law[None], shares).outcomes()
    truth = world.truth()
    np.testing.assert_allclose(problem.outcome.unscale(outcomes[0]), truth.outcomes, atol=1e-12)
    np.testing.assert_allclose(problem.outcome.width * gaps[0], truth.gaps, atol=1e-12)


def test_draws_have_the_laws_means() -> None:
    truth = worlds([[[0.2, 0.8], [0.6, 0.4]]] * 2)
    counts = np.zeros((1, 3, 2), dtype=np.int64)
    counts[0] = [[10**6, 0], [0, 10**6], [0, 0]]
    drawn = truth.draw(counts, np.random.default_rng(3))
    assert drawn.sum() == 2 * 10**6
    np.testing.assert_array_equal(drawn.sum(axis=(3, 4)), counts)
    for r, k, t in ((0, 0, 0), (0, 0, 1), (1, 1, 0)):
        rows = drawn[0, r, k, t].reshape(2, 2)
        expected = truth.law[k, t][:, None] * truth.outcome_law[0, t]
        sd = np.sqrt(expected * (1 - expected) / rows.sum())
        assert np.all(np.abs(rows / rows.sum() - expected) < 5 * sd)
    assert drawn[0, 1, 1, 1].sum() == 0  # forced to the first group


def test_good_enough_by_hand() -> None:
    problem = load_problem("coin").problem
    truth = worlds([[[0.0, 1.0], [1.0, 0.0]]] * 2, count=5)  # one side always wins
    outcomes, gaps = (values[0] for values in truth.outcomes())
    E = problem.compiled.scaled_tolerance
    fair = np.abs(gaps) < E
    best = int(np.argmax(np.where(fair, outcomes, -1)))
    answers = np.array([best, 1 - best, -1, -2, best])
    np.testing.assert_array_equal(good_enough(truth, answers, Margins(0.0, 0.0)), [True, False, False, False, True])
    # with margins as wide as everything, any named arm is good enough, and "none" too, as no arm is clearly fair
    np.testing.assert_array_equal(good_enough(truth, answers, Margins(2.0, 2.0)), [True, True, True, False, True])


def test_the_plan_is_the_same_for_any_number_of_jobs_and_its_curve_falls() -> None:
    problem = load_problem("ad-marketplace").problem
    asked: dict[str, Any] = {"target_error": 0.2, "truths": 40, "seed": 3}
    one, two = plan(problem, **asked), plan(problem, **asked, jobs=2)
    assert one == two
    option = one.cheapest
    assert option is not None and option.pulls is not None
    assert option.curve[0].error > option.curve[-1].error
    assert sum(unit.pulls for unit in option.units) == pytest.approx(option.pulls, rel=0.05)
    assert option.cost is not None and option.average_cost is not None
    assert option.cost <= option.average_cost * option.pulls + 1e-9
    assert all(a.pulls < b.pulls for a, b in zip(option.curve, option.curve[1:], strict=False))


def test_the_target_may_be_out_of_reach() -> None:
    found = plan(load_problem("ad-marketplace").problem, target_error=0.001, truths=20, most_pulls=64)
    assert found.cheapest is None and found.quickest is None
    assert all(option.pulls is None and len(option.curve) == 2 for option in found.options)


def test_a_real_outcome_is_taken_as_two_values() -> None:
    """As noisy as is said, or as the rows of a cell are: the declared range plays no part."""
    problem = load_problem("coin").problem
    variables = {name: v for name, v in problem.variables.items() if name != problem.outcome.node}
    real = replace(problem, variables=variables, outcome=Outcome(problem.outcome.node, low=0.0, high=1.0))
    found = plan(real, target_error=0.3, truths=20, sd=0.5)
    assert found.notes[0].code == PlanNote.REAL_OUTCOME
    assert found.options == plan(problem, target_error=0.3, truths=20).options
    with pytest.raises(OptionError, match=r"how much it varies .* Give sd \(--sd\)"):
        plan(real, target_error=0.3, truths=20)
    with pytest.raises(OptionError, match="has states"):
        plan(problem, target_error=0.3, truths=20, sd=0.5)


def test_what_is_not_declared_is_named() -> None:
    problem = load_problem("hepar2").problem
    with pytest.raises(ProblemError, match=r"shares.*context"):
        plan(replace(problem, shares=None, context=None), truths=2)


def test_a_context_sample_stands_in_for_the_law() -> None:
    scenario = load_problem("hepar2")
    problem = scenario.problem
    rng = np.random.default_rng(0)
    counts = np.zeros((3, len(problem.arms)), dtype=np.int64)
    counts[0, 0] = 20_000
    from fairarm.problem.pulls import Request

    pulled = scenario.world.pull(Request(problem.arm_names, problem.regimes, counts), rng)
    rows = {name: np.repeat(values, pulled.count) for name, values in pulled.columns.items()}
    sampled = replace(problem, shares=None, context=ContextSample(problem.arm_names[0], rows))
    law, shares = known_law(sampled)
    exact, exact_shares = known_law(problem)
    assert np.abs(law - exact).max() < 0.02 and np.abs(shares - exact_shares).max() < 0.02


# ---- margins ----


def test_margins_by_hand() -> None:
    """Three truths of three arms: the best is 3, 6 and 30 above the mean, gaps are 4, 2 and 10 apart (of 100)."""
    outcomes = np.array([[0.5, 0.47, 0.44], [0.5, 0.44, 0.38], [0.6, 0.0, 0.3]])
    gaps = np.array([[0.04, 0.0, 0.01], [0.0, -0.02, -0.01], [0.05, -0.05, 0.0]])
    drawn = DrawnArms(outcomes, gaps, tolerance=0.3)
    assert drawn.gain == pytest.approx(0.06) and drawn.gap_spread == pytest.approx(0.04)
    assert drawn.margins().outcome == pytest.approx(0.012)  # a fifth of the gain, below 2 % of the range
    assert drawn.margins().gap == pytest.approx(0.004)  # a tenth of the distance of gaps, below 10 % of the tolerance
    assert DrawnArms(outcomes * 3, gaps, 0.03).margins() == Margins(0.02, pytest.approx(0.003))
    # every arm is right in the first truth from 0.06 on, in the second from 0.12, in the third from 0.6
    for margin, share in ((0.0, 0), (0.059, 0), (0.061, 1 / 3), (0.121, 2 / 3), (0.61, 1)):
        assert drawn.every_arm_right(Margins(margin, 0.0)) == pytest.approx(share)
    one = DrawnArms(outcomes[:, :1], gaps[:, :1], 0.3)  # a single arm: only whether it is fair is asked
    assert one.margins() == Margins(0.0, pytest.approx(0.03))
    same = DrawnArms(np.full((2, 3), 0.4) + np.array([0, 1e-16, -1e-16]), np.zeros((2, 3)), 0.3)
    assert same.right(same.margins())[0].all() and same.every_arm_right(same.margins()) == 0


LAWS = {
    "now": [[0.6, 0.3, 0.1], [0.6, 0.3, 0.1]],
    "tilted": [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]],
    "bold": [[0.1, 0.3, 0.6], [0.1, 0.3, 0.6]],
    "meek": [[0.8, 0.1, 0.1], [0.8, 0.1, 0.1]],
}
KINDS = {"money": (30_000.0, (0.0, 150.0, 500.0), 100.0), "rate": (0.005, (0.0, 0.001, 0.003), 0.001)}


def logged(kind: str, rows: int, noise: float = 2_000.0) -> tuple[Problem, Batch]:
    """Y is ``base`` plus a step that depends on V: sums of money that vary by ``noise``, or rare events."""
    base, steps, tolerance = KINDS[kind]
    variables = [Variable("S", ("a", "b")), Variable("V", ("low", "mid", "high"))]
    real = kind == "money"
    problem = Problem(
        name=kind,
        variables=variables if real else [*variables, Variable("Y", ("no", "yes"))],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", low=0, high=100_000) if real else Outcome("Y", values=(0, 1)),
        tolerance=tolerance,
        arms=[Arm(name, table("V", ["S"], law)) for name, law in LAWS.items()],
        shares=(0.5, 0.5),
        deployed="now",
    )
    rng = np.random.default_rng(0)
    s, v = rng.integers(0, 2, rows), rng.choice(3, rows, p=LAWS["now"][0])
    mean = base + np.array(steps)[v]
    y = rng.normal(mean, noise) if real else (rng.random(rows) < mean).astype(np.int64)
    nothing = np.zeros(rows, dtype=np.int64)
    return problem, Batch(nothing, nothing, {"S": s, "V": v, "Y": y}, nothing + 1)


def says_it_answers(found: ExperimentPlan) -> bool:
    return any(note.code == PlanNote.ANSWERED for note in found.notes)


@pytest.mark.parametrize(("kind", "rows"), [("money", 150), ("rate", 2_000)])
def test_a_log_that_cannot_tell_the_arms_apart_does_not_answer(kind: str, rows: int) -> None:
    """The arms differ by 30 to 280, or by 0.0002 to 0.0017; 2 % of the range is 2 000, or 0.02: more than any of it."""
    problem, log = logged(kind, rows)
    step = KINDS[kind][1][-1]
    found = plan(problem, log=log, truths=60, most_pulls=64)
    assert 0 < found.outcome_margin < 0.5 * step and 0 < found.gap_margin <= 0.1 * problem.gap_tolerance
    assert found.options[0].pulls != 0 and found.options[0].curve[0].error > 0.05
    assert not says_it_answers(found) and found.every_arm_right < 0.2
    wide = plan(problem, log=log, truths=60, most_pulls=64, outcome_margin=0.02 * problem.outcome.width)
    assert wide.every_arm_right > 0.5 and not says_it_answers(wide)
    assert any(note.code == PlanNote.WIDE_MARGINS for note in wide.notes)


def test_margins_that_decide_in_some_truths_are_said_and_do_not_answer() -> None:
    """The margin grows until every arm is right in a fifth to a half of the truths, and beyond: the target is met by it, not by
    the log."""
    problem, log = logged("money", 300, noise=1600.0)
    met = []
    for margin in (50.0, 100.0, 125.0, 200.0):
        found = plan(problem, log=log, truths=60, most_pulls=64, outcome_margin=margin)
        noted = f"In {found.every_arm_right:.0%} of the truths the margins are wider"
        assert any(sentence(note).startswith(noted) for note in found.notes) == (found.every_arm_right >= 0.2)
        if 0.2 <= found.every_arm_right <= 0.5 and found.options[0].pulls == 0:
            met.append(margin)
        assert not says_it_answers(found)
    assert met == [100.0, 125.0] and found.every_arm_right > 0.5  # at the last one in most of them


def test_a_log_that_answers_without_margins_answers_with_any() -> None:
    problem, log = logged("money", 40_000, noise=100.0)
    exact = plan(problem, log=log, truths=60, most_pulls=64, outcome_margin=0.0, gap_margin=0.0)
    assert exact.every_arm_right == 0 and exact.options[0].pulls == 0 and says_it_answers(exact)
    wide = plan(problem, log=log, truths=60, most_pulls=64, outcome_margin=2_000.0)
    assert wide.every_arm_right > 0.5 and says_it_answers(wide)
    assert any(note.code == PlanNote.WIDE_MARGINS for note in wide.notes)


def test_the_spread_of_money_follows_the_log_and_not_its_range() -> None:
    """4 000 rows with a standard deviation of 400 tell 30 345 from 30 137: the standard error is about 20."""
    problem, log = logged("money", 4_000, noise=400.0)
    found = plan(problem, log=log, truths=60, most_pulls=64)
    assert found.options[0].pulls == 0 and says_it_answers(found)
    truth = np.array([np.mean(np.array(law) @ KINDS["money"][1]) for law in LAWS.values()])
    assert found.gain == pytest.approx(truth.max() - truth.mean(), rel=0.15)


def test_other_units_give_the_same_plan() -> None:
    problem = load_problem("coin").problem
    cents = replace(
        problem.with_tolerance(100 * problem.gap_tolerance), outcome=Outcome(problem.outcome.node, values=(0, 100))
    )
    asked: dict[str, Any] = {"target_error": 0.3, "truths": 20}
    one, many = plan(problem, **asked), plan(cents, **asked)
    assert many.options == one.options
    for name in ("outcome_margin", "gap_margin", "gain", "gap_spread"):
        assert getattr(many, name) == pytest.approx(100 * getattr(one, name))


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, -1.0])
@pytest.mark.parametrize("name", ["target_error", "outcome_margin", "gap_margin", "prior_mean", "prior_strength"])
def test_numbers_that_mean_nothing_are_refused(name: str, wrong: float) -> None:
    with pytest.raises(OptionError, match=rf"The {name.replace('_', ' ')} is {wrong}\. It"):
        plan(load_problem("coin").problem, **{name: wrong}, truths=2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("target_error", 0.0), ("target_error", 1.0), ("prior_mean", 1.0), ("prior_strength", 0.0), ("truths", 0), ("truths", 2.5),
     ("truths", True), ("most_pulls", 31), ("jobs", 0), ("seed", -1), ("seed", math.nan)],
)  # fmt: skip
def test_counts_and_shares_are_checked_one_by_one(name: str, wrong: Any) -> None:
    with pytest.raises(OptionError, match=rf"{name.replace('_', '.')} is {wrong}\. It"):
        plan(load_problem("coin").problem, **{name: wrong})


# ---- several rows ----

INF = float("inf")
TWO_ENDS_AND_ONE = Rows(
    np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]]), np.zeros(2), np.array([-0.1, 0.3]), np.array([0.1, INF])
)
"""|μ(a) − μ(b)| < 0.1 and μ(c) > 0.3."""


def test_margins_of_several_rows_by_hand() -> None:
    outcomes = np.array([[0.6, 0.5, 0.4]] * 2)
    # rows of the three arms in two truths alike: gaps 0.105, 0.0, −0.02 and means of c 0.5, 0.299, 0.32
    values = np.array([[[0.105, 0.5], [0.0, 0.299], [-0.02, 0.32]]] * 2)
    drawn = DrawnArms(outcomes, values, TWO_ENDS_AND_ONE)
    # inside the nearest end by −0.005, −0.001 and 0.02: a tenth of the distance is below a tenth of the tolerance
    assert drawn.gap_spread == pytest.approx(0.025) and drawn.margins().gap == pytest.approx(0.0025)
    apart = DrawnArms(outcomes, np.array([[[0.3, 0.5], [0.0, 0.49], [0.0, 0.48]]] * 2), TWO_ENDS_AND_ONE)
    assert apart.gap_spread == pytest.approx(0.3) and apart.margins().gap == pytest.approx(0.01)
    one_end = DrawnArms(
        outcomes, apart.values[:, :, 1:], Rows(np.eye(3)[2:], np.zeros(1), np.array([0.3]), np.array([INF]))
    )
    assert one_end.gap_spread == pytest.approx(0.02) and one_end.margins().gap == pytest.approx(0.002)
    alike = DrawnArms(
        outcomes, np.full((2, 3, 1), 0.4), Rows(np.eye(3)[2:], np.zeros(1), np.array([0.3]), np.array([INF]))
    )
    assert alike.margins().gap == 0.02  # 2 % of the range: there is no tolerance, and no difference
    # the first arm is outside by 0.005, the second by 0.001, the third inside by 0.02
    for margin, right in (
        (0.0, [False, False, True]),
        (0.002, [False, True, True]),  # the second may be named; the third is the best that is clearly fair
        (0.006, [True, True, True]),
        (0.021, [True, True, True]),
    ):
        named, none = drawn.right(Margins(0.0, margin))
        np.testing.assert_array_equal(named, [right] * 2)
        np.testing.assert_array_equal(none, margin > 0.02)  # then no arm is clearly fair
    better = DrawnArms(outcomes, np.array([[[0.05, 0.5], [0.0, 0.299], [-0.02, 0.32]]] * 2), TWO_ENDS_AND_ONE)
    np.testing.assert_array_equal(
        better.right(Margins(0.0, 0.002))[0], [[True, False, False]] * 2
    )  # now the first is, and better
    np.testing.assert_array_equal(better.right(Margins(0.11, 0.002))[0], [[True, True, False]] * 2)


def test_one_row_is_the_gap() -> None:
    rng = np.random.default_rng(5)
    outcomes, gaps = rng.uniform(0.3, 0.7, (50, 6)), rng.normal(0, 0.1, (50, 6))
    by_gap, by_row = DrawnArms(outcomes, gaps, 0.08), DrawnArms(outcomes, gaps[:, :, None], Rows.gap(0.08))
    assert by_gap.margins() == by_row.margins() and by_gap.gap_spread == by_row.gap_spread
    for margins in (Margins(0.0, 0.0), Margins(0.02, 0.01), Margins(0.02, 0.2)):
        for one, other in zip(by_gap.right(margins), by_row.right(margins), strict=True):
            np.testing.assert_array_equal(one, other)
        fair = np.abs(gaps) < 0.08 - margins.gap
        np.testing.assert_array_equal(by_gap.right(margins)[1], ~fair.any(axis=1))


def three_groups(*constraints: Constraint) -> Problem:
    return Problem(
        name="three", variables=[Variable("S", ("a", "b", "c")), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")], sensitive="S", decision="V", outcome=Outcome("Y", values=(0, 1)),
        constraints=constraints, shares=[0.5, 0.3, 0.2],
        arms=[
            Arm("first", table("V", ["S"], [[0.5, 0.5], [0.4, 0.6], [0.2, 0.8]])),
            Arm("second", table("V", ["S"], [[0.6, 0.4], [0.6, 0.4], [0.5, 0.5]])),
        ],
    )  # fmt: skip


def test_truths_of_three_groups_are_right_by_their_rows() -> None:
    """Drawn from the prior; which answers are right is worked out truth by truth from the cells' means."""
    problem = three_groups(Constraint(compare="pairs", tolerance=0.12), Constraint(compare="floor", at_least=0.2))
    truths = PriorTruths.of(problem, 0.5, 2.0).draw(300, np.random.default_rng(2))
    theta = truths.outcome_law[:, 0, :, 1]  # (N, V)
    rules = ((0.5, 0.6, 0.8), (0.4, 0.4, 0.5))
    margins, kinds = Margins(0.03, 0.02), set()
    for answer in (0, 1, Code.NONE):
        right = good_enough(truths, np.full(300, answer), margins)
        for i, (low, high) in enumerate(theta):
            means = [[(1 - p) * low + p * high for p in rule] for rule in rules]
            outcome = [0.5 * m[0] + 0.3 * m[1] + 0.2 * m[2] for m in means]
            room = [min(0.12 - (max(m) - min(m)), min(m) - 0.2) for m in means]
            clear = [k for k in (0, 1) if room[k] > 0.02]
            if answer == Code.NONE:
                expected = not clear
            else:
                best = max((outcome[k] for k in clear), default=-INF)
                expected = room[answer] > -0.02 and outcome[answer] >= best - 0.03
            assert right[i] == expected, (i, answer)
            kinds.add((answer, bool(expected)))
    assert len(kinds) == 6


def test_doubt_is_about_arms_whose_rows_may_all_hold() -> None:
    """Where pulls cannot be planned: half of them to the likeliest answer. In the draws the first arm is fair in three of four, the second
    always; by gaps of a and b alone the first would always be the answer."""
    problem = three_groups(Constraint(compare="pairs", tolerance=0.12))
    outcomes = np.tile([[0.6, 0.5]], (1, 4, 1))
    values = np.zeros((1, 4, 2, 3))
    values[0, 0, 0, 1] = 0.2
    np.testing.assert_allclose(next_pulls._doubt(problem, outcomes, values), [[0.5, 0.5], [0, 0], [0, 0], [0, 0]])
    values[0, :3, 0, 1] = -0.2
    values[0, :2, 1, 2] = 0.13  # two draws without any fair arm
    np.testing.assert_allclose(next_pulls._doubt(problem, outcomes, values)[0], [0.5, 0.5])


def test_a_plan_for_three_groups() -> None:
    """The error falls with the pulls, and the arm that breaks one row of three is not taken for fair: by the rows of a and b alone both
    arms would be fair in every truth.
    """
    problem = three_groups(Constraint(compare="pairs", tolerance=0.12))
    found = plan(problem, truths=60, most_pulls=256, target_error=0.01, seed=1)
    (option,) = found.options
    assert option.curve[0].pulls == 32 and option.curve[-1].error < 0.6 * option.curve[0].error
    assert found.gap_margin > 0 and {unit.regime for unit in option.units} <= {"natural", "a", "b", "c"}
    shown = documents.experiment_plan(found)
    assert shown["gap_margin"] == found.gap_margin and len(shown["options"]) == 1


def test_truths_of_three_groups_from_a_log() -> None:
    """Worlds drawn from what a log says, P(S) among it: on average its own shares and means, by a prior of half a row per group."""
    problem = replace(three_groups(Constraint(compare="pairs", tolerance=0.12)), shares=None, deployed="first")
    rng = np.random.default_rng(4)
    S = rng.choice(["a", "b", "c"], 4000, p=[0.5, 0.3, 0.2])
    high = rng.random(4000) < np.array([0.5, 0.6, 0.8])[np.searchsorted(["a", "b", "c"], S)]
    Y = rng.random(4000) < np.where(high, 0.7, 0.2)
    rows = {"S": S, "V": high.astype(int).astype(str), "Y": Y.astype(int).astype(str)}
    _, read = started(problem, rows, None, None)
    assert read is not None
    evidence = evidence_for_truths(problem, problem, read.batch)
    assert evidence is not None
    truths = LogTruths(problem, evidence).draw(2000, np.random.default_rng(5))
    counts = np.array([np.sum(group == S) for group in ("a", "b", "c")])
    assert truths.shares.shape == (2000, 3)
    np.testing.assert_allclose(truths.shares.mean(axis=0), (counts + 0.5) / 4001.5, atol=0.001)
    drawn = truths.outcomes()
    theta = np.array([np.mean(Y[~high]), np.mean(Y[high])])
    by_hand = [[(1 - p) * theta[0] + p * theta[1] for p in rule] for rule in ((0.5, 0.6, 0.8), (0.4, 0.4, 0.5))]
    np.testing.assert_allclose(drawn.means.mean(axis=0), by_hand, atol=0.005)
    np.testing.assert_allclose(drawn.outcomes, np.einsum("nkt,nt->nk", drawn.means, truths.shares))
    found = plan(problem, log=rows, truths=20, most_pulls=64, seed=1)
    assert found.log_rows == 4000 and found.prior_mean is None
