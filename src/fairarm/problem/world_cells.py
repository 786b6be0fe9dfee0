"""The points of a problem that is not plain: labels, cells and contexts, the factors of every law, and the worlds as sums.

A problem is plain where one attribute without causes is asked about and nothing is kept: worlds are then the groups, and
`shared_cells.py` has it. Here a row's label is a value of every attribute, and what is asked about are worlds (`worlds.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairarm.core.grouping import sum_by_group
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import ProblemError
from fairarm.problem.context import ContextLaw, ContextSample
from fairarm.problem.fairness import require_small
from fairarm.problem.likelihood import at_label
from fairarm.problem.mechanism import Mechanism
from fairarm.problem.own_factors import OwnFactor, label_shares, own_factor
from fairarm.problem.shared_cells import FittedFactor, fitted_factors, free_columns, missing_children
from fairarm.problem.space import CellSpace, check_points
from fairarm.problem.world_laws import Factors, Places, WorldSums
from fairarm.problem.world_terms import EVERYBODY, MadeRows, WorldTerms
from fairarm.problem.worlds import Reading

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class WorldCells(Places):
    """Labels and points of a finite problem, and how every world's law is made of its factors."""

    columns: Mapping[str, IntArray]
    """The code of each column at the cells, (C,) each; the attributes that Y reads among them."""
    arms: FloatArray
    """P_k(v | pa(V)) at labels and points, (K, P, X)."""
    children: tuple[FloatArray, ...]
    """P(x | pa(X)) of the relevant children other than Y, (P, X) each; () where one of them is not declared."""
    own: tuple[OwnFactor, ...]
    law: FloatArray | None
    """h at the contexts, (Z,), where declared; else it is estimated."""
    worlds: WorldSums
    """The problem's worlds, in order; last everybody as they are."""
    labels: WorldSums
    """People of each label as they are."""
    units: WorldSums
    """The rows of each regime."""
    made: tuple[MadeRows, ...]
    """Natural and recruited rows first."""
    people: FloatArray
    """(W, P): 1 where a label is among a world's people."""
    fits: BoolArray
    """Which labels the rows of each regime can have, (R, P)."""
    sampled: IntArray
    """Rows of a context sample by arm, label and point, (K, P, X)."""
    apart: bool
    """A child's mechanism is not declared: every label has a law of contexts of its own."""
    fitted: tuple[FittedFactor, ...]
    fitted_children: tuple[int, ...]
    """The positions among ``children`` of those fitted from rows, in the order of ``fitted`` after the arms'."""

    def expected(self, natural: FloatArray) -> Factors:
        """With every own factor declared, or as natural rows (..., P, X) have it on average."""
        return Factors(self.arms, self.children, tuple(own.expected(natural) for own in self.own))

    def drawn(self, natural: FloatArray, draws: int, rng: np.random.Generator) -> Factors:
        """With every own factor that is not declared, and every fitted table, drawn given natural rows (P, X): (D, …) each."""
        own = tuple(factor.drawn(natural, draws, rng) for factor in self.own)
        arms, children = self.arms, list(self.children)
        after = iter(self.fitted_children)
        for factor in self.fitted:
            ratio = factor.drawn(rng, draws)  # (D, P, X)
            if factor.arm is None:
                j = next(after)
                children[j] = children[j] * ratio
            else:
                arms = np.broadcast_to(arms, (draws, *self.arms.shape)).copy() if arms.ndim == 3 else arms
                arms[:, factor.arm] *= ratio
        return Factors(arms, tuple(children), own)

    def exposure(self, sums: WorldSums, factors: Factors) -> FloatArray:
        """Σ_{x in z} of a label's law without h, (..., K, P, Z): h(z) times this over P(label) is where its rows fall."""
        weight = sums.weights(factors)[..., None, :, :] * factors.arms[..., sums.decision, :]
        at = sums.slot_world[:, None] * self.contexts + self.context_of[sums.context]
        flat = weight.reshape(*weight.shape[:-2], -1)
        found = sum_by_group(flat, at.ravel(), sums.worlds * self.contexts)
        return np.asarray(found.reshape(*found.shape[:-1], sums.worlds, self.contexts))

    def rows_law(self, regime: int, factors: Factors, h: FloatArray) -> FloatArray:
        """P_k(label, x) of the rows of a regime, (..., K, P, X); ``h`` (..., Z). Where no arm and label can give a row: 0."""
        kind = next(kind for kind in self.made if regime in kind.regimes)
        weight = kind.labels.weights(factors) * h[..., self.context_of[kind.labels.context]]
        by_label = sum_by_group(weight.swapaxes(-1, -2), kind.labels.slot_world, len(self.cell_of)).swapaxes(-1, -2)
        if self.apart:  # laws of contexts are each label's own: how many people have it is a factor besides
            by_label = by_label * factors.own[-1]
        joint = factors.arms * (by_label * self.fits[regime][:, None])[..., None, :, :]
        total = joint.sum(axis=(-1, -2), keepdims=True)
        return np.asarray(np.divide(joint, total, out=np.zeros_like(joint), where=total > 0))

    @cached_property
    def certain(self) -> bool:
        """No own factor and no mechanism is learned from rows."""
        return not self.fitted and all(own.declared is not None for own in self.own)

    # ---- where all laws are declared ----

    @property
    def undeclared(self) -> tuple[str, ...]:
        """What is not declared of the laws of attributes and contexts, in words; () where all of it is."""
        lacking = [f"P({', '.join(own.names)})" for own in self.own if own.declared is None]
        return (*lacking, *(["the law of what the arms see (context)"] if self.law is None else []))

    def estimated(self) -> WorldCells:
        """The same with every law of attributes and contexts to be learned from rows, even where it is declared."""
        law = self.law if self.contexts == 1 else None
        return replace(self, law=law, own=tuple(replace(own, declared=None) for own in self.own))

    def with_worlds(self, problem: Problem, readings: Sequence[Reading]) -> WorldSums:
        """Other worlds of the same problem, and last everybody as they are."""
        return WorldTerms(problem).sums([*readings, EVERYBODY])


