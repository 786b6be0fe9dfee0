"""Which column of a log is what: given by the user, or guessed from names and values. Every choice has its reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from fairarm.errors import OptionError, ProblemError, one_line
from fairarm.logs.draft.columns import (  # fmt: skip
    MOST_STATES,
    RARE,
    Column,
    Numbers,
    States,
    as_counts,
    as_numbers,
    as_outcome,
    as_states,
    has_count_name,
)
from fairarm.logs.draft.naming import shown
from fairarm.logs.table import LogTable
from fairarm.problem.log_map import MOST_DROPPED
from fairarm.problem.names import check_column

MOST_COMBINATIONS = 4096
"""Of the states of all columns that are used."""

MOST_LEFT_OUT = 0.2
"""Share of the rows that may be left out for the sake of inputs, in all."""

WORDS = {
    "sensitive": [
        "sex",
        "gender",
        "race",
        "ethnic",
        "disab",
        "religion",
        "nationality",
        "marital",
        "migra",
        "_age_",
        "veteran",
        "pregnan",
        "minority",
        "caste",
        "birth",
    ],
    "decision": [
        "decision",
        "action",
        "treat",
        "offer",
        "approve",
        "admit",
        "admission",
        "hire",
        "promot",
        "invit",
        "shown",
        "price",
        "rank",
        "choice",
    ],
    "outcome": [
        "outcome",
        "reward",
        "success",
        "click",
        "conver",
        "repaid",
        "repay",
        "default",
        "target",
        "label",
        "recover",
        "surviv",
        "graduat",
        "complet",
        "revenue",
        "profit",
        "stayed",
        "income",
    ],
}
"""What names of columns say, the surest first; _ is where a word begins or ends."""

ROLES = tuple(WORDS)
MEANING = {"sensitive": "sensitive attribute", "decision": "decision", "outcome": "outcome"}
WAYS = {
    "sensitive": (
        "Merge some of them or leave their rows out: in the log, or by log.labels and log.drop in a problem file of your own."
    ),
    "decision": "Give it a few states in the log.",
    "outcome": "Give it numbers, or a few states, in the log.",
}
"""What to do with a column that was named for a role and cannot have it."""
ALONE = {"s": "sensitive", "v": "decision", "y": "outcome"}
"""Columns called by one letter, as in the docs."""

INDEX = ("Unnamed: ", "__index_level_")
"""How the names of columns begin that pandas writes for its index; a table's own numbering says nothing about its rows."""
ARM = ("arm", "policy", "variant")
VARIANT = ("variant", "treatment", "arm", "group", "experiment")
"""Columns of an A/B test: each value is a rule of its own. They are the decision where no other column is."""
PROPENSITY = ("propensity", "pscore")


@dataclass
class Choice:
    """The role of every column, and why."""

    columns: Mapping[str, Column]
    given: Mapping[str, str]
    """Role -> column, as the user said; of several sensitive attributes the first."""
    more: tuple[str, ...] = ()
    """The columns of further sensitive attributes, as the user said."""
    role: dict[str, str] = field(default_factory=dict)
    """Column -> its role; "unused" if none."""
    why: dict[str, str] = field(default_factory=dict)
    """Column -> the reason."""
    nodes: dict[str, States | Numbers] = field(default_factory=dict)
    """Column that is a node, the arm or the regime -> what becomes of its values."""
    bad_counts: dict[str, int] = field(default_factory=dict)
    """Value of the count's column that is no count -> its lines, which are left out; "" is a missing one."""

    def column(self, role: str) -> str | None:
        """The column that has a role which only one can have."""
        return next((name for name, each in self.role.items() if each == role), None)

    @property
    def attributes(self) -> list[str]:
        """The columns of the sensitive attributes."""
        return [self.given["sensitive"], *self.more] if self.more else [self.column("sensitive") or ""]

    @property
    def look_sensitive(self) -> list[str]:
        """Inputs whose names say that they are sensitive attributes too."""
        return [name for name in self.inputs if _says(name, ["sensitive"])]

    @property
    def inputs(self) -> list[str]:
        """The columns that the decision was made from, in the log's order."""
        return [name for name, role in self.role.items() if role == "input"]

    @property
    def real(self) -> list[str]:
        """Inputs that are numbers, not states."""
        return [name for name in self.inputs if isinstance(self.nodes[name], Numbers)]

    @property
    def variants(self) -> bool:
        """Whether each value of the decision is an arm, as in an A/B test."""
        made = self.node("decision")
        few = isinstance(made, States) and len(made.rows) <= MOST_STATES
        return few and _is_variant(self.column("decision") or "") and self.column("arm") is None

    def take(self, name: str, role: str, why: str) -> None:
        """Give a column its role, and the reason that is shown for it."""
        self.role[name], self.why[name] = role, why

    def node(self, role: str) -> States | Numbers | None:
        """What the column of this role is read as; None where no column has it."""
        name = self.column(role)
        return None if name is None else self.nodes.get(name)

    def free(self) -> list[str]:
        """Columns that have no role yet."""
        return [name for name in self.columns if name not in self.role]


