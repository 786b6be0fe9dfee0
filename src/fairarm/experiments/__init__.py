"""What people do with a problem: inspect it, evaluate a log, plan, identify the best fair arm, simulate many runs."""

from fairarm.experiments.evaluate import Evaluation, evaluate
from fairarm.experiments.identify import Identification, identify
from fairarm.experiments.inspect import Inspection, inspect
from fairarm.experiments.limit import find_limit
from fairarm.experiments.plan import ExperimentPlan, plan
from fairarm.experiments.simulate import Point, Simulation, simulate
from fairarm.experiments.start_from_log import LoggedPulls, algorithm, read_log

__all__ = [
    "Evaluation",
    "ExperimentPlan",
    "Identification",
    "Inspection",
    "LoggedPulls",
    "Point",
    "Simulation",
    "algorithm",
    "evaluate",
    "find_limit",
    "identify",
    "inspect",
    "plan",
    "read_log",
    "simulate",
]
