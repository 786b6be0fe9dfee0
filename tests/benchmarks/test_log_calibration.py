"""How logs are judged, by hand; and the committed page is made of the committed results."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.logs import calibration
from benchmarks.logs.calibration import HERE, held, just_missed, missed, page, results_of, run
from benchmarks.logs.judge import ALL, Tally, answers, certified, judge, plain, read_tallies, usual, write_tallies
from benchmarks.logs.tables import Plain
from benchmarks.logs.worlds import KINDS


def estimate(low: float, high: float, sure: tuple[float, float] | None = None) -> SimpleNamespace:
    ends = (None, None) if sure is None else sure
    return SimpleNamespace(low=low, high=high, value=(low + high) / 2, certified_low=ends[0], certified_high=ends[1])


def arm(name: str, outcome: Any, gap: Any, fair: float) -> SimpleNamespace:
    return SimpleNamespace(name=name, outcome=outcome, gap=gap, fair_probability=fair)


def log(outcomes: list[float], gaps: list[float], tolerance: float = 0.1, rows: Plain | None = None) -> Any:
    names = [f"arm-{k}" for k in range(len(outcomes))]
    problem = SimpleNamespace(
        arm_names=names, arm_index=names.index, gap_tolerance=tolerance, outcome=SimpleNamespace(width=1.0)
    )
    return SimpleNamespace(problem=problem, outcomes=np.array(outcomes), gaps=np.array(gaps), plain=rows)


def found(*arms: SimpleNamespace, **more: Any) -> Any:
    said: dict[str, Any] = {
        "status": "FOUND", "arm": "arm-0", "probability": 0.9, "findings": (), "certified_status": "UNDECIDED",
        "certified_arm": None, "plain_gap": None,
    }  # fmt: skip
    return SimpleNamespace(arms=arms, **{**said, **more})


def test_an_interval_holds_if_the_truth_is_between_its_ends() -> None:
    world = log([0.5, 0.2], [0.05, 0.3])
    first = arm("arm-0", estimate(0.4, 0.6), estimate(0.06, 0.2), 0.85)
    second = arm("arm-1", estimate(0.1, 0.19), estimate(0.3, 0.3), 0.8)
    facts = list(usual(world, found(first, second)))
    assert [(a, m, bool(v)) for a, m, v in facts if m.endswith("held")] == [
        ("arm-0", "outcome held", True),
        ("arm-0", "gap held", False),  # below
        ("arm-1", "outcome held", False),  # above
        ("arm-1", "gap held", True),  # the ends belong to it
    ]
    assert [v for a, m, v in facts if (a, m) == ("arm-0", "gap width")] == [pytest.approx(0.14)]
    assert [v for _, m, v in facts if m == "fair said"] == [0.85, 0.8]
    assert [bool(v) for _, m, v in facts if m == "fair true"] == [True, False]


def test_a_gap_of_exactly_0_is_held_by_an_interval_that_is_0() -> None:
    facts = usual(log([0.5], [1e-17]), found(arm("arm-0", estimate(0.4, 0.6), estimate(0.0, 0.0), 0.5)))
    assert all(value for _, measure, value in facts if measure == "gap held")


def said(world: Any, what: Any) -> dict[str, float]:
    return {measure: float(value) for _, measure, value in answers(world, what)}


def test_the_answer_is_right_if_it_is_the_best_fair_arm_or_none_where_none_is_fair() -> None:
    best_unfair = log([0.9, 0.5, 0.4], [0.2, 0.0, 0.0])
    assert said(best_unfair, found(arm="arm-1"))["answer true"] == 1
    wrong = said(best_unfair, found(arm="arm-0", probability=0.7))
    assert wrong == {"decided": 1, "answer said": 0.7, "answer true": 0, "unfair arm named": 1}
    assert said(best_unfair, found(arm=None, status="NO_FAIR_ARM"))["sure answer true"] == 0
    assert said(log([0.9], [0.2]), found(arm=None, status="NO_FAIR_ARM"))["sure answer true"] == 1
    two = (SimpleNamespace(name="model-disagrees"), SimpleNamespace(name="model-disagrees"))
    assert said(best_unfair, found(status="UNDECIDED", arm=None, findings=two)) == {
        "decided": 0,
        "finding model-disagrees": 1,
    }


def test_certified_intervals_count_only_if_all_hold() -> None:
    world = log([0.5, 0.2], [0.05, 0.3])
    sound = arm("arm-0", estimate(0, 1, (0.4, 0.6)), estimate(0, 1, (0.0, 0.1)), 0.5)
    off = arm("arm-1", estimate(0, 1, (0.1, 0.3)), estimate(0, 1, (0.0, 0.2)), 0.5)
    facts = {measure: float(value) for _, measure, value in certified(world, found(sound, off))}
    assert facts["certified held"] == 0 and facts["certified outcome width"] == pytest.approx(0.2)
    alone = {
        m: v for _, m, v in certified(log([0.5], [0.05]), found(sound, certified_status="FOUND", certified_arm="arm-0"))
    }
    assert alone["certified held"] and not alone["certified wrong"]
    bare = arm("arm-0", estimate(0, 1), estimate(0, 1), 0.5)
    assert {m: v for _, m, v in certified(world, found(bare, off))}["certified held"] is False
    assert not list(certified(log([0.5], [0.05]), found(bare)))


def test_the_logging_arm_beside_its_plain_rows() -> None:
    near = arm("arm-0", estimate(0.4, 0.6), estimate(-0.1, 0.1), 0.5)
    facts = {
        m: bool(v) for _, m, v in plain(log([0], [0], rows=Plain(0.56, 0.05, 0.54, 0.2)), found(near, plain_gap=0.05))
    }
    assert facts == {
        "rows outcome near": False,
        "rows gap held": True,
        "plain outcome near": True,
        "plain gap held": False,
    }
    too_few = Plain(0.5, 0.05, float("nan"), float("nan"))
    assert "plain gap held" not in {m for _, m, _ in plain(log([0], [0], rows=too_few), found(near))}
    assert not list(plain(log([0], [0]), found(near)))


def tally(outcome: tuple[int, ...], gap: tuple[int, ...], logs: int = 100) -> Tally:
    made = Tally(logs)
    for k, (first, second) in enumerate(zip(outcome, gap, strict=True)):
        made.sums[f"arm-{k}", "outcome held"] = first, logs
        made.sums[f"arm-{k}", "gap held"] = second, logs
    return made


def test_the_worst_arm_and_the_bars() -> None:
    assert held(tally((95, 89), (99, 87))) == pytest.approx((0.92, 0.89, 0.93, 0.87))
    assert missed(tally((95, 89), (99, 87))) == ["outcomes 0.920", "an arm's gap 0.870"]
    assert missed(tally((93, 93), (98, 88))) == []
    over = tally((95,), (95,))
    over.sums[ALL, "fair said"], over.sums[ALL, "fair true"] = (90, 100), (80, 100)
    # of 100 with 0.9 − 0.03, 80 or fewer are true with a chance of 0.032, 79 with 0.017
    assert missed(over) == []
    over.sums[ALL, "fair true"] = (79, 100)
    assert missed(over) == ["P(fair) 0.900 said, 0.790 true, of 100"]
    over.sums[ALL, "fair true"] = (80, 100)
    for right, of, expected in ((0, 1, []), (0, 2, []), (0, 3, ["P(answer) ≥ 0.8 0.850 said, 0.000 true, of 3"])):
        over.sums[ALL, "sure answer said"], over.sums[ALL, "sure answer true"] = (0.85 * of, of), (right, of)
        assert missed(over) == expected  # 0.18, 0.032, 0.006
    over.sums[ALL, "sure answer true"] = (3, 3)
    over.sums[ALL, "plain gap held"] = (98, 100)
    assert missed(over) == ["gap of Σ p ȳ held 0.980"]
    over.sums[ALL, "plain gap held"] = (40, 49)  # in fewer than half of the logs
    assert missed(over) == []


def test_tallies_add_up_and_come_back_from_their_file(tmp_path: Path) -> None:
    made = Tally()
    made.add([("a", "gap held", True), (ALL, "finding x", 1.0)])
    made.add([("a", "gap held", False), ("b", "gap held", True)])
    assert made.by_arm("gap held") == {"a": 0.5, "b": 1.0}
    assert made.findings() == {"x": 0.5} and made.mean("decided") is None
    write_tallies({"kind, with a comma": made}, tmp_path / "f.csv")
    again = read_tallies(tmp_path / "f.csv")["kind, with a comma"]
    assert again.logs == 2 and dict(again.sums) == dict(made.sums)


def test_kinds_that_are_there_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, int]] = []

    def once(kind: str, index: int, seed: int) -> list[Any]:
        ran.append((kind, index))
        return [("arm", "outcome held", True), ("arm", "gap held", True)]

    monkeypatch.setattr(calibration, "judge", once)
    kinds = list(KINDS)[:2]
    run(kinds[:1], 2, 1, 1, tmp_path / "f.csv")
    run(kinds, 2, 1, 1, tmp_path / "f.csv")
    assert ran == [(kind, i) for kind in kinds for i in (0, 1)]


def test_more_logs_are_judged_where_a_bar_is_just_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard error of 0.93 in 200 logs is 0.018, that of 0.88 is 0.023."""
    ran: list[int] = []

    def once(kind: str, index: int, seed: int) -> list[Any]:
        ran.append(index)
        return [("arm", "outcome held", index % 200 < 200 * share), ("arm", "gap held", True)]

    monkeypatch.setattr(calibration, "judge", once)
    kind = next(iter(KINDS))
    for share, logs in ((0.93, 200), (0.9, 600), (0.85, 200)):
        for _ in range(2):  # the second time all is there
            found = run([kind], 200, 1, 1, tmp_path / f"{share}.csv")
            assert found[kind].logs == logs == len(ran) and ran == list(range(logs))
            assert held(found[kind])[0] == pytest.approx(share)
        ran.clear()
    assert just_missed(tally((99, 85), (100, 100))) and not just_missed(tally((99, 80), (100, 100)))


