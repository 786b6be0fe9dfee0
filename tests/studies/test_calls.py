"""Assign and tell: once, the same answer however often, and nothing into a closed cohort."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fairarm import Arm, Table, load_problem
from fairarm.core.entry import entry_number
from fairarm.studies import Conflict, Invalid, NotFound, Outcome, Studies, Told
from fairarm.studies.calls import id_number, id_text
from four_arms import ARMS, chain
from study_people import DAY, SECOND, START, Clock, Crowd, small_study

Query = Callable[[str], list[tuple[Any, ...]]]


def ad_marketplace() -> Any:
    return load_problem("ad-marketplace").problem


def test_who_enters_is_decided_by_a_hash_and_the_cards_by_the_deck(crowd: Crowd, query: Query) -> None:
    """Half of 120 people, by a number that BLAKE2b makes of the study's key and their name; card by card in order."""
    crowd.day(0)
    key = bytes(query("SELECT key FROM fairarm_study")[0][0])
    entered = sum(entry_number(key, f"u{i + 1}") < 0.5 for i in range(120))
    assert query("SELECT count(slot), count(*) FROM fairarm_assignment") == [(entered, 120)] and entered > 40
    deck = np.frombuffer(query("SELECT arms FROM fairarm_deck")[0][0], dtype="<u2")
    dealt = query("SELECT slot, arm FROM fairarm_assignment WHERE slot IS NOT NULL ORDER BY slot")
    assert dealt == [(slot, int(deck[slot])) for slot in range(entered)]
    assert query("SELECT issued, size FROM fairarm_counter") == [(entered, 75)]


def test_the_same_person_gets_the_same_answer(crowd: Crowd, query: Query) -> None:
    crowd.day(0)
    id, (a, group, _) = next(iter(crowd.made.items()))
    unit = next(f"u{i}" for i in range(1, 121) if crowd.study.assign(f"u{i}", group).id == id)
    before = query("SELECT count(*) FROM fairarm_assignment")
    again = crowd.study.assign(unit, "b")
    assert (again.id, again.arm, again.repeated, again.outside) == (id, a.arm, True, False) and not a.repeated
    crowd.clock.now = START + 5 * DAY  # after its cohort too
    assert crowd.study.assign(unit, group).id == id
    crowd.study.pause("holidays", "ann")
    assert crowd.study.assign(unit, group).arm == a.arm
    assert query("SELECT count(*) FROM fairarm_assignment") == before


def test_the_same_person_twice_in_one_transaction(crowd: Crowd, query: Query) -> None:
    units = [f"x{i % 40}" for i in range(120)]
    answers = [future.result() for future in [crowd.study.assigning(unit, "a") for unit in units]]
    by_unit: dict[str, set[Any]] = {}
    for unit, a in zip(units, answers, strict=True):
        by_unit.setdefault(unit, set()).add((a.id, a.arm, a.outside))
    assert all(len(found) == 1 for found in by_unit.values())
    inside = sum(not next(iter(found))[2] for found in by_unit.values())
    assert query(
        "SELECT count(*), count(DISTINCT unit), count(slot), count(DISTINCT slot) FROM fairarm_assignment"
    ) == [(40, 40, inside, inside)]
    assert sum(not a.repeated and not a.outside for a in answers) == inside


def test_outside_is_the_deployed_arm_with_a_decision_that_stays(studies: Studies, clock: Clock) -> None:
    study = small_study(studies, people=1, deployed="even")
    units = [f"u{i}" for i in range(300)]
    outside = [a for a in (study.assign(unit, "a", {}) for unit in units) if a.outside]
    assert {(a.id, a.arm, a.cohort, a.repeated) for a in outside} == {(None, "even", None, False)}
    decisions = [a.decision for a in outside]
    assert decisions == [a.decision for a in (study.assign(unit, "a", {}) for unit in units) if a.outside]
    shares = [decisions.count(v) / len(decisions) for v in ("0", "1", "2")]
    assert np.allclose(shares, ARMS["even"][0], atol=0.12)
    undeployed = small_study(studies, "none", people=1)
    assert {undeployed.assign(unit, "a").arm for unit in units[:20]} - set(ARMS) == {None}


