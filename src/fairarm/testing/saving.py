"""The contract of saving, resuming and starting from a log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from fairarm.algorithms import resume
from fairarm.errors import OptionError
from fairarm.problem.context import ContextSample
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Request
from fairarm.problem.variables import Variable
from fairarm.sealed import opened, sealed
from fairarm.testing.checks import Subject, T, answers, finish, holds, promised, refused, same, take, units
from fairarm.testing.problems import CHAIN_ROWS, chain_parts, context_parts
from fairarm.worlds import World


def no_constants(text: str) -> Any:
    """For `json.loads`: NaN and Infinity are errors."""
    raise AssertionError(f"{text} is not JSON")


@promised()
def a_saved_run_is_strict_json_at_every_moment(subject: Subject, world: World) -> None:
    """Before, between and after the phases; its algorithm is in it."""
    run = subject.start(world)
    same(json.loads(run.to_json(), parse_constant=no_constants)["algorithm"], subject.name, "the algorithm's name")
    for id, part in answers(run, world):
        run.tell(part, id=id)
        json.loads(run.to_json(), parse_constant=no_constants)


@promised()
def resume_is_continue_bit_for_bit(subject: Subject, world: World) -> None:
    """Saved and restored at every phase boundary and in the middle of every phase, against a run never saved."""
    straight, saved = subject.start(world), subject.start(world)
    for id, part in answers(straight, world):
        rows = units(part)
        cut = rows.size // 2
        for j, at in enumerate((slice(0, cut), slice(cut, None))):
            if saved.finished:
                continue
            straight.tell(take(rows, at), id=f"{id}.{j}")
            document = saved.to_json()
            saved = resume(world.problem, document)
            same(saved.to_json(), document, "the resumed run")
            saved.tell(take(rows, at), id=f"{id}.{j}")
            same(saved.to_json(), straight.to_json(), "the run after a resume and one more part")
            same((saved.verdict(), saved.phase), (straight.verdict(), straight.phase), "the verdict and the phase")
            same(saved.ask().counts, straight.ask().counts, "the next plan")
    holds(straight.finished, "the run does not end")
    same(resume(world.problem, straight.to_json()).to_json(), straight.to_json(), "the resumed run")


@promised()
def a_resumed_run_has_the_same_options(subject: Subject, world: World) -> None:
    """Those it was asked for among them; and so the same end."""
    run = subject.start(world)
    for key, value in subject.options.items():
        same(run.procedure.options().get(key), value, f"the option {key}")
    again = resume(world.problem, run.to_json())
    same(again.procedure.options(), run.procedure.options(), "the options")
    same(finish(again, world).to_json(), finish(run, world).to_json(), "the end")


@promised()
def a_resumed_run_remembers_what_was_told(subject: Subject, world: World) -> None:
    """By the ids of the parts."""
    run = subject.start(world)
    part = units(world.pull(run.ask(), np.random.default_rng(0)))
    run.tell(take(part, slice(0, 1)), id="one")
    again = resume(world.problem, run.to_json())
    again.tell(take(part, slice(0, 1)), id="one")
    same(again.to_json(), run.to_json(), "the run after a part was repeated")
    with refused("another part under the same id", "one"):
        again.tell(take(part, slice(0, 2)), id="one")


@promised()
def a_run_from_a_log_counts_its_rows_but_not_as_pulls(subject: Subject, world: World) -> None:
    """To its end, saved and resumed before every phase; or an algorithm that takes no log says so."""
    names, regimes = world.problem.arm_names, world.problem.regimes
    counts = np.zeros((len(regimes), len(names)), dtype=np.int64)
    counts[0] = 20
    log = world.pull(Request(names, regimes, counts), np.random.default_rng(5))
    if not subject.start(world).procedure.takes_log:
        try:
            subject.start(world, log=log)
        except OptionError:
            return
        raise AssertionError("an algorithm that takes no log starts from one")
    straight, saved = subject.start(world, log=log), subject.start(world, log=log)
    same((straight.log_rows, int(straight.pulls_made().sum())), (log.total, 0), "rows of the log, and pulls")
    for id, part in answers(straight, world):
        saved = resume(world.problem, saved.to_json())
        for run in (straight, saved):
            run.tell(part, id=id)
    same(saved.to_json(), straight.to_json(), "the end of a run that was saved and of one that was not")
    holds(straight.pulls_made().sum() <= T, f"{straight.pulls_made().sum()} pulls of {T}")


OTHER_ROWS = {**CHAIN_ROWS, "bold": [[0.2, 0.2, 0.6], [0.2, 0.3, 0.5]]}
OTHERS: dict[str, dict[str, Any]] = {
    "tolerance": {"tolerance": 1.3},
    "arm's table": {"arms": [Arm(n, table("V", ["S"], rows)) for n, rows in OTHER_ROWS.items()]},
    "arm's name": {"arms": [Arm(n.replace("b", "B"), table("V", ["S"], rows)) for n, rows in CHAIN_ROWS.items()]},
    "arms' order": {"arms": [Arm(n, table("V", ["S"], CHAIN_ROWS[n])) for n in reversed(CHAIN_ROWS)]},
    "fewer arms": {
        "arms": [Arm(n, table("V", ["S"], CHAIN_ROWS[n])) for n in list(CHAIN_ROWS)[:2]],
        "costs": [[0, 0, 0], [1, 2, 2]],
    },
    "costs": {"costs": [[0, 0, 0], [1, 2, 2], [1, 1, 2]]},
    "budget": {"budget": 0.5},
    "shares": {"shares": (0.5, 0.5)},
    "groups' order": {"groups": ("b", "a")},
    "outcome's values": {"outcome": Outcome("Y", values=(-1, 1, 3))},
    "outcome's range": {"outcome": Outcome("Y", values=(-1, 0, 3), low=-1, high=4)},
    "states": {
        "variables": [
            Variable("S", ("a", "b")),
            Variable("V", ("mid", "low", "high")),
            Variable("Y", ("bad", "fine", "good")),
        ]
    },
}
"""What may differ between two problems, so that a run of one is none of the other."""


@promised("chain", other=list(OTHERS))
def a_run_is_not_resumed_on_another_problem(subject: Subject, world: World, other: str) -> None:
    """Whatever differs."""
    run = subject.start(world)
    run.tell(world.pull(run.ask(), np.random.default_rng(0)), id="x")
    with refused("another problem", "another problem"):
        resume(Problem(**chain_parts(**OTHERS[other])), run.to_json())


@promised("context", part=("context law", "child's mechanism", "context sample"))
def a_run_is_not_resumed_with_other_known_laws(subject: Subject, world: World, part: str) -> None:
    """The law of contexts, a mechanism, a sample."""
    problem = world.problem
    if part == "context law":
        context: Any = problem.context
        other = _changed(context=replace(context, weights=context.weights[::-1]))
    elif part == "child's mechanism":
        other = _changed(context=problem.context, mechanisms=[table("X", ["S"], [[0.7, 0.3], [0.4, 0.6]])])
    else:
        problem, other = (_changed(context=_sample(seed)) for seed in (1, 2))
    document = subject.on(problem).to_json()
    with refused("another problem", "another problem"):
        resume(other, document)


def _changed(**changes: Any) -> Problem:
    return Problem(**context_parts(**changes))


def _sample(seed: int) -> ContextSample:
    """Fifty rows of a log of arm0; another seed is another log."""
    rng = np.random.default_rng(seed)
    return ContextSample("arm0", {n: rng.integers(0, 2, 50) for n in ("S", "Z", "X", "V")})


# ---- damage ----


def mid_run(subject: Subject, world: World) -> str:
    """A saved run in the middle of its second phase, or of its first."""
    run = subject.start(world)
    rows = units(world.pull(run.ask(), np.random.default_rng(0)))
    run.tell(take(rows, slice(0, rows.size - 1)), id="most")
    return run.to_json()


@promised("chain", "real")
def truncated_documents_are_refused(subject: Subject, world: World) -> None:
    """At 150 lengths."""
    document = mid_run(subject, world)
    for length in [0, 1, 2, *range(3, len(document) - 1, max(1, len(document) // 150)), len(document) - 1]:
        with refused(f"the first {length} characters of a document"):
            resume(world.problem, document[:length])


def paths(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key of every object, and the first element of every list."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*at, key)
            yield from paths(value, (*at, key))
    elif isinstance(node, list) and node:
        yield (*at, 0)
        yield from paths(node[0], (*at, 0))


def changed(document: str, path: tuple[Any, ...], value: Any = None, drop: bool = False) -> tuple[str, Any]:
    """The document with one value replaced or dropped, sealed again so that only the value is wrong; and the old value."""
    tree = opened(document, "run")
    node = tree
    for key in path[:-1]:
        node = node[key]
    old = node.get(path[-1]) if isinstance(node, dict) else node[path[-1]]
    if drop:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return sealed(tree), old


@promised("chain", "real")
def every_key_is_needed(subject: Subject, world: World) -> None:
    """At every level; ids of parts are not keys of the format."""
    document = mid_run(subject, world)
    for path in paths(opened(document, "run")):
        if isinstance(path[-1], str) and path[0] not in ("told", "options"):
            damaged, _ = changed(document, path, drop=True)
            with refused(f"a document without {'.'.join(map(str, path))}"):
                resume(world.problem, damaged)


@promised("chain", "real")
def no_key_is_too_many(subject: Subject, world: World) -> None:
    """No object of a run's own parts holds anything that the format does not know."""
    document = mid_run(subject, world)
    tree = opened(document, "run")
    for part in [(), ("state",), ("memory",), ("info",), *([("info", "standing")] if tree["info"]["standing"] else [])]:
        more, _ = changed(document, (*part, "surplus"), [0])
        with refused("a document with one key more", "a part 'surplus'"):
            resume(world.problem, more)
