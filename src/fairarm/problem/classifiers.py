"""Arms from fitted models: a classifier of the decision, or a model of the outcome whose score is cut into decisions.

Made by `Arm.from_classifier`. Nothing is imported of scikit-learn: a model is whatever has ``predict_proba`` and
``classes_``, or a score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.errors import ProblemError
from fairarm.problem.arms_from_models import Model
from fairarm.problem.calls import ask, numbers
from fairarm.problem.labels import same_label, shown_values, values_of
from fairarm.problem.mechanism import Columns, SharedColumns, checked_rows
from fairarm.problem.variables import Variable


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
    """The mechanism of `Arm.from_classifier` where the model is one of the decision."""
    if decide not in ("sample", "argmax"):
        raise ProblemError(f"Arm '{arm}': decide is {decide!r}. It is 'sample' or 'argmax'.")
    if lacking := [name for name in ("predict_proba", "classes_") if not hasattr(model, name)]:
        raise ProblemError(
            f"Arm '{arm}': its model, a {type(model).__name__}, has no {lacking[0]}. Give a fitted classifier that predicts "
            f"probabilities, say threshold=... to cut the score of a model, or write the rule as a function (Arm.from_callable)."
        )
    asked, known = _asked(arm, model, decision, inputs, variables)
    state_of = _states_of_classes(arm, model, known, classes)
    answer = _Classifier(asked, state_of, known.size, argmax=decide == "argmax")
    return Model(arm, decision, asked.names, answer, explore, (*asked.inputs, known))


def _asked(
    arm: str, model: Any, decision: str, inputs: Iterable[str], variables: Mapping[str, Variable] | Iterable[Variable]
) -> tuple[_Asked, Variable]:
    """The model with what it is given, and the decision."""
    names = tuple(inputs)
    known = {v.name: v for v in (variables.values() if isinstance(variables, Mapping) else variables)}
    if missing := [name for name in (decision, *names) if name not in known]:
        raise ProblemError(f"Arm '{arm}' uses '{missing[0]}', which is not among its variables: {', '.join(known)}.")
    if not known[decision].finite:
        raise ProblemError(
            f"Arm '{arm}': the decision '{decision}' is real-valued; a model decides between states. Use Arm.from_density."
        )
    asked = _Asked(arm, model, tuple(known[name] for name in names), _features(arm, model, names))
    return asked, known[decision]


# ---- what a model is given ----


@dataclass(frozen=True)
class _Asked:
    """A model, and its inputs as it was fitted on them."""

    arm: str
    model: Any
    inputs: tuple[Variable, ...]
    features: tuple[str, ...] | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.inputs)

    def __call__(self, method: str, columns: Columns, length: int) -> FloatArray:
        given = self._given(columns, length)
        what = f"Arm '{self.arm}': {method} of its model"
        return numbers(ask(getattr(self.model, method), given, what=what, given=self._described), what)

    def _given(self, columns: Columns, length: int) -> Any:
        """What the model is asked about; models of the same inputs are asked about the same object."""
        if isinstance(columns, SharedColumns):
            return columns.make((self.inputs, self.features), lambda: self._made(columns, length))
        return self._made(columns, length)

    def _made(self, columns: Columns, length: int) -> Any:
        return self._array(columns, length) if self.features is None else self._frame(columns, self.features)

    def _frame(self, columns: Columns, features: tuple[str, ...]) -> Any:
        try:
            frame = import_module("pandas").DataFrame
        except ImportError:
            raise ProblemError(
                f"Arm '{self.arm}': its model was fitted on a data frame; install pandas to ask it."
            ) from None
        known = {variable.name: variable for variable in self.inputs}
        return frame({name: shown_values(known[name], columns[name], coded=False) for name in features})

    def _array(self, columns: Columns, length: int) -> FloatArray:
        made = np.empty((len(self.inputs), length))  # column after column, as in the values of a data frame
        for variable, place in zip(self.inputs, made, strict=True):
            place[:] = shown_values(variable, columns[variable.name], coded=True)
        return made.T

    @cached_property
    def _described(self) -> str:
        coded = self.features is None
        kinds = (f"{v.name} ({values_of(v, coded).dtype if v.finite else 'float64'})" for v in self.inputs)
        return f"{'an array' if coded else 'a data frame'} of {', '.join(kinds)}"


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
            f"Name one input per column, in the model's order."
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
    at = [same_label(label, states) for label in found.tolist()]
    if None in at or len(set(at)) < len(at):
        raise ProblemError(
            f"Arm '{arm}': the classes of its model are {found.tolist()}, the states of '{decision.name}' {list(states)}. "
            f"Each class must be one state: name the states so, or say classes={{class: state, ...}}."
        )
    return tuple(code for code in at if code is not None)


def _declared_states(arm: str, found: list[Any], decision: Variable, classes: Mapping[Any, str]) -> tuple[int, ...]:
    keys = list(classes)
    at = [same_label(label, keys) for label in found]
    if None in at or len(set(at)) != len(keys):
        raise ProblemError(
            f"Arm '{arm}': classes names {keys}; the classes of its model are {found}. Name each of them once."
        )
    return tuple(decision.code(classes[keys[i]]) for i in at if i is not None)


@dataclass(frozen=True)
class _Classifier:
    """An `Decides` by ``predict_proba``."""

    asked: _Asked
    state_of: tuple[int, ...]
    states: int
    argmax: bool

    def __call__(self, columns: Columns, length: int) -> FloatArray:
        found = _class_probabilities(self.asked, columns, length, len(self.state_of))
        if self.argmax:
            found = np.eye(found.shape[1])[found.argmax(axis=1)]
        if self.state_of == tuple(range(self.states)):
            return found
        out = np.zeros((length, self.states))
        for i, code in enumerate(self.state_of):
            out[:, code] += found[:, i]
        return out


def _class_probabilities(asked: _Asked, columns: Columns, length: int, classes: int) -> FloatArray:
    found = asked("predict_proba", columns, length)
    if found.shape != (length, classes):
        raise ProblemError(
            f"Arm '{asked.arm}': predict_proba gives shape {found.shape}; {length} rows of {classes} classes are needed."
        )
    return checked_rows(found, f"Arm '{asked.arm}', predict_proba of its model")[0]


# ---- a score, cut into decisions ----


@dataclass(frozen=True)
class Cuts:
    """Where a score is cut: a score equal to a cut belongs to the state above it."""

    tiers: tuple[float, ...]
    states: tuple[str, ...] | None
    score_class: Any

    @classmethod
    def of(
        cls,
        arm: str,
        threshold: float | None,
        tiers: Sequence[float] | None,
        states: Sequence[str] | None,
        score_class: Any,
    ) -> Cuts:
        """Of a threshold, or of tiers with a state for each; what does not fit is an error that names the arm."""
        if (threshold is None) == (tiers is None):
            raise ProblemError(
                f"Arm '{arm}': say threshold=... for two states or tiers=[...] for more, one of the two: where the score is cut."
            )
        given: list[Any] = [threshold] if tiers is None else list(tiers)
        plain = all(isinstance(cut, int | float | np.number) and not isinstance(cut, bool) for cut in given)
        if not given or not plain or not np.all(np.isfinite(given)) or not np.all(np.diff(given) > 0):
            raise ProblemError(f"Arm '{arm}': the score is cut at {given}. Cuts are finite numbers that rise.")
        return cls(tuple(float(cut) for cut in given), None if states is None else tuple(states), score_class)


def score_model(
    arm: str,
    model: Any,
    decision: str,
    inputs: Iterable[str],
    variables: Mapping[str, Variable] | Iterable[Variable],
    explore: float,
    cuts: Cuts,
) -> Model:
    """The mechanism of `Arm.from_classifier` where the model's score is cut into decisions."""
    asked, known = _asked(arm, model, decision, inputs, variables)
    order = known.states or () if cuts.states is None else cuts.states
    codes = tuple(known.code(state) for state in order)
    if len(order) != len(cuts.tiers) + 1 or len(set(codes)) < len(codes):
        raise ProblemError(
            f"Arm '{arm}': {len(cuts.tiers)} cuts of the score make {len(cuts.tiers) + 1} decisions, but the states are {list(order)}. "
            f"Give one cut fewer than states, or name the states from the lowest score to the highest: states=[...]."
        )
    method, column, classes = _score_of(arm, model, cuts.score_class)
    answer = _Score(asked, method, column, classes, cuts.tiers, codes, known.size)
    return Model(arm, decision, asked.names, answer, explore, (*asked.inputs, known))


