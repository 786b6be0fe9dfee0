"""A problem as arrays: likelihoods over its cells, the arms' laws, and the divergences M and D, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.paper.divergence import exponential_divergence
from fairarm.core.paper.estimators import gap_weights, outcome_weights
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import OverlapError, ProblemError
from fairarm.problem.context import ContextLaw, ContextSample
from fairarm.problem.likelihood import Likelihood, likelihood
from fairarm.problem.space import MAX_POINTS, CellSpace, check_points
from fairarm.problem.summing import summed_values

if TYPE_CHECKING:
    from fairarm.problem.problem import Problem

LAW_TOLERANCE = 1e-6
"""How far the declared law of the cells may be from summing to 1 under any arm and group."""

QUADRATURE_TOLERANCE = 1e-3
PANELS = 64
KEPT_WEIGHTS = 1 << 21
"""Most weights kept, of outcomes (K × K × G × C) and of gaps (P × K × K × C) each: 16 MiB."""


@dataclass(frozen=True)
class Law:
    """Points with their likelihood, and the probability of each point under every arm and group, (K, G, I).

    ``shares`` is P(S), (G,), or None where unknown.
    """

    likelihood: Likelihood
    probability: FloatArray
    shares: FloatArray | None


@dataclass(frozen=True)
class Tables:
    """Arrays of one problem. ``space`` is None where a column is real-valued: rows then stand in for cells."""

    problem: Problem
    space: CellSpace | None
    """The cells that L depends on: the observed columns without S, and without Y unless S → Y is an edge."""

    @cached_property
    def likelihood(self) -> Likelihood:
        """log L over the cells."""
        if self.space is None:
            raise ProblemError(
                "This problem has real-valued columns: likelihoods are computed row by row, not by cell."
            )
        check_points(self.problem, self.space.count)
        return likelihood(self.problem, self.space.codes(), self.space.count)

    @cached_property
    def law(self) -> Law:
        """The points over which gaps' divergences are averaged: cells, quadrature nodes, or a sample's rows."""
        context = self.problem.context
        if isinstance(context, ContextSample):
            return _sample_law(self.problem, context, reweighted=_must_reweight(self.problem))
        return _declared_law(self.problem, self, context)

    @cached_property
    def outcome_law(self) -> Law:
        """The same for outcomes, where only V and its inputs count: a sample's rows always have V summed out."""
        context = self.problem.context
        if isinstance(context, ContextSample) and _must_reweight(self.problem):
            return _sample_law(self.problem, context, reweighted=False)
        return self.law

    @cached_property
    def M(self) -> FloatArray:
        """M_kj = log E_k[exp r_kj], (K, K): row estimated, column pulled."""
        law = self.outcome_law
        if law.shares is None:
            raise ProblemError(
                f"The shares of the groups of '{self.problem.sensitive}' are not declared, and the divergence M averages over them. "
                f"Declare them (shares), or give a sample of rows from a log as the context."
            )
        arms = _scaled(law.likelihood.arms)
        weighted = law.probability * law.shares[:, None]
        if not self.problem.roles.decision_is_child:  # the ratio is the same in every group
            return exponential_divergence(weighted.sum(axis=1), arms[:, 0], arms[:, 0])
        flat = (len(arms), -1)
        return exponential_divergence(weighted.reshape(flat), arms.reshape(flat), arms.reshape(flat))

    @cached_property
    def D(self) -> FloatArray:
        """D_kj^{t,u} of every compared pair (t, u), (P, K, K), in their order: learned from pulls with S = u."""
        K, pairs = len(self.problem.arms), self.problem.compared
        if (size := len(pairs) * K * K) > MAX_POINTS:
            raise ProblemError(
                f"{K} arms and {len(pairs)} pairs of groups have {size} divergences D; at most {MAX_POINTS} are held. Use fewer "
                f"arms, or compare the groups with a reference."
            )
        return np.array([self._divergence(t, u) for t, u in pairs]).reshape(-1, K, K)

    def _divergence(self, t: int, u: int) -> FloatArray:
        """D_kj^{t,u}, (K, K)."""
        of_t, of_u = np.moveaxis(_scaled(self.law.likelihood.log_L[:, [t, u]]), 1, 0)
        both = self.law.probability[:, t] + self.law.probability[:, u]
        return exponential_divergence(both, of_t - of_u, of_u)

    @cached_property
    def outcome_weights(self) -> FloatArray | None:
        """r_kj of every cell, (K, K, G, C), kept for all phases and runs; None where that is too much to keep."""
        arms = self.likelihood.arms
        return None if self._too_many_weights(arms.shape[1]) else outcome_weights(arms[:, None], arms)

    @cached_property
    def gap_weights(self) -> FloatArray | None:
        """g_kj^{t,u} of every cell, (P, K, K, C), by compared pair, for pulls with S = u; None where that is too much to keep."""
        pairs = self.problem.compared
        of = np.moveaxis(self.likelihood.log_L, 1, 0)
        if self._too_many_weights(len(pairs)) or not pairs:
            return None
        return np.stack([gap_weights(of[t][:, None], of[u][:, None], of[u]) for t, u in pairs])

    def _too_many_weights(self, each: int) -> bool:
        K, _, C = self.likelihood.arms.shape
        return bool(K * K * each * C > KEPT_WEIGHTS)

    def require_overlap(self) -> None:
        """Every arm's gaps can be learned from some arm; else an error that names arm, groups and cell."""
        for (t, u), divergence in zip(self.problem.compared, self.D, strict=True):
            lost = np.isinf(divergence).all(axis=1)
            if lost.any():
                raise OverlapError(self._overlap_message(int(np.argmax(lost)), t, u))

    def _overlap_message(self, k: int, present: int, absent: int) -> str:
        L, law = self.law.likelihood.log_L, self.law.probability
        mass = law[k, present] + law[k, absent]
        lost: BoolArray = (mass > 0) & np.isneginf(L[k, absent]) & ~np.isneginf(L[k, present])
        groups, arm = self.problem.groups, self.problem.arm_names[k]
        where = f" ({self._describe(int(np.argmax(lost)))})" if self.space is not None and lost.any() else ""
        return (
            f"The groups do not overlap under arm '{arm}': '{groups[present]}' reaches states{where} that "
            f"'{groups[absent]}' never does, so its gap cannot be learned from pulls with "
            f"{self.problem.sensitive} = {groups[absent]}. Smooth the mechanism, or use `uniform`, which compares the groups directly."
        )

    def _describe(self, cell: int) -> str:
        if self.space is None:
            return ""
        codes = self.space.codes(np.array([cell]))
        states = {name: self.problem.variables[name].states or () for name in codes}
        return ", ".join(f"{name}='{states[name][int(code[0])]}'" for name, code in codes.items())


