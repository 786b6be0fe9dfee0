"""Drift and loss in certified runs: what voids them, as a caller meets it, and what is only said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairarm import algorithm
from fairarm.algorithms import Algorithm, resume
from fairarm.algorithms.cohort import Cohort, Loss, Missing
from fairarm.algorithms.monitored import Alarm, dealt_and_gone
from fairarm.beliefs.evidence import CellEvidence
from fairarm.problem.pulls import Batch
from fairarm.reports.words import guarantee_of
from fairarm.testing.checks import take, units
from four_arms import chain, world

STEADY, MOVED = (0.1, 0.5, 0.9), (0.5, 0.5, 0.55)


def run_of(pulls: int = 4000) -> Algorithm:
    return algorithm("pool", chain(), pulls=pulls, confidence=1 - 1e-13)


def pulled(run: Algorithm, seed: int, theta: tuple[float, ...] = STEADY) -> Batch:
    rows = units(world(run.problem, theta).pull(run.ask(), np.random.default_rng(seed)))
    return take(rows, np.random.default_rng(seed).permutation(rows.size))


def test_a_run_whose_outcomes_move_is_void_and_says_so() -> None:
    """After 15 phases the outcomes are others: the run ends undecided, with a finding that names the way out."""
    run, part = run_of(), 0
    while not run.finished and part < 60:
        run.tell(pulled(run, part, STEADY if part < 12 else MOVED), id=str(part))
        part += 1
    verdict = run.verdict()
    assert verdict.status == "UNDECIDED" and run.state.memory.alarm.tolist() == [Alarm.DRIFT]
    found = next(each for each in verdict.findings if each.name == "outcomes-drift")
    assert found.blocks_certification and "longer cohorts" in found.message and "\n" not in found.message
    assert guarantee_of(verdict) == "Nothing is certified: what was declared has been seen to be wrong."
    assert resume(run.problem, run.to_json()).to_json() == run.to_json()


@pytest.mark.parametrize(("lost", "voids"), [("worst", False), ("at random", True), ("0", None)])
def test_uneven_loss_voids_where_it_was_stated_to_be_at_random(lost: str, voids: bool | None) -> None:
    """Half of the rows of one arm never come. Charged, it is only said; where not told means a state nobody is lost."""
    run, part = run_of(1500), 0
    while not run.finished and part < 40:
        rows = pulled(run, part)
        here = np.flatnonzero(rows.arm == 2)
        kept = np.setdiff1d(np.arange(rows.size), here[: len(here) // 2])
        run.tell(take(rows, kept), id=str(part))
        part += 1
        if not run.finished and run.ask().counts.sum() and len(kept) < rows.size:
            run.close_phase(lost=lost)
    found = [each for each in run.verdict().findings if each.name == "loss-differs"]
    assert [each.blocks_certification for each in found] == ([] if voids is None else [voids])
    assert bool(run.state.memory.alarm[0] == Alarm.LOSS) == bool(voids)


def test_who_was_dealt_and_who_is_gone_by_hand() -> None:
    """Natural and forced rows of two arms, with the groups of the lost known, and not."""
    asked = chain()
    plan = np.zeros((1, 3, 4), dtype=np.int64)
    plan[0, 0, 0], plan[0, 2, 1] = 20, 7
    rows = CellEvidence(asked, world(asked).draw(plan, np.random.default_rng(0)))
    missing = np.zeros((1, 3, 3, 4), dtype=np.int64)
    missing[0, Missing.UNKNOWN, 0, 0], missing[0, Missing.UNKNOWN, 2, 1], missing[0, Missing.STATED, 0, 3] = 5, 3, 2
    came = rows.group_sums((0,))[0]
    how: dict[str, Any] = {"missing": missing, "loss": Loss.of(asked, "worst")}
    dealt, gone = dealt_and_gone(Cohort(rows, **how), Missing.UNKNOWN)
    assert gone[0, :2].tolist() == [[5, 0, 0, 0], [0, 0, 0, 3]] and dealt[0, :2].tolist() == [
        [25, 0, 0, 0],
        [0, 0, 0, 10],
    ]
    by_group = np.zeros((1, 3, 4, 2), dtype=np.int64)
    by_group[0, Missing.UNKNOWN, 0], by_group[0, Missing.STATED, 3] = [1, 4], [0, 2]
    dealt, gone = dealt_and_gone(Cohort(rows, **how, by_group=by_group), Missing.UNKNOWN)
    assert gone[0, :2].tolist() == [[1, 4, 0, 0], [0, 0, 0, 3]] and not gone[0, 2:].any()
    assert dealt[0, 0].tolist() == [*(came[0, 0] + [1, 4]).tolist(), 0, 0] and dealt[0, 1].tolist() == [0, 0, 0, 10]
    assert dealt[0, 3].tolist() == [*(came[0, 3] + [0, 2]).tolist(), 0, 0]
    whole, none = dealt_and_gone(Cohort(rows), Missing.UNKNOWN)
    assert not none.any() and whole[0, :2].sum() == 27
