"""Processes that can be killed at the n-th write: one that has everything imported, with `kill.c` loaded, forks one per job.

A job is the name of a function, ``module:function``, and its arguments as JSON. It is called with a `Journal` first, whose
lines survive the kill: what has been acknowledged to a caller.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import shutil
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("kill.c")
BEFORE, HALF, AFTER = 0, 1, 2
"""Where in the n-th call the process ends."""
KILLED = -9


def compiled(folder: Path) -> Path:
    """The library, made in a folder."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("Kills at the n-th write need a C compiler: install gcc.")
    library = folder / "kill.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", library, SOURCE, "-ldl"], check=True)
    return library


@dataclass
class Journal:
    """Lines of JSON; each is out of the process before `ack` returns."""

    path: str

    def ack(self, **said: Any) -> None:
        """The caller has been answered."""
        line = json.dumps(said) + "\n"
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, line.encode())
        os.close(file)

    def lines(self) -> list[dict[str, Any]]:
        """What has been said; half a line, where a kill came in mid-write, has not."""
        path = Path(self.path)
        text = path.read_text() if path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def wait_for(self, lines: int) -> None:
        """Until so much has been said, or the job has failed."""
        while len(self.lines()) < lines and not Path(self.path + ".error").exists():
            time.sleep(0.002)


def kill_at(n: int, how: int = BEFORE) -> None:
    """From here on count, and end this process at the n-th; never, for 0."""
    ctypes.CDLL(None).fairarm_kill_at(ctypes.c_long(n), how)


def kill_seen() -> int:
    """Writes, syncs and messages since `kill_at`."""
    return int(ctypes.CDLL(None).fairarm_kill_seen())


def kill_syncs() -> int:
    """How many of them were syncs of a file."""
    return int(ctypes.CDLL(None).fairarm_kill_syncs())


@dataclass(frozen=True)
class Ended:
    """How a job ended."""

    code: int
    """0, `KILLED`, or 1 after an error."""
    error: str


class ForkServer:
    """Runs jobs one after another, or several at once."""

    def __init__(self, library: Path, modules: tuple[str, ...]) -> None:
        environment = {**os.environ, "LD_PRELOAD": str(library)}
        command = [sys.executable, "-m", "benchmarks.studies.fork_server", *modules]
        self._process = subprocess.Popen(
            command, cwd=SOURCE.parents[2], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._journals: dict[int, Journal] = {}

    def start(self, job: str, journal: Journal, files: str = "", port: int = 0, **arguments: Any) -> int:
        """The process id of a job that runs now."""
        said = {"job": job, "journal": journal.path, "files": files, "port": port, "arguments": arguments}
        pid = int(self._ask({"start": said})["pid"])
        self._journals[pid] = journal
        return pid

    def wait(self, pid: int) -> Ended:
        """Until it has ended."""
        code = int(self._ask({"wait": pid})["code"])
        error = Path(self._journals.pop(pid).path + ".error")
        return Ended(code, error.read_text() if code == 1 and error.exists() else "")

    def run(self, job: str, journal: Journal, files: str = "", port: int = 0, **arguments: Any) -> Ended:
        """Start and wait."""
        return self.wait(self.start(job, journal, files, port, **arguments))

    def _ask(self, what: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("The server of forks has ended.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """No more jobs."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(30)

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "start" in asked:
            pid = os.fork()
            if pid == 0:
                os._exit(_run(asked["start"]))
            answer: dict[str, Any] = {"pid": pid}
        else:
            _, status = os.waitpid(asked["wait"], 0)
            answer = {"code": os.waitstatus_to_exitcode(status)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _run(asked: dict[str, Any]) -> int:
    """In the forked process."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.environ["FAIRARM_KILL_FILES"] = asked["files"]
    os.environ["FAIRARM_KILL_PORT"] = str(asked["port"] or "")
    module, function = asked["job"].split(":")
    try:
        getattr(importlib.import_module(module), function)(Journal(asked["journal"]), **asked["arguments"])
    except BaseException:
        Path(asked["journal"] + ".error").write_text(traceback.format_exc())
        return 1
    return 0


if __name__ == "__main__":
    for name in sys.argv[1:]:
        importlib.import_module(name)
    _serve()
