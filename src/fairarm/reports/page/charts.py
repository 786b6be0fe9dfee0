"""The other figures of a page: what the log covers, the phases of a run, errors against pulls, divergences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairarm.core.types import FloatArray
from fairarm.experiments.identify import PhaseStory
from fairarm.experiments.simulate import Simulation
from fairarm.reports.figures import draw_errors, dress_errors
from fairarm.reports.page.parts import Figure
from fairarm.reports.page.rows import DOTS_AN_INCH, Canvas, Row, Words, row_figure, text_width
from fairarm.reports.svg import THEME, drawing, page_svg, shown
from fairarm.reports.words import pulls_text, value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawn

BARS = 60
"""More phases than this are drawn as one outline."""
NAMED, NUMBERED = 24, 8
"""With more arms a map has positions in place of names; with more than the second its cells hold no numbers."""
TICKS_APART = 1.35
DARK, LIGHT = "#0a0a0a", "#ffffff"
"""Letters on a map's colours, which are the same on every page."""


# ---- what the log covers ----


@dataclass(frozen=True)
class Cover:
    """How much of an arm's mass has rows, and how much it has in common with the law of the log."""

    row: Row
    seen: float
    overlap: float


def cover_figure(words: Words, covers: Sequence[Cover]) -> Figure:
    """A bar an arm: solid where there are rows, hatched where there are none, a diamond at the overlap."""

    def draw(canvas: Canvas) -> None:
        axes, thick = canvas.axes, 11.0
        axes.set_xlim(-0.01, 1.01)
        for i, (cover, y) in enumerate(zip(covers, canvas.heights, strict=True)):
            colour = THEME["good" if cover.row.best else "mark"]
            axes.barh([y], [1 - cover.seen], thick, left=[cover.seen], fc="none", ec=THEME["muted"], hatch="///", lw=0.8, gid=f"unseen-{i}")  # fmt: skip
            axes.barh([y], [cover.seen], thick, color=colour, lw=0, gid=f"seen-{i}")
            axes.plot([cover.overlap], [y], marker="D", ms=7, mfc=THEME["paper"], mec=THEME["ink"], mew=1.4, ls="", gid=f"overlap-{i}", clip_on=False)  # fmt: skip

    return row_figure(words, [cover.row for cover in covers], draw)


# ---- figures of panels ----


def _panels(
    name: str, title: str, description: str, size: tuple[float, float], parts: int, down: bool, draw: Callable[[Drawn, list[Axes]], None]
) -> str:  # fmt: skip
    from matplotlib.figure import Figure as Drawn

    with drawing():
        figure = Drawn(figsize=(size[0] / DOTS_AN_INCH, size[1] / DOTS_AN_INCH), dpi=DOTS_AN_INCH, layout="constrained")
        shape = (parts, 1) if down else (1, parts)
        draw(figure, [figure.add_subplot(*shape, i + 1) for i in range(parts)])
        return page_svg(figure, name, title, description)


