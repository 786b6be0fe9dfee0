"""Is the problem well posed, what must be observed, which arms can inform which; and the truth where it is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fairarm.algorithms import make_procedure
from fairarm.algorithms.csr import SuccessiveRejection
from fairarm.core.limit.fewest_pulls import Limit
from fairarm.core.paper.bounds import error_bound, no_fair_arm_bound
from fairarm.core.paper.rejection import first_phase_below
from fairarm.core.types import BoolArray, FloatArray
from fairarm.errors import FairarmError
from fairarm.experiments.limit import find_limit
from fairarm.frames import Column
from fairarm.problem.mechanism import Unknown
from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem, require_problem
from fairarm.problem.pulls import Pulls, Request
from fairarm.shown import Fact, Shown
from fairarm.worlds.base import Truth, World

DEFAULT_PULLS = 10_000

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Inspection(Shown):
    """What can be said before the first pull. ``notes`` name what could not be computed, and why."""

    problem: Problem
    truth: Truth | None
    pulls: int
    M: FloatArray | None
    D: FloatArray | None
    """(2, K, K): direction 0 is (s, s'), learned from pulls forced to s'."""
    v_star: float | None
    first_plan: tuple[Pulls, ...]
    phases: int | None
    fair_from_phase: int | None
    """The first phase l with 3/2^l below the tolerance: before it no arm can be shown to be fair."""
    error_bound: float | None
    """Theorem 1: largest error of CSR-V1 at this number of pulls, where a fair arm exists and the truth is known."""
    none_bound: float | None
    """Theorem 2: smallest probability that CSR declares none, where no arm is fair and the truth is known."""
    limit: Limit | None
    """The limit for any rule that stops when sure, where asked for: pulls alone count."""
    limit_with_costs: Limit | None
    """The same at the average cost that a run of ``pulls`` may have."""
    notes: tuple[str, ...]

    def unreached(self) -> tuple[str, ...]:
        """Arms about which the deployed arm's pulls say nothing: they need pulls of their own."""
        if self.M is None or self.D is None or self.problem.deployed is None:
            return ()
        j = self.problem.arm_index(self.problem.deployed)
        lost: BoolArray = np.isinf(self.M[:, j]) | np.isinf(self.D[:, :, j]).any(axis=0)
        return tuple(name for name, gone in zip(self.problem.arm_names, lost, strict=True) if gone)

    def _facts(self) -> list[Fact]:
        best = None if self.truth is None else self.truth.best_fair_arm
        return [
            ("problem", self.problem.name), ("arms", len(self.problem.arms)), ("truth_known", self.truth is not None),
            ("best_fair_arm", None if best is None else self.problem.arm_names[best]),
            ("unreached", len(self.unreached())), ("notes", len(self.notes)),
        ]  # fmt: skip

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        if self.truth is None:
            return ("arm",), [(name,) for name in self.problem.arm_names]
        known = zip(self.problem.arm_names, self.truth.outcomes, self.truth.gaps, self.truth.fair, strict=True)
        heads = ("arm", "outcome", "gap", "fair")
        return heads, [(name, float(mean), float(gap), bool(fair)) for name, mean, gap, fair in known]

    def _columns(self) -> dict[str, Column]:
        arms = len(self.problem.arms)
        known = self.truth and (self.truth.outcomes.tolist(), self.truth.gaps.tolist(), self.truth.fair.tolist())
        outcomes, gaps, fair = known or ([None] * arms,) * 3
        return {
            "arm": (str, self.problem.arm_names), "outcome": (float, outcomes), "gap": (float, gaps), "fair": (bool, fair),
        }  # fmt: skip


def inspect(
    problem: Problem, world: World | None = None, *, pulls: int = DEFAULT_PULLS, limit: bool = False
) -> Inspection:
    """Everything the paper's algorithms would start from; parts that need what is not declared are None, with a note.

    ``limit`` also computes T*, which takes a second or so for 30 arms.
    """
    require_problem(problem)
    pair_of(problem)
    truth = world.truth() if world is not None else None
    notes = [arm.mechanism.message for arm in problem.arms if isinstance(arm.mechanism, Unknown)]
    M = _attempt(lambda: problem.compiled.tables.M, notes)
    D = _attempt(lambda: problem.compiled.tables.D, notes)
    procedure = (
        _attempt(lambda: make_procedure("csr-v2", problem, pulls), notes) if M is not None and D is not None else None
    )
    csr = procedure if isinstance(procedure, SuccessiveRejection) else None
    everyone = np.ones(len(problem.arms), dtype=np.bool_)
    error, none = _bounds(problem, truth, csr, pulls)
    return Inspection(
        problem=problem,
        truth=truth,
        pulls=pulls,
        M=M,
        D=D,
        v_star=csr.value(everyone) if csr else None,
        first_plan=tuple(Request(problem.arm_names, problem.regimes, csr.start(1).plan[0])) if csr else (),
        phases=csr.phases(0) if csr else None,
        fair_from_phase=first_phase_below(problem.compiled.scaled_tolerance),
        error_bound=error,
        none_bound=none,
        limit=_attempt(lambda: find_limit(problem, world), notes) if limit else None,
        limit_with_costs=_attempt(lambda: find_limit(problem, world, pulls=pulls), notes) if limit else None,
        notes=tuple(dict.fromkeys(notes)),
    )


def _attempt(compute: Callable[[], T], notes: list[str]) -> T | None:
    try:
        return compute()
    except FairarmError as error:
        notes.append(str(error))
        return None


def _bounds(
    problem: Problem, truth: Truth | None, csr: SuccessiveRejection | None, pulls: int
) -> tuple[float | None, float | None]:
    """Theorem 1 where a fair arm exists, theorem 2 where none does."""
    if truth is None or csr is None:
        return None, None
    outcomes = problem.outcome.scale(truth.outcomes)
    gaps, tolerance = truth.gaps / problem.outcome.width, problem.compiled.scaled_tolerance
    if truth.best_fair_arm is None:
        everyone = np.ones(len(problem.arms), dtype=np.bool_)
        return None, no_fair_arm_bound(gaps, tolerance, pulls, csr.value(everyone))
    return error_bound(outcomes, gaps, tolerance, truth.best_fair_arm, pulls, csr.value), None
