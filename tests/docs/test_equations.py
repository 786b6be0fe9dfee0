"""Equations have numbers: each stands once in the docs, and beside the line of the source that computes it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = {
    "A": "algorithms.md",
    "P": "pool.md",
    "C": "certified.md",
    "L": "certified.md",
    "M": "certified.md",
    "R": "logs.md",
    "B": "beliefs.md",
    "W": "certified-logs.md",
    "F": "limits.md",
    "D": "trust.md",
}
LETTERS = "".join(PAGES)
DEFINED = re.compile(rf"^ {{4}}\S.* {{2}}\(([{LETTERS}]\d+)\)$", re.MULTILINE)
NAMED = re.compile(rf"\(([{LETTERS}]\d+)\)")


def numbers_of(letter: str) -> list[str]:
    found = DEFINED.findall((ROOT / "docs" / PAGES[letter]).read_text(encoding="utf-8"))
    return [number for number in found if number[0] == letter]


def named_in(folder: Path, ending: str) -> dict[str, set[str]]:
    """Which files name each number."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.rglob(f"*.{ending}")):
        for number in NAMED.findall(path.read_text(encoding="utf-8")):
            found.setdefault(number, set()).add(path.relative_to(ROOT).as_posix())
    return found


def test_each_letter_counts_its_equations_from_one_and_leaves_none_out() -> None:
    for letter, page in PAGES.items():
        found = numbers_of(letter)
        assert found == [f"{letter}{i + 1}" for i in range(len(found))] and found, page


def test_each_number_is_given_once() -> None:
    every = Counter(
        number for page in (ROOT / "docs").rglob("*.md") for number in DEFINED.findall(page.read_text("utf-8"))
    )
    assert [number for number, times in every.items() if times > 1] == []
    assert sum(every.values()) == sum(len(numbers_of(letter)) for letter in PAGES)


def test_every_number_that_is_named_exists() -> None:
    known = {number for letter in PAGES for number in numbers_of(letter)}
    for folder, ending in ((ROOT / "src", "py"), (ROOT / "docs", "md")):
        assert {n: where for n, where in named_in(folder, ending).items() if n not in known} == {}


def test_every_equation_is_beside_the_code_that_computes_it() -> None:
    computed = named_in(ROOT / "src", "py")
    assert [number for letter in PAGES for number in numbers_of(letter) if number not in computed] == []
