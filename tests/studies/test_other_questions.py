"""Stored studies where more is asked than about the groups of one attribute: several attributes, causes, kept nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.calibration.world_strata import joint_groups, kept_node, with_causes

from fairarm.studies import Invalid, Outcome, Studies
from fairarm.worlds import NetworkWorld
from study_people import DAY, HOUR, SECOND, START, Clock

MAKERS = {"joint": joint_groups, "kept": kept_node, "recruited": lambda: with_causes("recruited", "recruited")}


def wide(world: NetworkWorld) -> NetworkWorld:
    """Arm 0, the best, is fair by far."""
    return replace(world, problem=world.problem.with_tolerance(2.5 * (world.problem.rows[0].below or 0.0)))


def group_of(world: NetworkWorld, label: int) -> Any:
    problem = world.problem
    codes = problem.compiled.profile_codes[label]
    states = {
        name: (problem.variables[name].states or ())[int(code)]
        for name, code in zip(problem.attributes, codes, strict=True)
    }
    return states if len(states) > 1 else next(iter(states.values()))


@pytest.mark.parametrize("kind", MAKERS)
def test_from_the_first_person_to_the_right_answer(studies: Studies, clock: Clock, kind: str) -> None:
    """100 people a day in one study, all outcomes told within the hour: the best fair arm is found, and all that is shown is there."""
    world, rng = wide(MAKERS[kind]()), np.random.default_rng(2)
    problem = world.problem
    how: dict[str, Any] = {"pulls": 5_000, "people": 100, "arrivals": 100, "window": "1d", "seed": 4}
    study = studies.create("other", problem, **how)
    number = 0
    while study.verdict().reason == "not-proved-yet":
        out = []
        for hour in range(24):
            clock.now = START + number * DAY + hour * HOUR + 5 * SECOND
            studies.tick() if hour == 0 else None
            made = world.draw(
                np.eye(1, len(problem.regimes) * len(problem.arms), dtype=int).reshape(1, len(problem.regimes), -1) * 4,
                rng,
            )
            labels = np.repeat(np.arange(len(problem.groups)), made[0, 0, 0].sum(axis=1))
            asked = [
                (int(t), study.assigning(f"u{number}-{hour}-{i}", group_of(world, int(t))))
                for i, t in enumerate(labels)
            ]
            for label, future in asked:
                a = future.result()
                if not a.outside:
                    law = world.law[problem.arm_index(str(a.arm)), label]
                    codes = problem.compiled.row_space.codes(np.array([rng.choice(len(law), p=law / law.sum())]))
                    row = {name: (problem.variables[name].states or ())[int(code[0])] for name, code in codes.items()}
                    out.append(Outcome(str(a.id), row))
        assert all(getattr(told, "status", None) == "new" for told in study.tell_many(out))
        number += 1
        clock.now = START + number * DAY + 3 * SECOND
        studies.tick()
        assert number < 45
    verdict = study.verdict()
    assert verdict.arm == problem.arm_names[0] and not verdict.void and study.verify().ok
    monitors = {monitor.name: monitor for monitor in study.monitors()}
    assert not monitors["guard"].on and not any(monitor.voids for monitor in monitors.values())
    assert len(study.arms()[0].rows) == len(problem.rows) and study.exposure().total == verdict.people
    assert set(study.exposure().people[problem.arm_names[0]]) == set(problem.groups)


def test_profiles_are_told_by_attribute(studies: Studies) -> None:
    study = studies.create("joint", joint_groups().problem, pulls=1000, people=50, arrivals=100, window="1d")
    for wrong in (None, "1", {"A": "1"}, {"A": "1", "B": "2"}, {"A": "1", "B": "1", "C": "1"}):
        with pytest.raises(Invalid):
            study.assign("u", wrong)
    assert study.assign("u", {"A": "1", "B": "0"}) is not None
