"""How often the monitors give a false alarm, and how soon they find what is wrong: 500 people a day, looked at every day."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.live.cases import ARMS, HIGH, LOW, problem
from fairarm.beliefs.declared_law import DeclaredLaw
from fairarm.core.proof.guard import Guarded
from fairarm.core.proof.law_test import is_void
from fairarm.core.proof.monitors import Drift, LossRows
from fairarm.core.types import BoolArray

PEOPLE, WEEKEND = 500, 5
LAW = np.array(list(ARMS.values()))
"""P(V | arm, group), (2, 2, 2): half of the people with either arm."""

Day = Callable[[int, np.random.Generator], BoolArray]


@dataclass(frozen=True)
class WatchLine:
    """What was off, and in how many studies it was found by which day."""

    monitor: str
    what: str
    studies: int
    found: int
    days: int
    half: float
    most: float
    """Days by which half, and 95 %, of studies had it; inf where fewer have."""


def watched(monitor: str, what: str, studies: int, days: int, day: Day) -> WatchLine:
    """Studies until their last day; ``day`` says who has an alarm by then, (n,)."""
    rng, first = np.random.default_rng(3), np.full(studies, np.inf)
    for q in range(days):
        first = np.where(day(q, rng) & np.isinf(first), q + 1, first)
    half, most = (float(np.quantile(first, share, method="inverted_cdf")) for share in (0.5, 0.95))
    return WatchLine(monitor, what, studies, int(np.isfinite(first).sum()), days, half, most)


def law_line(off: float, studies: int, days: int) -> WatchLine:
    """One entry of "edge" off: P(V = 1) in the first group is lower than declared."""
    tests = DeclaredLaw(problem()).tests
    true = LAW.copy()
    true[1, 0] = [LAW[1, 0, 0] + off, LAW[1, 0, 1] - off]
    cells, natural = np.zeros((studies, 2, 2, 2)), np.zeros((studies, 2))

    def day(_: int, rng: np.random.Generator) -> BoolArray:
        by_group = rng.multinomial(PEOPLE, np.full(4, 0.25), studies).reshape(-1, 2, 2)
        cells[...] += rng.multinomial(by_group, true)
        natural[...] += by_group.sum(axis=1)
        return is_void(tests.log_values(cells, natural))

    return watched("law", _off(off, "an entry off by {:g}"), studies, days, day)


def drift_line(shift: float, studies: int, days: int) -> WatchLine:
    """P(Y = 1 | V = 1) higher by ``shift`` at weekends: gaps of 0.06 and 0.14 where it is 0.1."""
    state = [Drift.start(studies, 2)]

    def day(q: int, rng: np.random.Generator) -> BoolArray:
        n = rng.multinomial(PEOPLE, LAW.mean(axis=(0, 1)), studies)
        theta = np.array([LOW, HIGH + shift * (q % 7 >= WEEKEND)])
        y = rng.binomial(n, theta)
        state[0] = state[0].after(n.astype(np.float64), y.astype(np.float64), q % 7)
        return state[0].alarm()

    return watched("drift", _off(shift, "weekends {:+g} in one cell"), studies, days, day)


def loss_line(points: float, studies: int, days: int, base: float = 0.02) -> WatchLine:
    """Outcomes of the first group lost more often."""
    state = [LossRows.start(studies, 2, 2)]
    rate = base + points * np.array([[1.0, 0.0]])

    def day(_: int, rng: np.random.Generator) -> BoolArray:
        dealt = rng.multinomial(PEOPLE, np.full(4, 0.25), studies).reshape(-1, 2, 2)
        state[0] = state[0].after(dealt, rng.binomial(dealt, np.broadcast_to(rate, dealt.shape)))
        return state[0].alarm()

    return watched("loss", _off(points, "one group loses {:g} more"), studies, days, day)


def guard_line(beyond: float, studies: int, days: int) -> WatchLine:
    """The gap of "edge" as served, at the tolerance of 0.2 or beyond it; 50 people a day with each arm."""
    asked = problem()
    guarded = Guarded.of(asked.compiled.rows)
    state = [guarded.start(studies, 2)]
    mean = np.array([[0.4, 0.4], [0.5 + (0.2 + beyond) / 2, 0.5 - (0.2 + beyond) / 2]])

    def day(_: int, rng: np.random.Generator) -> BoolArray:
        dealt = rng.multinomial(100, np.full(4, 0.25), studies).reshape(-1, 2, 2)
        good = rng.binomial(dealt, np.broadcast_to(mean, dealt.shape))
        seen = np.stack([dealt - good, good], axis=-1)
        state[0] = guarded.after(state[0], seen, np.array([0.0, 1.0]), rng)
        return np.asarray(guarded.alarm(state[0]).any(axis=1))

    return watched("guard", _off(beyond, "{:g} beyond the tolerance", "at the tolerance"), studies, days, day)


def watch_lines(clean: int, found: int) -> list[WatchLine]:
    """``clean`` studies in which nothing is off, ``found`` in which something is."""
    return [
        law_line(0.0, clean, 40), law_line(0.05, found, 60),
        drift_line(0.0, clean, 28), drift_line(0.1, found, 28), drift_line(0.2, found, 28),
        loss_line(0.0, clean, 20), loss_line(0.05, found, 10),
        guard_line(0.0, min(clean, 1000), 30), guard_line(0.2, min(found, 200), 30),
    ]  # fmt: skip


def _off(size: float, text: str, nothing: str = "nothing is off") -> str:
    return nothing if size == 0 else text.format(size)
