"""Counts and sums of rows, each against the rows themselves, one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairarm.beliefs.evidence import CellEvidence, Evidence, RowEvidence, SumEvidence
from fairarm.problem.pulls import Batch, Request, groups_of, scaled_outcomes
from fairarm.testing.problems import make_world, real_problem

REGIMES = [(0,), (1,), (2,), (1, 2), (0, 1, 2)]


def pulled(kind: str) -> Batch:
    world = make_world(kind)
    counts = np.array([[3, 5, 2], [4, 1, 6], [2, 7, 3]])[:, : len(world.problem.arms)]
    return world.pull(Request(world.problem.arm_names, world.problem.regimes, counts), np.random.default_rng(0))


def evidence(form: str) -> tuple[Evidence, Batch]:
    kind = "chain" if form == "cells" else "real"
    made, problem = pulled(kind), make_world(kind).problem
    if form == "cells":
        return CellEvidence.empty(problem).add(made), made
    if form == "rows":
        return RowEvidence.empty(problem).add(made), made
    scaled = scaled_outcomes(problem, made) * made.count
    lines = replace(made, columns={name: made.columns[name] for name in ("S", "V")})
    none = np.zeros_like(scaled)
    return SumEvidence.of(problem, lines, np.stack([scaled, none, none], axis=1)), made


@pytest.mark.parametrize("regimes", REGIMES)
@pytest.mark.parametrize("form", ["cells", "rows", "sums"])
def test_group_sums_are_of_the_regimes_asked_for(form: str, regimes: tuple[int, ...]) -> None:
    """Added up by hand, line by line."""
    found, made = evidence(form)
    rows, sums = np.zeros((1, len(found.problem.arms), 2)), np.zeros((1, len(found.problem.arms), 2))
    outcome = scaled_outcomes(found.problem, made)
    for line, group in enumerate(groups_of(found.problem, made)):
        if made.regime[line] in regimes:
            rows[0, made.arm[line], group] += made.count[line]
            sums[0, made.arm[line], group] += made.count[line] * outcome[line]
    counted, summed = found.group_sums(regimes)
    assert rows.sum() > 0
    np.testing.assert_array_equal(counted, rows)
    np.testing.assert_allclose(summed, sums, rtol=1e-12)
    assert found.every_regime == (0, 1, 2)


@pytest.mark.parametrize("form", ["cells", "rows", "sums"])
def test_rows_by_cell_are_those_of_the_rows(form: str) -> None:
    """Counted by hand: the one column of a cell is V."""
    found, made = evidence(form)
    expected = np.zeros((1, len(found.problem.arms), 2, found.problem.variables["V"].size))
    for line, group in enumerate(groups_of(found.problem, made)):
        expected[0, made.arm[line], group, made.columns["V"][line]] += made.count[line]
    np.testing.assert_array_equal(found.rows_by_cell(), expected)


def test_which_pulls_count_must_be_said() -> None:
    """There is no choice that is right for all: natural pulls alone are zeros for an algorithm that forces."""
    found: Any = RowEvidence.empty(real_problem())
    with pytest.raises(TypeError):
        found.group_sums()


@pytest.mark.parametrize("form", ["cells", "rows"])
def test_parts_are_taken_apart_and_put_together(form: str) -> None:
    """What both kinds of a run's evidence offer alike: rows added, taken away again, and counted otherwise."""
    found, made = evidence(form)
    assert isinstance(found, CellEvidence | RowEvidence)
    twice: Any = found.plus(found)  # type: ignore[arg-type]
    np.testing.assert_array_equal(twice.pulls(), 2 * found.pulls())
    np.testing.assert_array_equal(twice.since(found).pulls(), found.pulls())
    thrice = found.recounted(3 * found.multiplicities)
    np.testing.assert_array_equal(thrice.pulls(), 3 * found.pulls())
    lines = thrice.lines()
    assert lines.rows == 3 * made.total == lines.count.sum() and found.replicates == 1 and not found.summed


@pytest.mark.parametrize("form", ["cells", "sums"])
def test_counts_by_group_are_those_of_the_rows(form: str) -> None:
    found, made = evidence(form)
    assert isinstance(found, CellEvidence | SumEvidence)
    seen, group = found.by_group(), groups_of(found.problem, made)
    scaled = scaled_outcomes(found.problem, made)
    for t in (0, 1):
        here = group == t
        assert seen.rows[t].sum() == made.count[here].sum() == seen.made[:, t].sum()
        assert seen.sums[t].sum() == pytest.approx((made.count * scaled)[here].sum())
        assert seen.squares[t].sum() == pytest.approx((made.count * scaled**2)[here].sum())
        natural = here & (made.regime == 0)
        assert found.natural_squares()[t] == pytest.approx((made.count * scaled**2)[natural].sum())


def test_sums_hold_no_rows() -> None:
    found, _ = evidence("sums")
    assert found.summed
    with pytest.raises(TypeError):
        found.lines()
