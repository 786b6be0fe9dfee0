"""Synthetic problems where the question decides: an attribute with a cause, and one with an allowed way to the outcome.

    synthetic-causes    region → race,  region → income,  race → history,  arms see income and history
    synthetic-kept      sex → department,  arms see sex and department

A pool of random arms is drawn, their exact rows are found, and K of them are *selected*: half are fair, clearly, the best fair one leads,
and some unfair ones are better. What the plain difference between the groups would say of them is left to chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairarm.catalog.chain import MAX_ARMS, MAX_SEED, MAX_STATES, check_whole, law_with_means, outcome_law, stretched
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.constraint import Constraint
from fairarm.problem.mechanism import Arm, Table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds.base import Truth
from fairarm.worlds.network import NetworkWorld

CAUSES = "race has a cause, region: pairs of both within a tolerance; of 12 arms 6 are fair, 3 are better but unfair"
KEPT = "pairs of sexes within a tolerance in the same department; of 12 arms 6 are fair, 3 are better but unfair"
CAUSES_KEY, KEPT_KEY = 9, 10
"""Seed the generators together with the caller's seed, as the keys of `synthetic` do: never reuse or change them."""

RACE_WITHIN, REGION_WITHIN, SEX_WITHIN = 0.08, 0.15, 0.08
CLEAR, LEAD, BETTER_BY = 0.02, 0.04, 0.02
"""Every arm is fair or unfair by this much; the best fair arm leads the other fair ones, and better ones lead it, by at least so much."""
CANDIDATES = 20
"""Drawn for every arm that is selected."""
LEVEL, LEAST, MOST = (0.3, 0.7), 0.12, 0.88
"""Of an arm: its mean outcome in the middle of what it sees, and the ends that no mean leaves."""
LEAST_ARMS = 4
RACES, REGIONS, SEXES = ("a", "b"), ("north", "south"), ("f", "m")
DEPARTMENTS = ("1", "2", "3", "4")
THREE = ("low", "middle", "high")


def synthetic_causes(*, K: int = 12, m: int = 6, seed: int = 0) -> tuple[Problem, Network]:
    """Two attributes, of which one acts on the other, and each on an input of the arms.

    >>> problem, network = synthetic_causes(seed=3)
    >>> problem.name, problem.attributes, len(problem.rows)
    ('synthetic-causes:K=12,m=6,seed=3', ('region', 'race'), 3)
    """
    _check("'synthetic-causes'", K, m, seed)
    rng = np.random.default_rng([CAUSES_KEY, seed, K, m])
    name = f"synthetic-causes:K={K},m={m},seed={seed}"
    while True:
        theta, points = stretched(outcome_law(rng, m, True)), _two_inputs(K * CANDIDATES, rng)
        made = _causes(name, _arms(points, theta, ("income", "history"), (3, 3), rng), theta, rng)
        chosen = _selected(NetworkWorld(*made).truth(), K, rng)
        if chosen is not None:
            return _with(made, chosen)


def synthetic_kept(*, K: int = 12, m: int = 6, seed: int = 0) -> tuple[Problem, Network]:
    """Men and women apply to other departments; arms see both. The department is allowed: people are compared within it.

    >>> problem, network = synthetic_kept(seed=3)
    >>> problem.constraints[0].keep, len(problem.rows)
    (('department',), 2)
    """
    _check("'synthetic-kept'", K, m, seed)
    rng = np.random.default_rng([KEPT_KEY, seed, K, m])
    name = f"synthetic-kept:K={K},m={m},seed={seed}"
    while True:
        theta, points = stretched(outcome_law(rng, m, True)), _sex_and_department(K * CANDIDATES, rng)
        made = _kept(name, _arms(points, theta, ("sex", "department"), (2, len(DEPARTMENTS)), rng), theta, rng)
        chosen = _selected(NetworkWorld(*made).truth(), K, rng)
        if chosen is not None:
            return _with(made, chosen)


def _check(what: str, K: int, m: int, seed: int) -> None:
    check_whole(what, K=(K, LEAST_ARMS, MAX_ARMS), m=(m, 2, MAX_STATES), seed=(seed, 0, MAX_SEED))


# ---- arms ----


def _two_inputs(count: int, rng: np.random.Generator) -> FloatArray:
    """Mean outcomes of arms by income and history, (count, 9): a slope along each, and some noise."""
    income, history = np.meshgrid(np.arange(3) - 1.0, np.arange(3) - 1.0, indexing="ij")
    level, first, second = (x[:, None, None] for x in (rng.uniform(*LEVEL, count), *rng.normal(0.0, 0.15, (2, count))))
    found = level + first * income + second * history + rng.normal(0.0, 0.03, (count, 3, 3))
    return np.asarray(np.clip(found, LEAST, MOST).reshape(count, -1))


def _sex_and_department(count: int, rng: np.random.Generator) -> FloatArray:
    """Mean outcomes of arms by sex and department, (count, 8): departments differ, and in each the sexes."""
    level, apart = rng.uniform(*LEVEL, (count, 1, 1)), rng.normal(0.0, 0.08, (count, 1, 1))
    slope = rng.normal(0.0, 0.12, (count, 1, 1)) * np.linspace(-1.0, 1.0, len(DEPARTMENTS))
    found = level + slope + apart * np.array([-0.5, 0.5])[:, None]
    found = found + rng.normal(0.0, 0.02, (count, 2, len(DEPARTMENTS)))
    return np.asarray(np.clip(found, LEAST, MOST).reshape(count, -1))


