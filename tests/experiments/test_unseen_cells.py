"""Decisions that the log avoids: their means may be anything, against enumeration by hand."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from fairarm import Arm, LogMap, Outcome, Problem, Variable, evaluate, table
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.doubt import LoggedCells, draw_cells
from fairarm.experiments.doubt import answer_margin, ends_of
from fairarm.experiments.evidence_from_log import evidence_from_log
from fairarm.experiments.start_from_log import log_reader

CONTEXTS = np.array([[0.4, 0.4, 0.2], [0.5, 0.2, 0.3]])
"""P(X | S)."""
ARMS = {"today": [0.5, 0.5, 0.0], "rarely": [0.5, 0.5, 0.04], "everywhere": [0.9, 0.9, 0.9], "careful": [0.7, 0.6, 0.0]}
"""P(V = 1 | X)."""
THETA = np.array([[0.5, 0.8], [0.4, 0.7], [0.6, 0.05]])


def problem(states: int = 2, real: bool = False, **more: Any) -> Problem:
    """S → X → V → Y ← X; decisions from 2 on are never made by these arms."""
    laws = {name: np.stack([1 - np.array(p), p, *np.zeros((states - 2, 3))], axis=1) for name, p in ARMS.items()}
    given: dict[str, Any] = {"arms": [Arm(name, table("V", ["X"], law)) for name, law in laws.items()], **more}
    return Problem(
        name="avoided",
        variables=[Variable("S", ("a", "b")), Variable("X", ("0", "1", "2")), Variable("V", tuple(map(str, range(states)))),
                   *([] if real else [Variable("Y", ("0", "1"))])],
        graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", low=-10.0, high=10.0) if real else Outcome("Y", values=(0, 1)),
        mechanisms=[table("X", ["S"], CONTEXTS)],
        shares=(0.5, 0.5),
        tolerance=0.2,
        deployed="today",
        **given,
    )  # fmt: skip


def rows_of(n: int, seed: int, real: bool = False) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    x = (rng.random(n)[:, None] > CONTEXTS[s].cumsum(axis=1)).sum(axis=1)
    v = (rng.random(n) < np.array(ARMS["today"])[x]).astype(int)
    y = rng.normal(THETA[x, v], 0.3) if real else (rng.random(n) < THETA[x, v]).astype(float)
    return {"S": np.array(["a", "b"])[s], "X": x, "V": v, "Y": y}


def beliefs_of(asked: Problem, rows: dict[str, Any], where: LogMap | None = None) -> CellBeliefs:
    found = evidence_from_log(log_reader(asked, rows, columns=where), 0.05, False, False, 0).beliefs
    assert isinstance(found, CellBeliefs)
    return found


def weights(law: np.ndarray) -> np.ndarray:
    """P(x, v | s) by hand, (S, 6), cells in the order of X and V."""
    return np.array([[CONTEXTS[s, x] * law[x, v] for x in range(3) for v in range(2)] for s in range(2)])


def test_ends_and_answers_are_those_of_all_corners_of_the_box() -> None:
    """Of 20 draws: the one avoided cell is (2, 1), and everything is linear in its mean, so that 0 and 1 are the corners."""
    beliefs = beliefs_of(problem(), rows_of(800, 1))
    draws = draw_cells(beliefs, None, 0).draws
    laws = np.array([weights(np.stack([1 - np.array(p), p], axis=1)) for p in ARMS.values()])
    ends, margin = ends_of(draws), np.stack([answer_margin(draws, 1.0, k) for k in range(4)], axis=1)
    for d in range(20):
        corners = []
        for free in (0.0, 1.0):
            means = laws @ np.where(np.arange(6) == 5, free, draws.theta[d])  # (K, S)
            corners.append((means.mean(axis=1), means[:, 0] - means[:, 1]))
        outcomes, gaps = (np.array(part) for part in zip(*corners, strict=True))
        assert np.allclose([ends.outcome_low[d], ends.outcome_high[d]], [outcomes.min(axis=0), outcomes.max(axis=0)])
        assert np.allclose([ends.row_low[d, :, 0], ends.row_high[d, :, 0]], [gaps.min(axis=0), gaps.max(axis=0)])
        # careful and today are at the same point in both corners, so that an arm is the answer if it is in each of them
        fair = np.abs(gaps) <= 0.2
        best = [all(fair[c, k] and outcomes[c, k] >= outcomes[c][fair[c]].max() for c in (0, 1)) for k in range(4)]
        assert np.array_equal(margin[d] > 0, best)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_cell_is_avoided_by_the_mixture_of_the_arms_that_made_the_rows(share: float) -> None:
    """P(V = 1 | X = 2) is 0, 0.02 or 0.04 as the share of 'rarely' grows, and becomes 0.45 where 'everywhere' made half of the rows."""
    rows = rows_of(400, 2)
    for name, avoided in (("rarely", True), ("everywhere", share == 0.0)):
        made_by = np.where(np.arange(400) < share * 400, name, "today")
        beliefs = beliefs_of(problem(), {**rows, "arm": made_by}, LogMap(arm="arm"))
        assert np.array_equal(LoggedCells(beliefs).avoided, [False] * 5 + [avoided])


def test_a_row_is_enough_and_decisions_that_no_arm_makes_do_not_matter() -> None:
    rows = rows_of(400, 3)
    tried = {name: np.append(values, last) for (name, values), last in zip(rows.items(), ("a", 2, 1, 0), strict=True)}
    seen = beliefs_of(problem(), {**tried, "arm": np.repeat(["today", "rarely"], [400, 1])}, LogMap(arm="arm"))
    assert not LoggedCells(seen).avoided.any()
    arms = [arm for arm in problem().arms if arm.name in ("today", "careful")]
    found = evaluate(problem(arms=arms), rows)
    assert found.reason != "unseen-cells" and not any(each.name == "unseen-cells" for each in found.findings)


def test_uniform_decisions_avoid_none() -> None:
    """40 decisions with 1/40 each: cells without rows are so by chance."""
    law = np.full((3, 40), 1 / 40)
    rows = rows_of(150, 4)
    rows["V"] = np.random.default_rng(5).integers(0, 40, 150)
    first = np.eye(40)[[0, 0, 0]]
    arms = [Arm("today", table("V", ["X"], law)), Arm("first", table("V", ["X"], first))]
    logged = LoggedCells(beliefs_of(problem(states=40, arms=arms), rows))
    assert (logged.every_row == 0).any() and not logged.avoided.any()


def test_of_a_real_outcome_the_box_goes_one_sd_beyond_the_other_means() -> None:
    rows = rows_of(4000, 6, real=True)
    draws = draw_cells(beliefs_of(problem(real=True), rows), None, 0)
    means = [rows["Y"][(rows["X"] == x) & (rows["V"] == v)].mean() for x, v in product(range(3), range(2)) if x + v < 3]
    low, high = (20 * end[0, 5] - 10 for end in (draws.estimate.box().low, draws.estimate.box().high))
    assert (low, high) == (pytest.approx(min(means) - 0.3, abs=0.03), pytest.approx(max(means) + 0.3, abs=0.03))


def test_the_answer_from_a_log_that_avoids_what_an_arm_does() -> None:
    """'everywhere' looks best by far if its decision is taken to help in X = 2, as it does elsewhere, and it harms there."""
    law = np.array(
        [CONTEXTS.mean(axis=0) @ (THETA[:, 0] * (1 - p) + THETA[:, 1] * p) for p in map(np.array, ARMS.values())]
    )
    for seed in range(5):
        found = evaluate(problem(), rows_of(2000, seed), seed=seed)
        everywhere = found.arms[2].outcome
        assert everywhere.low <= law[2] <= everywhere.high and everywhere.high - everywhere.low > 0.9 * 0.25
        (warning,) = (each for each in found.findings if each.name == "unseen-cells")
        assert warning.message.startswith(
            "22.5% of the people of arm 'everywhere' would get a decision that was never tried for people like them (X = 2, V = 1). "
        )
        assert "About 23 pulls of 'everywhere'" in warning.message and warning.examples == (
            "everywhere 22.5%",
            "rarely 1.0%",
        )


def test_status_holds_whatever_avoided_decisions_would_do() -> None:
    """'most' beats 'today' surely if (2, 1), where it has 15 % of its people, is extrapolated, and not if that may be anything: by
    counted cells, and by propensities in the log, where only the mean weight shows it."""
    rows, made = rows_of(6000, 7), {"today": np.array(ARMS["today"]), "most": np.array([0.8, 0.8, 0.6])}
    asked = problem(arms=[Arm(name, table("V", ["X"], np.stack([1 - p, p], axis=1))) for name, p in made.items()])
    chance = made["today"][rows["X"]]
    logged = {**rows, "p": np.where(rows["V"] == 1, chance, 1 - chance)}
    cells, by_row = evaluate(asked, rows), evaluate(asked, logged, columns=LogMap(propensity="p"))
    assert (cells.reason, cells.method, by_row.method) == ("unseen-cells", "cell means", "doubly robust")
    assert cells.arms[1].best_probability_at_random > 0.9
    for found in (cells, by_row):
        assert found.status == "UNDECIDED" and found.recommended == "most"
        assert found.recommended_probability == found.arms[1].best_probability < 0.5
        assert found.arms[1].outcome.high - found.arms[1].outcome.low > 0.14
        (warning,) = (each for each in found.findings if each.name == "unseen-cells")
        assert float(warning.message.partition("%")[0]) == pytest.approx(15, abs=2)
