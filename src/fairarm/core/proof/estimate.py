"""What settled batches suggest: estimates for the bets on the next one, and which answer leads (docs/certified.md, part 1).

Everything here is a function of batches that were settled before. None of it is trusted by the proof.

Shapes: N replicates, K arms, G groups, C cells, J rows of fairness, P ends of the interval for P(S).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from fairarm.core.answer import Code
from fairarm.core.fairness import best_fair, expected_shares
from fairarm.core.proof.claims import Rule
from fairarm.core.proof.region import mixture, share_mixes
from fairarm.core.types import BoolArray, FloatArray, IntArray

LEADER_DRAWS, GATE = 60, 0.8
"""Draws that an answer is chosen by, and the share of them that it needs before anything is bet on it."""

LEADER_STREAM = 2
"""Of the generators of these draws among those of a seed."""


@dataclass(frozen=True, eq=False)
class Seen:
    """Totals of settled batches. ``n``, ``y`` (N, C): rows and outcome sums by cell; ``rows`` (N, K, G) by arm and group;
    ``natural`` (N, G): groups of natural rows, whole batches only: the interval for P(S) rests on them."""

    n: FloatArray
    y: FloatArray
    rows: FloatArray
    natural: FloatArray

    @classmethod
    def nothing(cls, rule: Rule, replicates: int) -> Seen:
        """Before the first batch."""
        K, G, C = rule.law.shape
        counts = np.zeros((replicates, C))
        return cls(counts, counts, np.zeros((replicates, K, G)), np.zeros((replicates, G)))

    def take(self, kept: IntArray | BoolArray) -> Seen:
        """Some of the replicates."""
        return Seen(*(getattr(self, field.name)[kept] for field in fields(self)))


@dataclass(frozen=True, eq=False)
class Estimate:
    """θ̂ and ĥ (N, C); μ̂_k at the P ends of the shares (N, P, K); the rows' values (N, K, J); the ends (N, P, G); P̂(S) (N, G)."""

    theta: FloatArray
    h: FloatArray
    outcome: FloatArray
    rows: FloatArray
    mix: FloatArray
    expected: FloatArray

    @property
    def gap(self) -> FloatArray:
        """ζ̂_k (N, K), where one gap is all that is asked about."""
        return self.rows[..., 0]

    @property
    def share(self) -> FloatArray:
        """The first group's at each of the ends, (N, P)."""
        return self.mix[..., 0]


def estimate(rule: Rule, seen: Seen) -> Estimate:
    """From the totals of settled batches."""
    theta = mixture(seen.n, seen.y).mean
    h = _context_estimate(rule, seen)
    group = _means(rule.law, theta[:, None], h)[:, 0]
    asked = group if rule.worlds is None else _means(rule.worlds, theta[:, None], h)[:, 0]
    mix = share_mixes(rule.shares, seen.natural, rule.delta)
    if rule.shares is None:
        expected = expected_shares(seen.natural)
    else:
        expected = np.broadcast_to(rule.shares, seen.natural.shape)
    outcome = (mix[:, :, None] * group[:, None]).sum(axis=-1)
    return Estimate(theta, h, outcome, rule.rows.values(asked, outcome[:, 0]), mix, expected)


def _means(laws: FloatArray, theta: FloatArray, h: FloatArray) -> FloatArray:
    """μ_{k,t} under laws (K, G, C), of groups or worlds, at each of D truths, (N, D, C) -> (N, D, K, G)."""
    K, G, C = laws.shape
    law = laws.reshape(K * G, C).T
    # (C1) at the estimates; divided by the mass, since ĥ need not give every (k, t) a law that sums to 1
    means = ((theta * h[:, None]) @ law) / (h @ law)[:, None]
    return np.asarray(means.reshape(*theta.shape[:2], K, G))


def _context_estimate(rule: Rule, seen: Seen) -> FloatArray:
    """ĥ = (n_z + ½) / (Σ_{j,t} n_{j,t} L[j,t](z) + ½ Z ω_z) by context group, given for each cell (N, C)."""
    # (C12)
    member = rule.member
    exposure = np.einsum("nkt,ktz->nz", seen.rows, rule.law @ member)
    prior = 0.5 * member.shape[1] * (rule.typical @ member)
    below = np.where(prior > 0, exposure + prior, 1.0)
    return np.asarray(((seen.n @ member + 0.5) / below) @ member.T)


@dataclass(frozen=True, eq=False)
class Leader:
    """The answer that a batch is bet on, (N,) each: an arm or Code.NONE, and the share of the draws that it has."""

    code: IntArray
    share: FloatArray

    @property
    def sure(self) -> BoolArray:
        """Where bets are made."""
        return np.asarray(self.share >= GATE)


def leader(
    rule: Rule, seen: Seen, known: Estimate, refuted: BoolArray, seed: int, number: IntArray, replicate: IntArray
) -> Leader:
    """The most probable answer that is not refuted, of truths drawn around the estimates of settled batches.

    ``refuted`` (N, 1 + K): "no arm is fair", then each arm. ``number`` (N,): of the batch to be bet on, each replicate's own;
    ``replicate`` (N,) its own number: the draws depend on these and on ``seed``, not on who is computed together.
    """
    theta = np.stack(
        [
            _drawn(known.theta[i], seen.n[i], np.random.default_rng([seed, LEADER_STREAM, int(number[i]), int(r)]))
            for i, r in enumerate(replicate)
        ]
    ) if len(replicate) else np.zeros((0, LEADER_DRAWS, rule.law.shape[-1]))  # fmt: skip
    group = _means(rule.law, theta, known.h)
    asked = group if rule.worlds is None else _means(rule.worlds, theta, known.h)
    outcome = np.einsum("ndkt,nt->ndk", group, known.expected)
    best = best_fair(outcome, rule.rows.fair(rule.rows.values(asked, outcome)))  # (C2)
    answers = np.arange(int(Code.NONE), len(rule.law))
    votes = (best[:, :, None] == answers).mean(axis=1)
    votes = np.where(refuted, -1.0, votes)
    first = votes.argmax(axis=1)
    return Leader(answers[first], np.take_along_axis(votes, first[:, None], axis=1)[:, 0])


def _drawn(theta: FloatArray, n: FloatArray, rng: np.random.Generator) -> FloatArray:
    """θ_c ~ Beta(θ̂ (n+1), (1−θ̂)(n+1)), (LEADER_DRAWS, C)."""
    weight = n + 1.0  # a row more than were seen: the draws stay wide where there are none
    return rng.beta(theta * weight, (1 - theta) * weight, (LEADER_DRAWS, len(n)))
