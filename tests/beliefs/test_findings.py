"""Findings about estimates, by hand."""

from __future__ import annotations

import numpy as np

from fairarm.beliefs.findings import model_findings


def test_an_estimate_far_from_its_rows_blocks_the_answer() -> None:
    """5 and 6 standard errors, worst first; 3.9 is chance."""
    found = model_findings(("old", "new", "other"), np.array([[5.0, 1.0, 3.9], [3.9, 6.0, 0.0]]))
    assert [f.name for f in found] == ["model-disagrees"] and found[0].blocks_answer
    assert found[0].examples == ("gap of new: 6.0", "outcome of old: 5.0")
    assert model_findings(("old", "new"), np.full((2, 2), 4.0)) == ()
    assert model_findings(("old", "new"), np.full((2, 2), np.nan)) == ()
