"""How often bounds hold on worlds with a hidden cause of known strength, and on logs whose outcomes are lost by what they are.

    python -m benchmarks.doubt                     # 500 logs of each kind, certified bounds on 2 000
    python -m benchmarks.doubt --logs 50 --certified 200

Writes results.md beside this file. Seeds are fixed; every log is of a world of its own.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.doubt.worlds import ARMS, HiddenWorld
from fairarm import evaluate
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.certified import decision_law
from fairarm.beliefs.counted_bets import counted_bets
from fairarm.beliefs.doubt import draw_cells
from fairarm.beliefs.missing_rows import MissingRows
from fairarm.core.proof.log_bets import bet_intervals
from fairarm.core.proof.log_intervals import bound_delta
from fairarm.core.types import BoolArray, FloatArray
from fairarm.experiments.doubt import ends_of
from fairarm.experiments.evidence_from_log import evidence_from_log
from fairarm.experiments.start_from_log import log_reader
from fairarm.experiments.usual import drawn
from fairarm.logs.usable import CountedLog, counted_log

ROWS = 1500
PUSHES = (0.2, 0.5, 1.0)
SHARES = (0.01, 0.03, 0.1)
DELTA = 0.05


@dataclass(frozen=True)
class Held:
    """Of every log which intervals held the truth, (logs, K, 2): bounds, and the plain interval beside them."""

    bounds: BoolArray
    plain: BoolArray
    about: str

    def line(self) -> str:
        """A line of a table."""
        outcome, gap = self.bounds.mean(axis=(0, 1))
        worst = self.bounds.mean(axis=0).min()
        plain = self.plain.mean(axis=(0, 1))
        return f"| {self.about} | {len(self.bounds)} | {outcome:.3f} | {gap:.3f} | {worst:.3f} | {plain[0]:.3f} | {plain[1]:.3f} |"


def inside(low: FloatArray, high: FloatArray, truths: FloatArray) -> BoolArray:
    """(K, 2)."""
    return np.asarray((low <= truths) & (truths <= high))


def hidden(push: float, logs: int) -> Held:
    """Bounds at the world's own Γ, beside the usual interval."""
    bounds, plain, strengths = [], [], []
    for seed in range(logs):
        rng = np.random.default_rng([15, int(100 * push), seed])
        world = HiddenWorld.of(rng, push)
        log = evidence_from_log(log_reader(world.problem(), world.rows(ROWS, rng)), DELTA, False, False, seed)
        if not isinstance(log.beliefs, CellBeliefs):
            raise TypeError("Cells of these worlds are seen often enough.")
        outcomes, rows = ends_of(draw_cells(log.beliefs, None, seed).draws, world.strength).intervals(1 - DELTA)
        usual = drawn(log.beliefs, log.problem.compiled.rows, seed).usual(1 - DELTA)
        low, high = (np.stack([outcomes[i], rows[i, :, 0]], axis=1) for i in (0, 1))
        bounds.append(inside(low, high, world.truths))
        low, high = (np.stack([usual.outcomes[i], usual.rows[i, :, 0]], axis=1) for i in (0, 1))
        plain.append(inside(low, high, world.truths))
        strengths.append(world.strength)
    median = float(np.median(strengths))
    return Held(
        np.array(bounds),
        np.array(plain),
        f"hidden cause, Γ {min(strengths):.2f} to {max(strengths):.2f}, median {median:.2f}",
    )


def lost(share: float, logs: int) -> Held:
    """Usual bounds whatever is missing, beside the interval as if missing at random."""
    bounds: list[BoolArray] = []
    plain: list[BoolArray] = []
    for seed in range(logs):
        rng = np.random.default_rng([16, int(1000 * share), seed])
        world = HiddenWorld.of(rng, 0.0)
        rows = world.rows(ROWS, rng, share)
        for missing, held in (("worst", bounds), ("at random", plain)):
            found = evaluate(world.problem(), rows, missing=missing, seed=seed)  # type: ignore[arg-type]
            numbers = [(arm.outcome, arm.fairness[0]) for arm in found.arms]
            low, high = (np.array([[getattr(n, end) for n in pair] for pair in numbers]) for end in ("low", "high"))
            held.append(inside(low, high, world.truths))
    return Held(np.array(bounds), np.array(plain), f"missing by outcome, {100 * share:g} %")


