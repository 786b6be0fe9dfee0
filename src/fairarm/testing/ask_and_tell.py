"""The contract of asking, telling and spending."""

from __future__ import annotations

import copy

import numpy as np

from fairarm.algorithms import Algorithm, Status
from fairarm.problem.pulls import Batch, Request, batch
from fairarm.testing.checks import (
    Subject,
    answers,
    close,
    comparable,
    finish,
    holds,
    promised,
    refused,
    same,
    same_but_for_order,
    take,
    told_by_unit,
    units,
)
from fairarm.worlds import World


@promised()
def ask_changes_nothing_and_is_what_is_missing(subject: Subject, world: World) -> None:
    """Asked twice, it says the same; after part of a phase it asks for the rest."""
    run, rng = subject.start(world), np.random.default_rng(1)
    while not run.finished:
        before = run.to_json()
        plan, again = run.ask(), run.ask()
        same(run.to_json(), before, "the run after asking")
        same(plan.counts, again.counts, "what is asked for twice")
        same(plan.counts, run.state.plan[0], "what is asked for, and the plan")
        holds(plan.total > 0, "a phase that is open asks for nothing")
        part = units(world.pull(plan, rng))
        same(part.total, plan.total, "the rows that came")
        half = part.size // 2
        if half:
            first = take(part, slice(0, half))
            run.tell(first, id=f"{run.phase} first")
            same(run.ask().counts, plan.counts - told_by_unit(first, plan.counts.shape), "what is missing")
        run.tell(take(part, slice(half, None)), id=f"{run.phase} second")
    same((run.ask().total, list(run.ask())), (0, []), "what is asked for after the end")


@promised()
def changing_what_was_asked_for_changes_nothing(subject: Subject, world: World) -> None:
    """The caller may write into the request."""
    run = subject.start(world)
    before = run.to_json()
    run.ask().counts[:] = 0
    same(run.to_json(), before, "the run after its request was changed")


@promised(seed=range(2))
def parts_in_any_split_and_order_are_one(subject: Subject, world: World, seed: int) -> None:
    """A phase told whole, and told in parts of its rows in another order."""
    whole, parts, rng = subject.start(world), subject.start(world), np.random.default_rng(seed)
    for id, answer in answers(whole, world, seed):
        whole.tell(answer, id=id)
        rows = take(units(answer), rng.permutation(answer.total))
        cuts = np.sort(rng.integers(0, rows.size + 1, 3))
        for j, at in enumerate(np.split(np.arange(rows.size), cuts)):
            if not parts.finished and len(at):
                parts.tell(take(rows, at), id=f"{id}.{j}")
        same(parts.finished, whole.finished, "whether the run is finished")
        same(parts.ask().counts, whole.ask().counts, "the next plan")
    same_but_for_order(whole, parts)
    if world.problem.compiled.finite:
        same(comparable(whole), comparable(parts), "the saved run")


@promised()
def the_same_part_twice_changes_nothing_and_other_content_is_an_error(subject: Subject, world: World) -> None:
    """An id stands for its rows."""
    run = subject.start(world)
    part = units(world.pull(run.ask(), np.random.default_rng(0)))
    first, rest = take(part, slice(0, 1)), take(part, slice(1, None))
    run.tell(first, id="one")
    before = run.to_json()
    run.tell(copy.deepcopy(first), id="one")
    same(run.to_json(), before, "the run after a part was repeated")
    other = Batch(first.arm, first.regime, first.columns, first.count + 1)
    for conflicting in (rest, other) if rest.size else (other,):
        with refused("another part under the same id", "one"):
            run.tell(conflicting, id="one")
        same(run.to_json(), before, "the run after a part was refused")
    run.tell(rest, id="two")
    done = run.to_json()
    run.tell(first, id="one")
    run.tell(rest, id="two")
    same(run.to_json(), done, "the run after both parts were repeated")


@promised()
def an_empty_part_changes_no_estimate(subject: Subject, world: World) -> None:
    """A part without rows is only remembered."""
    run = subject.start(world)
    part = world.pull(run.ask(), np.random.default_rng(0))
    before = comparable(run)
    run.tell(take(part, slice(0, 0)), id="nothing")
    same(comparable(run), before, "the run after an empty part")


