"""The ends of every compared pair's gap: by hand, and whatever else is asked is refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fairarm import Arm, Constraint, Outcome, Problem, Variable, table
from fairarm.errors import ProblemError

INF = math.inf


def asked(*constraints: Constraint, groups: int = 3, **more: Any) -> Problem:
    rows = [[0.5, 0.5]] * groups
    known: dict[str, Any] = {
        "variables": [Variable("S", tuple("abcd"[:groups])), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        "graph": [("S", "V"), ("V", "Y")],
        "constraints": constraints,
    }
    return Problem(
        name="ends",
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(10, 20)),
        arms=[Arm("even", table("V", ["S"], rows))],
        **{**known, **more},
    )


def ends(problem: Problem) -> dict[str, tuple[float, float]]:
    """Above and below of every pair, keyed "t|u"."""
    found = problem.compiled.gap_ends
    keys = ["|".join(problem.groups[i] for i in pair) for pair in problem.compared]
    return dict(zip(keys, zip(found.above.tolist(), found.below.tolist(), strict=True), strict=True))


def test_a_tolerance_bounds_both_directions_of_every_pair() -> None:
    """On the scale of Y': 0.5 of a range of 10."""
    problem = asked(Constraint(compare="pairs", tolerance=0.5))
    assert ends(problem) == dict.fromkeys(["a|b", "b|a", "a|c", "c|a", "b|c", "c|b"], (-0.05, 0.05))
    assert problem.compiled.gap_ends.narrowest == 0.05


def test_two_groups_have_their_tolerance() -> None:
    problem = asked(tolerance=0.5, groups=2)
    assert ends(problem) == {"a|b": (-0.05, 0.05), "b|a": (-0.05, 0.05)}
    assert problem.compiled.gap_ends.narrowest == problem.compiled.scaled_tolerance


def test_one_sided_questions_have_one_end_each_way() -> None:
    """b − a > −1, so that a − b < 1; c − a likewise."""
    below = asked(Constraint(compare="reference", reference="a", tolerance=1, direction="not_below"))
    assert ends(below) == {"b|a": (-0.1, INF), "a|b": (-INF, 0.1), "c|a": (-0.1, INF), "a|c": (-INF, 0.1)}
    assert below.compiled.gap_ends.narrowest == INF
    above = asked(Constraint(compare="reference", reference="a", groups=("a", "c"), tolerance=1, direction="not_above"))
    assert ends(above) == {"c|a": (-INF, 0.1), "a|c": (-0.1, INF)}


def test_of_several_questions_the_strictest_ends_count() -> None:
    """All within 2; b at most 1 above a; c at most 0.5 below a; nothing stricter about b and c."""
    problem = asked(
        Constraint(compare="pairs", tolerance=2),
        Constraint(compare="reference", reference="a", groups=("b",), tolerance=1, direction="not_above"),
        Constraint(compare="reference", reference="a", groups=("c",), tolerance=0.5, direction="not_below"),
        Constraint(compare="pairs", tolerance=3, groups=("b", "c")),
    )
    assert ends(problem) == {
        "a|b": (-0.1, 0.2), "b|a": (-0.2, 0.1), "a|c": (-0.2, 0.05), "c|a": (-0.05, 0.2), "b|c": (-0.2, 0.2), "c|b": (-0.2, 0.2),
    }  # fmt: skip
    assert problem.compiled.gap_ends.narrowest == 0.125


def test_a_weighted_sum_that_is_a_gap_is_one() -> None:
    problem = asked(Constraint(weights=(("a", -1.0), ("c", 1.0)), tolerance=1))
    assert ends(problem) == {"a|c": (-0.1, 0.1), "c|a": (-0.1, 0.1)}


@pytest.mark.parametrize(
    "other",
    [
        Constraint(compare="pairs", ratio=0.8),
        Constraint(compare="mean", tolerance=1),
        Constraint(compare="mean", ratio=0.9, direction="not_below"),
        Constraint(compare="floor", at_least=12),
        Constraint(weights=(("a", 1.0), ("b", -1.0)), at_least=-1),
        Constraint(weights=(("a", 2.0), ("b", -2.0)), tolerance=1),
        Constraint(weights=(("a", 1.0), ("b", -0.5), ("c", -0.5)), tolerance=1),
    ],
)
def test_other_questions_are_refused_by_name(other: Constraint) -> None:
    problem = asked(Constraint(compare="pairs", tolerance=1), other)
    with pytest.raises(ProblemError, match=r"^Constraint '.*' does not bound .*: use `pool`\.$") as error:
        _ = problem.compiled.gap_ends
    assert f"'{other.label}'" in str(error.value)


@pytest.mark.parametrize(
    "more",
    [
        {"graph": [("Z", "S"), ("S", "V"), ("V", "Y"), ("Z", "Y")], "constraints": [Constraint(tolerance=1)]},
        {"constraints": [Constraint(tolerance=1, keep=("V",))]},
    ],
)
def test_people_who_are_compared_with_themselves_are_no_gap_of_two_groups(more: dict[str, Any]) -> None:
    """With causes or something kept the two directions differ: neither is the other with its sign changed."""
    variables = [Variable("S", ("a", "b")), *(Variable(name, ("0", "1")) for name in "VYZ")]
    problem = asked(groups=2, variables=variables, **more)
    assert not problem.plain and not problem.has_one_gap and len(problem.rows) == 2
    assert [reading.world for reading in problem.readings] == list(problem.worlds)
    assert problem.compiled.row_pairs.tolist() == [-1, -1]
    with pytest.raises(ProblemError, match="does not bound a difference of two groups"):
        _ = problem.compiled.gap_ends
