"""Late, lost and surplus rows of certified runs, as a caller meets them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from fairarm import algorithm
from fairarm.algorithms import Algorithm, resume
from fairarm.algorithms.certificates import Certified
from fairarm.algorithms.cohort import divided
from fairarm.core.proof.bets import Brought, settle, teach
from fairarm.core.proof.losses import Lost
from fairarm.errors import DataError, OptionError
from fairarm.problem.pulls import Batch, Request
from fairarm.testing.checks import take, units
from four_arms import EASY, chain, world


def started(pulls: int = 400, confidence: float = 1 - 1e-9, **options: Any) -> Algorithm:
    return algorithm("pool", chain(**options), pulls=pulls, confidence=confidence)


def pulled(run: Algorithm, seed: int, plan: Request | None = None) -> Batch:
    rows = units(world(run.problem, EASY).pull(plan or run.ask(), np.random.default_rng(seed)))
    return take(rows, np.random.default_rng(seed).permutation(rows.size))


def with_phases(run: Algorithm, phases: int) -> Algorithm:
    for part in range(phases):
        run.tell(pulled(run, part), id=str(part))
    return run


def test_rows_are_divided_in_the_order_in_which_they_are_told():
    """By a loop over single rows, also where a line stands for several."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        size = int(rng.integers(0, 9))
        made = Batch(
            rng.integers(0, 3, size), rng.integers(0, 2, size), {"Y": np.arange(size)}, rng.integers(0, 4, size)
        )
        room = rng.integers(0, 4, (2, 3))
        within, beyond = divided(made, room)
        left, expected = room.copy(), np.zeros(size, dtype=int)
        for i in range(size):
            for _row in range(made.count[i]):
                if left[made.regime[i], made.arm[i]] > 0:
                    left[made.regime[i], made.arm[i]] -= 1
                    expected[i] += 1
        told = np.zeros(size, dtype=int)
        told[within.columns["Y"]] = within.count
        assert told.tolist() == expected.tolist()
        assert within.total + beyond.total == made.total and np.all(within.count > 0) and np.all(beyond.count > 0)


@pytest.mark.parametrize("lost", [None, "never", 3, "WORST", "Worst"])
def test_closing_a_certified_phase_needs_to_know_what_was_lost(lost: Any) -> None:
    run = with_phases(started(), 2)
    before = run.to_json()
    with pytest.raises(OptionError) as refused:
        run.close_phase(lost=lost)
    said = str(refused.value)
    assert all(choice in said for choice in ("lost='worst'", "lost='at random'", "'Y' (0, 1)")) and "\n" not in said
    assert run.to_json() == before


def test_other_runs_need_not_say() -> None:
    for options in ({}, {"confidence": 0.9, "stop": "bayes-stop"}):
        run = algorithm("pool", chain(), pulls=60, **options)
        run.close_phase()
        assert run.phase == 2 and run.verdict().notes == ()


def summed(certified: Certified, run: Algorithm, rows: Batch) -> tuple[np.ndarray, ...]:
    """rows (1, K, 2), n, y (1, C), natural (1, 2) of a batch of the chain, row by row."""
    K, _, C = certified.rule.law.shape
    made, n, y, natural = np.zeros((1, K, 2)), np.zeros((1, C)), np.zeros((1, C)), np.zeros((1, 2))
    for i in range(rows.size):
        t, v = int(rows.columns["S"][i]), int(rows.columns["V"][i])
        made[0, rows.arm[i], t] += 1
        n[0, v] += 1
        y[0, v] += int(rows.columns["Y"][i])
        natural[0, t] += rows.regime[i] == 0
    return made, n, y, natural


