"""The frame of a figure with one row per arm: names at the left, numbers at the right, a picture between.

On a phone the name and the number stand above the picture, so that letters keep their size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairarm.reports.page.axes import BELOW, LINE, Area, Panel, Ticks
from fairarm.reports.page.parts import Figure
from fairarm.reports.scales import Scale, fitting_ticks
from fairarm.reports.svg import Drawing, fitted, text_width, wrapped

MOST_ROWS = 60
MANY = 25
"""With more rows the scale is repeated at the top."""
HEAD_SIZE = 11.0


@dataclass(frozen=True)
class Frame:
    """Pixels: of the whole, of a row, down to the picture's line and to the letters in it, and above the rows."""

    width: float
    row: float
    line: float
    letters: float
    top: float
    edge: float
    """Left and right of everything."""
    ticks: int


WIDE = Frame(width=920, row=24, line=12, letters=12, top=30, edge=4, ticks=8)
NARROW = Frame(width=360, row=42, line=30, letters=13, top=26, edge=14, ticks=6)
NAME, HEAD = 230.0, 250.0
"""The room for a name beside the picture, and the least for what heads the numbers."""
STAR = "★ "


@dataclass(frozen=True)
class Row:
    """A name, the numbers that stand beside it, a shorter form for a phone, and whether it is the one to look at."""

    label: str
    side: str
    short: str
    best: bool = False


@dataclass(frozen=True)
class Canvas:
    """Where to draw: numbers by the panel's horizontal scale, row i at the height ``heights[i]`` in pixels."""

    panel: Panel
    heights: tuple[float, ...]


@dataclass(frozen=True)
class Words:
    """What is written around a figure."""

    name: str
    title: str
    description: str
    heads: tuple[str, str, str]
    """Of the names, of the numbers, of their shorter form."""
    xlabel: str
    caption: Sequence[str]


def row_figure(
    words: Words,
    rows: Sequence[Row],
    limits: tuple[float, float],
    draw: Callable[[Canvas], None],
    beneath: Callable[[Canvas], None] = lambda canvas: None,
) -> Figure:
    """The figure for a screen and the one for a phone.

    ``draw`` fills the picture, whose scale has these limits, and ``beneath`` what the grid goes over.
    """

    def drawn(frame: Frame) -> str:
        layout = _layout(words, rows, frame)
        drawing, box = layout.drawing, layout.box
        panel = Panel(drawing, box, Scale(*limits, box.left, box.right), Scale(0, box.height, box.top, box.bottom))
        canvas = Canvas(panel, tuple(box.top + frame.row * i + frame.line for i in range(len(rows))))
        with drawing.group("axes-1"):
            beneath(canvas)
            _lines(panel, frame, len(rows))
            panel.across(Ticks(*fitting_ticks(panel.x, frame.ticks)), layout.below, len(rows) > MANY)
            draw(canvas)
            panel.frame("frame")
        _write(layout, rows, frame)
        return drawing.element(words.title, words.description)

    return Figure(words.name, drawn(WIDE), drawn(NARROW), words.caption)


@dataclass(frozen=True)
class _Layout:
    """What stands where, by how wide the texts are."""

    drawing: Drawing
    box: Area
    heads: tuple[str, str]
    labels: Sequence[str]
    numbers: Sequence[str]
    below: Sequence[str]


def _layout(words: Words, rows: Sequence[Row], frame: Frame) -> _Layout:
    narrow = frame is NARROW
    inside = frame.width - 2 * frame.edge
    numbers = [row.short if narrow else row.side for row in rows]
    widest = max(text_width(text) for text in numbers)
    labels = [
        _label(row, inside - text_width(text) - 22 if narrow else NAME) for row, text in zip(rows, numbers, strict=True)
    ]
    room = inside / 2 if narrow else max(widest, HEAD)
    first, second = (fitted(head, room, HEAD_SIZE) for head in (words.heads[0], words.heads[2 if narrow else 1]))
    left = right = 0.0
    if not narrow:
        left = 12 + max(text_width(label, bold=row.best) for row, label in zip(rows, labels, strict=True))
        right = 14 + max(widest, text_width(second, HEAD_SIZE))
    top = frame.top + (18 if len(rows) > MANY else 0)
    box = Area(frame.edge + left, top, inside - left - right, frame.row * len(rows))
    below = wrapped(words.xlabel, box.width)
    height = box.bottom + BELOW + LINE * len(below) + 12
    drawing = Drawing(f"{words.name}-narrow" if narrow else words.name, frame.width, height)
    return _Layout(drawing, box, (first, second), labels, numbers, below)


def _write(layout: _Layout, rows: Sequence[Row], frame: Frame) -> None:
    """Names, numbers, and what they are."""
    inset = 5.0 if frame is NARROW else 0.0  # on a phone letters stand within the frame
    left, right = frame.edge + inset, frame.width - frame.edge - inset
    layout.drawing.text(layout.heads[0], (left, 12.0), "start", HEAD_SIZE, "muted")
    layout.drawing.text(layout.heads[1], (right, 12.0), "end", HEAD_SIZE, "muted")
    for i, row in enumerate(rows):
        y = layout.box.top + frame.row * i + frame.letters
        layout.drawing.text(layout.labels[i], (left, y), bold=row.best, halo=inset > 0)
        layout.drawing.text(layout.numbers[i], (right, y), "end", halo=inset > 0)


def _label(row: Row, room: float) -> str:
    star = STAR if row.best else ""
    return star + fitted(row.label, room - text_width(star, bold=row.best), bold=row.best)


def _lines(panel: Panel, frame: Frame, rows: int) -> None:
    """Between rows."""
    box = panel.box
    for i in range(1, rows):
        y = box.top + frame.row * i
        panel.drawing.line((box.left, y), (box.right, y), "line", 0.6)
