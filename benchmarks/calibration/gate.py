"""What the gate measures: wrong answers, refuted truths, intervals that miss, and how probable the probable is.

Every function returns plain counts. Runs are computed together in chunks of a fixed size, each with a generator of its
own: the counts do not depend on the number of workers.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal
from unittest.mock import patch

import numpy as np
from scipy.special import xlogy
from scipy.stats import binom

from benchmarks.calibration.strata import SLACK, Stratum, row_values, strata, strata_with_rows, truth_of
from benchmarks.calibration.world_strata import strata_of_worlds
from fairarm.algorithms.certificates import Books, Certified
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.core.answer import Code
from fairarm.core.proof import bets
from fairarm.core.proof.bets import Brought, Ledger, certificate, open_ledger, settle
from fairarm.core.proof.claims import Rule
from fairarm.core.proof.estimate import Estimate, Leader, Seen
from fairarm.core.proof.region import intervals, mixture, share_interval
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.experiments.limit import find_limit
from fairarm.experiments.simulate import Replicates, replicate

DELTA = 0.05
SIGNIFICANCE = 1e-4
"""Of the one-sided binomial test: a rule whose error is at most δ fails it with at most this probability."""

CHUNK = 250
EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
"""Of the claimed probabilities' bins; the last holds 1 itself."""

Stop = Literal["certified", "bayes-stop"]


def p_value(wrong: int, runs: int, rate: float) -> float:
    """The probability of so many or more where each run goes wrong with probability ``rate``."""
    return float(binom.sf(wrong - 1, runs, rate))


def seed_of(*parts: object) -> list[int]:
    """Whole numbers that seed a generator for this part of the work alone."""
    return [part if isinstance(part, int) else zlib.crc32(str(part).encode()) for part in parts]


@cache
def stratum_named(name: str) -> Stratum:
    return next(stratum for stratum in (*strata(), *strata_with_rows(), *strata_of_worlds()) if stratum.name == name)


# ---- runs that stop when sure ----


@dataclass(frozen=True)
class Runs:
    """What some runs of one stratum came to."""

    right: BoolArray
    undecided: BoolArray
    pulls: IntArray
    claimed: FloatArray
    """The posterior probability of the answer, (n,); nan where undecided."""
    refuted: IntArray
    """How often each true claim about one arm was refuted, ((J₁ + 1) K,); 0 for false ones."""
    truths: IntArray
    """How often each true answer was refuted, (1 + K,); 0 for false ones."""
    mislabelled: int
    """Runs in which an arm was labelled fair or unfair, and is not."""

    @property
    def wrong(self) -> BoolArray:
        return ~self.right & ~self.undecided


def join(parts: Sequence[Runs]) -> Runs:
    return Runs(
        right=np.concatenate([part.right for part in parts]),
        undecided=np.concatenate([part.undecided for part in parts]),
        pulls=np.concatenate([part.pulls for part in parts]),
        claimed=np.concatenate([part.claimed for part in parts]),
        refuted=np.sum([part.refuted for part in parts], axis=0),
        truths=np.sum([part.truths for part in parts], axis=0),
        mislabelled=sum(part.mislabelled for part in parts),
    )


def chunks(runs: int) -> Iterator[tuple[int, int]]:
    """(number, size) of each chunk."""
    for start in range(0, runs, CHUNK):
        yield start // CHUNK, min(CHUNK, runs - start)


def stopped_runs(name: str, stop: Stop, chunk: int, runs: int, seed: int, cap: int | None = None) -> Runs:
    """One chunk of runs of Pool at confidence 1 − δ."""
    stratum = stratum_named(name)
    asked = PoolOptions(confidence=1 - DELTA, stop=stop)
    pool = Pool(stratum.problem, min(cap or stratum.cap, stratum.cap), asked, growth=stratum.growth)
    rng = np.random.default_rng(seed_of(seed, name, stop, chunk))
    ran = replicate(pool, stratum.world, runs, rng, int(rng.integers(1 << 62)))
    none = np.zeros(1, dtype=np.int64)
    found = refuted_truths(stratum, ran.state.memory) if stop == "certified" else (none, none, 0)
    right, undecided = judged(stratum, ran.state.answer)
    return Runs(right, undecided, ran.pulls, claimed_probability(ran), *found)


def judged(stratum: Stratum, answers: IntArray) -> tuple[BoolArray, BoolArray]:
    """Which answers are right, and which are none at all."""
    return np.isin(answers, list(stratum.right)), np.asarray(answers == Code.UNDECIDED)


