"""Two groups of an arm beside each other, for every pair that is compared: the causal gap, the plain one, and what they are made of.

    gap = μ(t|u) − μ(u|u)    plain = μ(t|t) − μ(u|u) = direct − indirect − spurious
    direct = μ(t,u,M) − μ(u|u)    indirect = μ(t,u,M) − μ(t|u)    spurious = μ(t|u) − μ(t|t)

μ(t|u): people of u as if they were of t, with whatever the question keeps. M: the mediators, all kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.beliefs import Beliefs
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.worlds import WorldBeliefs
from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.problem.fairness import Row, pair_names
from fairarm.problem.problem import Problem
from fairarm.problem.regimes import values_of_regime
from fairarm.problem.world_terms import can_be_told
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


Means = Mapping[World, FloatArray]
"""Of every arm, (K,), by world."""


@dataclass(frozen=True)
class Pair:
    """The worlds that an ordered pair (t, u) is made of."""

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

    def gaps(self, means: Means, estimates: Means | None = None) -> list[PairParts]:
        """Of every arm, from means by world; of a world that is not among them, from how far ``estimates`` has it from (u|u). None where it
        is in neither."""
        asked, total, direct, own, other = (self._mean(world, means, estimates or {}) for world in self.worlds)
        parts = [_less(asked, own), _less(other, own), _less(direct, own), _less(direct, total), _less(total, other)]
        arms = max(len(part) for part in parts)
        return [PairParts(*each) for each in zip(*(part or [None] * arms for part in parts), strict=True)]

    def _mean(self, world: World, means: Means, estimates: Means) -> FloatArray | None:
        if world in means or world not in estimates or self.own not in means:
            return means.get(world, estimates.get(world))
        return np.asarray(means[self.own] + (estimates[world] - estimates[self.own]))


def _less(first: FloatArray | None, second: FloatArray | None) -> Sequence[float | None]:
    """Their difference by arm; [] where one is not known."""
    return [] if first is None or second is None else (first - second + 0.0).tolist()


def compared_profiles(problem: Problem) -> dict[str, tuple[Profile, Profile, Row]]:
    """Every ordered pair (t, u) of groups that some row compares, each way in turn, keyed "t|u", with the first such row."""
    found: dict[str, tuple[Profile, Profile, Row]] = {}
    for row in problem.rows:
        if row.as_group is None or row.people is None or len(found) >= MOST_PAIRS:
            continue
        t, u = (_profile(problem, row, name) for name in (row.as_group, row.people))
        for first, second in ((t, u), (u, t)):
            names = (group_name(problem.attributes, profile) for profile in (first, second))
            found.setdefault("|".join(names), (first, second, row))
    return found


def _profile(problem: Problem, row: Row, group: str) -> Profile:
    if len(row.attributes) == 1:
        return ((row.attributes[0], group),)
    return tuple(values_of_regime(group, problem.attribute_states).items())


def world_pairs(problem: Problem) -> dict[str, Pair]:
    """The worlds of every compared pair; a pair keeps what the first question about it keeps."""
    return {name: _pair(problem, *pair) for name, pair in compared_profiles(problem).items()}


def _pair(problem: Problem, t: Profile, u: Profile, row: Row) -> Pair:
    roles = problem.roles

    def world(read: Profile, people: Profile, keep: tuple[str, ...] = ()) -> World:
        return normal_form(World(read, people, keep), roles.graph, roles.blocks)

    kept = mediators(roles, row.attributes, problem.outcome.node)
    return Pair(world(t, u, row.keep), world(t, u), world(t, u, kept), world(u, u), world(t, t))


def pair_readings(problem: Problem, pairs: Iterable[Pair]) -> dict[World, Reading]:
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


def gaps_of_arms(problem: Problem, beliefs: Beliefs, shown: Draws) -> list[dict[str, PairGap]]:
    """Of every arm, in order, in the outcome's units: from what is ``shown`` of the worlds that are asked about; how far others lie from
    people as they are, at the expected laws and cell means."""
    width, arms = problem.outcome.width, range(len(problem.arms))
    if not isinstance(beliefs, WorldBeliefs):
        gaps = width * shown.gaps(problem.compared)[0]
        return [pair_gaps(problem, gaps[:, k]) for k in arms]
    pairs = world_pairs(problem)
    asked = dict(zip(problem.worlds, width * shown.means[0].T, strict=True))
    told = pair_readings(problem, pairs.values())
    lacking = {pair.own: None for pair in pairs.values() if any(world not in asked for world in pair.worlds)}
    others = {world: reading for world, reading in told.items() if world not in asked or world in lacking}
    estimates = dict(zip(others, width * beliefs.means_of(tuple(others.values())).T, strict=True))
    found = {name: pair.gaps(asked, estimates) for name, pair in pairs.items()}
    return [{name: gaps[k] for name, gaps in found.items()} for k in arms]
