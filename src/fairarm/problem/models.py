"""Arms from real models: fitted classifiers and Python rules as P(V | inputs), densities as code.

Made by `Arm.from_classifier`, `Arm.from_callable` and `Arm.from_density`. Nothing is imported of scikit-learn: a model is
whatever has ``predict_proba`` and ``classes_``. It is asked once for each distinct combination of its inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import ProblemError
from fairarm.problem.mechanism import Code, Columns, Rule, checked_rows
from fairarm.problem.variables import Variable, check_parents

Answer = Callable[[Columns, int], FloatArray]
"""The inputs' columns and their length to P(· | inputs), (I, states)."""


@dataclass(frozen=True)
class Model:
    """P(node | parents) of a finite node by something that answers for all states at once.

    With probability ``explore`` the decision is drawn evenly from all states instead. Lives in Python only, as code does.
    """

    arm: str
    node: str
    parents: tuple[str, ...]
    answer: Answer
    explore: float = 0.0
    made_for: tuple[Variable, ...] = ()
    """The variables that it was made for, as far as it knows them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parents", tuple(self.parents))
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
        decided = np.asarray(columns[self.node])
        found, at = self._answers(columns, len(decided))
        if len(decided) and decided.max() >= found.shape[1]:
            raise self._wrong_size(found.shape[1], int(decided.max()) + 1)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(found)[at, decided])

    def distribution(self, columns: Columns, states: int, length: int) -> FloatArray:
        found, at = self._answers(columns, length)
        if length and found.shape[1] != states:
            raise self._wrong_size(found.shape[1], states)
        return found[at] if length else np.zeros((0, states))

    def _answers(self, columns: Columns, length: int) -> tuple[FloatArray, IntArray]:
        """The answers for distinct inputs, and which of them each row has. No row: no question."""
        if not length:
            return np.zeros((0, 0)), np.zeros(0, dtype=np.int64)
        given = {name: np.asarray(columns[name]) for name in self.parents}
        first, at = _distinct(list(given.values()), length)
        found = self.answer({name: values[first] for name, values in given.items()}, len(first))
        return (1.0 - self.explore) * found + self.explore / found.shape[1], at

    def _wrong_size(self, found: int, states: int) -> ProblemError:
        return ProblemError(f"Arm '{self.arm}' gives probabilities of {found} states; '{self.node}' has {states}.")


def _lowest(variable: Variable) -> NDArray[Any]:
    return np.zeros(1, dtype=np.int64) if variable.finite else np.array([variable.low])


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


# ---- labels ----


def _number(label: Any) -> float | None:
    """A label as a number; True and False are 1 and 0. None where it is neither."""
    if isinstance(label, str) and label.lower() in ("true", "false"):
        return float(label.lower() == "true")
    try:
        number = float(label)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _same_label(label: Any, names: Sequence[Any]) -> int | None:
    """The position of the one name that is this label: equal as text, else equal as a number."""
    texts = [i for i, name in enumerate(names) if str(name) == str(label)]
    number = _number(label)
    close = texts or [i for i, name in enumerate(names) if number is not None and _number(name) == number]
    return close[0] if len(close) == 1 else None


def _values(variable: Variable, coded: bool) -> NDArray[Any]:
    """What each state is to a model: a number, a truth value, or else its label (its code where ``coded``)."""
    states = variable.states or ()
    numbers = [_number(state) for state in states]
    if any(number is None for number in numbers):
        return np.arange(len(states)) if coded else np.array(states, dtype=object)
    if all(state.lower() in ("true", "false") for state in states):
        return np.array(numbers, dtype=np.bool_)
    found = np.array(numbers, dtype=np.float64)
    return found.astype(np.int64) if np.all(found == np.trunc(found)) and np.all(np.abs(found) < 2**53) else found


def _shown(variable: Variable, column: NDArray[Any], coded: bool) -> NDArray[Any]:
    """A column as a model sees it."""
    return np.asarray(_values(variable, coded)[column] if variable.finite else column.astype(np.float64))


# ---- classifiers ----


def classifier_model(
    arm: str,
    model: Any,
    decision: str,
    inputs: Iterable[str],
    variables: Mapping[str, Variable] | Iterable[Variable],
    decide: str,
    explore: float,
    classes: Mapping[Any, str] | None,
) -> Model:
    """The mechanism of `Arm.from_classifier`."""
    inputs = tuple(inputs)
    known = {v.name: v for v in (variables.values() if isinstance(variables, Mapping) else variables)}
    if missing := [name for name in (decision, *inputs) if name not in known]:
        raise ProblemError(f"Arm '{arm}' uses '{missing[0]}', which is not among its variables: {', '.join(known)}.")
    if decide not in ("sample", "argmax"):
        raise ProblemError(f"Arm '{arm}': decide is {decide!r}. It is 'sample' or 'argmax'.")
    if lacking := [name for name in ("predict_proba", "classes_") if not hasattr(model, name)]:
        raise ProblemError(
            f"Arm '{arm}': its model, a {type(model).__name__}, has no {lacking[0]}. Give a fitted classifier that predicts "
            f"probabilities, or write the rule as a function (Arm.from_callable)."
        )
    states = known[decision].size
    answer = _Classifier(
        arm=arm,
        model=model,
        inputs=tuple(known[name] for name in inputs),
        features=_features(arm, model, inputs),
        state_of=_states_of_classes(arm, model, known[decision], classes),
        states=states,
        argmax=decide == "argmax",
    )
    return Model(arm, decision, inputs, answer, explore, tuple(known[name] for name in (*inputs, decision)))


def _features(arm: str, model: Any, inputs: tuple[str, ...]) -> tuple[str, ...] | None:
    """The columns of the data frame that the model was fitted on, in its order; None if it was fitted on an array."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        features = tuple(str(name) for name in names)
        if sorted(features) != sorted(inputs):
            raise ProblemError(
                f"Arm '{arm}': its model was fitted on the columns {list(features)}, but the inputs are {list(inputs)}. "
                f"They must be the same names: rename the nodes, or fit the model on these columns."
            )
        return features
    width = getattr(model, "n_features_in_", len(inputs))
    if width != len(inputs):
        raise ProblemError(
            f"Arm '{arm}': its model was fitted on {width} columns, but there are {len(inputs)} inputs {list(inputs)}. "
            f"Name one input a column, in the model's order."
        )
    return None


