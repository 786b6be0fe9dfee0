"""The other figures of a page: what the log covers, the phases of a run, errors against pulls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fairarm.experiments.identify import PhaseStory
from fairarm.experiments.simulate import Simulation
from fairarm.reports.figures import COLOURS, ERROR, MARKERS
from fairarm.reports.page.axes import BELOW, LINE, Area, Panel, Ticks
from fairarm.reports.page.parts import Figure
from fairarm.reports.page.rows import Canvas, Row, Words, row_figure
from fairarm.reports.scales import Scale, fitting_ticks, pull_ticks, tick_texts, ticks
from fairarm.reports.svg import Drawing, fitted, text_width
from fairarm.reports.words import pulls_text

BARS = 60
"""More phases than this are drawn as one outline."""
WIDE, NARROW = 920.0, 360.0
EDGE = 8.0
SHARE = (-0.03, 1.03)
"""The limits of a scale of shares."""


# ---- what the log covers ----


@dataclass(frozen=True)
class Cover:
    """How much of an arm's mass has rows, and how much it has in common with the law of the log."""

    row: Row
    seen: float
    overlap: float


def cover_figure(words: Words, covers: Sequence[Cover]) -> Figure:
    """A bar per arm: solid where there are rows, hatched where there are none, a diamond at the overlap."""

    def draw(canvas: Canvas) -> None:
        at, drawing, thick = canvas.panel.x, canvas.panel.drawing, 11.0
        for i, (cover, y) in enumerate(zip(covers, canvas.heights, strict=True)):
            if math.isfinite(cover.seen):
                left, middle, right = at(0.0), at(cover.seen), at(1.0)
                colour, top = "good" if cover.row.best else "mark", y - thick / 2
                drawing.rectangle((middle, top), (right - middle, thick), drawing.hatch(), "muted", 0.8, id=f"unseen-{i}")  # fmt: skip
                drawing.rectangle((left, top), (middle - left, thick), colour, id=f"seen-{i}")
            if math.isfinite(cover.overlap):
                drawing.mark("D", (at(cover.overlap), y), 8.0, "paper", "ink", 1.4, id=f"overlap-{i}")

    return row_figure(words, [cover.row for cover in covers], (-0.01, 1.01), draw)


# ---- the phases of a run ----


def phase_figure(
    story: Sequence[PhaseStory], arms: int, title: str, description: str, caption: Sequence[str]
) -> Figure:
    """Pulls of each phase; beside it how sure the answer was, or how many arms were left."""
    second = _probability if any(part.probability is not None for part in story) else _left

    def drawn(name: str, width: float, height: float, boxes: Sequence[Area]) -> str:
        drawing = Drawing(name, width, height)
        for i, (box, draw) in enumerate(zip(boxes, (_pulls, second), strict=True), start=1):
            with drawing.group(f"axes-{i}"):
                draw(drawing, box, story, arms)
        return drawing.element(title, description)

    half, tall, below = (WIDE - 30) / 2, 200.0, BELOW + LINE + 12
    beside = [Area(0, 26, half, tall), Area(half + 30, 26, half, tall)]
    under = [Area(0, 26, NARROW, 150), Area(0, 26 + 150 + below + 34, NARROW, 150)]
    wide = drawn("phases", WIDE, beside[0].bottom + below, beside)
    narrow = drawn("phases-narrow", NARROW, under[1].bottom + below, under)
    return Figure("phases", wide, narrow, caption)


def _phase_panel(
    drawing: Drawing, box: Area, story: Sequence[PhaseStory], name: str, limits: tuple[float, float], up: Ticks
) -> Panel:
    """A panel of phases within the box, whose left part holds what is written at the ticks ``up``."""
    left = box.left + EDGE + up.widest + 8
    box = Area(left, box.top, box.right - EDGE - left, box.height)
    phases = [part.phase for part in story]
    x = Scale(min(phases) - 0.6, max(phases) + 0.6, box.left, box.right)
    panel = Panel(drawing, box, x, Scale(*limits, box.bottom, box.top))
    panel.up(up, name)
    panel.across(Ticks(*fitting_ticks(x, 8, whole=True)), ["phase"])
    return panel


def _pulls(drawing: Drawing, box: Area, story: Sequence[PhaseStory], arms: int) -> None:
    most = max(part.pulls for part in story)
    at = ticks(0.0, 1.05 * most or 1.0, 6, whole=True)
    up = Ticks(at, [pulls_text(round(x)) for x in at])
    panel = _phase_panel(drawing, box, story, "pulls", (0.0, 1.05 * most or 1.0), up)
    if len(story) <= BARS:
        for i, part in enumerate(story):
            (left, bottom), (right, top) = panel.place(part.phase - 0.4, 0), panel.place(part.phase + 0.4, part.pulls)
            drawing.rectangle((left, top), (right - left, bottom - top), "mark", id=f"pulls-{i}")
    else:
        edges = [(part.phase + side, float(part.pulls)) for part in story for side in (-0.5, 0.5)]
        outline = [(edges[0][0], 0.0), *edges, (edges[-1][0], 0.0)]
        drawing.area([panel.place(*point) for point in outline], "mark")
    panel.frame()


