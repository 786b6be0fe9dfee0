"""Two groups of an arm beside each other, for every pair that is compared: the causal gap, the plain one, and what they are made of.

    gap = μ(t|u) − μ(u|u)    plain = μ(t|t) − μ(u|u) = direct − indirect − spurious
    direct = μ(t,u,M) − μ(u|u)    indirect = μ(t,u,M) − μ(t|u)    spurious = μ(t|u) − μ(t|t)

μ(t|u): people of u as if they were of t, with whatever the question keeps. M: the mediators, all kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.beliefs import Beliefs
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.worlds import WorldBeliefs
from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.experiments.usual import DRAWS
from fairarm.problem.fairness import Row, pair_names
from fairarm.problem.problem import Problem
from fairarm.problem.regimes import values_of_regime
from fairarm.problem.world_cells import can_be_told
from fairarm.problem.worlds import Profile, Reading, World, group_name, mediators, normal_form, reading_of

MOST_PAIRS = 380
"""Ordered pairs that are shown: those of 20 groups, the most that a question compares."""


@dataclass(frozen=True)
class PairGap:
    """Two groups t and u of an arm, keyed "t|u": what people of u would get as if they were of t, less what they get."""

    gap: float | None
    plain: float | None
    """What people of t get, less what people of u get: the same where nothing causes the sensitive attribute and nothing is kept."""


@dataclass(frozen=True)
class PairParts(PairGap):
    """The same where attributes have causes, nodes are kept, or there are several: with the parts of the plain gap.

    None where rows cannot tell, whatever their number.
    """

    direct: float | None
    indirect: float | None
    spurious: float | None


def pair_gaps(problem: Problem, gaps: FloatArray) -> dict[str, PairGap]:
    """Of a plain problem: from μ(t) − μ(u) of an arm in the outcome's units, (P,), in the order of ``problem.compared``."""
    return {name: PairGap(gap, gap) for name, gap in zip(pair_names(problem), (gaps + 0.0).tolist(), strict=True)}


# ---- where means are those of worlds ----


@dataclass(frozen=True)
class Pair:
    """An ordered pair (t, u) and the worlds that it is made of."""

    name: str
    people: tuple[Profile, Profile]
    """t, u."""
    asked: World
    """(t|u) with what the question keeps."""
    total: World
    """(t|u), nothing kept."""
    direct: World
    """(t|u), all mediators kept."""
    own: World
    """(u|u)."""
    other: World
    """(t|t)."""

    @property
    def worlds(self) -> tuple[World, ...]:
        """All of them."""
        return (self.asked, self.total, self.direct, self.own, self.other)

    def gaps(self, means: Mapping[World, FloatArray], arm: int) -> PairParts:
        """Of one arm, from means of every arm (K,) by world; None where a world is not among them."""

        def less(first: World, second: World) -> float | None:
            known = first in means and second in means
            return float(means[first][arm] - means[second][arm]) + 0.0 if known else None

        return PairParts(
            less(self.asked, self.own), less(self.other, self.own), less(self.direct, self.own),
            less(self.direct, self.total), less(self.total, self.other),
        )  # fmt: skip


def world_pairs(problem: Problem) -> tuple[Pair, ...]:
    """Every ordered pair of groups that some row compares, each way in turn; a pair keeps what the first question about it keeps."""
    found: dict[str, Pair] = {}
    for row in problem.rows:
        if row.as_group is None or row.people is None or len(found) >= MOST_PAIRS:
            continue
        t, u = (_profile(problem, row, name) for name in (row.as_group, row.people))
        for pair in (_pair(problem, row, t, u), _pair(problem, row, u, t)):
            found.setdefault(pair.name, pair)
    return tuple(found.values())


def _profile(problem: Problem, row: Row, group: str) -> Profile:
    if len(row.attributes) == 1:
        return ((row.attributes[0], group),)
    return tuple(values_of_regime(group, problem.attribute_states).items())


def _pair(problem: Problem, row: Row, t: Profile, u: Profile) -> Pair:
    roles = problem.roles

    def world(read: Profile, people: Profile, keep: tuple[str, ...] = ()) -> World:
        return normal_form(World(read, people, keep), roles.graph, roles.blocks)

    kept = mediators(roles, row.attributes, problem.outcome.node)
    name = f"{group_name(problem.attributes, t)}|{group_name(problem.attributes, u)}"
    return Pair(name, (t, u), world(t, u, row.keep), world(t, u), world(t, u, kept), world(u, u), world(t, t))


def pair_readings(problem: Problem, pairs: tuple[Pair, ...]) -> dict[World, Reading]:
    """Of all worlds that pairs are made of and that rows can tell."""
    roles, found = problem.roles, {}
    for world in dict.fromkeys(world for pair in pairs for world in pair.worlds):
        try:
            reading = reading_of(world, roles.graph, roles.attributes, problem.outcome.node, roles.blocks)
        except ProblemError:  # a recanting witness, or a block that would be cut: no rows tell this part
            continue
        if can_be_told(problem, reading):
            found[world] = reading
    return found


def gaps_of_arms(problem: Problem, beliefs: Beliefs, shown: Draws, seed: int) -> list[dict[str, PairGap]]:
    """Of every arm, in order, in the outcome's units: from what is ``shown``, or from the same draws for worlds that are not asked about."""
    width, arms = problem.outcome.width, range(len(problem.arms))
    if not isinstance(beliefs, WorldBeliefs):
        gaps = width * shown.gaps(problem.compared)[0]
        return [pair_gaps(problem, gaps[:, k]) for k in arms]
    pairs = world_pairs(problem)
    readings = pair_readings(problem, pairs)
    means = width * beliefs.averages(tuple(readings.values()), np.random.default_rng(seed), DRAWS)
    by_world = dict(zip(readings, means.T, strict=True))
    return [{pair.name: pair.gaps(by_world, k) for pair in pairs} for k in arms]
