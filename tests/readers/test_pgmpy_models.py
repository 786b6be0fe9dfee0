"""pgmpy models taken over by duck typing; some are pgmpy's own, some only look like it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fairarm.errors import ReadError
from fairarm.readers.pgmpy_models import from_pgmpy


class Model:
    """The least that a model must offer."""

    def __init__(self, *cpds: Any, nodes: list[Any] | None = None) -> None:
        self.cpds = {cpd.variable: cpd for cpd in cpds}
        self.names = [cpd.variable for cpd in cpds] if nodes is None else nodes

    def nodes(self) -> list[Any]:
        return self.names

    def get_cpds(self, node: Any) -> Any:
        return self.cpds.get(node)


def cpd(variables: list[Any], values: Any, **states: list[Any]) -> SimpleNamespace:
    names = {name: states[str(name)] for name in variables if str(name) in states}
    return SimpleNamespace(variable=variables[0], variables=variables, values=values, state_names=names)


A = cpd(["A"], [0.25, 0.75], A=["lo", "hi"])
B = cpd(["B", "A"], [[0.2, 0.1], [0.8, 0.9]], A=["lo", "hi"], B=["n", "y"])


def test_model_by_hand() -> None:
    network = from_pgmpy(Model(B, A))
    assert list(network.variables) == ["B", "A"]
    assert network.tables["B"].parents == ("A",)
    assert network.tables["B"].probabilities.tolist() == [[0.2, 0.8], [0.1, 0.9]]
    assert network.tables["A"].probabilities.tolist() == [0.25, 0.75]


def test_states_are_matched_by_name_not_by_position() -> None:
    swapped = cpd(["B", "A"], [[0.1, 0.2], [0.9, 0.8]], A=["hi", "lo"], B=["n", "y"])
    assert from_pgmpy(Model(A, swapped)).tables["B"] == from_pgmpy(Model(A, B)).tables["B"]


def test_names_become_text() -> None:
    root = SimpleNamespace(variable=7, variables=[7], values=[0.5, 0.5], state_names={7: [True, 0.5]})
    network = from_pgmpy(Model(root))
    assert network.variables["7"].states == ("True", "0.5")


def test_rows_within_tolerance_are_noted() -> None:
    network = from_pgmpy(Model(cpd(["A"], [0.25, 0.7500005], A=["lo", "hi"])))
    assert "1 probability rows" in network.notes[0]


def test_pgmpy_model() -> None:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    rng = np.random.default_rng(3)
    states = {"P": ["p0", "p1"], "Q": ["q0", "q1", "q2"], "X": ["x0", "x1", "x2", "x3"]}
    model = DiscreteBayesianNetwork([("Q", "X"), ("P", "X")])
    model.add_cpds(
        TabularCPD("P", 2, [[0.3], [0.7]], state_names={"P": states["P"]}),
        TabularCPD("Q", 3, [[0.3], [0.6], [0.1]], state_names={"Q": states["Q"]}),
        TabularCPD("X", 4, rng.dirichlet(np.ones(4), 6).T, ["P", "Q"], [2, 3], state_names=states),
    )
    assert model.check_model()
    network = from_pgmpy(model)
    table = network.tables["X"]
    for p, q, x in np.ndindex(2, 3, 4):
        expected = model.get_cpds("X").get_value(P=f"p{p}", Q=f"q{q}", X=f"x{x}")
        index = tuple({"P": p, "Q": q}[name] for name in table.parents)
        assert table.probabilities[(*index, x)] == pytest.approx(expected, abs=1e-15)


def test_graph_and_table_must_have_the_same_parents() -> None:
    model = Model(A, B)
    model.predecessors = lambda node: []  # type: ignore[attr-defined]
    with pytest.raises(ReadError, match=r"node 'B': its table has the parents \['A'\], the graph draws \[\]"):
        from_pgmpy(model)


@pytest.mark.parametrize(
    ("model", "fragment"),
    [
        ({"A": 1}, "got an object of type dict"),
        (Model(), "it has no nodes"),
        (Model(A, nodes=["A", "Z"]), "node 'Z': it has no distribution"),
        (Model(SimpleNamespace(variable="A", std=1)), "SimpleNamespace has no variables, state_names, values"),
        (Model(B), "parent 'A' is not a node"),
        (Model(cpd(["A"], [0.25, 0.75])), "does not name the states of 'A'"),
        (Model(cpd(["A"], [0.25, 0.75], A=["x", "x"])), "the state 'x' twice"),
        (Model(cpd(["A"], [0.25, 0.75], A=[1, "1"])), "the state '1' twice"),
        (Model(cpd(["A"], [0.25, 0.85], A=["lo", "hi"])), "node 'A': The table of 'A': row [] sums to 1.1"),
        (Model(cpd(["A"], [0.25, float("nan")], A=["lo", "hi"])), "is nan"),
        (Model(cpd(["A"], [[0.25, 0.75]], A=["lo", "hi"])), "values have shape (1, 2)"),
        (Model(cpd(["A"], ["a", "b"], A=["lo", "hi"])), "not an array of numbers"),
        (Model(A, cpd(["B", "A"], B.values, A=["lo", "no"], B=["n", "y"])), "gives 'A' the states ['lo', 'no']"),
        (
            Model(cpd(["A", "B"], np.full((2, 2), 0.5), A=["lo", "hi"], B=["n", "y"]), B),
            "the network has a cycle",
        ),
    ],
)
def test_what_is_not_a_discrete_network(model: Any, fragment: str) -> None:
    with pytest.raises(ReadError) as caught:
        from_pgmpy(model)
    assert str(caught.value).startswith("pgmpy model")
    assert fragment.lower() in str(caught.value).lower()