def test_nothing_is_dealt_into_a_closed_cohort(crowd: Crowd, query: Query) -> None:
    """At the last microsecond yes, at its end no, whatever the status; and not after it was sealed, should the clock go back."""
    entering = [f"n{i}" for i in range(60)]
    crowd.clock.now = START + DAY - 1
    inside = [a for a in (crowd.study.assign(unit, "a") for unit in entering[:30]) if not a.outside]
    assert inside
    crowd.clock.now = START + DAY
    assert all(crowd.study.assign(unit, "a").outside for unit in entering[30:])
    crowd.tick(START + DAY + SECOND)
    crowd.clock.now = START + DAY // 2
    assert all(crowd.study.assign(f"back{i}", "a").outside for i in range(30))
    assert query(f"SELECT count(*) FROM fairarm_assignment WHERE issued >= {START} + (number + 1) * {DAY}") == [(0,)]


def test_a_sealed_cohort_deals_nothing_though_the_clock_goes_back(crowd: Crowd, query: Query) -> None:
    """Paused, so that no later cohort stands in the way: settled means that no card is dealt any more."""
    crowd.day(0)
    crowd.study.pause("holidays", "ann")
    crowd.tick(START + 4 * DAY)
    assert query("SELECT count(*) FROM fairarm_settled") == [(1,)]
    crowd.clock.now = START + DAY // 2
    assert all(crowd.study.assign(f"back{i}", "a").outside for i in range(60))
    assert query("SELECT size - issued FROM fairarm_counter") == [(0,)]


def test_the_end_of_a_cohort_is_in_the_statement_that_takes_a_card(crowd: Crowd) -> None:
    """Somebody who read the cohort while it was open, and waited: the card is refused all the same."""
    dealer, core = crowd.study._dealer, crowd.study._core
    with core.database.writing() as (connection, _):
        cohort, nobody = dealer._standing(connection, [])
        assert cohort.cohort == 0 and nobody == {}
        assert dealer._taken(connection, START + DAY, cohort, 1) == (0, 0)
        assert dealer._taken(connection, START + DAY - 1, cohort, 1) == (0, 1)
        assert dealer._taken(connection, START + DAY - 1, cohort, 100) == (1, 74)
        assert dealer._taken(connection, START + DAY - 1, cohort, 1) == (0, 0)


def test_cards_run_out(studies: Studies, clock: Clock, query: Query) -> None:
    study = small_study(studies, people=8, arrivals=8)
    answers = [study.assign(f"u{i}", "a") for i in range(30)]
    assert [a.outside for a in answers] == [False] * 10 + [True] * 20
    assert query("SELECT size, issued FROM fairarm_counter") == [(10, 10)]


def test_decisions_are_drawn_from_the_arms_table(studies: Studies, clock: Clock) -> None:
    """2 000 people: frequencies of each arm's decisions within 5 standard errors of its table, in both groups."""
    study = small_study(studies, people=1600, arrivals=2000, pulls=10_000)
    asked = [(g, study.assigning(f"u{i}", g, {})) for i in range(2000) for g in ("ab"[i % 2],)]
    found: dict[tuple[str, str], list[str]] = {}
    for group, future in asked:
        a = future.result()
        if not a.outside:
            found.setdefault((str(a.arm), group), []).append(str(a.decision))
    assert sum(map(len, found.values())) > 1400
    for (arm, group), decisions in found.items():
        law = ARMS[arm]["ab".index(group)]
        for v, p in enumerate(law):
            assert abs(decisions.count(str(v)) - p * len(decisions)) <= 5 * np.sqrt(len(decisions) * p * (1 - p)) + 1e-9


# ---- the first answer holds ----


def test_who_was_outside_once_stays_outside(crowd: Crowd, query: Query) -> None:
    """For any reason: not chosen, no cohort open, paused; in every later cohort, whatever its share. `forget` erases it."""
    crowd.day(0)
    outside = [unit for unit in (f"u{i}" for i in range(1, 121)) if crowd.study.assign(unit, "a").outside]
    crowd.clock.now = START + DAY
    between = [f"between{i}" for i in range(20)]
    assert all(crowd.study.assign(unit, "a").outside for unit in between)
    crowd.tick(START + DAY + SECOND)
    share = query("SELECT share FROM fairarm_cohort WHERE number = 1")[0][0]
    query("UPDATE fairarm_cohort SET share = 1 WHERE number = 1")
    assert not crowd.study.assign("new", "a").outside
    again = [crowd.study.assign(unit, "a") for unit in (*outside, *between)]
    assert len(outside) > 40 and all(a.outside and a.repeated and a.id is None for a in again)
    stored = query("SELECT outside, count(*), count(number), count(arm), count(label), count(decision) FROM fairarm_assignment WHERE slot IS NULL GROUP BY outside")  # fmt: skip
    assert stored == [(0, len(outside) + 20, 0, 0, 0, 0)]
    gone = outside[0]
    assert crowd.study.forget(gone, "ann") and not crowd.study.forget(gone, "ann")
    assert not crowd.study.assign(gone, "a").outside
    query(f"UPDATE fairarm_cohort SET share = {share!r} WHERE number = 1")
    assert crowd.study.verify().ok and crowd.study.verdict().people == sum(c.dealt for c in crowd.study.cohorts())


