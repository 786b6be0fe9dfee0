"""Live studies under fire: kills, many processes, random schedules, rates, and one long study. ``make studies-bench``."""
