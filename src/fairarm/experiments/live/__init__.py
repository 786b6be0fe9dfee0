"""Live studies, simulated: people arrive by the hour, outcomes come days later or never, cohorts do not wait for each other."""
