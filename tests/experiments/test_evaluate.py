"""Answers from logs: against truths, against plain loops over rows, and never certified where a finding stands."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind

from fairarm import (
    Arm,
    Constraint,
    LogMap,
    Outcome,
    Problem,
    Unknown,
    Variable,
    algorithm,
    evaluate,
    load_problem,
    table,
)
from fairarm.beliefs import cells
from fairarm.beliefs.beliefs import support_of
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.certified import Bound, Certificate, decision_law
from fairarm.beliefs.evidence import CellEvidence, SumEvidence
from fairarm.beliefs.findings import Level
from fairarm.beliefs.standing import Standing
from fairarm.core.posterior.states import SCALES
from fairarm.core.proof.log_intervals import cut_level, cut_sums
from fairarm.core.proof.region import Intervals, narrowed
from fairarm.errors import DataError, OptionError
from fairarm.experiments.evaluate import is_supported
from fairarm.problem.answer import Answer, Status
from fairarm.problem.pulls import Request, batch
from fairarm.reports.words import certified_text, sentence
from quick import quick

MECHANISMS = {
    "old": [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]],
    "new": [[0.1, 0.1, 0.8], [0.7, 0.2, 0.1]],
    "even": [[1 / 3] * 3] * 2,
}
CONTEXTS = np.array([[0.7, 0.3], [0.4, 0.6]])
THETA = np.array([[0.1, 0.5, 0.9], [0.8, 0.2, 0.3]])


def problem(**more: Any) -> Problem:
    given: dict[str, Any] = {
        "arms": [Arm(name, table("V", ["X"], rows)) for name, rows in MECHANISMS.items()],
        "mechanisms": [table("X", ["S"], CONTEXTS)],
        "deployed": "old",
        "tolerance": 0.2,
    }
    return Problem(
        name="small",
        variables=[Variable("S", ("a", "b")), Variable("X", ("0", "1")), Variable("V", ("0", "1", "2")), Variable("Y", ("0", "1"))],
        graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        **{**given, **more},
    )  # fmt: skip


def truths() -> tuple[np.ndarray, np.ndarray]:
    """μ_k for P(S) = ½ and ζ_k by summing by hand."""
    means = []
    for rows in MECHANISMS.values():
        means.append(
            [sum(CONTEXTS[s, x] * rows[x][v] * THETA[x, v] for x in (0, 1) for v in (0, 1, 2)) for s in (0, 1)]
        )
    found = np.array(means)
    return found.mean(axis=1), found[:, 0] - found[:, 1]


def rows_of(n: int, seed: int, mechanism: str = "old") -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 2, n)
    x = (rng.random(n) < CONTEXTS[s, 1]).astype(np.int64)
    law = np.array(MECHANISMS[mechanism])[x]
    v = (rng.random(n)[:, None] > np.cumsum(law, axis=1)[:, :2]).sum(axis=1)
    y = (rng.random(n) < THETA[x, v]).astype(np.int64)
    return {"S": np.array(["a", "b"], dtype=object)[s], "X": x, "V": v, "Y": y}


def test_a_long_log_finds_every_truth() -> None:
    found = evaluate(problem(), rows_of(200_000, 1))
    outcomes, gaps = truths()
    for arm, mu, zeta in zip(found.arms, outcomes, gaps, strict=True):
        assert arm.outcome.value == pytest.approx(mu, abs=0.006) and arm.gap.value == pytest.approx(zeta, abs=0.006)
        assert arm.outcome.certified_low <= mu <= arm.outcome.certified_high
        assert arm.gap.certified_low <= zeta <= arm.gap.certified_high
        assert arm.support == "yes" and arm.outcome.certified_low < arm.outcome.low < arm.outcome.high
    fair = np.abs(gaps) < 0.2
    best = list(MECHANISMS)[int(np.argmax(np.where(fair, outcomes, -1)))]
    assert found.arm == found.certified_arm == best and found.certified_status == "FOUND"
    assert [arm.certified_fair for arm in found.arms] == fair.tolist()
    assert found.findings == () and found.not_certified == () and found.used == found.rows == 200_000


def test_no_arm_is_fair_when_none_is() -> None:
    found = evaluate(problem(tolerance=0.001), rows_of(100_000, 2))
    _, gaps = truths()
    assert np.all(np.abs(gaps) > 0.02)
    assert found.status == found.certified_status == "NO_FAIR_ARM" and found.arm is None


def test_it_is_what_pool_believes_after_the_same_rows() -> None:
    asked, rows = problem(), rows_of(500, 3)
    run = algorithm("pool", asked, pulls=10_000)
    run.tell(batch(asked, {**rows, "arm": ["old"] * 500}), id="log")
    found, beliefs = evaluate(asked, rows), run.beliefs()
    assert isinstance(beliefs, CellBeliefs)
    assert beliefs.scales == SCALES and isinstance(found.evidence.beliefs, CellBeliefs)
    outcomes, gaps = beliefs.draw(np.random.default_rng(0), 4000)
    assert [arm.outcome.value for arm in found.arms] == pytest.approx(outcomes[0].mean(axis=0).tolist(), abs=1e-12)
    assert [arm.gap.value for arm in found.arms] == pytest.approx(gaps[0].mean(axis=0).tolist(), abs=1e-12)


def test_few_rows_with_several_outcome_states() -> None:
    """The odds that save pulls in a run held the gap of the unfair arm in 6 of these 12 logs; each log misses with chance 0.08."""
    scenario = load_problem("ad-marketplace")
    asked, world = scenario.problem, scenario.world
    assert world is not None
    counts = np.zeros((len(asked.regimes), len(asked.arms)), dtype=np.int64)
    counts[0, 0] = 100
    held = 0
    for seed in range(12):
        rows = world.pull(Request(asked.arm_names, asked.regimes, counts), np.random.default_rng([100, seed]))
        gap = evaluate(asked, rows, seed=seed).arms[asked.arm_index("by-sex")].gap
        assert gap is not None
        held += gap.low <= -1.185 <= gap.high
    assert held >= 10


def money(low: float, high: float, y: np.ndarray, **more: Any) -> tuple[Problem, dict[str, Any]]:
    """The small problem with a real outcome, and rows of it."""
    finite = {name: v for name, v in problem().variables.items() if name != "Y"}
    rows = rows_of(len(y), 7)
    old = np.array(MECHANISMS["old"])[np.asarray(rows["X"]), np.asarray(rows["V"])]
    asked = replace(problem(), outcome=Outcome("Y", low=low, high=high), variables=finite, tolerance=6.0)
    return asked, {**rows, "Y": 40 * THETA[rows["X"], rows["V"]] + y, "p": old}


@pytest.mark.parametrize("propensity", [None, "p"])
@pytest.mark.parametrize("rows", [40, 1500])
def test_the_declared_range_of_a_real_outcome_plays_no_part(propensity: str | None, rows: int) -> None:
    """Cells and rows one by one: values, intervals, probabilities and status are the same with a range 10^6 times as wide."""
    noise = 30 + 12 * np.random.default_rng(3).normal(size=rows)

    def numbers(low: float, high: float) -> tuple[Any, np.ndarray]:
        asked, log = money(low, high, noise)
        found = evaluate(asked, log, columns=LogMap(propensity=propensity) if propensity else None)
        kept = [
            (a.outcome.value, a.outcome.low, a.outcome.high, a.gap.value, a.gap.low, a.gap.high, a.fair_probability)
            for a in found.arms
        ]  # type: ignore[union-attr]
        return (found.status, found.arm), np.array(kept)

    status, narrow = numbers(-40, 120)
    for low, high in ((-40, 1.6e4), (-40, 1.6e6), (-40, 1.6e8), (-1.6e8, 1.6e8)):
        other, wide = numbers(low, high)
        assert other == status
        np.testing.assert_allclose(wide, narrow, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("propensity", [None, "p"])
def test_an_outcome_decided_by_few_rows_blocks_the_answer(propensity: str | None) -> None:
    rng = np.random.default_rng(4)
    columns = LogMap(propensity=propensity) if propensity else None
    quiet = {"normal": 12 * rng.normal(size=4000), "counts": rng.negative_binomial(4, 0.2, 6000).astype(float)}
    heavy = {
        "pareto": np.minimum(10 * rng.pareto(1.6, 4000), 1e5),
        "lognormal": np.exp(2 * rng.normal(size=4000)),
        "mostly zero": (rng.random(2000) < 0.05) * np.exp(4 + rng.normal(size=2000)),
        "constant": np.zeros(300) - 40 * THETA[rows_of(300, 7)["X"], rows_of(300, 7)["V"]],
    }
    for kinds, fires in ((quiet, False), (heavy, True)):
        for name, y in kinds.items():
            asked, log = money(-1e3, 2e5, y)
            found = evaluate(asked, log, columns=columns)
            assert [f.name for f in found.findings if f.blocks_answer] == ["heavy-tailed-outcome"] * fires, name


def test_memory_is_not_taken_for_too_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "MOST_BYTES", 1e8)
    with pytest.raises(
        DataError, match=r"^Problem 'small' has 6 cells, which would take some 0.2 GB of memory; at most 0.1 GB"
    ):
        evaluate(problem(), rows_of(100, 1))


def test_draws_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of 7 draws after the other: the values differ by the error of 4 000 draws alone."""
    whole = evaluate(problem(), rows_of(500, 1))
    monkeypatch.setattr(cells, "BLOCK", 6 * 7)
    for arm, other in zip(whole.arms, evaluate(problem(), rows_of(500, 1)).arms, strict=True):
        sd = (arm.outcome.high - arm.outcome.low) / 3.92
        assert 0 < abs(other.outcome.value - arm.outcome.value) < 5 * sd * math.sqrt(2 / 4000)


