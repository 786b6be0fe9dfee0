"""How often `rows-alike` and `repeated-people` are raised: ``python -m benchmarks.logs.units`` writes units.md.

Rows of every ordinary kind of log (`worlds.KINDS`, those of at most 10 000 rows) are independent. They get ids of people or
shops in several ways, in a file in the order drawn, or sorted by group or by decision, and every warning is a false alarm.
Then rows of the same id are made alike, and every log without a warning is missed. Nothing was tuned on these logs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.logs.tables import Logged
from benchmarks.logs.worlds import KINDS
from fairarm import LogMap, Outcome, Problem, Variable, open_log, table
from fairarm.core.types import IntArray
from fairarm.logs.reading import LogReader
from fairarm.logs.units import check_units
from fairarm.problem.mechanism import Arm

HERE = Path(__file__).parent
MOST_ROWS = 10_000

Ids = Callable[[int, np.random.Generator], IntArray]
IDS: dict[str, Ids] = {
    "two rows each, at random": lambda n, rng: rng.permutation(n) // 2,
    "five rows each, at random": lambda n, rng: rng.permutation(n) // 5,
    "five rows each, one after the other": lambda n, rng: np.arange(n) // 5,
    "20 shops, one after the other": lambda n, rng: np.arange(n) * 20 // n,
    "3 shops, at random": lambda n, rng: rng.integers(0, 3, n),
    "sizes with a heavy tail, at random": lambda n, rng: np.minimum(rng.pareto(0.7, n), 1e9).astype(np.int64),
}
ORDERS = ("as drawn", "by group", "by decision")


def one_by_one(log: Logged) -> dict[str, np.ndarray]:
    """Columns with one line per row."""
    columns = {name: np.asarray(values) for name, values in log.columns.items()}
    count = columns.pop("rows", None)
    return columns if count is None else {name: np.repeat(values, count) for name, values in columns.items()}


def raised(problem: Problem, columns: dict[str, np.ndarray], where: LogMap) -> set[str]:
    return {finding.name for finding in check_units(LogReader(problem, open_log(columns), where))}


def false_alarms(kind: str, i: int, seed: int) -> dict[tuple[str, str], set[str]]:
    """By way of making ids and order of the file."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind), i])
    log = KINDS[kind](rng)
    columns, found = one_by_one(log), {}
    if log.problem.deployed is None and not log.where.has_propensities and log.where.arm is None:
        return {}
    where = LogMap(propensity=log.where.propensity, arm=log.where.arm, made_by=log.where.made_by)
    n = len(columns["Y"])
    drawn = rng.permutation(n)
    for order, by in zip(ORDERS, (drawn, columns["S"][drawn], columns["V"][drawn]), strict=True):
        at = drawn if order == "as drawn" else drawn[np.argsort(by, kind="stable")]
        for name, ids in IDS.items():
            rows = {key: values[at] for key, values in columns.items()} | {"person_id": ids(n, rng)}
            found[name, order] = raised(log.problem, rows, where)
    return found


