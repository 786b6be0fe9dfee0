"""The gate's benchmark: answers judged by hand, and both ways of each run against runs with the option itself."""

from __future__ import annotations

import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.gate import GATE, OUT, RECORD, UNSELECTED, Counts, both, judged, page, unselected
from benchmarks.pasting import paste

from fairarm.algorithms import make_procedure
from fairarm.core.answer import Code
from fairarm.experiments.simulate import replicate


def test_answers_are_judged_by_hand() -> None:
    truth = SimpleNamespace(gaps=np.array([0.2, 0.05, 0.0]), answer=1)
    world: Any = SimpleNamespace(truth=lambda: truth, problem=SimpleNamespace(gap_tolerance=0.1))
    answers = np.array([0, 0, 1, 2, int(Code.NONE), int(Code.UNDECIDED)])
    found = judged(world, answers)
    assert found == Counts(runs=6, wrong=5, unfair=2, withheld=2) and found.lesser == 1
    none_fair = SimpleNamespace(gaps=np.array([0.2, 0.3]), answer=int(Code.NONE))
    world.truth = lambda: none_fair
    assert judged(world, np.array([0, int(Code.NONE)])) == Counts(2, 1, 1, 0)


def test_each_run_is_judged_as_one_with_that_option() -> None:
    world = unselected(4, 0.03, noisy=True)
    pair = both("name", world, 100, 12)
    for counts, gate in zip(pair, (0.0, GATE), strict=True):
        rng = np.random.default_rng([zlib.crc32(b"name"), 100])
        procedure = make_procedure("pool", world.problem, 100)
        ran = replicate(procedure, world, 12, rng, int(rng.integers(1 << 62)))
        answers = ran.state.answer if gate else ran.info.standing.likeliest()
        assert judged(world, answers) == counts
    assert pair[0].unfair >= pair[1].unfair


def test_problems_are_drawn_whatever_their_margins() -> None:
    """In most, an arm is nearer to the tolerance than the 0.006 which `synthetic-tight` keeps free."""
    nearest = [np.abs(np.abs(unselected(seed, 0.03, noisy=True).truth().gaps) - 0.03).min() for seed in range(40)]
    assert np.mean(np.array(nearest) < 0.006) > 0.5


def test_the_committed_page_has_all_settings() -> None:
    text = OUT.read_text(encoding="utf-8")
    assert all(f"| {setting} | 1,000 |" in text for setting in ("tight", "hepar2", "no-fair-arm-noisy", *UNSELECTED))
    in_all = [line for line in RECORD.read_text(encoding="utf-8").splitlines() if "→" in line and line.startswith("| ")]
    assert len(in_all) == 3 and all(line in text for line in in_all)
    made = page({"tight": {100: (Counts(10, 4, 2, 1), Counts(10, 3, 0, 2))}}, "abc")
    assert "| tight | 100 | 10 | 0.400 → 0.300 | 0.200 → 0.000 | 0.100 → 0.100 | 0.100 → 0.200 |" in made


def test_a_table_is_pasted_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "a\n<!-- table: one -->\nold\n<!-- end of table -->\nb\n<!-- table: two -->\nx\n<!-- end of table -->\n"
    )
    paste("new", page, "one")
    assert page.read_text() == (
        "a\n<!-- table: one -->\n\nnew\n\n<!-- end of table -->\nb\n<!-- table: two -->\nx\n<!-- end of table -->\n"
    )
    with pytest.raises(ValueError, match="no place for the table 'three'"):
        paste("new", page, "three")
