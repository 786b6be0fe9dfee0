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
from fairarm.beliefs.findings import Finding, model_findings, tail_findings
from fairarm.beliefs.standing import GATE, Standing, standing_of
from fairarm.beliefs.status import Decision, WithDecision, check_margin, decide
from fairarm.core.answer import Code
from fairarm.core.types import BoolArray
from fairarm.errors import OptionError
from fairarm.experiments.arm_evaluations import (
    ArmEvaluation,
    Estimate,
    RowEstimate,
    arm_evaluations,
    estimate_columns,
)
from fairarm.experiments.doubt import (
    MissingOutcomes,
    bounded,
    bounded_ends,
    bounded_for,
    code_of,
    missing_outcomes,
    unseen_cells,
    widened,
)
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
    "SideBySide", "WrongTables", "evaluate",
]  # fmt: skip

MARGIN = 0.05
"""Standard deviations of the outcome by which another fair arm may be better, unless a margin is given."""


@dataclass(frozen=True, repr=False)
class Evaluation(WithDecision, ShownWithRows):
    """The answer from a log. ``status`` and ``arm`` are safe to act on: by the posterior they are right with probability ``confidence``, and
    nothing speaks against them (``reasons``). ``recommended`` is the most probable answer; ``certified_*`` goes by what is proved.
    An arm that the log does not support is never named.
    """

    evidence: LogEvidence = field(compare=False)
    """All that it rests on."""
    confidence: float
    seed: int
    arms: tuple[ArmEvaluation, ...]
    decision: Decision
    none_probability: float
    """That no arm is fair."""
    runner_up: str
    """The next most probable answer after what is recommended."""
    runner_up_probability: float
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
        """What was noticed; some block certification or the answer."""
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
            ("status", self.status), ("arm", self.arm), ("reason", self.reason), ("recommended", self.recommended),
            ("recommended_probability", self.recommended_probability),
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
                effective_rows=float, largest_weight=float, overlap=float, unseen=float, fitted=bool, learned=bool,
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
    margin: float | None = None,
    law: Literal["declared", "estimated"] = "declared",
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
    ``confidence``: of the status and of both kinds of interval. ``margin``: another fair arm may be better by this, in units of the
    outcome; 0.05 standard deviations of the outcome unless given. ``law``: P(S) and the law of contexts as declared, or from the log alone.
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
    if not 0.5 <= confidence < 1:
        raise OptionError(f"The confidence is a number from 0.5 to below 1; got {confidence}.")
    check_margin(margin or 0.0)
    reader = log_reader(problem, log, columns=columns, engine=engine)
    estimated, sketched = law == "estimated", hidden_cause is not None
    at_random = missing == "at random"
    found = evidence_from_log(reader, 1.0 - confidence, estimated, duplicates, seed, at_random, sketched, on_rows)
    found = log.carried(found) if isinstance(log, LoggedPulls) else found
    problem = found.problem
    draws = drawn(found.beliefs, problem.compiled.rows, seed)
    usual = draws.usual(confidence)
    ends, boxes = bounded_ends(found, estimated, seed)
    usual = usual if ends is None else widened(usual, ends, confidence)
    found = found.with_findings(unseen_cells(found, estimated))
    found = found.with_findings(check_agreement(problem, found.certificate, usual.outcomes, usual.rows))
    certificate = NOTHING_CERTIFIED if found.voided_by else found.certificate
    standing = standing_of(
        found.beliefs, draws.outcomes, draws.rows, problem.compiled.rows, confidence=confidence, excluded=reader.learned
    )
    found = found.with_findings(model_findings(problem.arm_names, standing.apart[0], row_labels(problem)))
    seen = found.beliefs.diagnostics()
    if seen.skewness is not None:
        found = found.with_findings(tail_findings(problem.arm_names, seen.skewness[0], seen.effective[0]))
    beside = side_by_side(found, usual, confidence) if compare else ()
    found = found.with_findings(disagreements(beside, tuple(row_labels(problem))))
    plain = plain_gaps(found, confidence)
    pairs = gaps_of_arms(found, draws.shown)
    supported = is_supported(standing)
    recommended = standing.choice(heard=supported, least_none=GATE).code
    code, bounded_by = int(recommended[0]), () if ends is None else found.bounded_by
    bound = standing if ends is None else bounded(standing, ends, problem.compiled.rows, confidence)
    bound = bound if boxes is None else bounded_for(bound, standing, boxes, code, confidence)
    decision = decide(
        problem, bound, recommended, found.findings, margin=_usual_margin(found) if margin is None else margin, confidence=confidence,
        unbounded=standing, bounded_by=bounded_by, not_recommended={"no-support": ~supported},
    )  # fmt: skip
    runner_up = standing.runner_up(np.maximum(recommended, Code.NONE))
    return Evaluation(
        evidence=found,
        confidence=confidence,
        seed=seed,
        arms=arm_evaluations(problem, certificate, usual, pairs, bound, standing, found.made, reader.learned),
        decision=decision,
        none_probability=float(bound.none[0]),
        runner_up=(*problem.arm_names, NO_FAIR_ARM)[runner_up[0]],
        runner_up_probability=float(bound.probability(runner_up)[0]),
        certified_answer=found.proved_answer or certificate.answer(problem),
        observed=observed_groups(found),
        plain_gaps=plain,
        plain_gap_interval=next(iter(plain.values())).interval if problem.has_one_gap else None,
        next_pulls=next_pulls(problem, found.beliefs, draws.outcomes, draws.rows),
        look=None if looks is None else look_again(looks, found.by_time),
        missing=missing_outcomes(found),
        side_by_side=beside,
        wrong_tables=_wrong_tables(found, code, certificate, estimated),
        hidden_cause=None if hidden_cause is None else find_hidden_cause(found, hidden_cause, code, confidence, seed),
    )


def _wrong_tables(found: LogEvidence, code: int, certificate: Certificate, estimated: bool) -> WrongTables | None:
    """How far off declared tables may be before the answer ``code``, and what certified intervals prove, tip."""
    bounds, problem = certificate.intervals, found.problem
    proved = None if bounds is None else (code_of(problem, certificate.answer(problem)), bounds)
    return wrong_tables(found.beliefs, code, shown_errors(problem, found.counted, estimated), proved)


def is_supported(standing: Standing) -> BoolArray:
    """Arms (K,) that the log supports: no other is recommended."""
    each = zip(standing.unseen[0], standing.effective[0], strict=True)
    return np.array([support_of(unseen, rows) != "no" for unseen, rows in each])


def _usual_margin(found: LogEvidence) -> float:
    """`MARGIN` standard deviations of the natural rows' outcome, in its units; 0 where no row is natural."""
    rows = max(int(found.natural.sum()), 1)
    mean = found.natural_sums.sum() / rows
    variance = max(found.natural_squares.sum() / rows - mean**2, 0.0)
    return float(MARGIN * np.sqrt(variance) * found.problem.outcome.width)
