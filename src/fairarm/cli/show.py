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

from fairarm.algorithms import BestMixture, Verdict
from fairarm.core.limit import Limit
from fairarm.experiments import ExperimentPlan, Identification, Inspection, Simulation
from fairarm.experiments.identify import PhaseStory
from fairarm.problem.model import Problem
from fairarm.problem.pulls import Pulls

WIDE = 160
console = Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE)
"""A pipe or a log has no width of its own: there, nothing is cut or broken to fit one."""

MOST_ARMS = 40
ESTIMATED = {"cell means": "Estimated from cell means", "doubly robust": "Estimated by doubly robust regression"}
LARGE = 1000.0
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


def _names(names: tuple[str, ...] | list[str], most: int = 8) -> str:
    shown = ", ".join(escape(n) for n in names[:most])
    return (shown or "none") + (f" and {len(names) - most} more" if len(names) > most else "")


def _value(x: float | None, digits: str = ".4f") -> str:
    if x is None or np.isnan(x):
        return "?"
    if np.isinf(x):
        return "inf"
    return format(x, digits if abs(x) < LARGE else digits.replace(".4f", ".6g"))


def inspection(found: Inspection) -> None:
    problem, truth = found.problem, found.truth
    s, other = problem.groups
    console.print(f"[bold]{escape(problem.name)}[/]  {escape(problem.description)}")
    console.print(
        f"Choose how [bold]{escape(problem.decision)}[/] is decided so that [bold]{escape(problem.outcome.node)}[/] is highest, while "
        f"changing [bold]{escape(problem.sensitive)}[/] ({escape(s)}, {escape(other)}) changes it by less than {problem.gap_tolerance:.6g}."
    )
    console.print(f"Must be observed: {_names(problem.observed, 20)}.")
    hidden = len(problem.graph.nodes) - len(problem.observed)
    console.print(f"May stay hidden: {hidden} of {len(problem.graph.nodes)} nodes.")
    console.print(f"Children of {escape(problem.sensitive)} that matter: {_names(problem.relevant_children)}.")
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
            f"a pull. First phase: {_plan(found.first_plan)}."
        )
    if lost := found.unreached():
        console.print(f"[yellow]The deployed arm's pulls say nothing about: {_names(lost)}.[/]")
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
            console.print(_limit(problem, limit, what))
    for note in found.notes:
        console.print(f"[yellow]Not available:[/] {escape(note)}")


def _limit(problem: Problem, limit: Limit, what: str) -> str:
    if limit.pulls == 0 or not limit.alternatives:
        return f"Limit, {what}: no pull is needed, as no truth would give another answer (T* = 0)."
    if not limit.binding or not np.isfinite(limit.pulls):
        return f"Limit, {what}: no number of pulls is enough (T* = inf)."
    hardest = limit.binding[0]
    return (
        f"Limit, {what}: T* = {limit.pulls:.4g} ({limit.form}); a rule that errs with probability 0.05 whatever the truth needs about "
        f"{limit.pulls_needed(0.05):.4g} pulls on average. Hardest to exclude: {escape(problem.arm_names[hardest.arm])}, {hardest.kind}."
    )


