"""What is proved of the arms, from the evidence: the joint region of `core.certified` for a problem's cells."""

from __future__ import annotations

from fairarm.algorithms.evidence import Evidence
from fairarm.core.types import IntArray
from fairarm.problem.model import Problem


def require_certifiable(problem: Problem) -> None:
    """An error where no certified rule exists."""


def certificates(evidence: Evidence, estimated: bool, delta: float) -> tuple[IntArray, IntArray]:
    """The proved answer (N,), UNDECIDED where there is none, and what is proved of each arm, (N, K) of Proof."""
    raise NotImplementedError
