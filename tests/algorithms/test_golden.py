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
from fairarm.errors import DataError
from fairarm.problem.pulls import batch

GOLDEN = Path(__file__).parent / "golden"
sys.path.insert(0, str(GOLDEN))

from cases import said, world_of  # noqa: E402

FILES = ("chain", "context", "real", "ad-marketplace", "beta-mixtures")
LAST_DIGITS = 1e-9
"""Sums of products are rounded in another order on another processor, and a run carries that on."""


@cache
def kept(file: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(gzip.decompress((GOLDEN / f"{file}.json.gz").read_bytes()))
    return content


RUNS = [
    pytest.param(file, i, id=f"{file}-{run['algorithm']}-{i}")
    for file in FILES
    for i, run in enumerate(kept(file)["runs"])
]


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


@pytest.mark.parametrize(("file", "i"), RUNS)
def test_a_saved_run_of_an_earlier_version_ends_as_it_did_then(file: str, i: int) -> None:
    run, problem = kept(file)["runs"][i], world_of(kept(file)["problem"]).problem
    first = resume(problem, json.dumps(run["saved"]))
    second = resume(problem, first.to_json())  # once through today's format
    now = json.loads(first.to_json())
    for key in ("algorithm", "pulls", "seed", "options", "state", "evidence", "before_phase", "before_stage", "told"):
        assert now[key] == run["saved"][key], key
    assert now.get("log") == run["saved"].get("log")
    same(stand(first), run["then"])
    for part in run["parts"]:
        for again in (first, second):
            again.tell(batch(problem, part["rows"]), id=part["id"])
        same(stand(first), part["then"])
        assert second.to_json() == first.to_json()
    assert first.finished
    same(first.state.to_json(), run["final_state"])
    assert first.pulls_made().tolist() == run["pulls_made"]


def test_every_algorithm_and_both_formats_are_kept() -> None:
    from fairarm.algorithms import DESCRIPTIONS

    runs = [run for file in FILES for run in kept(file)["runs"]]
    assert {run["algorithm"] for run in runs} >= set(DESCRIPTIONS)
    assert {run["saved"]["schema"] for run in runs} == {2, 3}
    assert sum(not run["parts"] for run in runs) >= 11
    assert sum(path.stat().st_size for path in GOLDEN.glob("*.gz")) < 300_000


@pytest.mark.parametrize("name", ["csr-v1", "csr-v2", "two-stage-v2", "sris-v2", "uniform"])
def test_the_first_format_is_refused_in_one_line(name: str) -> None:
    """Schema 1 ended before anything was published, and had no place for beliefs."""
    document = kept("first-format")[name]
    assert document["schema"] == 1
    with pytest.raises(DataError, match="schema 1") as refused:
        resume(world_of("chain").problem, json.dumps(document))
    assert "\n" not in str(refused.value)
