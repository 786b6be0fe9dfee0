"""Which answers are refuted: the accounts of the bets made under each leader (docs/certified.md, part 1, step 3).

H_h: "h is fair and no fair arm is better"; H_0: "no arm is fair". The truth is in at least one of them. A batch is bet on
under one leader, chosen before it, and what is won or lost goes to that leader's accounts. Whichever H is true, one account
of each leader is a bet against a truth, and E_H takes the least of those that it could be: so no H pays for the number of arms.
In a live study a part w of the evidence comes from the labels: an arm that is proved unfair is dealt no more, so its account may
stand still for ever, and the proof of its label has to refute it.

Shapes: N replicates, K arms, J₁ ends of the rows of fairness, P ends of the interval for P(S); hypotheses (N, 1 + K): H_0 first, then each arm's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from fairarm.core.proof.claims import Rule
from fairarm.core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Accounts:
    """Sums of log payoffs, never reset.

    ``broken`` V (N, K, J₁) [b, end]: made under leader b against "this end of b is broken". ``beats`` X (N, K, K, P) [b, h, end]:
    under leader b against "h is fair and μ_h ≥ μ_b". ``fair`` F (N, K): under "no arm is fair" against "h is fair".
    ``refuted`` (N, 1 + K): the hypotheses that are, for good.
    """

    broken: FloatArray
    beats: FloatArray
    fair: FloatArray
    refuted: BoolArray

    @classmethod
    def opened(cls, rule: Rule, replicates: int) -> Accounts:
        """Nothing won, nothing lost."""
        K = len(rule.law)
        return cls(
            broken=np.zeros((replicates, K, len(rule.ends))),
            beats=np.zeros((replicates, K, K, rule.mixes)),
            fair=np.zeros((replicates, K)),
            refuted=np.zeros((replicates, 1 + K), dtype=np.bool_),
        )

    def take(self, kept: IntArray | BoolArray) -> Accounts:
        """Some of the replicates."""
        return Accounts(*(getattr(self, field.name)[kept] for field in fields(self)))


def least(accounts: Accounts) -> FloatArray:
    """min(V[b,·], X[b,h,·]) of every leader b and hypothesis h, (N, K, 1 + K) [b, h]; under H_0 without X, and 0 where h is b.

    Under H_h one of these accounts is a bet against a truth: b is unfair at one of its ends, or h beats it.
    """
    own = accounts.broken.min(axis=2)
    both = np.minimum(own[:, :, None], accounts.beats.min(axis=3))
    K = own.shape[1]
    both[:, np.arange(K), np.arange(K)] = 0.0
    return np.concatenate([own[:, :, None], both], axis=2)


def log_evidence(accounts: Accounts) -> FloatArray:
    """log E_h of every hypothesis, (N, 1 + K)."""
    # (C10)
    found = least(accounts).sum(axis=1)
    found[:, 1:] += accounts.fair
    return np.asarray(found)


def refuted_now(rule: Rule, accounts: Accounts, labels: FloatArray) -> BoolArray:
    """The hypotheses that are refuted by now, (N, 1 + K): once refuted, always. ``labels`` (N, J₁ + 1, K): as in `Ledger`."""
    return accounts.refuted | (_with_labels(rule, log_evidence(accounts), labels) >= rule.answer_threshold)


def _with_labels(rule: Rule, answers: FloatArray, labels: FloatArray) -> FloatArray:
    """log((1 − w) E_h + w W_h), (N, 1 + K): W_h is the wealth against "h is fair", and W_0 the average over the arms of the least wealth
    against "this end of the arm is broken"."""
    # (C19)
    if rule.label_weight == 0.0:
        return answers
    none = np.logaddexp.reduce(labels[:, :-1].min(axis=1), axis=1, keepdims=True) - math.log(labels.shape[2])
    wealth = np.concatenate([none, labels[:, -1]], axis=1)
    return np.logaddexp(math.log1p(-rule.label_weight) + answers, math.log(rule.label_weight) + wealth)
