"""What is proved about three and four groups: refused before the first pull where it is not covered, right where it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairarm import Arm, Constraint, NetworkWorld, Outcome, Problem, Variable, table
from fairarm.algorithms.certificates import Books, Certified
from fairarm.algorithms.cohort import Cohort, Loss, Missing
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.beliefs.certified import Bound, _weighed_counts, certify_counts, decision_law
from fairarm.beliefs.counted_bets import counted_bets
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.standing import Proof
from fairarm.core.answer import Code
from fairarm.core.proof.log_bets import bet_intervals
from fairarm.core.proof.region import intervals
from fairarm.errors import OptionError
from fairarm.problem.network import Network

GROUPS, SHARES = ("a", "b", "c", "d"), (0.4, 0.3, 0.2, 0.1)
ARMS = {
    "old": [[0.5, 0.5]] * 4,
    "ruins d": [[0.1, 0.9]] * 3 + [[0.9, 0.1]],
    "good": [[0.2, 0.8], [0.25, 0.75], [0.2, 0.8], [0.3, 0.7]],
    "low": [[0.9, 0.1]] * 4,
}
ASKED = [Constraint(compare="pairs", tolerance=1.5), Constraint(compare="reference", reference="a", ratio=0.8), Constraint(compare="floor", at_least=13.0)]  # fmt: skip
"""Of an outcome of 10 or 20."""


def problem(**more: Any) -> Problem:
    given: dict[str, Any] = {"shares": SHARES, "constraints": ASKED}
    return Problem(
        name="four",
        variables=[Variable("S", GROUPS), Variable("V", ("0", "1")), Variable("Y", ("no", "yes"))],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(10, 20)),
        arms=[Arm(name, table("V", ["S"], rows)) for name, rows in ARMS.items()],
        **{**given, **more},
    )


def world(of: Problem, shares: tuple[float, ...] = SHARES) -> NetworkWorld:
    tables = [table("S", [], list(shares)), table("V", ["S"], ARMS["old"]), table("Y", ["V"], [[0.8, 0.2], [0.2, 0.8]])]
    return NetworkWorld(of, Network.of(of.variables.values(), tables))


def certified_run(proof: Certified, source: NetworkWorld, runs: int, looks: int) -> Books:
    """Batches of the pulls that the plan asks for, each a quarter more in all."""
    rng, books = np.random.default_rng(0), proof.start(runs)
    shares, made, who = np.full((runs, 5, 4), 1 / 20), 0, np.arange(runs)
    for _ in range(looks):
        size = max(40, made // 4)
        made += size
        pulls = rng.multinomial(size, shares.reshape(runs, -1)).reshape(runs, 5, 4)
        rows = CellEvidence(proof.declared.problem, source.draw(pulls, rng))
        books = proof.after(Cohort(rows), books, 0, who)
        shares = proof.planned(books, shares, np.ones((5, 4)), np.full(runs, np.inf), 0, who)
        shares = shares / shares.sum(axis=(1, 2), keepdims=True)
    return books


def test_four_groups_three_questions_and_what_is_proved_of_every_arm():
    asked = problem()
    proof = Certified.of(asked, 0.05, estimated=False)
    books = certified_run(proof, world(asked), 20, 16)
    answer, said = proof.proved(books)
    assert np.mean(answer == 2) > 0.9 and np.isin(answer, [2, Code.UNDECIDED]).all()
    of = said[answer == 2]
    assert np.all(of[:, 2] == Proof.FAIR)
    assert np.isin(of[:, 1], [Proof.UNFAIR, Proof.UNFAIR_OR_WORSE]).all()  # toward whom is not said
    assert np.isin(of[:, 0], [Proof.WORSE, Proof.UNFAIR_OR_WORSE]).all()
    assert not books.void.any() and proof.law_report(books, 0).findings == ()


def test_shares_of_four_groups_that_are_wrong_void_the_run():
    """Declared (.4, .3, .2, .1); d has .2 of all in truth, and a half as many as declared."""
    asked = problem()
    proof = Certified.of(asked, 0.05, estimated=False)
    source = world(problem(shares=(0.3, 0.3, 0.2, 0.2)), (0.3, 0.3, 0.2, 0.2))
    rng, books = np.random.default_rng(1), proof.start(1)
    pulls = np.zeros((1, 5, 4), dtype=np.int64)
    pulls[0, 0] = 400
    books = proof.after(Cohort(CellEvidence(asked, source.draw(pulls, rng))), books, 0, np.arange(1))
    assert books.void.all() and "shares" in proof.law_report(books, 0).findings[0].message


def test_natural_rows_that_are_lost_count_by_the_declared_shares_of_all_groups():
    """Of 40 natural pulls of arm 0, 30 came: the plan is 40 P(S) whoever came, and 10 rows are charged."""
    asked = problem()
    proof = Certified.of(asked, 0.05, estimated=False)
    pulls = np.zeros((1, 5, 4), dtype=np.int64)
    pulls[0, 0, 0], pulls[0, 4, 1] = 30, 7
    missing = np.zeros((1, 3, 5, 4), dtype=np.int64)
    missing[0, 0, 0, 0], missing[0, 0, 4, 1] = 10, 3
    rows = CellEvidence(asked, world(asked).draw(pulls, np.random.default_rng(0)))
    brought = proof._brought(Cohort(rows, missing, Loss.of(asked, "worst")))
    assert brought.rows[0, 0] == pytest.approx([16, 12, 8, 4]) and brought.rows[0, 1].tolist() == [0, 0, 0, 10]
    assert brought.lost is not None and brought.lost.rows.tolist() == [13]
    books = proof.after(Cohort(rows, missing, Loss.of(asked, "worst")), proof.start(1), 0, np.arange(1))
    assert books.lost.tolist() == [[13, 0]] and np.all(books.charged <= 0)


@pytest.mark.parametrize(
    ("more", "estimated", "said"),
    [
        ({"shares": None}, False, "With 4 groups a certified answer needs P[(]S[)], which is not declared: declare the shares, or use bayes-stop"),
        ({}, True, r"which is not used \(law=estimated\): declare the shares, or use bayes-stop"),
    ],
)  # fmt: skip
def test_what_is_not_covered_is_refused_before_the_first_pull(more, estimated, said):
    with pytest.raises(OptionError, match=said):
        Certified.of(problem(**more), 0.05, estimated)
    with pytest.raises(OptionError, match=said):
        Pool(problem(**more), 100, PoolOptions(confidence=0.95, law="estimated" if estimated else "declared"))


def two_groups(**more: Any) -> Problem:
    given: dict[str, Any] = {"tolerance": 0.1, "shares": None}
    return Problem(
        name="two",
        variables=[Variable("S", ("a", "b")), Variable("V", ("0", "1")), Variable("Y", ("no", "yes"))],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        arms=[Arm("old", table("V", ["S"], [[0.5, 0.5], [0.4, 0.6]])), Arm("new", table("V", [], [0.3, 0.7]))],
        **{**given, **more},
    )


def test_two_groups_without_shares_are_covered_unless_a_row_has_everybody_in_it():
    ratio = {"tolerance": None, "constraints": [Constraint(ratio=0.8), Constraint(compare="floor", at_least=0.2)]}
    rule = Certified.of(two_groups(**ratio), 0.05, estimated=False).rule
    assert (rule.mixes, len(rule.ends), rule.met.level.shape) == (2, 4, (2, 4))
    beside = {"tolerance": None, "constraints": [Constraint(compare="mean", tolerance=0.1)]}
    with pytest.raises(OptionError, match=r"compared with the mean of everybody a certified answer needs P\(S\)"):
        Certified.of(two_groups(**beside), 0.05, estimated=False)
    assert Certified.of(two_groups(**beside, shares=(0.5, 0.5)), 0.05, estimated=False).rule.mixes == 1


# ---- intervals from counts ----


def test_intervals_of_a_log_of_four_groups_hold_and_certify():
    """1 row for each constraint's row; the truth lies in all of them, the arm that made the log is fair, one that is not is not."""
    asked = problem()
    pulls = np.zeros((1, 5, 4), dtype=np.int64)
    pulls[0, 0, 0] = 60_000
    rows = CellEvidence(asked, world(asked).draw(pulls, np.random.default_rng(0)))
    found = certify_counts(rows, 0.05, estimated=False)
    assert found.by == (Bound.REGION, Bound.BETS) and found.intervals is not None
    means = np.array([[0.2 * p0 + 0.8 * p1 for p0, p1 in arm] for arm in ARMS.values()])  # on the scale of Y'
    outcomes = means @ np.array(SHARES)
    low, high = found.intervals.outcomes[0].T
    assert np.all((low <= outcomes) & (outcomes <= high))
    values = [[sum(a * m for a, m in zip(row.weights, arm, strict=True)) for row in asked.rows] for arm in means]
    low, high = np.moveaxis(found.intervals.rows[0], -1, 0)
    assert np.all((low <= values) & (values <= high)) and np.median(high - low) < 0.1
    fair, unfair = found.fairness(asked)
    assert fair.tolist() == [True, False, True, False] and unfair.tolist() == [False, True, False, True]
    assert found.answer(asked).arm == "good"


