"""Worlds: draws follow the enumerated law, regimes are kept, and a world that is not the problem's is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import oracle
from fairarm.errors import DataError, ProblemError
from fairarm.problem.mechanism import Arm, Table, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Request, batch, check_batch
from fairarm.problem.variables import Variable
from fairarm.worlds import FunctionWorld, NetworkWorld, Truth, context_law

FAILURE_RATE = 1e-6
"""Each χ² test below would fail for one seed in a million; its seed is fixed."""


def t(*rows: Any) -> np.ndarray:
    return np.array(rows if len(rows) > 1 else rows[0], dtype=float)


# U → A, U → Y hidden cause; S → V, A → V; S → X → Y; V → Y; S → Z a leaf that does not matter.
CASE = oracle.Case(
    nodes=("Y", "A", "Z", "S", "U", "X", "V"),
    sizes={"Y": 3, "A": 2, "Z": 2, "S": 2, "U": 3, "X": 2, "V": 2},
    tables={
        "U": ((), t([0.2, 0.5, 0.3])),
        "S": ((), t([0.3, 0.7])),
        "A": (("U",), t([0.9, 0.1], [0.5, 0.5], [0.2, 0.8])),
        "X": (("S",), t([0.25, 0.75], [0.6, 0.4])),
        "Z": (("S",), t([0.1, 0.9], [0.7, 0.3])),
        "V": (("A",), t([0.5, 0.5], [0.4, 0.6])),
        "Y": (("V", "X", "U"), np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 2, 3))),
    },
    arms=(
        (("S", "A"), t([[0.3, 0.7], [0.6, 0.4]], [[0.8, 0.2], [0.5, 0.5]])),
        (("A",), t([1.0, 0.0], [0.25, 0.75])),
    ),
    sensitive="S",
    decision="V",
    outcome="Y",
    groups=(1, 0),
    values=(-3.0, 0.5, 10.0),
    low=-3.0,
    high=10.0,
    seed=0,
)


@pytest.fixture
def world() -> NetworkWorld:
    return NetworkWorld(*oracle.as_fairarm(CASE))


def chi_square_is_plausible(counts: np.ndarray, probabilities: np.ndarray) -> bool:
    """Pearson's test at FAILURE_RATE; cells with an expected count below 10 are one cell, impossible ones must be empty."""
    counts, probabilities = counts.ravel(), probabilities.ravel()
    if np.any(counts[probabilities == 0]):
        return False
    expected = probabilities / probabilities.sum() * counts.sum()
    large = expected >= 10
    n = np.append(counts[large], counts[~large].sum())
    e = np.append(expected[large], expected[~large].sum())
    n, e = n[e > 0], e[e > 0]
    return float(((n - e) ** 2 / e).sum()) <= chi2.isf(FAILURE_RATE, max(len(n) - 1, 1))


# ---- draws ----


def test_the_plan_is_met_and_forced_pulls_keep_to_their_group(world: NetworkWorld) -> None:
    plan = np.array([[[50, 7], [0, 3], [20, 0]], [[0, 0], [1, 1], [0, 9]]])
    drawn = world.draw(plan, np.random.default_rng(1))
    assert drawn.shape == (2, 3, 2, 2, 12 * 2)
    assert np.array_equal(drawn.sum(axis=(3, 4)), plan)
    assert drawn[:, 1, :, 1].sum() == 0
    assert drawn[:, 2, :, 0].sum() == 0
    assert drawn[0, 0, :, 0].sum() > 0
    assert drawn[0, 0, :, 1].sum() > 0


