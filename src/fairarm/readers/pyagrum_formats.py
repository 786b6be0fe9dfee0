"""Bayesian networks in the formats that pyagrum loads besides BIF: Hugin, GeNIe, XMLBIF, UAI, O3PRM and its own.

pyagrum runs in a process of its own, with a limit on memory and time. Its parsers print, can crash, and answer some
broken files with messages of gigabytes, or take memory without end (a "nan" in XDSL); none of that reaches the user's
terminal or session. What it finds comes back as arrays, always transposed by variable name, and rows are checked by
``Table`` (pyagrum itself takes rows that sum to 1.4). Several of the formats pass through float32, so rows are often
off by 1e-8: these are renormalised and noted.

Two of pyagrum's readers (3.3.1) do not follow the definition of their format for nodes with several parents: they let
the *first* parent vary fastest, where GeNIe's XDSL and UAI define the *last*. XDSL tables are put in the defined order,
unless the file says that aGrUM wrote it; a UAI file does not say who wrote it, so such a node is refused.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.errors import FairarmError, ReadError
from fairarm.optional import require
from fairarm.problem.mechanism import Table, check_size
from fairarm.problem.network import Network
from fairarm.problem.variables import Variable
from fairarm.readers.text import check_file, one_line

EXTENSIONS = (".net", ".dsl", ".xdsl", ".bifxml", ".uai", ".o3prm", ".jgum", ".bgum")
"""What pyagrum loads and we accept. Its ``.pkl`` is left out: opening a pickle runs whatever code is in it."""

MAX_BYTES = 64 << 20
"""Largest file."""

_SECONDS = 120
"""How long the other process may take by the clock, on however busy a machine."""
_PROCESSOR_SECONDS = 1
_PROCESSOR_SECONDS_PER_MIB = 8
_MEMORY = 192 << 20
_MEMORY_PER_BYTE = 64
_MOST_WRITTEN = 512 << 20
"""Limits that the system sets on reading one file, in proportion to its size. What pyagrum takes to start is not counted."""
_LAST_WORDS = 4096
_CHILD = "import sys; from fairarm.readers.pyagrum_formats import dump; dump(sys.argv[1], sys.argv[2])"


def read_with_pyagrum(path: Path) -> Network:
    """The network in a file that pyagrum can load, its tables in float64 and in declared order."""
    check_file(path, MAX_BYTES)
    if path.suffix.lower() not in EXTENSIONS:
        raise ReadError(one_line(f"{path}: unknown format. pyagrum reads here: {', '.join(EXTENSIONS)}."))
    with tempfile.TemporaryDirectory(prefix="fairarm-") as folder:
        answer = Path(folder) / "network.npz"
        trouble = _run_apart(path, answer)
        if not answer.is_file():
            raise ReadError(one_line(f"{path}: pyagrum could not read it ({trouble}). Convert the network to BIF."))
        with np.load(answer, allow_pickle=False) as arrays:
            header: dict[str, Any] = json.loads(str(arrays["header"]))
            tables = [arrays[f"table{i}"] for i in range(len(header.get("tables", ())))]
    if "error" in header:
        raise ReadError(one_line(f"{path}: {header['error']}"))
    return _network(path, header, tables)


def _run_apart(path: Path, answer: Path) -> str:
    """Let another process load the file and write the answer; what to say if there is none."""
    # -P keeps the working directory out of the child's import path.
    command = [sys.executable, "-P", "-c", _CHILD, str(path.resolve()), str(answer)]
    try:
        with tempfile.TemporaryFile() as said:  # a file, as it may be gigabytes
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, timeout=_SECONDS
            )
            said.seek(max(0, said.seek(0, os.SEEK_END) - _LAST_WORDS))
            last = said.read().decode(errors="replace").strip().rpartition("\n")[2]
    except subprocess.TimeoutExpired:
        return f"it took more than {_SECONDS} s"
    except OSError as error:
        return f"no second Python process could be started: {error}"
    if done.returncode == -getattr(signal, "SIGPROF", 0):
        return "it took more time than a file of its size should"
    return f"exit code {done.returncode}" + (f": {last}" if last else "")


def _network(path: Path, header: dict[str, Any], tables: list[FloatArray]) -> Network:
    try:
        variables = [Variable(name, tuple(states)) for name, states in header["variables"]]
        if not variables:
            raise ReadError("the network has no nodes.")
        filed = [
            Table(node, tuple(given), array) for (node, given), array in zip(header["tables"], tables, strict=True)
        ]
        return Network.of(variables, filed)
    except FairarmError as error:
        raise ReadError(one_line(f"{path}: {error}")) from None


def dump(path: str, answer: str) -> None:
    """Runs in the child process: load with pyagrum, write the tables, or why not, as an ``.npz`` file."""
    arrays: dict[str, FloatArray] = {}
    try:
        header, tables = _load(path)
        arrays = {f"table{i}": array for i, array in enumerate(tables)}
    except FairarmError as error:
        header = {"error": str(error)}
    except Exception as error:  # pyagrum raises many types, and pure-Python ones from its bindings
        header = {"error": f"pyagrum could not read it: {first_line(str(error)[:100_000])}"}
    np.savez(answer, header=np.array(json.dumps(header)), **arrays)  # type: ignore[arg-type]


def _limit(size: int) -> None:
    """Bound what a file of so many bytes may take from now on, by the system's own means."""
    try:
        import resource
    except ImportError:  # Windows has no such limits; the process is still apart
        return
    signal.setitimer(signal.ITIMER_PROF, _PROCESSOR_SECONDS + _PROCESSOR_SECONDS_PER_MIB * (size >> 20))
    held = Path("/proc/self/statm")
    start = int(held.read_text().split()[0]) * resource.getpagesize() if held.exists() else 1 << 30
    for kind, most in (
        (resource.RLIMIT_AS, start + _MEMORY + _MEMORY_PER_BYTE * size),
        (resource.RLIMIT_FSIZE, _MOST_WRITTEN),
    ):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def first_line(message: str) -> str:
    """The first line of pyagrum's message that is an error, without its banner."""
    lines = [line.strip().removeprefix("[pyAgrum] ").strip() for line in message.splitlines() if line.strip()]
    errors = [line for line in lines if " error : " in line or ":error : " in line]
    if "bad_alloc" in message:
        return "it ran out of memory, of which a file of its size should not need so much"
    return (errors or lines or ["no reason given"])[0].removeprefix("Fatal error: ")


