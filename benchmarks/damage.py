"""Saved runs and kept points with one byte changed: how many are taken although they say something else?

    python -m benchmarks.damage > benchmarks/damage.md      # about two minutes

At each position a byte is replaced by another, has one bit flipped, is deleted, or has another put before it. A changed
document that still says the same (white space, a digit beyond a float's last) may be taken; one that says something else
may not. What it says is judged by Python's own reading of it, not by the check sum.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairarm import algorithm, load_problem, resume
from fairarm.errors import DataError
from fairarm.experiments.paper import PaperPoint, run_paper
from fairarm.problem.pulls import Request

POSITIONS = 4_000
KINDS = ("replaced", "one bit", "deleted", "inserted")

RUNS: tuple[tuple[str, str, dict[str, Any], bool], ...] = (
    ("csr-v2", "ad-marketplace", {}, False),
    ("pool", "coin", {"confidence": 0.95}, False),
    ("pool", "ad-marketplace", {}, True),
    ("pool", "beta-mixtures:K=3", {}, False),
)
"""Algorithm, problem, options, and whether from a log."""

Taken = Callable[[bytes], bool]
"""Whether a document is taken."""


@dataclass
class Tally:
    """Changed documents of one kind of change."""

    made: int = 0
    refused: int = 0
    same: int = 0
    """Taken, and they say the same."""
    other: int = 0
    """Taken, and they say something else."""


def changed(document: bytes, at: int, kind: str, rng: np.random.Generator) -> bytes:
    byte = document[at]
    if kind == "deleted":
        return document[:at] + document[at + 1 :]
    if kind == "one bit":
        return document[:at] + bytes([byte ^ 1 << int(rng.integers(8))]) + document[at + 1 :]
    # half of them characters that the document is made of: those are more likely to be JSON still
    drawn = document[int(rng.integers(len(document)))] if rng.random() < 0.5 else int(rng.integers(256))
    drawn = (drawn + 1) % 256 if kind == "replaced" and drawn == byte else drawn
    return document[:at] + bytes([drawn]) + document[at + (kind == "replaced") :]


def says(document: bytes) -> str:
    """What Python reads, with every type and every digit; empty where it reads nothing."""
    try:
        return repr(json.loads(document.decode("utf-8")))
    except ValueError:
        return ""


def tallies(document: bytes, taken: Taken, positions: int = POSITIONS, seed: int = 0) -> dict[str, Tally]:
    """Every kind of change at up to so many positions, spread over the document."""
    rng, said = np.random.default_rng(seed), says(document)
    if not taken(document):
        raise ValueError("the document itself is not taken")
    found = {kind: Tally() for kind in KINDS}
    for at in np.unique(np.linspace(0, len(document) - 1, min(positions, len(document))).astype(int)):
        for kind, tally in found.items():
            damaged = changed(document, int(at), kind, rng)
            tally.made += 1
            if not taken(damaged):
                tally.refused += 1
            elif says(damaged) == said:
                tally.same += 1
            else:
                tally.other += 1
    return found


def saved_runs() -> Iterator[tuple[str, bytes, Taken]]:
    """Runs in the middle of a phase: of cells, of rows, with bets, and from a log."""
    for name, problem, options, log in RUNS:
        world = load_problem(problem).world
        if world is None:
            raise ValueError(problem)
        known = world.problem
        counts = np.zeros((len(known.regimes), len(known.arms)), dtype=np.int64)
        counts[0, 0] = 50
        rows = world.pull(Request(known.arm_names, known.regimes, counts), np.random.default_rng(1)) if log else None
        run = algorithm(name, known, pulls=60, log=rows, **options)
        for part in range(2):
            asked = run.ask()
            half = Request(asked.arms, asked.regimes, (asked.counts + 1) // (1 + part))
            run.tell(world.pull(half, np.random.default_rng(part)), id=f"part {part}")

        def taken(document: bytes, known: object = known) -> bool:
            try:
                resume(known, document.decode("utf-8", errors="surrogateescape"))  # type: ignore[arg-type]
            except DataError:
                return False
            return True

        yield f"{name} on {problem}{' from a log' if log else ''}", run.to_json().encode(), taken


def kept_point(folder: Path) -> tuple[str, bytes, Taken]:
    """A point of `fairarm paper`; one that is not taken is computed again."""
    from fairarm.experiments.paper import run as module

    point = PaperPoint("synthetic", "loose", "csr-v2", "default", 60, ("synthetic-loose:K=5,m=6,seed=0",), 6)
    run_paper([point], folder)
    (path,) = folder.glob("*.json")

    def taken(document: bytes) -> bool:
        path.write_bytes(document)
        return module._read(folder, 0, point) is not None

    return "a kept point of `fairarm paper`", path.read_bytes(), taken


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--positions", type=int, default=POSITIONS, help="of each document, at most")
    positions = asked.parse_args().positions
    print("# One byte changed\n")
    print("`python -m benchmarks.damage` changes one byte of a document in four ways, at positions spread over it.\n")
    print("| document | change | changed | refused | taken, says the same | taken, says something else |")
    print("|---|---|---|---|---|---|")
    total = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for name, document, taken in (*saved_runs(), kept_point(Path(folder))):
            for kind, tally in tallies(document, taken, positions).items():
                print(f"| {name} | {kind} | {tally.made} | {tally.refused} | {tally.same} | {tally.other} |")
                for field in ("made", "refused", "same", "other"):
                    setattr(total, field, getattr(total, field) + getattr(tally, field))
    print(f"| **all** |  | {total.made} | {total.refused} | {total.same} | **{total.other}** |")


if __name__ == "__main__":
    main()
