"""Results for people: figures, and pages that open without a network."""
