"""Variables: states, ranges, and the order of states."""

from __future__ import annotations

import pytest

from fairarm import Variable
from fairarm.errors import ProblemError
from fairarm.problem.variables import with_order


@pytest.mark.parametrize(
    ("states", "ordered", "levels"),
    [
        (("low", "mid", "high"), None, None),
        (("low", "mid", "high"), True, (0, 1, 2)),
        (("1", "10", "2"), None, (0, 2, 1)),
        (("1", "10", "2"), True, (0, 2, 1)),
        (("1", "10", "2"), False, None),
        (("-1.5", "0", "1e3"), None, (0, 1, 2)),
        (("1", "2", "many"), None, None),
        (("1", "2", "nan"), None, None),
        (("1", "1.0"), None, None),
    ],
)
def test_levels(states: tuple[str, ...], ordered: bool | None, levels: tuple[int, ...] | None) -> None:
    """By number where all states are numbers, else as listed where that is declared."""
    assert Variable("dose", states, ordered=ordered).levels == levels


def test_a_range_has_no_levels_and_cannot_be_declared_ordered() -> None:
    assert Variable("x", low=0, high=1).levels is None
    with pytest.raises(ProblemError, match="real-valued; only a node with states"):
        Variable("x", low=0, high=1, ordered=True)


def test_saved_runs_know_a_variable_by_what_it_was_before_there_were_orders() -> None:
    """The fingerprint hashes this text: it has an order only where one was declared that the states do not show."""
    old = "Variable(name='dose', states=('1', '2'), low=None, high=None)"
    assert repr(Variable("dose", ("1", "2"))) == repr(Variable("dose", ("1", "2"), ordered=False)) == old
    assert repr(Variable("dose", ("a", "b"), ordered=True)).endswith("high=None, ordered=True)")
    assert repr(Variable("x", low=0, high=1)) == "Variable(name='x', states=None, low=0, high=1)"


def test_an_order_given_by_name_is_the_only_one() -> None:
    variables = {"a": Variable("a", ("1", "2")), "b": Variable("b", ("x", "y")), "c": Variable("c", low=0, high=1)}
    found = with_order(variables, ["b"], "problem.ordered")
    assert [found[name].levels for name in "abc"] == [None, (0, 1), None]
    for name in ("c", "d"):
        with pytest.raises(ProblemError, match=f"problem.ordered: '{name}' is not a node with states"):
            with_order(variables, [name], "problem.ordered")
