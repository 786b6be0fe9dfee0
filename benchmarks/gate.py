"""What the gate on P(fair) does: ``python -m benchmarks.gate`` writes gate.md, and its first table into record 21.

An arm is named only if it is fair with probability 0.8 or more (`standing.GATE`). The gate acts on the answer alone:
a run with a fixed number of pulls makes the same ones with it and without it, so that each run is judged both ways.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from benchmarks.comparison.plan import FIRST_SEED, NOISY, SETTINGS
from benchmarks.pasting import paste
from benchmarks.trees import imported_tree, package_commit
from fairarm import Arm, Outcome, Problem, Variable, table
from fairarm.algorithms import make_procedure
from fairarm.core.answer import Code
from fairarm.core.fairness import is_fair
from fairarm.core.types import IntArray
from fairarm.experiments.paper.instances import instance_world
from fairarm.experiments.simulate import replicate
from fairarm.problem.network import Network
from fairarm.worlds.network import NetworkWorld

OUT = Path(__file__).with_name("gate.md")
RECORD = Path(__file__).parents[1] / "docs" / "decisions" / "0021-default-algorithm-and-gate.md"
GATE = 0.8
PULLS = (100, 300, 1000)
INSTANCES, RUNS = 10, 10
"""Of each setting, and on each instance at each number of pulls."""

DRAWN, DRAWN_RUNS = 60, 5
"""Of each kind of problem that is not selected."""

TOLERANCES = (0.03, 0.1)
MOST_ARMS, STATES = 30, 20


def unselected(seed: int, tolerance: float, noisy: bool) -> NetworkWorld:
    """S → V → Y with 3 to 30 arms drawn at random and kept as they come: the best may be anywhere about the tolerance.

    Each law is a shared Dirichlet one mixed with one of each group, as the candidates of the paper's settings are.
    """
    rng = np.random.default_rng([seed, int(1000 * tolerance), int(noisy)])
    arms = int(rng.integers(3, MOST_ARMS + 1))
    sharpness = np.exp(rng.uniform(np.log(0.2), np.log(5.0), (arms, 1, 1)))
    parts = rng.standard_gamma(sharpness, (arms, 3, STATES)) + 1e-6
    parts /= parts.sum(axis=2, keepdims=True)
    mixed = rng.uniform(0, 1, (arms, 1, 1))
    laws = (1 - mixed) * parts[:, :1] + mixed * parts[:, 1:]
    laws[0] = 0.96 * rng.dirichlet(np.ones(STATES), 2) + 0.04 / STATES
    theta = rng.uniform(size=STATES) if noisy else np.where(rng.random(STATES) < 0.5, 0.99, 0.01)
    variables = [
        Variable("S", ("a", "b")),
        Variable("V", tuple(f"v{i}" for i in range(STATES))),
        Variable("Y", ("0", "1")),
    ]
    problem = Problem(
        name=f"unselected-{seed}", variables=variables, graph=[("S", "V"), ("V", "Y")], sensitive="S", decision="V",
        outcome=Outcome("Y", values=(0, 1)), tolerance=tolerance, shares=(0.5, 0.5), budget="1/sqrt(pulls)", deployed="arm-0",
        arms=[Arm(f"arm-{k}", table("V", ["S"], law)) for k, law in enumerate(laws)],
        costs=[(0.0,) * 3, *[(1.0,) * 3] * (arms - 1)],
    )  # fmt: skip
    known = [
        table("S", [], [0.5, 0.5]),
        table("V", ["S"], laws[0]),
        table("Y", ["V"], np.stack([1 - theta, theta], axis=1)),
    ]
    return NetworkWorld(problem, Network.of(variables, known))


def worlds(setting: str, instances: int | None = None) -> Iterator[tuple[str, NetworkWorld]]:
    """The instances of a setting by name."""
    if setting in UNSELECTED:
        tolerance, noisy = UNSELECTED[setting]
        for seed in range(instances or DRAWN):
            yield f"{setting}:{seed}", unselected(seed, tolerance, noisy)
    else:
        base = setting if setting == "hepar2" else f"synthetic-{setting}"
        for i in range(instances or INSTANCES):
            yield f"{base}:seed={FIRST_SEED + i}", instance_world(f"{base}:seed={FIRST_SEED + i}")


UNSELECTED = {
    f"not selected, tolerance {tolerance}{', noisy' if noisy else ''}": (tolerance, noisy)
    for noisy in (False, True)
    for tolerance in TOLERANCES
}


@dataclass(frozen=True)
class Counts:
    """Of some runs: how many there are, and how many are wrong in each way."""

    runs: int = 0
    wrong: int = 0
    unfair: int = 0
    withheld: int = 0
    """No arm is named though one is fair."""

    @property
    def lesser(self) -> int:
        """A fair arm is named that is not the best."""
        return self.wrong - self.unfair - self.withheld

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def judged(world: NetworkWorld, answers: IntArray) -> Counts:
    """Answers (n,) of one world: arms, NONE or UNDECIDED."""
    truth = world.truth()
    fair = is_fair(truth.gaps, world.problem.gap_tolerance)
    named = answers >= 0
    unfair = named & ~fair[np.maximum(answers, 0)]
    withheld = ~named & bool(fair.any())
    return Counts(len(answers), int((answers != truth.answer).sum()), int(unfair.sum()), int(withheld.sum()))


def both(name: str, world: NetworkWorld, pulls: int, runs: int) -> tuple[Counts, Counts]:
    """Without and with the gate, of the same runs."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), pulls])
    ran = replicate(make_procedure("pool", world.problem, pulls), world, runs, rng, int(rng.integers(1 << 62)))
    standing = ran.info.standing
    if standing is None:
        raise TypeError("these runs have no beliefs")
    said = np.asarray(ran.state.answer == Code.UNDECIDED)
    without, gated = (np.where(said, Code.UNDECIDED, standing.choice(gate).code) for gate in (0.0, GATE))
    return judged(world, without), judged(world, gated)


