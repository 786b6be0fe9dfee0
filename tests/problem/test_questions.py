"""Questions about attributes with causes, with nodes kept, and about several attributes: rows over worlds, by hand (W2, W3, W4, W6).

Means of worlds are written "t|u" (people of u as t), "t" (everybody as t), with "+" and what is kept.
"""

from __future__ import annotations

from typing import Any

import pytest

from fairarm import Constraint, Outcome
from fairarm.errors import ProblemError
from fairarm.problem.fairness import Asked, compared_pairs, rows_of
from fairarm.problem.graph import Graph, find_roles
from fairarm.problem.questions import Scene
from fairarm.problem.worlds import World

BITS = ("0", "1")
W2 = "Z>S S>V V>Y Z>Y"
W3 = "S>R R>V S>V V>Y"
W4 = "region>race region>V race>V V>Y"
W6 = "Z>S S>Y Z>Y V>Y"
ROOTS = "race>V sex>V V>Y"
BETWEEN = "region>income income>race income>Y region>V race>V V>Y"
MEANS = {
    W2: {"0|0": 0.224, "1|0": 0.308, "0|1": 0.416, "1|1": 0.572, "0": 0.32, "1": 0.44},
    W6: {"0|0": 0.36, "1|0": 0.495, "0|1": 0.84, "1|1": 0.855},
}


def scene(edges: str, groups: dict[str, tuple[str, ...]], hidden: str = "", **given: Any) -> Scene:
    pairs = [tuple(edge.split(">")) for edge in edges.split()]
    used = tuple(a for a, b in pairs if b == "V")
    roles = find_roles(Graph.of(pairs), tuple(groups), "V", "Y", used, hidden.split())
    return Scene(groups, roles, given.pop("outcome", Outcome("Y", values=(0, 1))), **given)


def ask(where: Scene, *asked: Constraint) -> Asked:
    found = rows_of(asked, where)
    assert [reading.world for reading in found.readings] == list(found.worlds)
    return found


def one(edges: str, *asked: Constraint, groups: tuple[str, ...] = BITS) -> Asked:
    return ask(scene(edges, {"S": groups}), *asked)


def shown(world: World) -> str:
    def states(profile: tuple[tuple[str, str], ...]) -> str:
        return "".join(state for _, state in profile)

    people = f"|{states(world.people)}" if world.people else ""
    return (states(world.read) or states(world.people)) + people + "".join(f"+{node}" for node in world.keep)


def sums(found: Asked) -> list[tuple[str, str]]:
    """Every row's name, and its weights by world."""
    lines = []
    for row in found.rows:
        parts = [(weight, shown(world)) for weight, world in zip(row.weights, found.worlds, strict=True) if weight]
        parts += [(row.everyone, "mean")] if row.everyone else []
        lines.append((row.name, " ".join(f"{weight:+g} {name}" for weight, name in parts)))
    return lines


def value(found: Asked, j: int, means: dict[str, float]) -> float:
    row = found.rows[j]
    return sum(weight * means[shown(world)] for weight, world in zip(row.weights, found.worlds, strict=True) if weight)


# ---- causes ----


def test_pairs_with_causes_are_asked_both_ways() -> None:
    """W2: ζ^{1,0} = .084 and ζ^{0,1} = −.156, so that E = .1 is met one way only; no plain gap .348."""
    found = one(W2, Constraint(tolerance=0.1))
    assert sums(found) == [("0 as 1 - 0", "+1 1|0 -1 0|0"), ("1 as 0 - 1", "+1 0|1 -1 1|1")]
    assert [value(found, j, MEANS[W2]) for j in (0, 1)] == pytest.approx([0.084, -0.156])
    assert not found.plain and [row.is_gap for row in found.rows] == [True, True]
    assert [(row.as_group, row.people, row.attributes, row.keep) for row in found.rows] == [
        ("1", "0", ("S",), ()),
        ("0", "1", ("S",), ()),
    ]
    assert compared_pairs(found.rows, BITS) == ((1, 0), (0, 1))


def test_the_weights_of_a_gap_are_pairs_where_there_are_causes() -> None:
    gap = one(W2, Constraint.gap("1", "0", 0.1))
    assert sums(gap) == sums(one(W2, Constraint(tolerance=0.1)))
    three = one(W2, Constraint.gap("a", "c", 0.1), groups=("a", "b", "c"))
    assert [name for name, _ in sums(three)] == ["a as c - a", "c as a - c"]


def test_other_weights_need_an_attribute_without_causes() -> None:
    with pytest.raises(ProblemError, match="weights need an attribute without causes"):
        one(W2, Constraint(weights={"0": 1, "1": 1}, at_least=0.5))  # type: ignore[arg-type]


