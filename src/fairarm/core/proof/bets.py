"""Certified answers: bets against claims about the truth, with a proof for any truth (docs/certified.md, part 1).

A *claim* is a convex set of truths given by linear rows, Σ_c a_c h_c θ_c ≥ b: "this end of arm k is broken", "arm k is
fair", "arm h is fair and at least as good as arm b". Payoffs are fixed before each batch of pulls, such that a true claim cannot
be expected to gain. What the batch shows then goes to two books: the accounts, which refute *answers* at 1/δ
(`accounts`), and the wealth of the claims about each arm alone, which proves *labels* fair and unfair at K/δ.

Batches are settled strictly in the order in which they were opened: all that a bet rests on is what was settled before.

Shapes: N replicates, K arms, G groups, C cells, J₁ ends of the rows of fairness, P ends of the interval for P(S).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairarm.core.answer import Code
from fairarm.core.proof.accounts import Accounts, refuted_now
from fairarm.core.proof.claims import Claims, Rule, gap_claims, pair_claims
from fairarm.core.proof.estimate import Estimate, Leader, Seen, estimate, leader
from fairarm.core.proof.losses import Lost, kept_payoffs, paid, with_reserve
from fairarm.core.proof.payoffs import log_payoffs
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import DataError

AT_ONCE = 8192
"""Rows of claims whose bets are computed together; a claim counts as two at least."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """What the next batch needs: totals of settled batches, the accounts, the labels' wealth, how many were settled.

    ``labels`` (N, J₁ + 1, K): log wealth of the bets against "this end of k is broken", and, last, "k is fair"; of one gap ζ_k ≥ E,
    −ζ_k ≥ E, |ζ_k| ≤ E. ``settled`` (N,): batches.
    """

    seen: Seen
    accounts: Accounts
    labels: FloatArray
    settled: IntArray

    def take(self, kept: IntArray | BoolArray) -> Ledger:
        """Some of the replicates, for instance those that are undecided."""
        return Ledger(self.seen.take(kept), self.accounts.take(kept), self.labels[kept], self.settled[kept])


@dataclass(frozen=True, eq=False)
class Brought:
    """What one batch brought. ``rows`` (N, K, G): its plan by arm and group, any regime, lost rows included; ``n``, ``y`` (N, C):
    rows that came and their outcome sums by cell; ``natural`` (N, G): groups of its natural rows, needed where P(S) is unknown.

    A batch may lack rows (``lost``), or be ``cut`` (N,) while it was made: then it is not settled, its rows only teach.
    """

    rows: FloatArray
    n: FloatArray
    y: FloatArray
    natural: FloatArray | None = None
    lost: Lost | None = None
    cut: BoolArray | None = None


@dataclass(frozen=True, eq=False)
class Certificate:
    """``answer`` (N,): an arm, Code.NONE or Code.UNDECIDED. ``fair``, ``unfair`` (N, K): labels.

    ``high``, ``low`` (N, K): unfair on a proved side, ζ_k > E or ζ_k < −E, where one gap between two groups is asked about. An
    unfair arm may be neither: of several rows it is not proved which is broken.
    ``refuted`` (N, K): the arm is unfair, or a fair arm is better. ``void`` (N,): every answer is refuted, which no truth
    allows but with probability δ: something that was declared is not so.
    """

    answer: IntArray
    fair: BoolArray
    unfair: BoolArray
    high: BoolArray
    low: BoolArray
    refuted: BoolArray
    void: BoolArray


def open_ledger(rule: Rule, replicates: int = 1) -> Ledger:
    """No pulls yet: nothing won or lost against any claim."""
    return Ledger(
        seen=Seen.nothing(rule, replicates),
        accounts=Accounts.opened(rule, replicates),
        labels=np.zeros((replicates, len(rule.ends) + 1, len(rule.law))),
        settled=np.zeros(replicates, dtype=np.int64),
    )


def settle(
    rule: Rule,
    ledger: Ledger,
    batch: Brought,
    seed: int = 0,
    replicate: IntArray | None = None,
    *,
    reserve: float = 1.0,
    loss_share: FloatArray | None = None,
    loss_outcome: float | None = None,
) -> Ledger:
    """Make the bets for one batch from what was settled before it, and settle them with what it showed.

    The batch's plan may depend on all batches settled when it was opened, not on its own outcomes. ``seed`` and ``replicate`` (N,),
    each one's number, are those of the draws for the leader. ``reserve`` ρ: the part of a wealth that is staked, 1 where no batch
    is ever cut. ``loss_share`` (N, 2): the parts of the rows that are expected to lack their outcome, any being possible, and to have
    the ``loss_outcome`` that was stated before the first batch in a cell that is not known; from earlier batches.
    """
    known = estimate(rule, ledger.seen)
    who = np.arange(len(ledger.settled)) if replicate is None else replicate
    ahead = leader(rule, ledger.seen, known, ledger.accounts.refuted, seed, ledger.settled + 1, who)
    table = _Table(rule, batch, _blend(rule, batch), known, reserve, loss_share, loss_outcome)
    labels, accounts = _settled(table, ledger, ahead)
    accounts = replace(accounts, refuted=refuted_now(rule, accounts, labels))
    return Ledger(_with(ledger.seen, batch), accounts, labels, ledger.settled + 1)


def settle_ready(
    rule: Rule, ledger: Ledger, opened: Sequence[Brought | None], seed: int = 0, *, reserve: float = 1.0
) -> tuple[Ledger, list[Brought | None]]:
    """Settle batches that are open at once, strictly in the order of opening: up to the first that is not complete (None).

    The ledger, and those still open. A batch that is complete waits for those before it: an order by what is complete would
    depend on the outcomes.
    """
    waiting = list(opened)
    while waiting and waiting[0] is not None:
        ledger = settle(rule, ledger, waiting.pop(0), seed, reserve=reserve)  # type: ignore[arg-type]
    return ledger, waiting


def teach(ledger: Ledger, rows: FloatArray, n: FloatArray, y: FloatArray) -> Ledger:
    """Rows that belong to no batch that is bet on (beyond a plan, or too late): they only make the estimates better."""
    seen = ledger.seen
    return replace(ledger, seen=Seen(seen.n + n, seen.y + y, seen.rows + rows, seen.natural))


def certificate(rule: Rule, ledger: Ledger) -> Certificate:
    """What is certified by now."""
    refuted = ledger.accounts.refuted
    left = ~refuted
    # b is answered once every other hypothesis is refuted: answers in order are none, arm 0, arm 1, …
    one = left.sum(axis=1) == 1
    answer = np.where(one, left.argmax(axis=1) + int(Code.NONE), int(Code.UNDECIDED))
    gone = ledger.labels >= rule.label_threshold
    fair, unfair = np.asarray(gone[:, :-1].all(axis=1)), gone[:, -1]
    one_gap = rule.worlds is None and rule.rows.is_one_gap
    high, low = _sides(gone) if one_gap else (np.zeros_like(unfair), np.zeros_like(unfair))
    return Certificate(
        answer=answer.astype(np.int64),
        fair=fair,
        unfair=unfair,
        high=high,
        low=low,
        refuted=refuted[:, 1:],
        void=np.asarray(~left.any(axis=1)),
    )


def _sides(gone: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Of one gap: where "fair" is refuted, and of the two ends the low one alone, or the high one alone."""
    above, below, unfair = np.moveaxis(gone, 1, 0)
    return unfair & below & ~above, unfair & above & ~below


