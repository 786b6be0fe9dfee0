"""Who enters a live study, and when: decided before anything is seen, and evenly over whole cycles (docs/certified.md, part 5).

Outcomes differ by hour and weekday. People who enter must then be a fair sample of the hours, and an arm must not be tied to one.
So each arrival enters by a hash of its name, with a share that is fixed when the cohort opens; the cards of a cohort are shuffled
once; and a part of the day in which cards had run out is found.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairarm.core.types import FloatArray, IntArray

SPARE = 1.25
"""Cards of a deck for each person who is to enter, so that it rarely runs out."""

LOOKED_BACK = 3
"""Cohorts that tell how many people arrive."""

PARTS = 24
"""Of a cycle, for coverage."""

UNEVEN, VOID = 0.8, 0.5
"""A part of the cycle with cards for less than this share of the best covered one's time is a finding; for less than the other,
the study is void."""


def entry_number(key: bytes, unit: str) -> float:
    """A number in [0, 1) that depends on the study's key and the unit's name alone: BLAKE2b, its first 53 bits."""
    digest = hashlib.blake2b(unit.encode("utf-8"), key=key, digest_size=8).digest()
    return float((int.from_bytes(digest, "big") >> 11) / (1 << 53))


def entry_share(people: float, arrivals: float) -> float:
    """min(1, people / expected arrivals), both of a cohort."""
    return min(1.0, people / arrivals)


def deck_size(people: int) -> int:
    """Cards of a cohort that ``people`` are to enter: ⌈1.25 · people⌉."""
    return math.ceil(SPARE * people - 1e-9)


def dealt_deck(counts: IntArray, rng: np.random.Generator) -> IntArray:
    """The arms of whole pulls (K,) in the order in which they are dealt, shuffled."""
    deck = np.repeat(np.arange(len(counts)), counts)
    rng.shuffle(deck)
    return deck


def expected_arrivals(
    declared: float, dealt: Sequence[float], share: Sequence[float], covered: Sequence[float]
) -> float:
    """Arrivals of the next cohort: the median of dealt / (share · part of the time with cards) over the last three; as declared
    where no cohort has dealt a card. Each sequence has one entry per closed cohort."""
    known = [d / (s * c) for d, s, c in zip(dealt, share, covered, strict=True) if d > 0 and s > 0 and c > 0]
    return float(np.median(known[-LOOKED_BACK:])) if known else declared


def under_way_at_once(people: int, window: float, cohort: float) -> int:
    """People whose outcomes are out at the same time: people · (1 + window/cohort)."""
    return math.ceil(people * (1 + window / cohort) - 1e-9)


@dataclass(frozen=True, eq=False)
class Coverage:
    """For how long there were cards in each part of the cycle, (PARTS,), over whole cycles so far."""

    time: FloatArray

    @property
    def share(self) -> FloatArray:
        """Of the best covered part's time, (PARTS,); 1 before anything was dealt."""
        best = float(self.time.max())
        return np.ones_like(self.time) if best <= 0 else np.asarray(self.time / best)

    @property
    def least(self) -> float:
        """Of the part that is covered worst."""
        return float(self.share.min())

    @property
    def uneven(self) -> bool:
        """It is to be said."""
        return self.least < UNEVEN

    @property
    def void(self) -> bool:
        """Nothing is certified: some hours hardly had a chance."""
        return self.least < VOID


def time_with_cards(start: float, stop: float, cycle: float) -> FloatArray:
    """How much of the time from ``start`` to ``stop`` lies in each part of the cycle, (PARTS,); parts begin at 0."""
    edges = np.arange(PARTS + 1) * cycle / PARTS
    return np.diff(_in_parts(stop, cycle, edges) - _in_parts(start, cycle, edges))


def _in_parts(time: float, cycle: float, edges: FloatArray) -> FloatArray:
    """Time before ``time`` that lies before each edge within its cycle."""
    whole, rest = divmod(time, cycle)
    return np.asarray(whole * edges + np.minimum(rest, edges))
