"""Names of a package that are imported when first used, so that a command loads what it needs and no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any


def late_names(package: str, homes: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: ``homes`` are modules with the names that the package has from each.

    No name may be that of a module in the package itself: importing the module would put it in the name's place.
    """
    where = {name: module for module, names in homes.items() for name in names}

    @cache  # a loop asks thousands of times
    def found(name: str) -> Any:
        if name in where:
            return getattr(import_module(where[name]), name)
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return found
