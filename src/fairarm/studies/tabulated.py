"""A problem as it is stored: arms and mechanisms of code become tables, once, when a study is created."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairarm.errors import FairarmError
from fairarm.problem.mechanism import Arm, Mechanism, Table, check_size
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.readers.problem_writer import problem_text
from fairarm.studies.errors import Invalid

MOST_ARMS = 1 << 16
"""A card is two bytes."""


def tabulated(problem: Problem) -> Problem:
    """With tables in place of code; `Invalid` where a column is real-valued."""
    for node in problem.observed:
        variable = problem.variables.get(node)
        if variable is None or not variable.finite:
            what = "the outcome" if node == problem.outcome.node else f"'{node}'"
            raise Invalid(
                f"A live study is certified, and the proof is for columns with states; {what} is real-valued. Leave it out if no arm "
                f"looks at it, declare an outcome with states, or run in phases by ask and tell, with stop=bayes-stop."
            )
    if len(problem.arms) >= MOST_ARMS:
        raise Invalid(f"The problem has {len(problem.arms)} arms; a study has fewer than {MOST_ARMS}.")
    made: Mapping[str, Any] = {
        "arms": [Arm(arm.name, _table(arm.mechanism, problem.variables)) for arm in problem.arms],
        "mechanisms": [_table(mechanism, problem.variables) for mechanism in problem.mechanisms.values()],
    }
    coded = any(
        not isinstance(m, Table) for m in (*(arm.mechanism for arm in problem.arms), *problem.mechanisms.values())
    )
    return replace(problem, **made) if coded else problem


def _table(mechanism: Mechanism, variables: Mapping[str, Variable]) -> Mechanism:
    if isinstance(mechanism, Table):
        return mechanism
    shape = tuple(variables[name].size for name in (*mechanism.parents, mechanism.node))
    check_size(shape, f"The table of '{mechanism.node}'")
    at = np.indices(shape[:-1]).reshape(len(mechanism.parents), -1)
    columns = dict(zip(mechanism.parents, at, strict=True))
    length = int(np.prod(shape[:-1], dtype=np.int64))
    return Table(mechanism.node, mechanism.parents, mechanism.distribution(columns, shape[-1], length).reshape(shape))


def stored_text(problem: Problem) -> str:
    """The TOML of a tabulated problem; `Invalid` where it cannot be written."""
    try:
        return problem_text(problem)
    except FairarmError as error:
        raise Invalid(str(error)) from None
