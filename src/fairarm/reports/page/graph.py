"""The causal graph as a picture: the paths that count for a question, what is kept on them, what is hidden.

Nodes stand in layers, each behind all that acts on it: from left to right, on a phone from top to bottom. An edge over several layers goes
through a place of its own in each, so that it passes nodes by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from fairarm.problem.graph import Graph
from fairarm.problem.problem import Problem
from fairarm.reports.page.parts import Figure
from fairarm.reports.svg import Drawing, Point, fitted, text_width
from fairarm.reports.words import names

MOST_NODES = 24
"""A picture of more cannot be read."""
MOST_GRAPHS = 4
"""Pictures on one page."""
WIDE, NARROW = 640.0, 350.0
BOX, GAP, LANE = 26.0, 40.0, 18.0
"""Pixels: the height of a node, between two layers, and between nodes of a layer."""
SWEEPS = 8
HEAD = 7.0
"""Of an arrow."""
Edge = tuple[str, str]
Place = tuple[str, ...]
"""A node, or where an edge passes a layer: its two nodes and the layer's number."""


@dataclass(frozen=True)
class Look:
    """What of a problem's graph is drawn for a question: the attributes that are changed, and the nodes that stay as they are."""

    problem: Problem
    attributes: tuple[str, ...]
    keep: tuple[str, ...] = ()

    @cached_property
    def counted(self) -> frozenset[Edge]:
        """The edges on paths from the attributes to the outcome that pass nothing that is kept."""
        whole, outcome = self.problem.roles.graph, self.problem.outcome.node
        closed = {*self.keep, *self.attributes}
        graph = whole.without(edge for edge in whole.edges if edge[1] in closed)
        below, above = graph.below(self.attributes), graph.above([outcome])
        return frozenset((a, b) for a, b in graph.edges if a in below and b in above)

    @cached_property
    def graph(self) -> Graph | None:
        """All of it; of a large one the nodes that matter; None where even these are too many."""
        whole = self.problem.roles.graph
        if len(whole.nodes) <= MOST_NODES:
            return whole
        on_the_way = {node for edge in self.counted for node in edge}
        causes = {cause for block in self.problem.roles.blocks for cause in block.causes}
        shown = {
            *self.problem.attributes,
            self.problem.decision,
            self.problem.outcome.node,
            *self.keep,
            *causes,
            *on_the_way,
        }
        if len(shown) > MOST_NODES:
            return None
        edges = tuple((a, b) for a, b in whole.edges if a in shown and b in shown)
        return Graph(tuple(node for node in whole.nodes if node in shown), edges)

    @property
    def title(self) -> str:
        """What the picture shows."""
        kept = f", with {names(self.keep, 6)} unchanged" if self.keep else ""
        return f"How {' and '.join(self.attributes)} reaches {self.problem.outcome.node}{kept}"

    @property
    def described(self) -> str:
        """The same for whoever cannot see it."""
        edges = sorted(self.counted, key=self.problem.roles.graph.edges.index)
        said = ", ".join(f"{a} to {b}" for a, b in edges) or "none"
        return f"Arrows that count: {said}."


def looks_of(problem: Problem) -> list[Look]:
    """One for every set of attributes and kept nodes that is asked about, in the order of the rows."""
    asked = dict.fromkeys((row.attributes, row.keep) for row in problem.rows if row.effect in ("total", "direct"))
    asked = asked or dict.fromkeys((row.attributes, ()) for row in problem.rows)
    return [Look(problem, attributes, keep) for attributes, keep in asked]


def graph_figures(problem: Problem) -> list[Figure]:
    """The pictures of a problem's questions; those that would be too large are left out."""
    made = (graph_figure(f"graph-{number}", look) for number, look in enumerate(looks_of(problem)[:MOST_GRAPHS], 1))
    return [figure for figure in made if figure is not None]


