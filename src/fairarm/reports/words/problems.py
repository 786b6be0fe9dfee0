"""What a problem asks, what fairness does not mean, and what can be said before the first pull."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairarm.problem.fairness import Row, pair_names
from fairarm.problem.outcome import Outcome
from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem
from fairarm.reports.words.asked import clause
from fairarm.reports.words.numbers import Marked, names, plan_text, value

if TYPE_CHECKING:
    from fairarm.core.limit.fewest_pulls import Limit
    from fairarm.experiments.inspect import Inspection


MOST_QUESTIONS = 6
"""Questions that are put in one sentence; pages list all."""
MARK = "\0"
"""Before and after an attribute's name, until it is marked."""


def question(problem: Problem) -> tuple[str | Marked, ...]:
    """What a problem asks, with its three nodes marked."""
    beside = wide_tolerance(problem)
    return (
        "Choose how ", Marked(problem.decision), " is decided so that ", Marked(problem.outcome.node), " is highest, while ",
        *_asked(problem), f".{f' {beside}' if beside else ''}",
    )  # fmt: skip


def _asked(problem: Problem) -> Iterator[str | Marked]:
    """What must hold meanwhile."""
    if problem.has_one_gap:
        s, other = pair_of(problem)
        yield from ("changing ", Marked(problem.attribute), f" ({s}, {other}) changes it by less than ")
        yield f"{problem.gap_tolerance:.6g}"
        return
    left = len(problem.constraints) - MOST_QUESTIONS
    said = [clause(problem, asked, mark=MARK) for asked in problem.constraints[:MOST_QUESTIONS]]
    for i, part in enumerate("; ".join(said + ([f"and {left} more"] if left > 0 else [])).split(MARK)):
        yield Marked(part) if i % 2 else part


def asked_of_arms(problem: Problem) -> list[str]:
    """Every question as a sentence about the mean outcome, with the name that it was given."""
    it = f"the mean {problem.outcome.node}"
    said = [(asked.name, clause(problem, asked, it)) for asked in problem.constraints]
    return [f"{name}: {text}." if name else f"{text[0].upper()}{text[1:]}." for name, text in said]


def wide_tolerance(problem: Problem) -> str | None:
    """What a tolerance means that no gap can exceed, and other ends that no arm can miss; None where some can."""
    if not problem.has_one_gap:
        return _wide_ends(problem)
    tolerance, width = problem.gap_tolerance, problem.outcome.width
    if tolerance < width:
        return None
    but = "" if tolerance > width else ", but for one whose groups lie at the two ends of it"
    return (
        f"The tolerance {tolerance:.6g} is not smaller than the outcome's range {width:.6g}: every arm is fair by "
        f"definition{but}."
    )


def _wide_ends(problem: Problem) -> str | None:
    idle = [row for row in problem.rows if _always_holds(row, problem.outcome)]
    if not idle:
        return None
    within = f"whatever the means within the outcome's range ({value(problem.outcome.low, ',.10g')} to {value(problem.outcome.high, ',.10g')})"
    if len(idle) == len(problem.rows):
        return f"Every arm is fair by definition: what is asked holds {within}."
    asked = tuple(dict.fromkeys(row.constraint for row in idle))
    whole = [name for name in asked if all(row in idle for row in problem.rows if row.constraint == name)]
    what = names([f"'{name}'" for name in whole] or [row.name for row in idle], 4)
    return f"Every arm meets {what} by definition: that holds {within}."


def _always_holds(row: Row, outcome: Outcome) -> bool:
    """Whether no means in the outcome's range break it."""
    low, high = row.ends(outcome)
    parts = (*row.weights, row.everyone)
    return low < sum(min(part, 0.0) for part in parts) and high > sum(max(part, 0.0) for part in parts)


def why_observed(problem: Problem, node: str) -> list[str]:
    """Why a node must be observed."""
    named = {
        **dict.fromkeys(
            problem.attributes, "the sensitive attribute" if len(problem.attributes) == 1 else "a sensitive attribute"
        ),
        problem.decision: "the decision",
        problem.outcome.node: "the outcome",
    }
    found = [named[node]] if node in named else []
    users = [arm.name for arm in problem.arms if node in arm.parents]
    if users:
        found.append(f"an input of {names(users, 4)}")
    if node in problem.relevant_children:
        known = "" if node in problem.mechanisms else ", whose mechanism is not declared"
        found.append(f"a child of {' or '.join(problem.attributes)} on the way to {problem.outcome.node}{known}")
    children = [x for x in problem.relevant_children if node in problem.roles.graph.parents(x)]
    if children and node not in problem.attributes:
        found.append(f"a parent of {names(children, 4)}")
    caused = [name for block in problem.roles.blocks if node in block.causes for name in block.members]
    if caused:
        found.append(f"a cause of {names(caused, 4)}")
    return found


