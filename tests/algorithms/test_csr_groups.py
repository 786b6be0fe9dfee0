"""The paper's algorithms with more than two groups: what inspect says, what is pulled, who is found, what is refused."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from fairarm import (
    Arm,
    Constraint,
    NetworkWorld,
    Outcome,
    Problem,
    Variable,
    algorithm,
    inspect,
    load_problem,
    resume,
    table,
)
from fairarm.algorithms import make_procedure
from fairarm.cli import main
from fairarm.core.answer import Code
from fairarm.errors import BudgetError, OptionError, OverlapError, ProblemError
from fairarm.experiments.paper.bounds import error_allowed
from fairarm.experiments.simulate import replicate
from fairarm.problem.network import Network

FILE = Path(__file__).parents[1] / "three_groups.toml"
SHARES = {2: [0.6, 0.4], 3: [0.5, 0.3, 0.2], 4: [0.4, 0.3, 0.2, 0.1]}
LOW, HIGH = 0.1, 0.9


def world(arms: dict[str, list[float]], constraints: Any = (), **more: Any) -> NetworkWorld:
    """S → V → Y with groups a, b, …: arms by P(V = 1 | group), the mean outcome is 0.1 + 0.8 P(V = 1)."""
    G = len(next(iter(arms.values())))
    shares = SHARES[G]
    given = {"tolerance": 0.1} if not constraints else {"constraints": constraints}
    problem = Problem(
        name="groups",
        variables=[Variable("S", tuple("abcd"[:G])), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        arms=[Arm(name, _rule(rates)) for name, rates in arms.items()],
        shares=shares,
        **{**given, **more},
    )
    tables = [table("S", [], shares), _rule([0.5] * G), table("Y", ["V"], [[1 - LOW, LOW], [1 - HIGH, HIGH]])]
    return NetworkWorld(problem, Network.of(problem.variables.values(), tables))


def _rule(rates: list[float]) -> Any:
    return table("V", ["S"], [[1 - rate, rate] for rate in rates])


def answers(of: NetworkWorld, name: str, pulls: int, runs: int = 60, **options: Any) -> list[str]:
    procedure = make_procedure(name, of.problem, pulls, **options)
    found = replicate(procedure, of, runs, np.random.default_rng(0), 0).state.answer
    return [of.problem.arm_names[k] if k >= 0 else Code(int(k)).name for k in found]


# ---- the worked example, through inspect ----


def inspected(path: Path, capsys: Any) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["fairarm", "inspect", str(path), "--json"])
        with contextlib.suppress(SystemExit):
            main()
    return json.loads(capsys.readouterr().out)


def changed(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    """The file with other lines."""
    text = FILE.read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (tmp_path / "changed.toml").write_text(text, encoding="utf-8")
    return tmp_path / "changed.toml"


def test_the_worked_example_through_inspect(capsys: Any) -> None:
    """Arm 1: means .45, .5, .6 of the groups, .495 of everybody."""
    found = inspected(FILE, capsys)
    assert found["attributes"] == [{"name": "S", "groups": ["a", "b", "c"]}]
    assert found["groups"] == ["a", "b", "c"] and found["tolerance"] is None
    assert [(row["name"], row["as"], row["people"], row["above"], row["below"]) for row in found["fairness"]] == [
        ("a - b", "a", "b", -0.12, 0.12), ("a - c", "a", "c", -0.12, 0.12), ("b - c", "b", "c", -0.12, 0.12),
    ]  # fmt: skip
    assert all(row["constraint"] == "pairs within 0.12" for row in found["fairness"])
    assert all(row["attributes"] == ["S"] and row["keep"] == [] for row in found["fairness"])
    first, second = found["arms"]
    assert first["mu"] == pytest.approx(0.495) and first["zeta"] is None
    assert [row["value"] for row in first["fairness"]] == pytest.approx([-0.05, -0.15, -0.10])
    assert [row["holds"] for row in first["fairness"]] == [True, False, True]
    assert [row["value"] for row in second["fairness"]] == pytest.approx([0, -0.05, -0.05])
    assert (first["fair"], second["fair"], found["best_fair_arm"]) == (False, True, "arm 2")
    assert found["M"][1][0] == pytest.approx(1.357547, abs=5e-7) and found["M"][0][0] == pytest.approx(1)
    D = {key: matrix[1][0] for key, matrix in found["D"].items()}
    assert list(D) == ["a|b", "b|a", "a|c", "c|a", "b|c", "c|b"]
    worked = {
        "a|c": 1.041487,
        "b|c": 1.041487,
        "c|a": 0.893147,
        "c|b": 0.906504,
        "a|b": math.log(2),
        "b|a": math.log(2),
    }
    assert pytest.approx(worked, abs=5e-7) == D
    assert found["fair_from_phase"] == 5  # 3/2^5 < 0.12
    assert {line["regime"] for line in found["first_plan"]} == {"natural", "a", "b", "c"}
    assert found["error_bound"] is None and any("Theorem 1" in note and "rests on 6" in note for note in found["notes"])


def test_a_ratio_through_inspect(tmp_path: Path, capsys: Any) -> None:
    """μ(a) − .8 μ(c) = −.03, broken; with Y = 10 + 10 Y' it is 14.5 − .8 · 16 = 1.7, met. The paper's algorithms test neither."""
    found = inspected(changed(tmp_path, ("tolerance = 0.12", "ratio = 0.8")), capsys)
    names = [row["name"] for row in found["fairness"]]
    at = names.index("a / c")
    assert found["arms"][0]["fairness"][at] == {"name": "a / c", "value": pytest.approx(-0.03), "holds": False}
    assert found["fairness"][at]["above"] == 0 and found["fairness"][at]["below"] is None
    assert found["v_star"] is None and found["fair_from_phase"] is None and found["first_plan"] == []
    assert found["D"]["a|c"][1][0] == pytest.approx(1.041487, abs=5e-7)
    assert any("ratio 0.8" in note and "use `pool`" in note for note in found["notes"])
    shifted = changed(tmp_path, ("tolerance = 0.12", "ratio = 0.8"), ("no = 0, yes = 1", "no = 10, yes = 20"))
    found = inspected(shifted, capsys)
    assert found["arms"][0]["fairness"][at] == {"name": "a / c", "value": pytest.approx(1.7), "holds": True}
    problem = load_problem(str(shifted)).problem
    assert problem.compiled.rows.low[at] == pytest.approx(-0.2)


def test_a_mean_through_inspect(tmp_path: Path, capsys: Any) -> None:
    found = inspected(changed(tmp_path, ("tolerance = 0.12", 'compare = "mean"\ntolerance = 0.1')), capsys)
    assert [row["value"] for row in found["arms"][0]["fairness"]] == pytest.approx([-0.045, 0.005, 0.105])
    assert [row["holds"] for row in found["arms"][0]["fairness"]] == [True, True, False]
    assert [row["people"] for row in found["fairness"]] == [None] * 3
    assert found["D"] == {} and found["M"] is not None and found["v_star"] is None


# ---- answers ----

ARMS = {
    "ruins c": [0.9, 0.9, 0.5],
    "ruins b": [0.95, 0.6, 0.95],
    "fair": [0.6, 0.63, 0.6],
    "worse": [0.4, 0.4, 0.4],
}


@pytest.mark.parametrize("name", ["csr-v1", "csr-v2", "two-stage-v1", "two-stage-v2"])
def test_the_best_fair_arm_is_found(name: str) -> None:
    """Every margin is 0.07 or more. None of 60 runs was wrong when this was written, nor at a quarter of the pulls."""
    of = world(ARMS)
    assert of.truth().best_fair_arm == 2
    found = answers(of, name, 20_000)
    assert found.count("fair") >= 57, found


@pytest.mark.parametrize("name", ["csr-v2", "two-stage-v2"])
def test_none_is_said_where_none_is_fair(name: str) -> None:
    """Gaps of 0.38, all rejected in phase 4, where the radius has just passed 0.28: two-stage keeps the last arm left."""
    of = world({"ruins c": [0.9, 0.9, 0.425], "ruins b": [0.9, 0.425, 0.9], "ruins a": [0.425, 0.9, 0.9]})
    assert of.truth().best_fair_arm is None
    found = answers(of, name, 40_000)
    assert found.count("NONE") >= 57, found


def test_four_groups() -> None:
    """12 estimates per arm. Each of the unfair arms breaks one pair of groups alone, or the three with one group."""
    arms = {
        "b - d": [0.7, 0.75, 0.72, 0.6],
        "ruins d": [0.9, 0.9, 0.9, 0.4],
        "fair": [0.6, 0.62, 0.6, 0.61],
        "worse": [0.4, 0.4, 0.4, 0.4],
    }
    of = world(arms)
    assert of.truth().fair.tolist() == [False, False, True, True]
    assert answers(of, "csr-v2", 200_000, runs=30).count("fair") >= 28


def test_outcomes_alone_need_no_question_that_csr_can_test() -> None:
    """sris with a floor and three groups: the best arm of all."""
    of = world(ARMS, [Constraint(compare="floor", at_least=0.2)])
    assert set(answers(of, "sris-v2", 40_000, runs=20)) <= {"ruins b", "ruins c"}
    made = make_procedure("sris-v2", of.problem, 100)
    assert made.start(1).memory.gaps.shape == (1, 0, 4)


ONE_SIDED = {"lifts c": [0.5, 0.52, 0.9], "ruins c": [0.9, 0.88, 0.5], "even": [0.55, 0.55, 0.56]}


@pytest.mark.parametrize(("direction", "best"), [("not_below", "lifts c"), ("not_above", "ruins c"), ("both", "even")])
def test_one_end_alone_counts(direction: Any, best: str) -> None:
    """c against a: it may be far above, or far below, or neither. μ = .511…, .741…, .541… of the arms' own rates."""
    rule = Constraint(compare="reference", reference="a", tolerance=0.1, direction=direction)
    arms = ONE_SIDED if direction == "both" else {key: ONE_SIDED[key] for key in ONE_SIDED if key != "even"}
    of = world(arms, [rule])
    k = of.truth().best_fair_arm
    assert k is not None and of.problem.arm_names[k] == best
    assert answers(of, "csr-v2", 40_000, runs=20) == [best] * 20


