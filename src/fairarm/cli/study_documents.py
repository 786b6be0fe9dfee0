"""Live studies as strict JSON: times in UTC, +inf as "inf", unknown as null. docs/json.md lists every key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from fairarm.cli.documents import number, question
from fairarm.reports.words.studies import known_now
from fairarm.studies import Study, StudyVerdict


def plain(value: Any) -> Any:
    """Dataclasses, times and numbers as JSON has them."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, Enum):
        return value.value
    return number(value) if isinstance(value, float) else value


def created(study: Study) -> dict[str, Any]:
    """What ``study create --json`` prints."""
    return {
        "study": study.name,
        "problem": study.problem.name,
        **question(study.problem),
        "options": plain(study.options),
        "under_way_at_once": study.under_way_at_once,
    }


def verdict(found: StudyVerdict) -> dict[str, Any]:
    """Without the verdict of the algorithm, whose arms ``study show --json`` has of its own."""
    said = {field.name: plain(getattr(found, field.name)) for field in fields(found) if field.name != "verdict"}
    return {**said, "text": known_now(found)}


def study(found: Study) -> dict[str, Any]:
    """What ``study show --json`` prints."""
    return {
        **created(found),
        "verdict": verdict(found.verdict()),
        "arms": plain(found.arms()),
        "cohorts": plain(found.cohorts()),
        "exposure": plain(found.exposure()),
        "monitors": plain(found.monitors()),
        "findings": plain(found.findings()),
        "history": plain(found.history()),
        "events": plain(found.events()),
    }
