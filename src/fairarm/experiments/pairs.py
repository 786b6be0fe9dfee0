"""Two groups of an arm beside each other, for every pair that is compared: the causal gap, the plain one, and what they are made of.

    gap = μ(t|u) − μ(u|u)    plain = μ(t|t) − μ(u|u) = direct − indirect − spurious
    direct = μ(t,u,M) − μ(u|u)    indirect = μ(t,u,M) − μ(t|u)    spurious = μ(t|u) − μ(t|t)

μ(t|u): people of u as if they were of t, with whatever the question keeps. M: the mediators, all kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.worlds import WorldBeliefs
from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.experiments.evidence_from_log import LogEvidence
from fairarm.problem.fairness import Row, pair_names
from fairarm.problem.problem import Problem
from fairarm.problem.regimes import values_of_regime
from fairarm.problem.world_terms import can_be_told
from fairarm.problem.worlds import Profile, Reading, World, group_name, mediators, normal_form, reading_of

ROUNDING = 1e-13

MOST_PAIRS = 380
"""Ordered pairs that are shown: those of 20 groups, the most that a question compares."""


@dataclass(frozen=True)
class PairGap:
    """Two groups t and u of an arm, keyed "t|u": what people of u would get as if they were of t, less what they get, and what the plain gap
    is made of. None where rows cannot tell, whatever their number, and where parts are not worked out (`gaps_of_arms`)."""

    gap: float | None
    plain: float | None
    """What people of t get, less what people of u get: the same where nothing causes the sensitive attribute and nothing is kept."""
    direct: float | None
    indirect: float | None
    spurious: float | None


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

    def gaps(self, means: Means, estimates: Means | None = None) -> list[PairGap]:
        """Of every arm, from means by world; of a world that is not among them, from how far ``estimates`` has it from (u|u). None where it
        is in neither."""
        asked, total, direct, own, other = (self._mean(world, means, estimates or {}) for world in self.worlds)
        parts = [_less(asked, own), _less(other, own), _less(direct, own), _less(direct, total), _less(total, other)]
        arms = max(len(part) for part in parts)
        return [PairGap(*each) for each in zip(*(part or [None] * arms for part in parts), strict=True)]

    def _mean(self, world: World, means: Means, estimates: Means) -> FloatArray | None:
        if world in means or world not in estimates or self.own not in means:
            return means.get(world, estimates.get(world))
        return np.asarray(means[self.own] + (estimates[world] - estimates[self.own]))


def _less(first: FloatArray | None, second: FloatArray | None) -> Sequence[float | None]:
    """Their difference by arm; [] where one is not known. What rounding leaves of two equal numbers is 0."""
    if first is None or second is None:
        return []
    same = np.abs(first - second) <= ROUNDING * np.maximum(np.abs(first), np.abs(second))
    found: list[float | None] = np.where(same, 0.0, first - second).tolist()
    return found


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
    found = {name: _pair(problem, *pair) for name, pair in compared_profiles(problem).items()}
    return {name: found[name] for name in pair_names(problem)} if problem.plain else found


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


def gaps_of_arms(found: LogEvidence, shown: Draws) -> list[dict[str, PairGap]]:
    """Of every arm, in order, in the outcome's units: from what is ``shown`` of the worlds that are asked about; how far others lie from
    people as they are, at the expected laws and cell means. Parts that go by mediators are not worked out where a plain problem's rows
    are not judged by the means of cells, or outcomes are missing."""
    problem = found.problem
    pairs = world_pairs(problem)
    asked = dict(zip(problem.worlds, problem.outcome.width * shown.means[0].T, strict=True))
    lacking = {pair.own: None for pair in pairs.values() if any(world not in asked for world in pair.worlds)}
    told = pair_readings(problem, pairs.values()) if lacking else {}
    others = {world: reading for world, reading in told.items() if world not in asked or world in lacking}
    means = _estimated(found, tuple(others.values())) if others else None
    estimates = {} if means is None else dict(zip(others, problem.outcome.width * means.T, strict=True))
    gaps = {name: pair.gaps(asked, estimates) for name, pair in pairs.items()}
    return [{name: each[k] for name, each in gaps.items()} for k in range(len(problem.arms))]


def _estimated(found: LogEvidence, readings: Sequence[Reading]) -> FloatArray | None:
    """Means of worlds that nothing is asked about, (K, W)."""
    beliefs = found.beliefs
    if isinstance(beliefs, WorldBeliefs):
        return beliefs.means_of(readings)
    if not isinstance(beliefs, CellBeliefs) or found.counted is None or found.missing is not None:
        return None
    try:
        worlds = WorldBeliefs.of(found.counted, beliefs.estimated)
    except ProblemError:  # a mechanism that is needed is not declared, or there are too many cells
        return None
    theta = np.zeros(worlds.cells.cells)
    theta[worlds.cells.cell_of] = beliefs.posterior.mean[0][beliefs.cells.cell_of]
    return worlds.means_of(readings, theta)
