"""What a page is made of: boxes with the answer, and sections of paragraphs, lists, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

Tone = Literal["good", "plain", "warn"]
SHORT = 18
"""Letters that are not broken over lines."""


@dataclass(frozen=True)
class Text:
    """A paragraph; ``note`` sets it off."""

    words: str
    note: bool = False
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Items:
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
class Table:
    """``texts`` are the columns that hold words; all others are numbers. The first column names the row."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: Sequence[str] = ()
    best: str | None = None
    """The row to set off, by its name."""
    kind: ClassVar[str] = "table"

    @property
    def short(self) -> bool:
        """Whether the first column fits on a line."""
        return all(len(row[0]) <= SHORT for row in self.rows)


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


Block = Text | Items | Facts | Card | Table | Figure | Maps


@dataclass(frozen=True)
class Box:
    """A part of the answer, apart from the others."""

    label: str
    headline: str
    lines: Sequence[str] = ()
    tone: Tone = "plain"


@dataclass(frozen=True)
class Section:
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    title: str
    about: Sequence[str]
    boxes: Sequence[Box]
    sections: Sequence[Section]
