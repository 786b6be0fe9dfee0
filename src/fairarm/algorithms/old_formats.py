"""Saved runs of earlier formats. Schemas 2 to 4 had one flat state that held everything, of any algorithm; up to 5 `pool` bet
against pairs of arms, where it now keeps accounts of its answers; up to 6 what is shown had one gap, where it now has rows; up
to 7 drift and loss were not watched."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fairarm.algorithms.certificates import Books
from fairarm.algorithms.info import Info
from fairarm.algorithms.notes import Note, RunNote
from fairarm.algorithms.procedure import AdoptsBooks, Guarantee, Procedure
from fairarm.algorithms.records import checked_leaf, plain, restored
from fairarm.algorithms.state import Memory, State
from fairarm.beliefs.evidence import Evidence
from fairarm.beliefs.standing import Standing
from fairarm.core.proof.monitors import Drift, LossRows
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.problem import Problem

WITH_MEMORY = 5
"""The first format whose memory and info are objects of their own."""

WITH_PAIR_BETS, WITH_ONE_GAP, WITH_LAW_ALONE = 5, 6, 7
"""The last formats in which certified runs bet against pairs of arms, in which one gap was all that is shown, and in which certified
runs watched nothing but their law."""

MONITORS = (*(f.name for part in (Drift, LossRows) for f in fields(part)), "alarm")
"""What a memory of `pool` has of them."""

FORMER_NAMES = {"wealth_gap": "log_gap", "wealth_pair": "log_pair"}
"""Of fields of a memory that the flat state had under another name."""


@dataclass(frozen=True)
class FlatState:
    """Every field in the order in which it was saved. ``belief`` was all nan for algorithms without beliefs."""

    stage: int
    phase: int
    closed: IntArray
    running: BoolArray
    answer: IntArray
    alive: BoolArray
    fair: BoolArray
    outcomes: FloatArray
    gaps: FloatArray
    rejected: IntArray
    reason: IntArray
    shares: FloatArray
    target: FloatArray
    given: IntArray
    plan: IntArray
    belief: Standing
    log_gap: FloatArray
    log_pair: FloatArray

    @classmethod
    def like(cls, state: State[Any]) -> FlatState:
        """One of the same forms as what ``state``, of one replicate, was saved as."""
        _, regimes, arms = state.given.shape
        units, known = np.zeros((1, regimes, arms)), Info.unknown(1, arms)
        log_gap, log_pair = (getattr(state.memory, name, np.zeros((1, 0))) for name in ("wealth_gap", "wealth_pair"))
        return cls(
            stage=state.stage,
            phase=state.phase,
            closed=state.closed,
            running=state.running,
            answer=state.answer,
            alive=known.fair,
            fair=known.fair,
            outcomes=known.outcomes,
            gaps=known.gaps,
            rejected=known.rejected,
            reason=known.reason,
            shares=units,
            target=units,
            given=state.given,
            plan=state.plan,
            belief=Standing.unknown(1, arms),
            log_gap=log_gap,
            log_pair=log_pair,
        )


def restored_flat(document: Any, like: State[Memory]) -> tuple[State[Memory], Info]:
    """State and info of one replicate, bit for bit; a TypeError or ValueError where a field has another form."""
    known = {**checked_leaf("state", document, dict)}
    if isinstance(known.get("belief"), dict):
        known["belief"] = _with_rows({**known["belief"], "apart": _unchecked(like.given.shape[-1])})
    flat = restored(known, FlatState.like(like), "state")
    memory = type(like.memory)(
        **{f.name: getattr(flat, FORMER_NAMES.get(f.name, f.name)) for f in fields(like.memory)}  # type: ignore[arg-type]
    )
    state = like.but(
        stage=flat.stage,
        phase=flat.phase,
        closed=flat.closed,
        running=flat.running,
        answer=flat.answer,
        given=flat.given,
        plan=flat.plan,
        memory=memory,
    )
    believed = None if np.isnan(flat.belief.best).all() else flat.belief
    return state, Info(
        flat.outcomes, flat.gaps, flat.fair, flat.rejected, flat.reason, believed, flat.gaps[:, 0, :, None]
    )


@dataclass(frozen=True)
class PairBets:
    """The memory of `pool` up to schema 5: log wealth of the bets about gaps, which are still made, and about pairs of arms."""

    wealth_gap: FloatArray
    wealth_pair: FloatArray

    @classmethod
    def like(cls, books: Books) -> PairBets:
        """One of the same forms as what ``books`` were saved as."""
        return cls(books.labels, np.moveaxis(books.beats, -1, 1) if books.beats.ndim > 2 else books.beats)


def restored_before(
    document: dict[str, Any], like: State[Any], procedure: Procedure, before: Evidence
) -> tuple[State[Any], Info, tuple[Note, ...]]:
    """State, info and what is to be said of a run of an earlier format; ``before`` are its rows of closed phases.

    A run that goes by beliefs and is not finished goes on with today's; if it is certified, its labels stay and its accounts
    start anew.
    """
    books = like.memory if isinstance(like.memory, Books) else None
    form = like if books is None else like.but(memory=PairBets.like(books))
    if document["schema"] == WITH_MEMORY:
        state, info = form.from_json(document["state"], document["memory"]), info_of(document, procedure.problem)
    else:
        state, info = restored_flat(document["state"], form)
    certified = procedure.guarantee == Guarantee.CERTIFIED
    if books is not None:
        labels, state = state.memory.wealth_gap, state.but(memory=books)
        if certified and isinstance(procedure, AdoptsBooks):
            state = procedure.adopted(state, labels, before)
    if state.finished or procedure.guarantee == Guarantee.NONE:
        return state, info, ()
    return state, info, (Note(RunNote.NEW_BELIEFS), *((Note(RunNote.NEW_ACCOUNTS),) if certified else ()))


def watched_memory(document: dict[str, Any], like: State[Any]) -> Any:
    """The memory of a document: monitors that it does not have start anew, which is as valid later as at the start."""
    memory = document["memory"]
    if document["schema"] > WITH_LAW_ALONE or not isinstance(like.memory, Books) or not isinstance(memory, dict):
        return memory
    return {**memory, **{name: plain(getattr(like.memory, name)) for name in MONITORS}}


def info_of(document: dict[str, Any], problem: Problem) -> Info:
    """What is shown, of a document that has it apart."""
    info, arms = document["info"], len(problem.arms)
    if document["schema"] <= WITH_ONE_GAP:
        info = {**checked_leaf("info", info, dict)}
        standing = info["standing"]
        if isinstance(standing, dict) and document["schema"] == WITH_MEMORY:
            standing = {**standing, "apart": _unchecked(arms)}
        info |= {"rows": _each_alone(info["gaps"][0][:1]), "standing": standing and _with_rows(standing)}
    return Info.from_json(info, arms, len(problem.compared), len(problem.rows))


def _with_rows(standing: dict[str, Any]) -> dict[str, Any]:
    """What was believed of the gap as that of the only row: it holds where the arm is fair."""
    kept = {key: value for key, value in standing.items() if key not in ("gap_low", "gap_high")}
    low, high, holds = (_each_alone(standing[key]) for key in ("gap_low", "gap_high", "fair"))
    return {**kept, "row_low": low, "row_high": high, "row_holds": holds}


def _each_alone(numbers: Any) -> Any:
    """Every number of lists in lists, a list of its own."""
    return [_each_alone(part) for part in numbers] if isinstance(numbers, list) else [numbers]


def _unchecked(arms: int) -> list[list[list[None]]]:
    """How far estimates are from the rows was not looked at up to schema 5."""
    return [[[None] * arms] * 2]
