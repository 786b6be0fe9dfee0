"""How long the demo takes to its certified answer, and whether that is the truth: on a clock that does not wait.

python -m benchmarks.service.demo [--seeds 20]     writes benchmarks/service/demo.md
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from fairarm import load_problem
from fairarm.service.demo import COHORT, PROBLEM, Crowd, create, crowd_of
from fairarm.studies import Studies

START = int(datetime(2026, 3, 2, 8, 0, tzinfo=UTC).timestamp() * 1e6)
MOST = 40 * COHORT
"""Seconds after which a demo without an answer is given up."""
RESULTS = Path(__file__).with_suffix(".md")


class Clock:
    """Microseconds, moved by hand."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def seconds(self) -> float:
        """The same for what measures lengths of time."""
        return self.now / 1e6

    def move(self, seconds: float) -> None:
        """Let so much time pass."""
        self.now += round(seconds * 1e6)


def moved_studies(url: str, clock: Clock) -> Studies:
    """Studies whose time is the clock's."""
    return Studies(url, clock=clock, monotonic=clock.seconds)


def live(studies: Studies, crowd: Crowd, clock: Clock, until: int) -> None:
    """Let time pass, second by second, until so many seconds after the start, or the end of the study."""
    for second in range(round(crowd.seconds) + 1, until + 1):
        if crowd.study.state.over:
            return
        clock.move(1)
        crowd.until(second)
        studies.tick()


def lived(folder: Path, seed: int, until: int = MOST) -> tuple[Studies, Crowd]:
    """A demo up to its end, or so many seconds."""
    clock, scenario = Clock(), load_problem(PROBLEM)
    studies = moved_studies(f"sqlite:///{folder}/demo-{seed}.db", clock)
    crowd = crowd_of(create(studies, scenario, seed), scenario, seed)
    live(studies, crowd, clock, until)
    return studies, crowd


def measured(seed: int) -> tuple[bool, int, float, int]:
    """Whether the certified answer is the truth, after how many settled cohorts and seconds, and of how many people."""
    with TemporaryDirectory() as folder:
        studies, crowd = lived(Path(folder), seed)
        with studies:
            found, study = crowd.study.verdict(), crowd.study
            first = next(point for point in study.history() if point.status != "UNDECIDED")
            right = found.arm == crowd.world.problem.arm_names[int(crowd.world.truth().answer)] and not found.void
            return right, first.cohort + 1, (first.at - study.cohorts()[0].opened).total_seconds(), found.people


def main() -> None:
    """Measure, print, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    found = [measured(seed) for seed in range(seeds)]
    right, cohorts, seconds, people = (list(part) for part in zip(*found, strict=True))

    def spread(values: list[float]) -> str:
        return f"{median(values):.0f} ({min(values):.0f} to {max(values):.0f})"

    lines = [
        "# The demo, to its certified answer",
        "",
        f"`python -m benchmarks.service.demo --seeds {seeds}`: simulated people on a clock that does not wait. Medians, and the least and the most.",
        "",
        "| seeds | certified and the truth | settled cohorts | seconds | people in all |",
        "|---|---|---|---|---|",
        f"| {seeds} | {sum(right)} | {spread(cohorts)} | {spread(seconds)} | {spread(people)} |",
        "",
    ]
    RESULTS.write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
