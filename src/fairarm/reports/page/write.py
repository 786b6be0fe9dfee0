"""A result as one HTML file that opens anywhere: figures inline, no scripts, nothing fetched. Same result, same bytes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fairarm.errors import OptionError
from fairarm.files import check_path, write_whole
from fairarm.reports.rendering import render

if TYPE_CHECKING:
    from fairarm.experiments.evaluate import Evaluation
    from fairarm.experiments.identify import Identification
    from fairarm.experiments.inspect import Inspection
    from fairarm.experiments.simulate import Simulation
    from fairarm.problem.problem import Problem
    from fairarm.reports.page.parts import Page

FORMATS = (".html",)


def report(
    result: Evaluation | Identification | Simulation | Inspection,
    path: str | os.PathLike[str],
    problem: Problem | None = None,
) -> Path:
    """Write a page about the result of `evaluate`, `identify`, `simulate` or `inspect`, and return its path.

    ``problem`` is not needed: every result holds its own.
    """
    target = Path(path)
    check_report_path(target)
    write_whole(target, page_text(result).encode("utf-8", "replace"), "report")
    return target


def check_report_path(path: Path) -> None:
    """It ends in .html and its folder exists: said before the work, not after it."""
    check_path(path, "report", FORMATS)


def page_text(result: object) -> str:
    """The page of a result as one HTML text that needs nothing from elsewhere."""
    from markupsafe import Markup

    return render("page.html.j2", page=page_of(result), drawn=Markup)


def page_of(result: object) -> Page:
    """The parts of the page, by what the result is."""
    from importlib.metadata import version

    from fairarm.experiments.evaluate import Evaluation
    from fairarm.experiments.identify import Identification
    from fairarm.experiments.inspect import Inspection
    from fairarm.experiments.simulate import Simulation
    from fairarm.reports.page.evaluation import evaluation_page
    from fairarm.reports.page.identification import identification_page
    from fairarm.reports.page.inspection import inspection_page
    from fairarm.reports.page.simulation import simulation_page

    installed = version("fairarm")
    if isinstance(result, Evaluation):
        return evaluation_page(result, installed)
    if isinstance(result, Identification):
        return identification_page(result, installed)
    if isinstance(result, Simulation):
        return simulation_page(result, installed)
    if isinstance(result, Inspection):
        return inspection_page(result, installed)
    raise OptionError(
        f"A report is made of what evaluate, identify, simulate or inspect returns; got {type(result).__name__}. "
        f"Give the result itself."
    )
