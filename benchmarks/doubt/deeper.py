"""Small random worlds that are not plain, with a cause that is in no log: an attribute with a cause, or a node that is kept. The truth is
a sum over everything, in loops of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.doubt.worlds import ARMS, favoured, gone, strength_of
from fairarm import Arm, Constraint, LogMap, Outcome, Problem, Variable, table
from fairarm.core.types import FloatArray

STATES = ("a", "b")


@dataclass(frozen=True, eq=False)
class DeepWorld:
    """A → V, A → Y, S → X → V → Y ← X; A is a cause of S, or a child of S that is kept. U, a fair coin, acts on V and Y.

    Laws: of A and S together (A, 2), X by group (2, X), V by U (2, A, X, V), arms (K, A, X, V), means of Y by U (2, A, X, V).
    """

    kept: bool
    joint: FloatArray
    contexts: FloatArray
    logged: FloatArray
    arms: FloatArray
    means: FloatArray

    @classmethod
    def of(cls, rng: np.random.Generator, push: float, kept: bool) -> DeepWorld:
        """As `HiddenWorld.of`, with two columns."""
        first, second, decisions = (int(n) for n in rng.integers(2, 4, 3))
        joint = 0.6 * rng.dirichlet(np.ones(2 * first)).reshape(first, 2) + 0.2 / first
        contexts = 0.8 * rng.dirichlet(np.ones(second), size=2) + 0.2 / second
        logged, arms, means = favoured(rng, push, (first, second), decisions)
        return cls(kept, joint, contexts, logged, arms, means)

    @property
    def strength(self) -> float:
        """Γ."""
        return strength_of(self.logged)

    @property
    def truths(self) -> FloatArray:
        """Outcomes, and the two rows: people of a read as b less as they are, and of b read as a, (K, 3)."""
        theta = self.means.mean(axis=0)
        made = np.zeros((ARMS, 3))
        for k in range(ARMS):
            mean = np.zeros((2, 2))  # people u, read as t
            for u in (0, 1):
                for t in (0, 1):
                    for a, part in enumerate(self.joint[:, u] / self.joint[:, u].sum()):
                        for x, chance in enumerate(self.contexts[t]):
                            mean[u, t] += part * chance * (self.arms[k, a, x] @ theta[a, x])
            shares = self.joint.sum(axis=0)
            made[k] = shares @ np.diag(mean), mean[0, 1] - mean[0, 0], mean[1, 0] - mean[1, 1]
        return made

    columns = LogMap()

    def problem(self) -> Problem:
        """As a user would declare it; the law of S given its cause is not declared."""
        size, m, decisions = self.arms.shape[1:]
        of_a = self.joint.T / self.joint.sum(axis=0)[:, None]
        edges = [("A", "V"), ("A", "Y"), ("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")]
        return Problem(
            name="deep",
            variables=[
                Variable("A", tuple(f"a{i}" for i in range(size))), Variable("S", STATES),
                Variable("X", tuple(f"x{i}" for i in range(m))), Variable("V", tuple(f"v{i}" for i in range(decisions))),
                Variable("Y", ("0", "1")),
            ],
            graph=[("S", "A") if self.kept else ("A", "S"), *edges], sensitive="S", decision="V",
            outcome=Outcome("Y", values=(0, 1)), deployed="arm-0",
            constraints=[Constraint(tolerance=0.1, keep=("A",) if self.kept else ())],
            arms=[Arm(f"arm-{k}", table("V", ["A", "X"], law)) for k, law in enumerate(self.arms)],
            mechanisms=[table("X", ["S"], self.contexts), *([table("A", ["S"], of_a)] if self.kept else [])],
        )  # fmt: skip

    def rows(self, n: int, rng: np.random.Generator, lost: float = 0.0) -> dict[str, Any]:
        """A log of so many rows; of about this share the outcome is lost."""
        a, s = np.divmod(rng.choice(self.joint.size, n, p=self.joint.ravel() / self.joint.sum()), 2)
        u = rng.integers(0, 2, n)
        x = (rng.random(n)[:, None] > np.cumsum(self.contexts[s], axis=1)[:, :-1]).sum(axis=1)
        v = (rng.random(n)[:, None] > np.cumsum(self.logged[u, a, x], axis=1)[:, :-1]).sum(axis=1)
        y = (rng.random(n) < self.means[u, a, x, v]).astype(float)
        named = {name: np.char.add(name.lower(), codes.astype(str)) for name, codes in (("A", a), ("X", x), ("V", v))}
        return {**named, "S": np.array(STATES)[s], "Y": np.where(gone(rng, y, v, lost), np.nan, y)}
