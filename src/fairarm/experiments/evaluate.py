"""What a log already says of every arm: outcomes and gaps with two kinds of interval, and whether it can speak at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fairarm.beliefs.assumptions import Statement
from fairarm.beliefs.beliefs import support_of
from fairarm.beliefs.certified import NOTHING_CERTIFIED, Bound, Certificate
from fairarm.beliefs.findings import MODEL_DISAGREES, Finding, model_findings
from fairarm.beliefs.standing import Standing, standing_of
from fairarm.core.answer import Code
from fairarm.errors import OptionError
from fairarm.experiments.arm_evaluations import (
    ArmEvaluation,
    Estimate,
    RowEstimate,
    arm_evaluations,
    estimate_columns,
)
from fairarm.experiments.doubt import MissingOutcomes, bounded_by_missing, code_of, missing_outcomes
from fairarm.experiments.evidence_from_log import LogEvidence, evidence_from_log
from fairarm.experiments.hidden_cause import HiddenCause, check_strength
from fairarm.experiments.hidden_cause import hidden_cause as find_hidden_cause
from fairarm.experiments.looks import Look, Looks, check_looks, look_again
from fairarm.experiments.next_pulls import NextPulls, next_pulls
from fairarm.experiments.observed import ObservedGroup, PlainGap, observed_groups, plain_gaps
from fairarm.experiments.pairs import PairGap, gaps_of_arms
from fairarm.experiments.side_by_side import SideBySide, disagreements, side_by_side
from fairarm.experiments.start_from_log import LoggedPulls, log_reader
from fairarm.experiments.usual import drawn
from fairarm.experiments.wrong_tables import WrongTables, shown_errors, wrong_tables
from fairarm.frames import Column, columns_of
from fairarm.logs.checks import check_agreement
from fairarm.logs.passes import Told
from fairarm.logs.reading import Dropped
from fairarm.problem.answer import Answer, Status
from fairarm.problem.fairness import row_columns, row_labels
from fairarm.problem.fitting import FittedNote
from fairarm.problem.log_map import LogMap, WithColumns
from fairarm.problem.mechanism import NO_FAIR_ARM
from fairarm.problem.problem import Problem
from fairarm.shown import Fact, ShownWithRows

__all__ = [
    "ArmEvaluation", "Estimate", "Evaluation", "HiddenCause", "MissingOutcomes", "NextPulls", "ObservedGroup", "PairGap", "PlainGap", "RowEstimate",
    "SideBySide", "WrongTables", "evaluate", "posterior_answer",
]  # fmt: skip


@dataclass(frozen=True, repr=False)
class Evaluation(ShownWithRows):
    """The answer from a log. ``status`` and ``arm`` go by the posterior, ``certified_*`` by what is proved.

    An arm for which the log does not speak is never named. Where one of those is likelier than any answer that could be
    given, where neither an arm is fair with ``min_fair_probability`` nor "no fair arm" has it, or where the estimates do not
    agree with the rows (``model_disagrees``), ``status`` is UNDECIDED, ``arm`` None and ``probability`` that of no fair arm.
    """

    evidence: LogEvidence = field(compare=False)
    """All that it rests on."""
    confidence: float
    seed: int
    arms: tuple[ArmEvaluation, ...]
    answer: Answer
    probability: float
    runner_up: str
    runner_up_probability: float
    gated: bool
    """An arm is more likely to be the best fair arm than the answer is to be right, but does not pass the gate."""
    min_fair_probability: float
    """The gate: an arm is named only if it is fair with this probability, and "no fair arm" only if that has it."""
    certified_answer: Answer
    observed: tuple[ObservedGroup, ...]
    plain_gap_interval: tuple[float, float] | None
    """An ordinary interval of the plain gap; None where a group has fewer than two rows, or where the outcome varies too
    little within its declared range, and where more is asked about than one gap between two groups."""
    next_pulls: tuple[NextPulls, ...]
    """Largest first."""
    look: Look | None = None
    """Which look at a growing log this is, where a file remembers them."""
    missing: MissingOutcomes | None = None
    """What missing outcomes do to the answer; None where none is missing."""
    hidden_cause: HiddenCause | None = None
    """Bounds with a cause that nobody recorded, where that was asked for."""
    wrong_tables: WrongTables | None = None
    """How far off declared tables may be before the answer tips; None where there is no answer, or rows are not counted by cell."""
    side_by_side: tuple[SideBySide, ...] = ()
    """Every arm by ordinary estimators and by ours, where that was asked for."""
    plain_gaps: Mapping[str, PlainGap] = field(default_factory=dict)
    """The differences of the groups' mean outcomes in the log as it is, of every ordered pair that is compared, keyed "t|u"."""

    @property
    def status(self) -> Status:
        """FOUND, NO_FAIR_ARM or UNDECIDED, by the posterior."""
        return self.answer.status

    @property
    def arm(self) -> str | None:
        """The arm that was found, by the posterior."""
        return self.answer.arm

    @property
    def model_disagrees(self) -> bool:
        """The estimates do not agree with the weighted rows: no arm is named by them."""
        return any(finding.name == MODEL_DISAGREES for finding in self.findings)

    @property
    def certified_status(self) -> Status:
        """FOUND, NO_FAIR_ARM or UNDECIDED, by what is proved."""
        return self.certified_answer.status

    @property
    def certified_arm(self) -> str | None:
        """The arm that is proved to be the best fair one."""
        return self.certified_answer.arm

    @property
    def certified_by(self) -> tuple[Bound, ...] | None:
        """What the certified intervals are made of; None where there are none."""
        return None if self.evidence.voided_by else self.evidence.certificate.by or None

    @property
    def not_certified(self) -> tuple[Statement, ...]:
        """Why nothing is certified; empty where intervals are. `fairarm.reports.words.sentence` says it in words."""
        return self.evidence.obstacles

    @property
    def looks(self) -> Looks:
        """For how many looks at the log the certified answer holds. Certified intervals hold for one."""
        anew = self.look is not None and self.look.changed
        return Looks.ONE if self.evidence.by_time is None or anew else Looks.ANY

    @property
    def problem(self) -> Problem:
        """With the mechanisms that were fitted from the log."""
        return self.evidence.problem

    @property
    def log(self) -> str:
        """The log's name."""
        return self.evidence.source.name

    @property
    def engine(self) -> str:
        """What read it."""
        return self.evidence.source.engine

    @property
    def rows(self) -> int:
        """All that it has."""
        return self.evidence.source.rows

    @property
    def used(self) -> int:
        """Those that could be used."""
        return self.evidence.source.used

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """Rows left out on purpose (log.drop), by value."""
        return self.evidence.source.dropped

    @property
    def method(self) -> str:
        """How arms were estimated: "cell means", "doubly robust" or "weighted mean"."""
        return self.evidence.beliefs.method

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was noticed; some void what is certified."""
        return self.evidence.findings

    @property
    def fitted(self) -> tuple[FittedNote, ...]:
        """The mechanisms that were fitted from the log."""
        return self.evidence.fitted

    @property
    def assumptions(self) -> tuple[Statement, ...]:
        """What it rests on. `fairarm.reports.words.sentence` says each in words."""
        return self.evidence.assumptions

    @property
    def plain_gap(self) -> float | None:
        """The difference of the groups' mean outcomes in the log as it is, first minus second, where one gap between two groups
        is all that is asked about: ``plain_gaps`` has every pair."""
        if not self.problem.has_one_gap:
            return None
        first, second = (group.mean for group in self.observed)
        return None if first is None or second is None else first - second

    def _facts(self) -> list[Fact]:
        return [
            ("status", self.status), ("arm", self.arm), ("probability", self.probability),
            ("certified_status", self.certified_status), ("certified_arm", self.certified_arm),
            ("problem", self.problem.name), ("log", self.log), ("rows", self.rows), ("used", self.used),
            ("findings", len(self.findings)),
        ]  # fmt: skip

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        asked = ("gap",) if self.problem.has_one_gap else ("closest", "value")
        heads = ("arm", "outcome", "low", "high", *asked, "low", "high", "P(fair)", "P(best fair)", "support")
        lines: list[tuple[object, ...]] = []
        for a in self.arms:
            row = a.gap or a.closest_row
            named = () if self.problem.has_one_gap else (a.closest,)
            shown = (None, None, None) if row is None else (row.value, row.low, row.high)
            outcome = (a.outcome.value, a.outcome.low, a.outcome.high)
            lines.append((a.name, *outcome, *named, *shown, a.fair_probability, a.best_probability, a.support))
        return heads, lines

    def _columns(self) -> dict[str, Column]:
        estimates = {
            f"{what}_{end}".removesuffix("_value"): column
            for what in ("outcome", "gap")
            for end, column in estimate_columns([getattr(arm, what) for arm in self.arms])
        }
        return {
            "arm": (str, [arm.name for arm in self.arms]),
            **estimates,
            **self._closest_columns(),
            **columns_of(
                self.arms, fair_probability=float, best_probability=float, certified_fair=bool, support=str, rows=int,
                effective_rows=float, largest_weight=float, overlap=float, unseen=float, fitted=bool,
            ),
        }  # fmt: skip

    def _closest_columns(self) -> dict[str, Column]:
        """Of each arm the row that is least likely to hold, where there is more than the gap."""
        if self.problem.has_one_gap:
            return {}
        rows = estimate_columns([arm.closest_row for arm in self.arms])
        return columns_of(self.arms, closest=str) | {f"closest_{end}": column for end, column in rows}

    def _fairness_columns(self) -> dict[str, Column]:
        rows = [row for arm in self.arms for row in arm.fairness]
        return {
            **row_columns(self.problem, [arm.name for arm in self.arms]),
            **dict(estimate_columns(rows)),
            **columns_of(rows, holds_probability=float),
        }


def evaluate(
    problem: Problem | WithColumns,
    log: Any,
    *,
    columns: LogMap | None = None,
    engine: str | None = None,
    confidence: float = 0.95,
    law: Literal["declared", "estimated"] = "declared",
    min_fair_probability: float = 0.8,
    duplicates: bool = True,
    seed: int = 0,
    looks: str | Path | None = None,
    missing: Literal["worst", "at random"] = "worst",
    hidden_cause: float | None = None,
    compare: bool = False,
    on_rows: Told | None = None,
) -> Evaluation:
    """Every arm's outcome and gap from a log: a path, a URL, a data frame, columns by name, a list of records, a batch, or
    what `read_log` returned (docs/logs.md).

    ``columns`` says where the log keeps what the problem needs; a scenario, in place of the problem, brings its own.
    ``confidence``: of both kinds of interval. ``law``: P(S) and the law of contexts as declared, or from the log alone.
    ``duplicates``: look for repeated row ids, where the log has them. ``looks``: a file that remembers the looks at a growing log.
    ``missing``: outcomes that are missing may have been anything ("worst"), or you state that they are missing at random given the
    cell. ``hidden_cause``: bounds with a cause that nobody recorded and that moves the odds of the logged decision by at most this
    factor, 1 or more, and where the answer tips. ``compare``: every arm by ordinary estimators too (docs/trust.md).
    ``on_rows``: called as rows are passed over one by one, with the name of the pass, how far it is, and of how much.
    """
    check_looks(looks)
    check_strength(hidden_cause)
    if missing not in ("worst", "at random"):
        raise OptionError(f"missing is 'worst' or 'at random'; got {missing!r}.")
    if not 0.5 <= confidence < 1 or not 0 <= min_fair_probability <= 1:
        raise OptionError(
            f"The confidence is a number from 0.5 to below 1 and min_fair_probability one from 0 to 1; got {confidence} "
            f"and {min_fair_probability}."
        )
    reader = log_reader(problem, log, columns=columns, engine=engine)
    estimated, sketched = law == "estimated", hidden_cause is not None
    at_random = missing == "at random"
    found = evidence_from_log(reader, 1.0 - confidence, estimated, duplicates, seed, at_random, sketched, on_rows)
    found = log.carried(found) if isinstance(log, LoggedPulls) else found
    problem = found.problem
    draws = drawn(found.beliefs, problem.compiled.rows, seed)
    usual, boxes = bounded_by_missing(found, draws.usual(confidence), confidence, estimated, seed)
    found = found.with_findings(check_agreement(problem, found.certificate, usual.outcomes, usual.rows))
    certificate = NOTHING_CERTIFIED if found.voided_by else found.certificate
    standing = standing_of(found.beliefs, draws.outcomes, draws.rows, problem.compiled.rows)
    found = found.with_findings(model_findings(problem.arm_names, standing.apart[0], row_labels(problem)))
    beside = side_by_side(found, usual, confidence) if compare else ()
    found = found.with_findings(disagreements(beside, tuple(row_labels(problem))))
    plain = plain_gaps(found, confidence)
    pairs = gaps_of_arms(found, draws.shown)
    answered = posterior_answer(problem, standing, min_fair_probability)
    code = code_of(problem, answered["answer"])
    return Evaluation(
        evidence=found,
        confidence=confidence,
        seed=seed,
        arms=arm_evaluations(problem, certificate, usual, pairs, standing, found.made),
        **answered,
        min_fair_probability=min_fair_probability,
        certified_answer=found.proved_answer or certificate.answer(problem),
        observed=observed_groups(found),
        plain_gaps=plain,
        plain_gap_interval=next(iter(plain.values())).interval if problem.has_one_gap else None,
        next_pulls=next_pulls(problem, found.beliefs, draws.outcomes, draws.rows),
        look=None if looks is None else look_again(looks, found.by_time),
        missing=missing_outcomes(found, boxes, code, min_fair_probability),
        side_by_side=beside,
        wrong_tables=_wrong_tables(found, code, certificate, estimated),
        hidden_cause=None if hidden_cause is None else find_hidden_cause(found, hidden_cause, code, confidence, seed),
    )


def _wrong_tables(found: LogEvidence, code: int, certificate: Certificate, estimated: bool) -> WrongTables | None:
    """How far off declared tables may be before the answer ``code``, and what certified intervals prove, tip."""
    bounds, problem = certificate.intervals, found.problem
    proved = None if bounds is None else (code_of(problem, certificate.answer(problem)), bounds)
    return wrong_tables(found.beliefs, code, shown_errors(problem, found.counted, estimated), proved)


def posterior_answer(problem: Problem, standing: Standing, min_fair_probability: float) -> dict[str, Any]:
    """The fields of an evaluation that say which arm it is, by the posterior: arms that the log does not speak for are not
    named, but stand in the way; none is where the model is shown to be wrong. What the gate asks of an arm's fairness, it asks of
    "no fair arm" too."""
    speaks = [support_of(u, n) != "no" for u, n in zip(standing.unseen[0], standing.effective[0], strict=True)]
    choice = standing.choice(min_fair_probability, np.array(speaks), min_fair_probability)
    runner_up = standing.runner_up(np.maximum(choice.code, Code.NONE))
    names = (*problem.arm_names, NO_FAIR_ARM)
    return {
        "answer": Answer.of(int(choice.code[0]), problem.arm_names),
        "probability": float(choice.probability[0]),
        "runner_up": names[runner_up[0]],
        "runner_up_probability": float(standing.probability(runner_up)[0]),
        "gated": bool(choice.gated[0]),
    }
