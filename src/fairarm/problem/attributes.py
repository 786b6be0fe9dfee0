"""Shim."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """Shim."""

    members: tuple[str, ...]
    causes: tuple[str, ...]
