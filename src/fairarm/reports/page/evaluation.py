"""The page of an evaluation: what a log says of every arm."""

from __future__ import annotations

from collections.abc import Sequence

from fairarm.beliefs.findings import Finding
from fairarm.experiments.evaluate import ArmEvaluation, Estimate, Evaluation
from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem
from fairarm.problem.regimes import NATURAL, values_of_regime
from fairarm.reports.known import logged_arm, one_gap
from fairarm.reports.page.charts import Cover, cover_figure
from fairarm.reports.page.conditions import (
    FAIR_TITLE,
    ArmRows,
    Told,
    asked_fact,
    closest_cells,
    cut_note,
    fairness,
    parts_table,
    pictures,
    row_table,
)
from fairarm.reports.page.doubt import trust
from fairarm.reports.page.forest import Line, Marks, forest
from fairarm.reports.page.parts import Block, Box, Card, Facts, Items, Page, PageTable, Section, Text, Tone
from fairarm.reports.page.rows import MOST_ROWS, Row, Words
from fairarm.reports.svg import shown
from fairarm.reports.words import (
    METHODS,
    answer_text,
    between,
    bounds_text,
    certified_labels,
    certified_text,
    gap_unit_of,
    interval_digits,
    left_to_learn,
    looks_text,
    percent,
    plain_gap_text,
    question,
    recommended_text,
    sentence,
    smooth_text,
    unit_of,
    unmarked,
    value,
    weight,
    whole,
    why_gaps_differ,
)

PROBABLY = 0.5
"""An arm that is fair with a lower probability is drawn as unfair."""
CERTIFIED = {True: "fair", False: "unfair", None: "no"}
SUPPORT = {
    "yes": "the log speaks for it",
    "weakly": "the log speaks for it weakly",
    "no": "the log does not speak for it",
}


def evaluation_page(found: Evaluation, version: str) -> Page:
    """The page of what a log says."""
    problem, arms = found.problem, by_probability(found)
    return Page(
        title=f"{problem.name}: what the log says",
        about=[text for text in (problem.description, unmarked(question(problem))) if text],
        boxes=[_answer(found), _certified(found)],
        sections=[
            _findings(found),
            _outcomes(found, arms),
            _gaps(found, arms) if problem.has_one_gap else _conditions(found, arms),
            _cover(found, arms),
            _plain(found),
            *trust(found),
            Section("All numbers", _tables(found, arms)),
            _next(found),
            _assumptions(found),
            fairness(problem),
            _made(found, version),
        ],
    )


def by_probability(found: Evaluation) -> list[ArmEvaluation]:
    """The most probable to be the best fair arm first, then the most probable to be fair; of equals the better outcome."""
    return sorted(found.arms, key=lambda a: (-a.best_probability, -a.fair_probability, -a.outcome.value))


# ---- the answer ----


def _answer(found: Evaluation) -> Box:
    arm, digits = _answered(found), outcome_digits(found)
    lines = [recommended_text(found)]
    if arm is not None:
        lines.append(
            f"The outcome of {arm.name} is {value(arm.outcome.value, digits)} ({percent(found.confidence)} interval "
            f"{between(arm.outcome.low, arm.outcome.high, digits)}){_its_gap(found, arm)}."
        )
    lines += [
        *_closest_line(found, arm),
        f"The probability goes by the posterior: what the rows and the assumptions below say together, not a proof. {METHODS.get(found.method, '')}",
    ]
    if smooth := smooth_text(found.evidence.smooth):
        lines.append(smooth)
    if arm is not None and arm.support != "yes":
        lines.append(f'Beware of {arm.name}: {SUPPORT[arm.support]} (see "Can the log speak for the arms?").')
    return Box("Answer, by probability", answer_text(found), lines, "good" if found.status == "FOUND" else "warn")


def _its_gap(found: Evaluation, arm: ArmEvaluation) -> str:
    return f" and its gap {_estimate(one_gap(arm), gap_digits(found))}" if found.problem.has_one_gap else ""


def _closest_line(found: Evaluation, arm: ArmEvaluation | None) -> list[str]:
    """What comes closest to making the answer unfair, where there is more than one gap."""
    if arm is None or found.problem.has_one_gap:
        return []
    words, ends, holds = closest_cells(found.problem, logged_arm(found.problem, arm))
    sure = percent(found.confidence)
    return [
        f"What comes closest to making {arm.name} unfair: {words}; {sure} interval {ends}, holds with probability {holds}."
    ]


def _answered(found: Evaluation) -> ArmEvaluation | None:
    return next((arm for arm in found.arms if arm.name == found.recommended), None)


def outcome_digits(found: Evaluation) -> str:
    """How many digits outcomes are shown with, by the width of their intervals."""
    return interval_digits(found.problem.outcome, [(arm.outcome.low, arm.outcome.high) for arm in found.arms])


