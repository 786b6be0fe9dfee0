"""Pool's error beside that of an earlier commit, on the same instances with the same seeds."""
