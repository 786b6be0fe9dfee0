"""Figures of a live study: its people by cohort, and probabilities by cohort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairarm.reports.page.axes import BELOW, LINE, Area, Panel, Ticks
from fairarm.reports.page.charts import EDGE, NARROW, SHARE, WIDE, Key, curve, legend
from fairarm.reports.page.parts import Figure
from fairarm.reports.scales import Scale, fitting_ticks, tick_texts, ticks
from fairarm.reports.svg import Drawing, fitted, text_width
from fairarm.reports.words import pulls_text

MOST_COHORTS = 40
"""Of which people are drawn: the latest."""
MOST_CURVES = 6
"""Arms that are drawn: those whose probability was ever highest."""
MARKERS = ("o", "s", "^", "D", "v", "P")
SIGN, GAP = 18.0, 20.0
"""Pixels: of a sign of the key, with what parts it from its words, and between two of them."""


@dataclass(frozen=True)
class PeopleOfCohort:
    """How many cards a cohort has, and what came of them: told + lost + waiting ≤ cards; the others are not dealt."""

    number: int
    cards: int
    told: int
    lost: int
    waiting: int
    settled: bool

    @property
    def dealt(self) -> int:
        """People who got a card."""
        return self.told + self.lost + self.waiting


@dataclass(frozen=True)
class Kind:
    """One kind of people: its name, and how it is drawn."""

    name: str
    fill: str
    stroke: str | None = None


def people_figure(cohorts: Sequence[PeopleOfCohort], title: str, description: str, caption: Sequence[str]) -> Figure:
    """A bar per cohort: told, lost and waited for, one above the other; a line at the number of its cards."""
    drawn = cohorts[-MOST_COHORTS:]

    def draw(name: str, width: float, tall: float) -> str:
        drawing = Drawing(name, width, 0.0)
        kinds = _kinds(drawing)
        top = _people_key(drawing, kinds, width)
        most = 1.05 * max(one.cards for one in drawn) or 1.0
        at = ticks(0.0, most, 6, whole=True)
        panel = _cohort_panel(
            drawing, Area(0, top, width, tall), [one.number for one in drawn], "people", (0.0, most),
            Ticks(at, [pulls_text(round(x)) for x in at]),
        )  # fmt: skip
        with drawing.group("axes-1"):
            for i, one in enumerate(drawn):
                _bar(panel, one, i, kinds)
        panel.frame()
        drawing.height = panel.box.bottom + BELOW + LINE + 12
        return drawing.element(title, description)

    return Figure("people", draw("people", WIDE, 150), draw("people-narrow", NARROW, 150), caption)


def _kinds(drawing: Drawing) -> tuple[Kind, Kind, Kind]:
    return (
        Kind("counted", "mark"),
        Kind("no outcome: lost", drawing.hatch(crossed=True), "bad"),
        Kind("waited for", drawing.hatch(), "muted"),
    )


def _people_key(drawing: Drawing, kinds: Sequence[Kind], width: float) -> float:
    """The signs above the picture; returns where the picture may start."""
    x, y = EDGE, 10.0
    for kind in (*kinds, None):
        words = "cards of the cohort" if kind is None else kind.name
        wide = SIGN + text_width(words)
        if x > EDGE and x + wide > width - EDGE:
            x, y = EDGE, y + 20.0
        if kind is None:
            drawing.line((x, y), (x + 12.0, y), "ink", 1.6)
        else:
            drawing.rectangle((x, y - 6.0), (12.0, 12.0), kind.fill, kind.stroke, 1.0)
        drawing.text(fitted(words, width - 2 * EDGE - SIGN), (x + SIGN, y))
        x += wide + GAP
    return y + 36.0


def _cohort_panel(
    drawing: Drawing, box: Area, numbers: Sequence[int], name: str, limits: tuple[float, float], up: Ticks
) -> Panel:
    left = box.left + EDGE + up.widest + 8
    box = Area(left, box.top, box.right - EDGE - left, box.height)
    x = Scale(min(numbers) - 0.6, max(numbers) + 0.6, box.left, box.right)
    panel = Panel(drawing, box, x, Scale(*limits, box.bottom, box.top))
    panel.up(up, name)
    panel.across(Ticks(*fitting_ticks(x, 10, whole=True)), ["cohort"])
    return panel


def _bar(panel: Panel, one: PeopleOfCohort, i: int, kinds: Sequence[Kind]) -> None:
    below = 0
    for kind, people, what in zip(kinds, (one.told, one.lost, one.waiting), ("told", "lost", "waiting"), strict=True):
        if people:
            (left, bottom), (right, top) = (
                panel.place(one.number - 0.4, below),
                panel.place(one.number + 0.4, below + people),
            )
            panel.drawing.rectangle(
                (left, top), (right - left, bottom - top), kind.fill, kind.stroke, 1.0, id=f"{what}-{i}"
            )
            below += people
    ends = panel.place(one.number - 0.45, one.cards), panel.place(one.number + 0.45, one.cards)
    panel.drawing.line(*ends, "ink", 1.6, id=f"cards-{i}")


@dataclass(frozen=True)
class Course:
    """A probability after each settled cohort: (number of the cohort, probability)."""

    name: str
    points: Sequence[tuple[int, float]]


def course_figure(
    name: str, courses: Sequence[Course], ylabel: str, title: str, description: str, caption: Sequence[str]
) -> Figure:
    """A line per arm, for those that matter most."""
    shown = most_probable(courses)
    key = [Key(one.name, arm_colour(i), MARKERS[i]) for i, one in enumerate(shown)]

    def draw(id: str, width: float, tall: float) -> str:
        drawing = Drawing(id, width, 0.0)
        at = ticks(0.0, 1.0, 6)
        numbers = [number for one in shown for number, _ in one.points]
        panel = _cohort_panel(drawing, Area(0, 26, width, tall), numbers, ylabel, SHARE, Ticks(at, tick_texts(at)))
        with drawing.group("axes-1"):
            for i, (one, sign) in enumerate(zip(shown, key, strict=True)):
                points = [(float(number), p) for number, p in one.points]
                curve(panel, points, sign.colour, sign.shape, f"course-{i}")
        panel.frame()
        drawing.height = legend(drawing, key, EDGE, width - EDGE, panel.box.bottom + BELOW + LINE + 22) + 14
        return drawing.element(title, description)

    left_out = len(courses) - len(shown)
    cut = (
        [f"The {MOST_CURVES} of {len(courses)} that were ever the most likely; the table has all."] if left_out else []
    )
    return Figure(name, draw(name, WIDE, 200), draw(f"{name}-narrow", NARROW, 180), [*caption, *cut])


def most_probable(courses: Sequence[Course]) -> list[Course]:
    """Those that are drawn, in their order."""
    ranked = sorted(courses, key=lambda one: -max((p for _, p in one.points), default=0.0))[:MOST_CURVES]
    return [one for one in courses if one in ranked]


def arm_colour(i: int) -> str:
    """Of the i-th line, as the style sheet has it on a light page and on a dark one."""
    return f"var(--arm-{i})"
