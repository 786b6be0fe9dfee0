"""Live studies over HTTP, and pages to watch them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairarm.late import late_names

if TYPE_CHECKING:
    from fairarm.service.application import app
    from fairarm.service.settings import Settings

__all__ = ["Settings", "app"]

_late = late_names(__name__, {"fairarm.service.application": ("app",), "fairarm.service.settings": ("Settings",)})


def __getattr__(name: str) -> Any:
    return _late(name)
