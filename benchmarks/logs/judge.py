"""One log judged against the truth, and many of them added up: which intervals hold, and how probable the probable is."""

from __future__ import annotations

import csv
import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.logs.tables import Logged
from benchmarks.logs.worlds import KINDS
from fairarm import Evaluation, evaluate
from fairarm.experiments.arm_evaluations import ArmEvaluation, Estimate

CONFIDENCE = 0.95
SURE = 0.8
ROUNDING = 1e-12
"""Of the outcome's width: a truth so close to an end is held. Some arms have a gap of exactly 0."""

ALL = ""
"""In place of an arm: of the log as a whole."""

Fact = tuple[str, str, float]
"""Arm, measure, value. A share is the mean of values 0 and 1 over all logs in which the measure exists."""


def judge(kind: str, index: int, seed: int) -> list[Fact]:
    """What is found in one log, drawn by a generator that no other log has."""
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode()), index])
    log = KINDS[kind](rng)
    found = evaluate(log.problem, log.columns, columns=log.where, confidence=CONFIDENCE, seed=index)
    return [*usual(log, found), *answers(log, found), *certified(log, found), *plain(log, found)]


def usual(log: Logged, found: Evaluation) -> Iterator[Fact]:
    """Of each arm: whether the usual intervals hold the truth, and their widths; and P(fair) where it is high."""
    slack = ROUNDING * log.problem.outcome.width
    for arm, mu, zeta in zip(found.arms, log.outcomes, log.gaps, strict=True):
        for what, estimate, truth in (("outcome", arm.outcome, mu), ("gap", gap_of(arm), zeta)):
            yield arm.name, f"{what} held", estimate.low - slack <= truth <= estimate.high + slack
            yield arm.name, f"{what} width", estimate.high - estimate.low
        if arm.fair_probability >= SURE:
            yield ALL, "fair said", arm.fair_probability
            yield ALL, "fair true", abs(zeta) < log.problem.gap_tolerance


def gap_of(arm: ArmEvaluation) -> Estimate:
    """Of an arm: in these logs one gap between two groups is all that is asked about."""
    if arm.gap is None:
        raise TypeError(f"{arm.name} has several rows")
    return arm.gap


def best_fair(log: Logged) -> str | None:
    """The name of the arm that should be named; None where no arm is fair."""
    fair = np.abs(log.gaps) < log.problem.gap_tolerance
    return log.problem.arm_names[int(np.argmax(np.where(fair, log.outcomes, -np.inf)))] if fair.any() else None


def answers(log: Logged, found: Evaluation) -> Iterator[Fact]:
    """The probability of the answer and whether it is right, apart where it is high; and what was noticed."""
    named = "recommended" if hasattr(found, "recommended") else "arm"  # an earlier commit has one answer
    arm = getattr(found, named)
    chance = getattr(found, "recommended_probability" if named == "recommended" else "probability")
    decided = getattr(found, "recommended_status" if named == "recommended" else "status") != "UNDECIDED"
    yield ALL, "decided", decided
    if decided:
        for name in ("answer", *(["sure answer"] if chance >= SURE else [])):
            yield ALL, f"{name} said", chance
            yield ALL, f"{name} true", arm == best_fair(log)
        unfair = arm is not None and abs(log.gaps[log.problem.arm_index(arm)]) >= log.problem.gap_tolerance
        yield ALL, "unfair arm named", unfair
    for finding in {finding.name for finding in found.findings}:
        yield ALL, f"finding {finding}", 1.0


