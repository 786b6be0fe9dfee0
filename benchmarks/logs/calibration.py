"""How often the evaluated intervals hold: ``python -m benchmarks.logs.calibration`` writes calibration.md.

Each log comes from a world drawn anew. Usual intervals are judged one by one, certified ones all together, as promised.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.logs.worlds import KINDS
from fairarm import Evaluation, evaluate
from fairarm.core.statistics import wilson_interval
from fairarm.experiments.evaluate import Estimate

CONFIDENCE = 0.95
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Judged:
    """One log: arms whose interval holds the truth (outcome, gap), whether every certified one does, and the answers."""

    held: tuple[int, int]
    arms: int
    certified: bool | None
    wrong: bool | None
    widths: tuple[float, ...]
    """Mean widths: usual outcome, usual gap, certified outcome, certified gap."""
    fair_probability: tuple[tuple[float, bool], ...]


def judge(kind: str, index: int, seed: int) -> Judged:
    rng = np.random.default_rng([seed, list(KINDS).index(kind), index])
    log = KINDS[kind](rng)
    found = evaluate(log.problem, log.columns, columns=log.where, confidence=CONFIDENCE, seed=index)
    truth = list(zip(found.arms, log.outcomes, log.gaps, strict=True))
    outcome = sum(arm.outcome.low <= mu <= arm.outcome.high for arm, mu, _ in truth)
    gap = sum(arm.gap.low <= zeta <= arm.gap.high for arm, _, zeta in truth)
    proved = [t for t in truth if t[0].outcome.certified_low is not None]
    certified = None
    if proved:
        certified = all(
            a.outcome.certified_low <= mu <= a.outcome.certified_high and a.gap.certified_low <= zeta <= a.gap.certified_high
            for a, mu, zeta in proved
        )  # fmt: skip
    fair = np.abs(log.gaps) < log.problem.gap_tolerance
    best = found.arms[int(np.argmax(np.where(fair, log.outcomes, -np.inf)))].name if fair.any() else None
    wrong = None if found.certified_status == "UNDECIDED" else found.certified_arm != best
    widths = [np.mean([e.high - e.low for e in part]) for part in _parts(found)]
    sure = [np.mean([(e.certified_high or 0) - (e.certified_low or 0) for e in part]) for part in _parts(found)]
    fairness = tuple((arm.fair_probability, bool(ok)) for arm, ok in zip(found.arms, fair, strict=True))
    return Judged((outcome, gap), len(truth), certified, wrong, (*map(float, widths), *map(float, sure)), fairness)


def _parts(found: Evaluation) -> tuple[list[Estimate], list[Estimate]]:
    return [arm.outcome for arm in found.arms], [arm.gap for arm in found.arms]


def run(kind: str, logs: int, seed: int, jobs: int) -> list[Judged]:
    return list(Parallel(n_jobs=jobs)(delayed(judge)(kind, i, seed) for i in range(logs)))


def share(hits: int, of: int) -> str:
    low, high = wilson_interval(hits, of)
    return f"{hits / of:.3f} ({low:.3f} to {high:.3f})"


def line(kind: str, judged: list[Judged]) -> str:
    arms = sum(j.arms for j in judged)
    proved = [j.certified for j in judged if j.certified is not None]
    decided = [j.wrong for j in judged if j.wrong is not None]
    width = np.mean([j.widths for j in judged], axis=0)
    sure = [(p, ok) for j in judged for p, ok in j.fair_probability if p >= 0.8]
    cells = [
        kind,
        share(sum(j.held[0] for j in judged), arms),
        share(sum(j.held[1] for j in judged), arms),
        f"{width[0]:.3f}, {width[1]:.3f}",
        share(sum(proved), len(proved)) if proved else "not available",
        f"{width[2]:.3f}, {width[3]:.3f}" if proved else "",
        f"{len(decided)} decided, {sum(decided)} wrong",
        f"{np.mean([p for p, _ in sure]):.3f} said, {np.mean([ok for _, ok in sure]):.3f} fair" if sure else "",
    ]
    return f"| {' | '.join(cells)} |"


HEAD = """# Do intervals from logs hold?

Made by `python -m benchmarks.logs.calibration` ({logs} logs of each kind, each from a world drawn anew, seed {seed}; `benchmarks/logs/worlds.py`
says what they are). 95 % intervals. *Usual* ones are counted arm by arm; *certified* ones hold for a log only if all of them do at
once, outcomes and gaps of every arm. The last column compares P(fair) of 0.8 and more with how many of those arms are fair.

| logs | usual, outcome | usual, gap | mean widths | certified, all at once | mean widths | certified answers | P(fair) ≥ 0.8 |
|---|---|---|---|---|---|---|---|
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=HERE / "calibration.md")
    asked = parser.parse_args()
    lines = [line(kind, run(kind, asked.logs, asked.seed, asked.jobs)) for kind in KINDS]
    asked.out.write_text(HEAD.format(logs=asked.logs, seed=asked.seed) + "\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
