"""Figures as elements of a page: matplotlib's SVG, cleaned, with a title and a description, in the page's own colours.

A figure is drawn with the colours of `THEME`, which stand for the page's CSS variables: the same figure is then right on
a light page, on a dark one and in print. Same figure, same bytes: no dates, no random ids.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from fairarm.reports.figures import COLOURS, SALT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {
    "svg.hashsalt": SALT,
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 12,
    "hatch.linewidth": 0.8,
}
"""Text stays text, to be read aloud and searched; a dollar in an arm's name is a dollar."""

NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}

NAMES = ("ink", "muted", "faint", "line", "band", "mark", "good", "paper")
THEME = {name: f"#0100{i:02x}" for i, name in enumerate(NAMES, start=1)}
"""Colours by the name of the CSS variable that they stand for."""

_VARIABLES = {
    "#000000": "var(--ink)",
    **{colour: f"var(--{name})" for name, colour in THEME.items()},
    **{colour: f"var(--{name}, {colour})" for name, colour in COLOURS.items() if colour != "#000000"},
}
_COLOUR = re.compile("|".join(_VARIABLES))
_FONT = re.compile(r"font-family: [^;]*;?")
_REFERENCE = re.compile(r"url\(#")
_DROPPED = ("metadata", "style")


@contextmanager
def drawing() -> Iterator[None]:
    """The style in which figures of a page are made; names in scripts that the measuring font lacks are no concern."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def page_svg(figure: Figure, name: str, title: str, description: str) -> str:
    """A figure made within `drawing`, as an element whose ids start with ``name``."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata=NO_METADATA, transparent=True)
    return inlined(text.getvalue(), name, title, description)


def inlined(text: str, name: str, title: str, description: str = "") -> str:
    """An SVG file's text as an element of a page: nothing that names another file, and ids that no other figure has."""
    root = ElementTree.fromstring(text)
    _clean(root, name)
    _, _, width, _ = root.attrib["viewBox"].split()
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "style": f"max-width: {float(width):g}px",
        "role": "img",
        "aria-labelledby": f"{name}-title {name}-text" if description else f"{name}-title",
    }
    for at, (tag, words) in enumerate({"title": title, "desc": description}.items()):
        if words:
            element = ElementTree.Element(tag, {"id": f"{name}-{'text' if tag == 'desc' else tag}"})
            element.text = words
            root.insert(at, element)
    return ElementTree.tostring(root, encoding="unicode")


def _clean(element: ElementTree.Element, name: str) -> None:
    """Local names, own ids, the page's colours and fonts, in the whole tree. What is written in it is left as it is."""
    element.tag = _local(element.tag)
    element.attrib = {_local(key): _attribute(_local(key), value, name) for key, value in element.attrib.items()}
    for child in list(element):
        if _local(child.tag) in _DROPPED:
            element.remove(child)
        else:
            _clean(child, name)
    if element.tag != "text":
        element.text = None
    element.tail = None


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _attribute(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return f"#{name}-{value[1:]}" if value.startswith("#") else value
    if key == "d":
        return " ".join(value.split())
    value = _REFERENCE.sub(f"url(#{name}-", value)
    return _COLOUR.sub(_variable, _FONT.sub("", value)).strip()


def _variable(found: re.Match[str]) -> str:
    return _VARIABLES[found[0]]


def shown(text: str, most: int) -> str:
    """A name that fits a figure, shortened in its middle: names often differ at their ends."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"
