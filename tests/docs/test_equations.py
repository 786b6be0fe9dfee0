"""Equations have numbers: each stands once in the docs, and beside the line of the source that computes it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = {"A": "algorithms.md", "P": "pool.md", "B": "beliefs.md", "C": "certified.md"}
DEFINED = re.compile(r"^ {4}\S.* {2}\(([ABCP]\d+)\)$", re.MULTILINE)
NAMED = re.compile(r"\(([ABCP]\d+)\)")


def numbers_of(page: str) -> list[str]:
    return DEFINED.findall((ROOT / "docs" / page).read_text(encoding="utf-8"))


def named_in(folder: Path, ending: str) -> dict[str, set[str]]:
    """Which files name each number."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.rglob(f"*.{ending}")):
        for number in NAMED.findall(path.read_text(encoding="utf-8")):
            found.setdefault(number, set()).add(path.relative_to(ROOT).as_posix())
    return found


def test_each_page_counts_its_equations_from_one_and_leaves_none_out() -> None:
    for letter, page in PAGES.items():
        found = numbers_of(page)
        assert found == [f"{letter}{i + 1}" for i in range(len(found))] and found, page


def test_each_number_is_given_once() -> None:
    every = Counter(
        number for page in (ROOT / "docs").rglob("*.md") for number in DEFINED.findall(page.read_text("utf-8"))
    )
    assert [number for number, times in every.items() if times > 1] == []
    assert sum(every.values()) == sum(len(numbers_of(page)) for page in PAGES.values())


def test_every_number_that_is_named_exists() -> None:
    known = {number for page in PAGES.values() for number in numbers_of(page)}
    for folder, ending in ((ROOT / "src", "py"), (ROOT / "docs", "md")):
        assert {n: where for n, where in named_in(folder, ending).items() if n not in known} == {}


def test_every_equation_is_beside_the_code_that_computes_it() -> None:
    computed = named_in(ROOT / "src", "py")
    assert [number for page in PAGES.values() for number in numbers_of(page) if number not in computed] == []
