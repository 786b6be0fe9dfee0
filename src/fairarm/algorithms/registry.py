"""The algorithms by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairarm.algorithms.csr import Readings, csr
from fairarm.algorithms.mis import BalanceHeuristic
from fairarm.algorithms.notes import Note
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.algorithms.procedure import Guarantee, Procedure
from fairarm.algorithms.records import checked_leaf
from fairarm.algorithms.registered import Registration, find, keep, names_of_others
from fairarm.algorithms.run import Algorithm
from fairarm.algorithms.saved import WHAT, opened_run, require_problem_of, require_versions
from fairarm.algorithms.sris import sris
from fairarm.algorithms.tf_lucb import TopFeasible
from fairarm.algorithms.top_two import TopTwo
from fairarm.algorithms.two_stage import two_stage
from fairarm.algorithms.uniform import Uniform
from fairarm.beliefs.evidence import RunEvidence
from fairarm.core.types import IntArray
from fairarm.errors import BudgetError, DataError, OptionError
from fairarm.problem.problem import Problem, require_problem
from fairarm.sealed import damaged

DEFAULT = "pool"
"""What every command runs unless told otherwise."""

MOST_PULLS = 10**18
"""Of a procedure: counts stay within 64 bits. The theorems' bounds are computed up to there; commands take at most 1e15."""


def _in_phases(kind: Callable[..., Procedure], pooled: bool) -> Callable[..., Procedure]:
    return lambda problem, pulls, readings: kind(problem, pulls, pooled, readings)


_OURS = {
    made.name: made
    for made in (
        Registration("pool", Pool, "all pulls pooled into one posterior, planned by what would overturn the answer; says how sure it is", PoolOptions),
        Registration("csr-v1", _in_phases(csr, False), "constraint successive rejection; estimates from each phase's own pulls", Readings),
        Registration("csr-v2", _in_phases(csr, True), "constraint successive rejection; estimates from all pulls so far", Readings),
        Registration("two-stage-v1", _in_phases(two_stage, False), "half the pulls to screen for fairness, then SRIS-v1 on the survivors", Readings),
        Registration("two-stage-v2", _in_phases(two_stage, True), "half the pulls to screen for fairness, then SRIS-v2 on the survivors", Readings),
        Registration("sris-v1", _in_phases(sris, False), "successive rejection by outcome alone, no fairness; each phase's own pulls", Readings),
        Registration("sris-v2", _in_phases(sris, True), "successive rejection by outcome alone, no fairness; all pulls so far", Readings),
        Registration("uniform", Uniform, "every arm the same share, plain group means"),
        Registration("mis", BalanceHeuristic.of, "csr's pulls, estimates by the balance heuristic over all rows; nothing is rejected"),
        Registration("top-two", TopTwo, "pool's posterior, pulls by top-two sampling; at most 10 000"),
        Registration("tf-lucb", TopFeasible, "top-feasible LUCB: each arm from its own rows, pulls by confidence bounds; at most 10 000"),
    )
}  # fmt: skip


DESCRIPTIONS = {name: made.description for name, made in _OURS.items()}
"""Of the algorithms that come with fairarm."""


def register(
    name: str, make: Callable[..., Procedure], *, description: str, options: type | None = None
) -> Registration:
    """Make an algorithm of yours known by name: to every function, every command, and `resume` (docs/new-algorithm.md).

    ``make(problem, pulls)`` is its procedure; with ``options``, a dataclass, it gets an instance as third argument. A
    package names what this returns as an entry point of the group `fairarm.algorithms`, so that commands find it too.
    Registering a name again replaces what was there; the names of fairarm's own algorithms are taken.
    """
    made = Registration(name, make, description, options)
    if name in _OURS:
        raise OptionError(f"fairarm has an algorithm '{name}' of its own. Give yours another name.")
    keep([made])
    return made


def known_algorithms() -> dict[str, str]:
    """Every algorithm by name, with one line about it: fairarm's, those registered, and those of other packages."""
    return DESCRIPTIONS | {name: _about(name) for name in names_of_others() if name not in _OURS}


def _about(name: str) -> str:
    try:
        return found_algorithm(name).description
    except OptionError as error:
        return str(error)


