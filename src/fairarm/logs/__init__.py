"""Logs as evidence: where their tables live, what is asked of them, what is wrong with them."""
