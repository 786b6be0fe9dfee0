"""Worlds of attributes with causes, and of several: means by hand, laws and draws against enumeration of the whole network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from fairarm import Arm, Constraint, Network, NetworkWorld, Outcome, Problem, Variable, table
from fairarm.errors import ProblemError
from fairarm.problem.inference import completed
from fairarm.problem.pulls import Request, check_batch, groups_of

FAILURE_RATE = 1e-6
"""Each χ² test below would fail for one seed in a million; its seed is fixed."""


def coin(chance: Any) -> np.ndarray:
    """P(0), P(1) of each P(1)."""
    ones = np.asarray(chance, dtype=float)
    return np.stack([1 - ones, ones], axis=-1)


def made(
    tables: dict[str, tuple[list[str], Any]], sensitive: Any, arm: tuple[list[str], Any], **given: Any
) -> NetworkWorld:
    """The world of binary nodes with these P(1 | parents), decision V and outcome Y; the arm is V's table."""
    tables = {**tables, "V": arm}
    variables = [Variable(name, ("0", "1")) for name in tables]
    network = Network.of(variables, [table(name, parents, coin(chance)) for name, (parents, chance) in tables.items()])
    problem = Problem(
        name="by hand",
        variables=variables,
        graph=network.edges(),
        sensitive=sensitive,
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        arms=[Arm("one", table("V", arm[0], coin(arm[1])))],
        **{"tolerance": 0.1, **given},
    )
    return NetworkWorld(problem, network)


def values(world: NetworkWorld) -> dict[str, float]:
    """Every row of the only arm, by name."""
    truth = world.truth()
    return dict(zip([row.name for row in world.problem.rows], truth.rows[0].tolist(), strict=True))


def test_an_attribute_with_a_cause() -> None:
    """W2: both directions, one of which meets a tolerance of 0.1; the spurious effect."""
    tables = {
        "Z": ([], 0.5),
        "S": (["Z"], [0.2, 0.8]),
        "Y": (["Z", "V"], [[0.1, 0.3], [0.3, 0.9]]),
    }
    world = made(tables, "S", (["S"], [0.3, 0.6]))
    assert values(world) == pytest.approx({"0 as 1 - 0": 0.084, "1 as 0 - 1": -0.156})
    assert not world.truth().fair[0]
    spurious = made(
        tables, "S", (["S"], [0.3, 0.6]), tolerance=None, constraints=[Constraint(tolerance=1, effect="spurious")]
    )
    assert spurious.truth().rows[0, 0] == pytest.approx(-0.264)
    assert world.truth().outcomes[0] == pytest.approx(0.5 * (0.224 + 0.572))


def test_a_node_that_is_kept() -> None:
    """W3: the total gap, and what is left of it where R stays as it is."""
    tables = {
        "S": ([], 0.5),
        "R": (["S"], [0.3, 0.7]),
        "Y": (["V"], [0.0, 1.0]),
    }
    arm = (["S", "R"], [[0.2, 0.6], [0.3, 0.7]])
    assert values(made(tables, "S", arm)) == pytest.approx({"0 - 1": -0.26})
    kept = made(tables, "S", arm, tolerance=None, constraints=[Constraint(tolerance=0.2, keep=("R",))])
    assert values(kept) == pytest.approx({"0 as 1 - 0": 0.10, "1 as 0 - 1": -0.10})


