"""What a name may be, in every place that takes one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairarm import Arm, LogMap, Outcome, Problem, Variable, table
from fairarm.errors import ProblemError
from fairarm.problem.names import check_column, check_name, clean_description

REFUSED = {
    "": "is empty",
    "   ": "is empty",
    "x" * 201: "201 characters",
    "e\u0301t\u00e9": "form NFC",
    "a\nb": r"U\+000A",
    "a\x1b[31m": r"U\+001B",
    "a\x9bb": r"U\+009B",
    "a\u202eb": r"U\+202E",
    "a\u2066b": r"U\+2066",
    "a\u2028b": r"U\+2028",
    "a\u200bb": r"U\+200B",
    "a\ud800b": r"U\+D800",
    "a\ufeffb": r"U\+FEFF",
}
TAKEN = ("x", "x" * 200, "under 60", "[/x]", "été", "عمر", "年龄", "no=1; drop", "🙂", "a'b\"c", "../x")


def problem(variable: str = "V", state: str = "v0", group: str = "a", arm: str = "one", name: str = "p") -> Problem:
    return Problem(
        name=name,
        variables=[Variable("S", (group, "b")), Variable(variable, (state, "v1")), Variable("Y", ("0", "1"))],
        graph=[("S", variable), (variable, "Y")],
        sensitive="S",
        decision=variable,
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm(arm, table(variable, ["S"], [[0.5, 0.5], [0.5, 0.5]]))],
    )


@pytest.mark.parametrize("place", ["variable", "state", "group", "arm", "name"])
@pytest.mark.parametrize("name", REFUSED, ids=ascii)
def test_refused_wherever_it_stands(place: str, name: str) -> None:
    with pytest.raises(ProblemError, match=REFUSED[name]) as caught:
        problem(**{place: name})
    assert str(caught.value).isprintable() and len(str(caught.value)) < 300


@pytest.mark.parametrize("name", TAKEN)
def test_taken_as_it_is(name: str) -> None:
    made = problem(variable=name, state=name, group=name, arm=name, name=name)
    assert (made.decision, made.groups[0], made.arm_names[0]) == (name, name, name)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Variable(3, ("a", "b")), "of type int. A name is text"),
        (lambda: Variable("S", (1, 2)), "of type int. A name is text"),
        (lambda: Variable("S", ("a", None)), "of type NoneType"),
        (lambda: Arm(b"one", table("V", [], [0.5, 0.5])), "of type bytes"),
    ],
)
def test_only_text(make: Callable[[], object], said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        make()


def test_columns_are_the_logs_own() -> None:
    """A log's spaces and forms are its own; what is not seen is refused."""
    check_column("Outcome\u00a0(%)", "A column")
    check_column("e\u0301", "A column")
    with pytest.raises(ProblemError, match="form NFC"):
        check_name("e\u0301", "A name")
    for name in ("a\nb", "a\u202e", "", "x" * 201):
        with pytest.raises(ProblemError, match="A column of the log"):
            LogMap(columns={"V": name}).check(problem())
        with pytest.raises(ProblemError, match="A column of the log"):
            LogMap(arm=name).check(problem())


def test_descriptions_are_cleaned_and_bounded() -> None:
    assert clean_description("two\n lines\t\x1b[31mred\u202e \x85 end\u2028.") == "two lines [31mred end ."
    assert clean_description("é 年 🙂") == "é 年 🙂"
    with pytest.raises(ProblemError, match="5001 characters"):
        clean_description("x" * 5001)
