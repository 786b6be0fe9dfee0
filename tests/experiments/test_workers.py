"""A worker that the system ends, as it does where memory runs out: one line, exit code 2, for every command with jobs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

COMMANDS = {
    "simulate": ["simulate", "synthetic-loose", "--runs", "100000", "--pulls", "3000", "--jobs", "2"],
    "plan": ["plan", "ad-marketplace", "--truths", "100000", "--jobs", "2"],
    "paper": ["paper", "--jobs", "2", "--out"],
}


def workers_of(parent: int) -> list[int]:
    """Child processes that compute: loky's, but not its tracker of resources."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            status = (folder / "stat").read_text().rsplit(")", 1)[1].split() if folder.name.isdigit() else []
            command = (folder / "cmdline").read_bytes() if status else b""
        except OSError:  # it has just ended
            continue
        if status and int(status[1]) == parent and b"popen_loky" in command:
            found.append(int(folder.name))
    return found


def has_begun(worker: int) -> bool:
    """It has unpacked what it is to do, which takes numpy."""
    return "numpy" in Path(f"/proc/{worker}/maps").read_text()


@pytest.mark.parametrize("command", list(COMMANDS))
def test_a_killed_worker_is_one_line(command: str, tmp_path: Path) -> None:
    line = [*COMMANDS[command], *([str(tmp_path)] if command == "paper" else [])]
    run = subprocess.Popen(
        [sys.executable, "-m", "fairarm", *line],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    try:
        while not (workers := [pid for pid in workers_of(run.pid) if has_begun(pid)]):
            assert run.poll() is None, run.communicate()
            time.sleep(0.02)
        os.kill(workers[0], signal.SIGKILL)
        _, errors = run.communicate()
    finally:
        run.kill()
        run.wait()
    assert run.returncode == 2, errors
    said = [text for text in errors.splitlines() if text.strip()]
    assert "Traceback" not in errors
    assert said[-1].startswith("fairarm: One of the 2 worker processes was killed") and "memory" in said[-1], errors
    assert "fewer jobs" in said[-1]
    assert len(said) == 1, errors
