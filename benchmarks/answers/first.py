"""First use: an A/B/C test, a loan book and a raw score, as files, by the command as a user would run it."""

from __future__ import annotations

import io
import json
import sys
import tempfile
import tomllib
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow
import pyarrow.csv

from benchmarks.answers.asking import covered, generator, reasons
from benchmarks.answers.parts import Bars, Line, Lines, Part, Scale, counted, mean, total
from benchmarks.answers.worlds import Truth, logistic
from benchmarks.logs.rows import RowWorld, coded, of_chance, of_each
from benchmarks.logs.tables import States
from fairarm import Arm, FairarmError, LogMap, Unknown, evaluate
from fairarm.cli import main

SEEDS = 20
Columns = dict[str, Any]


def command(*arguments: str | Path) -> tuple[int, str, str]:
    """Exit code, output and errors of ``fairarm``, run in this process: a start of Python for each would take most of the time."""
    out, errors = io.StringIO(), io.StringIO()
    code: Any = 0
    given = ["fairarm", *map(str, arguments)]
    with redirect_stdout(out), redirect_stderr(errors), patch.object(sys, "argv", given):
        try:
            main()
        except SystemExit as end:
            code = end.code
        except Exception:
            traceback.print_exc()
            code = 1
    return int(code or 0), out.getvalue(), errors.getvalue().strip()


def written(columns: Columns, path: Path) -> Path:
    """Blank where there is nothing, as spreadsheets write it."""
    pyarrow.csv.write_csv(pyarrow.table(columns), path, pyarrow.csv.WriteOptions(quoting_style="none"))
    return path


def evaluated(problem: str, columns: Columns, truth: Truth, *options: str) -> Line:
    """The answer of ``fairarm evaluate problem.toml log.csv``."""
    with tempfile.TemporaryDirectory() as folder:
        file, log = Path(folder) / "problem.toml", written(columns, Path(folder) / "log.csv")
        file.write_text(problem, encoding="utf-8")
        return judged_run(command("evaluate", file, log, "--json", *options), truth)


def judged_run(run: tuple[int, str, str], truth: Truth) -> Line:
    """Of exit code, output and errors. A refusal is one line, with exit code 2."""
    code, out, errors = run
    if code == 2 and "Traceback" not in errors:
        return line_of("refused", message=" ".join(errors.split())[:160], long=errors.count("\n") > 4)
    if code != 0:
        return line_of("crashed", message=errors.splitlines()[-1][:160] if errors else f"exit code {code}")
    found = json.loads(out)
    if found["status"] == "UNDECIDED":
        blocks = sorted({w["name"] for w in found["findings"] if w.get("level") == "blocks the answer"})
        blocking = found.get("reason") == "blocking-warning" and blocks
        return line_of("undecided", reason=", ".join(blocks) if blocking else found.get("reason"))
    return line_of("wrong" if truth.is_wrong(found["arm"], found.get("margin", 0.0)) else "right", arm=found["arm"])


def line_of(what: str, **facts: Any) -> Line:
    """One log: right, wrong, undecided, refused or crashed."""
    return {"what": what, **facts}


def withheld(line: Line) -> Line:
    """Of a log that cannot answer: every answer is wrong."""
    return {**line, "what": "wrong"} if line["what"] == "right" else line


# ---- an A/B/C test ----

VARIANTS = ("A", "B", "C")
CONVERTED = np.array([[0.10, 0.18, 0.13], [0.09, 0.08, 0.12]])
"""P(converted | age, variant): B is unfair, C the best fair one."""

AB_TEST = """
[problem]
name = "ab-test"
sensitive = "age"
decision = "variant"
outcome = { node = "converted", values = { no = 0, yes = 1 } }
tolerance = 0.05
deployed = "A"
edges = [["age", "converted"], ["variant", "converted"]]

[problem.states]
age = ["young", "old"]
variant = ["A", "B", "C"]
converted = ["no", "yes"]

[[problem.arms]]
name = "A"
table = [1, 0, 0]

[[problem.arms]]
name = "B"
table = [0, 1, 0]

[[problem.arms]]
name = "C"
table = [0, 0, 1]
"""
NAMED = AB_TEST + '\n[log]\narm = "variant"\n'


