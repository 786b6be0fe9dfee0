"""What a problem holds by its groups and arms, and remembers which.

`dataclasses.replace` hands every part of the old problem to the new one, changed or not. By position, costs would go to another arm
and P(S) to another group without a word; by what is remembered here they follow, or are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


class Held(tuple[T, ...]):
    """A tuple as a problem holds it, with the groups and arms that it goes by."""

    groups: tuple[str, ...]
    arms: tuple[str, ...]

    @classmethod
    def by(cls, values: Iterable[T], groups: tuple[str, ...], arms: tuple[str, ...] = ()) -> Held[T]:
        """These values, by these groups and arms."""
        made = cls(values)
        made.groups, made.arms = groups, arms
        return made