def _blend(rule: Rule, batch: Brought) -> FloatArray:
    # l of the lemma; by (C8) payoffs that are fair under the blend are fair for the batch's rows, whatever unit made each
    total = batch.rows.sum(axis=(1, 2))
    blend = np.einsum("nkt,ktc->nc", batch.rows, rule.law) / np.maximum(total, 1)[:, None]
    came = batch.n.sum(axis=-1) + (0.0 if batch.lost is None else batch.lost.rows)
    if not np.allclose(total, came, rtol=1e-9, atol=1e-6) or np.any((batch.n > 0) & (blend <= 0)):
        raise DataError(
            "A batch's rows by cell do not fit its rows by arm and group: the totals differ, or a cell was seen that "
            "none of these arms can produce. Check the arms' mechanisms against the rows."
        )
    return np.asarray(blend)


def _with(seen: Seen, batch: Brought) -> Seen:
    groups = np.zeros_like(seen.natural) if batch.natural is None else batch.natural
    if batch.cut is not None:  # whole batches only
        groups = np.where(batch.cut[:, None], 0.0, groups)
    natural = seen.natural + groups
    return Seen(seen.n + batch.n, seen.y + batch.y, seen.rows + batch.rows, natural)


# ---- which bets to make: any choice is valid, a good one is quick ----


