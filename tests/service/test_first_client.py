"""What `fairarm serve` prints can be pasted and works."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from fairarm import load_problem
from fairarm.service.first_client import curl_line, python_client, sample
from service_world import World, served


@pytest.mark.parametrize("name", ["coin", "ads"])
def test_the_client_runs(world: World, name: str) -> None:
    if name == "ads":
        world.studies.create(
            name, load_problem("ad-marketplace").problem, pulls=9_000, people=500, arrivals=500, window="1d"
        )
    with served(world.guards) as url:
        text = python_client(url, name, world.studies.open(name).problem)
        assert len(text.splitlines()) == 10
        text = text.replace('study="', 'timeout=20.0, study="')  # a slow machine
        env = {**os.environ, "FAIRARM_TOKEN": world.tokens["caller"]}
        ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=env, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "Told(status='new')" in ran.stdout and "False" in ran.stdout


def test_the_curl_line_sends_what_the_client_sends(world: World) -> None:
    line = curl_line("http://127.0.0.1:8000", "coin", world.coin.problem)
    assert "\n" not in line and "$FAIRARM_TOKEN" in line
    body = json.loads(line.rpartition("-d '")[2][:-1])
    assert world.post("/assignments", body).status_code == 201


def test_several_attributes_are_a_group_by_name() -> None:
    group, known, later = sample(load_problem("lender").problem)
    assert set(group) == {"race", "sex", "age"}
    assert "loan" not in known and "loan" not in later and "result" in later
