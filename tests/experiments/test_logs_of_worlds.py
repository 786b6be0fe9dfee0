"""Answers from logs where more is asked than about groups: the worked examples, from counts to numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import worked_examples as examples
import worlds_truth
from fairarm import Arm, Constraint, Evaluation, FairarmError, LogMap, evaluate, load_problem, simulate_live
from fairarm.cli import documents
from fairarm.errors import DataError
from fairarm.problem.mechanism import Unknown
from fairarm.problem.problem import Problem
from logs_of_worlds import WHERE, drawn, log_of
from worlds_fairarm import as_fairarm
from worlds_truth import Model

PRIOR = 1e-4
"""What is left of the prior, and of chance in 4 000 draws, with 10^9 rows."""
BERKELEY = Path(__file__).parents[2] / "examples" / "berkeley"


def problem_of(model: Model, *asked: Constraint, **options: Any) -> Problem:
    given = {"constraints": asked, "tolerance": None} if asked else {}
    return as_fairarm(model, **{**given, **options})[0]


def evaluated(model: Model, *asked: Constraint, k: int = 0, **options: Any) -> Evaluation:
    return evaluate(problem_of(model, *asked, **options), log_of(model, k=k), columns=WHERE)


def values(found: Evaluation, k: int = 0) -> dict[str, float]:
    return {row.name: row.value for row in found.arms[k].fairness}


def near(numbers: dict[str, float]) -> Any:
    return pytest.approx(numbers, abs=PRIOR)


def test_w2_people_of_each_group_as_the_other_and_the_plain_gap_apart() -> None:
    found = evaluated(examples.w2())
    assert values(found) == near({"s0 as s1 - s0": 0.084, "s1 as s0 - s1": -0.156})
    assert [row.holds_probability for row in found.arms[0].fairness] == [1.0, 0.0]
    assert found.arms[0].outcome.value == pytest.approx(0.398, abs=PRIOR)
    pair = found.arms[0].pairs["s1|s0"]
    assert (pair.gap, pair.plain, pair.spurious, pair.direct) == pytest.approx((0.084, 0.348, -0.264, 0.084), abs=PRIOR)
    assert found.plain_gaps["s1|s0"].value == pytest.approx(0.348, abs=PRIOR)
    assert [(group.group, group.rows) for group in found.observed] == [("s0", 5 * 10**8), ("s1", 5 * 10**8)]
    assert not found.findings and found.status == "NO_FAIR_ARM"


def test_w3_a_mediator_kept() -> None:
    found = evaluated(examples.w3(), Constraint(tolerance=0.05, keep=["R"]))
    assert values(found) == near({"s0 as s1 - s0": 0.10, "s1 as s0 - s1": -0.10})
    assert found.arms[0].pairs["s1|s0"].plain == pytest.approx(0.26, abs=PRIOR)


def test_w4_an_attribute_that_is_the_cause_of_another() -> None:
    m = examples.w4()
    found = evaluated(m)
    race = {"race: race0 as race1 - race0": 0.4, "race: race1 as race0 - race1": -0.4}
    assert values(found) == near({"region: region0 - region1": -0.36, **race})
    assert found.plain_gaps["race=race1|race=race0"].value == pytest.approx(0.483333, abs=PRIOR)
    held = evaluated(m, Constraint(tolerance=0.05, attribute="region", others="held"))
    assert [abs(value) for value in values(held).values()] == pytest.approx([0.2, 0.2], abs=PRIOR)
    joint = evaluated(m, Constraint(tolerance=0.05, attributes=["region", "race"], compare="mean"))
    assert list(values(joint).values()) == pytest.approx([-0.26, 0.14, -0.06, 0.34], abs=PRIOR)


def test_w6_one_order_of_a_ratio_is_broken() -> None:
    found = evaluated(examples.w6(), Constraint(ratio=0.8))
    expected = [0.495 - 0.8 * 0.36, 0.36 - 0.8 * 0.495, 0.84 - 0.8 * 0.855, 0.855 - 0.8 * 0.84]
    assert list(values(found).values()) == pytest.approx(expected, abs=PRIOR)
    assert [row.holds_probability for row in found.arms[0].fairness] == [1.0, 0.0, 1.0, 1.0]


def test_w7_berkeley_within_the_department() -> None:
    found = evaluated(examples.w7(), Constraint(tolerance=0.05, keep=["department"]))
    assert values(found) == near({"sex0 as sex1 - sex0": -0.001088, "sex1 as sex0 - sex1": 0.070969})
    assert values(found, 1) == near({"sex0 as sex1 - sex0": 0.0, "sex1 as sex0 - sex1": 0.0})
    plain = [arm.pairs["sex0|sex1"].plain for arm in found.arms]
    assert plain == pytest.approx([-0.141645, -0.155721], abs=PRIOR)


def test_the_berkeley_example_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """4 526 applicants. The prior of the fitted rule holds one row in each department and sex, half of it admitted, and 25 women applied to B:
    the value shown is the mean of that posterior, worked out here from the counts, and not their own +0.070969. The interval, 0.09 wide, is
    what 4 526 rows can say; a weaker prior makes it hold less often (benchmarks/logs/fitted_prior.md)."""
    from fairarm.cli.app import run

    with pytest.MonkeyPatch.context() as patch:
        log = str(BERKELEY / "admissions.csv")
        patch.setattr("sys.argv", ["fairarm", "evaluate", str(BERKELEY / "same_department.toml"), log, "--json"])
        assert run() == 0
    found = json.loads(capsys.readouterr().out)
    assert found["groups"] == ["female", "male"] and found["tolerance"] is None and found["plain_gap"] is None
    assert [(row["as"], row["people"], row["keep"]) for row in found["fairness"]] == [
        ("male", "female", ["department"]),
        ("female", "male", ["department"]),
    ]
    was = found["arms"][0]
    people, admitted = (n := examples.admissions()).sum(axis=2), n[..., 1]
    rate = (admitted + 0.5) / (people + 1.0)
    expected = [float((people[u] * (rate[t] - rate[u])).sum() / people[u].sum()) for t, u in ((1, 0), (0, 1))]
    assert [row["value"] for row in was["fairness"]] == pytest.approx(expected, abs=0.0015)  # 4 000 draws: 0.0004
    assert expected == pytest.approx([-0.001088, 0.070969], abs=0.0024)
    assert was["pairs"]["female|male"]["plain"] == pytest.approx(-0.141645, abs=0.003)
    assert set(was["pairs"]["female|male"]) == {"gap", "plain", "direct", "indirect", "spurious"}
    assert was["closest"] == "male as female - male" and was["gap"] is None
    laws = [said["facts"]["law"] for said in found["not_certified_codes"] if said["code"] == "law-not-known"]
    assert laws == ["P(department | its parents)", "P(gender)"]


def test_json_of_several_attributes() -> None:
    found = documents.evaluation(evaluated(examples.w4()))
    assert found["groups"] == [] and [each["name"] for each in found["attributes"]] == ["region", "race"]
    assert [row["attributes"] for row in found["fairness"]] == [["region"], ["race"], ["race"]]
    assert set(found["arms"][0]["pairs"]) == set(found["plain_gaps"]) == {
        "region=region0|region=region1", "region=region1|region=region0", "race=race1|race=race0", "race=race0|race=race1",
    }  # fmt: skip
    json.dumps(found)


def test_parts_are_those_of_the_models() -> None:
    for model, attribute in ((examples.w2(), "S"), (examples.w6(), "S"), (examples.w4(), "race")):
        found = evaluated(model).arms[0].pairs
        several = len(model.attributes) > 1
        for t, u in ((0, 1), (1, 0)):
            name = "|".join(f"{attribute}={attribute}{x}" if several else f"{attribute.lower()}{x}" for x in (t, u))
            truth = worlds_truth.effects(model, 0, attribute, t, u)
            part = found[name]
            told = (part.plain, part.gap, part.direct, part.indirect, part.spurious)
            assert told == pytest.approx(
                (truth.plain, truth.total, truth.direct, truth.indirect, truth.spurious), abs=PRIOR
            )


def test_what_cannot_be_told_is_null() -> None:
    """A → M → B → V → Y ← M. Of joint groups of A and B, M would be needed both as it is, for who they are, and as it would be. With M
    kept it can be told."""
    nodes = {
        "A": examples.chance((), lambda: 0.5),
        "M": examples.chance(("A",), lambda a: (0.3, 0.6)[a]),
        "B": examples.chance(("M",), lambda m: (0.2, 0.7)[m]),
        "Y": examples.chance(("M", "V"), lambda m, v: 0.1 + 0.3 * m + 0.4 * v),
    }
    model = examples.model("joint", "A M B V Y", nodes, [examples.chance(("B",), lambda b: (0.3, 0.8)[b])], "A B")
    found = evaluated(model, Constraint(tolerance=0.05, attributes=["A", "B"], keep=["M"]))
    pair = found.arms[0].pairs["A=a1,B=b1|A=a0,B=b0"]
    kept = worlds_truth.world({"A": 1, "B": 1}, {"A": 0, "B": 0}, ("M",))
    own, other = (worlds_truth.mean(model, 0, worlds_truth.world(people={"A": x, "B": x})) for x in (0, 1))
    told = (worlds_truth.mean(model, 0, kept) - own, other - own)
    assert (pair.gap, pair.plain, pair.direct) == pytest.approx((*told, told[0]), abs=PRIOR)
    assert (pair.indirect, pair.spurious) == (None, None)
    assert "A=a0,B=b1" in [group.group for group in found.observed]


# ---- what is not declared ----


def as_unknown(problem: Problem) -> Problem:
    return problem.with_arms([Arm(arm.name, Unknown("V", arm.parents)) for arm in problem.arms])


@pytest.mark.parametrize("make", [examples.w2, examples.w4])
def test_fitted_arms_children_and_attributes(make: Any) -> None:
    """Nothing is declared but the graph: arms, children and attributes are learned from the rows, and said to be."""
    model = make()
    known = problem_of(model)
    bare = replace(as_unknown(known), mechanisms=(), shares=None, joint_shares=())
    found = evaluate(bare, log_of(model), columns=WHERE)
    assert list(values(found).values()) == pytest.approx(list(values(evaluated(model)).values()), abs=1e-3)
    assert [note.arm for note in found.fitted] == ["arm 0"] and found.arms[0].fitted
    learned = [said.facts["attributes"] for said in found.assumptions if said.code == "attributes-estimated"]
    assert learned == [(name,) for name in model.attributes]


def test_children_are_fitted_where_nothing_can_be_said_without_them() -> None:
    """S → R → V, S → V, and T → V beside it: with two attributes R's mechanism is needed, and fitted with a note."""
    model = examples.w3()
    nodes = dict(model.functions) | {"T": examples.chance((), lambda: 0.4)}
    arm = examples.chance(("S", "R", "T"), lambda s, r, t: 0.1 + 0.1 * s + 0.4 * r + 0.2 * t)
    two = examples.model("W3 with T", "S T R V Y", nodes, [arm], "S T")
    bare = replace(problem_of(two), mechanisms=())
    found = evaluate(bare, log_of(two), columns=WHERE)
    assert [(note.node, note.arm) for note in found.fitted] == [("R", None)]
    truth = worlds_truth.effects(two, 0, "S", 1, 0)
    assert found.arms[0].pairs["S=s1|S=s0"].gap == pytest.approx(truth.total, abs=1e-3)
    assert found.arms[0].pairs["T=t1|T=t0"].gap == pytest.approx(0.2, abs=1e-3)


