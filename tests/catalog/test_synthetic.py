"""Synthetic instances meet their table. Every number is recomputed here from its definition, by plain sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pytest

from fairarm.catalog.synthetic import settings, synthetic
from fairarm.errors import OptionError
from fairarm.worlds.network import NetworkWorld

NAMES = ("none", "loose", "tight", "high-m-high-d", "low-m-high-d", "high-m-low-d", "no-fair-arm")
ABLATIONS = NAMES[3:6]

TOLERANCE = dict(zip(NAMES, (2, 0.15, 0.03, 0.1, 0.1, 0.1, 0.03), strict=True))
COUNTS_OF_30 = dict(zip(NAMES, ((30, 0), (22, 2), (9, 7), (15, 5), (15, 5), (15, 5), (0, 0)), strict=True))
"""Fair arms, and unfair arms that are better than the best fair one."""
FAIRNESS_GAP = {
    "loose": (0.03, 0.04),
    "tight": (0.006, 0.007),
    "no-fair-arm": (0.018, 0.022),
    **dict.fromkeys(ABLATIONS, (0.018, 0.022)),
}
OUTCOME_GAP = {**dict.fromkeys(NAMES[:3], (0.055, 0.065)), **dict.fromkeys(ABLATIONS, (0.018, 0.022))}
FIXED_WINDOWS = {
    "high-m-high-d": ((10, 50), (10, 50)),
    "low-m-high-d": ((0, 10), (10, 50)),
    "high-m-low-d": ((10, 50), (0, 10)),
}
ROUNDING = 1e-9
CASES = [(name, noisy, seed) for name in NAMES for noisy in (False, True) for seed in range(3)]


@dataclass(frozen=True)
class Facts:
    """What is true of an instance: M and D against the deployed arm, outcomes, gaps."""

    laws: np.ndarray
    theta: np.ndarray
    tolerance: float

    def M(self, k: int) -> float:
        """log E_k exp(P_k / P_1) with S a fair coin."""
        terms = [
            math.log(0.5 * p) + p / q
            for t in (0, 1)
            for p, q in zip(self.laws[k, t], self.laws[0, t], strict=True)
            if p
        ]
        return log_sum_exp(terms)

    def D(self, k: int, pulled: int) -> float:
        """log of the sum over groups of E_{k,t} exp|(P_k(·|s) − P_k(·|s')) / P_1(·|pulled)|."""
        a, b = self.laws[k]
        terms = [
            math.log(p) + abs(x - y) / q
            for law in (a, b)
            for p, x, y, q in zip(law, a, b, self.laws[0, pulled], strict=True)
            if p
        ]
        return log_sum_exp(terms)

    @cached_property
    def outcomes(self) -> list[float]:
        return [sum(0.5 * (a + b) * y for a, b, y in zip(*law, self.theta, strict=True)) for law in self.laws]

    @cached_property
    def gaps(self) -> list[float]:
        return [abs(sum((a - b) * y for a, b, y in zip(*law, self.theta, strict=True))) for law in self.laws]

    @cached_property
    def fair(self) -> list[int]:
        return [k for k, gap in enumerate(self.gaps) if gap < self.tolerance]

    @cached_property
    def ranked_fair(self) -> list[float]:
        """Outcomes of the fair arms, best first."""
        return sorted((self.outcomes[k] for k in self.fair), reverse=True)

    @cached_property
    def better(self) -> list[int]:
        if not self.fair:
            return []
        return [k for k, y in enumerate(self.outcomes) if k not in self.fair and y > self.ranked_fair[0]]

    @cached_property
    def smallest_fairness_gap(self) -> float:
        return min(abs(gap - self.tolerance) for gap in self.gaps)


def log_sum_exp(terms: list[float]) -> float:
    top = max(terms)
    return top + math.log(math.fsum(math.exp(x - top) for x in terms))


@cache
def facts(name: str, noisy: bool = False, seed: int = 0, K: int = 30, m: int = 20) -> Facts:
    problem, network = synthetic(name, K=K, m=m, seed=seed, noisy=noisy)
    laws = np.array([arm.mechanism.probabilities for arm in problem.arms])
    return Facts(laws, network.tables["Y"].probabilities[:, 1], problem.gap_tolerance)


def check_windows(made: Facts, name: str) -> None:
    wide = (0, 30 * math.sqrt(len(made.laws)))
    on_M, on_D = FIXED_WINDOWS.get(name, (wide, wide))
    for k in range(1, len(made.laws)):
        assert on_M[0] < made.M(k) < on_M[1]
        for pulled in (0, 1):
            assert on_D[0] < made.D(k, pulled) < on_D[1]
    assert made.M(0) == pytest.approx(1)
    assert max(made.D(0, 0), made.D(0, 1)) < on_D[1]


def check_gaps(made: Facts, name: str) -> None:
    if name in FAIRNESS_GAP:
        low, high = FAIRNESS_GAP[name]
        assert low - ROUNDING <= made.smallest_fairness_gap <= high + ROUNDING
    if name in OUTCOME_GAP and len(made.fair) > 1:
        low, high = OUTCOME_GAP[name]
        best, second = made.ranked_fair[:2]
        assert low - ROUNDING <= best - second <= high + ROUNDING
        assert not [
            y for k, y in enumerate(made.outcomes) if k not in made.fair and second < y < best + 0.01 - ROUNDING
        ]


# ---- the table ----


@pytest.mark.parametrize(("name", "noisy", "seed"), CASES)
def test_counts_are_those_of_the_table(name: str, noisy: bool, seed: int) -> None:
    made = facts(name, noisy, seed)
    assert len(made.laws) == 30
    assert made.tolerance == TOLERANCE[name]
    assert (len(made.fair), len(made.better)) == COUNTS_OF_30[name]


@pytest.mark.parametrize(("name", "noisy", "seed"), CASES)
def test_gaps_lie_in_their_bands(name: str, noisy: bool, seed: int) -> None:
    check_gaps(facts(name, noisy, seed), name)


@pytest.mark.parametrize(("name", "noisy", "seed"), CASES)
def test_divergences_lie_in_their_windows(name: str, noisy: bool, seed: int) -> None:
    check_windows(facts(name, noisy, seed), name)


@pytest.mark.parametrize(("name", "noisy", "seed"), CASES)
def test_the_world_and_the_deployed_arm_follow_their_laws(name: str, noisy: bool, seed: int) -> None:
    made = facts(name, noisy, seed)
    if not noisy:
        assert sorted({round(y, 12) for y in made.theta}) == [0.01, 0.99]
    assert made.theta.min() >= 0
    assert made.theta.max() <= 1
    assert made.laws[0].min() >= 0.002 / (1 + 20 * 0.002)  # a floor, then renormalised
    np.testing.assert_allclose(made.laws.sum(axis=2), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("K", "m"), [(5, 8), (10, 20), (60, 8)])
def test_other_sizes_scale_the_counts(name: str, K: int, m: int) -> None:
    made = facts(name, noisy=m == 20, seed=1, K=K, m=m)
    fair, better = COUNTS_OF_30[name]
    assert len(made.laws) == K
    assert made.laws.shape[2] == m
    assert abs(len(made.fair) - fair * K / 30) <= 0.5
    assert abs(len(made.better) - better * K / 30) <= 0.5 or len(made.better) == 1
    check_gaps(made, name)
    check_windows(made, name)


@pytest.mark.parametrize("name", ["none", "loose", "tight", "high-m-low-d", "no-fair-arm"])
@pytest.mark.parametrize("m", [2, 20])
def test_two_arms_keep_what_makes_the_setting(name: str, m: int) -> None:
    made = facts(name, K=2, m=m)
    expected = {"none": (2, 0), "no-fair-arm": (0, 0)}.get(name, (1, 1))
    assert (len(made.fair), len(made.better)) == expected
    check_gaps(made, name)
    check_windows(made, name)


@pytest.mark.parametrize("name", NAMES[:6])
def test_the_deployed_arm_is_not_the_answer(name: str) -> None:
    for seed in range(3):
        made = facts(name, seed=seed)
        assert made.outcomes[0] < made.ranked_fair[0] or 0 not in made.fair


# ---- the problem and its network ----


@pytest.mark.parametrize("name", NAMES)
def test_the_problem_is_as_declared(name: str) -> None:
    problem, network = synthetic(name, seed=3)
    assert problem.name == f"synthetic-{name}:K=30,m=20,seed=3"
    assert problem.arm_names == tuple(f"arm-{k}" for k in range(1, 31))
    assert problem.deployed == "arm-1"
    assert problem.groups == ("a", "b")
    assert problem.shares == (0.5, 0.5)
    assert problem.outcome.values == (0, 1)
    assert problem.costs == ((0, 0, 0), *((1, 1, 1),) * 29)
    assert problem.budget == "1/sqrt(pulls)"
    assert problem.observed == ("S", "V", "Y")
    assert problem.context is None
    assert network.edges() == [("S", "V"), ("V", "Y")]
    assert network.tables["V"] == problem.arms[0].mechanism
    assert network.variables["V"].states == tuple(str(v) for v in range(1, 21))


def test_a_noisy_problem_says_so() -> None:
    problem, _ = synthetic("tight", K=5, m=8, seed=2, noisy=True)
    assert problem.name == "synthetic-tight-noisy:K=5,m=8,seed=2"


@pytest.mark.parametrize("name", ["tight", "low-m-high-d", "no-fair-arm"])
def test_problem_and_world_see_the_same_numbers(name: str) -> None:
    problem, network = synthetic(name, seed=1)
    made = facts(name, seed=1)
    truth = NetworkWorld(problem, network).truth()
    np.testing.assert_allclose(truth.outcomes, made.outcomes, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.abs(truth.gaps), made.gaps, rtol=0, atol=1e-12)
    np.testing.assert_allclose(problem.compiled.tables.M[:, 0], [made.M(k) for k in range(30)], rtol=1e-10)
    for direction, pulled in enumerate((1, 0)):
        np.testing.assert_allclose(
            problem.compiled.tables.D[direction, :, 0], [made.D(k, pulled) for k in range(30)], rtol=1e-10
        )
    problem.compiled.tables.require_overlap()


# ---- seeds ----


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_instance(name: str) -> None:
    first, second = (synthetic(name, seed=2) for _ in range(2))
    assert first[0].arms == second[0].arms
    assert first[1] == second[1]


@pytest.mark.parametrize("name", NAMES)
def test_other_seeds_and_variants_give_other_instances(name: str) -> None:
    made = [facts(name, seed=seed) for seed in range(3)] + [facts(name, noisy=True)]
    for i, first in enumerate(made):
        for second in made[:i]:
            assert not np.isclose(first.laws, second.laws).all(axis=(1, 2)).any()


def test_the_global_generator_is_left_alone() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    synthetic("loose", K=5, m=8)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# ---- settings and errors ----


def test_settings_are_described_in_a_line_each() -> None:
    assert tuple(settings()) == NAMES
    assert all(line and "\n" not in line for line in settings().values())


def test_an_unknown_setting_is_named_with_the_known_ones() -> None:
    with pytest.raises(OptionError, match=r"'thight'.*none, loose, tight"):
        synthetic("thight")


@pytest.mark.parametrize(
    "options", [{"K": 1}, {"K": 1001}, {"K": 2.5}, {"K": True}, {"m": 1}, {"m": 201}, {"seed": -1}, {"seed": None}]
)
def test_sizes_out_of_range_are_refused(options: dict[str, object]) -> None:
    (key, value) = next(iter(options.items()))
    with pytest.raises(OptionError, match=rf"'tight' got {key}={value}.*whole number from"):
        synthetic("tight", **options)  # type: ignore[arg-type]


def test_an_impossible_table_names_setting_sizes_seed_reason_and_way_out() -> None:
    # Two states: M < 10 with D > 10 both ways needs a law that is rare on either side at once.
    with pytest.raises(OptionError) as caught:
        synthetic("low-m-high-d", K=30, m=2, seed=4)
    message = str(caught.value)
    for part in ("'low-m-high-d'", "K=30", "m=2", "seed=4", "most often", "Try another seed"):
        assert part in message
