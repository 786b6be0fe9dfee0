"""``fairarm study``: a study from its file to its export, every command with words and with JSON, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fairarm import load_problem
from fairarm.cli import main
from fairarm.studies import Studies

DAY = 86_400_000_000
FILE = """
name = "ads"
problem = "ad-marketplace"
pulls = 4000
people = 300
arrivals = 300
window = "2d"
seed = 4
"""


class Command:
    """Runs ``fairarm study …`` in this process."""

    def __init__(self, db: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.db, self.capsys, self.monkeypatch = db, capsys, monkeypatch

    def __call__(self, *words: str, code: int = 0) -> str:
        self.monkeypatch.setattr(sys, "argv", ["fairarm", "study", *words, "--db", self.db])
        with pytest.raises(SystemExit) as ended:
            main()
        out = self.capsys.readouterr()
        assert (ended.value.code or 0) == code, out.err
        return out.out if code != 2 else out.err

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json"))


@pytest.fixture
def study(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    (tmp_path / "study.toml").write_text(FILE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return Command("sqlite:///studies.db", capsys, monkeypatch)


def test_a_study_from_its_file_to_its_end(study: Command) -> None:
    assert "Out at the same time: up to 900 people" in study("create", "--config", "study.toml")
    made = study.json("assign", "ads", "u-1", "--group", "female", "--known", "query=travel")
    assert made["outside"] is False
    assert made["decision"] in ("low", "medium", "high")
    assert study.json("assign", "ads", "u-1", "--group", "female") | {"repeated": False} == made
    assert "(as before)" in study("assign", "ads", "u-1", "--group", "female")
    assert study("tell", "ads", made["id"], "revenue=click") == "new.\n"
    assert study.json("tell", "ads", made["id"], "revenue=click") == {"status": "repeated"}
    assert "Another outcome" in study("tell", "ads", made["id"], "revenue=sale", code=2)
    assert study.json("correct", "ads", made["id"], "revenue=sale", "--reason", "typed wrong") == {
        "assignment": made["id"],
        "counts": True,
    }
    other = study.json("assign", "ads", "u-2", "--group", "male")
    assert study.json("unserved", "ads", other["id"]) == {"status": "new"}
    said = study("why", "ads", "--unit", "u-1")
    assert f"arm {made['arm']}" in said
    assert "Corrected 1 time." in said
    assert "not in the study" in study("why", "ads", "--unit", "nobody")
    assert "Cards by cohort: 0:" in study("why", "ads", "--arm", "deployed")
    assert study.json("why", "ads", "--arm", "by-sex")["arm"]["name"] == "by-sex"
    assert study.json("forget", "ads", "u-2") == {"erased": True}
    assert "nothing to erase" in study("forget", "ads", "u-2")
    shown = study.json("show", "ads")
    assert shown["verdict"]["status"] == "UNDECIDED"
    assert shown["cohorts"][0]["dealt"] == 2
    assert {event["kind"] for event in shown["events"]} >= {"created", "opened", "corrected", "erased"}
    assert "Nothing is known yet" in study("show", "ads", "--events")
    assert "paused" in study("pause", "ads", "--reason", "a look")
    assert study.json("resume", "ads", "--reason", "fine") == {"study": "ads", "state": "running"}
    assert study.json("drop", "ads", "0", "--reason", "outage") == {"study": "ads", "state": "running"}
    assert study.json("close", "ads", "--reason", "enough", "--now")["study"] == "ads"
    assert "all is as it must be" in study("verify")
    (found,) = study.json("verify", "ads")
    assert found["ok"] and found["erased"] == 1
    (line,) = study.json("list")
    assert (line["name"], line["people"]) == ("ads", 2)
    assert "ads" in study("list")
    backup = study.json("backup", "copy.db")
    assert backup == {"path": "copy.db"}
    assert Path("copy.db").stat().st_size > 0
    assert "nothing was due" not in study("run", "--once")


def test_the_export_is_a_log_that_evaluate_reads(
    study: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study("create", "--config", "study.toml")
    clock = [0]
    with Studies(study.db, clock=lambda: clock[0]) as studies:
        found = studies.open("ads")
        clock[0] = round(found.cohorts()[0].opened.timestamp() * 1e6)
        people = [found.assign(f"u-{n}", "female" if n % 2 else "male", {"query": "travel"}) for n in range(40)]
        for n, person in enumerate(people):
            if person.id is not None:
                found.tell(person.id, {"revenue": ("none", "click", "sale")[n % 3]})
        studies.tick()
        clock[0] += 4 * DAY
        studies.tick()
        counted = found.verdict().counted
        assert counted == sum(person.id is not None for person in people) > 30
    assert study.json("export", "ads", "rows.csv")["rows"] == counted
    monkeypatch.setattr(sys, "argv", ["fairarm", "evaluate", "rows.csv.toml", "rows.csv", "--json"])
    with pytest.raises(SystemExit):
        main()
    assert json.loads(capsys.readouterr().out)["used"] == counted


def test_a_service_that_was_down_is_held_until_the_clock_is_confirmed(study: Command) -> None:
    """The last tick was days ago: nothing is done before somebody says that the clock is right."""
    with Studies(study.db, clock=lambda: 1_700_000_000_000_000) as studies:
        studies.create("ads", load_problem("ad-marketplace").problem, pulls=4000, people=300, arrivals=300, window="2d")
    assert "ads: held until somebody confirms the clock (fairarm study confirm-clock)" in study("run", "--once")
    assert "not in the study" in study("assign", "ads", "u-1", "--group", "female")
    assert "nobody enters" in study("list") and "clock-held: The clock may be wrong" in study("show", "ads")
    assert study.json("confirm-clock", "--reason", "it was down") == {"studies": ["ads"]}
    assert "ads: settled 0" in study("run", "--once")


def test_another_group_for_the_same_person_is_said(study: Command) -> None:
    study("create", "--config", "study.toml")
    first = study.json("assign", "ads", "u-1", "--group", "female")
    assert study.json("assign", "ads", "u-1", "--group", "male") == {**first, "repeated": True, "conflict": True}
    assert "differs from those of the first call" in study("assign", "ads", "u-1", "--group", "male")
    assert "Nothing causes 'sex'" in study("show", "ads").replace("\n", " ")


def test_tokens_are_made_listed_and_revoked(study: Command) -> None:
    study("create", "--config", "study.toml")
    made = study.json("token", "--role", "caller", "--study", "ads", "--label", "web")
    assert made["token"] not in study("token")
    assert [(each["label"], each["role"], each["study"]) for each in study.json("token")] == [("web", "caller", "ads")]
    assert study.json("token", "--revoke", "web") == {"revoked": 1}
    assert study.json("token")[0]["revoked"] is not None
    assert "No token has the label" in study("token", "--revoke", "web", code=2)
    assert "--role makes a token" in study("token", "--role", "caller", "--revoke", "web", code=2)
    assert "It is one of: viewer, caller, admin" in study("token", "--role", "boss", code=2)


def test_after_a_backup_was_put_back_what_was_out_is_cut(study: Command) -> None:
    study("create", "--config", "study.toml")
    assert len(study.json("restored", "--reason", "disk")["cut"]) == 1
    assert study.json("show", "ads")["cohorts"][0]["cut"] is True
    assert study.json("confirm-clock", "--reason", "looked") == {"studies": []}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("create", "--config", "nothing.toml"), "nothing.toml: no such file"),
        (("create", "--config", "unnamed.toml"), "the study has no name"),
        (("create", "--config", "wrong.toml"), "peple: there is no such key. Did you mean 'people'?"),
        (("create", "--config", "many.toml"), "people"),
        (("create", "--config", "study.toml"), "ads"),
        (("show", "nothing"), "There is no study 'nothing'"),
        (("why", "ads"), "Say of whom"),
        (("why", "ads", "--unit", "u", "--arm", "by-sex"), "Say of whom"),
        (("why", "ads", "--arm", "nobody"), "nobody"),
        (("assign", "ads", "u"), "The group is missing"),
        (("assign", "ads", "u", "--group", "other"), "female"),
        (("assign", "ads", "", "--group", "male"), "1 to 200 characters"),
        (("assign", "ads", "u" * 201, "--group", "male"), "1 to 200 characters"),
        (("assign", "ads", "u", "--group", "male", "--known", "travel"), "column=state"),
        (("assign", "ads", "u", "--group", "male", "--known", "query=x", "--known", "query=y"), "given twice"),
        (("assign", "ads", "u", "--group", "male", "--known", "query=x"), "query"),
        (("tell", "ads", "0123456789abcdef"), "Nothing is told"),
        (("tell", "ads", "0123456789abcdef", "revenue=click"), "assignment"),
        (("tell", "ads", "ffffffffffffffff", "revenue=click"), "assignment"),
        (("correct", "ads", "x", "--reason", "r"), "Nothing is corrected"),
        (("drop", "ads", "7", "--reason", "outage"), "7"),
        (("pause", "ads", "--reason", ""), "reason"),
        (("pause", "ads"), "--reason"),
        (("resume", "ads", "--reason", "r"), "not paused"),
        (("export", "ads", "rows.txt"), "rows.txt"),
        (("backup", "study.toml"), "study.toml"),
    ],
)
def test_what_is_wrong_is_said_on_one_line(study: Command, words: tuple[str, ...], said: str) -> None:
    Path("unnamed.toml").write_text(FILE.replace('name = "ads"', ""), encoding="utf-8")
    Path("wrong.toml").write_text(FILE + "peple = 3", encoding="utf-8")
    Path("many.toml").write_text(FILE.replace("people = 300", "people = 3000"), encoding="utf-8")
    study("create", "--config", "study.toml")
    before = Path("study.toml").read_text(encoding="utf-8")
    error = study(*words, code=2)
    assert error.startswith("fairarm: ") and error.count("\n") == 1, error
    assert said in error
    assert Path("study.toml").read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("db", "said"),
    [
        ("sqlite://", "a database in memory does not"),
        ("mysql://u:s3cret@h/d", "SQLite or PostgreSQL"),
        ("nonsense", "cannot be read"),
        ("sqlite:///no/such/folder/x.db", "does not exist"),
        ("sqlite:///notes.txt", "notes.txt"),
        ("postgresql://u:s3cret@127.0.0.1:1/d", "database"),
    ],
)
def test_a_database_that_is_none_is_refused(
    db: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("not a database\n" * 100, encoding="utf-8")
    error = Command(db, capsys, monkeypatch)("list", code=2)
    assert said in error and error.count("\n") == 1
    assert "s3cret" not in error


def test_without_its_packages_it_says_how_to_install_them(tmp_path: Path) -> None:
    code = "import sys; sys.modules['sqlalchemy'] = None; from fairarm.cli import main; main()"
    words = ["study", "list", "--db", f"sqlite:///{tmp_path}/s.db"]
    ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert ran.returncode == 2
    assert "pip install 'fairarm[studies]'" in ran.stderr
