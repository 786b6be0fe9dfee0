"""Which problems ship with the package, and how their names are read: ``synthetic-tight:K=30,m=20,seed=3``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from importlib.resources import as_file, files
from inspect import signature
from pathlib import Path

from fairarm.errors import OptionError, ProblemError, ReadError
from fairarm.problem.log_map import LogMap
from fairarm.problem.network import Network
from fairarm.problem.problem import Problem
from fairarm.readers.problem_file import read_problem
from fairarm.shown import Fact, Shown
from fairarm.worlds.base import World
from fairarm.worlds.function import FunctionWorld
from fairarm.worlds.network import NetworkWorld

Loaded = tuple[Problem, Network | World | None]
_Makers = dict[str, tuple[Callable[..., Loaded], str]]


@dataclass(frozen=True, repr=False)
class Scenario(Shown):
    """A problem, the world it can be simulated in, where there is one, and where its logs keep what it needs.

    Algorithms only receive the problem. Functions that read a log take the scenario in place of its problem.
    """

    problem: Problem
    world: World | None = None
    columns: LogMap = field(default_factory=LogMap)
    """The ``[log]`` of its file."""

    def __post_init__(self) -> None:
        self.columns.check(self.problem)

    def _facts(self) -> list[Fact]:
        world = None if self.world is None else type(self.world).__name__
        return [("problem", self.problem.name), ("arms", len(self.problem.arms)), ("world", world)]

    def _table(self) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
        return self.problem._table()


FILES = {
    "coin": "two arms and one coin, worked by hand in the docs",
    "ad-marketplace": "six click predictors; the best one is clearly unfair",
    "lender": "eleven rules for loans; race and sex hang together, age has a cause, and the product is allowed",
    "lender-race": "eleven rules for loans, four groups; the best one is unfair to one of them only",
}
"""Problem files that ship with the package; the other bundled problems are made by code."""


def _shipped(name: str) -> Loaded:
    with as_file(files("fairarm") / "data" / f"{name}.toml") as path:
        return read_problem(path)[:2]


def _from_files() -> _Makers:
    return {name: (partial(_shipped, name), text) for name, text in FILES.items()}


def _makers() -> _Makers:
    """Name -> (function of the name's parameters, one line about it)."""
    from fairarm.catalog.continuous import beta_mixtures, gaussian_arms
    from fairarm.catalog.groups import DESCRIPTION, synthetic_groups
    from fairarm.catalog.hepar2 import hepar2, hepar2_binding
    from fairarm.catalog.questions import CAUSES, KEPT, synthetic_causes, synthetic_kept
    from fairarm.catalog.sris import sris
    from fairarm.catalog.synthetic import settings, synthetic

    makers: _Makers = {
        **_from_files(),
        "hepar2": (hepar2, "HEPAR-II, K random mechanisms of fibrosis, E = 0.2 as printed (every arm is fair)"),
        "hepar2-binding": (
            hepar2_binding,
            "HEPAR-II at a tolerance that splits the arms; CSR needs 10^7 pulls or more",
        ),
        "sris": (sris, "the setting of SRIS's own experiments: parity of V, no fairness"),
        "beta-mixtures": (beta_mixtures, "a decision in [0, 1]; arms are Beta mixtures that depend on the group"),
        "gaussian-arms": (gaussian_arms, "a real decision; normal arms of equal variance, where M is infinite"),
    }
    for setting, text in settings().items():
        makers[f"synthetic-{setting}"] = (partial(synthetic, setting), text)
    for setting, text in settings().items():
        makers[f"synthetic-{setting}-noisy"] = (partial(synthetic, setting, noisy=True), f"{text}; noisy outcomes")
    makers["synthetic-groups"] = (synthetic_groups, DESCRIPTION)
    makers["synthetic-groups-noisy"] = (partial(synthetic_groups, noisy=True), f"{DESCRIPTION}; noisy outcomes")
    makers["synthetic-causes"] = (synthetic_causes, CAUSES)
    makers["synthetic-kept"] = (synthetic_kept, KEPT)
    return makers


def bundled_problems() -> dict[str, str]:
    """Every bundled name with one line about it."""
    return {name: text for name, (_, text) in _makers().items()}


def load_problem(name: str | Path, *, tolerance: float | None = None) -> Scenario:
    """A bundled problem by name, with parameters after a colon, or a problem file by path.

    ``tolerance``: in place of the problem's own, or where a file leaves it open.
    """
    (problem, world), columns = _load(str(name), tolerance)
    try:
        return Scenario(problem, NetworkWorld(problem, world) if isinstance(world, Network) else world, columns)
    except ProblemError as error:
        raise ReadError(f"{name}: world: {error}") from None


def _load(name: str, tolerance: float | None) -> tuple[Loaded, LogMap]:
    base, _, parameters = name.partition(":")
    makers = _from_files() if base in FILES else _makers()
    if base in makers:
        made = makers[base][0](**_parameters(base, parameters, makers[base][0]))
        return made if tolerance is None else _with_tolerance(made, tolerance), LogMap()
    if "/" in name or name.endswith(".toml") or Path(name).exists():
        read = read_problem(Path(name), tolerance)
        return (read.problem, read.network), read.columns
    near = get_close_matches(base, makers, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise OptionError(
        f"There is no bundled problem '{base}' and no file of that name.{hint} `fairarm problems` lists them."
    )


def _with_tolerance(made: Loaded, tolerance: float) -> Loaded:
    """The same with another tolerance, in what a world knows of the truth too."""
    problem, world = made[0].with_tolerance(tolerance), made[1]
    if isinstance(world, FunctionWorld):
        truth = world.known_truth
        return problem, replace(world, problem=problem, known_truth=truth and replace(truth, tolerance=tolerance))
    return problem, world


def _parameters(base: str, text: str, maker: Callable[..., Loaded]) -> dict[str, int]:
    """``K=30,m=20,seed=3`` as whole numbers, for the parameters that this problem has."""
    fixed = maker.keywords if isinstance(maker, partial) else {}
    known = [p.name for p in signature(maker).parameters.values() if p.annotation == "int" and p.name not in fixed]
    found: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        key, _, value = part.partition("=")
        if key not in known or key in found:
            raise OptionError(
                f"'{base}' has no parameter '{key[:40]}', or it is given twice. Parameters: {', '.join(known) or 'none'}."
            )
        if not value.isascii() or not value.isdigit() or len(value) > 9:
            raise OptionError(f"'{base}': {key} must be a whole number of at most 9 digits; got '{value[:40]}'.")
        found[key] = int(value)
    return found