def test_cut_sums_of_cells_are_sums_over_rows() -> None:
    asked, rows = problem(), rows_of(300, 4)
    arms = np.array(["old", "even"], dtype=object)[np.random.default_rng(4).integers(0, 2, 300)]
    made = CellEvidence.empty(asked).add(batch(asked, {**rows, "arm": arms})).by_group()
    found = cut_sums(decision_law(asked), made, 0.01)
    for t, group in enumerate("ab"):
        mine = [i for i in range(300) if rows["S"][i] == group]
        share = sum(arms[i] == "old" for i in mine) / len(mine)
        level = float(cut_level(np.array(float(len(mine))), 0.01))
        for k, law in enumerate(MECHANISMS.values()):
            expected = np.zeros(5)
            for i in mine:
                x, v, y = rows["X"][i], rows["V"][i], float(rows["Y"][i])
                q = share * MECHANISMS["old"][x][v] + (1 - share) * MECHANISMS["even"][x][v]
                c = min(law[x][v] / q, level)
                expected += [c, c * y, c * c, c * c * y, c * c * y * y]
            assert found.sums[:, k, t] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("how", quick(["rows", "counts", "real outcome"], 1))
def test_certified_intervals_hold_for_all_arms_at_once(how: str) -> None:
    """60 logs; with an error of 5 % more than 9 failures have probability below 1e-3. The bounds are in fact much safer."""
    outcomes, gaps = truths()
    asked = problem()
    if how == "real outcome":
        finite = {name: v for name, v in asked.variables.items() if name != "Y"}
        asked = replace(asked, outcome=Outcome("Y", low=0, high=1), variables=finite)
    where = LogMap(propensity="p") if how == "rows" else LogMap()
    wrong = 0
    for seed in range(60):
        rows = rows_of(300, seed)
        rows["p"] = np.array(MECHANISMS["old"])[rows["X"], rows["V"]]
        found = evaluate(asked, rows, columns=where)
        wrong += not all(
            arm.outcome.certified_low <= mu <= arm.outcome.certified_high and arm.gap.certified_low <= zeta <= arm.gap.certified_high
            for arm, mu, zeta in zip(found.arms, outcomes, gaps, strict=True)
        )  # fmt: skip
    assert wrong <= 9


