"""Draw docs/figures/questions.svg: which paths count in which question. ``python docs/figures/questions.py``"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

OUT = Path(__file__).with_name("questions.svg")
COUNTS, NOT, HIDDEN = "#c62828", "#9e9e9e", "#ffffff"

Panel = tuple[str, dict[str, tuple[float, float]], dict[tuple[str, str], bool], set[str]]
ADMISSION = {"sex": (0, 1), "department": (1, 2), "decision": (2, 1), "outcome": (3.3, 1)}
LOAN = {"region": (0, 2), "age": (0, 0), "rent": (1.2, 2), "income": (1.2, 0), "decision": (2.2, 1), "outcome": (3.4, 1)}  # fmt: skip
BLOCK = {"background": (0, 1), "race": (1, 2), "sex": (1, 0), "history": (2, 2), "income": (2, 0), "decision": (3, 1)}

PANELS: tuple[Panel, ...] = (
    (
        "every path counts", ADMISSION,
        {("sex", "department"): True, ("department", "decision"): True, ("sex", "decision"): True, ("decision", "outcome"): True}, set(),
    ),
    (
        "the department is kept", ADMISSION,
        {("sex", "department"): False, ("department", "decision"): False, ("sex", "decision"): True, ("decision", "outcome"): True}, {"department"},
    ),
    (
        "age has a cause: what the region does by itself does not count", LOAN,
        {("region", "age"): False, ("region", "rent"): False, ("rent", "decision"): False, ("age", "income"): True, ("income", "decision"): True, ("decision", "outcome"): True}, set(),
    ),
    (
        "race and sex are a block: race is changed, sex stays as it is", BLOCK,
        {("background", "race"): False, ("background", "sex"): False, ("race", "history"): True, ("sex", "income"): False, ("history", "decision"): True, ("income", "decision"): True, ("race", "income"): True}, {"sex"},
    ),
)  # fmt: skip


def draw(axes: Any, panel: Panel) -> None:
    """Nodes as boxes, edges that count red and thick, others grey; what stays as it is has a thick frame."""
    title, places, edges, kept = panel
    for (cause, effect), counts in edges.items():
        how = {
            "arrowstyle": "-|>",
            "color": COUNTS if counts else NOT,
            "lw": 2 if counts else 1,
            "shrinkA": 22,
            "shrinkB": 24,
        }
        axes.annotate("", xy=places[effect], xytext=places[cause], arrowprops=how)
    for node, (x, y) in places.items():
        hidden = node == "background"
        box = {
            "boxstyle": "round,pad=0.35",
            "fc": HIDDEN,
            "ec": "black",
            "lw": 2.2 if node in kept else 0.8,
            "ls": ":" if hidden else "-",
        }
        axes.text(x, y, f"{node}\n(hidden)" if hidden else node, ha="center", va="center", bbox=box)
    axes.set(xlim=(-0.5, 3.8), ylim=(-0.5, 2.5))
    axes.set_title(title, fontsize=9)
    axes.set_axis_off()


def main() -> None:
    with mpl.rc_context({"svg.hashsalt": "fairarm", "svg.fonttype": "path", "font.size": 8}):
        figure = Figure(figsize=(10, 5), layout="constrained")
        for axes, panel in zip(figure.subplots(2, 2).ravel(), PANELS, strict=True):
            draw(axes, panel)
        figure.savefig(OUT, metadata={"Date": None})


if __name__ == "__main__":
    main()
