"""How often intervals from logs hold: ``python -m benchmarks.logs.calibration`` writes calibration.md.

Each log comes from a world drawn anew. What is found goes to results-COMMIT.csv, one part per kind as soon as it is done,
where COMMIT is the last one that changed the package: kinds that are there with as many logs are not run again. The page is
made of that file and, with ``--before``, of an earlier one beside it. With ``--table`` nothing is run. To run another version of
the package, put its src folder first: ``PYTHONPATH=there/src:. python -m benchmarks.logs.calibration``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path

from joblib import Parallel, delayed
from scipy.stats import binom

from benchmarks.logs.judge import ALL, ROUNDING, Fact, Tally, judge, read_tallies, write_tallies
from benchmarks.logs.worlds import KINDS
from benchmarks.trees import imported_tree, package_commit

HERE = Path(__file__).parent
LOGS, MORE_LOGS, QUICK_LOGS = 200, 600, 10
"""Of each kind; where so many miss a bar as chance would have it; and to try. Among 38 kinds that hold in 0.95, several would."""
MOST_LOGS = {"loans in money, 144 cells, 290 000 rows": 100, "loans in money, skewed, 290 000 rows": 100}
"""Of kinds that take long."""

EACH_ARM, ON_AVERAGE, NEAR_PLAIN = 0.88, 0.93, 0.99
"""The bars: of every arm, of all arms together, and of the logging arm beside its plain rows."""
BARS = (ON_AVERAGE, EACH_ARM) * 2
"""Of outcomes and of gaps."""
SLACK, CHANCE = 0.03, 0.025
"""A probability is overstated if so few were true with at most the second's chance, had it been stated lower by the first."""

Tallies = dict[str, Tally]


def run(kinds: Sequence[str], logs: int, seed: int, jobs: int, path: Path) -> Tallies:
    """The tallies of all kinds in the file, after those that were missing have been run."""
    done = read_tallies(path)
    for kind in kinds:
        wanted = min(logs, MOST_LOGS.get(kind, logs))
        tally = done.get(kind, Tally())
        if tally.logs not in (wanted, MORE_LOGS):
            tally = _judged(kind, range(wanted), seed, jobs, Tally())
        if tally.logs == LOGS and just_missed(tally):
            tally = _judged(kind, range(LOGS, MORE_LOGS), seed, jobs, tally)
        if done.get(kind) is not tally:
            done[kind] = tally
            write_tallies({name: done[name] for name in KINDS if name in done}, path)
            print(kind, tally.logs, *(f"{value:.3f}" for value in held(tally)), sep="  ", flush=True)
    return done


def _judged(kind: str, logs: range, seed: int, jobs: int, before: Tally) -> Tally:
    """A tally with these logs added to those of ``before``."""
    judged: list[list[Fact]] = Parallel(n_jobs=jobs)(delayed(judge)(kind, i, seed) for i in logs)
    made = Tally(before.logs)
    made.sums.update(before.sums)
    for facts in judged:
        made.add(facts)
    return made


def just_missed(tally: Tally) -> bool:
    """Whether a share of intervals that hold is below its bar, and none by more than two standard errors: as chance would have it."""
    errors = (math.sqrt(bar * (1 - bar) / tally.logs) for bar in BARS)
    short = [(bar - share) / error for share, bar, error in zip(held(tally), BARS, errors, strict=True)]
    return ROUNDING < max(short) <= 2.0


def held(tally: Tally) -> tuple[float, float, float, float]:
    """Shares of intervals that hold: outcomes on average and of the worst arm, gaps likewise."""
    outcome, gap = (list(tally.by_arm(f"{what} held").values()) for what in ("outcome", "gap"))
    return sum(outcome) / len(outcome), min(outcome), sum(gap) / len(gap), min(gap)


def missed(tally: Tally) -> list[str]:
    """The bars that a kind does not reach, in words."""
    names = ("outcomes", "an arm's outcome", "gaps", "an arm's gap")
    shares = list(zip(names, held(tally), BARS, strict=True))
    for measure, name in (("plain outcome near", "outcome near Σ p ȳ"), ("plain gap held", "gap of Σ p ȳ held")):
        if (value := tally.usual_mean(measure)) is not None:
            shares.append((name, value, NEAR_PLAIN))
    return [*(f"{name} {value:.3f}" for name, value, bar in shares if value < bar - ROUNDING), *overstated(tally)]


