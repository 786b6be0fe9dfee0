"""A part of the benchmark: tasks by case, each of which says what one log gave, and a table with its bars."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

Line = dict[str, Any]
"""Figures by name: of one log, or of a line of the table."""
Lines = Mapping[str, Line]
Bars = dict[str, bool]
"""What must hold, with its figures, and whether it does."""


@dataclass(frozen=True)
class Part:
    """What is run, and how it is shown."""

    title: str
    text: str
    cases: Mapping[str, Sequence[Callable[[], Line]]]
    summed: Callable[[Sequence[Line]], Line]
    bars: Callable[[Lines, Lines], Bars]
    """Of the lines of this version and of those of an earlier one, which may be missing."""


@dataclass(frozen=True)
class Scale:
    """How many logs; ``small`` is for tests."""

    seed: int
    small: bool = False

    def logs(self, number: int) -> int:
        return 2 if self.small else number


def computed(part: Part, jobs: int) -> dict[str, Line]:
    """All lines of a part."""
    tasks = [(case, task) for case, tasks in part.cases.items() for task in tasks]
    found: dict[str, list[Line]] = defaultdict(list)
    done = Parallel(n_jobs=jobs)(delayed(task)() for _, task in tasks)
    for (case, _), line in zip(tasks, done, strict=True):
        found[case].append(line)
    return {case: part.summed(lines) for case, lines in found.items()}


def table(part: Part, now: Lines, before: Lines, version: str, earlier: str) -> Iterator[str]:
    """Lines of this version; those of an earlier one beneath each, where there are any."""
    heads = list(next(iter(now.values())))
    named = ["case", *(["version"] if before else []), *heads]
    yield f"| {' | '.join(named)} |"
    yield "|---" * len(named) + "|"
    for case in now:
        for lines, name in ((before, earlier), (now, version)):
            if case in lines:
                cells = [case, *([name] if before else []), *(shown(lines[case].get(head)) for head in heads)]
                yield f"| {' | '.join(cells)} |"
    yield ""
    for bar, holds in part.bars(now, before).items():
        yield f"- {'met' if holds else '**missed**'}: {bar}"


def shown(value: Any) -> str:
    """A figure in a table."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {number}" for name, number in value.items()) or "–"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "–"
    if isinstance(value, float):
        return f"{value:.3f}" if 0.001 <= abs(value) < 1000 or value == 0 else f"{value:.2g}"
    return "–" if value is None else str(value)


# ---- sums ----


def total(lines: Sequence[Line], name: str) -> int:
    """How often it is so."""
    return sum(int(line[name]) for line in lines)


def mean(lines: Sequence[Line], name: str) -> float | None:
    """Of numbers, or of all numbers of lists; None where there are none."""
    values = [v for line in lines if line.get(name) is not None for v in np.atleast_1d(line[name])]
    return float(np.mean(values)) if values else None


def counted(lines: Sequence[Line], name: str) -> dict[str, int]:
    """How often each text occurs, in one text of a line or in a list of them; the most frequent first."""
    return dict(Counter(text for line in lines for text in _texts(line.get(name))).most_common())


def _texts(value: Any) -> list[str]:
    return [] if value is None else [str(v) for v in value] if isinstance(value, list | tuple | set) else [str(value)]
