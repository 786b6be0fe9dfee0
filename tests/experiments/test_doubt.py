"""How far an answer from a log holds: missing outcomes bound it, and its claims tip where a grid says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairarm import Arm, LogMap, Outcome, Problem, Variable, evaluate, table
from fairarm.beliefs.certified import Bound
from fairarm.errors import OptionError

ARMS = {
    "old": [[0.7, 0.3], [0.4, 0.6]],
    "new": [[0.2, 0.8], [0.3, 0.7]],
    "even": [[0.5, 0.5], [0.5, 0.5]],
}
CONTEXTS = np.array([[0.7, 0.3], [0.5, 0.5]])
THETA = np.array([[0.3, 0.6], [0.4, 0.8]])


def problem(real: bool = False, **more: Any) -> Problem:
    """S → X → V → Y ← X: nothing acts on Y but X and the decision."""
    outcome = Outcome("Y", low=0.0, high=1.0) if real else Outcome("Y", values=(0, 1))
    own = [] if real else [Variable("Y", ("0", "1"))]
    given: dict[str, Any] = {"mechanisms": [table("X", ["S"], CONTEXTS)], "tolerance": 0.2, **more}
    return Problem(
        name="doubt",
        variables=[Variable("S", ("a", "b")), Variable("X", ("0", "1")), Variable("V", ("0", "1")), *own],
        graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=outcome,
        arms=[Arm(name, table("V", ["X"], rows)) for name, rows in ARMS.items()],
        deployed="old",
        **given,
    )


def truths() -> tuple[np.ndarray, np.ndarray]:
    """μ_k at P(S) = ½, and ζ_k."""
    means = np.array(
        [[(CONTEXTS[s][:, None] * np.array(rows) * THETA).sum() for s in (0, 1)] for rows in ARMS.values()]
    )
    return means.mean(axis=1), means[:, 0] - means[:, 1]


def rows_of(n: int, seed: int, real: bool = False) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    x = (rng.random(n) < CONTEXTS[s, 1]).astype(int)
    v = (rng.random(n) < np.array(ARMS["old"])[x, 1]).astype(int)
    mean = THETA[x, v]
    y = rng.beta(4 * mean, 4 * (1 - mean)) if real else (rng.random(n) < mean).astype(float)
    return {"S": np.array(["a", "b"])[s], "X": x, "V": v, "Y": y, "id": np.arange(n)}


def lost(rows: dict[str, Any], share: float, seed: int) -> dict[str, Any]:
    """Outcomes get lost by what they are: the highest, mostly where the decision is 1."""
    rng = np.random.default_rng([seed, 1])
    high = rows["Y"] > np.quantile(rows["Y"], 0.4)
    chance = np.where(high, np.where(rows["V"] == 1, 3.0, 0.6), 0.05)
    chance *= share / chance.mean()
    return {**rows, "Y": np.where(rng.random(len(high)) < chance, np.nan, rows["Y"])}


def misses(found: Any) -> np.ndarray:
    """Usual and certified intervals that miss the truth, (2, outcomes and gaps, K)."""
    outcomes, gaps = truths()
    missed = np.zeros((2, 2, len(found.arms)), dtype=bool)
    for k, arm in enumerate(found.arms):
        for j, (number, true) in enumerate(((arm.outcome, outcomes[k]), (arm.gap, gaps[k]))):
            missed[0, j, k] = not number.low <= true <= number.high
            if number.certified_low is not None:
                missed[1, j, k] = not number.certified_low <= true <= number.certified_high
    return missed


# ---- missing outcomes ----


def test_missing_outcomes_bound_and_void_nothing() -> None:
    found = evaluate(problem(), lost(rows_of(3000, 1), 0.03, 1))
    (finding,) = found.findings
    assert (
        finding.name == "missing-outcomes" and not finding.blocks_certification and "wider by that" in finding.message
    )
    assert found.certified_by == (Bound.BETS,) and found.used + finding.rows == 3000
    assert found.missing is not None and found.missing.how == "worst" and found.missing.rows == finding.rows
    assert found.missing.share == pytest.approx(finding.rows / 3000)


def test_nothing_missing_leaves_everything_as_it_was() -> None:
    found = evaluate(problem(), rows_of(500, 2))
    assert found.missing is None and not found.findings and found.certified_by == (Bound.REGION, Bound.BETS)


def test_stated_to_be_missing_at_random_they_are_an_assumption() -> None:
    rows = lost(rows_of(3000, 1), 0.03, 1)
    found, worst = evaluate(problem(), rows, missing="at random"), evaluate(problem(), rows)
    assert found.missing is not None and found.missing.how == "at random"
    assert str(found.assumptions[0].code) == "missing-at-random-given-the-cell"
    assert found.certified_by == (Bound.REGION,)
    for arm, wide in zip(found.arms, worst.arms, strict=True):
        assert wide.outcome.low < arm.outcome.low and arm.outcome.high < wide.outcome.high
        assert arm.fair_probability == wide.fair_probability_at_random >= wide.fair_probability
        assert arm.best_probability == wide.best_probability_at_random >= wide.best_probability
    with pytest.raises(OptionError, match="'worst' or 'at random'"):
        evaluate(problem(), rows, missing="ignore")  # type: ignore[arg-type]


def test_whether_the_answer_needs_it_depends_on_how_many_are_missing() -> None:
    few, many = (evaluate(problem(), lost(rows_of(6000, 3), share, 3)) for share in (0.01, 0.25))
    assert few.arm == few.recommended == many.recommended == "new"
    assert few.recommended_probability == pytest.approx(1.0, abs=0.01)
    assert (many.status, many.arm, many.reasons) == ("UNDECIDED", None, ("missing-outcomes",))
    assert many.recommended_probability < 0.5 and many.decision.recommended_probability_at_random > 0.95
    assert evaluate(problem(), lost(rows_of(6000, 3), 0.25, 3), missing="at random").arm == "new"


def test_rows_whose_outcome_is_not_all_that_they_lack_void_as_before() -> None:
    rows = lost(rows_of(1000, 4), 0.05, 4)
    rows["arm"] = np.where(np.isnan(rows["Y"]) & (np.arange(1000) % 2 == 0), "nobody", "old")
    found = evaluate(problem(), rows, columns=LogMap(arm="arm"))
    assert (
        found.findings[0].name == "missing-outcomes"
        and found.findings[0].blocks_certification
        and found.certified_by is None
    )


@pytest.mark.parametrize("ids", [True, False])
def test_real_outcomes_are_bounded_with_a_pilot_and_without(ids: bool) -> None:
    rows = lost(rows_of(4000, 5, real=True), 0.03, 5)
    given = {"columns": LogMap(row_id="id")} if ids else {}
    found = evaluate(problem(real=True), rows, **given)
    assert found.certified_by == ((Bound.BETS,) if ids else (Bound.BERNSTEIN,))
    assert found.missing is not None and not misses(found).any()
    full = evaluate(problem(real=True), rows_of(4000, 5, real=True), law="estimated", **given)
    for arm, wide in zip(full.arms, found.arms, strict=True):
        assert wide.outcome.high - wide.outcome.low > arm.outcome.high - arm.outcome.low


def test_a_log_of_sparse_cells_is_bounded_by_both_completions() -> None:
    """60 states of X and 150 rows: arms are estimated doubly robustly."""
    rng = np.random.default_rng(6)
    states = tuple(map(str, range(60)))
    sparse = Problem(
        name="sparse",
        variables=[Variable("S", ("a", "b")), Variable("X", states, ordered=False), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "V"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        sensitive="S", decision="V", outcome=Outcome("Y", values=(0, 1)), tolerance=0.3, deployed="half",
        arms=[Arm("half", table("V", ["X"], [[0.5, 0.5]] * 60)), Arm("one", table("V", ["X"], [[0.1, 0.9]] * 60))],
    )  # fmt: skip
    y = rng.integers(0, 2, 150).astype(float)
    rows = {
        "S": np.array(["a", "b"])[rng.integers(0, 2, 150)],
        "X": rng.integers(0, 60, 150),
        "V": rng.integers(0, 2, 150),
    }
    full = evaluate(sparse, {**rows, "Y": y})
    found = evaluate(sparse, {**rows, "Y": np.where(np.arange(150) % 10 == 0, np.nan, y)})
    assert found.method == full.method == "doubly robust"
    assert found.missing is not None and found.arms[0].best_probability < found.arms[0].best_probability_at_random
    for arm, wide in zip(full.arms, found.arms, strict=True):
        assert wide.outcome.high - wide.outcome.low > arm.outcome.high - arm.outcome.low + 0.05


@pytest.mark.parametrize("ids", [True, False])
def test_rows_that_are_read_one_by_one_are_bounded_too(ids: bool) -> None:
    """With propensities: 10 % lost by their outcome, 20 logs of 1 500 rows. Certified bounds hold in all, usual ones in at least
    .9 of 120 (at .975 fewer with chance 1e-5)."""
    wrong = []
    for seed in range(20):
        rows = lost(rows_of(1500, 300 + seed), 0.1, seed)
        chance = np.array(ARMS["old"])[rows["X"], rows["V"]]
        columns = LogMap(propensity="p", row_id="id") if ids else LogMap(propensity="p")
        found = evaluate(problem(shares={"a": 0.5, "b": 0.5}), {**rows, "p": chance}, columns=columns, seed=seed)
        assert (
            found.certified_by == ((Bound.BETS,) if ids else (Bound.BERNSTEIN,))
            and not found.findings[0].blocks_certification
        )
        assert found.missing is not None and found.missing.rows == np.isnan(rows["Y"]).sum()
        wrong.append(misses(found))
    assert np.mean(np.array(wrong)[:, 0]) < 0.1 and not np.array(wrong)[:, 1].any()


def test_both_completions_of_rows_hold_what_all_outcomes_give() -> None:
    rows = rows_of(1500, 7)
    chance = np.array(ARMS["old"])[rows["X"], rows["V"]]
    gone = (rows["Y"] == 1) & (np.arange(1500) % 5 == 0)
    full, found = (
        evaluate(problem(), {**rows, "Y": y, "p": chance}, columns=LogMap(propensity="p", row_id="id"))
        for y in (rows["Y"], np.where(gone, np.nan, rows["Y"]))
    )
    for arm, wide in zip(full.arms, found.arms, strict=True):
        # what got lost was 1: upper ends stay, lower ones fall
        assert (
            wide.outcome.high == pytest.approx(arm.outcome.high, abs=0.01) and wide.outcome.low < arm.outcome.low - 0.05
        )
        assert wide.outcome.certified_high == pytest.approx(arm.outcome.certified_high, abs=0.02)


def test_intervals_hold_where_outcomes_are_missing_by_what_they_are() -> None:
    """10 % lost by their outcome, 60 logs of 1 500 rows: usual bounds hold in at least .93 of 360 (at .975, fewer with chance
    1e-5), certified ones all of them at once in all logs but 3 at most (at .05, more with chance .4; they are conservative); the
    plain interval, as if missing at random, does not hold: below .8."""
    bounded, naive = [], []
    for seed in range(60):
        rows = lost(rows_of(1500, 100 + seed), 0.1, seed)
        bounded.append(misses(evaluate(problem(), rows, seed=seed)))
        naive.append(misses(evaluate(problem(), rows, seed=seed, missing="at random"))[0])
    wrong = np.array(bounded)
    assert wrong[:, 0].mean() < 0.07 and wrong[:, 1].any(axis=(1, 2)).sum() <= 3
    assert np.array(naive)[:, 0].mean() > 0.2
