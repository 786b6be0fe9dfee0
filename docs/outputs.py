"""Runs the documentation: every Python block and every ``$ fairarm`` line, in order, as a reader of the page would.

    python docs/outputs.py            # says where a page shows something else than the command prints
    python docs/outputs.py --write    # and puts what is printed now in its place

A shown line that is ``⋮`` stands for any number of printed ones. What was shown between two of them is replaced by the
printed lines that are most like it.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = sorted(path for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")) if path.is_file())
COLUMNS = "120"
"""The width at which output is shown."""
SKIPPED = "⋮"

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```\s*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page on which the text starts."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A ``$ fairarm`` line, the page's line it is on, what is shown below it, and what it prints."""

    text: str
    line: int
    shown: tuple[str, ...]
    printed: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing is shown, or what is printed."""
        return not self.shown or shows(self.shown, self.printed)


def blocks(page: Path, *languages: str) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = (Block(m[1], m[2], text.count("\n", 0, m.start(2)) + 1) for m in _FENCE.finditer(text))
    return [block for block in found if block.language in languages]


def run_page(page: Path, folder: Path) -> Iterator[Command]:
    """Run a page in a folder that has the examples; yields its commands with what they print."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    sys.modules["page"] = type(sys)("page")  # dataclasses look their module up
    namespace: dict[str, object] = {"__name__": "page"}
    try:
        with contextlib.chdir(folder):
            for block in blocks(page, "python", "console"):
                if block.language == "python":
                    code = "\n" * (block.line - 1) + block.text  # so that a traceback shows the page's own line
                    exec(compile(code, str(page), "exec"), namespace)
                else:
                    yield from (_run(command) for command in commands(block))
    finally:
        del sys.modules["page"]


def commands(block: Block) -> list[Command]:
    found: list[Command] = []
    for number, line in enumerate(block.text.splitlines(), start=block.line):
        if line.startswith("$ "):
            found.append(Command(line.removeprefix("$ "), number, ()))
        else:
            last = found.pop()
            found.append(Command(last.text, last.line, (*last.shown, line)))
    return [command for command in found if command.text.startswith("fairarm")]


def _run(command: Command) -> Command:
    """With what it prints; a ``RuntimeError`` where it fails."""
    from fairarm.cli import main

    out, before = io.StringIO(), (sys.argv, os.environ.get("COLUMNS"))
    sys.argv, os.environ["COLUMNS"] = shlex.split(command.text, comments=True), COLUMNS
    try:
        with contextlib.redirect_stdout(out):
            main()
    except SystemExit as ended:
        if ended.code not in (0, None):
            raise RuntimeError(f"line {command.line}: {command.text}: exit code {ended.code}") from None
    finally:
        sys.argv = before[0]
        os.environ.pop("COLUMNS") if before[1] is None else os.environ.update(COLUMNS=before[1])
    return Command(
        command.text, command.line, command.shown, tuple(line.rstrip() for line in out.getvalue().splitlines())
    )


def shows(shown: tuple[str, ...], printed: tuple[str, ...]) -> bool:
    """Whether the printed lines are the shown ones, in order; ``⋮`` stands for none or more of them."""
    pattern = (".*" if line.strip() == SKIPPED else re.escape(line.rstrip()) + "\n" for line in shown)
    return re.fullmatch("".join(pattern), "".join(f"{line.rstrip()}\n" for line in printed), re.DOTALL) is not None


def shown_anew(command: Command) -> list[str]:
    """What the page should show: the printed lines where it skips nothing, else for each run of lines the most alike."""
    if not any(line.strip() == SKIPPED for line in command.shown):
        return list(command.printed)
    made: list[str] = []
    start = 0
    for line in command.shown:
        if line.strip() == SKIPPED:
            made.append(line)
            continue
        rest = range(start, len(command.printed))
        best = max(rest, key=lambda i: difflib.SequenceMatcher(None, line, command.printed[i]).ratio(), default=None)
        if best is None:
            continue
        if best > start and made and made[-1].strip() != SKIPPED:
            made.append(f"  {SKIPPED}")
        made.append(command.printed[best])
        start = best + 1
    if start < len(command.printed) and made[-1].strip() != SKIPPED:
        made.append(f"  {SKIPPED}")
    return made


def write_page(page: Path, ran: list[Command]) -> None:
    """Put what was printed in the place of what the page showed."""
    lines = page.read_text(encoding="utf-8").split("\n")
    for command in sorted(ran, key=lambda command: -command.line):
        if not command.holds:
            lines[command.line : command.line + len(command.shown)] = shown_anew(command)
    page.write_text("\n".join(lines), encoding="utf-8")


def main() -> int:
    wrong = 0
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            ran = list(run_page(page, Path(folder)))
        for command in (command for command in ran if not command.holds):
            wrong += 1
            sys.stdout.write(f"{page.relative_to(ROOT)}:{command.line}: {command.text}\n")
        if "--write" in sys.argv[1:]:
            write_page(page, ran)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
