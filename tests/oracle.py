"""A brute-force oracle: random small Bayesian networks, and every quantity of the method by full enumeration.

The arithmetic works on `Case`, plain Python and numpy data, and imports nothing of fairarm: joint laws are products
over all assignments of all nodes, graph questions a transitive closure, estimators loops over rows. Only `as_fairarm`
at the end knows the package: it writes the same case down as a Problem and a Network.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from fairarm.problem.network import Network
    from fairarm.problem.problem import Problem

Mechanism = tuple[tuple[str, ...], np.ndarray]
"""Parents, and P(node | parents) with one axis a parent and the node's own last."""

MAX_COLUMN_CELLS = 400
"""Most observed cells (outcome included) of a random case, so that plain loops stay quick."""


@dataclass(frozen=True)
class Case:
    """A network, arms and named nodes; ``groups`` are the codes of the groups, (s, s') where there are two; ``nodes`` is the declared order."""

    nodes: tuple[str, ...]
    sizes: dict[str, int]
    tables: dict[str, Mechanism]
    arms: tuple[Mechanism, ...]
    sensitive: str
    decision: str
    outcome: str
    groups: tuple[int, ...]
    values: tuple[float, ...]
    low: float
    high: float
    tolerance: float = 0.1
    seed: int = -1
    cache: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def scaled(self, y: int) -> float:
        return (self.values[y] - self.low) / (self.high - self.low)


class Row(NamedTuple):
    """One line of data: arm, regime (0 natural, 1 forced s, 2 forced s'), group position, codes by node, multiplicity."""

    arm: int
    regime: int
    group: int
    codes: dict[str, int]
    count: int = 1


# ---- random networks ----


def random_case(seed: int, grid: int | None = None) -> Case:
    """A random network of 3 to 7 nodes. ``grid``: all probabilities are multiples of 1/grid, arm 0's positive."""
    for attempt in itertools.count():
        case = _candidate(np.random.default_rng([seed, attempt, grid or 0]), seed, grid)
        if math.prod(case.sizes[name] for name in observed(case)) <= 2 * MAX_COLUMN_CELLS:
            return case
    raise AssertionError


def _candidate(rng: np.random.Generator, seed: int, grid: int | None) -> Case:
    count = int(rng.choice(5, p=[0.08, 0.12, 0.15, 0.25, 0.4]))
    order = [str(name) for name in rng.permutation(["V", *(f"X{i}" for i in range(count))])]
    first = len(order) if rng.random() < 0.6 else order.index("V") + 1
    order.insert(int(rng.integers(first, len(order) + 1)), "Y")
    # in half of the networks the first node is a hidden cause: no arm sees it, no child of S depends on it
    cause = order[0] if count > 1 and order[0] != "V" and rng.random() < 0.5 else None
    density, to_child = rng.uniform(0.25, 0.7), rng.choice([0.2, 0.6])
    parents: dict[str, list[str]] = {"S": []}
    for i, name in enumerate(order):
        child = name != cause and rng.random() < (0.25 if name == "Y" else to_child)
        before = [x for x in order[:i] if rng.random() < (density if x != cause else 0.0 if child else 0.8)]
        before = [str(x) for x in rng.permutation(before)][:3]
        if child:
            before.insert(int(rng.integers(0, len(before) + 1)), "S")
        parents[name] = before
    if "V" not in _ancestors(parents, "Y"):
        parents["Y"].insert(int(rng.integers(0, len(parents["Y"]) + 1)), "V")
    sizes = {name: 2 if name == "S" or rng.random() < 0.6 else 3 for name in parents}
    zeros = rng.random() < 0.25
    tables = {
        name: (tuple(above), _rows(rng, (*(sizes[p] for p in above), sizes[name]), grid, zeros and name != "S"))
        for name, above in parents.items()
    }
    if grid is not None:
        tables["S"] = ((), np.array([1.0, grid - 1.0]) / grid if rng.random() < 0.5 else np.array([3.0, 5.0]) / 8)
    usable = [name for name in order[: order.index("V")] if name != cause]
    usable += ["S"] if rng.random() < 0.7 else []
    arms = []
    for k in range(int(rng.integers(1, 5))):
        used = [name for name in usable if rng.random() < (0.5 if name == "S" else 0.4)]
        used = [str(name) for name in rng.permutation(used)][:3]
        arms.append((tuple(used), _rows(rng, (*(sizes[p] for p in used), sizes["V"]), grid, zeros, grid and k == 0)))
    levels = [-3.0, 0.5, 10.0, 0.0, 1.0, float(rng.normal())]
    values = tuple(float(v) for v in rng.choice(levels, size=sizes["Y"], replace=False))
    wider = rng.random() < 0.3
    return Case(
        nodes=tuple(str(name) for name in rng.permutation(list(parents))),
        sizes=sizes,
        tables=tables,
        arms=tuple(arms),
        sensitive="S",
        decision="V",
        outcome="Y",
        groups=(0, 1) if rng.random() < 0.5 else (1, 0),
        values=values,
        low=min(values) - (float(rng.uniform(0.1, 2)) if wider else 0.0),
        high=max(values) + (float(rng.uniform(0.1, 2)) if wider else 0.0),
        tolerance=float(rng.uniform(0.01, 1.0)),
        seed=seed,
    )


