"""The calibration gate with fewer runs, and what the last full one said.

A certified rule fails a one-sided test here with probability at most 1e-4; seeds are fixed. A rule that errs 3 times as often as δ =
0.05 fails it with probability 0.9 at 200 runs (`make test`: one stratum of each kind), one that errs twice as often at 660
(`make test-all`: all strata).
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from benchmarks.calibration import gate
from benchmarks.calibration.strata import strata

from fairarm.core.proof.region import intervals

RESULTS = Path(gate.__file__).parent
EASY_CAP, BORDER_CAP, SEED = 2000, 250, 11
ALL = [stratum.name for stratum in strata()]
EACH_KIND = [
    "clear", "no-fair-arm", "all-at-tolerance", "tied-at-tolerance", "order-by-share", "groups-99-to-1-unknown", "many-values",
    "context-unknown", "edge-on-shares-unknown", "every-pull",
]  # fmt: skip
CASES = [(name, 200) for name in EACH_KIND] + [pytest.param(name, 660, marks=pytest.mark.slow) for name in ALL]


@pytest.mark.parametrize(("name", "runs"), CASES)
def test_certified_answers_and_what_they_rest_on(name, runs):
    """Wrong answers, refuted true answers, wrong labels: at most δ; a true claim about a gap: δ/K; easy strata: decided."""
    stratum = gate.stratum_named(name)
    cap = 60 if stratum.growth == 1 else EASY_CAP if stratum.easy else BORDER_CAP
    found = gate.stopped_runs(name, "certified", 0, runs, SEED, cap)
    assert gate.p_value(int(found.wrong.sum()), runs, gate.DELTA) >= gate.SIGNIFICANCE
    assert gate.p_value(found.mislabelled, runs, gate.DELTA) >= gate.SIGNIFICANCE
    assert gate.p_value(int(found.truths.max()), runs, gate.DELTA) >= gate.SIGNIFICANCE
    assert gate.p_value(int(found.refuted.max()), runs, gate.DELTA / len(stratum.problem.arms)) >= gate.SIGNIFICANCE
    if stratum.easy:
        assert np.mean(~found.undecided) >= 0.95


@pytest.mark.parametrize("name", list(gate.CORE_CASES))
def test_bets_alone(name):
    case = gate.CORE_CASES[name]
    found = gate.core_runs(name, 300, 80, 10 if case.concentration else 1, SEED)
    assert gate.p_value(int(found.truths.max()), 300, gate.DELTA) >= gate.SIGNIFICANCE
    assert gate.p_value(int(found.wrong.sum()), 300, gate.DELTA) >= gate.SIGNIFICANCE
    assert gate.p_value(int(found.refuted.max()), 300, gate.DELTA / 2) >= gate.SIGNIFICANCE


@pytest.mark.parametrize("name", list(gate.COVERAGE_CASES))
def test_intervals_hold_the_truth_at_all_looks(name):
    missed = gate.coverage(gate.COVERAGE_CASES[name], 200, 120, SEED)
    for count in (missed.region, missed.intervals, missed.share):
        assert gate.p_value(count, 200, gate.DELTA) >= gate.SIGNIFICANCE


def test_natural_pulls_are_made_where_only_they_can_tell():
    """Which arm is better depends on P(S) alone, near ½ and not declared: forced pulls would never end it."""
    found = gate.stopped_runs("order-by-share", "certified", 0, 40, SEED, 10_000)
    assert np.mean(~found.undecided) >= 0.95


def test_an_arm_that_treats_the_groups_alike_has_a_gap_of_0():
    found = intervals(np.array([[5000.0, 4000.0]]), np.array([[500.0, 400.0]]), np.full((1, 2, 2), 0.5), 0.05)
    assert found.gaps == pytest.approx(np.zeros((1, 1, 2)))


def test_p_values():
    assert gate.p_value(0, 10, 0.05) == 1
    assert gate.p_value(10, 10, 0.05) == pytest.approx(0.05**10)
    assert gate.p_value(1, 2, 0.5) == pytest.approx(0.75)


def test_bins_hold_every_answer_once():
    claimed = np.array([0.0, 0.5, 0.94, 0.95, 0.999, 1.0])
    bins = gate.calibration(gate.Claimed(claimed, np.array([False, True, True, True, False, True])))
    assert [(b.low, b.answers, b.right) for b in bins] == [(0.0, 1, 0), (0.5, 1, 1), (0.9, 1, 1), (0.95, 1, 1), (0.99, 2, 1)]  # fmt: skip


def test_posterior_probabilities_are_not_far_off_where_the_answer_is_clear():
    """Claims of 0.9 and more, at 40 pulls: right in 0.8 of runs at least (they are less probable a priori than they say)."""
    parts = [
        gate.fixed_runs(name, 40, 0, 60, SEED) for name in ("clear", "no-fair-arm", "skewed-outcomes", "order-by-share")
    ]
    seen = gate.Claimed.joined(parts)
    sure = seen.claimed >= 0.9
    assert sure.sum() > 50
    assert seen.right[sure].mean() >= 0.8


def committed() -> list[dict[str, str]]:
    with (RESULTS / "results.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_last_full_gate_passed():
    lines = committed()
    assert not [line for line in lines if line["passes"] == "False"]
    certified = {line["name"]: line for line in lines if line["part"] == "certified"}
    assert list(certified) == [*ALL, *gate.CORE_CASES]
    for line in certified.values():
        assert int(line["runs"]) >= 2000
        assert gate.p_value(int(line["wrong"]), int(line["runs"]), gate.DELTA) >= gate.SIGNIFICANCE
        assert int(line["wrong"]) + int(line["right"]) + int(line["undecided"]) == int(line["runs"])
    decided = {line["name"]: float(line["rate"]) for line in lines if line["part"] == "decides"}
    assert set(decided) == {stratum.name for stratum in strata() if stratum.easy}
    assert min(decided.values()) >= 0.95
    shown = {line["name"] for line in lines if line["part"] == "bayes-stop"}
    assert shown == {stratum.name for stratum in strata() if stratum.growth is None}


def test_the_last_full_gate_is_written_down():
    text = (RESULTS / "results.md").read_text(encoding="utf-8")
    assert "**All pass.**" in text
    for name in (*ALL, *gate.CORE_CASES, *gate.COVERAGE_CASES):
        assert f"| {name} |" in text
    assert (RESULTS / "calibration.svg").exists()
