"""Results as strict JSON documents: +inf is the string "inf", unknown is null. docs/json.md lists every key."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from fairarm.problem.fairness import pair_names
from fairarm.problem.problem import Problem
from fairarm.reports import words
from fairarm.reports.words import arm_reason

if TYPE_CHECKING:
    from fairarm.algorithms import ArmReport, Verdict
    from fairarm.beliefs.assumptions import Statement
    from fairarm.beliefs.beliefs import Smoothness
    from fairarm.beliefs.status import WithDecision
    from fairarm.core.limit.fewest_pulls import Limit
    from fairarm.experiments.arm_evaluations import ArmEvaluation, RowEstimate
    from fairarm.experiments.evaluate import Evaluation
    from fairarm.experiments.identify import Identification
    from fairarm.experiments.inspect import Inspection
    from fairarm.experiments.live import LivePlan, LiveSimulation
    from fairarm.experiments.plan import ExperimentPlan
    from fairarm.experiments.simulate import Simulation
    from fairarm.experiments.start_from_log import LoggedPulls
    from fairarm.worlds.base import Truth


def number(value: float | None) -> float | str | None:
    """A JSON number, "inf" or "-inf", or null for unknown."""
    if value is None or math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value)


def numbers(values: Any) -> Any:
    """Nested lists of `number`."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    return [numbers(v) for v in values] if isinstance(values, list) else number(values)


def _plain(value: Any) -> Any:
    """A nested document with every float as `number`."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return number(value) if isinstance(value, float) else value


def attributes(problem: Problem) -> list[dict[str, Any]]:
    """The sensitive attributes, with their groups."""
    return [{"name": name, "groups": list(groups)} for name, groups in problem.attribute_states.items()]


def fairness(problem: Problem) -> list[dict[str, Any]]:
    """The rows: what is asked of every arm, in the order of the arms' own ``fairness``."""
    return [
        {
            "name": row.name,
            "constraint": row.constraint,
            "attributes": list(row.attributes),
            "as": row.as_group,
            "people": row.people,
            "keep": list(row.keep),
            "above": number(row.above),
            "below": number(row.below),
        }
        for row in problem.rows
    ]


def question(problem: Problem) -> dict[str, Any]:
    """What is asked: of which groups (of the one attribute, else []), and what must hold of every arm."""
    return {
        "groups": list(problem.groups) if len(problem.attributes) == 1 else [],
        "attributes": attributes(problem),
        "tolerance": tolerance(problem),
        "fairness": fairness(problem),
    }


def by_pair(problem: Problem, values: Any) -> dict[str, Any]:
    """What belongs to each compared pair (t, u), keyed "t|u": people of u, as if they were of t."""
    return {name: numbers(value) for name, value in zip(pair_names(problem), values, strict=True)}


def tolerance(problem: Problem) -> float | None:
    """Of the gap between two groups, where that is all that is asked about."""
    return problem.gap_tolerance if problem.has_one_gap else None


def _inspected_arms(found: Inspection) -> list[dict[str, Any]]:
    problem, truth, gaps = found.problem, found.truth, found.gaps()
    return [
        {
            "name": name,
            "mu": number(float(truth.outcomes[k])) if truth else None,
            "zeta": number(gaps[k]),
            "fair": bool(truth.fair[k]) if truth else None,
            "fairness": [
                {"name": row.name, "value": number(value), "holds": holds}
                for row, (value, holds) in zip(problem.rows, found.rows_of(k), strict=truth is not None)
            ],
            "closest": found.closest(k),
            "pairs": _plain({pair: asdict(gap) for pair, gap in found.pairs(k).items()}),
        }
        for k, name in enumerate(problem.arm_names)
    ]


def _best(problem: Problem, truth: Truth | None) -> str | None:
    best = truth.best_fair_arm if truth else None
    return None if best is None else problem.arm_names[best]


def inspection(found: Inspection) -> dict[str, Any]:
    """What `fairarm inspect --json` prints."""
    problem = found.problem
    return {
        "problem": problem.name,
        "sensitive": problem.attributes[0] if len(problem.attributes) == 1 else list(problem.attributes),
        **question(problem),
        "decision": problem.decision,
        "outcome": problem.outcome.node,
        "outcome_range": [number(problem.outcome.low), number(problem.outcome.high)],
        "arms": _inspected_arms(found),
        "best_fair_arm": _best(problem, found.truth),
        "deployed": problem.deployed,
        "blocks": [{"attributes": list(block.members), "causes": list(block.causes)} for block in problem.roles.blocks],
        "regimes": list(problem.regimes),
        "regime_kind": problem.regime_kind,
        "observed_nodes": list(problem.observed),
        "why_observed": [{"node": node, "why": words.why_observed(problem, node)} for node in problem.observed],
        "relevant_children": list(problem.relevant_children),
        "missing_mechanisms": list(problem.missing_mechanisms),
        "decision_is_child_of_sensitive": problem.roles.decision_is_child,
        "unreached_by_deployed": list(found.unreached()),
        "pulls": found.pulls,
        "budget": number(problem.average_cost_budget(found.pulls)),
        "phases": found.phases,
        "fair_from_phase": found.fair_from_phase,
        "M": None if found.M is None else numbers(found.M),
        "D": None if found.D is None else by_pair(problem, found.D),
        "v_star": number(found.v_star),
        "first_plan": [asdict(line) for line in found.first_plan],
        "error_bound": number(found.error_bound),
        "none_bound": number(found.none_bound),
        "limit": _limit(problem, found.limit),
        "limit_with_costs": _limit(problem, found.limit_with_costs),
        "notes": list(found.notes),
    }


