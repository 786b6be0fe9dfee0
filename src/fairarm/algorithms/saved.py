"""The document of a saved run: what it holds, in which formats, and for which problem."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from fairarm.errors import DataError
from fairarm.problem.context import ContextLaw
from fairarm.problem.problem import Problem
from fairarm.sealed import damaged, opened, sealed

SCHEMA = 4
"""What is written: sealed, with the log that the run started from or null."""

_PARTS = frozenset(
    ("schema", "algorithm", "pulls", "seed", "options", "problem", "state", "evidence", "before_phase", "before_stage", "told")
)  # fmt: skip
UNSEALED = {2: _PARTS, 3: _PARTS | {"log"}}
"""Formats from before documents were sealed, and what they hold: 3 is of a run that started from a log."""

WHAT = "saved run"


def saved_run(**parts: Any) -> str:
    """The document of these parts."""
    return sealed({"schema": SCHEMA, **parts})


def opened_run(text: str) -> dict[str, Any]:
    """The parts of a document in any of the formats, all of them and no other; "log" may be absent."""
    document, carried = opened(text, WHAT)
    schema = document.get("schema")
    if schema == SCHEMA and not carried:
        raise damaged(WHAT, "its check sum is missing")
    if type(schema) is not int or schema not in (*UNSEALED, SCHEMA):
        raise DataError(
            f"The saved run has schema {schema!r:.20}; this version reads {', '.join(map(str, UNSEALED))} and {SCHEMA}. "
            f"Open it with the version that wrote it."
        )
    known = UNSEALED.get(schema, _PARTS | {"log"})
    for key in sorted(known ^ document.keys()):
        raise damaged(WHAT, f"it has no '{key}'" if key in known else f"it has a part '{key:.40}' that no run has")
    return document


def fingerprint(problem: Problem) -> str:
    """A hash of everything that changes what an algorithm does; code counts by its node and parents only."""
    hasher = hashlib.sha256()
    outcome = problem.outcome
    plain = (
        problem.name, problem.graph, problem.sensitive, problem.groups, problem.decision, outcome, problem.constraints,
        problem.costs, problem.budget, problem.shares, sorted(problem.variables.items()),
    )  # fmt: skip
    hasher.update(repr(plain).encode())
    for name, mechanism in [*((arm.name, arm.mechanism) for arm in problem.arms), *sorted(problem.mechanisms.items())]:
        hasher.update(repr((name, mechanism.node, mechanism.parents)).encode())
        hasher.update(getattr(mechanism, "probabilities", np.zeros(0)).tobytes())
        if (counts := getattr(mechanism, "counts", None)) is not None:
            hasher.update(b"fitted from" + counts.tobytes())
    context = problem.context
    if isinstance(context, ContextLaw):
        hasher.update(repr(context.variables).encode() + context.weights.tobytes())
    elif context is not None:
        hasher.update(context.arm.encode())
        for name, values in sorted(context.columns.items()):
            hasher.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return hasher.hexdigest()
