"""Results on a terminal: tables, a progress bar, the story of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fairarm.algorithms import Verdict
from fairarm.experiments import ExperimentPlan, Identification, Inspection, Simulation
from fairarm.experiments.identify import PhaseStory
from fairarm.problem.model import Problem
from fairarm.reports.words import count, guarantee_of, limit_text, mixture_text, names, plan_text, sureness, value

WIDE = 160
console = Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE)
"""A pipe or a log has no width of its own: there, nothing is cut or broken to fit one."""

MOST_ARMS = 40
TEXTS = ("what it is", "why", "what it pulls")


def _table(first: str, *columns: str) -> Table:
    """A plain table: names may be folded, numbers are right-aligned and never cut."""
    table = Table(box=None, pad_edge=False)
    table.add_column(first, overflow="fold")
    for column in columns:
        table.add_column(
            column, justify="left" if column in TEXTS else "right", no_wrap=column not in TEXTS, overflow="fold"
        )
    return table


def problems(listed: dict[str, str]) -> None:
    table = _table("problem", "what it is")
    for name, text in listed.items():
        table.add_row(f"[bold]{escape(name)}[/]", escape(text))
    console.print(table)
    console.print(
        "\nParameters go after a colon: [bold]synthetic-tight:K=30,m=20,seed=3[/], [bold]hepar2:K=10,seed=1[/]."
    )
    console.print("`fairarm problems --save NAME` writes one as a file to start your own from.")


def inspection(found: Inspection) -> None:
    problem, truth = found.problem, found.truth
    s, other = problem.groups
    console.print(f"[bold]{escape(problem.name)}[/]  {escape(problem.description)}")
    console.print(
        f"Choose how [bold]{escape(problem.decision)}[/] is decided so that [bold]{escape(problem.outcome.node)}[/] is highest, while "
        f"changing [bold]{escape(problem.sensitive)}[/] ({escape(s)}, {escape(other)}) changes it by less than {problem.gap_tolerance:.6g}."
    )
    console.print(f"Must be observed: {escape(names(problem.observed, 20))}.")
    hidden = len(problem.graph.nodes) - len(problem.observed)
    console.print(f"May stay hidden: {hidden} of {len(problem.graph.nodes)} nodes.")
    console.print(f"Children of {escape(problem.sensitive)} that matter: {escape(names(problem.relevant_children))}.")
    _arm_table(found)
    if truth is not None:
        best = truth.best_fair_arm
        text = (
            "no arm is fair"
            if best is None
            else f"the best fair arm is [bold green]{escape(problem.arm_names[best])}[/]"
        )
        top = int(np.argmax(truth.outcomes))
        also = "" if best == top else f"; the best arm of all, {escape(problem.arm_names[top])}, is not fair"
        console.print(f"In this world {text}{also}.")
    if found.v_star is not None:
        console.print(
            f"The paper's csr with {found.pulls} pulls: {found.phases} phases; every arm is informed at a rate of at least v* = {found.v_star:.4g} "
            f"a pull. First phase: {escape(plan_text(found.first_plan))}."
        )
    if lost := found.unreached():
        console.print(f"[yellow]The deployed arm's pulls say nothing about: {escape(names(lost))}.[/]")
    if found.fair_from_phase is not None and found.phases is not None and found.fair_from_phase > found.phases:
        console.print(
            f"[yellow]The tolerance is small against the outcome's range: the paper's algorithms can show no arm to be fair before "
            f"phase {found.fair_from_phase}, and {found.pulls} pulls give {found.phases} phases. Use more pulls.[/]"
        )
    if found.error_bound is not None and found.error_bound < 1:
        console.print(f"Theorem 1 bounds the error of csr-v1 by {found.error_bound:.3g} (it is very loose).")
    if found.none_bound is not None and found.none_bound > 0:
        console.print(f"Theorem 2: csr says so with probability at least {found.none_bound:.3g} (it is very loose).")
    for limit, what in ((found.limit, "counting pulls alone"), (found.limit_with_costs, "within the cost budget")):
        if limit is not None:
            console.print(escape(limit_text(problem, limit, what)))
    for note in found.notes:
        console.print(f"[yellow]Not available:[/] {escape(note)}")


def _arm_table(found: Inspection) -> None:
    problem, truth = found.problem, found.truth
    s, other = problem.groups
    j = problem.arm_index(problem.deployed) if problem.deployed else 0
    table = _table("arm", "outcome", f"gap {s} - {other}", "fair", "M", f"D {s}|{other}", f"D {other}|{s}")
    for k, name in enumerate(problem.arm_names[:MOST_ARMS]):
        known = truth is not None
        table.add_row(
            escape(name) + (" (deployed)" if name == problem.deployed else ""),
            value(float(truth.outcomes[k]) if truth else None),
            value(float(truth.gaps[k]) if truth else None, "+.4f"),
            ("[green]yes[/]" if truth.fair[k] else "[red]no[/]") if known and truth else "?",
            value(None if found.M is None else float(found.M[k, j]), ".2f"),
            value(None if found.D is None else float(found.D[0, k, j]), ".2f"),
            value(None if found.D is None else float(found.D[1, k, j]), ".2f"),
        )
    console.print(table)
    if len(problem.arms) > MOST_ARMS:
        console.print(f"({len(problem.arms) - MOST_ARMS} more arms; --json has all)")
    console.print(
        f"[dim]M and D: how far each arm is from {escape(problem.arm_names[j])}; the smaller, the more its pulls tell.[/]"
    )


class Storyteller:
    """Prints each phase as it ends, then the verdict."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def phase(self, story: PhaseStory) -> None:
        console.print(
            f"[bold]Phase {story.phase}[/]: {count(story.pulls, 'pull')}, cost {story.cost:.6g}: {escape(plan_text(story.plan))}"
        )
        if story.probability is not None:
            console.print(f"    most likely: {escape(story.leader or '')}, probability {story.probability:.2f}")
            return
        console.print(
            f"    {len(story.left)} of {len(self.problem.arms)} arms left, {len(story.fair)} shown fair"
            + (f", leader {escape(story.leader)}" if story.leader else "")
            + (f"; rejected {escape(names(story.rejected))}" if story.rejected else "")
        )

    def end(self, found: Identification) -> None:
        verdict = found.verdict
        console.print(
            _believed_table(self.problem, verdict) if verdict.leader else _tested_table(self.problem, verdict)
        )
        answer = {
            "FOUND": f"[bold green]{escape(verdict.arm or '')}[/] is the best {'fair ' if verdict.fairness_tested else ''}arm found",
            "NO_FAIR_ARM": "[bold yellow]no fair arm found[/]",
            "UNDECIDED": "[bold yellow]undecided[/]",
        }[verdict.status]
        console.print(f"{answer}, after {count(found.pulls, 'pull')} at a cost of {found.cost:.6g}.")
        for line in _sureness(verdict) if verdict.probability is not None else ():
            console.print(escape(line))
        if found.mixture is not None:
            console.print(escape(mixture_text(found.mixture)))
        if not verdict.fairness_tested:
            console.print("[yellow]This algorithm does not test fairness: the arm may be unfair.[/]")
        if verdict.status == "UNDECIDED":
            more = "Not sure enough" if verdict.confidence is not None else "There is no usable estimate"
            console.print(f"{more}. Give more pulls.")
        if found.correct is not None and verdict.status != "UNDECIDED":
            console.print(
                "[green]That is the truth in this world.[/]"
                if found.correct
                else "[red]That is not the truth in this world.[/]"
            )


