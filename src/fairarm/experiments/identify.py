"""One run of an algorithm in a world, with the story of its phases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairarm.algorithms import DEFAULT, Algorithm, Answer, BestMixture, Guarantee, Verdict
from fairarm.beliefs.beliefs import Smoothness
from fairarm.core.answer import Code
from fairarm.errors import ProblemError
from fairarm.experiments.start_from_log import LoggedPulls, new_run, started
from fairarm.frames import Column
from fairarm.problem.answer import Status
from fairarm.problem.log_map import LogMap, WithColumns
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Pulls
from fairarm.shown import Fact, ShownWithRows
from fairarm.worlds.base import Truth, World
from fairarm.worlds.network import as_network

if TYPE_CHECKING:
    from fairarm.experiments.wrong_tables import WrongTables


@dataclass(frozen=True)
class PhaseStory:
    """What one phase pulled and what was known after it."""

    phase: int
    pulls: int
    cost: float
    plan: tuple[Pulls, ...]
    left: tuple[str, ...]
    """Arms not rejected."""
    fair: tuple[str, ...]
    """Arms shown to be fair so far (F)."""
    leader: str | None
    """The fair arm with the highest estimate; where there are beliefs the most probable answer, maybe "no fair arm"."""
    rejected: tuple[str, ...]
    """Arms rejected in this phase."""
    probability: float | None
    """Of the most probable answer, where the algorithm has beliefs; the answer is then ``leader``."""


@dataclass(frozen=True, repr=False)
class Identification(ShownWithRows):
    """A finished run: the verdict, its cost, and how it came about. Pulls and cost are the run's own, without a log's."""

    algorithm: str
    seed: int
    verdict: Verdict
    pulls: int
    cost: float
    story: tuple[PhaseStory, ...]
    truth: Truth | None
    mixture: BestMixture | None
    """Where the algorithm has beliefs: the best mixture of arms that is fair with probability 0.95."""
    log_rows: int = 0
    """Rows of the log it started from."""
    smooth: Smoothness | None = field(default=None, compare=False)
    """Where the algorithm has beliefs and a column is ordered: whether outcomes follow the order, as all rows have it."""
    started_from: LoggedPulls | None = field(default=None, compare=False)
    """That log as it was read, with what was noticed in it."""
    wrong_tables: WrongTables | None = field(default=None, compare=False)
    """Where the algorithm has beliefs: how far off declared tables may be before the answer tips."""

    @property
    def problem(self) -> Problem:
        """What was asked."""
        return self.verdict.problem

    @property
    def correct(self) -> bool | None:
        """Whether what is recommended is the truth; None where that is not known."""
        if self.truth is None:
            return None
        return self.verdict.decision.recommended == Answer.of(self.truth.answer, self.problem.arm_names)

    def _facts(self) -> list[Fact]:
        found = self.verdict
        return [
            ("status", found.status), ("arm", found.arm), ("reason", found.reason), ("recommended", found.recommended),
            ("guarantee", found.guarantee), ("probability", found.probability),
            ("pulls", self.pulls), ("cost", self.cost), ("log_rows", self.log_rows), ("algorithm", self.algorithm),
            ("seed", self.seed),
        ]  # fmt: skip

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        return self.verdict._table()

    def _columns(self) -> dict[str, Column]:
        return self.verdict._columns()

    def _fairness_columns(self) -> dict[str, Column]:
        return self.verdict._fairness_columns()


def identify(
    problem: Problem | WithColumns,
    world: World | None,
    *,
    algorithm: str = DEFAULT,
    pulls: int,
    seed: int = 0,
    log: Any = None,
    columns: LogMap | None = None,
    engine: str | None = None,
    on_phase: Callable[[PhaseStory], None] | None = None,
    margin: float = 0.0,
    **options: Any,
) -> Identification:
    """Run a named algorithm against a world until it ends. The same seed gives the same result.

    ``log`` holds rows that were made before (anything that `read_log` takes or returns; ``columns`` and ``engine`` as there):
    they count in every estimate, but neither as pulls nor as cost. What was noticed in them is the result's ``started_from``.
    ``margin``: another fair arm may be better than the one found by this, in the outcome's units.
    """
    problem, read = started(problem, log, columns, engine)
    world = require_world(problem, world)
    run = new_run(algorithm, problem, read, pulls, seed, options)
    rng = np.random.default_rng(seed)
    story: list[PhaseStory] = []
    parts, verdict = 0, run.verdict(margin)
    while not run.finished:
        phase, before, plan = run.phase, verdict, run.ask()
        run.tell(world.pull(plan, rng), id=f"part-{parts}")
        parts, verdict = parts + 1, run.verdict(margin)
        cost = float(problem.compiled.cost_of(plan.counts))
        story.append(_story(phase, before, verdict, tuple(plan), cost))
        if on_phase is not None:
            on_phase(story[-1])
    cost = float(problem.compiled.cost_of(run.pulls_made()))
    mixture = run.best_mixture() if verdict.probability is not None else None
    smooth = run.smoothness() if verdict.probability is not None else None
    made, tables = int(run.pulls_made().sum()), _wrong_tables(run, verdict)
    return Identification(
        algorithm, seed, verdict, made, cost, tuple(story), world.truth(), mixture, run.log_rows, smooth, read, tables
    )


def _wrong_tables(run: Algorithm, verdict: Verdict) -> WrongTables | None:
    """How far off declared tables may be before the verdict tips; None where there is none, or the algorithm has no beliefs."""
    if verdict.probability is None or verdict.recommended_status == Status.UNDECIDED:
        return None
    from fairarm.experiments.wrong_tables import certificate_of_run, wrong_tables

    beliefs, arm = run.beliefs(), verdict.recommended
    code = int(Code.NONE) if arm is None else verdict.problem.arm_index(arm)
    proved = certificate_of_run(beliefs, code, verdict.confidence) if verdict.guarantee == Guarantee.CERTIFIED else None
    errors = [np.nan if report.law_error is None else report.law_error for report in verdict.arms]
    return wrong_tables(beliefs, code, np.array(errors), proved)


def require_world(problem: Problem, world: World | None) -> World:
    """The world to pull; where a mechanism was fitted from a log, one in which that arm decides by its fitted table."""
    if world is None:
        raise ProblemError(
            f"Problem '{problem.name}' has no world to pull. Add a [world] to its file, or run it on your own system with algorithm(...).ask and .tell."
        )
    network = as_network(world)
    if network is not None and network.problem.unknown_arms and not problem.unknown_arms:
        return replace(network, problem=problem)
    return world


def _story(phase: int, before: Verdict, after: Verdict, plan: tuple[Pulls, ...], cost: float) -> PhaseStory:
    left = tuple(r.name for r in after.arms if r.rejected_in_phase is None)
    fair = [r for r in after.arms if r.fair and r.rejected_in_phase is None]
    known = [r for r in fair if r.outcome is not None]
    gone = {r.name for r in before.arms if r.rejected_in_phase is not None}
    likeliest = (after.leader, after.probability)
    if (after.runner_up_probability or 0.0) > (after.probability or 0.0):  # the answer goes by the gate, or by a proof
        likeliest = (after.runner_up, after.runner_up_probability)
    return PhaseStory(
        phase=phase,
        pulls=sum(line.count for line in plan),
        cost=cost,
        plan=plan,
        left=left,
        fair=tuple(r.name for r in fair),
        leader=likeliest[0] or (max(known, key=lambda r: r.outcome or 0.0).name if known else None),
        probability=likeliest[1],
        rejected=tuple(r.name for r in after.arms if r.rejected_in_phase is not None and r.name not in gone),
    )
