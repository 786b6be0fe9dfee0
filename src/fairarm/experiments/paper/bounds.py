"""The two theorems as curves: no simulation, only the truth of each instance and the linear programme.

The simulated error of a setting is a mean over its instances, so what bounds it is the mean of the instances' bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fairarm.algorithms.csr import Readings, csr
from fairarm.catalog import load_problem
from fairarm.errors import OptionError
from fairarm.experiments.paper.plan import PaperPoint
from fairarm.experiments.theorems import theorems
from fairarm.problem.problem import Problem
from fairarm.worlds.base import Truth

GRID = tuple(round(10 ** (half / 2)) for half in range(4, 33))
"""10^2 … 10^16, two a decade."""
LEVEL = 0.1
"""The bounds' usefulness is told by the pulls at which they leave an error of at most this."""
BEYOND = (10**17, 10**18)
"""Where to look on for that level when the curve ends above it."""
HALVINGS = 4


@dataclass(frozen=True)
class InstanceBound:
    """The largest error that a theorem allows on one instance, at each number of pulls of the curve."""

    instance: str
    theorem: int
    """1 where a fair arm exists (error of CSR-V1); 2 where none does (an arm is returned all the same)."""
    errors: tuple[float, ...]
    reaches: int | None
    """The pulls from which the bound is at most `LEVEL`, to within a tenth; None beyond `BEYOND`."""


@dataclass(frozen=True)
class BoundCurve:
    """All instances of one setting."""

    setting: str
    pulls: tuple[int, ...]
    instances: tuple[InstanceBound, ...]

    @property
    def theorem(self) -> int:
        """1 where a fair arm exists, 2 where none does."""
        return self.instances[0].theorem

    @property
    def mean(self) -> tuple[float, ...]:
        """The bound on the error averaged over the instances."""
        return tuple(float(np.mean(values)) for values in zip(*(i.errors for i in self.instances), strict=True))

    def at(self, pulls: int) -> float:
        """The mean bound at one number of pulls of the curve."""
        return self.mean[self.pulls.index(pulls)]


def bound_curves(points: Sequence[PaperPoint]) -> list[BoundCurve]:
    """A curve for every setting of the experiment `bounds`, also at the pulls that were simulated."""
    settings = dict.fromkeys(p.setting for p in points if p.experiment == "bounds")
    return [_curve(setting, points) for setting in settings]


def _curve(setting: str, points: Sequence[PaperPoint]) -> BoundCurve:
    mine = [p for p in points if p.setting == setting and p.algorithm == "csr-v1" and p.reading == "default"]
    pulls = tuple(sorted({*GRID, *(p.pulls for p in mine)}))
    names = dict.fromkeys(name for p in mine for name in p.instances)
    return BoundCurve(setting, pulls, tuple(_instance(name, pulls) for name in names))


def _instance(name: str, pulls: tuple[int, ...]) -> InstanceBound:
    scenario = load_problem(name)
    truth = scenario.world.truth() if scenario.world is not None else None
    if truth is None:
        raise OptionError(f"'{name}' has no known truth to compute a bound from.")

    def bound(T: int) -> float:
        return error_allowed(scenario.problem, truth, T)

    errors = tuple(bound(T) for T in pulls)
    return InstanceBound(name, 2 if truth.best_fair_arm is None else 1, errors, reach(bound, pulls, errors))


def error_allowed(problem: Problem, truth: Truth, pulls: int) -> float:
    """Theorem 1's bound, or 1 minus theorem 2's where no arm is fair."""
    error, none = theorems(csr(problem, pulls, False, Readings()), truth)
    return 1.0 - none if none is not None else 1.0 if error is None else error


def reach(bound: Callable[[int], float], pulls: Sequence[int], errors: Sequence[float]) -> int | None:
    """The pulls from which a falling bound is at most `LEVEL`, by halving in log T between two points of its curve."""
    beyond = [(T, bound(T)) for T in BEYOND] if errors[-1] > LEVEL else []
    curve = [*zip(pulls, errors, strict=True), *beyond]
    first = next((i for i, (_, error) in enumerate(curve) if error <= LEVEL), None)
    if first is None:
        return None
    low, high = math.log10(curve[max(first - 1, 0)][0]), math.log10(curve[first][0])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if bound(round(10**middle)) <= LEVEL else (middle, high)
    return round(10**high)
