"""Every input of the corpus, by kind."""

from __future__ import annotations

from collections import Counter

from corpus.case import Case
from corpus.command_lines import command_lines
from corpus.log_files import log_files
from corpus.network_files import network_files
from corpus.problem_files import problem_files
from corpus.python_calls import python_calls
from corpus.saved_runs import saved_runs

LEAST = {
    "problem files": 150,
    "network files": 90,
    "logs": 80,
    "saved runs": 20,
    "command lines": 80,
    "Python calls": 20,
}


def all_cases() -> list[Case]:
    cases = [*problem_files(), *network_files(), *log_files(), *saved_runs(), *command_lines(), *python_calls()]
    twice = [key for key, count in Counter((case.kind, case.name) for case in cases).items() if count > 1]
    if twice:
        raise ValueError(f"Two inputs have the name {twice[0]}.")
    return cases
