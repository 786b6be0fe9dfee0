"""Results as strict JSON documents: +inf is the string "inf", unknown is null. docs/json.md lists every key."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from fairarm.experiments import Identification, Inspection, Simulation
from fairarm.problem.model import Problem
from fairarm.worlds.base import Truth


def number(value: float | None) -> float | str | None:
    """A JSON number, "inf" or "-inf", or null for unknown."""
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value)


def numbers(values: Any) -> Any:
    """Nested lists of `number`."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    return [numbers(v) for v in values] if isinstance(values, list) else number(values)


def _arms(problem: Problem, truth: Truth | None) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "mu": number(float(truth.outcomes[k])) if truth else None,
            "zeta": number(float(truth.gaps[k])) if truth else None,
            "fair": bool(truth.fair[k]) if truth else None,
        }
        for k, name in enumerate(problem.arm_names)
    ]


def _best(problem: Problem, truth: Truth | None) -> str | None:
    best = truth.best_fair_arm if truth else None
    return None if best is None else problem.arm_names[best]


def inspection(found: Inspection) -> dict[str, Any]:
    problem = found.problem
    s, other = problem.groups
    return {
        "problem": problem.name,
        "sensitive": problem.sensitive,
        "groups": list(problem.groups),
        "decision": problem.decision,
        "outcome": problem.outcome.node,
        "outcome_range": [number(problem.outcome.low), number(problem.outcome.high)],
        "tolerance": problem.gap_tolerance,
        "arms": _arms(problem, found.truth),
        "best_fair_arm": _best(problem, found.truth),
        "deployed": problem.deployed,
        "observed_nodes": list(problem.observed),
        "relevant_children": list(problem.relevant_children),
        "missing_mechanisms": list(problem.missing_mechanisms),
        "decision_is_child_of_sensitive": problem.roles.decision_is_child,
        "unreached_by_deployed": list(found.unreached()),
        "pulls": found.pulls,
        "budget": number(problem.average_cost_budget(found.pulls)),
        "phases": found.phases,
        "fair_from_phase": found.fair_from_phase,
        "M": None if found.M is None else numbers(found.M),
        "D": None if found.D is None else {f"{s}|{other}": numbers(found.D[0]), f"{other}|{s}": numbers(found.D[1])},
        "v_star": number(found.v_star),
        "first_plan": [asdict(line) for line in found.first_plan],
        "error_bound": number(found.error_bound),
        "none_bound": number(found.none_bound),
        "notes": list(found.notes),
    }


def identification(problem: Problem, found: Identification) -> dict[str, Any]:
    return {
        "problem": problem.name,
        "algorithm": found.algorithm,
        "seed": found.seed,
        "status": str(found.verdict.status),
        "arm": found.verdict.arm,
        "correct": found.correct,
        "fairness_tested": found.verdict.fairness_tested,
        "best_fair_arm": _best(problem, found.truth),
        "pulls": found.pulls,
        "cost": found.cost,
        "phases": found.verdict.phases,
        "arms": [
            {
                **asdict(report),
                "outcome": number(report.outcome),
                "gaps": {k: number(v) for k, v in report.gaps.items()},
            }
            for report in found.verdict.arms
        ],
        "story": [asdict(phase) for phase in found.story],
    }


def simulation(found: Simulation) -> dict[str, Any]:
    return {
        "problem": found.problem,
        "seed": found.seed,
        "best_fair_arm": found.best_fair_arm,
        "results": [
            {key: number(v) if isinstance(v, float) else v for key, v in asdict(p).items()} for p in found.results
        ],
    }
