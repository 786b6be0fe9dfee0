"""The naive way of benchmarks/worlds: the same arms and people, and plain differences between groups."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.worlds.naive import naive

from fairarm import NetworkWorld, load_problem


def world_of(name: str) -> NetworkWorld:
    world = load_problem(name).world
    assert isinstance(world, NetworkWorld)
    return world


def test_plain_differences_of_two_attributes() -> None:
    """E[Y | race] by the joint law alone; the region's has no causes and stays as it was."""
    for seed in range(4):
        world = world_of(f"synthetic-causes:seed={seed}")
        other = naive(world)
        table = {node: world.network.tables[node].probabilities for node in ("region", "race", "income", "history")}
        laws = np.stack([arm.mechanism.probabilities for arm in world.problem.arms])  # type: ignore[union-attr]
        points = laws @ world.network.tables["result"].probabilities[:, 1]
        joint = np.einsum("z,za,zi,ah->zaih", *table.values())
        by_race = np.einsum("kih,zaih->ka", points, joint) / joint.sum(axis=(0, 2, 3))
        race, region = other.truth().rows.T
        assert np.allclose(race, by_race[:, 0] - by_race[:, 1], rtol=0, atol=1e-12)
        assert np.allclose(np.abs(region), np.abs(world.truth().rows[:, -1]), rtol=0, atol=1e-12)
        assert np.allclose(other.truth().outcomes, world.truth().outcomes, rtol=0, atol=1e-12)


def test_nothing_is_kept() -> None:
    world = world_of("synthetic-kept:seed=1")
    other = naive(world)
    of = world.network.tables["department"].probabilities
    laws = np.stack([arm.mechanism.probabilities for arm in world.problem.arms])  # type: ignore[union-attr]
    points = laws @ world.network.tables["result"].probabilities[:, 1]
    assert other.problem.plain and not world.problem.plain
    assert other.truth().rows[:, 0] == pytest.approx(points[:, 0] @ of[0] - points[:, 1] @ of[1], abs=1e-12)


def test_of_some_instances_the_plain_difference_names_another_arm_and_of_some_it_does_not() -> None:
    for name in ("synthetic-causes", "synthetic-kept"):
        worlds = [world_of(f"{name}:seed={1000 + i}") for i in range(10)]
        apart = [world.truth().answer != naive(world).truth().answer for world in worlds]
        assert any(apart) and (name == "synthetic-kept" or not all(apart))
