"""Pool: every pull of any arm in any regime informs one shared vector of cell means (math.md §11, the default)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairarm.algorithms.evidence import CellEvidence, Evidence
from fairarm.algorithms.state import Answer, State
from fairarm.core.allocation import require_affordable
from fairarm.core.design import Laws, alternatives, best_fair_arm, plan_pulls
from fairarm.core.prior import BetaPosterior
from fairarm.core.rounding import round_pulls
from fairarm.core.types import FloatArray, IntArray
from fairarm.problem.model import Problem
from fairarm.problem.shared_cells import SharedCells, shared_cells

PHASES = 4
DESIGN_DRAWS, ANSWER_DRAWS = 6, 400


@dataclass(frozen=True)
class Summary:
    """Sufficient statistics of the rows so far; N replicates."""

    rows: IntArray
    """n_c, (N, C)."""
    sums: FloatArray
    by_arm: IntArray
    """n_{j,t}: rows of arm j with S = t, any regime, (N, K, G)."""
    contexts: IntArray
    """(N, Z)."""
    natural: IntArray
    """Natural rows by group, (N, G)."""


def summary(evidence: CellEvidence, cells: SharedCells) -> Summary:
    counts = evidence.counts
    N, R, K, G, O = counts.shape
    states = len(evidence.problem.outcome.values or ())
    by_group = counts.sum(axis=(1, 2)).reshape(N, G, -1, states)
    values = evidence.problem.outcome.scaled_values
    rows, sums = np.zeros((N, cells.cells), dtype=np.int64), np.zeros((N, cells.cells))
    contexts = np.zeros((N, cells.contexts), dtype=np.int64)
    n = by_group.sum(axis=3)
    for t in range(G):
        np.add.at(rows, (slice(None), cells.cell_of[t]), n[:, t])
        np.add.at(sums, (slice(None), cells.cell_of[t]), by_group[:, t] @ values)
        np.add.at(contexts, (slice(None), cells.context_of[t]), n[:, t])
    return Summary(rows, sums, counts.sum(axis=(1, 4)), contexts, counts[:, 0].sum(axis=(1, 3)))


@dataclass(frozen=True)
class Pool:
    problem: Problem
    pulls: int
    steps: int = 40
    draws: int = DESIGN_DRAWS
    start_share: float = 0.5
    estimated: bool = False

    def __post_init__(self) -> None:
        require_affordable(self.problem.cost_array, self.problem.average_cost_budget(self.pulls))

    @property
    def tests_fairness(self) -> bool:
        return True

    def options(self) -> dict[str, Any]:
        return {}

    @cached_property
    def cells(self) -> SharedCells:
        return shared_cells(self.problem)

    def start(self, n: int) -> State:
        state = State.fresh(n, len(self.problem.regimes), len(self.problem.arms))
        costs = self.problem.cost_array
        first = int((self.pulls - int(np.sqrt(self.pulls))) * self.start_share)
        cheapest = costs[0] == costs[0].min()
        target = np.zeros_like(costs)
        target[0] = first * cheapest / cheapest.sum()
        plan = round_pulls(target, state.given[0], costs, self.problem.average_cost_budget(self.pulls), float(first))
        everyone = np.broadcast_to(plan, state.plan.shape).copy()
        return state.but(phase=1, given=everyone, plan=everyone)

    def shares(self, seen: Summary) -> FloatArray:
        if self.problem.shares is not None and not self.estimated:
            return np.broadcast_to(np.array(self.problem.shares), seen.natural.shape)
        n = seen.natural + 0.5
        return n / n.sum(axis=1, keepdims=True)

    def draw_shares(self, seen: Summary, rng: np.random.Generator, D: int) -> FloatArray:
        N, G = seen.natural.shape
        if self.problem.shares is not None and not self.estimated:
            return np.broadcast_to(np.array(self.problem.shares), (N, D, G))
        first = rng.beta(seen.natural[:, None, 0] + 0.5, seen.natural[:, None, 1] + 0.5, (N, D))
        return np.stack([first, 1 - first], axis=2)

    def exposure(self, seen: Summary) -> FloatArray:
        K, G = seen.by_arm.shape[1:]
        return np.einsum("njt,jtz->nz", seen.by_arm + 1.0 / (K * G), self.cells.exposure)

    def context_law(self, seen: Summary) -> FloatArray:
        if self.cells.law is not None and not self.estimated:
            return self.cells.law[None]
        return (seen.contexts + 1.0 / self.cells.contexts) / self.exposure(seen)

    def draw_means(self, seen, theta, rng, D) -> tuple[FloatArray, FloatArray]:
        cells = self.cells
        N = len(theta)
        shares = self.draw_shares(seen, rng, D)
        if self.cells.law is not None and not self.estimated:
            p = cells.law_of_cells(cells.law[None])[0]
            means = theta @ p.reshape(-1, p.shape[-1]).T
        else:
            h = rng.standard_gamma((seen.contexts + 1.0 / cells.contexts)[:, None], (N, D, cells.contexts)) / self.exposure(seen)[:, None]
            weight = h[:, :, cells.context]
            L = cells.likelihood.reshape(-1, cells.likelihood.shape[-1]).T
            means = (weight * theta[:, :, cells.cell]) @ L / (weight @ L)
        means = means.reshape(N, D, len(self.problem.arms), -1)
        return np.einsum("ndkt,ndt->ndk", means, shares), means[..., 0] - means[..., 1]

    def step(self, state: State, in_phase: Evidence, in_stage: Evidence, seed: int) -> State:
        seen = summary(in_stage, self.cells)
        rng = np.random.default_rng([seed, state.phase])
        posterior = BetaPosterior.of(seen.rows, seen.sums)
        E = self.problem.scaled_tolerance
        if state.phase == PHASES + 1:
            outcomes, gaps = self.draw_means(seen, posterior.draw(rng, ANSWER_DRAWS), rng, ANSWER_DRAWS)
            best = best_fair_arm(outcomes, gaps, E)
            votes = (best[:, :, None] == np.arange(-1, outcomes.shape[2])).sum(axis=1)
            return state.but(
                closed=state.closed + 1, running=np.zeros_like(state.running), answer=np.argmax(votes, axis=1) - 1,
                plan=np.zeros_like(state.plan), outcomes=outcomes.mean(axis=1), gaps=np.stack([gaps.mean(axis=1), -gaps.mean(axis=1)], axis=1),
            )
        outcomes, gaps = self.draw_means(seen, posterior.draw(rng, self.draws), rng, self.draws)
        events = alternatives(outcomes, gaps, E)
        p = self.cells.law_of_cells(self.context_law(seen))
        P = self.shares(seen)
        natural = np.einsum("nktc,nt->nkc", np.broadcast_to(p, (len(P), *p.shape[1:])), P) if len(P) > 1 else np.einsum("nktc,nt->nkc", p, P)
        laws = Laws(np.stack([natural, np.broadcast_to(p[:, :, 0], natural.shape), np.broadcast_to(p[:, :, 1], natural.shape)], axis=1))
        costs = self.problem.cost_array
        budget = self.problem.average_cost_budget(self.pulls)
        left = self.pulls - state.given.sum(axis=(1, 2)).astype(float)
        spent = (state.given * costs).sum(axis=(1, 2))
        average = np.full(len(left), np.inf) if budget is None else (budget * self.pulls - spent) / np.maximum(left, 1e-9)
        x = plan_pulls(seen.rows + posterior.strength, posterior.noise, laws, events, left, costs, average, self.steps)
        phases_left = PHASES + 1 - state.phase
        given = state.given.copy()
        for i in range(len(given)):
            length = self.pulls if phases_left == 1 else int(given[i].sum() + np.ceil(left[i] / phases_left))
            share = (length - given[i].sum()) / max(left[i], 1)
            given[i] = round_pulls(given[i] + x[i] * share, given[i], costs, budget, float(length))
        return state.but(phase=state.phase + 1, closed=state.closed + 1, given=given, plan=given - state.given, shares=x / np.maximum(left, 1)[:, None, None])
