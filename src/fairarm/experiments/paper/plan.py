"""What is run: a list of points, each an algorithm at a number of pulls over several instances of a setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FOUR = ("csr-v1", "csr-v2", "two-stage-v1", "two-stage-v2")
SRIS = ("sris-v1", "sris-v2")
SRIS_STATED = 100
DEFAULT_READING = "default"

READINGS = (
    "phases=product",
    "clip_base=e",
    "programme=literal",
    "outcome_pulls=all",
    "final_arm=random",
)
"""Other readings than the default one, whose points are those of `synthetic` and `hepar2` at the same pulls."""


@dataclass(frozen=True)
class PaperPoint:
    """One row of the results. ``runs`` are spread evenly over the instances (problem names)."""

    experiment: str
    setting: str
    algorithm: str
    reading: str
    pulls: int
    instances: tuple[str, ...]
    runs: int

    @property
    def options(self) -> dict[str, str]:
        """The reading as options of the algorithm."""
        if self.reading == DEFAULT_READING:
            return {}
        key, _, value = self.reading.partition("=")
        return {key: value}


@dataclass(frozen=True)
class Amount:
    """How much is run: the full evidence, or a quick look at all of it."""

    instances: int
    runs: int
    tight_runs: int
    pulls: tuple[int, ...]
    hepar_pulls: tuple[int, ...]
    binding_pulls: tuple[int, ...]
    reading_pulls: tuple[int, ...]
    hepar_reading_pulls: tuple[int, ...]
    sris_roots: tuple[int, ...]
    """T = 9 k² for these k, and the T that SRIS's claim is about."""
    bound_pulls: tuple[int, ...]
    """Far beyond any experiment: here the theorems' bounds begin to say something."""


FULL = Amount(
    instances=5,
    runs=200,
    tight_runs=300,
    pulls=(100, 316, 1000, 3162, 10_000, 31_623, 100_000),
    hepar_pulls=(2000, 4000, 6000, 8000, 10_000),
    binding_pulls=(10**5, 10**6, 10**7, 10**8, 10**9),
    reading_pulls=(1000, 10_000, 100_000),
    hepar_reading_pulls=(2000, 6000, 10_000),
    sris_roots=(1, 2, 3, 4, 5, 6, 8, 10, 15),
    bound_pulls=(10**6, 10**8, 10**10, 10**12, 10**14, 10**15),
)

QUICK = Amount(
    instances=2,
    runs=20,
    tight_runs=20,
    pulls=(1000, 10_000),
    hepar_pulls=(2000, 10_000),
    binding_pulls=(10**6, 10**8),
    reading_pulls=(10_000,),
    hepar_reading_pulls=(10_000,),
    sris_roots=(2, 5),
    bound_pulls=(10**8, 10**15),
)

SYNTHETIC = ("none", "loose", "tight")
ABLATION = ("high-m-high-d", "low-m-high-d", "high-m-low-d")


def paper_plan(quick: bool = False) -> list[PaperPoint]:
    """Every point of the evidence, in a fixed order."""
    scale = QUICK if quick else FULL
    points: list[PaperPoint] = []
    for experiment, settings in (("synthetic", SYNTHETIC), ("ablation", ABLATION), ("no-fair-arm", ("no-fair-arm",))):
        for setting in settings:
            runs = scale.tight_runs if setting == "tight" else scale.runs
            points += _sweep(experiment, setting, _instances(f"synthetic-{setting}", scale), FOUR, scale.pulls, runs)
    unconstrained = _instances("synthetic-none", scale)
    points += _sweep("synthetic", "none", unconstrained, SRIS, scale.pulls, scale.runs)
    points += _sweep("hepar2", "hepar2", _instances("hepar2", scale), FOUR, scale.hepar_pulls, scale.runs)
    binding = _instances("hepar2-binding", scale)
    points += _sweep("hepar2", "hepar2-binding", binding, FOUR, scale.binding_pulls, scale.runs)
    for reading in READINGS:
        points += _readings("tight", _instances("synthetic-tight", scale), scale.reading_pulls, scale, reading)
        points += _readings("hepar2", _instances("hepar2", scale), scale.hepar_reading_pulls, scale, reading)
    squares = sorted({*(9 * root * root for root in scale.sris_roots), SRIS_STATED})
    points += _sweep("sris", "sris", _instances("sris", scale), SRIS, squares, scale.runs, "final_arm=random")
    for setting in (*SYNTHETIC, "no-fair-arm"):
        instances = _instances(f"synthetic-{setting}", scale)
        points += _sweep("bounds", setting, instances, FOUR[:1], scale.bound_pulls, scale.runs)
    return points


def _instances(name: str, scale: Amount) -> tuple[str, ...]:
    return tuple(f"{name}:seed={seed}" for seed in range(scale.instances))


def _sweep(
    experiment: str,
    setting: str,
    instances: tuple[str, ...],
    algorithms: Sequence[str],
    pulls: Sequence[int],
    runs: int,
    reading: str = DEFAULT_READING,
) -> list[PaperPoint]:
    return [PaperPoint(experiment, setting, a, reading, T, instances, runs) for a in algorithms for T in pulls]


def _readings(
    setting: str, instances: tuple[str, ...], pulls: Sequence[int], scale: Amount, reading: str
) -> list[PaperPoint]:
    """CSR has no random final arm; the two-stage baselines have, in their second stage."""
    algorithms = FOUR[2:] if reading == "final_arm=random" else FOUR
    runs = scale.tight_runs if setting == "tight" else scale.runs
    return _sweep("readings", setting, instances, algorithms, pulls, runs, reading)
