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
from fairarm.algorithms.old_formats import FORMER_NAMES, MONITORS
from fairarm.algorithms.saved import PARTS
from fairarm.errors import DataError
from fairarm.problem.pulls import batch

GOLDEN = Path(__file__).parent / "golden"
sys.path.insert(0, str(GOLDEN))

from cases import said, world_of  # noqa: E402

FILES = ("chain", "context", "real", "ad-marketplace", "beta-mixtures")
LAST_DIGITS = 1e-9
"""Sums of products are rounded in another order on another processor, and a run carries that on."""


FORMATS = ("schemas-2-3", "schema-4", "schema-5", "schema-6", "schema-7", "schema-8")
ADDED = {"schema-7": ("groups",), "schema-8": ("groups",)}
"""Several groups, since runs are saved with rows of fairness."""


@cache
def kept(file: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(gzip.decompress((GOLDEN / f"{file}.json.gz").read_bytes()))
    return content


def goes_on(run: dict[str, Any]) -> bool:
    """Saved before its end up to schema 5, and planned by what was believed: that is estimated otherwise since."""
    return run["algorithm"] in ("pool", "top-two") and run["saved"]["schema"] < 6 and bool(run["parts"])


EVERY = [
    (f"{form}/{file}", i, f"{form}-{file}-{run['algorithm']}-{i}", goes_on(run))
    for form in FORMATS
    for file in (*FILES, *ADDED.get(form, ()))
    for i, run in enumerate(kept(f"{form}/{file}")["runs"])
]
RUNS = [pytest.param(file, i, id=name) for file, i, name, other in EVERY if not other]
OTHER_BELIEFS = [pytest.param(file, i, id=name) for file, i, name, other in EVERY if other]


def parts(document: dict[str, Any]) -> dict[str, Any]:
    """State, memory and info of a document."""
    return {part: document[part] for part in ("state", "memory", "info")}


def bets_on_pairs(run: dict[str, Any]) -> bool:
    """Runs of pool up to schema 5: their memory was another."""
    return run["algorithm"] == "pool" and run["saved"]["schema"] < 6


def without_bets(part: dict[str, Any]) -> dict[str, Any]:
    """Without the memory of such a run, whichever form it has."""
    if "memory" in part:
        return {**part, "memory": {}}
    return {key: value for key, value in part.items() if key not in ("log_gap", "log_pair")}


def looked_at(standing: dict[str, Any] | None, then: dict[str, Any]) -> dict[str, Any] | None:
    """Without how far estimates are from the rows, which is saved since schema 6."""
    recorded = then["info"]["standing"] if "info" in then else then["belief"]
    return standing and {key: value for key, value in standing.items() if key in (recorded or standing)}


def with_one_gap(info: dict[str, Any]) -> dict[str, Any]:
    """What is shown as it was up to schema 6, of a run whose only row is a gap: there were no rows, and the gap had limits."""
    info = {**info}
    assert info["rows"] == [[[gap] for gap in info["gaps"][0][0]]] or set(np.ravel(info["rows"])) == {None}
    del info["rows"]
    if info["standing"] is not None:
        standing = {**info["standing"]}
        holds = standing.pop("row_holds")
        assert holds == [[[fair] for fair in standing["fair"][0]]] or set(np.ravel(holds)) == {None}
        for end in ("low", "high"):
            standing[f"gap_{end}"] = [[limit for (limit,) in standing.pop(f"row_{end}")[0]]]
        info["standing"] = standing
    return info


def as_recorded(now: dict[str, Any], then: dict[str, Any]) -> Any:
    """Today's three parts in the form of those recorded ``then``: up to schema 4 one flat state held them all, up to 7 no monitors."""
    if "memory" in then:
        memory = {key: value for key, value in now["memory"].items() if key in then["memory"] or key not in MONITORS}
        now = {**now, "memory": memory}
    if "rows" not in then.get("info", ()):
        now = {**now, "info": with_one_gap(now["info"])}
    now = {**now, "info": {**now["info"], "standing": looked_at(now["info"]["standing"], then)}}
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
    parted = parts(now)
    if bets_on_pairs(run):
        wealth = saved["memory"]["wealth_gap"] if "memory" in saved else saved["log_gap"]
        assert parted["memory"]["labels"] == wealth
        saved, parted = without_bets(saved), without_bets(parted)
    assert as_recorded(parted, saved) == saved
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
    assert first.finished and first.verdict().notes == ()
    final = run["final"] if "final" in run else run["final_state"]
    done = parts(json.loads(first.to_json()))
    if bets_on_pairs(run):
        final, done = without_bets(final), without_bets(done)
    same(as_recorded(done, final), final)
    assert first.pulls_made().tolist() == run["pulls_made"]


@pytest.mark.parametrize(("file", "i"), OTHER_BELIEFS)
def test_an_unfinished_run_goes_on_with_the_beliefs_of_today_and_says_so(file: str, i: int) -> None:
    """What follows is planned and believed anew; a certified run has accounts at 0 and the labels' wealth that it had."""
    run, world = kept(file)["runs"][i], world_of(kept(file)["problem"])
    first, second = opened(file, i)
    certified = first.procedure.guarantee == "certified"
    codes = ["went-on-with-new-beliefs", *(["accounts-started-anew"] if certified else [])]
    assert [note.code for note in first.verdict().notes] == codes
    if certified:
        books = first.state.memory
        assert not books.beats.any() and not books.broken.any() and not books.refuted.any()
        rows = first._now.before_phase.pulls().sum()
        assert books.n.sum() == books.rows.sum() == rows
    for part in range(100):
        if first.finished:
            break
        rows = world.pull(first.ask(), np.random.default_rng(part))
        for again in (first, second):
            again.tell(rows, id=f"later {part}")
        assert second.to_json() == first.to_json()
    assert first.finished and first.pulls_made().sum() <= run["saved"]["pulls"]
    verdict = first.verdict()
    assert [note.code for note in verdict.notes] == codes
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
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*.gz")) < 1_200_000


@pytest.mark.parametrize("name", ["csr-v1", "csr-v2", "two-stage-v2", "sris-v2", "uniform"])
def test_the_first_format_is_refused_in_one_line(name: str) -> None:
    """Schema 1 ended before anything was published, and had no place for beliefs."""
    document = kept("first-format")[name]
    assert document["schema"] == 1
    with pytest.raises(DataError, match="schema 1") as refused:
        resume(world_of("chain").problem, json.dumps(document))
    assert "\n" not in str(refused.value)
