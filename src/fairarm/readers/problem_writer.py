"""Writing a problem back to TOML, so that it reads again as an equal problem."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import tomli_w

from fairarm.errors import ProblemError
from fairarm.files import write_whole
from fairarm.problem.constraint import Constraint
from fairarm.problem.context import ContextLaw
from fairarm.problem.log_map import LogMap, WithColumns, problem_and_columns
from fairarm.problem.mechanism import Mechanism, Table, Unknown
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.problem.profiles import single_names
from fairarm.problem.regimes import KINDS, NATURAL


def write_problem(
    problem: Problem | WithColumns, path: str | Path, network: Network | None = None, *, columns: LogMap | None = None
) -> None:
    """Save a problem, with its world's network inline if given. Arms made of code cannot be saved.

    ``columns`` becomes the file's ``[log]``; a scenario, in place of the problem, brings its own.
    """
    write_whole(path, problem_text(problem, network, columns=columns), "problem file")


def problem_text(
    problem: Problem | WithColumns, network: Network | None = None, *, columns: LogMap | None = None
) -> str:
    """The TOML text of a problem."""
    problem, columns = problem_and_columns(problem, columns)
    document: dict[str, Any] = {"format": 1, "problem": _problem(problem)}
    if log := {key: value for key, value in asdict(columns).items() if value not in (None, False, {}, ())}:
        document["log"] = log
    if network is not None:
        document["world"] = {
            "states": {n: list(v.states or ()) for n, v in network.variables.items() if n not in problem.variables},
            "mechanisms": [_mechanism(table) for table in network.tables.values()],
        }
    return tomli_w.dumps(document)


def _problem(problem: Problem) -> dict[str, Any]:
    outcome, one = problem.outcome, len(problem.attributes) == 1
    entry: dict[str, Any] = {
        "name": problem.name,
        "description": problem.description,
        "sensitive": problem.sensitive if one else list(problem.attributes),
        "groups": list(problem.groups) if one else None,
        "regimes": None if problem.forced == single_names(problem.attribute_states) else list(problem.forced),
        "regime_kind": None if problem.regime_kind == KINDS[0] else problem.regime_kind,
        "decision": problem.decision,
        "deployed": problem.deployed,
        "budget": problem.budget,
        "nodes": list(problem.graph.nodes),
        "edges": [list(edge) for edge in problem.graph.edges],
        "hidden": list(problem.hidden),
        "shares": _shares(problem),
        "joint_shares": _joint_shares(problem),
        "outcome": _without_none(
            node=outcome.node,
            values=dict(zip(problem.variables[outcome.node].states or (), outcome.values, strict=True))
            if outcome.values
            else None,
            range=[outcome.low, outcome.high],
        ),
        "constraints": [_constraint(c) for c in problem.constraints],
        "states": {name: list(v.states) for name, v in problem.variables.items() if v.states is not None},
        "ranges": {name: [v.low, v.high] for name, v in problem.variables.items() if v.states is None},
        "ordered": _ordered(problem),
        "context": _context(problem),
        "arms": [
            _without_none(name=arm.name, cost=_cost(problem, costs), learned_from=arm.learned_from, **_rows(arm.mechanism, f"Arm '{arm.name}'"))
            for arm, costs in zip(problem.arms, problem.costs, strict=True)
        ],
        "mechanisms": [_mechanism(mechanism) for mechanism in problem.mechanisms.values()],
    }  # fmt: skip
    return _without_none(**entry)


def _shares(problem: Problem) -> dict[str, Any] | None:
    """By group; of several attributes, by attribute and state."""
    if len(problem.attributes) == 1:
        return dict(zip(problem.groups, problem.shares, strict=True)) if problem.shares else None
    single = [law for law in problem.joint_shares if len(law.attributes) == 1]
    return {law.attributes[0]: dict(zip(law.states[0], law.table.tolist(), strict=True)) for law in single} or None


def _joint_shares(problem: Problem) -> list[dict[str, Any]] | None:
    joint = [law for law in problem.joint_shares if len(law.attributes) > 1]
    return [{"attributes": list(law.attributes), "table": law.table.tolist()} for law in joint] or None


def _cost(problem: Problem, costs: tuple[float, ...]) -> dict[str, float]:
    """By regime, of those that are offered."""
    return {name: cost for name, cost in zip(problem.regimes, costs, strict=True) if name in (NATURAL, *problem.forced)}


def _constraint(asked: Constraint) -> dict[str, Any]:
    given = {f.name: getattr(asked, f.name) for f in fields(asked) if getattr(asked, f.name) != f.default}
    if asked.compare == "weights":  # the weights say so
        given = {**given, "weights": dict(asked.weights)}
        del given["compare"]
    return {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}


def _ordered(problem: Problem) -> list[str] | None:
    """The nodes whose states have an order; None where the states themselves say it."""
    variables = problem.variables.values()
    if not any(variable.unlike_its_states for variable in variables):
        return None
    return [variable.name for variable in variables if variable.ordered]


def _without_none(**entry: Any) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value is not None}


def _mechanism(mechanism: Mechanism) -> dict[str, Any]:
    return {"node": mechanism.node, **_rows(mechanism, f"The mechanism of '{mechanism.node}'")}


def _rows(mechanism: Mechanism, what: str) -> dict[str, Any]:
    if isinstance(mechanism, Unknown):
        return {"parents": list(mechanism.parents)}
    if not isinstance(mechanism, Table):
        raise ProblemError(f"{what} is made of code and cannot be saved. Problems with code live in Python only.")
    if mechanism.counts is not None:
        raise ProblemError(
            f"{what} was fitted from rows: saved as a table it would be taken as known exactly. Save the problem it was "
            f"fitted for, and fit it again."
        )
    return {"parents": list(mechanism.parents), "table": mechanism.probabilities.tolist()}


def _context(problem: Problem) -> dict[str, Any] | None:
    context = problem.context
    if context is None:
        return None
    if not isinstance(context, ContextLaw):
        raise ProblemError(
            "A context given as a sample of rows cannot be saved in a problem file. Save the rows as a log."
        )
    return {"variables": list(context.variables), "table": context.weights.tolist()}
