"""Which rows a log holds, as a short text: whatever their order, their engine and the format of the file. And a log split in two, so that
a rule is not evaluated on the rows it was learned from.

A digest is ROWS:SUM:IDS, of a part of a log followed by /ROWS:SUM of the whole. SUM adds up hashes of 128 bits of the rows; IDS are the smallest hashes
of ids, by which the share of ids that two logs have in common is estimated. Unlike a Bloom filter they are never wrong about an id.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairarm.core.mixing import mixed
from fairarm.errors import DataError, OptionError
from fairarm.logs.coding import texts
from fairarm.logs.engines import Arrow
from fairarm.logs.sources import open_log
from fairarm.logs.table import LogTable
from fairarm.logs.values import EXACT, MISSING_WORDS, NUMBER, naive, to_numpy
from fairarm.problem.mechanism import Arm

ROW_ID = "row_id"
"""The column of ids where none is named."""
IDS_KEPT = 512
MOST_SHARED = 0.01
"""The share of ids that a log may have in common with the one that an arm was learned from."""

Hashes = NDArray[np.uint64]


def canonical(value: Any) -> str:
    """One text for a value however a file holds it: 7, 7.0 and "7"; true and True; NaN and nothing; a time with T or with a space."""
    text = str(value).strip().lower()
    if text in MISSING_WORDS:
        return ""
    if re.fullmatch(NUMBER, text):
        number = float(text)
        if abs(number) >= EXACT and text.lstrip("+-").isdigit():
            return str(int(text))
        written = texts(number)
        return written[0] if number.is_integer() else written[-1]
    try:
        return str(naive(datetime.fromisoformat(text.upper())))
    except ValueError:
        return text


def value_hashes(values: NDArray[Any], name: str = "") -> Hashes:
    """Of the values of a column, (2, I)."""
    listed = values.tolist()
    known = {value: blake2b(f"{name}\0{canonical(value)}".encode("utf-8", "surrogatepass"), digest_size=16).digest() for value in set(listed)}  # fmt: skip
    return np.frombuffer(b"".join(known[value] for value in listed), dtype="<u8").reshape(-1, 2).T


def row_hashes(raw: dict[str, NDArray[Any]]) -> Hashes:
    """Of rows, whatever the order of their columns, (2, I)."""
    found = np.zeros((2, len(next(iter(raw.values())))), dtype=np.uint64)
    for name in sorted(raw):
        found = mixed(found ^ value_hashes(raw[name], name))
    return found


def log_digest(log: Any, by: str | None = None) -> str:
    """The digest of a log, for ``learned_from`` of an arm. ``by``: its column of ids; ``row_id`` if it has a column of that name."""
    table = open_log(log)
    by, rows, total, ids = _ids(table, by), 0, np.zeros(2, dtype=np.uint64), np.zeros(0, dtype=np.uint64)
    for raw in table.batches(table.columns):
        found = row_hashes(raw)
        rows, total = rows + found.shape[1], total + found.sum(axis=1)
        ids = ids if by is None else np.unique(np.append(ids, value_hashes(raw[by])[0]))[:IDS_KEPT]
    whole = "" if table.whole is None else f"/{table.whole}"
    return f"{rows}:{total.tobytes().hex()}:{urlsafe_b64encode(ids.tobytes()).decode()}{whole}"


def _ids(table: LogTable, by: str | None) -> str | None:
    if by is None:
        return ROW_ID if ROW_ID in table.columns else None
    if by not in table.columns:
        raise OptionError(table.no_column(by))
    return by


def split_log(log: Any, share: float = 0.5, by: str | None = None, seed: int = 0) -> tuple[LogTable, LogTable]:
    """Two parts of a log at random: learn from the first, which has this share of it, and evaluate on the second.

    Rows with the same value of ``by`` (the column ``row_id`` if there is one) stay together; else rows are drawn one by one. The
    parts depend on the rows and the seed alone, not on their order. All rows are read into memory: ``to_arrow`` has those of a part.
    """
    if not 0 < share < 1:
        raise OptionError(f"share is {share}; the share of rows in the first part is a number above 0 and below 1.")
    table = open_log(log)
    rows, whole, by = table.to_arrow(), table.digest.partition("/")[0].rpartition(":")[0], _ids(table, by)
    raw = {name: to_numpy(name, rows[name]) for name in rows.column_names}
    unit = np.argsort(np.lexsort(row_hashes(raw))) if by is None else np.unique(value_hashes(raw[by])[0], return_inverse=True)[1]  # fmt: skip
    units = int(unit.max(initial=-1)) + 1
    first = np.random.default_rng(seed).permutation(units)[unit] < share * units
    parts = (rows.filter(first), rows.filter(~first))
    one, two = (LogTable(f"{table.name}, part {i}", "pyarrow", Arrow(part), whole=whole) for i, part in enumerate(parts, 1))  # fmt: skip
    return one, two


def learned_from(arms: Sequence[Arm], table: LogTable, ids: str | None) -> list[int]:
    """The arms that were learned from these rows, as far as digests tell."""
    if not any(arm.learned_from for arm in arms):
        return []
    here = log_digest(table, ids)
    found = [k for k, arm in enumerate(arms) if arm.learned_from is not None and overlaps(arm.learned_from, here)]
    if len(found) == len(arms):
        raise DataError(
            "Every arm was learned from these rows, on which it looks better than it is. Evaluate on other rows: split_log(log) makes a "
            "part to learn from and one to evaluate on."
        )
    return found


def overlaps(learned: str, log: str) -> bool:
    """Whether the first log has the rows of the second or of what it was drawn from, was drawn from it, or has more than 1 % of its ids."""
    (mine, *drawn_from), (other, *whole) = ([part.split(":") for part in text.split("/")] for text in (learned, log))
    if mine[:2] in (other[:2], *whole) or other[:2] in drawn_from:
        return True
    known, asked = (np.frombuffer(urlsafe_b64decode(part[2]), dtype="<u8") for part in (mine, other))
    for ids in (known, asked):  # beyond its largest, a full list knows nothing
        asked = asked[asked <= ids.max()] if len(ids) == IDS_KEPT else asked
    return bool(len(asked) and np.isin(asked, known).mean() > MOST_SHARED)
