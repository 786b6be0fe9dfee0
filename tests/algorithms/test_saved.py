"""Saved runs: no document that says something else is taken, and threads, copies and failures lose nothing."""

from __future__ import annotations

import copy
import json
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from benchmarks.damage import KINDS, saved_runs, tallies

from fairarm.algorithms import Algorithm, algorithm, resume
from fairarm.algorithms.saved import fingerprint
from fairarm.errors import DataError, ProblemError
from fairarm.problem.mechanism import Arm, Code, table
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import MOST_ROWS, Batch, Request
from fairarm.problem.shares import JointShares
from fairarm.problem.variables import Variable
from fairarm.sealed import opened, sealed
from fairarm.testing.checks import Subject, finish, take, units
from fairarm.testing.problems import chain_network, chain_parts, context_parts, make_world
from fairarm.testing.saving import mid_run
from fairarm.worlds import NetworkWorld

CHAIN = make_world("chain")

# ---- one byte changed ----


@pytest.mark.parametrize(("what", "document", "taken"), list(saved_runs()), ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_one_changed_byte_is_never_taken_for_other_content(
    what: str, document: bytes, taken: Callable[[bytes], bool]
) -> None:
    """400 positions; `python -m benchmarks.damage` does ten times as many."""
    found = tallies(document, taken, positions=400)
    assert {kind: tally.other for kind, tally in found.items()} == dict.fromkeys(KINDS, 0)
    assert all(tally.refused > 300 for tally in found.values())


SCHEMAS = [1, 2, 9, 11, 99, 10.0, "10", True, None]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_another_schema_does_not_get_around_the_check_sum(schema: Any) -> None:
    problem, document = CHAIN.problem, mid_run(Subject("pool"), CHAIN)
    tree = json.loads(document)
    with pytest.raises(DataError, match="check sum"):
        resume(problem, json.dumps({**tree, "schema": schema}))


def test_without_its_check_sum_a_run_is_refused() -> None:
    problem, document = CHAIN.problem, mid_run(Subject("pool"), CHAIN)
    with pytest.raises(DataError, match="check sum is missing"):
        resume(problem, document.replace('"checksum"', '"chfcksum"'))
    with pytest.raises(DataError, match="check sum is missing"):
        resume(problem, json.dumps(opened(document, "run")))


HOSTILE = ["[" * 100_000, '{"schema": 5, "schema": 5}', '{"schema": NaN}', '{"schema": ' + "4" * 10**6 + "}", "\udcff"]


@pytest.mark.parametrize("document", HOSTILE, ids=["deep", "a key twice", "NaN", "a million digits", "not UTF-8"])
def test_hostile_documents_are_one_line(document: str) -> None:
    with pytest.raises(DataError) as refused:
        resume(make_world("chain").problem, document)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300


def test_numbers_of_numpy_are_saved() -> None:
    problem = make_world("chain").problem
    run = algorithm("pool", problem, pulls=np.int64(60), seed=np.int64(3))  # type: ignore[arg-type]
    assert run.to_json() == algorithm("pool", problem, pulls=60, seed=3).to_json()


# ---- threads ----


@pytest.fixture
def eager_switches() -> Iterator[None]:
    """Threads take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def at_once(*tasks: Callable[[], object]) -> None:
    """All of them, each in a thread of its own, from the same moment on; an error in one is an error here."""
    gate, errors = threading.Barrier(len(tasks)), []

    def work(task: Callable[[], object]) -> None:
        try:
            gate.wait()
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def parts_of(run: Algorithm, world: Any, count: int) -> list[Batch]:
    """The rows of the phase that is out but for one, in so many parts."""
    rows = units(world.pull(run.ask(), np.random.default_rng(0)))
    return [take(rows, at) for at in np.array_split(np.arange(rows.size - 1), count)]


@pytest.mark.usefixtures("eager_switches")
def test_no_part_is_lost_among_eight_threads() -> None:
    """200 trials of 64 parts. Without the lock most trials lose some."""
    world = make_world("chain")
    run = Subject("csr-v2").start(world, 2_000)
    parts = parts_of(run, world, 64)
    rows, lost = sum(part.total for part in parts), 0
    for _ in range(200):
        run = Subject("csr-v2").start(world, 2_000)

        def tell(first: int, run: Algorithm = run) -> None:
            for i in range(first, 64, 8):
                run.tell(parts[i], id=f"part {i}")

        at_once(*(partial(tell, k) for k in range(8)))
        lost += rows - int(run.pulls_made().sum())
        assert len(json.loads(run.to_json())["told"]) == 64
    assert lost == 0


@pytest.mark.usefixtures("eager_switches")
@pytest.mark.parametrize("kind", ["chain", "real"])
def test_the_same_part_from_many_threads_counts_once(kind: str) -> None:
    world = make_world(kind)
    for _ in range(20):
        run = Subject("pool").start(world, 200)
        (part,) = parts_of(run, world, 1)
        at_once(*[partial(run.tell, part, id="one")] * 8)
        assert run.pulls_made().sum() == part.total


@pytest.mark.usefixtures("eager_switches")
def test_what_is_saved_while_others_tell_is_one_moment() -> None:
    """Every document opens, and its rows are those of the parts that it says were told."""
    world = make_world("chain")
    run = Subject("csr-v2").start(world, 2_000)
    parts, saved = parts_of(run, world, 32), []
    at_once(
        lambda: [run.tell(part, id=f"part {i}") for i, part in enumerate(parts)],
        lambda: [saved.append(run.to_json()) for _ in range(30)],
        lambda: [(run.ask(), run.verdict(), run.phase, repr(run)) for _ in range(30)],
    )
    for document in saved:
        again = resume(world.problem, document)
        told = json.loads(document)["told"]
        assert again.pulls_made().sum() == sum(part.total for i, part in enumerate(parts) if f"part {i}" in told)


@pytest.mark.usefixtures("eager_switches")
def test_phases_closed_by_many_threads_are_closed_one_by_one() -> None:
    world = make_world("chain")
    for _ in range(10):
        run, straight = Subject("csr-v1").start(world, 10_000), Subject("csr-v1").start(world, 10_000)
        at_once(*(run.close_phase for _ in range(3)))
        for _ in range(3):
            straight.close_phase()
        assert run.to_json() == straight.to_json()


# ---- copies, ids, failures ----


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda run: pickle.loads(pickle.dumps(run))])
def test_a_copy_is_a_run_of_its_own(copied: Callable[[Algorithm], Algorithm]) -> None:
    world = make_world("chain")
    run = Subject("pool").start(world)
    parts = parts_of(run, world, 2)
    run.tell(parts[0], id="one")
    before, again = run.to_json(), copied(run)
    again.tell(parts[1], id="two")
    assert run.to_json() == before
    run.tell(parts[1], id="two")
    assert finish(again, world).to_json() == finish(run, world).to_json()


@pytest.mark.parametrize("id", [1, 1.5, None, True, b"one", ("a", 1), "\ud83d\ude00", "\udcff"])
def test_only_text_is_an_id(id: Any) -> None:
    """What a saved run cannot give back as it was would count twice after it."""
    world = make_world("chain")
    run = Subject("pool").start(world)
    before = run.to_json()
    with pytest.raises(DataError, match="The id of a part") as refused:
        run.tell(parts_of(run, world, 1)[0], id=id)
    assert run.to_json() == before and "\n" not in str(refused.value)


@pytest.mark.parametrize("id", ["", "1", "é\u2028\n", "\U0001f600", np.str_("one")])
def test_any_text_is_recognised_after_a_resume(id: str) -> None:
    world = make_world("chain")
    run = Subject("pool").start(world)
    (part,) = parts_of(run, world, 1)
    run.tell(part, id=id)
    again = resume(world.problem, run.to_json())
    again.tell(part, id=id)
    assert again.pulls_made().sum() == part.total


def huge(world: Any, count: int) -> Batch:
    problem = world.problem
    counts = np.zeros((len(problem.regimes), len(problem.arms)), dtype=np.int64)
    counts[0, 0] = 1
    row = world.pull(Request(problem.arm_names, problem.regimes, counts), np.random.default_rng(0))
    return Batch(row.arm, row.regime, row.columns, np.array([count]))


@pytest.mark.parametrize("kind", ["chain", "real"])
def test_more_rows_than_can_be_summed_are_refused_before_any_is_added(kind: str) -> None:
    world = make_world(kind)
    run = Subject("uniform").start(world, 100)
    with pytest.raises(DataError, match=str(MOST_ROWS)):
        run.tell(huge(world, 2**62), id="too many")
    run.tell(huge(world, MOST_ROWS - 5), id="most")
    before = run.to_json()
    with pytest.raises(DataError, match="at most 9007199254740992 rows"):
        run.tell(huge(world, 6), id="and more")
    assert run.to_json() == before
    run.tell(huge(world, 5), id="the rest")
    assert run.pulls_made().sum() == MOST_ROWS


def test_a_saved_run_with_too_many_rows_is_refused() -> None:
    world = make_world("chain")
    run = Subject("uniform").start(world, 100)
    run.tell(huge(world, 2**52), id="many")
    tree = opened(run.to_json(), "run")
    cells = tree["evidence"]
    cells["cells"], cells["counts"] = [0, 1, 2], [2**62, 2**62, 2**62]
    with pytest.raises(DataError, match="more than 9007199254740992 rows"):
        resume(world.problem, sealed(tree))


@pytest.mark.parametrize("call", ["tell", "close_phase"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_step_that_fails_leaves_everything_as_it_was(
    call: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the rows were fine and the closing of the phase was not."""
    world = make_world("chain")
    run = Subject("csr-v2").start(world)
    rows = world.pull(run.ask(), np.random.default_rng(0))
    before = run.to_json()

    def step(*_: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(type(run.procedure), "step", step)
        with pytest.raises(error):
            run.tell(rows, id="all") if call == "tell" else run.close_phase()
    assert run.to_json() == before
    run.tell(rows, id="all")
    assert run.phase == 2


def test_a_restore_that_fails_leaves_everything_as_it_was() -> None:
    world = make_world("chain")
    run = Subject("pool").start(world)
    tree = opened(finish(Subject("pool").start(world), world).to_json(), "run")
    before = run.to_json()
    with pytest.raises(KeyError):
        run._restore({key: value for key, value in tree.items() if key != "told"})
    assert run.to_json() == before


# ---- arms made of code ----


def of_code(version: Any) -> Problem:
    """The chain with an arm that is a Python rule."""
    rule = Arm.from_callable("rule", lambda columns: np.tile([0.2, 0.3, 0.5], (len(columns["S"]), 1)), decision="V", inputs=["S"], version=version)  # fmt: skip
    other = Arm("deployed", table("V", ["S"], [[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]]))
    return Problem(**chain_parts(arms=[other, rule], costs=(), budget=None))


def saved(problem: Problem, **options: Any) -> str:
    run = algorithm("pool", problem, pulls=200, seed=1, **options)
    run.tell(NetworkWorld(problem, chain_network()).pull(run.ask(), np.random.default_rng(0)), id="x")
    return run.to_json()


def test_a_certified_run_is_not_resumed_on_code_without_a_version() -> None:
    document = saved(of_code(None), confidence=0.9)
    with pytest.raises(DataError, match=r"arm 'rule' is made of code.* Give it version="):
        resume(of_code(None), document)
    same = resume(of_code("2030-01-a"), document)  # who gives it says that it is the code of the run
    assert resume(of_code("2030-01-a"), same.to_json()).to_json() == same.to_json()
    with pytest.raises(DataError, match="another problem: arms, mechanisms, the version of code"):
        resume(of_code("2030-02-b"), same.to_json())


def test_other_runs_need_no_version_and_keep_the_one_they_have() -> None:
    for options in ({}, {"confidence": 0.9, "stop": "bayes-stop"}):
        document = saved(of_code(None), **options)
        assert resume(of_code(None), document).to_json() == document
        with pytest.raises(DataError, match="another problem"):
            resume(of_code("b"), saved(of_code("a"), **options))
        with pytest.raises(DataError, match="another problem"):
            resume(of_code(None), saved(of_code("a"), **options))


def test_a_child_made_of_code_needs_a_version_too() -> None:
    def problem(version: str | None) -> Problem:
        child = Code("X", ("S",), lambda c: np.log(np.where(c["X"] == c["S"], 0.75, 0.25)), version=version)
        return Problem(**context_parts(mechanisms=[child]))

    run = algorithm("pool", problem(None), pulls=200, seed=1, confidence=0.9)
    with pytest.raises(DataError, match="the mechanism of 'X' is made of code"):
        resume(problem(None), run.to_json())
    assert resume(problem("1"), run.to_json()).ask().total == run.ask().total


@pytest.mark.parametrize("version", ["", " ", 3, "a\u202eb", "x" * 300])
def test_a_version_is_a_name(version: Any) -> None:
    with pytest.raises(ProblemError, match="Arm 'rule': its version"):
        of_code(version)


def test_what_is_said_of_several_attributes_is_in_the_fingerprint() -> None:
    """Regimes, how pulls are forced, what is hidden and the laws of attributes change what a run does."""
    known: dict[str, Any] = {
        "name": "several",
        "variables": [Variable(name, ("0", "1")) for name in ("A", "B", "V", "Y")],
        "graph": [("A", "V"), ("B", "V"), ("H", "A"), ("H", "B"), ("V", "Y")],
        "hidden": ["H"],
        "sensitive": ["A", "B"],
        "decision": "V",
        "outcome": Outcome("Y", values=(0, 1)),
        "tolerance": 0.1,
        "arms": [Arm("one", table("V", ["A", "B"], np.full((2, 2, 2), 0.5)))],
        "joint_shares": [JointShares(("A", "B"), [[0.1, 0.2], [0.3, 0.4]])],
    }
    changes: list[dict[str, Any]] = [
        {},
        {"regime_kind": "set"},
        {"forced": ["A=1"]},
        {"forced": ["A=0"]},
        {"joint_shares": ()},
        {"joint_shares": [JointShares(("A", "B"), [[0.2, 0.1], [0.3, 0.4]])]},
        {"graph": [("A", "V"), ("B", "V"), ("V", "Y")], "hidden": (), "joint_shares": ()},
    ]
    made = [Problem(**{**known, **change}) for change in changes]
    assert len({fingerprint(problem) for problem in made}) == len(made)
    assert fingerprint(made[0]) == fingerprint(replace(made[0]))
