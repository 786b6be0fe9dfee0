"""Codes and their sentences: every code has one, and docs/json.md lists it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairarm.beliefs.assumptions import Assumption, Obstacle, Statement
from fairarm.beliefs.certified import Bound
from fairarm.experiments.plan import PlanNote
from fairarm.logs.reading import Dropped
from fairarm.reports.words import bounds_text, sentence
from fairarm.reports.words.statements import BOUNDS, SENTENCES

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")


def causes(*blocks: list[list[str]]) -> Statement:
    """Of blocks of attributes, each with its causes."""
    facts = [{"attributes": attributes, "causes": above} for attributes, above in blocks]
    members, above = (tuple(name for block in facts for name in block[key]) for key in ("attributes", "causes"))
    return Statement(Assumption.CAUSES, {"attributes": members, "causes": above, "blocks": facts, "outcome": "Y"})


@pytest.mark.parametrize("code", [*Assumption, *Obstacle, *Bound, *PlanNote])
def test_every_code_has_words_and_is_documented(code: Assumption | Obstacle | Bound | PlanNote) -> None:
    assert code in SENTENCES or code in BOUNDS
    assert f"`{code}`" in DOCUMENTED or f'`"{code}"`' in DOCUMENTED


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            Statement(Assumption.INPUTS, {"decision": "V", "inputs": ("X", "Z"), "outcome": "Y"}),
            "The logged 'V' was decided from X, Z and chance alone: nothing else that moved it moves 'Y' as well.",
        ),
        (
            Statement(Assumption.INPUTS, {"decision": "V", "inputs": (), "outcome": "Y"}),
            "The logged 'V' was decided from nothing and chance alone: nothing else that moved it moves 'Y' as well.",
        ),
        (
            causes([["region"], []], [["race"], ["region"]]),
            "The causal graph is as declared. Nothing acts on region and on another column as well; nothing but region acts on race and on "
            "another column as well, and 'Y' is reached from there only along the declared arrows.",
        ),
        (
            causes([["race", "sex"], []], [["age"], ["region", "year"]], [["faith"], ["region", "year"]]),
            "The causal graph is as declared. Nothing but region, year acts on age or faith and on another column as well; nothing acts on race "
            "or sex and on a column other than these as well, and 'Y' is reached from there only along the declared arrows.",
        ),
        (
            Statement(Assumption.FITTED, {"arm": None, "node": "X", "rows": 12}),
            "The mechanism of 'X' was not declared: it was fitted from 12 rows, and its error is in the usual intervals.",
        ),
        (
            Statement(Assumption.LEFT_OUT, {"dropped": (Dropped("sex", "U", 3), Dropped("sex", "", 1))}),
            "Rows were left out on purpose (sex = U: 3 rows; sex = (missing): 1 row): the answer is about the others alone.",
        ),
        (Statement(Obstacle.FINDING, {"finding": "{oops}"}), "the log has the finding '{oops}'"),
    ],
)
def test_a_sentence_is_made_of_its_facts(said: Statement, expected: str) -> None:
    assert sentence(said) == expected


def test_bounds_in_words() -> None:
    assert bounds_text(None) is None
    assert bounds_text((Bound.REGION, Bound.BERNSTEIN)) == "joint region of the cell means and empirical Bernstein bounds of weighted rows"  # fmt: skip
