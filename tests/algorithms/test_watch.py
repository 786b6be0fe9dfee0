"""The guard of gaps as served: which arms it finds, and what it says."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairarm.algorithms.cohort import Cohort, Loss, Missing, of_kind
from fairarm.algorithms.watch import Watch, Watched, by_state
from fairarm.beliefs.evidence import CellEvidence
from four_arms import chain, world

NOBODY = np.zeros((1, 4), dtype=bool)


def rows(counts: Any, seed: int = 0, theta: tuple[float, ...] = (0.1, 0.5, 0.9)) -> CellEvidence:
    asked = chain()
    plan = np.zeros((1, 3, 4), dtype=np.int64)
    plan[0, 0] = counts
    return CellEvidence(asked, world(asked, theta).draw(plan, np.random.default_rng(seed)))


WORST = Loss.of(chain(), "worst")


def followed(watch: Watch, cohorts: list[Cohort], fair: np.ndarray = NOBODY) -> Watched:
    state = watch.start(1)
    for number, cohort in enumerate(cohorts):
        state = watch.after(state, cohort, 1, number, fair)
    return state


def test_rows_by_state_of_the_outcome():
    made = rows([5, 6, 7, 8])
    found = by_state(made)
    assert found.shape == (1, 4, 2, 2) and found.sum(axis=(2, 3)).tolist() == [[5, 6, 7, 8]]
    assert found[..., 1].sum() == made.summary(chain().compiled.shared_cells).sums.sum()


def test_nothing_is_found_where_nothing_is_wrong():
    """The two fair arms alone."""
    watch = Watch(chain(), WORST)
    state = followed(watch, [Cohort(rows([50, 50, 0, 0], day)) for day in range(10)])
    assert not state.void[0] and watch.findings(state, 0) == ()


def test_the_guard_finds_arms_that_serve_a_gap_and_voids_where_one_was_certified_fair():
    """ "favours a" and "favours b" have gaps of 0.6 and more, at a tolerance of 0.15."""
    watch, made = Watch(chain(), WORST), [Cohort(rows([50] * 4, day)) for day in range(10)]
    state = followed(watch, made)
    assert state.alarmed[0].tolist() == [False, False, True, True] and not state.void[0]
    finding = watch.findings(state, 0)[0]
    assert (
        finding.name == "unfair-as-served"
        and finding.examples == ("favours a", "favours b")
        and not finding.blocks_certification
    )
    fair = np.array([[False, False, True, False]])
    wrong = followed(watch, made, fair)
    assert wrong.void[0] and watch.findings(wrong, 0)[0].blocks_certification


def test_a_cohort_that_was_cut_is_not_looked_at():
    watch, made = Watch(chain(), WORST), rows([50] * 4)
    before = followed(watch, [Cohort(rows([50] * 4, 1))])
    after = watch.after(before, Cohort(made, cut=np.array([True])), 1, 1, NOBODY)
    assert np.array_equal(after.wealth, before.wealth)


def test_where_not_told_means_a_state_nobody_is_left_out():
    """Nobody with outcome 0 is told: among those who are, no arm has a gap. With what not told means, "favours a" has."""
    asked, made = chain(), []
    for day in range(10):
        whole = rows([50] * 4, day)
        told = CellEvidence(asked, whole.counts * (np.arange(whole.counts.shape[-1]) % 2))
        by_group = of_kind(whole.group_sums((0,))[0] - told.group_sums((0,))[0], Missing.STATED)
        missing = of_kind(whole.pulls() - told.pulls(), Missing.STATED)
        made.append(Cohort(told, missing, Loss.of(asked, "0"), by_group=by_group))
    assert followed(Watch(asked, Loss.of(asked, "0")), made).alarmed[0].tolist() == [False, False, True, True]
    assert not followed(Watch(asked, WORST), made).alarmed.any()
