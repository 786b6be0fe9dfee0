"""State, memory and info: a step says what it saw of those that ran, others keep what was said of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from fairarm.algorithms import Algorithm, make_procedure
from fairarm.algorithms.info import Info
from fairarm.algorithms.records import but, plain, require_savable, restored
from fairarm.algorithms.state import NoMemory, State, fresh_state
from fairarm.algorithms.uniform import Uniform
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.standing import Standing
from fairarm.catalog import load_problem
from fairarm.errors import OptionError
from fairarm.testing.problems import make_world

CASES = [
    ("csr-v2", 2_000, {}),
    ("two-stage-v1", 2_000, {}),
    ("pool", 2_000, {"confidence": 0.6}),
    ("pool", 2_000, {"confidence": 0.97, "stop": "bayes-stop"}),
]


@pytest.mark.parametrize(("name", "pulls", "options"), CASES)
def test_a_step_shows_those_that_were_running_and_leaves_the_others(
    name: str, pulls: int, options: dict[str, Any]
) -> None:
    """Some of 12 replicates stop before the others: from then on their state and what is shown of them stay."""
    world: Any = load_problem("coin").world
    problem, n, rng = world.problem, 12, np.random.default_rng(1)
    procedure = make_procedure(name, problem, pulls, **options)
    state, info, seen = procedure.start(n), Info.unknown(n, 2), CellEvidence.empty(problem, n)
    began, partly = seen, 0
    while not state.finished:
        fresh = CellEvidence(problem, world.draw(state.plan, rng))
        seen = seen.plus(fresh)
        before, shown_before, running = state, info, state.running
        state, shown = procedure.step(state, fresh, seen.since(began), 5)
        assert len(shown.outcomes) == len(shown.fair) == running.sum()
        info = info.updated(running, shown)
        if state.stage != before.stage:
            began = seen
        stopped = ~running & (before.answer >= -2)
        np.testing.assert_array_equal(state.answer[stopped], before.answer[stopped])
        np.testing.assert_array_equal(state.closed[stopped], before.closed[stopped])
        for part in ("outcomes", "gaps", "fair", "rejected", "reason"):
            np.testing.assert_array_equal(getattr(info, part)[~running], getattr(shown_before, part)[~running])
            np.testing.assert_array_equal(getattr(info, part)[running], getattr(shown, part))
        partly += not running.all()
    assert partly


def test_what_is_believed_joins_what_was_not() -> None:
    """Beliefs that come late: replicates of which nothing is believed have nan."""
    now = Info.unknown(3, 2)
    fresh = replace(Info.unknown(1, 2), outcomes=np.array([[0.1, 0.2]]), standing=replace(Standing.unknown(1, 2), none=np.ones(1)))  # fmt: skip
    joined = now.updated(np.array([False, True, False]), fresh)
    np.testing.assert_array_equal(joined.outcomes, [[np.nan] * 2, [0.1, 0.2], [np.nan] * 2])
    assert joined.standing is not None
    np.testing.assert_array_equal(joined.standing.none, [np.nan, 1.0, np.nan])
    kept = joined.updated(np.array([True, False, False]), Info.unknown(1, 2)).standing
    assert kept is joined.standing
    assert now.updated(np.ones(3, dtype=bool), joined) is joined


@dataclass(frozen=True)
class Counts:
    """A procedure's own memory: nothing but arrays."""

    seen: np.ndarray
    share: np.ndarray
    sure: np.ndarray


def counted(n: int = 1) -> State[Counts]:
    memory = Counts(np.arange(2 * n).reshape(n, 2), np.full((n, 1), 0.1 + 0.2), np.ones(n, dtype=bool))
    return fresh_state(n, 3, 2, memory)


