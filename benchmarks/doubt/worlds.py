"""Small random worlds with a cause that is in no log, and holes in their outcomes; every truth is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from fairarm import Arm, LogMap, Outcome, Problem, Variable, table
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
    def of(cls, rng: np.random.Generator, push: float) -> Self:
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
        theta = (np.stack([1 - self._chance, self._chance])[..., None] * self.means).sum(axis=0)
        by_group = np.einsum("sx,kxv,xv->ks", self.contexts, self.arms, theta)
        return np.stack([by_group.mean(axis=1), by_group[:, 0] - by_group[:, 1]], axis=1)

    columns = LogMap()

    @property
    def _chance(self) -> FloatArray:
        """P(U = 1 | x), (X,)."""
        return np.full(self.contexts.shape[1], 0.5)

    def hidden(self, x: IntArray, coin: IntArray, rng: np.random.Generator) -> IntArray:
        """U of each row."""
        return coin

    def outcome(self) -> Outcome:
        """0 or 1."""
        return Outcome("Y", values=(0, 1))

    def drawn(self, mean: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Outcomes with these means."""
        return np.asarray(rng.random(len(mean)) < mean, dtype=np.float64)

    def problem(self) -> Problem:
        """As a user would declare it; the arm that made the log first."""
        m, decisions = self.arms.shape[1:]
        return Problem(
            name="doubt",
            variables=[
                Variable("S", ("a", "b")), Variable("X", tuple(f"x{i}" for i in range(m))),
                Variable("V", tuple(f"v{i}" for i in range(decisions))),
                *([] if self.outcome().values is None else [Variable("Y", ("0", "1"))]),
            ],
            graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")], sensitive="S", decision="V",
            outcome=self.outcome(), tolerance=0.1, deployed="arm-0",
            arms=[Arm(f"arm-{k}", table("V", ["X"], law)) for k, law in enumerate(self.arms)],
            mechanisms=[table("X", ["S"], self.contexts)],
        )  # fmt: skip

    def rows(self, n: int, rng: np.random.Generator, lost: float = 0.0) -> dict[str, Any]:
        """A log of so many rows; of about this share the outcome is lost, by what it was and by the decision."""
        s, u = rng.integers(0, 2, (2, n))
        x = (rng.random(n)[:, None] > np.cumsum(self.contexts[s], axis=1)[:, :-1]).sum(axis=1)
        u = self.hidden(x, u, rng)
        v = (rng.random(n)[:, None] > np.cumsum(self.logged[u, x], axis=1)[:, :-1]).sum(axis=1)
        y = self.drawn(self.means[u, x, v], rng)
        names = {
            "S": np.array(["a", "b"])[s],
            "X": np.char.add("x", x.astype(str)),
            "V": np.char.add("v", v.astype(str)),
        }
        return {**names, "Y": np.where(gone(rng, y, v, lost), np.nan, y)}


@dataclass(frozen=True, eq=False)
class SharpWorld(HiddenWorld):
    """Two decisions, and truths on the end of the box at the world's own Γ: U is who gains from V = 1, everybody else gains from V = 0,
    and decisions follow it as far as Γ lets them. So all that was seen of a decision is as much better than it is as can be."""

    gains: FloatArray | None = None
    """P(U = 1 | x), (X,)."""

    @classmethod
    def of(cls, rng: np.random.Generator, push: float) -> Self:
        """Γ is e^push."""
        m, gamma = int(rng.integers(2, 5)), np.exp(push)
        contexts = 0.8 * rng.dirichlet(np.ones(m), size=2) + 0.2 / m
        chance = rng.uniform(0.3, 0.7, m)
        odds = chance / (1 - chance)
        by_u = np.stack([odds / gamma, odds * gamma])
        by_u = by_u / (1 + by_u)  # P(V = 1 | x, U)
        gains = (chance - by_u[0]) / (by_u[1] - by_u[0])
        logged = np.stack([1 - by_u, by_u], axis=2)
        arms = 0.9 * rng.dirichlet(np.ones(2), size=(ARMS - 1, m)) + 0.05
        every = np.concatenate([np.stack([1 - chance, chance], axis=1)[None], arms])
        means = np.broadcast_to(np.eye(2)[:, None], (2, m, 2))  # Y is 1 where V is what U gains from
        return cls(contexts, logged, every, np.array(means), gains)

    @property
    def strength(self) -> float:
        """Γ."""
        odds, whole = (p[..., 1] / p[..., 0] for p in (self.logged, self.arms[0]))
        return float((odds / whole).max())

    @property
    def _chance(self) -> FloatArray:
        return np.full(self.contexts.shape[1], 0.5) if self.gains is None else self.gains

    def hidden(self, x: IntArray, coin: IntArray, rng: np.random.Generator) -> IntArray:
        """Who gains from V = 1."""
        return np.asarray(rng.random(len(x)) < self._chance[x], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class MixedWorld(HiddenWorld):
    """Half of the rows are of the last arm, which draws at random: U does not move them."""

    columns = LogMap(arm="arm", randomised=(f"arm-{ARMS - 1}",))

    def rows(self, n: int, rng: np.random.Generator, lost: float = 0.0) -> dict[str, Any]:
        """Of both arms."""
        drew = HiddenWorld(self.contexts, np.stack([self.arms[-1]] * 2), self.arms, self.means)
        parts = HiddenWorld.rows(self, n - n // 2, rng, lost), drew.rows(n // 2, rng, lost)
        arm = np.repeat(["arm-0", f"arm-{ARMS - 1}"], [n - n // 2, n // 2])
        return {"arm": arm, **{name: np.concatenate([part[name] for part in parts]) for name in parts[0]}}


@dataclass(frozen=True, eq=False)
class RealWorld(HiddenWorld):
    """The outcome is an amount: mostly small, at times large."""

    def outcome(self) -> Outcome:
        """Amounts from 0 to 1."""
        return Outcome("Y", low=0.0, high=1.0)

    def drawn(self, mean: FloatArray, rng: np.random.Generator) -> FloatArray:
        """With this mean: of a law with few large values."""
        return np.asarray(rng.beta(1.5 * mean, 1.5 * (1 - mean)))
