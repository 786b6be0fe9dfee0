"""`dataclasses.replace` of a problem, for every argument that the constructor has; what goes by arms and groups follows them."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairarm import Arm, Constraint, ContextLaw, Outcome, Problem, Variable, table
from fairarm.algorithms.saved import fingerprint
from fairarm.errors import ProblemError

EVEN = [[0.5, 0.5], [0.5, 0.5]]
ONE, TWO, NEW = (Arm(name, table("V", ["X"], EVEN)) for name in ("one", "two", "new"))
VARIABLES = [
    Variable("S", ("a", "b")), Variable("X", ("0", "1")), Variable("V", ("no", "yes")), Variable("Y", ("0", "1")),
]  # fmt: skip


def given(**changes: Any) -> dict[str, Any]:
    """Every argument, none at its default; whatever differs between arms and groups does."""
    known: dict[str, Any] = {
        "name": "known",
        "variables": VARIABLES,
        "graph": [("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y"), ("S", "V"), ("H", "Y")],
        "sensitive": "S",
        "decision": "V",
        "outcome": Outcome("Y", values=(0, 2)),
        "arms": [ONE, TWO],
        "tolerance": 0.25,
        "groups": ("a", "b"),
        "mechanisms": [table("X", ["S"], [[0.3, 0.7], [0.6, 0.4]])],
        "costs": [(0, 1, 2), (3, 4, 5)],
        "budget": 1.5,
        "deployed": "one",
        "hidden": ("H",),
        "shares": {"a": 0.2, "b": 0.8},
        "context": ContextLaw(("X", "V"), np.ones((2, 2))),
        "description": "kept",
        "needs_columns": True,
    }
    return {**known, **changes}


def problem(**changes: Any) -> Problem:
    return Problem(**given(**changes))


CHANGES: dict[str, Any] = {
    "name": "another",
    "variables": [*VARIABLES, Variable("H", ("0", "1"))],
    "graph": [("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y"), ("S", "V"), ("H", "Y"), ("H", "X2")],
    "outcome": Outcome("Y", values=(0, 1)),
    "arms": [TWO, ONE],
    "tolerance": 0.1,
    "constraints": [Constraint.gap("a", "b", 0.3)],
    "groups": ("b", "a"),
    "mechanisms": [table("X", ["S"], EVEN)],
    "costs": [(1, 1, 1), (2, 2, 2)],
    "forced": ("b",),
    "regime_kind": "set",
    "budget": None,
    "deployed": "two",
    "hidden": (),
    "shares": {"a": 0.5, "b": 0.5},
    "context": None,
    "description": "new",
    "needs_columns": False,
}
MADE_ANEW: dict[str, dict[str, Any]] = {
    "constraints": {"tolerance": None},
    "arms": {"costs": [(3, 4, 5), (0, 1, 2)]},
    "groups": {"costs": [(0, 2, 1), (3, 5, 4)]},
}
"""What else is to be said where the problem is made anew with the change: what `replace` carries over by itself."""


def test_every_argument_is_tried() -> None:
    assert {*CHANGES, "sensitive", "decision", "joint_shares"} == {*inspect.signature(Problem.__init__).parameters} - {
        "self"
    }


@pytest.mark.parametrize("argument", CHANGES)
def test_replace_is_the_problem_made_anew_with_one_thing_changed(argument: str) -> None:
    changed = replace(problem(), **{argument: CHANGES[argument]})
    anew = problem(**{argument: CHANGES[argument], **MADE_ANEW.get(argument, {})})
    assert changed == anew and changed.needs_columns == anew.needs_columns
    assert fingerprint(changed) == fingerprint(anew)


def test_another_sensitive_attribute_or_decision() -> None:
    """Of two roots with the same states; the arms of another decision must come with it."""
    two = problem(
        variables=[*VARIABLES, Variable("R", ("a", "b"))],
        graph=[("S", "X"), ("R", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        mechanisms=[table("X", ["S", "R"], [EVEN, EVEN])],
        context=None,
        hidden=(),
    )
    turned = replace(two, sensitive="R")
    assert (turned.sensitive, turned.observed) == ("R", ("S", "X", "R", "V", "Y")) and turned != two
    assert replace(turned, sensitive="S") == two
    with pytest.raises(ProblemError, match="Arm 'one' is a mechanism of 'V', not of the decision 'X'"):
        replace(two, decision="X")
    moved = replace(two, decision="X", arms=(Arm("one", table("X", ["S"], EVEN)),), mechanisms={})
    assert moved.decision == "X" and moved.costs == ((0, 1, 2),)


def test_replace_without_changes_gives_an_equal_problem() -> None:
    made = problem()
    for same in (replace(made), replace(replace(made)), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert same == made and fingerprint(same) == fingerprint(made)
        assert replace(same, groups=("b", "a")) == replace(made, groups=("b", "a"))  # and remembers as much


def test_shares_and_costs_follow_the_groups_by_name() -> None:
    """By position P(S) would silently go to the other group."""
    turned = replace(problem(), groups=("b", "a"))
    assert turned.shares == (0.8, 0.2) and turned.costs == ((0, 2, 1), (3, 5, 4))
    assert turned.constraints == (Constraint.gap("b", "a", 0.25),) and turned.gap_tolerance == 0.25
    assert replace(turned, groups=()) == problem()


def test_constraints_follow_the_groups_by_name() -> None:
    """A question that names no group follows to any; one that does is asked for anew where its group is gone."""
    three = [Variable("S", ("a", "b", "c")), *VARIABLES[1:]]
    more = {"variables": three, "shares": None, "costs": (), "mechanisms": (), "context": None}
    asked = [Constraint(ratio=0.8), Constraint(compare="reference", reference="a", tolerance=0.3)]
    made = problem(tolerance=None, constraints=asked, groups=(), **more)
    turned = replace(made, groups=("c", "b", "a"))
    assert turned.constraints == made.constraints
    assert turned == problem(tolerance=None, constraints=asked, **{**more, "groups": ("c", "b", "a")})
    assert [row.name for row in turned.rows] == ["c / b", "b / c", "c / a", "a / c", "b / a", "a / b", "c - a", "b - a"]
    with pytest.raises(ProblemError, match=r"'against a within 0.3' names 'a'; the groups are now"):
        replace(made, variables=[Variable("S", ("x", "y")), *VARIABLES[1:]], groups=("x", "y"))
    wider = replace(problem(context=None), groups=("c", "a", "b"), **more)
    assert wider.constraints == (Constraint(compare="pairs", tolerance=0.25),) and len(wider.rows) == 3
    assert wider == problem(groups=("c", "a", "b"), **more)
    narrower = replace(wider, variables=VARIABLES, groups=("a", "b"))
    assert narrower.constraints == (Constraint.gap("a", "b", 0.25),)


def test_the_weights_of_a_gap_are_pairs_of_the_two_where_there_are_more_groups() -> None:
    three = [Variable("S", ("a", "b", "c")), *VARIABLES[1:]]
    more = {"variables": three, "groups": (), "shares": None, "costs": (), "mechanisms": (), "context": None, "tolerance": None}  # fmt: skip
    made = problem(constraints=[Constraint.gap("c", "a", 0.1), Constraint.gap("a", "b", 0.1)], **more)
    assert [asked.label for asked in made.constraints] == ["pairs within 0.1 of c, a", "pairs within 0.1 of a, b"]
    assert [row.name for row in made.rows] == ["a - c", "a - b"]
    with pytest.raises(ProblemError, match="constraints is a list of Constraint"):
        problem(constraints=Constraint.gap("c", "a", 0.1), **more)
    with pytest.raises(ProblemError, match="constraints is a list of Constraint"):
        problem(constraints=[{"tolerance": 0.1}], **more)


def test_costs_follow_the_arms_by_name() -> None:
    made = problem()
    assert replace(made, arms=(TWO, ONE)).costs == ((3, 4, 5), (0, 1, 2))
    assert replace(made, arms=(ONE,)).costs == ((0, 1, 2),)
    alike = replace(made, costs=[(2, 1, 1)] * 2)
    assert replace(alike, arms=(NEW, ONE, TWO)).costs == ((2, 1, 1),) * 3
    with pytest.raises(ProblemError, match=r"Arm 'new' is new, .*differ in their costs.*natural, a, b.*with_arms"):
        replace(made, arms=(ONE, TWO, NEW))
    assert replace(made, arms=(ONE, NEW), costs=((1, 1, 1), (2, 2, 2))).costs[1] == (2, 2, 2)


def test_other_states_of_the_sensitive_attribute() -> None:
    """What does not carry over is asked for."""
    other = {"variables": [Variable("S", ("f", "m")), *VARIABLES[1:]], "groups": ("m", "f")}
    with pytest.raises(ProblemError, match=r"The groups \['a', 'b'\] are not the states"):
        replace(problem(), variables=other["variables"])
    with pytest.raises(
        ProblemError, match=r"The costs are those of forcing the groups \['a', 'b'\].*Give costs as well"
    ):
        replace(problem(), **other)
    with pytest.raises(ProblemError, match=r"Group shares name \['a', 'b'\]"):
        replace(problem(), **other, costs=())
    made = replace(problem(costs=[(1, 2, 2), (3, 3, 3)]), **other, shares=None)
    assert made.costs == ((1, 2, 2), (3, 3, 3)) and made.constraints == (Constraint.gap("m", "f", 0.25),)


@pytest.mark.parametrize(
    "make",
    [
        lambda both: problem(**both),
        lambda both: problem(**{**both, "constraints": tuple(both["constraints"])}),
        lambda both: replace(problem(), **both),
        lambda both: problem(tolerance=None),
    ],
)
def test_two_tolerances_or_none_are_refused(make: Callable[[dict[str, Any]], Problem]) -> None:
    with pytest.raises(ProblemError, match="Give the tolerance, or a list of constraints, not both and not neither"):
        make({"tolerance": 0.1, "constraints": [Constraint.gap("a", "b", 0.1)]})


def test_a_tolerance_keeps_the_constraint_as_it_was_written() -> None:
    written = problem(tolerance=None, constraints=[Constraint((("b", -1.0), ("a", 1.0)), 0.3)])
    changed = replace(written, tolerance=0.1)
    assert changed.constraints == (Constraint((("b", -1.0), ("a", 1.0)), 0.1),)
    assert changed == written.with_tolerance(0.1) != written


def test_nothing_that_was_computed_is_carried_along() -> None:
    made = problem()
    before = made.compiled.cost_array, made.compiled.tables, made.compiled
    changed = replace(made, groups=("b", "a"))
    assert changed.compiled is not before[2] and changed.compiled.cost_array.tolist() == [[0, 3], [2, 5], [1, 4]]
    assert made.compiled.cost_array is before[0] and made.compiled.tables is before[1]