@promised()
def telling_does_not_keep_the_callers_arrays(subject: Subject, world: World) -> None:
    """The caller may write into a part that was told."""
    run = subject.start(world)
    rows = units(world.pull(run.ask(), np.random.default_rng(0)))
    half = take(rows, np.arange(max(1, rows.size // 2)))
    run.tell(half, id="x")
    before = run.to_json()
    half.count[:] = 99
    for values in half.columns.values():
        values[:] = 0
    same(run.to_json(), before, "the run after the caller's arrays were changed")


@promised()
def surplus_rows_count_in_the_phase_they_arrive_in(subject: Subject, world: World) -> None:
    """Twice the rows of the first phase: all are pulls, and the second phase still asks for its own in full."""
    run, plain = subject.start(world), subject.start(world)
    plan = run.ask()
    doubled = Request(plan.arms, plan.regimes, plan.counts * 2)
    run.tell(world.pull(doubled, np.random.default_rng(0)), id="double")
    same(run.pulls_made(), doubled.counts, "the pulls")
    plain.tell(world.pull(plan, np.random.default_rng(9)), id="plain")
    holds(run.state.closed[0] >= 1 and plain.state.closed[0] >= 1, "the first phase did not close")
    same(run.ask().counts, run.state.plan[0], "what the second phase asks for, and its plan")


@promised()
def surplus_rows_enter_the_estimates(subject: Subject, world: World) -> None:
    """Of twice the rows one is left out: some estimate differs."""
    first, second = subject.start(world), subject.start(world)
    plan = first.ask()
    doubled = units(world.pull(Request(plan.arms, plan.regimes, plan.counts * 2), np.random.default_rng(4)))
    first.tell(doubled, id="all")
    line = int(np.argmax(plan.counts[doubled.regime, doubled.arm] > 0))
    second.tell(take(doubled, np.delete(np.arange(doubled.size), line)), id="most")
    same(first.pulls_made().sum(), second.pulls_made().sum() + 1, "the pulls")
    equal = [
        np.array_equal(getattr(first.info, name), getattr(second.info, name), equal_nan=True)
        for name in ("outcomes", "gaps")
    ]
    holds(not all(equal), "a row beyond the plan changes no estimate")


@promised()
def late_rows_count_in_the_next_phase(subject: Subject, world: World) -> None:
    """A phase is closed with half its rows; the others come later, or never where that was the last phase."""
    run = subject.start(world)
    rows = units(world.pull(run.ask(), np.random.default_rng(2)))
    half = rows.size // 2
    late = take(rows, slice(half, None))
    run.tell(take(rows, slice(0, half)), id="in time")
    close(run)
    holds(run.state.closed[0] >= 1, "the phase did not close")
    if run.finished:
        with refused("a row after the end", "finished"):
            run.tell(late, id="late")
        return
    closed, missing = int(run.state.closed[0]), run.ask().counts
    run.tell(late, id="late")
    if run.state.closed[0] == closed:
        left = np.maximum(missing - told_by_unit(late, missing.shape), 0)
        same(run.ask().counts, left, "what is missing after late rows")
    same(int(run.pulls_made().sum()), rows.size, "the pulls")
    holds(finish(run, world).finished, "the run does not end")


@promised()
def closing_phases_with_nothing_ends_in_a_defined_verdict(subject: Subject, world: World) -> None:
    """No row ever comes: undecided, and no estimate is made up."""
    run = subject.start(world)
    while not run.finished:
        close(run)
    verdict = run.verdict()
    same(int(run.pulls_made().sum()), 0, "the pulls")
    same((verdict.finished, verdict.recommended_status), (True, Status.UNDECIDED), "the verdict without a row")
    for arm in verdict.arms:
        same(
            (arm.outcome, set(arm.gaps.values()), arm.rejected_in_phase),
            (None, {None}, None),
            f"what is said of {arm.name}",
        )


@promised()
def after_the_end_nothing_can_be_told(subject: Subject, world: World) -> None:
    """A finished run stays as it is."""
    run = finish(subject.start(world), world)
    extra = world.pull(subject.start(world).ask(), np.random.default_rng(7))
    before = run.to_json()
    with refused("a row after the end", "finished"):
        run.tell(extra, id="extra")
    with refused("closing a phase after the end", "finished"):
        run.close_phase()
    same(run.to_json(), before, "the run after it was finished")


@promised(pulls=(7, 60, 1001))
def never_more_pulls_or_cost_than_given(subject: Subject, world: World, pulls: int) -> None:
    """At most T pulls at a cost of at most B·T; where a run is to use every pull, exactly T unless it is decided early."""
    run = finish(subject.start(world, pulls), world)
    made = int(run.pulls_made().sum())
    early = (run.info.rejected == 0).sum() <= 1 or run.verdict().recommended_status is Status.NO_FAIR_ARM
    holds(made <= pulls, f"{made} pulls of {pulls}")
    holds(early or made == pulls or not subject.uses_every_pull, f"only {made} of {pulls} pulls")
    _affordable(run, run.pulls_made(), pulls)


@promised()
def plans_of_all_phases_stay_within_what_is_given(subject: Subject, world: World) -> None:
    """Closed empty until the last phase, so that nobody is rejected: at most T in all, at most B·T in cost."""
    run = subject.start(world, 1001)
    total = np.zeros_like(run.pulls_made())
    while not run.finished:
        total += run.ask().counts
        close(run)
    holds(total.sum() <= 1001, f"plans of {total.sum()} pulls of 1001")
    holds(total.sum() == 1001 or not subject.uses_every_pull, f"plans of only {total.sum()} pulls of 1001")
    _affordable(run, total, 1001)


def _affordable(run: Algorithm, made: np.ndarray[tuple[int, ...], np.dtype[np.int64]], pulls: int) -> None:
    budget, cost = run.problem.average_cost_budget(pulls), float(run.problem.compiled.cost_of(made))
    holds(budget is None or cost <= budget * pulls + 1e-6, f"a cost of {cost}, more than {budget} per pull")


@promised("chain")
def rows_by_name_and_counts_by_code_are_the_same(subject: Subject, world: World) -> None:
    """`batch` with names, one row per line, against codes with counts."""
    coded, named = subject.start(world), subject.start(world)
    answer = world.pull(coded.ask(), np.random.default_rng(0))
    coded.tell(answer, id="x")
    named.tell(batch(world.problem, units(answer).labels(world.problem)), id="x")
    same(comparable(coded), comparable(named), "the saved run")
