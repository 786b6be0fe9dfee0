"""How wide certified intervals from logs are: ``python -m benchmarks.logs.certified_widths`` writes certified_widths.md.

The same rows are bounded three ways, with thirty arms at δ = 0.05: by the empirical Bernstein bound of weighted rows, by bets on
every row, and by bets of which only sums are kept.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairarm.beliefs.counted_bets import pilot_of
from fairarm.core.proof.log_bets import CountedLines, SumBets, bet_intervals, bets_on, cut_at, scoring
from fairarm.core.proof.log_intervals import GroupCells, bound_delta, cut_sums, weighted_intervals
from fairarm.core.proof.region import Intervals
from fairarm.core.types import FloatArray, IntArray

HERE = Path(__file__).parent
ARMS, CONTEXTS, DECISIONS, DELTA = 30, 6, 3, 0.05
KINDS = {
    "plain": "six contexts, three decisions of at least 10 % each, groups 50 : 50",
    "near the log": "arms that differ from the logging one by 30 %",
    "money": "outcomes of 21 amounts, a third of them 0",
    "93 : 7": "groups 93 : 7",
    "heavy weights": "decisions that the logging arm makes once in 200 times",
    "rare outcomes": "rates around 1 %",
}


@dataclass(frozen=True)
class Counted:
    """Laws (K, G, X), counts (K, G, X, O), the outcome's values, P(S), and every arm's outcome and gap."""

    law: FloatArray
    counts: IntArray
    values: FloatArray
    shares: FloatArray
    outcomes: FloatArray
    gaps: FloatArray


def drawn(kind: str, rows: int, rng: np.random.Generator) -> Counted:
    """A world of the kind, and a log of it."""
    shares = np.array([0.93, 0.07]) if kind == "93 : 7" else np.array([0.5, 0.5])
    contexts = rng.dirichlet(np.full(CONTEXTS, 2.0), 2)
    floor = 0.005 if kind == "heavy weights" else 0.1
    law = (1 - DECISIONS * floor) * rng.dirichlet(np.ones(DECISIONS), (ARMS, 2, CONTEXTS)) + floor
    law = 0.7 * law[:1] + 0.3 * law if kind == "near the log" else law
    rare = kind == "rare outcomes"
    chance = rng.beta(0.5, 50.0, (CONTEXTS, DECISIONS)) if rare else rng.beta(0.7, 0.7, (CONTEXTS, DECISIONS))
    by_value, values = np.stack([1 - chance, chance], axis=-1), np.array([0.0, 1.0])
    if kind == "money":
        values = np.linspace(0, 1, 21)
        near = np.exp(-0.5 * ((values - 0.1 - 0.5 * chance[..., None]) / 0.15) ** 2)
        by_value = 0.7 * near / near.sum(axis=-1, keepdims=True) + 0.3 * (values == 0)
    s = rng.choice(2, rows, p=shares)
    x = _chosen(contexts[s], rng)
    v = _chosen(law[0, s, x], rng)
    counts = np.zeros((ARMS, 2, CONTEXTS * DECISIONS, len(values)), dtype=np.int64)
    np.add.at(counts[0], (s, DECISIONS * x + v, _chosen(by_value[x, v], rng)), 1)
    means = np.einsum("sx,ksxv,xv->ks", contexts, law, by_value @ values)
    return Counted(law.reshape(ARMS, 2, -1), counts, values, shares, means @ shares, means[:, 0] - means[:, 1])


def _chosen(chances: FloatArray, rng: np.random.Generator) -> IntArray:
    return np.asarray((rng.random(len(chances))[:, None] > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1))


def bounded(log: Counted) -> tuple[Intervals, Intervals, Intervals]:
    """By all rows' sums, by bets on every row, by bets from sums."""
    each, none = bound_delta(DELTA, ARMS, True), np.zeros(2)
    seen = log.counts.sum(axis=0).astype(np.float64)
    cells = GroupCells(seen.sum(axis=2), seen @ log.values, seen @ log.values**2, log.counts.sum(axis=(2, 3)))
    bernstein = weighted_intervals(cut_sums(log.law, cells, each), DELTA, log.shares, none)
    pilot = pilot_of(log.counts)
    rest = log.counts - pilot
    known, made = pilot.sum(axis=(0, 1)), rest.sum(axis=(2, 3))
    m = np.broadcast_to((known @ log.values + 0.5) / (known.sum(axis=1) + 1), log.law.shape[1:])
    context = np.repeat(np.arange(CONTEXTS), DECISIONS)
    scores = scoring(log.law, made, m, context, cut_at(made.sum(axis=0).astype(np.float64), each))
    left = _lines(rest, log.values)
    bets = bets_on(scores, _lines(pilot, log.values), left, math.log(1 / each))
    sums = SumBets(left.sums(scores), bets.pilot, bets.log_odds)
    return bernstein, bet_intervals(bets, log.shares, none, DELTA), bet_intervals(sums, log.shares, none, DELTA)


def _lines(counts: IntArray, values: FloatArray) -> CountedLines:
    seen = counts.sum(axis=0)
    group, place, state = np.nonzero(seen)
    return CountedLines(group, place, values[state], seen[group, place, state].astype(np.float64))


def line(kind: str, rows: int, logs: int, seed: int) -> str:
    """Mean widths of gaps and outcomes, and how much narrower they are than by the first way; how often all of them hold."""
    widths, held = np.zeros((3, 2)), np.zeros(3)
    for i in range(logs):
        log = drawn(kind, rows, np.random.default_rng([seed, list(KINDS).index(kind), rows, i]))
        for way, found in enumerate(bounded(log)):
            widths[way] += [np.ptp(part, axis=-1).mean() for part in (found.gaps, found.outcomes)]
            pairs = ((found.gaps[0], log.gaps), (found.outcomes[0], log.outcomes))
            held[way] += all(np.all((ends[:, 0] <= truth) & (truth <= ends[:, 1])) for ends, truth in pairs)
    widths /= logs
    cells = [kind, f"{rows}", *(f"{gap:.3f}, {outcome:.3f}" for gap, outcome in widths)]
    cells += [f"×{widths[0, 0] / gap:.1f}, ×{widths[0, 1] / outcome:.1f}" for gap, outcome in widths[1:]]
    return f"| {' | '.join([*cells, ', '.join(f'{int(h)}' for h in held)])} |"


HEAD = """# How wide are certified intervals from logs?

Made by `python -m benchmarks.logs.certified_widths` ({logs} logs of each kind and length, each from a world drawn anew, seed {seed}).
Thirty arms, δ = 0.05 for all of them together, the logging arm one of them, counted rows, P(S) known, nothing else declared. Mean
widths of gaps, then of outcomes, by empirical Bernstein bounds, by bets on every row, by bets of which only sums are kept; how many
times narrower the two kinds of bet are; and in how many of the {logs} logs all 60 intervals held the truth, by each of the three.

{kinds}

| logs | rows | Bernstein | bets | sums | bets narrower | sums narrower | all held |
|---|---|---|---|---|---|---|---|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=HERE / "certified_widths.md")
    asked = parser.parse_args()
    lines = [line(kind, rows, asked.logs, asked.seed) for kind in KINDS for rows in (400, 4_000, 40_000)]
    kinds = "\n".join(f"- *{name}*: {what}." for name, what in KINDS.items())
    head = HEAD.format(logs=asked.logs, seed=asked.seed, kinds=kinds)
    asked.out.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
