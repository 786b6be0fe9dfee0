"""Templates to text: everything that comes from outside is escaped, what cannot be seen is written as what it is, and a
name that is missing is an error."""

from __future__ import annotations

from functools import cache
from typing import Any

from fairarm.errors import printable


def render(template: str, **values: Any) -> str:
    """A template with its values: all is escaped but what is marked as safe, and a missing name is an error."""
    return str(_environment().get_template(template).render(values))


@cache
def _environment() -> Any:
    """With the templates that were compiled before."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("fairarm.reports"),
        autoescape=True,
        finalize=_seen,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _seen(given: Any) -> Any:
    """Plain text as `printable`: no control character, and none that turns the direction of writing, reaches a page."""
    return printable(given) if type(given) is str else given
