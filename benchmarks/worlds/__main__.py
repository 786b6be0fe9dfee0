"""The right question beside the plain difference: ``python -m benchmarks.worlds [--jobs 2]`` writes results.md and errors.svg.

Pool on two dependent attributes and on a kept node, and on the same arms and rows with the naive question. A run is wrong where it does not
name the best arm that is fair by the right one. Every instance is kept in out/worlds as soon as it is done.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from joblib import Parallel, delayed
from matplotlib.figure import Figure

from benchmarks.worlds.growth import growth_lines
from benchmarks.worlds.naive import naive
from fairarm import load_problem
from fairarm.algorithms import make_procedure
from fairarm.algorithms.procedure import unwatched
from fairarm.core.types import FloatArray
from fairarm.experiments.simulate import replicate
from fairarm.worlds.network import NetworkWorld

HERE = Path(__file__).parent
OUT, DRAWN, KEPT = HERE / "results.md", HERE / "errors.svg", HERE.parents[1] / "out" / "worlds"
SETTINGS = {
    "synthetic-causes": "two attributes, of which region acts on race; pairs of both",
    "synthetic-kept": "sex, with the department kept",
}
PULLS = (64, 256, 1024, 4096, 16384)
INSTANCES, RUNS, CHUNK, FIRST_SEED = 10, 200, 50, 1000


@dataclass(frozen=True)
class Wrong:
    """One instance: the arms that are right and that the plain difference names, and how many runs were wrong at each number of pulls."""

    setting: str
    seed: int
    runs: int
    answer: int
    plain_answer: int
    right: list[int]
    plain: list[int]


def measured(setting: str, seed: int, runs: int) -> Wrong:
    """One instance, both questions."""
    path = KEPT / f"{setting}-{seed}-{runs}.json"
    if path.exists():
        return Wrong(**json.loads(path.read_text(encoding="utf-8")))
    world = load_problem(f"{setting}:seed={seed}").world
    if not isinstance(world, NetworkWorld):
        raise TypeError(setting)
    other, truth = naive(world), world.truth().answer
    right, plain = ([wrong(w, pulls, runs, truth) for pulls in PULLS] for w in (world, other))
    found = Wrong(setting, seed, runs, truth, other.truth().answer, right, plain)
    KEPT.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(found)), encoding="utf-8")
    print(f"{setting} {seed}: {right} {plain}", flush=True)
    return found


def wrong(world: NetworkWorld, pulls: int, runs: int, answer: int) -> int:
    """How many runs do not name this arm."""
    rng = np.random.default_rng([zlib.crc32(world.problem.name.encode()), len(world.problem.rows), pulls])
    procedure, count = unwatched(make_procedure("pool", world.problem, pulls)), 0
    for start in range(0, runs, CHUNK):
        ran = replicate(procedure, world, min(CHUNK, runs - start), rng, int(rng.integers(1 << 62)))
        count += int((ran.state.answer != answer).sum())
    return count


def errors(found: Sequence[Wrong], way: str) -> FloatArray:
    """Shares of wrong runs, (instances, points)."""
    return np.array([getattr(w, way) for w in found]) / found[0].runs


def parts(found: Sequence[Wrong]) -> dict[str, FloatArray]:
    """The curves of a setting by what they are of: errors averaged over instances, (points,)."""
    apart = [w for w in found if w.answer != w.plain_answer]
    alike = [w for w in found if w.answer == w.plain_answer]
    made = {"the right question": errors(found, "right"), "the plain difference": errors(found, "plain")}
    if apart:
        made[f"the plain difference, {len(apart)} instances where it names another arm"] = errors(apart, "plain")
    if alike:
        made[f"the plain difference, {len(alike)} instances where it names the same arm"] = errors(alike, "plain")
    return {name: each.mean(axis=0) for name, each in made.items()}


def setting_lines(setting: str, found: Sequence[Wrong]) -> list[str]:
    """The table of one setting."""
    heads = " | ".join(f"{pulls:,}" for pulls in PULLS)
    lines = [f"## {setting}", "", f"{SETTINGS[setting].capitalize()}.", "", f"| error at pulls | {heads} |"]
    lines.append("|---" * (len(PULLS) + 1) + "|")
    lines += [f"| {name} | {' | '.join(f'{e:.3f}' for e in curve)} |" for name, curve in parts(found).items()]
    return [*lines, ""]


def page(found: Sequence[Wrong], growth: list[str]) -> str:
    """All of it."""
    text = [
        "# Which question was asked",
        "",
        f"Written by `python -m benchmarks.worlds`: {len(found) // len(SETTINGS)} instances per setting, {found[0].runs} runs of each per point, 12 arms, `pool`.",
        "*The right question* is that of the problem. *The plain difference* takes the same arms, people and tolerances, and compares groups as",
        "they are: causes of an attribute are not adjusted for, and every path counts. A run is wrong if it does not name the best arm that is",
        "fair by the right question. More pulls do not mend a wrong question.",
        "",
        "![error against pulls](errors.svg)",
        "",
    ]
    for setting in SETTINGS:
        text += setting_lines(setting, [w for w in found if w.setting == setting])
    return "\n".join([*text, *growth]).rstrip() + "\n"


def draw(found: Sequence[Wrong], path: Path) -> None:
    """One panel per setting."""
    with mpl.rc_context({"svg.hashsalt": "fairarm", "svg.fonttype": "path", "font.size": 8}):
        figure = Figure(figsize=(7, 3), layout="constrained")
        for axes, setting in zip(figure.subplots(1, len(SETTINGS), sharey=True), SETTINGS, strict=True):
            of = [w for w in found if w.setting == setting]
            for way, name, style in (("right", "the right question", "-"), ("plain", "the plain difference", "--")):
                axes.plot(PULLS, errors(of, way).mean(axis=0), style, color="black" if way == "right" else "#c62828", marker="o", ms=3, label=name)  # fmt: skip
                axes.plot(PULLS, errors(of, way).T, style, color="black" if way == "right" else "#c62828", lw=0.5, alpha=0.25)  # fmt: skip
            axes.set(xscale="log", ylim=(-0.02, 1.02), xlabel="pulls", title=setting)
            axes.grid(alpha=0.3)
        figure.axes[0].set_ylabel("share of runs with a wrong answer")
        figure.axes[0].legend(frameon=False)
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--runs", type=int, default=RUNS)
    asked = parser.parse_args()
    tasks = [(setting, FIRST_SEED + i) for setting in SETTINGS for i in range(asked.instances)]
    found = Parallel(n_jobs=asked.jobs)(delayed(measured)(*task, asked.runs) for task in tasks)
    text = page(found, growth_lines())
    if (asked.instances, asked.runs) == (INSTANCES, RUNS):
        OUT.write_text(text, encoding="utf-8")
        draw(found, DRAWN)
    print(text, end="")


if __name__ == "__main__":
    main()
