"""Results on a terminal: tables, a progress bar, the story of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from fairarm.cli import show_rows
from fairarm.cli.terminal import Styled, TableColumn, numbers, say, table
from fairarm.problem.mechanism import NO_FAIR_ARM
from fairarm.problem.pair import pair_of
from fairarm.problem.problem import Problem
from fairarm.reports import words
from fairarm.reports.words import (
    Marked,
    after_phase,
    answer_of,
    arm_reason,
    closing,
    count,
    digits_of,
    guarantee_of,
    interval_digits,
    law_text,
    limit_text,
    limits,
    mixture_text,
    names,
    paper_lines,
    plan_text,
    question,
    smooth_text,
    started_from,
    sureness,
    value,
    wide_tolerance,
)
from fairarm.reports.words.doubt import tables_text

if TYPE_CHECKING:
    from fairarm.algorithms import Verdict
    from fairarm.experiments.identify import Identification, PhaseStory
    from fairarm.experiments.inspect import Inspection
    from fairarm.experiments.plan import ExperimentPlan
    from fairarm.experiments.simulate import Simulation

MOST_ARMS = 40
"""Rows of a table; --json has all."""
REMARKS = {"plain": "", "warn": "yellow", "good": "green", "bad": "red"}


def _described(what: str, listed: dict[str, str]) -> None:
    table(
        [TableColumn(what, "name"), TableColumn("what it is", "text")],
        [((name, "bold"), text) for name, text in listed.items()],
    )


def algorithms(listed: dict[str, str]) -> None:
    """Every algorithm that can be named, those that others have registered included."""
    _described("algorithm", listed)


def problems(listed: dict[str, str]) -> None:
    """The bundled problems, and how to give them parameters."""
    _described("problem", listed)
    say()
    say(
        "Parameters go after a colon: ",
        ("synthetic-tight:K=30,m=20,seed=3", "bold"),
        ", ",
        ("hepar2:K=10,seed=1", "bold"),
        ".",
    )
    say("`fairarm problems --save NAME` writes one as a file to start your own from.")


def inspection(found: Inspection) -> None:
    """What is known before the first pull, from the question down to the limit."""
    problem, truth = found.problem, found.truth
    say((problem.name, "bold"), f"  {problem.description}")
    say(*_styled(question(problem), "bold"))
    say(f"Must be observed: {names(problem.observed, 20)}.")
    hidden = len(problem.graph.nodes) - len(problem.observed)
    say(f"May stay hidden: {hidden} of {len(problem.graph.nodes)} nodes.")
    say(f"Children of {' or '.join(problem.attributes)} that matter: {names(problem.relevant_children)}.")
    if not problem.plain:
        for line in (*words.attributes_text(problem), words.regimes_text(problem)):
            say(line)
    _arm_table(found)
    if truth is not None:
        best, top = truth.best_fair_arm, int(np.argmax(truth.outcomes))
        text: list[Styled] = ["no arm is fair"]
        if best is not None:
            text = ["the best fair arm is ", (problem.arm_names[best], "bold green")]
        also = "" if best == top else f"; the best arm of all, {problem.arm_names[top]}, is not fair"
        say("In this world ", *text, f"{also}.")
    if lost := found.unreached():
        say((f"The deployed arm's pulls say nothing about: {names(lost)}.", "yellow"))
    for line, warns in paper_lines(found):
        say((line, "yellow" if warns else ""))
    for limit, what in ((found.limit, "counting pulls alone"), (found.limit_with_costs, "within the cost budget")):
        if limit is not None:
            say(limit_text(problem, limit, what))
    for note in found.notes:
        say(("Not available:", "yellow"), f" {note}")


def _styled(parts: Iterable[str | Marked], style: str) -> list[Styled]:
    """A sentence with what is marked in this style."""
    return [(part.text, style) if isinstance(part, Marked) else part for part in parts]


def wide_tolerance_line(problem: Problem) -> None:
    """Said where every arm is fair by definition."""
    if text := wide_tolerance(problem):
        say((text, "yellow"))


def _arm_table(found: Inspection) -> None:
    problem, truth = found.problem, found.truth
    if not problem.has_one_gap:
        show_rows.inspected(found, MOST_ARMS)
        more_arms(len(problem.arms))
        if text := words.distances_text(found):
            say((text, "dim"))
        _parts(found)
        return
    s, other = pair_of(problem)
    heads, distances = words.distance_columns(found)
    columns = [
        TableColumn("arm", "name"), *numbers("outcome", f"gap {s} - {other}", "fair"), *numbers(*heads, group=1),
    ]  # fmt: skip
    digits, signed = digits_of(problem.outcome), digits_of(problem.outcome, [problem.gap_tolerance], signed=True)
    rows: list[list[Styled]] = []
    for k, name in enumerate(problem.arm_names[:MOST_ARMS]):
        fair: Styled = "?" if truth is None else ("yes", "green") if truth.fair[k] else ("no", "red")
        rows.append(
            [
                name + (" (deployed)" if name == problem.deployed else ""),
                value(float(truth.outcomes[k]) if truth else None, digits),
                value(float(truth.gaps[k]) if truth else None, signed),
                fair,
                *distances[k],
            ]
        )
    table(columns, rows)
    more_arms(len(problem.arms))
    say((words.distances_text(found), "dim"))
    _parts(found)


def _parts(found: Inspection) -> None:
    arms = found.problem.arm_names[:MOST_ARMS]
    show_rows.parts(found.problem, {name: found.pairs(k) for k, name in enumerate(arms)})


def more_arms(arms: int) -> None:
    """A line for the arms that a table left out, where it did."""
    if arms > MOST_ARMS:
        say(f"… and {arms - MOST_ARMS} more arms; --json has all.")


class Storyteller:
    """Prints each phase as it ends, then the verdict."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def phase(self, story: PhaseStory) -> None:
        """A phase as it ends: what was pulled, and what it changed."""
        say(
            (f"Phase {story.phase}", "bold"),
            f": {count(story.pulls, 'pull')}, cost {story.cost:.6g}: {plan_text(story.plan)}",
            hang=4,
        )
        say(f"    {after_phase(story, len(self.problem.arms))}", hang=4)

    def end(self, found: Identification) -> None:
        """The table of all arms, then the answer, how sure it is, and the best mixture."""
        verdict = found.verdict
        if not self.problem.has_one_gap:
            show_rows.run(verdict, MOST_ARMS)
        elif verdict.leader:
            _believed_table(self.problem, verdict)
        else:
            _tested_table(self.problem, verdict)
        more_arms(len(verdict.arms))
        wide_tolerance_line(self.problem)
        answer = answer_of(verdict, found.pulls, found.cost)
        say(*_styled(answer, "bold green" if verdict.status == "FOUND" else "bold yellow"))
        for line in _sureness(found) if verdict.probability is not None else ():
            say(line)
        for said in (smooth_text(found.smooth), started_from(found)):
            if said:
                say(said)
        if found.mixture is not None:
            say(mixture_text(found.mixture, self.problem.outcome))
        for remark in closing(found):
            say((remark.text, REMARKS[remark.tone]))


