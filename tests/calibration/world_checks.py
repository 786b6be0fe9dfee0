"""Named checks of certified answers about worlds: of runs with an arm exactly on an end, how often what is true is refuted.

Rows come from the network of each stratum, by exact inference in it; what is true of the arms is the network's own.
"""

from __future__ import annotations

import numpy as np
from benchmarks.calibration import gate

from fairarm.algorithms.certificates import Certified
from fairarm.algorithms.cohort import Cohort
from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.proof.bets import open_ledger, settle

RUNS, BATCHES, FIRST, GROWTH, SEED = 300, 9, 3, 1.5, 5
"""A run has 18 to 30 units with so many rows each in the first batch, up to about 75 in the last."""


def true_claims_hold(name: str) -> bool:
    """Every true claim about an arm is refuted in at most δ/K of the runs, every true answer in at most δ: tested at 1e-4. The test of the
    declared law does not look: it would stop a run whose law is not the declared one."""
    stratum = gate.stratum_named(name)
    proof = Certified.of(stratum.problem, gate.DELTA, estimated=False)
    ledger, rng, rows = open_ledger(proof.rule, RUNS), np.random.default_rng(SEED), float(FIRST)
    for _ in range(BATCHES):
        pulls = np.full((RUNS, len(stratum.problem.regimes), len(stratum.problem.arms)), int(rows))
        batch = CellEvidence(stratum.problem, stratum.world.draw(pulls, rng))
        ledger = settle(proof.rule, ledger, proof._brought(Cohort(batch)), SEED)
        rows *= GROWTH
    claims, answers, _ = gate.against(proof.rule, ledger, gate.claims_of(stratum))
    arms = len(stratum.problem.arms)
    allowed = ((int(claims.max()), gate.DELTA / arms), (int(answers.max()), gate.DELTA))
    return all(gate.p_value(refuted, RUNS, rate) >= gate.SIGNIFICANCE for refuted, rate in allowed)


def rows_have_their_laws(name: str) -> bool:
    """The law of the rows of each arm and place, as it is bet on, against 100 000 rows of each unit: off by 0.01 at most, where 0.002 is the
    standard deviation at most. Where contexts are unknown, h is the rows' own."""
    stratum = gate.stratum_named(name)
    proof = Certified.of(stratum.problem, gate.DELTA, estimated=False)
    pulls = np.full((1, len(stratum.problem.regimes), len(stratum.problem.arms)), 100_000)
    rows = CellEvidence(stratum.problem, stratum.world.draw(pulls, np.random.default_rng(SEED)))
    seen = proof.kinds.by_point(rows)[0]
    at = np.tile(proof.cells.cell_of, (seen.shape[1] // len(proof.cells.cell_of), 1))
    law = np.take_along_axis(proof.rule.law, at[None], axis=2)
    if proof.rule.context is not None:
        context = proof.rule.context[at]
        reached = np.bincount(context.ravel(), (law * seen.sum(axis=2, keepdims=True)).sum(axis=0).ravel())
        law = law * (np.bincount(context.ravel(), seen.sum(axis=0).ravel()) / reached)[context]
    return bool(np.abs(seen / seen.sum(axis=2, keepdims=True) - law).max() < 0.01)
