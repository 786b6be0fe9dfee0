"""The contract of `fairarm.testing` over every algorithm of ours, and what only ours promise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from fairarm.algorithms import DESCRIPTIONS, algorithm, resume
from fairarm.errors import DataError
from fairarm.problem.pulls import Request
from fairarm.sealed import opened
from fairarm.testing import Check, contract
from fairarm.testing.checks import Subject, T, finish
from fairarm.testing.problems import PROBLEMS, make_world
from fairarm.testing.saving import changed, mid_run, paths

NAMES = list(DESCRIPTIONS)
IN_PHASES = [name for name in NAMES if name.startswith(("csr", "two-stage", "sris"))]
"""Their plans depend on the rows only through the arms that are left."""


COMPETITORS = ("mis", "top-two", "tf-lucb")


def checks() -> Iterator[Any]:
    """A promise that is made on all problems is checked on two of them, on one of a competitor; `make test-all` has all."""
    for i, name in enumerate(NAMES):
        made = contract(name, uses_every_pull=True)
        on_chain = {check.promise for check in made if check.problem == "chain"}
        left_out = ("context", "real") if name in COMPETITORS else (("context", "real")[i % 2],)
        for check in made:
            slow = check.promise in on_chain and check.problem in left_out
            yield pytest.param(check, marks=pytest.mark.slow) if slow else check


@pytest.mark.parametrize("check", list(checks()), ids=str)
def test_the_contract_holds(check: Check) -> None:
    check()


@pytest.mark.parametrize("check", contract("pool", options={"confidence": 0.9}), ids=str)
def test_the_contract_holds_of_certified_runs(check: Check) -> None:
    check()


# ---- plans ----


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("name", IN_PHASES)
def test_surplus_rows_leave_the_next_plan_as_it_is(name: str, problem: str) -> None:
    """The surplus serves the first phase only: where no arm is rejected, the second asks for its own plan in full."""
    world, subject = make_world(problem), Subject(name)
    compared = 0
    for seed in range(5):
        run, plain = subject.start(world), subject.start(world)
        plan = run.ask()
        doubled = Request(plan.arms, plan.regimes, plan.counts * 2)
        run.tell(world.pull(doubled, np.random.default_rng(seed)), id="double")
        plain.tell(world.pull(plan, np.random.default_rng(9)), id="plain")
        if not (run.finished or plain.finished) and np.array_equal(run.info.rejected, plain.info.rejected):
            np.testing.assert_array_equal(run.ask().counts, plain.ask().counts)
            assert run.ask().total > 0
            compared += 1
    assert compared


READINGS = {"phases": "product", "clip_base": "e", "programme": "reciprocal", "outcome_pulls": "all", "final_arm": "random"}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "pool": {"confidence": 0.75, "stop": "bayes-stop", "law": "estimated"},
    **dict.fromkeys(IN_PHASES, READINGS),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_resume_keeps_the_options(name: str) -> None:
    world, options = make_world("chain"), OPTIONS[name]
    run = algorithm(name, world.problem, pulls=T, seed=5, **options)
    again = resume(world.problem, run.to_json())
    assert again.procedure.options() == options
    assert finish(again, world).to_json() == finish(run, world).to_json()


# ---- damage ----


WRONG = ["x", {"x": 1}, [["x"]], -7, 10**30]


def of_the_same_type(old: Any, wrong: Any) -> bool:
    """Text for text, number for number; null stands for an undefined number; no whole number of the format is 31 digits."""
    if wrong == 10**30:
        return not isinstance(old, int) or isinstance(old, bool)
    if isinstance(wrong, int):
        return old is None or isinstance(old, int | float)
    return isinstance(old, str) and isinstance(wrong, str)


@pytest.mark.parametrize("wrong", WRONG, ids=[json.dumps(w) for w in WRONG])
@pytest.mark.parametrize(("name", "problem"), [("csr-v2", "chain"), ("csr-v2", "real"), ("uniform", "chain")])
def test_wrong_types_are_data_errors(name: str, problem: str, wrong: Any) -> None:
    """Replaced one at a time, everywhere in the document."""
    world = make_world(problem)
    made, document = world.problem, mid_run(Subject(name), world)
    missed = []
    for path in paths(opened(document, "run")):
        damaged, old = changed(document, path, wrong)
        if of_the_same_type(old, wrong) or (path[0] in ("seed", "pulls") and wrong == 10**30):
            continue
        try:
            resume(made, damaged)
        except DataError:
            continue
        except Exception as error:
            missed.append(f"{'.'.join(map(str, path))}: {type(error).__name__}: {error}")
        else:
            missed.append(f"{'.'.join(map(str, path))}: accepted")
    assert not missed, "\n".join(missed)


@pytest.mark.parametrize(
    "document", ["null", "3", '"x"', "[]", "{}", "nonsense", "NaN", '{"schema": 1}', '{"schema": 99}']
)
def test_documents_that_are_something_else(document: str) -> None:
    with pytest.raises(DataError):
        resume(make_world("chain").problem, document)


@pytest.mark.parametrize(("key", "value"), [("algorithm", "csr-v9"), ("options", {"phases": "log3"}), ("pulls", 0)])
def test_known_keys_with_unknown_values(key: str, value: Any) -> None:
    """A document of another make is damaged data, whatever the message."""
    world = make_world("chain")
    made, document = world.problem, mid_run(Subject("csr-v1"), world)
    with pytest.raises(DataError):
        resume(made, changed(document, (key,), value)[0])
