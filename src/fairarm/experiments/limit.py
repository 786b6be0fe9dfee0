"""What no rule can do better than, for a world whose cells are known: the fewest pulls of one that stops when sure, and the
least average error of one with a fixed number of pulls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairarm.core.grouping import sum_by_group
from fairarm.core.limit.fewest_pulls import Limit, limit
from fairarm.core.limit.fixed_budget import CellLaw, LeastError, Rounds, dear_rounds, least_average_error
from fairarm.core.types import FloatArray
from fairarm.errors import OptionError, ProblemError
from fairarm.experiments.identify import require_world
from fairarm.problem.problem import Problem, require_problem
from fairarm.worlds.base import World
from fairarm.worlds.network import NetworkWorld, as_network


@dataclass(frozen=True)
class KnownCells:
    """The truth of a world, cell by cell: the laws p_{k,t}(c) (K, G, C), E[Y' | c] and Var(Y' | c), (C,) each."""

    law: FloatArray
    theta: FloatArray
    variance: FloatArray
    shares: FloatArray
    worlds: FloatArray | None = None
    """Where the problem is not plain: p_{k,ω}(c) (K, W, C). ``law`` is then that of each regime (K, R, C), natural first, which has all
    of the ``shares``."""


def known_cells(problem: Problem, world: World | None) -> KnownCells:
    """Exact, from a Bayesian network; other worlds do not know their cells."""
    network = as_network(require_world(problem, world))
    if network is None or not problem.compiled.finite:
        raise ProblemError(
            f"The limit needs the law of the cells and of the outcome in each: a Bayesian network as the world of "
            f"'{problem.name}', with finite columns."
        )
    if not problem.plain:
        return _known_worlds(network)
    cells, values = problem.compiled.shared_cells, problem.outcome.scaled_values
    rows = network.law.reshape(*network.law.shape[:2], -1, len(values))
    moments = []
    for power in range(3):
        by_group = rows @ values**power  # (K, G, X)
        apart = np.zeros((*by_group.shape[:2], *by_group.shape[1:]))
        for t in range(by_group.shape[1]):
            apart[:, t, t] = by_group[:, t]
        flat = apart.reshape(*by_group.shape[:2], -1)
        moments.append(sum_by_group(flat, cells.cell_of.ravel(), cells.cells))
    mass, first, second = (moment.sum(axis=(0, 1)) for moment in moments)
    theta = np.divide(first, mass, out=np.full(mass.shape, 0.5), where=mass > 0)
    square = np.divide(second, mass, out=np.zeros(mass.shape), where=mass > 0)
    return KnownCells(moments[0], theta, np.maximum(square - theta**2, 0.0), network.shares)


def _known_worlds(network: NetworkWorld) -> KnownCells:
    exact = network.exact
    units, worlds = exact.laws(exact.cells.units), exact.laws(exact.cells.worlds)[:, :-1]
    natural = np.zeros(units.shape[1])
    natural[0] = 1.0
    return KnownCells(units, exact.theta, exact.variance, natural, worlds)


def find_limit(problem: Problem, world: World | None, *, pulls: int | None = None) -> Limit:
    """T* (docs/pool.md, The limit): see ``Limit.form``. Exact where the outcome has two values and the gap between two groups is all
    that is asked about, else in the normal approximation.

    With ``pulls`` the costs count, at the average a run of so many may have; without, pulls are all that counts.
    """
    require_problem(problem)
    cells = known_cells(problem, world)
    budget = None if pulls is None else problem.average_cost_budget(pulls)
    costs = problem.compiled.cost_array
    if budget is None:  # a regime that is not offered is no one's, whatever it may cost
        costs, budget = np.where(np.isfinite(costs), 0.0, np.inf), 0.0
    if not problem.has_one_gap:
        rows = problem.compiled.rows
        return limit(cells.law, cells.shares, cells.theta, cells.variance, rows, costs, budget, worlds=cells.worlds)
    E, values = problem.compiled.scaled_tolerance, np.unique(problem.outcome.scaled_values)
    if len(values) != 2:
        return limit(cells.law, cells.shares, cells.theta, cells.variance, E, costs, budget)
    low, width = values[0], values[1] - values[0]
    return limit(cells.law, cells.shares, (cells.theta - low) / width, None, E / width, costs, budget)


def least_error(
    problem: Problem, world: World | None, *, pulls: int, means: Sequence[float], truths: int = 400, seed: int = 0
) -> LeastError:
    """The least average error of any rule with so many pulls (docs/limits.md), where every E[Y | c] is drawn from ``means``,
    each as likely as the others, and the laws of the cells are those of the world.

    The outcome is 0 or 1. ``truths`` is how many are drawn to estimate it.
    """
    require_problem(problem)
    if not len(means) or not all(0 < mean < 1 for mean in means):
        raise OptionError(f"The means of an outcome that is 0 or 1 lie between 0 and 1, without the ends; got {means}.")
    if problem.outcome.values is None or set(problem.outcome.scaled_values) != {0.0, 1.0}:
        raise ProblemError(f"The least error needs an outcome of two states; '{problem.outcome.node}' has others.")
    cells = known_cells(problem, world)
    natural = np.einsum("t,ktc->kc", cells.shares, cells.law)
    forced = cells.law if cells.worlds is None else cells.law[:, 1:]
    units = np.concatenate([natural[None], forced.transpose(1, 0, 2)])
    costs, budget = problem.compiled.cost_array, problem.average_cost_budget(pulls)
    offered = np.isfinite(costs)
    cheap, dear = costs == costs.min(), dear_rounds(costs[offered], budget, pulls)
    classes: tuple[Rounds, ...] = (Rounds(units[cheap], pulls), Rounds(units[~cheap & offered], dear))
    if dear == pulls:  # the budget forbids nothing: one class, whose units share their rows
        classes = (Rounds(units[offered], pulls),)
    law = CellLaw(np.array(means, dtype=np.float64), np.full(len(means), 1.0 / len(means)))
    rows, rng = problem.compiled.rows, np.random.default_rng([seed, pulls])
    asked = rows.coefficients(cells.law if cells.worlds is None else cells.worlds, natural)
    return least_average_error(classes, law, natural, asked, rows, rng, truths)
