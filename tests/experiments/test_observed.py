"""A log as it is: groups of every attribute and their plain gaps, by hand."""

from __future__ import annotations

from typing import Any

import pytest

import worked_examples as examples
from fairarm import Constraint, evaluate
from logs_of_worlds import WHERE
from worlds_fairarm import as_fairarm

LINES = [  # region, race, V = Y, rows
    (0, 0, 0, 30), (0, 0, 1, 10), (0, 1, 0, 4), (0, 1, 1, 6), (1, 0, 0, 12), (1, 0, 1, 8), (1, 1, 0, 6), (1, 1, 1, 24),
]  # fmt: skip


def log() -> dict[str, Any]:
    found: dict[str, Any] = {name: [] for name in ("region", "race", "V", "Y")}
    for region, race, v, _ in LINES:
        for name, code in (("region", region), ("race", race), ("V", v), ("Y", v)):
            found[name].append(f"{name.lower()}{code}")
    return found | {"rows": [line[3] for line in LINES], "arm": ["arm 0"] * 8, "regime": ["natural"] * 8}


def test_every_group_of_every_attribute_and_joint_groups_that_are_compared() -> None:
    """Region 0: 16 of 50, region 1: 32 of 50; race 0: 18 of 60, race 1: 30 of 40."""
    found = evaluate(as_fairarm(examples.w4())[0], log(), columns=WHERE)
    assert [(group.group, group.rows, group.mean) for group in found.observed] == [
        ("region=region0", 50, 0.32), ("region=region1", 50, 0.64), ("race=race0", 60, 0.3), ("race=race1", 40, 0.75),
    ]  # fmt: skip
    gap = found.plain_gaps["race=race1|race=race0"]
    assert gap.value == pytest.approx(0.45) and gap.interval is not None and gap.interval[0] < 0.45 < gap.interval[1]
    joint = as_fairarm(
        examples.w4(), constraints=[Constraint(tolerance=0.1, attributes=["region", "race"])], tolerance=None
    )[0]
    found = evaluate(joint, log(), columns=WHERE)
    assert [(group.group, group.rows, group.mean) for group in found.observed[4:]] == [
        ("region=region0,race=race1", 10, 0.6), ("region=region0,race=race0", 40, 0.25),
        ("region=region1,race=race0", 20, 0.4), ("region=region1,race=race1", 30, 0.8),
    ]  # fmt: skip
