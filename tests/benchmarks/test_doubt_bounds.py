"""The worlds of the benchmark of doubts: their truths and strengths, and rows that are the same whatever is lost of them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from benchmarks.doubt.__main__ import TABLES
from benchmarks.doubt.deeper import DeepWorld
from benchmarks.doubt.measures import BySpread, certified, compared, hidden
from benchmarks.doubt.worlds import HiddenWorld, MixedWorld, RealWorld, SharpWorld

DOUBT = Path(__file__).parents[2] / "benchmarks" / "doubt"


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


def test_the_truth_of_a_sharp_world_is_on_the_end_of_its_box() -> None:
    """By hand, from the law of what is seen: P θ + (1 − P) θ/Γ is E[Y(v)] for both decisions of every context."""
    world = SharpWorld.of(np.random.default_rng(6), 0.7)
    gains, gamma = world.gains, world.strength
    assert gains is not None and gamma == pytest.approx(np.exp(0.7))
    for x, share in enumerate(gains):
        by_u = np.array([1 - share, share])[:, None] * world.logged[:, x]  # P(U, V)
        chance = by_u.sum(axis=0)
        seen = np.array([by_u[0, 0], by_u[1, 1]]) / chance  # Y is 1 where V is what U gains from
        assert chance == pytest.approx(world.arms[0, x])
        assert chance * seen + (1 - chance) * seen / gamma == pytest.approx([1 - share, share])


def test_rows_of_deeper_worlds_follow_their_laws() -> None:
    world = DeepWorld.of(np.random.default_rng(7), 0.5, kept=True)
    rows = world.rows(100_000, np.random.default_rng(8))
    for a, shares in enumerate(world.joint):
        for s, share in enumerate(shares):
            assert ((rows["A"] == f"a{a}") & (rows["S"] == "ab"[s])).mean() == pytest.approx(share, abs=0.01)
    assert world.joint.sum() == pytest.approx(1.0) and world.truths.shape == (4, 3)


def test_half_of_the_rows_of_a_mixed_world_draw_at_random() -> None:
    world = MixedWorld.of(np.random.default_rng(9), 1.0)
    rows = world.rows(40_000, np.random.default_rng(10))
    drew = rows["arm"] == "arm-3"
    assert drew.mean() == 0.5
    for x, law in enumerate(world.arms[-1]):
        at = drew & (rows["X"] == f"x{x}")
        assert (rows["V"][at] == "v0").mean() == pytest.approx(law[0], abs=0.03)


def test_a_few_logs_of_each_kind_are_judged() -> None:
    found = hidden(partial(HiddenWorld.of, push=0.5), 3, "hidden cause", 50)
    assert found.bounds.shape == found.plain.shape == (3, 4, 2) and found.line().count("|") == 8
    proved = certified(0.1, 5)
    assert proved.wrong == 0 and proved.wider == pytest.approx(proved.formula, abs=0.03)
    amounts = compared(partial(RealWorld.of, push=1.0), 2, "amount", 1, BySpread.of)
    assert amounts.width[0] < amounts.width[1] and amounts.line().count("|") == 8


def test_every_line_of_the_page_has_been_measured() -> None:
    kept = json.loads((DOUBT / "lines.json").read_text(encoding="utf-8"))
    assert set(kept) == {name for kinds in TABLES.values() for name, _ in kinds()}
    page = (DOUBT / "results.md").read_text(encoding="utf-8")
    assert all(line in page for line in kept.values())
