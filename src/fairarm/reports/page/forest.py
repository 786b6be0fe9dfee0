"""Forest plots: a mean, its usual interval as a thick line, what is certified as a thin one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from fairarm.reports.page.parts import Figure
from fairarm.reports.page.rows import Canvas, Row, Words, row_figure
from fairarm.reports.words import value

WIDEST, WIDEST_BAND = 4.0, 12.0
"""A picture may be this many times as wide as what must be seen, to hold certified intervals, and to hold the tolerance.
Longer lines end in an arrow."""
USUAL, THIN = 6.0, 1.3
STROKE, BENEATH = 6.0, 7.5
"""Of other numbers: their length, and how far below the line their middle is, where no end of an interval is taken for one."""
DASHES = "3 2.1"


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
    others: tuple[float, ...] = ()
    """Other numbers of the arm on the same scale, without intervals."""

    @property
    def colour(self) -> str:
        """By what the line says: the answer, an unfair arm, or any other."""
        return "good" if self.row.best else "faint" if self.unfair else "mark"


@dataclass(frozen=True)
class Marks:
    """What else is on the scale: the tolerance to both sides of 0, or other ends, and one more number."""

    tolerance: float | None = None
    zero: bool = False
    plain: float | None = None
    digits: str = "+.4f"
    """Of that number."""
    ends: tuple[float | None, float | None] = (None, None)
    """In place of a tolerance: what is fair lies between them; one may be missing."""

    @property
    def fair(self) -> tuple[float | None, float | None]:
        """Where what is fair starts and ends."""
        return self.ends if self.tolerance is None else (-self.tolerance, self.tolerance)

    @property
    def known_ends(self) -> list[float]:
        """Those that there are."""
        return [end for end in self.fair if end is not None]


def forest(words: Words, lines: Sequence[Line], marks: Marks | None = None) -> Figure:
    """Intervals one below the other, on one axis, with the band of what is fair."""
    marks = marks or Marks()
    limits = window(lines, marks)

    def beneath(canvas: Canvas) -> None:
        if marks.known_ends:
            _draw_band(canvas, marks.fair, limits)

    def draw(canvas: Canvas) -> None:
        _draw_marks(canvas, marks, limits)
        for i, line in enumerate(lines):
            _draw_line(canvas, i, line, limits)

    caption = [*_said(marks, limits), *words.caption]
    return row_figure(replace(words, caption=caption), [line.row for line in lines], limits, draw, beneath)


def _said(marks: Marks, limits: tuple[float, float]) -> list[str]:
    """What the marks are."""
    if (edge := marks.tolerance) is None:
        return []
    beyond = -edge < limits[0] and limits[1] < edge
    band = f"Shaded: the tolerance{', wider than the picture' if beyond else ''}. A gap between {-edge:,.6g} and {edge:,.6g} is fair."
    plain = "" if marks.plain is None else f" Dotted: the plain gap in the log, {value(marks.plain, marks.digits)}."
    return [band + plain]


def window(lines: Sequence[Line], marks: Marks) -> tuple[float, float]:
    """The limits of the scale: all means, truths and usual intervals are inside, others if that is not too wide."""
    must = [x for line in lines for x in (line.mean, line.truth, *(line.usual or ()), *line.others)] + [marks.plain]
    seen = [x for x in must if x is not None and math.isfinite(x)] + ([0.0] if marks.zero else [])
    low, high = (min(seen), max(seen)) if seen else (0.0, 1.0)
    low, high = _reach(low, high, marks.known_ends, WIDEST_BAND)
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


def _draw_marks(canvas: Canvas, marks: Marks, limits: tuple[float, float]) -> None:
    panel, box, draw = canvas.panel, canvas.panel.box, canvas.panel.drawing

    def upright(at: float, colour: str, width: float, dashes: str = "", id: str | None = None) -> None:
        x = panel.x(at)
        draw.line((x, box.top), (x, box.bottom), colour, width, dashes, id)

    for end in marks.known_ends:
        if limits[0] < end < limits[1]:
            upright(end, "good", 1.2, "4.4 2")
    if marks.zero:
        upright(0.0, "muted", 0.9)
    if marks.plain is not None and math.isfinite(marks.plain):
        upright(marks.plain, "ink", 1.4, "1.4 2.1", id="plain-gap")


def _draw_band(canvas: Canvas, fair: tuple[float | None, float | None], limits: tuple[float, float]) -> None:
    panel, box = canvas.panel, canvas.panel.box
    low, high = (edge if end is None else end for end, edge in zip(fair, limits, strict=True))
    left, right = (panel.x(min(max(x, limits[0]), limits[1])) for x in (low, high))
    panel.drawing.rectangle((left, box.top), (right - left, box.height), "band", id="tolerance")


def _draw_line(canvas: Canvas, i: int, line: Line, limits: tuple[float, float]) -> None:
    at, y, draw, colour = canvas.panel.x, canvas.heights[i], canvas.panel.drawing, line.colour
    if _known(line.certified):
        _draw_certified(canvas, i, line.certified, colour, limits)
    if _known(line.usual):
        low, high = (at(x) for x in _cut(line.usual, limits))
        draw.line((low, y), (high, y), colour, USUAL, DASHES if line.weak else "", id=f"usual-{i}")
    if line.others:
        draw.strokes("|", [(at(x), y + BENEATH) for x in line.others], STROKE, colour, 1.4, id=f"others-{i}")
    if line.mean is not None and math.isfinite(line.mean):
        shape, size = ("*", 17.0) if line.row.best else ("o", 9.0)
        fill, edge = ("paper", colour) if line.unfair else (colour, "paper")
        draw.mark(shape, (at(line.mean), y), size, fill, edge, 1.6 if line.unfair else 1.2, id=f"mean-{i}")
    if line.truth is not None and math.isfinite(line.truth):
        draw.mark("x", (at(line.truth), y), 8.0, "ink", width=1.8, id=f"truth-{i}")


def _known(ends: tuple[float, float] | None) -> TypeGuard[tuple[float, float]]:
    return ends is not None and not any(math.isnan(x) for x in ends)


def _cut(ends: tuple[float, float], limits: tuple[float, float]) -> tuple[float, float]:
    """The part that is in the picture."""
    low, high = (min(max(x, limits[0]), limits[1]) for x in ends)
    return low, high


def _draw_certified(
    canvas: Canvas, i: int, ends: tuple[float, float], colour: str, limits: tuple[float, float]
) -> None:
    """Thin, with ends; where it leaves the picture an arrow in place of the end."""
    at, y, draw = canvas.panel.x, canvas.heights[i], canvas.panel.drawing
    drawn = _cut(ends, limits)
    draw.line((at(drawn[0]), y), (at(drawn[1]), y), colour, THIN, id=f"certified-{i}")
    for x, end, arrow, side in zip(drawn, ends, "<>", ("low", "high"), strict=True):
        cut = x != end
        draw.mark(arrow if cut else "|", (at(x), y), 7.0 if cut else 10.0, colour, width=THIN, id=f"{side}-{i}")