def gap_digits(found: Evaluation) -> str:
    """The same for gaps, which have a sign."""
    gaps = [one_gap(arm) for arm in found.arms]
    return interval_digits(found.problem.outcome, [(gap.low, gap.high) for gap in gaps], signed=True)


def _estimate(number: Estimate, digits: str) -> str:
    return f"{value(number.value, digits)} ({between(number.low, number.high, digits)})"


def _certified(found: Evaluation) -> Box:
    lines = [text for text in [certified_labels(found)] if text]
    if found.certified_by is not None:
        lines.append(f"Certified by the {bounds_text(found.certified_by)}.")
    if looks := looks_text(found):
        lines.append(looks)
    tone: Tone = "good" if found.certified_status == "FOUND" else "plain"
    if found.certified_by is None or found.certified_status == "NO_FAIR_ARM":
        tone = "warn"
    return Box("Certified", certified_text(found), lines, tone)


def _findings(found: Evaluation) -> Section:
    share = f" ({percent(found.used / found.rows)})" if found.rows else ""
    read = Text(f"{whole(found.rows)} rows were read and {whole(found.used)} used{share}.")
    if not found.findings:
        return Section("What was noticed in the log", [read, Text("Nothing wrong was found.")])
    return Section("What was noticed in the log", [read, *(_card(finding) for finding in found.findings)])


def _card(finding: Finding) -> Card:
    rows = f"{whole(finding.rows)} {'row' if finding.rows == 1 else 'rows'}" if finding.rows else ""
    return Card(finding.name, rows, finding.message, finding.examples, str(finding.level), finding.blocks_certification)


# ---- figures ----


def _line(found: Evaluation, arm: ArmEvaluation, number: Estimate, digits: str) -> Line:
    low, high = number.certified_low, number.certified_high
    return Line(
        row=Row(arm.name, _estimate(number, digits), value(number.value, digits), arm.name == found.arm),
        mean=number.value,
        usual=(number.low, number.high),
        certified=None if low is None or high is None else (low, high),
        unfair=arm.fair_probability < PROBABLY,
        weak=arm.support == "no",
    )


def _key(found: Evaluation, arms: Sequence[ArmEvaluation]) -> list[str]:
    return [" ".join(_signs(found, arms)), *cut_note(len(found.arms))]


def _signs(found: Evaluation, arms: Sequence[ArmEvaluation]) -> list[str]:
    """What the signs of a forest plot mean, only those that are there."""
    sure = percent(found.confidence)
    said = [f"Thick line: the usual {sure} interval, from the posterior."]
    if any(arm.outcome.certified_low is not None for arm in arms):
        said.append(f"Thin line with ends: the certified {sure} interval; an arrow where it leaves the picture.")
    if found.arm is not None:
        said.append("★ the best fair arm.")
    said.append("● fair with probability 0.5 or more. ○ and grey: less, probably unfair.")
    if any(arm.support == "no" for arm in arms):
        said.append("Broken line: the log does not speak for the arm.")
    return said


def _outcomes(found: Evaluation, arms: Sequence[ArmEvaluation]) -> Section:
    drawn = arms[:MOST_ROWS]
    outcome, sure, digits = found.problem.outcome, percent(found.confidence), outcome_digits(found)
    top = max(drawn, key=lambda a: a.outcome.value)
    words = Words(
        name="outcomes",
        title=f"Mean outcome of each arm, with {sure} intervals",
        description=f"{len(drawn)} arms. The highest mean is that of {top.name}, {_estimate(top.outcome, digits)}. All numbers are in the table.",
        heads=("arm", f"mean {shown(outcome.node, 20)} ({sure} interval)", f"mean {shown(outcome.node, 20)}"),
        xlabel=f"mean {unit_of(outcome)}",
        caption=_key(found, drawn),
    )
    figure = forest(words, [_line(found, arm, arm.outcome, digits) for arm in drawn])
    return Section("How good each arm is", [Text(f"The mean {outcome.node} if the arm decided for everybody."), figure])


def _gaps(found: Evaluation, arms: Sequence[ArmEvaluation]) -> Section:
    drawn, problem = arms[:MOST_ROWS], found.problem
    s, other = pair_of(problem)
    tolerance, sure = problem.gap_tolerance, percent(found.confidence)
    fair = sum(arm.fair_probability >= PROBABLY for arm in drawn)
    words = Words(
        name="gaps",
        title=f"Gap between the groups under each arm, with {sure} intervals, and the tolerance",
        description=f"{fair} of {len(drawn)} arms are probably within the tolerance of {tolerance:.6g}. All numbers are in the table.",
        heads=("arm", f"gap ({sure} interval)", "gap"),
        xlabel=gap_unit_of(problem),
        caption=_key(found, drawn),
    )
    signed = gap_digits(found)
    lines = [_line(found, arm, one_gap(arm), signed) for arm in drawn]
    figure = forest(words, lines, Marks(tolerance, zero=True, plain=found.plain_gap, digits=signed))
    node = problem.outcome.node
    text = f"The mean {node} if everybody were {s}, less the mean if everybody were {other}."
    return Section("How fair each arm is", [Text(text), figure])


