"""What is proved of the arms: the bets of `core.certified` for a problem's cells, carried from phase to phase."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from fairarm.algorithms.cohort import Cohort, Missing
from fairarm.algorithms.monitored import Alarm, monitor_findings, monitored
from fairarm.algorithms.procedure import LawReport
from fairarm.beliefs.certified import lacks_shares
from fairarm.beliefs.declared_law import DeclaredLaw, LawRows
from fairarm.beliefs.findings import Finding, Level
from fairarm.beliefs.known_worlds import KnownWorlds, lacking
from fairarm.beliefs.row_kinds import RowKinds
from fairarm.beliefs.standing import Proof
from fairarm.core.answer import Code
from fairarm.core.grouping import sum_by_group
from fairarm.core.proof.accounts import Accounts
from fairarm.core.proof.bets import Brought, Ledger, certificate, open_ledger, settle, teach
from fairarm.core.proof.claims import Rule
from fairarm.core.proof.estimate import Seen
from fairarm.core.proof.law_test import log_average
from fairarm.core.proof.losses import Lost
from fairarm.core.proof.monitors import Drift, LossRows
from fairarm.core.proof.proving_plan import plan_proof
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import OptionError
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import SharedCells
from fairarm.problem.world_cells import WorldCells

LOSSES_AT_FIRST, ROWS_AT_FIRST = 1, 100
"""What is added to the rows lost and to all rows, once one was lost, for the part that is expected to get lost."""

MOST_CLAIMS = 16_000_000
"""About pairs of arms and about the ends of each, over all runs that are computed together. A phase takes some 50 bytes for each: 0.8 GB."""


@dataclass(frozen=True)
class Books:
    """The memory of a certified run: what its bets have won and lost. Empty in runs that place none."""

    labels: FloatArray
    """Log wealth of the bets about each arm alone, (n, J₁ + 1, K)."""
    broken: FloatArray
    """The accounts V, (n, K, J₁)."""
    beats: FloatArray
    """X, (n, K, K, P)."""
    fair: FloatArray
    """F, (n, K)."""
    refuted: BoolArray
    """(n, 1 + K): that no arm is fair, and each arm, as the answer."""
    n: FloatArray
    y: FloatArray
    """Rows and outcome sums by cell that bets may rest on, (n, C)."""
    rows: FloatArray
    """The same by arm and group, or place (`RowKinds`), (n, K, G)."""
    natural: FloatArray
    """Those of natural rows of settled batches, (n, G)."""
    settled: IntArray
    """(n,): batches settled."""
    lost: IntArray
    """(n, 2): rows without an outcome that were charged, as the worst and as the stated outcome."""
    tested: IntArray
    charged: FloatArray
    voided: IntArray
    """The test of the declared law (`LawRows`)."""
    steady_n: FloatArray
    steady_y: FloatArray
    recent_n: FloatArray
    recent_y: FloatArray
    weekday_n: FloatArray
    weekday_y: FloatArray
    predicted: FloatArray
    """The monitor of drift (`Drift`)."""
    dealt: FloatArray
    gone: FloatArray
    loss_wealth: FloatArray
    """The monitor of loss (`LossRows`)."""
    alarm: IntArray
    """(n,): the `Alarm` that voided the run."""

    @classmethod
    def none(cls, n: int) -> Books:
        """Of n replicates that place no bets."""
        empty, no = np.zeros((n, 0)), np.zeros((n, 0), dtype=np.bool_)
        none = np.zeros(n, dtype=np.int64)
        watched = vars(Drift.start(n, 0, days=False)) | vars(LossRows.start(n, 0, 0))
        tested = vars(LawRows.none(n)) | watched | {"alarm": np.full(n, int(Alarm.NONE))}
        return cls(
            empty, empty, empty, empty, no, empty, empty, empty, empty, none, np.zeros((n, 2), dtype=np.int64), **tested
        )

    @classmethod
    def of(cls, ledger: Ledger, law: LawRows, lost: IntArray, drift: Drift, losses: LossRows, alarm: IntArray) -> Books:
        """What is kept of a ledger, of the rows that tested the law, of those that were lost and of the monitors: all of it."""
        wealth = vars(ledger.accounts) | vars(ledger.seen)
        watched = vars(law) | vars(drift) | vars(losses)
        return cls(labels=ledger.labels, **wealth, settled=ledger.settled, lost=lost, **watched, alarm=alarm)

    @property
    def ledger(self) -> Ledger:
        """To go on with."""
        accounts = Accounts(self.broken, self.beats, self.fair, self.refuted)
        return Ledger(Seen(self.n, self.y, self.rows, self.natural), accounts, self.labels, self.settled)

    @property
    def law(self) -> LawRows:
        """The rows that tested the declared law."""
        return LawRows(self.tested, self.charged, self.voided)

    @property
    def drift(self) -> Drift:
        """The monitor of drift."""
        return Drift(**{f.name: getattr(self, f.name) for f in fields(Drift)})

    @property
    def losses(self) -> LossRows:
        """The monitor of loss."""
        return LossRows(self.dealt, self.gone, self.loss_wealth)

    @property
    def void(self) -> BoolArray:
        """(n,): nothing is certified any more, as something that was declared has been seen to be wrong."""
        return np.asarray(
            (self.voided >= 0) | (self.alarm >= 0) | (self.refuted.all(axis=1) & (self.refuted.shape[1] > 0))
        )

    def of_replicates(self, which: BoolArray) -> Books:
        """These replicates' own."""
        return Books(*(getattr(self, f.name)[which] for f in fields(self)))

    def updated(self, which: BoolArray, fresh: Books) -> Books:
        """With the replicates ``which`` replaced, in order, by those of ``fresh``."""
        if which.all():
            return fresh
        made = {f.name: getattr(self, f.name).copy() for f in fields(self)}
        for name, values in made.items():
            values[which] = getattr(fresh, name)
        return Books(**made)


