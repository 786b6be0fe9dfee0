"""A figure's file as part of the paper's page: nothing that names another file, ids of its own, words left as they are."""

from __future__ import annotations

from fairarm.reports.paper.inline import inlined
from page_tree import read_page


def test_ids_and_references_are_the_pages_own() -> None:
    text = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 10 20" width="10pt">'
        '<metadata>x</metadata><defs><style>a</style><path id="p" d="M 0 0&#10;L 1 1"/></defs>'
        '<use xlink:href="#p" style="fill: #c62828; clip-path: url(#p); font-family: \'A\', b; x: y"/>'
        "<text>#c62828 url(#p) id=</text></svg>"
    )
    element = read_page(inlined(text, "fig", "A <title>")).all("svg")[0]
    assert element.attributes["viewbox"] == "0 0 10 20" and "width" not in element.attributes
    assert element.all("title")[0].text == "A <title>"
    assert element.find("fig-p").attributes["d"] == "M 0 0 L 1 1"
    use = element.all("use")[0].attributes
    assert use == {"href": "#fig-p", "style": "fill: #c62828; clip-path: url(#fig-p);  x: y"}
    assert element.all("text")[0].text == "#c62828 url(#p) id="
    assert not element.all("metadata") and not element.all("style")
