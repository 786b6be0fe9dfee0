"""What a study cannot be created with: each has an error that says what, the rule, what came and the way out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm import Arm, Outcome, Variable, load_problem, table
from fairarm.problem.mechanism import Code, Table
from fairarm.studies import Conflict, Invalid, Studies
from fairarm.studies.options import DAY, moment
from four_arms import chain
from study_people import SMALL, START, Clock, small_study


@pytest.fixture
def studies(tmp_path: Path) -> Any:
    with Studies(f"sqlite:///{tmp_path}/s.db", clock=Clock()) as made:
        yield made


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"people": 121}, "121 people are to enter a cohort in which 120 arrive"),
    ({"people": 0}, "people is 0"),
    ({"people": True}, "people is True"),
    ({"pulls": 0}, "pulls is 0"),
    ({"pulls": 2.5}, "pulls is 2.5"),
    ({"pulls": 10**9}, "pulls is 1000000000"),
    ({"arrivals": 0}, "above 0"),
    ({"arrivals": float("nan")}, "above 0"),
    ({"arrivals": "many"}, "arrivals is 'many'"),
    ({"window": "soon"}, "window is 'soon'"),
    ({"window": -1}, "window is -1"),
    ({"window": "5000d"}, "5000d"),
    ({"cohort": "36h"}, "no multiple of the cycle"),
    ({"cohort": "1h"}, "no multiple of the cycle"),
    ({"cohort": "1s", "cycle": "1s", "window": "2s", "people": 1, "arrivals": 86_400_000}, "cohort is 1 s"),
    ({"confidence": 0.3}, "confidence is 0.3"),
    ({"confidence": 1.0}, "confidence is 1.0"),
    ({"confidence": None}, "confidence is None"),
    ({"group": "later"}, "group is 'later'"),
    ({"lost": "gone"}, "lost is 'gone'"),
    ({"lost": "at random"}, "at_random_confirmed"),
    ({"lost": "at random", "at_random_confirmed": "yes"}, "at_random_confirmed"),
    ({"on_alarm": "panic"}, "on_alarm is 'panic'"),
    ({"keep_rows": "never"}, "keep_rows is 'never'"),
    ({"on_end": "stop"}, "on_end is 'stop'"),
    ({"deployed": "nobody"}, "deployed arm is 'nobody'"),
    ({"seed": -1}, "seed is -1"),
    ({"seed": 1 << 62}, "seed is"),
    ({"start": "tomorrow"}, "start is 'tomorrow'"),
    ({"start": "2026-05-04T00:00:00"}, "with an offset"),
    ({"start": datetime(1926, 1, 1, tzinfo=UTC)}, "ten years"),
    ({"actor": 5}, "actor is 5"),
    ({"actor": "a\x00"}, "actor is"),
]


@pytest.mark.parametrize(("change", "words"), WRONG, ids=[str(change) for change, _ in WRONG])
def test_wrong_options(studies: Studies, change: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid, match=words) as error:
        small_study(studies, **change)
    assert str(error.value).isprintable() and studies.names() == ()


@pytest.mark.parametrize("name", ["", "a/b", "a:b", " a", "x" * 101, "ü", "a\n", None, 5, ".a"])
def test_wrong_names(studies: Studies, name: Any) -> None:
    with pytest.raises(Invalid, match="name of the study"):
        studies.create(name, chain(), **SMALL)


def test_a_name_is_taken_once(studies: Studies) -> None:
    small_study(studies)
    with pytest.raises(Conflict, match="already"):
        small_study(studies)


def test_problems_that_cannot_be_certified_live(studies: Studies) -> None:
    """Real inputs, a real outcome, fitted tables, groups with the outcome without shares: refused, with the way out."""
    scenario = load_problem("coin")
    with pytest.raises(Invalid, match=r"pass scenario\.problem"):
        studies.create("s", scenario, **SMALL)  # type: ignore[arg-type]
    real = chain(
        variables=[Variable("S", ("a", "b")), Variable("V", ("0", "1", "2")), Variable("Y", low=0.0, high=1.0)],
        outcome=Outcome("Y", low=0.0, high=1.0),
    )
    with pytest.raises(Invalid, match="the outcome is real-valued"):
        small_study(studies, problem=real)
    fitted = Table.fitted("V", ("S",), np.array([[6, 2, 2], [6, 2, 2]]))
    with pytest.raises(Invalid, match="fitted from rows"):
        small_study(studies, problem=_with_first(fitted))
    with pytest.raises(Invalid, match="Declare the shares"):
        small_study(studies, problem=chain(shares=None), group="with outcome")
    small_study(studies, problem=chain(shares=None))


def _with_first(mechanism: Any) -> Any:
    problem = chain()
    return problem.with_arms([Arm("even", mechanism), *problem.arms[1:]])


def test_arms_of_code_become_tables_once(studies: Studies) -> None:
    """A rule in Python, tabulated: the stored arm is its table, whatever the code becomes later."""
    calls = []

    def rule(columns: Any) -> Any:
        calls.append(1)
        return np.log(np.array([[0.6, 0.2, 0.2], [0.6, 0.2, 0.2]])[columns["S"], columns["V"]])

    problem = _with_first(Code("V", ("S",), rule, version="1"))
    study = small_study(studies, problem=problem)
    assert study.problem.arms[0].mechanism == table("V", ["S"], [[0.6, 0.2, 0.2], [0.6, 0.2, 0.2]])
    count = len(calls)
    study.assign("u", "a", {})
    assert len(calls) == count and studies.open("small", problem).name == "small"
    with pytest.raises(Conflict, match="another problem"):
        studies.open("small", chain(tolerance=0.3))


def test_options_are_shown_as_they_were_given(studies: Studies) -> None:
    later = moment(START) + timedelta(hours=5)
    study = small_study(studies, start=later.isoformat(), cohort="7d", people=500, lost="0", keep_rows="until settled")
    shown = study.options
    assert (shown["window"], shown["cohort"], shown["cycle"], shown["lost"]) == ("2d", "7d", "1d", "0")
    assert shown["start"] == later.isoformat() and shown["people"] == 500 and "unit_key" not in shown
    assert study.cohorts() == () and study.under_way_at_once == 643  # 500 · 9/7
    assert study.running.options.grace == 60_000_000 and study.running.options.window == 2 * DAY
