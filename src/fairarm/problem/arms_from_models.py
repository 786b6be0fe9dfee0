"""Arms that are asked for their probabilities: models (`classifiers.py`) and Python rules; densities as code.

Made by `Arm.from_callable` and `Arm.from_density`. A rule is asked once for each distinct combination of its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import ProblemError
from fairarm.problem.calls import ask, numbers, rows_of
from fairarm.problem.labels import same_label
from fairarm.problem.mechanism import Code, Columns, Rule, SharedColumns, checked_rows
from fairarm.problem.names import check_version
from fairarm.problem.variables import Variable, check_parents

Decides = Callable[[Columns, int], FloatArray]
"""The inputs' columns and their length to P(· | inputs), (I, states)."""


@dataclass(frozen=True)
class Model:
    """P(node | parents) of a finite node by something that answers for all states at once.

    With probability ``explore`` the decision is drawn evenly from all states instead. Lives in Python only, as code does.
    """

    arm: str
    node: str
    parents: tuple[str, ...]
    answer: Decides
    explore: float = 0.0
    made_for: tuple[Variable, ...] = ()
    """The variables that it was made for, as far as it knows them."""
    version: str | None = None
    """As in `Code`."""
    counts: int | None = None
    """The rows of a log that it was fitted from (`propensity.py`); None where it is declared."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(self.parents))
        check_version(self.version, f"Arm '{self.arm}'")
        if isinstance(self.explore, bool) or not 0 <= self.explore <= 1:
            raise ProblemError(f"Arm '{self.arm}': explore is {self.explore!r}. It is a probability, from 0 to 1.")

    def check(self, variables: Mapping[str, Variable]) -> None:
        """The inputs exist, and the variables are those that the model was made for."""
        check_parents(self.node, self.parents, variables)
        for known in self.made_for:
            if known.states != variables[known.name].states:
                raise ProblemError(
                    f"the model was made for '{known.name}' with states {known.states}; the problem declares "
                    f"{variables[known.name].states}. Make the arm with the problem's variables."
                )
        if all(known.name != self.node for known in self.made_for):
            lowest = {name: _lowest(variables[name]) for name in self.parents}
            self.distribution(lowest, variables[self.node].size, 1)  # one answer shows how many states it has

    def log_prob(self, columns: Columns) -> FloatArray:
        """log of the model's probability of each row's decision; equal inputs are asked about once."""
        decided = np.asarray(columns[self.node])
        found, at = self._answers(columns, len(decided))
        if len(decided) and decided.max() >= found.shape[1]:
            raise self._wrong_size(found.shape[1], int(decided.max()) + 1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(found)[np.arange(len(decided)) if at is None else at, decided])

    def distribution(self, columns: Columns, states: int, length: int) -> FloatArray:
        """The model's probabilities of all states, (I, states)."""
        found, at = self._answers(columns, length)
        if length and found.shape[1] != states:
            raise self._wrong_size(found.shape[1], states)
        return (found if at is None else found[at]) if length else np.zeros((0, states))

    def _answers(self, columns: Columns, length: int) -> tuple[FloatArray, IntArray | None]:
        """The answers for distinct inputs, and which of them each row has: None where each has its own. No row: no question."""
        if not length:
            return np.zeros((0, 0)), np.zeros(0, dtype=np.int64)
        at: IntArray | None = None
        if isinstance(columns, SharedColumns):
            given: Columns = columns.among(self.parents)
            differ = columns.make(("differ", self.parents), lambda: _all_differ(list(given.values())))
        else:
            given = {name: np.asarray(columns[name]) for name in self.parents}
            differ = _all_differ(list(given.values()))
        if differ:
            found = self.answer(given, length)
        else:
            first, at = _distinct(list(given.values()), length)
            found = self.answer({name: values[first] for name, values in given.items()}, len(first))
        return (1.0 - self.explore) * found + self.explore / found.shape[1] if self.explore else found, at

    def _wrong_size(self, found: int, states: int) -> ProblemError:
        return ProblemError(f"Arm '{self.arm}' gives probabilities of {found} states; '{self.node}' has {states}.")


def _lowest(variable: Variable) -> NDArray[Any]:
    return np.zeros(1, dtype=np.int64) if variable.finite else np.array([variable.low])


def _all_differ(columns: Sequence[NDArray[Any]]) -> bool:
    """Whether neighbours differ in some real column, seen at one look: then no row stands for another."""
    return any(values.dtype.kind == "f" and not np.any(values[1:] == values[:-1]) for values in columns)


