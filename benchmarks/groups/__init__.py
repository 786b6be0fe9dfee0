"""Several groups at once: pulls saved against a run for each pair, and how cost grows with groups and rows."""
