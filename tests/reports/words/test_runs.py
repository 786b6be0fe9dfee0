"""The sentences about a run: one for each code, with the numbers of the report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fairarm.algorithms import Answer, ArmReason, Status
from fairarm.algorithms.notes import Note, RunNote
from fairarm.catalog import load_problem
from fairarm.experiments.identify import Identification, PhaseStory, identify
from fairarm.reports.words import after_phase, arm_reason, closing, run_note


@pytest.fixture(scope="module")
def run() -> Identification:
    coin = load_problem("coin")
    return identify(coin.problem, coin.world, algorithm="csr-v2", pulls=300, seed=1)


CHANCES = {"fair_probability": 0.123, "best_probability": 0.0456}

SENTENCES: list[tuple[ArmReason, dict[str, Any], str]] = [
    (ArmReason.FOUND, {}, "found: best of the fair arms"),
    (ArmReason.RECOMMENDED, {}, "recommended: best of the fair arms"),
    (ArmReason.UNFAIR, {"gaps": {"a|b": -0.25, "b|a": 0.125}}, "unfair: gap 0.25 > 0.1"),
    (ArmReason.UNFAIR, {"gaps": {"a|b": None, "b|a": 0.125}}, "unfair: gap 0.125 > 0.1"),
    (ArmReason.WORSE, {}, "worse than a fair arm"),
    (ArmReason.STILL_RUNNING, {}, "still in the running"),
    (ArmReason.STILL_RUNNING, CHANCES, "still in the running: the best fair arm with probability 0.046"),
    (ArmReason.NO_USABLE_PULL, {}, "not known well enough: no usable pull"),
    (ArmReason.LOWER_ESTIMATE, {}, "a lower estimate than the arm found"),
    (ArmReason.NOT_SHOWN_FAIR, {}, "not shown to be fair"),
    (ArmReason.UNFAIR_PROVED, {"unfair_toward": "b"}, "unfair toward b (proved)"),
    (ArmReason.UNFAIR_PROVED, {}, "unfair (proved)"),
    (ArmReason.WORSE_PROVED, {}, "worse than the arm found (proved)"),
    (ArmReason.UNFAIR_OR_WORSE_PROVED, {}, "unfair or worse than the arm found (proved)"),
    (ArmReason.UNLIKELY_FAIR, {"unfair_toward": "a", **CHANCES}, "unfair toward a: fair with probability 0.12"),
    (ArmReason.UNLIKELY_BEST, CHANCES, "worse than the arm found: the best fair arm with probability 0.046"),
    (ArmReason.NOT_KNOWN, CHANCES, "not known well enough: fair with probability 0.12, best with 0.046"),
]


@pytest.mark.parametrize(("reason", "changes", "said"), SENTENCES)
def test_each_reason_in_words(run: Identification, reason: ArmReason, changes: dict[str, Any], said: str) -> None:
    nothing = {"best_probability": None, "fair_probability": None, "unfair_toward": None}
    arm = replace(run.verdict.arms[0], reason=reason, **(nothing | changes))
    assert arm_reason(run.verdict, arm) == said


def test_no_reason_is_left_without_words() -> None:
    assert {reason for reason, _, _ in SENTENCES} == set(ArmReason)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (ArmReason.FOUND, "found: best of all; fairness was not tested"),
        (ArmReason.WORSE, "worse than another arm"),
    ],
)
def test_reasons_where_fairness_was_not_tested(run: Identification, reason: ArmReason, said: str) -> None:
    verdict = replace(run.verdict, fairness_tested=False)
    assert arm_reason(verdict, replace(verdict.arms[0], reason=reason)) == said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, [("What is recommended is the truth in this world.", "good")]),
        (
            {"recommended": Answer(Status.FOUND, "tilted")},
            [("What is recommended is not the truth in this world.", "bad")],
        ),
        ({"recommended": Answer(Status.NO_FAIR_ARM)}, [("What is recommended is not the truth in this world.", "bad")]),
        (
            {"reasons": ("arms-too-close",)},
            [("Give more pulls.", "plain"), ("What is recommended is the truth in this world.", "good")],
        ),
    ],
)
def test_the_closing_lines_of_a_run(run: Identification, changes: dict[str, Any], said: list[tuple[str, str]]) -> None:
    found = replace(run, verdict=replace(run.verdict, decision=replace(run.verdict.decision, **changes)))
    assert [(remark.text, remark.tone) for remark in closing(found)] == said
    untested = closing(replace(found, verdict=replace(found.verdict, fairness_tested=False)))
    assert next(untested).text == "This algorithm does not test fairness: the arm may be unfair."


def test_nothing_is_said_of_a_truth_that_is_not_known(run: Identification) -> None:
    assert list(closing(replace(run, truth=None))) == []


def test_what_was_known_after_a_phase() -> None:
    tested = PhaseStory(1, 9, 1.0, (), ("a", "b"), ("a",), "a", ("c",), None)
    assert after_phase(tested, 3) == "2 of 3 arms left, 1 shown fair, leader a; rejected c"
    assert after_phase(replace(tested, leader=None, rejected=()), 3) == "2 of 3 arms left, 1 shown fair"
    assert after_phase(replace(tested, probability=0.456), 3) == "most likely: a, probability 0.46"


NOTES = {
    RunNote.LOST_WORST: "3 rows never came; each counts",
    RunNote.LOST_AT_RANDOM: "3 rows never came. What is certified holds if they were lost at random",
    RunNote.LOST_AS_STATE: "to mean the outcome 'no'",
    RunNote.LOG_BLOCKS: "'no', found in the log, blocks the answer (3 rows)",
    RunNote.LOG_WORST: "3 rows of the log lack their outcome; what is certified counts each",
}


@pytest.mark.parametrize("code", RunNote)
def test_every_note_is_said(code: RunNote, run: Identification) -> None:
    note = Note(code, 3, "no")
    assert NOTES[code] in run_note(note)
    noted = replace(run, verdict=replace(run.verdict, notes=(note,)))
    assert run_note(note) in [remark.text for remark in closing(noted)]
