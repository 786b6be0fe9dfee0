"""The document of a saved run: what it holds, in which formats, and for which problem."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from fairarm.algorithms.info import Info
from fairarm.algorithms.notes import Note, restored_notes
from fairarm.algorithms.old_formats import WITH_PAIR_BETS, info_of, restored_before, watched_memory
from fairarm.algorithms.procedure import Procedure
from fairarm.algorithms.state import State
from fairarm.beliefs.evidence import Evidence
from fairarm.errors import DataError
from fairarm.problem.context import ContextLaw
from fairarm.problem.mechanism import Mechanism
from fairarm.problem.problem import Problem
from fairarm.sealed import damaged, opened, sealed

SCHEMA = 8
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
    6: _WITH_MEMORY | {"beyond", "notes"},
    7: _WITH_MEMORY | {"beyond", "notes"},
    SCHEMA: _WITH_MEMORY | {"beyond", "notes"},
}
"""What each format holds. 2 and 3 are from before documents were sealed, 3 of a run that started from a log; up to 4 the
state held everything; up to 5 certified runs bet against pairs of arms; up to 6 one gap between two groups was all that could be
asked about; up to 7 certified runs watched their law alone (`old_formats`)."""
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
    if document["schema"] <= WITH_PAIR_BETS:
        return restored_before(document, like, procedure, before)
    state = like.from_json(document["state"], watched_memory(document, like))
    return state, info_of(document, procedure.problem), restored_notes(document["notes"])


def fingerprint(problem: Problem, versions: bool = True) -> str:
    """A hash of everything that changes what an algorithm does; code counts by its node, its parents and its version."""
    hasher = hashlib.sha256()
    outcome = problem.outcome
    plain = (
        problem.name, problem.graph, problem.sensitive, problem.groups, problem.decision, outcome, problem.constraints,
        problem.costs, problem.budget, problem.shares, sorted(problem.variables.items()),
    )  # fmt: skip
    hasher.update(repr(plain).encode())
    if not problem.plain:  # the others are known as they were before there were such problems
        hasher.update(repr((problem.regimes, problem.regime_kind, problem.hidden)).encode())
        for law in problem.joint_shares:
            hasher.update(repr((law.attributes, law.states)).encode() + law.table.tobytes())
    for name, mechanism in _mechanisms(problem):
        if versions and (version := getattr(mechanism, "version", None)) is not None:
            hasher.update(b"version" + repr(version).encode())
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


def _mechanisms(problem: Problem) -> list[tuple[str, Mechanism]]:
    """The arms', then the children's, by name."""
    return [*((arm.name, arm.mechanism) for arm in problem.arms), *sorted(problem.mechanisms.items())]


def require_problem_of(document: dict[str, Any], problem: Problem) -> None:
    """An error where a saved run is of another problem. One that was saved before a version was given is of this one."""
    if document["problem"] not in (fingerprint(problem), fingerprint(problem, versions=False)):
        raise DataError(
            "The saved run belongs to another problem: arms, mechanisms, the version of code, tolerance or costs differ."
        )


def require_versions(problem: Problem) -> None:
    """An error where what a certified run rests on is code that may have changed since it was saved."""
    for name, mechanism in _mechanisms(problem):
        if not hasattr(mechanism, "probabilities") and getattr(mechanism, "version", None) is None:
            what = f"arm '{name}'" if name in problem.arm_names else f"the mechanism of '{name}'"
            raise DataError(
                f"The saved run is certified, and {what} is made of code: whether it is still the code of the proof, a saved run "
                f"cannot tell. Give it version=..., any text that you change when the code changes, and resume again."
            )
