"""Study files: what is read, and what is refused with the key and the way out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairarm.errors import ReadError
from fairarm.readers.study_file import read_study

LEAST = 'problem = "coin"\npulls = 1000\npeople = 50\narrivals = 200\nwindow = "3d"\n'


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_only_what_is_given_is_passed_on(tmp_path: Path) -> None:
    name, problem, tolerance, options = read_study(written(tmp_path, LEAST))
    assert (name, problem, tolerance) == (None, "coin", None)
    assert options == {"pulls": 1000, "people": 50, "arrivals": 200.0, "window": "3d"}


def test_the_problem_is_looked_for_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "problem.toml").write_text("", encoding="utf-8")
    text = LEAST.replace('"coin"', '"problem.toml"') + 'name = "reminders"\ntolerance = 0.1\n'
    read = read_study(written(tmp_path, text))
    assert (read.name, read.problem, read.tolerance) == ("reminders", str(tmp_path / "problem.toml"), 0.1)


@pytest.mark.parametrize("start", ["2027-03-01T00:00:00+01:00", '"2027-03-01T00:00:00+01:00"'])
def test_a_start_has_an_offset(tmp_path: Path, start: str) -> None:
    read = read_study(written(tmp_path, LEAST + f"start = {start}\n"))
    assert read.options["start"] == datetime(2027, 3, 1, tzinfo=UTC) - timedelta(hours=1)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("start = 2027-03-01T00:00:00", "start: a time with its offset"),
        ('start = "tomorrow"', "start: a time with its offset"),
        ("start = 2027-03-01", "start: a time with its offset"),
        ("peoples = 3", "peoples: there is no such key. Did you mean 'people'?"),
        ("zzz = 3", "zzz: there is no such key. The keys: problem, pulls"),
        ("confidence = nan", "confidence: should be"),
        ('confidence = "0.9"', "confidence: should be"),
        ("seed = 1.5", "seed: should be"),
        ('on_alarm = "stop"', "on_alarm: should be 'pause' or 'tell'; got 'stop'"),
        ("lost = 3", "lost: should be"),
        ("at_random_confirmed = 1", "at_random_confirmed: should be"),
        ("x = ", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = written(tmp_path, LEAST + line + "\n")
    with pytest.raises(ReadError) as error:
        read_study(path)
    assert str(path) in str(error.value)
    assert said in str(error.value)


def test_what_is_needed_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="problem, arrivals, window: not given, but needed"):
        read_study(written(tmp_path, "pulls = 10\npeople = 2\n"))
    with pytest.raises(ReadError, match="the file is empty"):
        read_study(written(tmp_path, "\n"))
