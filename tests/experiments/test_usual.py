"""How usual intervals leave open what no row speaks for: moves of outcomes and rows against their closed form."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fairarm import Outcome
from fairarm.beliefs.draws import Draws
from fairarm.core.fairness import Rows
from fairarm.core.posterior.doubly_robust import PRIOR_SD
from fairarm.experiments.usual import DRAWS, drawn

INF = np.inf


def believed(means: np.ndarray, unseen: list[float]) -> Any:
    """Sure of everything that it has seen: all draws alike."""
    K, G = means.shape
    point = Draws(np.full((1, K), 0.5), means[None])
    return SimpleNamespace(
        draw=lambda rng, draws: Draws(np.full((1, draws, K), 0.5), np.broadcast_to(means, (1, draws, K, G))),
        values=lambda outcomes, means: point,
        diagnostics=lambda: SimpleNamespace(unseen=np.array([unseen])),
        draws_unseen=False,
        unseen_sd=PRIOR_SD,
        problem=SimpleNamespace(outcome=Outcome("Y", values=(0, 1))),
    )


ASKED = Rows(
    np.array([[1, -1, 0, 0], [1, 0, 0, -0.8], [0, 0, 1, 0], [0, 1, 0, 0]]), np.array([0, 0, 0, -1.0]),
    np.array([-0.1, 0, 0.2, -0.1]), np.array([0.1, INF, INF, 0.1]),
)  # fmt: skip


def test_rows_move_as_groups_do_together_and_apart() -> None:
    """All groups move by one z, and against each other by I − 11'/4: any two differ by √2 of it, an outcome has none of that."""
    unseen = 0.21  # so little that nothing is cut
    found = drawn(believed(np.full((1, 4), 0.5), [unseen]), ASKED, 0)
    size = (PRIOR_SD * unseen) ** 2
    apart = ASKED.by_group @ (np.eye(4) - 0.25) @ ASKED.by_group.T
    together = ASKED.by_group.sum(axis=1) + ASKED.everyone
    expected = size * (apart + np.outer(together, together))
    assert expected[0, 0] == pytest.approx(2 * size) and expected[3, 3] == pytest.approx(0.75 * size)
    values = np.concatenate([found.outcomes[0], found.rows[0, :, 0]], axis=1)
    seen = np.cov(values.T)
    np.testing.assert_allclose(seen[1:, 1:], expected, atol=6 * expected.max() / np.sqrt(DRAWS))
    np.testing.assert_allclose(seen[0], [size, *(size * together)], atol=6 * size / np.sqrt(DRAWS))


def test_only_arms_of_which_much_is_unseen_move_and_none_beyond_what_is_possible() -> None:
    means = np.tile([0.9, 0.1, 0.5, 0.5], (2, 1))
    found = drawn(believed(means, [0.1, 1.0]), ASKED, 0)
    values = found.rows[0]
    assert np.all(values[:, 0] == ASKED.values(means, np.full(2, 0.5))[0])
    assert values[:, 1].std(axis=0).min() > 0.1
    for j, (least, most) in enumerate([(-1, 1), (-0.8, 1), (0, 1), (-1, 1)]):
        assert least <= values[:, 1, j].min() and values[:, 1, j].max() <= most
    assert values[:, 1, 2].min() == 0 and values[:, 1, 2].max() == 1  # some were cut


def test_an_interval_holds_its_value() -> None:
    """A mean of draws that are cut may lie outside of their quantiles."""
    found = drawn(believed(np.full((1, 4), 0.5), [0.0]), ASKED, 0)
    usual = found.usual(0.9)
    assert np.all(usual.rows[0] == usual.row_values) and np.all(usual.rows[1] == usual.row_values)
    assert usual.rows.shape == (2, 1, 4) and usual.outcomes.shape == (2, 1)
