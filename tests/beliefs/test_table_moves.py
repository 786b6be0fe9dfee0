"""What follows from each state of a table: against problems whose table is another one."""

from __future__ import annotations

import numpy as np
import pytest

from fairarm import Arm, Outcome, Problem, Variable, table
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.table_moves import LawFactors
from fairarm.core.doubt.wrong_table import largest_rise
from fairarm.problem.pulls import Batch


def random_problem(rng: np.random.Generator, direct: bool = False) -> Problem:
    """S → X, S → V, X → V → Y ← X; with ``direct``, S → Y too. The law of contexts is declared by X's table."""
    arms = rng.dirichlet(np.ones(3), size=(3, 2, 2))
    edges = [("S", "X"), ("S", "V"), ("X", "V"), ("X", "Y"), ("V", "Y"), *([("S", "Y")] if direct else [])]
    return Problem(
        name="moves",
        variables=[Variable("S", ("a", "b")), Variable("X", ("0", "1")), Variable("V", ("0", "1", "2")), Variable("Y", ("0", "1"))],
        graph=edges, sensitive="S", decision="V", outcome=Outcome("Y", values=(0, 1)), tolerance=0.2, deployed="arm-0",
        shares={"a": 0.3, "b": 0.7},
        arms=[Arm(f"arm-{k}", table("V", ["S", "X"], rows)) for k, rows in enumerate(arms)],
        mechanisms=[table("X", ["S"], rng.dirichlet(np.ones(2), size=2))],
    )  # fmt: skip


def believed(problem: Problem, rng: np.random.Generator) -> CellBeliefs:
    n = 400
    columns = {name: rng.integers(0, size, n) for name, size in (("S", 2), ("X", 2), ("V", 3), ("Y", 2))}
    zero = np.zeros(n, dtype=np.int64)
    rows = Batch(zero, zero, columns, np.ones(n, dtype=np.int64))
    return CellBeliefs.of(CellEvidence.empty(problem).add(rows))


@pytest.mark.parametrize("direct", [False, True])
def test_values_are_those_of_the_beliefs_and_linear_in_every_table(direct: bool) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, direct)
        beliefs = believed(problem, rng)
        factors = LawFactors(beliefs)
        means = (beliefs.law[0] * beliefs.posterior.mean[0]).sum(axis=2)
        expected = np.stack([means @ [0.3, 0.7], means[:, 0] - means[:, 1]], axis=1)
        assert factors.values() == pytest.approx(expected)
        for moves in factors.tables():
            whole = (moves.table * moves.follows).sum(axis=(2, 3))
            assert whole == pytest.approx(expected if moves.arm is None else expected[moves.arm : moves.arm + 1])


def test_no_table_within_the_error_moves_a_value_further_and_one_moves_it_so_far() -> None:
    """30 problems, every table, outcomes and gaps: 50 random tables within ε, and the one that takes from the worst states."""
    for seed in range(30):
        rng = np.random.default_rng(100 + seed)
        problem = random_problem(rng)
        for moves in LawFactors(believed(problem, rng)).tables():
            error, follows = float(rng.uniform(0.01, 0.3)), moves.follows
            most = largest_rise(moves.table, follows, error)
            other = rng.dirichlet(np.ones(moves.table.shape[1]), size=(50, len(moves.table)))
            part = error / np.maximum(np.abs(other - moves.table).sum(axis=2, keepdims=True) / 2, error)
            moved = np.einsum("nbv,kjbv->nkj", part * (other - moves.table), follows)
            assert np.all(moved <= most + 1e-12)
