"""Small problems that are not plain, with the best arm exactly on an end: joint groups, attributes with causes, a node that is kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from benchmarks.calibration.strata import Stratum, check
from fairarm import Arm, Constraint, Outcome, Problem, Variable, table
from fairarm.problem.context import ContextLaw
from fairarm.problem.network import Network
from fairarm.worlds.network import NetworkWorld

CAP = 3000
"""Pulls after which a run counts as undecided: most do, as the truth lies on a border."""

Cut = tuple[str, list[str], Any]
"""A node, its parents, and P(node | parents) as nested lists."""


def world_on_end(
    name: str,
    sensitive: Sequence[str],
    parents: list[str],
    arms: Sequence[Any],
    cuts: Sequence[Cut],
    asked: dict[str, Any],
    **more: Any,
) -> NetworkWorld:
    """A network of V (given ``parents``) and the nodes of ``cuts``, all of states 0, 1, …; the tolerance of what is asked is the
    largest value that a row has under the first arm."""
    tables = {node: table(node, above, law) for node, above, law in [*cuts, ("V", parents, arms[0])]}
    variables = [Variable(node, tuple(str(i) for i in range(t.probabilities.shape[-1]))) for node, t in tables.items()]
    edges = [(name, node) for node, above, _ in [*cuts, ("V", parents, None)] for name in above]
    network = Network.of(variables, list(tables.values()))

    def declared(tolerance: float) -> NetworkWorld:
        problem = Problem(
            name=name,
            variables=variables,
            graph=edges,
            sensitive=sensitive if len(sensitive) > 1 else sensitive[0],
            decision="V",
            outcome=Outcome("Y", values=(0, 1)),
            arms=[Arm(f"arm-{k}", table("V", parents, law)) for k, law in enumerate(arms)],
            constraints=[Constraint(**asked, tolerance=tolerance)],
            **{**more, "mechanisms": [tables[node] for node in more.get("mechanisms", ())]},
        )
        return NetworkWorld(problem, network)

    truth = declared(0.9).truth()
    return declared(float(abs(truth.rows[0]).max()))


def coin(p: float) -> list[float]:
    return [1 - p, p]


def outcomes(*theta: Sequence[float]) -> list[list[list[float]]]:
    """P(y | z, v) of a binary outcome."""
    return [[coin(t) for t in row] for row in theta]


BY_CONTEXT = outcomes((0.875, 0.375, 0.125), (0.75, 0.5, 0.25))
SHIFTED = [[0.5, 0.5, 0.0], [0.375, 0.625, 0.0]], [[0.25, 0.75, 0.0], [0.4375, 0.5625, 0.0]]
"""By two attributes of two states."""
FURTHER = [[0.625, 0.375, 0.0], [0.5, 0.5, 0.0]], [[0.25, 0.75, 0.0], [0.5, 0.5, 0.0]]
BY_CAUSE = outcomes((0.75, 0.5, 0.125), (0.875, 0.25, 0.0))


def joint_groups() -> NetworkWorld:
    """Two attributes without causes; what arms see besides has an unknown law."""
    alike = [[[[0.25, 0.0, 0.75]] * 2] * 2] * 2, [[[[0.0, 0.5, 0.5]] * 2] * 2] * 2
    return world_on_end(
        "joint-on", ("A", "B"), ["Z", "A", "B"], [[SHIFTED, FURTHER], *alike],
        [("A", [], coin(0.5)), ("B", [], coin(0.75)), ("Z", [], coin(0.25)), ("Y", ["Z", "V"], BY_CONTEXT)],
        {"attributes": ("A", "B"), "compare": "pairs"},
        shares={"A": {"0": 0.5, "1": 0.5}, "B": {"0": 0.25, "1": 0.75}},
    )  # fmt: skip


def with_causes(name: str, kind: str) -> NetworkWorld:
    """Z → S → V → Y ← Z: what S stands for differs between those who have it and those who would."""
    alike = [[0.25, 0.0, 0.75]] * 2, [[0.0, 0.375, 0.625]] * 2
    return world_on_end(
        name, ("S",), ["S"], [[[0.25, 0.75, 0.0], [0.75, 0.25, 0.0]], *alike],
        [("Z", [], coin(0.5)), ("S", ["Z"], [coin(0.125), coin(0.75)]), ("Y", ["Z", "V"], BY_CAUSE)],
        {"compare": "pairs"},
        mechanisms=["S"], context=ContextLaw(("Z",), np.array([0.5, 0.5])), regime_kind=kind,
    )  # fmt: skip


def kept_node() -> NetworkWorld:
    """S → R → V ← S, R → Y: people as the other group, with their own R; Z, which arms see, has an unknown law."""
    by_group = [[[0.75, 0.25, 0.0], [0.5, 0.5, 0.0]], [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]]]
    further = [[[0.875, 0.125, 0.0], [0.5, 0.5, 0.0]], [[0.5, 0.5, 0.0], [0.25, 0.625, 0.125]]]
    alike = [[[[0.25, 0.0, 0.75]] * 2] * 2] * 2, [[[[0.0, 0.375, 0.625]] * 2] * 2] * 2
    return world_on_end(
        "kept-on", ("S",), ["Z", "S", "R"], [[by_group, further], *alike],
        [("S", [], coin(0.375)), ("Z", [], coin(0.25)), ("R", ["S"], [coin(0.25), coin(0.75)]), ("Y", ["R", "V"], BY_CAUSE)],
        {"compare": "pairs", "keep": ("R",)},
        mechanisms=["R"], shares={"0": 0.625, "1": 0.375},
    )  # fmt: skip


def attribute_above() -> NetworkWorld:
    """A → B, both of which arms see: each joint group beside the mean of everybody."""
    alike = [[[0.25, 0.0, 0.75]] * 2] * 2, [[[0.0, 0.375, 0.625]] * 2] * 2
    return world_on_end(
        "above-on", ("A", "B"), ["A", "B"], [SHIFTED, *alike],
        [("A", [], coin(0.5)), ("B", ["A"], [coin(0.25), coin(0.625)]), ("Y", ["V"], [coin(0.875), coin(0.375), coin(0.125)])],
        {"attributes": ("A", "B"), "compare": "mean"},
        mechanisms=["B"], shares={"A": {"0": 0.5, "1": 0.5}},
    )  # fmt: skip


@cache
def strata_of_worlds() -> tuple[Stratum, ...]:
    """All of them, checked: of the best arm, which is the first, one row is exactly on its end."""

    def one(what: str, world: NetworkWorld) -> Stratum:
        return Stratum(world.problem.name, what, world, frozenset({1}), border=True, cap=CAP)

    made = (
        one("joint groups of two attributes, contexts of unknown law; of the best arm one of six gaps is exactly E", joint_groups()),
        one("an attribute with a cause, people recruited; of the best arm one of two gaps is exactly E", with_causes("causes-on", "recruited")),
        one("the same with the attribute set", with_causes("causes-set-on", "set")),
        one("a mediator is kept, contexts of unknown law; of the best arm one of two gaps is exactly E", kept_node()),
        one("an attribute acts on another; of the best arm one joint group is exactly E from the mean of everybody", attribute_above()),
    )  # fmt: skip
    for stratum in made:
        check(stratum)
    return made
