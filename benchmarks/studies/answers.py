"""What stored studies say, against the truth: ``python -m benchmarks.studies.answers [part ...] --jobs 2`` writes answers.md.

People are simulated (`benchmarks.studies.people`), the clock is moved by hand, the database is an SQLite file. The same module runs on
other versions of the package: ``PYTHONPATH=<other tree>/src:. python -m benchmarks.studies.answers --save FILE`` keeps what they say, and
``--before FILE`` shows it beside the present one.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from joblib import Parallel, delayed

from benchmarks import stopping
from benchmarks.studies.simulated import (
    Case,
    Entered,
    Question,
    Simulated,
    declared_discounts,
    discounts,
    simulated,
    variants,
)
from benchmarks.trees import imported_tree, package_commit
from fairarm.beliefs.beliefs import believe
from fairarm.experiments.start_from_log import read_log
from fairarm.readers.problem_file import read_problem
from fairarm.studies import ArmStanding, StudyVerdict

HERE = Path(__file__).parent
OUT, BEFORE = HERE / "answers.md", HERE / "answers-22a0639.json"
KEPT = HERE.parents[1] / "out" / "studies-answers.json"
RUNS = 50
"""Computed together, on one problem."""

Line = dict[str, Any]
"""Figures of one line of a table, by name; also those of one study."""


# ---- what it says ----


def answer_of(verdict: StudyVerdict) -> tuple[str, str | None]:
    """Status and arm by the certificate; 22a0639 calls the status ``answer``, None while there is none."""
    status = verdict.status if hasattr(verdict, "recommended") else getattr(verdict, "answer", None)
    return str(status or "UNDECIDED"), verdict.arm


def said_by(case: Case, seed: int) -> Line:
    """What one study says, compared with the truth."""
    with simulated(case, seed) as made:
        verdict, arms, question = made.study.verdict(), made.study.arms(), made.question
        alarm = any(each.name == "guard" and each.alarm for each in made.study.monitors())
    status, named = answer_of(verdict)
    right = status == "FOUND" and named == question.best
    unfair = [arm for arm in arms if not question.is_fair(arm.name)]
    return {
        "certified": right,
        "wrong": status != "UNDECIDED" and not right,
        "undecided": status == "UNDECIDED",
        "false labels": any(_is_false(arm, question) for arm in arms),
        "contradicts": any(_contradicts(arm, named) for arm in arms),
        "guard alarms": alarm,
        "people": verdict.people,
        "people with it": sum(arm.people for arm in unfair) / verdict.people,
        "P(unfair arm is fair)": max(arm.fair_probability or 0.0 for arm in unfair),
        "outcomes covered": [_covers(arm.interval, question.truth[arm.name][0]) for arm in arms],
        "gaps covered": [_covers(arm.rows[0].interval, question.truth[arm.name][1]) for arm in arms],
        "shown outcomes": [arm.outcome for arm in arms],
        "warnings": sorted({each.name for each in verdict.findings}),
    }


def _is_false(arm: ArmStanding, question: Question) -> bool:
    """Whether something is proved of an arm that is not so."""
    fair, worse = question.is_fair(arm.name), question.truth[arm.name][0] < question.truth[question.best][0]
    true = {"fair": fair, "unfair": not fair, "worse": worse, "unfair or worse": worse or not fair}
    return arm.proof is not None and not true[arm.proof]


def _contradicts(arm: ArmStanding, named: str | None) -> bool:
    """Whether the posterior gives what is proved of an arm a probability below .01."""
    fair, best = arm.fair_probability, arm.best_probability
    if fair is None or best is None:
        return False
    proved = (arm.proof == "fair" and fair < 0.01) or (arm.proof == "unfair" and fair > 0.99)
    return proved or (arm.name == named and best < 0.01)


def _covers(interval: tuple[float, float] | None, truth: float) -> bool | None:
    """None where none is shown."""
    return None if interval is None else interval[0] <= truth <= interval[1]


def summed(found: Sequence[Line]) -> Line:
    """One line from many studies."""
    counts = ("certified", "wrong", "undecided", "false labels", "contradicts", "guard alarms")
    means = ("people", "people with it", "P(unfair arm is fair)")
    by_arm = np.array([each["shown outcomes"] for each in found], dtype=np.float64)
    warnings = Counter(name for each in found for name in each["warnings"])
    return {
        "studies": len(found),
        **{name: sum(each[name] for each in found) for name in counts},
        **{name: float(np.mean([each[name] for each in found])) for name in means},
        **{name: _mean_of_shown(found, name) for name in ("outcomes covered", "gaps covered")},
        "most people": max(each["people"] for each in found),
        "shown outcomes": ", ".join(f"{mean:.3f}" for mean in np.nanmean(by_arm, axis=0)),
        "warnings": ", ".join(f"{name} {number}" for name, number in sorted(warnings.items())),
    }


def _mean_of_shown(found: Sequence[Line], name: str) -> float:
    return float(np.mean([one for each in found for one in each[name] if one is not None]))


# ---- the export ----


def exported(case: Case, seed: int) -> Line:
    """Whether the export has everybody who counts, as often as the posterior, and gives the same posterior."""
    with simulated(case, seed) as made, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        made.study.export(path)
        log = pyarrow.parquet.read_table(path).to_pylist()
        with made.study._known() as known:
            evidence = known.progress.settled.so_far
        read = read_log(read_problem(Path(f"{path}.toml")), str(path)).evidence()
        verified = made.study.verify().ok
    problem = made.question.problem
    counts = Counter((row["arm"], *(row[name] for name in problem.observed), bool(row.get("filled"))) for row in log)
    expected = Counter(_line(each, made) for each in made.entered if each.fate in ("told", "late", "never"))
    return {
        "exported": counts.total(), "filled": _filled(counts), "people": expected.total(), "not told": _filled(expected),
        "posterior": _rows(evidence), "from export": _rows(read),
        "differ": sum(counts[key] != expected[key] for key in counts | expected),
        "apart": _apart(evidence, read, seed), "verified": verified,
    }  # fmt: skip


def _line(each: Entered, made: Simulated) -> tuple[Any, ...]:
    """Arm, columns and whether the row was filled, as the export must have it: inputs that were never told are empty."""
    problem, filled = made.question.problem, each.fate != "told"
    row: dict[str, str | None] = {**each.row}
    if filled:
        never = () if made.case.known else (*problem.cell_columns,)
        row |= {problem.outcome.node: made.question.options["lost"], **dict.fromkeys(never)}
    return (each.arm, *(row[name] for name in problem.observed), filled)


def _rows(evidence: Any) -> int:
    """Those whose cell is not known too."""
    unplaced = getattr(evidence, "unplaced", None)
    return int(evidence.multiplicities.sum() + (0 if unplaced is None else unplaced.sum()))


def _filled(counts: Counter[tuple[Any, ...]]) -> int:
    return sum(number for key, number in counts.items() if key[-1])


def _apart(first: Any, second: Any, seed: int) -> float:
    """The largest difference between the same draws of the posteriors of two sets of rows."""
    one, other = (believe(rows, False, seed).draw(np.random.default_rng(1), 200) for rows in (first, second))
    return float(max(np.abs(one.outcomes - other.outcomes).max(), np.abs(one.means - other.means).max()))


def exports_summed(found: Sequence[Line]) -> Line:
    """One line from many exports."""
    names = ("exported", "filled", "people", "not told", "posterior", "from export", "differ", "verified")
    line = {name: sum(each[name] for each in found) for name in names}
    return {"studies": len(found), **line, "apart": max(each["apart"] for each in found)}


# ---- pulls of runs that are not live ----


def pulled(setting: str, seed: int) -> Line:
    """Runs until a certificate on one problem of a setting, without a cost budget."""
    found = stopping.instance(setting, False, "certified", seed, RUNS)
    return {"runs": found.runs, "pulls": found.pulls, "wrong": found.wrong, "undecided": found.undecided}


def pulls_summed(found: Sequence[Line]) -> Line:
    """One line from many problems of a setting."""
    line = {name: sum(each[name] for each in found) for name in ("runs", "wrong", "undecided")}
    return {**line, "pulls": float(np.mean([each["pulls"] for each in found]))}


# ---- parts ----

Lines = dict[str, Line]
"""By case."""
Column = tuple[str, Callable[[Line], object]]


@dataclass(frozen=True)
class Part:
    """One table. ``bars``: what must hold, by the lines of this version and of the one before."""

    title: str
    text: str
    cases: dict[str, list[Callable[[], Line]]]
    """What is computed for each line."""
    summed: Callable[[Sequence[Line]], Line]
    columns: tuple[Column, ...]
    bars: Callable[[Lines, Lines], dict[str, bool]]


def of_studies(cases: Sequence[Case], count: int, first: int, run: Callable[[Case, int], Line]) -> dict[str, Any]:
    """``count`` studies of each case, each with a seed of its own."""
    return {
        case.name: [partial(run, case, first + 100 * i + j) for j in range(count)]
        for i, case in enumerate(cases)
        if case.runs_here
    }


def plain(*names: str) -> tuple[Column, ...]:
    """Columns of figures as they are."""
    return tuple((name, itemgetter(name)) for name in names)


def shown(form: str, *names: str) -> tuple[Column, ...]:
    """Columns of figures in this format."""
    return tuple((name, lambda line, name=name: form.format(line[name])) for name in names)


ANSWERS = plain("studies", "certified", "wrong", "undecided") + shown("{:.0f}", "people")
COVERED = shown("{:.2f}", "outcomes covered", "gaps covered")
OF_UNFAIR = shown("{:.2f}", "P(unfair arm is fair)") + shown("{:.0%}", "people with it") + plain("guard alarms")


MUST_BE_REFUSED = "10 %, men who would buy, stated at random"
MEN_WHO_BUY = (("man", "yes"),)
BY_OUTCOME = (("woman", "no"), *MEN_WHO_BUY)
"""Without these, the gap looks smaller."""
KINDS: dict[str, Callable[[float], dict[str, Any]]] = {
    "unserved": lambda share: {"share": share},
    "erased": lambda share: {"share": share, "erased": True},
    "unserved by outcome": lambda share: {"share": share / 0.56, "among": BY_OUTCOME},
}
"""How a share of everybody is missed; .56 of people are among those."""


def unserved() -> Part:
    """Who is not served, or erased: at random, or by the outcome that they would have had."""
    stated = {"unserved": "at random", "at_random_confirmed": True}
    cases = [
        *missed_cases(discounts, *KINDS),
        *(Case(f"{s} % unserved, stated at random", discounts, s / 100, options=stated) for s in (10, 30)),
        Case("10 % by outcome, stated at random", discounts, 0.1 / 0.56, BY_OUTCOME, options=stated),
        Case(MUST_BE_REFUSED, discounts, 0.1 / 0.28, MEN_WHO_BUY, options=stated),
    ]
    return Part(
        "People who are not served, or erased",
        """`lost = "no"`; everybody else's outcome is told within the window. *By outcome*: women who would not have bought and men who would
