"""People and rows as numbers, and every way in which they can be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.calibration.world_strata import joint_groups

from fairarm import load_problem
from fairarm.studies.coding import Coded, Coding, drawn_number, known_of, known_text, require_unit, unit_digest
from fairarm.studies.errors import Invalid
from four_arms import chain


@pytest.fixture(scope="module")
def ads() -> Coding:
    return Coding(load_problem("ad-marketplace").problem)


def refused(words: str, call: Any, *given: Any) -> None:
    with pytest.raises(Invalid, match=words) as error:
        call(*given)
    assert str(error.value).isprintable() and len(str(error.value)) < 400


def test_units() -> None:
    for wrong in ("", "x" * 201, None, 7, b"u", "a\x00b", "half \ud800"):
        refused(r"[Uu]nit", require_unit, wrong)
    assert require_unit("x" * 200) and require_unit("ü 漢")
    assert unit_digest(b"k" * 32, "u") != unit_digest(b"l" * 32, "u") and len(unit_digest(b"k" * 32, "u")) == 32


def test_groups_of_one_attribute(ads: Coding) -> None:
    assert [ads.label("female"), ads.label({"sex": "male"})] == [0, 1]
    refused("one of female, male", ads.label, None)
    refused("'sex' is 'other'", ads.label, "other")
    refused("one of female, male", ads.label, 3)
    refused("no 'sex'", ads.label, {"age": "x"})
    refused("no sensitive attribute", ads.label, {"sex": "male", "age": "x"})


def test_groups_of_several_attributes() -> None:
    coding = Coding(joint_groups().problem)
    found = [coding.label({"A": a, "B": b}) for a in "01" for b in "01"]
    assert found == [0, 1, 2, 3] and coding.problem.groups[2] == "A=1,B=0"
    refused("no 'B'", coding.label, {"A": "1"})
    refused("state of each of A", coding.label, "1")


def test_what_is_known(ads: Coding) -> None:
    query = ads.problem.variables["query"].states or ()
    assert ads.known(None) is None and ads.known({}) == {} and ads.known({"query": query[1]}) == {"query": 1}
    refused("given as group=", ads.known, {"sex": "male"})
    refused("the decision", ads.known, {"prediction": "x"})
    refused("the outcome", ads.known, {"revenue": "x"})
    refused("no column", ads.known, {"\ud800": "x"})
    refused("It is one of", ads.known, {"query": "none of these"})
    refused("It is one of", ads.known, {"query": True})
    refused("values by column", ads.known, ["query"])
    assert known_of(known_text({"query": 1})) == {"query": 1} and known_text(None) is None


def test_decisions_follow_the_table_and_stay(ads: Coding) -> None:
    """Over 101 numbers in [0, 1) the drawn decision is the quantile of the arm's own row."""
    arm = ads.problem.arm_index("by-sex")
    law = (
        ads.problem.arms[arm].mechanism.distribution({"sex": np.array([1]), "query": np.array([0])}, 2, 1)[0]
        if (ads.problem.variables["prediction"].size == 2)
        else ads.problem.arms[arm].mechanism.distribution(
            {"sex": np.array([1]), "query": np.array([0])}, ads.problem.variables["prediction"].size, 1
        )[0]
    )
    for number in np.linspace(0, 1, 101)[:-1]:
        drawn = ads.decision(arm, ads.label("male"), {"query": 0}, float(number))
        assert drawn == int(np.argmax(np.cumsum(law) > number))
    assert ads.decision(arm, None, {"query": 0}, 0.5) is None  # the arm looks at the group too
    assert ads.decision(arm, 1, None, 0.5) is None and ads.decision(arm, 1, {}, 0.5) is None
    assert drawn_number(b"k", "u", 1) == drawn_number(b"k", "u", 1) != drawn_number(b"k", "u", 2)


def test_cells_and_rows(ads: Coding) -> None:
    problem = ads.problem
    assert ads.cell({"query": 1}, 0) == problem.variables["prediction"].size and ads.cell({"query": 1}, None) is None
    row = {name: (problem.variables[name].states or ())[0] for name in problem.observed}
    arm = problem.arm_index("deployed")
    assert ads.row(arm, None, None, None, row) == Coded(0, 0)
    told = {"revenue": row["revenue"]}
    assert ads.row(arm, 0, {"query": 0}, 0, told) == Coded(0, 0)
    assert ads.row(arm, 0, {"query": 0}, 0, {**told, "sex": "female"}) == Coded(0, 0)
    refused("was known", ads.row, arm, 0, {"query": 1}, 0, {**told, "query": row["query"]})
    refused("was known", ads.row, arm, 0, {"query": 0}, 0, {**told, "sex": "male"})
    refused("no 'prediction'", ads.row, arm, 0, {"query": 0}, None, told)
    refused("no column of this problem", ads.row, arm, 0, {"query": 0}, 0, {**told, "colour": "red"})
    refused("values by column", ads.row, arm, 0, {"query": 0}, 0, [told])
    for wrong in (float("nan"), 0.5, None, True, "x"):
        refused("'revenue' is", ads.row, arm, 0, {"query": 0}, 0, {"revenue": wrong})


def test_a_decision_of_probability_0_is_refused() -> None:
    """'favours a' never decides 0 in group a."""
    coding = Coding(chain())
    refused("probability 0", coding.row, 2, 0, None, None, {"V": "0", "Y": "1"})
    assert coding.row(2, 1, None, None, {"V": "0", "Y": "1"}) == Coded(1, 1)
    assert coding.row(0, 0, None, None, {"V": 2, "Y": 0}) == Coded(0, 4)
