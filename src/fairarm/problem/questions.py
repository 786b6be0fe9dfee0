"""From a question of fairness to what it compares: sums of the means of worlds, each with its ends.

People of group u as if they were of t, μ(t|u), are compared with themselves as they are, μ(u|u). Where the attribute is alone, without
causes, and nothing is kept, both depend on the group that is read alone: every two groups are then compared once. Else both ways,
since the two differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from fairarm.errors import ProblemError
from fairarm.problem.constraint import MEDIATORS, Constraint, Effect, weighted_sum
from fairarm.problem.graph import Roles
from fairarm.problem.outcome import Outcome
from fairarm.problem.worlds import AS_IT_IS, Profile, World, mediators, normal_form, profile_name

MAX_GROUPS = 20
MEAN = "mean"
"""In the name of a row: the mean over everybody."""


@dataclass(frozen=True)
class Scene:
    """What a question is asked about."""

    states: Mapping[str, tuple[str, ...]]
    """The groups of every attribute, in order."""
    roles: Roles
    outcome: Outcome
    shares: tuple[float, ...] | None = None
    """P(profile) of all attributes, the first slowest, where it is declared."""


@dataclass(frozen=True)
class Comparison:
    """above < Σ_ω a_ω μ(ω) < below, in the outcome's own units; the world in which nothing is changed is the outcome itself."""

    name: str
    as_group: str | None
    people: str | None
    parts: tuple[tuple[World, float], ...]
    above: float | None
    below: float | None


@dataclass(frozen=True)
class _Side:
    """One of two means that are compared: what it is called, and of which world."""

    name: str
    world: World


