"""Where a log keeps what a problem needs: which column is which node, who made the rows, and how they were planned."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from fairarm.errors import ProblemError
from fairarm.problem.names import check_column
from fairarm.problem.problem import Problem

MOST_DROPPED = 200
"""Values that may be left out on purpose, in all."""


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
    logging_rule: str | None = None
    """Of a log of several rules: the column that names the rule of each row."""
    rule_propensities: Mapping[str, str] = field(default_factory=dict)
    """With it, in place of ``propensity``: rule -> the column with the probability that this rule gives the logged decision."""
    fit_propensity: bool = False
    """Fit the propensity of arms without a table by a model, also where a table could be counted; needs scikit-learn."""
    count: str | None = None
    """The column with the number of rows that a line stands for."""
    row_id: str | None = None
    """The column that is different in every row: duplicates are looked for."""
    time: str | None = None
    """The column with the time of the decision."""
    outcome_within: float | None = None
    """Outcomes arrive within this time of ``time`` (its unit; seconds for timestamps): younger rows are left out."""
    adaptive: bool = False
    """Outcomes of earlier rows decided which arm, or whom, later rows are of: rows are then not independent."""
    randomised: Sequence[str] = ()
    """Arms whose logged decisions were drawn with the probabilities that are declared, so that no hidden cause moved them."""
    planned: Mapping[str, float] = field(default_factory=dict)
    """Arm -> the share of rows it was planned to have."""
    drop: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Node, "arm", "regime" or column -> values whose rows are left out on purpose; "" is a missing value."""
    missing_values: Sequence[str] = ()
    """Values that mean a missing one in every column that is read, such as "." or "pending"."""

    def column(self, node: str) -> str:
        """The log's name of a node; its own where none is given."""
        return self.columns.get(node, node)

    def column_of(self, key: str, problem: Problem) -> str:
        """The column that a key of ``drop`` means: a node's, that of "arm" or "regime", else the column so called."""
        if key in problem.graph.nodes:
            return self.column(key)
        return {"arm": self.arm, "regime": self.regime}.get(key) or key

    @property
    def has_propensities(self) -> bool:
        """Whether the log says how probable each decision was."""
        return self.propensity is not None or bool(self.propensities or self.rule_propensities)

    def check(self, problem: Problem) -> None:
        """Everything named is part of the problem; raises where it is not. Runs wherever the two meet."""
        for column in self._named_columns():
            check_column(column, "A column of the log")
        known = {*problem.graph.nodes}
        for key, names in (("columns", self.columns), ("labels", self.labels)):
            extra = {"arm", "regime"} if key == "labels" else set()
            if unknown := sorted({*names} - known - extra):
                raise ProblemError(f"log.{key} names '{unknown[0]}', which is not a node of the graph. Is it misspelt?")
        self._check_states(problem)
        if self.arm is not None and self.made_by is not None:
            raise ProblemError("log.arm names a column with each row's arm, log.made_by one arm for all: give one.")
        if isinstance(self.randomised, str):
            raise ProblemError(f"log.randomised is {self.randomised!r}; a list of arms is needed, such as ['coin'].")
        for name in (*self.planned, *self.randomised, *([self.made_by] if self.made_by else [])):
            problem.arm_index(name)
        if self.planned:
            self._check_planned()
        if self.fit_propensity and (self.has_propensities or not problem.unknown_arms):
            raise ProblemError(
                "log.fit_propensity fits the arms that have parents and no table, from a log without propensities: leave out the table of "
                "the arm that made the rows, or log.fit_propensity."
            )
        if (self.propensity is not None) + bool(self.propensities) + bool(self.rule_propensities) > 1:
            raise ProblemError(
                "log.propensity is the logged decision's, log.propensities one column per state, log.rule_propensities one per rule: give one."
            )
        if bool(self.rule_propensities) != (self.logging_rule is not None):
            raise ProblemError(
                "log.logging_rule, the column that names each row's rule, and log.rule_propensities, rule = the column with the probability that "
                "it gives the logged decision, need each other."
            )
        if self.outcome_within is not None and (self.time is None or not 0 <= self.outcome_within < math.inf):
            raise ProblemError(
                f"log.outcome_within is {self.outcome_within}: a number, 0 or more, in the unit of log.time, which must "
                f"be given too."
            )
        self._check_roles(problem)
        self._check_drop(problem)
        self._check_texts("log.missing_values", self.missing_values)
        for node in problem.observed:
            self._check_dropped("log.missing_values", self.missing_values, node, problem)

    def _roles(self) -> Iterator[tuple[str, str]]:
        """Roles other than nodes, and their columns."""
        for role in ("arm", "regime", "propensity", "logging_rule", "count", "row_id", "time"):
            if (column := getattr(self, role)) is not None:
                yield role, column
        yield from ((f"propensities.{state}", column) for state, column in self.propensities.items())
        yield from ((f"rule_propensities.{rule}", column) for rule, column in self.rule_propensities.items())

    def _check_roles(self, problem: Problem) -> None:
        """A column has one role. Nodes may share one, and what an arm saw or decided may be the arm's name or the time."""
        taken = {self.column(node): f"the node '{node}'" for node in problem.observed}
        outcome = self.column(problem.outcome.node)
        for role, column in self._roles():
            if column in taken and (
                role not in ("arm", "time") or column == outcome or taken[column].startswith("log.")
            ):
                raise ProblemError(
                    f"log.{role} names the column '{column}', which is that of {taken[column]}: a column has one role. "
                    f"Name another column, or leave log.{role} out."
                )
            taken[column] = f"log.{role}"

    def _check_drop(self, problem: Problem) -> None:
        """What is left out is no declared state, no labelled value and no number in a declared range."""
        if sum(len(values) for values in self.drop.values()) > MOST_DROPPED:
            raise ProblemError(
                f"log.drop names more than {MOST_DROPPED} values. Leave those rows out of the log itself."
            )
        for key, values in self.drop.items():
            self._check_texts(f"log.drop.{key}", values or "")
            column = self.column_of(key, problem)
            for node in (n for n in problem.observed if self.column(n) == column):
                self._check_dropped(f"log.drop.{key}", values, node, problem)
            for role in ("arm", "regime"):
                if getattr(self, role) == column:
                    states = problem.arm_names if role == "arm" else problem.regimes
                    self._refuse(f"log.drop.{key}", values, states, role)

    def _check_texts(self, key: str, values: Sequence[str]) -> None:
        if isinstance(values, str) or not all(isinstance(value, str) for value in values):
            raise ProblemError(f"{key} is {values!r}; a list of texts is needed, such as ['U'].")

    def _check_dropped(self, key: str, values: Sequence[str], node: str, problem: Problem) -> None:
        declared = problem.outcome if node == problem.outcome.node else problem.variables[node]
        states = problem.variables[node].states if node in problem.variables else None
        if states is not None:
            self._refuse(key, values, states, node)
            return
        for value in values:
            if (number := _number(value)) is not None and (declared.low or 0.0) <= number <= (declared.high or 0.0):
                raise ProblemError(
                    f"{key} leaves out {value}, which is in the declared range of '{node}': that would choose rows "
                    f"by a value that counts. Narrow the range, or keep the rows."
                )

    def _refuse(self, key: str, values: Sequence[str], states: Sequence[str], node: str) -> None:
        labels = self.labels.get(node, {})
        for value in values:
            if value in labels or any(_same(value, state) for state in states):
                what = (
                    f"leads to the state '{labels[value]}' in log.labels" if value in labels else "is a declared state"
                )
                raise ProblemError(
                    f"{key} leaves out '{value}', which {what}: the answer is about all declared states. Take it "
                    f"out of the one or the other."
                )

    def _named_columns(self) -> tuple[str, ...]:
        return (*self.columns.values(), *(column for _, column in self._roles()))

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


