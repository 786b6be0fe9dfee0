"""Where texts of a figure stand, by the letters of a real font: DejaVu Sans, the widest that systems commonly have."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
from matplotlib.ft2font import FT2Font, LoadFlags

from page_tree import Element

Area = tuple[float, float, float, float]
"""From left, top to right, bottom."""


@cache
def letter_width(letter: str, bold: bool = False) -> float:
    """Of its size; one that the font lacks is taken to be as wide as it is high."""
    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    font = FT2Font(str(Path(mpl.get_data_path()) / "fonts" / "ttf" / name))
    if not font.get_char_index(ord(letter)):
        return 1.0
    font.set_size(100, 72)
    return float(font.load_char(ord(letter), flags=LoadFlags.NO_HINTING).linearHoriAdvance) / 65536 / 100


def area(text: Element) -> Area:
    """Of the letters of a text; those that read from below are turned."""
    style = text.attributes["style"]
    size, anchor = (re.search(pattern, style)[1] for pattern in (r"font-size: ([\d.]+)px", r"text-anchor: (\w+)"))  # type: ignore[index]
    length = sum(letter_width(letter, "bold" in style) for letter in text.text) * float(size)
    x, y = float(text.attributes["x"]), float(text.attributes["y"])
    start = {"start": 0.0, "middle": -length / 2, "end": -length}[anchor]
    if turn := re.fullmatch(r"rotate\(-90 ([\d.-]+) ([\d.-]+)\)", text.attributes.get("transform", "")):
        middle, foot = float(turn[1]), float(turn[2])
        return middle + (y - foot) - 0.75 * float(size), foot - start - length, middle + (y - foot), foot - start
    return x + start, y - 0.75 * float(size), x + start + length, y


def misplaced(svg: Element) -> list[tuple[str, ...]]:
    """Texts that leave the figure, and pairs that overlap."""
    width, height = (float(x) for x in svg.attributes["viewbox"].split()[2:])
    placed = [(text.text, area(text)) for text in svg.all("text")]
    outside = [
        (words,) for words, (left, top, right, bottom) in placed
        if left < 0 or top < 0 or right > width or bottom > height
    ]  # fmt: skip
    return outside + [(a, b) for (a, one), (b, other) in combinations(placed, 2) if _overlap(one, other)]


def _overlap(a: Area, b: Area) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
