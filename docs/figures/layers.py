"""The picture of the layers, drawn from the contract that import-linter keeps: ``python docs/figures/layers.py`` writes layers.svg."""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
SAID = {
    "cli": ("commands, tables, JSON documents",),
    "testing": ("what your algorithm must do",),
    "service": ("live studies over HTTP, the client, pages",),
    "reports": ("words, figures, offline pages",),
    "experiments": ("evaluate, inspect, plan,", "identify, simulate"),
    "studies": ("live studies in a database,", "person by person"),
    "catalog": ("bundled problems by name",),
    "algorithms": ("procedures, state,", "verdict"),
    "worlds": ("what can be", "pulled"),
    "readers": ("problem files,", "networks"),
    "logs": ("rows from files,", "bases and frames"),
    "beliefs": ("what rows say of every arm",),
    "problem": ("graph, arms, mechanisms, likelihood; Request and Batch",),
    "core": ("pure functions of arrays: the mathematics",),
}
"""What each layer holds, by line."""
FILLS = {"core": "#fff3e0", "problem": "#fff8e1", "beliefs": "#fff8e1", "catalog": "#e3f2fd", "experiments": "#e3f2fd", "studies": "#e3f2fd", "algorithms": "#e8f5e9", "worlds": "#e8f5e9", "readers": "#e8f5e9", "logs": "#e8f5e9"}  # fmt: skip
OTHERS = "#eceff1"
DARK, BLACK, GREEN = "#37474f", "#102027", "#2e7d32"

LEFT, WIDTH, BETWEEN = 120, 640, 16
LOW, HIGH = 46, 92
"""Heights of a layer of one, and of one with several side by side."""


def layers() -> list[list[str]]:
    """The names of each layer, top first; those of one layer do not import each other."""
    found = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    contract = found["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[name.strip().removeprefix("fairarm.") for name in layer.split("|")] for layer in contract]


def text(x: float, y: float, said: str, size: int = 15, fill: str = DARK, more: str = "") -> str:
    return f'  <text x="{x:g}" y="{y:g}" font-size="{size}" fill="{fill}"{more}>{escape(said)}</text>'


def boxes(names: list[str], top: int) -> tuple[list[str], int]:
    """One layer's lines from this height down, and its height."""
    several, wide = len(names) > 1, (WIDTH - BETWEEN * (len(names) - 1)) // len(names)
    height = HIGH if several and any(len(SAID[name]) > 1 for name in names) else LOW + 20 * several
    lines = []
    for i, name in enumerate(names):
        x, fill = LEFT + i * (wide + BETWEEN), FILLS.get(name, OTHERS)
        lines.append(f'  <rect x="{x}" y="{top}" width="{wide}" height="{height}" rx="6" fill="{fill}" stroke="{DARK}" stroke-width="1.5"/>')  # fmt: skip
        inner = x + (12 if several else 20)
        lines.append(text(inner, top + (30 if several else 29), name, 18, BLACK, ' font-weight="bold"'))
        start = (inner, top + 54) if several else (290, top + 29)
        lines += [text(start[0], start[1] + 20 * j, line) for j, line in enumerate(SAID[name])]
    return lines, height


def picture() -> str:
    """The SVG."""
    *drawn, small, least = layers()
    lines, top, said = [], 20, []
    for names in drawn:
        made, height = boxes(names, top)
        lines += made
        top += height + 18
        said.append(" and ".join(names) + " side by side" if len(names) > 1 else names[0])
        if len(names) > 2:
            lines.append(text(LEFT + WIDTH / 2, top, "the four do not know each other", 14, GREEN, ' text-anchor="middle"'))  # fmt: skip
            top += 12
    end, anywhere = top - 18, ", ".join([*small, *least, "shown"])
    middle = (20 + end) / 2
    lines.append(f'  <path d="M60 40 L60 {end - 16:g}" stroke="{DARK}" stroke-width="1.5" fill="none" marker-end="url(#arrow)"/>')  # fmt: skip
    lines.append(text(44, middle, "imports only what is below", more=f' transform="rotate(-90 44 {middle:g})" text-anchor="middle"'))  # fmt: skip
    lines.append(text(LEFT + WIDTH / 2, end + 28, f"{anywhere}:", 14, more=' text-anchor="middle"'))
    lines.append(text(LEFT + WIDTH / 2, end + 46, "small modules that everything may import", 14, more=' text-anchor="middle"'))  # fmt: skip
    height = end + 60
    desc = f"From top to bottom: {'; '.join(said)}. Each layer imports only layers below it."
    head = f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 {height}" width="880" height="{height}" font-family="Helvetica, Arial, sans-serif" role="img" aria-labelledby="title desc">
  <title id="title">The layers of fairarm</title>
  <desc id="desc">{escape(desc)}</desc>
  <defs>
    <marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
      <path d="M0 0 L10 5 L0 10 z" fill="{DARK}"/>
    </marker>
  </defs>
  <rect width="880" height="{height}" fill="#ffffff"/>"""
    return "\n".join([head, *lines, "</svg>", ""])


if __name__ == "__main__":
    (HERE / "layers.svg").write_text(picture(), encoding="utf-8")
