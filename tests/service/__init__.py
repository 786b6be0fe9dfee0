"""The service. A package, since some of its files have the names of others."""