def _states_of_classes(arm: str, model: Any, decision: Variable, classes: Mapping[Any, str] | None) -> tuple[int, ...]:
    """The code of the state that each class is."""
    found = np.asarray(model.classes_)
    if found.ndim != 1:
        raise ProblemError(f"Arm '{arm}': its model predicts several outputs at once. Give one with a single output.")
    if classes is not None:
        return _declared_states(arm, found.tolist(), decision, classes)
    states = decision.states or ()
    at = [_same_label(label, states) for label in found.tolist()]
    if None in at or len(set(at)) < len(at):
        raise ProblemError(
            f"Arm '{arm}': the classes of its model are {found.tolist()}, the states of '{decision.name}' {list(states)}. "
            f"Each class must be one state: name the states so, or say classes={{class: state, ...}}."
        )
    return tuple(code for code in at if code is not None)


def _declared_states(arm: str, found: list[Any], decision: Variable, classes: Mapping[Any, str]) -> tuple[int, ...]:
    keys = list(classes)
    at = [_same_label(label, keys) for label in found]
    if None in at or len(set(at)) != len(keys):
        raise ProblemError(
            f"Arm '{arm}': classes names {keys}; the classes of its model are {found}. Name each of them once."
        )
    return tuple(decision.code(classes[keys[i]]) for i in at if i is not None)


@dataclass(frozen=True)
class _Classifier:
    """An `Answer` by ``predict_proba``."""

    arm: str
    model: Any
    inputs: tuple[Variable, ...]
    features: tuple[str, ...] | None
    state_of: tuple[int, ...]
    states: int
    argmax: bool

    def __call__(self, columns: Columns, length: int) -> FloatArray:
        given = self._array(columns, length) if self.features is None else self._frame(columns, self.features)
        try:
            found = np.asarray(self.model.predict_proba(given), dtype=np.float64)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise ProblemError(
                f"Arm '{self.arm}': its model cannot predict from {self._described()}: {error}"
            ) from error
        if found.shape != (length, len(self.state_of)):
            raise ProblemError(
                f"Arm '{self.arm}': predict_proba gives shape {found.shape}; {length} rows of {len(self.state_of)} classes are needed."
            )
        found, _ = checked_rows(found, f"Arm '{self.arm}', predict_proba of its model")
        if self.argmax:
            found = np.eye(found.shape[1])[found.argmax(axis=1)]
        out = np.zeros((length, self.states))
        for i, code in enumerate(self.state_of):
            out[:, code] += found[:, i]
        return out

    def _frame(self, columns: Columns, features: tuple[str, ...]) -> Any:
        try:
            frame = import_module("pandas").DataFrame
        except ImportError:
            raise ProblemError(
                f"Arm '{self.arm}': its model was fitted on a data frame; install pandas to ask it."
            ) from None
        known = {variable.name: variable for variable in self.inputs}
        return frame({name: _shown(known[name], columns[name], coded=False) for name in features})

    def _array(self, columns: Columns, length: int) -> FloatArray:
        parts = [_shown(v, columns[v.name], coded=True).astype(np.float64) for v in self.inputs]
        return np.stack(parts, axis=1) if parts else np.zeros((length, 0))

    def _described(self) -> str:
        coded = self.features is None
        kinds = (f"{v.name} ({_values(v, coded).dtype if v.finite else 'float64'})" for v in self.inputs)
        return f"{'an array' if coded else 'a data frame'} of {', '.join(kinds)}"


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
    """An `Answer` by a Python function of the inputs."""

    arm: str
    function: Rule
    states: tuple[str, ...]

    def __call__(self, columns: Columns, length: int) -> FloatArray:
        found = np.asarray(self.function(columns))
        if not columns:  # a function of nothing may leave out the rows
            found = np.atleast_1d(found)
            found = found[None] if found.ndim == 1 and len(found) > 1 else found
        if found.ndim == 2 and found.shape == (length, len(self.states) or found.shape[1]):
            return checked_rows(found.astype(np.float64), f"Arm '{self.arm}', the result of its function")[0]
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
        distinct, at = np.unique(decided, return_inverse=True)
        codes = [self._code(label, decided.dtype.kind) for label in distinct.tolist()]
        return np.array(codes, dtype=np.int64)[at]

    def _code(self, label: Any, kind: str) -> int:
        """Text and fractions are labels. Whole numbers are labels or codes, and must not be both."""
        named = _same_label(label, self.states)
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
