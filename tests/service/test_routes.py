"""What each route does, against the study behind it."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairarm import evaluate, load_problem, read_problem, write_problem
from fairarm.studies import Studies
from service_world import DAY, World, create_coin


def assigned(world: World, unit: str = "u-1", **more: Any) -> dict[str, Any]:
    answer = world.post("/assignments", {"unit": unit, "group": "a", **more})
    assert answer.status_code in (200, 201), answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_person_gets_an_arm_once_and_the_same_one_again(world: World) -> None:
    first = world.post("/assignments", {"unit": "u-1", "group": "a"})
    again = world.post("/assignments", {"unit": "u-1", "group": "a"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() | {"repeated": True} == again.json()
    assert not first.json()["outside"] and first.json()["arm"] in world.coin.problem.arm_names
    assert world.coin.assign("u-1", group="a").id == first.json()["assignment"], "the study knows the same assignment"


def test_who_does_not_enter_is_outside(world: World) -> None:
    create_coin(world.studies, "few", people=1, arrivals=4_000, deployed="even")
    answers = [world.post("/assignments", {"unit": f"u-{i}", "group": "a"}, study="few") for i in range(5)]
    assert {answer.status_code for answer in answers} == {200}
    assert all(a.json()["outside"] and a.json()["assignment"] is None for a in answers)
    assert {a.json()["arm"] for a in answers} == {"even"}


def test_an_outcome_is_told_once(world: World) -> None:
    id = assigned(world)["assignment"]
    body = {"assignment": id, "row": {"side": "heads", "result": "win"}}
    assert world.post("/outcomes", body).json() == {"status": "new"}
    assert world.post("/outcomes", body).json() == {"status": "repeated"}
    other = world.post("/outcomes", {**body, "row": {"side": "heads", "result": "lose"}})
    assert (other.status_code, other.json()["error"]) == (409, "conflict")
    assert world.coin.cohorts()[0].told == 1
    unknown = world.post("/outcomes", {**body, "assignment": "9" * 16})
    assert (unknown.status_code, unknown.json()["error"]) == (404, "not-found")


def test_an_outcome_of_another_study_is_not_found(world: World) -> None:
    id = assigned(world)["assignment"]
    body = {"assignment": id, "row": {"side": "heads", "result": "win"}}
    assert world.post("/outcomes", body, study="other").status_code == 404


def test_after_the_window_an_outcome_is_late(world: World) -> None:
    id = assigned(world)["assignment"]
    world.clock.now += 3 * DAY
    told = world.post("/outcomes", {"assignment": id, "row": {"side": "heads", "result": "win"}})
    assert (told.status_code, told.json()) == (200, {"status": "late"})


def test_after_its_cohort_was_settled_an_outcome_says_so(world: World) -> None:
    """The clock was ahead when the cohort was settled, and is right again."""
    id = assigned(world)["assignment"]
    world.studies.tick()
    world.clock.now += 3 * DAY
    world.studies.tick()
    world.clock.now -= 3 * DAY
    body = {"assignment": id, "row": {"side": "heads", "result": "win"}}
    assert world.post("/outcomes", body).json() == {"status": "settled"}
    (found,) = [each for each in world.get("/findings").json() if each["name"] == "told-after-settlement"]
    assert found["rows"] == 1 and found["level"] == "warning"


def test_a_restart_with_a_wrong_clock_holds_the_studies(world: World) -> None:
    """A new process, 10 days ahead: nobody enters, and the service says so."""
    world.clock.now += 10 * DAY
    url = str(world.studies._core.database.url)
    with Studies(url, clock=world.clock) as fresh:
        later = World(fresh, world.clock)
        fresh.tick()
        assert later.post("/assignments", {"unit": "u-1", "group": "a"}).json()["outside"]
        assert later.http.get("/ready").json()["held"] == 2
        (found,) = later.get("/findings").json()
        assert found["name"] == "clock-held" and "fairarm study confirm-clock" in found["message"]
        assert later.get("/cohorts").json()[0]["state"] == "out"


def test_the_first_answer_holds(world: World) -> None:
    """Another group for the same person, and a person who was outside once."""
    first = assigned(world)
    again = world.post("/assignments", {"unit": "u-1", "group": "b"}).json()
    assert not first["conflict"] and again == {**first, "repeated": True, "conflict": True}
    create_coin(world.studies, "few", people=1, arrivals=4_000, deployed="even")
    found = [world.post("/assignments", {"unit": "u-1", "group": "a"}, study="few").json() for _ in range(2)]
    assert [(each["outside"], each["repeated"]) for each in found] == [(True, False), (True, True)]


def test_a_batch_has_an_answer_for_each_outcome(world: World) -> None:
    ids = [assigned(world, f"u-{i}")["assignment"] for i in range(3)]
    row = {"side": "heads", "result": "win"}
    assert world.post("/outcomes", {"assignment": ids[0], "row": row}).json() == {"status": "new"}
    items = [
        {"assignment": ids[0], "row": row},
        {"assignment": ids[1], "row": row},
        {"assignment": ids[2], "unserved": True},
        {"assignment": ids[0], "row": {"side": "heads", "result": "lose"}},
        {"assignment": "9" * 16, "row": row},
        {"assignment": ids[1], "row": {"side": "edge", "result": "win"}},
    ]
    answer = world.post("/outcomes:batch", {"outcomes": items})
    assert answer.status_code == 200
    found = [(each["status"], each["error"]) for each in answer.json()["results"]]
    assert found[:5] == [("repeated", None), ("new", None), ("new", None), (None, "conflict"), (None, "not-found")]
    assert found[5] in [(None, "invalid"), (None, "conflict")]
    cohort = world.coin.cohorts()[0]
    assert (cohort.told, cohort.unserved) == (2, 1)
    too_many = world.post("/outcomes:batch", {"outcomes": items[:1] * 10_001})
    assert (too_many.status_code, too_many.json()["error"]) == (422, "invalid")


BAD = [
    {},
    {"unit": ""},
    {"unit": "u" * 201},
    {"unit": 3},
    {"unit": "u", "group": 3},
    {"unit": "u", "group": "c"},
    {"unit": "u"},
    {"unit": "u", "group": "a", "known": {"side": None}},
    {"unit": "u", "group": "a", "known": {"nothing": "x"}},
    {"unit": "u", "group": "a", "more": 1},
    {"unit": "u\u0000", "group": "a"},
    {"unit": "u", "group": {"group": "a", "other": "b"}},
    [],
    "u",
]


def test_a_body_that_does_not_fit_is_refused_and_nothing_is_dealt(world: World) -> None:
    for body in BAD:
        answer = world.post("/assignments", body)
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid"), (body, answer.text)
        assert "\n" not in answer.json()["message"] and len(answer.json()["message"]) <= 400
    assert world.coin.cohorts()[0].dealt == 0


def test_a_row_that_does_not_fit_is_refused(world: World) -> None:
    id = assigned(world)["assignment"]
    good = {"side": "heads", "result": "win"}
    for row in ({}, {"result": "draw"}, {**good, "result": 3.5}, {**good, "group": "b"}, {**good, "more": "x"}):
        answer = world.post("/outcomes", {"assignment": id, "row": row})
        assert answer.status_code == 422, (row, answer.text)
    assert world.coin.cohorts()[0].told == 0


def test_what_is_not_json_is_refused(world: World) -> None:
    headers = world.headers("caller", content_type="application/json")
    long_number = b'{"unit": ' + b"9" * 5000 + b"}"
    for text in (b"", b"{", b"\xff", b"[" * 100_000, b"null", b'{"unit": NaN}', b'{"unit": "\\ud800"}', long_number):
        answer = world.http.post("/v1/studies/coin/assignments", content=text, headers=headers)
        assert answer.status_code in (400, 422), (text[:30], answer.text)
        assert answer.json()["error"] in ("malformed", "invalid")


def test_unsettled_cohorts_show_counts_only(world: World) -> None:
    id = assigned(world)["assignment"]
    world.post("/outcomes", {"assignment": id, "row": {"side": "heads", "result": "win"}})
    (cohort,) = world.get("/cohorts").json()
    assert (cohort["dealt"], cohort["told"], cohort["lost"], cohort["counted"]) == (1, 1, None, None)
    shown = "".join(world.get(f"/{view}").text for view in ("cohorts", "findings", "exposure", "history", "monitors"))
    assert "win" not in shown and "heads" not in shown


def test_views_have_what_the_study_says(world: World) -> None:
    """Key by key; `test_client.py` compares the values."""
    for view in ("cohorts", "findings", "arms", "history", "monitors", "events"):
        answer = world.get(f"/{view}")
        assert answer.status_code == 200
        assert [set(each) for each in answer.json()] == [set(asdict(each)) for each in getattr(world.coin, view)()], (
            view
        )
    assert world.get("/exposure").json() == asdict(world.coin.exposure())


def test_the_verdict_is_the_study_s(world: World) -> None:
    said, found = world.coin.verdict(), world.get("/verdict").json()
    assert (found["study"], found["status"], found["confidence"]) == ("coin", said.status, 0.95)
    assert "verdict" not in found


def test_the_hand_on_the_button_needs_the_name_twice(world: World) -> None:
    reason = {"reason": "a fault"}
    assert world.post(":pause", {**reason, "confirm": "coins"}, "admin").status_code == 422
    assert world.coin.state == "running"
    assert world.post(":pause", {**reason, "confirm": "coin"}, "admin").json() == {"state": "paused"}
    assert world.post(":resume", {**reason, "confirm": "coin"}, "admin").json() == {"state": "running"}
    assert world.post(":drop", {**reason, "confirm": "coin", "cohort": 77}, "admin").status_code == 404
    assert world.post(":close", {**reason, "confirm": "coin", "now": True}, "admin").json()["state"] in (
        "draining",
        "closed",
    )
    events = [(event["kind"], event["actor"]) for event in world.get("/events").json()]
    assert ("paused", "admin of tests") in events or ("pause", "admin of tests") in events, events


def test_a_correction_counts_before_settling(world: World) -> None:
    id = assigned(world)["assignment"]
    world.post("/outcomes", {"assignment": id, "row": {"side": "heads", "result": "win"}})
    body = {"assignment": id, "row": {"side": "heads", "result": "lose"}, "reason": "typed wrongly", "confirm": "coin"}
    assert world.post("/corrections", body, "admin").json() == {"counts": True}


def test_a_person_is_forgotten(world: World) -> None:
    assigned(world, "u-9")
    body = {"unit": "u-9", "confirm": "coin"}
    assert world.post(":forget", body, "admin").json() == {"erased": True}
    assert world.post(":forget", body, "admin").json() == {"erased": False}


def test_a_study_is_made_from_a_problem_s_text(world: World, tmp_path: Path) -> None:
    file = tmp_path / "problem.toml"
    write_problem(load_problem("ad-marketplace").problem, file)
    body = {
        "name": "ads",
        "problem": file.read_text(),
        "pulls": 20_000,
        "people": 500,
        "arrivals": 2_000,
        "window": "7d",
        "on_end": "keep",
    }
    made = world.http.post("/v1/studies", json=body, headers=world.headers("admin"))
    assert made.status_code == 201, made.text
    assert made.json()["arms"] == list(read_problem(file).problem.arm_names)
    assert made.json()["under_way_at_once"] == 4_000 and made.json()["options"]["on_end"] == "keep"
    again = world.http.post("/v1/studies", json=body, headers=world.headers("admin"))
    assert (again.status_code, again.json()["error"]) == (409, "conflict")
    for wrong in ({"name": "a/b"}, {"name": "a:pause"}, {"problem": "format = 1"}, {"people": 9_999}, {"window": "1y"}):
        refused = world.http.post("/v1/studies", json={**body, "name": "new", **wrong}, headers=world.headers("admin"))
        assert refused.status_code == 422, (wrong, refused.text)
    one = world.http.post("/v1/studies", json={**body, "name": "new"}, headers=world.headers("admin of other"))
    assert one.status_code == 403


def test_a_problem_cannot_name_a_file(world: World) -> None:
    text = 'format = 1\n[world]\nnetwork = "../../etc/passwd"\n'
    body = {"name": "new", "problem": text, "pulls": 100, "people": 10, "arrivals": 10, "window": "1d"}
    assert world.http.post("/v1/studies", json=body, headers=world.headers("admin")).status_code == 422


def test_a_token_of_one_study_sees_that_one(world: World) -> None:
    names = [study["name"] for study in world.http.get("/v1/studies", headers=world.headers("viewer")).json()]
    assert names == ["coin", "other"]
    (only,) = world.http.get("/v1/studies", headers=world.headers("viewer of other")).json()
    assert only["name"] == "other"
    whose = world.http.get("/v1/token", headers=world.headers("viewer of other")).json()
    assert whose == {"role": "viewer", "study": "other", "label": "viewer of other"}


def test_settled_rows_are_exported_as_a_log(world: World, tmp_path: Path) -> None:
    for i in range(20):
        id = assigned(world, f"u-{i}", group="ab"[i % 2])["assignment"]
        world.post("/outcomes", {"assignment": id, "row": {"side": "heads", "result": ("win", "lose")[i % 2]}})
    for _ in range(4):
        world.clock.now += DAY
        world.studies.tick()
    text = world.get("/export?format=csv", "admin")
    assert text.headers["content-type"].startswith("text/csv") and "attachment" in text.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(text.text)))
    assert len(rows) == 20 and sum("win" in row.values() for row in rows) == 10
    (tmp_path / "rows.csv").write_text(text.text)
    (tmp_path / "rows.toml").write_text(world.get("/export?format=toml", "admin").text)
    found = evaluate(load_problem(str(tmp_path / "rows.toml")), str(tmp_path / "rows.csv"))
    assert found.evidence.natural.sum() == 20
    assert world.get("/export?format=parquet", "admin").content[:4] == b"PAR1"
    assert world.get("/export?format=../x", "admin").status_code == 422
