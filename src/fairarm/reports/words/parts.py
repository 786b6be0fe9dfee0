"""Beside the causal gap of two groups: the plain one, and the direct, indirect and spurious parts that it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fairarm.problem.problem import Problem
from fairarm.problem.worlds import mediators
from fairarm.reports.words.numbers import names
from fairarm.reports.words.rows import row_digits

if TYPE_CHECKING:
    from fairarm.experiments.pairs import PairGap

Arms = Mapping[str, Mapping[str, "PairGap"]]
"""Pairs by name, "t|u", of arms by name."""

PARTS = ("gap", "plain", "direct", "indirect", "spurious")
"""Of a pair of groups, in the order in which they are shown."""


def attributes_text(problem: Problem) -> list[str]:
    """What acts on the sensitive attributes, and which of them go together; [] where that is nothing."""
    said = []
    for block in problem.roles.blocks:
        together = " and ".join(block.members)
        if len(block.members) > 1:
            said.append(f"{together} share a hidden cause: they are told together.")
        if block.causes:
            said.append(
                f"{', '.join(block.causes)} {'acts' if len(block.causes) == 1 else 'act'} on {together}: people of two groups differ by "
                f"that too, which no change of {together} would alter."
            )
    return said


def regimes_text(problem: Problem) -> str:
    """Which pulls can be asked for besides natural ones."""
    if not problem.forced:
        return "Pulls: natural ones alone."
    how = "of people who are recruited so" if problem.regime_kind == "recruited" else "with attributes set so"
    return f"Pulls: natural, or {how}: {names(problem.forced, 12)}."


def parts_shown(problem: Problem) -> tuple[str, ...]:
    """Which of `PARTS` say something of their own: in a plain problem the plain gap is the gap, and nothing is spurious."""
    return ("gap", "direct", "indirect") if problem.plain else PARTS


def parts_of(problem: Problem, arms: Arms) -> list[tuple[str, str, list[float | None]]]:
    """The arm, the pair "t|u" and its numbers; of a plain problem those of arms whose gaps are direct in part."""
    if problem.plain:
        partly = _between(problem) and {arm for arm, _, pair in _each(arms) if pair.direct}
        arms = {arm: pairs for arm, pairs in arms.items() if partly and arm in partly}
    shown = parts_shown(problem)
    return [(arm, name, [getattr(pair, part) for part in shown]) for arm, name, pair in _each(arms)]


def all_indirect(problem: Problem, arms: Arms) -> str | None:
    """Of a plain problem whose gaps come through mediators alone."""
    directs = [pair.direct for _, _, pair in _each(arms)]
    if not problem.plain or not directs or any(part is None or part for part in directs) or not _between(problem):
        return None
    return f"All that these gaps are made of comes through {names(_between(problem), 6)}: nothing of them is direct."


def _each(arms: Arms) -> list[tuple[str, str, PairGap]]:
    return [(arm, name, pair) for arm, pairs in arms.items() for name, pair in pairs.items()]


def parts_digits(problem: Problem) -> str:
    """How they are written."""
    return row_digits(problem, signed=True)


def parts_text(problem: Problem) -> list[str]:
    """What the numbers are."""
    between = _between(problem)
    through = f" ({names(between, 6)})" if between else ""
    direct = (
        f"Direct: people of u as t with all else before the decision{through} unchanged, less as they are. Indirect: the same, less as t if all "
        "else followed."
    )
    if problem.plain:
        return [
            f"Gap of t|u: what people of group u would get as t, less what they get = direct - indirect. {direct} Of arms that are not "
            f"listed all of it is indirect."
        ]
    return [
        "Gap of t|u: what people of group u would get as t, with what the question keeps unchanged, less what they get. Plain: what people "
        "of t get, less what people of u get = direct - indirect - spurious.",
        f"{direct} Spurious: people of u as t, less people of t as they are.",
    ]


def _between(problem: Problem) -> list[str]:
    """The mediators of what is asked about."""
    asked = dict.fromkeys(row.attributes for row in problem.rows if row.people is not None)
    return [*dict.fromkeys(x for about in asked for x in mediators(problem.roles, about, problem.outcome.node))]
