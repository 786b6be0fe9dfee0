"""Is the declared law the one that makes the rows? E-values of counts against it (docs/certified.md, part 4).

A *test* compares rows, counted into *atoms*, with the probabilities that the declared law gives them. Its e-value is what a
bettor has who starts with 1, knows nothing but which atoms there are, and learns from the rows: under the declared law it is
not expected to grow, whatever plan chose the pulls. The plain average of all e-values is then such a wealth too: it
reaches 10^4 with probability at most 10^-4, and the run is *void* once it does.

Where the law of contexts is known, an atom is a cell, a decision or a context of one arm and group. Where it is not, atoms
are the values of a node given its parents: one *block* per combination of the parents' values.

Shapes: N replicates, K arms, G groups, C cells; M tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fairarm.core.special import log_gamma
from fairarm.core.types import BoolArray, FloatArray, IntArray

PRIOR = 0.5
"""Of each atom, in the Dirichlet law that the bettor starts from (Krichevsky and Trofimov 1981)."""

LOG_VOID = math.log(1e4)
"""A right law is called wrong, ever, with probability at most 10^-4."""


class Margin(StrEnum):
    """What of the rows a test counts."""

    CELL = "cell"
    """All columns."""
    DECISION = "decision"
    CONTEXT = "context"
    CHILD = "child"
    SHARES = "shares"
    """The groups of natural rows."""


@dataclass(frozen=True)
class About:
    """What one e-value is about: the arm and group whose rows it counts, None where it is all of them."""

    margin: Margin
    arm: int | None = None
    group: int | None = None
    node: int | None = None
    """Which of the nodes that are tested given their parents."""


@dataclass(frozen=True, eq=False)
class Given:
    """P(value | parents): ``value`` (C,) and ``config`` (K, C) are what each cell has, ``p`` (K, G, C) the probability."""

    value: IntArray
    config: IntArray
    p: FloatArray


@dataclass(frozen=True, eq=False)
class LawTests:
    """M tests as one list of atoms, sorted by block and test. Counts are one list too: (K · G · C) cells, then G groups."""

    about: tuple[About, ...]
    source: IntArray
    """Entries of the counts, sorted by the atom that they are counted in."""
    atoms: IntArray
    blocks: IntArray
    tests: IntArray
    """Where each atom begins in ``source``, each block among the atoms, each test among the blocks."""
    log_p: FloatArray
    """Of each atom."""
    states: FloatArray
    """C_b: the possible atoms of each block."""
    sums: tuple[IntArray, ...]
    """Further tests, last in ``about``: products of the e-values of these tests."""
    fits: BoolArray | None = None
    """(R, G): the groups that rows of a regime can be of; None where it is all in the first, and one in each other."""

    @property
    def log_least(self) -> float:
        """What one e-value alone must reach for the average to be at 10^4."""
        return LOG_VOID + math.log(max(len(self.about), 1))

    def log_values(self, cells: FloatArray, natural: FloatArray) -> FloatArray:
        """log e of each test, (N, M), after rows by arm, group and cell (N, K, G, C) and natural rows by group (N, G)."""
        n, total = self._counted(cells, natural)
        expected = np.multiply(n, self.log_p, where=n > 0, out=np.zeros_like(n))  # −inf where the law says impossible
        seen = np.add.reduceat(log_gamma(n + PRIOR) - math.lgamma(PRIOR) - expected, self.blocks, axis=1)
        by_block = seen + log_gamma(PRIOR * self.states) - log_gamma(total + PRIOR * self.states)  # (L1)
        return self._with_sums(np.add.reduceat(by_block, self.tests, axis=1))

    def log_lost(self, cells: FloatArray, natural: FloatArray, lost: IntArray) -> FloatArray:
        """What rows that were lost can have taken from log e at most, (N, M), 0 or less.

        ``lost`` (N, R, K) rows of a batch by regime and arm; ``cells`` and ``natural`` are counts with what came of it. A natural
        row may be of any group, and counts as lost in all.
        """
        if not self.about:
            return np.zeros((len(cells), 0))
        n, total = self._counted(cells, natural)
        missing = np.stack([self._missing(about, lost) for about in self.about[: len(self.tests)]], axis=1)
        first = self.blocks[self.tests]  # atom of each test
        of_atom = np.repeat(missing, np.diff(first, append=len(self.log_p)), axis=1)
        block = np.repeat(np.arange(len(self.blocks)), np.diff(self.blocks, append=len(self.log_p)))
        after = total[:, block] + of_atom + PRIOR * self.states[block]
        log_share = np.where(np.isfinite(self.log_p), np.log(n + PRIOR) - np.log(after) - self.log_p, np.inf)
        worst = np.minimum.reduceat(log_share, first, axis=1)
        return self._with_sums(np.asarray(missing * worst, dtype=np.float64))  # (L3)

    def _missing(self, about: About, lost: IntArray) -> IntArray:
        """Rows of ``lost`` that this test may have counted, (N,)."""
        if about.margin == Margin.SHARES:
            return np.asarray(lost[:, 0].sum(axis=1))
        arms = lost if about.arm is None else lost[:, :, [about.arm]]
        by_regime = arms.sum(axis=2)
        if about.group is None:
            return np.asarray(by_regime.sum(axis=1))
        if self.fits is not None:
            return np.asarray(by_regime[:, self.fits[:, about.group]].sum(axis=1))
        return np.asarray(by_regime[:, 0] + by_regime[:, 1 + about.group])

    def _counted(self, cells: FloatArray, natural: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rows of each atom and of each block."""
        flat = np.concatenate([cells.reshape(len(cells), -1), natural], axis=1).astype(np.float64)
        n = np.add.reduceat(flat[:, self.source], self.atoms, axis=1)
        return n, np.add.reduceat(n, self.blocks, axis=1)

    def _with_sums(self, own: FloatArray) -> FloatArray:
        return np.concatenate([own, *(own[:, each].sum(axis=1, keepdims=True) for each in self.sums)], axis=1)


