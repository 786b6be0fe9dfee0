"""The kinds of logs on which `status` is judged: random ones, borders where fairness hangs by a hair, and other difficulties.

No kind depends on the package, and none was used to choose a number in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.answers.worlds import (
    Law,
    Log,
    Real,
    States,
    Truth,
    World,
    binary,
    exponential,
    four_states,
    scores,
    simplex,
)
from benchmarks.logs import ordinary, rows
from benchmarks.logs.tables import Logged
from fairarm.core.types import FloatArray

Kind = Callable[[np.random.Generator], Log]

SD = {"binary": 0.5, "four": 1.7, "real": 3.5}
"""About the standard deviation of each outcome: tolerances are stated in it."""


def outcome_law(kind: str, score: FloatArray, level: float = 0.0) -> Law:
    """Cells (Z, G, M, V) with these scores; ``level`` moves all of them."""
    if kind == "binary":
        return binary(score + level)
    if kind == "four":
        return four_states(score + level)
    return Real(10.0 + 3.0 * score, exponential(3.0), -60.0, 200.0)


def rules(
    rng: np.random.Generator, number: int, shape: tuple[int, int, int], least: float = 0.02
) -> dict[str, FloatArray]:
    """Rules (G, M, V), half of them blind to the group; the first one gives every decision at least ``least``."""
    made = {"logging": simplex(rng, shape, 1.0, least)}
    for k in range(1, number):
        own = simplex(rng, shape, rng.choice([0.3, 1.0]), 1e-4)
        made[f"rule-{k}"] = np.repeat(own[:1], shape[0], axis=0) if rng.random() < 0.5 else own
    return made


def drawn_world(rng: np.random.Generator, **change: Any) -> World:
    """Two groups, 1 to 20 contexts, 2 to 5 decisions, 4 to 9 rules; a tolerance that knows nothing of the gaps.

    Effects are as large as they are so that, as in the logs on which the rule was designed, a third of the likeliest answers is wrong and a
    fifth is decided at margin 0. Smaller ones (.6 and .3, tolerances up to .35), tried first on other seeds, left .90 undecided, with no
    more wrong answers.

    Options: groups, contexts, decisions, arms, outcome, group_effect, effect, interaction, share, least, direct, level.
    """
    G = change.get("groups", 2)
    M, V = change.get("contexts", rng.integers(1, 21)), change.get("decisions", rng.integers(2, 6))
    kind = change.get("outcome", rng.choice(list(SD)))
    direct = change.get("direct", rng.random() < 0.5)
    share = change.get("share", rng.uniform(0.2, 0.8))
    effect = change.get("effect", 1.0)
    score = scores(
        rng,
        (1, G, M, V),
        (0.0, change.get("group_effect", 0.3), effect, effect),
        change.get("interaction", 0.5),
        direct,
    )
    level = change.get("level", rng.normal(0.0, 0.7))
    shares = np.array([share, 1 - share]) if G == 2 else simplex(rng, (G,), 5.0, 0.05)
    return World(
        causes=np.ones(1),
        groups=shares[None],
        child=simplex(rng, (1, G, M), 2.0) if M > 1 else np.ones((1, G, 1)),
        others=(),
        arms=rules(rng, change.get("arms", rng.integers(4, 10)), (G, M, V), change.get("least", 0.02)),
        law=outcome_law(kind, score, level),
        tolerance=rng.uniform(0.05, 0.5) * SD[kind],
        direct=direct,
        declared=bool(rng.random() < 0.5),
    )


def rows_between(rng: np.random.Generator, least: int, most: int) -> int:
    """Log-uniform."""
    return int(np.exp(rng.uniform(np.log(least), np.log(most))))


def random_log(rng: np.random.Generator) -> Log:
    """200 to 6000 rows."""
    return drawn_world(rng).log(rows_between(rng, 200, 6000), rng)


# ---- borders ----


def border(rng: np.random.Generator, choose: Callable[[FloatArray, FloatArray, np.random.Generator], float]) -> Log:
    """A tolerance that comes from the true outcomes and gaps, (K,) each."""
    world = drawn_world(rng)
    truth = world.truth()
    tolerance = choose(truth.outcomes, np.abs(truth.gaps[:, 0]), rng)
    return replace(world, tolerance=max(tolerance, 1e-4)).log(rows_between(rng, 500, 30_000), rng)


def at_rank(outcomes: FloatArray, gaps: FloatArray, rng: np.random.Generator, rank: int) -> float:
    """Exactly the gap of the best arm, or of the second best: it is unfair by nothing."""
    return float(gaps[np.argsort(-outcomes)[rank]])


def beside_some(outcomes: FloatArray, gaps: FloatArray, rng: np.random.Generator) -> float:
    """The gap of some arm, a little more or less."""
    return float(rng.choice(gaps) * rng.choice([0.9, 0.97, 1.03, 1.1]))


def beside_smallest(outcomes: FloatArray, gaps: FloatArray, rng: np.random.Generator) -> float:
    """The smallest gap, exactly or a little more: no arm is fair, or one by a hair."""
    return float(gaps.min() * rng.choice([1.0, 1.05, 1.2]))


def between_two(outcomes: FloatArray, gaps: FloatArray, rng: np.random.Generator) -> float:
    """Half way between two gaps that follow each other."""
    inner = np.sort(gaps)
    k = rng.integers(len(gaps) - 1)
    return float((inner[k] + inner[k + 1]) / 2)


def near_equal(rng: np.random.Generator) -> Log:
    """31 arms that hardly differ: one rule, moved a little by each; the tolerance is the median gap."""
    world = drawn_world(rng, arms=2)
    logging, base = world.arms.values()
    step = rng.choice([0.03, 0.1, 0.3])
    near = {f"near-{k}": (1 - step) * base + step * simplex(rng, base.shape, 0.3) for k in range(30)}
    world = replace(world, arms={"logging": logging, **near})
    gaps = np.abs(world.truth().gaps[:, 0])
    return replace(world, tolerance=max(float(np.median(gaps)), 1e-4)).log(rows_between(rng, 500, 30_000), rng)


# ---- other difficulties ----


def strong_groups(rng: np.random.Generator) -> Log:
    """S has large effects: most arms are unfair, some by far."""
    return drawn_world(rng, direct=True, group_effect=1.2, contexts=4).log(rows_between(rng, 300, 6000), rng)


def small_group(rng: np.random.Generator) -> Log:
    """A group of 2 to 5 % of people."""
    world = drawn_world(rng, share=rng.uniform(0.02, 0.05), contexts=rng.integers(1, 7))
    return world.log(rows_between(rng, 500, 10_000), rng)


def rare_decisions(rng: np.random.Generator) -> Log:
    """The logging rule makes one decision in nearly all cases, in each context another one; candidates make the others."""
    world = drawn_world(rng, contexts=rng.integers(2, 9))
    rule = world.arms["logging"]
    usual = np.eye(rule.shape[2])[rng.integers(rule.shape[2], size=rule.shape[:2])]
    share = rng.choice([0.05, 0.15])
    arms = {**world.arms, "logging": (1 - share) * usual + share * rule}
    return replace(world, arms=arms).log(rows_between(rng, 500, 10_000), rng)


def three_groups(rng: np.random.Generator) -> Log:
    """Pairs within a tolerance, and a floor or a ratio."""
    world = drawn_world(rng, groups=3, contexts=rng.integers(1, 7), outcome="binary", level=0.5)
    if rng.random() < 0.5:
        return replace(world, floor=rng.uniform(0.35, 0.6)).log(rows_between(rng, 500, 10_000), rng)
    return replace(world, ratio=rng.uniform(0.6, 0.85)).log(rows_between(rng, 500, 10_000), rng)


def caused_groups(rng: np.random.Generator) -> Log:
    """S has a cause that also acts on a context column and on the outcome."""
    Z, M, V = 3, int(rng.integers(2, 5)), int(rng.integers(2, 4))
    kind = str(rng.choice(["binary", "four"]))
    score = scores(rng, (Z, 2, M, V), (0.6, 0.3, 0.5, 0.5), 0.2)
    world = World(
        causes=simplex(rng, (Z,), 4.0, 0.1),
        groups=simplex(rng, (Z, 2), 2.0, 0.1),
        child=simplex(rng, (Z, 2, M), 2.0, 0.05),
        others=(),
        arms=rules(rng, int(rng.integers(4, 8)), (2, M, V), 0.05),
        law=outcome_law(kind, score),
        tolerance=rng.uniform(0.05, 0.35) * SD[kind],
        declared=bool(rng.random() < 0.5),
    )
    return world.log(rows_between(rng, 500, 10_000), rng)


def many_contexts(rng: np.random.Generator) -> Log:
    """80 combinations of two columns: few rows in each cell."""
    world = drawn_world(rng, contexts=16, decisions=3, arms=5)
    other = simplex(rng, (5,), 3.0, 0.05)
    score = scores(rng, (1, 2, 80, 3), (0.0, 0.3, 0.5, 0.5), 0.3)
    arms = rules(rng, 6, (2, 80, 3), 0.05)
    law = outcome_law("binary", score)
    return replace(world, others=(other,), arms=arms, law=law, direct=True, tolerance=rng.uniform(0.03, 0.17)).log(
        rows_between(rng, 500, 10_000), rng
    )


def rare_outcomes(rng: np.random.Generator) -> Log:
    """Clicks of 1 or 2 %."""
    world = drawn_world(rng, contexts=rng.integers(1, 7), outcome="binary", level=-4.2)
    return replace(world, tolerance=rng.uniform(0.003, 0.02)).log(rows_between(rng, 1000, 20_000), rng)


def tiny(rng: np.random.Generator) -> Log:
    """20 to 150 rows with an outcome in a few of them: intervals are wide, so neither arms nor "no fair arm" can be shown."""
    world = drawn_world(rng, contexts=rng.integers(1, 5), outcome="binary", level=-3.0)
    return replace(world, tolerance=rng.uniform(0.01, 0.05)).log(rows_between(rng, 20, 150), rng)


def undeclared_rule(rng: np.random.Generator) -> Log:
    """The rule that made the log is fitted from it."""
    return drawn_world(rng, contexts=rng.integers(1, 9), least=0.05).log(rows_between(rng, 300, 6000), rng, fitted=True)


def logged_propensities(rng: np.random.Generator) -> Log:
    """Rows are weighted one by one."""
    return drawn_world(rng, contexts=rng.integers(1, 9), least=0.05).log(
        rows_between(rng, 300, 6000), rng, propensity=True
    )


def missing_outcomes(rng: np.random.Generator) -> Log:
    """The worse an outcome, the likelier it is missing: 3 or 15 % of those below the best state, and none of that."""
    log = drawn_world(rng, outcome=rng.choice(["binary", "four"])).log(rows_between(rng, 300, 6000), rng)
    outcomes = np.array(log.rows["Y"], dtype=object)
    best = max(outcomes)
    gone = (rng.random(len(outcomes)) < rng.choice([0.03, 0.15])) & (outcomes != best)
    outcomes[gone] = None
    return replace(log, rows={**log.rows, "Y": outcomes})


def lognormal(rng: np.random.Generator, n: int) -> FloatArray:
    return np.asarray(2.0 * (np.exp(rng.normal(0.0, 1.5, n)) - np.exp(1.125)))


def heavy_tails(rng: np.random.Generator) -> Log:
    """Money with lognormal noise: the mean is made by few rows."""
    world = drawn_world(rng, outcome="real", contexts=rng.integers(1, 7))
    law = Real(world.law.means, lognormal, -100.0, 1e6)
    return replace(world, law=law, tolerance=rng.uniform(0.5, 4.0)).log(rows_between(rng, 500, 10_000), rng)


def two_of_four_states(rng: np.random.Generator) -> Log:
    """Each decision has two of four states, as loans do: refused, lost or paid back."""
    world = drawn_world(rng, outcome="four", contexts=rng.integers(1, 9), decisions=3)
    p = binary(scores(rng, world.law.means.shape, (0.0, 0.3, 0.6, 0.3), 0.3) + 0.8).chances[..., 1]
    chances = np.zeros((*p.shape, 4))
    for v, (low, high) in enumerate(((1, 1), (0, 2), (0, 3))):
        chances[..., v, low] += 1 - p[..., v]
        chances[..., v, high] += p[..., v]
    world = replace(world, law=States(chances, (-3.0, 0.0, 2.0, 5.0)), direct=True, tolerance=rng.uniform(0.1, 1.0))
    return world.log(rows_between(rng, 300, 6000), rng)


def sharp_interactions(rng: np.random.Generator) -> Log:
    """Some cells are far from what their columns suggest: interactions with Cauchy tails."""
    world = drawn_world(rng, outcome="binary", contexts=rng.integers(3, 13), interaction=0.0)
    cauchy = 0.5 * rng.standard_t(1, (1, 1, *world.law.means.shape[2:]))
    main = scores(rng, world.law.means.shape, (0.0, 0.2, 0.5, 0.5), 0.0)
    return replace(world, law=binary(np.clip(main + cauchy, -8, 8)), direct=True).log(rows_between(rng, 300, 6000), rng)


def sure_outcomes(rng: np.random.Generator) -> Log:
    """In half of the cells the outcome is certain."""
    world = drawn_world(rng, outcome="binary", contexts=rng.integers(1, 9), direct=False)
    shape = (1, 1, *world.law.means.shape[2:])
    p = np.where(rng.random(shape) < 0.5, rng.integers(0, 2, shape), rng.random(shape))
    p = np.broadcast_to(p, world.law.means.shape)
    return replace(world, law=States(np.stack([1 - p, p], axis=-1), (0.0, 1.0))).log(rows_between(rng, 200, 6000), rng)


def noise_by_decision(rng: np.random.Generator) -> Log:
    """Money whose noise has a standard deviation of .1, 3 or 30, by the decision."""
    world = drawn_world(rng, outcome="real", contexts=rng.integers(1, 9), decisions=3)
    law = Unequal(world.law.means, exponential(1.0), -500.0, 500.0)
    return replace(world, law=law).log(rows_between(rng, 300, 6000), rng)


class Unequal(Real):
    """Normal noise of another size for each decision."""

    def draw(self, cell: Any, rng: np.random.Generator) -> Any:
        sd = np.array([0.1, 3.0, 30.0])[cell % self.means.shape[-1]]
        return np.clip(self.means.ravel()[cell] + sd * rng.standard_normal(len(cell)), self.low, self.high)


def from_logs(rng: np.random.Generator, make: Callable[[np.random.Generator], Logged]) -> Log:
    """A kind of `benchmarks.logs`, whose truths are summed or integrated there."""
    log = make(rng)
    fair = np.abs(log.gaps) < log.problem.gap_tolerance
    truth = Truth(tuple(log.problem.arm_names), log.outcomes, fair, log.gaps[:, None])
    return Log(log.problem, log.columns, truth, log.where)


RANDOM: dict[str, Kind] = {"random": random_log}
BORDER: dict[str, Kind] = {
    "the best arm's gap exactly": partial(border, choose=partial(at_rank, rank=0)),
    "the second-best arm's gap exactly": partial(border, choose=partial(at_rank, rank=1)),
    "some arm's gap ± 3 or 10 %": partial(border, choose=beside_some),
    "the smallest gap × 1, 1.05, 1.2": partial(border, choose=beside_smallest),
    "half way between two gaps": partial(border, choose=between_two),
    "31 near-equal arms": near_equal,
}
OTHER: dict[str, Kind] = {
    "strong group effects": strong_groups,
    "a group of 2 to 5 %": small_group,
    "rare decisions": rare_decisions,
    "three groups, several conditions": three_groups,
    "the attribute has a cause": caused_groups,
    "80 contexts": many_contexts,
    "clicks of 1 or 2 %": rare_outcomes,
    "20 to 150 rows": tiny,
    "logging rule fitted": undeclared_rule,
    "logged propensities": logged_propensities,
    "outcomes missing, worse ones more often": missing_outcomes,
    "lognormal money": heavy_tails,
    "states by the decision": two_of_four_states,
    "sharp interactions": sharp_interactions,
    "certain outcomes": sure_outcomes,
    "noise by the decision": noise_by_decision,
    "doses in order, not smooth": partial(from_logs, make=partial(ordinary.ordered, levels=12, rows=800, smooth=False)),
    "doses in order, smooth": partial(from_logs, make=partial(ordinary.ordered, levels=12, rows=800)),
    "real input, small propensities": partial(from_logs, make=rows.heavy_weights),
    "real input, models as arms": partial(from_logs, make=partial(rows.classifiers, rows=1500)),
    "real input, skewed money": partial(from_logs, make=partial(rows.row_money, rows=2000, skewed=True)),
}
KINDS = RANDOM | BORDER | OTHER
