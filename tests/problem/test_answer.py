"""One answer, one type: what a code stands for."""

from __future__ import annotations

import pytest

from fairarm.core.answer import Code
from fairarm.problem.answer import Answer, Status


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (0, Answer(Status.FOUND, "old")),
        (1, Answer(Status.FOUND, "new")),
        (Code.NONE, Answer(Status.NO_FAIR_ARM)),
        (Code.UNDECIDED, Answer(Status.UNDECIDED)),
        (Code.PENDING, Answer(Status.UNDECIDED)),
    ],
)
def test_what_a_code_stands_for(code: int, answer: Answer) -> None:
    assert Answer.of(code, ("old", "new")) == answer
