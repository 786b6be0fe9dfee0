"""Bets on rows read one by one: sums against plain loops, a pilot by ids alone, and intervals that hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from benchmarks.logs.worlds import heavy_weights

from fairarm import LogMap, Problem, evaluate
from fairarm.beliefs import row_bets, row_pilot
from fairarm.beliefs.certified import Bound
from fairarm.beliefs.logged_rows import believe_rows
from fairarm.beliefs.row_model import RowModel
from fairarm.beliefs.row_pilot import in_pilot
from fairarm.beliefs.row_sample import FirstPass
from fairarm.logs.ids import tickets
from fairarm.problem.pulls import Batch, LoggedRows
from row_passes import passes_over


def log_of(seed: int) -> tuple[Problem, dict[str, Any], np.ndarray, np.ndarray]:
    """A real input, heavy weights, 1 000 rows with ids; every arm's outcome and gap."""
    made = heavy_weights(np.random.default_rng(seed))
    return made.problem, {**made.columns, "id": np.arange(1000)}, made.outcomes, made.gaps


def coded(seed: int) -> tuple[Problem, dict[str, Any]]:
    """The same with outcomes as numbers."""
    problem, columns, _, _ = log_of(seed)
    return problem, {**columns, "Y": (columns["Y"] == "y1").astype(np.int64)}


@pytest.mark.parametrize("where", [{"propensity": "p"}, {"made_by": "logging"}])
def test_intervals_hold_and_are_narrower_with_ids(where: dict[str, str]) -> None:
    """30 logs, all arms at once at 95 %: more than 6 failures have probability below 1e-3; in fact there is none."""
    wrong, ratios = 0, []
    for seed in range(30):
        problem, columns, outcomes, gaps = log_of(seed)
        found = evaluate(problem, columns, columns=LogMap(row_id="id", **where))  # type: ignore[arg-type]
        if found.findings:  # one of these logs has weights that are off by chance
            continue
        assert found.certified_by == (Bound.BETS,)
        for arm, outcome, gap in zip(found.arms, outcomes, gaps, strict=True):
            wrong += not arm.outcome.certified_low <= outcome <= arm.outcome.certified_high
            wrong += not arm.gap.certified_low <= gap <= arm.gap.certified_high
        if seed < 5:
            before = evaluate(problem, columns, columns=LogMap(**where))  # type: ignore[arg-type]
            assert before.certified_by == (Bound.BERNSTEIN,)
            ratios += [
                (old.gap.certified_high - old.gap.certified_low) / (new.gap.certified_high - new.gap.certified_low)
                for old, new in zip(before.arms, found.arms, strict=True)
            ]
    assert wrong == 0 and min(ratios) > 1.05 and np.mean(ratios) > 1.6


def chunks(problem: Problem, columns: dict[str, Any], order: np.ndarray, propensity: bool) -> Iterator[LoggedRows]:
    """The rows in parts of 300, in this order."""
    codes = {"a": 0, "b": 1}
    s = np.array([codes[value] for value in columns["S"]])
    ticket = tickets(columns["id"])
    assert ticket is not None
    for start in range(0, len(order), 300):
        at = order[start : start + 300]
        held = {"S": s[at], "X": columns["X"][at], "V": columns["V"][at], "Y": columns["Y"][at]}
        arm = np.full(len(at), -1 if propensity else 0)
        batch = Batch(arm, np.zeros(len(at), dtype=np.int64), held, np.ones(len(at), dtype=np.int64))
        yield LoggedRows(batch, columns["p"][at] if propensity else None, ticket[at])


def test_sums_are_those_of_plain_loops() -> None:
    """With logged propensities a score is min(w, τ) Y: rows outside the pilot are summed, those of the pilot are not."""
    problem, columns = coded(3)
    found = believe_rows(problem, passes_over(lambda: chunks(problem, columns, np.arange(1000), True)), 0.05).bets
    assert found is not None
    ticket = tickets(columns["id"])
    assert ticket is not None
    pilot = in_pilot(ticket)
    assert 150 < pilot.sum() < 250
    delta = 0.9 * 0.05 / 16
    chance = np.exp(
        np.stack([a.mechanism.log_prob({"S": (columns["S"] == "b") * 1, **{k: columns[k] for k in "XV"}}) for a in problem.arms])
    )  # fmt: skip
    for t, group in enumerate("ab"):
        mine = columns["S"] == group
        rows = int((mine & ~pilot).sum())
        for k in range(4):
            w = chance[k] / columns["p"]
            level = min(max(math.sqrt(rows / math.log(1 / delta)) / 1.5, 1.0), max(w[mine & pilot].max(), 1.0))
            total = math.fsum(min(w[i], level) * columns["Y"][i] for i in np.flatnonzero(mine & ~pilot))
            square = math.fsum((min(w[i], level) * (1 - columns["Y"][i])) ** 2 for i in np.flatnonzero(mine & ~pilot))
            assert found.seen.rows[t] == rows
            assert found.seen.total[0, k, t] == pytest.approx(total)
            assert found.seen.square[1, k, t] == pytest.approx(square)
            seen = [min(w[i], level) * columns["Y"][i] for i in np.flatnonzero(mine & pilot)]
            assert found.pilot.mean[0, k, t] == pytest.approx(np.mean(seen))
            assert found.pilot.variance[0, k, t] == pytest.approx(np.var(seen))
    assert np.all(found.pilot.least == 0) and found.log_odds == pytest.approx(math.log(1 / delta))