def test_a_declared_law_adds_a_second_kind_of_bound() -> None:
    rows = rows_of(2000, 5)
    by_weights = evaluate(problem(), rows)
    free = problem(context=None, mechanisms=[])
    assert by_weights.certified_by == (Bound.REGION, Bound.BETS)
    assert evaluate(free, rows).certified_by == (Bound.BETS,)


def test_findings_that_void_leave_nothing_certified() -> None:
    rows = rows_of(100_000, 6)
    rows["Y"][:3] = 2
    found = evaluate(problem(), rows)
    assert [f.name for f in found.findings] == ["undeclared-states"] and found.used == 99_997
    assert found.certified_status == "UNDECIDED" and found.certified_arm is None and found.certified_by is None
    assert [sentence(said) for said in found.not_certified] == ["the log has the finding 'undeclared-states'"]
    assert all(arm.outcome.certified_low is None and arm.certified_fair is None for arm in found.arms)
    assert found.arm is not None


def test_rows_of_another_rule_are_noticed() -> None:
    found = evaluate(problem(), rows_of(5000, 7, "new"))
    assert "decisions-do-not-fit" in [f.name for f in found.findings] and found.not_certified
    never = problem(arms=[Arm("old", table("V", [], [0.5, 0.5, 0.0])), Arm("even", table("V", [], [1 / 3] * 3))])
    rows = rows_of(5000, 7)
    with pytest.raises(
        DataError, match=r"rows have decisions that rule old never makes\. Which rule made each row\? Set log\.arm\.$"
    ):
        evaluate(never, rows)
    for few, level in (
        (200, Level.BLOCKS_ANSWER),
        (20, Level.BLOCKS_CERTIFICATION),
    ):  # above 1 % of the rows, and below
        kept = np.sort(np.r_[np.flatnonzero(rows["V"] < 2), np.flatnonzero(rows["V"] == 2)[:few]])
        found = evaluate(never, {name: values[kept] for name, values in rows.items()})
        impossible = next(f for f in found.findings if f.name == "impossible-rows")
        assert (impossible.rows, impossible.level) == (few, level) and "V = 2" in impossible.examples[0]
        assert ("impossible-rows" in found.reasons) == (level == Level.BLOCKS_ANSWER)


