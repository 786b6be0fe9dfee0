"""What `make measure` counts, and what of it must not get worse."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from benchmarks.measure import Module, cycles, documented, modules

PACKAGE = Path(__file__).parents[2] / "src" / "fairarm"


def test_public_things_are_documented() -> None:
    facts = [fact for module in modules(PACKAGE) for fact in documented(module)]
    assert len(facts) > 1000 and sum(facts) / len(facts) >= 0.95


def test_no_cycles() -> None:
    assert cycles(modules(PACKAGE)) == 0


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ('"""Module."""', [True]),
        ('"""Module."""\ndef f(): pass', [True, False]),
        ('"""Module."""\ndef _f(): pass', [True]),
        ('class A:\n    """A."""\n    def f(self): """F."""\n    def _g(self): pass', [False, True, True]),
    ],
)
def test_documented_looks_at_public_things_alone(text: str, facts: list[bool]) -> None:
    module = next(iter(modules(PACKAGE)))
    made = type(module)(**{**vars(module), "name": "fairarm.a", "tree": ast.parse(text)})
    assert isinstance(made, Module) and list(documented(made)) == facts