LIMIT_AT = (0.1, 0.05, 0.01)


def _limit(problem: Problem, limit: Limit | None) -> dict[str, Any] | None:
    if limit is None:
        return None
    return {
        "form": limit.form,
        "pulls": number(limit.pulls),
        "pulls_needed": {f"{delta:g}": number(limit.pulls_needed(delta)) for delta in LIMIT_AT},
        "binding": [
            {
                "arm": problem.arm_names[a.arm],
                "kind": a.kind,
                "row": None if a.row is None else problem.rows[a.row].name,
                "weight": number(a.weight),
            }
            for a in limit.binding
        ],
        "shares": {
            regime: dict(zip(problem.arm_names, numbers(limit.shares[r]), strict=True))
            for r, regime in enumerate(problem.regimes)
        },
    }


def identification(found: Identification) -> dict[str, Any]:
    """What `fairarm identify --json` prints: the answer, every arm, every phase."""
    problem = found.problem
    return {
        "problem": problem.name,
        **question(problem),
        "algorithm": found.algorithm,
        "seed": found.seed,
        **decision(found.verdict),
        "correct": found.correct,
        "guarantee": str(found.verdict.guarantee),
        "leader": found.verdict.leader,
        "probability": number(found.verdict.probability),
        "none_probability": number(found.verdict.none_probability),
        "runner_up": found.verdict.runner_up,
        "runner_up_probability": number(found.verdict.runner_up_probability),
        "method": found.verdict.method,
        "smooth": _smooth(found.smooth),
        "wrong_tables": None if found.wrong_tables is None else _plain(asdict(found.wrong_tables)),
        "mixture": None if found.mixture is None else _plain(asdict(found.mixture)),
        "fairness_tested": found.verdict.fairness_tested,
        "best_fair_arm": _best(problem, found.truth),
        "pulls": found.pulls,
        "cost": found.cost,
        "log_rows": found.log_rows,
        **(read := _read(found.started_from)),
        "findings": [*read["findings"], *(asdict(finding) for finding in found.verdict.findings)],
        "phases": found.verdict.phases,
        "arms": [_arm_report(found.verdict, report) for report in found.verdict.arms],
        "story": [_plain(asdict(phase)) for phase in found.story],
    }


def _arm_report(verdict: Verdict, report: ArmReport) -> dict[str, Any]:
    """The reason in words, and beside it its code."""
    plain: dict[str, Any] = _plain(asdict(report))
    return plain | {"reason": arm_reason(verdict, report), "reason_code": str(report.reason)}


def decision(found: WithDecision) -> dict[str, Any]:
    """The answer that is safe to act on, and what is recommended."""
    made = {key: item for key, item in asdict(found.decision).items() if key != "answer"}
    return made | {key: getattr(found, key) for key in DECISION_KEYS}


DECISION_KEYS = ("status", "arm", "reason", "reason_text", "recommended", "recommended_status")


def simulation(found: Simulation) -> dict[str, Any]:
    """What `fairarm simulate --json` prints: one entry per algorithm and number of pulls."""
    return {
        "problem": found.problem.name,
        **question(found.problem),
        "seed": found.seed,
        "best_fair_arm": found.best_fair_arm,
        "log_rows": found.log_rows,
        **_read(found.started_from),
        "results": [_plain(asdict(point)) for point in found.results],
    }


def experiment_plan(found: ExperimentPlan) -> dict[str, Any]:
    """What `fairarm plan --json` prints; the cheapest and the quickest option are positions in the list of options."""
    chosen = {"cheapest": found.cheapest, "quickest": found.quickest}
    named = {name: None if option is None else found.options.index(option) for name, option in chosen.items()}
    parts = {field.name: getattr(found, field.name) for field in fields(found) if field.name != "started_from"}
    document = {
        **parts,
        "problem": found.problem.name,
        **question(found.problem),
        "options": [asdict(option) for option in found.options],
        "buys": [asdict(bought) for bought in found.buys],
    }
    document |= _said("notes", "note_codes", found.notes)
    return {**_plain(document), **_read(found.started_from), **named}


def live_simulation(found: LiveSimulation) -> dict[str, Any]:
    """What `fairarm simulate --live --json` prints: one entry per number of people in a cohort."""
    return {
        "problem": found.problem.name,
        **question(found.problem),
        "seed": found.seed,
        "arrivals": found.arrivals,
        "pulls": found.pulls,
        "confidence": found.confidence,
        "best_fair_arm": found.best_fair_arm,
        "results": [_plain(asdict(point)) for point in found.results],
    }


