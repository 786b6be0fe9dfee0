"""A live study from cohort to cohort: what is settled, who is watched, which arms are dealt. Simulated studies and stored ones
are driven by this alone; neither a clock nor storage is in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairarm.algorithms.certificates import Books
from fairarm.algorithms.cohort import Cohort, Loss
from fairarm.algorithms.info import Info
from fairarm.algorithms.pool import Pool
from fairarm.algorithms.state import State
from fairarm.algorithms.watch import Watch, Watched
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.findings import Finding, Level
from fairarm.beliefs.standing import Proof, Standing
from fairarm.core.answer import Code
from fairarm.core.entry import SPARE, Coverage, deck_size
from fairarm.core.types import BoolArray, FloatArray, IntArray

UNFAIR = (Proof.UNFAIR, Proof.UNFAIR_TO_FIRST, Proof.UNFAIR_TO_SECOND)

UNLIKELY = 0.01
"""Below this posterior probability, a statement that is certified is contradicted."""


@dataclass(frozen=True, eq=False)
class Settled:
    """What settled cohorts of n studies have left: all that the next one needs, and no more."""

    state: State[Books]
    so_far: CellEvidence
    """All rows of settled cohorts."""
    watched: Watched
    fair: FloatArray
    """P(fair) of each arm, (n, K); nan before anything was settled."""
    proof: IntArray
    """(n, K)."""
    void: BoolArray
    """(n,): ended by a monitor, or because the posterior contradicts the certificate."""
    contradicted: BoolArray
    """(n, 1 + K): whether the posterior contradicts the certified answer, and the proof of each arm."""


@dataclass(frozen=True)
class LiveRule:
    """How a study goes on. ``watched``: the guard, the check of who enters when, and a posterior that contradicts the certificate can void
    it; ``pauses``: arms that are proved unfair are dealt no more; ``alarm_pauses``: nor are those whose guard has given alarm."""

    pool: Pool
    loss: Loss
    watched: bool = True
    pauses: bool = True
    alarm_pauses: bool = True

    @cached_property
    def watch(self) -> Watch:
        """The guard."""
        return Watch(self.pool.problem, self.loss)

    def start(self, n: int) -> Settled:
        """n studies of which no cohort has been opened."""
        arms = len(self.pool.problem.arms)
        return Settled(
            state=self.pool.start_live(n),
            so_far=CellEvidence.empty(self.pool.problem, n),
            watched=self.watch.start(n),
            fair=np.full((n, arms), np.nan),
            proof=np.zeros((n, arms), dtype=np.int64),
            void=np.zeros(n, dtype=np.bool_),
            contradicted=np.zeros((n, 1 + arms), dtype=np.bool_),
        )

    def settle(self, now: Settled, cohort: Cohort, seed: int, coverage: FloatArray) -> tuple[Settled, Info | None]:
        """With the next matured cohort, in order of opening; ``coverage`` (n, PARTS): for how long there were cards in each part of the
        cycle. The info is of the studies that were running; None where none was."""
        running = now.state.running
        so_far = now.so_far.plus(cohort.rows)  # type: ignore[arg-type]
        if not running.any():  # the answer stands
            dealt = now.state.but(given=now.state.given + cohort.dealt)
            return replace(now, state=dealt, so_far=so_far), None
        state, info = self.pool.settle(now.state, cohort, so_far, seed)
        fair, proof, contradicted = now.fair.copy(), now.proof.copy(), now.contradicted.copy()
        if info.standing is not None:
            fair[running], proof[running] = info.standing.fair, info.standing.proof
            contradicted[running] = contradictions(info.standing, state.answer[running])
        void = now.void | (running & state.memory.void)
        after = Settled(state, so_far, now.watched, fair, proof, void, contradicted)
        return (self._looked_at(after, cohort, seed, coverage, running) if self.watched else after), info

    def _looked_at(self, now: Settled, cohort: Cohort, seed: int, coverage: FloatArray, running: BoolArray) -> Settled:
        """What the guard says, whether people entered evenly, and whether the posterior contradicts an answer: each may void studies that
        were ``running``."""
        fair, number = now.proof == Proof.FAIR, int(now.state.closed.max())
        watched = self.watch.after(now.watched, cohort, seed, number, fair)
        uneven = np.array([Coverage(time).void for time in coverage])
        answered = now.state.answer >= Code.NONE
        void = running & (watched.void | uneven | (answered & now.contradicted.any(axis=1)))
        return replace(now, state=self.pool.voided(now.state, void), watched=watched, void=now.void | void)

    def left_out(self, now: Settled, dealt: IntArray) -> Settled:
        """A cohort that counts for nothing, though its people (n, R, K) were dealt a card."""
        return replace(now, state=now.state.but(given=now.state.given + dealt))

    def paused(self, now: Settled) -> BoolArray | None:
        """(n, K): arms that are dealt no more, by settled cohorts; none where it would be all of a study's."""
        stopped = np.zeros(now.proof.shape, dtype=np.bool_)
        if self.pauses:
            stopped |= np.isin(now.proof, UNFAIR)
        if self.pauses and self.alarm_pauses:
            stopped |= now.watched.alarmed
        return np.where(stopped.all(axis=1, keepdims=True), False, stopped) if self.pauses else None

    def cards(self, now: Settled, under_way: IntArray, people: int, seed: int, number: int) -> IntArray:
        """The cards of cohort ``number``, (n, R, K), where ``people`` are to enter beside those ``under_way`` (n, R, K)."""
        return self.pool.open(
            now.state, now.so_far, under_way, deck_size(people), seed, number, paused=self.paused(now), dealt=1 / SPARE
        )

    def findings(self, now: Settled, coverage: FloatArray, study: int = 0) -> tuple[Finding, ...]:
        """What is to be said of one study: of its law, its monitors, its guard and of who entered when."""
        law = self.pool.law_report(now.state, study).findings
        guard, entry = self.watch.findings(now.watched, study), entry_findings(Coverage(coverage[study]))
        return (*law, *guard, *entry, *self._contradiction(now, study), *self._needs_paused_arm(now, study))

    def _contradiction(self, now: Settled, study: int) -> tuple[Finding, ...]:
        if not now.contradicted[study].any():
            return ()
        named = ("the answer", *self.pool.problem.arm_names)
        arms = tuple(named[k] for k in np.flatnonzero(now.contradicted[study]))
        return (Finding("certificate-contradicts-posterior", CONTRADICTION, 0, arms, Level.BLOCKS_ANSWER),)

    def _needs_paused_arm(self, now: Settled, study: int) -> tuple[Finding, ...]:
        """A guard's alarm is no proof: while an arm that it pauses may still be the answer, no other answer can be certified."""
        paused = self.paused(now)
        if paused is None or now.state.answer[study] >= Code.NONE:
            return ()
        open_ = paused[study] & ~now.state.memory.refuted[study, 1:]
        names = tuple(self.pool.problem.arm_names[k] for k in np.flatnonzero(open_))
        return (Finding("needs-paused-arm", NEEDS_PAUSED_ARM, 0, names, Level.WARNING),) if names else ()


