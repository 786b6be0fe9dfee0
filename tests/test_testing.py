"""The contract suite as a tool: what it finds in algorithms that are wrong, and how it says so."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from fairarm import register
from fairarm.algorithms import registered
from fairarm.algorithms.uniform import Uniform
from fairarm.errors import OptionError
from fairarm.testing import check_algorithm, contract


@dataclass(frozen=True)
class Greedy(Uniform):
    """Asks for one pull more than it was given."""

    def start(self, n: int) -> Any:
        state = super().start(n)
        plan = state.plan.copy()
        plan[:, 0, 0] += 1
        return state.but(plan=plan, given=plan)


@dataclass(frozen=True)
class Random(Uniform):
    """Draws from a generator of its own."""

    def step(self, state: Any, in_phase: Any, in_stage: Any, seed: int) -> Any:
        after, info = super().step(state, in_phase, in_stage, seed)
        return after, replace(info, outcomes=np.full_like(info.outcomes, np.random.default_rng().random()))


@dataclass(frozen=True)
class MadeUp(Uniform):
    """Names an arm without a row."""

    def step(self, state: Any, in_phase: Any, in_stage: Any, seed: int) -> Any:
        after, info = super().step(state, in_phase, in_stage, seed)
        return after.but(answer=np.zeros_like(after.answer)), info


@dataclass(frozen=True)
class Deaf(Uniform):
    """Says that it takes a log, and cannot."""

    def begin(self, state: Any, log: Any, seed: int) -> Any:
        raise ValueError("no log here")


DEFECTS = {
    Greedy: "never_more_pulls_or_cost_than_given",
    Random: "resume_is_continue_bit_for_bit",
    MadeUp: "closing_phases_with_nothing_ends_in_a_defined_verdict",
    Deaf: "a_run_from_a_log_counts_its_rows_but_not_as_pulls",
}


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "_registered", {})


@pytest.mark.parametrize("kind", DEFECTS, ids=lambda kind: kind.__name__)
def test_a_defect_is_found_by_the_check_that_is_about_it(kind: Any) -> None:
    register("wrong", kind, description="wrong")
    with pytest.raises(AssertionError, match=f"wrong-{DEFECTS[kind]}-real"):
        check_algorithm("wrong", problems=["real"])


def test_a_right_one_passes_by_another_name_and_with_options() -> None:
    register("right", Uniform, description="right")
    check_algorithm("right", problems=["real"], uses_every_pull=True)
    check_algorithm("pool", problems=["real"], options={"law": "estimated"})


def test_fewer_problems_are_fewer_checks_and_unknown_ones_are_refused() -> None:
    every = [str(check) for check in contract("uniform")]
    assert len(every) == len(set(every)) > 80
    assert {check.problem for check in contract("uniform", problems=["real"])} == {"real"}
    with pytest.raises(OptionError, match="chain, context, real; got 'coin'"):
        contract("uniform", problems=["coin"])


def test_a_check_runs_without_asserts() -> None:
    """`python -O` leaves out `assert`: the suite must not need it."""
    code = "from fairarm.testing.checks import holds\ntry:\n    holds(False, 'x')\nexcept AssertionError:\n    print('found')"
    run = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "found", run.stderr
