"""Algorithms of others: registered at run time, and found in packages by their entry points."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import fairarm
from fairarm import algorithm, identify, known_algorithms, load_problem, register, resume, simulate
from fairarm.algorithms import make_procedure, options_of, registered
from fairarm.algorithms.uniform import Uniform
from fairarm.errors import BudgetError, DataError, OptionError
from fairarm.problem.problem import Problem

COIN = load_problem("coin")


@dataclass(frozen=True)
class SlowOptions:
    """Numbers and texts, as every algorithm's."""

    width: float = 0.5
    limit_of_gap: float | None = None
    kind: Literal["plain", "shy"] = "plain"


@dataclass(frozen=True)
class Slow(Uniform):
    """Uniform by another name, with options."""

    chosen: SlowOptions = field(default_factory=SlowOptions)

    def options(self) -> dict[str, Any]:
        return {"width": self.chosen.width, "limit_of_gap": self.chosen.limit_of_gap, "kind": self.chosen.kind}


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a test registers is there in the next one."""
    monkeypatch.setattr(registered, "_registered", {})


# ---- registering ----


def test_it_runs_by_name_everywhere() -> None:
    made = register("slow", Slow, description="slowly", options=SlowOptions)
    assert (made.name, made.description) == ("slow", "slowly")
    assert known_algorithms()["slow"] == "slowly" and next(iter(known_algorithms())) == "pool"
    assert options_of("slow") == {
        "width": (float,), "limit_of_gap": (float, None), "kind": ("plain", "shy"),
    }  # fmt: skip
    found = identify(COIN.problem, COIN.world, algorithm="slow", pulls=300, seed=1, kind="shy", width="0.25")
    usual = identify(COIN.problem, COIN.world, algorithm="uniform", pulls=300, seed=1)
    assert found.algorithm == "slow" and found.verdict == usual.verdict
    study = simulate(COIN.problem, COIN.world, algorithms=["slow", "pool"], pulls=[40], runs=4, width=0.1)
    assert [point.algorithm for point in study.results] == ["slow", "pool"]
    assert algorithm("slow", COIN.problem, pulls=100, width=0.1).procedure.options()["width"] == 0.1


def test_a_saved_run_finds_it_and_its_options() -> None:
    register("slow", Slow, description="slowly", options=SlowOptions)
    run = algorithm("slow", COIN.problem, pulls=100, seed=2, width=0.125, kind="shy")
    assert COIN.world is not None
    run.tell(COIN.world.pull(run.ask(), np.random.default_rng(0)), id="all")
    again = resume(COIN.problem, run.to_json())
    assert again.to_json() == run.to_json() and again.procedure.options() == run.procedure.options()
    assert again.verdict() == run.verdict()


class Forgetful(Slow):
    """Does not give back what it was asked for."""

    def options(self) -> dict[str, Any]:
        return {}


def test_options_that_a_saved_run_would_lose_are_refused() -> None:
    register("forgetful", Forgetful, description="forgets", options=SlowOptions)
    with pytest.raises(
        OptionError, match=r"asked for width=0.1, and its options\(\) gives \{\}: a saved run would lose it"
    ):
        algorithm("forgetful", COIN.problem, pulls=100, width=0.1)
    run = algorithm("forgetful", COIN.problem, pulls=100)  # nothing was asked for: nothing is lost
    assert resume(COIN.problem, run.to_json()).to_json() == run.to_json()


def test_a_saved_run_of_an_unknown_one_says_so() -> None:
    register("slow", Slow, description="slowly", options=SlowOptions)
    document = algorithm("slow", COIN.problem, pulls=100).to_json()
    registered._registered.clear()
    with pytest.raises(DataError, match=r"algorithm 'slow', which is not known here\. Install .*fairarm\.register"):
        resume(COIN.problem, document)
    register("slow", Slow, description="slowly", options=SlowOptions)
    assert resume(COIN.problem, document).to_json() == document


def test_a_later_one_of_the_same_name_replaces_it() -> None:
    register("slow", Slow, description="slowly", options=SlowOptions)
    register("slow", Uniform, description="another")
    assert known_algorithms()["slow"] == "another" and options_of("slow") == {}


@pytest.mark.parametrize(
    "name",
    ["", "Slow", "slow_one", "-slow", "slow-", "slow--one", "1slow", "a" * 41, "slöw", "slow one", "slow\n", 7, None],
)
def test_names_that_cannot_be(name: Any) -> None:
    with pytest.raises(OptionError, match="lower-case letters, digits and hyphens"):
        register(name, Slow, description="slowly", options=SlowOptions)


@pytest.mark.parametrize("name", list(fairarm.algorithms.DESCRIPTIONS))
def test_our_names_are_taken(name: str) -> None:
    with pytest.raises(OptionError, match=f"'{name}' of its own"):
        register(name, Slow, description="slowly", options=SlowOptions)
    assert registered.names_of_others() == []


@dataclass
class NoDefault:
    width: float


@dataclass
class OtherKind:
    width: list[float] = field(default_factory=list)


@dataclass
class Unreadable:
    width: Nowhere = 1.0  # type: ignore[name-defined]  # noqa: F821


@dataclass
class TakenName:
    seed: float = 1.0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"make": 3}, "cannot be called"),
        ({"description": ""}, "one line of at most 120"),
        ({"description": "two\nlines"}, "one line of at most 120"),
        ({"description": "x" * 121}, "one line of at most 120"),
        ({"description": None}, "one line of at most 120"),
        ({"options": {"width": 1.0}}, "are a dataclass"),
        ({"options": int}, "are a dataclass"),
        ({"options": SlowOptions()}, "are a dataclass"),
        ({"options": NoDefault}, "has no default"),
        ({"options": OtherKind}, "is a list"),
        ({"options": Unreadable}, "'Nowhere' is not defined"),
        ({"options": TakenName}, "option called seed"),
    ],
)
def test_what_cannot_be_registered(given: dict[str, Any], says: str) -> None:
    parts = {"make": Slow, "description": "slowly", **given}
    with pytest.raises(OptionError, match=says) as caught:
        register("slow", **parts)
    assert "\n" not in str(caught.value) and "slow" not in known_algorithms()


def test_the_keywords_that_options_cannot_have_are_those_of_the_functions() -> None:
    from fairarm.algorithms import registry

    functions = (fairarm.algorithm, fairarm.identify, fairarm.simulate, registry.algorithm)
    keywords = {name for function in functions for name in inspect.signature(function).parameters}
    assert keywords - {"options"} == registered.TAKEN


def broken(problem: Problem, pulls: int) -> Any:
    raise KeyError("inside")


def refusing(problem: Problem, pulls: int) -> Any:
    raise BudgetError("too dear")


@pytest.mark.parametrize(
    ("make", "kind", "says"),
    [
        (broken, OptionError, "'slow' could not be made: KeyError: 'inside'"),
        (lambda problem, pulls: None, OptionError, "made a NoneType, which has no problem, pulls, "),
        (lambda problem: None, OptionError, "could not be made: TypeError"),
        (refusing, BudgetError, "^too dear$"),
    ],
)
def test_a_make_that_fails_is_one_line(make: Any, kind: type[Exception], says: str) -> None:
    register("slow", make, description="slowly")
    with pytest.raises(kind, match=says) as caught:
        make_procedure("slow", COIN.problem, 100)
    assert "\n" not in str(caught.value)


def test_options_are_checked_as_ours_are() -> None:
    register("slow", Slow, description="slowly", options=SlowOptions)
    for given, says in (
        ({"nothing": 1}, "no option 'nothing'. Options: width"),
        ({"kind": "loud"}, "can be: plain, shy"),
        ({"width": "much"}, "must be a number"),
    ):
        with pytest.raises(OptionError, match=says):
            make_procedure("slow", COIN.problem, 100, **given)


# ---- in other processes ----


def test_workers_get_what_was_registered_here() -> None:
    register("slow", Slow, description="slowly", options=SlowOptions)
    one, two = (
        simulate(COIN.problem, COIN.world, algorithms=["slow"], pulls=[20, 30], runs=6, seed=4, jobs=jobs)
        for jobs in (1, 2)
    )
    assert [(p.pulls, p.errors, p.mean_cost) for p in one.results] == [
        (p.pulls, p.errors, p.mean_cost) for p in two.results
    ]


def test_what_cannot_be_sent_to_workers_is_one_line() -> None:
    lock = threading.Lock()
    register("slow", lambda problem, pulls: Uniform(problem, pulls) if lock else None, description="slowly")
    given: dict[str, Any] = {"algorithms": ["slow"], "pulls": [20, 30], "runs": 2}
    assert simulate(COIN.problem, COIN.world, **given).results
    with pytest.raises(OptionError, match=r"'slow' cannot be sent to 2 worker processes: .*Use one job") as caught:
        simulate(COIN.problem, COIN.world, **given, jobs=2)
    assert "\n" not in str(caught.value)


# ---- entry points ----

MODULE = """
import fairarm
from fairarm.algorithms.uniform import Uniform

