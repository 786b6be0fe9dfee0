"""How often bounds hold where outcomes are missing or a cause is hidden."""
