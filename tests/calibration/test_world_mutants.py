"""Mistakes that are easily made in a proof about worlds, each planted in the code and caught by an arm exactly on its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from benchmarks.calibration.world_strata import strata_of_worlds
from world_checks import rows_have_their_laws, true_claims_hold

from fairarm.beliefs import known_worlds
from fairarm.beliefs.known_worlds import KnownWorlds
from fairarm.beliefs.row_kinds import RowKinds
from fairarm.problem.world_laws import Factors, WorldSums

Patch = pytest.MonkeyPatch


def causes_left_out(patch: Patch) -> None:
    """Worlds without P(u | z): people of a group have everybody's causes."""

    def worlds(known: KnownWorlds) -> np.ndarray:
        without = replace(known._factors, own=tuple(np.ones_like(own) for own in known._factors.own))
        return known.cells.worlds.laws(without, known._h, known.cells)[:, :-1]

    patch.setattr(KnownWorlds, "worlds", property(worlds))


def wrong_group(patch: Patch) -> None:
    """The causes of the group that is read, in place of the people's own."""
    honest = WorldSums.weights

    def swapped(sums: WorldSums, factors: Factors) -> np.ndarray:
        return honest(replace(sums, own=sums.own[:, ::-1] if sums.own.shape[1] > 1 else 1 - sums.own), factors)

    def worlds(known: KnownWorlds) -> np.ndarray:
        with pytest.MonkeyPatch.context() as inside:
            inside.setattr(WorldSums, "weights", swapped)
            return known.cells.worlds.laws(known._factors, known._h, known.cells)[:, :-1]

    patch.setattr(KnownWorlds, "worlds", property(worlds))


def set_taken_for_recruited(patch: Patch) -> None:
    """Rows of a label have one law, however they were made."""
    patch.setattr(known_worlds.RowKinds, "of", classmethod(lambda cls, problem: RowKinds(problem, (tuple(range(len(problem.regimes))),))))  # fmt: skip


def node_not_kept(patch: Patch) -> None:
    """The kept node reads the other group too."""

    def worlds(known: KnownWorlds) -> np.ndarray:
        sums = known.cells.worlds
        moved = replace(sums, children=np.repeat(sums.decision[sums.slot][:, None], sums.children.shape[1], axis=1))
        return moved.laws(known._factors, known._h, known.cells)[:, :-1]

    patch.setattr(KnownWorlds, "worlds", property(worlds))


def labels_alike(patch: Patch) -> None:
    """Every label is as frequent as the others."""
    patch.setattr(KnownWorlds, "label_shares", property(lambda known: np.full(known.kinds.labels, 1 / known.kinds.labels)))  # fmt: skip


def not_divided(patch: Patch) -> None:
    """With contexts unknown, a world's sum is not divided by P(people)."""
    honest = KnownWorlds.__dict__["worlds"].func
    patch.setattr(KnownWorlds, "worlds", property(lambda known: honest(known) * (known.cells.people @ known.label_shares)[:, None]))  # fmt: skip


def label_of_another(patch: Patch) -> None:
    """The rows of a label with the law of the next."""
    honest = KnownWorlds.__dict__["law"].func
    patch.setattr(KnownWorlds, "law", property(lambda known: np.roll(honest(known), 1, axis=1)))


@dataclass(frozen=True)
class Mutant:
    plant: Callable[[Patch], None]
    check: Callable[[str], bool]
    stratum: str


MUTANTS = [
    Mutant(causes_left_out, true_claims_hold, "causes-on"),
    Mutant(causes_left_out, true_claims_hold, "causes-set-on"),
    Mutant(wrong_group, true_claims_hold, "causes-on"),
    Mutant(node_not_kept, true_claims_hold, "kept-on"),
    Mutant(not_divided, true_claims_hold, "kept-on"),
    Mutant(labels_alike, true_claims_hold, "above-on"),
    Mutant(set_taken_for_recruited, rows_have_their_laws, "causes-set-on"),
    Mutant(label_of_another, rows_have_their_laws, "causes-on"),
    Mutant(label_of_another, rows_have_their_laws, "joint-on"),
]
NAMES = [stratum.name for stratum in strata_of_worlds()]


@pytest.mark.parametrize("check", [true_claims_hold, rows_have_their_laws], ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_the_true_code_passes(name, check):
    assert check(name)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.plant.__name__}-by-{m.check.__name__}-of-{m.stratum}")
def test_the_mutant_is_caught(mutant, monkeypatch):
    mutant.plant(monkeypatch)
    assert not mutant.check(mutant.stratum)