def test_nothing_is_stored_of_who_comes_before_the_start_or_after_the_end(
    studies: Studies, clock: Clock, query: Query
) -> None:
    study = small_study(studies, start="2026-01-06T00:00:00+00:00", people=120)
    assert study.assign("early", "a").outside and query("SELECT count(*) FROM fairarm_assignment") == [(0,)]
    clock.now = START + DAY
    studies.tick()
    assert not study.assign("early", "a").outside  # served as before, by everybody's arm: nothing was given up yet
    study.close("enough", "ann", now=True)
    clock.now = START + 5 * DAY
    studies.tick()
    assert study.state.over and study.assign("later", "a").outside and not study.assign("later", "a").repeated
    assert query("SELECT count(*) FROM fairarm_assignment") == [(1,)]


def test_a_person_is_inside_or_outside_never_both(
    opened: Callable[..., Studies], crowd: Crowd, monkeypatch: pytest.MonkeyPatch, query: Query
) -> None:
    """Another process answers "outside" between the look of this one and its insert: the first answer that is stored holds."""
    other = opened().open("small")
    unit = next(u for u in (f"n{i}" for i in range(60)) if entry_number(crowd.study.running.key, u) < 0.5)
    dealer = crowd.study._dealer

    def first(connection: Any, now: int, standing: Any, asks: Any) -> Any:
        monkeypatch.undo()
        row = dealer._row(connection, asks[0], now, 0, None)
        columns, values = ", ".join(row), ", ".join("NULL" if v is None else repr(v) for v in row.values())
        text = f"INSERT INTO fairarm_assignment ({columns}) VALUES ({values})"
        connection.exec_driver_sql(text) if connection.dialect.name == "sqlite" else query(text)
        return dealer._first(connection, now, standing, asks)

    monkeypatch.setattr(type(dealer), "_first", lambda self, *given: first(*given))
    answer = crowd.study.assign(unit, "a")
    assert answer.outside and answer.repeated
    assert other.assign(unit, "a").outside
    assert query("SELECT count(*), count(slot) FROM fairarm_assignment") == [(1, 0)] and crowd.study.verify().ok


def test_who_was_unserved_stays_outside(crowd: Crowd) -> None:
    """A time-out, `unserved`, a reload: the deployed arm, and nothing to tell."""
    unit = next(u for u in (f"t{i}" for i in range(60)) if not crowd.study.assign(u, "a").outside)
    a = crowd.study.assign(unit, "a")
    assert crowd.study.unserved(str(a.id)) == Told("new")
    for at in (START, START + DAY, START + 9 * DAY):
        crowd.tick(at)
        again = crowd.study.assign(unit, "a")
        assert (again.outside, again.repeated, again.id, again.arm) == (True, True, None, None)


def test_another_group_or_input_for_the_same_person_is_said(studies: Studies, clock: Clock) -> None:
    """The first values hold; above one person in a hundred there is a warning."""
    study = small_study(studies, problem=ad_marketplace(), people=120, deployed="deployed")
    first = study.assign("u0", "female", {"query": "travel"})
    assert not first.conflict and not study.assign("u0", "female", {"query": "travel"}).conflict
    assert not study.assign("u0", "female").conflict  # less than before is no contradiction
    for group, known in (("male", {"query": "travel"}), ("female", {"query": "fashion"})):
        again = study.assign("u0", group, known)
        assert again.conflict and again.repeated and (again.id, again.decision) == (first.id, first.decision)
    people = [study.assigning(f"u{i}", "male") for i in range(1, 99)]
    assert not any(each.result().conflict for each in people)
    assert "inputs-conflict" in [finding.name for finding in study.findings()]  # 1 of 99
    study.assign("u99", "male")
    assert "inputs-conflict" not in [finding.name for finding in study.findings()]  # 1 of 100
    both = [study.assigning("u100", group) for group in ("male", "female")]  # in one transaction
    assert [each.result().conflict for each in both] == [False, True]
    found = next(finding for finding in study.findings() if finding.name == "inputs-conflict")
    assert found.rows == 2 and "2 of 101 people" in found.message and not found.blocks_certification


