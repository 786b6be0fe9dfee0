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

Rule = Callable[[Any, Any], Any]
"""P(V = 1 | s, x)."""

END, SHIFT = 4.0, 0.4
"""X is normal with mean SHIFT · s and sd 1, cut at ± END."""

TWO = ("0", "1")
VARIABLES = (Variable("S", GROUPS), Variable("X", low=-END, high=END), Variable("V", TWO))


@dataclass(frozen=True)
class RowWorld:
    """Two equal groups, one real input, two decisions; E[Y | s, x, v] is a function."""

    logging: Rule
    arms: dict[str, tuple[Arm, Rule]]
    mean: Callable[[Any, Any, Any], Any]
    law: OutcomeLaw
    tolerance: float

    def truth(self) -> tuple[np.ndarray, np.ndarray]:
        means = np.array([[self._mean(rule, t) for t in (0, 1)] for _, rule in self.arms.values()])
        return means.mean(axis=1), means[:, 0] - means[:, 1]

    def _mean(self, rule: Rule, t: int) -> float:
        """E[Y | arm, S = t] by the trapezium rule; the cut tails are point masses."""
        x = np.linspace(-END, END, 4001)
        density = np.exp(-0.5 * (x - SHIFT * t) ** 2) / math.sqrt(2 * math.pi)
        p = rule(np.full(len(x), t), x)
        value = p * self.mean(t, x, 1) + (1 - p) * self.mean(t, x, 0)
        below, above = (0.5 * math.erfc((END + side * SHIFT * t) / math.sqrt(2)) for side in (1, -1))
        return float(np.trapezoid(density * value, x) + below * value[0] + above * value[-1])

    def problem(self) -> Problem:
        return Problem(
            name="drawn",
            variables=[*VARIABLES, self.law.variable()],
            graph=[("S", "X"), ("S", "V"), ("X", "V"), ("X", "Y"), ("V", "Y"), ("S", "Y")],
            sensitive="S",
            decision="V",
            outcome=self.law.outcome(),
            tolerance=self.tolerance,
            arms=[arm for arm, _ in self.arms.values()],
        )

    def log(self, n: int, rng: np.random.Generator) -> Logged:
        s = rng.integers(0, 2, n)
        x = np.clip(rng.normal(SHIFT * s, 1.0), -END, END)
        p = self.logging(s, x)
        v = (rng.random(n) < p).astype(np.int64)
        y = self.law.draw(self.mean(s, x, v), v, np.ones(n, dtype=np.int64), rng).logged
        columns = {"S": np.array(GROUPS, dtype=object)[s], "X": x, "V": v, "Y": y, "p": np.where(v == 1, p, 1 - p)}
        return Logged(self.problem(), columns, *self.truth(), where=LogMap(propensity="p"))


def coded(rules: dict[str, Rule]) -> dict[str, tuple[Arm, Rule]]:
    """Arms made of code."""

    def arm(name: str, rule: Rule) -> Arm:
        def log_prob(columns: Any) -> Any:
            p = rule(columns["S"], columns["X"])
            return np.log(np.where(columns["V"] == 1, p, 1 - p))

        return Arm(name, Code("V", ("S", "X"), log_prob))

    return {name: (arm(name, rule), rule) for name, rule in rules.items()}


def _within(rule: Rule, least: float) -> Rule:
    return lambda s, x: np.clip(rule(s, x), least, 1 - least)


def _rules(slope: float, least: float) -> dict[str, Rule]:
    """The one that logs, its opposite, a coin, and one that prefers a group."""
    return {
        "logging": _within(lambda s, x: logistic(slope * x), least),
        "opposite": _within(lambda s, x: logistic(-slope * x), least),
        "coin": lambda s, x: 0.5 + 0.0 * x,
        "by group": _within(lambda s, x: logistic(2 * s - 1 + x), 0.05),
    }


def _bent(rng: np.random.Generator, scale: float = 1.0) -> Callable[[Any, Any, Any], Any]:
    """A score that is bent in x, and another for each decision and group."""
    base, twist = rng.normal(0, 0.3), scale * rng.normal(0, 1, 5)
    return lambda s, x, v: (
        base + twist[0] * x + v * (twist[1] + twist[2] * x) + twist[3] * s * v + 0.5 * twist[4] * np.cos(x)
    )


def heavy_weights(rng: np.random.Generator, rows: int = 1000) -> Logged:
    """Logged propensities down to 0.01 and candidates that like what was rare."""
    score, rules = _bent(rng), _rules(rng.normal(0, 2), 0.01)
    world = RowWorld(rules["logging"], coded(rules), lambda s, x, v: logistic(score(s, x, v)), States(), 0.1)
    return world.log(rows, rng)


def row_clicks(rng: np.random.Generator, rows: int, least: float = 0.1) -> Logged:
    """Clicks of about 0.5 %. ``least``: the smallest propensity."""
    score, rules = _bent(rng, 0.4), _rules(rng.normal(0, 1 if least >= 0.1 else 2), least)

    def rate(s: Any, x: Any, v: Any) -> Any:
        return 0.005 * np.exp(np.clip(score(s, x, v) - 0.2, -3, 3))

    return RowWorld(rules["logging"], coded(rules), rate, States(), 0.002).log(rows, rng)


def row_money(rng: np.random.Generator, rows: int, skewed: bool = False) -> Logged:
    """Money: one decision has noise of sd 10, the other of 160."""
    score, rules = _bent(rng), _rules(rng.normal(0, 1), 0.1)
    law = Money(-1000.0, 5000.0 if skewed else 1000.0, (10.0, 160.0), skewed)
    return RowWorld(rules["logging"], coded(rules), lambda s, x, v: 10 * score(s, x, v), law, 8.0).log(rows, rng)


def _predicted(model: Any, s: Any, x: Any) -> Any:
    return model.predict_proba(np.column_stack([s, x]))[:, 1]


def classifiers(rng: np.random.Generator, rows: int) -> Logged:
    """Candidates are fitted models of another sample; outcomes are ordinary."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    score, logging = _bent(rng), _within(lambda s, x: logistic(0.8 * x), 0.1)
    arms: dict[str, tuple[Arm, Rule]] = {}
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
        made = Arm.from_classifier(name, model, decision="V", inputs=("S", "X"), variables=VARIABLES)
        arms[name] = made, partial(_predicted, model)
    return RowWorld(logging, arms, lambda s, x, v: logistic(score(s, x, v)), States(), 0.08).log(rows, rng)
