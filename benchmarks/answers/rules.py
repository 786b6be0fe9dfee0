"""Rows of two logging rules under one propensity column: more rows must not make an estimate worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.answers.asking import generator, said
from benchmarks.answers.parts import Bars, Line, Lines, Part, Scale, counted, mean
from benchmarks.answers.worlds import Log, World, binary, scores, simplex
from fairarm import LogMap

LOGS, ITEMS, ROWS, POSITIONS = 60, 80, 10_000, 3
RULES = ("uniform", "popular")


def both(rng: np.random.Generator) -> tuple[Log, Any]:
    """10 000 rows of a rule that shows all items alike, and as many of one that shows few of them most of the time; which row is whose."""
    score = scores(rng, (1, 2, POSITIONS, ITEMS), (0.0, 0.1, 0.3, 0.5), 0.2, direct=False) - 5.4
    few = simplex(rng, (1, POSITIONS, ITEMS), 0.2, 2e-4)
    alike = np.full((2, POSITIONS, ITEMS), 1 / ITEMS)
    arms = {"uniform": alike, "popular": np.repeat(few, 2, axis=0)}
    child = np.full((1, 2, POSITIONS), 1 / POSITIONS)
    world = World(np.ones(1), np.full((1, 2), 0.5), child, (), arms, binary(score), 0.01, direct=False)
    swapped = replace(world, arms={"popular": arms["popular"], "uniform": alike})
    parts = [w.log(ROWS, rng, propensity=True) for w in (world, swapped)]
    rows = {name: np.concatenate([np.asarray(part.rows[name]) for part in parts]) for name in parts[0].rows}
    x, v = (np.array([int(text[1:]) for text in rows[name]]) for name in ("X0", "V"))
    rows |= {f"p_{name}": law[0][x, v] for name, law in arms.items()}
    rule = np.repeat(np.array(RULES, dtype=object), ROWS)
    return Log(parts[0].problem, rows, world.truth(), LogMap(propensity="p")), rule


def estimated(case: str, index: int, seed: int) -> Line:
    """The error of each arm's outcome in one log; all cases see the same rows."""
    log, rule = both(generator(seed, "two rules", index))
    if case in RULES:
        log = replace(log, rows={name: values[rule == case] for name, values in log.rows.items()})
    elif case == WITH_RULE:
        given: dict[str, Any] = {"logging_rule": "rule", "rule_propensities": {name: f"p_{name}" for name in RULES}}
        log = replace(log, rows={**log.rows, "rule": rule}, columns=LogMap(**given))
    found = said(log, index)
    line: Line = {"warnings": sorted(w.name for w in found.findings)}
    for arm, mu in zip(found.arms, log.truth.outcomes, strict=True):
        line[f"{arm.name} error"] = (arm.outcome.value - float(mu)) ** 2
        line[f"{arm.name} width"] = arm.outcome.high - arm.outcome.low
        line[f"{arm.name} covered"] = bool(arm.outcome.low <= mu <= arm.outcome.high)
    return line


WITHOUT_RULE, WITH_RULE = "both, one column of propensities", "both, each rule's propensities"
CASES = (*RULES, WITHOUT_RULE, WITH_RULE)


def summed(lines: Sequence[Line]) -> Line:
    made: Line = {"logs": len(lines)}
    for arm in RULES:
        made[f"{arm}: error × 10⁴"] = 1e4 * float(np.sqrt(np.mean([line[f"{arm} error"] for line in lines])))
        made[f"{arm}: width × 10⁴"] = 1e4 * float(np.mean([line[f"{arm} width"] for line in lines]))
        made[f"{arm}: covered"] = mean(lines, f"{arm} covered")
    return {**made, "warnings": counted(lines, "warnings")}


def rules(scale: Scale) -> Part:
    """Each rule's rows alone, and both."""
    return Part(
        "Rows of two logging rules",
        f"""{ITEMS} items in {POSITIONS} positions, clicks of about .5 %, 10 000 rows of each rule, by one column of propensities or with `logging_rule` and `rule_propensities`. *Error*: root mean square error of the arm's outcome.""",
        {case: [partial(estimated, case, i, scale.seed) for i in range(scale.logs(LOGS))] for case in CASES},
        summed,
        bars,
    )


def bars(now: Lines, before: Lines) -> Bars:
    held: Bars = {}
    for arm in RULES:
        best = min(now[rule][f"{arm}: error × 10⁴"] for rule in RULES)
        own = now[WITH_RULE][f"{arm}: error × 10⁴"]
        held[f"{arm}: error of both rules at most that of the better one alone: {own:.2f}, {best:.2f}"] = own <= best
    line = now[WITHOUT_RULE]
    warned = line["warnings"].get("propensities-of-several-rules", 0)
    held[f"one column of propensities: a warning: {warned} of {line['logs']}"] = warned == line["logs"]
    false = sum(now[rule]["warnings"].get("propensities-of-several-rules", 0) for rule in RULES)
    held[f"one rule: no such warning: {false}"] = false == 0
    return held
