"""Every question as rows: by hand (the three groups of the worked example W1), then what equal, impossible and too many rows do.

S ∈ {a, b, c}, P(S) = (.5, .3, .2), S → V → Y, E[Y | V] = (.2, .7); P(V = 1 | S) = (.5, .6, .8) and (.4, .4, .5)
arm 1: μ(s) = (.45, .5, .6), μ = .495
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairarm import Arm, Constraint, Outcome, Problem, Variable, table
from fairarm.errors import ProblemError
from fairarm.problem.fairness import MAX_ROWS, rows_of
from fairarm.problem.graph import Graph, find_roles
from fairarm.problem.questions import Scene

GROUPS, SHARES = ("a", "b", "c"), (0.5, 0.3, 0.2)
MEANS, EVERYONE = np.array([[0.45, 0.5, 0.6]]), np.array([0.495])
INF = np.inf


def problem(*constraints: Constraint, values: tuple[float, float] = (0, 1), **given: Any) -> Problem:
    return Problem(**{
        "name": "W1",
        "variables": [Variable("S", GROUPS), Variable("V", ("0", "1")), Variable("Y", ("no", "yes"))],
        "graph": [("S", "V"), ("V", "Y")],
        "sensitive": "S", "decision": "V", "outcome": Outcome("Y", values=values), "shares": SHARES,
        "arms": [
            Arm("1", table("V", ["S"], [[0.5, 0.5], [0.4, 0.6], [0.2, 0.8]])),
            Arm("2", table("V", ["S"], [[0.6, 0.4], [0.6, 0.4], [0.5, 0.5]])),
        ],
        "constraints": constraints,
        **given,
    })  # fmt: skip


def scene(groups: tuple[str, ...]) -> Scene:
    roles = find_roles(Graph.of([("S", "V"), ("V", "Y")]), ("S",), "V", "Y", ["S"], ())
    return Scene({"S": groups}, roles, Outcome("Y", values=(0, 1)))


ROWS: list[tuple[dict[str, Any], list[tuple[str, float, float, float]]]] = [
    (
        {"compare": "pairs", "tolerance": 0.12},
        [("a - b", -0.05, -0.12, 0.12), ("a - c", -0.15, -0.12, 0.12), ("b - c", -0.1, -0.12, 0.12)],
    ),
    ({"compare": "pairs", "tolerance": 0.12, "groups": ["c", "a"]}, [("a - c", -0.15, -0.12, 0.12)]),
    (
        {"compare": "reference", "reference": "b", "tolerance": 0.09},
        [("a - b", -0.05, -0.09, 0.09), ("b - c", -0.1, -0.09, 0.09)],
    ),
    (
        {"compare": "reference", "reference": "a", "tolerance": 0.1, "direction": "not_below"},
        [("b - a", 0.05, -0.1, INF), ("c - a", 0.15, -0.1, INF)],
    ),
    (
        {"compare": "reference", "reference": "a", "tolerance": 0.1, "direction": "not_above"},
        [("b - a", 0.05, -INF, 0.1), ("c - a", 0.15, -INF, 0.1)],
    ),
    (
        {"compare": "reference", "reference": "c", "ratio": 0.8, "direction": "not_below"},
        [("a / c", 0.45 - 0.48, 0, INF), ("b / c", 0.5 - 0.48, 0, INF)],
    ),
    (
        {"compare": "reference", "reference": "c", "ratio": 0.8, "direction": "not_above"},
        [("c / a", 0.6 - 0.36, 0, INF), ("c / b", 0.6 - 0.4, 0, INF)],
    ),
    (
        {"compare": "mean", "tolerance": 0.1},
        [("a - mean", -0.045, -0.1, 0.1), ("b - mean", 0.005, -0.1, 0.1), ("c - mean", 0.105, -0.1, 0.1)],
    ),
    (
        {"compare": "mean", "tolerance": 0.1, "direction": "not_below", "groups": ("a",)},
        [("a - mean", -0.045, -0.1, INF)],
    ),
    (
        {"compare": "mean", "ratio": 0.9, "groups": ("c",)},
        [("c / mean", 0.6 - 0.4455, 0, INF), ("mean / c", 0.495 - 0.54, 0, INF)],
    ),
    (
        {"compare": "pairs", "ratio": 0.8, "groups": ("a", "c")},
        [("a / c", -0.03, 0, INF), ("c / a", 0.6 - 0.36, 0, INF)],
    ),
    (
        {"compare": "floor", "at_least": 0.47},
        [("a", 0.45, 0.47, INF), ("b", 0.5, 0.47, INF), ("c", 0.6, 0.47, INF)],
    ),
    (
        {"weights": {"a": 1, "b": -0.5, "c": -0.5}, "tolerance": 0.11},
        [("a - 0.5 b - 0.5 c", -0.1, -0.11, 0.11)],
    ),
    ({"weights": {"a": 1, "c": 1}, "at_least": 1, "at_most": 1.1}, [("a + c", 1.05, 1, 1.1)]),
    ({"weights": {"c": 1}, "at_most": 0.55}, [("c", 0.6, -INF, 0.55)]),
    ({"weights": {"c": 1, "b": -1}, "tolerance": 0.3}, [("b - c", -0.1, -0.3, 0.3)]),
]


@pytest.mark.parametrize(("asked", "expected"), ROWS, ids=[Constraint(**asked).label for asked, _ in ROWS])
def test_the_rows_of_every_question_by_hand(
    asked: dict[str, Any], expected: list[tuple[str, float, float, float]]
) -> None:
    """Names, values for arm 1, ends; and whether all of them hold."""
    made = problem(Constraint(**asked))
    rows = made.compiled.rows
    values = rows.values(MEANS, EVERYONE)
    assert [row.name for row in made.rows] == [name for name, *_ in expected]
    assert np.allclose(values, [[value for _, value, *_ in expected]], rtol=0, atol=1e-15)
    assert np.allclose([rows.low, rows.high], [[low for *_, low, _ in expected], [high for *_, high in expected]])
    inside = [low < value < high for _, value, low, high in expected]
    assert rows.hold(values).tolist() == [inside] and rows.fair(values).tolist() == [all(inside)]
    assert {row.constraint for row in made.rows} == {made.constraints[0].label}


def test_ends_are_shifted_where_the_weights_do_not_cancel() -> None:
    """Y = 10 + 10 Y': 14.5 − .8 · 16 = 1.7, met; the end 0 is (0 − 10 · .2)/10 = −.2 on the scale of Y'."""
    ratio = problem(Constraint(ratio=0.8, groups=("a", "c")), values=(10, 20))
    rows = ratio.compiled.rows
    assert rows.low == pytest.approx([-0.2, -0.2], abs=1e-15) and rows.high.tolist() == [INF, INF]
    values = rows.values(MEANS, EVERYONE)
    assert values[0, 0] == pytest.approx(-0.03) and rows.fair(values).tolist() == [True]
    raw = 10 + 10 * MEANS[0]
    assert raw[0] - 0.8 * raw[2] == pytest.approx(1.7)
    assert 10 * values[0, 0] - 10 * rows.low[0] == pytest.approx(1.7)  # the distance to the end, in the outcome's units
    floor = problem(Constraint(compare="floor", at_least=14.7), values=(10, 20)).compiled.rows
    assert floor.low == pytest.approx([0.47] * 3, abs=1e-15)
    pairs = problem(Constraint(tolerance=1.2), values=(10, 20)).compiled.rows
    assert pairs.high == pytest.approx([0.12] * 3, abs=1e-15) and np.array_equal(pairs.low, -pairs.high)
    mean = problem(Constraint(compare="mean", ratio=0.9, groups=("a",)), values=(10, 20)).compiled.rows
    assert mean.low == pytest.approx([-0.1, -0.1], abs=1e-15)


def test_a_row_on_its_end_does_not_hold() -> None:
    rows = problem(Constraint(compare="floor", at_least=0.5), Constraint(tolerance=0.25)).compiled.rows
    means = np.array([[0.5, 0.75, 0.625]])
    assert rows.hold(rows.values(means, EVERYONE)).tolist() == [[False, True, True, False, True, True]]


@pytest.mark.parametrize(
    ("asked", "ratio"),
    [({"compare": "pairs"}, False), ({"compare": "reference", "reference": "a"}, False), ({"compare": "reference", "reference": "b"}, False)],
)  # fmt: skip
def test_two_groups_are_one_row_however_they_are_asked(asked: dict[str, Any], ratio: bool) -> None:
    two = {"variables": [Variable("S", ("a", "b")), Variable("V", ("0", "1")), Variable("Y", ("no", "yes"))], "shares": (0.5, 0.5)}  # fmt: skip
    arms = [Arm("1", table("V", ["S"], [[0.5, 0.5], [0.4, 0.6]]))]
    made = problem(Constraint(**asked, tolerance=0.1), arms=arms, **two)
    plain = problem(arms=arms, tolerance=0.1, **two)
    assert made.has_one_gap and made.gap_tolerance == 0.1 and made.compared == ((0, 1), (1, 0)) == plain.compared
    for one, other in zip(vars(made.compiled.rows).values(), vars(plain.compiled.rows).values(), strict=True):
        assert np.array_equal(one, other)


def test_only_the_gap_itself_is_one_gap() -> None:
    """Twice the gap within E is not the gap within E."""
    two = {"variables": [Variable("S", ("a", "b")), Variable("V", ("0", "1")), Variable("Y", ("no", "yes"))], "shares": (0.5, 0.5)}  # fmt: skip
    arms = [Arm("1", table("V", ["S"], [[0.5, 0.5], [0.4, 0.6]]))]
    for asked in (
        {"weights": {"a": 2, "b": -2}, "tolerance": 0.1},
        {"weights": {"a": 1, "b": 1}, "tolerance": 0.1},
        {"ratio": 0.8},
    ):
        made = problem(Constraint(**asked), arms=arms, **two)  # type: ignore[arg-type]
        assert not made.has_one_gap
        with pytest.raises(ProblemError, match="asks more than one gap to be small"):
            _ = made.gap_tolerance


def test_a_problem_shows_what_it_asks() -> None:
    made = problem(Constraint(tolerance=0.1), Constraint(compare="floor", at_least=0.2, name="enough"))
    assert "pairs within 0.1; enough" in repr(made) and "pairs within 0.1; enough" in made._repr_html_()


def test_equal_rows_are_one_row_of_the_first_that_asks() -> None:
    both = problem(
        Constraint(tolerance=0.1),
        Constraint(compare="reference", reference="c", tolerance=0.1),
        Constraint(tolerance=0.2),
    )
    assert [(row.constraint, row.name) for row in both.rows] == [
        *(("pairs within 0.1", name) for name in ("a - b", "a - c", "b - c")),
        *(("pairs within 0.2", name) for name in ("a - b", "a - c", "b - c")),
    ]


def test_the_pairs_that_are_compared_are_ordered_both_ways() -> None:
    assert problem(Constraint(tolerance=0.1)).compared == ((0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1))
    assert problem(Constraint(compare="reference", reference="b", ratio=0.8)).compared == (
        (0, 1),
        (1, 0),
        (2, 1),
        (1, 2),
    )
    assert problem(Constraint(compare="floor", at_least=0.1), Constraint(compare="mean", tolerance=0.1)).compared == ()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"compare": "floor", "at_least": 1}, "'floor 1' asks for a above 1: no arm can meet that while 'Y' lies between 0 and 1"),
        ({"weights": {"a": 1, "b": -1, "c": -1}, "at_most": -2}, "'a - b - c at most -2' asks for a - b - c below -2"),
        ({"compare": "reference", "reference": "q", "tolerance": 1}, "'against q within 1' names the group 'q'"),
        ({"compare": "floor", "at_least": 0.1, "groups": ["q"]}, "'floor 0.1 of q' names the group 'q'. The groups are: a, b, c"),
    ],
)  # fmt: skip
def test_what_no_arm_can_meet_is_refused(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        problem(Constraint(**asked))


def test_a_ratio_needs_an_outcome_that_is_never_negative() -> None:
    with pytest.raises(ProblemError, match=r"'pairs ratio 0.8': a ratio needs .* never negative; 'Y' starts at -5"):
        problem(Constraint(ratio=0.8), values=(-5, 5))


def test_too_many_rows_are_refused_and_the_constraint_is_named() -> None:
    groups = tuple(f"g{i}" for i in range(20))
    pairs = [Constraint(tolerance=0.1), Constraint(tolerance=0.2)]
    assert len(rows_of(pairs, scene(groups)).rows) == 380
    with pytest.raises(ProblemError, match=r"With constraint 'pairs within 0.3' there are 570 rows .* at most 500"):
        rows_of([*pairs, Constraint(tolerance=0.3)], scene(groups))
    many = [Constraint(tolerance=0.1 + i / 1e4) for i in range(MAX_ROWS + 1)]
    with pytest.raises(ProblemError, match="There are 501 constraints; at most 500"):
        rows_of(many, scene(("a", "b")))


def test_arms_times_groups_times_cells_is_bounded() -> None:
    """2^26 likelihoods are held at most: 4 000 arms of 20 groups over 1 000 decisions are 80 000 000."""
    states = tuple(f"v{i}" for i in range(1000))
    row = np.full(1000, 1e-3)
    large = problem(
        Constraint(tolerance=0.1),
        variables=[
            Variable("S", tuple(f"g{i}" for i in range(20))),
            Variable("V", states),
            Variable("Y", ("no", "yes")),
        ],
        shares=None,
        arms=[Arm(str(k), table("V", [], row)) for k in range(4000)],
    )
    for ask in (lambda: large.compiled.tables.likelihood, lambda: large.compiled.shared_cells):
        with pytest.raises(
            ProblemError, match=r"4000 arms and 20 groups of 'S' over 1000 cells need 80000000 .* at most 67108864"
        ):
            ask()
