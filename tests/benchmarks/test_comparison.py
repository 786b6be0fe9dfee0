"""The comparison of all algorithms: a quick one is run, and the committed one is what its page says."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.comparison.__main__ import TARGET, grouped, page
from benchmarks.comparison.judge import _worse, holm, losses, pulls_to_reach, saving
from benchmarks.comparison.plan import COMPETITORS, NOISY, PAPER_SETTINGS, RIVALS, SETTINGS, comparison_plan

from fairarm.experiments.paper.run import FinishedPoint, run_paper

HERE = Path(__file__).parents[2] / "benchmarks" / "comparison"


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> list[FinishedPoint]:
    return run_paper(comparison_plan(quick=True), tmp_path_factory.mktemp("points"), seed=5)


@pytest.mark.slow
def test_pool_is_not_worse_than_any_competitor_in_the_quick_comparison(quick: list[FinishedPoint]) -> None:
    by = grouped(quick)
    for setting, by_algorithm in by.items():
        assert set(by_algorithm) == {"pool", "pool-estimated", *COMPETITORS}
        assert not [loss for loss in losses(setting, by_algorithm) if loss.significant], setting
        errors = {name: np.mean([e.error for e in found]) for name, found in by_algorithm.items()}
        assert errors["pool"] <= min(errors[name] for name in RIVALS) - 0.2


@pytest.mark.slow
def test_the_page_is_made_of_the_quick_comparison(quick: list[FinishedPoint]) -> None:
    text = page(grouped(quick), 60, 3)
    assert "loose-noisy" in text and "hepar2" in text


def evidence(errors: list[int], pulls: int, runs: int = 100) -> FinishedPoint:
    from dataclasses import replace

    point = replace(comparison_plan(quick=True)[0], pulls=pulls, runs=runs, instances=("a", "b"))
    return FinishedPoint(point, runs, sum(errors), 0, 0, 0, 0, 0.0, tuple(errors))


def test_the_crossing_is_log_linear_on_the_falling_curve() -> None:
    pulls = np.array([10.0, 100.0, 1000.0, 10_000.0])
    assert math.isclose(pulls_to_reach(pulls, np.array([0.5, 0.3, 0.1, 0.0]), 0.2), 100 * math.sqrt(10))
    assert pulls_to_reach(pulls, np.array([0.5, 0.4, 0.3, 0.2]), 0.1) == math.inf
    assert pulls_to_reach(pulls, np.array([0.05, 0.0, 0.0, 0.0]), 0.1) == 10.0
    # a lucky point followed by a worse one is averaged with it: 0.05 and 0.25 become 0.15 and 0.15
    assert pulls_to_reach(pulls, np.array([0.5, 0.05, 0.25, 0.0]), 0.1) > 1000


def test_a_saving_is_the_ratio_of_the_crossings() -> None:
    curves = {
        "pool": [evidence([20, 20], 10), evidence([0, 0], 100)],
        "csr-v2": [evidence([50, 50], 1000), evidence([0, 0], 10_000)],
        "two-stage-v2": [evidence([50, 50], 1000), evidence([20, 20], 10_000)],
    }
    found = saving("x", curves, RIVALS, TARGET)
    expected = 10 ** (3 + 0.9) / 10 ** (1 + 0.75)
    assert math.isclose(found.ratio, expected, rel_tol=1e-9)
    assert found.low < found.ratio < found.high
    assert found.rivals["two-stage-v2"] == math.inf


def test_losses_are_tested_one_sided_withholms_correction() -> None:
    worse, better = evidence([20, 20], 100), evidence([5, 5], 100)
    assert _worse(worse, better) < 1e-5 < 0.999 < _worse(better, worse)
    assert holm([0.004, 0.0049, 0.2], 0.01) == [False, False, False]
    assert holm([0.003, 0.0049, 0.2], 0.01) == [True, True, False]
    found = losses("x", {"pool": [worse], "csr-v2": [better], "mis": [evidence([21, 21], 100)]})
    assert [(loss.competitor, loss.significant) for loss in found] == [("csr-v2", True)]


def test_the_committed_comparison_covers_everything_that_was_planned() -> None:
    with (HERE / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    planned = {(p.setting, p.algorithm, p.reading, str(p.pulls)) for p in comparison_plan()}
    assert {(r["setting"], r["algorithm"], r["reading"], r["pulls"]) for r in rows} == planned
    assert {r["setting"] for r in rows} == {*SETTINGS, *NOISY}
    assert all(int(r["runs"]) >= 400 and int(r["instances"]) >= 10 for r in rows)
    text = (HERE / "results.md").read_text(encoding="utf-8")
    assert all(f"| {setting} |" in text for setting in PAPER_SETTINGS)
