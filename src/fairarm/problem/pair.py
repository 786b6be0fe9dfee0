"""The two groups of a problem, in order, and problems whose groups are all that is asked about. What works for these alone asks here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairarm.core.fairness import WAY_OUT
from fairarm.errors import OptionError, ProblemError

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
    return require_pair(problem.attribute, problem.groups)


def require_plain(problem: Problem) -> None:
    """An error where groups' own means are not what is asked about: whoever compares these would answer another question."""
    if not problem.plain:
        raise OptionError(
            f"This algorithm compares the means of one attribute's groups, and problem '{problem.name}' asks about people as if they were of "
            f"another group, with causes, several attributes or kept nodes: use `pool` or `top-two`."
        )
