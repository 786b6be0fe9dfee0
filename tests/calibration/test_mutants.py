"""Mistakes that are easily made in these statistics, each planted in the code and caught by a named check.

A mutant is caught if its check holds for the true code and does not hold, without an exception, for the mutant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import checks
import numpy as np
import pytest
from scipy.special import betaln

from fairarm.algorithms import Algorithm, pool
from fairarm.beliefs.cells import CellBeliefs
from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.posterior import directions, prior, states
from fairarm.core.proof import accounts, region
from fairarm.core.proof import bets as certified
from fairarm.core.proof.claims import Rule
from fairarm.problem.compiled import Compiled
from fairarm.problem.fairness import unscaled_rows

Patch = pytest.MonkeyPatch


# ---- intervals ----


def normal_interval(patch: Patch) -> None:
    """θ̂_c ± z sd, as if looked at once and far from 0 and 1, instead of the region."""

    def highest(n, y, weight, delta):
        mean = np.where(n > 0, y / np.maximum(n, 1), 0.5)
        variance = np.where(n > 0, mean * (1 - mean) / np.maximum(n, 1), 0.25)
        return (weight * mean[:, None]).sum(-1) + 1.96 * np.sqrt((weight**2 * variance[:, None]).sum(-1))

    patch.setattr(region, "highest_in_region", highest)


def share_looked_at_once(patch: Patch) -> None:
    """A normal interval for P(S), for one look."""

    def once(first, second, delta):
        n = np.maximum(first + second, 1)
        half = 1.96 * np.sqrt(np.maximum(first * second, 0) / n**3)
        return np.stack([first / n - half, first / n + half], axis=-1)

    patch.setattr(region, "share_interval", once)


def mixture_with_a_row_more(patch: Patch) -> None:
    """Off by one: the evidence of n + 1 rows set against the likelihood of n."""
    honest = region.mixture
    patch.setattr(region, "mixture", lambda n, y: honest(n + (n > 0), y))


def mixture_without_its_norm(patch: Patch) -> None:
    """B(y + α, n − y + β) not divided by B(α, β): the prior counts once too often."""
    honest = region.mixture

    def heavier(n, y):
        found = honest(n, y)
        return replace(found, log_evidence=found.log_evidence - (n > 0).sum(axis=-1) * betaln(0.5, 0.5))

    patch.setattr(region, "mixture", heavier)


# ---- bets ----


def union_bound_dropped(patch: Patch) -> None:
    """1/δ instead of K/δ for labels."""
    patch.setattr(Rule, "label_threshold", property(lambda rule: math.log(1 / rule.delta)))


def share_of_delta_dropped(patch: Patch) -> None:
    """The bets take all of δ although the interval for P(S) takes a tenth."""
    patch.setattr(Rule, "answer_threshold", property(lambda rule: math.log(1 / rule.delta)))


def blend_inverted(patch: Patch) -> None:
    """Payoffs divided by the blend's reciprocal: rare cells weigh too little, frequent ones too much."""
    honest = certified.log_payoffs

    def inverted(rule, claims, blend, theta, h):
        up, down = honest(rule, claims, blend, theta, h)
        shift = 2 * np.log(np.where(blend > 0, blend * blend.shape[1], 1.0))
        return up + shift, down + shift

    patch.setattr(certified, "log_payoffs", inverted)


def with_batch(seen, batch):
    """Totals that include the batch that is being settled."""
    return replace(seen, n=seen.n + batch.n, y=seen.y + batch.y)


def bets_that_peek(patch: Patch) -> None:
    """Estimates that the bets are made from include the batch that settles them."""
    settle, honest = certified.settle, certified.estimate

    def peeking(rule, ledger, batch, *rest, **more):
        patch.setattr(certified, "estimate", lambda r, seen: honest(r, with_batch(seen, batch)))
        try:
            return settle(rule, ledger, batch, *rest, **more)
        finally:
            patch.setattr(certified, "estimate", honest)

    patch.setattr(certified, "settle", peeking)


def leader_chosen_after_the_batch(patch: Patch) -> None:
    """Which answer is bet on is chosen with the rows of the batch."""
    settle, honest = certified.settle, certified.leader

    def late(rule, ledger, batch, *rest, **more):
        def informed(rule, seen, known, *others):
            after = with_batch(seen, batch)
            return honest(rule, after, certified.estimate(rule, after), *others)

        patch.setattr(certified, "leader", informed)
        try:
            return settle(rule, ledger, batch, *rest, **more)
        finally:
            patch.setattr(certified, "leader", honest)

    patch.setattr(certified, "settle", late)


def account_reset(patch: Patch) -> None:
    """An account that has lost starts anew."""
    honest = certified.settle

    def forgiving(*given, **more):
        ledger = honest(*given, **more)
        kept = ledger.accounts
        names = ("broken", "beats", "fair")
        return replace(ledger, accounts=replace(kept, **{name: np.maximum(getattr(kept, name), 0) for name in names}))

    patch.setattr(certified, "settle", forgiving)


