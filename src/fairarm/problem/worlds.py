"""Worlds: what a mean is of. Some attributes are read otherwise than they are, among some people, with some nodes kept as they are.

    ω = (t, u, W)      μ_k(ω) = E_k[Y_ω | u]

The children of the attributes I read them as t; among people with the attributes u, or everybody; every node of W has the value that it
has in fact. `reading_of` finds which nodes then have another value than in fact, and refuses a world in which one would be needed in both versions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from fairarm.errors import ProblemError
from fairarm.problem.attributes import Block
from fairarm.problem.graph import Graph, Roles

Profile = tuple[tuple[str, str], ...]
"""Attributes, in their order, each with a state."""
_MOST_KEPT = 6


@dataclass(frozen=True)
class World:
    """ω = (t, u, W); with nothing in it, the outcome as it is."""

    read: Profile
    """The attributes I with the state t that their children read; () as it is."""
    people: Profile = ()
    """Evidence u; () everybody."""
    keep: tuple[str, ...] = ()
    """W, in the order of the graph."""

    @property
    def shape(self) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """What of it the graph sees: which attributes are read and told, whatever their states, and what is kept."""
        return tuple(name for name, _ in self.read), tuple(name for name, _ in self.people), self.keep


AS_IT_IS = World(())
"""Nothing is read otherwise, of everybody: the outcome itself."""


@dataclass(frozen=True)
class Reading:
    """Which value every edge from an attribute carries in a world."""

    world: World
    counterfactual: frozenset[str]
    """The nodes that are needed as they would be: an edge A_i → X with i ∈ I carries t_i if X is one of them, else a_i."""


def profile_name(profile: Profile) -> str:
    """E.g. "region=north,race=b"."""
    return ",".join(f"{attribute}={state}" for attribute, state in profile)


def group_name(attributes: Sequence[str], profile: Profile) -> str:
    """As regimes are called: a state of the only attribute, or states of several by name, e.g. "race=b"."""
    return profile[0][1] if len(attributes) == 1 else profile_name(profile)


def mediators(roles: Roles, attributes: Collection[str], outcome: str) -> tuple[str, ...]:
    """The observed nodes below these attributes other than the outcome, other attributes included, that are there before the decision: kept,
    the direct effect is left, what the decision and all after it make of the attributes themselves."""
    after = {roles.decision, *roles.graph.descendants(roles.decision), *attributes, outcome}
    below = roles.graph.below(attributes) - after
    return tuple(node for node in roles.observed if node in below)


def normal_form(world: World, graph: Graph, blocks: Iterable[Block]) -> World:
    """One of the worlds with the same mean: nothing is kept that cannot change, and people as they are, are not read otherwise.

    An attribute alone and without causes is independent of what it does not act on: those who would be read as t are everybody as t.
    """
    if world.read == world.people:
        world = replace(world, read=(), keep=())
    if world.keep:
        below = graph.below(attribute for attribute, _ in world.read)
        world = replace(world, keep=tuple(node for node in graph.nodes if node in world.keep and node in below))
    simple = {name for block in blocks if block.simple for name in block.members}
    told, read = {name for name, _ in world.people}, {name for name, _ in world.read}
    if world.keep or not told <= simple or not (read == set() or told <= read):
        return world
    return replace(world, read=world.read or world.people, people=())


def reading_of(world: World, graph: Graph, attributes: Sequence[str], outcome: str, blocks: Iterable[Block]) -> Reading:
    """Which nodes are needed as they would be, walking upwards from the outcome; ``graph`` has the edges that some arm uses.

    A node that is needed as it would be needs its parents so, but for kept ones, and reads those in I. One that is needed as it is needs all
    that is above it as it is, as do the people.
    """
    read = [attribute for attribute, _ in world.read]
    changed = _changed(graph, read, world.keep)
    needed, in_fact = _walk(graph, outcome, changed, {*read})
    told, held = graph.above(name for name, _ in world.people), graph.above(in_fact)
    if witnesses := needed & (told | held):
        raise ProblemError(_recanting(world, graph, outcome, witnesses, told, held))
    for block in blocks:
        _check_block(block, graph, attributes, {*read}, needed)
    return Reading(world, frozenset(needed))


def _changed(graph: Graph, read: Collection[str], keep: Collection[str]) -> set[str]:
    """The nodes not in I ∪ W that are reached from I by directed paths that avoid W."""
    open_edges = graph.without(edge for edge in graph.edges if edge[1] in keep)
    return {*open_edges.below(read)}.difference(read, keep)


def _walk(graph: Graph, outcome: str, changed: set[str], read: set[str]) -> tuple[set[str], set[str]]:
    """From the outcome upwards: the nodes that are needed as they would be, and those next to them that are needed as they are."""
    if outcome not in changed:
        return set(), {outcome}
    needed, in_fact, waiting = {outcome}, set[str](), [outcome]
    while waiting:
        parents = {*graph.parents(waiting.pop())} - read
        new = (parents & changed) - needed
        in_fact |= parents - changed
        needed |= new
        waiting += new
    return needed, in_fact


def _recanting(
    world: World, graph: Graph, outcome: str, witnesses: set[str], told: frozenset[str], held: frozenset[str]
) -> str:
    """The lowest of the nodes that are needed in both versions, and the way out."""
    witness = next(node for node in graph.nodes if node in witnesses and not witnesses & graph.descendants(node))
    if witness in told:
        names = [f"'{attribute}'" for attribute, _ in world.read]
        joint = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
        return f"joint groups of {joint}: '{witness}' lies between them and also acts on '{outcome}'. Use compare = 'mean'."
    through = next(node for node in world.keep if node in held and witness in graph.ancestors(node))
    shown = [*world.keep[:_MOST_KEPT], *(["..."] if len(world.keep) > _MOST_KEPT else [])]
    return (
        f"keep = {shown}: '{witness}' reaches the outcome through '{through}' and past it. Keep '{witness}' too, or not "
        f"'{through}'."
    )


def _check_block(block: Block, graph: Graph, attributes: Sequence[str], read: set[str], needed: set[str]) -> None:
    """A block of several is needed as it would be as a whole, or not at all: its factor is of all members together."""
    changed = [name for name in block.members if name in needed]
    others = [name for name in block.members if name in read] or [n for n in block.members if n not in needed]
    if not changed or not others:
        return
    child, other = changed[0], others[0]
    if other in graph.ancestors(child):
        raise ProblemError(f"'{other}' acts on '{child}' and shares a hidden cause with it. Use others = 'held'.")
    above = next(name for name in attributes if name in read and name in graph.ancestors(child))
    raise ProblemError(f"'{above}' acts on '{child}', which shares a hidden cause with '{other}'. Use others = 'held'.")
