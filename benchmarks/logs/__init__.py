"""How good and how fast answers from logs are."""
