"""The evidence against each answer from the accounts: by hand, by a plain loop, and what is answered when."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from fairarm.core.answer import Code
from fairarm.core.proof.accounts import Accounts, log_evidence, refuted_now
from fairarm.core.proof.bets import certificate, open_ledger
from fairarm.core.proof.claims import Rule

HALF = np.array([0.5, 0.5])


def rule_of(arms: int, known: bool = True) -> Rule:
    return Rule(np.full((arms, 2, 2), 0.5), 0.1, 0.05, HALF if known else None)


def accounts_of(arms: int, rng: np.random.Generator, ends: int) -> Accounts:
    return Accounts(
        broken=rng.normal(size=(2, arms, 2)),
        beats=rng.normal(size=(2, arms, arms, ends)),
        fair=rng.normal(size=(2, arms)),
        refuted=np.zeros((2, 1 + arms), dtype=bool),
    )


def test_two_arms_by_hand():
    """V[0] = 2, 3; V[1] = 1, −1; W[0,1] = 1.5; W[1,0] = 4; F = 0.25, 0.5.

    E_0 of "none is fair" is 2 − 1; of arm 0: F[0] + min(1, −1, 4) = −0.75; of arm 1: F[1] + min(2, 3, 1.5) = 2.
    """
    made = Accounts(
        broken=np.array([[[2.0, 3.0], [1.0, -1.0]]]),
        beats=np.array([[[[9.0], [1.5]], [[4.0], [9.0]]]]),
        fair=np.array([[0.25, 0.5]]),
        refuted=np.zeros((1, 3), dtype=bool),
    )
    assert log_evidence(made).tolist() == [[1.0, -0.75, 2.0]]


@pytest.mark.parametrize("arms", [1, 2, 5])
@pytest.mark.parametrize("ends", [1, 2])
def test_evidence_by_a_plain_loop(arms, ends):
    made = accounts_of(arms, np.random.default_rng([arms, ends]), ends)
    found = log_evidence(made)
    for n in range(2):
        assert found[n, 0] == pytest.approx(sum(min(made.broken[n, b]) for b in range(arms)))
        for h in range(arms):
            terms = [min(*made.broken[n, b], *made.beats[n, b, h]) for b in range(arms) if b != h]
            assert found[n, 1 + h] == pytest.approx(made.fair[n, h] + sum(terms))


def no_labels(rule: Rule) -> np.ndarray:
    return np.zeros((1, len(rule.ends) + 1, len(rule.law)))


def test_refuted_at_one_over_delta_whatever_the_number_of_arms_and_for_good():
    for arms in (2, 30):
        rule = rule_of(arms)
        assert rule.answer_threshold == pytest.approx(math.log(20))
        assert rule.label_threshold == pytest.approx(math.log(20 * arms))
        made = Accounts.opened(rule, 1)
        made.fair[0, 1] = rule.answer_threshold
        assert np.flatnonzero(refuted_now(rule, made, no_labels(rule))[0]).tolist() == [2]
        made.fair[0, 1] -= 1e-9
        assert not refuted_now(rule, made, no_labels(rule)).any()
        once = replace(made, refuted=np.arange(1 + arms)[None] == 2, fair=made.fair - 5)
        assert np.flatnonzero(refuted_now(rule, once, no_labels(rule))[0]).tolist() == [2]
    assert rule_of(3, known=False).answer_threshold == pytest.approx(math.log(1 / 0.045))


@pytest.mark.parametrize("known", [True, False])
def test_a_proved_label_refutes_the_answers_that_need_it(known: bool) -> None:
    """By hand, with w = 1/K: an arm proved unfair is refuted, all arms proved fair at all ends refute "none"; what was won otherwise counts
    for 1 − w of it."""
    for arms in (2, 3, 6):
        rule = replace(rule_of(arms, known), label_weight=1 / arms)
        made, labels = Accounts.opened(rule, 1), no_labels(rule)
        labels[0, -1, 1] = rule.label_threshold
        assert np.flatnonzero(refuted_now(rule, made, labels)[0]).tolist() == [2]
        assert not refuted_now(replace(rule, label_weight=0.0), made, labels).any()
        labels[0, -1, 1] = (
            rule.label_threshold + math.log(1 - (arms - 1) / arms * math.exp(-rule.answer_threshold)) - 1e-9
        )
        assert not refuted_now(rule, made, labels).any()
        fair = no_labels(rule)
        fair[0, :-1] = rule.label_threshold
        assert refuted_now(rule, made, fair)[0, 0]
        fair[0, 0] = -50.0  # one end of each arm is open: nothing is proved
        assert not refuted_now(rule, made, fair).any()
        made.fair[0, 0] = rule.answer_threshold + math.log(arms / (arms - 1)) + 1e-9
        assert np.flatnonzero(refuted_now(rule, made, no_labels(rule) - 50)[0]).tolist() == [1]


def answered(*refuted: int, arms: int = 3) -> tuple[int, bool]:
    """Positions 0 (none is fair), 1 + arm."""
    rule = rule_of(arms)
    ledger = open_ledger(rule)
    ledger.accounts.refuted[0, list(refuted)] = True
    found = certificate(rule, ledger)
    return int(found.answer[0]), bool(found.void[0])


def test_an_answer_is_what_is_left_when_every_other_is_refuted():
    assert answered(0, 1, 3) == (1, False)
    assert answered(1, 2, 3) == (Code.NONE, False)
    assert answered(1, 2) == answered(0, 2) == answered() == (Code.UNDECIDED, False)
    assert answered(0, 1, 2, 3) == (Code.UNDECIDED, True)
    assert answered(0, arms=1) == (0, False)
    assert answered(1, arms=1) == (Code.NONE, False)


def test_both_ends_of_the_shares_count():
    """ "1 is fair and beats 0" has to be refuted at both ends of the interval for P(S) before arm 1 is."""
    rule = rule_of(2, known=False)
    made = Accounts.opened(rule, 1)
    made.broken[0, 0] = made.beats[0, 0, 1, 0] = rule.answer_threshold
    assert refuted_now(rule, made, no_labels(rule))[0].tolist() == [True, False, False]
    made.beats[0, 0, 1, 1] = rule.answer_threshold
    assert refuted_now(rule, made, no_labels(rule))[0].tolist() == [True, False, True]
