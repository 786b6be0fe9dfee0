"""Checks of a log against what was declared: by scipy's own test, and at the rate of false alarms that is stated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, binomtest, chi2, chi2_contingency, chisquare

from fairarm import Arm, Constraint, ContextLaw, Outcome, Problem, Table, Variable, table
from fairarm.beliefs.certified import Bound, Certificate
from fairarm.core.proof.region import Intervals
from fairarm.logs.checks import (
    WeightCheck,
    check_agreement,
    check_children,
    check_contexts,
    check_counts,
    check_decisions,
    check_duplicates,
    check_served,
    check_weights,
)
from fairarm.logs.findings import MISMATCH, at_least, contingency, mismatch
from fairarm.logs.sources import open_log
from fairarm.problem.pulls import Batch

LAW = np.array([[0.9, 0.1], [0.3, 0.7]])

PROBLEM = Problem(
    name="checked",
    variables=[Variable(n, ("0", "1")) for n in ("S", "X", "V", "Y")],
    graph=[("S", "V"), ("X", "V"), ("X", "Y"), ("V", "Y")],
    sensitive="S",
    decision="V",
    outcome=Outcome("Y", values=(0, 1)),
    tolerance=0.1,
    arms=[Arm("old", table("V", ["X"], LAW)), Arm("new", table("V", [], [0.5, 0.5]))],
    deployed="old",
    shares=(0.4, 0.6),
    context=ContextLaw(("X",), np.array([0.25, 0.75])),
)


def test_counts_of_at_least_so_many_are_as_likely_as_scipys_binomial_says() -> None:
    rng = np.random.default_rng(0)
    of = rng.integers(1, 10**6, 2000).astype(np.float64)
    p = 10.0 ** rng.uniform(-6, 0, 2000)
    seen = np.minimum(np.floor(of * p * rng.uniform(0, 3, 2000)), of)
    p[:3], seen[:3], of[3:5] = (0.0, 1.0, 0.3), (0.0, of[1], of[2]), 4.0
    seen[3:5] = (0.0, 4.0)
    assert at_least(seen, of, p) == pytest.approx(binom.sf(seen - 1, of, p), rel=1e-9, abs=1e-300)


def test_mismatch_is_pearsons_test_where_nothing_is_merged() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        shares = rng.dirichlet(np.full(4, 5.0))
        counts = rng.multinomial(5000, rng.dirichlet(np.full(4, 50.0)))
        expected = chisquare(counts, 5000 * shares).pvalue
        assert mismatch(counts[None], shares[None]) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_groups_add_up_and_small_expectations_are_merged() -> None:
    counts = np.array([[50, 50], [30, 70]])
    shares = np.array([[0.5, 0.5], [0.5, 0.5]])
    assert mismatch(counts, shares) == pytest.approx(float(chi2.sf(16.0, 2)))
    # expected 1, 1, 98: the first two are merged with the third until each has 5, and tested alone and together
    found = mismatch(np.array([[4, 3, 93]]), np.array([[0.01, 0.01, 0.98]]))
    assert found == pytest.approx(3 * binomtest(7, 100, 0.02, "greater").pvalue)
    assert mismatch(np.array([[1, 99]]), np.array([[0.0, 1.0]])) == 0.0


def test_groups_with_no_row_or_few_are_named() -> None:
    """Each of them; a log that is small altogether is not said to have small groups."""
    four = replace(
        PROBLEM,
        variables=[Variable("S", ("0", "1", "2", "3")), *(v for k, v in PROBLEM.variables.items() if k != "S")],
        groups=(),
        shares=None,
    )
    made = np.array([[900, 0, 12, 400], [300, 0, 10, 200]])
    found = {
        (finding.name, finding.blocks_certification): finding.message
        for finding in check_counts(four, {}, made, made.sum(axis=0))
    }
    assert "group '1': what is said of it rests on the declared mechanisms and the other groups' rows alone" in found["group-without-rows", True]  # fmt: skip
    assert "Only 22 of 1822 rows are of the group '2'" in found["group-with-few-rows", False] and len(found) == 2
    assert check_counts(four, {}, np.array([[5, 6, 7, 8], [0, 0, 0, 0]]), np.array([5, 6, 7, 8])) == []


def test_usual_and_certified_intervals_must_meet_row_by_row() -> None:
    """Three arms and two rows: the outcome of one arm and a row of another lie apart; of the third a certified one does not count."""
    asked = replace(
        PROBLEM,
        arms=[*PROBLEM.arms, Arm("fitted", table("V", [], [0.3, 0.7]))],
        constraints=[Constraint(compare="floor", at_least=0.1)],
        costs=(),
    )
    outcomes = np.array([[[0.2, 0.4], [0.2, 0.4], [0.2, 0.4]]])
    rows = np.broadcast_to(np.array([0.1, 0.5]), (1, 3, 2, 2))
    proved = Certificate(Intervals(outcomes, rows), (Bound.REGION,), uncertified_arms=(2,))
    usual, usual_rows = np.array([[0.3, 0.3, 0.9], [0.5, 0.5, 0.95]]), np.full((2, 3, 2), 0.3)
    assert check_agreement(asked, proved, usual, usual_rows) == []
    usual[:, 1], usual_rows[:, 0, 1], usual_rows[:, 2, 0] = (0.41, 0.5), (0.01, 0.09), (0.6, 0.7)
    (found,) = check_agreement(asked, proved, usual, usual_rows)
    assert (
        found.name == "intervals-disagree"
        and found.blocks_certification
        and found.examples == ("outcome of new", "1 of old")
    )
    usual_rows[:, 0, 1] = (0.01, 0.1)  # they touch
    assert check_agreement(asked, proved, usual, usual_rows)[0].examples == ("outcome of new",)
    assert check_agreement(asked, replace(proved, by=()), usual, usual_rows) == []
    gap = Certificate(Intervals(outcomes[:, :2], rows[:, :2, 0]), (Bound.REGION,))
    (found,) = check_agreement(PROBLEM, gap, np.full((2, 2), 0.3), np.array([[[0.2], [0.6]], [[0.3], [0.7]]]))
    assert found.examples == ("gap of new",)


def test_sound_logs_seldom_raise_an_alarm() -> None:
    """2 000 sound logs at a p-value of 1 in 10 000: more than 3 alarms have probability below 1e-4."""
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(2000):
        made = np.stack([rng.multinomial(400, [0.4, 0.6]), np.zeros(2, dtype=np.int64)])
        alarms += bool(check_counts(PROBLEM, {}, made, made[0]))
    assert alarms <= 3


@pytest.mark.parametrize("tiny", [1e-20, 1e-160, 1e-310])
def test_what_hardly_ever_happens_was_seen(tiny: float) -> None:
    assert mismatch(np.array([[3996, 4]]), np.array([[1.0 - tiny, tiny]])) < 1e-30
    assert mismatch(np.array([[4000, 0]]), np.array([[1.0 - tiny, tiny]])) == 1.0


def test_rare_categories_of_many_small_groups_are_added_up() -> None:
    seen, shares = np.tile([0, 1], (300, 1)), np.tile([0.99, 0.01], (300, 1))
    assert mismatch(seen, shares) < 1e-100
    seen[3:] = [1, 0]
    assert mismatch(seen, shares) == 1.0


def test_sound_logs_with_rare_categories_seldom_raise_an_alarm() -> None:
    """At a p-value of 1 in 100, of 3 000 sound logs: more than 60 alarms have probability below 1e-6."""
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(3000):
        shares = rng.dirichlet(np.full(6, 0.2), size=4) + 1e-9
        shares /= shares.sum(axis=1, keepdims=True)
        alarms += mismatch(np.stack([rng.multinomial(n, p) for n, p in zip((3, 20, 80, 300), shares, strict=True)]), shares) < 0.01  # fmt: skip
    assert alarms <= 60


def drawn(n: int, law: np.ndarray, contexts: tuple[float, float], seed: int) -> Batch:
    rng = np.random.default_rng(seed)
    s, x = rng.integers(0, 2, n), (rng.random(n) < contexts[1]).astype(np.int64)
    v = (rng.random(n) < law[x, 1]).astype(np.int64)
    zero = np.zeros(n, dtype=np.int64)
    return Batch(zero, zero, {"S": s, "X": x, "V": v, "Y": zero}, np.ones(n, dtype=np.int64))


def test_decisions_are_held_against_the_declared_mechanism() -> None:
    assert not check_decisions(PROBLEM, drawn(5000, LAW, (0.25, 0.75), 3))
    other = drawn(5000, LAW[::-1], (0.25, 0.75), 3)
    (finding,) = check_decisions(PROBLEM, other)
    assert finding.name == "decisions-do-not-fit" and finding.blocks_certification and "'old'" in finding.message
    counts = np.array([[30, 10], [5, 5]])
    fitted = replace(PROBLEM, arms=[Arm("old", Table.fitted("V", ("X",), counts)), PROBLEM.arms[1]])
    assert not check_decisions(fitted, other)


def test_contexts_are_held_against_the_declared_law() -> None:
    assert not check_contexts(PROBLEM, drawn(5000, LAW, (0.25, 0.75), 4))
    (finding,) = check_contexts(PROBLEM, drawn(5000, LAW, (0.5, 0.5), 4))
    assert finding.name == "contexts-do-not-fit"
    assert not check_contexts(replace(PROBLEM, context=None), drawn(5000, LAW, (0.5, 0.5), 4))


def test_planned_shares_groups_and_p_of_s() -> None:
    bare, planned = replace(PROBLEM, shares=None), {"old": 0.5, "new": 0.5}
    assert not check_counts(bare, planned, np.array([[250, 250], [260, 240]]), np.array([510, 490]))
    (finding,) = check_counts(bare, planned, np.array([[250, 250], [400, 400]]), np.array([650, 650]))
    assert finding.name == "sample-ratio-mismatch" and "old: 500 rows, planned 0.5" in finding.examples
    (finding,) = check_counts(PROBLEM, {}, np.array([[500, 500], [0, 0]]), np.array([500, 500]))
    assert finding.name == "group-shares-mismatch"
    names = {f.name for f in check_counts(bare, planned, np.array([[100, 0], [100, 0]]), np.array([200, 0]))}
    assert names == {"group-without-rows"}


def test_weights_above_one_on_average_are_a_finding() -> None:
    mean, error = np.array([[1.0, 1.02], [0.8, 1.3]]), np.full((2, 2), 0.01)
    (finding,) = check_weights(PROBLEM, WeightCheck(mean, error, np.zeros((2, 2)), 0.0))
    assert finding.examples == ("new, 1: mean 1.300",)
    (finding,) = check_weights(PROBLEM, WeightCheck(mean, error, np.array([[1.0, 1.0], [1.0, 1.0]]), 0.0))
    assert finding.examples == ("new, 0: mean 0.800", "new, 1: mean 1.300")
    for off, found in (
        (1e-9, 0),
        (9e-4, 0),
        (2e-3, 1),
    ):  # an arm that is the logging rule, with propensities in a few digits
        nearly = WeightCheck(np.full((2, 2), 1 + off), np.zeros((2, 2)), np.ones((2, 2)), 0.0)
        assert len(check_weights(PROBLEM, nearly)) == found
    assert not check_weights(PROBLEM, WeightCheck(np.ones((2, 2)), np.zeros((2, 2)), np.ones((2, 2)), 4.9))
    (finding,) = check_weights(PROBLEM, WeightCheck(np.ones((2, 2)), np.zeros((2, 2)), np.ones((2, 2)), 5.1))
    assert finding.name == "decisions-do-not-fit"


def test_duplicates_are_looked_for_by_the_row_id() -> None:
    table_of_ids = open_log({"id": [1, 2, 2, 3, 3, 3], "S": ["0"] * 6})
    assert not check_duplicates(None, table_of_ids)
    (finding,) = check_duplicates("id", table_of_ids)
    assert (finding.name, finding.rows) == ("duplicate-rows", 3) and {"2", "3"} >= set(finding.examples)
    assert MISMATCH < 1e-3


def test_contingency_is_scipys_where_nothing_is_merged() -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        seen = rng.multinomial(3000, rng.dirichlet(np.full(8, 9.0))).reshape(2, 4)
        assert contingency(seen) == pytest.approx(chi2_contingency(seen, correction=False).pvalue, rel=1e-9, abs=1e-300)
    assert contingency(np.array([[3, 2], [1, 4]])) == 1.0


def test_children_are_held_against_their_mechanisms() -> None:
    child = np.array([[0.3, 0.7], [0.6, 0.4]])
    problem = Problem(
        name="child",
        variables=[Variable(n, ("0", "1")) for n in ("S", "X", "V", "Y")],
        graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm("old", table("V", [], [0.5, 0.5]))],
        mechanisms=[table("X", ["S"], child)],
    )

    def rows(law: np.ndarray) -> Batch:
        rng = np.random.default_rng(8)
        s, v, zero = rng.integers(0, 2, 4000), rng.integers(0, 2, 4000), np.zeros(4000, dtype=np.int64)
        x = (rng.random(4000) < law[s, 1]).astype(np.int64)
        return Batch(zero, zero, {"S": s, "X": x, "V": v, "Y": zero}, np.ones(4000, dtype=np.int64))

    assert not check_children(problem, rows(child))
    (finding,) = check_children(problem, rows(child + np.array([[0.0, 0.0], [-0.1, 0.1]])))
    assert finding.name == "children-do-not-fit" and finding.blocks_certification and "'X'" in finding.message
    fitted = replace(problem, mechanisms=[Table.fitted("X", ("S",), np.array([[3, 1], [1, 3]]))])
    assert not check_children(fitted, rows(child))


def test_arms_that_served_different_people_are_noticed() -> None:
    rng = np.random.default_rng(9)
    mixed = drawn(6000, np.full((2, 2), 0.5), (0.5, 0.5), 9)
    x, s, zero = mixed.columns["X"], mixed.columns["S"], np.zeros(6000, dtype=np.int64)

    def served(arm: np.ndarray) -> list[str]:
        return [f.name for f in check_served(PROBLEM, Batch(arm, zero, mixed.columns, mixed.count))]

    assert served((rng.random(6000) < 0.2 + 0.5 * s).astype(np.int64)) == []  # by group is allowed
    assert served((rng.random(6000) < 0.4 + 0.2 * x).astype(np.int64)) == ["arms-served-different-people"]
    assert served(zero) == []


def test_forced_rows_alone_leave_the_shares_unknown() -> None:
    free = replace(PROBLEM, shares=None)
    (finding,) = check_counts(free, {}, np.array([[100, 100], [0, 0]]), np.array([0, 0]))
    assert (finding.name, finding.blocks_certification) == ("shares-unknown", False)
