"""Ask/tell: an algorithm as three calls around any procedure.

    plan = algorithm.ask()          # what is missing of this phase; changes nothing
    algorithm.tell(rows, id="...")  # rows or counts, in parts, in any order
    algorithm.verdict()             # FOUND, NO_FAIR_ARM or UNDECIDED, with a reason for every arm

A phase closes when its plan is met, or on `close_phase` with what arrived. An algorithm never sees a world, a file or
a clock; its state is JSON, and a resumed run continues the same stream bit for bit.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from fairarm.algorithms.beliefs import Beliefs, believe
from fairarm.algorithms.evidence import CellEvidence, RowEvidence, empty_evidence
from fairarm.algorithms.mixtures import BestMixture, described
from fairarm.algorithms.procedure import Procedure, verdict
from fairarm.algorithms.state import State, Verdict, checked_leaf
from fairarm.algorithms.warm_start import require_log_start, rows_of, with_log
from fairarm.core.mixture import best_mixture
from fairarm.core.types import IntArray
from fairarm.errors import DataError, OptionError
from fairarm.problem.context import ContextLaw
from fairarm.problem.model import Problem
from fairarm.problem.pulls import Batch, Plan, check_batch

STATE_SCHEMA, LOG_SCHEMA = 2, 3
"""Of a saved run, and of one that started from a log."""

MIXTURE_DRAWS = 2000


class Algorithm:
    """One run of a procedure, told its pulls from outside. Made by `fairarm.algorithm(name, problem, pulls=...)`.

    ``log`` is evidence from before the run (`log_evidence`): it counts in every estimate, but not as pulls.
    """

    def __init__(
        self, name: str, procedure: Procedure, seed: int = 0, log: CellEvidence | RowEvidence | None = None
    ) -> None:
        self.name = name
        self.procedure = procedure
        self.seed = seed
        self._log = log
        self._state = procedure.start(1)
        self._before_stage = empty_evidence(procedure.problem)
        self._evidence = self._before_phase = self._before_stage if log is None else log
        self._arrived = self._before_stage.pulls()[0]
        self._told: dict[str, str] = {}
        if log is not None:
            require_log_start(name, procedure)
            self._state = procedure.begin(self._state.but(log_rows=np.array([self.log_rows])), log, seed)
        self._close_met_phases()

    def __repr__(self) -> str:
        stand = self.verdict().status if self.finished else f"phase {self.phase}"
        log = f"log of {self.log_rows} rows, " if self.log_rows else ""
        return f"Algorithm({self.name!r}, {self.problem.name!r}, pulls={self.procedure.pulls}, {log}{stand})"

    @property
    def problem(self) -> Problem:
        return self.procedure.problem

    @property
    def finished(self) -> bool:
        return self._state.finished

    @property
    def phase(self) -> int:
        """The phase whose plan is out, counted from 1 over all stages; the last one once finished (0: the log was enough)."""
        return int(self._state.closed[0]) + (0 if self.finished else 1)

    @property
    def state(self) -> State:
        """The procedure's state, for diagnosis."""
        return self._state

    @property
    def log_rows(self) -> int:
        """Rows of the log it started from."""
        return rows_of(self._log)

    def ask(self) -> Plan:
        """The pulls that are missing of this phase's plan; empty once finished. Changes nothing."""
        missing = np.maximum(self._state.plan[0] - self._arrived, 0)
        return Plan(self.problem.arm_names, self.problem.regimes, missing)

    def tell(self, batch: Batch, id: str) -> None:
        """Take what came back. The same id with the same content changes nothing; with other content it is an error.

        Rows beyond the plan count in the phase they arrive in; after the last phase they are an error.
        """
        if not isinstance(batch, Batch):
            raise DataError(
                f"tell takes a batch; got {type(batch).__name__}. Make one of your rows: tell(batch(problem, rows), id=...)."
            )
        digest = batch.digest()
        if id in self._told:
            if self._told[id] != digest:
                raise DataError(f"A part with id '{id}' was told before with other content. Give each part its own id.")
            return
        if self.finished:
            raise DataError("The run is finished: nothing more can be told. Start a new one to use more pulls.")
        check_batch(self.problem, batch)
        self._evidence = self._evidence.add(batch)
        np.add.at(self._arrived, (batch.regime, batch.arm), batch.count)
        self._told[id] = digest
        self._close_met_phases()

    def close_phase(self) -> None:
        """End the phase with what arrived; rows that come later count in the next one."""
        if self.finished:
            raise DataError("The run is finished: there is no phase to close.")
        self._close()
        self._close_met_phases()

    def verdict(self) -> Verdict:
        return verdict(self.procedure, self._state)

    def beliefs(self) -> Beliefs:
        """What all rows so far say of every arm, the log's too, pooled; whichever algorithm chose the pulls."""
        return believe(self._evidence, seed=self.seed)

    def best_mixture(self, fair_probability: float = 0.95) -> BestMixture:
        """The mixture of at most two arms with the highest outcome that is fair with this probability, and the best arm.

        Every person is then served by one of the two arms at random. A good arm that favours one group and an arm that
        favours the other can be fair together.
        """
        if not 0.5 <= fair_probability < 1:
            raise OptionError(f"fair_probability is {fair_probability}. It is a number from 0.5 to below 1.")
        rng = np.random.default_rng([self.seed, MIXTURE_DRAWS])
        outcomes, gaps = (draws[0] for draws in self.beliefs().draw(rng, MIXTURE_DRAWS))
        found = best_mixture(outcomes, gaps, self.problem.scaled_tolerance, 1.0 - fair_probability)
        return described(self.problem, found, fair_probability)

    def pulls_made(self) -> IntArray:
        """Rows told so far by regime and arm, without the log's, (R, K)."""
        told = self._evidence.pulls()[0]
        return np.asarray(told if self._log is None else told - self._log.pulls()[0])

    # ---- phases ----

    def _since(self, earlier: CellEvidence | RowEvidence) -> CellEvidence | RowEvidence:
        return self._evidence.since(earlier)  # type: ignore[arg-type]

    def _close_met_phases(self) -> None:
        """Close every phase whose plan is met, also an empty one."""
        while not self.finished and self.ask().total == 0:
            self._close()

    def _close(self) -> None:
        stage = self._state.stage
        in_phase, in_stage = self._since(self._before_phase), self._since(self._before_stage)
        if stage > 0:  # the first stage begins before the log
            in_stage = with_log(self._log, in_stage)
        self._state = self.procedure.step(self._state, in_phase, in_stage, self.seed)
        self._before_phase = self._evidence
        self._arrived = np.zeros_like(self._arrived)
        if self._state.stage != stage:
            self._before_stage = self._evidence

    # ---- saving ----

    def to_json(self) -> str:
        """The whole run as one strict JSON document."""
        return json.dumps(
            {
                "schema": STATE_SCHEMA if self._log is None else LOG_SCHEMA,
                "algorithm": self.name,
                "pulls": self.procedure.pulls,
                "seed": self.seed,
                "options": self.procedure.options(),
                "problem": fingerprint(self.problem),
                "state": self._state.to_json(),
                "evidence": self._evidence.to_json(),
                "before_phase": self._before_phase.to_json(),
                "before_stage": self._before_stage.to_json(),
                "told": self._told,
                **({} if self._log is None else {"log": self._log.to_json()}),
            },
            allow_nan=False,
        )

    def restore(self, document: dict[str, Any]) -> None:
        """Take over a saved run of the same algorithm and problem."""
        if document.get("problem") != fingerprint(self.problem):
            raise DataError("The saved run belongs to another problem: arms, mechanisms, tolerance or costs differ.")
        kind = type(self._evidence)
        self._evidence, self._before_phase, self._before_stage = (
            kind.from_json(self.problem, document[part]) for part in ("evidence", "before_phase", "before_stage")
        )
        self._log = kind.from_json(self.problem, document["log"]) if document["schema"] == LOG_SCHEMA else None
        if np.any(self.pulls_made() < 0):
            raise ValueError("the log is not part of its rows")
        like = self.procedure.start(1).but(log_rows=np.array([self.log_rows]))
        self._state = State.from_json(document["state"], like)
        self._arrived = self._since(self._before_phase).pulls()[0]
        self._told = {id: checked_leaf("told", digest, str) for id, digest in document["told"].items()}


def fingerprint(problem: Problem) -> str:
    """A hash of everything that changes what an algorithm does; code counts by its node and parents only."""
    hasher = hashlib.sha256()
    outcome = problem.outcome
    plain = (
        problem.name, problem.graph, problem.sensitive, problem.groups, problem.decision, outcome, problem.constraints,
        problem.costs, problem.budget, problem.shares, sorted(problem.variables.items()),
    )  # fmt: skip
    hasher.update(repr(plain).encode())
    for name, mechanism in [*((arm.name, arm.mechanism) for arm in problem.arms), *sorted(problem.mechanisms.items())]:
        hasher.update(repr((name, mechanism.node, mechanism.parents)).encode())
        hasher.update(getattr(mechanism, "probabilities", np.zeros(0)).tobytes())
        if (counts := getattr(mechanism, "counts", None)) is not None:
            hasher.update(b"fitted from" + counts.tobytes())
    context = problem.context
    if isinstance(context, ContextLaw):
        hasher.update(repr(context.variables).encode() + context.weights.tobytes())
    elif context is not None:
        hasher.update(context.arm.encode())
        for name, values in sorted(context.columns.items()):
            hasher.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return hasher.hexdigest()
