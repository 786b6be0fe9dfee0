"""How fair arms are where more is asked about than one gap: per question a figure of all its conditions against its ends, a matrix
of every condition of every arm, and the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairarm.problem.fairness import MEAN
from fairarm.problem.fairness import Row as Condition
from fairarm.problem.problem import Problem
from fairarm.reports.known import Ends, KnownArm, KnownRow, by_question, read_ends, row_heads
from fairarm.reports.page.forest import Line, Marks, forest
from fairarm.reports.page.matrix import SLANTED, Cell, Matrix, level_of, matrix_figure
from fairarm.reports.page.matrix import Line as MatrixLine
from fairarm.reports.page.parts import Block, Figure, Items, PageTable, Section, Text
from fairarm.reports.page.rows import MOST_ROWS, Row, Words
from fairarm.reports.svg import fitted, text_width
from fairarm.reports.words import (
    all_indirect,
    asked_of_arms,
    count,
    digits_of,
    fair_means,
    limits,
    norm,
    not_fair_means,
    parts_digits,
    parts_of,
    parts_shown,
    parts_text,
    plain_number,
    row_limits,
    row_text,
    shown_digits,
    unit_of,
    value,
    whole,
)

if TYPE_CHECKING:
    from fairarm.experiments.pairs import PairGap

MOST_FIGURES, MOST_COLUMNS, MOST_LINES = 8, 36, 4000
"""Questions with a figure of their own, columns of the matrix, and lines of the table; --json has all."""
FAIR_TITLE = "Fair: the probability that all conditions hold. Closest to unfair: the one that is least likely to hold."
NAME_ROOM = 150.0
"""Pixels for the name of a condition beside its number."""


def cut_note(arms: int, which: str = "most probable") -> list[str]:
    """A line that says so, where a picture leaves arms out."""
    return [f"The picture shows the {MOST_ROWS} {which} of {arms} arms; the table has all."] if arms > MOST_ROWS else []


def fairness(problem: Problem) -> Section:
    """What fair means here, and what it does not."""
    title, more = 'What "fair" does not mean', "More is not meant:"
    if problem.has_one_gap:
        return Section(title, [Text(f"{fair_means(problem)} {more}"), Items(not_fair_means(problem))])
    meant = Text("An arm is fair here if all of this holds:"), Items(asked_of_arms(problem))
    return Section(title, [*meant, Text(more), Items(not_fair_means(problem))])


def asked_fact(problem: Problem) -> tuple[str, str]:
    """The same in short, among how a page was made."""
    if problem.has_one_gap:
        return "tolerance", f"{problem.gap_tolerance:.6g}"
    return "asked", "; ".join(asked.label for asked in problem.constraints)


@dataclass(frozen=True)
class ArmRows:
    """An arm with what is known of its rows, and how it is drawn."""

    known: KnownArm
    best: bool = False
    unfair: bool = False
    weak: bool = False
    truth: KnownArm | None = None
    """The same in a world that knows it."""

    @property
    def name(self) -> str:
        """Of the arm."""
        return self.known.name

    @property
    def rows(self) -> Sequence[KnownRow]:
        """In the order of the problem's."""
        return self.known.rows


@dataclass(frozen=True)
class Told:
    """How a page speaks of its arms: what the numbers are, what the signs mean, which arms come first."""

    interval: str = ""
    """E.g. "95 % limits"; none are drawn where it is empty."""
    key: str = ""
    first: str = "most probable"


def pictures(problem: Problem, arms: Sequence[ArmRows], told: Told) -> list[Block]:
    """A figure per question, then the matrix of all of them."""
    drawn = question_figures(problem, arms, told)
    return [*drawn, *([_matrix(problem, arms, told)] if len(problem.rows) > 1 else [])]


def question_figures(problem: Problem, arms: Sequence[ArmRows], told: Told) -> list[Block]:
    """A figure per question."""
    questions, said = by_question(problem.rows), asked_of_arms(problem)
    labels = [asked.label for asked in problem.constraints]
    drawn: list[Block] = []
    for number, rows in enumerate(questions[:MOST_FIGURES], 1):
        drawn.append(Text(said[labels.index(problem.rows[rows[0]].constraint)]))
        drawn.append(_figure(problem, arms, told, number, rows))
    left = len(questions) - MOST_FIGURES
    more = [Text(f"{count(left, 'question')} more: see the matrix and the table.")] if left > 0 else []
    return [*drawn, *more]


# ---- a question ----


def _figure(problem: Problem, arms: Sequence[ArmRows], told: Told, number: int, rows: Sequence[int]) -> Figure:
    drawn = arms[:MOST_ROWS]
    one = problem.rows[rows[0]]
    lines = [_line(problem, arm, told, rows) for arm in drawn]
    inside = sum(all(arm.rows[j].inside for j in rows) for arm in drawn)
    what = f"closest of {len(rows)}" if len(rows) > 1 else one.name
    words = Words(
        name=f"fairness-{number}",
        title=f"{one.constraint}: {count(len(rows), 'condition')}, and what comes closest to breaking one",
        description=f"Of {len(drawn)} arms {inside} lie inside of all ends. All numbers are in the table.",
        heads=("arm", f"{what} ({told.interval})" if told.interval else what, what),
        xlabel=_scale_name(problem, one),
        caption=[_caption(one, len(rows)), *([told.key] if number == 1 else []), *cut_note(len(arms), told.first)],
    )
    return forest(words, lines, Marks(zero=one.is_gap, ends=read_ends(one)))


