"""A lender with four groups: a problem file, logs made person by person, and every row by abduction, action and prediction.

race → income → offer → repaid ← income, with a hidden cause of repaid, and one arm that looks at race. Outcomes are 10 and 20, so that a
ratio is one of money and not of probabilities. People are functions of explicit noise (`tests/structural.py`): nothing here knows
fairarm.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np

import structural

GROUPS = ("a", "b", "c", "d")
SHARES = [0.4, 0.3, 0.2, 0.1]
LEVELS = (4, 10, 20)
"""Of a noise, all equally likely: the fewest of which every probability is a multiple."""
HIGH_INCOME = np.array([0.6, 0.5, 0.4, 0.2])  # by race
OFFER = {  # by income, or by income and race
    "old": np.array([0.4, 0.7]),
    "generous": np.array([0.7, 0.75]),
    "by race": np.array([[0.3, 0.3, 0.5, 0.8], [0.9, 0.8, 0.8, 0.9]]),
}
REPAID = np.array([[[0.1, 0.2], [0.3, 0.5]], [[0.2, 0.3], [0.7, 0.9]]])  # by income, offer and the hidden cause
CAUSE = 0.25
LOW, HIGH = 10.0, 20.0

TOLERANCE, RATIO, TO_MEAN, FLOOR = 1.2, 0.9, 1.0, 12.5
CONSTRAINTS = f"""
[[problem.constraints]]
compare = "pairs"
tolerance = {TOLERANCE}

[[problem.constraints]]
name = "nine tenths of a"
compare = "reference"
reference = "a"
ratio = {RATIO}
direction = "not_below"

[[problem.constraints]]
compare = "mean"
tolerance = {TO_MEAN}

[[problem.constraints]]
compare = "floor"
at_least = {FLOOR}

[[problem.constraints]]
weights = {{ a = 1, b = -0.5, c = -0.5 }}
tolerance = 2
"""


def _both(chance: np.ndarray) -> str:
    return json.dumps(np.stack([1 - chance, chance], axis=-1).round(12).tolist())


def problem_file(constraints: str = CONSTRAINTS, shares: bool = True, log: str = "") -> str:
    """The problem with its world."""
    arms = [
        f'  {{ name = "{name}", parents = {json.dumps(["income", "race"][: chance.ndim])}, table = {_both(chance)} }},'
        for name, chance in OFFER.items()
    ]
    known = f"shares = {{ {', '.join(f'{g} = {s}' for g, s in zip(GROUPS, SHARES, strict=True))} }}" if shares else ""
    income = f'{{ node = "income", parents = ["race"], table = {_both(HIGH_INCOME)} }}'
    return f"""format = 1

[problem]
name = "lender"
sensitive = "race"
decision = "offer"
outcome = {{ node = "repaid", values = {{ no = {LOW}, yes = {HIGH} }} }}
edges = [["race", "income"], ["income", "offer"], ["income", "repaid"], ["offer", "repaid"], ["luck", "repaid"]]
states = {{ race = {json.dumps(GROUPS)}, income = ["low", "high"], offer = ["no", "yes"], repaid = ["no", "yes"], luck = ["bad", "good"] }}
hidden = ["luck"]
deployed = "old"
{known}
arms = [
{chr(10).join(arms)}
]
mechanisms = [{income}]
{constraints}
[world]
mechanisms = [
  {{ node = "race", table = {SHARES} }},
  {income},
  {{ node = "luck", table = [{1 - CAUSE}, {CAUSE}] }},
  {{ node = "offer", parents = ["income"], table = {_both(OFFER["old"])} }},
  {{ node = "repaid", parents = ["income", "offer", "luck"], table = {_both(REPAID)} }},
]
{log}"""


def _function(parents: tuple[str, ...], chance: np.ndarray) -> structural.Function:
    """1 where the noise's level is among the first so many."""
    levels = next(n for n in LEVELS if np.allclose(n * chance, np.round(n * chance)))
    values = np.arange(levels) < np.round(levels * chance)[..., None]
    return structural.Function(parents, values.astype(np.int64), np.full(levels, 1 / levels))


