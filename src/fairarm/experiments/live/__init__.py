"""Live studies, simulated: people arrive by the hour, outcomes come days later or never, cohorts do not wait for each other."""

from fairarm.algorithms.timing import Timing
from fairarm.experiments.live.choice import LivePlan, plan_live
from fairarm.experiments.live.results import LivePoint, LiveSimulation
from fairarm.experiments.live.simulate import simulate_live
from fairarm.experiments.live.world import LiveWorld

__all__ = ["LivePlan", "LivePoint", "LiveSimulation", "LiveWorld", "Timing", "plan_live", "simulate_live"]
