"""Small worlds whose numbers were worked out by hand, W2 to W7, as models of `worlds_truth`.

States are 0 and 1 unless a model says otherwise. Noise is one number between 0 and 1, cut where any table has a step, so that the tables come
out exactly. Imports nothing of fairarm.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from structural import Function
from worlds_truth import Model

ADMISSIONS = Path(__file__).parent.parent / "examples" / "berkeley" / "admissions.csv"
Chance = Callable[..., float]


def chance(parents: tuple[str, ...], of: Chance, sizes: tuple[int, ...] | None = None) -> Function:
    """A node that is 1 with probability of(values of its parents): its noise is one number between 0 and 1, cut at every chance."""
    shape = sizes or (2,) * len(parents)
    chances = {index: float(of(*index)) for index in np.ndindex(*shape)}
    cuts = sorted({0.0, *chances.values(), 1.0})
    noise = np.diff(cuts)
    values = np.zeros((*shape, len(noise)), dtype=np.int64)
    for index, p in chances.items():
        values[index] = np.array(cuts[:-1]) < p
    return Function(parents, values, noise)


def model(
    name: str, order: str, nodes: dict[str, Function], arms: list[Function], attributes: str, **more: object
) -> Model:
    """Nodes of two states, an outcome of 0 and 1."""
    names = tuple(order.split())
    given = {
        "order": names,
        "sizes": dict.fromkeys(names, 2),
        "functions": nodes,
        "arms": tuple(arms),
        "attributes": tuple(attributes.split()),
        "values": (0.0, 1.0),
        "name": name,
    }
    return Model(**(given | more))  # type: ignore[arg-type]


SAME_AS_DECISION = Function(("V",), np.array([[0], [1]]), np.array([1.0]))
"""Y = V."""


def w2() -> Model:
    """Z → S → V → Y ← Z: a cause of the attribute acts on the outcome."""
    nodes = {
        "Z": chance((), lambda: 0.5),
        "S": chance(("Z",), lambda z: (0.2, 0.8)[z]),
        "Y": chance(("Z", "V"), lambda z, v: 0.1 + 0.2 * z + 0.2 * v + 0.4 * z * v),
    }
    return model("W2", "Z S V Y", nodes, [chance(("S",), lambda s: (0.3, 0.6)[s])], "S")


def w3() -> Model:
    """S → R → V, S → V → Y = V: a mediator that may be kept."""
    nodes = {
        "S": chance((), lambda: 0.5),
        "R": chance(("S",), lambda s: (0.3, 0.7)[s]),
        "Y": SAME_AS_DECISION,
    }
    return model("W3", "S R V Y", nodes, [chance(("S", "R"), lambda s, r: 0.2 + 0.1 * s + 0.4 * r)], "S")


def w4() -> Model:
    """region → race, both read by V, Y = V: one attribute is the cause of the other."""
    nodes = {
        "region": chance((), lambda: 0.5),
        "race": chance(("region",), lambda g: (0.2, 0.6)[g]),
        "Y": SAME_AS_DECISION,
    }
    arm = chance(("region", "race"), lambda g, r: 0.2 + 0.2 * g + 0.4 * r)
    return model("W4", "region race V Y", nodes, [arm], "region race")


def w5(same: bool) -> Model:
    """A → X → R, X → Y ← R: X | A is a fair coin, R = X, Y = 1{X = R}. ``same``: X would have been the same with the other A, else a new coin.

    The decision has no effect on who gets what; it is there since a model has one: V → Y, read by nothing else.
    """
    if same:
        X = Function(("A",), np.array([[0, 1], [0, 1]]), np.array([0.5, 0.5]))
    else:
        X = Function(("A",), np.array([[0, 0, 1, 1], [0, 1, 0, 1]]), np.full(4, 0.25))
    equal = np.zeros((2, 2, 2, 1), dtype=np.int64)
    equal[0, 0], equal[1, 1] = 1, 1
    nodes = {
        "A": chance((), lambda: 0.5),
        "X": X,
        "R": Function(("X",), np.array([[0], [1]]), np.array([1.0])),
        "Y": Function(("X", "R", "V"), equal, np.array([1.0])),
    }
    return model(f"W5 {same}", "A X R V Y", nodes, [chance((), lambda: 0.5)], "A")


def w6() -> Model:
    """Z → S → Y ← Z: one order of a ratio is met and the other broken. V → Y changes nothing."""
    theta = ((0.30, 0.45), (0.9, 0.9))
    nodes = {
        "Z": chance((), lambda: 0.5),
        "S": chance(("Z",), lambda z: (0.1, 0.9)[z]),
        "Y": chance(("Z", "S", "V"), lambda z, s, v: theta[z][s]),
    }
    return model("W6", "Z S V Y", nodes, [chance((), lambda: 0.5)], "S")


WOMEN, MEN = 0, 1


def admissions() -> np.ndarray:
    """Applicants by sex (women first), department and whether admitted."""
    found = np.zeros((2, 6, 2))
    with ADMISSIONS.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            at = (("female", "male").index(row["gender"]), "ABCDEF".index(row["department"]), row["admitted"] == "yes")
            found[int(at[0]), int(at[1]), int(at[2])] += int(row["applicants"])
    return found


def w7() -> Model:
    """Berkeley: sex → department → admission ← sex; the counts are the law. Arm 0 as it was, arm 1 each department's own rate."""
    n = admissions()
    by_both, by_department = n[..., 1] / n.sum(axis=2), n[..., 1].sum(axis=0) / n.sum(axis=(0, 2))
    departments = _shared_noise(n.sum(axis=2) / n.sum(axis=(1, 2))[:, None])
    nodes = {
        "sex": chance((), lambda: n[MEN].sum() / n.sum()),
        "department": Function(("sex",), *departments),
        "Y": SAME_AS_DECISION,
    }
    arms = [
        chance(("sex", "department"), lambda s, d: by_both[s, d], (2, 6)),
        chance(("department",), lambda d: by_department[d], (6,)),
    ]
    sizes = {"sex": 2, "department": 6, "V": 2, "Y": 2}
    return model("W7", "sex department V Y", nodes, arms, "sex", sizes=sizes)


def _shared_noise(laws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (parents, noise) and the noise's probabilities: one number between 0 and 1, cut where any law has a step."""
    steps = np.cumsum(laws, axis=1)[:, :-1]
    cuts = np.unique(np.concatenate([[0.0], steps.ravel(), [1.0]]))
    values = np.stack([np.searchsorted(each, cuts[:-1], side="right") for each in steps])
    return values, np.diff(cuts)