def build_tables(problem: Problem) -> Tables:
    """The tables of a problem; arrays are filled when first used."""
    columns = problem.compiled.likelihood_columns
    finite = all(name in problem.variables and problem.variables[name].finite for name in columns)
    return Tables(problem, CellSpace.of(columns, problem.variables) if finite else None)


def _scaled(log_values: FloatArray) -> FloatArray:
    """exp of (K, G, I), each point scaled by its largest value: only ratios at a point matter."""
    peak = log_values.max(axis=(0, 1))
    return np.exp(log_values - np.where(np.isfinite(peak), peak, 0.0))


def _declared_law(problem: Problem, tables: Tables, context: ContextLaw | None) -> Law:
    """p_{k,t} = L[k, t] · h over the cells; a real-valued decision is integrated by Gauss–Legendre panels."""
    unknown = [
        name
        for name in problem.cell_columns
        if name != problem.decision
        and name not in problem.relevant_children
        and name not in (context.variables if context else ())
    ]
    if unknown and context is None:
        raise ProblemError(
            f"The law of {', '.join(unknown)} is not declared, and the divergences average over it. Declare it (context), as a "
            f"table or as a sample of rows from a log."
        )
    if tables.space is not None:
        values, log_volume, tolerance = tables.likelihood, np.zeros(1), LAW_TOLERANCE
        columns: dict[str, NDArray[Any]] = dict(tables.space.codes())
    else:
        columns, log_volume, tolerance = _quadrature_points(problem)
        values = likelihood(problem, columns, len(columns[problem.decision]))
    h = np.float64(1.0) if context is None else context.weights[tuple(columns[name] for name in context.variables)]
    probability = np.exp(values.log_L + log_volume) * h
    totals = probability.sum(axis=2)
    if np.any(np.abs(totals - 1) > tolerance):
        k, t = (int(i) for i in np.argwhere(np.abs(totals - 1) > tolerance)[0])
        raise ProblemError(
            f"Under arm '{problem.arm_names[k]}' and {problem.sensitive} = {problem.groups[t]} the law of the observed columns sums to "
            f"{totals[k, t]:.6g}, not 1. Check the context law, or the density and range of '{problem.decision}'."
        )
    shares = None if problem.shares is None else np.array(problem.shares)
    return Law(values, probability / totals[:, :, None], shares)


