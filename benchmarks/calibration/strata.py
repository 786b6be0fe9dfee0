"""Small problems that are hard in one way each, with the answers that are right in them.

At most 4 arms and 6 cells that can be reached, so that thousands of runs are affordable. An arm exactly at the
tolerance is unfair; of arms that are tied either may be named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from fairarm import Arm, Constraint, Outcome, Problem, Variable, table
from fairarm.core.answer import Code
from fairarm.core.types import BoolArray, FloatArray
from fairarm.problem.network import Network
from fairarm.worlds.network import NetworkWorld

CAP = 20_000
"""Pulls after which a run counts as undecided."""

NONE = int(Code.NONE)
GROUPS = ("a", "b", "c", "d")
Law = Sequence[Sequence[float]]
Cut = tuple[str, list[str], Any]
"""A node, its parents, and P(node | parents) as nested lists."""


@dataclass(frozen=True)
class Stratum:
    """One small problem. ``right``: the answers that are right (positions of arms, or NONE)."""

    name: str
    what: str
    world: NetworkWorld
    right: frozenset[int]
    easy: bool = False
    """A certified run should decide it within about 500 pulls, in 95 % of runs at least."""
    border: bool = False
    """The truth lies on the border between two answers: deciding may take for ever."""
    cap: int = CAP
    growth: float | None = None
    """From one look to the next, where it is not pool's own; 1: a look after every pull."""

    @property
    def problem(self) -> Problem:
        return self.world.problem


def make_world(
    name: str,
    sizes: dict[str, int],
    cuts: Sequence[Cut],
    parents: list[str],
    arms: Sequence[Any],
    asked: float | Sequence[Constraint],
    *,
    shares: tuple[float, ...] = (0.5, 0.5),
    shares_declared: bool = True,
    declared: Sequence[str] = (),
    values: Sequence[float] = (0.0, 1.0),
    costs: Sequence[Sequence[float]] = (),
) -> NetworkWorld:
    """A network of S, V (given ``parents``) and the nodes of ``cuts``; the problem declares the mechanisms ``declared``.

    ``asked``: constraints, or the tolerance of two groups. Without costs every pull costs 1; with them the budget is 1/√pulls, as
    in the paper.
    """
    variables = [Variable("S", GROUPS[: len(shares)]), *(Variable(node, tuple(f"{node}{i}" for i in range(n))) for node, n in sizes.items())]  # fmt: skip
    tables = {node: table(node, given, law) for node, given, law in cuts}
    candidates = [Arm(f"arm-{k}", table("V", parents, law)) for k, law in enumerate(arms)]
    edges = [(above, node) for node, given, _ in cuts for above in given] + [(above, "V") for above in parents]
    problem = Problem(
        name=name,
        variables=variables,
        graph=edges,
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=tuple(values)),
        arms=candidates,
        mechanisms=[tables[node] for node in declared],
        shares=shares if shares_declared else None,
        costs=costs,
        budget="1/sqrt(pulls)" if costs else None,
        **({"tolerance": asked} if isinstance(asked, int | float) else {"constraints": asked}),
    )
    all_tables = [table("S", [], list(shares)), table("V", parents, arms[0]), *tables.values()]
    return NetworkWorld(problem, Network.of(variables, all_tables))


def chain(
    name: str,
    arms: Sequence[Law],
    theta: Sequence[float],
    asked: float | Sequence[Constraint],
    *,
    laws: Law | None = None,
    values: Sequence[float] = (0.0, 1.0),
    shares: tuple[float, ...] = (0.5, 0.5),
    shares_declared: bool = True,
    costs: Sequence[Sequence[float]] = (),
) -> NetworkWorld:
    """S → V → Y: ``arms`` P_k(v | s), and E[Y | v] of a binary outcome, or its law for each v where it has more values."""
    outcome = [[1 - t, t] for t in theta] if laws is None else laws
    return make_world(
        name,
        {"V": len(outcome), "Y": len(values)},
        [("Y", ["V"], outcome)],
        ["S"],
        arms,
        asked,
        shares=shares,
        shares_declared=shares_declared,
        values=values,
        costs=costs,
    )


