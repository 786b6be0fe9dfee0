"""Is the log what it is said to be? Tests of its rows against the plan, the shares, the mechanisms and the propensities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.certified import Certificate
from fairarm.beliefs.evidence import CountedEvidence
from fairarm.beliefs.findings import Finding, Level
from fairarm.beliefs.robust import choose_method
from fairarm.core.proof.region import Intervals
from fairarm.core.types import FloatArray, IntArray
from fairarm.logs.attribute_checks import check_attributes, compared_groups, contexts_seen
from fairarm.logs.findings import MISMATCH, contingency, is_small, mismatch, mismatch_level
from fairarm.logs.table import LogTable
from fairarm.problem.fairness import row_labels
from fairarm.problem.mechanism import Mechanism
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, groups_of
from fairarm.problem.shared_cells import missing_children, undeclared
from fairarm.problem.space import CellSpace

BLOCKS = Level.BLOCKS_ANSWER

WEIGHT_ERRORS = 5.0
"""Weights whose mean is above 1 by more than this number of standard errors cannot be right."""

ROUNDING = 2e-4
"""The least standard error of a mean weight: propensities are logged with a few digits, and models' are rounded."""


@dataclass(frozen=True)
class WeightCheck:
    """Mean weights, their errors and the least they may be, (K, G); the largest misfit of decisions, in errors."""

    mean: FloatArray
    error: FloatArray
    least: FloatArray
    misfit: float


def check_counts(problem: Problem, planned: Mapping[str, float], made: IntArray, natural: IntArray) -> list[Finding]:
    """Rows by arm and group (K, G) against the planned shares, natural rows (G,) against P(S), and empty groups."""
    found = []
    by_arm = made.sum(axis=1)
    if planned:
        shares = np.array([planned.get(name, 0.0) for name in problem.arm_names])
        p = mismatch(by_arm[None], shares[None])
        if p < MISMATCH:
            each = [f"{n}: {rows} rows, planned {s:.4g}" for n, rows, s in zip(problem.arm_names, by_arm, shares, strict=True)]  # fmt: skip
            text = f"The arms' shares of the rows are not the planned ones (p = {p:.1g}): rows were lost or added by arm."  # fmt: skip
            found.append(Finding("sample-ratio-mismatch", text, int(by_arm.sum()), tuple(each[:12]), BLOCKS))
    if problem.plain and problem.shares is not None and natural.sum():
        counts, law = natural[None], np.array(problem.shares)[None]
        p = mismatch(counts, law)
        if p < MISMATCH:
            each = [f"{g}: {n} rows, declared {s:.4g}" for g, n, s in zip(problem.groups, natural, problem.shares, strict=True)]  # fmt: skip
            text = f"The groups' shares of the natural rows are not the declared ones (p = {p:.1g}). Correct problem.shares, or evaluate with law = estimated."  # fmt: skip
            found.append(
                Finding("group-shares-mismatch", text, int(natural.sum()), tuple(each), mismatch_level(counts, law))
            )
    if by_arm.sum() and not natural.sum() and (unknown := _unknown_shares(problem)):
        found.append(Finding("shares-unknown", unknown, int(by_arm.sum()), level=Level.WARNING))
    for group, rows in _rows_of_groups(problem, made.sum(axis=0)).items():
        if by_arm.sum() and not rows:
            found.append(Finding("group-without-rows", _without_rows(problem, group, made.sum(axis=0)), level=BLOCKS))
        elif is_small(int(rows), int(by_arm.sum())):
            text = f"Only {rows} of {by_arm.sum()} rows are of the group '{group}': what is said of it is uncertain. Merge it, or get more."
            found.append(Finding("group-with-few-rows", text, int(rows), level=Level.WARNING))
    return found


def _unknown_shares(problem: Problem) -> str:
    """What is not known without a natural row; "" where all of it is declared."""
    if problem.plain:
        text = "No row is natural and P(S) is not declared: how the groups mix, and so every outcome, is not known. Gaps are."
        return text if problem.shares is None else ""
    learned = [block for block in problem.roles.blocks if problem.own_factor(block) is None]
    if not learned:
        return ""
    names = ", ".join(name for block in learned for name in block.members)
    return f"No row is natural, and the law of {names} is not declared: how people mix rests on the prior alone, and all that is said with it."