def test_two_attributes_one_above_the_other() -> None:
    """W4: region with race following and held, race, and joint groups against the mean."""
    tables = {
        "region": ([], 0.5),
        "race": (["region"], [0.2, 0.6]),
        "Y": (["V"], [0.0, 1.0]),
    }
    asked = [
        Constraint(attribute="region", tolerance=0.9),
        Constraint(attribute="region", tolerance=0.9, others="held"),
        Constraint(attribute="race", tolerance=0.9),
        Constraint(attributes=("region", "race"), compare="mean", tolerance=0.9),
    ]
    world = made(
        tables, ["region", "race"], (["region", "race"], [[0.2, 0.6], [0.4, 0.8]]), tolerance=None, constraints=asked
    )
    truth = world.truth()
    by_constraint = {
        asked.label: [
            v for row, v in zip(world.problem.rows, truth.rows[0], strict=True) if row.constraint == asked.label
        ]
        for asked in world.problem.constraints
    }
    follow, held, race, joint = by_constraint.values()
    assert np.abs(follow) == pytest.approx([0.36] * len(follow))
    assert np.abs(held) == pytest.approx([0.20] * len(held))
    assert np.abs(race) == pytest.approx([0.40] * len(race))
    assert joint == pytest.approx([-0.26, 0.14, -0.06, 0.34])
    assert truth.outcomes[0] == pytest.approx(0.46) and world.shares == pytest.approx([0.4, 0.1, 0.2, 0.3])


def test_a_ratio_where_the_attribute_has_a_cause() -> None:
    """W6: people of 0 get .727 of what they would get as 1."""
    tables = {
        "Z": ([], 0.5),
        "S": (["Z"], [0.1, 0.9]),
        "Y": (["Z", "S", "V"], [[[0.30, 0.30], [0.45, 0.45]], [[0.9, 0.9], [0.9, 0.9]]]),
    }
    world = made(tables, "S", ([], 0.5), tolerance=None, constraints=[Constraint(ratio=0.8)])
    found = sorted(values(world).values())
    expected = sorted([0.495 - 0.8 * 0.36, 0.36 - 0.8 * 0.495, 0.84 - 0.8 * 0.855, 0.855 - 0.8 * 0.84])
    assert found == pytest.approx(expected) and found[0] < 0


# ---- against enumeration ----

RNG = np.random.default_rng(7)
NODES = {
    "Z": ((), 2), "H": ((), 2), "A": (("Z",), 2), "B": (("A", "H"), 3), "C": (("H",), 2), "X": (("A", "Z"), 2),
    "V": (("X", "B"), 2), "Y": (("V", "X", "C", "Z"), 2),
}  # fmt: skip
"""A has the cause Z; B and C share the hidden H, and B has the cause A."""
SIZES = {name: size for name, (_, size) in NODES.items()}
TABLES = {
    name: RNG.dirichlet(np.ones(size), size=tuple(SIZES[p] for p in parents)) for name, (parents, size) in NODES.items()
}
TABLES |= {
    "Z": np.array([0.6, 0.4]),
    "H": np.array([0.5, 0.5]),
    "A": np.array([[0.9, 0.1], [0.2, 0.8]]),
    "B": np.array([[[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]], [[0.3, 0.5, 0.2], [0.1, 0.1, 0.8]]]),
    "C": np.array([[0.8, 0.2], [0.3, 0.7]]),
}
ARMS = {"one": (("X", "B"), TABLES["V"]), "two": (("A", "C"), RNG.dirichlet(np.ones(2), size=(2, 2)))}


def several(**given: Any) -> NetworkWorld:
    variables = [Variable(name, tuple(f"{name.lower()}{i}" for i in range(size))) for name, size in SIZES.items()]
    problem = Problem(
        name="several",
        variables=[variable for variable in variables if variable.name != "H"],
        graph=[(parent, name) for name, (parents, _) in NODES.items() for parent in parents],
        hidden=["H"],
        sensitive=["A", "B", "C"],
        decision="V",
        outcome=Outcome("Y", values=(-1, 3)),
        arms=[Arm(name, table("V", list(parents), law)) for name, (parents, law) in ARMS.items()],
        **{"tolerance": None, "constraints": [Constraint(attribute="B", tolerance=1)], **given},
    )
    return NetworkWorld(problem, Network.of(variables, [table(n, list(p), TABLES[n]) for n, (p, _) in NODES.items()]))