def ab_rows(rng: np.random.Generator, rows: int = 12_000, shares: Sequence[float] = (1 / 3, 1 / 3, 1 / 3)) -> Columns:
    age, variant = rng.choice(2, rows), rng.choice(3, rows, p=np.array(shares))
    yes = rng.random(rows) < CONVERTED[age, variant]
    return {
        "age": np.array(["young", "old"])[age],
        "variant": np.array(VARIANTS)[variant],
        "converted": np.where(yes, "yes", "no"),
    }


def ab_truth() -> Truth:
    gaps = (CONVERTED[0] - CONVERTED[1])[:, None]
    return Truth(VARIANTS, CONVERTED.mean(axis=0), np.abs(gaps[:, 0]) < 0.05, gaps)


def blanked(columns: Columns, name: str, gone: Any) -> Columns:
    """Without the values of these rows."""
    values = np.array(columns[name], dtype=object)
    values[gone] = None
    return {**columns, name: values}


def ab_named(rng: np.random.Generator) -> Line:
    return evaluated(NAMED, ab_rows(rng), ab_truth())


def ab_unnamed(rng: np.random.Generator) -> Line:
    """The file does not say which rule made a row: two thirds of the rows cannot be of A."""
    return evaluated(AB_TEST, ab_rows(rng), ab_truth())


def ab_uneven(rng: np.random.Generator) -> Line:
    return evaluated(NAMED, ab_rows(rng, shares=(0.8, 0.1, 0.1)), ab_truth())


def ab_some_blank(rng: np.random.Generator) -> Line:
    columns = ab_rows(rng)
    return evaluated(NAMED, blanked(columns, "converted", rng.random(12_000) < 0.02), ab_truth())


def ab_losses_blank(rng: np.random.Generator) -> Line:
    """Half of those who did not convert with A are blank, so that A looks best."""
    columns = ab_rows(rng)
    gone = (columns["variant"] == "A") & (columns["converted"] == "no") & (rng.random(12_000) < 0.5)
    return evaluated(NAMED, blanked(columns, "converted", gone), ab_truth())


def ab_losses_blank_at_random(rng: np.random.Generator) -> Line:
    """2 % blank, and stated to be at random, which is so."""
    columns = blanked(ab_rows(rng), "converted", rng.random(12_000) < 0.02)
    return evaluated(NAMED, columns, ab_truth(), "--missing", "at-random")


def ab_few_impossible(rng: np.random.Generator, share: float) -> Line:
    """Nearly all rows are of A, as declared; some are of B and C, which A never makes. No answer about those two can be right but C."""
    return evaluated(AB_TEST, ab_rows(rng, shares=(1 - share, share / 2, share / 2)), ab_truth())


def ab_drafted(rng: np.random.Generator) -> Line:
    """``fairarm init`` on the file, then ``evaluate`` with a tolerance."""
    with tempfile.TemporaryDirectory() as folder:
        file, log = Path(folder) / "draft.toml", written(ab_rows(rng), Path(folder) / "log.csv")
        done = command("init", log, "--out", file)
        if done[0] != 0:
            return judged_run(done, ab_truth())
        return judged_run(command("evaluate", file, log, "--tolerance", "0.05", "--json"), ab_truth())


# ---- a loan book ----

INCOMES = np.array([[0.5, 0.3, 0.2], [0.3, 0.35, 0.35]])
REPAID = np.array([[0.60, 0.80, 0.92], [0.58, 0.80, 0.93]])
"""P(repaid | sex, income), if approved."""
LOANS = {
    "deployed": np.array([[0.2, 0.5, 0.85]] * 2), "stricter": np.array([[0.05, 0.3, 0.9]] * 2),
    "careful": np.array([[0.02, 0.9, 0.98]] * 2), "by-sex": np.array([[0.02, 0.3, 0.6], [0.02, 0.95, 0.99]]),
}  # fmt: skip
"""P(approved | sex, income): careful is the best fair rule."""
LOAN_ROWS = 10_000
WORTH = {"denied": 0.0, "default": -2.0, "repaid": 1.0}


