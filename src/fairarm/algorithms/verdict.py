"""What a run says: the answer as a name, numbers in the outcome's own units, and a reason for every arm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, cast

import numpy as np

from fairarm.algorithms.info import Info, Reason
from fairarm.algorithms.notes import Note, RunNote
from fairarm.algorithms.procedure import Certifies, Guarantee, LawReport, Procedure
from fairarm.algorithms.state import State
from fairarm.beliefs.findings import Finding, Level, model_findings
from fairarm.beliefs.standing import CONFIDENCE, Proof, Standing
from fairarm.beliefs.status import Decision, WithDecision, check_margin, decide
from fairarm.core.answer import Code
from fairarm.core.fairness import WAY_OUT
from fairarm.errors import ProblemError
from fairarm.frames import Column, columns_of, limits
from fairarm.problem.answer import Answer, Status
from fairarm.problem.fairness import (
    Row,
    named_group,
    pair_names,
    reads_first,
    row_columns,
    row_labels,
    tells_either_way,
)
from fairarm.problem.mechanism import NO_FAIR_ARM
from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem
from fairarm.shown import Fact, ShownWithRows


class ArmReason(StrEnum):
    """Why an arm is the answer or not. `fairarm.reports.words.arm_reason` says it in words."""

    FOUND = "found"
    RECOMMENDED = "recommended"
    """But not sure enough."""
    UNFAIR = "unfair"
    """Rejected: its estimated gap is too large."""
    WORSE = "worse"
    """Rejected: another arm's estimate is surely better."""
    STILL_RUNNING = "still-running"
    NO_USABLE_PULL = "no-usable-pull"
    LOWER_ESTIMATE = "lower-estimate"
    """Than the arm found."""
    NOT_SHOWN_FAIR = "not-shown-fair"
    UNFAIR_PROVED = "unfair-proved"
    WORSE_PROVED = "worse-proved"
    UNFAIR_OR_WORSE_PROVED = "unfair-or-worse-proved"
    UNLIKELY_FAIR = "unlikely-fair"
    """By the posterior, as the next two."""
    UNLIKELY_BEST = "unlikely-best"
    NOT_KNOWN = "not-known"
    """Not well enough to say."""


@dataclass(frozen=True)
class RowReport:
    """What is known of one row of fairness of an arm, in the outcome's own units; None where undefined."""

    name: str
    """As in ``problem.rows``."""
    value: float | None
    interval: tuple[float, float] | None
    """95 % limits."""
    holds_probability: float | None


@dataclass(frozen=True)
class ArmReport:
    """What is known of one arm, in the outcome's own units; None where undefined."""

    name: str
    outcome: float | None
    gaps: dict[str, float | None]
    """ζ̂ of every ordered pair of groups that is compared, keyed "t|u": of two groups "s|s'" and "s'|s"."""
    fair: bool
    """In F, the arms shown to be fair, as of the last phase that tested; False once rejected."""
    rejected_in_phase: int | None
    reason: ArmReason
    unfair_toward: str | None
    """The group whose outcome is the lower one, where the reason is that the arm is unlikely, or proved not, to be fair; None also
    where more is asked about than one gap between two groups."""
    best_probability: float | None
    """That it is the best fair arm; None where the algorithm does not say (also below)."""
    fair_probability: float | None
    outcome_interval: tuple[float, float] | None
    gap_interval: tuple[float, float] | None
    """95 % limits of the gap between two groups, where that is all that is asked about; ``fairness`` has those of every row."""
    certified: str | None
    """"fair", "unfair", "worse" or "unfair or worse", where proved."""
    effective_rows: float | None
    largest_weight: float | None
    overlap: float | None
    unseen: float | None
    law_error: float | None = None
    """How wrong the declared probability of one of its decisions, in a group, could be without having shown by now; None where
    nothing would have shown, or the law is not tested."""
    fairness: tuple[RowReport, ...] = ()
    """Every row that must hold, in the order of ``problem.rows``."""
    closest: str | None = None
    """The name of the row that is least likely to hold; None where the algorithm does not say."""

    @property
    def closest_row(self) -> RowReport | None:
        """That row."""
        named = [row for row in self.fairness if row.name == self.closest]
        return min(named, key=lambda row: row.holds_probability or 0.0, default=None)


