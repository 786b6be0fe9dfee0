"""How far an answer from a log can be trusted: missing outcomes, a hidden cause, a wrong table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairarm.problem.mechanism import NO_FAIR_ARM
from fairarm.reports.words.numbers import count, percent

if TYPE_CHECKING:
    from fairarm.experiments.evaluate import Evaluation

AT_RANDOM = "outcomes are missing at random given the cell"


def missing_text(found: Evaluation) -> str | None:
    """What missing outcomes do to the answer, and which assumption it needs; None where none is missing."""
    lost = found.missing
    if lost is None:
        return None
    start = f"{count(lost.rows, 'outcome')} {'is' if lost.rows == 1 else 'are'} missing ({percent(lost.share)} of the rows)."
    if lost.how == "at random":
        return f"{start} It was stated that {AT_RANDOM}: everything here rests on it."
    if lost.stands is None or lost.probability is None:
        return f"{start} Intervals hold whatever they were; probabilities are those if {AT_RANDOM}."
    answer = found.arm or NO_FAIR_ARM
    if lost.stands:
        return f"{start} Whatever they were, the answer stays {answer} (probability at least {lost.probability:.3f})."
    return (
        f"{start} That the answer is {answer} needs that {AT_RANDOM}: whatever they were, its probability is at least "
        f"{lost.probability:.3f} and no more can be said. Intervals hold whatever they were."
    )
