"""The benchmark of answers: its truths are those worked out by hand, every part runs, and the page says which bars are missed."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.answers import avoided, small, status
from benchmarks.answers.__main__ import PARTS, page
from benchmarks.answers.kinds import BORDER, KINDS, caused_groups
from benchmarks.answers.parts import Scale
from benchmarks.answers.worlds import Truth

SMALL = Scale(seed=1, small=True)


def test_truths_are_those_worked_out_by_hand() -> None:
    log = avoided.KINDS["avoided, 1 500 rows"](np.random.default_rng(0))
    everywhere = 0.82 * (0.92 * 0.87 + 0.08 * 0.57) + 0.18 * (0.92 * 0.05 + 0.08 * 0.6)
    assert log.truth.outcomes[1] == pytest.approx(everywhere) and log.truth.gaps[1] == pytest.approx(0.0)
    unfair = small.truth().names.index("by-sex")
    assert small.truth().gaps[unfair, 0] == pytest.approx(-1.185, abs=5e-4) and not small.truth().fair[unfair]


def test_people_are_compared_with_themselves_where_the_attribute_has_a_cause() -> None:
    """By drawing: people of the second group, once as they are and once as of the first, their causes kept."""
    rng = np.random.default_rng(2)
    worlds = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.answers.worlds.World.log", lambda self, rows, rng: worlds.append(self))
        caused_groups(rng)
    (world,) = worlds
    n, rule = 200_000, world.arms["rule-1"]
    z = rng.choice(3, n, p=world.causes * world.groups[:, 1] / world.shares[1])

    def mean_as(group: int) -> float:
        x = (rng.random(n)[:, None] >= np.cumsum(world.child[z, group], axis=1)[:, :-1]).sum(axis=1)
        v = (rng.random(n)[:, None] >= np.cumsum(rule[group, x], axis=1)[:, :-1]).sum(axis=1)
        return float(world.law.means[z, group, x, v].mean())

    assert world.truth().gaps[1, 1] == pytest.approx(mean_as(0) - mean_as(1), abs=0.01)


def test_what_counts_as_wrong() -> None:
    truth = Truth(("a", "b", "c"), np.array([0.5, 0.6, 0.9]), np.array([True, True, False]), np.zeros((3, 1)))
    assert truth.best == 0.6 and truth.is_wrong("c", 0.5) and truth.is_wrong(None, 0.5)
    assert truth.is_wrong("a", 0.05) and not truth.is_wrong("a", 0.2) and not truth.is_wrong("b", 0.0)


def test_at_a_border_the_tolerance_is_a_true_gap() -> None:
    log = BORDER["the best arm's gap exactly"](np.random.default_rng(3))
    best = int(np.argmax(log.truth.outcomes))
    assert log.problem.gap_tolerance == abs(log.truth.gaps[best, 0]) and not log.truth.fair[best]


@pytest.mark.parametrize("name", [*sorted({*PARTS} - {"memory"}), pytest.param("memory", marks=pytest.mark.slow)])
def test_each_part_runs(name: str) -> None:
    part = PARTS[name](SMALL)
    tasks = next(iter(part.cases.values()))
    assert part.summed([tasks[0]()])


def test_the_page_says_which_bars_are_missed() -> None:
    line = {"logs": 100, "FOUND": 40, "FOUND wrong": 1, "unfair": 0, "none": 20, "none wrong": 0, "undecided": 40, "none though wide": 0, "reasons": {}}  # fmt: skip
    lines = {f"{kind}, {margin}": line for kind in KINDS for margin in status.MARGINS}
    figures = {"status": {"version": "new", "seed": 1, "minutes": 0.1, "lines": lines}}
    assert "**missed**" not in page(figures, {}, SMALL)
    lines["random, margin 0"] = {**line, "FOUND wrong": 3, "none though wide": 1}
    text = page(figures, {}, SMALL)
    assert "**missed**: random, margin 0: at most 5 % of FOUND wrong: 3 of 40" in text
    assert "**missed**: NO_FAIR_ARM where an arm's intervals contain 0: never: 1" in text
    assert text.count("**missed**") == 2
