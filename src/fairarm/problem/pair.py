"""The two groups of a problem, in order. What compares groups by name takes them from here, and refuses others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairarm.core.fairness import WAY_OUT
from fairarm.errors import ProblemError

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem


def require_pair(sensitive: str, groups: Sequence[str]) -> tuple[str, str]:
    """(s, s'), or an error that says what to do where there are not two."""
    if len(groups) != 2:
        raise ProblemError(
            f"The sensitive attribute '{sensitive}' has {len(groups)} groups ({', '.join(groups)}). {WAY_OUT}"
        )
    return groups[0], groups[1]


def pair_of(problem: Problem) -> tuple[str, str]:
    """(s, s') of a problem: a gap is the first one's mean minus the second's."""
    return require_pair(problem.sensitive, problem.groups)
