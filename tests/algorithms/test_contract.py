"""One suite over every algorithm: what ask, tell, close_phase, verdict, to_json and resume promise."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from fairarm.algorithms import DESCRIPTIONS, Algorithm, Status, algorithm, resume
from fairarm.errors import DataError
from fairarm.problem.context import ContextSample
from fairarm.problem.mechanism import Arm, table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.pulls import Batch, Request, batch
from fairarm.problem.variables import Variable
from fairarm.sealed import opened, sealed
from fairarm.worlds import FunctionWorld, NetworkWorld, World, context_law

T = 60
NAMES = list(DESCRIPTIONS)
PROBLEMS = ("chain", "context", "real")
PLANNED_BY_ARMS_LEFT = ("csr", "two-stage", "sris")
"""Their plans depend on the rows only through the arms that are left."""

CHAIN_ROWS = {
    "deployed": [[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]],
    "bold": [[0.2, 0.2, 0.6], [0.3, 0.2, 0.5]],
    "never-low": [[0.0, 0.3, 0.7], [0.0, 0.6, 0.4]],
}


def chain_parts(**changes: Any) -> dict[str, Any]:
    """S → V → Y; one arm that never gives V = low, a free deployed arm, the paper's budget."""
    return {
        "name": "chain",
        "variables": [
            Variable("S", ("a", "b")),
            Variable("V", ("low", "mid", "high")),
            Variable("Y", ("bad", "fine", "good")),
        ],
        "graph": [("S", "V"), ("V", "Y")],
        "sensitive": "S",
        "decision": "V",
        "outcome": Outcome("Y", values=(-1, 0, 3)),
        "tolerance": 1.2,
        "arms": [Arm(name, table("V", ["S"], rows)) for name, rows in CHAIN_ROWS.items()],
        "costs": [[0, 0, 0], [1, 2, 2], [1, 1, 1]],
        "budget": "1/sqrt(pulls)",
        "shares": {"a": 0.6, "b": 0.4},
        **changes,
    }


def chain_network() -> Network:
    p = Problem(**chain_parts())
    return Network.of(
        p.variables.values(),
        [
            table("S", [], [0.6, 0.4]),
            table("V", ["S"], CHAIN_ROWS["deployed"]),
            table("Y", ["V"], [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]]),
        ],
    )


def context_network() -> Network:
    return Network.of(
        [Variable("S", ("a", "b")), *(Variable(n, ("0", "1")) for n in "ZXVY")],
        [
            table("S", [], [0.5, 0.5]),
            table("Z", [], [0.3, 0.7]),
            table("X", ["S"], [[0.8, 0.2], [0.4, 0.6]]),
            table("V", ["Z"], [[0.5, 0.5], [0.5, 0.5]]),
            table("Y", ["X", "V"], [[[0.9, 0.1], [0.6, 0.4]], [[0.5, 0.5], [0.1, 0.9]]]),
        ],
    )


def context_parts(**changes: Any) -> dict[str, Any]:
    """S → X → Y with V between Z and Y; no pull is free, and the groups are named in the other order than the states."""
    network = context_network()
    return {
        "name": "context",
        "variables": network.variables,
        "graph": network.edges(),
        "sensitive": "S",
        "groups": ("b", "a"),
        "decision": "V",
        "outcome": Outcome("Y", values=(0, 1)),
        "tolerance": 0.4,
        "arms": [Arm(f"arm{i}", table("V", ["Z"], [[1 - p, p], [q, 1 - q]])) for i, (p, q) in enumerate([(0.5, 0.5), (0.9, 0.2)])],
        "mechanisms": [network.tables["X"]],
        "costs": [[1, 2, 1], [3, 2, 2]],
        "budget": 1.75,
        "shares": {"a": 0.5, "b": 0.5},
        **changes,
    }  # fmt: skip


def simulate_real(arm: str, regime: str, count: int, rng: np.random.Generator) -> dict[str, Any]:
    S = rng.choice(["a", "b"], count) if regime == "natural" else np.full(count, regime)
    high = np.where(S == "a", *[[0.3, 0.5], [0.6, 0.7]][arm == "new"])
    V = np.where(rng.random(count) < high, "1", "0")
    return {"S": S, "V": V, "Y": np.where(V == "1", 2.0, 0.0) + rng.random(count)}