are not served, which makes the gap look smaller. `unserved = "at random"` is *stated* in the last lines, and is not so in the last two: in
the last one groups differ in how many are unserved, and the statement must be refused. *False labels*: studies that call an arm fair, unfair or worse that is not.
*Contradicts*: studies in which what is proved has a probability below .01.""",
        of_studies(cases, 20, 7000, said_by),
        summed,
        ANSWERS + plain("false labels", "contradicts") + COVERED + OF_UNFAIR + plain("warnings"),
        partial(missed_bars, KINDS),
    )


def declared() -> Part:
    """The same where less is unknown."""
    kinds = ("unserved", "erased")
    return replace(
        unserved(),
        title="The same, with P(basket | sex) declared",
        text="Certificates then need fewer people, and more of them can be missed.",
        cases=of_studies(missed_cases(declared_discounts, *kinds), 20, 9000, said_by),
        bars=partial(missed_bars, kinds),
    )


def missed_cases(question: Callable[[], Question], *kinds: str) -> list[Case]:
    """Nobody, and 2, 10 and 30 % of each kind."""
    cases = [Case(f"{s} % {kind}", question, **KINDS[kind](s / 100)) for kind in kinds for s in (2, 10, 30)]
    return [Case("everybody served", question), *cases]


def missed_bars(kinds: Iterable[str], now: Lines, before: Lines) -> dict[str, bool]:
    """Of the lines of `missed_cases`."""
    served, held = now["everybody served"], {}
    for kind in kinds:
        wrong = served["wrong"] + sum(now[f"{s} % {kind}"]["wrong"] for s in (2, 10, 30))
        held[f"{kind}: at most 1 wrong of 80"] = wrong <= 1
        if "by outcome" not in kind:
            held[f"2 % {kind}: at least 15 of 20 certified"] = now[f"2 % {kind}"]["certified"] >= 15
    least = before.get("everybody served", served)["certified"]
    held["everybody served: as many certified as before"] = served["certified"] >= least
    if MUST_BE_REFUSED in now:
        held["a statement that groups contradict is refused: none certified"] = now[MUST_BE_REFUSED]["undecided"] == 20
    covered = [line["gaps covered"] for name, line in now.items() if "by outcome" not in name and "men" not in name]
    held["gaps covered in every line in which who is missed does not depend on outcomes: at least .93"] = (
        min(covered) >= 0.93
    )
    return held


def only_yes() -> Part:
    """Conversions: nobody tells what did not happen."""
    cases = [
        Case("inputs known at assignment", discounts, only="yes"),
        Case("inputs told with the outcome", discounts, only="yes", known=False),
    ]

    def bars(now: Lines, before: Lines) -> dict[str, bool]:
        return {
            "outcomes covered in every line: at least .93": min(x["outcomes covered"] for x in now.values()) >= 0.93,
            "at most 1 wrong of 40": sum(line["wrong"] for line in now.values()) <= 1,
        }

    text = 'Only "yes" is told, and `lost = "no"`. True outcomes: .450, .490 (unfair), .410.'
    columns = ANSWERS + COVERED + plain("shown outcomes") + OF_UNFAIR
    return Part("Only conversions are told", text, of_studies(cases, 20, 10_000, said_by), summed, columns, bars)


def export() -> Part:
    """Whether an export says what the study believes."""
    cases = [
        Case(f"5 % {kind}", discounts, 0.05, erased=kind == "erased", lost=0.1, late=0.05)
        for kind in ("unserved", "erased")
    ]
    cases += [Case("5 % unserved, inputs told with the outcome", discounts, 0.05, known=False, lost=0.1, late=0.05)]

    def bars(now: Lines, before: Lines) -> dict[str, bool]:
        lines = now.values()
        return {
            "the export has everybody who counts, as often": not any(line["differ"] for line in lines),
            "the export has as many rows as the posterior": all(x["exported"] == x["posterior"] for x in lines),
            "the posterior from the export has as many rows": all(x["from export"] == x["posterior"] for x in lines),
            "the posterior of the export is the same to 1e-9": max(line["apart"] for line in lines) <= 1e-9,
        }

    return Part(
        "Export and posterior",
        """10 % of outcomes are never told, 5 % too late, and 5 % of people are unserved or erased. *Differ*: combinations of arm, group, inputs,
