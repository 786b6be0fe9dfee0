"""The columns of a problem: finite variables with named states, or real-valued ones with a range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from fairarm.errors import ProblemError


@dataclass(frozen=True)
class Variable:
    """A node's name with its states, or, for a real-valued node, its range.

    Finite variables are coded 0 … len(states) − 1 in every array; real ones hold their value.
    """

    name: str
    states: tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if self.states is None:
            self._check_range()
            return
        object.__setattr__(self, "states", tuple(self.states))
        if not self.states:
            raise ProblemError(f"Node '{self.name}' has no states. Give it at least one.")
        if len(set(self.states)) < len(self.states):
            repeated = {s for s in self.states if self.states.count(s) > 1}
            raise ProblemError(
                f"Node '{self.name}' has the state '{min(repeated)}' twice. Each state needs its own name."
            )

    def _check_range(self) -> None:
        if self.low is None or self.high is None:
            raise ProblemError(f"Node '{self.name}' has neither states nor a range. Declare one of the two.")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ProblemError(
                f"Node '{self.name}' has the range [{self.low}, {self.high}]. A range is two finite numbers, low < high."
            )

    @property
    def finite(self) -> bool:
        return self.states is not None

    @property
    def size(self) -> int:
        """The number of states; an error for a real-valued variable."""
        if self.states is None:
            raise ProblemError(f"Node '{self.name}' is real-valued; a finite variable is needed here.")
        return len(self.states)

    def code(self, state: str) -> int:
        """The position of a state."""
        if self.states is None or state not in self.states:
            known = "a real-valued node" if self.states is None else ", ".join(self.states)
            raise ProblemError(f"Node '{self.name}' has no state '{state}'. It has: {known}.")
        return self.states.index(state)


def check_parents(node: str, parents: tuple[str, ...], variables: Mapping[str, Variable]) -> None:
    """Each parent exists, once, and is not the node itself."""
    for parent in parents:
        if parent not in variables:
            raise ProblemError(f"The mechanism of '{node}' uses '{parent}', which is not a declared node.")
        if parents.count(parent) > 1 or parent == node:
            raise ProblemError(f"The mechanism of '{node}' names '{parent}' twice, or as its own parent.")