def test_means_are_of_everybody() -> None:
    found = one(W2, Constraint(compare="mean", tolerance=0.1))
    assert sums(found) == [("everyone as 0 - mean", "+1 0 -1 mean"), ("everyone as 1 - mean", "+1 1 -1 mean")]
    assert found.worlds == (World((("S", "0"),)), World((("S", "1"),)))
    ratio = one(W2, Constraint(compare="mean", ratio=0.8, groups=("1",)))
    assert sums(ratio) == [("everyone as 1 / mean", "+1 1 -0.8 mean"), ("mean / everyone as 1", "-0.8 1 +1 mean")]
    assert [row.ratio for row in ratio.rows] == [0.8, 0.8]


def test_floors_are_of_people_as_they_are() -> None:
    found = one(W2, Constraint(compare="floor", at_least=0.3))
    assert sums(found) == [("0", "+1 0|0"), ("1", "+1 1|1")]
    assert found.worlds == (World((), (("S", "0"),)), World((), (("S", "1"),)))


def test_a_ratio_with_causes_is_four_rows() -> None:
    """W6: the rows μ(t|u) − .8 μ(u|u) are met; people of 0 get .727 of what they would as 1."""
    found = one(W6, Constraint(ratio=0.8))
    assert sums(found) == [
        ("0 as 1 / 0", "+1 1|0 -0.8 0|0"),
        ("0 / 0 as 1", "-0.8 1|0 +1 0|0"),
        ("1 as 0 / 1", "+1 0|1 -0.8 1|1"),
        ("1 / 1 as 0", "-0.8 0|1 +1 1|1"),
    ]
    values = [value(found, j, MEANS[W6]) for j in range(4)]
    assert [x > 0 for x in values] == [True, False, True, True] and values[1] == pytest.approx(0.36 - 0.8 * 0.495)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"tolerance": 0.1}, [("b as a - b", None), ("a as b - a", None), ("c as a - c", None), ("a as c - a", None)]),
        (
            {"tolerance": 0.1, "direction": "not_below", "groups": ("b",)},
            [("b - b as a", "-1 a|b +1 b|b"), ("a as b - a", "-1 a|a +1 b|a")],
        ),
        (
            {"ratio": 0.8, "direction": "not_below", "groups": ("b",)},
            [("b / b as a", "-0.8 a|b +1 b|b"), ("a as b / a", "-0.8 a|a +1 b|a")],
        ),
        (
            {"ratio": 0.8, "direction": "not_above", "groups": ("b",)},
            [("b as a / b", "+1 a|b -0.8 b|b"), ("a / a as b", "+1 a|a -0.8 b|a")],
        ),
    ],
)
def test_against_a_reference_people_of_both_groups_are_asked_about(
    asked: dict[str, Any], expected: list[tuple[str, str | None]]
) -> None:
    found = one(W2, Constraint(compare="reference", reference="a", **asked), groups=("a", "b", "c"))
    assert [name for name, _ in sums(found)] == [name for name, _ in expected]
    for (_, got), (_, terms) in zip(sums(found), expected, strict=True):
        assert terms is None or sorted(got.split()) == sorted(terms.split())


# ---- kept nodes and effects ----


def test_what_is_kept_goes_to_worlds_that_are_read_otherwise() -> None:
    """W3, R kept: +.10 for s = 0, −.10 for s = 1. People as they are keep everything anyway."""
    found = one(W3, Constraint(tolerance=0.1, keep=("R",)))
    assert sums(found) == [("0 as 1 - 0", "+1 1|0+R -1 0"), ("1 as 0 - 1", "+1 0|1+R -1 1")]
    assert {row.keep for row in found.rows} == {("R",)} and not found.plain
    assert compared_pairs(found.rows, BITS) == ()
    mean = one(W3, Constraint(compare="mean", tolerance=0.1, keep=("R",)))
    assert sums(mean)[0] == ("everyone as 0 - mean", "+1 0+R -1 mean")


def test_what_cannot_change_is_not_kept() -> None:
    plain = one("S>V N>V V>Y", Constraint(tolerance=0.1, keep=("N",)))
    assert plain.plain and sums(plain) == [("0 - 1", "+1 0 -1 1")]


