"""What to pull next: events that would overturn the answer, projections, whole pulls."""
