"""Whether the status can be relied on: on random logs, on borders, and on logs of other kinds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from benchmarks.answers.asking import generator, judged, said
from benchmarks.answers.kinds import BORDER, KINDS, OTHER, RANDOM
from benchmarks.answers.parts import Bars, Line, Lines, Part, Scale, counted, mean, total

MARGINS = {"margin 0": 0.0, "default margin": None}
LOGS = {"random": 600, **dict.fromkeys(BORDER, 200), **dict.fromkeys(OTHER, 60)}
COUNTS = ("FOUND", "FOUND wrong", "unfair", "none", "none wrong", "undecided", "none though wide", "recommended wrong")


def answered(kind: str, index: int, seed: int, margin: float | None) -> Line:
    """One log of a kind."""
    log = KINDS[kind](generator(seed, kind, index))
    line = judged(said(log, index, margin), log.truth)
    wrong = line["FOUND wrong"] or line["none wrong"]
    return {**line, "wrong logs": [str(index)] if wrong else []}


def summed(lines: Sequence[Line]) -> Line:
    return {
        "logs": len(lines),
        **{name: total(lines, name) for name in COUNTS},
        "outcomes covered": mean(lines, "outcomes covered"),
        "gaps covered": mean(lines, "gaps covered"),
        "wrong logs": list(counted(lines, "wrong logs")),
        "reasons": counted(lines, "reason"),
    }


def status(scale: Scale) -> Part:
    """Every kind at both margins."""
    cases = {
        f"{kind}, {name}": [partial(answered, kind, i, scale.seed, margin) for i in range(scale.logs(LOGS[kind]))]
        for kind in KINDS
        for name, margin in MARGINS.items()
    }
    return Part(
        "Status",
        """*FOUND wrong*: an arm that is unfair (*unfair*), or worse than the best fair arm by more than the margin. *None*: NO_FAIR_ARM; wrong if an arm is fair.
*None though wide*: NO_FAIR_ARM although some arm's intervals of all its conditions contain 0. *Recommended wrong*: the likeliest answer, where there is one, at margin 0.
*Random*: 200 to 6 000 rows, 4 to 9 arms, an outcome that is binary, has four states or is real with exponential noise; the tolerance is drawn independently of the gaps.
How many are undecided depends on the size of effects, which was chosen on other seeds so that about a fifth is decided at margin 0 (`drawn_world`); smaller effects left .90 undecided, with no more wrong answers.
Borders: 500 to 30 000 rows, a tolerance that comes from the true gaps. The kinds below them are other difficulties (`benchmarks/answers/kinds.py`). *Wrong logs* are their numbers.""",
        cases,
        summed,
        bars,
    )


def bars(now: Lines, before: Lines) -> Bars:
    """Of the issue; and the same 5 % for each margin over all kinds that are neither random nor at a border."""
    held: Bars = {}
    for name, most in (("margin 0", 0.85), ("default margin", 0.70)):
        held |= _wrong(now, RANDOM, name, "random")
        share = _sum(now, RANDOM, name, "undecided") / _sum(now, RANDOM, name, "logs")
        held[f"random, {name}: undecided at most {most}: {share:.3f}"] = share <= most
        wrong, answers = (
            sum(_sum(now, BORDER, name, column) for column in columns)
            for columns in (("FOUND wrong", "none wrong"), ("FOUND", "none"))
        )
        held[f"borders, {name}: at least 100 answers: {answers}"] = answers >= 100
        held[f"borders, {name}: at most 15 % of all answers wrong: {wrong} of {answers}"] = wrong <= 0.15 * answers
        held |= _wrong(now, OTHER, name, "other kinds")
    wide = sum(line["none though wide"] for line in now.values())
    held[f"NO_FAIR_ARM where an arm's intervals contain 0: never: {wide}"] = wide == 0
    unexplained = sum(line["reasons"].get("none", 0) for line in now.values())
    held[f"UNDECIDED without a reason: never: {unexplained}"] = unexplained == 0
    return held


def _wrong(now: Lines, kinds: Iterable[str], margin: str, named: str) -> Bars:
    held = {}
    for answer in ("FOUND", "none"):
        wrong, answers = (_sum(now, kinds, margin, column) for column in (f"{answer} wrong", answer))
        held[f"{named}, {margin}: at most 5 % of {answer} wrong: {wrong} of {answers}"] = wrong <= 0.05 * answers
    return held


def _sum(now: Lines, kinds: Iterable[str], margin: str, column: str) -> int:
    return sum(now[f"{kind}, {margin}"][column] for kind in kinds)
