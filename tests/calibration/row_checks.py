"""Named checks of certified answers about several rows and groups, by enumerating every sequence of outcomes.

What a row means is written out here once more, arm by arm and end by end, without the code's own rows, ends and claims.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from checks import always_bet, every_batch, planned

from fairarm.core.answer import Code
from fairarm.core.fairness import Rows
from fairarm.core.proof import bets as certified
from fairarm.core.proof.accounts import log_evidence
from fairarm.core.proof.bets import Brought, Ledger, open_ledger, teach
from fairarm.core.proof.claims import Rule
from fairarm.core.proof.estimate import Leader

SHARES = np.array([0.5, 0.3, 0.2])
LAW = np.array([[[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]], [[0.3, 0.7], [0.6, 0.4], [0.4, 0.6]]])
"""Two arms, three groups, two cells."""


INF = float("inf")
CLEAR, ROWS = 0.05, 2000.0
"""How far an end is passed that is clearly broken, and the rows of an arm and group that show it."""


@dataclass(frozen=True)
class Question:
    """Rows (a_1, a_2, a_3, e, low, high) as they are handed to the code."""

    name: str
    rows: tuple[tuple[float, float, float, float, float, float], ...]

    @property
    def given(self) -> Rows:
        table = np.array(self.rows)
        return Rows(table[:, :3], table[:, 3], table[:, 4], table[:, 5])

    def broken(self, law: np.ndarray, theta: np.ndarray, slack: float = 1e-12) -> list[bool]:
        """Which ends an arm of this law (G, C) breaks, by plain sums: of each row the high one, then the low one, where it has them."""
        means = [float(law[t] @ theta) for t in range(3)]
        everybody = sum(float(p) * m for p, m in zip(SHARES, means, strict=True))
        found = []
        for a1, a2, a3, e, low, high in self.rows:
            value = a1 * means[0] + a2 * means[1] + a3 * means[2] + e * everybody
            found += [value >= high - slack] if high < INF else []
            found += [value <= low + slack] if low > -INF else []
        return found

    def met(self, law: np.ndarray, theta: np.ndarray) -> bool:
        """ "The arm is fair", as a closed claim: no end is passed."""
        return not any(self.broken(law, theta, slack=-1e-12))

    def rule(self, law: np.ndarray) -> Rule:
        return Rule(law, self.given, 0.05, SHARES)


PAIRS = Question("pairs", ((1, -1, 0, 0, -0.25, 0.25), (1, 0, -1, 0, -0.3, 0.3), (0, 1, -1, 0, -0.25, 0.25)))
RATIO = Question("ratio", ((1, -0.8, 0, 0, 0.05, INF), (-0.8, 1, 0, 0, 0.05, INF), (0, 0, 1, 0, 0.3, INF)))
"""A ratio on a shifted range both ways, and a floor."""
MEAN = Question("mean", ((1, 0, 0, -1, -0.1, 0.1), (0, 1, 0, -1, -INF, 0.1), (0.5, 0.5, -0.25, 0, 0.1, 0.6)))
"""Against everybody's mean, on both sides and on one; and a weighted sum with unequal ends."""
QUESTIONS = (PAIRS, RATIO, MEAN)

TRUTHS = [np.array(theta) for theta in ((0.65, 0.275), (0.275, 0.65), (0.8, 0.2), (0.1, 0.9), (0.5, 0.5), (0.9, 0.85))]
"""The first two have the pair a − c of arm 0 at exactly +E and −E."""


def plan_of(total: float) -> list[tuple[int, int]]:
    """Which two (arm, group) come next, by the outcomes so far; below 0: none yet."""
    if total < 0:
        return [(0, 0), (0, 2)]
    return [(0, 2), (1, 1)] if total > 0.9 else [(0, 0), (1, 0)]


