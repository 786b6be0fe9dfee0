"""Live studies: are certificates true, what do they cost, what do the monitors find? ``make live-bench`` writes the table."""
