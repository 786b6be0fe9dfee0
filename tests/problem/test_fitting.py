"""Mechanisms fitted from rows: counts by loops, and their error in the beliefs by closed forms, loops and coverage."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import oracle
from fairarm import (
    Arm,
    ContextLaw,
    FittedNote,
    Network,
    NetworkWorld,
    Outcome,
    Problem,
    Request,
    Table,
    Unknown,
    Variable,
    algorithm,
    fit_mechanisms,
    inspect,
    table,
    write_problem,
)
from fairarm.algorithms.run import fingerprint
from fairarm.beliefs import cells as cell_means
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.evidence import CellEvidence
from fairarm.errors import DataError, OptionError, ProblemError, ReadError
from fairarm.problem.space import CellSpace
from fairarm.readers.problem_file import parse_problem, problem_schema, read_problem
from fairarm.readers.problem_writer import problem_text
from quick import quick

SEEDS = range(60)
Z_LIMIT = 5.0
"""With fixed seeds a correct program is beyond this in fewer than 1 of 10^6 comparisons."""

Rows = dict[str, tuple[dict[str, np.ndarray], np.ndarray]]


def unknown_case(seed: int, pulls: int = 12) -> tuple[oracle.Case, Problem, list[oracle.Row], Rows]:
    """A random case whose arms with an even number are unknown, without its children's mechanisms, and rows of all arms."""
    case = oracle.random_case(seed)
    rows = oracle.draw_rows(case, np.random.default_rng(seed), np.full((3, len(case.arms)), pulls), rare=True)
    problem, _ = oracle.as_fairarm(case)
    arms = [Arm(a.name, Unknown("V", a.parents)) if k % 2 == 0 else a for k, a in enumerate(problem.arms)]
    kept = {x: m for x, m in problem.mechanisms.items() if x == case.outcome}
    return case, replace(problem, arms=arms, mechanisms=kept), rows, by_arm(case, problem, rows)


def by_arm(case: oracle.Case, problem: Problem, rows: list[oracle.Row]) -> Rows:
    """The rows as `fit_mechanisms` takes them."""
    out: Rows = {}
    for k, name in enumerate(problem.arm_names):
        own = [row for row in rows if row.arm == k]
        columns = {x: np.array([row.codes[x] for row in own], dtype=np.int64) for x in oracle.columns(case)[:-1]}
        columns["S"] = np.array([case.groups[row.group] for row in own], dtype=np.int64)
        out[name] = columns, np.array([row.count for row in own], dtype=np.int64)
    return out


def value_of(case: oracle.Case, row: oracle.Row, name: str) -> int:
    return case.groups[row.group] if name == "S" else row.codes[name]


