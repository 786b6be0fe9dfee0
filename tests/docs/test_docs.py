"""The documentation runs: Python blocks, command lines, problem files, and links to files that exist."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from fairarm.cli import main
from fairarm.readers.problem_file import parse_problem

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")) if path.is_file())
LINKING = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")})

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"^ {4}.*$|`[^`]*`", re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)|<(?:img|a)\b[^>]*?(?:src|href)=\"([^\"]+)\"", re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line of the page on which the text starts."""

    language: str
    text: str
    line: int


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = (Block(m[1], m[2], text.count("\n", 0, m.start(2)) + 1) for m in _FENCE.finditer(text))
    return [block for block in found if block.language in languages]


def pages_with(*languages: str, start: str = "") -> list[Path]:
    return [page for page in PAGES if any(start in block.text for block in blocks(page, *languages))]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", pages_with("python", "console"), ids=name)
def test_blocks_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python blocks and commands, as someone would who reads the page in a folder that has the examples."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    namespace: dict[str, object] = {"__name__": "page"}
    monkeypatch.setitem(sys.modules, "page", type(sys)("page"))  # dataclasses look their module up
    for block in blocks(page, "python", "console"):
        if block.language == "python":
            code = "\n" * (block.line - 1) + block.text  # so that a traceback shows the page's own line
            exec(compile(code, str(page), "exec"), namespace)
            continue
        for number, line in enumerate(block.text.splitlines(), start=block.line):
            if line.startswith("$ fairarm"):
                run_command(line.removeprefix("$ "), f"{name(page)}:{number}: {line}", monkeypatch)


def run_command(line: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None), where


@pytest.mark.parametrize("page", pages_with("toml", start="format = 1"), ids=name)
def test_problem_files_parse(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        if block.text.startswith("format = 1"):
            parse_problem(block.text, f"{name(page)}:{block.line}", tmp_path)


@pytest.mark.parametrize("page", LINKING, ids=name)
def test_relative_links_exist(page: Path) -> None:
    prose = _CODE.sub("", _FENCE.sub("", page.read_text(encoding="utf-8")))
    targets = [first or second for first, second in _LINK.findall(prose)]
    relative = [t.partition("#")[0] for t in targets if not re.match(r"[a-z][a-z0-9+.-]*:|#", t, re.IGNORECASE)]
    assert [t for t in relative if t and not (page.parent / t).exists()] == []


def test_every_decision_is_in_the_list() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\((\d{4}-[^)]*)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in folder.glob("0*.md"))


def test_every_finding_is_in_the_page_about_logs() -> None:
    """With whether it voids what is certified, as the code has it where rows are left out."""
    from fairarm.logs.reading import LEFT_OUT

    page = (ROOT / "docs" / "logs.md").read_text(encoding="utf-8")
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "fairarm").rglob("*.py"))
    for finding in {*LEFT_OUT, *re.findall(r'Finding\("([a-z-]+)"', source)}:
        line = next((line for line in page.splitlines() if line.startswith("|") and f"`{finding}`" in line), "")
        assert line, f"docs/logs.md does not list {finding}"
        if finding in LEFT_OUT:
            assert line.split("|")[-2].strip() == ("yes" if LEFT_OUT[finding][0] else "no"), finding