def claimed_probability(ran: Replicates) -> FloatArray:
    """That the answer is right, by the posterior; nan where there is none."""
    answer, standing = ran.state.answer, ran.info.standing
    if standing is None:
        raise TypeError("these runs have no beliefs")
    return np.where(answer == Code.UNDECIDED, np.nan, standing.probability(np.maximum(answer, int(Code.NONE))))


@dataclass(frozen=True)
class TrueClaims:
    """What of docs/certified.md is true: claims about one arm, ``gaps`` (J₁ + 1, K), of one gap (3, K), ``answers`` (1 + K,), and which
    arms are fair (K,)."""

    gaps: BoolArray
    answers: BoolArray
    fair: BoolArray


def true_claims(outcomes: FloatArray, gaps: FloatArray, tolerance: float) -> TrueClaims:
    """Borders belong to the claims; of tied arms each is a true answer."""
    slack = 1e-12
    about_gaps = np.stack([gaps >= tolerance - slack, -gaps >= tolerance - slack, np.abs(gaps) <= tolerance + slack])
    fair = np.abs(gaps) < tolerance - slack
    best = fair & (outcomes >= np.where(fair, outcomes, -np.inf).max() - slack)
    return TrueClaims(about_gaps, np.append(~fair.any(), best), fair)


def claims_of(stratum: Stratum) -> TrueClaims:
    """The same of any rows, one after the other, as they are declared: of each row first its upper end, then its lower one."""
    ends = [(j, sign, sign * end) for j, row in enumerate(stratum.problem.rows) for sign, end in ((1, row.below), (-1, row.above)) if end is not None]  # fmt: skip
    beyond = np.array([[sign * values[j] - end for values in row_values(stratum)] for j, sign, end in ends])
    outcomes, fair = truth_of(stratum)
    best = fair & (outcomes >= np.where(fair, outcomes, -np.inf).max() - SLACK)
    met = np.all(beyond <= SLACK, axis=0, keepdims=True)
    about_arms = np.concatenate([beyond >= -SLACK, met])
    return TrueClaims(about_arms, np.append(~fair.any(), best), fair)


def refuted_truths(stratum: Stratum, books: Books) -> tuple[IntArray, IntArray, int]:
    """Runs in which each true claim about an arm, and each true answer, was refuted, and runs with a wrong label."""
    rule = Certified.of(stratum.problem, DELTA, estimated=False).rule
    return against(rule, books.ledger, claims_of(stratum))


def against(rule: Rule, ledger: Ledger, claims: TrueClaims) -> tuple[IntArray, IntArray, int]:
    """The same of any ledger. What is refuted stays so to the end."""
    gone = ledger.labels >= rule.label_threshold
    found = certificate(rule, ledger)
    wrong = np.where(claims.fair, found.unfair, found.fair).any(axis=1)
    answers = (ledger.accounts.refuted & claims.answers).sum(axis=0)
    return (gone & claims.gaps).sum(axis=0).ravel(), answers, int(wrong.sum())


def needed_pulls(stratum: Stratum, cap: int) -> float:
    """The fewest pulls, on average, of any rule with an error of at most δ, where P(S) and contexts are known."""
    return find_limit(stratum.problem, stratum.world, pulls=min(cap, stratum.cap)).pulls_needed(DELTA)


# ---- how probable the probable is ----


@dataclass(frozen=True)
class Claimed:
    """Claimed probabilities and whether the answer was right, (n,) each."""

    claimed: FloatArray
    right: BoolArray

    @classmethod
    def joined(cls, parts: Sequence[Claimed]) -> Claimed:
        return cls(np.concatenate([p.claimed for p in parts]), np.concatenate([p.right for p in parts]))


def fixed_runs(name: str, pulls: int, chunk: int, runs: int, seed: int) -> Claimed:
    """One chunk of runs of Pool with a fixed number of pulls."""
    stratum = stratum_named(name)
    rng = np.random.default_rng(seed_of(seed, name, "fixed", pulls, chunk))
    ran = replicate(Pool(stratum.problem, pulls), stratum.world, runs, rng, int(rng.integers(1 << 62)))
    return Claimed(claimed_probability(ran), judged(stratum, ran.state.answer)[0])


@dataclass(frozen=True)
class Bin:
    low: float
    high: float
    answers: int
    mean_claimed: float
    right: int


def calibration(seen: Claimed) -> list[Bin]:
    """The share of right answers by claimed probability; bins without an answer are left out."""
    found = []
    for low, high in pairwise(EDGES):
        inside = (seen.claimed >= low) & ((seen.claimed < high) | (high == EDGES[-1]))
        if inside.any():
            mean = float(seen.claimed[inside].mean())
            found.append(Bin(low, high, int(inside.sum()), mean, int(seen.right[inside].sum())))
    return found