def settled_as_they_come(patch: Patch) -> None:
    """Whichever batch is complete first is settled first."""

    def eager(rule, ledger, opened, seed=0):
        for batch in opened:
            ledger = ledger if batch is None else certified.settle(rule, ledger, batch, seed)
        return ledger, [batch for batch in opened if batch is None]

    patch.setattr(certified, "settle_ready", eager)


def lost_rows_ignored(patch: Patch) -> None:
    """A row that never came counts for nothing."""
    honest = certified.paid
    patch.setattr(certified, "paid", lambda rule, n, y, lost, *rest: honest(rule, n, y, None, *rest))


def shares_from_unfinished_batches(patch: Patch) -> None:
    """Groups of whatever natural rows had come count for P(S)."""
    honest = certified._with
    patch.setattr(certified, "_with", lambda seen, batch: honest(seen, replace(batch, cut=None)))


def level_priced_too_high(patch: Patch) -> None:
    """Bets against ζ ≥ E priced as if the claim were ζ ≥ 1.4 E."""
    honest = certified.gap_claims

    def lower(*given):
        made = honest(*given)
        return replace(made, level=np.where(made.level > 0, 1.4 * made.level, made.level))

    patch.setattr(certified, "gap_claims", lower)


def contexts_taken_as_known(patch: Patch) -> None:
    """The unknown law of contexts plugged in as if each were equally likely."""

    def plugged(rule):
        return Rule(rule.law / (rule.context.max() + 1), rule.tolerance, rule.delta, rule.shares)

    settle = certified.settle
    patch.setattr(certified, "settle", lambda rule, *rest: settle(plugged(rule), *rest))


def one_side_only(patch: Patch) -> None:
    """Of the two ends at which fairness can be broken only the high one is looked at."""
    honest = accounts.least

    def one_sided(kept):
        return honest(replace(kept, broken=kept.broken[:, :, :1]))

    patch.setattr(accounts, "least", one_sided)


def one_end_of_the_share(patch: Patch) -> None:
    """ "k beats b" refuted at one end of the interval for P(S) is taken as refuted."""
    honest = certified.refuted_now

    def either(rule, kept, labels):
        return honest(rule, replace(kept, beats=kept.beats.max(axis=3, keepdims=True)), labels)

    patch.setattr(certified, "refuted_now", either)


def law_test_from_part_of_a_batch(patch: Patch) -> None:
    """The declared law is tested with what has come of a batch while others of its rows are still out."""
    honest = Algorithm._settled

    def eager(self, now):
        books, part = now.state.memory, now.evidence.since(now.before_phase)
        natural = books.natural + part.counts[:, 0].sum(axis=(1, 3))
        seen = self.procedure._certified.declared.after(books.law, part, natural)
        state = now.state.but(memory=replace(books, voided=seen.voided))
        return honest(self, replace(now, state=state))

    patch.setattr(Algorithm, "_settled", eager)


# ---- beliefs ----


def gap_sign_dropped(patch: Patch) -> None:
    """Fair means ζ < E, not |ζ| < E."""
    belief = pool.standing_of

    def one_sided(beliefs, outcomes, gaps, tolerance, *rest):
        return belief(beliefs, outcomes, np.maximum(gaps, 0.0), tolerance, *rest)

    patch.setattr(pool, "standing_of", one_sided)


def share_plugged_in(patch: Patch) -> None:
    """Every draw has the same P(S), its estimate."""

    def fixed(self, rng, draws):
        return np.broadcast_to(self.shares[:, None], (len(self.shares), draws, self.shares.shape[1]))

    patch.setattr(CellBeliefs, "_drawn_shares", fixed)


def contexts_plugged_in(patch: Patch) -> None:
    """Every draw has the same law of contexts, its estimate."""

    def fixed(self, theta, rng):
        law = np.broadcast_to(self.law, (len(theta), *self.law.shape[1:]))
        return np.einsum("ndc,nktc->ndkt", theta, law)

    patch.setattr(CellBeliefs, "_group_means", fixed)


def exposure_inverted(patch: Patch) -> None:
    """Rows in a context multiplied by its exposure, not divided: the weight upside down."""
    honest = CellBeliefs.__dict__["_exposure"].func
    patch.setattr(CellBeliefs, "_exposure", property(lambda self: 1.0 / honest(self)))


def natural_counts_from_forced_rows(patch: Patch) -> None:
    """P(S) from all rows, forced ones included."""
    honest = CellEvidence.summary

    def pooled(self, cells):
        return replace(honest(self, cells), natural=self.counts.sum(axis=(1, 2, 4)))

    patch.setattr(CellEvidence, "summary", pooled)


