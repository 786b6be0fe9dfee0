"""Over what a variable is summed out: its states, or nodes of its range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.quadrature import legendre_panels
from fairarm.core.types import FloatArray
from fairarm.problem.variables import Variable


def summed_values(variable: Variable, panels: int) -> tuple[NDArray[Any], FloatArray]:
    """Values and their weights: states, of weight 1 each, or Gauss–Legendre nodes on so many panels of the range."""
    if variable.finite:
        return np.arange(variable.size), np.ones(variable.size)
    return legendre_panels(variable.low or 0.0, variable.high or 0.0, panels)
