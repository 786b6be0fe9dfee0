"""The demo: simulated people on a clock that does not wait; the certified answer is the truth, for every seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairarm import load_problem
from fairarm.service.demo import COHORT, LOST, NAME, RATE, WINDOW, Crowd, create, crowd_of
from fairarm.studies import Studies
from service.served import Clock, moved_studies

MOST = 40 * COHORT
"""Seconds after which a demo that has no answer has failed."""


def lived(folder: Path, seed: int, seconds: int = MOST) -> tuple[Studies, Crowd]:
    """A demo up to its end, or so many seconds."""
    clock = Clock()
    studies, scenario = moved_studies(f"sqlite:///{folder}/demo-{seed}.db", clock), load_problem("ad-marketplace")
    crowd = crowd_of(create(studies, scenario, seed), scenario, seed)
    for second in range(1, seconds + 1):
        clock.move(1)
        crowd.until(second)
        studies.tick()
        if crowd.study.status.over:
            break
    return studies, crowd


@pytest.mark.parametrize("seed", range(10))
def test_the_certified_answer_is_the_truth(seed: int, tmp_path: Path) -> None:
    studies, crowd = lived(tmp_path, seed)
    truth = crowd.world.truth()
    best = crowd.world.problem.arm_names[int(truth.answer)]
    with studies:
        found = crowd.study.verdict()
        assert (found.answer, found.arm, found.void) == ("FOUND", best, False)
        assert 4 <= found.settled <= 20
        assert crowd.study.findings() == ()
        lost = found.lost / found.people
        assert 0 < lost < 4 * LOST


def test_a_newcomer_sees_people_and_settled_cohorts_within_a_minute(tmp_path: Path) -> None:
    studies, crowd = lived(tmp_path, 7, 60)
    with studies:
        summary = studies.summaries()[0]
        assert summary.name == NAME and summary.settled >= 2 and summary.people > 20 * RATE
        assert crowd.arrived == pytest.approx(60 * RATE, rel=0.15)
        assert (COHORT, WINDOW) == (10, 20)


def test_the_same_seed_has_the_same_people(tmp_path: Path) -> None:
    verdicts = []
    for part in ("a", "b"):
        (tmp_path / part).mkdir()
        studies, crowd = lived(tmp_path / part, 3, 45)
        with studies:
            verdicts.append((crowd.study.exposure(), [(one.dealt, one.told) for one in crowd.study.cohorts()]))
    assert verdicts[0] == verdicts[1]
