"""The rows of a question: what must lie between which ends, as sums of means of worlds. By definition, for any model.

A question has the keys of a constraint in a problem file, with codes for states (`worlds_models.random_question`). Every ordered pair
has a row of its own here, also where two are the same; `plain` tells where they are. Imports nothing of fairarm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import worlds_graphs
import worlds_truth
from worlds_models import profiles
from worlds_truth import Model, World, world

Group = tuple[int, ...]


class Row(NamedTuple):
    """low < Σ a μ(ω) < high; ``as_group`` and ``people`` are t and u, None where the row has none."""

    terms: tuple[tuple[float, World], ...]
    low: float
    high: float
    as_group: Group | None
    people: Group | None

    def value(self, model: Model, k: int) -> float:
        return math.fsum(a * worlds_truth.mean(model, k, asked) for a, asked in self.terms)

    def holds(self, model: Model, k: int) -> bool:
        return self.low < self.value(model, k) < self.high


def rows(model: Model, question: Mapping[str, Any]) -> list[Row]:
    """Every row, in order of (t, u)."""
    asked = _Question(model, question)
    compare = question["compare"]
    if compare == "floor":
        return [Row(((1.0, asked.own(u)),), question["at_least"], math.inf, None, u) for u in asked.groups]
    if compare == "weights":
        terms = tuple((float(a), asked.imagined(t, None)) for t, a in question["weights"].items())
        E = question.get("tolerance", math.inf)
        return [Row(terms, question.get("at_least", -E), question.get("at_most", E), None, None)]
    if question.get("effect", "total") != "total":
        return [asked.effect(t, u, question["effect"]) for t, u in asked.pairs()]
    if compare == "mean":
        return [row for t in asked.groups for row in asked.compared(asked.imagined(t, None), world(), t, None)]
    found: list[Row] = []
    for t, u in asked.pairs():
        other_first = compare == "reference" and t == question["reference"]
        one, other = asked.imagined(t, u), asked.own(u)
        # d is the other group minus the reference, among people of either
        found += asked.compared(other, one, t, u) if other_first else asked.compared(one, other, t, u)
    return found


def fair(model: Model, k: int, questions: list[Mapping[str, Any]]) -> bool:
    """All rows of all questions hold."""
    return all(row.holds(model, k) for question in questions for row in rows(model, question))


def plain(model: Model, question: Mapping[str, Any]) -> bool:
    """One attribute without causes and block, nothing kept: people of u as t have the mean of everyone as t."""
    graph, names = worlds_graphs.of(model), tuple(question["attributes"])
    return (
        len(names) == 1
        and not graph.causes(names)
        and names in graph.blocks
        and not question.get("keep")
        and question.get("others", "follow") == "follow"
        and question.get("effect", "total") == "total"
    )


class _Question:
    """Groups, kept nodes and ends of a question."""

    def __init__(self, model: Model, question: Mapping[str, Any]) -> None:
        self.question, self.names = question, tuple(question["attributes"])
        self.mediators = worlds_truth.mediators(model, self.names)
        keep = question.get("keep", ())
        kept = self.mediators if keep == "mediators" else frozenset(keep)
        if question.get("others", "follow") == "held":
            kept |= frozenset(model.attributes) - set(self.names)
        self.kept = kept
        least = question.get("min_share", 0.0)
        listed = question.get("groups") or profiles(model, self.names)
        self.groups = [g for g in listed if worlds_truth.share(model, self.codes(g)) >= least]

    def codes(self, group: Group) -> dict[str, int]:
        return dict(zip(self.names, group, strict=True))

    def own(self, u: Group) -> World:
        """μ(u|u): people of u as they are."""
        return world(people=self.codes(u))

    def imagined(self, t: Group, u: Group | None, kept: frozenset[str] | None = None) -> World:
        """μ(t|u), or μ(t) of everyone."""
        return world(self.codes(t), self.codes(u) if u is not None else {}, self.kept if kept is None else kept)

    def pairs(self) -> list[tuple[Group, Group]]:
        reference = self.question.get("reference")
        return [
            (t, u)
            for t in self.groups
            for u in self.groups
            if t != u and (self.question["compare"] == "pairs" or reference in (t, u))
        ]

    def compared(self, one: World, other: World, t: Group, u: Group | None) -> list[Row]:
        """The rows of d = one − other: one of a tolerance, up to two of a ratio."""
        direction = self.question.get("direction", "both")
        low, high = direction != "not_above", direction != "not_below"
        if "tolerance" in self.question:
            E = self.question["tolerance"]
            return [Row(((1.0, one), (-1.0, other)), -E if low else -math.inf, E if high else math.inf, t, u)]
        ratio = self.question["ratio"]
        first = [Row(((1.0, one), (-ratio, other)), 0.0, math.inf, t, u)]
        second = [Row(((1.0, other), (-ratio, one)), 0.0, math.inf, t, u)]
        return first * low + second * high

    def effect(self, t: Group, u: Group, effect: str) -> Row:
        """DE = μ(t,u,M) − μ(u|u), IE = μ(t,u,M) − μ(t|u), SE = μ(t|u) − μ(t|t)."""
        through, held = self.imagined(t, u), self.imagined(t, u, self.mediators)
        one, other = {
            "direct": (held, self.own(u)),
            "indirect": (held, through),
            "spurious": (through, self.own(t)),
        }[effect]
        E = self.question["tolerance"]
        return Row(((1.0, one), (-1.0, other)), -E, E, t, u)
