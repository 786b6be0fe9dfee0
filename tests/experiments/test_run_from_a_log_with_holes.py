"""A run that starts from a log whose outcomes are missing by what they were: what is certified holds, and holes are charged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairarm import (
    Arm,
    LogMap,
    Network,
    Outcome,
    Problem,
    Variable,
    algorithm,
    evaluate,
    identify,
    read_log,
    simulate,
    table,
)
from fairarm.algorithms import make_procedure
from fairarm.beliefs.evidence import CellEvidence
from fairarm.beliefs.from_log import parts_with_missing
from fairarm.errors import DataError
from fairarm.problem.context import ContextLaw
from fairarm.worlds import NetworkWorld
from quick import quick

THETA = np.array([[0.3, 0.6], [0.4, 0.8]])
"""E[Y | first column, V]."""
CONTEXTS = np.array([[0.9, 0.1], [0.1, 0.9]])
PLAIN = {"new": [0.8, 0.7], "even": [0.5, 0.5], "old": [0.3, 0.3]}
"""P(V = 1 | X)."""
JOINT = np.array([[0.4, 0.1], [0.15, 0.35]])
"""P(Z, S)."""
CAUSED = {"new": [[0.55, 0.8], [0.5, 0.8]], "even": [[0.5, 0.5], [0.5, 0.5]], "old": [[0.3, 0.3], [0.3, 0.3]]}
"""P(V = 1 | Z, S)."""


def laws(caused: bool) -> np.ndarray:
    """P(S, first column, V, Y | arm), (K, 2, 2, 2, 2)."""
    chance = np.array(list(CAUSED.values())).transpose(0, 2, 1) if caused else np.array(list(PLAIN.values()))[:, None]
    decided = np.stack([1 - chance, chance], axis=-1) * np.ones((1, 2, 1, 1))
    people = JOINT.T if caused else 0.5 * CONTEXTS
    outcomes = np.stack([1 - THETA, THETA], axis=-1)
    return people[None, :, :, None, None] * decided[..., None] * outcomes


def gaps(caused: bool) -> np.ndarray:
    """The largest gap of each arm, by hand."""
    if not caused:
        means = np.einsum("sx,kx,x->ks", CONTEXTS, np.array(list(PLAIN.values())), THETA[:, 1] - THETA[:, 0])
        means += CONTEXTS @ THETA[:, 0]
        return np.asarray(np.abs(means[:, 0] - means[:, 1]))
    people = JOINT / JOINT.sum(axis=0)  # P(z | s)
    moved = [np.array(p)[:, 1] - np.array(p)[:, 0] for p in CAUSED.values()]
    return np.array([np.abs(people.T @ (step * (THETA[:, 1] - THETA[:, 0]))).max() for step in moved])


def problem(caused: bool, tolerance: float) -> Problem:
    """S → X → V → Y ← X, or Z → S → V → Y ← Z → V, with all laws declared."""
    first = "Z" if caused else "X"
    variables = [Variable(name, ("0", "1")) for name in ("S", first, "V", "Y")]
    common: dict[str, Any] = {
        "name": "holes", "variables": variables, "sensitive": "S", "decision": "V", "tolerance": tolerance, "deployed": "old",
        "outcome": Outcome("Y", values=(0, 1)),
    }  # fmt: skip
    if caused:
        arms = [Arm(n, table("V", ["Z", "S"], np.stack([1 - np.array(p), p], axis=-1))) for n, p in CAUSED.items()]
        shares = JOINT / JOINT.sum(axis=1, keepdims=True)
        return Problem(
            graph=[("Z", "S"), ("Z", "V"), ("S", "V"), ("Z", "Y"), ("V", "Y")], arms=arms, mechanisms=[table("S", ["Z"], shares)],
            context=ContextLaw(("Z",), JOINT.sum(axis=1)), **common,
        )  # fmt: skip
    arms = [Arm(n, table("V", ["X"], np.stack([1 - np.array(p), p], axis=-1))) for n, p in PLAIN.items()]
    edges = [("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")]
    shares = {"0": 0.5, "1": 0.5}
    return Problem(graph=edges, arms=arms, mechanisms=[table("X", ["S"], CONTEXTS)], shares=shares, **common)


def logs(asked: Problem, caused: bool, rows: int, share: float, runs: int) -> tuple[CellEvidence, np.ndarray]:
    """Natural rows of all arms alike, and those that lack their outcome. They are lost so that the best arm's gap looks smaller than
    it is: ones in one context; or ones of one decision and zeros of the other, so that no law of decisions shows it."""
    rng = np.random.default_rng([rows, runs, caused])
    counts = np.zeros((runs, len(asked.regimes), 3, 2, 2, 2, 2), dtype=np.int64)
    for k, law in enumerate(laws(caused)):
        counts[:, 0, k] = rng.multinomial(rows // 3, law.ravel(), size=runs).reshape(runs, 2, 2, 2, 2)
    gone = np.zeros_like(counts)
    for at in [(..., 1, 1), (..., 0, 0)] if caused else [(..., 1, slice(None), 1)]:
        gone[at] = rng.binomial(counts[at], share)
    first = "Z" if caused else "X"
    order = [3, *(4 + (first, "V").index(name) for name in asked.cell_columns), 6]
    came, lost = ((part).transpose(0, 1, 2, *order) for part in (counts - gone, gone))
    shape = came.shape[:4]
    return CellEvidence(asked, came.reshape(*shape, -1)), lost.sum(axis=-1).reshape(*shape, -1)


def answers(asked: Problem, evidence: CellEvidence, missing: np.ndarray | None) -> np.ndarray:
    """What is proved by the logs alone, (runs,)."""
    procedure = make_procedure("pool", asked, 100, confidence=0.95, stop="certified")
    state = procedure.start(evidence.replicates).but(log_rows=evidence.pulls().sum(axis=(1, 2)))
    found, _ = (
        procedure.begin(state, evidence, 0, missing) if missing is not None else procedure.begin(state, evidence, 0)
    )
    assert not found.memory.void.all()
    return np.asarray(found.answer)


@pytest.mark.parametrize("runs", quick([400, 2000], 1))
def test_with_the_best_arm_on_the_tolerance_logs_with_holes_name_it_as_seldom_as_promised(runs: int) -> None:
    """'new' earns most and is unfair by nothing: to name it is wrong, which may happen in 0.05 of runs. About 1 % were seen; 20 of
    400 with a chance below 1e-7. Where missing outcomes are not charged, nearly half of the logs name it."""
    asked = problem(caused=False, tolerance=float(gaps(caused=False)[0]))
    evidence, missing = logs(asked, False, 12_000, 0.15, runs)
    assert (answers(asked, evidence, missing) == 0).sum() <= 0.05 * runs
    few = CellEvidence(asked, evidence.counts[:200])
    assert (answers(asked, few, None) == 0).sum() > 60  # the mutant: holes ignored


def test_the_same_where_the_attribute_has_a_cause() -> None:
    """150 logs: 7 may be wrong on average, 16 with a chance of 1e-3; of the mutant most are."""
    asked = problem(caused=True, tolerance=float(gaps(caused=True)[0]))
    assert not asked.plain
    evidence, missing = logs(asked, True, 12_000, 0.15, 150)
    assert (answers(asked, evidence, missing) == 0).sum() < 16
    assert (answers(asked, evidence, None) == 0).sum() > 75


@pytest.mark.parametrize("caused", [False, True])
def test_few_holes_leave_an_answer(caused: bool) -> None:
    """'new' is fair and earns most: of 30 logs with 1 % of some outcomes missing nearly all prove it, without a pull."""
    asked = problem(caused, tolerance=float(gaps(caused)[0]) + 0.1)
    evidence, missing = logs(asked, caused, 30_000, 0.01, 30)
    found = answers(asked, evidence, missing)
    assert missing.any() and (found == 0).sum() >= 25


def test_holes_are_divided_like_the_rows() -> None:
    asked = problem(caused=False, tolerance=0.2)
    evidence, missing = logs(asked, False, 3000, 0.3, 2)
    parts = list(parts_with_missing(evidence, missing))
    assert np.array_equal(sum(part.counts for part, _ in parts), evidence.counts)
    assert np.array_equal(sum(lacking for _, lacking in parts), missing)
    shares = [lacking.sum() / (lacking.sum() + part.pulls().sum()) for part, lacking in parts[10:]]
    assert np.mean(shares) == pytest.approx(missing.sum() / 6000, abs=0.03)


def columns_of(rows: int, share: float) -> tuple[Problem, dict[str, Any]]:
    """A log as a table, all rows of 'new'."""
    asked = problem(caused=False, tolerance=float(gaps(caused=False)[0]) + 0.1)
    rng = np.random.default_rng(5)
    s, x, v, y = np.unravel_index(rng.choice(16, rows, p=laws(caused=False)[0].ravel()), (2, 2, 2, 2))
    outcome = np.where((rng.random(rows) < share) & (y == 1), "", y.astype(str))
    return asked, {"S": s.astype(str), "X": x.astype(str), "V": v.astype(str), "Y": outcome, "arm": ["new"] * rows}


def test_from_a_table_to_a_verdict_that_says_so() -> None:
    asked, rows = columns_of(4000, 0.05)
    read = read_log(asked, rows, columns=LogMap(arm="arm"))
    (finding,) = read.findings
    assert (
        finding.name == "missing-outcomes"
        and not finding.blocks_certification
        and "would hurt the answer most" in finding.message
    )
    assert read.missing is not None and read.missing.total == finding.rows and read.voided_by == ()
    run = algorithm("pool", asked, pulls=3000, confidence=0.9, stop="certified", log=read)
    books = run._now.state.memory
    assert (
        books.lost[0].tolist() == [finding.rows, 0] and not books.steady_n.any() and not books.recent_n.any()
    )  # no drift is looked for
    (charged,) = run.verdict().notes
    assert (str(charged.code), charged.rows) == ("log-outcomes-charged", finding.rows)
    usual = algorithm("pool", asked, pulls=50, log=read).verdict()
    assert [(str(note.code), note.state) for note in usual.notes] == [("log-blocks-the-answer", "missing-outcomes")]
    assert "missing-outcomes" in usual.reasons  # the posterior takes them as missing at random
    # what was read is evaluated with its holes: bounds, as from the table itself
    direct, again = evaluate(asked, rows, columns=LogMap(arm="arm")), evaluate(asked, read)
    assert again.missing is not None and again.missing.rows == finding.rows
    assert [arm.outcome for arm in again.arms] == [arm.outcome for arm in direct.arms]


def world_of(asked: Problem) -> NetworkWorld:
    """In which no outcome is lost."""
    tables = [
        table("S", [], [0.5, 0.5]), table("X", ["S"], CONTEXTS), table("V", ["X"], [[0.7, 0.3], [0.7, 0.3]]),
        table("Y", ["X", "V"], np.stack([1 - THETA, THETA], axis=-1)),
    ]  # fmt: skip
    return NetworkWorld(asked, Network(dict(asked.variables), {each.node: each for each in tables}))


def test_fresh_rows_without_holes_are_no_drift() -> None:
    """The log's outcomes are lower than those of the pulls that follow, as it lacks ones: that voids nothing."""
    asked, rows = columns_of(6000, 0.3)
    where = LogMap(arm="arm")
    found = identify(asked, world_of(asked), pulls=4000, confidence=0.9, stop="certified", log=rows, columns=where)
    assert found.pulls > 500 and not [f for f in found.verdict.findings if f.blocks_certification]


def test_many_runs_at_once_refuse_holes_where_they_would_be_certified() -> None:
    asked, rows = columns_of(500, 0.05)
    given: dict[str, Any] = {
        "algorithms": ["pool"],
        "pulls": [50],
        "runs": 2,
        "log": rows,
        "columns": LogMap(arm="arm"),
    }
    with pytest.raises(DataError, match="lacks"):
        simulate(asked, world_of(asked), confidence=0.9, stop="certified", **given)
    assert simulate(asked, world_of(asked), **given).started_from is not None
