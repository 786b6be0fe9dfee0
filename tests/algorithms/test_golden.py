"""Saved runs open as they were saved, and end as they ended then: `golden/make.py` made them."""

from __future__ import annotations

import gzip
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fairarm.algorithms import DESCRIPTIONS, Algorithm, resume
from fairarm.algorithms.saved import SCHEMA
from fairarm.errors import DataError
from fairarm.problem.pulls import batch
from fairarm.sealed import sealed

GOLDEN = Path(__file__).parent / "golden"
sys.path.insert(0, str(GOLDEN))

from cases import said, world_of  # noqa: E402

FILES = ("chain", "context", "real", "ad-marketplace", "beta-mixtures", "groups")
LAST_DIGITS = 1e-9
"""Sums of products are rounded in another order on another processor, and a run carries that on."""


@cache
def kept(file: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(gzip.decompress((GOLDEN / f"{file}.json.gz").read_bytes()))
    return content


def same(now: Any, then: Any, at: str = "") -> None:
    """All that was recorded, to the last digits of numbers."""
    if isinstance(then, dict):
        for key, value in then.items():
            same(now[key], value, f"{at}.{key}")
    elif isinstance(then, list):
        assert len(now) == len(then), at
        for i, (a, b) in enumerate(zip(now, then, strict=True)):
            same(a, b, f"{at}[{i}]")
    elif isinstance(then, float):
        assert now is not None, at
        assert abs(now - then) <= LAST_DIGITS * (1 + abs(then)), f"{at}: {now}, not {then}"
    else:
        assert now == then, at


def stand(run: Algorithm) -> dict[str, Any]:
    plain = {"phase": run.phase, "ask": run.ask().counts.tolist(), "verdict": said(run.verdict())}
    return json.loads(json.dumps(plain))  # type: ignore[no-any-return]


@pytest.mark.parametrize("file", FILES)
def test_a_saved_run_opens_as_it_was_and_ends_as_it_did_then(file: str) -> None:
    problem = world_of(kept(file)["problem"]).problem
    for i, run in enumerate(kept(file)["runs"]):
        at, document = f"run {i}, {run['algorithm']}", json.dumps(run["saved"])
        again = resume(problem, document)
        assert json.loads(again.to_json()) == run["saved"], at
        same(stand(again), run["then"], at)
        for part in run["parts"]:
            again.tell(batch(problem, part["rows"]), id=part["id"])
            same(stand(again), part["then"], at)
        assert again.finished, at
        same(json.loads(again.to_json()), run["final"], at)
        assert again.pulls_made().tolist() == run["pulls_made"], at


def test_every_algorithm_is_kept_in_the_format_of_today() -> None:
    runs = [run for file in FILES for run in kept(file)["runs"]]
    assert {run["algorithm"] for run in runs} >= set(DESCRIPTIONS)
    assert {run["saved"]["schema"] for run in runs} == {SCHEMA}
    assert any(run["saved"]["options"].get("confidence") for run in runs)
    assert len({run["saved"]["log"] is None for run in runs}) == 2


@pytest.mark.parametrize("sealing", [json.dumps, sealed], ids=["without a check sum", "with one"])
@pytest.mark.parametrize("schema", [2, SCHEMA - 1, SCHEMA + 1, 8.0, "8", None, True])
def test_a_run_of_another_version_is_refused_in_one_line(schema: Any, sealing: Any) -> None:
    """Also one from before documents had a check sum: it is not called damaged."""
    document = {**kept("chain")["runs"][0]["saved"], "schema": schema}
    del document["checksum"]
    with pytest.raises(
        DataError, match=f"has schema {schema!r}; this version of fairarm reads only schema {SCHEMA}"
    ) as no:
        resume(world_of("chain").problem, sealing(document))
    assert "Open it with the version that wrote it" in str(no.value) and "\n" not in str(no.value)
