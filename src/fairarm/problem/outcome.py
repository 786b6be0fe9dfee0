"""What is to be high: the outcome, and the numbers that its states stand for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.problem.variables import RANGE_RULE, is_range


@dataclass(frozen=True)
class Outcome:
    """The outcome node and its numbers: the value of each state, or, for a real outcome, its range."""

    node: str
    values: tuple[float, ...] | None = None
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if self.values is not None:
            if not all(isinstance(v, Real) for v in self.values) or not self.values:
                raise ProblemError(
                    f"The outcome '{self.node}' has values {self.values!r}. Give one number for each state."
                )
            values = tuple(_as_float(v) for v in self.values)
            object.__setattr__(self, "values", values)
            object.__setattr__(self, "low", min(values) if self.low is None else float(self.low))
            object.__setattr__(self, "high", max(values) if self.high is None else float(self.high))
        if self.low is None or self.high is None:
            raise ProblemError(f"The outcome '{self.node}' has neither a value for each state nor a range. Give one.")
        inside = all(self.low <= v <= self.high for v in self.values or ())
        if not (is_range(self.low, self.high) and inside):
            raise ProblemError(
                f"The outcome '{self.node}' has values {list(self.values or ())[:8]} and the range [{self.low}, {self.high}]. "
                f"{RANGE_RULE} It holds every value; give one if all states have the same value."
            )

    @cached_property
    def scaled_values(self) -> FloatArray:
        """Y' of each state, (states of Y,)."""
        return self.scale(np.array(self.values or ()))

    @property
    def width(self) -> float:
        """hi − lo: a gap of 1 on the scale of Y' is this much in the outcome's units."""
        return (self.high or 0.0) - (self.low or 0.0)

    @property
    def possible(self) -> tuple[float, float]:
        """What a mean can be on the scale of Y': estimates of a real outcome do not depend on its declared range."""
        return (0.0, 1.0) if self.values is not None else (-math.inf, math.inf)

    def scale(self, raw: FloatArray) -> FloatArray:
        """Y' = (Y − lo) / (hi − lo)."""
        return (raw - (self.low or 0.0)) / self.width

    def unscale(self, scaled: FloatArray) -> FloatArray:
        """μ = lo + (hi − lo) μ'."""
        return (self.low or 0.0) + self.width * scaled


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of 400 digits
        return math.inf
