"""A file of looks: counts them, notices what changed, and is written whole or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairarm import LogMap, evaluate
from fairarm.errors import DataError, OptionError
from fairarm.reports.words import looks_text
from timed_log import TIMED, problem, rows_of


def cut(columns: dict[str, Any], n: int) -> dict[str, Any]:
    return {name: values[:n].copy() for name, values in columns.items()}


def test_looks_are_counted_and_a_change_starts_anew(tmp_path: Path) -> None:
    path, columns = tmp_path / "looks.json", rows_of(2000, 1)
    for number, n in enumerate((300, 301, 900), start=1):
        found = evaluate(problem(), cut(columns, n), columns=TIMED, looks=path)
        assert found.look is not None and (found.look.number, found.look.changed) == (number, False)
        assert found.looks == "any" and f"This is look {number}." in str(looks_text(found))
    changed = cut(columns, 2000)
    changed["Y"][10] = 1 - changed["Y"][10]
    found = evaluate(problem(), changed, columns=TIMED, looks=path)
    assert found.look is not None and (found.look.number, found.look.restarts, found.looks) == (1, 1, "one")
    assert "starts anew" in str(looks_text(found))
    again = evaluate(problem(), changed, columns=TIMED, looks=str(path)).look
    assert again is not None and (again.number, again.restarts, again.changed) == (2, 1, False)


def test_other_declarations_and_a_shorter_log_start_anew(tmp_path: Path) -> None:
    columns = rows_of(900, 2)
    for other, n in ((problem(tolerance=0.3), 900), (problem(), 200)):
        path = tmp_path / "looks.json"
        path.unlink(missing_ok=True)
        evaluate(problem(), columns, columns=TIMED, looks=path)
        look = evaluate(other, cut(columns, n), columns=TIMED, looks=path).look
        assert look is not None and look.changed


def test_a_file_that_is_not_one_of_looks_is_refused_before_the_work(tmp_path: Path) -> None:
    path, columns = tmp_path / "looks.json", rows_of(400, 3)
    evaluate(problem(), columns, columns=TIMED, looks=path)
    document = json.loads(path.read_text())
    for text in ("{}", "x", "[1]", json.dumps({**document, "look": 7}), path.read_text().replace("batches", "parts")):
        path.write_text(text)
        with pytest.raises(DataError, match="file of looks is damaged"):
            evaluate(problem(), columns, columns=TIMED, looks=path)
        assert path.read_text() == text
    with pytest.raises(OptionError, match="does not exist"):
        evaluate(problem(), columns, columns=TIMED, looks=tmp_path / "no" / "looks.json")


def test_a_log_without_times_has_no_file_of_looks(tmp_path: Path) -> None:
    path = tmp_path / "looks.json"
    with pytest.raises(OptionError, match=r"log\.time must be given"):
        evaluate(problem(), rows_of(400, 4), columns=LogMap(arm="arm"), looks=path)
    assert not path.exists()