def alike_rows(people: int, each: int, icc: float, real: bool, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """People with rows of their own, who share a part ``icc`` of the variance; each keeps its group."""
    n = people * each
    person = np.repeat(np.arange(people), each)
    score = np.sqrt(icc) * rng.normal(size=people)[person] + np.sqrt(1 - icc) * rng.normal(size=n)
    shape = (1 / icc - 1) / 2 if icc else 0.0
    chance = rng.beta(shape, shape, people)[person] if icc else 0.5
    return {
        "person_id": person,
        "S": rng.choice(["a", "b"], people)[person],
        "X": rng.integers(0, 3, n).astype(str),
        "V": rng.choice(["no", "yes"], n),
        "Y": np.clip(score, -8, 8) if real else (rng.random(n) < chance).astype(np.int64),
    }


def repeated(rows: int, times: int, real: bool, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Independent rows, each written several times with its id."""
    return {name: np.repeat(values, times) for name, values in alike_rows(rows, 1, 0.0, real, rng).items()}


def problem(real: bool) -> Problem:
    variables = [Variable("S", ("a", "b")), Variable("X", ("0", "1", "2")), Variable("V", ("no", "yes"))]
    return Problem(
        name="units",
        variables=variables if real else [*variables, Variable("Y", ("0", "1"))],
        graph=[("S", "X"), ("X", "V"), ("X", "Y"), ("V", "Y")],
        sensitive="S",
        decision="V",
        outcome=Outcome("Y", low=-8, high=8) if real else Outcome("Y", values=(0, 1)),
        tolerance=0.1,
        arms=[Arm("old", table("V", [], [0.5, 0.5]))],
        deployed="old",
    )


Make = Callable[[bool, np.random.Generator], dict[str, np.ndarray]]
ALIKE: dict[str, Make] = {
    "250 people × 8 rows, ICC 0.3": lambda real, rng: alike_rows(250, 8, 0.3, real, rng),
    "250 people × 8 rows, ICC 0": lambda real, rng: alike_rows(250, 8, 0.0, real, rng),
    "400 people × 5 rows, ICC 0.1": lambda real, rng: alike_rows(400, 5, 0.1, real, rng),
    "400 people × 5 rows, ICC 0.3": lambda real, rng: alike_rows(400, 5, 0.3, real, rng),
    "40 people × 3 rows, ICC 0.3": lambda real, rng: alike_rows(40, 3, 0.3, real, rng),
    "300 rows, each written five times": lambda real, rng: repeated(300, 5, real, rng),
}


def power(name: str, real: bool, i: int, seed: int) -> set[str]:
    rng = np.random.default_rng([seed, 1000 + list(ALIKE).index(name), real, i])
    return raised(problem(real), ALIKE[name](real, rng), LogMap())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=2900)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    kinds = [kind for kind in KINDS if not any(size in kind for size in ("290 000", "100 000", "29 000"))]
    jobs = ((kind, i, asked.seed) for kind in kinds for i in range(asked.logs))
    alarms = [each for each in Parallel(n_jobs=asked.jobs)(delayed(false_alarms)(*job) for job in jobs) if each]
    lines = [
        "# Rows that belong together",
        "",
        f"`python -m benchmarks.logs.units --logs {asked.logs} --seed {asked.seed}`",
        "",
        f"Independent rows: {asked.logs} logs of each of {len(kinds)} kinds, {len(alarms)} logs that can be tested; share with `rows-alike`.",
        "",
        f"| ids | {' | '.join(ORDERS)} |",
        f"|---|{'---|' * len(ORDERS)}",
    ]
    for ids in IDS:
        shares = [np.mean(["rows-alike" in each[ids, order] for each in alarms]) for order in ORDERS]
        lines.append(f"| {ids} | {' | '.join(f'{share:.4f}' for share in shares)} |")
    every = [found for each in alarms for found in each.values()]
    people = [found for each in alarms for (ids, order), found in each.items() if "at random" in ids]
    share, wrong = (
        np.mean([name in one for one in of]) for name, of in (("rows-alike", every), ("repeated-people", people))
    )
    lines += [
        "",
        f"All {len(every)} files: {share:.4f}. `repeated-people`, ids at random: {wrong:.4f}.",
        "",
        f"Rows that belong together, {asked.logs * 4} logs each, outcomes of two states and real ones: share with the warning.",
        "",
        "| log | `rows-alike` | `repeated-people` | either |",
        "|---|---|---|---|",
    ]
    for name in ALIKE:
        each = ((name, real, i, asked.seed) for real in (False, True) for i in range(2 * asked.logs))
        found = Parallel(n_jobs=asked.jobs)(delayed(power)(*job) for job in each)
        shares = [np.mean([name in one for one in found]) for name in ("rows-alike", "repeated-people")]
        lines.append(f"| {name} | {shares[0]:.3f} | {shares[1]:.3f} | {np.mean([bool(one) for one in found]):.3f} |")
    (HERE / "units.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
