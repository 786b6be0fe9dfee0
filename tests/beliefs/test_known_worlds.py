"""The laws that a proof about worlds rests on: by hand, against structural models, and what is lacking where there are none."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.calibration.world_strata import world_on_end

import worked_examples
import worlds_models
import worlds_truth
from fairarm import Constraint
from fairarm.beliefs.known_worlds import KnownWorlds, lacking
from fairarm.core.proof.claims import Rule
from fairarm.errors import ProblemError
from fairarm.problem.context import ContextLaw
from fairarm.problem.inference import context_law
from fairarm.problem.problem import Problem
from quick import quick
from test_worlds_enumeration import exact_worlds
from worlds_fairarm import as_fairarm, question
from worlds_truth import Model

EXACT = 1e-12


def rule_of(problem: Problem) -> Rule:
    known = KnownWorlds(problem)
    return Rule(known.law, problem.compiled.rows, 0.05, known.shares, known.context, known.worlds, known.regimes)


def by_columns(problem: Problem, law: np.ndarray, *names: str) -> np.ndarray:
    """A law of cells with one axis for each of these columns, all of two states."""
    columns = problem.compiled.world_cells.columns
    found = np.zeros((2,) * len(names))
    np.add.at(found, tuple(columns[name] for name in names), law)
    return found


# ---- by hand ----


def w2(**options: Any) -> Problem:
    context = ContextLaw(("Z",), (0.5, 0.5))
    return as_fairarm(worked_examples.w2(), **{"context": context, **options})[0]


def test_people_of_a_group_as_the_other_have_the_causes_of_their_own():
    """W2: P(z | s) = (.8, .2) or (.2, .8); people of s as t have V's law of t beside that. θ(z, v) = .1 + .2z + .2v + .4zv."""
    problem = w2()
    rule = rule_of(problem)
    assert problem.shares is None and rule.shares == pytest.approx([0.5, 0.5])
    assert by_columns(problem, rule.law[0, 0], "Z", "V") == pytest.approx(np.outer([0.8, 0.2], [0.7, 0.3]))
    assert by_columns(problem, rule.law[0, 1], "Z", "V") == pytest.approx(np.outer([0.2, 0.8], [0.4, 0.6]))
    for world, law in zip(problem.worlds, rule.worlds[0], strict=True):
        u = dict(world.people)["S"]
        t = dict(world.read).get("S", u)
        causes, decision = {"s0": [0.8, 0.2], "s1": [0.2, 0.8]}[u], {"s0": [0.7, 0.3], "s1": [0.4, 0.6]}[t]
        assert by_columns(problem, law, "Z", "V") == pytest.approx(np.outer(causes, decision))
    z, v = (problem.compiled.world_cells.columns[x] for x in "ZV")
    theta = 0.1 + 0.2 * z + 0.2 * v + 0.4 * z * v
    assert rule.row_law[0] @ theta == pytest.approx([0.084, -0.156])
    assert rule.regimes == pytest.approx(np.eye(2))


def test_rows_in_which_an_attribute_was_set_are_apart():
    """The cause of those whose S was set is a fair coin, and no natural row is one of theirs."""
    problem = w2(regime_kind="set")
    known, rule = KnownWorlds(problem), rule_of(problem)
    assert known.kinds.names == ("s0, set", "s1, set", "s0", "s1")
    assert by_columns(problem, rule.law[0, 0], "Z", "V") == pytest.approx(np.outer([0.5, 0.5], [0.7, 0.3]))
    assert by_columns(problem, rule.law[0, 3], "Z", "V") == pytest.approx(np.outer([0.2, 0.8], [0.4, 0.6]))
    assert rule.shares == pytest.approx([0, 0, 0.5, 0.5]) and rule.regimes == pytest.approx(np.eye(4)[:2])
    assert np.array_equal(rule.worlds, rule_of(w2()).worlds)


def test_a_node_that_is_kept():
    """W3: V = 1 with .2 + .1s + .4r, r with P(R=1|s) = (.3, .7); people of 0 as 1, with their r: .42 against .32."""
    problem, _ = as_fairarm(worked_examples.w3(), tolerance=None, constraints=[Constraint(tolerance=0.2, keep=("R",))])
    rule = rule_of(problem)
    v = problem.compiled.world_cells.columns["V"]
    assert sorted(rule.row_law[0] @ v) == pytest.approx([-0.1, 0.1])
    means = {(dict(w.read)["S"], dict(w.people).get("S")): float(law @ v) for w, law in zip(problem.worlds, rule.worlds[0], strict=True)}  # fmt: skip
    assert means == pytest.approx({("s1", "s0"): 0.42, ("s0", None): 0.32, ("s0", "s1"): 0.48, ("s1", None): 0.58})