def test_a_log_is_judged_alike_whatever_else_is_run() -> None:
    """One of each way to read: counted, real outcome, row by row."""
    for kind in (
        "binary, 144 cells, 3 000 rows",
        "loans in money, 144 cells, 3 000 rows",
        "row by row: money, 3 000 rows",
    ):
        facts = judge(kind, 3, 1)
        assert facts == judge(kind, 3, 1)
        arms = KINDS[kind](np.random.default_rng(0)).problem.arm_names
        assert {a for a, _, _ in facts} == {*arms, ALL}


# ---- the committed page ----


def test_the_page_is_made_of_the_results() -> None:
    text = (HERE / "calibration.md").read_text(encoding="utf-8")
    commit = re.search(r"as of commit (\w+)", text)
    before = re.search(r"--before (\w+)", text)
    seed = re.search(r"seed (\d+)", text)
    assert commit is not None and seed is not None
    earlier = None if before is None else before[1]
    now = read_tallies(results_of(commit[1]))
    assert set(now) == set(KINDS) and min(one.logs for one in now.values()) >= 100
    assert text == page(
        now, None if earlier is None else read_tallies(results_of(earlier)), commit[1], earlier, int(seed[1])
    )


def test_the_commit_before_is_on_the_left_of_each_arrow() -> None:
    kind = next(iter(KINDS))
    then, now = tally((50,), (95,)), tally((95,), (95,))
    for one in (then, now):
        one.sums["arm-0", "outcome width"] = one.sums["arm-0", "gap width"] = (10.0, 100)
    text = page({kind: now}, {kind: then}, "new", "old", 1)
    assert f"| {kind} | 100 | 0.500 → **0.950** | 0.500 → **0.950** | 0.950 | 0.950 | 0.1 / 0.1 |" in text
    first, second = text.split("### Kinds that miss a bar, old")
    assert "No kind misses a bar." in first.split("### Kinds that miss a bar, new")[1]
    assert f"- {kind}: outcomes 0.500, an arm's outcome 0.500" in second