def test_a_fitted_arm_is_said_and_not_certified() -> None:
    asked = problem()
    arms = [Arm("old", Unknown("V", ("X",))), *asked.arms[1:]]
    found = evaluate(problem(arms=arms), rows_of(50_000, 8))
    outcomes, _ = truths()
    assert found.arms[0].fitted and found.arms[0].outcome.certified_low is None
    assert found.arms[0].outcome.value == pytest.approx(outcomes[0], abs=0.02)
    assert found.fitted[0].arm == "old" and any(
        "fitted from 50000 rows" in sentence(said) for said in found.assumptions
    )
    assert found.arms[1].outcome.certified_low is not None  # the law is declared: the region needs no logging mechanism
    free = evaluate(problem(arms=arms, mechanisms=[]), rows_of(50_000, 8))
    assert free.certified_by is None and "was fitted from them" in sentence(free.not_certified[0])


def test_a_group_without_rows_is_not_spoken_for_where_nothing_is_declared() -> None:
    rows = rows_of(4000, 9)
    group = np.asarray(rows["S"])
    kept = {name: np.asarray(values)[group == group[0]] for name, values in rows.items()}

    def answer(**more: Any) -> tuple[list[str], str, Any]:
        found = evaluate(problem(**more), kept)
        said = next(f.message for f in found.findings if f.name == "group-without-rows")
        return [arm.support for arm in found.arms], said, found

    speaks, said, _ = answer()  # X is declared: the other group's rows tell of every cell
    assert speaks == ["yes"] * 3 and "rests on the declared mechanisms and the other group's rows alone" in said
    speaks, said, found = answer(mechanisms=[])
    assert speaks == ["no"] * 3 and found.status == "UNDECIDED" and found.arm is None
    assert "the mechanism of 'X' is not declared: what is said of it rests on the prior alone" in said
    assert all(arm.gap.high - arm.gap.low > 0.9 for arm in found.arms)
    sees = [Arm("old", Unknown("V", ("S", "X"))), *problem().arms[1:]]
    speaks, said, _ = answer(arms=sees)
    assert speaks == ["no", "yes", "yes"] and "what 'old' does in it rests on the prior alone" in said
    both = evaluate(problem(mechanisms=[]), rows)
    assert [arm.support for arm in both.arms] == ["yes"] * 3


def test_support_says_whether_the_log_can_speak() -> None:
    assert [support_of(*pair) for pair in ((0.0, 100), (0.02, 1e6), (0.0, 50), (0.3, 1e6), (0.0, 5))] == [
        "yes", "weakly", "weakly", "no", "no",
    ]  # fmt: skip
    never = problem(arms=[Arm("old", table("V", [], [0.5, 0.5, 0.0])), Arm("last", table("V", [], [0.0, 0.0, 1.0]))])
    rows = rows_of(4000, 9)
    kept = rows["V"] < 2
    found = evaluate(never, {name: values[kept] for name, values in rows.items()})
    assert found.arms[1].support == "no" and found.arms[1].unseen == 1.0 and found.arms[0].support == "yes"
    assert found.recommended == "old" and found.arms[1].outcome.high - found.arms[1].outcome.low > 0.9
    alone = replace(
        never,
        arms=[Arm("old", table("V", [], [0.0, 0.5, 0.5])), never.arms[1]],
        deployed=None,
    )
    last = evaluate(
        alone,
        {**{name: values[kept] for name, values in rows.items()}, "p": np.full(int(kept.sum()), 0.5)},
        columns=LogMap(propensity="p"),
    )
    assert last.arm != "last"


def test_what_to_pull_next_keeps_the_budget() -> None:
    scenario = load_problem("ad-marketplace")
    asked = scenario.problem
    counts = np.zeros((len(asked.regimes), len(asked.arms)), dtype=np.int64)
    counts[0, 0] = 300
    assert scenario.world is not None
    pulled = scenario.world.pull(Request(asked.arm_names, asked.regimes, counts), np.random.default_rng(1)).labels(
        asked
    )
    found = evaluate(asked, pulled, columns=LogMap(arm="arm", count="count"))
    assert sum(line.share for line in found.next_pulls) == pytest.approx(1.0, abs=0.02)
    cost = sum(
        line.share * asked.compiled.cost_array[asked.regimes.index(line.regime), asked.arm_index(line.arm)] for line in found.next_pulls
    )  # fmt: skip
    assert asked.budget is None or cost <= (asked.average_cost_budget(1000) or 0) + 0.01


def test_the_plain_gap_is_the_logs_own() -> None:
    rows = rows_of(1000, 10)
    found = evaluate(problem(), rows)
    first, second = (rows["Y"][rows["S"] == group].mean() for group in "ab")
    assert found.plain_gap == pytest.approx(first - second) and [g.rows for g in found.observed] == [
        int((rows["S"] == g).sum()) for g in "ab"
    ]


def test_the_interval_of_the_plain_gap_does_not_depend_on_the_declared_range() -> None:
    """An outcome of 49 or 51 against one of 0 or 1: twice as long, whatever the range around it."""
    rows = rows_of(1000, 10)
    expected = evaluate(problem(), rows).plain_gap_interval
    wide = replace(problem().with_tolerance(0.4), outcome=Outcome("Y", values=(49, 51), low=0, high=100))
    found = evaluate(wide, rows)
    assert expected is not None and found.plain_gap_interval == pytest.approx([2 * end for end in expected], rel=1e-9)
    turned = replace(wide, outcome=Outcome("Y", values=(51, 49), low=0, high=100))
    ends = evaluate(turned, rows).plain_gap_interval
    assert ends == pytest.approx([-2 * end for end in reversed(expected)], rel=1e-9)