def _line(problem: Problem, arm: ArmRows, told: Told, rows: Sequence[int]) -> Line:
    own = [arm.rows[j] for j in rows]
    found = arm.known.closest_of(rows)
    if found is None:
        return Line(Row(arm.name, "?", "?", arm.best), None, unfair=arm.unfair)
    at = next(j for j in rows if arm.rows[j] is found)
    digits = shown_digits(problem, found.row)
    short = value(found.shown, digits)
    if len(rows) > 1:
        short = f"{row_name(found.row, NAME_ROOM)}  {short}"
    ends = f" ({limits(found.shown_interval, digits)})" if told.interval and found.interval else ""
    others = tuple(each.shown for each in own if each is not found and each.shown is not None)
    return Line(
        row=Row(arm.name, short + ends, short, arm.best),
        mean=found.shown,
        usual=found.shown_interval,
        certified=found.shown_certified,
        truth=None if arm.truth is None else arm.truth.rows[at].shown,
        unfair=arm.unfair,
        weak=arm.weak,
        others=others,
    )


def row_name(row: Condition, room: float) -> str:
    """The name of a condition, shortened until there is room: first what the others have too, then of two groups each, so that both are
    known."""
    for name in _names(row):
        if text_width(name) <= room:
            return name
    first, sign, second = row.name.partition(" / " if row.ratio is not None else " - ")
    if row.name != f"{row.as_group or MEAN}{sign}{row.people or MEAN}":
        return fitted([*_names(row)][-1], room)
    return f"{fitted(first, room / 2 - 8)}{sign}{fitted(second, room / 2 - 8)}"


def _names(row: Condition) -> Iterator[str]:
    """Ever shorter ones. People are compared with themselves, everybody with everybody: that need not be said."""
    yield row.name
    start = (
        f"{row.attributes[0]}: " if len(row.attributes) == 1 and row.name.startswith(f"{row.attributes[0]}: ") else ""
    )
    own = row.name.removeprefix(start).removeprefix("everyone as ")
    if row.ratio is None and row.people is not None and f"{row.people} as " in own:
        own = own.removesuffix(f" - {row.people}").replace(f"{row.people} - {row.people} as ", f"{row.people} - as ")
    yield start + own
    if len(row.attributes) > 1:
        for attribute in row.attributes:
            own = own.replace(f"{attribute}=", "")
    yield own


def _scale_name(problem: Problem, row: Condition) -> str:
    unit = unit_of(problem.outcome)
    if row.ratio is not None:
        mean = row.people is None or row.as_group is None
        return (
            f"one mean {problem.outcome.node} as a share of another"
            if not mean
            else "share, of the mean over everybody or the reverse"
        )
    if row.people is not None:
        return f"difference between two groups, in {unit}"
    if row.everyone:
        return f"group less the mean over everybody, in {unit}"
    return f"mean {unit}" if row.as_group is not None else f"{row.name}, in {unit}"


def _caption(row: Condition, rows: int) -> str:
    low, high = read_ends(row)
    if low is not None and high is not None:
        band = f"Shaded: what is fair, between {plain_number(low)} and {plain_number(high)}."
    else:
        band = (
            f"Shaded: what is fair, above {plain_number(low)}."
            if high is None
            else f"Shaded: what is fair, below {plain_number(high)}."
        )
    if rows == 1:
        return band
    return f"{band} Per arm all {rows} conditions: a large mark for the one that is closest to breaking, whose name stands beside it, small strokes below it for the others."


# ---- the matrix ----


def _matrix(problem: Problem, arms: Sequence[ArmRows], told: Told) -> Figure:
    drawn = arms[:MOST_ROWS]
    columns = _columns(problem, drawn)
    lines = [MatrixLine(arm.name, arm.best, [_cell(problem, arm.rows[j]) for j in columns]) for arm in drawn]
    made = Matrix(
        heads=[row_name(problem.rows[j], SLANTED) for j in columns],
        questions=[problem.rows[j].constraint for j in columns],
        lines=lines,
        key=_levels(lines, drawn),
    )
    broken = sum(cell.level in (2, 3) for line in lines for cell in line.cells)
    cells = len(columns) * len(lines)
    cut = len(problem.rows) > len(columns)
    caption = [
        "Column: a condition. Row: an arm. What is broken stands out, and is crossed where there is no room for its number; the table has all.",
        *([f"The {len(columns)} of {len(problem.rows)} conditions that come closest to breaking."] if cut else []),
        *cut_note(len(arms), told.first),
    ]
    described = f"{broken} of {whole(cells)} are broken or probably broken. All numbers are in the table."
    return matrix_figure("conditions", "Every condition of every arm", described, made, caption)