@dataclass(frozen=True, repr=False)
class Verdict(WithDecision, ShownWithRows):
    """The answer, and why."""

    problem: Problem
    decision: Decision
    arms: tuple[ArmReport, ...]
    phases: int
    """Phases closed."""
    finished: bool
    fairness_tested: bool
    """False for SRIS, which looks for the best arm of all."""
    guarantee: Guarantee
    leader: str | None
    """The answer, or, while there is none, the most probable one: an arm's name, or "no fair arm"."""
    probability: float | None
    """Of that being right, by the posterior."""
    none_probability: float | None
    """That no arm is fair."""
    runner_up: str | None
    """The next most probable answer: an arm's name, or "no fair arm"."""
    runner_up_probability: float | None
    method: str | None
    """How arms were estimated: "cell means" or "doubly robust"."""
    notes: tuple[Note, ...] = ()
    """What else happened: rows that never came."""
    findings: tuple[Finding, ...] = ()
    """What the rows have shown to be wrong with what is declared, or with the estimates."""

    @property
    def confidence(self) -> float:
        """Of the status: 1 − δ of a run that stops when sure, else 0.95."""
        return self.decision.confidence

    def _facts(self) -> list[Fact]:
        return [
            ("status", self.status), ("arm", self.arm), ("reason", self.reason), ("recommended", self.recommended),
            ("guarantee", self.guarantee), ("confidence", self.confidence), ("probability", self.probability),
            ("leader", self.leader), ("finished", self.finished),
        ]  # fmt: skip

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        heads = ("arm", "outcome", "P(fair)", "P(best fair)", "certified", "why")
        return heads, [
            (a.name, a.outcome, a.fair_probability, a.best_probability, a.certified, a.reason) for a in self.arms
        ]

    def _columns(self) -> dict[str, Column]:
        one = self.problem.has_one_gap
        gaps = [tuple(arm.gaps.values()) if one else (None, None) for arm in self.arms]
        return {
            "arm": (str, [arm.name for arm in self.arms]),
            **columns_of(self.arms, outcome=float),
            **limits("outcome", [arm.outcome_interval for arm in self.arms]),
            "gap": (float, [first for first, _ in gaps]),
            **limits("gap", [arm.gap_interval for arm in self.arms]),
            "gap_other_way": (float, [second for _, second in gaps]),
            **self._closest_columns(),
            **columns_of(
                self.arms, fair=bool, fair_probability=float, best_probability=float, certified=str, rejected_in_phase=int,
                reason=str, unfair_toward=str, effective_rows=float, largest_weight=float, overlap=float, unseen=float,
                law_error=float,
            ),
        }  # fmt: skip

    def _closest_columns(self) -> dict[str, Column]:
        """Of each arm the row that is least likely to hold, where there is more than the gap."""
        if self.problem.has_one_gap:
            return {}
        rows = [arm.closest_row for arm in self.arms]
        return {
            **columns_of(self.arms, closest=str),
            "closest_value": (float, [None if row is None else row.value for row in rows]),
            **limits("closest", [None if row is None else row.interval for row in rows]),
        }

    def _fairness_columns(self) -> dict[str, Column]:
        rows = [row for arm in self.arms for row in arm.fairness]
        return {
            **row_columns(self.problem, [arm.name for arm in self.arms]),
            **columns_of(rows, value=float),
            **limits("value", [row.interval for row in rows]),
            **columns_of(rows, holds_probability=float),
        }


def verdict(
    procedure: Procedure,
    state: State[Any],
    info: Info,
    replicate: int = 0,
    notes: tuple[Note, ...] = (),
    margin: float = 0.0,
) -> Verdict:
    """The answer of one replicate as names, numbers in the outcome's units, and reasons."""
    check_margin(margin)
    problem = procedure.problem
    answer = int(state.answer[replicate])
    fairness = procedure.tests_fairness
    tested = _tested(procedure, state, replicate)
    findings = (*tested.findings, *_model_findings(procedure, info.standing, replicate))
    blocking = [
        Finding(note.state or "", "", level=Level.BLOCKS_ANSWER) for note in notes if note.code == RunNote.LOG_BLOCKS
    ]
    decision = _decision(procedure, answer, info, replicate, (*findings, *blocking), margin)
    found = decision.answer.status == Status.FOUND
    errors = tested.least_errors.max(axis=1)  # in the group in which it is largest
    return Verdict(
        problem=problem,
        decision=decision,
        arms=tuple(
            replace(
                _report(problem, answer, info, replicate, k, fairness, found),
                law_error=None if np.isnan(error) else float(error),
            )
            for k, error in enumerate(errors)
        ),
        phases=int(state.closed[replicate]),
        finished=answer != Code.PENDING,
        fairness_tested=fairness,
        guarantee=procedure.guarantee,
        notes=notes,
        findings=findings,
        **_sureness(procedure, info.standing and info.standing.of(replicate), answer),
    )