def expected_loss(lost: IntArray | FloatArray, rows: FloatArray) -> FloatArray | None:
    """ε (N, 2): the part of the rows that is expected to get lost, by those lost (N, 2) and all rows (N, K, G) of earlier phases;
    None where none ever was."""
    if not lost.any():
        return None
    share = (lost + LOSSES_AT_FIRST) / (rows.sum(axis=(1, 2)) + ROWS_AT_FIRST)[:, None]
    return np.where(lost > 0, share, 0.0)


def _from_the_start(cohort: Cohort) -> bool:
    """Whether it is a cohort of a live study, where what lost rows are taken to be is said before the first."""
    return cohort.by_group is not None or cohort.by_shares


@dataclass(frozen=True)
class Certified:
    """The rule for one problem and δ. ``estimated``: use neither a declared P(S) nor a declared law of contexts."""

    cells: SharedCells | WorldCells
    rule: Rule
    declared: DeclaredLaw

    @classmethod
    def of(cls, problem: Problem, delta: float, estimated: bool, label_weight: float = 0.0) -> Certified:
        """An error where the rule is not available: it needs finite columns besides the outcome, and mostly P(S), or P(label)."""
        real = [name for name in problem.cell_columns if not problem.variables[name].finite]
        if real:
            raise OptionError(
                f"A certified answer is not available: '{real[0]}' is real-valued, and the proof is for finite cells. "
                f"Use stop=bayes-stop, or declare '{real[0]}' with states."
            )
        if problem.fitted:
            raise OptionError(
                f"A certified answer is not available: the mechanism of '{problem.fitted[0]}' was fitted from rows, and the "
                f"proof needs it exactly. Use stop=bayes-stop, or declare its table."
            )
        if not problem.plain:
            return cls._of_worlds(problem, delta, estimated, label_weight)
        if lacks_shares(problem, estimated):
            raise OptionError(_without_shares(problem))
        cells = problem.compiled.shared_cells.apart()
        shares = None if estimated or problem.shares is None else np.array(problem.shares)
        law, context = cells.likelihood, None
        if cells.law is None or (estimated and cells.contexts > 1):
            context = cells.context
        else:
            law = cells.law_of_cells(cells.law[None])[0]
        rule = Rule(law, problem.compiled.rows, delta, shares, context, label_weight=label_weight)
        return cls(cells, rule, DeclaredLaw(problem, estimated))

    @classmethod
    def _of_worlds(cls, problem: Problem, delta: float, estimated: bool, label_weight: float) -> Certified:
        """Of a problem that is not plain: every law that enters a world or the rows' own is declared, but for h where it need not be."""
        for lack in lacking(problem, estimated):
            raise OptionError(
                f"A certified answer needs {lack.what}, which {lack.why}: {lack.way}{', or ' if lack.way else ''}use bayes-stop."
            )
        known = KnownWorlds(problem)
        law, shares, context = known.law, known.shares, known.context
        rule = Rule(law, problem.compiled.rows, delta, shares, context, known.worlds, known.regimes, label_weight)
        return cls(known.cells, rule, DeclaredLaw(problem))

    def start(self, n: int, days: bool = False) -> Books:
        """Before the first row; ``days``: cohorts will have weekdays."""
        arms, rule = len(self.rule.law), self.rule
        if (claims := n * arms * (rule.mixes * arms + len(rule.ends))) > MOST_CLAIMS:
            raise OptionError(
                f"Certified answers for {arms} arms in {n} runs at once would take some {50e-9 * claims:.1f} GB of memory, and at "
                f"most {50e-9 * MOST_CLAIMS:.1f} are taken. Use fewer runs or fewer arms, or stop=bayes-stop."
            )
        problem, cells = self.declared.problem, rule.law.shape[2]
        units = len(problem.groups) + len(problem.regimes) - 1
        watched = Drift.start(n, cells, days), LossRows.start(n, arms, units), np.full(n, int(Alarm.NONE))
        return Books.of(open_ledger(rule, n), self.declared.start(n), np.zeros((n, 2), dtype=np.int64), *watched)

    def after(self, cohort: Cohort, books: Books, seed: int, replicate: IntArray, reserve: float = 1.0) -> Books:
        """The books after a phase; ``replicate`` (N,) are the numbers of the replicates, ``reserve`` ρ is the part that is staked."""
        brought, lost = self._brought(cohort), books.lost
        means = None if cohort.loss is None else cohort.loss.outcome
        if not _from_the_start(
            cohort
        ):  # f is chosen before the batch, when only a study has said what "not reported" means
            means, lost = None, np.stack([lost.sum(axis=1), np.zeros_like(lost[:, 0])], axis=1)
        expected = expected_loss(lost, books.rows)
        ledger = settle(
            self.rule, books.ledger, brought, seed, replicate, reserve=reserve, loss_share=expected, loss_outcome=means
        )
        ledger = self._with_groups_of_cut(ledger, cohort)
        law = self.declared.after(
            books.law, cohort.rows, ledger.seen.natural, cohort.charged, self._charged_by_group(cohort)
        )
        law = law.unless(cohort.cut, books.law)
        if cohort.beyond is not None:
            seen = cohort.beyond.summary(self.cells)
            by_arm = self.kinds.by_arm(cohort.beyond, seen)
            ledger = teach(ledger, *(part.astype(np.float64) for part in (by_arm, seen.rows, seen.sums)))
        charged = books.lost if brought.lost is None else books.lost + np.rint(brought.lost.by_kind).astype(np.int64)
        return Books.of(ledger, law, charged, *monitored(books.drift, books.losses, books.alarm, cohort, brought))

    def _brought(self, cohort: Cohort) -> Brought:
        """What the core is told of a phase."""
        fresh = cohort.rows.summary(self.cells)
        counted = self.kinds.by_arm(cohort.rows, fresh), fresh.rows, self.kinds.natural(fresh.natural)
        rows, n, natural = (part.astype(np.float64) for part in counted)
        lost = None
        if cohort.by_group is not None:
            natural = natural + self.kinds.natural(cohort.by_group.sum(axis=(1, 2)))
        if cohort.charged is not None or (cohort.by_shares and cohort.missing is None):
            rows = self._whole(cohort)
        if cohort.charged is not None:
            lost = self._lost(cohort)
        return Brought(rows, n, fresh.sums, natural, lost, cohort.cut)

    def _lost(self, cohort: Cohort) -> Lost:
        """Rows that may have any outcome, by cell where that is known and else by arm, and those that have the stated one, by arm."""
        by_arm = np.zeros((0, 0, 0)) if cohort.missing is None else cohort.missing.sum(axis=2).astype(np.float64)
        anywhere, stated = by_arm[:, Missing.UNKNOWN], by_arm[:, Missing.STATED]
        means = None if cohort.loss is None else cohort.loss.outcome
        if cohort.in_cells is None:
            return Lost(np.zeros((len(by_arm), self.rule.law.shape[2])), anywhere, stated, means)
        known = cohort.in_cells.sum(axis=1).reshape(len(by_arm), -1)
        cells = sum_by_group(known, self.cells.cell_of.ravel(), self.cells.cells)
        return Lost(cells.astype(np.float64), anywhere - cohort.in_cells.sum(axis=(2, 3)), stated, means)

    def _charged_by_group(self, cohort: Cohort) -> IntArray | None:
        """Rows that are charged by arm and group, or place, (N, K, G), where the groups are known."""
        if cohort.charged is None or cohort.by_group is None:
            return None
        natural = np.asarray(cohort.by_group[:, : Missing.AT_RANDOM].sum(axis=1))
        if not cohort.rows.problem.plain:  # forced rows have groups of their own there
            return None if cohort.charged[:, 1:].any() else self.kinds.natural(natural)
        return np.asarray(np.moveaxis(cohort.charged[:, 1:], 1, 2) + natural)

    def _whole(self, cohort: Cohort) -> FloatArray:
        """All rows of the plan by arm and place, (N, K, T), those that never came included."""
        whole = np.zeros((len(cohort.counted), *self.rule.law.shape[:2]))
        for regime in range(cohort.counted.shape[1]):
            whole += self._of_regime(cohort, regime)
        return whole

    def _of_regime(self, cohort: Cohort, regime: int) -> FloatArray:
        """The same of one regime.

        The blend must not depend on who came. So where the groups of a regime's rows are not known before they come, and some never did,
        *all* of them count by the declared shares of its groups, not by their own: given the plan alone, that is their law.
        """
        dealt, places = cohort.counted[:, regime].astype(np.float64), np.flatnonzero(self.kinds.fits[regime])
        if len(places) == 1:
            return np.asarray(dealt[:, :, None] * (np.arange(self.kinds.places) == places[0]))
        if regime == 0 and cohort.by_group is not None:
            by_group = cohort.rows.group_sums((0,))[0] + cohort.by_group[:, : Missing.AT_RANDOM].sum(axis=1)
            return np.asarray(self.kinds.natural(by_group), dtype=np.float64)
        if cohort.charged is not None and not cohort.charged[:, regime].any() and not cohort.by_shares:
            came = np.zeros((*dealt.shape, self.kinds.places))
            came[..., self.kinds.place_of[regime]] = cohort.rows.group_sums((regime,))[0]
            return came
        if self.rule.shares is None:
            raise OptionError(
                "Natural rows were lost, and P(S) is not declared: a row that never came has no known group. Declare the shares "
                "of the groups, or say lost='at random' if what was lost did not depend on the outcome."
            )
        of_regime = self.rule.shares if regime == 0 or self.rule.regimes is None else self.rule.regimes[regime - 1]
        return np.asarray(dealt[:, :, None] * of_regime)

    @property
    def kinds(self) -> RowKinds:
        """What rows are counted by."""
        return self.declared.kinds

    def _with_groups_of_cut(self, ledger: Ledger, cohort: Cohort) -> Ledger:
        """Groups at arrival count until the cut: people are a sample in the order in which they came, wherever somebody stops."""
        if cohort.cut is None or cohort.by_group is None:
            return ledger
        everybody = cohort.rows.group_sums((0,))[0].sum(axis=1) + cohort.by_group.sum(axis=(1, 2))
        groups = np.where(cohort.cut[:, None], everybody, 0)
        return replace(ledger, seen=replace(ledger.seen, natural=ledger.seen.natural + self.kinds.natural(groups)))

    def proved(self, books: Books) -> tuple[IntArray, IntArray]:
        """The proved answer (N,), UNDECIDED where there is none, and each arm's Proof (N, K); nothing where void."""
        found = certificate(self.rule, books.ledger)
        side = np.where(found.high, Proof.UNFAIR_TO_SECOND, np.where(found.low, Proof.UNFAIR_TO_FIRST, Proof.UNFAIR))
        proof = np.where(found.fair, Proof.FAIR, np.where(found.unfair, side, Proof.NOTHING))
        # an answer says more: every other arm is unfair or worse, and where none is fair each arm is unfair
        answered, none = (found.answer >= 0)[:, None], (found.answer == Code.NONE)[:, None]
        others = np.where(found.fair, Proof.WORSE, np.where(found.unfair, side, Proof.UNFAIR_OR_WORSE))
        own = np.arange(proof.shape[1]) == found.answer[:, None]
        said = np.where(own, Proof.FAIR, np.where(answered, others, np.where(none, side, proof)))
        void = books.void
        return np.where(void, Code.UNDECIDED, found.answer), np.where(void[:, None], Proof.NOTHING, said)

    def law_report(self, books: Books, replicate: int) -> LawReport:
        """What a run's rows say of what is declared."""
        return LawReport(self._findings(books, replicate), self.declared.least_errors(books.tested[replicate]))

    def law_evidence(self, books: Books, replicate: int) -> float:
        """log of the evidence against what is declared: it voids at `LOG_VOID`."""
        tested, natural = books.tested[[replicate]].astype(np.float64), books.natural[[replicate]]
        values = self.declared.tests.log_values(tested, natural) + books.charged[replicate]
        return float(log_average(values)[0]) if values.shape[1] else 0.0

    def _findings(self, books: Books, replicate: int) -> tuple[Finding, ...]:
        watched = monitor_findings(books.drift, books.losses, books.alarm, replicate)
        if (test := int(books.voided[replicate])) >= 0:
            return (self.declared.finding(test, books.tested[replicate]), *watched)
        if books.refuted[replicate].all():
            text = (
                "Every answer is refuted, that no arm is fair among them: something that was declared is wrong, and nothing is "
                "certified in this run. Check the mechanisms, the law of contexts and the shares, and start a new run."
            )
            return (
                Finding("every-answer-refuted", text, int(books.tested[replicate].sum()), level=Level.BLOCKS_ANSWER),
                *watched,
            )
        return watched

    def planned(
        self,
        books: Books,
        before: FloatArray,
        costs: FloatArray,
        average: FloatArray,
        seed: int,
        replicate: IntArray,
        under_way: FloatArray | None = None,
    ) -> FloatArray:
        """Shares of the units in the next batch, (N, R, K)."""
        return plan_proof(self.rule, books.ledger, before, costs, average, seed, replicate, under_way)


def _without_shares(problem: Problem) -> str:
    G = len(problem.groups)
    what = f"With {G} groups" if G > 2 else "Where a group is compared with the mean of everybody"
    why = "is not declared" if problem.shares is None else "is not used (law=estimated)"
    return f"{what} a certified answer needs P(S), which {why}: declare the shares, or use bayes-stop."