def _tested_table(problem: Problem, verdict: Verdict) -> Table:
    s, other = problem.groups
    table = _table("arm", "outcome", f"gap {s}|{other}", f"gap {other}|{s}", "phase", "why")
    for report in verdict.arms[:MOST_ARMS]:
        gaps = [value(g, "+.4f") for g in report.gaps.values()]
        phase = str(report.rejected_in_phase or "")
        table.add_row(escape(report.name), value(report.outcome), *gaps, phase, escape(report.reason))
    return table


def _believed_table(problem: Problem, verdict: Verdict) -> Table:
    """The most probable arms first."""
    s, other = problem.groups
    table = _table("arm", "outcome", "95 % limits", f"gap {s} - {other}", "95 % limits ", "fair", "best", "rows", "why")
    for report in sorted(verdict.arms, key=lambda r: -(r.best_probability or 0.0))[:MOST_ARMS]:
        low, high = report.outcome_interval or (np.nan, np.nan)
        gap_low, gap_high = report.gap_interval or (np.nan, np.nan)
        table.add_row(
            escape(report.name),
            value(report.outcome),
            f"{value(low)} to {value(high)}",
            value(next(iter(report.gaps.values())), "+.4f"),
            f"{value(gap_low, '+.4f')} to {value(gap_high, '+.4f')}",
            value(report.fair_probability, ".2f"),
            value(report.best_probability, ".2f"),
            value(report.effective_rows, ".0f"),
            escape(report.reason),
        )
    return table


