"""The points of a problem that is not plain: labels, cells and contexts, the factors of every law, and the worlds as sums.

A problem is plain where one attribute without causes is asked about and nothing is kept: worlds are then the groups, and
`shared_cells.py` has it. Here a row's label is a value of every attribute, and what is asked about are worlds (`worlds.py`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairarm.core.grouping import sum_by_group
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import ProblemError
from fairarm.problem.attributes import Block
from fairarm.problem.context import ContextLaw, ContextSample
from fairarm.problem.fairness import require_small
from fairarm.problem.likelihood import at_label
from fairarm.problem.mechanism import Mechanism
from fairarm.problem.shared_cells import FittedFactor, fitted_factors, free_columns, missing_children
from fairarm.problem.space import CellSpace, check_points
from fairarm.problem.world_laws import NOT_READ, Factors, Places, Term, WorldSums
from fairarm.problem.worlds import Reading, World

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem

PRIOR_ROWS = 0.5
"""Of each state of a block, for each value of its causes: Jeffreys' prior of a law that is learned from natural rows."""


@dataclass(frozen=True, eq=False)
class OwnFactor:
    """P(a_B | z_B) of a block: the state of each label, and the value of the causes at each label and point."""

    names: tuple[str, ...]
    """The attributes of the block, then ``| causes`` as they are said: for errors."""
    state: IntArray
    """(P,)."""
    causes: IntArray
    """(P, X)."""
    states: int
    configurations: int
    declared: FloatArray | None
    """(configurations, states); None where it is learned from natural rows."""

    def counted(self, natural: FloatArray) -> FloatArray:
        """Natural rows by label and point, (..., P, X), as rows by causes and state, (..., configurations, states)."""
        at = self.causes * self.states + self.state[:, None]
        flat = natural.reshape(*natural.shape[:-2], -1)
        found = sum_by_group(flat, at.ravel(), self.configurations * self.states)
        return found.reshape(*found.shape[:-1], self.configurations, self.states)

    def expected(self, natural: FloatArray) -> FloatArray:
        """The declared law, or its mean given natural rows (..., P, X), at labels and points: (..., P, X)."""
        return self.spread(_normalised(self.counted(natural) + PRIOR_ROWS)) if self.declared is None else self.known()

    def drawn(self, natural: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
        """The declared law, (P, X), or draws of it given natural rows (P, X): Dirichlet(n + ½) for each value of the causes,
        (D, P, X)."""
        if self.declared is not None:
            return self.known()
        rows = self.counted(natural) + PRIOR_ROWS
        return self.spread(_normalised(rng.standard_gamma(rows, (draws, *rows.shape))))

    def known(self) -> FloatArray:
        """The declared law at labels and points, (P, X)."""
        return self.spread(np.zeros((self.configurations, self.states)) if self.declared is None else self.declared)

    def spread(self, table: FloatArray) -> FloatArray:
        """A law by causes and state, (..., configurations, states), at labels and points: (..., P, X)."""
        return np.asarray(table[..., self.causes, self.state[:, None]])


@dataclass(frozen=True, eq=False)
class MadeRows:
    """Regimes whose rows have the same law within each label: natural and recruited ones, or those that set the same attributes."""

    regimes: tuple[int, ...]
    labels: WorldSums
    same: IntArray
    """A number for each label, the same where the attributes that are set have the same states, (P,)."""


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

    @cached_property
    def _known(self) -> Factors:
        return Factors(self.arms, self.children, tuple(own.known() for own in self.own))

    @property
    def _known_law(self) -> FloatArray:
        return np.ones(self.contexts) if self.law is None else self.law

    def known_laws(self, sums: WorldSums) -> FloatArray:
        """p_{k,ω}(c), (K, W, C), by what is declared."""
        return sums.laws(self._known, self._known_law, self)

    @cached_property
    def _known_joint(self) -> FloatArray:
        """P_k(label, x) of natural rows, (K, P, X)."""
        weight = self.labels.weights(self._known) * self._known_law[self.context_of[self.labels.context]]
        by_label = np.zeros((self.labels.worlds, weight.shape[-1]))
        np.add.at(by_label, self.labels.slot_world, weight)
        return np.asarray(self.arms * by_label)

    def known_points(self) -> FloatArray:
        """P(x | arm, label) of natural and recruited rows, (K, P, X), by what is declared; 0 of labels that nobody has."""
        joint = self._known_joint
        total = joint.sum(axis=2, keepdims=True)
        return np.asarray(np.divide(joint, total, out=np.zeros_like(joint), where=total > 0))

    def known_labels(self) -> FloatArray:
        """P(label) of natural and recruited rows in each regime, (R, P), by what is declared."""
        shares = self.fits * self._known_joint[0].sum(axis=1)
        return np.asarray(shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))

    def estimated(self) -> WorldCells:
        """The same with every law of attributes and contexts to be learned from rows, even where it is declared."""
        law = self.law if self.contexts == 1 else None
        return replace(self, law=law, own=tuple(replace(own, declared=None) for own in self.own))

    def with_worlds(self, problem: Problem, readings: Sequence[Reading]) -> WorldSums:
        """Other worlds of the same problem, and last everybody as they are."""
        return _Builder(problem).sums([*readings, _EVERYBODY])


