"""Several sensitive attributes: their names, the labels of rows, and what is too much."""

from __future__ import annotations

from typing import Any

import pytest

from fairarm.errors import ProblemError
from fairarm.problem.held import Held
from fairarm.problem.profiles import MAX_PROFILES, labels_of, named_attributes, single_names, states_by_attribute
from fairarm.problem.variables import Variable

VARIABLES = {
    "region": Variable("region", ("north", "south")),
    "race": Variable("race", ("a", "b", "c")),
    "income": Variable("income", low=0, high=1),
}
BOTH = {"region": ("north", "south"), "race": ("a", "b", "c")}


@pytest.mark.parametrize(
    ("given", "expected"),
    [("race", ("race",)), (["race"], ("race",)), (("region", "race"), ("region", "race")), (iter("ab"), ("a", "b"))],
)
def test_one_name_or_several(given: Any, expected: tuple[str, ...]) -> None:
    assert named_attributes(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [((), "Give the name of a node"), ([1], "list of such names"), (["a", "a"], "'a' is named twice")],
)
def test_no_names_are_refused(given: Any, expected: str) -> None:
    with pytest.raises(ProblemError, match=expected):
        named_attributes(given)


def test_labels_are_groups_of_one_and_profiles_of_several() -> None:
    one = states_by_attribute(("race",), VARIABLES, ("c", "a", "b"))
    assert labels_of(one) == ("c", "a", "b") == single_names(one)
    both = states_by_attribute(("region", "race"), VARIABLES, ())
    assert both == BOTH
    assert labels_of(both) == (
        "region=north,race=a", "region=north,race=b", "region=north,race=c",
        "region=south,race=a", "region=south,race=b", "region=south,race=c",
    )  # fmt: skip
    assert labels_of(states_by_attribute(("race", "region"), VARIABLES, ()))[1] == "race=a,region=south"
    assert single_names(both) == ("region=north", "region=south", "race=a", "race=b", "race=c")


def test_labels_that_a_problem_held_follow_its_attributes() -> None:
    profiles, groups = labels_of(BOTH), labels_of({"race": ("c", "b", "a")})
    assert isinstance(profiles, Held) and profiles.attributes == ("region", "race")
    assert states_by_attribute(("race",), VARIABLES, profiles) == {"race": ("a", "b", "c")}
    assert states_by_attribute(("race",), VARIABLES, groups) == {"race": ("c", "b", "a")}
    assert states_by_attribute(("region", "race"), VARIABLES, groups) == BOTH


@pytest.mark.parametrize(
    ("attributes", "changes", "groups", "expected"),
    [
        (("q",), {}, (), "'q' has no declared states"),
        (("race", "income"), {}, (), "'income' is real-valued"),
        (("race",), {}, ("a", "b"), "not the states of 'race'"),
        (("region", "race"), {}, ("a", "b", "c"), "orders the states of a single attribute. Leave it out"),
        (("region", "race"), {"race": ("a", "b=c")}, (), "'b=c' is a name of the sensitive attribute 'race'"),
        (("region", "race"), {"race": ("a", "b,c")}, (), "no '=' and no ','.*rename it"),
        (("region", "race"), {"race": ("a",)}, (), "'race' has 1 groups. It must have from 2 to 20"),
        (("region", "race"), {"race": [f"r{i}" for i in range(21)]}, (), "'race' has 21 groups.*merge states"),
    ],
)
def test_refused(attributes: tuple[str, ...], changes: dict[str, Any], groups: tuple[str, ...], expected: str) -> None:
    variables = {**VARIABLES, **{name: Variable(name, tuple(states)) for name, states in changes.items()}}
    with pytest.raises(ProblemError, match=expected):
        states_by_attribute(attributes, variables, groups)


def test_names_of_one_attribute_may_hold_what_joins_several() -> None:
    variables = {"race": Variable("race", ("a=1", "b,c"))}
    assert labels_of(states_by_attribute(("race",), variables, ())) == ("a=1", "b,c")


def test_more_profiles_than_are_held_are_refused_before_they_are_made() -> None:
    names = tuple(f"A{i}" for i in range(12))
    many = {name: Variable(name, tuple(f"s{i}" for i in range(20))) for name in names}
    assert len(labels_of(states_by_attribute(names[:2], many, ()))) == 400
    with pytest.raises(
        ProblemError, match=rf"make {20**12} profiles \(20 of 'A0' × .*at most {MAX_PROFILES}.*Merge states"
    ):
        states_by_attribute(names, many, ())
