"""Small random worlds with a cause that is in no log, and holes in their outcomes; every truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairarm import Arm, Outcome, Problem, Variable, table
from fairarm.core.types import BoolArray, FloatArray, IntArray

ARMS = 4
SIGN = np.array([-1.0, 1.0])


def favoured(
    rng: np.random.Generator, push: float, inputs: tuple[int, ...], decisions: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Logged decisions by U, arms, and means by U, each by inputs and decision. U tilts the odds of decisions by about e^±push, and
    the means of those it favours by up to 0.25; with a push of 0 it does nothing."""
    m = int(np.prod(inputs))
    base = np.log(0.7 * rng.dirichlet(np.ones(decisions), size=m) + 0.3 / decisions)
    favour = rng.uniform(-1, 1, (m, decisions))
    tilt = np.exp(base + push * SIGN[:, None, None] * favour)
    arms = 0.9 * rng.dirichlet(np.ones(decisions), size=(ARMS - 1, m)) + 0.1 / decisions
    theta = rng.uniform(0.26, 0.74, (m, decisions))
    effect = 0.25 * favour * (push > 0)
    logged = tilt / tilt.sum(axis=2, keepdims=True)
    every = np.concatenate([logged.mean(axis=0)[None], arms])
    made = (logged, every, theta + SIGN[:, None, None] * effect)
    first, second, third = (part.reshape(len(part), *inputs, decisions) for part in made)
    return first, second, third


def strength_of(logged: FloatArray) -> float:
    """Γ: the largest odds ratio of a decision with U and without, of laws by U (2, …)."""
    whole = logged.mean(axis=0)
    ratio = np.log(logged / (1 - logged)) - np.log(whole / (1 - whole))
    return float(np.exp(np.abs(ratio).max()))


def gone(rng: np.random.Generator, y: FloatArray, v: IntArray, share: float) -> BoolArray:
    """Which outcomes are lost, about this share of them: by what they are, and by the decision."""
    chance = np.where(y == 1, 1.0, 0.05) * np.where(v == 0, 0.4, 1.0)
    return np.asarray(rng.random(len(y)) < np.minimum(chance * share / chance.mean(), 1.0))


@dataclass(frozen=True, eq=False)
class HiddenWorld:
    """S → X → V → Y ← X; U, a fair coin, acts on V and Y. Laws: X by group (2, X), V by x and U (2, X, V), arms (K, X, V), means of
    Y by U, (2, X, V)."""

    contexts: FloatArray
    logged: FloatArray
    arms: FloatArray
    means: FloatArray

    @classmethod
    def of(cls, rng: np.random.Generator, push: float) -> HiddenWorld:
        """Without a push there is no hidden cause."""
        m, decisions = int(rng.integers(2, 5)), int(rng.integers(2, 4))
        contexts = 0.8 * rng.dirichlet(np.ones(m), size=2) + 0.2 / m
        return cls(contexts, *favoured(rng, push, (m,), decisions))

    @property
    def strength(self) -> float:
        """Γ."""
        return strength_of(self.logged)

    @property
    def truths(self) -> FloatArray:
        """Outcomes and gaps of rules that do not see U, (K, 2)."""
        by_group = np.einsum("sx,kxv,xv->ks", self.contexts, self.arms, self.means.mean(axis=0))
        return np.stack([by_group.mean(axis=1), by_group[:, 0] - by_group[:, 1]], axis=1)

    def problem(self) -> Problem:
        """As a user would declare it; the arm that made the log first."""
        m, decisions = self.arms.shape[1:]
        return Problem(
            name="doubt",
            variables=[
                Variable("S", ("a", "b")), Variable("X", tuple(f"x{i}" for i in range(m))),
                Variable("V", tuple(f"v{i}" for i in range(decisions))), Variable("Y", ("0", "1")),
            ],
            graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")], sensitive="S", decision="V",
            outcome=Outcome("Y", values=(0, 1)), tolerance=0.1, deployed="arm-0",
            arms=[Arm(f"arm-{k}", table("V", ["X"], law)) for k, law in enumerate(self.arms)],
            mechanisms=[table("X", ["S"], self.contexts)],
        )  # fmt: skip

    def rows(self, n: int, rng: np.random.Generator, lost: float = 0.0) -> dict[str, Any]:
        """A log of so many rows; of about this share the outcome is lost, by what it was and by the decision."""
        s, u = rng.integers(0, 2, (2, n))
        x = (rng.random(n)[:, None] > np.cumsum(self.contexts[s], axis=1)[:, :-1]).sum(axis=1)
        v = (rng.random(n)[:, None] > np.cumsum(self.logged[u, x], axis=1)[:, :-1]).sum(axis=1)
        y = (rng.random(n) < self.means[u, x, v]).astype(float)
        names = {
            "S": np.array(["a", "b"])[s],
            "X": np.char.add("x", x.astype(str)),
            "V": np.char.add("v", v.astype(str)),
        }
        return {**names, "Y": np.where(gone(rng, y, v, lost), np.nan, y)}
