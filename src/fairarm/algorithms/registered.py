"""Algorithms of others: what one is registered with, and how a package is asked for its own.

A package names its algorithms as entry points of the group `fairarm.algorithms`. One of them is loaded only when it is asked
for, so that a broken package harms nobody else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, get_args, get_origin, get_type_hints

from fairarm.algorithms.procedure import Procedure
from fairarm.errors import FairarmError, OptionError, one_line, printable
from fairarm.problem.problem import Problem

GROUP = "fairarm.algorithms"
MOST_LETTERS = 40
LONGEST_DESCRIPTION = 120
TAKEN = frozenset(
    ("algorithm", "algorithms", "columns", "earlier", "engine", "jobs", "limit", "log", "margin", "missing", "name", "notes", "on_done", "on_phase", "problem",
     "pulls", "runs", "seed", "world")
)  # fmt: skip
"""Keywords of the functions that take an algorithm's options among others."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_MEMBERS = (
    "problem",
    "pulls",
    "tests_fairness",
    "guarantee",
    "confidence",
    "options",
    "start",
    "takes_log",
    "begin",
    "step",
)


@dataclass(frozen=True)
class Registration:
    """An algorithm by name: ``make(problem, pulls)`` is its procedure, with an instance of ``options`` as third argument
    where it has options. What `fairarm.register` returns, and what an entry point names."""

    name: str
    make: Callable[..., Procedure]
    description: str
    options: type | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        text = self.description
        if not isinstance(text, str) or not 1 <= len(text) <= LONGEST_DESCRIPTION or printable(text) != text:
            raise OptionError(
                f"The description of '{self.name}' must be one line of at most {LONGEST_DESCRIPTION} characters; "
                f"got {text!r:.60}. Say what is special to it."
            )
        if not callable(self.make):
            raise OptionError(
                f"'{self.name}' is made by {self.make!r:.60}, which cannot be called. Give the procedure's class, or a "
                f"function of a problem and a number of pulls."
            )
        if self.options is not None:
            _check_options(self.name, self.options)

    def allowed(self) -> dict[str, tuple[Any, ...]]:
        """Each option: the texts it can be, or (float,), or (float, None)."""
        return {} if self.options is None else _allowed(self.options)

    def procedure(self, problem: Problem, pulls: int, given: dict[str, Any]) -> Procedure:
        """The procedure, with these options."""
        return self.make(problem, pulls, *(() if self.options is None else (self.options(**given),)))

    def checked_procedure(self, problem: Problem, pulls: int, given: dict[str, Any]) -> Procedure:
        """As `procedure`, of code that is not ours: one line where it fails, or makes something else."""
        try:
            made = self.procedure(problem, pulls, given)
        except FairarmError:
            raise
        except Exception as error:
            raise OptionError(
                one_line(f"The algorithm '{self.name}' could not be made: {type(error).__name__}: {error}")
            ) from error
        lacking = [member for member in _MEMBERS if not hasattr(made, member)]
        if lacking:
            raise OptionError(
                f"The algorithm '{self.name}' made a {type(made).__name__}, which has no {', '.join(lacking)}. "
                f"docs/new-algorithm.md has what a procedure needs; BaseProcedure has most of it."
            )
        self._require_options(made, given)
        return made

    def _require_options(self, made: Procedure, given: dict[str, Any]) -> None:
        """What was asked for is what `options` gives back: a run is saved and resumed with that."""
        kept = made.options()
        for key, value in given.items():
            if not isinstance(kept, dict) or key not in kept or kept[key] != value:
                raise OptionError(
                    f"The algorithm '{self.name}' was asked for {key}={value!r}, and its options() gives {kept!r:.80}: a saved run "
                    f"would lose it. Let options() give back what was asked for, e.g. dataclasses.asdict(options)."
                )


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MOST_LETTERS:
        raise OptionError(
            f"The name of an algorithm has lower-case letters, digits and hyphens between them, at most {MOST_LETTERS}, like "
            f"'csr-v2'; got {name!r:.60}."
        )


def _check_options(name: str, kind: object) -> None:
    rule = "Options are a dataclass; each is a float, a float or None, or a text from a list (Literal), with a default."
    if not isinstance(kind, type) or not is_dataclass(kind):
        raise OptionError(f"The options of '{name}' are {kind!r:.60}. {rule}")
    try:
        allowed = _allowed(kind)
    except (NameError, TypeError) as error:
        raise OptionError(one_line(f"The options of '{name}' cannot be read: {error}. {rule}")) from None
    for f in fields(kind):
        texts = all(isinstance(part, str) for part in allowed[f.name])
        if not (texts or float in allowed[f.name]) or (f.default is MISSING and f.default_factory is MISSING):
            raise OptionError(f"Option {f.name} of '{name}' is a {f.type}, or has no default. {rule}")
        if f.name in TAKEN:
            raise OptionError(f"'{name}' cannot have an option called {f.name}: functions take it for themselves.")


@cache
def _allowed(kind: type) -> dict[str, tuple[Any, ...]]:
    """See `Registration.allowed`."""
    hints = get_type_hints(kind)
    return {f.name: _parts(hints[f.name]) for f in fields(kind)}


def _parts(hint: Any) -> tuple[Any, ...]:
    parts = get_args(hint) if get_origin(hint) is Literal or type(None) in get_args(hint) else (hint,)
    return tuple(None if part is type(None) else part for part in parts)


# ---- the registered ones ----

_registered: dict[str, Registration] = {}


def keep(registrations: Iterable[Registration]) -> None:
    """From now on these are known; a later one of the same name replaces an earlier one."""
    _registered.update({registration.name: registration for registration in registrations})


def at_run_time(names: Iterable[str]) -> list[Registration]:
    """Those of the names that were registered in this process, which another process does not know."""
    return [_registered[name] for name in names if name in _registered]


def names_of_others() -> list[str]:
    """Registered, then offered by packages; none is loaded."""
    return list(dict.fromkeys([*_registered, *sorted({point.name for point in entry_points(group=GROUP)})]))


def find(name: str) -> Registration | None:
    """The registered algorithm of this name, or that of a package, or None; an error where the package's cannot be loaded."""
    if name not in _registered and (points := list(entry_points(group=GROUP, name=name))):
        keep([_loaded(name, points)])
    return _registered.get(name)


def _loaded(name: str, points: list[EntryPoint]) -> Registration:
    packages = sorted({point.dist.name if point.dist else point.value for point in points})
    if len(points) > 1:
        raise OptionError(f"Several packages have an algorithm '{name}': {', '.join(packages)}. Keep one of them.")
    try:
        found = points[0].load()
    except (Exception, SystemExit) as error:  # a module may even end the program
        raise OptionError(
            one_line(
                f"The algorithm '{name}' of the package {packages[0]} cannot be loaded: {type(error).__name__}: {error}. "
                f"Mend or remove the package."
            )
        ) from error
    if not isinstance(found, Registration) or found.name != name:
        what = f"'{found.name}'" if isinstance(found, Registration) else f"a {type(found).__name__}"
        raise OptionError(
            f"The entry point '{name}' of the package {packages[0]} must name what fairarm.register('{name}', …) returned; "
            f"it names {what}. Mend or remove the package."
        )
    return found
