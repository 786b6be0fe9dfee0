"""Arms from classifiers, rules and densities, against tables of the same probabilities and formulas by hand."""

from __future__ import annotations

import itertools
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from fairarm import (
    Arm,
    Code,
    FunctionWorld,
    Network,
    NetworkWorld,
    Outcome,
    Problem,
    Table,
    Unknown,
    Variable,
    algorithm,
    batch,
    context_law,
    identify,
    inspect,
    plan,
    resume,
    simulate,
    table,
    write_problem,
)
from fairarm.algorithms.run import fingerprint
from fairarm.catalog.continuous import gaussian_arms
from fairarm.errors import DataError, ProblemError
from fairarm.problem.arms_from_models import Model, _distinct
from fairarm.problem.likelihood import likelihood
from fairarm.problem.mechanism import checked_rows

S = Variable("S", ("a", "b"))
Z = Variable("Z", ("1", "2", "4"))
C = Variable("C", ("red", "green", "blue"))
V = Variable("V", ("low", "mid", "high"))
Y = Variable("Y", ("no", "yes"))
R = Variable("R", low=-2.0, high=2.0)
FINITE = (S, Z, C, V, Y)
INPUTS = ("S", "Z", "C")
GREEDY = {"decide": "argmax", "explore": 0.15}


def training(rows: int = 400) -> tuple[pandas.DataFrame, np.ndarray]:
    """What was known when the models were fitted: labels as text, Z as numbers, and decisions that follow them."""
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame(
        {"C": rng.choice(C.states, rows), "Z": rng.choice([1, 2, 4], rows), "S": rng.choice(S.states, rows)}
    )
    score = 0.4 * frame["Z"] + (frame["C"] == "green") - 0.8 * (frame["S"] == "b") + rng.normal(0, 1, rows)
    return frame, np.array(V.states)[np.digitize(score, [0.4, 1.5])]


def logistic() -> Any:
    frame, decided = training()
    columns = make_column_transformer((OneHotEncoder(), ["C", "S"]), remainder="passthrough")
    return make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(frame, decided)


def as_array(frame: pandas.DataFrame) -> np.ndarray:
    """In the order of INPUTS: codes of S and C, numbers of Z."""
    codes = [[S.code(s) for s in frame["S"]], frame["Z"], [C.code(c) for c in frame["C"]]]
    return np.array(codes, dtype=np.float64).T


def forest() -> Any:
    frame, decided = training()
    return RandomForestClassifier(n_estimators=10, max_depth=4, random_state=0).fit(as_array(frame), decided)


def tree() -> Any:
    frame, decided = training()
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(as_array(frame), decided)


def by_hand(model: Any, frame: bool, argmax: bool = False, explore: float = 0.0) -> Table:
    """P(V | S, Z, C), one prediction after the other."""
    out = np.zeros((2, 3, 3, 3))
    for s, z, c in np.ndindex(2, 3, 3):
        row = pandas.DataFrame([{"C": C.states[c], "Z": [1, 2, 4][z], "S": S.states[s]}])
        found = model.predict_proba(row if frame else as_array(row))[0]
        named = dict(zip(model.classes_, found, strict=True))
        if argmax:
            best = max(named, key=lambda name: named[name])
            named = {name: float(name == best) for name in named}
        for v, state in enumerate(V.states):
            out[s, z, c, v] = (1 - explore) * named[state] + explore / 3
    return Table("V", INPUTS, out)


MODELS: dict[str, tuple[Callable[[], Any], bool, dict[str, Any]]] = {
    "logistic": (logistic, True, {}),
    "forest": (forest, False, {}),
    "tree": (tree, False, GREEDY),
}


def classifier_arm(name: str) -> Arm:
    make, _, options = MODELS[name]
    return Arm.from_classifier(
        name, make(), learned_from=None, decision="V", inputs=INPUTS, variables=FINITE, **options
    )


def table_arm(name: str) -> Arm:
    make, frame, options = MODELS[name]
    return Arm(name, by_hand(make(), frame, argmax=bool(options), explore=options.get("explore", 0.0)))


def world_of(arms: list[Arm]) -> NetworkWorld:
    """Z and C cause V and Y; S → V."""
    rng = np.random.default_rng(7)
    tables = [
        table("S", [], [0.4, 0.6]),
        table("Z", [], [0.2, 0.5, 0.3]),
        table("C", ["Z"], rng.dirichlet(np.ones(3), 3)),
        table("V", ["S", "Z", "C"], rng.dirichlet(np.ones(3), (2, 3, 3))),
        table("Y", ["V", "Z"], rng.dirichlet(np.ones(2), (3, 3))),
    ]
    network = Network.of(FINITE, tables)
    return NetworkWorld(finite_problem(arms, network.edges()), network)


def finite_problem(arms: list[Arm], edges: list[tuple[str, str]]) -> Problem:
    return Problem(
        name="models",
        variables=FINITE,
        graph=edges,
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=arms,
        shares=(0.4, 0.6),
    )


@pytest.fixture(scope="module")
def models() -> NetworkWorld:
    return world_of([classifier_arm(name) for name in MODELS])


@pytest.fixture(scope="module")
def tables() -> NetworkWorld:
    return world_of([table_arm(name) for name in MODELS])


# ---- every state at once ----


def inputs_of(space: tuple[int, ...]) -> dict[str, np.ndarray]:
    return dict(zip(INPUTS, (np.array(x) for x in zip(*np.ndindex(space), strict=True)), strict=True))


def test_a_table_gives_the_row_of_each_combination() -> None:
    known = by_hand(tree(), frame=False, explore=0.3)
    columns = inputs_of((2, 3, 3))
    found = known.distribution(columns, 3, 18)
    for i, (s, z, c) in enumerate(np.ndindex(2, 3, 3)):
        assert found[i].tolist() == known.probabilities[s, z, c].tolist()
    alone = table("V", [], [0.2, 0.3, 0.5])
    assert alone.distribution({}, 3, 4).tolist() == [[0.2, 0.3, 0.5]] * 4
    with pytest.raises(ProblemError, match=r"gives probabilities of shape \(18, 3\); \(18, 2\) is needed"):
        known.distribution(columns, 2, 18)


