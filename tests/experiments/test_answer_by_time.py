"""Answers of logs whose rows have times: right at every look, missing outcomes charged, and nothing a longer log would change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.calibration.world_strata import with_causes

from fairarm import Arm, LogMap, Problem, Variable, evaluate, table
from fairarm.algorithms.certificates import Certified
from fairarm.beliefs.certified import Bound
from fairarm.experiments.answer_by_time import answer_by_time, timed_batches
from fairarm.logs.by_time import TimedRows, rows_by_time
from fairarm.logs.reading import LogReader
from fairarm.logs.sources import open_log
from fairarm.problem.pulls import Batch, Request
from fairarm.reports.words import certified_text, looks_text
from timed_log import ARMS, RATE, TIMED, problem, rows_of


def by_time(asked: Problem, columns: dict[str, Any], delta: float = 0.05) -> Any:
    reader = LogReader(asked, open_log(columns), TIMED)
    rows = rows_by_time(reader, 100)
    assert rows is not None
    return answer_by_time(asked, rows, delta, False)


def test_the_best_fair_arm_is_found_and_stays() -> None:
    columns = rows_of(3000, 1)
    found = evaluate(problem(), columns, columns=TIMED)
    assert (found.certified_status, found.certified_arm, found.looks) == ("FOUND", "new", "any")
    assert "however often you look" in str(looks_text(found)) and "new is the best fair arm" in certified_text(found)
    one = evaluate(problem(), columns, columns=LogMap(arm="arm"))
    assert one.looks == "one" and looks_text(one) == "What is certified holds for one look at this log."
    assert [arm.gap for arm in one.arms] == [arm.gap for arm in found.arms]  # intervals are the same


def test_batches_are_counted_as_loops_count_them() -> None:
    asked, columns = problem(), rows_of(400, 2)
    columns["Y"][::7] = None
    reader = LogReader(asked, open_log(columns), TIMED)
    rows = rows_by_time(reader, 100)
    assert rows is not None
    found = timed_batches(asked, Certified.of(asked, 0.05, False), rows)
    ends = [int(end) for end in found.ends]
    low = -1
    for b, end in enumerate(ends):
        at = [i for i in range(400) if low < i <= end]
        low = end
        for k, name in enumerate(ARMS):
            for t in (0, 1):
                assert found.rows[b, k, t] == sum(columns["arm"][i] == name and columns["S"][i] == t for i in at)
        for v in (0, 1):
            told = [columns["Y"][i] for i in at if columns["V"][i] == v and columns["Y"][i] is not None]
            assert (found.n[b, v], found.y[b, v]) == (len(told), sum(told))
            assert found.lost[b, v] == sum(columns["V"][i] == v and columns["Y"][i] is None for i in at)
    assert found.natural.sum() == ends[-1] + 1


def test_a_longer_log_makes_the_same_bets_on_earlier_batches() -> None:
    columns = rows_of(1500, 3)
    short, long = (by_time(problem(), {name: values[:n] for name, values in columns.items()}) for n in (500, 1500))
    assert long.batches.print_of(short.settled) == short.batches.print_of(short.settled)
    assert long.batches.print_of(short.settled) != long.batches.print_of(long.settled)
    changed = {name: values.copy() for name, values in columns.items()}
    changed["Y"][40] = 1 - changed["Y"][40]
    other = by_time(problem(), changed)
    assert other.batches.print_of(short.settled) != short.batches.print_of(short.settled)


def test_looking_after_every_batch_is_rarely_wrong() -> None:
    """'new' on the edge of the tolerance is not fair: looks along 30 logs, δ = 0.2. More than 13 wrong logs have
    probability below 1e-3 if the error is 0.2."""
    edge = abs(0.85 - 0.75) * (RATE[1] - RATE[0])
    asked = problem(tolerance=float(edge), arms=[Arm(name, table("V", ["S"], ARMS[name])) for name in ("old", "new")])
    wrong = 0
    for seed in range(30):
        columns = rows_of(700, 100 + seed)
        looks = [by_time(asked, {k: v[:n] for k, v in columns.items()}, 0.2) for n in (60, 150, 300, 700)]
        wrong += any(look.answer.arm == "new" or look.answer.status == "NO_FAIR_ARM" for look in looks)
    assert wrong <= 13


def test_outcomes_that_are_missing_for_a_reason_prove_nothing_wrong() -> None:
    """Where v = 1, most outcomes 0 of one group go missing. Left out, they would turn the answer; charged, they leave it open."""
    asked = problem(arms=[Arm(name, table("V", ["S"], ARMS[name])) for name in ("old", "unfair")], tolerance=0.1)
    columns = rows_of(4000, 5, np.array([0.45, 0.55]))
    rng = np.random.default_rng(6)
    columns["arm"] = np.array(["old"] * 4000)
    columns["V"] = rng.integers(0, 2, 4000)
    columns["Y"] = (rng.random(4000) < np.array([0.5, 0.5])[columns["V"]]).astype(int).astype(object)
    gone = (columns["V"] == 0) & (columns["Y"] == 0) & (rng.random(4000) < 0.6)
    kept = {name: values[~gone] for name, values in columns.items()}
    naive = by_time(asked, {**kept, "t": np.arange((~gone).sum())})
    assert naive.answer.arm == "old"  # proved that 'unfair' is no answer, which is wrong: both arms are alike
    columns["Y"][gone] = None
    charged = by_time(asked, columns)
    assert charged.answer.status == "UNDECIDED" and charged.missing > 500


def test_missing_outcomes_bound_intervals_and_are_charged_in_the_answer() -> None:
    columns = rows_of(4000, 7)
    columns["Y"][::200] = None
    found = evaluate(problem(), columns, columns=TIMED)
    assert found.certified_by == (Bound.BETS,) and found.certified_arm == "new" and found.looks == "any"
    assert "missing outcomes charged" in str(looks_text(found))
    faulty = {**columns, "V": columns["V"].copy()}
    faulty["V"][3] = 7
    assert evaluate(problem(), faulty, columns=TIMED).certified_status == "UNDECIDED"


def test_rows_without_a_time_void_the_answer() -> None:
    columns = rows_of(3000, 8)
    times = columns["t"].astype(float)
    times[5] = np.nan
    found = evaluate(problem(), {**columns, "t": times}, columns=TIMED)
    assert [finding.name for finding in found.findings] == ["rows-without-time"]
    assert found.certified_status == "UNDECIDED"


def test_a_law_that_no_truth_explains_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    import fairarm.experiments.answer_by_time as module

    original = module.certificate

    def void(*given: Any) -> Any:
        from dataclasses import replace

        return replace(original(*given), void=np.array([True]), answer=np.array([-2]))

    monkeypatch.setattr(module, "certificate", void)
    found = evaluate(problem(), rows_of(500, 9), columns=TIMED)
    assert "answers-contradict" in [finding.name for finding in found.findings] and found.certified_by is None


def test_an_adaptive_log_has_no_weighted_bounds() -> None:
    columns = rows_of(3000, 10)
    declared = evaluate(problem(), columns, columns=LogMap(arm="arm", time="t", adaptive=True))
    assert declared.certified_by == ("joint-region",) and declared.looks == "one"
    free = problem(graph=[("S", "X"), ("X", "V"), ("S", "V"), ("V", "Y")], variables=[Variable(n, ("0", "1")) for n in "SXVY"],
                   arms=[Arm("old", table("V", ["S", "X"], np.full((2, 2, 2), 0.5)))])  # fmt: skip
    columns = {**columns, "X": columns["S"], "arm": np.array(["old"] * 3000)}
    found = evaluate(free, columns, columns=LogMap(arm="arm", adaptive=True))
    assert found.certified_by is None and "log.adaptive" in certified_text(found)


def three_groups(n: int, seed: int) -> tuple[Problem, dict[str, Any]]:
    """Pairs within 0.2 of three groups, and rows of the first two arms: "unfair" ruins group 2 alone, the best is "new"."""
    law = {
        "old": [[0.5, 0.5]] * 3,
        "new": [[0.15, 0.85], [0.25, 0.75], [0.2, 0.8]],
        "unfair": [[0.05, 0.95]] * 2 + [[0.9, 0.1]],
    }
    shares, rng = (0.5, 0.3, 0.2), np.random.default_rng(seed)
    asked = problem(
        variables=[Variable("S", ("0", "1", "2")), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        arms=[Arm(name, table("V", ["S"], rows)) for name, rows in law.items()], shares=shares,
    )  # fmt: skip
    arm, s = rng.integers(0, 2, n), rng.choice(3, n, p=shares)
    v = (rng.random(n) > np.array([law["old"], law["new"]])[arm, s, 0]).astype(int)
    y = (rng.random(n) < RATE[v]).astype(int)
    return asked, {"arm": np.array(["old", "new"])[arm], "S": s, "V": v, "Y": y, "t": np.arange(n)}


def test_three_groups_are_answered_and_each_group_is_counted() -> None:
    asked, columns = three_groups(3000, 4)
    found = by_time(asked, columns)
    assert (found.answer.status, found.answer.arm) == ("FOUND", "new") and not found.void
    assert found.batches.natural.sum(axis=0) == pytest.approx(
        [np.sum(columns["S"][: found.rows] == t) for t in range(3)]
    )
    wider, _ = three_groups(1, 4)
    assert by_time(wider, columns).rule == found.rule
    other = Problem(**{**_parts(asked), "tolerance": 0.25})
    assert by_time(other, columns).rule != found.rule  # judged by something else: looks start anew


def _parts(of: Problem) -> dict[str, Any]:
    return {
        name: getattr(of, name)
        for name in ("name", "variables", "graph", "sensitive", "decision", "outcome", "arms", "shares")
    }


def test_rows_of_a_problem_with_causes_are_counted_by_label_and_by_whether_they_were_set() -> None:
    """Three batches of 200 pulls of each unit: natural rows at the last two places, set ones before; the answer is the truth's."""
    world = with_causes("timed", "set")
    asked = world.problem.with_tolerance(2.5 * (world.problem.rows[0].below or 0.0))
    plan = Request(asked.arm_names, asked.regimes, np.full((3, 3), 200))
    batch = world.pull(plan, np.random.default_rng(0))
    parts = [np.full(batch.size, b) for b in range(3)]
    three = Batch(*(np.tile(part, 3) for part in (batch.arm, batch.regime)), {name: np.tile(c, 3) for name, c in batch.columns.items()}, np.tile(batch.count, 3))  # fmt: skip
    rows = TimedRows(three, np.concatenate(parts), np.zeros(three.size, dtype=bool), None, ("1", "2", "3"), 0)
    found = answer_by_time(asked, rows, 0.05, False)
    assert found.batches.rows[0, 1].tolist()[:2] == [200, 200] and found.batches.rows[0, 1, 2:].sum() == 200
    assert found.batches.natural[:, :2].sum() == 0 and found.batches.natural.sum() == 3 * 600
    assert found.answer.arm == "arm-0" and not found.void
