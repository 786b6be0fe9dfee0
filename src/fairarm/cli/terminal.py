"""Text and tables on a terminal of any width.

Nothing is ever parsed as markup, and everything that is printed passes `printable`: names, descriptions and messages of a
user are shown, never obeyed. A table keeps every column and every number whole. Where it is wider than the terminal it
becomes several tables under each other, and where not even two columns fit, a block of lines for each row.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from fairarm.errors import printable

WIDE = 160
"""A pipe or a log has no width of its own: there, nothing is broken to fit one."""


class _Terminal(Console):
    """A console whose width is looked up when something is printed, not when the program starts."""

    def __init__(self) -> None:
        super().__init__(highlight=False, markup=False, emoji=False)
        self._width = None

    @property
    def width(self) -> int:
        """As set; else that of the environment's COLUMNS; else the terminal's."""
        if self._width is not None:
            return self._width
        columns = os.environ.get("COLUMNS", "")
        if columns.isdecimal() and int(columns) > 0:
            return int(columns)
        return self.size.width if sys.stdout.isatty() else WIDE

    @width.setter
    def width(self, width: int) -> None:
        self._width = width


console = _Terminal()

Styled = str | tuple[str, str]
"""Text, or text and its style."""

BETWEEN = "  "
LEAST_HEAD, LEAST_NAME, LEAST_TEXT = 14, 24, 24
"""Cells below which a word of a heading, a name and a text are not broken if they need no more."""


def styled(*parts: Styled) -> Text:
    """Parts of a line, fit for a terminal."""
    return Text.assemble(*((printable(p), "") if isinstance(p, str) else (printable(p[0]), p[1]) for p in parts))


def say(*parts: Styled, hang: int = 0) -> None:
    """A sentence, broken between words to fit the terminal; its further lines are moved in by ``hang``."""
    text = styled(*parts)
    if not text.plain:
        console.print()
    room = max(console.width, 2)
    lines = _broken(text, max(room - hang, 1)) if cell_len(text.plain) > room else [text]
    for number, line in enumerate(lines):
        _put(Text(" " * hang if number else "").append_text(line))


@dataclass(frozen=True)
class TableColumn:
    """A heading and what stands below it. Numbers are never broken; names and texts are, where there is little room.

    ``group``: neighbours of one group stay in one table if they can.
    """

    head: str
    kind: Literal["number", "name", "text"] = "number"
    group: int = 0


def numbers(*heads: str, group: int = 0) -> list[TableColumn]:
    """Columns of numbers under these heads, all of one ``group``."""
    return [TableColumn(head, group=group) for head in heads]


def table(columns: Sequence[TableColumn], rows: Sequence[Sequence[Styled]], keys: int = 1) -> None:
    """A table whose first columns, ``keys`` of them, say what a row is, in the layout that fits the terminal."""
    cells = [[styled(cell) for cell in row] for row in rows]
    made = [_Measured.of(column, [row[i] for row in cells]) for i, column in enumerate(columns)]
    room = max(console.width, 2)
    parts = _parts(made[:keys], made[keys:], room)
    if parts is None:
        _blocks(made, room)
        return
    for number, part in enumerate(parts):
        if number:
            console.print()
        _print(part, room)


@dataclass(frozen=True)
class _Measured:
    """A column with its cells, the cells it needs on a terminal at least, and those with which nothing is broken."""

    column: TableColumn
    cells: list[Text]
    least: int
    full: int

    @classmethod
    def of(cls, column: TableColumn, cells: list[Text]) -> _Measured:
        head = printable(column.head)
        longest = max((cell_len(cell.plain) for cell in cells), default=0)
        full = max(longest, cell_len(head), 1)
        word = min(max((cell_len(word) for word in head.split()), default=1), LEAST_HEAD)
        if column.kind == "number":
            return cls(column, cells, max(longest, word), full)
        return cls(column, cells, min(full, max(word, LEAST_NAME if column.kind == "name" else LEAST_TEXT)), full)


def _needed(made: Sequence[_Measured]) -> int:
    return sum(each.least for each in made) + len(BETWEEN) * (len(made) - 1)


def _parts(keys: list[_Measured], others: list[_Measured], room: int) -> list[list[_Measured]] | None:
    """The columns of each table, the keys in all of them; None where some column does not fit beside the keys."""
    if _needed([*keys, *others]) <= room:
        return [[*keys, *others]]
    if any(_needed([*keys, each]) > room for each in others):
        return None
    parts: list[list[_Measured]] = [[*keys]]
    for _, group in groupby(others, key=lambda each: each.column.group):
        members = list(group)
        if _needed([*parts[-1], *members]) > room and len(parts[-1]) > len(keys):
            parts.append([*keys])
        for each in members:
            if _needed([*parts[-1], each]) > room:
                parts.append([*keys])
            parts[-1].append(each)
    return parts


def _widths(made: Sequence[_Measured], room: int) -> list[int]:
    """The least width of each column, and the room that is left given to those that would use it, in turn."""
    widths = [each.least for each in made]
    left = room - _needed(made)
    while left > 0 and (short := [i for i, each in enumerate(made) if widths[i] < each.full]):
        for i in short[:left]:
            widths[i] += 1
        left -= len(short[:left])
    return widths


def _print(made: Sequence[_Measured], room: int) -> None:
    widths = _widths(made, room)
    heads = [Text(printable(each.column.head), "bold") for each in made]
    for row in [heads, *(list(cells) for cells in zip(*(each.cells for each in made), strict=True))]:
        broken = [_broken(cell, width) for cell, width in zip(row, widths, strict=True)]
        height = max(len(lines) for lines in broken)
        for at in range(height):
            line = Text()
            for i, (lines, width) in enumerate(zip(broken, widths, strict=True)):
                if row is heads:  # the last line of a heading stands above the first row
                    cell = lines[at - height + len(lines)] if at >= height - len(lines) else Text()
                else:
                    cell = lines[at] if at < len(lines) else Text()
                blank = " " * (width - cell_len(cell.plain))
                right = made[i].column.kind == "number"
                line.append(BETWEEN if i else "").append(blank if right else "").append_text(cell)
                line.append("" if right else blank)
            _put(line)


def _blocks(made: Sequence[_Measured], room: int) -> None:
    """A block for each row: its name, and below it each column's heading with its value."""
    first, *others = made
    for i, name in enumerate(first.cells):
        if i:
            console.print()
        for line in _broken(name, room):
            _put(line)
        for each in others:
            head, cell = Text(f"  {printable(each.column.head)}: "), each.cells[i]
            if cell_len(head.plain) + cell_len(cell.plain) <= room:
                _put(head.append_text(cell))
                continue
            for line in _broken(head, room):
                _put(line)
            inner = max(room - 4, 1)
            for line in [cell] if each.column.kind == "number" else _broken(cell, inner):
                fits = cell_len(line.plain) <= inner
                _put(Text("    " if fits else "").append_text(line))


def _broken(text: Text, width: int) -> list[Text]:
    """Lines of at most ``width`` cells, broken between words where that is possible."""
    lines = list(text.wrap(console, width, overflow="fold")) or [Text()]
    for line in lines:
        line.rstrip()
    return lines


def _put(line: Text) -> None:
    line.rstrip()
    console.print(line, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
