"""`fairarm paper`: the same bytes however it is run, verdicts by their rules, a page that needs no network."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from benchmarks.damage import KINDS, kept_point, tallies

from fairarm.catalog import load_problem
from fairarm.cli import main
from fairarm.experiments.paper import FinishedPoint, PaperPoint, paper_plan, run_paper
from fairarm.experiments.paper.bounds import BoundCurve, InstanceBound, reach
from fairarm.experiments.paper.instances import describe
from fairarm.experiments.paper.plan import FOUR
from fairarm.reports.paper import rules, write_report
from fairarm.reports.paper.claims import claim_sections
from fairarm.reports.paper.figures import FIGURES
from fairarm.reports.paper.judging import FAILS, HOLDS, UNKNOWN, Claim, Judged, Material, Statement, judge
from fairarm.reports.paper.page import inline, verdict_kind
from fairarm.reports.paper.rules import Count, NotMeasuredError, Results

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "docs" / "paper" / "quick-results.csv"


def tiny_plan() -> list[PaperPoint]:
    """24 points of small instances: the first figure and its claims, in a second or two."""
    return [
        PaperPoint("synthetic", s, a, "default", T, tuple(f"synthetic-{s}:K=5,m=6,seed={i}" for i in range(2)), 6)
        for s in ("none", "loose", "tight")
        for a in FOUR
        for T in (60, 240)
    ]


def files(folder: Path) -> dict[str, bytes]:
    """All that was written, except the kept points, whose order of arrival leaves no trace anyway."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "points" not in path.relative_to(folder).parts
    }