def choose(
    table: LogTable, columns: Mapping[str, Column], given: Mapping[str, str], more: tuple[str, ...] = ()
) -> Choice:
    """Roles that are given are kept; the others are guessed. ``more``: further sensitive attributes, besides the given one."""
    found = Choice(columns, given, more)
    for name in columns:
        if name not in (*given.values(), *more) and (trouble := _unnameable(name)):
            found.take(name, "unused", trouble)
    for role, name in [*given.items(), *(("sensitive", name) for name in more)]:
        _take_given(found, role, name)
    _take_special(found)
    if "decision" not in given and not any(_says(name, ["decision"]) for name in found.free()):
        _take_variant(found)
    for role in [role for role in ROLES if found.column(role) is None]:
        if role not in given:
            _guess(found, role)
    _take_regime(found)
    _take_inputs(found, table)
    # In the log's own order, whatever was looked at first.
    found.role = {name: found.role[name] for name in columns}
    return found


def _unnameable(name: str) -> str:
    """Why a column cannot be named in a problem file; empty where it can."""
    try:
        check_column(name, "Its name")
    except ProblemError as error:
        return str(error).replace("Its name", "its name", 1)
    return ""


def _fitting(column: Column, role: str) -> States | Numbers | str:
    if role == "outcome":
        return as_outcome(column)
    return as_states(column, "sensitive" if role == "sensitive" else "decision")


def _take_given(found: Choice, role: str, name: str) -> None:
    if trouble := _unnameable(name):
        raise OptionError(one_line(f"Column {shown(name)} cannot be the {MEANING[role]}: {trouble}"))
    if name in found.role:
        raise OptionError(one_line(f"Column {shown(name)} is named for two roles: --{found.role[name]} and --{role}."))
    made = _fitting(found.columns[name], role)
    if isinstance(made, str):
        raise OptionError(one_line(f"Column {shown(name)} cannot be the {MEANING[role]}: {made}. {WAYS[role]}"))
    found.nodes[name] = made
    found.take(name, role, f"named with --{role}")


def _is_variant(name: str) -> bool:
    return name.lower().strip() in VARIANT


def _take_variant(found: Choice) -> None:
    """The column of an A/B test as the decision."""
    for name in filter(_is_variant, (*found.free(), found.column("arm") or "")):
        made = as_states(found.columns[name], "decision")
        if isinstance(made, States) and len(made.rows) <= MOST_STATES:
            found.nodes[name] = made
            found.take(name, "decision", f"its name, and {len(made.rows)} values, each a rule of its own")
            return


# ---- columns that are no node ----


def _take_special(found: Choice) -> None:
    for name in found.free():
        column = found.columns[name]
        if is_index(column):
            found.take(name, "unused", "it has no name, and numbers the lines")
            continue
        role, why = _special(column)
        if role and found.column(role) is None:
            found.take(name, role, why)
            if role == "arm" and isinstance(made := as_states(column, "arm"), States):
                found.nodes[name] = made
            if role == "count" and isinstance(bad := as_counts(column), dict):
                found.bad_counts = bad
        elif role:
            found.take(name, "unused", f"{why}, as {shown(found.column(role) or '')}, which is taken")