def loan_truth() -> Truth:
    """In units of `WORTH`."""
    worth = REPAID * WORTH["repaid"] + (1 - REPAID) * WORTH["default"]
    groups = np.stack([np.sum(INCOMES * rule * worth, axis=1) for rule in LOANS.values()])
    gaps = groups[:, :1] - groups[:, 1:]
    return Truth(tuple(LOANS), groups.mean(axis=1), np.abs(gaps[:, 0]) < 0.21, gaps)


def loan_file(outcome: str, states: str, fitted: bool = False) -> str:
    """A problem file for an outcome column; ``fitted``: the deployed rule is not declared."""
    arms = []
    for name, rule in LOANS.items():
        rows = [[[round(1 - p, 6), p] for p in group] for group in rule.tolist()]
        table = "" if fitted and name == "deployed" else f"table = {rows}\n"
        arms.append(f'[[problem.arms]]\nname = "{name}"\nparents = ["sex", "income"]\n{table}')
    column = outcome.split('"')[1]
    return f"""
[problem]
name = "loans"
sensitive = "sex"
decision = "approved"
outcome = {outcome}
tolerance = 0.21
deployed = "deployed"
edges = [["sex", "income"], ["income", "{column}"], ["sex", "{column}"], ["approved", "{column}"]]

[problem.states]
sex = ["woman", "man"]
income = ["low", "middle", "high"]
approved = ["no", "yes"]
{column} = {states}

{chr(10).join(arms)}"""


def loan_rows(rng: np.random.Generator, rows: int = LOAN_ROWS) -> Columns:
    sex = rng.choice(2, rows)
    income = (rng.random(rows)[:, None] >= np.cumsum(INCOMES[sex], axis=1)[:, :-1]).sum(axis=1)
    approved = rng.random(rows) < LOANS["deployed"][sex, income]
    repaid = rng.random(rows) < REPAID[sex, income]
    return {
        "sex": np.array(["woman", "man"])[sex],
        "income": np.array(["low", "middle", "high"])[income],
        "approved": np.where(approved, "yes", "no"),
        "repaid": np.where(repaid, "yes", "no").astype(object),
        "result": np.where(approved, np.where(repaid, "repaid", "default"), "denied"),
    }


def loans_blank(rng: np.random.Generator, some: float = 0.0, missing: float = 0.0, options: tuple[str, ...] = ()) -> Line:  # fmt: skip
    """`repaid` is blank for denied loans, but for a share ``some``; and for a share ``missing`` of the others."""
    columns = loan_rows(rng)
    denied, u = columns["approved"] == "no", rng.random(LOAN_ROWS)
    columns = blanked(columns, "repaid", np.where(denied, u >= some, u < missing))
    file = loan_file('{ node = "repaid", values = { no = 0, yes = 1 } }', '["no", "yes"]')
    del columns["result"]
    return withheld(evaluated(file, columns, loan_truth(), *options))


def loans_valued(
    rng: np.random.Generator, fitted: bool = False, values: str | None = None, options: tuple[str, ...] = ()
) -> Line:
    """One outcome column with three states."""
    columns = loan_rows(rng)
    del columns["repaid"]
    given = values or ", ".join(f"{name} = {value}" for name, value in WORTH.items())
    states = '["denied", "repaid"]' if values else '["denied", "default", "repaid"]'
    file = loan_file(f'{{ node = "result", values = {{ {given} }} }}', states, fitted)
    line = evaluated(file, columns, loan_truth(), *options)
    return withheld(line) if values else line