def enumerated(arm: str, fixed: dict[str, int]) -> Iterator[tuple[dict[str, int], float]]:
    """Every assignment of all nodes with its probability, under an arm, where some nodes are set."""
    parents, law = ARMS[arm]
    tables = {name: (NODES[name][0], TABLES[name]) for name in NODES} | {"V": (parents, law)}
    for point in product(*(range(size) for size in SIZES.values())):
        at = dict(zip(SIZES, point, strict=True))
        if all(at[name] == value for name, value in fixed.items()):
            free = [name for name in NODES if name not in fixed]
            chances = [tables[n][1][(*(at[p] for p in tables[n][0]), at[n])] for n in free]
            yield at, float(np.prod(chances))


def law_of(world: NetworkWorld, arm: str, fixed: dict[str, int]) -> np.ndarray:
    """P(label, cell, y), (P, O), by enumeration."""
    space, labels = world.problem.compiled.row_space, [tuple(codes) for codes in world.problem.compiled.profile_codes]
    found = np.zeros((len(labels), space.count))
    for at, chance in enumerated(arm, fixed):
        cell = int(space.number({name: np.array([at[name]]) for name in space.columns})[0])
        found[labels.index((at["A"], at["B"], at["C"])), cell] += chance
    return found


def test_laws_are_those_of_the_whole_network() -> None:
    world = several()
    assert [block.members for block in world.problem.roles.blocks] == [("A",), ("B", "C")]
    for k, arm in enumerate(ARMS):
        joint = law_of(world, arm, {})
        assert world.shares == pytest.approx(joint.sum(axis=1))
        assert world.law[k] * world.shares[:, None] == pytest.approx(joint)


def plausible(counts: np.ndarray, expected: np.ndarray) -> bool:
    """Pearson's test; what is expected below 10 times is one cell, impossible cells are empty."""
    counts, expected = counts.ravel(), expected.ravel() / expected.sum() * counts.sum()
    if np.any(counts[expected == 0]):
        return False
    large = expected >= 10
    n, e = np.append(counts[large], counts[~large].sum()), np.append(expected[large], expected[~large].sum())
    n, e = n[e > 0], e[e > 0]
    return float(((n - e) ** 2 / e).sum()) <= chi2.isf(FAILURE_RATE, len(n) - 1)


REGIMES = {
    "A=a1": {"A": 1},
    "B=b2": {"B": 2},
    "A=a0,C=c1": {"A": 0, "C": 1},
    "A=a1,B=b0,C=c1": {"A": 1, "B": 0, "C": 1},
}


@pytest.mark.parametrize("kind", ["recruited", "set"])
@pytest.mark.parametrize("regime", ["natural", *REGIMES])
def test_pulls_of_every_regime_follow_their_law(kind: str, regime: str) -> None:
    world = several(forced=list(REGIMES), regime_kind=kind)
    problem, told = world.problem, REGIMES.get(regime, {})
    counts = np.zeros((len(problem.regimes), 2), dtype=np.int64)
    counts[problem.regimes.index(regime), 1] = 40_000
    rows = world.pull(Request(problem.arm_names, problem.regimes, counts), np.random.default_rng(3))
    check_batch(problem, rows)
    assert rows.total == 40_000 and set(rows.regime) == {problem.regimes.index(regime)}
    seen = np.zeros((len(problem.groups), problem.compiled.row_space.count))
    np.add.at(seen, (groups_of(problem, rows), problem.compiled.row_space.number(rows.columns)), rows.count)
    laws = {"set": law_of(world, "two", told), "recruited": law_of(world, "two", {})}
    laws["recruited"][~problem.compiled.regime_fits[problem.regimes.index(regime)]] = 0.0
    assert plausible(seen, laws[kind])
    if told:
        other = laws["set" if kind == "recruited" else "recruited"]
        assert not plausible(seen, other)


