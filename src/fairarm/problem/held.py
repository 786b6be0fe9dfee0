"""What a problem holds by its attributes, groups and arms, and remembers which.

`dataclasses.replace` hands every part of the old problem to the new one, changed or not. By position, costs would go to another arm
and P(S) to another group without a word; by what is remembered here they follow, or are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


class Held(tuple[T, ...]):
    """A tuple as a problem holds it, with the groups (or forced regimes), arms and sensitive attributes that it goes by."""

    groups: tuple[str, ...]
    arms: tuple[str, ...]
    attributes: tuple[str, ...]

    @classmethod
    def by(
        cls, values: Iterable[T], groups: tuple[str, ...], arms: tuple[str, ...] = (), attributes: tuple[str, ...] = ()
    ) -> Held[T]:
        """These values, by these groups, arms and attributes."""
        made = cls(values)
        made.groups, made.arms, made.attributes = groups, arms, attributes
        return made
