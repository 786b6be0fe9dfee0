"""Whether the declared range of a real outcome matters: the same rows, and a range that is far too wide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.answers.asking import generator, said
from benchmarks.answers.kinds import drawn_world, rules
from benchmarks.answers.parts import Bars, Line, Lines, Part, Scale, counted
from benchmarks.answers.worlds import Log, Noise, Real, World, scores, simplex
from fairarm import Problem
from fairarm.core.types import FloatArray

LOGS, MOST = 8, 1e-6
FACTORS = (1e2, 1e4, 1e6)


def money(
    rng: np.random.Generator, level: float, spread: float, noise: Noise, ends: tuple[float, float], rows: int = 4000
) -> World:
    """Six contexts, three decisions, means that vary by ``spread`` around ``level``."""
    score = scores(rng, (1, 2, 6, 3), (0.0, 0.3, 0.7, 0.7), 0.2, direct=False)
    child = simplex(rng, (1, 2, 6), 3.0, 0.02)
    law = Real(np.maximum(level + spread * score, ends[0]), noise, *ends)
    arms = rules(rng, 5, (2, 6, 3), 0.1)
    return World(np.ones(1), np.full((1, 2), 0.5), child, (), arms, law, 0.6 * spread, direct=False)


def normal(rng: np.random.Generator, n: int, sd: float) -> FloatArray:
    return np.asarray(sd * rng.standard_normal(n))


def skewed(rng: np.random.Generator, n: int) -> FloatArray:
    """Lognormal around its mean, so that outcomes are 0 or more where means are 20 or more."""
    return np.asarray(20.0 * (np.exp(rng.normal(-0.5, 1.0, n)) - 1.0))


def seldom(rng: np.random.Generator, n: int) -> FloatArray:
    """Nothing in nine of ten rows."""
    paid = (rng.random(n) < 0.1) * np.exp(rng.normal(4.0, 0.6, n))
    return np.asarray(paid - 0.1 * np.exp(4.18))


def counts(rng: np.random.Generator) -> World:
    """Numbers of purchases: whole numbers from 0 on."""
    made = money(rng, 3.0, 0.6, partial(normal, sd=1.0), (0.0, 60.0))
    return replace(made, law=Whole(made.law.means, partial(normal, sd=1.0), 0.0, 60.0))


class Whole(Real):
    """Poisson numbers with these means."""

    def draw(self, cell: Any, rng: np.random.Generator) -> Any:
        return np.minimum(rng.poisson(np.maximum(self.means.ravel()[cell], 0.05)), self.high).astype(float)


KINDS: dict[str, Callable[[np.random.Generator], Log]] = {
    "money from 0 to 100": lambda rng: money(rng, 40, 8, partial(normal, sd=12), (0, 100)).log(4000, rng),
    "profits and losses": lambda rng: money(rng, 5, 20, partial(normal, sd=160), (-1000, 1000)).log(4000, rng),
    "lognormal money": lambda rng: money(rng, 60, 8, skewed, (0, 5000)).log(2000, rng),
    "mostly nothing": lambda rng: money(rng, 30, 5, seldom, (0, 1500)).log(4000, rng),
    "whole numbers": lambda rng: counts(rng).log(1500, rng),
    "exponential noise, 300 rows": lambda rng: drawn_world(rng, outcome="real").log(300, rng),
    "money, logged propensities": lambda rng: money(rng, 40, 8, partial(normal, sd=12), (0, 100)).log(
        3000, rng, propensity=True
    ),
    "money, logging rule fitted": lambda rng: money(rng, 40, 8, partial(normal, sd=12), (0, 100)).log(
        3000, rng, fitted=True
    ),
}


def widened(problem: Problem, factor: float, both: bool) -> Problem:
    """With the upper end, or both, moved so that the range is wider by a factor."""
    low, high = float(problem.outcome.low or 0.0), float(problem.outcome.high or 0.0)
    more = (high - low) * (factor - 1)
    low, high = (low - more / 2, high + more / 2) if both else (low, high + more)
    node = problem.outcome.node
    variables = {**problem.variables, node: replace(problem.variables[node], low=low, high=high)}
    return replace(problem, variables=variables, outcome=replace(problem.outcome, low=low, high=high))


def numbers(found: Any) -> tuple[FloatArray, FloatArray, list[Any]]:
    """Values and ends of intervals, (estimates, 3), probabilities, and the answer."""
    estimates = [e for arm in found.arms for e in (arm.outcome, *arm.fairness)]
    values = np.array([[e.value, e.low, e.high] for e in estimates])
    chances = [p for arm in found.arms for p in (arm.fair_probability, arm.best_probability)]
    said_by = [getattr(found, name, None) for name in ("status", "arm", "reason", "recommended", "recommended_status")]
    return values, np.array(chances), [None if x is None else str(x) for x in said_by]


def compared(kind: str, index: int, seed: int, factor: float) -> Line:
    """One log with its range as it is and widened, the upper end or both."""
    log = KINDS[kind](generator(seed, kind, index))
    values, chances, answer = numbers(said(log, index))
    both = bool(index % 2)
    try:
        wide = said(replace(log, problem=widened(log.problem, factor, both)), index)
    except Exception as error:
        failed = f"{answer[0]} → {type(error).__name__}"
        return {"change": np.inf, "of width": np.inf, "chance": np.inf, "answers": failed, "differ": True}
    values_w, chances_w, answer_w = numbers(wide)
    change = np.abs(values - values_w).max(axis=1)
    sizes, widths = np.abs(values).max(axis=1), np.ptp(values, axis=1)
    return {
        "change": float((change / np.where(sizes > 0, sizes, 1.0)).max()),
        "of width": float((change / np.where(widths > 0, widths, 1.0)).max()),
        "chance": float(np.abs(chances - chances_w).max()),
        "answers": answer[0] if answer == answer_w else f"{answer[0]} → {answer_w[0]}",
        "differ": answer != answer_w,
    }


def summed(lines: Sequence[Line]) -> Line:
    return {
        "logs": len(lines),
        "largest change": max(line["change"] for line in lines),
        "beside the width": max(line["of width"] for line in lines),
        "of a probability": max(line["chance"] for line in lines),
        "answers that differ": sum(line["differ"] for line in lines),
        "answers": counted(lines, "answers"),
    }


def ranges(scale: Scale) -> Part:
    """Every kind with every factor."""
    kinds = dict(list(KINDS.items())[:2]) if scale.small else KINDS
    cases = {
        f"{kind}, × {factor:g}": [partial(compared, kind, i, scale.seed, factor) for i in range(scale.logs(LOGS))]
        for kind in kinds
        for factor in FACTORS
    }
    return Part(
        "The declared range of a real outcome",
        """The same rows with a range that is wider by a factor, upward or to both sides. *Largest change*: of values and ends of all intervals, outcomes and conditions of all arms, relative to the
largest of the three numbers; *beside the width*: relative to the width of the interval, for which there is no bar. *Answers*: status, arm, reason, recommendation.""",
        cases,
        summed,
        bars,
    )


def bars(now: Lines, before: Lines) -> Bars:
    change = max(line["largest change"] for line in now.values())
    chance = max(line["of a probability"] for line in now.values())
    differ = sum(line["answers that differ"] for line in now.values())
    return {
        f"values and intervals change by less than 1e-6: {change:.2g}": change < MOST,
        f"probabilities change by less than 1e-3 (one draw is 2.5e-4): {chance:.2g}": chance < 1e-3,
        f"no answer changes: {differ}": differ == 0,
    }
