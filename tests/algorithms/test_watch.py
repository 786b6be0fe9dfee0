"""What is watched while a live study runs: which monitor sees what, and what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairarm.algorithms.cohort import Cohort, Loss
from fairarm.algorithms.watch import Alarm, Watch, Watched, by_state
from fairarm.beliefs.evidence import CellEvidence
from four_arms import chain, world

NOBODY = np.zeros((1, 4), dtype=bool)


def rows(counts: Any, seed: int = 0, theta: tuple[float, ...] = (0.1, 0.5, 0.9)) -> CellEvidence:
    asked = chain()
    plan = np.zeros((1, 3, 4), dtype=np.int64)
    plan[0, 0] = counts
    return CellEvidence(asked, world(asked, theta).draw(plan, np.random.default_rng(seed)))


def followed(watch: Watch, cohorts: list[Cohort], fair: np.ndarray = NOBODY) -> Watched:
    state = watch.start(1)
    for day, cohort in enumerate(cohorts):
        state = watch.after(state, cohort, day % 7, 1, day, fair)
    return state


def test_rows_by_state_of_the_outcome():
    made = rows([5, 6, 7, 8])
    found = by_state(made)
    assert found.shape == (1, 4, 2, 2) and found.sum(axis=(2, 3)).tolist() == [[5, 6, 7, 8]]
    assert found[..., 1].sum() == made.summary(chain().compiled.shared_cells).sums.sum()


def test_nothing_is_found_where_nothing_is_wrong():
    """The two fair arms alone."""
    watch = Watch(chain(), "worst")
    state = followed(watch, [Cohort(rows([50, 50, 0, 0], day)) for day in range(10)])
    assert not state.void[0] and watch.findings(state, 0) == ()


def test_drift_voids_and_says_what_to_do():
    watch = Watch(chain(), "worst")
    moved = [Cohort(rows([200] * 4, day, (0.1, 0.5, 0.9) if day < 5 else (0.4, 0.5, 0.6))) for day in range(10)]
    state = followed(watch, moved)
    assert state.void[0] and state.voided[0] == Alarm.DRIFT
    said = next(each for each in watch.findings(state, 0) if each.name == "outcomes-drift")
    assert said.voids and "longer cohorts" in said.message and "\n" not in said.message


@pytest.mark.parametrize(("lost", "voids"), [("worst", False), ("at random", True), ("0", None)])
def test_uneven_loss_voids_where_it_was_stated_to_be_at_random(lost: str, voids: bool | None) -> None:
    """All that is lost is of one arm; where not told means a state nobody is lost."""
    asked, made = chain(), []
    for day in range(10):
        seen = rows([40, 50, 50, 50], day)
        missing = np.zeros((1, 3, 4), dtype=np.int64)
        missing[0, 0, 0] = 10
        by_group = seen.group_sums((0,))[0].copy()
        by_group[0, 0] += [4, 6]
        made.append(Cohort(seen, missing, Loss.of(asked, lost), by_group=by_group))
    watch = Watch(asked, lost)
    state = followed(watch, made)
    found = [each for each in watch.findings(state, 0) if each.name == "loss-differs"]
    assert [each.voids for each in found] == ([] if voids is None else [voids])
    assert bool(state.voided[0] == Alarm.LOSS) == bool(voids)
    without_groups = [Cohort(each.rows, each.missing, each.loss, by_shares=True) for each in made]
    assert bool(followed(watch, without_groups).loss.alarm()[0]) == (voids is not None)


def test_the_guard_finds_arms_that_serve_a_gap_and_voids_where_one_was_certified_fair():
    """ "favours a" and "favours b" have gaps of 0.6 and more, at a tolerance of 0.15."""
    watch, made = Watch(chain(), "worst"), [Cohort(rows([50] * 4, day)) for day in range(10)]
    state = followed(watch, made)
    assert state.alarmed[0].tolist() == [False, False, True, True] and not state.void[0]
    finding = watch.findings(state, 0)[0]
    assert finding.name == "unfair-as-served" and finding.examples == ("favours a", "favours b") and not finding.voids
    fair = np.array([[False, False, True, False]])
    wrong = followed(watch, made, fair)
    assert wrong.voided[0] == Alarm.GUARD and watch.findings(wrong, 0)[0].voids


def test_a_cohort_that_was_cut_is_not_looked_at():
    watch, made = Watch(chain(), "worst"), rows([50] * 4)
    before = followed(watch, [Cohort(rows([50] * 4, 1))])
    after = watch.after(before, Cohort(made, cut=np.array([True])), 1, 1, 1, NOBODY)
    assert np.array_equal(after.guard, before.guard) and np.array_equal(after.drift.n, before.drift.n)
    assert np.array_equal(after.loss.dealt, before.loss.dealt)