def _decision(
    procedure: Procedure, answer: int, info: Info, i: int, findings: tuple[Finding, ...], margin: float
) -> Decision:
    """What is safe to act on: by a proof where the run is certified, else by the posterior."""
    names, confidence = procedure.problem.arm_names, procedure.confidence or CONFIDENCE
    undecided = Answer.of(Code.UNDECIDED, names)
    if info.standing is None or procedure.guarantee == Guarantee.NONE:
        why = "still-running" if answer == Code.PENDING else "no-probability"
        return Decision(undecided, Answer.of(answer, names), None, None, (why,), margin=margin, confidence=confidence)
    standing = info.standing.of(i)
    blind = bool(np.isnan(info.outcomes[i]).all())
    recommended = np.full(1, Code.UNDECIDED) if blind else standing.choice().code
    made = decide(procedure.problem, standing, recommended, findings, margin=margin, confidence=confidence)
    if procedure.guarantee == Guarantee.CERTIFIED:
        pending, void = answer == Code.PENDING, any(each.blocks_certification for each in findings)
        reason = "blocking-warning" if void else "not-proved-yet" if pending else "not-proved"
        blocked_by = tuple(each.name for each in findings if each.blocks_certification)
        reasons = () if answer >= Code.NONE else (reason,)
        return replace(made, answer=Answer.of(answer, names), reasons=reasons, blocked_by=blocked_by)
    if answer == Code.PENDING:
        return replace(made, answer=undecided, reasons=("still-running", *made.reasons))
    return made


def _model_findings(procedure: Procedure, standing: Standing | None, replicate: int) -> tuple[Finding, ...]:
    if standing is None:
        return ()
    problem, certified = procedure.problem, procedure.guarantee == Guarantee.CERTIFIED
    level = Level.WARNING if certified else Level.BLOCKS_ANSWER
    return model_findings(problem.arm_names, standing.apart[replicate], row_labels(problem), level)


def _tested(procedure: Procedure, state: State[Any], replicate: int) -> LawReport:
    """What the rows say of the declared law; nothing where nothing rests on it."""
    if procedure.guarantee != Guarantee.CERTIFIED:
        return LawReport((), np.full((len(procedure.problem.arms), 1), np.nan))
    return cast(Certifies, procedure).law_report(state, replicate)


def _sureness(procedure: Procedure, standing: Standing | None, answer: int) -> dict[str, Any]:
    """The fields of a verdict that only algorithms with beliefs fill."""
    if standing is None:
        return dict.fromkeys(_SURENESS_FIELDS)
    leader = np.array([answer]) if answer >= Code.NONE else standing.likeliest()
    second = standing.runner_up(leader)
    named = (NO_FAIR_ARM, *procedure.problem.arm_names)
    return {
        "leader": named[leader[0] - Code.NONE],
        "probability": float(standing.probability(leader)[0]),
        "none_probability": float(standing.none[0]),
        "runner_up": named[second[0] - Code.NONE],
        "runner_up_probability": float(standing.probability(second)[0]),
        "method": "doubly robust" if standing.robust[0] else "cell means",
    }


_SURENESS_FIELDS = ("leader", "probability", "none_probability", "runner_up", "runner_up_probability", "method")

NEVER_BEST, UNLIKELY_FAIR = 0.05, 0.2

_PROOFS = {
    Proof.UNFAIR: ArmReason.UNFAIR_PROVED,
    Proof.UNFAIR_TO_FIRST: ArmReason.UNFAIR_PROVED,
    Proof.UNFAIR_TO_SECOND: ArmReason.UNFAIR_PROVED,
    Proof.WORSE: ArmReason.WORSE_PROVED,
    Proof.UNFAIR_OR_WORSE: ArmReason.UNFAIR_OR_WORSE_PROVED,
}