def world_cells(problem: Problem) -> WorldCells:
    """The points of a problem that is not plain; columns other than Y must be finite."""
    build = WorldTerms(problem)
    if build.apart and build.several:
        raise ProblemError(
            f"The mechanism of '{missing_children(problem)[0]}' is not declared, and with several attributes it is needed. Declare it, or "
            f"fit it from a log."
        )
    if build.apart and build.sets_causes:
        raise ProblemError(
            f"The mechanism of '{missing_children(problem)[0]}' is not declared, and rows in which '{problem.attribute}' was set have another "
            f"law than rows of people of a group. Declare it, fit it from a log, or use regime_kind = 'recruited'."
        )
    space = CellSpace.of(problem.cell_columns, problem.variables)
    P, X = len(problem.groups), space.count
    check_points(problem, X)
    classes = build.outcome_classes()
    cells = X * (int(classes.max()) + 1)
    require_small(problem, cells)
    codes = space.codes()
    declared = problem.context if isinstance(problem.context, ContextLaw) and not build.apart else None
    free = CellSpace.of(declared.variables if declared else free_columns(problem), problem.variables)
    context = free.number(codes) if free.columns else np.zeros(X, dtype=np.int64)
    context_of = context + free.count * np.arange(P)[:, None] * build.apart
    given = [at_label(problem, label, codes, X) for label in range(P)]
    own = tuple(own_factor(problem, block, given, X) for block in problem.roles.blocks)
    children = () if build.apart else tuple(_factor(problem.mechanisms[x], given) for x in build.children)
    factors = tuple(fitted_factors(problem, given, build.apart))
    if build.apart:
        own = (*own, label_shares(problem, X))
    set_by = [build.set_by(r) for r in range(len(problem.regimes))]
    return WorldCells(
        cell_of=classes[:, None] * X + np.arange(X),
        context_of=context_of,
        cells=cells,
        contexts=free.count * (P if build.apart else 1),
        columns=_cell_columns(problem, build, codes, classes),
        arms=np.stack([_factor(arm.mechanism, given) for arm in problem.arms]),
        children=children,
        own=own,
        law=declared.weights.ravel() if declared else None if build.apart or free.columns else np.ones(1),
        worlds=build.sums([*problem.readings, EVERYBODY]),
        labels=build.labels(),
        units=build.units(),
        made=tuple(build.made(kind, set_by) for kind in dict.fromkeys(set_by)),
        people=build.people(problem.readings),
        fits=problem.compiled.regime_fits,
        sampled=_sampled(problem, space),
        apart=build.apart,
        fitted=factors,
        fitted_children=tuple(j for j, x in enumerate(build.children) if not build.apart and x in problem.fitted),
    )


def _factor(mechanism: Mechanism, given: Sequence[Mapping[str, IntArray]]) -> FloatArray:
    """A mechanism at labels and points, (P, X)."""
    return np.exp(np.stack([mechanism.log_prob(columns) for columns in given]))


def _cell_columns(
    problem: Problem, build: WorldTerms, codes: Mapping[str, IntArray], classes: IntArray
) -> dict[str, IntArray]:
    """The columns at the cells, the attributes that Y reads before the others."""
    copies, points = int(classes.max()) + 1, len(next(iter(codes.values())))
    first = [int(np.argmax(classes == i)) for i in range(copies)]
    read = {x: build.codes[first, problem.attributes.index(x)] for x in build.seen_by_outcome}
    return {
        **{name: np.repeat(codes_of, points) for name, codes_of in read.items()},
        **{name: np.tile(column, copies) for name, column in codes.items()},
    }


def _sampled(problem: Problem, space: CellSpace) -> IntArray:
    found = np.zeros((len(problem.arms), len(problem.groups), space.count), dtype=np.int64)
    sample = problem.context
    if isinstance(sample, ContextSample):
        label = problem.compiled.labels(sample.columns)
        np.add.at(found[problem.arm_index(sample.arm)], (label, space.number(sample.columns)), 1)
    return found