@dataclass(frozen=True)
class Proved:
    """Certified bounds of logs with holes: how often one of them was wrong, how much wider they were than without holes, and the
    mean weight of the missing rows, which is what the formula says."""

    about: str
    logs: int
    wrong: float
    wider: float
    formula: float

    def line(self) -> str:
        """A line of a table."""
        return f"| {self.about} | {self.logs} | {self.wrong:.4f} | {self.wider:.4f} | {self.formula:.4f} |"


def certified(share: float, logs: int) -> Proved:
    """All certified intervals of a log at once, at δ = 0.05."""
    wrong, wider, formula = 0, [], []
    for seed in range(logs):
        key = [17, int(1000 * share), seed]
        world = HiddenWorld.of(np.random.default_rng(key), 0.0)
        whole, holes = (_counted(world, key, part) for part in (0.0, share))
        missing = holes.rows_without_outcome()
        if missing is None:
            continue
        ends, full = _weighed(holes, missing), _weighed(whole, None)
        wrong += not inside(ends[..., 0], ends[..., 1], world.truths).all()
        wider.append(np.diff(ends[:, 0]).mean() - np.diff(full[:, 0]).mean())
        weight = (world.arms / world.arms[0]).reshape(ARMS, -1)
        formula.append((weight * missing.by_place[0].sum(axis=0)).sum(axis=1).mean() / ROWS)
    return Proved(f"{100 * share:g} %", logs, wrong / logs, float(np.mean(wider)), float(np.mean(formula)))


def _counted(world: HiddenWorld, key: list[int], share: float) -> CountedLog:
    """The same rows whatever is lost of them."""
    rng = np.random.default_rng([*key, 1])
    return counted_log(log_reader(world.problem(), world.rows(ROWS, rng, share)))


def _weighed(log: CountedLog, missing: MissingRows | None) -> FloatArray:
    """Certified intervals of outcomes and gaps by bets alone, (K, 2, 2): with holes there is no other kind."""
    problem, counts = log.problem, log.evidence().by_state()
    if counts is None:
        raise TypeError("Outcomes of these worlds have states.")
    each = bound_delta(DELTA, ARMS, shares_known=False)
    bets = counted_bets(problem, decision_law(problem), counts, each, missing)
    natural = log.evidence().group_sums((0,))[0][0].sum(axis=0) + (0 if missing is None else missing.natural)
    found = bet_intervals(bets, None, natural.astype(np.float64), DELTA, problem.compiled.rows)
    return np.concatenate([found.outcomes[0][:, None], found.rows[0]], axis=1)


PAGE = """# How often bounds hold where something is not known

`python -m benchmarks.doubt` wrote this: {rows} rows a log, every log of a random world of its own (`worlds.py`) with {arms} arms, 2 to 4 contexts and
2 or 3 decisions. Intervals are of 95 %. *Worst*: the arm, outcome or gap, whose interval held least often.

## Usual bounds

A hidden cause of known strength: bounds at that strength, beside the usual interval, which takes it that there is none. Missing by outcome:
ones get lost about twenty times as often as zeros; bounds whatever they were, beside the interval as if missing at random.

| world | logs | outcome | gap | worst | plain: outcome | plain: gap |
|---|---|---|---|---|---|---|
{usual}

## Certified bounds

All {all} certified intervals of a log at once may be wrong in 0.05 of logs. *Wider*: than those of the same log with all outcomes, by bets alone,
on average over arms, outcomes only. *Formula*: the mean weight of the missing rows.

| missing | logs | some interval wrong | wider | formula |
|---|---|---|---|---|
{proved}
"""


def main() -> None:
    """Measure, and write the page. 0 logs of a kind: its table is left out, and nothing is written."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--certified", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results.md"))
    given = parser.parse_args()
    usual = [_told(hidden(push, given.logs).line()) for push in PUSHES if given.logs]
    usual += [_told(lost(share, given.logs).line()) for share in SHARES if given.logs]
    proved = [_told(certified(share, given.certified).line()) for share in SHARES if given.certified]
    if usual and proved:
        page = PAGE.format(rows=ROWS, arms=ARMS, all=2 * ARMS, usual="\n".join(usual), proved="\n".join(proved))
        given.out.write_text(page, encoding="utf-8")


def _told(line: str) -> str:
    print(line, flush=True)
    return line


if __name__ == "__main__":
    main()
