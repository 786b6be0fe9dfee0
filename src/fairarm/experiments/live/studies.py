"""Live studies from opening to answer, many at once: cohorts by time of assignment, settled in order when matured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from fairarm.algorithms.certificates import Books
from fairarm.algorithms.cohort import Cohort, Loss, Missing, of_kind
from fairarm.algorithms.exposure import Exposure, exposure
from fairarm.algorithms.live import LiveRule, people_to_enter
from fairarm.algorithms.pool import Pool
from fairarm.algorithms.state import State
from fairarm.algorithms.timing import Timing
from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.answer import Code
from fairarm.core.entry import PARTS, dealt_deck, entry_share, expected_arrivals, time_with_cards
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.experiments.live.world import LiveWorld
from fairarm.problem.problem import Problem

MOST_COHORTS = 4000
"""After these a study ends undecided."""


class Hand(Protocol):
    """Somebody who may stop an open cohort, and may look at outcomes."""

    def stops(self, seen: IntArray) -> BoolArray:
        """(n,): after the first half of a cohort, whose rows by arm, group and row (n, K, G, O) are in sight."""
        ...


@dataclass(frozen=True, eq=False)
class Made:
    """One cohort that is out. ``told`` (n, K, G, O, 2): rows that are told within the window, and those that are not."""

    number: int
    closes: float
    dealt: IntArray
    """(n, R, K)."""
    told: IntArray
    cut: BoolArray

    @property
    def seen(self) -> IntArray:
        """Rows that count, (n, K, G, O)."""
        return np.asarray(self.told[..., :-1].sum(axis=-1))

    @property
    def by_group(self) -> IntArray:
        """(n, K, G)."""
        return np.asarray(self.told.sum(axis=(3, 4)))


@dataclass(eq=False)
class Ended:
    """How n studies ended, (n,) each unless said otherwise."""

    answer: IntArray
    """An arm, or a `Code`."""
    days: FloatArray
    """Until the answer."""
    people: IntArray
    """Dealt a card by then, also those whose outcome is still out."""
    by_arm: IntArray
    """The same by arm, (n, K)."""
    lost: IntArray
    """Outcomes of settled cohorts that never came in time."""
    cohorts: IntArray
    void: BoolArray
    """Ended by a monitor."""


class LiveStudies:
    """n studies in one world that go on side by side: each has its own people and its own state."""

    by_day: ClassVar[bool] = False
    """What is told is kept by the day, (n, K, G, O, D + 1), the last being never: for those who look at it before the window is over."""

    def __init__(
        self,
        pool: Pool,
        world: LiveWorld,
        timing: Timing,
        studies: int,
        seed: int,
        *,
        loss: Loss,
        group_at_arrival: bool = True,
        cell_known: bool = False,
        hand: Hand | None = None,
        outages: frozenset[int] = frozenset(),
        watched: bool = True,
        pauses: bool = True,
    ) -> None:
        self.pool, self.timing, self.loss = pool, timing, loss
        self.world = world if self.by_day else world.told_within(timing.window)
        self.group_at_arrival, self.cell_known = group_at_arrival, cell_known
        self.hand, self.outages = hand, outages
        self.rule = LiveRule(pool, loss, watched, pauses, alarm_pauses=watched)
        self.n, self.seed = studies, seed
        self.rng = np.random.default_rng([seed, 7])
        self.now = self.rule.start(studies)
        self.waiting: list[Made] = []
        self.coverage = np.zeros((studies, PARTS))
        self.entered: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self.served: list[tuple[IntArray, FloatArray]] = []
        self.ended = Ended(
            answer=np.full(studies, int(Code.PENDING)),
            days=np.full(studies, np.nan),
            people=np.zeros(studies, dtype=np.int64),
            by_arm=np.zeros((studies, len(pool.problem.arms)), dtype=np.int64),
            lost=np.zeros(studies, dtype=np.int64),
            cohorts=np.zeros(studies, dtype=np.int64),
            void=np.zeros(studies, dtype=np.bool_),
        )

    @property
    def problem(self) -> Problem:
        """What the studies are about."""
        return self.pool.problem

    @property
    def state(self) -> State[Books]:
        """Of all studies."""
        return self.now.state

    def run(self) -> Ended:
        """To the end of all; a study of `MOST_COHORTS` is given up."""
        for number in range(MOST_COHORTS):
            self.settle_ready(number * self.timing.cohort)
            if not self.state.running.any():
                return self.ended
            self.open(number)
        left = self.state.running
        self.ended.answer[left], self.ended.days[left] = Code.UNDECIDED, MOST_COHORTS * self.timing.cohort
        return self.ended

    def exposures(self, means: FloatArray, reference: IntArray) -> list[Exposure]:
        """Whom each study has served with what, where arms have these means by group, (n, K, G), and people would have had the arm
        ``reference`` (n,) instead."""
        people, then = (np.stack(part, axis=1) for part in zip(*self.served, strict=True))
        return [exposure(people[i], then[i], self.now.fair[i], means[i], int(reference[i])) for i in range(self.n)]

    # ---- a cohort opens and is dealt ----

    def open(self, number: int) -> None:
        """Cards planned by what is settled now, dealt to those who enter."""
        under_way = np.zeros_like(self.state.given)
        for made in self.waiting:
            under_way += made.dealt
        cards = self.rule.cards(self.now, under_way, self.timing.people, self.seed, number)
        share = self.entry(people_to_enter(self.timing.people, cards.sum(axis=(1, 2))))
        entering = self.world.people(self.n, number * self.timing.cohort, self.timing.cohort, share, self.rng)
        dealt = self._dealt(cards[:, 0], entering)
        made = self._made(number, dealt)
        left = cards.sum(axis=(1, 2)) > dealt.sum(axis=(1, 2))
        covered = np.where(left, 1.0, _covered(dealt)) * np.where(made.cut, 0.5, 1.0)
        self._cover(made, covered)
        self.entered.append((made.dealt.sum(axis=(1, 2)), share, covered))
        self.served.append((made.by_group, self.now.fair))
        self.ended.people += made.dealt.sum(axis=(1, 2))
        self.ended.by_arm += made.dealt.sum(axis=1)
        self.ended.cohorts += self.state.running
        self.waiting.append(made)

    def _cover(self, made: Made, covered: FloatArray) -> None:
        """The time with cards in each part of the cycle; a cohort that was cut ends at its half, on purpose."""
        start, days = made.closes - self.timing.cohort, self.timing.cohort
        for i in np.flatnonzero(self.state.running & ~made.cut & (made.dealt.sum(axis=(1, 2)) > 0)):
            self.coverage[i] += time_with_cards(start, start + days * float(covered[i]), self.timing.cycle)

    def entry(self, people: FloatArray) -> FloatArray:
        """The share of arrivals that enters, (n,), fixed at opening, where so many ``people`` (n,) are to: fewer at the end, when few
        cards are left."""
        timing, known = self.timing, self.entered[-3:]
        expected = np.array(
            [
                expected_arrivals(
                    timing.arrivals * timing.cohort, *([part[i] for part in kind] for kind in _columns(known))
                )
                for i in range(self.n)
            ]
        )
        return np.array([entry_share(each, of) for each, of in zip(people, expected, strict=True)])

    def _dealt(self, cards: IntArray, entering: IntArray) -> IntArray:
        """People by hour and arm, (n, hours, K): each study's deck is shuffled, and dealt as they enter until it runs out."""
        dealt = np.zeros((*entering.shape, cards.shape[1]), dtype=np.int64)
        until = np.cumsum(entering, axis=1)
        for i, counts in enumerate(cards):
            deck = dealt_deck(counts, self.rng)
            hour = np.searchsorted(until[i], np.arange(len(deck)), side="right")
            on_time = hour < entering.shape[1]
            np.add.at(dealt[i], (hour[on_time], deck[on_time]), 1)
        return dealt

    def _made(self, number: int, dealt: IntArray) -> Made:
        """What comes of those who were dealt a card; the hand may stop the second half."""
        start, half = number * self.timing.cohort, dealt.shape[1] // 2
        cut = np.zeros(self.n, dtype=np.bool_)
        if self.hand is None:
            told = self.world.outcomes(dealt, start, self.rng)
        else:
            first, second = dealt.copy(), dealt.copy()
            first[:, half:] = 0
            second[:, :half] = 0
            told = self.world.outcomes(first, start, self.rng)
            cut = self.hand.stops(told.sum(axis=-1)) & self.state.running
            second[cut] = 0
            dealt = first + second
            told = told + self.world.outcomes(second, start, self.rng)
        if number in self.outages:
            told = np.concatenate([np.zeros_like(told[..., :-1]), told.sum(axis=-1, keepdims=True)], axis=-1)
        by_unit = np.zeros_like(self.state.given)
        by_unit[:, 0] = dealt.sum(axis=1)
        return Made(number, start + self.timing.cohort, by_unit, told, cut)

    # ---- a cohort is settled ----

    def settle_ready(self, now: float) -> None:
        """All that has matured, in order of opening."""
        while self.waiting and self.waiting[0].closes + self.timing.window <= now + 1e-9:
            made = self.waiting.pop(0)
            self.settle(self.cohort_of(made), made.closes + self.timing.window)

    def settle(self, cohort: Cohort, at: float) -> None:
        """One cohort, at this day."""
        running = self.state.running
        if cohort.missing is not None:
            self.ended.lost += np.where(running, cohort.missing.sum(axis=(1, 2, 3)), 0)
        self.now, _ = self.rule.settle(self.now, cohort, self.seed, self.coverage)
        self.ended.void |= self.now.void
        done = running & ~self.state.running
        self.ended.days[done] = at
        self.ended.answer[done] = self.state.answer[done]

    def cohort_of(self, made: Made) -> Cohort:
        """As it is settled: rows told within the window, the others filled where not reported means a state, else lost."""
        rows, kind = self._rows(made), self.loss.kind
        missing = of_kind(made.dealt - rows.pulls(), kind)
        cut, weekday = (made.cut if made.cut.any() else None), int(made.closes - self.timing.cohort + 1e-9) % 7
        cohort = Cohort(rows, missing if missing.any() else None, self.loss, cut=cut, weekday=weekday)
        if not self.group_at_arrival:
            return replace(cohort, by_shares=True)
        cohort = replace(cohort, by_group=of_kind(made.by_group - rows.counts[:, 0].sum(axis=3), kind))
        if self.cell_known and kind == Missing.UNKNOWN and cohort.missing is not None:
            return replace(cohort, in_cells=self._lost_cells(made))
        return cohort

    def _lost_cells(self, made: Made) -> IntArray:
        """Those whose outcome does not come by cell, (n, K, G, X)."""
        lost = made.told[..., -1]
        return np.asarray(lost.reshape(*lost.shape[:3], -1, len(self.problem.outcome.scaled_values)).sum(axis=4))

    def _rows(self, made: Made) -> CellEvidence:
        """The rows of a cohort that count, filled ones too."""
        seen, unplaced, state = made.seen, None, self.loss.state
        if state is not None and self.cell_known and self.group_at_arrival:
            seen = seen.copy()
            seen[..., state :: self.loss.states] += self._lost_cells(made)
        elif state is not None:
            groups = seen.shape[2]
            unplaced = np.zeros((*seen.shape[:2], groups + 1, self.loss.states), dtype=np.int64)
            lost = made.told[..., -1].sum(axis=3)
            unplaced[:, :, :groups, state] = lost if self.group_at_arrival else 0
            unplaced[:, :, groups, state] = 0 if self.group_at_arrival else lost.sum(axis=2)
        return self._evidence(seen, unplaced)

    def _evidence(self, seen: IntArray, unplaced: IntArray | None = None) -> CellEvidence:
        counts = np.zeros((self.n, len(self.problem.regimes), *seen.shape[1:]), dtype=np.int64)
        counts[:, 0] = seen
        return CellEvidence(self.problem, counts, unplaced)


def _covered(dealt: IntArray) -> FloatArray:
    """The part of a cohort's hours until the last card was dealt, (n,)."""
    hours = dealt.shape[1]
    some = dealt.sum(axis=2) > 0
    last = hours - np.argmax(some[:, ::-1], axis=1)
    return np.where(some.any(axis=1), last / hours, 1.0)


def _columns(entered: list[tuple[FloatArray, FloatArray, FloatArray]]) -> list[list[FloatArray]]:
    return [[each[i] for each in entered] for i in range(3)]
