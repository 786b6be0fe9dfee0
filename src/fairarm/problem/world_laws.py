"""The laws of worlds as arrays: which label each factor of a world reads, and the sums that follow (docs/fairness.md).

    L_ω[k](a, c) = P_k(v | pa(V)) · Π_X P(x | pa(X)),  X the relevant children other than V and Y
    p_{k,ω}(cell) ∝ Σ_{a fits u} L_ω[k](a, c) π_ω(a, c) h(c)

A *label* a is a value of every attribute, a *point* x a value of every column of the cell. Each factor is an array over labels
and points with the label's own values; a world takes it at the label a of its people, or at the label a' in which the attributes
that are read otherwise have their other states. So every world is a list of terms, each of which says which label each factor takes.

Axes: K arms, P labels, X points, W worlds, C cells, Z contexts; (...) draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fairarm.core.grouping import sum_by_group
from fairarm.core.types import FloatArray, IntArray

LARGE = 1 << 12
"""Numbers by draw and point from which terms are multiplied one after the other."""

NOT_READ = -1
"""In place of a label: the factor is left out."""


@dataclass(frozen=True, eq=False)
class Factors:
    """What the probability of a point is made of, besides h: ``arms`` (..., K, P, X), and (..., P, X) each the relevant
    children's mechanisms and every block's own factor P(a_B | z_B)."""

    arms: FloatArray
    children: tuple[FloatArray, ...]
    own: tuple[FloatArray, ...]


@dataclass(frozen=True)
class Term:
    """One label of a world's people: the label that each factor takes."""

    world: int
    decision: int
    outcome: int
    """The label whose attributes Y reads."""
    context: int
    """The label whose law of contexts counts, where that differs between labels."""
    children: tuple[int, ...]
    own: tuple[int, ...]
    over: tuple[int, ...] = ()
    """Labels at which the own factors are divided out again, of people's rows that stand for others'; () none."""


