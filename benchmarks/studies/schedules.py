"""Random schedules of everything that may happen to a study, by hypothesis: people, outcomes, repeats, contradictions, crashes, clocks
that jump, pauses, cuts, corrections, erasing, backups that are put back. What must hold is read from the database by statements of our own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from benchmarks.studies.places import DAY, Place
from benchmarks.studies.stored import Stored
from benchmarks.studies.transactions import START
from fairarm.catalog import load_problem
from fairarm.studies import Assignment, Conflict, Invalid, Studies, Study

NAME = "ads"
SCENARIO = load_problem("ad-marketplace")
PULLS, PEOPLE = 300, 30
BUDGET = 0.1 * PULLS
"""ad-marketplace: the deployed arm costs nothing, each other arm 1; at most 0.1 a pull over all of them."""
OPTIONS: dict[str, Any] = {
    "pulls": PULLS, "people": PEOPLE, "arrivals": 60.0, "window": "2d", "cohort": "1d", "seed": 11, "actor": "test",
}  # fmt: skip
HOUR = DAY // 24
UNITS = st.integers(0, 400)
ROWS = st.fixed_dictionaries(
    {
        "query": st.sampled_from(["fashion", "travel", "electronics"]),
        "prediction": st.sampled_from(["low", "medium", "high"]),
        "revenue": st.sampled_from(["none", "click", "sale"]),
    }
)


class StudyMachine(RuleBasedStateMachine):
    """`place_of` gives every schedule an empty database."""

    place_of: Callable[[], Place]

    @initialize()
    def begin(self) -> None:
        self.place = type(self).place_of()
        self.now, self.monotonic, self.copies = START, 0.0, 0
        self.given: dict[int, Assignment] = {}
        self.told: dict[int, dict[str, str]] = {}
        self.saved: tuple[Place, dict[int, Assignment], dict[int, dict[str, str]], set[int], set[int]] | None = None
        self.forgotten: set[int] = set()
        self.outside: set[int] = set()
        self.crashed: list[Studies] = []
        self.studies = self._opened()
        self.study: Study = self.studies.create(NAME, SCENARIO.problem, **OPTIONS)

    def _opened(self) -> Studies:
        return Studies(self.place.url, clock=lambda: self.now, monotonic=lambda: self.monotonic)

    def _reopened(self) -> None:
        self.studies = self._opened()
        self.study = self.studies.open(NAME)

    # ---- people ----

    @rule(unit=UNITS, male=st.booleans(), many=st.integers(1, 12))
    def assign(self, unit: int, male: bool, many: int) -> None:
        for number in range(unit, unit + many):
            self._assign(number, "male" if (male + number) % 2 else "female")

    def _assign(self, unit: int, group: str) -> None:
        status, cohorts = self.study.state, self.study.cohorts()
        made = self.study.assign(f"u-{unit}", group=group)
        before = self.given.get(unit)
        assert made.outside or unit not in self.outside, "who was outside once entered later"
        if before is not None and unit not in self.forgotten:
            if not self.study.state.over:
                assert (made.id, made.arm, made.repeated) == (before.id, before.arm, True)
        elif made.outside:
            assert made.id is None
            assert made.arm == "deployed"
            if cohorts and status in ("running", "paused"):
                assert made.repeated == (unit in self.outside)
                self.outside.add(unit)
        else:
            assert made.id is not None
            self.given[unit] = made
            self.forgotten.discard(unit)
            self.told.pop(unit, None)

    @precondition(lambda self: self.given)
    @rule(data=st.data(), row=ROWS)
    def tell(self, data: st.DataObject, row: dict[str, str]) -> None:
        unit = data.draw(st.sampled_from(sorted(self.given)))
        made = self.given[unit]
        assert made.id is not None
        before = self.told.get(unit)
        if unit in self.forgotten:
            return
        try:
            status = self.study.tell(made.id, row).status
        except Conflict:
            assert before is not None
            assert before != row
            return
        except Invalid:  # a decision that the arm never makes
            return
        assert status != "repeated" or before == row
        assert status != "new" or before is None
        self.told.setdefault(unit, row)

    @precondition(lambda self: self.told)
    @rule(data=st.data(), row=ROWS)
    def correct(self, data: st.DataObject, row: dict[str, str]) -> None:
        unit = data.draw(st.sampled_from(sorted(self.told)))
        if unit not in self.forgotten:
            made = self.given[unit].id
            assert made is not None
            with suppress(Invalid):
                self.study.correct(made, row, "wrong", "test")

    @precondition(lambda self: self.given)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        unit = data.draw(st.sampled_from(sorted(self.given)))
        assert self.study.forget(f"u-{unit}", "test") is (unit not in self.forgotten)
        self.forgotten.add(unit)

    # ---- time ----

    @rule(hours=st.integers(1, 60), looked_after=st.booleans())
    def time_goes_on(self, hours: int, looked_after: bool) -> None:
        self.now += hours * HOUR
        self.monotonic += hours * 3600.0
        if looked_after:
            self.studies.tick()

    @rule(back=st.booleans())
    def clock_jumps(self, back: bool) -> None:
        self.now += -DAY if back else DAY
        self.studies.tick()

    @rule()
    def clock_is_confirmed(self) -> None:
        self.studies.confirm_clock("looked at it", "test")
        self.studies.tick()

    @rule()
    def tick(self) -> None:
        self.studies.tick()
        assert self.studies.tick() == ()

    # ---- the hand ----

    @rule(now=st.booleans())
    def pause(self, now: bool) -> None:
        if self.study.state == "running":
            self.study.pause("look", "test", now=now)

    @rule()
    def resume(self) -> None:
        if self.study.state == "paused":
            self.study.resume("go on", "test")

    @precondition(lambda self: self.study.cohorts())
    @rule()
    def drop(self) -> None:
        last = self.study.cohorts()[-1]
        if last.state == "out":
            self.study.drop(last.number, "outage", "test")

    # ---- what goes wrong ----

    @rule()
    def crash(self) -> None:
        """Nobody says goodbye."""
        self.crashed.append(self.studies)  # let go of at the end alone
        self._reopened()

    @rule()
    def save(self) -> None:
        for each in (self.studies, *self.crashed):  # PostgreSQL copies a database that nobody is connected to
            each.close()
        self.crashed.clear()
        self.copies += 1
        if self.saved is not None:
            self.saved[0].drop()
        copy = self.place.copy(f"{self.place.name}_b{self.copies}")
        self.saved = (copy, dict(self.given), dict(self.told), set(self.forgotten), set(self.outside))
        self._reopened()

    @precondition(lambda self: self.saved is not None)
    @rule()
    def restore(self) -> None:
        """An old state, whatever has happened since."""
        assert self.saved is not None
        self.studies.close()
        self.place.drop()
        self.place, self.given, self.told, self.forgotten, self.outside = self.saved
        self.saved = None
        self._reopened()
        self.studies.restored("disk", "test")
        assert all(each.cut for each in self.study.cohorts() if each.state in ("open", "out"))

    # ---- what always holds ----

    @invariant()
    def budget(self) -> None:
        if not hasattr(self, "place"):
            return
        stored = Stored(self.place)
        counts = dict(stored.rows("SELECT arm, count(*) FROM fairarm_assignment WHERE slot IS NOT NULL GROUP BY arm"))
        assert sum(number for arm, number in counts.items() if arm != 0) <= BUDGET
        assert sum(counts.values()) <= PULLS
        after_close = "SELECT count(*) FROM fairarm_assignment a JOIN fairarm_cohort c ON a.study = c.study AND a.number = c.number WHERE a.issued >= c.closes"
        assert stored.rows(after_close) == [(0,)], "dealt into a closed cohort"

    def teardown(self) -> None:
        if not hasattr(self, "study"):
            return
        found = self.study.verify()
        for each in (self.studies, *self.crashed):
            each.close()
        self.place.drop()
        if self.saved is not None:
            self.saved[0].drop()
        assert found.ok, found.problems
