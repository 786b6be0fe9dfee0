"""Saved runs: cut, changed, of another problem, of another version, too large."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from corpus.case import Case, call

KIND = "saved runs"
ANY = ""


@cache
def saved(name: str = "pool") -> str:
    """A run on the coin after its first phase."""
    import numpy as np

    import fairarm

    coin = fairarm.load_problem("coin")
    run = fairarm.algorithm(name, coin.problem, pulls=400, seed=1)
    run.tell(coin.world.pull(run.ask(), np.random.default_rng(1)), id="part-1")  # type: ignore[union-attr]
    return run.to_json()


def saved_runs() -> Iterator[Case]:
    yield _case("as it is", lambda text: text, None)
    yield _case("as it is, csr-v2", lambda _: saved("csr-v2"), None)
    yield _case("with other spaces", lambda text: json.dumps(json.loads(text), indent=3), None)
    for name, change in _texts().items():
        yield _case(name, change, ANY)
    for name, edit in _documents().items():
        yield _case(name, lambda text, edit=edit: _edited(text, edit), ANY)
    for at in range(7, 100, 13):
        yield _case(f"a digit changed, at {at} %", lambda text, at=at: _digit_changed(text, at), ANY)
    yield call("of another problem", lambda _: _resumed(saved(), "ad-marketplace"), ANY, KIND)
    yield call("of the same problem with another tolerance", lambda _: _resumed(saved(), "coin", 0.2), ANY, KIND)
    yield call("bytes", lambda _: _resumed(saved().encode()), ANY, KIND)
    yield call("nothing", lambda _: _resumed(None), ANY, KIND)


def _case(name: str, change: Callable[[str], str], refused: str | None) -> Case:
    def act(_: Path) -> Any:
        return _resumed(change(saved()))

    return call(name, act, refused, KIND)


def _resumed(text: Any, problem: str = "coin", tolerance: float | None = None) -> Any:
    import fairarm

    known = fairarm.load_problem(problem).problem
    known = known if tolerance is None else known.with_tolerance(tolerance)
    run = fairarm.resume(known, text)
    run.verdict()
    return json.loads(run.to_json())


def _texts() -> dict[str, Callable[[str], str]]:
    return {
        "empty": lambda _: "",
        "spaces": lambda _: " \n",
        "cut in the middle": lambda text: text[: len(text) // 2],
        "cut before the last brace": lambda text: text.rstrip()[:-1],
        "two documents": lambda text: text + text,
        "a list": lambda text: f"[{text}]",
        "a number": lambda _: "1",
        "null": lambda _: "null",
        "text": lambda _: '"x"',
        "TOML": lambda _: "schema = 1",
        "lists 100 000 deep": lambda _: "[" * 100_000,
        "a number of 100 000 digits": lambda text: text.replace('"seed": 1', '"seed": ' + "9" * 100_000, 1),
        "NaN": lambda text: text.replace('"seed": 1', '"seed": NaN', 1),
        "a NUL": lambda text: text.replace("pool", "po\0ol", 1),
        "keys twice": lambda text: '{"schema": 1,' + text.lstrip()[1:],
    }


def _documents() -> dict[str, Callable[[dict[str, Any]], object]]:
    return {
        "schema 999": lambda d: d.update(schema=999),
        "schema text": lambda d: d.update(schema="1"),
        "schema missing": lambda d: d.pop("schema"),
        "algorithm unknown": lambda d: d.update(algorithm="nonsense"),
        "algorithm another": lambda d: d.update(algorithm="uniform"),
        "pulls negative": lambda d: d.update(pulls=-1),
        "pulls huge": lambda d: d.update(pulls=10**30),
        "pulls text": lambda d: d.update(pulls="400"),
        "seed negative": lambda d: d.update(seed=-1),
        "options a list": lambda d: d.update(options=[]),
        "options unknown": lambda d: d.update(options={"x": 1}),
        "state missing": lambda d: d.pop("state"),
        "state empty": lambda d: d.update(state={}),
        "an extra key": lambda d: d.update(extra=1),
        "evidence missing": lambda d: d.pop("evidence", d.pop("state")),
    }


def _edited(text: str, edit: Callable[[dict[str, Any]], object]) -> str:
    document = json.loads(text)
    edit(document)
    return json.dumps(document)


def _digit_changed(text: str, percent: int) -> str:
    """The first digit after so much of the text that changes what it says; inside the content, not in a check sum's own text."""
    for at in range(len(text) * percent // 100, len(text)):
        if text[at].isdigit():
            changed = text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]
            try:
                if json.loads(changed) != json.loads(text):
                    return changed
            except ValueError:
                continue
    return text[:-1]