def _sureness(verdict: Verdict) -> Iterator[str]:
    """How sure the answer is, and by what; the proved and the posterior kind are never worded alike."""
    if guarantee := guarantee_of(verdict):
        yield guarantee
    posterior, *rest = sureness(verdict)
    yield " ".join([posterior, *rest[:1]])
    yield from rest[1:]


def simulation(found: Simulation) -> None:
    best = found.best_fair_arm
    truth = "no arm is fair" if best is None else f"the best fair arm is {escape(best)}"
    console.print(f"[bold]{escape(found.problem)}[/]: {truth}. Share of runs with a wrong answer:")
    limit = ["used / limit"] if any(p.pulls_per_limit is not None for p in found.results) else []
    table = _table(
        "algorithm", "pulls", "runs", "error", "95 % limits", "none", "undecided", "cost", "pulls used", *limit
    )
    for p in found.results:
        limits = f"{p.error_low:.3f}-{p.error_high:.3f}"
        table.add_row(
            escape(p.algorithm), str(p.pulls), str(p.runs), f"[bold]{p.error:.3f}[/]", limits, f"{p.none_rate:.3f}",
            f"{p.undecided_rate:.3f}", f"{p.mean_cost:.6g}", f"{p.mean_pulls:.0f}",
            *([value(p.pulls_per_limit, ".2f")] if limit else []),
        )  # fmt: skip
    console.print(table)


def experiment_plan(found: ExperimentPlan) -> None:
    source = f"from a prior (mean {found.prior_mean:g}, strength {found.prior_strength:g})" if not found.log_rows else (
        f"from what the log's {count(found.log_rows, 'row')} say, which every experiment starts from"
    )  # fmt: skip
    console.print(
        f"[bold]{escape(found.problem)}[/]: to be wrong in at most {found.target_error:.3g} of experiments, over {found.truths} truths drawn "
        f"{source}. An arm within {found.outcome_margin:.4g} of the best "
        f"outcome and {found.gap_margin:.4g} of the tolerance counts as right."
    )
    table = _table("average cost allowed", "pulls", "cost", "error", "95 % limits", "what it pulls")
    for option in found.options:
        point = next((p for p in option.curve if p.pulls == option.pulls), option.curve[-1])
        cost = "no limit" if option.average_cost is None else f"{option.average_cost:.4g} a pull"
        marks = [word for word, o in (("cheapest", found.cheapest), ("quickest", found.quickest)) if o is option]
        units = ", ".join(f"{u.pulls:.0f} x {escape(u.arm)} ({escape(u.regime)})" for u in option.units[:4])
        table.add_row(
            f"{cost} {'[green]' + ', '.join(marks) + '[/]' if marks else ''}",
            str(option.pulls) if option.pulls is not None else f"more than {point.pulls}",
            "?" if option.cost is None else f"{option.cost:.6g}",
            f"{point.error:.3f}",
            f"{point.error_low:.3f}-{point.error_high:.3f}",
            units + (" …" if len(option.units) > 4 else ""),
        )
    console.print(table)
    for note in found.notes:
        console.print(f"[yellow]Note:[/] {escape(note)}")


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