def hostile(rule, seen, known, refuted, seed, number, replicate) -> Leader:
    """Each answer leads for a while, whichever luck has it."""
    lucky = seen.y.sum(axis=1) > 0.4 * seen.n.sum(axis=1)
    return Leader(np.where(number == 3, np.where(lucky, 1, 0), np.where(lucky, 0, int(Code.NONE))), np.ones(len(lucky)))


def paths(rule: Rule, theta: np.ndarray, batches: int = 3) -> tuple[np.ndarray, Ledger]:
    """(probability, ledger) of every outcome of a few batches of two rows under an adaptive plan and these leaders."""
    p, total, ledger = np.ones(1), np.full(1, -1.0), open_ledger(rule)
    for _ in range(batches):
        where, chance, rows, n, y = [], [], [], [], []
        for i, so_far in enumerate(total):
            units = plan_of(so_far)
            alike: dict[tuple[float, ...], float] = {}  # a ledger sees no more of a batch than its counts
            for q, n_one, y_one in every_batch(LAW, theta, units):
                key = (*n_one, *y_one)
                alike[key] = alike.get(key, 0.0) + q
            for key, q in alike.items():
                where.append(i)
                chance.append(p[i] * q)
                rows.append(planned(rule, units)[0])
                n.append(key[:2])
                y.append(key[2:])
        brought = Brought(np.array(rows), np.array(n), np.array(y))
        ledger = certified.settle(rule, ledger.take(np.array(where)), brought, 0, np.zeros(len(where), dtype=int))
        p, total = np.array(chance), np.maximum(total[where], 0.0) + np.array(y).sum(axis=1)
    return p, ledger


def settled(question: Question, theta: np.ndarray) -> tuple[np.ndarray, Ledger]:
    patch = always_bet()
    patch.setattr(certified, "leader", hostile)
    try:
        return paths(question.rule(LAW), theta)
    finally:
        patch.undo()


def true_rows_do_not_grow_rich() -> bool:
    """No true claim, no true account and no true answer has an expected wealth above 1, at any of the truths; the false ones do."""
    gained = 0.0
    for question in QUESTIONS:
        for theta in TRUTHS:
            p, ledger = settled(question, theta)
            wealth = np.einsum("r,rjk->jk", p, np.exp(ledger.labels))
            broken = np.array([question.broken(LAW[k], theta) for k in (0, 1)])
            fair = np.array([question.met(LAW[k], theta) for k in (0, 1)])
            true = np.concatenate([broken.T, fair[None]])
            V = np.einsum("r,rkj->kj", p, np.exp(ledger.accounts.broken))
            F = p @ np.exp(ledger.accounts.fair)
            gained = max(gained, float(V.max()), float(F.max()))
            if max(wealth[true].max(initial=0), V[broken].max(initial=0), F[fair].max(initial=0)) > 1 + 1e-9:
                return False
            outcomes = np.array([float(SHARES @ (LAW[k] @ theta)) for k in (0, 1)])
            X = np.einsum("r,rbh->bh", p, np.exp(ledger.accounts.beats[..., 0]))
            ahead = fair & (outcomes >= outcomes[:, None] - 1e-12)
            if max(X[ahead].max(initial=0), expected_of_true_answers(outcomes, p, ledger, broken)) > 1 + 1e-9:
                return False
    return gained > 1.05


def expected_of_true_answers(outcomes, p, ledger, broken) -> float:
    """The largest E[E_h] of true hypotheses."""
    strictly_fair = [not broken[k].any() for k in (0, 1)]
    best = max((outcomes[k] for k in (0, 1) if strictly_fair[k]), default=None)
    true = [best is None, *(strictly_fair[k] and outcomes[k] >= (best or 0) - 1e-12 for k in (0, 1))]
    expected = p @ np.exp(log_evidence(ledger.accounts))
    return float(expected[np.array(true)].max(initial=0.0))