def test_the_three_effects() -> None:
    edges = "Z>S S>R R>V V>Y S>Y Z>Y"
    direct, mediated = Constraint(tolerance=0.1, effect="direct"), Constraint(tolerance=0.1, keep="mediators")
    both = one(edges, direct, mediated)
    assert sums(both) == [
        ("0 as 1 directly - 0", "+1 1|0+R -1 0|0"),
        ("1 as 0 directly - 1", "+1 0|1+R -1 1|1"),
    ]  # equal rows are one row
    indirect = one(edges, Constraint(tolerance=0.1, effect="indirect"))
    assert sums(indirect)[0] == ("0 as 1 directly - 0 as 1", "+1 1|0+R -1 1|0")
    spurious = one(edges, Constraint(tolerance=0.1, effect="spurious"))
    assert sums(spurious) == [("0 as 1 - 1", "+1 1|0 -1 1|1"), ("1 as 0 - 0", "+1 0|1 -1 0|0")]
    assert value(one(W2, Constraint(tolerance=0.1, effect="spurious")), 0, MEANS[W2]) == pytest.approx(-0.264)
    assert {(row.effect, row.keep) for row in (*indirect.rows, *spurious.rows)} == {
        ("indirect", ("R",)),
        ("spurious", ()),
    }
    assert compared_pairs(spurious.rows, BITS) == ()


def test_the_indirect_effect_where_everything_else_is_plain() -> None:
    """W3: IE^{1,0} = μ(1,0,M) − μ(1)."""
    found = one(W3, Constraint(tolerance=0.1, effect="indirect"))
    assert sums(found) == [
        ("0 as 1 directly - 0 as 1", "+1 1|0+R -1 1"),
        ("1 as 0 directly - 1 as 0", "+1 0|1+R -1 0"),
    ]


