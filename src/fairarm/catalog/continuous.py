"""Problems with a real-valued decision, for benchmarks: each comes with its world, whose truth is by quadrature.

In both the deployed arm is free and the others cost 1 a pull, within a budget of 1/√pulls, as in `synthetic`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, ndtr, ndtri

from fairarm.core.quadrature import legendre_panels
from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import OptionError
from fairarm.problem.context import ContextLaw
from fairarm.problem.mechanism import Arm, Code, Columns
from fairarm.problem.outcome import Outcome
from fairarm.problem.parts import ROOT_BUDGET
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds.base import Truth
from fairarm.worlds.function import FunctionWorld

GROUPS, KINDS = ("a", "b"), ("x", "y", "z")
SHARE = 0.5
KIND_LAW = np.array([0.5, 0.3, 0.2])
PANELS = 64
ATTEMPTS = 5000
"""For up to 10 arms; with more, as many fewer, so that no number of arms takes longer to be refused."""
NOISE = 0.1
"""Half-width of the outcome around its mean, where it is a number."""


def beta_mixtures(
    *, K: int = 10, seed: int = 0, binary: bool = True, tolerance: float = 0.06, context: bool = True
) -> tuple[Problem, FunctionWorld]:
    """S → V ← Z, V → Y ← Z with V in [0, 1]: arms are mixtures of two Beta laws that depend on S and on Z, of three states.

    E[Y | v, z] rises and falls in v. Arms are drawn until some are fair and some are not, an unfair arm is better than
    the best fair one, and that one leads by 0.02 (0.2/K, for more than 10 arms). ``context`` declares P(Z), and P(S) with it.
    """
    if not 3 <= K <= 50:
        raise OptionError(f"beta_mixtures needs K from 3 to 50; got K={K}.")
    rng = np.random.default_rng([0xBE7A, seed, K])
    nodes, weights = legendre_panels(0.0, 1.0, PANELS)
    for _ in range(ATTEMPTS * 10 // max(K, 10)):
        drawn = _BetaArms.drawn(rng, K)
        by_group = np.einsum("ktzv,zv,z,v->kt", np.exp(drawn.log_density(nodes)), _wave(nodes), KIND_LAW, weights)
        truth = Truth(by_group.mean(axis=1), by_group, tolerance)
        if _interesting(truth):
            break
    else:
        raise OptionError(f"No beta mixtures for K={K}, seed={seed}, tolerance={tolerance}. Try another seed.")

    def density(k: int) -> Callable[[Columns], FloatArray]:
        return lambda c: drawn.log_density_of(k, c["S"], c["Z"], c["V"])

    problem = Problem(
        name=f"beta-mixtures:K={K},seed={seed}",
        description="A decision in [0, 1], arms are Beta mixtures; the outcome rises and falls in it.",
        variables=[
            Variable("S", GROUPS),
            Variable("Z", KINDS),
            Variable("V", low=0.0, high=1.0),
            *_outcome_states(binary),
        ],
        graph=[("S", "V"), ("Z", "V"), ("V", "Y"), ("Z", "Y")],
        arms=[Arm(f"arm-{k + 1}", Code("V", ("S", "Z"), density(k))) for k in range(K)],
        context=ContextLaw(("Z",), KIND_LAW) if context else None,
        **_common(K, tolerance, binary, context),
    )

    def simulate(arm: str, regime: str, count: int, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        group = _groups(regime, count, rng)
        kind = rng.choice(len(KINDS), size=count, p=KIND_LAW)
        v = drawn.sample(problem.arm_index(arm), group, kind, rng)
        mean = _wave_at(v, kind)
        return {"S": np.array(GROUPS)[group], "Z": np.array(KINDS)[kind], "V": v, "Y": _outcomes(mean, binary, rng)}

    return problem, FunctionWorld(problem, simulate, truth)


def gaussian_arms(
    *, K: int = 10, seed: int = 0, binary: bool = True, tolerance: float = 0.06, reach: float = 12.0
) -> tuple[Problem, FunctionWorld]:
    """S → V → Y with V normal of variance 1 and a mean that depends on the arm and on S, cut off at ±``reach``.

    M is infinite without the cut, and with it so large that the paper's estimators have nothing to weight by.
    """
    if not 3 <= K <= 50 or not 6 <= reach <= 100:
        raise OptionError(f"gaussian_arms needs K from 3 to 50 and reach from 6 to 100; got K={K}, reach={reach}.")
    rng = np.random.default_rng([0x6A55, seed, K])
    nodes, weights = legendre_panels(-reach, reach, max(PANELS, math.ceil(4 * reach)))
    for _ in range(ATTEMPTS * 10 // max(K, 10)):
        centre = np.concatenate([[0.0], rng.uniform(-2.5, 2.5, K - 1)])
        shift = np.concatenate([[0.2], rng.choice([0.1, 1.0], K - 1) * rng.uniform(-1.0, 1.0, K - 1)])
        means = np.stack([centre - shift / 2, centre + shift / 2], axis=1)
        p = np.exp(_log_normal(nodes, means[:, :, None], reach))
        truth = Truth((p @ (weights * _hill(nodes))).mean(axis=1), p @ (weights * _hill(nodes)), tolerance)
        if _interesting(truth):
            break
    else:
        raise OptionError(f"No Gaussian arms for K={K}, seed={seed}, tolerance={tolerance}. Try another seed.")

    def density(k: int) -> Callable[[Columns], FloatArray]:
        return lambda c: _log_normal(c["V"], means[k][c["S"]], reach)

    problem = Problem(
        name=f"gaussian-arms:K={K},seed={seed}",
        description="A decision that is normal with variance 1 under every arm.",
        variables=[Variable("S", GROUPS), Variable("V", low=-reach, high=reach), *_outcome_states(binary)],
        graph=[("S", "V"), ("V", "Y")],
        arms=[Arm(f"arm-{k + 1}", Code("V", ("S",), density(k))) for k in range(K)],
        **_common(K, tolerance, binary, True),
    )

    def simulate(arm: str, regime: str, count: int, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        group = _groups(regime, count, rng)
        centre = means[problem.arm_index(arm)][group]
        low, high = ndtr(-reach - centre), ndtr(reach - centre)
        v = np.clip(centre + ndtri(low + rng.random(count) * (high - low)), -reach, reach)
        return {"S": np.array(GROUPS)[group], "V": v, "Y": _outcomes(_hill(v), binary, rng)}

    return problem, FunctionWorld(problem, simulate, truth)


@dataclass(frozen=True)
class _BetaArms:
    """Two Beta laws, the last axis, and their weights for each arm, group and kind: (K, 2, 3, 2) each."""

    a: FloatArray
    b: FloatArray
    log_weight: FloatArray

    @classmethod
    def drawn(cls, rng: np.random.Generator, K: int) -> _BetaArms:
        """Arms differ; the groups and kinds of one arm are moved versions of it."""
        centre = rng.uniform(0.15, 0.85, (K, 1, 1, 2))
        by_group = rng.choice([0.02, 0.12], (K, 1, 1, 1)) * rng.uniform(-1, 1, (K, 2, 1, 2))
        at = np.clip(centre + by_group + rng.uniform(-0.1, 0.1, (K, 1, 3, 2)), 0.1, 0.9)
        strength = rng.uniform(20, 40, (K, 1, 1, 2))
        weight = np.clip(rng.uniform(0.2, 0.8, (K, 1, 1)) + by_group[..., 0], 0.05, 0.95)
        weight = np.broadcast_to(weight, at.shape[:3])
        return cls(at * strength, (1 - at) * strength, np.log(np.stack([weight, 1 - weight], axis=3)))

    def log_density(self, v: FloatArray) -> FloatArray:
        """(K, 2, 3, nodes)."""
        return _log_mixture(self.a[..., None, :], self.b[..., None, :], self.log_weight[..., None, :], v)

    def log_density_of(self, k: int, group: IntArray, kind: IntArray, v: FloatArray) -> FloatArray:
        at = (k, group, kind)
        return _log_mixture(self.a[at], self.b[at], self.log_weight[at], v)

    def sample(self, k: int, group: IntArray, kind: IntArray, rng: np.random.Generator) -> FloatArray:
        which = (rng.random(len(group)) > np.exp(self.log_weight[k, group, kind, 0])).astype(np.int64)
        at = (k, group, kind, which)
        return np.asarray(rng.beta(self.a[at], self.b[at]))


def _log_mixture(a: FloatArray, b: FloatArray, log_weight: FloatArray, v: FloatArray) -> FloatArray:
    inside = np.clip(v, 1e-300, 1.0 - 1e-16)
    one = (a - 1) * np.log(inside)[..., None] + (b - 1) * np.log1p(-inside)[..., None] - betaln(a, b) + log_weight
    return np.asarray(np.logaddexp(one[..., 0], one[..., 1]))


def _log_normal(v: FloatArray, centre: FloatArray, reach: float) -> FloatArray:
    inside = np.log(ndtr(reach - centre) - ndtr(-reach - centre))
    return np.asarray(-0.5 * (v - centre) ** 2 - 0.5 * np.log(2 * np.pi) - inside)


def _wave_at(v: FloatArray, kind: IntArray) -> FloatArray:
    """E[Y | v, z]: one hill and one valley, moved by the kind."""
    return np.asarray(0.5 + 0.3 * np.sin(2 * np.pi * (v + 0.12 * kind)) + 0.1 * np.cos(5.0 * v))


def _wave(nodes: FloatArray) -> FloatArray:
    return np.stack([_wave_at(nodes, np.full(len(nodes), z)) for z in range(len(KINDS))])


def _hill(v: FloatArray) -> FloatArray:
    """E[Y | v]: a slope with a hill on it."""
    return np.asarray(0.15 + 0.35 / (1 + np.exp(-v)) + 0.35 * np.exp(-0.5 * (v - 1.0) ** 2))


def _interesting(truth: Truth) -> bool:
    """Some fair arms and some not, a better but unfair one, and the best fair arm ahead."""
    fair = truth.fair
    K = len(fair)
    if not (K // 3 <= fair.sum() <= K - K // 3) or np.abs(np.abs(truth.gaps) - truth.tolerance).min() < min(
        0.008, 0.08 / K
    ):
        return False
    first, second = np.sort(truth.outcomes[fair])[::-1][:2] if fair.sum() > 1 else (truth.outcomes[fair][0], 0.0)
    return bool(
        first - second >= min(0.02, 0.2 / K)
        and truth.outcomes[~fair].max() > first
        and not (fair[0] and truth.outcomes[0] == first)
    )


def _common(K: int, tolerance: float, binary: bool, shares: bool) -> dict[str, Any]:
    return {
        "sensitive": "S",
        "decision": "V",
        "outcome": Outcome("Y", values=(0, 1)) if binary else Outcome("Y", low=0.0, high=1.0),
        "tolerance": tolerance,
        "costs": [[0, 0, 0], *([[1, 1, 1]] * (K - 1))],
        "budget": ROOT_BUDGET,
        "deployed": "arm-1",
        "shares": (SHARE, 1 - SHARE) if shares else None,
    }


def _outcome_states(binary: bool) -> list[Variable]:
    return [Variable("Y", ("0", "1"))] if binary else []


def _groups(regime: str, count: int, rng: np.random.Generator) -> IntArray:
    if regime == "natural":
        return np.asarray((rng.random(count) >= SHARE).astype(np.int64))
    return np.full(count, GROUPS.index(regime))


def _outcomes(mean: FloatArray, binary: bool, rng: np.random.Generator) -> NDArray[Any]:
    if binary:
        return np.where(rng.random(len(mean)) < mean, "1", "0")
    return np.clip(mean + rng.uniform(-NOISE, NOISE, len(mean)), 0.0, 1.0)
