"""The frame in which numbers are drawn: a box with a horizontal and a vertical scale, their ticks and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairarm.reports.scales import TICK_SIZE, Scale
from fairarm.reports.svg import SIZE, Drawing, Point, text_width

TICK = 3.5
"""The length of a tick."""
BELOW = 14.0
"""From a frame down to the middle of what is written at its ticks."""
LINE = 16.0
"""From one line of text to the next."""


@dataclass(frozen=True)
class Area:
    """Pixels."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The edge opposite ``left``."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """The edge opposite ``top``; y runs downwards."""
        return self.top + self.height


@dataclass(frozen=True)
class Ticks:
    """Where an axis is marked, and with what words."""

    at: Sequence[float]
    texts: Sequence[str]

    @property
    def widest(self) -> float:
        """Of the words, as drawn: the room that they need beside the axis."""
        return max((text_width(text, TICK_SIZE) for text in self.texts), default=0.0)


@dataclass(frozen=True)
class Panel:
    """A box with two scales, in a drawing."""

    drawing: Drawing
    box: Area
    x: Scale
    y: Scale

    def place(self, x: float, y: float) -> Point:
        """Where a value of both axes is on the drawing."""
        return self.x(x), self.y(y)

    def frame(self, id: str | None = None) -> None:
        """The thin line around the panel."""
        self.drawing.rectangle(
            (self.box.left, self.box.top), (self.box.width, self.box.height), "none", "line", 0.8, id
        )

    def across(self, ticks: Ticks, names: Sequence[str] = (), above: bool = False) -> None:
        """Grid, ticks and texts of the horizontal scale, and below them its name; ``above`` repeats the texts at the top."""
        box, draw = self.box, self.drawing
        for at, text in zip(ticks.at, ticks.texts, strict=True):
            x, half = self.x(at), text_width(text, TICK_SIZE) / 2
            text = text if half <= x <= draw.width - half else ""  # a long number at an edge would be cut off
            with draw.group(kind="x-tick"):
                draw.line((x, box.top), (x, box.bottom + TICK), "line", 0.7)
                if text:
                    draw.text(text, (x, box.bottom + BELOW), "middle", TICK_SIZE, "muted")
            if above and text:
                draw.text(text, (x, box.top - 10.0), "middle", TICK_SIZE, "muted")
        for i, words in enumerate(names):
            middle = ((box.left + box.right) / 2, box.bottom + BELOW + LINE * (i + 1))
            draw.text(words, middle, "middle", SIZE, "muted")

    def up(self, ticks: Ticks, name: str) -> None:
        """Grid, ticks and texts of the vertical scale, and above the frame its name."""
        box, draw = self.box, self.drawing
        for at, text in zip(ticks.at, ticks.texts, strict=True):
            y = self.y(at)
            with draw.group(kind="y-tick"):
                draw.line((box.left - TICK, y), (box.right, y), "line", 0.7)
                if text:
                    draw.text(text, (box.left - TICK - 3.0, y), "end", TICK_SIZE, "muted")
        draw.text(name, (box.left, box.top - 12.0), "start", SIZE, "muted")
