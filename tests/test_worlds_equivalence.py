"""Why worlds are refused: pairs of models with equal laws of rows and different answers. And none for worlds that are answered.

Searched with fixed seeds; a pair that is found is checked by running everyone in both models, so that no programme need be trusted.
"""

from __future__ import annotations

import numpy as np
import pytest

import worlds_equivalence as equivalence
import worlds_refused
from worlds_equivalence import Pair
from worlds_graphs import Graph
from worlds_truth import World, mean, world

EACH = 7
"""Graphs of every kind."""

SAME_LAWS = 1e-9


def searched(seed: int, kind: str, regimes: str) -> tuple[World, Pair]:
    question = worlds_refused.random_refused(seed, (kind,))
    base = equivalence.response_model(question.graph, np.random.default_rng([seed, 7]))
    return question.asked, equivalence.search(base, question.asked, regimes)


def test_the_recanting_witness_of_the_worked_example() -> None:
    """A → X → R, X → Y ← R, R kept."""
    g = Graph({x: frozenset(above) for x, above in {"A": "", "V": "", "X": "A", "R": "X", "Y": "XRV"}.items()}, ("A",))
    pair = equivalence.search(
        equivalence.response_model(g, np.random.default_rng(1)), world({"A": 1}, {"A": 0}, ["R"]), "set"
    )
    assert pair.found
    assert equivalence.difference(pair, "set") <= SAME_LAWS


@pytest.mark.parametrize("kind", ["kept witness", "joint witness", "witness V", "block in two worlds"])
def test_no_regime_tells_versions_apart(kind: str) -> None:
    """Equal natural, recruited and set laws of every arm, and two answers: nothing that can be pulled decides."""
    found = [searched(seed, kind, "set") for seed in range(EACH)]
    assert sum(pair.found for _, pair in found) >= EACH - 1
    for asked, pair in found:
        assert equivalence.difference(pair, "set") <= SAME_LAWS
        assert (mean(pair.low, 0, asked), mean(pair.high, 0, asked)) == pair.means


@pytest.mark.parametrize("kind", ["hidden cause of attribute and child", "edge in a block"])
def test_no_recruiting_tells_causes_apart(kind: str) -> None:
    """Equal natural and recruited laws. Setting the attribute would tell, of two groups."""
    found = [searched(seed, kind, "recruited")[1] for seed in range(EACH)]
    assert sum(pair.found for pair in found) >= EACH - 1
    assert max(equivalence.difference(pair, "recruited") for pair in found) <= SAME_LAWS


@pytest.mark.parametrize("kind", worlds_refused.STRICT)
def test_some_are_refused_that_another_method_could_answer(kind: str) -> None:
    """The method is stricter than it need be: nothing is found, as front doors and the like say."""
    assert not any(searched(seed, kind, "recruited")[1].found for seed in range(4))


def test_what_is_answered_has_one_answer() -> None:
    """The same search finds no second answer where the method gives one."""
    hidden = kept = 0
    for seed in range(30):
        asked = worlds_refused.random_answered(seed)
        base = equivalence.response_model(asked.graph, np.random.default_rng([seed, 7]))
        assert abs(equivalence.search(base, asked.asked).gap) <= 1e-9, asked
        hidden, kept = hidden + bool(asked.graph.hidden), kept + bool(asked.asked.kept)
    assert hidden == 15 and kept >= 15