def _believed_reason(answer: int, info: Info, standing: Standing, i: int, k: int) -> ArmReason:
    """Why an arm is not the answer, where there are beliefs: unfair, worse, or not known well enough."""
    if (proved := _PROOFS.get(Proof(int(standing.proof[i, k])))) is not None:
        return proved
    if answer == Code.PENDING:
        return ArmReason.STILL_RUNNING
    if standing.fair[i, k] <= UNLIKELY_FAIR:
        return ArmReason.UNLIKELY_FAIR
    lower = answer >= 0 and info.outcomes[i, k] < info.outcomes[i, answer]
    likely = not info.fair[i, k] and standing.best[i, k] > NEVER_BEST
    return ArmReason.UNLIKELY_BEST if lower and not likely else ArmReason.NOT_KNOWN


def _reason(answer: int, info: Info, i: int, k: int, fairness: bool) -> ArmReason:
    outcome = info.outcomes[i, k]
    if info.standing is not None and answer != k:
        return _believed_reason(answer, info, info.standing, i, k)
    if info.reason[i, k] != Reason.NOT_REJECTED:
        return ArmReason.UNFAIR if info.reason[i, k] == Reason.UNFAIR else ArmReason.WORSE
    if answer == k:
        return ArmReason.FOUND
    if answer == Code.PENDING:
        return ArmReason.STILL_RUNNING
    if np.isnan(outcome) and (_is_unknown(info, i, k) or not fairness):
        return ArmReason.NO_USABLE_PULL
    lower = answer >= 0 and outcome <= info.outcomes[i, answer]
    return ArmReason.LOWER_ESTIMATE if lower else ArmReason.NOT_SHOWN_FAIR


def _is_unknown(info: Info, i: int, k: int) -> bool:
    """Whether something that fairness asks of an arm could not be estimated: a gap, or a row where no groups are compared."""
    return bool(np.isnan(info.gaps[i, :, k] if info.gaps.shape[1] else info.rows[i, k]).any())


def _toward(problem: Problem, reason: ArmReason, info: Info, i: int, k: int) -> str | None:
    """The group that an arm is unfair toward, where that is the reason and the side is known."""
    if not problem.has_one_gap:
        return None
    groups, proof = pair_of(problem), Proof.NOTHING if info.standing is None else info.standing.proof[i, k]
    if reason == ArmReason.UNLIKELY_FAIR:
        return groups[1 if info.gaps[i, 0, k] > 0 else 0]
    return {Proof.UNFAIR_TO_FIRST: groups[0], Proof.UNFAIR_TO_SECOND: groups[1]}.get(Proof(int(proof)))


def _report(problem: Problem, answer: int, info: Info, i: int, k: int, fairness: bool, found: bool) -> ArmReport:
    outcome = float(problem.outcome.unscale(info.outcomes[i, k]))
    keyed = dict(zip(_pair_names(problem, info.gaps.shape[1]), problem.outcome.width * info.gaps[i, :, k], strict=True))
    rows = _rows(problem, info, i, k)
    if not problem.plain:
        keyed = _gaps_of_rows(problem, rows)
    rejected, reason = int(info.rejected[i, k]), _reason(answer, info, i, k, fairness)
    reason = ArmReason.RECOMMENDED if reason == ArmReason.FOUND and not found else reason
    return ArmReport(
        name=problem.arm_names[k],
        outcome=None if np.isnan(outcome) else outcome,
        gaps={key: None if np.isnan(gap) else float(gap) for key, gap in keyed.items()},
        fair=bool(info.fair[i, k]),
        rejected_in_phase=rejected or None,
        reason=reason,
        unfair_toward=_toward(problem, reason, info, i, k),
        fairness=rows,
        closest=None if info.standing is None else rows[closest_row(problem, info.standing, i, k)].name,
        **_beliefs(problem, info.standing, i, k),
    )


