"""``python tests/corpus``: give every input of the corpus to the product, and print the table of what came of it."""

from __future__ import annotations

import os
import sys

for variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "ARROW_NUM_THREADS",
    "POLARS_MAX_THREADS",
):
    os.environ[variable] = "1"  # before anything is imported: no thread may run when the process is forked

import argparse  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from corpus.inputs import all_cases  # noqa: E402
from corpus.running import MEGABYTES, SECONDS, as_json, run_all, table  # noqa: E402

PAGE = f"""# Hostile and broken input

Made by `python tests/corpus --page benchmarks/hostile.md`: every input of the corpus, each in a process of its own. Refused: one
line, exit code 2, nothing on standard output. Answered: exit code 0 and a strict JSON document. The bars are {SECONDS} s of
processor time and {MEGABYTES} MB beyond the start.
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tests/corpus", description=__doc__)
    parser.add_argument("--kind", default="", help="only kinds that start so")
    parser.add_argument("--name", default="", help="only inputs whose name holds this")
    parser.add_argument("--every", type=int, default=1, help="only every n-th input")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--json", type=Path, help="also write every outcome to this file")
    parser.add_argument("--page", type=Path, help="also write the table as a page to this file")
    parser.add_argument("--say", action="store_true", help="also print what was said of each")
    asked = parser.parse_args()
    cases = [case for case in all_cases() if case.kind.startswith(asked.kind) and asked.name in case.name]
    cases = cases[:: asked.every]
    outcomes = list(run_all(cases, asked.jobs))
    order = {(case.kind, case.name): at for at, case in enumerate(cases)}
    outcomes.sort(key=lambda o: order[o.kind, o.name])
    if asked.json:
        asked.json.write_text(as_json(outcomes))
    if asked.say:
        for o in outcomes:
            sys.stdout.write(f"{o.kind}: {o.name}: {o.ending} {o.seconds:.1f} s {o.megabytes:.0f} MB {o.said[-300:]}\n")
    found = table(outcomes)
    sys.stdout.write(found)
    if asked.page:
        asked.page.write_text(f"{PAGE}\n{found}", encoding="utf-8")
    return int(any(o.wrong or o.seconds > SECONDS or o.megabytes > MEGABYTES for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
