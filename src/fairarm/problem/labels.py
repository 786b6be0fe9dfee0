"""Labels of states against labels of other things: classes of a model, answers of a rule, columns that a model sees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.problem.variables import Variable


def number_of(label: Any) -> float | None:
    """A label as a number; True and False are 1 and 0. None where it is neither."""
    if isinstance(label, str) and label.lower() in ("true", "false"):
        return float(label.lower() == "true")
    try:
        number = float(label)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def same_label(label: Any, names: Sequence[Any]) -> int | None:
    """The position of the one name that is this label: equal as text, else equal as a number."""
    texts = [i for i, name in enumerate(names) if str(name) == str(label)]
    number = number_of(label)
    close = texts or [i for i, name in enumerate(names) if number is not None and number_of(name) == number]
    return close[0] if len(close) == 1 else None


def values_of(variable: Variable, coded: bool) -> NDArray[Any]:
    """What each state is to a model: a number, a truth value, or else its label (its code where ``coded``)."""
    states = variable.states or ()
    numbers = [number_of(state) for state in states]
    if any(number is None for number in numbers):
        return np.arange(len(states)) if coded else np.array(states, dtype=object)
    if all(state.lower() in ("true", "false") for state in states):
        return np.array(numbers, dtype=np.bool_)
    found = np.array(numbers, dtype=np.float64)
    return found.astype(np.int64) if np.all(found == np.trunc(found)) and np.all(np.abs(found) < 2**53) else found


def shown_values(variable: Variable, column: NDArray[Any], coded: bool) -> NDArray[Any]:
    """A column as a model sees it."""
    return np.asarray(values_of(variable, coded)[column] if variable.finite else column.astype(np.float64, copy=False))
