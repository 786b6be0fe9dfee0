"""Request and Batch: the only things that algorithms and worlds share.

A plan is a table (arm, regime, count); a batch is a table (arm, regime, S, the observed columns, outcome, count) with
one line per row (count 1) or one per cell (count 1 or more).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairarm.core.types import FloatArray, IntArray
from fairarm.errors import DataError, OptionError
from fairarm.frames import Column
from fairarm.problem.problem import Problem, require_problem
from fairarm.problem.variables import Variable
from fairarm.shown import Fact, Shown

MOST_ROWS = 1 << 53
"""Rows of a batch, and of a run with its log: up to here a float holds every whole number, and no sum overflows."""


@dataclass(frozen=True)
class Pulls:
    """One line of a plan: pull ``arm`` ``count`` times, with S natural or forced to a group (states of several attributes)."""

    arm: str
    regime: str
    count: int


@dataclass(frozen=True, eq=False)
class Request:
    """How often to pull each arm in each regime: ``counts`` (R, K), regimes first."""

    arms: tuple[str, ...]
    regimes: tuple[str, ...]
    counts: IntArray

    def __post_init__(self) -> None:
        if np.shape(self.counts) != (len(self.regimes), len(self.arms)):
            raise OptionError(
                f"The counts of a request need a line per regime and a column per arm, {(len(self.regimes), len(self.arms))}; got shape "
                f"{np.shape(self.counts)}. Give a 0 where nothing is to be pulled."
            )

    def __iter__(self) -> Iterator[Pulls]:
        """The lines with a positive count."""
        for r, k in np.argwhere(self.counts > 0):
            yield Pulls(self.arms[k], self.regimes[r], int(self.counts[r, k]))

    @property
    def total(self) -> int:
        """Pulls asked for, over all units."""
        return int(self.counts.sum())

    def __repr__(self) -> str:
        return f"Request({', '.join(f'{p.count} x {p.arm} [{p.regime}]' for p in self) or 'nothing to pull'})"


@dataclass(frozen=True, eq=False, repr=False)
class Batch(Shown):
    """What came back. ``arm`` and ``regime`` are positions (regime 0 is natural), ``columns`` hold the attributes, the cell and Y.

    Finite columns hold codes, real ones values. ``count`` says how many rows each line stands for.
    """

    arm: IntArray
    regime: IntArray
    columns: Mapping[str, NDArray[Any]]
    count: IntArray

    @property
    def size(self) -> int:
        """Lines, each of which stands for ``count`` rows."""
        return len(self.arm)

    @property
    def total(self) -> int:
        """Rows."""
        return sum(self.count.tolist())  # exact, however large

    def take(self, lines: IntArray) -> Batch:
        """Some of the lines."""
        columns = {name: values[lines] for name, values in self.columns.items()}
        return Batch(self.arm[lines], self.regime[lines], columns, self.count[lines])

    def digest(self) -> str:
        """A fingerprint of the content, to tell a repeated part from a conflicting one."""
        hasher = hashlib.sha256()
        for name, values in [
            ("arm", self.arm),
            ("regime", self.regime),
            ("count", self.count),
            *sorted(self.columns.items()),
        ]:
            hasher.update(name.encode() + b"\0" + np.ascontiguousarray(values).tobytes())
        return hasher.hexdigest()

    def labels(self, problem: Problem) -> dict[str, list[Any]]:
        """The batch with the names of arms, regimes and states: what `batch` takes back."""
        out: dict[str, list[Any]] = {
            "arm": [problem.arm_names[i] for i in self.arm],
            "regime": [problem.regimes[i] for i in self.regime],
        }
        return {**out, **self.node_labels(problem), "count": self.count.tolist()}

    def node_labels(self, problem: Problem) -> dict[str, list[Any]]:
        """The columns of nodes alone, with the names of states."""
        out: dict[str, list[Any]] = {}
        for name, values in self.columns.items():
            states = problem.variables[name].states if name in problem.variables else None
            out[name] = values.tolist() if states is None else [states[i] for i in values]
        return out

    def _facts(self) -> list[Fact]:
        return [("rows", int(self.count.sum())), ("lines", self.size), ("columns", ", ".join(self.columns))]

    def _columns(self) -> dict[str, Column]:
        own: dict[str, Column] = {"arm": (int, self.arm), "regime": (int, self.regime), "count": (int, self.count)}
        if taken := own.keys() & self.columns.keys():
            raise OptionError(
                f"The frame of a batch has columns arm, regime and count of its own; a node is called '{min(taken)}' too. "
                "Take the batch's columns instead: batch.columns."
            )
        return own | {name: (None, values) for name, values in self.columns.items()}


def groups_of(problem: Problem, batch: Batch) -> IntArray:
    """The position among the groups of each line's S; of several attributes, that of its profile among the labels."""
    return problem.compiled.labels(batch.columns)