def live_plan(found: LivePlan) -> dict[str, Any]:
    """What `fairarm plan --window --json` prints."""
    said = {"truths": found.truths, "prior_mean": found.prior_mean, "prior_strength": found.prior_strength}
    return {key: value for key, value in live_simulation(found.simulation).items() if key != "best_fair_arm"} | said


def _read(log: LoggedPulls | None) -> dict[str, Any]:
    """What was noticed in the log that runs started from, what was fitted from it and what was left out on purpose."""
    if log is None:
        return {"findings": [], "fitted": [], "dropped": []}
    return {
        "findings": [asdict(finding) for finding in log.findings],
        "fitted": [asdict(note) for note in log.fitted],
        "dropped": [asdict(part) for part in log.dropped],
    }


def _statement(said: Statement) -> dict[str, Any]:
    """The code of something that is said, and what it is about."""
    facts = {key: [asdict(part) for part in value] if key == "dropped" else value for key, value in said.facts.items()}
    return {"code": str(said.code), "facts": facts}


def _said(key: str, codes: str, said: tuple[Statement, ...]) -> dict[str, Any]:
    """Sentences under one key, codes under the other."""
    return {key: [words.sentence(each) for each in said], codes: [_statement(each) for each in said]}


def _by_time(found: Evaluation) -> dict[str, Any] | None:
    """The batches that the certified answer rests on."""
    made = found.evidence.by_time
    return (
        None
        if made is None
        else {"batches": made.settled, "rows": made.rows, "missing": made.missing, "until": made.until}
    )


def _hidden_cause(found: Evaluation) -> dict[str, Any] | None:
    """Bounds with a cause that nobody recorded; the curve is for the page."""
    if found.hidden_cause is None:
        return None
    made = asdict(found.hidden_cause)
    columns = [{"column": name, "strength": strength} for name, strength in found.hidden_cause.columns.items()]
    return {**{key: item for key, item in made.items() if key != "curve"}, "columns": columns}


def evaluation(found: Evaluation) -> dict[str, Any]:
    """What `fairarm evaluate --json` prints."""
    document = {key: getattr(found, key) for key in EVALUATION_KEYS}
    for key, name in (("assumptions", "assumption_codes"), ("not_certified", "not_certified_codes")):
        document |= _said(key, name, getattr(found, key))
    document |= {
        "problem": found.problem.name,
        **question(found.problem),
        **decision(found),
        "certified_status": str(found.certified_status),
        "certified_by": words.bounds_text(found.certified_by),
        "certified_by_codes": [str(bound) for bound in found.certified_by or ()],
        "looks": str(found.looks),
        "look": None if found.look is None else asdict(found.look),
        "by_time": _by_time(found),
        "missing": None if found.missing is None else asdict(found.missing),
        "hidden_cause": _hidden_cause(found),
        "wrong_tables": None if found.wrong_tables is None else asdict(found.wrong_tables),
        "side_by_side": [asdict(line) for line in found.side_by_side],
        "smooth": _smooth(found.evidence.smooth),
        "plain_gap": found.plain_gap,
        "plain_gap_interval": found.plain_gap_interval,
        "observed": [asdict(group) for group in found.observed],
        "plain_gaps": _pairs(found.plain_gaps),
        "arms": [_evaluated_arm(arm) for arm in found.arms],
        "next_pulls": [asdict(line) for line in found.next_pulls],
        "findings": [asdict(finding) for finding in found.findings],
        "fitted": [asdict(note) for note in found.fitted],
        "dropped": [asdict(part) for part in found.dropped],
    }
    plain: dict[str, Any] = _plain(document)
    return plain


def _evaluated_arm(arm: ArmEvaluation) -> dict[str, Any]:
    rows = [_row_estimate(row) for row in arm.fairness]
    return asdict(arm) | {"fairness": rows, "pairs": _pairs(arm.pairs)}


def _pairs(found: Mapping[str, Any]) -> dict[str, Any]:
    """By "t|u"."""
    return {pair: asdict(gap) for pair, gap in found.items()}


def _row_estimate(row: RowEstimate) -> dict[str, Any]:
    certified = None if row.certified_low is None else [row.certified_low, row.certified_high]
    return {
        "name": row.name,
        "value": row.value,
        "interval": [row.low, row.high],
        "certified_interval": certified,
        "holds_probability": row.holds_probability,
    }


def _smooth(smooth: Smoothness | None) -> dict[str, Any] | None:
    return None if smooth is None else {"columns": [*smooth.columns], "weight": float(smooth.weight[0])}


EVALUATION_KEYS = (
    "log", "engine", "rows", "used", "method", "confidence", "seed", "none_probability", "runner_up",
    "runner_up_probability", "certified_arm",
)  # fmt: skip
