"""Which runs of pool are wrong, in the package that is imported: ``python -m benchmarks.pool_beside.measure FILE``.

Every setting of the comparison, exact and noisy. A point's runs on one instance are one line of the file; lines that are
there already are not computed again, so that an interrupted measurement goes on where it was.
"""

from __future__ import annotations

import argparse
import csv
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.comparison.plan import FIRST_SEED, NOISY, SETTINGS
from fairarm.algorithms import make_procedure
from fairarm.core.types import BoolArray
from fairarm.experiments.paper.instances import instance_world
from fairarm.experiments.simulate import replicate

PULLS = (50, 100, 300, 1000)
INSTANCES, RUNS = 10, 100
"""Of each setting, and on each instance."""

CHUNK = 50
FIELDS = ("instance", "pulls", "wrong")
_world = lru_cache(maxsize=4)(instance_world)


@dataclass(frozen=True)
class Task:
    """Runs of pool on one instance."""

    instance: str
    pulls: int
    runs: int

    @property
    def setting(self) -> str:
        return self.instance.partition(":")[0].removeprefix("synthetic-")


Wrong = Mapping[Task, BoolArray]
"""Which runs of each task were wrong, (runs,)."""


def tasks(settings: Sequence[str], instances: int = INSTANCES, runs: int = RUNS) -> list[Task]:
    """In a fixed order: by setting, then instance, then pulls."""
    names = [setting if setting == "hepar2" else f"synthetic-{setting}" for setting in settings]
    return [
        Task(f"{name}:seed={FIRST_SEED + i}", pulls, runs)
        for name in names
        for i in range(instances)
        for pulls in PULLS
    ]


def run(task: Task) -> BoolArray:
    """Which runs are wrong, (runs,). The generators are keyed by the task and the chunk alone: the same in every version."""
    world = _world(task.instance)
    procedure = make_procedure("pool", world.problem, task.pulls)
    found = []
    for first in range(0, task.runs, CHUNK):
        rng = np.random.default_rng([zlib.crc32(task.instance.encode()), task.pulls, first])
        ran = replicate(procedure, world, min(CHUNK, task.runs - first), rng, int(rng.integers(1 << 62)))
        found.append(ran.state.answer != world.truth().answer)
    return np.concatenate(found)


def read(path: Path) -> dict[Task, BoolArray]:
    """What has been measured; the file need not be there."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    return {
        Task(line["instance"], int(line["pulls"]), len(line["wrong"])): np.array([bit == "1" for bit in line["wrong"]])
        for line in lines
    }


def measure(asked: Sequence[Task], path: Path) -> Iterator[Task]:
    """The tasks that are missing, each written as soon as it is done."""
    done = read(path)
    if not path.exists():
        path.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    for task in asked:
        if task not in done:
            wrong = "".join(str(int(bit)) for bit in run(task))
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{task.instance},{task.pulls},{wrong}\n")
            yield task


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--settings", default=",".join((*SETTINGS, *NOISY)))
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--runs", type=int, default=RUNS)
    asked = parser.parse_args()
    setting = ""
    for task in measure(tasks(asked.settings.split(","), asked.instances, asked.runs), asked.file):
        if task.setting != setting:
            setting = task.setting
            print(setting, flush=True)


if __name__ == "__main__":
    main()
