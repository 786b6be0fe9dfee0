"""The state of a run between two phases, for any number of replicates at once: what the next step needs, and no more."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from fairarm.algorithms.records import but, plain, restored
from fairarm.core.answer import Code
from fairarm.core.types import BoolArray, IntArray

Memory = TypeVar("Memory")
"""A procedure's own: a frozen dataclass whose fields are arrays with a leading axis n."""


@dataclass(frozen=True)
class NoMemory:
    """Of a procedure that needs nothing but the state and the evidence."""


@dataclass(frozen=True)
class State(Generic[Memory]):
    """What any next step needs, and in ``memory`` what this procedure's does. Leading axis n; phases are counted from 1."""

    stage: int
    phase: int
    """Within the stage, of the plan that is out now."""
    closed: IntArray
    """(n,): phases closed so far, over all stages."""
    running: BoolArray
    """(n,): still pulling in this stage."""
    answer: IntArray
    """(n,): an arm's position or a Code."""
    given: IntArray
    """Whole pulls planned in this stage, this phase's included, (n, R, K)."""
    plan: IntArray
    """This phase's pulls, (n, R, K)."""
    log_rows: IntArray
    """(n,): rows of the log that the run started from. Not saved with the state: the log is."""
    memory: Memory
    """Saved beside the state."""

    @cached_property
    def finished(self) -> bool:
        """No replicate goes on."""
        return bool(np.all(self.answer != Code.PENDING))

    def but(self, **changes: Any) -> State[Memory]:
        """With these fields changed."""
        return but(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """Without the memory: plain lists."""
        return {name: plain(getattr(self, name)) for name in _SAVED}

    def from_json(self, document: Any, memory: Any) -> State[Memory]:
        """One replicate back from `to_json` and the memory's own document, bit for bit, where this is a state of the same
        procedure and log; a TypeError or ValueError where a field has not the form that it has here."""
        like = _Saved(**{name: getattr(self, name) for name in _SAVED})
        back = restored(document, like, "state")
        return self.but(**vars(back), memory=restored(memory, self.memory, "memory"))


@dataclass(frozen=True)
class _Saved:
    """The fields of a state that are saved."""

    stage: int
    phase: int
    closed: IntArray
    running: BoolArray
    answer: IntArray
    given: IntArray
    plan: IntArray


_SAVED = tuple(f.name for f in fields(_Saved))


def fresh_state(n: int, regimes: int, arms: int, memory: Memory) -> State[Memory]:
    """n replicates of which nothing has been planned."""
    none = np.zeros((n, regimes, arms), dtype=np.int64)
    return State(
        stage=0,
        phase=0,
        closed=np.zeros(n, dtype=np.int64),
        running=np.ones(n, dtype=np.bool_),
        answer=np.full(n, Code.PENDING, dtype=np.int64),
        given=none,
        plan=none,
        log_rows=np.zeros(n, dtype=np.int64),
        memory=memory,
    )
