"""Synthetic problems on S → V → Y, made to a table of targets: divergences, fair arms, gaps.

The deployed arm is drawn first, then a pool of candidate arms whose divergences against it lie in the setting's
windows, and from the pool K − 1 arms are *selected* so that counts and gaps come out as the table says. Rejecting
whole instances instead would not end: under `tight` almost no random set of arms has the right gaps.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fairarm.catalog.chain import (
    MAX_ARMS,
    MAX_SEED,
    MAX_STATES,
    chain_network,
    chain_problem,
    check_whole,
    outcome_law,
)
from fairarm.core.fairness import gap_of, is_fair
from fairarm.core.paper.divergence import exponential_divergence
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import OptionError
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem

Band = tuple[float, float]
Spikes = Literal["none", "own", "other", "shared"]

REFERENCE_ARMS = 30
"""The counts of `Setting` are of so many arms; they scale with K."""


@dataclass(frozen=True)
class Setting:
    """What an instance must meet. Bands are closed, windows open; ``fair`` and ``better`` count arms of 30.

    ``better`` arms are unfair and have a higher outcome than the best fair arm. ``fairness_gap`` bounds the smallest
    distance of any arm's |gap| to the tolerance; ``outcome_gap`` the distance from best to second-best fair arm, where
    there are two. Windows bind M and D of every arm against the deployed one.
    """

    key: int
    """Seeds the generator together with the caller's seed: never reuse or change one."""
    description: str
    tolerance: float
    fair: int
    better: int
    outcome_gap: Band | None
    fairness_gap: Band | None
    M: Band = (0.0, 30.0)
    D: Band = (0.0, 30.0)
    windows_grow: bool = True
    """The windows are multiples of √K."""
    spikes: Spikes = "none"


SIX_HUNDREDTHS = (0.055, 0.065)
TWO_HUNDREDTHS = (0.018, 0.022)
LOW, HIGH = (0.0, 10.0), (10.0, 50.0)

_ABLATION = Setting(0, "", 0.1, 15, 5, TWO_HUNDREDTHS, TWO_HUNDREDTHS, windows_grow=False)
"""What the three ablations share. Five better-but-unfair arms, a third of the unfair ones, are this module's choice."""

SETTINGS = {
    "none": Setting(1, "tolerance 2: every arm is fair", 2.0, 30, 0, SIX_HUNDREDTHS, None),
    "loose": Setting(
        2, "tolerance 0.15: of 30 arms 22 are fair, 2 are better but unfair", 0.15, 22, 2, SIX_HUNDREDTHS, (0.03, 0.04)
    ),
    "tight": Setting(
        3, "tolerance 0.03: of 30 arms 9 are fair, 7 are better but unfair", 0.03, 9, 7, SIX_HUNDREDTHS, (0.006, 0.007)
    ),
    "high-m-high-d": replace(
        _ABLATION, key=4, M=HIGH, D=HIGH, spikes="own",
        description="tolerance 0.1: the deployed arm's pulls tell little of outcomes and of gaps (M, D in (10, 50))",
    ),
    "low-m-high-d": replace(
        _ABLATION, key=5, M=LOW, D=HIGH, spikes="other",
        description="tolerance 0.1: the deployed arm's pulls tell much of outcomes, little of gaps (M < 10, D in (10, 50))",
    ),
    "high-m-low-d": replace(
        _ABLATION, key=6, M=HIGH, D=LOW, spikes="shared",
        description="tolerance 0.1: the deployed arm's pulls tell little of outcomes, much of gaps (M in (10, 50), D < 10)",
    ),
    "no-fair-arm": Setting(
        7, "tolerance 0.03: no arm is fair, the nearest misses by about 0.02", 0.03, 0, 0, None, TWO_HUNDREDTHS
    ),
}  # fmt: skip

GROUPS = ("a", "b")
SHARE, FLOOR = 0.5, 0.002
POOL, ATTEMPTS, DEPLOYED_DRAWS, BEST_DRAWS = 3000, 40, 500, 300
BETTER_BY = 0.01
"""The least by which a better-but-unfair arm beats the best fair arm. No arm's outcome lies between best and second fair."""
MAX_SPIKE = 0.7
SPIKE_RATIOS = (11.0, 55.0)
"""A spike's height over the deployed arm's probability: with its logarithm added, about the divergence it makes."""


def settings() -> dict[str, str]:
    """The settings by name, each with a line on what it is."""
    return {name: setting.description for name, setting in SETTINGS.items()}


