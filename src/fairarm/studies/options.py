"""What a study was created with: checked once, kept as plain values."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from fairarm.algorithms.cohort import AT_RANDOM, WORST
from fairarm.algorithms.timing import MOST_PULLS, Timing, timings_of
from fairarm.core.entry import under_way_at_once
from fairarm.durations import shown_days
from fairarm.errors import OptionError
from fairarm.problem.problem import Problem
from fairarm.studies.errors import Invalid

DAY = 86_400_000_000
"""Microseconds."""

SECOND = 1_000_000

AT_ARRIVAL, WITH_OUTCOME = "at arrival", "with outcome"
PAUSE, TELL = "pause", "tell"
ALWAYS, UNTIL_SETTLED = "always", "until settled"
KEEP, DEPLOYED = "keep", "deployed"

SHORTEST = 2 * SECOND
"""A cohort or window: below, ticks and commits would take most of it."""


@dataclass(frozen=True)
class Options:
    """Durations in microseconds."""

    pulls: int
    people: int
    arrivals: float
    """In a day, as declared."""
    window: int
    cohort: int
    cycle: int
    confidence: float
    group: str
    lost: str
    unserved: str
    on_alarm: str
    keep_rows: str
    on_end: str
    """What people who were assigned get after the end, once their window is over: KEEP their arm, or the DEPLOYED one."""
    deployed: str | None
    start: int
    unit_key: str | None = None
    """A digest of the key under which people's names are kept; None: the study's own."""

    @property
    def grace(self) -> int:
        """How long after the last window a cohort is settled: what was told in time has then been committed."""
        return min(max(self.window // 10, 2 * SECOND), 60 * SECOND)

    @property
    def at_arrival(self) -> bool:
        """Whether the group is known when a person is assigned."""
        return self.group == AT_ARRIVAL

    @property
    def arrivals_in_cohort(self) -> float:
        """As declared."""
        return self.arrivals * self.cohort / DAY

    @property
    def out_at_once(self) -> int:
        """People whose outcomes are out at the same time."""
        return under_way_at_once(self.people, self.window, self.cohort)

    def shown(self) -> dict[str, Any]:
        """As `Studies.create` takes it."""
        times = {name: shown_days(getattr(self, name) / DAY) for name in ("window", "cohort", "cycle")}
        kept = {name: value for name, value in asdict(self).items() if name != "unit_key"}
        return {**kept, **times, "start": moment(self.start).isoformat()}


def moment(time: int) -> datetime:
    """Of whole microseconds, in UTC."""
    return datetime.fromtimestamp(time // SECOND, UTC).replace(microsecond=time % SECOND)


def checked_options(
    problem: Problem,
    now: int,
    *,
    pulls: int,
    people: int,
    arrivals: float,
    window: str | float,
    cohort: str | float,
    cycle: str | float,
    confidence: float,
    group: str,
    lost: str,
    unserved: str,
    at_random_confirmed: bool,
    on_alarm: str,
    keep_rows: str,
    on_end: str,
    deployed: str | None,
    start: str | datetime | None,
    unit_key: str | None,
) -> Options:
    """As given to `Studies.create`; `Invalid` where it cannot be."""
    _whole("pulls", pulls, 1, MOST_PULLS)
    _whole("people", people, 1, MOST_PULLS)
    for name, value in (("arrivals", arrivals), ("confidence", confidence)):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Invalid(f"{name} is {value!r:.40}. It is a number.")
    try:
        timing = timings_of(people, arrivals, window, cohort, cycle)[0]
    except OptionError as error:
        raise Invalid(str(error)) from None
    _check_loss(problem, lost, unserved, at_random_confirmed)
    _one_of("group", group, (AT_ARRIVAL, WITH_OUTCOME))
    _one_of("on_alarm", on_alarm, (PAUSE, TELL))
    _one_of("keep_rows", keep_rows, (ALWAYS, UNTIL_SETTLED))
    _one_of("on_end", on_end, (DEPLOYED, KEEP))
    if group == WITH_OUTCOME and problem.shares is None:
        raise Invalid(
            "The group comes with the outcome, so that a lost row's group is not known, and P(S) is not declared. Declare the shares of the "
            "groups, or tell the group at arrival (group='at arrival')."
        )
    served = problem.deployed if deployed is None else deployed
    if served is not None and served not in problem.arm_names:
        raise Invalid(
            f"The deployed arm is '{served!s:.60}'; there is no such arm. Arms: {', '.join(problem.arm_names[:12])}."
        )
    return Options(
        pulls, people, float(arrivals), **_lengths(timing), confidence=float(confidence), group=group, lost=lost, unserved=unserved,
        on_alarm=on_alarm, keep_rows=keep_rows, on_end=on_end, deployed=served, start=_started(start, now), unit_key=unit_key,
    )  # fmt: skip


def _lengths(timing: Timing) -> dict[str, int]:
    made = {name: round(getattr(timing, name) * DAY) for name in ("window", "cohort", "cycle")}
    for name, length in made.items():
        if length < SHORTEST:
            raise Invalid(f"The {name} is {length / SECOND:g} s. It is {SHORTEST // SECOND} s or more.")
    return made


def _check_loss(problem: Problem, lost: str, unserved: str, confirmed: bool) -> None:
    states = problem.variables[problem.outcome.node].states or ()
    if lost not in (WORST, AT_RANDOM, *states):
        raise Invalid(
            f"lost is {lost!r:.40}: what is an outcome that is never told? 'worst' (each counts as it would hurt most), 'at random' (they "
            f"count for nothing), or the state of '{problem.outcome.node}' that not told means: {', '.join(states[:12])}."
        )
    _one_of("unserved", unserved, (WORST, AT_RANDOM))
    stated = {"lost": lost == AT_RANDOM and lost not in states, "unserved": unserved == AT_RANDOM}
    for name in (name for name, at_random in stated.items() if at_random and confirmed is not True):
        raise Invalid(
            f"{name}='at random' states that who has no outcome does not depend on the outcome; if it does, the certificate may be wrong. "
            f"Confirm it (at_random_confirmed=True), or use {name}='worst'."
        )


def _whole(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise Invalid(f"{name} is {value!r:.40}. It is a whole number from {least} to {most}.")


def _one_of(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise Invalid(f"{name} is {value!r:.40}. It is one of: {', '.join(choices)}.")


def _started(start: str | datetime | None, now: int) -> int:
    if start is None:
        return now
    try:
        made = datetime.fromisoformat(start) if isinstance(start, str) else start
    except ValueError:
        made = None
    if not isinstance(made, datetime) or made.tzinfo is None:
        raise Invalid(f"The start is {start!r:.40}. It is a time with an offset, e.g. 2026-05-04T00:00:00+02:00.")
    began = int(made.timestamp()) * SECOND + made.microsecond
    if abs(began - now) > 3_660 * DAY:
        raise Invalid(f"The start is {made.isoformat()}, more than ten years from now. Check it.")
    return began


def require_name(name: object) -> None:
    """`Invalid` where a study cannot be called so."""
    if not isinstance(name, str) or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name) is None:
        raise Invalid(
            f"The name of the study is {name!r:.70}. It has 1 to 100 letters, digits, dots, dashes and underscores, and begins with a letter "
            f"or digit."
        )


def require_reason(reason: object, actor: object) -> None:
    """`Invalid` where nobody could tell later who did it and why."""
    for what, text, least, most in (("reason", reason, 1, 500), ("actor", actor, 0, 200)):
        if not isinstance(text, str) or not least <= len(text.strip()) <= most or not is_text(text):
            raise Invalid(f"The {what} is {text!r:.60}. It is a text of {least} to {most} characters.")


def is_text(text: str) -> bool:
    """Whether every database keeps it as it is: Unicode, without NUL."""
    return "\x00" not in text and not any("\ud800" <= c <= "\udfff" for c in text)
