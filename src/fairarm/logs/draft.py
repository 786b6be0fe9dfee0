"""A first problem file from a log's columns: states, ranges, and guesses for the roles, each marked to be confirmed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fairarm.errors import DataError, OptionError
from fairarm.logs.coding import texts
from fairarm.logs.table import LogTable, Profile

MOST_COLUMNS, MOST_STATES, MOST_COMBINATIONS = 200, 12, 4096
TOLERANCE = 0.05
"""The drafted tolerance, as a share of the outcome's range."""

WORDS = {
    "sensitive": (
        "sex",
        "gender",
        "race",
        "ethnic",
        "disab",
        "religion",
        "nationality",
        "marital",
        "migra",
        "age_group",
    ),
    "decision": ("decision", "action", "treat", "offer", "approve", "admit", "shown", "price", "rank", "choice"),
    "outcome": ("outcome", "reward", "success", "click", "conver", "repaid", "default", "target", "label", "income"),
}
ROLES = tuple(WORDS)
ALONE = {"s": "sensitive", "v": "decision", "y": "outcome"}
"""Columns called by one letter, as in the docs."""
ARM, REGIME, PROPENSITY, COUNT = (
    ("arm", "policy", "variant"),
    ("regime",),
    ("propensity", "pscore"),
    ("count", "n", "applicants", "people"),
)
GOOD = ("1", "yes", "true", "success", "won", "win", "paid", "approved", "admitted", "present")


@dataclass(frozen=True)
class Draft:
    """The text of a problem file, and what was guessed in it."""

    text: str
    to_confirm: tuple[str, ...]


def draft_problem(
    table: LogTable, *, sensitive: str | None = None, decision: str | None = None, outcome: str | None = None
) -> Draft:
    """Roles that are given are kept; the others are guessed from names and values."""
    given = {"sensitive": sensitive, "decision": decision, "outcome": outcome}
    for role, name in given.items():
        if name is not None and name not in table.columns:
            raise OptionError(f"--{role}: the log has no column '{name}'. It has: {', '.join(table.columns[:30])}.")
    if len(table.columns) > MOST_COLUMNS:
        raise DataError(
            f"The log has {len(table.columns)} columns; at most {MOST_COLUMNS} are drafted. Select some first."
        )
    return _Drafting(table, {name: table.profile(name, MOST_STATES) for name in table.columns}, given).draft()


