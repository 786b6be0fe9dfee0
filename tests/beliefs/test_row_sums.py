"""The two passes over a log: in any split and order, merged here or sent as bytes, the beliefs are the same to the bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairarm import Arm, Code, Constraint, Outcome, Problem, Variable, table
from fairarm.beliefs import row_pilot, row_sample, row_sums
from fairarm.beliefs.logged_rows import LoggedBeliefs, P, Passes, believe_rows
from fairarm.beliefs.row_sums import thirty_bits
from fairarm.core.mixing import mixed
from fairarm.core.packed import packed, unpacked
from fairarm.problem.pulls import Batch, LoggedRows

KINDS = ("propensities", "arms", "real outcome", "real decision", "three groups", "counts")


def soft(name: str, slope: float) -> Arm:
    def log_prob(columns: Any) -> Any:
        p = 1 / (1 + np.exp(-slope * columns["X"] - 0.3 * columns["S"]))
        return np.log(np.where(columns["V"] == 1, p, 1 - p))

    return Arm(name, Code("V", ("S", "X"), log_prob))


def normal(name: str, shift: float) -> Arm:
    return Arm(name, Code("V", ("X",), lambda c: -0.5 * (c["V"] - shift * c["X"]) ** 2 - 0.9))


def problem_of(kind: str) -> Problem:
    groups = ("a", "b", "c") if kind == "three groups" else ("a", "b")
    real_decision = kind == "real decision"
    arms = [normal("one", 0.0), normal("two", 0.4)] if real_decision else [
        Arm("even", table("V", [], [0.5, 0.5])), soft("soft", 0.7), soft("steep", -1.5),
    ]  # fmt: skip
    two = ("0", "1")
    return Problem(
        name=kind,
        variables=[
            Variable("S", groups), Variable("X", low=-4, high=4),
            Variable("V", low=-9, high=9) if real_decision else Variable("V", two),
            *([] if kind == "real outcome" else [Variable("Y", two)]),
        ],
        graph=[("S", "X"), ("S", "V"), ("X", "V"), ("V", "Y"), ("X", "Y"), ("S", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", low=0, high=1000) if kind == "real outcome" else Outcome("Y", values=(0, 1)),
        arms=arms,
        constraints=[Constraint.gap("a", "b", 0.1)] if kind != "three groups" else [Constraint.gap("a", "b", 0.1), Constraint.gap("a", "c", 0.2)],
        **({"shares": (0.2, 0.3, 0.5)} if kind == "three groups" else {}),
    )  # fmt: skip


def rows_of(kind: str, n: int, seed: int, repeated: bool) -> LoggedRows:
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 3 if kind == "three groups" else 2, n)
    x = rng.normal(size=n).round(1 if repeated else 12).clip(-4, 4)
    v = rng.normal(size=n) if kind == "real decision" else rng.integers(0, 2, n)
    y = rng.exponential(1, n).clip(0, 1000) if kind == "real outcome" else rng.integers(0, 2, n)
    count = rng.integers(0, 5, n) * rng.choice([1, 10**9], n) if kind == "counts" else np.ones(n, dtype=np.int64)
    arm = rng.integers(0, 2, n) if kind in ("arms", "three groups") else np.zeros(n, dtype=np.int64)
    batch = Batch(arm, rng.integers(0, 2, n) * 0, {"S": s, "X": x, "V": v, "Y": y}, count)
    propensity = rng.uniform(0.05, 1, n) if kind == "propensities" else None
    ids = mixed(rng.integers(0, n, n).astype(np.uint64))  # ids that come twice, too
    return LoggedRows(batch, propensity, None if kind == "counts" else ids)


def taken(rows: LoggedRows, at: np.ndarray) -> LoggedRows:
    propensity = None if rows.propensity is None else rows.propensity[at]
    return LoggedRows(rows.batch.take(at), propensity, None if rows.ticket is None else rows.ticket[at])


def in_parts(rows: LoggedRows, splits: list[np.ndarray], sent: bool) -> Passes:
    def passed(start: Callable[[], P], /) -> P:
        whole = start()
        for at in splits:
            part = start()
            for piece in np.array_split(at, 3):
                part.add(taken(rows, piece))
            if sent:
                whole.merge_arrays(unpacked(packed(part.arrays())))
            else:
                whole.merge(part)  # type: ignore[attr-defined]
        return whole

    return passed


def same(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray):
        return bool(np.array_equal(first, second, equal_nan=True))
    if isinstance(first, tuple):
        return all(same(a, b) for a, b in zip(first, second, strict=True))
    if hasattr(first, "__dataclass_fields__") and not isinstance(first, Problem):
        return all(same(getattr(first, f.name), getattr(second, f.name)) for f in fields(first))
    return isinstance(first, Problem) or first == second


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 2**31), parts=st.integers(1, 16), sent=st.booleans(), repeated=st.booleans(),
    least=st.sampled_from([1, 40, 2048]), few=st.sampled_from([0, 16]),
)  # fmt: skip
def test_any_split_and_order_gives_the_same_beliefs(
    kind: str, seed: int, parts: int, sent: bool, repeated: bool, least: int, few: int
) -> None:
    """Also where rows are in runs of one half of the sample and of one decision, however these are found."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_sample, "SAMPLE", 200)
        patch.setattr(row_pilot, "MOST_KEPT", 50)
        rows, problem, n = rows_of(kind, 900, seed, repeated), problem_of(kind), 900
        whole = believe_rows(problem, in_parts(rows, [np.arange(n)], False), 0.05)
        patch.setattr(row_sums, "LEAST_RUN", least)
        patch.setattr(row_sums, "FEW_KINDS", few)
        order = np.random.default_rng(seed + 1).permutation(n)
        split = believe_rows(problem, in_parts(rows, np.array_split(order, parts), sent), 0.05)
        for field in fields(LoggedBeliefs):
            assert same(getattr(split, field.name), getattr(whole, field.name)), field.name
        assert (whole.bets is None) == (kind == "counts")