def contradictions(standing: Standing, answer: IntArray) -> BoolArray:
    """Where the posterior gives less than `UNLIKELY` to what is certified, (n, 1 + K): the answer (n,), and each arm's proof."""
    named = answer >= Code.NONE
    believed = standing.probability(np.where(named, answer, int(Code.NONE)))
    fair = (standing.proof == Proof.FAIR) & (standing.fair < UNLIKELY)
    unfair = np.isin(standing.proof, UNFAIR) & (standing.fair > 1 - UNLIKELY)
    return np.concatenate([(named & (believed < UNLIKELY))[:, None], fair | unfair], axis=1)


def entry_findings(coverage: Coverage) -> tuple[Finding, ...]:
    """Whether people entered evenly over the cycle."""
    if not coverage.uneven:
        return ()
    level, more = (Level.BLOCKS_CERTIFICATION, VOID_ENTRY) if coverage.void else (Level.WARNING, "")
    return (Finding("uneven-entry", UNEVEN_ENTRY + more, 0, _parts(coverage), level),)


def _parts(coverage: Coverage) -> tuple[str, ...]:
    """The worst covered parts of the cycle, at most five."""
    share = coverage.share
    worst = [int(part) for part in np.argsort(share, kind="stable")[:5] if share[part] < 1]
    return tuple(f"part {part + 1} of {len(share)}: {share[part]:.2f}" for part in worst)


def people_to_enter(people: int, cards: FloatArray | IntArray) -> FloatArray:
    """How many are to enter a cohort that has so many ``cards``: fewer at the end, when few are left."""
    return np.asarray(np.minimum(people, np.asarray(cards) / SPARE))


CONTRADICTION = (
    "The certificate and the posterior contradict each other. Something that was declared is wrong (a mechanism, the law of contexts, the "
    "meaning of an outcome that is not reported), or people without an outcome differ from the others. The study gives no answer."
)
NEEDS_PAUSED_ARM = (
    "The guard paused these arms, but they are not proved unfair. The study can certify an answer only after it has refuted them, and it may "
    "need more people in them for that. If it does not end, close it and start one without these arms, or one with on_alarm='tell'."
)
UNEVEN_ENTRY = (
    "Some parts of the cycle had cards for a smaller part of their time than others: decks ran out, or a cohort opened late. Outcomes "
    "differ by the hour, so those who entered are not like all who come. Ask for fewer people, correct the arrivals, and keep ticks going."
)
VOID_ENTRY = " Some had less than half of the time of others: nothing is certified in this study."