def same(row: Sequence[float], groups: int = 2) -> Law:
    """P(v | s) that does not depend on s."""
    return [row] * groups


CLEAR: Sequence[Law] = (
    [[0.5, 0.3, 0.2], [0.45, 0.3, 0.25]],
    [[0.1, 0.3, 0.6], [0.1, 0.2, 0.7]],
    [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]],
)
CLEAR_THETA = (0.1, 0.5, 0.95)
SHIFTED: Law = [[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]
"""A gap of a quarter of θ_0 − θ_1: in binary fractions, so that "exactly at the tolerance" is exact."""


def tilted_law(values: Sequence[float], rate: float) -> list[float]:
    """Exponentially falling (rate > 0) or rising probabilities."""
    weight = np.exp(-rate * np.asarray(values))
    return [float(p) for p in weight / weight.sum()]


def clear_strata() -> list[Stratum]:
    ladder = (0.1, 0.01, 0.001, 0.0001)
    rest = 1 - sum(ladder)
    rare = [[[share * rest, (1 - share) * rest, *ladder] for share in pair] for pair in ((0.8, 0.75), (0.2, 0.3), (0.9, 0.1))]  # fmt: skip
    return [
        Stratum("clear", "well separated arms, one of them unfair", chain("clear", CLEAR, CLEAR_THETA, 0.2), frozenset({1}), True),
        Stratum("rare-cells", "cells with probability 0.01, 0.001 and 0.0001 under every arm", chain("rare-cells", rare, (0.2, 0.9, 0.5, 0.0, 1.0, 0.0), 0.2), frozenset({1}), True),
        Stratum("near-zero-propensity", "the free arm reaches the other's main cell with 0.0001; pulls of the other are scarce", chain("near-zero-propensity", [same([0.6999, 0.3, 0.0001]), [[0.1, 0.1, 0.8], [0.15, 0.15, 0.7]]], (0.3, 0.4, 0.9), 0.3, costs=((0, 0, 0), (1, 1, 1))), frozenset({1}), True),
        Stratum("nearly-certain-outcomes", "outcomes that the cell all but determines", chain("nearly-certain-outcomes", CLEAR, (0.001, 0.999, 1.0), 0.2), frozenset({1}), True),
        Stratum("no-fair-arm", "every arm clearly unfair", chain("no-fair-arm", [CLEAR[2], CLEAR[2][::-1], [[0.6, 0.3, 0.1], [0.2, 0.1, 0.7]]], CLEAR_THETA, 0.1), frozenset({NONE}), True),
        Stratum("no-fair-arm-near", "two arms, unfair by half of the tolerance in opposite directions", chain("no-fair-arm-near", [[[0.6, 0.4], [0.35, 0.65]], [[0.3, 0.7], [0.55, 0.45]]], (0.2, 0.8), 0.1), frozenset({NONE}), True),
    ]  # fmt: skip


def border_strata() -> list[Stratum]:
    theta = (0.875, 0.375, 0.125)
    fair = same([0.25, 0.0, 0.75])
    return [
        Stratum("at-tolerance-high", "the best arm has a gap of exactly +E", chain("at-tolerance-high", [SHIFTED, fair], theta, 0.125), frozenset({1}), border=True),
        Stratum("at-tolerance-low", "the best arm has a gap of exactly −E; groups 30:70", chain("at-tolerance-low", [SHIFTED[::-1], fair, same([0.0, 0.25, 0.75])], theta, 0.125, shares=(0.3, 0.7)), frozenset({1}), border=True),
        Stratum("all-at-tolerance", "every arm has a gap of exactly +E or −E: none is fair", chain("all-at-tolerance", [SHIFTED, SHIFTED[::-1]], theta, 0.125), frozenset({NONE}), border=True),
        Stratum("tied", "two best fair arms with the same outcome, in cells of their own", chain("tied", [same([0.5, 0.5, 0, 0]), same([0, 0, 0.5, 0.5]), same([1, 0, 0, 0])], (0.25, 0.75, 0.375, 0.625), 0.25), frozenset({0, 1}), border=True),
        Stratum("tied-at-tolerance", "tied with an arm whose gap is exactly E", chain("tied-at-tolerance", [[[0.75, 0.25, 0], [0.25, 0.75, 0]], same([0, 0, 1])], (0.75, 0.25, 0.5), 0.25), frozenset({1}), border=True),
    ]  # fmt: skip


def edge_strata() -> list[Stratum]:
    """Three arms of which the best lies a hair to one side of the tolerance, or is nearly overtaken."""
    theta = (0.875, 0.375, 0.125)
    rest = [same([0.25, 0.0, 0.75]), same([0.0, 0.25, 0.75])]
    gap = 0.125  # of the arm SHIFTED
    free_first = ((0, 0, 0), (1, 1, 1), (1, 1, 1))
    near = [same([0.5, 0.5, 0.0]), same([0.49, 0.51, 0.0]), SHIFTED]
    both_sides = [SHIFTED, SHIFTED[::-1], [[0.6, 0.4, 0.0], [0.2, 0.8, 0.0]]]

    def one(name: str, what: str, tolerance: float, right: int, arms: Sequence[Law] = (), **more: Any) -> Stratum:
        world = chain(name, arms or [SHIFTED, *rest], theta, tolerance, **more)
        return Stratum(name, what, world, frozenset({right}), border=True)

    return [
        one("edge-on", "the best of three arms has a gap of exactly E", gap, 1),
        one("edge-beyond", "its gap is 1 % beyond E", gap / 1.01, 1),
        one("edge-inside", "its gap is 0.2 % inside E", gap / 0.998, 0),
        one("edge-on-budget", "exactly E, and only the best arm is free to pull", gap, 1, costs=free_first),
        one("edge-on-shares-unknown", "exactly E; P(S) is 0.3, 0.7 and not declared", gap, 1, shares=(0.3, 0.7), shares_declared=False),
        one("edge-none-fair", "no arm is fair: two gaps 1 % beyond E, on either side", gap / 1.01, NONE, both_sides),
        one("edge-overtaken", "the best fair arm is nearly overtaken by another, and by an unfair one", gap / 1.01, 0, near),
    ]  # fmt: skip


def share_strata() -> list[Stratum]:
    crossing: Sequence[Law] = ([[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.8, 0.2]])
    """Which arm is better depends on P(S): at ½ they are tied."""
    mild: Sequence[Law] = ([[0.2, 0.8], [0.35, 0.65]], [[0.45, 0.55], [0.4, 0.6]])
    return [
        Stratum("groups-99-to-1", "P(S) declared as 0.99, 0.01", chain("groups-99-to-1", mild, (0.1, 0.9), 0.3, shares=(0.99, 0.01)), frozenset({0}), True),
        Stratum("groups-99-to-1-unknown", "P(S) is 0.99, 0.01, not declared, and decides which arm is better", chain("groups-99-to-1-unknown", crossing, (0.05, 0.95), 0.8, shares=(0.99, 0.01), shares_declared=False), frozenset({1}), True),
        Stratum("order-by-share", "P(S) is 0.45, 0.55, not declared, and decides which arm is better", chain("order-by-share", crossing, (0.05, 0.95), 0.8, shares=(0.45, 0.55), shares_declared=False), frozenset({0})),
        Stratum("tied-by-share", "P(S) is ½, not declared: the arms are tied", chain("tied-by-share", crossing, (0.05, 0.95), 0.8, shares_declared=False), frozenset({0, 1}), border=True),
    ]  # fmt: skip


def value_strata() -> list[Stratum]:
    skewed = (0.0, 0.02, 1.0)
    many = [i / 25 for i in range(26)]
    laws = [tilted_law(many, rate) for rate in (12.0, 0.0, -6.0)]
    clear_laws = [[0.5, 0.45, 0.05], [0.3, 0.2, 0.5], [0.02, 0.08, 0.9]]
    border_laws = [[0.4, 0.1, 0.5], [0.8, 0.1, 0.1], [0.05, 0.9, 0.05]]  # means 0.502, 0.102, 0.068
    return [
        Stratum("skewed-outcomes", "outcomes 0, 0.02 or 1", chain("skewed-outcomes", CLEAR, (), 0.2, laws=clear_laws, values=skewed), frozenset({1}), True),
        Stratum("skewed-at-tolerance", "the same kind, and the best arm has a gap of exactly E", at_tolerance(chain("skewed-at-tolerance", [SHIFTED, same([0, 0, 1])], (), 0.1, laws=border_laws, values=skewed)), frozenset({1}), border=True),
        Stratum("many-values", "26 outcome values with skewed laws", chain("many-values", CLEAR, (), 0.2, laws=laws, values=many), frozenset({1}), True),
    ]  # fmt: skip


def at_tolerance(world: NetworkWorld, arm: int = 0) -> NetworkWorld:
    """The same with the tolerance set to this arm's |gap|."""
    truth = world.truth()
    p = world.problem
    problem = Problem(
        name=p.name,
        variables=p.variables,
        graph=p.graph,
        sensitive=p.sensitive,
        decision=p.decision,
        outcome=p.outcome,
        tolerance=float(abs(truth.gaps[arm])),
        arms=p.arms,
        mechanisms=p.mechanisms,
        shares=p.shares,
    )
    return NetworkWorld(problem, world.network)


def unknown_strata() -> list[Stratum]:
    """Neither P(S) nor the law of contexts is declared."""
    by_context = [
        [
            [[0.05, 0.15, 0.8], [0.3, 0.4, 0.3]],
            [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]],
        ],  # [z][s]: the gaps of the contexts differ
        [same([0.6, 0.3, 0.1]), same([0.2, 0.3, 0.5])],
        [same([0.3, 0.5, 0.2]), same([0.3, 0.5, 0.2])],
    ]
    theta = [[0.1, 0.5, 0.9], [0.2, 0.4, 0.8]]
    context = make_world(
        "context-unknown", {"Z": 2, "V": 3, "Y": 2},
        [("Z", [], [0.75, 0.25]), ("Y", ["Z", "V"], [[[1 - t, t] for t in row] for row in theta])],
        ["Z", "S"], by_context, 0.05, shares_declared=False,
    )  # fmt: skip
    # X descends from S, W from X; W1 cannot be where X0 is: six cells
    binary = [[0.8, 0.2], [0.4, 0.6]]
    descendant = make_world(
        "descendant-of-child-unknown", {"X": 2, "W": 2, "V": 2, "Y": 2},
        [("X", ["S"], [[0.25, 0.75], [0.75, 0.25]]), ("W", ["X"], [[1, 0], [0.5, 0.5]]), ("Y", ["X", "V"], [binary, [[0.5, 0.5], [0.1, 0.9]]])],
        ["W"], [[[0.2, 0.8], [0.1, 0.9]], [[0.2, 0.8], [0.9, 0.1]], [[0.7, 0.3], [0.9, 0.1]]], 0.25,
        shares_declared=False, declared=["X"],
    )  # fmt: skip
    # W descends from V and is a parent of X, a child of S
    below = make_world(
        "below-decision-unknown", {"V": 2, "W": 2, "X": 2, "Y": 2},
        [("W", ["V"], [[1, 0], [0.25, 0.75]]), ("X", ["S", "W"], [[[0.8, 0.2], [0.1, 0.9]], [[0.8, 0.2], [0.5, 0.5]]]), ("Y", ["V", "X"], [[[0.7, 0.3], [0.5, 0.5]], [[0.6, 0.4], [0.1, 0.9]]])],
        [], [[0.2, 0.8], [0.6, 0.4], [0.9, 0.1]], 0.1, shares_declared=False, declared=["X"],
    )  # fmt: skip
    missing = make_world(
        "child-mechanism-missing", {"X": 2, "V": 3, "Y": 2},
        [("X", ["S"], [[0.3, 0.7], [0.6, 0.4]]), ("Y", ["X", "V"], [[[1 - t, t] for t in row] for row in theta])],
        ["X"], [[[0.1, 0.1, 0.8], [0.6, 0.3, 0.1]], [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]], same([0.8, 0.1, 0.1])], 0.15,
        shares_declared=False,
    )  # fmt: skip
    edge = make_world(
        "outcome-by-group", {"V": 3, "Y": 2},
        [("Y", ["S", "V"], [[[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]], [[0.8, 0.2], [0.5, 0.5], [0.15, 0.85]]])],
        ["S"], CLEAR, 0.2, shares_declared=False,
    )  # fmt: skip
    return [
        Stratum("context-unknown", "contexts of unknown law", context, frozenset({2}), True),
        Stratum("context-at-tolerance", "contexts of unknown law, on which the gap of the best arm, exactly E, depends", at_tolerance(context), frozenset({2}), border=True),
        Stratum("descendant-of-child-unknown", "a column that descends from a child of S, of unknown law; the best arm's gap is exactly E", at_tolerance(descendant), frozenset({1}), border=True),
        Stratum("below-decision-unknown", "a column below the decision, of unknown law; the best arm's gap is exactly E", at_tolerance(below), frozenset({1}), border=True),
        Stratum("child-mechanism-missing", "the mechanism of a child of S is not declared", missing, frozenset({1})),
        Stratum("outcome-by-group", "S is a parent of the outcome", edge, frozenset({1}), True),
    ]  # fmt: skip