def is_index(column: Column) -> bool:
    """Whether a column is an index that a data frame was saved with."""
    return column.name.startswith(INDEX) and column.kind == "integer"


def _special(column: Column) -> tuple[str, str]:
    """The role of a column that is no node, and why; empty where it may be one."""
    low = column.name.lower().strip()
    if column.kind == "time":
        return "time", "it holds times"
    if low in ARM and isinstance(as_states(column, "arm"), States):
        return "arm", "its name"
    if any(word in low for word in PROPENSITY) and column.kind == "real":
        return "propensity", "its name"
    if has_count_name(low) and isinstance(bad := as_counts(column), dict):
        return "count", f"its name, and whole numbers in every row{f' but {sum(bad.values()):,}' if bad else ''}"
    if _identifies(low, column):
        return "row_id", "different in every row" if column.distinct == column.rows else "its name, and few repeat"
    return "", ""


def _identifies(name: str, column: Column) -> bool:
    """A row id: its name says so and few repeat, or it is different in every row and no measurement; duplicates are what it is
    for."""
    if column.kind not in ("integer", "text") or len(column.values) <= 12 or column.strays:
        return False
    named = name in ("id", "uuid", "key", "index") or name.endswith(("_id", "-id", " id", "_uuid", "_key"))
    numbered = column.kind == "integer" and column.high - column.low == column.rows - 1
    if column.distinct == column.rows:
        coded = all(re.fullmatch(r"(?=.*\d)\S+", text) for text, _ in column.values)  # no names, no sentences
        return named or ((numbered or (column.kind == "text" and coded)) and not _says(name, ROLES))
    return named and column.distinct > 0.9 * column.rows


def _take_regime(found: Choice) -> None:
    """The column that holds "natural" and groups, whatever it is called."""
    made = {name: each.rows for name in found.attributes if isinstance(each := found.nodes.get(name), States)}
    groups = {state if len(made) == 1 else f"{name}={state}" for name, states in made.items() for state in states}
    for name in found.free():
        states = as_states(found.columns[name], "arm")
        held = set(states.rows) if isinstance(states, States) else set()
        fits = held <= groups | {"natural"} and (held & groups if "natural" in held else False)
        if isinstance(states, States) and fits and found.column("regime") is None:
            found.nodes[name] = states
            found.take(name, "regime", "it holds natural and the groups")


# ---- the three roles ----


def _says(name: str, roles: Iterable[str]) -> bool:
    return any(ALONE.get(name.lower()) == role or _rank(name, role) >= 0 for role in roles)


def _rank(name: str, role: str) -> int:
    words = f"_{re.sub('[^a-z]+', '_', name.lower())}_{name.lower()}"
    return next((i for i, word in enumerate(WORDS[role]) if word in words), -1)


def _guess(found: Choice, role: str) -> None:
    free = found.free()
    named = sorted((n for n in free if _says(n, [role])), key=lambda n: _rank(n, role))
    others = [n for n in free if not _says(n, ROLES)]
    fits = {n: made for n in (*named, *others) if not isinstance(made := _fitting(found.columns[n], role), str)}
    for name in named:
        if name in fits:
            found.nodes[name] = fits[name]
            found.take(name, role, f"its name{_sizes(fits[name], role)}")
            return
    rest = [n for n in others if n in fits and _plain_enough(fits[n], role)]
    if named or not rest:
        raise OptionError(one_line(_nothing(found, role, named, [n for n in others if n not in rest])))
    name = rest[-1] if role == "outcome" else rest[0]
    found.nodes[name] = fits[name]
    place = "last" if role == "outcome" else "first"
    found.take(name, role, f"no name says so; the {place} column that could be it{_sizes(fits[name], role)}")


def _plain_enough(made: States | Numbers, role: str) -> bool:
    """Without a name that says so, a sensitive attribute has two groups, a decision few states, and an outcome numbers or two states: what
    others are worth cannot be guessed."""
    if isinstance(made, States) and len(made.rows) > (2 if role == "sensitive" else MOST_STATES):
        return False
    return role != "outcome" or isinstance(made, Numbers) or len(made.rows) == 2 or all(map(_is_number, made.rows))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _sizes(made: States | Numbers, role: str) -> str:
    if isinstance(made, Numbers):
        return ", and numbers"
    return f", and {len(made.rows)} {'groups' if role == 'sensitive' else 'values'}"