def test_any_dataclass_of_arrays_is_saved_and_read_back() -> None:
    state = counted().but(memory=Counts(np.array([[7, 9]]), np.array([[np.nan]]), np.array([False])), phase=4)
    back = counted().from_json(state.to_json(), plain(state.memory))
    assert plain(back.memory) == plain(state.memory) == {"seen": [[7, 9]], "share": [[None]], "sure": [False]}
    assert back.memory.seen.dtype == np.int64 and back.to_json() == state.to_json()
    assert plain(NoMemory()) == {} and restored({}, NoMemory(), "memory") == NoMemory()


@pytest.mark.parametrize("dtype", [np.uint32, np.int16, np.float32, np.float64])
def test_arrays_come_back_as_they_were(dtype: Any) -> None:
    """Of any kind of number; what is infinite too, which JSON cannot write as a number."""
    values = np.array([[1, 250]], dtype=dtype)
    if values.dtype.kind == "f":
        values = np.array([[np.inf, -np.inf, np.nan, 0.1]], dtype=dtype)
    memory = Counts(values, np.ones((1, 1)), np.ones(1, dtype=bool))
    require_savable(memory, "memory")
    text = json.dumps(plain(memory), allow_nan=False)
    back = restored(json.loads(text), memory, "memory").seen
    assert back.dtype == values.dtype
    np.testing.assert_array_equal(back, values)


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ("text", "has a field 'seen' that is a str"),
        (np.array(["text"]), "has a field 'seen' that is an array of <U4"),
        (np.array([{}]), "an array of object"),
        (0.5, "is a float"),
        ([1, 2], "is a list"),
        (Counts("x", np.ones(1), np.ones(1)), "its field 'seen', has a field 'seen' that is a str"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_saved_is_said_before_the_first_pull(seen: Any, said: str) -> None:
    """Not when a run of many pulls is to be resumed."""

    class Texts(Uniform):
        def start(self, n: int) -> Any:
            return super().start(n).but(memory=Counts(seen, np.ones((n, 1)), np.ones(n, dtype=bool)))

    with pytest.raises(OptionError, match=f"^The memory of 'texts'.*{said}"):
        Algorithm("texts", Texts(make_world("chain").problem, 300))


def test_a_memory_is_a_dataclass() -> None:
    with pytest.raises(OptionError, match="The memory is a dict"):
        require_savable({}, "The memory")


GOOD = {"seen": [[7, 9]], "share": [[0.5]], "sure": [False]}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({**GOOD, "seen": [[7, 9.5]]}, "'seen' holds 9.5"),
        ({**GOOD, "seen": [[7, True]]}, "'seen' holds True"),
        ({**GOOD, "seen": [[7]]}, "'seen' needs a list of 2"),
        ({**GOOD, "seen": [7, 9]}, "'seen' needs a list of 1"),
        ({**GOOD, "sure": [None]}, "'sure' holds None"),
        ({**GOOD, "more": 1}, "'memory' has a part 'more'"),
        ({"seen": [[7, 9]], "share": [[0.5]]}, "'memory' has no 'sure'"),
        ([], "'memory' holds"),
    ],
)
def test_a_memory_of_another_form_is_refused(wrong: Any, said: str) -> None:
    state = counted()
    with pytest.raises((TypeError, ValueError), match=said):
        state.from_json(state.to_json(), wrong)


def test_a_changed_state_forgets_what_was_worked_out_of_the_old_one() -> None:
    state = counted()
    assert not state.finished
    assert state.but(answer=np.zeros(1, dtype=np.int64)).finished and not state.finished
    assert but(state.memory, sure=np.zeros(1, dtype=bool)).seen is state.memory.seen


def test_info_without_beliefs_is_saved_as_null() -> None:
    problem = load_problem("coin").problem
    nothing = Info.before(problem, 1)
    assert nothing.to_json()["standing"] is None
    assert Info.from_json(nothing.to_json(), problem).standing is None
    believed = replace(nothing, standing=Standing.unknown(1, 2))
    assert Info.from_json(believed.to_json(), problem).standing is not None
    with pytest.raises(TypeError):
        Info.from_json({**nothing.to_json(), "standing": 3}, problem)