def certified(log: Logged, found: Evaluation) -> Iterator[Fact]:
    """Whether all certified intervals of a log hold at once, as promised, and whether a certified answer is wrong."""
    proved = [t for t in zip(found.arms, log.outcomes, log.gaps, strict=True) if t[0].outcome.certified_low is not None]
    if proved:
        yield (
            ALL,
            "certified held",
            all(_certainly(a.outcome, mu) and _certainly(gap_of(a), zeta) for a, mu, zeta in proved),
        )
        yield ALL, "certified outcome width", _mean_width([arm.outcome for arm, _, _ in proved])
        yield ALL, "certified gap width", _mean_width([gap_of(arm) for arm, _, _ in proved])
        yield ALL, "certified decided", found.certified_status != "UNDECIDED"
    if found.certified_status != "UNDECIDED":
        yield ALL, "certified wrong", found.certified_arm != best_fair(log)


def _certainly(estimate: Estimate, truth: float) -> bool:
    low, high = estimate.certified_low, estimate.certified_high
    return low is not None and high is not None and low <= truth <= high


def _mean_width(estimates: list[Estimate]) -> float:
    return float(np.mean([(e.certified_high or 0.0) - (e.certified_low or 0.0) for e in estimates]))


def plain(log: Logged, found: Evaluation) -> Iterator[Fact]:
    """The logging arm beside its plain rows: as they are, and with the declared laws (Σ p ȳ).

    Only where S is in the cell: elsewhere rows of both groups rightly speak for each.
    """
    if log.plain is None:
        return
    arm, rows = found.arms[0], log.plain
    yield ALL, "rows outcome near", abs(arm.outcome.value - rows.rows_mean) <= rows.error
    if found.plain_gap is not None:
        yield ALL, "rows gap held", gap_of(arm).low <= found.plain_gap <= gap_of(arm).high
    if not math.isnan(rows.gap):
        yield ALL, "plain outcome near", abs(arm.outcome.value - rows.mean) <= rows.error
        yield ALL, "plain gap held", gap_of(arm).low <= rows.gap <= gap_of(arm).high


# ---- many of them ----


@dataclass
class Tally:
    """Sums of facts of one kind, by arm and measure, and of how many."""

    logs: int = 0
    sums: dict[tuple[str, str], tuple[float, int]] = field(default_factory=lambda: defaultdict(lambda: (0.0, 0)))

    def add(self, facts: Iterable[Fact]) -> None:
        self.logs += 1
        for arm, measure, value in facts:
            total, count = self.sums[arm, measure]
            self.sums[arm, measure] = total + float(value), count + 1

    def mean(self, measure: str) -> float | None:
        """Of the logs as a whole; None where no log had it."""
        total, count = self.sums.get((ALL, measure), (0.0, 0))
        return total / count if count else None

    def usual_mean(self, measure: str) -> float | None:
        """The same, and None where fewer than half of the logs had it: the others would be no fair sample."""
        return self.mean(measure) if 2 * self.sums.get((ALL, measure), (0.0, 0))[1] >= self.logs else None

    def share(self, measure: str) -> float:
        """Of all logs."""
        return self.sums.get((ALL, measure), (0.0, 0))[0] / self.logs

    def by_arm(self, measure: str) -> dict[str, float]:
        """Means of each arm that has it."""
        return {
            arm: total / count for (arm, name), (total, count) in self.sums.items() if name == measure and arm != ALL
        }

    def findings(self) -> dict[str, float]:
        """The share of logs with each finding."""
        names = [name for _, name in self.sums if name.startswith("finding ")]
        return {name.removeprefix("finding "): self.share(name) for name in sorted(names)}


FIELDS = ("kind", "logs", "arm", "measure", "sum", "of")


def write_tallies(tallies: dict[str, Tally], path: Path) -> None:
    """One line per kind, arm and measure."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        for kind, tally in tallies.items():
            for (arm, measure), (total, count) in tally.sums.items():
                writer.writerow([kind, tally.logs, arm, measure, f"{total:.6g}", count])


def read_tallies(path: Path) -> dict[str, Tally]:
    """What `write_tallies` wrote; nothing where there is no file."""
    found: dict[str, Tally] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                tally = found.setdefault(line["kind"], Tally(int(line["logs"])))
                tally.sums[line["arm"], line["measure"]] = float(line["sum"]), int(line["of"])
    return found