def test_draws_of_many_runs_are_as_those_of_one() -> None:
    world = several(forced=["A=a1"])
    counts = np.array([[[50, 0], [0, 20]], [[0, 30], [10, 0]]])
    drawn = world.draw(counts, np.random.default_rng(0))
    assert drawn.shape == (2, 2, 2, 12, world.problem.compiled.row_space.count)
    assert np.array_equal(drawn.sum(axis=(3, 4)), counts)
    assert not drawn[:, 1, :, ~world.problem.compiled.regime_fits[1]].any()


# ---- agreement ----


def test_what_a_world_completes_agrees_with_it() -> None:
    world = several()
    whole = completed(world.problem, world.network)
    assert whole.mechanisms["A"].parents == ("Z",) and whole.shares is None and "X" in whole.mechanisms
    assert NetworkWorld(whole, world.network).truth().rows == pytest.approx(world.truth().rows)
    wrong = replace(whole, mechanisms={**whole.mechanisms, "A": table("A", ["Z"], [[0.5, 0.5], [0.5, 0.5]])})
    with pytest.raises(ProblemError, match="The mechanism of 'A' in the problem is not that of the world"):
        NetworkWorld(wrong, world.network)


def test_roots_and_blocks_are_completed_and_compared() -> None:
    tables = {
        "H": ([], 0.3),
        "A": (["H"], [0.2, 0.6]),
        "B": (["H"], [0.7, 0.1]),
        "C": ([], 0.25),
        "Y": (["V"], [0.2, 0.7]),
    }
    arm = (["A", "B", "C"], RNG.random((2, 2, 2)))
    world = made(tables, ["A", "B", "C"], arm, hidden=["H"])
    whole = completed(world.problem, world.network)
    assert [law.attributes for law in whole.joint_shares] == [("A", "B"), ("C",)]
    assert whole.joint_shares[0].table == pytest.approx(
        0.7 * np.outer([0.8, 0.2], [0.3, 0.7]) + 0.3 * np.outer([0.4, 0.6], [0.9, 0.1])
    )
    assert whole.shares == pytest.approx(world.shares)
    with pytest.raises(ProblemError, match="The shares of the groups of 'C' in the problem are not those of the world"):
        NetworkWorld(replace(whole, shares={"C": {"0": 0.5, "1": 0.5}}), world.network)


def test_a_world_with_another_common_cause_is_refused() -> None:
    """The problem says that A and B have nothing in common."""
    tables = {"H": ([], 0.3), "A": (["H"], [0.2, 0.6]), "B": (["H"], [0.7, 0.1]), "Y": (["V"], [0.2, 0.7])}
    world = made(tables, ["A", "B"], (["A", "B"], [[0.1, 0.2], [0.3, 0.4]]), hidden=["H"])
    apart = replace(world.problem, graph=[("A", "V"), ("B", "V"), ("V", "Y")], hidden=())
    with pytest.raises(ProblemError, match=r"'A' has parents in the world \(H\)"):
        NetworkWorld(apart, world.network)


def test_a_regime_that_nobody_has_cannot_be_pulled() -> None:
    tables = {"A": ([], 0.5), "B": (["A"], [0.0, 0.0]), "Y": (["V"], [0.2, 0.7])}
    world = made(tables, ["A", "B"], (["A", "B"], [[0.1, 0.2], [0.3, 0.4]]), forced=["B=1", "A=1,B=1"])
    for r in (1, 2):
        counts = np.zeros((3, 1), dtype=np.int64)
        counts[r] = 5
        with pytest.raises(ProblemError, match="Nobody in the world has the states of the regime"):
            world.pull(Request(world.problem.arm_names, world.problem.regimes, counts), np.random.default_rng(0))
    can = NetworkWorld(replace(world.problem, regime_kind="set"), world.network)
    assert can.pull(Request(can.problem.arm_names, can.problem.regimes, counts), np.random.default_rng(0)).total == 5