def row_strata() -> list[Stratum]:
    """Three or four groups and several rows; in all but the last the best arm lies exactly on one end of one row."""
    theta = (0.875, 0.375, 0.125)
    shifted = [[0.5, 0.5, 0.0], [0.375, 0.625, 0.0], [0.25, 0.75, 0.0]]  # μ = 0.625, 0.5625, 0.5
    rest = [same([0.25, 0.0, 0.75], 3), same([0.0, 0.25, 0.75], 3)]
    ratio = [[0.5, 0.5, 0.0], [0.4375, 0.5625, 0.0], [0.25, 0.75, 0.0], [0.375, 0.625, 0.0]]  # 10 + 10 μ = 16.25 … 15
    low = [*same([0.25, 0.0, 0.75], 3), [0.5, 0.25, 0.25]]
    above_floor = [Constraint(compare="pairs", ratio=15 / 16.25), Constraint(compare="floor", at_least=11.0)]
    beside = [[0.75, 0.25, 0.0], [0.5, 0.5, 0.0], [0.375, 0.625, 0.0]]  # μ = 0.75, 0.625, 0.5625; of everybody 0.625
    none: list[Law] = [
        [*shifted, shifted[1]],  # a − c on its upper end
        [shifted[2], shifted[0], shifted[1], shifted[1]],  # a − b on its lower end
        [*same([0.25, 0.0, 0.75], 3), [0.1633, 0.0, 0.8367]],  # d below its floor by 1 %
        [*same([0.5, 0.5, 0.0], 3), [0.2, 0.8, 0.0]],  # d too far from all others
    ]

    def one(name: str, what: str, asked: Sequence[Constraint], arms: Sequence[Law], right: int, **more: Any) -> Stratum:
        return Stratum(name, what, chain(name, arms, theta, asked, **more), frozenset({right}), border=True)

    return [
        one("pairs-on", "three groups, all pairs; of the best arm one of three gaps is exactly E", [Constraint(tolerance=0.125)], [shifted, *rest], 1, shares=(0.5, 0.3, 0.2)),
        one("ratio-on", "four groups, a ratio both ways and a floor, outcomes 10 and 20; of the best arm one ratio is exactly ρ", above_floor, [ratio, same([0.25, 0.0, 0.75], 4), low], 1, shares=(0.4, 0.3, 0.2, 0.1), values=(10.0, 20.0)),
        one("mean-on", "three groups beside the mean of everybody, and a floor; of the best arm one group is exactly E above", [Constraint(compare="mean", tolerance=0.125), Constraint(compare="floor", at_least=0.1)], [beside, *rest], 1, shares=(0.25, 0.25, 0.5)),
        one("rows-none-fair", "four groups, all pairs and a floor: each arm breaks another row, two of them by nothing, one by 1 %", [Constraint(tolerance=0.125), Constraint(compare="floor", at_least=0.25)], none, NONE, shares=(0.4, 0.3, 0.2, 0.1)),
    ]  # fmt: skip


