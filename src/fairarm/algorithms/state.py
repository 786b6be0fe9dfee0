"""The state of a run between two phases, for any number of replicates at once, and what it says when it ends."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum, StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from fairarm.beliefs.standing import Standing
from fairarm.core.answer import Code
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.frames import Column, columns_of, limits
from fairarm.problem.answer import Answer, Status
from fairarm.shown import Fact, Shown

MOST_PHASES = 1 << 20
"""More than any run has: n(T) is 29 at T = 10^15."""


class Reason(IntEnum):
    """Why an arm was rejected."""

    NOT_REJECTED = 0
    WORSE = 1
    UNFAIR = 2


class Guarantee(StrEnum):
    """What a verdict's probability of being right rests on. The two that stop when sure are never to be confused."""

    NONE = "none"
    """A fixed number of pulls, no statement of how sure."""
    POSTERIOR = "posterior"
    """A fixed number of pulls; the posterior probability of the answer."""
    BAYES_STOP = "bayes-stop"
    """Stopped when the posterior probability reached the confidence: calibrated by simulation, not proved."""
    CERTIFIED = "certified"
    """Stopped when a bound that holds for any truth and any sampling excluded every other answer: proved."""


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
    """(n,): an arm's position or a Code."""
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
    standing: Standing
    log_gap: FloatArray
    log_pair: FloatArray
    """Log wealth of the bets of a certified run, (n, 3, K) and (n, P, K, K); empty in other runs."""
    log_rows: IntArray
    """(n,): rows of the log that the run started from. Not saved with the state: the log is."""

    @classmethod
    def fresh(cls, n: int, regimes: int, arms: int) -> State:
        units, whole = (n, regimes, arms), np.int64
        return cls(
            stage=0,
            phase=0,
            closed=np.zeros(n, dtype=whole),
            running=np.ones(n, dtype=np.bool_),
            answer=np.full(n, Code.PENDING, dtype=whole),
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
            standing=Standing.unknown(n, arms),
            log_gap=np.zeros((n, 0)),
            log_pair=np.zeros((n, 0)),
            log_rows=np.zeros(n, dtype=whole),
        )

    @cached_property
    def finished(self) -> bool:
        return bool(np.all(self.answer != Code.PENDING))

    def but(self, **changes: Any) -> State:
        made = object.__new__(State)  # as dataclasses.replace, a tenth of its time: a run does this at every step
        made.__dict__.update({name: self.__dict__[name] for name in _FIELDS}, **changes)
        return made

    def to_json(self) -> dict[str, Any]:
        """Plain lists; nan becomes null."""
        return {_KEYS.get(name, name): _plain(getattr(self, name)) for name in _SAVED}

    @classmethod
    def from_json(cls, document: Any, like: State) -> State:
        """One replicate back from `to_json`, bit for bit; a TypeError or ValueError where a field has not the form it has in
        ``like``, a state of the same procedure and log."""
        return like.but(
            **{name: _restored(name, document[_KEYS.get(name, name)], getattr(like, name)) for name in _SAVED}
        )


_FIELDS = tuple(f.name for f in fields(State))
_KEYS = {"standing": "belief"}
"""Names in documents of schemas 2 to 4."""
_SAVED = tuple(name for name in _FIELDS if name != "log_rows")


def _plain(value: Any) -> Any:
    if isinstance(value, Standing):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "f":
        plain = value.astype(object)
        plain[np.isnan(value)] = None
        return plain.tolist()
    return value.tolist()


def _restored(name: str, value: Any, like: Any) -> Any:
    if isinstance(like, Standing):
        return Standing(**{f.name: _restored(f.name, value[f.name], getattr(like, f.name)) for f in fields(like)})
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
    best_probability: float | None
    """That it is the best fair arm; None where the algorithm does not say (also below)."""
    fair_probability: float | None
    outcome_interval: tuple[float, float] | None
    gap_interval: tuple[float, float] | None
    """95 % limits of the first gap."""
    certified: str | None
    """"fair", "unfair", "worse" or "unfair or worse", where proved."""
    effective_rows: float | None
    largest_weight: float | None
    overlap: float | None
    unseen: float | None


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """The answer, and why."""

    answer: Answer
    arms: tuple[ArmReport, ...]
    phases: int
    """Phases closed."""
    finished: bool
    fairness_tested: bool
    """False for SRIS, which looks for the best arm of all."""
    guarantee: Guarantee
    confidence: float | None
    """1 − δ of a run that stops when sure."""
    leader: str | None
    """The answer, or, while there is none, the most probable one: an arm's name, or "no fair arm"."""
    probability: float | None
    """Of that being right, by the posterior."""
    none_probability: float | None
    """That no arm is fair."""
    runner_up: str | None
    """The next most probable answer: an arm's name, or "no fair arm"."""
    runner_up_probability: float | None
    method: str | None
    """How arms were estimated: "cell means" or "doubly robust"."""
    min_fair_probability: float | None = None
    """The gate: an arm is named only if it is fair with this probability, by the posterior; None where there is none."""
    gated: bool = False
    """An arm is more likely to be the best fair arm than the answer is to be right, but does not pass the gate."""

    @property
    def status(self) -> Status:
        """FOUND, NO_FAIR_ARM or UNDECIDED."""
        return self.answer.status

    @property
    def arm(self) -> str | None:
        """The name of the arm found."""
        return self.answer.arm

    def _facts(self) -> list[Fact]:
        return [
            ("status", self.status), ("arm", self.arm), ("guarantee", self.guarantee), ("confidence", self.confidence),
            ("probability", self.probability), ("leader", self.leader), ("finished", self.finished),
        ]  # fmt: skip

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        heads = ("arm", "outcome", "P(fair)", "P(best fair)", "certified", "why")
        return heads, [
            (a.name, a.outcome, a.fair_probability, a.best_probability, a.certified, a.reason) for a in self.arms
        ]

    def _columns(self) -> dict[str, Column]:
        gaps = [tuple(arm.gaps.values()) for arm in self.arms]
        return {
            "arm": (str, [arm.name for arm in self.arms]),
            **columns_of(self.arms, outcome=float),
            **limits("outcome", [arm.outcome_interval for arm in self.arms]),
            "gap": (float, [first for first, _ in gaps]),
            **limits("gap", [arm.gap_interval for arm in self.arms]),
            "gap_other_way": (float, [second for _, second in gaps]),
            **columns_of(
                self.arms, fair=bool, fair_probability=float, best_probability=float, certified=str, rejected_in_phase=int,
                reason=str, effective_rows=float, largest_weight=float, overlap=float, unseen=float,
            ),
        }  # fmt: skip
