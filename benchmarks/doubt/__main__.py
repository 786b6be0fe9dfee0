"""How often bounds hold on worlds with a hidden cause of known strength, and on logs whose outcomes are lost by what they are.

    python -m benchmarks.doubt                       # 500 logs of each kind, certified bounds on 2 000
    python -m benchmarks.doubt --only hidden --kinds "hidden, sharp" --logs 50

Keeps each line in lines.json beside this file, and writes results.md from them. Seeds are fixed; every log is of a world of its own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.doubt.deeper import DeepWorld
from benchmarks.doubt.measures import ROWS, BySpread, Compared, Held, Make, certified, compared, hidden, lost
from benchmarks.doubt.worlds import ARMS, HiddenWorld, MixedWorld, RealWorld, SharpWorld

PUSHES = (0.2, 0.5, 1.0)
SHARES = (0.01, 0.03, 0.1)
LOGS = {"hidden": 500, "missing": 500, "compared": 100, "certified": 2000}

PAGE = """# How often bounds hold where something is not known

`python -m benchmarks.doubt` wrote this: {rows} rows a log, every log of a random world of its own (`worlds.py`) with {arms} arms, 2 to 4 contexts and
2 or 3 decisions. Intervals are of 95 %. *Worst*: the arm, outcome or gap, whose interval held least often.

## Usual bounds

A hidden cause of known strength: bounds at that strength, beside the usual interval, which takes it that there is none. Missing by outcome:
ones get lost about twenty times as often as zeros; bounds whatever they were, beside the interval as if missing at random.

| world | logs | outcome | rows | worst | plain: outcome | plain: rows |
|---|---|---|---|---|---|---|
{hidden}
{missing}

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
{certified}
"""


Kind = tuple[str, Callable[[int], str]]
"""What is measured, and a line of a table from so many logs."""


def hidden_kinds() -> Iterator[Kind]:
    """Worlds with a hidden cause."""
    for push in PUSHES:
        make: Make = partial(HiddenWorld.of, push=push)
        yield f"hidden {push:g}", _line(hidden, make, about="hidden cause", key=int(100 * push))
    more: dict[str, Make] = {
        "sharp": partial(SharpWorld.of, push=0.4),
        "cause": partial(DeepWorld.of, push=0.5, kept=False),
        "kept": partial(DeepWorld.of, push=0.5, kept=True),
        "amount": partial(RealWorld.of, push=0.5),
        "half at random": partial(MixedWorld.of, push=0.5),
    }
    for i, (name, make) in enumerate(more.items()):
        yield f"hidden, {name}", _line(hidden, make, about=f"hidden cause, {name}", key=1000 + i)


def missing_kinds() -> Iterator[Kind]:
    """Logs with holes."""
    for share in SHARES:
        make: Make = partial(HiddenWorld.of, push=0.0)
        about = "missing by outcome"
        yield f"missing {share:g}", _line(lost, make, share=share, about=about, key=int(1000 * share))
    for i, kept in enumerate((False, True)):
        what = "kept" if kept else "cause"
        make = partial(DeepWorld.of, push=0.0, kept=kept)
        for share in SHARES[1:]:
            key = 2000 + 100 * i + int(1000 * share)
            about = f"missing by outcome, {what}"
            yield f"missing {share:g}, {what}", _line(lost, make, share=share, about=about, key=key)


def compared_kinds() -> Iterator[Kind]:
    """Ours beside another way."""
    for push in PUSHES:
        make: Make = partial(MixedWorld.of, push=push)
        about, key = f"half at random, push {push:g}", int(100 * push)
        yield about, _line(compared, make, about=about, key=key, other=lambda draws: draws)
    for push in PUSHES:
        make = partial(RealWorld.of, push=push)
        about, key = f"amount, push {push:g}", 1000 + int(100 * push)
        yield about, _line(compared, make, about=about, key=key, other=BySpread.of)


def certified_kinds() -> Iterator[Kind]:
    """All certified intervals of a log at once."""
    for share in SHARES:
        yield f"certified {share:g}", lambda logs, share=share: certified(share, logs).line()  # type: ignore[misc]


def _line(measure: Callable[..., Held | Compared], make: Make, **given: Any) -> Callable[[int], str]:
    return lambda logs: measure(make, logs=logs, **given).line()


TABLES = {
    "hidden": hidden_kinds,
    "missing": missing_kinds,
    "compared": compared_kinds,
    "certified": certified_kinds,
}


def main() -> None:
    """Measure one table or all, and write the page from what has been measured so far (lines.json)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=TABLES, help="one table; the others stay as they were measured")
    parser.add_argument("--kinds", nargs="*", help="some of its lines")
    parser.add_argument(
        "--logs", type=int, help="500 by default; 2000 of certified bounds, 100 of two ways side by side"
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    given = parser.parse_args()
    kept = given.out / "lines.json"
    lines: dict[str, str] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for table in [given.only] if given.only else TABLES:
        for name, line in TABLES[table]():
            if not given.kinds or name in given.kinds:
                lines[name] = line(given.logs or LOGS[table])
                print(lines[name], flush=True)
                kept.write_text(json.dumps(lines, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    parts = {name: "\n".join(lines.get(key, "") for key, _ in kinds()) for name, kinds in TABLES.items()}
    page = PAGE.format(rows=ROWS, arms=ARMS, all=2 * ARMS, **parts)
    (given.out / "results.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
