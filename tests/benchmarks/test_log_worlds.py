"""The worlds that intervals from logs are judged on: their exact truths against importance weighting of the logs themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from benchmarks.logs.rows import END, SHIFT, RowWorld, classifiers, coded
from benchmarks.logs.tables import COUNT, Logged, Money, States, TableWorld, effects, simplex, skewed_noise
from benchmarks.logs.worlds import KINDS
from scipy import integrate, stats

COUNTED = [kind for kind in KINDS if not kind.startswith("row by row") and "290 000" not in kind]
LOGS = 6


def weighted(log: Logged) -> tuple[np.ndarray, np.ndarray]:
    """Every arm's outcome and gap by the definition of an expectation: (K, 2) sums over lines, each with its variance."""
    problem, columns = log.problem, log.columns
    code = {
        name: np.array([problem.variables[name].states.index(value) for value in columns[name]])
        for name in problem.cell_columns
        if name != "S"
    }
    s = (columns["S"] == "b").astype(int)
    y = np.asarray(columns["Y"])
    if problem.outcome.values is not None:
        y = np.array(problem.outcome.values)[[problem.variables["Y"].states.index(value) for value in y]]
    inputs = [s, *(code[f"X{i}"] for i in range(len(code) - 1)), code["V"]]
    laws = [np.asarray(arm.mechanism.probabilities) for arm in problem.arms if hasattr(arm.mechanism, "probabilities")]
    logging = laws[0][tuple(inputs)]
    n = np.asarray(columns[COUNT])
    errors, variances = [], []
    for k, law in enumerate(laws):
        weight = law[tuple(inputs)] / logging
        group = [np.sum((n * weight * y)[s == t]) / n[s == t].sum() for t in (0, 1)]
        noise = [
            np.sum((n * (weight * y - group[t]) ** 2)[s == t]) / n[s == t].sum() ** 2 for t in (0, 1)
        ]
        errors.append(group[0] - group[1] - log.gaps[k])
        variances.append(sum(noise))
    return np.array(errors), np.array(variances)


@pytest.mark.parametrize("kind", [kind for kind in COUNTED if kind != "fitted mechanisms"])
def test_the_gaps_are_those_that_weighting_finds(kind: str) -> None:
    """Errors summed over logs, in units of their sd; beyond 5 by chance in about 1 of 10^6 (more where rows are few)."""
    total, variance = np.zeros(1), np.zeros(1)
    for i in range(LOGS):
        errors, variances = weighted(KINDS[kind](np.random.default_rng([7, i])))
        total, variance = total + errors, variance + variances
    assert (np.abs(total) <= 5 * np.sqrt(variance) + 1e-12).all()
