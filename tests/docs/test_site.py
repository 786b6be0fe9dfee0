"""The site of `make docs`, as far as it can be checked without building it; `make test` builds it, with every link."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import fairarm
import fairarm.testing

ROOT = Path(__file__).parents[2]
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
BIBLIOGRAPHY = (ROOT / "docs" / "bibliography.md").read_text(encoding="utf-8")
ENTRIES = re.split(r"^### ", BIBLIOGRAPHY, flags=re.MULTILINE)[1:]
CITED = re.compile(
    r"\b([A-Z][a-z]+(?:-[A-Z][a-z]+)?(?:,? and [A-Z][a-z]+(?:-[A-Z][a-z]+)?| et al\.)?),? \(?((?:19|20)\d\d)\b(?!-)"
)


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """docs/site/build.py, which is a script."""
    folder = ROOT / "docs" / "site"
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location("site_build", folder / "build.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "site_build", made)
    spec.loader.exec_module(made)
    return made


def test_every_public_name_is_in_the_reference_once() -> None:
    named = re.findall(r"^::: fairarm\.(\w+)$", API, re.MULTILINE)
    assert sorted(set(named) - {"errors"}) == sorted(fairarm.__all__)
    assert len(named) == len(set(named))
    assert sorted(re.findall(r"^::: fairarm\.testing\.(\w+)$", API, re.MULTILINE)) == sorted(fairarm.testing.__all__)


def test_the_pages_of_the_site(part: ModuleType, tmp_path: Path) -> None:
    part.stage(tmp_path)
    assert (tmp_path / "README.md").is_file() and (tmp_path / "docs" / "decisions" / "README.md").is_file()
    assert not list(tmp_path.rglob("*.py[co]"))
    decisions, measured = part.growing(tmp_path)
    assert decisions["Decisions"][0] == "docs/decisions/README.md"
    assert len(decisions["Decisions"]) == len(list((ROOT / "docs" / "decisions").glob("*.md")))
    assert "benchmarks/comparison/results.md" in measured["Measurements"]


def test_what_is_loaded_from_elsewhere_is_found(part: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="https://toml.io">x</a><script src="https://cdn.example/x.js"></script><img src=pic.svg>'
        '<link rel="stylesheet" href="//fonts.example/f.css"><link rel="canonical" href="https://here.example">'
    )
    (tmp_path / "b.css").write_text("@import 'https://c.example/d.css'; p { background: url(data:x) }")
    found = part.elsewhere(tmp_path)
    assert [line.partition(":")[0] for line in found] == ["a.html", "a.html", "b.css"]
    assert "cdn.example" in found[0] and "fonts.example" in found[1] and "c.example" in found[2]


def test_dialects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "site"))
    from dialect import of_docstring, of_page

    assert of_page("| `a\\|b` | x \\| y |\n`a\\|b`") == "| `a|b` | x \\| y |\n`a\\|b`"
    assert of_docstring("L[k, t](cell)") == "L[k, t]\\(cell)"
    assert of_docstring("One.\n\n>>> f[0](1)\n2\n\nTwo.") == "One.\n\n```pycon\n>>> f[0](1)\n2\n```\n\nTwo."


def test_the_files_to_imitate_exist() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"\| `([\w./-]+/[\w.-]+\.\w+)` \|", page)
    assert len(named) > 8 and [path for path in named if not (ROOT / path).is_file()] == []


# ---- the bibliography ----


def is_entry(names: str, year: str) -> bool:
    return any(entry.startswith(f"{names} ") and year in entry for entry in ENTRIES)


def test_every_source_that_the_code_names_is_in_the_bibliography() -> None:
    cited = {
        (names, year)
        for path in (ROOT / "src").rglob("*.py")
        for names, year in CITED.findall(path.read_text(encoding="utf-8"))
    }
    assert {names for names, _ in cited} >= {"Russo", "Veach and Guibas", "Sen et al.", "Katz-Samuels and Scott"}
    assert [source for source in sorted(cited) if not is_entry(*source)] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.partition("\n")[0])
def test_every_source_is_used_where_the_bibliography_says(entry: str) -> None:
    """The pages link to the entry, the files name its first author or one of its words."""
    heading = entry.partition("\n")[0]
    anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
    used = entry.rpartition("Used in")[2]
    pages, files = re.findall(r"\]\(([\w/.-]+\.md)", used), re.findall(r"`([\w./-]+\.\w+)`", used)
    assert pages or files
    for page in pages:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        assert f"bibliography.md#{anchor}" in text or page.startswith(("../", "paper/")), page
    for file in files:
        path = next(path for path in (ROOT / "src" / "fairarm" / file, ROOT / file) if path.is_file())
        assert re.match(r"[A-Z][\w-]+", heading)[0] in path.read_text(encoding="utf-8") or file in UNNAMED, file  # type: ignore[index]


UNNAMED = {"algorithms/csr.py", "algorithms/two_stage.py", "catalog/hepar2.py"}
"""The paper is "the paper" there, and the network HEPAR-II."""
