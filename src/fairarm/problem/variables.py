"""The columns of a problem: finite variables with named states, or real-valued ones with a range."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from fairarm.errors import ProblemError
from fairarm.problem.names import check_name

MAX_STATES = 10_000
LARGEST = 1e100
"""Ends of a range lie within ±LARGEST, so that squares and sums stay finite."""
NARROWEST = 1e-12
"""Smallest width of a range, as a share of its larger end: below, its values are told apart by rounding alone."""


@dataclass(frozen=True)
class Variable:
    """A node's name with its states, or, for a real-valued node, its range.

    Finite variables are coded 0 … len(states) − 1 in every array; real ones hold their value. ``ordered``: the states have
    an order, that of their numbers or else the one in which they are given. Not given, it is whether they are numbers.
    """

    name: str
    states: tuple[str, ...] | None = None
    low: float | None = None
    high: float | None = None
    ordered: bool | None = None

    def __repr__(self) -> str:
        # saved runs are known by it: an order is shown only where it was declared of states that are no numbers
        declared = ", ordered=True" if self.ordered and self._numbers is None else ""
        return f"Variable(name={self.name!r}, states={self.states!r}, low={self.low!r}, high={self.high!r}{declared})"

    def __post_init__(self) -> None:
        check_name(self.name, "The name of a node")
        if self.states is None:
            self._check_range()
            if self.ordered:
                raise ProblemError(f"Node '{self.name}' is real-valued; only a node with states is declared ordered.")
            return
        object.__setattr__(self, "states", tuple(self.states))
        if not self.states:
            raise ProblemError(f"Node '{self.name}' has no states. Give it at least one.")
        if len(self.states) > MAX_STATES:
            raise ProblemError(f"Node '{self.name}' has {len(self.states)} states; at most {MAX_STATES}. Merge some.")
        for state in self.states:
            check_name(state, f"A state of node '{self.name}'")
        if repeated := first_repeated(self.states):
            raise ProblemError(f"Node '{self.name}' has the state '{repeated}' twice. Each state needs its own name.")

        if self.ordered is None:
            object.__setattr__(self, "ordered", self._numbers is not None)

    def _check_range(self) -> None:
        if self.low is None or self.high is None:
            raise ProblemError(f"Node '{self.name}' has neither states nor a range. Declare one of the two.")
        if not is_range(self.low, self.high):
            raise ProblemError(f"Node '{self.name}' has the range [{self.low}, {self.high}]. {RANGE_RULE}")

    @property
    def finite(self) -> bool:
        """It has states; else a range."""
        return self.states is not None

    @property
    def size(self) -> int:
        """The number of states; an error for a real-valued variable."""
        if self.states is None:
            raise ProblemError(f"Node '{self.name}' is real-valued; a finite variable is needed here.")
        return len(self.states)

    @property
    def _numbers(self) -> tuple[float, ...] | None:
        """The states as numbers, if all of them are, and different ones."""
        try:
            numbers = tuple(float(state) for state in self.states or ("",))
        except ValueError:
            return None
        return numbers if len({*numbers}) == len(numbers) and all(map(math.isfinite, numbers)) else None

    @property
    def levels(self) -> tuple[int, ...] | None:
        """The place of each state in the order, 0 first; None where they have none."""
        if self.states is None or not self.ordered:
            return None
        ladder = sorted(self._numbers) if self._numbers is not None else None
        return tuple(range(len(self.states))) if ladder is None else tuple(map(ladder.index, self._numbers or ()))

    @property
    def unlike_its_states(self) -> bool:
        """Its order was declared otherwise than its states imply: ordered and no numbers, or numbers and not ordered."""
        return self.finite and self.ordered != (self._numbers is not None)

    def code(self, state: str) -> int:
        """The position of a state."""
        if self.states is None or state not in self.states:
            known = "a real-valued node" if self.states is None else ", ".join(self.states)
            raise ProblemError(f"Node '{self.name}' has no state '{state}'. It has: {known}.")
        return self.states.index(state)


RANGE_RULE = (
    f"A range is two finite numbers, low < high, between -{LARGEST:g} and {LARGEST:g}, and no narrower than {NARROWEST:g} of "
    f"its larger end."
)


def is_range(low: Any, high: Any) -> bool:
    """`RANGE_RULE`."""
    if not all(isinstance(end, Real) for end in (low, high)):
        return False
    largest = max(abs(low), abs(high))
    return bool(low < high and largest <= LARGEST and high - low >= max(NARROWEST * largest, 1 / LARGEST))


def with_order(variables: Mapping[str, Variable], ordered: Iterable[str], where: str) -> dict[str, Variable]:
    """The variables with these ordered and no others; ``where`` they were named."""
    names = [*ordered]
    for name in names:
        if name not in variables or not variables[name].finite:
            raise ProblemError(f"{where}: '{name}' is not a node with states. Name nodes that have states.")
    return {
        name: replace(variable, ordered=name in names) if variable.finite else variable
        for name, variable in variables.items()
    }


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that is there a second time."""
    seen: set[str] = set()
    return next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]


def check_parents(node: str, parents: tuple[str, ...], variables: Mapping[str, Variable]) -> None:
    """Each parent exists, once, and is not the node itself."""
    for parent in parents:
        if parent not in variables:
            raise ProblemError(f"The mechanism of '{node}' uses '{parent}', which is not a declared node.")
        if parents.count(parent) > 1 or parent == node:
            raise ProblemError(f"The mechanism of '{node}' names '{parent}' twice, or as its own parent.")