@dataclass(frozen=True, eq=False)
class _Table:
    """Where bets on one batch are settled: its rows, its blend l (N, C), and what was known before it."""

    rule: Rule
    batch: Brought
    blend: FloatArray
    known: Estimate
    reserve: float
    loss_share: FloatArray | None
    loss_outcome: float | None

    def won(self, r: IntArray, rows: int, claims: Callable[[slice], Claims]) -> FloatArray:
        """The log of what the batch pays to a bet against each claim, (B,); ``r`` (B,) its replicate, ``rows`` of each claim."""
        size = max(1, AT_ONCE // max(rows, 2))
        parts = [slice(first, first + size) for first in range(0, len(r), size)]
        return np.concatenate([np.zeros(0), *(self._won(r[part], claims(part)) for part in parts)])

    def won_alone(self, r: IntArray, kind: IntArray, arm: IntArray) -> FloatArray:
        """The same of claims about one arm alone, (B,): those that have as many rows together."""
        rows = np.where(kind == len(self.rule.ends), self.rule.met.level.shape[1], 1)
        won = np.zeros(len(r))
        for size in np.unique(rows):
            at = np.flatnonzero(rows == size)
            won[at] = self.won(r[at], int(size), _alone(self.rule, kind[at], arm[at]))
        return won

    def _won(self, r: IntArray, claims: Claims) -> FloatArray:
        theta, h, batch = self.known.theta[r], self.known.h[r], self.batch
        raw = log_payoffs(self.rule, claims, self.blend[r], theta, h)
        share = None if self.loss_share is None else self.loss_share[r]
        payoffs = kept_payoffs(raw, h * self.blend[r], theta, share, self.loss_outcome)
        won = paid(self.rule, batch.n, batch.y, batch.lost, r, payoffs)
        return with_reserve(won, self.reserve, None if batch.cut is None else batch.cut[r])


def _alone(rule: Rule, kind: IntArray, arm: IntArray) -> Callable[[slice], Claims]:
    return lambda part: gap_claims(rule, kind[part], arm[part])


def _settled(table: _Table, ledger: Ledger, ahead: Leader) -> tuple[FloatArray, Accounts]:
    """The labels' wealth and the accounts after the batch."""
    rule, known = table.rule, table.known
    labels, accounts = ledger.labels.copy(), ledger.accounts
    broken, beats, fair = accounts.broken.copy(), accounts.beats.copy(), accounts.fair.copy()
    label, answer = _lone_bets(rule, ledger, known, ahead)
    r, kind, arm = np.nonzero(label | answer)
    won = table.won_alone(r, kind, arm)
    to_label, to_answer = label[r, kind, arm], answer[r, kind, arm]
    labels[r[to_label], kind[to_label], arm[to_label]] += won[to_label]
    whole = kind == len(rule.ends)
    end, whole = to_answer & ~whole, to_answer & whole
    broken[r[end], arm[end], kind[end]] += won[end]
    fair[r[whole], arm[whole]] += won[whole]
    r, h, at = np.nonzero(_pair_bets(rule, ledger, known, ahead))
    b, mix = ahead.code[r], known.mix[r, at]
    rows = 1 + rule.met.level.shape[1]
    beats[r, b, h, at] += table.won(r, rows, lambda part: pair_claims(rule, b[part], h[part], mix[part]))
    return labels, replace(accounts, broken=broken, beats=beats, fair=fair)


def _lone_bets(rule: Rule, ledger: Ledger, known: Estimate, ahead: Leader) -> tuple[BoolArray, BoolArray]:
    """Claims about one arm that the estimate contradicts, (N, J₁ + 1, K): those that are open as labels, and the leader's."""
    ends, arms = rule.ends, np.arange(len(rule.law))
    kept, unfair = ends.kept(known.rows), np.asarray(ends.passed(known.rows).any(axis=-1))
    doubtful = np.concatenate([np.moveaxis(kept, -1, 1), unfair[:, None]], axis=1)
    own = (arms == ahead.code[:, None]) & ahead.sure[:, None]
    none = ((ahead.code == Code.NONE) & ahead.sure)[:, None] & ~ledger.accounts.refuted[:, 1:]
    asked = np.concatenate([np.repeat(own[:, None], len(ends), axis=1), none[:, None]], axis=1)
    return doubtful & (ledger.labels < rule.label_threshold), doubtful & asked


def _pair_bets(rule: Rule, ledger: Ledger, known: Estimate, ahead: Leader) -> BoolArray:
    """ "h is fair and beats the leader" at each end, (N, K, P): where the estimate contradicts it and H_h is open."""
    K = len(rule.law)
    asked = (ahead.sure & (ahead.code >= 0))[:, None] & (np.arange(K) != ahead.code[:, None])
    open_ = asked & ~ledger.accounts.refuted[:, 1:]
    return np.asarray(contradicted_pairs(rule, known, ahead.code) & open_[:, :, None])


def contradicted_pairs(rule: Rule, known: Estimate, b: IntArray) -> BoolArray:
    """Where the estimate says that h is unfair or worse than b (N,) at an end of the shares, (N, K, P)."""
    outcome = np.moveaxis(known.outcome, 1, 2)
    own = np.take_along_axis(outcome, np.maximum(b, 0)[:, None, None], axis=1)
    return np.asarray(~((outcome >= own) & rule.rows.fair(known.rows)[:, :, None]))
