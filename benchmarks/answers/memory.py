"""Memory of an evaluation with very many cells: below 4 GB, or refused in a line."""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.answers.parts import Bars, Line, Lines, Part, Scale
from benchmarks.answers.worlds import World, binary, logistic, simplex
from benchmarks.trees import environment
from fairarm import FairarmError, evaluate

GIGABYTE = 1 << 30
MOST, LIMIT = 4 * GIGABYTE, 12 * GIGABYTE
"""The bar; and of the address space, so that a process that fails ends."""
SHAPES = {
    "66 780 cells: 30 × 21 contexts, 53 decisions": (30, 21, 53),
    "66 780 cells: 15 contexts, 2 226 decisions": (15, 1, 2226),
    "7 200 cells: 60 × 6 contexts, 10 decisions": (60, 6, 10),
}
SMALL = {"72 cells": (4, 3, 3)}


def world(shape: tuple[int, int, int], rng: np.random.Generator) -> World:
    first, second, decisions = shape
    M = first * second
    score = -1.0 + 0.5 * rng.standard_normal((1, 2, M, 1)) + 0.5 * rng.standard_normal((1, 1, 1, decisions))
    arms = {"logging": np.full((2, M, decisions), 1 / decisions)}
    liked = logistic(rng.standard_normal((1, M, decisions)))
    arms["liked"] = np.repeat(liked / liked.sum(axis=-1, keepdims=True), 2, axis=0)
    arms["by group"] = simplex(rng, (2, M, decisions), 1.0)
    others = (simplex(rng, (second,), 3.0, 0.01),) if second > 1 else ()
    child = simplex(rng, (1, 2, first), 3.0, 0.005)
    return World(np.ones(1), np.full((1, 2), 0.5), child, others, arms, binary(score), 0.05)


def evaluated(shape: tuple[int, int, int], seed: int) -> Line:
    """In this process, whose address space is limited."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    log = world(shape, np.random.default_rng(seed)).log(50_000, np.random.default_rng(seed + 1))
    begun = time.time()
    try:
        found: Any = evaluate(log.problem, log.rows, seed=seed)
        said, wrong = str(found.status), str(found.status) != "UNDECIDED" and log.truth.is_wrong(found.arm, getattr(found, "margin", 0.0))  # fmt: skip
    except FairarmError as error:
        said, wrong = f"refused: {error}", False
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIGABYTE
    return {"said": said, "wrong": bool(wrong), "GB": peak, "seconds": time.time() - begun}


def apart(shape: tuple[int, int, int], seed: int) -> Line:
    """In a process of its own."""
    line = [sys.executable, "-m", __name__, json.dumps([*shape, seed])]
    tree = Path(sys.modules["fairarm"].__file__ or "").resolve().parents[2]
    done = subprocess.run(line, env=environment(tree), capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {"said": f"crashed: {last[:120]}", "wrong": False, "GB": math.inf, "seconds": math.nan}
    return dict(json.loads(done.stdout))


def memory(scale: Scale) -> Part:
    """Every shape once."""
    shapes = SMALL if scale.small else SHAPES
    return Part(
        "Memory",
        "50 000 rows, three rules, two groups; the most memory that the process had resident.",
        {name: [partial(apart, shape, scale.seed)] for name, shape in shapes.items()},
        lambda lines: lines[0],
        bars,
    )


def bars(now: Lines, before: Lines) -> Bars:
    held: Bars = {}
    for name, line in now.items():
        refused = line["said"].startswith("refused") and "\n" not in line["said"]
        held[f"{name}: below 4 GB, or refused in a line: {line['GB']:.2f} GB"] = refused or line["GB"] < 4
    return held


if __name__ == "__main__":
    *given, start = json.loads(sys.argv[1])
    print(json.dumps(evaluated(tuple(given), start)))
