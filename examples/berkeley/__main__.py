"""Berkeley admissions: the plain gap, the department-standardised one, and which of them ζ is.

python -m examples.berkeley
"""

from __future__ import annotations

import csv
from pathlib import Path

from fairarm import Evaluation, evaluate, load_problem

HERE = Path(__file__).parent


def rates() -> dict[tuple[str, str], tuple[int, int]]:
    """(department, gender) -> admitted, applicants."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    with (HERE / "admissions.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key, n = (row["department"], row["gender"]), int(row["applicants"])
            admitted, all_of_them = found.get(key, (0, 0))
            found[key] = (admitted + n * (row["admitted"] == "yes"), all_of_them + n)
    return found


def plain_gap() -> float:
    """Women's admission rate minus men's."""
    by_gender = {}
    for gender in ("female", "male"):
        counts = [value for (_, g), value in rates().items() if g == gender]
        by_gender[gender] = sum(a for a, _ in counts) / sum(n for _, n in counts)
    return by_gender["female"] - by_gender["male"]


def standardised_gap() -> float:
    """The gap within departments, averaged over departments as all applicants were spread over them."""
    counts = rates()
    departments = sorted({department for department, _ in counts})
    total = sum(n for _, n in counts.values())
    gap = 0.0
    for department in departments:
        (fa, fn), (ma, mn) = counts[department, "female"], counts[department, "male"]
        gap += (fn + mn) / total * (fa / fn - ma / mn)
    return gap


def main() -> Evaluation:
    found = evaluate(load_problem(HERE / "problem.toml"), HERE / "admissions.csv")
    print(f"plain gap {plain_gap():+.3f}, within departments {standardised_gap():+.3f}")
    for arm in found.arms:
        print(
            f"{arm.name:10} admits {arm.outcome.value:.3f}, gap {arm.gap.value:+.3f} ({arm.gap.low:+.3f} to {arm.gap.high:+.3f})"
        )
    print(
        "The gap that fairarm bounds, ζ, is the plain one: had an applicant been a man instead of a woman, the department "
        "applied to would have been another too. The figure within departments holds the department fixed; it is the "
        "effect of gender on admission alone. Under the blind rule what is left of ζ comes from where people applied."
    )
    return found


if __name__ == "__main__":
    main()
