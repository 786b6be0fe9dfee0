"""Puts the project's folder on the path: the gate that these tests use lives in benchmarks/calibration."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