def test_each_bound_of_a_log_has_its_part_of_the_error():
    """Four arms and 16 rows: the region and the bets have half of δ each, and a bet δ/2 over two ends of 1 + 16 values of 4 arms."""
    asked = problem()
    pulls = np.zeros((1, 5, 4), dtype=np.int64)
    pulls[0, 0, 0] = 3000
    rows = CellEvidence(asked, world(asked).draw(pulls, np.random.default_rng(0)))
    counts, natural = rows.by_state(), np.zeros(4)
    assert counts is not None and len(asked.rows) == 16
    bets = counted_bets(asked, decision_law(asked), counts, 0.025 / (2 * 4 * 17))
    by_bets = bet_intervals(bets, np.array(SHARES), natural, 0.025, asked.compiled.rows)
    law = np.array(list(ARMS.values()))
    seen = counts.sum(axis=(0, 1))  # by V and Y
    n, y = seen.sum(axis=1)[None].astype(float), seen[:, 1][None].astype(float)
    region = intervals(n, y, law, 0.025, np.array(SHARES), None, asked.compiled.rows)
    found = certify_counts(rows, 0.05, estimated=False).intervals
    assert found is not None
    assert found.rows[..., 0] == pytest.approx(np.maximum(by_bets.rows[..., 0], region.rows[..., 0]))
    assert found.outcomes[..., 1] == pytest.approx(np.minimum(by_bets.outcomes[..., 1], region.outcomes[..., 1]))
    alone = _weighed_counts(rows, 0.025, np.array(SHARES))  # the region is the narrower of the two here
    assert np.array_equal(alone.rows, by_bets.rows) and np.array_equal(alone.outcomes, by_bets.outcomes)


