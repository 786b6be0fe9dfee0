"""The tests of what a problem declares, for its rows as they come: which there are, and what each means if it fails."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairarm.beliefs.evidence import Evidence
from fairarm.beliefs.findings import Finding
from fairarm.beliefs.known_worlds import KnownWorlds
from fairarm.beliefs.row_kinds import RowKinds
from fairarm.core.grouping import sum_by_group
from fairarm.core.proof.law_test import About, Given, LawTests, Margin, given_parents_tests, is_void, known_law_tests
from fairarm.core.proof.least_error import least_error
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.likelihood import at_label
from fairarm.problem.mechanism import Mechanism
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import SharedCells
from fairarm.problem.space import CellSpace
from fairarm.problem.world_cells import WorldCells

EXAMPLES = 5
"""Arms and groups that a finding lists at most."""

NOT_THE_LAW = "rows-do-not-fit-the-law"
"""The finding that voids a certified run for good."""


@dataclass(frozen=True)
class LawRows:
    """The rows that a law was tested with, of n replicates: those of whole batches, settled in order."""

    tested: IntArray
    """By arm, group and cell, (n, K, G, X)."""
    charged: FloatArray
    """What rows that were lost have taken from each test's log e at most, (n, M)."""
    voided: IntArray
    """(n,): the test that showed the law to be wrong, for good; −1 where none has."""

    @classmethod
    def none(cls, n: int) -> LawRows:
        """Of n replicates whose law is not tested."""
        empty = np.zeros((n, 0))
        return cls(empty.astype(np.int64), empty, np.full(n, -1))


