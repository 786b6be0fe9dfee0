"""Runs every input in a process of its own, forked from one that has imported everything, within limits of the system.

``python tests/corpus`` is the command. Nothing is opened and no thread started before the fork.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corpus.case import Case

SECONDS, MEGABYTES = 2.0, 512
"""What an input may take: processor time, and memory beyond that of the process it was forked from."""
LIMIT_SECONDS, LIMIT_MEGABYTES, LIMIT_CLOCK = 10, 4096, 100
"""Where the system ends it: processor time, address space beyond the start, and time by the clock."""
LONGEST = 500
HEAVY = (
    "duckdb", "pyarrow.parquet", "pyarrow.csv", "narwhals.stable.v2", "numpy", "scipy.optimize", "scipy.stats", "lark", "networkx",
    "pandas", "polars", "jinja2", "joblib", "matplotlib.figure", "matplotlib.backends.backend_svg", "pydantic", "opt_einsum", "ibis",
    "fairarm.cli.app", "fairarm.cli.show", "fairarm.cli.documents", "fairarm.cli.show_evaluation", "fairarm.catalog", "fairarm.experiments",
    "fairarm.logs.sources", "fairarm.logs.files", "fairarm.logs.draft", "fairarm.reports.page", "fairarm.reports.figures",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What one input came to. ``wrong`` says what is not as it must be; empty if nothing is."""

    kind: str
    name: str
    ending: str
    """refused, answered, traceback, killed."""
    seconds: float
    megabytes: float
    wrong: str
    said: str


def run_all(cases: Sequence[Case], jobs: int = 2) -> Iterator[Outcome]:
    """The outcomes, as they come; ``jobs`` at a time."""
    import_everything()
    running: dict[int, tuple[Case, Path, float]] = {}
    waiting = list(reversed(cases))
    while waiting or running:
        while waiting and len(running) < jobs:
            case, folder = waiting.pop(), Path(tempfile.mkdtemp(prefix="corpus-"))
            running[_fork(case, folder)] = (case, folder, time.monotonic())
        pid, status, used = os.wait4(-1, os.WNOHANG)
        if pid in running:
            case, folder, _ = running.pop(pid)
            yield _judged(case, folder, status, used)
            shutil.rmtree(folder, ignore_errors=True)
            continue
        for late, (_, _, started) in running.items():
            if time.monotonic() - started > LIMIT_CLOCK:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(late, signal.SIGKILL)
        time.sleep(0.005)


def import_everything() -> None:
    from importlib import import_module

    for name in HEAVY:
        import_module(name)


def _fork(case: Case, folder: Path) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()
        start = _memory()
        _redirect(folder)
        (folder / "work").mkdir()
        os.chdir(folder / "work")
        used = resource.getrusage(resource.RUSAGE_SELF)
        taken = int(used.ru_utime + used.ru_stime)
        resource.setrlimit(resource.RLIMIT_CPU, (taken + LIMIT_SECONDS, taken + LIMIT_SECONDS + 2))
        resource.setrlimit(resource.RLIMIT_AS, (start["VmSize"] + (LIMIT_MEGABYTES << 20),) * 2)
        code = _act(case, folder / "work")
        sys.stdout.flush()
        sys.stderr.flush()
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        (folder / "peak").write_text(str(_memory()["VmHWM"] - start["VmRSS"] + children))
    finally:
        os._exit(code)


def _act(case: Case, folder: Path) -> int:
    try:
        case.act(folder)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _redirect(folder: Path) -> None:
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def _memory() -> dict[str, int]:
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return {words[0][:-1]: int(words[1]) * 1024 for words in lines if words[0] in ("VmSize:", "VmRSS:", "VmHWM:")}


def _judged(case: Case, folder: Path, status: int, used: Any) -> Outcome:
    out, err = ((folder / name).read_bytes().decode("utf-8", "backslashreplace") for name in ("out", "err"))
    code = os.waitstatus_to_exitcode(status)
    peak = folder / "peak"
    megabytes = int(peak.read_text()) / 1e6 if peak.exists() and peak.read_text() else float("nan")
    ending = {0: "answered", 2: "refused"}.get(code, "traceback" if "Traceback" in err or code == 1 else "killed")
    wrong = _wrong_refusal(case, out, err, code) if code == 2 else _wrong_answer(case, out, err, code)
    seconds = used.ru_utime + used.ru_stime
    if seconds > LIMIT_SECONDS:
        wrong = wrong or f"took {seconds:.1f} s"
    return Outcome(case.kind, case.name, ending, seconds, megabytes, wrong, err.strip()[-2000:])


def _wrong_refusal(case: Case, out: str, err: str, code: int) -> str:
    if case.refused is None:
        return "was refused"
    if out:
        return f"standard output holds {out[:80]!r}"
    line = err.removesuffix("\n")
    if not line.startswith("fairarm: ") or "\n" in line:
        return f"is not one line that starts with fairarm: {err[:200]!r}"
    if len(line) > LONGEST:
        return f"the line has {len(line)} characters"
    if odd := [c for c in line if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]:
        return f"the line holds {odd[0]!r}"
    return "" if case.refused in line else f"does not say {case.refused!r}"


def _wrong_answer(case: Case, out: str, err: str, code: int) -> str:
    if code != 0:
        return f"ended with code {code}"
    if case.refused is not None:
        return f"was answered, not refused ({case.refused!r})"
    if "Traceback" in err:
        return "was answered with a traceback"
    try:
        document = json.loads(out, parse_constant=_refuse_constant)
    except ValueError as error:
        return f"the answer is not JSON: {error}"
    return "" if case.right is None or case.right(document) else "the answer is wrong"


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def table(outcomes: Sequence[Outcome]) -> str:
    """Counts by kind, then what is not as it must be, one line each."""
    endings = ("refused", "answered", "traceback", "killed")
    head = ["kind", "inputs", *endings, f"over {SECONDS:g} s", f"over {MEGABYTES} MB", "not as expected"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for kind in (*dict.fromkeys(o.kind for o in outcomes), "all"):
        those = [o for o in outcomes if kind in (o.kind, "all")]
        counts = [sum(o.ending == ending for o in those) for ending in endings]
        over = [sum(o.seconds > SECONDS for o in those), sum(o.megabytes > MEGABYTES for o in those)]
        row = [kind, len(those), *counts, *over, sum(bool(o.wrong) for o in those)]
        lines.append(f"| {' | '.join(map(str, row))} |")
    for o in outcomes:
        over = o.seconds > SECONDS or o.megabytes > MEGABYTES
        if o.wrong or over:
            what = o.wrong or "over"
            lines.append(f"\n{o.kind}: {o.name}: {what} ({o.seconds:.1f} s, {o.megabytes:.0f} MB)\n    {o.said[-300:]}")
    return "\n".join(lines) + "\n"


def as_json(outcomes: Sequence[Outcome]) -> str:
    return json.dumps([asdict(o) for o in outcomes])
