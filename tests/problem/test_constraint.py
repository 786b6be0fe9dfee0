"""A question of fairness as it is declared: what goes together, what it is called, and how it is shown."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fairarm import Constraint
from fairarm.errors import ProblemError


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({"tolerance": 0.05}, "pairs within 0.05"),
        ({"compare": "pairs", "ratio": 0.8}, "pairs ratio 0.8"),
        ({"tolerance": 0.05, "groups": ("a", "c")}, "pairs within 0.05 of a, c"),
        ({"compare": "reference", "reference": "a", "tolerance": 1}, "against a within 1"),
        (
            {"compare": "reference", "reference": "a", "ratio": 0.8, "direction": "not_above"},
            "against a ratio 0.8, not above",
        ),
        ({"compare": "mean", "tolerance": 0.1, "direction": "not_below"}, "against the mean within 0.1, not below"),
        ({"compare": "floor", "at_least": 0.3}, "floor 0.3"),
        ({"compare": "floor", "at_least": 0.3, "groups": ["b"]}, "floor 0.3 of b"),
        ({"weights": {"a": 1, "b": -1}, "tolerance": 0.1}, "pairs within 0.1"),
        ({"weights": {"a": -1, "b": 0.5, "c": 0.5}, "tolerance": 0.1}, "- a + 0.5 b + 0.5 c within 0.1"),
        ({"weights": {"a": 1, "b": 1}, "at_least": 0.5, "at_most": 1.5}, "a + b at least 0.5 at most 1.5"),
        ({"weights": dict.fromkeys("abcde", 1), "at_most": 4}, "weights at most 4"),
        ({"tolerance": 0.05, "name": "race"}, "race"),
    ],
)
def test_it_is_called_by_its_name_or_by_its_keys(given: dict[str, Any], label: str) -> None:
    assert Constraint(**given).label == label


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"compare = 'pairs' needs tolerance, or ratio; got none of them"),
        (
            {"compare": "odds", "tolerance": 1},
            "compare is 'odds'. It is one of: pairs, reference, mean, floor, weights",
        ),
        ({"compare": "mean", "tolerance": 1, "direction": "up"}, "direction is 'up'. It is one of: both"),
        ({"compare": "floor", "tolerance": 1}, "compare = 'floor' needs at_least; got tolerance"),
        ({"compare": "floor", "at_least": 1, "at_most": 2}, "needs at_least; got at_least, at_most"),
        ({"compare": "floor", "at_least": 1, "direction": "not_below"}, "'floor' has no direction"),
        ({"compare": "weights", "tolerance": 1}, "Weights go with compare = 'weights', which needs them"),
        ({"compare": "pairs", "weights": {"a": 1}, "tolerance": 1}, "compare = 'pairs' with weights"),
        (
            {"weights": {"a": 1}, "ratio": 0.8},
            "compare = 'weights' needs tolerance, or at_least, or at_most, or at_least",
        ),
        ({"weights": {"a": math.nan}, "tolerance": 1}, "They must be finite numbers"),
        ({"weights": {"a": "1"}, "tolerance": 1}, "They must be finite numbers"),
        ({"weights": [("a", 1), ("a", 2)], "tolerance": 1}, "name the group 'a' twice"),
        ({"weights": ["ab", "c"], "tolerance": 1}, "Give a number by group"),
        ({"weights": 3, "tolerance": 1}, "Give a number by group"),
        ({"groups": "ab", "tolerance": 1}, "It is a list of names of groups"),
        ({"groups": [1, 2], "tolerance": 1}, "It is a list of names of groups"),
        ({"groups": ["a", "b", "a"], "tolerance": 1}, "groups names 'a' twice"),
        ({"tolerance": True}, "The tolerance is True. It must be a finite number"),
        ({"tolerance": "0.1"}, "The tolerance is '0.1'. It must be a finite number"),
        ({"tolerance": math.inf}, "The tolerance is inf"),
        ({"tolerance": 10**400}, "It must be a finite number above 0"),
        ({"tolerance": 0}, "The tolerance is 0. It must be a finite number above 0"),
        ({"ratio": 0}, "The ratio is 0. It must be above 0 and below 1"),
        ({"tolerance": 1, "name": 7}, "The name of a constraint is '7', of type int"),
        ({"tolerance": 1, "name": "a\nb"}, "The name of a constraint"),
        ({"tolerance": 1, "name": " "}, "The name of a constraint is empty"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_rule(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Constraint(**given)


def test_numbers_of_any_kind_are_numbers() -> None:
    for tolerance in (np.float64(0.5), np.int64(1), Fraction(1, 2), 1):
        assert Constraint(tolerance=tolerance).tolerance == tolerance  # type: ignore[arg-type]


def test_a_gap_is_shown_as_earlier_versions_did_and_others_by_their_keys() -> None:
    """Saved runs know their problem by this text."""
    assert repr(Constraint.gap("a", "b", 0.1)) == "Constraint(weights=(('a', 1.0), ('b', -1.0)), tolerance=0.1)"
    assert repr(Constraint(ratio=0.8)) == "Constraint(compare='pairs', ratio=0.8)"
    floor = Constraint(compare="floor", at_least=0.3, name="enough")
    assert eval(repr(floor)) == floor
    assert {Constraint.gap("a", "b", 0.1), Constraint(weights={"a": 1, "b": -1}, tolerance=0.1)} == {  # type: ignore[arg-type]
        Constraint((("a", 1.0), ("b", -1.0)), 0.1)
    }


def test_the_groups_that_it_names() -> None:
    assert Constraint(compare="reference", reference="a", groups=("b",), tolerance=1).named == ("b", "a")
    assert Constraint.gap("x", "y", 1).named == ("x", "y") and Constraint(tolerance=1).named == ()
    assert Constraint.gap("x", "y", 1).is_gap and not Constraint(weights={"x": 2, "y": -2}, tolerance=1).is_gap  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ({"tolerance": 0.05, "attribute": "race"}, "race: pairs within 0.05"),
        ({"tolerance": 0.05, "keep": ["department", "age"]}, "pairs within 0.05, keep department, age"),
        ({"tolerance": 0.05, "keep": "mediators"}, "pairs within 0.05, keep mediators"),
        ({"tolerance": 0.05, "effect": "direct", "attribute": "race"}, "race: pairs within 0.05, direct effect"),
        (
            {"compare": "reference", "reference": "a", "ratio": 0.8, "others": "held", "direction": "not_below"},
            "against a ratio 0.8, not below, others held",
        ),
        (
            {"compare": "mean", "tolerance": 0.1, "attributes": ["region", "race"], "min_share": 0.01},
            "region, race: against the mean within 0.1, share 0.01 or more",
        ),
        ({"compare": "floor", "at_least": 0.3, "attribute": "race", "groups": ["b"]}, "race: floor 0.3 of b"),
    ],
)
def test_its_name_says_what_it_is_about_and_what_is_kept(given: dict[str, Any], label: str) -> None:
    asked = Constraint(**given)
    assert asked.label == label and eval(repr(asked)) == asked
    assert asked.about == tuple(given.get("attributes", [given["attribute"]] if "attribute" in given else []))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"attribute": 3}, r"attribute is 3. It is the name of a sensitive attribute"),
        ({"attribute": "a", "attributes": ["a", "b"]}, "Give one of the two"),
        ({"attributes": ["race"]}, "attributes names 'race' alone. Use attribute = 'race'"),
        ({"attributes": "race"}, "attributes is 'race'. It is a list of sensitive attributes"),
        ({"attributes": ["a", "b", "a"]}, "attributes names 'a' twice. Name each attribute once"),
        ({"weights": {"x": 1}, "attributes": ["a", "b"]}, "weights go by the groups of one attribute"),
        ({"min_share": 0.1}, "min_share = 0.1 without attributes"),
        ({"min_share": 1, "attributes": ["a", "b"]}, "min_share is 1. It must be a number from 0 to below 1"),
        ({"min_share": "1", "attributes": ["a", "b"]}, "min_share is '1'"),
        ({"others": "free"}, "others is 'free'. It is one of: follow, held"),
        ({"effect": "none"}, "effect is 'none'. It is one of: total, direct, indirect, spurious"),
        ({"keep": "department"}, "keep is 'department'. It is a list of nodes, or 'mediators'"),
        ({"keep": ["x", "x"]}, "keep names 'x' twice. Name each node once"),
        ({"keep": [1]}, r"keep is \[1\]"),
        ({"keep": 1}, r"keep is 1"),
        ({"compare": "floor", "keep": ["x"]}, r"compare = 'floor' with keep = \['x'\]: it asks about nobody"),
        ({"compare": "floor", "others": "held"}, "compare = 'floor' with others = 'held'"),
        ({"weights": {"a": 1, "b": -1}, "keep": "mediators"}, "compare = 'weights' with keep = 'mediators'"),
        ({"effect": "direct", "keep": ["x"]}, r"effect = 'direct' with keep = \['x'\]"),
        ({"effect": "direct", "compare": "mean"}, "effect = 'direct' with compare = 'mean'"),
        ({"effect": "indirect", "compare": "floor"}, "It goes with compare = 'pairs' or 'reference', without keep"),
        ({"effect": "spurious", "weights": {"a": 1, "b": -1}}, "effect = 'spurious' with compare = 'weights'"),
        ({"effect": "direct", "ratio": 0.8, "tolerance": None}, "effect = 'direct' with a ratio"),
        (
            {"effect": "indirect", "compare": "reference", "reference": "a", "direction": "not_below"},
            "effect = 'indirect' with direction = 'not_below'",
        ),
    ],
)
def test_attributes_and_kept_nodes_that_do_not_go_together_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Constraint(**{"tolerance": 0.1, **given})