@pytest.mark.parametrize(("high", "known"), [(1e3, True), (1e5, True), (1e6, False), (1e8, False)])
def test_the_interval_of_the_plain_gap_of_money_is_right_or_not_known(high: float, known: bool) -> None:
    """Amounts around 500 that vary by 1, in ranges up to 100 million: against scipy on the amounts."""
    rows = rows_of(4000, 12)
    amounts = np.round(500 + np.random.default_rng(3).normal(0, 1, 4000), 2)
    asked = problem(tolerance=0.5 if high < 1e6 else 1e-3 * high)
    real = replace(
        asked, variables={k: v for k, v in asked.variables.items() if k != "Y"}, outcome=Outcome("Y", low=0, high=high)
    )
    found = evaluate(real, {**rows, "Y": amounts}).plain_gap_interval
    a, b = (amounts[rows["S"] == group] for group in "ab")
    right = ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert (found is not None) == known
    assert found is None or found == pytest.approx((right.low, right.high), rel=0.05)


@pytest.mark.parametrize(
    ("best", "fair", "unseen", "expected"),
    [
        ([0.6, 0.3, 0.0], [0.9, 0.9, 0.9], [0.0, 0.9, 0.0], ("FOUND", "old", 0.6)),
        ([0.3, 0.6, 0.0], [0.9, 0.9, 0.9], [0.0, 0.9, 0.0], ("UNDECIDED", None, 0.1)),
        ([0.3, 0.6, 0.0], [0.9, 0.7, 0.9], [0.0, 0.9, 0.0], ("UNDECIDED", None, 0.1)),
        ([0.1, 0.5, 0.3], [0.9, 0.7, 0.7], [0.0, 0.9, 0.0], ("UNDECIDED", None, 0.1)),
        ([0.1, 0.05, 0.5], [0.9, 0.9, 0.7], [0.0, 0.9, 0.0], ("UNDECIDED", None, 0.35)),
        ([0.1, 0.05, 0.06], [0.1, 0.1, 0.1], [0.0, 0.9, 0.0], ("UNDECIDED", None, 0.79)),
        ([0.1, 0.05, 0.04], [0.1, 0.1, 0.1], [0.0, 0.9, 0.0], ("NO_FAIR_ARM", None, 0.81)),
        ([0.3, 0.2, 0.1], [0.9, 0.6, 0.7], [0.0, 0.9, 0.0], ("UNDECIDED", None, 0.4)),
        ([0.5, 0.1, 0.3], [0.9, 0.6, 0.7], [0.0, 0.9, 0.0], ("FOUND", "old", 0.5)),
        ([0.0, 0.6, 0.0], [0.9, 0.9, 0.9], [0.0, 0.9, 0.0], ("UNDECIDED", None, 0.4)),
    ],
)  # fmt: skip
def test_an_arm_the_log_does_not_speak_for_and_an_unlikely_no_fair_arm_leave_it_open(
    best: list[float], fair: list[float], unseen: list[float], expected: tuple[Any, ...]
) -> None:
    believed = replace(
        Standing.unknown(1, 3),
        best=np.array([best]),
        none=np.array([1 - sum(best)]),
        fair=np.array([fair]),
        unseen=np.array([unseen]),
        effective=np.full((1, 3), 1000.0),
    )
    found = believed.choice(heard=is_supported(believed), least_none=0.8)
    status, arm, probability = expected
    assert Answer.of(int(found.code[0]), problem().arm_names) == Answer(Status(status), arm)
    assert found.probability[0] == pytest.approx(probability)


def test_every_frame_gives_the_same_numbers() -> None:
    import pandas
    import polars
    import pyarrow

    rows = {name: values.tolist() for name, values in rows_of(400, 11).items()}
    expected = asdict(evaluate(problem(), rows).arms[1])
    for frame in (pandas.DataFrame(rows), polars.DataFrame(rows), polars.LazyFrame(rows), pyarrow.table(rows)):
        assert asdict(evaluate(problem(), frame).arms[1]) == expected


