"""The worked examples, number by number, against the models that they describe and against the formulas."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import worked_examples as examples
import worlds_formulas
import worlds_graphs
import worlds_rows
import worlds_truth
from worlds_truth import Model, World, mean, world

EXACT = 1e-12


def as_of(model: Model, name: str, t: int, u: int, k: int = 0, kept: tuple[str, ...] = ()) -> float:
    """μ(t|u) of one attribute."""
    return mean(model, k, world({name: t}, {name: u}, kept))


def gap(model: Model, name: str, t: int, u: int, k: int = 0, kept: tuple[str, ...] = ()) -> float:
    return as_of(model, name, t, u, k, kept) - as_of(model, name, u, u, k)


def test_w2_a_cause_of_the_attribute() -> None:
    m = examples.w2()
    found = [as_of(m, "S", t, u) for t, u in ((0, 0), (1, 0), (0, 1), (1, 1))]
    assert found == pytest.approx([0.224, 0.308, 0.416, 0.572], abs=EXACT)
    assert gap(m, "S", 1, 0) == pytest.approx(0.084, abs=EXACT)
    assert gap(m, "S", 0, 1) == pytest.approx(-0.156, abs=EXACT)
    assert mean(m, 0, world({"S": 1})) - mean(m, 0, world({"S": 0})) == pytest.approx(0.12, abs=EXACT)
    effects = worlds_truth.effects(m, 0, "S", 1, 0)
    assert (effects.plain, effects.spurious) == pytest.approx((0.348, -0.264), abs=EXACT)
    held = [
        row.holds(m, 0) for row in worlds_rows.rows(m, {"attributes": ("S",), "compare": "pairs", "tolerance": 0.1})
    ]
    assert held == [False, True]  # (0, 1), (1, 0)


def test_w3_a_mediator_kept() -> None:
    m = examples.w3()
    assert gap(m, "S", 1, 0) == pytest.approx(0.26, abs=EXACT)
    assert gap(m, "S", 1, 0, kept=("R",)) == pytest.approx(0.10, abs=EXACT)
    assert gap(m, "S", 0, 1, kept=("R",)) == pytest.approx(-0.10, abs=EXACT)
    # where V is no mediator, the direct effect goes through V; where it is one, nothing is left of it, since Y = V
    through, none = (worlds_truth.effects(m, 0, "S", 1, 0, decision) for decision in (False, True))
    assert (through.direct, through.indirect, through.spurious) == pytest.approx((0.10, -0.16, 0.0), abs=EXACT)
    assert (none.direct, none.indirect, none.spurious) == pytest.approx((0.0, -0.26, 0.0), abs=EXACT)


def test_w4_an_attribute_that_is_the_cause_of_another() -> None:
    m = examples.w4()
    assert gap(m, "region", 1, 0) == pytest.approx(0.36, abs=EXACT)
    assert gap(m, "region", 1, 0, kept=("race",)) == pytest.approx(0.20, abs=EXACT)
    for kept in ((), ("region",)):
        assert gap(m, "race", 1, 0, kept=kept) == pytest.approx(0.40, abs=EXACT)
        assert gap(m, "race", 0, 1, kept=kept) == pytest.approx(-0.40, abs=EXACT)
    assert worlds_truth.effects(m, 0, "race", 1, 0).plain == pytest.approx(0.483333, abs=5e-7)
    asked = {"attributes": ("region", "race"), "compare": "mean", "tolerance": 0.2}
    assert mean(m, 0, world()) == pytest.approx(0.46, abs=EXACT)
    found = [row.value(m, 0) for row in worlds_rows.rows(m, asked)]
    assert found == pytest.approx([-0.26, 0.14, -0.06, 0.34], abs=EXACT)


def test_w5_a_recanting_witness() -> None:
    """Two models with the same laws in every regime, and means 1 and ½ of people as the other group with R kept."""
    same, apart = examples.w5(True), examples.w5(False)
    columns = ("A", "X", "R", "V", "Y")
    for given in ({}, {"A": 0}, {"A": 1}):
        for kind in ("people", "do"):
            laws = [worlds_truth.law(m, 0, columns, **{kind: given}) for m in (same, apart)]
            assert laws[0] == pytest.approx(laws[1], abs=1e-15)
    for t, u in ((1, 0), (0, 1)):
        asked = world({"A": t}, {"A": u}, ["R"])
        assert mean(same, 0, asked) == pytest.approx(1.0, abs=EXACT)
        assert mean(apart, 0, asked) == pytest.approx(0.5, abs=EXACT)
        for m in (same, apart):
            assert worlds_graphs.refused(worlds_graphs.of(m)) is None
            assert worlds_graphs.refused_world(worlds_graphs.of(m), asked) == "recanting witness: ['X']"


def test_w6_a_ratio_has_two_rows_for_every_pair() -> None:
    m = examples.w6()
    found = [as_of(m, "S", t, u) for t, u in ((0, 0), (1, 0), (0, 1), (1, 1))]
    assert found == pytest.approx([0.36, 0.495, 0.84, 0.855], abs=EXACT)
    assert as_of(m, "S", 0, 0) / as_of(m, "S", 1, 0) == pytest.approx(0.727, abs=5e-4)
    rows = worlds_rows.rows(m, {"attributes": ("S",), "compare": "pairs", "ratio": 0.8})
    held = {(row.as_group, row.people, row.terms[0][1].read == ()): row.holds(m, 0) for row in rows}
    assert held == {
        ((0,), (1,), False): True,
        ((0,), (1,), True): True,
        ((1,), (0,), False): True,
        ((1,), (0,), True): False,  # people of 0 as they are against as they would be
    }


def test_w7_berkeley() -> None:
    m = examples.w7()
    women, men = examples.WOMEN, examples.MEN
    assert worlds_truth.effects(m, 0, "sex", women, men).plain == pytest.approx(-0.141645, abs=5e-7)
    assert gap(m, "sex", women, men) == pytest.approx(-0.141645, abs=5e-7)
    assert gap(m, "sex", men, women, kept=("department",)) == pytest.approx(-0.001088, abs=5e-7)
    assert gap(m, "sex", women, men, kept=("department",)) == pytest.approx(0.070969, abs=5e-7)
    assert gap(m, "sex", women, men, k=1) == pytest.approx(-0.155721, abs=5e-7)
    assert gap(m, "sex", women, men, k=1, kept=("department",)) == pytest.approx(0.0, abs=EXACT)


@pytest.mark.parametrize(
    "make", [examples.w2, examples.w3, examples.w4, examples.w6, examples.w7], ids=lambda make: make.__name__
)
def test_the_formulas_agree(make: Callable[[], Model]) -> None:
    """Every pair of groups of every attribute, with nothing kept and with any one other node kept."""
    m = make()
    f, graph = worlds_formulas.of(m), worlds_graphs.of(m)
    assert worlds_graphs.refused(graph) is None
    compared = 0
    for asked in _all(m):
        if worlds_graphs.refused_world(graph, asked) is None:
            for k in range(len(m.arms)):
                assert worlds_formulas.mean(f, k, asked) == pytest.approx(mean(m, k, asked), abs=EXACT), str(asked)
                compared += 1
    assert compared >= 12


def _all(m: Model) -> list[World]:
    return [
        world({name: t}, {name: u}, kept)
        for name in m.attributes
        for t in range(m.sizes[name])
        for u in range(m.sizes[name])
        for kept in [(), *((x,) for x in m.order if x not in (name, m.outcome))]
    ]