def _probability(drawing: Drawing, box: Area, story: Sequence[PhaseStory], arms: int) -> None:
    at = ticks(0.0, 1.0, 6)
    panel = _phase_panel(drawing, box, story, "probability", SHARE, Ticks(at, tick_texts(at)))
    known = [(part.phase, part.probability) for part in story if part.probability is not None]
    curve(panel, [(float(phase), p) for phase, p in known], "good", "o", "probability")
    panel.frame()


def _left(drawing: Drawing, box: Area, story: Sequence[PhaseStory], arms: int) -> None:
    at = ticks(0.0, float(arms), 6, whole=True)
    limits = (-0.03 * arms, 1.05 * arms)
    panel = _phase_panel(drawing, box, story, "arms", limits, Ticks(at, tick_texts(at)))
    curve(panel, [(float(p.phase), float(len(p.left))) for p in story], "mark", "o", "left")
    curve(panel, [(float(p.phase), float(len(p.fair))) for p in story], "good", "s", "fair", "5.5 2.4")
    panel.frame()
    key = [Key("arms left", "mark", "o"), Key("shown fair", "good", "s", "5.5 2.4")]
    legend(drawing, key, panel.box.left + 50, panel.box.right, panel.box.top - 12)


def curve(
    panel: Panel, points: Sequence[tuple[float, float]], colour: str, shape: str, id: str, dashes: str = ""
) -> None:
    """A line through the points, and a mark at each unless there are many."""
    places = [panel.place(*point) for point in points]
    panel.drawing.polyline(places, colour, 1.6, dashes, id=id)
    for place in places if len(points) <= BARS else ():
        panel.drawing.mark(shape, place, _size(shape), colour, width=1.8)


def _size(shape: str) -> float:
    """Of a mark on a curve: a star has little in its corners."""
    return 11.0 if shape == "*" else 7.0


# ---- errors against pulls ----


def error_figure(found: Simulation, title: str, description: str, caption: Sequence[str]) -> Figure:
    """Error against pulls, one line per algorithm, the limits as bands."""

    def drawn(name: str, width: float, tall: float) -> str:
        key = [Key(a, _colour(a), MARKERS.get(a, "x")) for a in dict.fromkeys(p.algorithm for p in found.results)]
        at = ticks(0.0, 1.0, 6)
        up = Ticks(at, tick_texts(at))
        left = EDGE + up.widest + 8
        box = Area(left, 26, width - left - 26, tall)
        top = box.bottom + BELOW + LINE + 22
        drawing = Drawing(name, width, 0.0)
        drawing.height = legend(drawing, key, EDGE, width - EDGE, top) + 14
        with drawing.group("axes-1"):
            _draw_errors(drawing, box, found, key, up)
        return drawing.element(title, description)

    return Figure("errors", drawn("errors", WIDE, 320), drawn("errors-narrow", NARROW, 260), caption)


def _draw_errors(drawing: Drawing, box: Area, found: Simulation, key: Sequence[Key], up: Ticks) -> None:
    pulls = sorted({point.pulls for point in found.results})
    spread = (pulls[-1] / pulls[0]) ** 0.05 if pulls[-1] > pulls[0] else 2.0
    x = Scale(pulls[0] / spread, pulls[-1] * spread, box.left, box.right, log=True)
    panel = Panel(drawing, box, x, Scale(*SHARE, box.bottom, box.top))
    panel.up(up, ERROR)
    panel.across(Ticks(*pull_ticks(x, pulls)), ["pulls"])
    curves = [sorted((p for p in found.results if p.algorithm == one.name), key=lambda p: p.pulls) for one in key]
    for i, (one, points) in enumerate(zip(key, curves, strict=True)):
        limits = [(p.pulls, p.error_low) for p in points] + [(p.pulls, p.error_high) for p in reversed(points)]
        drawing.area([panel.place(*point) for point in limits], one.colour, 0.13, id=f"limits-{i}")
    for i, (one, points) in enumerate(zip(key, curves, strict=True)):
        curve(panel, [(p.pulls, p.error) for p in points], one.colour, one.shape, f"error-{i}")
    panel.frame()


def _colour(algorithm: str) -> str:
    """As the style sheet has it on a dark page, and of the figures' own colours on a light one."""
    known = COLOURS.get(algorithm, "#000000")
    return "ink" if known == "#000000" else f"var(--{algorithm}, {known})"


# ---- legends ----


@dataclass(frozen=True)
class Key:
    """A sign of a curve, and what it stands for."""

    name: str
    colour: str
    shape: str
    dashes: str = ""


def legend(drawing: Drawing, key: Sequence[Key], left: float, right: float, top: float) -> float:
    """Lines of signs with their names, as many beside each other as have room; returns the height of the last one."""
    sign, gap = 26.0, 22.0
    texts = [fitted(one.name, right - left - sign) for one in key]
    x, y = left, top
    for one, text in zip(key, texts, strict=True):
        wide = sign + text_width(text)
        if x > left and x + wide > right:
            x, y = left, y + 20.0
        drawing.line((x, y), (x + 20.0, y), one.colour, 1.6, one.dashes)
        drawing.mark(one.shape, (x + 10.0, y), _size(one.shape), one.colour, width=1.8)
        drawing.text(text, (x + sign, y))
        x += wide + gap
    return y
