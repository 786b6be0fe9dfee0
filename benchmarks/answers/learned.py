"""Rules that were learned from the log they are evaluated on, and from the other half of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import fairarm
from benchmarks.answers.asking import generator
from benchmarks.answers.parts import Bars, Line, Lines, Part, Scale, counted, mean, total
from benchmarks.answers.worlds import Law, Log, World, binary, scores, simplex
from benchmarks.answers.worlds import Real as RealLaw
from fairarm import Arm, FairarmError, LogMap, Problem, evaluate, open_log, table
from fairarm.core.types import FloatArray

LOGS, EQUAL = 200, 25
CONTEXTS, DECISIONS, ROWS = 20, 5, 1000
GREEDY = "greedy"


def null_log(rng: np.random.Generator, real: bool = False) -> tuple[World, pa.Table]:
    """1000 rows in which the decision has no effect, with an id in each."""
    score = scores(rng, (1, 2, CONTEXTS, 1), (0.0, 0.0, 0.5, 0.0), 0.0, direct=False) - 0.5
    score = np.broadcast_to(score, (1, 2, CONTEXTS, DECISIONS))
    law: Law = RealLaw(10 + 3 * score, lambda r, n: 2.0 * r.standard_normal(n), -60, 100) if real else binary(score)
    arms = {"logging": np.full((2, CONTEXTS, DECISIONS), 1 / DECISIONS), "first": _always(0)}
    child = simplex(rng, (1, 2, CONTEXTS), 3.0, 0.01)
    world = World(np.ones(1), np.full((1, 2), 0.5), child, (), arms, law, 0.3, direct=False)
    log: Log = world.log(ROWS, rng)
    ids = rng.permutation(10**6)[:ROWS]
    return world, pa.table({**{name: pa.array(list(values)) for name, values in log.rows.items()}, "id": ids})


def _always(decision: int) -> FloatArray:
    return np.broadcast_to(np.eye(DECISIONS)[decision], (2, CONTEXTS, DECISIONS)).copy()


def greedy(rows: pa.Table) -> FloatArray:
    """In every context the decision with the best mean, (contexts, decisions)."""
    x, v = (np.array([int(text[1:]) for text in rows[name].to_pylist()]) for name in ("X0", "V"))
    y = np.array([float(str(value).removeprefix("y")) for value in rows["Y"].to_pylist()])
    sums, number = np.zeros((CONTEXTS, DECISIONS)), np.zeros((CONTEXTS, DECISIONS))
    np.add.at(sums, (x, v), y)
    np.add.at(number, (x, v), 1)
    means = np.where(number > 0, sums / np.maximum(number, 1), -np.inf)
    return np.asarray(np.eye(DECISIONS)[means.argmax(axis=1)])


def with_greedy(world: World, rule: FloatArray, source: Any, alone: bool = False) -> Problem:
    """The problem with a rule that says what it was learned from: a log, or its digest."""
    options: dict[str, Any] = {"learned_from": source}
    arm = Arm(GREEDY, table("V", ["X0"], rule), **options)
    problem = world.problem()
    return replace(problem, arms=(arm,), deployed=None) if alone else problem.with_arms([*problem.arms, arm])


# ---- the other half ----


def on_other_half(index: int, seed: int, ids: bool) -> Line:
    """Learned from one half, evaluated on the other."""
    world, log = null_log(generator(seed, "learned", index))
    where = LogMap(row_id="id") if ids else LogMap()
    log = log if ids else log.drop_columns(["id"])
    split: Callable[..., Any] = fairarm.split_log  # type: ignore[attr-defined,unused-ignore]
    first, second = split(log, share=0.5, seed=index, **({"by": "id"} if ids else {}))
    rule = greedy(first.to_arrow())
    return told(evaluate(with_greedy(world, rule, first), second, columns=where, seed=index), world, rule)


def on_same(index: int, seed: int) -> Line:
    """Learned from all rows and evaluated on them, without saying so: what the warning is for."""
    world, log = null_log(generator(seed, "learned", index))
    rule = greedy(log)
    problem = world.problem()
    problem = problem.with_arms([*problem.arms, Arm(GREEDY, table("V", ["X0"], rule))])
    return told(evaluate(problem, log, seed=index), world, rule)


def told(found: Any, world: World, rule: FloatArray) -> Line:
    """Whether the greedy rule's outcome is covered; in this world every rule has the same."""
    arm = next(arm for arm in found.arms if arm.name == GREEDY)
    true = float(np.einsum("s,sx,xv,sxv->", world.shares, world.contexts[0], rule, world.law.means[0]))
    return {
        "covered": bool(arm.outcome.low <= true <= arm.outcome.high),
        "bias": arm.outcome.value - true,
        "recommended": getattr(found, "recommended", found.arm) == GREEDY,
        "FOUND": found.arm == GREEDY,
        "marked": marked(found),
    }


MARK = "learned-from-this-log"


def marked(found: Any) -> bool:
    """Whether the rule is marked as learned from this log: by a warning, a reason, or on the arm."""
    codes = {str(w.name) for w in found.findings} | {str(code) for code in getattr(found, "reasons", ())}
    arm = next(arm for arm in found.arms if arm.name == GREEDY)
    return MARK in codes or bool(getattr(arm, "learned_from_this_log", False))


# ---- equal logs ----


def shuffled(log: pa.Table, rng: np.random.Generator) -> pa.Table:
    return log.take(pa.array(rng.permutation(len(log))))


