"""A page as a tree, read by the standard library alone; a page whose elements are not closed in order is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def all(self, tag: str, **attributes: str) -> list[Element]:
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [e for e in self.walk() if e.tag == tag and wanted.items() <= e.attributes.items()]

    def find(self, id: str) -> Element:
        (found,) = [e for e in self.walk() if e.attributes.get("id") == id]
        return found

    @property
    def text(self) -> str:
        """What is written in it, without style sheets, in single spaces."""
        parts = [c if isinstance(c, str) else c.text for c in self.children if isinstance(c, str) or c.tag != "style"]
        return " ".join(" ".join(parts).split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.stack = [Element("page", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            made = self.stack[-1].children[-1]
            assert isinstance(made, Element)
            self.stack.append(made)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice in <{tag}>"
        self.stack[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.stack[-1].children.append(data)


def read_page(text: str) -> Element:
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert len(reader.stack) == 1, f"<{reader.stack[-1].tag}> is not closed"
    return reader.stack[0]


def table_rows(table: Element) -> list[dict[str, str]]:
    """By the names of the columns; of two with the same name the later is numbered."""
    names: list[str] = []
    for head in table.all("thead")[0].all("th"):
        names.append(head.text if head.text not in names else f"{head.text} 2")
    rows = []
    for row in table.all("tbody")[0].all("tr"):
        cells = [c.text for c in row.children if isinstance(c, Element)]
        rows.append(dict(zip(names, cells, strict=True)))
    return rows
