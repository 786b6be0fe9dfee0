"""The service as a process: signals, faults of machines, kills under load. Smaller than `make service-bench`, the same code."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from benchmarks.postgres import Postgres
from benchmarks.service import faults
from benchmarks.service.faults import Fault
from benchmarks.service.load import check_kept, run_load
from benchmarks.service.serving import Caller, Place, Serving, place, serving

from fairarm.errors import OptionError
from fairarm.service.server import listen


def check(fault: Fault) -> None:
    """Nothing acknowledged is lost, nothing does not fit, and the next call works."""
    assert (fault.lost, fault.problems, fault.next_works) == (0, (), True), fault
    assert fault.acknowledged > 0, fault


def test_kills_stops_and_cuts_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path}/studies.db"
    where = place(db)
    with serving(db, tmp_path) as service:
        check(faults.killed(service, where, 8, 1.0))
        stopped = faults.terminated(service, where, 8, 1.0)
        check(stopped)
        assert stopped.error.startswith("exit code 0;"), stopped
        check(faults.cut(service, where, 12))
        load = run_load(service, where, 16, 4.0, 2.0)
        code = service.stop()
    kept = check_kept(where, load)
    assert code == 0 and load.kills >= 1 and load.errors == []
    assert (kept.lost_assignments, kept.lost_outcomes, kept.counted_twice, kept.problems) == (0, 0, 0, ())
    assert len(load.told) > 20
    log = (tmp_path / "service.log").read_text()
    assert all(json.loads(line)["event"] for line in log.splitlines()) and where.token not in log


def test_a_full_disk_is_said_and_passes(tmp_path: Path) -> None:
    fault = faults.disk_full(tmp_path, 10)
    check(fault)
    assert fault.error, "a caller hears of it"


def test_postgres_may_restart_and_two_processes_share_it(tmp_path: Path, postgres: Postgres) -> None:
    database = postgres.made("service")
    db = database.url()
    where = place(db)
    with serving(db, tmp_path) as service:
        gone = faults.postgres_gone(service, where, database, 4, 1.0)
        check(gone)
        assert gone.error == "503 busy"
        other = Serving(db, tmp_path / "other.log").start()
        try:
            same = [ask(each, where, "shared") for each in (service, other)]
            assert same[0]["assignment"] == same[1]["assignment"] and same[1]["repeated"]
        finally:
            assert other.stop() == 0
    assert database.password not in (tmp_path / "service.log").read_text()


def ask(service: Serving, where: Place, unit: str) -> dict[str, object]:
    with Caller(service.port, where.token) as caller:
        status, document = caller.post(f"/v1/studies/{where.study}/assignments", {"unit": unit, "group": "a"})
    assert status in (200, 201)
    found: dict[str, object] = document
    return found


def test_a_port_in_use_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OptionError, match="another --port"):
            listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(OptionError, match="cannot be listened at"):
        listen("no.such.host.invalid", 80)