def test_an_attribute_above_another_needs_no_law_of_contexts():
    """W4: P(region, race) = (.4, .1, .2, .3) by what is declared; joint groups beside the mean .46."""
    asked = [Constraint(compare="mean", tolerance=0.1, attributes=("region", "race"))]
    problem, _ = as_fairarm(worked_examples.w4(), tolerance=None, constraints=asked)
    rule = rule_of(problem)
    assert problem.shares is None and rule.shares == pytest.approx([0.4, 0.1, 0.2, 0.3])
    v = problem.compiled.world_cells.columns["V"]
    assert rule.row_law[0] @ v == pytest.approx([-0.26, 0.14, -0.06, 0.34])
    of = dict(zip(problem.regimes[1:], rule.regimes.tolist(), strict=True))
    race = next(name for name in of if name.startswith("race") and name.endswith("1"))
    assert of[race] == pytest.approx([0, 0.25, 0, 0.75])


def zeros(of_others: float, in_first: float = 0.5, z: tuple[float, float] = (0.5, 0.5)) -> Problem:
    """Z, with this law, and A act on B: nobody with A = 0 has B = 1; of the others P(B = 1 | Z) are the two that are given."""
    own = [
        ("A", [], [0.5, 0.5]),
        ("Z", [], list(z)),
        ("B", ["A", "Z"], [[[1, 0], [1, 0]], [[1 - in_first, in_first], [1 - of_others, of_others]]]),
    ]
    cuts = [*own, ("Y", ["Z", "V"], [[[0.6, 0.4], [0.3, 0.7]], [[0.5, 0.5], [0.2, 0.8]]])]
    asked = {"attribute": "B", "compare": "pairs"}
    more = {"shares": {"A": {"0": 0.5, "1": 0.5}}, "mechanisms": ["B"], "context": ContextLaw(("Z",), z)}
    return world_on_end("zeros", ("A", "B"), ["B"], [[[0.7, 0.3], [0.2, 0.8]]], cuts, asked, **more).problem


def test_a_label_that_nobody_has_takes_no_part():
    """A = 0 and B = 1: no row is there, and the average over labels stays a law."""
    problem = zeros(0.25)
    rule = rule_of(problem)
    assert rule.shares == pytest.approx([0.5, 0, 0.3125, 0.1875]) and rule.law.sum(axis=2) == pytest.approx(1.0)
    assert rule.worlds.sum(axis=2) == pytest.approx(1.0)


def test_people_who_are_not_there_cannot_be_compared():
    asked = [Constraint(compare="floor", attributes=("A", "B"), at_least=0.1)]
    with pytest.raises(ProblemError, match="by the declared laws nobody is of the group A=0,B=1"):
        replace(zeros(0.25), constraints=asked)


def test_people_whose_causes_nobody_has_cannot_be_compared():
    """B = 1 has a chance where Z = 1 alone, and nobody has that: each law by itself leaves room for them, all together none."""
    assert rule_of(zeros(0.25, in_first=0.0)).shares == pytest.approx([0.5, 0, 0.4375, 0.0625])
    with pytest.raises(ProblemError, match="by the declared laws nobody is of the group B=1"):
        zeros(0.25, in_first=0.0, z=(1.0, 0.0))


# ---- against structural models ----


def declared(model: Model, seed: int, with_contexts: bool, kind: str) -> Problem | None:
    """With a random question, and all that can be declared; None where something stands against it, or the problem is plain."""
    asked = Constraint(**question(worlds_models.random_question(model, np.random.default_rng([seed, 3]))))
    try:
        problem, network = as_fairarm(model, tolerance=None, constraints=[asked], regime_kind=kind)
        if problem.plain:
            return None
        if with_contexts:
            context = context_law(network, problem)
            problem, _ = as_fairarm(model, tolerance=None, constraints=[asked], regime_kind=kind, context=context if context.variables else None)  # fmt: skip
        _ = problem.compiled.world_cells
        return None if lacking(problem, False) else problem
    except ProblemError:
        return None


def codes(problem: Problem, states: tuple[tuple[str, str], ...]) -> dict[str, int]:
    return {name: problem.variables[name].code(state) for name, state in states}