@pytest.mark.parametrize(
    ("edges", "asked", "message"),
    [
        (W3, {"effect": "spurious"}, "0 as 1 - 1 is 0 whatever the arm: every arm meets it"),
        ("S>Y V>Y", {"effect": "indirect"}, "is 0 whatever the arm"),
        (W3, {"keep": ("q",)}, "keeps 'q', which is not a node of the graph"),
        (W3, {"keep": ("Y",)}, "keeps 'Y', which is the outcome. Leave it out"),
        (W3, {"keep": ("S",)}, "keeps 'S', which is the attribute that is changed"),
        (W3, {"attribute": "R"}, "is about 'R'. The sensitive attributes are: S"),
        ("S>X X>R R>Y X>Y V>Y", {"keep": ("R",)},
         "Constraint 'pairs within 0.1, keep R': keep = ['R']: 'X' reaches the outcome through 'R' and past it. Keep 'X' too, or not 'R'."),
    ],
)  # fmt: skip
def test_refused_of_one_attribute(edges: str, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        one(edges, Constraint(tolerance=0.1, **asked))
    assert message in str(caught.value)


# ---- several attributes ----

REGION_RACE = {"region": ("0", "1"), "race": ("a", "b")}
RACE_SEX = {"race": ("a", "b", "c"), "sex": ("f", "m")}


def test_a_tolerance_alone_is_pairs_of_every_attribute() -> None:
    found = ask(scene(W4, REGION_RACE), Constraint(tolerance=0.1))
    assert sums(found) == [
        ("region: 0 - 1", "+1 0 -1 1"),  # a root: once
        ("race: a as b - a", "+1 b|a -1 a|a"),
        ("race: b as a - b", "+1 a|b -1 b|b"),
    ]
    assert [row.attributes for row in found.rows] == [("region",), ("race",), ("race",)] and not found.plain
    assert compared_pairs(found.rows, ("region=0,race=a", "region=0,race=b")) == ()


def test_others_follow_or_are_held() -> None:
    follow = ask(scene(W4, REGION_RACE), Constraint(tolerance=0.1, attribute="region"))
    held = ask(scene(W4, REGION_RACE), Constraint(tolerance=0.1, attribute="region", others="held"))
    assert sums(follow) == [("region: 0 - 1", "+1 0 -1 1")]
    assert sums(held) == [("region: 0 as 1 - 0", "+1 1|0+race -1 0"), ("region: 1 as 0 - 1", "+1 0|1+race -1 1")]
    race = [
        ask(scene(W4, REGION_RACE), Constraint(tolerance=0.1, attribute="race", others=o)) for o in ("follow", "held")
    ]  # type: ignore[arg-type]
    assert sums(race[0]) == sums(race[1])  # region is above race: as it is either way


def test_joint_groups_are_profiles() -> None:
    """W4 against the mean: four profiles, everybody read as each."""
    found = ask(scene(W4, REGION_RACE), Constraint(compare="mean", tolerance=0.1, attributes=("race", "region")))
    assert [name for name, _ in sums(found)] == [f"everyone as region={r},race={s} - mean" for r in "01" for s in "ab"]
    assert found.rows[0].attributes == ("region", "race") and found.rows[1].as_group == "region=0,race=b"
    assert found.worlds[1] == World((("region", "0"), ("race", "b")))
    roots = ask(scene(ROOTS, RACE_SEX), Constraint(tolerance=0.1, attributes=("race", "sex")))
    assert (
        len(roots.rows) == 15 and roots.rows[0].name == "race=a,sex=f - race=a,sex=m"
    )  # independent roots: each two once
    labels = tuple(f"race={r},sex={s}" for r in "abc" for s in "fm")
    assert len(compared_pairs(roots.rows, labels)) == 30


def test_joint_groups_with_causes_are_told_as_they_are() -> None:
    found = ask(
        scene(W4, REGION_RACE),
        Constraint(compare="reference", reference="region=0,race=a", tolerance=0.1, attributes=("region", "race")),
    )
    assert sums(found)[:2] == [
        ("region=0,race=b as region=0,race=a - region=0,race=b", "+1 0a|0b -1 0b|0b"),
        ("region=0,race=a as region=0,race=b - region=0,race=a", "+1 0b|0a -1 0a|0a"),
    ]


def test_rare_profiles_are_left_out_and_listed() -> None:
    shares = (0.3, 0.2, 0.25, 0.2, 0.045, 0.005)
    asked = Constraint(compare="floor", at_least=0.1, attributes=("race", "sex"), min_share=0.01)
    found = ask(scene(ROOTS, RACE_SEX, shares=shares), asked)
    assert found.left_out == (("race, sex: floor 0.1, share 0.01 or more", "race=c,sex=m", 0.005),)
    assert len(found.rows) == 5
    three = {**RACE_SEX, "age": ("old", "young")}
    halves = tuple(share / 2 for share in shares for _ in range(2))
    summed = ask(scene(f"age>V {ROOTS}", three, shares=halves), asked)  # P(race, sex), age summed out
    assert [name for _, name, _ in summed.left_out] == ["race=c,sex=m"]
    with pytest.raises(ProblemError, match=r"min_share needs P\(race, sex\)"):
        ask(scene(ROOTS, RACE_SEX), asked)
    with pytest.raises(ProblemError, match="not even the reference is left"):
        ask(
            scene(ROOTS, RACE_SEX, shares=shares),
            Constraint(compare="reference", reference="race=c,sex=m", tolerance=1, attributes=("race", "sex"), min_share=0.01),
        )  # fmt: skip


@pytest.mark.parametrize(
    ("edges", "groups", "hidden", "asked", "message"),
    [
        (BETWEEN, REGION_RACE, "", {"attributes": ("region", "race")},
         "joint groups of 'region' and 'race': 'income' lies between them and also acts on 'Y'. Use compare = 'mean'."),
        (f"H>region H>race {W4}", REGION_RACE, "H", {"attribute": "region"},
         "'region' acts on 'race' and shares a hidden cause with it. Use others = 'held'."),
        (ROOTS, RACE_SEX, "", {"compare": "mean"}, "does not say about which of race, sex. Name it (attribute = 'race')"),
        (ROOTS, RACE_SEX, "", {"groups": ("a", "b")}, "does not say about which of race, sex"),
        (ROOTS, RACE_SEX, "", {"attribute": "age"}, "is about 'age'. The sensitive attributes are: race, sex"),
        (ROOTS, RACE_SEX, "", {"attribute": "race", "groups": ("f",)}, "names the group 'f'. The groups are: a, b, c"),
        (ROOTS, {"race": tuple("abcdef"), "sex": tuple("uvwx")}, "", {"attributes": ("race", "sex")}, "looks at 24 groups; at most 20"),
    ],
)  # fmt: skip
def test_refused_of_several(
    edges: str, groups: dict[str, tuple[str, ...]], hidden: str, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(ProblemError) as caught:
        ask(scene(edges, groups, hidden), Constraint(tolerance=0.1, **asked))
    assert message in str(caught.value)


def test_the_way_out_of_each_is_taken() -> None:
    mean = Constraint(compare="mean", tolerance=0.1, attributes=("region", "race"))
    assert len(ask(scene(BETWEEN, REGION_RACE), mean).rows) == 4
    held = Constraint(tolerance=0.1, attribute="region", others="held")
    assert len(ask(scene(f"H>region H>race {W4}", REGION_RACE, "H"), held).rows) == 2


def test_a_ratio_of_an_outcome_that_may_be_negative_is_refused_of_every_attribute() -> None:
    negative = scene(W4, REGION_RACE, outcome=Outcome("Y", values=(-5, 5)))
    with pytest.raises(ProblemError, match="a ratio needs an outcome that is never negative; 'Y' starts at -5"):
        ask(negative, Constraint(ratio=0.8))


def test_the_direct_effect_of_an_attribute_that_acts_on_nothing_else_is_the_gap() -> None:
    found = one("S>Y V>Y", Constraint(tolerance=0.1, effect="direct"))
    assert found.plain and sums(found) == [("0 - 1", "+1 0 -1 1")]