def test_intervals_of_small_logs_hold_the_truth() -> None:
    """W2 with an arm and P(S | Z) that are learned, 400 rows: 95 % intervals of both rows, 60 logs: 6 of 120 are expected to miss, and
    more than 16 do with a probability of 10^-4. Seeds are fixed."""
    model = examples.w2()
    problem, log = replace(as_unknown(problem_of(model)), mechanisms=()), log_of(model)
    missed = 0
    for seed in range(60):
        found = evaluate(problem, drawn(log, 400, seed), columns=WHERE)
        rows = found.arms[0].fairness
        missed += sum(not row.low <= truth <= row.high for row, truth in zip(rows, (0.084, -0.156), strict=True))
    assert missed <= 16


# ---- regimes ----


def test_recruited_rows_by_the_names_of_regimes() -> None:
    m = examples.w4()
    regimes = {"natural": {}, "race=race1": {"race": 1}, "region=region0": {"region": 0}}
    found = evaluate(problem_of(m), log_of(m, regimes=regimes), columns=WHERE)
    assert found.used == 3 * 10**9 and not found.findings
    assert values(found)["race: race0 as race1 - race0"] == pytest.approx(0.4, abs=PRIOR)
    assert found.arms[0].outcome.value == pytest.approx(0.46, abs=PRIOR)