def scaled_outcomes(problem: Problem, batch: Batch) -> FloatArray:
    """Y' of each line."""
    raw = batch.columns[problem.outcome.node]
    if problem.outcome.values is not None:
        return np.asarray(problem.outcome.scaled_values[raw])
    return problem.outcome.scale(np.asarray(raw, dtype=np.float64))


UNKNOWN_ARM = -1
"""The position of an arm that is not named, in rows of a log that has propensities instead."""


@dataclass(frozen=True, eq=False)
class LoggedRows:
    """Rows of a log: a batch, and P(logged decision) under whatever rule made each, where the log has it."""

    batch: Batch
    propensity: FloatArray | None = None
    ticket: NDArray[np.uint64] | None = None
    """A number made of each row's id alone, where every row has one: it says nothing of what the row holds."""
    memo: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)
    """What was computed of these rows and is asked for again."""


def batch(problem: Problem, rows: Any) -> Batch:
    """A checked batch from a data frame, columns by name or a list of records, with the names of arms, regimes and states.

    Columns: ``arm``, ``regime`` ("natural", a group, or "race=b" where there are several attributes; natural if absent), every
    observed node, and ``count`` (1 if absent). The outcome may be given as its state or, for a real outcome, as a number.
    """
    require_problem(problem)
    table = {name: _array(name, values) for name, values in _as_columns(rows).items()}
    needed = ("arm", *problem.observed)
    if missing := [name for name in needed if name not in table]:
        raise DataError(f"The rows have no column '{missing[0]}'. They need: {', '.join(needed)}.")
    if table["arm"].ndim != 1:
        raise DataError("Each column holds one value per row; for a single record give a list with it.")
    length = len(table["arm"])
    table.setdefault("regime", np.full(length, problem.regimes[0]))
    table.setdefault("count", np.ones(length, dtype=np.int64))
    for name, values in table.items():
        if values.shape != (length,):
            raise DataError(f"Column '{name}' has shape {values.shape}; the column 'arm' has {length} rows.")
    made = Batch(
        arm=_codes(table["arm"], problem.arm_names, "arm"),
        regime=_codes(table["regime"], problem.regimes, "regime"),
        columns={name: _column(name, table[name], problem.variables.get(name)) for name in problem.observed},
        count=_counts(table["count"]),
    )
    check_batch(problem, made)
    return made


def check_batch(problem: Problem, made: Batch) -> None:
    """Every line fits the problem: known arm and regime, S as forced, states and outcome within their range."""
    if not isinstance(made.columns, Mapping):
        raise DataError("The columns of a batch are arrays by name; use `batch` to make one of your rows.")
    if missing := [name for name in problem.observed if name not in made.columns]:
        raise DataError(f"The batch has no column '{missing[0]}'. It needs: {', '.join(problem.observed)}.")
    for name, values in {"arm": made.arm, "regime": made.regime, "count": made.count, **made.columns}.items():
        if not isinstance(values, np.ndarray) or values.ndim != 1:
            raise DataError(f"Column '{name}' of the batch must be an array; use `batch` to make one of your rows.")
    _within("arm", made.arm, len(problem.arms), made.size)
    _within("regime", made.regime, len(problem.regimes), made.size)
    _check_offered(problem, made.regime)
    if made.count.shape != made.arm.shape or np.any(_counts(made.count) < 0):
        raise DataError("The column 'count' must hold one whole number, 0 or more, for each line.")
    if made.total > MOST_ROWS:
        raise DataError(f"The batch stands for {made.total} rows; at most {MOST_ROWS} are taken. Check the counts.")
    for name in problem.observed:
        _check_column(problem, name, made.columns[name], made.size)
    _check_forced(problem, made)


def _check_forced(problem: Problem, made: Batch) -> None:
    """Every forced row has the states that it was forced to."""
    wrong = ~problem.compiled.regime_fits[made.regime, groups_of(problem, made)]
    if wrong.any():
        regime = problem.regimes[int(made.regime[np.argmax(wrong)])]
        what = "group" if len(problem.attributes) == 1 else "states"
        raise DataError(
            f"A row of regime '{regime}' has another {' or '.join(problem.attributes)}. A forced pull must return the {what} it was "
            f"forced to; drop such rows, or correct the {what}."
        )


