"""splitmix64: known values, one to one, and every bit turns about half of the others."""

from __future__ import annotations

import numpy as np

from fairarm.core.mixing import mixed


def test_known_values() -> None:
    """The first outputs of the generator with seed 0, as its authors print them: each state is the last one plus a constant."""
    step = np.uint64(0x9E3779B97F4A7C15)
    states = np.array([0, 1, 2], dtype=np.uint64) * step
    assert [f"{value:016x}" for value in mixed(states)] == ["e220a8397b1dcdaf", "6e789e6aa1b965f4", "06c45d188009454f"]


def test_one_bit_of_the_input_turns_half_of_the_output() -> None:
    numbers = np.arange(2000, dtype=np.uint64)
    for bit in (0, 17, 63):
        turned = mixed(numbers) ^ mixed(numbers ^ (np.uint64(1) << np.uint64(bit)))
        share = np.unpackbits(turned.view(np.uint8)).mean()
        assert abs(share - 0.5) < 0.01  # 128 000 bits: 7 standard errors
    assert len(np.unique(mixed(numbers))) == 2000