def test_groups_that_are_not_compared_are_not_forced() -> None:
    """Only a and b are compared: an arm may ruin c, and nobody is recruited from it, however cheap."""
    costs = [(1.0, 1.0, 1.0, 0.0)] * 4
    of = world(ARMS, [Constraint(compare="pairs", groups=("a", "b"), tolerance=0.1)], costs=costs, budget=1.0)
    assert of.problem.compared == ((0, 1), (1, 0))
    run = replicate(make_procedure("csr-v2", of.problem, 40_000), of, 20, np.random.default_rng(0), 0)
    assert set(run.state.answer.tolist()) == {0}  # "ruins c"
    assert run.state.given[:, 3].sum() == 0 and (run.state.given[:, :3].sum(axis=2) > 0).all()
    with pytest.raises(BudgetError, match="the cheapest pull that this algorithm can use costs 1"):
        make_procedure("csr-v2", dataclasses.replace(of.problem, budget=0.5), 40_000)


def test_a_row_is_shown_as_the_gap_of_its_pair() -> None:
    """a − b and a − c as ζ̂^{a,b} and ζ̂^{a,c}, c against b as ζ̂^{c,b}."""
    asked = [
        Constraint(compare="pairs", groups=("a", "b"), tolerance=0.1),
        Constraint(compare="reference", reference="a", groups=("c",), tolerance=0.1),
        Constraint(compare="reference", reference="b", groups=("c",), tolerance=0.2, direction="not_below"),
    ]
    of = world(ARMS, asked)
    assert [row.name for row in of.problem.rows] == ["a - b", "a - c", "c - b"]
    run = replicate(make_procedure("csr-v2", of.problem, 20_000), of, 5, np.random.default_rng(0), 0)
    gaps = dict(zip(of.problem.compared, np.moveaxis(run.info.gaps, 1, 0), strict=True))
    for j, pair in enumerate([(0, 1), (0, 2), (2, 1)]):
        np.testing.assert_array_equal(run.info.rows[:, :, j], gaps[pair])
    true = of.truth().group_outcomes
    assert np.nanmean(run.info.rows[:, 2], axis=0) == pytest.approx(
        [true[2, 0] - true[2, 1], true[2, 0] - true[2, 2], true[2, 2] - true[2, 1]], abs=0.02
    )
    blind = replicate(make_procedure("sris-v2", of.problem, 20_000), of, 5, np.random.default_rng(0), 0)
    assert blind.info.rows.shape == (5, 4, 3) and np.isnan(blind.info.rows).all()