def test_certified_answers_by_hand() -> None:
    asked = problem()

    def answer(outcomes: list[list[float]], gaps: list[list[float]], excluded: tuple[int, ...] = ()) -> tuple[str, Any]:
        bounds = Intervals(np.array([outcomes]), np.array([gaps]))
        found = Certificate(bounds, (Bound.REGION,), (), excluded).answer(asked)
        return str(found.status), found.arm

    fair, unfair, open_ = [-0.1, 0.1], [0.3, 0.4], [0.1, 0.3]
    assert answer([[0.5, 0.6], [0.1, 0.4], [0.8, 0.9]], [fair, fair, unfair]) == ("FOUND", "old")
    assert answer([[0.5, 0.6], [0.1, 0.4], [0.8, 0.9]], [fair, fair, open_]) == ("UNDECIDED", None)
    assert answer([[0.5, 0.6], [0.1, 0.55], [0.8, 0.9]], [fair, fair, unfair]) == ("UNDECIDED", None)
    assert answer([[0.5, 0.6]] * 3, [unfair, unfair, unfair]) == ("NO_FAIR_ARM", None)
    assert answer([[0.5, 0.6], [0.1, 0.4], [0.8, 0.9]], [fair, fair, unfair], (1,)) == ("UNDECIDED", None)
    assert answer([[0.5, 0.6]] * 3, [unfair, unfair, unfair], (1,)) == ("UNDECIDED", None)


def test_bounds_are_intersected_and_a_contradiction_shows() -> None:
    first = Intervals(np.array([[[0.1, 0.5]]]), np.array([[[0.0, 0.2]]]))
    second = Intervals(np.array([[[0.3, 0.9]]]), np.array([[[0.4, 0.5]]]))
    both = narrowed([first, second])
    assert both.outcomes.tolist() == [[[0.3, 0.5]]] and both.gaps.tolist() == [[[0.4, 0.2]]]


def test_sums_are_evidence_like_any_other() -> None:
    """A real outcome summed by cell gives what the same rows give one by one."""
    finite = {name: v for name, v in problem().variables.items() if name != "Y"}
    asked = replace(problem(), outcome=Outcome("Y", low=-1, high=3), variables=finite)
    rng = np.random.default_rng(12)
    rows = {**rows_of(200, 12), "Y": rng.uniform(-1, 3, 200)}
    told = batch(asked, {**rows, "arm": ["old"] * 200})
    scaled = (rows["Y"] + 1) / 4
    made = SumEvidence.of(asked, told, np.stack([scaled, 0 * scaled, 0 * scaled], axis=1))
    run = algorithm("pool", asked, pulls=10_000)
    run.tell(told, id="log")
    by_rows = run._now.evidence.summary(asked.compiled.shared_cells)
    by_sums = made.summary(asked.compiled.shared_cells)
    for part in ("rows", "sums", "within", "by_arm", "contexts", "natural"):
        assert getattr(by_sums, part) == pytest.approx(getattr(by_rows, part), rel=1e-12)
    assert made.pulls().tolist() == run._now.evidence.pulls().tolist()
    for a, b in zip(made.group_sums((0,)), run._now.evidence.group_sums((0,)), strict=True):
        assert a == pytest.approx(b, rel=1e-12)
    direct = [sum(term.outcome_sum.sum() for term in e.outcome_terms((0,))) for e in (made, run._now.evidence)]
    assert direct[0] == pytest.approx(direct[1], rel=1e-12)


def test_options_and_empty_logs_are_refused() -> None:
    with pytest.raises(OptionError, match="confidence"):
        evaluate(problem(), rows_of(10, 1), confidence=1.0)
    with pytest.raises(DataError, match="No row of the log"):
        evaluate(problem(), {**rows_of(10, 1), "Y": [None] * 10})
    unknown = problem(arms=[Arm("old", Unknown("V", ("X",)))])
    with pytest.raises(DataError, match="does not say which rows it made"):
        evaluate(unknown, {**rows_of(10, 1), "p": [0.5] * 10}, columns=LogMap(propensity="p"))


def test_law_estimated_ignores_what_is_declared() -> None:
    wrong = problem(shares=(0.9, 0.1), context=None)
    rows = rows_of(20_000, 13)
    assert "group-shares-mismatch" in [f.name for f in evaluate(wrong, rows).findings]
    found = evaluate(wrong, rows, law="estimated")
    assert found.findings == () and found.arms[0].outcome.value == pytest.approx(truths()[0][0], abs=0.02)


def test_weighted_bounds_are_the_printed_ones() -> None:
    """Of a real outcome without ids, one arm and group by hand: 4 bounds an arm, a tenth of the error for P(S), the largest weight
    that can be."""
    rows = rows_of(4000, 14)
    asked = problem(mechanisms=[])
    finite = {name: v for name, v in asked.variables.items() if name != "Y"}
    found = evaluate(replace(asked, outcome=Outcome("Y", low=0, high=1), variables=finite), rows)
    assert found.certified_by == (Bound.BERNSTEIN,)
    delta = 0.9 * 0.05 / (4 * 3)
    log = math.log(2 / delta)
    ends = []
    for group in "ab":
        mine = np.flatnonzero(rows["S"] == group)
        n = len(mine)
        level = max(math.sqrt(n / log) / 3, 1.0)
        w = np.array(MECHANISMS["new"]) / np.array(MECHANISMS["old"])
        c = np.minimum(w[rows["X"][mine], rows["V"][mine]], level)
        bounds = []
        for y in (rows["Y"][mine], 1 - rows["Y"][mine]):
            x = c * y
            bounds.append(
                x.mean() - math.sqrt(2 * x.var(ddof=1) * log / n) - 7 * min(w.max(), level) * log / (3 * (n - 1))
            )
        ends.append((bounds[0], 1 - bounds[1]))
    gap = found.arms[1].gap
    assert gap.certified_low == pytest.approx(ends[0][0] - ends[1][1], abs=1e-10)
    assert gap.certified_high == pytest.approx(ends[0][1] - ends[1][0], abs=1e-10)


