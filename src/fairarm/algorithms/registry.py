"""The algorithms by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, get_args, get_type_hints

import numpy as np

from fairarm.algorithms.csr import Readings, csr
from fairarm.algorithms.mis import BalanceHeuristic
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.algorithms.procedure import Procedure
from fairarm.algorithms.records import checked_leaf
from fairarm.algorithms.run import Algorithm
from fairarm.algorithms.saved import WHAT, opened_run
from fairarm.algorithms.sris import sris
from fairarm.algorithms.tf_lucb import TopFeasible
from fairarm.algorithms.top_two import TopTwo, TopTwoOptions
from fairarm.algorithms.two_stage import two_stage
from fairarm.algorithms.uniform import Uniform
from fairarm.beliefs.from_log import log_evidence
from fairarm.errors import BudgetError, DataError, OptionError
from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch
from fairarm.sealed import damaged

DEFAULT = "pool"
"""What every command runs unless told otherwise."""

MOST_PULLS = 10**18
"""Of a procedure: counts stay within 64 bits. The theorems' bounds are computed up to there; commands take at most 1e15."""

DESCRIPTIONS = {
    "pool": "all pulls pooled into one posterior, planned by what would overturn the answer; says how sure it is",
    "csr-v1": "constraint successive rejection; estimates from each phase's own pulls",
    "csr-v2": "constraint successive rejection; estimates from all pulls so far",
    "two-stage-v1": "half the pulls to screen for fairness, then SRIS-v1 on the survivors",
    "two-stage-v2": "half the pulls to screen for fairness, then SRIS-v2 on the survivors",
    "sris-v1": "successive rejection by outcome alone, no fairness; each phase's own pulls",
    "sris-v2": "successive rejection by outcome alone, no fairness; all pulls so far",
    "uniform": "every arm the same share, plain group means",
    "mis": "csr's pulls, estimates by the balance heuristic over all rows; nothing is rejected",
    "top-two": "pool's posterior, pulls by top-two sampling; at most 10 000",
    "tf-lucb": "top-feasible LUCB: each arm from its own rows, pulls by confidence bounds; at most 10 000",
}

_IN_PHASES = {"csr": csr, "sris": sris, "two-stage": two_stage}

_WITHOUT_OPTIONS: dict[str, Callable[[Problem, int], Procedure]] = {
    "uniform": Uniform,
    "mis": BalanceHeuristic.of,
    "tf-lucb": TopFeasible,
}


def make_procedure(name: str, problem: Problem, pulls: int, /, **options: Any) -> Procedure:
    """The procedure of a named algorithm; ``options`` are the fields of `PoolOptions` for pool, of `TopTwoOptions` for
    top-two, else of `Readings`; uniform, mis and tf-lucb have none."""
    checked = _checked(name, options)
    if not isinstance(problem, Problem):
        raise OptionError(f"A problem is needed; got {type(problem).__name__}. Of a scenario, pass scenario.problem.")
    if not isinstance(pulls, int | np.integer):
        raise OptionError(f"The number of pulls must be a whole number; got {pulls!r}.")
    if pulls > MOST_PULLS:
        raise BudgetError(
            f"A run has at most {MOST_PULLS:g} pulls; got {float(min(pulls, 1 << 1000)):g}. Give a smaller number."
        )
    if pulls < 1:
        raise BudgetError(f"A run needs at least 1 pull; got {pulls}. Give a larger number of pulls.")
    pair_of(problem)  # before the first pull; what compares the groups refuses others by itself too
    if name in _WITHOUT_OPTIONS:
        return _WITHOUT_OPTIONS[name](problem, pulls)
    if name == "top-two":
        return TopTwo(problem, pulls, TopTwoOptions(**checked))
    if name == "pool":
        return Pool(problem, pulls, PoolOptions(**checked))
    kind, version = name.rsplit("-", 1)
    return _IN_PHASES[kind](problem, pulls, version == "v2", Readings(**checked))


def options_of(name: str) -> dict[str, tuple[Any, ...]]:
    """The options of a named algorithm: the texts each can be, or (float,), or (float, None)."""
    if name not in DESCRIPTIONS:
        raise OptionError(f"There is no algorithm '{name}'. Algorithms: {', '.join(DESCRIPTIONS)}.")
    if name in _WITHOUT_OPTIONS:
        return {}
    return _allowed({"pool": PoolOptions, "top-two": TopTwoOptions}.get(name, Readings))


@cache
def _allowed(kind: type) -> dict[str, tuple[Any, ...]]:
    """See `options_of`."""
    hints = get_type_hints(kind)
    found = {}
    for f in fields(kind):
        parts = get_args(hints[f.name]) or (hints[f.name],)
        found[f.name] = tuple(None if part is type(None) else part for part in parts)
    return found


def _checked(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Options as the algorithm takes them: texts from a list, numbers also given as text."""
    allowed, made = options_of(name), {}
    for key, value in options.items():
        if key not in allowed:
            raise OptionError(f"'{name}' has no option '{key}'. Options: {', '.join(allowed) or 'none'}.")
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
    name: str, problem: Problem, /, *, pulls: int, seed: int = 0, log: Batch | None = None, **options: Any
) -> Algorithm:
    """A new run of a named algorithm, to be asked and told.

    ``log`` holds rows that were made before. They count in every estimate of the run, but neither as pulls nor as cost.
    Pool plans from the first pull on by what they leave open, and with a confidence it makes none where they are
    enough; the others pull as they would without them. The v1 algorithms take no log.
    """
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise OptionError(f"The seed must be a whole number, 0 or more; got {seed!r}.")
    procedure = make_procedure(name, problem, pulls, **options)
    return Algorithm(name, procedure, seed, log_evidence(problem, log))


def resume(problem: Problem, document: str) -> Algorithm:
    """The run that `Algorithm.to_json` saved, on the same problem."""
    if not isinstance(document, str):
        raise DataError(f"resume takes the text that to_json gave; got {type(document).__name__}. Read the file first.")
    saved = opened_run(document)
    try:
        pulls, seed = (checked_leaf(key, saved[key], int) for key in ("pulls", "seed"))
        name, options = (checked_leaf(key, saved[key], kind) for key, kind in (("algorithm", str), ("options", dict)))
        made = algorithm(name, problem, pulls=pulls, seed=seed, **options)
        made._restore(saved)
    except DataError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise damaged(WHAT, what) from None
    return made