def loans_drafted(rng: np.random.Generator, column: str) -> Line:
    """``init`` on the three states leaves no row out: right if each state has a value in the draft, or is left to be filled in."""
    columns = loan_rows(rng)
    columns[column] = columns.pop("result")
    columns = {name: columns[name] for name in ("sex", "income", "approved", column)}
    with tempfile.TemporaryDirectory() as folder:
        file, log = Path(folder) / "draft.toml", written(columns, Path(folder) / "log.csv")
        done = command("init", log, "--outcome", column, "--out", file)
        if done[0] != 0:
            return judged_run(done, loan_truth())
        draft = tomllib.loads(file.read_text(encoding="utf-8"))
    values, dropped = draft["problem"]["outcome"].get("values", {}), draft.get("log", {}).get("drop", {})
    whole = (not values or {*values} == {*WORTH}) and column not in dropped
    return line_of("right" if whole else "wrong", message="" if whole else f"init: {values}, drop {dropped}")


# ---- a raw score ----


def score_world(rng: np.random.Generator, curved: bool) -> RowWorld:
    """A rule that used a real score; ``curved``: most in the middle. Candidates prefer high scores, low ones, or one group."""
    slope, bend = rng.uniform(1.0, 1.6), rng.uniform(0.8, 1.4)
    level = rng.normal(-0.3, 0.2)

    def logging(s: Any, x: Any) -> Any:
        return np.clip(logistic(1.0 - x**2 if curved else slope * x), 0.03, 0.97)

    rules = {
        "deployed": of_chance(logging),
        "high scores": of_chance(lambda s, x: np.clip(logistic(2.5 * x), 0.02, 0.98)),
        "low scores": of_chance(lambda s, x: np.clip(logistic(-1.5 * x), 0.02, 0.98)),
        "coin": of_chance(lambda s, x: 0.5 + 0.0 * x),
        "by group": of_chance(lambda s, x: np.where(s == 1, 0.85, 0.15) + 0.0 * x),
    }
    success = of_each(lambda s, x, v: logistic(level + 0.3 * x + v * bend * x))
    return RowWorld(of_chance(logging), coded(rules), success, States(), 0.15)


HOW: dict[str, dict[str, Any]] = {"logged": {"propensity": "p"}, "asked for": {"fit_propensity": True}}
"""Of the ``[log]``; elsewhere nothing is said."""


def score(rng: np.random.Generator, how: str, curved: bool = False) -> Line:
    """Through a CSV file, and Python for rules that are code. ``how``: propensities logged; the deployed rule not declared, with or without
    ``fit_propensity``; no rule said to be deployed; or the wrong one."""
    world = score_world(rng, curved)
    logged = world.log(4000, rng)
    fair = np.abs(logged.gaps) < world.tolerance
    truth = Truth(tuple(world.arms), logged.outcomes, fair, logged.gaps[:, None])
    columns = {name: np.asarray(value) for name, value in logged.columns.items()}
    problem = logged.problem
    if how in ("asked for", "not declared"):
        arms = [Arm("deployed", Unknown("V", ("S", "X"))), *problem.arms[1:]]
        problem = replace(problem, arms=tuple(arms), deployed="deployed")
    elif how == "declared wrongly":
        problem = replace(problem, deployed="coin")
    if how != "logged":
        del columns["p"]
    columns = {name: value.astype(str) if value.dtype == object else value for name, value in columns.items()}
    with tempfile.TemporaryDirectory() as folder:
        log = written({**columns, "V": columns["V"].astype(int)}, Path(folder) / "log.csv")
        try:
            found: Any = evaluate(problem, log, columns=LogMap(**HOW.get(how, {})))
        except FairarmError as error:
            return line_of("refused", message=str(error)[:160])
        except Exception as error:
            return line_of("crashed", message=f"{type(error).__name__}: {error}"[:160])
    sure = covered(found, truth)
    if str(found.status) == "UNDECIDED":
        return line_of("undecided", reason=reasons(found), **sure)
    wrong = truth.is_wrong(found.arm, getattr(found, "margin", 0.0))
    return line_of("wrong" if wrong else "right", arm=found.arm, **sure)


