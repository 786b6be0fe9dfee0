"""How often bounds hold on worlds with a hidden cause of known strength, and on logs whose outcomes are lost by what they are.

    python -m benchmarks.doubt                     # 500 logs of each kind, certified bounds on 2 000
    python -m benchmarks.doubt --logs 50 --certified 200

Writes results.md beside this file. Seeds are fixed; every log is of a world of its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.doubt.deeper import DeepWorld
from benchmarks.doubt.measures import ROWS, BySpread, Make, certified, compared, hidden, lost
from benchmarks.doubt.worlds import ARMS, HiddenWorld, MixedWorld, RealWorld, SharpWorld

PUSHES = (0.2, 0.5, 1.0)
SHARES = (0.01, 0.03, 0.1)

PAGE = """# How often bounds hold where something is not known

`python -m benchmarks.doubt` wrote this: {rows} rows a log, every log of a random world of its own (`worlds.py`) with {arms} arms, 2 to 4 contexts and
2 or 3 decisions. Intervals are of 95 %. *Worst*: the arm, outcome or gap, whose interval held least often.

## Usual bounds

A hidden cause of known strength: bounds at that strength, beside the usual interval, which takes it that there is none. Missing by outcome:
ones get lost about twenty times as often as zeros; bounds whatever they were, beside the interval as if missing at random.

| world | logs | outcome | rows | worst | plain: outcome | plain: rows |
|---|---|---|---|---|---|---|
{usual}

*Sharp*: the truth is on the end of the box. *Cause*: the sensitive attribute has one, and its law is not declared. *Kept*: a node between attribute and
decision is kept (`deeper.py`); rows are then two, of people read as the other group. *Amount*: a real outcome. *Half at random*: half of the rows are of an
arm that drew its decisions at random (`log.randomised`).

## Two ways to bound the same logs

*Half at random*: rows that drew at random apart, beside one Γ for all rows. *Amount*: sorted sums, beside mean and standard deviation alone.

| world | logs | held | held, other | width | width, other | ratio |
|---|---|---|---|---|---|---|
{compared}

## Certified bounds

All {all} certified intervals of a log at once may be wrong in 0.05 of logs. *Wider*: than those of the same log with all outcomes, by bets alone,
on average over arms, outcomes only. *Formula*: the mean weight of the missing rows.

| missing | logs | some interval wrong | wider | formula |
|---|---|---|---|---|
{proved}
"""


def usual_lines(logs: int) -> Iterator[str]:
    """Hidden causes, then missing outcomes."""
    for push in PUSHES:
        yield hidden(partial(HiddenWorld.of, push=push), logs, "hidden cause", int(100 * push)).line()
    more: dict[str, Make] = {
        "sharp": partial(SharpWorld.of, push=0.4),
        "cause": partial(DeepWorld.of, push=0.5, kept=False),
        "kept": partial(DeepWorld.of, push=0.5, kept=True),
        "amount": partial(RealWorld.of, push=0.5),
        "half at random": partial(MixedWorld.of, push=0.5),
    }
    for i, (name, make) in enumerate(more.items()):
        yield hidden(make, logs, f"hidden cause, {name}", 1000 + i).line()
    for share in SHARES:
        yield lost(partial(HiddenWorld.of, push=0.0), share, logs, "missing by outcome", int(1000 * share)).line()
    for i, kept in enumerate((False, True)):
        about = f"missing by outcome, {'kept' if kept else 'cause'}"
        for share in SHARES[1:]:
            key = 2000 + 100 * i + int(1000 * share)
            yield lost(partial(DeepWorld.of, push=0.0, kept=kept), share, logs, about, key).line()


def compared_lines(logs: int) -> Iterator[str]:
    """Ours beside another way."""
    make: Make
    for push in PUSHES:
        make = partial(MixedWorld.of, push=push)
        yield compared(make, logs, f"half at random, push {push:g}", int(100 * push), lambda draws: draws).line()
    for push in PUSHES:
        make = partial(RealWorld.of, push=push)
        yield compared(make, logs, f"amount, push {push:g}", 1000 + int(100 * push), BySpread.of).line()


def main() -> None:
    """Measure, and write the page. 0 logs of a kind: its table is left out, and nothing is written."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=500)
    parser.add_argument("--certified", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results.md"))
    given = parser.parse_args()
    usual = [_told(line) for line in usual_lines(given.logs)] if given.logs else []
    beside = [_told(line) for line in compared_lines(given.logs)] if given.logs else []
    proved = [_told(certified(share, given.certified).line()) for share in SHARES if given.certified]
    if usual and proved:
        tables = {"usual": usual, "compared": beside, "proved": proved}
        page = PAGE.format(
            rows=ROWS, arms=ARMS, all=2 * ARMS, **{key: "\n".join(lines) for key, lines in tables.items()}
        )
        given.out.write_text(page, encoding="utf-8")


def _told(line: str) -> str:
    print(line, flush=True)
    return line


if __name__ == "__main__":
    main()
