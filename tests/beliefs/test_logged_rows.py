"""Logs read row by row: plain loops over rows, exact truths, and nothing that depends on the order of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from fairarm import Arm, Code, Outcome, Problem, Variable, table
from fairarm.beliefs import row_sample
from fairarm.beliefs.logged_rows import LoggedBeliefs, _apart, believe_rows
from fairarm.beliefs.row_model import RowModel
from fairarm.errors import DataError
from fairarm.problem.pulls import Batch, LoggedRows
from row_passes import passes_over

RULES: dict[str, Callable[..., np.ndarray]] = {
    "logger": lambda s, x: 1 / (1 + np.exp(-0.8 * x)),
    "inverse": lambda s, x: 1 / (1 + np.exp(0.8 * x)),
    "by-group": lambda s, x: 0.2 + 0.6 * s + 0 * x,
}


def arm(name: str) -> Arm:
    def log_prob(columns):  # type: ignore[no-untyped-def]
        p = RULES[name](columns["S"], columns["X"])
        return np.log(np.where(columns["V"] == 1, p, 1 - p))

    return Arm(name, Code("V", ("S", "X"), log_prob))


def real_input(**more: object) -> Problem:
    two = ("0", "1")
    return Problem(
        name="real input",
        variables=[Variable("S", ("a", "b")), Variable("X", low=-4, high=4), Variable("V", two), Variable("Y", two)],
        graph=[("S", "X"), ("S", "V"), ("X", "V"), ("V", "Y"), ("X", "Y"), ("S", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[arm(name) for name in RULES],
        **more,  # type: ignore[arg-type]
    )


def chance(s: np.ndarray | int, x: np.ndarray, v: np.ndarray | int) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-(-0.5 + x * 0.5 + v * (1 - x) + 0.4 * s * v))))


def draw_rows(n: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], np.ndarray]:
    s = rng.integers(0, 2, n)
    x = rng.normal(0.3 * s, 1, n).clip(-4, 4)
    p = RULES["logger"](s, x)
    v = (rng.random(n) < p).astype(np.int64)
    y = (rng.random(n) < chance(s, x, v)).astype(np.int64)
    return {"S": s, "X": x, "V": v, "Y": y}, np.where(v == 1, p, 1 - p)


def logged(
    columns: dict[str, np.ndarray], propensity: np.ndarray | None, size: int = 1 << 16
) -> Callable[[], Iterator[LoggedRows]]:
    def chunks() -> Iterator[LoggedRows]:
        n = len(columns["S"])
        for start in range(0, n, size):
            part = slice(start, start + size)
            zeros = np.zeros(len(columns["S"][part]), dtype=np.int64)
            batch = Batch(zeros, zeros, {k: v[part] for k, v in columns.items()}, np.ones_like(zeros))
            yield LoggedRows(batch, None if propensity is None else propensity[part])

    return chunks


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    """μ_{k,t} by numerical integration over x, clipped like the draws, (K, 2)."""
    grid = np.linspace(-4, 4, 200_001)
    out = []
    for rule in RULES.values():
        means = []
        for s in (0, 1):
            density = np.exp(-0.5 * (grid - 0.3 * s) ** 2) / math.sqrt(2 * math.pi)
            p = rule(s, grid)
            value = p * chance(s, grid, 1) + (1 - p) * chance(s, grid, 0)
            means.append(np.trapezoid(density * value, grid) / np.trapezoid(density, grid))
        out.append(means)
    return np.array(out)


def test_usual_intervals_cover_and_certified_ones_always_do(truth: np.ndarray) -> None:
    """300 logs of 600 rows, three arms. 95 % intervals: between 92 % and 99 % of 900 (P < 1e-3 of leaving if exact)."""
    rng = np.random.default_rng(3)
    inside, certified = np.zeros(2), 0
    for _ in range(300):
        found = believe_rows(real_input(), passes_over(logged(*draw_rows(600, rng)[:1], None)), 0.05)
        outcomes, gaps = found.draw(rng, 2000)
        for i, (draws, value) in enumerate(((outcomes, truth.mean(axis=1)), (gaps, truth[:, 0] - truth[:, 1]))):
            low, high = np.quantile(draws[0], (0.025, 0.975), axis=0)
            inside[i] += np.sum((low <= value) & (value <= high))
        certified += _holds(found, truth)
    assert np.all(inside / 900 > 0.92) and np.all(inside / 900 < 0.995)
    assert certified == 300


def _holds(found: LoggedBeliefs, truth: np.ndarray) -> bool:
    from fairarm.core.proof.log_intervals import mean_intervals

    ends = mean_intervals(found.cut, 0.05 / 12)
    return bool(np.all((ends[..., 0] <= truth) & (truth <= ends[..., 1])))


def test_the_order_and_size_of_parts_change_nothing() -> None:
    rng = np.random.default_rng(4)
    columns, propensity = draw_rows(5000, rng)
    whole = believe_rows(real_input(), passes_over(logged(columns, propensity)), 0.05)
    order = rng.permutation(5000)
    mixed = {name: values[order] for name, values in columns.items()}
    for size in (7000, 613):
        other = believe_rows(real_input(), passes_over(logged(mixed, propensity[order], size)), 0.05)
        assert np.allclose(other.means, whole.means, rtol=0, atol=1e-13)
        assert np.allclose(other.cut.sums, whole.cut.sums, rtol=1e-12)
        for error, expected in zip(other.errors, whole.errors, strict=True):
            assert np.allclose(error.sd, expected.sd, rtol=1e-9) and np.allclose(error.skew, expected.skew, rtol=1e-6)
            assert np.allclose(error.root @ error.root.T, expected.root @ expected.root.T, rtol=1e-9, atol=1e-12)


def test_a_sample_smaller_than_the_log_still_has_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_sample, "SAMPLE", 300)
    rng = np.random.default_rng(5)
    columns, _ = draw_rows(4000, rng)
    first = believe_rows(real_input(), passes_over(logged(columns, None, 1000)), 0.05)
    order = rng.permutation(4000)
    second = believe_rows(real_input(), passes_over(logged({k: v[order] for k, v in columns.items()}, None, 333)), 0.05)
    assert np.allclose(first.means, second.means, rtol=0, atol=1e-13)


def test_a_real_decision_is_the_weighted_mean_by_loops() -> None:
    """V real: rows are held against the self-normalised mean of each arm, so that every number can be had by loops."""

    def density(shift: float) -> Code:
        return Code("V", ("S",), lambda c: -0.5 * (c["V"] - shift * c["S"]) ** 2 - 0.5 * math.log(2 * math.pi))

    problem = Problem(
        name="real decision",
        variables=[Variable("S", ("a", "b")), Variable("V", low=-6, high=6)],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", low=0, high=2),
        tolerance=0.2,
        arms=[Arm("still", density(0.0)), Arm("moved", density(0.5))],
    )
    rng = np.random.default_rng(6)
    s, v = rng.integers(0, 2, 400), rng.normal(size=400)
    y = rng.uniform(0, 2, 400)
    found = believe_rows(problem, passes_over(logged({"S": s, "V": v, "Y": y}, None)), 0.05)
    assert found.method == "weighted mean" and found.design() is None and found.draws_unseen
    for k, shift in enumerate((0.0, 0.5)):
        for t in (0, 1):
            w = [math.exp(-0.5 * (v[i] - shift * t) ** 2 + 0.5 * v[i] ** 2) for i in range(400) if s[i] == t]
            own = [y[i] / 2 for i in range(400) if s[i] == t]
            centre = sum(x * z for x, z in zip(w, own, strict=True)) / sum(w)
            level = least_squared_error(w)
            terms = [centre + min(x, level) * (z - centre) for x, z in zip(w, own, strict=True)]
            assert found.means[k, t] == pytest.approx(sum(terms) / len(terms), abs=1e-6)
            assert found.means[k, t] == pytest.approx(centre, abs=0.01)
    assert np.allclose(found.means[0], [y[s == t].mean() / 2 for t in (0, 1)], atol=1e-12)


def least_squared_error(w: list[float]) -> float:
    """The cut, 1 or more, with the least Σ min(w, τ)² + (Σ (w − τ)₊)², by trying many."""
    tried = np.linspace(1.0, max(1.0, *w), 40_001)
    cost = [np.minimum(w, t) @ np.minimum(w, t) + np.maximum(np.array(w) - t, 0).sum() ** 2 for t in tried]
    return float(tried[int(np.argmin(cost))])


class Known:
    """A regression that is known: its half h predicts 0.2 + 0.1 h + 0.3 v, whatever the input."""

    def predict_states(self, given: dict[str, np.ndarray], states: int, shares: np.ndarray) -> np.ndarray:
        return np.asarray(0.2 + 0.1 * shares[:, 1] + 0.3 * np.arange(states)[:, None])


def test_the_doubly_robust_estimate_and_its_error_by_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a known regression every number is a loop over rows; the halves are told by the row's own fingerprint."""
    monkeypatch.setattr(RowModel, "regression", Known())
    columns, propensity = draw_rows(500, np.random.default_rng(12))
    part = next(iter(logged(columns, propensity)()))
    half = (row_sample.fingerprints(real_input(), part) >> np.uint64(7)) & np.uint64(1)
    found = believe_rows(real_input(), passes_over(logged(columns, propensity, 77)), 0.05)
    for k, rule in enumerate(RULES.values()):
        for t in (0, 1):
            rows = [i for i in range(500) if columns["S"][i] == t]
            one = [float(rule(t, columns["X"][i])) for i in rows]
            w = [(p if columns["V"][i] else 1 - p) / propensity[i] for i, p in zip(rows, one, strict=True)]
            level, psi = least_squared_error(w), []
            for i, p, x in zip(rows, one, w, strict=True):
                base = 0.2 + 0.1 * float(half[i])
                psi.append(base + 0.3 * p + min(x, level) * (columns["Y"][i] - base - 0.3 * columns["V"][i]))
            assert found.means[k, t] == pytest.approx(np.mean(psi), abs=1e-5)
            # a little more than the rows' own: half a row of typical size, and 8/n
            assert 1.0 < found.errors[t].sd[k] / (np.std(psi, ddof=1) / math.sqrt(len(psi))) < 1.1
    values = found.values(np.zeros((1, 2, 3)), np.zeros((1, 2, 3)))
    np.testing.assert_allclose(values[0][0], found.means @ found.shares)
    np.testing.assert_allclose(values[1][0], found.means[:, 0] - found.means[:, 1])