def test_what_is_added_is_zero_over_decisions() -> None:
    """Where decisions are summed out, a score less what is added has the mean of min(w, τ) Y: by summing over them at every row."""
    problem, columns = coded(4)
    kept: dict[str, Any] = {}

    def weigher(model: RowModel, *given: Any) -> Any:
        made = plain_weigher(model, *given)
        kept["bets"] = made.bets
        return made

    plain_weigher = RowModel.weigher
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowModel, "weigher", weigher)
        found = believe_rows(problem, passes_over(lambda: chunks(problem, columns, np.arange(1000), False)), 0.05).bets
    assert found is not None
    bets = kept["bets"]
    s, x = (columns["S"] == "b").astype(int), columns["X"]
    for t in (0, 1):
        at = np.flatnonzero(s == t)[:50]
        law = np.stack(
            [np.exp(np.stack([a.mechanism.log_prob({"S": s[at], "X": x[at], "V": np.full(50, v)}) for a in problem.arms])) for v in (0, 1)],
            axis=1,
        )  # fmt: skip
        scores, plain = np.zeros((2, 4, 50)), np.zeros((2, 4, 50))
        for v in (0, 1):
            held = {"S": s[at], "X": x[at], "V": np.full(50, v)}
            c = np.minimum(law[:, v] / law[0, v], bets.level[:, t, None])
            for y in (0.0, 1.0):
                rows = row_bets.Decided(held, np.full(50, y), np.full(50, v), law, None)
                made = bets.scores(t, rows, np.full((1, 2), 0.5))
                assert np.all(made >= bets.least[:, :, t, None] - 1e-12)
                chance = law[0, v] * (0.3 if y else 0.7)  # of the logging arm's decision, and of an outcome
                scores += chance * made
                plain += chance * np.stack([c * y, c * (1 - y)])
        assert scores == pytest.approx(plain, abs=1e-12)


@pytest.mark.parametrize("states", [1, 2, 4, 5, 9])
def test_values_at_decisions_are_those_of_a_loop(states: int) -> None:
    rng = np.random.default_rng(states)
    for shape in ((states, 40), (3, states, 40)):
        values = rng.random(shape)
        for decided in (rng.integers(0, states, 40), np.full(40, states - 1)):
            found = row_bets.at_decision(values, decided)
            assert found.shape == (*shape[:-2], 40)
            for i in range(40):
                assert np.array_equal(found[..., i], values[..., decided[i], i])
    assert row_bets.at_decision(np.zeros((2, states, 0)), np.zeros(0, dtype=np.int64)).shape == (2, 0)


def test_the_order_of_rows_plays_no_part_and_the_pilot_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, columns = coded(5)
    monkeypatch.setattr(row_pilot, "MOST_KEPT", 60)
    found = []
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(1000)
        bets = believe_rows(problem, passes_over(lambda order=order: chunks(problem, columns, order, False)), 0.05).bets  # type: ignore[misc]
        assert bets is not None
        found.append(bets)
    assert found[0].seen.total == pytest.approx(found[1].seen.total, rel=1e-9)
    assert found[0].pilot.variance == pytest.approx(found[1].pilot.variance, rel=1e-9)
    first = FirstPass(problem)
    for part in chunks(problem, columns, np.arange(1000), True):
        first.add(part)
    pilot = first.pilot
    assert len(pilot.ticket) == 60 and pilot.usable


def test_without_an_id_for_every_row_there_is_no_pilot() -> None:
    problem, columns, _, _ = log_of(6)
    missing = {**columns, "id": [None, *range(999)]}
    for where, held in ((LogMap(propensity="p", row_id="id"), missing), (LogMap(propensity="p"), columns)):
        assert evaluate(problem, held, columns=where).certified_by == (Bound.BERNSTEIN,)
    counted = {**columns, "n": np.full(1000, 2)}
    found = evaluate(problem, counted, columns=LogMap(propensity="p", row_id="id", count="n"))
    assert found.certified_by == (Bound.BERNSTEIN,)  # a line of several rows would go into the pilot by what they hold