def model() -> structural.Model:
    """The same as functions of noise."""
    functions = {
        "S": structural.Function((), np.arange(4), np.array(SHARES)),
        "income": _function(("S",), HIGH_INCOME),
        "luck": _function((), np.array(CAUSE)),
        "Y": _function(("income", "V", "luck"), REPAID),
    }
    arms = tuple(_function(("income", "S")[: chance.ndim], chance) for chance in OFFER.values())
    order = ("S", "income", "luck", "V", "Y")
    sizes = {"S": 4, "income": 2, "luck": 2, "V": 2, "Y": 2}
    return structural.Model(order, order, sizes, functions, arms, (0, 1, 2, 3), (LOW, HIGH), LOW, HIGH, 0)


@cache
def truths() -> list[dict[str, float]]:
    """Of every arm, by the name of the row: people of the second group, as if they were of the first."""
    found = []
    for k in range(len(OFFER)):
        m = structural.means(model(), k)
        own, pairs = np.diag(m.as_of), [(t, u) for t in range(4) for u in range(t + 1, 4)]
        rows = {f"{GROUPS[t]} - {GROUPS[u]}": m.as_of[t, u] - own[u] for t, u in pairs}
        rows |= {f"{GROUPS[u]} / a": own[u] - RATIO * m.as_of[0, u] for u in (1, 2, 3)}
        rows |= {f"{GROUPS[t]} - mean": m.as_group[t] - m.everyone for t in range(4)}
        rows |= {GROUPS[t]: own[t] for t in range(4)}
        rows["a - 0.5 b - 0.5 c"] = m.as_group @ [1, -0.5, -0.5, 0]
        found.append({name: float(value) for name, value in rows.items()} | {"outcome": m.everyone})
    return found


def fair(row: str, value: float) -> bool:
    """Whether the row holds, from the questions as they are asked."""
    if " / " in row:
        return value > 0
    if row in GROUPS:
        return value > FLOOR
    return abs(value) < (TO_MEAN if row.endswith("mean") else 2 if "0.5" in row else TOLERANCE)


def log(rows: int, seed: int, codes: bool = False) -> dict[str, Any]:
    """What the old rule did: each person has noises, and every function is run once."""
    rng, found = np.random.default_rng(seed), {}
    people = model()
    for node in people.order:
        function = people.arms[0] if node == "V" else people.functions[node]
        noise = rng.choice(len(function.noise), rows, p=function.noise)
        found[node] = function.values[(*(found[above] for above in function.parents), noise)]
    if codes:
        return found
    names = {"race": ("S", GROUPS), "income": ("income", ("low", "high")), "offer": ("V", ("no", "yes")), "repaid": ("Y", ("no", "yes"))}  # fmt: skip
    return {column: np.array(states, dtype=object)[found[node]] for column, (node, states) in names.items()}


def propensities(rows: dict[str, Any]) -> np.ndarray:
    """Of the offers that were made."""
    chance = OFFER["old"][(rows["income"] == "high").astype(int)]
    return np.where(rows["offer"] == "yes", chance, 1 - chance)


def weighted_errors(rows: dict[str, Any]) -> list[dict[str, float]]:
    """Standard errors of every row, were each group's mean the plain mean of its weighted rows; P(S) is known."""
    race, income = np.array([GROUPS.index(g) for g in rows["race"]]), (rows["income"] == "high").astype(int)
    offer, y = (rows["offer"] == "yes"), np.where(rows["repaid"] == "yes", HIGH, LOW)
    found = []
    for chance in OFFER.values():
        says = chance[income] if chance.ndim == 1 else chance[income, race]
        w = np.where(offer, says, 1 - says) / propensities(rows)
        # about the group's mean, so that the error of Σ w does not count
        means = [np.average(y[race == t], weights=w[race == t]) for t in range(4)]
        se = np.array([np.std(w[race == t] * (y[race == t] - means[t])) / np.sqrt((race == t).sum()) for t in range(4)])
        of = {f"{GROUPS[t]} - {GROUPS[u]}": np.eye(4)[t] - np.eye(4)[u] for t in range(4) for u in range(t + 1, 4)}
        of |= {f"{GROUPS[u]} / a": np.eye(4)[u] - RATIO * np.eye(4)[0] for u in (1, 2, 3)}
        of |= {f"{GROUPS[t]} - mean": np.eye(4)[t] - SHARES for t in range(4)} | dict(
            zip(GROUPS, np.eye(4), strict=True)
        )
        of |= {"a - 0.5 b - 0.5 c": np.array([1, -0.5, -0.5, 0]), "outcome": np.array(SHARES)}
        found.append({name: float(np.sqrt(((a * se) ** 2).sum())) for name, a in of.items()})
    return found