ALGORITHM = fairarm.register("packaged", Uniform, description="of a package")
OTHER_NAME = fairarm.register("something-else", Uniform, description="of a package")
"""
POINTS = """[fairarm.algorithms]
packaged = packaged_algorithm:ALGORITHM
missing = no_such_module:ALGORITHM
raising = raising_module:ALGORITHM
misnamed = packaged_algorithm:OTHER_NAME
no-registration = packaged_algorithm:Uniform
pool = no_such_module:ALGORITHM
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one algorithm that works and others that do not, as pip would leave it."""
    (tmp_path / "packaged_algorithm.py").write_text(MODULE)
    (tmp_path / "raising_module.py").write_text("raise RuntimeError('two\\nlines')")
    info = tmp_path / "others-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("packaged_algorithm", None)


def test_an_entry_point_is_found_by_name(package: Path) -> None:
    assert "packaged" in registered.names_of_others() and "packaged_algorithm" not in sys.modules
    found = identify(COIN.problem, COIN.world, algorithm="packaged", pulls=100, seed=1)
    assert found.verdict == identify(COIN.problem, COIN.world, algorithm="uniform", pulls=100, seed=1).verdict
    run = algorithm("packaged", COIN.problem, pulls=100)
    assert resume(COIN.problem, run.to_json()).to_json() == run.to_json()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing", r"'missing' of the package others cannot be loaded: ModuleNotFoundError: .*Mend or remove"),
        ("raising", r"'raising' of the package others cannot be loaded: RuntimeError: two lines"),
        ("misnamed", r"must name what fairarm\.register\('misnamed', …\) returned; it names 'something-else'"),
        ("no-registration", r"it names a ABCMeta|it names a type"),
    ],
)
def test_a_broken_entry_point_is_an_error_only_when_asked_for(package: Path, name: str, says: str) -> None:
    assert make_procedure("packaged", COIN.problem, 10) and make_procedure("pool", COIN.problem, 10)
    with pytest.raises(OptionError, match=says) as caught:
        make_procedure(name, COIN.problem, 10)
    assert "\n" not in str(caught.value)
    listed = known_algorithms()
    assert "Mend or remove" in listed[name] and listed["packaged"] == "of a package"
    assert listed["pool"].startswith("all pulls pooled")  # an entry point cannot take our name


def test_two_packages_with_one_name(package: Path) -> None:
    again = package / "more-1.0.dist-info"
    again.mkdir()
    (again / "METADATA").write_text("Metadata-Version: 2.1\nName: more\nVersion: 1.0\n")
    (again / "entry_points.txt").write_text("[fairarm.algorithms]\npackaged = packaged_algorithm:ALGORITHM\n")
    with pytest.raises(OptionError, match="Several packages have an algorithm 'packaged': more, others"):
        make_procedure("packaged", COIN.problem, 10)


def test_a_saved_run_of_a_broken_package(package: Path) -> None:
    document = algorithm("packaged", COIN.problem, pulls=100).to_json()
    registered._registered.clear()
    (package / "others-1.0.dist-info" / "entry_points.txt").write_text(POINTS.replace("packaged_", "no_such_"))
    with pytest.raises(DataError, match=r"cannot be resumed yet\. .*'packaged' of the package others cannot be loaded"):
        resume(COIN.problem, document)


def test_commands_know_it(package: Path) -> None:
    """In processes of their own: the list, a run, and a simulation by two workers; --help never loads a package."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        paths = os.pathsep.join([str(package), *(path for path in sys.path if path)])
        return subprocess.run(
            [sys.executable, "-m", "fairarm", *arguments],
            capture_output=True,
            text=True,
            cwd=package,
            env={**os.environ, "PYTHONPATH": paths},
        )

    listed = run("algorithms", "--json")
    described = {entry["name"]: entry["description"] for entry in json.loads(listed.stdout)["algorithms"]}
    assert described["packaged"] == "of a package" and "cannot be loaded" in described["missing"]
    assert run("--help").returncode == 0
    found = run("identify", "coin", "--algorithm", "packaged", "--pulls", "100", "--json")
    assert json.loads(found.stdout)["algorithm"] == "packaged"
    many = run("simulate", "coin", "--algorithms", "packaged,pool", "--pulls", "20,30", "--runs", "4", "--jobs", "2", "--json")  # fmt: skip
    assert {point["algorithm"] for point in json.loads(many.stdout)["results"]} == {"packaged", "pool"}, many.stderr
    broken = run("identify", "coin", "--algorithm", "missing", "--pulls", "100")
    assert broken.returncode == 2 and broken.stderr.count("\n") == 1 and "Mend or remove" in broken.stderr
