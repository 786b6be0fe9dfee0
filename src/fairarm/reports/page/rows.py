"""The frame of a figure with one row an arm: names at the left, numbers at the right, a picture between.

On a phone the name and the number stand above the picture, so that letters keep their size. Lengths are in pixels of the
figure, at which it is shown unless the screen is narrower.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairarm.reports.page.parts import Figure
from fairarm.reports.svg import THEME, drawing, page_svg, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawn

MOST_ROWS = 60
DOTS_AN_INCH = 72
SIZE, EM = 12.0, 0.6
"""Of letters, and the width of one: no common font has wider ones on average."""
MANY = 25
"""With more rows the scale is repeated at the top."""


@dataclass(frozen=True)
class Frame:
    """Pixels: of the whole, of a row, down to the picture's line in it, and around the rows."""

    width: float
    row: float
    line: float
    top: float
    bottom: float
    edge: float
    """Left and right of everything."""
    ticks: int


WIDE = Frame(width=920, row=24, line=12, top=30, bottom=46, edge=4, ticks=7)
NARROW = Frame(width=360, row=42, line=30, top=26, bottom=46, edge=14, ticks=5)
NAME = 230.0
"""The room for a name beside the picture."""


@dataclass(frozen=True)
class Row:
    """A name, the numbers that stand beside it, a shorter form for a phone, and whether it is the one to look at."""

    label: str
    side: str
    short: str
    best: bool = False


@dataclass(frozen=True)
class Canvas:
    """Where to draw: row i has its line at ``heights[i]``, on axes whose vertical scale is pixels from the top."""

    axes: Axes
    heights: tuple[float, ...]
    narrow: bool


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


def row_figure(words: Words, rows: Sequence[Row], draw: Callable[[Canvas], None]) -> Figure:
    """The figure for a screen and the one for a phone; ``draw`` fills the axes and sets their horizontal limits."""
    wide, narrow = (_drawn(words, rows, draw, frame) for frame in (WIDE, NARROW))
    return Figure(words.name, wide, narrow, words.caption)


def _drawn(words: Words, rows: Sequence[Row], draw: Callable[[Canvas], None], frame: Frame) -> str:
    from matplotlib.figure import Figure as Drawn

    narrow = frame is NARROW
    labels = [
        _fitted(row, frame.width - 2 * frame.edge - text_width(row.short) - 8 if narrow else NAME) for row in rows
    ]
    many = len(rows) > MANY
    top = frame.top + (18 if many else 0)
    height = top + frame.row * len(rows) + frame.bottom
    left = frame.edge + (0 if narrow else _widest(labels) + 8)
    right = frame.edge + (0 if narrow else _widest([words.heads[1], *(row.side for row in rows)]) + 8)
    with drawing():
        figure = Drawn(figsize=(frame.width / DOTS_AN_INCH, height / DOTS_AN_INCH), dpi=DOTS_AN_INCH)
        across = frame.width - left - right
        axes = figure.add_axes(
            (left / frame.width, frame.bottom / height, across / frame.width, frame.row * len(rows) / height)
        )
        _scale(axes, frame, len(rows), words.xlabel, many)
        heights = tuple(frame.row * i + frame.line for i in range(len(rows)))
        _write(figure, words.heads, rows, labels, frame, height, top)
        draw(Canvas(axes, heights, narrow))
        name = f"{words.name}-narrow" if narrow else words.name
        return page_svg(figure, name, words.title, words.description)


def _fitted(row: Row, room: float) -> str:
    """The name, shortened until there is room for it, but not beyond recognition."""
    star, most = ("★ " if row.best else ""), len(row.label)
    while most > 6 and text_width(star + shown(row.label, most), bold=row.best) > room:
        most -= 1
    return star + shown(row.label, most)


def _widest(texts: Sequence[str]) -> float:
    return max(text_width(text) for text in texts)


def text_width(text: str, bold: bool = False) -> float:
    """Pixels, a little too many: full-width letters count twice."""
    wide = sum(1.05 if unicodedata.east_asian_width(letter) in "WF" else EM for letter in text)
    return SIZE * wide * (1.1 if bold else 1.0)


def _scale(axes: Axes, frame: Frame, rows: int, xlabel: str, many: bool) -> None:
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    axes.set_ylim(frame.row * rows, 0)
    axes.set_yticks([])
    axes.set_xlabel(xlabel, fontsize=SIZE, color=THEME["muted"])
    axes.xaxis.set_major_locator(MaxNLocator(frame.ticks, steps=[1, 2, 5, 10]))
    plain = ScalarFormatter(useOffset=False)
    plain.set_scientific(False)
    axes.xaxis.set_major_formatter(plain)
    axes.tick_params(axis="x", labelsize=11, color=THEME["line"], labelcolor=THEME["muted"], top=many, labeltop=many)
    axes.grid(axis="x", color=THEME["line"], lw=0.6)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_color(THEME["line"])
    for i in range(1, rows):
        axes.axhline(frame.row * i, color=THEME["line"], lw=0.6, zorder=0.5)


def _write(
    figure: Drawn,
    heads: tuple[str, str, str],
    rows: Sequence[Row],
    labels: Sequence[str],
    frame: Frame,
    height: float,
    top: float,
) -> None:
    """Names, numbers, and what they are."""
    narrow = frame is NARROW
    left, right = frame.edge / frame.width, 1 - frame.edge / frame.width
    for x, words, align in ((left, heads[0], "left"), (right, heads[2 if narrow else 1], "right")):
        figure.text(x, 1 - 12 / height, words, ha=align, va="center", fontsize=11, color=THEME["muted"])
    for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
        y = 1 - (top + frame.row * i + (13 if narrow else frame.line)) / height
        weight = "bold" if row.best else "normal"
        figure.text(
            left, y, label, ha="left", va="center_baseline", fontsize=SIZE, fontweight=weight, color=THEME["ink"]
        )
        figure.text(
            right,
            y,
            row.short if narrow else row.side,
            ha="right",
            va="center_baseline",
            fontsize=SIZE,
            color=THEME["ink"],
        )
