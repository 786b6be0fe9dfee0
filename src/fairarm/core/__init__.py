"""Pure functions of arrays: the mathematics of the paper, one file an idea.

Axes, everywhere: ``n`` replicates (leading, often absent), ``K`` arms estimated (rows) or pulled (columns),
``G = 2`` groups (s, s'), ``R = 3`` regimes (natural, forced s, forced s'), ``C`` cells, ``I`` observations.
``docs/notation.md`` binds each symbol of the paper to the name used here.
"""
