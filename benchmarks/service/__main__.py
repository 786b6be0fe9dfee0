"""``python -m benchmarks.service`` writes results.md: inputs, cost, faults and load of the service."""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.postgres import Postgres, postgres_server
from benchmarks.service import faults
from benchmarks.service.any_input import run_cases
from benchmarks.service.cost import Cost, measure
from benchmarks.service.faults import Fault
from benchmarks.service.load import Kept, Load, check_kept, run_load
from benchmarks.service.page import page
from benchmarks.service.serving import place, serving
from fairarm.service import Settings, app
from fairarm.service.languages import openapi
from fairarm.service.logs import JsonLines
from fairarm.studies import Studies

OUT = Path(__file__).with_name("results.md")


def main() -> None:
    """All parts, one after the other."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=5000, help="made from the API's description, in all")
    parser.add_argument("--requests", type=int, default=2000, help="of each kind, for the cost")
    parser.add_argument("--seconds", type=float, default=60, help="of load with kills")
    parser.add_argument("--callers", type=int, default=16)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name, postgres_server(durable=True) as server:
        folder = Path(name)
        inputs = any_input(folder, asked.cases)
        print(inputs, flush=True)
        costs = {kind: cost(new(kind, "cost", folder, server), folder, asked) for kind in ("SQLite", "PostgreSQL")}
        print(costs, flush=True)
        found = {kind: all_faults(kind, folder, server, asked.callers) for kind in ("SQLite", "PostgreSQL")}
        print(found, flush=True)
        loads = {
            kind: load(new(kind, "load", folder, server), folder, asked.callers, asked.seconds)
            for kind in ("SQLite", "PostgreSQL")
        }
    asked.out.write_text(page(inputs, costs, found, loads, (time.monotonic() - began) / 60), encoding="utf-8")
    print(asked.out)


def new(kind: str, name: str, folder: Path, server: Postgres) -> str:
    """The URL of a new database."""
    return f"sqlite:///{folder}/{name}.db" if kind == "SQLite" else server.made(name).url()


def any_input(folder: Path, cases: int) -> Counter[int]:
    """Cases of every route, at least so many in all: a few routes have fewer that differ."""
    where = place(f"sqlite:///{folder}/inputs.db")
    routes = sum(len(route) for route in openapi()["paths"].values())
    with Studies(where.db) as studies:
        token = studies.tokens.make("admin")
        guards = app(studies, Settings.of("127.0.0.1", 8000), lines=JsonLines(io.StringIO()))
        headers = {"authorization": f"Bearer {token}", "host": "127.0.0.1:8000"}
        return run_cases(guards, headers, where.study, int(1.15 * cases / (2 * routes - 5)) + 1)


def cost(db: str, folder: Path, asked: argparse.Namespace) -> Cost:
    """What requests cost over one kind of database."""
    where = place(db)
    with serving(db, folder) as service:
        return measure(service, where, asked.requests, asked.callers, min(asked.seconds, 20), 1000)


def all_faults(kind: str, folder: Path, server: Postgres, callers: int) -> list[Fault]:
    """Each fault over one kind of database."""
    db = new(kind, "faults", folder, server)
    where = place(db)
    with serving(db, folder) as service:
        found = [
            faults.killed(service, where, callers, 1000),
            faults.terminated(service, where, callers, 1000),
            faults.cut(service, where, 40),
            faults.stalled(service, where, 0.1, 20),
        ]
        if kind == "PostgreSQL":
            return [*found, faults.postgres_gone(service, where, server, callers, 1000)]
    return [*found, faults.disk_full(folder, 40)]


def load(db: str, folder: Path, callers: int, seconds: float) -> tuple[Load, Kept]:
    """Callers and kills."""
    where = place(db)
    with serving(db, folder) as service:
        found = run_load(service, where, callers, seconds, 5)
        service.stop()
    return found, check_kept(where, found)


if __name__ == "__main__":
    main()
