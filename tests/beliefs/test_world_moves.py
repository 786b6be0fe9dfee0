"""What follows from each state of a table where a problem is not plain: against problems whose table is another one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairarm import Arm, Constraint, Outcome, Problem, Variable, table
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.table_moves import TableMoves
from fairarm.beliefs.world_moves import WorldFactors
from fairarm.beliefs.worlds import WorldBeliefs
from fairarm.problem.context import ContextLaw
from fairarm.problem.pulls import Batch
from fairarm.problem.world_laws import Factors
from quick import quick

SIZES = {"Z": 2, "S": 2, "R": 2, "X": 2, "V": 3, "Y": 2}
TABLES = {"S": ("Z",), "R": ("S",), "X": ("S", "R")}


def random_tables(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Of the attributes S and R, of the child X, and of two arms."""
    made = {name: rng.dirichlet(np.ones(2), size=(2,) * len(parents)) for name, parents in TABLES.items()}
    return made | {f"arm-{k}": rng.dirichlet(np.ones(3), size=(2, 2)) for k in range(2)}


def problem_of(tables: dict[str, np.ndarray], constraints: list[Constraint]) -> Problem:
    """Z → S → R, S → X ← R, S → V ← X, Z → Y ← V, X → Y: S has a cause, R is an attribute below S. Every law is declared."""
    return Problem(
        name="moves",
        variables=[Variable(name, tuple(map(str, range(size)))) for name, size in SIZES.items()],
        graph=[("Z", "S"), ("S", "R"), ("S", "X"), ("R", "X"), ("S", "V"), ("X", "V"), ("Z", "Y"), ("X", "Y"), ("V", "Y")],
        sensitive=["S", "R"], decision="V", outcome=Outcome("Y", values=(0, 1)), constraints=constraints, deployed="arm-0",
        arms=[Arm(f"arm-{k}", table("V", ["S", "X"], tables[f"arm-{k}"])) for k in range(2)],
        mechanisms=[table(name, list(parents), tables[name]) for name, parents in TABLES.items()],
        context=ContextLaw(("Z",), np.array([0.4, 0.6])),
    )  # fmt: skip


ASKED = [
    [Constraint(tolerance=0.1, attribute="S")],
    [Constraint(tolerance=0.1, attribute="S", keep=("X",))],
    [Constraint(tolerance=0.1, attribute="R"), Constraint(compare="floor", at_least=0.2, attribute="R")],
    [Constraint(tolerance=0.1, attributes=("S", "R"), compare="mean")],
]


def believed(problem: Problem, rng: np.random.Generator) -> WorldBeliefs:
    n = 400
    columns = {name: rng.integers(0, size, n) for name, size in SIZES.items()}
    zero = np.zeros(n, dtype=np.int64)
    return WorldBeliefs.of(CellEvidence.empty(problem).add(Batch(zero, zero, columns, np.ones(n, dtype=np.int64))))