def test_an_arm_of_doubtful_fairness_is_not_named() -> None:
    _, gaps = truths()
    rows = rows_of(3000, 15)
    asked = problem(
        tolerance=float(abs(gaps[1])),
        arms=[problem().arms[1]],
        mechanisms=[],
        deployed=None,
    )
    rows["p"] = np.array(MECHANISMS["old"])[rows["X"], rows["V"]]
    found = evaluate(asked, rows, columns=LogMap(propensity="p"))
    assert 0.05 < found.arms[0].fair_probability < 0.95
    assert (found.status, found.arm, found.reason, found.loss_at_most) == ("UNDECIDED", None, "fairness-open", None)
    assert found.reason_text == "It is not sure enough which arms are fair."


def test_sparse_cells_with_a_fitted_rule_are_noted() -> None:
    many = tuple(str(i) for i in range(60))
    rng = np.random.default_rng(16)
    asked = Problem(
        name="sparse",
        variables=[
            Variable("S", ("a", "b")),
            Variable("X", many),
            Variable("V", ("0", "1")),
            Variable("Y", ("0", "1")),
        ],
        graph=[("X", "V"), ("S", "V"), ("X", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm("old", Unknown("V", ("S", "X")))],
        deployed="old",
    )
    rows = {
        "S": rng.choice(["a", "b"], 200),
        "X": rng.integers(0, 60, 200),
        "V": rng.integers(0, 2, 200),
        "Y": rng.integers(0, 2, 200),
    }
    found = evaluate(asked, rows)
    assert [(f.name, f.blocks_certification) for f in found.findings] == [
        ("sparse-cells", False)
    ] and found.method == "cell means"


def test_a_wrong_declaration_that_the_log_shows_is_never_certified() -> None:
    """The child's mechanism is off by 0.25: bounds and intervals contradict each other, and each check says so."""
    wrong = problem(mechanisms=[table("X", ["S"], CONTEXTS + np.array([[0.0, 0.0], [0.25, -0.25]]))])
    found = evaluate(wrong, rows_of(200_000, 17))
    assert {"children-do-not-fit", "bounds-contradict"} <= {f.name for f in found.findings}
    assert found.certified_by is None and found.certified_status == "UNDECIDED"


@pytest.mark.parametrize("how", ["mechanism", "propensities"])
def test_a_logging_rule_that_did_not_run_is_noticed_row_by_row(how: str) -> None:
    """Declared 0.5 for everyone; really 0.3 and 0.7 by a real input."""
    rng = np.random.default_rng(18)
    n = 20_000
    x = rng.normal(size=n).clip(-4, 4)
    chance = np.where(x > 0, 0.7, 0.3)
    arms = [
        Arm.from_callable("flat", lambda c: np.full((len(c["X"]), 2), 0.5), decision="V", inputs=["X"]),
        Arm.from_callable("steep", lambda c: np.stack([0.2 + 0.6 * (c["X"] < 0), 0.2 + 0.6 * (c["X"] >= 0)], 1), decision="V", inputs=["X"]),
    ]  # fmt: skip
    asked = Problem(
        name="real",
        variables=[Variable("S", ("a", "b")), Variable("X", low=-4, high=4), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=arms,
        deployed="flat",
    )  # fmt: skip
    where = LogMap(propensity="p") if how == "propensities" else LogMap()
    rows = {"S": rng.choice(["a", "b"], n), "X": x, "Y": rng.integers(0, 2, n), "p": np.full(n, 0.5)}
    sound = evaluate(asked, {**rows, "V": rng.integers(0, 2, n)}, columns=where)
    assert sound.findings == ()
    found = evaluate(asked, {**rows, "V": (rng.random(n) < chance).astype(np.int64)}, columns=where)
    assert "decisions-do-not-fit" in [f.name for f in found.findings] and found.certified_by is None


def test_where_the_model_is_wrong_no_arm_is_named_and_what_is_certified_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A posterior whose means are 0.1 too high says so of every arm; with one of 0.004 there is nothing to see."""
    rows = rows_of(4000, 21)
    right = evaluate(problem(), rows)
    assert right.status == "FOUND" and right.reason is None

    def shifted(by: float) -> property:
        return property(lambda self: replace(self.posterior_of_states, mean=self.posterior_of_states.mean + by))

    for by, disagrees in ((0.1, True), (-0.1, True), (0.004, False)):
        monkeypatch.setattr(CellBeliefs, "posterior", shifted(by))
        found = evaluate(problem(), rows)
        assert found.decision.blocked_by == (("model-disagrees",) if disagrees else ())
        assert (found.status, found.arm) == (("UNDECIDED", None) if disagrees else ("FOUND", right.arm))
        assert (found.certified_status, found.certified_arm) == (right.certified_status, right.certified_arm)
        assert [a.gap.certified_low for a in found.arms] == [a.gap.certified_low for a in right.arms]
        assert found.certified_by == right.certified_by
        if disagrees:
            assert found.reason_text == "The warning 'model-disagrees' blocks the answer."
            assert found.recommended is None and found.recommended_probability is None


def real_rows(n: int, rate: float, seed: int) -> tuple[Problem, dict[str, Any]]:
    """A real input, a fair coin that decides, and outcomes of a rate that nothing moves."""
    asked = Problem(
        name="rare",
        variables=[Variable("S", ("a", "b")), Variable("X", low=0, high=1), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "X"), ("X", "Y"), ("X", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.01,
        arms=[Arm("coin", table("V", [], [0.5, 0.5])), Arm("one", table("V", [], [0.0, 1.0]))],
        deployed="coin",
        shares=(0.5, 0.5),
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    drawn = {"X": rng.random(n), "V": rng.integers(0, 2, n), "Y": (rng.random(n) < rate).astype(np.int64)}
    return asked, {"S": np.array(["a", "b"], dtype=object)[rng.integers(0, 2, n)], **drawn}


@pytest.mark.parametrize("seed", range(8))
def test_a_rare_rate_is_shown_as_the_rows_have_it(seed: int) -> None:
    """Some ten events in 2 000 rows: the value is the groups' plain mean for the arm that made the rows, and that of its decision
    for the other, to a part of the plain standard error; draws cut at 0 have a mean that is higher."""
    asked, rows = real_rows(2000, 0.005, seed)
    found = evaluate(asked, rows)
    assert found.method == "doubly robust"
    for arm, used in zip(found.arms, (rows["V"] >= 0, rows["V"] == 1), strict=True):
        by_group = [rows["Y"][used & (rows["S"] == group)] for group in "ab"]
        plain = float(np.mean([y.mean() for y in by_group]))
        error = math.sqrt(sum(0.005 / len(y) for y in by_group)) / 2
        assert abs(arm.outcome.value - plain) < 0.35 * error
        assert arm.outcome.low <= arm.outcome.value <= arm.outcome.high < 0.025
        assert arm.gap.low <= arm.gap.value <= arm.gap.high


def test_one_event_leaves_a_rate_open_up_to_what_would_have_shown() -> None:
    """One of 2 000: the upper end is that of 4 to 6 events, as exact limits of one event have it (5.6)."""
    asked, rows = real_rows(2000, 0.005, 0)
    found = evaluate(asked, {**rows, "Y": np.r_[1, np.zeros(1999, dtype=np.int64)]})
    for arm, n in zip(found.arms, (2000, 1000), strict=True):
        assert arm.outcome.low >= 0 and arm.outcome.value < 2 / n
        assert 2 / n < arm.outcome.high < 8 / n


def test_everything_that_stands_against_a_certificate_is_said_at_once() -> None:
    """Three groups against the mean without shares, a fitted arm that made rows, outcomes that decided later rows, holes and strays."""
    groups = ("a", "b", "c")
    asked = Problem(
        name="all", variables=[Variable("S", groups), Variable("V", ("no", "yes")), Variable("Y", ("lose", "win"))],
        graph=[("S", "V"), ("V", "Y")], sensitive="S", decision="V", outcome=Outcome("Y", values=(0, 1)), deployed="old",
        arms=[Arm("old", Unknown("V", ("S",))), Arm("older", Unknown("V", ("S",))), Arm("new", table("V", [], [0.5, 0.5]))],
        constraints=[Constraint(compare="mean", tolerance=0.3)],
    )  # fmt: skip
    rng, n = np.random.default_rng(3), 600
    rows = {
        "S": [*rng.choice(groups, n - 9), *["d"] * 9], "V": rng.choice(["no", "yes"], n).tolist(),
        "Y": [*rng.choice(["lose", "win"], n - 20), *[None] * 20], "arm": rng.choice(["old", "older"], n).tolist(),
    }  # fmt: skip
    found = evaluate(asked, rows, columns=LogMap(arm="arm", adaptive=True))
    codes = [said.code for said in found.not_certified]
    for code in ("finding-voids", "outcomes-decided-later-rows", "outcomes-are-missing", "shares-not-known"):
        assert codes.count(code) == 1
    assert [said.facts["arm"] for said in found.not_certified if said.code == "fitted-arm-made-rows"] == [
        "old",
        "older",
    ]
    said = certified_text(found)
    assert all(sentence(each) in said for each in found.not_certified) and len(codes) == 6
