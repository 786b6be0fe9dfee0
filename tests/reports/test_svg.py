"""The writer of SVG: what it writes is well-formed, escaped, and where it was told to be."""

from __future__ import annotations

from importlib.resources import files
from xml.etree import ElementTree

import pytest
from lettering import letter_width

from fairarm.reports.svg import LIGHT, NAMES, SHAPES, STROKES, Drawing, fitted, number, shown, text_width, wrapped


def made(draw: Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(draw.element('<title> & "words"', "a < b"))


def test_a_figure_has_words_and_its_own_ids() -> None:
    draw = Drawing("fig", 100, 50.5)
    with draw.group("all", "kind"):
        draw.line((0, 1.004), (10, 1.006), "good", 1.25, "2 3", id="one")
        draw.rectangle((1, 2), (3, 4), draw.hatch(), "#123456", id="two")
        draw.text('</text><script>"&', (5, 5), bold=True, fill="var(--x, red)")
    root = made(draw)
    assert root.attrib["viewBox"] == "0 0 100 50.5" and root.attrib["role"] == "img"
    assert [e.text for e in root[:2]] == ['<title> & "words"', "a < b"]
    assert {e.attrib["id"] for e in root.iter() if "id" in e.attrib} == {
        "fig-title", "fig-text", "fig-hatched", "fig-all", "fig-one", "fig-two"
    }  # fmt: skip
    line, box, text = root[-1]
    assert (line.attrib["y1"], line.attrib["y2"]) == ("1", "1.01")
    assert line.attrib["style"] == "stroke: var(--good); stroke-width: 1.25; stroke-dasharray: 2 3"
    assert box.attrib["style"] == "fill: url(#fig-hatched); stroke: #123456; stroke-width: 1"
    assert text.text == '</text><script>"&'
    assert text.attrib["style"] == "font-size: 12px; text-anchor: start; fill: var(--x, red); font-weight: bold"


def test_a_file_of_its_own_has_the_colours_of_a_light_page() -> None:
    draw = Drawing("fig", 100, 50)
    draw.line((0, 0), (10, 10), "good")
    root = ElementTree.fromstring(draw.document("<title>", "a < b"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and (root.attrib["width"], root.attrib["height"]) == (
        "100",
        "50",
    )
    style = next(e.text or "" for e in root if e.tag.endswith("style"))
    page = (files("fairarm.reports") / "templates" / "base.css.j2").read_text(encoding="utf-8").split("@media")[0]
    assert {*LIGHT} == NAMES
    for name, seen in LIGHT.items():
        assert f"--{name}: {seen}" in style and f"--{name}: {seen};" in page


def test_a_hatch_is_defined_once() -> None:
    draw = Drawing("fig", 10, 10)
    assert draw.hatch() == draw.hatch() != draw.hatch(crossed=True)
    assert len(list(made(draw).iter("pattern"))) == 2


def test_every_mark_stands_around_its_place_and_has_its_own_shape() -> None:
    draw = Drawing("fig", 10, 10)
    for shape in (*SHAPES, *STROKES, "o"):
        draw.mark(shape, (3, 4), 8.0, "mark")
        assert all(abs(x) <= 1.16 and abs(y) <= 1.16 for x, y in SHAPES.get(shape, ()))
    marks = list(made(draw).iter("path"))
    assert {e.attrib["transform"] for e in marks} == {"translate(3 4)"}
    assert len({e.attrib["d"] for e in marks}) == len(marks) == len(SHAPES) + len(STROKES) + 1


@pytest.mark.parametrize(
    ("x", "expected"), [(1.0, "1"), (-0.001, "0"), (100.0, "100"), (2.345678, "2.35"), (-1.5, "-1.5")]
)
def test_coordinates(x: float, expected: str) -> None:
    assert number(x) == expected


# ---- letters ----


@pytest.mark.parametrize("bold", [False, True])
def test_letters_are_taken_to_be_as_wide_as_they_are_at_least(bold: bool) -> None:
    for letter in map(chr, [*range(32, 127), *range(0xC0, 0xC6), *range(0xE7, 0xF7), 0x2026, 0x2605, 0x6F22]):
        assert text_width(letter, 1.0, bold) >= letter_width(letter, bold), letter


@pytest.mark.parametrize(
    "words", ["an arm with a long name, 0.5500 (0.5200 to 0.5800)", "больше строк, ΟΛΑ ΤΑ ΑΛΛΑ", "Ärger"]
)
def test_words_are_not_taken_to_be_much_wider(words: str) -> None:
    real = sum(map(letter_width, words))
    assert real <= text_width(words, 1.0) <= 1.45 * real


def test_a_name_is_shortened_to_its_room_but_not_beyond_recognition() -> None:
    assert fitted("short", 1000.0) == "short"
    cut = fitted("a name that is long", 80.0)
    assert cut.startswith("a ") and cut.endswith("ng") and "…" in cut and text_width(cut) <= 80.0
    assert len(fitted("a name that is long", 1.0)) == 6


@pytest.mark.parametrize("room", [60.0, 150.0, 1000.0])
def test_words_are_wrapped_at_spaces(room: float) -> None:
    words = "gap in mean click (from 0 to 1), woman - man"
    lines = wrapped(words, room)
    assert " ".join(lines) == words
    assert all(text_width(line) <= room for line in lines)
    assert wrapped("", room) == []


@pytest.mark.parametrize(
    ("text", "most", "expected"), [("short", 5, "short"), ("abcdefghij", 5, "ab…ij"), ("abcdefghij", 6, "ab…hij")]
)
def test_long_names_lose_their_middle(text: str, most: int, expected: str) -> None:
    assert shown(text, most) == expected
