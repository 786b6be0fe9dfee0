"""Where studies can be kept and where not; its clock, its versions, what it says when it fails."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from fairarm.studies import Busy, Conflict, Invalid, Studies
from fairarm.studies.database import Database, _require_local, file_system_of
from study_people import Clock, Crowd, small_study


@pytest.mark.parametrize(
    "wrong",
    ["", "nonsense", "mysql://u:secret@h/d", "sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory", None,
     "sqlite:////no/such/folder/s.db"],
)  # fmt: skip
def test_urls_that_are_refused(wrong: Any) -> None:
    with pytest.raises(Invalid) as error:
        Studies(wrong)
    assert "secret" not in str(error.value) and str(error.value).isprintable()


def test_a_server_that_does_not_answer_is_busy_and_its_password_is_not_shown() -> None:
    with pytest.raises(Busy) as error:
        Studies("postgresql://u:hunter22@127.0.0.1:9/none")
    assert "hunter22" not in str(error.value)


MOUNTS = """/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
//srv/share /mnt/with\\040space cifs rw 0 0
tmpfs /home/local tmpfs rw 0 0
"""


def test_network_disks_are_refused() -> None:
    kinds = {
        "/var/s.db": "ext4",
        "/home/u/s.db": "nfs4",
        "/mnt/with space/s.db": "cifs",
        "/home/local/s.db": "tmpfs",
        "/homes/s.db": "ext4",
    }
    assert {path: file_system_of(Path(path), MOUNTS) for path in kinds} == kinds
    with pytest.raises(Invalid, match="network disk"):
        _require_local(Path("/home/u/s.db"), MOUNTS)
    _require_local(Path("/var/s.db"), MOUNTS)
    assert file_system_of(Path("/x"), "") is None


def test_files_that_are_no_database(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database " * 100)
    with pytest.raises(Invalid, match="another kind of file"):
        Studies(f"sqlite:///{tmp_path}/notes.txt")


def test_a_database_of_another_version_is_refused(opened: Callable[..., Studies], query: Callable[[str], Any]) -> None:
    first = opened()
    small_study(first)
    assert query("SELECT version FROM fairarm_schema") == [(2,)] and opened().names() == ("small",)
    for other in (1, 99):
        query(f"UPDATE fairarm_schema SET version = {other}")
        with pytest.raises(Conflict, match=f"version {other} .* begin with a new database"):
            opened()


def test_sqlite_is_set_to_lose_nothing(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/s.db")
    with database.writing() as (connection, _):
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2  # FULL
    database.close()


def test_another_process_that_begins_an_empty_file_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite refuses the change of the journal at once, however long it was told to wait."""
    with closing(sqlite3.connect(tmp_path / "new.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr("time.sleep", lambda _: other.rollback())
        with Studies(f"sqlite:///{tmp_path}/new.db") as studies:
            assert studies.names() == ()


def test_what_is_not_committed_is_gone(studies: Studies, query: Callable[[str], Any]) -> None:
    def write_and_fail() -> None:
        with studies._core.database.writing() as (connection, _):
            connection.execute(text("INSERT INTO fairarm_token VALUES ('x', 'viewer', NULL, '', 0, NULL)"))
            raise KeyError

    with pytest.raises(KeyError):
        write_and_fail()
    assert query("SELECT count(*) FROM fairarm_token") == [(0,)]


def test_the_clock_is_the_databases_or_the_passed_one(url: str, opened: Callable[..., Studies], clock: Clock) -> None:
    import time

    own = opened(clock=None)
    assert abs(own.now().timestamp() - time.time()) < 60
    clock.now = 1_800_000_000_000_007
    assert opened().now().isoformat() == "2027-01-15T08:00:00.000007+00:00"
    assert own.describe()["kind"] in ("sqlite", "postgresql") and "s3cret" not in repr(own)


def test_a_backup_is_whole_and_opens(crowd: Crowd, tmp_path: Path, url: str, clock: Clock) -> None:
    crowd.day(0)
    if url.startswith("postgresql"):
        with pytest.raises(Invalid, match="pg_dump"):
            crowd.studies.backup(tmp_path / "copy.db")
        return
    crowd.studies.backup(tmp_path / "copy.db")
    with Studies(f"sqlite:///{tmp_path}/copy.db", clock=clock) as copy:
        assert copy.open("small").verify().ok and copy.open("small").cohorts() == crowd.study.cohorts()
    with pytest.raises(Conflict, match="already"):
        crowd.studies.backup(tmp_path / "copy.db")
    with pytest.raises(Invalid):
        crowd.studies.backup(tmp_path / "no" / "copy.db")


def test_a_lost_connection_is_made_again(crowd: Crowd, url: str, query: Callable[[str], Any]) -> None:
    """PostgreSQL ends all connections: the next call works."""
    assert crowd.study.assign("one", "a") is not None
    if url.startswith("postgresql"):
        query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
    assert crowd.study.assign("two", "a") is not None and crowd.study.cohorts()