def test_forced_rows_of_another_group_and_unknown_regimes_are_left_out() -> None:
    m = examples.w4()
    log = log_of(m, 30_000, regimes={"natural": {}, "race=race1": {"race": 0}, "race=purple": {}})
    found = {finding.name: finding for finding in evaluate(problem_of(m), log, columns=WHERE).findings}
    assert found["forced-rows-of-another-group"].rows == 30_000
    assert found["forced-rows-of-another-group"].examples[0].startswith("forced to race=race1, holds region")
    assert found["unknown-regimes"].rows == 30_000


# ---- what it does not do ----


def test_nothing_is_certified_where_a_law_is_not_known_and_it_says_why() -> None:
    found = evaluated(examples.w3(), Constraint(tolerance=0.5, keep=["R"]), mechanisms=())
    assert found.status == "FOUND" and found.certified_status == "UNDECIDED" and found.certified_by is None
    assert [said.code for said in found.not_certified] == ["law-not-known"]
    assert found.arms[0].certified_fair is None and found.arms[0].outcome.certified_low is None


def test_where_all_laws_are_known_the_joint_region_certifies() -> None:
    found = evaluated(examples.w3(), Constraint(tolerance=0.5, keep=["R"]))
    assert found.certified_arm == "arm 0" and found.arms[0].certified_fair
    for row, truth in zip(found.arms[0].fairness, (0.1, -0.1), strict=True):
        assert row.certified_low is not None and row.certified_high is not None
        assert row.certified_low - 1e-9 <= truth <= row.certified_high + 1e-9


