"""Where a log keeps what a problem needs: which column is which node, who made the rows, and how they were planned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairarm.errors import ProblemError

if TYPE_CHECKING:
    from fairarm.problem.model import Problem


@dataclass(frozen=True)
class LogMap:
    """The ``[log]`` of a problem file. A node that is not named in ``columns`` has a column of its own name."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Node -> column."""
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Node -> {value in the log: state}, where they differ. For arms and regimes: the keys "arm" and "regime"."""
    arm: str | None = None
    """The column that names the arm of each row."""
    made_by: str | None = None
    """Or the arm that made every row; the deployed one if neither is given."""
    regime: str | None = None
    """The column that says how S came about: natural, or the group it was forced to. All natural if not given."""
    propensity: str | None = None
    """The column with the probability (density) that the logging rule gave the logged decision."""
    propensities: Mapping[str, str] = field(default_factory=dict)
    """Or one column for each state of the decision."""
    count: str | None = None
    """The column with the number of rows that a line stands for."""
    row_id: str | None = None
    """The column that is different in every row: duplicates are looked for."""
    time: str | None = None
    outcome_within: float | None = None
    """Outcomes arrive within this time of ``time`` (its unit; seconds for timestamps): younger rows are left out."""
    planned: Mapping[str, float] = field(default_factory=dict)
    """Arm -> the share of rows it was planned to have."""

    def column(self, node: str) -> str:
        return self.columns.get(node, node)

    @property
    def has_propensities(self) -> bool:
        return self.propensity is not None or bool(self.propensities)

    def check(self, problem: Problem) -> None:
        """Everything named is part of the problem."""
        known = {*problem.graph.nodes}
        for key, names in (("columns", self.columns), ("labels", self.labels)):
            extra = {"arm", "regime"} if key == "labels" else set()
            if unknown := sorted({*names} - known - extra):
                raise ProblemError(f"log.{key} names '{unknown[0]}', which is not a node of the graph. Is it misspelt?")
        self._check_states(problem)
        if self.arm is not None and self.made_by is not None:
            raise ProblemError("log.arm names a column with each row's arm, log.made_by one arm for all: give one.")
        for name in (*self.planned, *([self.made_by] if self.made_by else [])):
            problem.arm_index(name)
        if self.planned:
            self._check_planned()
        if self.propensity is not None and self.propensities:
            raise ProblemError(
                "log.propensity is the logged decision's, log.propensities one column a state: give one."
            )
        if self.outcome_within is not None and (self.time is None or not 0 <= self.outcome_within < math.inf):
            raise ProblemError(
                f"log.outcome_within is {self.outcome_within}: a number, 0 or more, in the unit of log.time, which must "
                f"be given too."
            )

    def _check_states(self, problem: Problem) -> None:
        states = {name: v.states for name, v in problem.variables.items() if v.states is not None}
        states |= {"arm": problem.arm_names, "regime": problem.regimes}
        for node, labels in self.labels.items():
            for state in labels.values():
                if state not in states.get(node, ()):
                    raise ProblemError(f"log.labels.{node} leads to '{state}', which is not a state of it.")
        if self.propensities and sorted(self.propensities) != sorted(states.get(problem.decision, ())):
            raise ProblemError(
                f"log.propensities needs one column for each state of '{problem.decision}': "
                f"{', '.join(states.get(problem.decision, ())) or 'it is real-valued, use log.propensity'}."
            )

    def _check_planned(self) -> None:
        shares = list(self.planned.values())
        if any(not math.isfinite(p) or p <= 0 for p in shares) or abs(math.fsum(shares) - 1.0) > 1e-6:
            raise ProblemError(f"log.planned has the shares {shares}. They are above 0 and must sum to 1.")
        if self.arm is None:
            raise ProblemError("log.planned needs log.arm, the column that says which arm made a row.")