def test_a_wrong_regression_costs_width_and_not_truth(monkeypatch: pytest.MonkeyPatch, truth: np.ndarray) -> None:
    """Doubly robust: with a regression that is off by up to 0.5, 95 % intervals of 200 logs hold in 92 % or more."""
    monkeypatch.setattr(RowModel, "regression", Known())
    rng, inside = np.random.default_rng(13), np.zeros(2)
    for _ in range(200):
        found = believe_rows(real_input(), passes_over(logged(*draw_rows(600, rng)[:1], None)), 0.05)
        for i, (draws, value) in enumerate(
            zip(found.draw(rng, 1000), (truth.mean(axis=1), truth[:, 0] - truth[:, 1]), strict=True)
        ):
            low, high = np.quantile(draws[0], (0.025, 0.975), axis=0)
            inside[i] += np.sum((low <= value) & (value <= high))
    assert np.all(inside / 600 > 0.92)


def test_estimates_agree_with_their_rows_and_wrong_ones_do_not() -> None:
    columns, propensity = draw_rows(3000, np.random.default_rng(14))
    found = believe_rows(real_input(), passes_over(logged(columns, propensity)), 0.05)
    assert found.self_check().size.max() < 3
    for by in (0.15, -0.15):
        assert replace(found, means=found.means + by).self_check().arms.all()


