"""A figure's SVG file as an element of a page: nothing that names another file, and ids that no other figure has."""

from __future__ import annotations

import re
from xml.etree import ElementTree

_FONT = re.compile(r"font-family: [^;]*;?")
_REFERENCE = re.compile(r"url\(#")
_DROPPED = ("metadata", "style")


def inlined(text: str, name: str, title: str) -> str:
    """The element, whose ids start with ``name``."""
    root = ElementTree.fromstring(text)
    _clean(root, name)
    _, _, width, _ = root.attrib["viewBox"].split()
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "style": f"max-width: {float(width):g}px",
        "role": "img",
        "aria-labelledby": f"{name}-title",
    }
    words = ElementTree.Element("title", {"id": f"{name}-title"})
    words.text = title
    root.insert(0, words)
    return ElementTree.tostring(root, encoding="unicode")


def _clean(element: ElementTree.Element, name: str) -> None:
    """Local names, own ids and the page's fonts, in the whole tree. What is written in it is left as it is."""
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
    return _FONT.sub("", _REFERENCE.sub(f"url(#{name}-", value)).strip()
