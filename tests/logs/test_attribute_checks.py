"""Natural rows against what is declared of attributes: by hand, with exact counts, and how often sound logs are suspected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import worked_examples as examples
import worlds_truth
from fairarm import evaluate, read_log
from fairarm.logs.attribute_checks import (
    Independence,
    check_columns,
    check_independence,
    column_independences,
    compared_groups,
    independences,
)
from fairarm.logs.findings import independence
from fairarm.problem.context import ContextLaw
from fairarm.problem.problem import Problem
from logs_of_worlds import WHERE, drawn, log_of
from worlds_fairarm import as_fairarm


def beside(joint: Any = None) -> worlds_truth.Model:
    """S and T act on V, independent, or T follows S where ``joint`` says how."""
    nodes = {
        "S": examples.chance((), lambda: 0.5),
        "T": examples.chance(("S",), joint) if joint else examples.chance((), lambda: 0.4),
        "Y": examples.SAME_AS_DECISION,
    }
    arm = examples.chance(("S", "T"), lambda s, t: 0.2 + 0.3 * s + 0.4 * t)
    return examples.model("beside", "S T V Y", nodes, [arm], "S T")


def findings(problem: Any, log: Any, **options: Any) -> dict[str, Any]:
    return {finding.name: finding for finding in evaluate(problem, log, columns=WHERE, **options).findings}


# ---- independence ----


def test_chi_square_of_tables_by_hand() -> None:
    """30, 20 / 20, 30: every cell has 25 expected, χ² = 4 · 25 / 25 = 4 with one degree, p = 0.0455; twice it: 8 with two, exp(−4)."""
    table = np.array([[30, 20], [20, 30]])
    assert independence(table[None]) == pytest.approx(0.0455003, abs=1e-6)
    assert independence(np.stack([table, table])) == pytest.approx(np.exp(-4.0), abs=1e-9)


def test_rare_values_are_merged_and_a_table_without_two_says_nothing() -> None:
    """The third row has 2 of 102 rows: with the first, it is a table of two rows."""
    merged = np.array([[32, 20], [20, 30]])
    assert independence(np.array([[[30, 20], [20, 30], [2, 0]]])) == pytest.approx(
        independence(merged[None]), abs=1e-12
    )
    assert independence(np.array([[[3, 2], [2, 3]]])) == 1.0
    assert independence(np.array([[[30, 0], [20, 0]]])) == 1.0


def test_which_attributes_are_tested() -> None:
    assert independences(as_fairarm(beside())[0]) == (Independence(("S",), ("T",), ()),)
    assert independences(as_fairarm(examples.w4())[0]) == ()  # region is a cause of race
    assert independences(as_fairarm(examples.w2())[0]) == ()  # one attribute


def test_dependent_attributes_are_found_and_void() -> None:
    told, made = as_fairarm(beside())[0], log_of(beside(lambda s: (0.35, 0.45)[s]), 10_000)
    found = findings(told, made)
    assert list(found) == ["attributes-dependent"] and found["attributes-dependent"].blocks_certification
    assert "'S' and 'T'" in found["attributes-dependent"].message and found["attributes-dependent"].rows == 10_000
    assert "attributes-dependent" in read_log(told, made, columns=WHERE).voided_by
    assert not findings(told, log_of(beside(), 10_000))


def test_forced_rows_are_not_looked_at() -> None:
    """People recruited for S = T: their attributes go together since somebody chose them so."""
    told = replace(as_fairarm(beside())[0], forced=["S=s0,T=t0", "S=s1,T=t1"])
    regimes = {"natural": {}, "S=s0,T=t0": {"S": 0, "T": 0}, "S=s1,T=t1": {"S": 1, "T": 1}}
    assert not findings(told, log_of(beside(), 10_000, regimes=regimes))


def test_independence_given_a_cause() -> None:
    """Z → S and Z → T: S and T go together, but not where Z is known. With an arrow left out between them they do."""

    def model(follows: float) -> worlds_truth.Model:
        nodes = {
            "Z": examples.chance((), lambda: 0.5),
            "S": examples.chance(("Z",), lambda z: (0.2, 0.8)[z]),
            "T": examples.chance(("Z", "S"), lambda z, s: (0.3, 0.6)[z] + follows * s),
            "Y": examples.SAME_AS_DECISION,
        }
        arm = examples.chance(("S", "T"), lambda s, t: 0.2 + 0.3 * s + 0.4 * t)
        return examples.model("given", "Z S T V Y", nodes, [arm], "S T")

    edges = [("Z", "S"), ("Z", "T"), ("S", "V"), ("T", "V"), ("V", "Y")]
    arms = as_fairarm(beside())[0].arms
    told = as_fairarm(model(0.0), graph=edges, arms=arms, mechanisms=(), shares=None)[0]
    assert set(independences(told)) == {Independence(("S",), ("T",), ("Z",))}
    assert not findings(told, log_of(model(0.0), 20_000))
    found = findings(told, log_of(model(0.1), 20_000))
    assert "'S' and 'T', given 'Z'" in found["attributes-dependent"].message


def test_sound_logs_are_hardly_ever_suspected() -> None:
    """300 logs of 200 rows: at a level of 10^-4 one of them would be with probability 0.03."""
    told, exact = as_fairarm(beside())[0], log_of(beside())
    batches = [read_log(told, drawn(exact, 200, seed), columns=WHERE).batch for seed in range(300)]
    assert not any(check_independence(told, batch) for batch in batches)


# ---- columns ----


def seen(follows: tuple[float, float]) -> worlds_truth.Model:
    """Z → S → V → Y ← Z → V: as W2, and the arm looks at Z too."""
    nodes = dict(examples.w2().functions) | {"S": examples.chance(("Z",), lambda z: follows[z])}
    arm = examples.chance(("S", "Z"), lambda s, z: 0.2 + 0.3 * s + 0.3 * z)
    return examples.model("seen", "Z S V Y", nodes, [arm], "S")


def forgotten(model: worlds_truth.Model) -> Problem:
    """The problem without the arrow from Z to S."""
    edges = [edge for edge in as_fairarm(model)[0].graph.edges if edge != ("Z", "S")]
    return as_fairarm(model, graph=edges, mechanisms=(), shares=None)[0]


def test_which_columns_are_tested() -> None:
    """Z is a cause of S, and nothing else is apart from it; with the arrow forgotten Z is. A child of S, and the decision, are not asked."""
    assert column_independences(as_fairarm(seen((0.2, 0.8)))[0]) == ()
    assert column_independences(forgotten(seen((0.2, 0.8)))) == (Independence(("S",), ("Z",), ()),)
    assert column_independences(as_fairarm(examples.w3())[0]) == ()


def test_a_forgotten_cause_is_found_and_voids() -> None:
    """Without Z → S the problem is plain; P(S = 1) is 0.2 and 0.8 by Z, and 10 000 rows show it."""
    model = seen((0.2, 0.8))
    told = forgotten(model)
    assert told.plain
    found = findings(told, log_of(model, 10_000))
    assert found["attribute-and-column-dependent"].blocks_certification
    message = found["attribute-and-column-dependent"].message
    assert "'S' and 'Z' independent" in message and "differs by up to 0.60 with Z" in message
    forced = log_of(model, 10_000, regimes={"s0": {"S": 0}, "s1": {"S": 1}})
    assert "attribute-and-column-dependent" not in findings(told, forced)  # somebody chose them


def test_a_slight_dependence_is_said_and_voids_nothing() -> None:
    """P(S = 1) is 0.49 and 0.51 by Z: 10^6 rows show that, and it moves little."""
    model = seen((0.49, 0.51))
    found = findings(forgotten(model), log_of(model, 10**6))["attribute-and-column-dependent"]
    assert not found.blocks_certification and "by up to 0.02" in found.message
    assert not findings(forgotten(model), log_of(model, 1000))


def test_sound_plain_logs_are_hardly_ever_suspected() -> None:
    """300 logs of 200 rows with S apart from Z: one is suspected with probability 0.03."""
    model = seen((0.3, 0.3))
    told, exact = forgotten(model), log_of(model)
    batches = [read_log(told, drawn(exact, 200, seed), columns=WHERE).batch for seed in range(300)]
    assert column_independences(told) and not any(check_columns(told, batch) for batch in batches)


# ---- declared laws ----


def test_declared_laws_of_attributes_against_natural_rows() -> None:
    """Shares of one of two attributes, and P(S | Z): each by itself, and not where laws are estimated."""
    told = as_fairarm(beside(), shares={"S": {"s0": 0.5, "s1": 0.5}, "T": {"t0": 0.5, "t1": 0.5}})[0]
    log = log_of(beside(), 10_000)
    found = findings(told, log)
    assert list(found) == ["group-shares-mismatch"] and "P(T)" in found["group-shares-mismatch"].message
    assert not findings(told, log, law="estimated")

    model = examples.w2()
    [own] = [m for m in as_fairarm(model)[0].mechanisms.values() if m.node == "S"]
    wrong = replace(own, probabilities=np.array([[0.75, 0.25], [0.2, 0.8]]))
    found = findings(as_fairarm(model, mechanisms=[wrong])[0], log_of(model, 10_000))
    assert "P(S | Z)" in found["group-shares-mismatch"].message and found["group-shares-mismatch"].blocks_certification


def test_a_declared_law_of_contexts() -> None:
    """Z of W2 is what is left besides the attribute, the arm and Y."""
    model = examples.w2()
    right, wrong = (as_fairarm(model, context=ContextLaw(("Z",), np.array(law)))[0] for law in ([0.5, 0.5], [0.6, 0.4]))
    log = log_of(model, 10_000)
    assert not findings(right, log)
    assert list(findings(wrong, log)) == ["contexts-do-not-fit"]
    assert not findings(wrong, log, law="estimated")


# ---- groups ----


def test_groups_without_rows_are_those_that_are_asked_about() -> None:
    model = examples.w4()
    problem = as_fairarm(model)[0]
    assert list(compared_groups(problem)) == ["region=region0", "region=region1", "race=race0", "race=race1"]
    log = log_of(model, 10_000)
    here = [i for i, race in enumerate(log["race"]) if race == "race0"]
    found = findings(problem, {name: [column[i] for i in here] for name, column in log.items()}, law="estimated")
    assert "'race=race1'" in found["group-without-rows"].message


def test_a_group_without_rows_that_acts_on_the_outcome_directly() -> None:
    """Nobody else's rows tell what Y is with S = 1; where S acts by the decision alone, theirs do."""
    model = examples.w6()
    log = log_of(model, 10_000)
    here = [i for i, group in enumerate(log["S"]) if group == "s0"]
    some = {name: [column[i] for i in here] for name, column in log.items()}
    found = findings(as_fairarm(model)[0], some, law="estimated")["group-without-rows"]
    assert found.blocks_certification and found.message.startswith(
        "Group 's1' has no rows and 'S' acts on 'Y' directly: recruit it, set min_share, or leave it out."
    )


def test_without_natural_rows_what_is_learned_from_them_is_said_to_be_unknown() -> None:
    model = examples.w2()
    log = log_of(model, 10_000, regimes={"s0": {"S": 0}, "s1": {"S": 1}})
    problem = as_fairarm(model)[0]
    assert "shares-unknown" not in findings(problem, log)
    found = findings(replace(problem, mechanisms=()), log)
    assert (
        "law of S is not declared" in found["shares-unknown"].message
        and not found["shares-unknown"].blocks_certification
    )
