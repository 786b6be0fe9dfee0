"""Logs of the worked examples: exact laws of rows as counts, as a table of columns with names of states."""

from __future__ import annotations

from typing import Any

import numpy as np

import worlds_truth
from fairarm import LogMap
from oracle import state
from worlds_truth import Model

MANY = 10**9
WHERE = LogMap(arm="arm", regime="regime", count="rows")


def log_of(
    model: Model, rows: int = MANY, k: int = 0, regimes: dict[str, dict[str, int]] | None = None
) -> dict[str, Any]:
    """``rows`` rows of an arm, natural, or as many in each of the regimes: name -> what people are recruited for."""
    names = tuple(x for x in model.order if x not in model.hidden)
    made: dict[str, list[Any]] = {name: [] for name in (*names, "arm", "regime", "rows")}
    for regime, people in (regimes or {"natural": {}}).items():
        counts = np.rint(worlds_truth.law(model, k, names, people) * rows).astype(int)
        at = np.nonzero(counts)
        for name, codes in zip(names, at, strict=True):
            made[name] += [state(name, code) for code in codes]
        made["arm"] += [f"arm {k}"] * len(at[0])
        made["regime"] += [regime] * len(at[0])
        made["rows"] += counts[at].tolist()
    return made


def drawn(log: dict[str, Any], rows: int, seed: int) -> dict[str, Any]:
    """A sample of so many rows."""
    weight = np.array(log["rows"], dtype=float)
    return log | {"rows": np.random.default_rng(seed).multinomial(rows, weight / weight.sum()).tolist()}
