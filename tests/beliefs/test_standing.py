"""The answer that follows from what is believed: worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairarm.beliefs.standing import Standing
from fairarm.core.answer import Code


def standing(best: list[list[float]], fair: list[list[float]]) -> Standing:
    """The rest of each line of ``best`` to 1 is that no arm is fair."""
    n, arms = np.shape(best)
    none = 1.0 - np.sum(best, axis=1)
    return replace(Standing.unknown(n, arms), best=np.array(best), fair=np.array(fair), none=none)


CASES = [
    # best, fair, heard: code, probability
    ([0.6, 0.3], [0.9, 0.9], [1, 1], 0, 0.6),
    ([0.3, 0.6], [0.9, 0.9], [1, 1], 1, 0.6),
    ([0.3, 0.6], [0.9, 0.7], [1, 1], 0, 0.3),  # the second does not pass the gate
    ([0.1, 0.2], [0.9, 0.9], [1, 1], Code.NONE, 0.7),
    ([0.1, 0.5], [0.9, 0.7], [1, 1], Code.NONE, 0.4),
    ([0.0, 0.0], [0.9, 0.9], [1, 1], Code.NONE, 1.0),
    ([0.6, 0.3], [0.9, 0.9], [1, 0], 0, 0.6),
    ([0.3, 0.6], [0.9, 0.9], [1, 0], Code.UNDECIDED, 0.1),  # one that may not be named is in the way
    ([0.3, 0.6], [0.9, 0.7], [1, 0], Code.UNDECIDED, 0.1),
    ([0.4, 0.5], [0.7, 0.7], [1, 0], Code.UNDECIDED, 0.1),
]


@pytest.mark.parametrize(("best", "fair", "heard", "code", "probability"), CASES)
def test_the_choice_is_the_likeliest_of_none_and_the_arms_that_pass_the_gate(
    best: list[float], fair: list[float], heard: list[int], code: int, probability: float
) -> None:
    found = standing([best], [fair]).choice(0.8, np.array(heard, dtype=bool))
    assert found.code[0] == code
    assert found.probability[0] == pytest.approx(probability)
    if all(heard):
        again = standing([best], [fair]).choice(0.8)
        assert again.code[0] == code


def test_none_is_an_answer_only_from_its_least_probability_on() -> None:
    of = standing([[0.1, 0.5], [0.1, 0.4], [0.5, 0.1], [0.1, 0.05]], [[0.9, 0.7]] * 4)
    found = of.choice(0.8, least_none=0.5)
    assert found.code.tolist() == [Code.UNDECIDED, Code.NONE, 0, Code.NONE]
    np.testing.assert_allclose(found.probability, [0.4, 0.5, 0.5, 0.85])
    assert of.choice(0.8).code.tolist() == [Code.NONE, Code.NONE, 0, Code.NONE]  # runs keep to the likeliest


def test_replicates_are_chosen_for_one_by_one() -> None:
    together = standing([case[0] for case in CASES], [case[1] for case in CASES])
    heard = np.array([case[2] for case in CASES], dtype=bool)
    found = together.choice(0.8, heard)
    assert found.code.tolist() == [case[3] for case in CASES]
    for i, case in enumerate(CASES):
        assert together.of(i).choice(0.8, heard[i : i + 1]).code.tolist() == [case[3]]


def test_a_gate_of_exactly_the_probability_is_passed_and_ties_go_to_none_then_to_the_first() -> None:
    assert standing([[0.2, 0.6]], [[0.8, 0.8]]).choice(0.8).code.tolist() == [1]
    tied = standing([[0.5, 0.0], [0.5, 0.5], [0.25, 0.5]], [[0.9, 0.9]] * 3)
    assert tied.choice(0.8).code.tolist() == [Code.NONE, 0, 1]
    assert tied.likeliest().tolist() == [Code.NONE, 0, 1]


def test_the_runner_up_is_the_next_whatever_the_gate() -> None:
    of = standing([[0.3, 0.6], [0.3, 0.6], [0.1, 0.2], [0.0, 0.9]], [[0.9, 0.1]] * 4)
    leader = np.array([0, 1, Code.NONE, 1])
    assert of.likeliest().tolist() == [1, 1, Code.NONE, 1]
    assert of.runner_up(leader).tolist() == [1, 0, 1, Code.NONE]
    np.testing.assert_allclose(of.probability(leader), [0.3, 0.6, 0.7, 0.9])
    np.testing.assert_allclose(of.probability(of.runner_up(leader)), [0.6, 0.3, 0.2, 0.1])


def test_a_model_that_disagrees_with_the_rows_is_not_sure_that_no_arm_is_fair() -> None:
    agrees = replace(standing([[0.0, 0.0]], [[0.0, 0.0]]), loss=np.full((1, 2), np.inf), unfair=np.ones(1))
    for apart, expected in ((1.0, Code.NONE), (9.0, Code.UNDECIDED)):
        found = replace(agrees, apart=np.full((1, 2, 2), apart))
        assert found.sure(np.array([Code.NONE]), 0.95) == [expected]
