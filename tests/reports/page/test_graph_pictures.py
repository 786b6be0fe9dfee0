"""Pictures of graphs: arrows that count, by walking every path; every node once, no arrow against the layers, nothing outside the picture."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

import worked_examples
import worlds_models
from fairarm import Arm, Constraint, Outcome, Problem, Variable, load_problem, table
from fairarm.errors import ProblemError
from fairarm.reports.page.graph import (
    MOST_NODES,
    NARROW,
    Look,
    graph_figure,
    graph_figures,
    layers_of,
    looks_of,
    way_of,
)
from worlds_fairarm import as_fairarm
from worlds_truth import Model


def problem_of(model: Model, *asked: dict[str, object]) -> Problem:
    return as_fairarm(model, tolerance=None, constraints=[Constraint(**each) for each in asked])[0]  # type: ignore[arg-type]


def walked(look: Look) -> set[tuple[str, str]]:
    """Edges of all directed paths from an attribute to the outcome that pass nothing kept and no attribute that is changed."""
    graph, end, found = look.problem.roles.graph, look.problem.outcome.node, set[tuple[str, str]]()

    def walk(path: list[str]) -> None:
        if path[-1] == end:
            found.update(pairwise(path))
            return
        for child in graph.children(path[-1]):
            if child not in look.keep and child not in look.attributes:
                walk([*path, child])

    for attribute in look.attributes:
        walk([attribute])
    return found


def test_what_counts_in_w3() -> None:
    problem = problem_of(worked_examples.w3(), {"tolerance": 0.2}, {"tolerance": 0.2, "keep": ("R",)})
    whole, kept = looks_of(problem)
    assert whole.counted == {("S", "R"), ("R", "V"), ("S", "V"), ("V", "Y")}
    assert kept.counted == {("S", "V"), ("V", "Y")} and kept.title == "How S reaches Y, with R unchanged"
    first, second = graph_figures(problem)
    assert "Grey: stays as it is." in second.caption[1] and "Grey" not in first.caption[1]
    assert "Arrows that count: S to V, V to Y." in second.wide or "Arrows that count: V to Y, S to V." in second.wide


def test_any_graph() -> None:
    drawn = 0
    for seed in range(150):
        model = worlds_models.random_model(seed)
        try:
            problem, _ = as_fairarm(model)
        except ProblemError:
            continue
        for look in looks_of(problem):
            graph = problem.roles.graph
            assert look.counted == walked(look)
            layers = layers_of(graph)
            level = {place: i for i, layer in enumerate(layers) for place in layer}
            assert sorted(place[0] for place in level if len(place) == 1) == sorted(graph.nodes)
            for edge in graph.edges:
                levels = [level[place] for place in way_of(edge, layers)]
                assert levels == list(range(levels[0], levels[-1] + 1)) and len(levels) > 1
            figure = graph_figure("g", look)
            assert figure is not None and figure.narrow is not None
            for svg in (figure.wide, figure.narrow):
                _inside(svg, graph.nodes)
            drawn += 1
    assert drawn >= 100


def _inside(svg: str, nodes: tuple[str, ...]) -> None:
    width, height = (float(x) for x in re.search(r'viewBox="0 0 (\S+) (\S+)"', svg).groups())  # type: ignore[union-attr]
    assert re.findall(r">([^<]+)</text>", svg) == list(nodes)
    for x, y, w, h in re.findall(r'<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"', svg):
        assert float(x) >= 0 and float(y) >= 0 and float(x) + float(w) <= width and float(y) + float(h) <= height


def test_a_large_graph_is_cut_to_what_matters() -> None:
    problem = load_problem("hepar2:K=3").problem
    assert len(problem.graph.nodes) > MOST_NODES
    for look in looks_of(problem):
        if look.graph is None:
            assert graph_figure("g", look) is None
        else:
            assert {problem.attribute, problem.decision, problem.outcome.node} <= {*look.graph.nodes}
            figure = graph_figure("g", look)
            assert figure is not None and "left out" in figure.caption[1]


@pytest.mark.parametrize("length", [3, 60])
def test_long_names_stay_within_a_phone(length: int) -> None:
    names = {x: x * length for x in ("Z", "S", "V", "Y")}
    small = problem_of(worked_examples.w2(), {"tolerance": 0.1})
    edges = [(names[a], names[b]) for a, b in small.graph.edges]
    problem = Problem(
        name="long", variables=[Variable(name, ("0", "1")) for name in names.values()], graph=edges, sensitive=names["S"],
        decision=names["V"], outcome=Outcome(names["Y"], values=(0, 1)), tolerance=0.1,
        arms=[Arm("arm", table(names["V"], [names["S"]], [[0.7, 0.3], [0.4, 0.6]]))],
    )  # fmt: skip
    figure = graph_figures(problem)[0]
    assert figure.narrow is not None and f'viewBox="0 0 {NARROW:g} ' in figure.narrow
    for x, w in re.findall(r'<rect x="(\S+)" y="\S+" width="(\S+)"', figure.narrow):
        assert float(x) >= 0 and float(x) + float(w) <= NARROW
