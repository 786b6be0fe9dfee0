"""Live studies in a database. A package, since some of its files have the names of others."""