def overstated(tally: Tally) -> list[str]:
    """Probabilities that are too high beyond `SLACK` and chance, by the exact binomial tail: a share of 2 has no standard error.

    The number that comes true of events with different probabilities varies less than a binomial one with their mean.
    """
    found = []
    for measure, name in (("fair", "P(fair)"), ("answer", "P(answer)"), ("sure answer", "P(answer) ≥ 0.8")):
        said, true = tally.mean(f"{measure} said"), tally.mean(f"{measure} true")
        if said is not None and true is not None:
            right, of = tally.sums[ALL, f"{measure} true"]
            if binom.cdf(right, of, max(said - SLACK, 0.0)) < CHANCE:
                found.append(f"{name} {said:.3f} said, {true:.3f} true, of {of}")
    return found


# ---- the page ----


def _number(value: float | None, form: str = ".3f") -> str:
    return "–" if value is None else f"{value:{form}}"


def _pair(tally: Tally, first: str, second: str, form: str = ".3f") -> str:
    return f"{_number(tally.mean(first), form)} / {_number(tally.mean(second), form)}"


def _stated(tally: Tally, measure: str) -> str:
    """The mean of what was stated, the share that was so, and of how many."""
    _, of = tally.sums.get((ALL, f"{measure} said"), (0.0, 0))
    return f"{_pair(tally, f'{measure} said', f'{measure} true')} of {of}" if of else "–"


def _widths(tally: Tally) -> str:
    return " / ".join(_number(_average(tally, what), ".3g") for what in ("outcome width", "gap width"))


def _average(tally: Tally, measure: str) -> float:
    each = tally.by_arm(measure).values()
    return sum(each) / len(each)


def usual_cells(tally: Tally) -> list[str]:
    """One kind's cells of the first table."""
    return [
        *(_number(value) for value in held(tally)),
        _widths(tally),
        _stated(tally, "fair"),
        _stated(tally, "answer"),
        _stated(tally, "sure answer"),
        f"{tally.share('finding model-disagrees'):.3f}",
        " / ".join(
            _number(tally.usual_mean(name)) for name in ("rows outcome near", "plain outcome near", "plain gap held")
        ),
    ]


def certified_cells(tally: Tally) -> list[str]:
    """One kind's cells of the second table."""
    wrong = tally.sums.get(("", "certified wrong"), (0.0, 0))
    others = "; ".join(f"{name} {share:.3f}" for name, share in tally.findings().items())
    return [
        _number(tally.mean("certified held")),
        _pair(tally, "certified outcome width", "certified gap width", ".3g"),
        f"{wrong[1]} decided, {wrong[0]:.0f} wrong",
        others or "–",
    ]


def beside(cells: Callable[[Tally], list[str]], now: Tally, before: Tally | None) -> list[str]:
    """Each cell with that of the commit before."""
    if before is None:
        return cells(now)
    return [new if new == old else f"{old} → **{new}**" for new, old in zip(cells(now), cells(before), strict=True)]


USUAL = (
    "logs", "number", "outcome held, on average", "worst arm", "gap held, on average", "worst arm", "mean widths, outcome / gap",
    "P(fair) ≥ 0.8: said / true", "answer: said / true", "answer ≥ 0.8: said / true", "model-disagrees",
    "plain: rows' mean near / Σ p ȳ near / gap held",
)  # fmt: skip
CERTIFIED = ("logs", "certified, all at once", "mean widths, outcome / gap", "certified answers", "findings")


def table(heads: Sequence[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *rows)]


def misses(tallies: Tallies) -> list[str]:
    """A line per kind that misses a bar, or one that says there is none."""
    found = [f"- {kind}: {', '.join(missed(tally))}" for kind, tally in tallies.items() if missed(tally)]
    return found or ["No kind misses a bar."]


