"""Fewer cases in `make test`, all of them in `make test-all`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def quick(cases: Iterable[Any], first: int) -> list[Any]:
    """For parametrize: the cases, those after the first so many marked slow."""
    return [case if i < first else pytest.param(case, marks=pytest.mark.slow) for i, case in enumerate(cases)]
