"""Names that are imported when first used: they are there, and none is hidden by a module of its own name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import fairarm
from fairarm.late import late_names
from fairarm.reports import words


def test_a_name_is_that_of_its_module_and_others_are_refused() -> None:
    found = late_names("here", {"math": ("tau",), "fairarm.errors": ("FairarmError",)})
    assert found("tau") == import_module("math").tau
    assert found("FairarmError") is fairarm.FairarmError
    with pytest.raises(AttributeError, match=r"module 'here' has no attribute 'pi'"):
        found("pi")


@pytest.mark.parametrize("package", [fairarm, words])
def test_every_public_name_can_be_had_and_is_no_module_of_the_package(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    folder = Path(str(package.__file__)).parent  # type: ignore[attr-defined]
    modules = {path.stem for path in folder.iterdir()}
    for name in names:
        assert getattr(package, name) is not None
    assert not modules & set(names)


def test_everything_can_be_imported_at_once() -> None:
    names: dict[str, object] = {}
    exec("from fairarm import *", names)
    assert set(fairarm.__all__) <= set(names) and set(fairarm.__all__) < set(dir(fairarm))
