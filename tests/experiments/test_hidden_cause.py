"""A cause that nobody recorded: worlds that have one, tipping points against a grid, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.doubt.worlds import SharpWorld

from fairarm import Arm, LogMap, Outcome, Problem, Variable, evaluate, table
from fairarm.beliefs.doubt import draw_cells
from fairarm.errors import OptionError, ProblemError
from fairarm.experiments.doubt import answer_margin, ends_of, fairness_margin
from fairarm.experiments.evidence_from_log import evidence_from_log
from fairarm.experiments.hidden_cause import doubted_rows, hidden_cause
from fairarm.experiments.start_from_log import log_reader

OLD = np.array([0.3, 0.6])
"""P(V = 1 | X) of the arm that made the rows."""
ARMS = {"old": OLD, "new": np.array([0.8, 0.7]), "even": np.array([0.5, 0.5])}
CONTEXTS = np.array([[0.7, 0.3], [0.5, 0.5]])
THETA = np.array([[0.35, 0.55], [0.4, 0.7]])
SIGN = np.array([-1.0, 1.0])


def problem(**more: Any) -> Problem:
    """S → X → V → Y ← X; U, a fair coin, acts on V and Y and is in no log."""
    given: dict[str, Any] = {"mechanisms": [table("X", ["S"], CONTEXTS)], "tolerance": 0.1, **more}
    return Problem(
        name="hidden",
        variables=[Variable("S", ("a", "b")), Variable("X", ("0", "1")), Variable("V", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        arms=[Arm(name, table("V", ["X"], np.stack([1 - p, p], axis=1))) for name, p in ARMS.items()],
        deployed="old",
        **given,
    )  # fmt: skip


def world(n: int, seed: int, push: float = 0.15) -> dict[str, Any]:
    """U moves P(V = 1 | X) up and down by ``push``, and E[Y | X, V] by 0.25."""
    rng = np.random.default_rng(seed)
    s, u = rng.integers(0, 2, (2, n))
    x = (rng.random(n) < CONTEXTS[s, 1]).astype(int)
    v = (rng.random(n) < OLD[x] + push * SIGN[u]).astype(int)
    y = (rng.random(n) < THETA[x, v] + 0.25 * SIGN[u]).astype(int)
    return {"S": np.array(["a", "b"])[s], "X": x, "V": v, "Y": y}


def true_strength(push: float = 0.15) -> float:
    """The largest odds ratio of a decision with U and without, over x and U."""
    p = OLD[:, None] + push * SIGN
    ratio = np.log(p / (1 - p)) - np.log(OLD / (1 - OLD))[:, None]
    return float(np.exp(np.abs(ratio).max()))


def truths() -> tuple[np.ndarray, np.ndarray]:
    """Of rules that do not see U: θ as it is without it."""
    law = np.stack([[1 - p, p] for p in ARMS.values()]).transpose(0, 2, 1)  # (K, X, V)
    means = np.einsum("sx,kxv,xv->ks", CONTEXTS, law, THETA)
    return means.mean(axis=1), means[:, 0] - means[:, 1]


def test_a_world_with_a_hidden_cause_is_inside_at_its_strength_and_outside_of_the_plain_interval() -> None:
    """20 logs of 3 000 rows: bounds at the true Γ hold for every arm, outcome and gap (of 120 each misses with chance below
    .01 where the end is sharp, so that 6 or more have a chance below 1e-3); the plain interval of 'new' misses in most."""
    (outcomes, gaps), gamma = truths(), true_strength()
    missed, plain = 0, 0
    for seed in range(20):
        found = evaluate(problem(), world(3000, seed), hidden_cause=gamma, seed=seed)
        assert found.hidden_cause is not None
        for k, arm in enumerate(found.hidden_cause.arms):
            missed += not arm.outcome.low <= outcomes[k] <= arm.outcome.high
            missed += not arm.fairness[0].low <= gaps[k] <= arm.fairness[0].high
        plain += not found.arms[1].outcome.low <= outcomes[1] <= found.arms[1].outcome.high
    assert missed < 6 and plain > 15


def test_bounds_grow_with_the_strength_and_are_the_usual_ones_at_1() -> None:
    rows = world(4000, 1, push=0.0)
    found = [evaluate(problem(), rows, hidden_cause=gamma) for gamma in (1.0, 1.2, 2.0)]
    for k in range(3):
        usual = found[0].arms[k].outcome
        bounds = [each.hidden_cause.arms[k].outcome for each in found if each.hidden_cause is not None]
        assert (bounds[0].low, bounds[0].high) == pytest.approx((usual.low, usual.high), abs=0.004)
        assert bounds[2].low < bounds[1].low < bounds[0].low and bounds[0].high < bounds[1].high < bounds[2].high


def test_the_box_of_the_estimate_by_hand() -> None:
    """P(v | x) over all rows at x, θ the mean of the cell: at Γ = 2 and with a fifth of the outcomes of one cell missing."""
    rows = world(20_000, 4)
    at = (rows["X"] == 0) & (rows["V"] == 1)
    gone = at & (np.arange(20_000) % 5 == 0)
    log = evidence_from_log(
        log_reader(problem(), {**rows, "Y": np.where(gone, np.nan, rows["Y"])}), 0.05, False, False, 0
    )
    drawn = draw_cells(log.beliefs, log.missing, 0)
    box = drawn.estimate.box(2.0)
    for cell, (x, v) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        here = (rows["X"] == x) & (rows["V"] == v)
        chance, share = here.sum() / (rows["X"] == x).sum(), (here & gone).sum() / here.sum()
        theta = rows["Y"][here & ~gone].mean()
        low, high = (1 - share) * theta, (1 - share) * theta + share
        low = chance * low + (1 - chance) * max(low / 2, 1 - 2 * (1 - low))
        high = chance * high + (1 - chance) * min(2 * high, 1 - (1 - high) / 2)
        assert (box.low[0, cell], box.high[0, cell]) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))
        assert drawn.chance is not None  # it is drawn, not fixed: by as much as so many rows leave open
        spread = np.sqrt(chance * (1 - chance) / (rows["X"] == x).sum())
        assert drawn.chance[:-1, cell].std() == pytest.approx(spread, rel=0.15)
        # stated to be missing at random they count for P(v | x), and bound nothing
        stated = draw_cells(log.beliefs, log.missing, 0, at_random=True)
        assert stated.estimate.chance[0, cell] == pytest.approx(chance, abs=0.005) and not stated.unknown.any()


def test_tipping_strengths_are_those_of_a_grid() -> None:
    """The answer's and each arm's, at the estimates, to a step of the grid; and margins fall all the way."""
    asked = problem()
    log = evidence_from_log(log_reader(asked, world(3000, 3, push=0.0)), 0.05, False, False, 0)
    code = asked.arm_index("new")
    found, draws = hidden_cause(log, 1.5, code, 0.95, 0), draw_cells(log.beliefs, None, 0).estimate
    grid = np.linspace(1.0, 8.0, 701)
    claims = [(found.answer, lambda g: answer_margin(draws, g, code))]
    claims += [
        (arm.fairness_tip, lambda g, k=k, fair=arm.fair: fairness_margin(draws, g, k, fair))
        for k, arm in enumerate(found.arms)
    ]
    for tip, margin in claims:
        values = np.array([margin(g)[0] for g in grid])
        assert tip is not None and np.all(np.diff(values) <= 1e-12)
        holds = grid[values > 0]
        if tip.strength > 8:
            assert len(holds) == len(grid)
        else:
            assert holds[-1] <= tip.strength <= holds[-1] + 0.0101


def test_what_is_sure_is_no_more_than_the_estimate_and_grows_with_the_rows() -> None:
    few, many = (evaluate(problem(), world(n, 5, push=0.0), hidden_cause=1.0).hidden_cause for n in (600, 20_000))
    assert few is not None and many is not None and few.answer is not None and many.answer is not None
    assert few.answer.sure < few.answer.strength and many.answer.sure < many.answer.strength
    assert many.answer.strength - many.answer.sure < few.answer.strength - few.answer.sure


def test_recorded_columns_have_a_strength_to_compare_with() -> None:
    found = evaluate(problem(), world(20_000, 7, push=0.0), hidden_cause=1.5).hidden_cause
    assert found is not None and set(found.columns) == {"X", "S"}
    both = np.array([CONTEXTS[:, 0].mean(), CONTEXTS[:, 1].mean()]) @ OLD
    ratios = np.exp(np.abs(np.log(OLD / (1 - OLD)) - np.log(both / (1 - both))))
    assert found.columns["X"] == pytest.approx(ratios.max(), rel=0.05)
    assert found.columns["S"] == pytest.approx(1.0, abs=0.1)


def test_missing_outcomes_and_a_hidden_cause_add_up() -> None:
    rows = world(3000, 9)
    holes = {**rows, "Y": np.where(np.arange(3000) % 20 == 0, np.nan, rows["Y"])}
    both, one = (evaluate(problem(), each, hidden_cause=1.5).hidden_cause for each in (holes, rows))
    assert both is not None and one is not None
    for wide, narrow in zip(both.arms, one.arms, strict=True):
        assert wide.outcome.low < narrow.outcome.low and narrow.outcome.high < wide.outcome.high


def test_the_curve_starts_at_1_and_reaches_beyond_what_was_asked() -> None:
    found = evaluate(problem(), world(2000, 2), hidden_cause=3.0).hidden_cause
    assert found is not None and found.curve[0].strength == 1.0 and found.curve[-1].strength > 3.0
    lows = [point.outcomes[1].low for point in found.curve]
    assert lows == sorted(lows, reverse=True)


def test_no_fair_arm_is_an_answer_that_can_tip_too() -> None:
    asked = problem(tolerance=0.005)
    log = evidence_from_log(log_reader(asked, world(4000, 3, push=0.0)), 0.05, False, False, 0)
    draws = draw_cells(log.beliefs, None, 0)
    margins = answer_margin(draws, 1.0, -1)
    low, high = ends_of(draws).row_low[..., 0], ends_of(draws).row_high[..., 0]
    assert np.array_equal(margins > 0, ((low >= 0.005) | (high <= -0.005)).all(axis=1))


# ---- rows that drew at random among others ----


def mixed(n: int, seed: int) -> dict[str, Any]:
    """Half of the rows are of 'even', whose decisions no U moved; of 'old' U moves them."""
    moved, rng = world(n // 2, seed, push=0.25), np.random.default_rng([seed, 2])
    s, u = rng.integers(0, 2, (2, n // 2))
    x = (rng.random(n // 2) < CONTEXTS[s, 1]).astype(int)
    v = rng.integers(0, 2, n // 2)
    y = (rng.random(n // 2) < THETA[x, v] + 0.25 * SIGN[u]).astype(int)
    coin = {"S": np.array(["a", "b"])[s], "X": x, "V": v, "Y": y}
    arm = np.repeat(["old", "even"], n // 2)
    return {"arm": arm, **{name: np.concatenate([moved[name], coin[name]]) for name in coin}}


WHERE = LogMap(arm="arm", randomised=("even",))


def test_one_pooled_mean_is_wrong_by_hand() -> None:
    """One context; 'old' decides V = 1 for those whose Y(1) is 1, at odds Γ = 6 apart, and a coin decides half of the rows. E[Y(1)] = ½ is the
    coin's mean. The mean of both kinds of rows is above it, and a box around it that shrinks by the coin's share leaves ½ outside."""
    gamma, chance = 6.0, 0.5
    odds = np.array([1 / gamma, gamma])
    by_y = odds / (1 + odds)  # P(V = 1 | Y(1)) of 'old'
    q = float((chance - by_y[0]) / (by_y[1] - by_y[0]))
    seen = float(q * by_y[1] / chance)  # E[Y | V = 1, old]

    def lowest(theta: float) -> float:
        return chance * theta + (1 - chance) * max(theta / gamma, 1 - gamma * (1 - theta))

    pooled = (seen + q) / 2
    assert q == pytest.approx(0.5) and (pooled + lowest(pooled)) / 2 > q + 0.03
    # apart: λ q + (1 − λ) (box of what 'old' saw) has q inside for every λ, on the end where the box has it there
    assert lowest(seen) == pytest.approx(q)


def test_rows_that_drew_at_random_are_taken_as_they_are_and_the_others_within_a_box() -> None:
    """10 logs of 4 000 rows of worlds whose truths are on the end of the others' box: one pooled mean whose box shrinks by the share of rows that
    drew at random is wrong about nearly every arm. Apart, of 40 outcomes at most 5 are missed, in less than half of the width that one Γ for
    all rows leaves."""
    missed, pooled, widths = 0, 0, []
    for seed in range(10):
        rng = np.random.default_rng([40, seed])
        made = SharpWorld.of(rng, np.log(4.0))
        drew = SharpWorld(made.contexts, np.full_like(made.logged, 0.5), made.arms, made.means, made.gains)
        arms = made.arms.copy()
        arms[1] = 0.5
        asked = SharpWorld(made.contexts, made.logged, arms, made.means, made.gains)
        parts = [each.rows(2000, rng) for each in (made, drew)]
        rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        where = LogMap(arm="arm", randomised=("arm-1",))
        reader = log_reader(asked.problem(), {**rows, "arm": np.repeat(["arm-0", "arm-1"], 2000)}, columns=where)
        log = evidence_from_log(reader, 0.05, False, False, seed)
        one, truth = draw_cells(log.beliefs, None, seed), asked.truths[:, 0]
        apart = draw_cells(log.beliefs, None, seed, doubted=doubted_rows(log, log.beliefs, made.strength))
        low, high = ends_of(apart.draws, made.strength).intervals(0.95)[0]
        missed += int(((truth < low) | (high < truth)).sum())
        whole = ends_of(one.draws, made.strength).intervals(0.95)[0]
        widths.append(float(((high - low) / (whole[1] - whole[0])).max()))
        naive = 0.5 * one.theta + 0.5 * one.box(made.strength).low
        pooled += int((np.quantile(naive @ one.outcomes[0].T, 0.025, axis=0) > truth).sum())
    assert missed <= 5 and max(widths) < 0.5 and pooled > 20


def test_columns_are_as_strong_as_they_are_in_the_rows_that_were_moved() -> None:
    """X decides of 'old' alone: among the rows of the coin it would look weaker."""
    rows = mixed(20_000, 3)
    apart, whole = (
        evaluate(problem(), rows, columns=where, hidden_cause=1.2).hidden_cause for where in (WHERE, LogMap(arm="arm"))
    )
    assert apart is not None and whole is not None and apart.columns["X"] > whole.columns["X"] + 0.1


def test_each_kind_of_rows_has_its_own_mean() -> None:
    """Estimates of the box and of the rows that drew at random, each from its own rows alone."""
    rows = mixed(40_000, 6)
    log = evidence_from_log(log_reader(problem(), rows, columns=WHERE), 0.05, False, False, 0)
    draws = draw_cells(log.beliefs, None, 0, doubted=doubted_rows(log, log.beliefs, 2.0))
    assert draws.known is not None and draws.chance is not None
    for cell, (x, v) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
        for arm, theta in (("old", draws.theta), ("even", draws.known.theta)):
            at = (rows["arm"] == arm) & (rows["X"] == x)
            assert theta[-1, cell] == pytest.approx(rows["Y"][at & (rows["V"] == v)].mean(), abs=0.02)
        moved = (rows["arm"] == "old") & (rows["X"] == x)
        assert draws.chance[-1, cell] == pytest.approx((rows["V"][moved] == v).mean(), abs=0.01)


def test_bounds_are_monotone_where_rows_drew_at_random_too() -> None:
    found = evaluate(problem(), mixed(6000, 4), columns=WHERE, hidden_cause=1.5).hidden_cause
    assert found is not None
    for k in range(3):
        lows, highs = ([getattr(point.outcomes[k], end) for point in found.curve] for end in ("low", "high"))
        assert np.all(np.diff(lows) <= 1e-9) and np.all(np.diff(highs) >= -1e-9)


def test_nothing_is_bounded_where_every_row_drew_at_random() -> None:
    rows = {name: values[-2000:] for name, values in mixed(4000, 5).items()}
    with pytest.raises(OptionError, match="All rows are of arms that drew"):
        evaluate(problem(), rows, columns=WHERE, hidden_cause=1.5)
    none = evaluate(problem(), {**rows, "arm": ["old"] * 2000}, columns=WHERE, hidden_cause=1.5)
    assert none.hidden_cause is not None  # no row is of an arm that drew at random: as without the list


# ---- amounts ----


def test_amounts_are_bounded_by_sorted_sums() -> None:
    """Y is 0, 0.2 or 1: declared as an amount it has the bounds that it has with three states, and narrower ones than if it were 0 or 1."""
    rng = np.random.default_rng(8)
    rows = world(6000, 8)
    amount = np.where(rows["Y"] == 1, np.where(rng.random(6000) < 0.2, 1.0, 0.2), 0.0)
    given = problem()
    shared: dict[str, Any] = {
        "graph": given.graph.edges,
        "sensitive": "S",
        "decision": "V",
        "tolerance": 0.1,
        "deployed": "old",
    }
    shared |= {"arms": given.arms, "mechanisms": list(given.mechanisms.values())}
    columns = [given.variables[name] for name in ("S", "X", "V")]
    real = Problem(name="amount", variables=columns, outcome=Outcome("Y", low=0, high=1), **shared)
    states = Problem(
        name="states",
        variables=[*columns, Variable("Y", ("0.0", "0.2", "1.0"))],
        outcome=Outcome("Y", values=(0, 0.2, 1)),
        **shared,
    )
    found, exact = (evaluate(each, {**rows, "Y": amount}, hidden_cause=2.0).hidden_cause for each in (real, states))
    assert found is not None and exact is not None
    for ours, theirs in zip(found.arms, exact.arms, strict=True):
        assert (ours.outcome.low, ours.outcome.high) == pytest.approx(
            (theirs.outcome.low, theirs.outcome.high), abs=0.012
        )


@pytest.mark.parametrize("strength", [0.5, 101.0, float("nan")])
def test_a_strength_is_from_1_to_100(strength: float) -> None:
    with pytest.raises(OptionError, match="from 1"):
        evaluate(problem(), world(100, 1), hidden_cause=strength)


def test_refused_where_it_cannot_be_bounded() -> None:
    rows = world(500, 1)
    chance = np.where(rows["V"] == 1, OLD[rows["X"]], 1 - OLD[rows["X"]])
    with pytest.raises(OptionError, match="drawn with known probabilities"):
        evaluate(problem(), {**rows, "p": chance}, columns=LogMap(propensity="p"), hidden_cause=1.5)
    below = Problem(
        name="below",
        variables=[Variable("S", ("a", "b")), Variable("V", ("0", "1")), Variable("M", ("0", "1")), Variable("Y", ("0", "1"))],
        graph=[("S", "V"), ("V", "M"), ("S", "M"), ("M", "Y"), ("V", "Y")],
        sensitive="S", decision="V", outcome=Outcome("Y", values=(0, 1)), tolerance=0.1, deployed="old",
        arms=[Arm("old", table("V", ["S"], [[0.5, 0.5]] * 2))],
        mechanisms=[table("M", ["S", "V"], [[[0.5, 0.5]] * 2] * 2)],
    )  # fmt: skip
    with pytest.raises(ProblemError, match="follows from the decision: here 'M'"):
        evaluate(below, {"S": rows["S"], "V": rows["V"], "M": rows["X"], "Y": rows["Y"]}, hidden_cause=1.5)
