"""How soon a wrong law is seen: ``python -m benchmarks.law`` writes law.md.

Ten arms and groups, each with as many rows as any other, tested after every 25 rows of each. In one of them the probability of
one decision is off, and the others keep their proportions; or nothing is off.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairarm.core.proof.law_test import LawTests, is_void, known_law_tests
from fairarm.core.proof.least_error import least_error
from fairarm.core.types import FloatArray

OUT = Path(__file__).with_name("law.md")
ARMS, DECISIONS, STEP, RUNS = 5, 4, 25, 400
H = np.array([0.5, 0.3, 0.2])
"""The law of three contexts."""
WRONG = (0.4, 0.3, 0.2, 0.1)
"""The declared probabilities of the decisions where the first of them is off."""
MOST = {0.0: 2000, 0.10: 2500, 0.05: 8000, 0.03: 20_000}
"""By how much a probability is off, and after how many rows a run is given up."""


@dataclass(frozen=True)
class Line:
    """What was seen of one size of error: the rows of its arm and group after which half, and 95 %, of runs are void."""

    contexts: int
    off: float
    found: int
    half: float
    most: float
    rows: int
    stated: float
    """The least error that is said to have shown after the rows of ``most``."""


def line(contexts: int, off: float) -> Line:
    """One size of error, with one context or three."""
    rng = np.random.default_rng([contexts, round(1000 * off)])
    h = H if contexts > 1 else np.ones(1)
    given = np.random.default_rng(0).dirichlet(np.full(DECISIONS, 4.0), (ARMS, 2, len(h)))
    given[2, 1] = WRONG
    law = (h[:, None] * given).reshape(ARMS, 2, -1)
    decision, context = np.tile(np.arange(DECISIONS), len(h)), np.repeat(np.arange(len(h)), DECISIONS)
    tests = known_law_tests(law, decision, context, None)
    at = _until_void(tests, law, _shifted(law, h, given, off), rng, MOST[off])
    half, most = (float(np.quantile(at, share, method="inverted_cdf")) for share in (0.5, 0.95))
    p = law[2, 1].reshape(len(h), DECISIONS).sum(axis=0)
    stated = least_error(p[None, None, None], np.full((1, 1, 1, 1), min(most, MOST[off])), tests.log_least)[0, 0, 0]
    return Line(contexts, off, int(np.isfinite(at).sum()), half, most, MOST[off], float(stated))


def _shifted(law: FloatArray, h: FloatArray, given: FloatArray, off: float) -> FloatArray:
    """The law of one arm and group with one decision more probable by ``off`` in every context."""
    true, one = law.copy(), given[2, 1].copy()
    one[:, 0] += off
    one[:, 1:] *= ((1 - one[:, 0]) / (1 - given[2, 1, :, 0]))[:, None]
    true[2, 1] = (h[:, None] * one).ravel()
    return true


def _until_void(tests: LawTests, law: FloatArray, true: FloatArray, rng: np.random.Generator, most: int) -> FloatArray:
    """Rows of each arm and group when a run is void, inf where it never is, (runs,)."""
    cells, natural = np.zeros((RUNS, *law.shape)), np.zeros((RUNS, 2))
    at = np.full(RUNS, np.inf)
    for rows in range(STEP, most + 1, STEP):
        for unit in np.ndindex(law.shape[:2]):
            cells[:, *unit] += rng.multinomial(STEP, true[unit], RUNS)
        at = np.minimum(at, np.where(is_void(tests.log_values(cells, natural)), rows, np.inf))
    return at


def page(lines: list[Line]) -> str:
    """The table."""
    text = [
        "# How soon a wrong law is seen",
        "",
        f"Written by `python -m benchmarks.law`: {RUNS} runs a line, ten arms and groups of {DECISIONS} decisions, looked at after every {STEP} rows of each. In",
        "one of the ten, the probability of one decision is off. *Stated*: what a verdict would say, after the rows by which 95 % were found, is the least",
        "error that would have shown.",
        "",
        "| contexts | off by | void | rows for half | rows for 95 % | stated |",
        "|---|---|---|---|---|---|",
    ]
    for x in lines:
        rows = (f"{n:,.0f}" if np.isfinite(n) else f"more than {x.rows:,}" for n in (x.half, x.most))
        stated = f"±{x.stated:.3f}" if x.off else ""
        text.append(
            f"| {x.contexts} | {x.off:g} | {x.found} of {RUNS} | {' | '.join(rows) if x.off else ' | '} | {stated} |"
        )
    return "\n".join([*text, ""])


def main() -> None:
    """All sizes."""
    found = page([line(contexts, off) for contexts in (1, 3) for off in MOST])
    OUT.write_text(found, encoding="utf-8")
    print(found)


if __name__ == "__main__":
    main()
