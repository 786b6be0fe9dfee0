"""Deciding pull by pull within a budget: what can be afforded, and how many pulls are decided at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import OptionError

MOST_PULLS = 10_000
"""`tf-lucb` decides about 330 times by then, `top-two` about 40; every decision reads all rows anew."""

BATCH = 50
"""Pulls decided at once: at most 1/BATCH of the pulls so far, and at least one."""

_SLACK, _ROUNDING = 1e-9, 1e-12


def next_batch(made: int, pulls: int) -> int:
    """Pulls decided at once after ``made`` of ``pulls``; 0 at the end."""
    return min(pulls - made, max(1, made // BATCH))


def require_few_pulls(name: str, pulls: int) -> None:
    """An error above what an algorithm that decides pull by pull can do in reasonable time."""
    if pulls > MOST_PULLS:
        raise OptionError(
            f"'{name}' decides pull by pull and takes at most {MOST_PULLS} pulls; got {pulls}. "
            f"Give it fewer pulls, or use 'pool'."
        )


@dataclass(frozen=True)
class Purse:
    """What a problem's costs and budget allow a rule that decides pull by pull.

    After t pulls at most (B − c_min) · t may have been spent above t pulls of the cheapest unit. That keeps the cost
    within B · t at every t, spreads costly pulls evenly, and a run can always be completed with cheapest pulls.
    """

    costs: FloatArray
    """(R, K)."""
    budget: float | None

    @cached_property
    def extra(self) -> FloatArray:
        """Costs above the cheapest unit's, (R, K); +inf where there is none."""
        return np.asarray(self.costs - self.costs.min())

    @cached_property
    def _order(self) -> IntArray:
        """What to try for each unit, (R · K, 4) flat units: itself, the arm's cheapest regime, the regime's cheapest
        arm, the cheapest unit of all; ties go to natural, then to the lower arm."""
        R, K = self.costs.shape
        regime, arm = np.divmod(np.arange(R * K), K)
        own = self.costs.argmin(axis=0)[arm] * K + arm
        same = regime * K + self.costs.argmin(axis=1)[regime]
        return np.stack([np.arange(R * K), own, same, np.full(R * K, self.costs.argmin())], axis=1)

    def buy(self, given: IntArray, regimes: IntArray, arms: IntArray) -> IntArray:
        """Pulls so far ``given`` (N, R, K) and those wanted, one after the other, (N, b) each: pulls made in all."""
        N, _, K = given.shape
        pulls, rows = given.reshape(N, -1).copy(), np.arange(N)
        can = np.isfinite(self.extra).ravel()
        extra = np.where(can, self.extra.ravel(), 0.0)
        rate = np.inf if self.budget is None else self.budget - float(self.costs.min())
        made, spent = pulls.sum(axis=1), pulls @ extra
        for regime, arm in zip(regimes.T, arms.T, strict=True):
            made += 1
            tries = self._order[regime * K + arm]
            fits = spent[:, None] + extra[tries] <= (rate * made * (1 + _ROUNDING) + _SLACK)[:, None]
            fits &= can[tries]
            fits[:, -1] = True  # costs nothing extra
            unit = tries[rows, np.argmax(fits, axis=1)]
            pulls[rows, unit] += 1
            spent += extra[unit]
        return pulls.reshape(given.shape)


@dataclass(frozen=True)
class Wanted:
    """Pulls asked for, one after the other: regimes and arms, (N, b) each."""

    regimes: IntArray
    arms: IntArray
