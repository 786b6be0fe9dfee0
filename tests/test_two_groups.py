"""With three groups nothing answers for two of them: every algorithm and every command looks at all rows.

Every arm below treats a and b alike, and the one with the highest outcome ruins c: whatever compared two groups only would name it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairarm import (
    Arm,
    LogMap,
    NetworkWorld,
    Outcome,
    Problem,
    Variable,
    algorithm,
    evaluate,
    find_limit,
    identify,
    inspect,
    plan,
    simulate,
    table,
)
from fairarm.algorithms import DESCRIPTIONS, Verdict, make_procedure
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.robust import RobustBeliefs
from fairarm.core.limit.fewest_pulls import limit
from fairarm.core.proof.log_intervals import CutSums, weighted_intervals
from fairarm.core.proof.region import intervals
from fairarm.core.statistics import difference_interval
from fairarm.errors import FairarmError, ProblemError
from fairarm.experiments.simulate import replicate
from fairarm.problem.network import Network
from fairarm.problem.pulls import Request

GROUPS = ("a", "b", "c")
SHARES = [0.4, 0.4, 0.2]
ROWS = {"old": [[0.6, 0.4]] * 3, "ruins c": [[0.1, 0.9], [0.1, 0.9], [0.95, 0.05]]}
BELIEVING: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ("pool", "top-two", "tf-lucb", "uniform", "mis")),
    ("pool", {"confidence": 0.9, "stop": "bayes-stop"}),
    ("pool", {"confidence": 0.9, "stop": "certified"}),
    ("pool", {"law": "estimated"}),
]
IN_PHASES = [name for name in DESCRIPTIONS if name.startswith(("csr", "two-stage"))]
OUTCOME = table("Y", ["V"], [[0.8, 0.2], [0.2, 0.8]])


def problem(**more: Any) -> Problem:
    given: dict[str, Any] = {"shares": SHARES, "deployed": "old", "tolerance": 0.2}
    return Problem(
        name="three",
        variables=[Variable("S", GROUPS), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        arms=[Arm(name, table("V", ["S"], rows)) for name, rows in ROWS.items()],
        **{**given, **more},
    )


def world(of: Problem) -> NetworkWorld:
    tables = [table("S", [], SHARES), table("V", ["S"], ROWS["old"]), OUTCOME]
    return NetworkWorld(of, Network.of(of.variables.values(), tables))


def log(rows: int = 6000) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    S, V = rng.choice(GROUPS, rows, p=SHARES), rng.choice(["0", "1"], rows, p=[0.6, 0.4])
    Y = np.where(rng.random(rows) < np.where(V == "1", 0.8, 0.2), "1", "0")
    return {"S": S, "V": V, "Y": Y, "p": np.where(V == "1", 0.4, 0.6)}


def verdict(name: str, options: dict[str, Any], pulls: int) -> Verdict:
    rng, source = np.random.default_rng(0), world(problem())
    run = algorithm(name, source.problem, pulls=pulls, **options)
    while not run.finished:
        run.tell(source.pull(run.ask(), rng), id=str(run.phase))
    return run.verdict()


@pytest.mark.parametrize(("name", "options"), BELIEVING)
def test_the_arm_that_ruins_the_third_group_is_not_named(name: str, options: dict[str, Any]) -> None:
    """3 000 rows: gaps are known to about 0.05, and that of the third group is 0.5 with a tolerance of 0.2. A run that stops when
    it is sure has fewer."""
    found, close = verdict(name, options, 3000), 0.25 if "stop" in options else 0.1
    assert (found.recommended_status, found.recommended) == ("FOUND", "old")
    assert (found.arm, found.reason) == (("old", None) if name in ("pool", "top-two") else (None, "no-probability"))
    good, bad = found.arms
    assert [row.name for row in bad.fairness] == ["a - b", "a - c", "b - c"]
    assert list(bad.gaps) == ["a|b", "b|a", "a|c", "c|a", "b|c", "c|b"]
    assert bad.fairness[0].value == pytest.approx(0.0, abs=close)
    assert bad.fairness[1].value == bad.gaps["a|c"] == pytest.approx(0.51, abs=close) and bad.unfair_toward is None
    assert good.gap_interval is bad.gap_interval is None
    if name in ("pool", "top-two"):
        assert bad.closest in ("a - c", "b - c") and bad.fairness[1].holds_probability < 0.1
        assert good.fair_probability > 0.9 > 0.1 > bad.fair_probability


@pytest.mark.parametrize("name", IN_PHASES)
def test_nor_by_the_papers_algorithms(name: str) -> None:
    found = verdict(name, {}, 300_000)
    assert (found.recommended_status, found.recommended) == ("FOUND", "old")


def test_runs_together() -> None:
    procedure = make_procedure("uniform", problem(), 3000)
    ended = replicate(procedure, world(problem()), 4, np.random.default_rng(0), 0)
    assert ended.state.answer.tolist() == [0] * 4 and ended.info.rows.shape == (4, 2, 3)


def test_the_truth() -> None:
    truth = world(problem()).truth()
    assert truth.best_fair_arm == 0 and truth.fair.tolist() == [True, False] and truth.tolerance is None
    np.testing.assert_allclose(truth.rows, [[0, 0, 0], [0, 0.51, 0.51]], atol=1e-12)
    with pytest.raises(FairarmError, match="one pair at a time"):
        _ = truth.gaps


@pytest.mark.parametrize(
    "ask",
    [
        lambda p: evaluate(p, log()).arm,
        lambda p: evaluate(problem(shares=None), log()).arm,
        lambda p: evaluate(p, log(), law="estimated").arm,
        lambda p: evaluate(p, log(), columns=LogMap(propensity="p")).arm,
        lambda p: identify(p, world(p), pulls=3000).verdict.arm,
        lambda p: simulate(p, world(p), algorithms=["uniform"], pulls=[60], runs=2).best_fair_arm,
        lambda p: p.arm_names[inspect(p, world(p), limit=True).truth.best_fair_arm],
    ],
)
def test_nor_by_any_command(ask: Callable[[Problem], str | None]) -> None:
    assert ask(problem()) == "old"


def test_limit_and_plan_look_at_every_row() -> None:
    """The other arm is better: only the rows of the third group, all the way to its tolerance, stand between it and the answer."""
    found = find_limit(problem(), world(problem()))
    assert [(a.arm, a.kind) for a in found.binding] == [(1, "becomes fair")] and found.binding[0].row in (1, 2)
    assert plan(problem(), truths=4, most_pulls=100).options


@pytest.mark.parametrize("kind", [CellBeliefs, RobustBeliefs])
@pytest.mark.parametrize("shares", [SHARES, None])
def test_draws_have_every_group(kind: type[CellBeliefs | RobustBeliefs], shares: list[float] | None) -> None:
    """4 000 rows of the deployed arm: means are drawn within 0.1 or so of the truth, and unpack as no gap of two groups."""
    given = problem(shares=shares)
    request = Request(given.arm_names, given.regimes, np.array([[4000, 0], [0, 0], [0, 0], [0, 0]]))
    rows = CellEvidence.empty(given).add(world(given).pull(request, np.random.default_rng(0)))
    beliefs = kind.of(rows)
    drawn = beliefs.draw(np.random.default_rng(0), 50)
    assert drawn.means.shape == (1, 50, 2, 3) and drawn.outcomes.shape == (1, 50, 2)
    np.testing.assert_allclose(drawn.means.mean(axis=1)[0], world(given).truth().group_outcomes, atol=0.1)
    basis = beliefs.design()
    assert basis.laws.units.shape[1] == 4 and basis.laws.coefficients().shape[2] == 3
    assert basis.counts.shape[1] - basis.laws.units[:, 1:].any(axis=(0, 1, 2)).sum() == (0 if shares else 3)
    with pytest.raises(FairarmError, match="one pair at a time"):
        _, _ = drawn
    with pytest.raises(FairarmError, match="one pair at a time"):
        _ = basis.laws.difference


LAW = np.full((2, 3, 4), 0.25)


@pytest.mark.parametrize(
    "compute",
    [
        lambda: intervals(np.ones((1, 4)), np.ones((1, 4)), LAW, 0.1, np.array(SHARES)),
        lambda: weighted_intervals(CutSums(np.ones(3), np.ones((5, 2, 3)), np.ones((2, 3))), 0.1, None, np.ones(3)),
        lambda: limit(LAW, np.array(SHARES), np.full(4, 0.5), None, 0.1),
        lambda: difference_interval(np.ones(3), np.ones(3), np.ones(3), None, 0.9),
    ],
)  # fmt: skip
def test_what_means_one_gap_refuses_three_groups(compute: Callable[[], object]) -> None:
    with pytest.raises(ProblemError, match=r"one pair at a time"):
        compute()
