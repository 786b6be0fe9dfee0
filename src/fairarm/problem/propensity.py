"""The propensity of a rule whose law is not declared, by a model of its logged decisions: where a table of its inputs cannot be counted.

Gradient boosting and logistic regression are cross-fitted, and the one with the smaller log loss is used. A row's fold goes by its inputs
alone: the fitted law is a function of them, and does not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairarm.core.mixing import mixed
from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.optional import require
from fairarm.problem.arms_from_models import Model
from fairarm.problem.fitting import Counted, FittedNote
from fairarm.problem.mechanism import Arm, Columns
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable

FOLDS = 5


@dataclass(frozen=True)
class CrossFitted:
    """P(decision | inputs), each row by the model that was fitted without the rows of its fold."""

    inputs: tuple[Variable, ...]
    states: int
    models: tuple[Any, ...]

    def __call__(self, columns: Columns, length: int) -> FloatArray:
        """(I, states)."""
        features, fold = _features(self.inputs, columns, length)
        found = np.zeros((length, self.states))
        for f, model in enumerate(self.models):
            if len(at := np.flatnonzero(fold == f)):
                found[np.ix_(at, model.classes_)] = model.predict_proba(features[at])
        return found


def fit_models(problem: Problem, rows: Mapping[str, Counted]) -> tuple[Problem, tuple[FittedNote, ...]]:
    """The problem with a model for each arm without a table, fitted from the rows it made (by arm), and a note for each."""
    made = {name: _fit(problem, name, *rows[name]) for name in problem.unknown_arms}
    arms = [Arm(arm.name, made[arm.name][0]) if arm.name in made else arm for arm in problem.arms]
    return problem.with_arms(arms), tuple(note for _, note in made.values())


def _fit(problem: Problem, arm: str, columns: Columns, count: IntArray) -> tuple[Model, FittedNote]:
    """The better model by cross-fitted log loss."""
    parents, decision = problem.arms[problem.arm_index(arm)].parents, problem.variables[problem.decision]
    inputs = tuple(problem.variables[name] for name in parents)
    order = np.lexsort([columns[name] for name in (decision.name, *parents)])
    columns, count = {name: columns[name][order] for name in (decision.name, *parents)}, count[order]
    decided, (features, fold) = columns[decision.name], _features(inputs, columns, len(count))
    if any(len(np.unique(decided[fold != f])) < 2 for f in range(FOLDS)):
        raise DataError(
            f"The propensity of arm '{arm}' cannot be fitted: nearly all of its rows have the same '{decision.name}', and no rule that "
            f"decides otherwise can be judged from them. Log other decisions too, or declare the arm's table."
        )
    rows, found = int(count.sum()), []
    for name, model in _candidates().items():
        models = tuple(model(features[fold != f], decided[fold != f], count[fold != f]) for f in range(FOLDS))
        law = CrossFitted(inputs, decision.size, models)
        fitted = Model(arm, decision.name, parents, law, explore=1 / (rows + 1), counts=rows)
        chosen = fitted.log_prob(columns)
        found.append((-float(chosen @ count) / rows, name, float(np.exp(chosen.min())), fitted))
    (loss, name, least, best), (worse, other, *_) = sorted(found, key=lambda each: each[0])
    by = f"{name} (cross-fitted log loss {loss:.4f}, {other} {worse:.4f}); no row's decision has less than {least:.2g}"
    rarest = int(np.bincount(decided, count)[np.unique(decided)].min())
    return best, FittedNote(decision.name, arm, rows, rarest, 0, by)


def _candidates() -> dict[str, Any]:
    """What fits each model to features, decisions and row counts."""
    linear, ensemble, scaled, joined = (
        require(f"sklearn.{part}", "propensity") for part in ("linear_model", "ensemble", "preprocessing", "pipeline")
    )

    def logistic(x: FloatArray, y: IntArray, count: IntArray) -> Any:
        model = joined.make_pipeline(scaled.StandardScaler(), linear.LogisticRegression(max_iter=1000))
        return model.fit(x, y, logisticregression__sample_weight=count)

    def boosted(x: FloatArray, y: IntArray, count: IntArray) -> Any:
        options = {"max_iter": 60, "max_leaf_nodes": 8, "min_samples_leaf": 50, "early_stopping": False}
        return ensemble.HistGradientBoostingClassifier(**options, random_state=0).fit(x, y, sample_weight=count)

    return {"logistic regression": logistic, "gradient boosting": boosted}


def _features(inputs: tuple[Variable, ...], columns: Columns, length: int) -> tuple[FloatArray, IntArray]:
    """Inputs as numbers, (I, features), states as indicators; and the fold of each row, (I,)."""
    parts, key = [np.zeros((length, 0))], np.zeros(length, dtype=np.uint64)
    for variable in inputs:
        values = np.asarray(columns[variable.name])
        parts.append(np.eye(variable.size)[values] if variable.finite else values[:, None])
        key = mixed(key ^ (values + 0.0).view(np.uint64))
    return np.concatenate(parts, axis=1), (key % np.uint64(FOLDS)).astype(np.int64)