def _rows_of_groups(problem: Problem, rows: IntArray) -> dict[str, int]:
    """Rows of every group, or of those that something is asked about where labels (P,) are not the groups."""
    if problem.plain:
        return dict(zip(problem.groups, rows.tolist(), strict=True))
    return {name: int(rows[fits].sum()) for name, fits in compared_groups(problem).items()}


def _without_rows(problem: Problem, group: str, rows: IntArray) -> str:
    """What is said of a group without a row, and on what that rests; ``rows`` by label, (P,)."""
    if direct := _directly(problem, group, rows):
        return (
            f"Group '{group}' has no rows and '{direct}' acts on '{problem.outcome.node}' directly: recruit it, set min_share, or leave it "
            f"out. What is said of it rests on the prior alone."
        )
    start = f"No row is of the group '{group}'"
    if missing := missing_children(problem):
        return f"{start}, and the mechanism of '{missing[0]}' is not declared: what is said of it rests on the prior alone."
    if blind := undeclared(problem):
        name = problem.arm_names[blind[0]]
        return f"{start}, and the mechanism of arm '{name}' is not declared: what '{name}' does in it rests on the prior alone."
    others = "other group's" if len(problem.groups) == 2 else "other groups'"
    return f"{start}: what is said of it rests on the declared mechanisms and the {others} rows alone."


def _directly(problem: Problem, group: str, rows: IntArray) -> str | None:
    """An attribute that acts on Y, where nobody with rows, (P,), has what Y reads of the group's people."""
    parents = problem.roles.graph.parents(problem.outcome.node)
    read = [j for j, name in enumerate(problem.attributes) if name in parents]
    codes = problem.compiled.profile_codes[:, read]
    fits = compared_groups(problem)[group] if not problem.plain else np.array(problem.groups) == group
    shown = {tuple(each) for each in codes[rows > 0].tolist()}
    lacking = any(tuple(each) not in shown for each in codes[fits].tolist())
    return problem.attributes[read[-1]] if read and lacking else None


def check_cells(problem: Problem, batch: Batch, estimated: bool) -> list[Finding]:
    """Counted rows against everything that is declared and not fitted from them; ``estimated``: not the law of contexts."""
    found = [*check_decisions(problem, batch), *check_children(problem, batch), *check_served(problem, batch)]
    found += check_attributes(problem, batch, estimated)
    return found if estimated else [*found, *check_contexts(problem, batch)]


def check_decisions(problem: Problem, batch: Batch) -> list[Finding]:
    """The logged decisions of each arm against its declared mechanism, given what it saw."""
    found = []
    for k, arm in enumerate(problem.arms):
        lines = np.flatnonzero(batch.arm == k)
        if arm.name in problem.fitted or not len(lines):
            continue
        seen, law = _seen_and_law(problem, arm.mechanism, batch, lines)
        p = mismatch(seen, law)
        if p < MISMATCH:
            text = (
                f"The decisions in the rows of arm '{arm.name}' do not follow its declared mechanism (p = {p:.1g}): "
                f"another rule ran, or the inputs are not the ones it saw."
            )
            found.append(
                Finding("decisions-do-not-fit", text, int(batch.count[lines].sum()), level=mismatch_level(seen, law))
            )
    return found


def check_children(problem: Problem, batch: Batch) -> list[Finding]:
    """Each child of S against its declared mechanism, given its parents."""
    found = []
    for x in problem.relevant_children:
        if x not in problem.mechanisms or x in problem.fitted or x == problem.outcome.node:
            continue
        seen, law = _seen_and_law(problem, problem.mechanisms[x], batch, np.arange(batch.size))
        p = mismatch(seen, law)
        if p < MISMATCH:
            text = (
                f"'{x}' does not follow its declared mechanism (p = {p:.1g}). Correct it, or leave it out: each group's rows then "
                f"speak for that group alone."
            )
            found.append(Finding("children-do-not-fit", text, int(batch.count.sum()), level=mismatch_level(seen, law)))
    return found