def test_weights_from_propensities_and_from_the_logging_arm_agree() -> None:
    columns, propensity = draw_rows(3000, np.random.default_rng(7))
    mechanism = believe_rows(real_input(), passes_over(logged(columns, None)), 0.05)
    propensities = believe_rows(real_input(), passes_over(logged(columns, propensity)), 0.05)
    assert np.allclose(mechanism.seen.effective, propensities.seen.effective, rtol=1e-9)
    assert np.allclose(mechanism.cut.sums, propensities.cut.sums, rtol=1e-9)


def finite(children_below: bool = False) -> Problem:
    two = ("0", "1")
    edges = [("S", "V"), ("V", "Y"), *([("V", "C"), ("S", "C"), ("C", "Y")] if children_below else [])]
    names = ("S", "V", "Y", *(("C",) if children_below else ()))
    return Problem(
        name="finite",
        variables=[Variable(name, two) for name in names],
        graph=edges,
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm("even", table("V", [], [0.5, 0.5])), Arm("mostly", table("V", [], [0.1, 0.9]))],
    )


def test_finite_rows_with_known_propensities_reach_the_exact_means() -> None:
    """θ = 0.2, 0.7 by V: every cell seen 500 times at its exact rate, so that the estimate is exact too."""
    lines = [(s, v, y, 500 * (2, 8, 7, 3)[2 * v + (1 - y)] // 10) for s in (0, 1) for v in (0, 1) for y in (1, 0)]
    rows = np.array([line[:3] for line in lines for _ in range(line[3])])
    columns = {"S": rows[:, 0], "V": rows[:, 1], "Y": rows[:, 2]}
    found = believe_rows(finite(), passes_over(logged(columns, np.full(len(rows), 0.5))), 0.05)
    assert np.allclose(found.means[0], 0.45, atol=1e-12)
    assert np.allclose(found.means[1], 0.1 * 0.2 + 0.9 * 0.7, atol=1e-9)


def test_a_column_below_the_decision_is_not_held_fixed() -> None:
    rng = np.random.default_rng(8)
    n = 20_000
    s, v = rng.integers(0, 2, n), rng.integers(0, 2, n)
    c = (rng.random(n) < 0.2 + 0.5 * v + 0.1 * s).astype(np.int64)
    y = (rng.random(n) < 0.1 + 0.3 * v + 0.4 * c).astype(np.int64)
    found = believe_rows(finite(True), passes_over(logged({"S": s, "V": v, "Y": y, "C": c}, None)), 0.05)
    assert found.method == "weighted mean"
    for t in (0, 1):
        by_v = [0.1 + 0.3 * u + 0.4 * (0.2 + 0.5 * u + 0.1 * t) for u in (0, 1)]
        assert found.means[1, t] == pytest.approx(0.1 * by_v[0] + 0.9 * by_v[1], abs=0.03)


def test_a_decision_that_no_logging_arm_makes_is_unseen() -> None:
    two = ("0", "1")
    problem = Problem(
        name="no overlap",
        variables=[Variable(name, two) for name in ("S", "V", "Y")],
        graph=[("S", "V"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm("never", table("V", [], [1.0, 0.0])), Arm("half", table("V", [], [0.5, 0.5]))],
    )
    rng = np.random.default_rng(9)
    columns = {"S": rng.integers(0, 2, 200), "V": np.zeros(200, dtype=np.int64), "Y": rng.integers(0, 2, 200)}
    found = believe_rows(problem, passes_over(logged(columns, None)), 0.05)
    assert found.seen.unseen[0].tolist() == pytest.approx([0.0, 0.5])
    outcomes, _ = found.draw(rng, 4000)
    assert outcomes[0, :, 1].std() > 3 * outcomes[0, :, 0].std()


def test_impossible_rows_are_counted_and_a_missing_group_is_an_error() -> None:
    rng = np.random.default_rng(10)
    columns = {"S": rng.integers(0, 2, 50), "V": np.zeros(50, dtype=np.int64), "Y": rng.integers(0, 2, 50)}
    problem = finite()
    sure = Problem(
        **{
            **{f: getattr(problem, f) for f in ("name", "variables", "graph", "sensitive", "decision", "outcome")},
            "tolerance": 0.1,
            "arms": [Arm("sure", table("V", [], [0.0, 1.0]))],
        }
    )
    with pytest.raises(DataError, match="cannot make"):
        believe_rows(sure, passes_over(logged(columns, None)), 0.05)
    columns["V"][:10] = 1
    assert believe_rows(sure, passes_over(logged(columns, None)), 0.05).impossible == 40
    with pytest.raises(DataError, match=r"group 'b'|group '1'"):
        believe_rows(sure, passes_over(logged({**columns, "S": np.zeros(50, dtype=np.int64)}, None)), 0.05)


def test_rows_of_several_arms_are_weighted_by_their_mixture() -> None:
    """Effective rows and cut sums by loops, with arms 0 and 2 in unequal shares that differ between the groups."""
    problem, rng = real_input(), np.random.default_rng(11)
    columns, _ = draw_rows(600, rng)
    arm_of = np.where(rng.random(600) < 0.2 + 0.5 * columns["S"], 2, 0)
    rules = list(RULES.values())

    def chunks() -> Iterator[LoggedRows]:
        zeros = np.zeros(600, dtype=np.int64)
        yield LoggedRows(Batch(arm_of, zeros, columns, np.ones_like(zeros)))

    found = believe_rows(problem, passes_over(chunks), 0.05)
    total, square = np.zeros(3), np.zeros(3)
    for i in range(600):
        s, x, v = columns["S"][i], columns["X"][i], columns["V"][i]
        chances = np.array([rule(s, x) if v else 1 - rule(s, x) for rule in rules])
        mine = arm_of[columns["S"] == s]
        w = chances / ((mine == 0).mean() * chances[0] + (mine == 2).mean() * chances[2])
        total, square = total + w, square + w**2
    assert found.seen.effective[0] == pytest.approx(total**2 / square, rel=1e-10)
    assert found.made.sum() == 600 and found.made[1].sum() == 0


# ---- several groups ----


def three_groups(**more: object) -> Problem:
    """The decision is right in each group with another chance; arms that differ by group."""
    two = ("0", "1")
    rules = {"logger": [0.5, 0.4, 0.6], "tilted": [0.2, 0.5, 0.8]}
    return Problem(
        name="three groups",
        variables=[Variable("S", ("a", "b", "c")), Variable("V", two), Variable("Y", two)],
        graph=[("S", "V"), ("V", "Y"), ("S", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        arms=[Arm(name, table("V", ["S"], [[1 - p, p] for p in ps])) for name, ps in rules.items()],
        tolerance=0.2,
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("known", [True, False])
def test_limits_of_three_groups_hold_the_truth(known: bool) -> None:
    """100 logs of 400 rows: outcomes and all pairs, each in 0.9 or more of 200 intervals."""
    shares, chance = np.array([0.5, 0.3, 0.2]), np.array([[0.2, 0.5], [0.3, 0.4], [0.1, 0.7]])
    problem = three_groups(**({"shares": shares} if known else {}))
    rules = np.array([[[1 - p, p] for p in ps] for ps in ([0.5, 0.4, 0.6], [0.2, 0.5, 0.8])])
    means = (rules * chance).sum(axis=2)
    true = np.stack(
        [means @ shares, means[:, 0] - means[:, 1], means[:, 0] - means[:, 2], means[:, 1] - means[:, 2]], axis=1
    )
    rng, held = np.random.default_rng(5), np.zeros(4)
    for _ in range(100):
        s = rng.choice(3, 400, p=shares)
        v = (rng.random(400) < rules[0, s, 1]).astype(np.int64)
        y = (rng.random(400) < chance[s, v]).astype(np.int64)
        found = believe_rows(problem, passes_over(logged({"S": s, "V": v, "Y": y}, None)), 0.05)
        drawn = found.draw(rng, 500)
        every = np.concatenate([drawn.outcomes[0][..., None], drawn.rows(problem.compiled.rows)[0]], axis=2)
        low, high = np.quantile(every, [0.025, 0.975], axis=0)
        held += ((low <= true) & (true <= high)).mean(axis=0) / 100
        assert found.self_check().size.shape == (4, 1, 2)
    assert held.min() > 0.9


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_groups_move_apart_and_not_together(groups: int) -> None:
    """I − 11'/G: two of them differ by as much as if each moved by itself, and their mean does not move."""
    moves = np.array([_apart(t, [np.array(float(m == i)) for i in range(groups - 1)]) for t in range(groups) for m in range(groups - 1)])  # fmt: skip
    root = moves.reshape(groups, groups - 1)
    np.testing.assert_allclose(root @ root.T, np.eye(groups) - 1 / groups, atol=1e-12)