def expected_table(case: oracle.Case, rows: list[oracle.Row], names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Counts and (n + 1/m) / (N + 1), one row after the other; the node is the last name."""
    counts = np.zeros([case.sizes[name] for name in names], dtype=np.int64)
    for row in rows:
        counts[tuple(value_of(case, row, name) for name in names)] += row.count
    states = counts.shape[-1]
    mean = np.empty(counts.shape)
    for index in np.ndindex(counts.shape):
        mean[index] = (counts[index] + 1 / states) / (counts[index[:-1]].sum() + 1)
    return counts, mean


# ---- what is fitted ----


def test_tables_are_the_counts_by_loops() -> None:
    seen: Counter[str] = Counter()
    for seed in SEEDS:
        case, problem, rows, given = unknown_case(seed, pulls=1)
        fitted, notes = fit_mechanisms(problem, given, children=True)
        assert fitted.unknown_arms == () and len(problem.unknown_arms) == math.ceil(len(case.arms) / 2)
        expected: list[tuple[Any, str | None, list[oracle.Row]]] = []
        for k, arm in enumerate(fitted.arms):
            if k % 2:
                assert arm == problem.arms[k] and arm.mechanism.counts is None  # type: ignore[attr-defined]
            else:
                expected.append((arm.mechanism, arm.name, [row for row in rows if row.arm == k]))
        for child in sorted(oracle.relevant_children(case) - {"Y"}):
            assert sorted(fitted.mechanisms[child].parents) == sorted(case.tables[child][0])
            expected.append((fitted.mechanisms[child], None, rows))
            seen["child"] += 1
        for found, arm_name, own in expected:
            counts, mean = expected_table(case, own, (*found.parents, found.node))
            assert np.array_equal(found.counts, counts), seed
            np.testing.assert_allclose(found.probabilities, mean, atol=1e-15)
            totals = counts.sum(axis=-1).ravel()
            smallest = min(n for n in totals.tolist() if n)
            note = FittedNote(found.node, arm_name, int(totals.sum()), smallest, int((totals == 0).sum()))
            assert note in notes, (note, notes)
            seen["unseen"] += note.unseen > 0
        assert len(notes) == len(expected)
    assert seen["child"] >= 20 and seen["unseen"] >= 20, seen


def test_children_are_fitted_only_where_asked_and_missing() -> None:
    case, problem, _, given = next(
        found for seed in SEEDS if len(oracle.relevant_children((found := unknown_case(seed))[0]) - {"Y"}) >= 2
    )
    alone, notes = fit_mechanisms(problem, given)
    assert alone.mechanisms == problem.mechanisms and all(note.arm is not None for note in notes)
    one = sorted(oracle.relevant_children(case) - {"Y"})[0]
    known = replace(problem, mechanisms=[*problem.mechanisms.values(), Table(one, *case.tables[one])])
    fitted, _ = fit_mechanisms(known, given, children=True)
    assert fitted.mechanisms[one] is known.mechanisms[one] and one not in fitted.fitted
    assert len(fitted.fitted) == len(fitted.mechanisms) - len(known.mechanisms) + len(problem.unknown_arms)
    nothing = replace(alone, mechanisms=fitted.mechanisms)
    assert fit_mechanisms(nothing, given, children=True) == (nothing, ())


def test_what_the_notes_say() -> None:
    assert FittedNote("V", "old", 90, 4, 2).text == (
        "The mechanism of arm 'old' is fitted from 90 rows, at least 4 for each combination of its inputs that was seen; "
        "2 combinations have no row: there it is uniform."
    )
    assert FittedNote("X", None, 90, 4, 0).text.startswith("The mechanism of 'X' is fitted from 90 rows")


VARIABLES = [Variable(n, ("0", "1")) for n in ("S", "X", "Y")] + [Variable(n, ("0", "1", "2")) for n in ("Z", "V")]
EDGES = [("S", "X"), ("X", "Y"), ("S", "V"), ("Z", "V"), ("V", "Y")]
OTHER = table("V", ["Z"], [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8]])


def small(**changes: Any) -> Problem:
    """S → X → Y and S, Z → V → Y; the deployed arm is unknown, and so is P(X | S)."""
    known: dict[str, Any] = {
        "name": "small",
        "variables": VARIABLES,
        "graph": EDGES,
        "sensitive": "S",
        "decision": "V",
        "outcome": Outcome("Y", values=(0, 1)),
        "tolerance": 0.1,
        "arms": [Arm("old", Unknown("V", ("S", "Z"))), Arm("new", OTHER)],
        "deployed": "old",
    }
    return Problem(**{**known, **changes})


def lines(count: int = 40, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = {v.name: rng.integers(0, v.size, count) for v in VARIABLES}
    return columns, rng.integers(1, 4, count)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ProblemError, "Arm 'old' has no mechanism, and there are no rows to fit it from"),
        ({"new": lines()}, ProblemError, "Arm 'old' has no mechanism, and there are no rows"),
        ({"old": (lines()[0], np.zeros(40, dtype=int))}, ProblemError, "no rows to fit it from"),
        ({"older": lines()}, ProblemError, "no arm 'older'"),
        ({"old": ({"S": np.zeros(1, int)}, np.ones(1, int))}, DataError, "have no column 'X'"),
        ({"old": ({**lines()[0], "Z": np.full(40, 3)}, lines()[1])}, DataError, "'Z' of arm 'old'.*from 0 to 2"),
        ({"old": ({**lines()[0], "Z": np.full(40, -1)}, lines()[1])}, DataError, "one code from 0 to 2"),
        ({"old": ({**lines()[0], "Z": np.full(40, 0.5)}, lines()[1])}, DataError, "one code"),
        ({"old": ({**lines()[0], "Z": np.zeros(39, int)}, lines()[1])}, DataError, "for each of 40 lines"),
        ({"old": (lines()[0], -lines()[1])}, DataError, "row counts of arm 'old' must be whole numbers"),
        ({"old": (lines()[0], lines()[1] / 2)}, DataError, "whole numbers"),
    ],
)
def test_rows_that_cannot_be_fitted(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fit_mechanisms(small(), given)


def test_real_inputs_cannot_be_fitted_as_a_table() -> None:
    variables = [*(v for v in VARIABLES if v.name != "Z"), Variable("Z", low=0.0, high=1.0)]
    problem = small(variables=variables, arms=[Arm("old", Unknown("V", ("S", "Z")))])
    columns, counts = lines()
    with pytest.raises(
        ProblemError, match=r"Arm 'old' cannot be fitted as a table: 'Z' is real-valued.*from_classifier"
    ):
        fit_mechanisms(problem, {"old": ({**columns, "Z": columns["Z"] / 3}, counts)})


# ---- a problem with an unknown arm ----


def test_a_problem_with_an_unknown_arm_is_well_posed() -> None:
    problem = small(context=ContextLaw(("Z",), np.array([0.2, 0.3, 0.5])), shares=(0.5, 0.5))
    assert problem.unknown_arms == ("old",) and problem.fitted == ()
    assert problem.observed == ("S", "X", "Y", "V", "Z") and problem.roles.decision_is_child
    seen = inspect(problem)
    assert seen.M is None and seen.notes == (problem.arms[0].mechanism.message,)  # type: ignore[attr-defined]
    assert seen.notes[0].startswith("Arm 'old' has no mechanism") and inspect(small()).notes[0] == seen.notes[0]
    for use in (lambda: problem.compiled.shared_cells, lambda: problem.compiled.tables.likelihood):
        with pytest.raises(ProblemError, match=r"Arm 'old' has no mechanism.*`fairarm evaluate`"):
            use()
    with pytest.raises(ProblemError, match=r"mechanism of 'X' is declared unknown. Leave it out"):
        small(mechanisms=[Unknown("X", ("S",))])
    with pytest.raises(ProblemError, match="Arm 'old': The mechanism of 'V' uses 'Q'"):
        small(arms=[Arm("old", Unknown("V", ("Q",)))])
    fitted, _ = fit_mechanisms(problem, {"old": lines()}, children=True)
    assert fitted.compiled.tables.M.shape == (
        2,
        2,
    )  # the declared law was checked against the fitted tables, and everything works


FILE = """
format = 1
[problem]
name = "file"
sensitive = "S"
decision = "V"
tolerance = 0.1
edges = [["S", "V"], ["V", "Y"], ["Z", "V"]]
deployed = "old"
[problem.outcome]
node = "Y"
values = { no = 0, yes = 1 }
[problem.states]
S = ["a", "b"]
V = ["v0", "v1"]
Z = ["z0", "z1"]
Y = ["no", "yes"]
[[problem.arms]]
name = "old"
parents = ["S", "Z"]
[[problem.arms]]
name = "blind"
parents = []
[[problem.arms]]
name = "new"
table = [0.25, 0.75]
"""


def test_an_arm_without_a_table_in_a_file(tmp_path: Path) -> None:
    problem, *_ = parse_problem(FILE, "file", tmp_path)
    assert problem.unknown_arms == ("old", "blind")
    assert problem.arms[0] == Arm("old", Unknown("V", ("S", "Z")))
    assert problem.arms[1] == Arm("blind", Unknown("V", ()))
    assert problem.arms[2] == Arm("new", table("V", [], [0.25, 0.75]))
    path = tmp_path / "again.toml"
    write_problem(problem, path)
    assert read_problem(path)[0] == problem
    with pytest.raises(ReadError, match=r"problem.arms\[0\].table: not given, but needed. For a rule.*its parents"):
        parse_problem(FILE.replace('parents = ["S", "Z"]\n', ""), "file", tmp_path)
    with pytest.raises(ReadError, match="uses 'Q', which is not a declared node"):
        parse_problem(FILE.replace('["S", "Z"]\n', '["S", "Q"]\n'), "file", tmp_path)
    with pytest.raises(ReadError, match=r"problem.mechanisms\[0\].table: not given"):
        parse_problem(FILE + '[[problem.mechanisms]]\nnode = "Y"\n', "file", tmp_path)


def test_the_schema_asks_for_a_table_or_parents() -> None:
    validator = jsonschema.Draft202012Validator(problem_schema())
    good = tomllib.loads(FILE)
    assert not list(validator.iter_errors(good))
    assert not list(validator.iter_errors(tomllib.loads(problem_text(parse_problem(FILE, "f", Path())[0]))))
    good["problem"]["arms"][0].pop("parents")
    assert list(validator.iter_errors(good))


# ---- a fitted table ----


def test_a_fitted_table_is_equal_to_the_same_known_table_but_not_for_a_run() -> None:
    fitted, _ = fit_mechanisms(small(), {"old": lines()}, children=True)
    old = fitted.arms[0].mechanism
    assert isinstance(old, Table) and old.counts is not None and not old.counts.flags.writeable
    known = replace(fitted, arms=[Arm("old", Table("V", old.parents, old.probabilities)), fitted.arms[1]])
    assert known == fitted and known.fitted == ("X",) and fitted.fitted == ("old", "X")
    more = Table.fitted("V", ("Z",), np.array([[3, 1, 0], [0, 0, 0], [5, 5, 5]]))
    np.testing.assert_allclose(more.probabilities[1], 1 / 3)
    assert len({fingerprint(p) for p in (fitted, known)}) == 2
    assert fingerprint(fitted) == fingerprint(replace(fitted))


@pytest.mark.parametrize("counts", [[[1, 2]], [[3, 1], [1, 1]], [[-1, 3]]])
def test_counts_must_be_those_of_the_table(counts: Any) -> None:
    with pytest.raises(ProblemError, match="not the one that its counts give"):
        Table("V", ("Z",), np.array([[0.5, 0.5]]), counts=np.array(counts))


def test_a_fitted_table_is_not_saved_as_if_known(tmp_path: Path) -> None:
    fitted, _ = fit_mechanisms(small(), {"old": lines()})
    with pytest.raises(ProblemError, match="Arm 'old' was fitted from rows: saved as a table"):
        write_problem(fitted, tmp_path / "x.toml")


def test_no_certificate_rests_on_a_fitted_mechanism() -> None:
    known = table("X", ["S"], [[0.5, 0.5], [0.2, 0.8]])
    arm, _ = fit_mechanisms(small(mechanisms=[known]), {"old": lines()})
    fixed = [Arm("old", table("V", [], [0.2, 0.3, 0.5])), Arm("new", OTHER)]
    child, _ = fit_mechanisms(small(arms=fixed), {"old": lines()}, children=True)
    for problem, name in ((arm, "old"), (child, "X")):
        with pytest.raises(OptionError, match=f"not available: the mechanism of '{name}' was fitted from rows"):
            algorithm("pool", problem, pulls=100, confidence=0.9, stop="certified")
        algorithm("pool", problem, pulls=100, confidence=0.9, stop="bayes-stop")
        algorithm("pool", problem, pulls=100)


# ---- the error of a fitted table in the beliefs ----


def drawn_tables(problem: Problem, rng: np.random.Generator, draws: int) -> dict[str, np.ndarray]:
    """Tables from Dirichlet laws as normalised gammas, arms first, then children as the graph names them."""
    found = {}
    named = [(arm.name, arm.mechanism) for arm in problem.arms]
    named += [(x, problem.mechanisms[x]) for x in problem.relevant_children if x in problem.mechanisms and x != "Y"]
    for name, mechanism in named:
        if (counts := mechanism.counts) is not None:  # type: ignore[attr-defined]
            gamma = rng.standard_gamma(counts + 1 / counts.shape[-1], (draws, *counts.shape))
            found[name] = gamma / gamma.sum(axis=-1, keepdims=True)
    return found


@pytest.mark.parametrize("children", ["all", "but one", "none"])
def test_drawn_likelihoods_are_products_of_drawn_tables(children: str) -> None:
    """At every point of every kind of graph; a child's draw is the same for all arms.

    ``children`` are those with a mechanism: where one has none, L is made of the arms alone.
    """
    seen: Counter[str] = Counter()
    for seed in range(80):
        case, problem, _, given = unknown_case(seed)
        fitted, _ = fit_mechanisms(problem, given, children=children != "none")
        named = sorted(oracle.relevant_children(case) - {"Y"})
        if children == "but one" and named:
            fitted = replace(fitted, mechanisms=[m for x, m in fitted.mechanisms.items() if x != named[0]])
        cells = fitted.compiled.shared_cells
        found = cells.drawn_likelihood(np.random.default_rng(seed), 2)
        tables = drawn_tables(fitted, np.random.default_rng(seed), 2)
        names = fitted.cell_columns
        codes = CellSpace.of(names, fitted.variables).codes()
        C, lost = len(codes["V"]), bool(named) and children != "all"
        for d, k, t, i in np.ndindex(found.shape):
            at = {**{name: int(codes[name][i % C]) for name in names}, "S": case.groups[t]}
            factors: list[tuple[str, Any]] = [(fitted.arm_names[k], fitted.arms[k].mechanism)]
            factors += [] if lost else [(x, m) for x, m in fitted.mechanisms.items() if x != "Y"]
            expected = 1.0
            for name, mechanism in factors:
                entries = tables[name][d] if name in tables else mechanism.probabilities
                expected *= entries[tuple(at[x] for x in (*mechanism.parents, mechanism.node))]
            if found.shape[3] > C and i // C != t:
                expected = 0.0
            assert found[d, k, t, i] == pytest.approx(expected, rel=1e-9, abs=1e-300), (seed, d, k, t, i)
        seen["apart"] += found.shape[3] > C
        seen["child drawn"] += any(factor.arm is None for factor in cells.fitted)
        seen["arms only"] += all(factor.arm is not None for factor in cells.fitted)
    assert seen["apart"] >= 8 and seen["child drawn" if children == "all" else "arms only"] >= 15, seen


def test_a_fitted_arm_adds_the_variance_of_its_dirichlet_laws() -> None:
    """θ and the contexts are given: μ_t = Σ_z h(z) Σ_v P(v | t, z) θ_v, and the rows of P are independent."""
    theta_v, h = np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.3, 0.5])
    variables = [v for v in VARIABLES if v.name != "X"]
    edges = [e for e in EDGES if "X" not in e]
    problem = small(variables=variables, graph=edges, context=ContextLaw(("Z",), h), shares=(0.5, 0.5))
    fitted, _ = fit_mechanisms(problem, {"old": lines(60)})
    beliefs = CellBeliefs.of(CellEvidence.empty(fitted))
    codes = CellSpace.of(fitted.cell_columns, fitted.variables).codes()
    draws = 40_000
    theta = np.broadcast_to(theta_v[codes["V"]], (1, draws, len(codes["V"])))
    means = beliefs._group_means(theta, np.random.default_rng(3))[0]
    counts = fitted.arms[0].mechanism.counts  # type: ignore[attr-defined]
    for t in (0, 1):
        mean = variance = 0.0
        for z in range(3):
            alpha = counts[t, z] + 1 / 3
            p = alpha / alpha.sum()
            mean += h[z] * p @ theta_v
            variance += h[z] ** 2 * (p @ theta_v**2 - (p @ theta_v) ** 2) / (alpha.sum() + 1)
        sample = means[:, 0, t]
        assert abs(sample.mean() - mean) <= Z_LIMIT * math.sqrt(variance / draws)
        assert sample.var() == pytest.approx(variance, rel=Z_LIMIT * math.sqrt(2.5 / draws))
    assert abs(np.corrcoef(means[:, 0, 0], means[:, 0, 1])[0, 1]) < Z_LIMIT / math.sqrt(draws)
    new = sum(h[z] * OTHER.probabilities[z] @ theta_v for z in range(3))
    np.testing.assert_allclose(means[:, 1], new, atol=1e-12)  # the other arm is known


def test_arms_share_the_draw_of_a_fitted_child() -> None:
    """V known and independent of S, P(X | S) fitted: both arms' means are linear in the same drawn P(x | t)."""
    arms = [Arm("one", table("V", [], [0.2, 0.3, 0.5])), Arm("two", table("V", [], [0.7, 0.2, 0.1]))]
    variables = [v for v in VARIABLES if v.name != "Z"]
    problem = small(variables=variables, graph=[e for e in EDGES if "Z" not in e], arms=arms, deployed=None)
    fitted, _ = fit_mechanisms(problem, {"one": lines(30)}, children=True)
    beliefs = CellBeliefs.of(CellEvidence.empty(fitted))
    codes = CellSpace.of(fitted.cell_columns, fitted.variables).codes()
    value = np.array([[0.1, 0.2, 0.6], [0.4, 0.9, 0.5]])  # of x, v
    draws = 40_000
    theta = np.broadcast_to(value[codes["X"], codes["V"]], (1, draws, len(codes["V"])))
    means = beliefs._group_means(theta, np.random.default_rng(3))[0]
    counts = fitted.mechanisms["X"].counts  # type: ignore[attr-defined]
    slopes = [float((value[1] - value[0]) @ arm.mechanism.probabilities) for arm in arms]  # type: ignore[attr-defined]
    for t in (0, 1):
        a, b = counts[t] + 0.5
        variance = a * b / (a + b) ** 2 / (a + b + 1)
        for k, arm in enumerate(arms):
            start = float(value[0] @ arm.mechanism.probabilities)  # type: ignore[attr-defined]
            sample = means[:, k, t]
            expected = start + slopes[k] * b / (a + b)
            assert abs(sample.mean() - expected) <= Z_LIMIT * abs(slopes[k]) * math.sqrt(variance / draws)
            assert sample.var() == pytest.approx(slopes[k] ** 2 * variance, rel=Z_LIMIT * math.sqrt(2.5 / draws))
        assert np.corrcoef(means[:, 0, t], means[:, 1, t])[0, 1] == pytest.approx(np.sign(slopes[0] * slopes[1]))


def plain_draws(
    problem: Problem,
    counts: np.ndarray,
    context: tuple[str, ...],
    draws: int,
    rng: np.random.Generator,
    theta: np.ndarray,
) -> np.ndarray:
    """μ_{k,t}, (D, 4), by loops: tables, then ĥ with them, then sums over the cells, whose means are θ.

    ``counts`` are rows by arm, group and cell; ``context`` the columns that h can depend on; X is the only child of S.
    """
    names = problem.cell_columns
    sizes = [problem.variables[n].size for n in names]
    cells = [dict(zip(names, codes, strict=True)) for codes in np.ndindex(*sizes)]
    z_of = [tuple(cell[n] for n in context) for cell in cells]
    rows = Counter[tuple[int, ...]]()
    for _, _, c in np.argwhere(counts):
        rows[z_of[c]] = int(counts[:, :, [i for i, z in enumerate(z_of) if z == z_of[c]]].sum())
    mechanisms = [problem.arms[0].mechanism, problem.arms[1].mechanism, problem.mechanisms["X"]]
    out = np.empty((draws, 2, 2))
    for d in range(draws):
        tables = []
        for m in mechanisms:
            table = m.probabilities.copy()  # type: ignore[attr-defined]
            if (seen := m.counts) is not None:  # type: ignore[attr-defined]
                for i in np.ndindex(seen.shape[:-1]):
                    table[i] = rng.dirichlet(seen[i] + 1 / seen.shape[-1])
            tables.append(table)
        L = np.empty((2, 2, len(cells)))
        for k, t, c in np.ndindex(L.shape):
            at = {**cells[c], "S": t}
            L[k, t, c] = math.prod(
                tables[i][tuple(at[n] for n in (*mechanisms[i].parents, mechanisms[i].node))] for i in (k, 2)
            )
        h = {}
        for z in sorted(set(z_of)):
            inside = [i for i, other in enumerate(z_of) if other == z]
            exposure = sum((counts[k, t].sum() + 1 / 4) * L[k, t, inside].sum() for k, t in np.ndindex(2, 2))
            h[z] = rng.gamma(rows[z] + 1 / len(set(z_of))) / exposure
        for k, t in np.ndindex(2, 2):
            weights = [L[k, t, c] * h[z] for c, z in enumerate(z_of)]
            out[d, k, t] = math.fsum(w * x for w, x in zip(weights, theta, strict=True)) / math.fsum(weights)
    return out.reshape(draws, 4)


def both_fitted(below: bool = False, times: int = 1) -> tuple[Problem, CellEvidence]:
    """S, Z → X → Y and S, Z → V → Y: arm and child fitted from 70 rows, the law of Z unknown.

    ``below``: V → Z → X instead, so that Z is seen after V and nothing can be summed out of the cell.
    """
    edges = [("S", "X"), ("Z", "X"), ("X", "Y"), ("S", "V"), ("V", "Y"), ("V", "Z") if below else ("Z", "V")]
    own = [Arm("old", Unknown("V", ("S",))), Arm("new", table("V", [], [0.2, 0.3, 0.5]))]
    problem = small(graph=edges, **({"arms": own} if below else {}))
    rng = np.random.default_rng(5)
    counts = times * rng.multinomial(70, rng.dirichlet(np.full(2 * 36, 0.7))).reshape(2, 36)
    evidence = CellEvidence.empty(problem)
    evidence.counts[0, 0, 0] = counts
    group, row = np.nonzero(counts)
    columns = {**problem.compiled.row_space.codes(row), "S": group}
    fitted, _ = fit_mechanisms(problem, {"old": (columns, counts[group, row])}, children=True)
    return fitted, CellEvidence(fitted, evidence.counts)


@pytest.mark.parametrize("below", [False, True], ids=["context", "general"])
def test_draws_agree_with_plain_monte_carlo(below: bool) -> None:
    """Means, variances, correlations and quantiles of all arms and groups; 2 000 draws by loops, 40 000 by the beliefs."""
    problem, evidence = both_fitted(below)
    beliefs = CellBeliefs.of(evidence)
    theta = np.random.default_rng(8).random(18)
    slow_draws, draws = 2000, 40_000
    counts = evidence.counts[0].sum(axis=0).reshape(2, 2, 18, 2).sum(axis=3)  # Y's states are the last axis
    context = problem.cell_columns if below else ("Z",)
    slow = plain_draws(problem, counts, context, slow_draws, np.random.default_rng(1), theta)
    quick = beliefs._group_means(np.broadcast_to(theta, (1, draws, 18)), np.random.default_rng(2))[0].reshape(-1, 4)
    sd = slow.std(axis=0)
    assert sd.min() > 0.01
    assert np.all(np.abs(slow.mean(axis=0) - quick.mean(axis=0)) <= Z_LIMIT * sd / math.sqrt(slow_draws * 0.95))
    np.testing.assert_allclose(quick.std(axis=0), sd, rtol=Z_LIMIT / math.sqrt(2 * slow_draws))
    np.testing.assert_allclose(np.corrcoef(quick.T), np.corrcoef(slow.T), atol=Z_LIMIT / math.sqrt(slow_draws))
    for q in (0.05, 0.25, 0.75, 0.95):
        share = (slow < np.quantile(quick, q, axis=0)).mean(axis=0)
        assert np.all(np.abs(share - q) <= Z_LIMIT * math.sqrt(q * (1 - q) / slow_draws * 1.05))


def test_each_draw_has_its_own_theta(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10^10 times the rows nothing but θ varies: every draw, of whatever block, is linear in its θ."""
    _, evidence = both_fitted(times=10**10)
    beliefs = CellBeliefs.of(evidence)
    monkeypatch.setattr(cell_means, "BLOCK", 7 * beliefs.cells.likelihood.size)
    theta = np.random.default_rng(0).random((1, 50, 18))
    found = beliefs._group_means(theta, np.random.default_rng(1))
    np.testing.assert_allclose(found, np.einsum("ndc,ktc->ndkt", theta, beliefs.law[0]), atol=1e-4)


def test_blocks_of_draws_have_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded by blocks; a few draws at a time are as good as all at once."""
    _, evidence = both_fitted()
    beliefs = CellBeliefs.of(evidence)
    together = beliefs.draw(np.random.default_rng(0), 4000)
    held: list[int] = []
    whole = type(beliefs.cells).drawn_likelihood

    def watched(cells: Any, rng: np.random.Generator, draws: int) -> np.ndarray:
        held.append(draws)
        return whole(cells, rng, draws)

    monkeypatch.setattr(cell_means, "BLOCK", 7 * beliefs.cells.likelihood.size)
    monkeypatch.setattr(type(beliefs.cells), "drawn_likelihood", watched)
    apart = beliefs.draw(np.random.default_rng(0), 4000)
    assert max(held) == 7 and sum(held) == 4000
    for one, two in zip(together, apart, strict=True):
        assert one.shape == two.shape == (1, 4000, 2)
        limit = Z_LIMIT * one.std(axis=1) * math.sqrt(2 / 4000)
        assert np.all(np.abs(one.mean(axis=1) - two.mean(axis=1)) <= limit)
        np.testing.assert_allclose(one.std(axis=1), two.std(axis=1), rtol=Z_LIMIT * math.sqrt(2 / 4000))


@pytest.mark.parametrize("below", [False, True], ids=["context", "general"])
def test_replicates_are_drawn_apart(below: bool) -> None:
    """The second of two replicates, made by the other arm in other cells, is drawn as if it were alone."""
    problem, evidence = both_fitted(below)
    counts = np.concatenate([evidence.counts, 3 * evidence.counts[:, :, ::-1, ::-1, ::-1]])
    both = CellBeliefs.of(CellEvidence(problem, counts)).draw(np.random.default_rng(0), 4000)[0]
    alone = CellBeliefs.of(CellEvidence(problem, counts[1:])).draw(np.random.default_rng(1), 4000)[0]
    assert both.shape == (2, 4000, 2)
    sd = alone[0].std(axis=0)
    assert np.all(np.abs(both[1].mean(axis=0) - alone[0].mean(axis=0)) <= Z_LIMIT * sd * math.sqrt(2 / 4000))
    np.testing.assert_allclose(both[1].std(axis=0), sd, rtol=Z_LIMIT * math.sqrt(1 / 4000))
    assert np.all(np.abs(both[0].mean(axis=0) - alone[0].mean(axis=0)) > Z_LIMIT * sd * math.sqrt(2 / 4000))
    assert abs(np.corrcoef(both[0, :, 0], both[1, :, 0])[0, 1]) < Z_LIMIT / math.sqrt(4000)


def test_many_rows_give_the_truth() -> None:
    """Every arm unknown and every child's mechanism missing; rows whose counts are the law, whatever the graph."""
    done: Counter[str] = Counter()
    for seed in SEEDS:
        case = oracle.random_case(seed)
        known, _ = oracle.as_fairarm(case, shares=None)
        arms = [Arm(arm.name, Unknown("V", arm.parents)) for arm in known.arms]
        problem = replace(known, arms=arms, mechanisms=[m for x, m in known.mechanisms.items() if x == "Y"])
        law = oracle.law(case).reshape(len(arms), 2, -1)
        counts = np.round(10**9 * law * oracle.shares(case)[:, None]).astype(np.int64)
        given = {}
        for k, arm in enumerate(arms):
            group, row = np.nonzero(counts[k])
            columns = {**problem.compiled.row_space.codes(row), "S": np.array(case.groups)[group]}
            given[arm.name] = columns, counts[k, group, row]
        fitted, _ = fit_mechanisms(problem, given, children=True)
        evidence = CellEvidence.empty(fitted)
        evidence.counts[0, 0] = counts
        outcomes, gaps = CellBeliefs.of(evidence).draw(np.random.default_rng(seed), 20)
        truth, _, gap = oracle.truth(case)
        width = case.high - case.low
        np.testing.assert_allclose(outcomes[0].mean(axis=0), (truth - case.low) / width, atol=1e-3, err_msg=str(seed))
        np.testing.assert_allclose(gaps[0].mean(axis=0), gap / width, atol=1e-3, err_msg=str(seed))
        for name in oracle.features(case):
            done[name] += 1
    assert min(done[name] for name in ("S -> Y", "context", "V child of S")) >= 3, done


# ---- coverage ----

LOGS, LOG_ROWS, DRAWS = 400, 120, 600


def coverage(fitted: bool, child: bool) -> np.ndarray:
    """How often the 95 % limits hold the deployed arm's outcome and gap, (2,), over logs of 120 rows (20 a combination).

    The outcome is nearly a function of V (of X, where ``child``), so that most of the error is that of the mechanism.
    """
    rng = np.random.default_rng(0)
    node = "X" if child else "V"
    theta = np.array([0.05, 0.4, 0.95])
    variables = [Variable("S", ("a", "b")), Variable("Y", ("0", "1"))]
    variables += [Variable(n, ("0", "1", "2")) for n in (("Z", "V", "X") if child else ("Z", "V"))]
    tables = [
        table("S", [], [0.4, 0.6]),
        table("Z", [], rng.dirichlet(np.full(3, 5.0))),
        Table(node, ("S", "Z"), rng.dirichlet(np.full(3, 2.0), (2, 3))),
        table("Y", [node], np.stack([1 - theta, theta], axis=1)),
    ]
    edges = [("S", node), ("Z", node), (node, "Y")]
    if child:
        tables[-1] = table("Y", ["X", "V"], np.stack([[1 - theta, theta]] * 3).transpose(2, 0, 1))
        tables.append(table("V", [], [0.3, 0.3, 0.4]))
        edges.append(("V", "Y"))
    network = Network.of(variables, tables)
    arm = Arm("deployed", network.tables["V"])
    parts: dict[str, Any] = {
        "name": "coverage", "variables": variables, "graph": edges, "sensitive": "S", "decision": "V",
        "outcome": Outcome("Y", values=(0, 1)), "tolerance": 0.1, "deployed": "deployed",
    }  # fmt: skip
    full = Problem(arms=[arm], mechanisms=[network.tables["X"]] if child else [], **parts)
    blank = Problem(arms=[arm if child else Arm("deployed", Unknown("V", ("S", "Z")))], **parts)
    world = NetworkWorld(full, network)
    truth = world.truth()
    held = np.zeros(2)
    for i in range(LOGS):
        log = world.pull(Request(("deployed",), full.regimes, np.array([[LOG_ROWS], [0], [0]])), rng)
        problem, _ = fit_mechanisms(blank, {"deployed": (log.columns, log.count)}, children=True)
        if not fitted:  # the same table, as if it were known
            plain = [Table(m.node, m.parents, m.probabilities) for m in (problem.arms[0].mechanism, *problem.mechanisms.values())]  # type: ignore[attr-defined]  # fmt: skip
            problem = replace(problem, arms=[Arm("deployed", plain[0])], mechanisms=plain[1:])
        draws = CellBeliefs.of(CellEvidence.empty(problem).add(log)).draw(np.random.default_rng([i, 1]), DRAWS)
        for j, (sample, value) in enumerate(zip(draws, (truth.outcomes[0], truth.gaps[0]), strict=True)):
            low, high = np.quantile(sample[0, :, 0], [0.025, 0.975])
            held[j] += low <= value <= high
    return held / LOGS


@pytest.mark.parametrize("child", quick([False, True], 1), ids=["arm", "child"])
def test_limits_cover_the_truth_as_often_as_they_say(child: bool) -> None:
    """0.95 ± 0.03 of 400 logs: a procedure with exactly 95 % fails this for one seed of 150; the seed is fixed.

    With the same table taken as known the gap's limits hold the truth in fewer than 3 of 4 logs.
    """
    drawn, fixed = coverage(True, child), coverage(False, child)
    assert np.all(np.abs(drawn - 0.95) <= 0.03), drawn
    assert fixed[1] < 0.75 and fixed[0] < drawn[0] - 0.03, fixed