def synthetic(setting: str, *, K: int = 30, m: int = 20, seed: int = 0, noisy: bool = False) -> tuple[Problem, Network]:
    """A problem of a named setting with K arms over m decisions, and the network that answers its pulls.

    The outcome is a fixed function of V flipped with probability 0.01, or, if ``noisy``, a coin for each state of V.
    Arm 1 is deployed and free, the others cost 1 a pull, and the budget is 1/√pulls a pull.

    >>> problem, network = synthetic("tight", seed=3)
    >>> problem.name, len(problem.arms), problem.gap_tolerance
    ('synthetic-tight:K=30,m=20,seed=3', 30, 0.03)
    """
    _check_options(setting, K, m, seed)
    target = SETTINGS[setting]
    rng = np.random.default_rng([target.key, seed, K, m, int(noisy)])
    unmet: Counter[str] = Counter()
    for _ in range(ATTEMPTS):
        try:
            theta = outcome_law(rng, m, noisy)
            arms = _select_arms(target, _pool(target, K, m, rng), theta, K, rng)
        except _UnmetError as error:
            unmet[str(error)] += 1
            continue
        name = f"synthetic-{setting}{'-noisy' if noisy else ''}:K={K},m={m},seed={seed}"
        text, shares = f"Synthetic, S → V → Y; {target.description}.", (SHARE, 1.0 - SHARE)
        problem = chain_problem(name, text, arms, GROUPS, shares, target.tolerance)
        return problem, chain_network(GROUPS, shares, arms[0], theta)
    raise OptionError(
        f"The synthetic setting '{setting}' could not be met with K={K}, m={m}, seed={seed}, noisy={noisy}: in {ATTEMPTS} attempts, "
        f"most often {unmet.most_common(1)[0][0]}. Try another seed, or sizes nearer to K=30, m=20."
    )


class _UnmetError(Exception):
    """An attempt that cannot become an instance; the message says what is missing."""


def _check_options(setting: str, K: int, m: int, seed: int) -> None:
    if setting not in SETTINGS:
        raise OptionError(f"There is no synthetic setting '{setting}'. Settings: {', '.join(SETTINGS)}.")
    what = f"The synthetic setting '{setting}'"
    check_whole(what, K=(K, 2, MAX_ARMS), m=(m, 2, MAX_STATES), seed=(seed, 0, MAX_SEED))


# ---- laws ----


def _pool(target: Setting, K: int, m: int, rng: np.random.Generator) -> FloatArray:
    """Laws P(V | S), (n, 2, m): the deployed arm, then the candidates that lie in the windows against it."""
    root = math.sqrt(K) if target.windows_grow else 1.0
    M_window, D_window = ((low * root, high * root) for low, high in (target.M, target.D))
    deployed = _deployed(target, D_window[1], m, rng)
    laws = _candidates(target, deployed, max(POOL, 10 * K), rng)
    M, D = divergences(laws, deployed)
    inside = (M_window[0] < M) & (M_window[1] > M) & ((D_window[0] < D) & (D_window[1] > D)).all(axis=0)
    if inside.sum() < K - 1:
        raise _UnmetError(
            f"fewer than {K - 1} candidates have M in ({M_window[0]:.3g}, {M_window[1]:.3g}) and D in ({D_window[0]:.3g}, {D_window[1]:.3g})"
        )
    return np.concatenate([deployed[None], laws[inside]])


