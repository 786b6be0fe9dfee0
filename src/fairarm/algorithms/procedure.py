"""What an algorithm must define: pure functions from state to state. Ask/tell and replication are built on these."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar, runtime_checkable

from fairarm.algorithms.cohort import Cohort
from fairarm.algorithms.info import Info
from fairarm.algorithms.state import Memory, State, fresh_state
from fairarm.beliefs.evidence import Evidence, RunEvidence
from fairarm.beliefs.findings import Finding
from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import OptionError
from fairarm.problem.problem import Problem


class Guarantee(StrEnum):
    """What a verdict's probability of being right rests on. The two that stop when sure are never to be confused."""

    NONE = "none"
    """A fixed number of pulls, no statement of how sure."""
    POSTERIOR = "posterior"
    """A fixed number of pulls; the posterior probability of the answer."""
    BAYES_STOP = "bayes-stop"
    """Stopped when the posterior probability reached the confidence: calibrated by simulation, not proved."""
    CERTIFIED = "certified"
    """Stopped when a bound that holds for any truth and any sampling excluded every other answer: proved."""


class Procedure(Protocol):
    """An algorithm for one problem and number of pulls. Holds no data: everything that changes is in the State.

    A new one defines `start` and `step` on top of `BaseProcedure`, and of the rest what differs. Its own memory is a frozen
    dataclass whose fields are arrays with a leading axis of replicates: that is all it takes to be saved and resumed.
    """

    @property
    def problem(self) -> Problem:
        """What is to be answered."""
        ...

    @property
    def pulls(self) -> int:
        """How many it may make."""
        ...

    @property
    def tests_fairness(self) -> bool:
        """False where only outcomes are compared."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """What the probability of being right rests on."""
        ...

    @property
    def confidence(self) -> float | None:
        """1 − δ, where it stops when sure."""
        ...

    def options(self) -> dict[str, Any]:
        """The options it runs with, for saving."""
        ...

    def start(self, n: int) -> State[Any]:
        """n replicates with the plan of the first phase out; the forms of its memory's arrays are those of every later one."""
        ...

    @property
    def takes_log(self) -> bool:
        """Whether rows that were made before the run can count in it."""
        ...

    def begin(
        self, state: State[Any], earlier: RunEvidence, seed: int, missing: IntArray | None = None
    ) -> tuple[State[Any], Info]:
        """The started state of a run that begins with a log: its rows are in every ``in_stage``, in no ``in_phase``. ``missing``: rows
        of it that lack their outcome, by regime, arm, group and cell, (n, R, K, G, X); what is certified has to allow for them."""
        ...

    def step(self, state: State[Any], in_phase: Evidence, in_stage: Evidence, seed: int) -> tuple[State[Any], Info]:
        """Close the phase, with the evidence of this phase and of its whole stage: the next plan is out, or the end.

        The info is of the replicates that were running, in order. Those that had stopped are left as they are.
        """
        ...


@dataclass(frozen=True, eq=False)
class LawReport:
    """What the rows of one replicate say of the declared law that a proof rests on."""

    findings: tuple[Finding, ...]
    """What they have shown to be wrong: nothing is certified any more."""
    least_errors: FloatArray
    """How wrong an arm's decisions in a group would have to be to have shown by now, (K, G); nan where nothing would have."""


class Certifies(Procedure, Protocol):
    """A procedure whose guarantee can be CERTIFIED; it then tests what its proofs rest on."""

    def law_report(self, state: State[Any], replicate: int) -> LawReport:
        """As of now."""
        ...


@runtime_checkable
class SettlesCohorts(Protocol):
    """A procedure that takes more of a phase than its rows: those that were lost, and those beyond its plan."""

    def close(self, state: State[Any], cohort: Cohort, in_stage: Evidence, seed: int) -> tuple[State[Any], Info]:
        """As `Procedure.step`, of which this takes the place."""
        ...


P = TypeVar("P", bound=Procedure)


def unwatched(procedure: P) -> P:
    """The same for runs of which only the answers count: one that has something to leave out then has an ``unwatched()``."""
    made: P = procedure.unwatched() if hasattr(procedure, "unwatched") else procedure
    return made


def require_log_start(name: str, procedure: Procedure) -> None:
    """An error where the rows of a log would not count."""
    if not procedure.takes_log:
        raise OptionError(
            f"'{name}' cannot start from a log: it estimates from each phase's own pulls, so that the log would count for "
            f"nothing. Use 'pool', or a version that counts all pulls so far ('csr-v2', 'two-stage-v2', 'sris-v2')."
        )


@dataclass(frozen=True)
class BaseProcedure:
    """What a procedure is unless it says otherwise: a fixed number of pulls, fairness tested, nothing said of how sure,
    no options. From a log it starts with the plan that it has without one."""

    problem: Problem
    pulls: int

    @property
    def tests_fairness(self) -> bool:
        """Yes, unless a procedure says otherwise."""
        return True

    @property
    def guarantee(self) -> Guarantee:
        """None, unless a procedure says otherwise."""
        return Guarantee.NONE

    @property
    def confidence(self) -> float | None:
        """None: it ends when its pulls are made."""
        return None

    def options(self) -> dict[str, Any]:
        """Nothing can be asked of it, unless a procedure says otherwise."""
        return {}

    @property
    def takes_log(self) -> bool:
        """Yes: its estimates use all rows of the stage, those of a log included."""
        return True

    def begin(
        self, state: State[Any], earlier: RunEvidence, seed: int, missing: IntArray | None = None
    ) -> tuple[State[Any], Info]:
        """The plan that it has without a log; nothing is known before the first phase has closed."""
        return state, Info.before(self.problem, len(state.running))

    def fresh(self, n: int, memory: Memory) -> State[Memory]:
        """n replicates of which nothing has been planned."""
        return fresh_state(n, len(self.problem.regimes), len(self.problem.arms), memory)
