"""Live studies in words."""

from __future__ import annotations

from fairarm.durations import shown_days
from fairarm.experiments.live import LivePlan, LiveSimulation


def live_setting(found: LiveSimulation) -> str:
    """What was simulated."""
    point = found.results[0]
    return (
        f"{found.arrivals:g} people arrive in a day, an outcome counts for {shown_days(point.window)}, cohorts last "
        f"{shown_days(point.cohort)}. Days until a certified answer (confidence {found.confidence:g}, at most "
        f"{found.pulls} people), medians of {point.studies} simulated:"
    )


def live_waiting(found: LiveSimulation) -> str:
    """Beside phases that wait."""
    days = found.results[0].waiting or 0.0
    return f"Phases that wait for their last outcome would take {days:.0f} days."


def live_truths(found: LivePlan) -> str:
    """What the truths were."""
    return (
        f"over {found.truths} truths drawn from a prior (mean {found.prior_mean:g}, strength {found.prior_strength:g}). Where two arms "
        f"are nearly tied, no number of people decides: those studies are undecided."
    )
