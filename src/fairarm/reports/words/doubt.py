"""How far an answer from a log can be trusted: missing outcomes, a hidden cause, a wrong table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairarm.problem.mechanism import NO_FAIR_ARM
from fairarm.reports.words.numbers import count, names, percent

if TYPE_CHECKING:
    from fairarm.experiments.doubt import Tip
    from fairarm.experiments.evaluate import Evaluation
    from fairarm.experiments.hidden_cause import HiddenArm, HiddenCause
    from fairarm.experiments.wrong_tables import WrongTable, WrongTables

OPEN = "open without one"
AT_RANDOM = "outcomes are missing at random given the cell"


def missing_text(found: Evaluation) -> str | None:
    """What missing outcomes do to the answer, and which assumption it needs; None where none is missing."""
    lost = found.missing
    if lost is None:
        return None
    start = f"{count(lost.rows, 'outcome')} {'is' if lost.rows == 1 else 'are'} missing ({percent(lost.share)} of the rows)."
    if lost.how == "at random":
        return f"{start} It was stated that {AT_RANDOM}: everything here rests on it."
    text = f"{start} Intervals hold whatever they were, and probabilities are lower bounds."
    if found.reason == "missing-outcomes":
        return f"{text} If {AT_RANDOM} (--missing at-random), there would be an answer."
    return text


# ---- a hidden cause ----


def strength(gamma: float) -> str:
    """A strength in digits that mean something; none above 100 was looked for."""
    return "100+" if math.isinf(gamma) else f"{gamma:.2f}" if gamma < 10 else f"{gamma:.3g}"


def tip_text(tip: Tip) -> str:
    """ "1.95 (surely 1.83)": up to where a claim holds at the estimates, and up to where with the probability asked for."""
    return (
        f"{strength(tip.strength)} (surely {strength(tip.sure)})"
        if tip.sure > 1.0
        else f"{strength(tip.strength)} (not surely)"
    )


def hidden_text(found: Evaluation, made: HiddenCause) -> str:
    """Where the answer tips."""
    if made.answer is None:
        return "There is no answer that a hidden cause could change."
    answer = found.recommended or NO_FAIR_ARM
    if math.isinf(made.answer.strength):
        return f"No hidden cause of up to 100 changes the answer, {answer}."
    if made.answer.strength <= 1.0 and found.missing is not None and found.missing.how == "worst":
        return (
            f"That the answer is {answer} hangs on the missing outcomes already. To see a hidden cause alone, state that they are missing at "
            f"random."
        )
    if made.answer.strength <= 1.0:
        return f"At the estimates the answer is not {answer} even without a hidden cause: it goes by probabilities."
    sure = (
        f"surely, with probability {found.confidence:g}, up to {strength(made.answer.sure)}"
        if made.answer.sure > 1.0
        else "but it is not sure even without one"
    )
    return (
        f"A hidden cause would have to move the odds of the logged '{found.problem.decision}' {strength(made.answer.strength)} times to "
        f"change the answer, {answer}, at the estimates; {sure}."
    )


def columns_text(made: HiddenCause) -> str:
    """How strong recorded columns are."""
    each = [f"{name} {strength(gamma)}" for name, gamma in sorted(made.columns.items(), key=lambda item: -item[1])]
    if not each:
        return "No recorded column precedes the decision that it could be compared with."
    return f"If it were hidden, a recorded column would have had: {names(each)}."


def hidden_assumption(found: Evaluation) -> str:
    """What the bounds take for granted."""
    groups, problem = names([f"'{name}'" for name in found.problem.attributes], 4), found.problem
    read = "" if problem.plain else ", also where people are read as another group"
    drew = names([f"'{problem.arm_names[k]}'" for k in found.evidence.randomised], 4)
    return (
        f"This takes the hidden cause to be independent of {groups} and of which arm made a row, given what was recorded{read}, and arms to be "
        f"the rules as declared, which do not see it."
        + (f" Rows of {drew} drew their decisions at random, as was said: none of them is moved." if drew else "")
        + " What is certified takes it that there is none."
    )


def fairness_words(arm: HiddenArm) -> str:
    """ "fair up to 2.10 (surely 1.90)"; it may be open without a hidden cause, where outcomes are missing."""
    if arm.fairness_tip.strength <= 1.0:
        return OPEN
    return f"{'fair' if arm.fair else 'unfair'} up to {tip_text(arm.fairness_tip)}"


def better_words(arm: HiddenArm) -> str:
    """ "better up to 1.90 (surely 1.80)"; a dash for the deployed arm itself."""
    if arm.better_tip is None:
        return "–"
    if arm.better_tip.strength <= 1.0:
        return OPEN
    return f"{'better' if arm.better else 'worse'} up to {tip_text(arm.better_tip)}"


# ---- a wrong table ----


def error_text(error: float) -> str:
    """An error of a table's rows; a claim that no error changes says so."""
    return "any" if math.isinf(error) else f"{error:.3f}" if error >= 0.001 else "less than 0.001" if error > 0 else "0"


def changed_from(error: float) -> str:
    """The error from which on a claim changes."""
    return "never" if math.isinf(error) else error_text(error)


def table_name(table: WrongTable) -> str:
    """Whose table it is."""
    return f"arm {table.name}" if table.of_arm else f"P({table.name})" if "|" in table.name else f"'{table.name}'"


def tables_text(made: WrongTables | None, answer: str) -> str | None:
    """How far off declared tables may be before the answer tips; None where that was not looked at."""
    if made is None:
        return None
    weakest = made.weakest
    if weakest is None and math.isinf(made.together):
        return f"However wrong the declared tables are, the answer, {answer}, is the same at these outcomes."
    if made.together <= 0:
        return "At the estimates the answer is another, whatever the declared tables are: it goes by probabilities."
    start = f"If the rows of all arms' declared tables are off by less than {error_text(made.together)}, the answer stays {answer}"
    alone = (
        ""
        if weakest is None
        else f"; one table alone would have to be off by {error_text(weakest.answer)} ({table_name(weakest)})"
    )
    proof = "" if made.certified is None else f". What is certified stands up to {error_text(made.certified)}"
    return f"{start}{alone}{proof}.{_seen_text(made)}{_left_out(made)}"


def _left_out(made: WrongTables) -> str:
    """What was not looked at."""
    each = [f"P({name})" for name in made.left_out]
    return f" Not looked at: {names(each, 4)}, as a child's mechanism is not declared." if each else ""


def _seen_text(made: WrongTables) -> str:
    """What the rows would have shown of the tables that matter."""
    seen = [table for table in made.tables if table.shown is not None and not math.isinf(table.answer)]
    if not seen:
        return ""
    each = [f"{table.name} ±{table.shown:.3f}" for table in seen]
    return f" The rows would have shown an error in the decisions of: {names(each, 4)}."
