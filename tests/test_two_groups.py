"""A sensitive attribute with three groups is refused by everything that compares groups, each by itself.

`Problem` refuses it first. Here that check is lifted, so that whatever would quietly answer for two of the three groups shows:
every arm below treats a and b alike, and the one with the highest outcome ruins c.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import fairarm.problem
from fairarm import (
    Arm,
    LogMap,
    NetworkWorld,
    Outcome,
    Problem,
    Variable,
    algorithm,
    evaluate,
    identify,
    inspect,
    plan,
    simulate,
    table,
)
from fairarm.algorithms import DESCRIPTIONS, make_procedure, registry
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.robust import RobustBeliefs
from fairarm.core.limit.fewest_pulls import limit
from fairarm.core.proof.bets import Brought, open_ledger, settle
from fairarm.core.proof.claims import Rule
from fairarm.core.proof.log_intervals import CutSums, weighted_intervals
from fairarm.core.proof.region import intervals
from fairarm.core.statistics import difference_interval
from fairarm.errors import FairarmError, ProblemError
from fairarm.experiments.limit import find_limit
from fairarm.experiments.simulate import replicate
from fairarm.problem.network import Network
from fairarm.problem.pulls import Request

GROUPS = ("a", "b", "c")
SHARES = [0.4, 0.4, 0.2]
ROWS = {"old": [[0.6, 0.4]] * 3, "ruins c": [[0.1, 0.9], [0.1, 0.9], [0.95, 0.05]]}
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in DESCRIPTIONS),
    ("pool", {"confidence": 0.9, "stop": "certified"}),
    ("pool", {"confidence": 0.9, "stop": "bayes-stop"}),
    ("pool", {"law": "estimated"}),
]
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


def log(rows: int = 600) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    S, V = rng.choice(GROUPS, rows, p=SHARES), rng.choice(["0", "1"], rows, p=[0.6, 0.4])
    return {"S": S, "V": V, "Y": rng.choice(["0", "1"], rows), "p": np.where(V == "1", 0.4, 0.6)}


def verdict(name: str, options: dict[str, Any]) -> object:
    rng, source = np.random.default_rng(0), world(problem())
    run = algorithm(name, source.problem, pulls=60, **options)
    while not run.finished:
        run.tell(source.pull(run.ask(), rng), id=str(run.phase))
    return run.verdict()


@pytest.fixture
def lifted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of two groups taken out of Problem, wherever in the folder it is called."""

    def first_two(sensitive: str, groups: Sequence[str]) -> tuple[str, str]:
        return groups[0], groups[1]

    names = [info.name for info in pkgutil.iter_modules(fairarm.problem.__path__) if info.name != "pair"]
    callers = [m for m in (import_module(f"fairarm.problem.{name}") for name in names) if hasattr(m, "require_pair")]
    assert callers
    for module in callers:
        monkeypatch.setattr(module, "require_pair", first_two)


def test_problem_refuses_three_groups_and_says_what_to_do() -> None:
    with pytest.raises(ProblemError, match=r"has 3 groups \(a, b, c\).*merge states, or run one pair at a time"):
        problem()


@pytest.mark.usefixtures("lifted")
class TestLifted:
    def test_three_groups_can_be_made(self) -> None:
        assert problem().groups == GROUPS and world(problem()).law.shape[1] == 3

    @pytest.mark.parametrize(("name", "options"), SETTINGS)
    def test_no_algorithm_starts(self, name: str, options: dict[str, Any]) -> None:
        with pytest.raises(ProblemError, match="one pair at a time"):
            algorithm(name, problem(), pulls=60, **options)

    @pytest.mark.parametrize(("name", "options"), SETTINGS)
    def test_no_algorithm_that_was_started_gives_a_verdict(
        self, name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nor where the check at its start is missing."""
        monkeypatch.setattr(registry, "pair_of", lambda of: of.groups)
        with pytest.raises(FairarmError, match="one pair at a time"):
            verdict(name, options)

    def test_no_simulation_of_a_started_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(registry, "pair_of", lambda of: of.groups)
        procedure = make_procedure("uniform", problem(), 60)
        with pytest.raises(FairarmError, match="one pair at a time"):
            replicate(procedure, world(problem()), 2, np.random.default_rng(0), 0)

    def test_no_mixture(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(registry, "pair_of", lambda of: of.groups)
        run, source = algorithm("uniform", problem(), pulls=60), world(problem())
        with pytest.raises(FairarmError, match="one pair at a time"):
            run.best_mixture()
        with pytest.raises(FairarmError, match="one pair at a time"):
            run.tell(source.pull(run.ask(), np.random.default_rng(0)), id="1")

    @pytest.mark.parametrize(
        "ask",
        [
            lambda p: evaluate(p, log()),
            lambda p: evaluate(problem(shares=None), log()),
            lambda p: evaluate(p, log(), law="estimated"),
            lambda p: inspect(p),
            lambda p: inspect(p, world(p), limit=True),
            lambda p: find_limit(p, world(p)),
            lambda p: plan(p, truths=4, most_pulls=100),
            lambda p: identify(p, world(p), pulls=60),
            lambda p: simulate(p, world(p), algorithms=["uniform"], pulls=[60], runs=2),
            lambda p: world(p).truth().best_fair_arm,
            lambda p: p.compiled.tables.D,
            lambda p: p.compiled.tables.gap_weights,
        ],
    )
    def test_no_answer(self, ask: Callable[[Problem], object]) -> None:
        with pytest.raises(FairarmError, match="one pair at a time"):
            ask(problem())

    def test_no_answer_row_by_row(self) -> None:
        with pytest.raises(FairarmError, match="one pair at a time"):
            evaluate(problem(), log(), columns=LogMap(propensity="p"))

    @pytest.mark.parametrize("kind", [CellBeliefs, RobustBeliefs])
    @pytest.mark.parametrize("shares", [SHARES, None])
    def test_no_draw(self, kind: type[CellBeliefs | RobustBeliefs], shares: list[float] | None) -> None:
        given = problem(shares=shares)
        request = Request(given.arm_names, given.regimes, np.array([[40, 0], [0, 0], [0, 0], [0, 0]]))
        rows = CellEvidence.empty(given).add(world(given).pull(request, np.random.default_rng(0)))
        with pytest.raises(FairarmError, match="one pair at a time"):
            kind.of(rows).draw(np.random.default_rng(0), 5)
        with pytest.raises(FairarmError, match="one pair at a time"):
            _ = kind.of(rows).design().laws.difference


LAW = np.full((2, 3, 4), 0.25)


@pytest.mark.parametrize(
    "compute",
    [
        lambda: settle(Rule(LAW, 0.1, 0.1, np.array(SHARES)), open_ledger(Rule(LAW, 0.1, 0.1, np.array(SHARES))), Brought(np.ones((1, 2, 3)), np.full((1, 4), 1.5), np.ones((1, 4)))),
        lambda: intervals(np.ones((1, 4)), np.ones((1, 4)), LAW, 0.1, np.array(SHARES)),
        lambda: weighted_intervals(CutSums(np.ones(3), np.ones((5, 2, 3)), np.ones((2, 3))), 0.1, None, np.ones(3)),
        lambda: limit(LAW, np.array(SHARES), np.full(4, 0.5), None, 0.1),
        lambda: difference_interval(np.ones(3), np.ones(3), np.ones(3), None, 0.9),
    ],
)  # fmt: skip
def test_arrays_of_three_groups_are_refused(compute: Callable[[], object]) -> None:
    with pytest.raises(ProblemError, match=r"got 3\..*one pair at a time"):
        compute()