def real_problem() -> Problem:
    """S → V → Y with a real outcome: rows are kept one by one."""
    return Problem(
        name="real",
        variables=[Variable("S", ("a", "b")), Variable("V", ("0", "1"))],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", low=0, high=3),
        tolerance=1.0,
        arms=[
            Arm("old", table("V", ["S"], [[0.7, 0.3], [0.5, 0.5]])),
            Arm("new", table("V", ["S"], [[0.4, 0.6], [0.3, 0.7]])),
        ],
        shares=(0.5, 0.5),
    )


@cache
def make_world(name: str) -> World:
    if name == "real":
        return FunctionWorld(real_problem(), simulate_real)
    if name == "chain":
        return NetworkWorld(Problem(**chain_parts()), chain_network())
    bare = Problem(**context_parts())
    return NetworkWorld(Problem(**context_parts(context=context_law(context_network(), bare))), context_network())


@pytest.fixture(params=PROBLEMS)
def world(request: pytest.FixtureRequest) -> World:
    return make_world(request.param)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def start(name: str, world: World, pulls: int = T) -> Algorithm:
    return algorithm(name, world.problem, pulls=pulls, seed=3)


def answers(run: Algorithm, world: World, seed: int = 0) -> Iterator[tuple[str, Batch]]:
    """One batch a phase, with ids; drawn afresh for each plan, the same for the same seed and plan."""
    i = 0
    while not run.finished:
        yield f"part {i}", world.pull(run.ask(), np.random.default_rng([seed, i]))
        i += 1


def finish(run: Algorithm, world: World, seed: int = 0) -> Algorithm:
    for id, part in answers(run, world, seed):
        run.tell(part, id=id)
    return run


def units(part: Batch) -> Batch:
    """One line a row: every count 1."""
    at = np.repeat(np.arange(part.size), part.count)
    return take(part, at, np.ones(len(at), dtype=np.int64))


def take(part: Batch, at: Any, count: Any = None) -> Batch:
    columns = {name: values[at] for name, values in part.columns.items()}
    return Batch(part.arm[at], part.regime[at], columns, part.count[at] if count is None else count)


def comparable(run: Algorithm) -> dict[str, Any]:
    """All of the state but the ids, which a split changes."""
    document, _ = opened(run.to_json(), "run")
    del document["told"]
    return document


def same_but_for_order(first: Algorithm, second: Algorithm) -> None:
    """Equal verdicts and pulls; estimates equal bit for bit for counts, to 1e-12 for rows (the order of a sum)."""
    assert first.verdict().status == second.verdict().status
    assert first.verdict().arm == second.verdict().arm
    assert first.verdict().phases == second.verdict().phases
    np.testing.assert_array_equal(first.pulls_made(), second.pulls_made())
    np.testing.assert_array_equal(first.state.answer, second.state.answer)
    for field in ("fair", "rejected", "reason"):
        np.testing.assert_array_equal(getattr(first.info, field), getattr(second.info, field))
    rtol = 0 if first.problem.compiled.finite else 1e-12
    np.testing.assert_allclose(first.info.outcomes, second.info.outcomes, rtol=rtol)
    np.testing.assert_allclose(first.info.gaps, second.info.gaps, rtol=rtol, atol=rtol)


# ---- asking ----


def test_ask_changes_nothing_and_is_what_is_missing(name: str, world: World) -> None:
    run, rng = start(name, world), np.random.default_rng(1)
    while not run.finished:
        before = run.to_json()
        plan, again = run.ask(), run.ask()
        assert run.to_json() == before
        np.testing.assert_array_equal(plan.counts, again.counts)
        assert plan.total > 0
        np.testing.assert_array_equal(plan.counts, run.state.plan[0])
        part = units(world.pull(plan, rng))
        assert part.total == plan.total
        half = part.size // 2
        if half:
            run.tell(take(part, slice(0, half)), id=f"{run.phase} first")
            told = np.zeros_like(plan.counts)
            np.add.at(told, (part.regime[:half], part.arm[:half]), 1)
            np.testing.assert_array_equal(run.ask().counts, plan.counts - told)
        run.tell(take(part, slice(half, None)), id=f"{run.phase} second")
    assert run.ask().total == 0
    assert list(run.ask()) == []


def test_changing_the_plan_that_was_asked_for_changes_nothing(name: str, world: World) -> None:
    run = start(name, world)
    before = run.to_json()
    run.ask().counts[:] = 0
    assert run.to_json() == before


