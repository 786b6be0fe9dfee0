"""The keys of a problem file, each with its type: what the reader checks, and what the JSON Schema says."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class MechanismEntry(_Entry):
    """P(node | parents): one list a parent, outermost first; the innermost lists are probabilities of the states."""

    node: str
    parents: list[str] = []
    table: list[Any]


class ArmEntry(_Entry):
    """A candidate mechanism of the decision. Parents without a table: the rule is fitted from a log."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["table"]}, {"required": ["parents"]}]})

    name: str
    parents: list[str] = []
    table: list[Any] | None = Field(None, description="as of a mechanism; left out where only the inputs are known")
    cost: float | dict[str, float] | None = Field(
        None, description="of a pull: one number, or one per regime; forced = every forced regime that is not named"
    )
    learned_from: str | None = Field(None, description="the digest of the log that the rule was learned from")


class OutcomeEntry(_Entry):
    """The outcome: the value of each state, or the range of a real outcome (or both, for a wider range)."""

    node: str
    values: dict[str, float] | None = None
    range: list[float] | None = Field(None, min_length=2, max_length=2)


class ConstraintEntry(_Entry):
    """One question of fairness about the groups' mean outcomes."""

    name: str = Field("", description="made from the other keys where it is not given")
    compare: Literal["pairs", "reference", "mean", "floor", "weights"] | None = Field(
        None, description="weights where those are given, else pairs"
    )
    tolerance: float | None = Field(None, description="largest difference, in the outcome's units")
    ratio: float | None = Field(None, description="in place of a tolerance: smallest quotient of two means")
    at_least: float | None = Field(None, description="of floor and weights")
    at_most: float | None = Field(None, description="of weights")
    reference: str | None = Field(None, description="the group that others are compared with")
    groups: list[str] = Field([], description="only these are looked at; all by default")
    weights: dict[str, float] = Field({}, description="of weights: group = number")
    direction: Literal["both", "not_below", "not_above"] = Field("both", description="of reference and mean")
    attribute: str | None = Field(None, description="the attribute whose groups are compared; not needed with one")
    attributes: list[str] = Field([], description="in its place: groups are joint ones, profiles of these")
    min_share: float | None = Field(None, description="with attributes: rarer profiles are left out")
    others: Literal["follow", "held"] = Field("follow", description="what the other attributes below it do")
    keep: list[str] | Literal["mediators"] = Field([], description="nodes that keep the value they have in fact")
    effect: Literal["total", "direct", "indirect", "spurious"] = Field("total", description="of pairs and reference")


class JointSharesEntry(_Entry):
    """The joint law of attributes that share a hidden cause and have no other: one list per attribute, outermost first."""

    attributes: list[str]
    table: list[Any]


class ContextEntry(_Entry):
    """The law of what arms see: one list per variable, outermost first."""

    variables: list[str]
    table: list[Any] | float


class ProblemEntry(_Entry):
    """What is known before the first pull."""

    name: str
    description: str = ""
    sensitive: str | list[str] = Field(description="the sensitive attribute, or a list of several")
    groups: list[str] = Field([], description="of a single attribute: its states, in the order that is wanted")
    regimes: list[str] | None = Field(
        None,
        description='what pulls can be forced to: groups, or "race=b" of several attributes; by default all, [] none',
    )
    regime_kind: Literal["recruited", "set"] = Field("recruited", description="how pulls are forced")
    decision: str
    outcome: OutcomeEntry
    tolerance: float | None = Field(None, description="largest gap between any two groups, in the outcome's units")
    constraints: list[ConstraintEntry] = []
    nodes: list[str] = Field([], description="all nodes, where the edges do not name them in the wanted order")
    edges: list[list[str]] = Field([], description="[cause, effect] pairs")
    states: dict[str, list[str]] = {}
    ranges: dict[str, list[float]] = Field({}, description="[low, high] of real-valued nodes")
    ordered: list[str] | None = Field(None, description="nodes whose states have an order; by default, numbers do")
    hidden: list[str] = []
    arms: list[ArmEntry]
    mechanisms: list[MechanismEntry] = []
    deployed: str | None = None
    budget: float | Literal["1/sqrt(pulls)"] | None = Field(None, description="largest average cost of a pull")
    shares: dict[str, float | dict[str, float]] | None = Field(
        None, description="P(S), by group; or by attribute without causes, then by state"
    )
    joint_shares: list[JointSharesEntry] = []
    context: ContextEntry | None = None
    from_world: bool = Field(False, description="take edges, states, mechanisms, shares and context from the world")


class WorldEntry(_Entry):
    """The full network: a file beside this one, or tables."""

    network: str | None = None
    states: dict[str, list[str]] = Field({}, description="of nodes that the problem does not name")
    mechanisms: list[MechanismEntry] = []


class LogEntry(_Entry):
    """Where a log keeps what the problem needs; a node that is not named has a column of its own name."""

    columns: dict[str, str] = Field({}, description="node = column")
    labels: dict[str, dict[str, str]] = Field({}, description="node = {value in the log = state}, where they differ")
    arm: str | None = Field(None, description="the column that names the arm of each row")
    made_by: str | None = Field(None, description="the arm that made every row; the deployed one if not given")
    regime: str | None = Field(None, description="the column that says natural, or the group that S was forced to")
    propensity: str | None = Field(None, description="the column with the logged decision's probability")
    propensities: dict[str, str] = Field({}, description="state of the decision = column with its probability")
    logging_rule: str | None = Field(None, description="the column that names the rule of each row, of several")
    rule_propensities: dict[str, str] = Field(
        {}, description="rule = the column with its probability of the logged decision"
    )
    fit_propensity: bool = Field(False, description="fit arms without a table by a model, not by a table")
    count: str | None = Field(None, description="the column with the number of rows that a line stands for")
    row_id: str | None = Field(None, description="the column that is different in every row")
    time: str | None = Field(None, description="the column with the time of the decision")
    outcome_within: float | None = Field(None, description="outcomes arrive within this time; seconds for timestamps")
    adaptive: bool = Field(False, description="outcomes of earlier rows decided which arm later rows are of")
    randomised: list[str] = Field([], description="arms whose decisions were drawn with the declared probabilities")
    planned: dict[str, float] = Field({}, description="arm = the share of rows it was planned to have")
    drop: dict[str, list[str]] = Field({}, description="node or column = values whose rows are left out on purpose")
    missing_values: list[str] = Field([], description="values that mean a missing one, such as '.' or 'pending'")


class ProblemFile(_Entry):
    """A fairarm problem file."""

    format: Literal[1] = 1
    problem: ProblemEntry
    world: WorldEntry | None = None
    log: LogEntry | None = None