@dataclass(frozen=True, eq=False)
class DeclaredLaw:
    """What is declared of the cells of a finite problem; ``estimated``: neither P(S) nor the law of contexts is used."""

    problem: Problem
    estimated: bool = False

    @cached_property
    def tests(self) -> LawTests:
        """Of cells, decisions and contexts; where the law of contexts is not used, of nodes given their parents.

        What natural rows say of P(attribute | causes) is in the shares of the labels, and in the contexts of each.
        """
        if self._law is None:
            made = given_parents_tests(self._nodes, self._shares)
        else:
            made = known_law_tests(self._law, self._decision, self._cells.context_of[0], self._shares)
        return made if self._worlds is None else replace(made, fits=self.kinds.fits)

    @cached_property
    def _worlds(self) -> KnownWorlds | None:
        """Of a problem that is not plain: nothing is lacking there."""
        return None if self.problem.plain else KnownWorlds(self.problem)

    @cached_property
    def kinds(self) -> RowKinds:
        """What rows are counted by: their groups, or labels."""
        return RowKinds.of(self.problem)

    @cached_property
    def _cells(self) -> SharedCells | WorldCells:
        return self.problem.compiled.shared_cells.apart() if self._worlds is None else self._worlds.cells

    @property
    def _shares(self) -> FloatArray | None:
        if self._worlds is not None:
            return self._worlds.shares
        return None if self.estimated or self.problem.shares is None else np.array(self.problem.shares)

    @cached_property
    def _codes(self) -> dict[str, IntArray]:
        """What each cell has, by column."""
        return CellSpace.of(self.problem.cell_columns, self.problem.variables).codes()

    @property
    def _decision(self) -> IntArray:
        return self._codes[self.problem.decision]

    @cached_property
    def _law(self) -> FloatArray | None:
        """p_{k,t}(x), (K, G, X); None where the law of contexts is not known."""
        if self._worlds is not None:
            return self._worlds.by_point
        cells = self.problem.compiled.shared_cells.apart()
        if cells.law is None or (self.estimated and cells.contexts > 1):
            return None
        law = cells.law_of_cells(cells.law[None])[0]
        return np.stack([law[:, t, at] for t, at in enumerate(cells.cell_of)], axis=1)

    @cached_property
    def _children(self) -> tuple[str, ...]:
        problem = self.problem
        return tuple(x for x in problem.relevant_children if x in problem.mechanisms and x != problem.outcome.node)

    @cached_property
    def _nodes(self) -> list[Given]:
        """The decision, then the children of S that are declared."""
        arms = [arm.mechanism for arm in self.problem.arms]
        every = [arms, *([self.problem.mechanisms[x]] * len(arms) for x in self._children)]
        return [self._given(mechanisms) for mechanisms in every]

    def _given(self, by_arm: list[Mechanism]) -> Given:
        configs = [self._config(mechanism) for mechanism in by_arm]
        p = [self._probability(mechanism) for mechanism in by_arm]
        return Given(self._codes[by_arm[0].node], np.stack(configs), np.stack(p))

    def _config(self, mechanism: Mechanism) -> IntArray:
        """What its parents are in each cell; attributes, which are the group, are none of it."""
        parents = tuple(name for name in mechanism.parents if name not in self.problem.attributes)
        return CellSpace.of(parents, self.problem.variables).number(self._codes)

    def _probability(self, mechanism: Mechanism) -> FloatArray:
        """Of what each cell has, in each group, (G, X)."""
        every = range(len(self.problem.groups))
        groups = (at_label(self.problem, label, self._codes, len(self._decision)) for label in every)
        return np.exp(np.stack([mechanism.log_prob(columns) for columns in groups]))

    # ---- as rows come ----

    def start(self, n: int) -> LawRows:
        """Before the first row."""
        shape = (n, len(self.problem.arms), self.kinds.places, len(self._decision))
        return LawRows(np.zeros(shape, dtype=np.int64), np.zeros((n, len(self.tests.about))), np.full(n, -1))

    def after(self, before: LawRows, batch: Evidence, natural: FloatArray, lost: IntArray | None = None) -> LawRows:
        """After a whole batch; ``natural`` (N, G) are all natural rows so far, ``lost`` (N, R, K) rows of it that never came."""
        tested, charged = before.tested + self.kinds.by_point(batch), before.charged
        cells = tested.astype(np.float64)
        if lost is not None:
            charged = charged + self.tests.log_lost(cells, natural, lost)
        values = self.tests.log_values(cells, natural) + charged
        if not values.shape[1]:
            return LawRows(tested, charged, before.voided)
        voided = np.where(is_void(values) & (before.voided < 0), values.argmax(axis=1), before.voided)
        return LawRows(tested, charged, voided)

    # ---- what is said ----

    def least_errors(self, rows: IntArray) -> FloatArray:
        """The least error in an arm's decisions that would have shown by now, (K, G), after rows (K, G, X); nan: none."""
        shape = rows.shape[:2]
        decisions = self.problem.variables[self.problem.decision].size
        if self._law is not None:
            p = sum_by_group(self._law, self._decision, decisions)[:, :, None]
            tested = rows.sum(axis=2, keepdims=True)
        else:
            node = self._nodes[0]
            configs = int(node.config.max()) + 1
            p, tested = np.zeros((*shape, configs, decisions)), np.zeros((*shape, configs))
            for k, t in np.ndindex(shape):
                p[k, t, node.config[k], node.value] = node.p[k, t]
                np.add.at(tested[k, t], node.config[k], rows[k, t])
        return np.asarray(least_error(p, tested[None].astype(np.float64), self.tests.log_least)[0])

    def finding(self, test: int, rows: IntArray) -> Finding:
        """What it means that the test at this position failed, after rows (K, G, X)."""
        about = self.tests.about[test]
        what = f"{self._what(about)} do not follow what is declared"
        text = f"{what}: nothing is certified in this run, whatever comes. Correct {self._source(about)}, and start a new run."
        counted = rows[slice(None) if about.arm is None else about.arm]
        counted = counted if about.group is None else counted[..., about.group, :]
        return Finding(NOT_THE_LAW, text, int(counted.sum()), self._worst(rows))

    def _worst(self, rows: IntArray) -> tuple[str, ...]:
        """The arms and groups whose own rows speak most against the law, where they do by a factor of 10 or more."""
        values = self.tests.log_values(rows[None].astype(np.float64), np.zeros((1, rows.shape[1])))[0]
        order = [m for m in np.argsort(-values, kind="stable") if values[m] >= math.log(10) and self.tests.about[m].arm is not None]  # fmt: skip
        own = dict.fromkeys((self.tests.about[m].arm, self.tests.about[m].group) for m in order)
        return tuple(f"{self.problem.arm_names[k or 0]}, {self.kinds.names[t or 0]}" for k, t in list(own)[:EXAMPLES])

    def _what(self, about: About) -> str:
        rows = self._whose(about)
        match about.margin:
            case Margin.SHARES:
                return "The groups' shares of the natural rows"
            case Margin.DECISION:
                return f"The decisions in {rows}"
            case Margin.CONTEXT:
                return f"The contexts in {rows}"
            case Margin.CHILD:
                return f"The values of '{self._children[(about.node or 1) - 1]}' in {rows}"
            case _:
                return f"The combinations of {', '.join(self.problem.cell_columns)} in {rows}"

    def _whose(self, about: About) -> str:
        of_arm = "all arms" if about.arm is None else f"arm '{self.problem.arm_names[about.arm]}'"
        return f"the rows of {of_arm}" + ("" if about.group is None else f" in group '{self.kinds.names[about.group]}'")

    def _source(self, about: About) -> str:
        if not self.problem.plain and about.margin != Margin.DECISION:
            return self._source_of_worlds(about)
        match about.margin:
            case Margin.SHARES:
                return "problem.shares, or use law=estimated"
            case Margin.DECISION:
                return "the arm's mechanism" if about.arm is not None else "the arms' mechanisms"
            case Margin.CONTEXT:
                return "problem.context, or use law=estimated"
            case Margin.CHILD:
                return "its mechanism, or leave it out"
            case _:
                return "the mechanisms or problem.context"

    def _source_of_worlds(self, about: About) -> str:
        """Where attributes have causes the law of contexts in a group rests on P(attribute | causes) too."""
        with_causes = [block for block in self.problem.roles.blocks if block.causes]
        own = [f"P({', '.join(block.members)} | {', '.join(block.causes)})" for block in with_causes]
        match about.margin:
            case Margin.SHARES:
                return " or ".join(["the shares", *own, *(["problem.context"] if own else [])])
            case Margin.CONTEXT:
                return " or ".join(["problem.context", *own])
            case Margin.CHILD:
                return "its mechanism"
            case _:
                return " or ".join(["the mechanisms", "problem.context", *own])
