"""Pool beside an earlier commit: pairs, the sign test and Holm's correction by hand; the committed runs are complete."""

from __future__ import annotations

import math
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from benchmarks.comparison.judge import holm
from benchmarks.comparison.plan import NOISY, SETTINGS
from benchmarks.pool_beside.__main__ import page
from benchmarks.pool_beside.judge import Point, better, points, worse
from benchmarks.pool_beside.measure import PULLS, Task, measure, read, run, tasks
from benchmarks.trees import package_commit

from benchmarks import pool_beside
from fairarm import load_problem
from fairarm.algorithms import algorithm

HERE = Path(pool_beside.__file__).parent


def point(worsened: int, mended: int) -> Point:
    return Point("loose", 100, 1000, 0.1, 0.1, 0.01, worsened, mended)


@pytest.mark.parametrize(("worsened", "mended"), [(0, 0), (3, 1), (5, 5), (7, 0), (0, 6)])
def test_the_p_value_is_the_share_of_ways_to_be_as_bad(worsened: int, mended: int) -> None:
    """By listing all ways in which the runs that differ could have fallen."""
    ways = [sum(way) >= worsened for way in product((0, 1), repeat=worsened + mended)]
    assert math.isclose(point(worsened, mended).p_value, sum(ways) / len(ways))


def test_holm_by_hand() -> None:
    # the smallest is held against level / 3, the next against level / 2, the last against the level; the first that fails ends it
    assert holm([0.02, 0.0033, 0.006], 0.01) == [False, True, False]
    assert holm([0.009, 0.0033, 0.004], 0.01) == [True, True, True]
    assert holm([0.0034, 0.0001, 0.0049], 0.01) == [True, True, True]
    assert holm([0.0034, 0.0035, 0.0036], 0.01) == [False, False, False]


def test_worse_and_better_go_by_holm_over_all_points() -> None:
    # 2^-7 = 0.0078 is below 1 % alone, and not among two; 2^-8 is 0.0039, below 1 % / 2
    assert worse([point(7, 0)]) == [point(7, 0)]
    assert worse([point(7, 0), point(0, 9)]) == []
    assert worse([point(8, 0), point(0, 9)]) == [point(8, 0)]
    assert better([point(8, 0), point(0, 9)]) == [point(0, 9)]


def test_pairs_are_runs_of_the_same_instance() -> None:
    one, two = (Task(f"synthetic-loose:seed={i}", 100, 4) for i in (1, 2))
    other = Task("hepar2:seed=1", 100, 4)
    bits = [np.array([c == "1" for c in text]) for text in ("1100", "0001", "1010", "0000")]
    found = points({one: bits[0], two: bits[1], other: bits[0]}, {one: bits[2], two: bits[3]})
    assert [(p.setting, p.runs, p.worsened, p.mended, p.now, p.before) for p in found] == [
        ("loose", 8, 2, 1, 3 / 8, 2 / 8)
    ]
    # differences 0, 1, -1, 0 and 0, 0, 0, 1: variances 1/2 and 3/16 within the instances
    assert math.isclose(found[0].error, math.sqrt((1 / 2 + 3 / 16) / 2 / 8))
    assert "**worse at 0** and better at 0" in page(found, "b", "a")


def test_runs_are_those_of_the_same_seed(tmp_path: Path) -> None:
    """The first run again by ask and tell would need the same draws; that they repeat and are counted right is shown here."""
    task = Task("synthetic-loose:seed=1000", 50, 8)
    wrong = run(task)
    assert (wrong == run(task)).all() and wrong.shape == (8,)
    path = tmp_path / "wrong.csv"
    assert list(measure([task], path)) == [task] and list(measure([task], path)) == []
    assert (read(path)[task] == wrong).all()


def test_wrong_means_not_the_best_fair_arm() -> None:
    """Against whole runs by ask and tell: the shares of wrong answers differ by less than 4.5 standard errors (1 in 10^5)."""
    scenario = load_problem("synthetic-loose:seed=1000")
    world = scenario.world
    assert world is not None
    truth = world.truth()
    assert truth is not None and truth.best_fair_arm is not None
    best, apart, n = scenario.problem.arm_names[truth.best_fair_arm], [], 40
    for seed in range(n):
        rng, asked = np.random.default_rng(seed), algorithm("pool", scenario.problem, pulls=50, seed=seed)
        while not asked.finished:
            asked.tell(world.pull(asked.ask(), rng), id=str(asked.pulls_made().sum()))
        apart.append(asked.verdict().recommended != best)
    together = run(Task("synthetic-loose:seed=1000", 50, 100))
    share = (sum(apart) + together.sum()) / (n + 100)
    assert abs(np.mean(apart) - together.mean()) < 4.5 * math.sqrt(share * (1 - share) * (1 / n + 1 / 100)) + 1e-12


def test_the_committed_runs_cover_every_setting() -> None:
    kept = list(HERE.glob("wrong-*.csv"))
    assert kept
    for path in kept:
        assert set(tasks((*SETTINGS, *NOISY))) <= set(read(path)), path.name
    assert {task.pulls for task in tasks(SETTINGS)} == set(PULLS)


def test_a_tree_is_named_by_the_last_commit_of_its_package(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("1\n")
    git("add", "-A")
    git("commit", "-qm", "package")
    commit = git("rev-parse", "--short=7", "HEAD").strip()
    (tmp_path / "notes").write_text("1\n")
    git("add", "-A")
    git("commit", "-qm", "other")
    assert package_commit(tmp_path) == commit
    (tmp_path / "src" / "a.py").write_text("2\n")
    assert package_commit(tmp_path) == f"{commit}-changed"