def test_code_is_asked_once_a_state_or_once_in_all() -> None:
    known, asked = table("V", ["Z"], [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [1.0, 0.0, 0.0]]), []

    def log_prob(columns: Any) -> np.ndarray:
        asked.append("log_prob")
        return known.log_prob(columns)

    def all_states(columns: Any) -> np.ndarray:
        asked.append("all")
        return known.probabilities[columns["Z"]]

    columns = {"Z": np.array([2, 0, 1, 0])}
    slow, quick = Code("V", ("Z",), log_prob), Code("V", ("Z",), log_prob, all_states)
    np.testing.assert_allclose(slow.distribution(columns, 3, 4), known.probabilities[[2, 0, 1, 0]], atol=1e-15)
    assert asked == ["log_prob"] * 3
    np.testing.assert_array_equal(quick.distribution(columns, 3, 4), known.probabilities[[2, 0, 1, 0]])
    assert asked[3:] == ["all"]
    with pytest.raises(ProblemError, match="The code of 'V' gives probabilities of shape"):
        quick.distribution(columns, 4, 4)
    alone = Code("V", (), lambda c: np.log([0.2, 0.8])[c["V"]])
    np.testing.assert_allclose(alone.distribution({}, 2, 3), [[0.2, 0.8]] * 3)


def test_an_unknown_mechanism_has_no_numbers() -> None:
    arm = Arm("old", Unknown("V", ["S", "Z"]))
    assert arm.parents == ("S", "Z") and arm == Arm("old", Unknown("V", ("S", "Z")))
    for ask in (lambda: arm.mechanism.log_prob({}), lambda: arm.mechanism.distribution({}, 3, 1)):
        with pytest.raises(
            ProblemError, match=r"Arm 'old' has no mechanism.*inputs \(S, Z\).*fairarm evaluate.*declare its table"
        ):
            ask()


# ---- classifiers against tables of the same probabilities ----


@pytest.mark.parametrize("name", MODELS)
def test_a_classifier_is_the_table_of_its_predictions(name: str) -> None:
    arm, known = classifier_arm(name), table_arm(name)
    rng = np.random.default_rng(0)
    columns = {v.name: rng.integers(0, v.size, 200) for v in (S, Z, C, V)}
    np.testing.assert_allclose(
        arm.mechanism.distribution(columns, 3, 200), known.mechanism.distribution(columns, 3, 200), atol=1e-14
    )
    np.testing.assert_allclose(
        np.exp(arm.mechanism.log_prob(columns)), np.exp(known.mechanism.log_prob(columns)), atol=1e-14
    )


def test_likelihoods_and_shared_cells_agree(models: NetworkWorld, tables: NetworkWorld) -> None:
    found, known = models.problem, tables.problem
    np.testing.assert_allclose(
        found.compiled.tables.likelihood.log_L, known.compiled.tables.likelihood.log_L, atol=1e-12
    )
    np.testing.assert_allclose(
        found.compiled.shared_cells.likelihood, known.compiled.shared_cells.likelihood, atol=1e-14
    )
    np.testing.assert_allclose(models.law, tables.law, atol=1e-14)
    columns = {name: np.array([2, 0]) for name in ("Z", "C", "V")}
    np.testing.assert_allclose(likelihood(found, columns, 2).log_L, likelihood(known, columns, 2).log_L, atol=1e-12)


def without_digits(verdict: Any) -> list[Any]:
    """Names as they are, numbers to 9 digits: probabilities agree to the last digit or two only."""
    return [round(x, 9) if isinstance(x, float) else x for r in verdict.arms for x in vars(r).values()]


def test_a_whole_run_of_pool_agrees(models: NetworkWorld, tables: NetworkWorld) -> None:
    found = identify(models.problem, models, pulls=600, seed=5)
    known = identify(tables.problem, tables, pulls=600, seed=5)
    assert found.verdict.status == known.verdict.status and found.verdict.arm == known.verdict.arm
    assert [line.plan for line in found.story] == [line.plan for line in known.story]
    assert without_digits(found.verdict) == without_digits(known.verdict)


def test_inspect_and_plan_agree(models: NetworkWorld, tables: NetworkWorld) -> None:
    found, known = inspect(models.problem, models), inspect(tables.problem, tables)
    assert found.M is None and found.notes == known.notes  # no context law is declared
    np.testing.assert_allclose(found.truth.outcomes, known.truth.outcomes, atol=1e-14)  # type: ignore[union-attr]
    declared = [replace(x.problem, context=context_law(x.network, x.problem)) for x in (models, tables)]
    np.testing.assert_allclose(declared[0].compiled.tables.M, declared[1].compiled.tables.M, rtol=1e-12)
    np.testing.assert_allclose(declared[0].compiled.tables.D, declared[1].compiled.tables.D, rtol=1e-12)
    both = [plan(p, truths=20, most_pulls=200, target_error=0.3, seed=1) for p in declared]
    assert both[0].options == both[1].options


def test_workers_give_the_same_simulation(models: NetworkWorld) -> None:
    """Models travel to other processes and back to the same answers."""
    arguments: dict[str, Any] = {"algorithms": ["pool"], "pulls": [60], "runs": 66, "seed": 2}
    one = simulate(models.problem, models, **arguments, jobs=1).results[0]
    two = simulate(models.problem, models, **arguments, jobs=2).results[0]
    assert replace(one, seconds=0.0) == replace(two, seconds=0.0)


class Counting:
    """A classifier that writes down what it is asked."""

    def __init__(self, classes: list[Any] | None = None) -> None:
        self.classes_ = np.array(classes or ["low", "mid", "high"])
        self.asked: list[int] = []

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        self.asked.append(len(X))
        weight = np.exp(np.outer(X @ np.arange(1, X.shape[1] + 1), np.arange(len(self.classes_))) / 5)
        return weight / weight.sum(axis=1, keepdims=True)


