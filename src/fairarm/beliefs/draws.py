"""Every arm's outcome and its mean in every group: drawn from what is believed, estimated, or true."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from fairarm.core.fairness import Rows, two_groups
from fairarm.core.types import FloatArray

Pairs = Iterable[tuple[int, int]]


@dataclass(frozen=True)
class Draws:
    """Outcomes μ_k (..., K) and means μ_k(t) of the groups (..., K, G), on one scale; as draws (N, D, …), as values (N, …).

    All that fairness asks about is made of them: `rows`, `gaps`. Of two groups they unpack as outcomes and gaps.
    """

    outcomes: FloatArray
    means: FloatArray

    def rows(self, asked: Rows) -> FloatArray:
        """The value of every row, (..., K, J)."""
        return asked.values(self.means, self.outcomes)

    def gaps(self, pairs: Pairs) -> FloatArray:
        """μ_k(t) − μ_k(u) of every pair (t, u) of groups, (..., P, K); exactly opposite for (u, t)."""
        found = [self._gap(t, u) if t < u else -self._gap(u, t) for t, u in pairs]
        return np.stack(found, axis=-2) if found else np.zeros((*self.outcomes.shape[:-1], 0, self.outcomes.shape[-1]))

    def _gap(self, t: int, u: int) -> FloatArray:
        return np.asarray(self.means[..., t] - self.means[..., u])

    def of(self, replicates: object) -> Draws:
        """Only these replicates, by a mask or a slice of the first axis."""
        return Draws(self.outcomes[replicates], self.means[replicates])  # type: ignore[call-overload]

    def __iter__(self) -> Iterator[FloatArray]:
        """Outcomes, then the gap μ(s) − μ(s') of two groups: other numbers of them are refused."""
        two_groups(self.means)
        return iter((self.outcomes, self._gap(0, 1)))

    def __getitem__(self, part: int) -> FloatArray:
        """0: outcomes, 1: gaps of two groups."""
        return tuple(self)[part]


def in_blocks(draw: Callable[[int], Draws], draws: int, size: int) -> Draws:
    """As many draws (N, D, …), at most ``size`` at once."""
    parts = [draw(min(size, draws - start)) for start in range(0, max(draws, 1), size)]
    outcomes, means = ([getattr(part, name) for part in parts] for name in ("outcomes", "means"))
    return parts[0] if len(parts) == 1 else Draws(np.concatenate(outcomes, axis=1), np.concatenate(means, axis=1))


@dataclass(frozen=True)
class Averaged(Draws):
    """The means of draws (N, D, …) over D, of whatever is asked about: outcomes (N, K), means (N, K, G)."""

    drawn: Draws

    @classmethod
    def of_draws(cls, drawn: Draws) -> Averaged:
        """Of these draws."""
        return cls(drawn.outcomes.mean(axis=1), drawn.means.mean(axis=1), drawn)

    def rows(self, asked: Rows) -> FloatArray:
        """The mean of every row, (N, K, J)."""
        return np.asarray(self.drawn.rows(asked).mean(axis=1))

    def _gap(self, t: int, u: int) -> FloatArray:
        return np.asarray(self.drawn._gap(t, u).mean(axis=1))
