"""What is shown of the arms after a phase: estimates, rejections and what is believed. No step depends on it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np

from fairarm.algorithms.records import plain, restored
from fairarm.beliefs.draws import Draws
from fairarm.beliefs.standing import Standing
from fairarm.core.fairness import both_directions
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.problem.problem import Problem


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
    """Last ζ̂^{t,u} of every ordered pair of groups that is compared, (N, P, K): of two groups ζ̂^{s,s'} and ζ̂^{s',s}."""
    fair: BoolArray
    """F: arms shown to be fair, as of the last phase."""
    rejected: IntArray
    """The phase in which the arm was rejected, 0 if it was not."""
    reason: IntArray
    """A Reason."""
    standing: Standing | None
    """What is believed; None where the algorithm has no beliefs, and before its first phase has closed."""
    rows: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Last value of every row of fairness, scaled, (N, K, J); nan where the algorithm does not estimate it, and throughout,
    with J = 1, where it is not given."""

    def __post_init__(self) -> None:
        if self.rows.ndim == 1:
            object.__setattr__(self, "rows", np.full((*self.outcomes.shape, 1), np.nan))

    @classmethod
    def of(cls, outcomes: FloatArray, gap: FloatArray, fair: BoolArray, standing: Standing | None = None) -> Info:
        """Of a procedure that rejects no arm, where one gap per arm, (N, K), is all that is asked about."""
        none = np.zeros(outcomes.shape, dtype=np.int64)
        return cls(outcomes, both_directions(gap), fair, none, none, standing, gap[..., None])

    @classmethod
    def estimated(cls, problem: Problem, values: Draws, fair: BoolArray, standing: Standing | None = None) -> Info:
        """Of a procedure that rejects no arm, from outcomes (N, K) and means by group (N, K, G), whatever is asked about."""
        none = np.zeros(values.outcomes.shape, dtype=np.int64)
        rows = values.rows(problem.compiled.rows)
        return cls(values.outcomes, values.gaps(problem.compared), fair, none, none, standing, rows)

    @classmethod
    def unknown(cls, n: int, arms: int, pairs: int = 2, rows: int = 1) -> Info:
        """Before the first phase has closed; ``pairs`` of groups that are compared, ``rows`` of fairness."""
        none = np.zeros((n, arms), dtype=np.int64)
        outcomes, gaps, by_row = (np.full(shape, np.nan) for shape in ((n, arms), (n, pairs, arms), (n, arms, rows)))
        return cls(outcomes, gaps, none.astype(np.bool_), none, none, None, by_row)

    @classmethod
    def before(cls, problem: Problem, n: int) -> Info:
        """The same of a problem's arms, pairs and rows."""
        return cls.unknown(n, len(problem.arms), len(problem.compared), len(problem.rows))

    def updated(self, which: BoolArray, fresh: Info) -> Info:
        """With the replicates ``which`` replaced, in order, by those of ``fresh``: the others had stopped, and stay."""
        if which.all():
            return fresh
        made: dict[str, Any] = {name: getattr(self, name).copy() for name in _ARRAYS}
        for name, values in made.items():
            values[which] = getattr(fresh, name)
        standing = self.standing
        if fresh.standing is not None:
            standing = (standing or Standing.unknown(*self.rows.shape)).updated(which, fresh.standing)
        return Info(**made, standing=standing)

    def to_json(self) -> dict[str, Any]:
        """Plain lists; nan becomes null."""
        return plain(self)  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, document: Any, problem: Problem) -> Info:
        """One replicate back from `to_json`, bit for bit; a TypeError, KeyError or ValueError where it has another form."""
        like = cls.before(problem, 1)
        believed = None if document["standing"] is None else Standing.unknown(*like.rows.shape)
        return restored(document, replace(like, standing=believed), "info")


_ARRAYS = tuple(f.name for f in fields(Info) if f.name != "standing")