@pytest.mark.parametrize("lost", ["worst", "at random", "0", "1"])
def test_what_a_closed_phase_pays_is_what_the_core_says(lost: str) -> None:
    """Half of a phase comes. The books beside the run: the whole plan with its natural rows by the declared P(S), each lost row
    of unknown cell; or what came, where the rest was lost at random."""
    run = with_phases(started(), 3)
    certified = Certified.of(run.problem, 1e-9, estimated=False)
    ledger, plan = run.state.memory.ledger, run.ask().counts
    rows = pulled(run, 9)
    came = take(rows, slice(0, rows.size // 2))
    run.tell(came, id="half")
    missing = run.ask().counts.astype(float)
    assert missing.sum() == rows.size - rows.size // 2
    run.close_phase(lost=lost)
    made, n, y, natural = summed(certified, run, came)
    brought = Brought(made, n, y, natural)
    if lost != "at random":
        whole = plan[1:].T + plan[0][:, None] * np.array([0.4, 0.6])
        outcome = {"worst": None, "0": 0.0, "1": 1.0}[lost]
        by_arm = missing.sum(axis=0)[None]
        free, stated = (by_arm, None) if outcome is None else (np.zeros_like(by_arm), by_arm)
        brought = Brought(whole[None], n, y, natural, Lost(np.zeros_like(n), free, stated, outcome))
    expected = settle(certified.rule, ledger, brought, 0, np.zeros(1, dtype=int))
    books = run.state.memory
    np.testing.assert_allclose(books.labels, expected.labels, rtol=1e-9)
    np.testing.assert_allclose(books.beats, expected.accounts.beats, rtol=1e-9)
    rows = missing.sum()
    assert books.lost.tolist() == [{"worst": [rows, 0], "at random": [0, 0]}.get(lost, [0, rows])]
    note = run.verdict().notes[0]
    code = {"worst": "lost-rows-charged", "at random": "lost-at-random"}.get(lost, "not-told-means-a-state")
    assert (note.code, note.rows, note.state) == (code, missing.sum(), lost if lost in ("0", "1") else None)
    again = resume(run.problem, run.to_json())
    assert again.verdict() == run.verdict() and again.to_json() == run.to_json()


def test_the_worst_is_no_better_than_any_state() -> None:
    paid = {}
    for lost in ("worst", "0", "1"):
        run = with_phases(started(), 3)
        rows = pulled(run, 9)
        run.tell(take(rows, slice(0, rows.size // 2)), id="half")
        run.close_phase(lost=lost)
        paid[lost] = run.state.memory.labels
    assert np.all(paid["worst"] <= np.minimum(paid["0"], paid["1"]) + 1e-12)
    assert np.any(paid["worst"] < paid["1"] - 0.01) and np.any(paid["worst"] < paid["0"] - 0.01)


def test_natural_rows_cannot_be_charged_where_their_group_is_not_known() -> None:
    run = started(shares=None)
    with pytest.raises(OptionError, match=r"P\(S\) is not declared"):
        run.close_phase(lost="worst")
    run.close_phase(lost="at random")
    assert run.phase == 2


def test_rows_beyond_the_plan_teach_and_are_not_bet_on() -> None:
    """Told twice as many rows, in two orders of the surplus: the proof is that of the first ones, the estimates are of all."""
    plain, doubled = with_phases(started(), 2), with_phases(started(), 2)
    plan = plain.ask()
    rows = pulled(plain, 5)
    more = pulled(plain, 6, Request(plan.arms, plan.regimes, plan.counts))
    plain.tell(rows, id="rows")
    half = rows.size // 2
    doubled.tell(take(rows, slice(0, half)), id="first half")
    joined = Batch(
        np.append(rows.arm[half:], more.arm),
        np.append(rows.regime[half:], more.regime),
        {name: np.append(rows.columns[name][half:], more.columns[name]) for name in rows.columns},
        np.append(rows.count[half:], more.count),
    )
    doubled.tell(joined, id="the rest and more")
    assert doubled.pulls_made().sum() == plain.pulls_made().sum() + more.size
    ours, theirs = plain.state.memory, doubled.state.memory
    for name in ("labels", "broken", "beats", "fair", "natural"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert theirs.n.sum() == ours.n.sum() + more.size
    assert not np.array_equal(plain.info.outcomes, doubled.info.outcomes)
    assert resume(doubled.problem, doubled.to_json()).to_json() == doubled.to_json()


def test_surplus_that_waits_is_saved_and_counted() -> None:
    run = with_phases(started(), 1)
    rows = pulled(run, 5)
    unit = rows.arm * 3 + rows.regime
    one = np.flatnonzero(unit == unit[0])
    for i in itertools.count():
        if run.ask().counts[rows.regime[0], rows.arm[0]] == 0:
            break
        run.tell(take(rows, one), id=f"again {i}")
    run.tell(take(rows, one), id="surplus")
    before = run.pulls_made().sum()
    again = resume(run.problem, run.to_json())
    assert again.pulls_made().sum() == before and again.to_json() == run.to_json()
    for each in (run, again):
        each.tell(pulled(each, 8), id="rest")
    assert run.to_json() == again.to_json()


def test_a_late_row_belongs_to_the_phase_that_asked_for_it() -> None:
    run = with_phases(started(), 2)
    rows = pulled(run, 5)
    half = rows.size // 2
    run.tell(take(rows, slice(0, half)), id="in time")
    asked = run.phase
    run.close_phase(lost="worst")
    plan, books = run.ask().counts, run.state.memory
    run.tell(take(rows, slice(half, None)), id="late", phase=asked)
    assert np.array_equal(run.ask().counts, plan)
    certified = Certified.of(run.problem, 1e-9, estimated=False)
    fresh = pulled(run, 6)
    run.tell(fresh, id="next", phase=run.phase)
    made, n, y, natural = summed(certified, run, fresh)
    share = np.array([[(books.lost.sum() + 1) / (books.rows.sum() + 100), 0.0]])
    expected = settle(
        certified.rule, books.ledger, Brought(made, n, y, natural), 0, np.zeros(1, dtype=int), loss_share=share
    )
    late = summed(certified, run, take(rows, slice(half, None)))
    expected = teach(expected, *late[:3])
    np.testing.assert_allclose(run.state.memory.labels, expected.labels, rtol=1e-9)
    np.testing.assert_allclose(run.state.memory.n, expected.seen.n)
    np.testing.assert_allclose(run.state.memory.natural, expected.seen.natural)


@pytest.mark.parametrize("phase", [0, 3, -1, "2", 1.5, True])
def test_phases_that_are_not(phase: Any) -> None:
    run = with_phases(started(), 1)
    with pytest.raises(DataError, match="a phase from 1 to 2"):
        run.tell(pulled(run, 3), id="x", phase=phase)