def test_of_several_tolerances_the_strictest_counts() -> None:
    """0.3 for all pairs, 0.05 for a and b, given as b against a."""
    asked = [
        Constraint(compare="pairs", tolerance=0.3),
        Constraint(compare="reference", reference="a", groups=("b",), tolerance=0.05),
    ]
    of = world({"a - b": [0.8, 0.7, 0.8], "a - c": [0.75, 0.75, 0.5], "even": [0.5, 0.5, 0.5]}, asked)
    assert of.truth().fair.tolist() == [False, True, True]
    assert answers(of, "csr-v2", 100_000, runs=20) == ["a - c"] * 20


# ---- the programme ----


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_the_programme_is_that_of_the_page(groups: int) -> None:
    """v*: its primal, written out row by row, one for every arm and ordered pair."""
    rng = np.random.default_rng(groups)
    arms = {f"arm {k}": rng.uniform(0.2, 0.8, groups).tolist() for k in range(3)}
    of = world(arms, costs=rng.uniform(0.5, 2, (3, 1 + groups)), budget=1.0)
    problem, K, R = of.problem, 3, 1 + groups
    M, D = problem.compiled.tables.M, problem.compiled.tables.D
    rows = []
    for k in range(K):
        for regime, divergence in [(0, M), *((1 + u, D[p]) for p, (_, u) in enumerate(problem.compared))]:
            row = np.zeros(R * K + 1)
            row[-1] = 1.0  # v − Σ_j ν_{regime,j} / D_kj ≤ 0
            for j in range(K):
                row[regime * K + j] = -1.0 / divergence[k, j]
            rows.append(row)
    cost = np.append(problem.compiled.cost_array.ravel(), 0.0)
    total = np.append(np.ones(R * K), 0.0)[None]
    best = linprog(-np.eye(R * K + 1)[-1], [*rows, cost], [0.0] * len(rows) + [1.0], total, [1.0])
    made = make_procedure("csr-v2", problem, 1000)
    assert made.value(np.ones(K, dtype=np.bool_)) == pytest.approx(-best.fun, rel=1e-7)


