"""Puts this folder on the path, so that tests in any subfolder can import the helpers that live beside it."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

with warnings.catch_warnings():
    # pyAgrum's first import warns about SWIG types, and a warning turned into an error there crashes the interpreter.
    warnings.filterwarnings("ignore", message="builtin type [Ss]wig", category=DeprecationWarning)
    import pyagrum  # noqa: F401