def _rows(
    rng: np.random.Generator, shape: tuple[int, ...], grid: int | None, zeros: bool, positive: Any = False
) -> np.ndarray:
    """Random probability rows: Dirichlet, some entries 0 where ``zeros``; or compositions of ``grid``."""
    flat = np.empty((math.prod(shape[:-1]), shape[-1]))
    for i in range(len(flat)):
        if grid is None:
            row = rng.dirichlet(np.full(shape[-1], rng.choice([0.4, 1.0, 4.0])))
            row = np.maximum(row, 1e-4)
            if zeros and rng.random() < 0.3:
                row[int(rng.integers(shape[-1]))] = 0.0
            flat[i] = row / row.sum()
        else:
            coarse = grid if rng.random() < 0.5 else 4
            low = 1 if positive or rng.random() < 0.8 else 0
            spare = coarse - low * shape[-1]
            flat[i] = (low + rng.multinomial(spare, np.full(shape[-1], 1 / shape[-1]))) / coarse
    return flat.reshape(shape)


# ---- the graph ----


def _ancestors(parents: dict[str, Any], node: str) -> set[str]:
    found: set[str] = set()
    waiting = list(parents[node])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(parents[name])
    return found


def arm_parents(case: Case) -> set[str]:
    return {name for above, _ in case.arms for name in above}


def reaches(case: Case) -> set[tuple[str, str]]:
    """(a, b) with a directed path from a to b, where the edges into V are those that some arm uses (Warshall)."""
    pairs = {(p, name) for name in case.nodes if name != case.decision for p in case.tables[name][0]}
    pairs |= {(p, case.decision) for p in arm_parents(case)}
    for middle in case.nodes:
        into = [a for a, b in pairs if b == middle]
        out = [b for a, b in pairs if a == middle]
        pairs |= {(a, b) for a in into for b in out}
    return pairs


def relevant_children(case: Case) -> set[str]:
    """Children of S other than V that are Y or reach Y."""
    if "relevant" not in case.cache:
        paths = reaches(case)
        children = [x for x in case.nodes if x != case.decision and case.sensitive in case.tables[x][0]]
        case.cache["relevant"] = {x for x in children if x == case.outcome or (x, case.outcome) in paths}
    return case.cache["relevant"]


def observed(case: Case) -> set[str]:
    """S, V, Y, the parents of V, the relevant children and their parents."""
    relevant = relevant_children(case)
    found = {case.sensitive, case.decision, case.outcome} | arm_parents(case) | relevant
    return found.union(*(case.tables[x][0] for x in relevant))


def columns(case: Case) -> tuple[str, ...]:
    """The observed nodes without S, in declared order, Y last."""
    if "columns" not in case.cache:
        seen = observed(case) - {case.sensitive, case.outcome}
        case.cache["columns"] = (*(name for name in case.nodes if name in seen), case.outcome)
    return case.cache["columns"]