def _tested_table(problem: Problem, verdict: Verdict) -> None:
    s, other = pair_of(problem)
    columns = [
        TableColumn("arm", "name"),
        *numbers("outcome", f"gap {s}|{other}", f"gap {other}|{s}", "phase"),
        TableColumn("why", "text", 1),
    ]
    digits, signed = digits_of(problem.outcome), digits_of(problem.outcome, [problem.gap_tolerance], signed=True)
    rows = [
        [
            report.name,
            value(report.outcome, digits),
            *(value(gap, signed) for gap in report.gaps.values()),
            str(report.rejected_in_phase or ""),
            arm_reason(verdict, report),
        ]
        for report in verdict.arms[:MOST_ARMS]
    ]
    table(columns, rows)


def _believed_table(problem: Problem, verdict: Verdict) -> None:
    """The most probable arms first."""
    s, other = pair_of(problem)
    columns = [
        TableColumn("arm", "name"),
        *numbers("outcome", "95 % limits"),
        *numbers(f"gap {s} - {other}", "95 % limits", group=1),
        *numbers("fair", "best", "rows", group=2),
        TableColumn("why", "text", 2),
    ]
    digits = interval_digits(problem.outcome, [report.outcome_interval for report in verdict.arms])
    signed = interval_digits(problem.outcome, [report.gap_interval for report in verdict.arms], signed=True)
    rows = [
        [
            report.name,
            value(report.outcome, digits),
            limits(report.outcome_interval, digits),
            value(next(iter(report.gaps.values())), signed),
            limits(report.gap_interval, signed),
            value(report.fair_probability, ".2f"),
            value(report.best_probability, ".2f"),
            value(report.effective_rows, ",.0f"),
            arm_reason(verdict, report),
        ]
        for report in sorted(verdict.arms, key=lambda r: -(r.best_probability or 0.0))[:MOST_ARMS]
    ]
    table(columns, rows)


