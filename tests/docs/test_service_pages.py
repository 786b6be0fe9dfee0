"""What the pages about the service show: curl lines and the client against a real one, unit, container and proxy by their grammar."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from docs.outputs import blocks

from fairarm import load_problem
from fairarm.studies import Studies
from service_world import Clock, World, served

ROOT = Path(__file__).parents[2]
SERVICE, HTTP = ROOT / "docs" / "service.md", ROOT / "docs" / "http.md"

UNIT_KEYS = {
    "Unit": {"Description", "After", "Wants"},
    "Service": {
        "Type", "User", "EnvironmentFile", "ExecStart", "Restart", "RestartSec", "KillSignal", "TimeoutStopSec", "StateDirectory",
        "NoNewPrivileges", "PrivateTmp", "PrivateDevices", "ProtectSystem", "ProtectHome", "RestrictAddressFamilies",
        "CapabilityBoundingSet", "SystemCallFilter", "MemoryMax",
    },
    "Install": {"WantedBy"},
}  # fmt: skip
"""Of systemd.unit(5), systemd.service(5), systemd.exec(5), systemd.kill(5) and systemd.resource-control(5)."""
CONTAINER_WORDS = {
    "FROM",
    "RUN",
    "COPY",
    "USER",
    "VOLUME",
    "ENV",
    "EXPOSE",
    "STOPSIGNAL",
    "HEALTHCHECK",
    "ENTRYPOINT",
    "CMD",
}


@pytest.fixture
def ads(tmp_path: Path) -> Any:
    """The study that the pages speak of; everybody enters."""
    with Studies(f"sqlite:///{tmp_path}/studies.db", clock=Clock()) as studies:
        problem = load_problem("ad-marketplace").problem
        studies.create("ads", problem, pulls=20_000, people=500, arrivals=500, window="7d", deployed="deployed")
        studies.tick()
        yield World(studies, Clock())


def curl(line: str, ids: dict[str, str], world: World) -> Any:
    """A line as curl would send it, by the rules of a shell."""
    words = shlex.split(line)
    assert words[0] == "curl"
    url, headers, data, i = "", {}, None, 1
    while i < len(words):
        word = words[i]
        if word in ("-H", "-d", "-o", "--max-time"):
            value = words[i + 1]
            if word == "-H" and value != "@token.txt":
                name, _, text = value.partition(": ")
                headers[name] = text
            elif word == "-d":
                data = value
            i += 1
        elif word != "-s":
            url = word
        i += 1
    assert "-H @token.txt" in line
    for name, id in ids.items():
        data = data.replace(name, id) if data else data
    parts = urlsplit(url)
    assert parts.netloc == "127.0.0.1:8000"
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return world.http.request(
        "POST" if data else "GET", path, content=data, headers={**world.headers("admin"), **headers}
    )


def test_every_line_of_curl_works(ads: World) -> None:
    ids = {}
    for name in ("SECOND", "THIRD"):
        ids[name] = ads.studies.open("ads").assign(name, group="male", known={"query": "fashion"}).id or ""
    lines = [line for block in blocks(HTTP, "curl") for line in block.text.splitlines()]
    assert len(lines) > 20
    for line in lines:
        answer = curl(line, ids, ads)
        assert answer.status_code in (200, 201), (line, answer.text)
        if line.startswith("curl -s http://127.0.0.1:8000/v1/studies/ads/assignments"):
            ids["ASSIGNMENT"] = answer.json()["assignment"]
            shown = json.loads(blocks(HTTP, "json")[0].text)
            assert set(shown) == set(answer.json())
    told = {path for line in lines if "/v1/" in line for path in re.findall(r"/v1/studies/ads([:/][a-z:]+)", line)}
    known = {
        str(getattr(route, "path", "")).removeprefix("/v1/studies/{name}")
        for route in ads.guards.api.routes
        if str(getattr(route, "path", "")).startswith("/v1/studies/{name}")
    }
    assert told == known - {""}, "every route has its line"


def test_the_client_of_the_page_works(ads: World) -> None:
    (block,) = blocks(SERVICE, "py")
    with served(ads.guards) as url:
        text = block.text.replace("http://127.0.0.1:8000", url).replace('study="ads"', 'study="ads", timeout=20.0')
        env = {**os.environ, "FAIRARM_TOKEN": ads.tokens["caller"]}
        ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=env, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "so the decision is" in ran.stdout and ran.stdout.endswith("new\n")


def test_every_error_is_on_the_page() -> None:
    from fairarm.service.answers import CODES

    text = HTTP.read_text(encoding="utf-8")
    assert [
        f"{status} {code}" for status, code in CODES.items() if str(status) not in text or f"`{code}`" not in text
    ] == []


def test_the_unit_of_systemd() -> None:
    text = next(block.text for block in blocks(SERVICE, "ini") if "[Service]" in block.text)
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text)
    assert {section: set(unit[section]) for section in unit.sections()} == UNIT_KEYS
    command = shlex.split(unit["Service"]["ExecStart"])
    assert command[0].startswith("/") and command[1] == "serve"
    check_options(command[2:])
    from fairarm.service.server import GRACE

    assert int(unit["Service"]["TimeoutStopSec"]) > GRACE, "systemd waits longer than the service"
    assert unit["Service"]["KillSignal"] == "SIGTERM" and unit["Service"]["ProtectSystem"] == "strict"


def check_options(given: list[str]) -> None:
    """Every option is one of `fairarm serve`."""
    import typer

    from fairarm.cli.app import app

    command: Any = typer.main.get_command(app)
    known = {name for option in command.commands["serve"].params for name in option.opts}
    assert {word for word in given if word.startswith("--")} <= known


def test_the_container_file() -> None:
    (block,) = blocks(SERVICE, "dockerfile")
    steps = [line.split(" ", 1) for line in block.text.splitlines()]
    assert steps[0][0] == "FROM" and {word for word, _ in steps} <= CONTAINER_WORDS
    last: dict[str, str] = dict(steps)
    for word in ("VOLUME", "ENTRYPOINT", "CMD"):
        assert isinstance(json.loads(last[word]), list), "as a list: no shell between signals and the service"
    health = json.loads(last["HEALTHCHECK"].partition(" CMD ")[2])
    compile(health[2], "healthcheck", "exec")
    assert all(re.fullmatch(r"--\w+=\d+s", word) for word in last["HEALTHCHECK"].partition(" CMD ")[0].split())
    assert last["USER"] == "10001" and "root" not in block.text
    entry = json.loads(last["ENTRYPOINT"])
    assert entry[:2] == ["fairarm", "serve"]
    check_options([*entry[2:], *json.loads(last["CMD"])])
    assert last["ENV"].startswith("FAIRARM_DB=sqlite:////data/") and last["STOPSIGNAL"] == "SIGTERM"


def test_the_proxy() -> None:
    (block,) = blocks(SERVICE, "nginx")
    text = block.text
    assert text.count("{") == text.count("}")
    lines = [line.strip() for line in text.splitlines()]
    assert all(line.endswith((";", "{", "}")) for line in lines)
    from fairarm.service.settings import BATCH

    assert "client_max_body_size 8m;" in lines and BATCH <= 8 * 2**20
    assert "proxy_set_header Host $host;" in lines


def test_metrics_on_the_page_exist(ads: World) -> None:
    text = ads.http.get("/metrics", headers=ads.headers("viewer")).text
    for name in set(re.findall(r"`(fairarm_\w+)", SERVICE.read_text(encoding="utf-8"))):
        assert name.removesuffix("_total") in text, name