@dataclass
class _Drafting:
    table: LogTable
    profiles: dict[str, Profile]
    given: dict[str, str | None]

    def draft(self) -> Draft:
        rows = self.table.rows()
        if not rows:
            raise DataError(f"The log {self.table.name} has no rows to draft a problem from.")
        special = self._special(rows)
        roles = self._roles({name for names in special.values() for name in names})
        special["regime"] += self._regimes(roles, special)
        inputs = self._inputs({*roles.values(), *(name for names in special.values() for name in names)})
        text = _text(self, rows, roles, inputs, special)
        confirm = [f"{role} = {roles[role]}" for role in ROLES if self.given[role] is None]
        confirm += ["the arrows", "the tolerance", "what a good outcome is", "the candidate arms"]
        return Draft(text, tuple(confirm))

    def states(self, name: str) -> list[str] | None:
        """The column's values as states, or None where they are too many."""
        values = self.profiles[name].values
        if values is None or not values:
            return None
        return list(dict.fromkeys(texts(value)[0] for value in sorted(values, key=_order) if value is not None))

    def _special(self, rows: int) -> dict[str, list[str]]:
        """Columns that are no node: row ids, times, arms, regimes, propensities, counts."""
        taken = {name for name in self.given.values() if name}
        found: dict[str, list[str]] = {
            key: [] for key in ("row_id", "time", "arm", "regime", "propensity", "count", "empty")
        }
        for name, profile in self.profiles.items():
            if name in taken:
                continue
            low = name.lower()
            if not profile.distinct:
                found["empty"].append(name)
            elif profile.kind == "time":
                found["time"].append(name)
            elif low in ARM and self.states(name):
                found["arm"].append(name)
            elif low in REGIME:
                found["regime"].append(name)
            elif any(word in low for word in PROPENSITY):
                found["propensity"].append(name)
            elif low in COUNT and profile.kind == "integer":
                found["count"].append(name)
            elif self._identifies(low, profile, rows):
                found["row_id"].append(name)
        return found

    def _identifies(self, name: str, profile: Profile, rows: int) -> bool:
        """A row id: different in every row, or in most where the name says so; duplicates are what it is for."""
        if profile.kind not in ("integer", "text") or rows <= MOST_STATES or profile.distinct is None:
            return False
        named = name in ("id", "uuid") or name.endswith(("_id", "-id", "_uuid"))
        return profile.distinct == rows or (named and profile.distinct > 0.9 * rows)

    def _regimes(self, roles: dict[str, str], special: dict[str, list[str]]) -> list[str]:
        """Columns that hold "natural" and groups, whatever they are called."""
        groups, taken = set(self.states(roles["sensitive"]) or ()), {*roles.values(), *special["regime"]}
        values = {name: set(self.states(name) or ()) for name in self.profiles if name not in taken}
        return [
            name
            for name, held in values.items()
            if "natural" in held and held & groups and held <= groups | {"natural"}
        ]

    def _roles(self, special: set[str]) -> dict[str, str]:
        roles = {role: name for role, name in self.given.items() if name is not None}
        for role in ROLES:
            if role not in roles:
                roles[role] = self._guess(role, special | set(roles.values()))
        if len(set(roles.values())) < len(ROLES):
            raise OptionError(f"The sensitive attribute, the decision and the outcome are three columns; got {roles}.")
        return roles

    def _guess(self, role: str, taken: set[str]) -> str:
        free = [name for name in self.profiles if name not in taken and self._fits(name, role)]
        named = [n for n in free if ALONE.get(n.lower()) == role or any(word in n.lower() for word in WORDS[role])]
        spoken = {n for n in free for other in ROLES if other != role and any(w in n.lower() for w in WORDS[other])}
        others = [name for name in free if name not in spoken and name.lower() not in ALONE]
        rest = others[::-1] if role == "outcome" else others
        if not (named or rest):
            raise OptionError(
                f"No column looks like the {role}. Name it with --{role}. Columns: {', '.join(self.profiles)}."
            )
        ranked = sorted(named, key=lambda name: next((i for i, w in enumerate(WORDS[role]) if w in name.lower()), -1))
        return (ranked or rest)[0]

    def _fits(self, name: str, role: str) -> bool:
        states = self.states(name)
        if role == "sensitive":
            return states is not None and len(states) == 2
        if role == "decision":
            return states is not None and len(states) > 1
        return (states is not None and len(states) > 1) or self.profiles[name].kind in ("integer", "real")

    def _inputs(self, taken: set[str]) -> list[str]:
        """Finite columns that the deployed rule may have seen, as many as a table allows."""
        found, size = [], 2
        for name in self.profiles:
            states = self.states(name)
            if name in taken or states is None or len(states) < 2 or size * len(states) > MOST_COMBINATIONS:
                continue
            size *= len(states)
            found.append(name)
        return found


def _order(value: Any) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(_quoted(name) for name in names)}]"


def _text(made: _Drafting, rows: int, roles: dict[str, str], inputs: list[str], special: dict[str, list[str]]) -> str:
    S, V, Y = (roles[role] for role in ROLES)
    states = {name: made.states(name) or [] for name in (S, V, *inputs)}
    unused = [
        n for n in made.profiles if n not in (S, V, Y, *inputs) and not any(n in names for names in special.values())
    ]
    lines = [
        f"# Drafted from {made.table.name} ({rows} rows). Every line marked TO CONFIRM is a guess.",
        "format = 1",
        "",
        "[problem]",
        'name = "draft"',
        f"sensitive = {_quoted(S)}{_mark(made.given, 'sensitive')}",
        f"decision = {_quoted(V)}{_mark(made.given, 'decision')}",
        f'deployed = "{_deployed(made, special)}"  # TO CONFIRM: the rule that runs today',
        *_outcome(made, Y),
        "",
        "# Which arrows exist? TO CONFIRM. This draft is the cautious one: the sensitive attribute may act on everything.",
        "# Deleting an arrow that is not there makes answers sharper; deleting one that is there makes them wrong.",
        "edges = [",
        *(f"  {_listed((S, x))}," for x in (*inputs, V, Y)),
        *(f"  {_listed((x, V))},\n  {_listed((x, Y))}," for x in inputs),
        f"  {_listed((V, Y))},",
        "]",
        *_unused(unused),
        "",
        "[problem.states]",
        *(f"{_quoted(name)} = {_listed(values)}" for name, values in states.items()),
        *_outcome_states(made, Y),
        "",
        *_arms(made, S, V, inputs, special),
        *_log(special),
    ]
    return "\n".join(lines) + "\n"