def test_a_model_is_asked_once_and_only_for_distinct_inputs() -> None:
    model = Counting()
    arm = Arm.from_classifier("c", model, learned_from=None, decision="V", inputs=("Z", "S"), variables=FINITE)
    columns = {"Z": np.tile([0, 1, 2, 1], 50), "S": np.zeros(200, dtype=np.int64), "V": np.tile([0, 1], 100)}
    found = arm.mechanism.distribution(columns, 3, 200)
    assert model.asked == [3]
    np.testing.assert_array_equal(found, model.predict_proba(np.array([[1, 0], [2, 0], [4, 0], [2, 0]] * 50)))
    model.asked.clear()
    np.testing.assert_allclose(np.exp(arm.mechanism.log_prob(columns)), found[np.arange(200), columns["V"]])
    assert model.asked == [3]
    model.asked.clear()
    assert arm.mechanism.distribution({"Z": np.zeros(0, int), "S": np.zeros(0, int)}, 3, 0).shape == (0, 3)
    assert arm.mechanism.log_prob({name: np.zeros(0, int) for name in "ZSV"}).shape == (0,)
    assert model.asked == []


def test_distinct_rows_stand_for_all() -> None:
    rng = np.random.default_rng(1)
    for length, sizes in itertools.product((1, 2, 50), ((3,), (2, 3), (), (1, 1))):
        for real in (False, True):
            columns = [rng.integers(0, size, length) for size in sizes] + [np.repeat(1.5, length)] * real
            first, at = _distinct(columns, length)
            rows = list(zip(*columns, strict=True)) if columns else [()] * length
            assert [rows[first[i]] for i in at] == rows
            if not real:
                assert len(first) == len(set(rows))
    huge = [np.array([0, 1 << 40, 0]), np.array([1 << 40, 0, 1 << 40])]  # numbers that would overflow
    first, at = _distinct(huge, 3)
    assert [(huge[0][first[i]], huge[1][first[i]]) for i in at] == list(zip(*huge, strict=True))


# ---- labels ----


def probabilities(states: tuple[str, ...], seen: list[Any], **options: Any) -> list[float]:
    """Of a model whose class i has probability proportional to i + 1."""

    class Fixed:
        classes_ = np.array(seen)

        def predict_proba(self, X: Any) -> np.ndarray:
            return np.tile(np.arange(1, len(seen) + 1) / sum(range(1, len(seen) + 1)), (len(X), 1))

    variables = [Variable("V", states), S]
    arm = Arm.from_classifier(
        "fixed", Fixed(), learned_from=None, decision="V", inputs=["S"], variables=variables, **options
    )
    return arm.mechanism.distribution({"S": np.array([1])}, len(states), 1)[0].tolist()


@pytest.mark.parametrize(
    ("states", "classes", "expected"),
    [
        (("no", "yes"), ["yes", "no"], [2 / 3, 1 / 3]),
        (("0", "1"), [0, 1], [1 / 3, 2 / 3]),
        (("1", "0"), [0.0, 1.0], [2 / 3, 1 / 3]),
        (("0.5", "1.50"), [1.5, 0.5], [2 / 3, 1 / 3]),
        (("False", "True"), [False, True], [1 / 3, 2 / 3]),
        (("true", "false"), [False, True], [2 / 3, 1 / 3]),
        (("0", "1"), [False, True], [1 / 3, 2 / 3]),
        (("True", "False"), [0, 1], [2 / 3, 1 / 3]),
        (("10", "1", "01"), ["01", "1", "10"], [3 / 6, 2 / 6, 1 / 6]),
        (("a", "b", "c"), ["c", "a"], [2 / 3, 0.0, 1 / 3]),
        (("a", "b"), ["b"], [0.0, 1.0]),
    ],
)
def test_classes_find_their_states(states: tuple[str, ...], classes: list[Any], expected: list[float]) -> None:
    np.testing.assert_allclose(probabilities(states, classes), expected, atol=1e-15)


def test_declared_classes() -> None:
    np.testing.assert_allclose(probabilities(("no", "yes"), [1, 2], classes={1: "yes", 2: "no"}), [2 / 3, 1 / 3])
    merged = {0: "no", 1: "yes", 2: "yes"}
    np.testing.assert_allclose(probabilities(("no", "yes"), [0, 1, 2], classes=merged), [1 / 6, 5 / 6])
    # the most probable class decides (2, with 3/6), whatever its state gathers
    np.testing.assert_allclose(
        probabilities(("no", "yes"), [0, 1, 2], classes={0: "no", 1: "no", 2: "yes"}, decide="argmax"), [0.0, 1.0]
    )


@pytest.mark.parametrize(
    ("states", "classes", "options"),
    [
        (("no", "yes"), ["no", "maybe"], {}),
        (("no", "yes"), [0, 1], {}),
        (("1", "1.0"), ["01"], {}),  # either of the two
        (("a", "b"), ["a", "b", "c"], {}),
        (("1", "b"), ["1", "01"], {}),
        (("no", "yes"), [0, 1], {"classes": {0: "no"}}),
        (("no", "yes"), [0, 1], {"classes": {0: "no", 1: "yes", 2: "yes"}}),
    ],
)
def test_classes_that_are_no_states(states: tuple[str, ...], classes: list[Any], options: dict[str, Any]) -> None:
    with pytest.raises(ProblemError, match=r"Arm 'fixed': (the )?classes"):
        probabilities(states, classes, **options)


def test_a_class_declared_to_be_no_state() -> None:
    with pytest.raises(ProblemError, match="has no state 'nope'"):
        probabilities(("no", "yes"), [0, 1], classes={0: "no", 1: "nope"})


# ---- what a model is given ----


def test_true_and_false_are_truth_values_and_other_labels_text() -> None:
    seen: list[pandas.DataFrame] = []

    class Frame:
        classes_ = np.array([0, 1])
        feature_names_in_ = np.array(["R", "B", "F", "Z", "C"], dtype=object)

        def predict_proba(self, X: Any) -> np.ndarray:
            seen.append(X)
            return np.full((len(X), 2), 0.5)

    B, F = Variable("B", ("True", "False")), Variable("F", ("0.5", "1", "2"))
    variables = [Variable("V", ("0", "1")), B, F, Z, C, R]
    arm = Arm.from_classifier(
        "f", Frame(), learned_from=None, decision="V", inputs=["Z", "C", "B", "F", "R"], variables=variables
    )
    columns: dict[str, Any] = {"Z": [2, 0], "C": [1, 2], "B": [0, 1], "F": [0, 2], "R": [0.25, -1.0]}
    arm.mechanism.distribution({name: np.array(values) for name, values in columns.items()}, 2, 2)
    frame = seen[0]
    assert list(frame.columns) == ["R", "B", "F", "Z", "C"]
    assert frame.to_dict("list") == {
        "R": [0.25, -1.0],
        "B": [True, False],
        "F": [0.5, 2.0],
        "Z": [4, 1],
        "C": ["green", "blue"],
    }
    assert [frame[name].dtype.kind for name in ("R", "B", "F", "Z")] == ["f", "b", "f", "i"]


