"""Builds the documentation as a static site that works offline, opened from the file system: ``make docs``.

    python docs/site/build.py build/site     # a broken link or anchor is an error
    python docs/site/build.py                # only checks: the site is thrown away

The site has the folders of the repository, so that a link that holds here holds there. Nothing that a page loads is elsewhere.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from dialect import of_page

ROOT = Path(__file__).parents[2]
SETTINGS = Path(__file__).with_name("mkdocs.yml")
SHOWN = (
    "*.md", "CITATION.cff", "LICENSE", "docs/**/*.md", "docs/**/*.svg", "docs/**/*.png", "docs/**/*.csv", "docs/site/*.js", "docs/site/*.css",
    "benchmarks/**/*.md", "benchmarks/**/*.svg", "benchmarks/**/*.csv", "examples/*.md", "examples/*/*.*",
)  # fmt: skip
"""What of the repository is in the site."""

_ELSEWHERE = r"[\"']?(?:https?:)?//[^\"'> )]+"
_LOADED = re.compile(
    rf"<(?:script|img|iframe|source)\b[^>]*?\bsrc={_ELSEWHERE}"
    rf"|<link\b[^>]*?\brel=[\"']?(?:stylesheet|preconnect|icon)[^>]*?\bhref={_ELSEWHERE}"
    rf"|@import\s+{_ELSEWHERE}|url\({_ELSEWHERE}"
)


def build(site: Path) -> None:
    """Build the site into a folder; mkdocs ends with an error where a link or an anchor leads nowhere."""
    from mkdocs.commands.build import build as make
    from mkdocs.config import load_config

    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder)
        stage(pages)
        config = load_config(str(SETTINGS), docs_dir=str(pages), site_dir=str(site.resolve()))
        config.nav = [*(config.nav or []), *growing(pages)]
        config.plugins.on_startup(command="build", dirty=False)
        make(config)
        config.plugins.on_shutdown()


def stage(pages: Path) -> None:
    """Copy what is shown, in the folders of the repository."""
    for path in sorted({path for pattern in SHOWN for path in ROOT.glob(pattern)}):
        copy = pages / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            copy.write_text(of_page(path.read_text(encoding="utf-8")), encoding="utf-8")
        else:
            shutil.copyfile(path, copy)


def growing(pages: Path) -> list[Any]:
    """The parts of the menu whose pages grow in number: decisions and measurements."""
    decisions, measured = (
        sorted(path.relative_to(pages).as_posix() for path in (pages / folder).rglob("*.md"))
        for folder in ("docs/decisions", "benchmarks")
    )
    decisions.sort(key=lambda page: not page.endswith("README.md"))
    return [{"Decisions": decisions}, {"Measurements": measured}]


def elsewhere(site: Path) -> list[str]:
    """What a page or a style sheet of the site would load from elsewhere."""
    texts = [path for path in sorted(site.rglob("*")) if path.suffix in (".html", ".css")]
    return [
        f"{path.relative_to(site)}: {found}" for path in texts for found in _LOADED.findall(path.read_text("utf-8"))
    ]


def main() -> int:
    """Build into the folder that is given, or only check."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    with tempfile.TemporaryDirectory() as folder:
        site = Path(sys.argv[1] if len(sys.argv) > 1 else folder)
        build(site)
        loaded = elsewhere(site)
    for line in loaded:
        sys.stderr.write(f"The site would load from elsewhere: {line}\n")
    return min(len(loaded), 1)


if __name__ == "__main__":
    sys.exit(main())