@dataclass(frozen=True)
class Question:
    """A constraint about one attribute, or about several jointly."""

    asked: Constraint
    attributes: tuple[str, ...]
    scene: Scene

    @property
    def effect(self) -> Effect:
        """Which part of a difference it asks about; without a mediator the direct effect is the total."""
        return "total" if self.asked.effect == "direct" and not self.keep else self.asked.effect

    # ---- groups ----

    @cached_property
    def groups(self) -> dict[str, Profile]:
        """All of them by name: states of the one attribute, or profiles."""
        names = self.attributes
        profiles = [
            tuple(zip(names, states, strict=True)) for states in product(*(self.scene.states[a] for a in names))
        ]
        return {profile[0][1] if len(names) == 1 else profile_name(profile): profile for profile in profiles}

    @cached_property
    def left_out(self) -> dict[str, float]:
        """Profiles that fewer people have than the question asks for, with P(profile)."""
        asked = self.asked
        if not asked.min_share:
            return {}
        if self.scene.shares is None:
            raise ProblemError(
                f"Constraint '{asked.label}': min_share needs P({', '.join(self.attributes)}). Declare shares, and joint_shares of attributes "
                f"that go together; with causes, name the groups (groups = [...])."
            )
        shares = self._shares(self.scene.shares)
        return {name: share for name, share in shares.items() if share < asked.min_share}

    def _shares(self, shares: tuple[float, ...]) -> dict[str, float]:
        """P(profile) of these attributes: the others summed out."""
        every = list(self.scene.states)
        names = {profile: name for name, profile in self.groups.items()}
        found = dict.fromkeys(self.groups, 0.0)
        for states, share in zip(product(*self.scene.states.values()), shares, strict=True):
            whole = dict(zip(every, states, strict=True))
            found[names[tuple((a, whole[a]) for a in self.attributes)]] += share
        return found

    @cached_property
    def among(self) -> tuple[str, ...]:
        """The groups that are looked at, in order."""
        asked, groups = self.asked, self.groups
        if unknown := [name for name in asked.named if name not in groups]:
            raise ProblemError(
                f"Constraint '{asked.label}' names the group '{unknown[0]}'. The groups are: {', '.join(groups)}."
            )
        chosen = [name for name in groups if not asked.groups or name in asked.groups]
        among = tuple(name for name in chosen if name not in self.left_out)
        if not among or asked.reference in self.left_out:
            raise ProblemError(
                f"Constraint '{asked.label}' leaves out {', '.join(self.left_out)}: {'none' if not among else 'not even the reference'} "
                f"is left. Lower min_share."
            )
        if len(among) > MAX_GROUPS:
            raise ProblemError(
                f"Constraint '{asked.label}' looks at {len(among)} groups; at most {MAX_GROUPS} are compared. Name some of them "
                f"(groups = [...]), set min_share, or ask about fewer attributes."
            )
        return among

    # ---- worlds ----

    @cached_property
    def keep(self) -> tuple[str, ...]:
        """W, as far as it can change: by name, the mediators, and attributes that are held."""
        asked, roles = self.asked, self.scene.roles
        kept: tuple[str, ...]
        if asked.keep == MEDIATORS or asked.effect == "direct":
            kept = self._mediators
        else:
            kept = self._checked_keep(asked.keep)
        if asked.others == "held":
            kept = (*kept, *(a for a in roles.attributes if a not in self.attributes))
        below = roles.graph.below(self.attributes)
        return tuple(node for node in roles.graph.nodes if node in kept and node in below)

    @cached_property
    def _mediators(self) -> tuple[str, ...]:
        return mediators(self.scene.roles, self.attributes, self.scene.outcome.node)

    def _checked_keep(self, given: tuple[str, ...]) -> tuple[str, ...]:
        for node in given:
            if node not in self.scene.roles.graph.nodes:
                raise ProblemError(f"Constraint '{self.asked.label}' keeps '{node}', which is not a node of the graph.")
            if node == self.scene.outcome.node or node in self.attributes:
                what = "the outcome" if node == self.scene.outcome.node else "the attribute that is changed"
                raise ProblemError(
                    f"Constraint '{self.asked.label}' keeps '{node}', which is {what}. Leave it out of keep."
                )
        return given

    @cached_property
    def simple(self) -> bool:
        """Nothing is kept and no attribute has causes or a block: the whole difference goes by the group that is read alone."""
        alone = {name for block in self.scene.roles.blocks if block.simple for name in block.members}
        return not self.keep and {*self.attributes} <= alone and self.effect in ("total", "direct")

    def world(self, read: str, people: str | None, keep: tuple[str, ...]) -> World:
        """People of a group, or everybody, as if they were of another one."""
        told = () if people is None else self.groups[people]
        return normal_form(World(self.groups[read], told, keep), self.scene.roles.graph, self.scene.roles.blocks)

    def _read(self, t: str, u: str | None) -> _Side:
        """μ(t|u) with what the question keeps; everybody as t where u is None."""
        if self.simple:
            return _Side(t, self.world(t, u, ()))
        directly = " directly" if self.asked.keep == MEDIATORS or self.effect == "direct" else ""
        return _Side(f"{'everyone' if u is None else u} as {t}{directly}", self.world(t, u, self.keep))

    def _in_fact(self, u: str) -> _Side:
        """μ(u|u)."""
        return _Side(u, self.world(u, u, ()))

    def _as_they_are(self, u: str) -> _Side:
        """The same where nothing else is asked: nobody is read otherwise, so that no reading can be refused. Of one attribute without causes
        it is everybody as u, as in every other row."""
        alone = len(self.scene.states) == 1
        return self._in_fact(u) if alone else _Side(u, World((), self.groups[u]))

    # ---- what is compared ----

    def comparisons(self) -> Iterator[Comparison]:
        """In the order of the groups."""
        asked = self.asked
        if asked.compare == "weights" and not (asked.is_gap and not self.simple):
            yield self._weighted()
        elif asked.compare == "floor":
            for u in self.among:
                yield self._made(u, u, None, [(self._as_they_are(u), 1.0)], asked.at_least, None)
        elif asked.compare == "mean":
            for t in self.among:
                yield from self._compared(self._read(t, None), _Side(MEAN, AS_IT_IS), t, None)
        else:
            for t, u in self._pairs():
                yield from self._pair(t, u)

    def _pairs(self) -> list[tuple[str, str]]:
        """Each two of the groups, or each with the reference."""
        asked, among = self.asked, self.among
        if asked.is_gap:  # weights of a gap, where both orders count
            among = tuple(group for group in among if dict(asked.weights).get(group))
        if asked.reference is not None:
            pairs = [(group, asked.reference) for group in among if group != asked.reference]
        else:
            pairs = [(first, second) for i, first in enumerate(among) for second in among[i + 1 :]]
        if not pairs:
            raise ProblemError(
                f"Constraint '{asked.label}' compares {', '.join(among)} alone: there are no two groups to compare. Name more of "
                f"them, or leave groups out."
            )
        return pairs

    def _pair(self, first: str, second: str) -> Iterator[Comparison]:
        """Two groups, the second one the reference where there is one: once where that says all, else people of each."""
        asked = self.asked
        if self.simple:
            if asked.tolerance is not None and asked.direction == "both":
                # |first − second| is |second − first|: one row, however it is asked
                first, second = sorted((first, second), key=list(self.groups).index)
            yield from self._compared(self._read(first, second), self._in_fact(second), first, second)
            return
        for t, u in ((second, first), (first, second)):
            yield from self._ordered(t, u, other_is_read=t == first)

    def _ordered(self, t: str, u: str, other_is_read: bool) -> Iterator[Comparison]:
        """People of u as if they were of t, beside themselves; a direction looks at the other group minus the reference."""
        read, in_fact = self._read(t, u), self._in_fact(u)
        if self.effect in ("indirect", "spurious"):
            yield from self._part_of_gap(t, u)
        elif self.asked.direction == "both" or other_is_read:
            yield from self._compared(read, in_fact, t, u)
        else:
            yield from self._compared(in_fact, read, t, u)

    def _part_of_gap(self, t: str, u: str) -> Iterator[Comparison]:
        """IE = μ(t,u,M) − μ(t|u), SE = μ(t|u) − μ(t|t)."""
        total = self._read(t, u)
        if self.effect == "spurious":
            yield from self._compared(total, self._in_fact(t), t, u)
        else:
            direct = _Side(f"{u} as {t} directly", self.world(t, u, self._mediators))
            yield from self._compared(direct, total, t, u)

    def _compared(self, first: _Side, second: _Side, t: str, u: str | None) -> Iterator[Comparison]:
        """Their difference, or their quotient both ways."""
        asked = self.asked
        above, below = asked.direction != "not_above", asked.direction != "not_below"
        if asked.tolerance is not None:
            ends = -asked.tolerance if above else None, asked.tolerance if below else None
            yield self._made(f"{first.name} - {second.name}", t, u, [(first, 1.0), (second, -1.0)], *ends)
            return
        ratio = asked.ratio or 0.0
        back = (u, t) if self.simple or u is None else (t, u)
        if above:
            parts = [(first, 1.0), (second, -ratio)]
            yield self._made(f"{first.name} / {second.name}", t, u, parts, 0.0, None)
        if below:
            parts = [(second, 1.0), (first, -ratio)]
            yield self._made(f"{second.name} / {first.name}", *back, parts, 0.0, None)

    def _weighted(self) -> Comparison:
        asked = self.asked
        weights = dict(asked.weights)
        if not self.simple:
            raise ProblemError(f"Constraint '{asked.label}': weights need an attribute without causes.")
        if not any(weights.values()):
            raise ProblemError(f"Constraint '{asked.label}': every weight is 0, so that it says nothing. Leave it out.")
        if asked.is_gap:  # always the earlier group minus the later one
            first, second = (group for group in self.among if weights.get(group))
            return next(self._pair(first, second))
        ends = (asked.at_least, asked.at_most) if asked.tolerance is None else (-asked.tolerance, asked.tolerance)
        parts = [(self._in_fact(group), weights.get(group, 0.0)) for group in self.among]
        return self._made(weighted_sum(asked), None, None, parts, *ends)

    def _made(
        self,
        name: str,
        as_group: str | None,
        people: str | None,
        parts: list[tuple[_Side, float]],
        above: float | None,
        below: float | None,
    ) -> Comparison:
        """With the attribute in its name where there are several."""
        one_of_several = len(self.attributes) == 1 < len(self.scene.states)
        shown = f"{self.attributes[0]}: {name}" if one_of_several else name
        return Comparison(shown, as_group, people, tuple((side.world, weight) for side, weight in parts), above, below)


def questions_of(asked: Constraint, scene: Scene) -> tuple[Question, ...]:
    """One, or one for every attribute where pairs are asked about and none is named."""
    known = tuple(scene.states)
    if unknown := [name for name in asked.about if name not in known]:
        raise ProblemError(
            f"Constraint '{asked.label}' is about '{unknown[0]}'. The sensitive attributes are: {', '.join(known)}."
        )
    low = scene.outcome.low or 0.0
    if asked.ratio is not None and low < 0:
        raise ProblemError(
            f"Constraint '{asked.label}': a ratio needs an outcome that is never negative; '{scene.outcome.node}' starts at {low:g}. "
            f"Use a tolerance."
        )
    if asked.about:
        return (Question(asked, tuple(name for name in known if name in asked.about), scene),)
    if len(known) > 1 and (asked.compare != "pairs" or asked.groups):
        raise ProblemError(
            f"Constraint '{asked.label}' does not say about which of {', '.join(known)}. Name it (attribute = '{known[0]}'), or several "
            f"(attributes = [...])."
        )
    return tuple(Question(asked, (name,), scene) for name in known)
