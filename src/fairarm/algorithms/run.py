"""Ask/tell: an algorithm as three calls around any procedure.

    plan = algorithm.ask()          # what is missing of this phase; changes nothing
    algorithm.tell(rows, id="...")  # rows or counts, in parts, in any order
    algorithm.verdict()             # FOUND, NO_FAIR_ARM or UNDECIDED, with a reason for every arm

A phase closes when its plan is met, or on `close_phase` with what arrived. An algorithm never sees a world, a file or
a clock; its state is JSON, and a resumed run continues the same stream bit for bit.

All that changes is one `Progress`, which is replaced as a whole: a step happens or it does not, whoever else reads, tells
or saves at the same time from another thread.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairarm.algorithms.best_mixture import BestMixture, mixture_of
from fairarm.algorithms.cohort import WORST, Cohort, Loss, divided, of_kind
from fairarm.algorithms.info import Info
from fairarm.algorithms.notes import Note, RunNote, noted, plain_notes, restored_notes
from fairarm.algorithms.procedure import Guarantee, Procedure, SettlesCohorts, require_log_start
from fairarm.algorithms.records import checked_leaf, plain, require_savable
from fairarm.algorithms.saved import fingerprint, saved_run
from fairarm.algorithms.state import State
from fairarm.algorithms.verdict import Verdict, verdict
from fairarm.beliefs.beliefs import Beliefs, Smoothness, believe
from fairarm.beliefs.evidence import RunEvidence, empty_evidence
from fairarm.beliefs.from_log import rows_of, with_earlier
from fairarm.core.posterior.directions import LEAST_LEVELS
from fairarm.core.types import IntArray
from fairarm.errors import DataError, OptionError
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import MOST_ROWS, Batch, Request, check_batch

MIXTURE_DRAWS = 2000


@dataclass(frozen=True)
class Progress:
    """How far a run has come. Never changed: a step makes the next one."""

    state: State[Any]
    info: Info
    evidence: RunEvidence
    """All rows, the log's too, without ``beyond``."""
    before_phase: RunEvidence
    before_stage: RunEvidence
    arrived: IntArray
    """Rows of this phase by regime and arm, (R, K)."""
    told: dict[str, str]
    """The id of each part and the digest of its content."""
    earlier: RunEvidence | None
    """The log's."""
    beyond: RunEvidence
    """Rows of this phase that its proof does not count, apart from ``evidence`` until it closes: beyond the plan, or late."""
    notes: tuple[Note, ...] = ()

    @property
    def finished(self) -> bool:
        """The run has an answer."""
        return self.state.finished

    def missing(self) -> IntArray:
        """Pulls that the plan of this phase still lacks, (R, K)."""
        return np.asarray(np.maximum(self.state.plan[0] - self.arrived, 0))

    def every_row(self) -> RunEvidence:
        """All rows told, the log's too."""
        return self.evidence.plus(self.beyond) if rows_of(self.beyond) else self.evidence

    def own_pulls(self) -> IntArray:
        """Without the log's, (R, K)."""
        every = self.evidence.pulls()[0] + self.beyond.pulls()[0]
        return np.asarray(every if self.earlier is None else every - self.earlier.pulls()[0])

    def with_part(self, batch: Batch, id: str, digest: str, only_teaches: bool | None) -> Progress:
        """With a checked batch; ``only_teaches``: None where rows beyond the plan count as others do, else whether all of
        these rows are beyond it."""
        rows = int(self.evidence.pulls().sum()) + int(self.beyond.pulls().sum())
        if rows + batch.total > MOST_ROWS:
            raise DataError(
                f"A run holds at most {MOST_ROWS} rows; it has {rows}, and part '{id}' has {batch.total} more."
            )
        beyond = self.beyond
        if only_teaches is not None:
            room = np.zeros_like(self.arrived) if only_teaches else self.missing()
            batch, rest = divided(batch, room)
            beyond = beyond.add(rest) if rest.size else beyond
        arrived = self.arrived.copy()
        np.add.at(arrived, (batch.regime, batch.arm), batch.count)
        told = {**self.told, id: digest}
        return replace(self, evidence=self.evidence.add(batch), beyond=beyond, arrived=arrived, told=told)

    def closed(self, procedure: Procedure, seed: int, loss: Loss | None = None) -> Progress:
        """The phase closed with what arrived."""
        every = self.every_row()
        in_phase, in_stage = self.evidence.since(self.before_phase), every.since(self.before_stage)
        if self.state.stage > 0:  # the first stage begins before the log
            in_stage = with_earlier(self.earlier, in_stage)
        if isinstance(procedure, SettlesCohorts):
            lacking = self.missing()[None]
            missing = None if loss is None or not lacking.any() else of_kind(lacking, loss.kind)
            cohort = Cohort(in_phase, missing, loss, self.beyond if rows_of(self.beyond) else None)
            state, fresh = procedure.close(self.state, cohort, in_stage, seed)
        else:
            state, fresh = procedure.step(self.state, in_phase, in_stage, seed)
        return replace(
            self,
            state=state,
            info=self.info.updated(self.state.running, fresh),
            evidence=every,
            before_phase=every,
            before_stage=self.before_stage if state.stage == self.state.stage else every,
            arrived=np.zeros_like(self.arrived),
            beyond=empty_evidence(procedure.problem),
            notes=self.notes if loss is None else noted(self.notes, _lost(loss, int(self.missing().sum()))),
        )


