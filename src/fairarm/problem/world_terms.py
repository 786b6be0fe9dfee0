"""Worlds, labels and regimes of one problem as terms: the label at which each factor of a law is taken (`world_laws.py`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import ProblemError
from fairarm.problem.attributes import Block
from fairarm.problem.shared_cells import missing_children
from fairarm.problem.world_laws import NOT_READ, Term, WorldSums
from fairarm.problem.worlds import AS_IT_IS, Reading

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem

EVERYBODY = Reading(AS_IT_IS, frozenset())
"""Nobody is read otherwise: the outcome itself."""


@dataclass(frozen=True, eq=False)
class MadeRows:
    """Regimes whose rows have the same law within each label: natural and recruited ones, or those that set the same attributes."""

    regimes: tuple[int, ...]
    labels: WorldSums
    same: IntArray
    """A number for each label, the same where the attributes that are set have the same states, (P,)."""


@dataclass(frozen=True)
class WorldTerms:
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
    build = WorldTerms(problem)
    if problem.plain or not build.apart:
        return False
    return build.several or build.sets_causes or any(map(build.needs_children, problem.readings))


def can_be_told(problem: Problem, reading: Reading) -> bool:
    """Whether the mean of another world than those asked about can be told by what is declared."""
    build = WorldTerms(problem)
    return not build.apart or not build.needs_children(reading)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
