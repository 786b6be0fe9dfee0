"""What the pulls so far say, in the form the estimators take: counts of cells, rows, or sums by cell."""

from fairarm.beliefs.evidence.base import CountedEvidence, Evidence, Observations, RunEvidence, Summary
from fairarm.beliefs.evidence.cells import CellEvidence
from fairarm.beliefs.evidence.rows import RowEvidence
from fairarm.beliefs.evidence.sums import SumEvidence
from fairarm.problem.problem import Problem

__all__ = [
    "CellEvidence",
    "CountedEvidence",
    "Evidence",
    "Observations",
    "RowEvidence",
    "RunEvidence",
    "SumEvidence",
    "Summary",
    "empty_evidence",
]


def empty_evidence(problem: Problem) -> RunEvidence:
    """No pull yet: counts of cells where every column is finite, else rows."""
    return CellEvidence.empty(problem) if problem.compiled.finite else RowEvidence.empty(problem)