def graph_figure(name: str, look: Look) -> Figure | None:
    """One picture, for a screen and for a phone; None where there are too many nodes."""
    if look.graph is None:
        return None
    layers = layers_of(look.graph)
    wide, narrow = (
        _drawn(drawn_as, look, look.graph, layers, width).element(look.title, look.described)
        for drawn_as, width in ((name, WIDE), (f"{name}-narrow", NARROW))
    )
    return Figure(name, wide, narrow, [f"{look.title}.", _key(look, look.graph)])


def _key(look: Look, graph: Graph) -> str:
    """What the signs mean, only those that are there."""
    hidden = _hidden(look.problem)
    said = [
        "Thick arrows: paths that count.",
        "Filled: the attribute that is changed."
        if len(look.attributes) == 1
        else "Filled: the attributes that are changed.",
        *(["Grey: stays as it is."] if look.keep else []),
        f"Double frame: the decision, {look.problem.decision}.",
        *(["Dashed: not observed."] if hidden & {*graph.nodes} else []),
        *([] if graph is look.problem.roles.graph else ["Nodes that do not matter to it are left out."]),
    ]
    return " ".join(said)


def _hidden(problem: Problem) -> set[str]:
    """Nodes that no row need hold."""
    return {*problem.roles.graph.nodes} - {*problem.observed}


# ---- layers ----


def layers_of(graph: Graph) -> list[list[Place]]:
    """Nodes and the places of long edges, layer by layer, in an order with few crossings."""
    depth: dict[str, int] = {}

    def deep(node: str) -> int:
        if node not in depth:
            depth[node] = max((deep(parent) + 1 for parent in graph.parents(node)), default=0)
        return depth[node]

    for node in graph.nodes:
        deep(node)
    for node in graph.nodes:  # a root stands next to what it acts on, not at the far end
        if not graph.parents(node) and graph.children(node):
            depth[node] = min(depth[child] for child in graph.children(node)) - 1
    layers: list[list[Place]] = [[] for _ in range(max(depth.values()) + 1)]
    for node in graph.nodes:
        layers[depth[node]].append((node,))
    for a, b in graph.edges:
        for level in range(depth[a] + 1, depth[b]):
            layers[level].append((a, b, str(level)))
    return _ordered(layers, graph)


def way_of(edge: Edge, layers: Sequence[Sequence[Place]]) -> list[Place]:
    """The places that an edge goes through, its two nodes first and last."""
    between = [place for layer in layers for place in layer if place[:2] == edge]
    return [(edge[0],), *between, (edge[1],)]


def _ordered(layers: list[list[Place]], graph: Graph) -> list[list[Place]]:
    """Each layer by the middle of what its places are joined to in the layer before, then in the one behind, in turn."""
    joined: dict[Place, list[Place]] = {}
    for edge in graph.edges:
        way = way_of(edge, layers)
        for first, second in pairwise(way):
            joined.setdefault(first, []).append(second)
            joined.setdefault(second, []).append(first)
    for sweep in range(SWEEPS):
        order = range(1, len(layers)) if sweep % 2 == 0 else range(len(layers) - 2, -1, -1)
        for i in order:
            beside = {place: j for j, place in enumerate(layers[i - 1 if sweep % 2 == 0 else i + 1])}
            middle = {
                place: _middle([beside[p] for p in joined.get(place, ()) if p in beside], j)
                for j, place in enumerate(layers[i])
            }
            layers[i] = sorted(layers[i], key=lambda place: middle[place])
    return layers


def _middle(places: Sequence[int], own: int) -> float:
    return sum(places) / len(places) if places else float(own)


# ---- drawing ----


def _drawn(name: str, look: Look, graph: Graph, layers: Sequence[Sequence[Place]], width: float) -> Drawing:
    room = 120.0 if width == WIDE else min(120.0, (width - 20) / max(len(layer) for layer in layers) - 8)
    labels = {node: fitted(node, room - 16) for node in graph.nodes}
    boxes = {node: max(text_width(label) + 16, BOX) for node, label in labels.items()}
    across = _across(layers, boxes) if width == WIDE else []
    if across and across[-1] <= WIDE:
        at, size = _from_left(layers, boxes, across)
    else:
        at, size = _from_top(layers, boxes, width)
    drawing = Drawing(name, *size)
    for counted in (False, True):  # what counts lies on top
        for edge in graph.edges:
            if (edge in look.counted) == counted:
                _arrow(drawing, [at[place] for place in way_of(edge, layers)], boxes[edge[1]], counted)
    for node in graph.nodes:
        _box(drawing, look, node, labels[node], at[(node,)], boxes[node])
    return drawing