def _columns(problem: Problem, arms: Sequence[ArmRows]) -> list[int]:
    """All rows, or those that come closest to breaking in some arm, in their order."""
    every = range(len(problem.rows))
    if len(every) <= MOST_COLUMNS:
        return list(every)
    order = sorted(every, key=lambda j: (min(_standing(arm.rows[j]) for arm in arms), j))
    return sorted(order[:MOST_COLUMNS])


def _standing(known: KnownRow) -> float:
    """How likely it is to hold; where that is not known, whether its estimate does."""
    return known.holds if known.holds is not None else float(known.inside is not False)


def _cell(problem: Problem, known: KnownRow) -> Cell:
    row = known.row
    tolerance = [row.below / 5] if row.is_gap and row.below else []
    digits = ".2f" if row.ratio is not None else digits_of(None, tolerance or [0.05 * problem.outcome.width])
    sign = "+" if row.ratio is None and (row.people is not None or row.everyone) else ""
    return Cell(value(known.shown, sign + digits), level_of(known.holds, known.inside))


def _levels(lines: Sequence[MatrixLine], arms: Sequence[ArmRows]) -> list[tuple[int, str]]:
    """What the shades mean, only those that are there."""
    holds = [each.holds for arm in arms for each in arm.rows]
    known, chances = any(p is not None for p in holds), any(p not in (None, 0.0, 1.0) for p in holds)
    seen = {cell.level for line in lines for cell in line.cells}
    said = {0: "holds", 3: "broken", 4: "not known"}
    if not known:
        said |= {0: "estimate inside its ends", 3: "estimate beyond one"}
    if chances:
        said |= {
            0: "holds with probability 0.95 or more", 1: "0.5 to 0.95", 2: "0.05 to 0.5", 3: "0.05 or less: broken",
        }  # fmt: skip
    return [(level, said.get(level, "")) for level in sorted(seen)]


# ---- tables ----


def closest_cells(problem: Problem, arm: KnownArm) -> tuple[str, str, str]:
    """Of the condition that comes closest to breaking: words, limits, the probability that it holds."""
    found = arm.closest
    if found is None:
        return "?", "?", "?"
    ends = row_limits(problem, found, found.shown_interval) if found.interval else "none"
    return row_text(problem, found), ends, value(found.holds, ".3f")


def row_table(problem: Problem, arms: Sequence[ArmRows], interval: str, certified: bool = False) -> PageTable:
    """Every condition of every arm, a line each."""
    heads = row_heads(problem.rows)
    shown = arms[: max(MOST_LINES // len(heads), 1)]
    rows = [row for arm in shown for row in arm.rows]
    limited, chances = any(row.interval for row in rows), any(row.holds is not None for row in rows)
    columns = [
        "arm", "condition", "value", *([interval] if limited else []), *(["certified interval"] if certified else []),
        *(["holds"] if chances else []), "asked",
    ]  # fmt: skip
    digits, norms = (
        [shown_digits(problem, row) for row in problem.rows],
        [norm(row).split(": ")[1] for row in problem.rows],
    )
    lines = [
        (
            arm.name, head, value(row.shown, digits[j]), *([_ends(row.shown_interval, digits[j])] if limited else []),
            *([_ends(row.shown_certified, digits[j])] if certified else []), *([value(row.holds, ".3f")] if chances else []), norms[j],
        )
        for arm in shown
        for j, (head, row) in enumerate(zip(heads, arm.rows, strict=True))
    ]  # fmt: skip
    return PageTable(_row_title(problem, len(shown), len(arms)), columns, lines, ("condition", "asked"), folded=True)


def parts_table(problem: Problem, arms: Mapping[str, Mapping[str, PairGap]]) -> list[Block]:
    """The causal gap of every pair of groups, the plain one and its parts, a line each; nothing where they are all the same."""
    digits = parts_digits(problem)
    lines = [
        (arm, pair.replace("|", " | "), *(value(x, digits) for x in found))
        for arm, pair, found in parts_of(problem, arms)
    ]
    if not lines:
        text = all_indirect(problem, arms)
        return [Text(text)] if text else []
    cut = "" if len(lines) <= MOST_LINES else f" The first {MOST_LINES} of {len(lines)}; --json has all."
    title = f"Gaps, and what they are made of, in {unit_of(problem.outcome)}.{cut}"
    folded = len(lines) > MOST_ROWS
    made = PageTable(title, ("arm", "t | u", *parts_shown(problem)), lines[:MOST_LINES], ("t | u",), folded=folded)
    return [made, *(Text(text) for text in parts_text(problem))]


def _row_title(problem: Problem, shown: int, arms: int) -> str:
    which = "every arm" if shown == arms else f"the first {shown} of {arms} arms (--json has all)"
    ratios = any(row.ratio is not None for row in problem.rows)
    share = "; a / b is one mean as a share of another" if ratios else ""
    return f"Every condition of {which}, in {unit_of(problem.outcome)}{share}."


def _ends(ends: Ends | None, digits: str) -> str:
    return "none" if ends is None else limits(ends, digits)
