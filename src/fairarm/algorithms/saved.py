"""The document of a saved run: what it holds, in which formats, and for which problem."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from fairarm.algorithms.info import Info
from fairarm.algorithms.notes import Note, restored_notes
from fairarm.algorithms.old_formats import info_of, restored_before
from fairarm.algorithms.procedure import Procedure
from fairarm.algorithms.state import State
from fairarm.beliefs.evidence import Evidence
from fairarm.errors import DataError
from fairarm.problem.context import ContextLaw
from fairarm.problem.problem import Problem
from fairarm.sealed import damaged, opened, sealed

SCHEMA = 6
"""What is written: sealed; the state, the procedure's memory and what is shown each an object; the log or null; rows beyond the
plan of the phase that is out; what is to be said of the run."""

_COMMON = frozenset(
    ("schema", "algorithm", "pulls", "seed", "options", "problem", "state", "evidence", "before_phase", "before_stage", "told")
)  # fmt: skip
_WITH_MEMORY = _COMMON | {"log", "memory", "info"}
PARTS = {
    2: _COMMON,
    3: _COMMON | {"log"},
    4: _COMMON | {"log"},
    5: _WITH_MEMORY,
    SCHEMA: _WITH_MEMORY | {"beyond", "notes"},
}
"""What each format holds. 2 and 3 are from before documents were sealed, 3 of a run that started from a log; up to 4 the
state held everything; up to 5 certified runs bet against pairs of arms (`old_formats`)."""
UNSEALED = (2, 3)

WHAT = "saved run"


def saved_run(**parts: Any) -> str:
    """The document of these parts."""
    return sealed({"schema": SCHEMA, **parts})


def opened_run(text: str) -> dict[str, Any]:
    """The parts of a document in any of the formats, all of them and no other; "log" may be absent."""
    document, carried = opened(text, WHAT)
    schema = document.get("schema")
    if type(schema) is not int or schema not in PARTS:
        *others, last = PARTS
        raise DataError(
            f"The saved run has schema {schema!r:.20}; this version reads {', '.join(map(str, others))} and {last}. "
            f"Open it with the version that wrote it."
        )
    if schema not in UNSEALED and not carried:
        raise damaged(WHAT, "its check sum is missing")
    known = PARTS[schema]
    for key in sorted(known ^ document.keys()):
        raise damaged(WHAT, f"it has no '{key}'" if key in known else f"it has a part '{key:.40}' that no run has")
    return document


def restored_state(
    document: dict[str, Any], like: State[Any], procedure: Procedure, before: Evidence
) -> tuple[State[Any], Info, tuple[Note, ...]]:
    """State, info and notes of the parts of a document in any format; ``like`` is a state of the same procedure and log,
    ``before`` the rows of phases that are closed."""
    if document["schema"] < SCHEMA:
        return restored_before(document, like, procedure, before)
    state = like.from_json(document["state"], document["memory"])
    return state, info_of(document, like), restored_notes(document["notes"])


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
