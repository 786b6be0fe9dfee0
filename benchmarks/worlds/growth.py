"""How the CPU time of a pool run grows with labels, with worlds and with rows, where attributes have causes: ratios within one process."""

from __future__ import annotations

from string import ascii_lowercase

import numpy as np

from benchmarks.groups.growth import PULLS, REPEATS, RUNS, ratios_of, table_of
from fairarm import Constraint
from fairarm.problem.mechanism import Arm, Table
from fairarm.problem.network import Network
from fairarm.problem.outcome import Outcome
from fairarm.problem.problem import Problem
from fairarm.problem.variables import Variable
from fairarm.worlds.network import NetworkWorld

ARMS, STATES = 12, 6
REGIONS = (2, 4, 8, 16)
COMPARED = (2, 3, 4, 5, 6)


def network_of(regions: int, races: int, compared: int) -> NetworkWorld:
    """Region → race → V ← region, V → Y; pairs of the first so many races."""
    rng = np.random.default_rng([regions, races])
    theta = rng.uniform(0.05, 0.95, STATES)
    of_region, of_race = (tuple(f"{c}{i}" for i, c in enumerate(ascii_lowercase[:n])) for n in (regions, races))
    own = Table("region", (), rng.dirichlet(np.full(regions, 5.0)))
    race = Table("race", ("region",), rng.dirichlet(np.full(races, 5.0), size=regions))
    laws = rng.dirichlet(np.ones(STATES), size=(ARMS, regions, races))
    variables = [Variable("region", of_region), Variable("race", of_race), Variable("V", tuple(map(str, range(STATES))), ordered=False), Variable("Y", ("0", "1"))]  # fmt: skip
    problem = Problem(
        name=f"{regions} regions, {races} races",
        variables=variables,
        graph=[("region", "race"), ("region", "V"), ("race", "V"), ("V", "Y")],
        sensitive=("region", "race"),
        decision="V",
        outcome=Outcome("Y", values=(0, 1)),
        constraints=[Constraint(attribute="race", tolerance=0.1, groups=of_race[:compared])],
        arms=[Arm(f"arm-{k}", Table("V", ("region", "race"), law)) for k, law in enumerate(laws)],
        mechanisms=[race],
        shares={"region": dict(zip(of_region, own.probabilities.tolist(), strict=True))},
    )
    coins = Table("Y", ("V",), np.stack([1.0 - theta, theta], axis=1))
    return NetworkWorld(
        problem, Network.of(variables, [own, race, Table("V", (), np.full(STATES, 1 / STATES)), coins])
    )


def growth_lines() -> list[str]:
    """The part of the page about cost."""
    labels = {2 * regions: network_of(regions, 2, 2) for regions in REGIONS}
    asked = [network_of(2, COMPARED[-1], compared) for compared in COMPARED]
    worlds = {len(world.problem.worlds): world for world in asked}
    rows = ", ".join(str(len(world.problem.rows)) for world in asked)
    return [
        "## How cost grows",
        "",
        f"CPU time of {RUNS} pool runs of {PULLS:,} pulls together, over that of the first column; medians of {REPEATS}, in one process. {ARMS} arms, {STATES} cells.",
        "A label is a combination of the attributes' states; a world is what one mean is of. With more worlds there are more rows.",
        "",
        *table_of("labels, 4 worlds, 2 rows", ratios_of({n: (w.problem, w) for n, w in labels.items()})),
        *table_of("worlds, 12 labels", ratios_of({n: (w.problem, w) for n, w in worlds.items()})),
        f"Rows beside these worlds: {rows}.",
        "",
    ]