@dataclass(frozen=True, eq=False)
class WorldSums:
    """W worlds as Q terms that come to S slots: terms of a world with the same decision, outcome and context are one slot."""

    worlds: int
    slot_world: IntArray
    decision: IntArray
    outcome: IntArray
    context: IntArray
    """Of each slot, (S,)."""
    slot: IntArray
    """Of each term, (Q,)."""
    children: IntArray
    own: IntArray
    over: IntArray
    """The label of each factor, (Q, factors)."""

    @classmethod
    def of(
        cls, terms: Iterable[Term], worlds: int, decision: Sequence[int], outcome: Sequence[int], context: Sequence[int]
    ) -> WorldSums:
        """From terms; ``decision``, ``outcome`` and ``context`` map each label to the first one that V, Y or h cannot tell from it."""
        known = list(terms)
        slots: dict[tuple[int, int, int, int], int] = {}
        at = []
        for term in known:
            key = (term.world, decision[term.decision], outcome[term.outcome], context[term.context])
            at.append(slots.setdefault(key, len(slots)))
        of_world, v, y, z = np.array(list(slots), dtype=np.int64).reshape(-1, 4).T
        blocks = len(known[0].own) if known else 0
        return cls(
            worlds,
            of_world,
            v,
            y,
            z,
            np.array(at, dtype=np.int64),
            np.array([term.children for term in known], dtype=np.int64).reshape(len(known), -1),
            np.array([term.own for term in known], dtype=np.int64).reshape(len(known), -1),
            np.array([term.over or (NOT_READ,) * blocks for term in known], dtype=np.int64).reshape(len(known), -1),
        )

    def weights(self, factors: Factors) -> FloatArray:
        """Π of the children and of the own factors, summed over the terms of each slot, (..., S, X)."""
        points = factors.arms.shape[-1]
        lead = np.broadcast_shapes(*(part.shape[:-2] for part in (*factors.children, *factors.own)), ())
        if points * math.prod(lead) >= LARGE:
            return self._one_by_one(factors, (*lead, len(self.slot_world), points))
        found = np.ones((*lead, len(self.slot), points))
        for j, child in enumerate(factors.children):
            found *= child[..., self.children[:, j], :]
        for j, own in enumerate(factors.own):
            found *= _taken(own, self.own[:, j])
            if (self.over[:, j] != NOT_READ).any():
                below = _taken(own, self.over[:, j])
                found = np.divide(found, below, out=np.zeros_like(found), where=below > 0)
        return sum_by_group(found.swapaxes(-1, -2), self.slot, len(self.slot_world)).swapaxes(-1, -2)

    def _one_by_one(self, factors: Factors, shape: tuple[int, ...]) -> FloatArray:
        """The same, term after term: with many draws this stays in the processor's cache. Slots are held apart from each other."""
        found = np.zeros((shape[-2], *shape[:-2], shape[-1]))
        own = [_by_label(part) for part in factors.own]
        parts = [*map(_by_label, factors.children), *own]
        labels = np.concatenate([self.children, self.own], axis=1).tolist()
        for slot, taken, over in zip(self.slot.tolist(), labels, self.over.tolist(), strict=True):
            read = [part[label] for part, label in zip(parts, taken, strict=True) if label != NOT_READ]
            product = math.prod(read[1:], start=read[0]) if read else np.ones(())
            for part, label in zip(own, over, strict=True):
                if label != NOT_READ:
                    below = np.broadcast_to(part[label], found.shape[1:])
                    product = np.divide(product, below, out=np.zeros(below.shape), where=below > 0)
            found[slot] += product
        return np.moveaxis(found, 0, -2)

    def masses(self, factors: Factors, h: FloatArray, places: Places) -> FloatArray:
        """Σ of each world's terms in a cell, as they are, (..., K, W, C); ``h`` (..., Z)."""
        weight = self.weights(factors) * h[..., places.context_of[self.context]]
        by_slot = factors.arms[..., self.decision, :] * weight[..., None, :, :]
        at = self.slot_world[:, None] * places.cells + places.cell_of[self.outcome]
        flat = by_slot.reshape(*by_slot.shape[:-2], -1)
        found = sum_by_group(flat, at.ravel(), self.worlds * places.cells)
        return np.asarray(found.reshape(*found.shape[:-1], self.worlds, places.cells))

    def laws(self, factors: Factors, h: FloatArray, places: Places) -> FloatArray:
        """p_{k,ω}(c), normalised for each arm and world, (..., K, W, C); ``h`` (..., Z)."""
        found = self.masses(factors, h, places)
        total = found.sum(axis=-1, keepdims=True)
        return np.asarray(np.divide(found, total, out=np.zeros_like(found), where=total > 0))

    def means(self, factors: Factors, h: FloatArray, theta: FloatArray, places: Places) -> FloatArray:
        """μ_k(ω) of draws of h (D, Z) and θ (D, C), (D, K, W); ½ where nothing has weight. Factors may be drawn too."""
        weight = self.weights(factors) * _of_slots(h, places.context_of, self.context)
        valued = weight * _of_slots(theta, places.cell_of, self.outcome)
        total, sums = (self._over_points(factors.arms, part) for part in (weight, valued))
        return np.asarray(np.divide(sums, total, out=np.full(total.shape, 0.5), where=total > 0))

    def _over_points(self, arms: FloatArray, weight: FloatArray) -> FloatArray:
        """Σ_x P_k(v | …) times a weight (D, S, X), summed over each world's slots: (D, K, W)."""
        by_slot = np.moveaxis(weight, 1, 0)
        found = np.zeros((*by_slot.shape[:2], arms.shape[-3]))
        for label in np.unique(self.decision):
            here, law = self.decision == label, arms[..., label, :]
            part = by_slot if here.all() else by_slot[here]
            found[here] = part @ law.T if law.ndim == 2 else np.moveaxis(law @ np.moveaxis(part, 0, -1), -1, 0)
        return sum_by_group(np.moveaxis(found, 0, -1), self.slot_world, self.worlds)


@dataclass(frozen=True, eq=False)
class Places:
    """Where a row of a label and a point belongs: its cell and its context, (P, X) each."""

    cell_of: IntArray
    context_of: IntArray
    cells: int
    contexts: int


def _of_slots(values: FloatArray, at: IntArray, label: IntArray) -> FloatArray:
    """Draws (D, …) at the places (P, X) of each slot's label: (D, S, X), or (D, 1, X) where all have the same."""
    same = bool(len(label)) and bool((label == label[0]).all())
    return np.asarray(values[:, at[label[:1] if same else label]])


def _by_label(factor: FloatArray) -> FloatArray:
    """A factor with the labels first, (P, ..., X)."""
    return np.ascontiguousarray(np.moveaxis(factor, -2, 0))


def _taken(factor: FloatArray, label: IntArray) -> FloatArray:
    """A factor at these labels, (..., Q, X); 1 where it is left out."""
    found = factor[..., np.maximum(label, 0), :]
    if (label == NOT_READ).any():
        found[..., label == NOT_READ, :] = 1.0
    return found