# ---- telling ----


@pytest.mark.parametrize("seed", range(2))
def test_parts_in_any_split_and_order_are_one(name: str, world: World, seed: int) -> None:
    whole, parts, rng = start(name, world), start(name, world), np.random.default_rng(seed)
    for id, answer in answers(whole, world, seed):
        whole.tell(answer, id=id)
        rows = take(units(answer), rng.permutation(answer.total))
        cuts = np.sort(rng.integers(0, rows.size + 1, 3))
        for j, at in enumerate(np.split(np.arange(rows.size), cuts)):
            if parts.finished or not len(at):
                continue
            parts.tell(take(rows, at), id=f"{id}.{j}")
        assert parts.finished == whole.finished
        np.testing.assert_array_equal(parts.ask().counts, whole.ask().counts)
    same_but_for_order(whole, parts)
    if world.problem.compiled.finite:
        assert comparable(whole) == comparable(parts)


def test_the_same_part_twice_changes_nothing_and_other_content_is_an_error(name: str, world: World) -> None:
    run, rng = start(name, world), np.random.default_rng(0)
    part = units(world.pull(run.ask(), rng))
    first, rest = take(part, slice(0, 1)), take(part, slice(1, None))
    run.tell(first, id="one")
    before = run.to_json()
    run.tell(copy.deepcopy(first), id="one")
    assert run.to_json() == before
    other = Batch(first.arm, first.regime, first.columns, first.count + 1)
    for conflicting in (rest, other) if rest.size else (other,):
        with pytest.raises(DataError, match="one"):
            run.tell(conflicting, id="one")
        assert run.to_json() == before
    run.tell(rest, id="two")
    done = run.to_json()
    run.tell(first, id="one")
    run.tell(rest, id="two")
    assert run.to_json() == done


def test_an_empty_part_changes_no_estimate(name: str, world: World) -> None:
    run = start(name, world)
    part = world.pull(run.ask(), np.random.default_rng(0))
    before = comparable(run)
    run.tell(take(part, slice(0, 0)), id="nothing")
    assert comparable(run) == before


