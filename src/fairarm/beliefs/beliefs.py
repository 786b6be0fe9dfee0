"""What the pulls so far say about every arm, pooled over arms, groups and regimes: the estimation that Pool, its
competitors, its stopping rules and the mixture share.

Two kinds, chosen by the data: *cell means* where the columns are finite and the cells are seen often enough, *doubly
robust* where the decision is real-valued or the cells are too many (`fairarm.beliefs.robust`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from fairarm.beliefs.evidence import Evidence
from fairarm.core.design.events import Laws
from fairarm.core.fairness import PRIOR_ROWS, expected_shares, gap_of, two_groups
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


def support_of(unseen: float, effective: float) -> Support:
    """By the share of the arm's mass that no row speaks for, and by effective rows."""
    if unseen <= SPEAKS[0] and effective >= SPEAKS[1]:
        return "yes"
    return "weakly" if unseen <= WEAKLY[0] and effective >= WEAKLY[1] else "no"


def unseen_mass(problem: Problem, by_group: FloatArray, shares: FloatArray, rows: FloatArray) -> FloatArray:
    """The share of each arm's mass that no row speaks for, (N, K), from that with everybody in a group (N, K, G).

    ``shares`` and ``rows`` of the groups are (N, G). A group without a row has hardly a share where that is estimated, and
    yet every gap rests on it: there the group's own mass counts, all of it where what the group does is not declared.
    """
    # what such an arm does in a group was to be learned from the group's own rows: without any, nothing is known of it
    alone = by_group.copy()
    alone[:, list(undeclared(problem))] = 1.0
    empty = (rows == 0) & (rows.sum(axis=1, keepdims=True) > 0)
    missed = np.where(empty[:, None], alone, 0.0).max(axis=2)
    return np.asarray(np.maximum(np.einsum("nkt,nt->nk", by_group, shares), missed))


def point_values(means: FloatArray, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Outcomes and gaps, (…, K) each, of estimated means (…, K, G), each cut to what is possible; ``shares`` (…, G)."""
    possible = np.clip(means, 0.0, 1.0)
    return np.asarray((possible * shares[..., None, :]).sum(axis=-1)), gap_of(possible)


@dataclass(frozen=True)
class DesignBasis:
    """What planning needs: rows in each cell with the prior's (N, C), Var(Y | c) (N, C), and the units' laws."""

    counts: FloatArray
    noise: FloatArray
    laws: Laws


@dataclass(frozen=True)
class _LawsAndShare(Laws):
    """The cells' laws and, last, an entry for P(S): 1 where a unit's rows tell it."""

    gaps: FloatArray
    """ζ_k, (N, K): how far P(first group) moves μ_k."""

    @property
    def natural(self) -> FloatArray:
        return np.concatenate([self.units[:, 0, :, :-1], self.gaps[:, :, None]], axis=2)


def with_unknown_share(
    counts: FloatArray, noise: FloatArray, units: FloatArray, gaps: FloatArray, natural: IntArray
) -> DesignBasis:
    """The basis with P(S) as one more unknown: natural rows (N, G) tell it, whatever their arm, and μ_k moves by ζ_k with it."""
    first, _ = two_groups(expected_shares(natural))
    total = natural.sum(axis=1) + 2 * PRIOR_ROWS
    # one more cell, whose θ is P(S): every natural row lands in it too, μ_k has the slope ζ_k in it, and no gap depends on it
    told = np.zeros((*units.shape[:3], 1))
    told[:, 0] = 1.0
    return DesignBasis(
        np.concatenate([counts, total[:, None]], axis=1),
        np.concatenate([noise, (first * (1.0 - first))[:, None]], axis=1),
        _LawsAndShare(np.concatenate([units, told], axis=3), gaps),
    )


class Beliefs(Protocol):
    """Beliefs of N replicates about K arms; outcomes on the scale [0, 1]."""

    @property
    def method(self) -> str:
        """Said in the output: "cell means" or "doubly robust"."""
        ...

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray]:
        """Joint draws of every arm's outcome and gap μ(s) − μ(s'), (N, draws, K) each."""
        ...

    def values(self, outcomes: FloatArray, gaps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What is shown of every arm's outcome and gap, (N, K) each: the estimate's own, or the means of these draws.

        The mean of draws that are cut to what is possible is not the estimate: it is higher where the outcome is rare.
        """
        ...

    @property
    def draws_unseen(self) -> bool:
        """Its draws leave open what no row speaks for as a whole; otherwise cells without a row are drawn each by itself."""
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
    from fairarm.beliefs.robust import RobustBeliefs, choose_method

    # sums by cell have no rows to regress on, and only cell means carry the error of a fitted mechanism
    counted = evidence.summed or evidence.problem.fitted
    if not counted and choose_method(evidence.problem, evidence) == "doubly robust":
        return RobustBeliefs.of(evidence, estimated, seed)
    return CellBeliefs.of(evidence, estimated)
