"""What live studies cost: days beside phases that wait, and people where outcomes get lost."""

from __future__ import annotations

from dataclasses import dataclass

from fairarm.catalog import load_problem
from fairarm.experiments.live import LivePoint, simulate_live

PROBLEM, ARRIVALS, WINDOW, MOST = "ad-marketplace", 2000.0, "7d", 45_000


@dataclass(frozen=True)
class CostLine:
    """Studies with so many people a cohort, and what happens to their outcomes."""

    what: str
    point: LivePoint

    @property
    def decided(self) -> float:
        """The share of studies with an answer."""
        return 1 - self.point.undecided / self.point.studies


def cost_lines(studies: int, jobs: int = 1) -> list[CostLine]:
    """All of them; 3.5 % lost in unknown cells takes longest."""
    made = [
        _line("500 a day", studies, jobs, people=500, waiting=True),
        _line("125 a day", studies, jobs, people=125),
    ]
    for known in (False, True):
        cells = "cell known" if known else "cell unknown"
        for rate in (0.0, 0.01, 0.02, 0.035):
            what = f"{100 * rate:g} % lost, {cells}"
            made.append(_line(what, studies, jobs, people=150, loss_rate=rate, cell_known=known))
    made.append(_line("cohort 6 of 150 lost", studies, jobs, people=150, outages=(5,)))
    return made


def _line(what: str, studies: int, jobs: int, **how: object) -> CostLine:
    scenario = load_problem(PROBLEM)
    found = simulate_live(
        scenario.problem, scenario.world, arrivals=ARRIVALS, window=WINDOW, pulls=MOST, studies=studies, seed=2, jobs=jobs, **how  # type: ignore[arg-type]
    )  # fmt: skip
    return CostLine(what, found.results[0])
