"""What is compared: every algorithm on every setting, exact and noisy, from seeds that nothing was tuned on."""

from __future__ import annotations

from fairarm.experiments.paper.plan import PaperPoint

PAPER_SETTINGS = ("none", "loose", "tight", "high-m-high-d", "low-m-high-d", "high-m-low-d", "hepar2")
SETTINGS = (*PAPER_SETTINGS, "no-fair-arm")
NOISY = tuple(f"{setting}-noisy" for setting in SETTINGS if setting != "hepar2")

PAPER = ("csr-v1", "csr-v2", "two-stage-v1", "two-stage-v2")
PER_PULL = ("top-two", "tf-lucb")
"""They decide pull by pull, and are run up to 10^4."""
COMPETITORS = (*PAPER, "mis", *PER_PULL, "uniform")
ESTIMATED = "law=estimated"
"""Pool with P(S) and the law of contexts from its own rows, though the problem declares them."""

FIRST_SEED = 1000
"""Pool was tuned on the synthetic seeds 100 to 107 and hepar2's 100 to 104."""

PULLS = (32, 56, 100, 178, 316, 1000, 3162, 10_000, 31_623, 100_000, 316_228)
FEWER_PULLS = (100, 316, 1000, 10_000)
FEWER = (*PER_PULL, "csr-v1", "two-stage-v1")
"""Run at fewer numbers of pulls: the slow ones, and those that their second version always beats."""


def comparison_plan(quick: bool = False) -> list[PaperPoint]:
    """Every point, in a fixed order. Quick: few settings, instances and runs."""
    instances, runs = (3, 60) if quick else (10, 400)
    settings = ("loose", "hepar2", "loose-noisy") if quick else (*SETTINGS, *NOISY)
    pulls = (100, 1000) if quick else PULLS
    points = []
    for setting in settings:
        base = setting if setting == "hepar2" else f"synthetic-{setting}"
        names = tuple(f"{base}:seed={FIRST_SEED + i}" for i in range(instances))
        kind = "noisy" if setting in NOISY else "exact"
        for algorithm in ("pool", *COMPETITORS):
            for count in pulls:
                if algorithm not in FEWER or count in FEWER_PULLS:
                    points.append(PaperPoint(kind, setting, algorithm, "default", count, names, runs))
        points += [PaperPoint(kind, setting, "pool", ESTIMATED, count, names, runs) for count in pulls]
    return points
