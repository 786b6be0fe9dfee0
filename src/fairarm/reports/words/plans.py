"""What a plan says beside its table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairarm.problem.outcome import Outcome
from fairarm.reports.words.numbers import between, digits_of, value

if TYPE_CHECKING:
    from fairarm.experiments.what_pulls_buy import PullsBuy


def bought_text(found: PullsBuy, outcome: Outcome) -> str:
    """What the next pulls buy after a log, at one average cost."""
    limit = "" if found.average_cost is None else f" at {found.average_cost:.4g} per pull"
    right = found.right
    text = (
        f"The next {found.pulls} pulls{limit} (cost {found.cost:.6g}): right with probability {right.after:.3f}, {right.before:.3f} without "
        f"them (95 % limits of the difference {between(right.low, right.high, '+.3f')})"
    )
    used = found.outcome
    if used is None:
        return f"{text}. What outcome to expect is not known: say which arm is deployed."
    digits = digits_of(outcome, [used.high - used.low])
    signed = digits_of(outcome, [used.high - used.low], signed=True)
    return f"{text}; expected outcome {value(used.after, digits)}, {value(used.before, digits)} without them ({between(used.low, used.high, signed)})."