def found_algorithm(name: str) -> Registration:
    """The algorithm of this name; an error that lists all where there is none."""
    found = _OURS.get(name) or find(name)
    if found is None:
        known = dict.fromkeys([*_OURS, *names_of_others()])
        raise OptionError(f"There is no algorithm '{name}'. Algorithms: {', '.join(known)}.")
    return found


def make_procedure(name: str, problem: Problem, pulls: int, /, **options: Any) -> Procedure:
    """The procedure of a named algorithm; ``options`` are the fields of `PoolOptions` for pool, else of
    `Readings`; top-two, uniform, mis and tf-lucb have none. Those of a registered one are its own."""
    found = found_algorithm(name)
    checked = _checked(found, options)
    require_problem(problem)
    if not isinstance(pulls, int | np.integer):
        raise OptionError(f"The number of pulls must be a whole number; got {pulls!r}.")
    if pulls > MOST_PULLS:
        raise BudgetError(
            f"A run has at most {MOST_PULLS:g} pulls; got {float(min(pulls, 1 << 1000)):g}. Give a smaller number."
        )
    if pulls < 1:
        raise BudgetError(f"A run needs at least 1 pull; got {pulls}. Give a larger number of pulls.")
    return (found.procedure if name in _OURS else found.checked_procedure)(problem, pulls, checked)


def options_of(name: str) -> dict[str, tuple[Any, ...]]:
    """The options of a named algorithm: the texts each can be, or (float,), or (float, None)."""
    return found_algorithm(name).allowed()


def _checked(found: Registration, options: dict[str, Any]) -> dict[str, Any]:
    """Options as the algorithm takes them: texts from a list, numbers also given as text."""
    allowed, made = found.allowed(), {}
    for key, value in options.items():
        if key not in allowed:
            raise OptionError(f"'{found.name}' has no option '{key}'. Options: {', '.join(allowed) or 'none'}.")
        made[key] = _number(key, value) if float in allowed[key] and value is not None else value
        if float not in allowed[key] and value not in allowed[key]:
            raise OptionError(f"Option {key} is '{value}'. It can be: {', '.join(allowed[key])}.")
    return made


def _number(key: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise OptionError(f"Option {key} is '{value}'. It must be a number.") from None


def algorithm(
    name: str,
    problem: Problem,
    /,
    *,
    pulls: int,
    seed: int = 0,
    earlier: RunEvidence | None = None,
    missing: IntArray | None = None,
    notes: tuple[Note, ...] = (),
    **options: Any,
) -> Algorithm:
    """A new run of a named algorithm, to be asked and told.

    ``earlier`` holds rows that were made before (`earlier_evidence`). They count in every estimate of the run, but neither
    as pulls nor as cost. `fairarm.algorithm` makes them of a log. ``missing``: such rows that lack their outcome, by regime, arm, group
    and cell, (R, K, G, X); what is certified counts each as it would hurt most. ``notes``: what has to be said of those rows.
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise OptionError(f"The seed must be a whole number, 0 or more; got {seed!r}.")
    procedure = make_procedure(name, problem, pulls, **options)
    return Algorithm(name, procedure, seed, earlier, missing, notes)


def resume(problem: Problem, document: str) -> Algorithm:
    """The run that `Algorithm.to_json` saved, on the same problem."""
    if not isinstance(document, str):
        raise DataError(f"resume takes the text that to_json gave; got {type(document).__name__}. Read the file first.")
    require_problem(problem)
    saved = opened_run(document)
    try:
        pulls, seed = (checked_leaf(key, saved[key], int) for key in ("pulls", "seed"))
        name, options = (checked_leaf(key, saved[key], kind) for key, kind in (("algorithm", str), ("options", dict)))
        _require_known(name)
        require_problem_of(saved, problem)
        made = algorithm(name, problem, pulls=pulls, seed=seed, **options)
        if made.procedure.guarantee == Guarantee.CERTIFIED:
            require_versions(problem)
        made._restore(saved)
    except DataError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise damaged(WHAT, what) from None
    return made


def _require_known(name: str) -> None:
    """Of a saved run: its algorithm may be that of a package which is not installed here."""
    if name not in _OURS and name not in names_of_others():
        raise DataError(
            f"The saved run is of the algorithm {name!r:.60}, which is not known here. Install the package that has it, or "
            f"register it (fairarm.register) before you resume; the run is untouched."
        )
    try:
        found_algorithm(name)
    except OptionError as error:
        raise DataError(f"The saved run cannot be resumed yet. {error}") from None