def _conditions(found: Evaluation, arms: Sequence[ArmEvaluation]) -> Section:
    told = Told(f"{percent(found.confidence)} interval", " ".join(_signs(found, arms[:MOST_ROWS])))
    return Section("How fair each arm is", pictures(found.problem, _arm_rows(found, arms), told))


def _arm_rows(found: Evaluation, arms: Sequence[ArmEvaluation]) -> list[ArmRows]:
    return [
        ArmRows(
            logged_arm(found.problem, arm),
            best=arm.name == found.arm,
            unfair=arm.fair_probability < PROBABLY,
            weak=arm.support == "no",
        )
        for arm in arms
    ]


def _cover(found: Evaluation, arms: Sequence[ArmEvaluation]) -> Section:
    drawn = arms[:MOST_ROWS]
    number = {word: sum(arm.support == word for arm in arms) for word in SUPPORT}
    tally = f"The log speaks for {number['yes']} of {len(arms)} arms, weakly for {number['weakly']}, and not for {number['no']}."
    covers = [Cover(_cover_row(found, arm), 1.0 - arm.unseen, arm.overlap) for arm in drawn]
    words = Words(
        name="overlap",
        title="How much of each arm's mass the log speaks for",
        description=f"{tally} All numbers are in the table.",
        heads=("arm", "speaks, effective rows, largest weight", "speaks, effective rows"),
        xlabel="share of what the arm does",
        caption=[
            "Solid: the share of the arm's mass in cells that have rows. Hatched: unseen, where there is no row and only the "
            "prior speaks. ◇ overlap: how much of what the arm does and of what the log holds is in common, 0 to 1. Rows: the "
            "effective rows, how many of its own the log's rows are worth. Weight: how much the most important row counts; the "
            "mean row counts 1.",
            *cut_note(len(found.arms)),
        ],
    )
    text = f"An arm that does what was hardly ever tried is not known, however many rows there are. {tally}"
    return Section("Can the log speak for the arms?", [Text(text), cover_figure(words, covers)])


def _cover_row(found: Evaluation, arm: ArmEvaluation) -> Row:
    speaks = f"{arm.support}, {whole(arm.effective_rows)} rows"
    return Row(arm.name, f"{speaks}, weight {weight(arm.largest_weight)}", speaks, arm.name == found.arm)


# ---- the plain gap ----


def _plain(found: Evaluation) -> Section:
    blocks: list[Block] = [Text(plain_text(found))]
    digits = outcome_digits(found)
    rows = [(group.group, whole(group.rows), value(group.mean, digits)) for group in found.observed]
    columns = ("group", "rows", f"mean {unit_of(found.problem.outcome)}")
    blocks.append(PageTable("The log as it is: natural rows by group", columns, rows))
    return Section("The plain gap in the log" if found.problem.has_one_gap else "The log as it is", blocks)


def plain_text(found: Evaluation) -> str:
    """The plain gap, and how it differs from the arms' gaps."""
    plain = plain_gap_text(found)
    if plain is not None and not found.problem.has_one_gap:
        return f"{plain} {why_gaps_differ(found)}"
    signed = gap_digits(found)
    if plain is None or found.plain_gap is None:
        empty = next(group.group for group in found.observed if group.mean is None)
        return f"The log has no natural rows of {empty}: there is no plain gap to compare with."
    arm = _answered(found)
    text = f"{plain} {why_gaps_differ(found)}"
    if arm is None:
        return text
    gap = one_gap(arm)
    change = abs(found.plain_gap) - abs(gap.value)
    word = "smaller" if change > 0 else "larger"
    return (
        f"{text} Under {arm.name} the gap is {_estimate(gap, signed)}: "
        f"{value(abs(change), signed.removeprefix('+'))} {word} in size."
    )


# ---- tables ----


def _tables(found: Evaluation, arms: Sequence[ArmEvaluation]) -> list[Block]:
    gaps = parts_table(found.problem, {arm.name: arm.pairs for arm in arms})
    if found.problem.has_one_gap:
        return [*(make(found, arms) for make in (_outcome_table, _gap_table, _support_table)), *gaps]
    rows, certified = _arm_rows(found, arms), found.certified_by is not None
    every = row_table(found.problem, rows, f"{percent(found.confidence)} interval", certified)
    return [_outcome_table(found, arms), _fair_table(found, arms), _support_table(found, arms), every, *gaps]


