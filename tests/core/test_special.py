"""log Γ against the standard library's, and the functions that are scipy's when first used."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import special as scipys

from fairarm.core import special


def test_log_gamma_is_that_of_the_standard_library_over_27_decades() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([10.0 ** rng.uniform(-12, 15, 4000), rng.uniform(0, 20, 4000), np.arange(1.0, 40.0), [8.0]])
    right = np.array([math.lgamma(each) for each in x])
    assert np.all(np.abs(special.log_gamma(x) - right) <= 2e-14 * np.maximum(1.0, np.abs(right)))


def test_log_gamma_by_hand() -> None:
    found = special.log_gamma(np.array([[0.0, 0.5, 1.0], [2.0, 5.0, 11.0]]))
    by_hand = [[math.inf, 0.5 * math.log(math.pi), 0.0], [0.0, math.log(24), math.log(3_628_800)]]
    assert found == pytest.approx(np.array(by_hand), rel=1e-14, abs=1e-14)


def test_factorials_grow_by_their_factor_on_both_sides_of_the_shift() -> None:
    x = np.array([1e-3, 0.7, 6.999, 7.0, 7.001, 8.0, 123.4])
    assert special.log_gamma(x + 1) - special.log_gamma(x) == pytest.approx(np.log(x), rel=1e-12, abs=1e-13)


def test_the_other_functions_are_scipys_and_not_loaded_before_they_are_used() -> None:
    assert special.betaln is scipys.betaln and special.stdtrit is scipys.stdtrit
    code = (
        "import sys, fairarm.core.special as s; a = 'scipy' in sys.modules; s.xlogy; print(a, 'scipy' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["False", "True"]
