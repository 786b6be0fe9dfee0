"""How a result shows itself at a prompt and in a notebook: codes and numbers, the answer and how sure it is first.

Sentences are the business of `fairarm.reports`. No layer of fairarm is imported here, so that every one can use it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from typing import Any, Literal

from fairarm.frames import Column, columns_of_table, frame_of

MOST_LINES = 12
_LONGEST = 60
Fact = tuple[str, Any]


class Shown(ABC):
    """Classes that say what they are in a few facts, and may add a table. Dataclasses need ``repr=False``."""

    @abstractmethod
    def _facts(self) -> Sequence[Fact]:
        """Names and values, the answer and how sure it is first."""

    def _table(self) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Heads and lines; no heads for no table."""
        return (), ()

    def _columns(self) -> dict[str, Column]:
        """The table in full, for `to_frame`: each column under a name of its own."""
        return columns_of_table(*self._table())

    def to_frame(self, library: Literal["pandas", "polars", "pyarrow"] | None = None) -> Any:
        """The table as a data frame, its numbers in full: of pandas, polars or pyarrow, the first that is installed."""
        return frame_of(self._columns(), library)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={_text(fact, repr)}' for name, fact in self._facts())})"

    def _repr_html_(self) -> str:
        """A small table; every name is escaped."""
        parts = [f"<strong>{escape(type(self).__name__)}</strong>"]
        parts.append(_html((), [(name.replace("_", " "), fact) for name, fact in self._facts()]))
        heads, lines = self._table()
        if heads:
            parts.append(_html(heads, lines[:MOST_LINES]))
            if len(lines) > MOST_LINES:
                parts.append(f"<p>{len(lines) - MOST_LINES} more</p>")
        return "".join(parts)


class ShownWithRows(Shown):
    """Of results that say of every arm how each row of fairness stands."""

    @abstractmethod
    def _fairness_columns(self) -> dict[str, Column]:
        """One line for each arm and row of fairness."""

    def to_frame(self, library: Literal["pandas", "polars", "pyarrow"] | None = None, *, fairness: bool = False) -> Any:
        """The table as a data frame, its numbers in full: of pandas, polars or pyarrow, the first that is installed. With
        ``fairness`` it has one line for each arm and row of fairness, in place of one for each arm."""
        return frame_of(self._fairness_columns() if fairness else self._columns(), library)


def _text(fact: Any, name: Any = str) -> str:
    """Numbers to four digits, names cut to a length that fits."""
    if isinstance(fact, float):
        return f"{fact:.4g}"
    if isinstance(fact, str):
        plain = str(fact)  # members of an enumeration are text too
        return str(name(plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"))
    return str(fact)


def _html(heads: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_text(cell))}</td>' for cell in line)}</tr>" for line in lines)
    return f"<table>{f'<thead><tr>{top}</tr></thead>' if top else ''}<tbody>{body}</tbody></table>"
