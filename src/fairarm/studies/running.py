"""A study as a process holds it: what never changes, read once."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from sqlalchemy import Connection, select

from fairarm.algorithms.cohort import Loss
from fairarm.algorithms.live import LiveRule
from fairarm.algorithms.pool import Pool, PoolOptions
from fairarm.core.types import IntArray
from fairarm.problem.problem import Problem
from fairarm.readers.problem_file import parse_problem
from fairarm.studies import schema
from fairarm.studies.coding import Coding, unit_digest
from fairarm.studies.errors import NotAllowed, NotFound
from fairarm.studies.options import PAUSE, Options
from fairarm.studies.schema import AnyRow

UNIT_KEY = "FAIRARM_UNIT_KEY"
"""The environment's key of people's names."""

CARD = np.dtype("<u2")
"""How a card is stored."""


def given_unit_key(key: bytes | str | None) -> bytes | None:
    """As passed, else from the environment, made 32 bytes of; None where there is none."""
    found = os.environ.get(UNIT_KEY) if key is None else key
    if not found:
        return None
    given = found.encode("utf-8") if isinstance(found, str) else bytes(found)
    return hashlib.blake2b(given, digest_size=32, person=b"fairarm unit key").digest()


def key_digest(key: bytes | None) -> str | None:
    """By which another key is told."""
    return None if key is None else hashlib.sha256(b"fairarm" + key).hexdigest()[:32]


@dataclass(eq=False)
class Running:
    """One study; ``problem`` as it was stored."""

    id: int
    name: str
    options: Options
    problem: Problem
    fingerprint: str
    key: bytes
    seed: int
    created: int
    unit_key: bytes | None
    """None: people's names are kept under a key that is not at hand."""
    decks: dict[int, IntArray] = field(default_factory=dict)

    @cached_property
    def coding(self) -> Coding:
        """People and rows as numbers."""
        return Coding(self.problem)

    @cached_property
    def rule(self) -> LiveRule:
        """How it goes on."""
        return live_rule(self.problem, self.options)

    def unit(self, unit: str) -> str:
        """The name under which a person is kept."""
        self.require_key()
        return unit_digest(self.unit_key or b"", unit)

    def require_key(self) -> None:
        """`NotAllowed` where people's names are kept under another key than the one at hand."""
        if self.unit_key is None:
            raise NotAllowed(
                f"Study '{self.name}' keeps people's names under another key than the one at hand. Set {UNIT_KEY} (or unit_key=...) to the "
                f"key that it was created with."
            )

    def deck(self, connection: Connection, number: int) -> IntArray:
        """The arms of a cohort in the order they are dealt; read once."""
        if number not in self.decks:
            stored = connection.execute(
                select(schema.deck.c.arms).where(schema.deck.c.study == self.id, schema.deck.c.number == number)
            ).scalar_one()
            while len(self.decks) > 8:
                self.decks.pop(min(self.decks))
            self.decks[number] = np.frombuffer(stored, dtype=CARD).astype(np.int64)
        return self.decks[number]

    def deck_generator(self, number: int) -> np.random.Generator:
        """That shuffles a cohort's cards: from the key, so that nobody can tell the order."""
        words = np.frombuffer(hashlib.blake2b(f"deck {number}".encode(), key=self.key).digest(), dtype="<u4")
        return np.random.default_rng(words.tolist())

    def starts(self, number: int) -> int:
        """When a cohort does."""
        return self.options.start + number * self.options.cohort


def live_rule(problem: Problem, options: Options) -> LiveRule:
    """An OptionError or ProblemError where it cannot be certified live."""
    pool = Pool(problem, options.pulls, PoolOptions(confidence=options.confidence), live=True)
    return LiveRule(pool, Loss.of(problem, options.lost, options.unserved), alarm_pauses=options.on_alarm == PAUSE)


def running(stored: AnyRow, unit_key: bytes | None) -> Running:
    """From a row of the table of studies."""
    options = Options(**json.loads(stored.options))
    problem = parse_problem(stored.problem, f"study {stored.name}", Path(".")).problem
    own = (
        bytes(stored.key)
        if options.unit_key is None
        else unit_key
        if options.unit_key == key_digest(unit_key)
        else None
    )
    return Running(
        stored.id,
        stored.name,
        options,
        problem,
        stored.fingerprint,
        bytes(stored.key),
        stored.seed,
        stored.created,
        own,
    )


def find(connection: Connection, name: str) -> AnyRow:
    """The row of a study; `NotFound` where there is none of that name."""
    found = connection.execute(select(schema.study).where(schema.study.c.name == name)).one_or_none()
    if found is None:
        raise NotFound(f"There is no study '{name!s:.64}'. `fairarm study list` shows those there are.")
    return found
