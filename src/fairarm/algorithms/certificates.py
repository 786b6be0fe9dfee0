"""What is proved of the arms: the bets of `core.certified` for a problem's cells, carried from phase to phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairarm.beliefs.evidence import Evidence
from fairarm.beliefs.standing import Proof
from fairarm.core.proof.bets import Ledger, certificate, open_ledger, settle
from fairarm.core.proof.claims import Rule
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import OptionError
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import SharedCells

MOST_CLAIMS = 16_000_000
"""About pairs of arms, over all runs that are computed together. A phase takes some 50 bytes for each: 0.8 GB."""


@dataclass(frozen=True)
class Bets:
    """The memory of a certified run: the log wealth of its bets. Empty in runs that place none."""

    wealth_gap: FloatArray
    """Of those about gaps, (n, 3, K)."""
    wealth_pair: FloatArray
    """Of those about pairs of arms, (n, P, K, K)."""

    @classmethod
    def none(cls, n: int) -> Bets:
        """Of n replicates that place none."""
        return cls(np.zeros((n, 0)), np.zeros((n, 0)))

    def of_replicates(self, which: BoolArray) -> Bets:
        """These replicates' own."""
        return Bets(self.wealth_gap[which], self.wealth_pair[which])

    def updated(self, which: BoolArray, fresh: Bets) -> Bets:
        """With the replicates ``which`` replaced, in order, by those of ``fresh``."""
        if which.all():
            return fresh
        gap, pair = self.wealth_gap.copy(), self.wealth_pair.copy()
        gap[which], pair[which] = fresh.wealth_gap, fresh.wealth_pair
        return Bets(gap, pair)


@dataclass(frozen=True)
class Certified:
    """The rule for one problem and δ. ``estimated``: use neither a declared P(S) nor a declared law of contexts."""

    cells: SharedCells
    rule: Rule

    @classmethod
    def of(cls, problem: Problem, delta: float, estimated: bool) -> Certified:
        """An error where the rule is not available: it needs finite columns besides the outcome."""
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
        cells = problem.compiled.shared_cells.apart()
        shares = None if estimated or problem.shares is None else np.array(problem.shares)
        law, context = cells.likelihood, None
        if cells.law is None or (estimated and cells.contexts > 1):
            context = cells.context
        else:
            law = cells.law_of_cells(cells.law[None])[0]
        return cls(cells, Rule(law, problem.compiled.scaled_tolerance, delta, shares, context))

    def start(self, n: int) -> Bets:
        """Before the first row."""
        arms, ends = len(self.rule.law), 2 if self.rule.shares is None else 1
        if (claims := n * ends * arms**2) > MOST_CLAIMS:
            raise OptionError(
                f"Certified answers for {arms} arms in {n} runs at once would take some {50e-9 * claims:.1f} GB of memory, and at "
                f"most {50e-9 * MOST_CLAIMS:.1f} are taken. Use fewer runs or fewer arms, or stop=bayes-stop."
            )
        ledger = open_ledger(self.rule, n)
        return Bets(ledger.log_gap, ledger.log_pair)

    def after(self, in_phase: Evidence, in_stage: Evidence, bets: Bets) -> tuple[Bets, IntArray, IntArray]:
        """The bets after a phase, the proved answer (N,), UNDECIDED where there is none, and each arm's Proof (N, K)."""
        fresh, seen = in_phase.summary(self.cells), in_stage.summary(self.cells)
        before = Ledger(
            n=(seen.rows - fresh.rows).astype(np.float64),
            y=seen.sums - fresh.sums,
            rows=(seen.by_arm - fresh.by_arm).astype(np.float64),
            natural=(seen.natural - fresh.natural).astype(np.float64),
            log_gap=bets.wealth_gap,
            log_pair=bets.wealth_pair,
        )
        by_arm, rows, natural = (part.astype(np.float64) for part in (fresh.by_arm, fresh.rows, fresh.natural))
        ledger = settle(self.rule, before, by_arm, rows, fresh.sums, natural)
        found = certificate(self.rule, ledger)
        side = np.where(found.high, Proof.UNFAIR_TO_SECOND, np.where(found.low, Proof.UNFAIR_TO_FIRST, Proof.UNFAIR))
        proof = np.where(found.fair, Proof.FAIR, np.where(found.unfair, side, Proof.NOTHING))
        beaten = np.where(found.fair, Proof.WORSE, np.where(found.unfair, side, Proof.UNFAIR_OR_WORSE))
        return Bets(ledger.log_gap, ledger.log_pair), found.answer, np.where(found.beaten, beaten, proof)