def measure(setting: str, instances: int | None = None) -> dict[int, tuple[Counts, Counts]]:
    """By pulls, over all instances."""
    runs = DRAWN_RUNS if setting in UNSELECTED else RUNS
    found = {pulls: (Counts(), Counts()) for pulls in PULLS}
    for name, world in worlds(setting, instances):
        for pulls, (without, gated) in found.items():
            more = both(name, world, pulls, runs)
            found[pulls] = without + more[0], gated + more[1]
    return found


Found = dict[str, dict[int, tuple[Counts, Counts]]]


def total(found: Found, settings: Sequence[str]) -> tuple[Counts, Counts]:
    """Over settings and pulls."""
    pairs = [pair for setting in settings if setting in found for pair in found[setting].values()]
    without, gated = Counts(), Counts()
    for pair in pairs:
        without, gated = without + pair[0], gated + pair[1]
    return without, gated


GROUPS = {
    "the paper's settings": SETTINGS,
    "the same with noisy outcomes": NOISY,
    "problems not selected for a margin": tuple(UNSELECTED),
}
HEAD = f"""# What the gate on P(fair) does

Written by `python -m benchmarks.gate`, package as of commit {{commit}}. `pool` names an arm only if it is fair with probability {GATE} or more
(`standing.GATE`); 0 names the most probable answer. Each run is judged both ways: the gate acts on the answer alone.

It is a safety device: an unfair arm is named less often, whatever that does to the error. The paper's settings keep every arm's gap away from
the tolerance, so that a doubtful arm is usually an unfair one. Where arms are drawn at random and kept as they come, the best one
may be just fair, and then the gate has a lesser arm named in its place, or none.

An error is an answer that is not the best fair arm, or not "none" where none is fair. It is one of three: *unfair*, an unfair arm is named;
*lesser*, a fair arm that is not the best; *withheld*, no arm though one is fair. Each column: without the gate → with it.
"""


def short_table(found: Found) -> str:
    """One line per group of settings."""
    lines = ["| problems | runs | error | unfair | lesser | withheld |", "|---|---|---|---|---|---|"]
    for name, settings in GROUPS.items():
        if any(setting in found for setting in settings):
            lines.append(f"| {' | '.join([name, *_cells(total(found, settings))])} |")
    return "\n".join(lines)


def _cells(pair: tuple[Counts, Counts]) -> list[str]:
    return [str(pair[0].runs), *(
        " → ".join(f"{getattr(counts, name) / counts.runs:.3f}" for counts in pair) for name in ("wrong", "unfair", "lesser", "withheld")
    )]  # fmt: skip


def page(found: Found, commit: str) -> str:
    """In all first, then every setting and number of pulls."""
    lines = [HEAD.format(commit=commit), short_table(found)]
    lines += ["", "| setting | pulls | runs | error | unfair | lesser | withheld |", "|---|---|---|---|---|---|---|"]
    for setting, by_pulls in found.items():
        lines += [f"| {' | '.join([setting, f'{pulls:,}', *_cells(pair)])} |" for pulls, pair in by_pulls.items()]
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, help="of every setting; fewer for a quick look")
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    found: Found = {}
    for setting in (*SETTINGS, *NOISY, *UNSELECTED):
        found[setting] = measure(setting, asked.instances)
        print(setting, *(_cells(pair) for pair in found[setting].values()), flush=True)
    asked.out.write_text(page(found, package_commit(imported_tree())), encoding="utf-8")
    if asked.instances is None:
        paste(short_table(found), RECORD, "gate")


if __name__ == "__main__":
    main()
