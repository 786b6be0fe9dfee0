"""The page of an inspection: what must be observed, how far arms are from each other, and the truth where it is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.experiments.inspect import Inspection
from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem
from fairarm.reports.known import true_arm
from fairarm.reports.page.conditions import (
    ArmRows,
    Told,
    asked_fact,
    closest_cells,
    cut_note,
    fairness,
    parts_table,
    pictures,
    row_table,
)
from fairarm.reports.page.forest import Line, Marks, forest
from fairarm.reports.page.graph import graph_figures
from fairarm.reports.page.maps import NAMED, map_figure
from fairarm.reports.page.parts import Block, Box, Facts, Items, Maps, Page, PageTable, Section, Text
from fairarm.reports.page.rows import MOST_ROWS, Row, Words
from fairarm.reports.svg import shown
from fairarm.reports.words import (
    attributes_text,
    digits_of,
    distance_columns,
    distances_text,
    gap_unit_of,
    limit_text,
    names,
    paper_lines,
    question,
    regimes_text,
    unit_of,
    unmarked,
    value,
    whole,
    why_observed,
)

CLOSEST = "closest to unfair"
MOST_PAIRS = 6
"""Pairs of groups, each way counted, that have a map of their own."""


def inspection_page(found: Inspection, version: str) -> Page:
    """The page of what is known before the first pull."""
    problem = found.problem
    return Page(
        title=f"{problem.name}: before the first pull",
        about=[text for text in (problem.description, unmarked(question(problem))) if text],
        boxes=[*_truth(found)],
        sections=[
            _roles(problem),
            Section("The arms", _arms(found)),
            *_divergences(found),
            *_pulls(found),
            *_limits(found),
            *([Section("Not available", [Items(found.notes)])] if found.notes else []),
            fairness(problem),
            _made(found, version),
        ],
    )


def _truth(found: Inspection) -> list[Box]:
    problem, truth = found.problem, found.truth
    if truth is None:
        return [Box("The truth", "Not known: the problem has no world that knows it.", (), "plain")]
    best, top = truth.best_fair_arm, int(np.argmax(truth.outcomes))
    text = "no arm is fair" if best is None else f"the best fair arm is {problem.arm_names[best]}"
    also = "" if best == top else f"; the best arm of all, {problem.arm_names[top]}, is not fair"
    return [Box("The truth", f"In this world {text}{also}.", (), "warn" if best is None else "good")]


# ---- what must be observed ----


def _roles(problem: Problem) -> Section:
    nodes = len(problem.graph.nodes)
    rows = [(node, "; ".join(why_observed(problem, node))) for node in problem.observed]
    blocks: list[Block] = [
        Text(f"Must be observed: {names(problem.observed, 20)}."),
        Text(f"May stay hidden: {nodes - len(problem.observed)} of {nodes} nodes."),
        Text(f"Children of {' or '.join(problem.attributes)} that matter: {names(problem.relevant_children)}."),
        PageTable("What every row must hold, and why", ("node", "why"), rows, ("why",)),
    ]
    if problem.plain:
        return Section("What must be observed", blocks)
    causes = [Text(text) for text in (*attributes_text(problem), regimes_text(problem))]
    return Section("What must be observed", [*causes, *graph_figures(problem), *blocks])


# ---- arms ----


def _arms(found: Inspection) -> list[Block]:
    problem, truth = found.problem, found.truth
    many = len(problem.arms) > NAMED
    digits = digits_of(problem.outcome)
    fairness_heads, fairness_cells = _fairness_columns(found)
    distance_heads, distance_cells = distance_columns(found)
    rows = []
    for k, name in enumerate(problem.arm_names):
        fair = "?" if truth is None else "yes" if truth.fair[k] else "no"
        rows.append(
            (
                name + (" (deployed)" if name == problem.deployed else ""),
                *([str(k + 1)] if many else []),
                value(float(truth.outcomes[k]) if truth else None, digits), *fairness_cells[k], fair, *distance_cells[k],
            )
        )  # fmt: skip
    columns = (
        "arm", *(["number"] if many else []), f"mean {unit_of(problem.outcome)}", *fairness_heads, "fair", *distance_heads,
    )  # fmt: skip
    best = None if truth is None or truth.best_fair_arm is None else rows[truth.best_fair_arm][0]
    made = PageTable(distances_text(found) or "Every arm", columns, rows, ("fair", CLOSEST), best)
    gaps = {name: found.pairs(k) for k, name in enumerate(problem.arm_names)}
    return [*_truth_figures(found), made, *_every_row(found), *parts_table(problem, gaps)]


def _fairness_columns(found: Inspection) -> tuple[list[str], list[list[str]]]:
    """Headings, and the cells of each arm: the gap, or the condition that comes closest to breaking."""
    problem, arms = found.problem, range(len(found.problem.arms))
    if problem.has_one_gap:
        signed = _gap_digits(problem)
        return [gap_unit_of(problem)], [[value(gap, signed)] for gap in found.gaps()]
    if found.truth is None:
        return [], [[] for _ in arms]
    return [CLOSEST], [[closest_cells(problem, true_arm(problem, found.truth, k))[0]] for k in arms]


def _every_row(found: Inspection) -> list[Block]:
    if found.problem.has_one_gap or found.truth is None:
        return []
    return [row_table(found.problem, _arm_rows(found, range(len(found.problem.arms))), "")]


def _arm_rows(found: Inspection, order: Iterable[int]) -> list[ArmRows]:
    if (truth := found.truth) is None:
        return []
    return [
        ArmRows(true_arm(found.problem, truth, k), best=k == truth.best_fair_arm, unfair=not truth.fair[k])
        for k in order
    ]


def _gap_digits(problem: Problem) -> str:
    """Of gaps, as on the terminal."""
    return digits_of(problem.outcome, [problem.gap_tolerance], signed=True)


def _truth_figures(found: Inspection) -> list[Block]:
    """Outcomes and gaps as they are: fair arms first, best first."""
    problem, truth = found.problem, found.truth
    if truth is None:
        return []
    ranked = np.lexsort((-truth.outcomes, ~truth.fair))
    order = ranked[:MOST_ROWS]
    star = "" if truth.best_fair_arm is None else "★ the best fair arm. "
    signs = f"{star}● fair. ○ and grey: unfair."
    caption = [signs, *cut_note(len(problem.arms), "best")]
    outcome, digits = f"mean {shown(problem.outcome.node, 20)}", digits_of(problem.outcome)

    def figure(name: str, what: str, unit: str, numbers: FloatArray, digits: str, marks: Marks) -> Block:
        texts = [value(float(numbers[k]), digits) for k in order]
        rows = [
            Row(problem.arm_names[k], text, text, k == truth.best_fair_arm)
            for k, text in zip(order, texts, strict=True)
        ]
        lines = [Line(row, float(numbers[k]), unfair=not truth.fair[k]) for k, row in zip(order, rows, strict=True)]
        title, text = f"The truth in this world: {what}", "All numbers are in the table."
        return forest(Words(name, title, text, ("arm", what, what), unit, caption), lines, marks)

    outcomes = figure("outcomes", outcome, f"mean {unit_of(problem.outcome)}", truth.outcomes, digits, Marks())
    if not problem.has_one_gap:
        rows = _arm_rows(found, ranked.tolist())
        return [outcomes, *pictures(problem, rows, Told(key=signs, first="best"))]
    gap, marks = f"gap {' - '.join(pair_of(problem))}", Marks(problem.gap_tolerance, zero=True)
    return [outcomes, figure("gaps", gap, gap_unit_of(problem), truth.gaps, _gap_digits(problem), marks)]


def _divergences(found: Inspection) -> list[Section]:
    problem = found.problem
    if found.M is None or found.D is None:
        return []
    arms = problem.arm_names[:MOST_ROWS]
    K = len(arms)
    cut = [f"The first {K} of {len(problem.arms)} arms."] if len(problem.arms) > K else []
    numbered = ["Arms by their numbers in the table above."] if K > NAMED else []
    caption = [
        "Row: the arm to be learned about. Column: the arm that is pulled. Hatched: its pulls say nothing.",
        *numbered,
        *cut,
    ]
    maps = [
        map_figure(name, title, matrix[:K, :K], arms)
        for name, title, matrix in [("m", "M: outcomes", found.M), *_gap_maps(problem, found.D)]
    ]
    if len(problem.compared) > MOST_PAIRS:
        caption.append("--json has D of every pair.")
    text = (
        "How far arms are from each other by reweighting: the smaller, the more the pulls of one tell about the other."
    )
    lost = found.unreached()
    warning = [Text(f"The deployed arm's pulls say nothing about: {names(lost)}.", note=True)] if lost else []
    return [Section("Which arms inform which", [Text(text), *warning, Maps(maps), Text(" ".join(caption))])]


def _gap_maps(problem: Problem, D: FloatArray) -> Iterator[tuple[str, str, FloatArray]]:
    """D of every compared pair; of many, the largest."""
    pairs = [(problem.groups[t], problem.groups[u]) for t, u in problem.compared]
    if len(pairs) > MOST_PAIRS:
        yield "d", f"D: gaps, the largest over {len(pairs) // 2} pairs of groups, both ways", D.max(axis=0)
        return
    for number, ((t, u), matrix) in enumerate(zip(pairs, D, strict=True), 1):
        yield f"d{number}", f"D {t}|{u}: gaps, from pulls forced to {u}", matrix


# ---- pulls ----


def _pulls(found: Inspection) -> list[Section]:
    blocks = [Text(line, note=warns) for line, warns in paper_lines(found)]
    return [Section("The paper's algorithm", blocks)] if blocks else []


def _limits(found: Inspection) -> list[Section]:
    both = ((found.limit, "counting pulls alone"), (found.limit_with_costs, "within the cost budget"))
    blocks = [Text(limit_text(found.problem, limit, what)) for limit, what in both if limit is not None]
    return [Section("The limit for any rule that stops when sure", blocks)] if blocks else []


def _made(found: Inspection, version: str) -> Section:
    problem = found.problem
    pairs = [
        ("problem", problem.name),
        ("arms", whole(len(problem.arms))),
        ("deployed arm", problem.deployed or "none"),
        asked_fact(problem),
        ("pulls", whole(found.pulls)),
        ("fairarm", version),
    ]
    return Section("How it was made", [Facts(pairs)])