def values_of(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """Outcomes and rows by the declared laws, (K, 1 + J)."""
    cells, asked = problem.compiled.world_cells, problem.compiled.rows
    known = Factors(cells.arms, cells.children, tuple(own.known() for own in cells.own))
    means = cells.worlds.laws(known, np.ones(cells.contexts) if cells.law is None else cells.law, cells) @ theta
    return np.concatenate([means[:, -1:], asked.values(means[:, :-1], means[:, -1])], axis=1)


def names(moves: TableMoves) -> str:
    """The table's key."""
    return moves.name.split(" |")[0]


def near(rng: np.random.Generator, p: np.ndarray, error: float) -> np.ndarray:
    """Tables within ε, each row in another direction."""
    other = rng.dirichlet(np.full(p.shape[-1], 0.3), size=p.shape[:-1])
    distance = np.abs(other - p).sum(axis=-1, keepdims=True) / 2
    return p + (other - p) * np.minimum(1.0, error / np.maximum(distance, 1e-12))


@pytest.mark.parametrize("asked", quick(range(len(ASKED)), 2))
def test_no_table_within_the_error_moves_a_value_further(asked: int) -> None:
    """6 problems, every table of arms, child and both attributes, 40 tables within ε each; some come near to the bound."""
    reached: dict[str, list[float]] = {}
    for seed in range(6):
        rng = np.random.default_rng([asked, seed])
        tables = random_tables(rng)
        problem = problem_of(tables, ASKED[asked])
        factors = WorldFactors(believed(problem, rng))
        before, theta = factors.values(), factors.beliefs.posterior.mean[0]
        assert before == pytest.approx(values_of(problem, theta), abs=1e-12)
        found = {names(moves): moves for moves in factors.tables()}
        assert set(found) == set(tables)
        for name, moves in found.items():
            error = float(rng.uniform(0.01, 0.2))
            rise, fall = moves.rise()(error), moves.fall()(error)
            furthest = np.zeros((2, *rise.shape))
            for _ in range(40):
                moved = (
                    values_of(problem_of(tables | {name: near(rng, tables[name], error)}, ASKED[asked]), theta) - before
                )
                own = moved if moves.arm is None else moved[moves.arm : moves.arm + 1]
                assert np.all(own <= rise + 1e-9) and np.all(-own <= fall + 1e-9)
                furthest = np.maximum(furthest, [own, -own])
            share = furthest / np.maximum([rise, fall], 1e-9)
            reached.setdefault(name, []).append(float(share.max()))
    assert all(max(each) > 0.6 for each in reached.values()), reached


def test_the_least_table_that_reaches_a_bound() -> None:
    """P(S | Z) moved as the bound says: rows of pairs are fractions of one D, whose bound is reached."""
    rng = np.random.default_rng(8)
    tables = random_tables(rng)
    problem = problem_of(tables, ASKED[0])
    factors = WorldFactors(believed(problem, rng))
    (moves,) = (moves for moves in factors.tables() if names(moves) == "S")
    before, theta, error = factors.values(), factors.beliefs.posterior.mean[0], 0.05
    corners: list[Any] = []
    for first in (-error, error):
        for second in (-error, error):
            moved = tables["S"] + np.array([[first, -first], [second, -second]])
            corners.append(values_of(problem_of(tables | {"S": moved}, ASKED[0]), theta) - before)
    assert moves.fractions and np.all(tables["S"] > error)
    assert np.max(corners, axis=0) == pytest.approx(moves.rise()(error), abs=1e-7)
    assert np.min(corners, axis=0) == pytest.approx(-moves.fall()(error), abs=1e-7)


def test_where_a_childs_mechanism_is_not_declared_the_arms_tables_are_looked_at_alone() -> None:
    rng = np.random.default_rng(9)
    arms = rng.dirichlet(np.ones(3), size=(2, 2, 2))
    problem = Problem(
        name="apart",
        variables=[Variable(name, tuple(map(str, range(size)))) for name, size in SIZES.items() if name != "R"],
        graph=[("Z", "S"), ("S", "X"), ("S", "V"), ("X", "V"), ("Z", "Y"), ("X", "Y"), ("V", "Y")],
        sensitive="S", decision="V", outcome=Outcome("Y", values=(0, 1)), tolerance=0.1, deployed="arm-0",
        mechanisms=[table("S", ["Z"], [[0.3, 0.7], [0.6, 0.4]])],
        arms=[Arm(f"arm-{k}", table("V", ["S", "X"], law)) for k, law in enumerate(arms)],
    )  # fmt: skip
    factors = WorldFactors(believed(problem, rng))
    assert [moves.name for moves in factors.tables()] == ["arm-0", "arm-1"] and factors.left_out == ("S | Z",)
    for moves in factors.tables():
        whole = (moves.table * moves.follows).sum(axis=(2, 3))
        assert whole[0] == pytest.approx(factors.values()[moves.arm or 0])
