"""What settled cohorts have left, as it is stored: every number comes back bit for bit."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from fairarm.algorithms.info import Info
from fairarm.algorithms.live import LiveRule, Settled
from fairarm.algorithms.records import plain, restored
from fairarm.beliefs.evidence import CellEvidence
from fairarm.core.entry import PARTS
from fairarm.core.types import BoolArray, FloatArray, IntArray
from fairarm.errors import DataError
from fairarm.sealed import damaged, opened, sealed
from fairarm.studies import schema
from fairarm.studies.errors import Conflict

FORMAT = 1
WHAT = "state of a settled cohort"
MOST_BYTES = 500_000_000


@dataclass(frozen=True, eq=False)
class Progress:
    """After some settled cohorts of one study."""

    settled: Settled
    info: Info
    coverage: FloatArray
    """For how long there were cards in each part of the cycle, over settled cohorts, (PARTS,), in days."""

    @classmethod
    def start(cls, rule: LiveRule) -> Progress:
        """Before the first."""
        return cls(rule.start(1), Info.before(rule.pool.problem, 1), np.zeros(PARTS))


@dataclass(frozen=True, eq=False)
class _Rest:
    """The arrays of `Progress` that are no records of their own."""

    fair: FloatArray
    proof: IntArray
    void: BoolArray
    contradicted: BoolArray
    coverage: FloatArray


def stored_progress(progress: Progress) -> bytes:
    """A document with a check sum, compressed."""
    now = progress.settled
    rest = _Rest(now.fair, now.proof, now.void, now.contradicted, progress.coverage)
    text = sealed(
        {
            "format": FORMAT, "state": now.state.to_json(), "memory": plain(now.state.memory), "so_far": now.so_far.to_json(),
            "watched": plain(now.watched), "rest": plain(rest), "info": progress.info.to_json(),
        }
    )  # fmt: skip
    return zlib.compress(text.encode("ascii"), 6)


def restored_progress(stored: bytes, rule: LiveRule) -> Progress:
    """As `stored_progress` wrote it; a `Conflict` where it is damaged."""
    try:
        unpacked = zlib.decompressobj()
        text = unpacked.decompress(stored, MOST_BYTES)
        document = opened(text, WHAT, format=FORMAT)
        if unpacked.unconsumed_tail:
            raise damaged(WHAT, "it is too long")
        return _restored(document, rule)
    except (zlib.error, DataError, TypeError, ValueError, KeyError) as error:
        raise Conflict(f"What is stored of a settled cohort cannot be read: {error!s:.200} Restore a backup.") from None


def _restored(document: dict[str, Any], rule: LiveRule) -> Progress:
    problem, like = rule.pool.problem, rule.start(1)
    state = like.state.from_json(document["state"], document["memory"])
    shapes = _Rest(like.fair, like.proof, like.void, like.contradicted, np.zeros(PARTS))
    rest = restored(document["rest"], shapes, "rest")
    watched = restored(document["watched"], like.watched, "watched")
    info = Info.from_json(document["info"], problem)
    so_far = CellEvidence.from_json(problem, document["so_far"])
    settled = Settled(state, so_far, watched, rest.fair, rest.proof, rest.void, rest.contradicted)
    return Progress(settled, info, rest.coverage)


def last_settled(connection: Connection, study: int) -> int | None:
    """The number of the last settled cohort."""
    done = schema.settled
    return connection.execute(
        select(done.c.number).where(done.c.study == study).order_by(done.c.number.desc()).limit(1)
    ).scalar()


def read_progress(connection: Connection, study: int, number: int | None, rule: LiveRule) -> Progress:
    """After the cohort of this number; None: before the first."""
    if number is None:
        return Progress.start(rule)
    done = schema.settled
    stored = connection.execute(select(done.c.state).where(done.c.study == study, done.c.number == number)).scalar_one()
    return restored_progress(bytes(stored), rule)


def chained_digest(prev: str, *parts: str | bytes) -> str:
    """SHA-256 over what was settled and the digest of the cohort before."""
    hasher = hashlib.sha256(prev.encode("ascii"))
    for each in parts:
        part = each.encode("utf-8") if isinstance(each, str) else bytes(each)
        hasher.update(len(part).to_bytes(8, "big") + part)
    return hasher.hexdigest()
