"""Rows that are not independent: copies, and people who return. Are they noticed, and are independent rows left in peace?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.answers.asking import BLOCKS, generator, judged, said
from benchmarks.answers.kinds import drawn_world, rows_between
from benchmarks.answers.parts import Bars, Line, Lines, Part, Scale, counted, total
from benchmarks.answers.worlds import Log, World, binary, scores, simplex
from fairarm import LogMap

LOGS, INDEPENDENT = 40, 150
WARNINGS = ("rows-alike", "repeated-people")
COPIES, PEOPLE, VISITS = 5, 250, 8


def _world(rng: np.random.Generator, outcome: str = "binary") -> World:
    return drawn_world(rng, contexts=int(rng.integers(1, 6)), decisions=3, outcome=outcome, least=0.1)


def with_columns(log: Log, columns: LogMap | None = None, **more: Any) -> Log:
    return replace(log, rows={**log.rows, **more}, columns=columns or log.columns)


def taken(log: Log, rows: Any) -> Log:
    """These rows, in this order."""
    return replace(log, rows={name: np.asarray(values)[rows] for name, values in log.rows.items()})


# ---- dependent ----


def copied(rng: np.random.Generator, column: str | None, mapped: bool = False) -> Log:
    """Each row five times, shuffled. ``column``: what tells copies, if anything does; ``mapped``: as ``row_id``."""
    log = _world(rng).log(400, rng)
    if column is not None:
        log = with_columns(log, LogMap(row_id=column) if mapped else None, **{column: np.arange(400)})
    return taken(log, rng.permutation(np.repeat(np.arange(400), COPIES)))


def people(rng: np.random.Generator, column: str, spread: float, fixed: bool = False) -> Log:
    """250 people with 8 rows each, and an effect of each person on the log odds. ``fixed``: what is known of a person does not change."""
    world = _world(rng)
    s = rng.choice(2, PEOPLE, p=world.shares)
    draw = rng.random((PEOPLE, 1 if fixed else VISITS))
    upper = np.cumsum(world.child[0][s], axis=1)[:, None, :-1]
    x = np.broadcast_to((draw[..., None] >= upper).sum(axis=2), (PEOPLE, VISITS)).ravel()
    who = np.repeat(np.arange(PEOPLE), VISITS)
    rule = next(iter(world.arms.values()))[s[who], x]
    v = (rng.random(len(who))[:, None] >= np.cumsum(rule, axis=1)[:, :-1]).sum(axis=1)
    p = world.law.means[0][s[who], x, v]
    odds = np.log(p / (1 - p)) + spread * rng.standard_normal(PEOPLE)[who]
    yes = rng.random(len(who)) < 1 / (1 + np.exp(-odds))
    rows = {
        "S": np.array(["a", "b"], dtype=object)[s[who]],
        "X0": np.array([f"x{i}" for i in x], dtype=object),
        "V": np.array([f"v{i}" for i in v], dtype=object),
        "Y": np.array(["y0", "y1"], dtype=object)[yes.astype(int)],
        column: np.array([f"p{i}" for i in who], dtype=object),
    }
    return taken(Log(world.problem(), rows, world.truth()), rng.permutation(len(who)))


def shops(rng: np.random.Generator) -> Log:
    """30 shops of different sizes with effects of their own; everybody shops in all of them."""
    log = _world(rng, "real").log(2000, rng)
    shop = rng.choice(30, 2000, p=simplex(rng, (30,), 2.0))
    effect = rng.normal(0.0, 2.0, 30)
    return with_columns(log, shop_id=shop, Y=np.clip(np.asarray(log.rows["Y"]) + effect[shop], -60, 200))


# ---- independent ----


def independent(rng: np.random.Generator, column: str, outcome: str, ids: int | None, order: str | None = None) -> Log:
    """Rows of people who are there once, with an id that means nothing. ``ids``: how many; None: a third as many as rows."""
    n = rows_between(rng, 300, 4000)
    world = _world(rng, outcome)
    if outcome == "binary" and rng.random() < 0.3:  # rare ones too
        world = replace(world, law=binary(scores(rng, world.law.means.shape, (0, 0.3, 0.4, 0.4), 0.2) - 4.0))
    log = world.log(n, rng)
    log = with_columns(log, None, **{column: rng.integers(ids or n // 3, size=n)})
    if order is None:
        return log
    return taken(log, np.argsort(np.asarray(log.rows[order]).astype(str), kind="stable"))


DEPENDENT: dict[str, Callable[[np.random.Generator], Log]] = {
    "each row 5 times, session_id": partial(copied, column="session_id"),
    "each row 5 times, row_id": partial(copied, column="number", mapped=True),
    "250 people × 8 rows, person_id": partial(people, column="person_id", spread=1.0),
    "250 people × 8 rows, customer": partial(people, column="customer", spread=1.0),
    "250 people × 8 rows, the same inputs each time": partial(people, column="user_id", spread=1.0, fixed=True),
    "250 people × 8 rows, no effect of the person": partial(people, column="patient_id", spread=0.0),
    "30 shops with effects, shop_id": shops,
}
ALONE: dict[str, Callable[[np.random.Generator], Log]] = {
    "independent, 50 shops": partial(independent, column="shop_id", outcome="binary", ids=50),
    "independent, 5 stores": partial(independent, column="store", outcome="binary", ids=5),
    "independent, sessions of three": partial(independent, column="session_id", outcome="four", ids=None),
    "independent, real outcome, agents": partial(independent, column="agent_id", outcome="real", ids=20),
    "independent, sorted by outcome": partial(independent, column="account_id", outcome="binary", ids=None, order="Y"),
    "independent, sorted by input": partial(independent, column="ward", outcome="four", ids=12, order="X0"),
}
UNKNOWN = "each row 5 times, nothing tells copies"
KINDS = DEPENDENT | ALONE | {UNKNOWN: partial(copied, column=None)}


def noticed(kind: str, index: int, seed: int) -> Line:
    """Which warnings one log gets, and whether it is answered."""
    log = KINDS[kind](generator(seed, kind, index))
    found = said(log, index)
    warnings = {w.name: str(getattr(w, "level", "")) for w in found.findings}
    repeats = "repeated-rows" in warnings
    line = judged(found, log.truth)
    return {
        "noticed": any(name in warnings for name in WARNINGS) or repeats,
        "blocked": any(warnings.get(name) == BLOCKS for name in WARNINGS),
        "answered": not line["undecided"],
        "wrong": line["FOUND wrong"] or line["none wrong"],
        "counted once": repeats and found.used <= 400,
        "warnings": sorted(name for name in warnings if name in (*WARNINGS, "repeated-rows", "duplicate-rows")),
    }


def summed(lines: Sequence[Line]) -> Line:
    counts = ("noticed", "blocked", "answered", "wrong", "counted once")
    return {
        "logs": len(lines),
        **{name: total(lines, name) for name in counts},
        "warnings": counted(lines, "warnings"),
    }


def duplicates(scale: Scale) -> Part:
    """Dependent rows, and independent ones with ids."""
    logs = {kind: scale.logs(INDEPENDENT if kind in ALONE else LOGS) for kind in KINDS}
    return Part(
        "Copies and returning people",
        """*Noticed*: the log gets `rows-alike` or `repeated-people`, or its copies are counted once (`row_id`). *Blocked*: such a warning blocks the answer. Copies of rows that nothing tells apart from rows
that happen to be equal cannot be noticed: that line only shows what they do.""",
        {kind: [partial(noticed, kind, i, scale.seed) for i in range(n)] for kind, n in logs.items()},
        summed,
        bars,
    )


def bars(now: Lines, before: Lines) -> Bars:
    held: Bars = {}
    for kind in DEPENDENT:
        line = now[kind]
        held[f"{kind}: noticed in at least 95 %: {line['noticed']} of {line['logs']}"] = line["noticed"] >= 0.95 * line["logs"]  # fmt: skip
        if not line["counted once"]:
            silent = line["logs"] - line["blocked"]
            held[f"{kind}: blocks the answer in at least 95 %: all but {silent}"] = silent <= 0.05 * line["logs"]
    alarms, logs = (sum(now[kind][name] for kind in ALONE) for name in ("noticed", "logs"))
    held[f"independent rows: false alarms in at most 1 %: {alarms} of {logs}"] = alarms <= 0.01 * logs
    return held