def _across(layers: Sequence[Sequence[Place]], boxes: dict[str, float]) -> list[float]:
    """Where each layer starts from the left, and where the last one ends."""
    starts = [6.0]
    for layer in layers:
        starts.append(starts[-1] + max((boxes[place[0]] for place in layer if len(place) == 1), default=BOX) + GAP)
    return [*starts[:-1], starts[-1] - GAP + 6.0]


def _from_left(
    layers: Sequence[Sequence[Place]], boxes: dict[str, float], across: Sequence[float]
) -> tuple[dict[Place, Point], Point]:
    high = max(len(layer) for layer in layers) * (BOX + LANE)
    at: dict[Place, Point] = {}
    for i, layer in enumerate(layers):
        x = (across[i] + across[i + 1] - (GAP if i + 2 < len(across) else 6.0)) / 2
        for j, place in enumerate(layer):
            at[place] = (x, (j + 0.5) * high / len(layer))
    return at, (across[-1], high)


def _from_top(
    layers: Sequence[Sequence[Place]], boxes: dict[str, float], width: float
) -> tuple[dict[Place, Point], Point]:
    at = {
        place: ((j + 0.5) * width / len(layer), 6.0 + BOX / 2 + i * (BOX + GAP))
        for i, layer in enumerate(layers)
        for j, place in enumerate(layer)
    }
    return at, (width, 12.0 + len(layers) * (BOX + GAP) - GAP)


def _arrow(drawing: Drawing, way: Sequence[Point], box: float, counted: bool) -> None:
    """Ends at the frame of the last node."""
    colour, thick = ("mark", 2.4) if counted else ("faint", 1.0)
    tip = _edge_of_box(way[-2], way[-1], box)
    dx, dy = tip[0] - way[-2][0], tip[1] - way[-2][1]
    long = math.hypot(dx, dy) or 1.0
    dx, dy = dx / long, dy / long
    foot = tip[0] - HEAD * dx, tip[1] - HEAD * dy
    drawing.polyline([*way[:-1], foot], colour, thick)
    side = 0.55 * HEAD
    drawing.area([tip, (foot[0] - side * dy, foot[1] + side * dx), (foot[0] + side * dy, foot[1] - side * dx)], colour)


def _edge_of_box(start: Point, centre: Point, box: float) -> Point:
    """Where the line from the start to the centre meets the frame, a little before it."""
    dx, dy = start[0] - centre[0], start[1] - centre[1]
    scale = min(
        (half + 2.0) / abs(d) for half, d in ((box / 2, dx), (BOX / 2, dy)) if abs(d) > 1e-9
    ) if dx or dy else 0.0  # fmt: skip
    return centre[0] + scale * dx, centre[1] + scale * dy


def _box(drawing: Drawing, look: Look, node: str, label: str, centre: Point, width: float) -> None:
    left, top = centre[0] - width / 2, centre[1] - BOX / 2
    changed, kept = node in look.attributes, node in look.keep
    fill = "mark" if changed else "line" if kept else "paper"
    drawing.rectangle((left, top), (width, BOX), fill)
    corners = [(left, top), (left + width, top), (left + width, top + BOX), (left, top + BOX), (left, top)]
    hidden = node in _hidden(look.problem)
    drawing.polyline(corners, "faint" if kept else "ink", 1.2, "4 3" if hidden else "")
    if node == look.problem.decision:
        drawing.rectangle((left - 3, top - 3), (width + 6, BOX + 6), "none", "ink", 1.0)
    bold = node == look.problem.outcome.node
    drawing.text(label, centre, "middle", fill="paper" if changed else "muted" if kept else "ink", bold=bold)
