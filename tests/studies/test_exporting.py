"""The export is a log: `evaluate` counts in it what the study counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm import evaluate, read_problem
from fairarm.studies import Invalid, Studies
from study_people import DAY, SECOND, START, Clock, Crowd, small_study

Query = Callable[[str], list[tuple[Any, ...]]]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_evaluate_counts_what_the_study_counted(
    studies: Studies, clock: Clock, query: Query, tmp_path: Path, suffix: str
) -> None:
    """Losses, late outcomes and a dropped cohort: rows by arm, group and row agree with plain SQL."""
    crowd = Crowd(studies, small_study(studies), clock, lost=lambda row: 0.1)
    crowd.days(0, 3)
    crowd.study.drop(1, "an outage", "ann")
    for number in (3, 4, 5):
        crowd.clock.now = START + number * DAY - 1
        crowd.tell()
        crowd.tick(START + number * DAY + 61 * SECOND)
    target = tmp_path / f"rows{suffix}"
    rows = crowd.study.export(target)
    counted = query(
        "SELECT count(*) FROM fairarm_outcome o JOIN fairarm_assignment a ON a.id = o.assignment WHERE a.number IN (0, 2) "
        f"AND o.told - a.issued <= {2 * DAY}"
    )[0][0]
    assert rows == counted == crowd.study.verdict().counted
    read = read_problem(Path(f"{target}.toml"))
    found = evaluate(read, target)
    by_arm = {arm.name: arm.rows for arm in found.arms}
    plain = dict(
        query(
            "SELECT a.arm, count(*) FROM fairarm_outcome o JOIN fairarm_assignment a ON a.id = o.assignment WHERE a.number IN (0, 2) "
            f"AND o.told - a.issued <= {2 * DAY} GROUP BY a.arm"
        )
    )
    assert by_arm == {name: plain.get(k, 0) for k, name in enumerate(crowd.study.problem.arm_names)}
    assert read.columns.adaptive


def test_where_it_cannot_be_written(crowd: Crowd, tmp_path: Path) -> None:
    for path in (tmp_path / "rows.txt", tmp_path / "no" / "rows.csv", tmp_path):
        with pytest.raises(Invalid):
            crowd.study.export(path)
    assert crowd.study.export(tmp_path / "none.csv") == 0
    assert np.all([(tmp_path / name).exists() for name in ("none.csv", "none.csv.toml")])
