"""The figures: the paper's, with limits, and those that show what it only states. Same results, same bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairarm.experiments.paper.plan import ABLATION, DEFAULT_READING, FOUR, READINGS, SRIS, SYNTHETIC
from fairarm.optional import require
from fairarm.reports.figures import COLOURS, ERROR, MARKERS, SALT, save_figure
from fairarm.reports.paper.beyond import DEFAULTS, simulated
from fairarm.reports.paper.judging import Material
from fairarm.reports.paper.rules import NAMES, Count, Curve, NotMeasuredError
from fairarm.reports.words import pulls_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {"svg.hashsalt": SALT, "svg.fonttype": "path", "font.size": 10, "axes.titlesize": 11}
NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
TITLES = {
    "none": "no constraint (E = 2)",
    "loose": "loose constraint (E = 0.15)",
    "tight": "tight constraint (E = 0.03)",
    "high-m-high-d": "high M, high D",
    "low-m-high-d": "low M, high D",
    "high-m-low-d": "high M, low D",
    "hepar2": "HEPAR-II, E = 0.2: every arm is fair",
    "hepar2-binding": "HEPAR-II, a tolerance that splits the arms",
    "no-fair-arm": "no fair arm (E = 0.03)",
}
SMALLEST = 3e-4
"""The lowest error drawn on a logarithmic axis."""


def draw_figures(m: Material, folder: Path) -> list[str]:
    """Every figure whose points were run, as SVG and PNG; their names, in order."""
    mpl = require("matplotlib", "plots")
    folder.mkdir(parents=True, exist_ok=True)
    drawn: list[str] = []
    with mpl.rc_context(STYLE):
        for name, draw in FIGURES.items():
            try:
                figure = draw(m)
            except NotMeasuredError:
                continue
            save_figure(figure, folder / f"{name}.svg", metadata=NO_METADATA)
            figure.set_layout_engine("none")  # keep what was laid out: half the time
            save_figure(figure, folder / f"{name}.png", metadata={"Software": None}, dpi=110)
            drawn.append(name)
    return drawn


def _panels(columns: int, rows: int = 1, width: float = 4.2, height: float = 3.9) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(width * columns, 6.0), height * rows), layout="constrained")
    return figure, [figure.add_subplot(rows, columns, i + 1) for i in range(columns * rows)]


def _line(axes: Axes, name: str, curve: Curve, label: str | None = None) -> None:
    """Errors as a line, limits as a band."""
    pulls, counts = list(curve), list(curve.values())
    axes.plot(
        pulls, [c.share for c in counts], color=COLOURS[name], marker=MARKERS[name], ms=5, label=label or NAMES[name]
    )
    low, high = zip(*(c.limits for c in counts), strict=True)
    axes.fill_between(pulls, low, high, color=COLOURS[name], alpha=0.13, lw=0)


def _dress(axes: Axes, title: str, pulls: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.set_ylim(-0.03, 1.03)
    axes.set_title(title)
    axes.set_xlabel("pulls T")
    axes.grid(alpha=0.3)
    if max(pulls) < 10 * min(pulls):  # within a decade a logarithmic axis has too few labels of its own
        crowded = {T for T in pulls if T < max(pulls) < 1.4 * T}
        axes.set_xticks(list(pulls), ["" if T in crowded else pulls_text(T) for T in pulls])
        axes.minorticks_off()


def _legend(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """Below the panels, where no data are."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def _error_panels(m: Material, experiment: str, settings: Sequence[str], ylabel: str = ERROR) -> Figure:
    curves = {setting: m.four(experiment, setting) for setting in settings}
    figure, panels = _panels(len(settings))
    for axes, setting in zip(panels, settings, strict=True):
        for name in FOUR:
            _line(axes, name, curves[setting][name])
        _dress(axes, TITLES[setting], list(curves[setting][FOUR[0]]))
    panels[0].set_ylabel(ylabel)
    _legend(figure, panels[0])
    return figure


def _synthetic(m: Material) -> Figure:
    return _error_panels(m, "synthetic", SYNTHETIC)


def _ablation(m: Material) -> Figure:
    return _error_panels(m, "ablation", ABLATION)


def _hepar2(m: Material) -> Figure:
    return _error_panels(m, "hepar2", ("hepar2", "hepar2-binding"))


def _no_fair_arm(m: Material) -> Figure:
    """How often an arm is returned although none is fair; runs without any answer are not among these."""
    found = {name: m.results.points("no-fair-arm", "no-fair-arm", name) for name in FOUR}
    if not all(found.values()):
        raise NotMeasuredError("no-fair-arm")
    figure, (axes,) = _panels(1, width=6.4, height=4.2)
    for name, points in found.items():
        _line(axes, name, {e.point.pulls: Count(e.errors - e.undecided, e.runs) for e in points})
    _dress(axes, TITLES["no-fair-arm"], [e.point.pulls for e in found[FOUR[0]]])
    axes.set_ylabel("share of runs that return an arm")
    _legend(figure, axes, 2)
    return figure


