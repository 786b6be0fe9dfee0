"""A small writer of SVG for pages: lines, bars, marks and text, in the page's own colours.

Colours are names of the page's CSS variables, so that a figure is right on a light page, on a dark one and in print. Text
stays text, to be selected, searched and read aloud. Lengths are in pixels, at which a figure is shown unless the screen is
narrower. Same calls, same bytes.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape

from fairarm.errors import printable

Point = tuple[float, float]

NAMES = frozenset({"ink", "muted", "faint", "line", "band", "mark", "good", "bad", "paper"})
"""Colours that the page's style sheet has; others are written as they are."""
LIGHT = {
    "ink": "#1d232a", "muted": "#56606b", "faint": "#8b949e", "line": "#d4d9df", "band": "#dcefe0", "mark": "#0b5fa5", "good": "#17703a",
    "bad": "#b3261e", "paper": "#ffffff",
}  # fmt: skip
"""What they are on a light page: for a figure in a file of its own."""
SIZE = 12.0
"""Of letters."""
MIDDLE = 0.35
"""From the middle of a line of letters down to the line they stand on, by their size."""
BOLDER = 1.15

_WIDTHS = {
    0.34: " ijlI.,'J",
    0.44: "|!:;ft()[]/\\-r",
    0.56: '"szc_*?`',
    0.66: "abdeghknopquvxyEFLTYSP0123456789${}",
    0.79: "ABCDGHKNOQRUVXZ&",
    0.87: "wM+=<>~#^",
    1.0: "mW@%",
}
_WIDTH = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
"""Of letters, by their size, in the widest of the common fonts."""
_NO_WIDTH = ("Mn", "Me", "Cf")
_FULL, _CAPITAL, _OTHER = 1.05, 1.0, 0.8


def text_width(text: str, size: float = SIZE, bold: bool = False) -> float:
    """Pixels that a text takes, rather too many than too few, whatever the common font."""
    return size * (BOLDER if bold else 1.0) * sum(_letter_width(letter) for letter in text)


def _letter_width(letter: str) -> float:
    plain = unicodedata.normalize("NFD", letter)[0]  # without its accent
    if (known := _WIDTH.get(plain)) is not None:
        return known
    kind = unicodedata.category(letter)
    if kind in _NO_WIDTH:
        return 0.0
    if unicodedata.east_asian_width(letter) in "WF" or kind in ("So", "Po", "Sm", "Co"):
        return _FULL
    return _CAPITAL if kind == "Lu" else _OTHER


def shown(text: str, most: int) -> str:
    """A name of at most so many letters, shortened in its middle: names often differ at their ends."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def fitted(text: str, room: float, size: float = SIZE, bold: bool = False, least: int = 6) -> str:
    """A name, as it will be seen, shortened until there is room for it, but not beyond recognition."""
    text = printable(text)
    most = len(text)
    while most > least and text_width(shown(text, most), size, bold) > room:
        most -= 1
    return shown(text, most)


def wrapped(text: str, room: float, size: float = SIZE) -> list[str]:
    """Lines of words, none wider than the room; a word that is too wide is shortened."""
    lines: list[str] = []
    for word in text.split():
        word = fitted(word, room, size)
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


# ---- marks ----


def _polygon(corners: int, start: float = -90.0) -> tuple[Point, ...]:
    turns = (math.radians(start + 360.0 * k / corners) for k in range(corners))
    return tuple((math.cos(turn), math.sin(turn)) for turn in turns)


def _cross(width: float, turn: float) -> tuple[Point, ...]:
    """A plus whose arms are so wide, turned by so many degrees."""
    corner = [(width, -1.0), (width, -width), (1.0, -width), (1.0, width)]
    corners = [p for quarter in range(4) for p in _turned(corner[:3], 90.0 * quarter)]
    return tuple(_turned(corners, turn))


def _turned(points: Sequence[Point], degrees: float) -> list[Point]:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return [(x * c - y * s, x * s + y * c) for x, y in points]


def _star() -> tuple[Point, ...]:
    outer, inner = _polygon(5), [(0.4 * x, 0.4 * y) for x, y in _polygon(5, -54.0)]
    return tuple(point for pair in zip(outer, inner, strict=True) for point in pair)


SHAPES: dict[str, tuple[Point, ...]] = {
    "*": _star(),
    "s": ((-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)),
    "^": ((0.0, -1.0), (1.0, 0.85), (-1.0, 0.85)),
    "v": ((0.0, 1.0), (1.0, -0.85), (-1.0, -0.85)),
    "<": ((-1.0, 0.0), (0.85, -1.0), (0.85, 1.0)),
    ">": ((1.0, 0.0), (-0.85, -1.0), (-0.85, 1.0)),
    "D": ((0.0, -1.15), (1.15, 0.0), (0.0, 1.15), (-1.15, 0.0)),
    "d": ((0.0, -1.15), (0.65, 0.0), (0.0, 1.15), (-0.65, 0.0)),
    "P": _cross(0.38, 0.0),
    "X": _cross(0.38, 45.0),
    "p": _polygon(5),
    "h": _polygon(6),
}
"""Corners of the marks around their place, at a radius of 1; besides these a circle o, a stroke | and a cross x."""
STROKES = {"|": "M0 {r}V-{r}", "x": "M-{r} -{r}L{r} {r}M-{r} {r}L{r} -{r}"}


# ---- the drawing ----


def number(x: float) -> str:
    """A coordinate, to a hundredth of a pixel."""
    text = f"{x:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def seen(words: str) -> str:
    """Words as markup: what cannot be seen as its escape, nothing of it an element."""
    return escape(printable(words))


def colour(name: str) -> str:
    """A colour of the page's own, which follows light and dark; else as given."""
    return f"var(--{name})" if name in NAMES else name