def log_average(log_values: FloatArray) -> FloatArray:
    """log of the plain average of the M e-values, (N,): an e-value itself (Vovk and Wang 2021), with nothing to pay for their number."""
    if not log_values.shape[1]:
        return np.zeros(len(log_values))  # nothing to test
    return np.asarray(np.logaddexp.reduce(log_values, axis=1) - math.log(log_values.shape[1]))  # (L2)


def is_void(log_values: FloatArray) -> BoolArray:
    """Whether the rows have shown that the declared law is not theirs, (N,)."""
    return np.asarray(log_average(log_values) >= LOG_VOID)  # (L2)


# ---- which tests there are ----


def known_law_tests(law: FloatArray, decision: IntArray, context: IntArray, shares: FloatArray | None) -> LawTests:
    """Of a law p_{k,t}(c) (K, G, C) that is known: each arm's and group's cells, decisions and contexts, the first two over all
    arms and groups, all contexts together where every arm and group has one law of them, and P(S) (G,) where it is declared.

    ``decision`` and ``context``, (C,), say what each cell has.
    """
    made = _Made(law.shape)
    labels = {Margin.DECISION: decision, Margin.CONTEXT: context, Margin.CELL: np.arange(law.shape[2])}
    by_margin: dict[Margin, list[int]] = {margin: [] for margin in labels}
    for k, t in np.ndindex(law.shape[:2]):
        for margin, label in labels.items():
            by_margin[margin] += made.add(About(margin, k, t), made.at(k, t), np.zeros_like(label), label, law[k, t])
    margins = np.stack([np.bincount(context, row) for row in law.reshape(-1, law.shape[2])])
    if np.allclose(margins, margins[0], rtol=0, atol=1e-12):
        label, p = (np.tile(part, len(margins)) for part in (context, law[0, 0]))
        made.add(About(Margin.CONTEXT), np.arange(law.size), np.zeros_like(label), label, p / len(margins))
    return made.closed(shares, [(margin, by_margin[margin]) for margin in (Margin.DECISION, Margin.CELL)])


