"""The service as a process: signals, faults of machines, kills under load. Smaller than `make service-bench`, the same code."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import httpx
import pytest
from benchmarks.postgres import Postgres
from benchmarks.service import faults
from benchmarks.service.faults import Fault
from benchmarks.service.load import check_kept, run_callers, wait_for
from benchmarks.service.serving import Caller, Place, Serving, place, serving

from fairarm.errors import OptionError
from fairarm.service.server import listen, server
from service_world import World, served


def check(fault: Fault) -> None:
    """Nothing acknowledged is lost, nothing does not fit, and the next call works."""
    assert (fault.lost, fault.problems, fault.next_works) == (0, (), True), fault
    assert fault.acknowledged > 0, fault


def test_kills_stops_and_cuts_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    db = f"sqlite:///{tmp_path}/studies.db"
    where = place(db)
    with serving(db, tmp_path) as service:
        check(faults.killed(service, where, 4, 40))
        stopped = faults.terminated(service, where, 4, 40)
        check(stopped)
        assert stopped.error.startswith("exit code 0;"), stopped
        check(faults.cut(service, where, 12))
        with run_callers(service, where, 8) as load:
            wait_for(load, 80)
            service.kill()
            service.start()
            wait_for(load, 80)
        code = service.stop()
    kept = check_kept(where, load)
    assert code == 0 and load.errors == []
    assert (kept.lost_assignments, kept.lost_outcomes, kept.counted_twice, kept.problems) == (0, 0, 0, ())
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
        gone = faults.postgres_gone(service, where, database, 4, 40)
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


def test_the_body_of_an_answer_does_not_wait_for_its_headers(world: World) -> None:
    """TCP_NODELAY is set on connections that the server accepts: else TCP holds the body back until the headers are confirmed."""
    made = server(world.guards)
    with served(world.guards, made) as address, httpx.Client(base_url=address) as caller:
        assert caller.get("/health").status_code == 200
        (connection,) = made.server_state.connections
        accepted = connection.transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_port_in_use_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OptionError, match="another --port"):
            listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(OptionError, match="cannot be listened at"):
        listen("no.such.host.invalid", 80)