def _seen_and_law(problem: Problem, mechanism: Mechanism, batch: Batch, lines: IntArray) -> tuple[IntArray, FloatArray]:
    """The node's values in these lines and their declared probabilities, by its parents' values: (cells, states) each."""
    states = problem.variables[mechanism.node].size
    space = CellSpace.of(mechanism.parents, problem.variables)
    columns = {name: batch.columns[name][lines] for name in (*mechanism.parents, mechanism.node)}
    at = space.number(columns) if mechanism.parents else np.zeros(len(lines), dtype=np.int64)
    seen = np.zeros((space.count, states), dtype=np.int64)
    np.add.at(seen, (at, columns[mechanism.node]), batch.count[lines])
    used = np.flatnonzero(seen.sum(axis=1))
    return seen[used], mechanism.distribution(space.codes(used), states, len(used))


def check_served(problem: Problem, batch: Batch) -> list[Finding]:
    """Whether which arm served a person depended on who it was: contexts by arm within each group."""
    below = {problem.decision, *problem.roles.graph.descendants(problem.decision)}
    columns = tuple(name for name in problem.cell_columns if name not in below)
    if not columns or len(np.unique(batch.arm)) < 2:
        return []
    if (
        not problem.plain and problem.regime_kind == "set"
    ):  # rows in which an attribute was set have another law than others
        batch = batch.take(np.flatnonzero(batch.regime == 0))
    space, group = CellSpace.of(columns, problem.variables), groups_of(problem, batch)
    seen = np.zeros((len(problem.groups), len(problem.arms), space.count), dtype=np.int64)
    np.add.at(seen, (group, batch.arm, space.number(batch.columns)), batch.count)
    by_group = [table[table.sum(axis=1) > 0] for table in seen]
    worst = min((contingency(table) for table in by_group), default=1.0)
    if worst >= MISMATCH / len(by_group):
        return []
    text = (
        f"Which arm served a person depended on {', '.join(columns)} (p = {worst:.1g}): the arms' rows are of different people. "
        f"Log the probability of each decision (log.propensity), or evaluate the arms' logs apart."
    )
    return [Finding("arms-served-different-people", text, int(batch.count.sum()), level=BLOCKS)]


def check_contexts(problem: Problem, batch: Batch) -> list[Finding]:
    """The contexts of the rows against their declared law, by group; cells only."""
    tables = _contexts_seen(problem, batch) if problem.plain else contexts_seen(problem, batch)
    if tables is None or (p := mismatch(*tables)) >= MISMATCH:
        return []
    text = (
        f"What the arms saw does not follow the declared law of contexts (p = {p:.1g}). Correct problem.context, or "
        f"evaluate with law = estimated."
    )
    return [Finding("contexts-do-not-fit", text, int(batch.count.sum()), level=mismatch_level(*tables))]


def _contexts_seen(problem: Problem, batch: Batch) -> tuple[IntArray, FloatArray] | None:
    """Contexts and their declared law, by group; None where no law is declared."""
    cells = problem.compiled.shared_cells
    if cells.law is None or cells.contexts == 1:
        return None
    group = groups_of(problem, batch)
    context = cells.context_of[group, CellSpace.of(problem.cell_columns, problem.variables).number(batch.columns)]
    made = np.zeros((len(problem.arms), len(problem.groups)))
    np.add.at(made, (batch.arm, group), batch.count)
    seen = np.zeros((len(problem.groups), cells.contexts), dtype=np.int64)
    np.add.at(seen, (group, context), batch.count)
    expected = np.einsum("jt,jtz->tz", made, cells.exposure) * cells.law
    return seen, expected / np.maximum(expected.sum(axis=1, keepdims=True), 1e-300)