def _unused(names: list[str]) -> list[str]:
    if not names:
        return []
    return [
        f"# Not used: {', '.join(names)} (too many values for a table, or only one). If the rule saw one of them and it acts on",
        "# the outcome, answers without it are wrong: give it a few states in the log (bins), or use Python (docs/logs.md).",
    ]


def _mark(given: dict[str, str | None], role: str) -> str:
    return "" if given[role] is not None else "  # TO CONFIRM"


def _deployed(made: _Drafting, special: dict[str, list[str]]) -> str:
    arms = made.states(special["arm"][0]) if special["arm"] else None
    return json.dumps(arms[0], ensure_ascii=False)[1:-1] if arms else "deployed"


def _outcome(made: _Drafting, Y: str) -> list[str]:
    states, profile = made.states(Y), made.profiles[Y]
    mark = _mark(made.given, "outcome")
    if states is None or (profile.kind == "real" and len(states) > 2):
        low, high = _limits(profile)
        return [
            f"outcome = {{ node = {_quoted(Y)}, range = [{low!r}, {high!r}] }}  # TO CONFIRM: the range that it can have",
            f"tolerance = {TOLERANCE * (high - low):.3g}  # TO CONFIRM: largest gap between the groups, in the outcome's units",
        ]
    values = _values(states)
    width = max(values.values()) - min(values.values())
    listed = ", ".join(f"{_quoted(state)} = {value!r}" for state, value in values.items())
    return [
        f"outcome = {{ node = {_quoted(Y)}, values = {{ {listed} }} }}  # TO CONFIRM: what each is worth{mark and ', and the column'}",
        f"tolerance = {TOLERANCE * width:.3g}  # TO CONFIRM: largest gap between the groups, in the outcome's units",
    ]


def _limits(profile: Profile) -> tuple[float, float]:
    low, high = float(profile.low), float(profile.high)
    return (low, high) if low < high else (low, low + 1.0)


def _values(states: list[str]) -> dict[str, float]:
    """Numbers as they are; words by position, a word that sounds good last."""
    try:
        values = {state: float(state) for state in states}
        if len(set(values.values())) > 1:
            return values
    except ValueError:
        pass
    ordered = sorted(states, key=lambda state: state.lower() in GOOD)
    return {state: float(ordered.index(state)) for state in states}


def _outcome_states(made: _Drafting, Y: str) -> list[str]:
    states = made.states(Y)
    if states is None or (made.profiles[Y].kind == "real" and len(states) > 2):
        return []
    return [f"{_quoted(Y)} = {_listed(states)}"]


def _arms(made: _Drafting, S: str, V: str, inputs: list[str], special: dict[str, list[str]]) -> list[str]:
    states = made.states(V) or []
    shares = [f"{1 / len(states):.6f}" for _ in states[1:]]
    even = ", ".join([*shares, f"{1 - sum(map(float, shares)):.6f}"])
    names = (made.states(special["arm"][0]) or []) if special["arm"] else ["deployed"]
    lines = ["# The rules. One without a table is fitted from its rows. TO CONFIRM: what each of them sees."]
    for name in names:
        lines += ["[[problem.arms]]", f"name = {_quoted(name)}", f"parents = {_listed((S, *inputs))}", ""]
    return [
        *lines,
        f"# A candidate: P({V}) over {', '.join(states)}; with parents, one list for each of their states, outermost first.",
        "# [[problem.arms]]",
        '# name = "even"',
        "# parents = []",
        f"# table = [{even}]",
        "",
    ]


def _log(special: dict[str, list[str]]) -> list[str]:
    lines = ["[log]  # a node has the column of its name; docs/logs.md lists what else can be said"]
    for key in ("arm", "regime", "count", "row_id", "time"):
        if special[key]:
            lines.append(f"{key} = {_quoted(special[key][0])}  # TO CONFIRM")
    if special["propensity"]:  # with it every arm needs a table, and the draft has none yet
        lines.append(f"# propensity = {_quoted(special['propensity'][0])}  # once every arm above has a table")
    return lines