# ---- the core rule on its own: outcomes of any kind, looks of any size ----


@dataclass(frozen=True)
class CoreCase:
    """Cells of known law p_{k,t}(c) (K, 2, C). ``concentration``: Y is Beta(θκ, (1−θ)κ), real and skewed; None: binary."""

    law: FloatArray
    theta: FloatArray
    tolerance: float
    shares: tuple[float, float] = (0.5, 0.5)
    shares_known: bool = True
    concentration: float | None = None

    @property
    def gaps(self) -> FloatArray:
        return np.asarray((self.law[:, 0] - self.law[:, 1]) @ self.theta)

    @property
    def outcomes(self) -> FloatArray:
        return np.asarray((self.law @ self.theta) @ np.array(self.shares))

    def rule(self, delta: float = DELTA) -> Rule:
        return Rule(self.law, self.tolerance, delta, np.array(self.shares) if self.shares_known else None)

    def draw(self, rows: IntArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Rows and outcome sums by cell, (N, C) each, of rows by arm and group (N, K, 2)."""
        K, G, C = self.law.shape
        n = np.zeros((len(rows), C), dtype=np.int64)
        for k in range(K):
            for t in range(G):
                n += rng.multinomial(rows[:, k, t], self.law[k, t])
        if self.concentration is None:
            return n.astype(np.float64), rng.binomial(n, self.theta).astype(np.float64)
        y = np.zeros(n.shape)
        for c, theta in enumerate(self.theta):
            drawn = rng.beta(theta * self.concentration, (1 - theta) * self.concentration, int(n[:, c].sum()))
            y[:, c] = np.bincount(np.repeat(np.arange(len(n)), n[:, c]), weights=drawn, minlength=len(n))
        return n.astype(np.float64), y


AT_TOLERANCE = CoreCase(
    np.array([[[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]], [[0.2, 0.1, 0.7], [0.2, 0.1, 0.7]]]),
    np.array([0.9, 0.5, 0.1]),
    tolerance=0.1,
)
"""Arm 0 is the better one and has a gap of exactly 0.1; the right answer is arm 1."""

SKEWED = CoreCase(
    np.array([[[0.6, 0.3, 0.1], [0.2, 0.6, 0.2]], [[0.1, 0.3, 0.6], [0.1, 0.3, 0.6]]]),
    np.array([0.3, 0.05, 0.01]),
    tolerance=0.4 * 0.3 - 0.3 * 0.05 - 0.1 * 0.01,
    concentration=0.3,
)
"""Real outcomes, nearly all of them near 0 and a few near 1; arm 0 has a gap of exactly the tolerance."""

CORE_CASES = {"real-skewed-core": SKEWED, "every-row-core": AT_TOLERANCE, "hostile-leaders-core": AT_TOLERANCE}
HOSTILE = "hostile-leaders-core"


def hostile_leader(
    rule: Rule, seen: Seen, known: Estimate, refuted: BoolArray, seed: int, number: IntArray, replicate: IntArray
) -> Leader:
    """Leaders that bet against the truth at once: arm 0, which is unfair, or "none is fair", by turns and by luck so far."""
    lucky = seen.y.sum(axis=1) >= 0.5 * seen.n.sum(axis=1)
    return Leader(np.where(lucky | (number % 3 > 0), 0, int(Code.NONE)), np.ones(len(lucky)))


def core_runs(name: str, runs: int, looks: int, rows: int, seed: int) -> Runs:
    """The core rule with ``rows`` rows for one (arm, group) after the other, a look at the bets after each."""
    with patch.object(bets, "leader", hostile_leader) if name == HOSTILE else nullcontext():
        return _core_runs(CORE_CASES[name], runs, looks, rows, seed)


def _core_runs(case: CoreCase, runs: int, looks: int, rows: int, seed: int) -> Runs:
    rng = np.random.default_rng(seed)
    rule = case.rule()
    K, G, _ = case.law.shape
    ledger, answers = open_ledger(rule, runs), np.full(runs, int(Code.UNDECIDED))
    for look in range(looks):
        batch = np.zeros((runs, K, G), dtype=np.int64)
        batch[:, look // G % K, look % G] = rows
        n, y = case.draw(batch, rng)
        ledger = settle(rule, ledger, Brought(batch.astype(np.float64), n, y, np.zeros((runs, G))), seed)
        now = certificate(rule, ledger).answer
        answers = np.where(answers == Code.UNDECIDED, now, answers)  # the first answer counts
    claims = true_claims(case.outcomes, case.gaps, case.tolerance)
    refuted, truths, mislabelled = against(rule, ledger, claims)
    return Runs(
        right=np.asarray(answers == best_of(case, claims)),
        undecided=np.asarray(answers == Code.UNDECIDED),
        pulls=np.full(runs, looks * rows),
        claimed=np.full(runs, np.nan),
        refuted=refuted,
        truths=truths,
        mislabelled=mislabelled,
    )


def best_of(case: CoreCase, claims: TrueClaims) -> int:
    if not claims.fair.any():
        return int(Code.NONE)
    return int(np.argmax(np.where(claims.fair, case.outcomes, -np.inf)))


# ---- the intervals ----


@dataclass(frozen=True)
class Missed:
    """Runs in which the truth left what should hold it at any look, (n,)."""

    region: int
    """The joint region for θ."""
    intervals: int
    """Any of the intervals for μ_k and ζ_k."""
    share: int
    """The interval for P(S); 0 where P(S) is known."""
    runs: int


COVERAGE_CASES = {
    "binary": CoreCase(
        np.array([[[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]], [[0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]]),
        np.array([0.05, 0.5, 0.9]),
        0.1,
    ),
    "nearly certain outcomes": CoreCase(
        np.array([[[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]], [[0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]]),
        np.array([0.001, 0.01, 0.995]),
        0.1,
    ),
    "cells of 0.0001": CoreCase(
        np.array([[[0.5, 0.4899, 0.01, 0.0001], [0.4, 0.5899, 0.01, 0.0001]], [[0.1, 0.8899, 0.01, 0.0001]] * 2]),
        np.array([0.3, 0.5, 0.9, 0.999]),
        0.1,
    ),
    "groups 99:1, P(S) unknown": CoreCase(
        np.array([[[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]], [[0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]]),
        np.array([0.05, 0.5, 0.9]),
        0.1,
        shares=(0.99, 0.01),
        shares_known=False,
    ),
    "real and skewed, P(S) unknown": CoreCase(SKEWED.law, SKEWED.theta, SKEWED.tolerance, (0.3, 0.7), False, 0.3),
}


def look_sizes(rows: int) -> list[int]:
    """Rows of each look: one at a time at first, then a fifth more at each look, up to about ``rows`` in all."""
    sizes, made = [], 0
    while made < rows:
        sizes.append(max(1, made // 5))
        made += sizes[-1]
    return sizes


def coverage(case: CoreCase, runs: int, rows: int, seed: int, delta: float = DELTA) -> Missed:
    """Natural rows of the arm that has done worse so far (pulls that chase what is seen), and as many forced rows of it."""
    rng = np.random.default_rng(seed)
    K, G, C = case.law.shape
    n, y = np.zeros((runs, C)), np.zeros((runs, C))
    natural = np.zeros((runs, G))
    out = {name: np.zeros(runs, dtype=bool) for name in ("region", "intervals", "share")}
    truths = case.outcomes, case.gaps
    shares = np.array(case.shares)
    for size in look_sizes(rows // 2):
        seen = (y + 0.5) / (n + 1)
        arm = np.argmin(np.einsum("ktc,nc->nk", case.law, seen), axis=1)
        drawn = rng.multinomial(np.full(runs, size), shares)
        batch = np.zeros((runs, K, G), dtype=np.int64)
        batch[np.arange(runs), arm] = drawn
        batch[np.arange(runs), arm, rng.integers(0, G, runs)] += size
        cells, sums = case.draw(batch, rng)
        n, y, natural = n + cells, y + sums, natural + drawn
        found = intervals(n, y, case.law, delta, shares if case.shares_known else None, natural)
        for truth, ends in zip(truths, (found.outcomes, found.gaps), strict=True):
            out["intervals"] |= ((ends[..., 0] > truth + 1e-12) | (ends[..., 1] < truth - 1e-12)).any(axis=1)
        likelihood = (xlogy(y, case.theta) + xlogy(n - y, 1 - case.theta)).sum(axis=1)
        out["region"] |= mixture(n, y).log_evidence - likelihood >= np.log(1 / delta)
        if not case.shares_known:
            ends = share_interval(natural[:, 0], natural[:, 1], delta)
            out["share"] |= (ends[:, 0] > shares[0]) | (ends[:, 1] < shares[0])
    missed = {name: int(left.sum()) for name, left in out.items()}
    return Missed(missed["region"], missed["intervals"], missed["share"], runs)
