"""A study over HTTP: the methods of `Study`, for programs that must answer people in time whatever the service does."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from threading import Event as Signal
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter

from fairarm.beliefs.findings import Finding
from fairarm.errors import OptionError
from fairarm.files import write_bytes
from fairarm.optional import require
from fairarm.service.unreachable import Unreachable, refusal
from fairarm.studies.answers import (
    ArmStanding,
    Assignment,
    CohortReport,
    Event,
    ExposureReport,
    HistoryPoint,
    Monitor,
    Outcome,
    StudyStatus,
    Summary,
    Told,
)
from fairarm.studies.errors import Busy, StudyError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
TIMEOUT = 0.1
PATIENCE = 10.0
CALLS = 32
OWED = 10_000
