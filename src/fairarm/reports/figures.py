"""Figures: error against pulls, with bands for the limits."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairarm.experiments.live import LiveSimulation
from fairarm.experiments.plan import ExperimentPlan, PlanPoint
from fairarm.experiments.simulate import Point, Simulation
from fairarm.files import check_path, write_whole
from fairarm.optional import require

FORMATS = (".svg", ".png", ".pdf")
SALT = "fairarm"
"""Of the ids in an SVG, so that they are the same in every run."""
ERROR = "share of runs with a wrong answer"

COLOURS = {
    "pool": "#000000",
    "csr-v1": "#c62828",
    "csr-v2": "#2e7d32",
    "two-stage-v1": "#1565c0",
    "two-stage-v2": "#6a1b9a",
    "sris-v1": "#ef6c00",
    "sris-v2": "#5d4037",
    "uniform": "#607d8b",
    "mis": "#00838f",
    "top-two": "#ad1457",
    "tf-lucb": "#9e9d24",
}
"""As in the paper: V1 red, V2 green, two-stage V1 blue, two-stage V2 purple."""

MARKERS = {
    "pool": "*",
    "csr-v1": "o",
    "csr-v2": "s",
    "two-stage-v1": "^",
    "two-stage-v2": "D",
    "sris-v1": "v",
    "sris-v2": "P",
    "uniform": "X",
    "mis": "p",
    "top-two": "h",
    "tf-lucb": "d",
}

PLAN_COLOURS = ("#1565c0", "#2e7d32", "#ef6c00", "#6a1b9a", "#c62828")


def check_figure_path(path: Path) -> None:
    """Before the work: the figure can be drawn, and written there."""
    check_path(path, "figure", FORMATS)
    require("matplotlib", "plots")


@contextmanager
def _drawn(path: Path, title: str, dress: Callable[[Any], None] | None = None) -> Iterator[Any]:
    """The axes of a figure, of error against pulls unless it is dressed otherwise, saved to ``path`` at the end with nothing in it
    that changes."""
    check_figure_path(path)
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": SALT, "svg.fonttype": "path"}):
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        axes = figure.add_subplot()
        yield axes
        (dress or dress_errors)(axes)
        axes.set_title(title, fontsize=11)
        axes.legend(frameon=False)
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
        save_figure(figure, path, metadata=metadata, dpi=150)


def save_figure(figure: Any, path: Path, **how: Any) -> None:
    """Drawn first, then written whole, in the format of the path's extension."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:].lower(), **how)
    write_whole(path, drawn.getvalue(), "figure")


def dress_errors(axes: Any) -> None:
    """The scales and labels of error against pulls."""
    if axes.dataLim.x0 > 0:
        axes.set_xscale("log")
    else:  # a plan from a log begins at 0 pulls
        axes.set_xscale("symlog", linthresh=32)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("pulls")
    axes.set_ylabel(ERROR)
    axes.grid(alpha=0.3)


def _banded(axes: Any, points: Sequence[Point | PlanPoint], label: str, colour: str, marker: str) -> None:
    pulls = [p.pulls for p in points]
    axes.plot(pulls, [p.error for p in points], color=colour, marker=marker, label=label)
    axes.fill_between(
        pulls, [p.error_low for p in points], [p.error_high for p in points], color=colour, alpha=0.15, lw=0
    )


def error_curves(found: Simulation, path: Path) -> None:
    """Error against pulls, one line an algorithm, with Wilson's 95 % limits as bands."""
    with _drawn(path, found.problem.name) as axes:
        draw_errors(axes, found)


def live_days(found: LiveSimulation, path: Path) -> None:
    """Days until the answer against people in a cohort, with the 10 and 90 % quantiles as a band, and people served in all."""
    points = sorted(found.results, key=lambda point: point.people)
    people = [point.people for point in points]
    with _drawn(path, f"{found.problem.name}: live", _dress_live) as axes:
        colour, other = PLAN_COLOURS[:2]
        axes.plot(people, [p.days for p in points], color=colour, marker="o", label="days until the answer")
        axes.fill_between(
            people, [p.days_low for p in points], [p.days_high for p in points], color=colour, alpha=0.15, lw=0
        )
        served = [p.served / 100 for p in points]
        axes.plot(people, served, color=other, marker="s", ls="--", label="people served, in hundreds")
        axes.set_xscale("log")
        axes.set_xticks(people, [str(each) for each in people])
        axes.minorticks_off()
        if points and points[0].waiting is not None:
            axes.axhline(points[0].waiting, color="black", lw=0.8, ls=":", label="days of phases that wait")


def _dress_live(axes: Any) -> None:
    axes.set_yscale("log")
    axes.set_xlabel("people to enter a cohort")
    axes.set_ylabel("days; people / 100")
    axes.grid(alpha=0.3)


def draw_errors(axes: Any, found: Simulation) -> None:
    """Error against pulls, a line with its 95 % band for each algorithm."""
    for name in dict.fromkeys(point.algorithm for point in found.results):
        points = sorted((p for p in found.results if p.algorithm == name), key=lambda p: p.pulls)
        _banded(axes, points, name, COLOURS.get(name, "black"), MARKERS.get(name, "x"))


def plan_curves(found: ExperimentPlan, path: Path) -> None:
    """Error against pulls before the experiment, one line an average cost, and the target."""
    with _drawn(path, f"{found.problem.name}: planned") as axes:
        for option, colour in zip(found.options, PLAN_COLOURS, strict=False):
            cost = "any cost" if option.average_cost is None else f"{option.average_cost:.3g} a pull on average"
            _banded(axes, option.curve, cost, colour, "o")
            if option.pulls is not None:
                axes.axvline(option.pulls, color=colour, lw=0.8, ls=":")
        axes.axhline(found.target_error, color="black", lw=0.8, ls="--", label="target")