def prior_counted_twice(patch: Patch) -> None:
    """Draws from counts to which the prior was added already."""
    honest = states.StatesPosterior.draw

    def twice(self, rng, draws):
        likeliest = self.grid.strength[self.weights[0].argmax()]
        rate = self.counts.sum(axis=1, keepdims=True) / self.counts.sum()
        return honest(replace(self, counts=self.counts + likeliest * rate), rng, draws)

    patch.setattr(states.StatesPosterior, "draw", twice)


def a_success_too_many(patch: Patch) -> None:
    """Off by one in the counts of the posterior."""
    honest = states.StatesPosterior.of.__func__

    def more(cls, counts, *rest):
        return honest(cls, counts + np.eye(counts.shape[2], dtype=int)[-1], *rest)

    patch.setattr(states.StatesPosterior, "of", classmethod(more))


def prior_not_learned(patch: Patch) -> None:
    """All points of the prior's grid keep the same weight, whatever the rows."""
    patch.setattr(prior.Grid, "weights", lambda self, evidence: np.full(evidence.shape, 1 / evidence.shape[1]))


def prior_mean_plugged_in(patch: Patch) -> None:
    """The prior's mean is taken as known once it is found: draws do not move it."""
    honest = prior.kept

    def sure(weights, modes, factors):
        found = honest(weights, modes, factors)
        return replace(found, root=np.zeros_like(found.root))

    patch.setattr(states, "kept", sure)


def one_mean_for_all_cells(patch: Patch) -> None:
    """No directions but the constant: the prior claims to know every arm that visits many cells."""
    none = directions.Directions.constant
    patch.setattr(CellBeliefs, "_directions", lambda self, noise=None: none(*self.seen.rows.shape))


def no_noise_floor(patch: Patch) -> None:
    patch.setattr(states, "NOISE_FLOOR", 0.0)


def tolerance_not_scaled(patch: Patch) -> None:
    """E used on the scale [0, 1] in the outcome's own units."""
    patch.setattr(Compiled, "scaled_tolerance", property(lambda self: self.problem.gap_tolerance))
    patch.setattr(Compiled, "rows", property(lambda self: unscaled_rows(self.problem)))


@dataclass(frozen=True)
class Mutant:
    plant: Callable[[Patch], None]
    check: Callable[[], bool]


MUTANTS = [
    Mutant(normal_interval, checks.intervals_cover),
    Mutant(share_looked_at_once, checks.share_intervals_cover),
    Mutant(mixture_with_a_row_more, checks.the_ratio_is_a_martingale),
    Mutant(mixture_without_its_norm, checks.the_ratio_is_a_martingale),
    Mutant(union_bound_dropped, checks.delta_is_not_overspent),
    Mutant(share_of_delta_dropped, checks.delta_is_not_overspent),
    Mutant(blend_inverted, checks.true_claims_do_not_grow_rich),
    Mutant(bets_that_peek, checks.true_claims_do_not_grow_rich),
    Mutant(leader_chosen_after_the_batch, checks.true_answers_do_not_grow_rich),
    Mutant(account_reset, checks.true_answers_do_not_grow_rich),
    Mutant(settled_as_they_come, checks.late_batches_cannot_be_used),
    Mutant(lost_rows_ignored, checks.lost_rows_are_charged),
    Mutant(shares_from_unfinished_batches, checks.only_whole_batches_tell_shares),
    Mutant(level_priced_too_high, checks.true_claims_do_not_grow_rich),
    Mutant(contexts_taken_as_known, checks.true_claims_do_not_grow_rich_with_contexts_unknown),
    Mutant(one_side_only, checks.unfair_arms_are_not_certified),
    Mutant(one_end_of_the_share, checks.both_ends_of_the_share_count),
    Mutant(law_test_from_part_of_a_batch, checks.the_law_is_tested_by_whole_batches),
    Mutant(gap_sign_dropped, checks.unfair_arms_are_not_named),
    Mutant(share_plugged_in, checks.unknown_shares_are_uncertain),
    Mutant(contexts_plugged_in, checks.unknown_contexts_are_uncertain),
    Mutant(exposure_inverted, checks.context_law_is_found),
    Mutant(natural_counts_from_forced_rows, checks.only_natural_rows_tell_shares),
    Mutant(prior_counted_twice, checks.posterior_is_conjugate),
    Mutant(a_success_too_many, checks.posterior_is_conjugate),
    Mutant(prior_not_learned, checks.posterior_is_conjugate),
    Mutant(prior_mean_plugged_in, checks.arms_overrule_the_prior),
    Mutant(one_mean_for_all_cells, checks.arms_overrule_the_prior),
    Mutant(no_noise_floor, checks.nothing_is_known_without_noise),
    Mutant(tolerance_not_scaled, checks.outcomes_are_scaled),
]
CHECKS = list(dict.fromkeys(mutant.check for mutant in MUTANTS))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_true_code_passes(check):
    assert check()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.plant.__name__}-by-{m.check.__name__}")
def test_the_mutant_is_caught(mutant, monkeypatch):
    mutant.plant(monkeypatch)
    assert not mutant.check()
