"""What is shown of the arms after a phase: estimates, rejections and what is believed. No step depends on it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np

from fairarm.algorithms.records import plain, restored
from fairarm.beliefs.standing import Standing
from fairarm.core.fairness import both_directions
from fairarm.core.types import BoolArray, FloatArray, IntArray


class Reason(IntEnum):
    """Why an arm was rejected."""

    NOT_REJECTED = 0
    WORSE = 1
    UNFAIR = 2


@dataclass(frozen=True)
class Info:
    """Of each replicate, (N, K) unless said otherwise. A step gives it of the replicates that were running, in order."""

    outcomes: FloatArray
    """Last Ŷ' of each arm; nan where undefined."""
    gaps: FloatArray
    """Last ζ̂^{s,s'} and ζ̂^{s',s}, (N, 2, K)."""
    fair: BoolArray
    """F: arms shown to be fair, as of the last phase."""
    rejected: IntArray
    """The phase in which the arm was rejected, 0 if it was not."""
    reason: IntArray
    """A Reason."""
    standing: Standing | None
    """What is believed; None where the algorithm has no beliefs, and before its first phase has closed."""

    @classmethod
    def of(cls, outcomes: FloatArray, gap: FloatArray, fair: BoolArray, standing: Standing | None = None) -> Info:
        """Of a procedure that rejects no arm, with one gap per arm, (N, K)."""
        none = np.zeros(outcomes.shape, dtype=np.int64)
        return cls(outcomes, both_directions(gap), fair, none, none, standing)

    @classmethod
    def unknown(cls, n: int, arms: int) -> Info:
        """Before the first phase has closed."""
        nothing = np.full((n, arms), np.nan)
        return cls.of(nothing, nothing, np.zeros((n, arms), dtype=np.bool_))

    def updated(self, which: BoolArray, fresh: Info) -> Info:
        """With the replicates ``which`` replaced, in order, by those of ``fresh``: the others had stopped, and stay."""
        if which.all():
            return fresh
        made: dict[str, Any] = {name: getattr(self, name).copy() for name in _ARRAYS}
        for name, values in made.items():
            values[which] = getattr(fresh, name)
        standing = self.standing
        if fresh.standing is not None:
            standing = (standing or Standing.unknown(*self.fair.shape)).updated(which, fresh.standing)
        return Info(**made, standing=standing)

    def to_json(self) -> dict[str, Any]:
        """Plain lists; nan becomes null."""
        return plain(self)  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, document: Any, arms: int) -> Info:
        """One replicate back from `to_json`, bit for bit; a TypeError, KeyError or ValueError where it has another form."""
        believed = None if document["standing"] is None else Standing.unknown(1, arms)
        return restored(document, replace(cls.unknown(1, arms), standing=believed), "info")


_ARRAYS = tuple(f.name for f in fields(Info) if f.name != "standing")
