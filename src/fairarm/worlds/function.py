"""A Python function as a world, for people's own simulators; rows with real values are allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairarm.errors import DataError
from fairarm.problem.calls import ask
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, Request, batch
from fairarm.worlds.base import Truth

Simulator = Callable[[str, str, int, np.random.Generator], Mapping[str, ArrayLike]]
"""(arm, regime, count, rng) -> the observed columns of ``count`` rows, by name; states by name, numbers as they are."""


@dataclass(frozen=True)
class FunctionWorld:
    """Pulls by calling ``simulate`` once for each line of a plan. ``known_truth`` is optional."""

    problem: Problem
    simulate: Simulator
    known_truth: Truth | None = None

    def pull(self, plan: Request, rng: np.random.Generator) -> Batch:
        """Ask the function for each unit's rows, and check them as rows from outside are checked."""
        columns: dict[str, list[Any]] = {name: [] for name in ("arm", "regime", *self.problem.observed)}
        for pulls in plan:
            rows = ask(
                self.simulate, pulls.arm, pulls.regime, pulls.count, rng,
                what=f"Arm '{pulls.arm}': the simulator", given=f"{pulls.count} pulls ({pulls.regime})", kind=DataError,
            )  # fmt: skip
            if not isinstance(rows, Mapping):
                raise DataError(f"The simulator must return columns by name; it returned {type(rows).__name__}.")
            for name in self.problem.observed:
                if name not in rows or np.shape(rows[name]) != (pulls.count,):
                    raise DataError(
                        f"The simulator was asked for {pulls.count} rows of arm '{pulls.arm}' ({pulls.regime}); its column '{name}' "
                        f"is missing or has another length."
                    )
                columns[name].append(np.asarray(rows[name]))
            columns["arm"].append(np.full(pulls.count, pulls.arm))
            columns["regime"].append(np.full(pulls.count, pulls.regime))
        if not columns["arm"]:
            raise DataError("The plan is empty: there is nothing to pull.")
        return batch(self.problem, {name: np.concatenate(parts) for name, parts in columns.items()})

    def truth(self) -> Truth | None:
        """The truth that it was made with; None where none was given."""
        return self.known_truth
