"""A service over a real database, in this process or in one of its own."""

from __future__ import annotations

import io
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from fairarm import load_problem
from fairarm.service import Settings, app
from fairarm.service.guards import Guards
from fairarm.service.logs import JsonLines
from fairarm.service.pages import add_pages
from fairarm.service.server import listen, server
from fairarm.studies import Studies, Study

ADDRESS = "http://127.0.0.1:8000"
DAY = 86_400_000_000


@dataclass
class Clock:
    """A time that tests move, in µs."""

    now: int = 1_700_000_000_000_000

    def __call__(self) -> int:
        return self.now


@dataclass
class World:
    """Two studies of the coin, a token of each role, and a client of the app."""

    studies: Studies
    clock: Clock
    log: io.StringIO = field(default_factory=io.StringIO)
    tokens: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for role in ("caller", "viewer", "admin"):
            self.tokens[role] = self.studies.tokens.make(role, label=f"{role} of tests")
            if "other" in self.studies.names():
                self.tokens[f"{role} of other"] = self.studies.tokens.make(role, "other", f"{role} of other")
        self.guards: Guards = app(
            self.studies, Settings.of("127.0.0.1", 8000), pages=add_pages, lines=JsonLines(self.log)
        )
        self.http = TestClient(self.guards, base_url=ADDRESS, raise_server_exceptions=True)

    def headers(self, token: str | None = "caller", **more: str) -> dict[str, str]:
        """With a token by its role, or as it is."""
        given = {} if token is None else {"authorization": f"Bearer {self.tokens.get(token, token)}"}
        return {**given, **{name.replace("_", "-"): value for name, value in more.items()}}

    def post(self, path: str, body: Any, token: str | None = "caller", study: str = "coin") -> Any:
        return self.http.post(f"/v1/studies/{study}{path}", json=body, headers=self.headers(token))

    def get(self, path: str, token: str | None = "viewer", study: str = "coin") -> Any:
        return self.http.get(f"/v1/studies/{study}{path}", headers=self.headers(token))

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    @property
    def coin(self) -> Study:
        return self.studies.open("coin")


def create_coin(studies: Studies, name: str = "coin", **options: Any) -> Study:
    """Everybody enters; a cohort and a window last a day."""
    given = {"pulls": 20_000, "people": 4_000, "arrivals": 4_000, "window": "1d", "cohort": "1d", "seed": 1, **options}
    return studies.create(name, load_problem("coin").problem, actor="tests", **given)


@contextmanager
def served(guards: Guards, made: uvicorn.Server | None = None) -> Iterator[str]:
    """The app behind a real server on loopback, in a thread."""
    at = listen("127.0.0.1", 0)
    address = f"127.0.0.1:{at.getsockname()[1]}"
    guards.settings = Settings({address: f"http://{address}"})
    made = server(guards) if made is None else made
    thread = threading.Thread(target=made.run, kwargs={"sockets": [at]})
    thread.start()
    try:
        while not made.started:
            assert thread.is_alive()
            time.sleep(0.005)
        yield f"http://{address}"
    finally:
        made.should_exit = True
        thread.join(60)
        at.close()