_EVERYBODY = Reading(World((), (), ()), frozenset())


@dataclass(frozen=True)
class _Builder:
    """Turns worlds and regimes of one problem into terms."""

    problem: Problem

    @cached_property
    def codes(self) -> IntArray:
        return self.problem.compiled.profile_codes

    @cached_property
    def position(self) -> dict[tuple[int, ...], int]:
        return {tuple(codes): i for i, codes in enumerate(self.codes.tolist())}

    @cached_property
    def children(self) -> tuple[str, ...]:
        """Relevant children other than V and Y, whose mechanisms count."""
        return tuple(x for x in self.problem.relevant_children if x != self.problem.outcome.node)

    @cached_property
    def apart(self) -> bool:
        """A child's mechanism is not declared: every label has a law of contexts of its own."""
        return bool(missing_children(self.problem))

    def fits(self, evidence: Sequence[tuple[str, str]]) -> list[int]:
        """The labels with these states."""
        wanted = self._coded(evidence)
        return [i for i, codes in enumerate(self.codes.tolist()) if all(codes[j] == code for j, code in wanted)]

    def moved(self, label: int, read: Sequence[tuple[str, str]]) -> int:
        """The label with these states instead."""
        codes = self.codes[label].tolist()
        for j, code in self._coded(read):
            codes[j] = code
        return self.position[tuple(codes)]

    def _coded(self, states: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
        problem = self.problem
        return [(problem.attributes.index(name), problem.variables[name].code(state)) for name, state in states]

    def sums(self, readings: Sequence[Reading]) -> WorldSums:
        """Worlds, by their readings."""
        terms = [term for w, reading in enumerate(readings) for term in self._terms(w, reading)]
        return self._summed(terms, len(readings))

    def _terms(self, world: int, reading: Reading) -> Iterator[Term]:
        read, other = reading.world.read, reading.counterfactual
        if not read:
            for label in self.fits(reading.world.people):
                yield from self._factual(world, label, ())
            return
        moves = self.apart and self._context_moves(reading)
        for label in self.fits(reading.world.people):
            to = self.moved(label, read)
            own = tuple(to if other.intersection(block.members) else label for block in self.problem.roles.blocks)
            if self.apart:  # people's own law of contexts says all about theirs, but for how many they are
                own = (*own, NOT_READ) if moves else (*self._none[:-1], label)
            yield Term(
                world,
                decision=to if self.problem.decision in other else label,
                outcome=to,
                context=to if moves else label,
                children=() if self.apart else tuple(to if x in other else label for x in self.children),
                own=own,
                # another group's law of contexts becomes people's by P(u | z) / P(t | z)
                over=(to,) * (len(own) - 1) + (NOT_READ,) if moves else (),
            )

    @property
    def _none(self) -> tuple[int, ...]:
        return (NOT_READ,) * (len(self.problem.roles.blocks) + self.apart)

    def _context_moves(self, reading: Reading) -> bool:
        """Whether rows of the group that is read stand for people's, where a child's mechanism is not declared."""
        if not reading.world.read or not reading.counterfactual.intersection(self.children):
            return False
        if not self.needs_children(reading):
            return True
        raise ProblemError(
            f"The mechanism of '{missing_children(self.problem)[0]}' is not declared, and what is asked about needs it: with "
            f"{_listed(reading.world.keep) or 'several attributes'} kept, rows of one group do not stand for another's. Declare it, or fit "
            f"it from a log."
        )

    def needs_children(self, reading: Reading) -> bool:
        """Whether a world cannot be told from rows of one group: some children read another value than the label, not all of them."""
        changed = reading.counterfactual.intersection(self.children) if reading.world.read else frozenset()
        return bool(changed) and (len(changed) < len(self.children) or bool(reading.world.keep) or self.several)

    @property
    def several(self) -> bool:
        """There is more than one attribute."""
        return len(self.problem.attributes) > 1

    @property
    def sets_causes(self) -> bool:
        """Rows in which an attribute was set have another law than people of its groups."""
        return self.problem.regime_kind == "set" and any(block.causes for block in self.problem.roles.blocks)

    def labels(self, without: tuple[int, ...] = ()) -> WorldSums:
        """People of each label as they are; ``without``: rows in which these attributes, by position, were set, so that their own
        law is left out, or summed over them where they are in a block."""
        terms = [term for label in range(len(self.codes)) for term in self._factual(label, label, without)]
        if self.apart:  # a label's law of contexts is that of its own people: how many there are does not matter
            terms = [replace(term, own=self._none) for term in terms]
        return self._summed(terms, len(self.codes))

    def made(self, kind: tuple[int, ...], set_by: Sequence[tuple[int, ...]]) -> MadeRows:
        """The regimes that set these attributes, by position."""
        same = np.array(self._first(tuple(self.problem.attributes[j] for j in kind)))
        return MadeRows(tuple(r for r, each in enumerate(set_by) if each == kind), self.labels(kind), same)

    def people(self, readings: Sequence[Reading]) -> FloatArray:
        """(W, P): 1 where a label is among a world's people."""
        found = np.zeros((len(readings), len(self.codes)))
        for w, reading in enumerate(readings):
            found[w, self.fits(reading.world.people)] = 1.0
        return found

    def units(self) -> WorldSums:
        """The rows of each regime: natural, recruited or set."""
        fits = self.problem.compiled.regime_fits
        labels = [
            (r, label, self.set_by(r)) for r, fitting in enumerate(fits) for label in np.flatnonzero(fitting).tolist()
        ]
        return self._summed([term for at in labels for term in self._factual(*at)], len(fits))

    def set_by(self, regime: int) -> tuple[int, ...]:
        """The attributes that a regime sets, by position; () of natural and recruited rows."""
        if self.problem.regime_kind != "set" or regime == 0:
            return ()
        fits = self.codes[self.problem.compiled.regime_fits[regime]]
        return tuple(j for j in range(fits.shape[1]) if len({*fits[:, j].tolist()}) < len({*self.codes[:, j].tolist()}))

    def _factual(self, world: int, label: int, without: tuple[int, ...]) -> Iterator[Term]:
        children = () if self.apart else (label,) * len(self.children)
        if self.apart:
            yield Term(world, label, label, label, children, (*self._none[:-1], label))
            return
        ways = [self._own_labels(block, label, without) for block in self.problem.roles.blocks]
        for own in itertools.product(*ways):
            yield Term(world, label, label, label, children, own)

    def _own_labels(self, block: Block, label: int, without: tuple[int, ...]) -> list[int]:
        """The labels at which a block's own factor is summed, where some of its members were set."""
        were_set = [x for x in block.members if self.problem.attributes.index(x) in without]
        if not were_set:
            return [label]
        if len(were_set) == len(block.members):
            return [NOT_READ]
        self._refuse_acting(block, were_set)
        states = ([(x, state) for state in self.problem.variables[x].states or ()] for x in were_set)
        return [self.moved(label, each) for each in itertools.product(*states)]

    def _refuse_acting(self, block: Block, were_set: Sequence[str]) -> None:
        """The law of the rest of a block, where some of it was set, follows from natural rows only if what was set does not act on it."""
        graph, rest = self.problem.roles.graph, {*block.members} - {*were_set}
        for name in were_set:
            if acted := sorted(rest & graph.descendants(name)):
                raise ProblemError(
                    f"'{name}' acts on '{acted[0]}' and shares a hidden cause with it: rows in which '{name}' was set do not follow from "
                    f"natural ones. Use regime_kind = 'recruited', or set both (regimes)."
                )

    def _summed(self, terms: list[Term], worlds: int) -> WorldSums:
        return WorldSums.of(
            terms, worlds, self._first(self.seen_by_decision), self._first(self.seen_by_outcome), self.contexts
        )

    @cached_property
    def contexts(self) -> list[int]:
        """For each label the first that has the same law of contexts."""
        return list(range(len(self.codes))) if self.apart else [0] * len(self.codes)

    @cached_property
    def seen_by_decision(self) -> tuple[str, ...]:
        """Attributes that arms look at."""
        return tuple(x for x in self.problem.attributes if x in self.problem.roles.decision_parents)

    @cached_property
    def seen_by_outcome(self) -> tuple[str, ...]:
        """Attributes with an edge to Y."""
        parents = self.problem.roles.graph.parents(self.problem.outcome.node)
        return tuple(x for x in self.problem.attributes if x in parents)

    def _first(self, attributes: tuple[str, ...]) -> list[int]:
        """For each label the first one with the same states of these attributes."""
        at = [self.problem.attributes.index(x) for x in attributes]
        first: dict[tuple[int, ...], int] = {}
        return [first.setdefault(tuple(codes[j] for j in at), i) for i, codes in enumerate(self.codes.tolist())]

    def outcome_classes(self) -> IntArray:
        """Of each label: a number, the same where Y reads the same, (P,)."""
        found = self._first(self.seen_by_outcome)
        order = {label: i for i, label in enumerate(dict.fromkeys(found))}
        return np.array([order[label] for label in found])


def needs_children(problem: Problem) -> bool:
    """Whether mechanisms of children that are not declared must be: what is asked cannot be told from rows of one group each."""
    build = _Builder(problem)
    if problem.plain or not build.apart:
        return False
    return build.several or build.sets_causes or any(map(build.needs_children, problem.readings))


def can_be_told(problem: Problem, reading: Reading) -> bool:
    """Whether the mean of another world than those asked about can be told by what is declared."""
    build = _Builder(problem)
    return not build.apart or not build.needs_children(reading)


def world_cells(problem: Problem) -> WorldCells:
    """The points of a problem that is not plain; columns other than Y must be finite."""
    build = _Builder(problem)
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
    own = tuple(_own_factor(problem, block, given, X) for block in problem.roles.blocks)
    children = () if build.apart else tuple(_factor(problem.mechanisms[x], given) for x in build.children)
    factors = tuple(fitted_factors(problem, given, build.apart))
    if build.apart:
        own = (*own, _label_shares(problem, X))
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
        worlds=build.sums([*problem.readings, _EVERYBODY]),
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


def _own_factor(problem: Problem, block: Block, given: Sequence[Mapping[str, IntArray]], points: int) -> OwnFactor:
    states, causes = (CellSpace.of(names, problem.variables) for names in (block.members, block.causes))
    at = np.stack([causes.number(columns) if causes.columns else np.zeros(points, dtype=np.int64) for columns in given])
    state = np.array([states.number({name: columns[name][:1] for name in block.members})[0] for columns in given])
    declared = problem.own_factor(block)
    table = None
    if declared is not None:
        order = [
            *(declared.parents.index(name) for name in block.causes),
            *range(len(block.causes), declared.probabilities.ndim),
        ]
        table = declared.probabilities.transpose(order).reshape(causes.count, states.count)
    return OwnFactor(_said(block), state, at, states.count, causes.count, table)


def _said(block: Block) -> tuple[str, ...]:
    """ "race | region" of an attribute with a cause."""
    causes = f" | {', '.join(block.causes)}" if block.causes else ""
    return (*block.members[:-1], block.members[-1] + causes)


def _label_shares(problem: Problem, points: int) -> OwnFactor:
    """P(label), where labels have laws of contexts of their own."""
    P = len(problem.groups)
    declared = None if problem.shares is None else np.array(problem.shares)[None]
    return OwnFactor(problem.attributes, np.arange(P), np.zeros((P, points), dtype=np.int64), P, 1, declared)


def _cell_columns(
    problem: Problem, build: _Builder, codes: Mapping[str, IntArray], classes: IntArray
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


def _normalised(rows: FloatArray) -> FloatArray:
    """Each row of the last axis over its sum; a sum that is 0 by rounding leaves it 0."""
    return np.asarray(rows / np.maximum(rows.sum(axis=-1, keepdims=True), np.finfo(np.float64).tiny))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
