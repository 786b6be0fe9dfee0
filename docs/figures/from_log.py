"""Draw docs/figures/from-log.svg: what 50 000 logged decisions of one rule say of six. ``python docs/figures/from_log.py``"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from fairarm import Evaluation, Request, evaluate, load_problem

OUT = Path(__file__).with_name("from-log.svg")
ROWS = 50_000
FAIR, UNFAIR = "#1565c0", "#9e9e9e"


def evaluation() -> Evaluation:
    """Natural rows of the deployed rule of the ad marketplace, as in docs/logs.md."""
    ads = load_problem("ad-marketplace")
    if ads.world is None:
        raise RuntimeError("the bundled ad marketplace has a world")
    counts = np.zeros((3, 6), dtype=np.int64)
    counts[0, 0] = ROWS
    pulled = ads.world.pull(Request(ads.problem.arm_names, ads.problem.regimes, counts), np.random.default_rng(1))
    rows = pulled.labels(ads.problem)
    return evaluate(ads.problem, {name: np.repeat(rows[name], pulled.count) for name in ads.problem.observed})


def draw(axes: Any, found: Evaluation, what: str) -> None:
    """A line an arm: the usual interval thick, the certified one thin."""
    arms = sorted(found.arms, key=lambda arm: arm.outcome.value)
    for y, arm in enumerate(arms):
        number = getattr(arm, what)
        colour = FAIR if arm.fair_probability >= 0.5 else UNFAIR
        ends = [number.certified_low, number.certified_high]
        axes.plot(ends, [y, y], color=colour, lw=1, marker="|", ms=9)
        axes.plot([number.low, number.high], [y, y], color=colour, lw=5, solid_capstyle="butt")
        best = arm.name == found.certified_arm
        axes.plot(
            number.value, y, marker="*" if best else "o", ms=14 if best else 5, color=colour, mec="white", mew=0.8
        )
    axes.set_yticks(range(len(arms)), [arm.name for arm in arms])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.6, len(arms) - 0.4)
    axes.grid(axis="x", alpha=0.3)
    axes.spines[["top", "right", "left"]].set_visible(False)


def main() -> None:
    found = evaluation()
    tolerance = found.problem.gap_tolerance
    with mpl.rc_context({"svg.hashsalt": "fairarm", "svg.fonttype": "path", "font.size": 11}):
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        draw(left, found, "outcome")
        left.set_xlabel("mean revenue a visitor, cents")
        right.axvspan(-tolerance, tolerance, color="#2e7d32", alpha=0.12, lw=0)
        draw(right, found, "gap")
        right.set_xlabel("gap, women minus men (shaded: fair)")
        figure.suptitle("What 50 000 logged decisions of one rule, deployed, say of six", fontsize=12)
        figure.savefig(OUT, metadata={"Date": None})


if __name__ == "__main__":
    main()