def features(case: Case) -> set[str]:
    """What of the structures that matter this case has."""
    S, V, Y = case.sensitive, case.decision, case.outcome
    paths, relevant, seen = reaches(case), relevant_children(case), observed(case)
    children = {x for x in case.nodes if S in case.tables[x][0]}
    hidden = set(case.nodes) - seen
    context = seen - {S, V, Y} - relevant
    cause = {u: {x for x in case.nodes if x not in (V, u) and u in case.tables[x][0]} for u in hidden}
    tests = {
        "V child of S": S in arm_parents(case),
        "V not child of S": S not in arm_parents(case),
        "child above V": any((x, V) in paths for x in relevant),
        "child that is a parent of V": any(x in arm_parents(case) for x in relevant),
        "child below V": any((V, x) in paths for x in relevant - {Y}),
        "child beside V": any((V, x) not in paths and (x, V) not in paths for x in relevant - {Y}),
        "irrelevant child": bool(children - relevant - {V}),
        "child relevant only through V": any((x, V) in paths and Y not in _targets(case, x) for x in relevant),
        "S -> Y": Y in relevant,
        "hidden node": bool(hidden),
        "hidden common cause of Y and observed": any(Y in c and c & (seen - {Y, S}) for c in cause.values()),
        "contexts dependent through hidden nodes": any(len(c & context) > 1 for c in cause.values()),
        "context": bool(context),
        "context below V": any((V, x) in paths for x in context),
        "parent of a relevant child besides S": any(set(case.tables[x][0]) - {S} for x in relevant),
        "arms with different parents": len({frozenset(above) for above, _ in case.arms}) > 1,
        "V's own parents are not the arms'": set(case.tables[V][0]) != arm_parents(case),
        "zeros": any(np.any(table == 0) for _, table in (*case.tables.values(), *case.arms)),
        "three outcome states": case.sizes[Y] == 3,
        "one arm": len(case.arms) == 1,
        "four arms": len(case.arms) == 4,
        "three nodes": len(case.nodes) == 3,
        "seven nodes": len(case.nodes) == 7,
        "groups reversed": case.groups == (1, 0),
    }
    return {name for name, holds in tests.items() if holds}