def limit_text(problem: Problem, limit: Limit, what: str) -> str:
    """The limit in a sentence: T*, the pulls that it means at 0.05, and what is hardest to exclude."""
    if limit.pulls == 0 or not limit.alternatives:
        return f"Limit, {what}: no pull is needed, as no truth would give another answer (T* = 0)."
    if not limit.binding or not math.isfinite(limit.pulls):
        return f"Limit, {what}: no number of pulls is enough (T* = inf)."
    hardest = limit.binding[0]
    row = "" if hardest.row is None or problem.has_one_gap else f" ({problem.rows[hardest.row].name})"
    return (
        f"Limit, {what}: T* = {limit.pulls:.4g} ({limit.form}); a rule that errs with probability 0.05 whatever the truth needs about "
        f"{limit.pulls_needed(0.05):.4g} pulls on average. Hardest to exclude: {problem.arm_names[hardest.arm]}, {hardest.kind}{row}."
    )


def distances_text(found: Inspection) -> str:
    """What M and D are, which a table of arms shows against the deployed arm, or the first; "" where the paper has none."""
    if not found.problem.plain:
        return ""
    problem, pairs = found.problem, len(found.problem.compared) // 2
    what = (
        f"M and D (the largest over {pairs} pairs of groups, both ways)" if pairs > 1 else "M and D" if pairs else "M"
    )
    return f"{what}: how far each arm is from {problem.deployed or problem.arm_names[0]}; the smaller, the more its pulls tell."


def distance_columns(found: Inspection) -> tuple[list[str], list[list[str]]]:
    """Their headings and the cells of each arm: of one pair of groups D both ways, of more the largest."""
    problem, D = found.problem, found.D
    if not problem.plain:
        return [], [[] for _ in problem.arms]
    j = problem.arm_index(problem.deployed) if problem.deployed else 0
    heads = [f"D {pair}" for pair in pair_names(problem)]
    if len(heads) > 2:
        heads, D = ["largest D"], None if D is None else D.max(axis=0, keepdims=True)
    cells = [
        [
            value(None if found.M is None else float(found.M[k, j]), ".2f"),
            *(value(None if D is None else float(D[d, k, j]), ".2f") for d in range(len(heads))),
        ]
        for k in range(len(problem.arms))
    ]
    return ["M", *heads], cells


def paper_lines(found: Inspection) -> Iterator[tuple[str, bool]]:
    """What the paper's algorithms would do with a problem, and whether each sentence is a warning."""
    if found.v_star is not None:
        yield (
            f"The paper's csr with {found.pulls} pulls: {found.phases} phases; every arm is informed at a rate of at least "
            f"v* = {found.v_star:.4g} per pull. First phase: {plan_text(found.first_plan)}.",
            False,
        )
    if found.fair_from_phase is not None and found.phases is not None and found.fair_from_phase > found.phases:
        yield (
            f"The tolerance is small against the outcome's range: the paper's algorithms can show no arm to be fair before "
            f"phase {found.fair_from_phase}, and {found.pulls} pulls give {found.phases} phases. Use more pulls.",
            True,
        )
    if found.error_bound is not None and found.error_bound < 1:
        yield f"Theorem 1 bounds the error of csr-v1 by {found.error_bound:.3g} (it is very loose).", False
    if found.none_bound is not None and found.none_bound > 0:
        yield f"Theorem 2: csr says so with probability at least {found.none_bound:.3g} (it is very loose).", False


def fair_means(problem: Problem) -> str:
    """What makes an arm fair, where one gap between two groups is asked about."""
    s, other = pair_of(problem)
    return (
        f"An arm is fair here if the mean {problem.outcome.node} with everybody {s} and the mean with everybody {other} differ "
        f"by less than {problem.gap_tolerance:.6g}."
    )


def not_fair_means(problem: Problem) -> tuple[str, ...]:
    """What "fair" does not mean; in full in docs/fairness.md."""
    sensitive = " and ".join(problem.attributes)
    groups, tolerance = "The two groups", "The tolerance is a choice. It is in the outcome's own units, and"
    if not problem.has_one_gap:
        groups, tolerance = (
            "Groups",
            "What is asked is a choice: which groups are compared, how, and how close they must be. It",
        )
    return (
        "Groups, not persons. An arm can be fair and still treat some persons much better than others, as long as it evens out.",
        f"Not equal decisions. {groups} may receive different decisions and have equal outcomes, or the reverse.",
        f"It rests on the declared graph. If an arrow is missing, or {sensitive} has a cause that was left out, the number no longer answers the question, and no amount of data will reveal that.",
        f"{tolerance} should have been stated before the results were seen.",
        f"{'One attribute' if len(problem.attributes) == 1 else 'These attributes alone'}. An arm that is fair for {sensitive} may be unfair for another attribute, or for a combination of two.",
        "Nothing about why. A small gap does not show that the reasons are good, and a large one does not show bad intent.",
    )