def divergences(laws: FloatArray, deployed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """M_k1, (n,), and D_k1^{a,b}, D_k1^{b,a}, (2, n), of ``laws`` (n, 2, m) against ``deployed`` (2, m) or (n, 2, m).

    The deployed law is positive, so ratios are taken here and the denominator handed on is 1.
    """
    n, _, m = laws.shape
    ratio = (laws / deployed).reshape(n, 2 * m)
    M = exponential_divergence(SHARE * laws.reshape(n, 2 * m), ratio, np.ones((1, 2 * m)))[:, 0]
    difference = (laws[:, :1] - laws[:, 1:]) / deployed
    both = laws.sum(axis=1)
    D = [exponential_divergence(both, difference[:, pulled], np.ones((1, m)))[:, 0] for pulled in (1, 0)]
    return M, np.stack(D)


def _deployed(target: Setting, D_limit: float, m: int, rng: np.random.Generator) -> FloatArray:
    """The deployed law (2, m): Dirichlet(1, …, 1) with a floor, the first of many draws that leaves room.

    Its own D must stay below the window's upper end: a worse one would set the allocation's minimum, and the window on
    the other arms would mean nothing. Its spikes must be of a height that a candidate can have.
    """
    draws = np.maximum(rng.dirichlet(np.ones(m), size=(DEPLOYED_DRAWS, 2)), FLOOR)
    draws /= draws.sum(axis=2, keepdims=True)
    fits: BoolArray = np.all(divergences(draws, draws)[1] < D_limit, axis=0)
    if target.spikes != "none":
        cell, unit = _spike_places(target.spikes, draws)
        own = np.take_along_axis(draws, cell[:, :, None], axis=2)[:, :, 0]
        fits = fits & (1.3 * SPIKE_RATIOS[0] * unit < MAX_SPIKE).all(axis=1)
        if target.spikes == "other":  # M stays low only where the spike's own group is not rare
            fits = fits & (2 * unit < own).all(axis=1)
    if not fits.any():
        raise _UnmetError(f"no deployed arm has D < {D_limit:.3g} against itself and cells rare enough for the windows")
    return np.asarray(draws[np.argmax(fits)])


def _candidates(target: Setting, deployed: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Laws (n, 2, m): a shared Dirichlet law mixed with a law of each group, with the spikes that the windows ask for.

    Where a window is narrow, both parts are first held below a multiple of the deployed arm's rarer probability, so that
    only the spikes make large ratios.
    """
    m = deployed.shape[1]
    concentration = np.exp(rng.uniform(np.log(0.2), np.log(5.0), size=(n, 1, 1))) * min(1.0, 20 / m)
    parts = rng.standard_gamma(concentration, size=(n, 3, m))
    parts /= parts.sum(axis=2, keepdims=True)
    if target.spikes != "none":
        parts = np.minimum(parts, rng.uniform(1.5, 8.0, size=(n, 1, 1)) * deployed.min(axis=0))
        parts /= parts.sum(axis=2, keepdims=True)
    weight = rng.uniform(0.0, 1.0, size=(n, 1, 1))
    laws = (1.0 - weight) * parts[:, :1] + weight * parts[:, 1:]
    if target.spikes != "none":
        laws = _add_spikes(target.spikes, laws, deployed, rng)
    return np.asarray(laws / laws.sum(axis=2, keepdims=True))


def _add_spikes(spikes: Spikes, laws: FloatArray, deployed: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Move mass of each group's law to one cell; for ``shared`` spikes the same mass in both groups."""
    cell, unit = _spike_places(spikes, deployed[None])
    ratio = rng.uniform(*SPIKE_RATIOS, size=(len(laws), 1 if spikes == "shared" else 2))
    height = np.minimum(ratio * unit, MAX_SPIKE)[:, :, None]
    return (1.0 - height) * laws + height * np.eye(laws.shape[2])[cell]


def _spike_places(spikes: Spikes, deployed: FloatArray) -> tuple[IntArray, FloatArray]:
    """The cell of each group's spike, (n, 2), and the deployed probability that its height is measured in, (n, 2).

    D divides the difference of the groups by the deployed law of the *pulled* group, M each group's law by its own:

    - ``own``: each group rises where it is rare itself: M and D are both high;
    - ``other``: each group rises where the other is rare and it is not: D is high, M is not;
    - ``shared``: both rise alike where one is rare: the difference, hence D, stays low, M is high.
    """
    if spikes == "shared":
        rarer = deployed.min(axis=1)
        return np.stack([rarer.argmin(axis=1)] * 2, axis=1), np.stack([rarer.min(axis=1)] * 2, axis=1)
    measured = deployed if spikes == "own" else deployed[:, ::-1]
    cell = (measured if spikes == "own" else measured / deployed).argmin(axis=2)
    return cell, np.take_along_axis(measured, cell[:, :, None], axis=2)[:, :, 0]


# ---- selection ----


def arm_counts(target: Setting, K: int) -> tuple[int, int, int]:
    """How many of K arms are fair, unfair but better than the best fair arm, and unfair but worse.

    Proportional to the table, rounded half up. What the table has at all is kept at one or more: a fair arm, an unfair
    arm, a better one.
    """
    if target.fair in (0, REFERENCE_ARMS):
        return (K if target.fair else 0), 0, (0 if target.fair else K)
    fair = min(max(1, _scaled(target.fair, K)), K - 1)
    better = min(max(1, _scaled(target.better, K)), K - fair)
    return fair, better, K - fair - better


def _scaled(count: int, K: int) -> int:
    return (2 * count * K + REFERENCE_ARMS) // (2 * REFERENCE_ARMS)


@dataclass(frozen=True)
class _Merits:
    """Of each law in the pool: its outcome, whether it may be taken as fair or as unfair, whether it sits at the edge.

    Laws nearer to the tolerance than the fairness gap's band are neither; those inside the band are the edge.
    """

    outcome: FloatArray
    fair: BoolArray
    unfair: BoolArray
    edge: BoolArray

    @classmethod
    def of(cls, pool: FloatArray, theta: FloatArray, target: Setting) -> _Merits:
        means = pool @ theta
        gap = gap_of(means)
        low, high = target.fairness_gap or (0.0, math.inf)
        distance = np.abs(np.abs(gap) - target.tolerance)
        usable: BoolArray = distance >= low
        fair = is_fair(gap, target.tolerance)
        return cls(means @ (SHARE, 1.0 - SHARE), usable & fair, usable & ~fair, usable & (distance <= high))


def _select_arms(target: Setting, pool: FloatArray, theta: FloatArray, K: int, rng: np.random.Generator) -> FloatArray:
    """K laws of the pool, (K, 2, m), the deployed arm first, the others in random order, that meet counts and gaps."""
    merits = _Merits.of(pool, theta, target)
    counts = arm_counts(target, K)
    if target.fairness_gap and not (merits.fair | merits.unfair)[0]:
        raise _UnmetError(
            f"the deployed arm's gap is less than {target.fairness_gap[0]} away from the tolerance {target.tolerance}"
        )
    if target.outcome_gap is None:
        chosen = _fill([(merits.unfair, K)], merits.edge, rng)
    else:
        chosen = _select_ranked(target.outcome_gap, counts, merits, rng)
    if chosen is None:
        raise _UnmetError(
            f"{len(pool)} candidates hold no {counts[0]} fair, {counts[1]} better-but-unfair and {counts[2]} other arms "
            f"(outcome gap in {target.outcome_gap or 'any range'}, smallest fairness gap in {target.fairness_gap or 'any range'})"
        )
    return pool[chosen]


def _select_ranked(
    band: Band, counts: tuple[int, int, int], merits: _Merits, rng: np.random.Generator
) -> IntArray | None:
    """Arms around a best fair arm from the upper half of the fair candidates; the deployed one only if no other is fair."""
    outcome, fair = merits.outcome, merits.fair
    if not fair.any():
        return None
    position = np.arange(len(outcome))
    upper = np.flatnonzero(fair & (outcome >= np.median(outcome[fair])) & (position > 0))
    for best in [0] if fair[0] and counts[0] == 1 else rng.permutation(upper)[:BEST_DRAWS]:
        ceiling = outcome[best] - band[0]
        quotas = [(position == best, 1)]
        if counts[0] > 1:
            near = fair & (outcome <= ceiling) & (outcome >= outcome[best] - band[1])
            if fair[0] and counts[0] == 2:  # the deployed arm must then be the second
                near &= position == 0
            if not near.any():
                continue
            second = rng.choice(np.flatnonzero(near))
            ceiling = outcome[second]
            quotas.append((position == second, 1))
            quotas.append((fair & (outcome <= ceiling) & (position != second), counts[0] - 2))
        quotas.append((merits.unfair & (outcome >= outcome[best] + BETTER_BY), counts[1]))
        quotas.append((merits.unfair & (outcome <= ceiling), counts[2]))
        chosen = _fill(quotas, merits.edge, rng)
        if chosen is not None:
            return chosen
    return None


def _fill(quotas: list[tuple[BoolArray, int]], edge: BoolArray, rng: np.random.Generator) -> IntArray | None:
    """Positions from disjoint classes, so many of each: 0 first, at least one at the edge. None where impossible."""
    short = any(members.sum() < size or members[0] > size for members, size in quotas)
    if short or not any(members[0] for members, _ in quotas):
        return None
    sure = {0, *(int(np.argmax(members)) for members, size in quotas if members.sum() == size == 1)}
    if not edge[sorted(sure)].any():
        open_classes = [members for members, size in quotas if size > members[0]]
        options = np.flatnonzero(edge & np.any(open_classes, axis=0))
        if not options.size:
            return None
        sure.add(int(rng.choice(options)))
    chosen = sorted(sure - {0})
    for members, size in quotas:
        taken = sum(bool(members[k]) for k in sure)
        others = np.flatnonzero(members)
        others = others[~np.isin(others, sorted(sure))]
        chosen += rng.choice(others, size - taken, replace=False).tolist()
    return np.concatenate([[0], rng.permutation(chosen)])
