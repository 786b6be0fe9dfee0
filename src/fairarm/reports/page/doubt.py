"""How far an answer from a log can be trusted: missing outcomes, a hidden cause, wrong tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairarm.experiments.evaluate import Evaluation
from fairarm.experiments.hidden_cause import HiddenCause
from fairarm.experiments.wrong_tables import WrongTables
from fairarm.problem.mechanism import NO_FAIR_ARM
from fairarm.reports.page.axes import BELOW, LINE, Area, Panel, Ticks
from fairarm.reports.page.charts import EDGE, NARROW, WIDE
from fairarm.reports.page.parts import Block, Figure, PageTable, Section, Text
from fairarm.reports.scales import Scale, fitting_ticks, tick_texts, ticks
from fairarm.reports.svg import Drawing, fitted
from fairarm.reports.words import between, interval_digits, unit_of, value
from fairarm.reports.words.doubt import (
    better_words,
    changed_from,
    columns_text,
    fairness_words,
    hidden_assumption,
    hidden_text,
    missing_text,
    table_name,
    tables_text,
)

TITLE = "How far can this be trusted?"


def trust(found: Evaluation) -> list[Section]:
    """The section, where there is something to say."""
    blocks: list[Block] = [Text(lost)] if (lost := missing_text(found)) else []
    if found.hidden_cause is not None:
        blocks += _hidden_cause(found, found.hidden_cause)
    if said := tables_text(found.wrong_tables, found.recommended or NO_FAIR_ARM):
        blocks.append(Text(said))
    if found.wrong_tables is not None:
        blocks.append(_table_of_tables(found.wrong_tables))
    if found.side_by_side:
        blocks.append(_beside(found))
    return [Section(TITLE, blocks)] if blocks else []


def _beside(found: Evaluation) -> PageTable:
    """Ordinary estimators beside ours, of every arm."""
    problem, one = found.problem, found.problem.has_one_gap
    digits = interval_digits(problem.outcome, [(line.outcome.low, line.outcome.high) for line in found.side_by_side])
    ends = [(line.fairness[0].low, line.fairness[0].high) for line in found.side_by_side]
    signed = interval_digits(problem.outcome, ends, signed=True)
    rows = []
    for line in found.side_by_side:
        pairs = [(line.outcome, digits), *([(line.fairness[0], signed)] if one else [])]
        cells = [
            cell for n, d in pairs for cell in (value(n.value, d), between(n.low, n.high, d), value(n.apart, ".1f"))
        ]
        rows.append((line.arm, line.estimator, *cells))
    gap = ("gap", "its interval", "its distance") if one else ()
    columns = ("arm", "estimator", f"mean {unit_of(problem.outcome)}", "interval", "distance", *gap)
    title = "Ordinary estimators beside ours. Distance: from ours, in standard errors of the difference; beyond 4 is no chance."
    return PageTable(title, columns, rows, ("estimator",))


def _table_of_tables(made: WrongTables) -> PageTable:
    rows = [
        (
            table_name(table),
            changed_from(table.answer),
            "–" if table.fairness is None else changed_from(table.fairness),
            "–" if table.shown is None else value(table.shown, ".3f"),
        )
        for table in made.tables
    ]
    columns = ("table of", "changes the answer from", "changes the arm's fairness from", "rows would have shown")
    return PageTable("Errors of one declared table, in total variation of its rows", columns, rows)


# ---- a hidden cause ----


def _hidden_cause(found: Evaluation, made: HiddenCause) -> list[Block]:
    blocks: list[Block] = [Text(hidden_text(found, made)), Text(columns_text(made))]
    if shown := _shown(found, made):
        blocks.append(_figure(found, made, shown))
    return [*blocks, _arms(found, made), Text(hidden_assumption(found), note=True)]


def _arms(found: Evaluation, made: HiddenCause) -> PageTable:
    digits = interval_digits(found.problem.outcome, [(arm.outcome.low, arm.outcome.high) for arm in made.arms])
    signed = interval_digits(
        found.problem.outcome, [(row.low, row.high) for arm in made.arms for row in arm.fairness[:1]], signed=True
    )
    one = found.problem.has_one_gap
    rows = [
        (
            arm.name,
            between(arm.outcome.low, arm.outcome.high, digits),
            *([between(arm.fairness[0].low, arm.fairness[0].high, signed)] if one else []),
            value(arm.fair_probability, ".3f"),
            fairness_words(arm),
            better_words(arm),
        )
        for arm in made.arms
    ]
    texts = ("fairness", "against the deployed arm")
    columns = ("arm", f"mean {unit_of(found.problem.outcome)}", *(["gap"] if one else []), "fair at least", *texts)
    return PageTable(f"With a hidden cause of at most {made.strength:g}", columns, rows, texts, found.arm)


def _shown(found: Evaluation, made: HiddenCause) -> list[int]:
    """The arms whose curves are drawn: the answer, and the deployed arm or else the most probable rival."""
    names = [arm.name for arm in made.arms]
    if found.arm is None:
        return []
    rivals = [found.problem.deployed, found.runner_up, *names]
    other = next((name for name in rivals if name in names and name != found.arm), None)
    return [names.index(name) for name in (found.arm, other) if name is not None]


def _figure(found: Evaluation, made: HiddenCause, shown: Sequence[int]) -> Figure:
    """Bounds of outcomes against the strength, a band per arm."""
    names = [made.arms[k].name for k in shown]

    def drawn(name: str, width: float, tall: float) -> str:
        drawing = Drawing(name, width, 0.0)
        ends = [end for point in made.curve for k in shown for end in (point.outcomes[k].low, point.outcomes[k].high)]
        margin = 0.05 * (max(ends) - min(ends)) or 1.0
        low, high = min(ends) - margin, max(ends) + margin
        at = ticks(low, high, 6)
        up = Ticks(at, tick_texts(at))
        left = EDGE + up.widest + 8
        box = Area(left, 26, width - left - 26, tall)
        x = Scale(1.0, made.curve[-1].strength, box.left, box.right)
        panel = Panel(drawing, box, x, Scale(low, high, box.bottom, box.top))
        with drawing.group("axes-1"):
            panel.up(up, unit_of(found.problem.outcome))
            panel.across(Ticks(*fitting_ticks(x, 7)), ["strength of the hidden cause"])
            _bands(panel, made, shown)
            _tip(panel, made)
            panel.frame()
        drawing.height = _key(drawing, names, box.bottom + BELOW + LINE + 22, width) + 14
        return drawing.element(
            f"Bounds of outcomes against the strength of a hidden cause: {', '.join(names)}",
            "Each arm has a band from the lower to the upper end. All arms are in the table below, at the strength asked for.",
        )

    caption = [
        "What outcomes can be, by how strong the hidden cause is. Dashed: where the answer tips at the estimates."
    ]
    return Figure("hidden", drawn("hidden", WIDE, 280), drawn("hidden-narrow", NARROW, 220), caption)


COLOURS = ("good", "mark")


def _bands(panel: Panel, made: HiddenCause, shown: Sequence[int]) -> None:
    for i, k in enumerate(shown):
        low = [panel.place(point.strength, point.outcomes[k].low) for point in made.curve]
        high = [panel.place(point.strength, point.outcomes[k].high) for point in made.curve]
        panel.drawing.area([*low, *reversed(high)], COLOURS[i], 0.16, id=f"band-{i}")
        for end, line in (("low", low), ("high", high)):
            panel.drawing.polyline(line, COLOURS[i], 1.6, id=f"{end}-{i}")


def _tip(panel: Panel, made: HiddenCause) -> None:
    """A line where the answer tips, if that is in sight."""
    tip = made.answer
    if tip is not None and math.isfinite(tip.strength) and 1.0 < tip.strength < made.curve[-1].strength:
        x, box = panel.x(tip.strength), panel.box
        panel.drawing.line((x, box.top), (x, box.bottom), "ink", 1.2, "4 3", id="tip")


def _key(drawing: Drawing, names: Sequence[str], top: float, width: float) -> float:
    """A line per band; returns the height of the last one."""
    for i, name in enumerate(names):
        y = top + 20.0 * i
        drawing.line((EDGE, y), (EDGE + 20.0, y), COLOURS[i], 1.6)
        drawing.text(fitted(name, width - 2 * EDGE - 26.0), (EDGE + 26.0, y))
    return top + 20.0 * (len(names) - 1)