def _nothing(found: Choice, role: str, named: list[str], others: list[str]) -> str:
    """Why no column was taken, the one whose name says so first."""
    whys = [(n, made) for n in (*named, *others) if isinstance(made := _fitting(found.columns[n], role), str)]
    said = [f"{shown(name)}: {why}" for name, why in whys[:3]]
    start = f"No column was taken as the {MEANING[role]}"
    reasons = f" ({'; '.join(said)})" if said else ""
    return f"{start}{reasons}. Name it with --{role}. Columns: {', '.join(shown(name) for name in found.columns)}."


# ---- inputs ----


def _take_inputs(found: Choice, table: LogTable) -> None:
    """Finite columns that the deployed rule may have seen, as many as a table allows: those that sound sensitive first, then by how much
    decision and outcome go with them."""
    size, values, rows = 1, 0, 0
    for used in found.nodes.values():
        size *= len(used.rows) if isinstance(used, States) else 1
        values += len(used.drop)
    fits = {name: as_states(found.columns[name], "input") for name in found.free()}
    likely = {name: (_says(name, ["sensitive"]), _dependence(found, table, name)) for name, each in fits.items() if isinstance(each, States)}  # fmt: skip
    for name, made in sorted(fits.items(), key=lambda each: likely.get(each[0], (False, 0.0)), reverse=True):
        column = found.columns[name]
        numbers = as_numbers(column)
        real = isinstance(made, str) and column.kind in ("integer", "real") and column.missing <= RARE * column.rows
        if real and isinstance(numbers, Numbers) and not found.more and not is_index(column):
            found.nodes[name] = numbers
            found.take(name, "input", "numbers, used as they are")
        elif isinstance(made, str):
            found.take(name, "unused", _near_miss(found, name, made))
        elif size * len(made.rows) > MOST_COMBINATIONS:
            found.take(
                name, "unused", f"with it, there would be more than {MOST_COMBINATIONS:,} combinations of values"
            )
        elif values + len(made.drop) > MOST_DROPPED or rows + sum(made.drop.values()) > MOST_LEFT_OUT * column.rows:
            found.take(name, "unused", "with it, too many rows would be left out for values that are missing or stray")
        else:
            size, values, rows = size * len(made.rows), values + len(made.drop), rows + sum(made.drop.values())
            found.nodes[name] = made
            found.take(name, "input", f"{len(made.rows)} values")


def _dependence(found: Choice, table: LogTable, name: str) -> float:
    """Cramér's V² of a column with the decision, plus that with an outcome that has states."""
    others = [other for other in map(found.column, ROLES[1:]) if isinstance(found.nodes.get(other or ""), States)]
    seen = table.counts([name, *filter(None, others)], weight=None if found.bad_counts else found.column("count"))
    first, *rest = (np.unique(values.astype(str), return_inverse=True)[1] for values in seen.keys.values())
    dependence = 0.0
    for second in rest:
        joint = np.zeros((first.max() + 1, second.max() + 1))
        np.add.at(joint, (first, second), seen.rows)
        shares = joint**2 / np.maximum(np.outer(joint.sum(axis=1), joint.sum(axis=0)), 1)
        dependence += (float(shares.sum()) - 1) / max(min(joint.shape) - 1, 1)
    return dependence


def _near_miss(found: Choice, name: str, why: str) -> str:
    """Why it is no input and, where its name speaks of a role, why it does not have that."""
    for role in ROLES:
        if role not in found.given and _says(name, [role]):
            trouble = _fitting(found.columns[name], role)
            if isinstance(trouble, str) and trouble != why:
                return f"{why}; not the {MEANING[role]}: {trouble}"
            if not isinstance(trouble, str):
                return f"{why}; {shown(found.column(role) or '')} was taken as the {MEANING[role]}"
    return why
