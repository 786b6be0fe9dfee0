"""The document of a saved run: what it holds, and of which problem."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from fairarm.errors import DataError
from fairarm.problem.context import ContextLaw
from fairarm.problem.mechanism import Mechanism
from fairarm.problem.problem import Problem
from fairarm.sealed import damaged, opened, sealed

SCHEMA = 10
"""Of what is written; no other is read."""

PARTS = frozenset(
    ("schema", "algorithm", "pulls", "seed", "options", "problem", "state", "memory", "info", "evidence", "before_phase",
     "before_stage", "told", "log", "beyond", "notes")
)  # fmt: skip
"""Of a document: the state, the procedure's memory and what is shown each an object; the log or null; rows beyond the plan of the
phase that is out; what is to be said of the run."""

WHAT = "saved run"


def saved_run(**parts: Any) -> str:
    """The document of these parts."""
    return sealed({"schema": SCHEMA, **parts})


def opened_run(text: str) -> dict[str, Any]:
    """The parts of a document, all of them and no other."""
    document = opened(text, WHAT, schema=SCHEMA)
    for key in sorted(PARTS ^ document.keys()):
        raise damaged(WHAT, f"it has no '{key}'" if key in PARTS else f"it has a part '{key:.40}' that no run has")
    return document


def fingerprint(problem: Problem, versions: bool = True) -> str:
    """A hash of everything that changes what an algorithm does; code counts by its node, its parents and its version."""
    hasher = hashlib.sha256()
    outcome = problem.outcome
    plain = (
        problem.name, problem.graph, problem.sensitive, problem.groups, problem.decision, outcome, problem.constraints,
        problem.costs, problem.budget, problem.shares, sorted(problem.variables.items()), problem.regimes, problem.regime_kind,
        problem.hidden,
    )  # fmt: skip
    hasher.update(repr(plain).encode())
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
