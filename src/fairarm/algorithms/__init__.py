"""Algorithms as ask/tell state machines over pure procedures. One algorithm, or family, a file."""

from fairarm.algorithms.base import Algorithm
from fairarm.algorithms.registry import DESCRIPTIONS, algorithm, make_procedure, resume
from fairarm.algorithms.state import ArmReport, Status, Verdict
from fairarm.algorithms.successive import Readings

__all__ = [
    "DESCRIPTIONS",
    "Algorithm",
    "ArmReport",
    "Readings",
    "Status",
    "Verdict",
    "algorithm",
    "make_procedure",
    "resume",
]