def given_parents_tests(nodes: Sequence[Given], shares: FloatArray | None) -> LawTests:
    """Of the law of a decision (the first of ``nodes``) and of children given their parents, where the law of contexts is not
    known: for each arm and group; the decisions over all of these; each child in a group, whatever the arm; and P(S)."""
    made = _Made(nodes[0].p.shape)
    arms, groups, _ = nodes[0].p.shape
    decisions: list[int] = []
    for i, node in enumerate(nodes):
        margin = Margin.DECISION if i == 0 else Margin.CHILD
        for k, t in np.ndindex(arms, groups):
            found = made.add(
                About(margin, k, t, i), made.at(k, t), node.config[k], node.value, node.p[k, t], given=True
            )
            decisions += found if i == 0 else []
        for t in range(groups) if i else ():
            at = np.concatenate([made.at(k, t) for k in range(arms)])
            value = np.tile(node.value, arms)
            made.add(About(margin, None, t, i), at, node.config.ravel(), value, node.p[:, t].ravel(), given=True)
    return made.closed(shares, [(Margin.DECISION, decisions)])


@dataclass(frozen=True, eq=False)
class _One:
    """One test: ``source`` and the atom of each, (I,); ``p`` and the block of each atom, (A,), sorted by block."""

    source: IntArray
    atom: IntArray
    p: FloatArray
    block: IntArray


class _Made:
    """Tests as they are listed: those that say the same of the same rows once."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.about: list[About] = []
        self.tests: list[_One] = []
        self._known: dict[tuple[bytes, bytes], int] = {}

    def at(self, arm: int, group: int) -> IntArray:
        """The entries of an arm and a group among the counts."""
        _, groups, cells = self.shape
        return np.arange(cells) + (arm * groups + group) * cells

    def add(
        self, about: About, source: IntArray, config: IntArray, value: IntArray, p: FloatArray, given: bool = False
    ) -> list[int]:
        """The position of the test of ``value`` within each ``config``, in a list; an empty one where it has nothing to test.

        ``p`` of each entry is added up over the entries of an atom; where it is of the value ``given`` the config, it is that
        of the atom already.
        """
        _, first, atom = np.unique(config * (value.max() + 1) + value, return_index=True, return_inverse=True)
        of_atom = np.asarray(p[first] if given else np.bincount(atom, p), dtype=np.float64)
        one = _One(source, atom, of_atom, np.unique(config[first], return_inverse=True)[1])
        if np.bincount(one.block, of_atom > 0).max() < 2:
            return []
        possible = p > 0
        key = (source[possible].tobytes(), _in_order(atom[possible]).tobytes())
        if not given and key in self._known:
            return [self._known[key]]
        self._known[key] = len(self.tests)
        self.about.append(about)
        self.tests.append(one)
        return [len(self.tests) - 1]

    def closed(self, shares: FloatArray | None, sums: list[tuple[Margin, list[int]]]) -> LawTests:
        """All of them, with P(S) and with the products of the tests in ``sums``."""
        if shares is not None:
            groups = np.arange(len(shares))
            self.add(About(Margin.SHARES), math.prod(self.shape) + groups, np.zeros_like(groups), groups, shares)
        several: dict[tuple[int, ...], Margin] = {}
        for margin, members in sums:
            if len(set(members)) > 1:
                several.setdefault(tuple(sorted(set(members))), margin)
        return LawTests(
            about=(*self.about, *(About(margin) for margin in several.values())),
            source=_joined(one.source[np.argsort(one.atom, kind="stable")] for one in self.tests).astype(np.int64),
            atoms=_starts(np.bincount(one.atom) for one in self.tests),
            blocks=_starts(np.bincount(one.block) for one in self.tests),
            tests=_starts(np.array([one.block.max() + 1]) for one in self.tests),
            log_p=_log(_joined(one.p for one in self.tests)),
            states=_joined(np.bincount(one.block, one.p > 0).astype(np.float64) for one in self.tests),
            sums=tuple(np.array(members) for members in several),
        )


def _in_order(label: IntArray) -> IntArray:
    """The same labels by the order in which they first come: equal where two label the same entries alike."""
    _, first, at = np.unique(label, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[at])


def _joined(parts: Iterable[FloatArray | IntArray]) -> FloatArray:
    return np.concatenate([np.zeros(0), *parts])


def _starts(sizes: Iterable[IntArray]) -> IntArray:
    every = np.concatenate([np.zeros(0, dtype=np.int64), *sizes])
    return np.asarray(np.cumsum(every) - every)


def _log(p: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))