def _targets(case: Case, node: str) -> set[str]:
    """What ``node`` reaches without passing V."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        name = waiting.pop()
        below = {x for x in case.nodes if x != case.decision and name in case.tables[x][0]}
        waiting.extend(below - found)
        found |= below
    return found


# ---- the joint law ----


def full_joint(case: Case, k: int, t: int) -> np.ndarray:
    """P(every node | arm k, S forced to group t): a tensor with one axis for each of ``case.nodes``."""
    joint = np.ones(())
    for name in case.nodes:
        above, table = case.arms[k] if name == case.decision else case.tables[name]
        if name == case.sensitive:
            table = np.array([float(code == case.groups[t]) for code in range(case.sizes[name])])
        axes = (*above, name)
        shape = [case.sizes[other] if other in axes else 1 for other in case.nodes]
        joint = joint * table.transpose(sorted(range(len(axes)), key=lambda i: case.nodes.index(axes[i]))).reshape(
            shape
        )
    return joint


def law(case: Case) -> np.ndarray:
    """P(columns | arm k, S = t), (K, 2, sizes of `columns`...), by summing the full joint."""
    if "law" not in case.cache:
        names = columns(case)
        unseen = tuple(i for i, name in enumerate(case.nodes) if name not in names)
        left = [name for name in case.nodes if name in names]
        order = [left.index(name) for name in names]
        case.cache["law"] = np.array(
            [[full_joint(case, k, t).sum(axis=unseen).transpose(order) for t in (0, 1)] for k in range(len(case.arms))]
        )
    return case.cache["law"]


def shares(case: Case) -> np.ndarray:
    return case.tables[case.sensitive][1][list(case.groups)]


def truth(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """μ_k (K,), μ_k(t) (K, 2) and ζ_k (K,) in the outcome's units, from the full joint's last axis."""
    by_group = np.zeros((len(case.arms), 2))
    axis = case.nodes.index(case.outcome)
    for k in range(len(case.arms)):
        for t in (0, 1):
            joint = full_joint(case, k, t)
            for y, value in enumerate(case.values):
                by_group[k, t] += value * float(joint.take(y, axis=axis).sum())
    return by_group @ shares(case), by_group, by_group[:, 0] - by_group[:, 1]


# ---- likelihoods, weights, divergences ----


def L(case: Case, k: int, t: int, codes: dict[str, int]) -> float:
    """L[k, t](row): P_k(v | pa(V), S := t) times P(x | pa(X), S := t) of every relevant child."""
    given = {**codes, case.sensitive: case.groups[t]}
    above, table = case.arms[k]
    value = float(table[tuple(given[name] for name in (*above, case.decision))])
    for child in sorted(relevant_children(case)):
        above, table = case.tables[child]
        value *= float(table[tuple(given[name] for name in (*above, child))])
    return value


def likelihoods(case: Case) -> np.ndarray:
    """L over `columns`, (K, 2, sizes...)."""
    if "L" not in case.cache:
        out = np.empty(law(case).shape)
        for index in np.ndindex(out.shape):
            out[index] = L(case, index[0], index[1], dict(zip(columns(case), index[2:], strict=True)))
        case.cache["L"] = out
    return case.cache["L"]


def value(case: Case, k: int, t: int, codes: dict[str, int]) -> float:
    """L of a row, looked up."""
    return float(likelihoods(case)[(k, t, *(codes[name] for name in columns(case)))])


def ratio(numerator: float, denominator: float) -> float:
    """0 over anything is 0; anything else over 0 is +inf."""
    if numerator == 0:
        return 0.0
    return numerator / denominator if denominator > 0 else math.inf


def log_sum_exp(terms: list[tuple[float, float]]) -> float:
    """log Σ p exp(x) of pairs (p, x) with p > 0."""
    peak = max(x for _, x in terms)
    if math.isinf(peak):
        return math.inf
    return peak + math.log(math.fsum(p * math.exp(x - peak) for p, x in terms))


def divergences(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """M (K, K) and D (2, K, K) by their definitions, cell by cell with the enumerated law.

    Cells with y: where S → Y is no edge, y cancels from every ratio, so that summing over it changes nothing.
    """
    K, p, like, share = len(case.arms), law(case), likelihoods(case), shares(case)
    cells = list(np.ndindex(p.shape[2:]))
    M, D = np.empty((K, K)), np.empty((2, K, K))
    for k, j in itertools.product(range(K), repeat=2):
        terms = []
        for t in (0, 1):
            own = [c for c in cells if p[(k, t, *c)] > 0]
            terms += [(share[t] * p[(k, t, *c)], ratio(like[(k, t, *c)], like[(j, t, *c)])) for c in own]
        M[k, j] = log_sum_exp(terms)
        for direction, (s, other) in enumerate(((0, 1), (1, 0))):
            terms = []
            for t in (0, 1):
                for c in cells:
                    if p[(k, t, *c)] > 0:
                        difference = abs(like[(k, s, *c)] - like[(k, other, *c)])
                        terms.append((p[(k, t, *c)], ratio(difference, like[(j, other, *c)])))
            D[direction, k, j] = log_sum_exp(terms)
    return M, D


# ---- cells: one unknown shared by all arms and groups ----


def group_in_cell(case: Case) -> bool:
    """S → Y: the mean outcome of a cell differs between the groups, so that S belongs to the cell."""
    return case.outcome in relevant_children(case)


def cell_law(case: Case) -> np.ndarray:
    """P(cell | arm k, S = t), (K, 2, C): the columns without Y; where S → Y, cells of s first, then those of s'."""
    p = law(case).sum(axis=-1).reshape(len(case.arms), 2, -1)
    if not group_in_cell(case):
        return p
    apart = np.zeros((len(case.arms), 2, 2, p.shape[2]))
    for t in (0, 1):
        apart[:, t, t] = p[:, t]
    return apart.reshape(len(case.arms), 2, -1)