def _calm(axes: Axes) -> None:
    """Grid, frame and labels in the page's quiet colours."""
    axes.grid(color=THEME["line"], lw=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(which="both", color=THEME["line"], labelcolor=THEME["muted"], labelsize=11)
    axes.xaxis.label.set_color(THEME["muted"])
    axes.yaxis.label.set_color(THEME["muted"])
    for spine in axes.spines.values():
        spine.set_color(THEME["line"])


def phase_figure(
    story: Sequence[PhaseStory], arms: int, title: str, description: str, caption: Sequence[str]
) -> Figure:
    """Pulls of each phase; beside it how sure the answer was, or how many arms were left."""

    def draw(figure: Drawn, panels: list[Axes]) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        _draw_pulls(panels[0], story)
        panels[0].yaxis.set_major_formatter(FuncFormatter(lambda x, _: pulls_text(round(x))))
        if any(part.probability is not None for part in story):
            _draw_probability(panels[1], story)
        else:
            _draw_left(panels[1], story, arms)
        for axes in panels:
            axes.set_xlabel("phase")
            axes.xaxis.set_major_locator(MaxNLocator(8, integer=True, min_n_ticks=1))
            _calm(axes)

    wide = _panels("phases", title, description, (920, 280), 2, False, draw)
    narrow = _panels("phases-narrow", title, description, (360, 470), 2, True, draw)
    return Figure("phases", wide, narrow, caption)


def _draw_pulls(axes: Axes, story: Sequence[PhaseStory]) -> None:
    phases, pulls = [part.phase for part in story], [part.pulls for part in story]
    if len(story) <= BARS:
        for i, (phase, number) in enumerate(zip(phases, pulls, strict=True)):
            axes.bar([phase], [number], 0.8, color=THEME["mark"], gid=f"pulls-{i}")
    else:
        axes.fill_between(phases, pulls, step="mid", color=THEME["mark"], lw=0)
    axes.set_ylabel("pulls")
    axes.set_ylim(bottom=0)


def _draw_probability(axes: Axes, story: Sequence[PhaseStory]) -> None:
    known = [(part.phase, part.probability) for part in story if part.probability is not None]
    dot = "o" if len(known) <= BARS else ""
    phases, probabilities = zip(*known, strict=True)
    axes.plot(phases, probabilities, color=THEME["good"], marker=dot, ms=5, gid="probability")
    axes.set_ylim(-0.03, 1.03)
    axes.set_ylabel("probability")


def _draw_left(axes: Axes, story: Sequence[PhaseStory], arms: int) -> None:
    phases = [part.phase for part in story]
    few = len(story) <= BARS
    axes.plot(
        phases,
        [len(p.left) for p in story],
        color=THEME["mark"],
        marker="o" if few else "",
        label="arms left",
        gid="left",
    )
    axes.plot(phases, [len(p.fair) for p in story], color=THEME["good"], marker="s" if few else "", ls="--", label="shown fair", gid="fair")  # fmt: skip
    axes.set_ylim(-0.03 * arms, 1.05 * arms)
    axes.set_ylabel("arms")
    axes.legend(frameon=False, labelcolor=THEME["ink"])


def error_figure(found: Simulation, title: str, description: str, caption: Sequence[str]) -> Figure:
    """Error against pulls, as `fairarm simulate --plot` draws it."""

    def draw(figure: Drawn, panels: list[Axes]) -> None:
        (axes,) = panels
        draw_errors(axes, found)
        dress_errors(axes)
        _pull_ticks(axes, sorted({point.pulls for point in found.results}))
        _calm(axes)
        handles, labels = axes.get_legend_handles_labels()
        columns = 5 if figure.get_figwidth() > 6 else 2
        figure.legend(
            handles, labels, loc="outside lower center", ncols=columns, frameon=False, labelcolor=THEME["ink"]
        )

    wide = _panels("errors", title, description, (920, 420), 1, True, draw)
    narrow = _panels("errors-narrow", title, description, (360, 400), 1, True, draw)
    return Figure("errors", wide, narrow, caption)


def _pull_ticks(axes: Axes, pulls: Sequence[int]) -> None:
    """A tick at every number of pulls, with its number where there is room."""
    texts, last = [], 0.0
    room = TICKS_APART if len(pulls) < 2 else max(TICKS_APART, (max(pulls) / min(pulls)) ** (1 / 6))
    for T in pulls:
        clear = not last or room * last <= T
        texts.append(pulls_text(T) if clear else "")
        last = T if clear else last
    axes.set_xticks(list(pulls), texts)
    axes.minorticks_off()


# ---- divergences ----


def map_figure(name: str, title: str, matrix: FloatArray, arms: Sequence[str]) -> Figure:
    """How far row k is from column j, by colour; no overlap at all is hatched."""
    K = len(arms)
    labels = [shown(arm, 14) for arm in arms] if K <= NAMED else []
    around = max((text_width(label) for label in labels), default=34.0) + 10
    side, bar = 440 - around - 28, 58.0
    width, height = 440.0, 26 + side + around + bar
    described = f"{title}. Infinite for {int(np.isinf(matrix).sum())} of {matrix.size} pairs."
    with drawing():
        from matplotlib.figure import Figure as Drawn

        figure = Drawn(figsize=(width / DOTS_AN_INCH, height / DOTS_AN_INCH), dpi=DOTS_AN_INCH)
        axes = figure.add_axes((around / width, (around + bar) / height, side / width, side / height))
        _draw_map(figure, axes, matrix, (around / width, 34 / height, side / width, 10 / height))
        _name_cells(axes, labels, K)
        if K <= NUMBERED:
            _number_cells(axes, matrix)
        figure.text(around / width, 1 - 12 / height, title, va="center", fontsize=12, color=THEME["ink"])
        return Figure(name, page_svg(figure, name, title, described), None, ())


def _draw_map(figure: Drawn, axes: Axes, matrix: FloatArray, bar: tuple[float, float, float, float]) -> None:
    from matplotlib.colors import LogNorm
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import FuncFormatter, NullFormatter

    finite = matrix[np.isfinite(matrix) & (matrix > 0)]
    low, high = (finite.min(), finite.max()) if finite.size else (1.0, 2.0)
    high = max(high, 1.05 * low)
    scale = LogNorm(low, high)
    shaded = np.ma.masked_invalid(matrix)
    image = axes.imshow(shaded, norm=scale, cmap="cividis_r", interpolation="none", aspect="auto")
    for k, j in np.argwhere(np.isinf(matrix)):
        axes.add_patch(Rectangle((j - 0.5, k - 0.5), 1, 1, fc="none", ec=THEME["muted"], hatch="xx", lw=0.4))
    beneath = figure.add_axes(bar)
    legend = figure.colorbar(image, cax=beneath, orientation="horizontal")
    ticks = np.geomspace(low, high, 4)
    legend.set_ticks(list(ticks))
    legend.ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: _short(x)))
    legend.ax.xaxis.set_minor_formatter(NullFormatter())
    legend.ax.minorticks_off()
    legend.ax.tick_params(color=THEME["line"], labelcolor=THEME["muted"], labelsize=11)


