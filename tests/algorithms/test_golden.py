"""Saved runs of earlier versions open, say what they said, and end as they ended then: `golden/make.py`."""

from __future__ import annotations

import gzip
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairarm.algorithms import Algorithm, resume
from fairarm.algorithms.old_formats import FORMER_NAMES
from fairarm.algorithms.saved import PARTS
from fairarm.errors import DataError
from fairarm.problem.pulls import batch

GOLDEN = Path(__file__).parent / "golden"
sys.path.insert(0, str(GOLDEN))

from cases import said, world_of  # noqa: E402

FILES = ("chain", "context", "real", "ad-marketplace", "beta-mixtures")
LAST_DIGITS = 1e-9
"""Sums of products are rounded in another order on another processor, and a run carries that on."""


FORMATS = ("schemas-2-3", "schema-4", "schema-5")


@cache
def kept(file: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(gzip.decompress((GOLDEN / f"{file}.json.gz").read_bytes()))
    return content


def believing(file: str, run: dict[str, Any]) -> bool:
    """Saved before its end, and planned by cell means: the prior of those is another one since, so it goes on otherwise."""
    return run["algorithm"] in ("pool", "top-two") and file != "beta-mixtures" and bool(run["parts"])


EVERY = [
    (f"{form}/{file}", i, f"{form}-{file}-{run['algorithm']}-{i}", believing(file, run))
    for form in FORMATS
    for file in FILES
    for i, run in enumerate(kept(f"{form}/{file}")["runs"])
]
RUNS = [pytest.param(file, i, id=name) for file, i, name, other in EVERY if not other]
OTHER_PRIOR = [pytest.param(file, i, id=name) for file, i, name, other in EVERY if other]


def parts(document: dict[str, Any]) -> dict[str, Any]:
    """State, memory and info of today's document."""
    return {part: document[part] for part in ("state", "memory", "info")}


def as_recorded(now: dict[str, Any], then: dict[str, Any]) -> Any:
    """Today's three parts in the form of those recorded ``then``: up to schema 4 one flat state held them all."""
    if then.keys() == now.keys():
        return now
    memory = {FORMER_NAMES.get(name, name): value for name, value in now["memory"].items()}
    flat = now["state"] | memory | now["info"]
    believed = flat.pop("standing")
    flat["belief"] = believed or then["belief"]
    assert believed or set(then["belief"]["best"][0]) == {None}
    assert flat.keys() <= then.keys()
    return then | flat


def same(now: Any, then: Any, at: str = "") -> None:
    """All that was recorded, to the last digits of numbers; keys that came later are not looked at."""
    if isinstance(then, dict):
        for key, value in then.items():
            same(now[key], value, f"{at}.{key}")
    elif isinstance(then, list):
        assert len(now) == len(then), at
        for i, (a, b) in enumerate(zip(now, then, strict=True)):
            same(a, b, f"{at}[{i}]")
    elif isinstance(then, float):
        assert now is not None, at
        np.testing.assert_allclose(now, then, rtol=LAST_DIGITS, atol=LAST_DIGITS, err_msg=at)
    else:
        assert now == then, at


def stand(run: Algorithm) -> dict[str, Any]:
    plain = {"phase": run.phase, "ask": run.ask().counts.tolist(), "verdict": said(run.verdict())}
    return json.loads(json.dumps(plain))  # type: ignore[no-any-return]


def opened(file: str, i: int) -> tuple[Algorithm, Algorithm]:
    """A run as it was saved, and once through today's format; both stand where it stood."""
    run, problem = kept(file)["runs"][i], world_of(kept(file)["problem"]).problem
    first = resume(problem, json.dumps(run["saved"]))
    now = json.loads(first.to_json())
    for key in ("algorithm", "pulls", "seed", "options", "evidence", "before_phase", "before_stage", "told"):
        assert now[key] == run["saved"][key], key
    saved = parts(run["saved"]) if run["saved"]["schema"] >= 5 else run["saved"]["state"]
    assert as_recorded(parts(now), saved) == saved
    assert now.get("log") == run["saved"].get("log")
    same(stand(first), run["then"])
    return first, resume(problem, first.to_json())


@pytest.mark.parametrize(("file", "i"), RUNS)
def test_a_saved_run_of_an_earlier_version_ends_as_it_did_then(file: str, i: int) -> None:
    run, problem = kept(file)["runs"][i], world_of(kept(file)["problem"]).problem
    first, second = opened(file, i)
    for part in run["parts"]:
        for again in (first, second):
            again.tell(batch(problem, part["rows"]), id=part["id"])
        same(stand(first), part["then"])
        assert second.to_json() == first.to_json()
    assert first.finished
    final = run["final"] if "final" in run else run["final_state"]
    same(as_recorded(parts(json.loads(first.to_json())), final), final)
    assert first.pulls_made().tolist() == run["pulls_made"]


@pytest.mark.parametrize(("file", "i"), OTHER_PRIOR)
def test_an_unfinished_run_goes_on_with_the_beliefs_of_today(file: str, i: int) -> None:
    """Its open phase takes the rows it asked for then; what follows is planned and believed anew, and it ends."""
    run, world = kept(file)["runs"][i], world_of(kept(file)["problem"])
    first, second = opened(file, i)
    phase, rng = first.phase, np.random.default_rng(0)
    for part in run["parts"]:
        if first.phase == phase and not first.finished:
            for again in (first, second):
                again.tell(batch(world.problem, part["rows"]), id=part["id"])
    while not first.finished:
        rows, part = world.pull(first.ask(), rng), f"later {first.phase}"
        for again in (first, second):
            again.tell(rows, id=part)
    assert second.to_json() == first.to_json()
    verdict = first.verdict()
    assert int(first.pulls_made().sum()) <= run["saved"]["pulls"]
    assert all(np.isfinite([arm.fair_probability, arm.best_probability]).all() for arm in verdict.arms)


def test_every_algorithm_is_kept_in_every_format() -> None:
    from fairarm.algorithms import DESCRIPTIONS

    schemas = set()
    for form in FORMATS:
        runs = [run for file in FILES for run in kept(f"{form}/{file}")["runs"]]
        assert {run["algorithm"] for run in runs} >= set(DESCRIPTIONS)
        schemas |= {run["saved"]["schema"] for run in runs}
        assert sum(not run["parts"] for run in runs) >= 11
        assert any(run["saved"]["options"].get("confidence") for run in runs)
        assert len({run["saved"].get("log") is None for run in runs}) == 2
    assert schemas == set(PARTS)
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*.gz")) < 600_000


@pytest.mark.parametrize("name", ["csr-v1", "csr-v2", "two-stage-v2", "sris-v2", "uniform"])
def test_the_first_format_is_refused_in_one_line(name: str) -> None:
    """Schema 1 ended before anything was published, and had no place for beliefs."""
    document = kept("first-format")[name]
    assert document["schema"] == 1
    with pytest.raises(DataError, match="schema 1") as refused:
        resume(world_of("chain").problem, json.dumps(document))
    assert "\n" not in str(refused.value)
