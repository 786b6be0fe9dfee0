"""A first problem file from a log's columns. The tolerance is left open; every guess is marked to be confirmed.

columns.py: what each column holds and can be. roles.py: which column is what, and why. build.py: the problem, and the
means of its groups. worth.py: what the outcome is worth, and doubts about it. confirm.py: what was guessed. text.py: the file.
naming.py: names and values that come from outside, made safe.
"""

from fairarm.logs.draft.build import Described, Draft, GroupMean, draft_problem

__all__ = ["Described", "Draft", "GroupMean", "draft_problem"]
