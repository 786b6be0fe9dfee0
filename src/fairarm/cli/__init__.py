"""The command line: ``fairarm problems | inspect | identify | simulate | schema``."""

from __future__ import annotations


def main() -> None:
    """Run the command; a user's mistake is one line on standard error and exit code 2, never a traceback."""
    from fairarm.cli.app import run

    run()
