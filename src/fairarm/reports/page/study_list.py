"""The page that lists live studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairarm.reports.page.parts import Block, Page, PageTable, Section, Text
from fairarm.reports.words import count, whole
from fairarm.reports.words.studies import answer_text, moment
from fairarm.studies import Summary

NONE_YET = "There is no study yet. `fairarm study create --config study.toml` makes one; `fairarm serve --demo` shows one with simulated people."


def list_page(studies: Sequence[Summary], addresses: Mapping[str, str]) -> Page:
    """All studies that the reader may see."""
    lines = [
        (
            one.name, f"{one.state}{' (clock not confirmed)' if one.held else ''}", answer_text(one), whole(one.people),
            f"{one.settled} of {one.cohorts}", moment(one.created),
        )
        for one in studies
    ]  # fmt: skip
    columns = ("study", "status", "answer", "people", "cohorts settled", "created (UTC)")
    table = PageTable("All of them.", columns, lines, ("status", "answer", "created (UTC)"), links={**addresses})
    blocks: list[Block] = [table] if studies else [Text(NONE_YET)]
    return Page(
        "Live studies", [count(len(studies), "study").replace("studys", "studies")], [], [Section("Studies", blocks)]
    )
