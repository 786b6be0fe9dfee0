"""What a page is made of: boxes with the answer, and sections of paragraphs, lists, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

from fairarm.reports.svg import text_width

Tone = Literal["good", "plain", "warn"]
SHORT = 18
"""Letters that are not broken over lines."""
REM, LETTERS, PADDING = 16.0, 13.6, 19.2
"""Pixels: of a rem, of a table's letters, and left and right of a cell's."""
HINTS = range(20, 64, 2)
"""Widths of screens in rem up to which it may be said that a table goes on to the side."""


@dataclass(frozen=True)
class Text:
    """A paragraph; ``note`` sets it off."""

    words: str
    note: bool = False
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Items:
    """A list of points."""

    words: Sequence[str]
    kind: ClassVar[str] = "items"


@dataclass(frozen=True)
class Facts:
    """Names with what they are."""

    pairs: Sequence[tuple[str, str]]
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Card:
    """One finding: ``mark`` says what it does, in words and not by colour alone."""

    name: str
    count: str
    words: str
    examples: Sequence[str]
    mark: str
    serious: bool
    kind: ClassVar[str] = "card"


@dataclass(frozen=True)
class PageTable:
    """``texts`` are the columns that hold words; all others are numbers. The first column names the row."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: Sequence[str] = ()
    best: str | None = None
    """The row to set off, by its name."""
    folded: bool = False
    """A long one, which is opened by who wants it."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Where the names of rows lead, for those that lead anywhere."""
    kind: ClassVar[str] = "table"

    @cached_property
    def short(self) -> bool:
        """Whether the first column fits on a line."""
        return all(len(row[0]) <= SHORT for row in self.rows)

    @cached_property
    def hint(self) -> int | None:
        """The widest of the screens in `HINTS` on which the table does not fit; None if it fits on all."""
        width = (sum(self._narrowest(i) for i in range(len(self.columns))) + 2 * REM) / REM
        return max((screen for screen in HINTS if screen <= width), default=None)

    def _narrowest(self, i: int) -> float:
        """Pixels that a column needs: numbers, short names and short words stay on a line, others break at spaces."""
        cells = [row[i] for row in self.rows]
        head = max(8 * REM if len(self.columns[i]) > SHORT else 0.0, _widest([_longest_word(self.columns[i])]))
        if i == 0:
            best = "★ " if self.best is not None else ""
            return PADDING + max(head, _widest([best + cell for cell in cells]) if self.short else 9 * REM)
        if self.columns[i] not in self.texts:
            return PADDING + max(head, _widest(cells))
        if any(len(cell) > SHORT for cell in cells):
            return PADDING + max(head, 14 * REM)
        return PADDING + max(head, _widest(cells))


@dataclass(frozen=True)
class Figure:
    """SVG elements: for a screen, and for a phone where it has one of its own."""

    name: str
    wide: str
    narrow: str | None
    caption: Sequence[str]
    kind: ClassVar[str] = "figure"


@dataclass(frozen=True)
class Maps:
    """Figures side by side, where there is room."""

    figures: Sequence[Figure]
    kind: ClassVar[str] = "maps"


def _longest_word(text: str) -> str:
    return max(text.split(), key=len, default="")


def _widest(texts: Sequence[str]) -> float:
    return max((text_width(text, LETTERS) for text in texts), default=0.0)


Block = Text | Items | Facts | Card | PageTable | Figure | Maps


@dataclass(frozen=True)
class Box:
    """A part of the answer, apart from the others."""

    label: str
    headline: str
    lines: Sequence[str] = ()
    tone: Tone = "plain"


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """All of a report: its heading, the boxes with the answer, and the sections."""

    title: str
    about: Sequence[str]
    boxes: Sequence[Box]
    sections: Sequence[Section]

    @property
    def hints(self) -> list[int]:
        """Those that its tables need."""
        tables = (block for section in self.sections for block in section.blocks if isinstance(block, PageTable))
        return sorted({table.hint for table in tables if table.hint is not None})
