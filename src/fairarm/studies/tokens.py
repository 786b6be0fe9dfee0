"""Who may use a service. A token is 256 random bits, shown once; its SHA-256 is kept."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

from sqlalchemy import insert, select, update

from fairarm.studies import schema
from fairarm.studies.answers import ROLES, Role, Token
from fairarm.studies.database import Database
from fairarm.studies.errors import Invalid, NotFound
from fairarm.studies.options import moment
from fairarm.studies.running import find
from fairarm.studies.schema import AnyRow
from fairarm.studies.writer import Writer

PREFIX = "fairarm_"
LONGEST_LABEL = 100


class Tokens:
    """The tokens of one database."""

    def __init__(self, database: Database, writer: Writer) -> None:
        self._database, self._writer = database, writer

    def make(self, role: Role, study: str | None = None, label: str = "") -> str:
        """A new token, shown once; ``study``: for this one alone."""
        if role not in ROLES:
            raise Invalid(f"The role is {role!r:.40}. It is one of: {', '.join(ROLES)}.")
        if not isinstance(label, str) or len(label) > LONGEST_LABEL or not label.isprintable():
            raise Invalid(
                f"The label of a token is a text of at most {LONGEST_LABEL} printable characters; got {label!r:.40}."
            )
        made = PREFIX + secrets.token_urlsafe(32)

        def write(connection: Any, now: int) -> None:
            of = None if study is None else find(connection, study).id
            connection.execute(
                insert(schema.token).values(
                    digest=_digest(made), role=role, study=of, label=label, made=now, revoked=None
                )
            )

        self._writer.job(write)
        return made

    def revoke(self, label_or_digest: str) -> int:
        """How many there were; from now on they are refused."""
        tokens = schema.token

        def write(connection: Any, now: int) -> int:
            named = (tokens.c.label == label_or_digest) & (tokens.c.label != "")
            which = (named | (tokens.c.digest == label_or_digest)) & tokens.c.revoked.is_(None)
            return int(connection.execute(update(tokens).where(which).values(revoked=now)).rowcount)

        if not isinstance(label_or_digest, str) or not (count := self._writer.job(write)):
            raise NotFound(f"No token has the label or digest {label_or_digest!r:.70}, or it is revoked already.")
        return count

    def of(self, token: str) -> Token | None:
        """Whose it is; None where it is unknown or revoked."""
        if not isinstance(token, str) or len(token) > 200:
            return None
        with self._database.reading() as connection:
            asked = self._asked().where(schema.token.c.digest == _digest(token), schema.token.c.revoked.is_(None))
            found = connection.execute(asked).one_or_none()
        return None if found is None else _token(found)

    def all(self) -> tuple[Token, ...]:
        """In the order they were made, revoked ones too."""
        with self._database.reading() as connection:
            return tuple(_token(row) for row in connection.execute(self._asked().order_by(schema.token.c.made)))

    def _asked(self) -> Any:
        joined = schema.token.outerjoin(schema.study, schema.study.c.id == schema.token.c.study)
        return select(schema.token, schema.study.c.name.label("name")).select_from(joined)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _token(row: AnyRow) -> Token:
    revoked = None if row.revoked is None else moment(row.revoked)
    return Token(row.digest, row.role, row.name, row.label, moment(row.made), revoked)
