"""Figures show the numbers: coordinates are read back from the SVG, by the scale that its own ticks say it has."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from made_evaluations import ARMS, certified, evaluation, problem_of
from page_tree import Element, read_page

from fairarm import identify, load_problem
from fairarm.experiments.evaluate import Estimate
from fairarm.reports.figures import COLOURS, MARKERS
from fairarm.reports.page.forest import Line, Marks, window
from fairarm.reports.page.identification import by_probability
from fairarm.reports.page.rows import Row
from fairarm.reports.page.write import page_text
from fairarm.reports.svg import THEME, inlined, shown

SIZES = ("", "-narrow")
DRAWN = ("by-need", "never-tried", "lottery", "current", "by-sex")
NEAR = 0.02
"""Pixels; coordinates are written with six digits."""


def number(text: str) -> float:
    return float(text.replace("−", "-").replace(" ", ""))


def scale(svg: Element, name: str, axis: str = "x", panel: int = 1) -> Callable[[float], float]:
    """From a number to its pixel, by the first and the last tick of an axis and what is written there."""
    (axes,) = [e for e in svg.walk() if e.attributes.get("id") == f"{name}-axes_{panel}"]
    ticks = [e for e in axes.walk() if re.search(rf"-{axis}tick_\d+$", e.attributes.get("id", ""))]
    found = []
    for tick in ticks:
        marks, texts = [use for use in tick.all("use") if axis in use.attributes], tick.all("text")
        if texts and texts[0].text:
            found.append((number(texts[0].text), float(marks[-1].attributes[axis])))
    (a, pixel_a), (b, pixel_b) = found[0], found[-1]
    assert a != b
    return lambda x: pixel_a + (x - a) * (pixel_b - pixel_a) / (b - a)


def points(group: Element) -> list[tuple[float, float]]:
    """The corners of what was drawn; of markers, their places."""
    if uses := group.all("use"):
        return [(float(use.attributes["x"]), float(use.attributes["y"])) for use in uses]
    numbers = re.findall(r"-?\d+(?:\.\d+)?", group.all("path")[0].attributes["d"])
    return [(float(x), float(y)) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


def across(svg: Element, id: str) -> tuple[float, float]:
    """From its left end to its right one."""
    x = [point[0] for point in points(svg.find(id))]
    return min(x), max(x)


def drawing(page: Element, figure: str, size: str) -> tuple[Element, str]:
    name = figure + size
    (svg,) = [
        e
        for e in page.find(f"figure-{figure}").all("svg")
        if e.attributes["aria-labelledby"].startswith(f"{name}-title")
    ]
    return svg, name


@pytest.fixture(scope="module")
def page() -> Element:
    return read_page(page_text(certified()))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("figure", "measure"), [("outcomes", "outcome"), ("gaps", "gap")])
def test_intervals_are_drawn_where_they_are(page: Element, figure: str, measure: str, size: str) -> None:
    svg, name = drawing(page, figure, size)
    at = scale(svg, name)
    arms = {arm.name: arm for arm in ARMS}
    for i, arm in enumerate(DRAWN):
        truth: Estimate = getattr(arms[arm], measure)
        assert across(svg, f"{name}-usual-{i}") == pytest.approx((at(truth.low), at(truth.high)), abs=NEAR)
        assert across(svg, f"{name}-mean-{i}")[0] == pytest.approx(at(truth.value), abs=NEAR)
        assert truth.certified_low is not None and truth.certified_high is not None
        ends = (at(truth.certified_low), at(truth.certified_high))
        assert across(svg, f"{name}-certified-{i}") == pytest.approx(ends, abs=NEAR)


def stroke(svg: Element, id: str) -> float:
    return float(re.search(r"stroke-width: ([\d.]+)", svg.find(id).all("path")[0].attributes["style"])[1])  # type: ignore[index]


def style(svg: Element, id: str) -> str:
    return " ".join(e.attributes.get("style", "") for e in svg.find(id).walk())


@pytest.mark.parametrize("size", SIZES)
def test_kinds_of_lines_and_arms_differ_without_colour(page: Element, size: str) -> None:
    svg, name = drawing(page, "outcomes", size)
    assert stroke(svg, f"{name}-usual-0") > 3 * stroke(svg, f"{name}-certified-0")
    fair, unfair = (svg.find(f"{name}-mean-{i}").all("use")[0].attributes for i in (2, 4))
    assert shape(svg, f"{name}-mean-0") != shape(svg, f"{name}-mean-2") == shape(svg, f"{name}-mean-4")
    assert "fill: var(--paper)" in style(svg, f"{name}-mean-4") and "fill: var(--paper)" not in style(
        svg, f"{name}-mean-2"
    )
    assert unfair["style"] != fair["style"]
    assert "stroke: var(--faint)" in style(svg, f"{name}-usual-4")
    assert "stroke-dasharray" in style(svg, f"{name}-usual-1")
    assert "stroke-dasharray" not in style(svg, f"{name}-usual-0")
    assert "★ by-need" in [e.text for e in svg.all("text")]


@pytest.mark.parametrize("size", SIZES)
def test_rows_stand_beside_their_names(page: Element, size: str) -> None:
    svg, name = drawing(page, "gaps", size)
    heights = {
        e.text.removeprefix("★ "): float(e.attributes["y"])
        for e in svg.all("text")
        if e.text.removeprefix("★ ") in DRAWN
    }
    lines = [points(svg.find(f"{name}-mean-{i}"))[0][1] for i in range(len(DRAWN))]
    below = [line - heights[arm] for arm, line in zip(DRAWN, lines, strict=True)]
    assert below == pytest.approx([below[0]] * len(DRAWN), abs=NEAR)
    assert (8 < below[0] < 20) if size else (-6 < below[0] < 2)


@pytest.mark.parametrize("size", SIZES)
def test_the_tolerance_and_the_plain_gap(page: Element, size: str) -> None:
    svg, name = drawing(page, "gaps", size)
    at = scale(svg, name)
    assert across(svg, f"{name}-tolerance") == pytest.approx((at(-0.1), at(0.1)), abs=NEAR)
    assert across(svg, f"{name}-plain-gap")[0] == pytest.approx(at(0.437 - 0.381), abs=NEAR)
    assert (
        "A gap between -0.1 and 0.1 is fair. Dotted: the plain gap in the log, +0.0560."
        in page.find("figure-gaps").text
    )


@pytest.mark.parametrize("size", SIZES)
def test_what_the_log_covers(page: Element, size: str) -> None:
    svg, name = drawing(page, "overlap", size)
    at = scale(svg, name)
    arms = {arm.name: arm for arm in ARMS}
    for i, arm in enumerate(DRAWN):
        unseen, overlap = arms[arm].unseen, arms[arm].overlap
        assert across(svg, f"{name}-seen-{i}") == pytest.approx((at(0), at(1 - unseen)), abs=NEAR)
        assert across(svg, f"{name}-unseen-{i}") == pytest.approx((at(1 - unseen), at(1)), abs=NEAR)
        assert "url(#" in style(svg, f"{name}-unseen-{i}")
        assert across(svg, f"{name}-overlap-{i}")[0] == pytest.approx(at(overlap), abs=NEAR)


def test_a_certified_interval_that_leaves_the_picture_ends_there_in_an_arrow(page: Element) -> None:
    far = tuple(replace(arm, outcome=replace(arm.outcome, certified_low=-40.0)) for arm in ARMS)
    svg, name = drawing(read_page(page_text(replace(certified(), arms=far))), "outcomes", "")
    (frame,) = [e for e in svg.walk() if e.attributes.get("id") == f"{name}-patch_2"]
    left = min(p[0] for p in points(frame))
    assert across(svg, f"{name}-certified-0")[0] == pytest.approx(left, abs=NEAR)
    assert across(svg, f"{name}-certified-0")[1] == pytest.approx(scale(svg, name)(0.63), abs=NEAR)
    assert across(svg, f"{name}-usual-0")[1] - across(svg, f"{name}-usual-0")[0] > 20
    whole, _ = drawing(page, "outcomes", "")
    assert shape(whole, f"{name}-low-0") == shape(whole, f"{name}-high-0") == shape(svg, f"{name}-high-0")
    assert shape(svg, f"{name}-low-0") != shape(svg, f"{name}-high-0")


def shape(svg: Element, id: str) -> str:
    """Of a marker."""
    return svg.find(svg.find(id).all("use")[0].attributes["href"][1:]).attributes["d"]


def test_without_certified_intervals_none_is_drawn() -> None:
    found = read_page(page_text(evaluation()))
    assert not [e for e in found.walk() if re.search(r"-certified-\d", e.attributes.get("id", ""))]
    assert "Thin line" not in found.text


def test_nothing_is_wider_than_its_picture() -> None:
    """Letters are taken to be 0.6 of their size wide: that is what the room was measured by; full-width ones count fully."""
    names = ("an arm with a name that is far too long to be shown in full", "漢字" * 20, "W" * 40, "short")
    arms = tuple(replace(ARMS[0], name=name, effective_rows=98765432.0, largest_weight=123456.0) for name in names)
    found = read_page(page_text(evaluation(arms)))
    for figure in ("outcomes", "gaps", "overlap"):
        for svg in found.find(f"figure-{figure}").all("svg"):
            width = float(svg.attributes["viewbox"].split()[2])
            for row in _by_height(svg).values():
                spans = sorted(_span(text) for text in row)
                assert spans[0][0] >= 0 and spans[-1][1] <= width
                assert all(a[1] <= b[0] for a, b in pairwise(spans)), [e.text for e in row]


def _by_height(svg: Element) -> dict[str, list[Element]]:
    rows: dict[str, list[Element]] = {}
    for text in svg.all("text"):
        rows.setdefault(text.attributes["y"], []).append(text)
    return rows


def _span(text: Element) -> tuple[float, float]:
    size = float(re.search(r"font-size: ([\d.]+)px", text.attributes["style"])[1])  # type: ignore[index]
    length = sum(1.0 if ord(letter) > 0x2E80 else 0.6 for letter in text.text) * size
    x, anchor = float(text.attributes["x"]), re.search(r"text-anchor: (\w+)", text.attributes["style"])[1]  # type: ignore[index]
    start = {"start": x, "middle": x - length / 2, "end": x - length}[anchor]
    return start, start + length


# ---- the other figures ----


@pytest.fixture(scope="module")
def run() -> tuple[Any, Any]:
    market = load_problem("ad-marketplace")
    return identify(market.problem, market.world, pulls=1000, seed=7), market.problem


@pytest.mark.parametrize("size", SIZES)
def test_phases_of_a_run(run: tuple[Any, Any], size: str) -> None:
    found, problem = run
    svg, name = drawing(read_page(page_text(found, problem)), "phases", size)
    up = scale(svg, name, "y", 1)
    for i, part in enumerate(found.story):
        heights = [y for _, y in points(svg.find(f"{name}-pulls-{i}"))]
        assert (max(heights), min(heights)) == pytest.approx((up(0), up(part.pulls)), abs=NEAR)
    along, up = scale(svg, name, "x", 2), scale(svg, name, "y", 2)
    line = points(svg.find(f"{name}-probability"))
    assert line == [pytest.approx((along(p.phase), up(p.probability)), abs=NEAR) for p in found.story]


@pytest.mark.parametrize("figure", ["outcomes", "gaps"])
def test_intervals_and_truths_of_a_run(run: tuple[Any, Any], figure: str) -> None:
    found, problem = run
    svg, name = drawing(read_page(page_text(found, problem)), figure, "")
    at = scale(svg, name)
    truths = found.truth.outcomes if figure == "outcomes" else found.truth.gaps
    for i, report in enumerate(by_probability(found.verdict)):
        interval = report.outcome_interval if figure == "outcomes" else report.gap_interval
        assert across(svg, f"{name}-usual-{i}") == pytest.approx([at(x) for x in interval], abs=NEAR)
        truth = truths[problem.arm_index(report.name)]
        assert across(svg, f"{name}-truth-{i}")[0] == pytest.approx(at(truth), abs=NEAR)


def test_algorithms_have_their_own_markers() -> None:
    assert set(MARKERS) == set(COLOURS)
    assert len(set(MARKERS.values())) == len(MARKERS)


# ---- the scale ----


def line(low: float, high: float, certified: tuple[float, float] | None = None) -> Line:
    return Line(Row("a", "", ""), (low + high) / 2, (low, high), certified)


@pytest.mark.parametrize(
    ("lines", "marks", "low", "high"),
    [
        ([line(0.4, 0.6)], Marks(), 0.4, 0.6),
        ([line(0.4, 0.6, (0.1, 0.8))], Marks(), 0.1, 0.8),
        ([line(0.4, 0.6, (-5.0, 0.8))], Marks(), 0.1, 0.8),
        ([line(0.4, 0.6, (-5.0, 5.0))], Marks(), 0.1, 0.9),
        ([line(-0.02, 0.01)], Marks(0.1, zero=True), -0.1, 0.1),
        ([line(0.01, 0.02)], Marks(5.0, zero=True), -0.11, 0.13),
        ([line(0.01, 0.02)], Marks(0.1, zero=True, plain=0.3), -0.1, 0.3),
        ([Line(Row("a", "", ""), None)], Marks(), 0.0, 1.0),
    ],
)
def test_the_window(lines: list[Line], marks: Marks, low: float, high: float) -> None:
    pad = 0.04 * (high - low)
    assert window(lines, marks) == pytest.approx((low - pad, high + pad))


def test_a_window_has_width() -> None:
    low, high = window([line(3.0, 3.0)], Marks())
    assert low < 3.0 < high


def test_a_tolerance_beyond_the_picture_is_said_to_be() -> None:
    found = certified()
    wide = replace(found, problem=problem_of(found.problem.arm_names, 50.0))
    text = read_page(page_text(wide)).find("figure-gaps").text
    assert "Shaded: the tolerance, wider than the picture. A gap between -50 and 50 is fair." in text


# ---- SVG as part of a page ----


def test_ids_references_and_colours_are_the_pages_own() -> None:
    text = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 10 20" width="10pt">'
        f'<metadata>x</metadata><defs><style>a</style><path id="p" d="M 0 0&#10;L 1 1"/></defs>'
        f'<use xlink:href="#p" style="fill: {THEME["good"]}; clip-path: url(#p); font-family: \'A\', b; x: y"/>'
        f"<text>{THEME['good']} url(#p) id=</text></svg>"
    )
    element = read_page(inlined(text, "fig", "A <title>", "words")).all("svg")[0]
    assert element.attributes["viewbox"] == "0 0 10 20" and "width" not in element.attributes
    assert element.all("title")[0].text == "A <title>" and element.find("fig-text").text == "words"
    assert element.find("fig-p").attributes["d"] == "M 0 0 L 1 1"
    use = element.all("use")[0].attributes
    assert use == {"href": "#fig-p", "style": "fill: var(--good); clip-path: url(#fig-p);  x: y"}
    assert element.all("text")[0].text == f"{THEME['good']} url(#p) id="
    assert not element.all("metadata") and not element.all("style")


@pytest.mark.parametrize(
    ("text", "most", "expected"), [("short", 5, "short"), ("abcdefghij", 5, "ab…ij"), ("abcdefghij", 6, "ab…hij")]
)
def test_long_names_lose_their_middle(text: str, most: int, expected: str) -> None:
    assert shown(text, most) == expected


def test_theme_colours_are_apart_from_all_others() -> None:
    assert len({*THEME.values(), *COLOURS.values()}) == len(THEME) + len(COLOURS)
    assert np.all([re.fullmatch("#[0-9a-f]{6}", colour) for colour in THEME.values()])
