"""Logs with a real input and logged propensities: they are read row by row, not counted by cell."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.logs.tables import GROUPS, Logged, Money, OutcomeLaw, States, logistic
from fairarm import Arm, Code, LogMap, Problem, Variable
from fairarm.core.types import FloatArray

Surface = Callable[[Any, Any], FloatArray]
"""A number for every decision, (n, decisions), at groups s and inputs x, (n,) each."""

END, SHIFT = 4.0, 0.4
"""X is normal with mean SHIFT · s and sd 1, cut at ± END."""

TWO = ("0", "1")
VARIABLES = (Variable("S", GROUPS), Variable("X", low=-END, high=END), Variable("V", TWO))


@dataclass(frozen=True)
class RowWorld:
    """Two groups, one real input, some decisions; the laws of the decision and E[Y | s, x, v] are functions of s and x."""

    logging: Surface
    """The law of the decisions that are logged."""
    arms: dict[str, tuple[Arm, Surface]]
    mean: Surface
    law: OutcomeLaw
    tolerance: float
    share: float | None = None
    """Of the second group, declared; None: they are equal, which the problem does not say."""

    def truth(self) -> tuple[FloatArray, FloatArray]:
        means = np.array([[self._mean(rule, t) for t in (0, 1)] for _, rule in self.arms.values()])
        share = 0.5 if self.share is None else self.share
        return means @ np.array([1 - share, share]), means[:, 0] - means[:, 1]

    def _mean(self, rule: Surface, t: int) -> float:
        """E[Y | arm, S = t] by the trapezium rule; the cut tails are point masses."""
        x = np.linspace(-END, END, 4001)
        s = np.full(len(x), t)
        density = np.exp(-0.5 * (x - SHIFT * t) ** 2) / math.sqrt(2 * math.pi)
        value = (rule(s, x) * self.mean(s, x)).sum(axis=1)
        below, above = (0.5 * math.erfc((END + side * SHIFT * t) / math.sqrt(2)) for side in (1, -1))
        return float(np.trapezoid(density * value, x) + below * value[0] + above * value[-1])

    def problem(self, decisions: int) -> Problem:
        return Problem(
            name="drawn",
            variables=[*VARIABLES[:2], Variable("V", tuple(map(str, range(decisions)))), self.law.variable()],
            graph=[("S", "X"), ("S", "V"), ("X", "V"), ("X", "Y"), ("V", "Y"), ("S", "Y")],
            sensitive="S",
            decision="V",
            outcome=self.law.outcome(),
            tolerance=self.tolerance,
            arms=[arm for arm, _ in self.arms.values()],
            shares=None if self.share is None else (1 - self.share, self.share),
        )

    def log(self, n: int, rng: np.random.Generator) -> Logged:
        """Natural rows with their propensities."""
        s = rng.integers(0, 2, n) if self.share is None else (rng.random(n) < self.share).astype(np.int64)
        x = np.clip(rng.normal(SHIFT * s, 1.0), -END, END)
        law = self.logging(s, x)
        # the last decision has the lowest part of [0, 1]
        from_last = np.cumsum(law[:, :0:-1], axis=1)
        v = law.shape[1] - 1 - (rng.random(n)[:, None] >= from_last).sum(axis=1)
        at = np.arange(n), v
        y = self.law.draw(self.mean(s, x)[at], v, np.ones(n, dtype=np.int64), rng).logged
        columns = {"S": np.array(GROUPS, dtype=object)[s], "X": x, "V": v, "Y": y, "p": law[at]}
        return Logged(self.problem(law.shape[1]), columns, *self.truth(), where=LogMap(propensity="p"))


def coded(rules: dict[str, Surface]) -> dict[str, tuple[Arm, Surface]]:
    """Arms made of code."""

    def arm(name: str, rule: Surface) -> Arm:
        def log_prob(columns: Any) -> Any:
            law = rule(np.asarray(columns["S"]), np.asarray(columns["X"]))
            with np.errstate(divide="ignore"):
                return np.log(law[np.arange(len(law)), columns["V"]])

        return Arm(name, Code("V", ("S", "X"), log_prob))

    return {name: (arm(name, rule), rule) for name, rule in rules.items()}


# ---- two decisions ----

Chance = Callable[[Any, Any], Any]
"""P(V = 1 | s, x)."""


def of_chance(chance: Chance) -> Surface:
    """The law of two decisions."""

    def law(s: Any, x: Any) -> FloatArray:
        p = chance(s, x)
        return np.stack([1 - p, p], axis=-1)

    return law


def of_each(value: Callable[[Any, Any, Any], Any]) -> Surface:
    """A function of s, x and the decision, at both decisions."""
    return lambda s, x: np.stack([value(s, x, v) for v in (0, 1)], axis=-1)


def _within(chance: Chance, least: float) -> Chance:
    return lambda s, x: np.clip(chance(s, x), least, 1 - least)


def _rules(slope: float, least: float) -> dict[str, Surface]:
    """The one that logs, its opposite, a coin, and one that prefers a group."""
    chances: dict[str, Chance] = {
        "logging": _within(lambda s, x: logistic(slope * x), least),
        "opposite": _within(lambda s, x: logistic(-slope * x), least),
        "coin": lambda s, x: 0.5 + 0.0 * x,
        "by group": _within(lambda s, x: logistic(2 * s - 1 + x), 0.05),
    }
    return {name: of_chance(chance) for name, chance in chances.items()}


def _bent(rng: np.random.Generator, scale: float = 1.0) -> Callable[[Any, Any, Any], Any]:
    """A score that is bent in x, and another for each decision and group."""
    base, twist = rng.normal(0, 0.3), scale * rng.normal(0, 1, 5)
    return lambda s, x, v: (
        base + twist[0] * x + v * (twist[1] + twist[2] * x) + twist[3] * s * v + 0.5 * twist[4] * np.cos(x)
    )


def heavy_weights(rng: np.random.Generator, rows: int = 1000) -> Logged:
    """Logged propensities down to 0.01 and candidates that like what was rare."""
    score, rules = _bent(rng), _rules(rng.normal(0, 2), 0.01)
    mean = of_each(lambda s, x, v: logistic(score(s, x, v)))
    return RowWorld(rules["logging"], coded(rules), mean, States(), 0.1).log(rows, rng)


def row_clicks(rng: np.random.Generator, rows: int, least: float = 0.1) -> Logged:
    """Clicks of about 0.5 %. ``least``: the smallest propensity."""
    score, rules = _bent(rng, 0.4), _rules(rng.normal(0, 1 if least >= 0.1 else 2), least)

    def rate(s: Any, x: Any, v: Any) -> Any:
        return 0.005 * np.exp(np.clip(score(s, x, v) - 0.2, -3, 3))

    return RowWorld(rules["logging"], coded(rules), of_each(rate), States(), 0.002).log(rows, rng)


def row_money(rng: np.random.Generator, rows: int, skewed: bool = False) -> Logged:
    """Money: one decision has noise of sd 10, the other of 160."""
    score, rules = _bent(rng), _rules(rng.normal(0, 1), 0.1)
    law = Money(-1000.0, 5000.0 if skewed else 1000.0, (10.0, 160.0), skewed)
    mean = of_each(lambda s, x, v: 10 * score(s, x, v))
    return RowWorld(rules["logging"], coded(rules), mean, law, 8.0).log(rows, rng)


def _predicted(model: Any, s: Any, x: Any) -> Any:
    return model.predict_proba(np.column_stack([s, x]))[:, 1]


def classifiers(rng: np.random.Generator, rows: int) -> Logged:
    """Candidates are fitted models of another sample; outcomes are ordinary."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    score, logging = _bent(rng), of_chance(_within(lambda s, x: logistic(0.8 * x), 0.1))
    arms: dict[str, tuple[Arm, Surface]] = {}
    for name, model in (
        ("logistic", LogisticRegression()),
        ("naive bayes", GaussianNB()),
        ("few rows", LogisticRegression()),
    ):
        n = 40 if name == "few rows" else 400
        s = rng.integers(0, 2, n)
        inputs = np.column_stack([s, rng.normal(SHIFT * s, 1.0)])
        wanted = rng.random(n) < logistic(rng.normal(0, 1.0, 2) @ inputs.T)
        wanted[:2] = (False, True)  # both decisions are seen
        model.fit(inputs, wanted.astype(int))
        made = Arm.from_classifier(name, model, learned_from=None, decision="V", inputs=("S", "X"), variables=VARIABLES)
        arms[name] = made, of_chance(partial(_predicted, model))
    mean = of_each(lambda s, x, v: logistic(score(s, x, v)))
    return RowWorld(logging, arms, mean, States(), 0.08).log(rows, rng)