def test_telling_does_not_keep_the_callers_arrays(name: str, world: World) -> None:
    run = start(name, world)
    part = world.pull(run.ask(), np.random.default_rng(0))
    half = units(part)
    half = take(half, np.arange(max(1, half.size // 2)))
    run.tell(half, id="x")
    before = run.to_json()
    half.count[:] = 99
    for values in half.columns.values():
        values[:] = 0
    assert run.to_json() == before


def test_surplus_rows_count_in_the_phase_they_arrive_in(name: str, world: World) -> None:
    run, rng = start(name, world), np.random.default_rng(0)
    plan = run.ask()
    doubled = Request(plan.arms, plan.regimes, plan.counts * 2)
    run.tell(world.pull(doubled, rng), id="double")
    np.testing.assert_array_equal(run.pulls_made(), doubled.counts)
    if name == "uniform":
        assert run.finished
        return
    # the surplus served the first phase only: the second asks for its own plan in full
    plain = start(name, world)
    plain.tell(world.pull(plan, np.random.default_rng(9)), id="plain")
    if not (run.finished or plain.finished) and np.array_equal(run.info.rejected, plain.info.rejected):
        if name.startswith(PLANNED_BY_ARMS_LEFT):
            np.testing.assert_array_equal(run.ask().counts, plain.ask().counts)
        assert run.ask().total == plain.ask().total > 0


def test_surplus_rows_enter_the_estimates(name: str, world: World) -> None:
    """All of a phase's rows in one part, planned or not: the same estimates as a run that is told them unplanned."""
    first, second = start(name, world), start(name, world)
    plan = first.ask()
    doubled = units(world.pull(Request(plan.arms, plan.regimes, plan.counts * 2), np.random.default_rng(4)))
    first.tell(doubled, id="all")
    line = int(np.argmax(plan.counts[doubled.regime, doubled.arm] > 0))
    second.tell(take(doubled, np.delete(np.arange(doubled.size), line)), id="most")
    assert first.pulls_made().sum() == second.pulls_made().sum() + 1
    field = "gaps" if name.startswith("two-stage") else "outcomes"
    assert not np.array_equal(getattr(first.info, field), getattr(second.info, field), equal_nan=True)


def test_late_rows_count_in_the_next_phase(name: str, world: World) -> None:
    prompt, late = start(name, world), start(name, world)
    rows = units(world.pull(prompt.ask(), np.random.default_rng(2)))
    half = rows.size // 2
    late.tell(take(rows, slice(0, half)), id="in time")
    late.close_phase()
    if name == "uniform":  # one phase only: a late row has none to count in
        with pytest.raises(DataError, match="finished"):
            late.tell(take(rows, slice(half, None)), id="late")
        return
    assert late.state.closed[0] >= 1
    phase, missing = late.phase, late.ask().counts
    late.tell(take(rows, slice(half, None)), id="late")
    arrived = np.zeros_like(missing)
    np.add.at(arrived, (rows.regime[half:], rows.arm[half:]), 1)
    if late.phase == phase:
        np.testing.assert_array_equal(late.ask().counts, np.maximum(missing - arrived, 0))
    # every row is in the run, the early ones in phase 1 and the late ones in phase 2
    np.testing.assert_array_equal(late.pulls_made().sum(), rows.size)
    finish(late, world)
    assert late.finished


def test_closing_phases_with_nothing_ends_in_a_defined_verdict(name: str, world: World) -> None:
    run = start(name, world)
    while not run.finished:
        run.close_phase()
    assert run.pulls_made().sum() == 0
    verdict = run.verdict()
    assert verdict.finished
    assert verdict.status is Status.UNDECIDED
    assert verdict.arm is None
    for arm in verdict.arms:
        assert arm.outcome is None
        assert set(arm.gaps.values()) == {None}
        assert arm.rejected_in_phase is None


def test_after_the_end_nothing_can_be_told(name: str, world: World) -> None:
    run = finish(start(name, world), world)
    extra = world.pull(start(name, world).ask(), np.random.default_rng(7))
    before = run.to_json()
    with pytest.raises(DataError, match="finished"):
        run.tell(extra, id="extra")
    with pytest.raises(DataError, match="finished"):
        run.close_phase()
    assert run.to_json() == before


# ---- budgets ----


@pytest.mark.parametrize("pulls", [7, 60, 1001])
def test_exactly_the_pulls_and_never_more_cost(name: str, world: World, pulls: int) -> None:
    run = start(name, world, pulls)
    finish(run, world)
    budget = world.problem.average_cost_budget(pulls)
    made, cost = int(run.pulls_made().sum()), float(np.sum(run.pulls_made() * world.problem.compiled.cost_array))
    early = (run.info.rejected == 0).sum() <= 1 or run.verdict().status is Status.NO_FAIR_ARM
    assert made <= pulls if early else made == pulls
    assert budget is None or cost <= budget * pulls + 1e-6


def test_a_run_that_rejects_nobody_uses_every_pull(name: str, world: World) -> None:
    """Closed empty until the last phase: the plans of all phases together are exactly T, at most B·T in cost."""
    run = start(name, world, 1001)
    total = np.zeros_like(run.pulls_made())
    while not run.finished:
        total += run.ask().counts
        run.close_phase()
    assert total.sum() == 1001
    budget = world.problem.average_cost_budget(1001)
    assert budget is None or np.sum(total * world.problem.compiled.cost_array) <= budget * 1001 + 1e-6


# ---- saving and resuming ----


def no_constants(text: str) -> Any:
    raise AssertionError(f"{text} is not JSON")


def test_state_is_strict_json_at_every_moment(name: str, world: World) -> None:
    run = start(name, world)
    assert json.loads(run.to_json(), parse_constant=no_constants)["algorithm"] == name
    for id, part in answers(run, world):
        run.tell(part, id=id)
        json.loads(run.to_json(), parse_constant=no_constants)


def test_resume_is_continue_bit_for_bit(name: str, world: World) -> None:
    """Saved and restored at every phase boundary and in the middle of every phase, against a run never saved."""
    straight, saved = start(name, world), start(name, world)
    for id, part in answers(straight, world):
        rows = units(part)
        cut = rows.size // 2
        for j, at in enumerate((slice(0, cut), slice(cut, None))):
            if saved.finished:
                continue
            straight.tell(take(rows, at), id=f"{id}.{j}")
            document = saved.to_json()
            saved = resume(world.problem, document)
            assert saved.to_json() == document
            saved.tell(take(rows, at), id=f"{id}.{j}")
            assert saved.to_json() == straight.to_json()
            assert saved.verdict() == straight.verdict()
            assert saved.phase == straight.phase
            np.testing.assert_array_equal(saved.ask().counts, straight.ask().counts)
    assert straight.finished
    assert resume(world.problem, straight.to_json()).to_json() == straight.to_json()


def test_a_resumed_run_remembers_what_was_told(name: str, world: World) -> None:
    run = start(name, world)
    part = units(world.pull(run.ask(), np.random.default_rng(0)))
    run.tell(take(part, slice(0, 1)), id="one")
    again = resume(world.problem, run.to_json())
    again.tell(take(part, slice(0, 1)), id="one")
    assert again.to_json() == run.to_json()
    with pytest.raises(DataError, match="one"):
        again.tell(take(part, slice(0, 2)), id="one")


READINGS = {"phases": "product", "clip_base": "e", "programme": "reciprocal", "outcome_pulls": "all", "final_arm": "random"}  # fmt: skip
OPTIONS: dict[str, dict[str, Any]] = {
    "pool": {"min_fair_probability": 0.6, "confidence": 0.75, "stop": "bayes-stop", "law": "estimated"},
    **{name: READINGS for name in NAMES if name.startswith(PLANNED_BY_ARMS_LEFT)},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_resume_keeps_the_options(name: str) -> None:
    world, options = make_world("chain"), OPTIONS[name]
    run = algorithm(name, world.problem, pulls=T, seed=5, **options)
    again = resume(world.problem, run.to_json())
    assert again.procedure.options() == options
    assert finish(again, world).to_json() == finish(run, world).to_json()


OTHER_ROWS = {**CHAIN_ROWS, "bold": [[0.2, 0.2, 0.6], [0.2, 0.3, 0.5]]}
OTHERS = {
    "tolerance": {"tolerance": 1.3},
    "arm's table": {"arms": [Arm(n, table("V", ["S"], rows)) for n, rows in OTHER_ROWS.items()]},
    "arm's name": {"arms": [Arm(n + "!", table("V", ["S"], rows)) for n, rows in CHAIN_ROWS.items()]},
    "arms' order": {"arms": [Arm(n, table("V", ["S"], CHAIN_ROWS[n])) for n in reversed(CHAIN_ROWS)]},
    "fewer arms": {
        "arms": [Arm(n, table("V", ["S"], CHAIN_ROWS[n])) for n in list(CHAIN_ROWS)[:2]],
        "costs": [[0, 0, 0], [1, 2, 2]],
    },
    "costs": {"costs": [[0, 0, 0], [1, 2, 2], [1, 1, 2]]},
    "budget": {"budget": 0.5},
    "shares": {"shares": (0.5, 0.5)},
    "groups' order": {"groups": ("b", "a")},
    "outcome's values": {"outcome": Outcome("Y", values=(-1, 1, 3))},
    "outcome's range": {"outcome": Outcome("Y", values=(-1, 0, 3), low=-1, high=4)},
    "states": {
        "variables": [
            Variable("S", ("a", "b")),
            Variable("V", ("mid", "low", "high")),
            Variable("Y", ("bad", "fine", "good")),
        ]
    },
}


@pytest.mark.parametrize("other", list(OTHERS))
def test_resume_on_another_problem(name: str, other: str) -> None:
    world = make_world("chain")
    run = start(name, world)
    run.tell(world.pull(run.ask(), np.random.default_rng(0)), id="x")
    with pytest.raises(DataError, match="another problem"):
        resume(Problem(**chain_parts(**OTHERS[other])), run.to_json())


@pytest.mark.parametrize("part", ["context law", "child's mechanism", "context sample"])
def test_resume_with_other_known_laws(name: str, part: str) -> None:
    problem = make_world("context").problem
    if part == "context law":
        assert problem.context is not None
        other = replace_problem(context=replace(problem.context, weights=problem.context.weights[::-1]))
    elif part == "child's mechanism":
        other = replace_problem(context=problem.context, mechanisms=[table("X", ["S"], [[0.7, 0.3], [0.4, 0.6]])])
    else:
        problem, other = (replace_problem(context=sample(seed)) for seed in (1, 2))
    run = algorithm(name, problem, pulls=T)
    with pytest.raises(DataError, match="another problem"):
        resume(other, run.to_json())


def replace_problem(**changes: Any) -> Problem:
    return Problem(**context_parts(**changes))


def sample(seed: int) -> ContextSample:
    """Fifty rows of a log of arm0; another seed is another log."""
    rng = np.random.default_rng(seed)
    return ContextSample("arm0", {n: rng.integers(0, 2, 50) for n in ("S", "Z", "X", "V")})


# ---- damage ----


def mid_run(name: str, problem: str) -> tuple[Problem, str]:
    """A run in the middle of its second phase, or of its first."""
    world = make_world(problem)
    run = start(name, world)
    rows = units(world.pull(run.ask(), np.random.default_rng(0)))
    run.tell(take(rows, slice(0, rows.size - 1)), id="most")
    return world.problem, run.to_json()


@pytest.mark.parametrize("problem", ["chain", "real"])
def test_truncated_documents(name: str, problem: str) -> None:
    made, document = mid_run(name, problem)
    for length in [0, 1, 2, *range(3, len(document) - 1, max(1, len(document) // 150)), len(document) - 1]:
        with pytest.raises(DataError):
            resume(made, document[:length])


def paths(node: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key of every object, and the first element of every list."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*at, key)
            yield from paths(value, (*at, key))
    elif isinstance(node, list) and node:
        yield (*at, 0)
        yield from paths(node[0], (*at, 0))


def changed(document: str, path: tuple[Any, ...], value: Any = None, drop: bool = False) -> tuple[str, Any]:
    """The document with one value replaced or dropped, sealed again so that only the value is wrong; and the old value."""
    tree, _ = opened(document, "run")
    node = tree
    for key in path[:-1]:
        node = node[key]
    old = node[path[-1]]
    if drop:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return sealed(tree), old


@pytest.mark.parametrize("problem", ["chain", "real"])
def test_missing_keys(name: str, problem: str) -> None:
    """Every key of the document is needed, at every level; ids of parts are not keys of the format."""
    made, document = mid_run(name, problem)
    for path in paths(opened(document, "run")[0]):
        if isinstance(path[-1], str) and path[0] not in ("told", "options"):
            damaged, _ = changed(document, path, drop=True)
            with pytest.raises(DataError):
                resume(made, damaged)


@pytest.mark.parametrize("problem", ["chain", "real"])
def test_keys_too_many(name: str, problem: str) -> None:
    """No object of a run's own parts holds anything that the format does not know."""
    made, document = mid_run(name, problem)
    tree, _ = opened(document, "run")
    for part in [(), ("state",), ("memory",), ("info",), *([("info", "standing")] if tree["info"]["standing"] else [])]:
        again, _ = opened(document, "run")
        node = again
        for key in part:
            node = node[key]
        node["surplus"] = [0]
        with pytest.raises(DataError, match="a part 'surplus'") as refused:
            resume(made, sealed(again))
        assert "\n" not in str(refused.value)


WRONG = ["x", {"x": 1}, [["x"]], -7, 10**30]


def of_the_same_type(old: Any, wrong: Any) -> bool:
    """Text for text, number for number; null stands for an undefined number; no whole number of the format is 31 digits."""
    if wrong == 10**30:
        return not isinstance(old, int) or isinstance(old, bool)
    if isinstance(wrong, int):
        return old is None or isinstance(old, int | float)
    return isinstance(old, str) and isinstance(wrong, str)


@pytest.mark.parametrize("wrong", WRONG, ids=[json.dumps(w) for w in WRONG])
@pytest.mark.parametrize(("name", "problem"), [("csr-v2", "chain"), ("csr-v2", "real"), ("uniform", "chain")])
def test_wrong_types_are_data_errors(name: str, problem: str, wrong: Any) -> None:
    """Replaced one at a time, everywhere in the document."""
    made, document = mid_run(name, problem)
    missed = []
    for path in paths(opened(document, "run")[0]):
        damaged, old = changed(document, path, wrong)
        if of_the_same_type(old, wrong) or (path[0] in ("seed", "pulls") and wrong == 10**30):
            continue
        try:
            resume(made, damaged)
        except DataError:
            continue
        except Exception as error:
            missed.append(f"{'.'.join(map(str, path))}: {type(error).__name__}: {error}")
        else:
            missed.append(f"{'.'.join(map(str, path))}: accepted")
    assert not missed, "\n".join(missed)


@pytest.mark.parametrize(
    "document", ["null", "3", '"x"', "[]", "{}", "nonsense", "NaN", '{"schema": 1}', '{"schema": 99}']
)
def test_documents_that_are_something_else(document: str) -> None:
    with pytest.raises(DataError):
        resume(make_world("chain").problem, document)


@pytest.mark.parametrize(("key", "value"), [("algorithm", "csr-v9"), ("options", {"phases": "log3"}), ("pulls", 0)])
def test_known_keys_with_unknown_values(key: str, value: Any) -> None:
    """A document of another make is damaged data, whatever the message."""
    made, document = mid_run("csr-v1", "chain")
    with pytest.raises(DataError):
        resume(made, changed(document, (key,), value)[0])


# ---- malformed batches ----


def one_row(problem: Problem, **changes: Any) -> Batch:
    """A valid line of the chain problem (arm never-low, natural, S = a, V = mid, Y = fine) with some columns changed."""
    values = {"arm": 2, "regime": 0, "S": 0, "V": 1, "Y": 1, "count": 1, **changes}
    made = {key: value if isinstance(value, np.ndarray) else np.array([value]) for key, value in values.items()}
    return Batch(made["arm"], made["regime"], {n: made[n] for n in problem.observed if n in made}, made["count"])


MALFORMED = {
    "no such state": {"V": 3},
    "negative state": {"Y": -1},
    "no such arm": {"arm": 3},
    "no such regime": {"regime": 3},
    "forced to a but S is b": {"regime": 1, "S": 1},
    "forced to b but S is a": {"regime": 2, "S": 0},
    "negative count": {"count": -1},
    "fractional count": {"count": 0.5},
    "count not a number": {"count": float("nan")},
    "fractional state": {"V": 1.5},
    "text for a state": {"V": "mid"},
    "impossible under the arm's mechanism": {"V": 0},
    "impossible and forced": {"V": 0, "regime": 2, "S": 1},
    "columns of two lengths": {"V": np.array([1, 1])},
    "counts of another length": {"count": np.array([1, 1])},
    "counts in two dimensions": {"count": np.array([[1]])},
}


@pytest.mark.parametrize("what", list(MALFORMED))
def test_malformed_batches_are_data_errors_and_change_nothing(name: str, what: str) -> None:
    world = make_world("chain")
    run = start(name, world)
    good = one_row(world.problem)
    run.tell(good, id="good")
    before = run.to_json()
    with pytest.raises(DataError):
        run.tell(one_row(world.problem, **MALFORMED[what]), id="bad")
    assert run.to_json() == before
    run.tell(good, id="bad")  # the id is still free
    assert run.pulls_made().sum() == 2


def test_a_missing_column(name: str) -> None:
    world = make_world("chain")
    run, row = start(name, world), one_row(world.problem)
    before = run.to_json()
    with pytest.raises(DataError, match="V"):
        run.tell(Batch(row.arm, row.regime, {n: row.columns[n] for n in ("S", "Y")}, row.count), id="bad")
    assert run.to_json() == before


def test_one_bad_line_refuses_the_whole_batch(name: str) -> None:
    world = make_world("chain")
    run = start(name, world)
    good, bad = one_row(world.problem), one_row(world.problem, V=0)
    both = Batch(
        np.append(good.arm, bad.arm),
        np.append(good.regime, bad.regime),
        {n: np.append(good.columns[n], bad.columns[n]) for n in good.columns},
        np.append(good.count, bad.count),
    )
    before = run.to_json()
    with pytest.raises(DataError, match="never-low"):
        run.tell(both, id="both")
    assert run.to_json() == before


@pytest.mark.parametrize("value", [-0.1, 3.1, float("nan"), float("inf")])
def test_real_outcomes_outside_their_range(name: str, value: float) -> None:
    world = make_world("real")
    run = start(name, world)
    before = run.to_json()
    row = {"S": np.array([0]), "V": np.array([1]), "Y": np.array([value])}
    with pytest.raises(DataError, match="Y"):
        run.tell(Batch(np.array([0]), np.array([0]), row, np.array([1])), id="bad")
    assert run.to_json() == before


def test_rows_by_name_and_counts_by_code_are_the_same(name: str) -> None:
    """`batch` with names, one row a line, against codes with counts."""
    world = make_world("chain")
    coded, named = start(name, world), start(name, world)
    answer = world.pull(coded.ask(), np.random.default_rng(0))
    coded.tell(answer, id="x")
    named.tell(batch(world.problem, units(answer).labels(world.problem)), id="x")
    assert comparable(coded) == comparable(named)