CASES: dict[str, Callable[[np.random.Generator], Line]] = {
    "A/B/C, log.arm": ab_named,
    "A/B/C, without log.arm": ab_unnamed,
    "A/B/C, 80 : 10 : 10": ab_uneven,
    "A/B/C, 2 % of outcomes blank": ab_some_blank,
    "A/B/C, 2 % blank, stated at random": ab_losses_blank_at_random,
    "A/B/C, half of A's failures blank": ab_losses_blank,
    "A/B/C, .5 % of rows impossible": partial(ab_few_impossible, share=0.005),
    "A/B/C, 5 % of rows impossible": partial(ab_few_impossible, share=0.05),
    "A/B/C, drafted by init": ab_drafted,
    "loans, blank where denied": loans_blank,
    "loans, blank where denied, stated at random": partial(loans_blank, options=("--missing", "at-random")),
    "loans, blank for 99 % of denied": partial(loans_blank, some=0.01),
    "loans, blank where denied and for 3 % of others": partial(loans_blank, missing=0.03),
    "loans, denied / default / repaid": loans_valued,
    "loans, three states, rule fitted": partial(loans_valued, fitted=True),
    "loans, three states, --fit-propensity": partial(loans_valued, fitted=True, options=("--fit-propensity",)),
    "loans, default not among the values": partial(loans_valued, values="denied = 0, repaid = 1"),
    "loans, three states, drafted by init": partial(loans_drafted, column="result"),
    "loans, three states in a column 'repaid', drafted by init": partial(loans_drafted, column="repaid"),
    "raw score, propensities logged": partial(score, how="logged"),
    "raw score, fit_propensity": partial(score, how="asked for"),
    "raw score, fit_propensity, curved rule": partial(score, how="asked for", curved=True),
    "raw score, deployed rule not declared": partial(score, how="not declared"),
    "raw score, no deployed rule": partial(score, how="nothing"),
    "raw score, rule declared wrongly": partial(score, how="declared wrongly"),
}
ANSWERED = (
    "A/B/C, log.arm",
    "A/B/C, 80 : 10 : 10",
    "loans, denied / default / repaid",
    "raw score, propensities logged",
)
"""Logs that are as they should be: most of them end FOUND."""


def tried(case: str, index: int, seed: int) -> Line:
    return CASES[case](generator(seed, case, index))


def summed(lines: Sequence[Line]) -> Line:
    for line in lines:
        line |= {what: line["what"] == what for what in ("right", "wrong", "undecided", "refused", "crashed")}
    return {
        "logs": len(lines),
        **{what: total(lines, what) for what in ("right", "wrong", "undecided", "refused", "crashed")},
        "named": counted(lines, "arm"),
        "reasons": {str(reason): n for reason, n in counted([{"r": x.get("reason", "none")} for x in lines if x["undecided"]], "r").items()},
        "messages": [next(iter(counted(lines, "message")), "")],
        "outcomes covered": mean(lines, "outcomes covered"),
    }  # fmt: skip


def first(scale: Scale) -> Part:
    """Every variant of the three logs."""
    chosen = {name: CASES[name] for name in ("A/B/C, log.arm", "raw score, propensities logged")}
    cases = chosen if scale.small else CASES
    logs = 1 if scale.small else SEEDS
    return Part(
        "First use",
        """Files of CSV and TOML, by `fairarm evaluate problem.toml log.csv --json`; the raw score, whose rules are code, by a CSV file and Python. *Refused*: exit code 2 and a message.
*A/B/C*: 12 000 rows, C is the best fair variant. *Loans*: what a denied applicant would have repaid is unknown, so that only UNDECIDED is right where `repaid` is blank for them; with three states and a
value for each, FOUND is right if the rule is. *Raw score*: 4 000 rows of a rule that used a real number.""",
        {case: [partial(tried, case, i, scale.seed) for i in range(logs)] for case in cases},
        summed,
        bars,
    )


def bars(now: Lines, before: Lines) -> Bars:
    held: Bars = {}
    for case, line in now.items():
        bad = line["wrong"] + line["crashed"] + line["reasons"].get("None", 0) + line["reasons"].get("none", 0)
        held[f"{case}: right, UNDECIDED with a reason, or refused: all but {bad}"] = bad == 0
        if case in ANSWERED:
            held[f"{case}: at least half answered: {line['right']}"] = 2 * line["right"] >= line["logs"]
            held[f"{case}: not refused: {line['refused']}"] = line["refused"] == 0
    return held