def _load(path: str) -> tuple[dict[str, Any], list[FloatArray]]:
    gum = require("pyagrum", "networks")
    extension = Path(path).suffix.lower()
    if extension == ".o3prm":
        require("pyagrum.prm", "networks")  # adds the loader to pyagrum
    _limit(Path(path).stat().st_size)
    network = gum.loadBN(path)  # must stay referenced: its tables live inside it
    check_size((sum(int(network.cpt(node).domainSize()) for node in network.nodes()),), "All tables together")
    nodes = [network.variable(node) for node in sorted(network.nodes())]
    header: dict[str, Any] = {
        "variables": [(node.name(), list(node.labels())) for node in nodes],
        "tables": [],
    }
    swapped = _first_parent_fastest(path, extension)
    order = {node.name(): position for position, node in enumerate(nodes)}
    arrays = []
    for node in nodes:
        cpt = network.cpt(node.name())
        given, array = _table(cpt, order, swapped)
        if extension == ".uai" and len(given) > 1:
            what = (
                f"node {node.name()} has {len(given)} parents, and writers of UAI disagree on the order of its entries"
            )
            raise ReadError(f"{what}. Convert the network to BIF.")
        header["tables"].append((node.name(), given))
        arrays.append(array)
    return header, arrays


def _first_parent_fastest(path: str, extension: str) -> bool:
    """Whether pyagrum takes this file's entries in an order that is not the format's."""
    return extension == ".xdsl" and b'app="aGrUM' not in Path(path).read_bytes()


def _table(cpt: Any, order: dict[str, int], swapped: bool) -> tuple[list[str], FloatArray]:
    """Parents in declared order, and the table with one axis for each, then the node's own."""
    node, *parents = cpt.names
    axes = [*reversed(parents), node]  # toarray() is reversed against names, and its last axis is the node's
    array = np.array(cpt.toarray(), dtype=np.float64)
    if swapped:  # the same numbers in the file's order, first parent slowest
        sizes = dict(zip(axes, array.shape, strict=True))
        axes = [*parents, node]
        array = array.reshape([sizes[name] for name in axes])
    wanted = [*sorted(parents, key=order.__getitem__), node]
    return wanted[:-1], np.ascontiguousarray(array.transpose([axes.index(name) for name in wanted]))