decision, outcome and `filled` that the export has more or less often than the people who were simulated. *Apart*: the largest difference
between draws of the study's posterior and of the posterior of a run that starts from the export (*from export*: its rows).""",
        of_studies(cases, 5, 11_000, exported),
        exports_summed,
        plain("studies", "people", "not told", "exported", "filled", "differ", "posterior", "from export", "verified")
        + shown("{:.1g}", "apart"),
        bars,
    )


def abc() -> Part:
    """Arms that share no cells."""

    def bars(now: Lines, before: Lines) -> dict[str, bool]:
        return {"at least 21 of 22 certify C": now["A/B/C"]["certified"] >= 21}

    return Part(
        "A/B/C tests",
        """One arm for each variant. Conversion by group .10/.09, .18/.08, .13/.12; tolerance .05: C is the best fair arm. Cohorts of 1 000 people
overlap, the window is 2 days, at most 40 000 people enter.""",
        of_studies([Case("A/B/C", variants)], 22, 12_000, said_by),
        summed,
        ANSWERS + shown("{:.0f}", "most people") + plain("false labels") + COVERED,
        bars,
    )


def pulls() -> Part:
    """Runs that are not live."""
    settings, problems = ("ad-marketplace", "coin", "loose", "no-fair-arm"), 40

    def bars(now: Lines, before: Lines) -> dict[str, bool]:
        return {
            "wrong: at most .05": all(line["wrong"] <= 0.05 * line["runs"] for line in now.values()),
            "pulls: at most 3 % more than before": all(
                line["pulls"] <= 1.03 * before.get(name, line)["pulls"] for name, line in now.items()
            ),
        }

    return Part(
        "Pulls to a certificate",
        f"`pool --confidence 0.95` without a cost budget: {RUNS} runs with each of {problems} seeds. Synthetic settings have a problem for each seed.",
        {name: [partial(pulled, name, 13_000 + i) for i in range(problems)] for name in settings},
        pulls_summed,
        plain("runs") + shown("{:.1f}", "pulls") + plain("wrong", "undecided"),
        bars,
    )


