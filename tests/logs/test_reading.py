"""Reading a log for a problem: what is used, what is left out, and under which name."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairarm import Arm, LogMap, Outcome, Problem, Unknown, Variable, evaluate, table
from fairarm.core.fairness import best_fair_arm
from fairarm.errors import DataError, ProblemError
from fairarm.logs.coding import ABSENT, UNDECLARED, Coder, numbers
from fairarm.logs.reading import LEFT_OUT, LogReader
from fairarm.logs.sources import open_log

BASE = Problem(
    name="base",
    variables=[Variable("S", ("a", "b")), Variable("V", ("no", "yes")), Variable("Y", ("0", "1"))],
    graph=[("S", "V"), ("V", "Y")],
    sensitive="S",
    decision="V",
    outcome=Outcome("Y", values=(0, 1)),
    tolerance=0.1,
    arms=[Arm("old", table("V", [], [0.5, 0.5])), Arm("new", table("V", ["S"], [[0.2, 0.8], [0.0, 1.0]]))],
    deployed="old",
)


def reader(columns: dict[str, Any], log: LogMap | None = None, problem: Problem = BASE) -> LogReader:
    return LogReader(problem, open_log(columns), log or LogMap())


def good(n: int = 4) -> dict[str, list[Any]]:
    return {"S": ["a", "b"] * (n // 2), "V": ["no", "yes"] * (n // 2), "Y": [0, 1] * (n // 2)}


def lines(found: LogReader) -> Counter[tuple[Any, ...]]:
    batch = found.cells().batch
    out: Counter[tuple[Any, ...]] = Counter()
    for i in range(batch.size):
        codes = tuple(int(batch.columns[name][i]) for name in found.problem.observed)
        out[int(batch.arm[i]), int(batch.regime[i]), *codes] += int(batch.count[i])
    return out


def test_rows_become_counts_of_codes() -> None:
    assert lines(reader(good())) == Counter({(0, 0, 0, 0, 0): 2, (0, 0, 1, 1, 1): 2})


def test_columns_labels_arms_and_regimes_are_mapped() -> None:
    log = LogMap(
        columns={"S": "sex", "Y": "won"},
        labels={
            "S": {"F": "a", "M": "b"},
            "Y": {"lost": "0", "won": "1"},
            "arm": {"B": "new"},
            "regime": {"": "natural"},
        },
        arm="policy",
        regime="how",
        count="n",
    )
    columns = {"sex": ["F", "M", "M"], "V": ["no", "yes", "yes"], "won": ["lost", "won", "won"]}
    columns |= {"policy": ["old", "B", "B"], "how": ["", "", "b"], "n": [3, 5, 7]}
    assert lines(reader(columns, log)) == Counter({(0, 0, 0, 0, 0): 3, (1, 0, 1, 1, 1): 5, (1, 2, 1, 1, 1): 7})


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("missing-outcomes", {"Y": [None, 1, 0, 1]}),
        ("undeclared-states", {"Y": [0, 1, 0, 7]}),
        ("undeclared-states", {"S": ["a", "b", "c", "b"]}),
        ("missing-values", {"V": ["no", None, "no", "yes"]}),
        ("unknown-arms", {"arm": ["old", "old", "lost", "old"]}),
        ("unknown-regimes", {"regime": ["natural", "sideways", "natural", "natural"]}),
        ("forced-rows-of-another-group", {"regime": ["b", "natural", "natural", "natural"]}),
    ],
)
def test_a_row_that_cannot_be_used_is_left_out_under_a_name(name: str, change: dict[str, list[Any]]) -> None:
    log = LogMap(arm="arm" if "arm" in change else None, regime="regime" if "regime" in change else None)
    found = reader({**good(), **change}, log)
    batch = found.cells().batch
    assert (found.rows, found.used, batch.total) == (4, 3, 3)
    (finding,) = found.findings()
    assert finding.name == name and finding.rows == 1 and "1 of 4 rows" in finding.message
    assert finding.blocks_certification == (LEFT_OUT[name][0] != "info")


def test_a_log_of_two_attributes() -> None:
    """A forced row has all the states that its regime names."""
    problem = Problem(
        name="two",
        variables=[Variable("R", ("x", "y", "z")), *BASE.variables.values()],
        graph=[("R", "S"), ("S", "V"), ("R", "V"), ("V", "Y")],
        sensitive=["S", "R"],
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm("old", table("V", ["S", "R"], np.full((2, 3, 2), 0.5)))],
        deployed="old",
        forced=["R=y", "S=a,R=z"],
    )
    columns = {
        "S": ["a", "b", "a", "b", "a"],
        "R": ["x", "y", "z", "z", None],
        "V": ["no", "yes", "no", "yes", "no"],
        "Y": [0, 1, 0, 1, 1],
        "how": ["natural", "R=y", "S=a,R=z", "S=a,R=z", "R=y"],
    }
    found = reader(columns, LogMap(regime="how"), problem)
    assert found.problem.observed == ("R", "S", "V", "Y")
    assert lines(found) == Counter({(0, 0, 0, 0, 0, 0): 1, (0, 1, 1, 1, 1, 1): 1, (0, 2, 2, 0, 0, 0): 1})
    left_out = {finding.name: finding for finding in found.findings()}
    assert {name: finding.rows for name, finding in left_out.items()} == {
        "forced-rows-of-another-group": 1,
        "missing-values": 1,
    }
    assert left_out["forced-rows-of-another-group"].examples == ("forced to S=a,R=z, holds b, z",)


def test_a_log_of_three_groups() -> None:
    """Labels, rows left out on purpose, regimes and counts go by each of them."""
    problem = replace(
        BASE,
        variables=[Variable("S", ("a", "b", "c")), *(v for k, v in BASE.variables.items() if k != "S")],
        groups=("c", "a", "b"),
        arms=[Arm(arm.name, table("V", [], [0.5, 0.5])) for arm in BASE.arms],
        shares=None,
    )
    columns = {"S": ["a", "x", "c", "U", "b"], "V": ["no", "yes", "no", "no", "yes"], "Y": [0, 1, 1, 0, 1]}
    columns |= {"how": ["natural", "c", "c", "natural", "natural"], "n": [2, 3, 5, 7, 11]}
    log = LogMap(labels={"S": {"x": "c"}}, drop={"S": ("U",)}, regime="how", count="n")
    found = reader(columns, log, problem=problem)
    batch = found.cells().batch
    assert (found.rows, found.used) == (28, 21) and [finding.name for finding in found.findings()] == ["rows-left-out"]
    group = np.array([problem.variables["S"].states[i] for i in batch.columns["S"]])  # type: ignore[index]
    assert {g: int(batch.count[group == g].sum()) for g in "abc"} == {"a": 2, "b": 11, "c": 8}
    assert {problem.regimes[r] for r in batch.regime[group == "c"]} == {"c"}


def test_examples_name_the_value() -> None:
    found = reader({**good(), "S": ["a", "martian", "a", "b"]})
    found.cells()
    assert found.findings()[0].examples == ("S = martian",)


def test_a_real_outcome_is_summed_and_checked() -> None:
    problem = replace(
        BASE, outcome=Outcome("Y", low=0, high=10), variables=[v for k, v in BASE.variables.items() if k != "Y"]
    )
    found = reader({**good(), "Y": [2.5, None, 5.0, 11.0]}, problem=problem)
    cells = found.cells()
    assert sorted(f.name for f in found.findings()) == ["missing-outcomes", "outcomes-out-of-range"]
    assert cells.batch.total == 2 and cells.sums is not None
    total, within, cubed = cells.sums.T
    assert total.sum() == pytest.approx(0.75, abs=1e-11)
    assert (within + total**2 / cells.batch.count).sum() == pytest.approx(
        0.25**2 + 0.5**2, abs=1e-11
    ) and not cubed.any()


@pytest.mark.parametrize("timestamps", [False, True])
@pytest.mark.parametrize("rows_too", [False, True])
def test_rows_that_are_not_due_wait_with_and_without_outcome(timestamps: bool, rows_too: bool) -> None:
    start = datetime(2026, 1, 1)
    times: list[Any] = [0.0, 50.0, 95.0, 100.0]
    if timestamps:
        times = [start + timedelta(seconds=t) for t in times]
    log = LogMap(time="at", outcome_within=10.0)
    found = reader({**good(), "Y": [0, 1, 1, None], "at": times}, log)
    total = sum(part.batch.total for part in found.chunks(3)) if rows_too else found.cells().batch.total
    assert total == 2
    (finding,) = found.findings()
    assert (finding.name, finding.rows, finding.blocks_certification) == ("outcomes-not-due", 2, False)


def test_rows_in_parts_are_the_same_rows() -> None:
    rng = np.random.default_rng(1)
    n = 500
    columns = {
        "S": rng.choice(["a", "b", "?"], n, p=[0.5, 0.4, 0.1]).tolist(),
        "V": rng.choice(["no", "yes"], n).tolist(),
        "Y": [None if r < 0.1 else int(r < 0.5) for r in rng.random(n)],
    }
    whole, parts = reader(columns), reader(columns)
    counted = lines(whole)
    seen: Counter[tuple[Any, ...]] = Counter()
    for part in parts.chunks(64):
        for i in range(part.batch.size):
            seen[0, 0, *(int(part.batch.columns[name][i]) for name in BASE.observed)] += 1
    assert seen == counted
    assert [(f.name, f.rows) for f in parts.findings()] == [(f.name, f.rows) for f in whole.findings()]
    assert (parts.rows, parts.used) == (whole.rows, whole.used) == (n, sum(counted.values()))
    before = parts.findings()
    assert sum(part.batch.total for part in parts.chunks(100)) == parts.used and parts.findings() == before


def test_propensities_are_checked_row_by_row() -> None:
    columns = {**good(6), "p": [0.5, 0.0, 1.5, None, 0.25, 1.0]}
    found = reader(columns, LogMap(propensity="p"))
    assert not found.countable
    assert [part.propensity.tolist() for part in found.chunks() if part.propensity is not None] == [[0.5, 0.25, 1.0]]
    assert [(f.name, f.rows) for f in found.findings()] == [("impossible-propensities", 3)]
    each = {**good(4), "p0": [0.5, 0.4, 0.2, 0.3], "p1": [0.5, 0.4, 0.8, 0.7]}
    found = reader(each, LogMap(propensities={"no": "p0", "yes": "p1"}))
    assert [part.propensity.tolist() for part in found.chunks() if part.propensity is not None] == [[0.5, 0.2, 0.7]]
    assert [(f.name, f.rows) for f in found.findings()] == [("propensities-do-not-sum", 1)]


def test_who_made_the_rows_must_be_said() -> None:
    with pytest.raises(DataError, match=r"log\.arm.*log\.made_by.*log\.propensity"):
        reader(good(), problem=replace(BASE, deployed=None))
    assert reader(good(), LogMap(made_by="new"), replace(BASE, deployed=None)).cells().batch.arm.tolist() == [1, 1]


def test_a_missing_column_is_named_with_the_way_out() -> None:
    with pytest.raises(DataError, match=r"no column 'V'.*log\.columns"):
        reader({"S": ["a"], "W": ["no"], "Y": [1]})


@pytest.mark.parametrize(
    "log",
    [
        {"columns": {"Z": "z"}},
        {"labels": {"S": {"F": "female"}}},
        {"arm": "a", "made_by": "old"},
        {"made_by": "unknown"},
        {"planned": {"old": 0.5, "new": 0.6}, "arm": "a"},
        {"planned": {"old": 0.5, "new": 0.5}},
        {"propensity": "p", "propensities": {"no": "p0", "yes": "p1"}},
        {"propensities": {"no": "p0"}},
        {"outcome_within": 3.0},
        {"time": "t", "outcome_within": -1.0},
    ],
)
def test_a_map_that_does_not_fit_the_problem_is_refused(log: dict[str, Any]) -> None:
    with pytest.raises(ProblemError):
        LogMap(**log).check(BASE)


def test_values_are_matched_to_states_as_they_are_written() -> None:
    coder = Coder(("1", "0.5", "true", "x"), {"one": "1"})
    assert [coder.code(v) for v in (1, 1.0, "1", "one", 0.5, True, "x ", None, float("nan"), "NA", "", "y", 2)] == [
        0, 0, 0, 0, 1, 2, 3, ABSENT, ABSENT, ABSENT, ABSENT, UNDECLARED, UNDECLARED,
    ]  # fmt: skip
    for values in ([1, 7, 1], [1.0, np.nan, 0.5], [True, False, True], ["1", None, "z"]):
        array = np.array(values, dtype=object if isinstance(values[0], str) else None)
        assert coder.codes(array).tolist() == [coder.code(v) for v in array.tolist()]
    assert np.isnan(numbers(np.array(["3", "x", None], dtype=object))).tolist() == [False, True, True]


def test_a_log_with_too_many_cells_is_read_by_rows() -> None:
    many = tuple(str(i) for i in range(3000))
    problem = Problem(
        name="wide",
        variables=[Variable("S", ("a", "b")), Variable("A", many), Variable("B", many), Variable("V", ("no", "yes")), Variable("Y", ("0", "1"))],
        graph=[("A", "V"), ("B", "V"), ("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm("old", Unknown("V", ("A", "B")))],
        deployed="old",
    )  # fmt: skip
    assert not reader({**good(), "A": ["1"] * 4, "B": ["2"] * 4}, problem=problem).countable


@pytest.mark.parametrize("tiny", [1e-160, 1e-20, 1e-5])
def test_a_propensity_that_cannot_be_is_left_out_and_voids(tiny: float) -> None:
    """Such a decision has probability below 1/(1000 rows): it used to be weighed, and to become NaN and an answer."""
    n = 400
    rng = np.random.default_rng(4)
    columns = {
        "S": ["a", "b"] * (n // 2),
        "V": rng.choice(["no", "yes"], n).tolist(),
        "Y": rng.integers(0, 2, n).tolist(),
    }
    found = evaluate(BASE, {**columns, "p": [0.5] * (n - 1) + [tiny]}, columns=LogMap(propensity="p"))
    assert all(np.isfinite(arm.outcome.value) and np.isfinite(arm.gap.value) for arm in found.arms)
    by_name = {f.name: f for f in found.findings}
    name = "incredible-propensities"
    assert (name in by_name) == (tiny < 1e-5) and (found.certified_by is None) >= (tiny < 1e-5)
    if tiny < 1e-5:
        assert by_name[name].rows == 1 and by_name[name].examples == (repr(tiny),) and found.used == n - 1


def test_lines_that_stand_for_many_rows_make_small_propensities_credible() -> None:
    columns = {**good(8), "p": [1 - 1e-5, 1e-5] * 4, "n": [4_000_000, 40] * 4}
    found = reader(columns, LogMap(propensity="p", count="n"))
    assert sum(part.batch.total for part in found.chunks(3)) == found.rows == 16_000_160
    assert not found.findings()
    few = reader({**good(4), "p": [0.5, 0.5, 0.5, 3e-4], "n": [0, 0, 1, 1]}, LogMap(propensity="p", count="n"))
    assert sum(part.batch.total for part in few.chunks()) == 1
    assert [(f.name, f.rows) for f in few.findings()] == [("incredible-propensities", 1)]


@pytest.mark.parametrize("counts", [[2**61] * 8, [1e19] + [100] * 7, [2**42 + 1] + [1] * 7, ["9" * 30] + ["1"] * 7])
@pytest.mark.parametrize("log", [LogMap(propensity="p", count="n"), LogMap(count="n")])
def test_counts_that_do_not_fit_are_refused(counts: list[Any], log: LogMap) -> None:
    """They used to overflow: 8 lines of 2^61 rows were none at all."""
    with pytest.raises(DataError, match=r"'n'.*4398046511104|2305843009213693952 not in range") as caught:
        evaluate(BASE, {**good(8), "p": [0.5] * 8, "n": counts}, columns=log)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("drop", [{}, {"S": ["U"]}])
@pytest.mark.parametrize("log", [LogMap(propensity="p", count="n"), LogMap(count="n")])
def test_rows_in_all_are_limited(log: LogMap, drop: dict[str, list[str]]) -> None:
    n = 2200
    columns = {**good(n), "p": [0.5] * n, "n": [2**42] * n}
    columns["S"] = ["a", "b", "U", "U"] * (n // 4) if drop else columns["S"]
    with pytest.raises(DataError, match=r"too large to be summed|more than 9007199254740992 rows"):
        evaluate(BASE, columns, columns=replace(log, drop=drop))


@pytest.mark.parametrize("count", [1.5, None, "x", -1])
def test_an_error_before_the_first_usable_row_is_said(count: Any) -> None:
    """It used to be hidden behind "no usable row"."""
    for log in (LogMap(propensity="p", count="n"), LogMap(count="n")):
        with pytest.raises(DataError, match=r"'n'.*whole number|'n'.*numbers are needed"):
            evaluate(BASE, {**good(40), "p": [0.5] * 40, "n": [count] * 40}, columns=log)


def test_percentages_are_named_as_the_cause() -> None:
    with pytest.raises(DataError, match=r"impossible-propensities.*a percentage is to be divided by 100.*50\.0"):
        evaluate(BASE, {**good(40), "p": [50.0] * 40}, columns=LogMap(propensity="p"))


def test_a_belief_that_is_not_finite_is_no_answer() -> None:
    finite = np.zeros((1, 5, 2))
    for spoiled in (np.nan, np.inf):
        wrong = finite.copy()
        wrong[0, 3, 1] = spoiled
        for outcomes, gaps in ((wrong, finite), (finite, wrong)):
            with pytest.raises(DataError, match="not a finite number"):
                best_fair_arm(outcomes, gaps, 0.1)


def test_examples_are_the_logs_own_values_and_short() -> None:
    found = reader({**good(), "S": ["a", "x" * 300, "a", "b"]})
    found.cells()
    (example,) = found.findings()[0].examples
    assert example.startswith("S = xxx") and len(example) <= 84 and example.endswith("…")


@pytest.mark.parametrize("rows_too", [False, True])
def test_rows_without_a_time_void_and_are_counted(rows_too: bool) -> None:
    times = ["2026-01-01T00:00:00+01:00", "2026-01-01T00:00:30+01:00", None, "31.1.2026"]
    found = reader({**good(), "at": times}, LogMap(time="at", outcome_within=10.0))
    total = sum(part.batch.total for part in found.chunks(3)) if rows_too else found.cells().batch.total
    assert total == 1
    assert {f.name: (f.rows, f.blocks_certification) for f in found.findings()} == {
        "missing-times": (2, True), "outcomes-not-due": (1, False),
    }  # fmt: skip
    assert found.findings()[0].examples == ("at = 31.1.2026",)


def test_offsets_from_utc_do_not_choose_a_group() -> None:
    """Group a writes its times in UTC, group b five hours behind: the same instants, so the same rows are due."""
    start = datetime(2026, 1, 1)
    instants = [start + timedelta(minutes=i) for i in range(0, 4000, 2)]
    texts = [f"{t.isoformat()}Z" for t in instants] + [
        f"{(t - timedelta(hours=5)).isoformat()}-05:00" for t in instants
    ]
    n = len(instants)
    columns = {"S": ["a"] * n + ["b"] * n, "V": ["no", "yes"] * n, "Y": [0, 1, 1, 0] * (n // 2), "at": texts}
    found = evaluate(BASE, columns, columns=LogMap(time="at", outcome_within=3600.0))
    assert {f.name: f.rows for f in found.findings if "time" in f.name or "due" in f.name} == {"outcomes-not-due": 60}
    assert [group.rows for group in found.observed] == [n - 30, n - 30]


REAL = replace(BASE, outcome=Outcome("Y", low=0, high=10), variables=[v for k, v in BASE.variables.items() if k != "Y"])


@pytest.mark.parametrize("rows_too", [False, True])
@pytest.mark.parametrize(
    ("written", "name", "message"),
    [
        ("3,5", "outcomes-not-numbers", "decimal point"),
        ("1,234.5", "outcomes-not-numbers", "between thousands"),
        ("12 %", "outcomes-not-numbers", "percentage"),
        ("twelve", "outcomes-not-numbers", "not a number"),
        ("1e999", "outcomes-not-numbers", "not a number"),
        ("12.5", "outcomes-out-of-range", "outside the declared range"),
        ("NaN", "missing-outcomes", "no outcome"),
    ],
)
def test_what_is_no_number_is_named_with_its_cause(written: str, name: str, message: str, rows_too: bool) -> None:
    found = reader({**good(), "Y": ["1", "2", written, " 3.5 "]}, problem=REAL)
    total = sum(part.batch.total for part in found.chunks(3)) if rows_too else found.cells().batch.total
    (finding,) = found.findings()
    assert (total, finding.name, finding.rows, finding.blocks_certification) == (3, name, 1, True)
    assert message in finding.message
    assert finding.examples == (() if name == "missing-outcomes" else (f"Y = {written}",))


def test_an_outcome_beyond_the_range_is_shown_as_it_is() -> None:
    found = reader({**good(), "Y": [1.0, 11.5, -0.0, float("inf")]}, problem=REAL)
    assert found.cells().batch.total == 2
    assert found.findings()[0].examples == ("Y = 11.5", "Y = inf")


@pytest.mark.parametrize("frame", [dict, pd.DataFrame])
def test_times_with_and_without_a_zone_in_one_column_are_an_error(frame: Any) -> None:
    times = [datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)] * 2
    columns = frame({**good(), "at": np.array(times, dtype=object)})
    with pytest.raises(DataError, match=r"'at'.*with a zone and times without"):
        reader(columns, LogMap(time="at", outcome_within=10.0)).cells()


def test_columns_called_like_our_own_are_refused() -> None:
    with pytest.raises(DataError, match=r"'fairarm_rows' cannot be used.*Rename it"):
        reader({**good(), "fairarm_rows": [1] * 4}, LogMap(count="fairarm_rows"))


@pytest.mark.parametrize(("bad", "level"), [(1, "blocks certification"), (2, "blocks the answer")])
def test_discarded_rows_of_all_kinds_together_block_the_answer_above_one_percent(bad: int, level: str) -> None:
    """199 rows with one bad arm is 0.5 %; with one undeclared state beside it, 1.005 %."""
    columns = {name: [values[0]] * 199 for name, values in good().items()} | {"arm": ["old"] * 199}
    columns["arm"][0] = "nobody"
    columns["S"][1] = columns["S"][1] if bad == 1 else "undeclared"
    found = reader(columns, LogMap(arm="arm"))
    found.cells()
    assert {str(finding.level) for finding in found.findings()} == {level}
