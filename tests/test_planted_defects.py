"""The list of planted defects is one of today's sources and tests; `make test-all` plants them."""

from __future__ import annotations

from pathlib import Path

from run_mutants import mutants


def test_every_mutant_changes_a_line_that_exists_and_names_tests_that_exist() -> None:
    for mutant in mutants():
        assert mutant.old != mutant.new and mutant.tests, mutant.name
        for test in mutant.tests:
            file, _, name = test.partition("::")
            text = (Path(__file__).parent / file).read_text(encoding="utf-8")
            assert not name or f"def {name}(" in text, f"{mutant.name}: {test}"
    assert len({mutant.name for mutant in mutants()}) == len(mutants()) >= 20