def truth_of_cells(model: Model, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """θ by cell, (C,), and h by cell as rows of any label and arm have it; everything from laws of rows by enumeration."""
    exact = exact_worlds(model, problem)
    cells = problem.compiled.world_cells
    h = np.zeros(cells.cells)
    if cells.law is None:
        h[cells.cell_of] = exact.contexts[cells.context_of]
        return exact.theta, h
    return exact.theta, np.ones(cells.cells)


@pytest.mark.parametrize("part", quick(range(4), 2))
def test_claims_are_about_the_truth_of_any_network(part):
    """What a claim's coefficients say of (h, θ) is the world's mean; every law of rows, and every world's, sums to 1 with the true h."""
    found = Counter[str]()
    for seed in range(part * 100, (part + 1) * 100):
        model = worlds_models.random_model(seed)
        for with_contexts, kind in ((False, "recruited"), (True, "recruited"), (True, "set")):
            problem = declared(model, seed, with_contexts, kind)
            if problem is None:
                continue
            rule, (theta, h) = rule_of(problem), truth_of_cells(model, problem)
            assert (rule.law @ h) == pytest.approx(1.0, abs=EXACT) and (rule.worlds @ h) == pytest.approx(
                1.0, abs=EXACT
            )
            means = problem.outcome.unscale(rule.worlds @ (h * theta))
            everybody = problem.outcome.unscale((rule.shares[:, None] * rule.law).sum(axis=1) @ (h * theta))
            for k in range(len(model.arms)):
                true = [worlds_truth.mean(model, k, worlds_truth.world(codes(problem, w.read), codes(problem, w.people), w.keep)) for w in problem.worlds]  # fmt: skip
                assert means[k] == pytest.approx(true, abs=EXACT * model.width)
                own = worlds_truth.mean(model, k, worlds_truth.world())
                assert everybody[k] == pytest.approx(own, abs=EXACT * model.width)
                check_rows(model, k, problem, rule.law[k] * h)
            found[f"contexts {'known' if rule.context is None else 'unknown'}"] += 1
            found["set apart"] += len(KnownWorlds(problem).kinds.regimes) > 1
    assert found["contexts known"] >= 60 and found["contexts unknown"] >= 2 and found["set apart"] >= 3


def check_rows(model: Model, k: int, problem: Problem, law: np.ndarray) -> None:
    """The law of the rows of each place, and the places of each regime, against everybody's runs."""
    known, columns = KnownWorlds(problem), (*problem.attributes, *problem.cell_columns)
    for r in range(len(problem.regimes)):
        fitting = problem.compiled.regime_fits[r]
        fixed = problem.compiled.profile_codes[fitting]
        given = {} if r == 0 else {name: int(fixed[0, j]) for j, name in enumerate(problem.attributes) if len({*fixed[:, j]}) == 1 and len({*problem.compiled.profile_codes[:, j]}) > 1}  # fmt: skip
        how = {"do" if problem.regime_kind == "set" else "people": given}
        joint = worlds_truth.law(model, k, columns, **how)
        shares = known.shares if r == 0 else known.regimes[r - 1]
        for label in np.flatnonzero(fitting):
            own = joint[tuple(problem.compiled.profile_codes[label])].ravel()
            place = known.kinds.place_of[r, label]
            assert shares[place] == pytest.approx(own.sum(), abs=EXACT)
            at = problem.compiled.world_cells.cell_of[label]
            assert law[place, at] == pytest.approx(own / own.sum(), abs=EXACT)


# ---- what is lacking ----


def joint(**options: Any) -> Problem:
    asked = [Constraint(compare="mean", tolerance=0.1, attributes=("region", "race"))]
    return as_fairarm(worked_examples.w4(), **{"tolerance": None, "constraints": asked, **options})[0]


@pytest.mark.parametrize(
    ("problem", "estimated", "what", "way"),
    [
        (w2(mechanisms=[]), False, "P(S | Z)", "declare it as a mechanism"),
        (w2(context=None), False, "the law of contexts", "declare problem.context"),
        (w2(), True, "the laws of the attributes", "use the declared ones"),
        (joint(shares=None), False, "P(region)", "declare the shares"),
    ],
)
def test_what_is_lacking_is_named(problem, estimated, what, way):
    assert [(lack.what, lack.way) for lack in lacking(problem, estimated)] == [(what, way)]


def test_contexts_may_be_unknown_where_no_attribute_has_a_column_for_a_cause():
    kept, _ = as_fairarm(worked_examples.w3(), tolerance=None, constraints=[Constraint(tolerance=0.2, keep=("R",))])
    assert not lacking(joint(), False) and not lacking(kept, False) and not lacking(w2(), False)
    assert not lacking(w2(), False, contexts=True)


def test_a_child_without_a_mechanism_is_named():
    asked = [Constraint(tolerance=0.2, keep=("V",))]
    problem, _ = as_fairarm(worked_examples.w3(), tolerance=None, constraints=asked, mechanisms=[])
    assert [lack.what for lack in lacking(problem, False)] == ["P(R | its parents)"]


def test_a_block_with_causes_cannot_be_declared():
    for seed in range(7, 400, 10):  # of this kind
        model = worlds_models.random_model(seed)
        try:
            problem, _ = as_fairarm(model, tolerance=None, constraints=[Constraint(compare="floor", attribute=model.attributes[0], at_least=min(model.values))])  # fmt: skip
        except ProblemError:
            continue
        for found in lacking(problem, False):
            if found.why == "cannot be declared":
                assert found.way == "" and " | " in found.what
                return
    raise AssertionError("no such network was drawn")
