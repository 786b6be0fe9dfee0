"""Things that can be pulled: a Bayesian network reduced to its cells, or a user's own function."""

from fairarm.problem.inference import context_law
from fairarm.worlds.base import Truth, World
from fairarm.worlds.function import FunctionWorld
from fairarm.worlds.network import NetworkWorld

__all__ = ["FunctionWorld", "NetworkWorld", "Truth", "World", "context_law"]