@pytest.mark.parametrize("on_end", ["deployed", "keep"])
def test_after_the_end_the_arm_is_kept_until_the_window_is_over(studies: Studies, clock: Clock, on_end: str) -> None:
    """A study that ends early: outcomes told within the window are kept, and the answer says that they do not count."""
    study = small_study(studies, people=120, deployed="even", on_end=on_end)
    a = study.assign("u", "a")
    study.drop(0, "an outage", "ann")
    study.close("enough", "ann", now=True)
    clock.now = START + 3 * DAY + 60 * SECOND
    studies.tick()
    assert study.state.over
    clock.now = START + 2 * DAY
    again = study.assign("u", "a")
    assert (again.id, again.arm, again.repeated, again.outside) == (a.id, a.arm, True, False)
    assert study.tell(str(a.id), {"V": "1", "Y": "1"}) == Told("settled")
    clock.now += 1
    later = study.assign("u", "a")
    assert (later.outside, later.arm, later.repeated) == (
        (True, "even", True) if on_end == "deployed" else (False, a.arm, True)
    )


# ---- tell ----


def dealt(crowd: Crowd, count: int = 5) -> list[Any]:
    found = [a for a in (crowd.study.assign(f"t{i}", "a") for i in range(60)) if not a.outside]
    assert len(found) >= count
    return found[:count]


def possible(a: Any) -> dict[str, str]:
    """A row that every arm can have made."""
    return {"V": "1", "Y": "1"}


def test_an_outcome_is_told_once(crowd: Crowd, query: Query) -> None:
    first, second, *_ = dealt(crowd)
    assert crowd.study.tell(first.id, possible(first)) == Told("new")
    assert crowd.study.tell(first.id, possible(first)) == Told("repeated")
    with pytest.raises(Conflict, match="Another outcome"):
        crowd.study.tell(first.id, {"V": "1", "Y": "0"})
    assert query("SELECT count(*) FROM fairarm_outcome") == [(1,)]
    assert crowd.study.unserved(second.id) == Told("new") and crowd.study.unserved(second.id) == Told("repeated")
    with pytest.raises(Conflict):
        crowd.study.tell(second.id, possible(second))


def test_late_is_after_the_window(crowd: Crowd) -> None:
    first, second, *_ = dealt(crowd)
    crowd.clock.now = START + 2 * DAY
    assert crowd.study.tell(first.id, possible(first)) == Told("new")
    crowd.clock.now += 1
    assert crowd.study.tell(second.id, possible(second)) == Told("late")


def test_an_outcome_after_its_cohort_was_settled_or_left_out_says_so(crowd: Crowd, query: Query) -> None:
    """Within its window, because the clock was wrong when the cohort was settled; kept, not counted, and counted in a warning."""
    first, second, third, *_ = dealt(crowd)
    assert crowd.study.tell(third.id, possible(third)) == Told("new")
    crowd.tick(START + 4 * DAY)
    crowd.clock.now = START + DAY
    assert crowd.study.tell(first.id, possible(first)) == Told("settled")
    assert crowd.study.tell(first.id, possible(first)) == Told("repeated")
    assert crowd.study.tell(third.id, possible(third)) == Told("repeated")
    assert crowd.study.unserved(second.id) == Told("settled")
    found = next(finding for finding in crowd.study.findings() if finding.name == "told-after-settlement")
    assert found.rows == 2 and found.message.startswith("2 outcomes came after") and not found.blocks_certification
    checked = crowd.study.verify()
    assert checked.ok and checked.after_settlement == 1 and crowd.study.cohorts()[0].counted == 1


def test_an_outcome_of_a_cohort_that_was_left_out_says_so(crowd: Crowd) -> None:
    first, second, *_ = dealt(crowd)
    assert crowd.study.tell(first.id, possible(first)) == Told("new")
    crowd.study.drop(0, "an outage", "ann")
    assert crowd.study.tell(second.id, possible(second)) == Told("settled")
    assert not crowd.study.correct(first.id, {"V": "1", "Y": "0"}, "typo", "ann")
    assert [finding.rows for finding in crowd.study.findings() if finding.name == "told-after-settlement"] == [1]
    crowd.tick(START + 4 * DAY)
    assert crowd.study.verify().ok


