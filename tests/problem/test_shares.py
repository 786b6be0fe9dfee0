"""The declared laws of attributes: one root, several roots, blocks that share something hidden, attributes with causes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairarm import Arm, Constraint, JointShares, Outcome, Problem, Variable, table
from fairarm.errors import ProblemError

VARIABLES = [
    Variable("region", ("north", "south")), Variable("race", ("a", "b", "c")), Variable("sex", ("f", "m")),
    Variable("V", ("no", "yes")), Variable("Y", ("0", "1")),
]  # fmt: skip
SEEN = [(name, "V") for name in ("region", "race", "sex")]
REGION = {"north": 0.4, "south": 0.6}
RACE_AND_SEX = [[0.1, 0.2], [0.05, 0.15], [0.3, 0.2]]
BY_REGION = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]


def problem(**changes: Any) -> Problem:
    """Three attributes; race and sex share the hidden H."""
    known: dict[str, Any] = {
        "name": "three attributes",
        "variables": VARIABLES,
        "graph": [("H", "race"), ("H", "sex"), *SEEN, ("V", "Y")],
        "hidden": ["H"],
        "sensitive": ["region", "race", "sex"],
        "decision": "V",
        "outcome": Outcome("Y", values=(0, 1)),
        "arms": [Arm("one", table("V", ["region", "race", "sex"], np.full((2, 3, 2, 2), 0.5)))],
        "tolerance": 0.1,
    }
    return Problem(**{**known, **changes})


def roots(**changes: Any) -> Problem:
    """Three attributes that have nothing in common."""
    return problem(**{"graph": [*SEEN, ("V", "Y")], "hidden": [], **changes})


def caused(**changes: Any) -> Problem:
    """race has the cause region."""
    return problem(**{"graph": [("region", "race"), *SEEN, ("V", "Y")], "hidden": [], **changes})


def of_profiles(made: Problem) -> dict[str, float]:
    assert made.shares is not None
    return dict(zip(made.groups, made.shares, strict=True))


def test_independent_roots_multiply() -> None:
    made = roots(shares={"sex": {"m": 0.25, "f": 0.75}, "race": {"b": 0.5, "a": 0.2, "c": 0.3}, "region": REGION})
    found = of_profiles(made)
    assert found["region=north,race=b,sex=f"] == pytest.approx(0.4 * 0.5 * 0.75)
    assert found["region=south,race=c,sex=m"] == pytest.approx(0.6 * 0.3 * 0.25)
    assert len(found) == 12 and sum(found.values()) == pytest.approx(1)
    assert [made.own_factor(block).probabilities.tolist() for block in made.roles.blocks] == [  # type: ignore[union-attr]
        [0.4, 0.6], [0.2, 0.5, 0.3], [0.75, 0.25],
    ]  # fmt: skip


def test_a_block_has_a_joint_law_in_any_order_of_its_members() -> None:
    made = problem(shares={"region": REGION}, joint_shares=[JointShares(("race", "sex"), RACE_AND_SEX)])
    assert [block.members for block in made.roles.blocks] == [("region",), ("race", "sex")]
    found = of_profiles(made)
    assert found["region=north,race=b,sex=m"] == pytest.approx(0.4 * 0.15)
    assert found["region=south,race=c,sex=f"] == pytest.approx(0.6 * 0.3)
    assert made == problem(
        shares={"region": REGION}, joint_shares=[JointShares(("sex", "race"), np.transpose(RACE_AND_SEX))]
    )
    factor = made.own_factor(made.roles.blocks[1])
    assert factor is not None and factor.node == "race,sex"
    assert factor.probabilities.tolist() == [0.1, 0.2, 0.05, 0.15, 0.3, 0.2]


def test_what_is_declared_in_part_is_no_law_of_profiles() -> None:
    part = problem(shares={"region": REGION})
    assert part.shares is None and part.own_factor(part.roles.blocks[1]) is None
    made = caused(shares={"region": REGION}, mechanisms=[table("race", ["region"], BY_REGION)])
    assert made.shares is None and [block.causes for block in made.roles.blocks] == [(), ("region",), ()]
    factors = [made.own_factor(block) for block in made.roles.blocks]
    assert factors[1] == made.mechanisms["race"] and factors[2] is None
    assert factors[0] is not None and factors[0].probabilities.tolist() == [0.4, 0.6]


def test_one_attribute_by_group_or_by_its_name() -> None:
    one: dict[str, Any] = {"sensitive": "race", "groups": ("c", "a", "b"), "graph": [*SEEN, ("V", "Y")], "hidden": []}
    by_name = problem(shares={"race": {"a": 0.2, "b": 0.5, "c": 0.3}}, **one)
    assert by_name == problem(shares=(0.3, 0.2, 0.5), **one) and by_name.shares == (0.3, 0.2, 0.5)
    factor = by_name.own_factor(by_name.roles.blocks[0])
    assert factor is not None and factor.probabilities.tolist() == [0.2, 0.5, 0.3]  # by code
    assert problem(**one).own_factor(by_name.roles.blocks[0]) is None


def test_laws_follow_on_replace() -> None:
    made = problem(shares={"region": REGION}, joint_shares=[JointShares(("race", "sex"), RACE_AND_SEX)])
    assert replace(made) == made and replace(made, name="x").shares == made.shares
    turned = replace(made, variables=[VARIABLES[0], Variable("race", ("c", "b", "a")), *VARIABLES[2:]])
    assert turned.joint_shares[1].table[0].tolist() == [0.3, 0.2] and turned.groups[0] == "region=north,race=c,sex=f"
    assert of_profiles(turned) == of_profiles(made)
    assert of_profiles(replace(made, sensitive=("sex", "region", "race")))[
        "sex=m,region=north,race=b"
    ] == pytest.approx(0.06)
    other = replace(made, shares={"region": {"north": 0.1, "south": 0.9}})
    assert of_profiles(other)["region=north,race=b,sex=m"] == pytest.approx(0.1 * 0.15)
    bare = replace(made, shares=None, joint_shares=())
    assert bare.shares is None and bare.joint_shares == () and bare != made
    more = replace(problem(sensitive="region", shares=REGION), sensitive=("region", "race", "sex"))
    assert more == problem(shares={"region": REGION})


def test_what_does_not_carry_over_is_asked_for() -> None:
    made = problem(joint_shares=[JointShares(("race", "sex"), RACE_AND_SEX)])
    with pytest.raises(ProblemError, match="joint_shares are of several attributes; the only one is 'region'"):
        replace(made, sensitive="region")
    with pytest.raises(ProblemError, match=r"entries for 'sex', whose states are \['x', 'y'\]"):
        replace(made, variables=[*VARIABLES[:2], Variable("sex", ("x", "y")), *VARIABLES[3:]])


@pytest.mark.parametrize(
    ("make", "given", "expected"),
    [
        (roots, {"shares": {"q": REGION}}, "Shares name 'q'. The sensitive attributes are: region, race, sex"),
        (roots, {"shares": REGION}, "shares go by attribute, then by state"),
        (roots, {"shares": (0.5, 0.5)}, "shares go by attribute, then by state"),
        (roots, {"shares": {"region": {"north": 0.4, "south": 0.4}}}, "must sum to 1"),
        (roots, {"shares": {"region": {"north": 0.4, "west": 0.6}}}, "Group shares name"),
        (roots, {"joint_shares": [JointShares(("race", "sex"), RACE_AND_SEX)]}, "'race' shares no hidden cause with 'sex'"),
        (problem, {"shares": {"race": {"a": 0.2, "b": 0.3, "c": 0.5}}}, "'race', 'sex' share a hidden cause. Give the joint law of all"),
        (problem, {"joint_shares": [JointShares(("race", "sex"), RACE_AND_SEX)] * 2 + [JointShares(("sex",), [0.5, 0.5])]}, "'sex' is declared twice"),
        (problem, {"joint_shares": [JointShares(("race", "age"), RACE_AND_SEX)]}, "joint_shares name 'age'"),
        (problem, {"joint_shares": [JointShares(("race", "sex"), [[0.5, 0.5]])]}, "1 entries for 'race'"),
        (problem, {"joint_shares": [{"attributes": ["race", "sex"]}]}, "joint_shares is a list of JointShares"),
        (problem, {"mechanisms": [table("race", [], [0.2, 0.3, 0.5])]}, "shares a hidden cause with other attributes: race, sex"),
        (caused, {"shares": {"race": {"a": 0.2, "b": 0.3, "c": 0.5}}}, r"has the causes region. Declare P\(race \| region\) as a mechanism"),
        (caused, {"mechanisms": [table("race", ["sex"], BY_REGION)]}, r"is given \['sex'\]; the graph says \['region'\]"),
    ],
)  # fmt: skip
def test_refused(make: Any, given: dict[str, Any], expected: str) -> None:
    with pytest.raises(ProblemError, match=expected):
        make(**given)


@pytest.mark.parametrize(
    ("attributes", "given", "expected"),
    [
        (("race", "sex"), [0.5, 0.5], "has 1 levels of lists; it needs one per attribute"),
        (("race", "sex"), [[0.5, 0.5], [0.5, 0.5]], "sum to 2"),
        (("race", "sex"), [[-0.5, 0.5], [0.5, 0.5]], "numbers from 0 to 1"),
        (("race", "sex"), [[0.5, 0.5], [0.5]], "not a table of numbers"),
    ],
)
def test_a_table_that_is_no_law_is_refused(attributes: tuple[str, ...], given: Any, expected: str) -> None:
    with pytest.raises(ProblemError, match=expected):
        JointShares(attributes, given)


def test_hidden_causes_of_one_attribute_alone_are_no_parents_of_its_mechanism() -> None:
    """Luck moves race and nothing else: what is declared is P(race | region)."""
    made = caused(
        graph=[("region", "race"), ("luck", "race"), *SEEN, ("V", "Y")],
        hidden=["luck"],
        mechanisms=[table("race", ["region"], BY_REGION)],
    )
    assert made.own_factor(made.roles.blocks[1]) == made.mechanisms["race"]


# ---- groups that nobody is of ----


def nobody(direct: str, asked: dict[str, Any], **changes: Any) -> Problem:
    """region and race share something hidden; nobody in the north is of race c. ``direct``: what acts on Y besides the decision."""
    edges = [
        ("H", "region"),
        ("H", "race"),
        ("region", "V"),
        ("race", "V"),
        ("V", "Y"),
        *((x, "Y") for x in direct.split()),
    ]
    known: dict[str, Any] = {
        "graph": edges,
        "sensitive": ["region", "race"],
        "joint_shares": [JointShares(("region", "race"), [[0.3, 0.2, 0.0], [0.2, 0.2, 0.1]])],
        "tolerance": None,
        "constraints": [Constraint(**{"name": "both", "tolerance": 0.1, "attributes": ["region", "race"], **asked})],
        "arms": [Arm("one", table("V", ["region", "race"], np.full((2, 3, 2), 0.5)))],
    }
    return problem(**{**known, **changes, "variables": [x for x in VARIABLES if x.name != "sex"]})  # fmt: skip


MEAN_OF_ALL = {"compare": "mean"}
NEVER = "Constraint 'both': group region=north,race=c has no rows and '{}' acts on 'Y' directly: recruit it, set min_share, or leave it out (groups)."


@pytest.mark.parametrize(
    ("direct", "asked", "changes", "message"),
    [
        ("region race", {}, {}, NEVER.format("region")),
        ("region race", MEAN_OF_ALL, {}, NEVER.format("region")),
        ("region race", {"attributes": (), "attribute": "race"}, {}, NEVER.format("race")),
        ("region race", {**MEAN_OF_ALL, "groups": ["region=north,race=a", "region=south,race=c"]}, {}, None),
        ("region race", {"min_share": 0.01}, {}, None),
        ("region race", {}, {"joint_shares": ()}, None),  # nothing is known of who there is: rows will tell
        ("region race", MEAN_OF_ALL, {"regime_kind": "set", "forced": ["region=north,race=c"]}, None),
        ("race", MEAN_OF_ALL, {}, None),  # people of race c in the south tell
        ("", MEAN_OF_ALL, {}, None),
        ("", {}, {}, "Constraint 'both': by the declared laws nobody is of the group region=north,race=c. Set min_share, or leave it out (groups)."),
    ],
)  # fmt: skip
def test_groups_that_nobody_is_of(
    direct: str, asked: dict[str, Any], changes: dict[str, Any], message: str | None
) -> None:
    if message is None:
        assert nobody(direct, asked, **changes).rows
        return
    with pytest.raises(ProblemError) as caught:
        nobody(direct, asked, **changes)
    assert str(caught.value) == message


def test_nobody_by_a_cause() -> None:
    """region acts on race, and nobody in the north is of c: P(race | region) says so."""
    law = table("race", ["region"], [[0.5, 0.5, 0.0], [0.3, 0.3, 0.4]])
    edges = [("region", "race"), ("region", "V"), ("race", "V"), ("V", "Y"), ("region", "Y"), ("race", "Y")]
    with pytest.raises(ProblemError, match="group region=north,race=c has no rows and 'race' acts on 'Y' directly"):
        nobody("", {"attributes": (), "attribute": "race"}, graph=edges, hidden=(), joint_shares=(), mechanisms=[law])
