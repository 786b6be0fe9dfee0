"""How an answer is coded in an array: the position of the arm, or one of these."""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    """Answers besides the position of an arm. NONE is −1, so that answers in order are ``none, arm 0, arm 1, …``."""

    NONE = -1
    """No arm is fair."""
    UNDECIDED = -2
    """It cannot be said."""
    PENDING = -3
    """Not yet: the run goes on."""
