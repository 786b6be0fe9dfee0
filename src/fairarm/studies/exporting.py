"""The rows that count, as a log that `fairarm evaluate` reads. A row that the study filled says so in the column ``filled``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet
from sqlalchemy import Connection, select

from fairarm.algorithms.cohort import Missing
from fairarm.errors import FairarmError
from fairarm.files import check_path, write_whole
from fairarm.problem.log_map import LogMap
from fairarm.problem.problem import Problem
from fairarm.readers.problem_writer import problem_text
from fairarm.studies import schema
from fairarm.studies.calls import id_text
from fairarm.studies.cohorts import DROPPED, by_hand
from fairarm.studies.counting import Person, people_of
from fairarm.studies.errors import Invalid
from fairarm.studies.options import moment
from fairarm.studies.running import Running

SUFFIXES = (".csv", ".parquet")


def checked_target(path: str | Path) -> Path:
    """Where the rows go; `Invalid` where they cannot."""
    target = Path(path)
    try:
        check_path(target, "log", SUFFIXES)
        check_path(map_path(target), "problem file")
    except FairarmError as error:
        raise Invalid(str(error)) from None
    return target


def map_path(target: Path) -> Path:
    """The problem with the log's map, beside the rows."""
    return target.with_name(target.name + ".toml")


def log_map(problem: Problem) -> LogMap:
    """Which column is what. The plan of later rows rested on earlier ones: the log is adaptive."""
    return LogMap(
        arm=_free("arm", problem), row_id=_free("assignment", problem), time=_free("time", problem), adaptive=True
    )


def _free(name: str, problem: Problem) -> str:
    """A name for a column that no node has."""
    while name in problem.graph.nodes:
        name += "_"
    return name


def exported(connection: Connection, study: Running, target: Path) -> int:
    """Write both files; how many rows."""
    problem, columns = study.problem, log_map(study.problem)
    names = [
        columns.row_id,
        columns.time,
        columns.arm,
        *(_free(name, problem) for name in ("cohort", "filled")),
        *problem.observed,
    ]
    lines = [_line(study, number, person) for number, person in counted_people(connection, study)]
    kinds = [pa.string(), pa.string(), pa.string(), pa.int64(), pa.bool_(), *([pa.string()] * len(problem.observed))]
    table = pa.table({str(name): pa.array([line[i] for line in lines], type=kinds[i]) for i, name in enumerate(names)})
    write_whole(target, _as_file(table, target.suffix.lower()), "log")
    write_whole(map_path(target), problem_text(problem, columns=columns), "problem file")
    return int(table.num_rows)


def _line(study: Running, number: int, person: Person) -> tuple[Any, ...]:
    """A row whose cell is not known has its outcome, and its group where that is known; the other columns are empty."""
    problem, loss = study.problem, study.rule.loss
    row = person.filled_row(loss) if person.row is None else person.row
    codes = {} if loss.state is None else {problem.outcome.node: loss.state}
    if row is not None:
        codes = {name: int(at[0]) for name, at in problem.compiled.row_space.codes(np.array([row])).items()}
    if person.label is not None:
        codes |= dict(zip(problem.attributes, problem.compiled.profile_codes[person.label].tolist(), strict=True))
    named = {name: (problem.variables[name].states or ())[code] for name, code in codes.items()}
    at = moment(person.issued).isoformat()
    return (
        id_text(person.id),
        at,
        problem.arm_names[person.arm],
        number,
        person.row is None,
        *map(named.get, problem.observed),
    )


def counted_people(connection: Connection, study: Running) -> Iterator[tuple[int, Person]]:
    """People of settled cohorts whose outcome counted, or was filled; those of cohorts that were left out, or erased, are not among them."""
    done, left_out = schema.settled, by_hand(connection, study.id, DROPPED)
    asked = select(done.c.number, done.c.counted).where(done.c.study == study.id).order_by(done.c.number)
    for number, stored in connection.execute(asked).all():
        for person in people_of(connection, study, number) if number not in left_out else ():
            settled = person.as_settled(stored[person.slot], study.options.at_arrival)
            if settled.row is not None or settled.kind(study.rule.loss) in (None, Missing.STATED):
                yield number, settled


def _as_file(table: pa.Table, suffix: str) -> bytes:
    sink = pa.BufferOutputStream()
    if suffix == ".csv":
        csv.write_csv(table, sink)
    else:
        parquet.write_table(table, sink)
    return bytes(sink.getvalue())
