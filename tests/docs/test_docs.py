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


def blocks(page: Path, language: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = (Block(m[1], m[2], text.count("\n", 0, m.start(2)) + 1) for m in _FENCE.finditer(text))
    return [block for block in found if block.language == language]


def pages_with(language: str, start: str = "") -> list[Path]:
    return [page for page in PAGES if any(start in block.text for block in blocks(page, language))]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", pages_with("python"), ids=name)
def test_python_blocks_run_in_order(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "page"}
    monkeypatch.setitem(sys.modules, "page", type(sys)("page"))  # dataclasses look their module up
    for block in blocks(page, "python"):
        code = "\n" * (block.line - 1) + block.text  # so that a traceback shows the page's own line
        exec(compile(code, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", pages_with("console", "$ fairarm"), ids=name)
def test_commands_exit_with_0(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "console"):
        for number, line in enumerate(block.text.splitlines(), start=block.line):
            if not line.startswith("$ fairarm"):
                continue
            monkeypatch.setattr(sys, "argv", shlex.split(line.removeprefix("$ ")))
            with pytest.raises(SystemExit) as ended:
                main()
            assert ended.value.code in (0, None), f"{name(page)}:{number}: {line}"


@pytest.mark.parametrize("page", pages_with("toml", "format = 1"), ids=name)
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