def _gaps_of_rows(problem: Problem, rows: Sequence[RowReport]) -> dict[str, float]:
    """μ(t|u) − μ(u|u) by "t|u", of a problem that is not plain: those that are rows themselves."""
    found: dict[str, float] = {}
    for row, known in zip(problem.rows, rows, strict=True):
        if row.as_group is None or row.people is None or row.keep or row.effect != "total" or row.ratio is not None:
            continue
        gap = np.nan if known.value is None else reads_first(problem, row) * known.value
        t, u = (named_group(problem, row, group) for group in (row.as_group, row.people))
        found[f"{t}|{u}"] = gap
        if tells_either_way(problem, row):
            found.setdefault(f"{u}|{t}", -gap)
    return found


def _pair_names(problem: Problem, pairs: int) -> list[str]:
    """ "t|u" of every pair that is compared; an error where an algorithm has estimated others."""
    if pairs != len(problem.compared):
        raise ProblemError(
            f"The algorithm compares {pairs} ordered pairs of groups, problem '{problem.name}' {len(problem.compared)}. {WAY_OUT}"
        )
    return list(pair_names(problem))


def _rows(problem: Problem, info: Info, i: int, k: int) -> tuple[RowReport, ...]:
    """Each row in the outcome's own units."""
    values, made = np.broadcast_to(info.rows[i, k], len(problem.rows)), []
    for j, row in enumerate(problem.rows):
        known = values[j] if not np.isnan(values[j]) else _gap_of_row(problem, row, info, i, k)
        value, standing = row.in_units(problem.outcome, float(known)), info.standing
        interval = probability = None
        if standing is not None:
            ends = (standing.row_low[i, k, j], standing.row_high[i, k, j])
            interval = tuple(row.in_units(problem.outcome, float(end)) for end in ends)
            probability = float(standing.row_holds[i, k, j])
        made.append(RowReport(row.name, None if np.isnan(value) else value, interval, probability))  # type: ignore[arg-type]
    return tuple(made)


def _gap_of_row(problem: Problem, row: Row, info: Info, i: int, k: int) -> float:
    """A row that is the gap of two groups, from an algorithm that estimates gaps alone; nan for others."""
    if (
        not problem.plain
        or row.as_group is None
        or row.people is None
        or sorted(w for w in row.weights if w) != [-1.0, 1.0]
    ):
        return np.nan
    pair = problem.groups.index(row.as_group), problem.groups.index(row.people)
    return float(info.gaps[i, problem.compared.index(pair), k])


def closest_row(problem: Problem, standing: Standing, i: int, k: int) -> int:
    """The row of an arm that is least likely to hold; of several, the one whose limits come nearest to an end, or are furthest
    beyond it."""
    rows, holds = problem.compiled.rows, standing.row_holds[i, k]
    reach = np.maximum(rows.low - standing.row_low[i, k], standing.row_high[i, k] - rows.high)
    return int(np.lexsort((-reach, holds))[0])


def _beliefs(problem: Problem, standing: Standing | None, i: int, k: int) -> dict[str, Any]:
    """The fields of a report that only some algorithms fill."""
    if standing is None:
        return dict.fromkeys(_BELIEF_FIELDS)
    outcome = tuple(
        float(problem.outcome.unscale(side[i, k])) for side in (standing.outcome_low, standing.outcome_high)
    )
    proof = Proof(int(standing.proof[i, k]))
    return {
        "best_probability": float(standing.best[i, k]),
        "fair_probability": float(standing.fair[i, k]),
        "outcome_interval": outcome,
        "gap_interval": _gap_interval(problem, standing, i, k),
        "certified": None if proof == Proof.NOTHING else proof.label,
        "effective_rows": float(standing.effective[i, k]),
        "largest_weight": float(standing.largest_weight[i, k]),
        "overlap": float(standing.overlap[i, k]),
        "unseen": float(standing.unseen[i, k]),
    }


def _gap_interval(problem: Problem, standing: Standing, i: int, k: int) -> tuple[float, float] | None:
    if not problem.has_one_gap:
        return None
    width = problem.outcome.width
    return float(width * standing.row_low[i, k, 0]), float(width * standing.row_high[i, k, 0])


_BELIEF_FIELDS = (
    "best_probability", "fair_probability", "outcome_interval", "gap_interval", "certified", "effective_rows",
    "largest_weight", "overlap", "unseen",
)  # fmt: skip