def test_sizes_count_pairs() -> None:
    """13 blocks over 5 regimes: 372 arms at most, where two groups allow 1 000."""
    rates = [0.5, 0.5, 0.5, 0.5]
    of = world({f"arm {k}": rates for k in range(373)})
    with pytest.raises(OptionError, match=r"at most 372 arms are taken"):
        make_procedure("csr-v2", of.problem, 1000)
    make_procedure("sris-v2", of.problem, 1000)


def test_divergences_that_would_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairarm.problem.tables.MAX_POINTS", 50)
    with pytest.raises(ProblemError, match=r"3 arms and 6 pairs of groups have 54 divergences D; at most 50"):
        _ = world({f"arm {k}": [0.5] * 3 for k in range(3)}).problem.compiled.tables.D


# ---- refused ----


@pytest.mark.parametrize(
    "asked",
    [
        Constraint(compare="pairs", ratio=0.8),
        Constraint(compare="reference", reference="a", ratio=0.8),
        Constraint(compare="mean", tolerance=0.1),
        Constraint(compare="floor", at_least=0.3),
        Constraint(weights=(("a", 1.0), ("b", -0.5), ("c", -0.5)), tolerance=0.1),
    ],
)
@pytest.mark.parametrize("name", ["csr-v1", "csr-v2", "two-stage-v2"])
def test_other_questions_are_refused_with_the_way_out(name: str, asked: Constraint) -> None:
    """Also beside one that could be tested."""
    for constraints in ([asked], [Constraint(compare="pairs", tolerance=0.1), asked]):
        of = world(ARMS, constraints)
        with pytest.raises(ProblemError, match=rf"Constraint '{re.escape(asked.label)}' .*use `pool`\.$"):
            algorithm(name, of.problem, pulls=100)