def test_many_at_once_has_an_answer_for_each(crowd: Crowd, studies: Studies) -> None:
    other = small_study(studies, "other")
    theirs = next(a for a in (other.assign(f"o{i}", "a") for i in range(60)) if not a.outside)
    first, second, third, fourth, *_ = dealt(crowd)
    answers = crowd.study.tell_many(
        [
            Outcome(first.id, possible(first)),
            Outcome(first.id, possible(first)),
            Outcome(first.id, {"V": "1", "Y": "0"}),
            Outcome(second.id, {"V": "1"}),
            Outcome(theirs.id, possible(theirs)),
            Outcome("f" * 16, possible(first)),
            Outcome("0" * 16, possible(first)),
            Outcome(third.id, None),
            Outcome(third.id, unserved=True),
            Outcome(fourth.id, {"V": "1", "Y": float("nan")}),
        ]
    )
    kinds = [answer.status if isinstance(answer, Told) else type(answer) for answer in answers]
    assert kinds == ["new", "repeated", Conflict, Invalid, NotFound, NotFound, NotFound, Invalid, "new", Invalid]
    assert crowd.study.tell_many([]) == []
    (refused,) = crowd.study.tell_many([(first.id, possible(first))])  # type: ignore[list-item]
    assert isinstance(refused, Invalid) and "It is an Outcome" in str(refused)
    with pytest.raises(Invalid, match="at most 10000"):
        crowd.study.tell_many([Outcome(first.id)] * 10_001)


def test_ids_are_texts_of_63_bits() -> None:
    for number in (0, 1, (1 << 63) - 1):
        assert id_number(id_text(number)) == number and len(id_text(number)) == 16
    for wrong in (
        "8" + "0" * 15,
        "f" * 16,
        "5d7f7e65_8f58d34",
        " 5d7f7e658f58d34",
        "5D7F7E658F58D341",
        "1",
        "",
        7,
        None,
    ):
        with pytest.raises(NotFound):
            id_number(wrong)


def test_a_slot_and_a_unit_are_unique_in_the_database(crowd: Crowd, query: Query) -> None:
    """The constraints themselves, not the code above them, carry this."""
    crowd.day(0)
    columns = "study, unit, number, slot, arm, issued"
    for change in ("unit", "slot"):
        other = ", ".join(
            {"unit": "'other'", "slot": "999"}.get(c, c) if c == change else c for c in columns.split(", ")
        )
        with pytest.raises(Exception, match=r"(?i)unique"):
            query(
                f"INSERT INTO fairarm_assignment (id, {columns}) SELECT 5, {other} FROM fairarm_assignment WHERE slot = 0"
            )
    crowd.tell()
    with pytest.raises(Exception, match=r"(?i)unique"):
        query("INSERT INTO fairarm_outcome (assignment, digest, told) SELECT assignment, 'x', 0 FROM fairarm_outcome")
    with pytest.raises(Exception, match=r"(?i)check"):
        query("UPDATE fairarm_counter SET issued = size + 1")


def test_groups_that_come_with_the_outcome(studies: Studies, clock: Clock, query: Query) -> None:
    study = small_study(studies, group="with outcome")
    with pytest.raises(Invalid, match="comes with the outcome"):
        study.assign("u", "a")
    a = next(a for a in (study.assign(f"u{i}") for i in range(60)) if not a.outside)
    with pytest.raises(Invalid, match="no 'S'"):
        study.tell(str(a.id), {"V": "1", "Y": "1"})
    assert study.tell(str(a.id), {"S": "b", "V": "1", "Y": "1"}) == Told("new")
    assert query("SELECT label FROM fairarm_outcome") == [(1,)] and chain().groups[1] == "b"


def test_the_decision_of_an_arm_that_looks_at_nothing_is_drawn_at_assignment(studies: Studies) -> None:
    """An A/B test: nobody says what is known, and the outcome alone is told."""
    arms = [Arm(name, Table("V", (), np.eye(3)[k])) for k, name in enumerate("ABC")]
    study = small_study(studies, problem=chain().with_arms(arms))
    dealt = [a for a in (study.assign(f"t{i}", "a") for i in range(60)) if not a.outside]
    assert {(a.arm, a.decision) for a in dealt} == {("A", "0"), ("B", "1"), ("C", "2")}
    assert study.tell(str(dealt[0].id), {"Y": "1"}) == Told("new")
