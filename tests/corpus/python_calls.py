"""Calls in Python with what a programmer passes by mistake."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpus.case import Case, call

ANY = ""


def python_calls() -> Iterator[Case]:
    yield from _problems()
    yield from _rows()
    yield from _runs()
    yield from _logs()


def _coin() -> Any:
    import fairarm

    return fairarm.load_problem("coin")


def _problems() -> Iterator[Case]:
    import fairarm as fa

    def made(**changes: Any) -> Any:
        known: dict[str, Any] = {
            "name": "p",
            "variables": [fa.Variable("S", ("a", "b")), fa.Variable("V", ("u", "v")), fa.Variable("Y", ("0", "1"))],
            "graph": [("S", "V"), ("V", "Y")],
            "sensitive": "S",
            "decision": "V",
            "outcome": fa.Outcome("Y", values=(0, 1)),
            "tolerance": 0.1,
            "arms": [fa.Arm("one", fa.table("V", ["S"], [[0.5, 0.5], [0.5, 0.5]]))],
        }
        return fa.Problem(**{**known, **changes}).name

    yield call("Problem as it is", lambda _: made())
    for name, make in {
        "name None": lambda _: made(name=None),
        "name of 201 characters": lambda _: made(name="x" * 201),
        "description a number": lambda _: made(description=3),
        "tolerance text": lambda _: made(tolerance="0.1"),
        "tolerance a whole number of 400 digits": lambda _: made(tolerance=10**400),
        "tolerance nan": lambda _: made(tolerance=float("nan")),
        "tolerance 1e-320": lambda _: made(tolerance=1e-320),
        "arms none": lambda _: made(arms=[]),
        "arms 10 001": lambda _: made(arms=[fa.Arm(f"n{i}", fa.table("V", [], [0.5, 0.5])) for i in range(10_001)]),
        "budget text": lambda _: made(budget="lots"),
        "shares of three": lambda _: made(shares=(0.2, 0.3, 0.5)),
        "costs nan": lambda _: made(costs=[[float("nan")] * 3]),
        "a variable of 10 001 states": lambda _: fa.Variable("x", tuple(map(str, range(10_001)))),
        "a variable named 3": lambda _: fa.Variable(3, ("a", "b")),  # type: ignore[arg-type]
        "states of numbers": lambda _: fa.Variable("x", (1, 2)),  # type: ignore[arg-type]
        "a range of text": lambda _: fa.Variable("x", low="0", high="1"),  # type: ignore[arg-type]
        "a range to infinity": lambda _: fa.Variable("x", low=0.0, high=float("inf")),
        "a table of nan": lambda _: fa.table("V", [], [float("nan"), 1.0]),
        "a table of text": lambda _: fa.table("V", [], ["a", "b"]),  # type: ignore[list-item]
        "a ragged table": lambda _: fa.table("V", ["S"], [[0.5, 0.5], [1.0]]),
        "an outcome of text": lambda _: fa.Outcome("Y", values=("a", "b")),  # type: ignore[arg-type]
        "an outcome of nothing": lambda _: fa.Outcome("Y", values=()),
    }.items():
        yield call(name, make, ANY)


def _rows() -> Iterator[Case]:
    import fairarm as fa

    good = {"arm": ["even"], "group": ["a"], "side": ["heads"], "result": ["win"]}
    for name, rows in {
        "None": None,
        "a number": 3,
        "text": "arm",
        "an empty list": [],
        "a record by itself": {"arm": "even", "group": "a", "side": "heads", "result": "win"},
        "columns of different lengths": {**good, "side": ["heads", "tails"]},
        "an unknown arm": {**good, "arm": ["nobody"]},
        "an unknown state": {**good, "side": ["edge"]},
        "a state that is None": {**good, "side": [None]},
        "a count of nan": {**good, "count": [float("nan")]},
        "a negative count": {**good, "count": [-1]},
        "a count beyond 64 bits": {**good, "count": [2**70]},
        "records that are not": [1, 2],
    }.items():
        yield call(f"batch: {name}", lambda _, rows=rows: fa.batch(_coin().problem, rows), ANY)


def _runs() -> Iterator[Case]:
    import fairarm as fa

    def run(**options: Any) -> Any:
        coin = _coin()
        return fa.identify(coin.problem, coin.world, **{"pulls": 100, **options}).verdict

    for name, options in {
        "pulls of text": {"pulls": "100"},
        "pulls negative": {"pulls": -1},
        "pulls a fraction": {"pulls": 1.5},
        "pulls nan": {"pulls": float("nan")},
        "pulls None": {"pulls": None},
        "pulls 10^30": {"pulls": 10**30},
        "seed negative": {"seed": -1},
        "seed text": {"seed": "x"},
        "an unknown option": {"colour": "red"},
        "confidence text": {"confidence": "very"},
        "algorithm None": {"algorithm": None},
    }.items():
        yield call(f"identify: {name}", lambda _, options=options: run(**options), ANY)
    yield call("identify: no world", lambda _: fa.identify(_coin().problem, None, pulls=10).verdict, ANY)


def _logs() -> Iterator[Case]:
    import fairarm as fa

    columns = {"group": ["a", "b"] * 30, "side": ["heads", "tails"] * 30, "result": ["win", "lose", "win"] * 20}
    yield call("evaluate: columns", lambda _: len(fa.evaluate(_coin().problem, columns).arms))
    for name, log in {
        "None": None,
        "a number": 3,
        "an empty dictionary": {},
        "columns of different lengths": {**columns, "side": ["heads"]},
        "a column of objects": {**columns, "side": [object()] * 60},
        "bytes": b"log.csv",
        "an empty list": [],
    }.items():
        yield call(f"evaluate: {name}", lambda _, log=log: fa.evaluate(_coin().problem, log), ANY)
    for name, path in {"a number": 3, "None": None, "nothing": "", "a NUL": "a\0b.toml"}.items():
        yield call(f"load_problem: {name}", lambda _, path=path: fa.load_problem(path), ANY)  # type: ignore[arg-type]
    yield call(
        "report: a folder", lambda folder: fa.report(fa.inspect(_coin().problem, _coin().world, pulls=100), folder), ANY
    )
    yield call("write_problem: a folder", lambda folder: fa.write_problem(_coin().problem, Path(folder)), ANY)
