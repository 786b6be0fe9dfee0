"""The page of a simulation: how often each algorithm was wrong."""

from __future__ import annotations

from fairarm.experiments.simulate import Point, Simulation
from fairarm.reports.page.charts import error_figure
from fairarm.reports.page.parts import Box, Facts, Figure, Page, PageTable, Section, Text
from fairarm.reports.words import question, unmarked, value, whole

MEANINGS = (
    'An answer is wrong if it is not the best fair arm of the world; where no arm is fair, if it is anything but "no fair arm". '
    '"None" is the share of runs that said "no fair arm", "undecided" of those that ended undecided, which counts as wrong; '
    '"cost" and "pulls used" are means. The limits are Wilson\'s, for the share of wrong answers.'
)


def simulation_page(found: Simulation, version: str) -> Page:
    """The page of many runs: error against pulls, and the numbers behind it."""
    problem, best = found.problem, found.best_fair_arm
    truth = "no arm is fair" if best is None else f"the best fair arm is {best}"
    return Page(
        title=f"{problem.name}: how often each algorithm is wrong",
        about=[text for text in (problem.description, unmarked(question(problem))) if text],
        boxes=[_answer(found), Box("In this world", f"{problem.name}: {truth}.", (), "plain")],
        sections=[
            Section("Error against pulls", [_curves(found)]),
            Section("All numbers", [_numbers(found), Text(MEANINGS)]),
            _made(found, version),
        ],
    )


def _answer(found: Simulation) -> Box:
    """Who is wrong least, at the largest number of pulls, and who cannot be told from it."""
    most = max(point.pulls for point in found.results)
    points = sorted((p for p in found.results if p.pulls == most), key=lambda p: p.error)
    best = points[0]
    tied = [p.algorithm for p in points[1:] if p.error_low <= best.error_high]
    lines = [f"Limits that overlap with these, so that they are not told apart: {', '.join(tied)}."] if tied else []
    return Box("Fewest wrong answers", f"With {whole(most)} pulls, {_said(best)}", lines, "plain")


def _said(point: Point) -> str:
    return (
        f"{point.algorithm} was wrong in {point.error:.3f} of {whole(point.runs)} runs (95 % limits {point.error_low:.3f} "
        f"to {point.error_high:.3f})."
    )


def _curves(found: Simulation) -> Figure:
    listed = ", ".join(dict.fromkeys(point.algorithm for point in found.results))
    return error_figure(
        found,
        "Share of runs with a wrong answer against the number of pulls",
        f"One line for each of {listed}. All numbers are in the table.",
        ["Share of runs with a wrong answer; the bands are 95 % limits."],
    )


def _numbers(found: Simulation) -> PageTable:
    limit = ["used / limit"] if any(p.pulls_per_limit is not None for p in found.results) else []
    columns = (
        "algorithm",
        "pulls",
        "runs",
        "error",
        "95 % limits",
        "none",
        "wrong",
        "undecided",
        "cost",
        "pulls used",
        *limit,
    )
    rows = [
        (
            p.algorithm, whole(p.pulls), whole(p.runs), f"{p.error:.3f}", f"{p.error_low:.3f}-{p.error_high:.3f}",
            f"{p.none_rate:.3f}", f"{p.wrong_rate:.3f}", f"{p.undecided_rate:.3f}", f"{p.mean_cost:.6g}", whole(p.mean_pulls),
            *([value(p.pulls_per_limit, ".2f")] if limit else []),
        )
        for p in found.results
    ]  # fmt: skip
    return PageTable("Share of runs with a wrong answer", columns, rows)


def _made(found: Simulation, version: str) -> Section:
    pairs = [("problem", found.problem.name), ("seed", str(found.seed)), ("fairarm", version)]
    return Section("How it was made", [Facts(pairs)])
