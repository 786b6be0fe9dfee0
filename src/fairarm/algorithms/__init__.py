"""Algorithms as ask/tell state machines over pure procedures. One algorithm, or family, a file."""

from fairarm.algorithms.best_mixture import BestMixture, MixtureReport
from fairarm.algorithms.csr import Readings
from fairarm.algorithms.pool import PoolOptions
from fairarm.algorithms.procedure import Guarantee
from fairarm.algorithms.registered import Registration
from fairarm.algorithms.registry import (
    DEFAULT,
    DESCRIPTIONS,
    algorithm,
    known_algorithms,
    make_procedure,
    options_of,
    register,
    resume,
)
from fairarm.algorithms.run import Algorithm
from fairarm.algorithms.verdict import ArmReason, ArmReport, Verdict
from fairarm.problem.answer import Answer, Status

__all__ = [
    "DEFAULT",
    "DESCRIPTIONS",
    "Algorithm",
    "Answer",
    "ArmReason",
    "ArmReport",
    "BestMixture",
    "Guarantee",
    "MixtureReport",
    "PoolOptions",
    "Readings",
    "Registration",
    "Status",
    "Verdict",
    "algorithm",
    "known_algorithms",
    "make_procedure",
    "options_of",
    "register",
    "resume",
]
