"""Hostile names, rows and ids, databases that are not as they should be, servers that go away: each is refused in a line, and the next
call works."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.postgres import Postgres, postgres_server
from benchmarks.studies.fork_server import ForkServer, Journal
from benchmarks.studies.places import DAY, Place, SharedClock, postgres_place, sqlite_place
from benchmarks.studies.stored import Stored
from benchmarks.studies.transactions import START

from fairarm.catalog import load_problem
from fairarm.studies import Busy, Conflict, Invalid, NotFound, Studies, Study, StudyError

OPTIONS: dict[str, Any] = {"pulls": 4000, "people": 1500, "arrivals": 1500.0, "window": "1d", "seed": 2}
HOSTILE = [
    "'; DROP TABLE fairarm_assignment; --", '"', "\\", "%s", "{0}", "null", "None", "0", " ", "\n", "\t\r", "😀" * 200, "x" * 200, "é", "é",
    "\u202e", "\ufeff", "<script>alert(1)</script>", "../../etc/passwd", "a\u0301", "İ", "ß", "SS", "\x1b[31m", "﷽", "𐀀",
]  # fmt: skip


@pytest.fixture
def now() -> list[int]:
    return [START]


@pytest.fixture
def studies(place: Place, now: list[int]) -> Iterator[Studies]:
    with Studies(place.url, clock=lambda: now[0]) as made:
        yield made


@pytest.fixture
def study(studies: Studies) -> Study:
    return studies.create("coins", load_problem("coin").problem, **OPTIONS)


def test_names_of_people_are_names_whatever_stands_in_them(study: Study) -> None:
    units = list(dict.fromkeys(HOSTILE))
    made = {unit: study.assign(unit, group="a", known={}).id for unit in units}
    assert len(set(made.values())) == len(units)
    assert all(study.assign(unit, group="b", known={}).id == id for unit, id in made.items())
    assert all(study.forget(unit, "test") for unit in units)
    assert study.verify().erased == len(units)


@pytest.mark.parametrize("unit", ["", "x" * 201, "\ud800", None, 5, b"u", ["u"], "nul\x00"])
def test_what_is_no_name_is_refused(study: Study, unit: Any) -> None:
    with pytest.raises(Invalid):
        study.assign(unit, group="a", known={})


@pytest.mark.parametrize(
    "group", [None, "", "c", "A", 0, True, ["a"], {"group": "c"}, {"other": "a"}, {"group": "a", "x": "y"}, "a\x00"]
)
def test_what_is_no_group_is_refused(study: Study, group: Any) -> None:
    with pytest.raises(Invalid):
        study.assign("u", group=group)


@pytest.mark.parametrize(
    "row",
    [
        {"result": float("nan")}, {"result": None}, {"result": True}, {"result": 1}, {"result": ["win"]}, {"result": "WIN"}, {"result": ""}, {}, {"other": "win"},
        {"result": "win", "other": 1}, {"result": "win", "group": "b"}, {"result": "win", "side": "edge"}, {"result": "win\x00"}, None, "win", [("result", "win")],
    ],
)  # fmt: skip
def test_what_is_no_outcome_is_refused_and_the_outcome_can_be_told(study: Study, row: Any) -> None:
    made = study.assign("u", group="a", known={})
    assert made.id is not None
    with pytest.raises(Invalid):
        study.tell(made.id, row)
    assert study.tell(made.id, {"result": "win"}).status == "new"


@pytest.mark.parametrize(
    "id",
    ["", "0" * 16, "f" * 16, "8" + "0" * 15, "7" + "f" * 15, "F" * 16, "-1", "x" * 16, "1" * 17, "١" * 16, None, 5],
)
def test_what_is_no_id_is_not_found(study: Study, id: Any) -> None:
    for call in (study.tell, lambda id, _: study.unserved(id)):
        with pytest.raises(NotFound):
            call(id, {"result": "win"})
    with pytest.raises(NotFound):
        study.correct(id, {"result": "win"}, "reason", "test")


def test_one_hostile_call_does_not_fail_those_it_is_committed_with(study: Study) -> None:
    ids = [str(study.assign(f"u-{n}", group="a", known={}).id) for n in range(20)]
    told: list[Any] = []
    for number, id in enumerate(ids):
        told.append(study.telling(id, {"result": "win"}))
        for hostile in ("f" * 16, "0" * 16):
            try:
                study.telling(hostile, {"result": "win"})
            except StudyError:
                assert number >= 0
    assert [each.result().status for each in told] == ["new"] * 20


def test_two_studies_of_a_database_know_nothing_of_each_other(studies: Studies, study: Study, now: list[int]) -> None:
    other = studies.create("others", load_problem("coin").problem, **OPTIONS)
    one, two = study.assign("u", group="a", known={}), other.assign("u", group="b", known={})
    assert one.id is not None and two.id is not None and one.id != two.id
    with pytest.raises(NotFound):
        study.tell(two.id, {"result": "win"})
    other.tell(two.id, {"result": "win"})
    other.pause("look", "test", now=True)
    assert study.state == "running" and not study.assign("v", group="a", known={}).outside
    now[0] += 3 * DAY
    studies.tick()
    assert study.verify().ok and other.verify().ok
    assert (study.verdict().counted, other.verdict().cut) == (0, (0,))
    with pytest.raises(Conflict):
        studies.create("others", load_problem("coin").problem, **OPTIONS)


def test_a_clock_that_jumps_holds_everything_until_it_is_confirmed(place: Place) -> None:
    now, since = [START], [0.0]
    with Studies(place.url, clock=lambda: now[0], monotonic=lambda: since[0]) as studies:
        study = studies.create("coins", load_problem("coin").problem, **OPTIONS)
        studies.tick()
        now[0] += 5 * DAY
        assert studies.tick() == ("coins: held until somebody confirms the clock (fairarm study confirm-clock)",)
        assert studies.summaries()[0].held
        assert len(study.cohorts()) == 1 and study.cohorts()[0].state != "settled"
        studies.confirm_clock("it was the time server", "test")
        since[0] += 1
        now[0] += 1_000_000
        assert studies.tick() != ()
        assert not studies.summaries()[0].held
        assert study.verify().ok


def test_a_database_of_another_version_is_refused(place: Place, studies: Studies, study: Study) -> None:
    studies.close()
    Stored(place).run("INSERT INTO fairarm_schema (version, at) VALUES (99, 0)")
    with pytest.raises(StudyError, match="version 99"):
        Studies(place.url)


def test_what_was_given_out_after_a_backup_is_unknown_after_it_is_put_back(
    place: Place, studies: Studies, study: Study, now: list[int]
) -> None:
    before = study.assign("early", group="a", known={})
    studies.close()
    copy = place.copy(f"{place.name}_old")
    with Studies(place.url, clock=lambda: now[0]) as later:
        lost = later.open("coins").assign("late", group="a", known={})
    with Studies(copy.url, clock=lambda: now[0]) as back:
        assert back.restored("disk", "test") == ("coins: cut 0",)
        back.tick()
        found = back.open("coins")
        assert lost.id is not None and before.id is not None
        with pytest.raises(NotFound):
            found.tell(lost.id, {"result": "win"})
        found.tell(before.id, {"result": "win"})
        assert found.assign("late", group="a", known={}).outside
        now[0] += 3 * DAY
        back.tick()
        assert found.verdict().cut == (0,)
        assert found.verify().ok
    copy.drop()


def test_what_was_changed_behind_its_back_is_found(
    place: Place, studies: Studies, study: Study, now: list[int]
) -> None:
    """Every kind of change that `verify` promises to see."""
    for number in range(30):
        made = study.assign(f"u-{number}", group="ab"[number % 2], known={})
        assert made.id is not None
        study.tell(made.id, {"result": ("win", "lose")[number % 3 == 0]})
    now[0] += 3 * DAY
    studies.tick()
    assert study.verify().ok
    studies.close()
    changes = [
        "UPDATE fairarm_assignment SET arm = 1 - arm WHERE slot = 3",
        "UPDATE fairarm_outcome SET row = 1 - row WHERE assignment = (SELECT id FROM fairarm_assignment WHERE slot = 4)",
        "DELETE FROM fairarm_outcome WHERE assignment = (SELECT id FROM fairarm_assignment WHERE slot = 5)",
        "DELETE FROM fairarm_event WHERE seq = 2",
        "UPDATE fairarm_event SET actor = 'somebody else' WHERE seq = 1",
        "UPDATE fairarm_settled SET lost = lost + 1",
        "UPDATE fairarm_settled SET cells = replace(cells, '\"cut\":false', '\"cut\":true')",
        "UPDATE fairarm_assignment SET issued = issued + 99999999999999 WHERE slot = 6",
        "UPDATE fairarm_cohort SET share = share / 2",
    ]
    unseen = []
    for number, change in enumerate(changes):
        copy = place.copy(f"{place.name}_c{number}")
        Stored(copy).run(change)
        with Studies(copy.url, clock=lambda: now[0]) as changed:
            if changed.open("coins").verify().ok:
                unseen.append(change)
        copy.drop()
    assert unseen == []


# ---- SQLite alone ----


def test_a_file_that_is_no_database_and_one_of_somebody_else(tmp_path: Path) -> None:
    text = tmp_path / "notes.db"
    text.write_text("these are notes\n" * 500, encoding="utf-8")
    with pytest.raises(StudyError):
        Studies(f"sqlite:///{text}")
    assert text.read_text(encoding="utf-8").startswith("these are notes")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE study (id INTEGER)")
    connection.close()
    with Studies(f"sqlite:///{other}") as studies:
        assert studies.names() == ()


def test_a_full_disk_is_said_and_the_next_call_works(fork_server: ForkServer, tmp_path: Path) -> None:
    place = sqlite_place(tmp_path, "full")
    clock = SharedClock(tmp_path / "clock", START)
    with Studies(place.url, clock=clock) as studies:
        studies.create("coins", load_problem("coin").problem, **OPTIONS)
    journal = Journal(str(tmp_path / "journal"))
    ended = fork_server.run(
        "benchmarks.studies.full_disk:fill_up", journal, url=place.url, clock=str(clock.path), name="coins"
    )
    assert ended.code == 0, ended.error
    said = journal.lines()
    (failed,) = [line for line in said if "failed" in line]
    assert failed["failed"] == "Busy" and "\n" not in failed["said"]
    acknowledged = {line["id"] for line in said if "id" in line}
    assert len(acknowledged) > 20
    with Studies(place.url, clock=clock) as studies:
        study = studies.open("coins")
        stored = Stored(place)
        assert acknowledged <= set(stored.assignments("coins")) and acknowledged <= stored.told("coins")
        assert study.verify().ok


# ---- PostgreSQL alone ----


@pytest.fixture(scope="module")
def mortal() -> Iterator[Postgres]:
    """A server that is killed."""
    with postgres_server() as server:
        yield server


def test_a_server_that_crashes_loses_nothing_that_was_acknowledged(mortal: Postgres) -> None:
    place = postgres_place(mortal, "crash")
    now = START
    with Studies(place.url, clock=lambda: now) as studies:
        study = studies.create("coins", load_problem("coin").problem, **OPTIONS)
        ids: dict[str, str] = {}
        for turn in range(2):
            for number in range(20):
                made = study.assign(f"u-{turn}-{number}", group="a", known={})
                assert made.id is not None
                ids[f"u-{turn}-{number}"] = made.id
            mortal.killed()
            with pytest.raises(Busy):
                study.assign("while it is away", group="a", known={})
            mortal.started()
            assert _works(lambda: study.assign("after", group="a", known={})).arm is not None
        assert {unit: study.assign(unit, group="a", known={}).id for unit in ids} == ids
        assert study.verify().ok


def test_a_connection_that_is_cut_is_made_again(mortal: Postgres) -> None:
    place = postgres_place(mortal, "cut")
    with Studies(place.url, clock=lambda: START) as studies:
        study = studies.create("coins", load_problem("coin").problem, **OPTIONS)
        for number in range(5):
            first = study.assign(f"u-{number}", group="a", known={})
            Stored(place).rows(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            again = _works(lambda number=number: study.assign(f"u-{number}", group="a", known={}))  # type: ignore[misc]
            assert again.id == first.id
        assert study.verify().ok


def _works(call: Callable[[], Any]) -> Any:
    """At the second time at the latest."""
    try:
        return call()
    except Busy:
        return call()
