"""The demo: simulated people on a clock that does not wait; the certified answer is the truth, for every seed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.service.demo import lived

from fairarm.cli import main
from fairarm.service.demo import COHORT, LOST, NAME, RATE, WINDOW
from quick import quick


@pytest.mark.parametrize("seed", quick(range(10), 3))
def test_the_certified_answer_is_the_truth(seed: int, tmp_path: Path) -> None:
    studies, crowd = lived(tmp_path, seed)
    truth = crowd.world.truth()
    best = crowd.world.problem.arm_names[int(truth.answer)]
    with studies:
        found = crowd.study.verdict()
        assert (found.status, found.arm, found.void) == ("FOUND", best, False)
        assert 3 <= found.settled <= 20
        assert crowd.study.findings() == ()
        lost = found.lost / found.people
        assert 0 < lost < 4 * LOST


def test_a_newcomer_sees_people_and_settled_cohorts_within_a_minute(tmp_path: Path) -> None:
    studies, crowd = lived(tmp_path, 7, 60)
    with studies:
        summary = studies.summaries()[0]
        assert summary.name == NAME and summary.settled >= 2 and summary.people > 20 * RATE
        assert crowd.arrived == pytest.approx(60 * RATE, rel=0.15)
        assert (COHORT, WINDOW) == (10, 20)


@pytest.fixture
def command(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`fairarm serve --demo` on a free port, in a process of its own."""
    made = subprocess.Popen(
        [sys.executable, "-m", "fairarm", "serve", "--demo", "--port", "0", "--seed", "3"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    with made:
        yield made
        if made.poll() is None:
            made.kill()


def test_the_command_prints_a_link_that_shows_people_and_leaves_nothing(
    command: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert command.stdout is not None and command.stderr is not None
    about, link = command.stdout.readline(), command.stdout.readline()
    assert "25 simulated people a second" in about and "Ctrl-C" in about
    found = re.fullmatch(r"Open (http://127\.0\.0\.1:\d+)/login#token=(\S+)\n", link)
    assert found is not None, link
    address, token = found.groups()
    with httpx.Client(base_url=address, cookies={"fairarm": token}, timeout=60) as asks:
        while not re.search(r"[1-9]\d* people so far", text := asks.get(f"/studies/{NAME}").text):
            time.sleep(0.2)
        assert "What you can do" in text  # the link is an admin's
    assert len(list(tmp_path.iterdir())) == 1
    command.send_signal(signal.SIGINT)
    assert command.wait() == 0
    assert list(tmp_path.iterdir()) == [] and command.stderr.read() == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--demo", "--db", "sqlite:///x.db"], "--demo has a database of its own"), (["--seed", "3"], "--seed is for the simulated people")],
)  # fmt: skip
def test_options_that_do_not_go_together(
    options: list[str], said: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["fairarm", "serve", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    error = capsys.readouterr().err
    assert ended.value.code == 2 and said in error and len(error.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_same_seed_has_the_same_people(tmp_path: Path) -> None:
    verdicts = []
    for part in ("a", "b"):
        (tmp_path / part).mkdir()
        studies, crowd = lived(tmp_path / part, 3, 45)
        with studies:
            verdicts.append((crowd.study.exposure(), [(one.dealt, one.told) for one in crowd.study.cohorts()]))
    assert verdicts[0] == verdicts[1]