class WithColumns(Protocol):
    """A problem with the map of its logs: a `Scenario`, or what `read_problem` returns."""

    @property
    def problem(self) -> Problem:
        """What is known before the first pull."""
        ...

    @property
    def columns(self) -> LogMap:
        """Where its logs keep what it needs."""
        ...


def problem_and_columns(given: Problem | WithColumns, columns: LogMap | None) -> tuple[Problem, LogMap]:
    """A problem and the map to read its log with, checked against each other: the map of the call, else the one that goes
    with the problem, else every node has a column of its own name.

    A problem whose file has a ``[log]`` is never read without a map: rows that the file leaves out would count.
    """
    if isinstance(given, Problem):
        problem, known = given, None if given.needs_columns else LogMap()
    elif hasattr(given, "problem") and hasattr(given, "columns"):
        problem, known = given.problem, given.columns
    else:
        raise ProblemError(f"A problem is needed, or what load_problem returns; got {type(given).__name__}.")
    chosen = known if columns is None else columns
    if chosen is None:
        raise ProblemError(
            f"The file of problem '{problem.name}' has a [log], which says how a log is read, and the problem alone does not "
            f"hold it. Give what load_problem returned in place of its .problem, or columns=scenario.columns."
        )
    if not isinstance(chosen, LogMap):
        raise ProblemError(
            f"columns= is a LogMap; got {type(chosen).__name__}. Give e.g. LogMap(columns={{'node': 'column'}})."
        )
    chosen.check(problem)
    return problem, chosen


def _same(value: str, state: str) -> bool:
    """Whether a column may hold both as one value: 1 and 1.0, true and True."""
    number = _number(value)
    return (
        value.strip().lower() == state.lower() in ("true", "false")
        or value.strip() == state
        or (number is not None and number == _number(state))
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
