"""What is measured of bounds: how often they hold the truth, and how wide they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from benchmarks.doubt.worlds import ARMS, HiddenWorld
from fairarm import LogMap, evaluate
from fairarm.beliefs.certified import decision_law
from fairarm.beliefs.counted_bets import counted_bets
from fairarm.beliefs.doubt import CellDraws, Doubted, draw_cells, require_cells
from fairarm.beliefs.missing_rows import MissingRows
from fairarm.core.doubt.box import Box
from fairarm.core.doubt.missing import missing_box
from fairarm.core.doubt.sensitivity import hidden_box, others_two_valued
from fairarm.core.proof.log_bets import bet_intervals
from fairarm.core.proof.log_intervals import bound_delta
from fairarm.core.types import BoolArray, FloatArray
from fairarm.experiments.doubt import ends_of
from fairarm.experiments.evidence_from_log import LogEvidence, evidence_from_log
from fairarm.experiments.hidden_cause import doubted_rows
from fairarm.experiments.start_from_log import log_reader
from fairarm.experiments.usual import drawn
from fairarm.logs.usable import CountedLog, counted_log
from fairarm.problem.problem import Problem

ROWS = 1500
DELTA = 0.05


class World(Protocol):
    """What is measured on."""

    @property
    def columns(self) -> LogMap: ...
    @property
    def strength(self) -> float: ...
    @property
    def truths(self) -> FloatArray: ...
    def problem(self) -> Problem: ...
    def rows(self, n: int, rng: np.random.Generator, lost: float = 0.0) -> dict[str, Any]: ...


Make = Callable[[np.random.Generator], World]
"""A random world."""


@dataclass(frozen=True)
class Held:
    """Of every log which intervals held the truth, (logs, K, 1 + J): bounds, and the plain interval beside them."""

    bounds: BoolArray
    plain: BoolArray
    about: str

    def line(self) -> str:
        """A line of a table."""
        parts = [f"{each[..., 0].mean():.3f} | {each[..., 1:].mean():.3f}" for each in (self.bounds, self.plain)]
        return f"| {self.about} | {len(self.bounds)} | {parts[0]} | {self.bounds.mean(axis=0).min():.3f} | {parts[1]} |"


def inside(low: FloatArray, high: FloatArray, truths: FloatArray) -> BoolArray:
    """(K, 1 + J)."""
    return np.asarray((low <= truths) & (truths <= high))


def read(world: World, seed: int, rng: np.random.Generator, sketched: bool = False) -> LogEvidence:
    """A log of the world."""
    reader = log_reader(world.problem(), world.rows(ROWS, rng), columns=world.columns)
    return evidence_from_log(reader, DELTA, False, False, seed, sketched=sketched)


def intervals(draws: CellDraws, gamma: float) -> tuple[FloatArray, FloatArray]:
    """Low and high ends of outcomes and rows, (K, 1 + J) each."""
    outcomes, rows = ends_of(draws.draws, gamma).intervals(1 - DELTA)
    low, high = (np.concatenate([outcomes[i][:, None], rows[i]], axis=1) for i in (0, 1))
    return low, high


def hidden(make: Make, logs: int, about: str, key: int) -> Held:
    """Bounds at the world's own Γ, beside the usual interval."""
    bounds, plain, strengths = [], [], []
    for seed in range(logs):
        rng = np.random.default_rng([15, key, seed])
        world = make(rng)
        log = read(world, seed, rng, sketched=True)
        beliefs = require_cells(log.beliefs, "The benchmark")
        draws = draw_cells(beliefs, None, seed, doubted=doubted_rows(log, beliefs, world.strength))
        bounds.append(inside(*intervals(draws, world.strength), world.truths))
        usual = drawn(log.beliefs, log.problem.compiled.rows, seed).usual(1 - DELTA)
        low, high = (np.concatenate([usual.outcomes[i][:, None], usual.rows[i]], axis=1) for i in (0, 1))
        plain.append(inside(low, high, world.truths))
        strengths.append(world.strength)
    spread = f"Γ {min(strengths):.2f} to {max(strengths):.2f}, median {float(np.median(strengths)):.2f}"
    return Held(np.array(bounds), np.array(plain), f"{about}, {spread}")


