"""The page of what was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from benchmarks.service.cost import Cost
from benchmarks.service.faults import Fault
from benchmarks.service.load import Kept, Load


def page(
    inputs: Counter[int],
    costs: Mapping[str, Cost],
    found: Mapping[str, list[Fault]],
    loads: Mapping[str, tuple[Load, Kept]],
    minutes: float,
) -> str:
    """All tables."""
    return "\n".join(
        [
            "# The service: inputs, cost, faults, load",
            "",
            f"Written by `make service-bench` ({minutes:.0f} minutes). Ratios are of one run on one machine, side by side; seconds are that machine's. "
            "Who gets in where is tested route by route with every test run (`tests/service/test_every_door.py`).",
            "",
            "## Inputs made from the API's description",
            "",
            f"{sum(inputs.values())} requests by schemathesis, right and wrong ones of every route; every answer was as described. By status: "
            + ", ".join(f"{status}: {number}" for status, number in sorted(inputs.items()))
            + f". Server errors: {sum(number for status, number in inputs.items() if status >= 500)}.",
            "",
            *cost_lines(costs),
            *fault_lines(found),
            *load_lines(loads),
        ]
    )


def cost_lines(costs: Mapping[str, Cost]) -> list[str]:
    """What requests cost."""
    kinds = list(costs)
    rows = [
        (
            "CPU of an assignment beside an empty route, 16 callers",
            "≤ 3",
            [f"{c.assign_many_ms / c.empty_many_ms:.2f}" for c in costs.values()],
        ),
        (
            "the same, one caller: a commit for each",
            "≤ 3",
            [f"{c.assign_ms / c.empty_ms:.2f}" for c in costs.values()],
        ),
        ("CPU of a tell beside an empty route", "", [f"{c.tell_ms / c.empty_ms:.2f}" for c in costs.values()]),
        ("p99 / p50 of an assignment, 16 callers", "≤ 20", [f"{c.p99_ms / c.p50_ms:.1f}" for c in costs.values()]),
        (
            "outcomes per second, batches of 1 000 / single",
            "≥ 10",
            [f"{c.batch_a_second / c.single_a_second:.0f}" for c in costs.values()],
        ),
        (
            "CPU per outcome, single / in a batch",
            "",
            [f"{c.single_cpu_ms / c.batch_cpu_ms:.1f}" for c in costs.values()],
        ),
        ("memory at most, MB", "≤ 200", [f"{c.megabytes:.0f}" for c in costs.values()]),
        ("an empty route, ms of CPU", "", [f"{c.empty_ms:.2f}" for c in costs.values()]),
        ("p50, p99 at 16 callers, ms", "", [f"{c.p50_ms:.1f}, {c.p99_ms:.1f}" for c in costs.values()]),
        (
            "an answer's first to last byte, ms: without TCP_NODELAY / with it",
            "≥ 10",
            [_beside(c.without_protocol.first_to_last, c.last_byte.first_to_last) for c in costs.values()],
        ),
        (
            "an assignment, one caller, request to last byte, ms: without TCP_NODELAY / with it",
            "",
            [_beside(c.without_protocol.whole, c.last_byte.whole) for c in costs.values()],
        ),
        ("people per second at 16 callers", "", [f"{c.a_second:.0f}" for c in costs.values()]),
    ]
    return [
        "## Cost",
        "",
        f"| | wanted | {' | '.join(kinds)} |",
        "|---|---|" + "---|" * len(kinds),
        *(f"| {what} | {wanted} | {' | '.join(values)} |" for what, wanted, values in rows),
        "",
    ]


def _beside(before: float, after: float) -> str:
    return f"{before:.3g} / {after:.2g} = {before / after:.0f}"


def fault_lines(found: Mapping[str, list[Fault]]) -> list[str]:
    """What faults have done."""
    return [
        "## Faults",
        "",
        "Sixteen callers while it happens. *Acknowledged*: assignments and outcomes that were answered; each was looked up afterwards, and `verify` had to find nothing.",
        "",
        "| database | fault | acknowledged | lost | found by verify | a caller heard | next call works |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {kind} | {fault.what} | {fault.acknowledged} | {fault.lost} | {len(fault.problems)} | {fault.error} | {'yes' if fault.next_works else 'NO'} |"
            for kind, faults in found.items()
            for fault in faults
        ),
        "",
    ]


def load_lines(loads: Mapping[str, tuple[Load, Kept]]) -> list[str]:
    """Callers and kills."""
    return [
        "## Load with kills",
        "",
        "Callers assign a person and tell an outcome, one after the other, by `Client` (timeout 1 s); the service is killed by SIGKILL every 5 s and started again.",
        "",
        "| database | seconds | kills | assigned | told | outside meanwhile | lost | twice | found by verify | errors | longest wait, s |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {kind} | {load.seconds:.0f} | {load.kills} | {len(load.assigned)} | {len(load.told)} | {load.outside} | "
            f"{kept.lost_assignments + kept.lost_outcomes} | {kept.counted_twice} | {len(kept.problems)} | {len(load.errors)} | {load.longest:.2f} |"
            for kind, (load, kept) in loads.items()
        ),
        "",
    ]
