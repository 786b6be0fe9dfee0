"""Is the problem well posed, what must be observed, which arms can inform which; and the truth where it is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from fairarm.algorithms import make_procedure
from fairarm.algorithms.csr import SuccessiveRejection
from fairarm.core.limit.fewest_pulls import Limit
from fairarm.core.paper.rejection import first_phase_below
from fairarm.core.types import BoolArray, FloatArray
from fairarm.errors import FairarmError
from fairarm.experiments.limit import find_limit
from fairarm.experiments.pairs import PairGap, pair_readings, world_pairs
from fairarm.experiments.theorems import ONE_GAP, theorems
from fairarm.frames import Column
from fairarm.problem.fairness import row_columns, unscaled_rows
from fairarm.problem.mechanism import Unknown
from fairarm.problem.problem import Problem, require_problem
from fairarm.problem.pulls import Pulls, Request
from fairarm.problem.worlds import World as Counterfactual
from fairarm.shown import Fact, ShownWithRows
from fairarm.worlds.base import Truth, World
from fairarm.worlds.network import as_network

DEFAULT_PULLS = 10_000

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Inspection(ShownWithRows):
    """What can be said before the first pull. ``notes`` name what could not be computed, and why."""

    problem: Problem
    truth: Truth | None
    pulls: int
    M: FloatArray | None
    D: FloatArray | None
    """(P, K, K), by compared pair (t, u), learned from pulls forced to u: of two groups (s, s') first."""
    v_star: float | None
    first_plan: tuple[Pulls, ...]
    phases: int | None
    fair_from_phase: int | None
    """The first phase l with 3/2^l below the tolerance (of several the smallest): before it no arm can be shown to be fair. None
    where the paper's algorithms do not test what is asked."""
    error_bound: float | None
    """Theorem 1: largest error of CSR-V1 at this number of pulls, where a fair arm exists and the truth is known."""
    none_bound: float | None
    """Theorem 2: smallest probability that CSR declares none, where no arm is fair and the truth is known."""
    limit: Limit | None
    """The limit for any rule that stops when sure, where asked for: pulls alone count."""
    limit_with_costs: Limit | None
    """The same at the average cost that a run of ``pulls`` may have."""
    notes: tuple[str, ...]
    means: Mapping[Counterfactual, FloatArray] = field(default_factory=dict, compare=False)
    """The true mean of every arm, (K,), in the worlds that are asked about, and in those that the gap of two groups is made of; empty
    where the truth is not known."""

    def gaps(self) -> list[float | None]:
        """The true gap of every arm, where the gap between two groups is all that is asked about, else None for each."""
        if self.truth is None or not self.problem.has_one_gap:
            return [None] * len(self.problem.arms)
        return [float(gap) for gap in self.truth.gaps]

    def rows_of(self, arm: int) -> list[tuple[float, bool]]:
        """The true value of every row of the problem, in the outcome's own units, and whether it holds; [] where the truth is not
        known."""
        if self.truth is None:
            return []
        asked, values = unscaled_rows(self.problem), self.truth.rows[arm]
        return [(float(value), bool(holds)) for value, holds in zip(values, asked.hold(values), strict=True)]

    def closest(self, arm: int) -> str | None:
        """The name of the row that comes nearest to an end, or is furthest beyond it; None where the truth is not known."""
        if self.truth is None:
            return None
        beyond = unscaled_rows(self.problem).beyond(self.truth.rows[arm])
        return self.problem.rows[int(np.argmax(beyond))].name

    def pairs(self, arm: int) -> dict[str, PairGap]:
        """The true difference of every pair of groups that is compared, keyed "t|u"; {} where the truth is not known."""
        if self.truth is None:
            return {}
        return {name: pair.gaps(self.means)[arm] for name, pair in world_pairs(self.problem).items()}

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
        known = zip(self.problem.arm_names, self.truth.outcomes, self.gaps(), self.truth.fair, strict=True)
        heads = ("arm", "outcome", "gap", "fair")
        return heads, [(name, float(mean), gap, bool(fair)) for name, mean, gap, fair in known]

    def _columns(self) -> dict[str, Column]:
        unknown = [None] * len(self.problem.arms)
        outcomes, fair = (self.truth.outcomes.tolist(), self.truth.fair.tolist()) if self.truth else (unknown, unknown)
        closest = [self.closest(k) for k in range(len(self.problem.arms))]
        return {
            "arm": (str, self.problem.arm_names), "outcome": (float, outcomes), "gap": (float, self.gaps()),
            **({} if self.problem.has_one_gap else {"closest": (str, closest)}), "fair": (bool, fair),
        }  # fmt: skip

    def _fairness_columns(self) -> dict[str, Column]:
        known = [pair for k in range(len(self.problem.arms)) for pair in self.rows_of(k)]
        unknown = [None] * (len(self.problem.arms) * len(self.problem.rows))
        return {
            **row_columns(self.problem, self.problem.arm_names),
            "value": (float, [value for value, _ in known] or unknown),
            "holds": (bool, [holds for _, holds in known] or unknown),
        }


def inspect(
    problem: Problem, world: World | None = None, *, pulls: int = DEFAULT_PULLS, limit: bool = False
) -> Inspection:
    """Everything the paper's algorithms would start from; parts that need what is not declared are None, with a note.

    ``limit`` also computes T*, which takes a second or so for 30 arms.
    """
    require_problem(problem)
    truth = world.truth() if world is not None else None
    notes = [arm.mechanism.message for arm in problem.arms if isinstance(arm.mechanism, Unknown)]
    notes += [_left_out(*part) for part in problem.left_out]
    M, D = _tables(problem, notes)
    procedure = (
        _attempt(lambda: make_procedure("csr-v2", problem, pulls), notes) if M is not None and D is not None else None
    )
    csr = procedure if isinstance(procedure, SuccessiveRejection) else None
    ends = _attempt(lambda: problem.compiled.gap_ends, notes) if problem.plain else None
    everyone = np.ones(len(problem.arms), dtype=np.bool_)
    error, none = theorems(csr, truth) if csr is not None and truth is not None else (None, None)
    if truth is not None and truth.best_fair_arm is not None and csr is not None and error is None:
        notes.append(
            f"Theorem 1 bounds the error where an arm's fairness rests on {ONE_GAP} estimates, both directions of one gap; here it "
            f"rests on {len(problem.compared)}."
        )
    return Inspection(
        problem=problem,
        truth=truth,
        pulls=pulls,
        M=M,
        D=D,
        v_star=csr.value(everyone) if csr else None,
        first_plan=tuple(Request(problem.arm_names, problem.regimes, csr.start(1).plan[0])) if csr else (),
        phases=csr.phases(0) if csr else None,
        fair_from_phase=first_phase_below(ends.narrowest) if ends else None,
        error_bound=error,
        none_bound=none,
        limit=_attempt(lambda: find_limit(problem, world), notes) if limit else None,
        limit_with_costs=_attempt(lambda: find_limit(problem, world, pulls=pulls), notes) if limit else None,
        notes=tuple(dict.fromkeys(notes)),
        means=_means(problem, world, truth),
    )


def _tables(problem: Problem, notes: list[str]) -> tuple[FloatArray | None, FloatArray | None]:
    """M and D, where the paper defines them."""
    if not problem.plain:
        notes.append(NOT_PLAIN)
        return None, None
    tables = problem.compiled
    return _attempt(lambda: tables.tables.M, notes), _attempt(lambda: tables.tables.D, notes)


NOT_PLAIN = (
    "M, D and the paper's algorithms compare the groups of one attribute without causes, with nothing kept. This problem asks for more: "
    "use pool."
)


def _left_out(constraint: str, group: str, share: float) -> str:
    return f"Constraint '{constraint}' leaves out {group}: its share {share:.3g} is below min_share."


def _means(problem: Problem, world: World | None, truth: Truth | None) -> dict[Counterfactual, FloatArray]:
    """By world: those that are asked about, and where a network tells them, those that gaps are made of."""
    if truth is None:
        return {}
    known = dict(zip(problem.worlds, truth.group_outcomes.T, strict=True))
    network, pairs = as_network(world), world_pairs(problem).values()
    if network is None or all(each in known for pair in pairs for each in pair.worlds):
        return known
    readings = pair_readings(network.exact.problem, pairs)
    if more := tuple(reading for each, reading in readings.items() if each not in known):
        known |= dict(zip((reading.world for reading in more), network.exact.means(more)[1].T, strict=True))
    return known


def _attempt(compute: Callable[[], T], notes: list[str]) -> T | None:
    try:
        return compute()
    except FairarmError as error:
        notes.append(str(error))
        return None