def test_same_seed_same_draw(world: NetworkWorld) -> None:
    plan = np.full((4, 3, 2), 100)
    first, again, other = (world.draw(plan, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first[0], first[1])  # replicates are independent


def test_frequencies_are_those_of_the_enumerated_law(world: NetworkWorld) -> None:
    law, share = oracle.law(CASE).reshape(2, 2, -1), oracle.shares(CASE)
    drawn = world.draw(np.full((3, 2), 200_000), np.random.default_rng(7))
    for k in range(2):
        assert chi_square_is_plausible(drawn[0, k], law[k] * share[:, None])
        for group in (0, 1):
            assert chi_square_is_plausible(drawn[1 + group, k, group], law[k, group])
            assert not chi_square_is_plausible(drawn[1 + group, k, group], law[1 - k, group])
            assert not chi_square_is_plausible(drawn[1 + group, k, group], law[k, 1 - group])


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_frequencies_of_random_networks(seed: int) -> None:
    case = oracle.random_case(seed)
    drawn = NetworkWorld(*oracle.as_fairarm(case)).draw(
        np.full((3, len(case.arms)), 20_000), np.random.default_rng(seed)
    )
    law, share = oracle.law(case).reshape(len(case.arms), 2, -1), oracle.shares(case)
    for k in range(len(case.arms)):
        assert chi_square_is_plausible(drawn[0, k], law[k] * share[:, None])
        assert chi_square_is_plausible(drawn[1, k, 0], law[k, 0])
        assert chi_square_is_plausible(drawn[2, k, 1], law[k, 1])


def test_a_thousand_million_pulls(world: NetworkWorld) -> None:
    n = 10**9
    drawn = world.draw(np.full((3, 2), n), np.random.default_rng(8))
    assert drawn.dtype == np.int64
    assert np.array_equal(drawn.sum(axis=(2, 3)), np.full((3, 2), n))
    law, share = oracle.law(CASE).reshape(2, 2, -1), oracle.shares(CASE)
    for k in range(2):
        assert chi_square_is_plausible(drawn[0, k], law[k] * share[:, None])


def test_a_pull_is_a_checked_batch_with_the_drawn_counts(world: NetworkWorld) -> None:
    problem = world.problem
    plan = Request(problem.arm_names, problem.regimes, np.array([[500, 20], [30, 0], [0, 40]]))
    pulled = world.pull(plan, np.random.default_rng(9))
    check_batch(problem, pulled)
    assert pulled.total == plan.total == 590
    made = np.zeros((3, 2), dtype=np.int64)
    np.add.at(made, (pulled.regime, pulled.arm), pulled.count)
    assert np.array_equal(made, plan.counts)
    # (1, 0) are the codes of s and s'
    assert set(pulled.columns["S"][pulled.regime == 1]) == {1}
    assert set(pulled.columns["S"][pulled.regime == 2]) == {0}
    assert batch(problem, pulled.labels(problem)).digest() == pulled.digest()
    # the columns of each line belong together: rebuild the counts cell by cell
    drawn = world.draw(plan.counts, np.random.default_rng(9)).reshape(3, 2, 2, *oracle.law(CASE).shape[2:])
    for i in range(pulled.size):
        cell = tuple(int(pulled.columns[name][i]) for name in oracle.columns(CASE))
        group = CASE.groups.index(int(pulled.columns["S"][i]))
        assert drawn[(pulled.regime[i], pulled.arm[i], group, *cell)] == pulled.count[i]
    assert np.count_nonzero(drawn) == pulled.size


def test_truth_by_enumeration(world: NetworkWorld) -> None:
    outcomes, by_group, gaps = oracle.truth(CASE)
    truth = world.truth()
    assert truth.outcomes == pytest.approx(outcomes, rel=1e-13)
    assert truth.group_outcomes == pytest.approx(by_group, rel=1e-13)
    assert truth.gaps == pytest.approx(gaps, rel=1e-12)


# ---- the context law ----


def total_law(case: oracle.Case) -> np.ndarray:
    """Σ L · h over the cells (and y, where L has it), (K, 2), with L from the oracle and h from context_law."""
    problem, network = oracle.as_fairarm(case)
    h = context_law(network, problem)
    names, like = oracle.columns(case), oracle.likelihoods(case)
    if case.outcome not in oracle.relevant_children(case):
        like = like[..., 0]
    total = np.zeros((len(case.arms), 2))
    for index in np.ndindex(like.shape):
        codes = dict(zip(names, index[2:], strict=False))
        total[index[:2]] += like[index] * h.weights[tuple(codes[name] for name in h.variables)]
    return total


def test_context_law_is_the_law_of_what_the_arms_see(world: NetworkWorld) -> None:
    h = context_law(world.network, world.problem)
    assert h.variables == ("A",)
    assert h.weights == pytest.approx([0.2 * 0.9 + 0.5 * 0.5 + 0.3 * 0.2, 0.2 * 0.1 + 0.5 * 0.5 + 0.3 * 0.8])
    assert total_law(CASE) == pytest.approx(np.ones((2, 2)), rel=1e-14)


def test_likelihood_times_context_law_sums_to_one() -> None:
    """Also where observed nodes descend from V, or from a child of S, or depend on each other through hidden ones."""
    wanted = ("context below V", "contexts dependent through hidden nodes", "S -> Y", "child below V", "zeros")
    seen = dict.fromkeys(wanted, 0)
    for seed in range(400):
        case = oracle.random_case(seed)
        features = oracle.features(case)
        if "context" not in features or (seed % 5 and not features & set(wanted[:2])):
            continue
        for name in features & set(wanted):
            seen[name] += 1
        assert total_law(case) == pytest.approx(np.ones((len(case.arms), 2)), rel=1e-12), seed
    assert min(seen.values()) >= 5, seen


def test_context_law_without_any_context() -> None:
    """S → V → Y: the arms see nothing but the group, so h is 1 and has no variables."""
    problem, network = small(), small_network()
    h = context_law(network, problem)
    assert h.variables == ()
    assert float(h.weights) == pytest.approx(1.0)
    np.testing.assert_allclose(dataclasses.replace(problem, context=h).compiled.tables.M, problem.compiled.tables.M)


# ---- problems and networks that do not agree ----

SMALL = {"S": ("a", "b"), "X": ("x0", "x1"), "V": ("v0", "v1"), "Y": ("y0", "y1")}
OUTCOME_ROWS = [[[0.9, 0.1], [0.4, 0.6]], [[0.3, 0.7], [0.2, 0.8]]]


def small(edges: tuple[str, ...] = ("SV", "VY"), **changes: Any) -> Problem:
    """S → V → Y, and any other of the nodes S, X, V, Y that the edges name."""
    names = [name for name in SMALL if any(name in edge for edge in edges)]
    arguments: dict[str, Any] = {
        "name": "small",
        "variables": [Variable(name, SMALL[name]) for name in names],
        "graph": [tuple(edge) for edge in edges],
        "sensitive": "S",
        "decision": "V",
        "outcome": Outcome("Y", values=(0, 1)),
        "tolerance": 0.1,
        "arms": [Arm("only", table("V", ["S"], [[0.3, 0.7], [0.6, 0.4]]))],
        "shares": (0.4, 0.6),
    }
    return Problem(**{**arguments, **changes})


def small_network(*tables: Table, states: dict[str, tuple[str, ...]] | None = None) -> Network:
    """S → V → Y with the given tables in place of, or beside, its own."""
    own = [
        table("S", [], [0.4, 0.6]),
        table("V", [], [0.5, 0.5]),
        table("Y", ["V"], [[0.9, 0.1], [0.3, 0.7]]),
    ]
    named = {made.node: made for made in (*own, *tables)}
    known = states or SMALL
    return Network.of([Variable(name, known[name]) for name in named], named.values())


def test_the_small_problem_agrees_with_its_network() -> None:
    truth = NetworkWorld(small(), small_network()).truth()
    assert truth.group_outcomes == pytest.approx(np.array([[0.3 * 0.1 + 0.7 * 0.7, 0.6 * 0.1 + 0.4 * 0.7]]))


def test_other_states() -> None:
    states = {**SMALL, "V": ("v1", "v0")}
    with pytest.raises(ProblemError, match="'V' has other states"):
        NetworkWorld(small(), small_network(states=states))


def test_a_node_that_the_world_lacks() -> None:
    problem = small(("SX", "XY", "SV", "VY"), mechanisms=[table("X", ["S"], [[0.5, 0.5], [0.2, 0.8]])])
    with pytest.raises(ProblemError, match="no node 'X'"):
        NetworkWorld(problem, small_network())


def test_another_mechanism() -> None:
    problem = small(("SX", "XY", "SV", "VY"), mechanisms=[table("X", ["S"], [[0.5, 0.5], [0.2, 0.8]])])
    outcome = table("Y", ["V", "X"], OUTCOME_ROWS)
    NetworkWorld(problem, small_network(table("X", ["S"], [[0.5, 0.5], [0.2, 0.8]]), outcome))
    with pytest.raises(ProblemError, match="mechanism of 'X'"):
        NetworkWorld(problem, small_network(table("X", ["S"], [[0.5, 0.5], [0.8, 0.2]]), outcome))
    with pytest.raises(ProblemError, match="mechanism of 'X'"):
        NetworkWorld(problem, small_network(table("X", [], [0.5, 0.5]), outcome))


def test_other_parents_of_a_relevant_child() -> None:
    """The mechanism is not declared, so only the graph can tell."""
    problem = small(("SX", "XY", "SV", "VY"))
    with pytest.raises(ProblemError, match="other parents"):
        NetworkWorld(problem, small_network(table("X", [], [0.5, 0.5]), table("Y", ["V", "X"], OUTCOME_ROWS)))


def test_a_sensitive_node_with_causes() -> None:
    network = small_network(table("X", [], [0.5, 0.5]), table("S", ["X"], [[0.4, 0.6], [0.1, 0.9]]))
    with pytest.raises(
        ProblemError, match=r"'S' has parents in the world \(X\) that are not those of the problem's graph \(none\)"
    ):
        NetworkWorld(small(), network)


def test_other_shares() -> None:
    with pytest.raises(ProblemError, match="shares"):
        NetworkWorld(small(shares=(0.5, 0.5)), small_network())
    reversed_groups = small(groups=("b", "a"), shares={"a": 0.4, "b": 0.6})
    assert NetworkWorld(reversed_groups, small_network()).shares.tolist() == [0.6, 0.4]


def test_an_outcome_without_values() -> None:
    variables = [Variable(name, SMALL[name]) for name in "SV"]
    problem = small(variables=variables, outcome=Outcome("Y", low=0, high=1))
    with pytest.raises(ProblemError, match="'Y'"):
        NetworkWorld(problem, small_network())


def test_a_child_of_the_sensitive_node_that_the_graph_leaves_out() -> None:
    """In the world S → X → Y; the problem's graph says X has no causes. Its truth would silently be wrong."""
    outcome = table("Y", ["V", "X"], OUTCOME_ROWS)
    network = small_network(table("X", ["S"], [[0.9, 0.1], [0.2, 0.8]]), outcome)
    with pytest.raises(ProblemError):
        NetworkWorld(small(("XY", "SV", "VY")), network)


def test_a_child_of_the_sensitive_node_that_the_graph_has_never_heard_of() -> None:
    network = small_network(table("X", ["S"], [[0.9, 0.1], [0.2, 0.8]]), table("Y", ["V", "X"], OUTCOME_ROWS))
    with pytest.raises(ProblemError):
        NetworkWorld(small(), network)


def test_an_arm_whose_input_comes_after_the_decision_in_the_world() -> None:
    """The graph has X before V; in the world V → X."""
    problem = small(("XV", "SV", "VY", "XY"), arms=[Arm("only", table("V", ["X"], [[0.3, 0.7], [0.6, 0.4]]))])
    network = small_network(table("X", ["V"], [[0.9, 0.1], [0.2, 0.8]]), table("Y", ["V", "X"], OUTCOME_ROWS))
    with pytest.raises(ProblemError):
        NetworkWorld(problem, network)


# ---- functions ----


def simulate(arm: str, regime: str, count: int, rng: np.random.Generator) -> dict[str, Any]:
    """CASE sampled by hand, node after node."""

    def pick(probabilities: np.ndarray) -> np.ndarray:
        return (rng.random((count, 1)) > np.cumsum(probabilities, axis=1)[:, :-1]).sum(axis=1)

    rows = {name: mechanism for name, (_, mechanism) in CASE.tables.items()}
    S = pick(np.tile(rows["S"], (count, 1))) if regime == "natural" else np.full(count, int(regime[1:]))
    U = pick(np.tile(rows["U"], (count, 1)))
    A = pick(rows["A"][U])
    X = pick(rows["X"][S])
    V = pick(CASE.arms[0][1][S, A] if arm == "arm 0" else CASE.arms[1][1][A])
    Y = pick(rows["Y"][V, X, U])
    return {
        name: [oracle.state(name, int(c)) for c in codes] for name, codes in zip("SAXVY", (S, A, X, V, Y), strict=True)
    }


def test_a_function_has_the_law_of_the_network_it_samples(world: NetworkWorld) -> None:
    problem, n = world.problem, 20_000
    function = FunctionWorld(problem, simulate)
    pulled = function.pull(Request(problem.arm_names, problem.regimes, np.full((3, 2), n)), np.random.default_rng(10))
    counts = np.zeros((3, 2, 2, *oracle.law(CASE).shape[2:]))
    groups = np.array([CASE.groups.index(int(code)) for code in pulled.columns["S"]])
    cells = tuple(pulled.columns[name] for name in oracle.columns(CASE))
    np.add.at(counts, (pulled.regime, pulled.arm, groups, *cells), pulled.count)
    law, share = world.law, world.shares
    assert np.array_equal(counts.reshape(3, 2, -1).sum(axis=2), np.full((3, 2), n))
    for k in range(2):
        assert chi_square_is_plausible(counts[0, k], law[k] * share[:, None])
        for group in (0, 1):
            assert chi_square_is_plausible(counts[1 + group, k, group], law[k, group])
            assert counts[1 + group, k, 1 - group].sum() == 0


def test_a_function_is_asked_once_a_line_and_may_know_the_truth(world: NetworkWorld) -> None:
    asked = []

    def recorded(arm: str, regime: str, count: int, rng: np.random.Generator) -> dict[str, Any]:
        asked.append((arm, regime, count))
        return simulate(arm, regime, count, rng)

    problem, truth = world.problem, Truth(np.zeros(2), np.zeros((2, 2)), 0.1)
    plan = Request(problem.arm_names, problem.regimes, np.array([[2, 0], [0, 3], [1, 0]]))
    function = FunctionWorld(problem, recorded, truth)
    pulled = function.pull(plan, np.random.default_rng(0))
    assert asked == [("arm 0", "natural", 2), ("arm 1", "s1", 3), ("arm 0", "s0", 1)]
    assert pulled.total == 6
    assert function.truth() is truth
    assert FunctionWorld(problem, simulate).truth() is None


BAD = {
    "a column is missing": lambda rows: {name: values for name, values in rows.items() if name != "A"},
    "a row too few": lambda rows: {**rows, "V": rows["V"][1:]},
    "a row too many everywhere": lambda rows: {name: [*values, values[0]] for name, values in rows.items()},
    "an unknown state": lambda rows: {**rows, "V": ["v7"] * len(rows["V"])},
    "a number for a state": lambda rows: {**rows, "Y": [0.5] * len(rows["Y"])},
    "the other group": lambda rows: {**rows, "S": ["s0"] * len(rows["S"])},
    "two columns in one": lambda rows: {**rows, "V": [[v, v] for v in rows["V"]]},
    "a single value": lambda rows: {**rows, "V": "v0"},
    "nothing": lambda rows: None,
}


@pytest.mark.parametrize("spoil", BAD.values(), ids=BAD.keys())
def test_bad_simulators(world: NetworkWorld, spoil: Callable[[Any], Any]) -> None:
    problem = world.problem
    plan = Request(problem.arm_names, problem.regimes, np.array([[0, 0], [5, 0], [0, 0]]))
    function = FunctionWorld(problem, lambda *asked: spoil(simulate(*asked)))
    FunctionWorld(problem, simulate).pull(plan, np.random.default_rng(0))
    with pytest.raises(DataError):
        function.pull(plan, np.random.default_rng(0))


def test_a_simulator_that_is_out_of_step_over_two_lines(world: NetworkWorld) -> None:
    """A row too many for one line and one too few for the next: the total is right, the rows are not their arms'."""
    problem = world.problem
    plan = Request(problem.arm_names, problem.regimes, np.array([[5, 5], [0, 0], [0, 0]]))

    def shifted(arm: str, regime: str, count: int, rng: np.random.Generator) -> dict[str, Any]:
        return simulate(arm, regime, count + (1 if arm == "arm 0" else -1), rng)

    with pytest.raises(DataError):
        FunctionWorld(problem, shifted).pull(plan, np.random.default_rng(0))


@pytest.mark.parametrize("outcome", [1.5, -0.1, np.nan, np.inf])
def test_a_simulator_whose_outcome_leaves_its_range(outcome: float) -> None:
    variables = [Variable(name, SMALL[name]) for name in "SV"]
    problem = small(variables=variables, outcome=Outcome("Y", low=0, high=1))
    plan = Request(("only",), problem.regimes, np.array([[2], [0], [0]]))
    good = FunctionWorld(problem, lambda *_: {"S": ["a", "b"], "V": ["v0", "v1"], "Y": [0.0, 1.0]})
    assert good.pull(plan, np.random.default_rng(0)).columns["Y"].tolist() == [0.0, 1.0]
    bad = FunctionWorld(problem, lambda *_: {"S": ["a", "b"], "V": ["v0", "v1"], "Y": [0.5, outcome]})
    with pytest.raises(DataError, match="'Y'"):
        bad.pull(plan, np.random.default_rng(0))


def test_an_empty_plan(world: NetworkWorld) -> None:
    empty = Request(world.problem.arm_names, world.problem.regimes, np.zeros((3, 2), dtype=np.int64))
    with pytest.raises(DataError, match="empty"):
        FunctionWorld(world.problem, simulate).pull(empty, np.random.default_rng(0))
    assert world.pull(empty, np.random.default_rng(0)).size == 0
