"""Beside the causal gap of two groups: the plain one, and the direct, indirect and spurious parts that it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairarm.problem.problem import Problem
from fairarm.problem.worlds import mediators
from fairarm.reports.words.numbers import names
from fairarm.reports.words.rows import row_digits

if TYPE_CHECKING:
    from fairarm.experiments.pairs import PairGap

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


def parts_of(pairs: Mapping[str, PairGap]) -> dict[str, list[float | None]]:
    """The five numbers of every pair "t|u"; none where the problem is plain, whose gap is the plain one."""
    return {
        name: [getattr(pair, part) for part in PARTS]
        for name, pair in pairs.items()
        if all(hasattr(pair, part) for part in PARTS)
    }


def parts_digits(problem: Problem) -> str:
    """How they are written."""
    return row_digits(problem, signed=True)


def parts_text(problem: Problem) -> list[str]:
    """What the five numbers are."""
    between = dict.fromkeys(node for about in _asked_about(problem) for node in mediators(problem.roles, about, problem.outcome.node))
    through = f" ({names([*between], 6)})" if between else ""
    return [
        "Gap of t|u: what people of group u would get as t, with what the question keeps unchanged, less what they get. Plain: what people "
        "of t get, less what people of u get = direct - indirect - spurious.",
        f"Direct: people of u as t with all else before the decision{through} unchanged, less as they are. Indirect: the same, less as t if all "
        "else followed. Spurious: people of u as t, less people of t as they are.",
    ]


def _asked_about(problem: Problem) -> Sequence[tuple[str, ...]]:
    return list(dict.fromkeys(row.attributes for row in problem.rows if row.people is not None))