def cell_outcomes(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """E[Y' | cell] and Var(Y' | cell), (C,) each, of the first arm and group that reaches the cell; nan where none does."""
    p = law(case).reshape(len(case.arms), 2, -1, case.sizes[case.outcome])
    cells = p.shape[2]
    size = cells * (2 if group_in_cell(case) else 1)
    mean, variance = np.full(size, np.nan), np.full(size, np.nan)
    scaled = [case.scaled(y) for y in range(p.shape[3])]
    for k, t, x in np.ndindex(*p.shape[:3]):
        c = x + (cells * t if group_in_cell(case) else 0)
        mass = math.fsum(p[k, t, x])
        if math.isnan(mean[c]) and mass > 0:
            given = [float(q) / mass for q in p[k, t, x]]
            mean[c] = math.fsum(q * v for q, v in zip(given, scaled, strict=True))
            variance[c] = math.fsum(q * (v - mean[c]) ** 2 for q, v in zip(given, scaled, strict=True))
    return mean, variance


def cell_likelihood(case: Case, without: set[str]) -> np.ndarray:
    """P_k(v | pa(V), S := t) times P(x | pa(X), S := t) of the relevant children not in ``without``, (K, 2, C of columns)."""
    names = columns(case)[:-1]
    sizes = tuple(case.sizes[name] for name in names)
    out = np.empty((len(case.arms), 2, *sizes))
    for index in np.ndindex(out.shape):
        k, t = index[:2]
        given = {**dict(zip(names, index[2:], strict=True)), case.sensitive: case.groups[t]}
        factors = [case.arms[k]] + [case.tables[x] for x in sorted(relevant_children(case) - without)]
        nodes = [case.decision, *sorted(relevant_children(case) - without)]
        out[index] = math.prod(
            float(table[tuple(given[name] for name in (*above, node))])
            for node, (above, table) in zip(nodes, factors, strict=True)
        )
    return out.reshape(len(case.arms), 2, -1)


# ---- the paper's estimators, row by row ----


def draw_rows(case: Case, rng: np.random.Generator, pulls: np.ndarray, rare: bool = False) -> list[Row]:
    """Rows of ``pulls`` (3, K), regimes natural, s, s', drawn from the enumerated law.

    ``rare``: all cells that can occur are equally likely, so that large weights are seen, and lines count up to 3 rows.
    """
    names, p = columns(case), law(case)
    rows = []
    for regime, k in np.ndindex(pulls.shape):
        for _ in range(int(pulls[regime, k])):
            t = int(rng.random() >= shares(case)[0]) if regime == 0 else regime - 1
            flat = (p[k, t] > 0).astype(float).ravel() if rare else p[k, t].ravel()
            cell = np.unravel_index(int(rng.choice(flat.size, p=flat / flat.sum())), p.shape[2:])
            count = int(rng.integers(1, 4)) if rare else 1
            rows.append(Row(k, regime, t, {n: int(c) for n, c in zip(names, cell, strict=True)}, count))
    return rows


def dropped_outcome(
    case: Case,
    rows: list[Row],
    k: int,
    phase: int,
    M: np.ndarray,
    regimes: tuple[int, ...] = (0,),
    unit: float = 1.0,
) -> float:
    """Ŷ_k (docs/algorithms.md, The estimators), one row after the other; nan where Z_k = 0. ``unit``: 1 for base 2, ln 2 for base e."""
    total = size = 0.0
    for row in rows:
        j = row.arm
        if row.regime not in regimes or math.isinf(M[k, j]):
            continue
        size += row.count / M[k, j]
        r = ratio(value(case, k, row.group, row.codes), value(case, j, row.group, row.codes))
        if r <= 2 * phase * unit * M[k, j]:
            total += row.count * case.scaled(row.codes[case.outcome]) * r / M[k, j]
    return total / size if size > 0 else math.nan


def dropped_gap(
    case: Case, rows: list[Row], k: int, direction: int, phase: int, D: np.ndarray, unit: float = 1.0
) -> float:
    """ζ̂_k (docs/algorithms.md, The estimators): direction 0 is ζ^{s,s'} from rows forced to s', 1 is ζ^{s',s} from rows forced to s."""
    to, given = (0, 1) if direction == 0 else (1, 0)
    total = size = 0.0
    for row in rows:
        j = row.arm
        if row.regime != 1 + given or math.isinf(D[direction, k, j]):
            continue
        size += row.count / D[direction, k, j]
        difference = value(case, k, to, row.codes) - value(case, k, given, row.codes)
        g = math.copysign(ratio(abs(difference), value(case, j, given, row.codes)), difference)
        if abs(g) <= 2 * phase * unit * D[direction, k, j]:
            total += row.count * case.scaled(row.codes[case.outcome]) * g / D[direction, k, j]
    return total / size if size > 0 else math.nan


def worst(found: Any, expected: Any, floor: float = 0.0) -> float:
    """The largest relative deviation; deviations of at most ``floor`` count as none, other infs or nans as inf."""
    a, b = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
        return math.inf
    special = ~(np.isfinite(a) & np.isfinite(b))
    if np.any(a[special & ~np.isnan(a)] != b[special & ~np.isnan(b)]):
        return math.inf
    a, b = a[~special], b[~special]
    off = np.abs(a - b)
    return float(np.max(np.where(off <= floor, 0.0, off / np.maximum(np.abs(b), 1e-300)), initial=0.0))


# ---- exact samples ----


def exact_sample(case: Case, arm: int, largest: int = 20_000) -> list[dict[str, int]] | None:
    """Natural rows of an arm whose frequencies are its probabilities; None if more than ``largest`` are needed.

    Without the outcome, unless S → Y is an edge. For cases whose probabilities are multiples of 1/2^m: doubles hold
    them, their products and their sums exactly.
    """
    names = columns(case)
    joint = np.stack([law(case)[arm, t] * shares(case)[t] for t in (0, 1)])
    if case.outcome not in relevant_children(case):
        joint, names = joint.sum(axis=-1), names[:-1]
    size = 1
    while np.any(joint * size != np.round(joint * size)):
        size *= 2
        if size > largest:
            return None
    rows = []
    for index in np.ndindex(joint.shape):
        codes = {case.sensitive: case.groups[index[0]], **dict(zip(names, index[1:], strict=True))}
        rows += [codes] * int(joint[index] * size)
    return rows


# ---- the same case for the package ----


def state(name: str, code: int) -> str:
    return f"{name.lower()}{code}"


def as_fairarm(case: Case, **options: Any) -> tuple[Problem, Network]:
    """The case as a Problem (without context law) and its Network. ``options`` replace arguments of Problem."""
    from fairarm.problem.mechanism import Arm, Table
    from fairarm.problem.network import Network
    from fairarm.problem.outcome import Outcome
    from fairarm.problem.problem import Problem
    from fairarm.problem.variables import Variable

    variables = [Variable(n, tuple(state(n, i) for i in range(case.sizes[n]))) for n in case.nodes]
    tables = [Table(n, *case.tables[n]) for n in case.nodes]
    network = Network.of(variables, tables)
    seen = observed(case)
    hidden = [n for n in case.nodes if n not in seen]
    arguments: dict[str, Any] = {
        "name": f"case {case.seed}",
        "variables": [v for v in variables if v.name in seen or case.seed % 2],
        "graph": _AsGraph(case.nodes, network.edges()),
        "sensitive": case.sensitive,
        "decision": case.decision,
        "outcome": Outcome(case.outcome, values=case.values, low=case.low, high=case.high),
        "tolerance": case.tolerance,
        "groups": [state(case.sensitive, code) for code in case.groups],
        "arms": [Arm(f"arm {k}", Table(case.decision, *mechanism)) for k, mechanism in enumerate(case.arms)],
        "mechanisms": [_reordered(Table(n, *case.tables[n]), case.seed) for n in sorted(relevant_children(case))],
        "hidden": hidden,
        "shares": {state(case.sensitive, i): p for i, p in enumerate(case.tables[case.sensitive][1])},
    }
    return Problem(**{**arguments, **options}), network


class _AsGraph(NamedTuple):
    nodes: tuple[str, ...]
    edges: list[tuple[str, str]]


def _reordered(table: Any, seed: int) -> Any:
    """The same mechanism with its parents in another order."""
    order = np.random.default_rng(seed + 1).permutation(len(table.parents))
    parents = tuple(table.parents[i] for i in order)
    return type(table)(table.node, parents, table.probabilities.transpose(*order, len(order)))
