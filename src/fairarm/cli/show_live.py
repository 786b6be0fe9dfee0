"""Live studies on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairarm.cli.terminal import Styled, numbers, say, table
from fairarm.reports import words

if TYPE_CHECKING:
    from fairarm.experiments.live import LivePlan, LiveSimulation


def live_simulation(found: LiveSimulation) -> None:
    """A line per number of people in a cohort: days, people, errors, exposure."""
    best = found.best_fair_arm
    truth = "no arm is fair" if best is None else f"the best fair arm is {best}"
    say((found.problem.name, "bold"), f": {truth}. {words.live_setting(found)}")
    _live_table(found)
    if found.results[0].waiting is not None:
        say(words.live_waiting(found))


def live_plan(found: LivePlan) -> None:
    """The same over truths drawn from a prior."""
    say((found.problem.name, "bold"), f": {words.live_truths(found)} {words.live_setting(found.simulation)}")
    _live_table(found.simulation)


def _live_table(found: LiveSimulation) -> None:
    columns = [
        *numbers("people a cohort", "days", "10-90 %", "people", "wrong", "undecided"),
        *numbers("void", "out at once", "lost", "by unfair arms", "given up", group=1),
    ]
    rows: list[list[Styled]] = []
    for p in found.results:
        rows.append([
            str(p.people), (f"{p.days:.3g}", "bold"), f"{p.days_low:.3g}-{p.days_high:.3g}", f"{p.served:.0f}",
            f"{p.errors} of {p.studies}", str(p.undecided), str(p.void), str(p.under_way), f"{p.lost:.0f}", f"{p.unfair:.0f}",
            f"{p.given_up:.3g}",
        ])  # fmt: skip
    table(columns, rows)