def _arm_table(found: Inspection) -> None:
    problem, truth = found.problem, found.truth
    s, other = problem.groups
    j = problem.arm_index(problem.deployed) if problem.deployed else 0
    table = _table("arm", "outcome", f"gap {s} - {other}", "fair", "M", f"D {s}|{other}", f"D {other}|{s}")
    for k, name in enumerate(problem.arm_names[:MOST_ARMS]):
        known = truth is not None
        table.add_row(
            escape(name) + (" (deployed)" if name == problem.deployed else ""),
            _value(float(truth.outcomes[k]) if truth else None),
            _value(float(truth.gaps[k]) if truth else None, "+.4f"),
            ("[green]yes[/]" if truth.fair[k] else "[red]no[/]") if known and truth else "?",
            _value(None if found.M is None else float(found.M[k, j]), ".2f"),
            _value(None if found.D is None else float(found.D[0, k, j]), ".2f"),
            _value(None if found.D is None else float(found.D[1, k, j]), ".2f"),
        )
    console.print(table)
    if len(problem.arms) > MOST_ARMS:
        console.print(f"({len(problem.arms) - MOST_ARMS} more arms; --json has all)")
    console.print(
        f"[dim]M and D: how far each arm is from {escape(problem.arm_names[j])}; the smaller, the more its pulls tell.[/]"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _plan(plan: tuple[Pulls, ...], most: int = 4) -> str:
    largest = sorted(plan, key=lambda p: -p.count)
    shown = ", ".join(f"{p.count} x {escape(p.arm)} [dim]({escape(p.regime)})[/]" for p in largest[:most])
    return shown + (f" and {_count(len(plan) - most, 'other unit')}" if len(plan) > most else "") if plan else "nothing"


class Storyteller:
    """Prints each phase as it ends, then the verdict."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def phase(self, story: PhaseStory) -> None:
        console.print(
            f"[bold]Phase {story.phase}[/]: {_count(story.pulls, 'pull')}, cost {story.cost:.6g}: {_plan(story.plan)}"
        )
        if story.probability is not None:
            console.print(f"    most likely: {escape(story.leader or '')}, probability {story.probability:.2f}")
            return
        console.print(
            f"    {len(story.left)} of {len(self.problem.arms)} arms left, {len(story.fair)} shown fair"
            + (f", leader {escape(story.leader)}" if story.leader else "")
            + (f"; rejected {_names(story.rejected)}" if story.rejected else "")
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
        console.print(f"{answer}, after {_count(found.pulls, 'pull')} at a cost of {found.cost:.6g}.")
        for line in _sureness(verdict):
            console.print(line)
        if found.mixture is not None:
            console.print(_mixture(self.problem, found.mixture))
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
        gaps = [_value(g, "+.4f") for g in report.gaps.values()]
        phase = str(report.rejected_in_phase or "")
        table.add_row(escape(report.name), _value(report.outcome), *gaps, phase, escape(report.reason))
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
            _value(report.outcome),
            f"{_value(low)} to {_value(high)}",
            _value(next(iter(report.gaps.values())), "+.4f"),
            f"{_value(gap_low, '+.4f')} to {_value(gap_high, '+.4f')}",
            _value(report.fair_probability, ".2f"),
            _value(report.best_probability, ".2f"),
            _value(report.effective_rows, ".0f"),
            escape(report.reason),
        )
    return table


def _sureness(verdict: Verdict) -> Iterator[str]:
    """How sure the answer is, and by what; the proved and the posterior kind are never worded alike."""
    if verdict.probability is None:
        return
    if verdict.guarantee == "certified" and verdict.status != "UNDECIDED":
        yield f"[bold]Certified[/]: wrong with probability at most {1 - (verdict.confidence or 0):.3g}, whatever the truth (proved)."
    elif verdict.guarantee == "certified":
        yield f"Nothing is certified at confidence {verdict.confidence:g}."
    elif verdict.guarantee == "bayes-stop" and verdict.status != "UNDECIDED":
        yield f"Bayes-stop: stopped when the posterior probability reached {verdict.confidence:g} (calibrated by simulation, not proved)."
    yield (
        f"Posterior probability of {escape(verdict.leader or '')}: {verdict.probability:.3f}; next, "
        f"{escape(verdict.runner_up or '')}: {verdict.runner_up_probability or 0:.3f}. {ESTIMATED[verdict.method or '']}; "
        f"[dim]fair, best: probabilities; rows: effective sample size.[/]"
    )
    passed_over = next((arm for arm in verdict.arms if arm.name == verdict.runner_up), None)
    if passed_over is not None and (verdict.runner_up_probability or 0) > verdict.probability and verdict.finished:
        yield (
            f"{escape(passed_over.name)} is more probable to be the best fair arm, but it is fair with probability "
            f"{passed_over.fair_probability or 0:.2f} only: less than an answer must have (--min-fair-probability)."
        )


def _mixture(problem: Problem, found: BestMixture) -> str:
    if found.best is None:
        return f"No mixture of two arms is fair with probability {found.fair_probability:g}."
    parts = " and ".join(f"{share:.0%} {escape(name)}" for name, share in found.best.shares.items())
    low, high = found.best.outcome_interval
    text = (
        f"Best mixture that is fair with probability {found.fair_probability:g}: {parts}, "
        f"outcome {_value(found.best.outcome)} ({_value(low)} to {_value(high)})"
    )
    if found.single is not None:
        text += f"; best single arm under the same rule: {escape(next(iter(found.single.shares)))}, {_value(found.single.outcome)}"
    return text + (f". Being so sure costs {_value(found.margin_cost)}." if found.margin_cost is not None else ".")


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
            *([_value(p.pulls_per_limit, ".2f")] if limit else []),
        )  # fmt: skip
    console.print(table)


def experiment_plan(found: ExperimentPlan) -> None:
    source = f"from a prior (mean {found.prior_mean:g}, strength {found.prior_strength:g})" if not found.log_rows else (
        f"from what the log's {_count(found.log_rows, 'row')} say, which every experiment starts from"
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
