"""Figures show the numbers: coordinates are read back from the SVG, by the scale that its own ticks say it has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lettering import area, misplaced
from made_evaluations import ARMS, certified, changed, evaluation, problem_of

from fairarm import Request, evaluate, identify, inspect, load_problem, simulate
from fairarm.experiments.evaluate import Estimate
from fairarm.problem.answer import Status
from fairarm.reports.figures import COLOURS, MARKERS
from fairarm.reports.page.forest import Line, Marks, window
from fairarm.reports.page.identification import by_probability
from fairarm.reports.page.rows import Row
from fairarm.reports.page.write import page_text
from fairarm.reports.svg import SHAPES, STROKES
from page_tree import Element, read_page

SIZES = ("", "-narrow")
DRAWN = ("by-need", "never-tried", "lottery", "current", "by-sex")
NEAR = 0.02
"""Pixels; coordinates are written to a hundredth of one."""


def number(text: str) -> float:
    return float(text.replace(",", "").replace(" ", ""))


def scale(svg: Element, name: str, axis: str = "x", panel: int = 1, log: bool = False) -> Callable[[float], float]:
    """From a number to its pixel, by the first and the last tick of an axis and what is written there."""
    own = math.log if log else float
    found = []
    for tick in svg.find(f"{name}-axes-{panel}").all("g", class_=f"{axis}-tick"):
        (mark,), texts = tick.all("line"), tick.all("text")
        if texts:
            found.append((own(number(texts[0].text)), float(mark.attributes[f"{axis}1"])))
            assert mark.attributes[f"{axis}1"] == mark.attributes[f"{axis}2"]
            if axis == "x":
                assert texts[0].attributes["x"] == mark.attributes["x1"]
    (a, pixel_a), (b, pixel_b) = found[0], found[-1]
    assert a != b
    return lambda x: pixel_a + (own(x) - a) * (pixel_b - pixel_a) / (b - a)


def points(drawn: Element) -> list[tuple[float, float]]:
    """The corners of what was drawn; of a mark, its place."""
    read = {name: float(x) for name, x in drawn.attributes.items() if re.fullmatch(r"-?\d+(\.\d+)?", x)}
    if drawn.tag == "line":
        return [(read["x1"], read["y1"]), (read["x2"], read["y2"])]
    if drawn.tag == "rect":
        return [(read["x"], read["y"]), (read["x"] + read["width"], read["y"] + read["height"])]
    numbers = re.findall(r"-?\d+(?:\.\d+)?", drawn.attributes["transform" if "transform" in drawn.attributes else "d"])
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
    return float(re.search(r"stroke-width: ([\d.]+)", style(svg, id))[1])  # type: ignore[index]


def style(svg: Element, id: str) -> str:
    return svg.find(id).attributes["style"]


@pytest.mark.parametrize("size", SIZES)
def test_kinds_of_lines_and_arms_differ_without_colour(page: Element, size: str) -> None:
    svg, name = drawing(page, "outcomes", size)
    assert stroke(svg, f"{name}-usual-0") > 3 * stroke(svg, f"{name}-certified-0")
    assert shape(svg, f"{name}-mean-0") != shape(svg, f"{name}-mean-2") == shape(svg, f"{name}-mean-4")
    assert "fill: var(--paper)" in style(svg, f"{name}-mean-4") and "fill: var(--paper)" not in style(
        svg, f"{name}-mean-2"
    )
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
    assert across(svg, f"{name}-certified-0")[0] == pytest.approx(across(svg, f"{name}-frame")[0], abs=NEAR)
    assert across(svg, f"{name}-certified-0")[1] == pytest.approx(scale(svg, name)(0.63), abs=NEAR)
    assert across(svg, f"{name}-usual-0")[1] - across(svg, f"{name}-usual-0")[0] > 20
    whole, _ = drawing(page, "outcomes", "")
    assert shape(whole, f"{name}-low-0") == shape(whole, f"{name}-high-0") == shape(svg, f"{name}-high-0")
    assert shape(svg, f"{name}-low-0") != shape(svg, f"{name}-high-0")


def shape(svg: Element, id: str) -> str:
    """Of a marker."""
    return svg.find(id).attributes["d"]


def test_without_certified_intervals_none_is_drawn() -> None:
    found = read_page(page_text(evaluation()))
    assert not [e for e in found.walk() if re.search(r"-certified-\d", e.attributes.get("id", ""))]
    assert "Thin line" not in found.text


LONG = (
    "an arm with a name that is far too long to be shown in full", "漢字" * 20, "W" * 40, "short", "ЩШЖ и так далее", "m" * 200
)  # fmt: skip


def lettered() -> dict[str, Any]:
    """Results whose pages have much to write."""
    arms = tuple(replace(ARMS[0], name=name, effective_rows=98765432.0, largest_weight=123456.0) for name in LONG)
    money = tuple(
        replace(arm, outcome=Estimate(48213.7e6, 47313.7e6, 49113.7e6, None, None), gap=Estimate(-1e9, -2e9, 1e9, None, None))
        for arm in arms
    )  # fmt: skip
    ads, many, coin = (load_problem(name) for name in ("ad-marketplace", "synthetic-tight:K=24,m=20,seed=3", "coin"))
    sizes = [50, 60, 80, 1000, 1001, 30_000]
    some = simulate(coin.problem, coin.world, algorithms=["uniform", "mis", "csr-v1", "csr-v2", "pool"], pulls=sizes[:1], runs=2)  # fmt: skip
    return {
        "long names": evaluation(arms, arm=LONG[2]),
        "large numbers": evaluation(money, arm=None, status=Status.NO_FAIR_ARM),
        "intervals": certified(),
        "run": identify(ads.problem, ads.world, pulls=1000, seed=7),
        "rejection": identify(coin.problem, coin.world, algorithm="csr-v2", pulls=300, seed=1),
        "simulation": replace(some, results=tuple(replace(p, pulls=T) for p in some.results for T in sizes)),
        "six arms": inspect(ads.problem, ads.world),
        "many arms": inspect(many.problem, many.world),
    }


def test_every_text_has_its_own_place_within_the_figure() -> None:
    """By the letters of a real font."""
    for name, result in lettered().items():
        page = read_page(page_text(result))
        assert page.all("svg"), name
        for svg in page.all("svg"):
            assert misplaced(svg) == [], (name, svg.all("title")[0].text, svg.attributes["viewbox"])


# ---- the other figures ----


@pytest.fixture(scope="module")
def run() -> tuple[Any, Any]:
    market = load_problem("ad-marketplace")
    return identify(market.problem, market.world, pulls=1000, seed=7), market.problem


@pytest.mark.parametrize("size", SIZES)
def test_phases_of_a_run(run: tuple[Any, Any], size: str) -> None:
    found, _ = run
    svg, name = drawing(read_page(page_text(found)), "phases", size)
    up = scale(svg, name, "y", 1)
    for i, part in enumerate(found.story):
        heights = [y for _, y in points(svg.find(f"{name}-pulls-{i}"))]
        assert (max(heights), min(heights)) == pytest.approx((up(0), up(part.pulls)), abs=NEAR)
    along, up = scale(svg, name, "x", 2), scale(svg, name, "y", 2)
    line = points(svg.find(f"{name}-probability"))
    assert line == [pytest.approx((along(p.phase), up(p.probability)), abs=NEAR) for p in found.story]


@pytest.mark.parametrize("size", SIZES)
def test_arms_left_after_each_phase(size: str) -> None:
    coin = load_problem("coin")
    found = identify(coin.problem, coin.world, algorithm="csr-v2", pulls=300, seed=1)
    svg, name = drawing(read_page(page_text(found)), "phases", size)
    along, up = scale(svg, name, "x", 2), scale(svg, name, "y", 2)
    for id, numbers in (("left", [len(p.left) for p in found.story]), ("fair", [len(p.fair) for p in found.story])):
        line = [(along(p.phase), up(n)) for p, n in zip(found.story, numbers, strict=True)]
        assert points(svg.find(f"{name}-{id}")) == [pytest.approx(point, abs=NEAR) for point in line]
    assert {"arms left", "shown fair"} <= {e.text for e in svg.all("text")}


@pytest.mark.parametrize("figure", ["outcomes", "gaps"])
def test_intervals_and_truths_of_a_run(run: tuple[Any, Any], figure: str) -> None:
    found, _ = run
    svg, name = drawing(read_page(page_text(found)), figure, "")
    at = scale(svg, name)
    truths = found.truth.outcomes if figure == "outcomes" else found.truth.gaps
    for i, report in enumerate(by_probability(found.verdict)):
        interval = report.outcome_interval if figure == "outcomes" else report.gap_interval
        assert across(svg, f"{name}-usual-{i}") == pytest.approx([at(x) for x in interval], abs=NEAR)
        truth = truths[found.problem.arm_index(report.name)]
        assert across(svg, f"{name}-truth-{i}")[0] == pytest.approx(at(truth), abs=NEAR)


@pytest.mark.parametrize("size", SIZES)
def test_errors_and_their_limits(size: str) -> None:
    coin = load_problem("coin")
    found = simulate(coin.problem, coin.world, algorithms=["pool", "uniform"], pulls=[50, 100, 400], runs=20)
    svg, name = drawing(read_page(page_text(found)), "errors", size)
    up, along = scale(svg, name, "y"), scale(svg, name, "x", log=True)
    for i, algorithm in enumerate(("pool", "uniform")):
        drawn = [p for p in found.results if p.algorithm == algorithm]
        line = [(along(p.pulls), up(p.error)) for p in drawn]
        assert points(svg.find(f"{name}-error-{i}")) == [pytest.approx(point, abs=NEAR) for point in line]
        low, high = ([(along(p.pulls), up(y)) for p, y in zip(drawn, ends, strict=True)] for ends in limits_of(drawn))
        assert points(svg.find(f"{name}-limits-{i}")) == [pytest.approx(p, abs=NEAR) for p in (*low, *reversed(high))]


def limits_of(drawn: list[Any]) -> tuple[list[float], list[float]]:
    return [p.error_low for p in drawn], [p.error_high for p in drawn]


@pytest.mark.parametrize("size", SIZES)
def test_a_map_has_a_darker_cell_for_a_larger_distance(size: str) -> None:
    ads = load_problem("ad-marketplace")
    found = inspect(ads.problem, ads.world)
    assert found.M is not None
    K, matrix = len(found.M), found.M.copy()
    matrix[4, 0] = np.inf
    svg, name = drawing(read_page(page_text(replace(found, M=matrix))), "m", size)
    cells = {}
    for path in svg.all("path", class_="cells"):
        fill = re.search("fill: ([^;]+)", path.attributes["style"])[1]  # type: ignore[index]
        for x, y, wide, high in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)", path.attributes["d"]):
            if float(wide) == float(high):
                cells[float(y), float(x)] = fill
    assert len(cells) == K * K
    in_order = [cells[place] for place in sorted(cells)]
    assert in_order[4 * K] == f"url(#{name}-crossed)"
    light = np.array([np.nan if fill.startswith("url") else luminance(fill) for fill in in_order]).reshape(K, K)
    known = np.isfinite(matrix)
    order = np.argsort(matrix[known], kind="stable")
    assert np.all(np.diff(light[known][order]) <= 0)
    assert light[known].max() > 3 * light[known].min()
    names = {text.text: area(text) for text in svg.all("text") if "transform" not in text.attributes}
    rows = sorted({y for y, _ in cells})
    for row, arm in zip(rows, ads.problem.arm_names, strict=True):
        if arm in names:
            assert row < (names[arm][1] + names[arm][3]) / 2 < row + (rows[1] - rows[0])


def luminance(fill: str) -> float:
    red, green, blue = (int(fill[i : i + 2], 16) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_algorithms_have_their_own_markers() -> None:
    assert set(MARKERS) == set(COLOURS)
    assert set(MARKERS.values()) <= {*SHAPES, *STROKES, "o"}
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
    wide = changed(found, problem=problem_of(found.problem.arm_names, 50.0))
    text = read_page(page_text(wide)).find("figure-gaps").text
    assert "Shaded: the tolerance, wider than the picture. A gap between -50 and 50 is fair." in text


@pytest.mark.parametrize("size", SIZES)
def test_the_bands_of_a_hidden_cause_are_its_bounds(size: str) -> None:
    """Ends of the answer's band at every strength, and the line where the answer tips."""
    coin = load_problem("ad-marketplace")
    counts = np.zeros((3, 6), dtype=np.int64)
    counts[0, 0] = 2000
    rows = coin.world.pull(Request(coin.problem.arm_names, coin.problem.regimes, counts), np.random.default_rng(1))
    found = evaluate(coin.problem, rows, hidden_cause=1.2)
    made = found.hidden_cause
    assert made is not None and found.arm is not None and made.answer is not None
    svg, name = drawing(read_page(page_text(found)), "hidden", size)
    x, y = scale(svg, name), scale(svg, name, "y")
    k = coin.problem.arm_index(found.arm)
    for end in ("low", "high"):
        drawn = points(svg.find(f"{name}-{end}-0"))
        expected = [(x(point.strength), y(getattr(point.outcomes[k], end))) for point in made.curve]
        assert np.array(drawn) == pytest.approx(np.array(expected), abs=0.5)
    (start, _), (stop, _) = points(svg.find(f"{name}-tip"))
    assert start == stop == pytest.approx(x(made.answer.strength), abs=0.5)
    assert misplaced(svg) == []