HEAD = """# Do intervals from logs hold?

Made by `python -m benchmarks.logs.calibration{option}` (worlds drawn anew for each log, seed {seed}; `benchmarks/logs/worlds.py`
says what they are). Package as of commit {commit}{beside}. 95 % intervals.

Usual intervals are counted arm by arm. Bars: every arm's outcome and gap held in at least {each} of its logs, and in {average} on average.
Where one of these shares of {logs} logs is below its bar and none is by more than two standard errors, {more} logs are judged.
*Said / true*: the mean of the stated probabilities, and the share in which it was so: of P(fair) of 0.8 and more, over arms; of the
answer that `evaluate` gives, over the logs in which it gives one (elsewhere it is UNDECIDED), *of* how many. A miss where no more would be
true with a chance of {chance} at most, had {slack} less been said (exact binomial tail). *model-disagrees*: the share of
logs with that finding. *Plain*: the share of logs in which the logging arm's outcome is within one standard error of its rows' mean,
and of Σ p ȳ (the cells' means, with the laws as declared), and in which the interval of its gap holds that of Σ p ȳ; bar {plain} of the last
two, where S is among the causes of Y, so that no row is shared between groups, and rows speak for nearly all cells.

Where rows leave gaps open by more than the tolerance (rare clicks, noisy money with few rows), P(fair) is too low: intervals that hold for
every arm take no gap for unlikely before the rows, and in these worlds most gaps are small. So "no fair arm", and an arm whose rivals'
gaps are open, are said with too high a probability; the probabilities of single arms being fair err on the careful side.
"""


def page(now: Tallies, before: Tallies | None, commit: str, earlier: str | None, seed: int) -> str:
    """Kinds in the order of `KINDS`; the commit before, where there is one, on the left of each arrow."""
    kinds = [kind for kind in KINDS if kind in now]
    old = before or {}
    option = f" --before {earlier}" if earlier else ""
    text = f", with {earlier} on the left of each arrow" if earlier else ""
    head = HEAD.format(
        option=option,
        seed=seed,
        commit=commit,
        beside=text,
        logs=LOGS,
        more=MORE_LOGS,
        each=EACH_ARM,
        average=ON_AVERAGE,
        plain=NEAR_PLAIN,
        slack=SLACK,
        chance=CHANCE,
    )
    rows, proofs = [], []
    for kind in kinds:
        then = old.get(kind)
        number = beside(lambda tally: [str(tally.logs)], now[kind], then)
        rows.append([kind, *number, *beside(usual_cells, now[kind], then)])
        proofs.append([kind, *beside(certified_cells, now[kind], then)])
    lines = [head, "## Usual intervals", "", *table(USUAL, rows), "", f"### Kinds that miss a bar, {commit}", ""]
    lines += misses({kind: now[kind] for kind in kinds})
    if before is not None:
        lines += ["", f"### Kinds that miss a bar, {earlier}", "", *misses({k: old[k] for k in kinds if k in old})]
    lines += ["", "## Certified intervals and what was noticed", ""]
    lines += ["Certified intervals hold for a log only if all of them do at once, outcomes and gaps of every arm.", ""]
    return "\n".join([*lines, *table(CERTIFIED, proofs), ""])


def results_of(commit: str) -> Path:
    """The file of a commit's results."""
    return HERE / f"results-{commit}.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", help="parts of their names, with semicolons between; all by default")
    parser.add_argument("--logs", type=int)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_LOGS} logs per kind, into --out alone")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--before", help="a commit with results of its own")
    parser.add_argument("--table", action="store_true", help="make the page of what is there")
    parser.add_argument("--out", type=Path, default=HERE)
    asked = parser.parse_args()
    commit = package_commit(imported_tree())
    kinds = [k for k in KINDS if asked.kinds is None or any(part.strip() in k for part in asked.kinds.split(";"))]
    path = asked.out / results_of(commit).name
    logs = asked.logs or (QUICK_LOGS if asked.quick else LOGS)
    found = read_tallies(path) if asked.table else run(kinds, logs, asked.seed, asked.jobs, path)
    before = read_tallies(results_of(asked.before)) if asked.before else None
    text = page(found, before, commit, asked.before, asked.seed)
    (asked.out / "calibration.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
