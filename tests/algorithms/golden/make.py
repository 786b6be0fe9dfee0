"""Saved runs as this version writes them, made anew after every change of what a run saves or does:

    PYTHONPATH=src:tests:tests/algorithms/golden python tests/algorithms/golden/make.py

A file holds one problem's runs: the document, what was out then, the parts that were told afterwards, and what the run said of each
and at its end.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case, cases, said, started, units, world_of

from fairarm.algorithms import Algorithm
from fairarm.problem.pulls import Batch


def recorded(case: Case) -> dict[str, Any]:
    run = started(case)
    told = 0

    def next_part() -> Batch:
        return units(world_of(case.problem).pull(run.ask(), np.random.default_rng([11, told])))

    while not run.finished and (case.finished or run.phase < 2):
        if case.algorithm == "uniform" and not case.finished:
            break  # it has one phase
        run.tell(next_part(), id=f"part {told}")
        told += 1
    if not run.finished:
        rows = next_part()
        run.tell(rows.take(np.arange(rows.size // 2)), id=f"half of part {told}")
    document, then, parts = run.to_json(), _said(run), []
    while not run.finished:
        told += 1
        rows = next_part()
        run.tell(rows, id=f"part {told}")
        parts.append({"id": f"part {told}", "rows": rows.labels(run.problem), "then": _said(run)})
    return {
        "algorithm": case.algorithm,
        "saved": json.loads(document),
        "then": then,
        "parts": parts,
        "final": {part: json.loads(run.to_json())[part] for part in ("state", "memory", "info")},
        "pulls_made": run.pulls_made().tolist(),
    }


def _said(run: Algorithm) -> dict[str, Any]:
    return {"phase": run.phase, "ask": run.ask().counts.tolist(), "verdict": said(run.verdict())}


def main() -> None:
    chosen = list(cases())
    for problem in dict.fromkeys(case.problem for case in chosen):
        runs = [recorded(case) for case in chosen if case.problem == problem]
        path = Path(__file__).parent / f"{problem.partition(':')[0]}.json.gz"
        text = json.dumps({"problem": problem, "runs": runs}, allow_nan=False)
        path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
