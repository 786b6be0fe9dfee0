"""People without an outcome: not reported, unserved, erased. What the posterior, the certificate, the guard and the export make of them."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairarm.studies import Invalid, Studies
from four_arms import chain, truth
from study_people import DAY, HOUR, SECOND, START, Clock, Crowd, small_study

THETA = (0.1, 0.5, 0.9)


def lived(
    studies: Studies, clock: Clock, days: int, not_served: Callable[[str], float] = lambda arm: 0.0, **how: Any
) -> Crowd:
    """A study of some days, of which all is settled in the end; some people are not served, by arm."""
    people = {name: how.pop(name) for name in ("known", "never_told", "theta") if name in how}
    study = small_study(studies, **{"confidence": 1 - 1e-12, "people": 100, **how})
    crowd = Crowd(
        studies, study, clock, theta=people.get("theta", THETA), known=people.get("known", False),
        lost=people.get("never_told", lambda row: 0.0), delay=DAY,
    )  # fmt: skip
    for number in range(days):
        crowd.tick(START + number * DAY + SECOND)
        before = set(crowd.made)
        for hour in range(24):
            crowd.arrive(START + number * DAY + hour * HOUR + 5 * SECOND, 5)
        gone = {
            id for id in crowd.made if id not in before and crowd.rng.random() < not_served(str(crowd.made[id][0].arm))
        }
        for id in gone:
            crowd.study.unserved(id)
        crowd.out = [each for each in crowd.out if each[1] not in gone]
        crowd.clock.now = START + (number + 1) * DAY - 1
        crowd.tell()
    for number in (days, days + 1):  # the window of the last
        crowd.clock.now = START + (number + 1) * DAY - 1
        crowd.tell()
    crowd.tick(START + (days + 3) * DAY)
    return crowd


def only_yes(row: dict[str, str]) -> float:
    return 1.0 - float(row["Y"])


@pytest.mark.parametrize("known", [True, False], ids=["inputs known", "inputs told with the outcome"])
def test_where_not_reported_means_no_every_number_is_of_everybody(
    studies: Studies, clock: Clock, tmp_path: Path, known: bool
) -> None:
    """Only "1" is reported, and not reported means 0: outcomes, gaps, P(fair), guard and exposure are those of everybody, not of the "1"
    alone; the export has the rows of the posterior; nothing is lost."""
    crowd = lived(studies, clock, 8, known=known, never_told=only_yes, lost="0")
    found = crowd.study.verdict()
    assert found.unserved == found.erased == 0 and found.arm in (None, "good") and (found.filled > 100) == known
    for arm in crowd.study.arms():
        outcome, gap = truth(arm.name, THETA)
        assert arm.interval is not None and arm.rows[0].interval is not None
        low, high = arm.interval
        assert low - 0.05 < outcome < high + 0.05 and high - low < 0.35, arm.name
        assert arm.rows[0].interval[0] - 0.1 < gap < arm.rows[0].interval[1] + 0.1
        assert arm.fair_probability is not None
        assert arm.fair_probability < 0.01 if abs(gap) > 0.5 else arm.fair_probability > 0.3
    core, running = crowd.study._core, crowd.study.running
    with core.database.reading() as connection:
        so_far = core.clockwork.progress(connection, running)[1].settled.so_far
    assert crowd.study.export(tmp_path / "rows.csv") == so_far.counts.sum() + (0 if known else so_far.unplaced.sum())
    with (tmp_path / "rows.csv").open(encoding="utf-8") as file:
        rows = Counter((row["arm"], row["S"], row["V"], row["Y"], row["filled"]) for row in csv.DictReader(file))
    problem, counts = running.problem, so_far.counts[0, 0]
    for (arm, group, decision, outcome_state, filled), found in rows.items():
        assert (filled == "true") == (outcome_state == "0")
        k, t = problem.arm_index(arm), problem.groups.index(group)
        if decision:
            assert found == counts[k, t, 2 * int(decision) + int(outcome_state)]
        else:
            assert found == so_far.unplaced[0, k, t, 0] and not known
    assert crowd.study.verify().ok, crowd.study.verify().problems


def test_unserved_and_erased_people_count_as_the_worst_case_whatever_lost_says(studies: Studies, clock: Clock) -> None:
    """A fifth is never served: the posterior leaves them out and says so, the certificate pays for each of them."""
    crowd = lived(studies, clock, 5, lambda arm: 0.2)
    assert crowd.study.forget("u1", "ann") and not crowd.study.verdict().erased  # its cohort is settled
    found, memory = crowd.study.verdict(), settled_memory(crowd)
    assert found.unserved > 20 and found.lost == found.unserved and memory.lost.tolist() == [[found.unserved, 0]]
    finding = next(each for each in found.findings if each.name == "people-unserved")
    assert not finding.blocks_certification and finding.rows == found.unserved and "worst case" in finding.message
    assert crowd.study.verify().ok


@pytest.mark.parametrize("lost", ["0", "at random"])
def test_unserved_people_are_never_taken_for_people_who_were_not_reported(
    studies: Studies, clock: Clock, lost: str
) -> None:
    how = {"lost": lost, "at_random_confirmed": True}
    crowd = lived(studies, clock, 5, lambda arm: 0.2, never_told=lambda row: 0.3, known=True, **how)
    found, memory = crowd.study.verdict(), settled_memory(crowd)
    assert found.unserved > 20 and memory.lost.tolist() == [[found.unserved, 0]]
    assert (found.filled > 20) == (lost == "0")


def settled_memory(crowd: Crowd) -> Any:
    core, running = crowd.study._core, crowd.study.running
    with core.database.reading() as connection:
        return core.clockwork.progress(connection, running)[1].settled.state.memory


@pytest.mark.parametrize("by_arm", [False, True], ids=["at random", "by arm"])
def test_that_people_are_unserved_at_random_may_be_stated_and_is_tested(
    studies: Studies, clock: Clock, by_arm: bool
) -> None:
    """Stated, they are left out and the statement is listed; where one arm's people are unserved more often, the study is void."""
    share = {"good": 0.5} if by_arm else dict.fromkeys(chain().arm_names, 0.15)
    how = {"unserved": "at random", "at_random_confirmed": True, "theta": (0.45, 0.5, 0.55)}
    crowd = lived(studies, clock, 8, lambda arm: share.get(arm, 0.02), **how)
    found = crowd.study.verdict()
    assert "unserved-at-random" in {str(each.code) for each in found.assumed} and found.unserved > 20
    assert not settled_memory(crowd).lost.any()
    assert found.void == by_arm and (found.void_by == ("loss-differs",)) == by_arm
    assert found.reason == ("blocking-warning" if by_arm else "not-proved-yet")


def test_stating_it_has_to_be_confirmed(studies: Studies) -> None:
    with pytest.raises(Invalid, match="unserved='at random' states"):
        small_study(studies, unserved="at random")
    with pytest.raises(Invalid, match="unserved is 'no'"):
        small_study(studies, unserved="no")
