"""Tokens: shown once, kept as digests, revoked for good."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from fairarm.studies import Invalid, NotFound, Studies
from study_people import small_study


def test_a_token_is_shown_once_and_known_by_its_digest(studies: Studies, query: Callable[[str], Any]) -> None:
    small_study(studies)
    token, other = studies.tokens.make("caller", "small", "web"), studies.tokens.make("admin")
    assert token != other and len(token) > 40
    stored = query("SELECT * FROM fairarm_token")
    assert token not in str(stored) and hashlib.sha256(token.encode()).hexdigest() in str(stored)
    found = studies.tokens.of(token)
    assert found is not None and (found.role, found.study, found.label, found.revoked) == (
        "caller",
        "small",
        "web",
        None,
    )
    all_studies = studies.tokens.of(other)
    assert all_studies is not None and all_studies.study is None
    assert studies.tokens.revoke("web") == 1 and studies.tokens.of(token) is None
    assert studies.tokens.of(other) is not None and studies.tokens.revoke(all_studies.digest) == 1
    assert studies.tokens.of(other) is None and [each.revoked is not None for each in studies.tokens.all()] == [
        True,
        True,
    ]


def test_what_is_refused(studies: Studies) -> None:
    with pytest.raises(Invalid, match="role"):
        studies.tokens.make("root")  # type: ignore[arg-type]
    with pytest.raises(NotFound, match="no study"):
        studies.tokens.make("viewer", "nothing")
    for label in ("x" * 101, "a\n", 5):
        with pytest.raises(Invalid, match="label"):
            studies.tokens.make("viewer", label=label)  # type: ignore[arg-type]
    studies.tokens.make("viewer")
    for wrong in ("", "nobody", None):
        with pytest.raises(NotFound):
            studies.tokens.revoke(wrong)  # type: ignore[arg-type]
    for wrong in ("", "x" * 500, "\ud800", None, b"x"):
        assert studies.tokens.of(wrong) is None  # type: ignore[arg-type]