def test_an_array_has_numbers_where_labels_are_and_codes_elsewhere() -> None:
    seen: list[np.ndarray] = []

    class Array(Counting):
        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            seen.append(X)
            return super().predict_proba(X)

    B = Variable("B", ("True", "False"))
    arm = Arm.from_classifier(
        "a", Array(), learned_from=None, decision="V", inputs=["C", "B", "Z", "R"], variables=[*FINITE, B, R]
    )
    columns = {"Z": np.array([2, 0]), "C": np.array([1, 2]), "B": np.array([0, 1]), "R": np.array([0.25, -1.0])}
    arm.mechanism.distribution(columns, 3, 2)
    assert seen[0].dtype == np.float64
    assert seen[0].tolist() == [[1.0, 1.0, 4.0, 0.25], [2.0, 0.0, 1.0, -1.0]]


def test_a_state_never_seen_has_probability_0_unless_explored() -> None:
    frame, decided = training()
    kept = decided != "mid"
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(as_array(frame)[kept], decided[kept])
    arm = Arm.from_classifier("two", model, learned_from=None, decision="V", inputs=INPUTS, variables=FINITE)
    found = arm.mechanism.distribution(inputs_of((2, 3, 3)), 3, 18)
    assert np.all(found[:, 1] == 0)
    exploring = Arm.from_classifier(
        "two", model, learned_from=None, decision="V", inputs=INPUTS, variables=FINITE, explore=0.3
    )
    np.testing.assert_allclose(exploring.mechanism.distribution(inputs_of((2, 3, 3)), 3, 18), 0.7 * found + 0.1)
    assert np.all(np.isneginf(arm.mechanism.log_prob({**inputs_of((2, 3, 3)), "V": np.ones(18, dtype=int)})))


# ---- mistakes ----


class Wrong(Counting):
    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result

    def predict_proba(self, X: Any) -> Any:
        return self.result


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([[0.5, 0.2, 0.2]], r"Arm 'w', predict_proba of its model: row \[0\] sums to 0.9"),
        ([[np.nan, 0.5, 0.5]], r"Arm 'w', predict_proba.*entry \[0, 0\] is nan"),
        ([[-0.1, 0.6, 0.5]], "not negative"),
        ([[0.5, 0.5]], r"Arm 'w': predict_proba gives shape \(1, 2\); 1 rows of 3 classes"),
        ([0.2, 0.3, 0.5], r"shape \(3,\)"),
    ],
)
def test_wrong_probabilities(result: Any, message: str) -> None:
    arm = Arm.from_classifier("w", Wrong(result), learned_from=None, decision="V", inputs=["S"], variables=FINITE)
    with pytest.raises(ProblemError, match=message):
        arm.mechanism.distribution({"S": np.array([0])}, 3, 1)


def test_rows_within_a_millionth_are_renormalised() -> None:
    arm = Arm.from_classifier(
        "w", Wrong([[0.5, 0.3, 0.2000005]]), learned_from=None, decision="V", inputs=["S"], variables=FINITE
    )
    assert arm.mechanism.distribution({"S": np.array([0])}, 3, 1).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"explore": 1.5}, r"Arm 'x': explore is 1.5. It is a probability"),
        ({"explore": -0.1}, "explore is -0.1"),
        ({"explore": math.nan}, "explore is nan"),
        ({"decide": "best"}, "decide is 'best'"),
        ({"inputs": ("S", "Z")}, r"fitted on the columns \['C', 'Z', 'S'\], but the inputs are \['S', 'Z'\]"),
        ({"inputs": ("S", "Z", "R")}, "fitted on the columns"),
        ({"inputs": ("S", "Z", "Q")}, "uses 'Q', which is not among its variables"),
        ({"decision": "R"}, "real-valued"),
        ({"model": KMeans(2)}, "a KMeans, has no predict_proba"),
        ({"model": LogisticRegression()}, "a LogisticRegression, has no classes_. Give a fitted classifier"),
        ({"model": 5}, "a int, has no predict_proba"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "model": logistic(),
        "decision": "V",
        "inputs": INPUTS,
        "variables": (*FINITE, R),
        "learned_from": None,
    }
    given.update(changes)
    with pytest.raises(ProblemError, match=message):
        Arm.from_classifier("x", given.pop("model"), **given)


def test_other_mistakes_are_named() -> None:
    with pytest.raises(ProblemError, match=r"fitted on 3 columns, but there are 2 inputs \['S', 'Z'\]"):
        Arm.from_classifier("x", forest(), learned_from=None, decision="V", inputs=("S", "Z"), variables=FINITE)
    frame, decided = training()
    both = MultiOutputClassifier(LogisticRegression()).fit(as_array(frame), np.stack([decided, decided], axis=1))
    with pytest.raises(ProblemError, match="several outputs"):
        Arm.from_classifier("x", both, learned_from=None, decision="V", inputs=INPUTS, variables=FINITE)
    text = Variable("Z", ("one", "two", "four"))  # the model was fitted on numbers
    arm = Arm.from_classifier(
        "x", logistic(), learned_from=None, decision="V", inputs=INPUTS, variables=(S, text, C, V)
    )
    with pytest.raises(
        ProblemError,
        match=r"Arm 'x': predict_proba of its model failed on a data frame of S \(object\).*: ValueError: ",
    ):
        arm.mechanism.distribution({name: np.array([0]) for name in INPUTS}, 3, 1)


def test_an_arm_made_for_other_states_is_refused(models: NetworkWorld) -> None:
    other = Variable("C", ("red", "blue", "green"))
    arm = Arm.from_classifier("x", forest(), learned_from=None, decision="V", inputs=INPUTS, variables=(S, Z, other, V))
    with pytest.raises(
        ProblemError, match=r"Arm 'x': the model was made for 'C' with states \('red', 'blue', 'green'\)"
    ):
        replace(models.problem, arms=[arm], costs=())


