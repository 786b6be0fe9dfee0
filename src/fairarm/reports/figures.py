"""Figures: error against pulls, with bands for the limits."""

from __future__ import annotations

from pathlib import Path

from fairarm.errors import OptionError
from fairarm.experiments.simulate import Simulation

FORMATS = (".svg", ".png", ".pdf")

COLOURS = {
    "csr-v1": "#c62828",
    "csr-v2": "#2e7d32",
    "two-stage-v1": "#1565c0",
    "two-stage-v2": "#6a1b9a",
    "sris-v1": "#ef6c00",
    "sris-v2": "#5d4037",
    "uniform": "#607d8b",
}
"""As in the paper: V1 red, V2 green, two-stage V1 blue, two-stage V2 purple."""

MARKERS = {"csr-v1": "o", "csr-v2": "s", "two-stage-v1": "^", "two-stage-v2": "D", "sris-v1": "v", "sris-v2": "P"}


def check_figure_path(path: Path) -> None:
    """The format is known and the folder exists: said before the work, not after it."""
    if path.suffix.lower() not in FORMATS:
        raise OptionError(f"A figure is saved as {', '.join(FORMATS)}; got '{path.name}'.")
    if not path.parent.is_dir():
        raise OptionError(f"The folder {path.parent} for the figure does not exist. Make it first.")


def error_curves(found: Simulation, path: Path) -> None:
    """Error against pulls, one line an algorithm, with Wilson's 95 % limits as bands."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    check_figure_path(path)
    with mpl.rc_context({"svg.hashsalt": "fairarm", "svg.fonttype": "path"}):
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        axes = figure.add_subplot()
        for name in dict.fromkeys(point.algorithm for point in found.results):
            points = sorted((p for p in found.results if p.algorithm == name), key=lambda p: p.pulls)
            pulls = [p.pulls for p in points]
            colour = COLOURS.get(name, "black")
            axes.plot(pulls, [p.error for p in points], color=colour, marker=MARKERS.get(name, "x"), label=name)
            axes.fill_between(
                pulls, [p.error_low for p in points], [p.error_high for p in points], color=colour, alpha=0.15, lw=0
            )
        axes.set_xscale("log")
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel("pulls")
        axes.set_ylabel("share of runs with a wrong answer")
        axes.set_title(found.problem, fontsize=11)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
        try:
            figure.savefig(path, metadata=metadata, dpi=150)
        except OSError as error:
            raise OptionError(f"The figure {path} cannot be written: {error.strerror}.") from None
