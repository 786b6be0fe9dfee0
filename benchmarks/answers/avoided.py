"""Cells that the logging rule avoids: decisions that it hardly ever makes where they are bad, so that no row shows how bad."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from unittest.mock import patch

import numpy as np

from benchmarks.answers.asking import generator, judged, said
from benchmarks.answers.kinds import drawn_world, outcome_law, random_log
from benchmarks.answers.parts import Bars, Line, Lines, Part, Scale, counted, mean, total
from benchmarks.answers.worlds import Log, States, World, scores, simplex
from fairarm.core.types import FloatArray

LOGS, ORDINARY = 40, 600


def harmful(rng: np.random.Generator, rows: int, mass: float, helps: float, bad: float, propensity: float) -> Log:
    """Six contexts, S has no effect. v1 helps in four of them; in two, together ``mass``, it harms, and the rule hardly makes it there."""
    M = 6
    harm = np.arange(M) >= 4
    contexts = np.where(harm, mass / 2, (1 - mass) / 4)
    good = np.where(harm, bad, helps)
    p = np.stack([np.where(harm, 0.6, 0.57), good], axis=-1)
    means = np.broadcast_to(p, (1, 2, M, 2))
    law = States(np.stack([1 - means, means], axis=-1), (0.0, 1.0))

    def rule(where_good: float, where_bad: float) -> FloatArray:
        chance = np.where(harm, where_bad, where_good)
        return np.broadcast_to(np.stack([1 - chance, chance], axis=-1), (2, M, 2)).copy()

    arms = {
        "logging": rule(0.5, propensity),
        "everywhere": rule(0.92, 0.92),
        "careful": rule(0.85, propensity),
        "mostly": rule(0.7, 0.5),
        "nowhere": rule(0.05, 0.05),
    }
    child = np.broadcast_to(contexts, (1, 2, M))
    world = World(np.ones(1), np.full((1, 2), 0.5), child, (), arms, law, 0.1, direct=False)
    return world.log(rows, rng)


def avoids_bad(rng: np.random.Generator, contexts: int, decisions: int) -> Log:
    """300 rows of a rule that makes the worst decision of each context in .3 % of cases; candidates do not know which that is."""
    score = scores(rng, (1, 2, contexts, decisions), (0.0, 0.1, 0.4, 0.4), 0.6, direct=False)
    law = outcome_law("binary", score)
    rank = np.argsort(np.argsort(score[0, 0], axis=-1), axis=-1)
    weights = np.where(rank == 0, 0.003, rng.uniform(0.3, 1.0, rank.shape))
    weights[rank != 0] *= 0.997 / np.repeat(np.where(rank != 0, weights, 0).sum(axis=-1), decisions - 1)
    logging = np.repeat(weights[None], 2, axis=0)
    arms = {"logging": logging}
    for k in range(5):
        own = simplex(rng, (1, contexts, decisions), 0.5, 1e-3)
        arms[f"rule-{k}"] = np.repeat(own, 2, axis=0)
    child = simplex(rng, (1, 2, contexts), 3.0, 0.03)
    world = World(np.ones(1), np.full((1, 2), 0.5), child, (), arms, law, 0.25, direct=False)
    return world.log(300, rng)


def near_deterministic(rng: np.random.Generator) -> Log:
    """One decision in each context has nearly all of the mass, each other one .01, whatever its outcome."""
    world = drawn_world(rng, contexts=6, decisions=3, arms=6, outcome="binary", direct=False)
    usual = np.eye(3)[rng.integers(3, size=6)]
    world.arms["logging"] = np.repeat((0.97 * usual + 0.01)[None], 2, axis=0)
    return world.log(1000, rng)


KINDS: dict[str, Callable[[np.random.Generator], Log]] = {
    "avoided, 1 500 rows": partial(harmful, rows=1500, mass=0.18, helps=0.87, bad=0.05, propensity=0.001),
    "avoided, 20 000 rows": partial(harmful, rows=20_000, mass=0.12, helps=0.66, bad=0.05, propensity=1e-5),
    "bad cells avoided, 300 rows, 4 contexts": partial(avoids_bad, contexts=4, decisions=3),
    "bad cells avoided, 300 rows, 8 contexts": partial(avoids_bad, contexts=8, decisions=2),
    "near-deterministic, propensity .01": near_deterministic,
}
ORDINARY_LOGS, NOT_BOUNDED = "random, as under Status", "random, avoided cells extrapolated"
"""The same logs, the second time with the threshold `fairarm.beliefs.doubt.AVOIDED` at 0."""


def answered(kind: str, index: int, seed: int) -> Line:
    """One log, at the default margin."""
    ordinary = kind in (ORDINARY_LOGS, NOT_BOUNDED)
    log = random_log(generator(seed, ORDINARY_LOGS, index)) if ordinary else KINDS[kind](generator(seed, kind, index))
    with patch("fairarm.beliefs.doubt.AVOIDED", 0.0, create=True) if kind == NOT_BOUNDED else nullcontext():
        found = said(log, index)
    line = judged(found, log.truth)
    scale = float(np.ptp(log.truth.outcomes)) or 1.0
    line["width"] = float(np.mean([arm.outcome.high - arm.outcome.low for arm in found.arms])) / scale
    return {**line, "right": line["FOUND"] and not line["FOUND wrong"]}


def summed(lines: Sequence[Line]) -> Line:
    counts = ("right", "FOUND wrong", "none", "none wrong", "undecided", "recommended wrong")
    return {
        "logs": len(lines),
        **{name: total(lines, name) for name in counts},
        "outcomes covered": mean(lines, "outcomes covered"),
        "gaps covered": mean(lines, "gaps covered"),
        "width": mean(lines, "width"),
        "reasons": counted(lines, "reason"),
    }


def avoided(scale: Scale) -> Part:
    """Scenarios with avoided cells, and random logs, on which right answers may be lost."""
    logs = {**dict.fromkeys(KINDS, LOGS), ORDINARY_LOGS: ORDINARY, NOT_BOUNDED: ORDINARY}
    return Part(
        "Cells that the logging rule avoids",
        """At the default margin. *Right*: FOUND and right. *Width*: mean width of the intervals of outcomes, divided by the range of the arms' true outcomes.
In *avoided*, the arm `everywhere` makes in all contexts a decision that helps in four of them, harms in two, and is never seen there.""",
        {kind: [partial(answered, kind, i, scale.seed) for i in range(scale.logs(n))] for kind, n in logs.items()},
        summed,
        bars,
    )


def bars(now: Lines, before: Lines) -> Bars:
    held: Bars = {}
    for kind in KINDS:
        line = now[kind]
        wrong, share = line["FOUND wrong"] + line["none wrong"], line["outcomes covered"]
        held[f"{kind}: at most 1 of 40 wrong: {wrong}"] = wrong <= 1
        held[f"{kind}: outcomes covered at least .93: {share:.3f}"] = share >= 0.93
    kept, of = (now[kind]["right"] for kind in (ORDINARY_LOGS, NOT_BOUNDED))
    held[f"random logs: at most 10 % of right FOUND lost: {kept} of {of} left"] = kept >= 0.9 * of
    return held