def claims_are_what_they_say() -> bool:
    """At random truths a claim's inequalities hold just where what it says is true, ends included."""
    rng, seen = np.random.default_rng(2), set()
    for question in QUESTIONS:
        for _ in range(150):
            law, theta = rng.dirichlet(np.full(4, 0.5), size=(2, 3)), rng.random(4)
            rule, broken = question.rule(law), question.broken(law[0], theta)
            kinds = np.arange(len(broken) + 1)
            alone = certified.gap_claims(rule, kinds, np.zeros_like(kinds))
            better = certified.pair_claims(rule, np.array([1]), np.array([0]), SHARES[None])
            fair, ahead = question.met(law[0], theta), SHARES @ (law[0] - law[1]) @ theta >= 0
            if _holds(alone, theta) != [*broken, fair] or _holds(better, theta) != [fair and bool(ahead)]:
                return False
            seen |= {(question.name, *broken, fair, bool(ahead))}
    return len(seen) > 25


def _holds(claims, theta: np.ndarray) -> list[bool]:
    found = []
    for slope, level, two_sided in zip(claims.slope, claims.level, claims.two_sided, strict=True):
        rows = [(s * (a @ theta), b) for a, b, two in zip(slope, level, two_sided, strict=True) for s in ((1, -1) if two else (1,))]  # fmt: skip
        found.append(all(bool(value >= b) for value, b in rows))
    return found


def every_end_is_seen() -> bool:
    """Of an arm that breaks one end alone, and no other by a hair: "fair" is refuted, this end's "broken" is not, the others' are;
    and "it is fair and beats" a worse arm is refuted. For each end of each question, with laws and truths found at random."""
    every = [(question, end) for question in QUESTIONS for end in range(len(question.broken(LAW[0], TRUTHS[0])))]
    return all(_seen_alone(question, end) for question, end in every)


def _seen_alone(question: Question, end: int) -> bool:
    law, theta = _breaking(question, end)
    labels, beaten = after_many_rows(question.rule(law), theta)
    others = np.arange(len(labels) - 1) != end
    return bool(labels[-1] > 1 and labels[end] <= 0 and labels[:-1][others].min(initial=9.0) > 1 and beaten > 1)


@cache
def _breaking(question: Question, end: int) -> tuple[np.ndarray, np.ndarray]:
    """A law (2, 3, 4) and a truth in which arm 0 is better, and breaks this end and no other: clearly the one and the others."""
    rng = np.random.default_rng(end)
    while True:
        law, theta = rng.dirichlet(np.full(4, 0.5), size=(2, 3)), rng.random(4)
        sure, near = question.broken(law[0], theta, -CLEAR), question.broken(law[0], theta, CLEAR)
        if sure[end] and sum(near) == 1 and SHARES @ (law[0] - law[1]) @ theta > CLEAR:
            return law, theta


def after_many_rows(rule: Rule, theta: np.ndarray) -> tuple[np.ndarray, float]:
    """Arm 0's labels, (J₁ + 1,), and X[1, 0], after rows just as they are expected, bet on as they came before, under leader 1."""
    patch = always_bet()
    patch.setattr(certified, "leader", lambda *given: Leader(np.array([1]), np.ones(1)))
    rows = np.full((1, 2, 3), ROWS)
    n = np.einsum("nkt,ktc->nc", rows, rule.law)
    try:
        ledger = certified.settle(rule, teach(open_ledger(rule), rows, n, n * theta), Brought(rows, n, n * theta))
    finally:
        patch.undo()
    return np.asarray(ledger.labels[0, :, 0]), float(ledger.accounts.beats[0, 1, 0, 0])


def delta_is_not_spent_on_rows() -> bool:
    """The thresholds are log 20 and log 40 for two arms, whatever is asked."""
    rules = [question.rule(LAW) for question in QUESTIONS]
    return all(
        abs(rule.answer_threshold - np.log(20)) < 1e-12 and abs(rule.label_threshold - np.log(40)) < 1e-12
        for rule in rules
    )