PARTS = {"unserved": unserved, "declared": declared, "only-yes": only_yes, "export": export, "abc": abc, "pulls": pulls}


# ---- the page ----

Figures = dict[str, dict[str, Any]]
"""By part: the version of the package and the lines."""


def computed(part: Part, jobs: int) -> Lines:
    """All lines of a part."""
    tasks = [(case, task) for case, tasks in part.cases.items() for task in tasks]
    found: dict[str, list[Line]] = defaultdict(list)
    for (case, _), line in zip(tasks, Parallel(n_jobs=jobs)(delayed(task)() for _, task in tasks), strict=True):
        found[case].append(line)
    return {case: part.summed(lines) for case, lines in found.items()}


def page(now: Figures, before: Figures) -> str:
    """All parts that were computed."""
    text = [
        "# What live studies say, against the truth",
        "",
        "Written by `make studies-answers`, with simulated people in an SQLite file. *Version*: the last commit that changed the package. "
        "What a study is: [docs/live.md](../../docs/live.md).",
    ]
    for name, made in PARTS.items():
        if name in now:
            part = made()
            text += ["", f"## {part.title}", "", part.text, "", *_table(part, now[name], before.get(name, {}))]
    return "\n".join([*text, ""])


def _table(part: Part, now: dict[str, Any], before: dict[str, Any]) -> Iterator[str]:
    heads = ["case", "version", *(name for name, _ in part.columns)]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for case in now["lines"]:
        for figures in (before, now):
            if (line := figures.get("lines", {}).get(case)) is not None:
                cells = [case, figures["version"], *(show(line) for _, show in part.columns)]
                yield f"| {' | '.join(map(str, cells))} |"
    yield ""
    for bar, holds in part.bars(now["lines"], before.get("lines", {})).items():
        yield f"- {'met' if holds else '**missed**'}: {bar}"


def _read(path: Path) -> Figures:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def main() -> None:
    """The parts that are asked for, all if none is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="some of the parts; all if none is named")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", type=Path, help="only keep the figures here, for --before")
    parser.add_argument("--before", type=Path, default=BEFORE, help="figures of another version, shown beside")
    asked = parser.parse_args()
    path = asked.save or KEPT
    version = package_commit(imported_tree())
    for name in asked.parts or PARTS:
        begun, lines = time.time(), computed(PARTS[name](), asked.jobs)
        figures = {**_read(path), name: {"version": version, "lines": lines}}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {(time.time() - begun) / 60:.1f} minutes", flush=True)
    if asked.save is None:
        OUT.write_text(page(_read(KEPT), _read(asked.before)), encoding="utf-8")
        print(OUT)


if __name__ == "__main__":
    main()