def _sureness(found: Identification) -> Iterator[str]:
    """How sure the answer is, and by what; the proved and the posterior kind are never worded alike."""
    verdict = found.verdict
    if guarantee := guarantee_of(verdict, found.log_rows):
        yield guarantee
    if tested := law_text(verdict):
        yield tested
    if tables := tables_text(found.wrong_tables, verdict.recommended or NO_FAIR_ARM):
        yield tables
    yield " ".join(sureness(verdict))


def simulation(found: Simulation) -> None:
    """A line per algorithm and number of pulls: how often it was wrong, and what it used."""
    best = found.best_fair_arm
    truth = "no arm is fair" if best is None else f"the best fair arm is {best}"
    say((found.problem.name, "bold"), f": {truth}. Share of runs with a wrong answer:")
    limit = ["used / limit"] if any(p.pulls_per_limit is not None for p in found.results) else []
    wrong = ["wrong"] if any(p.undecided_rate for p in found.results) else []
    columns = [
        TableColumn("algorithm", "name"),
        *numbers("pulls", "runs", "error", "95 % limits"),
        *numbers("none", *wrong, "undecided", "cost", "pulls used", *limit, group=1),
    ]
    rows: list[list[Styled]] = []
    for p in found.results:
        rows.append([
            p.algorithm, str(p.pulls), str(p.runs), (f"{p.error:.3f}", "bold"), f"{p.error_low:.3f}-{p.error_high:.3f}",
            f"{p.none_rate:.3f}", *([f"{p.wrong_rate:.3f}"] if wrong else []), f"{p.undecided_rate:.3f}", f"{p.mean_cost:.6g}", f"{p.mean_pulls:.0f}",
            *([value(p.pulls_per_limit, ".2f")] if limit else []),
        ])  # fmt: skip
    table(columns, rows, keys=2)


def experiment_plan(found: ExperimentPlan) -> None:
    """A line per average cost allowed: the pulls needed, their cost, and which they are."""
    source = f"from a prior (mean {found.prior_mean:g}, strength {found.prior_strength:g})" if not found.log_rows else (
        f"from what the log's {count(found.log_rows, 'row')} say, which every experiment starts from"
    )  # fmt: skip
    say(
        (found.problem.name, "bold"),
        f": to be wrong in at most {found.target_error:.3g} of experiments, over {found.truths} truths drawn "
        f"{source}. An arm within {found.outcome_margin:.4g} of the best "
        f"outcome and {found.gap_margin:.4g} of {'the tolerance' if found.problem.has_one_gap else 'what is asked'} counts as right.",
    )
    columns = [
        TableColumn("average cost allowed", "name"),
        *numbers("pulls", "cost", "error", "95 % limits"),
        TableColumn("what it pulls", "text", 1),
    ]
    rows = []
    for option in found.options:
        point = next((p for p in option.curve if p.pulls == option.pulls), option.curve[-1])
        cost = "no limit" if option.average_cost is None else f"{option.average_cost:.4g} per pull"
        marks = [word for word, o in (("cheapest", found.cheapest), ("quickest", found.quickest)) if o is option]
        units = ", ".join(f"{u.pulls:.0f} x {u.arm} ({u.regime})" for u in option.units[:4])
        rows.append(
            [
                cost + (f" ({', '.join(marks)})" if marks else ""),
                str(option.pulls) if option.pulls is not None else f"more than {point.pulls}",
                "?" if option.cost is None else f"{option.cost:.6g}",
                f"{point.error:.3f}",
                f"{point.error_low:.3f}-{point.error_high:.3f}",
                units + (" …" if len(option.units) > 4 else ""),
            ]
        )
    table(columns, rows)
    for bought in found.buys:
        say(words.bought_text(bought, found.problem.outcome))
    for note in found.notes:
        say(("Note:", "yellow"), f" {words.sentence(note)}")


@contextmanager
def spinner(what: str) -> Iterator[None]:
    """A sign of life on standard error, where that is a terminal, for work of unknown length."""
    terminal = Console(stderr=True)
    if not terminal.is_terminal:
        yield
        return
    with terminal.status(what):
        yield


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, where that is a terminal; yields a function that advances it."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn, TimeRemainingColumn

    columns = (what, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    terminal = Console(stderr=True)
    with Progress(*columns, console=terminal, transient=True, disable=not terminal.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def passes(what: str) -> Iterator[Callable[[str, int, int], None] | None]:
    """A sign of life on standard error, where that is a terminal, and a bar for each pass over rows; yields what a pass tells."""
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    terminal = Console(stderr=True)
    if not terminal.is_terminal:
        yield None
        return
    columns = (
        SpinnerColumn(),
        "{task.description}",
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=terminal, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def told(name: str, done: int, total: int) -> None:
            bar.update(task, description=f"{what}: {name}", completed=done, total=total)

        yield told
