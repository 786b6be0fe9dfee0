"""Saved runs of schemas 2 to 4: one flat state that held everything, of any algorithm."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fairarm.algorithms.info import Info
from fairarm.algorithms.records import restored
from fairarm.algorithms.state import Memory, State
from fairarm.beliefs.standing import Standing
from fairarm.core.types import BoolArray, FloatArray, IntArray

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
    flat = restored(document, FlatState.like(like), "state")
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
    return state, Info(flat.outcomes, flat.gaps, flat.fair, flat.rejected, flat.reason, believed)
