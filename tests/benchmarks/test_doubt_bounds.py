"""The worlds of the benchmark of doubts: their truths and strengths, and rows that are the same whatever is lost of them."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.doubt.__main__ import certified, hidden
from benchmarks.doubt.worlds import HiddenWorld


def test_without_a_push_there_is_no_hidden_cause() -> None:
    world = HiddenWorld.of(np.random.default_rng(1), 0.0)
    assert world.strength == pytest.approx(1.0) and np.array_equal(world.means[0], world.means[1])
    assert HiddenWorld.of(np.random.default_rng(1), 1.0).strength > 1.3


def test_the_first_arm_is_the_log_as_far_as_x_tells() -> None:
    """Decisions of 200 000 rows follow its table, and mean outcomes given U are the declared ones."""
    world = HiddenWorld.of(np.random.default_rng(2), 0.8)
    rows = world.rows(200_000, np.random.default_rng(3))
    x, v = (np.char.lstrip(rows[name], letters).astype(int) for name, letters in (("X", "x"), ("V", "v")))
    for i, law in enumerate(world.arms[0]):
        assert np.bincount(v[x == i], minlength=len(law)) / (x == i).sum() == pytest.approx(law, abs=0.01)
    # of a rule that does not see U, by hand: each context's mean over U, decisions and groups
    expected = np.einsum("sx,kxv,uxv->ks", world.contexts, world.arms, world.means) / 2
    assert world.truths[:, 0] == pytest.approx(expected.mean(axis=1))


def test_what_is_lost_does_not_change_the_other_rows() -> None:
    world = HiddenWorld.of(np.random.default_rng(4), 0.0)
    whole, holes = (world.rows(5000, np.random.default_rng(5), lost) for lost in (0.0, 0.1))
    gone = np.isnan(holes["Y"])
    assert gone.mean() == pytest.approx(0.1, abs=0.02) and not np.isnan(whole["Y"]).any()
    assert all(np.array_equal(whole[name], holes[name]) for name in "SXV")
    assert np.array_equal(whole["Y"][~gone], holes["Y"][~gone]) and whole["Y"][gone].mean() > 0.8


def test_a_few_logs_of_each_kind_are_judged() -> None:
    found = hidden(0.5, 3)
    assert found.bounds.shape == found.plain.shape == (3, 4, 2) and found.line().count("|") == 8
    proved = certified(0.1, 5)
    assert proved.wrong == 0 and proved.wider == pytest.approx(proved.formula, abs=0.03)
