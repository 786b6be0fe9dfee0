"""One page with everything, to be opened without a network: figures inline, no scripts, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairarm.experiments.paper.instances import PROGRAMME_PULLS, Instance
from fairarm.files import write_whole
from fairarm.reports.paper.claims import INTRODUCTION, QUICK_NOTE
from fairarm.reports.paper.inline import inlined
from fairarm.reports.paper.judging import FAILS, HOLDS, UNKNOWN, ClaimSection
from fairarm.reports.paper.rules import HINDSIGHT, RULES
from fairarm.reports.rendering import render
from fairarm.reports.words import pulls_text

CAPTIONS = {
    "synthetic": "Error against pulls on the synthetic settings, with 95 % limits (Wilson) as bands.",
    "ablation": "Error against pulls for three combinations of divergences against the deployed arm.",
    "hepar2": "HEPAR-II as printed, and at a tolerance half-way between the two middle gaps.",
    "no-fair-arm": "How often an arm is returned although none is fair.",
    "bounds": "The theorems' bounds next to the simulated error of CSR-V1. Bounds are clipped to 1.",
    "readings": "What each reading of the paper's text changes, with 95 % limits.",
    "sris": "SRIS in its own setting; crosses mark the published levels.",
}


@dataclass(frozen=True)
class RunFacts:
    """What the page says about the run."""

    seed: int
    version: str
    quick: bool
    points: int

    @property
    def command(self) -> str:
        """What to type to get the same results."""
        return f"fairarm paper{' --quick' if self.quick else ''} --seed {self.seed}"


def write_page(
    path: Path, facts: RunFacts, sections: Sequence[ClaimSection], instances: Sequence[Instance], figures: Path
) -> None:
    """report.html, from the figures already drawn into ``figures``."""
    write_whole(path, page_text(facts, sections, instances, figures), "report")


def page_text(facts: RunFacts, sections: Sequence[ClaimSection], instances: Sequence[Instance], figures: Path) -> str:
    """The page of the paper's experiments as one HTML text, figures within."""
    from markupsafe import Markup

    drawn = {path.stem: Markup(inline(path)) for path in sorted(figures.glob("*.svg"))}
    return render(
        "paper.html.j2",
        facts=facts,
        introduction=INTRODUCTION,
        quick_note=QUICK_NOTE,
        rules=RULES,
        hindsight=HINDSIGHT,
        sections=sections,
        tally=tally(sections),
        kind=verdict_kind,
        figures=drawn,
        captions=CAPTIONS,
        instances=[_instance_cells(i) for i in instances],
        programme_pulls=pulls_text(PROGRAMME_PULLS),
    )


def inline(path: Path) -> str:
    """An SVG file as an element of the page, titled by its caption."""
    return inlined(path.read_text(encoding="utf-8"), path.stem, CAPTIONS.get(path.stem, path.stem))


def verdict_kind(verdict: str) -> str:
    """A class for the colour of a verdict."""
    if verdict == HOLDS:
        return "yes"
    return {FAILS: "no", UNKNOWN: "unknown"}.get(verdict, "partly")


def tally(sections: Sequence[ClaimSection]) -> dict[str, int]:
    """Number of claims by verdict; those that hold under a reading or condition of their own together."""
    found: dict[str, int] = {}
    for section in sections:
        for claim in section.claims:
            word = "holds on a condition" if verdict_kind(claim.verdict) == "partly" else claim.verdict
            found[word] = found.get(word, 0) + 1
    return found


def _instance_cells(i: Instance) -> dict[str, Any]:
    return {
        "instance": i.instance,
        "E": f"{i.tolerance:.4g}",
        "fair": f"{i.fair_arms} of {i.arms}",
        "outcome gap": "" if i.outcome_gap is None else f"{i.outcome_gap:.4f}",
        "fairness gap": f"{i.fairness_gap:.4f}",
        "M": f"{i.M_low:.1f}–{i.M_high:.1f}",
        "D (s, s')": f"{i.D_low:.1f}–{i.D_high:.1f}",
        "D (s', s)": f"{i.D_back_low:.1f}–{i.D_back_high:.1f}",
        "natural": f"{i.share_natural:.1%}",
        "forced s": f"{i.share_s:.1%}",
        "forced s'": f"{i.share_s_prime:.1%}",
    }
