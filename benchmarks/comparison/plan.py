"""What is compared: every algorithm on every setting, exact and noisy, from seeds that nothing was tuned on."""

from __future__ import annotations

from fairarm.experiments.paper.plan import PaperPoint

PAPER_SETTINGS = ("none", "loose", "tight", "high-m-high-d", "low-m-high-d", "high-m-low-d", "hepar2")
SETTINGS = (*PAPER_SETTINGS, "no-fair-arm")
NOISY = tuple(f"{setting}-noisy" for setting in SETTINGS if setting != "hepar2")

PAPER = ("csr-v1", "csr-v2", "two-stage-v1", "two-stage-v2")
RIVALS = ("csr-v2", "two-stage-v2")
COMPETITORS = (*PAPER, "mis", "top-two", "tf-lucb", "uniform")
QUICK_SETTINGS = ("loose", "hepar2", "loose-noisy")
ESTIMATED = "law=estimated"
"""Pool with P(S) and the law of contexts from its own rows, though the problem declares them."""

FIRST_SEED = 1000
"""Pool was tuned on the synthetic seeds 100 to 107 and hepar2's 100 to 104."""

PULLS = (32, 56, 100, 178, 316, 1000, 3162, 10_000)
NOISY_PULLS = (*PULLS, 31_623)
RIVAL_PULLS = (100, 316, 1000, 3162, 10_000, 31_623, 100_000, 316_228)
"""Of the two that the savings are measured against: until they reach the error too."""
FEWER_PULLS = (100, 316, 1000, 10_000)
"""Of the others, and of Pool with estimated laws."""
SLOW_PULLS = (100, 1000, 10_000)


def pulls_of(algorithm: str, kind: str) -> tuple[int, ...]:
    if algorithm == "pool":
        return NOISY_PULLS if kind == "noisy" else PULLS
    if algorithm == "top-two":  # the slowest by far
        return SLOW_PULLS
    return RIVAL_PULLS if algorithm in RIVALS else FEWER_PULLS


def comparison_plan(quick: bool = False) -> list[PaperPoint]:
    """Every point, in a fixed order. Quick: few settings, instances and runs, at 100 and 1 000 pulls."""
    instances, runs = (3, 60) if quick else (10, 400)
    points = []
    for setting in QUICK_SETTINGS if quick else (*SETTINGS, *NOISY):
        base = setting if setting == "hepar2" else f"synthetic-{setting}"
        names = tuple(f"{base}:seed={FIRST_SEED + i}" for i in range(instances))
        kind = "noisy" if setting in NOISY else "exact"
        sweeps = [(algorithm, "default", pulls_of(algorithm, kind)) for algorithm in ("pool", *COMPETITORS)]
        for algorithm, reading, pulls in [*sweeps, ("pool", ESTIMATED, FEWER_PULLS)]:
            chosen = [count for count in pulls if count in (100, 1000)] if quick else pulls
            points += [PaperPoint(kind, setting, algorithm, reading, count, names, runs) for count in chosen]
    return points
