"""Mistakes that are easily made where several rows of fairness are certified, each planted in the code and caught by a named check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
import row_checks

from fairarm.core.fairness import Rows
from fairarm.core.proof import accounts
from fairarm.core.proof import bets as certified
from fairarm.core.proof.claims import Claims, Ends, Rule

Patch = pytest.MonkeyPatch


def row_dropped(patch: Patch) -> None:
    """ "Meets all rows" without the last of them."""
    honest = Rule.__dict__["met"].func

    def fewer(rule: Rule) -> Claims:
        made = honest(rule)
        return Claims(made.slope[:, :-1], made.level[:, :-1], made.two_sided[:, :-1])

    patch.setattr(Rule, "met", property(fewer))


def end_dropped(patch: Patch) -> None:
    """Of the ends at which an arm can be broken only those of the first row count."""
    honest = accounts.least
    patch.setattr(accounts, "least", lambda kept: honest(replace(kept, broken=kept.broken[:, :, :2])))


def end_flipped(patch: Patch) -> None:
    """The last end is taken to be broken on its other side."""
    honest = Ends.of.__func__

    def flipped(cls: type[Ends], rows: Rows) -> Ends:
        made = honest(cls, rows)
        sign = made.sign.copy()
        sign[-1] *= -1
        return Ends(made.row, sign, made.level)

    patch.setattr(Ends, "of", classmethod(flipped))


def end_of_a_met_row_flipped(patch: Patch) -> None:
    """ "Value above low" taken as "value below low" in "meets all rows"."""
    honest = Rule.__dict__["met"].func

    def flipped(rule: Rule) -> Claims:
        made = honest(rule)
        slope, level = made.slope.copy(), np.array(made.level)
        slope[:, -1] *= -1
        level[:, -1] *= -1
        return Claims(slope, level, made.two_sided)

    patch.setattr(Rule, "met", property(flipped))


def nearer_end_mistaken(patch: Patch) -> None:
    """Every row with two ends is folded into |value| ≤ high, although the ends are not ∓ the same."""
    honest = Rule.__dict__["met"].func

    def folded(rule: Rule) -> Claims:
        rows = rule.rows
        wide = Rows(rows.by_group, rows.everyone, np.where(np.isfinite(rows.low + rows.high), -rows.high, rows.low), rows.high)  # fmt: skip
        return honest(Rule(rule.law, wide, rule.delta, rule.shares))

    patch.setattr(Rule, "met", property(folded))


def account_of_another_end(patch: Patch) -> None:
    """What a bet against one end wins goes to the account of the next."""
    honest = certified.settle

    def mixed_up(rule, ledger, *rest):
        before, after = ledger.accounts.broken, honest(rule, ledger, *rest)
        won = np.roll(after.accounts.broken - before, 1, axis=2)
        kept = replace(after.accounts, broken=before + won)
        return replace(after, accounts=replace(kept, refuted=certified.refuted_now(rule, kept, after.labels)))

    patch.setattr(certified, "settle", mixed_up)


def everybody_left_out(patch: Patch) -> None:
    """A row against the mean of everybody without that mean."""
    honest = Rule.__dict__["row_law"].func

    def alone(rule: Rule) -> np.ndarray:
        rows = replace(rule.rows, everyone=np.zeros(len(rule.rows)))
        return honest(Rule(rule.law, rows, rule.delta, rule.shares))

    patch.setattr(Rule, "row_law", property(alone))


def third_group_left_out(patch: Patch) -> None:
    """μ_h − μ_b over the first two groups only."""
    honest = certified.pair_claims
    patch.setattr(certified, "pair_claims", lambda rule, b, h, mix: honest(rule, b, h, mix * np.array([1.0, 1.0, 0.0])))


def delta_split_over_rows(patch: Patch) -> None:
    """A union over ends that nothing asks for."""
    honest = Rule.label_threshold.fget
    patch.setattr(Rule, "label_threshold", property(lambda rule: honest(rule) + np.log(len(rule.ends))))


@dataclass(frozen=True)
class Mutant:
    plant: Callable[[Patch], None]
    check: Callable[[], bool]


MUTANTS = [
    Mutant(row_dropped, row_checks.every_end_is_seen),
    Mutant(end_dropped, row_checks.true_rows_do_not_grow_rich),
    Mutant(end_flipped, row_checks.every_end_is_seen),
    Mutant(end_flipped, row_checks.claims_are_what_they_say),
    Mutant(row_dropped, row_checks.claims_are_what_they_say),
    Mutant(nearer_end_mistaken, row_checks.claims_are_what_they_say),
    Mutant(end_of_a_met_row_flipped, row_checks.true_rows_do_not_grow_rich),
    Mutant(nearer_end_mistaken, row_checks.every_end_is_seen),
    Mutant(account_of_another_end, row_checks.true_rows_do_not_grow_rich),
    Mutant(everybody_left_out, row_checks.true_rows_do_not_grow_rich),
    Mutant(third_group_left_out, row_checks.claims_are_what_they_say),
    Mutant(delta_split_over_rows, row_checks.delta_is_not_spent_on_rows),
]
CHECKS = list(dict.fromkeys(mutant.check for mutant in MUTANTS))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_true_code_passes(check):
    assert check()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.plant.__name__}-by-{m.check.__name__}")
def test_the_mutant_is_caught(mutant, monkeypatch):
    mutant.plant(monkeypatch)
    assert not mutant.check()
