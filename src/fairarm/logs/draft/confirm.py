"""What a draft guessed or left open: everything that the file marks, in words for the terminal and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from fairarm.logs.draft.columns import States
from fairarm.logs.draft.naming import shown
from fairarm.logs.draft.roles import MEANING, ROLES, Choice, is_index
from fairarm.logs.draft.text import left_out
from fairarm.logs.draft.worth import worth

MOST_NAMED = 20
"""Columns that are named with their reasons in one item."""


def to_confirm(choice: Choice, tolerance: float | None, deployed: str, doubts: Sequence[str]) -> tuple[str, ...]:
    """Doubts first, then the tolerance."""
    roles = [f"{role} = {shown(choice.column(role) or '')}" for role in ROLES if role not in choice.given]
    special = [f"{role} = {shown(name)}" for role in ("arm", "regime", "count", "row_id", "time") if (name := choice.column(role))]  # fmt: skip
    if choice.variants:
        special.append(
            f"each {shown(choice.column('decision') or '')} is a rule of its own (log.arm), and chance decided who got which"
        )
    return (
        *doubts,
        *(["the tolerance, which is yours to choose"] if tolerance is None else []),
        *roles,
        *_others(choice),
        *special,
        f"deployed = {shown(deployed)}, the rule that runs today",
        _outcome(choice),
        *_values(choice),
        *_inputs(choice),
        *_unused(choice),
        "the arrows",
        "the candidate arms, and what each of them sees",
    )


def _others(choice: Choice) -> list[str]:
    """Columns that look sensitive too, where one was guessed."""
    if "sensitive" in choice.given or not choice.look_sensitive:
        return []
    names = ", ".join(map(shown, choice.look_sensitive))
    return [f"{names}: sensitive by name too, and taken as input. To ask about each, name all of them with --sensitive"]


def _outcome(choice: Choice) -> str:
    made, name = choice.node("outcome"), choice.column("outcome") or ""
    if not isinstance(made, States):
        return f"the range of the {MEANING['outcome']}, and that more is better"
    values = ", ".join(f"{shown(state)} = {value:g}" for state, value in worth(list(made.rows), name).items())
    return f"what each {MEANING['outcome']} is worth, and that more is better: {values}"


def _values(choice: Choice) -> list[str]:
    """Labels, and what is left out."""
    said = []
    for name, each in choice.nodes.items():
        if isinstance(each, States) and each.labels:
            said.append(f"the labels of {shown(name)}")
        if each.drop:
            said.append(f"the rows left out by {shown(name)}: {sum(each.drop.values()):,}")
    if choice.bad_counts:
        lines, column = sum(choice.bad_counts.values()), shown(choice.column("count") or "")
        said.append(
            f"the {lines:,} line{'' if lines == 1 else 's'} left out because {column} holds no count there "
            f"({left_out(choice.bad_counts)}); evaluate certifies nothing before they are mended in the log"
        )
    return said


def _inputs(choice: Choice) -> list[str]:
    names = ", ".join(shown(name) for name in choice.inputs)
    return [f"each input was known before the decision: {names}"] if names else []


def _unused(choice: Choice) -> list[str]:
    """Columns that the deployed rule may have looked at all the same."""
    held = [n for n, role in choice.role.items() if role == "unused" and choice.columns[n].distinct != 1]
    names = [n for n in held if choice.columns[n].filled and not is_index(choice.columns[n])]
    if not names:
        return []
    each = ", ".join(f"{shown(name)} ({choice.why[name]})" for name in names[:MOST_NAMED])
    more = f", and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return [
        f"today's rule did not look at what is left out: {each}{more}. If it looked at one of them, every answer is wrong: add "
        f"it as an input, as it is"
    ]
