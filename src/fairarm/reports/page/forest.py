"""Forest plots: a mean, its usual interval as a thick line, what is certified as a thin one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fairarm.reports.page.parts import Figure
from fairarm.reports.page.rows import Canvas, Row, Words, row_figure
from fairarm.reports.svg import THEME
from fairarm.reports.words import value

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDEST, WIDEST_BAND = 4.0, 12.0
"""A picture may be this many times as wide as what must be seen, to hold certified intervals, and to hold the tolerance.
Longer lines end in an arrow."""
USUAL, THIN = 6.0, 1.3
DASHES = (0, (0.5, 0.35))


@dataclass(frozen=True)
class Line:
    """One arm; what is not known is None, and is not drawn."""

    row: Row
    mean: float | None
    usual: tuple[float, float] | None = None
    certified: tuple[float, float] | None = None
    truth: float | None = None
    unfair: bool = False
    weak: bool = False
    """The rows do not speak for it."""

    @property
    def colour(self) -> str:
        return THEME["good" if self.row.best else "faint" if self.unfair else "mark"]


@dataclass(frozen=True)
class Marks:
    """What else is on the scale: the tolerance to both sides of 0, and one more number."""

    tolerance: float | None = None
    zero: bool = False
    plain: float | None = None


def forest(words: Words, lines: Sequence[Line], marks: Marks | None = None) -> Figure:
    marks = marks or Marks()
    limits = window(lines, marks)

    def draw(canvas: Canvas) -> None:
        canvas.axes.set_xlim(*limits)
        _draw_marks(canvas.axes, marks, limits)
        for i, (line, y) in enumerate(zip(lines, canvas.heights, strict=True)):
            _draw_line(canvas.axes, i, line, y, limits)

    caption = [*_said(marks, limits), *words.caption]
    return row_figure(replace(words, caption=caption), [line.row for line in lines], draw)


def _said(marks: Marks, limits: tuple[float, float]) -> list[str]:
    """What the marks are."""
    if (edge := marks.tolerance) is None:
        return []
    beyond = -edge < limits[0] and limits[1] < edge
    band = f"Shaded: the tolerance{', wider than the picture' if beyond else ''}. A gap between {-edge:.6g} and {edge:.6g} is fair."
    plain = "" if marks.plain is None else f" Dotted: the plain gap in the log, {value(marks.plain, '+.4f')}."
    return [band + plain]


def window(lines: Sequence[Line], marks: Marks) -> tuple[float, float]:
    """The limits of the scale: all means, truths and usual intervals are inside, others if that is not too wide."""
    must = [x for line in lines for x in (line.mean, line.truth, *(line.usual or ()))] + [marks.plain]
    seen = [x for x in must if x is not None and math.isfinite(x)] + ([0.0] if marks.zero else [])
    low, high = (min(seen), max(seen)) if seen else (0.0, 1.0)
    if marks.tolerance is not None:
        low, high = _reach(low, high, [-marks.tolerance, marks.tolerance], WIDEST_BAND)
    certified = [x for line in lines for x in line.certified or () if math.isfinite(x)]
    low, high = _reach(low, high, certified, WIDEST)
    pad = 0.04 * max(high - low, 1e-6 * max(1.0, abs(low), abs(high)))
    return low - pad, high + pad


def _reach(low: float, high: float, others: Sequence[float], most: float) -> tuple[float, float]:
    """Wide enough for the others, but at most so many times as wide as it was."""
    first, last = min([low, *others]), max([high, *others])
    span = high - low
    if not span or last - first <= most * span:
        return first, last
    reach = (most - 1) / 2 * span
    return max(first, low - reach), min(last, high + reach)


def _draw_marks(axes: Axes, marks: Marks, limits: tuple[float, float]) -> None:
    if marks.tolerance is not None:
        low, high = max(-marks.tolerance, limits[0]), min(marks.tolerance, limits[1])
        axes.axvspan(low, high, color=THEME["band"], lw=0, zorder=0.3, gid="tolerance")
        for edge in (-marks.tolerance, marks.tolerance):
            if limits[0] < edge < limits[1]:
                axes.axvline(edge, color=THEME["good"], lw=1.2, ls="--", zorder=0.6)
    if marks.zero:
        axes.axvline(0.0, color=THEME["muted"], lw=0.9, zorder=0.6)
    if marks.plain is not None:
        axes.axvline(marks.plain, color=THEME["ink"], lw=1.4, ls=(0, (1, 1.5)), zorder=0.9, gid="plain-gap")


def _draw_line(axes: Axes, i: int, line: Line, y: float, limits: tuple[float, float]) -> None:
    colour = line.colour
    if line.certified is not None:
        _draw_certified(axes, i, line.certified, y, colour, limits)
    if line.usual is not None:
        dashes = DASHES if line.weak else "-"
        axes.plot(line.usual, (y, y), color=colour, lw=USUAL, ls=dashes, solid_capstyle="butt", dash_capstyle="butt", zorder=3, gid=f"usual-{i}")  # fmt: skip
    if line.mean is not None:
        marker, size = ("*", 17.0) if line.row.best else ("o", 9.0)
        face = THEME["paper"] if line.unfair else colour
        edge = colour if line.unfair else THEME["paper"]
        axes.plot([line.mean], [y], marker=marker, ms=size, mfc=face, mec=edge, mew=1.6 if line.unfair else 1.2, ls="", zorder=4, gid=f"mean-{i}")  # fmt: skip
    if line.truth is not None:
        axes.plot([line.truth], [y], marker="x", ms=8, mew=1.8, color=THEME["ink"], ls="", zorder=5, gid=f"truth-{i}")


def _draw_certified(
    axes: Axes, i: int, ends: tuple[float, float], y: float, colour: str, limits: tuple[float, float]
) -> None:
    """Thin, with ends; where it leaves the picture an arrow in place of the end."""
    drawn = tuple(min(max(x, limits[0]), limits[1]) for x in ends)
    axes.plot(drawn, (y, y), color=colour, lw=THIN, zorder=2, gid=f"certified-{i}")
    for x, end, arrow, side in zip(drawn, ends, "<>", ("low", "high"), strict=True):
        cut = x != end
        axes.plot([x], [y], marker=arrow if cut else "|", ms=7 if cut else 10, mew=THIN, color=colour, ls="", clip_on=False, zorder=2, gid=f"{side}-{i}")  # fmt: skip