def test_runs_are_of_one_group_half_and_decision() -> None:
    """Where rows are many enough for that and none is in both halves."""
    problem, n = problem_of("three groups"), 30_000
    rows = rows_of("three groups", n, 1, False)
    kept = {}

    def passed(start: Callable[[], P], /) -> P:
        found = start()
        found.add(rows)
        kept[type(found).__name__] = found
        return found

    believe_rows(problem, passed, 0.05)
    runs = row_sums.Runs.of(kept["WeighedRows"].weigher, rows)
    prints = row_sample.fingerprints(problem, rows)
    assert sorted(runs.order.tolist()) == list(range(n)) and len(runs.ends) == 12 and runs.ends[-1][2] == n
    seen = set()
    for group, start, end in runs.ends:
        at = runs.order[start:end]
        (decision,), (half,) = set(rows.batch.columns["V"][at]), set((prints[at] >> np.uint64(7)) % np.uint64(2))
        assert set(rows.batch.columns["S"][at]) == {group} and (start >= runs.turn) == bool(half)
        seen.add((group, int(decision), int(half)))
    assert len(seen) == 12


@pytest.mark.parametrize("kind", ["counts", "real outcome", "three groups"])
@pytest.mark.parametrize("forced", [False, True])
def test_rows_and_natural_outcomes_are_counted_by_group(kind: str, forced: bool) -> None:
    problem, rows = problem_of(kind), rows_of(kind, 300, 2, True)
    batch = replace(rows.batch, regime=np.arange(300) % 3 // 2 if forced else rows.batch.regime)
    first = row_sample.FirstPass(problem)
    first.add(replace(rows, batch=batch))
    found = first.sample()
    scale = 1000.0 if kind == "real outcome" else 1.0
    for t in range(len(problem.groups)):
        at = [i for i in range(300) if batch.columns["S"][i] == t]
        natural = [(int(batch.count[i]), batch.columns["Y"][i] / scale) for i in at if batch.regime[i] == 0]
        assert found.rows[t] == sum(int(batch.count[i]) for i in at)
        assert found.natural[t] == sum(n for n, _ in natural)
        assert found.natural_sums[t] == pytest.approx(sum(n * y for n, y in natural), rel=1e-12)
        assert found.natural_squares[t] == pytest.approx(sum(n * y * y for n, y in natural), rel=1e-12)


GRIDS = {
    "whole numbers": np.arange(40),
    "whole numbers as doubles": np.arange(-20.0, 20.0),
    "tenths": np.arange(40) / 10,
    "halves": np.arange(40) / 2,
    "powers of two": 2.0 ** np.arange(-20, 20),
    "large": np.arange(40) * 2**40,
}


@pytest.mark.parametrize("kind", list(GRIDS))
def test_rows_that_differ_have_fingerprints_that_do(kind: str) -> None:
    """Of all combinations of values that have few bits, or only high ones; and each bit is as often 0 as 1."""
    names = ("S", "V", "X")
    columns = dict(zip(names, (part.ravel() for part in np.meshgrid(*[GRIDS[kind]] * 3)), strict=True))
    columns["Y"] = np.zeros(40**3, dtype=np.int64)
    none = np.zeros(40**3, dtype=np.int64)
    found = row_sample.fingerprints(problem_of("arms"), LoggedRows(Batch(none, none, columns, none + 1)))
    assert len(np.unique(found)) == 40**3
    ones = np.array([np.mean(found >> np.uint64(b) & np.uint64(1)) for b in range(64)])
    assert np.all(np.abs(ones - 0.5) < 5 * 0.5 / 40**1.5)


def test_probabilities_keep_thirty_bits() -> None:
    rng = np.random.default_rng(1)
    p = np.concatenate([rng.random(1000) ** 9, [0.0, 0.5, 1.0]])
    found = thirty_bits(p.copy())
    assert np.all(np.abs(found - p) <= p * 2.0**-30) and np.array_equal(found[-3:], p[-3:])
    fraction, _ = np.frexp(found)
    assert np.array_equal(fraction * 2**30, np.floor(fraction * 2**30))
    nudged = np.nextafter(p, 1.0)
    assert np.mean(thirty_bits(nudged) != found) < 0.01
