"""What an answer from a log or a live study assumes, and why nothing is certified: as codes and facts. `fairarm.reports.words` has
the sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from fairarm.problem.fitting import FittedNote
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import missing_children


class Assumption(StrEnum):
    """What must hold; in brackets the facts that go with it."""

    GRAPH = "graph-as-declared"
    """[sensitive, outcome]."""
    CAUSES = "graph-with-causes-as-declared"
    """[attributes, causes, outcome]; in place of the first where more is asked than about one attribute without causes."""
    NOT_LEARNED = "no-arm-learned-from-these-rows"
    ROWS = "rows-are-independent-people"
    PROPENSITIES = "propensities-are-right"
    """[decision]."""
    INPUTS = "decided-from-inputs-alone"
    """[decision, inputs, outcome]."""
    SERVED = "arms-served-the-same-people"
    MECHANISMS = "declared-mechanisms-are-right"
    """[nodes]."""
    CONTEXTS = "declared-contexts-are-right"
    FITTED = "mechanism-was-fitted"
    """[arm or None, node, rows]."""
    ESTIMATED = "propensity-is-estimated"
    """[arm, rows]."""
    UNDECLARED = "mechanism-is-not-declared"
    """[node]."""
    SHARES_DECLARED = "shares-as-declared"
    SHARES_ESTIMATED = "shares-estimated"
    ATTRIBUTES_DECLARED = "attributes-as-declared"
    """[attributes, causes]."""
    ATTRIBUTES_ESTIMATED = "attributes-estimated"
    """[attributes, causes]."""
    LEFT_OUT = "rows-left-out-on-purpose"
    """[dropped]."""
    LEFT_OUT_BY = "left-out-by-a-column-before-the-decision"
    """[column]."""
    LATER = "later-people-are-alike"
    AT_RANDOM = "missing-at-random-given-the-cell"
    UNSERVED = "unserved-at-random"
    """Of a live study, as is the next."""
    DROPPED = "dropped-cohorts"
    """[cohorts]."""


class Obstacle(StrEnum):
    """Why nothing is certified."""

    FINDING = "finding-voids"
    """[finding]."""
    FITTED_LOGGING_ARM = "fitted-arm-made-rows"
    """[arm]."""
    ADAPTIVE = "outcomes-decided-later-rows"
    SHARES = "shares-not-known"
    LAW = "law-not-known"
    """[law, why]."""
    MISSING = "outcomes-are-missing"


@dataclass(frozen=True)
class Statement:
    """Something to be said of a result: a code, and the names and numbers of this case."""

    code: str
    facts: Mapping[str, Any] = field(default_factory=dict)


def assumptions(
    problem: Problem,
    *,
    propensities: bool = False,
    several_arms: bool = False,
    fitted: tuple[FittedNote, ...] = (),
    estimated: bool = False,
    left_out: Iterable[Statement] = (),
) -> tuple[Statement, ...]:
    """All of them. Of a log: whether it has propensities, and whether several arms that nobody drew by lot made its rows."""
    return (
        _graph(problem),
        Statement(Assumption.ROWS),
        _decisions(problem, propensities),
        *([Statement(Assumption.SERVED)] if several_arms else []),
        *_mechanisms(problem, fitted, estimated),
        *_people(problem, estimated),
        *left_out,
        Statement(Assumption.LATER),
    )


def _graph(problem: Problem) -> Statement:
    """What the graph says of the attributes."""
    if problem.plain:
        return Statement(Assumption.GRAPH, {"sensitive": problem.attribute, "outcome": problem.outcome.node})
    causes = dict.fromkeys(cause for block in problem.roles.blocks for cause in block.causes)
    blocks = [{"attributes": list(block.members), "causes": list(block.causes)} for block in problem.roles.blocks]
    facts = {
        "attributes": problem.attributes,
        "causes": tuple(causes),
        "blocks": blocks,
        "outcome": problem.outcome.node,
    }
    return Statement(Assumption.CAUSES, facts)


def _decisions(problem: Problem, propensities: bool) -> Statement:
    """How decisions came about."""
    if propensities:
        return Statement(Assumption.PROPENSITIES, {"decision": problem.decision})
    inputs = sorted({parent for arm in problem.arms for parent in arm.parents})
    facts = {"decision": problem.decision, "inputs": tuple(inputs), "outcome": problem.outcome.node}
    return Statement(Assumption.INPUTS, facts)


def _mechanisms(problem: Problem, fitted: tuple[FittedNote, ...], estimated: bool) -> Iterator[Statement]:
    """What was declared, and what had to be fitted."""
    declared = [x for x in problem.relevant_children if x in problem.mechanisms and x not in problem.fitted]
    if declared:
        yield Statement(Assumption.MECHANISMS, {"nodes": tuple(declared)})
    if problem.context is not None and not estimated:
        yield Statement(Assumption.CONTEXTS)
    for note in fitted:
        code = Assumption.ESTIMATED if note.model else Assumption.FITTED
        yield Statement(code, {"arm": note.arm, "node": note.node, "rows": note.rows})
    for x in missing_children(problem):
        yield Statement(Assumption.UNDECLARED, {"node": x})


def _people(problem: Problem, estimated: bool) -> Iterator[Statement]:
    """Where the shares of the groups, or the law of each block of attributes, come from."""
    if problem.plain:
        known = not estimated and problem.shares is not None
        yield Statement(Assumption.SHARES_DECLARED if known else Assumption.SHARES_ESTIMATED)
        return
    for block in problem.roles.blocks:
        known = not estimated and problem.own_factor(block) is not None
        code = Assumption.ATTRIBUTES_DECLARED if known else Assumption.ATTRIBUTES_ESTIMATED
        yield Statement(code, {"attributes": block.members, "causes": block.causes})
