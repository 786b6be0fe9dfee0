"""The contract of algorithms, for those of others: what ask, tell, close_phase, verdict, to_json and resume promise.

    import pytest
    from fairarm.testing import contract

    @pytest.mark.parametrize("check", contract("forced-means"), ids=str)
    def test_contract(check):
        check()

The algorithm is named as it was registered. No test tool is needed: a check is called, and raises an `AssertionError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairarm.errors import OptionError
from fairarm.testing import ask_and_tell, rows, saving
from fairarm.testing.checks import Check, Subject, checks_of
from fairarm.testing.problems import PROBLEMS

__all__ = ["Check", "check_algorithm", "contract"]

_FILES = (ask_and_tell, saving, rows)
"""Each marks its checks when it is imported."""


def contract(
    name: str,
    *,
    options: Mapping[str, Any] | None = None,
    problems: Sequence[str] = PROBLEMS,
    uses_every_pull: bool = False,
) -> list[Check]:
    """Every check of a registered algorithm, to be called one by one.

    ``options``: what it is to run with. ``problems``: the three small problems, fewer where it cannot solve one: "chain"
    (rows are counted, one arm never makes one of the decisions, pulls have a budget), "context" (no pull is free, the
    groups in the other order) and "real" (a real outcome, so that rows are kept). ``uses_every_pull``: not only at most
    the pulls given, but exactly so many unless the run is decided early.
    """
    if unknown := [problem for problem in problems if problem not in PROBLEMS]:
        raise OptionError(f"The contract has the problems {', '.join(PROBLEMS)}; got {unknown[0]!r}.")
    return checks_of(Subject(name, dict(options or {}), uses_every_pull), problems)


def check_algorithm(name: str, **given: Any) -> None:
    """Call every check of `contract`; an `AssertionError` names each that fails, and how."""
    failed = []
    for check in contract(name, **given):
        try:
            check()
        except Exception as error:
            failed.append(f"{check}: {type(error).__name__}: {error}")
    if failed:
        raise AssertionError(f"{len(failed)} of the checks fail.\n" + "\n".join(failed))