def as_csv(log: pa.Table, path: Path) -> Path:
    pyarrow.csv.write_csv(log, path)
    return path


def as_parquet(log: pa.Table, path: Path) -> Path:
    pyarrow.parquet.write_table(log, path)
    return path


Form = Callable[[pa.Table, Path, np.random.Generator], tuple[Any, Any]]
"""What a rule was learned from, and what it is evaluated on: the same rows."""

FORMS: dict[str, Form] = {
    "the same table": lambda log, at, rng: (log, log),
    "shuffled": lambda log, at, rng: (log, shuffled(log, rng)),
    "columns in another order": lambda log, at, rng: (log, log.select(log.column_names[::-1])),
    "a CSV file, shuffled": lambda log, at, rng: (
        as_csv(log, at / "a.csv"),
        as_csv(shuffled(log, rng), at / "b.csv"),
    ),
    "a Parquet file, shuffled": lambda log, at, rng: (
        as_parquet(log, at / "a.parquet"),
        as_parquet(shuffled(log, rng), at / "b.parquet"),
    ),
    "learned from a CSV file, evaluated on Parquet": lambda log, at, rng: (
        as_csv(log, at / "a.csv"),
        as_parquet(shuffled(log, rng), at / "b.parquet"),
    ),
    "learned from a table, evaluated on CSV": lambda log, at, rng: (log, as_csv(shuffled(log, rng), at / "b.csv")),
    "learned from pandas, evaluated on Parquet": lambda log, at, rng: (
        log.to_pandas(),
        as_parquet(shuffled(log, rng), at / "b.parquet"),
    ),
}
PARTLY: dict[str, Form] = {
    "ids: learned from half of the rows": lambda log, at, rng: (log.slice(0, ROWS // 2), shuffled(log, rng)),
    "ids: evaluated on the first tenth": lambda log, at, rng: (log, log.slice(0, ROWS // 10)),
}


def on_equal(form: str, index: int, seed: int, real: bool = False) -> Line:
    """Whether the rule is rejected; alone, with an error."""
    rng = generator(seed, f"equal {form}", index)
    world, log = null_log(rng, real)
    ids = "id" if form in PARTLY else None
    log = log if ids else log.drop_columns(["id"])
    alone = bool(index % 5 == 4)
    if alone:  # the rule that made the log is no arm then
        log = log.append_column("p", pa.array(np.full(len(log), 1 / DECISIONS)))
    where = LogMap(row_id=ids, propensity="p" if alone else None)
    digest: Callable[..., Any] = fairarm.log_digest  # type: ignore[attr-defined,unused-ignore]
    with tempfile.TemporaryDirectory() as folder:
        source, asked = (FORMS | PARTLY)[form](log, Path(folder), rng)
        rule = greedy(log)
        try:
            problem = with_greedy(world, rule, digest(source, by=ids) if ids else open_log(source), alone)
            found: Any = evaluate(problem, asked, columns=where, seed=index)
        except FairarmError as error:
            refused = alone and "learned" in str(error)
            return {"rejected": refused, "error": None if refused else str(error)[:100]}
    line = told(found, world, rule)
    return {"rejected": line["marked"] and not line["recommended"] and not line["FOUND"] and not alone, "error": None}


# ---- the part ----

SPLIT = {"the other half": False, "the other half, by id": True}


def summed(lines: Sequence[Line]) -> Line:
    if "rejected" in lines[0]:
        return {
            "logs": len(lines),
            "rejected": total(lines, "rejected"),
            "covered": None,
            "errors": counted(lines, "error"),
        }
    return {
        "logs": len(lines),
        "rejected": total(lines, "marked"),
        "covered": mean(lines, "covered"),
        "bias": mean(lines, "bias"),
        "recommended": total(lines, "recommended"),
        "FOUND": total(lines, "FOUND"),
    }


def learned(scale: Scale) -> Part:
    """The other half of a log, and the same log in all forms."""
    n, equal = scale.logs(LOGS), scale.logs(EQUAL)
    cases: dict[str, list[Callable[[], Line]]] = {
        "the same rows, not said": [partial(on_same, i, scale.seed) for i in range(n)],
        **{name: [partial(on_other_half, i, scale.seed, ids) for i in range(n)] for name, ids in SPLIT.items()},
        **{form: [partial(on_equal, form, i, scale.seed) for i in range(equal)] for form in FORMS},
        **{
            f"{form}, real outcome": [partial(on_equal, form, i, scale.seed, real=True) for i in range(equal)]
            for form in FORMS
        },
        **{form: [partial(on_equal, form, i, scale.seed) for i in range(equal)] for form in PARTLY},
    }
    return Part(
        "Rules learned from a log",
        f"""A greedy rule, learned from {ROWS} rows in which the decision has no effect: {CONTEXTS} contexts, {DECISIONS} decisions. *Rejected*: the rule is marked `{MARK}` and not recommended;
in every fifth log it is the only rule, and `evaluate` must refuse. *Covered*: its outcome.""",
        cases,
        summed,
        bars,
    )


def bars(now: Lines, before: Lines) -> Bars:
    held: Bars = {}
    for case, line in now.items():
        if case in SPLIT:
            held[f"{case}: covered at least .92: {line['covered']:.3f}"] = line["covered"] >= 0.92
            held[f"{case}: not rejected: {line['rejected']}"] = line["rejected"] == 0
        elif line["covered"] is None:
            held[f"{case}: all rejected: {line['rejected']} of {line['logs']}"] = line["rejected"] == line["logs"]
    return held