def test_nothing_is_certified_from_a_log_whose_shares_are_not_known():
    asked = problem(shares=None)
    pulls = np.zeros((1, 5, 4), dtype=np.int64)
    pulls[0, 0, 0] = 500
    rows = CellEvidence(asked, world(asked).draw(pulls, np.random.default_rng(0)))
    for of, estimated in ((rows, False), (CellEvidence(problem(), rows.counts), True)):
        found = certify_counts(of, 0.05, estimated)
        assert found.without_shares and found.by == () and found.intervals is None
        assert found.answer(of.problem).status == "UNDECIDED"


def test_rows_whose_cell_and_group_are_known_are_charged_there():
    """Arm 0, 30 of 40 came; of the ten lost, six are known to be in one cell each: these are charged in it, the others anywhere."""
    asked = problem()
    proof = Certified.of(asked, 0.05, estimated=False)
    pulls = np.zeros((1, 5, 4), dtype=np.int64)
    pulls[0, 0, 0] = 30
    rows = CellEvidence(asked, world(asked).draw(pulls, np.random.default_rng(0)))
    missing, by_group = np.zeros((1, 3, 5, 4), dtype=np.int64), np.zeros((1, 3, 4, 4), dtype=np.int64)
    missing[0, Missing.UNKNOWN, 0, 0] = by_group[0, Missing.UNKNOWN, 0, 1] = 10
    X = rows.rows_by_cell().shape[3]
    in_cells = np.zeros((1, 4, 4, X), dtype=np.int64)
    in_cells[0, 0, 1, :2] = [4, 2]
    cohort = Cohort(rows, missing, Loss.of(asked, "worst"), in_cells=in_cells, by_group=by_group)
    brought = proof._brought(cohort)
    assert brought.lost is not None and brought.natural is not None
    at = proof.cells.cell_of[1]
    assert brought.lost.cells[0, at[0]] == 4 and brought.lost.cells[0, at[1]] == 2 and brought.lost.cells.sum() == 6
    assert brought.lost.anywhere[0].tolist() == [4, 0, 0, 0]
    everybody = rows.group_sums((0,))[0] + by_group.sum(axis=1)
    assert np.array_equal(brought.rows, everybody) and np.array_equal(brought.natural, everybody.sum(axis=1))