def lost(make: Make, share: float, logs: int, about: str, key: int) -> Held:
    """Usual bounds whatever is missing, beside the interval as if missing at random."""
    bounds: list[BoolArray] = []
    plain: list[BoolArray] = []
    for seed in range(logs):
        rng = np.random.default_rng([16, key, seed])
        world = make(rng)
        rows = world.rows(ROWS, rng, share)
        for missing, held in (("worst", bounds), ("at random", plain)):
            found = evaluate(world.problem(), rows, missing=missing, seed=seed)  # type: ignore[arg-type]
            numbers = [(arm.outcome, *arm.fairness) for arm in found.arms]
            low, high = (np.array([[getattr(n, end) for n in each] for each in numbers]) for end in ("low", "high"))
            held.append(inside(low, high, world.truths))
    return Held(np.array(bounds), np.array(plain), f"{about}, {100 * share:g} %")


@dataclass(frozen=True)
class Compared:
    """Two ways to bound the same logs: how often each held all, and the mean width of outcomes."""

    about: str
    logs: int
    held: tuple[float, float]
    width: tuple[float, float]

    def line(self) -> str:
        """A line of a table."""
        held, width = (" | ".join(f"{x:.3f}" for x in pair) for pair in (self.held, self.width))
        return f"| {self.about} | {self.logs} | {held} | {width} | {self.width[0] / self.width[1]:.2f} |"


def compared(make: Make, logs: int, about: str, key: int, other: Callable[[CellDraws], CellDraws]) -> Compared:
    """Bounds at the world's own Γ, and those that ``other`` makes of the same draws."""
    held, width = np.zeros((2, logs)), np.zeros((2, logs))
    for seed in range(logs):
        rng = np.random.default_rng([18, key, seed])
        world = make(rng)
        log = read(world, seed, rng, sketched=True)
        beliefs = require_cells(log.beliefs, "The benchmark")
        ours = draw_cells(beliefs, None, seed, doubted=doubted_rows(log, beliefs, world.strength))
        theirs = other(draw_cells(beliefs, None, seed, doubted=Doubted(log.sketch)))
        for i, draws in enumerate((ours, theirs)):
            low, high = intervals(draws, world.strength)
            held[i, seed] = inside(low, high, world.truths).mean()
            width[i, seed] = (high - low)[:, 0].mean()
    first, second = held.mean(axis=1), width.mean(axis=1)
    return Compared(about, logs, (float(first[0]), float(first[1])), (float(second[0]), float(second[1])))


@dataclass(frozen=True, eq=False)
class BySpread(CellDraws):
    """Of a real outcome only its mean and its standard deviation: |m − θ| ≤ sd (Γ − 1)/√Γ, by Cauchy and Schwarz."""

    spread: FloatArray | None = None

    @classmethod
    def of(cls, draws: CellDraws) -> BySpread:
        """The standard deviation of each draw's law."""
        if draws.law is None or draws.parts is None:
            raise TypeError("A sketch is needed.")
        mean = (draws.law * draws.parts.mean).sum(axis=-1)
        # within a bin values are spread evenly, as far as is known
        square = (draws.law * (draws.parts.mean**2 + (draws.parts.most - draws.parts.least) ** 2 / 12)).sum(axis=-1)
        return cls(**vars(draws), spread=np.sqrt(np.maximum(square - mean**2, 0.0)))

    def at(self, which: BoolArray) -> BySpread:
        """Some of the draws."""
        some = {**vars(super().at(which)), "spread": None if self.spread is None else self.spread[which]}
        return BySpread(**some)

    def box(self, gamma: FloatArray | float = 1.0) -> Box:
        """With the standard deviation alone."""
        if self.chance is None or self.spread is None:
            raise TypeError("A hidden cause is needed.")
        logged, strength = missing_box(self.theta, self.unknown, self.ends), np.asarray(gamma, dtype=np.float64)
        most, widest = self.spread * (strength - 1) / np.sqrt(strength), others_two_valued(logged.low, strength)
        others = Box(np.maximum(widest.low, logged.low - most), np.minimum(widest.high, logged.high + most))
        return hidden_box(self.chance, logged, others)


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
