"""Everything the command leaves behind, from the finished points."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from fairarm.experiments.paper.bounds import bound_curves
from fairarm.experiments.paper.instances import describe_instances, save_instances
from fairarm.experiments.paper.run import FinishedPoint
from fairarm.files import write_whole
from fairarm.reports.paper.claims import claim_sections, claims_text
from fairarm.reports.paper.figures import draw_figures
from fairarm.reports.paper.judging import ClaimSection, Material
from fairarm.reports.paper.page import RunFacts, write_page
from fairarm.reports.paper.rules import Results
from fairarm.reports.paper.tables import write_instances, write_results


def write_report(evidence: Sequence[FinishedPoint], out: Path, *, seed: int, quick: bool) -> list[ClaimSection]:
    """Tables, instances, figures, claims.md and report.html in ``out``; the claims by section."""
    out.mkdir(parents=True, exist_ok=True)
    points = [found.point for found in evidence]
    instances = describe_instances(points)
    write_results(evidence, out)
    write_instances(instances, out)
    save_instances(instances, out / "instances")
    material = Material(Results(evidence), instances, bound_curves(points))
    draw_figures(material, out / "figures")
    sections = claim_sections(material)
    facts = RunFacts(seed, version("fairarm"), quick, len(points))
    write_whole(out / "claims.md", claims_text(sections, seed, facts.version, quick), "list of claims")
    write_page(out / "report.html", facts, sections, instances, out / "figures")
    return sections