@pytest.mark.parametrize(
    ("asked", "best"),
    [
        (Constraint(compare="pairs", ratio=0.8), "fair"),
        (Constraint(compare="mean", tolerance=0.05), "fair"),
        (Constraint(compare="floor", at_least=0.55), "ruins b"),
        (Constraint(compare="pairs", tolerance=0.1), "fair"),
    ],
)
def test_mis_makes_the_same_pulls_and_tests_any_rows(asked: Constraint, best: str) -> None:
    """Means .82, .82, .5; .86, .58, .86; .58, .604, .58; .42 of the groups."""
    of = world(ARMS, [asked])
    k = of.truth().best_fair_arm
    assert k is not None and of.problem.arm_names[k] == best
    assert answers(of, "mis", 20_000, runs=20) == [best] * 20


def test_the_literal_programme_is_for_two_groups() -> None:
    with pytest.raises(OptionError, match="for two groups; 'S' has 3"):
        algorithm("csr-v2", world(ARMS).problem, pulls=100, programme="literal")
    algorithm("sris-v2", world(ARMS).problem, pulls=100, programme="literal")


def test_groups_without_overlap_are_named() -> None:
    of = world({"even": [0.5, 0.5, 0.5], "never for c": [0.5, 0.5, 0.0]})
    algorithm("csr-v2", world({"even": [0.5, 0.5, 0.5], "less for c": [0.5, 0.5, 0.1]}).problem, pulls=100)
    with pytest.raises(OverlapError) as error:
        algorithm("csr-v2", world({"never for c": [0.5, 0.5, 0.0]}).problem, pulls=100)
    text = str(error.value)
    assert "'a' reaches states (V='1') that 'c' never does" in text and "S = c" in text
    algorithm("csr-v2", of.problem, pulls=100)  # the other arm's pulls of c tell


# ---- the theorems ----


def test_theorem_2_counts_the_estimates() -> None:
    """No arm is fair: 1 − 2 e K n exp(−ξ*² T v*² / (32 n³ loḡ n)), e = 6, ξ* the least of the arms' worst violations."""
    of = world({"ruins c": [0.9, 0.9, 0.5], "ruins b": [0.9, 0.5, 0.8]})
    T = 10**10
    made = make_procedure("csr-v2", of.problem, T)
    xi = min(0.8 * 0.4 - 0.1, 0.8 * 0.4 - 0.1)  # of .32 and .24, and of .32, .08 and .24
    n = math.ceil(math.log2(10 * math.sqrt(T)))
    harmonic = sum(1 / i for i in range(1, n + 1))
    v = made.value(np.ones(2, dtype=np.bool_))
    expected = 1 - 2 * 6 * 2 * n * math.exp(-(xi**2) * T * v**2 / (32 * n**3 * harmonic))
    assert 0.01 < expected < 0.9999999
    found = inspect(of.problem, of, pulls=T)
    assert found.none_bound == pytest.approx(expected, rel=1e-9) and found.error_bound is None
    assert error_allowed(of.problem, of.truth(), T) == pytest.approx(1 - expected, rel=1e-6)


def test_theorem_1_is_about_one_gap() -> None:
    three = world(ARMS)
    found = inspect(three.problem, three, pulls=10**13)
    assert found.error_bound is None and error_allowed(three.problem, three.truth(), 10**13) == 1.0
    two = {name: rates[1:] for name, rates in ARMS.items()}
    one = world(two)
    bound = inspect(one.problem, one, pulls=10**13).error_bound
    assert bound is not None and bound < 1
    pair = world(ARMS, [Constraint(compare="pairs", groups=("b", "c"), tolerance=0.1)])
    assert inspect(pair.problem, pair, pulls=10**13).error_bound is not None


# ---- saving ----


def test_a_run_is_resumed_bit_for_bit() -> None:
    of = world(ARMS)
    run, rng = algorithm("csr-v2", of.problem, pulls=3000), np.random.default_rng(1)
    while not run.finished:
        run.tell(of.pull(run.ask(), rng), id=str(run.phase))
        again = resume(of.problem, run.to_json())
        assert again.to_json() == run.to_json()
    assert run.info.gaps.shape == (1, 6, 4) and run.info.rows.shape == (1, 4, 3)
    report = run.verdict().arms[2]
    assert run.verdict().recommended == "fair" and list(report.gaps) == ["a|b", "b|a", "a|c", "c|a", "b|c", "c|b"]
    assert [row.value for row in report.fairness] == [report.gaps[key] for key in ("a|b", "a|c", "b|c")]