@cache
def strata() -> tuple[Stratum, ...]:
    """All of them; the last one looks at its bets after every single pull."""
    made = [
        *clear_strata(), *border_strata(), *share_strata(), *value_strata(), *unknown_strata(), *edge_strata(),
    ]  # fmt: skip
    peek = replace(
        made[6], name="every-pull", what="at-tolerance-high, looked at after every pull", cap=200, growth=1.0
    )
    for stratum in (*made, peek):
        check(stratum)
    return (*made, peek)


@cache
def strata_with_rows() -> tuple[Stratum, ...]:
    """Those of `row_strata`, checked."""
    made = tuple(row_strata())
    for stratum in made:
        check(stratum)
    return made


def check(stratum: Stratum) -> None:
    """An error where the declared answers are not those of the world."""
    outcomes, fair = truth_of(stratum)
    if not fair.any():
        right = {NONE}
    else:
        top = outcomes[fair].max()
        right = {int(k) for k in np.flatnonzero(fair & (outcomes > top - 1e-9))}
    if right != stratum.right:
        raise ValueError(f"{stratum.name}: {sorted(stratum.right)} declared, {sorted(right)} true: {outcomes}, {fair}")


SLACK = 1e-12
"""A value this near to an end is on it."""


def truth_of(stratum: Stratum) -> tuple[FloatArray, BoolArray]:
    """Every arm's outcome, and whether it is fair, (K,) each: by plain sums over the world's law."""
    values = row_values(stratum)
    ends = [(row.above, row.below) for row in stratum.problem.rows]
    fair = [all((low is None or v > low + SLACK) and (high is None or v < high - SLACK) for v, (low, high) in zip(arm, ends, strict=True)) for arm in values]  # fmt: skip
    return group_means(stratum) @ np.array(stratum.world.shares), np.array(fair)


def group_means(stratum: Stratum) -> FloatArray:
    """μ_k(t), (K, G), in the outcome's units; of each label where there are several attributes, or causes."""
    return np.asarray(stratum.world.law @ stratum.world.outcome_values)


def row_values(stratum: Stratum) -> list[list[float]]:
    """The value of every row, of every arm, in the outcome's units."""
    found = []
    by_label = group_means(stratum)
    asked = by_label if stratum.problem.plain else stratum.world.truth().group_outcomes
    for own, means in zip(by_label.tolist(), asked.tolist(), strict=True):
        everyone = sum(p * m for p, m in zip(stratum.world.shares, own, strict=True))
        found.append([sum(a * m for a, m in zip(row.weights, means, strict=True)) + row.everyone * everyone for row in stratum.problem.rows])  # fmt: skip
    return found
