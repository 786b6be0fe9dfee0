"""fairarm: find the best fair arm.

    from fairarm import load_problem, identify
    scenario = load_problem("ad-marketplace")
    identify(scenario.problem, scenario.world, pulls=10_000, seed=7).verdict

Names are imported when first used, so that ``import fairarm`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairarm.late import late_names

if TYPE_CHECKING:
    from fairarm.algorithms import (
        Algorithm,
        BestMixture,
        Guarantee,
        PoolOptions,
        Readings,
        Registration,
        Status,
        Verdict,
        known_algorithms,
        register,
        resume,
    )
    from fairarm.catalog import Scenario, bundled_problems, load_problem
    from fairarm.errors import FairarmError
    from fairarm.experiments.evaluate import Evaluation, evaluate
    from fairarm.experiments.identify import identify
    from fairarm.experiments.inspect import inspect
    from fairarm.experiments.limit import find_limit
    from fairarm.experiments.live import LivePlan, LiveSimulation, LiveWorld, plan_live, simulate_live
    from fairarm.experiments.plan import ExperimentPlan, plan
    from fairarm.experiments.simulate import simulate
    from fairarm.experiments.start_from_log import LoggedPulls, algorithm, read_log
    from fairarm.logs.digests import log_digest, split_log
    from fairarm.logs.draft import draft_problem
    from fairarm.logs.sources import open_log
    from fairarm.problem.constraint import Constraint
    from fairarm.problem.context import ContextLaw, ContextSample
    from fairarm.problem.fitting import FittedNote, fit_mechanisms
    from fairarm.problem.inference import context_law
    from fairarm.problem.log_map import LogMap
    from fairarm.problem.mechanism import Arm, Code, Mechanism, Table, Unknown, table
    from fairarm.problem.network import Network
    from fairarm.problem.outcome import Outcome
    from fairarm.problem.problem import Problem
    from fairarm.problem.pulls import Batch, Request, batch
    from fairarm.problem.shares import JointShares
    from fairarm.problem.variables import Variable
    from fairarm.readers.networks import read_network
    from fairarm.readers.pgmpy_models import from_pgmpy
    from fairarm.readers.problem_file import read_problem
    from fairarm.readers.problem_writer import write_problem
    from fairarm.reports.page import report
    from fairarm.service.client import Client
    from fairarm.worlds import FunctionWorld, NetworkWorld, Truth

_HOME = {
    "fairarm.algorithms": (
        "Algorithm",
        "BestMixture",
        "Guarantee",
        "PoolOptions",
        "Readings",
        "Registration",
        "Status",
        "Verdict",
        "known_algorithms",
        "register",
        "resume",
    ),
    "fairarm.catalog": ("Scenario", "bundled_problems", "load_problem"),
    "fairarm.errors": ("FairarmError",),
    "fairarm.experiments.evaluate": ("Evaluation", "evaluate"),
    "fairarm.experiments.identify": ("identify",),
    "fairarm.experiments.inspect": ("inspect",),
    "fairarm.experiments.limit": ("find_limit",),
    "fairarm.experiments.live": ("LivePlan", "LiveSimulation", "LiveWorld", "plan_live", "simulate_live"),
    "fairarm.experiments.plan": ("ExperimentPlan", "plan"),
    "fairarm.experiments.simulate": ("simulate",),
    "fairarm.experiments.start_from_log": ("LoggedPulls", "algorithm", "read_log"),
    "fairarm.logs.digests": ("log_digest", "split_log"),
    "fairarm.logs.draft": ("draft_problem",),
    "fairarm.logs.sources": ("open_log",),
    "fairarm.problem.constraint": ("Constraint",),
    "fairarm.problem.context": ("ContextLaw", "ContextSample"),
    "fairarm.problem.fitting": ("FittedNote", "fit_mechanisms"),
    "fairarm.problem.inference": ("context_law",),
    "fairarm.problem.log_map": ("LogMap",),
    "fairarm.problem.mechanism": ("Arm", "Code", "Mechanism", "Table", "Unknown", "table"),
    "fairarm.problem.problem": ("Problem",),
    "fairarm.problem.network": ("Network",),
    "fairarm.problem.outcome": ("Outcome",),
    "fairarm.problem.pulls": ("Batch", "Request", "batch"),
    "fairarm.problem.shares": ("JointShares",),
    "fairarm.problem.variables": ("Variable",),
    "fairarm.readers.networks": ("read_network",),
    "fairarm.readers.pgmpy_models": ("from_pgmpy",),
    "fairarm.readers.problem_file": ("read_problem",),
    "fairarm.readers.problem_writer": ("write_problem",),
    "fairarm.reports.page": ("report",),
    "fairarm.service.client": ("Client",),
    "fairarm.worlds": ("FunctionWorld", "NetworkWorld", "Truth"),
}
_late = late_names(__name__, _HOME)

__all__ = [
    "Algorithm", "Arm", "Batch", "BestMixture", "Client", "Code", "Constraint", "ContextLaw", "ContextSample", "Evaluation", "ExperimentPlan",
    "FairarmError", "FittedNote", "FunctionWorld", "Guarantee", "JointShares", "LivePlan", "LiveSimulation", "LiveWorld", "LogMap", "LoggedPulls", "Mechanism", "Network", "NetworkWorld", "Outcome",
    "PoolOptions", "Problem", "Readings", "Registration", "Request", "Scenario", "Status", "Table", "Truth", "Unknown", "Variable", "Verdict", "algorithm",
    "batch", "bundled_problems", "context_law", "draft_problem", "evaluate", "find_limit", "fit_mechanisms", "from_pgmpy", "identify", "inspect",
    "known_algorithms", "load_problem", "log_digest", "open_log", "plan", "plan_live", "read_log", "read_network", "read_problem", "register", "report", "resume", "simulate", "simulate_live", "split_log", "table", "write_problem",
]  # fmt: skip


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("fairarm")
    return _late(name)
