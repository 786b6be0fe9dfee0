"""What an answer from a log rests on, what certifies it, and why nothing does; what a plan took for granted: in plain
words, for someone who has to believe them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairarm.beliefs.assumptions import Assumption, Obstacle, Statement
from fairarm.beliefs.certified import Bound
from fairarm.experiments.plan import PlanNote
from fairarm.logs.reading import listed

SENTENCES: dict[str, str] = {
    Assumption.GRAPH: "The causal graph is as declared. Nothing causes '{sensitive}', and '{sensitive}' acts on '{outcome}' only along the declared arrows.",
    Assumption.CAUSES: "The causal graph is as declared. {shared}, and '{outcome}' is reached from there only along the declared arrows.",
    Assumption.NOT_LEARNED: "No arm was chosen or learned from these rows.",
    Assumption.ROWS: "Rows are different people, independent of each other, and no row was dropped because of its outcome.",
    Assumption.PROPENSITIES: "The logged propensities are the probabilities with which each '{decision}' was really drawn.",
    Assumption.INPUTS: "The logged '{decision}' was decided from {inputs} and chance alone: nothing else that moved it moves '{outcome}' as well.",
    Assumption.SERVED: "Which arm served a person did not depend on who the person was.",
    Assumption.MECHANISMS: "The declared mechanisms of {nodes} are right.",
    Assumption.CONTEXTS: "The declared law of what arms see is right.",
    Assumption.FITTED: "The mechanism of {whose} was not declared: it was fitted from {rows} rows, and its error is in the usual intervals.",
    Assumption.ESTIMATED: "The propensity of arm '{arm}' is estimated from {rows} rows: it, or the predicted outcomes, must be nearly right.",
    Assumption.UNDECLARED: "The mechanism of '{node}' is not declared: each group's rows speak for that group alone.",
    Assumption.SHARES_DECLARED: "The shares of the groups are the declared ones.",
    Assumption.SHARES_ESTIMATED: "The shares of the groups are estimated from the natural rows.",
    Assumption.ATTRIBUTES_DECLARED: "P({whole}) is the declared one.",
    Assumption.ATTRIBUTES_ESTIMATED: "P({whole}) is estimated from the natural rows.",
    Assumption.LEFT_OUT: "Rows were left out on purpose ({dropped}): the answer is about the others alone.",
    Assumption.LEFT_OUT_BY: "Rows were left out by '{column}'; this holds if '{column}' was known before the decision and did not follow from it.",
    Assumption.LATER: "People who come later are like those in the log.",
    Assumption.AT_RANDOM: "Outcomes are missing at random given the cell: among rows alike in what the outcome depends on, those that are missing are like those that came.",
    Assumption.UNSERVED: "Who was never served does not depend on the outcome.",
    Assumption.DROPPED: "Cohorts {cohorts} were left out for reasons that have nothing to do with their outcomes.",
    Obstacle.FINDING: "the log has the finding '{finding}'",
    Obstacle.FITTED_LOGGING_ARM: "the mechanism of '{arm}', which made rows, was fitted from them",
    Obstacle.ADAPTIVE: "outcomes of earlier rows decided who made later ones (log.adaptive), and the law of what arms see is not declared",
    Obstacle.LAW: "what is asked about rests on {law}, which {why}",
    Obstacle.MISSING: "outcomes are missing, and only bets on weighted rows, which cannot be made here, allow for what they could be",
    Obstacle.SHARES: "the shares of the groups are not known, and what is asked cannot do without them: declare problem.shares",
    PlanNote.REAL_OUTCOME: "'{outcome}' is real-valued: it is simplified to two values, {low:g} and {high:g}, its mean less and plus its standard deviation within cells, {sd:g}.",
    PlanNote.WIDE_MARGINS: (
        "In {every_arm_right:.0%} of the truths the margins are wider than the differences between the arms, and every arm counts as right "
        "because of them: more pulls are needed than the numbers below say. The best arm's outcome is about {gain:.3g} above the average "
        "arm's, and the gaps of the arms differ by about {gap_spread:.3g}: give margins well below that, or none."
    ),
    PlanNote.ANSWERED: "The log already answers: no further pull is needed.",
    PlanNote.FITTED: "The mechanism of '{name}' was fitted from rows: the truths take it as it is.",
    PlanNote.SPARSE: "The log has few rows per cell: the truths take all cells as alike as the log's rows show.",
}  # fmt: skip

BOUNDS = {
    Bound.REGION: "joint region of the cell means",
    Bound.BETS: "bets on weighted rows",
    Bound.BERNSTEIN: "empirical Bernstein bounds of weighted rows",
}


def sentence(said: Statement) -> str:
    """One of the things that a result rests on, or one that stands against a certified answer."""
    facts = dict(said.facts)
    for key in ("inputs", "nodes", "attributes", "causes", "cohorts"):
        if key in facts:
            facts[key] = ", ".join(map(str, facts[key])) or "nothing"
    if said.code in (Assumption.ATTRIBUTES_DECLARED, Assumption.ATTRIBUTES_ESTIMATED):
        facts["whole"] = " | ".join(
            ", ".join(part) for part in (said.facts["attributes"], said.facts["causes"]) if part
        )
    if said.code == Assumption.CAUSES:
        facts["shared"] = _unshared(said.facts["blocks"])
    if "dropped" in facts:
        facts["dropped"] = listed(facts["dropped"])
    if said.code == Assumption.FITTED:
        facts["whose"] = f"arm '{facts['arm']}'" if facts["arm"] else f"'{facts['node']}'"
    return SENTENCES[said.code].format(**facts)


def _unshared(blocks: Sequence[Mapping[str, Sequence[str]]]) -> str:
    """That no cause is missing which attributes share with other columns; those of a block may share one among themselves."""
    by_causes: dict[tuple[str, ...], list[str]] = {}
    parts = []
    for block in blocks:
        if len(block["attributes"]) == 1:
            by_causes.setdefault(tuple(block["causes"]), []).extend(block["attributes"])
    for causes, alone in by_causes.items():
        parts.append(f"{_nothing_but(causes)} acts on {' or '.join(alone)} and on another column as well")
    for block in blocks:
        if len(block["attributes"]) > 1:
            parts.append(f"{_nothing_but(block['causes'])} acts on {' or '.join(block['attributes'])} and on a column other than these as well")  # fmt: skip
    text = "; ".join(parts)
    return text[0].upper() + text[1:]


def _nothing_but(causes: Sequence[str]) -> str:
    return f"nothing but {', '.join(causes)}" if causes else "nothing"


def bounds_text(by: tuple[Bound, ...] | None) -> str | None:
    """What certified intervals are made of; None where there are none."""
    return " and ".join(BOUNDS[bound] for bound in by) if by else None
