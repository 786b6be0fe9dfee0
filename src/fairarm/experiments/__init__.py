"""What people do with a problem: inspect it, evaluate a log, plan, identify the best fair arm, simulate many runs.

One file per command, imported by its own name: a command loads what it needs and no more.
"""