# ---- one problem is still one problem ----


def rule(columns: Any) -> np.ndarray:
    return np.where(columns["Z"] == 2, "high", "low")


def test_equality_fingerprint_and_pickling(models: NetworkWorld) -> None:
    problem = models.problem
    same = replace(problem)
    again = pickle.loads(pickle.dumps(problem))
    assert problem == same and fingerprint(problem) == fingerprint(same) == fingerprint(again)
    assert problem != replace(problem, arms=[classifier_arm(name) for name in MODELS])  # other objects
    assert replace(problem, arms=problem.arms[:2], costs=()) != problem
    np.testing.assert_array_equal(again.compiled.shared_cells.likelihood, problem.compiled.shared_cells.likelihood)
    ruled = [Arm.from_callable("r", rule, decision="V", inputs=["Z"], states=V.states, explore=e) for e in (0, 0, 0.5)]
    assert ruled[0] == ruled[1] != ruled[2]
    assert pickle.loads(pickle.dumps(ruled[0])) == ruled[0] and hash(ruled[0]) == hash(ruled[1])


@pytest.mark.parametrize("which", [0, 1, 2])
def test_models_cannot_be_saved(models: NetworkWorld, tmp_path: Path, which: int) -> None:
    problem = replace(models.problem, arms=[models.problem.arms[which]], costs=())
    with pytest.raises(ProblemError, match="is made of code and cannot be saved"):
        write_problem(problem, tmp_path / "x.toml")