def _bounds(m: Material) -> Figure:
    figure, panels = _panels(2, 2, width=4.6, height=3.4)
    for axes, setting in zip(panels, (*SYNTHETIC, "no-fair-arm"), strict=True):
        bound, curve = m.bound(setting), simulated(m, setting)
        low, high = zip(
            *((min(v), max(v)) for v in zip(*(i.errors for i in bound.instances), strict=True)), strict=True
        )
        axes.plot(bound.pulls, bound.mean, color="black", label="bound, mean of the instances")
        axes.fill_between(bound.pulls, low, high, color="black", alpha=0.15, lw=0, label="bound, all instances")
        _log_points(axes, curve)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(SMALLEST, 2)
        axes.set_xlim(min(bound.pulls), max(bound.pulls))
        axes.set_title(f"theorem {bound.theorem}: {TITLES[setting]}")
        axes.grid(alpha=0.3)
    for axes in panels[2:]:
        axes.set_xlabel("pulls T")
    for axes in panels[::2]:
        axes.set_ylabel("probability of an error")
    _legend(figure, panels[0], 2)
    return figure  # fmt: skip


def _log_points(axes: Axes, curve: Curve) -> None:
    """Simulated errors; where none was seen, an arrow from the upper limit."""
    seen = {T: c for T, c in curve.items() if c.errors}
    unseen = {T: c.limits[1] for T, c in curve.items() if not c.errors}
    shares = [c.share for c in seen.values()]
    bars = [
        [c.share - max(c.limits[0], SMALLEST) for c in seen.values()],
        [c.limits[1] - c.share for c in seen.values()],
    ]
    axes.errorbar(list(seen), shares, yerr=bars, color=COLOURS["csr-v1"], marker="o", ms=4, lw=1.2, label="CSR-V1, simulated")  # fmt: skip
    axes.plot(list(unseen), list(unseen.values()), ls="", marker="v", ms=6, mfc="none", mec=COLOURS["csr-v1"], label="no error seen: upper limit")  # fmt: skip


def _readings(m: Material) -> Figure:
    """Rows: settings; columns: numbers of pulls; in each panel a line for every reading, a dot for every algorithm."""
    pulls = {
        setting: sorted({e.point.pulls for e in m.results.evidence if (e.point.experiment, e.point.setting) == ("readings", setting)})
        for setting in DEFAULTS
    }  # fmt: skip
    columns = max(map(len, pulls.values()))
    if not all(pulls.values()):
        raise NotMeasuredError("readings")
    figure, panels = _panels(columns, 2, width=3.9, height=3.4)
    for row, (setting, experiment) in enumerate(DEFAULTS.items()):
        for column, T in enumerate(pulls[setting]):
            axes = panels[row * columns + column]
            _reading_panel(m, axes, experiment, setting, T)
            axes.set_title(f"{'HEPAR-II' if setting == 'hepar2' else setting}, T = {pulls_text(T)}")
            axes.set_yticks(range(len(READINGS) + 1), (DEFAULT_READING, *READINGS) if column == 0 else [])
            axes.set_xlabel(ERROR if row == 1 else "")
    _legend(figure, panels[0])
    return figure


def _reading_panel(m: Material, axes: Axes, experiment: str, setting: str, T: int) -> None:
    for i, name in enumerate(FOUR):
        counts = [m.results.under(reading, experiment, setting, name)[T] for reading in (DEFAULT_READING, *READINGS)]
        heights = [row + (i - 1.5) * 0.18 for row in range(len(counts))]
        bars = [[c.share - c.limits[0] for c in counts], [c.limits[1] - c.share for c in counts]]
        shares = [c.share for c in counts]
        axes.errorbar(shares, heights, xerr=bars, ls="", marker=MARKERS[name], ms=4.5, lw=1, color=COLOURS[name], label=NAMES[name])  # fmt: skip
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(len(READINGS) + 0.5, -0.5)
    axes.grid(axis="x", alpha=0.3)
    for row in range(len(READINGS)):
        axes.axhline(row + 0.5, color="0.85", lw=0.8)


def _sris(m: Material) -> Figure:
    curves = {name: m.results.curve("sris", "sris", name, "final_arm=random") for name in SRIS}
    figure, (axes,) = _panels(1, width=6.4, height=4.2)
    for name, curve in curves.items():
        _line(axes, name, curve)
    pulls = list(curves[SRIS[0]])
    _dress(axes, "SRIS's own setting: 20 arms, gap 0.15, no fairness", pulls)
    for name, T, level in (("sris-v2", 100, 0.05), ("sris-v1", 225, 0.25)):
        axes.axhline(level, color=COLOURS[name], lw=1, ls=":")
        axes.plot(
            [T], [level], marker="x", ms=9, mew=2, ls="", color=COLOURS[name], label=f"{level} at T = {T}, published"
        )
    axes.set_ylabel(ERROR)
    _legend(figure, axes, 2)
    return figure  # fmt: skip


FIGURES: dict[str, Callable[[Material], Figure]] = {
    "synthetic": _synthetic,
    "ablation": _ablation,
    "hepar2": _hepar2,
    "no-fair-arm": _no_fair_arm,
    "bounds": _bounds,
    "readings": _readings,
    "sris": _sris,
}
