"""A log as evidence: counts of cells where its columns are finite, else rows in parts. Every row that cannot be used is
counted under the name of what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fairarm.beliefs.assumptions import Assumption, Statement
from fairarm.beliefs.findings import MOST_DISCARDED, Finding, Level
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.logs.coding import ABSENT, UNDECLARED, Coder, all_within, cause, numbers, read_numbers
from fairarm.logs.findings import EXAMPLES, LEFT_OUT, Tally
from fairarm.logs.ids import tickets
from fairarm.logs.table import Batches, Counts, Due, LogTable, RealColumn
from fairarm.logs.unanswered import without_outcome
from fairarm.logs.values import DUE, MAX_ROWS, NO_TIME, NOT_DUE, object_array, shown
from fairarm.problem.log_map import LogMap
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import MOST_ROWS, UNKNOWN_ARM, Batch, LoggedRows
from fairarm.problem.space import MAX_CELLS

NO_TABLE = cast(LogTable, None)
"""Of a reader that only codes."""

MOST_COUNTS = 1 << 25
"""Most counts (arms × groups × cells) held as a table; a log with more is read row by row."""

PROPENSITY_SUM = 1e-6
"""How far the propensities of a row's decisions may be from 1 in sum."""

OWN = "fairarm_"
"""Names of the columns that queries add start like this."""

INCREDIBLE = 1000
"""Propensities that would be seen in fewer than one log of so many are not believed."""


@dataclass(frozen=True)
class LoggedCells:
    """The usable rows of a finite log, one line per combination. Of a real outcome, ``sums`` (I, 3): Σ Y', Σ (Y' − Ȳ')² and Σ (Y' − Ȳ')³, and
    ``pilot`` (I,): 1 for rows that are chosen by their ids, -1 for those without; None where there are no such ids."""

    batch: Batch
    sums: FloatArray | None
    pilot: IntArray | None = None
    missing: tuple[Batch, IntArray | None] | None = None
    """Rows that lack their outcome and nothing else, and their ``pilot``; None where there is none."""


@dataclass(frozen=True)
class Dropped:
    """Rows left out on purpose for one value of a column; "" is a missing one."""

    column: str
    value: str
    rows: int

    @property
    def text(self) -> str:
        """Which rows, by column and value, and how many; a value that never came is said to be none."""
        return f"{self.column} = {self.value or '(missing)'}: {self.rows} row{'' if self.rows == 1 else 's'}{'' if self.rows else ' (no such row)'}"


