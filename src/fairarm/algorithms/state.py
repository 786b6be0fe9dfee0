"""The state of a run between two phases, for any number of replicates at once, and what it says when it ends."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from fairarm.core.types import BoolArray, FloatArray, IntArray

MOST_PHASES = 1 << 20
"""More than any run has: n(T) is 29 at T = 10^15."""


class Answer(IntEnum):
    """Codes of ``State.answer`` besides the position of the arm found."""

    NONE = -1
    UNDECIDED = -2
    PENDING = -3


class Status(StrEnum):
    """What a verdict can be. UNDECIDED: the run goes on, or ended without a usable estimate."""

    FOUND = "FOUND"
    NO_FAIR_ARM = "NO_FAIR_ARM"
    UNDECIDED = "UNDECIDED"


class Reason(IntEnum):
    """Why an arm was rejected."""

    NOT_REJECTED = 0
    WORSE = 1
    UNFAIR = 2


@dataclass(frozen=True)
class State:
    """What the next phase needs, and the last estimates. Leading axis n; phases are counted from 1 over all stages."""

    stage: int
    phase: int
    """Within the stage, of the plan that is out now."""
    closed: IntArray
    """(n,): phases closed so far, over all stages."""
    running: BoolArray
    """(n,): still pulling in this stage."""
    answer: IntArray
    """(n,): an arm's position or an Answer."""
    alive: BoolArray
    """R, (n, K)."""
    fair: BoolArray
    """F as of the last phase, (n, K)."""
    outcomes: FloatArray
    """Last Ŷ of each arm, (n, K); nan where undefined."""
    gaps: FloatArray
    """Last ζ̂^{s,s'} and ζ̂^{s',s}, (n, 2, K)."""
    rejected: IntArray
    """(n, K): the phase in which the arm was rejected, 0 if it was not."""
    reason: IntArray
    """(n, K): a Reason."""
    shares: FloatArray
    """The allocation in force, (n, R, K)."""
    target: FloatArray
    """C_u, the running sum of shares times phase lengths of this stage, (n, R, K)."""
    given: IntArray
    """Whole pulls planned in this stage, this phase's included, (n, R, K)."""
    plan: IntArray
    """This phase's pulls, (n, R, K)."""

    @classmethod
    def fresh(cls, n: int, regimes: int, arms: int) -> State:
        units, whole = (n, regimes, arms), np.int64
        return cls(
            stage=0,
            phase=0,
            closed=np.zeros(n, dtype=whole),
            running=np.ones(n, dtype=np.bool_),
            answer=np.full(n, Answer.PENDING, dtype=whole),
            alive=np.ones((n, arms), dtype=np.bool_),
            fair=np.zeros((n, arms), dtype=np.bool_),
            outcomes=np.full((n, arms), np.nan),
            gaps=np.full((n, 2, arms), np.nan),
            rejected=np.zeros((n, arms), dtype=whole),
            reason=np.zeros((n, arms), dtype=whole),
            shares=np.zeros(units),
            target=np.zeros(units),
            given=np.zeros(units, dtype=whole),
            plan=np.zeros(units, dtype=whole),
        )

    @cached_property
    def finished(self) -> bool:
        return bool(np.all(self.answer != Answer.PENDING))

    def but(self, **changes: Any) -> State:
        made = object.__new__(State)  # as dataclasses.replace, a tenth of its time: a run does this at every step
        made.__dict__.update({name: self.__dict__[name] for name in _FIELDS}, **changes)
        return made

    def to_json(self) -> dict[str, Any]:
        """Plain lists; nan becomes null."""
        return {name: _plain(getattr(self, name)) for name in _FIELDS}

    @classmethod
    def from_json(cls, document: Any, regimes: int, arms: int) -> State:
        """One replicate back from `to_json`, bit for bit; a TypeError or ValueError where a field is not what it was."""
        like = cls.fresh(1, regimes, arms)
        return cls(**{name: _restored(name, document[name], getattr(like, name)) for name in _FIELDS})


_FIELDS = tuple(f.name for f in fields(State))


def _plain(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "f":
        plain = value.astype(object)
        plain[np.isnan(value)] = None
        return plain.tolist()
    return value.tolist()


def _restored(name: str, value: Any, like: Any) -> Any:
    if not isinstance(like, np.ndarray):
        if not 0 <= checked_leaf(name, value, int) < MOST_PHASES:
            raise ValueError(f"'{name}' is {value}")
        return value
    kind = {"b": bool, "i": int, "f": float}[like.dtype.kind]
    flat: list[Any] = []
    _flatten(name, value, like.shape, kind, flat)
    return np.array(flat, dtype=np.float64 if kind is float else like.dtype).reshape(like.shape)  # None becomes nan


def _flatten(name: str, value: Any, shape: tuple[int, ...], kind: type, out: list[Any]) -> None:
    if not shape:
        out.append(None if value is None and kind is float else checked_leaf(name, value, kind))
        return
    if not isinstance(value, list) or len(value) != shape[0]:
        raise TypeError(f"'{name}' needs a list of {shape[0]}")
    for item in value:
        _flatten(name, item, shape[1:], kind, out)


def checked_leaf(name: str, value: Any, kind: type) -> Any:
    """A JSON value of exactly this kind; whole numbers are numbers, true and false are not."""
    fits = type(value) is kind or (kind is float and type(value) is int)
    if not fits:
        raise TypeError(f"'{name}' holds {value!r:.40}, not a value of type {kind.__name__}")
    return value


@dataclass(frozen=True)
class ArmReport:
    """What is known of one arm, in the outcome's own units; None where undefined."""

    name: str
    outcome: float | None
    gaps: dict[str, float | None]
    """ζ̂ keyed "s|s'" and "s'|s"."""
    fair: bool
    """In F, the arms shown to be fair, as of the last phase that tested; False once rejected."""
    rejected_in_phase: int | None
    reason: str


@dataclass(frozen=True)
class Verdict:
    """The answer, and why. ``arm`` is the name of the arm found."""

    status: Status
    arm: str | None
    arms: tuple[ArmReport, ...]
    phases: int
    """Phases closed."""
    finished: bool
    fairness_tested: bool
    """False for SRIS, which looks for the best arm of all."""
