"""What people do with a problem and a world: inspect it, plan, identify the best fair arm, simulate many runs."""

from fairarm.experiments.identify import Identification, identify
from fairarm.experiments.inspection import Inspection, inspect
from fairarm.experiments.limits import find_limit
from fairarm.experiments.planning import ExperimentPlan, plan
from fairarm.experiments.simulate import Point, Simulation, simulate

__all__ = [
    "ExperimentPlan",
    "Identification",
    "Inspection",
    "Point",
    "Simulation",
    "find_limit",
    "identify",
    "inspect",
    "plan",
    "simulate",
]