def test_each_kind_of_missing_row_counts_in_its_own_way():
    """Of 40 people of arm 0, all of group 1: three unserved, two with the stated outcome in an unknown cell, five missing at random."""
    asked = problem()
    proof = Certified.of(asked, 0.05, estimated=False)
    pulls = np.zeros((1, 5, 4), dtype=np.int64)
    pulls[0, 0, 0] = 30
    rows = CellEvidence(asked, world(asked).draw(pulls, np.random.default_rng(0)))
    missing, by_group = np.zeros((1, 3, 5, 4), dtype=np.int64), np.zeros((1, 3, 4, 4), dtype=np.int64)
    missing[0, :, 0, 0] = by_group[0, :, 0, 1] = [3, 2, 5]
    loss = Loss.of(asked, asked.variables[asked.outcome.node].states[0])
    cohort = Cohort(rows, missing, loss, by_group=by_group)
    brought, came = proof._brought(cohort), rows.group_sums((0,))[0]
    assert brought.lost is not None and brought.natural is not None and brought.lost.outcome == loss.outcome
    assert brought.lost.anywhere[0, 0] == 3 and brought.lost.stated is not None and brought.lost.stated[0, 0] == 2
    assert np.array_equal(
        brought.rows[0, 0], came[0, 0] + [0, 5, 0, 0]
    )  # those missing at random are left out of the bet
    assert np.array_equal(brought.natural[0], came[0].sum(axis=0) + np.array([0, 10, 0, 0]))  # but not of who arrives
    assert cohort.dealt[0, 0, 0] == 40 and cohort.counted[0, 0, 0] == 35
    assert proof.after(cohort, proof.start(1), 0, np.arange(1)).lost.tolist() == [[3, 2]]


def test_where_the_group_comes_with_the_outcome_the_blend_is_that_of_the_declared_shares_always():
    """Whether rows are missing must not decide which bet is made: it may depend on outcomes."""
    asked = problem()
    proof = Certified.of(asked, 0.05, estimated=False)
    pulls = np.zeros((1, 5, 4), dtype=np.int64)
    pulls[0, 0, 0] = 40
    rows = CellEvidence(asked, world(asked).draw(pulls, np.random.default_rng(0)))
    whole = proof._brought(Cohort(rows, loss=Loss.of(asked, "worst"), by_shares=True))
    assert whole.rows[0, 0] == pytest.approx([16, 12, 8, 4]) and whole.lost is None


def test_a_cut_cohort_costs_the_reserve_and_tests_no_law():
    asked = problem()
    proof = Certified.of(asked, 0.05, estimated=False)
    pulls = np.zeros((2, 5, 4), dtype=np.int64)
    pulls[:, 0] = 25
    rng, who = np.random.default_rng(1), np.arange(2)
    books = proof.start(2)
    for _ in range(4):
        books = proof.after(Cohort(CellEvidence(asked, world(asked).draw(pulls, rng))), books, 0, who, 0.95)
    last = CellEvidence(asked, world(asked).draw(pulls, rng))
    cut = proof.after(Cohort(last, cut=np.array([True, False])), books, 0, who, 0.95)
    whole = proof.after(Cohort(last), books, 0, who, 0.95)
    assert np.array_equal(cut.tested[0], books.tested[0]) and np.array_equal(cut.tested[1], whole.tested[1])
    assert np.array_equal(cut.labels[1], whole.labels[1]) and np.array_equal(cut.n, whole.n)
    assert np.array_equal(cut.natural[0], books.natural[0])
    groups = last.group_sums((0,))[0]
    nobody = np.zeros((2, 3, *groups.shape[1:]), dtype=np.int64)
    known = proof.after(Cohort(last, cut=np.array([True, False]), by_group=nobody), books, 0, who, 0.95)
    assert np.array_equal(known.natural, books.natural + groups.sum(axis=1))
    moved = cut.labels[0] != books.labels[0]
    assert moved.any() and cut.labels[0][moved] - books.labels[0][moved] == pytest.approx(np.log(0.05))