def _quadrature_points(problem: Problem) -> tuple[dict[str, NDArray[Any]], FloatArray, float]:
    """Every combination of the finite columns with quadrature nodes of a real decision over its range."""
    decision = problem.variables[problem.decision]
    finite = [name for name in problem.compiled.likelihood_columns if name != problem.decision]
    if decision.finite or any(not problem.variables[name].finite for name in finite):
        raise ProblemError(
            "Divergences over real-valued columns other than the decision need a sample of rows from a log as the context."
        )
    nodes, weights = summed_values(decision, PANELS)
    space = CellSpace.of(tuple(finite), problem.variables)
    check_points(problem, space.count * len(nodes))
    cells = np.repeat(np.arange(space.count), len(nodes))
    columns: dict[str, NDArray[Any]] = dict(space.codes(cells))
    columns[problem.decision] = np.tile(nodes, space.count)
    return columns, np.log(np.tile(weights, space.count)), QUADRATURE_TOLERANCE


def _must_reweight(problem: Problem) -> bool:
    """An observed column besides V comes after V (or S → Y is an edge): V cannot be summed out of a row on its own."""
    below = problem.roles.graph.descendants(problem.decision) - {problem.outcome.node}
    return bool(below & set(problem.cell_columns)) or problem.outcome.node in problem.relevant_children


def _sample_law(problem: Problem, sample: ContextSample, reweighted: bool) -> Law:
    """Empirical laws from natural rows: V summed out given each row, or rows reweighted by L[k, t]/L[j, t]."""
    group = np.full(sample.size, -1, dtype=np.int64)
    for t, code in enumerate(problem.compiled.group_codes):
        group[sample.columns[problem.sensitive] == code] = t
    counts = np.bincount(group, minlength=len(problem.groups))
    if np.any(counts == 0):
        raise ProblemError(
            f"The context sample has no row with {problem.sensitive} = {problem.groups[int(np.argmin(counts))]}."
        )
    shares = np.array(problem.shares) if problem.shares is not None else counts / counts.sum()
    make = _reweighted if reweighted else _summed_out
    values, probability = make(problem, sample, group, counts)
    return Law(values, probability / probability.sum(axis=2, keepdims=True), shares)


def _own_group(group: IntArray, counts: IntArray) -> FloatArray:
    """(G, I): 1/n_t where the row belongs to group t, else 0."""
    return np.where(group == np.arange(len(counts))[:, None], 1.0 / counts[:, None], 0.0)


def _summed_out(
    problem: Problem, sample: ContextSample, group: IntArray, counts: IntArray
) -> tuple[Likelihood, FloatArray]:
    nodes, weights = summed_values(problem.variables[problem.decision], PANELS)
    rows = np.repeat(np.arange(len(group)), len(nodes))
    check_points(problem, len(rows))
    columns: dict[str, NDArray[Any]] = {name: np.asarray(values)[rows] for name, values in sample.columns.items()}
    columns[problem.decision] = np.tile(nodes, len(group))
    values = likelihood(problem, columns, len(rows))
    return values, np.exp(values.arms) * np.tile(weights, len(group)) * _own_group(group, counts)[:, rows]


def _reweighted(
    problem: Problem, sample: ContextSample, group: IntArray, counts: IntArray
) -> tuple[Likelihood, FloatArray]:
    check_points(problem, len(group))
    values = likelihood(problem, sample.columns, len(group))
    logged = values.log_L[problem.arm_index(sample.arm)]
    own = _own_group(group, counts)
    with np.errstate(invalid="ignore", over="ignore"):
        ratio = np.where(np.isneginf(values.log_L) | (own == 0), 0.0, np.exp(values.log_L - logged))
    return values, ratio * own
