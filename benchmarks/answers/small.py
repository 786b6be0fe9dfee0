"""Small logs of an outcome with several states: ad-marketplace with 60, 100 and 150 rows; and widths elsewhere."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any

import numpy as np

from benchmarks.answers.asking import generator, judged
from benchmarks.answers.parts import Bars, Line, Lines, Part, Scale, mean, total
from benchmarks.answers.worlds import Truth
from benchmarks.logs import ordinary
from benchmarks.logs import states as several_states
from benchmarks.logs.tables import Logged
from benchmarks.logs.worlds import KINDS
from fairarm import Scenario, evaluate, load_problem
from fairarm.core.types import FloatArray

LOGS, ELSEWHERE = 400, 40
LEAST = {60: 0.90, 100: 0.92, 150: 0.92}
UNFAIR = "by-sex"


# ---- ad-marketplace, from the numbers of its file alone ----


@cache
def bundled() -> Scenario:
    return load_problem("ad-marketplace")


@cache
def tables() -> dict[str, Any]:
    """Of the bundled file: groups, contexts P(x | s), rules by name P(v | s, x), P(y | x, v), values, states."""
    file = tomllib.loads((files("fairarm") / "data" / "ad-marketplace.toml").read_text("utf-8"))
    laws = {law["node"]: np.array(law["table"]) for law in file["world"]["mechanisms"]}
    outcomes = np.einsum("vxiy,i->xvy", laws["revenue"], laws["inventory"])
    rules = {}
    for arm in file["problem"]["arms"]:
        rows = np.array(arm["table"])
        rules[arm["name"]] = rows if arm["parents"][0] == "sex" else np.stack([rows, rows])
    values = np.array(list(file["problem"]["outcome"]["values"].values()), dtype=np.float64)
    return {
        "shares": laws["sex"], "contexts": laws["query"], "rules": rules, "outcomes": outcomes, "values": values,
        "states": file["problem"]["states"], "tolerance": file["problem"]["tolerance"],
    }  # fmt: skip


@cache
def truth() -> Truth:
    of = tables()
    means: FloatArray = of["outcomes"] @ of["values"]
    groups = np.stack([np.einsum("sx,sxv,xv->s", of["contexts"], rule, means) for rule in of["rules"].values()])
    gaps = groups[:, :1] - groups[:, 1:]
    return Truth(tuple(of["rules"]), groups @ of["shares"], np.abs(gaps[:, 0]) < of["tolerance"], gaps)


def rows(number: int, rng: np.random.Generator) -> dict[str, Any]:
    """People as they come, served by the deployed rule."""
    of = tables()
    s = rng.choice(2, size=number, p=of["shares"])
    x = _drawn(of["contexts"][s], rng)
    v = _drawn(of["rules"]["deployed"][s, x], rng)
    y = _drawn(of["outcomes"][x, v], rng)
    codes = {"sex": s, "query": x, "prediction": v, "revenue": y}
    return {name: np.array(of["states"][name], dtype=object)[code] for name, code in codes.items()}


def _drawn(chances: FloatArray, rng: np.random.Generator) -> Any:
    upper = np.cumsum(chances, axis=1)[:, :-1]
    return (rng.random(len(chances))[:, None] >= upper).sum(axis=1)


def marketplace(number: int, index: int, seed: int) -> Line:
    """One log."""
    rng = generator(seed, f"ad-marketplace {number}", index)
    found: Any = evaluate(bundled(), rows(number, rng), seed=index)
    line, k = judged(found, truth()), truth().names.index(UNFAIR)
    (gap,) = found.arms[k].fairness
    return {
        **line,
        "gap covered": bool(gap.low <= truth().gaps[k, 0] <= gap.high),
        "recommended": getattr(found, "recommended", found.arm) == UNFAIR,
        "unfair FOUND": found.arm == UNFAIR,
        **widths(found),
    }


# ---- elsewhere ----

OTHERS: dict[str, Callable[[np.random.Generator], Logged]] = {
    "rare cells": KINDS["rare cells"],
    "fitted mechanisms": KINDS["fitted mechanisms"],
    "clicks of 0.5 %, 10 000 rows": partial(ordinary.clicks, rows=10_000),
    "144 cells, 4 000 rows": partial(ordinary.binary, rows=4000),
    "0, 1 or 100, 3 000 rows": partial(ordinary.far_values, rows=3000),
    "states by the decision, 3 000 rows": partial(several_states.two_of, rows=3000, told_by=("decision",)),
    "states of each cell by itself, 3 000 rows": partial(several_states.two_of, rows=3000, told_by=()),
    "loans in money, 2 000 rows": partial(ordinary.loans, rows=2000),
}


def elsewhere(kind: str, index: int, seed: int) -> Line:
    """One log of a kind of `benchmarks.logs`."""
    log = OTHERS[kind](generator(seed, kind, index))
    found: Any = evaluate(log.problem, log.columns, columns=log.where, seed=index)
    fair = np.abs(log.gaps) < log.problem.gap_tolerance
    true = Truth(tuple(log.problem.arm_names), log.outcomes, fair, log.gaps[:, None])
    return {**judged(found, true), **widths(found)}


def widths(found: Any) -> Line:
    return {
        "outcome width": float(np.mean([arm.outcome.high - arm.outcome.low for arm in found.arms])),
        "gap width": float(np.mean([row.high - row.low for arm in found.arms for row in arm.fairness])),
    }


# ---- the part ----


def summed(lines: Sequence[Line]) -> Line:
    own = ("recommended", "unfair FOUND") if "recommended" in lines[0] else ()
    return {
        "logs": len(lines),
        "by-sex: gap covered": mean(lines, "gap covered"),
        **{f"by-sex: {name.split()[-1]}": total(lines, name) for name in own},
        **{name: total(lines, name) for name in ("FOUND", "FOUND wrong", "none", "none wrong", "undecided")},
        "outcomes covered": mean(lines, "outcomes covered"),
        "gaps covered": mean(lines, "gaps covered"),
        "outcome width": mean(lines, "outcome width"),
        "gap width": mean(lines, "gap width"),
    }


def small(scale: Scale) -> Part:
    """Three sizes of the bundled problem, and other kinds."""
    cases = {
        f"ad-marketplace, {n} rows": [partial(marketplace, n, i, scale.seed) for i in range(scale.logs(LOGS))]
        for n in LEAST
    }
    cases["ad-marketplace, 400 rows"] = [partial(marketplace, 400, i, scale.seed) for i in range(scale.logs(60))]
    others = [] if scale.small else list(OTHERS)
    cases |= {kind: [partial(elsewhere, kind, i, scale.seed) for i in range(ELSEWHERE)] for kind in others}
    return Part(
        "Small logs",
        """`by-sex` has a gap of -1.185, and the tolerance is 0.6. *Recommended* and *FOUND*: in how many logs it was named. Widths are means over arms and logs.""",
        cases,
        summed,
        bars,
    )


def bars(now: Lines, before: Lines) -> Bars:
    held: Bars = {}
    for n, least in LEAST.items():
        line = now[f"ad-marketplace, {n} rows"]
        logs, share = line["logs"], line["by-sex: gap covered"]
        named, found = line["by-sex: recommended"], line["by-sex: FOUND"]
        held[f"{n} rows: gap of by-sex covered at least {least}: {share:.3f}"] = share >= least
        held[f"{n} rows: by-sex recommended in at most 5 %: {named} of {logs}"] = named <= 0.05 * logs
        held[f"{n} rows: by-sex FOUND in at most 1 %: {found} of {logs}"] = found <= 0.01 * logs
    for kind in [k for k in now if k in before and k in OTHERS]:
        for what in ("outcome", "gap"):
            ratio = now[kind][f"{what} width"] / before[kind][f"{what} width"]
            held[f"{kind}: {what} width at most × 1.1: {ratio:.3f}"] = ratio <= 1.1
    return held
