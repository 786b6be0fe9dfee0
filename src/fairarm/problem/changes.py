"""The same problem with other arms: what each arm brings along, and what must not be lost with one that leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from fairarm.errors import ProblemError
from fairarm.problem.context import ContextSample
from fairarm.problem.mechanism import Arm
from fairarm.problem.regimes import ArmCosts, arm_costs, kept_costs

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem


def with_arms(problem: Problem, arms: Iterable[Arm | str], costs: Mapping[str, ArmCosts] | None) -> Problem:
    """`Problem.with_arms`."""
    if isinstance(arms, Arm | str):
        raise ProblemError(f"with_arms takes a list of arms, or of names of this problem's arms; got {arms!r}.")
    chosen = [arm if isinstance(arm, Arm) else problem.arms[problem.arm_index(arm)] for arm in arms]
    names = [arm.name for arm in chosen]
    for name in problem.arm_names:
        if name not in names and (needed := _needed_for(problem, name)):
            raise ProblemError(f"Arm '{name}' leaves, but {needed}")
    given = dict(costs or {})
    if unknown := [name for name in given if name not in names]:
        raise ProblemError(
            f"Costs are given for '{unknown[0]}', which is not one of the arms: {', '.join(names[:12])}."
        )
    rows = [
        arm_costs(given[name], problem.regimes[1:], problem.forced)
        if name in given
        else kept_costs(problem.costs, problem.arm_names, name, problem.regimes[1:])
        for name in names
    ]
    try:
        return replace(problem, arms=tuple(chosen), costs=tuple(rows))
    except ProblemError as error:
        raise ProblemError(f"Problem '{problem.name}' with these arms: {error}") from None


def _needed_for(problem: Problem, name: str) -> str:
    """What rests on an arm, and the way out; empty where nothing does."""
    if name == problem.deployed:
        return "it is the deployed one. Keep it, or say first who is: dataclasses.replace(problem, deployed=...)."
    if isinstance(problem.context, ContextSample) and problem.context.arm == name:
        return "it made the context sample. Keep it, or change that first: dataclasses.replace(problem, context=...)."
    return ""
