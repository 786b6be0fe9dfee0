"""What is shown of a study: verdict, arms, monitors, exposure, history, why; against numbers counted by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm import evaluate, load_problem
from fairarm.algorithms.exposure import exposure
from fairarm.beliefs.assumptions import Assumption, Statement
from fairarm.beliefs.declared_law import NOT_THE_LAW
from fairarm.reports.words import sentence
from fairarm.studies import Invalid, NotFound, Studies, WhyArm, WhyPerson
from fairarm.worlds import NetworkWorld
from four_arms import EASY, chain, truth, world
from study_people import DAY, SECOND, START, Clock, Crowd, small_study

Query = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def ended(studies: Studies, clock: Clock) -> Crowd:
    """A study with an answer, some cohorts still out."""
    crowd = Crowd(studies, small_study(studies, deployed="even"), clock, delay=DAY)
    number = 0
    while crowd.study.verdict().reason == "not-proved-yet":
        crowd.tick(START + number * DAY + SECOND)
        crowd.day(number)
        number += 1
        assert number < 25
    return crowd


def plain_values(value: Any) -> bool:
    """Only what JSON can have: no nan, no numpy scalar."""
    if is_dataclass(value):
        value = asdict(value)  # type: ignore[arg-type]
    if isinstance(value, dict):
        return all(plain_values(each) for each in value.values())
    if isinstance(value, list | tuple):
        return all(plain_values(each) for each in value)
    return type(value).__module__ != "numpy" and not (isinstance(value, float) and not math.isfinite(value))


def test_before_anything_is_settled(crowd: Crowd) -> None:
    verdict = crowd.study.verdict()
    assert (
        (verdict.status, verdict.reason, verdict.recommended) == ("UNDECIDED", "not-proved-yet", None)
        and verdict.settled == 0
        and verdict.out == 1
    )
    assert verdict.next_at is not None and verdict.closes_at is not None and not verdict.findings and not verdict.void
    assert crowd.study.history() == () and crowd.study.exposure().total == 0 and crowd.study.exposure().given_up is None
    assert all(arm.outcome is None and arm.certified is None and arm.people == 0 for arm in crowd.study.arms())
    assert all(not monitor.alarm for monitor in crowd.study.monitors())


def test_an_ended_study_says_what_is_so(ended: Crowd, query: Query) -> None:
    verdict, arms = ended.study.verdict(), {arm.name: arm for arm in ended.study.arms()}
    assert (verdict.status, verdict.arm, verdict.recommended, verdict.reason) == ("FOUND", "good", "good", None)
    people = dict(query("SELECT arm, count(*) FROM fairarm_assignment WHERE slot IS NOT NULL GROUP BY arm"))
    assert [arms[name].people for name in chain().arm_names] == [people.get(k, 0) for k in range(4)]
    counted = query("SELECT count(*) FROM fairarm_outcome o JOIN fairarm_assignment a ON a.id = o.assignment JOIN fairarm_settled s ON s.number = a.number")  # fmt: skip
    assert verdict.counted == sum(arm.counted for arm in arms.values()) == counted[0][0]
    assert verdict.people == sum(people.values()) and verdict.lost == 0
    for name, arm in arms.items():
        outcome, gap = truth(name, EASY)
        assert arm.certified is not None and arm.certified[0] <= outcome <= arm.certified[1]
        (row,) = arm.rows
        assert (
            row.certified is not None
            and row.certified[0] <= gap <= row.certified[1]
            and (row.above, row.below) == (-0.15, 0.15)
        )
    assert arms["good"].proof == "fair" and arms["good"].reason == "found" and not arms["good"].paused


def test_everything_shown_is_plain(ended: Crowd) -> None:
    study = ended.study
    shown = [
        *study.arms(),
        *study.monitors(),
        *study.history(),
        *study.cohorts(),
        *study.events(),
        study.exposure(),
        study.options,
    ]
    verdict = asdict(study.verdict())
    verdict.pop("verdict")
    shown += [verdict, *ended.studies.summaries(), study.why(arm="good"), study.why(unit="u1"), study.verify()]
    assert all(plain_values(each) for each in shown)
    json.dumps([asdict(each) for each in study.monitors()], allow_nan=False)


def test_what_is_assumed_is_what_evaluate_assumes(studies: Studies, ended: Crowd, tmp_path: Path) -> None:
    """Of the rows that the study exports; but that people of several arms are alike, which the deck sees to, and that arms were not
    learned from these rows, which are younger."""
    ended.study.export(tmp_path / "rows.csv")
    found = evaluate(load_problem(str(tmp_path / "rows.csv.toml")), str(tmp_path / "rows.csv"))
    stated = [said for said in found.assumptions if said.code not in (Assumption.SERVED, Assumption.NOT_LEARNED)]
    assert list(ended.study.verdict().assumed) == stated and stated[0].code == Assumption.GRAPH
    lender = small_study(studies, "lender", load_problem("lender").problem).verdict().assumed
    assert lender[0].code == Assumption.CAUSES and lender[0].facts["causes"]
    assert not any("Nothing causes" in sentence(said) for said in lender)
    at_random = small_study(studies, "random", lost="at random", at_random_confirmed=True).verdict().assumed
    assert at_random[-1] == Statement(Assumption.AT_RANDOM)


def test_exposure_is_counted_from_everybody(ended: Crowd, query: Query) -> None:
    """People by arm and group by plain SQL; those whose arm was probably unfair, by what each cohort's row says was known then."""
    found = ended.study.exposure()
    names = chain().arm_names
    plain = {
        (names[arm], "ab"[label]): n
        for arm, label, n in query(
            "SELECT arm, label, count(*) FROM fairarm_assignment WHERE slot IS NOT NULL GROUP BY arm, label"
        )
    }
    assert {(arm, group): n for arm, by in found.people.items() for group, n in by.items() if n} == plain
    assert found.total == sum(plain.values()) and found.against == "good"
    then = {number: json.loads(why)["fair"] for number, why in query("SELECT number, why FROM fairarm_cohort")}
    by_cohort = query(
        "SELECT number, arm, count(*) FROM fairarm_assignment WHERE slot IS NOT NULL GROUP BY number, arm"
    )
    assert found.doubted_then == sum(n for q, arm, n in by_cohort if then[q][arm] is not None and then[q][arm] < 0.5)
    now = {arm.name: arm.fair_probability for arm in ended.study.arms()}
    assert found.doubted_now == sum(n for _, arm, n in by_cohort if (now[names[arm]] or 0) < 0.5)
    made: NetworkWorld = world(chain(), EASY)
    means = np.array([[made.law[k, g] @ np.tile([0.0, 1.0], 3) for g in (0, 1)] for k in range(4)])
    people = np.array([[plain.get((name, group), 0) for group in "ab"] for name in names])
    true = exposure(people[None], np.zeros((1, 4)), np.zeros(4), means, 1).given_up
    assert found.given_up == pytest.approx(true, abs=0.15 * found.total)