def _distinct(columns: Sequence[NDArray[Any]], length: int) -> tuple[IntArray, IntArray]:
    """Rows that stand for all others, and for each row the one that stands for it.

    Codes are told apart exactly; of real values only runs of equal rows are merged, which needs no sorting.
    """
    sizes = [int(values.max()) + 1 if values.dtype.kind in "iu" else 0 for values in columns]
    if 0 < math.prod(sizes) < 1 << 62:
        number = np.zeros(length, dtype=np.int64)
        for values, size in zip(columns, sizes, strict=True):
            number = number * size + values
        _, first, at = np.unique(number, return_index=True, return_inverse=True)
        return first, at
    new = np.ones(length, dtype=np.bool_)
    new[1:] = np.any([values[1:] != values[:-1] for values in columns], axis=0)
    return np.flatnonzero(new), np.cumsum(new) - 1


# ---- rules and densities ----


def callable_model(
    arm: str, function: Rule, decision: str, inputs: Iterable[str], explore: float, states: Sequence[str] | None
) -> Model:
    """The mechanism of `Arm.from_callable`."""
    if not callable(function):
        raise ProblemError(f"Arm '{arm}': {type(function).__name__} is not a function of columns.")
    known = () if states is None else (Variable(decision, tuple(states)),)
    return Model(arm, decision, tuple(inputs), _Rule(arm, function, tuple(states or ())), explore, known)


@dataclass(frozen=True)
class _Rule:
    """An `Decides` by a Python function of the inputs."""

    arm: str
    function: Rule
    states: tuple[str, ...]

    def __call__(self, columns: Columns, length: int) -> FloatArray:
        what = f"Arm '{self.arm}': its function"
        answer = ask(self.function, columns, what=what, given=rows_of(columns, length))
        try:
            found = np.asarray(answer)
        except ValueError as error:
            raise ProblemError(f"{what} returns rows of different lengths, not an array: {error}") from error
        if not columns:  # a function of nothing may leave out the rows
            found = np.atleast_1d(found)
            found = found[None] if found.ndim == 1 and len(found) > 1 else found
        if found.ndim == 2 and found.shape == (length, len(self.states) or found.shape[1]):
            return checked_rows(numbers(found, what), f"Arm '{self.arm}', the result of its function")[0]
        if found.shape != (length,):
            raise ProblemError(
                f"Arm '{self.arm}': its function returns shape {found.shape} for {length} rows. It returns probabilities, "
                f"({length}, {len(self.states) or 'states'}), or what it decides, ({length},)."
            )
        if not self.states:
            raise ProblemError(
                f"Arm '{self.arm}': its function decides; say states=[...], those of the decision in order."
            )
        return np.eye(len(self.states))[self._codes(found)]

    def _codes(self, decided: NDArray[Any]) -> IntArray:
        labels = decided.tolist()
        try:
            codes = {label: self._code(label, decided.dtype.kind) for label in dict.fromkeys(labels)}
        except TypeError as error:  # a label that cannot be a key, such as a list
            raise ProblemError(
                f"Arm '{self.arm}': its function decides something that is no label: {error}."
            ) from error
        return np.array([codes[label] for label in labels], dtype=np.int64)

    def _code(self, label: Any, kind: str) -> int:
        """Text and fractions are labels. Whole numbers are labels or codes, and must not be both."""
        named = same_label(label, self.states)
        code = int(label) if kind in "iub" and 0 <= label < len(self.states) else None
        if kind in "iu" and named != code and named is not None and code is not None:
            raise ProblemError(
                f"Arm '{self.arm}': its function decides {label}, which is the label of state {named} and the code of state {code} "
                f"('{self.states[code]}'). Return labels as text."
            )
        found = code if named is None else named
        if found is None:
            raise ProblemError(
                f"Arm '{self.arm}': its function decides {label!r}, which is none of the states {list(self.states)}."
            )
        return found


def density_code(density: Any, decision: str, inputs: Iterable[str]) -> Code:
    """The mechanism of `Arm.from_density`."""
    if not hasattr(density, "logpdf") and not callable(density):
        raise ProblemError(
            f"A density of '{decision}' is a distribution with logpdf, or a function of columns; got {type(density).__name__}."
        )
    return Code(decision, tuple(inputs), _LogDensity(density, decision))


@dataclass(frozen=True)
class _LogDensity:
    """The function of a `Code`: a distribution, or a function that gives one or the log-density itself."""

    density: Any
    decision: str

    def __call__(self, columns: Columns) -> Any:
        found = self.density if hasattr(self.density, "logpdf") else self.density(columns)
        return found.logpdf(columns[self.decision]) if hasattr(found, "logpdf") else found