def check_weights(problem: Problem, weights: WeightCheck) -> list[Finding]:
    """Weights must average to 1, less what no logging arm can decide, and decisions follow the logging arms' law."""
    mean, error, least = weights.mean, np.maximum(weights.error, ROUNDING), weights.least
    off = (mean > 1.0 + WEIGHT_ERRORS * error) | (mean < least - WEIGHT_ERRORS * error)
    found = []
    if off.any():
        each = tuple(
            f"{problem.arm_names[k]}, {problem.groups[t]}: mean {mean[k, t]:.3f}" for k, t in np.argwhere(off)[:5]
        )
        text = (
            "Weights that must average to 1 do not: the propensities, or the declared mechanism of the logging arm, are "
            "not those with which the decisions were made."
        )
        found.append(Finding("weights-do-not-average-to-one", text, 0, each, BLOCKS))
    if weights.misfit > WEIGHT_ERRORS:
        text = (
            f"Among some rows the decisions do not follow the propensities, or the declared mechanisms of the logging arms: off "
            f"by {weights.misfit:.1f} standard errors."
        )
        found.append(Finding("decisions-do-not-fit", text, level=BLOCKS))
    return found


def check_rules(rules: int) -> list[Finding]:
    """One column of propensities for several rules: valid, but rows of an unsuitable rule get weights that drown the others."""
    text = (
        f"People alike in every column have {rules} different propensities of the same decision: {rules} rules made the log. Name the column "
        f"of the rule (log.logging_rule) and each rule's probability of the logged decision (log.rule_propensities): intervals get narrower."
    )
    return [Finding("propensities-of-several-rules", text, level=Level.WARNING)] if rules > 1 else []


def check_sparse(evidence: CountedEvidence) -> list[Finding]:
    """Cell means are used where they are poor: with a fitted mechanism, a summed outcome or worlds that are asked about there is nothing
    better."""
    if evidence.problem.plain and not evidence.problem.fitted and not evidence.summed:
        return []
    if choose_method(evidence.problem, evidence) == "cell means":
        return []
    text = (
        "Most of what the arms would do falls into cells with fewer than 5 rows. The usual intervals then rest on cells being "
        "alike, and may be too narrow. Merge states, or use arms with fewer inputs."
    )
    return [Finding("sparse-cells", text, int(evidence.pulls().sum()), level=Level.WARNING)]


def check_bounds(bounds: Intervals | None) -> list[Finding]:
    """Bounds that no truth meets: under the declared mechanisms that happens with probability at most δ."""
    if bounds is None or not bounds.empty:
        return []
    text = "No truth lies within all certified bounds: something that was declared, or that it rests on, is wrong."
    return [Finding("bounds-contradict", text, level=BLOCKS)]


def check_agreement(
    problem: Problem, certificate: Certificate, outcomes: FloatArray, rows: FloatArray
) -> list[Finding]:
    """Arms whose usual interval, of the outcome (2, K) or of a row of fairness (2, K, J), lies outside the certified one: one of
    the two rests on something that is wrong."""
    proved = certificate.intervals
    if proved is None:
        return []
    usual = np.concatenate([outcomes[..., None], rows], axis=-1)
    ends = np.concatenate([proved.outcomes[0][:, None], proved.rows[0]], axis=1)
    apart = (usual[0] > ends[..., 1]) | (usual[1] < ends[..., 0])
    apart[list(certificate.uncertified_arms)] = False
    if not apart.any():
        return []
    what = ("outcome", *row_labels(problem))
    found = tuple(f"{what[j]} of {problem.arm_names[k]}" for j, k in np.argwhere(apart.T)[:5])
    text = "Usual and certified intervals do not meet: something that was declared, or that they rest on, is wrong."
    return [Finding("intervals-disagree", text, 0, found, BLOCKS)]


def check_duplicates(row_id: str | None, table: LogTable) -> list[Finding]:
    """Row ids that are there more than once."""
    if row_id is None:
        return []
    found = table.duplicates(row_id)
    if not found.ids:
        return []
    text = f"{found.ids} values of '{row_id}' are there more than once, {found.extra_rows} rows too many. They were counted as they are."  # fmt: skip
    return [Finding("duplicate-rows", text, found.extra_rows, found.examples)]


def check_times(untimed: int, void: bool) -> list[Finding]:
    """Of batches by time: rows that belong to none, and batches that no truth explains."""
    found = []
    if untimed:
        text = f"{untimed} rows have no time, and batches by time are made without them: which rows lack one may depend on anything."
        found.append(Finding("rows-without-time", text, untimed))
    if void:
        text = "Batch by batch, every answer is refuted: no truth explains the rows. Something that was declared is not so."
        found.append(Finding("answers-contradict", text, level=BLOCKS))
    return found