def _outcome_table(found: Evaluation, arms: Sequence[ArmEvaluation]) -> PageTable:
    head, digits = f"mean {unit_of(found.problem.outcome)}", outcome_digits(found)
    columns = ("arm", head, f"{percent(found.confidence)} interval", "certified interval", "best")
    rows = [(arm.name, *_cells(arm.outcome, digits), value(arm.best_probability, ".3f")) for arm in arms]
    return PageTable("Outcomes. Best: the probability that this is the best fair arm.", columns, rows, (), found.arm)


def _gap_table(found: Evaluation, arms: Sequence[ArmEvaluation]) -> PageTable:
    sure, signed = percent(found.confidence), gap_digits(found)
    columns = ("arm", gap_unit_of(found.problem), f"{sure} interval", "certified interval", "fair", "certified")
    rows = [
        (arm.name, *_cells(one_gap(arm), signed), value(arm.fair_probability, ".3f"), CERTIFIED[arm.certified_fair])
        for arm in arms
    ]
    return PageTable(
        "Gaps. Fair: the probability that the gap is below the tolerance.", columns, rows, ("certified",), found.arm
    )


def _fair_table(found: Evaluation, arms: Sequence[ArmEvaluation]) -> PageTable:
    problem = found.problem
    rows = [
        (arm.name, value(arm.fair_probability, ".3f"), CERTIFIED[arm.certified_fair], *closest_cells(problem, logged_arm(problem, arm)))
        for arm in arms
    ]  # fmt: skip
    columns = ("arm", "fair", "certified", "closest to unfair", f"{percent(found.confidence)} interval", "holds")
    return PageTable(FAIR_TITLE, columns, rows, ("certified", "closest to unfair"), found.arm)


def _cells(number: Estimate, digits: str) -> tuple[str, str, str]:
    """The mean, the usual interval, the certified one."""
    low, high = number.certified_low, number.certified_high
    proved = "none" if low is None else between(low, high, digits)
    return value(number.value, digits), between(number.low, number.high, digits), proved


def _support_table(found: Evaluation, arms: Sequence[ArmEvaluation]) -> PageTable:
    columns = ("arm", "log speaks", "effective rows", "largest weight", "overlap", "unseen", "own rows", "mechanism")
    rows = [
        (
            arm.name, arm.support, whole(arm.effective_rows), weight(arm.largest_weight), value(arm.overlap, ".3f"),
            value(arm.unseen, ".3f"), whole(arm.rows), "learned from this log" if arm.learned else "fitted" if arm.fitted else "declared",
        )
        for arm in arms
    ]  # fmt: skip
    return PageTable("How far the log speaks for each arm", columns, rows, ("log speaks", "mechanism"), found.arm)


# ---- the rest ----


def _next(found: Evaluation) -> Section:
    title = "What to pull next"
    if (settled := left_to_learn(found)) or not found.next_pulls:
        return Section(title, [Text(settled or "No further pulls were planned.")])
    rows = [(line.arm, regime_words(found.problem, line.regime), f"{line.share:.0%}") for line in found.next_pulls]
    table = PageTable("Shares of the next pulls", ("arm", "whom", "share"), rows, ("whom",))
    return Section(
        title, [Text("Rows that would tell most about whether the answer is right, largest share first."), table]
    )


def regime_words(problem: Problem, regime: str) -> str:
    """A regime as something that is done to people."""
    if regime == NATURAL:
        return "natural: people as they come"
    values = values_of_regime(regime, problem.attribute_states)
    states = " and ".join(f"{attribute} is {state}" for attribute, state in values.items())
    what = "people recruited because" if problem.regime_kind == "recruited" else "people for whom it is set that"
    return f"{regime}: {what} {states}"


def _assumptions(found: Evaluation) -> Section:
    blocks: list[Block] = [
        Text("If one of these is wrong, so may be every number on this page."),
        Items([sentence(said) for said in found.assumptions]),
    ]
    if found.fitted:
        blocks += [
            Text("Fitted from the log, because it was not declared:"),
            Items([note.text for note in found.fitted]),
        ]
    return Section("What all this assumes", blocks)


def _made(found: Evaluation, version: str) -> Section:
    problem = found.problem
    pairs = [
        ("problem", problem.name),
        ("arms", whole(len(problem.arms))),
        asked_fact(problem),
        ("log", found.log),
        ("engine", found.engine),
        ("rows read", whole(found.rows)),
        ("rows used", whole(found.used)),
        ("method", found.method),
        ("certified by", bounds_text(found.certified_by) or "not certified"),
        ("confidence", f"{found.confidence:g}"),
        ("seed", str(found.seed)),
        ("fairarm", version),
    ]
    return Section("How it was made", [Facts(pairs)])