def test_nothing_heavy_is_imported() -> None:
    script = (
        "import sys, numpy as np\n"
        "from fairarm import Arm, Variable\n"
        "arm = Arm.from_callable('r', lambda c: np.eye(2)[c['S']], decision='V', inputs=['S'])\n"
        "arm.mechanism.distribution({'S': np.array([0, 1])}, 2, 2)\n"
        "class M:\n"
        "    classes_ = np.array([0, 1])\n"
        "    def predict_proba(self, X): return np.full((len(X), 2), 0.5)\n"
        "v = [Variable('V', ('0', '1')), Variable('S', ('a', 'b'))]\n"
        "Arm.from_classifier('m', M(), learned_from=None, decision='V', inputs=['S'], variables=v).mechanism.distribution({'S': np.array([0])}, 2, 1)\n"
        "print([m for m in ('sklearn', 'pandas', 'scipy.stats') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


# ---- real-valued inputs ----


def real_problem() -> tuple[Problem, Any]:
    """R is real and seen by the arms; S → V."""
    rng = np.random.default_rng(11)
    R_, s = rng.uniform(-2, 2, 500), rng.choice(S.states, 500)
    decided = np.array(V.states)[np.digitize(R_ + 0.5 * (s == "b") + rng.normal(0, 1, 500), [-0.7, 0.8])]
    columns = make_column_transformer((OneHotEncoder(), ["S"]), remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression()).fit(pandas.DataFrame({"R": R_, "S": s}), decided)
    variables = (S, R, V, Y)
    arms = [
        Arm.from_classifier("soft", model, learned_from=None, decision="V", inputs=("S", "R"), variables=variables),
        Arm.from_classifier(
            "hard", model, learned_from=None, decision="V", inputs=("S", "R"), variables=variables, **GREEDY
        ),
        Arm.from_callable(
            "cut",
            lambda c: np.where(c["R"] > 0, "high", "low"),
            decision="V",
            inputs=["R"],
            states=V.states,
            explore=0.2,
        ),
    ]
    problem = Problem(
        name="real inputs",
        variables=variables,
        graph=[("S", "V"), ("R", "V"), ("V", "Y"), ("R", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.2,
        arms=arms,
    )
    return problem, model


def test_real_inputs_row_by_row() -> None:
    problem, model = real_problem()
    rng = np.random.default_rng(2)
    columns = {"R": rng.uniform(-2, 2, 40), "S": rng.integers(0, 2, 40), "V": rng.integers(0, 3, 40)}
    columns["R"][1] = columns["R"][0]
    expected = np.zeros((2, 40))
    for i in range(40):
        row = pandas.DataFrame([{"R": columns["R"][i], "S": S.states[columns["S"][i]]}])
        named = dict(zip(model.classes_, model.predict_proba(row)[0], strict=True))
        label = V.states[columns["V"][i]]
        expected[0, i] = named[label]
        expected[1, i] = 0.85 * (label == max(named, key=lambda name: named[name])) + 0.05
    for k in (0, 1):
        np.testing.assert_allclose(np.exp(problem.arms[k].mechanism.log_prob(columns)), expected[k], rtol=1e-12)
    high = np.where(columns["R"] > 0, 2, 0)
    np.testing.assert_allclose(
        np.exp(problem.arms[2].mechanism.log_prob(columns)), 0.8 * (columns["V"] == high) + 0.2 / 3, rtol=1e-12
    )


def real_rows(problem: Problem, count: int, seed: int = 4) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    s, r = rng.integers(0, 2, count), rng.uniform(-2, 2, count)
    p = problem.arms[0].mechanism.distribution({"S": s, "R": r}, 3, count)
    v = (p.cumsum(axis=1) < rng.random(count)[:, None]).sum(axis=1)
    y = rng.random(count) < 1 / (1 + np.exp(-(v - 1 + r)))
    return {
        "arm": ["soft"] * count, "S": [S.states[i] for i in s], "R": r, "V": [V.states[i] for i in v],
        "Y": [Y.states[int(i)] for i in y],
    }  # fmt: skip


def test_real_inputs_are_told_and_resumed() -> None:
    """The estimate of a rule that never ran is near its mean under the law that made the rows."""
    problem, _ = real_problem()
    run = algorithm("pool", problem, pulls=9000, seed=1)
    rows = real_rows(problem, 6000)
    run.tell(batch(problem, rows), id="log")
    again = resume(problem, run.to_json())
    assert again.beliefs().draw(np.random.default_rng(0), 10)[0].tolist() == run.beliefs().draw(np.random.default_rng(0), 10)[0].tolist()  # fmt: skip
    outcomes = run.beliefs().draw(np.random.default_rng(0), 400)[0][0]
    rng = np.random.default_rng(9)
    r, s = rng.uniform(-2, 2, 200_000), rng.integers(0, 2, 200_000)
    for k, arm in enumerate(problem.arms):
        p = arm.mechanism.distribution({"R": r, "S": s}, 3, len(r))
        truth = (p / (1 + np.exp(-(np.arange(3) - 1 + r[:, None])))).sum(axis=1).mean()
        assert abs(outcomes[:, k].mean() - truth) <= 5 * outcomes[:, k].std(), arm.name
        assert outcomes[:, k].std() < 0.05


# ---- rules ----


def ask(function: Any, columns: dict[str, Any], size: int, **options: Any) -> list[list[float]]:
    arm = Arm.from_callable("rule", function, decision="V", inputs=list(columns), **options)
    given = {name: np.array(values) for name, values in columns.items()}
    length = len(next(iter(given.values()))) if given else 2
    return arm.mechanism.distribution(given, size, length).tolist()


def test_a_rule_gives_probabilities_or_decides() -> None:
    p = [[0.2, 0.8], [1.0, 0.0]]
    columns = {"S": [1, 0, 1]}
    expected = [p[1], p[0], p[1]]
    assert ask(lambda c: np.array(p)[c["S"]], columns, 2) == expected
    assert ask(lambda c: np.array(p)[c["S"]], columns, 2, states=["no", "yes"]) == expected
    decided = [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    for states, function in {
        ("no", "yes"): lambda c: np.array(["no", "yes"])[c["S"]],
        ("n", "y"): lambda c: c["S"],  # codes
        ("off", "on"): lambda c: c["S"] == 1,
        ("False", "True"): lambda c: c["S"] == 1,
        ("0", "1"): lambda c: c["S"].astype(np.int64),
        ("0.0", "0.5"): lambda c: c["S"] / 2,
        ("-", "+"): lambda c: ["-+"[i] for i in c["S"]],
        ("f", "t"): lambda c: pandas.Series(["ft"[i] for i in c["S"]]),
    }.items():
        assert ask(function, columns, 2, states=states) == decided, states
    assert ask(lambda c: c["S"] == 1, columns, 2, states=("True", "False")) == [row[::-1] for row in decided]
    np.testing.assert_allclose(ask(lambda c: c["S"], columns, 2, states=("n", "y"), explore=0.4)[0], [0.2, 0.8])


def test_a_rule_without_inputs() -> None:
    assert ask(lambda c: [0.3, 0.7], {}, 2) == [[0.3, 0.7]] * 2
    assert ask(lambda c: [[0.3, 0.7]], {}, 2) == [[0.3, 0.7]] * 2
    assert ask(lambda c: "yes", {}, 2, states=("no", "yes")) == [[0.0, 1.0]] * 2
    assert ask(lambda c: ["no"], {}, 2, states=("no", "yes")) == [[1.0, 0.0]] * 2


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (lambda c: c["S"], {}, "its function decides; say states="),
        (lambda c: np.full(len(c["S"]), "maybe"), {"states": ("no", "yes")}, "decides 'maybe', which is none"),
        (lambda c: c["S"] + 1, {"states": ("no", "yes")}, "decides 2, which is none of the states"),
        (lambda c: c["S"] * 1.5, {"states": ("no", "yes")}, "decides 0.0, which is none"),
        (lambda c: c["S"], {"states": ("1", "0")}, "label of state 1 and the code of state 0.*Return labels as text"),
        (lambda c: np.ones((2, 2)), {}, r"Arm 'rule', the result of its function: row \[0\] sums to 2"),
        (lambda c: np.full((2, 3), 1 / 3), {}, "Arm 'rule' gives probabilities of 3 states; 'V' has 2"),
        (lambda c: np.full((2, 3), 1 / 3), {"states": ("no", "yes")}, r"returns shape \(2, 3\) for 2 rows"),
        (lambda c: 0.5, {"states": ("no", "yes")}, r"returns shape \(\)"),
        (lambda c: np.array([0.2, 0.8, 0.0]), {}, r"returns shape \(3,\) for 2 rows"),
        ("not a function", {}, "str is not a function"),
        (lambda c: c["S"], {"explore": 2}, "explore is 2"),
    ],
)
def test_mistakes_of_rules(function: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        ask(function, {"S": [0, 1]}, 2, **options)


def test_the_number_of_states_is_checked_when_the_problem_is_made(models: NetworkWorld) -> None:
    arm = Arm.from_callable("four", lambda c: np.full((len(c["Z"]), 4), 0.25), decision="V", inputs=["Z"])
    with pytest.raises(ProblemError, match="Arm 'four' gives probabilities of 4 states; 'V' has 3"):
        replace(models.problem, arms=[arm], costs=())
    two = Arm.from_callable("two", lambda c: np.full((len(c["Z"]), 2), 0.5), decision="V", inputs=["Z"])
    with pytest.raises(ProblemError, match="gives probabilities of 2 states; 'V' has 3"):
        two.mechanism.log_prob({"Z": np.array([0]), "V": np.array([2])})
    other = Arm.from_callable("o", rule, decision="V", inputs=["Z"], states=("high", "low", "mid"))
    with pytest.raises(ProblemError, match="made for 'V' with states"):
        replace(models.problem, arms=[other], costs=())
    kept = Arm.from_callable("rule", rule, decision="V", inputs=["Z"], states=V.states)
    made = replace(models.problem, arms=[kept], costs=())
    assert isinstance(made.arms[0].mechanism, Model)
    expected = np.array([[1.0, 0, 0], [1.0, 0, 0], [0, 0, 1.0]])
    known = replace(made, arms=[Arm("rule", Table("V", ("Z",), expected))])
    np.testing.assert_array_equal(made.compiled.shared_cells.likelihood, known.compiled.shared_cells.likelihood)


# ---- densities ----


def log_normal(v: np.ndarray, mean: Any, sd: Any) -> np.ndarray:
    return np.asarray(-0.5 * ((v - mean) / sd) ** 2 - np.log(np.asarray(sd) * math.sqrt(2 * math.pi)))


def test_densities_in_three_forms() -> None:
    rng = np.random.default_rng(0)
    columns = {"V": rng.normal(size=30), "S": rng.integers(0, 2, 30), "R": rng.uniform(-2, 2, 30)}
    alone = Arm.from_density("n", stats.norm(0.5, 2.0), decision="V")
    assert alone.parents == () and isinstance(alone.mechanism, Code)
    np.testing.assert_allclose(alone.mechanism.log_prob(columns), log_normal(columns["V"], 0.5, 2.0), rtol=1e-12)
    expected = log_normal(columns["V"], columns["R"] + columns["S"], 1 + columns["S"])
    for density in (
        lambda c: stats.norm(c["R"] + c["S"], 1 + c["S"]),
        lambda c: log_normal(c["V"], c["R"] + c["S"], 1 + c["S"]),
    ):
        arm = Arm.from_density("n", density, decision="V", inputs=["S", "R"])
        np.testing.assert_allclose(arm.mechanism.log_prob(columns), expected, rtol=1e-12)
    outside = Arm.from_density("b", stats.beta(2, 3), decision="V")
    assert np.isneginf(outside.mechanism.log_prob({"V": np.array([-1.0])})[0])
    with pytest.raises(ProblemError, match=r"with logpdf, or a function of columns; got float"):
        Arm.from_density("n", 0.5, decision="V")
    wrong = Arm.from_density("n", lambda c: [0.0], decision="V", inputs=["S"])
    with pytest.raises(ProblemError, match="Arm 'n': its code of 'V' must return 30 log-probabilities"):
        wrong.mechanism.log_prob(columns)


def test_a_run_with_densities_is_the_run_with_their_code(tmp_path: Path) -> None:
    """The catalog's normal arms, once by its own code and once by scipy's truncated normal law."""
    problem, world = gaussian_arms(K=3, seed=1)
    means = np.zeros((3, 2))
    for k, t in np.ndindex(3, 2):  # the density of a normal law is highest at its mean
        grid = np.linspace(-4, 4, 80_001)
        columns = {"V": grid, "S": np.full(len(grid), t)}
        means[k, t] = grid[int(np.argmax(problem.arms[k].mechanism.log_prob(columns)))]

    def density(k: int) -> Any:
        return lambda c: stats.truncnorm(-12 - means[k][c["S"]], 12 - means[k][c["S"]], loc=means[k][c["S"]])

    arms = [Arm.from_density(a.name, density(k), decision="V", inputs=["S"]) for k, a in enumerate(problem.arms)]
    again = replace(problem, arms=arms)
    columns = {"V": np.linspace(-5, 5, 50), "S": np.tile([0, 1], 25)}
    for old, new in zip(problem.arms, arms, strict=True):
        np.testing.assert_allclose(new.mechanism.log_prob(columns), old.mechanism.log_prob(columns), atol=2e-3)
    one, two = (identify(p, replace(world, problem=p), pulls=200, seed=3).verdict for p in (problem, again))
    assert one.status == two.status and one.arm == two.arm
    for a, b in zip(one.arms, two.arms, strict=True):
        assert a.outcome == pytest.approx(b.outcome, abs=0.02)
    assert fingerprint(again) == fingerprint(problem)  # code counts by its node and parents
    with pytest.raises(ProblemError, match="made of code"):
        write_problem(again, tmp_path / "x.toml")


# ---- scores, cut into decisions ----


class Scored:
    """A model of the outcome: its score for inputs Z (1, 2, 4) is 0.1, 0.5 and 0.9."""

    def __init__(self, classes: list[Any] | None, scores: tuple[float, ...] = (0.1, 0.5, 0.9)) -> None:
        self.scores = dict(zip((1, 2, 4), scores, strict=True))
        if classes is not None:
            self.classes_ = np.array(classes)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        score = np.array([self.scores[z] for z in X[:, 0]])
        others = len(self.classes_) - 1
        return np.column_stack([*[(1 - score) / others] * others, score])


class Regressor(Scored):
    predict_proba = None  # type: ignore[assignment]

    def __init__(self, scores: tuple[float, ...] = (0.1, 0.5, 0.9)) -> None:
        super().__init__(None, scores)

    def __getattribute__(self, name: str) -> Any:
        if name == "predict_proba":
            raise AttributeError(name)
        return super().__getattribute__(name)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.array([self.scores[z] for z in X[:, 0]])


class Unlabelled(Scored):
    """Probabilities of which the classes are not said, and hard labels: these are no score."""

    def __init__(self) -> None:
        super().__init__(None)

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.array([self.scores[z] >= 0.5 for z in X[:, 0]]).astype(int)


def decided(model: Any, **options: Any) -> list[str]:
    """What is decided for each state of Z, where nothing is explored; exploration checked by hand."""
    two = Variable("V", ("deny", "approve"))
    known = two if "tiers" not in options else V
    arm = Arm.from_classifier(
        "cut", model, learned_from=None, decision="V", inputs=["Z"], variables=[Z, known], **options
    )
    arm = pickle.loads(pickle.dumps(arm))
    found = arm.mechanism.distribution({"Z": np.arange(3)}, known.size, 3)
    explore = options.get("explore", 0.0)
    assert np.all(np.isclose(found, explore / known.size) | np.isclose(found, 1 - explore + explore / known.size))
    assert known.states is not None
    return [known.states[i] for i in found.argmax(axis=1)]


def test_a_score_is_cut_into_decisions() -> None:
    """A score equal to a cut belongs above it."""
    for model in (Scored([0, 1]), Regressor()):
        assert decided(model, threshold=0.5) == ["deny", "approve", "approve"]
        assert decided(model, threshold=0.51, explore=0.2) == ["deny", "deny", "approve"]
        assert decided(model, threshold=0.5, states=["approve", "deny"]) == ["approve", "deny", "deny"]  # a risk
        assert decided(model, tiers=[0.2, 0.9]) == ["low", "mid", "high"]
        assert decided(model, tiers=[0.6, 0.95]) == ["low", "low", "mid"]
    assert decided(Scored(["paid", "lost"]), threshold=0.5, score_class="paid") == ["approve", "approve", "deny"]
    assert decided(Scored(["a", "b", "c"]), threshold=0.5, score_class="c") == ["deny", "approve", "approve"]


def test_a_cut_score_is_a_rule_like_any_other() -> None:
    """Against the table of what it decides, row by row and over cells."""
    arm = Arm.from_classifier(
        "cut", Scored([0, 1]), learned_from=None, decision="V", inputs=["Z"], variables=FINITE, tiers=[0.2, 0.9]
    )
    known = Arm("cut", table("V", ["Z"], np.eye(3)))
    rng = np.random.default_rng(0)
    columns = {v.name: rng.integers(0, v.size, 50) for v in (Z, V)}
    np.testing.assert_array_equal(arm.mechanism.log_prob(columns), known.mechanism.log_prob(columns))
    both = [world_of([a]) for a in (arm, known)]
    np.testing.assert_allclose(both[0].law, both[1].law, atol=1e-15)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (Scored([0, 1]), {"threshold": math.nan}, "Arm 'cut': the score is cut at .nan.. Cuts are finite numbers"),
        (Scored([0, 1]), {"threshold": True}, "cut at .True."),
        (Scored([0, 1]), {"tiers": [0.5, 0.2]}, "that rise"),
        (Scored([0, 1]), {"tiers": []}, "that rise"),
        (Scored([0, 1]), {"threshold": 0.5, "tiers": [0.5]}, "one of the two"),
        (Scored([0, 1]), {"states": ["deny", "approve"]}, "one of the two"),
        (Scored([0, 1]), {"tiers": [0.5]}, "1 cuts of the score make 2 decisions, but the states are"),
        (Scored([0, 1]), {"threshold": 0.5, "states": ["deny", "deny"]}, "from the lowest score to the highest"),
        (Scored([0, 1]), {"threshold": 0.5, "states": ["deny", "perhaps"]}, "no state 'perhaps'"),
        (Scored([0, 1]), {"threshold": 0.5, "decide": "argmax"}, "Give one kind"),
        (Scored([0, 1]), {"threshold": 0.5, "score_class": 7}, "the classes of its model are .0, 1.*got 7"),
        (Scored(["a", "b", "c"]), {"threshold": 0.5}, "score_class="),
        (Unlabelled(), {"threshold": 0.7}, "an? Unlabelled, has predict_proba but no classes_.*Set classes_"),
        (Unlabelled(), {"threshold": 0.7, "score_class": 1}, "has predict_proba but no classes_"),
        (Regressor(), {"threshold": 0.5, "score_class": 1}, "has no probabilities of classes"),
        (5, {"threshold": 0.5}, "a int, gives no score"),
        (
            Regressor((0.1, math.nan, 0.9)),
            {"threshold": 0.5},
            "Arm 'cut': predict of its model must give.* 1 times nan",
        ),
        (Scored([0, 1], (0.1, math.nan, 0.9)), {"threshold": 0.5}, "Arm 'cut', predict_proba of its model: .*nan"),
    ],
)
def test_mistakes_of_cuts(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        decided(model, **options)


# ---- an exception inside someone's rule ----


def test_what_a_rule_raises_names_the_arm_and_keeps_the_cause() -> None:
    columns = {"S": np.array([0, 1]), "V": np.array([0, 1])}

    def broken(columns: Any) -> Any:
        return columns["age"]

    class Broken:
        classes_ = np.array(V.states)

        def predict_proba(self, X: Any) -> Any:
            raise RuntimeError("no\nluck")

    arms = [
        Arm.from_callable("x", broken, decision="V", inputs=["S"]),
        Arm.from_density("x", broken, decision="V", inputs=["S"]),
        Arm("x", Code("V", ("S",), broken)),
        Arm.from_classifier("x", Broken(), learned_from=None, decision="V", inputs=["S"], variables=FINITE),
    ]
    for arm in arms:
        with pytest.raises(
            ProblemError, match=r"^Arm 'x': .* failed on .*S.*: (KeyError: 'age'|RuntimeError: no luck)\.$"
        ) as e:
            arm.mechanism.log_prob(columns)
        assert isinstance(e.value.__cause__, KeyError | RuntimeError)
    every = Code("V", ("S",), broken, broken)
    with pytest.raises(ProblemError, match=r"The code of 'V' failed on 2 rows of the columns S: KeyError: 'age'"):
        every.distribution({"S": columns["S"]}, 3, 2)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([[0.5, 0.5], [0.5]], "different lengths"),
        ([["a", "b"], ["c", "d"]], "must return numbers"),
        ([[0.5, math.nan], [0.5, 0.5]], "is nan"),
        ([[1.5, -0.5], [0.5, 0.5]], "is -0.5"),
        (np.array(["no", None], dtype=object), "decides None, which is none of the states"),
    ],
)
def test_answers_that_are_none_name_the_arm(answer: Any, message: str) -> None:
    arm = Arm.from_callable("x", lambda c: answer, decision="V", inputs=["S"], states=("no", "yes"))
    with pytest.raises(ProblemError, match=f"^Arm 'x'.*{message}"):
        arm.mechanism.distribution({"S": np.array([0, 1])}, 2, 2)


