"""Beliefs where the decision or another column is real-valued, or where finite cells are too many for the data.

Arms' means are estimated doubly robustly (`fairarm.core.posterior.doubly_robust`) with a cross-fitted regression of the outcome
(`fairarm.core.posterior.regression`), and believed as jointly normal. Where few rows speak for an arm the belief is as wide as
before any row.
"""

from fairarm.beliefs.robust.beliefs import RobustBeliefs, choose_method
from fairarm.beliefs.robust.layout import Layout

__all__ = ["Layout", "RobustBeliefs", "choose_method"]