def _lost(loss: Loss, rows: int) -> Note:
    if loss.outcome is not None:
        return Note(RunNote.LOST_AS_STATE, rows, loss.what)
    return Note(RunNote.LOST_WORST if loss.what == WORST else RunNote.LOST_AT_RANDOM, rows)


class Algorithm:
    """One run of a procedure, told its pulls from outside. Made by `fairarm.algorithm(name, problem, pulls=...)`.

    ``earlier`` is evidence from before the run: it counts in every estimate, but not as pulls. Threads may share
    a run: each call is one step.
    """

    started_from: Any = None
    """What its log was read as (`fairarm.experiments.LoggedPulls`), with findings; None where there was none. Not saved."""

    def __init__(
        self,
        name: str,
        procedure: Procedure,
        seed: int = 0,
        earlier: RunEvidence | None = None,
        missing: IntArray | None = None,
        notes: tuple[Note, ...] = (),
    ) -> None:
        self.name = name
        self.procedure = procedure
        self.seed = seed
        self._lock = threading.RLock()
        state, nothing = procedure.start(1), empty_evidence(procedure.problem)
        require_savable(state.memory, f"The memory of '{name}'")
        info = Info.before(procedure.problem, 1)
        if earlier is not None:
            require_log_start(name, procedure)
            begun_with = state.but(log_rows=np.array([rows_of(earlier)]))
            if missing is not None and procedure.guarantee == Guarantee.CERTIFIED:
                state, info = procedure.begin(begun_with, earlier, seed, missing[None])
                notes = (*notes, Note(RunNote.LOG_WORST, int(missing.sum())))
            else:
                state, info = procedure.begin(begun_with, earlier, seed)
        first = nothing if earlier is None else earlier
        begun = Progress(state, info, first, first, nothing, nothing.pulls()[0], {}, earlier, nothing, notes)
        self._now = self._settled(begun)

    def __getstate__(self) -> dict[str, Any]:
        """For copies: a lock cannot be copied."""
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__dict__.update(kept, _lock=threading.RLock())

    def __repr__(self) -> str:
        now = self._now
        stand = verdict(self.procedure, now.state, now.info).status if now.finished else f"phase {_phase(now)}"
        log = f"log of {rows_of(now.earlier)} rows, " if now.earlier is not None else ""
        return f"Algorithm({self.name!r}, {self.problem.name!r}, pulls={self.procedure.pulls}, {log}{stand})"

    @property
    def problem(self) -> Problem:
        """What the run is about."""
        return self.procedure.problem

    @property
    def finished(self) -> bool:
        """The run has an answer: nothing more is asked for."""
        return self._now.finished

    @property
    def phase(self) -> int:
        """The phase whose plan is out, counted from 1 over all stages; the last one once finished (0: the log was enough)."""
        return _phase(self._now)

    @property
    def state(self) -> State[Any]:
        """What the next step needs."""
        return self._now.state

    @property
    def info(self) -> Info:
        """What the last phase showed of the arms, for diagnosis."""
        return self._now.info

    @property
    def log_rows(self) -> int:
        """Rows of the log it started from."""
        return rows_of(self._now.earlier)

    def ask(self) -> Request:
        """The pulls that are missing of this phase's plan; empty once finished. Changes nothing."""
        return Request(self.problem.arm_names, self.problem.regimes, self._now.missing())

    def tell(self, batch: Batch, id: str, phase: int | None = None) -> None:
        """Take what came back. The same id with the same content changes nothing; with other content it is an error.

        Rows beyond the plan count in the phase they arrive in; after the last phase they are an error. In a *certified* run a row
        belongs to the ``phase`` that asked for it (the one that is out unless said otherwise): rows of an earlier phase, and rows
        beyond the plan, by the order in which they are told, count in the estimates but not in the proof. So tell rows in the order
        in which they were assigned.
        """
        if not isinstance(batch, Batch):
            raise DataError(
                f"tell takes a batch; got {type(batch).__name__}. Make one of your rows: tell(batch(problem, rows), id=...)."
            )
        _require_text(id)
        check_batch(self.problem, batch)
        digest = batch.digest()
        with self._lock:
            now = self._now
            if id in now.told:
                if now.told[id] != digest:
                    raise DataError(
                        f"A part with id '{id}' was told before with other content. Give each part its own id."
                    )
                return
            if now.finished:
                raise DataError("The run is finished: nothing more can be told. Start a new one to use more pulls.")
            late = _is_late(phase, _phase(now))
            only_teaches = late if self._certified else None
            self._now = self._settled(now.with_part(batch, id, digest, only_teaches))

    def close_phase(self, lost: str | None = None) -> None:
        """End the phase with what arrived; rows that come later count in the next one.

        A certified run must be told what became of the rows that it asked for and that never came: ``lost`` is "worst" (each
        counts as it would hurt most), "at random" (they count for nothing, which holds only if the loss did not depend on the
        outcome, and the verdict says so), or the state of the outcome that "not told" means. Other runs do not need it.
        """
        with self._lock:
            if self._now.finished:
                raise DataError("The run is finished: there is no phase to close.")
            loss = Loss.of(self.problem, lost) if self._certified else None
            self._now = self._settled(self._now.closed(self.procedure, self.seed, loss))

    @property
    def _certified(self) -> bool:
        return self.procedure.guarantee == Guarantee.CERTIFIED

    def _settled(self, now: Progress) -> Progress:
        """With every phase closed whose plan is met, also an empty one."""
        while not now.finished and not now.missing().any():
            now = now.closed(self.procedure, self.seed)
        return now

    def verdict(self, margin: float = 0.0) -> Verdict:
        """The answer as of now, and why each arm is or is not it; before the end it says so. ``margin``: another fair arm may be better
        by this, in the outcome's units."""
        now = self._now
        return verdict(self.procedure, now.state, now.info, notes=now.notes, margin=margin)

    def beliefs(self) -> Beliefs:
        """What all rows so far say of every arm, the log's too, pooled; whichever algorithm chose the pulls."""
        return believe(self._now.every_row(), seed=self.seed)

    def smoothness(self) -> Smoothness | None:
        """Whether outcomes follow the order of ordered columns, as all rows so far have it; None where none is ordered."""
        levels = [self.problem.variables[name].levels or () for name in self.problem.cell_columns]
        return self.beliefs().diagnostics().smooth if any(len(each) >= LEAST_LEVELS for each in levels) else None

    def best_mixture(self, fair_probability: float = 0.95) -> BestMixture:
        """The mixture of arms with the highest outcome that is fair with this probability, and the best arm.

        Every person is then served by one of its arms at random. A good arm that favours one group and an arm that
        favours the other can be fair together. Where the gap between two groups is all that is asked about there are at most two arms.
        """
        if not 0.5 <= fair_probability < 1:
            raise OptionError(f"fair_probability is {fair_probability}. It is a number from 0.5 to below 1.")
        return mixture_of(self.problem, self.beliefs(), fair_probability, MIXTURE_DRAWS, self.seed)

    def pulls_made(self) -> IntArray:
        """Rows told so far by regime and arm, without the log's, (R, K)."""
        return self._now.own_pulls()

    # ---- saving ----

    def to_json(self) -> str:
        """The whole run as one strict JSON document with a check sum."""
        now = self._now
        return saved_run(
            algorithm=self.name,
            pulls=int(self.procedure.pulls),
            seed=int(self.seed),
            options=self.procedure.options(),
            problem=fingerprint(self.problem),
            state=now.state.to_json(),
            memory=plain(now.state.memory),
            info=now.info.to_json(),
            evidence=now.evidence.to_json(),
            before_phase=now.before_phase.to_json(),
            before_stage=now.before_stage.to_json(),
            told=now.told,
            log=None if now.earlier is None else now.earlier.to_json(),
            beyond=now.beyond.to_json(),
            notes=plain_notes(now.notes),
        )

    def _restore(self, document: dict[str, Any]) -> None:
        """Take over a saved run whose check sum, problem, algorithm, pulls, seed and options are right: for `resume` only."""
        kind = type(empty_evidence(self.problem))
        parts = ("evidence", "before_phase", "before_stage")
        evidence, before_phase, before_stage = (kind.from_json(self.problem, document[part]) for part in parts)
        earlier = None if document["log"] is None else kind.from_json(self.problem, document["log"])
        like = self.procedure.start(1).but(log_rows=np.array([rows_of(earlier)]))
        restored = Progress(
            state=like.from_json(document["state"], document["memory"]),
            info=Info.from_json(document["info"], self.problem),
            evidence=evidence,
            before_phase=before_phase,
            before_stage=before_stage,
            arrived=evidence.since(before_phase).pulls()[0],
            told={id: checked_leaf("told", digest, str) for id, digest in document["told"].items()},
            earlier=earlier,
            beyond=kind.from_json(self.problem, document["beyond"]),
            notes=restored_notes(document["notes"]),
        )
        if np.any(restored.own_pulls() < 0):
            raise ValueError("the log is not part of its rows")
        with self._lock:
            self._now = restored


def _phase(now: Progress) -> int:
    return int(now.state.closed[0]) + (0 if now.finished else 1)


def _is_late(phase: int | None, now: int) -> bool:
    """Whether rows were asked for by a phase that is closed."""
    if phase is None:
        return False
    if isinstance(phase, bool) or not isinstance(phase, int | np.integer) or not 1 <= phase <= now:
        raise DataError(f"Rows belong to a phase from 1 to {now}, the one that is out; got phase={phase!r:.40}.")
    return phase < now


def _require_text(id: object) -> None:
    """Only what reads back from a saved run as it was can be recognised after it."""
    try:
        if isinstance(id, str):
            id.encode("utf-8")
            return
    except UnicodeEncodeError:
        raise DataError(
            "The id of a part holds half of a surrogate pair, which is no Unicode text. Use other text."
        ) from None
    raise DataError(f"The id of a part is text; got {id!r:.40} of type {type(id).__name__}. Use e.g. id=str(...).")
