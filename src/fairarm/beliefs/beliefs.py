"""What the pulls so far say about every arm, pooled over arms, groups and regimes: the estimation that Pool, its
competitors, its stopping rules and the mixture share.

Two kinds, chosen by the data: *cell means* where the columns are finite and the cells are seen often enough, *doubly
robust* where the decision is real-valued or the cells are too many (`fairarm.beliefs.robust`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from fairarm.beliefs.draws import Draws
from fairarm.beliefs.evidence import CellEvidence, Evidence
from fairarm.core.design.events import Laws
from fairarm.core.fairness import PRIOR_ROWS, expected_shares, gap_of
from fairarm.core.posterior.disagreement import Disagreement
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.problem import Problem
from fairarm.problem.shared_cells import undeclared

SPEAKS, WEAKLY = (0.01, 100.0), (0.2, 10.0)
"""At most so much of an arm's mass unseen and at least so many effective rows: the rows speak for it, or weakly."""

Support = Literal["yes", "weakly", "no"]


@dataclass(frozen=True)
class Smoothness:
    """Whether outcomes follow the order of ordered columns, as the rows have it."""

    columns: tuple[str, ...]
    """Ordered, with levels enough to be smooth along."""
    weight: FloatArray
    """Of priors whose mean is smooth along them, against those that do not know their order; ½ before any row, (N,)."""


@dataclass(frozen=True)
class Diagnostics:
    """How well the rows speak for each arm, (N, K) each.

    Weights are the balance heuristic's, w_k(row) = P(row | arm k) / P(row | the mixture of all pulls made): mean 1.
    """

    effective: FloatArray
    """Effective sample size (Σ w)² / Σ w² of the arm's outcome."""
    largest_weight: FloatArray
    overlap: FloatArray
    """Σ_c min(P(c | arm), P(c | mixture)): 1 is the same law, 0 none in common."""
    unseen: FloatArray
    """The share of the arm's mass in cells without a row (`unseen_mass`)."""
    smooth: Smoothness | None = None
    """Where a column is ordered, and cells have means of their own."""
    skewness: FloatArray | None = None
    """Of the mean of a real outcome's scores ψ in a log, |Σ(ψ − ψ̄)³| / (Σ(ψ − ψ̄)²)^1.5, the largest over groups; inf where they do not
    vary."""


def support_of(unseen: float, effective: float) -> Support:
    """By the share of the arm's mass that no row speaks for, and by effective rows."""
    if unseen <= SPEAKS[0] and effective >= SPEAKS[1]:
        return "yes"
    return "weakly" if unseen <= WEAKLY[0] and effective >= WEAKLY[1] else "no"


def unseen_mass(problem: Problem, by_group: FloatArray, shares: FloatArray, rows: FloatArray) -> FloatArray:
    """The share of each arm's mass that no row speaks for, (N, K), from that with everybody in a group (N, K, G).

    ``shares`` and ``rows`` of the groups are (N, G). A group without a row has hardly a share where that is estimated, and
    yet every comparison rests on it: there the group's own mass counts, all of it where what the group does is not declared.
    """
    # what such an arm does in a group was to be learned from the group's own rows: without any, nothing is known of it
    alone = by_group.copy()
    alone[:, list(undeclared(problem))] = 1.0
    empty = (rows == 0) & (rows.sum(axis=1, keepdims=True) > 0)
    missed = np.where(empty[:, None], alone, 0.0).max(axis=2)
    return np.asarray(np.maximum(np.einsum("nkt,nt->nk", by_group, shares), missed))


def unseen_worlds(natural: FloatArray, worlds: FloatArray, shares: FloatArray, rows: FloatArray) -> FloatArray:
    """The same where worlds are asked about, (N, K): from the mass that no row speaks for as it is (N, K) and in each world (N, K, W),
    of whose people ``shares`` and ``rows`` are (N, W). A world whose people have no row counts in full."""
    counted = np.where(rows > 0, shares, 1.0)[:, None] * worlds
    return np.asarray(np.maximum(natural, counted.max(axis=2, initial=0.0)))


def point_values(problem: Problem, means: FloatArray, shares: FloatArray) -> Draws:
    """Of estimated means (…, K, G), each cut to what is possible; ``shares`` (…, G)."""
    possible = np.clip(means, *problem.outcome.possible)
    return Draws(np.asarray((possible * shares[..., None, :]).sum(axis=-1)), possible)


@dataclass(frozen=True)
class DesignBasis:
    """What planning needs: rows in each cell with the prior's (N, C), Var(Y | c) (N, C), and the units' laws."""

    counts: FloatArray
    noise: FloatArray
    laws: Laws


