"""Every transaction of a study: what is prepared for it, the one call, and what must hold after it was killed half-way.

`ACTS` run in a process that may be killed; `CHECKS` run afterwards, in another, and know whether the call was acknowledged.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.studies.fork_server import Journal, kill_at, kill_seen, kill_syncs
from benchmarks.studies.places import DAY, SharedClock
from fairarm.catalog import load_problem
from fairarm.studies import Conflict, Outcome, Studies, Study, StudyState

START = 1_800_000_000_000_000
"""A time in 2027, in microseconds."""
NAME = "coins"
OPTIONS: dict[str, Any] = {
    "pulls": 4000, "people": 40, "arrivals": 40.0, "window": "1d", "cohort": "1d", "seed": 5, "actor": "test",
}  # fmt: skip
BEFORE_CLOSE, AFTER_CLOSE, MATURED = START + DAY // 2, START + DAY + 5_000_000, START + 2 * DAY + 90_000_000
"""Of the first cohort; the next one opens in time, else it would be waited for the one after it."""


def open_studies(url: str, clock: str | Path | SharedClock) -> Studies:
    """With a time that all processes share."""
    return Studies(url, clock=clock if isinstance(clock, SharedClock) else SharedClock(Path(clock)))


def prepare(url: str, clock: SharedClock) -> None:
    """A study in its first cohort: 20 people, 10 of them told. It is ticked, as a service does: a process that starts compares its clock
    with the last tick."""
    clock.set(START)
    with open_studies(url, clock) as studies:
        study = studies.create(NAME, load_problem("coin").problem, **OPTIONS)
        ids = [assigned(study, number) for number in range(20)]
        clock.set(BEFORE_CLOSE)
        for number, made in enumerate(ids[:10]):
            study.tell(made, row_of(number))
        studies.tokens.make("caller", label="old")
        studies.tick()


def prepare_second(url: str, clock: SharedClock) -> None:
    """Then a second cohort, with the first one out."""
    clock.set(AFTER_CLOSE)
    with open_studies(url, clock) as studies:
        studies.tick()
        study = studies.open(NAME)
        for number in range(100, 110):
            study.tell(assigned(study, number), row_of(number))
        clock.set(AFTER_CLOSE + DAY // 2)
        studies.tick()


def assigned(study: Study, number: int) -> str:
    """The id of a person that enters."""
    made = study.assign(f"u-{number}", group="ab"[number % 2], known={})
    assert made.id is not None, made
    return made.id


def row_of(number: int) -> dict[str, str]:
    """What came of a person; the side of the coin is drawn at assignment, since nothing but the group has to be known."""
    return {"result": ("lose", "win")[number // 2 % 2]}


def other_row(number: int) -> dict[str, str]:
    """Another outcome."""
    return {"result": ("win", "lose")[number // 2 % 2]}


# ---- in the process that may be killed ----

Said = dict[str, Any]


def _assign(studies: Studies, study: Study) -> Said:
    made = study.assign("newcomer", group="a", known={})
    return {"id": made.id, "arm": made.arm, "outside": made.outside}


def _tell(studies: Studies, study: Study) -> Said:
    return {"status": study.tell(assigned(study, 15), row_of(15)).status}


def _tell_many(studies: Studies, study: Study) -> Said:
    told = study.tell_many([Outcome(assigned(study, n), row_of(n)) for n in range(10, 15)])
    return {"status": [getattr(each, "status", str(each)) for each in told]}


def _unserved(studies: Studies, study: Study) -> Said:
    return {"status": study.unserved(assigned(study, 16)).status}


def _tick(studies: Studies, study: Study) -> Said:
    return {"done": list(studies.tick())}


def _correct(studies: Studies, study: Study) -> Said:
    return {"counts": study.correct(assigned(study, 3), other_row(3), "a mistake", "test")}


def _forget(studies: Studies, study: Study) -> Said:
    return {"there": study.forget("u-17", "test")}


def _pause(studies: Studies, study: Study) -> Said:
    study.pause("look", "test")
    return {}


def _cut(studies: Studies, study: Study) -> Said:
    study.close("enough", "test", now=True)
    return {}


def _drop(studies: Studies, study: Study) -> Said:
    study.drop(0, "outage", "test")
    return {}


def _token(studies: Studies, study: Study) -> Said:
    return {"token": studies.tokens.make("viewer", label="new")}


def _revoke(studies: Studies, study: Study) -> Said:
    return {"revoked": studies.tokens.revoke("old")}


def _restored(studies: Studies, study: Study) -> Said:
    return {"cut": list(studies.restored("disk", "test"))}


ACTS: dict[str, tuple[Callable[[Studies, Study], Said], int]] = {
    "assign": (_assign, BEFORE_CLOSE), "tell": (_tell, BEFORE_CLOSE), "tell_many": (_tell_many, BEFORE_CLOSE),
    "unserved": (_unserved, BEFORE_CLOSE), "correct": (_correct, BEFORE_CLOSE), "forget": (_forget, BEFORE_CLOSE),
    "pause": (_pause, BEFORE_CLOSE), "cut": (_cut, BEFORE_CLOSE), "drop": (_drop, BEFORE_CLOSE),
    "token": (_token, BEFORE_CLOSE), "revoke": (_revoke, BEFORE_CLOSE), "restored": (_restored, BEFORE_CLOSE),
    "open": (_tick, AFTER_CLOSE), "settle": (_tick, MATURED),
}  # fmt: skip
"""The call, and the time at which it is made. Only "settle" needs `prepare_second`."""
NEW = ("schema", "create")
"""Those that begin with an empty database."""
TRANSACTIONS = (*NEW, *ACTS)


def transaction(journal: Journal, url: str, clock: str, name: str, n: int, how: int) -> None:
    """One of them, in a process that ends at the n-th write; acknowledged in the journal where it was."""
    if name == "schema":
        kill_at(n, how)
        open_studies(url, clock)
        said: Said = {}
    elif name == "create":
        studies = open_studies(url, clock)
        kill_at(n, how)
        studies.create(NAME, load_problem("coin").problem, **OPTIONS)
        said = {}
    else:
        studies = open_studies(url, clock)
        study = studies.open(NAME)
        kill_at(n, how)
        said = ACTS[name][0](studies, study)
    seen, syncs = kill_seen(), kill_syncs()
    kill_at(0)
    journal.ack(seen=seen, syncs=syncs, **said)
    os._exit(0)  # as abruptly as a kill


# ---- afterwards ----


def check(studies: Studies, name: str, said: Said | None, reference: Said) -> None:
    """The call was acknowledged (``said``) or not (None); then it is made again, and all must be as had it been made once."""
    if name in NEW:
        _check_new(studies, said if name == "create" else None)
        return
    study = studies.open(NAME)
    assert study.verify().ok, study.verify().problems
    CHECKS[name](studies, study, said, reference)
    after = study.verify()
    assert after.ok, after.problems


def _check_new(studies: Studies, said: Said | None) -> None:
    assert said is None or studies.names() == (NAME,)
    if NAME not in studies.names():
        studies.create(NAME, load_problem("coin").problem, **OPTIONS)
    studies.tick()
    study = studies.open(NAME)
    assert not study.assign("first", group="b", known={}).outside
    assert [event.kind for event in study.events()].count("created") == 1
    assert len(study.cohorts()) == 1
    assert study.verify().ok, study.verify().problems


def _again_assign(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    again = study.assign("newcomer", group="a", known={})
    assert not again.outside
    if said is not None:
        assert (again.id, again.arm, again.repeated) == (said["id"], said["arm"], True)
    assert study.assign("newcomer", group="a", known={}).id == again.id
    assert study.verify().assignments == 21


def _again_tell(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    told_before = study.cohorts()[0].told
    assert told_before in ((11,) if said else (10, 11))
    status = study.tell(assigned(study, 15), row_of(15)).status
    assert status == ("new" if told_before == 10 else "repeated")
    _refuses(study, 15)
    assert study.cohorts()[0].told == 11


def _again_tell_many(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    before = study.cohorts()[0].told
    assert before == 15 if said else 10 <= before <= 15
    again = [study.tell(assigned(study, n), row_of(n)).status for n in range(10, 15)]
    assert again.count("new") == 15 - before
    assert study.cohorts()[0].told == 15


def _refuses(study: Study, number: int) -> None:
    try:
        study.tell(assigned(study, number), other_row(number))
    except Conflict:
        return
    raise AssertionError("another outcome was accepted")


def _again_unserved(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    before = study.cohorts()[0].unserved
    assert before in ((1,) if said else (0, 1))
    given = study.why(unit="u-16").assignment  # type: ignore[union-attr]
    assert given is not None
    assert given.id is not None
    assert study.unserved(given.id).status == ("new" if before == 0 else "repeated")
    assert study.cohorts()[0].unserved == 1
    assert study.assign("u-16", group="a", known={}).outside


def _again_tick(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    studies.tick()
    assert state_of(study) == reference
    assert studies.tick() == ()


def state_of(study: Study) -> Said:
    """What a tick decides, without when it was."""
    cohorts = [
        (
            each.number,
            each.state,
            each.plan,
            each.share,
            each.cards,
            each.dealt,
            each.told,
            each.lost,
            each.counted,
            each.cut,
        )
        for each in study.cohorts()
    ]
    verdict = study.verdict()
    arms = [(arm.name, arm.outcome, arm.fair_probability, arm.people) for arm in study.arms()]
    kinds = sorted(event.kind for event in study.events())
    return {"cohorts": cohorts, "answer": (verdict.status, verdict.counted, verdict.lost), "arms": arms, "kinds": kinds}


def _again_correct(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    corrections = study.why(unit="u-3").corrections  # type: ignore[union-attr]
    assert corrections in ((1,) if said else (0, 1))
    study.correct(assigned(study, 3), other_row(3), "a mistake", "test")


def _again_forget(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    if said:
        assert study.why(unit="u-17").unit_known is False  # type: ignore[union-attr]
    study.forget("u-17", "test")
    assert study.forget("u-17", "test") is False
    assert study.verify().erased == 1


def _once(study: Study, kind: str, said: Said | None) -> int:
    """How often it is among the events: once where it was acknowledged, else at most once."""
    found = [event.kind for event in study.events()].count(kind)
    assert found in ((1,) if said is not None else (0, 1)), [event.kind for event in study.events()]
    return found


def _again_pause(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    paused = _once(study, "paused", said)
    assert study.state == (StudyState.PAUSED if paused else StudyState.RUNNING)
    if not paused:
        study.pause("look", "test")
    study.resume("go on", "test")
    assert study.state == StudyState.RUNNING


def _again_cut(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    if not _once(study, "closing", said):
        study.close("enough", "test", now=True)
    assert study.cohorts()[0].cut
    assert study.assign("too late", group="a", known={}).outside


def _again_drop(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    if not _once(study, "dropped", said):
        study.drop(0, "outage", "test")
    assert study.verdict().dropped == (0,)


def _again_token(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    assert [token.label for token in studies.tokens.all()].count("new") in ((1,) if said else (0, 1))
    if said:
        assert studies.tokens.of(said["token"]) is not None


def _again_revoke(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    old = next(token for token in studies.tokens.all() if token.label == "old")
    assert said is None or old.revoked is not None
    if old.revoked is None:
        assert studies.tokens.revoke("old") == 1


def _again_restored(studies: Studies, study: Study, said: Said | None, reference: Said) -> None:
    if not _once(study, "restored", said):
        studies.restored("disk", "test")
    assert study.cohorts()[0].cut


CHECKS: dict[str, Callable[[Studies, Study, Said | None, Said], None]] = {
    "assign": _again_assign, "tell": _again_tell, "tell_many": _again_tell_many, "unserved": _again_unserved,
    "correct": _again_correct, "forget": _again_forget, "pause": _again_pause, "cut": _again_cut, "drop": _again_drop,
    "token": _again_token, "revoke": _again_revoke, "restored": _again_restored, "open": _again_tick, "settle": _again_tick,
}  # fmt: skip