def finished(folder: Path, **how: object) -> dict[str, bytes]:
    evidence = run_paper(tiny_plan(), folder / "points", **how)  # type: ignore[arg-type]
    write_report(evidence, folder, seed=0, quick=True)
    return files(folder)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The tiny plan in one process, uninterrupted."""
    return finished(tmp_path_factory.mktemp("alone"))


# ---- the same for any workers, and after an interruption ----


def test_everything_is_written(alone: dict[str, bytes]) -> None:
    assert {"results.csv", "results.parquet", "instances.csv", "claims.md", "report.html"} < set(alone)
    assert {"figures/synthetic.svg", "figures/synthetic.png"} < set(alone)
    assert sum(name.startswith("instances/") for name in alone) == 6
    assert alone["results.csv"].count(b"\n") == 25


def test_two_loky_workers_give_the_same_files(alone: dict[str, bytes], tmp_path: Path) -> None:
    assert finished(tmp_path, jobs=2) == alone


def test_two_dask_workers_give_the_same_files(alone: dict[str, bytes], tmp_path: Path) -> None:
    assert finished(tmp_path, jobs=2, backend="dask") == alone


def test_an_exception_loses_no_finished_point(alone: dict[str, bytes], tmp_path: Path) -> None:
    seen = 0

    def stop() -> None:
        nonlocal seen
        seen += 1
        if seen == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_paper(tiny_plan(), tmp_path / "points", on_done=stop)
    assert len(list((tmp_path / "points").glob("*.json"))) == 7
    assert finished(tmp_path) == alone


def test_a_killed_run_goes_on_to_the_same_bytes(alone: dict[str, bytes], tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; sys.path[:0] = sys.argv[2:]\n"
        "from test_paper import tiny_plan; from fairarm.experiments.paper import run_paper\n"
        "points = Path(sys.argv[1])\n"
        "def check():\n"
        "    if len(list(points.glob('*.json'))) >= 5: os.kill(os.getpid(), signal.SIGKILL)\n"
        "run_paper(tiny_plan(), points, on_done=check)"
    )
    points = tmp_path / "points"
    run = [sys.executable, "-c", code, str(points), str(Path(__file__).parent)]
    killed = subprocess.run(run, check=False, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert len(list(points.glob("*.json"))) == 5
    assert finished(tmp_path) == alone


@pytest.mark.parametrize("damage", ["", "{", "[1, 2]", '{"runs": 6}', "\x00\x01"])
def test_a_damaged_point_is_computed_again(damage: str, tmp_path: Path) -> None:
    plan = tiny_plan()[:2]
    first = run_paper(plan, tmp_path)
    broken = sorted(tmp_path.glob("*.json"))[0]
    whole = broken.read_bytes()
    broken.write_text(damage, encoding="utf-8")
    assert run_paper(plan, tmp_path) == first
    assert broken.read_bytes() == whole


def test_a_kept_point_with_one_byte_changed_is_never_taken_for_other_content(tmp_path: Path) -> None:
    """Every position, in four ways."""
    _, document, taken = kept_point(tmp_path)
    found = tallies(document, taken)
    assert {kind: tally.other for kind, tally in found.items()} == dict.fromkeys(KINDS, 0)
    assert min(tally.refused for tally in found.values()) > 250


def test_a_kept_point_of_another_name_is_computed_again(tmp_path: Path) -> None:
    plan = tiny_plan()[:2]
    first = run_paper(plan, tmp_path)
    one, other = sorted(tmp_path.glob("*.json"))
    one.write_bytes(other.read_bytes())
    assert run_paper(plan, tmp_path) == first


def test_kept_points_are_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = tiny_plan()[:2]
    first = run_paper(plan, tmp_path)
    monkeypatch.setattr("fairarm.experiments.paper.run.run_point", None)
    assert run_paper(plan, tmp_path) == first


def test_points_of_another_seed_are_not_taken(tmp_path: Path) -> None:
    run_paper(tiny_plan()[:2], tmp_path, seed=0)
    run_paper(tiny_plan()[:2], tmp_path, seed=1)
    assert len(list(tmp_path.glob("*.json"))) == 4


def test_parquet_and_csv_agree(alone: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "r.parquet").write_bytes(alone["results.parquet"])
    table = pq.read_table(tmp_path / "r.parquet").to_pylist()
    rows = list(csv.DictReader(alone["results.csv"].decode().splitlines()))
    assert [list(row) for row in table] == [list(row) for row in rows]
    for wide, text in zip(table, rows, strict=True):
        assert {key: str(value) for key, value in wide.items()} == text


# ---- the plan ----


@pytest.mark.parametrize("short", [True, False])
def test_every_point_is_planned_once_with_runs_to_spread(short: bool) -> None:
    plan = paper_plan(short)
    assert len(set(plan)) == len(plan)
    assert all(point.runs % len(point.instances) == 0 for point in plan)
    assert {p.experiment for p in plan} == {"synthetic", "ablation", "no-fair-arm", "hepar2", "readings", "sris", "bounds"}  # fmt: skip


@pytest.mark.parametrize("short", [True, False])
def test_readings_have_their_default_point(short: bool) -> None:
    plan = paper_plan(short)
    main_points = {(p.setting, p.algorithm, p.pulls) for p in plan if p.experiment in ("synthetic", "hepar2")}
    read = {(p.setting, p.algorithm, p.pulls) for p in plan if p.experiment == "readings"}
    assert read <= main_points


# ---- the quick look, as CI runs it ----


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("quick") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fairarm", "paper", "--quick", "--seed", "0", "--jobs", "2", "--out", str(out)])
        with pytest.raises(SystemExit) as end:
            main()
    assert end.value.code in (0, None)
    return out


def test_the_quick_look_gives_the_recorded_results(quick: Path) -> None:
    assert (quick / "results.csv").read_bytes() == RECORDED.read_bytes()


def test_the_page_is_whole_and_needs_no_network(quick: Path) -> None:
    page = (quick / "report.html").read_text(encoding="utf-8")
    for name in FIGURES:
        assert f'id="figure-{name}"' in page
        assert inline(quick / "figures" / f"{name}.svg") in page
    assert len(re.findall(r"<svg\b", page)) == len(FIGURES)
    outside = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    assert re.search(r"https?:", outside) is None
    assert re.search(r"<(script|link|iframe|img)\b|@import|\bsrc=", outside) is None
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert "fairarm paper --quick --seed 0" in page
    assert 'name="viewport"' in page


def test_claims_of_a_quick_look_say_so(quick: Path) -> None:
    text = (quick / "claims.md").read_text(encoding="utf-8")
    assert "quick look" in text.split("## Rules")[0]
    assert UNKNOWN not in text
    assert "/tmp" not in text


def test_saved_instances_read_back_with_the_listed_truth(quick: Path) -> None:
    rows = list(csv.DictReader((quick / "instances.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == len(list((quick / "instances").glob("*.toml")))
    for row in rows[::5]:
        world = load_problem(quick / "instances" / row["file"]).world
        assert world is not None
        truth = world.truth()
        assert truth is not None
        assert int(row["fair_arms"]) == truth.fair.sum()


@pytest.mark.parametrize(
    "arguments", [["--backend", "threads"], ["--jobs", "0"], ["--seed", "-1"], ["--out", "/dev/null/x"]]
)
def test_mistakes_end_with_2_and_no_traceback(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fairarm", "paper", "--quick", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['fairarm', 'paper', '--help']\n"
        "from fairarm.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'matplotlib', 'pyarrow', 'jinja2', 'joblib'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


# ---- instances, from first principles ----


def test_an_instance_is_described_as_enumeration_has_it() -> None:
    """S → V → Y: every number from the arms' tables and Y's, by hand."""
    name = "synthetic-tight:seed=1"
    found = describe(name)
    scenario = load_problem(name)
    law = np.array([arm.mechanism.probabilities for arm in scenario.problem.arms])  # type: ignore[union-attr]  # (K, S, V)
    theta = scenario.world.network.tables["Y"].probabilities[:, 1]  # type: ignore[union-attr]
    by_group = law @ theta
    outcomes, gaps = by_group.mean(axis=1), by_group[:, 0] - by_group[:, 1]
    fair = np.abs(gaps) < 0.03
    ranked = np.sort(outcomes[fair])
    assert found.tolerance == 0.03
    assert found.fair_arms == fair.sum() == 9
    assert found.outcome_gap == pytest.approx(ranked[-1] - ranked[-2], abs=1e-12)
    assert found.fairness_gap == pytest.approx(np.min(np.abs(np.abs(gaps) - 0.03)), abs=1e-12)
    assert found.better_but_unfair == np.sum(outcomes[~fair] > ranked[-1])
    assert found.best_fair_arm == scenario.problem.arm_names[int(np.flatnonzero(outcomes == ranked[-1])[0])]

    M = np.log(0.5 * (law[1:] * np.exp(law[1:] / law[0])).sum(axis=(1, 2)))
    assert (found.M_low, found.M_high) == (pytest.approx(M.min()), pytest.approx(M.max()))
    for (s, t), low, high in (((0, 1), found.D_low, found.D_high), ((1, 0), found.D_back_low, found.D_back_high)):
        g = np.abs(law[1:, s] - law[1:, t]) / law[0, t]
        D = np.log(((law[1:, s] + law[1:, t]) * np.exp(g)).sum(axis=1))
        assert (low, high) == (pytest.approx(D.min()), pytest.approx(D.max()))
    assert found.share_natural + found.share_s + found.share_s_prime == pytest.approx(1)
    assert found.file == "synthetic-tight-seed-1.toml"


# ---- rules ----


def curve(*errors: int, runs: int = 100) -> dict[int, Count]:
    return {10 ** (i + 2): Count(e, runs) for i, e in enumerate(errors)}


def test_z_statistic_by_hand() -> None:
    """30 and 50 of 100: pooled 0.4, deviation √(0.4·0.6·2/100) = 0.0693, z = −2.887."""
    assert rules.z_statistic(Count(30, 100), Count(50, 100)) == pytest.approx(-2.8868, abs=1e-4)
    assert rules.z_statistic(Count(0, 50), Count(0, 50)) == 0
    assert rules.significantly_lower(Count(30, 100), Count(50, 100))
    assert not rules.significantly_lower(Count(50, 100), Count(30, 100))
    assert not rules.significantly_lower(Count(45, 100), Count(50, 100))


def test_better_needs_a_quarter_of_the_pulls_and_one_direction() -> None:
    low, high = curve(90, 50, 10, 0), curve(90, 80, 60, 0)
    assert rules.better(low, high) and not rules.better(high, low)
    assert not rules.better(low, low)
    assert not rules.better(curve(90, 50, 60, 0), curve(90, 80, 10, 0)), "each is lower once"
    assert rules.much_better(low, high)
    assert not rules.much_better(curve(90, 90, 90, 10), curve(90, 90, 90, 45)), "0.0875 on average is not much"


def test_best_is_lowest_and_unbeaten() -> None:
    curves = {"a": curve(80, 40, 10), "b": curve(80, 60, 30), "c": curve(90, 90, 90)}
    assert rules.best(curves, "a") and not rules.best(curves, "b") and not rules.best(curves, "c")
    uneven = {"a": curve(99, 30, 60), "b": curve(0, 99, 99)}
    assert not rules.best({"a": curve(60, 60, 0), "b": curve(40, 40, 90)}, "a"), "lowest, but beaten at two of three"
    assert rules.best(uneven, "a") == (rules.mean(uneven["a"]) <= rules.mean(uneven["b"]))


def test_similar_is_overlap_at_most_pulls() -> None:
    assert rules.similar(curve(50, 50, 50), curve(52, 55, 90))
    assert not rules.similar(curve(50, 50, 50), curve(52, 90, 90))


def test_falls_allows_no_rise() -> None:
    assert rules.falls(curve(90, 60, 20))
    assert not rules.falls(curve(20, 60, 90))
    assert not rules.falls(curve(90, 10, 40)), "rises at the last step"
    assert not rules.falls(curve(50, 50, 50))
    assert rules.falls_until(curve(90, 60, 20, 19)) == 10**4


@pytest.mark.parametrize(
    ("number", "text"),
    [(1000, "1 000"), (31_623, "31 623"), (10**8, "10⁸"), (327_812_115_139_346, "3.3·10¹⁴")],
)
def test_pulls_as_text(number: int, text: str) -> None:
    assert rules.pulls_text(number) == text


# ---- verdicts ----


def statement(rule: Callable[[str], Judged]) -> Statement:
    return Statement("here", "something", rule, ("clip_base=e", "outcome_pulls=all"))


def test_every_verdict_can_be_reached() -> None:
    def missing(_: str) -> Judged:
        raise NotMeasuredError("nothing")

    held = judge(1, statement(lambda _: Judged(True, "yes.")))
    failed = judge(2, statement(lambda _: Judged(False, "no.")))
    partly = judge(3, statement(lambda reading: Judged(reading == "outcome_pulls=all", f"{reading}.")))
    unknown = judge(4, statement(missing))
    assert [c.verdict for c in (held, failed, partly, unknown)] == [HOLDS, FAILS, "holds under outcome_pulls=all", UNKNOWN]  # fmt: skip
    assert partly.measured == "default. Under outcome_pulls=all: outcome_pulls=all."
    assert [verdict_kind(c.verdict) for c in (held, failed, partly, unknown)] == ["yes", "no", "partly", "unknown"]


def evidence(
    setting: str, name: str, errors: dict[int, int], experiment: str, reading: str = "default"
) -> list[FinishedPoint]:
    return [
        FinishedPoint(PaperPoint(experiment, setting, name, reading, T, ("x",), 100), 100, e, 0, 0, 0, e // 2, 1.0, (e,))
        for T, e in errors.items()
    ]  # fmt: skip


def verdicts(found: list[FinishedPoint], bounds: tuple[BoundCurve, ...] = ()) -> dict[str, str]:
    claims: list[Claim] = [c for s in claim_sections(Material(Results(found), [], bounds)) for c in s.claims]
    return {claim.says: claim.verdict for claim in claims}


def four(setting: str, experiment: str, reading: str = "default", **errors: dict[int, int]) -> list[FinishedPoint]:
    names = {name.replace("-", "_"): name for name in FOUR}
    return [e for key, value in errors.items() for e in evidence(setting, names[key], value, experiment, reading)]


def test_loose_claims_follow_the_counts_and_turn_with_them() -> None:
    low, high = {100: 80, 1000: 30, 10_000: 5}, {100: 85, 1000: 60, 10_000: 40}
    as_printed = verdicts(four("loose", "synthetic", csr_v1=high, csr_v2=low, two_stage_v1=high, two_stage_v2=high))
    turned = verdicts(four("loose", "synthetic", csr_v1=low, csr_v2=high, two_stage_v1=high, two_stage_v2=low))
    best, like = "CSR-V2 has the lowest error of the four.", "CSR-V1 performs like two-stage V1."
    assert (as_printed[best], as_printed[like]) == (HOLDS, HOLDS)
    assert (turned[best], turned[like]) == (FAILS, FAILS)
    assert as_printed["CSR-V2 does much better than the other three."] == UNKNOWN


def test_hepar2_claims_look_at_the_other_readings() -> None:
    good, bad = {2000: 30, 10_000: 10}, {2000: 80, 10_000: 60}
    points = four("hepar2", "hepar2", csr_v1=bad, csr_v2=bad, two_stage_v1=bad, two_stage_v2=good)
    points += four("hepar2", "readings", "outcome_pulls=all", csr_v1=good, csr_v2=good, two_stage_v1=bad, two_stage_v2=bad)  # fmt: skip
    found = verdicts(points)
    assert found["CSR-V2 is (with CSR-V1) the best of the four."] == "holds under outcome_pulls=all"
    assert found["CSR-V1 does better than both two-stage baselines."] == "holds under outcome_pulls=all"
    assert found["Two-stage V2 does badly: worse than CSR-V1 and CSR-V2."] == "holds under outcome_pulls=all"
    cause = next(text for text in found if text.startswith("Presumably"))
    assert found[cause] == HOLDS


def test_a_bound_below_the_simulated_error_is_noticed() -> None:
    says = "Where a fair arm exists, CSR-V1's error is at most the bound."
    points = [e for s in ("none", "loose", "tight") for e in evidence(s, "csr-v1", {100: 50}, "synthetic")]
    points += [e for s in ("none", "loose", "tight") for e in evidence(s, "csr-v1", {10**6: 20}, "bounds")]

    def with_bound(level: float) -> str:
        one = InstanceBound("x", 1, (1.0, level), 10**6)
        return verdicts(points, tuple(BoundCurve(s, (100, 10**6), (one,)) for s in ("none", "loose", "tight")))[says]

    assert with_bound(0.5) == HOLDS
    assert with_bound(0.01) == FAILS


def test_reach_finds_where_a_bound_falls_to_a_tenth() -> None:
    def bound(T: int) -> float:
        return min(1.0, 3e4 / T)

    pulls = [10**2, 10**4, 10**6]
    found = reach(bound, pulls, [bound(T) for T in pulls])
    assert found == pytest.approx(3e5, rel=0.35)
    assert found is not None and bound(found) <= 0.1
    assert reach(lambda _: 1.0, pulls, [1.0, 1.0, 1.0]) is None
