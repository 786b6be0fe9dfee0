"""Bets on counted rows: every interval against plain loops over rows, and a pilot that does not look at what rows hold."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairarm import Arm, LogMap, Outcome, Problem, Variable, evaluate, table
from fairarm.beliefs.certified import Bound
from fairarm.beliefs.counted_bets import pilot_of, predictions
from fairarm.beliefs.evidence import CellEvidence
from fairarm.problem.pulls import batch

ARMS = {
    "old": [[[0.6, 0.4], [0.3, 0.7]], [[0.9, 0.1], [0.5, 0.5]]],
    "new": [[[0.1, 0.9], [0.8, 0.2]], [[0.2, 0.8], [0.6, 0.4]]],
}
"""P(V | S, X)."""
RATE = np.array([[0.1, 0.6], [0.3, 0.8]])


def problem(below: bool = False, **more: Any) -> Problem:
    two = ("0", "1")
    names = ["S", "X", "V", *(["Z"] if below else []), "Y"]
    after = [("S", "Z"), ("V", "Z"), ("Z", "Y")] if below else [("V", "Y")]
    given: dict[str, Any] = {"shares": (0.5, 0.5), "outcome": Outcome("Y", values=(0, 1))}
    given["variables"] = [Variable(name, two) for name in names]
    return Problem(
        name="two by two",
        graph=[("S", "X"), ("S", "V"), ("X", "V"), ("X", "Y"), *after],
        sensitive="S",
        decision="V",
        tolerance=0.2,
        arms=[Arm(name, table("V", ["S", "X"], rows)) for name, rows in ARMS.items()],
        **{**given, **more},
    )


def rows_of(n: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    arm = (rng.random(n) < 0.3).astype(int)
    s, x = rng.integers(0, 2, n), rng.integers(0, 2, n)
    law = np.array(list(ARMS.values()))[arm, s, x]
    v = (rng.random(n) > law[:, 0]).astype(int)
    y = (rng.random(n) < RATE[x, v]).astype(int)
    z = (rng.random(n) < 0.2 + 0.6 * v).astype(int)
    return {"arm": np.array(list(ARMS))[arm], "S": s, "X": x, "V": v, "Z": z, "Y": y, "id": np.arange(n)}


def plain_interval(x: list[float], least: float, variance: float, log_odds: float) -> float:
    """The smallest mean that is not refuted, by halving over plain loops."""
    low, high, n = 0.0, max(math.fsum(x) / len(x), 0.0), len(x)
    for _ in range(60):
        mean = (low + high) / 2
        stake = min(math.sqrt(2 * log_odds / (n * variance)), 0.9 / (mean - least))
        refuted = math.fsum(math.log(1 + stake * (value - mean)) for value in x) >= log_odds
        low, high = (mean, high) if refuted else (low, mean)
    return low


@pytest.mark.parametrize("below", [False, True])
def test_intervals_are_those_of_plain_loops(below: bool) -> None:
    """Lower end of the gap of arm 'new', and upper end of its outcome: weights, predictions, shifts and the bound, row by row."""
    asked = problem(below)
    rows = rows_of(900, 3)
    columns = {name: values for name, values in rows.items() if name not in ("id", *([] if below else ["Z"]))}
    found = evaluate(asked, columns, columns=LogMap(arm="arm"), seed=1)
    assert found.certified_by == (Bound.BETS,)
    counts = CellEvidence.empty(asked).add(batch(asked, columns)).by_state()
    pilot = pilot_of(counts)
    sizes = counts.shape
    cells = [(a, t, c, y, int(counts[a, t, c, y]), int(pilot[a, t, c, y])) for a, t, c, y in np.ndindex(*sizes)]
    split = (lambda c: (c // 4, c // 2 % 2)) if below else (lambda c: (c // 2, c % 2))  # cell -> x, v

    sums: dict[Any, float] = {}
    made: dict[Any, float] = {}
    for a, t, c, y, n, p in cells:
        key = (t if below else 0, *split(c))  # below V, what a cell says of the outcome differs by group
        sums["n", key] = sums.get(("n", key), 0.0) + p
        sums["y", key] = sums.get(("y", key), 0.0) + p * y
        made[a, t] = made.get((a, t), 0.0) + n - p
    law = np.array(list(ARMS.values()))
    n_t = [made[0, t] + made[1, t] for t in (0, 1)]
    N, delta = sum(n_t), 0.05 / 8
    log_odds = math.log(1 / delta)

    def m(t: int, x: int, v: int) -> float:
        key = (t if below else 0, x, v)
        return (sums["y", key] + 0.5) / (sums["n", key] + 1)

    def c(t: int, x: int, v: int) -> tuple[float, float]:
        q = sum(made[a, t] / n_t[t] * law[a, t, x, v] for a in (0, 1))
        return q, min(law[1, t, x, v] / q, max(math.sqrt(n_t[t] / log_odds) / 1.5, 1.0))

    def score(kind: int, t: int, x: int, v: int, y: int) -> float:
        added = sum(np.prod(c(t, x, u)) * (m(t, x, u) if kind == 0 else 1 - m(t, x, u)) for u in (0, 1))
        return (1 - 2 * kind) * c(t, x, v)[1] * (y - m(t, x, v)) + float(added)

    def bound(kinds: tuple[int, int], factor: tuple[float, float]) -> float:
        bet, seen, least = ([[], []], [[], []], [])  # type: ignore[var-annotated]
        for _, t, cell, y, n, p in cells:
            value = factor[t] * score(kinds[t], t, *split(cell), y)
            bet[t] += [value] * (n - p)
            seen[t] += [value] * p
        mean = [math.fsum(part) / len(part) for part in seen]
        variance = sum(n_t[t] / N * math.fsum((v - mean[t]) ** 2 for v in seen[t]) / len(seen[t]) for t in (0, 1))
        centre = sum(n_t[t] / N * mean[t] for t in (0, 1))
        for t in (0, 1):
            lowest = min(score(kinds[t], t, x, v, y) for x in (0, 1) for v in (0, 1) for y in (0, 1))
            least.append(factor[t] * min(lowest, 0.0) + centre - mean[t])
        return plain_interval([v + centre - mean[t] for t in (0, 1) for v in bet[t]], min(least), variance, log_odds)

    spread = (N / n_t[0], N / n_t[1])
    arm = found.arms[1]
    assert arm.gap.certified_low == pytest.approx(bound((0, 1), spread) - 1, abs=1e-7)
    half = (spread[0] / 2, spread[1] / 2)
    assert arm.outcome.certified_high == pytest.approx(1 - bound((1, 1), half), abs=1e-7)


def test_the_pilot_is_a_fifth_of_every_kind_of_row_and_always_the_same() -> None:
    counts = np.random.default_rng(1).integers(0, 4000, (3, 2, 5, 2))
    pilot = pilot_of(counts)
    assert np.array_equal(pilot, pilot_of(counts)) and np.all((pilot >= 0) & (pilot <= counts))
    off = (pilot - 0.2 * counts) / np.sqrt(0.16 * np.maximum(counts, 1))
    assert np.abs(off).max() < 5 and 0.5 < np.std(off) < 1.6


def test_predictions_share_groups_unless_the_group_acts_on_the_outcome() -> None:
    rows, sums = np.array([[4.0, 0, 0, 0], [2, 0, 0, 0]]), np.array([[4.0, 0, 0, 0], [0, 0, 0, 0]])
    context, shared = predictions(problem(), rows, sums)
    assert context.tolist() == [0, 0, 1, 1]
    assert shared[:, 0].tolist() == pytest.approx([4.5 / 7, 4.5 / 7]) and shared[:, 1:].max() == 0.5
    direct = replace(problem(), graph=[*problem().graph.edges, ("S", "Y")])
    _, apart = predictions(direct, rows, sums)
    assert apart[:, 0].tolist() == pytest.approx([4.5 / 5, 0.5 / 3])


def test_a_real_outcome_has_bets_where_rows_have_ids_and_holds() -> None:
    """Sums by cell, the pilot by ids: narrower than the bound of all sums, and the truth lies within, all arms of 40 logs."""
    two = ("0", "1")
    asked = problem(outcome=Outcome("Y", low=0, high=10), variables=[Variable(name, two) for name in ("S", "X", "V")])
    law, wrong = np.array(list(ARMS.values())), 0
    means = 10 * np.einsum("ksxv,xv->ks", law, RATE) / 2
    for seed in range(40):
        rows = rows_of(2500, seed)
        rng = np.random.default_rng(seed)
        rows["Y"] = np.clip(10 * RATE[rows["X"], rows["V"]] + rng.normal(0, 0.8, 2500), 0, 10)
        truth = means  # clipping moves a mean by less than 0.05
        without, found = (evaluate(asked, rows, columns=LogMap(arm="arm", row_id=ids)) for ids in (None, "id"))
        assert without.certified_by == (Bound.BERNSTEIN,) and found.certified_by == (Bound.BETS,)
        for k, arm in enumerate(found.arms):
            gap, other = arm.gap, without.arms[k].gap
            assert gap.certified_high - gap.certified_low < 0.6 * (other.certified_high - other.certified_low)
            wrong += not gap.certified_low - 0.1 <= truth[k, 0] - truth[k, 1] <= gap.certified_high + 0.1
    assert wrong == 0
    text = {**rows, "id": [f"row {i}" for i in range(2500)]}
    assert evaluate(asked, text, columns=LogMap(arm="arm", row_id="id")).certified_by == (Bound.BERNSTEIN,)
