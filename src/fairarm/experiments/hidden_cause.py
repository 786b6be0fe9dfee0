"""How strong a cause that nobody recorded would have to be to change the answer of a log (docs/trust.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.assumptions import Assumption
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.doubt import (
    CellDraws,
    Doubted,
    LoggedCells,
    below_decision,
    draw_cells,
    inputs_of_cells,
    require_cells,
    rows_by_inputs,
)
from fairarm.beliefs.evidence import CountedEvidence
from fairarm.beliefs.worlds import WorldBeliefs
from fairarm.core.answer import Code
from fairarm.core.doubt.sensitivity import strength_of_column
from fairarm.core.types import BoolArray, IntArray
from fairarm.errors import OptionError, ProblemError
from fairarm.experiments.doubt import (
    STRONGEST,
    Tip,
    answer_margin,
    better_margin,
    ends_of,
    fairness_margin,
    tip_of,
)
from fairarm.experiments.evidence_from_log import LogEvidence
from fairarm.problem.problem import Problem
from fairarm.problem.space import CellSpace

CURVE_POINTS = 13
WHAT = "A bound for a hidden cause"


@dataclass(frozen=True)
class Bounds:
    """What a number can be, in the outcome's units."""

    low: float
    high: float


@dataclass(frozen=True)
class HiddenArm:
    """One arm with a hidden cause of the strength that was asked about."""

    name: str
    outcome: Bounds
    fairness: tuple[Bounds, ...]
    """Of every row, in the order of ``problem.rows``."""
    fair_probability: float
    """That the arm is fair whatever the hidden cause does."""
    fair: bool
    """Whether the estimates call it fair: what ``fairness_tip`` is about."""
    fairness_tip: Tip
    """From which strength on it may be unfair; of an arm that is not fair, may be fair."""
    better: bool | None
    """Whether the estimates have it above the deployed arm; None for that arm itself, or without one."""
    better_tip: Tip | None
    """From which strength on that may be otherwise."""


@dataclass(frozen=True)
class CurvePoint:
    """Bounds of every arm's outcome at one strength, in order."""

    strength: float
    outcomes: tuple[Bounds, ...]


@dataclass(frozen=True)
class HiddenCause:
    """Bounds of every arm with a hidden cause, and where claims tip.

    Strengths Γ: how many times larger or smaller the odds of the logged decision may be for the hidden cause, given all that was
    recorded. 1: there is none.
    """

    strength: float
    """As asked for."""
    arms: tuple[HiddenArm, ...]
    answer: Tip | None
    """Where the answer tips; None where there is none."""
    columns: Mapping[str, float]
    """The Γ that each recorded column would have had if it were hidden."""
    curve: tuple[CurvePoint, ...]
    """By strength from 1 on."""


def check_strength(strength: float | None) -> None:
    """An error where it is no strength of a hidden cause."""
    if strength is not None and not 1.0 <= strength <= STRONGEST:
        raise OptionError(
            f"hidden_cause is a number from 1 (none) to {STRONGEST:g}, by which the odds of a decision may be off; got {strength}."
        )


def hidden_cause(found: LogEvidence, strength: float, code: int, confidence: float, seed: int) -> HiddenCause:
    """Of an answer ``code``, an arm's position or a `Code`."""
    if any(said.code == Assumption.PROPENSITIES for said in found.assumptions):
        raise OptionError(
            "The log has propensities: its decisions were drawn with known probabilities, so that no hidden cause moved them. Go without "
            "hidden_cause, or leave out log.propensity if the propensities were estimated."
        )
    beliefs, problem = require_cells(found.beliefs, WHAT), found.problem
    if below := below_decision(problem):
        raise ProblemError(
            f"{WHAT} is not known where an observed column follows from the decision: here '{below[0]}'. Leave it out of the problem, "
            f"or go without hidden_cause."
        )
    doubted = doubted_rows(found, beliefs, strength)
    moved = doubted.others or LoggedCells(beliefs, found.missing)
    draws = draw_cells(beliefs, found.missing, seed, found.at_random, doubted)
    answer = None
    if code != Code.UNDECIDED:
        answer = tip_of(draws, lambda some, gamma: answer_margin(some, gamma, code), confidence)
    return HiddenCause(
        strength=strength,
        arms=_arms(problem, draws, strength, confidence),
        answer=answer,
        columns=_columns(moved, found),
        curve=_curve(problem, draws, strength, answer, confidence),
    )


def doubted_rows(found: LogEvidence, beliefs: CellBeliefs, strength: float) -> Doubted:
    """Rows of arms that drew at random apart from the others: a hidden cause moved none of them."""
    if not found.randomised or found.counted is None:
        return Doubted(found.sketch)
    drew = np.isin(np.arange(len(found.problem.arms)), found.randomised)
    made = found.made.sum(axis=1) > 0
    if not (made & drew).any():
        return Doubted(found.sketch)
    if not (made & ~drew).any():
        raise OptionError(
            "All rows are of arms that drew their decisions with known probabilities (log.randomised), so that no hidden cause moved them. "
            "Go without hidden_cause, or leave log.randomised out if they did not."
        )
    others, known = (_of_arms(found, found.counted, beliefs.estimated, which) for which in (~drew, drew))
    return Doubted(found.sketch, others, known, strength)