def _check_offered(problem: Problem, regime: IntArray) -> None:
    """No row is of a regime in which the problem offers no pulls."""
    for name in problem.regimes[1:]:
        if name not in problem.forced and np.any(regime == problem.regimes.index(name)):
            raise DataError(
                f"There are rows of the regime '{name}', which the problem does not offer. Regimes: "
                f"{', '.join((problem.regimes[0], *problem.forced))}. Drop such rows, or offer the regime."
            )


def _counts(values: NDArray[Any]) -> IntArray:
    """Counts as int64, which hold them as they are."""
    if values.dtype.kind not in "iu":
        raise DataError(
            f"The column 'count' must hold whole numbers up to {MOST_ROWS}; it holds {values.dtype} values."
        )
    if values.dtype.kind == "u" and np.any(values > MOST_ROWS):
        raise DataError(
            f"The column 'count' holds {values.max()}; at most {MOST_ROWS} rows are taken. Check the counts."
        )
    return values.astype(np.int64)


def _check_column(problem: Problem, name: str, values: NDArray[Any], size: int) -> None:
    variable = problem.variables.get(name)
    if variable is not None and variable.finite:
        _within(name, values, variable.size, size)
        return
    if name == problem.outcome.node:
        low, high = problem.outcome.low, problem.outcome.high
    else:
        low, high = (variable.low, variable.high) if variable else (None, None)
    numbers = values.shape == (size,) and values.dtype.kind in "biuf"
    if not numbers or not np.all(np.isfinite(values)) or np.any(values < low) or np.any(values > high):
        raise DataError(f"Column '{name}' must hold {size} numbers from {low} to {high}; some are missing or outside.")


def _within(name: str, codes: NDArray[Any], size: int, length: int) -> None:
    valid = codes.shape == (length,) and codes.dtype.kind in "iu"
    if not valid or (length and (codes.min() < 0 or codes.max() >= size)):
        raise DataError(
            f"Column '{name}' must hold {length} codes from 0 to {size - 1}; use `batch` to give names instead."
        )


def _as_columns(rows: Any) -> dict[str, ArrayLike]:
    if isinstance(rows, Mapping):
        return {str(name): values for name, values in rows.items()}
    names = getattr(rows, "columns", None)
    if isinstance(names, list) and any(not isinstance(name, str) for name in names):  # a pyarrow table's are arrays
        names = getattr(rows, "column_names", None)
    if names is not None and hasattr(rows, "__getitem__"):
        return {str(name): rows[name] for name in names}
    if not isinstance(rows, list | tuple) or any(not isinstance(row, Mapping) for row in rows):
        of = f" of {type(rows[0]).__name__}" if isinstance(rows, list | tuple) else ""
        raise DataError(f"Rows are a frame, columns by name, or a list of records; got {type(rows).__name__}{of}.")
    return columns_of_records(rows)


def columns_of_records(rows: Sequence[Mapping[str, Any]]) -> dict[str, ArrayLike]:
    """Records as columns by name: all of them have the same ones."""
    if not rows:
        raise DataError("There are no rows.")
    if any(row.keys() != rows[0].keys() for row in rows):
        raise DataError("The rows do not all have the same columns.")
    return {str(name): [row[name] for row in rows] for name in rows[0]}


def _array(name: str, values: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError):  # lists of several lengths, most often
        raise DataError(f"Column '{name}' does not hold one value per row.") from None


def _codes(values: NDArray[Any], names: tuple[str, ...], what: str) -> IntArray:
    """Positions of names; integers are names too only if the names look like them."""
    lookup = {name: i for i, name in enumerate(names)}
    try:
        unique, inverse = np.unique(values.astype(str), return_inverse=True)
    except (TypeError, ValueError):
        raise DataError(f"Column '{what}' must hold names; it holds {values.dtype} values.") from None
    unknown = [value for value in unique.tolist() if value not in lookup]
    if unknown:
        raise DataError(f"Column '{what}' holds {unknown[0]!r:.80}, which is not one of: {', '.join(names[:12])}.")
    return np.array([lookup[value] for value in unique.tolist()], dtype=np.int64)[inverse]


def _column(name: str, values: NDArray[Any], variable: Variable | None) -> NDArray[Any]:
    if variable is not None and variable.states is not None:
        return _codes(values, variable.states, name)
    try:
        if values.dtype.kind in "biufOUS":  # a date or a complex number would lose its meaning
            return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError(f"Column '{name}' must hold numbers; it holds {values.dtype} values.")
