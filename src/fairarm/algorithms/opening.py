"""The cards of the next cohort of a live study: whole pulls within what is left, planned beside pulls that are under way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairarm.beliefs.beliefs import DesignBasis
from fairarm.core.design.rounding import round_pulls
from fairarm.core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Room:
    """What the next cohort of N replicates may be. ``made`` (N, R, K): pulls that are settled or under way."""

    made: IntArray
    left: IntArray
    """(N,): how many pulls may still be made."""
    costs: FloatArray
    """(R, K), all of them."""
    usable: BoolArray
    """(R, K): units that may be dealt."""
    budget: float | None
    part: float = 1.0
    """Of the cards that is expected to be dealt: the budget must hold of those, and what is left over returns."""

    @property
    def open_costs(self) -> FloatArray:
        """+inf for units that may not be dealt."""
        return np.where(self.usable, self.costs, np.inf)

    def average(self, ahead: IntArray) -> FloatArray:
        """What each of the next ``ahead`` (N,) pulls may cost, (N,)."""
        if self.budget is None:
            return np.full(len(self.made), np.inf)
        total = self.made.sum(axis=(1, 2)) + ahead
        return np.asarray((self.budget * total - self._spent(self.costs)) / np.maximum(ahead, 1))

    def cards(self, x: FloatArray, ahead: IntArray, size: int) -> IntArray:
        """At most ``size`` whole pulls of each replicate, (N, R, K), in the proportions of the plan ``x`` for ``ahead`` (N,)."""
        plan = np.zeros_like(self.made)
        for i, most in enumerate(self._most(size)):
            if most > 0:
                target = np.where(self.usable, x[i], 0.0) * (most / max(int(ahead[i]), 1))
                nothing = np.zeros_like(plan[i])
                plan[i] = round_pulls(target, nothing, self.open_costs, self._budget_of(i, most), float(most))
        return plan

    def _most(self, size: int) -> list[int]:
        """Cards that each replicate can have: as many pulls as are left, and as the cheapest usable unit lets the budget pay."""
        most = np.minimum(size, np.maximum(self.left, 0))
        if self.budget is not None and (dearer := self._cheapest_usable - self.costs.min()) > 0:
            # where the cheapest unit may not be dealt, every card costs more than what later ones can be completed with
            room = (self.budget - self.costs.min()) * self.made.sum(axis=(1, 2)) - self._spent(self._extra)
            gain = dearer - (self.budget - self.costs.min()) * self.part
            most = np.minimum(most, np.floor(np.maximum(room, 0.0) / gain).astype(np.int64)) if gain > 0 else most
        return [int(count) for count in most]

    def _budget_of(self, i: int, cards: int) -> float | None:
        """The average cost that leaves the cost rule of `round_pulls` true over all pulls, these cards included."""
        if self.budget is None:
            return None
        cheapest = float(self.costs.min())
        room = (self.budget - cheapest) * (self.made[i].sum() + self.part * cards) - float(
            (self.made[i] * self._extra).sum()
        )
        return float(max(self._cheapest_usable, cheapest + room / cards))

    @property
    def _extra(self) -> FloatArray:
        return np.where(np.isfinite(self.costs), self.costs - self.costs.min(), 0.0)

    @property
    def _cheapest_usable(self) -> float:
        return float(self.open_costs.min())

    def _spent(self, costs: FloatArray) -> FloatArray:
        return np.asarray((self.made * np.where(self.made > 0, costs, 0.0)).sum(axis=(1, 2)))


def usable_units(costs: FloatArray, regimes: Sequence[int], paused: BoolArray) -> BoolArray:
    """(R, K): those of the ``regimes`` with a cost, without ``paused`` (K,) arms."""
    allowed = np.zeros(costs.shape, dtype=np.bool_)
    allowed[list(regimes)] = True
    return np.asarray(allowed & np.isfinite(costs) & ~paused)


def with_under_way(basis: DesignBasis, under_way: IntArray) -> DesignBasis:
    """The basis of a design as if pulls that are under way, (N, R, K), had shown what they are expected to."""
    units = np.broadcast_to(basis.laws.units, (len(under_way), *basis.laws.units.shape[1:]))
    return replace(basis, counts=basis.counts + np.einsum("nrk,nrkc->nc", under_way.astype(np.float64), units))


def ahead_of(made: IntArray, left: IntArray, size: int, first: int) -> IntArray:
    """For how many pulls is planned, (N,), of which ``size`` are made: as many as were made, within what is ``left``."""
    return np.maximum(size, np.minimum(left, np.maximum(made, first)))


def shares_before(made: IntArray, first: FloatArray) -> FloatArray:
    """Shares of the pulls so far, (N, R, K), for a search to start from; ``first`` (R, K) where there were none."""
    total = made.sum(axis=(1, 2), keepdims=True)
    return np.where(total > 0, made / np.maximum(total, 1), first)