def _score_of(arm: str, model: Any, score_class: Any) -> tuple[str, int, int]:
    """The method that scores, the column of its answer that does, and how many columns there are (0: one number per row)."""
    found = getattr(model, "classes_", None)
    classes = [] if found is None else np.asarray(found).tolist()
    if hasattr(model, "predict_proba") and classes:
        at = 1 if score_class is None and len(classes) == 2 else same_label(score_class, classes)
        if at is None or (score_class is None and len(classes) != 2):
            raise ProblemError(
                f"Arm '{arm}': the classes of its model are {classes}. Say the probability of which of them is the score: "
                f"score_class=...; got {score_class!r}."
            )
        return "predict_proba", at, len(classes)
    if hasattr(model, "predict_proba"):
        raise ProblemError(
            f"Arm '{arm}': its model, a {type(model).__name__}, has predict_proba but no classes_, so which of its columns is the "
            f"score is not known. Set classes_ to the classes in the order of the columns, or give a model with predict alone."
        )
    if score_class is not None:
        raise ProblemError(
            f"Arm '{arm}': score_class is {score_class!r}, but its model, a {type(model).__name__}, has no probabilities of classes."
        )
    method = "decision_function" if classes else "predict"
    if not hasattr(model, method) or len(classes) > 2:
        raise ProblemError(
            f"Arm '{arm}': its model, a {type(model).__name__}, gives no score. It needs predict_proba with classes_, a "
            f"decision_function of two classes, or, as regressors have, predict."
        )
    return method, 0, 0


@dataclass(frozen=True)
class _Score:
    """An `Decides` by a score and where it is cut."""

    asked: _Asked
    method: str
    column: int
    classes: int
    tiers: tuple[float, ...]
    state_of: tuple[int, ...]
    """The code of the decision below the first cut, between the first and the second, and so on."""
    states: int

    def __call__(self, columns: Columns, length: int) -> FloatArray:
        if self.classes:
            score = _class_probabilities(self.asked, columns, length, self.classes)[:, self.column]
        else:
            score = self._plain_score(columns, length)
        tier = np.searchsorted(self.tiers, score, side="right")
        return np.asarray(np.eye(self.states)[np.array(self.state_of)[tier]])

    def _plain_score(self, columns: Columns, length: int) -> FloatArray:
        score = self.asked(self.method, columns, length)
        score = score[:, 0] if score.shape == (length, 1) else score
        if score.shape != (length,) or np.any(np.isnan(score)):
            raise ProblemError(
                f"Arm '{self.asked.arm}': {self.method} of its model must give one number for each of {length} rows; it gave "
                + (f"{int(np.isnan(score).sum())} times nan." if score.shape == (length,) else f"shape {score.shape}.")
            )
        return np.asarray(score)
