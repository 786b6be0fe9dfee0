"""The page of an inspection: what must be observed, how far arms are from each other, and the truth where it is known."""

from __future__ import annotations

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.experiments.inspect import Inspection
from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem
from fairarm.reports.page.evaluation import cut_note, fairness
from fairarm.reports.page.forest import Line, Marks, forest
from fairarm.reports.page.maps import NAMED, map_figure
from fairarm.reports.page.parts import Block, Box, Facts, Items, Maps, Page, PageTable, Section, Text
from fairarm.reports.page.rows import MOST_ROWS, Row, Words
from fairarm.reports.svg import shown
from fairarm.reports.words import (
    digits_of,
    gap_unit_of,
    limit_text,
    names,
    paper_lines,
    question,
    unit_of,
    unmarked,
    value,
    whole,
)


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
    rows = [(node, "; ".join(reasons(problem, node))) for node in problem.observed]
    blocks: list[Block] = [
        Text(f"Must be observed: {names(problem.observed, 20)}."),
        Text(f"May stay hidden: {nodes - len(problem.observed)} of {nodes} nodes."),
        Text(f"Children of {problem.sensitive} that matter: {names(problem.relevant_children)}."),
        PageTable("What every row must hold, and why", ("node", "why"), rows, ("why",)),
    ]
    return Section("What must be observed", blocks)


def reasons(problem: Problem, node: str) -> list[str]:
    """Why a node must be observed."""
    named = {
        problem.sensitive: "the sensitive attribute",
        problem.decision: "the decision",
        problem.outcome.node: "the outcome",
    }
    found = [named[node]] if node in named else []
    users = [arm.name for arm in problem.arms if node in arm.parents]
    if users:
        found.append(f"an input of {names(users, 4)}")
    if node in problem.relevant_children:
        known = "" if node in problem.mechanisms else ", whose mechanism is not declared"
        found.append(f"a child of {problem.sensitive} on the way to {problem.outcome.node}{known}")
    children = [x for x in problem.relevant_children if node in problem.roles.graph.parents(x)]
    if children and node != problem.sensitive:
        found.append(f"a parent of {names(children, 4)}")
    return found


# ---- arms ----


def _arms(found: Inspection) -> list[Block]:
    problem, truth = found.problem, found.truth
    s, other = pair_of(problem)
    j = problem.arm_index(problem.deployed) if problem.deployed else 0
    many = len(problem.arms) > NAMED
    digits, signed = _digits(problem)
    rows = []
    for k, name in enumerate(problem.arm_names):
        fair = "?" if truth is None else "yes" if truth.fair[k] else "no"
        rows.append(
            (
                name + (" (deployed)" if name == problem.deployed else ""),
                *([str(k + 1)] if many else []),
                value(float(truth.outcomes[k]) if truth else None, digits), value(float(truth.gaps[k]) if truth else None, signed), fair,
                value(None if found.M is None else float(found.M[k, j]), ".2f"),
                *(value(None if found.D is None else float(found.D[d, k, j]), ".2f") for d in (0, 1)),
            )
        )  # fmt: skip
    columns = (
        "arm",
        *(["number"] if many else []),
        f"mean {unit_of(problem.outcome)}",
        gap_unit_of(problem),
        "fair",
        "M",
        f"D {s}|{other}",
        f"D {other}|{s}",
    )
    best = None if truth is None or truth.best_fair_arm is None else rows[truth.best_fair_arm][0]
    title = f"M and D: how far each arm is from {problem.arm_names[j]}; the smaller, the more its pulls tell."
    return [*_truth_figures(found), PageTable(title, columns, rows, ("fair",), best)]


def _digits(problem: Problem) -> tuple[str, str]:
    """Of outcomes and of gaps, as on the terminal."""
    return digits_of(problem.outcome), digits_of(problem.outcome, [problem.gap_tolerance], signed=True)


def _truth_figures(found: Inspection) -> list[Block]:
    """Outcomes and gaps as they are: fair arms first, best first."""
    problem, truth = found.problem, found.truth
    if truth is None:
        return []
    order = np.lexsort((-truth.outcomes, ~truth.fair))[:MOST_ROWS]
    star = "" if truth.best_fair_arm is None else "★ the best fair arm. "
    caption = [f"{star}● fair. ○ and grey: unfair.", *cut_note(len(problem.arms), "best")]
    outcome, gap = f"mean {shown(problem.outcome.node, 20)}", f"gap {' - '.join(pair_of(problem))}"
    digits, signed = _digits(problem)

    def figure(name: str, what: str, unit: str, numbers: FloatArray, digits: str, marks: Marks) -> Block:
        texts = [value(float(numbers[k]), digits) for k in order]
        rows = [
            Row(problem.arm_names[k], text, text, k == truth.best_fair_arm)
            for k, text in zip(order, texts, strict=True)
        ]
        lines = [Line(row, float(numbers[k]), unfair=not truth.fair[k]) for k, row in zip(order, rows, strict=True)]
        title, text = f"The truth in this world: {what}", "All numbers are in the table."
        return forest(Words(name, title, text, ("arm", what, what), unit, caption), lines, marks)

    return [
        figure("outcomes", outcome, f"mean {unit_of(problem.outcome)}", truth.outcomes, digits, Marks()),
        figure("gaps", gap, gap_unit_of(problem), truth.gaps, signed, Marks(problem.gap_tolerance, zero=True)),
    ]


def _divergences(found: Inspection) -> list[Section]:
    problem = found.problem
    if found.M is None or found.D is None:
        return []
    s, other = pair_of(problem)
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
        map_figure("m", "M: outcomes", found.M[:K, :K], arms),
        map_figure("d1", f"D {s}|{other}: gaps, from pulls forced to {other}", found.D[0, :K, :K], arms),
        map_figure("d2", f"D {other}|{s}: gaps, from pulls forced to {s}", found.D[1, :K, :K], arms),
    ]
    text = (
        "How far arms are from each other by reweighting: the smaller, the more the pulls of one tell about the other."
    )
    lost = found.unreached()
    warning = [Text(f"The deployed arm's pulls say nothing about: {names(lost)}.", note=True)] if lost else []
    return [Section("Which arms inform which", [Text(text), *warning, Maps(maps), Text(" ".join(caption))])]


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
        ("tolerance", f"{problem.gap_tolerance:.6g}"),
        ("pulls", whole(found.pulls)),
        ("fairarm", version),
    ]
    return Section("How it was made", [Facts(pairs)])