def test_code_whose_probabilities_do_not_sum_to_one_is_named() -> None:
    arm = Arm("x", Code("V", ("S",), lambda c: np.log(np.full(len(c["V"]), 0.4))))
    with pytest.raises(ProblemError, match=r"^Arm 'x': its code of 'V', .*row \[0\] sums to 1\.2"):
        arm.mechanism.distribution({"S": np.array([0, 1])}, 3, 2)


def test_a_simulator_that_fails_names_the_arm() -> None:
    made = finite_problem([table_arm("tree")], [("S", "V"), ("V", "Y"), ("Z", "Y"), ("Z", "C")])

    def simulate_rows(arm: str, regime: str, count: int, rng: np.random.Generator) -> Any:
        return {"S": {}["age"]}

    with pytest.raises(DataError, match=r"^Arm 'tree': the simulator failed on \d+ pulls \(.*\): KeyError: 'age'") as e:
        identify(made, FunctionWorld(made, simulate_rows), pulls=50, seed=1)
    assert isinstance(e.value.__cause__, KeyError)


def test_probabilities_whose_sum_is_beyond_all_numbers_are_refused() -> None:
    """Each of them is finite: the row is named, as any other that does not sum to 1."""
    with pytest.raises(ProblemError, match=r"the model: row \[0\] sums to inf"):
        checked_rows(np.array([[1e308, 1e308], [0.5, 0.5]]), "the model")
