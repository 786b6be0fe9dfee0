"""The paper's evidence: every experiment by one command, resumable, the same for any number of workers."""

from fairarm.experiments.paper.plan import PaperPoint, paper_plan
from fairarm.experiments.paper.run import FinishedPoint, run_paper

__all__ = ["FinishedPoint", "PaperPoint", "paper_plan", "run_paper"]