@dataclass
class LogReader:
    """Reads one log for one problem, and remembers what was wrong with it."""

    problem: Problem
    table: LogTable
    map: LogMap
    """Where the log keeps what the problem needs."""
    tallies: dict[str, Tally] = field(default_factory=dict)
    rows: int = 0
    """Rows read so far, usable or not."""
    used: int = 0
    dropped: tuple[Dropped, ...] = ()
    """What was left out on purpose."""
    learned: Sequence[int] = ()
    """Arms that were learned from these rows."""
    repeats: int = 0
    """Rows that equal another one, id included; they are not read."""
    batches: Batches | None = None
    """Batches by time in which rows are counted when they are counted by cell."""
    by_batch: Counts | None = None
    """The rows of these batches, once they were counted."""
    filled: float | None = None
    """What a missing outcome is taken for, on the scale of Y'; None: its row is left out."""

    @property
    def met(self) -> tuple[Dropped, ...]:
        """Those of ``dropped`` that some row had."""
        return tuple(part for part in self.dropped if part.rows)

    @property
    def _left_out(self) -> int:
        return self.repeats + sum(each.rows for each in self.dropped)

    def __post_init__(self) -> None:
        self.map.check(self.problem)
        drop = [(self.map.column_of(key, self.problem), v) for key, values in self.map.drop.items() for v in values]
        drop.sort(key=lambda pair: pair[0] != self.map.count)  # a line without a sound count is left out for that first
        for name in (*self.columns, *(column for column, _ in drop)):
            if name not in self.table.columns:
                raise DataError(self._no_column(name))
            if name.startswith(OWN):
                raise DataError(
                    f"The column '{name}' cannot be used: names that start with {OWN} are those of fairarm. Rename it."
                )
        _ = self._made_by
        missing = [(column, value) for column in self.columns for value in self.map.missing_values]
        self.table = self.table.without(drop, missing)
        found = self.table.left_out(self.map.count).tolist()
        self.dropped = tuple(Dropped(column, value, rows) for (column, value), rows in zip(drop, found, strict=True))
        self.rows = self._left_out

    def drop_repeats(self) -> None:
        """Leave out rows that equal another one in their id and in every column."""
        from fairarm.logs.queries import without_repeats

        ids = self.map.row_id
        if ids is not None and self.table.duplicates(ids).ids:
            once = self.table.changed(lambda frame: without_repeats(frame, ids))
            self.repeats = self.table.rows() - once.rows()
            self.table, self.rows = once, self._left_out

    def _no_column(self, name: str) -> str:
        if name in self.table.disputed:
            return self.table.no_column(name)
        near = f"It has: {', '.join(self.table.columns[:30])}."
        return f"The log {self.table.name} has no column '{name}'. {near} Map nodes to columns in [log.columns] of the problem file."

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Everything that is read."""
        named = (self.map.arm, self.map.regime, *self._chances, self.map.count)
        nodes = [self.map.column(node) for node in self.problem.observed]
        time = self.map.time if self.map.outcome_within is not None else None
        return tuple(dict.fromkeys([*nodes, *(name for name in (*named, time) if name is not None)]))

    @property
    def _chances(self) -> tuple[str | None, ...]:
        """Columns of propensities."""
        return (self.map.propensity, *self.map.propensities.values(), *self.map.rule_propensities.values())

    @cached_property
    def ids(self) -> list[str]:
        """The column of ids, where each line is a row."""
        return [name for name in self.table.columns if name == self.map.row_id and self.map.count is None]

    @cached_property
    def _made_by(self) -> int:
        """The arm of every row, where no column says."""
        if self.map.arm is not None or (self.map.has_propensities and self.map.made_by is None):
            return UNKNOWN_ARM
        name = self.map.made_by or self.problem.deployed
        if name is None:
            raise DataError(
                "Nothing says which arm made the rows. Give log.arm (a column), log.made_by or problem.deployed (an "
                "arm), or log.propensity (a column with the logged decision's probability)."
            )
        return self.problem.arm_index(name)

    @cached_property
    def countable(self) -> bool:
        """Rows can be counted by cell: the columns are finite, few enough, and weights do not differ within a cell."""
        variables = [self.problem.variables[name] for name in self.problem.cell_columns]
        if self.map.has_propensities or self.map.fit_propensity or any(not v.finite for v in variables):
            return False
        cells = 1
        for v in variables:
            cells *= v.size
        states = len(self.problem.outcome.values or (0,))
        per_cell = len(self.problem.regimes) * len(self.problem.arms) * len(self.problem.groups)
        return cells * states <= MAX_CELLS and per_cell * cells * states <= MOST_COUNTS

    # ---- the two ways to read ----

    def cells(self) -> LoggedCells:
        """All usable rows, counted in the log's own engine."""
        due, real = self.due, self.real
        found = self._counted(real, due)
        rows, kept = self.taken_lines(found)
        self._show(real, due)
        sums = None if found.sums is None else found.sums[kept]
        pilot = None if found.pilot is None else found.pilot[kept]
        return LoggedCells(rows.batch, sums, pilot, without_outcome(self, found, real))

    def taken_lines(self, found: Counts) -> tuple[LoggedRows, BoolArray]:
        """The usable lines of counted rows, and which they are; a real outcome that was summed has a stand-in."""
        raw, real = dict(found.keys), self.real
        if real is not None and found.outcome is not None:
            stand_in = {"ok": 0.5 * (real.low + real.high), "missing": None, "outside": np.inf, "unreadable": "?"}
            raw[real.column] = object_array([stand_in[status] for status in found.outcome])
        return self.taken(raw, found.rows, found.due)

    @cached_property
    def real(self) -> RealColumn | None:
        """The column of a real outcome."""
        outcome = self.problem.outcome
        if outcome.values is not None:
            return None
        return RealColumn(self.map.column(outcome.node), outcome.low or 0.0, outcome.high or 0.0)

    @cached_property
    def keys(self) -> list[str]:
        """The columns whose values are counted: not the time, unless an arm saw it."""
        nodes = {self.map.column(node) for node in self.problem.observed}
        apart = {
            self.map.count,
            None if self.map.time in nodes else self.map.time,
            self.real.column if self.real else None,
        }
        return [name for name in self.columns if name not in apart]

    def _counted(self, real: RealColumn | None, due: Due | None) -> Counts:
        """Rows by combination of values, and by batch where there are any."""
        ids = next(iter(self.ids), None) if real else None
        if self.batches is not None and self.batches.ends:
            both = self.table.counts_and_parts(self.keys, self.batches.parts, real=real, due=due, ids=ids)
            if both is not None:
                found, self.by_batch = both
                return found
        return self.table.counts(self.keys, weight=self.map.count, real=real, due=due, ids=ids)

    def chunks(self, size: int = 1 << 16) -> Iterator[LoggedRows]:
        """Usable rows in parts of at most ``size``, here. Reading again counts nothing twice."""
        self.tallies, self.rows, self.used = {}, self._left_out, 0
        for raw in self.table.batches((*self.columns, *self.ids), size, due=self.due):
            yield self.coded(raw, raw.get(DUE))

    def coded(self, raw: dict[str, NDArray[Any]], due: IntArray | None) -> LoggedRows:
        """The usable rows of a part of the log."""
        return self.taken(raw, self._counts(raw), due)[0]

    def decoder(self) -> LogReader:
        """This reader without its table, and with nothing read yet: what is needed to code rows elsewhere."""
        twin = copy(self)
        if self.map.has_propensities:
            twin.__dict__["_least_chance"] = self._least_chance
        if self.map.rule_propensities:
            twin.__dict__["_rule_shares"] = self._rule_shares
        twin.__dict__["ids"] = self.ids
        twin.table = NO_TABLE
        twin.tallies, twin.rows, twin.used, twin.batches, twin.by_batch = {}, 0, 0, None, None
        return twin

    def heard(self, decoder: LogReader) -> None:
        """Take over what was read, and what was wrong with it."""
        self.tallies, self.used, self.rows = decoder.tallies, decoder.used, self._left_out + decoder.rows
        self._check_rows()

    def _show(self, real: RealColumn | None, due: Due | None) -> None:
        """Examples of what the engine has not handed out: outcomes, where they were summed, and times."""
        for name, what in (("outcomes-out-of-range", "outside"), ("outcomes-not-numbers", "unreadable")):
            if real is not None and name in self.tallies:
                node = self.problem.outcome.node
                found = self.table.examples(real.column, what, real.low, real.high)
                self.tallies[name].examples = [f"{node} = {shown(value)}" for value in found[:EXAMPLES]]
        if due is not None and "missing-times" in self.tallies:
            found = self.table.examples(due.column, "no time")
            self.tallies["missing-times"].examples = [f"{due.column} = {shown(value)}" for value in found[:EXAMPLES]]

    @property
    def due(self) -> Due | None:
        """Which rows are old enough to have an outcome, where that is asked."""
        within = self.map.outcome_within
        return None if self.map.time is None or within is None else Due(self.map.time, within)

    def _counts(self, raw: dict[str, NDArray[Any]]) -> IntArray:
        if self.map.count is None:
            return np.broadcast_to(np.int64(1), len(next(iter(raw.values()))))
        count = numbers(raw[self.map.count])
        if not np.all(np.isfinite(count)) or np.any(count < 0) or np.any(count != np.floor(count)):
            raise DataError(f"Column '{self.map.count}' must hold whole numbers, 0 or more, in every row.")
        if np.any(count > MAX_ROWS):
            most = f"a line may stand for at most {MAX_ROWS} rows"
            raise DataError(f"Column '{self.map.count}' holds {int(count.max())}; {most}. Check the counts.")
        return count.astype(np.int64)

    # ---- from raw columns to codes ----

    @cached_property
    def coders(self) -> dict[str, Coder]:
        finite = {
            name: self.problem.variables[name] for name in self.problem.observed if name in self.problem.variables
        }
        coders = {n: Coder(v.states, self.map.labels.get(n, {})) for n, v in finite.items() if v.states is not None}
        coders["arm"] = Coder(self.problem.arm_names, self.map.labels.get("arm", {}))
        coders["regime"] = Coder(self.problem.regimes, self.map.labels.get("regime", {}))
        return coders

    @cached_property
    def _offered(self) -> BoolArray:
        """By regime, (R,)."""
        return np.array([True, *(regime in self.problem.forced for regime in self.problem.regimes[1:])])

    def taken(
        self, raw: dict[str, NDArray[Any]], count: IntArray, due: IntArray | None
    ) -> tuple[LoggedRows, BoolArray]:
        """The usable lines as codes and values, and which they are; the others are tallied by their first fault."""
        self.rows += int(count.sum())
        self._check_rows()
        usable = np.ones(len(count), dtype=bool)
        if due is not None:
            self._leave("missing-times", due == NO_TIME, usable, count, lambda i: self._time(raw, i))
            self._leave("outcomes-not-due", due == NOT_DUE, usable, count, lambda i: "")
        columns = {}
        for node in sorted(self.problem.observed, key=lambda name: name == self.problem.outcome.node):
            columns[node] = self._column(node, raw[self.map.column(node)], usable, count)
        arm = self._named("arm", self.map.arm, self._made_by, raw, usable, count)
        regime = self._named("regime", self.map.regime, 0, raw, usable, count)
        if self.map.regime is not None:
            self._leave(
                "regimes-not-offered",
                ~self._offered[regime],
                usable,
                count,
                lambda i: f"forced to {self.problem.regimes[regime[i]]}",
            )
            self._leave(
                "forced-rows-of-another-group",
                ~self._fits(regime, columns),
                usable,
                count,
                lambda i: f"forced to {self.problem.regimes[regime[i]]}, holds {self._held(raw, i)}",
            )
        propensity = self._propensity(raw, columns, usable, count)
        at = slice(None) if usable.all() else usable  # a slice copies nothing
        self.used += int(count[at].sum())
        kept = {name: values[at] for name, values in columns.items()}
        made = Batch(arm[at], regime[at], kept, count[at])
        # of usable rows alone: whether one without an id is among them must not depend on where a part begins
        ticket = next((tickets(raw[name][at]) for name in self.ids if name in raw), None)
        return LoggedRows(made, None if propensity is None else propensity[at], ticket), usable

    def _check_rows(self) -> None:
        if self.rows > MOST_ROWS:
            raise DataError(
                f"The lines of the log stand for more than {MOST_ROWS} rows, the most that are taken. Check the counts in "
                f"column '{self.map.count}'."
            )

    def _fits(self, regime: IntArray, columns: dict[str, NDArray[Any]]) -> BoolArray:
        """Which lines have what their regime forces. Those without a regime or an attribute were left out before."""
        compiled = self.problem.compiled
        label = compiled.labels({name: np.maximum(columns[name], 0) for name in self.problem.attributes})
        return np.asarray(compiled.regime_fits[np.maximum(regime, 0), label])

    def _held(self, raw: dict[str, NDArray[Any]], i: int) -> str:
        """The attributes of a line as they are written."""
        return ", ".join(shown(raw[self.map.column(name)][i]) for name in self.problem.attributes)

    def _time(self, raw: dict[str, NDArray[Any]], i: int) -> str:
        """The time of a line as it is written, where there is one."""
        column = self.map.time or ""
        value = raw[column][i] if column in raw else None
        return "" if value is None or value != value else f"{column} = {shown(value)}"

    def _column(self, node: str, raw: NDArray[Any], usable: BoolArray, count: IntArray) -> NDArray[Any]:
        outcome = node == self.problem.outcome.node
        absent = "missing-outcomes" if outcome else "missing-values"
        lacking = "" if outcome else node  # which column it is says the finding's name already
        if node in self.coders:
            codes = self.coders[node].codes(raw)
            if all_within(codes, 0, np.inf):
                return codes
            if outcome and self.filled is not None:
                codes = np.where(codes == ABSENT, self._filling_state, codes)
            self._leave(absent, codes == ABSENT, usable, count, lambda i: lacking)
            self._leave("undeclared-states", codes == UNDECLARED, usable, count, lambda i: f"{node} = {shown(raw[i])}")
            return codes
        values, unreadable = read_numbers(raw)
        self._leave(
            "outcomes-not-numbers" if outcome else "values-not-numbers",
            unreadable,
            usable,
            count,
            lambda i: f"{node} = {shown(raw[i])}",
        )
        declared = self.problem.outcome if outcome else self.problem.variables[node]
        low, high = declared.low or 0.0, declared.high or 0.0
        if all_within(values, low, high):
            return values
        if outcome and self.filled is not None:
            values = np.where(np.isnan(values), low + self.filled * (high - low), values)
        outside = "outcomes-out-of-range" if outcome else "values-out-of-range"
        self._leave(absent, np.isnan(values), usable, count, lambda i: lacking)
        with np.errstate(invalid="ignore"):
            beyond = (values < low) | (values > high)
        self._leave(outside, beyond, usable, count, lambda i: f"{node} = {shown(raw[i])}")
        return values

    @property
    def _filling_state(self) -> int:
        """The state of the lowest value, or of the highest, in the place of a missing outcome."""
        values = self.problem.outcome.scaled_values
        return int(np.argmax(values) if self.filled else np.argmin(values))

    def filling(self, outcome: float) -> LogReader:
        """The same log with every missing outcome 0, or 1, on the scale of Y'."""
        twin = copy(self)
        twin.tallies, twin.rows, twin.used, twin.filled = {}, 0, 0, outcome
        return twin

    def _named(
        self,
        what: str,
        column: str | None,
        fixed: int,
        raw: dict[str, NDArray[Any]],
        usable: BoolArray,
        count: IntArray,
    ) -> IntArray:
        if column is None:
            return np.broadcast_to(np.int64(fixed), len(count))
        codes = self.coders[what].codes(raw[column])
        self._leave(f"unknown-{what}s", codes < 0, usable, count, lambda i: f"{column} = {shown(raw[column][i])}")
        return codes

    def _propensity(
        self, raw: dict[str, NDArray[Any]], columns: dict[str, NDArray[Any]], usable: BoolArray, count: IntArray
    ) -> FloatArray | None:
        if not self.map.has_propensities:
            return None
        if self.map.propensity is not None:
            written = raw[self.map.propensity]
            chance = numbers(written)
        elif self.map.rule_propensities:
            each = np.stack([numbers(raw[column]) for column in self.map.rule_propensities.values()])
            chance = written = (self._rule_shares[:, columns[self.problem.sensitive]] * each).sum(axis=0)
        else:
            states = self.problem.variables[self.problem.decision].states or ()
            each = np.stack([numbers(raw[self.map.propensities[state]]) for state in states])
            total = each.sum(axis=0)
            off = ~(np.abs(total - 1.0) <= PROPENSITY_SUM)
            self._leave("propensities-do-not-sum", off, usable, count, lambda i: f"sum {total[i]:g}")
            chance = written = each[np.maximum(columns[self.problem.decision], 0), np.arange(len(count))]
        most = 1.0 if self.problem.variables[self.problem.decision].finite else np.inf
        if self._least_chance > 0 and all_within(chance, self._least_chance, most):
            return chance
        wrong = ~((chance > 0) & (chance <= most))
        self._leave("impossible-propensities", wrong, usable, count, lambda i: shown(written[i]))
        self._leave("incredible-propensities", chance < self._least_chance, usable, count, lambda i: shown(written[i]))
        return chance

    @cached_property
    def _rule_shares(self) -> FloatArray:
        """The rules' shares of the rows, by state of S, (rules, states): a decision has the probability of their mixture, whichever made it."""
        node, rules = self.problem.sensitive, list(self.map.rule_propensities)
        found = self.table.counts([self.map.column(node), self.map.logging_rule or ""], weight=self.map.count)
        rule, state = (
            found.keys[self.map.logging_rule or ""],
            self.coders[node].codes(found.keys[self.map.column(node)]),
        )
        if unknown := [shown(name) for name in rule if str(name) not in rules]:
            raise DataError(
                f"Column '{self.map.logging_rule}' names the rule '{unknown[0]}', of which log.rule_propensities has no column. Name one, or leave its rows out."
            )
        made = np.zeros(
            (len(rules), self.problem.variables[node].size + 1)
        )  # the last place is for rows without a state
        place = np.array([rules.index(str(name)) for name in rule], dtype=np.int64)
        np.add.at(made, (place, np.maximum(state, -1)), found.rows)
        return np.asarray(made / np.maximum(made.sum(axis=0), 1.0))

    @cached_property
    def _least_chance(self) -> float:
        """P(some row's decision had a chance below c) ≤ rows · (states - 1) · c, here 1/1000; of a density: per its range."""
        decision = self.problem.variables[self.problem.decision]
        size = decision.size - 1 if decision.finite else (decision.high or 0.0) - (decision.low or 0.0)
        count = self.map.count
        rows = self.table.rows() if count is None else int(self.table.counts([], weight=count).rows.sum())
        return 1.0 / (INCREDIBLE * max(rows, 1) * max(size, 1e-300))

    def _leave(self, name: str, wrong: BoolArray, usable: BoolArray, count: IntArray, example: Any) -> None:
        """Leave out lines that are wrong and were usable so far."""
        fresh = wrong & usable
        if fresh.any():
            at = np.flatnonzero(fresh)
            tally = self.tallies.setdefault(name, Tally())
            tally.add(int(count[at].sum()), (text for i in at[: 20 * EXAMPLES] if (text := str(example(i)))))
            usable[at] = False

    def leave_out(self, name: str, rows: int, examples: list[str]) -> None:
        """Count rows that were usable until someone further on found them wrong."""
        self.tallies.setdefault(name, Tally()).add(rows, examples)
        self.used -= rows

    def findings(self) -> list[Finding]:
        """What was left out on purpose, then what was wrong with rows, largest first. Discarded rows of all kinds together block the answer
        above `MOST_DISCARDED`; missing outcomes, which may be bounded later, by themselves."""
        found, bounded = self._on_purpose(), "missing-outcomes"
        lost = [name for name in self.tallies if LEFT_OUT[name][0] == Level.BLOCKS_CERTIFICATION and name != bounded]
        discarded = sum(self.tallies[name].rows for name in lost)
        for name, tally in sorted(self.tallies.items(), key=lambda item: -item[1].rows):
            level, text = LEFT_OUT[name]
            many = (tally.rows if name == bounded else discarded) > MOST_DISCARDED * self.rows
            level = Level.BLOCKS_ANSWER if many and level != Level.INFO else level
            why = next((w for example in tally.examples if (w := cause(example.rpartition(" = ")[2]))), "")
            message = f"{tally.rows} of {self.rows} rows {text}." + (f" {why}" if why else "")
            found.append(Finding(name, message, tally.rows, tuple(tally.examples), level))
        return found

    @cached_property
    def _decided(self) -> set[str]:
        """Columns that hold the decision or what follows from it: its chance, which depends on what was drawn, too."""
        graph, decision = self.problem.roles.graph, self.problem.decision
        nodes = {decision, *graph.descendants(decision)}
        chances = (*self._chances, self.map.count)
        return {*(self.map.column(node) for node in nodes), *(name for name in chances if name is not None)}

    @property
    def unplaced(self) -> list[str]:
        """Columns by which rows were left out, and of which the problem does not say whether they precede the decision."""
        nodes = {self.map.column(node) for node in self.problem.roles.graph.nodes}
        known = self._decided | nodes | {self.map.arm, self.map.regime}
        return [name for name in dict.fromkeys(part.column for part in self.met) if name not in known]

    @property
    def left_out(self) -> tuple[Statement, ...]:
        """Which rows were left out on purpose, and what that assumes."""
        rows = [Statement(Assumption.LEFT_OUT, {"dropped": self.met})] if self.met else []
        return *rows, *(Statement(Assumption.LEFT_OUT_BY, {"column": column}) for column in self.unplaced)

    def _on_purpose(self) -> list[Finding]:
        """Arms learned from the rows, repeated rows, and rows left out on purpose. It blocks certification where what came after the decision chose them."""
        met = self.met
        found: list[Finding] = []
        if self.learned:
            names = tuple(self.problem.arm_names[k] for k in self.learned)
            text = f"Learned from these rows, on which such an arm looks better than it is: {', '.join(names)}. It is neither compared nor recommended."
            found.append(Finding("learned-from-this-log", text, 0, names))
        if self.repeats:
            text = f"{self.repeats} of {self.rows} rows equal another row in '{self.map.row_id}' and in every column. Each was counted once."
            found.append(Finding("repeated-rows", text, self.repeats, level=Level.INFO))
        if not met:
            return found
        total = self._left_out - self.repeats
        text = f"{total} of {self.rows} rows were left out on purpose ({listed(met)})."
        found.append(Finding("rows-left-out", text, total, level=Level.INFO))
        late = [part for part in met if part.column in self._decided]
        if late:
            rows = sum(part.rows for part in late)
            text = (
                f"{rows} rows were left out by '{late[0].column}', which is the decision or follows from it: who is left depends "
                f"on what was decided. Take it out of log.drop."
            )
            found.append(Finding("left-out-after-the-decision", text, rows))
        return found


def listed(dropped: Sequence[Dropped], most: int = 12) -> str:
    """What was left out, value by value."""
    more = [f"and {len(dropped) - most} more values"] if len(dropped) > most else []
    return "; ".join([*(part.text for part in dropped[:most]), *more])
