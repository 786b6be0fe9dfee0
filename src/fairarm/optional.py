"""Packages that not every installation has: the extra that brings each one is named by whoever needs it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fairarm.errors import OptionError, one_line


def require(module: str, extra: str) -> Any:
    """The module, or on one line how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        text = f"{module} is needed and cannot be imported ({error}). Install it: pip install 'fairarm[{extra}]', or in a copy of the repository pip install '.[{extra}]'"
        raise OptionError(one_line(text)) from None
