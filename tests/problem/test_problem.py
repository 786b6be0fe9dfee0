"""Problems are validated when made, and what follows from the graph is found."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import networkx as nx
import numpy as np
import pandas
import pytest

from fairarm import (
    Arm,
    Code,
    Constraint,
    ContextLaw,
    ContextSample,
    Outcome,
    Problem,
    Table,
    Variable,
    batch,
    load_problem,
    table,
)
from fairarm.errors import DataError, ProblemError

BITS = {name: Variable(name, ("0", "1")) for name in "SXZVYWU"}
EVEN = [[0.5, 0.5], [0.5, 0.5]]


def problem(**changes: Any) -> Problem:
    """S → X → Y, Z → V → Y, S → W (which leads nowhere), U hidden above Z and Y; two arms of V given Z."""
    known: dict[str, Any] = {
        "name": "test",
        "variables": BITS,
        "graph": [("S", "X"), ("Z", "X"), ("X", "Y"), ("Z", "V"), ("V", "Y"), ("S", "W"), ("U", "Z"), ("U", "Y")],
        "sensitive": "S",
        "decision": "V",
        "outcome": Outcome("Y", values=(0, 1)),
        "tolerance": 0.1,
        "arms": [Arm("one", table("V", ["Z"], EVEN)), Arm("two", table("V", ["Z"], [[0.2, 0.8], [0.7, 0.3]]))],
        "mechanisms": [table("X", ["S", "Z"], [EVEN, [[0.3, 0.7], [0.6, 0.4]]])],
        "hidden": ["U"],
        "shares": (0.5, 0.5),
        "context": ContextLaw(("Z",), np.array([0.25, 0.75])),
    }
    return Problem(**{**known, **changes})


def test_what_follows_from_the_graph() -> None:
    made = problem()
    assert made.relevant_children == ("X",)  # W is a child of S too, but leads nowhere
    assert set(made.observed) == {"S", "X", "Z", "V", "Y"}
    assert not made.roles.decision_is_child
    assert made.missing_mechanisms == ()
    assert problem(mechanisms=()).missing_mechanisms == ("X",)


def test_edges_into_the_decision_are_those_that_arms_use() -> None:
    """The graph says Z → V; arms that use S make V a child of S, and Z is then needed only for X."""
    made = problem(arms=[Arm("a", table("V", ["S"], EVEN)), Arm("b", table("V", [], [0.5, 0.5]))])
    assert made.roles.decision_is_child
    assert made.roles.decision_parents == ("S",)


@pytest.mark.parametrize("form", ["list", "networkx", "object"])
def test_graph_forms(form: str) -> None:
    edges = problem().graph.edges

    class Drawn:
        def nodes(self) -> list[str]:
            return list(problem().graph.nodes)

        def edges(self) -> list[tuple[str, str]]:
            return list(edges)

    graph = {"list": list(edges), "networkx": nx.DiGraph(list(edges)), "object": Drawn()}[form]
    assert problem(graph=graph).observed == problem().observed


def test_pgmpy_graph_is_a_graph() -> None:
    from pgmpy.models import DiscreteBayesianNetwork

    assert problem(graph=DiscreteBayesianNetwork(list(problem().graph.edges))).observed


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"hidden": [], "graph": [("V", "S"), ("S", "X"), ("X", "Y"), ("Z", "X")]},
            "The decision 'V' is a cause of 'S'",
        ),
        ({"hidden": [], "graph": [("S", "X"), ("Z", "X"), ("X", "Y"), ("V", "W")]}, "not an ancestor"),
        ({"hidden": ["Z"]}, "Node 'Z' is declared hidden but must be observed: it is a parent of 'X'"),
        ({"hidden": ["X"]}, "Node 'X' is declared hidden"),
        ({"hidden": ["Y"]}, "Node 'Y' is declared hidden"),
        ({"hidden": ["luck"]}, "'luck' is declared hidden but is not a node"),
        ({"name": "a\x1b[31m"}, "control or invisible character"),
        ({"costs": [[1, 1, 1e308], [1, 1, 1]]}, "A cost is a finite number"),
        ({"sensitive": "Q"}, "'Q' has no declared states"),
        ({"decision": "Y"}, "not of the decision"),
        ({"outcome": Outcome("V", values=(0, 1))}, "three nodes"),
        ({"tolerance": -1}, "tolerance is -1"),
        ({"tolerance": float("nan")}, "tolerance is nan"),
        ({"tolerance": None}, "Give the tolerance"),
        ({"constraints": [Constraint.gap("0", "1", 0.1)]}, "not both"),
        ({"tolerance": None, "constraints": [Constraint.gap("0", "1", 0.1)] * 2}, "Two constraints are called"),
        ({"tolerance": None, "constraints": [Constraint.gap("0", "q", 0.1)]}, "names the group 'q'"),
        ({"groups": ("0", "2")}, "not the states"),
        ({"arms": []}, "at least one arm"),
        ({"arms": [Arm("a", table("X", [], [0.5, 0.5]))]}, "not of the decision 'V'"),
        ({"arms": [Arm("a", table("V", ["Z"], [[0.5, 0.25, 0.25]] * 2))]}, "its states ask for"),
        ({"arms": [Arm("a", table("V", ["Y"], EVEN))]}, "comes after it"),
        ({"costs": [[1, 1, 1]]}, "one row per arm"),
        ({"costs": [[1, 1, -1], [1, 1, 1]]}, "A cost is a finite number"),
        ({"budget": -0.5}, "average cost per pull"),
        ({"budget": "lots"}, "average cost per pull"),
        ({"shares": (0.5, 0.6)}, "must sum to 1"),
        ({"shares": {"0": 0.5, "2": 0.5}}, "Group shares name"),
        ({"deployed": "three"}, "no arm 'three'"),
        ({"mechanisms": [table("X", ["S"], EVEN)]}, "the graph says"),
        ({"context": ContextLaw(("Z",), np.array([0.25, 0.25]))}, "sums to 0.5"),
        ({"context": ContextLaw(("U",), np.array([0.25, 0.75]))}, "can use: X, Z, V"),
        ({"sensitive": ["S", "V"]}, "four nodes; got S, V, V, Y"),
        ({"regime_kind": "found"}, "one of: recruited, set"),
    ],
)
def test_refused(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(ProblemError, match=expected.replace("(", r"\(").replace(")", r"\)")):
        problem(**changes)


def test_frozen() -> None:
    made = problem()
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "other"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        made.arms[0].mechanism.probabilities[0, 0] = 1  # type: ignore[union-attr]


def test_shares_follow_the_order_of_the_groups() -> None:
    made = problem(groups=("1", "0"), shares={"0": 0.25, "1": 0.75})
    assert made.shares == (0.75, 0.25)
    assert made.compiled.group_codes == (1, 0)


def test_missing_law_or_shares_is_said_when_needed() -> None:
    with pytest.raises(ProblemError, match="The law of Z is not declared"):
        _ = problem(context=None).compiled.tables.M
    with pytest.raises(ProblemError, match="shares of the groups"):
        _ = problem(shares=None).compiled.tables.M
    with pytest.raises(ProblemError, match="mechanisms of X are not declared"):
        _ = problem(mechanisms=(), context=ContextLaw(("Z",), np.array([0.25, 0.75]))).compiled.tables.D


def test_real_decision_integrates_its_density() -> None:
    """Two exponential-like densities on [0, 1]: M against adaptive quadrature."""
    from scipy.integrate import quad

    def density(rate: float) -> Code:
        norm = np.log(rate / (np.exp(rate) - 1))
        return Code("V", ("S",), lambda columns: norm + rate * columns["V"])

    made = Problem(
        name="real",
        variables=[BITS["S"], Variable("V", low=0, high=1), BITS["Y"]],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm("up", density(1.0)), Arm("steep", density(2.0))],
        shares=(0.5, 0.5),
    )

    def p(rate: float, v: float) -> float:
        return float(rate / (np.exp(rate) - 1) * np.exp(rate * v))

    expected, _ = quad(lambda v: p(2, v) * np.exp(p(2, v) / p(1, v)), 0, 1, epsabs=1e-13)
    assert made.compiled.tables.M[1, 0] == pytest.approx(np.log(expected), rel=1e-10)
    assert made.compiled.tables.M[0, 0] == pytest.approx(1, rel=1e-12)
    assert np.allclose(made.compiled.tables.D, np.log(2))  # the arms do not look at S: g is 0
    narrow = dataclasses.replace(made, variables={**made.variables, "V": Variable("V", low=0, high=0.5)})
    with pytest.raises(ProblemError, match="the density and range of 'V'"):
        _ = narrow.compiled.tables.M


def test_code_that_misbehaves_is_named() -> None:
    made = problem(arms=[Arm("bad", Code("V", ("Z",), lambda columns: np.zeros(3)))], context=None)
    with pytest.raises(ProblemError, match="Arm 'bad': its code of 'V' must return"):
        _ = made.compiled.tables.likelihood


def test_batch_takes_names_and_gives_them_back() -> None:
    coin = load_problem("coin").problem
    rows = [
        {"arm": "even", "regime": "natural", "group": "a", "side": "heads", "result": "win"},
        {"arm": "tilted", "regime": "b", "group": "b", "side": "tails", "result": "lose"},
    ]
    made = batch(coin, rows)
    assert made.total == 2 and made.arm.tolist() == [0, 1] and made.regime.tolist() == [0, 2]
    assert batch(coin, made.labels(coin)).digest() == made.digest()
    assert batch(coin, pandas.DataFrame(rows)).digest() == made.digest()
    with pytest.raises(DataError, match="list of records"):
        batch(coin, ["even"])
    with pytest.raises(DataError, match="a list with it"):
        batch(coin, rows[0])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"arm": ["odd"]}, "'odd'"),
        ({"regime": ["b"]}, "A row of regime 'b' has another group"),
        ({"group": ["c"]}, "Column 'group' holds 'c'"),
        ({"side": ["edge"]}, "Column 'side' holds 'edge'"),
        ({"count": [1.5]}, "whole numbers"),
        ({"count": [-1]}, "0 or more"),
        ({"result": ["win", "win"]}, "has shape"),
    ],
)
def test_batch_refuses(change: dict[str, Any], expected: str) -> None:
    coin = load_problem("coin").problem
    rows = {"arm": ["even"], "regime": ["natural"], "group": ["a"], "side": ["heads"], "result": ["win"], "count": [3]}
    assert batch(coin, rows).total == 3
    with pytest.raises(DataError, match=expected):
        batch(coin, {**rows, **change})
    del rows["side"]
    with pytest.raises(DataError, match="no column 'side'"):
        batch(coin, rows)


# ---- the same problem, but for one thing ----


def full(**changes: Any) -> Problem:
    """With everything that a change could lose: costs, shares, a fitted mechanism, what is deployed."""
    fitted = Table.fitted("X", ("S", "Z"), np.array([[[3, 1], [5, 2]], [[0, 4], [7, 7]]]))
    known: dict[str, Any] = {
        "mechanisms": [fitted],
        "costs": [(0, 0, 0), (1, 2, 3)],
        "budget": 0.5,
        "deployed": "one",
        "groups": ("1", "0"),
        "needs_columns": True,
        "description": "kept",
    }
    return problem(**{**known, **changes})


def same(left: Problem, right: Problem) -> bool:
    """Equal, and what equality leaves out too: the counts of fitted tables, and whether a log map goes with it."""

    def counts(made: Problem) -> list[Any]:
        tables = [*(arm.mechanism for arm in made.arms), *made.mechanisms.values()]
        return [None if t.counts is None else t.counts.tolist() for t in tables]  # type: ignore[attr-defined]

    return left == right and counts(left) == counts(right) and left.needs_columns == right.needs_columns


def test_with_tolerance_is_the_problem_made_anew() -> None:
    made = full()
    _ = made.compiled.tables, made.compiled.scaled_tolerance  # what was worked out before must not be carried along
    changed = made.with_tolerance(0.25)
    assert same(changed, full(tolerance=0.25))
    assert changed.compiled.scaled_tolerance == 0.25 and made.gap_tolerance == 0.1
    weighed = {"tolerance": None, "constraints": [Constraint((("0", -1.0), ("1", 1.0)), 0.1)]}
    again = full(**weighed).with_tolerance(0.3)
    assert again.constraints == (Constraint((("0", -1.0), ("1", 1.0)), 0.3),)
    for wrong in (0, -0.1, math.nan, math.inf, "0.1", None):
        with pytest.raises(ProblemError, match="The tolerance is"):
            made.with_tolerance(wrong)  # type: ignore[arg-type]
    assert dataclasses.replace(made, tolerance=0.2) == made.with_tolerance(0.2)


NEW = Arm("new", table("V", ["Z"], [[0.9, 0.1], [0.4, 0.6]]))


def test_with_arms_is_the_problem_made_anew() -> None:
    made = full()
    one, two = made.arms
    _ = made.compiled.tables, made.arm_names, made.roles
    assert same(made.with_arms(made.arms), full())
    assert same(made.with_arms(["one"]), full(arms=[one], costs=[(0, 0, 0)]))
    assert same(made.with_arms(["two", one]), full(arms=[two, one], costs=[(1, 2, 3), (0, 0, 0)]))
    added = made.with_arms([*made.arms, NEW], costs={"new": (4, 5, 6), "two": (1, 1, 1)})
    assert same(added, full(arms=[one, two, NEW], costs=[(0, 0, 0), (1, 1, 1), (4, 5, 6)]))
    other = Arm("two", NEW.mechanism)  # another rule of the same name
    assert same(made.with_arms([one, other]), full(arms=[one, other]))
    plain = problem(costs=[(2, 2, 1)] * 2)
    assert plain.with_arms(["one", NEW]) == problem(arms=[one, NEW], costs=[(2, 2, 1)] * 2)


def test_with_arms_that_need_other_columns() -> None:
    """Which columns must be observed follows from the arms."""
    made = problem(context=None).with_arms([Arm("w", table("V", ["W"], EVEN))])
    assert "W" in made.observed and "W" not in problem().observed


@pytest.mark.parametrize(
    ("arms", "costs", "expected"),
    [
        (["two"], None, r"Arm 'one' leaves, but it is the deployed one\. Keep it"),
        (["one", "three"], None, "no arm 'three'"),
        (["one", "one"], None, "Two arms are called 'one'"),
        ("one", None, "takes a list of arms"),
        ([], None, "at least one arm"),
        (["one", NEW], None, r"Arm 'new' is new, .*differ in their costs\. Say .*natural, 1, 0.*costs=\{'new'"),
        (["one"], {"two": (1, 1, 1)}, "Costs are given for 'two', which is not one of the arms: one"),
        (["one"], {"one": (1, 1)}, "one number"),
        (["one", Arm("w", table("V", ["Q"], EVEN))], {"w": (1, 1, 1)}, "Problem 'test' with these arms: .*'w'.*'Q'"),
    ],
)
def test_with_arms_refuses(arms: Any, costs: Any, expected: str) -> None:
    with pytest.raises(ProblemError, match=expected):
        full(deployed=None if arms == [] else "one").with_arms(arms, costs=costs)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"deployed": "one"}, "it is the deployed one"),
        ({"context": ContextSample("one", {name: np.array([0, 1]) for name in "SXZV"})}, "it made the context sample"),
    ],
)
def test_an_arm_that_something_rests_on_cannot_leave(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(ProblemError, match=f"Arm 'one' leaves, but {expected}"):
        full(**{"deployed": None, **changes}).with_arms(["two"])


@pytest.mark.parametrize(
    "name",
    [
        *("no fair arm", "No Fair Arm", "no  fair arm", "NO_FAIR_ARM", "no-fair-arm", "ｎｏ ｆａｉｒ ａｒｍ"),
        *("no fair arm.", "(no fair arm)", "no fair arm!", " no fair arm", "_no_fair_arm_", "no, fair: arm"),
    ],
)
def test_no_arm_is_called_like_the_answer_that_none_is_fair(name: str) -> None:
    with pytest.raises(
        ProblemError, match="That is how the answer is called that no arm is fair: give it another name"
    ):
        Arm(name, table("V", [], [0.5, 0.5]))


@pytest.mark.parametrize("name", ["no fair arms", "fair arm", "no fair arm 2", "nofairarm"])
def test_other_names_are_taken(name: str) -> None:
    assert Arm(name, table("V", [], [0.5, 0.5])).name == name


# ---- attributes with causes, and several ----


def caused(**changes: Any) -> Problem:
    """Z → S → X → V → Y ← Z."""
    known: dict[str, Any] = {
        "graph": [("Z", "S"), ("S", "X"), ("X", "V"), ("V", "Y"), ("Z", "Y")],
        "arms": [Arm("one", table("V", ["X"], [[0.2, 0.8], [0.7, 0.3]]))],
        "mechanisms": [table("X", ["S"], [[0.1, 0.9], [0.6, 0.4]]), table("S", ["Z"], [[0.8, 0.2], [0.3, 0.7]])],
        "hidden": (),
        "shares": None,
    }
    return problem(**{**known, **changes})


def test_one_attribute_with_causes() -> None:
    made = caused()
    assert (made.attributes, made.attribute, made.plain) == (("S",), "S", False)
    assert made.observed == ("Z", "S", "X", "V", "Y") and made.cell_columns == ("Z", "X", "V")
    assert made.own_factor(made.roles.blocks[0]) == made.mechanisms["S"]
    assert problem().plain and not made.has_one_gap and "S" in str(made)


def test_several_attributes() -> None:
    made = caused(sensitive=["S", "Z"], mechanisms=caused().mechanisms, context=None)
    assert made.groups == ("S=0,Z=0", "S=0,Z=1", "S=1,Z=0", "S=1,Z=1") and made.cell_columns == ("X", "V")
    assert made.regimes == ("natural", "S=0", "S=1", "Z=0", "Z=1") and made.costs == ((1.0,) * 5,)
    assert caused(sensitive=["S"]) == caused(sensitive="S")
    with pytest.raises(ProblemError, match="has the sensitive attributes S, Z; this asks about one attribute"):
        _ = made.attribute


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"context": ContextLaw(("Z",), np.array([0.5, 0.25]))}, "law of attributes and observed columns sums to 0.75"),
        ({"mechanisms": [table("S", ["X"], EVEN)]}, r"is given \['X'\]; the graph says \['Z'\]"),
        ({"shares": (0.5, 0.5)}, r"Shares of 'S': it has the causes Z. Declare P\(S \| Z\) as a mechanism"),
        (
            {"mechanisms": [Code("S", ["Z"], lambda z: np.full((len(z), 2), 0.5))]},
            "mechanism of the sensitive attribute 'S' is made of code",
        ),
        (
            {"sensitive": ["S", "Z"], "context": None, "mechanisms": [table("Z", [], [0.5, 0.5])]},
            "mechanism for the sensitive attribute 'Z', which has no causes. Give its law in shares",
        ),
    ],
)
def test_refused_of_attributes_with_causes(changes: dict[str, Any], expected: str) -> None:
    with pytest.raises(ProblemError, match=expected):
        caused(**changes)


def test_a_context_law_beside_attributes_with_causes() -> None:
    """What is not declared of an attribute can be anything: the sum is 1 all the same."""
    assert caused(mechanisms=[table("X", ["S"], EVEN)]).context is not None
    above = ContextLaw(("Z", "X", "V"), np.broadcast_to(np.array([0.25, 0.75])[:, None, None], (2, 2, 2)))
    assert caused(context=above).context == above
