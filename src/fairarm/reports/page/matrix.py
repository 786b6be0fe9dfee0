"""A matrix: every condition of every arm, by how likely it is to hold; with its number where there is room.

On a phone the name of an arm stands above its cells, as in the other figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from fairarm.reports.page.axes import Area
from fairarm.reports.page.parts import Figure
from fairarm.reports.page.rows import MANY, NAME, STAR
from fairarm.reports.svg import Drawing, Point, fitted, text_width

WIDE, NARROW = 920.0, 360.0
EDGE, LINE = 4.0, 18.0
CELL, WIDEST, SMALL = 22.0, 76.0, 9.0
"""Pixels: the height of a cell, its largest width, and the size of a number in it; narrower cells are crossed out, not numbered."""
HEAD, SLANTED = 11.0, 150.0
"""Letters of a heading, and the room for one that reads from below."""

SURE, PROBABLY = 0.95, 0.5
UNKNOWN = 4


@dataclass(frozen=True)
class Cell:
    """A number as it is written, and how likely it is to be allowed: 0 surely, 1 and 2 probably or not, 3 not, 4 not known."""

    text: str
    level: int


@dataclass(frozen=True)
class Line:
    """An arm with its cells."""

    label: str
    best: bool
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Matrix:
    """What is drawn: headings of the columns, the question of each, the arms, and the meaning of the levels."""

    heads: Sequence[str]
    questions: Sequence[str]
    lines: Sequence[Line]
    key: Sequence[tuple[int, str]]


def level_of(holds: float | None, inside: bool | None) -> int:
    """By the probability that it holds; where there is none, by the estimate."""
    if holds is None:
        return UNKNOWN if inside is None else 0 if inside else 3
    return 0 if holds >= SURE else 1 if holds >= PROBABLY else 2 if holds > 1 - SURE else 3


FILLS = {0: ("band", 1.0), 1: ("band", 0.45), 2: ("faint", 0.4), 3: ("muted", 1.0), UNKNOWN: ("paper", 1.0)}


def matrix_figure(name: str, title: str, description: str, made: Matrix, caption: Sequence[str]) -> Figure:
    """For a screen and for a phone."""

    def drawn(name: str, narrow: bool) -> str:
        return _Layout(name, made, narrow).drawn().element(title, description)

    return Figure(name, drawn(name, False), drawn(f"{name}-narrow", True), caption)


class _Layout:
    """Where the parts stand."""

    def __init__(self, name: str, made: Matrix, narrow: bool) -> None:
        self.made, self.narrow = made, narrow
        width, J = NARROW if narrow else WIDE, len(made.heads)
        self.edge = 14.0 if narrow else EDGE
        inside = width - 2 * self.edge
        self.labels = [_label(line, inside if narrow else NAME) for line in made.lines]
        widths = (text_width(label, bold=line.best) for label, line in zip(self.labels, made.lines, strict=True))
        left = self.edge + (0.0 if narrow else 10.0 + max(widths))
        self.cell = min((width - self.edge - left) // J, WIDEST) or 1.0
        texts = [cell.text for line in made.lines for cell in line.cells]
        self.numbered = max(text_width(text, SMALL, bold=True) for text in texts) <= self.cell - 2
        self.upright = max(text_width(head, HEAD) for head in made.heads) > self.cell - 6
        self.heads = [fitted(head, SLANTED if self.upright else self.cell, HEAD) for head in made.heads]
        grouped = len(set(made.questions)) > 1
        self.questions_at = 12.0
        top = (LINE if grouped else 0.0) + 8.0 + self._heads_height()
        self.row = 42.0 if narrow else CELL + 2
        self.box = Area(left, top, self.cell * J, self.row * len(made.lines))
        self.grouped = grouped
        again = self._heads_height() + 8 if len(made.lines) > MANY else 0.0
        key_rows = _key_places(made.key, self.edge, width - self.edge)
        self.key_top = self.box.bottom + again + 20.0
        self.drawing = Drawing(name, width, self.key_top + 20.0 * (key_rows[-1][1] + 1) - 4.0)
        self.key_places = key_rows

    def _heads_height(self) -> float:
        return max(text_width(head, HEAD) for head in self.heads) + 6 if self.upright else LINE

    def drawn(self) -> Drawing:
        with self.drawing.group("axes-1"):
            self._draw_cells()
        self._draw_heads(self.box.top - 5.0, above=True)
        if len(self.made.lines) > MANY:
            self._draw_heads(self.box.bottom + 5.0, above=False)
        if self.grouped:
            self._draw_questions()
        self._draw_labels()
        self._draw_key()
        return self.drawing

    def _corner(self, i: int, j: int) -> Point:
        """Of a cell."""
        return self.box.left + self.cell * j, self.box.top + self.row * i + self.row - CELL - (
            4.0 if self.narrow else 1.0
        )

    def _draw_cells(self) -> None:
        drawing, size = self.drawing, (self.cell - 1.0, CELL)
        by_level: dict[int, list[Point]] = {}
        for i, line in enumerate(self.made.lines):
            for j, cell in enumerate(line.cells):
                by_level.setdefault(cell.level, []).append(self._corner(i, j))
        for level, corners in sorted(by_level.items()):
            fill, opacity = FILLS[level]
            drawing.cells(corners, size, fill, opacity, id=f"level-{level}")
            if not self.numbered and level in (2, 3, UNKNOWN):
                self._cross(level, corners)
        for i, line in enumerate(self.made.lines if self.numbered else ()):
            for j, cell in enumerate(line.cells):
                self._write(cell, self._corner(i, j))

    def _cross(self, level: int, corners: Sequence[Point]) -> None:
        """Without numbers: what is not allowed is crossed out, what is not known has a stroke."""
        side = min(self.cell - 1.0, CELL)
        if side < 6.0:
            return
        places = [(x + (self.cell - 1.0) / 2, y + CELL / 2) for x, y in corners]
        colour = "paper" if level == 3 else "ink" if level == 2 else "muted"
        shape = "|" if level == UNKNOWN else "x"
        self.drawing.strokes(shape, places, 0.45 * side, colour, 2.0 if level == 3 else 1.2, id=f"crossed-{level}")

    def _write(self, cell: Cell, corner: Point) -> None:
        place = corner[0] + (self.cell - 1.0) / 2, corner[1] + CELL / 2
        room = self.cell - 3
        size = min(11.0, room / max(text_width(cell.text, 1.0, bold=cell.level == 3), 1e-9))
        colour = "paper" if cell.level == 3 else "ink"
        self.drawing.text(cell.text, place, "middle", max(size, SMALL), colour, bold=cell.level == 3)

    def _draw_heads(self, y: float, above: bool) -> None:
        for j, head in enumerate(self.heads):
            x = self.box.left + self.cell * j + (self.cell - 1.0) / 2
            if self.upright:
                self.drawing.text(head, (x, y), "start" if above else "end", HEAD, "muted", upright=True)
            else:
                self.drawing.text(head, (x, y - 4.0 if above else y + 7.0), "middle", HEAD, "muted")

    def _draw_questions(self) -> None:
        """The name of each question over its columns, and a line between two."""
        start = 0
        for question, columns in groupby(self.made.questions):
            count = len(list(columns))
            left, room = self.box.left + self.cell * start, self.cell * count - 1.0
            width = text_width(question, HEAD)
            if room - 4 < width <= self._free(left) and start + count == len(self.heads):
                self.drawing.text(
                    question, (left, self.questions_at), "start", HEAD
                )  # nothing stands beside the last one
            elif text_width(short := fitted(question, room - 4, HEAD), HEAD) <= room:
                self.drawing.text(short, (left + room / 2, self.questions_at), "middle", HEAD)
            self.drawing.line((left, 20.0), (left + room - 2, 20.0), "muted", 0.9)
            start += count
            if start < len(self.heads):
                x = left + room + 0.5
                self.drawing.line((x, 20.0), (x, self.box.bottom), "muted", 0.9)

    def _free(self, left: float) -> float:
        """The room from here to the picture's edge."""
        return self.drawing.width - self.edge - left

    def _draw_labels(self) -> None:
        for i, (label, line) in enumerate(zip(self.labels, self.made.lines, strict=True)):
            middle = 9.0 if self.narrow else self.row / 2
            self.drawing.text(label, (self.edge, self.box.top + self.row * i + middle), bold=line.best)

    def _draw_key(self) -> None:
        for (x, row), (level, words) in zip(self.key_places, self.made.key, strict=True):
            y = self.key_top + 20.0 * row
            fill, opacity = FILLS[level]
            self.drawing.cells([(x, y - 7.0)], (20.0, 14.0), fill, opacity)
            if level in (2, 3) and not self.numbered:
                colour = "paper" if level == 3 else "ink"
                self.drawing.strokes("x", [(x + 10.0, y)], 7.0, colour, 2.0 if level == 3 else 1.2)
            self.drawing.text(words, (x + 26.0, y), size=HEAD, fill="muted")


def _label(line: Line, room: float) -> str:
    star = STAR if line.best else ""
    return star + fitted(line.label, room - text_width(star, bold=line.best), bold=line.best)


def _key_places(key: Sequence[tuple[int, str]], left: float, right: float) -> list[tuple[float, int]]:
    """From left to right, and to the next line where there is no room."""
    x, row, places = left, 0, []
    for _, words in key:
        wide = 26.0 + text_width(words, HEAD)
        if x > left and x + wide > right:
            x, row = left, row + 1
        places.append((x, row))
        x += wide + 20.0
    return places