@pytest.mark.parametrize(
    ("where", "way_out"),
    [(LogMap(propensity="p"), "say which arm made each row"), (LogMap(propensity="p", made_by="arm 0"), "log.arm")],
)
def test_rows_with_propensities_are_refused(where: LogMap, way_out: str) -> None:
    m = examples.w2()
    log = {name: values[:2] for name, values in log_of(m, 100).items() if name in m.order} | {"p": [0.5, 0.5]}
    with pytest.raises(DataError, match=way_out):
        evaluate(problem_of(m), log, columns=where)


def test_the_same_on_every_engine(tmp_path: Path) -> None:
    m = examples.w4()
    problem, log = problem_of(m), log_of(m, 10_000)
    pd.DataFrame(log).to_csv(tmp_path / "log.csv", index=False)
    pl.DataFrame(log).write_parquet(tmp_path / "log.parquet")
    sources: Sequence[Any] = [log, pd.DataFrame(log), pl.DataFrame(log), tmp_path / "log.csv", tmp_path / "log.parquet"]
    first, *others = (values(evaluate(problem, source, columns=WHERE)) for source in sources)
    assert all(found == first for found in others)


def test_the_order_of_lines_plays_no_part() -> None:
    m = examples.w4()
    log = log_of(m, 10_000)
    order = np.random.default_rng(3).permutation(len(log["rows"]))
    turned = {name: [column[i] for i in order] for name, column in log.items()}
    first, second = (evaluate(problem_of(m), each, columns=WHERE) for each in (log, turned))
    assert first.arms == second.arms


def test_simulated_live_studies_are_for_groups_alone() -> None:
    """Their truths go by the groups' own means: refused, not answered for another question."""
    given = load_problem("synthetic-causes")
    with pytest.raises(FairarmError, match="A live study is simulated where groups of one attribute"):
        simulate_live(given.problem, given.world, people=50, arrivals=200, window="7d", studies=1)
