"""The documentation runs: Python blocks, command lines, problem files, and links to files that exist."""

from __future__ import annotations

import ast
import io
import re
import runpy
import tokenize
from pathlib import Path

import pytest
from docs.outputs import PAGES, blocks, run_page, shows

from fairarm.readers.problem_file import parse_problem

ROOT = Path(__file__).parents[2]
LINKING = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")})

_FENCED = re.compile(r"^```.*?^```\s*$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"^ {4}.*$|`[^`]*`", re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)|<(?:img|a)\b[^>]*?(?:src|href)=\"([^\"]+)\"", re.DOTALL)


def pages_with(*languages: str, start: str = "") -> list[Path]:
    return [page for page in PAGES if any(start in block.text for block in blocks(page, *languages))]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", pages_with("python", "console"), ids=name)
def test_pages_run_and_show_what_is_printed(page: Path, tmp_path: Path) -> None:
    for command in run_page(page, tmp_path):
        where = f"{name(page)}:{command.line}: {command.text} prints:"
        assert command.holds, "\n".join([where, *command.printed])


def test_shown_lines_are_compared() -> None:
    assert shows(("a", "  ⋮", "c"), ("a", "b", "b", "c "))
    assert shows(("a", "  ⋮"), ("a",))
    assert not shows(("a", "c"), ("a", "b", "c"))
    assert not shows(("a", "  ⋮", "d"), ("a", "b", "c"))


@pytest.mark.parametrize("page", pages_with("toml", start="format = 1"), ids=name)
def test_problem_files_parse(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        if block.text.startswith("format = 1"):
            parse_problem(block.text, f"{name(page)}:{block.line}", tmp_path)


@pytest.mark.parametrize("page", LINKING, ids=name)
def test_relative_links_exist(page: Path) -> None:
    prose = _CODE.sub("", _FENCED.sub("", page.read_text(encoding="utf-8")))
    targets = [first or second for first, second in _LINK.findall(prose)]
    relative = [t.partition("#")[0] for t in targets if not re.match(r"[a-z][a-z0-9+.-]*:|#", t, re.IGNORECASE)]
    assert [t for t in relative if t and not (page.parent / t).exists()] == []


def test_every_decision_is_in_the_list() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\((\d{4}-[^)]*)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in folder.glob("0*.md"))


def test_every_finding_is_in_the_page_about_logs() -> None:
    """With its level, as the code has it where rows are left out."""
    from fairarm.logs.reading import LEFT_OUT

    page = (ROOT / "docs" / "logs.md").read_text(encoding="utf-8").partition("\n## What is checked\n")[2]
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "fairarm").rglob("*.py"))
    for finding in {*LEFT_OUT, *re.findall(r'Finding\("([a-z-]+)"', source)}:
        line = next((line for line in page.splitlines() if line.startswith("|") and f"`{finding}`" in line), "")
        assert line, f"docs/logs.md does not list {finding}"
        if finding in LEFT_OUT:
            assert line.split("|")[-2].strip() == LEFT_OUT[finding][0], finding


# ---- names and files that the docs and the source speak of ----

SOURCE = ROOT / "src" / "fairarm"
_ROW = re.compile(r"^\|(?P<cells>.*)\|$", re.MULTILINE)
_TICKED = re.compile(r"`([^`]+)`")


def notation_rows() -> list[tuple[list[str], list[str]]]:
    """What each line of docs/notation.md calls a symbol in the code, and the files in which it says that is."""
    found = []
    for row in _ROW.finditer((ROOT / "docs" / "notation.md").read_text(encoding="utf-8").replace(r"\|", "¦")):
        cells = [cell.strip() for cell in row["cells"].split("|")]
        names, files = _TICKED.findall(cells[2]), [text for text in _TICKED.findall(cells[-1]) if text.endswith(".py")]
        if names and files:
            found.append((names, files))
    return found


def members(tree: ast.Module, owner: str) -> set[str]:
    """What a class of the module defines: fields, methods, and what its methods set."""
    body = next((node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == owner), None)
    nodes = [] if body is None else list(ast.walk(body))
    named = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    targets = {
        node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    return named | targets | {n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}


def is_in(called: str, owner: str, file: str) -> bool:
    """Whether the file defines this member of a class; a name that is no member only has to be there."""
    text = (SOURCE / file).read_text(encoding="utf-8")
    member = re.match(r"\w+", called.rpartition(".")[2])
    if owner and member:
        return member[0] in members(ast.parse(text), owner)
    return re.search(rf"(?<!\w){re.escape(called.partition('(')[0])}(?!\w)", text) is not None


@pytest.mark.parametrize("row", notation_rows(), ids=lambda row: ",".join(row[0]))
def test_names_of_the_notation_are_where_it_says(row: tuple[list[str], list[str]]) -> None:
    names, files = row
    owner, unused = "", set(files)
    assert [file for file in files if not (SOURCE / file).is_file()] == []
    for called in names:
        dotted = re.match(r"([A-Z]\w+)?\.\w", called)
        owner = (dotted[1] or owner) if dotted else ""
        there = {file for file in files if is_in(called, owner, file)}
        assert there, f"{called} is not in {', '.join(files)}"
        unused -= there
    assert not unused, f"{', '.join(unused)} has none of {', '.join(names)}"


_NAMED_FILE = re.compile(r"(?<![\w/.{}\"'-])((?:docs|benchmarks|tests|examples|src)/[\w./-]+\.\w+|[\w/-]+\.md)\b")


def test_files_named_in_the_source_exist() -> None:
    """A page or file that a comment, docstring or message sends a reader to."""
    lost = []
    for path in (
        path for folder in ("src", "tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")
    ):
        for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
                named = _NAMED_FILE.findall(token.string)
                lost += [
                    f"{path.relative_to(ROOT)}:{token.start[0]}: {file}" for file in named if not is_file(file, path)
                ]
    assert lost == []


def is_file(file: str, beside: Path) -> bool:
    return any((folder / file).is_file() for folder in (ROOT, ROOT / "docs", ROOT / "docs" / "paper", beside.parent))


def test_the_picture_of_the_layers_is_that_of_the_contract() -> None:
    """Made again, it is the same: a layer that import-linter knows is in it, with what it holds."""
    made = runpy.run_path(str(ROOT / "docs" / "figures" / "layers.py"))
    assert made["picture"]() == (ROOT / "docs" / "figures" / "layers.svg").read_text(encoding="utf-8")
    assert {"studies", "service"} <= {name for names in made["layers"]() for name in names}