def _name_cells(axes: Axes, labels: Sequence[str], K: int) -> None:
    size = 12.0 if K <= 16 else 10.0
    if labels:
        axes.set_xticks(range(K), labels, rotation=90)
        axes.set_yticks(range(K), labels)
    else:
        at = list(range(9, K, 10))
        axes.set_xticks(at, [str(k + 1) for k in at])
        axes.set_yticks(at, [str(k + 1) for k in at])
    axes.tick_params(color=THEME["line"], labelcolor=THEME["ink"], labelsize=size)
    for spine in axes.spines.values():
        spine.set_color(THEME["line"])


def _number_cells(axes: Axes, matrix: FloatArray) -> None:
    finite = np.log(matrix[np.isfinite(matrix) & (matrix > 0)])
    middle = (finite.min() + finite.max()) / 2 if finite.size else 0.0
    for (k, j), x in np.ndenumerate(matrix):
        light = np.isfinite(x) and x > 0 and np.log(x) > middle
        colour = (LIGHT if light else DARK) if np.isfinite(x) else THEME["ink"]
        axes.text(j, k, _short(float(x)), ha="center", va="center", fontsize=10.5, color=colour)


def _short(x: float) -> str:
    """At most five letters up to a hundred thousand: 1.25, 12.5, 125, 12500."""
    if not np.isfinite(x):
        return value(x)
    return format(x, ".2f" if x < 10 else ".1f" if x < 100 else ".0f" if x < 1e5 else ".0e")