def _arms(
    points: FloatArray, theta: FloatArray, inputs: tuple[str, str], shape: tuple[int, int], rng: np.random.Generator
) -> list[Arm]:
    laws = [law_with_means(means, theta, False, rng).reshape(*shape, len(theta)) for means in points]
    return [Arm(f"arm-{k}", Table("decision", inputs, law)) for k, law in enumerate(laws, start=1)]


def _selected(truth: Truth, K: int, rng: np.random.Generator) -> IntArray | None:
    """K arms: the second fair one, which is deployed, then the others in random order. None where too few are as they should be."""
    beyond = truth.asked.beyond(truth.rows).max(axis=1)  # type: ignore[union-attr]
    outcome, better = truth.outcomes, K // 4
    for best in rng.permutation(np.flatnonzero(beyond < -CLEAR)):
        below = outcome < outcome[best] - LEAD
        fair = np.flatnonzero((beyond < -CLEAR) & below)
        above = np.flatnonzero((beyond > CLEAR) & (outcome > outcome[best] + BETTER_BY))
        worse = np.flatnonzero((beyond > CLEAR) & below)
        wanted = ((fair, K // 2 - 1), (above, better), (worse, K - K // 2 - better))
        if all(len(of) >= count for of, count in wanted):
            first, *others = (rng.choice(of, count, replace=False) for of, count in wanted)
            first = first[np.argsort(-outcome[first])]
            return np.array([first[0], *rng.permutation([best, *first[1:], *np.concatenate(others)])])
    return None


def _with(made: tuple[Problem, Network], chosen: IntArray) -> tuple[Problem, Network]:
    """The same with these arms, numbered anew."""
    problem, network = made
    arms = [Arm(f"arm-{k}", problem.arms[at].mechanism) for k, at in enumerate(chosen, start=1)]
    return replace(problem, arms=tuple(arms), costs=(), deployed="arm-1"), network


# ---- problems ----


def _causes(name: str, arms: Sequence[Arm], theta: FloatArray, rng: np.random.Generator) -> tuple[Problem, Network]:
    """Most people of b live in the south; income follows the region, history the race."""
    south, of_b = rng.uniform(0.4, 0.6), np.array([rng.uniform(0.1, 0.25), rng.uniform(0.65, 0.85)])
    tables = [
        Table("region", (), np.array([1.0 - south, south])),
        Table("race", ("region",), np.stack([1.0 - of_b, of_b], axis=1)),
        Table("income", ("region",), _falling(3, rng)),
        Table("history", ("race",), _falling(3, rng)),
    ]
    problem = Problem(
        name=name,
        description="Synthetic: region acts on race and on income, race on history; arms see income and history.",
        variables=[Variable("region", REGIONS), Variable("race", RACES), Variable("income", THREE), Variable("history", THREE), *_ends(len(theta))],
        graph=[("region", "race"), ("region", "income"), ("race", "history"), ("income", "decision"), ("history", "decision"), ("decision", "result")],
        sensitive=("region", "race"),
        constraints=[Constraint(attribute="race", tolerance=RACE_WITHIN), Constraint(attribute="region", tolerance=REGION_WITHIN)],
        mechanisms=tables[1:],
        shares={"region": {"north": 1.0 - south, "south": south}},
        **_common(arms),
    )  # fmt: skip
    return problem, _network(problem, tables, theta)


def _kept(name: str, arms: Sequence[Arm], theta: FloatArray, rng: np.random.Generator) -> tuple[Problem, Network]:
    """The sexes apply to departments in opposite order."""
    women = rng.uniform(0.35, 0.65)
    tables = [
        Table("sex", (), np.array([women, 1.0 - women])),
        Table("department", ("sex",), _falling(len(DEPARTMENTS), rng)),
    ]
    problem = Problem(
        name=name,
        description="Synthetic: sex acts on the department; arms see both. The department is allowed.",
        variables=[Variable("sex", SEXES), Variable("department", DEPARTMENTS, ordered=False), *_ends(len(theta))],
        graph=[("sex", "department"), ("sex", "decision"), ("department", "decision"), ("decision", "result")],
        sensitive="sex",
        constraints=[Constraint(tolerance=SEX_WITHIN, keep=("department",))],
        mechanisms=tables[1:],
        shares=(women, 1.0 - women),
        **_common(arms),
    )
    return problem, _network(problem, tables, theta)


def _common(arms: Sequence[Arm]) -> dict[str, Any]:
    return {"decision": "decision", "outcome": Outcome("result", values=(0, 1)), "arms": arms}


def _ends(m: int) -> list[Variable]:
    states = tuple(str(v) for v in range(1, m + 1))
    return [Variable("decision", states, ordered=False), Variable("result", ("0", "1"))]


def _falling(states: int, rng: np.random.Generator) -> FloatArray:
    """Laws of two groups, (2, states): the first group's leans to the last state, the second's to the first, as far as chance has it."""
    lean = rng.uniform(0.5, 1.1) * np.linspace(-1.0, 1.0, states)
    laws = np.exp(np.stack([lean, -lean]) + rng.normal(0.0, 0.2, (2, states)))
    return np.asarray(laws / laws.sum(axis=1, keepdims=True))


def _network(problem: Problem, tables: Sequence[Table], theta: FloatArray) -> Network:
    """The world: what is declared, some arm's decisions, and the coins."""
    outcome = Table("result", ("decision",), np.stack([1.0 - theta, theta], axis=1))
    decision = Table("decision", (), np.full(len(theta), 1.0 / len(theta)))
    return Network.of(problem.variables.values(), [*tables, decision, outcome])