@dataclass(frozen=True, kw_only=True)
class _LawsAndShares(Laws):
    """The cells' laws and, last, entries for P(S): 1 where a unit's rows tell it."""

    slopes: FloatArray
    """How far each entry moves μ_k, (N, K, entries)."""

    @property
    def natural(self) -> FloatArray:
        return np.concatenate([self.units[:, 0, :, : -self.slopes.shape[2]], self.slopes], axis=2)

    def of(self, replicates: slice) -> Laws:
        """Only these replicates."""
        return replace(self, units=self.units[replicates], slopes=self.slopes[replicates])


def share_contrasts(by_group: FloatArray, whole: FloatArray) -> list[FloatArray]:
    """What belongs to each entry of P(S): by group less the whole, or of two groups first less second.

    ``by_group`` (G, …), ``whole`` (…): means, or laws whose product with θ they are.
    """
    return [gap_of(by_group, axis=0)] if len(by_group) == 2 else [part - whole for part in by_group]


def with_unknown_shares(
    counts: FloatArray, noise: FloatArray, laws: Laws, slopes: FloatArray, natural: IntArray
) -> DesignBasis:
    """The basis with P(S) unknown too: natural rows (N, G) tell it, whatever their arm, and μ_k moves with it by ``slopes``
    (N, K, entries), the `share_contrasts` of the groups' means.

    The variance of Σ_t P(t) μ_k(t) is that of G cells whose θ has the variance P(t) and the slope μ_k(t) − μ_k; of two groups
    that of one cell whose θ is P(s), with the slope ζ_k.
    """
    shares = expected_shares(natural)
    variance = shares if slopes.shape[2] > 1 else (shares[:, 0] * (1.0 - shares[:, 0]))[:, None]
    total = natural.sum(axis=1) + natural.shape[1] * PRIOR_ROWS
    # every natural row lands in all of these cells too, and no group's mean depends on them
    told = np.zeros((*laws.units.shape[:3], slopes.shape[2]))
    told[:, 0] = 1.0
    return DesignBasis(
        np.concatenate([counts, np.repeat(total[:, None], slopes.shape[2], axis=1)], axis=1),
        np.concatenate([noise, variance], axis=1),
        _LawsAndShares(np.concatenate([laws.units, told], axis=3), laws.asked, slopes=slopes),
    )


class Beliefs(Protocol):
    """Beliefs of N replicates about K arms; outcomes on the scale [0, 1]."""

    @property
    def problem(self) -> Problem:
        """What they are about."""
        ...

    @property
    def method(self) -> str:
        """Said in the output: "cell means" or "doubly robust"."""
        ...

    def draw(self, rng: np.random.Generator, draws: int) -> Draws:
        """Joint draws of every arm's outcome, (N, draws, K), and means by group, (N, draws, K, G)."""
        ...

    def values(self, outcomes: FloatArray, means: FloatArray) -> Draws:
        """What is shown of every arm, (N, K) and (N, K, G): the estimate's own, or the means of these draws.

        The mean of draws that are cut to what is possible is not the estimate: it is higher where the outcome is rare.
        """
        ...

    @property
    def draws_unseen(self) -> bool:
        """Its draws leave open what no row speaks for as a whole; otherwise cells without a row are drawn each by itself."""
        ...

    @property
    def unseen_sd(self) -> float:
        """The sd of a mean that no row speaks for."""
        ...

    def design(self) -> DesignBasis | None:
        """What planning needs; None where the rows are no basis for it."""
        ...

    def diagnostics(self) -> Diagnostics:
        """How well the rows speak for each arm."""
        ...

    def self_check(self) -> Disagreement:
        """How far the estimates are from the rows weighted to each arm: arms with a large difference are estimated wrongly."""
        ...


class PlanningBeliefs(Beliefs, Protocol):
    """Beliefs that the next pulls can be planned by: those of a run's rows, and of a log that was counted."""

    def design(self) -> DesignBasis:
        """What planning needs."""
        ...


def believe(evidence: Evidence, estimated: bool = False, seed: int = 0) -> PlanningBeliefs:
    """Beliefs from all rows so far, of the kind that fits them. ``estimated``: P(S) and the law of contexts from the
    rows, even where declared. ``seed`` divides the rows into folds where a regression is fitted."""
    from fairarm.beliefs.cells import CellBeliefs
    from fairarm.beliefs.imputed import ImputedBeliefs
    from fairarm.beliefs.robust import RobustBeliefs, choose_method
    from fairarm.beliefs.worlds import WorldBeliefs

    if not evidence.problem.plain:
        return WorldBeliefs.of(evidence, estimated)
    if isinstance(evidence, CellEvidence) and evidence.unplaced is not None and evidence.unplaced.any():
        return ImputedBeliefs.imputed(evidence, evidence.unplaced, estimated, seed)
    # sums by cell have no rows to regress on, and only cell means carry the error of a fitted mechanism
    counted = evidence.summed or evidence.problem.fitted
    if not counted and choose_method(evidence.problem, evidence) == "doubly robust":
        return RobustBeliefs.of(evidence, estimated, seed)
    return CellBeliefs.of(evidence, estimated)