def _path(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


class Drawing:
    """A figure under way; its ids start with ``name``."""

    def __init__(self, name: str, width: float, height: float) -> None:
        self.name, self.width, self.height = name, width, height
        self._parts: list[str] = []
        self._hatches: list[str] = []

    def element(self, title: str, description: str) -> str:
        """The whole as an element of a page, with words for whoever cannot see it."""
        name = escape(self.name)
        defined = f"<defs>{''.join(self._hatches)}</defs>" if self._hatches else ""
        return (
            f'<svg viewBox="0 0 {number(self.width)} {number(self.height)}" style="max-width: {number(self.width)}px" role="img" '
            f'aria-labelledby="{name}-title {name}-text"><title id="{name}-title">{seen(title)}</title>'
            f'<desc id="{name}-text">{seen(description)}</desc>{defined}{"".join(self._parts)}</svg>'
        )

    def document(self, title: str, description: str) -> str:
        """The whole as a file of its own, in the colours of a light page."""
        colours = "; ".join(f"--{name}: {seen}" for name, seen in LIGHT.items())
        size = f'width="{number(self.width)}" height="{number(self.height)}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="Helvetica, Arial, sans-serif" '
        style = f"<style>svg {{ {colours} }}</style>"
        start, end = self.element(title, description).removeprefix("<svg ").split("</title>", 1)
        return f"{head}{start}</title>{style}{end}\n"

    @contextmanager
    def group(self, id: str | None = None, kind: str | None = None) -> Iterator[None]:
        """What is drawn within belongs together."""
        of_kind = f' class="{kind}"' if kind else ""
        self._parts.append(f"<g{self._named(id)}{of_kind}>")
        yield
        self._parts.append("</g>")

    def line(
        self, start: Point, end: Point, stroke: str, width: float = 1.0, dashes: str = "", id: str | None = None
    ) -> None:
        """A straight line; ``id`` is unique within the drawing."""
        (x1, y1), (x2, y2) = start, end
        ends = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
        self._parts.append(f"<line{self._named(id)} {ends}{_style(None, stroke, width, dashes)}/>")

    def polyline(
        self, points: Sequence[Point], stroke: str, width: float = 1.5, dashes: str = "", id: str | None = None
    ) -> None:
        """An open line through all points."""
        self._parts.append(f'<path{self._named(id)} d="{_path(points)}"{_style("none", stroke, width, dashes)}/>')

    def area(self, points: Sequence[Point], fill: str, opacity: float = 1.0, id: str | None = None) -> None:
        """A closed shape, filled."""
        self._parts.append(f'<path{self._named(id)} d="{_path(points)}Z"{_style(fill, opacity=opacity)}/>')

    def rectangle(
        self,
        corner: Point,
        size: Point,
        fill: str = "none",
        stroke: str | None = None,
        width: float = 1.0,
        id: str | None = None,
    ) -> None:
        """From its upper left ``corner``."""
        place = f'x="{number(corner[0])}" y="{number(corner[1])}" width="{number(size[0])}" height="{number(size[1])}"'
        self._parts.append(f"<rect{self._named(id)} {place}{_style(fill, stroke, width)}/>")

    def cells(
        self, corners: Sequence[Point], size: Point, fill: str, opacity: float = 1.0, id: str | None = None
    ) -> None:
        """Rectangles of one colour and size as one path: a map of many cells stays small."""
        box = f"h{number(size[0])}v{number(size[1])}h-{number(size[0])}z"
        d = "".join(f"M{number(x)} {number(y)}{box}" for x, y in corners)
        self._parts.append(f'<path{self._named(id)} class="cells" d="{d}"{_style(fill, opacity=opacity)}/>')

    def mark(
        self,
        shape: str,
        place: Point,
        size: float,
        fill: str,
        stroke: str | None = None,
        width: float = 1.0,
        id: str | None = None,
    ) -> None:
        """A mark so many pixels wide; one of strokes has the colour of ``fill``."""
        radius = size / 2
        if shape in STROKES:
            style = _style("none", fill, width)
            d = STROKES[shape].format(r=number(radius))
        else:
            style = _style(fill, stroke, width)
            d = _circle(radius) if shape == "o" else _path([(radius * x, radius * y) for x, y in SHAPES[shape]]) + "Z"
        at = f"translate({number(place[0])} {number(place[1])})"
        self._parts.append(f'<path{self._named(id)} class="mark" transform="{at}" d="{d}"{style}/>')

    def strokes(
        self, shape: str, places: Sequence[Point], size: float, stroke: str, width: float = 1.0, id: str | None = None
    ) -> None:
        """Marks of strokes, | or x, as one path: many of them stay small."""
        r, d = number(size / 2), number(size)
        drawn = {"|": f"m0 -{r}v{d}", "x": f"m-{r} -{r}l{d} {d}m0 -{d}l-{d} {d}"}[shape]
        path = "".join(f"M{number(x)} {number(y)}{drawn}" for x, y in places)
        self._parts.append(f'<path{self._named(id)} class="strokes" d="{path}"{_style("none", stroke, width)}/>')

    def text(
        self,
        words: str,
        place: Point,
        anchor: str = "start",
        size: float = SIZE,
        fill: str = "ink",
        bold: bool = False,
        upright: bool = False,
        halo: bool = False,
    ) -> None:
        """A line of text whose middle is as high as the place; ``upright`` reads from below, ``halo`` parts it from lines."""
        x, y = place
        weight = "; font-weight: bold" if bold else ""
        turn = f' transform="rotate(-90 {number(x)} {number(y)})"' if upright else ""
        kind = ' class="halo"' if halo else ""
        self._parts.append(
            f'<text{kind} x="{number(x)}" y="{number(y + MIDDLE * size)}"{turn} style="font-size: {number(size)}px; '
            f'text-anchor: {anchor}; fill: {colour(fill)}{weight}">{seen(words)}</text>'
        )

    def hatch(self, crossed: bool = False) -> str:
        """A fill of slanting lines."""
        id = f"{self.name}-{'crossed' if crossed else 'hatched'}"
        lines = "M0 6L6 0M-1 1L1 -1M5 7L7 5" + ("M0 0L6 6M-1 5L1 7M5 -1L7 1" if crossed else "")
        made = (
            f'<pattern id="{escape(id)}" width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<path d="{lines}"{_style("none", "muted", 0.8)}/></pattern>'
        )
        if made not in self._hatches:
            self._hatches.append(made)
        return f"url(#{id})"

    def _named(self, id: str | None) -> str:
        return f' id="{escape(f"{self.name}-{id}")}"' if id is not None else ""


def _circle(radius: float) -> str:
    r = number(radius)
    return f"M-{r} 0A{r} {r} 0 1 0 {r} 0A{r} {r} 0 1 0 -{r} 0Z"


def _style(
    fill: str | None, stroke: str | None = None, width: float = 1.0, dashes: str = "", opacity: float = 1.0
) -> str:
    said = [] if fill is None else [f"fill: {colour(fill)}"]
    if opacity != 1.0:
        said.append(f"fill-opacity: {number(opacity)}")
    if stroke is not None:
        said.append(f"stroke: {colour(stroke)}; stroke-width: {number(width)}")
    if dashes:
        said.append(f"stroke-dasharray: {dashes}")
    return f' style="{"; ".join(said)}"'