def _of_arms(found: LogEvidence, counted: CountedEvidence, estimated: bool, which: BoolArray) -> LoggedCells:
    """The rows of these arms alone, believed by themselves."""
    kind = CellBeliefs if found.problem.plain else WorldBeliefs
    missing = None if found.missing is None else found.missing.of_arms(which)
    return LoggedCells(kind.of(counted.of_arms(which), estimated).of_log(), missing)


def _arms(problem: Problem, draws: CellDraws, strength: float, confidence: float) -> tuple[HiddenArm, ...]:
    """Bounds at the strength, and tipping points."""
    drawn, estimate = draws.draws, draws.estimate
    outcomes, rows = ends_of(drawn, strength).intervals(confidence)
    deployed = None if problem.deployed is None else problem.arm_index(problem.deployed)
    made = []
    for k, arm in enumerate(problem.arms):
        fair = bool(fairness_margin(estimate, 1.0, k, fair=True)[0] > 0)
        better, better_tip = _against(draws, k, deployed, confidence)
        made.append(
            HiddenArm(
                name=arm.name,
                outcome=Bounds(*map(float, problem.outcome.unscale(outcomes[:, k]))),
                fairness=tuple(
                    Bounds(*(row.in_units(problem.outcome, float(end)) for end in rows[:, k, j]))
                    for j, row in enumerate(problem.rows)
                ),
                fair_probability=float((fairness_margin(drawn, strength, k, fair=True) > 0).mean()),
                fair=fair,
                fairness_tip=_fairness_tip(draws, k, fair, confidence),
                better=better,
                better_tip=better_tip,
            )
        )
    return tuple(made)


def _fairness_tip(draws: CellDraws, arm: int, fair: bool, confidence: float) -> Tip:
    return tip_of(draws, lambda some, gamma: fairness_margin(some, gamma, arm, fair), confidence)


def _against(draws: CellDraws, arm: int, deployed: int | None, confidence: float) -> tuple[bool | None, Tip | None]:
    """Whether the arm is better than the deployed one, and where that tips."""
    if deployed is None or arm == deployed:
        return None, None
    better = bool(better_margin(draws.estimate, 1.0, arm, deployed)[0] > 0)
    first, second = (arm, deployed) if better else (deployed, arm)
    return better, tip_of(draws, lambda some, gamma: better_margin(some, gamma, first, second), confidence)


def _curve(
    problem: Problem, draws: CellDraws, strength: float, answer: Tip | None, confidence: float
) -> tuple[CurvePoint, ...]:
    """Bounds of outcomes up to a strength beyond what was asked and beyond the answer's tip, where that is near."""
    near = 1.0 if answer is None or not math.isfinite(answer.strength) else min(answer.strength, 20.0)
    last = 1.25 * max(2.0, strength, near)
    made = []
    for gamma in np.geomspace(1.0, last, CURVE_POINTS):
        ends = problem.outcome.unscale(ends_of(draws.draws, float(gamma)).intervals(confidence)[0])
        made.append(CurvePoint(float(gamma), tuple(Bounds(float(low), float(high)) for low, high in ends.T)))
    return tuple(made)


def _columns(moved: LoggedCells, found: LogEvidence) -> dict[str, float]:
    """How strong each recorded column would be as a hidden cause: those of the inputs, and the attributes."""
    beliefs, problem = moved.beliefs, found.problem
    by_inputs, x, _ = rows_by_inputs(beliefs, moved.every_row)
    columns = inputs_of_cells(beliefs)[2]
    strengths = {}
    for name in columns:
        others = {other: codes for other, codes in columns.items() if other != name}
        space = CellSpace.of(tuple(others), problem.variables)
        without = np.zeros(len(by_inputs), dtype=np.int64)
        without[x] = space.number(others) if others else 0
        strengths[name] = strength_of_column(by_inputs, without)
    if found.counted is None:
        return strengths
    by_label = _by_label(moved, found)
    for i, name in enumerate(problem.attributes):
        if name not in columns:
            strengths[name] = _attribute(beliefs, by_label, problem.compiled.profile_codes[:, i])
    return strengths


def _by_label(moved: LoggedCells, found: LogEvidence) -> IntArray:
    """Rows by label and cell, (P, C), that a hidden cause may have moved."""
    cells, problem = moved.beliefs.cells, found.problem
    made = np.zeros((len(problem.groups), cells.cells), dtype=np.int64)
    if found.counted is None:
        return made
    arms = np.ones(len(problem.arms), dtype=bool)
    if moved.beliefs is not found.beliefs:
        arms[list(found.randomised)] = False
    seen = found.counted.rows_by_cell()[0][arms].sum(axis=0)
    seen = seen if found.missing is None else seen + found.missing.by_place[arms].sum(axis=0)
    np.add.at(made, (np.arange(len(made))[:, None], cells.cell_of), seen)
    return made


def _attribute(beliefs: CellBeliefs, by_label: IntArray, state: IntArray) -> float:
    """The same of an attribute by which the cells are not divided; ``state`` (P,) of each label."""
    of_state = [by_label[state == code].sum(axis=0) for code in np.unique(state)]
    made = [rows_by_inputs(beliefs, rows)[0] for rows in of_state]
    inputs = np.tile(np.arange(len(made[0])), len(made))
    return strength_of_column(np.concatenate(made), inputs)