def test_history_follows_the_settled_cohorts(ended: Crowd, query: Query) -> None:
    points = ended.study.history()
    assert [point.cohort for point in points] == [
        row[0] for row in query("SELECT number FROM fairarm_settled ORDER BY number")
    ]
    assert [point.status for point in points[:-1]] == ["UNDECIDED"] * (len(points) - 1) and points[-1].arm == "good"
    dealt = dict(query("SELECT number, count(*) FROM fairarm_assignment WHERE slot IS NOT NULL GROUP BY number"))
    so_far = np.cumsum([dealt.get(point.cohort, 0) for point in points])
    assert [point.people for point in points] == so_far.tolist()


def test_monitors_have_values_below_their_thresholds(ended: Crowd) -> None:
    found = {monitor.name: monitor for monitor in ended.study.monitors()}
    assert list(found) == ["law", "drift", "loss", "coverage", "guard"] and all(
        monitor.on for monitor in found.values()
    )
    assert all(
        found[name].value < found[name].threshold for name in ("law", "drift", "loss", "guard") if not found[name].alarm
    )
    assert found["coverage"].value > 0.5 and set(found["law"].detail["least_error"]) == set(chain().arm_names)


def test_a_law_that_does_not_hold_voids(studies: Studies, clock: Clock) -> None:
    """Every arm is served as 'good', whatever was assigned: the decisions do not follow the declared tables."""
    crowd = Crowd(studies, small_study(studies), clock, delay=DAY)
    served = world(chain()).law[1]
    crowd.row = lambda problem, a, group: {  # type: ignore[method-assign]
        "S": group, **dict(zip(("V", "Y"), _drawn(crowd, served, problem.groups.index(group), str(a.arm), group), strict=True))
    }  # fmt: skip
    number = 0
    while crowd.study.verdict().reason == "not-proved-yet" and number < 20:
        crowd.tick(START + number * DAY + SECOND)
        crowd.day(number)
        number += 1
    verdict = crowd.study.verdict()
    assert verdict.void and verdict.status == "UNDECIDED" and verdict.void_by == (NOT_THE_LAW,)
    assert crowd.study.monitors()[0].voids


def _drawn(crowd: Crowd, law: Any, group: int, arm: str, label: str) -> tuple[str, str]:
    own = world(chain()).law[chain().arm_index(arm), group]
    allowed = np.where(own > 0, law[group], 0.0)
    row = int(crowd.rng.choice(6, p=allowed / allowed.sum()))
    return str(row // 2), str(row % 2)


def test_why_of_a_person_and_of_an_arm(crowd: Crowd) -> None:
    crowd.day(0)
    id, (a, _, _) = next(iter(crowd.made.items()))
    unit = next(f"u{i}" for i in range(1, 121) if crowd.study.assign(f"u{i}", "a").id == id)
    found = crowd.study.why(unit=unit)
    assert isinstance(found, WhyPerson) and found.unit_known and found.entry < 0.5 and found.slot == 0
    assert found.assignment is not None and found.assignment.arm == a.arm and found.status in ("open", "told")
    assert found.cohort is not None and found.cohort.number == 0
    nobody = crowd.study.why(unit="nobody")
    assert isinstance(nobody, WhyPerson) and not nobody.unit_known and nobody.assignment is None
    crowd.tick(START + 4 * DAY)
    later = crowd.study.why(unit=unit)
    assert isinstance(later, WhyPerson) and later.status in ("counted", "lost")
    arm = crowd.study.why(arm="good")
    assert isinstance(arm, WhyArm) and arm.cards[0] == crowd.study.cohorts()[0].plan.get("good", 0)
    with pytest.raises(NotFound, match="no arm 'x'"):
        crowd.study.why(arm="x")
    for wrong in ({}, {"unit": "a", "arm": "b"}):
        with pytest.raises(Invalid, match="unit= or arm="):
            crowd.study.why(**wrong)
