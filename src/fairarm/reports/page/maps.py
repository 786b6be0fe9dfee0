"""Maps: how far every arm is from every other, by colour."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.errors import printable
from fairarm.reports.page.axes import Area
from fairarm.reports.page.parts import Figure
from fairarm.reports.svg import Drawing, Point, fitted, shown, text_width, wrapped
from fairarm.reports.words import value

NAMED, NUMBERED = 24, 8
"""With more arms a map has positions in place of names; with more than the second its cells hold no numbers."""
WIDE, NARROW = 440.0, 350.0
SHADES = ("#fee838", "#ddc858", "#bbad6d", "#9a9376", "#7c7b78", "#60646f", "#424e6c", "#18376f", "#00224e")
"""From near to far: lightness alone tells them apart, and people who see fewer colours see these."""
LEVELS = 64
DARK, LIGHT = "#0a0a0a", "#ffffff"
"""Letters on a map's colours, which are the same on every page."""


def map_figure(name: str, title: str, matrix: FloatArray, arms: Sequence[str]) -> Figure:
    """How far row k is from column j, by colour; no overlap at all is hatched."""
    described = f"{title}. Infinite for {int(np.isinf(matrix).sum())} of {matrix.size} pairs."

    def drawn(name: str, width: float) -> str:
        return _drawn(name, width, title, matrix, arms).element(title, described)

    narrow = (
        drawn(f"{name}-narrow", NARROW) if len(arms) <= NAMED else None
    )  # without names nothing in it gets too small
    return Figure(name, drawn(name, WIDE), narrow, ())


def _drawn(name: str, width: float, title: str, matrix: FloatArray, arms: Sequence[str]) -> Drawing:
    K = len(arms)
    labels = [shown(printable(arm), 14) for arm in arms] if K <= NAMED else []
    size = 12.0 if K <= 12 else 10.0 if K <= 18 else 8.5
    room = 0.36 * width
    labels = [fitted(label, room, size) for label in labels]
    around = max((text_width(label, size) for label in labels), default=30.0) + 8
    around = float(math.ceil(around))
    heading = wrapped(title, width - around)
    cell = math.floor((width - around - 14) / K)  # whole pixels: no seams, and short to write
    box = Area(around, 12.0 + 16.0 * len(heading), cell * K, cell * K)
    drawing = Drawing(name, width, box.bottom + around + 50)
    for i, words in enumerate(heading):
        drawing.text(words, (around, 12.0 + 16.0 * i))
    scale = _Shades(matrix)
    _draw_cells(drawing, box, matrix, scale)
    _name_cells(drawing, box, labels, K, size)
    if K <= NUMBERED:
        _number_cells(drawing, box, matrix, scale)
    _key(drawing, Area(box.left, box.bottom + around + 12, box.width, 10.0), scale)
    return drawing


class _Shades:
    """Colours by the logarithm of the distance, from the smallest of a matrix to its largest."""

    def __init__(self, matrix: FloatArray) -> None:
        finite = matrix[np.isfinite(matrix) & (matrix > 0)]
        self.low, high = (float(finite.min()), float(finite.max())) if finite.size else (1.0, 2.0)
        self.high = max(high, 1.05 * self.low)

    def level(self, x: float) -> int:
        """0 for the nearest, LEVELS - 1 for the farthest."""
        share = math.log(max(x, self.low) / self.low) / math.log(self.high / self.low)
        return min(round(share * (LEVELS - 1)), LEVELS - 1)

    def at(self, share: float) -> float:
        return self.low * math.exp(share * math.log(self.high / self.low))


def _rgb(level: int) -> tuple[int, int, int]:
    """Between two of the shades."""
    place = level / (LEVELS - 1) * (len(SHADES) - 1)
    first = min(int(place), len(SHADES) - 2)
    pairs = [(int(SHADES[first][i : i + 2], 16), int(SHADES[first + 1][i : i + 2], 16)) for i in (1, 3, 5)]
    red, green, blue = (round(a + (b - a) * (place - first)) for a, b in pairs)
    return red, green, blue


def _shade(level: int) -> str:
    return "#{:02x}{:02x}{:02x}".format(*_rgb(level))


def _draw_cells(drawing: Drawing, box: Area, matrix: FloatArray, scale: _Shades) -> None:
    cell = box.width / len(matrix)
    by_level: dict[int, list[Point]] = {}
    cut = []
    for (k, j), x in np.ndenumerate(matrix):
        corner = (box.left + cell * j, box.top + cell * k)
        if np.isfinite(x):
            by_level.setdefault(scale.level(float(x)), []).append(corner)
        elif np.isinf(x):
            cut.append(corner)
    for level in sorted(by_level):
        drawing.cells(by_level[level], (cell, cell), _shade(level))
    if cut:
        drawing.cells(cut, (cell, cell), drawing.hatch(crossed=True))
    drawing.rectangle((box.left, box.top), (box.width, box.height), "none", "line", 0.8)


def _name_cells(drawing: Drawing, box: Area, labels: Sequence[str], K: int, size: float) -> None:
    cell = box.width / K
    texts = dict(enumerate(labels)) or {k: str(k + 1) for k in range(9, K, 10)}
    for k, text in texts.items():
        middle = cell * (k + 0.5)
        drawing.text(text, (box.left - 5, box.top + middle), "end", size)
        drawing.text(text, (box.left + middle, box.bottom + 5), "end", size, upright=True)


def _number_cells(drawing: Drawing, box: Area, matrix: FloatArray, scale: _Shades) -> None:
    cell = box.width / len(matrix)
    widest = max(text_width(_short(float(x)), 1.0) for x in matrix.ravel())
    size = min(11.0, 0.94 * cell / widest)
    for (k, j), x in np.ndenumerate(matrix):
        colour = _letters(scale.level(float(x))) if np.isfinite(x) else "ink"
        place = (box.left + cell * (j + 0.5), box.top + cell * (k + 0.5))
        drawing.text(_short(float(x)), place, "middle", size, colour)


def _letters(level: int) -> str:
    red, green, blue = _rgb(level)
    return DARK if 0.3 * red + 0.59 * green + 0.11 * blue > 120 else LIGHT


def _key(drawing: Drawing, box: Area, scale: _Shades) -> None:
    """The colours beside each other, and numbers below four of them."""
    wide = box.width / LEVELS
    for level in range(LEVELS):
        drawing.cells([(box.left + wide * level, box.top)], (wide, box.height), _shade(level))
    for i in range(4):
        x, anchor = box.left + box.width * i / 3, "start" if i == 0 else "end" if i == 3 else "middle"
        drawing.line((x, box.bottom), (x, box.bottom + 3), "line", 0.8)
        drawing.text(_short(scale.at(i / 3)), (x, box.bottom + 14), anchor, 11.0, "muted")


def _short(x: float) -> str:
    """At most five letters up to a hundred thousand: 1.25, 12.5, 125, 12500."""
    if not np.isfinite(x):
        return value(x)
    return format(x, ".2f" if x < 10 else ".1f" if x < 100 else ".0f" if x < 1e5 else ".0e")
