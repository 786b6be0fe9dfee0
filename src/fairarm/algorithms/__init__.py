"""Algorithms as ask/tell state machines over pure procedures. One algorithm, or family, a file."""

from fairarm.algorithms.base import Algorithm
from fairarm.algorithms.mixtures import BestMixture, MixtureReport
from fairarm.algorithms.pool import PoolOptions
from fairarm.algorithms.registry import DEFAULT, DESCRIPTIONS, algorithm, make_procedure, options_of, resume
from fairarm.algorithms.state import ArmReport, Guarantee, Status, Verdict
from fairarm.algorithms.successive import Readings

__all__ = [
    "DEFAULT",
    "DESCRIPTIONS",
    "Algorithm",
    "ArmReport",
    "BestMixture",
    "Guarantee",
    "MixtureReport",
    "PoolOptions",
    "Readings",
    "Status",
    "Verdict",
    "algorithm",
    "make_procedure",
    "options_of",
    "resume",
]
