"""From a statement of the paper and a rule to a verdict: under the default reading, else under the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fairarm.experiments.paper.bounds import BoundCurve
from fairarm.experiments.paper.instances import Instance
from fairarm.experiments.paper.plan import DEFAULT_READING, FOUR
from fairarm.reports.paper.rules import Curve, NotMeasuredError, Results

HOLDS = "holds"
FAILS = "does not hold"
UNKNOWN = "not measured"


@dataclass(frozen=True)
class Judged:
    """What a rule says of the results."""

    holds: bool
    measured: str
    condition: str = ""
    """Under what it holds, where that is more than the rule."""


Rule = Callable[[str], Judged]
"""The finding under a reading."""


@dataclass(frozen=True)
class Statement:
    """One thing that the paper says, where it says it, and the rule that decides."""

    place: str
    says: str
    rule: Rule
    readings: tuple[str, ...] = ()
    """Readings under which it was measured too."""


@dataclass(frozen=True)
class Claim:
    """A statement with its verdict."""

    number: int
    place: str
    says: str
    measured: str
    verdict: str


@dataclass(frozen=True)
class ClaimTable:
    """Text in rows."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ClaimSection:
    """Claims that belong together, with the figure and the numbers they are about."""

    title: str
    figure: str | None
    claims: tuple[Claim, ...]
    tables: tuple[ClaimTable, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Material:
    """Everything that rules look at."""

    results: Results
    instances: Sequence[Instance]
    bounds: Sequence[BoundCurve]
    by_setting: Mapping[str, list[Instance]] = field(init=False)

    def __post_init__(self) -> None:
        grouped: dict[str, list[Instance]] = {}
        for instance in self.instances:
            grouped.setdefault(instance.setting, []).append(instance)
        object.__setattr__(self, "by_setting", grouped)

    def of(self, setting: str) -> list[Instance]:
        """The instances of a setting; an error that the judge takes as "not measured" where there are none."""
        if setting not in self.by_setting:
            raise NotMeasuredError(setting)
        return self.by_setting[setting]

    def four(self, experiment: str, setting: str, reading: str = DEFAULT_READING) -> dict[str, Curve]:
        """The curves of the paper's four algorithms."""
        return {name: self.results.under(reading, experiment, setting, name) for name in FOUR}

    def bound(self, setting: str) -> BoundCurve:
        """The theorem's bound over pulls in a setting, where it was computed."""
        for curve in self.bounds:
            if curve.setting == setting:
                return curve
        raise NotMeasuredError(f"bound of {setting}")


def judge(number: int, statement: Statement) -> Claim:
    """The verdict: holds, perhaps on a condition or under other readings, which are named; does not hold; not measured."""
    try:
        found = statement.rule(DEFAULT_READING)
    except NotMeasuredError:
        return Claim(number, statement.place, statement.says, "Not among these results.", UNKNOWN)
    verdict, measured = f"{HOLDS} {found.condition}".rstrip() if found.holds else FAILS, found.measured
    if not found.holds:
        under = _under(statement)
        if under:
            verdict = f"{HOLDS} under {' or '.join(under)}"
            measured += "".join(f" Under {reading}: {text}" for reading, text in under.items())
    return Claim(number, statement.place, statement.says, measured, verdict)


def _under(statement: Statement) -> dict[str, str]:
    """The readings under which the rule is met, with what was measured there."""
    found: dict[str, str] = {}
    for reading in statement.readings:
        try:
            finding = statement.rule(reading)
        except NotMeasuredError:
            continue
        if finding.holds:
            found[reading] = finding.measured
    return found
