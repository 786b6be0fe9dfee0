"""Puts this folder on the path, so that tests in any subfolder can import the helpers that live beside it."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ.pop("COLUMNS", None)  # output is as wide as on a pipe, whatever terminal runs the tests

with warnings.catch_warnings():
    # pyAgrum's first import warns about SWIG types, and a warning turned into an error there crashes the interpreter.
    warnings.filterwarnings("ignore", message="builtin type [Ss]wig", category=DeprecationWarning)
    import pyagrum  # noqa: F401
