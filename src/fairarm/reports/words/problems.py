"""What a problem asks, what fairness does not mean, and what can be said before the first pull."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem
from fairarm.reports.words.numbers import Marked, plan_text

if TYPE_CHECKING:
    from fairarm.core.limit.fewest_pulls import Limit
    from fairarm.experiments.inspect import Inspection


def question(problem: Problem) -> tuple[str | Marked, ...]:
    """What a problem asks, with its three nodes marked."""
    s, other = pair_of(problem)
    beside = wide_tolerance(problem)
    return (
        "Choose how ", Marked(problem.decision), " is decided so that ", Marked(problem.outcome.node),
        " is highest, while changing ", Marked(problem.sensitive),
        f" ({s}, {other}) changes it by less than {problem.gap_tolerance:.6g}.{f' {beside}' if beside else ''}",
    )  # fmt: skip


def wide_tolerance(problem: Problem) -> str | None:
    """What a tolerance means that no gap can exceed; None where some gap can."""
    tolerance, width = problem.gap_tolerance, problem.outcome.width
    if tolerance < width:
        return None
    but = "" if tolerance > width else ", but for one whose groups lie at the two ends of it"
    return (
        f"The tolerance {tolerance:.6g} is not smaller than the outcome's range {width:.6g}: every arm is fair by "
        f"definition{but}."
    )


def limit_text(problem: Problem, limit: Limit, what: str) -> str:
    """The limit in a sentence: T*, the pulls that it means at 0.05, and what is hardest to exclude."""
    if limit.pulls == 0 or not limit.alternatives:
        return f"Limit, {what}: no pull is needed, as no truth would give another answer (T* = 0)."
    if not limit.binding or not math.isfinite(limit.pulls):
        return f"Limit, {what}: no number of pulls is enough (T* = inf)."
    hardest = limit.binding[0]
    return (
        f"Limit, {what}: T* = {limit.pulls:.4g} ({limit.form}); a rule that errs with probability 0.05 whatever the truth needs about "
        f"{limit.pulls_needed(0.05):.4g} pulls on average. Hardest to exclude: {problem.arm_names[hardest.arm]}, {hardest.kind}."
    )


def paper_lines(found: Inspection) -> Iterator[tuple[str, bool]]:
    """What the paper's algorithms would do with a problem, and whether each sentence is a warning."""
    if found.v_star is not None:
        yield (
            f"The paper's csr with {found.pulls} pulls: {found.phases} phases; every arm is informed at a rate of at least "
            f"v* = {found.v_star:.4g} per pull. First phase: {plan_text(found.first_plan)}.",
            False,
        )
    if found.fair_from_phase is not None and found.phases is not None and found.fair_from_phase > found.phases:
        yield (
            f"The tolerance is small against the outcome's range: the paper's algorithms can show no arm to be fair before "
            f"phase {found.fair_from_phase}, and {found.pulls} pulls give {found.phases} phases. Use more pulls.",
            True,
        )
    if found.error_bound is not None and found.error_bound < 1:
        yield f"Theorem 1 bounds the error of csr-v1 by {found.error_bound:.3g} (it is very loose).", False
    if found.none_bound is not None and found.none_bound > 0:
        yield f"Theorem 2: csr says so with probability at least {found.none_bound:.3g} (it is very loose).", False


def not_fair_means(sensitive: str) -> tuple[str, ...]:
    """What "fair" does not mean; in full in docs/fairness.md."""
    return (
        "Groups, not persons. An arm can be fair and still treat some persons much better than others, as long as it evens out.",
        "Not equal decisions. The two groups may receive different decisions and have equal outcomes, or the reverse.",
        f"It rests on the declared graph. If an arrow is missing, or {sensitive} has a cause that was left out, the number no longer answers the question, and no amount of data will reveal that.",
        "The tolerance is a choice. It is in the outcome's own units, and should have been stated before the results were seen.",
        f"One attribute. An arm that is fair for {sensitive} may be unfair for another attribute, or for a combination of two.",
        "Nothing about why. A small gap does not show that the reasons are good, and a large one does not show bad intent.",
    )
